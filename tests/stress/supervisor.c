/* SPDX-License-Identifier: MIT */
/* Supervisors on several workers: storms of failures and kills, children that foreign threads add,
 * remove, restart and look at, and a stop in the middle. At the end nothing is left and the books
 * balance. */
#include "fixture.h"

#include <jzx/supervisor.h>
#include <jzx/timer.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define LEAVES 24u
#define BRANCHES 8u
#define FOREIGN 3u

enum { HIT = 1 };

struct storm {
    jzx_loop *loop;
    jzx_actor_id root;
    uint64_t seed;
    uint32_t rounds;
    atomic_uint begun;
    atomic_uint ended;
};

static uint64_t mix(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static struct storm *storm;

static jzx_err leaf_init(jzx_context *ctx) {
    jzx_test_ran();
    (void)ctx;
    atomic_fetch_add(&storm->begun, 1);
    return JZX_OK;
}

static void leaf_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    atomic_fetch_add(&storm->ended, 1);
}

static jzx_behavior_result leaf(jzx_context *ctx, const jzx_message *msg) {
    uint64_t random = ctx->self ^ (uint64_t)msg->len << 20;
    switch (mix(&random) % 5) {
    case 0: return JZX_BEHAVIOR_FAIL;
    case 1: return JZX_BEHAVIOR_STOP;
    case 2: jzx_exit(ctx, JZX_EXIT_FAIL, "hit");
    case 3: JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_KILL), JZX_OK); break;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}

/* ---- what the foreign threads do ---- */

/* Some actor below the root: a leaf, or now and then a whole branch. */
static jzx_actor_id victim(uint64_t *random) {
    jzx_actor_id branch = JZX_NOBODY;
    jzx_actor_id id = JZX_NOBODY;
    if (jzx_supervisor_child_id(storm->loop, storm->root, mix(random) % BRANCHES, &branch) !=
        JZX_OK)
        return JZX_NOBODY;
    if (mix(random) % 64 == 0)
        return branch;
    (void)jzx_supervisor_child_id(storm->loop, branch, mix(random) % LEAVES, &id);
    return id;
}

static void look(uint64_t *random) {
    jzx_actor_id branch = JZX_NOBODY;
    jzx_supervisor_info family = {.size = sizeof family};
    jzx_child_info child = {.size = sizeof child};
    if (jzx_supervisor_child_id(storm->loop, storm->root, mix(random) % BRANCHES, &branch) !=
        JZX_OK)
        return;
    if (jzx_supervisor_info_get(storm->loop, branch, &family) == JZX_OK)
        JZX_EXPECT(family.running <= family.children);
    if (jzx_supervisor_child_info(storm->loop, branch, mix(random) % LEAVES, &child) == JZX_OK)
        JZX_EXPECT(memchr(child.last_text, '\0', sizeof child.last_text) != NULL);
}

static void meddle(uint64_t *random) {
    jzx_actor_id branch = JZX_NOBODY;
    char name[8];
    if (jzx_supervisor_child_id(storm->loop, storm->root, mix(random) % BRANCHES, &branch) !=
        JZX_OK)
        return;
    snprintf(name, sizeof name, "n%u", (unsigned)(mix(random) % 16));
    jzx_child_spec spec = {.name = name,
                           .behavior = leaf,
                           .init = leaf_init,
                           .cleanup = leaf_cleanup,
                           .keep_mailbox = mix(random) % 2 == 0};
    switch (mix(random) % 3) {
    case 0: jzx_supervisor_add(storm->loop, branch, &spec, sizeof spec, JZX_NOBODY); break;
    case 1: jzx_supervisor_remove(storm->loop, branch, name); break;
    default: jzx_supervisor_restart(storm->loop, branch, name); break;
    }
}

static void *rage(void *arg) {
    uint64_t random = storm->seed * 31 + (uint64_t)(uintptr_t)arg;
    for (uint32_t i = 0; i < storm->rounds; i++) {
        jzx_actor_id id = victim(&random);
        switch (mix(&random) % 8) {
        case 0: (void)jzx_actor_stop(storm->loop, id, JZX_STOP_KILL); break;
        case 1: (void)jzx_actor_fail(storm->loop, id); break;
        case 2: meddle(&random); break;
        case 3:
        case 4: look(&random); break;
        default: (void)jzx_send(storm->loop, id, JZX_NOBODY, "0123456789", i % 10, HIT); break;
        }
    }
    return NULL;
}

/* ---- the storm ---- */

enum ending { STOP_ROOT, KILL_ROOT, STOP_LOOP, REQUEST_STOP, ENDINGS };

