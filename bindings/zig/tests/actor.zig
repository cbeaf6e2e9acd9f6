// SPDX-License-Identifier: MIT
//! Actors, messages, questions, fibers.

const std = @import("std");
const jzx = @import("jzx");
const testing = std.testing;

fn newLoop() !jzx.Loop {
    return jzx.Loop.init(testing.allocator, .{ .workers = 1, .log = .{ .level = .off } });
}

test "values arrive in order and the state is the actor's" {
    const Summer = struct {
        sum: *u64,
        last: u64 = 0,
        pub fn receive(self: *@This(), ctx: *jzx.Context, n: u64) !jzx.Next {
            if (ctx.sender() != .nobody) return error.WrongSender;
            if (n != 0 and n != self.last + 1) return error.OutOfOrder;
            self.last = n;
            self.sum.* += n;
            return if (n == 0) .stop else .go_on;
        }
    };
    const loop = try newLoop();
    defer loop.deinit();
    var sum: u64 = 0;
    const to = try jzx.Actor(Summer, u64).spawn(loop, .{ .sum = &sum }, .{ .name = "summer" });
    for (1..101) |n| try to.send(loop, n);
    try to.send(loop, 0);
    try loop.run();
    try testing.expectEqual(5050, sum);
    try testing.expectError(error.NoSuchActor, to.send(loop, 1));
}

const Note = struct { pitch: u8, seconds: f32, accent: ?bool };
const Wide = [40]u64;

const Everything = union(enum(u32)) {
    nothing = 7,
    number: i32 = 1,
    note: Note = 2,
    text: []const u8 = 3,
    numbers: []const u32 = 4,
    pointer: *u64 = 5,
    wide: Wide = 6,
    other: jzx.Ref(Everything) = 8,
};

const Witness = struct {
    seen: *std.EnumSet(std.meta.Tag(Everything)),

    pub fn receive(self: *Witness, ctx: *jzx.Context, msg: Everything) !jzx.Next {
        self.seen.insert(msg);
        switch (msg) {
            .nothing => return .stop,
            .number => |n| try testing.expectEqual(-5, n),
            .note => |note| try testing.expectEqual(
                Note{ .pitch = 60, .seconds = 0.5, .accent = null },
                note,
            ),
            .text => |text| try testing.expectEqualStrings("walking bass", text),
            .numbers => |numbers| try testing.expectEqualSlices(u32, &.{ 3, 1, 4, 1, 5 }, numbers),
            .pointer => |pointer| pointer.* += 1,
            .wide => |wide| try testing.expectEqual(39, wide[39]),
            .other => |other| try testing.expectEqual(ctx.self(), other.id),
        }
        return .go_on;
    }
};

test "plain values, slices, pointers and their unions arrive as they were sent" {
    const loop = try newLoop();
    defer loop.deinit();
    var seen: std.EnumSet(std.meta.Tag(Everything)) = .initEmpty();
    var counter: u64 = 41;
    const to = try jzx.Actor(Witness, Everything).spawn(loop, .{ .seen = &seen }, .{});
    try to.send(loop, .{ .number = -5 });
    try to.send(loop, .{ .note = .{ .pitch = 60, .seconds = 0.5, .accent = null } });
    try to.send(loop, .{ .text = "walking bass" });
    try to.send(loop, .{ .numbers = &.{ 3, 1, 4, 1, 5 } });
    try to.send(loop, .{ .pointer = &counter });
    var wide: Wide = undefined;
    for (&wide, 0..) |*place, i| place.* = i;
    try to.send(loop, .{ .wide = wide });
    try to.send(loop, .{ .other = to });
    try to.send(loop, .nothing);
    try loop.run();
    try testing.expectEqual(42, counter);
    try testing.expectEqual(8, seen.count());
}

