/* SPDX-License-Identifier: MIT */
/* How a worker chooses what to run and takes in what other threads sent. The rules W1-W8 and K1-K7
 * are in worker.h, the protocol rules (R4-R6) in task.h and docs/memory-model.md. */
#include "sched/worker.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "sched/balance.h"
#include "sched/sched.h"

#include "jzx/time.h"

struct jzx__seat jzx__no_seat = {.in_runtime = 1};
_Thread_local struct jzx__seat *jzx__seat_of_thread = &jzx__no_seat;

/* ---- setting up ---- */

static void take_returns(struct jzx__worker *me, uint32_t max) {
    (void)max; /* each was a stall: there are few */
    jzx__worker_drain_returns(me);
}

static const struct jzx__source_ops inject_ops = {.take = jzx__worker_drain_inject};
static const struct jzx__source_ops returns_ops = {.take = take_returns};

static void init_sources(struct jzx__worker *worker, const struct jzx__task_ops *ops) {
    for (uint32_t i = 0; i < JZX__SOURCE_MAX; i++) {
        jzx__mpsc_init(jzx__worker_queue(worker, i));
        worker->sources[i].ops = ops->sources[i];
    }
    worker->sources[JZX__SOURCE_INJECT].ops = &inject_ops;
    worker->sources[JZX__SOURCE_RETURNS].ops = &returns_ops;
}

bool jzx__worker_init(struct jzx__worker *worker, struct jzx__sched *sched, uint32_t index) {
    if (!jzx__deque_init(&worker->deque, sched->local_size, &sched->allocator))
        return false;
    if (!jzx__balance_init(&worker->balance, sched)) {
        jzx__deque_deinit(&worker->deque);
        return false;
    }
    init_sources(worker, &sched->ops);
    jzx__parker_init(&worker->parker);
    worker->sched = sched;
    worker->index = index;
    jzx__runq_init(&worker->spawned);
    jzx__runq_init(&worker->woken);
    jzx__runq_init(&worker->heavy);
    worker->by_caller = true;
    worker->due_ns = JZX_NEVER;
    for (uint32_t i = 0; i < JZX__RANK_COUNT; i++)
        jzx__runq_init(&worker->ranked[i]);
    worker->next_run = JZX__NEXT_RUN_MAX;
    worker->next_left = JZX__NEXT_RUN_MAX;
    worker->full_budget.left = sched->msgs_per_turn + 1;
    worker->tick_every = 1;
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&worker->tick_left, 1u);
    jzx__slab_init(&worker->slab, &sched->depot);
    jzx__rng_init(&worker->rng, index + 1u);
    return true;
}

void jzx__worker_deinit(struct jzx__worker *worker) {
    jzx__parker_deinit(&worker->parker);
    jzx__balance_deinit(&worker->balance, worker->sched);
    jzx__deque_deinit(&worker->deque);
}

/* ---- making tasks ready ---- */

static struct jzx__runq *rank_queue(struct jzx__worker *me, const struct jzx__task *task) {
    return &me->ranked[task->bound == JZX__BOUND_CALLER ? JZX__NORMAL : task->rank];
}

void jzx__worker_requeue_aside(struct jzx__worker *me, struct jzx__task *task) {
    if (task->rank != JZX__NORMAL || task->bound == JZX__BOUND_CALLER) {
        task->place = JZX__IN_RANKED;
        jzx__runq_push_back(rank_queue(me, task), task);
        if (task->rank < JZX__NORMAL && task->bound != JZX__BOUND_CALLER)
            jzx__worker_go_first(me);
        me->is_special = true;
    } else {
        task->place = JZX__IN_HEAVY;
        jzx__runq_push_back(&me->heavy, task);
    }
}