struct finale {
    pthread_t threads[FOREIGN];
    enum ending ending;
};

/* A child that is killed while it first starts is a first start that fails, and ends the tree. */
static void wait_for_tree(void) {
    jzx_supervisor_info family = {.size = sizeof family};
    while (jzx_supervisor_info_get(storm->loop, storm->root, &family) == JZX_OK &&
           family.running < BRANCHES)
        sched_yield();
}

static void *end_it(void *arg) {
    struct finale *finale = arg;
    wait_for_tree();
    for (uint32_t i = 0; i < FOREIGN; i++)
        JZX_EXPECT_EQ(pthread_create(&finale->threads[i], NULL, rage, (void *)(uintptr_t)(i + 1)),
                      0);
    if (finale->ending % 2 == 0) /* else in the middle */
        for (uint32_t i = 0; i < FOREIGN; i++)
            JZX_EXPECT_EQ(pthread_join(finale->threads[i], NULL), 0);
    switch (finale->ending) {
    case STOP_ROOT: jzx_actor_stop(storm->loop, storm->root, JZX_STOP_AFTER_MESSAGE); break;
    case KILL_ROOT: jzx_actor_stop(storm->loop, storm->root, JZX_STOP_KILL); break;
    case STOP_LOOP: jzx_loop_stop(storm->loop, JZX_NEVER); break;
    default: jzx_loop_request_stop(storm->loop); break;
    }
    if (finale->ending % 2 != 0)
        for (uint32_t i = 0; i < FOREIGN; i++)
            JZX_EXPECT_EQ(pthread_join(finale->threads[i], NULL), 0);
    return NULL;
}

static void plant(jzx_loop *loop) {
    static jzx_child_spec leaves[LEAVES];
    static jzx_supervisor_opts branches[BRANCHES];
    static jzx_child_spec specs[BRANCHES];
    for (uint32_t i = 0; i < LEAVES; i++)
        leaves[i] = (jzx_child_spec){.behavior = leaf,
                                     .init = i % 3 ? leaf_init : NULL,
                                     .cleanup = i % 3 ? leaf_cleanup : NULL,
                                     .keep_mailbox = i % 2 == 0,
                                     .mode = i % 5 ? JZX_PERMANENT : JZX_TRANSIENT,
                                     .backoff.initial_delay_ns = i % 7 == 0 ? JZX_MS(1) : 0};
    for (uint32_t i = 0; i < BRANCHES; i++) {
        branches[i] =
            JZX_SUPERVISOR_OPTS(.strategy = (jzx_strategy)(i % 4),
                                .intensity = i % 2 ? JZX_UNLIMITED : 60, JZX_CHILDREN(leaves));
        specs[i] = (jzx_child_spec){.supervisor = &branches[i]};
    }
    JZX_EXPECT_EQ(jzx_spawn_supervisor(
                      loop, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)),
                      &storm->root),
                  JZX_OK);
}

static void weather(uint32_t workers, enum ending ending, uint64_t seed) {
    struct storm here = {.seed = seed, .rounds = (uint32_t)jzx_test_rounds(400, 20000)};
    struct finale finale = {.ending = ending};
    pthread_t thread;
    storm = &here;
    here.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_non_null(here.loop);
    plant(here.loop);
    assert_int_equal(jzx_loop_hold(here.loop), JZX_OK);
    assert_int_equal(pthread_create(&thread, NULL, end_it, &finale), 0);
    assert_int_equal(jzx_loop_release(here.loop), JZX_OK);
    jzx_err err = jzx_loop_run(here.loop);
    JZX_EXPECT_EQ(err, JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    jzx_stats stats = fixture_stats(here.loop);
    JZX_EXPECT_EQ(stats.spawned, stats.exited);
    JZX_EXPECT_EQ(stats.accepted, stats.handled + stats.dead);
    JZX_EXPECT(atomic_load(&here.begun) <= atomic_load(&here.ended)); /* some end before init */
    fixture_destroy(here.loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(trees_outlive_storms_of_failures_on_one_to_eight_workers, "C21", "C22", "C27", "C+inv") {
    for (uint32_t workers = 1; workers <= 8; workers++)
        weather(workers, STOP_ROOT, workers);
    JZX_EXPECT(jzx_test_runs() != 0);
}

JZX_TEST(storms_are_stopped_in_the_middle_and_leave_nothing, "C21", "D+sup", "D+stop", "X14") {
    for (uint32_t workers = 1; workers <= 8; workers++)
        weather(workers, (enum ending)(workers % ENDINGS), 100 + workers);
    JZX_EXPECT(jzx_test_runs() != 0);
}