test "a slice by itself is a message, and an empty one too" {
    const Reader = struct {
        got: *[2]usize,
        count: usize = 0,
        pub fn receive(self: *@This(), _: *jzx.Context, words: []const u16) jzx.Next {
            self.got[self.count] = words.len;
            self.count += 1;
            return if (self.count == 2) .stop else .go_on;
        }
    };
    const loop = try newLoop();
    defer loop.deinit();
    var got: [2]usize = .{ 9, 9 };
    const to = try jzx.Actor(Reader, []const u16).spawn(loop, .{ .got = &got }, .{});
    try to.send(loop, &.{ 1, 2, 3 });
    try to.send(loop, &.{});
    try loop.run();
    try testing.expectEqual([2]usize{ 3, 0 }, got);
}

/// Joins an actor, and keeps how it ended.
const Joiner = struct {
    whom: jzx.Id,
    how: *jzx.Exit,

    pub fn run(self: *Joiner, ctx: *jzx.Context) !void {
        self.how.* = try ctx.join(self.whom, jzx.never);
    }
};

/// Has somebody wait for the end of an actor that waits for a message: `how` is filled then.
fn watchEnd(loop: jzx.Loop, whom: jzx.Id, how: *jzx.Exit) !void {
    how.notice.reason = .no_actor;
    _ = try jzx.Actor(Joiner, void).spawn(loop, .{ .whom = whom, .how = how }, .{});
    try loop.step(jzx.never);
}

const Faulty = struct {
    const How = enum { an_error, a_panic, out_of_bounds, overflow, unwrap };
    deinits: *u32,
    table: []const u8 = "abc",

    pub fn receive(self: *Faulty, _: *jzx.Context, how: How) !void {
        switch (how) {
            .an_error => return error.StringBroke,
            .a_panic => @panic("the band has left"),
            .out_of_bounds => {
                var index: usize = 7;
                _ = &index;
                if (self.table[index] == 'x') self.deinits.* = 0;
            },
            .overflow => {
                var small: u8 = 255;
                small += @intFromEnum(how) / 3;
                if (small == 3) self.deinits.* = 0;
            },
            .unwrap => {
                var nothing: ?u8 = null;
                _ = &nothing;
                if (nothing.? == 3) self.deinits.* = 0;
            },
        }
    }

    pub fn deinit(self: *Faulty) void {
        self.deinits.* += 1;
    }
};

fn endBy(how: Faulty.How) !jzx.Exit {
    const loop = try newLoop();
    defer loop.deinit();
    var deinits: u32 = 0;
    const to = try jzx.Actor(Faulty, Faulty.How).spawn(loop, .{ .deinits = &deinits }, .{});
    var exit: jzx.Exit = undefined;
    try watchEnd(loop, to.id, &exit);
    try to.send(loop, how);
    try loop.run();
    try testing.expectEqual(1, deinits);
    return exit;
}

test "an error fails the actor, and its name is the text" {
    const exit = try endBy(.an_error);
    try testing.expectEqual(.fail, exit.reason());
    try testing.expectEqualStrings("StringBroke", exit.text());
}

test "a panic ends the actor alone, with its message as the text" {
    const exit = try endBy(.a_panic);
    try testing.expectEqual(.panic, exit.reason());
    try testing.expectEqualStrings("the band has left", exit.text());
}

test "a failed safety check is a panic" {
    const bounds = try endBy(.out_of_bounds);
    try testing.expectEqual(.panic, bounds.reason());
    try testing.expectEqualStrings("index out of bounds: index 7, len 3", bounds.text());
    const overflow = try endBy(.overflow);
    try testing.expectEqual(.panic, overflow.reason());
    try testing.expectEqualStrings("integer overflow", overflow.text());
    const unwrap = try endBy(.unwrap);
    try testing.expectEqual(.panic, unwrap.reason());
    try testing.expectEqualStrings("attempt to use null value", unwrap.text());
}

