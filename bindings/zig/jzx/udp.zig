// SPDX-License-Identifier: MIT
//! Datagrams over UDP. include/jzx/udp.h has the contract of each call, docs/io.md the whole
//! picture.
//!
//! A behaviour is told of each datagram, and sends without waiting:
//!
//!     const Msg = union(enum) { datagram: jzx.udp.Event };
//!     try socket.active(ctx, jzx.tagOf(Msg, .datagram), jzx.udp.always);
//!     ...
//!     .datagram => |event| switch (event.what()) {
//!         .data => |it| try event.socket().trySend(ctx, it.bytes, it.from),
//!         else => {},
//!     },
//!
//! A fiber waits:
//!
//!     const it = try socket.receive(ctx, &room, jzx.never);
//!     try socket.send(ctx, it.bytes, it.from, jzx.never);

const std = @import("std");
const c = @import("c.zig");
const cio = @import("c_io.zig");
const errors = @import("error.zig");
const loops = @import("loop.zig");
const actors = @import("actor.zig");
const streams = @import("stream.zig");
const Context = actors.Context;
const Error = errors.Error;

/// Fields as of jzx_udp_opts; zero means the default.
pub const Options = cio.UdpOpts;

/// For the count of `active`: until the socket is closed.
pub const always = cio.udp_always;

/// An address with its port. A plain value, which may be sent.
pub const Address = extern struct {
    raw: cio.Address,

    pub fn parse(text: [:0]const u8) Error!Address {
        var it: Address = undefined;
        try errors.check(cio.jzx_address_parse(text.ptr, &it.raw));
        return it;
    }

    pub fn format(address: *const Address, room: *streams.AddressBuffer) Error![:0]const u8 {
        try errors.check(cio.jzx_address_format(&address.raw, room, room.len));
        return streams.textIn(room);
    }

    pub fn eql(a: *const Address, b: *const Address) bool {
        return cio.jzx_address_is_equal(&a.raw, &b.raw);
    }
};

pub const Datagram = struct {
    bytes: []u8,
    from: Address,
    /// It was longer than its room, and the rest is lost.
    is_cut: bool,
};

/// Opens a socket at that address, with port 0 at a free one; it belongs to the calling actor.
/// null: the system chooses, for a socket with `options.peer`. Does not wait.
pub fn open(ctx: *const Context, address: ?[:0]const u8, options: Options) Error!Socket {
    var udp: u64 = 0;
    const text: ?[*:0]const u8 = if (address) |it| it.ptr else null;
    try errors.check(cio.jzx_udp_open(ctx.raw, text, &options, &udp));
    return @enumFromInt(udp);
}

