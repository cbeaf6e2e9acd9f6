/* SPDX-License-Identifier: MIT */
/* The tick: what it measures, and what it decides by that. */
#include "sched/meter.h"

#include "sched/balance.h"
#include "sched/sched.h"

void jzx__meter_init(struct jzx__meter *meter) {
    meter->tick_every = 1;
    meter->tick_msgs = 1;
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&meter->tick_left, 1u);
}

/* ---- measuring ---- */

void jzx__meter_measure_next(struct jzx__worker *me) {
    /* relaxed, both: see the fields */
    jzx__atomic_store_relaxed(&me->tick_at_ns, jzx__clock_now(&me->sched->clock));
    jzx__atomic_store_relaxed(&me->meter.tick_left, 1u);
    me->meter.tick_msgs = 1;
    me->meter.probe_left += me->meter.probe_left == 0;
    me->meter.is_measured = true; /* not a sample of the others */
}

void jzx__meter_measure_turn(struct jzx__worker *me) {
    jzx__meter_measure_next(me);
    me->meter.tick_ramp = 1;
}

/* The worked time since the last tick. */
static uint64_t count_work(struct jzx__worker *me, uint64_t elapsed_ns) {
    uint64_t least = me->sched->clock.is_real ? 0 : me->meter.tick_msgs * (uint64_t)JZX__COUNTED_NS;
    if (elapsed_ns >= least)
        return elapsed_ns;
    me->meter.counted_ns += least - elapsed_ns;
    return least;
}

/* One worker weighs no heavy tasks, so a sample would tell it nothing; but hogs it does. */
static void probe(struct jzx__worker *me, uint32_t messages, uint64_t elapsed_ns) {
    if (me->sched->worker_count > 1 || elapsed_ns > JZX__HOG_NS)
        me->meter.probe_left = messages;
}

/* Aims at one tick per JZX__TICK_NS: halves or doubles the number of messages between two. After a
 * long one that nobody is known for the next messages are measured singly, to see whose they were;
 * now and then some in any case. */
static void adapt_tick(struct jzx__worker *me, uint64_t elapsed_ns) {
    if (elapsed_ns > 2 * JZX__TICK_NS ||
        elapsed_ns > me->meter.tick_every * (uint64_t)JZX__HEAVY_NS) {
        uint64_t wanted = me->meter.tick_every * (uint64_t)JZX__TICK_NS / elapsed_ns;
        me->meter.tick_every = wanted == 0 ? 1 : (uint32_t)wanted;
        probe(me, JZX__PROBE_MSGS, elapsed_ns);
    } else if (elapsed_ns < JZX__TICK_NS / 2 && me->meter.tick_every < JZX__TICK_MSGS_MAX) {
        me->meter.tick_every *= 2;
    }
    if (me->meter.sample_left-- == 0) {
        me->meter.sample_left = JZX__SAMPLE_TICKS;
        if (me->meter.probe_left == 0)
            probe(me, JZX__SAMPLE_MSGS, elapsed_ns);
    }
}

/* W7. The time may be the system's, which had something else to do. */
static uint64_t share_after_heavy(uint64_t turn_ns) {
    uint64_t share = JZX__HEAVY_SHARE * turn_ns;
    return share < JZX__HEAVY_WAIT_NS ? share : JZX__HEAVY_WAIT_NS;
}

/* The CPU time that a message of that length has used at least: its thread may have been preempted,
 * or have waited in a system call. Reading the clock of a thread is a system call, so only very
 * long messages do it; off_ns has the sleeps in between. All time without a CPU since the last
 * reading counts as this message's. */
static uint64_t computed_ns(const struct jzx__worker *me, uint64_t cpu_ns, uint64_t now,
                            uint64_t elapsed) {
    const struct jzx__meter *meter = &me->meter;
    if (cpu_ns < meter->cpu_ns)
        return 0; /* not of this thread: one that has ended had its thread-local there */
    uint64_t awake_ns = now - meter->cpu_at_ns - meter->off_ns;
    uint64_t used_ns = cpu_ns - meter->cpu_ns;
    return used_ns + elapsed > awake_ns ? used_ns + elapsed - awake_ns : 0;
}

static void note_cpu(struct jzx__meter *meter, uint64_t cpu_ns, uint64_t now) {
    meter->cpu_ns = cpu_ns;
    meter->cpu_at_ns = now;
    meter->off_ns = 0;
}

static bool has_computed(struct jzx__worker *me, uint64_t now, uint64_t elapsed) {
    uint64_t cpu_ns = jzx__clock_cpu(&me->sched->clock);
    bool computed = computed_ns(me, cpu_ns, now, elapsed) > JZX__HOG_NS;
    note_cpu(&me->meter, cpu_ns, now);
    return computed;
}

void jzx__meter_begin(struct jzx__worker *me, uint64_t now) {
    struct jzx__usage usage = {0};
    me->meter.cpu_of = &jzx__seat_of_thread;
    note_cpu(&me->meter, jzx__clock_cpu(&me->sched->clock), now);
    if (me->sched->worker_count == 1 && me->sched->clock.is_real)
        jzx__thread_usage(pthread_self(), jzx__thread_id(), &usage);
    me->meter.delay_ns = usage.delay_ns;
}

