/* SPDX-License-Identifier: MIT */
/* The life of a loop: create, run or step, stop, destroy.
 *
 * L1  a loop is driven by one thread at a time; `driven` says so, and run inside run is refused.
 *     While nobody drives it, any number of threads may look at what it has.
 * L2  once stop is set it stays set: every actor ends, and nothing is accepted any more.
 * L3  at destroy the books balance: accepted = handled + dead. */
#include "loop/loop.h"
#include "actor/contain.h"
#include "actor/control.h"
#include "actor/exit.h"
#include "actor/kind.h"
#include "actor/mailbox.h"
#include "actor/owned.h"
#include "actor/part.h"
#include "actor/turn.h"
#include "base/alloc.h"
#include "base/leak.h"
#include "base/sized.h"
#include "fiber/deadlock.h"
#include "io/io.h"
#include "loop/config.h"
#include "loop/stop.h"
#include "op/op.h"
#include "sched/balance.h"
#include "sched/crew.h"
#include "sched/fork.h"
#include "sched/idle.h"
#include "sched/report.h"
#include "schedule/make.h"
#include "schedule/owner.h"
#include "super/super.h"
#include "timer/timer.h"
#include "typed/manual.h"

#include <string.h>

/* ---- functions for the loop's thread ---- */

struct call {
    struct jzx__mpsc_node node;
    jzx_call_fn fn;
    void *ctx;
};

#define CALL_CLASS 0u
_Static_assert(sizeof(struct call) <= JZX__BLOCK_SIZE_MIN, "fits its class");

static void uncount_call(struct jzx_loop *loop) {
    /* relaxed: a number, which guards nothing. It wraps, and so is one less */
    jzx__atomic_add_relaxed(&loop->calls, UINT32_MAX);
}

/* One more waits, unless as many do as may. */
static bool count_call(struct jzx_loop *loop) {
    /* relaxed: as above */
    uint32_t before = jzx__atomic_add_relaxed(&loop->calls, 1u);
    if (before < loop->calls_max)
        return true;
    uncount_call(loop);
    return false;
}

jzx_err jzx_loop_call(jzx_loop *loop, jzx_call_fn fn, void *ctx) {
    if (loop == NULL || fn == NULL)
        return JZX_ERR_INVALID_ARG;
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    if (!count_call(loop))
        return JZX_ERR_FULL;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct call *call = jzx__sched_alloc(&loop->sched, me, CALL_CLASS);
    if (call != NULL) {
        call->fn = fn;
        call->ctx = ctx;
        jzx__worker_bring(loop->sched.workers[0], JZX__FEED_CALLS, &call->node);
    } else {
        uncount_call(loop);
    }
    jzx__visit_end(&visit);
    return call == NULL ? JZX_ERR_NO_MEMORY : JZX_OK;
}

/* Makes all calls that are waiting now; those that they add come at the next pass. */
static void take_calls(struct jzx__worker *me, uint32_t max) {
    (void)max;
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__mpsc_node *node = jzx__mpsc_take_all(jzx__worker_queue(me, JZX__FEED_CALLS));
    while (node != NULL) {
        struct call call = *JZX_CONTAINER_OF(node, struct call, node);
        jzx__slab_free(&me->slab, CALL_CLASS, node);
        node = call.node.next;
        uncount_call(loop);
        jzx__counter_add(&me->counters.calls, 1);
        call.fn(loop, call.ctx);
    }
}

static const struct jzx__feed_ops calls_ops = {.take = take_calls, .keeps_run = true};

/* ---- create ---- */

static void free_slot(struct jzx__worker *worker, struct jzx__task *task) {
    struct jzx_loop *loop = jzx__loop_of(worker);
    jzx__table_release(&loop->table, jzx__slots_of(worker), jzx__actor_of(task));
}

