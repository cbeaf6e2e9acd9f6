// SPDX-License-Identifier: MIT
//! The echo server of examples/52_echo.c in Zig, written twice: with behaviours, which are told
//! what arrives, and with fibers, which wait.
//!
//! - `jzx-echo messages|fibers [PORT]` listens at 127.0.0.1:5555, or at that port, until it is
//!   killed; 0: at a free port.
//! - `jzx-echo` tries both, with a client of its own, and prints:
//!
//!     messages: line 1
//!     messages: line 2
//!     messages: line 3
//!     fibers: line 1
//!     fibers: line 2
//!     fibers: line 3

const std = @import("std");
const jzx = @import("jzx");

const Way = enum { messages, fibers };

/// What a server is told.
const Server = struct {
    way: Way,
    address: [:0]const u8,
    has_client: bool, // in the same program
    out: std.Io,

    fn listen(server: *const Server, ctx: *jzx.Context) !jzx.Listener {
        const listener = try jzx.tcp.listen(ctx, server.address, .{});
        var room: jzx.stream.AddressBuffer = undefined;
        const address = try listener.address(ctx, &room);
        if (server.has_client) {
            const client: Client = .{ .server = server, .listener = listener };
            _ = try jzx.Actor(Client, void).spawn(ctx, client, .{});
        } else {
            try server.print("listening at {s}\n", .{address});
        }
        return listener;
    }

    fn print(server: *const Server, comptime format: []const u8, args: anytype) !void {
        var buffer: [256]u8 = undefined;
        var writer = std.Io.File.stdout().writerStreaming(server.out, &buffer);
        try writer.interface.print(format, args);
        try writer.interface.flush();
    }
};

// ---- 1: behaviours ----

const Msg = union(enum) {
    accepted: jzx.Result,
    begin: jzx.Stream,
    input: jzx.stream.Event,
    flushed: jzx.Result,
};

/// A connection: it ends with its actor. Of a peer that does not read nothing more is read.
const Echo = struct {
    const input = jzx.tagOf(Msg, .input);

    pub fn receive(_: *Echo, ctx: *jzx.Context, msg: Msg) jzx.Next {
        return handle(ctx, msg) catch .stop; // the peer is gone
    }

    pub fn other(_: *Echo, ctx: *jzx.Context) jzx.Next {
        press(ctx) catch return .stop;
        return .go_on;
    }

    fn handle(ctx: *jzx.Context, msg: Msg) !jzx.Next {
        switch (msg) {
            .begin => |stream| try stream.active(ctx, input, jzx.stream.always),
            .input => |event| switch (event.what()) {
                .data => |bytes| try event.stream().send(ctx, bytes),
                // It is flushed when all is out.
                .end => _ = try event.stream().shutdownTo(ctx, jzx.tagOf(Msg, .flushed)),
                .failed => |err| return err,
                else => {},
            },
            .accepted, .flushed => return .stop,
        }
        return .go_on;
    }

    /// Too much waits to be written, or little enough again.
    fn press(ctx: *jzx.Context) !void {
        const event = try jzx.stream.Event.of(ctx);
        switch (event.what()) {
            .high => try event.stream().active(ctx, input, 0),
            .low => try event.stream().active(ctx, input, jzx.stream.always),
            else => {},
        }
    }
};

const Acceptor = struct {
    server: *const Server,
    listener: jzx.Listener = .none,

    pub fn start(self: *Acceptor, ctx: *jzx.Context) !void {
        self.listener = try self.server.listen(ctx);
        _ = try self.listener.acceptTo(ctx, jzx.tagOf(Msg, .accepted));
    }

    pub fn receive(self: *Acceptor, ctx: *jzx.Context, msg: Msg) !void {
        handOver(ctx, msg) catch {}; // that connection is closed, and others come
        _ = try self.listener.acceptTo(ctx, jzx.tagOf(Msg, .accepted));
    }

    /// A new actor may still move to an idle worker: the stream is registered where it begins.
    fn handOver(ctx: *jzx.Context, msg: Msg) !void {
        const stream = try msg.accepted.value(jzx.Stream);
        errdefer stream.close(ctx) catch {};
        const echo = try jzx.Actor(Echo, Msg).spawn(ctx, .{}, .{});
        try stream.give(ctx, echo.id);
        try echo.send(ctx, .{ .begin = stream });
    }
};

// ---- 2: fibers ----

const EchoFiber = struct {
    const Me = jzx.Actor(EchoFiber, jzx.Stream);

    pub fn run(_: *EchoFiber, ctx: *jzx.Context) !void {
        const stream = try Me.next(ctx, jzx.never);
        var room: [4096]u8 = undefined;
        while (stream.read(ctx, &room, jzx.never)) |bytes| {
            stream.write(ctx, bytes, ctx.in(jzx.seconds(10))) catch return;
        } else |_| {} // the end, or the peer is gone
    }
};

const AcceptorFiber = struct {
    server: *const Server,

    pub fn run(self: *AcceptorFiber, ctx: *jzx.Context) !void {
        const listener = try self.server.listen(ctx);
        while (true) {
            const stream = try listener.accept(ctx, jzx.never);
            handOver(ctx, stream) catch stream.close(ctx) catch {};
        }
    }

    fn handOver(ctx: *jzx.Context, stream: jzx.Stream) !void {
        const echo = try EchoFiber.Me.spawn(ctx, .{}, .{});
        try stream.give(ctx, echo.id);
        try echo.send(ctx, stream);
    }
};

// ---- a client of its own ----

const Client = struct {
    server: *const Server,
    listener: jzx.Listener,

    pub fn run(self: *Client, ctx: *jzx.Context) !void {
        defer ctx.requestStop();
        var text: jzx.stream.AddressBuffer = undefined;
        const address = try self.listener.address(ctx, &text);
        const stream = try jzx.tcp.connect(ctx, address, .{}, ctx.in(jzx.seconds(10)));
        var room: [64]u8 = undefined;
        for (1..4) |i| {
            const line = try std.fmt.bufPrint(&room, "{t}: line {d}\n", .{ self.server.way, i });
            try stream.write(ctx, line, jzx.never);
            const answer = try stream.readUntil(ctx, '\n', &room, jzx.never);
            try self.server.print("{s}", .{answer});
        }
    }
};

// ---- both ----

fn run(server: *const Server) !void {
    const loop = try jzx.Loop.init(std.heap.smp_allocator, .{});
    defer loop.deinit();
    switch (server.way) {
        .messages => _ = try jzx.Actor(Acceptor, Msg).spawn(loop, .{ .server = server }, .{}),
        .fibers => _ = try jzx.Actor(AcceptorFiber, void).spawn(loop, .{ .server = server }, .{}),
    }
    try loop.run();
}

pub fn main(init: std.process.Init) !void {
    const args = try init.minimal.args.toSlice(init.arena.allocator());
    if (args.len == 1) {
        for ([_]Way{ .messages, .fibers }) |way| try run(&.{
            .way = way,
            .address = "127.0.0.1:0",
            .has_client = true,
            .out = init.io,
        });
        return;
    }
    const way = std.meta.stringToEnum(Way, args[1]);
    if (way == null or args.len > 3) {
        std.debug.print("usage: {s} [messages|fibers [PORT]]\n", .{args[0]});
        std.process.exit(1);
    }
    var buffer: jzx.stream.AddressBuffer = undefined;
    const port: []const u8 = if (args.len == 3) args[2] else "5555";
    const address = try std.fmt.bufPrintZ(&buffer, "127.0.0.1:{s}", .{port});
    try run(&.{ .way = way.?, .address = address, .has_client = false, .out = init.io });
}
