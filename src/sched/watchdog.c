/* SPDX-License-Identifier: MIT */
/* How the watchdog notices, reports and relieves.
 *
 * A worker writes the time of its last tick down, and ticks after every message once the watchdog
 * has asked for it. The first look at an old tick asks, and notes how much CPU the thread has used.
 * If a later look finds the same tick, one message has run since the first look at least. The CPU
 * time that its thread has used since then says why.
 *
 * Pace. A look every LOOK_NS would wake a light server 2,000 times a second. The watchdog has three
 * paces:
 *   LOOKS   a look every LOOK_NS, while a worker is idle, a CPU is free, and a long message was
 *           seen in the last JZX__LULL_NS.
 *   DOZES   a look every DOZE_NS, or as often as stall_after_ns needs, while ticks go on.
 *   SLEEPS  until a worker wakes up, once all workers sleep and none has ticked for a doze.
 * A tick that sees a long message beside an idle worker ends a doze, and so does a worker that
 * falls idle. The first long turn after a lull is relieved within DOZE_NS and relieve_after_ns. */
#include "sched/watchdog.h"

#include "base/assert.h"
#include "base/thread.h"
#include "sched/backtrace.h"
#include "sched/relief.h"
#include "sched/report.h"

#include "jzx/time.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#define LOOK_NS JZX__LONG_NS
#define DOZE_NS 5000000u

