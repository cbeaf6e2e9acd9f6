/* SPDX-License-Identifier: MIT */
/* Starting, driving and ending threads. The watchdog has its own file. */
#include "sched/crew.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/cpus.h"
#include "base/futex.h"
#include "base/thread.h"
#include "sched/balance.h"
#include "sched/idle.h"
#include "sched/place.h"
#include "sched/report.h"
#include "sched/sched.h"
#include "sched/watchdog.h"

#include "jzx/time.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

/* How late a sleep until the next timer may end: about as exact as the system can. */
#define SLACK_NS 1000u

/* What a hand-over counts at most. */
#define HANDOVER_NS_MAX 400000u

/* ---- signal stacks ---- */

/* The stall signal comes to threads that may run on stacks which have no room for its handler. */
static bool wants_sigstack(const struct jzx__sched *sched) {
    const struct jzx__crew *crew = &sched->crew;
    return crew->contain == 0 && crew->stall_signal != 0 && crew->stall_after_ns != JZX_NEVER &&
           sched->worker_count > 1;
}

/* Also the guard. False without memory. */
static bool init_sigstack(struct jzx__sched *sched, struct jzx__thread *thread) {
    if (sched->crew.contain != 0) {
        thread->guard = jzx__fault_guard_create(sched->ops.faults, &sched->mapper);
        return thread->guard != NULL;
    }
    return !wants_sigstack(sched) || jzx__sigstack_init(&thread->sigstack, 0, &sched->mapper);
}

/* ---- seats ---- */

void jzx__crew_sit(struct jzx__seat *seat, struct jzx__worker *worker, bool by_caller) {
    worker->order.by_caller = by_caller;
    worker->order.is_special = true; /* those who are bound to the caller may have waited */
    /* release: pairs with the acquire of the watchdog */
    jzx__atomic_store_release(&worker->seat, seat);
    /* seq_cst: pairs with the load of a thread that has announced to sleep until it gets a worker;
     * who gives it looks at that thread's parker next */
    jzx__atomic_store_seq_cst(&seat->worker, worker);
}

void jzx__crew_rise(struct jzx__seat *seat, struct jzx__worker *worker) {
    /* relaxed, both: no thread drives the worker or waits for it now */
    jzx__atomic_store_relaxed(&seat->worker, NULL);
    jzx__atomic_store_relaxed(&worker->seat, NULL);
}

void jzx__crew_give(struct jzx__sched *sched, struct jzx__thread *thread,
                    struct jzx__worker *worker) {
    JZX_ASSERT(thread->home == NULL || thread->home == worker); /* C4 */
    if (thread->home == worker && !JZX__MUTANT(gift_keeps_wish)) {
        /* relaxed: under the lock (C5); the thread sees it with its worker */
        jzx__atomic_store_relaxed(&worker->wanted_by, NULL);
    }
    /* What is bound to the caller's thread waits while another drives worker 0. */
    thread->returned_to = NULL; /* it takes that turn back itself, as a home thread does */
    thread->is_chosen = false;
    jzx__crew_sit(&thread->seat, worker, thread == &sched->crew.main);
    jzx__parker_wake(&thread->parker);
}

void jzx__crew_attend(struct jzx__sched *sched, struct jzx__thread *thread,
                      struct jzx__worker *worker) {
    worker->is_unattended = false;
    /* seq_cst: as for a worker that wakes up; pairs with the loads in wake_one and submit */
    jzx__atomic_add_seq_cst(&sched->active, 1u);
    jzx__crew_give(sched, thread, worker);
}

static struct jzx__thread *thread_of(struct jzx__seat *seat) {
    return JZX_CONTAINER_OF(seat, struct jzx__thread, seat);
}

/* ---- the life of a thread ---- */

static void become_spare(struct jzx__thread *thread) {
    struct jzx__crew *crew = &thread->sched->crew;
    if (thread->home != NULL)
        return; /* it waits for that, and nothing else (C4) */
    /* relaxed: no worker has its turn any more (C2) */
    JZX_ASSERT(jzx__atomic_load_relaxed(&thread->seat.lost_at_ns) == 0);
    jzx__lock_acquire(&crew->lock);
    thread->returned_to = NULL;
    /* relaxed: changes under the lock. It may have been given the worker, or is about to be (C2) */
    if (jzx__atomic_load_relaxed(&thread->seat.worker) == NULL &&
        (!thread->is_chosen || JZX__MUTANT(chosen_becomes_spare))) {
        thread->next_spare = crew->spares;
        crew->spares = thread;
    }
    jzx__lock_release(&crew->lock);
}

