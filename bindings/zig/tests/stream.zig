// SPDX-License-Identifier: MIT
//! Streams: fibers that wait, behaviours that are told, and how connections end.

const std = @import("std");
const jzx = @import("jzx");
const testing = std.testing;
const linux = std.os.linux;

const Outcome = anyerror!void;
const patience = 60; // seconds, for what must happen

/// A fiber that runs `body(ctx, arg)`. What that returns is the outcome; an error stops the loop,
/// so that nobody waits for this fiber.
fn Body(comptime Arg: type, comptime body: fn (*jzx.Context, Arg) anyerror!void) type {
    return struct {
        arg: Arg,
        outcome: *Outcome,

        pub fn run(self: *@This(), ctx: *jzx.Context) void {
            self.outcome.* = body(ctx, self.arg);
            self.outcome.* catch ctx.requestStop();
        }
    };
}

fn spawn(where: anytype, comptime body: anytype, arg: anytype, outcome: *Outcome) !jzx.Id {
    outcome.* = error.NotRun;
    const State = Body(@TypeOf(arg), body);
    const state: State = .{ .arg = arg, .outcome = outcome };
    return (try jzx.Actor(State, void).spawn(where, state, .{})).id;
}

/// Runs one fiber alone.
fn runAlone(comptime body: fn (*jzx.Context, void) anyerror!void) !void {
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1 });
    defer loop.deinit();
    var outcome: Outcome = undefined;
    _ = try spawn(loop, body, {}, &outcome);
    try loop.run();
    try outcome;
}

fn until(ctx: *jzx.Context) u64 {
    return ctx.in(jzx.seconds(patience));
}

const Server = struct {
    listener: jzx.Listener = .none,
    buffer: jzx.stream.AddressBuffer = undefined,
    address: [:0]const u8 = "",
};

/// Listens at a free port. The client is spawned when it does.
fn listen(ctx: *jzx.Context, server: *Server) !void {
    server.listener = try jzx.tcp.listen(ctx, "127.0.0.1:0", .{});
    server.address = try server.listener.address(ctx, &server.buffer);
}

fn connect(ctx: *jzx.Context, server: *const Server) !jzx.Stream {
    return jzx.tcp.connect(ctx, server.address, .{}, until(ctx));
}

// ---- fibers ----

const Both = struct { server: *Server, client: *Outcome };

fn echoOnce(ctx: *jzx.Context, both: Both) !void {
    try listen(ctx, both.server);
    _ = try spawn(ctx, lines, both.server, both.client);
    const stream = try both.server.listener.accept(ctx, until(ctx));
    var room: [16]u8 = undefined;
    while (stream.read(ctx, &room, until(ctx))) |bytes| {
        try stream.write(ctx, bytes, until(ctx));
    } else |err| try testing.expectEqual(error.End, err);
    // A half close: it can still be written to.
    try stream.write(ctx, "bye", until(ctx));
}

fn lines(ctx: *jzx.Context, server: *Server) !void {
    const stream = try connect(ctx, server);
    var room: [64]u8 = undefined;
    try stream.write(ctx, "one\ntwo\n", until(ctx));
    try testing.expectEqualStrings("one\n", try stream.readUntil(ctx, '\n', &room, until(ctx)));
    try testing.expectEqualStrings("two\n", try stream.readUntil(ctx, '\n', &room, until(ctx)));

    const parts = [_]jzx.stream.Part{ jzx.stream.part("ab"), jzx.stream.part("c\xff") };
    try stream.writev(ctx, &parts, until(ctx));
    try stream.readExact(ctx, room[0..3], until(ctx));
    try testing.expectEqualStrings("abc", room[0..3]);
    const last = try stream.readUntil(ctx, 0xff, &room, until(ctx));
    try testing.expectEqualStrings("\xff", last);

    const info = try stream.info(ctx);
    try testing.expectEqual(@intFromEnum(ctx.self()), info.owner);
    try testing.expectEqual(12, info.sent);
    try testing.expectEqual(12, info.received);
    var buffer: jzx.stream.AddressBuffer = undefined;
    try testing.expectEqualStrings(server.address, try stream.peer(ctx, &buffer));
    try testing.expect(std.mem.startsWith(u8, try stream.local(ctx, &buffer), "127.0.0.1:"));
    try stream.setNodelay(ctx, false);
    try stream.setKeepalive(ctx, jzx.seconds(60), 0, 3);

    try stream.shutdown(ctx, until(ctx));
    try testing.expectError(error.InvalidState, stream.write(ctx, "more", until(ctx)));
    try stream.readExact(ctx, room[0..3], until(ctx));
    try testing.expectEqualStrings("bye", room[0..3]);
    try testing.expectError(error.End, stream.read(ctx, &room, until(ctx)));
}

