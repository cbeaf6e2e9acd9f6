// SPDX-License-Identifier: MIT
//! The C interface, as far as the binding uses it: the declarations of include/jzx, by hand. C's
//! bit-fields and macros do not survive a translation of the headers, and its enums come out as
//! integers. tests/layout.zig compares every struct and constant here with what a C compiler makes
//! of the headers, and tests/prototypes.sh compares the functions.

pub const Loop = opaque {};
pub const Clock = opaque {};

/// A `jzx_err`: `jzx/error.zig` turns it into a Zig error.
pub const Err = c_int;

pub const Context = extern struct {
    state: ?*anyopaque,
    self: u64,
    loop: *Loop,
};

pub const Message = extern struct {
    data: *anyopaque,
    len: usize,
    tag: u32,
    sender: u64,
};

pub const BehaviorResult = enum(c_uint) { ok = 0, stop = 1, fail = 2 };
pub const ExitReason = enum(c_uint) { normal, fail, panic, killed, shutdown, fault, no_actor, _ };
pub const StopKind = enum(c_uint) { after_message, after_queue, kill };
pub const OnFull = enum(c_uint) { refuse, drop_oldest, drop_new };
pub const Priority = enum(u8) { default, critical, high, normal, low };
pub const Repeat = enum(c_uint) { fixed_rate, fixed_delay };
pub const Strategy = enum(c_uint) { one_for_one, one_for_all, rest_for_one, dynamic };
pub const ChildMode = enum(c_uint) { permanent, transient, temporary };
pub const BackoffKind = enum(c_uint) { default, constant, exponential };
pub const AutoShutdown = enum(c_uint) { never, any, all };
pub const ChildState = enum(c_uint) {
    unknown,
    starting,
    running,
    stopping,
    waiting,
    stopped,
    exited,
    failed,
    _,
};
pub const LogLevel = enum(c_uint) { default, off, err, warn, info, debug };
pub const Balance = enum(c_uint) { default, adaptive, eager, none };
pub const OnWait = enum(c_uint) { default, refuse, fail, abort };
pub const OnStall = enum(c_uint) { default, go_on, fail };
pub const IoBackend = enum(c_uint) { auto, epoll, uring };

pub const BehaviorFn = *const fn (*Context, *const Message) callconv(.c) BehaviorResult;
pub const FiberFn = *const fn (*Context) callconv(.c) void;
pub const InitFn = *const fn (*Context) callconv(.c) Err;
pub const CleanupFn = *const fn (*Context, ExitReason) callconv(.c) void;
pub const ThreadHook = *const fn (?*anyopaque, u32) callconv(.c) void;
pub const MatchFn = *const fn (?*anyopaque, *const Message) callconv(.c) bool;
pub const Destructor = *const fn (*anyopaque, usize) callconv(.c) void;

pub const Allocator = extern struct {
    alloc: ?*const fn (?*anyopaque, usize) callconv(.c) ?*anyopaque = null,
    free: ?*const fn (?*anyopaque, *anyopaque, usize) callconv(.c) void = null,
    ctx: ?*anyopaque = null,
};

pub const Mapper = extern struct {
    map: ?*const fn (?*anyopaque, usize) callconv(.c) ?*anyopaque = null,
    unmap: ?*const fn (?*anyopaque, *anyopaque, usize) callconv(.c) void = null,
    ctx: ?*anyopaque = null,
};

pub const LogSink = extern struct {
    write: ?*const fn (?*anyopaque, LogLevel, [*:0]const u8) callconv(.c) void = null,
    ctx: ?*anyopaque = null,
    level: LogLevel = .default,
};