/* What this thread did since it lost its worker, for the report and the weighing. */
static void note_usage(const struct jzx__worker *worker, struct jzx__thread *thread,
                       uint64_t at_ns) {
    struct jzx__seat *seat = &thread->seat;
    struct jzx__usage now = {.at_ns = at_ns};
    /* relaxed: written by this thread, or before it was started */
    jzx__thread_usage(thread->handle, jzx__atomic_load_relaxed(&thread->tid), &now);
    bool known = now.cpu_ns != 0 && seat->lost_usage.cpu_ns != 0;
    seat->used_ns = known ? now.cpu_ns - seat->lost_usage.cpu_ns : 0;
    seat->cause =
        jzx__cause_of_past(&seat->lost_usage, &now, worker->sched->crew.stall_after_ns / 2);
}

void jzx__crew_return(struct jzx__worker *worker, struct jzx__seat *seat, uint64_t at_ns) {
    struct jzx__thread *thread = thread_of(seat);
    struct jzx__crew *crew = &worker->sched->crew;
    jzx__lock_acquire(&crew->lock); /* the watchdog has left with it what it knows of the turn */
    if (thread->home == NULL)
        thread->returned_to = worker; /* before the push: it is cleared when that is taken back */
    jzx__lock_release(&crew->lock);
    note_usage(worker, thread, at_ns);
    /* relaxed: published by the push; for the watchdog a hint */
    jzx__atomic_store_relaxed(&seat->returned_at_ns, at_ns);
    jzx__worker_bring(worker, JZX__FEED_RETURNS, &seat->returned);
}

void jzx__crew_relieve(struct jzx__seat *seat) {
    become_spare(thread_of(seat));
}

/* A home thread that has no worker says that it waits for its own (C5). */
static void ask_back(struct jzx__thread *thread, struct jzx__worker *home) {
    struct jzx__crew *crew = &thread->sched->crew;
    jzx__lock_acquire(&crew->lock);
    /* relaxed: changes under the lock */
    bool waits =
        jzx__atomic_load_relaxed(&thread->seat.worker) == NULL || JZX__MUTANT(wish_without_look);
    if (waits) {
        /* seq_cst: pairs with the look of a driver that has announced to sleep; woken below */
        jzx__atomic_store_seq_cst(&home->wanted_by, thread);
        if (home->is_unattended)
            jzx__crew_attend(thread->sched, thread, home); /* C7 */
    }
    jzx__lock_release(&crew->lock);
    if (!waits)
        return;
    /* relaxed: see the field; if it is lost, the next tick comes when it would have come */
    jzx__atomic_store_relaxed(&home->meter.tick_left, 1u);
    jzx__parker_wake(&home->parker);
}

/* A substitute whose turn is over, and whose worker has no thread meanwhile, drives that (C7). */
static void take_unattended(struct jzx__thread *thread) {
    struct jzx__crew *crew = &thread->sched->crew;
    jzx__lock_acquire(&crew->lock);
    struct jzx__worker *worker = thread->returned_to;
    if (worker != NULL && worker->is_unattended && !thread->is_chosen &&
        !JZX__MUTANT(return_is_not_awaited))
        jzx__crew_attend(thread->sched, thread, worker);
    jzx__lock_release(&crew->lock);
}

