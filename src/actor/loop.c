/* SPDX-License-Identifier: MIT */
/* Who drives a loop, and what is numbered in it. */
#include "actor/loop.h"

#include "base/log.h"
#include "sched/balance.h"
#include "sched/crew.h"

#include <sched.h>

/* Worker w counts its own references up from w + 1 in the upper bits; threads without one share. */
#define REF_WORKER_SHIFT 48

uint64_t jzx__loop_new_ref(struct jzx_loop *loop, struct jzx__worker *me) {
    if (me == NULL) /* relaxed: it is to differ from others, no more */
        return jzx__atomic_add_relaxed(&loop->refs, 1u) + 1;
    return ((uint64_t)me->index + 1) << REF_WORKER_SHIFT | ++jzx__actor_worker_of(me)->refs;
}

/* False if another thread drives the loop. Waits for those that look at it. */
static bool begin_to_drive(struct jzx_loop *loop, uint32_t bits) {
    /* relaxed: a first guess for the exchange below */
    uint32_t word = jzx__atomic_load_relaxed(&loop->driven);
    do {
        while ((word & JZX__BRIEF) != 0) {
            sched_yield();
            /* relaxed: as above */
            word = jzx__atomic_load_relaxed(&loop->driven);
        }
        if (word & JZX__DRIVEN)
            return false;
        /* acquire: pairs with the release in leave; what the last driver wrote is ours */
    } while (!jzx__atomic_cas_acq_rel(&loop->driven, &word, word | bits));
    /* acquire: pairs with the release in look_end; the look is over before we write */
    while (jzx__atomic_load_acquire(&loop->driven) != bits)
        sched_yield();
    return true;
}

bool jzx__loop_look_begin(struct jzx_loop *loop) {
    /* relaxed: a first guess for the exchange below */
    uint32_t word = jzx__atomic_load_relaxed(&loop->driven);
    do {
        if (word & JZX__DRIVEN)
            return false;
        /* acquire: pairs with the release in leave; what the last driver wrote is visible */
    } while (!jzx__atomic_cas_acq_rel(&loop->driven, &word, word + JZX__LOOK));
    return true;
}

void jzx__loop_look_end(struct jzx_loop *loop) {
    /* release: pairs with the acquire in begin_to_drive */
    jzx__atomic_add_acq_rel(&loop->driven, 0u - JZX__LOOK);
}

static bool enter(struct jzx_loop *loop, struct jzx__drive *drive, uint32_t bits) {
    drive->me = jzx__loop_visit(loop, &drive->visit);
    drive->nested = drive->me != NULL;
    if (drive->nested)
        return true;
    jzx__visit_end(&drive->visit);
    if (!begin_to_drive(loop, bits))
        return false;
    drive->me = loop->sched.workers[0];
    drive->seat = &loop->seat;
    jzx__fault_arm(loop->sched.crew.main.guard);
    jzx__seat_init(drive->seat, NULL);
    jzx__crew_sit(drive->seat, drive->me, true);
    jzx__seat_enter(drive->seat);
    return true;
}

bool jzx__loop_enter(struct jzx_loop *loop, struct jzx__drive *drive) {
    return enter(loop, drive, JZX__DRIVEN);
}

bool jzx__loop_enter_briefly(struct jzx_loop *loop, struct jzx__drive *drive) {
    return enter(loop, drive, JZX__DRIVEN | JZX__BRIEF);
}

void jzx__loop_leave(struct jzx_loop *loop, const struct jzx__drive *drive) {
    if (drive->nested) {
        jzx__visit_end(&drive->visit);
        return;
    }
    jzx__crew_rise(drive->seat, drive->me);
    jzx__seat_deinit(drive->seat);
    jzx__fault_disarm(loop->sched.crew.main.guard);
    /* release: pairs with the acquire in begin_to_drive and look_begin. Nobody looks now */
    jzx__atomic_store_release(&loop->driven, 0u);
}

void jzx__loop_take_in_all(struct jzx_loop *loop, struct jzx__seat *seat) {
    struct jzx__sched *sched = &loop->sched;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        jzx__crew_sit(seat, sched->workers[i], true);
        jzx__worker_drain_inject(sched->workers[i], UINT32_MAX);
        while (jzx__balance_reclaim(sched->workers[i]))
            continue;
        jzx__crew_rise(seat, sched->workers[i]);
    }
    jzx__crew_sit(seat, sched->workers[0], true);
    while (jzx__balance_take_global(sched->workers[0]))
        continue;
}

/* Seats live as long as the loop. */
jzx_actor_id jzx__loop_running_on(const struct jzx_loop *loop, uint32_t worker, uint32_t *tag) {
    /* acquire: pairs with the release in sit */
    struct jzx__seat *seat = jzx__atomic_load_acquire(&loop->sched.workers[worker]->seat);
    if (seat == NULL)
        return JZX_NOBODY;
    /* acquire: pairs with the release in the turn; the task's words may be read */
    struct jzx__task *task = jzx__atomic_load_acquire(&seat->task);
    /* relaxed: a picture of the moment */
    if (tag != NULL)
        *tag = jzx__atomic_load_relaxed(&seat->tag);
    /* acquire: pairs with the release that makes an id stale, as in lookup */
    return task == NULL ? JZX_NOBODY : jzx__atomic_load_acquire(&task->id);
}

void jzx__loop_emit(struct jzx_loop *loop, const jzx_event *event) {
    static _Thread_local uint32_t depth; /* observers that are being called on this thread */
    if (!jzx__observer_is_set(&loop->observer))
        return;
    struct jzx__visit visit;
    jzx__visit_begin(&visit);
    if (depth < JZX_NESTING_MAX) {
        depth++;
        jzx__observer_emit(&loop->observer, event);
        depth--;
    } else {
        jzx__log(&loop->sched.log, JZX_LOG_WARN,
                 "an event of actor %u.%u is not shown: %u observers are being called inside each "
                 "other",
                 jzx_id_index(event->actor), jzx_id_generation(event->actor), depth);
    }
    jzx__visit_end(&visit);
}
