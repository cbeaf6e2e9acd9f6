/* SPDX-License-Identifier: MIT */
/* How the watchdog notices, reports and relieves.
 *
 * A worker writes the time of its last tick down, and ticks after every message once the watchdog
 * has asked for it. So a tick that is half of stall_after old is asked for, and one that is
 * stall_after old belongs to a message that has run for at least half of that time, and most
 * likely for all of it. */
#include "sched/watchdog.h"

#include "base/assert.h"
#include "base/futex.h"
#include "base/thread.h"

#include "jzx/time.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

#if defined(__GLIBC__)
#include <execinfo.h>
#endif

/* How long to wait for the stack of a thread. */
#define STACK_WAIT_NS 10000000u
#define STACK_LOOK_NS 100000u

#define SIGNAL_MAX 64

static uint64_t tick_of(const struct jzx__worker *worker) {
    /* relaxed: what is missed now is seen at the next look */
    return jzx__atomic_load_relaxed(&worker->tick_at_ns);
}

/* ---- the stack of another thread, by a signal ---- */

/* The thread that is asked for its stack, by one watchdog of the process at a time. */
static _Atomic(struct jzx__thread *) asked;

static void answer(int signal_number) {
    (void)signal_number;
    /* acquire: pairs with the release in ask_stack */
    struct jzx__thread *thread = jzx__atomic_load_acquire(&asked);
    if (thread == NULL || !pthread_equal(thread->handle, pthread_self()))
        return;
#if defined(__GLIBC__)
    int count = backtrace(thread->stack, (int)JZX__STACK_MAX);
    thread->stack_count = count > 0 ? (uint32_t)count : 0;
#endif
    /* release: pairs with the acquire in ask_stack; publishes the stack */
    jzx__atomic_store_release(&thread->stack_state, 1u);
}

static void ask_stack(struct jzx__sched *sched, struct jzx__thread *thread) {
    struct jzx__thread *nobody = NULL;
    thread->stack_count = 0;
    /* relaxed: not asked yet */
    jzx__atomic_store_relaxed(&thread->stack_state, 0u);
    /* release: pairs with the acquire in answer */
    if (!sched->crew.is_signal_set || !jzx__atomic_cas_strong_seq_cst(&asked, &nobody, thread))
        return;
    bool answered = false;
    if (pthread_kill(thread->handle, sched->crew.stall_signal) == 0) {
        for (uint64_t waited = 0; waited < STACK_WAIT_NS && !answered; waited += STACK_LOOK_NS) {
            jzx__futex_wait(&thread->stack_state, 0, STACK_LOOK_NS);
            /* acquire: pairs with the release in answer */
            answered = jzx__atomic_load_acquire(&thread->stack_state) != 0;
        }
    }
    if (!answered)
        thread->stack_count = 0;
    /* release: pairs with the exchange of the next watchdog */
    jzx__atomic_store_release(&asked, NULL);
}

/* Several loops may use one signal: the first installs the handler, the last puts back what was
 * there. */
static struct {
    pthread_mutex_t lock;
    uint32_t users[SIGNAL_MAX + 1];
    struct sigaction before[SIGNAL_MAX + 1];
} handlers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool add_user(int number) {
    /* SA_ONSTACK: the stack that the behaviour runs on may be too small for it */
    struct sigaction action = {.sa_handler = answer, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&handlers.lock);
    bool set =
        handlers.users[number] != 0 || sigaction(number, &action, &handlers.before[number]) == 0;
    handlers.users[number] += set;
    pthread_mutex_unlock(&handlers.lock);
    return set;
}

static void remove_user(int number) {
    pthread_mutex_lock(&handlers.lock);
    if (--handlers.users[number] == 0)
        sigaction(number, &handlers.before[number], NULL);
    pthread_mutex_unlock(&handlers.lock);
}

static void install_signal(struct jzx__crew *crew) {
    if (crew->stall_signal == 0 || crew->stall_signal > SIGNAL_MAX)
        return;
#if defined(__GLIBC__)
    void *warm[1];
    backtrace(warm, 1); /* its first call allocates, which a signal handler must not */
#endif
    crew->is_signal_set = add_user(crew->stall_signal);
}

static void restore_signal(struct jzx__crew *crew) {
    if (crew->is_signal_set)
        remove_user(crew->stall_signal);
    crew->is_signal_set = false;
}

/* ---- taking a worker away (R18) ---- */

