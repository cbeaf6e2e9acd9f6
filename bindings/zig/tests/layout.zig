// SPDX-License-Identifier: MIT
//! The declarations of c.zig against what a C compiler makes of the headers (layout.c): a struct
//! that has changed its size or the place of a field fails here, by name.

const std = @import("std");
const jzx = @import("jzx");
const c = jzx.c;
const c_io = jzx.c_io;
const testing = std.testing;

const Place = extern struct {
    type: [*:0]const u8,
    field: [*:0]const u8,
    offset: usize,
    size: usize,
};
extern const jzx_zig_places: [1]Place;
extern const jzx_zig_place_count: usize;
const Constant = extern struct { name: [*:0]const u8, value: u64 };
extern const jzx_zig_constants: [1]Constant;
extern const jzx_zig_constant_count: usize;
extern fn jzx_zig_with_bit(opts: *c.SpawnOpts, which: c_int) void;
extern fn jzx_zig_stream_with_bit(opts: *c.StreamOpts, which: c_int) void;
extern fn jzx_zig_udp_with_bit(opts: *c_io.UdpOpts, which: c_int) void;
extern fn jzx_zig_listen_with_bit(opts: *c.ListenOpts, which: c_int) void;

fn places() []const Place {
    const first: [*]const Place = &jzx_zig_places;
    return first[0..jzx_zig_place_count];
}

fn placeOf(type_name: []const u8, field: []const u8) !Place {
    for (places()) |place| {
        if (std.mem.eql(u8, std.mem.span(place.type), type_name) and
            std.mem.eql(u8, std.mem.span(place.field), field)) return place;
    }
    std.debug.print("layout.c knows no {s}.{s}\n", .{ type_name, field });
    return error.NoSuchPlace;
}

const structs = .{
    .{ c.Context, "jzx_context" },
    .{ c.Message, "jzx_message" },
    .{ c.Allocator, "jzx_allocator" },
    .{ c.Mapper, "jzx_mapper" },
    .{ c.LogSink, "jzx_log_sink" },
    .{ c.Config, "jzx_config" },
    .{ c.SpawnOpts, "jzx_spawn_opts" },
    .{ c.ExitNotice, "jzx_exit_notice" },
    .{ c.AskDown, "jzx_ask_down" },
    .{ c.AskHandle, "jzx_ask_handle" },
    .{ c.IoEvent, "jzx_io_event" },
    .{ jzx.io.Event, "jzx_io_event" },
    .{ c.SignalEvent, "jzx_signal_event" },
    .{ c.Backoff, "jzx_backoff" },
    .{ c.ChildSpec, "jzx_child_spec" },
    .{ c.SupervisorOpts, "jzx_supervisor_opts" },
    .{ c.ChildInfo, "jzx_child_info" },
    .{ c.SupervisorInfo, "jzx_supervisor_info" },
    .{ c.ChildEvent, "jzx_child_event" },
    .{ c.ChildAdded, "jzx_child_added" },
    .{ c.StreamOpts, "jzx_stream_opts" },
    .{ c.ListenOpts, "jzx_listen_opts" },
    .{ c.ConnectOpts, "jzx_connect_opts" },
    .{ c.StreamEvent, "jzx_stream_event" },
    .{ c.StreamInfo, "jzx_stream_info" },
    .{ c.Result, "jzx_result" },
    .{ c.Part, "iovec" },
    .{ c_io.FileInfo, "jzx_file_info" },
    .{ c_io.Address, "jzx_address" },
    .{ c_io.UdpOpts, "jzx_udp_opts" },
    .{ c_io.Datagram, "jzx_datagram" },
    .{ c_io.UdpEvent, "jzx_udp_event" },
};

fn isBits(comptime T: type) bool {
    return switch (T) {
        c.SpawnFlags, c.FiberFlags, c.StreamFlags, c.ListenFlags, c_io.UdpFlags => true,
        else => false,
    };
}

test "every struct has the size and the places that C gives it" {
    var failed = false;
    inline for (structs) |pair| {
        const T, const name = pair;
        if ((try placeOf(name, "")).size != @sizeOf(T)) {
            std.debug.print("{s}: {d} bytes in C, {d} in c.zig\n", .{
                name, (try placeOf(name, "")).size, @sizeOf(T),
            });
            failed = true;
        }
        inline for (@typeInfo(T).@"struct".fields) |field| {
            if (comptime isBits(field.type)) continue;
            const place = try placeOf(name, field.name);
            if (place.offset != @offsetOf(T, field.name) or place.size != @sizeOf(field.type)) {
                std.debug.print("{s}.{s}: {d} bytes at {d} in C, {d} at {d} in c.zig\n", .{
                    name,
                    field.name,
                    place.size,
                    place.offset,
                    @sizeOf(field.type),
                    @offsetOf(T, field.name),
                });
                failed = true;
            }
        }
    }
    try testing.expect(!failed);
}