static const struct jzx__task_ops actor_ops = {
    .run_ready = jzx__actor_run_ready,
    .free_slot = free_slot,
    .begin_stop = jzx__loop_begin_stop,
    .go_on_stopping = jzx__loop_go_on_stopping,
    .ask_to_end = jzx__loop_ask_to_end,
    .run_timers = jzx__timers_run,
    .next_due = jzx__timers_next,
    .take_back = jzx__actor_take_back,
    .wait = jzx__io_wait,
    .poll = jzx__io_poll,
    .settle = jzx__io_settle,
    .tell_stall = jzx__loop_tell_stall,
    .tell_limit = jzx__loop_tell_limit,
    .worker_size = sizeof(struct jzx__actor_worker),
    .faults = &jzx__contain_ops,
    .stall_is_over = jzx__report_tick,
    .feeds = {[JZX__FEED_RETURNS] = &jzx__crew_returns,
              [JZX__FEED_CALLS] = &calls_ops,
              [JZX__FEED_TIMER_MAIL] = &jzx__timer_mail,
              [JZX__FEED_OP_MAIL] = &jzx__op_mail,
              [JZX__FEED_SCHEDULE] = &jzx__schedule_pokes,
              [JZX__FEED_PROBES] = &jzx__deadlock_probes,
              [JZX__FEED_MANUAL] = &jzx__manual_feed},
};

static void wake_all(struct jzx__clock_user *user) {
    jzx__sched_wake_all(JZX_CONTAINER_OF(user, struct jzx__sched, clock_user));
}

static void join_clock(struct jzx__sched *sched) {
    sched->clock_user.wake = wake_all;
    if (sched->shared_clock != NULL)
        jzx__clock_join(&sched->clock, sched->shared_clock, &sched->clock_user);
}

static void leave_clock(struct jzx__sched *sched) {
    if (sched->shared_clock != NULL)
        jzx__clock_leave(sched->shared_clock, &sched->clock_user);
}

static void deinit_table(struct jzx_loop *loop) {
    for (uint32_t i = 0; i < loop->sched.worker_count; i++)
        jzx__slot_cache_deinit(jzx__slots_of(loop->sched.workers[i]), &loop->table);
    jzx__leak_check("the table of actors", sizeof(struct jzx__actor),
                    jzx__table_in_use(&loop->table));
    jzx__table_deinit(&loop->table);
}

/* All but the memory of the loop itself. False without memory, or if faults cannot be contained:
 * then nothing is left behind. */
static bool open_loop(struct jzx_loop *loop, const jzx_config *config) {
    jzx__message_settle(loop, config);
    loop->part_ops = jzx__part_table;
    loop->kinds = jzx__kinds;
    loop->default_mailbox_cap = config->default_mailbox_cap;
    loop->default_heap_quota = config->default_heap_quota;
    loop->calls_max = config->max_calls;
    loop->on_wait = config->on_wait;
    loop->on_stall = config->on_stall;
    if (!jzx__sched_init(&loop->sched, config, &actor_ops))
        return false;
    join_clock(&loop->sched);
    jzx__lines_init(&loop->lines, &loop->sched);
    jzx__urgents_init(&loop->urgents, config->urgent_cap);
    jzx__table_init(&loop->table, config->max_actors, &loop->sched.allocator);
    for (uint32_t i = 0; i < config->workers; i++)
        jzx__slot_cache_init(jzx__slots_of(loop->sched.workers[i]), &loop->table, config->workers);
    if (!jzx__owned_open(loop, config))
        goto not_tracked;
    if (!jzx__parts_open(loop, config))
        goto no_parts;
    if (!jzx__contain_open(loop))
        goto not_contained;
    return true;
not_contained:
    jzx__parts_close(loop);
no_parts:
    jzx__owned_close(loop);
not_tracked:
    deinit_table(loop);
    jzx__lines_deinit(&loop->lines);
    jzx__urgents_deinit(&loop->urgents);
    leave_clock(&loop->sched);
    jzx__sched_deinit(&loop->sched);
    return false;
}