/* A substitute without a worker; under the lock. NULL if there is none and there may be no more. */
static struct jzx__thread *take_spare(struct jzx__sched *sched) {
    struct jzx__crew *crew = &sched->crew;
    struct jzx__thread *thread = crew->spares;
    if (thread != NULL) {
        JZX_ASSERT(thread->home == NULL); /* C4 */
        crew->spares = thread->next_spare;
        return thread;
    }
    uint32_t spare_count = crew->thread_count + 1 - sched->worker_count;
    return spare_count < crew->spare_max ? jzx__crew_start_thread(sched, JZX_NONE) : NULL;
}

static void put_spare_back(struct jzx__crew *crew, struct jzx__thread *thread) {
    if (thread->home != NULL)
        return; /* it goes on waiting */
    thread->next_spare = crew->spares;
    crew->spares = thread;
}

/* The thread that is to drive the worker next: its home thread, if that waits for it (C6), else a
 * spare. Under the lock. */
static struct jzx__thread *next_driver(struct jzx__sched *sched, struct jzx__worker *worker) {
    /* relaxed: changes under the lock */
    struct jzx__thread *home = jzx__atomic_load_relaxed(&worker->wanted_by);
    return home != NULL && !JZX__MUTANT(watchdog_forgets_home) ? home : take_spare(sched);
}

/* Until the thread of the seat has left its bracket: it is about to, or in a callback. */
static void await_leave(struct jzx__seat *seat) {
    /* acquire: pairs with the release in leave; the worker is as the thread left it */
    while (jzx__atomic_load_acquire(&seat->in_runtime) != 0)
        sched_yield();
}

/* Clears the pointer of the seat, if a thread is there to take its worker (C1), and the turn has
 * not gone on since that tick: starting a spare takes a while. */
static struct jzx__thread *begin_take(struct jzx__sched *sched, struct jzx__worker *worker,
                                      struct jzx__seat *seat, uint64_t tick) {
    struct jzx__crew *crew = &sched->crew;
    struct jzx__thread *next = NULL;
    jzx__lock_acquire(&crew->lock);
    /* relaxed: changes under the lock */
    if (jzx__atomic_load_relaxed(&seat->worker) == worker)
        next = next_driver(sched, worker);
    if (next != NULL && tick_of(worker) != tick) {
        put_spare_back(crew, next);
        next = NULL;
    }
    if (next != NULL) {
        /* seq_cst: pairs with the load of a worker that goes to sleep (R14). A thread that enters
         * is ordered by the barrier */
        jzx__atomic_store_seq_cst(&seat->worker, NULL);
    }
    jzx__lock_release(&crew->lock);
    return next;
}

/* Takes the worker from the seat: it is ours from then on, until we give it away. The lock is not
 * held while we wait for the thread to leave: it may need it to get there. NULL if that cannot be;
 * else the thread that is to drive it. */
static struct jzx__thread *take(struct jzx__sched *sched, struct jzx__worker *worker,
                                struct jzx__seat *seat, uint64_t tick) {
    /* relaxed: a hint. In a callback of the runtime nobody can be relieved */
    if (!sched->crew.can_take || jzx__atomic_load_relaxed(&seat->in_runtime) != 0)
        return NULL;
    struct jzx__thread *next = begin_take(sched, worker, seat, tick);
    if (next == NULL)
        return NULL;
    jzx__membarrier();
    jzx__parker_wake(&worker->parker);
    await_leave(seat);
    /* relaxed: the thread wrote it before it left */
    struct jzx__task *task = jzx__atomic_load_relaxed(&seat->task);
    if (task != NULL) {
        jzx__touch(task);
        task->place = JZX__AWAY; /* its turn goes on without the worker */
    }
    return next;
}

static void give(struct jzx__sched *sched, struct jzx__thread *next, struct jzx__worker *worker) {
    jzx__lock_acquire(&sched->crew.lock);
    jzx__crew_give(sched, next, worker);
    jzx__lock_release(&sched->crew.lock);
}

/* ---- reports ---- */

/* Whose a worker's reported and reported_ns are. While they are the watchdog's it tells of a stall;
 * then it leaves them open to whoever sees first that the turn went on: the worker in a tick, the
 * watchdog at a look, or the caller of run in the end. Who claims them tells the end, and nobody
 * else can. The worker gives them back before that, so that the watchdog need not wait for an
 * observer. A turn that goes on without its worker leaves nothing open: its end is told when it is
 * taken back. */
enum { REPORT_NONE, REPORT_OPEN, REPORT_CLAIMED }; /* the watchdog's, anybody's, the worker's */

