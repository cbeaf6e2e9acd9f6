/* SPDX-License-Identifier: MIT */
/* Children that depend on one another, on several workers: no child begins before those that it
 * needs are up, none ends before those that need it, and all come back from a storm of failures. */
#include "fixture.h"

#include <jzx/supervisor.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NODES 20u
#define FOREIGN 2u

enum { HIT = 1 };

struct node {
    char name[8];
    uint32_t index;
    atomic_bool is_up;
};

static struct {
    jzx_loop *loop;
    jzx_actor_id root;
    struct node nodes[NODES];
    bool needs[NODES][NODES];
    bool is_quiet; /* nobody fails: the order is as the names say */
    uint64_t seed;
    uint32_t rounds;
} graph;

static uint64_t mix(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static jzx_err begin(jzx_context *ctx) {
    struct node *node = ctx->state;
    jzx_test_ran();
    for (uint32_t i = 0; i < NODES && graph.is_quiet; i++)
        JZX_EXPECT(!graph.needs[node->index][i] || atomic_load(&graph.nodes[i].is_up));
    for (uint32_t i = 0; i < node->index % 4; i++)
        sched_yield();
    atomic_store(&node->is_up, true);
    return JZX_OK;
}

static void end(jzx_context *ctx, jzx_exit_reason reason) {
    struct node *node = ctx->state;
    (void)reason;
    for (uint32_t i = 0; i < NODES && graph.is_quiet; i++)
        JZX_EXPECT(!graph.needs[i][node->index] || !atomic_load(&graph.nodes[i].is_up));
    atomic_store(&node->is_up, false);
}

static jzx_behavior_result live(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    return msg->tag == HIT ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_OK;
}

static void plant(jzx_strategy strategy) {
    jzx_child_spec specs[NODES];
    uint64_t random = graph.seed;
    for (uint32_t i = 0; i < NODES; i++) {
        struct node *node = &graph.nodes[i];
        uint32_t count = 0;
        snprintf(node->name, sizeof node->name, "n%u", i);
        node->index = i;
        specs[NODES - 1 - i] =
            (jzx_child_spec)JZX_SERVICE(.name = node->name, .behavior = live, .init = begin,
                                        .cleanup = end, .state = node,
                                        .backoff = {.kind = JZX_BACKOFF_CONSTANT,
                                                    .initial_delay_ns = JZX_MS(1)});
        for (uint32_t k = 0; k < i && count < 3; k++) {
            graph.needs[i][k] = mix(&random) % 4 == 0;
            if (graph.needs[i][k])
                specs[NODES - 1 - i].depends_on[count++] = graph.nodes[k].name;
        }
    }
    specs[0].depends_on[JZX_DEPENDS_MAX - 1] = JZX_DEPENDS_ON_NOBODY;
    JZX_EXPECT_EQ(jzx_spawn_supervisor(
                      graph.loop, &JZX_SUPERVISOR_OPTS(.strategy = strategy, JZX_CHILDREN(specs)),
                      &graph.root),
                  JZX_OK);
}

static void wait_for_all(void) {
    jzx_supervisor_info family = {.size = sizeof family};
    while (jzx_supervisor_info_get(graph.loop, graph.root, &family) == JZX_OK &&
           family.running < NODES)
        sched_yield();
}

static void *rage(void *arg) {
    uint64_t random = graph.seed * 31 + (uint64_t)(uintptr_t)arg;
    for (uint32_t i = 0; i < graph.rounds; i++) {
        jzx_actor_id id = JZX_NOBODY;
        const char *name = graph.nodes[mix(&random) % NODES].name;
        if (mix(&random) % 8 == 0)
            (void)jzx_supervisor_restart(graph.loop, graph.root, name);
        else if (jzx_supervisor_child(graph.loop, graph.root, name, &id) == JZX_OK)
            (void)jzx_send(graph.loop, id, JZX_NOBODY, NULL, 0, HIT);
        if (mix(&random) % 16 == 0)
            sched_yield();
    }
    return NULL;
}

static void *direct(void *arg) {
    pthread_t threads[FOREIGN];
    (void)arg;
    wait_for_all();
    if (!graph.is_quiet) {
        for (uint32_t i = 0; i < FOREIGN; i++)
            JZX_EXPECT_EQ(pthread_create(&threads[i], NULL, rage, (void *)(uintptr_t)(i + 1)), 0);
        for (uint32_t i = 0; i < FOREIGN; i++)
            JZX_EXPECT_EQ(pthread_join(threads[i], NULL), 0);
        wait_for_all();
    }
    JZX_EXPECT_EQ(jzx_actor_stop(graph.loop, graph.root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    return NULL;
}

static void live_once(uint32_t workers, jzx_strategy strategy, bool is_quiet, uint64_t seed) {
    pthread_t thread;
    memset(&graph, 0, sizeof graph);
    graph.is_quiet = is_quiet;
    graph.seed = seed;
    graph.rounds = (uint32_t)jzx_test_rounds(200, 4000);
    graph.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_non_null(graph.loop);
    assert_int_equal(jzx_loop_hold(graph.loop), JZX_OK);
    plant(strategy);
    assert_int_equal(pthread_create(&thread, NULL, direct, NULL), 0);
    assert_int_equal(jzx_loop_release(graph.loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(graph.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (uint32_t i = 0; i < NODES; i++)
        JZX_EXPECT(!atomic_load(&graph.nodes[i].is_up));
    fixture_destroy(graph.loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(branches_start_and_stop_in_order_on_one_to_eight_workers, "D+sup") {
    uint32_t rounds = (uint32_t)jzx_test_rounds(80, 800);
    for (uint32_t i = 0; i < rounds; i++)
        live_once(1 + i % 8, (jzx_strategy)(i % 3), true, i);
    JZX_EXPECT(jzx_test_runs() >= rounds * NODES);
}

JZX_TEST(dependents_come_back_from_storms_of_failures, "D+sup", "C21") {
    for (uint32_t i = 0; i < 12; i++)
        live_once(1 + i % 4, (jzx_strategy)(i % 3), false, 1000 + i);
    JZX_EXPECT(jzx_test_runs() > 12 * NODES);
}
