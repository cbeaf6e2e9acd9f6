/* SPDX-License-Identifier: MIT */
/* The lock, the looks of worker 0, and its alarm. */
#include "schedule/owner.h"

#include "schedule/core/admit.h"
#include "schedule/core/life.h"
#include "schedule/core/pressure.h"
#include "schedule/core/rate.h"
#include "schedule/core/run.h"
#include "schedule/driver.h"
#include "schedule/item.h"
#include "schedule/runner.h"
#include "timer/timer.h"

#include "jzx/time.h"

/* Events that are shown to the observer between two looks at the ring. */
#define SHOWN_AT_ONCE 16u

/* ---- the lock ---- */

/* Each thread has another one: its address names the thread. */
static _Thread_local char thread_mark;

static uintptr_t this_thread(void) {
    return (uintptr_t)&thread_mark;
}

static void become_owner(struct jzx__scheduler *scheduler, struct jzx__worker *me) {
    /* relaxed: of interest to this thread alone */
    jzx__atomic_store_relaxed(&scheduler->holder, this_thread());
    scheduler->me = me;
}

bool jzx__owner_acquire(struct jzx__scheduler *scheduler, struct jzx__worker *me) {
    /* relaxed: equal only if this thread has written it */
    if (jzx__atomic_load_relaxed(&scheduler->holder) == this_thread())
        return false;
    jzx__lock_acquire(&scheduler->lock);
    become_owner(scheduler, me);
    return true;
}

bool jzx__owner_try_acquire(struct jzx__scheduler *scheduler, struct jzx__worker *me) {
    if (!jzx__lock_try_acquire(&scheduler->lock))
        return false;
    become_owner(scheduler, me);
    return true;
}

static void unlock(struct jzx__scheduler *scheduler) {
    scheduler->me = NULL;
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&scheduler->holder, (uintptr_t)0);
    jzx__lock_release(&scheduler->lock);
}

/* ---- the event stream ---- */

void jzx__owner_emit(void *ctx, const struct jzx__schedule_event *event) {
    struct jzx__scheduler *scheduler = ctx;
    struct jzx__schedule_stream *stream = &scheduler->stream;
    if (!jzx__observer_is_set(&scheduler->loop->observer))
        return;
    stream->events[(stream->first + stream->count) % JZX__STREAM_MAX] = *event;
    if (stream->count < JZX__STREAM_MAX) {
        stream->count++;
        return;
    }
    stream->first = (stream->first + 1) % JZX__STREAM_MAX; /* the newest are kept */
    stream->lost++;
}

struct jzx_schedule_event jzx__schedule_event_show(const struct jzx__schedule_event *event) {
    return (struct jzx_schedule_event){
        .kind = (jzx_schedule_event_kind)event->kind,
        .priority = (jzx_job_priority)event->priority,
        .state = event->state,
        .reason = event->reason,
        .is_engaged = event->is_engaged,
        .error = event->error,
        .job = event->job,
        .tick = event->tick,
        .value = event->value,
        .capacity = event->capacity,
        .batch = {event->batch.runs, event->batch.missed_runs, (jzx_job_mode)event->batch.mode}};
}

/* Takes some of what waits for the observer; how many. Owner. */
static uint32_t take_events(struct jzx__scheduler *scheduler, struct jzx__schedule_event *events) {
    struct jzx__schedule_stream *stream = &scheduler->stream;
    uint32_t count = 0;
    if (stream->lost > 0) {
        events[count++] = (struct jzx__schedule_event){.kind = JZX__EVENT_DIAGNOSTICS_DROPPED,
                                                       .tick = scheduler->core.tick,
                                                       .value = stream->lost,
                                                       .capacity = JZX__STREAM_MAX};
        scheduler->core.events.dropped_total += stream->lost;
        stream->lost = 0;
    }
    for (; count < SHOWN_AT_ONCE && stream->count > 0; count++, stream->count--) {
        events[count] = stream->events[stream->first];
        stream->first = (stream->first + 1) % JZX__STREAM_MAX;
    }
    return count;
}

