// SPDX-License-Identifier: MIT
//! What may be sent, and how it travels.
//!
//! - A plain value travels as a copy of its bytes, a slice of those as a copy of its elements, and
//!   a pointer as an address: the object is the sender's to hand over. Their tag is `plain_tag`.
//! - Of a tagged union the active field travels, by the same rules, and its value is the tag.
//! - A view (`op.Result`, `stream.Event`) is a message of the runtime with data behind it. One that
//!   is sent on travels as a copy of both.
//!
//! Everything else is a compile error. A receiver's slice or view is the message itself, valid
//! during the call (in a fiber until its next receive).

const std = @import("std");
const c = @import("c.zig");

/// The tag of messages that are no tagged union.
pub const plain_tag: u32 = 0;

/// Messages are aligned for any type of C, and not beyond that.
const alignment_max = 16;

pub const Encoded = struct {
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
};

/// Refuses, at compile time, a type that cannot be sent.
pub fn checkSendable(comptime Msg: type) void {
    comptime {
        if (problemOf(Msg)) |why|
            @compileError("jzx: " ++ @typeName(Msg) ++ " cannot be sent: " ++ why);
    }
}

fn problemOf(comptime Msg: type) ?[]const u8 {
    if (!isTaggedUnion(Msg)) return payloadProblem(Msg);
    for (@typeInfo(Msg).@"union".fields) |field| {
        const tag = @intFromEnum(@field(std.meta.Tag(Msg), field.name));
        if (tag < 0 or tag >= c.tag_reserved)
            return "the value of '" ++ field.name ++ "' is no tag: tags are below 0xFFFF0000";
        if (payloadProblem(field.type)) |why| return "in '" ++ field.name ++ "': " ++ why;
    }
    return null;
}

/// A pointer, a slice, or a plain value: what one message can carry.
fn payloadProblem(comptime T: type) ?[]const u8 {
    if (isView(T)) return null;
    if (!isSlice(T)) return plainProblem(T);
    const slice = @typeInfo(T).pointer;
    if (slice.sentinel_ptr != null)
        return "the sentinel of a slice is not sent; use a slice without one";
    return plainProblem(slice.child);
}

/// Whether a copy of the bytes is all there is to the value.
fn plainProblem(comptime T: type) ?[]const u8 {
    if (isView(T)) return "a view refers to the message that it came with; send it by itself";
    switch (@typeInfo(T)) {
        .void, .bool, .int, .float, .@"enum" => {},
        .pointer => |pointer| switch (pointer.size) {
            .one => {},
            .slice => return "a slice inside a value would be sent as an address, without its " ++
                "elements; send the slice by itself, or a pointer",
            .many, .c => return "a pointer to many does not say how many; send a slice",
        },
        .array => |array| return plainProblem(array.child),
        .vector => |vector| return plainProblem(vector.child),
        .optional => |optional| return plainProblem(optional.child),
        .@"struct" => |info| for (info.fields) |field| {
            if (field.is_comptime) continue;
            if (plainProblem(field.type)) |why| return "in '" ++ field.name ++ "': " ++ why;
        },
        .@"union" => |info| {
            if (info.tag_type == null and info.layout == .auto)
                return "a union without a tag does not say what it holds";
            for (info.fields) |field| {
                if (plainProblem(field.type)) |why| return "in '" ++ field.name ++ "': " ++ why;
            }
        },
        .error_set, .error_union => return "an error is not a value to send; use an enum",
        else => return "only pointers, slices and plain values can be sent",
    }
    if (@sizeOf(T) != 0 and @alignOf(T) > alignment_max)
        return "it is aligned to more than 16 bytes";
    return null;
}

fn isTaggedUnion(comptime T: type) bool {
    return switch (@typeInfo(T)) {
        .@"union" => |info| info.tag_type != null,
        else => false,
    };
}

pub fn isSlice(comptime T: type) bool {
    return switch (@typeInfo(T)) {
        .pointer => |pointer| pointer.size == .slice,
        else => false,
    };
}

/// Whether a message is read through the type, by its `fromMessage`, and sent on as its `whole`.
pub fn isView(comptime T: type) bool {
    return @typeInfo(T) == .@"struct" and @hasDecl(T, "fromMessage");
}

/// The tag that a field of a tagged union travels with: for `io.watch`, and for senders in C.
pub fn tagOf(comptime Msg: type, comptime field: std.meta.Tag(Msg)) u32 {
    return @intFromEnum(field);
}

/// Points into `msg`, which must stay where it is for as long as the result is used.
pub inline fn encode(comptime Msg: type, msg: *const Msg) Encoded {
    comptime checkSendable(Msg);
    if (comptime !isTaggedUnion(Msg)) return payload(Msg, msg, plain_tag);
    switch (msg.*) {
        inline else => |*field, tag| return payload(@TypeOf(field.*), field, @intFromEnum(tag)),
    }
}

inline fn payload(comptime T: type, value: *const T, tag: u32) Encoded {
    if (comptime isView(T)) {
        const whole = value.whole();
        return .{ .data = @ptrCast(whole.ptr), .len = whole.len, .tag = tag };
    }
    if (comptime isSlice(T)) return .{
        .data = @ptrCast(value.ptr),
        .len = value.len * @sizeOf(@typeInfo(T).pointer.child),
        .tag = tag,
    };
    return .{ .data = @ptrCast(value), .len = @sizeOf(T), .tag = tag };
}

pub const DecodeError = error{
    /// The length does not fit the type.
    BadMessage,
    /// No message of this type has that tag: it is from the runtime, or another's.
    OtherTag,
};

pub inline fn decode(comptime Msg: type, raw: *const c.Message) DecodeError!Msg {
    if (comptime !isTaggedUnion(Msg)) {
        if (raw.tag != plain_tag) return error.OtherTag;
        return unpack(Msg, raw);
    }
    inline for (@typeInfo(Msg).@"union".fields) |field| {
        if (raw.tag == @intFromEnum(@field(std.meta.Tag(Msg), field.name)))
            return @unionInit(Msg, field.name, try unpack(field.type, raw));
    }
    return error.OtherTag;
}

inline fn unpack(comptime T: type, raw: *const c.Message) error{BadMessage}!T {
    if (comptime isView(T)) return T.fromMessage(raw);
    if (comptime isSlice(T)) {
        const Element = @typeInfo(T).pointer.child;
        if (@sizeOf(Element) == 0) return &.{};
        if (raw.len % @sizeOf(Element) != 0) return error.BadMessage;
        const elements: [*]Element = @ptrCast(@alignCast(raw.data));
        return elements[0 .. raw.len / @sizeOf(Element)];
    }
    if (raw.len != @sizeOf(T)) return error.BadMessage;
    if (@sizeOf(T) == 0) return std.mem.zeroes(T);
    return @as(*const T, @ptrCast(@alignCast(raw.data))).*;
}
