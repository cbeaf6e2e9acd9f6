// SPDX-License-Identifier: MIT
//! Runs the tests whose names contain the first argument, or all; `--list` prints the names. It is
//! the root of the program, so the panic handler is set here.

const std = @import("std");
const builtin = @import("builtin");
const jzx = @import("jzx");

pub const panic = jzx.panic;

pub fn main(init: std.process.Init.Minimal) !void {
    var buffer: [4096]u8 = undefined;
    var fixed: std.heap.FixedBufferAllocator = .init(&buffer);
    const args = try init.args.toSlice(fixed.allocator());
    const filter: []const u8 = if (args.len > 1) args[1] else "";
    const lists = std.mem.eql(u8, filter, "--list");
    var ran: usize = 0;
    var failed: usize = 0;
    for (builtin.test_functions) |it| {
        if (lists) {
            std.debug.print("{s}\n", .{it.name});
            continue;
        }
        if (std.mem.indexOf(u8, it.name, filter) == null) continue;
        ran += 1;
        std.testing.allocator_instance = .{};
        var verdict: []const u8 = "ok";
        it.func() catch |err| {
            verdict = @errorName(err);
            if (@errorReturnTrace()) |trace| std.debug.dumpErrorReturnTrace(trace);
        };
        if (std.testing.allocator_instance.deinit() == .leak) verdict = "leaks memory";
        if (!std.mem.eql(u8, verdict, "ok")) failed += 1;
        std.debug.print("{s}: {s}\n", .{ it.name, verdict });
    }
    if (lists) return;
    std.debug.print("{d} run, {d} failed\n", .{ ran, failed });
    if (failed != 0 or ran == 0) std.process.exit(1);
}