static struct jzx__runq *queue_of(struct jzx__worker *me, const struct jzx__task *task) {
    switch (task->place) {
    case JZX__IN_SPAWNED: return &me->spawned;
    case JZX__IN_WOKEN: return &me->woken;
    case JZX__IN_RANKED: return rank_queue(me, task);
    case JZX__IN_HEAVY: return &me->heavy;
    default: return NULL;
    }
}

void jzx__worker_unqueue(struct jzx__worker *me, struct jzx__task *task) {
    struct jzx__runq *queue = queue_of(me, task);
    if (task->place == JZX__IN_NEXT)
        me->next = NULL;
    else if (queue != NULL)
        jzx__runq_remove(queue, task);
}

void jzx__worker_soft_limit(struct jzx__worker *me, struct jzx__task *receiver) {
    jzx__worker_end_turn(me);
    if (receiver->place == JZX__IN_WOKEN || receiver->place == JZX__IN_SPAWNED) {
        jzx__worker_unqueue(me, receiver);
        jzx__worker_set_next(me, receiver);
    }
}

void jzx__task_inject(struct jzx__task *task, struct jzx__worker *me) {
    /* relaxed: the push that got the token made the last owner store visible, and I3 holds it */
    uintptr_t word = jzx__atomic_load_relaxed(&task->owner);
    struct jzx__worker *owner = (struct jzx__worker *)(word & ~JZX__OWNER_FLAGS);
    if (jzx__worker_bring(owner, JZX__SOURCE_INJECT, &task->injected) && me != NULL) {
        me->balance.window_wakes++;
        me->wakes_in_tick++;
    }
}

/* ---- taking in ---- */

void jzx__worker_welcome(struct jzx__worker *me, struct jzx__task *task) {
    if (JZX_UNLIKELY(me->stop_seen == JZX__STOPPING))
        me->sched->ops.ask_to_end(me, task); /* K7 */
}

static void handle_entry(struct jzx__worker *me, struct jzx__task *task) {
    jzx__counter_add(&me->counters.injected, 1);
    bool was_mine = jzx__worker_owns(me, task);
    switch (jzx__task_accept(task, jzx__worker_word(me))) {
    case JZX__ENTRY_FREE: me->sched->ops.free_slot(me, task); break;
    case JZX__ENTRY_READY:
        jzx__worker_requeue_any(me, task);
        if (!was_mine)
            jzx__worker_welcome(me, task);
        break;
    case JZX__ENTRY_SCHEDULED: break;
    }
}

void jzx__worker_drain_inject(struct jzx__worker *me, uint32_t max) {
    struct jzx__mpsc *inject = jzx__worker_queue(me, JZX__SOURCE_INJECT);
    JZX_ASSERT_OWNER(me);
    for (uint32_t n = 0; n < max; n++) {
        if (me->inject_rest == NULL) {
            if (jzx__mpsc_is_empty(inject))
                return;
            me->inject_rest = jzx__mpsc_take_all(inject);
        }
        struct jzx__mpsc_node *entry = me->inject_rest;
        me->inject_rest = entry->next; /* read first: the task may be injected again at once */
        handle_entry(me, JZX_CONTAINER_OF(entry, struct jzx__task, injected));
    }
}

/* What is bound to the caller's thread is not even ended on another. */
static bool is_for_the_caller(const struct jzx__worker *me, const struct jzx__seat *seat) {
    /* relaxed: left with the worker by its thread */
    return !me->by_caller && jzx__atomic_load_relaxed(&seat->task)->bound == JZX__BOUND_CALLER;
}

void jzx__worker_drain_returns(struct jzx__worker *me) {
    struct jzx__mpsc *returns = jzx__worker_queue(me, JZX__SOURCE_RETURNS);
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
        jzx__crew_end_stall(me, seat);
        me->sched->ops.take_back(me, seat);
        /* relaxed: the thread waits until it is relieved. release: pairs with the acquire of the
         * watchdog, which then sees that the task is gone */
        jzx__atomic_store_relaxed(&seat->task, NULL);
        jzx__atomic_store_release(&seat->lost_at_ns, (uint64_t)0);
        jzx__crew_relieve(seat);
    }
}