test "fibers echo lines, and what is written after a half close arrives" {
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1 });
    defer loop.deinit();
    var server: Server = .{};
    var outcomes: [2]Outcome = undefined;
    const both: Both = .{ .server = &server, .client = &outcomes[1] };
    _ = try spawn(loop, echoOnce, both, &outcomes[0]);
    try loop.run();
    try outcomes[0];
    try outcomes[1];
}

fn sendsFile(ctx: *jzx.Context, _: void) !void {
    const fd: i32 = @intCast(linux.memfd_create("file", 0));
    defer _ = linux.close(fd);
    try testing.expectEqual(10, linux.write(fd, "0123456789", 10));
    const pair = try jzx.unix.pair(ctx, .{});
    try testing.expectEqual(4, try pair[0].sendfile(ctx, fd, 6, 100, until(ctx)));
    var room: [16]u8 = undefined;
    try pair[1].readExact(ctx, room[0..4], until(ctx));
    try testing.expectEqualStrings("6789", room[0..4]);
    _ = try pair[0].sendfileTo(ctx, fd, 0, 3, 7);
    try ctx.receiveTag(7, until(ctx));
    try testing.expectEqual(3, try (try jzx.Result.of(ctx)).value(u64));
}

test "a file goes out without a copy" {
    try runAlone(sendsFile);
}

fn unixNames(ctx: *jzx.Context, _: void) !void {
    var name: [64]u8 = undefined;
    const address = try std.fmt.bufPrintZ(&name, "@jzx-zig-{d}", .{linux.getpid()});
    const listener = try jzx.unix.listen(ctx, address, .{ .stream = &.{ .queue_max = 4096 } });
    const again = jzx.unix.listen(ctx, address, .{});
    try testing.expectError(error.AddressInUse, again);
    const out = try jzx.unix.connect(ctx, address, .{}, until(ctx));
    const in = try listener.accept(ctx, until(ctx));
    try out.write(ctx, "x", until(ctx));
    var room: [1]u8 = undefined;
    try testing.expectEqualStrings("x", try in.read(ctx, &room, until(ctx)));
    try testing.expectError(error.Full, fill(ctx, in)); // 4 KiB, as the listener was told
    try listener.close(ctx);
    const gone = jzx.unix.connect(ctx, address, .{}, until(ctx));
    try testing.expectError(error.Refused, gone);
}

fn fill(ctx: *jzx.Context, stream: jzx.Stream) !void {
    const piece: [1024]u8 = @splat('x');
    for (0..64 * 1024) |_| try stream.send(ctx, &piece);
}

test "Unix sockets listen, connect and refuse" {
    try runAlone(unixNames);
}

// ---- errors ----

