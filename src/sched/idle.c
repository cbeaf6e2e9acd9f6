/* SPDX-License-Identifier: MIT */
/* What a worker does that has nothing to run: look elsewhere, spin for a moment, sleep (K3-K6). */
#include "sched/idle.h"

#include "base/assert.h"
#include "sched/balance.h"
#include "sched/place.h"
#include "sched/sched.h"

#include "jzx/time.h"

#include <sched.h>

/* The first looks of an idle worker follow each other at once; from then on it lets other threads
 * run before each. */
#define LOOKS_TIGHT 4u

/* Others that have run for longer need the CPU more than the next look does. */
#define YIELD_NS_MAX 50000u

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* True if the thread has lost the worker, as far as a hint goes. */
static bool is_lost(const struct jzx__worker *me) {
    /* relaxed: looked at again in seq_cst order before sleeping */
    return jzx__atomic_load_relaxed(&jzx__seat_of_thread->worker) != me;
}

/* K6 */
static bool may_take(const struct jzx__sched *sched) {
    /* after the decrement of the last active worker, which then looks at all offers */
    return jzx__sched_busy(sched) < sched->cpu_count;
}

static bool somebody_offers(const struct jzx__worker *me) {
    const struct jzx__sched *sched = me->sched;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        if (!jzx__deque_is_empty_seq_cst(&sched->workers[i]->deque))
            return true;
    }
    return false;
}

/* ---- looking around ---- */

static bool something_is_in_sight(const struct jzx__worker *me) {
    if (jzx__worker_has_work(me) || jzx__sched_is_leaving(me->sched) || is_lost(me) ||
        jzx__global_count(&me->sched->global) != 0)
        return true;
    for (uint32_t i = 0; i < me->sched->worker_count; i++) {
        if (jzx__deque_count(&me->sched->workers[i]->deque) != 0)
            return may_take(me->sched);
    }
    return false;
}

/* One look: a few microseconds, by the length of a pause. */
static bool look(const struct jzx__worker *me) {
    for (uint32_t i = 0; i < me->sched->spin_peeks; i++) {
        if (something_is_in_sight(me))
            return true;
        relax();
    }
    return false;
}

/* Lets other threads run. False if they have run for long: on a machine with more to do than CPUs
 * each further time would cost that again, and what is due meanwhile would be late. */
static bool let_others_run(const struct jzx__sched *sched) {
    uint64_t before = jzx__clock_now(&sched->clock);
    sched_yield();
    return jzx__clock_now(&sched->clock) - before < YIELD_NS_MAX;
}

/* Looks around for some ten microseconds before it sleeps: who is busy notices within a few ticks
 * that somebody is idle, and waking costs both more than this. At most one worker at a time, and
 * none beyond the CPUs (K6); and none with I/O, which would have to wait meanwhile. True if it saw
 * something. */
static bool spin(struct jzx__worker *me) {
    struct jzx__sched *sched = me->sched;
    uint32_t nobody = 0;
    if (sched->worker_count == 1 || sched->cpu_count == 1 || sched->spin_looks == 0 ||
        me->io_count != 0 || !may_take(sched))
        return false;
    /* relaxed: a first look. seq_cst: pairs with the load in wake_one, which leaves to a spinner
     * what was offered before */
    if (jzx__atomic_load_relaxed(&sched->spinners) != 0 ||
        !jzx__atomic_cas_strong_seq_cst(&sched->spinners, &nobody, 1u))
        return false;
    bool seen = something_is_in_sight(me);
    for (uint32_t i = 0; i < sched->spin_looks && !seen; i++) {
        if (i >= LOOKS_TIGHT && !let_others_run(sched))
            break;
        seen = look(me);
    }
    /* seq_cst: pairs with the load in wake_one: what that leaves to a spinner is seen by the looks
     * that come after this, before the worker sleeps */
    jzx__atomic_store_seq_cst(&sched->spinners, 0u);
    return seen;
}

/* ---- sleeping ---- */

static bool nobody_brought(const struct jzx__worker *me) {
    for (uint32_t i = 0; i < me->sched->feed_count; i++) {
        if (!jzx__feed_is_empty_seq_cst(&me->feeds[i]))
            return false;
    }
    return true;
}

/* Between announcing sleep and sleeping: whatever another thread can bring, in seq_cst order. */
static bool nothing_came(struct jzx__worker *me) {
    struct jzx__sched *sched = me->sched;
    return !jzx__worker_is_due(me) && !me->poll_due && nobody_brought(me) &&
           jzx__global_is_empty_seq_cst(&sched->global) &&
           /* seq_cst: pairs with the stores in end_run and jzx_loop_stop, which then wake */
           jzx__atomic_load_seq_cst(&sched->leave) == 0 &&
           jzx__atomic_load_seq_cst(&sched->stop) == me->seen.stop;
}

/* The same for what only matters among several workers. */
static bool nobody_needs_me(struct jzx__worker *me) {
    /* seq_cst: pairs with the store of who takes the worker away, and then wakes it (R18) */
    return jzx__atomic_load_seq_cst(&jzx__seat_of_thread->worker) == me &&
           /* seq_cst: pairs with the store of the home thread, which then wakes the worker */
           jzx__atomic_load_seq_cst(&me->wanted_by) == NULL &&
           !(may_take(me->sched) && somebody_offers(me));
}

/* A sleep of that limit, 0: for ever, or up to the deadline if that comes sooner. */
static uint64_t sooner(uint64_t limit_ns, uint64_t deadline_ns, uint64_t now) {
    uint64_t left = deadline_ns > now ? deadline_ns - now : 1;
    return limit_ns == 0 || left < limit_ns ? left : limit_ns;
}

