/* SPDX-License-Identifier: MIT */
/* Heavy apart, chatty together.
 *
 * A message to another worker costs 10 to 20 times one that stays. So an idle worker does not get
 * work at once: a second core makes a chatty program slower. What moves, and when:
 *
 *   B1  spread: heavy tasks at once; others when the oldest has waited for SHARE_AFTER_NS, and not
 *       only for a moment: half of its queue, oldest first. Woken tasks only if their messages are
 *       worth crossing. Only while a worker is idle and a CPU is free for it.
 *   B2  explore: a worker that was busy for a while beside an idle one offers half of what is
 *       ready, however short the waits; then it waits 4 times as long, or 16 times if that did not
 *       pay, at most 256 ms; but no longer than the first time once it has paid.
 *   B3  reclaim: what nobody took for RECLAIM_NS comes back.
 *   B4  gather: when the price of crossings exceeds half of the light time, or while both workers
 *       mostly wait for one another, the tasks of the worker that suffers more move to the worker
 *       they send to; for a while they are not offered again.
 *   B5  follow: for a while after a theft from a chatty worker, and while B4 is at work, tasks that
 *       get their next message from the thief, or from where the others go, move there. One
 *       direction only: a connected group moves whole, independent ones split. Meanwhile the thief
 *       neither explores nor gathers or follows itself, and where tasks gather only heavy ones
 *       leave, and those that never ran: nobody talks to them yet.
 *   B6  place: a task that never ran begins on the worker that the layer above names, whatever the
 *       rules above say, because the socket that it gets pins it there (place.h).
 *
 * All of it happens in the tick and on the paths that cross workers; a message that stays pays
 * nothing. docs/balance.md has the rules for users, with their counters. */
#include "sched/balance.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "sched/sched.h"

#include <string.h>

#define SHARE_AFTER_NS 20000u
#define RECLAIM_NS 200000u
#define EXPLORE_MIN_NS 1000000u
#define EXPLORE_MAX_NS 256000000u
#define EXPLORE_JUDGED_NS 4000000u
#define EXPLORE_FAILED 4u /* times as long as otherwise until the next one */
#define LONG_SLEEP_NS 20000000u
#define WINDOW_NS 1000000u
#define WINDOW_MSGS 1024u
#define WINDOW_CROSSED_MIN 16u
#define GATHER_NS 2000000u
#define PAUSE_MIN_NS 16000000u
#define PAUSE_MAX_NS 256000000u
#define FOLLOW_NS 1000000u
#define GLOBAL_BATCH 17u
#define FULL 1024u /* cost and usage are parts of this */

/* `stays` counts in these units, modulo 2^16. */
#define STAY_UNIT_NS 4194304u

bool jzx__balance_init(struct jzx__balance *balance, struct jzx__sched *sched) {
    size_t size = sched->worker_count * sizeof *balance->window.crossed_to;
    balance->window.crossed_to = jzx__alloc(&sched->allocator, size);
    if (balance->window.crossed_to == NULL)
        return false;
    memset(balance->window.crossed_to, 0, size);
    balance->pause_ns = PAUSE_MIN_NS;
    return true;
}

void jzx__balance_deinit(struct jzx__balance *balance, struct jzx__sched *sched) {
    jzx__free(&sched->allocator, balance->window.crossed_to,
              sched->worker_count * sizeof *balance->window.crossed_to);
}

/* ---- experiments ---- */

static uint64_t explore_gap(const struct jzx__sched *sched) {
    /* relaxed: a hint */
    uint64_t gap = jzx__atomic_load_relaxed(&sched->explore_gap_ns);
    return gap < EXPLORE_MIN_NS ? EXPLORE_MIN_NS : gap;
}

static void widen_explore_gap(struct jzx__sched *sched, uint64_t factor) {
    uint64_t gap = explore_gap(sched) * factor;
    /* relaxed: a hint */
    jzx__atomic_store_relaxed(&sched->explore_gap_ns, gap > EXPLORE_MAX_NS ? EXPLORE_MAX_NS : gap);
}