/* Observers run on workers, without the lock (Q1): what other threads leave is for worker 0. */
static void tell(struct jzx__scheduler *scheduler, struct jzx__worker *me) {
    struct jzx__schedule_event events[SHOWN_AT_ONCE];
    uint32_t count = 0;
    if (me == NULL) {
        jzx__owner_poke(scheduler);
        return;
    }
    do {
        if (!jzx__owner_acquire(scheduler, me))
            return;
        count = take_events(scheduler, events);
        unlock(scheduler);
        for (uint32_t i = 0; i < count; i++) {
            struct jzx_schedule_event shown = jzx__schedule_event_show(&events[i]);
            jzx_event event = {.kind = JZX_EVENT_SCHEDULE, .schedule = &shown};
            jzx__loop_emit(scheduler->loop, &event);
        }
    } while (count > 0);
}

/* ---- the alarm ---- */

void jzx__owner_disarm(struct jzx__scheduler *scheduler) {
    if (!scheduler->is_alarm_set)
        return;
    (void)jzx__waiter_withdraw(&scheduler->alarm, JZX__CAUSE_CANCELLED);
    (void)jzx__waiter_end(&scheduler->alarm);
    scheduler->is_alarm_set = false;
}

static void arm(struct jzx__scheduler *scheduler, struct jzx__worker *me, uint64_t due_ns) {
    jzx__owner_disarm(scheduler);
    if (due_ns == JZX_NEVER)
        return;
    struct jzx__wait_what what = {.kind = "schedule"};
    (void)jzx__waiter_begin(&scheduler->alarm, what);
    jzx__timers_set_deadline(me, &scheduler->alarm, due_ns);
    (void)jzx__waiter_arm(&scheduler->alarm);
    scheduler->is_alarm_set = true;
}

static bool is_worker_0(const struct jzx__scheduler *scheduler, const struct jzx__worker *me) {
    return me != NULL && me == scheduler->loop->sched.workers[0];
}

void jzx__owner_poke(struct jzx__scheduler *scheduler) {
    /* pairs with the exchanges in take_pokes and end_looks: they see what was done before */
    if (jzx__atomic_exchange_acq_rel(&scheduler->poked, 1u) == 0)
        (void)jzx__worker_bring(scheduler->loop->sched.workers[0], JZX__FEED_SCHEDULE,
                                &scheduler->poke);
}

void jzx__owner_hand_over(struct jzx__scheduler *scheduler, struct jzx__worker *me) {
    jzx__owner_poke(scheduler);
    if (!jzx__schedule_is_closed(&scheduler->core) || !jzx__owner_acquire(scheduler, me))
        return;
    jzx__schedule_take_in(&scheduler->core);
    jzx__owner_release(scheduler, JZX_NEVER);
}

void jzx__owner_end_looks(struct jzx__scheduler *scheduler) {
    /* pairs with the exchange in poke: what was left before it is seen below, and a thread that
     * pokes later sees that the scheduler is closed */
    (void)jzx__atomic_exchange_acq_rel(&scheduler->poked, 1u);
    jzx__schedule_take_in(&scheduler->core);
}

void jzx__owner_release(struct jzx__scheduler *scheduler, uint64_t due_ns) {
    struct jzx__worker *me = scheduler->me;
    /* relaxed: changes under the lock */
    bool is_sooner = due_ns < jzx__atomic_load_relaxed(&scheduler->armed_ns);
    bool is_mine = is_sooner && is_worker_0(scheduler, me);
    if (is_mine) {
        /* relaxed: as above */
        jzx__atomic_store_relaxed(&scheduler->armed_ns, due_ns);
    }
    bool has_news = scheduler->stream.count > 0;
    struct jzx__schedule_item *woken = jzx__items_take_woken(scheduler);
    unlock(scheduler);
    if (is_mine)
        arm(scheduler, me, due_ns);
    else if (is_sooner)
        jzx__owner_poke(scheduler);
    jzx__items_ring(woken, me);
    if (has_news)
        tell(scheduler, me);
}

/* ---- what is due ---- */