jzx_loop *jzx_loop_create(const jzx_config *config) {
    if (jzx_config_check(config, NULL) != JZX_OK)
        return NULL;
    jzx_config filled = JZX_CONFIG();
    if (config != NULL)
        (void)jzx__read_sized(&filled, sizeof filled, config); /* as the check has found */
    jzx__config_settle(&filled);
    struct jzx_loop *loop =
        jzx__alloc_aligned(&filled.allocator, sizeof *loop, _Alignof(struct jzx_loop));
    if (loop == NULL)
        return NULL;
    memset(loop, 0, sizeof *loop);
    jzx__fork_watch();
    loop->forks = jzx__fork_count();
    if (open_loop(loop, &filled))
        return loop;
    jzx__free_aligned(&filled.allocator, loop, sizeof *loop, _Alignof(struct jzx_loop));
    return NULL;
}

uint32_t jzx_loop_workers(const jzx_loop *loop) {
    return loop == NULL ? 0 : loop->sched.worker_count;
}

/* ---- ending everything ---- */

/* True for an actor of the worker that has ended but for its parts (part/A3). */
static bool waits_for_parts(struct jzx__worker *me, struct jzx__actor *actor) {
    /* relaxed: no other thread drives a worker; the place of a slot of mine is mine */
    uintptr_t owner = jzx__atomic_load_relaxed(&actor->task.owner);
    return owner == (jzx__worker_word(me) | JZX__OWNER_FLAGS) && actor->task.place == JZX__ENDING;
}

/* The loop's end is one more request for an actor that others may have wanted to end before. */
static jzx_exit_reason reason_of_end(struct jzx__actor *actor) {
    /* acquire: pairs with the exchange that set a bit */
    uint64_t state = jzx__atomic_load_acquire(&actor->task.state);
    return jzx__control_reason(state | JZX__WANT_SHUTDOWN);
}

/* Every actor that the worker owns. It must be in this thread's seat. */
static void end_all_actors(struct jzx_loop *loop, struct jzx__worker *me) {
    /* acquire: pairs with the release in mint */
    uint32_t minted = jzx__atomic_load_acquire(&loop->table.minted);
    for (uint32_t i = 0; i < minted; i++) {
        struct jzx__actor *actor = jzx__table_slot(&loop->table, i);
        if (jzx__worker_owns(me, &actor->task)) {
            jzx__worker_unqueue(me, &actor->task);
            actor->task.place = JZX__RUNNING;
            jzx_exit_reason reason = reason_of_end(actor);
            jzx__actor_end(me, actor, reason,
                           reason == JZX_EXIT_SHUTDOWN ? JZX_SHUTDOWN_TEXT : NULL);
        }
        /* Looked at only if there is one: others may fill a free slot now. */
        if (jzx__actor_worker_of(me)->endings != 0 && waits_for_parts(me, actor))
            jzx__actor_abort(me, actor);
    }
}

static void emit_loop(struct jzx_loop *loop, jzx_event_kind kind) {
    jzx_event event = {.kind = kind};
    jzx__loop_emit(loop, &event);
}

/* The start event, before any other event. */
static void announce_loop(struct jzx_loop *loop) {
    if (!loop->started)
        emit_loop(loop, JZX_EVENT_LOOP_START);
    loop->started = true;
}

/* Takes in whatever others have left for a worker, and ends all that it has. True if there was
 * something. */
static bool end_worker(struct jzx_loop *loop, struct jzx__worker *me) {
    bool had_work = jzx__worker_has_work(me);
    jzx__worker_take_in_own(me, UINT32_MAX);
    while (jzx__balance_find_work(me))
        had_work = true;
    jzx__worker_take_in_above(me, UINT32_MAX);
    end_all_actors(loop, me);
    return had_work;
}

/* After stop is set and all threads have ended: makes the waiting calls, then ends every actor,
 * whoever owned it. What the end of one sends to another worker needs one more round. */