test "panics of fibers, starts and deinits are contained" {
    const State = struct {
        where: enum { run, start, deinit },
        pub fn start(self: *@This(), _: *jzx.Context) void {
            if (self.where == .start) @panic("in start");
        }
        pub fn run(self: *@This(), ctx: *jzx.Context) !void {
            try ctx.receive(jzx.never);
            if (self.where == .run) @panic("in run, after a wait");
        }
        pub fn deinit(self: *@This()) void {
            if (self.where == .deinit) @panic("in deinit");
        }
    };
    const loop = try newLoop();
    defer loop.deinit();
    const A = jzx.Actor(State, void);
    const in_run = try A.spawn(loop, .{ .where = .run }, .{});
    var exit: jzx.Exit = undefined;
    try watchEnd(loop, in_run.id, &exit);
    try in_run.send(loop, {});
    try loop.run();
    try testing.expectEqual(.panic, exit.reason());
    try testing.expectEqualStrings("in run, after a wait", exit.text());

    const in_start = try A.spawn(loop, .{ .where = .start }, .{});
    try loop.run();
    try testing.expectError(error.NoSuchActor, in_start.send(loop, {}));

    const in_deinit = try A.spawn(loop, .{ .where = .deinit }, .{});
    try watchEnd(loop, in_deinit.id, &exit);
    try in_deinit.send(loop, {});
    try loop.run();
    try testing.expectEqual(.normal, exit.reason()); // of the end, which goes on
}

test "a long text is cut" {
    const State = struct {
        pub fn run(_: *@This(), ctx: *jzx.Context) !void {
            try ctx.receive(jzx.never);
            return error.AnErrorWithANameThatIsLongerThanTheSeventyOneBytesWhichTheRuntimeKeepsOfIt;
        }
    };
    const loop = try newLoop();
    defer loop.deinit();
    const it = try jzx.Actor(State, void).spawn(loop, .{}, .{});
    var exit: jzx.Exit = undefined;
    try watchEnd(loop, it.id, &exit);
    try it.send(loop, {});
    try loop.run();
    try testing.expectEqual(.fail, exit.reason());
    try testing.expectEqual(71, exit.text().len);
    try testing.expect(std.mem.startsWith(u8, exit.text(), "AnErrorWithANameThatIsLonger"));
}

test "a message that does not fit fails its receiver" {
    const State = struct {
        pub fn receive(_: *@This(), _: *jzx.Context, _: u64) void {}
    };
    const loop = try newLoop();
    defer loop.deinit();
    const to = try jzx.Actor(State, u64).spawn(loop, .{}, .{});
    var exit: jzx.Exit = undefined;
    try watchEnd(loop, to.id, &exit);
    try testing.expectEqual(0, jzx.c.jzx_send(loop.raw, @intFromEnum(to.id), 0, "abc", 3, 0));
    try loop.run();
    try testing.expectEqual(.fail, exit.reason());
    try testing.expectEqualStrings("BadMessage", exit.text());
}

const Bank = struct {
    balance: i64 = 100,
    const Msg = union(enum(u32)) { deposit: i64 = 1, balance = 2, silence = 3, leave = 4 };

    pub fn receive(self: *Bank, ctx: *jzx.Context, msg: Msg) !jzx.Next {
        switch (msg) {
            .deposit => |sum| self.balance += sum,
            .balance => try ctx.reply(i64, self.balance),
            .silence => {},
            .leave => return .stop,
        }
        return .go_on;
    }
};

test "a fiber calls, and gets the answer, the timeout or the end" {
    const Customer = struct {
        bank: jzx.Ref(Bank.Msg),
        done: *bool,
        pub fn run(self: *@This(), ctx: *jzx.Context) !void {
            try self.bank.send(ctx, .{ .deposit = 11 });
            const sum = try self.bank.call(ctx, .balance, i64, jzx.never);
            try testing.expectEqual(111, sum);
            const wrong = self.bank.call(ctx, .balance, u8, jzx.never);
            try testing.expectError(error.BadMessage, wrong);
            const late = self.bank.call(ctx, .silence, i64, ctx.in(jzx.ms(1)));
            try testing.expectError(error.Timeout, late);
            try testing.expectError(
                error.NoSuchActor,
                self.bank.call(ctx, .leave, i64, jzx.never),
            );
            self.done.* = true;
        }
    };
    const loop = try newLoop();
    defer loop.deinit();
    const bank = try jzx.Actor(Bank, Bank.Msg).spawn(loop, .{}, .{});
    var done = false;
    _ = try jzx.Actor(Customer, void).spawn(loop, .{ .bank = bank, .done = &done }, .{});
    try loop.run();
    try testing.expect(done);
}

