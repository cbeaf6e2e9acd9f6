/* SPDX-License-Identifier: MIT */
/* Payloads: copies, moved buffers, taking, destructors. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

/* ---- copies of every length ---- */

struct echo {
    size_t len;
    unsigned seed;
    int seen;
};

static unsigned char byte_at(unsigned seed, size_t i) {
    return (unsigned char)(seed * 31u + i * 7u + 1u);
}

static void fill(unsigned char *bytes, size_t len, unsigned seed) {
    for (size_t i = 0; i < len; i++)
        bytes[i] = byte_at(seed, i);
}

static bool is_filled(const unsigned char *bytes, size_t len, unsigned seed) {
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != byte_at(seed, i))
            return false;
    }
    return true;
}

static jzx_behavior_result check_payload(jzx_context *ctx, const jzx_message *msg) {
    struct echo *self = ctx->state;
    JZX_EXPECT(msg->data != NULL);
    JZX_EXPECT_EQ((uintptr_t)msg->data % _Alignof(max_align_t), 0);
    JZX_EXPECT_EQ(msg->len, self->len);
    JZX_EXPECT(is_filled(msg->data, msg->len, self->seed));
    self->seen++;
    if (msg->tag == 1) { /* and once more from inside, by the owner's path */
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, msg->data, msg->len, 2), JZX_OK);
        memset(msg->data, 0, msg->len); /* the payload is ours to write to; the copy is apart */
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(payloads_of_every_length_arrive_whole, "C+msg", "C+goal") {
    jzx_loop *loop = fixture_loop();
    struct echo echo = {0};
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = check_payload, .state = &echo));
    unsigned char *bytes = malloc(20000);
    int sent = 0;
    for (size_t len = 0; len < 20000; len += len < 300 ? 1 : len / 7) {
        echo.len = len;
        echo.seed = (unsigned)len;
        fill(bytes, len, echo.seed);
        assert_int_equal(jzx_send(loop, id, JZX_NOBODY, bytes, len, 1), JZX_OK);
        memset(bytes, 0xEE, len); /* the message is a copy */
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        sent += 2;
    }
    assert_int_equal(echo.seen, sent);
    free(bytes);
    fixture_destroy(loop);
}

/* ---- moved buffers ---- */

static int destroyed;
static size_t destroyed_len;

static void count_destroyed(void *data, size_t len) {
    JZX_EXPECT(is_filled(data, len, 5));
    destroyed++;
    destroyed_len = len;
}

static void *filled_buffer(jzx_loop *loop, size_t len) {
    void *data = jzx_msg_alloc(loop, len, count_destroyed);
    assert_non_null(data);
    fill(data, len, 5);
    assert_int_equal(jzx_msg_len(data), len);
    return data;
}

JZX_TEST(a_moved_buffer_is_destroyed_once_after_it_was_handled, "C+msg", "X14") {
    static const size_t lengths[] = {0, 1, 23, 24, 25, 32, 64, 500, 4056, 4057, 100000};
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        destroyed = 0;
        void *data = filled_buffer(loop, lengths[i]);
        assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, data, 1), JZX_OK);
        assert_int_equal(destroyed, 0);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(log.count, i + 1);
        assert_int_equal(destroyed, 1);
        assert_int_equal(destroyed_len, lengths[i]);
    }
    fixture_destroy(loop);
}

static jzx_behavior_result expect_address(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    void **expected = ctx->state;
    JZX_EXPECT_EQ(msg->data, *expected);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_moved_buffer_is_not_copied, "C+msg", "C+goal", "E60") {
    jzx_loop *loop = fixture_loop();
    void *data = filled_buffer(loop, 1000);
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = expect_address, .state = &data));
    assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, data, 1), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

JZX_TEST(a_refused_buffer_stays_with_its_caller, "X14", "C+fail") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = 1));
    destroyed = 0;
    void *data = filled_buffer(loop, 100);
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, data, 1), JZX_ERR_MAILBOX_FULL);
    assert_int_equal(jzx_send_msg(loop, 99, JZX_NOBODY, data, 1), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, data, JZX_TAG_RESERVED),
                     JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send_msg(NULL, id, JZX_NOBODY, data, 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, NULL, 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(destroyed, 0);
    assert_true(is_filled(data, 100, 5));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, data, 2), JZX_OK); /* the same one, now */
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.count, 2);
    assert_int_equal(destroyed, 1);
    fixture_destroy(loop);
}