static void take_in(struct jzx__worker *me, uint32_t first, uint32_t end, uint32_t max) {
    for (uint32_t i = first; i < end; i++) {
        if (JZX_UNLIKELY(!jzx__source_is_empty(&me->sources[i])))
            me->sources[i].ops->take(me, max);
    }
}

void jzx__worker_take_in_own(struct jzx__worker *me, uint32_t max) {
    jzx__worker_drain_inject(me, max); /* also what it has left over from the last time */
    take_in(me, JZX__SOURCE_INJECT + 1, JZX__SOURCE_OWN_COUNT, max);
}

void jzx__worker_take_in_above(struct jzx__worker *me, uint32_t max) {
    take_in(me, JZX__SOURCE_OWN_COUNT, me->sched->source_count, max);
}

/* ---- running ---- */

bool jzx__worker_is_due(const struct jzx__worker *me) {
    return me->due_ns != JZX_NEVER && jzx__clock_now(&me->sched->clock) >= me->due_ns;
}

bool jzx__worker_has_untaken(const struct jzx__worker *me) {
    if (me->inject_rest != NULL)
        return true;
    for (uint32_t i = 0; i < me->sched->source_count; i++) {
        if (!jzx__source_is_empty(&me->sources[i]))
            return true;
    }
    return false;
}

bool jzx__worker_has_work(const struct jzx__worker *me) {
    return jzx__worker_others_wait(me) || jzx__worker_has_untaken(me);
}

uint32_t jzx__worker_ready_depth(const struct jzx__worker *me) {
    uint32_t depth = me->spawned.depth + me->woken.depth + me->heavy.depth + (me->next != NULL);
    for (uint32_t i = 0; i < JZX__RANK_COUNT; i++)
        depth += me->ranked[i].depth;
    return depth;
}

static bool light_waits(const struct jzx__worker *me) {
    return me->next != NULL || (me->spawned.depth | me->woken.depth) != 0;
}

static uint64_t last_tick(const struct jzx__worker *me) {
    /* relaxed: only this thread writes it */
    return jzx__atomic_load_relaxed(&me->tick_at_ns);
}

/* W8: the queue that has been overdue for longest, if there is one. */
static struct jzx__runq *longest_overdue(struct jzx__worker *me) {
    struct jzx__runq *queues[] = {&me->ranked[JZX__LOW], &me->woken, &me->ranked[JZX__HIGH],
                                  &me->ranked[JZX__CRITICAL], &me->ranked[JZX__NORMAL]};
    struct jzx__runq *oldest = NULL;
    uint16_t longest = 0;
    for (size_t i = 0; i < sizeof queues / sizeof queues[0] - !me->by_caller; i++) {
        uint16_t overdue_by = jzx__runq_overdue_by(queues[i], me->fence_looks);
        if (overdue_by > longest) {
            longest = overdue_by;
            oldest = queues[i];
        }
    }
    me->overdue = oldest != NULL;
    return oldest;
}

/* Critical and high. While some wait they go before the next-slot. */
static struct jzx__task *pick_urgent(struct jzx__worker *me) {
    struct jzx__task *task = jzx__runq_pop_front(&me->ranked[JZX__CRITICAL]);
    if (task == NULL)
        task = jzx__runq_pop_front(&me->ranked[JZX__HIGH]);
    if (task == NULL)
        me->next_run = JZX__NEXT_RUN_MAX;
    return task;
}

/* W2 */
static bool goes_to_woken(struct jzx__worker *me) {
    if (me->spawned.depth > me->spawned_seen)
        me->run_woken = false;
    return me->run_woken && me->woken.depth != 0;
}