/* Opens the bracket if the seat has a worker, else waits for one. NULL if the run ends. */
static struct jzx__worker *await_worker(struct jzx__thread *thread) {
    if (thread->home != NULL)
        ask_back(thread, thread->home);
    else
        take_unattended(thread);
    for (;;) {
        struct jzx__worker *worker = jzx__seat_enter(&thread->seat);
        /* acquire: pairs with the release in sit; what the giver knew of the worker is ours */
        if (worker != NULL && jzx__atomic_load_acquire(&thread->seat.worker) == worker) {
            JZX_ASSERT(thread->home == NULL || thread->home == worker); /* C4 */
            return worker;
        }
        jzx__seat_leave(&thread->seat, 0);
        jzx__parker_announce(&thread->parker, JZX__SLEEPS_ON_FUTEX);
        /* seq_cst: pairs with the store in end_run; the threads are woken after it */
        if (jzx__atomic_load_seq_cst(&thread->sched->leave) != 0) {
            jzx__parker_cancel(&thread->parker);
            return NULL;
        }
        /* seq_cst: pairs with the store in sit, after which the giver wakes this thread */
        if (jzx__atomic_load_seq_cst(&thread->seat.worker) == NULL)
            jzx__parker_wait(&thread->parker, 0);
        jzx__parker_cancel(&thread->parker);
    }
}

/* A worker goes back to its home thread, if that waits for it (C6). */
static bool give_back(struct jzx__thread *thread, struct jzx__worker *me) {
    struct jzx__crew *crew = &me->sched->crew;
    if (!jzx__worker_is_wanted(me))
        return false;
    jzx__lock_acquire(&crew->lock);
    /* relaxed: under the lock nobody else takes the worker (C1) */
    bool mine = jzx__atomic_load_relaxed(&thread->seat.worker) == me;
    if (mine) {
        /* relaxed, both: see above */
        struct jzx__thread *home = jzx__atomic_load_relaxed(&me->wanted_by);
        jzx__atomic_store_relaxed(&thread->seat.worker, NULL);
        JZX_ASSERT(thread->home == NULL && home != NULL); /* C4, C5 */
        jzx__crew_give(me->sched, home, me);
    }
    jzx__lock_release(&crew->lock);
    return mine;
}

/* A hand-over is over: smooths what it cost, for the watchdog. A thread that the kernel held up
 * meanwhile says little about that, so the cost is capped. */
static void end_handover(struct jzx__worker *me) {
    struct jzx__crew *crew = &me->sched->crew;
    uint64_t cost_ns = jzx__clock_now(&me->sched->clock) - me->taken_at_ns;
    me->taken_at_ns = 0;
    if (cost_ns > HANDOVER_NS_MAX)
        cost_ns = HANDOVER_NS_MAX;
    /* relaxed, both: a figure; of two hand-overs at once one may not be counted */
    uint64_t old_ns = jzx__atomic_load_relaxed(&crew->handover_ns);
    jzx__atomic_store_relaxed(&crew->handover_ns, (7 * old_ns + cost_ns) / 8);
}

/* K8 */
static void poll(struct jzx__worker *me) {
    me->meter.poll_ns = 0;
    me->poll_due = me->sched->ops.poll(me);
    if (JZX_UNLIKELY(me->taken_at_ns != 0))
        end_handover(me);
}

enum jzx__pass_result jzx__crew_round(struct jzx__worker *me, uint32_t turns_max) {
    struct jzx__sched *sched = me->sched;
    jzx__worker_take_in_own(me, sched->drain_max);
    jzx__balance_take_global(me);
    uint32_t stop = jzx__sched_stop_state(sched);
    bool begins_to_stop = stop == JZX__STOPPING && me->seen.stop == JZX__OPEN;
    me->seen.stop = stop;
    if (JZX_UNLIKELY(begins_to_stop))
        sched->ops.begin_stop(me); /* K7 */
    jzx__worker_take_in_above(me, sched->drain_max);
    if (me->index == 0 && JZX_UNLIKELY(jzx__sched_stop_state(sched) != JZX__OPEN))
        sched->ops.go_on_stopping(me);
    if (JZX_UNLIKELY(jzx__worker_is_due(me)))
        sched->ops.run_timers(me);
    if (JZX_UNLIKELY(me->poll_due))
        poll(me);
    if (jzx__sched_is_leaving(sched))
        return JZX__PASS_EMPTY;
    return sched->ops.run_ready(me, turns_max);
}

static bool has_lost(const struct jzx__thread *thread, const struct jzx__worker *me) {
    /* relaxed: a hint; who takes the worker waits until this thread has left its bracket */
    return jzx__atomic_load_relaxed(&thread->seat.worker) != me;
}