JZX_TEST(a_buffer_whose_actor_dies_is_destroyed_once, "X14") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {.stop_at = 1};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    destroyed = 0;
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, filled_buffer(loop, 50), 1), JZX_OK);
    assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, filled_buffer(loop, 9000), 1), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 1);
    assert_int_equal(destroyed, 2);
    fixture_destroy(loop);
}

JZX_TEST(buffers_that_wait_when_the_loop_is_destroyed_are_destroyed, "X14", "C+inv") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    destroyed = 0;
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, filled_buffer(loop, i * 1000), 1),
                         JZX_OK);
    fixture_destroy(loop);
    assert_int_equal(destroyed, 10);
    assert_int_equal(log.count, 0);
}

JZX_TEST(a_buffer_that_is_never_sent_is_freed_by_its_caller, "C+msg") {
    jzx_loop *loop = fixture_loop();
    destroyed = 0;
    jzx_msg_free(loop, filled_buffer(loop, 10));
    jzx_msg_free(loop, filled_buffer(loop, 10000));
    jzx_msg_free(loop, NULL);
    jzx_msg_free(NULL, NULL);
    assert_int_equal(destroyed, 2);
    assert_null(jzx_msg_alloc(loop, (size_t)JZX_MSG_LEN_MAX + 1, NULL));
    assert_null(jzx_msg_alloc(NULL, 1, NULL));
    assert_int_equal(jzx_msg_len(NULL), 0);
    fixture_destroy(loop);
}

/* ---- taking ---- */

struct keeper {
    void *kept;
    jzx_actor_id next;
};

static jzx_behavior_result keep(jzx_context *ctx, const jzx_message *msg) {
    struct keeper *self = ctx->state;
    jzx_message other = *msg;
    other.data = &other;
    JZX_EXPECT_EQ(jzx_msg_take(ctx, &other), NULL);
    JZX_EXPECT_EQ(jzx_msg_take(ctx, NULL), NULL);
    JZX_EXPECT_EQ(jzx_msg_take(NULL, msg), NULL);
    self->kept = jzx_msg_take(ctx, msg);
    JZX_EXPECT_EQ(self->kept, msg->data);
    JZX_EXPECT_EQ(jzx_msg_take(ctx, msg), NULL); /* only once */
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_taken_payload_outlives_its_message_and_its_actor, "C+msg") {
    static const size_t lengths[] = {0, 5, 32, 33, 5000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        jzx_loop *loop = fixture_loop();
        struct keeper keeper = {0};
        unsigned char bytes[5000];
        fill(bytes, lengths[i], 9);
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = keep, .state = &keeper));
        assert_int_equal(jzx_send(loop, id, JZX_NOBODY, bytes, lengths[i], 1), JZX_OK);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        assert_non_null(keeper.kept);
        assert_int_equal(jzx_msg_len(keeper.kept), lengths[i]);
        assert_true(is_filled(keeper.kept, lengths[i], 9));
        jzx_msg_free(loop, keeper.kept);
        assert_int_equal(fixture_stats(loop).handled, 1);
        fixture_destroy(loop);
    }
}

static jzx_behavior_result forward(jzx_context *ctx, const jzx_message *msg) {
    struct keeper *self = ctx->state;
    void *data = jzx_msg_take(ctx, msg);
    jzx_err err = jzx_send_msg(ctx->loop, self->next, msg->sender, data, msg->tag + 1);
    JZX_EXPECT_EQ(err, JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_taken_payload_can_be_sent_on_without_a_copy, "C+msg", "C+goal", "E60") {
    jzx_loop *loop = fixture_loop();
    destroyed = 0;
    void *data = filled_buffer(loop, 2000);
    struct keeper relay = {0};
    relay.next = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = expect_address, .state = &data));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = forward, .state = &relay));
    assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, data, 1), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(destroyed, 1);
    assert_int_equal(fixture_stats(loop).handled, 2);
    fixture_destroy(loop);
}

static jzx_behavior_result check_sender(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(msg->sender, msg->tag == 1 ? JZX_NOBODY : *(jzx_actor_id *)ctx->state);
    return msg->tag == 2 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(send_async_has_no_sender, "X16", "C8", "X5") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id sender = 1234567;
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = check_sender, .state = &sender));
    assert_int_equal(jzx_send_async(loop, id, NULL, 0, 1), JZX_OK);
    assert_int_equal(jzx_send_async(loop, 99, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_send(loop, id, sender, NULL, 0, 2), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(fixture_stats(loop).handled, 2);
    fixture_destroy(loop);
}
