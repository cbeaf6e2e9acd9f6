// SPDX-License-Identifier: MIT
//! A worker that panics on some jobs, under a supervisor that starts it again, and a fiber that
//! gives it work. Prints to standard error:
//!
//!     100 / 5 = 20
//!     100 / 0: the worker has failed
//!     100 / 4 = 25
//!     restarts: 1, last: division by zero

const std = @import("std");
const jzx = @import("jzx");

/// A panic of an actor ends that actor, and not the program.
pub const panic = jzx.panic;

const Divider = struct {
    pub fn receive(_: *Divider, ctx: *jzx.Context, divisor: i32) !void {
        try ctx.reply(i32, @divTrunc(100, divisor));
    }
};
const DividerActor = jzx.Actor(Divider, i32);

const Client = struct {
    top: jzx.Supervisor,

    pub fn run(self: *Client, ctx: *jzx.Context) !void {
        for ([_]i32{ 5, 0, 4 }) |divisor| {
            // The name leads to whichever incarnation runs.
            const divider = try findDivider(ctx);
            if (divider.call(ctx, divisor, i32, ctx.in(jzx.seconds(5)))) |quotient| {
                std.debug.print("100 / {d} = {d}\n", .{ divisor, quotient });
            } else |err| switch (err) {
                error.NoSuchActor => std.debug.print(
                    "100 / {d}: the worker has failed\n",
                    .{divisor},
                ),
                else => return err,
            }
        }
        const info = try self.top.childInfo(ctx, 0);
        std.debug.print("restarts: {d}, last: {s}\n", .{
            info.restarts, std.mem.sliceTo(&info.last_text, 0),
        });
        try self.top.stop(ctx);
    }

    fn findDivider(ctx: *jzx.Context) !jzx.Ref(i32) {
        while (true) {
            return jzx.Ref(i32).lookup(ctx, "divider") catch |err| switch (err) {
                error.NoSuchActor => {
                    try ctx.sleep(jzx.ms(1));
                    continue;
                },
                else => return err,
            };
        }
    }
};

pub fn main() !void {
    const loop = try jzx.Loop.init(std.heap.smp_allocator, .{
        .workers = 1,
        .log = .{ .level = .off },
    });
    defer loop.deinit();

    const divider = DividerActor.prototype(.{});
    const top = try jzx.Supervisor.spawn(loop, .{ .intensity = 3 }, &.{
        DividerActor.child(&divider, .{ .name = "divider", .registered = "divider" }),
    });
    _ = try jzx.Actor(Client, void).spawn(loop, .{ .top = top }, .{});
    try loop.run();
}