test "a behaviour asks, and hears the answer, the timeout and the end as messages" {
    const Asking = struct {
        bank: jzx.Ref(Bank.Msg),
        answers: *[3]u32,
        first: jzx.Question = .none,
        const Answer = i64;

        pub fn start(self: *@This(), ctx: *jzx.Context) !void {
            self.first = try self.bank.ask(ctx, .balance, jzx.seconds(10));
            _ = try self.bank.ask(ctx, .silence, jzx.ms(1));
            _ = try self.bank.ask(ctx, .silence, jzx.never);
        }
        pub fn receive(self: *@This(), ctx: *jzx.Context, sum: Answer) !void {
            try testing.expectEqual(100, sum);
            try testing.expectEqual(self.first, ctx.question());
            self.answers[0] += 1;
        }
        pub fn other(self: *@This(), ctx: *jzx.Context) !jzx.Next {
            switch (ctx.tag()) {
                jzx.tag.ask_timeout => {
                    self.answers[1] += 1;
                    try self.bank.send(ctx, .leave);
                    return .go_on;
                },
                jzx.tag.ask_down => {
                    const down = try ctx.as(jzx.c.AskDown);
                    try testing.expectEqual(.normal, down.reason);
                    self.answers[2] += 1;
                    return .stop;
                },
                else => return error.UnknownTag,
            }
        }
    };
    const loop = try newLoop();
    defer loop.deinit();
    const bank = try jzx.Actor(Bank, Bank.Msg).spawn(loop, .{}, .{});
    var answers: [3]u32 = .{ 0, 0, 0 };
    _ = try jzx.Actor(Asking, i64).spawn(loop, .{ .bank = bank, .answers = &answers }, .{});
    try loop.run();
    try testing.expectEqual([3]u32{ 1, 1, 1 }, answers);
}

test "a thread asks, and blocks until the answer comes" {
    const Thread = struct {
        fn ask(loop: jzx.Loop, bank: jzx.Ref(Bank.Msg), got: *i64) void {
            got.* = bank.callWait(loop, .balance, i64, jzx.never) catch -1;
            bank.sendWait(loop, .leave, jzx.never) catch {};
            loop.release() catch {};
        }
    };
    const loop = try newLoop();
    defer loop.deinit();
    const bank = try jzx.Actor(Bank, Bank.Msg).spawn(loop, .{}, .{});
    try loop.hold();
    var got: i64 = 0;
    const thread = try std.Thread.spawn(.{}, Thread.ask, .{ loop, bank, &got });
    try loop.run();
    thread.join();
    try testing.expectEqual(100, got);
}

test "an answer may come later, from somebody else" {
    const Clerk = struct {
        pub fn receive(_: *@This(), ctx: *jzx.Context, whom: jzx.Asker) !jzx.Next {
            try whom.reply(ctx, u32, 77);
            return .stop;
        }
    };
    const Desk = struct {
        pub fn receive(_: *@This(), ctx: *jzx.Context, _: u8) !void {
            const clerk = try jzx.Actor(Clerk, jzx.Asker).spawn(ctx, .{}, .{});
            try clerk.send(ctx, try ctx.asker());
        }
    };
    const Visitor = struct {
        desk: jzx.Ref(u8),
        got: *u32,
        pub fn run(self: *@This(), ctx: *jzx.Context) !void {
            self.got.* = try self.desk.call(ctx, 1, u32, jzx.never);
            try self.desk.stop(ctx, .kill);
        }
    };
    const loop = try newLoop();
    defer loop.deinit();
    const desk = try jzx.Actor(Desk, u8).spawn(loop, .{}, .{});
    var got: u32 = 0;
    _ = try jzx.Actor(Visitor, void).spawn(loop, .{ .desk = desk, .got = &got }, .{});
    try loop.run();
    try testing.expectEqual(77, got);
}