/// Zero fields mean the defaults, as everywhere in the C interface.
pub const Config = extern struct {
    size: usize = @sizeOf(Config),
    allocator: Allocator = .{},
    log: LogSink = .{},
    clock: ?*Clock = null,
    max_actors: u32 = 0,
    default_mailbox_cap: u32 = 0,
    max_msgs_per_actor: u32 = 0,
    max_actors_per_tick: u32 = 0,
    max_async_drain: u32 = 0,
    default_heap_quota: usize = 0,
    workers: u32 = 0,
    balance: Balance = .default,
    pin_threads: bool = false,
    thread_name: ?[*:0]const u8 = null,
    on_thread_start: ?ThreadHook = null,
    on_thread_stop: ?ThreadHook = null,
    thread_hook_ctx: ?*anyopaque = null,
    stall_after_ns: u64 = 0,
    relieve_after_ns: u64 = 0,
    spare_threads_max: u32 = 0,
    stall_signal: c_int = 0,
    local_queue_size: u32 = 0,
    global_queue_size: u32 = 0,
    steal_batch: u32 = 0,
    park_timeout_ns: u64 = 0,
    max_groups: u32 = 0,
    max_members_per_group: u32 = 0,
    contain: u32 = 0,
    max_calls: u32 = 0,
    on_wait: OnWait = .default,
    on_stall: OnStall = .default,
    max_io_watchers: u32 = 0,
    schedule: ?*const anyopaque = null,
    deadlock_after_ns: u64 = 0,
    urgent_cap: u32 = 0,
    stamp_messages: bool = false,
    io_backend: IoBackend = .auto,
    track_buffers: bool = false,
    max_group_events: u32 = 0,
    mapper: Mapper = .{},
};

/// C's bit-fields, which take their places from the lowest bit of a byte on.
pub const SpawnFlags = packed struct(u8) { daemon: bool = false, account: bool = false, _: u6 = 0 };
pub const FiberFlags = packed struct(u8) {
    migratable: bool = false,
    trap_stop: bool = false,
    thread_bound: bool = false,
    _: u5 = 0,
};

pub const SpawnOpts = extern struct {
    size: usize = @sizeOf(SpawnOpts),
    behavior: ?BehaviorFn = null,
    state: ?*anyopaque = null,
    name: ?[*:0]const u8 = null,
    init: ?InitFn = null,
    cleanup: ?CleanupFn = null,
    mailbox_cap: u32 = 0,
    stash_cap: u32 = 0,
    on_full: OnFull = .refuse,
    place: u16 = 0,
    priority: Priority = .default,
    flags: SpawnFlags = .{},
    fiber: ?FiberFn = null,
    stack_size_bytes: u32 = 0,
    fiber_flags: FiberFlags = .{},
    type: ?*const anyopaque = null,
    process: ?*const anyopaque = null,
    method: ?[*:0]const u8 = null,
    input: ?*const anyopaque = null,
    input_len: usize = 0,
};

pub const exit_text_max = 71;
pub const name_max = 47;

pub const ExitNotice = extern struct {
    actor: u64,
    monitor: u64,
    reason: ExitReason,
    text: [exit_text_max + 1]u8,
};

pub const AskDown = extern struct {
    actor: u64,
    ref: u64,
    reason: ExitReason,
    text: [exit_text_max + 1]u8,
};

pub const AskHandle = extern struct {
    asker: u64,
    ref: u64,
};

pub const IoEvent = extern struct {
    fd: c_int,
    ready: u32,
};

pub const SignalEvent = extern struct {
    signo: c_int,
    count: u32,
};

pub const Backoff = extern struct {
    kind: BackoffKind = .default,
    initial_delay_ns: u64 = 0,
    step_ns: u64 = 0,
    max_delay_ns: u64 = 0,
    jitter_ns: u64 = 0,
    factor: f64 = 0,
};

pub const ChildSpec = extern struct {
    name: ?[*:0]const u8 = null,
    registered: ?[*:0]const u8 = null,
    behavior: ?BehaviorFn = null,
    supervisor: ?*const SupervisorOpts = null,
    init: ?InitFn = null,
    cleanup: ?CleanupFn = null,
    state: ?*anyopaque = null,
    mode: ChildMode = .permanent,
    backoff: Backoff = .{},
    shutdown_ns: u64 = 0,
    start_ns: u64 = 0,
    mailbox_cap: u32 = 0,
    stash_cap: u32 = 0,
    on_full: OnFull = .refuse,
    place: u16 = 0,
    priority: Priority = .default,
    keep_mailbox: bool = false,
    significant: bool = false,
    stop_at_once: bool = false,
    fiber: ?FiberFn = null,
    stack_size_bytes: u32 = 0,
    migratable: bool = false,
    trap_stop: bool = false,
    thread_bound: bool = false,
    type: ?*const anyopaque = null,
    process: ?*const anyopaque = null,
    method: ?[*:0]const u8 = null,
    input: ?*const anyopaque = null,
    input_len: usize = 0,
    stable_ns: u64 = 0,
    max_attempts: u32 = 0,
    jitter_percent: u32 = 0,
    service: bool = false,
    depends_on: [8]?[*:0]const u8 = .{null} ** 8,
};

