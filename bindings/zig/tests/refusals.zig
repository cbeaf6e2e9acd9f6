// SPDX-License-Identifier: MIT
//! What must not compile, each with the words of its error. run.sh compiles this file and compares.

const jzx = @import("jzx");

const Takes = struct {
    fn of(comptime Msg: type) type {
        return struct {
            pub fn receive(_: *@This(), _: *jzx.Context, _: Msg) void {}
        };
    }
};

fn actorOf(comptime Msg: type) void {
    _ = jzx.Actor(Takes.of(Msg), Msg);
}

// expected: cannot be sent: in 'name': a slice inside a value would be sent as an address
export fn sliceInStruct() void {
    actorOf(struct { name: []const u8 });
}

// expected: cannot be sent: in 'job': in 'parts': a pointer to many does not say how many
export fn manyInUnion() void {
    actorOf(union(enum) { job: struct { parts: [*]u8 }, none });
}

// expected: cannot be sent: in 'event': a view refers to the message that it came with
export fn viewInStruct() void {
    actorOf(struct { event: jzx.stream.Event });
}

// expected: cannot be sent: the sentinel of a slice is not sent
export fn sentinel() void {
    actorOf([:0]const u8);
}

// expected: cannot be sent: an error is not a value to send
export fn errorUnion() void {
    actorOf(anyerror!u8);
}

// expected: cannot be sent: only pointers, slices and plain values can be sent
export fn comptimeOnly() void {
    _ = jzx.Actor(struct {
        pub fn receive(_: *@This(), _: *jzx.Context, _: anytype) void {}
    }, comptime_int);
}

// expected: cannot be sent: a union without a tag does not say what it holds
export fn bareUnion() void {
    actorOf(union { a: u8, b: u16 });
}

// expected: cannot be sent: it is aligned to more than 16 bytes
export fn overAligned() void {
    actorOf(struct { x: u8 align(64) });
}

// expected: cannot be sent: the value of 'late' is no tag
export fn reservedTag() void {
    actorOf(union(enum(u32)) { late: u8 = 0xFFFF0001 });
}

// expected: has to declare either receive(
export fn noBehaviour() void {
    _ = jzx.Actor(struct { x: u8 }, u8);
}

// expected: .receive takes (
export fn wrongParameters() void {
    _ = jzx.Actor(struct {
        pub fn receive(_: *@This(), _: u8) void {}
    }, u8);
}

// expected: .receive returns void or jzx.Next
export fn wrongResult() void {
    _ = jzx.Actor(struct {
        pub fn receive(_: *@This(), _: *jzx.Context, _: u8) u32 {
            return 1;
        }
    }, u8);
}

// expected: expected type 'u8', found 'u16'
export fn wrongMessage(loop: *const jzx.Loop, big: u16) void {
    const to: jzx.Ref(u8) = .{ .id = .nobody };
    to.send(loop, big) catch {};
}

// expected: expected a Loop or a *Context, and got
export fn wrongSender() void {
    const to: jzx.Ref(u8) = .{ .id = .nobody };
    to.send(@as(u8, 1), 2) catch {};
}

// expected: callWait frees its answer, so it cannot be a slice
export fn sliceAsAnswer(loop: *const jzx.Loop) void {
    const to: jzx.Ref(u8) = .{ .id = .nobody };
    _ = to.callWait(loop.*, 1, []const u8, 0) catch {};
}