static bool claim_report(struct jzx__worker *worker, uint32_t next) {
    uint32_t open = REPORT_OPEN;
    /* acq_rel: pairs with the release in report; what was reported may be read */
    return jzx__atomic_cas_strong_acq_rel(&worker->report_state, &open, next);
}

static void tell_end(struct jzx__worker *worker, const struct jzx__stall *stall,
                     uint64_t elapsed_ns) {
    struct jzx__stall end = *stall;
    end.over = true;
    end.elapsed_ns = elapsed_ns;
    end.stack_count = 0;
    end.handed_over = false;
    worker->sched->ops.tell_stall(worker, &end);
}

/* By the watchdog, or after its end by the caller of run. */
static void end_report(struct jzx__worker *worker, uint64_t now) {
    if (!claim_report(worker, REPORT_NONE))
        return;
    jzx__touch(&worker->reported);
    tell_end(worker, &worker->reported, now - worker->reported_ns);
}

/* Tells of a turn that keeps its worker. The last report has ended, as it was of another tick. */
static void report(struct jzx__sched *sched, struct jzx__worker *worker,
                   const struct jzx__stall *stall, uint64_t tick) {
    /* acquire: pairs with the release in end_own_report; the worker has read the last one */
    if (jzx__atomic_load_acquire(&worker->report_state) != REPORT_NONE)
        return; /* it is about to; the next look comes */
    jzx__touch(&worker->reported);
    worker->reported = *stall;
    worker->reported_ns = tick;
    jzx__counter_add(&worker->counters.stalls, 1);
    sched->ops.tell_stall(worker, stall);
    /* release: pairs with the claim; publishes the report */
    jzx__atomic_store_release(&worker->report_state, (uint32_t)REPORT_OPEN);
    if (tick_of(worker) != tick) /* else the next look sees it, if the worker does not */
        end_report(worker, jzx__clock_now(&sched->clock));
}

/* What the turn in a seat is about, for those who may look. */
static struct jzx__stall stall_of(const struct jzx__seat *seat, uint64_t elapsed_ns) {
    /* relaxed, all: this thread's own, or left with the worker by its thread */
    struct jzx__task *task = jzx__atomic_load_relaxed(&seat->task);
    uint64_t id = jzx__atomic_load_relaxed(&task->id);
    /* relaxed: as above */
    uint32_t tag = jzx__atomic_load_relaxed(&seat->tag);
    return (struct jzx__stall){.task = task, .id = id, .tag = tag, .elapsed_ns = elapsed_ns};
}

static bool is_same(const struct jzx__stall *a, const struct jzx__stall *b) {
    return a->task == b->task && a->id == b->id && a->tag == b->tag;
}

/* Tells of the turn that goes on without its worker, unless it was reported before. It may be
 * another than the one that was seen: the thread went on until it left its bracket. Such a turn,
 * which began at that time or later, is no stall yet, and is told of when it is taken back, if it
 * has become one. */
static void report_away(struct jzx__sched *sched, struct jzx__worker *worker,
                        struct jzx__seat *seat, const struct jzx__stall *seen, uint64_t began_ns) {
    uint64_t now = jzx__clock_now(&sched->clock);
    struct jzx__stall stall = stall_of(seat, now - began_ns);
    /* relaxed: read by this thread, and by who gets the worker from it */
    jzx__atomic_store_relaxed(&seat->lost_at_ns, began_ns);
    jzx__touch(&seat->is_untold);
    if (claim_report(worker, REPORT_NONE)) {
        jzx__touch(&worker->reported);
        if (worker->reported_ns == began_ns && is_same(&worker->reported, &stall)) {
            seat->is_untold = false;
            return;
        }
        tell_end(worker, &worker->reported, now - worker->reported_ns);
    }
    seat->is_untold = stall.elapsed_ns < sched->crew.stall_after_ns;
    if (seat->is_untold)
        return;
    stall.handed_over = true;
    stall.stack = seen->stack;
    stall.stack_count = is_same(&stall, seen) ? seen->stack_count : 0;
    jzx__counter_add(&worker->counters.stalls, 1);
    sched->ops.tell_stall(worker, &stall);
}

/* Tells of a turn that was a stall when it was seen, and ended while its worker was taken. */
static void report_past(struct jzx__sched *sched, struct jzx__worker *worker,
                        const struct jzx__stall *seen, uint64_t elapsed_ns) {
    struct jzx__stall stall = *seen;
    stall.handed_over = true;
    jzx__counter_add(&worker->counters.stalls, 1);
    sched->ops.tell_stall(worker, &stall);
    tell_end(worker, &stall, elapsed_ns);
}

