/* SPDX-License-Identifier: MIT */
/* How a worker chooses what to run. The rules W1-W8 are in order.h. */
#include "sched/order.h"

#include "base/compiler.h"
#include "sched/balance.h"
#include "sched/sched.h"

_Static_assert(offsetof(struct jzx__worker, order) == 0, "one address for both");

static struct jzx__worker *worker_of(struct jzx__order *order) {
    return JZX_CONTAINER_OF(order, struct jzx__worker, order);
}

/* Worked time (meter.h). */
static uint64_t last_tick(struct jzx__order *order) {
    const struct jzx__worker *me = worker_of(order);
    return jzx__worker_last_tick(me) + me->meter.counted_ns;
}

void jzx__order_init(struct jzx__order *order) {
    jzx__runq_init(&order->spawned);
    jzx__runq_init(&order->woken);
    jzx__runq_init(&order->heavy);
    jzx__runq_init(&order->hogs);
    for (uint32_t i = 0; i < JZX__RANK_COUNT; i++)
        jzx__runq_init(&order->ranked[i]);
    order->next_run = JZX__NEXT_RUN_MAX;
    order->next_left = JZX__NEXT_RUN_MAX;
    order->by_caller = true;
}

/* ---- queues ---- */

static struct jzx__runq *rank_queue(struct jzx__order *order, const struct jzx__task *task) {
    return &order->ranked[task->bound == JZX__BOUND_CALLER ? JZX__NORMAL : task->rank];
}

void jzx__order_requeue_aside(struct jzx__order *order, struct jzx__task *task) {
    if (task->rank != JZX__NORMAL || task->bound == JZX__BOUND_CALLER) {
        task->place = JZX__IN_RANKED;
        jzx__runq_push_back(rank_queue(order, task), task);
        if (task->rank < JZX__NORMAL && task->bound != JZX__BOUND_CALLER)
            jzx__order_go_first(order);
        order->is_special = true;
    } else if (jzx__task_is_hog(task)) {
        task->place = JZX__IN_HOGS;
        jzx__runq_push_back(&order->hogs, task);
    } else {
        task->place = JZX__IN_HEAVY;
        jzx__runq_push_back(&order->heavy, task);
    }
}

static struct jzx__runq *queue_of(struct jzx__order *order, const struct jzx__task *task) {
    switch (task->place) {
    case JZX__IN_SPAWNED: return &order->spawned;
    case JZX__IN_WOKEN: return &order->woken;
    case JZX__IN_RANKED: return rank_queue(order, task);
    case JZX__IN_HEAVY: return &order->heavy;
    case JZX__IN_HOGS: return &order->hogs;
    default: return NULL;
    }
}

void jzx__order_unqueue(struct jzx__order *order, struct jzx__task *task) {
    struct jzx__runq *queue = queue_of(order, task);
    if (task->place == JZX__IN_NEXT)
        order->next = NULL;
    else if (queue != NULL)
        jzx__runq_remove(queue, task);
}

uint32_t jzx__order_depth(const struct jzx__order *order) {
    uint32_t depth = order->spawned.depth + order->woken.depth + order->heavy.depth +
                     order->hogs.depth + (order->next != NULL);
    for (uint32_t i = 0; i < JZX__RANK_COUNT; i++)
        depth += order->ranked[i].depth;
    return depth;
}

/* ---- the choice ---- */

static bool light_waits(const struct jzx__order *order) {
    return order->next != NULL || (order->spawned.depth | order->woken.depth) != 0;
}

/* W8: the queue that has been overdue for longest, if there is one. */
static struct jzx__runq *longest_overdue(struct jzx__order *order) {
    struct jzx__runq *queues[] = {&order->ranked[JZX__LOW],
                                  &order->hogs,
                                  &order->woken,
                                  &order->ranked[JZX__HIGH],
                                  &order->ranked[JZX__CRITICAL],
                                  &order->ranked[JZX__NORMAL]};
    struct jzx__runq *oldest = NULL;
    uint16_t longest = 0;
    for (size_t i = 0; i < sizeof queues / sizeof queues[0] - !order->by_caller; i++) {
        uint16_t overdue_by = jzx__runq_overdue_by(queues[i], order->fence_looks);
        if (overdue_by > longest) {
            longest = overdue_by;
            oldest = queues[i];
        }
    }
    order->overdue = oldest != NULL;
    return oldest;
}

/* Critical and high. While some wait they go before the next-slot. */
static struct jzx__task *pick_urgent(struct jzx__order *order) {
    struct jzx__task *task = jzx__runq_pop_front(&order->ranked[JZX__CRITICAL]);
    if (task == NULL)
        task = jzx__runq_pop_front(&order->ranked[JZX__HIGH]);
    if (task == NULL)
        order->next_run = JZX__NEXT_RUN_MAX;
    return task;
}

/* W2 */
static bool goes_to_woken(struct jzx__order *order) {
    if (order->spawned.depth > order->spawned_seen)
        order->run_woken = false;
    return order->run_woken && order->woken.depth != 0;
}