static void end_all(struct jzx_loop *loop, struct jzx__seat *seat) {
    announce_loop(loop);
    bool again = true;
    for (uint32_t round = 0; again; round++) {
        again = round == 0;
        for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
            struct jzx__worker *worker = loop->sched.workers[i];
            jzx__crew_sit(seat, worker, true);
            again |= end_worker(loop, worker);
            again |= jzx__worker_has_work(worker);
            jzx__crew_rise(seat, worker);
        }
    }
    jzx__crew_sit(seat, loop->sched.workers[0], true);
    if (!loop->ended) {
        jzx__scheduler_end(loop, loop->sched.workers[0]);
        jzx__loop_tell_left(loop);
        emit_loop(loop, JZX_EVENT_LOOP_STOP);
    }
    loop->ended = true;
}

/* ---- run and step ---- */

static uint32_t holds_of(const struct jzx_loop *loop) {
    /* acquire: pairs with the exchange in release: what its thread sent before is visible */
    return jzx__atomic_load_acquire(&loop->sched.holds);
}

static bool has_untaken(const struct jzx_loop *loop) {
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        if (jzx__worker_has_untaken(loop->sched.workers[i]))
            return true;
    }
    return jzx__global_count(&loop->sched.global) != 0;
}

bool jzx_loop_alive(const jzx_loop *loop) {
    return loop != NULL && !loop->ended &&
           (jzx__sched_is_stopped(&loop->sched) || holds_of(loop) != 0 ||
            jzx__sched_live(&loop->sched) != 0 || has_untaken(loop));
}

/* Loops that are being driven on this thread, each inside a handler of another. */
static _Thread_local uint32_t driven_here;

static jzx_err begin_as(jzx_loop *loop, struct jzx__drive *drive,
                        bool (*enter)(struct jzx_loop *loop, struct jzx__drive *drive)) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    if (loop->forks != jzx__fork_count())
        return JZX_ERR_INVALID_STATE;
    if (!enter(loop, drive))
        return JZX_ERR_BUSY;
    jzx_err err = drive->nested                    ? JZX_ERR_BUSY
                  : driven_here == JZX_NESTING_MAX ? JZX_ERR_FULL
                  : loop->ended                    ? JZX_ERR_LOOP_CLOSED
                                                   : JZX_OK;
    if (err == JZX_ERR_LOOP_CLOSED && has_untaken(loop))
        end_all(loop, drive->seat); /* a call of another thread that had begun before the end */
    if (err != JZX_OK) {
        jzx__loop_leave(loop, drive);
        return err;
    }
    driven_here++;
    jzx__parker_cancel(&drive->me->parker);
    jzx__worker_resume(drive->me);
    jzx__timers_take_mail(drive->me, UINT32_MAX);
    announce_loop(loop);
    return JZX_OK;
}

static jzx_err begin(jzx_loop *loop, struct jzx__drive *drive) {
    return begin_as(loop, drive, jzx__loop_enter);
}

static void finish(struct jzx_loop *loop, struct jzx__drive *drive) {
    struct jzx__worker *me = drive->me;
    bool stops = jzx__sched_stop_state(&loop->sched) != JZX__OPEN;
    if (stops && jzx__sched_live(&loop->sched) == 0)
        jzx__sched_close(&loop->sched); /* the gentle stop has come to its end */
    if (jzx__sched_is_stopped(&loop->sched))
        end_all(loop, drive->seat);
    if (loop->ended)
        jzx__worker_hush_fd(me); /* nothing will ever come again */
    else if (loop->sched.worker_count == 1)
        jzx__worker_settle_fd(me);
    driven_here--;
    jzx__loop_leave(loop, drive);
}

/* After a run: frees what was cancelled on other threads, whose workers did not look any more. */
static void settle_timers(struct jzx_loop *loop, struct jzx__seat *seat) {
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        jzx__crew_sit(seat, loop->sched.workers[i], true);
        jzx__timers_take_mail(loop->sched.workers[i], UINT32_MAX);
        jzx__crew_rise(seat, loop->sched.workers[i]);
    }
}

/* True if a supervisor at the top has given up, and so stopped the loop. */
static bool was_escalated(const struct jzx_loop *loop) {
    /* relaxed: written before the stop, which was seen */
    return jzx__atomic_load_relaxed(&jzx__supers_of(loop)->escalated) != 0;
}

