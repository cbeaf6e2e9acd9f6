// SPDX-License-Identifier: MIT
//! libjzx for Zig: actors, supervision, fibers, timers, streams, datagrams and files, on the C
//! interface.
//!
//!     const Greeter = struct {
//!         greeted: u32 = 0,
//!
//!         pub fn receive(self: *Greeter, ctx: *jzx.Context, name: []const u8) jzx.Next {
//!             _ = ctx;
//!             self.greeted += 1;
//!             std.debug.print("hello, {s}\n", .{name});
//!             return .stop;
//!         }
//!     };
//!
//!     const loop = try jzx.Loop.init(allocator, .{ .workers = 1 });
//!     defer loop.deinit();
//!     const greeter = try jzx.Actor(Greeter, []const u8).spawn(loop, .{}, .{});
//!     try greeter.send(loop, "world");
//!     try loop.run();
//!
//! docs/bindings.md has what the C interface asks of every binding; the headers in include/jzx have
//! the contract of each call.

/// The C interface itself, for what has no wrapper.
pub const c = @import("jzx/c.zig");
pub const c_io = @import("jzx/c_io.zig");
pub const actor = @import("jzx/actor.zig");
pub const supervisor = @import("jzx/supervisor.zig");
pub const io = @import("jzx/io.zig");
pub const timer = @import("jzx/timer.zig");
pub const message = @import("jzx/message.zig");
pub const stream = @import("jzx/stream.zig");
pub const udp = @import("jzx/udp.zig");
pub const file = @import("jzx/file.zig");

pub const Error = @import("jzx/error.zig").Error;
pub const errorText = @import("jzx/error.zig").text;
pub const errorOf = @import("jzx/error.zig").fromCode;
pub const Loop = @import("jzx/loop.zig").Loop;
pub const LoopOptions = @import("jzx/loop.zig").Options;
pub const wrongField = @import("jzx/loop.zig").wrongField;
pub const Clock = @import("jzx/loop.zig").Clock;

pub const Actor = actor.Actor;
pub const Ref = actor.Ref;
pub const Context = actor.Context;
pub const Id = actor.Id;
pub const Next = actor.Next;
pub const Asker = actor.Asker;
pub const Question = actor.Question;
pub const Exit = actor.Exit;
pub const ExitReason = actor.ExitReason;
pub const SpawnOptions = actor.SpawnOptions;
pub const tagOf = message.tagOf;

pub const Supervisor = supervisor.Supervisor;
pub const Child = supervisor.Child;

pub const Timer = timer.Timer;
pub const never = timer.never;
pub const us = timer.us;
pub const ms = timer.ms;
pub const seconds = timer.seconds;

pub const Op = @import("jzx/op.zig").Op;
pub const Result = @import("jzx/op.zig").Result;
pub const Stream = stream.Stream;
pub const Listener = stream.Listener;
pub const File = file.File;
pub const tcp = stream.tcp;
pub const unix = stream.unix;

/// For the root file of a program: `pub const panic = jzx.panic;`.
pub const panic = @import("jzx/panic.zig").panic;

/// The tags of the runtime's messages, which `other` and fibers see.
pub const tag = struct {
    pub const io = c.tag_io;
    pub const child_exit = c.tag_child_exit;
    pub const child_restart = c.tag_child_restart;
    pub const child_added = c.tag_child_added;
    pub const room = c.tag_room;
    pub const receive_timeout = c.tag_receive_timeout;
    pub const ask_timeout = c.tag_ask_timeout;
    pub const ask_down = c.tag_ask_down;
    pub const exit = c.tag_exit;
    pub const down = c.tag_down;
    pub const stream_high = c.tag_stream_high;
    pub const stream_low = c.tag_stream_low;
};

/// The version of the library that is linked.
pub fn version() [:0]const u8 {
    return @import("std").mem.span(c.jzx_version());
}

// Newer parts of the library get a file and a line each: jzx/stream.zig for jzx/stream.h, say.