fn mapped(ctx: *jzx.Context, _: void) !void {
    try testing.expectError(error.InvalidArg, jzx.tcp.listen(ctx, "nonsense", .{}));
    var server: Server = .{};
    try listen(ctx, &server);
    const taken = jzx.tcp.listen(ctx, server.address, .{});
    try testing.expectError(error.AddressInUse, taken);
    try testing.expectError(error.Timeout, server.listener.accept(ctx, ctx.in(jzx.ms(1))));
    try server.listener.close(ctx);
    try testing.expectError(error.Closed, server.listener.accept(ctx, jzx.never));
    const refused = jzx.tcp.connect(ctx, server.address, .{}, until(ctx));
    try testing.expectError(error.Refused, refused);
    try testing.expect(jzx.io.lastOsError(ctx) != 0);
    try testing.expectError(error.Closed, jzx.Stream.none.info(ctx));
}

test "errors of the system have names" {
    try runAlone(mapped);
}

fn deadlines(ctx: *jzx.Context, _: void) !void {
    const pair = try jzx.unix.pair(ctx, .{});
    var room: [8]u8 = undefined;
    try testing.expectError(error.Timeout, pair[0].read(ctx, &room, ctx.in(jzx.ms(1))));
    try pair[1].write(ctx, "abc", until(ctx));
    // A read that fails has consumed nothing.
    const some = pair[0].readExact(ctx, &room, ctx.in(jzx.ms(1)));
    try testing.expectError(error.Timeout, some);
    try testing.expectError(error.TooLong, pair[0].readUntil(ctx, '\n', room[0..2], until(ctx)));
    try testing.expectEqual(3, (try pair[0].info(ctx)).buffered);
    try testing.expectEqualStrings("abc", try pair[0].read(ctx, &room, until(ctx)));

    const idle = try jzx.unix.pair(ctx, .{ .idle_ns = jzx.ms(1) });
    try testing.expectError(error.Timeout, idle[0].read(ctx, &room, until(ctx)));
    try testing.expectError(error.Timeout, idle[0].write(ctx, "x", until(ctx)));
    try idle[0].close(ctx);
}

test "deadlines end a wait, and what has arrived stays" {
    try runAlone(deadlines);
}

fn closes(ctx: *jzx.Context, _: void) !void {
    const pair = try jzx.unix.pair(ctx, .{});
    const op = try pair[0].readTo(ctx, 16, 1);
    var room: [8]u8 = undefined;
    try testing.expectError(error.Busy, pair[0].read(ctx, &room, until(ctx)));
    try pair[0].close(ctx);
    try ctx.receiveTag(1, until(ctx));
    const result = try jzx.Result.of(ctx);
    try testing.expectEqual(op, result.op());
    try testing.expectError(error.Closed, result.bytes());
    try testing.expectError(error.Closed, pair[0].close(ctx));
    try testing.expectError(error.Closed, pair[0].write(ctx, "x", until(ctx)));
    try testing.expectError(error.Closed, pair[0].active(ctx, 1, 1));
    try testing.expectError(error.End, pair[1].read(ctx, &room, until(ctx)));

    const other = try pair[1].readTo(ctx, 16, 2); // ends at once: so did the peer
    try ctx.receiveTag(2, until(ctx));
    try testing.expectError(error.End, (try jzx.Result.of(ctx)).check());
    try testing.expectError(error.NoSuchOp, other.cancel(ctx));
}

test "a closed handle stays closed, and what was pending completes" {
    try runAlone(closes);
}

fn cancels(ctx: *jzx.Context, _: void) !void {
    const pair = try jzx.unix.pair(ctx, .{});
    const op = try pair[0].readUntilTo(ctx, '\n', 16, 1);
    try pair[1].write(ctx, "kept", until(ctx));
    try op.cancel(ctx);
    try ctx.receiveTag(1, until(ctx));
    try testing.expectError(error.Cancelled, (try jzx.Result.of(ctx)).check());
    _ = try pair[0].readExactTo(ctx, 4, 2);
    try ctx.receiveTag(2, until(ctx));
    try testing.expectEqualStrings("kept", try (try jzx.Result.of(ctx)).bytes());
}

test "an operation that is cancelled says so, and has consumed nothing" {
    try runAlone(cancels);
}