/// A plain value, which may be sent; when it is closed, every call with it is `error.Closed`.
pub const Socket = enum(u64) {
    none = 0,
    _,

    /// The next datagram, as far as it fits into `room`. Suspends a fiber.
    pub fn receive(
        socket: Socket,
        ctx: *const Context,
        room: []u8,
        deadline_ns: u64,
    ) Error!Datagram {
        var it: cio.Datagram = .{ .data = room.ptr, .cap = room.len };
        try errors.check(cio.jzx_udp_receive(ctx.raw, socket.raw(), &it, deadline_ns));
        return .{
            .bytes = room[0..it.len],
            .from = .{ .raw = it.address },
            .is_cut = it.size > it.len,
        };
    }

    /// null: to the peer of a connected socket. Suspends a fiber while the system has no room.
    pub fn send(
        socket: Socket,
        ctx: *const Context,
        data: []const u8,
        to: ?Address,
        deadline_ns: u64,
    ) Error!void {
        const me = socket.raw();
        const where = rawAddress(&to);
        return errors.check(
            cio.jzx_udp_send(ctx.raw, me, data.ptr, data.len, where, deadline_ns),
        );
    }

    /// Without waiting: the form for behaviours. `error.Full`: the system has no room now.
    pub fn trySend(
        socket: Socket,
        ctx: *const Context,
        data: []const u8,
        to: ?Address,
    ) Error!void {
        const me = socket.raw();
        return errors.check(
            cio.jzx_udp_try_send(ctx.raw, me, data.ptr, data.len, rawAddress(&to)),
        );
    }

    /// The next `count` datagrams, or all with `always`, come to the owner as messages with that
    /// tag and an `Event`. With count 0 the socket is passive again. For the owner alone.
    pub fn active(socket: Socket, ctx: *const Context, tag: u32, count: u32) Error!void {
        return errors.check(cio.jzx_udp_active(ctx.raw, socket.raw(), tag, count));
    }

    /// Fixes the peer; null takes that back.
    pub fn connect(socket: Socket, from: anytype, to: ?[:0]const u8) Error!void {
        const text: ?[*:0]const u8 = if (to) |it| it.ptr else null;
        return errors.check(cio.jzx_udp_connect(loops.rawOf(from), socket.raw(), text));
    }

    pub fn close(socket: Socket, from: anytype) Error!void {
        return errors.check(cio.jzx_udp_close(loops.rawOf(from), socket.raw()));
    }

    pub fn give(socket: Socket, ctx: *const Context, to: actors.Id) Error!void {
        return errors.check(cio.jzx_udp_give(ctx.raw, socket.raw(), @intFromEnum(to)));
    }

    pub fn local(socket: Socket, from: anytype, room: *streams.AddressBuffer) Error![:0]const u8 {
        const loop = loops.rawOf(from);
        try errors.check(cio.jzx_udp_local(loop, socket.raw(), room, room.len));
        return streams.textIn(room);
    }

    pub fn peer(socket: Socket, from: anytype, room: *streams.AddressBuffer) Error![:0]const u8 {
        const loop = loops.rawOf(from);
        try errors.check(cio.jzx_udp_peer(loop, socket.raw(), room, room.len));
        return streams.textIn(room);
    }

    inline fn raw(socket: Socket) u64 {
        return @intFromEnum(socket);
    }
};

inline fn rawAddress(to: *const ?Address) ?*const cio.Address {
    return if (to.*) |*address| &address.raw else null;
}

/// What an active socket tells its owner.
pub const What = union(enum) {
    data: Datagram,
    /// The count of `active` is used up; or, with `error.OutOfMemory`, it ends early, and `active`
    /// goes on from there.
    passive: ?Error,
    /// `error.Refused` and `error.Unreachable` are about datagrams that were sent, and more events
    /// come; after any other nothing does.
    failed: Error,
    /// Of a newer library.
    unknown,
};

/// The message of an active socket, valid as long as that is: during the call, in a fiber until its
/// next receive.
pub const Event = struct {
    raw: *const cio.UdpEvent,

    /// In a fiber that has received a message with the tag of `active`.
    pub fn of(ctx: *const Context) error{BadMessage}!Event {
        return fromMessage(ctx.current orelse return error.BadMessage);
    }

    pub fn socket(event: Event) Socket {
        return @enumFromInt(event.raw.udp);
    }

    pub fn what(event: Event) What {
        return switch (event.raw.kind) {
            .data => .{ .data = .{
                .bytes = cio.jzx_udp_data(event.raw)[0..event.raw.len],
                .from = .{ .raw = event.raw.from },
                .is_cut = event.raw.size > event.raw.len,
            } },
            .passive => .{
                .passive = if (event.raw.err == 0) null else errors.fromCode(event.raw.err),
            },
            .err => .{ .failed = errors.fromCode(event.raw.err) },
            _ => .unknown,
        };
    }

    // ---- for jzx/message.zig ----

    pub fn fromMessage(msg: *const c.Message) error{BadMessage}!Event {
        if (msg.len < @sizeOf(cio.UdpEvent)) return error.BadMessage;
        const raw: *const cio.UdpEvent = @ptrCast(@alignCast(msg.data));
        if (raw.len > msg.len - @sizeOf(cio.UdpEvent)) return error.BadMessage;
        return .{ .raw = raw };
    }

    pub fn whole(event: Event) []const u8 {
        const first: [*]const u8 = @ptrCast(event.raw);
        return first[0 .. @sizeOf(cio.UdpEvent) + event.raw.len];
    }
};
