/* SPDX-License-Identifier: MIT */
/* Groups that end and whose memory becomes other groups' while somebody sends to them: no message
 * reaches a member of another group. Each actor joins the groups of its own number only. */
#include "fixture.h"

#include <jzx/group.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { TICK = 1, CAST = 2 };

#define WORKERS 2u
#define ACTORS 12u
#define SENDERS 2u

static struct {
    jzx_loop *loop;
    atomic_int ticks; /* still to come; below 0 when all have come */
    atomic_uint alive;
    atomic_uint received;
} all;

static void group_name(uint32_t number, char *name) {
    snprintf(name, JZX_NAME_MAX + 1, "number %u", number);
}

static jzx_behavior_result come_and_go(jzx_context *ctx, const jzx_message *msg) {
    uint32_t number = (uint32_t)(uintptr_t)ctx->state;
    char name[JZX_NAME_MAX + 1];
    if (msg->tag == CAST) {
        uint32_t meant_for;
        memcpy(&meant_for, msg->data, sizeof meant_for);
        JZX_EXPECT_EQ(meant_for, number);
        atomic_fetch_add(&all.received, 1);
        return JZX_BEHAVIOR_OK;
    }
    if (atomic_fetch_sub(&all.ticks, 1) <= 0)
        return JZX_BEHAVIOR_STOP;
    group_name(number, name);
    if (jzx_group_leave(ctx, name) != JZX_OK)
        JZX_EXPECT_EQ(jzx_group_join(ctx, name), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, TICK), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void count_end(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    atomic_fetch_sub(&all.alive, 1);
}

static void *send_to_all(void *arg) {
    uint32_t seed = (uint32_t)(uintptr_t)arg + 1;
    char name[JZX_NAME_MAX + 1];
    while (atomic_load(&all.alive) != 0) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t number = (seed >> 16) % ACTORS;
        size_t delivered = 4711;
        group_name(number, name);
        if (seed >> 31) {
            JZX_EXPECT_EQ(jzx_group_broadcast(all.loop, name, JZX_NOBODY, &number, sizeof number,
                                              CAST, &delivered),
                          JZX_OK);
            JZX_EXPECT(delivered <= 1);
        } else {
            jzx_err err = jzx_route(all.loop, name, (jzx_route_policy)((seed >> 8) % 4), seed,
                                    JZX_NOBODY, &number, sizeof number, CAST);
            JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR ||
                       err == JZX_ERR_MAILBOX_FULL);
        }
    }
    return NULL;
}

JZX_TEST(what_is_sent_to_a_group_that_ends_reaches_no_other, "D+pg", "X14") {
    pthread_t threads[SENDERS];
    memset(&all, 0, sizeof all);
    atomic_store(&all.ticks, (int)jzx_test_rounds(300000, 5000000));
    atomic_store(&all.alive, ACTORS);
    all.loop = fixture_loop_with(&JZX_CONFIG(.workers = WORKERS));
    assert_non_null(all.loop);
    for (uint32_t i = 0; i < ACTORS; i++) {
        jzx_spawn_opts opts =
            JZX_SPAWN_OPTS(.behavior = come_and_go, .state = (void *)(uintptr_t)i,
                           .cleanup = count_end, .place = JZX_PLACE_WORKER(i % WORKERS),
                           .mailbox_cap = JZX_MAILBOX_CAP_MAX);
        fixture_send(all.loop, fixture_spawn(all.loop, &opts), TICK);
    }
    for (uintptr_t i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_to_all, (void *)i), 0);
    assert_int_equal(jzx_loop_run(all.loop), JZX_OK);
    for (uint32_t i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    JZX_EXPECT(atomic_load(&all.received) > 0);
    fixture_destroy(all.loop);
}
