// SPDX-License-Identifier: MIT
//! Actors: `Actor(State, Msg)` makes one of a struct, `Ref(Msg)` is where messages go, `Context` is
//! what an actor knows of itself.
//!
//! `State` says by its declarations what the actor does:
//!
//! | declaration                          | called                                              |
//! |--------------------------------------|-----------------------------------------------------|
//! | `receive(*State, *Context, Msg)`     | for each message: a behaviour                       |
//! | or `run(*State, *Context)`           | once, on its own stack: a fiber, which may wait     |
//! | `start(*State, *Context)`            | before the first message; optional                  |
//! | `other(*State, *Context)`            | for each message that is no `Msg`; optional         |
//! | `deinit(*State)`                     | at the end, however the actor ends; optional        |
//!
//! Messages of the runtime (exits, timeouts, answers that do not come) are no `Msg`: `Context.tag`
//! tells them apart, and without an `other` they are dropped.
//!
//! All but `deinit` may return errors: the actor then fails, and the name of the error is the text
//! of its exit. `receive` and `other` return nothing, or a `Next`.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("error.zig");
const loops = @import("loop.zig");
const message = @import("message.zig");
const timers = @import("timer.zig");
const supervisors = @import("supervisor.zig");
const Error = errors.Error;

/// Names an actor; never leads to another one. A plain value, which may be sent.
pub const Id = enum(u64) { nobody = 0, _ };

/// What a behaviour wants after a message.
pub const Next = enum { go_on, stop };

pub const ExitReason = c.ExitReason;
pub const StopKind = c.StopKind;

/// How an actor has ended: of a monitor, a link or a join.
pub const Exit = struct {
    notice: c.ExitNotice,

    pub fn actor(exit: *const Exit) Id {
        return @enumFromInt(exit.notice.actor);
    }

    pub fn reason(exit: *const Exit) ExitReason {
        return exit.notice.reason;
    }

    /// The name of the error, the text of the panic, or "".
    pub fn text(exit: *const Exit) []const u8 {
        return std.mem.sliceTo(&exit.notice.text, 0);
    }
};

/// Names a monitor.
pub const Monitor = enum(u64) { _ };

/// Names a question; `Context.question` tells which one an answer belongs to.
pub const Question = enum(u64) { none = 0, _ };

/// Fields as of jzx_spawn_opts in include/jzx/actor.h; zero means the default.
pub const SpawnOptions = struct {
    /// Shown to observers; need not be unique.
    name: ?[*:0]const u8 = null,
    mailbox_cap: u32 = 0,
    stash_cap: u32 = 0,
    on_full: c.OnFull = .refuse,
    priority: c.Priority = .default,
    /// The worker to stay on, if any.
    worker: ?u32 = null,
    daemon: bool = false,
    /// Of a fiber. Zig's formatting and safety checks use more stack than C does.
    stack_size_bytes: u32 = default_stack_size,
    /// A fiber that may go on on another worker after a wait.
    migratable: bool = false,
    /// A fiber that runs on its worker's own thread only.
    thread_bound: bool = false,
};

pub const default_stack_size = 256 * 1024;