static struct jzx__task *pick_light(struct jzx__worker *me) {
    struct jzx__task *task = NULL;
    if (me->run_oldest) { /* W3 */
        me->run_oldest = false;
        task = jzx__runq_pop_back(&me->spawned);
    } else if (!goes_to_woken(me)) {
        task = jzx__runq_pop_newest(&me->spawned);
    }
    if (task == NULL) {
        task = jzx__runq_pop_front(&me->woken);
        me->woken_served += task != NULL;
        me->spawned_seen = me->spawned.depth;
    }
    return task;
}

/* The next message is measured alone, from now on. */
static void measure_next(struct jzx__worker *me) {
    /* relaxed, both: see the fields */
    jzx__atomic_store_relaxed(&me->tick_at_ns, jzx__clock_now(&me->sched->clock));
    jzx__atomic_store_relaxed(&me->tick_left, 1u);
    me->probe_left += me->probe_left == 0;
    me->is_measured = true; /* not a sample of the others */
}

/* A heavy task if nobody else can have it. It is measured: it may be light by now. */
static struct jzx__task *pick_heavy(struct jzx__worker *me) {
    if (light_waits(me) && jzx__balance_offer_heavy(me))
        return NULL;
    struct jzx__task *task = jzx__runq_pop_front(&me->heavy);
    if (task != NULL && me->sched->worker_count > 1)
        measure_next(me);
    return task;
}

/* W7 */
static bool heavy_is_due(const struct jzx__worker *me) {
    return me->heavy.depth != 0 && last_tick(me) >= me->heavy_after_ns;
}

/* Those that only the caller's thread may run take turns with the light ones. */
static struct jzx__task *pick_bound(struct jzx__worker *me) {
    struct jzx__task *task = me->by_caller ? jzx__runq_pop_front(&me->ranked[JZX__NORMAL]) : NULL;
    me->bound_last = task != NULL;
    return task;
}

/* The order of ranks. Heavy tasks, and the oldest spawned one, have their share of the time
 * whatever else waits (W3, W7). A heavy one may be due again right after the last: while overdue
 * tasks run, its time passes, too. */
static struct jzx__task *pick_in_order(struct jzx__worker *me) {
    struct jzx__task *task = heavy_is_due(me) && !me->heavy_last ? pick_heavy(me) : NULL;
    me->heavy_last = task != NULL;
    if (task == NULL && me->next_run == 1 && !(me->run_oldest && me->spawned.depth != 0))
        task = pick_urgent(me);
    if (task == NULL && !me->bound_last)
        task = pick_bound(me);
    if (task == NULL) {
        me->bound_last = false;
        task = pick_light(me);
    }
    if (task == NULL)
        task = pick_bound(me);
    if (task == NULL && me->next == NULL)
        task = pick_heavy(me);
    if (task == NULL && me->next == NULL)
        task = jzx__runq_pop_front(&me->ranked[JZX__LOW]);
    return task;
}

/* Whether any rule asks for more than the plain order while light tasks wait. */
static bool order_is_special(const struct jzx__worker *me) {
    return me->overdue || me->next_run == 1 || me->run_oldest || me->run_woken ||
           me->ranked[JZX__NORMAL].depth != 0 || heavy_is_due(me);
}

/* True if there is a choice: else the oldest runs in any case. */
static bool is_contested(const struct jzx__worker *me) {
    const struct jzx__runq *const queues[] = {&me->woken, &me->spawned, &me->heavy};
    uint32_t sources = me->next != NULL;
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++)
        sources += queues[i]->depth != 0;
    for (uint32_t i = 0; i < JZX__RANK_COUNT; i++)
        sources += me->ranked[i].depth != 0 && (i != JZX__NORMAL || me->by_caller);
    return sources > 1;
}

/* Adds to what one side had more than the other, but not beyond a limit: a turn may take very
 * long, the process may be stopped, the host of a loop that is stepped may not come back soon. */