static void note_failed_experiment(struct jzx__sched *sched) {
    /* relaxed, both: a hint */
    uint32_t failures = jzx__atomic_load_relaxed(&sched->explore_failures);
    jzx__atomic_store_relaxed(&sched->explore_failures, failures + 1);
    widen_explore_gap(sched, EXPLORE_FAILED);
}

/* B2: an experiment has paid if after a while more workers are at work than before. */
static void judge_experiment(struct jzx__worker *me, uint64_t now) {
    struct jzx__balance *balance = &me->balance;
    struct jzx__sched *sched = me->sched;
    if (balance->trials.explored_at_ns == 0 ||
        now - balance->trials.explored_at_ns < EXPLORE_JUDGED_NS)
        return;
    balance->trials.explored_at_ns = 0;
    /* relaxed, all: hints */
    if (jzx__atomic_load_relaxed(&sched->active) > balance->trials.explored_active &&
        jzx__atomic_load_relaxed(&sched->explore_failures) == balance->trials.explored_failures)
        jzx__atomic_store_relaxed(&sched->explore_gap_ns, (uint64_t)0);
}

void jzx__balance_suspend(struct jzx__worker *me, uint64_t now) {
    struct jzx__balance *balance = &me->balance;
    balance->slept_at_ns = now;
    /* B2: all that it had went where a part of it was taken: it belongs together */
    if (balance->trials.explored_at_ns != 0 &&
        now - balance->trials.explored_at_ns < EXPLORE_JUDGED_NS)
        note_failed_experiment(me->sched);
    balance->trials.explored_at_ns = 0;
}

void jzx__balance_resume(struct jzx__worker *me, uint64_t now) {
    struct jzx__balance *balance = &me->balance;
    if (balance->slept_at_ns != 0) {
        balance->window.idle_ns += now - balance->slept_at_ns;
        /* relaxed: a hint. If everybody slept, what comes now may be another thing altogether */
        bool alone = jzx__atomic_load_relaxed(&me->sched->active) == 1;
        if (alone && now - balance->slept_at_ns > LONG_SLEEP_NS) {
            /* relaxed: a hint */
            jzx__atomic_store_relaxed(&me->sched->explore_gap_ns, (uint64_t)0);
        }
    }
    balance->slept_at_ns = 0;
    balance->trials.busy_since_ns = now;
    balance->waits.sample_at_ns = now;
    balance->waits.sample_seq = 0;
    balance->waits.oldest = NULL;
}

/* ---- which tasks may move ---- */

static uint16_t stay_clock(uint64_t now) {
    return (uint16_t)(now / STAY_UNIT_NS);
}

/* What is further away than the longest pause is past: the clock goes round. */
static bool may_move(struct jzx__task *task, uint64_t now) {
    uint16_t left = (uint16_t)(task->stays - stay_clock(now));
    if (task->stays != 0 && (left == 0 || left > PAUSE_MAX_NS / STAY_UNIT_NS + 1))
        task->stays = 0;
    return task->bound == JZX__FREE && task->stays == 0;
}

static void make_stay(struct jzx__task *task, uint64_t now, uint64_t pause_ns) {
    uint16_t until = stay_clock(now + pause_ns);
    task->stays = until == 0 ? 1 : until;
}

/* ---- taking work ---- */

static void adopt(struct jzx__worker *me, struct jzx__task *task) {
    jzx__task_adopt(task, jzx__worker_word(me));
    jzx__worker_requeue_any(me, task);
    jzx__worker_welcome(me, task);
}

bool jzx__balance_take_global(struct jzx__worker *me) {
    struct jzx__task *tasks[GLOBAL_BATCH];
    if (jzx__global_count(&me->sched->global) == 0)
        return false;
    uint32_t count = jzx__global_take(&me->sched->global, tasks, GLOBAL_BATCH);
    for (uint32_t i = 0; i < count; i++)
        adopt(me, tasks[i]);
    jzx__counter_add(&me->counters.submitted, count);
    return count != 0;
}

bool jzx__balance_reclaim(struct jzx__worker *me) {
    struct jzx__task *task = jzx__deque_pop(&me->deque);
    if (task == NULL)
        return false;
    adopt(me, task);
    jzx__counter_add(&me->counters.reclaimed, 1);
    return true;
}

