// SPDX-License-Identifier: MIT
const std = @import("std");
const jzx = @import("jzx");

const Answerer = struct {
    pub fn receive(_: *Answerer, _: *jzx.Context, n: u32) jzx.Next {
        std.debug.print("the package says {d}\n", .{n});
        return .stop;
    }
};

pub fn main() !void {
    const loop = try jzx.Loop.init(std.heap.smp_allocator, .{ .workers = 1 });
    defer loop.deinit();
    const to = try jzx.Actor(Answerer, u32).spawn(loop, .{}, .{});
    try to.send(loop, 42);
    try loop.run();
}