static uint64_t sooner(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t tick_of(const struct jzx__worker *worker) {
    /* relaxed: what is missed now is seen at the next look */
    return jzx__atomic_load_relaxed(&worker->tick_at_ns);
}

static uint64_t age_of(uint64_t since_ns, uint64_t now) {
    return now > since_ns ? now - since_ns : 0;
}

static uint64_t after(uint64_t ns, uint64_t now) {
    return ns > JZX_NEVER - now ? JZX_NEVER : now + ns;
}

static struct jzx__thread *thread_of(struct jzx__seat *seat) {
    return JZX_CONTAINER_OF(seat, struct jzx__thread, seat);
}

static int tid_of(const struct jzx__thread *thread) {
    /* relaxed: 0 until the thread has begun */
    return jzx__atomic_load_relaxed(&thread->tid);
}

static struct jzx__usage usage_of(struct jzx__thread *thread, uint64_t now) {
    struct jzx__usage usage = {.at_ns = now};
    jzx__thread_usage(thread->handle, tid_of(thread), &usage);
    return usage;
}

/* ---- what waits for a worker ---- */

static bool has_ready_input(const struct jzx__worker *worker) {
    /* relaxed: see the field */
    struct pollfd entry = {.fd = jzx__atomic_load_relaxed(&worker->poll_fd) - 1, .events = POLLIN};
    return entry.fd >= 0 && poll(&entry, 1, 0) > 0;
}

/* True if tasks wait for the worker. Their queues are the worker's own: a hint. */
JZX_PEEKS static bool has_tasks(const struct jzx__worker *worker) {
    const struct jzx__order *order = &worker->order;
    uint32_t depth = jzx__peek(&order->woken.depth) | jzx__peek(&order->spawned.depth) |
                     jzx__peek(&order->heavy.depth) | jzx__peek(&order->hogs.depth) |
                     jzx__peek(&order->ranked[JZX__CRITICAL].depth) |
                     jzx__peek(&order->ranked[JZX__HIGH].depth) |
                     jzx__peek(&order->ranked[JZX__LOW].depth);
    return depth != 0 || jzx__peek(&order->next) != NULL ||
           jzx__peek(&worker->inject_rest) != NULL || jzx__deque_count(&worker->deque) != 0 ||
           !jzx__feed_is_empty(&worker->feeds[JZX__FEED_INJECT]);
}

/* True if something waits for the worker that another thread could go on with: tasks, mail that
 * others have brought, timers, a stop, or I/O. A hint. */
JZX_PEEKS static bool has_waiting(const struct jzx__worker *worker, uint64_t now) {
    if (has_tasks(worker) || jzx__peek(&worker->due_ns) <= now ||
        jzx__peek(&worker->seen.stop) != jzx__sched_stop_state(worker->sched))
        return true;
    for (uint32_t i = 0; i < worker->sched->feed_count; i++) {
        if (!jzx__feed_is_empty(&worker->feeds[i]))
            return true;
    }
    return has_ready_input(worker);
}

/* ---- handing over ---- */

/* A turn that had not gone on since the tick, as a look at a worker has found it. */
struct sighting {
    struct jzx__seat *seat; /* where */
    struct jzx__stall stall;
    uint64_t tick;
    bool is_news; /* it is a stall that was not told of at an earlier look */
};

/* Until when the turn took that was seen at the tick, or 0 if it goes on. The worker is ours. */
static uint64_t end_of_seen(struct jzx__sched *sched, struct jzx__worker *worker,
                            const struct sighting *seen) {
    if (tick_of(worker) != seen->tick)
        return tick_of(worker);
    /* relaxed: the thread wrote it before it left */
    if (jzx__atomic_load_relaxed(&seen->seat->task) != NULL) {
        struct jzx__stall now = jzx__stall_of(seen->seat, 0);
        if (jzx__stall_is_same(&now, &seen->stall))
            return 0;
    }
    return jzx__clock_now(&sched->clock); /* it ended without a tick, see look_at */
}

/* The worker was taken from the seat: what its thread does without it is told before anything else
 * can happen to the task. */
static void hand_over(struct jzx__sched *sched, struct jzx__worker *worker,
                      const struct sighting *seen, struct jzx__thread *next) {
    struct jzx__seat *seat = seen->seat;
    uint64_t end_ns = end_of_seen(sched, worker, seen);
    struct jzx__stall stall = seen->stall;
    stall.handed_over = next != NULL;
    jzx__counter_add(&worker->counters.handovers, next != NULL);
    if (seen->is_news && end_ns != 0)
        jzx__report_past(worker, &stall, end_ns - seen->tick);
    /* relaxed: the thread wrote it before it left */
    if (jzx__atomic_load_relaxed(&seat->task) != NULL) {
        seat->has_successor = next != NULL;
        jzx__report_away(worker, seat, end_ns != 0 ? end_ns : seen->tick);
        if (seen->is_news && end_ns == 0)
            jzx__report_lost(seat, &stall);
    } else { /* the turn was over when the thread left */
        jzx__report_end(worker, jzx__clock_now(&sched->clock));
    }
    jzx__relief_give(sched, next, worker);
}

static bool relieve(struct jzx__sched *sched, struct jzx__worker *worker,
                    const struct sighting *seen) {
    struct jzx__thread *next;
    if (!jzx__relief_take(sched, worker, seen->seat, seen->tick, &next))
        return false;
    hand_over(sched, worker, seen, next);
    return true;
}

/* W9: a turn that holds others up beside an idle worker. If no thread is left to drive its worker,
 * relief helps tasks alone. */
static bool wants_relief(struct jzx__sched *sched, struct jzx__worker *worker, uint64_t age,
                         uint64_t now) {
    return sched->crew.can_take && age >= jzx__relief_pays_after(&sched->crew) &&
           jzx__sched_busy(sched) < sched->cpu_count && has_waiting(worker, now) &&
           (has_tasks(worker) || jzx__relief_has_driver(sched, worker));
}

/* ---- stalls ---- */

/* Fills in the cause and the stack of a stall. False if the thread has no CPU: then it is counted,
 * and no actor is blamed. */
static bool examine(struct jzx__sched *sched, struct jzx__worker *worker,
                    struct jzx__thread *thread, const struct jzx__usage *before, bool *is_held_up,
                    struct jzx__stall *stall) {
    struct jzx__usage usage = usage_of(thread, jzx__clock_now(&sched->clock));
    stall->cause = jzx__cause_of(before, &usage, sched->crew.stall_after_ns / 2, tid_of(thread));
    if (stall->cause == JZX__CAUSE_HELD_UP) {
        if (!*is_held_up)
            jzx__report_held_up(worker, usage.delay_ns - before->delay_ns);
        *is_held_up = true;
        return false;
    }
    jzx__backtrace_ask(sched, thread);
    stall->stack = thread->stack;
    stall->stack_count = thread->stack_count;
    return true;
}

/* A turn has taken longer than stall_after_ns and still has its worker. */
static void handle_stall(struct jzx__sched *sched, struct jzx__worker *worker,
                         struct sighting *seen) {
    struct jzx__long_turn *noted = &worker->long_turn;
    uint64_t now = jzx__clock_now(&sched->clock);
    seen->is_news = worker->reported_ns != seen->tick;
    if (seen->is_news && !examine(sched, worker, thread_of(seen->seat), &noted->usage,
                                  &noted->is_held_up, &seen->stall)) {
        seen->is_news = false; /* its thread has no CPU: there may be one for others */
        if (wants_relief(sched, worker, age_of(seen->tick, now), now))
            relieve(sched, worker, seen);
        return;
    }
    if (tick_of(worker) != seen->tick)
        return; /* the signal has ended what it waited for */
    bool pays = has_tasks(worker) || jzx__relief_has_driver(sched, worker);
    if (!(pays && relieve(sched, worker, seen)) && seen->is_news)
        jzx__report_open(worker, &seen->stall, seen->tick);
}

/* A turn that goes on without its worker may have become a stall. Returns when to look again. */
static uint64_t look_at_lost(struct jzx__sched *sched, struct jzx__thread *thread, uint64_t now) {
    struct jzx__seat *seat = &thread->seat;
    uint64_t patience = sched->crew.stall_after_ns;
    /* acquire: pairs with the release in take_returns; shows no turn that was taken back */
    uint64_t lost_ns = jzx__atomic_load_acquire(&seat->lost_at_ns);
    /* relaxed: a hint: a turn that is over is told of by the worker that takes it back */
    if (lost_ns == 0 || !jzx__report_is_untold(seat) ||
        jzx__atomic_load_relaxed(&seat->returned_at_ns) != 0)
        return JZX_NEVER;
    if (age_of(lost_ns, now) < patience)
        return after(patience, lost_ns);
    struct jzx__stall stall = {.elapsed_ns = now - lost_ns, .handed_over = seat->has_successor};
    bool is_held_up = true; /* counted or not: its worker goes on */
    /* acquire: pairs with the release in the turn; the task's words may be read */
    stall.task = jzx__atomic_load_acquire(&seat->task);
    if (stall.task == NULL)
        return JZX_NEVER;
    /* relaxed, both: a picture of the moment; what is told is decided by an exchange */
    stall.id = jzx__atomic_load_relaxed(&stall.task->id);
    stall.tag = jzx__atomic_load_relaxed(&seat->tag);
    if (examine(sched, seat->lost_worker, thread, &seat->lost_usage, &is_held_up, &stall))
        jzx__report_lost(seat, &stall);
    return after(DOZE_NS, now);
}

/* ---- use of CPUs ---- */

/* True if a worker is in a turn that was noted before, and whose thread waits in the kernel. */
static bool is_blocked(struct jzx__worker *worker, uint64_t now) {
    struct jzx__long_turn *noted = &worker->long_turn;
    /* acquire: pairs with the release in sit; threads live until the run is over */
    struct jzx__seat *seat = jzx__atomic_load_acquire(&worker->seat);
    /* relaxed: a hint */
    if (seat == NULL || jzx__parker_sleeps(&worker->parker) || noted->tick != tick_of(worker) ||
        noted->usage.cpu_ns == 0 || jzx__atomic_load_relaxed(&seat->task) == NULL)
        return false;
    const struct jzx__thread *thread = thread_of(seat);
    struct jzx__usage last = noted->last;
    noted->last.at_ns = now;
    noted->last.cpu_ns = jzx__thread_cpu_ns(thread->handle, tid_of(thread));
    return noted->last.cpu_ns - last.cpu_ns < age_of(last.at_ns, now) / 4 &&
           jzx__thread_look(tid_of(thread)) == JZX__THREAD_SLEEPS;
}

/* True if a turn goes on without its worker since less than JZX__LULL_NS, and wants a CPU. After
 * that time an endless loop shares the CPUs with the workers. */
static bool is_stray(const struct jzx__thread *thread, uint64_t now) {
    /* acquire: pairs with the release in take_returns */
    uint64_t lost_ns = jzx__atomic_load_acquire(&thread->seat.lost_at_ns);
    return lost_ns != 0 && age_of(lost_ns, now) < JZX__LULL_NS &&
           jzx__thread_look(tid_of(thread)) == JZX__THREAD_RUNS;
}

/* Publishes how many awake workers use no CPU, and how many turns use one without a worker (K6).
 * True if there are any of these. */
static bool count_users(struct jzx__sched *sched, uint64_t now) {
    uint32_t blocked = 0;
    uint32_t strays = is_stray(&sched->crew.main, now);
    for (uint32_t i = 0; i < sched->worker_count; i++)
        blocked += is_blocked(sched->workers[i], now);
    for (const struct jzx__thread *t = sched->crew.threads; t != NULL; t = t->next)
        strays += is_stray(t, now);
    /* relaxed, both: see the fields */
    jzx__atomic_store_relaxed(&sched->blocked, blocked);
    jzx__atomic_store_relaxed(&sched->strays, strays);
    return (blocked | strays) != 0;
}

/* ---- looking at a worker ---- */

/* Whose turn a worker is in, if it has not ticked since `tick`. A home thread may have its worker
 * back while its seat still has the turn that it did without. */
static bool observe(struct jzx__worker *worker, struct jzx__seat *seat, uint64_t tick,
                    struct jzx__stall *stall) {
    /* acquire: pairs with the release in take_returns; that turn is seen no more */
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

/* From that age of a tick on the watchdog asks for the next one. */
static uint64_t ask_after(const struct jzx__crew *crew) {
    return sooner(crew->stall_after_ns / 2, crew->relieve_after_ns / 4);
}

/* The first look at a turn. */
static void note(struct jzx__worker *worker, struct jzx__seat *seat, uint64_t tick, uint64_t now) {
    struct jzx__usage usage = usage_of(thread_of(seat), now);
    worker->long_turn = (struct jzx__long_turn){.tick = tick, .usage = usage, .last = usage};
}

/* A turn that was noted at an earlier look goes on. */
static void look_again(struct jzx__sched *sched, struct jzx__worker *worker, struct sighting *seen,
                       uint64_t now) {
    struct jzx__crew *crew = &sched->crew;
    uint64_t age = age_of(seen->tick, now);
    if (age < JZX__LULL_NS) { /* else it may go on for ever, and nothing wait for it */
        /* relaxed: a hint */
        jzx__atomic_store_relaxed(&crew->long_at_ns, now);
    }
    if (age >= crew->stall_after_ns &&
        age_of(worker->long_turn.usage.at_ns, now) >= crew->stall_after_ns / 4)
        handle_stall(sched, worker, seen);
    else if (wants_relief(sched, worker, age, now))
        relieve(sched, worker, seen);
}

/* True if a long message was seen lately, or an unattended worker was sent something. */
static bool was_long(const struct jzx__crew *crew, uint64_t now) {
    /* relaxed: a hint */
    uint64_t long_ns = jzx__atomic_load_relaxed(&crew->long_at_ns);
    return long_ns != 0 && age_of(long_ns, now) < JZX__LULL_NS;
}

static uint64_t doze_of(const struct jzx__crew *crew) {
    uint64_t doze_ns = sooner(DOZE_NS, crew->stall_after_ns / 2);
    return doze_ns < LOOK_NS ? LOOK_NS : doze_ns;
}

/* One look at a worker. Returns when to look again, JZX_NEVER while it sleeps. */
static uint64_t look_at(struct jzx__sched *sched, struct jzx__worker *worker, uint64_t now) {
    const struct jzx__crew *crew = &sched->crew;
    uint64_t tick = tick_of(worker);
    bool sleeps = jzx__parker_sleeps(&worker->parker);
    if (jzx__relief_look(sched, worker))
        return after(was_long(crew, now) ? LOOK_NS : DOZE_NS, now);
    if (sleeps || tick != worker->reported_ns)
        jzx__report_end(worker, now);
    if (sleeps)
        return JZX_NEVER;
    uint64_t doze_ns = doze_of(crew);
    if (age_of(tick, now) < ask_after(crew))
        return after(doze_ns, now);
    struct sighting seen = {.stall = {.elapsed_ns = age_of(tick, now)}, .tick = tick};
    /* acquire: pairs with the release in sit; threads live until the run is over */
    seen.seat = jzx__atomic_load_acquire(&worker->seat);
    if (seen.seat == NULL || !observe(worker, seen.seat, tick, &seen.stall))
        return after(doze_ns, now); /* between turns, or just woken */
    /* relaxed: see the field; a lost store is made again at the next look */
    jzx__atomic_store_relaxed(&worker->meter.tick_left, 1u);
    if (worker->long_turn.tick != tick) {
        note(worker, seen.seat, tick, now);
        return after(jzx__sched_has_idle(sched) ? LOOK_NS : doze_ns, now);
    }
    look_again(sched, worker, &seen, now);
    uint64_t stall_ns = after(crew->stall_after_ns, tick);
    return stall_ns > now ? sooner(stall_ns, after(doze_ns, now)) : after(doze_ns, now);
}

/* ---- the pace ---- */

/* The result of a round of looks. */
struct plan {
    enum jzx__watch_pace pace;
    uint64_t due_ns;
};

static uint64_t look_at_all(struct jzx__sched *sched, uint64_t now) {
    uint64_t next = look_at_lost(sched, &sched->crew.main, now);
    for (uint32_t i = 0; i < sched->worker_count; i++)
        next = sooner(next, look_at(sched, sched->workers[i], now));
    for (struct jzx__thread *t = sched->crew.threads; t != NULL; t = t->next)
        next = sooner(next, look_at_lost(sched, t, now));
    return next;
}

/* True if a worker has ticked since the last round. */
static bool has_ticked(struct jzx__sched *sched) {
    uint64_t before = sched->crew.ticks_seen;
    sched->crew.ticks_seen = 0;
    for (uint32_t i = 0; i < sched->worker_count; i++)
        sched->crew.ticks_seen += tick_of(sched->workers[i]);
    return sched->crew.ticks_seen != before;
}

/* True if a turn may hold others up beside an idle worker. */
static bool is_urgent(struct jzx__sched *sched, uint64_t now) {
    /* relaxed: a hint */
    return sched->crew.can_take && sched->crew.relieve_after_ns != JZX_NEVER &&
           jzx__atomic_load_relaxed(&sched->active) != 0 && was_long(&sched->crew, now) &&
           jzx__sched_has_idle(sched);
}

/* A worker that looked at the global queue may have begun a long turn right afterwards (W9), and so
 * may the thief that was to come for an offer. */
static void look_at_global(struct jzx__sched *sched) {
    bool waits = jzx__global_count(&sched->global) != 0 && !JZX__MUTANT(watchdog_ignores_global);
    for (uint32_t i = 0; i < sched->worker_count && !waits; i++)
        waits = jzx__deque_count(&sched->workers[i]->deque) != 0;
    if (waits && jzx__sched_has_idle(sched))
        jzx__sched_wake_one(sched);
}

static struct plan look_around(struct jzx__sched *sched, uint64_t now) {
    struct plan plan = {.pace = JZX__WATCH_DOZES};
    bool ticked = has_ticked(sched);
    bool users = count_users(sched, now);
    plan.due_ns = look_at_all(sched, now);
    look_at_global(sched);
    if (is_urgent(sched, now)) {
        plan.pace = JZX__WATCH_LOOKS;
        plan.due_ns = sooner(plan.due_ns, after(LOOK_NS, now));
        if (now >= sched->crew.prepare_at_ns && !jzx__relief_prepare(sched))
            sched->crew.prepare_at_ns = now + JZX__LULL_NS;
    } else if (plan.due_ns == JZX_NEVER && !ticked && !users) {
        plan.pace = JZX__WATCH_SLEEPS;
    } else {
        plan.due_ns = sooner(plan.due_ns, after(DOZE_NS, now));
    }
    return plan;
}

static bool all_sleep(struct jzx__sched *sched) {
    /* seq_cst: pairs with the addition of a worker that wakes up, which pokes us after it. Not the
     * parkers: an announcement is cancelled outside the total order */
    return jzx__atomic_load_seq_cst(&sched->active) == 0;
}

/* Waits until the next look is due, or, if that is never, until a worker wakes up. */
static void rest(struct jzx__sched *sched, const struct plan *plan, uint64_t now) {
    struct jzx__crew *crew = &sched->crew;
    jzx__parker_announce(&crew->watch, JZX__SLEEPS_ON_FUTEX);
    /* seq_cst: pairs with the load in poke */
    jzx__atomic_store_seq_cst(&crew->watch_pace, (uint32_t)plan->pace);
    /* seq_cst: pairs with the store in end_run; watchdog_stop wakes us after it */
    bool leaving = jzx__atomic_load_seq_cst(&sched->leave) != 0;
    if (!leaving && plan->pace != JZX__WATCH_SLEEPS)
        jzx__parker_wait(&crew->watch, plan->due_ns > now ? plan->due_ns - now : 1);
    else if (!leaving && all_sleep(sched))
        jzx__parker_wait(&crew->watch, 0);
    jzx__parker_cancel(&crew->watch);
    /* relaxed: a poke too few does no harm while it is awake */
    jzx__atomic_store_relaxed(&crew->watch_pace, (uint32_t)JZX__WATCH_LOOKS);
}

static void *watch(void *arg) {
    struct jzx__sched *sched = arg;
    char name[16];
    snprintf(name, sizeof name, "%.9s-watch", sched->crew.name);
    pthread_setname_np(pthread_self(), name);
    jzx__thread_be_prompt(); /* and with it the spares, which it starts */
    while (!jzx__sched_is_leaving(sched)) {
        uint64_t now = jzx__clock_now(&sched->clock);
        struct plan plan = look_around(sched, now);
        rest(sched, &plan, now);
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
    if (!jzx__crew_wants_watchdog(crew))
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