static int64_t add_lead(int64_t lead_ns, uint64_t took_ns, bool by_overdue) {
    int64_t took = took_ns < JZX__LEAD_MAX_NS ? (int64_t)took_ns : JZX__LEAD_MAX_NS;
    lead_ns += by_overdue ? -took : took;
    return lead_ns > JZX__LEAD_MAX_NS    ? JZX__LEAD_MAX_NS
           : lead_ns < -JZX__LEAD_MAX_NS ? -JZX__LEAD_MAX_NS
                                         : lead_ns;
}

/* W8: whose the time was since the last look. From here on the next turn is measured, and its
 * ticks come as if nothing were known of it: those of other turns were cut short. */
static void account(struct jzx__worker *me) {
    measure_next(me);
    me->tick_ramp = 1;
    me->lead_ns = add_lead(me->lead_ns, last_tick(me) - me->lead_at_ns, me->ran_overdue);
    me->lead_at_ns = last_tick(me);
}

/* W8: overdue tasks run until they are ahead by a tick, then the others until they have as much:
 * by turns of about a tick, or of one message, which nobody can stop. Nobody is asked for the time
 * if there is no choice. */
static bool overdue_go_first(struct jzx__worker *me) {
    bool contested = is_contested(me);
    if (!contested && me->ran_overdue)
        return false;
    account(me);
    me->in_spell = contested && me->lead_ns >= (me->in_spell ? 1 - (int64_t)JZX__TICK_NS : 0);
    return me->in_spell;
}

static JZX_COLD struct jzx__task *pick_special(struct jzx__worker *me) {
    me->is_special = order_is_special(me);
    struct jzx__runq *overdue = JZX_UNLIKELY(me->overdue) ? longest_overdue(me) : NULL;
    struct jzx__task *task =
        overdue != NULL && overdue_go_first(me) ? jzx__runq_pop_front(overdue) : pick_in_order(me);
    me->ran_overdue = overdue != NULL && task != NULL && queue_of(me, task) == overdue;
    return task;
}

struct jzx__task *jzx__worker_pick_queued(struct jzx__worker *me) {
    if (JZX_UNLIKELY(me->is_special))
        return pick_special(me);
    struct jzx__task *task = jzx__runq_pop_newest(&me->spawned);
    if (task == NULL) {
        task = jzx__runq_pop_front(&me->woken);
        me->woken_served += task != NULL;
    }
    if (JZX_LIKELY(task != NULL || me->next != NULL))
        return task; /* what is left, heavy and low tasks, waits for the next-slot to be empty */
    return pick_special(me);
}

/* ---- the tick ---- */

static void probe(struct jzx__worker *me, uint32_t messages) {
    if (me->sched->worker_count > 1)
        me->probe_left = messages;
}

/* Aims at one tick per JZX__TICK_NS: halves or doubles the number of messages between two. After a
 * long one that nobody is known for the next messages are measured singly, to see whose they were;
 * now and then some in any case. */
static void adapt_tick(struct jzx__worker *me, uint64_t elapsed_ns) {
    if (elapsed_ns > 2 * JZX__TICK_NS || elapsed_ns > me->tick_every * (uint64_t)JZX__HEAVY_NS) {
        uint64_t wanted = me->tick_every * (uint64_t)JZX__TICK_NS / elapsed_ns;
        me->tick_every = wanted == 0 ? 1 : (uint32_t)wanted;
        probe(me, JZX__PROBE_MSGS);
    } else if (elapsed_ns < JZX__TICK_NS / 2 && me->tick_every < JZX__TICK_MSGS_MAX) {
        me->tick_every *= 2;
    }
    if (me->sample_left-- == 0) {
        me->sample_left = JZX__SAMPLE_TICKS;
        if (me->probe_left == 0)
            probe(me, JZX__SAMPLE_MSGS);
    }
}

/* W4. The first tick of a turn does not know when the turn began, unless every message ticks: it
 * then counts from now, so that a turn of many short messages gets a little more than its time. */
