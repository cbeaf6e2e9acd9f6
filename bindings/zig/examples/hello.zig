// SPDX-License-Identifier: MIT
//! One actor, three messages. Prints to standard error:
//!
//!     hello, Ella
//!     hello, Duke
//!     2 greeted

const std = @import("std");
const jzx = @import("jzx");

const Msg = union(enum) {
    greet: []const u8,
    finish,
};

const Greeter = struct {
    greeted: u32 = 0,

    pub fn receive(self: *Greeter, _: *jzx.Context, msg: Msg) jzx.Next {
        switch (msg) {
            .greet => |name| {
                self.greeted += 1;
                std.debug.print("hello, {s}\n", .{name});
            },
            .finish => return .stop,
        }
        return .go_on;
    }

    pub fn deinit(self: *Greeter) void {
        std.debug.print("{d} greeted\n", .{self.greeted});
    }
};

pub fn main() !void {
    const loop = try jzx.Loop.init(std.heap.smp_allocator, .{ .workers = 1 });
    defer loop.deinit();

    const greeter = try jzx.Actor(Greeter, Msg).spawn(loop, .{}, .{ .name = "greeter" });
    try greeter.send(loop, .{ .greet = "Ella" });
    try greeter.send(loop, .{ .greet = "Duke" });
    try greeter.send(loop, .finish);
    try loop.run();
}