/* Inside the bracket; left at the end. */
static void drive(struct jzx__thread *thread, struct jzx__worker *me) {
    jzx__worker_resume(me);
    jzx__place_begin(me);
    if (me->taken_at_ns != 0 && me->io_count != 0 && me->poll_rearms)
        me->poll_due = true; /* the requests are armed anew: that costs, too */
    else if (me->taken_at_ns != 0)
        end_handover(me);
    /* acquire: pairs with the release in take_returns. C2: its own turn first, before the worker
     * can go home */
    if (jzx__atomic_load_acquire(&thread->seat.lost_at_ns) != 0 &&
        !JZX__MUTANT(substitute_gives_back_first))
        jzx__crew_take_returns(me, UINT32_MAX);
    me->seen.exited = UINT64_MAX; /* there may be nothing that keeps the run going */
    while (!jzx__sched_is_leaving(me->sched)) {
        if (has_lost(thread, me) || give_back(thread, me)) {
            jzx__seat_leave(&thread->seat, 0);
            become_spare(thread);
            return;
        }
        enum jzx__pass_result result = jzx__crew_round(me, me->sched->turns_per_pass);
        if (result == JZX__PASS_LOST)
            return; /* outside the bracket already; a spare when the worker has taken it back */
        if (result == JZX__PASS_RAN)
            jzx__worker_check_end(me);
        else if (!jzx__worker_has_work(me))
            jzx__worker_idle(me);
    }
    jzx__seat_leave(&thread->seat, 0);
}

static void serve(struct jzx__thread *thread) {
    struct jzx__worker *worker;
    while ((worker = await_worker(thread)) != NULL && !jzx__sched_is_leaving(thread->sched))
        drive(thread, worker);
    jzx__seat_leave(&thread->seat, 0);
}