/* The tick that asks has read the clock. A thread that is not known to have computed was held up if
 * it has waited for a CPU for half of the time, since the last stall. */
enum jzx__stall_cause jzx__meter_cause(struct jzx__worker *me, uint64_t elapsed_ns,
                                       uint64_t *delay_ns) {
    struct jzx__usage usage;
    jzx__thread_usage(pthread_self(), jzx__thread_id(), &usage);
    *delay_ns = usage.delay_ns - me->meter.delay_ns;
    uint64_t used_ns = computed_ns(me, usage.cpu_ns, jzx__worker_last_tick(me), elapsed_ns);
    me->meter.delay_ns = usage.delay_ns;
    if (used_ns >= elapsed_ns / 2 || used_ns >= me->sched->crew.stall_after_ns / 2)
        return JZX__CAUSE_COMPUTES;
    if (*delay_ns >= elapsed_ns / 2)
        return JZX__CAUSE_HELD_UP;
    return usage.cpu_ns != 0 ? JZX__CAUSE_BLOCKED : JZX__CAUSE_UNKNOWN;
}

/* Counts long messages in a row, for the balance between workers. */
static void weigh_heat(struct jzx__worker *me, struct jzx__task *task, uint64_t most,
                       uint64_t own) {
    if (most < JZX__LIGHT_NS) {
        task->heat = 0; /* also if it crosses in every message, or it would be heavy for ever */
    } else if (own > JZX__HEAVY_NS && task->heat < JZX__HEAVY) {
        task->heat++;
        task->stays = 0; /* it was moved as one of the light ones */
        me->meter.probe_left += me->meter.probe_left == 0; /* its next message decides */
    }
}

/* Counts very long ones, for the order of turns. */
static void weigh_bulk(struct jzx__worker *me, struct jzx__task *task, uint64_t now, uint64_t most,
                       uint64_t own) {
    if (most < JZX__SMALL_NS) {
        task->bulk = 0;
    } else if (own > JZX__HOG_NS && task->bulk < JZX__HEAVY && has_computed(me, now, own)) {
        task->bulk++;
        me->meter.probe_left += me->meter.probe_left == 0;
    }
}

void jzx__meter_file(struct jzx__worker *me, struct jzx__task *task, uint64_t turn_ns) {
    bool hog = jzx__task_is_hog(task);
    bool heavy = jzx__task_is_heavy(task);
    if (task->rank != JZX__NORMAL || task->bound == JZX__BOUND_CALLER)
        return; /* it has a queue of its own */
    uint64_t after_ns =
        jzx__worker_last_tick(me) + me->meter.counted_ns + share_after_heavy(turn_ns);
    if (hog)
        me->order.hog_after_ns = after_ns;
    else if (heavy)
        me->order.heavy_after_ns = after_ns;
    jzx__task_set_rest(task, hog || heavy ? JZX__ASIDE : JZX__IDLE);
}

/* What the message that just ended says about its task, if the tick measured it alone. */
static void weigh(struct jzx__worker *me, struct jzx__task *task, uint64_t now, uint64_t elapsed) {
    uint64_t crossing = me->meter.crossed_in_tick * (uint64_t)JZX__CROSS_NS +
                        me->meter.wakes_in_tick * (uint64_t)JZX__WAKE_NS;
    uint64_t most = elapsed > crossing ? elapsed - crossing : 0;
    uint64_t own = elapsed > 2 * crossing ? elapsed - 2 * crossing : 0;
    if (me->sched->worker_count > 1)
        weigh_heat(me, task, most, own);
    weigh_bulk(me, task, now, most, own);
    if (jzx__task_is_heavy(task))
        me->balance.window.heavy_ns += elapsed;
    jzx__meter_file(me, task, now - me->meter.turn_began_ns);
}

void jzx__meter_weigh_returned(struct jzx__worker *me, const struct jzx__seat *seat) {
    /* relaxed, all: left with the worker by its thread */
    struct jzx__task *task = jzx__atomic_load_relaxed(&seat->task);
    uint64_t lost_ns = jzx__atomic_load_relaxed(&seat->lost_at_ns);
    uint64_t returned_ns = jzx__atomic_load_relaxed(&seat->returned_at_ns);
    if (returned_ns < lost_ns + JZX__HOG_NS)
        return;
    task->heat = JZX__HEAVY;
    task->stays = 0;
    if (seat->used_ns > JZX__HOG_NS)
        task->bulk = JZX__HEAVY;
    jzx__meter_file(me, task, returned_ns - lost_ns);
    jzx__meter_measure_next(me);
}

/* True if the tick can tell whose the message was, and somebody wants to know. */
static bool is_weighed(const struct jzx__worker *me, const struct jzx__task *task, bool single,
                       uint64_t elapsed) {
    return single && task != NULL &&
           (me->sched->worker_count > 1 || elapsed > JZX__SMALL_NS || task->bulk != 0);
}

/* ---- deciding ---- */

