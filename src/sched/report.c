/* SPDX-License-Identifier: MIT */
/* What is told of stalls. See sched/report.h. */
#include "sched/report.h"

#include "sched/sched.h"

/* Whose a worker's reported and reported_ns are. While they are the watchdog's it tells of a stall;
 * then it leaves them open to whoever sees first that the turn went on: the worker in a tick, the
 * watchdog at a look, or the caller of run in the end. Who claims them tells the end, and nobody
 * else can. The worker gives them back before that, so that the watchdog need not wait for an
 * observer. A turn that goes on without its worker leaves nothing open: its end is told when it is
 * taken back. */
enum { REPORT_NONE, REPORT_OPEN, REPORT_CLAIMED }; /* the watchdog's, anybody's, the worker's */

static bool claim(struct jzx__worker *worker, uint32_t next) {
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
void jzx__report_end(struct jzx__worker *worker, uint64_t now) {
    if (!claim(worker, REPORT_NONE))
        return;
    jzx__touch(&worker->reported);
    tell_end(worker, &worker->reported, now - worker->reported_ns);
}

/* Tells of a turn that keeps its worker. The last report has ended, as it was of another tick. */
void jzx__report_open(struct jzx__worker *worker, const struct jzx__stall *stall, uint64_t tick) {
    struct jzx__sched *sched = worker->sched;
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
    if (jzx__worker_last_tick(worker) !=
        tick) /* else the next look sees it, if the worker does not */
        jzx__report_end(worker, jzx__clock_now(&sched->clock));
}

/* What the turn in a seat is about, for those who may look. */
struct jzx__stall jzx__stall_of(const struct jzx__seat *seat, uint64_t elapsed_ns) {
    /* relaxed, all: this thread's own, or left with the worker by its thread */
    struct jzx__task *task = jzx__atomic_load_relaxed(&seat->task);
    uint64_t id = jzx__atomic_load_relaxed(&task->id);
    /* relaxed: as above */
    uint32_t tag = jzx__atomic_load_relaxed(&seat->tag);
    return (struct jzx__stall){.task = task, .id = id, .tag = tag, .elapsed_ns = elapsed_ns};
}

bool jzx__stall_is_same(const struct jzx__stall *a, const struct jzx__stall *b) {
    return a->task == b->task && a->id == b->id && a->tag == b->tag;
}

/* ---- turns that go on without their worker ---- */

/* Says of the turn in a seat, which has lost its worker, whether it was told of before. It may be
 * another than the one that was seen: the thread went on until it left its bracket. Such a turn
 * began at that time or later. */
void jzx__report_away(struct jzx__worker *worker, struct jzx__seat *seat, uint64_t began_ns) {
    uint64_t now = jzx__clock_now(&worker->sched->clock);
    struct jzx__stall stall = jzx__stall_of(seat, now - began_ns);
    bool was_told = false;
    /* relaxed, both stores: read by this thread, and by the one that gets the worker from it */
    jzx__atomic_store_relaxed(&seat->lost_at_ns, began_ns);
    if (claim(worker, REPORT_NONE)) {
        jzx__touch(&worker->reported);
        was_told = worker->reported_ns == began_ns && jzx__stall_is_same(&worker->reported, &stall);
        if (!was_told)
            tell_end(worker, &worker->reported, now - worker->reported_ns);
    }
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&seat->told,
                              (uint32_t)(was_told ? JZX__TELL_TOLD : JZX__TELL_UNTOLD));
}

bool jzx__report_is_untold(const struct jzx__seat *seat) {
    /* relaxed: a hint, confirmed by the exchange that follows */
    return jzx__atomic_load_relaxed(&seat->told) == JZX__TELL_UNTOLD;
}

