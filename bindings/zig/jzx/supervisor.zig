// SPDX-License-Identifier: MIT
//! Supervisors: actors that start others, and start them again when they fail. A tree is data:
//!
//!     const worker = Worker.prototype(.{ .jobs = 0 });
//!     const top = try jzx.Supervisor.spawn(loop, .{ .intensity = 5 }, &.{
//!         Worker.child(&worker, .{ .name = "worker" }),
//!     });

const std = @import("std");
const c = @import("c.zig");
const errors = @import("error.zig");
const loops = @import("loop.zig");
const actors = @import("actor.zig");
const Error = errors.Error;

/// As `Actor.child` or `supervisorChild` makes it.
pub const Child = c.ChildSpec;

/// As of include/jzx/supervisor.h; zero means the default.
pub const ChildOptions = struct {
    /// Unique among its siblings.
    name: ?[*:0]const u8 = null,
    /// Its name for `Ref.lookup`, whichever incarnation.
    registered: ?[*:0]const u8 = null,
    mode: c.ChildMode = .permanent,
    backoff: c.Backoff = .{},
    shutdown_ns: u64 = 0,
    start_ns: u64 = 0,
    mailbox_cap: u32 = 0,
    stash_cap: u32 = 0,
    on_full: c.OnFull = .refuse,
    priority: c.Priority = .default,
    worker: ?u32 = null,
    keep_mailbox: bool = false,
    significant: bool = false,
    stop_at_once: bool = false,
    stack_size_bytes: u32 = 0,
    stable_ns: u64 = 0,
    max_attempts: u32 = 0,
    jitter_percent: u32 = 0,
    /// Its failures are its own, and it is tried again with growing pauses: JZX_SERVICE.
    service: bool = false,
    /// The names of the siblings that it needs; "" is nobody: JZX_DEPENDS_MAX.
    depends_on: [8]?[*:0]const u8 = .{null} ** 8,

    pub fn spec(options: ChildOptions) Child {
        return .{
            .name = options.name,
            .registered = options.registered,
            .mode = options.mode,
            .backoff = options.backoff,
            .shutdown_ns = options.shutdown_ns,
            .start_ns = options.start_ns,
            .mailbox_cap = options.mailbox_cap,
            .stash_cap = options.stash_cap,
            .on_full = options.on_full,
            .priority = options.priority,
            .place = if (options.worker) |index| c.jzx_place_worker(index) else 0,
            .keep_mailbox = options.keep_mailbox,
            .significant = options.significant,
            .stop_at_once = options.stop_at_once,
            .stack_size_bytes = options.stack_size_bytes,
            .stable_ns = options.stable_ns,
            .max_attempts = options.max_attempts,
            .jitter_percent = options.jitter_percent,
            .service = options.service,
            .depends_on = options.depends_on,
        };
    }
};

/// `children`, `child_count` and `child_size` are set by the calls that take a slice.
pub const Options = c.SupervisorOpts;

/// The payload of `jzx.tag.child_exit` and `jzx.tag.child_restart`, which go to
/// `Options.listener`: `ctx.as(jzx.supervisor.Event)`.
pub const Event = c.ChildEvent;
pub const State = c.ChildState;

/// For `.intensity`: no limit, and none at all. For `.shutdown_ns`, too, `none` kills at once; of
/// the times, `jzx.never` is no limit.
pub const unlimited = c.unlimited;
pub const none = c.none;

/// A supervisor below another one. `below` is `treeOf(...)`, and must live until the spawn returns.
pub fn supervisorChild(below: *const Options, options: ChildOptions) Child {
    var spec = options.spec();
    spec.supervisor = below;
    return spec;
}

/// Options with children; the slice must live until the spawn returns.
pub fn treeOf(options: Options, children: []const Child) Options {
    var opts = options;
    opts.size = @sizeOf(Options);
    opts.children = children.ptr;
    opts.child_count = children.len;
    opts.child_size = @sizeOf(Child);
    return opts;
}

pub const Supervisor = struct {
    id: actors.Id,

    /// At the top of a tree: when it gives up the loop stops, and its `run` is `error.Escalated`.
    /// Names and specs are copied; the prototypes of the children must outlive the supervisor.
    pub fn spawn(where: anytype, options: Options, children: []const Child) Error!Supervisor {
        const opts = treeOf(options, children);
        var id: u64 = 0;
        try errors.check(c.jzx_spawn_supervisor(loops.rawOf(where), &opts, &id));
        return .{ .id = @enumFromInt(id) };
    }

    /// The child of that name that runs now: it has another id after each restart.
    pub fn child(
        sup: Supervisor,
        where: anytype,
        comptime Msg: type,
        name: [*:0]const u8,
    ) Error!actors.Ref(Msg) {
        var id: u64 = 0;
        try errors.check(c.jzx_supervisor_child(loops.rawOf(where), sup.raw(), name, &id));
        return .{ .id = @enumFromInt(id) };
    }

    pub fn info(sup: Supervisor, where: anytype) Error!c.SupervisorInfo {
        var it: c.SupervisorInfo = .{};
        try errors.check(c.jzx_supervisor_info_get(loops.rawOf(where), sup.raw(), &it));
        return it;
    }

    pub fn childInfo(sup: Supervisor, where: anytype, index: usize) Error!c.ChildInfo {
        var it: c.ChildInfo = .{};
        try errors.check(c.jzx_supervisor_child_info(loops.rawOf(where), sup.raw(), index, &it));
        return it;
    }

    /// `.unknown` if there is no child of that name.
    pub fn childState(sup: Supervisor, where: anytype, name: [*:0]const u8) Error!State {
        var it: State = .unknown;
        const loop = loops.rawOf(where);
        try errors.check(c.jzx_supervisor_child_state(loop, sup.raw(), name, &it));
        return it;
    }

    /// Adds and starts a child; `reply_to`, or nobody, gets one message `jzx.tag.child_added`.
    pub fn add(sup: Supervisor, where: anytype, it: Child, reply_to: actors.Id) Error!void {
        const to = @intFromEnum(reply_to);
        return errors.check(
            c.jzx_supervisor_add(loops.rawOf(where), sup.raw(), &it, @sizeOf(Child), to),
        );
    }

    pub fn remove(sup: Supervisor, where: anytype, name: [*:0]const u8) Error!void {
        return errors.check(c.jzx_supervisor_remove(loops.rawOf(where), sup.raw(), name));
    }

    /// Stops a child until `restart`.
    pub fn stopChild(sup: Supervisor, where: anytype, name: [*:0]const u8) Error!void {
        return errors.check(c.jzx_supervisor_stop_child(loops.rawOf(where), sup.raw(), name));
    }

    pub fn restart(sup: Supervisor, where: anytype, name: [*:0]const u8) Error!void {
        return errors.check(c.jzx_supervisor_restart(loops.rawOf(where), sup.raw(), name));
    }

    /// Stops its children, the last first, and then itself.
    pub fn stop(sup: Supervisor, where: anytype) Error!void {
        return errors.check(c.jzx_actor_stop(loops.rawOf(where), sup.raw(), .after_queue));
    }

    fn raw(sup: Supervisor) u64 {
        return @intFromEnum(sup.id);
    }
};