static void pin(uint32_t worker) {
    int cpu;
    cpu_set_t one;
    if (!jzx__cpus_nth(worker, &cpu) || cpu >= CPU_SETSIZE)
        return;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void call_hook(const struct jzx__crew *crew, jzx_thread_hook hook, uint32_t worker) {
    if (hook != NULL)
        hook(crew->hook_ctx, worker);
}

static void *thread_main(void *arg) {
    struct jzx__thread *thread = arg;
    struct jzx__crew *crew = &thread->sched->crew;
    char name[16];
    snprintf(name, sizeof name, "%s-%u", crew->name, thread->number);
    pthread_setname_np(pthread_self(), name);
    /* relaxed: for the watchdog, which until then knows nothing of the thread */
    jzx__atomic_store_relaxed(&thread->tid, jzx__thread_id());
    pthread_sigmask(SIG_SETMASK, &crew->signals, NULL); /* the watchdog, which may have made it,
                                                         * blocks all */
    jzx__thread_set_slack(SLACK_NS);
    if (crew->pin_threads && thread->hook_worker != JZX_NONE)
        pin(thread->hook_worker);
    call_hook(crew, crew->on_start, thread->hook_worker);
    jzx__sigstack_set(&thread->sigstack);
    jzx__fault_arm(thread->guard);
    jzx__seat_of_thread = &thread->seat;
    serve(thread);
    jzx__seat_of_thread = &jzx__no_seat;
    jzx__fault_disarm(thread->guard);
    jzx__sigstack_clear(&thread->sigstack);
    call_hook(crew, crew->on_stop, thread->hook_worker);
    return NULL;
}

/* ---- a run ---- */

/* The record of a thread: one of an earlier run, or a new one. NULL without memory. */
static struct jzx__thread *make_thread(struct jzx__sched *sched) {
    struct jzx__thread *thread = sched->crew.retired;
    if (thread != NULL) {
        sched->crew.retired = thread->next;
        /* relaxed: not started yet */
        jzx__atomic_store_relaxed(&thread->tid, 0);
        return thread;
    }
    thread = jzx__alloc_aligned(&sched->allocator, sizeof *thread, _Alignof(struct jzx__thread));
    if (thread == NULL)
        return NULL;
    memset(thread, 0, sizeof *thread);
    if (!init_sigstack(sched, thread)) {
        jzx__free_aligned(&sched->allocator, thread, sizeof *thread, _Alignof(struct jzx__thread));
        return NULL;
    }
    jzx__parker_init(&thread->parker);
    thread->sched = sched;
    return thread;
}

struct jzx__thread *jzx__crew_start_thread(struct jzx__sched *sched, uint32_t home_index) {
    struct jzx__crew *crew = &sched->crew;
    struct jzx__thread *thread = make_thread(sched);
    if (thread == NULL)
        return NULL;
    thread->number = crew->thread_count + 1;
    thread->hook_worker = home_index;
    thread->home = home_index == JZX_NONE ? NULL : sched->workers[home_index];
    thread->seat.is_substitute = thread->home == NULL;
    if (pthread_create(&thread->handle, NULL, thread_main, thread) != 0) {
        thread->next = crew->retired;
        crew->retired = thread;
        return NULL;
    }
    thread->next = crew->threads;
    crew->threads = thread;
    crew->thread_count++;
    return thread;
}

/* No thread gets a worker before all are there. */
static bool start_threads(struct jzx__sched *sched) {
    bool started = true;
    jzx__lock_acquire(&sched->crew.lock);
    for (uint32_t i = 1; i < sched->worker_count && started; i++)
        started = jzx__crew_start_thread(sched, i) != NULL;
    jzx__lock_release(&sched->crew.lock);
    return started;
}

static void give_workers(struct jzx__sched *sched) {
    struct jzx__crew *crew = &sched->crew;
    jzx__lock_acquire(&crew->lock);
    for (struct jzx__thread *thread = crew->threads; thread != NULL; thread = thread->next)
        jzx__crew_give(sched, thread, thread->home);
    jzx__lock_release(&crew->lock);
}

/* The list changes no more: the watchdog has ended. */
static void join_threads(struct jzx__sched *sched) {
    struct jzx__crew *crew = &sched->crew;
    for (struct jzx__thread *thread = crew->threads; thread != NULL; thread = thread->next)
        jzx__parker_wake(&thread->parker);
    for (struct jzx__thread *thread = crew->threads; thread != NULL; thread = thread->next) {
        int failed = pthread_join(thread->handle, NULL);
        JZX_ASSERT(failed == 0);
    }
}

/* Their seats stay for dumps that may still look at them, and for the next run. */
static void retire_threads(struct jzx__sched *sched) {
    struct jzx__crew *crew = &sched->crew;
    jzx__lock_acquire(&crew->lock);
    while (crew->threads != NULL) {
        struct jzx__thread *thread = crew->threads;
        crew->threads = thread->next;
        thread->next = crew->retired;
        crew->retired = thread;
        /* relaxed: its thread has ended */
        jzx__atomic_store_relaxed(&thread->seat.worker, NULL);
        thread->returned_to = NULL;
        thread->is_chosen = false;
    }
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        /* relaxed, both: nobody drives it or waits for it */
        jzx__atomic_store_relaxed(&sched->workers[i]->seat, NULL);
        jzx__atomic_store_relaxed(&sched->workers[i]->wanted_by, NULL);
        sched->workers[i]->is_unattended = false;
        sched->workers[i]->taken_at_ns = 0;
    }
    /* relaxed, both: the watchdog has ended */
    jzx__atomic_store_relaxed(&sched->blocked, 0u);
    jzx__atomic_store_relaxed(&sched->strays, 0u);
    crew->limit_is_told = false;
    crew->spares = NULL;
    crew->thread_count = 0;
    jzx__lock_release(&crew->lock);
}

/* ---- for dumps ---- */

static bool see_lost_turn(struct jzx__seat *seat, struct jzx__lost_turn *turn) {
    /* relaxed: a picture of the moment */
    turn->since_ns = jzx__atomic_load_relaxed(&seat->lost_at_ns);
    /* acquire: pairs with the release in the turn; the task's words may be read */
    struct jzx__task *task = jzx__atomic_load_acquire(&seat->task);
    if (turn->since_ns == 0 || task == NULL)
        return false;
    /* relaxed, all: a picture of the moment, unless that turn was taken back meanwhile */
    turn->id = jzx__atomic_load_relaxed(&task->id);
    turn->tag = jzx__atomic_load_relaxed(&seat->tag);
    return jzx__atomic_load_relaxed(&seat->lost_at_ns) == turn->since_ns;
}

