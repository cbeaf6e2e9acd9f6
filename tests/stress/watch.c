/* SPDX-License-Identifier: MIT */
/* Monitors and links while everybody dies: kill storms on one to eight workers, with actors that
 * move after every message. Each monitor is heard of once or was taken back, links are mutual, and
 * nothing is left. */
#include "actor/loop.h"

#include "fixture.h"

#include <jzx/exit.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { TICK = 1, WORK = 2 };

/* A loop whose actors move to another worker after every message, if it is restless. */
static jzx_loop *open_loop(uint32_t workers, bool restless) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = workers, .balance = JZX_BALANCE_EAGER));
    assert_non_null(loop);
    loop->sched.restless = restless && workers > 1;
    /* relaxed: sends every spawn the long way, where it is made restless */
    jzx__atomic_store_relaxed(&loop->observer.is_set, loop->sched.restless ? 1u : 0u);
    return loop;
}

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* ---- a storm ---- */

#define MORTALS 24u
#define WATCHERS 6u
#define KILLERS 2u
#define HELD_MAX 32u

static struct storm {
    jzx_loop *loop;
    _Atomic uint64_t ids[MORTALS]; /* soon stale */
    atomic_uint left;              /* mortals to come */
    atomic_uint alive;             /* mortals */
    atomic_uint seed;
} storm;

/* Watches mortals until none is left, and does not die before it has heard of all. */
struct watcher {
    jzx_monitor_ref refs[HELD_MAX];
    jzx_actor_id targets[HELD_MAX];
    uint32_t count; /* monitors that it waits for */
    uint32_t seed;
    uint64_t made;
    uint64_t told;
    uint64_t taken_back;
};

static jzx_actor_id any_mortal(uint32_t *seed) {
    return atomic_load(&storm.ids[next_random(seed) % MORTALS]);
}

static void watch_one(jzx_context *ctx, struct watcher *self) {
    jzx_actor_id target = any_mortal(&self->seed);
    jzx_err err = jzx_monitor(ctx, target, &self->refs[self->count]);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
    if (err != JZX_OK)
        return;
    self->targets[self->count++] = target;
    self->made++;
}

static void remove_ref(struct watcher *self, uint32_t index) {
    self->count--;
    self->refs[index] = self->refs[self->count];
    self->targets[index] = self->targets[self->count];
}

/* What was not heard of can be taken back, dead or not: it would come otherwise. */
static void unwatch_one(jzx_context *ctx, struct watcher *self) {
    if (self->count == 0)
        return;
    uint32_t index = next_random(&self->seed) % self->count;
    jzx_monitor_ref ref = self->refs[index];
    JZX_EXPECT_EQ(jzx_demonitor(ctx, ref), JZX_OK);
    JZX_EXPECT_EQ(jzx_demonitor(ctx, ref), JZX_ERR_NO_SUCH_ACTOR);
    remove_ref(self, index);
    self->taken_back++;
}

static void hear(struct watcher *self, const jzx_message *msg) {
    jzx_exit_notice notice;
    uint32_t index = 0;
    memcpy(&notice, msg->data, sizeof notice);
    while (index < self->count && self->refs[index] != notice.monitor)
        index++;
    if (!JZX_EXPECT(index < self->count)) /* told twice, or after it was taken back */
        return;
    JZX_EXPECT_EQ(self->targets[index], notice.actor);
    remove_ref(self, index);
    self->told++;
}

static jzx_behavior_result watch(jzx_context *ctx, const jzx_message *msg) {
    struct watcher *self = ctx->state;
    if (msg->tag == JZX_TAG_DOWN)
        hear(self, msg);
    if (msg->tag == TICK && atomic_load(&storm.alive) == 0) {
        if (self->count == 0)
            return JZX_BEHAVIOR_STOP;
    } else if (msg->tag == TICK) {
        while (self->count < HELD_MAX / 2 && next_random(&self->seed) % 8 != 0)
            watch_one(ctx, self);
        if (next_random(&self->seed) % 2 == 0)
            unwatch_one(ctx, self);
    }
    if (msg->tag == TICK)
        fixture_send(ctx->loop, ctx->self, TICK);
    return JZX_BEHAVIOR_OK;
}

/* ---- those who die ---- */

struct mortal {
    uint32_t slot;
    uint32_t seed;
    jzx_monitor_ref ref;
};

static jzx_behavior_result live(jzx_context *ctx, const jzx_message *msg);
static void die(jzx_context *ctx, jzx_exit_reason reason);

static struct mortal mortals[MORTALS];