uint64_t jzx__owner_due_of(struct jzx__scheduler *scheduler, jzx__job_id id) {
    struct jzx__schedule *core = &scheduler->core;
    uintptr_t generation = 0;
    if (scheduler->is_automatic && core->phase == JZX__PHASE_ACTIVE &&
        jzx__pressure_needs_ticks(core))
        return jzx__schedule_tick_ns(core, core->tick + 1);
    const struct jzx__job *job = jzx__job_table_find(&core->table, id, &generation);
    if (job == NULL || job->where == JZX__WHERE_NOWHERE)
        return JZX_NEVER;
    if (scheduler->is_automatic)
        return jzx__schedule_tick_ns(core, job->where == JZX__WHERE_TIMER ? job->entry.tick
                                                                          : job->deadline);
    if (!scheduler->was_idle)
        return JZX_NEVER;
    scheduler->was_idle = false;
    return jzx__driver_next_look(scheduler);
}

/* Owner. When worker 0 has something to do again. */
static uint64_t next_due(struct jzx__scheduler *scheduler) {
    struct jzx__schedule *core = &scheduler->core;
    if (core->phase != JZX__PHASE_ACTIVE)
        return JZX_NEVER;
    uint64_t next = jzx__schedule_next_tick(core);
    scheduler->was_idle = next == UINT64_MAX && core->runner.owed == 0;
    /* relaxed: a hint for the driver's thread, which looks again at its next tick */
    jzx__atomic_store_relaxed(&scheduler->wants_ticks, scheduler->was_idle ? 0u : 1u);
    if (core->runner.owed > 0) {
        /* At its next look, after others had a turn: the wheel counts whole milliseconds. */
        uint64_t now_ns = jzx__clock_now(&scheduler->loop->sched.clock);
        return now_ns - now_ns % JZX__TIMER_TICK_NS;
    }
    if (scheduler->is_automatic)
        return next == UINT64_MAX ? JZX_NEVER : jzx__schedule_tick_ns(core, next);
    /* relaxed: a gauge; a job that was delivered needs ticks for its next run */
    scheduler->was_idle &= jzx__atomic_load_relaxed(&core->active) == 0;
    return scheduler->was_idle ? JZX_NEVER : jzx__driver_next_look(scheduler);
}

/* ---- looks ---- */

void jzx__owner_look(struct jzx__scheduler *scheduler, struct jzx__worker *me) {
    uint64_t due_ns = JZX_NEVER;
    if (!jzx__owner_acquire(scheduler, me))
        return;
    if (!jzx__sched_is_stopped(&scheduler->loop->sched)) {
        jzx__driver_run(scheduler);
        due_ns = next_due(scheduler);
    }
    bool needs_runner = scheduler->needs_runner;
    scheduler->needs_runner = false;
    /* relaxed: changes under the lock (Q2) */
    jzx__atomic_store_relaxed(&scheduler->armed_ns, due_ns);
    bool has_news = scheduler->stream.count > 0;
    struct jzx__schedule_item *woken = jzx__items_take_woken(scheduler);
    unlock(scheduler);
    arm(scheduler, me, due_ns);
    jzx__items_ring(woken, me);
    if (needs_runner)
        jzx__runners_mend(scheduler);
    if (has_news)
        tell(scheduler, me); /* last: observers may schedule, and set the alarm anew */
}

void jzx__owner_ring(void *who, struct jzx__worker *me) {
    struct jzx__scheduler *scheduler = who;
    (void)jzx__waiter_end(&scheduler->alarm);
    scheduler->is_alarm_set = false;
    jzx__owner_look(scheduler, me);
}

static void take_pokes(struct jzx__worker *me, uint32_t max) {
    (void)max;
    (void)jzx__mpsc_take_all(jzx__worker_queue(me, JZX__FEED_SCHEDULE)); /* one node */
    struct jzx__scheduler *scheduler = jzx__scheduler_of(jzx__loop_of(me));
    /* pairs with the exchange in poke: from here on the node may come again */
    (void)jzx__atomic_exchange_acq_rel(&scheduler->poked, 0u);
    jzx__owner_look(scheduler, me);
}

const struct jzx__feed_ops jzx__schedule_pokes = {.take = take_pokes, .ends_pass = true};