/* The tasks of others gather here (B4). */
static bool has_guests(const struct jzx__worker *me, uint64_t now) {
    /* relaxed: a moment more or less does no harm */
    return now < jzx__atomic_load_relaxed(&me->balance.guests_until_ns);
}

/* Tasks are moving here, or may be (B5). They move in one direction only: such a worker begins
 * nothing by which its own would leave, but for B1. */
static bool is_host(const struct jzx__worker *me, uint64_t now) {
    return has_guests(me, now) || now < me->balance.thief_until_ns;
}

/* Half of what the victim offers, one by one. */
static bool rob(struct jzx__worker *me, struct jzx__worker *victim) {
    uint64_t wanted = (jzx__deque_count(&victim->deque) + 1) / 2;
    uint32_t got = 0;
    if (wanted > me->sched->steal_max)
        wanted = me->sched->steal_max;
    while (got < wanted) {
        void *item;
        enum jzx__steal_result result = jzx__deque_steal(&victim->deque, &item);
        if (result == JZX__STEAL_EMPTY)
            break;
        if (result == JZX__STEAL_LOST)
            continue;
        adopt(me, item);
        got++;
    }
    if (got == 0)
        return false;
    jzx__counter_add(&me->counters.stolen, got);
    me->balance.follow_to = NULL; /* B5: one direction only */
    me->balance.thief_until_ns = jzx__clock_now(&me->sched->clock) + 2 * FOLLOW_NS;
    /* relaxed: a hint for the victim's tick */
    jzx__atomic_store_relaxed(&victim->robbed_by, me);
    return true;
}

static bool steal(struct jzx__worker *me) {
    struct jzx__sched *sched = me->sched;
    uint32_t count = sched->worker_count;
    if (count == 1 || jzx__sched_busy(sched) > sched->cpu_count) /* K6 */
        return false;
    uint32_t first = jzx__rng_below(&me->rng, count);
    for (uint32_t i = 0; i < count; i++) {
        struct jzx__worker *victim = sched->workers[(first + i) % count];
        if (victim == me || !rob(me, victim))
            continue;
        while (!jzx__sched_has_idle(sched) && rob(me, victim))
            continue; /* nobody else is there for the rest */
        return true;
    }
    return false;
}

bool jzx__balance_find_work(struct jzx__worker *me) {
    return jzx__balance_reclaim(me) || jzx__balance_take_global(me) || steal(me);
}

/* ---- offering work (B1-B3) ---- */

static bool offer_one(struct jzx__worker *me, struct jzx__runq *queue, struct jzx__link *link,
                      uint64_t now) {
    struct jzx__task *task = JZX_CONTAINER_OF(link, struct jzx__task, run);
    struct jzx__link *before = link->prev;
    struct jzx__link *after = link->next;
    if (!may_move(task, now))
        return false;
    jzx__runq_remove(queue, task);
    if (jzx__task_offer(task, jzx__worker_word(me), &me->deque))
        return true;
    jzx__list_insert(&task->run, before, after); /* an entry is under way: it stays where it was */
    queue->depth++;
    return false;
}

/* Offers up to count tasks of a queue, oldest first; of spawned ones every second: in a tree the
 * oldest have most of the work before them, and who gives away all of those is idle next. Those
 * that may not move stay in their places, and so does the fence. Looks at a bounded number. Returns
 * how many others can take now. */
static uint32_t offer(struct jzx__worker *me, struct jzx__runq *queue, uint32_t count,
                      uint64_t now) {
    bool newest_first = queue == &me->order.spawned;
    uint32_t offered = 0;
    if (count > me->sched->steal_max)
        count = me->sched->steal_max;
    struct jzx__link *link = newest_first ? queue->list.ring.prev : queue->list.ring.next;
    for (uint32_t looked = 0; looked < 2 * me->sched->steal_max && offered < count; looked++) {
        if (link == &queue->list.ring)
            break;
        struct jzx__link *next = newest_first ? link->prev : link->next;
        bool skipped = newest_first && looked % 2 != 0;
        if (!skipped && link != &queue->fence && offer_one(me, queue, link, now))
            offered++;
        link = next;
    }
    if (offered == 0)
        return 0;
    jzx__counter_add(&me->counters.published, offered);
    me->balance.trials.offered_at_ns = now;
    return offered;
}