fn resetBy(ctx: *jzx.Context, _: void) !void {
    var server: Server = .{};
    try listen(ctx, &server);
    const out = try connect(ctx, &server);
    const in = try server.listener.accept(ctx, until(ctx));
    try out.setLinger(ctx, 0);
    try out.close(ctx);
    var room: [8]u8 = undefined;
    try testing.expectError(error.Reset, in.read(ctx, &room, until(ctx)));

    // The same by an event.
    const second = try connect(ctx, &server);
    const other = try server.listener.accept(ctx, until(ctx));
    try other.active(ctx, 1, jzx.stream.always);
    try second.setLinger(ctx, 0);
    try second.close(ctx);
    try ctx.receiveTag(1, until(ctx));
    const event = try jzx.stream.Event.of(ctx);
    try testing.expectEqual(other, event.stream());
    try testing.expectEqual(error.Reset, event.what().failed);
    try testing.expect(event.osError() != 0);
}

test "a peer that resets is an error, and an event" {
    try runAlone(resetBy);
}

fn ownsAndEnds(ctx: *jzx.Context, stream: jzx.Stream) !void {
    try ctx.receive(until(ctx)); // what comes after the stream
    try stream.active(ctx, 1, 1); // it is the owner now
}

fn outlives(ctx: *jzx.Context, outcome: *Outcome) !void {
    const pair = try jzx.unix.pair(ctx, .{});
    const owner = try spawn(ctx, ownsAndEnds, pair[0], outcome);
    try pair[0].give(ctx, owner);
    try testing.expectError(error.NotOwner, pair[0].active(ctx, 1, 1));
    try (jzx.Ref(void){ .id = owner }).send(ctx, {});
    var room: [8]u8 = undefined;
    try testing.expectError(error.End, pair[1].read(ctx, &room, until(ctx)));
    try testing.expectError(error.Closed, pair[0].info(ctx));
}

test "a stream is closed when its owner ends, and only the owner makes it active" {
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1 });
    defer loop.deinit();
    var outcomes: [2]Outcome = undefined;
    _ = try spawn(loop, outlives, &outcomes[1], &outcomes[0]);
    try loop.run();
    try outcomes[0];
    try outcomes[1];
}

// ---- behaviours ----

const Msg = union(enum(u32)) {
    accepted: jzx.Result = 1,
    begin: jzx.Stream = 2,
    input: jzx.stream.Event = 3,
    flushed: jzx.Result = 4,
    read_on: jzx.Stream = 5,
};

const Echo = struct {
    ended: *u32,

    pub fn receive(_: *Echo, ctx: *jzx.Context, msg: Msg) !jzx.Next {
        switch (msg) {
            .begin => |stream| {
                var room: [1]u8 = undefined;
                const wait = stream.read(ctx, &room, jzx.never);
                try testing.expectError(error.WouldSuspend, wait);
                try stream.active(ctx, jzx.tagOf(Msg, .input), jzx.stream.always);
            },
            .input => |event| switch (event.what()) {
                .data => |bytes| try event.stream().send(ctx, bytes),
                .end => _ = try event.stream().shutdownTo(ctx, jzx.tagOf(Msg, .flushed)),
                else => return error.Unexpected,
            },
            .flushed => |result| {
                try result.check();
                return .stop;
            },
            .accepted, .read_on => return error.Unexpected,
        }
        return .go_on;
    }

    pub fn deinit(self: *Echo) void {
        self.ended.* += 1;
    }
};

const EchoServer = struct {
    server: *Server,
    client: *Outcome,
    ended: *u32,
    left: u32 = 2,

    pub fn start(self: *EchoServer, ctx: *jzx.Context) !void {
        try listen(ctx, self.server);
        _ = try self.server.listener.acceptTo(ctx, jzx.tagOf(Msg, .accepted));
        _ = try spawn(ctx, twoClients, self.server, self.client);
    }

    pub fn receive(self: *EchoServer, ctx: *jzx.Context, msg: Msg) !jzx.Next {
        const stream = try msg.accepted.value(jzx.Stream);
        const echo = try jzx.Actor(Echo, Msg).spawn(ctx, .{ .ended = self.ended }, .{});
        try stream.give(ctx, echo.id);
        try echo.send(ctx, .{ .begin = stream });
        self.left -= 1;
        if (self.left == 0) return .stop;
        _ = try self.server.listener.acceptTo(ctx, jzx.tagOf(Msg, .accepted));
        return .go_on;
    }
};