static void watch_turn(struct jzx__worker *me, uint64_t now, uint64_t elapsed, bool every_message) {
    if (!(me->budget.flags & JZX__TURN_TICKED))
        me->turn_began_ns = every_message ? now - elapsed : now;
    me->budget.flags |= JZX__TURN_TICKED;
    if (now - me->turn_began_ns >= JZX__TURN_NS && jzx__worker_others_wait(me))
        jzx__worker_end_turn(me);
}

/* W8: nobody was overdue until now: nothing is owed from before. */
static void begin_lead(struct jzx__worker *me) {
    me->lead_ns = 0;
    me->lead_at_ns = last_tick(me);
    me->ran_overdue = false;
    me->in_spell = false;
}

/* W8 */
static void inspect_queues(struct jzx__worker *me) {
    uint16_t number = ++me->fence_looks;
    if (!me->overdue)
        begin_lead(me);
    jzx__runq_inspect(&me->woken, number);
    me->overdue = me->woken.overdue;
    for (uint32_t i = 0; i < JZX__RANK_COUNT; i++) {
        jzx__runq_inspect(&me->ranked[i], number);
        me->overdue = me->overdue || me->ranked[i].overdue;
    }
    if (me->overdue)
        jzx__worker_go_first(me);
}

/* W1, W2, W3, W8 */
static void look_at_queues(struct jzx__worker *me, uint64_t elapsed) {
    bool passed = me->woken.depth != 0 && me->woken_served == me->woken_seen;
    me->passed_ns = passed ? me->passed_ns + elapsed : 0;
    me->woken_seen = me->woken_served;
    me->run_woken = me->passed_ns >= JZX__PASSED_NS;
    me->spawned_seen = UINT32_MAX; /* nobody is to blame for what is there */
    me->oldest_ns += elapsed;
    if (me->oldest_ns >= JZX__OLDEST_NS) {
        me->oldest_ns = 0;
        me->run_oldest = true;
    }
    me->fence_ns += elapsed;
    if (me->fence_ns >= JZX__FENCE_NS) {
        me->fence_ns = 0;
        inspect_queues(me);
    }
    me->is_special = order_is_special(me);
    if (elapsed >= JZX__TICK_NS / 2) { /* the first ticks of a worker come sooner */
        if (me->next_ticked)
            me->next_left = 1;
        me->next_ticked = true;
    }
}

/* W7. The time may be the system's, which had something else to do. */
static uint64_t share_after_heavy(uint64_t turn_ns) {
    uint64_t share = JZX__HEAVY_SHARE * turn_ns;
    return share < JZX__HEAVY_WAIT_NS ? share : JZX__HEAVY_WAIT_NS;
}

/* What the message that just ended says about its task, if the tick measured it alone. */
static void weigh(struct jzx__worker *me, struct jzx__task *task, uint64_t now, uint64_t elapsed) {
    uint64_t crossing =
        me->crossed_in_tick * (uint64_t)JZX__CROSS_NS + me->wakes_in_tick * (uint64_t)JZX__WAKE_NS;
    uint64_t most = elapsed > crossing ? elapsed - crossing : 0;
    uint64_t own = elapsed > 2 * crossing ? elapsed - 2 * crossing : 0;
    if (most < JZX__LIGHT_NS) {
        task->heat = 0; /* also if it crosses in every message, or it would be heavy for ever */
    } else if (own > JZX__HEAVY_NS && task->heat < JZX__HEAVY) {
        task->heat++;
        task->stays = 0;                       /* it was moved as one of the light ones */
        me->probe_left += me->probe_left == 0; /* its next message decides */
    }
    bool heavy = jzx__task_is_heavy(task);
    if (heavy)
        me->balance.window_heavy_ns += elapsed;
    if (task->rank != JZX__NORMAL || task->bound == JZX__BOUND_CALLER)
        return; /* it has a queue of its own */
    if (heavy)
        me->heavy_after_ns = now + share_after_heavy(now - me->turn_began_ns);
    jzx__task_set_rest(task, heavy ? JZX__ASIDE : JZX__IDLE);
}