static uint32_t offer_half(struct jzx__worker *me, struct jzx__runq *queue, uint64_t now) {
    return offer(me, queue, (queue->depth + 1) / 2, now);
}

/* The task in the next-slot waits like the others while a long turn runs. */
static void queue_next(struct jzx__worker *me) {
    if (me->order.next != NULL) {
        struct jzx__task *task = me->order.next;
        me->order.next = NULL;
        jzx__order_requeue(&me->order, task);
    }
}

static uint64_t age_of_woken(struct jzx__worker *me, uint64_t now) {
    struct jzx__balance *balance = &me->balance;
    if (me->order.woken_served >= balance->waits.sample_seq || me->order.woken.depth == 0) {
        balance->waits.sample_seq = me->order.woken_served + me->order.woken.depth;
        balance->waits.sample_at_ns = now;
    }
    return now - balance->waits.sample_at_ns;
}

static uint64_t age_of_spawned(struct jzx__worker *me, uint64_t now) {
    struct jzx__balance *balance = &me->balance;
    const struct jzx__task *oldest = NULL;
    uint32_t generation = 0;
    if (me->order.spawned.depth != 0) {
        oldest = JZX_CONTAINER_OF(me->order.spawned.list.ring.prev, struct jzx__task, run);
        /* relaxed: it is my task */
        generation = jzx__state_generation(jzx__atomic_load_relaxed(&oldest->state));
    }
    if (oldest == NULL || balance->waits.oldest != oldest ||
        balance->waits.oldest_generation != generation) {
        balance->waits.oldest = oldest; /* another task, or another life in the same slot */
        balance->waits.oldest_generation = generation;
        balance->waits.oldest_at_ns = now;
    }
    return now - balance->waits.oldest_at_ns;
}

/* Which light tasks have waited for so long that others should have them. */
struct overdue {
    bool spawned;
    bool woken;
    bool next; /* the one in the next-slot */
};

/* Looked at in every tick that finds nothing on offer, whether somebody is idle or not: who becomes
 * idle then gets something soon. */
static struct overdue look_at_waits(struct jzx__worker *me, uint64_t now) {
    struct jzx__balance *balance = &me->balance;
    bool worth = balance->msg_ns >= 2 * JZX__CROSS_NS;
    struct overdue overdue = {
        .spawned = age_of_spawned(me, now) >= SHARE_AFTER_NS,
        .woken = age_of_woken(me, now) >= SHARE_AFTER_NS && worth,
        .next = me->order.next != NULL && now - me->meter.turn_began_ns >= SHARE_AFTER_NS && worth,
    };
    if (!overdue.spawned && !overdue.woken && !overdue.next)
        balance->waits.overdue_at_ns = 0;
    else if (balance->waits.overdue_at_ns == 0)
        balance->waits.overdue_at_ns = now;
    return overdue;
}

/* B1 for light tasks. Returns what was offered. */
static uint32_t spread(struct jzx__worker *me, struct overdue overdue, uint64_t now) {
    uint64_t since = me->balance.waits.overdue_at_ns;
    if (since == 0 || now - since < JZX__TICK_NS / 2)
        return 0; /* it may have been a hiccup */
    if (overdue.spawned)
        return offer_half(me, &me->order.spawned, now);
    if (has_guests(me, now))
        return 0; /* they may be what costs so much: they crossed until now */
    if (overdue.next)
        queue_next(me);
    return offer_half(me, &me->order.woken, now);
}