/* W3 */
static void appoint_elders(struct jzx__order *order) {
    if (order->elders == 0)
        order->elders = order->spawned.depth;
    order->children = 0;
    order->spawned_left = UINT32_MAX;
}

/* W3: an elder, or what has sprung up since the last one ran. Some may have left for other workers
 * meanwhile. */
static struct jzx__task *pick_elder(struct jzx__order *order) {
    uint32_t depth = order->spawned.depth;
    if (depth > order->spawned_left)
        order->children += depth - order->spawned_left;
    if (order->children != 0 && depth > order->elders) {
        order->children--;
        order->spawned_left = depth - 1;
        return jzx__runq_pop_newest(&order->spawned);
    }
    order->elders = (depth < order->elders ? depth : order->elders) - (depth != 0);
    order->children = 0;
    order->spawned_left = depth - (depth != 0);
    return jzx__runq_pop_back(&order->spawned);
}

static inline struct jzx__task *pick_spawned(struct jzx__order *order) {
    return JZX_UNLIKELY(order->elders != 0) ? pick_elder(order)
                                            : jzx__runq_pop_newest(&order->spawned);
}

static struct jzx__task *pick_light(struct jzx__order *order) {
    struct jzx__task *task = NULL;
    if (order->run_oldest)
        appoint_elders(order);
    if (order->run_oldest || !goes_to_woken(order))
        task = pick_spawned(order);
    order->run_oldest = false;
    if (task == NULL) {
        task = jzx__runq_pop_front(&order->woken);
        order->woken_served += task != NULL;
        order->spawned_seen = order->spawned.depth;
    }
    return task;
}

/* A heavy task if nobody else can have it. It is measured: it may be light by now. */
static struct jzx__task *pick_heavy(struct jzx__order *order) {
    struct jzx__worker *me = worker_of(order);
    if (light_waits(order) && jzx__balance_offer_long(me))
        return NULL;
    struct jzx__task *task = jzx__runq_pop_front(&order->heavy);
    if (task != NULL)
        jzx__meter_measure_next(me);
    return task;
}

/* A hog, likewise. */
static struct jzx__task *pick_hog(struct jzx__order *order) {
    struct jzx__worker *me = worker_of(order);
    if (order->hogs.depth == 0)
        return NULL;
    if ((light_waits(order) || order->heavy.depth != 0) && jzx__balance_offer_long(me))
        return NULL;
    struct jzx__task *task = jzx__runq_pop_front(&order->hogs);
    if (task != NULL)
        jzx__meter_measure_next(me);
    return task;
}

/* W7 */
static bool heavy_is_due(struct jzx__order *order) {
    return order->heavy.depth != 0 && last_tick(order) >= order->heavy_after_ns;
}

/* W7 */
static bool hog_is_due(struct jzx__order *order) {
    return order->hogs.depth != 0 && last_tick(order) >= order->hog_after_ns;
}

/* Those that only the caller's thread may run take turns with the light ones. */
static struct jzx__task *pick_bound(struct jzx__order *order) {
    struct jzx__task *task =
        order->by_caller ? jzx__runq_pop_front(&order->ranked[JZX__NORMAL]) : NULL;
    order->bound_last = task != NULL;
    return task;
}

/* W7: a heavy task or a hog whose share of the time has come, whatever else waits. It may be due
 * again right after the last: while overdue tasks run, its time passes, too. */
static struct jzx__task *pick_long(struct jzx__order *order) {
    struct jzx__task *task = hog_is_due(order) && !order->hog_last ? pick_hog(order) : NULL;
    bool was_heavy = order->heavy_last;
    order->heavy_last = false;
    if (task == NULL && heavy_is_due(order) && !was_heavy) {
        task = pick_heavy(order);
        order->heavy_last = task != NULL;
    }
    return task;
}

/* The order of ranks. Heavy tasks, hogs, and the oldest spawned one have their share of the time
 * whatever else waits (W3, W7). */
static struct jzx__task *pick_in_order(struct jzx__order *order) {
    struct jzx__task *task = pick_long(order);
    if (task == NULL && order->next_run == 1 && !(order->run_oldest && order->spawned.depth != 0))
        task = pick_urgent(order);
    if (task == NULL && !order->bound_last)
        task = pick_bound(order);
    if (task == NULL) {
        order->bound_last = false;
        task = pick_light(order);
    }
    if (task == NULL)
        task = pick_bound(order);
    if (task == NULL && order->next == NULL)
        task = pick_heavy(order);
    if (task == NULL && order->next == NULL)
        task = pick_hog(order);
    if (task == NULL && order->next == NULL)
        task = jzx__runq_pop_front(&order->ranked[JZX__LOW]);
    return task;
}

/* Whether any rule asks for more than the plain order while light tasks wait. */
static bool order_is_special(struct jzx__order *order) {
    return order->overdue || order->next_run == 1 || order->run_oldest || order->run_woken ||
           order->ranked[JZX__NORMAL].depth != 0 || heavy_is_due(order) || hog_is_due(order);
}

