// SPDX-License-Identifier: MIT
//! Watched descriptors and signals.

const std = @import("std");
const jzx = @import("jzx");
const testing = std.testing;

const linux = std.os.linux;
extern fn pipe(fds: *[2]c_int) c_int;
extern fn read(fd: c_int, data: *anyopaque, len: usize) isize;
extern fn write(fd: c_int, data: *const anyopaque, len: usize) isize;
extern fn close(fd: c_int) c_int;

const Msg = union(enum(u32)) { input: jzx.io.Event = 1, signal: jzx.io.Signal = 2 };

const Reader = struct {
    fd: c_int,
    total: *usize,
    hung_up: *bool,

    pub fn start(self: *Reader, ctx: *jzx.Context) !void {
        const tag = jzx.tagOf(Msg, .input);
        try jzx.io.watch(ctx, self.fd, ctx.self(), .{ .read = true }, tag);
    }
    pub fn receive(self: *Reader, ctx: *jzx.Context, msg: Msg) !jzx.Next {
        try testing.expectEqual(self.fd, msg.input.fd);
        var buffer: [4]u8 = undefined; // less than what waits: the rest comes with the next event
        const got = read(self.fd, &buffer, buffer.len);
        if (got > 0) {
            self.total.* += @intCast(got);
            return .go_on;
        }
        self.hung_up.* = msg.input.ready.hangup;
        try jzx.io.unwatch(ctx, self.fd);
        try testing.expectError(error.IoNotWatched, jzx.io.unwatch(ctx, self.fd));
        return .stop;
    }
};

test "a watched descriptor tells its actor until it is read empty" {
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1 });
    defer loop.deinit();
    var fds: [2]c_int = undefined;
    try testing.expectEqual(0, pipe(&fds));
    var total: usize = 0;
    var hung_up = false;
    const state: Reader = .{ .fd = fds[0], .total = &total, .hung_up = &hung_up };
    _ = try jzx.Actor(Reader, Msg).spawn(loop, state, .{});
    try loop.step(jzx.never);
    try testing.expectEqual(10, write(fds[1], "0123456789", 10));
    _ = close(fds[1]);
    try loop.run();
    _ = close(fds[0]);
    try testing.expectEqual(10, total);
    try testing.expect(hung_up);
}

test "what cannot be watched is an error" {
    const Idle = struct {
        pub fn receive(_: *@This(), _: *jzx.Context, _: u8) void {}
    };
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1 });
    defer loop.deinit();
    const to = try jzx.Actor(Idle, u8).spawn(loop, .{}, .{});
    const nothing = jzx.io.watch(loop, 10_000, to.id, .{ .read = true }, 0);
    try testing.expectError(error.IoRegFailed, nothing);
    const no_interest = jzx.io.watch(loop, 0, to.id, .{}, 0);
    try testing.expectError(error.InvalidArg, no_interest);
}

test "a blocked signal comes as a message, with its count" {
    const signo = 10; // SIGUSR1
    const Listener = struct {
        got: *jzx.io.Signal,
        pub fn start(_: *@This(), ctx: *jzx.Context) !void {
            try jzx.io.signalTo(ctx, signo, jzx.tagOf(Msg, .signal));
            _ = linux.kill(linux.getpid(), @enumFromInt(signo));
        }
        pub fn receive(self: *@This(), ctx: *jzx.Context, msg: Msg) !jzx.Next {
            self.got.* = msg.signal;
            try jzx.io.signalEnd(ctx, signo);
            return .stop;
        }
    };
    var set = linux.sigemptyset();
    linux.sigaddset(&set, @enumFromInt(signo));
    var before: linux.sigset_t = undefined;
    _ = linux.sigprocmask(linux.SIG.BLOCK, &set, &before);
    defer _ = linux.sigprocmask(linux.SIG.SETMASK, &before, null);
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1 });
    defer loop.deinit();
    var got: jzx.io.Signal = .{ .signo = 0, .count = 0 };
    _ = try jzx.Actor(Listener, Msg).spawn(loop, .{ .got = &got }, .{});
    try loop.run();
    try testing.expectEqual(jzx.io.Signal{ .signo = signo, .count = 1 }, got);
}
