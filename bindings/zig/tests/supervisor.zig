// SPDX-License-Identifier: MIT
//! Supervisors of Zig actors: restarts after errors and panics, escalation, children added later.

const std = @import("std");
const jzx = @import("jzx");
const testing = std.testing;

const Log = struct { starts: u32 = 0, deinits: u32 = 0, handled: u32 = 0 };

const Worker = struct {
    log: *Log,
    jobs: u32 = 0,
    const Msg = enum(u8) { work, err, panic, check };

    pub fn start(self: *Worker, _: *jzx.Context) void {
        self.log.starts += 1;
    }
    pub fn receive(self: *Worker, _: *jzx.Context, msg: Msg) !void {
        switch (msg) {
            .work => self.jobs += 1,
            .err => return error.OutOfTune,
            .panic => @panic("out of breath"),
            .check => self.log.handled = self.jobs,
        }
    }
    pub fn deinit(self: *Worker) void {
        self.log.deinits += 1;
    }
};
const Me = jzx.Actor(Worker, Worker.Msg);

fn newLoop() !jzx.Loop {
    return jzx.Loop.init(testing.allocator, .{ .workers = 1, .log = .{ .level = .off } });
}

fn text(room: []const u8) []const u8 {
    return std.mem.sliceTo(room, 0);
}

test "a child begins anew after an error and after a panic" {
    const loop = try newLoop();
    defer loop.deinit();
    var log: Log = .{};
    const worker = Me.prototype(.{ .log = &log });
    const top = try jzx.Supervisor.spawn(loop, .{ .intensity = 5 }, &.{
        Me.child(&worker, .{ .name = "worker" }),
    });
    try loop.step(jzx.never);
    const first = try top.child(loop, Worker.Msg, "worker");
    try first.send(loop, .work);
    try first.send(loop, .err);
    try loop.step(jzx.never);
    try testing.expectEqualStrings("OutOfTune", text(&(try top.childInfo(loop, 0)).last_text));
    try testing.expectEqual(.fail, (try top.childInfo(loop, 0)).last_reason);

    const second = try top.child(loop, Worker.Msg, "worker");
    try testing.expect(second.id != first.id);
    try second.send(loop, .panic);
    try loop.step(jzx.never);
    const info = try top.childInfo(loop, 0);
    try testing.expectEqualStrings("out of breath", text(&info.last_text));
    try testing.expectEqual(.panic, info.last_reason);
    try testing.expectEqual(2, info.restarts);

    const third = try top.child(loop, Worker.Msg, "worker");
    try third.send(loop, .work);
    try third.send(loop, .check);
    try loop.step(jzx.never);
    try testing.expectEqual(1, log.handled); // a state of its own
    try top.stop(loop);
    try loop.run();
    try testing.expectEqual(Log{ .starts = 3, .deinits = 3, .handled = 1 }, log);
}

test "too many failures escalate" {
    const Broken = struct {
        pub fn start(_: *@This(), _: *jzx.Context) !void {}
        pub fn run(_: *@This(), ctx: *jzx.Context) !void {
            try ctx.yield();
            return error.AlwaysBroken;
        }
    };
    const B = jzx.Actor(Broken, void);
    const loop = try newLoop();
    defer loop.deinit();
    const broken = B.prototype(.{});
    _ = try jzx.Supervisor.spawn(loop, .{ .intensity = 2, .period_ns = jzx.seconds(100) }, &.{
        B.child(&broken, .{ .name = "broken" }),
    });
    try testing.expectError(error.Escalated, loop.run());
    try testing.expectError(error.LoopClosed, loop.run());
}

