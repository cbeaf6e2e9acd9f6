// SPDX-License-Identifier: MIT
//! Readiness of descriptors and signals, as messages. The events are plain structs: a field of a
//! tagged union of messages may be one, and its tag is what a watch is given.
//!
//!     const Msg = union(enum(u32)) { input: jzx.io.Event = 1, hangup: jzx.io.Signal = 2 };
//!     try jzx.io.watch(ctx, fd, ctx.self(), .{ .read = true }, jzx.tagOf(Msg, .input));
//!     try jzx.io.signalTo(ctx, 1, jzx.tagOf(Msg, .hangup));

const std = @import("std");
const c = @import("c.zig");
const errors = @import("error.zig");
const loops = @import("loop.zig");
const actors = @import("actor.zig");
const ops = @import("op.zig");
const Error = errors.Error;

/// What a descriptor is watched for, or is ready for.
pub const Ready = packed struct(u32) {
    read: bool = false,
    write: bool = false,
    err: bool = false,
    hangup: bool = false,
    /// Of events alone: the descriptor was closed under its watch, which has ended.
    closed: bool = false,
    _: u27 = 0,
};

/// The payload of a watch's message.
pub const Event = extern struct {
    fd: c_int,
    ready: Ready,
};

/// The payload of a signal's message.
pub const Signal = c.SignalEvent;

/// Tells `owner` when `fd` is ready, by a message with that tag, or `jzx.tag.io` if it is 0. One
/// event is outstanding per watch: the next comes after its handler has returned.
pub fn watch(
    from: anytype,
    fd: std.posix.fd_t,
    owner: actors.Id,
    interest: Ready,
    tag: u32,
) Error!void {
    const loop = loops.rawOf(from);
    return errors.check(c.jzx_watch_fd(loop, fd, @intFromEnum(owner), @bitCast(interest), tag));
}

/// Before the descriptor is closed.
pub fn unwatch(from: anytype, fd: std.posix.fd_t) Error!void {
    return errors.check(c.jzx_unwatch_fd(loops.rawOf(from), fd));
}

/// What `fd` is ready for, as soon as it is ready for one of `interest`. Suspends a fiber, unless
/// that is so already. `error.Closed`: it is not open.
pub fn awaitReady(
    ctx: *const actors.Context,
    fd: std.posix.fd_t,
    interest: Ready,
    deadline_ns: u64,
) Error!Ready {
    var ready: u32 = 0;
    try errors.check(c.jzx_fd_await(ctx.raw, fd, @bitCast(interest), deadline_ns, &ready));
    return @bitCast(ready);
}

/// By a message: `Result.bytes` are those of a `Ready`.
pub fn awaitReadyTo(
    ctx: *const actors.Context,
    fd: std.posix.fd_t,
    interest: Ready,
    deadline_ns: u64,
    tag: u32,
) Error!ops.Op {
    var op: u64 = 0;
    try errors.check(c.jzx_fd_await_to(ctx.raw, fd, @bitCast(interest), deadline_ns, tag, &op));
    return @enumFromInt(op);
}

/// Tells the calling actor of a signal, which must be blocked in every thread of the program.
pub fn signalTo(ctx: *const actors.Context, signo: c_int, tag: u32) Error!void {
    return errors.check(c.jzx_signal_to(ctx.raw, signo, tag));
}

pub fn signalEnd(ctx: *const actors.Context, signo: c_int) Error!void {
    return errors.check(c.jzx_signal_end(ctx.raw, signo));
}

/// The errno behind the call that the actor has just made, or 0.
pub fn lastOsError(ctx: *const actors.Context) c_int {
    return c.jzx_last_os_error(ctx.raw);
}