/// What an actor knows of itself, during a call only. Calls that wait are for fibers; elsewhere
/// they are `error.WouldSuspend`.
pub const Context = struct {
    raw: *c.Context,
    /// The message that is being handled, or was received last.
    current: ?*const c.Message = null,
    received: c.Message = undefined,

    pub fn self(ctx: *const Context) Id {
        return @enumFromInt(ctx.raw.self);
    }

    /// Who has sent the message that is being handled.
    pub fn sender(ctx: *const Context) Id {
        return @enumFromInt(if (ctx.current) |msg| msg.sender else 0);
    }

    /// The tag of the message that is being handled: `jzx.tag` has those of the runtime.
    pub fn tag(ctx: *const Context) u32 {
        return if (ctx.current) |msg| msg.tag else 0;
    }

    /// The message that is being handled as another type: for `other`, and for messages of C.
    pub fn as(ctx: *const Context, comptime T: type) error{BadMessage}!*const T {
        const msg = ctx.current orelse return error.BadMessage;
        if (msg.len != @sizeOf(T)) return error.BadMessage;
        return @ptrCast(@alignCast(msg.data));
    }

    pub fn now(ctx: *const Context) u64 {
        return c.jzx_loop_now(ctx.raw.loop);
    }

    /// A deadline so many nanoseconds from now.
    pub fn in(ctx: *const Context, delay_ns: u64) u64 {
        return ctx.now() +| delay_ns;
    }

    pub fn requestStop(ctx: *const Context) void {
        _ = c.jzx_loop_request_stop(ctx.raw.loop);
    }

    /// True when this turn has used its time and others wait.
    pub fn turnSpent(ctx: *const Context) bool {
        return c.jzx_turn_spent(ctx.raw);
    }

    // ---- questions ----

    /// Answers the question that is being handled.
    pub fn reply(ctx: *const Context, comptime T: type, answer: T) Error!void {
        const msg = ctx.current orelse return error.InvalidArg;
        const it = message.encode(T, &answer);
        return errors.check(c.jzx_reply(ctx.raw, msg, it.data, it.len, it.tag));
    }

    /// For an answer later, or by somebody else. A plain value, which may be sent.
    pub fn asker(ctx: *const Context) Error!Asker {
        const msg = ctx.current orelse return error.InvalidArg;
        const handle = c.jzx_ask_from(ctx.raw, msg);
        if (handle.asker == 0) return error.InvalidArg;
        return .{ .handle = handle };
    }

    /// The question to which the message that is being handled is the answer, the timeout
    /// (`jzx.tag.ask_timeout`) or the end of the asked actor (`jzx.tag.ask_down`).
    pub fn question(ctx: *const Context) Question {
        return @enumFromInt(c.jzx_ask_ref(ctx.raw));
    }

    pub fn cancelQuestion(ctx: *const Context, which: Question) Error!void {
        return errors.check(c.jzx_ask_cancel(ctx.raw, @intFromEnum(which)));
    }

    // ---- the stash ----

    pub fn stash(ctx: *const Context) Error!void {
        const msg = ctx.current orelse return error.InvalidArg;
        return errors.check(c.jzx_stash(ctx.raw, msg));
    }

    pub fn unstash(ctx: *const Context) usize {
        return c.jzx_unstash(ctx.raw);
    }

    // ---- ends of others ----

    /// One message `jzx.tag.down` comes when that actor ends: see `exit`.
    pub fn monitor(ctx: *const Context, target: Id) Error!Monitor {
        var ref: u64 = 0;
        try errors.check(c.jzx_monitor(ctx.raw, @intFromEnum(target), &ref));
        return @enumFromInt(ref);
    }

    pub fn demonitor(ctx: *const Context, which: Monitor) Error!void {
        return errors.check(c.jzx_demonitor(ctx.raw, @intFromEnum(which)));
    }

    pub fn link(ctx: *const Context, target: Id) Error!void {
        return errors.check(c.jzx_link(ctx.raw, @intFromEnum(target)));
    }

    pub fn unlink(ctx: *const Context, target: Id) Error!void {
        return errors.check(c.jzx_unlink(ctx.raw, @intFromEnum(target)));
    }

    /// Ends of linked actors come as messages `jzx.tag.exit`.
    pub fn trapExits(ctx: *const Context, trap: bool) Error!void {
        return errors.check(c.jzx_trap_exits(ctx.raw, trap));
    }

    /// What a message `jzx.tag.down` or `jzx.tag.exit` says.
    pub fn exit(ctx: *const Context) error{BadMessage}!Exit {
        if (ctx.tag() != c.tag_down and ctx.tag() != c.tag_exit) return error.BadMessage;
        return .{ .notice = (try ctx.as(c.ExitNotice)).* };
    }

    // ---- waiting: fibers ----

    /// The next message, whatever it is: `tag` and `as` tell. `Actor.next` gives it as a `Msg`.
    pub fn receive(ctx: *Context, deadline_ns: u64) Error!void {
        ctx.current = null;
        try errors.check(c.jzx_receive(ctx.raw, deadline_ns, &ctx.received));
        ctx.current = &ctx.received;
    }

    /// The next message with that tag; others stay where they are.
    pub fn receiveTag(ctx: *Context, wanted: u32, deadline_ns: u64) Error!void {
        ctx.current = null;
        try errors.check(c.jzx_receive_tag(ctx.raw, wanted, deadline_ns, &ctx.received));
        ctx.current = &ctx.received;
    }

    /// The next message of that sender.
    pub fn receiveFrom(ctx: *Context, from: Id, deadline_ns: u64) Error!void {
        ctx.current = null;
        const id = @intFromEnum(from);
        try errors.check(c.jzx_receive_from(ctx.raw, id, deadline_ns, &ctx.received));
        ctx.current = &ctx.received;
    }

    pub fn sleepUntil(ctx: *const Context, until_ns: u64) Error!void {
        return errors.check(c.jzx_sleep(ctx.raw, until_ns));
    }

    pub fn sleep(ctx: *const Context, delay_ns: u64) Error!void {
        return ctx.sleepUntil(ctx.in(delay_ns));
    }

    pub fn yield(ctx: *const Context) Error!void {
        return errors.check(c.jzx_yield(ctx.raw));
    }

    /// Waits for the end of an actor.
    pub fn join(ctx: *const Context, id: Id, deadline_ns: u64) Error!Exit {
        var how: Exit = undefined;
        try errors.check(c.jzx_join(ctx.raw, @intFromEnum(id), deadline_ns, &how.notice));
        return how;
    }
};

