/* SPDX-License-Identifier: MIT */
/* How the watchdog notices, reports and relieves.
 *
 * A worker writes the time of its last tick down, and ticks after every message once the watchdog
 * has asked for it. So a tick that is half of stall_after old is asked for, and one that is
 * stall_after old belongs to a message that has run for at least half of that time, and most
 * likely for all of it. */
#include "sched/watchdog.h"

#include "base/assert.h"
#include "base/thread.h"
#include "sched/backtrace.h"
#include "sched/relief.h"
#include "sched/report.h"

#include "jzx/time.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static uint64_t tick_of(const struct jzx__worker *worker) {
    /* relaxed: what is missed now is seen at the next look */
    return jzx__atomic_load_relaxed(&worker->tick_at_ns);
}

/* ---- handing over ---- */

/* Until when the turn took that was seen at the tick, or 0 if it goes on. The worker is ours. */
static uint64_t end_of_seen(struct jzx__sched *sched, struct jzx__worker *worker,
                            struct jzx__seat *seat, const struct jzx__stall *seen, uint64_t tick) {
    if (tick_of(worker) != tick)
        return tick_of(worker);
    /* relaxed: the thread wrote it before it left */
    if (jzx__atomic_load_relaxed(&seat->task) != NULL) {
        struct jzx__stall now = jzx__stall_of(seat, 0);
        if (jzx__stall_is_same(&now, seen))
            return 0;
    }
    return jzx__clock_now(&sched->clock); /* it ended without a tick, see look_at */
}

/* What a look at a worker has found: a turn that had not gone on since the tick. */
struct sighting {
    struct jzx__seat *seat; /* where */
    struct jzx__stall stall;
    uint64_t tick;
    bool is_news; /* else it was told of at an earlier look */
};

/* The worker was taken from the seat: what its thread does without it is told before anything else
 * can happen to the task. */
static void hand_over(struct jzx__sched *sched, struct jzx__worker *worker,
                      const struct sighting *seen, struct jzx__thread *next) {
    struct jzx__seat *seat = seen->seat;
    uint64_t end_ns = end_of_seen(sched, worker, seat, &seen->stall, seen->tick);
    jzx__counter_add(&worker->counters.handovers, 1);
    if (seen->is_news && end_ns != 0)
        jzx__report_past(worker, &seen->stall, end_ns - seen->tick);
    /* relaxed: the thread wrote it before it left */
    if (jzx__atomic_load_relaxed(&seat->task) != NULL)
        jzx__report_away(worker, seat, &seen->stall, end_ns != 0 ? end_ns : seen->tick);
    else /* the turn was over when the thread left */
        jzx__report_end(worker, jzx__clock_now(&sched->clock));
    jzx__relief_give(sched, next, worker);
}

/* ---- noticing ---- */

/* Whose turn a worker is in, if it has not ticked since `tick`. A home thread may have its worker
 * back while its seat still has the turn that it did without. */
static bool observe(struct jzx__worker *worker, struct jzx__seat *seat, uint64_t tick,
                    struct jzx__stall *stall) {
    /* acquire: pairs with the release in drain_returns; that turn is seen no more */
    if (jzx__atomic_load_acquire(&seat->lost_at_ns) != 0)
        return false;
    /* acquire: pairs with the release in the turn; the task's words may be read */
    stall->task = jzx__atomic_load_acquire(&seat->task);
    if (stall->task == NULL)
        return false;
    /* relaxed, both: a picture, confirmed below */
    stall->id = jzx__atomic_load_relaxed(&stall->task->id);
    stall->tag = jzx__atomic_load_relaxed(&seat->tag);
    return tick_of(worker) == tick;
}

static void handle_stall(struct jzx__sched *sched, struct jzx__worker *worker, uint64_t tick,
                         uint64_t now) {
    struct sighting seen = {.stall = {.elapsed_ns = now - tick}, .tick = tick};
    /* acquire: pairs with the release in sit; threads live until the run is over */
    seen.seat = jzx__atomic_load_acquire(&worker->seat);
    if (seen.seat == NULL || !observe(worker, seen.seat, tick, &seen.stall))
        return;
    seen.is_news = worker->reported_ns != tick;
    if (seen.is_news) {
        struct jzx__thread *thread = JZX_CONTAINER_OF(seen.seat, struct jzx__thread, seat);
        jzx__backtrace_ask(sched, thread);
        seen.stall.stack = thread->stack;
        seen.stall.stack_count = thread->stack_count;
        if (tick_of(worker) != tick)
            return; /* the signal has ended what it waited for */
    }
    struct jzx__thread *next = jzx__relief_take(sched, worker, seen.seat, tick);
    if (next != NULL)
        hand_over(sched, worker, &seen, next);
    else if (seen.is_news)
        jzx__report_open(worker, &seen.stall, tick);
}