/* How long to sleep at most, 0: for ever. */
static uint64_t sleep_limit_ns(struct jzx__worker *me) {
    uint64_t limit = me->sched->park_timeout_ns;
    if (me->due_ns != JZX_NEVER)
        me->due_ns = me->sched->ops.next_due(me);
    if (me->due_ns != JZX_NEVER && me->sched->clock.is_real)
        limit = sooner(limit, me->due_ns, jzx__clock_now(&me->sched->clock));
    /* relaxed: written before the stop state that this worker has seen */
    uint64_t deadline = jzx__atomic_load_relaxed(&me->sched->stop_deadline_ns);
    if (me->index == 0 && deadline != JZX_NEVER)
        limit = sooner(limit, deadline, jzx__clock_now(&me->sched->clock));
    return limit;
}

/* K8. True if it was woken by another thread. */
static bool wait_for_io(struct jzx__worker *me) {
    uint64_t limit = sleep_limit_ns(me);
    me->sched->ops.wait(me, limit == 0 ? JZX_NEVER : limit);
    return !jzx__parker_sleeps(&me->parker);
}

/* The one place where a worker waits: it has announced that, and then found nothing. */
static void rest(struct jzx__worker *me, enum jzx__parker_state how) {
    jzx__counter_add(&me->counters.parked, 1);
    bool woken = how == JZX__SLEEPS_ON_FD ? wait_for_io(me)
                                          : jzx__parker_wait(&me->parker, sleep_limit_ns(me));
    if (woken)
        jzx__counter_add(&me->counters.woken, 1);
}

static void sleep_until_woken(struct jzx__worker *me) {
    enum jzx__parker_state how = me->io_count != 0 ? JZX__SLEEPS_ON_FD : JZX__SLEEPS_ON_FUTEX;
    if (!JZX__MUTANT(check_before_announce))
        jzx__parker_announce(&me->parker, how);
    bool quiet = nothing_came(me) && nobody_needs_me(me) && !jzx__sched_is_done(me->sched);
    if (JZX__MUTANT(check_before_announce))
        jzx__parker_announce(&me->parker, how);
    if (quiet)
        rest(me, how);
    jzx__parker_cancel(&me->parker);
}

/* After the last task that keeps the run going has ended, wherever that was, somebody sees it: who
 * adds to checks later sees the deaths of all that added before. */
static bool run_is_over(struct jzx__worker *me) {
    /* acq_rel: pairs with itself on other workers, see above */
    jzx__atomic_add_acq_rel(&me->sched->checks, 1u);
    return jzx__sched_is_done(me->sched);
}

void jzx__worker_check_end(struct jzx__worker *me) {
    /* relaxed, both: the first is this thread's own; the second only says: worth a look */
    uint64_t exited = jzx__counter_get(&me->counters.exited);
    uint32_t holds = jzx__atomic_load_relaxed(&me->sched->holds);
    bool changed = exited != me->seen.exited || (me->index == 0 && holds != me->seen.holds);
    me->seen.exited = exited;
    me->seen.holds = holds;
    if (!changed)
        return;
    if (run_is_over(me))
        jzx__sched_end_run(me->sched);
    else if (jzx__sched_live(me->sched) == 0)
        me->seen.exited =
            UINT64_MAX; /* a call, a hold or a daemon in the global queue: look again */
}

void jzx__worker_idle(struct jzx__worker *me) {
    struct jzx__sched *sched = me->sched;
    JZX_ASSERT_OWNER(me);
    if (me->poll_due || jzx__balance_find_work(me))
        return;
    uint64_t idle_at_ns = jzx__clock_now(&sched->clock);
    jzx__balance_suspend(me, idle_at_ns);
    /* seq_cst: pairs with the loads of those who make work visible and look who is awake (K4) */
    if (jzx__atomic_sub_seq_cst(&sched->active, 1u) > 1 && jzx__sched_has_idle(sched))
        jzx__crew_hurry(&sched->crew, idle_at_ns); /* W9: the other may be in a long turn */
    if (run_is_over(me))
        jzx__sched_end_run(sched);
    else if (!spin(me))
        sleep_until_woken(me);
    /* seq_cst: pairs with the same */
    jzx__atomic_add_seq_cst(&sched->active, 1u);
    if (is_lost(me))
        return;
    jzx__crew_poke(&sched->crew);
    jzx__worker_resume(me);
    jzx__place_wake(me, idle_at_ns);
    if (!jzx__worker_has_work(me) && !me->poll_due)
        jzx__balance_find_work(me);
    if (somebody_offers(me) || !jzx__global_is_empty_seq_cst(&sched->global)) /* K5 */
        jzx__sched_wake_one(sched);
}

void jzx__worker_hush_fd(struct jzx__worker *me) {
    jzx__parker_clear_fd(&me->parker);
    if (me->sched->ops.settle != NULL)
        me->sched->ops.settle(me);
}

void jzx__worker_settle_fd(struct jzx__worker *me) {
    jzx__worker_hush_fd(me);
    if (jzx__worker_has_work(me) || jzx__worker_is_due(me) || me->poll_due) {
        jzx__parker_raise_fd(&me->parker);
        return;
    }
    jzx__parker_announce(&me->parker, JZX__SLEEPS_ON_FD);
    if (!nothing_came(me)) {
        jzx__parker_cancel(&me->parker);
        jzx__parker_raise_fd(&me->parker);
    }
}