/* The turn in that seat has become a stall. */
void jzx__report_lost(struct jzx__seat *seat, struct jzx__stall *stall) {
    struct jzx__worker *worker = seat->lost_worker;
    uint32_t untold = JZX__TELL_UNTOLD;
    /* acq_rel: pairs with the exchanges of the worker that takes the turn back */
    if (!jzx__atomic_cas_strong_acq_rel(&seat->told, &untold, (uint32_t)JZX__TELL_TELLING))
        return;
    jzx__counter_add_shared(&jzx__sched_foreign(worker->sched)->counters.stalls, 1);
    worker->sched->ops.tell_stall(worker, stall);
    uint32_t telling = JZX__TELL_TELLING;
    /* acq_rel: pairs with the same */
    if (!jzx__atomic_cas_strong_acq_rel(&seat->told, &telling, (uint32_t)JZX__TELL_TOLD))
        tell_end(worker, stall, seat->ended_ns);
}

/* Tells of a turn that was a stall when it was seen, and ended while its worker was taken. */
void jzx__report_past(struct jzx__worker *worker, const struct jzx__stall *seen,
                      uint64_t elapsed_ns) {
    struct jzx__sched *sched = worker->sched;
    jzx__counter_add(&worker->counters.stalls, 1);
    sched->ops.tell_stall(worker, seen);
    tell_end(worker, seen, elapsed_ns);
}

void jzx__report_held_up(struct jzx__worker *worker, uint64_t delay_ns) {
    jzx__counter_add(&worker->counters.held_up, 1);
    jzx__counter_add(&worker->counters.held_up_ns, delay_ns);
}

/* ---- what the worker itself says ---- */

void jzx__report_returned(struct jzx__worker *me, struct jzx__seat *seat) {
    struct jzx__sched *sched = me->sched;
    /* relaxed, both: written before this thread got the worker, or the turn */
    uint64_t lost_ns = jzx__atomic_load_relaxed(&seat->lost_at_ns);
    uint64_t returned_ns = jzx__atomic_load_relaxed(&seat->returned_at_ns);
    /* A turn that had just begun when it was noted may have been over. */
    seat->ended_ns = returned_ns > lost_ns ? returned_ns - lost_ns : 0;
    struct jzx__stall stall = jzx__stall_of(seat, seat->ended_ns);
    /* acq_rel: pairs with the exchanges of the watchdog; ended_ns may be read */
    uint32_t was = jzx__atomic_exchange_acq_rel(&seat->told, (uint32_t)JZX__TELL_OVER);
    if (was == JZX__TELL_TELLING && !JZX__MUTANT(return_tells_as_well))
        return;
    if (was == JZX__TELL_UNTOLD) {
        if (stall.elapsed_ns < sched->crew.stall_after_ns)
            return;
        stall.handed_over = seat->has_successor;
        stall.cause = seat->cause;
        if (stall.cause == JZX__CAUSE_HELD_UP)
            return;
        jzx__counter_add_shared(&jzx__sched_foreign(sched)->counters.stalls, 1);
        sched->ops.tell_stall(me, &stall);
    }
    tell_end(me, &stall, stall.elapsed_ns);
}

/* A report that is open is of a turn before this tick, and so over. */
static void end_own_report(struct jzx__worker *me) {
    if (!claim(me, REPORT_CLAIMED))
        return;
    jzx__touch(&me->reported);
    struct jzx__stall stall = me->reported;
    uint64_t since = me->reported_ns;
    /* release: pairs with the acquire in report; the next one may be written */
    jzx__atomic_store_release(&me->report_state, (uint32_t)REPORT_NONE);
    tell_end(me, &stall, jzx__clock_now(&me->sched->clock) - since);
}

void jzx__report_tick(struct jzx__worker *me, struct jzx__task *task, uint64_t elapsed_ns,
                      bool single) {
    if (me->sched->worker_count > 1) {
        end_own_report(me);
    } else if (single && task != NULL) { /* else it may have been many messages */
        struct jzx__stall stall = jzx__stall_of(jzx__seat_of_thread, elapsed_ns);
        uint64_t delay_ns;
        stall.cause = jzx__meter_cause(me, elapsed_ns, &delay_ns);
        if (stall.cause == JZX__CAUSE_HELD_UP) {
            jzx__report_held_up(me, delay_ns);
            return;
        }
        jzx__counter_add(&me->counters.stalls, 1);
        me->sched->ops.tell_stall(me, &stall);
        tell_end(me, &stall, elapsed_ns);
    }
}
