// SPDX-License-Identifier: MIT
//! A Zig actor's message against the same in C (bench.c): two actors pass a number to and fro on
//! one worker, in turns with the other side, each in a loop of its own. Prints nanoseconds a
//! message and the ratio, as medians [quartiles] of the pairs.
//!
//!     zig build bench -- [pairs] [messages]

const std = @import("std");
const jzx = @import("jzx");

extern fn jzx_zig_bench_c(loop: *jzx.c.Loop, messages: u64) c_int;

const Player = struct {
    other: *const jzx.Ref(u64),

    pub fn receive(self: *Player, ctx: *jzx.Context, left: u64) !jzx.Next {
        if (left == 0) {
            ctx.requestStop();
            return .stop;
        }
        try self.other.send(ctx, left - 1);
        return .go_on;
    }
};

fn inZig(loop: jzx.Loop, messages: u64) !void {
    const A = jzx.Actor(Player, u64);
    var refs: [2]jzx.Ref(u64) = undefined;
    refs[0] = try A.spawn(loop, .{ .other = &refs[1] }, .{});
    refs[1] = try A.spawn(loop, .{ .other = &refs[0] }, .{});
    try refs[0].send(loop, messages);
    try loop.run();
}

fn inC(loop: jzx.Loop, messages: u64) !void {
    if (jzx_zig_bench_c(loop.raw, messages) != 0) return error.Failed;
}

/// Nanoseconds a message, by the clock of the loop.
fn measure(comptime side: fn (jzx.Loop, u64) anyerror!void, messages: u64) !f64 {
    const loop = try jzx.Loop.init(std.heap.smp_allocator, .{
        .workers = 1,
        .stall_after_ns = jzx.never,
    });
    defer loop.deinit();
    const begin = loop.now();
    try side(loop, messages);
    return @as(f64, @floatFromInt(loop.now() - begin)) / @as(f64, @floatFromInt(messages));
}

fn print(name: []const u8, values: []f64) void {
    std.mem.sort(f64, values, {}, std.sort.asc(f64));
    std.debug.print("{s:<8} {d:.2} [{d:.2} {d:.2}]\n", .{
        name, values[values.len / 2], values[values.len / 4], values[values.len * 3 / 4],
    });
}

pub fn main(init: std.process.Init.Minimal) !void {
    var buffer: [4096]u8 = undefined;
    var fixed: std.heap.FixedBufferAllocator = .init(&buffer);
    const args = try init.args.toSlice(fixed.allocator());
    const pairs = if (args.len > 1) try std.fmt.parseInt(usize, args[1], 10) else 15;
    const messages = if (args.len > 2) try std.fmt.parseInt(u64, args[2], 10) else 2_000_000;
    const room = try std.heap.smp_allocator.alloc(f64, 3 * pairs);
    defer std.heap.smp_allocator.free(room);
    const zig, const c, const ratio = .{
        room[0..pairs], room[pairs .. 2 * pairs], room[2 * pairs ..],
    };
    for (0..pairs) |i| {
        // Each side goes first every other time.
        if (i % 2 == 0) zig[i] = try measure(inZig, messages);
        c[i] = try measure(inC, messages);
        if (i % 2 == 1) zig[i] = try measure(inZig, messages);
        ratio[i] = zig[i] / c[i];
    }
    print("zig ns", zig);
    print("c ns", c);
    print("zig / c", ratio);
}
