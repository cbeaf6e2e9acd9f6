/* SPDX-License-Identifier: MIT */
/* Every allocation can fail: each call then says so, nothing leaks, and the loop goes on.
 *
 * One scenario uses everything that allocates. It is run again and again, with the n-th allocation
 * failing, and then with all from the n-th on failing, until n is past the last. */
#include "fixture.h"

struct scenario {
    jzx_loop *loop;
    uint32_t sent;    /* sends that were accepted */
    uint32_t refused; /* calls that answered JZX_ERR_NO_MEMORY */
    uint32_t destroyed;
    uint32_t buffers; /* buffers that were made */
    jzx_actor_id sink;
};

static struct scenario *current;

/* Only success and lack of memory are right answers here. */
static bool worked(jzx_err err) {
    if (err == JZX_ERR_NO_MEMORY)
        current->refused++;
    else
        JZX_EXPECT_EQ(err, JZX_OK);
    return err == JZX_OK;
}

static void count_destroyed(void *data, size_t len) {
    (void)data;
    (void)len;
    current->destroyed++;
}

static void send_sizes(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from) {
    static const size_t lengths[] = {0, 8, 33, 100, 200, 500, 1000, 2000, 4000, 50000};
    static const char payload[50000];
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        if (worked(jzx_send(loop, to, from, payload, lengths[i], 1)))
            current->sent++;
        void *buffer = jzx_msg_alloc(loop, lengths[i], count_destroyed);
        if (buffer == NULL) {
            current->refused++;
            continue;
        }
        current->buffers++;
        if (worked(jzx_send_msg(loop, to, from, buffer, 2)))
            current->sent++;
        else
            jzx_msg_free(loop, buffer);
    }
}

static jzx_behavior_result plain_sink(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

/* Puts the first message aside and takes it back, once. */
static jzx_behavior_result sink(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    jzx_become(ctx, plain_sink);
    if (worked(jzx_stash(ctx, msg)))
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result source(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == JZX_TAG_ROOM)
        return JZX_BEHAVIOR_OK;
    send_sizes(ctx->loop, current->sink, ctx->self);
    for (int i = 0; i < 200; i++) { /* more than the slots and the cold records of one batch */
        jzx_actor_id id;
        jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = sink, .name = i % 2 ? "child" : NULL);
        if (worked(jzx_spawn(ctx->loop, &opts, &id)) &&
            worked(jzx_send(ctx->loop, id, ctx->self, NULL, 0, 1)))
            current->sent++;
    }
    worked(jzx_send_when_room(ctx->loop, current->sink, ctx->self));
    return JZX_BEHAVIOR_OK;
}

static void do_nothing(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
}

/* Returns the number of calls that were refused. */
static uint32_t play(void) {
    struct scenario scenario = {0};
    current = &scenario;
    scenario.loop = fixture_loop_with(NULL);
    if (scenario.loop == NULL)
        return 1;
    jzx_loop *loop = scenario.loop;
    jzx_actor_id id = JZX_NOBODY;
    if (worked(
            jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = sink, .name = "sink"), &scenario.sink))) {
        send_sizes(loop, scenario.sink, JZX_NOBODY);
        if (worked(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = source), &id)) &&
            worked(jzx_send(loop, id, JZX_NOBODY, NULL, 0, 1)))
            scenario.sent++;
        worked(jzx_send_when_room(loop, scenario.sink, scenario.sink));
    }
    worked(jzx_loop_call(loop, do_nothing, NULL));
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);

    fixture_fail_allocations(UINT64_MAX, 0); /* memory is back: the loop goes on */
    jzx_actor_id late = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = sink));
    fixture_send(loop, late, 1);
    scenario.sent++;
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT(stats.accepted >= scenario.sent);
    JZX_EXPECT_EQ(stats.waiting, 0);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(scenario.destroyed, scenario.buffers);
    return scenario.refused;
}

static void fail_each(uint64_t failures, uint64_t step) {
    uint64_t before = fixture_allocations();
    JZX_EXPECT_EQ(play(), 0);
    JZX_EXPECT(jzx_test_runs() > 2);
    uint64_t total = fixture_allocations() - before;
    JZX_EXPECT(total > 10);
    for (uint64_t n = 0; n < total; n += step) {
        fixture_fail_allocations(n, failures);
        play();
        fixture_fail_allocations(UINT64_MAX, 0);
        JZX_EXPECT_EQ(fixture_bytes(), 0);
    }
}

JZX_TEST(the_nth_allocation_fails_for_every_n, "C17", "C+fail") {
    fail_each(1, 1);
}

JZX_TEST(all_allocations_from_the_nth_on_fail_for_every_n, "C17", "C+fail") {
    fail_each(UINT64_MAX, 1);
}

JZX_TEST(a_failing_first_allocation_is_reported_by_create, "C17", "C16") {
    fixture_fail_allocations(0, 1);
    assert_null(fixture_loop_with(NULL));
    assert_int_equal(fixture_bytes(), 0);
    fixture_destroy(fixture_loop());
}

JZX_TEST(refused_sends_without_memory_are_in_the_books, "X14", "C+fail") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = sink));
    fixture_fail_allocations(0, UINT64_MAX);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, "12345678", 8, 1), JZX_ERR_NO_MEMORY);
    fixture_fail_allocations(UINT64_MAX, 0);
    assert_int_equal(fixture_stats(loop).refused_no_memory, 1);
    fixture_destroy(loop);
}

/* ---- nothing is allocated once warm ---- */

#define LITTER 50

struct breeder {
    uint32_t litters; /* still to come */
    uint32_t alive;   /* of the current one */
};

static jzx_behavior_result leaf(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(jzx_send(ctx->loop, msg->sender, ctx->self, "0123456789", 10, 2), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

/* Spawns the next litter when the last of the one before has answered, so that the number of actors
 * and messages at a time is the same in every round. */
static jzx_behavior_result breed(jzx_context *ctx, const jzx_message *msg) {
    struct breeder *self = ctx->state;
    if (msg->tag == 2 && --self->alive > 0)
        return JZX_BEHAVIOR_OK;
    if (self->litters == 0)
        return JZX_BEHAVIOR_OK;
    self->litters--;
    for (; self->alive < LITTER; self->alive++) {
        jzx_actor_id id;
        JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = leaf), &id), JZX_OK);
        JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, "0123456789", 10, 1), JZX_OK);
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(messages_and_spawns_allocate_nothing_once_warm, "C+goal", "C17") {
    jzx_loop *loop = fixture_loop();
    struct breeder breeder = {.litters = 10};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = breed, .state = &breeder));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    uint64_t warm = fixture_allocations();
    breeder.litters = 1000;
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(fixture_allocations(), warm);
    assert_int_equal(fixture_stats(loop).spawned, 1 + LITTER * 1010);
    fixture_destroy(loop);
}