jzx_err jzx_loop_run(jzx_loop *loop) {
    struct jzx__drive drive;
    jzx_err err = begin(loop, &drive);
    if (err != JZX_OK)
        return err;
    jzx__loop_take_in_all(loop, drive.seat); /* what was made before begins on worker 0 */
    jzx__crew_rise(drive.seat, drive.me);
    /* relaxed: set before its threads start, cleared after they have ended */
    jzx__atomic_store_relaxed(&loop->running, 1u);
    bool ran = jzx__crew_run(&loop->sched);
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&loop->running, 0u);
    settle_timers(loop, drive.seat);
    jzx__crew_sit(drive.seat, drive.me, true);
    finish(loop, &drive);
    if (was_escalated(loop))
        return JZX_ERR_ESCALATED;
    return ran ? JZX_OK : JZX_ERR_NO_MEMORY;
}

jzx_err jzx_loop_step(jzx_loop *loop, uint64_t deadline_ns) {
    struct jzx__drive drive;
    if (loop != NULL && loop->sched.worker_count != 1)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = begin(loop, &drive);
    if (err != JZX_OK)
        return err;
    struct jzx__worker *me = drive.me;
    me->poll_due = me->poll_due || jzx__io_may_be_ready(me);
    jzx__crew_open(&loop->sched);
    /* With a deadline the clock is looked at after each turn. */
    uint32_t turns_max = deadline_ns == JZX_NEVER ? me->sched->turns_per_pass : 1;
    while (!jzx__sched_is_stopped(&loop->sched) &&
           (jzx__worker_has_work(me) || jzx__worker_is_due(me) || me->poll_due ||
            jzx__global_count(&loop->sched.global) != 0 || jzx__loop_has_stop_to_do(loop))) {
        jzx__crew_round(me, turns_max);
        if (deadline_ns != JZX_NEVER && jzx_loop_now(loop) >= deadline_ns)
            break;
    }
    finish(loop, &drive);
    return was_escalated(loop) ? JZX_ERR_ESCALATED : JZX_OK;
}

/* The worker is this thread's. */
static void run_task_of(struct jzx__worker *me, struct jzx__task *task) {
    jzx__worker_drain_inject(me, UINT32_MAX);
    jzx__timers_take_mail(me, UINT32_MAX);
    if (jzx__worker_is_due(me))
        jzx__timers_run(me);
    jzx__manual_take(me, UINT32_MAX);
    if (jzx__worker_owns(me, task) && task->place > JZX__OFFERED)
        jzx__actor_run_alone(me, task);
}

jzx_err jzx__loop_run_alone(jzx_loop *loop, struct jzx__worker *worker, struct jzx__task *task) {
    struct jzx__drive drive;
    jzx_err err = begin_as(loop, &drive, jzx__loop_enter_briefly);
    if (err != JZX_OK)
        return err;
    if (!jzx__sched_is_stopped(&loop->sched)) {
        jzx__crew_rise(drive.seat, drive.me);
        jzx__crew_sit(drive.seat, worker, true);
        run_task_of(worker, task);
        jzx__crew_rise(drive.seat, worker);
        jzx__crew_sit(drive.seat, drive.me, true);
    }
    finish(loop, &drive);
    return JZX_OK;
}

/* ---- for the host ---- */

int jzx_loop_fd(jzx_loop *loop) {
    if (loop == NULL || loop->sched.worker_count != 1)
        return JZX_ERR_INVALID_ARG;
    struct jzx__drive drive;
    if (!jzx__loop_enter(loop, &drive))
        return JZX_ERR_BUSY;
    int fd = jzx__io_fd(drive.me);
    if (fd >= 0 && !drive.nested && !loop->ended)
        jzx__worker_settle_fd(drive.me);
    jzx__loop_leave(loop, &drive);
    return fd >= 0 ? fd : (int)JZX_ERR_IO_REG_FAILED;
}

