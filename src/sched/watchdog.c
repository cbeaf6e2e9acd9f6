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
    struct sigaction action = {.sa_handler = answer, .sa_flags = SA_RESTART};
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

/* A thread without a worker; under the lock. NULL if there is none and there may be no more. */
static struct jzx__thread *take_spare(struct jzx__sched *sched) {
    struct jzx__crew *crew = &sched->crew;
    struct jzx__thread *thread = crew->spares;
    if (thread != NULL) {
        crew->spares = thread->next_spare;
        return thread;
    }
    uint32_t spare_count = crew->thread_count + 1 - sched->worker_count;
    return spare_count < crew->spare_max ? jzx__crew_start_thread(sched, JZX_NONE) : NULL;
}

/* Until the thread of the seat has left its bracket: it is about to, or in a callback. */
static void await_leave(struct jzx__seat *seat) {
    /* acquire: pairs with the release in leave; the worker is as the thread left it */
    while (jzx__atomic_load_acquire(&seat->in_runtime) != 0)
        sched_yield();
}

/* Clears the pointer of the seat, if a spare is there to take its worker (C1). */
static struct jzx__thread *begin_take(struct jzx__sched *sched, struct jzx__worker *worker,
                                      struct jzx__seat *seat) {
    struct jzx__crew *crew = &sched->crew;
    struct jzx__thread *spare = NULL;
    jzx__lock_acquire(&crew->lock);
    /* relaxed: changes under the lock */
    if (jzx__atomic_load_relaxed(&seat->worker) == worker)
        spare = take_spare(sched);
    if (spare != NULL) {
        /* seq_cst: pairs with the load of a worker that goes to sleep (R14). A thread that enters
         * is ordered by the barrier */
        jzx__atomic_store_seq_cst(&seat->worker, NULL);
    }
    jzx__lock_release(&crew->lock);
    return spare;
}

/* Takes the worker from the seat: it is ours from then on, until we give it away. The lock is not
 * held while we wait for the thread to leave: it may need it to get there. NULL if that cannot be;
 * else the thread that is to drive it. */
static struct jzx__thread *take(struct jzx__sched *sched, struct jzx__worker *worker,
                                struct jzx__seat *seat) {
    /* relaxed: a hint. In a callback of the runtime nobody can be relieved */
    if (!sched->crew.can_take || jzx__atomic_load_relaxed(&seat->in_runtime) != 0)
        return NULL;
    struct jzx__thread *spare = begin_take(sched, worker, seat);
    if (spare == NULL)
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
    return spare;
}

static void give(struct jzx__sched *sched, struct jzx__thread *spare, struct jzx__worker *worker) {
    jzx__lock_acquire(&sched->crew.lock);
    jzx__crew_give(sched, spare, worker);
    jzx__lock_release(&sched->crew.lock);
}

/* ---- noticing ---- */

/* Whose turn a worker is in, if it has not ticked since `tick`. */
static bool observe(struct jzx__worker *worker, struct jzx__seat *seat, uint64_t tick,
                    struct jzx__stall *stall) {
    /* acquire: pairs with the release in the turn; the task's words may be read */
    stall->task = jzx__atomic_load_acquire(&seat->task);
    if (stall->task == NULL)
        return false;
    /* relaxed, both: a picture, confirmed below */
    stall->id = jzx__atomic_load_relaxed(&stall->task->id);
    stall->tag = jzx__atomic_load_relaxed(&seat->tag);
    return tick_of(worker) == tick;
}

/* The worker's end of a report that is not handed over: whoever comes second tells the end. */
enum { REPORT_NONE, REPORT_TELLING, REPORT_TOLD, REPORT_ENDED };

static void tell_end(struct jzx__worker *worker, const struct jzx__stall *stall,
                     uint64_t elapsed_ns) {
    struct jzx__stall end = *stall;
    end.over = true;
    end.elapsed_ns = elapsed_ns;
    end.stack_count = 0;
    end.handed_over = false;
    worker->sched->ops.tell_stall(worker, &end);
}

/* A report of this worker whose end nobody told, because its tick passed by. */
static void end_last_report(struct jzx__worker *worker, uint64_t now) {
    uint32_t told = REPORT_TOLD;
    /* seq_cst: pairs with the exchange in stall_is_over: one of us tells the end */
    if (jzx__atomic_cas_strong_seq_cst(&worker->report_state, &told, (uint32_t)REPORT_ENDED)) {
        /* relaxed: only this thread writes it */
        uint64_t tick = jzx__atomic_load_relaxed(&worker->reported_ns);
        tell_end(worker, &worker->reported, now - tick);
    }
}

