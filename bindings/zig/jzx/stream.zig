// SPDX-License-Identifier: MIT
//! Streams: connections over TCP and Unix sockets. include/jzx/stream.h has the contract of each
//! call, docs/io.md the whole picture.
//!
//! A behaviour is told what arrives, and sends without waiting:
//!
//!     const Msg = union(enum(u32)) { begin: jzx.Stream = 1, input: jzx.stream.Event = 2 };
//!     ...
//!     .begin => |stream| try stream.active(ctx, jzx.tagOf(Msg, .input), jzx.stream.always),
//!     .input => |event| switch (event.what()) {
//!         .data => |bytes| try event.stream().send(ctx, bytes),
//!         .end => return .stop,
//!         .failed => |err| return err,
//!         else => {},
//!     },
//!
//! A fiber waits:
//!
//!     var room: [4096]u8 = undefined;
//!     while (stream.read(ctx, &room, jzx.never)) |bytes| {
//!         try stream.write(ctx, bytes, ctx.in(jzx.seconds(10)));
//!     } else |err| if (err != error.End) return err;
//!
//! A socket belongs to an actor and is closed when that ends: no `deinit` is needed. A call whose
//! name ends in `To` completes by a message with a `jzx.Result`.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("error.zig");
const loops = @import("loop.zig");
const actors = @import("actor.zig");
const ops = @import("op.zig");
const Context = actors.Context;
const Error = errors.Error;
const Op = ops.Op;

/// Fields as of jzx_stream_opts, jzx_listen_opts and jzx_connect_opts; zero means the default.
/// `stream` of the last two is a pointer to options of the first kind: `.stream = &.{ ... }`.
pub const Options = c.StreamOpts;
pub const ListenOptions = c.ListenOpts;
pub const AcceptMode = c.AcceptMode;
pub const ConnectOptions = c.ConnectOpts;

/// A picture of the moment; `owner` is the number of an `Id`.
pub const Info = c.StreamInfo;

/// A piece of a vectored write: `part("text")`.
pub const Part = c.Part;

pub fn part(bytes: []const u8) Part {
    return .{ .base = bytes.ptr, .len = bytes.len };
}

/// For the count of `active`: until the end of the stream.
pub const always = c.stream_always;

/// Room for every address, with its zero.
pub const AddressBuffer = [c.address_max]u8;