/* One look at a worker. Returns when to look again, JZX_NEVER while it sleeps. */
static uint64_t look_at(struct jzx__sched *sched, struct jzx__worker *worker, uint64_t now) {
    uint64_t patience = sched->crew.stall_after_ns;
    uint64_t tick = tick_of(worker);
    bool sleeps = jzx__parker_sleeps(&worker->parker);
    if (sleeps || tick != worker->reported_ns)
        jzx__report_end(worker, now);
    if (sleeps)
        return JZX_NEVER;
    if (now <= tick || now - tick < patience / 2)
        return tick + patience / 2;
    /* relaxed: see the field; a lost store is made again at the next look. Also if this look comes
     * so late that it reports: or the turn could end without a tick */
    jzx__atomic_store_relaxed(&worker->meter.tick_left, 1u);
    if (now - tick < patience)
        return tick + patience;
    handle_stall(sched, worker, tick, now);
    return now + patience;
}

static uint64_t look_at_all(struct jzx__sched *sched, uint64_t now) {
    uint64_t next = JZX_NEVER;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        uint64_t due = look_at(sched, sched->workers[i], now);
        next = due < next ? due : next;
    }
    return next;
}

static bool all_sleep(struct jzx__sched *sched) {
    /* seq_cst: pairs with the addition of a worker that wakes up, which pokes us after it. Not the
     * parkers: an announcement is cancelled outside the total order */
    return jzx__atomic_load_seq_cst(&sched->active) == 0;
}

/* Sleeps until due, or, if that is never, until a worker wakes up. */
static void rest(struct jzx__sched *sched, uint64_t due, uint64_t now) {
    struct jzx__crew *crew = &sched->crew;
    jzx__parker_announce(&crew->watch, JZX__SLEEPS_ON_FUTEX);
    /* seq_cst: pairs with the load in poke */
    jzx__atomic_store_seq_cst(&crew->watch_sleeps, due == JZX_NEVER ? 1u : 0u);
    /* seq_cst: pairs with the store in end_run; watchdog_stop wakes us after it */
    bool leaving = jzx__atomic_load_seq_cst(&sched->leave) != 0;
    if (!leaving && due != JZX_NEVER)
        jzx__parker_wait(&crew->watch, due > now ? due - now : 1);
    else if (!leaving && all_sleep(sched))
        jzx__parker_wait(&crew->watch, 0);
    jzx__parker_cancel(&crew->watch);
    /* relaxed: a poke too many does no harm */
    jzx__atomic_store_relaxed(&crew->watch_sleeps, 0u);
}

static void *watch(void *arg) {
    struct jzx__sched *sched = arg;
    char name[16];
    snprintf(name, sizeof name, "%.9s-watch", sched->crew.name);
    pthread_setname_np(pthread_self(), name);
    jzx__thread_be_prompt(); /* and with it the spares, which it starts */
    while (!jzx__sched_is_leaving(sched)) {
        uint64_t now = jzx__clock_now(&sched->clock);
        uint64_t due = look_at_all(sched, now);
        rest(sched, due, now);
    }
    return NULL;
}

/* ---- start and stop ---- */

/* Signals of the process are for threads that run the program's code. */
static bool start_thread(struct jzx__sched *sched) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&sched->crew.watchdog, NULL, watch, sched) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

bool jzx__watchdog_start(struct jzx__sched *sched) {
    struct jzx__crew *crew = &sched->crew;
    if (crew->stall_after_ns == JZX_NEVER)
        return true;
    jzx__backtrace_install(crew);
    crew->is_watched = start_thread(sched);
    if (!crew->is_watched)
        jzx__backtrace_restore(crew);
    return crew->is_watched;
}

void jzx__watchdog_stop(struct jzx__sched *sched) {
    struct jzx__crew *crew = &sched->crew;
    if (!crew->is_watched)
        return;
    jzx__parker_wake(&crew->watch);
    int failed = pthread_join(crew->watchdog, NULL);
    JZX_ASSERT(failed == 0);
    crew->is_watched = false;
}

void jzx__watchdog_restore_signal(struct jzx__sched *sched) {
    jzx__backtrace_restore(&sched->crew);
}