pub const SupervisorOpts = extern struct {
    size: usize = @sizeOf(SupervisorOpts),
    name: ?[*:0]const u8 = null,
    strategy: Strategy = .one_for_one,
    auto_shutdown: AutoShutdown = .never,
    intensity: u32 = 0,
    period_ns: u64 = 0,
    stable_ns: u64 = 0,
    children: ?[*]const ChildSpec = null,
    child_count: usize = 0,
    child_size: usize = @sizeOf(ChildSpec),
    listener: u64 = 0,
};

pub const ChildInfo = extern struct {
    size: usize = @sizeOf(ChildInfo),
    name: [name_max + 1]u8 = undefined,
    id: u64 = 0,
    state: ChildState = .unknown,
    restarts: u32 = 0,
    attempt: u32 = 0,
    delay_ns: u64 = 0,
    last_reason: ExitReason = .normal,
    last_text: [exit_text_max + 1]u8 = undefined,
};

pub const SupervisorInfo = extern struct {
    size: usize = @sizeOf(SupervisorInfo),
    children: usize = 0,
    running: usize = 0,
    supervisors: usize = 0,
    restarts: u64 = 0,
    closing: bool = false,
};

pub const ChildEvent = extern struct {
    supervisor: u64,
    child: u64,
    before: u64,
    reason: ExitReason,
    state: ChildState,
    attempt: u32,
    asked: bool,
    delay_ns: u64,
    name: [name_max + 1]u8,
    text: [exit_text_max + 1]u8,
};

pub const ChildAdded = extern struct {
    supervisor: u64,
    child: u64,
    err: Err,
    name: [name_max + 1]u8,
};

/// C's bit-fields again.
pub const StreamFlags = packed struct(u8) {
    delay: bool = false,
    keepalive: bool = false,
    _: u6 = 0,
};
pub const ListenFlags = packed struct(u8) {
    reuse_port: bool = false,
    v6_only: bool = false,
    _: u6 = 0,
};

pub const StreamOpts = extern struct {
    size: usize = @sizeOf(StreamOpts),
    queue_max: u32 = 0,
    queue_high: u32 = 0,
    queue_low: u32 = 0,
    receive_buffer: u32 = 0,
    send_buffer: u32 = 0,
    idle_ns: u64 = 0,
    flags: StreamFlags = .{},
};

pub const AcceptMode = enum(c_uint) { spread, local, per_worker };

pub const ListenOpts = extern struct {
    size: usize = @sizeOf(ListenOpts),
    backlog: u32 = 0,
    connections_max: u32 = 0,
    flags: ListenFlags = .{},
    mode: u32 = 0,
    stream: ?*const StreamOpts = null,
    accept_mode: AcceptMode = .spread,
};

pub const ConnectOpts = extern struct {
    size: usize = @sizeOf(ConnectOpts),
    local: ?[*:0]const u8 = null,
    stream: ?*const StreamOpts = null,
};

pub const StreamEventKind = enum(u32) { data = 1, passive, end, err, high, low, _ };

pub const StreamEvent = extern struct {
    stream: u64,
    kind: StreamEventKind,
    err: Err,
    os_error: c_int,
    len: u32,
    queued: u64,
};

pub const StreamInfo = extern struct {
    size: usize = @sizeOf(StreamInfo),
    owner: u64 = 0,
    fd: c_int = -1,
    is_active: bool = false,
    is_reading: bool = false,
    received: u64 = 0,
    sent: u64 = 0,
    queued: u64 = 0,
    buffered: u64 = 0,
};

pub const Result = extern struct {
    op: u64,
    err: i16,
    os_error: u16,
    len: u32,
};