/// A connection. A plain value, which may be sent; when the socket is closed, every call with it is
/// `error.Closed`.
pub const Stream = enum(u64) {
    none = 0,
    _,

    // ---- reading ----

    /// What has arrived, at least one byte, in `room`. Suspends a fiber. `error.End`: the peer
    /// writes no more.
    pub fn read(stream: Stream, ctx: *const Context, room: []u8, deadline_ns: u64) Error![]u8 {
        var len: usize = 0;
        try errors.check(
            c.jzx_stream_read(ctx.raw, stream.raw(), room.ptr, room.len, deadline_ns, &len),
        );
        return room[0..len];
    }

    /// Fills all of `room`. Suspends a fiber.
    pub fn readExact(stream: Stream, ctx: *const Context, room: []u8, deadline_ns: u64) Error!void {
        return errors.check(
            c.jzx_stream_read_exact(ctx.raw, stream.raw(), room.ptr, room.len, deadline_ns),
        );
    }

    /// All up to the delimiter and with it. Suspends a fiber. `error.TooLong`: it is not among the
    /// first `room.len` bytes, which stay where they are.
    pub fn readUntil(
        stream: Stream,
        ctx: *const Context,
        delimiter: u8,
        room: []u8,
        deadline_ns: u64,
    ) Error![]u8 {
        var len: usize = 0;
        try errors.check(c.jzx_stream_read_until(
            ctx.raw,
            stream.raw(),
            @bitCast(delimiter),
            room.ptr,
            room.len,
            deadline_ns,
            &len,
        ));
        return room[0..len];
    }

    /// The three by a message: `Result.bytes` are what was read.
    pub fn readTo(stream: Stream, ctx: *const Context, len_max: usize, tag: u32) Error!Op {
        var op: u64 = 0;
        try errors.check(c.jzx_stream_read_to(ctx.raw, stream.raw(), len_max, tag, &op));
        return @enumFromInt(op);
    }

    pub fn readExactTo(stream: Stream, ctx: *const Context, len: usize, tag: u32) Error!Op {
        var op: u64 = 0;
        try errors.check(c.jzx_stream_read_exact_to(ctx.raw, stream.raw(), len, tag, &op));
        return @enumFromInt(op);
    }

    pub fn readUntilTo(
        stream: Stream,
        ctx: *const Context,
        delimiter: u8,
        len_max: usize,
        tag: u32,
    ) Error!Op {
        var op: u64 = 0;
        const byte: c_char = @bitCast(delimiter);
        try errors.check(
            c.jzx_stream_read_until_to(ctx.raw, stream.raw(), byte, len_max, tag, &op),
        );
        return @enumFromInt(op);
    }

    /// The next `count` pieces that arrive, or all with `always`, come to the owner as messages
    /// with that tag and an `Event`. At most one with data waits in the mailbox: a slow owner slows
    /// the peer down. With count 0 the stream is passive again. For the owner alone.
    pub fn active(stream: Stream, ctx: *const Context, tag: u32, count: u32) Error!void {
        return errors.check(c.jzx_stream_active(ctx.raw, stream.raw(), tag, count));
    }

    // ---- writing ----

    /// Writes all of it. Suspends a fiber.
    pub fn write(
        stream: Stream,
        ctx: *const Context,
        data: []const u8,
        deadline_ns: u64,
    ) Error!void {
        return errors.check(
            c.jzx_stream_write(ctx.raw, stream.raw(), data.ptr, data.len, deadline_ns),
        );
    }

    /// Writes all of several pieces, in one system call where that is possible. Suspends a fiber.
    pub fn writev(
        stream: Stream,
        ctx: *const Context,
        parts: []const Part,
        deadline_ns: u64,
    ) Error!void {
        return errors.check(
            c.jzx_stream_writev(ctx.raw, stream.raw(), parts.ptr, parts.len, deadline_ns),
        );
    }

    /// Sends so many bytes of a regular file, without a copy in user space: how many it had.
    /// Suspends a fiber.
    pub fn sendfile(
        stream: Stream,
        ctx: *const Context,
        fd: std.posix.fd_t,
        offset: u64,
        len: usize,
        deadline_ns: u64,
    ) Error!usize {
        var sent: usize = 0;
        const me = stream.raw();
        try errors.check(
            c.jzx_stream_sendfile(ctx.raw, me, fd, offset, len, deadline_ns, &sent),
        );
        return sent;
    }

    /// Ends the writing side when all that waits is written. Suspends a fiber.
    pub fn shutdown(stream: Stream, ctx: *const Context, deadline_ns: u64) Error!void {
        return errors.check(c.jzx_stream_shutdown(ctx.raw, stream.raw(), deadline_ns));
    }

    /// Takes a copy and returns at once: the form for behaviours. `error.Full`: too much waits to
    /// be written, and nothing of this was taken; `jzx.tag.stream_high` warns before that.
    pub fn send(stream: Stream, ctx: *const Context, data: []const u8) Error!void {
        return errors.check(c.jzx_stream_send(ctx.raw, stream.raw(), data.ptr, data.len));
    }

    /// By a message, when all is written. What is given is copied. The `Result.value` of
    /// `sendfileTo` is a `u64`; the others have none.
    pub fn writeTo(stream: Stream, ctx: *const Context, data: []const u8, tag: u32) Error!Op {
        var op: u64 = 0;
        try errors.check(
            c.jzx_stream_write_to(ctx.raw, stream.raw(), data.ptr, data.len, tag, &op),
        );
        return @enumFromInt(op);
    }

    pub fn writevTo(stream: Stream, ctx: *const Context, parts: []const Part, tag: u32) Error!Op {
        var op: u64 = 0;
        try errors.check(
            c.jzx_stream_writev_to(ctx.raw, stream.raw(), parts.ptr, parts.len, tag, &op),
        );
        return @enumFromInt(op);
    }

    pub fn sendfileTo(
        stream: Stream,
        ctx: *const Context,
        fd: std.posix.fd_t,
        offset: u64,
        len: usize,
        tag: u32,
    ) Error!Op {
        var op: u64 = 0;
        const me = stream.raw();
        try errors.check(c.jzx_stream_sendfile_to(ctx.raw, me, fd, offset, len, tag, &op));
        return @enumFromInt(op);
    }

    pub fn shutdownTo(stream: Stream, ctx: *const Context, tag: u32) Error!Op {
        var op: u64 = 0;
        try errors.check(c.jzx_stream_shutdown_to(ctx.raw, stream.raw(), tag, &op));
        return @enumFromInt(op);
    }

    // ---- its life ----

    /// What is pending completes with `error.Closed`; what waits to be written is dropped.
    /// `from` is a `Loop`, on any thread, or a `*Context`.
    pub fn close(stream: Stream, from: anytype) Error!void {
        return errors.check(c.jzx_stream_close(loops.rawOf(from), stream.raw()));
    }

    /// Makes another actor the owner; what is sent to it after this arrives when the stream is its
    /// own. For the owner alone.
    pub fn give(stream: Stream, ctx: *const Context, to: actors.Id) Error!void {
        return errors.check(c.jzx_stream_give(ctx.raw, stream.raw(), @intFromEnum(to)));
    }

    pub fn info(stream: Stream, from: anytype) Error!Info {
        var it: Info = .{};
        try errors.check(c.jzx_stream_info_get(loops.rawOf(from), stream.raw(), &it));
        return it;
    }

    /// The address of the peer, as text in `room`: "127.0.0.1:5555".
    pub fn peer(stream: Stream, from: anytype, room: *AddressBuffer) Error![:0]const u8 {
        const loop = loops.rawOf(from);
        try errors.check(c.jzx_stream_peer(loop, stream.raw(), room, room.len));
        return textIn(room);
    }

    /// The own address.
    pub fn local(stream: Stream, from: anytype, room: *AddressBuffer) Error![:0]const u8 {
        const loop = loops.rawOf(from);
        try errors.check(c.jzx_stream_local(loop, stream.raw(), room, room.len));
        return textIn(room);
    }

    pub fn setNodelay(stream: Stream, from: anytype, on: bool) Error!void {
        return errors.check(c.jzx_stream_set_nodelay(loops.rawOf(from), stream.raw(), on));
    }

    /// Probes an idle peer; `jzx.never` turns that off, and 0 means as the system is set up.
    pub fn setKeepalive(
        stream: Stream,
        from: anytype,
        idle_ns: u64,
        interval_ns: u64,
        count: u32,
    ) Error!void {
        const loop = loops.rawOf(from);
        return errors.check(
            c.jzx_stream_set_keepalive(loop, stream.raw(), idle_ns, interval_ns, count),
        );
    }

    /// What `close` does with data that the system has not sent: below 0 it sends them, 0 resets
    /// the connection.
    pub fn setLinger(stream: Stream, from: anytype, seconds: c_int) Error!void {
        return errors.check(c.jzx_stream_set_linger(loops.rawOf(from), stream.raw(), seconds));
    }

    inline fn raw(stream: Stream) u64 {
        return @intFromEnum(stream);
    }
};

