// SPDX-License-Identifier: MIT
//! Operations that are under way: what a call whose name ends in `To` has begun. Each completes
//! once, by a message with the tag that the call was given; `Result` is how to read it.
//!
//!     const Msg = union(enum(u32)) { line: jzx.Result = 1, written: jzx.Result = 2 };
//!     _ = try stream.readUntilTo(ctx, '\n', 512, jzx.tagOf(Msg, .line));
//!     ...
//!     .line => |result| const line = try result.bytes(),
//!     .written => |result| try result.check(),

const std = @import("std");
const c = @import("c.zig");
const errors = @import("error.zig");
const loops = @import("loop.zig");
const actors = @import("actor.zig");
const Error = errors.Error;

/// Names an operation. A plain value, which may be sent.
pub const Op = enum(u64) {
    none = 0,
    _,

    /// Asks it to end now. Its message comes all the same, with `error.Cancelled` or with a result
    /// that was faster. `error.NoSuchOp`: it is complete.
    pub fn cancel(op: Op, from: anytype) Error!void {
        return errors.check(c.jzx_op_cancel(loops.rawOf(from), @intFromEnum(op)));
    }
};

/// The message of an operation, valid as long as that is: during the call, in a fiber until its
/// next receive.
pub const Result = struct {
    raw: *const c.Result,

    /// In `other`, and in a fiber that has received a message with a tag of its own.
    pub fn of(ctx: *const actors.Context) error{BadMessage}!Result {
        return fromMessage(ctx.current orelse return error.BadMessage);
    }

    pub fn op(result: Result) Op {
        return @enumFromInt(result.raw.op);
    }

    /// The error of the operation, if it has failed.
    pub fn check(result: Result) Error!void {
        return errors.check(result.raw.err);
    }

    /// The errno behind the error, or 0.
    pub fn osError(result: Result) u16 {
        return result.raw.os_error;
    }

    /// What was read.
    pub fn bytes(result: Result) Error![]u8 {
        try result.check();
        return c.jzx_result_data(result.raw)[0..result.raw.len];
    }

    /// The value that the operation gives: the `Stream` of an accept, for instance.
    pub fn value(result: Result, comptime T: type) (Error || error{BadMessage})!T {
        const data = try result.bytes();
        if (data.len != @sizeOf(T)) return error.BadMessage;
        return @as(*const T, @ptrCast(@alignCast(data.ptr))).*;
    }

    // ---- for jzx/message.zig ----

    pub fn fromMessage(msg: *const c.Message) error{BadMessage}!Result {
        if (msg.len < @sizeOf(c.Result)) return error.BadMessage;
        const raw: *const c.Result = @ptrCast(@alignCast(msg.data));
        if (raw.len > msg.len - @sizeOf(c.Result)) return error.BadMessage;
        return .{ .raw = raw };
    }

    pub fn whole(result: Result) []const u8 {
        const first: [*]const u8 = @ptrCast(result.raw);
        return first[0 .. @sizeOf(c.Result) + result.raw.len];
    }
};
