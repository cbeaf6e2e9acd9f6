/* SPDX-License-Identifier: MIT */
/* What a caller can do when a mailbox is full: drop, try again, fail, or push back upstream. */
#include "fixture.h"

#define ITEMS 100u
#define CAP 8u

struct producer;
typedef jzx_behavior_result on_full_fn(jzx_context *ctx, struct producer *self);

struct producer {
    jzx_actor_id consumer;
    on_full_fn *on_full;
    uint32_t next;
    uint32_t dropped;
    uint32_t pauses;
    jzx_exit_reason reason;
    bool goes_on; /* after on_full, with the next item */
};

static jzx_behavior_result produce(jzx_context *ctx, const jzx_message *msg) {
    struct producer *self = ctx->state;
    (void)msg;
    for (; self->next < ITEMS; self->next++) {
        jzx_err err = jzx_send(ctx->loop, self->consumer, ctx->self, NULL, 0, self->next);
        if (err == JZX_OK)
            continue;
        JZX_EXPECT_EQ(err, JZX_ERR_MAILBOX_FULL);
        jzx_behavior_result result = self->on_full(ctx, self);
        if (!self->goes_on)
            return result;
    }
    return JZX_BEHAVIOR_STOP;
}

static void note_reason(jzx_context *ctx, jzx_exit_reason reason) {
    ((struct producer *)ctx->state)->reason = reason;
}

static struct recorder consumed;

static void run_with(struct producer *producer) {
    jzx_loop *loop = fixture_loop();
    consumed = (struct recorder){0};
    producer->consumer = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &consumed, .mailbox_cap = CAP));
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = produce, .state = producer, .cleanup = note_reason));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    for (uint32_t i = 1; i < consumed.count; i++)
        assert_true(consumed.tags[i - 1] < consumed.tags[i]);
    fixture_destroy(loop);
}

static jzx_behavior_result drop(jzx_context *ctx, struct producer *self) {
    (void)ctx;
    self->dropped++;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_caller_may_drop, "C12") {
    struct producer producer = {.on_full = drop, .goes_on = true};
    run_with(&producer);
    assert_int_equal(consumed.count, CAP);
    assert_int_equal(producer.dropped, ITEMS - CAP);
    assert_int_equal(producer.reason, JZX_EXIT_NORMAL);
}

/* The turn of who meets a full mailbox ends, so a note to itself is read after the consumer ran. */
static jzx_behavior_result retry(jzx_context *ctx, struct producer *self) {
    self->pauses++;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 1), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_caller_may_try_again, "C12") {
    struct producer producer = {.on_full = retry};
    run_with(&producer);
    assert_int_equal(consumed.count, ITEMS);
    /* A pause empties the mailbox, or what the consumer handles in the time of its turn. */
    assert_true(producer.pauses >= ITEMS / CAP && producer.pauses < ITEMS);
}

static jzx_behavior_result escalate(jzx_context *ctx, struct producer *self) {
    (void)ctx;
    (void)self;
    return JZX_BEHAVIOR_FAIL;
}

JZX_TEST(a_caller_may_fail, "C12") {
    struct producer producer = {.on_full = escalate};
    run_with(&producer);
    assert_int_equal(consumed.count, CAP);
    assert_int_equal(producer.reason, JZX_EXIT_FAIL);
}

static jzx_behavior_result push_back(jzx_context *ctx, struct producer *self) {
    self->pauses++;
    JZX_EXPECT_EQ(jzx_send_when_room(ctx->loop, self->consumer, ctx->self), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_caller_may_push_back_upstream, "C12") {
    struct producer producer = {.on_full = push_back};
    run_with(&producer);
    assert_int_equal(consumed.count, ITEMS);
    assert_true(producer.pauses > 0 && producer.pauses < ITEMS / 2);
}