/* B2. Returns what was offered. */
static uint32_t explore(struct jzx__worker *me, uint64_t now) {
    struct jzx__balance *balance = &me->balance;
    struct jzx__sched *sched = me->sched;
    /* relaxed: a hint */
    uint64_t last = jzx__atomic_load_relaxed(&sched->explored_at_ns);
    if (now - balance->trials.busy_since_ns < EXPLORE_MIN_NS || now - last < explore_gap(sched) ||
        jzx__order_depth(&me->order) < 2)
        return 0;
    uint32_t offered =
        offer_half(me, &me->order.woken, now) + offer_half(me, &me->order.spawned, now);
    if (offered == 0)
        return 0;
    /* relaxed: a hint */
    jzx__atomic_store_relaxed(&sched->explored_at_ns, now);
    widen_explore_gap(sched, 4);
    balance->trials.explored_at_ns = now;
    /* relaxed, both: hints */
    balance->trials.explored_active = jzx__atomic_load_relaxed(&sched->active);
    balance->trials.explored_failures = jzx__atomic_load_relaxed(&sched->explore_failures);
    jzx__counter_add(&me->counters.explored, 1);
    return offered;
}

/* All that waits because its messages take long, those that take longest first. */
static uint32_t offer_long(struct jzx__worker *me, uint64_t now) {
    return offer(me, &me->order.hogs, me->order.hogs.depth, now) +
           offer(me, &me->order.heavy, me->order.heavy.depth, now);
}

bool jzx__balance_offer_long(struct jzx__worker *me) {
    if (me->sched->balance != JZX_BALANCE_ADAPTIVE || !jzx__sched_has_idle(me->sched) ||
        jzx__deque_count(&me->deque) != 0)
        return false;
    uint64_t now = jzx__clock_now(&me->sched->clock);
    return offer_long(me, now) != 0 && jzx__sched_wake_one(me->sched);
}

static void offer_work(struct jzx__worker *me, uint64_t now) {
    uint32_t offered = 0;
    struct overdue overdue = look_at_waits(me, now);
    if (!jzx__sched_has_idle(me->sched))
        return;
    if (me->sched->balance == JZX_BALANCE_EAGER) {
        queue_next(me);
        offered = offer_half(me, &me->order.woken, now) + offer_half(me, &me->order.spawned, now) +
                  offer_half(me, &me->order.heavy, now) + offer_half(me, &me->order.hogs, now);
    } else {
        offered = offer_long(me, now);
        if (offered == 0)
            offered = spread(me, overdue, now);
        if (offered == 0 && !is_host(me, now))
            offered = explore(me, now);
    }
    if (offered != 0)
        jzx__sched_wake_one(me->sched);
}

/* ---- moving together (B4, B5) ---- */

void jzx__balance_crossed(struct jzx__worker *me, struct jzx__task *target) {
    /* relaxed: a hint about where the target is; it may move at any time */
    uintptr_t word = jzx__atomic_load_relaxed(&target->owner) & ~JZX__OWNER_FLAGS;
    const struct jzx__worker *owner = (const struct jzx__worker *)word;
    jzx__counter_add(&me->counters.crossed, 1);
    me->meter.crossed_in_tick++;
    jzx__worker_hasten_tick(me); /* a producer may send for long without handling anything */
    if (jzx__task_is_heavy(jzx__worker_current(me)) || owner == NULL)
        return;
    me->balance.window.crossed++;
    me->balance.window.crossed_to[owner->index]++;
}

bool jzx__balance_wants_current(const struct jzx__worker *me, struct jzx__task *target) {
    /* relaxed: a hint, as above */
    uintptr_t word = jzx__atomic_load_relaxed(&target->owner) & ~JZX__OWNER_FLAGS;
    return me->balance.gather_to != NULL && word == jzx__worker_word(me->balance.gather_to);
}

static bool hand_to(struct jzx__worker *me, struct jzx__task *task, struct jzx__worker *to) {
    if (!jzx__task_hand_over(task, jzx__worker_word(to), jzx__worker_queue(to, JZX__FEED_INJECT)))
        return false;
    if (jzx__parker_wake(&to->parker))
        me->balance.window.wakes++;
    return true;
}

bool jzx__balance_move(struct jzx__worker *me, struct jzx__task *task, struct jzx__worker *to) {
    return task->bound == JZX__FREE && !jzx__task_is_heavy(task) && hand_to(me, task, to);
}

