// SPDX-License-Identifier: MIT
//! Fibers wait in straight-line code: a ping-pong, a timer, a question with a deadline. Prints to
//! standard error:
//!
//!     ping 1
//!     pong 1
//!     ping 2
//!     pong 2
//!     ping 3
//!     pong 3
//!     no answer: Timeout

const std = @import("std");
const jzx = @import("jzx");

const Ball = union(enum) {
    hit: u32,
    missed,
};

const Pong = struct {
    const Me = jzx.Actor(Pong, Ball);

    pub fn run(_: *Pong, ctx: *jzx.Context) !void {
        while (true) switch (try Me.next(ctx, jzx.never)) {
            .hit => |n| {
                std.debug.print("pong {d}\n", .{n});
                try ctx.reply(u32, n);
            },
            .missed => {}, // no answer
        };
    }
};

const Ping = struct {
    pong: jzx.Ref(Ball),

    pub fn run(self: *Ping, ctx: *jzx.Context) !void {
        for (1..4) |n| {
            std.debug.print("ping {d}\n", .{n});
            _ = try self.pong.call(ctx, .{ .hit = @intCast(n) }, u32, jzx.never);
            try ctx.sleep(jzx.ms(1));
        }
        if (self.pong.call(ctx, .missed, u32, ctx.in(jzx.ms(5)))) |_| {
            return error.UnexpectedAnswer;
        } else |err| {
            std.debug.print("no answer: {t}\n", .{err});
        }
    }
};

pub fn main() !void {
    const loop = try jzx.Loop.init(std.heap.smp_allocator, .{ .workers = 1 });
    defer loop.deinit();
    // A daemon does not keep run from returning.
    const pong = try Pong.Me.spawn(loop, .{}, .{ .daemon = true });
    _ = try jzx.Actor(Ping, void).spawn(loop, .{ .pong = pong }, .{});
    try loop.run();
}