fn twoClients(ctx: *jzx.Context, server: *Server) !void {
    _ = try jzx.tcp.connectTo(ctx, server.address, .{}, 1);
    try ctx.receiveTag(1, until(ctx));
    const first = try (try jzx.Result.of(ctx)).value(jzx.Stream);
    const second = try connect(ctx, server);
    var room: [64]u8 = undefined;
    for ([_]jzx.Stream{ first, second }) |stream| {
        try stream.write(ctx, "hello", until(ctx));
        try stream.readExact(ctx, room[0..5], until(ctx));
        try testing.expectEqualStrings("hello", room[0..5]);
    }
    for ([_]jzx.Stream{ second, first }) |stream| {
        _ = try stream.writeTo(ctx, "the rest", 2);
        try ctx.receiveTag(2, until(ctx));
        try (try jzx.Result.of(ctx)).check();
        try stream.shutdown(ctx, until(ctx));
        try stream.readExact(ctx, room[0..8], until(ctx));
        try testing.expectEqualStrings("the rest", room[0..8]);
        try testing.expectError(error.End, stream.read(ctx, &room, until(ctx)));
    }
}

test "behaviours accept, echo and lose nothing at a half close" {
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1 });
    defer loop.deinit();
    var server: Server = .{};
    var client: Outcome = error.NotRun;
    var ended: u32 = 0;
    const state: EchoServer = .{ .server = &server, .client = &client, .ended = &ended };
    _ = try jzx.Actor(EchoServer, Msg).spawn(loop, state, .{});
    try loop.run();
    try client;
    try testing.expectEqual(2, ended);
}

// ---- back-pressure ----

const total = 4 * 1024 * 1024; // more than the system holds between a pair

const Slow = struct {
    got: *usize,
    passed: *u32,
    ended: *bool,
    writer: jzx.Ref(void),

    pub fn receive(self: *Slow, ctx: *jzx.Context, msg: Msg) !jzx.Next {
        const input = jzx.tagOf(Msg, .input);
        switch (msg) {
            .begin => |stream| try stream.active(ctx, input, 2),
            .input => |event| switch (event.what()) {
                .data => |bytes| {
                    for (bytes, self.got.*..) |byte, i|
                        if (byte != byteAt(i)) return error.WrongByte;
                    self.got.* += bytes.len;
                },
                .passive => |cause| {
                    try testing.expectEqual(null, cause);
                    try testing.expect(!(try event.stream().info(ctx)).is_active);
                    self.passed.* += 1;
                    try self.writer.send(ctx, {});
                },
                .end => {
                    self.ended.* = true;
                    return .stop;
                },
                else => return error.Unexpected,
            },
            .read_on => |stream| try stream.active(ctx, input, jzx.stream.always),
            .flushed, .accepted => return error.Unexpected,
        }
        return .go_on;
    }
};

fn byteAt(i: usize) u8 {
    return @truncate((i * 2654435761) >> 8);
}

const Pressed = struct { got: *usize, passed: *u32, ended: *bool };

