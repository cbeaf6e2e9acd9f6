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

/* Tells of the turn that goes on without its worker, unless it was reported before. It may be
 * another than the one that was seen: the thread went on until it left its bracket. Such a turn,
 * which began at that time or later, is no stall yet, and is told of when it is taken back, if it
 * has become one. */
void jzx__report_away(struct jzx__worker *worker, struct jzx__seat *seat,
                      const struct jzx__stall *seen, uint64_t began_ns) {
    struct jzx__sched *sched = worker->sched;
    uint64_t now = jzx__clock_now(&sched->clock);
    struct jzx__stall stall = jzx__stall_of(seat, now - began_ns);
    /* relaxed: read by this thread, and by who gets the worker from it */
    jzx__atomic_store_relaxed(&seat->lost_at_ns, began_ns);
    jzx__touch(&seat->is_untold);
    if (claim(worker, REPORT_NONE)) {
        jzx__touch(&worker->reported);
        if (worker->reported_ns == began_ns && jzx__stall_is_same(&worker->reported, &stall)) {
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
    stall.stack_count = jzx__stall_is_same(&stall, seen) ? seen->stack_count : 0;
    jzx__counter_add(&worker->counters.stalls, 1);
    sched->ops.tell_stall(worker, &stall);
}

/* Tells of a turn that was a stall when it was seen, and ended while its worker was taken. */
void jzx__report_past(struct jzx__worker *worker, const struct jzx__stall *seen,
                      uint64_t elapsed_ns) {
    struct jzx__sched *sched = worker->sched;
    struct jzx__stall stall = *seen;
    stall.handed_over = true;
    jzx__counter_add(&worker->counters.stalls, 1);
    sched->ops.tell_stall(worker, &stall);
    tell_end(worker, &stall, elapsed_ns);
}

/* ---- what the worker itself says ---- */

void jzx__report_returned(struct jzx__worker *me, const struct jzx__seat *seat) {
    /* relaxed: written before this thread got the worker */
    uint64_t lost_at = jzx__atomic_load_relaxed(&seat->lost_at_ns);
    /* A turn that had just begun when it was noted may have been over. */
    uint64_t elapsed = seat->returned_at_ns > lost_at ? seat->returned_at_ns - lost_at : 0;
    struct jzx__stall stall = jzx__stall_of(seat, elapsed);
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
        jzx__counter_add(&me->counters.stalls, 1);
        me->sched->ops.tell_stall(me, &stall);
        tell_end(me, &stall, elapsed_ns);
    }
}