/* The same for a task that is not offered again for a while. */
static bool move_to_stay(struct jzx__worker *me, struct jzx__task *task, struct jzx__worker *to,
                         jzx__counter *counter) {
    uint16_t stays = task->stays;
    make_stay(task, jzx__clock_now(&me->sched->clock), me->balance.pause_ns);
    if (jzx__balance_move(me, task, to)) {
        jzx__counter_add(counter, 1);
        return true;
    }
    task->stays = stays;
    return false;
}

bool jzx__balance_gather(struct jzx__worker *me, struct jzx__task *task) {
    struct jzx__worker *to = me->balance.gather_to;
    return to != NULL && move_to_stay(me, task, to, &me->counters.gathered);
}

bool jzx__balance_follow(struct jzx__worker *me, struct jzx__task *task, uintptr_t sender_owner) {
    struct jzx__worker *to = me->balance.follow_to;
    if (to == NULL || sender_owner != jzx__worker_word(to))
        return false;
    return move_to_stay(me, task, to, &me->counters.followed);
}

bool jzx__balance_toss(struct jzx__worker *me, struct jzx__task *task) {
    uint32_t steps = 1 + jzx__rng_below(&me->rng, me->sched->worker_count - 1);
    uint32_t to = (me->index + steps) % me->sched->worker_count;
    return to != me->index && task->bound == JZX__FREE && hand_to(me, task, me->sched->workers[to]);
}

static void begin_window(struct jzx__worker *me, uint64_t now, uint64_t handled) {
    struct jzx__balance *balance = &me->balance;
    balance->window.at_ns = now;
    balance->window.idle_ns = 0;
    balance->window.heavy_ns = 0;
    balance->window.handled = handled;
    balance->window.crossed = 0;
    balance->window.wakes = 0;
    memset(balance->window.crossed_to, 0,
           me->sched->worker_count * sizeof *balance->window.crossed_to);
}

static struct jzx__worker *best_partner(struct jzx__worker *me) {
    uint32_t best = me->index;
    for (uint32_t i = 0; i < me->sched->worker_count; i++) {
        if (i != me->index &&
            me->balance.window.crossed_to[i] > me->balance.window.crossed_to[best])
            best = i;
    }
    return best == me->index ? NULL : me->sched->workers[best];
}

static uint32_t part_of(uint64_t part, uint64_t whole) {
    return whole == 0 || part > 64 * whole ? 64 * FULL : (uint32_t)(part * FULL / whole);
}

/* B4: true if it is this worker whose tasks should move, and not the partner's. */
static bool suffers_more(const struct jzx__worker *me, const struct jzx__worker *partner,
                         uint32_t cost) {
    /* relaxed: a figure of its last window */
    uint32_t theirs = jzx__atomic_load_relaxed(&partner->balance.cost);
    if (cost >= 2 * theirs)
        return true;
    return theirs < 2 * cost && me->index > partner->index;
}

/* What a message costs in a window that crossed little, or not at all. */
static void learn_calm(struct jzx__balance *balance, uint64_t handled) {
    uint64_t calm_ns = balance->calm_msg_ns;
    if (balance->window.crossed <= handled / 64 && balance->msg_ns != 0)
        balance->calm_msg_ns = calm_ns == 0 ? balance->msg_ns : (7 * calm_ns + balance->msg_ns) / 8;
}

/* Crossing costs more than its price where it meets contention: a worker that knows what its
 * messages cost without sees that. */
static bool is_slowed(const struct jzx__balance *balance, uint64_t handled) {
    return balance->window.crossed > handled / 16 && balance->calm_msg_ns != 0 &&
           balance->msg_ns > 2 * balance->calm_msg_ns;
}

