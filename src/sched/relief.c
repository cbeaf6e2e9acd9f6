/* SPDX-License-Identifier: MIT */
/* How a worker is taken from a thread, and given to the next one, or emptied if there is none. See
 * sched/relief.h. */
#include "sched/relief.h"

#include "base/assert.h"
#include "base/futex.h"
#include "sched/balance.h"
#include "sched/crew.h"

#include <sched.h>

/* A relief must pay: the turn has lasted so many times as long as a hand-over takes. */
#define PAYS_TIMES 10u

/* An entry that is under way to an unattended worker comes within so many looks; or at the next. */
#define ENTRY_LOOKS 100u

/* ---- which thread ---- */

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

/* Undoes next_driver; under the same lock. */
static void unchoose(struct jzx__crew *crew, struct jzx__thread *thread) {
    if (thread != NULL)
        thread->is_chosen = false;
    if (thread == NULL || thread->home != NULL || thread->returned_to != NULL)
        return; /* it goes on waiting */
    thread->next_spare = crew->spares;
    crew->spares = thread;
}

/* A substitute whose turn is over, and which the worker has not taken back (C2). Under the lock. */
static struct jzx__thread *find_returned(const struct jzx__crew *crew,
                                         const struct jzx__worker *worker) {
    struct jzx__thread *thread = crew->threads;
    while (thread != NULL && thread->returned_to != worker)
        thread = thread->next;
    return thread;
}

/* The thread that is to drive the worker next: its home thread, if that waits for it (C6), else one
 * that waits for it to take a turn back, else a spare. Under the lock; and as the lock is released
 * before the gift, the thread is chosen until then: if its turn is taken back meanwhile, it is no
 * spare. */
static struct jzx__thread *next_driver(struct jzx__sched *sched, struct jzx__worker *worker) {
    /* relaxed: changes under the lock */
    struct jzx__thread *next = jzx__atomic_load_relaxed(&worker->wanted_by);
    if (next == NULL || JZX__MUTANT(watchdog_forgets_home))
        next = find_returned(&sched->crew, worker);
    if (next == NULL)
        next = take_spare(sched);
    if (next != NULL)
        next->is_chosen = true;
    return next;
}

bool jzx__relief_has_driver(struct jzx__sched *sched, struct jzx__worker *worker) {
    struct jzx__crew *crew = &sched->crew;
    jzx__lock_acquire(&crew->lock);
    struct jzx__thread *next = next_driver(sched, worker);
    unchoose(crew, next);
    jzx__lock_release(&crew->lock);
    return next != NULL;
}

bool jzx__relief_prepare(struct jzx__sched *sched) {
    struct jzx__crew *crew = &sched->crew;
    jzx__lock_acquire(&crew->lock);
    if (crew->spares == NULL)
        unchoose(crew, take_spare(sched));
    bool is_there = crew->spares != NULL;
    jzx__lock_release(&crew->lock);
    return is_there;
}

/* ---- taking ---- */

/* Until the thread of the seat has left its bracket: it is about to, or in a callback. */
static void await_leave(struct jzx__seat *seat) {
    /* acquire: pairs with the release in leave; the worker is as the thread left it */
    while (jzx__atomic_load_acquire(&seat->in_runtime) != 0)
        sched_yield();
}

/* What the thread of the seat reads when its turn is over, after it has had the lock. */
static void note_loss(struct jzx__worker *worker, struct jzx__seat *seat, uint64_t tick) {
    const struct jzx__long_turn *noted = &worker->long_turn;
    seat->lost_worker = worker;
    seat->lost_usage = noted->tick == tick ? noted->usage : (struct jzx__usage){0};
    /* relaxed: published by the lock */
    jzx__atomic_store_relaxed(&seat->returned_at_ns, (uint64_t)0);
}

/* Clears the pointer of the seat (C1), if the turn has not gone on since that tick: starting a
 * spare takes a while. */
static bool begin_take(struct jzx__sched *sched, struct jzx__worker *worker, struct jzx__seat *seat,
                       uint64_t tick, struct jzx__thread **next) {
    struct jzx__crew *crew = &sched->crew;
    *next = NULL;
    jzx__lock_acquire(&crew->lock);
    /* relaxed: changes under the lock */
    bool taken = jzx__atomic_load_relaxed(&seat->worker) == worker;
    if (taken)
        *next = next_driver(sched, worker);
    if (taken && jzx__worker_last_tick(worker) != tick) {
        unchoose(crew, *next);
        taken = false;
    }
    if (taken) {
        note_loss(worker, seat, tick);
        /* seq_cst: pairs with the load of a worker that goes to sleep (R14). A thread that enters
         * is ordered by the barrier */
        jzx__atomic_store_seq_cst(&seat->worker, NULL);
    }
    jzx__lock_release(&crew->lock);
    return taken;
}

/* The lock is not held while we wait for the thread to leave: it may need it to get there. */
bool jzx__relief_take(struct jzx__sched *sched, struct jzx__worker *worker, struct jzx__seat *seat,
                      uint64_t tick, struct jzx__thread **next) {
    uint64_t began_ns = jzx__clock_now(&sched->clock);
    /* relaxed: a hint. In a callback of the runtime nobody can be relieved */
    if (!sched->crew.can_take || jzx__atomic_load_relaxed(&seat->in_runtime) != 0 ||
        !begin_take(sched, worker, seat, tick, next))
        return false;
    jzx__membarrier();
    jzx__parker_wake(&worker->parker);
    await_leave(seat);
    worker->taken_at_ns = *next != NULL ? began_ns : 0;
    worker->meter.cpu_of = NULL; /* its next thread notes what it has used by then */
    /* relaxed: the thread wrote it before it left */
    struct jzx__task *task = jzx__atomic_load_relaxed(&seat->task);
    if (task != NULL) {
        jzx__touch(task);
        task->place = JZX__AWAY; /* its turn goes on without the worker */
        /* relaxed: a hint */
        jzx__atomic_add_relaxed(&sched->crew.lost_count, 1u);
    }
    return true;
}

