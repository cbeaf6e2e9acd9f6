// SPDX-License-Identifier: MIT
//! The loop: `Loop.init`, `run`, `deinit`, and a clock that a test moves by hand.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("error.zig");
const Error = errors.Error;
const Context = @import("actor.zig").Context;

/// The configuration of a loop, as in include/jzx/config.h: zero fields mean the defaults. `size`
/// and `allocator` are set by `Loop.init`.
pub const Options = c.Config;

pub const Loop = struct {
    raw: *c.Loop,
    allocator: *std.mem.Allocator,

    /// All memory of the loop comes from `allocator`. It is called from every thread that uses the
    /// loop, so it must be safe for threads unless the program has one; it must outlive the loop.
    /// `error.InvalidArg`: `wrongField` names the field. `error.OutOfMemory` also if the system
    /// lacks what the options ask for, such as io_uring: the log says what.
    pub fn init(allocator: std.mem.Allocator, options: Options) Error!Loop {
        const kept = try allocator.create(std.mem.Allocator);
        errdefer allocator.destroy(kept);
        kept.* = allocator;
        var config = options;
        config.size = @sizeOf(c.Config);
        config.allocator = .{ .alloc = bridgeAlloc, .free = bridgeFree, .ctx = kept };
        try errors.check(c.jzx_config_check(&config, null));
        const raw = c.jzx_loop_create(&config) orelse return error.OutOfMemory;
        return .{ .raw = raw, .allocator = kept };
    }

    /// Stops the remaining actors and frees the loop. Not while it runs.
    pub fn deinit(loop: Loop) void {
        if (c.jzx_loop_destroy(loop.raw) != 0)
            @panic("jzx: deinit of a loop that runs");
        const allocator = loop.allocator.*;
        allocator.destroy(loop.allocator);
    }

    /// Runs until no actor is left, or the loop is stopped. `error.Escalated`: a supervisor at the
    /// top has given up.
    pub fn run(loop: Loop) Error!void {
        return errors.check(c.jzx_loop_run(loop.raw));
    }

    /// Runs what is ready, and does not sleep; for a loop with one worker inside another loop.
    pub fn step(loop: Loop, deadline_ns: u64) Error!void {
        return errors.check(c.jzx_loop_step(loop.raw, deadline_ns));
    }

    /// A descriptor that is readable when `step` has work, timers aside.
    pub fn fd(loop: Loop) Error!std.posix.fd_t {
        const result = c.jzx_loop_fd(loop.raw);
        if (result < 0) return errors.fromCode(result);
        return result;
    }

    /// When `step` must be called at the latest.
    pub fn nextDeadline(loop: Loop) u64 {
        return c.jzx_loop_next_deadline(loop.raw);
    }

    pub fn alive(loop: Loop) bool {
        return c.jzx_loop_alive(loop.raw);
    }

    pub fn workers(loop: Loop) u32 {
        return c.jzx_loop_workers(loop.raw);
    }

    /// Monotonic nanoseconds of the loop's clock.
    pub fn now(loop: Loop) u64 {
        return c.jzx_loop_now(loop.raw);
    }

    /// A deadline so many nanoseconds from now.
    pub fn in(loop: Loop, delay_ns: u64) u64 {
        return loop.now() +| delay_ns;
    }

    /// Between `hold` and `release` `run` goes on without actors.
    pub fn hold(loop: Loop) Error!void {
        return errors.check(c.jzx_loop_hold(loop.raw));
    }

    pub fn release(loop: Loop) Error!void {
        return errors.check(c.jzx_loop_release(loop.raw));
    }

    /// The gentle way: actors work off what waits until the deadline.
    pub fn stop(loop: Loop, deadline_ns: u64) Error!void {
        return errors.check(c.jzx_loop_stop(loop.raw, deadline_ns));
    }

    /// Ends all actors after the messages that they handle. Any thread, also in a signal handler.
    pub fn requestStop(loop: Loop) void {
        _ = c.jzx_loop_request_stop(loop.raw);
    }
};

/// The first field of a configuration that `Loop.init` would refuse, or null.
pub fn wrongField(options: Options) ?[:0]const u8 {
    var field: [*:0]const u8 = "";
    var config = options;
    config.size = @sizeOf(c.Config);
    config.allocator = .{};
    if (c.jzx_config_check(&config, &field) == 0) return null;
    return std.mem.span(field);
}

/// Time that stands still until it is moved: for tests.
pub const Clock = struct {
    raw: *c.Clock,

    pub fn manual(start_ns: u64) Error!Clock {
        return .{ .raw = c.jzx_clock_manual(start_ns) orelse return error.OutOfMemory };
    }

    /// After the loops that use it.
    pub fn deinit(clock: Clock) void {
        if (c.jzx_clock_free(clock.raw) != 0) @panic("jzx: deinit of a clock that a loop uses");
    }

    pub fn now(clock: Clock) u64 {
        return c.jzx_clock_now(clock.raw);
    }

    pub fn advance(clock: Clock, duration_ns: u64) Error!void {
        return errors.check(c.jzx_clock_advance(clock.raw, duration_ns));
    }
};

/// C asks for memory that is aligned for any of its types, and gives the size back.
const alignment: std.mem.Alignment = .@"16";

fn bridgeAlloc(ctx: ?*anyopaque, size: usize) callconv(.c) ?*anyopaque {
    const allocator: *std.mem.Allocator = @ptrCast(@alignCast(ctx.?));
    return allocator.rawAlloc(size, alignment, @returnAddress());
}

fn bridgeFree(ctx: ?*anyopaque, ptr: *anyopaque, size: usize) callconv(.c) void {
    const allocator: *std.mem.Allocator = @ptrCast(@alignCast(ctx.?));
    const bytes: [*]u8 = @ptrCast(ptr);
    allocator.rawFree(bytes[0..size], alignment, @returnAddress());
}

/// The loop of what a call was given: a `Loop`, or the context of an actor.
pub inline fn rawOf(where: anytype) *c.Loop {
    return switch (@TypeOf(where)) {
        Loop => where.raw,
        *Loop, *const Loop => where.raw,
        *Context, *const Context => where.raw.loop,
        else => |T| @compileError("jzx: expected a Loop or a *Context, and got " ++ @typeName(T)),
    };
}

/// The sender that a receiver sees: the actor, or nobody.
pub inline fn senderOf(where: anytype) u64 {
    return switch (@TypeOf(where)) {
        *Context, *const Context => where.raw.self,
        else => 0,
    };
}
