// SPDX-License-Identifier: MIT
//! All tests of the binding, in one program.

test {
    _ = @import("actor.zig");
    _ = @import("supervisor.zig");
    _ = @import("timer.zig");
    _ = @import("io.zig");
    _ = @import("stream.zig");
    _ = @import("file.zig");
    _ = @import("layout.zig");
}