/// Whom to answer.
pub const Asker = extern struct {
    handle: c.AskHandle,

    pub fn reply(asker: Asker, from: anytype, comptime T: type, answer: T) Error!void {
        const it = message.encode(T, &answer);
        const loop = loops.rawOf(from);
        const me = loops.senderOf(from);
        return errors.check(c.jzx_reply_to(loop, asker.handle, me, it.data, it.len, it.tag));
    }
};

/// An actor that takes messages of type `Msg`. A plain value, which may be sent. `from` is a
/// `Loop`, on any thread, or the `*Context` of the actor that sends.
pub fn Ref(comptime Msg: type) type {
    return extern struct {
        id: Id,

        const Self = @This();
        pub const Message = Msg;

        pub fn send(ref: Self, from: anytype, msg: Msg) Error!void {
            const it = message.encode(Msg, &msg);
            const loop = loops.rawOf(from);
            const me = loops.senderOf(from);
            return errors.check(c.jzx_send(loop, ref.raw(), me, it.data, it.len, it.tag));
        }

        /// Blocks the thread, which must not be a worker, while the mailbox is full.
        pub fn sendWait(ref: Self, loop: loops.Loop, msg: Msg, deadline_ns: u64) Error!void {
            const it = message.encode(Msg, &msg);
            const to = ref.raw();
            return errors.check(
                c.jzx_send_wait(loop.raw, to, it.data, it.len, it.tag, deadline_ns),
            );
        }

        /// Suspends the fiber while the mailbox is full.
        pub fn sendUntil(ref: Self, ctx: *const Context, msg: Msg, deadline_ns: u64) Error!void {
            const it = message.encode(Msg, &msg);
            const to = ref.raw();
            return errors.check(
                c.jzx_send_until(ctx.raw, to, it.data, it.len, it.tag, deadline_ns),
            );
        }

        /// The answer comes as a message, or `jzx.tag.ask_timeout`, or `jzx.tag.ask_down`.
        pub fn ask(ref: Self, ctx: *const Context, msg: Msg, timeout_ns: u64) Error!Question {
            const it = message.encode(Msg, &msg);
            const to = ref.raw();
            var question: u64 = 0;
            try errors.check(
                c.jzx_ask(ctx.raw, to, it.data, it.len, it.tag, timeout_ns, &question),
            );
            return @enumFromInt(question);
        }

        pub const CallError = Error || error{BadMessage};

        /// Asks, and suspends the fiber until the answer comes. A slice is valid until the next
        /// call. `error.BadMessage`: the answer is no `Answer`.
        pub fn call(
            ref: Self,
            ctx: *const Context,
            msg: Msg,
            comptime Answer: type,
            deadline_ns: u64,
        ) CallError!Answer {
            comptime message.checkSendable(Answer);
            const it = message.encode(Msg, &msg);
            const to = ref.raw();
            var answer: c.Message = undefined;
            try errors.check(
                c.jzx_call(ctx.raw, to, it.data, it.len, it.tag, deadline_ns, &answer),
            );
            return message.decode(Answer, &answer) catch error.BadMessage;
        }

        /// The same for a thread that is no actor: it blocks.
        pub fn callWait(
            ref: Self,
            loop: loops.Loop,
            msg: Msg,
            comptime Answer: type,
            deadline_ns: u64,
        ) CallError!Answer {
            comptime message.checkSendable(Answer);
            if (comptime message.isSlice(Answer) or message.isView(Answer))
                @compileError("jzx: callWait frees its answer, so it cannot be a slice");
            const it = message.encode(Msg, &msg);
            const to = ref.raw();
            var answer: c.Message = undefined;
            try errors.check(
                c.jzx_call_wait(loop.raw, to, it.data, it.len, it.tag, deadline_ns, &answer),
            );
            defer c.jzx_msg_free(loop.raw, answer.data);
            return message.decode(Answer, &answer) catch error.BadMessage;
        }

        pub fn sendAfter(ref: Self, from: anytype, msg: Msg, delay_ns: u64) Error!timers.Timer {
            return timers.sendAfter(from, ref.id, Msg, msg, delay_ns);
        }

        pub fn sendEvery(
            ref: Self,
            from: anytype,
            msg: Msg,
            period_ns: u64,
            repeat: timers.Repeat,
        ) Error!timers.Timer {
            return timers.sendEvery(from, ref.id, Msg, msg, period_ns, repeat);
        }

        pub fn stop(ref: Self, from: anytype, kind: StopKind) Error!void {
            return errors.check(c.jzx_actor_stop(loops.rawOf(from), ref.raw(), kind));
        }

        /// Gives the actor a name, for `lookup`.
        pub fn register(ref: Self, from: anytype, name: [*:0]const u8) Error!void {
            return errors.check(c.jzx_register(loops.rawOf(from), name, ref.raw()));
        }

        /// The actor that has the name now; that it takes `Msg` is the caller's to know.
        pub fn lookup(from: anytype, name: [*:0]const u8) Error!Self {
            var id: u64 = 0;
            try errors.check(c.jzx_lookup(loops.rawOf(from), name, &id));
            return .{ .id = @enumFromInt(id) };
        }

        inline fn raw(ref: Self) u64 {
            return @intFromEnum(ref.id);
        }
    };
}