/// A `struct iovec` that is only read.
pub const Part = extern struct {
    base: [*]const u8,
    len: usize,
};

pub const tag_reserved: u32 = 0xFFFF0000;
pub const tag_io: u32 = 0xFFFF0001;
pub const tag_child_exit: u32 = 0xFFFF0002;
pub const tag_child_restart: u32 = 0xFFFF0003;
pub const tag_child_added: u32 = 0xFFFF0004;
pub const tag_room: u32 = 0xFFFF0010;
pub const tag_receive_timeout: u32 = 0xFFFF0011;
pub const tag_ask_timeout: u32 = 0xFFFF0012;
pub const tag_exit: u32 = 0xFFFF0013;
pub const tag_down: u32 = 0xFFFF0014;
pub const tag_ask_down: u32 = 0xFFFF0015;
pub const tag_stream_high: u32 = 0xFFFF0060;
pub const tag_stream_low: u32 = 0xFFFF0061;

pub const io_read: u32 = 1;
pub const io_write: u32 = 2;
pub const io_error: u32 = 4;
pub const io_hangup: u32 = 8;
pub const io_closed: u32 = 16;

pub const contain_overflow: u32 = 1;
pub const contain_faults: u32 = 2;

pub const unlimited: u32 = 0xFFFFFFFF;
pub const none: u32 = 0xFFFFFFFE;
pub const never: u64 = 0xFFFFFFFFFFFFFFFF;
pub const msg_len_max: u32 = 0x7FFFFFFF;
pub const stream_always: u32 = 0xFFFFFFFF;
pub const stream_parts_max: u32 = 64;
pub const address_max: u32 = 128;

// version.h, error.h
pub extern fn jzx_version() [*:0]const u8;
pub extern fn jzx_err_name(err: Err) [*:0]const u8;
pub extern fn jzx_err_text(err: Err) [*:0]const u8;

// loop.h, config.h, clock.h
pub extern fn jzx_config_check(config: ?*const Config, field: ?*[*:0]const u8) Err;
pub extern fn jzx_loop_create(config: ?*const Config) ?*Loop;
pub extern fn jzx_loop_destroy(loop: *Loop) Err;
pub extern fn jzx_loop_run(loop: *Loop) Err;
pub extern fn jzx_loop_step(loop: *Loop, deadline_ns: u64) Err;
pub extern fn jzx_loop_fd(loop: *Loop) c_int;
pub extern fn jzx_loop_next_deadline(loop: *const Loop) u64;
pub extern fn jzx_loop_alive(loop: *const Loop) bool;
pub extern fn jzx_loop_workers(loop: *const Loop) u32;
pub extern fn jzx_loop_now(loop: *const Loop) u64;
pub extern fn jzx_loop_hold(loop: *Loop) Err;
pub extern fn jzx_loop_release(loop: *Loop) Err;
pub extern fn jzx_loop_request_stop(loop: *Loop) Err;
pub extern fn jzx_loop_stop(loop: *Loop, deadline_ns: u64) Err;
pub extern fn jzx_clock_create(start_ns: u64, allocator: ?*const Allocator, clock: *?*Clock) Err;
pub extern fn jzx_clock_manual(start_ns: u64) ?*Clock;
pub extern fn jzx_clock_now(clock: *const Clock) u64;
pub extern fn jzx_clock_advance(clock: *Clock, duration_ns: u64) Err;
pub extern fn jzx_clock_free(clock: *Clock) Err;