test "trees nest, and a start that fails gives the tree up" {
    const NoStart = struct {
        pub fn start(_: *@This(), _: *jzx.Context) !void {
            return error.NoInstrument;
        }
        pub fn receive(_: *@This(), _: *jzx.Context, _: u8) void {}
    };
    const N = jzx.Actor(NoStart, u8);
    const loop = try newLoop();
    defer loop.deinit();
    var log: Log = .{};
    const worker = Me.prototype(.{ .log = &log });
    const none = N.prototype(.{});
    const below = jzx.supervisor.treeOf(.{}, &.{N.child(&none, .{})});
    _ = try jzx.Supervisor.spawn(loop, .{ .strategy = .one_for_all }, &.{
        Me.child(&worker, .{ .name = "worker" }),
        jzx.supervisor.supervisorChild(&below, .{ .name = "below" }),
    });
    try testing.expectError(error.Escalated, loop.run());
    try testing.expectEqual(log.starts, log.deinits);
    try testing.expect(log.starts >= 1);
}

test "children are added, restarted and removed" {
    const loop = try newLoop();
    defer loop.deinit();
    var log: Log = .{};
    const worker = Me.prototype(.{ .log = &log });
    const top = try jzx.Supervisor.spawn(loop, .{ .strategy = .dynamic }, &.{});
    try top.add(loop, Me.child(&worker, .{ .name = "late" }), .nobody);
    try loop.step(jzx.never);
    try testing.expectEqual(1, (try top.info(loop)).running);
    try top.restart(loop, "late");
    try loop.step(jzx.never);
    try testing.expectEqual(2, log.starts);
    try top.remove(loop, "late");
    try loop.step(jzx.never);
    try testing.expectEqual(0, (try top.info(loop)).children);
    try testing.expectEqual(2, log.deinits);
    try top.stop(loop);
    try loop.run();
}

const Listener = struct {
    seen: *Seen,

    const Seen = struct {
        exits: u32 = 0,
        restarts: u32 = 0,
        last: ?jzx.supervisor.Event = null,
    };

    pub fn receive(_: *Listener, _: *jzx.Context, _: u8) void {}
    pub fn other(self: *Listener, ctx: *jzx.Context) !void {
        switch (ctx.tag()) {
            jzx.tag.child_exit => self.seen.exits += 1,
            jzx.tag.child_restart => self.seen.restarts += 1,
            else => return error.BadMessage,
        }
        self.seen.last = (try ctx.as(jzx.supervisor.Event)).*;
    }
};

test "a listener is told of the ends and restarts of services" {
    const loop = try newLoop();
    defer loop.deinit();
    var log: Log = .{};
    var seen: Listener.Seen = .{};
    const listener = try jzx.Actor(Listener, u8).spawn(loop, .{ .seen = &seen }, .{});
    const worker = Me.prototype(.{ .log = &log });
    const top = try jzx.Supervisor.spawn(loop, .{ .listener = @intFromEnum(listener.id) }, &.{
        Me.child(&worker, .{ .name = "db", .service = true }),
    });
    try loop.step(jzx.never);
    try testing.expectEqual(.running, try top.childState(loop, "db"));
    try testing.expectEqual(.unknown, try top.childState(loop, "nobody"));
    const first = try top.child(loop, Worker.Msg, "db");
    try first.send(loop, .err);
    try loop.step(jzx.never);
    try testing.expectEqual(1, seen.exits);
    try testing.expectEqual(.waiting, seen.last.?.state);
    try testing.expectEqualStrings("db", text(&seen.last.?.name));
    try testing.expectEqualStrings("OutOfTune", text(&seen.last.?.text));
    const delay_ms = seen.last.?.delay_ns / 1_000_000; // a second, with a tenth of jitter
    try testing.expect(delay_ms >= 900 and delay_ms <= 1100);

    try top.restart(loop, "db");
    try loop.step(jzx.never);
    try testing.expectEqual(1, seen.restarts);
    try testing.expectEqual(.running, seen.last.?.state);
    try testing.expectEqual(@intFromEnum(first.id), seen.last.?.before);
    try top.stopChild(loop, "db");
    try loop.step(jzx.never);
    try testing.expectEqual(2, seen.exits);
    try testing.expect(seen.last.?.asked);
    try testing.expectEqual(.stopped, try top.childState(loop, "db"));
    try listener.stop(loop, .after_queue);
    try top.stop(loop);
    try loop.run();
}