/// Takes connections. A plain value, which may be sent.
pub const Listener = enum(u64) {
    none = 0,
    _,

    /// The next connection, which belongs to the calling actor. Suspends a fiber.
    pub fn accept(listener: Listener, ctx: *const Context, deadline_ns: u64) Error!Stream {
        var stream: u64 = 0;
        try errors.check(c.jzx_listener_accept(ctx.raw, listener.raw(), deadline_ns, &stream));
        return @enumFromInt(stream);
    }

    /// By a message: its `Result.value` is a `Stream`.
    pub fn acceptTo(listener: Listener, ctx: *const Context, tag: u32) Error!Op {
        var op: u64 = 0;
        try errors.check(c.jzx_listener_accept_to(ctx.raw, listener.raw(), tag, &op));
        return @enumFromInt(op);
    }

    /// Accepted streams stay open.
    pub fn close(listener: Listener, from: anytype) Error!void {
        return errors.check(c.jzx_listener_close(loops.rawOf(from), listener.raw()));
    }

    pub fn give(listener: Listener, ctx: *const Context, to: actors.Id) Error!void {
        return errors.check(c.jzx_listener_give(ctx.raw, listener.raw(), @intFromEnum(to)));
    }

    /// Where it listens, with the port that the system has chosen.
    pub fn address(listener: Listener, from: anytype, room: *AddressBuffer) Error![:0]const u8 {
        const loop = loops.rawOf(from);
        try errors.check(c.jzx_listener_address(loop, listener.raw(), room, room.len));
        return textIn(room);
    }

    inline fn raw(listener: Listener) u64 {
        return @intFromEnum(listener);
    }
};

/// The text that a call has put there.
pub fn textIn(room: *AddressBuffer) [:0]const u8 {
    return std.mem.span(@as([*:0]const u8, @ptrCast(room)));
}