// actor.h, context.h, exit.h, heap.h, name.h
pub extern fn jzx_place_worker(index: u32) u16;
pub extern fn jzx_spawn(loop: *Loop, opts: *const SpawnOpts, id: ?*u64) Err;
pub extern fn jzx_actor_stop(loop: *Loop, id: u64, kind: StopKind) Err;
pub extern fn jzx_actor_fail(loop: *Loop, id: u64) Err;
pub extern fn jzx_turn_spent(ctx: *const Context) bool;
pub extern fn jzx_stash(ctx: *Context, msg: *const Message) Err;
pub extern fn jzx_unstash(ctx: *Context) usize;
pub extern fn jzx_current_context() ?*Context;
pub extern fn jzx_exit(ctx: *Context, reason: ExitReason, text: ?[*:0]const u8) noreturn;
pub extern fn jzx_monitor(ctx: *Context, target: u64, ref: ?*u64) Err;
pub extern fn jzx_demonitor(ctx: *Context, ref: u64) Err;
pub extern fn jzx_link(ctx: *Context, other: u64) Err;
pub extern fn jzx_unlink(ctx: *Context, other: u64) Err;
pub extern fn jzx_trap_exits(ctx: *Context, trap: bool) Err;
pub extern fn jzx_alloc(ctx: *Context, size: usize) ?*anyopaque;
pub extern fn jzx_free(ctx: *Context, ptr: ?*anyopaque) void;
pub extern fn jzx_register(loop: *Loop, name: [*:0]const u8, id: u64) Err;
pub extern fn jzx_unregister(loop: *Loop, name: [*:0]const u8) Err;
pub extern fn jzx_lookup(loop: *const Loop, name: [*:0]const u8, id: *u64) Err;

// message.h
pub extern fn jzx_send(
    loop: *Loop,
    to: u64,
    from: u64,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
) Err;
pub extern fn jzx_send_wait(
    loop: *Loop,
    to: u64,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
    deadline_ns: u64,
) Err;
pub extern fn jzx_send_when_room(loop: *Loop, target: u64, who: u64) Err;
pub extern fn jzx_msg_alloc(loop: *Loop, len: usize, destructor: ?Destructor) ?*anyopaque;
pub extern fn jzx_send_msg(loop: *Loop, to: u64, from: u64, data: *anyopaque, tag: u32) Err;
pub extern fn jzx_msg_take(ctx: *Context, msg: *const Message) ?*anyopaque;
pub extern fn jzx_msg_free(loop: *Loop, data: ?*anyopaque) void;

// ask.h
pub extern fn jzx_ask(
    ctx: *Context,
    to: u64,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
    timeout_ns: u64,
    ref: ?*u64,
) Err;
pub extern fn jzx_ask_cancel(ctx: *Context, ref: u64) Err;
pub extern fn jzx_ask_ref(ctx: *const Context) u64;
pub extern fn jzx_reply(
    ctx: *Context,
    msg: *const Message,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
) Err;
pub extern fn jzx_ask_from(ctx: *const Context, msg: *const Message) AskHandle;
pub extern fn jzx_reply_to(
    loop: *Loop,
    handle: AskHandle,
    from: u64,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
) Err;
pub extern fn jzx_call_wait(
    loop: *Loop,
    to: u64,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
    deadline_ns: u64,
    answer: ?*Message,
) Err;

// fiber.h
pub extern fn jzx_receive(ctx: *Context, deadline_ns: u64, msg: *Message) Err;
pub extern fn jzx_receive_tag(ctx: *Context, tag: u32, deadline_ns: u64, msg: *Message) Err;
pub extern fn jzx_receive_from(ctx: *Context, sender: u64, deadline_ns: u64, msg: *Message) Err;
pub extern fn jzx_sleep(ctx: *Context, until_ns: u64) Err;
pub extern fn jzx_yield(ctx: *Context) Err;
pub extern fn jzx_call(
    ctx: *Context,
    to: u64,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
    deadline_ns: u64,
    answer: *Message,
) Err;
pub extern fn jzx_join(ctx: *Context, id: u64, deadline_ns: u64, how: ?*ExitNotice) Err;
pub extern fn jzx_send_until(
    ctx: *Context,
    to: u64,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
    deadline_ns: u64,
) Err;

// timer.h
pub extern fn jzx_send_after(
    loop: *Loop,
    to: u64,
    from: u64,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
    delay_ns: u64,
    timer: ?*u64,
) Err;
pub extern fn jzx_send_every(
    loop: *Loop,
    to: u64,
    from: u64,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
    period_ns: u64,
    repeat: Repeat,
    timer: ?*u64,
) Err;
pub extern fn jzx_timer_cancel(loop: *Loop, timer: u64) Err;
pub extern fn jzx_timer_missed(ctx: *const Context) u64;
pub extern fn jzx_timer_start(
    ctx: *Context,
    key: u64,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
    delay_ns: u64,
) Err;
pub extern fn jzx_timer_start_every(
    ctx: *Context,
    key: u64,
    data: ?*const anyopaque,
    len: usize,
    tag: u32,
    period_ns: u64,
    repeat: Repeat,
) Err;
pub extern fn jzx_timer_stop(ctx: *Context, key: u64) Err;
pub extern fn jzx_timer_is_active(ctx: *const Context, key: u64) bool;
pub extern fn jzx_receive_timeout(ctx: *Context, idle_ns: u64) Err;

