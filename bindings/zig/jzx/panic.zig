// SPDX-License-Identifier: MIT
//! Panics of actors. A program asks for it in its root file:
//!
//!     pub const panic = jzx.panic;
//!
//! A panic in the code of an actor (its `receive`, `run`, `start` or `deinit`) then ends that actor
//! with `ExitReason.panic` and the panic's message as the text, and supervision follows; anywhere
//! else it ends the program as ever. The actor's frames are left as by longjmp: no `defer` and no
//! `errdefer` runs, what they would have freed or unlocked stays so, the state's `deinit` runs.

const std = @import("std");
const c = @import("c.zig");
const actors = @import("actor.zig");

pub const panic = std.debug.FullPanic(handle);

pub fn handle(msg: []const u8, first_trace_addr: ?usize) noreturn {
    @branchHint(.cold);
    if (c.jzx_current_context()) |ctx| {
        var text: [c.exit_text_max + 1]u8 = undefined;
        c.jzx_exit(ctx, .panic, actors.copyText(&text, msg));
    }
    std.debug.defaultPanic(msg, first_trace_addr);
}