/// The actors whose state is a `State` and whose messages are `Msg`.
pub fn Actor(comptime State: type, comptime Msg: type) type {
    comptime {
        message.checkSendable(Msg);
        checkState(State, Msg);
    }
    return struct {
        const is_fiber = @hasDecl(State, "run");

        pub const To = Ref(Msg);

        /// What a supervised child begins with, each time anew. It must outlive the supervisor.
        pub const Prototype = struct {
            kind: Kind = .prototype,
            state: State,
        };

        const Kind = enum { prototype, made };

        /// The state moves to the actor. On an error it is still the caller's.
        pub fn spawn(where: anytype, state: State, options: SpawnOptions) Error!Ref(Msg) {
            const loop = loops.rawOf(where);
            const box = try makeBox(loop, state);
            errdefer c.jzx_msg_free(loop, box);
            var id: u64 = 0;
            try errors.check(c.jzx_spawn(loop, &.{
                .behavior = if (is_fiber) null else onMessage,
                .fiber = if (is_fiber) onRun else null,
                .state = box,
                .name = options.name,
                .init = if (!is_fiber and @hasDecl(State, "start")) onStart else null,
                .cleanup = onEnd,
                .mailbox_cap = options.mailbox_cap,
                .stash_cap = options.stash_cap,
                .on_full = options.on_full,
                .place = if (options.worker) |index| c.jzx_place_worker(index) else 0,
                .priority = options.priority,
                .flags = .{ .daemon = options.daemon },
                .stack_size_bytes = if (is_fiber) options.stack_size_bytes else 0,
                .fiber_flags = .{
                    .migratable = is_fiber and options.migratable,
                    .thread_bound = is_fiber and options.thread_bound,
                },
            }, &id));
            return .{ .id = @enumFromInt(id) };
        }

        pub fn prototype(state: State) Prototype {
            return .{ .state = state };
        }

        /// A child of a supervisor that begins with a copy of the prototype's state.
        pub fn child(from: *const Prototype, options: supervisors.ChildOptions) supervisors.Child {
            var spec = options.spec();
            spec.behavior = if (is_fiber) null else onMessage;
            spec.fiber = if (is_fiber) onRun else null;
            spec.state = @ptrCast(@constCast(from));
            spec.init = onStart;
            spec.cleanup = onEnd;
            if (is_fiber and spec.stack_size_bytes == 0) spec.stack_size_bytes = default_stack_size;
            return spec;
        }

        /// In `run`: the next message that is a `Msg`; others are dropped.
        pub fn next(ctx: *Context, deadline_ns: u64) (Error || error{BadMessage})!Msg {
            while (true) {
                try ctx.receive(deadline_ns);
                return message.decode(Msg, ctx.current.?) catch |err| switch (err) {
                    error.BadMessage => error.BadMessage,
                    error.OtherTag => continue,
                };
            }
        }

        /// The same, and null for a message that is no `Msg`: `Context.tag` and `as` tell more.
        pub fn nextOrOther(ctx: *Context, deadline_ns: u64) (Error || error{BadMessage})!?Msg {
            try ctx.receive(deadline_ns);
            return message.decode(Msg, ctx.current.?) catch |err| switch (err) {
                error.BadMessage => error.BadMessage,
                error.OtherTag => null,
            };
        }

        // ---- what the runtime calls ----

        fn makeBox(loop: *c.Loop, state: State) error{OutOfMemory}!*Prototype {
            const room = c.jzx_msg_alloc(loop, @sizeOf(Prototype), null) orelse
                return error.OutOfMemory;
            const box: *Prototype = @ptrCast(@alignCast(room));
            box.* = .{ .kind = .made, .state = state };
            return box;
        }

        inline fn stateOf(raw: *c.Context) *State {
            const box: *Prototype = @ptrCast(@alignCast(raw.state.?));
            return &box.state;
        }

        fn onStart(raw: *c.Context) callconv(.c) c.Err {
            const from: *Prototype = @ptrCast(@alignCast(raw.state.?));
            if (from.kind == .prototype)
                raw.state = makeBox(raw.loop, from.state) catch |err| return errors.toCode(err);
            if (@hasDecl(State, "start") and !is_fiber) {
                var ctx: Context = .{ .raw = raw };
                settle(raw, State.start(stateOf(raw), &ctx));
            }
            return 0;
        }

        fn onMessage(raw: *c.Context, msg: *const c.Message) callconv(.c) c.BehaviorResult {
            var ctx: Context = .{ .raw = raw, .current = msg };
            if (message.decode(Msg, msg)) |it| {
                return nextOf(raw, State.receive(stateOf(raw), &ctx, it));
            } else |err| switch (err) {
                error.OtherTag => if (@hasDecl(State, "other"))
                    return nextOf(raw, State.other(stateOf(raw), &ctx))
                else
                    return .ok,
                error.BadMessage => fail(raw, err),
            }
        }

        fn onRun(raw: *c.Context) callconv(.c) void {
            var ctx: Context = .{ .raw = raw };
            if (@hasDecl(State, "start")) settle(raw, State.start(stateOf(raw), &ctx));
            settle(raw, State.run(stateOf(raw), &ctx));
        }

        fn onEnd(raw: *c.Context, reason: c.ExitReason) callconv(.c) void {
            _ = reason;
            const box: *Prototype = @ptrCast(@alignCast(raw.state.?));
            if (box.kind == .prototype) return; // it ended before it began
            if (@hasDecl(State, "deinit")) box.state.deinit();
            c.jzx_msg_free(raw.loop, box);
        }
    };
}