uint32_t jzx__crew_lost_turns(struct jzx__sched *sched, struct jzx__lost_turn *turns,
                              uint32_t max) {
    struct jzx__crew *crew = &sched->crew;
    uint32_t count = 0;
    if (see_lost_turn(&crew->main.seat, &turns[count]))
        count++;
    jzx__lock_acquire(&crew->lock);
    for (struct jzx__thread *thread = crew->threads; thread != NULL && count < max;
         thread = thread->next) {
        if (see_lost_turn(&thread->seat, &turns[count]))
            count++;
    }
    jzx__lock_release(&crew->lock);
    return count;
}

/* What is bound to the caller's thread is not even ended on another. */
static bool is_for_the_caller(const struct jzx__worker *me, const struct jzx__seat *seat) {
    /* relaxed: left with the worker by its thread */
    return !me->order.by_caller &&
           jzx__atomic_load_relaxed(&seat->task)->bound == JZX__BOUND_CALLER;
}

void jzx__crew_take_returns(struct jzx__worker *me, uint32_t max) {
    (void)max; /* each was a stall: there are few */
    struct jzx__mpsc *returns = jzx__worker_queue(me, JZX__FEED_RETURNS);
    JZX_ASSERT_OWNER(me);
    if (jzx__mpsc_is_empty(returns))
        return;
    struct jzx__mpsc_node *node = jzx__mpsc_take_all(returns);
    while (node != NULL) {
        struct jzx__seat *seat = JZX_CONTAINER_OF(node, struct jzx__seat, returned);
        node = node->next; /* read first: the thread may be given a worker at once */
        if (is_for_the_caller(me, seat)) {
            jzx__mpsc_push(returns, &seat->returned); /* who gets the worker back at once */
            continue;
        }
        jzx__report_returned(me, seat);
        jzx__meter_weigh_returned(me, seat);
        me->sched->ops.take_back(me, seat);
        /* relaxed: a hint */
        jzx__atomic_add_relaxed(&me->sched->crew.lost_count, UINT32_MAX);
        /* relaxed: the thread waits until it is relieved. release: pairs with the acquire of the
         * watchdog, which then sees that the task is gone */
        jzx__atomic_store_relaxed(&seat->task, NULL);
        jzx__atomic_store_release(&seat->lost_at_ns, (uint64_t)0);
        jzx__crew_relieve(seat);
    }
}

const struct jzx__feed_ops jzx__crew_returns = {.take = jzx__crew_take_returns};

/* All threads have ended: the caller takes back what the others' turns have become. */
static void collect_returns(struct jzx__sched *sched, struct jzx__seat *seat) {
    /* relaxed: the threads were joined */
    jzx__atomic_store_relaxed(&seat->in_runtime, 1u);
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        jzx__crew_sit(seat, sched->workers[i], true);
        jzx__report_end(sched->workers[i], jzx__clock_now(&sched->clock));
        jzx__crew_take_returns(sched->workers[i], UINT32_MAX);
        jzx__worker_flush(sched->workers[i]); /* of a pass that lost its worker */
        jzx__crew_rise(seat, sched->workers[i]);
    }
}

static bool start(struct jzx__sched *sched) {
    struct jzx__sigstack *sigstack = &sched->crew.main.sigstack;
    if (sched->worker_count == 1)
        return true;
    if (wants_sigstack(sched) && sigstack->base == NULL &&
        !jzx__sigstack_init(sigstack, 0, &sched->mapper))
        return false;
    if (!start_threads(sched) || !jzx__watchdog_start(sched)) {
        jzx__sched_end_run(sched);
        join_threads(sched);
        retire_threads(sched);
        return false;
    }
    give_workers(sched);
    return true;
}