uint64_t jzx__relief_pays_after(const struct jzx__crew *crew) {
    /* relaxed: a figure */
    uint64_t least_ns = PAYS_TIMES * jzx__atomic_load_relaxed(&crew->handover_ns);
    return least_ns > crew->relieve_after_ns ? least_ns : crew->relieve_after_ns;
}

/* ---- a worker that no thread drives (C7) ---- */

/* Moves what may run elsewhere out of a queue. False if something has to wait for its entry. */
static bool empty_queue(struct jzx__worker *worker, struct jzx__runq *queue, uint32_t *moved) {
    struct jzx__global *global = &worker->sched->global;
    bool all = true;
    for (uint32_t left = queue->depth; left > 0; left--) {
        struct jzx__task *task = jzx__runq_pop_front(queue);
        if (task->bound == JZX__FREE && jzx__task_give_up(task, jzx__worker_word(worker))) {
            jzx__global_push(global, task, UINT32_MAX);
            ++*moved;
        } else {
            all = all && task->bound != JZX__FREE;
            jzx__worker_requeue_any(worker, task);
        }
    }
    return all;
}

static bool empty_queues(struct jzx__worker *worker, uint32_t *moved) {
    struct jzx__order *order = &worker->order;
    struct jzx__runq *const queues[] = {&order->spawned, &order->woken, &order->heavy,
                                        &order->hogs};
    bool all = true;
    if (order->next != NULL) {
        struct jzx__task *task = order->next;
        order->next = NULL;
        jzx__order_requeue(order, task);
    }
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++)
        all = empty_queue(worker, queues[i], moved) && all;
    for (uint32_t i = 0; i < JZX__RANK_COUNT; i++)
        all = empty_queue(worker, &order->ranked[i], moved) && all;
    return all;
}

/* Takes in what others have made ready, and moves it and all else that may run elsewhere to the
 * global queue. Turns that have returned stay where they are: to take them back runs destructors
 * and observers. */
static void empty(struct jzx__sched *sched, struct jzx__worker *worker) {
    struct jzx__seat *seat = &sched->crew.watcher.seat;
    struct jzx__seat *before = jzx__seat_of_thread;
    uint32_t moved = 0;
    jzx__seat_of_thread = seat;
    /* relaxed: this thread's own */
    jzx__atomic_store_relaxed(&seat->in_runtime, 1u);
    jzx__crew_sit(seat, worker, false);
    worker->has_rest = true;
    while (jzx__balance_reclaim(worker))
        continue;
    for (uint32_t looks = 0; looks < ENTRY_LOOKS && worker->has_rest; looks++) {
        if (looks != 0)
            sched_yield();
        jzx__worker_drain_inject(worker, UINT32_MAX);
        worker->has_rest = !empty_queues(worker, &moved);
    }
    jzx__crew_rise(seat, worker);
    jzx__seat_of_thread = before;
    if (moved == 0)
        return;
    /* relaxed: a hint: more may come, and the watchdog looks often for a while */
    jzx__atomic_store_relaxed(&sched->crew.long_at_ns, jzx__clock_now(&sched->clock));
    jzx__sched_wake_for_global(sched);
}

/* The worker is the watchdog's, and is not counted as active. A thread may have come meanwhile. */
static void leave(struct jzx__sched *sched, struct jzx__worker *worker) {
    struct jzx__crew *crew = &sched->crew;
    empty(sched, worker);
    jzx__lock_acquire(&crew->lock);
    worker->is_unattended = true;
    struct jzx__thread *next = next_driver(sched, worker);
    if (next != NULL)
        jzx__crew_attend(sched, next, worker);
    jzx__lock_release(&crew->lock);
}

bool jzx__relief_look(struct jzx__sched *sched, struct jzx__worker *worker) {
    struct jzx__crew *crew = &sched->crew;
    jzx__lock_acquire(&crew->lock);
    bool is_unattended = worker->is_unattended;
    struct jzx__thread *next = is_unattended ? next_driver(sched, worker) : NULL;
    bool is_mine = is_unattended && next == NULL &&
                   (worker->has_rest || !jzx__feed_is_empty(&worker->feeds[JZX__FEED_INJECT]));
    if (next != NULL)
        jzx__crew_attend(sched, next, worker);
    else if (is_mine)
        worker->is_unattended = JZX__MUTANT(watchdog_shares_the_unattended);
    jzx__lock_release(&crew->lock);
    if (is_mine)
        leave(sched, worker);
    return is_unattended;
}

/* ---- giving ---- */

void jzx__relief_give(struct jzx__sched *sched, struct jzx__thread *next,
                      struct jzx__worker *worker) {
    struct jzx__crew *crew = &sched->crew;
    if (next == NULL) {
        /* seq_cst: pairs with the loads of threads that make work visible and look which worker is
         * awake (K4), as for a worker that falls asleep */
        jzx__atomic_sub_seq_cst(&sched->active, 1u);
        leave(sched, worker);
        if (!crew->limit_is_told && sched->ops.tell_limit != NULL)
            sched->ops.tell_limit(worker);
        crew->limit_is_told = true;
        return;
    }
    jzx__lock_acquire(&crew->lock);
    jzx__crew_give(sched, next, worker);
    jzx__lock_release(&crew->lock);
}
