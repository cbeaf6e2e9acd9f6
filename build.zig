// SPDX-License-Identifier: MIT
//! libjzx as a Zig package: the module `jzx` (bindings/zig), with the C library compiled from src/,
//! or with one that is built already (-Dlibrary=build/release/libjzx.a). CMake is what builds the
//! library for everybody else.
//!
//!     zig build                        the examples, below zig-out/bin
//!     zig build test                   the tests of the binding
//!     zig build bench                  a Zig actor's message against the same in C

const std = @import("std");

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});
    const library = b.option([]const u8, "library", "a libjzx.a to link, in place of src/");

    const jzx = b.addModule("jzx", .{
        .root_source_file = b.path("bindings/zig/jzx.zig"),
        .target = target,
        .optimize = optimize,
        .link_libc = true,
    });
    jzx.linkSystemLibrary("unwind", .{}); // Zig's own: it has no libgcc_s
    if (library) |path| {
        jzx.addObjectFile(.{ .cwd_relative = path });
    } else {
        jzx.linkLibrary(cLibrary(b, target));
    }

    addExamples(b, jzx, target, optimize);
    addTests(b, jzx, target, optimize);
    addBench(b, jzx, target);
}

/// As cmake/jzx_targets.cmake compiles it; always optimised, as its users get it.
fn cLibrary(b: *std.Build, target: std.Build.ResolvedTarget) *std.Build.Step.Compile {
    const module = b.createModule(.{
        .target = target,
        .optimize = .ReleaseFast,
        .link_libc = true,
        .sanitize_c = .off,
        .pic = true,
    });
    module.addIncludePath(b.path("include"));
    module.addIncludePath(b.path("src"));
    const is_asm = switch (target.result.cpu.arch) {
        .x86_64, .aarch64 => true,
        else => false,
    };
    const flags: []const []const u8 = &.{
        "-std=c11",
        "-D_GNU_SOURCE",
        "-DJZX_BUILDING",
        "-fvisibility=hidden",
        "-ftls-model=initial-exec",
        "-fno-slp-vectorize",
        "-falign-functions=64",
    };
    const portable: []const []const u8 = &.{"-DJZX__SWITCH_UCONTEXT"};
    const sources = sourcesOf(b);
    module.addCSourceFiles(.{
        .root = b.path("src"),
        .files = sources.c,
        .flags = if (is_asm) flags else std.mem.concat(b.allocator, []const u8, &.{
            flags, portable,
        }) catch @panic("out of memory"),
    });
    if (is_asm) {
        for (sources.assembly) |file| module.addAssemblyFile(b.path("src").path(b, file));
    }
    return b.addLibrary(.{ .name = "jzx", .linkage = .static, .root_module = module });
}

const Sources = struct { c: []const []const u8, assembly: []const []const u8 };

/// All of src/, as CMake globs it.
fn sourcesOf(b: *std.Build) Sources {
    var c: std.ArrayList([]const u8) = .empty;
    var assembly: std.ArrayList([]const u8) = .empty;
    const io = b.graph.io;
    var dir = b.build_root.handle.openDir(io, "src", .{ .iterate = true }) catch |err|
        std.debug.panic("src: {t}", .{err});
    defer dir.close(io);
    var walker = dir.walk(b.allocator) catch @panic("out of memory");
    defer walker.deinit();
    while (walker.next(io) catch |err| std.debug.panic("src: {t}", .{err})) |entry| {
        if (entry.kind != .file) continue;
        const extension = std.fs.path.extension(entry.basename);
        const list = if (std.mem.eql(u8, extension, ".c"))
            &c
        else if (std.mem.eql(u8, extension, ".S"))
            &assembly
        else
            continue;
        list.append(b.allocator, b.dupe(entry.path)) catch @panic("out of memory");
    }
    return .{ .c = c.items, .assembly = assembly.items };
}

fn addExamples(
    b: *std.Build,
    jzx: *std.Build.Module,
    target: std.Build.ResolvedTarget,
    optimize: std.builtin.OptimizeMode,
) void {
    const all = b.step("run-examples", "Run the examples");
    for ([_][]const u8{ "hello", "supervised", "fibers", "echo" }) |name| {
        const example = b.addExecutable(.{
            .name = b.fmt("jzx-{s}", .{name}),
            .root_module = b.createModule(.{
                .root_source_file = b.path(b.fmt("bindings/zig/examples/{s}.zig", .{name})),
                .target = target,
                .optimize = optimize,
                .imports = &.{.{ .name = "jzx", .module = jzx }},
            }),
        });
        b.installArtifact(example);
        all.dependOn(&b.addRunArtifact(example).step);
    }
}

fn addTests(
    b: *std.Build,
    jzx: *std.Build.Module,
    target: std.Build.ResolvedTarget,
    optimize: std.builtin.OptimizeMode,
) void {
    const module = b.createModule(.{
        .root_source_file = b.path("bindings/zig/tests/all.zig"),
        .target = target,
        .optimize = optimize,
        .imports = &.{.{ .name = "jzx", .module = jzx }},
    });
    module.addIncludePath(b.path("include"));
    module.addCSourceFile(.{
        .file = b.path("bindings/zig/tests/layout.c"),
        .flags = &.{"-std=c11"},
    });
    const tests = b.addTest(.{
        .name = "jzx-tests",
        .root_module = module,
        .test_runner = .{ .path = b.path("bindings/zig/tests/runner.zig"), .mode = .simple },
    });
    const run = b.addRunArtifact(tests);
    if (b.args) |args| run.addArgs(args);
    b.step("test", "Run the tests").dependOn(&run.step);

    const install = b.addInstallArtifact(tests, .{});
    b.step("install-tests", "Build the tests as bin/jzx-tests").dependOn(&install.step);
}

fn addBench(b: *std.Build, jzx: *std.Build.Module, target: std.Build.ResolvedTarget) void {
    const module = b.createModule(.{
        .root_source_file = b.path("bindings/zig/bench.zig"),
        .target = target,
        .optimize = .ReleaseFast,
        .imports = &.{.{ .name = "jzx", .module = jzx }},
    });
    module.addIncludePath(b.path("include"));
    module.addCSourceFile(.{
        .file = b.path("bindings/zig/bench.c"),
        .flags = &.{ "-std=gnu11", "-O2" },
    });
    const bench = b.addExecutable(.{ .name = "jzx-zig-bench", .root_module = module });
    const run = b.addRunArtifact(bench);
    if (b.args) |args| run.addArgs(args);
    b.step("bench", "Measure a Zig actor's message against the same in C").dependOn(&run.step);
}
