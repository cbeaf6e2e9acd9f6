// SPDX-License-Identifier: MIT
//! Files, without blocking a worker. include/jzx/file.h has the contract of each call,
//! docs/files.md the whole picture.
//!
//!     const how: jzx.file.How = .{ .write = true, .create = true };
//!     const file = try jzx.file.open(ctx, "log.txt", how, jzx.never);
//!     try file.write(ctx, "hello\n", 0, jzx.never);
//!     try file.close(ctx);
//!
//! A file belongs to the actor that has opened it and is closed when that ends.

const std = @import("std");
const c = @import("c.zig");
const cio = @import("c_io.zig");
const errors = @import("error.zig");
const loops = @import("loop.zig");
const actors = @import("actor.zig");
const ops = @import("op.zig");
const Context = actors.Context;
const Error = errors.Error;
const Op = ops.Op;

/// In place of an offset: where the last operation of this kind has ended.
pub const here = cio.file_here;

pub const Info = cio.FileInfo;

/// `read`, `write` or both, and any of the others.
pub const How = struct {
    read: bool = false,
    write: bool = false,
    create: bool = false,
    /// With `create`: `error.Exists` if it is there.
    new: bool = false,
    truncate: bool = false,
    /// Each write goes to the end.
    append: bool = false,
    directory: bool = false,
    no_follow: bool = false,
    /// Of a file that is created, less the umask.
    mode: u32 = 0o666,

    fn bits(how: How) u32 {
        var all: u32 = 0;
        inline for (@typeInfo(How).@"struct".fields) |field| {
            if (field.type == bool and @field(how, field.name))
                all |= @field(cio, "file_" ++ field.name);
        }
        return all;
    }
};

/// Opens a file, which then belongs to the calling actor. Suspends a fiber.
pub fn open(ctx: *const Context, path: [:0]const u8, how: How, deadline_ns: u64) Error!File {
    var file: u64 = 0;
    try errors.check(
        cio.jzx_file_open(ctx.raw, path.ptr, how.bits(), how.mode, deadline_ns, &file),
    );
    return @enumFromInt(file);
}

/// By a message: its `Result.value` is a `File`.
pub fn openTo(ctx: *const Context, path: [:0]const u8, how: How, tag: u32) Error!Op {
    var op: u64 = 0;
    try errors.check(
        cio.jzx_file_open_to(ctx.raw, path.ptr, how.bits(), how.mode, tag, &op),
    );
    return @enumFromInt(op);
}

/// A file without a name, in that folder or in /tmp, which is gone when it is closed. Suspends a
/// fiber.
pub fn temporary(ctx: *const Context, folder: ?[:0]const u8, deadline_ns: u64) Error!File {
    var file: u64 = 0;
    const path: ?[*:0]const u8 = if (folder) |it| it.ptr else null;
    try errors.check(cio.jzx_file_temporary(ctx.raw, path, deadline_ns, &file));
    return @enumFromInt(file);
}

/// An open file. A plain value, which may be sent; when it is closed, every call with it is
/// `error.Closed`.
pub const File = enum(u64) {
    none = 0,
    _,

    /// At least one byte, from that offset on. Suspends a fiber. `error.End`: there is nothing.
    pub fn read(
        file: File,
        ctx: *const Context,
        room: []u8,
        offset: u64,
        deadline_ns: u64,
    ) Error![]u8 {
        var len: usize = 0;
        const me = file.raw();
        try errors.check(
            cio.jzx_file_read(ctx.raw, me, room.ptr, room.len, offset, deadline_ns, &len),
        );
        return room[0..len];
    }

    /// By a message: `Result.bytes` are what was read.
    pub fn readTo(
        file: File,
        ctx: *const Context,
        len_max: usize,
        offset: u64,
        tag: u32,
    ) Error!Op {
        var op: u64 = 0;
        try errors.check(cio.jzx_file_read_to(ctx.raw, file.raw(), len_max, offset, tag, &op));
        return @enumFromInt(op);
    }

    /// Writes all of it, at that offset. On an error a part may be in the file. Suspends a fiber.
    pub fn write(
        file: File,
        ctx: *const Context,
        data: []const u8,
        offset: u64,
        deadline_ns: u64,
    ) Error!void {
        const me = file.raw();
        return errors.check(
            cio.jzx_file_write(ctx.raw, me, data.ptr, data.len, offset, deadline_ns, null),
        );
    }

    /// By a message: its `Result.value` is how many bytes are in the file, a `u64`.
    pub fn writeTo(
        file: File,
        ctx: *const Context,
        data: []const u8,
        offset: u64,
        tag: u32,
    ) Error!Op {
        var op: u64 = 0;
        const me = file.raw();
        try errors.check(
            cio.jzx_file_write_to(ctx.raw, me, data.ptr, data.len, offset, tag, &op),
        );
        return @enumFromInt(op);
    }

    pub const Sync = enum { all, data_only };

    /// What was written is on the disk. Suspends a fiber.
    pub fn sync(file: File, ctx: *const Context, what: Sync, deadline_ns: u64) Error!void {
        return errors.check(
            cio.jzx_file_sync(ctx.raw, file.raw(), what == .data_only, deadline_ns),
        );
    }

    pub fn syncTo(file: File, ctx: *const Context, what: Sync, tag: u32) Error!Op {
        var op: u64 = 0;
        try errors.check(
            cio.jzx_file_sync_to(ctx.raw, file.raw(), what == .data_only, tag, &op),
        );
        return @enumFromInt(op);
    }

    /// It has `len` bytes from then on. Suspends a fiber.
    pub fn truncate(file: File, ctx: *const Context, len: u64, deadline_ns: u64) Error!void {
        return errors.check(cio.jzx_file_truncate(ctx.raw, file.raw(), len, deadline_ns));
    }

    /// What the system knows of it. Suspends a fiber.
    pub fn stat(file: File, ctx: *const Context, deadline_ns: u64) Error!Info {
        var info: Info = undefined;
        try errors.check(cio.jzx_file_stat(ctx.raw, file.raw(), deadline_ns, &info));
        return info;
    }

    /// At once, or when what is under way is complete. `from` is a `Loop` or a `*Context`.
    pub fn close(file: File, from: anytype) Error!void {
        return errors.check(cio.jzx_file_close(loops.rawOf(from), file.raw()));
    }

    pub fn give(file: File, ctx: *const Context, to: actors.Id) Error!void {
        return errors.check(cio.jzx_file_give(ctx.raw, file.raw(), @intFromEnum(to)));
    }

    /// Its descriptor, which stays the library's: for `Stream.sendfile`.
    pub fn fd(file: File, from: anytype) Error!std.posix.fd_t {
        const it = cio.jzx_file_fd(loops.rawOf(from), file.raw());
        if (it < 0) return errors.fromCode(it);
        return it;
    }

    inline fn raw(file: File) u64 {
        return @intFromEnum(file);
    }
};