// io.h
pub extern fn jzx_watch_fd(loop: *Loop, fd: c_int, owner: u64, interest: u32, tag: u32) Err;
pub extern fn jzx_unwatch_fd(loop: *Loop, fd: c_int) Err;
pub extern fn jzx_fd_await(
    ctx: *Context,
    fd: c_int,
    interest: u32,
    deadline_ns: u64,
    ready: ?*u32,
) Err;
pub extern fn jzx_fd_await_to(
    ctx: *Context,
    fd: c_int,
    interest: u32,
    deadline_ns: u64,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_signal_to(ctx: *Context, signo: c_int, tag: u32) Err;
pub extern fn jzx_signal_end(ctx: *Context, signo: c_int) Err;
pub extern fn jzx_last_os_error(ctx: *const Context) c_int;

// supervisor.h
pub extern fn jzx_service_init(spec: *ChildSpec, size: usize) Err;
pub extern fn jzx_supervisor_check(opts: *const SupervisorOpts, field: ?*[*:0]const u8) Err;
pub extern fn jzx_spawn_supervisor(loop: *Loop, opts: *const SupervisorOpts, id: ?*u64) Err;
pub extern fn jzx_supervisor_child(loop: *Loop, sup: u64, name: [*:0]const u8, id: *u64) Err;
pub extern fn jzx_supervisor_child_id(loop: *Loop, sup: u64, index: usize, id: *u64) Err;
pub extern fn jzx_supervisor_info_get(loop: *Loop, sup: u64, info: *SupervisorInfo) Err;
pub extern fn jzx_supervisor_child_info(loop: *Loop, sup: u64, index: usize, info: *ChildInfo) Err;
pub extern fn jzx_supervisor_child_state(
    loop: *Loop,
    sup: u64,
    name: [*:0]const u8,
    state: *ChildState,
) Err;
pub extern fn jzx_supervisor_add(
    loop: *Loop,
    sup: u64,
    spec: *const ChildSpec,
    spec_size: usize,
    reply_to: u64,
) Err;
pub extern fn jzx_supervisor_remove(loop: *Loop, sup: u64, name: [*:0]const u8) Err;
pub extern fn jzx_supervisor_stop_child(loop: *Loop, sup: u64, name: [*:0]const u8) Err;
pub extern fn jzx_supervisor_restart(loop: *Loop, sup: u64, name: [*:0]const u8) Err;

// op.h
pub extern fn jzx_result_data(result: *const Result) [*]u8;
pub extern fn jzx_op_cancel(loop: *Loop, op: u64) Err;

// stream.h
pub extern fn jzx_stream_read(
    ctx: *Context,
    stream: u64,
    buf: [*]u8,
    cap: usize,
    deadline_ns: u64,
    len: *usize,
) Err;
pub extern fn jzx_stream_read_exact(
    ctx: *Context,
    stream: u64,
    buf: [*]u8,
    len: usize,
    deadline_ns: u64,
) Err;
pub extern fn jzx_stream_read_until(
    ctx: *Context,
    stream: u64,
    delimiter: c_char,
    buf: [*]u8,
    cap: usize,
    deadline_ns: u64,
    len: *usize,
) Err;
pub extern fn jzx_stream_read_to(ctx: *Context, stream: u64, cap: usize, tag: u32, op: ?*u64) Err;
pub extern fn jzx_stream_read_exact_to(
    ctx: *Context,
    stream: u64,
    len: usize,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_stream_read_until_to(
    ctx: *Context,
    stream: u64,
    delimiter: c_char,
    cap: usize,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_stream_active(ctx: *Context, stream: u64, tag: u32, count: u32) Err;
pub extern fn jzx_stream_data(event: *const StreamEvent) [*]u8;
pub extern fn jzx_stream_write(
    ctx: *Context,
    stream: u64,
    buf: [*]const u8,
    len: usize,
    deadline_ns: u64,
) Err;
pub extern fn jzx_stream_writev(
    ctx: *Context,
    stream: u64,
    parts: [*]const Part,
    count: usize,
    deadline_ns: u64,
) Err;
pub extern fn jzx_stream_sendfile(
    ctx: *Context,
    stream: u64,
    fd: c_int,
    offset: u64,
    len: usize,
    deadline_ns: u64,
    sent: ?*usize,
) Err;
pub extern fn jzx_stream_shutdown(ctx: *Context, stream: u64, deadline_ns: u64) Err;
pub extern fn jzx_stream_send(ctx: *Context, stream: u64, buf: [*]const u8, len: usize) Err;
pub extern fn jzx_stream_write_to(
    ctx: *Context,
    stream: u64,
    buf: [*]const u8,
    len: usize,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_stream_writev_to(
    ctx: *Context,
    stream: u64,
    parts: [*]const Part,
    count: usize,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_stream_sendfile_to(
    ctx: *Context,
    stream: u64,
    fd: c_int,
    offset: u64,
    len: usize,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_stream_shutdown_to(ctx: *Context, stream: u64, tag: u32, op: ?*u64) Err;
pub extern fn jzx_stream_close(loop: *Loop, stream: u64) Err;
pub extern fn jzx_stream_give(ctx: *Context, stream: u64, to: u64) Err;
pub extern fn jzx_stream_info_get(loop: *Loop, stream: u64, info: *StreamInfo) Err;
pub extern fn jzx_stream_peer(loop: *Loop, stream: u64, text: [*]u8, size: usize) Err;
pub extern fn jzx_stream_local(loop: *Loop, stream: u64, text: [*]u8, size: usize) Err;
pub extern fn jzx_stream_set_nodelay(loop: *Loop, stream: u64, on: bool) Err;
pub extern fn jzx_stream_set_keepalive(
    loop: *Loop,
    stream: u64,
    idle_ns: u64,
    interval_ns: u64,
    count: u32,
) Err;
pub extern fn jzx_stream_set_linger(loop: *Loop, stream: u64, seconds: c_int) Err;
pub extern fn jzx_listener_accept(
    ctx: *Context,
    listener: u64,
    deadline_ns: u64,
    stream: *u64,
) Err;
pub extern fn jzx_listener_accept_to(ctx: *Context, listener: u64, tag: u32, op: ?*u64) Err;
pub extern fn jzx_listener_close(loop: *Loop, listener: u64) Err;
pub extern fn jzx_listener_give(ctx: *Context, listener: u64, to: u64) Err;
pub extern fn jzx_listener_address(loop: *Loop, listener: u64, text: [*]u8, size: usize) Err;

// tcp.h, unix.h
pub extern fn jzx_tcp_listen(
    ctx: *Context,
    address: [*:0]const u8,
    opts: ?*const ListenOpts,
    listener: *u64,
) Err;
pub extern fn jzx_tcp_connect(
    ctx: *Context,
    address: [*:0]const u8,
    opts: ?*const ConnectOpts,
    deadline_ns: u64,
    stream: *u64,
) Err;
pub extern fn jzx_tcp_connect_to(
    ctx: *Context,
    address: [*:0]const u8,
    opts: ?*const ConnectOpts,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_unix_listen(
    ctx: *Context,
    address: [*:0]const u8,
    opts: ?*const ListenOpts,
    listener: *u64,
) Err;
pub extern fn jzx_unix_connect(
    ctx: *Context,
    address: [*:0]const u8,
    opts: ?*const ConnectOpts,
    deadline_ns: u64,
    stream: *u64,
) Err;
pub extern fn jzx_unix_connect_to(
    ctx: *Context,
    address: [*:0]const u8,
    opts: ?*const ConnectOpts,
    tag: u32,
    op: ?*u64,
) Err;
pub extern fn jzx_unix_pair(ctx: *Context, opts: ?*const StreamOpts, pair: *[2]u64) Err;
