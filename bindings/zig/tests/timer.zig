// SPDX-License-Identifier: MIT
//! Timers, on a clock that is moved by hand.

const std = @import("std");
const jzx = @import("jzx");
const testing = std.testing;

const Msg = union(enum(u32)) { once: u32 = 1, tick = 2, keyed: []const u8 = 3 };

const Log = struct {
    once: u32 = 0,
    ticks: u32 = 0,
    missed: u64 = 0,
    keyed: u32 = 0,
    idle: u32 = 0,
};

const Listener = struct {
    log: *Log,

    pub fn start(_: *Listener, ctx: *jzx.Context) !void {
        try jzx.timer.start(ctx, 1, Msg, .{ .keyed = "lost" }, jzx.ms(5));
        try jzx.timer.start(ctx, 1, Msg, .{ .keyed = "kept" }, jzx.ms(7));
        try jzx.timer.start(ctx, 2, Msg, .{ .keyed = "lost" }, jzx.ms(7));
        try jzx.timer.stop(ctx, 2);
        try testing.expect(jzx.timer.isActive(ctx, 1) and !jzx.timer.isActive(ctx, 2));
        try jzx.timer.receiveTimeout(ctx, jzx.ms(100));
    }
    pub fn receive(self: *Listener, ctx: *jzx.Context, msg: Msg) !void {
        switch (msg) {
            .once => |n| self.log.once += n,
            .tick => {
                self.log.ticks += 1;
                self.log.missed += jzx.timer.missed(ctx);
            },
            .keyed => |text| {
                try testing.expectEqualStrings("kept", text);
                self.log.keyed += 1;
            },
        }
    }
    pub fn other(self: *Listener, ctx: *jzx.Context) !jzx.Next {
        try testing.expectEqual(jzx.tag.receive_timeout, ctx.tag());
        self.log.idle += 1;
        return .stop;
    }
};

test "timers fire at their times, once or again and again, or not at all" {
    const clock = try jzx.Clock.manual(0);
    defer clock.deinit();
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1, .clock = clock.raw });
    defer loop.deinit();
    var log: Log = .{};
    const to = try jzx.Actor(Listener, Msg).spawn(loop, .{ .log = &log }, .{});
    _ = try to.sendAfter(loop, .{ .once = 5 }, jzx.ms(3));
    const lost = try to.sendAfter(loop, .{ .once = 100 }, jzx.ms(3));
    const every = try to.sendEvery(loop, .tick, jzx.ms(2), .fixed_rate);
    try lost.cancel(loop);
    try testing.expectError(error.TimerInvalid, lost.cancel(loop));
    try loop.step(jzx.never);
    try testing.expectEqual(Log{}, log);

    for (0..4) |_| {
        try clock.advance(jzx.ms(1));
        try loop.step(jzx.never);
    }
    try testing.expectEqual(Log{ .once = 5, .ticks = 2 }, log);
    try clock.advance(jzx.ms(6));
    try loop.step(jzx.never);
    try testing.expectEqual(Log{ .once = 5, .ticks = 3, .missed = 2, .keyed = 1 }, log);
    try every.cancel(loop);
    try clock.advance(jzx.ms(100));
    try loop.run();
    try testing.expectEqual(Log{ .once = 5, .ticks = 3, .missed = 2, .keyed = 1, .idle = 1 }, log);
}

test "a fiber sleeps until its time" {
    const Sleeper = struct {
        woke: *u64,
        pub fn run(self: *@This(), ctx: *jzx.Context) !void {
            try ctx.sleep(jzx.seconds(3600));
            self.woke.* = ctx.now();
        }
    };
    const clock = try jzx.Clock.manual(jzx.ms(1));
    defer clock.deinit();
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1, .clock = clock.raw });
    defer loop.deinit();
    var woke: u64 = 0;
    _ = try jzx.Actor(Sleeper, void).spawn(loop, .{ .woke = &woke }, .{});
    try loop.step(jzx.never);
    try clock.advance(jzx.seconds(3599));
    try loop.step(jzx.never);
    try testing.expectEqual(0, woke);
    try clock.advance(jzx.seconds(1));
    try loop.run();
    try testing.expectEqual(jzx.seconds(3600) + jzx.ms(1), woke);
}