/// How streams come to be, over the transport of that name in C.
fn Transport(comptime name: []const u8) type {
    return struct {
        /// The listener belongs to the calling actor. Does not wait.
        pub fn listen(
            ctx: *const Context,
            address: [:0]const u8,
            options: ListenOptions,
        ) Error!Listener {
            var listener: u64 = 0;
            const call = @field(c, "jzx_" ++ name ++ "_listen");
            try errors.check(call(ctx.raw, address.ptr, &options, &listener));
            return @enumFromInt(listener);
        }

        /// The stream belongs to the calling actor. Suspends a fiber.
        pub fn connect(
            ctx: *const Context,
            address: [:0]const u8,
            options: ConnectOptions,
            deadline_ns: u64,
        ) Error!Stream {
            var stream: u64 = 0;
            const call = @field(c, "jzx_" ++ name ++ "_connect");
            try errors.check(call(ctx.raw, address.ptr, &options, deadline_ns, &stream));
            return @enumFromInt(stream);
        }

        /// By a message: its `Result.value` is a `Stream`.
        pub fn connectTo(
            ctx: *const Context,
            address: [:0]const u8,
            options: ConnectOptions,
            tag: u32,
        ) Error!Op {
            var op: u64 = 0;
            const call = @field(c, "jzx_" ++ name ++ "_connect_to");
            try errors.check(call(ctx.raw, address.ptr, &options, tag, &op));
            return @enumFromInt(op);
        }
    };
}

/// Addresses are numeric, with a port: "127.0.0.1:5555", "[::1]:0".
pub const tcp = Transport("tcp");

/// The same for Unix sockets. Addresses are paths, or names that begin with '@' and have no file.
pub const unix = struct {
    const transport = Transport("unix");
    pub const listen = transport.listen;
    pub const connect = transport.connect;
    pub const connectTo = transport.connectTo;

    /// Two streams that are connected to each other, both the calling actor's.
    pub fn pair(ctx: *const Context, options: Options) Error![2]Stream {
        var both: [2]u64 = undefined;
        try errors.check(c.jzx_unix_pair(ctx.raw, &options, &both));
        return .{ @enumFromInt(both[0]), @enumFromInt(both[1]) };
    }
};

/// What an active stream tells its owner.
pub const What = union(enum) {
    /// What has arrived, in the message itself.
    data: []u8,
    /// The count of `active` is used up; or, with `error.OutOfMemory`, it ends early, and `active`
    /// goes on from there.
    passive: ?Error,
    /// The peer writes no more; the stream can still be written to.
    end,
    /// Nothing more comes.
    failed: Error,
    /// So many bytes wait to be written: slow down (`jzx.tag.stream_high`).
    high: u64,
    /// So many are left: go on (`jzx.tag.stream_low`).
    low: u64,
    /// Of a newer library.
    unknown,
};

/// The message of an active stream, valid as long as that is: during the call, in a fiber until its
/// next receive. The tags of `high` and `low` are the runtime's: they come to `other`.
pub const Event = struct {
    raw: *const c.StreamEvent,

    /// In `other`, and in a fiber that has received a message with a tag of its own.
    pub fn of(ctx: *const Context) error{BadMessage}!Event {
        return fromMessage(ctx.current orelse return error.BadMessage);
    }

    pub fn stream(event: Event) Stream {
        return @enumFromInt(event.raw.stream);
    }

    pub fn what(event: Event) What {
        return switch (event.raw.kind) {
            .data => .{ .data = c.jzx_stream_data(event.raw)[0..event.raw.len] },
            .passive => .{
                .passive = if (event.raw.err == 0) null else errors.fromCode(event.raw.err),
            },
            .end => .end,
            .err => .{ .failed = errors.fromCode(event.raw.err) },
            .high => .{ .high = event.raw.queued },
            .low => .{ .low = event.raw.queued },
            _ => .unknown,
        };
    }

    /// The errno behind the error, or 0.
    pub fn osError(event: Event) c_int {
        return event.raw.os_error;
    }

    // ---- for jzx/message.zig ----

    pub fn fromMessage(msg: *const c.Message) error{BadMessage}!Event {
        if (msg.len < @sizeOf(c.StreamEvent)) return error.BadMessage;
        const raw: *const c.StreamEvent = @ptrCast(@alignCast(msg.data));
        if (raw.len > msg.len - @sizeOf(c.StreamEvent)) return error.BadMessage;
        return .{ .raw = raw };
    }

    pub fn whole(event: Event) []const u8 {
        const first: [*]const u8 = @ptrCast(event.raw);
        return first[0 .. @sizeOf(c.StreamEvent) + event.raw.len];
    }
};
