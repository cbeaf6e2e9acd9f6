// SPDX-License-Identifier: MIT
//! `jzx_err` as Zig errors.

const c = @import("c.zig");

/// One for each code of include/jzx/error.h; `tests/layout.zig` compares the two.
pub const Error = error{
    Unknown,
    OutOfMemory,
    InvalidArg,
    LoopClosed,
    NoSuchActor,
    ActorNotLocal,
    MailboxFull,
    TimerInvalid,
    IoRegFailed,
    IoNotWatched,
    MaxActors,
    Busy,
    Exists,
    Escalated,
    Full,
    Timeout,
    WouldSuspend,
    Cancelled,
    Closed,
    BrokenPromise,
    InvalidState,
    Failed,
    NoSuchOp,
    NoThread,
    OwnerDied,
    NotOwner,
    Lagged,
    AllRejected,
    InvalidDelay,
    CapacityExceeded,
    QuotaExceeded,
    Backpressured,
    Shutdown,
    Unsupported,
    Io,
    End,
    NotFound,
    Permission,
    Refused,
    Reset,
    Unreachable,
    AddressInUse,
    NoDescriptors,
    NoSpace,
    TooLong,
    UnknownCommand,
    UnknownMethod,
    Terminated,
};

/// The error of code -1 - index.
pub const by_code = [_]Error{
    error.Unknown,      error.OutOfMemory,      error.InvalidArg,    error.LoopClosed,
    error.NoSuchActor,  error.ActorNotLocal,    error.MailboxFull,   error.TimerInvalid,
    error.IoRegFailed,  error.IoNotWatched,     error.MaxActors,     error.Busy,
    error.Exists,       error.Escalated,        error.Full,          error.Timeout,
    error.WouldSuspend, error.Cancelled,        error.Closed,        error.BrokenPromise,
    error.InvalidState, error.Failed,           error.NoSuchOp,      error.NoThread,
    error.OwnerDied,    error.NotOwner,         error.Lagged,        error.AllRejected,
    error.InvalidDelay, error.CapacityExceeded, error.QuotaExceeded, error.Backpressured,
    error.Shutdown,     error.Unsupported,      error.Io,            error.End,
    error.NotFound,     error.Permission,       error.Refused,       error.Reset,
    error.Unreachable,  error.AddressInUse,     error.NoDescriptors, error.NoSpace,
    error.TooLong,      error.UnknownCommand,   error.UnknownMethod, error.Terminated,
};

/// A code that this binding does not know, of a newer library, is `error.Unknown`.
pub fn fromCode(code: c.Err) Error {
    const index = -1 - @as(i64, code);
    if (index < 0 or index >= by_code.len) return error.Unknown;
    return by_code[@intCast(index)];
}

/// The code of an error of this binding, and JZX_ERR_FAILED for every other.
pub fn toCode(err: anyerror) c.Err {
    for (by_code, 1..) |known, code| {
        if (err == known) return -@as(c.Err, @intCast(code));
    }
    return toCode(error.Failed);
}

pub inline fn check(code: c.Err) Error!void {
    if (code != 0) return fromCode(code);
}

/// "the mailbox is full": what the library says of an error.
pub fn text(err: Error) [:0]const u8 {
    return @import("std").mem.span(c.jzx_err_text(toCode(err)));
}