uint64_t jzx_loop_next_deadline(const jzx_loop *loop) {
    if (loop == NULL || loop->ended)
        return JZX_NEVER;
    if (jzx__sched_is_stopped(&loop->sched) || jzx__global_count(&loop->sched.global) != 0 ||
        jzx__loop_has_stop_to_do(loop))
        return 0;
    /* relaxed: the deadline of the gentle stop, if there is one */
    uint64_t next = jzx__atomic_load_relaxed(&loop->sched.stop_deadline_ns);
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        struct jzx__worker *worker = loop->sched.workers[i];
        uint64_t due_ns = jzx__timers_next(worker);
        if (jzx__worker_has_work(worker) || worker->poll_due ||
            (due_ns != JZX_NEVER && due_ns <= jzx_loop_now(loop)))
            return 0;
        if (due_ns < next)
            next = due_ns;
    }
    return next;
}

uint64_t jzx_loop_now(const jzx_loop *loop) {
    return loop == NULL ? 0 : jzx__clock_now(&loop->sched.clock);
}

jzx_err jzx_loop_hold(jzx_loop *loop) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    if (jzx__sched_stop_state(&loop->sched) != JZX__OPEN)
        return JZX_ERR_LOOP_CLOSED;
    /* relaxed: the holder was sure of the loop before, and only release passes something on */
    jzx__atomic_add_relaxed(&loop->sched.holds, 1u);
    return JZX_OK;
}

jzx_err jzx_loop_release(jzx_loop *loop) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    /* relaxed: a first guess for the exchange below */
    uint32_t holds = jzx__atomic_load_relaxed(&loop->sched.holds);
    do {
        if (holds == 0)
            return JZX_ERR_INVALID_ARG;
        /* seq_cst: pairs with the load in park and settle, before which sleep was announced */
    } while (!jzx__atomic_cas_seq_cst(&loop->sched.holds, &holds, holds - 1));
    jzx__parker_wake(&loop->sched.workers[0]->parker);
    return JZX_OK;
}

jzx_err jzx_loop_request_stop(jzx_loop *loop) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__sched_close(&loop->sched);
    return JZX_OK;
}

/* ---- destroy ---- */

static void assert_books(const struct jzx_loop *loop) {
    jzx_stats stats = {.size = sizeof stats};
    jzx_err err = jzx_loop_stats(loop, &stats);
    JZX_ASSERT(err == JZX_OK);
    JZX_ASSERT(stats.accepted == stats.handled + stats.dead); /* L3 */
    JZX_ASSERT(stats.spawned == stats.exited);
    JZX_ASSERT(stats.timers_set == stats.timers_ended);
}

jzx_err jzx_loop_destroy(jzx_loop *loop) {
    if (loop == NULL)
        return JZX_OK;
    struct jzx__drive drive;
    if (loop->forks != jzx__fork_count())
        return JZX_ERR_INVALID_STATE;
    if (!jzx__loop_enter(loop, &drive))
        return JZX_ERR_BUSY;
    if (drive.nested) {
        jzx__loop_leave(loop, &drive);
        return JZX_ERR_BUSY;
    }
    /* relaxed: no other thread may use the loop any more */
    jzx__atomic_store_relaxed(&loop->sched.stop, (uint32_t)JZX__STOPPED);
    jzx__parts_halt(loop, drive.me);
    end_all(loop, drive.seat);
    assert_books(loop);
    jzx__owned_settle(loop, drive.me);
    jzx__loop_leave(loop, &drive);
    jzx_allocator allocator = loop->sched.allocator;
    jzx__contain_close(loop);
    jzx__parts_close(loop);
    deinit_table(loop);
    jzx__lines_deinit(&loop->lines);
    jzx__urgents_deinit(&loop->urgents);
    jzx__owned_close(loop);
    leave_clock(&loop->sched);
    jzx__sched_deinit(&loop->sched);
    jzx__free_aligned(&allocator, loop, sizeof *loop, _Alignof(struct jzx_loop));
    return JZX_OK;
}