test "a fiber receives its messages typed, and others by their tags" {
    const Msg = union(enum(u32)) { add: u32 = 1, finish = 2 };
    const Adder = struct {
        total: *u32,
        whom: jzx.Id,
        const Me = jzx.Actor(@This(), Msg);

        pub fn run(self: *@This(), ctx: *jzx.Context) !void {
            _ = try ctx.monitor(self.whom);
            try ctx.receiveTag(jzx.tag.down, jzx.never); // it overtakes what waits
            const down = try ctx.exit();
            try testing.expectEqual(self.whom, down.actor());
            try testing.expectEqual(.killed, down.reason());
            var sum: u32 = 0;
            while (true) switch (try Me.next(ctx, jzx.never)) {
                .add => |n| sum += n,
                .finish => break,
            };
            try testing.expectError(error.Timeout, Me.next(ctx, 0));
            self.total.* = sum;
        }
    };
    const Silent = struct {
        pub fn receive(_: *@This(), _: *jzx.Context, _: u8) void {}
    };
    const loop = try newLoop();
    defer loop.deinit();
    const victim = try jzx.Actor(Silent, u8).spawn(loop, .{}, .{});
    var total: u32 = 0;
    const to = try Adder.Me.spawn(loop, .{ .total = &total, .whom = victim.id }, .{});
    try loop.step(jzx.never);
    try to.send(loop, .{ .add = 3 });
    try to.send(loop, .{ .add = 4 });
    try to.send(loop, .finish);
    try victim.stop(loop, .kill);
    try loop.run();
    try testing.expectEqual(7, total);
}

test "the state is deinitialised once, however the actor ends" {
    const State = struct {
        deinits: *u32,
        pub fn receive(_: *@This(), _: *jzx.Context, _: u8) jzx.Next {
            return .stop;
        }
        pub fn deinit(self: *@This()) void {
            self.deinits.* += 1;
        }
    };
    const Waiting = struct {
        deinits: *u32,
        pub fn run(_: *@This(), ctx: *jzx.Context) !void {
            try ctx.receive(jzx.never);
        }
        pub fn deinit(self: *@This()) void {
            self.deinits.* += 1;
        }
    };
    var deinits: u32 = 0;
    const loop = try newLoop();
    const A = jzx.Actor(State, u8);
    const stops = try A.spawn(loop, .{ .deinits = &deinits }, .{});
    const killed = try A.spawn(loop, .{ .deinits = &deinits }, .{});
    const fiber = try jzx.Actor(Waiting, u8).spawn(loop, .{ .deinits = &deinits }, .{});
    try loop.step(jzx.never);
    try stops.send(loop, 1);
    try killed.stop(loop, .kill);
    try fiber.stop(loop, .kill);
    try loop.run();
    try testing.expectEqual(3, deinits);
    // These end with the loop; one of them has never had a turn.
    _ = try A.spawn(loop, .{ .deinits = &deinits }, .{});
    _ = try jzx.Actor(Waiting, u8).spawn(loop, .{ .deinits = &deinits }, .{});
    loop.deinit();
    try testing.expectEqual(5, deinits);
}

test "a full mailbox and a full loop are errors, and the state stays the caller's" {
    const State = struct {
        deinits: *u32,
        pub fn receive(_: *@This(), _: *jzx.Context, _: u8) void {}
        pub fn deinit(self: *@This()) void {
            self.deinits.* += 1;
        }
    };
    var deinits: u32 = 0;
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 1, .max_actors = 1 });
    const A = jzx.Actor(State, u8);
    const to = try A.spawn(loop, .{ .deinits = &deinits }, .{ .mailbox_cap = 2 });
    try testing.expectError(error.MaxActors, A.spawn(loop, .{ .deinits = &deinits }, .{}));
    try testing.expectEqual(0, deinits);
    try to.send(loop, 1);
    try to.send(loop, 2);
    try testing.expectError(error.MailboxFull, to.send(loop, 3));
    try testing.expectEqualStrings("the mailbox is full", jzx.errorText(error.MailboxFull));
    loop.deinit();
    try testing.expectEqual(1, deinits);
}