/* True if there is a choice: else the oldest runs in any case. */
static bool is_contested(const struct jzx__order *order) {
    const struct jzx__runq *const queues[] = {&order->woken, &order->spawned, &order->heavy,
                                              &order->hogs};
    uint32_t sources = order->next != NULL;
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++)
        sources += queues[i]->depth != 0;
    for (uint32_t i = 0; i < JZX__RANK_COUNT; i++)
        sources += order->ranked[i].depth != 0 && (i != JZX__NORMAL || order->by_caller);
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
static void account(struct jzx__order *order) {
    jzx__meter_measure_turn(worker_of(order));
    order->lead_ns =
        add_lead(order->lead_ns, last_tick(order) - order->lead_at_ns, order->ran_overdue);
    order->lead_at_ns = last_tick(order);
}

/* W8: overdue tasks run until they are ahead by a tick, then the others until they have as much:
 * by turns of about a tick, or of one message, which nobody can stop. Nobody is asked for the time
 * if there is no choice. */
static bool overdue_go_first(struct jzx__order *order) {
    bool contested = is_contested(order);
    if (!contested && order->ran_overdue)
        return false;
    account(order);
    order->in_spell =
        contested && order->lead_ns >= (order->in_spell ? 1 - (int64_t)JZX__TICK_NS : 0);
    return order->in_spell;
}

/* W7: true if a task of a hog's priority waits that the last hog has held up. */
static bool hogs_must_wait(const struct jzx__order *order) {
    return order->hog_last && (light_waits(order) || order->heavy.depth != 0);
}

/* Woken tasks and hogs have one priority: neither owes the other its time. */
static bool is_one_class(struct jzx__order *order, struct jzx__runq *a, struct jzx__runq *b) {
    return a == b || (a == &order->woken && b == &order->hogs) ||
           (a == &order->hogs && b == &order->woken);
}

static JZX_COLD struct jzx__task *pick_special(struct jzx__order *order) {
    order->is_special = order_is_special(order);
    struct jzx__runq *overdue = JZX_UNLIKELY(order->overdue) ? longest_overdue(order) : NULL;
    bool in_spell = overdue != NULL && overdue_go_first(order) &&
                    !(overdue == &order->hogs && hogs_must_wait(order));
    struct jzx__task *task = in_spell ? jzx__runq_pop_front(overdue) : pick_in_order(order);
    struct jzx__runq *from = task != NULL ? queue_of(order, task) : NULL;
    if (from != &order->spawned)
        order->spawned_left = UINT32_MAX;
    order->ran_overdue = overdue != NULL && is_one_class(order, from, overdue);
    order->hog_last = from == &order->hogs || (in_spell && order->hog_last);
    order->is_special = order->is_special || order->hog_last;
    return task;
}

struct jzx__task *jzx__order_choose_queued(struct jzx__order *order) {
    if (JZX_UNLIKELY(order->is_special))
        return pick_special(order);
    struct jzx__task *task = pick_spawned(order);
    if (task == NULL) {
        task = jzx__runq_pop_front(&order->woken);
        order->woken_served += task != NULL;
    }
    if (JZX_LIKELY(task != NULL || order->next != NULL))
        return task; /* what is left, heavy and low tasks, waits for the next-slot to be empty */
    return pick_special(order);
}

/* ---- the tick ---- */

/* W8: nobody was overdue until now: nothing is owed from before. */
static void begin_lead(struct jzx__order *order) {
    order->lead_ns = 0;
    order->lead_at_ns = last_tick(order);
    order->ran_overdue = false;
    order->in_spell = false;
}

/* W8 */
static void inspect_queues(struct jzx__order *order) {
    uint16_t number = ++order->fence_looks;
    if (!order->overdue)
        begin_lead(order);
    jzx__runq_inspect(&order->woken, number);
    jzx__runq_inspect(&order->hogs, number);
    order->overdue = order->woken.overdue || order->hogs.overdue;
    for (uint32_t i = 0; i < JZX__RANK_COUNT; i++) {
        jzx__runq_inspect(&order->ranked[i], number);
        order->overdue = order->overdue || order->ranked[i].overdue;
    }
    if (order->overdue)
        jzx__order_go_first(order);
}

void jzx__order_inspect(struct jzx__order *order, uint64_t elapsed) {
    bool passed = order->woken.depth != 0 && order->woken_served == order->woken_seen;
    order->passed_ns = passed ? order->passed_ns + elapsed : 0;
    order->woken_seen = order->woken_served;
    order->run_woken = order->passed_ns >= JZX__PASSED_NS;
    order->spawned_seen = UINT32_MAX; /* nobody is to blame for what is there */
    order->oldest_ns += elapsed;
    if (order->oldest_ns >= JZX__OLDEST_NS) {
        order->oldest_ns = 0;
        order->run_oldest = true;
    }
    order->fence_ns += elapsed;
    if (order->fence_ns >= JZX__FENCE_NS) {
        order->fence_ns = 0;
        inspect_queues(order);
    }
    order->is_special = order_is_special(order);
    if (elapsed >= JZX__TICK_NS / 2) { /* the first ticks of a worker come sooner */
        if (order->next_ticked)
            order->next_left = 1;
        order->next_ticked = true;
    }
}