/// The frames between here and the runtime have nothing to clean up: this one, and the trampoline.
fn fail(raw: *c.Context, err: anyerror) noreturn {
    @branchHint(.cold);
    var text: [c.exit_text_max + 1]u8 = undefined;
    c.jzx_exit(raw, .fail, copyText(&text, @errorName(err)));
}

/// Ends with a zero, and is cut where it must be.
pub fn copyText(room: *[c.exit_text_max + 1]u8, text: []const u8) [*:0]const u8 {
    const len = @min(text.len, c.exit_text_max);
    @memcpy(room[0..len], text[0..len]);
    room[len] = 0;
    return room[0..len :0];
}

inline fn settle(raw: *c.Context, result: anytype) void {
    switch (@typeInfo(@TypeOf(result))) {
        .error_union => result catch |err| fail(raw, err),
        else => {},
    }
}

inline fn nextOf(raw: *c.Context, result: anytype) c.BehaviorResult {
    const value = switch (@typeInfo(@TypeOf(result))) {
        .error_union => result catch |err| fail(raw, err),
        else => result,
    };
    if (@TypeOf(value) == void) return .ok;
    return switch (value) {
        .go_on => .ok,
        .stop => .stop,
    };
}

// ---- compile-time checks ----

fn checkState(comptime State: type, comptime Msg: type) void {
    const name = @typeName(State);
    switch (@typeInfo(State)) {
        .@"struct", .@"union", .@"enum" => {},
        else => @compileError("jzx: the state of an actor is a struct, and " ++ name ++ " is none"),
    }
    if (@alignOf(State) > 16)
        @compileError("jzx: " ++ name ++ " is aligned to more than 16 bytes");
    if (@hasDecl(State, "receive") == @hasDecl(State, "run"))
        @compileError("jzx: " ++ name ++ " has to declare either receive(*" ++ name ++
            ", *jzx.Context, " ++ @typeName(Msg) ++ ") or run(*" ++ name ++ ", *jzx.Context)");
    if (@hasDecl(State, "receive"))
        checkFn(State, "receive", &.{ *State, *Context, Msg }, true);
    if (@hasDecl(State, "run")) checkFn(State, "run", &.{ *State, *Context }, false);
    if (@hasDecl(State, "start")) checkFn(State, "start", &.{ *State, *Context }, false);
    if (@hasDecl(State, "other")) checkFn(State, "other", &.{ *State, *Context }, true);
    if (@hasDecl(State, "deinit")) checkFn(State, "deinit", &.{*State}, false);
}

fn checkFn(
    comptime State: type,
    comptime name: []const u8,
    comptime params: []const type,
    comptime may_say_next: bool,
) void {
    const where = "jzx: " ++ @typeName(State) ++ "." ++ name;
    const info = @typeInfo(@TypeOf(@field(State, name))).@"fn";
    var wanted: []const u8 = "";
    for (params, 0..) |param, i| wanted = wanted ++ (if (i == 0) "" else ", ") ++ @typeName(param);
    if (info.params.len != params.len) @compileError(where ++ " takes (" ++ wanted ++ ")");
    for (info.params, params) |param, want| {
        if (param.type != want) @compileError(where ++ " takes (" ++ wanted ++ ")");
    }
    const Result = switch (@typeInfo(info.return_type.?)) {
        .error_union => |result| result.payload,
        else => info.return_type.?,
    };
    if (Result == void or Result == noreturn or (may_say_next and Result == Next)) return;
    @compileError(where ++ " returns " ++ (if (may_say_next) "void or jzx.Next" else "void") ++
        ", with errors or without");
}
