/* SPDX-License-Identifier: MIT */
/* Threads that are no actors and wait for room in a mailbox. */
#include "fixture.h"

#include <pthread.h>

enum { CAP = 4, PRODUCERS = 4, EACH = 300 };

struct consumer {
    uint32_t next[PRODUCERS]; /* number that is to come of each */
    uint32_t count;
};

struct producer {
    jzx_loop *loop;
    jzx_actor_id to;
    uint32_t index;
    jzx_err err;
    pthread_t thread;
};

static jzx_behavior_result consume(jzx_context *ctx, const jzx_message *msg) {
    struct consumer *self = ctx->state;
    uint32_t number;
    jzx_test_ran();
    JZX_EXPECT_EQ(msg->sender, JZX_NOBODY);
    memcpy(&number, msg->data, sizeof number);
    JZX_EXPECT_EQ(number, self->next[msg->tag]);
    self->next[msg->tag]++;
    return ++self->count == PRODUCERS * EACH ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void *produce(void *arg) {
    struct producer *self = arg;
    for (uint32_t i = 0; i < EACH && self->err == JZX_OK; i++)
        self->err = jzx_send_wait(self->loop, self->to, &i, sizeof i, self->index, JZX_NEVER);
    return NULL;
}

JZX_TEST(threads_that_wait_for_room_lose_nothing, "C12") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        struct consumer consumer = {.count = 0};
        struct producer producers[PRODUCERS];
        jzx_actor_id id = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = consume, .state = &consumer, .mailbox_cap = CAP));
        for (uint32_t i = 0; i < PRODUCERS; i++) {
            producers[i] = (struct producer){.loop = loop, .to = id, .index = i};
            assert_int_equal(pthread_create(&producers[i].thread, NULL, produce, &producers[i]), 0);
        }
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        for (uint32_t i = 0; i < PRODUCERS; i++) {
            assert_int_equal(pthread_join(producers[i].thread, NULL), 0);
            assert_int_equal(producers[i].err, JZX_OK);
            assert_int_equal(consumer.next[i], EACH);
        }
        assert_int_equal(fixture_stats(loop).refused_full, 0);
        fixture_destroy(loop);
    }
    assert_int_equal(jzx_test_runs(), 2 * PRODUCERS * EACH);
}

JZX_TEST(a_thread_that_may_not_wait_looks_once, "C12") {
    jzx_loop *loop = fixture_loop(); /* which does not run */
    struct recorder log = {0};
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = CAP));
    for (uint32_t i = 0; i < CAP; i++)
        assert_int_equal(jzx_send_wait(loop, id, NULL, 0, i, 0), JZX_OK);
    assert_int_equal(jzx_send_wait(loop, id, NULL, 0, 9, 0), JZX_ERR_TIMEOUT);
    assert_int_equal(jzx_send_wait(loop, id, NULL, 0, 9, jzx_loop_now(loop) + 1), JZX_ERR_TIMEOUT);
    assert_int_equal(fixture_stats(loop).refused_full, 2);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.count, CAP);
    assert_int_equal(jzx_send_wait(loop, id, NULL, 0, 9, 0), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.count, CAP + 1);
    fixture_destroy(loop);
}

JZX_TEST(wrong_sends_of_a_thread_are_refused, "C+fail") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    assert_int_equal(jzx_send_wait(NULL, id, NULL, 0, 1, 0), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send_wait(loop, id, NULL, 1, 1, 0), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send_wait(loop, id, NULL, 0, JZX_TAG_ROOM, 0), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send_wait(loop, 99, NULL, 0, 1, JZX_NEVER), JZX_ERR_NO_SUCH_ACTOR);
    fixture_fail_allocations(0, UINT64_MAX);
    jzx_err err = JZX_OK;
    while (err == JZX_OK) /* until what the loop has in stock is used up */
        err = jzx_send_wait(loop, id, NULL, 0, 1, 0);
    fixture_fail_allocations(UINT64_MAX, 0);
    assert_true(err == JZX_ERR_NO_MEMORY || err == JZX_ERR_TIMEOUT);
    assert_int_equal(jzx_loop_request_stop(loop), JZX_OK);
    assert_int_equal(jzx_send_wait(loop, id, NULL, 0, 1, JZX_NEVER), JZX_ERR_LOOP_CLOSED);
    fixture_destroy(loop);
}
