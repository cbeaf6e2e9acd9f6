// SPDX-License-Identifier: MIT
//! A project that uses libjzx as a package.

const std = @import("std");

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});
    const jzx = b.dependency("jzx", .{ .target = target, .optimize = optimize });
    const program = b.addExecutable(.{
        .name = "consumer",
        .root_module = b.createModule(.{
            .root_source_file = b.path("main.zig"),
            .target = target,
            .optimize = optimize,
            .imports = &.{.{ .name = "jzx", .module = jzx.module("jzx") }},
        }),
    });
    b.step("run", "Run the program").dependOn(&b.addRunArtifact(program).step);
}