/* In the slot of one that has ended: only its cleanup does this. */
static void spawn_heir(jzx_loop *loop, uint32_t slot) {
    jzx_actor_id id = JZX_NOBODY;
    mortals[slot] = (struct mortal){.slot = slot, .seed = atomic_fetch_add(&storm.seed, 1)};
    if (JZX_EXPECT_EQ(jzx_spawn(loop,
                                &JZX_SPAWN_OPTS(.behavior = live, .cleanup = die, .mailbox_cap = 64,
                                                .state = &mortals[slot]),
                                &id),
                      JZX_OK)) {
        atomic_store(&storm.ids[slot], id);
        jzx_send(loop, id, JZX_NOBODY, NULL, 0, TICK);
    }
}

static void die(jzx_context *ctx, jzx_exit_reason reason) {
    struct mortal *self = ctx->state;
    (void)reason;
    unsigned left = atomic_load(&storm.left);
    while (left > 0 && !atomic_compare_exchange_weak(&storm.left, &left, left - 1))
        continue;
    if (left > 0)
        spawn_heir(ctx->loop, self->slot);
    else
        atomic_fetch_sub(&storm.alive, 1);
}

static void do_something(jzx_context *ctx, struct mortal *self) {
    jzx_actor_id other = any_mortal(&self->seed);
    switch (next_random(&self->seed) % 8) {
    case 0: jzx_monitor(ctx, other, &self->ref); break;
    case 1: jzx_demonitor(ctx, self->ref); break;
    case 2: jzx_link(ctx, other); break;
    case 3:
        jzx_link(ctx, other);
        jzx_unlink(ctx, other);
        break;
    case 4: jzx_unlink(ctx, other); break;
    case 5: jzx_trap_exits(ctx, next_random(&self->seed) % 2 == 0); break;
    case 6: jzx_send(ctx->loop, other, ctx->self, NULL, 0, WORK); break;
    default: break;
    }
}

static jzx_behavior_result live(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    struct mortal *self = ctx->state;
    if (msg->tag != TICK)
        return JZX_BEHAVIOR_OK;
    for (uint32_t i = 0; i < 3; i++)
        do_something(ctx, self);
    jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, TICK);
    switch (next_random(&self->seed) % 64) {
    case 0: return JZX_BEHAVIOR_STOP;
    case 1: return JZX_BEHAVIOR_FAIL;
    case 2: jzx_exit(ctx, JZX_EXIT_FAIL, "a bad day");
    case 3: jzx_exit(ctx, JZX_EXIT_NORMAL, NULL);
    case 4: jzx_actor_stop(ctx->loop, any_mortal(&self->seed), JZX_STOP_AFTER_QUEUE); break;
    case 5: jzx_actor_stop(ctx->loop, any_mortal(&self->seed), JZX_STOP_KILL); break;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}

/* Until no mortal is left: whoever traps and never draws a death is killed here. */
static void *kill_from_outside(void *arg) {
    uint32_t seed = (uint32_t)(uintptr_t)arg;
    while (atomic_load(&storm.alive) != 0) {
        jzx_err err = jzx_actor_stop(storm.loop, any_mortal(&seed), JZX_STOP_KILL);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
        for (uint32_t i = next_random(&seed) % 8; i > 0; i--)
            sched_yield();
    }
    return NULL;
}

static void run_storm(uint32_t workers, bool restless, uint32_t count, uint32_t seed) {
    static struct watcher watchers[WATCHERS];
    pthread_t threads[KILLERS];
    memset(&storm, 0, sizeof storm);
    memset(watchers, 0, sizeof watchers);
    storm.loop = open_loop(workers, restless);
    atomic_store(&storm.left, count);
    atomic_store(&storm.alive, MORTALS);
    atomic_store(&storm.seed, seed * 7919);
    for (uint32_t i = 0; i < MORTALS; i++)
        spawn_heir(storm.loop, i);
    for (uint32_t i = 0; i < WATCHERS; i++) {
        watchers[i].seed = seed + i;
        fixture_send(
            storm.loop,
            fixture_spawn(storm.loop, &JZX_SPAWN_OPTS(.behavior = watch, .state = &watchers[i],
                                                      .mailbox_cap = 1 + i)),
            TICK);
    }
    for (uintptr_t i = 0; i < KILLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, kill_from_outside, (void *)(seed + i)),
                         0);
    assert_int_equal(jzx_loop_run(storm.loop), JZX_OK);
    for (uint32_t i = 0; i < KILLERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (uint32_t i = 0; i < WATCHERS; i++)
        JZX_EXPECT_EQ(watchers[i].made, watchers[i].told + watchers[i].taken_back);
    jzx_stats stats = fixture_stats(storm.loop);
    JZX_EXPECT_EQ(stats.spawned, MORTALS + count + WATCHERS);
    JZX_EXPECT_EQ(stats.exited, stats.spawned);
    fixture_destroy(storm.loop);
}

JZX_TEST(each_monitor_is_heard_of_once_or_taken_back_in_a_storm, "E19", "D+top", "X15") {
    uint64_t rounds = jzx_test_rounds(1, 20);
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t workers = 1; workers <= 8; workers++)
            run_storm(workers, false, 800, 1 + round * 100 + workers);
    JZX_EXPECT(jzx_test_runs() != 0);
}

