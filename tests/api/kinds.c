/* SPDX-License-Identifier: MIT */
/* Every kind of actor, and what they stand on, in one loop and by one header. */
#include "fixture.h"

#include <unistd.h>

/* ---- a typed actor that collects what the others have done ---- */

struct part {
    int value;
};
JZX_POOL(part, struct part)

enum { BY_BEHAVIOUR = 1, BY_FIBER = 2, BY_ASYNC = 4, BY_EVENT = 8, BY_TIMER = 16, BY_ROUTE = 32 };
enum { BY_MANUAL = 64, ALL = 127 };

#define COLLECTOR(T, STATE, ON, ASK)                                                               \
    STATE(T, uint32_t, done, 0)                                                                    \
    ON(T, report, uint32_t, by, part_ref, part)                                                    \
    ASK(T, done, uint32_t)
JZX_ACTOR_TYPE(collector, COLLECTOR);

static struct {
    jzx_actor_id collector;
    part_pool *pool;
    part_ref part;
    uint32_t seen; /* what the collector said last */
} world;

static jzx_behavior_result collector_on_report(jzx_context *ctx, struct collector *self,
                                               const struct collector_report *msg) {
    (void)ctx;
    JZX_EXPECT(part_pool_valid(world.pool, msg->part));
    self->done |= msg->by;
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result collector_on_done(jzx_context *ctx, struct collector *self,
                                             const struct collector_done *msg, uint32_t *answer) {
    (void)ctx, (void)msg;
    *answer = self->done;
    return JZX_BEHAVIOR_OK;
}

static void report(jzx_context *ctx, uint32_t by) {
    JZX_EXPECT_EQ(collector_send_report(ctx, world.collector, by, world.part), JZX_OK);
}

/* ---- the others ---- */

static jzx_behavior_result behave(jzx_context *ctx, const jzx_message *msg) {
    report(ctx, msg->tag);
    return msg->tag == BY_ROUTE ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_err join(jzx_context *ctx) {
    return jzx_group_join(ctx, "all");
}

/* Waits for the collector's answer, on a stack of its own. */
static void be_fiber(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_loop_now(ctx->loop) + JZX_MS(1)), JZX_OK);
    JZX_EXPECT_EQ(collector_call_done(ctx, world.collector, JZX_NEVER, &world.seen), JZX_OK);
    report(ctx, BY_FIBER);
}

struct waits {
    jzx_future *future;
    int value;
    jzx_await_op op;
};

JZX_ASYNC(waits, struct waits, int) {
    JZX_AWAIT(jzx_op_consume(&self->op, self->future, JZX_NEVER), &self->value);
    report(ctx, BY_ASYNC);
    JZX_RETURN(self->value);
}
JZX_END

#define READER(T, STATE, ON, ASK) STATE(T, int, count, 0) ON(T, readable, jzx_io_event, event)
JZX_ACTOR_TYPE(reader, READER);

static jzx_behavior_result reader_on_readable(jzx_context *ctx, struct reader *self,
                                              const struct reader_readable *msg) {
    char c;
    self->count++;
    JZX_EXPECT_EQ(read(msg->event.fd, &c, 1), 1);
    report(ctx, BY_EVENT);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result poll_me(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    report(ctx, BY_MANUAL);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(every_kind_of_actor_runs_in_one_loop_and_talks_to_the_others, "E2", "E59") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx_manual *manual;
    jzx_promise *promise;
    jzx_future *result;
    struct waits state = {.future = NULL};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(part_pool_create(1, NULL, &world.pool), JZX_OK);
    assert_int_equal(part_pool_new(world.pool, NULL, &world.part), JZX_OK);
    assert_int_equal(collector_spawn(loop, &world.collector), JZX_OK);

    jzx_actor_id plain = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = behave, .init = join));
    fixture_send(loop, plain, BY_BEHAVIOUR);
    assert_int_equal(jzx_send_after(loop, plain, plain, NULL, 0, BY_TIMER, 0, NULL), JZX_OK);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = be_fiber));
    assert_int_equal(jzx_promise_create(loop, sizeof(int), &promise, &state.future), JZX_OK);
    assert_int_equal(waits_spawn(loop, state, &result), JZX_OK);
    assert_int_equal(jzx_promise_resolve(promise, &(int){7}), JZX_OK);
    assert_int_equal(jzx_spawn_on(loop, &JZX_SPAWN_OPTS(.type = &reader_type),
                                  &JZX_ON_FD(ends[0], JZX_IO_READ, reader_tag_readable()), NULL),
                     JZX_OK);
    assert_int_equal(jzx_manual_create(loop, &JZX_SPAWN_OPTS(.behavior = poll_me), &manual),
                     JZX_OK);
    fixture_send(loop, jzx_manual_id(manual), 1);
    while (jzx_test_runs() < 5)
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_manual_drain(manual, 0, NULL), JZX_OK);
    assert_int_equal(
        jzx_route(loop, "all", JZX_ROUTE_ROUND_ROBIN, 0, JZX_NOBODY, NULL, 0, BY_ROUTE), JZX_OK);
    while (jzx_test_runs() < 7)
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_manual_destroy(manual);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = be_fiber)); /* one that asks when all is done */
    while (jzx_test_runs() < 8)
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    const jzx_actor_type *type = jzx_type_of(loop, world.collector);
    assert_true(type == &collector_type);
    assert_int_equal(jzx_future_try(result, &(int){0}), JZX_OK);
    jzx_future_release(result);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(world.seen, ALL);
    assert_int_equal(part_pool_destroy(world.pool), JZX_OK);
    fixture_destroy(loop);
}
