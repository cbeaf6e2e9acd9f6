/* SPDX-License-Identifier: MIT */
#include "sched/place.h"

#include "base/assert.h"
#include "sched/balance.h"
#include "sched/sched.h"

/* ---- whether it is busy ---- */

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static void read_cpu(struct jzx__worker *me, uint64_t now) {
    struct jzx__rest *rest = &me->balance.rest;
    rest->at_ns = now;
    rest->cpu_ns = jzx__clock_cpu(&me->sched->clock);
    rest->off_ns = 0;
}

static void rest(struct jzx__worker *me, uint64_t now) {
    me->balance.rest.until_ns = now + JZX__REST_NS;
    read_cpu(me, now);
}

/* After a short sleep, in which the rest did not pass. */
static void nap(struct jzx__rest *rest, uint64_t idle_at_ns, uint64_t now) {
    uint64_t left_ns = rest->until_ns > idle_at_ns ? rest->until_ns - idle_at_ns : 0;
    uint64_t slept_ns = now - idle_at_ns;
    rest->until_ns = now + least(left_ns + JZX__REST_FACTOR * slept_ns, JZX__REST_NS);
    rest->off_ns += slept_ns;
}

void jzx__place_begin(struct jzx__worker *me) {
    uint64_t now = jzx__worker_last_tick(me);
    JZX_ASSERT_OWNER(me);
    if (me->sched->worker_count == 1)
        return;
    if (me->balance.rest.until_ns == 0)
        rest(me, now);
    else
        read_cpu(me, now); /* of another thread */
}

void jzx__place_wake(struct jzx__worker *me, uint64_t idle_at_ns) {
    uint64_t now = jzx__worker_last_tick(me);
    JZX_ASSERT_OWNER(me);
    if (me->sched->worker_count == 1)
        return;
    if (now - idle_at_ns < JZX__REST_NS)
        nap(&me->balance.rest, idle_at_ns, now);
    else
        rest(me, now);
}

/* How long the thread was awake without a CPU since the last reading. */
static uint64_t count_lost(struct jzx__worker *me, uint64_t now) {
    const struct jzx__rest before = me->balance.rest;
    read_cpu(me, now);
    uint64_t awake_ns = now - before.at_ns;
    uint64_t used_ns = me->balance.rest.cpu_ns - before.cpu_ns + before.off_ns;
    return awake_ns > used_ns ? awake_ns - used_ns : 0;
}

bool jzx__place_accept(struct jzx__worker *me) {
    struct jzx__rest *rest = &me->balance.rest;
    JZX_ASSERT_OWNER(me);
    uint64_t now = jzx__clock_now(&me->sched->clock);
    uint64_t until_ns = rest->until_ns + count_lost(me, now);
    bool is_busy = now >= until_ns;
    if (is_busy && now - until_ns > JZX__REST_NS)
        until_ns = now - JZX__REST_NS;
    rest->until_ns = least(until_ns + JZX__REST_ACCEPT_NS, now + JZX__REST_NS);
    return is_busy;
}

/* ---- new tasks ---- */

/* The place of a task with a rank does not tell whether it ran. */
static bool is_new(const struct jzx__task *task) {
    return task->place == JZX__NEW || task->place == JZX__IN_SPAWNED;
}

bool jzx__place_begin_at(struct jzx__worker *me, struct jzx__task *task, struct jzx__worker *to) {
    JZX_ASSERT_OWNER(me);
    JZX_ASSERT(to != me);
    if (!is_new(task) || task->bound != JZX__FREE || !jzx__task_hold(task))
        return false;
    jzx__worker_unqueue(me, task);
    bool moved = jzx__balance_move(me, task, to);
    JZX_ASSERT(moved); /* it is held, and never ran: it is not heavy */
    jzx__counter_add(&me->counters.placed, 1);
    return true;
}

void jzx__place_begin_here(struct jzx__worker *me, struct jzx__task *task) {
    JZX_ASSERT_OWNER(me);
    if (is_new(task) && task->bound == JZX__FREE)
        task->bound = JZX__BOUND_WORKER;
}
