// SPDX-License-Identifier: MIT
//! Timers: messages that come later, once or again and again. `Ref.sendAfter` and `Ref.sendEvery`
//! are the usual way to them.

const c = @import("c.zig");
const errors = @import("error.zig");
const loops = @import("loop.zig");
const message = @import("message.zig");
const actors = @import("actor.zig");
const Error = errors.Error;

pub const Repeat = c.Repeat;

/// A deadline that never comes.
pub const never = c.never;

pub fn us(n: u64) u64 {
    return n * 1000;
}

pub fn ms(n: u64) u64 {
    return n * 1000_000;
}

pub fn seconds(n: u64) u64 {
    return n * 1000_000_000;
}

/// Names a timer, which belongs to the actor that it is for.
pub const Timer = enum(u64) {
    none = 0,
    _,

    /// Its message will not be handled any more. `error.TimerInvalid`: it was, or is being handled.
    pub fn cancel(timer: Timer, from: anytype) Error!void {
        return errors.check(c.jzx_timer_cancel(loops.rawOf(from), @intFromEnum(timer)));
    }
};

pub fn sendAfter(
    from: anytype,
    to: actors.Id,
    comptime Msg: type,
    msg: Msg,
    delay_ns: u64,
) Error!Timer {
    const it = message.encode(Msg, &msg);
    const loop = loops.rawOf(from);
    const me = loops.senderOf(from);
    const id = @intFromEnum(to);
    var timer: u64 = 0;
    try errors.check(
        c.jzx_send_after(loop, id, me, it.data, it.len, it.tag, delay_ns, &timer),
    );
    return @enumFromInt(timer);
}

pub fn sendEvery(
    from: anytype,
    to: actors.Id,
    comptime Msg: type,
    msg: Msg,
    period_ns: u64,
    repeat: Repeat,
) Error!Timer {
    const it = message.encode(Msg, &msg);
    const loop = loops.rawOf(from);
    const me = loops.senderOf(from);
    const id = @intFromEnum(to);
    var timer: u64 = 0;
    try errors.check(
        c.jzx_send_every(loop, id, me, it.data, it.len, it.tag, period_ns, repeat, &timer),
    );
    return @enumFromInt(timer);
}

/// How many firings at a fixed rate were missed before the message that is being handled.
pub fn missed(ctx: *const actors.Context) u64 {
    return c.jzx_timer_missed(ctx.raw);
}

/// A timer of the actor to itself, under a key; it replaces the one that had the key.
pub fn start(
    ctx: *const actors.Context,
    key: u64,
    comptime Msg: type,
    msg: Msg,
    delay_ns: u64,
) Error!void {
    const it = message.encode(Msg, &msg);
    return errors.check(c.jzx_timer_start(ctx.raw, key, it.data, it.len, it.tag, delay_ns));
}

pub fn stop(ctx: *const actors.Context, key: u64) Error!void {
    return errors.check(c.jzx_timer_stop(ctx.raw, key));
}

pub fn isActive(ctx: *const actors.Context, key: u64) bool {
    return c.jzx_timer_is_active(ctx.raw, key);
}

/// A message `jzx.tag.receive_timeout` comes when no other has for so long; `never` turns it off.
pub fn receiveTimeout(ctx: *const actors.Context, idle_ns: u64) Error!void {
    return errors.check(c.jzx_receive_timeout(ctx.raw, idle_ns));
}
