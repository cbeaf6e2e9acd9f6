// SPDX-License-Identifier: MIT
//! Files and datagrams.

const std = @import("std");
const jzx = @import("jzx");
const testing = std.testing;
const linux = std.os.linux;

const patience = 60; // seconds, for what must happen

fn until(ctx: *jzx.Context) u64 {
    return ctx.in(jzx.seconds(patience));
}

/// Runs one fiber alone.
fn runAlone(comptime body: fn (*jzx.Context) anyerror!void) !void {
    const Fiber = struct {
        outcome: *(anyerror!void),

        pub fn run(self: *@This(), ctx: *jzx.Context) void {
            self.outcome.* = body(ctx);
            ctx.requestStop();
        }
    };
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1 });
    defer loop.deinit();
    var outcome: anyerror!void = error.NotRun;
    _ = try jzx.Actor(Fiber, void).spawn(loop, .{ .outcome = &outcome }, .{});
    try loop.run();
    try outcome;
}

// ---- files ----

fn readsAndWrites(ctx: *jzx.Context) !void {
    const file = try jzx.file.temporary(ctx, null, until(ctx));
    var room: [16]u8 = undefined;
    try testing.expectError(error.End, file.read(ctx, &room, 0, until(ctx)));
    try file.write(ctx, "0123456789", 0, until(ctx));
    try testing.expectEqualStrings("789", try file.read(ctx, &room, 7, until(ctx)));
    try file.write(ctx, "abc", jzx.file.here, until(ctx));
    try testing.expectEqualStrings("abc3", try file.read(ctx, room[0..4], 0, until(ctx)));
    try file.sync(ctx, .data_only, until(ctx));
    try file.truncate(ctx, 4, until(ctx));
    const info = try file.stat(ctx, until(ctx));
    try testing.expectEqual(4, info.bytes);
    try testing.expectEqual(.regular, info.kind);

    _ = try file.writeTo(ctx, "de", 4, 1);
    try ctx.receiveTag(1, until(ctx));
    try testing.expectEqual(2, try (try jzx.Result.of(ctx)).value(u64));
    _ = try file.syncTo(ctx, .all, 2);
    try ctx.receiveTag(2, until(ctx));
    try (try jzx.Result.of(ctx)).check();
    _ = try file.readTo(ctx, 16, 2, 3);
    try ctx.receiveTag(3, until(ctx));
    try testing.expectEqualStrings("c3de", try (try jzx.Result.of(ctx)).bytes());
    try testing.expect(try file.fd(ctx) > 2);

    try file.close(ctx);
    try testing.expectError(error.Closed, file.read(ctx, &room, 0, until(ctx)));
    try testing.expectError(error.Closed, file.fd(ctx));
}

test "a file is read and written by a fiber and by messages" {
    try runAlone(readsAndWrites);
}

fn opens(ctx: *jzx.Context) !void {
    var buffer: [64]u8 = undefined;
    const path = try std.fmt.bufPrintZ(&buffer, "/tmp/jzx-zig-{d}", .{linux.getpid()});
    defer _ = linux.unlink(path.ptr);
    const nothing = jzx.file.open(ctx, path, .{ .read = true }, until(ctx));
    try testing.expectError(error.NotFound, nothing);
    const new: jzx.file.How = .{ .write = true, .create = true, .new = true, .mode = 0o600 };
    const file = try jzx.file.open(ctx, path, new, until(ctx));
    try testing.expectEqual(0o600, (try file.stat(ctx, until(ctx))).mode & 0o777);
    const again = jzx.file.open(ctx, path, new, until(ctx));
    try testing.expectError(error.Exists, again);
    try file.write(ctx, "one", 0, until(ctx));

    _ = try jzx.file.openTo(ctx, path, .{ .read = true, .write = true, .append = true }, 1);
    try ctx.receiveTag(1, until(ctx));
    const other = try (try jzx.Result.of(ctx)).value(jzx.File);
    try other.write(ctx, "two", jzx.file.here, until(ctx));
    var room: [16]u8 = undefined;
    try testing.expectEqualStrings("onetwo", try other.read(ctx, &room, 0, until(ctx)));
    try testing.expectError(error.NoSuchActor, other.give(ctx, @enumFromInt(1 << 40)));
}

test "a file is opened as it is asked for" {
    try runAlone(opens);
}

// ---- datagrams ----

const Msg = union(enum) { begin: jzx.udp.Socket, datagram: jzx.udp.Event };

const Echo = struct {
    pub fn receive(_: *Echo, ctx: *jzx.Context, msg: Msg) !jzx.Next {
        switch (msg) {
            .begin => |socket| try socket.active(ctx, jzx.tagOf(Msg, .datagram), 2),
            .datagram => |event| switch (event.what()) {
                .data => |it| try event.socket().trySend(ctx, it.bytes, it.from),
                .passive => |cause| {
                    try testing.expectEqual(null, cause);
                    return .stop;
                },
                else => return error.Unexpected,
            },
        }
        return .go_on;
    }
};

fn datagrams(ctx: *jzx.Context) !void {
    const theirs = try jzx.udp.open(ctx, "127.0.0.1:0", .{});
    const ours = try jzx.udp.open(ctx, "127.0.0.1:0", .{});
    const echo = try jzx.Actor(Echo, Msg).spawn(ctx, .{}, .{});
    var text: jzx.stream.AddressBuffer = undefined;
    const server = try jzx.udp.Address.parse(try theirs.local(ctx, &text));
    try theirs.give(ctx, echo.id);
    try echo.send(ctx, .{ .begin = theirs });

    var room: [8]u8 = undefined;
    try ours.send(ctx, "hello", server, until(ctx));
    const first = try ours.receive(ctx, &room, until(ctx));
    try testing.expectEqualStrings("hello", first.bytes);
    try testing.expect(first.from.eql(&server) and !first.is_cut);

    try ours.connect(ctx, try server.format(&text));
    try ours.send(ctx, "more than that", null, until(ctx));
    const second = try ours.receive(ctx, &room, until(ctx));
    try testing.expectEqualStrings("more tha", second.bytes);
    try testing.expect(second.is_cut);

    _ = try ctx.join(echo.id, until(ctx)); // and its socket is closed
    try testing.expectError(error.Closed, theirs.local(ctx, &text));
    try testing.expectError(error.Timeout, ours.receive(ctx, &room, ctx.in(jzx.ms(1))));
    try testing.expectError(error.InvalidArg, jzx.udp.open(ctx, "nonsense", .{}));
    try testing.expectError(error.InvalidArg, jzx.udp.Address.parse("127.0.0.1"));
    try ours.close(ctx);
    try testing.expectError(error.Closed, ours.trySend(ctx, "x", server));
}

test "datagrams go to and fro, and those that do not fit are cut" {
    try runAlone(datagrams);
}