static void tell(struct jzx__sched *sched, struct jzx__worker *worker,
                 const struct jzx__stall *stall, uint64_t tick) {
    end_last_report(worker, jzx__clock_now(&sched->clock));
    jzx__counter_add(&worker->counters.stalls, 1);
    /* relaxed: read by this thread, and by the worker after the next store */
    jzx__atomic_store_relaxed(&worker->reported_ns, tick);
    if (stall->handed_over) { /* its end is told when the turn is taken back */
        sched->ops.tell_stall(worker, stall);
        return;
    }
    worker->reported = *stall;
    /* release: pairs with the acquire in stall_is_over; publishes the report */
    jzx__atomic_store_release(&worker->report_state, (uint32_t)REPORT_TELLING);
    sched->ops.tell_stall(worker, stall);
    uint32_t telling = REPORT_TELLING;
    /* seq_cst: pairs with the exchange in stall_is_over: one of us tells the end */
    if (!jzx__atomic_cas_strong_seq_cst(&worker->report_state, &telling, (uint32_t)REPORT_TOLD))
        tell_end(worker, stall, jzx__clock_now(&sched->clock) - tick);
}

static void handle_stall(struct jzx__sched *sched, struct jzx__worker *worker, uint64_t now) {
    uint64_t tick = tick_of(worker);
    struct jzx__stall stall = {.elapsed_ns = now - tick};
    /* acquire: pairs with the release in sit; threads live until the run is over */
    struct jzx__seat *seat = jzx__atomic_load_acquire(&worker->seat);
    if (seat == NULL || !observe(worker, seat, tick, &stall))
        return;
    /* relaxed: only this thread writes it */
    bool is_news = jzx__atomic_load_relaxed(&worker->reported_ns) != tick;
    if (is_news) {
        struct jzx__thread *thread = JZX_CONTAINER_OF(seat, struct jzx__thread, seat);
        ask_stack(sched, thread);
        stall.stack = thread->stack;
        stall.stack_count = thread->stack_count;
        if (tick_of(worker) != tick)
            return; /* the signal has ended what it waited for */
    }
    struct jzx__thread *spare = take(sched, worker, seat);
    stall.handed_over = spare != NULL;
    if (is_news)
        tell(sched, worker, &stall, tick); /* before anything else can happen to the task */
    if (spare != NULL) {
        jzx__counter_add(&worker->counters.handovers, 1);
        seat->lost_at_ns = tick;
        give(sched, spare, worker);
    }
}

/* One look at a worker. Returns when to look again, JZX_NEVER while it sleeps. */
static uint64_t look_at(struct jzx__sched *sched, struct jzx__worker *worker, uint64_t now) {
    uint64_t patience = sched->crew.stall_after_ns;
    uint64_t tick = tick_of(worker);
    if (jzx__parker_sleeps(&worker->parker))
        return JZX_NEVER;
    if (now - tick >= patience && now > tick) {
        handle_stall(sched, worker, now);
        return now + patience;
    }
    if (now > tick && now - tick >= patience / 2) {
        /* relaxed: see the field; a lost store is made again at the next look */
        jzx__atomic_store_relaxed(&worker->tick_left, 1u);
        return tick + patience;
    }
    return tick + patience / 2;
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
    restore_signal(crew);
}

/* ---- what the worker itself says ---- */

/* What the turn in a seat is about, for those who may look. */
static struct jzx__stall stall_of(const struct jzx__seat *seat, uint64_t elapsed_ns) {
    /* relaxed, all: this thread's own, or left with the worker by its thread */
    struct jzx__task *task = jzx__atomic_load_relaxed(&seat->task);
    uint64_t id = jzx__atomic_load_relaxed(&task->id);
    /* relaxed: as above */
    uint32_t tag = jzx__atomic_load_relaxed(&seat->tag);
    return (struct jzx__stall){.task = task, .id = id, .tag = tag, .elapsed_ns = elapsed_ns};
}

void jzx__crew_end_stall(struct jzx__worker *me, const struct jzx__seat *seat) {
    uint64_t now = jzx__clock_now(&me->sched->clock);
    uint64_t elapsed = now - seat->lost_at_ns;
    struct jzx__stall stall = stall_of(seat, elapsed);
    tell_end(me, &stall, elapsed);
}

void jzx__crew_stall_is_over(struct jzx__worker *me, struct jzx__task *task, uint64_t tick,
                             uint64_t elapsed_ns, bool single) {
    if (me->sched->worker_count > 1) {
        /* acquire: pairs with the release of the watchdog */
        uint32_t state = jzx__atomic_load_acquire(&me->report_state);
        /* relaxed: published with the state */
        if ((state != REPORT_TELLING && state != REPORT_TOLD) ||
            jzx__atomic_load_relaxed(&me->reported_ns) != tick)
            return;
        struct jzx__stall stall = me->reported;
        /* seq_cst: pairs with the exchanges of the watchdog: one of us tells the end */
        state = jzx__atomic_exchange_seq_cst(&me->report_state, (uint32_t)REPORT_ENDED);
        if (state == REPORT_TOLD)
            tell_end(me, &stall, elapsed_ns);
    } else if (single && task != NULL) { /* else it may have been many messages */
        struct jzx__stall stall = stall_of(jzx__seat_of_thread, elapsed_ns);
        jzx__counter_add(&me->counters.stalls, 1);
        me->sched->ops.tell_stall(me, &stall);
        tell_end(me, &stall, elapsed_ns);
    }
}
