// SPDX-License-Identifier: MIT
//! The C interface of files and datagrams, as c.zig has the rest of it.

const c = @import("c.zig");
const Context = c.Context;
const Err = c.Err;
const Loop = c.Loop;

pub const FileKind = enum(u32) { other, regular, folder, link, _ };

pub const FileInfo = extern struct {
    bytes: u64,
    allocated: u64,
    modified_ns: i64,
    accessed_ns: i64,
    changed_ns: i64,
    device: u64,
    inode: u64,
    kind: FileKind,
    mode: u32,
    user: u32,
    group: u32,
    links: u32,
    reserved: u32 = 0,
};

pub const file_here: u64 = 0xFFFFFFFFFFFFFFFF;
pub const file_read: u32 = 0x01;
pub const file_write: u32 = 0x02;
pub const file_create: u32 = 0x04;
pub const file_new: u32 = 0x08;
pub const file_truncate: u32 = 0x10;
pub const file_append: u32 = 0x20;
pub const file_directory: u32 = 0x40;
pub const file_no_follow: u32 = 0x80;

pub const Address = extern struct {
    @"opaque": [4]u64 = @splat(0),
};

/// C's bit-fields.
pub const UdpFlags = packed struct(u8) {
    reuse_port: bool = false,
    reuse_address: bool = false,
    broadcast: bool = false,
    v6_only: bool = false,
    _: u4 = 0,
};

pub const UdpOpts = extern struct {
    size: usize = @sizeOf(UdpOpts),
    peer: ?[*:0]const u8 = null,
    datagram_max: u32 = 0,
    queue_max: u32 = 0,
    receive_buffer: u32 = 0,
    send_buffer: u32 = 0,
    flags: UdpFlags = .{},
};

pub const Datagram = extern struct {
    data: [*]u8,
    cap: usize,
    len: usize = 0,
    size: usize = 0,
    address: Address = .{},
};

pub const UdpEventKind = enum(u32) { data = 1, passive, err, _ };

pub const UdpEvent = extern struct {
    udp: u64,
    kind: UdpEventKind,
    err: Err,
    os_error: c_int,
    len: u32,
    size: u32,
    next: u32,
    from: Address,
};

pub const udp_always: u32 = 0xFFFFFFFF;
pub const udp_size_max: u32 = 65535;

// file.h
pub extern fn jzx_file_open(
    ctx: *Context,
    path: [*:0]const u8,
    how: u32,
    mode: u32,
    deadline_ns: u64,
    file: *u64,
) Err;
pub extern fn jzx_file_open_to(
    ctx: *Context,
    path: [*:0]const u8,
    how: u32,
    mode: u32,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_file_temporary(
    ctx: *Context,
    folder: ?[*:0]const u8,
    deadline_ns: u64,
    file: *u64,
) Err;
pub extern fn jzx_file_close(loop: *Loop, file: u64) Err;
pub extern fn jzx_file_give(ctx: *Context, file: u64, to: u64) Err;
pub extern fn jzx_file_fd(loop: *Loop, file: u64) c_int;
pub extern fn jzx_file_read(
    ctx: *Context,
    file: u64,
    buf: [*]u8,
    cap: usize,
    offset: u64,
    deadline_ns: u64,
    len: *usize,
) Err;
pub extern fn jzx_file_read_to(
    ctx: *Context,
    file: u64,
    cap: usize,
    offset: u64,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_file_write(
    ctx: *Context,
    file: u64,
    buf: [*]const u8,
    len: usize,
    offset: u64,
    deadline_ns: u64,
    done: ?*usize,
) Err;
pub extern fn jzx_file_write_to(
    ctx: *Context,
    file: u64,
    buf: [*]const u8,
    len: usize,
    offset: u64,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_file_sync(ctx: *Context, file: u64, data_only: bool, deadline_ns: u64) Err;
pub extern fn jzx_file_sync_to(
    ctx: *Context,
    file: u64,
    data_only: bool,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_file_truncate(ctx: *Context, file: u64, len: u64, deadline_ns: u64) Err;
pub extern fn jzx_file_stat(ctx: *Context, file: u64, deadline_ns: u64, info: *FileInfo) Err;

// udp.h
pub extern fn jzx_address_parse(text: [*:0]const u8, address: *Address) Err;
pub extern fn jzx_address_format(address: *const Address, text: [*]u8, size: usize) Err;
pub extern fn jzx_address_is_equal(a: *const Address, b: *const Address) bool;
pub extern fn jzx_udp_open(
    ctx: *Context,
    local: ?[*:0]const u8,
    opts: ?*const UdpOpts,
    udp: *u64,
) Err;
pub extern fn jzx_udp_connect(loop: *Loop, udp: u64, peer: ?[*:0]const u8) Err;
pub extern fn jzx_udp_receive(
    ctx: *Context,
    udp: u64,
    datagram: *Datagram,
    deadline_ns: u64,
) Err;
pub extern fn jzx_udp_data(event: *const UdpEvent) [*]u8;
pub extern fn jzx_udp_active(ctx: *Context, udp: u64, tag: u32, count: u32) Err;
pub extern fn jzx_udp_send(
    ctx: *Context,
    udp: u64,
    buf: [*]const u8,
    len: usize,
    to: ?*const Address,
    deadline_ns: u64,
) Err;
pub extern fn jzx_udp_try_send(
    ctx: *Context,
    udp: u64,
    buf: [*]const u8,
    len: usize,
    to: ?*const Address,
) Err;
pub extern fn jzx_udp_close(loop: *Loop, udp: u64) Err;
pub extern fn jzx_udp_give(ctx: *Context, udp: u64, to: u64) Err;
pub extern fn jzx_udp_local(loop: *Loop, udp: u64, text: [*]u8, size: usize) Err;
pub extern fn jzx_udp_peer(loop: *Loop, udp: u64, text: [*]u8, size: usize) Err;