test "names lead to actors" {
    const State = struct {
        got: *u8,
        pub fn receive(self: *@This(), _: *jzx.Context, n: u8) jzx.Next {
            self.got.* = n;
            return .stop;
        }
    };
    const loop = try newLoop();
    defer loop.deinit();
    var got: u8 = 0;
    const to = try jzx.Actor(State, u8).spawn(loop, .{ .got = &got }, .{});
    try to.register(loop, "state");
    const found = try jzx.Ref(u8).lookup(loop, "state");
    try found.send(loop, 9);
    try loop.run();
    try testing.expectEqual(9, got);
    try testing.expectError(error.NoSuchActor, jzx.Ref(u8).lookup(loop, "state"));
}

test "calls that wait are refused where nothing may wait" {
    const State = struct {
        refused: *bool,
        pub fn receive(self: *@This(), ctx: *jzx.Context, _: u8) jzx.Next {
            self.refused.* = if (ctx.sleep(1)) |_| false else |err| err == error.WouldSuspend;
            return .stop;
        }
    };
    const loop = try newLoop();
    defer loop.deinit();
    var refused = false;
    const to = try jzx.Actor(State, u8).spawn(loop, .{ .refused = &refused }, .{});
    try to.send(loop, 1);
    try loop.run();
    try testing.expect(refused);
}

test "several workers share an allocator, and all messages arrive" {
    const Hop = struct { left: u32, done: *std.atomic.Value(u32) };
    const Runner = struct {
        next: jzx.Ref(Hop),
        pub fn receive(self: *@This(), ctx: *jzx.Context, hop: Hop) !void {
            if (hop.left == 0) {
                if (hop.done.fetchAdd(1, .acq_rel) + 1 == 16) ctx.requestStop();
                return;
            }
            try self.next.send(ctx, .{ .left = hop.left - 1, .done = hop.done });
        }
    };
    const loop = try jzx.Loop.init(testing.allocator, .{ .workers = 3, .balance = .eager });
    defer loop.deinit();
    var done: std.atomic.Value(u32) = .init(0);
    var next: jzx.Ref(Hop) = .{ .id = .nobody };
    var refs: [16]jzx.Ref(Hop) = undefined;
    for (&refs) |*ref| {
        // Each passes on to the one before it; the first to nobody, and is asked for nothing.
        ref.* = try jzx.Actor(Runner, Hop).spawn(loop, .{ .next = next }, .{});
        next = ref.*;
    }
    for (refs, 0..) |ref, i| try ref.send(loop, .{ .left = @intCast(i), .done = &done });
    try loop.run();
    try testing.expectEqual(16, done.load(.acquire));
}

fn oneRun(allocator: std.mem.Allocator) !void {
    const State = struct {
        pub fn receive(_: *@This(), _: *jzx.Context, _: [64]u8) jzx.Next {
            return .stop;
        }
    };
    const loop = try jzx.Loop.init(allocator, .{ .workers = 1, .log = .{ .level = .off } });
    defer loop.deinit();
    const to = try jzx.Actor(State, [64]u8).spawn(loop, .{}, .{});
    try to.send(loop, @splat(1));
    try loop.run();
}

test "each allocation that fails is an error, and nothing leaks" {
    try testing.checkAllAllocationFailures(testing.allocator, oneRun, .{});
}

test "a wrong configuration is refused by name" {
    const wrong: jzx.LoopOptions = .{ .workers = 5000 };
    try testing.expectError(error.InvalidArg, jzx.Loop.init(testing.allocator, wrong));
    try testing.expectEqualStrings("workers", jzx.wrongField(wrong).?);
    try testing.expectEqual(null, jzx.wrongField(.{}));
}