static void judge_window(struct jzx__worker *me, uint64_t now) {
    struct jzx__balance *balance = &me->balance;
    uint64_t length = now - balance->window.at_ns;
    uint64_t busy = length > balance->window.idle_ns ? length - balance->window.idle_ns : 0;
    uint64_t light = busy > balance->window.heavy_ns ? busy - balance->window.heavy_ns : 0;
    uint64_t price = (uint64_t)balance->window.crossed * JZX__CROSS_NS +
                     (uint64_t)balance->window.wakes * JZX__WAKE_NS;
    uint32_t cost = part_of(price, light);
    uint32_t usage = part_of(busy, length);
    /* relaxed, both: figures for others */
    jzx__atomic_store_relaxed(&balance->cost, cost);
    jzx__atomic_store_relaxed(&balance->usage, usage);
    uint64_t handled = jzx__worker_handled(me) - balance->window.handled;
    balance->msg_ns = handled == 0 ? 0 : light / handled;
    learn_calm(balance, handled);
    struct jzx__worker *partner = best_partner(me);
    if (partner == NULL)
        return;
    /* relaxed: a figure of its last window */
    uint32_t both = usage + jzx__atomic_load_relaxed(&partner->balance.usage);
    bool dear = 2 * price > light || is_slowed(balance, handled);
    bool pointless = both < FULL * 9 / 10 && price > length / 50;
    if ((!dear && !pointless) || is_host(me, now) || !suffers_more(me, partner, cost))
        return;
    /* relaxed: see has_guests */
    jzx__atomic_store_relaxed(&partner->balance.guests_until_ns, now + 2 * GATHER_NS);
    if (balance->gather_to == NULL)
        note_failed_experiment(me->sched);
    balance->gather_to = partner;
    balance->gather_until_ns = now + GATHER_NS;
    if (balance->msg_ns < 2 * JZX__CROSS_NS) {
        balance->follow_to = partner; /* B5: those that only listen come, too */
        balance->follow_until_ns = now + GATHER_NS;
    }
    if (balance->pause_ns < PAUSE_MAX_NS)
        balance->pause_ns *= 2;
}

static void look_at_traffic(struct jzx__worker *me, uint64_t now) {
    struct jzx__balance *balance = &me->balance;
    uint64_t handled = jzx__worker_handled(me);
    if (balance->gather_to != NULL && now >= balance->gather_until_ns)
        balance->gather_to = NULL;
    if (balance->follow_to != NULL && now >= balance->follow_until_ns)
        balance->follow_to = NULL;
    /* relaxed: a hint */
    struct jzx__worker *thief = jzx__atomic_load_relaxed(&me->robbed_by);
    if (thief != NULL) {
        jzx__atomic_store_relaxed(&me->robbed_by, NULL);
        if (balance->msg_ns < 2 * JZX__CROSS_NS && !is_host(me, now)) {
            balance->follow_to = thief;
            balance->follow_until_ns = now + FOLLOW_NS;
        }
    }
    bool full = handled - balance->window.handled >= WINDOW_MSGS ||
                (now - balance->window.at_ns >= WINDOW_NS && balance->msg_ns == 0) ||
                (now - balance->window.at_ns >= WINDOW_NS &&
                 balance->window.crossed >= WINDOW_CROSSED_MIN) ||
                now - balance->window.at_ns >= 8 * (uint64_t)WINDOW_NS;
    if (!full)
        return;
    judge_window(me, now);
    begin_window(me, now, handled);
}

/* ---- the tick ---- */

/* Actors that other threads made wait for one worker until that takes long. */
static void look_at_global(struct jzx__worker *me) {
    if (jzx__global_count(&me->sched->global) == 0) {
        me->balance.waits.global_ticks = 0;
    } else if (++me->balance.waits.global_ticks >= 2 && jzx__sched_has_idle(me->sched)) {
        jzx__sched_wake_one(me->sched);
    }
}

/* B3 */
static void look_at_offers(struct jzx__worker *me, uint64_t now) {
    if (jzx__deque_count(&me->deque) == 0) {
        offer_work(me, now);
        return;
    }
    if (now - me->balance.trials.offered_at_ns < RECLAIM_NS)
        return;
    while (jzx__balance_reclaim(me))
        continue;
}

void jzx__balance_tick(struct jzx__worker *me, uint64_t now) {
    look_at_global(me);
    if (me->sched->balance == JZX_BALANCE_NONE)
        return;
    judge_experiment(me, now);
    look_at_offers(me, now);
    if (me->sched->balance == JZX_BALANCE_ADAPTIVE)
        look_at_traffic(me, now);
}