/* W4. The first tick of a turn does not know when the turn began, unless every message ticks: it
 * then counts from now, so that a turn of many short messages gets a little more than its time. */
static void watch_turn(struct jzx__worker *me, uint64_t now, uint64_t elapsed, bool every_message) {
    if (!(me->budget.flags & JZX__TURN_TICKED))
        me->meter.turn_began_ns = every_message ? now - elapsed : now;
    me->budget.flags |= JZX__TURN_TICKED;
    if (now - me->meter.turn_began_ns >= JZX__TURN_NS && jzx__worker_others_wait(me))
        jzx__worker_end_turn(me);
}

/* W4 */
static bool pass_is_over(const struct jzx__worker *me, uint64_t now) {
    if (me->meter.pass_ns >= JZX__PASS_NS || now >= me->due_ns || jzx__worker_is_wanted(me))
        return true;
    for (uint32_t bits = me->sched->pass_enders; bits != 0; bits &= bits - 1) {
        if (!jzx__feed_is_empty(&me->feeds[__builtin_ctz(bits)]))
            return true;
    }
    return false;
}

/* K8. Worked time, so that a clock that stands still does not keep I/O waiting. */
static bool poll_is_due(struct jzx__worker *me, uint64_t elapsed) {
    if (me->io_count == 0)
        return false;
    me->meter.poll_ns += elapsed;
    me->poll_due = me->poll_due || me->meter.poll_ns >= JZX__POLL_NS;
    return me->poll_due;
}

/* What a tick does about every JZX__TICK_NS, however often it comes. */
static void decide(struct jzx__worker *me, uint64_t now) {
    uint64_t elapsed = now + me->meter.counted_ns - me->meter.decided_at_ns;
    me->meter.decided_at_ns += elapsed;
    me->meter.pass_ns += elapsed;
    if (poll_is_due(me, elapsed) || pass_is_over(me, now)) {
        jzx__worker_end_turn(me); /* W4: it may have a hundred long messages before it */
        jzx__worker_end_pass(me);
    }
    jzx__order_inspect(&me->order, elapsed);
    /* relaxed: a gauge */
    jzx__atomic_store_relaxed(&me->ready_depth, jzx__order_depth(&me->order));
    if (me->sched->worker_count > 1)
        jzx__balance_tick(me, now);
}

/* Until the next tick: tick_every, or on the ramp up to it 1, 2, 4 and so on. */
static uint32_t messages_to_tick(struct jzx__worker *me) {
    uint32_t messages = me->meter.tick_ramp;
    if (messages == 0 || messages >= me->meter.tick_every) {
        me->meter.tick_ramp = 0;
        return me->meter.tick_every;
    }
    me->meter.tick_ramp *= 2;
    return messages;
}

/* A message, or a few, have taken long. */
static JZX_COLD void notice(struct jzx__worker *me, uint64_t now, uint64_t elapsed, bool single) {
    struct jzx__sched *sched = me->sched;
    struct jzx__crew *crew = &sched->crew;
    if (elapsed >= crew->stall_after_ns && sched->ops.stall_is_over != NULL)
        sched->ops.stall_is_over(me, jzx__worker_current(me), elapsed, single);
    if (sched->worker_count == 1)
        return;
    /* relaxed: a hint for the watchdog */
    jzx__atomic_store_relaxed(&crew->long_at_ns, now);
    if (jzx__sched_has_idle(sched))
        jzx__crew_hurry(crew, now);
}

void jzx__meter_tick(struct jzx__worker *me) {
    uint64_t now = jzx__clock_now(&me->sched->clock);
    uint64_t elapsed = now - jzx__worker_last_tick(me);
    bool measured = me->meter.is_measured;
    bool single = me->meter.tick_every == 1 || measured;
    struct jzx__task *task = jzx__worker_current(me);
    /* relaxed: the watchdog looks at it now and then */
    jzx__atomic_store_relaxed(&me->tick_at_ns, now);
    if (JZX_UNLIKELY(elapsed >= me->sched->crew.notice_after_ns))
        notice(me, now, elapsed, single);
    watch_turn(me, now, elapsed, single);
    me->meter.probe_left -= me->meter.probe_left != 0;
    if (is_weighed(me, task, single, elapsed))
        weigh(me, task, now, elapsed);
    /* Few messages say little about the number between ticks. */
    uint64_t worked = count_work(me, elapsed);
    if (!measured && me->meter.tick_ramp == 0)
        adapt_tick(me, worked);
    me->meter.is_measured =
        me->meter.probe_left != 0 || jzx__task_is_heavy(task) || jzx__task_is_hog(task);
    me->meter.tick_msgs = me->meter.is_measured ? 1u : messages_to_tick(me);
    /* relaxed: see the field */
    jzx__atomic_store_relaxed(&me->meter.tick_left, me->meter.tick_msgs);
    if (!measured || now + me->meter.counted_ns - me->meter.decided_at_ns >= JZX__TICK_NS)
        decide(me, now);
    me->meter.crossed_in_tick = 0;
    me->meter.wakes_in_tick = 0;
}