test "bit-fields are where C has them" {
    var opts: c.SpawnOpts = undefined;
    jzx_zig_with_bit(&opts, 0);
    try testing.expectEqual(c.SpawnFlags{ .daemon = true }, opts.flags);
    jzx_zig_with_bit(&opts, 1);
    try testing.expectEqual(c.SpawnFlags{ .account = true }, opts.flags);
    jzx_zig_with_bit(&opts, 2);
    try testing.expectEqual(c.SpawnFlags{}, opts.flags);
    try testing.expectEqual(c.FiberFlags{ .migratable = true }, opts.fiber_flags);
    jzx_zig_with_bit(&opts, 3);
    try testing.expectEqual(c.FiberFlags{ .thread_bound = true }, opts.fiber_flags);

    var stream: c.StreamOpts = undefined;
    jzx_zig_stream_with_bit(&stream, 0);
    try testing.expectEqual(c.StreamFlags{ .delay = true }, stream.flags);
    jzx_zig_stream_with_bit(&stream, 1);
    try testing.expectEqual(c.StreamFlags{ .keepalive = true }, stream.flags);

    var listen: c.ListenOpts = undefined;
    jzx_zig_listen_with_bit(&listen, 0);
    try testing.expectEqual(c.ListenFlags{ .reuse_port = true }, listen.flags);
    jzx_zig_listen_with_bit(&listen, 1);
    try testing.expectEqual(c.ListenFlags{ .v6_only = true }, listen.flags);

    var udp: c_io.UdpOpts = undefined;
    const bits = [_]c_io.UdpFlags{
        .{ .reuse_port = true }, .{ .reuse_address = true },
        .{ .broadcast = true },  .{ .v6_only = true },
    };
    for (bits, 0..) |bit, i| {
        jzx_zig_udp_with_bit(&udp, @intCast(i));
        try testing.expectEqual(bit, udp.flags);
    }
}

fn constantOf(name: []const u8) !u64 {
    const first: [*]const Constant = &jzx_zig_constants;
    for (first[0..jzx_zig_constant_count]) |constant| {
        if (std.mem.eql(u8, std.mem.span(constant.name), name)) return constant.value;
    }
    std.debug.print("layout.c knows no {s}\n", .{name});
    return error.NoSuchConstant;
}

fn upper(comptime prefix: []const u8, comptime name: []const u8) []const u8 {
    var text: []const u8 = prefix;
    for (name) |letter| text = text ++ .{std.ascii.toUpper(letter)};
    return text;
}

const enums = .{
    .{ c.BehaviorResult, "JZX_BEHAVIOR_" },
    .{ c.ExitReason, "JZX_EXIT_" },
    .{ c.StopKind, "JZX_STOP_" },
    .{ c.OnFull, "JZX_FULL_" },
    .{ c.Priority, "JZX_PRIORITY_" },
    .{ c.Repeat, "JZX_" },
    .{ c.Strategy, "JZX_" },
    .{ c.ChildMode, "JZX_" },
    .{ c.BackoffKind, "JZX_BACKOFF_" },
    .{ c.AutoShutdown, "JZX_AUTO_SHUTDOWN_" },
    .{ c.ChildState, "JZX_CHILD_" },
    .{ c.LogLevel, "JZX_LOG_" },
    .{ c.Balance, "JZX_BALANCE_" },
    .{ c.AcceptMode, "JZX_ACCEPT_" },
    .{ c.OnWait, "JZX_ON_WAIT_" },
    .{ c.OnStall, "JZX_ON_STALL_" },
    .{ c.StreamEventKind, "JZX_STREAM_" },
    .{ c_io.FileKind, "JZX_FILE_" },
    .{ c_io.UdpEventKind, "JZX_UDP_" },
    .{ c.IoBackend, "JZX_IO_" },
};

test "every constant has the value that C gives it" {
    @setEvalBranchQuota(20_000);
    inline for (enums) |pair| {
        const T, const prefix = pair;
        inline for (@typeInfo(T).@"enum".fields) |field| {
            const name = comptime upper(prefix, field.name);
            try testing.expectEqual(try constantOf(name), field.value);
        }
    }
    try checkConstants(c);
    try checkConstants(c_io);
}

fn checkConstants(comptime module: type) !void {
    @setEvalBranchQuota(20_000);
    inline for (@typeInfo(module).@"struct".decls) |decl| {
        const value = @field(module, decl.name);
        switch (@TypeOf(value)) {
            u32, u64, comptime_int => {
                const name = comptime upper("JZX_", decl.name);
                try testing.expectEqual(try constantOf(name), value);
            },
            else => {},
        }
    }
}

/// "JZX_ERR_MAILBOX_FULL" is error.MailboxFull; JZX_ERR_NO_MEMORY has Zig's own name.
fn isNameOf(code_name: []const u8, err: anyerror) bool {
    if (err == error.OutOfMemory) return std.mem.eql(u8, code_name, "JZX_ERR_NO_MEMORY");
    var letters: usize = 0;
    const name = @errorName(err);
    const rest = code_name["JZX_ERR_".len..];
    for (rest) |letter| {
        if (letter == '_') continue;
        if (letters == name.len or std.ascii.toUpper(name[letters]) != letter) return false;
        letters += 1;
    }
    return letters == name.len;
}

test "every code has its error" {
    const unknown = std.mem.span(c.jzx_err_name(1));
    var code: c_int = -1;
    while (true) : (code -= 1) {
        const name = std.mem.span(c.jzx_err_name(code));
        if (std.mem.eql(u8, name, unknown)) break;
        const err = jzx.errorOf(code);
        if (!isNameOf(name, err)) {
            std.debug.print("{s} is error.{t}: add it to jzx/error.zig\n", .{ name, err });
            return error.TestUnexpectedResult;
        }
    }
    try testing.expect(code < -40);
    try testing.expectEqual(error.Unknown, jzx.errorOf(code));
    try testing.expectEqual(error.Unknown, jzx.errorOf(1));
}