/* Until when the turn took that was seen at the tick, or 0 if it goes on. The worker is ours. */
static uint64_t end_of_seen(struct jzx__sched *sched, struct jzx__worker *worker,
                            struct jzx__seat *seat, const struct jzx__stall *seen, uint64_t tick) {
    if (tick_of(worker) != tick)
        return tick_of(worker);
    /* relaxed: the thread wrote it before it left */
    if (jzx__atomic_load_relaxed(&seat->task) != NULL) {
        struct jzx__stall now = stall_of(seat, 0);
        if (is_same(&now, seen))
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
        report_past(sched, worker, &seen->stall, end_ns - seen->tick);
    /* relaxed: the thread wrote it before it left */
    if (jzx__atomic_load_relaxed(&seat->task) != NULL)
        report_away(sched, worker, seat, &seen->stall, end_ns != 0 ? end_ns : seen->tick);
    else /* the turn was over when the thread left */
        end_report(worker, jzx__clock_now(&sched->clock));
    give(sched, next, worker);
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
        ask_stack(sched, thread);
        seen.stall.stack = thread->stack;
        seen.stall.stack_count = thread->stack_count;
        if (tick_of(worker) != tick)
            return; /* the signal has ended what it waited for */
    }
    struct jzx__thread *next = take(sched, worker, seen.seat, tick);
    if (next != NULL)
        hand_over(sched, worker, &seen, next);
    else if (seen.is_news)
        report(sched, worker, &seen.stall, tick);
}

/* One look at a worker. Returns when to look again, JZX_NEVER while it sleeps. */
static uint64_t look_at(struct jzx__sched *sched, struct jzx__worker *worker, uint64_t now) {
    uint64_t patience = sched->crew.stall_after_ns;
    uint64_t tick = tick_of(worker);
    bool sleeps = jzx__parker_sleeps(&worker->parker);
    if (sleeps || tick != worker->reported_ns)
        end_report(worker, now);
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
    install_signal(crew);
    crew->is_watched = start_thread(sched);
    if (!crew->is_watched)
        restore_signal(crew);
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
    restore_signal(&sched->crew);
}

/* ---- what the worker itself says ---- */

void jzx__crew_end_stall(struct jzx__worker *me, const struct jzx__seat *seat) {
    /* relaxed: written before this thread got the worker */
    uint64_t lost_at = jzx__atomic_load_relaxed(&seat->lost_at_ns);
    /* A turn that had just begun when it was noted may have been over. */
    uint64_t elapsed = seat->returned_at_ns > lost_at ? seat->returned_at_ns - lost_at : 0;
    struct jzx__stall stall = stall_of(seat, elapsed);
    jzx__touch(&seat->is_untold);
    if (seat->is_untold && elapsed < me->sched->crew.stall_after_ns)
        return;
    if (seat->is_untold) {
        stall.handed_over = true;
        jzx__counter_add_shared(&jzx__sched_foreign(me->sched)->counters.stalls, 1);
        me->sched->ops.tell_stall(me, &stall);
    }
    tell_end(me, &stall, elapsed);
}

void jzx__crew_end_report(struct jzx__worker *worker) {
    end_report(worker, jzx__clock_now(&worker->sched->clock));
}

/* A report that is open is of a turn before this tick, and so over. */
static void end_own_report(struct jzx__worker *me) {
    if (!claim_report(me, REPORT_CLAIMED))
        return;
    jzx__touch(&me->reported);
    struct jzx__stall stall = me->reported;
    uint64_t since = me->reported_ns;
    /* release: pairs with the acquire in report; the next one may be written */
    jzx__atomic_store_release(&me->report_state, (uint32_t)REPORT_NONE);
    tell_end(me, &stall, jzx__clock_now(&me->sched->clock) - since);
}

void jzx__crew_stall_is_over(struct jzx__worker *me, struct jzx__task *task, uint64_t elapsed_ns,
                             bool single) {
    if (me->sched->worker_count > 1) {
        end_own_report(me);
    } else if (single && task != NULL) { /* else it may have been many messages */
        struct jzx__stall stall = stall_of(jzx__seat_of_thread, elapsed_ns);
        jzx__counter_add(&me->counters.stalls, 1);
        me->sched->ops.tell_stall(me, &stall);
        tell_end(me, &stall, elapsed_ns);
    }
}