fn presses(ctx: *jzx.Context, it: Pressed) !void {
    const pair = try jzx.unix.pair(ctx, .{ .send_buffer = 16 * 1024 });
    const slow = try jzx.Actor(Slow, Msg).spawn(ctx, .{
        .got = it.got,
        .passed = it.passed,
        .ended = it.ended,
        .writer = .{ .id = ctx.self() },
    }, .{ .mailbox_cap = 2 });
    try pair[1].give(ctx, slow.id);
    try slow.send(ctx, .{ .begin = pair[1] });

    var written: usize = 0;
    var piece: [8192]u8 = undefined;
    while (written < 3 * piece.len) : (written += piece.len) {
        for (&piece, written..) |*byte, i| byte.* = byteAt(i);
        try pair[0].write(ctx, &piece, until(ctx));
    }
    try ctx.receive(until(ctx)); // the owner is passive now, after two messages
    // The rest waits in the queue of the stream until that is full.
    const stuck = while (written < total) : (written += piece.len) {
        for (&piece, written..) |*byte, i| byte.* = byteAt(i);
        pair[0].send(ctx, &piece) catch |err| break err;
    } else error.NotStuck;
    try testing.expectEqual(error.Full, stuck);
    try ctx.receiveTag(jzx.tag.stream_high, until(ctx));
    const high = (try jzx.stream.Event.of(ctx)).what().high;
    try testing.expect(high >= 256 * 1024 and high <= 1024 * 1024);
    try testing.expect((try pair[0].info(ctx)).queued >= high);

    try slow.send(ctx, .{ .read_on = pair[1] });
    try ctx.receiveTag(jzx.tag.stream_low, until(ctx));
    try testing.expect((try jzx.stream.Event.of(ctx)).what().low < high);
    while (written < total) : (written += piece.len) {
        for (&piece, written..) |*byte, i| byte.* = byteAt(i);
        try pair[0].write(ctx, &piece, until(ctx));
    }
    try pair[0].shutdown(ctx, until(ctx));
    _ = try ctx.join(slow.id, until(ctx));
}

test "a slow owner slows its peer, and every byte arrives in order" {
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1 });
    defer loop.deinit();
    var got: usize = 0;
    var passed: u32 = 0;
    var ended = false;
    var outcome: Outcome = undefined;
    const it: Pressed = .{ .got = &got, .passed = &passed, .ended = &ended };
    _ = try spawn(loop, presses, it, &outcome);
    try loop.run();
    try outcome;
    try testing.expectEqual(total, got);
    try testing.expectEqual(1, passed);
    try testing.expect(ended);
}

// ---- events are messages ----

const Relay = struct {
    to: jzx.Ref(Msg),

    pub fn receive(self: *Relay, ctx: *jzx.Context, msg: Msg) !jzx.Next {
        switch (msg) {
            .begin => |stream| try stream.active(ctx, jzx.tagOf(Msg, .input), 1),
            .input => |event| {
                try self.to.send(ctx, msg); // a copy, with its data
                if (event.what() == .passive) return .stop;
            },
            else => return error.Unexpected,
        }
        return .go_on;
    }
};

fn relayed(ctx: *jzx.Context, _: void) !void {
    const pair = try jzx.unix.pair(ctx, .{});
    const me: jzx.Ref(Msg) = .{ .id = ctx.self() };
    const relay = try jzx.Actor(Relay, Msg).spawn(ctx, .{ .to = me }, .{});
    try pair[0].write(ctx, "news", until(ctx));
    try pair[1].give(ctx, relay.id);
    try relay.send(ctx, .{ .begin = pair[1] });
    try ctx.receiveFrom(relay.id, until(ctx));
    const event = try jzx.stream.Event.of(ctx);
    try testing.expectEqual(pair[1], event.stream());
    try testing.expectEqualStrings("news", event.what().data);
    try ctx.receiveFrom(relay.id, until(ctx));
    try testing.expectEqual(null, (try jzx.stream.Event.of(ctx)).what().passive);
    try me.send(ctx, .{ .begin = pair[1] });
    try ctx.receive(until(ctx));
    try testing.expectError(error.BadMessage, jzx.stream.Event.of(ctx));
    try testing.expectError(error.BadMessage, jzx.Result.of(ctx));
}

test "an event can be sent on, and a message that is none is refused" {
    try runAlone(relayed);
}