/* W4 */
static bool pass_is_over(const struct jzx__worker *me, uint64_t now) {
    if (me->pass_ns >= JZX__PASS_NS || now >= me->due_ns)
        return true;
    for (uint32_t bits = me->sched->pass_enders; bits != 0; bits &= bits - 1) {
        if (!jzx__source_is_empty(&me->sources[__builtin_ctz(bits)]))
            return true;
    }
    return false;
}

/* What a tick does about every JZX__TICK_NS, however often it comes. */
static void decide(struct jzx__worker *me, uint64_t now) {
    uint64_t elapsed = now - me->decided_at_ns;
    me->decided_at_ns = now;
    me->pass_ns += elapsed;
    if (pass_is_over(me, now)) {
        jzx__worker_end_turn(me); /* W4: it may have a hundred long messages before it */
        jzx__worker_end_pass(me);
    }
    look_at_queues(me, elapsed);
    /* relaxed: a gauge */
    jzx__atomic_store_relaxed(&me->ready_depth, jzx__worker_ready_depth(me));
    if (me->sched->worker_count > 1)
        jzx__balance_tick(me, now);
}

/* Until the next tick: tick_every, or on the ramp up to it 1, 2, 4 and so on. */
static uint32_t messages_to_tick(struct jzx__worker *me) {
    uint32_t messages = me->tick_ramp;
    if (messages == 0 || messages >= me->tick_every) {
        me->tick_ramp = 0;
        return me->tick_every;
    }
    me->tick_ramp *= 2;
    return messages;
}

void jzx__worker_tick(struct jzx__worker *me) {
    uint64_t now = jzx__clock_now(&me->sched->clock);
    uint64_t elapsed = now - last_tick(me);
    bool measured = me->is_measured;
    bool single = me->tick_every == 1 || measured;
    struct jzx__task *task = jzx__worker_current(me);
    /* relaxed: the watchdog looks at it now and then */
    jzx__atomic_store_relaxed(&me->tick_at_ns, now);
    if (JZX_UNLIKELY(elapsed >= me->sched->crew.stall_after_ns))
        jzx__crew_stall_is_over(me, task, elapsed, single);
    watch_turn(me, now, elapsed, single);
    me->probe_left -= me->probe_left != 0;
    if (single && task != NULL && me->sched->worker_count > 1)
        weigh(me, task, now, elapsed);
    /* Few messages say little about the number between ticks. */
    if (!measured && me->tick_ramp == 0)
        adapt_tick(me, elapsed);
    me->is_measured = me->probe_left != 0 || jzx__task_is_heavy(task);
    /* relaxed: see the field */
    jzx__atomic_store_relaxed(&me->tick_left, me->is_measured ? 1u : messages_to_tick(me));
    if (!measured || now - me->decided_at_ns >= JZX__TICK_NS)
        decide(me, now);
    me->crossed_in_tick = 0;
    me->wakes_in_tick = 0;
}

bool jzx__worker_turn_spent(struct jzx__worker *me) {
    if (!jzx__worker_others_wait(me))
        return false;
    uint64_t now = jzx__clock_now(&me->sched->clock);
    if (!(me->budget.flags & JZX__TURN_ASKED))
        me->turn_asked_ns = now;
    me->budget.flags |= JZX__TURN_ASKED;
    return (me->budget.flags & JZX__TURN_OVER) != 0 || now - me->turn_asked_ns >= JZX__TURN_NS;
}

void jzx__worker_resume(struct jzx__worker *me) {
    uint64_t now = jzx__clock_now(&me->sched->clock);
    /* relaxed: the watchdog looks at it now and then */
    jzx__atomic_store_relaxed(&me->tick_at_ns, now);
    me->decided_at_ns = now;
    jzx__balance_resume(me, now);
}