/* The caller's thread is as the others for the time of the run. */
static void serve_as_caller(struct jzx__sched *sched, struct jzx__thread *thread) {
    unsigned long slack_ns = jzx__thread_set_slack(SLACK_NS);
    jzx__sigstack_set(&thread->sigstack);
    cpu_set_t before;
    bool pinned = sched->crew.pin_threads &&
                  pthread_getaffinity_np(pthread_self(), sizeof before, &before) == 0;
    if (pinned)
        pin(0);
    serve(thread);
    if (pinned)
        pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    jzx__sigstack_clear(&thread->sigstack);
    if (slack_ns != 0)
        jzx__thread_set_slack(slack_ns);
}

void jzx__crew_open(struct jzx__sched *sched) {
    /* seq_cst, both: pairs with close, which stores stop before leave: one of us sees the other */
    jzx__atomic_store_seq_cst(&sched->leave, 0u);
    if (jzx__atomic_load_seq_cst(&sched->stop) == JZX__STOPPED)
        jzx__sched_end_run(sched);
}

bool jzx__crew_run(struct jzx__sched *sched) {
    struct jzx__crew *crew = &sched->crew;
    struct jzx__thread *thread = &crew->main;
    thread->sched = sched;
    thread->home = sched->workers[0];
    thread->handle = pthread_self();
    /* relaxed: before the watchdog is started */
    jzx__atomic_store_relaxed(&thread->tid, jzx__thread_id());
    /* A pending stall signal must come while its handler is there. */
    sigset_t unblocked;
    sigemptyset(&unblocked);
    if (crew->stall_signal != 0)
        sigaddset(&unblocked, crew->stall_signal);
    sigset_t blocked_before;
    pthread_sigmask(SIG_UNBLOCK, &unblocked, &blocked_before);
    pthread_sigmask(SIG_SETMASK, NULL, &crew->signals);
    jzx__crew_open(sched);
    /* relaxed: no other thread yet */
    jzx__atomic_store_relaxed(&sched->active, sched->worker_count);
    if (!start(sched)) {
        /* relaxed: nobody is awake */
        jzx__atomic_store_relaxed(&sched->active, 0u);
        pthread_sigmask(SIG_SETMASK, &blocked_before, NULL);
        return false;
    }
    call_hook(crew, crew->on_start, 0);
    jzx__fault_note_environment(thread->guard);
    jzx__seat_init(&thread->seat, NULL);
    jzx__crew_sit(&thread->seat, sched->workers[0], true);
    serve_as_caller(sched, thread);
    jzx__watchdog_stop(sched);
    join_threads(sched);
    collect_returns(sched, &thread->seat);
    retire_threads(sched);
    jzx__seat_deinit(&thread->seat);
    pthread_sigmask(SIG_SETMASK, &blocked_before, NULL);
    jzx__watchdog_restore_signal(sched);
    call_hook(crew, crew->on_stop, 0);
    /* seq_cst: pairs with the load in submit: from here on a spawn wakes who sleeps in poll */
    jzx__atomic_store_seq_cst(&sched->active, 0u);
    return true;
}

static bool is_turn_of(const struct jzx__thread *thread, const struct jzx__task *task,
                       uint32_t *tag) {
    /* relaxed, both: a picture of the moment */
    if (jzx__atomic_load_relaxed(&thread->seat.task) != task)
        return false;
    *tag = jzx__atomic_load_relaxed(&thread->seat.tag);
    return true;
}

enum jzx__turn_place jzx__crew_find(struct jzx__sched *sched, const struct jzx__task *task,
                                    uint32_t *tag, uint32_t *worker) {
    struct jzx__crew *crew = &sched->crew;
    struct jzx__thread *found = is_turn_of(&crew->main, task, tag) ? &crew->main : NULL;
    jzx__lock_acquire(&crew->lock);
    for (struct jzx__thread *thread = crew->threads; thread != NULL && found == NULL;
         thread = thread->next)
        found = is_turn_of(thread, task, tag) ? thread : NULL;
    jzx__lock_release(&crew->lock);
    if (found == NULL)
        return JZX__TURN_NONE;
    /* relaxed: a picture of the moment; workers live as long as the loop */
    const struct jzx__worker *of = jzx__atomic_load_relaxed(&found->seat.worker);
    *worker = of == NULL ? 0 : of->index;
    return of == NULL ? JZX__TURN_AWAY : JZX__TURN_ON_WORKER;
}