JZX_TEST(monitors_hold_while_everybody_moves_and_dies, "E19", "D+top", "D13", "X15") {
    uint64_t rounds = jzx_test_rounds(1, 20);
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t workers = 2; workers <= 8; workers++)
            run_storm(workers, true, 400, 5000 + round * 100 + workers);
    JZX_EXPECT(jzx_test_runs() != 0);
}

/* ---- links are mutual ---- */

#define PAIRS 40u

/* One unlinks its partner, which has mail before that, and links it in its next turn, wherever both
 * are then. In the end it fails: the other must go along, or the run does not end. */
struct partner {
    jzx_actor_id other; /* of the one that leads */
    uint32_t seed;
    uint32_t rounds;
    atomic_uint *ended;
};

static jzx_behavior_result follow(jzx_context *ctx, const jzx_message *msg) {
    struct partner *self = ctx->state;
    if (next_random(&self->seed) % 8 == 0) {
        jzx_err err = jzx_link(ctx, msg->sender);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
    }
    return JZX_BEHAVIOR_OK;
}

static void note_end(jzx_context *ctx, jzx_exit_reason reason) {
    struct partner *self = ctx->state;
    JZX_EXPECT_EQ(reason, JZX_EXIT_FAIL);
    atomic_fetch_add(self->ended, 1);
}

static jzx_behavior_result lead(jzx_context *ctx, const jzx_message *msg) {
    struct partner *self = ctx->state;
    if (msg->tag == WORK) {
        JZX_EXPECT_EQ(jzx_link(ctx, self->other), JZX_OK);
        if (self->rounds-- == 0)
            jzx_exit(ctx, JZX_EXIT_FAIL, "enough");
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, TICK), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    for (uint32_t i = next_random(&self->seed) % 4; i > 0; i--)
        jzx_send(ctx->loop, self->other, ctx->self, NULL, 0, WORK); /* it may be full */
    JZX_EXPECT_EQ(jzx_unlink(ctx, self->other), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, WORK), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void run_pairs(uint32_t workers, bool restless, uint32_t seed) {
    static struct partner partners[PAIRS][2];
    atomic_uint ended = 0;
    jzx_loop *loop = open_loop(workers, restless);
    for (uint32_t i = 0; i < PAIRS; i++) {
        for (uint32_t k = 0; k < 2; k++)
            partners[i][k] =
                (struct partner){.seed = seed + 2 * i + k, .rounds = 30, .ended = &ended};
        partners[i][0].other =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = follow, .state = &partners[i][1],
                                                .cleanup = note_end));
        fixture_send(loop,
                     fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = lead, .state = &partners[i][0],
                                                         .cleanup = note_end)),
                     WORK);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(atomic_load(&ended), 2 * PAIRS);
    fixture_destroy(loop);
}

JZX_TEST(who_links_and_fails_takes_the_other_along_wherever_both_are, "E19", "D+top", "D13") {
    uint64_t rounds = jzx_test_rounds(12, 300);
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t workers = 1; workers <= 6; workers++)
            run_pairs(workers, round % 3 != 0, round * 1000 + workers * 100);
}

/* ---- loops that stop in a storm ---- */

static void *stop_soon(void *loop) {
    jzx_loop_request_stop(loop);
    return NULL;
}

static jzx_behavior_result spawn_and_watch(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    jzx_actor_id id = JZX_NOBODY;
    jzx_monitor_ref ref = JZX_NO_MONITOR;
    if (msg->tag != TICK)
        return JZX_BEHAVIOR_OK;
    jzx_trap_exits(ctx, true);
    jzx_err err =
        jzx_spawn_watched(ctx, &JZX_SPAWN_OPTS(.behavior = spawn_and_watch), true, &id, &ref);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_LOOP_CLOSED);
    if (err == JZX_OK && id % 3 == 0)
        jzx_demonitor(ctx, ref);
    if (err == JZX_OK)
        jzx_send(ctx->loop, id, ctx->self, NULL, 0, TICK);
    jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, TICK);
    return id % 5 == 0 ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_OK;
}

JZX_TEST(loops_stop_while_all_watch_all, "D18", "C16", "E19") {
    uint64_t handled = 0;
    uint64_t rounds = jzx_test_rounds(60, 1000);
    for (uint64_t i = 0; i < rounds; i++) {
        pthread_t thread;
        jzx_loop *loop = open_loop(1 + (uint32_t)(i % 5), i % 2 == 0);
        for (int k = 0; k < 5; k++)
            fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spawn_and_watch)),
                         TICK);
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, loop), 0);
        jzx_err err = jzx_loop_run(loop);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_LOOP_CLOSED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        handled += fixture_stats(loop).handled;
        fixture_destroy(loop);
    }
    JZX_EXPECT_EQ(jzx_test_runs(), handled);
}
