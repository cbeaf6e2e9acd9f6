/* SPDX-License-Identifier: MIT */
/* Attacks on what docs/guarantees.md promises about memory: the n-th allocation fails while a tree,
 * groups, questions, timers and monitors are at work, and nothing is allocated once warm. */
#include "fixture.h"

#include <string.h>

enum { NUDGE = 1, FAIL };

static void step(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

static void nothing(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
}

static jzx_behavior_result stop_now(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

/* ---- memory that fails ---- */

static struct {
    jzx_actor_id root;
    uint32_t expected_downs;
    uint32_t downs;
    uint32_t expected_timers;
    uint32_t timers;
    uint32_t expected_answers;
    uint32_t answers;
    uint32_t expected_adds;
    uint32_t adds;
    uint32_t destructors;
    uint32_t buffers;
    uint32_t inits; /* of the child */
} poor;

enum { POOR_GO = 20, POOR_TIMER, POOR_QUESTION, POOR_ANSWER, POOR_SHARED, POOR_LAST };

static void poor_destructor(void *data, size_t len) {
    (void)data;
    (void)len;
    poor.destructors++;
}

static bool ok_or_no_memory(jzx_err err) {
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
    return err == JZX_OK;
}

static jzx_err poor_init(jzx_context *ctx) {
    poor.inits++;
    return jzx_alloc(ctx, 4000) != NULL ? JZX_OK : JZX_ERR_NO_MEMORY;
}

static jzx_behavior_result poor_child(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == POOR_QUESTION)
        poor.expected_answers += ok_or_no_memory(jzx_reply(ctx, msg, NULL, 0, POOR_ANSWER));
    return msg->tag == FAIL ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_OK;
}

static void poor_calls(jzx_context *ctx, const jzx_message *msg) {
    jzx_loop *loop = ctx->loop;
    jzx_actor_id id = JZX_NOBODY;
    jzx_monitor_ref ref = JZX_NO_MONITOR;
    static const char payload[200];
    jzx_child_spec spec = {.name = "added", .behavior = poor_child, .mode = JZX_TEMPORARY};
    ok_or_no_memory(jzx_register(loop, "poor", ctx->self));
    ok_or_no_memory(jzx_group_join(ctx, "poors"));
    ok_or_no_memory(jzx_group_monitor(ctx, "others", NULL, 0, NULL));
    ok_or_no_memory(jzx_trap_exits(ctx, true));
    if (ok_or_no_memory(jzx_spawn_watched(ctx, &JZX_SPAWN_OPTS(.behavior = stop_now, .name = "x"),
                                          false, &id, &ref))) {
        poor.expected_downs++;
        poor.expected_downs += ok_or_no_memory(jzx_monitor(ctx, id, NULL));
        ok_or_no_memory(jzx_send_when_room(loop, id, ctx->self));
        JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
    }
    poor.expected_timers += ok_or_no_memory(
        jzx_send_after(loop, ctx->self, JZX_NOBODY, payload, 200, POOR_TIMER, JZX_MS(5), NULL));
    poor.expected_timers +=
        ok_or_no_memory(jzx_timer_start(ctx, 5, NULL, 0, POOR_TIMER, JZX_MS(6)));
    poor.expected_adds +=
        ok_or_no_memory(jzx_supervisor_add(loop, poor.root, &spec, sizeof spec, ctx->self));
    if (jzx_supervisor_child(loop, poor.root, "child", &id) == JZX_OK) {
        ok_or_no_memory(jzx_ask(ctx, id, payload, 100, POOR_QUESTION, JZX_NEVER, NULL));
        ok_or_no_memory(jzx_send(loop, id, ctx->self, NULL, 0, FAIL));
        ok_or_no_memory(jzx_send(loop, id, ctx->self, payload, 200, NUDGE));
    }
    ok_or_no_memory(jzx_group_broadcast(loop, "poors", ctx->self, payload, 200, NUDGE, NULL));
    void *data = jzx_msg_alloc(loop, 6000, poor_destructor);
    if (data != NULL) {
        poor.buffers++;
        JZX_EXPECT(jzx_msg_share(loop, data) == data);
        ok_or_no_memory(jzx_send_shared(loop, ctx->self, ctx->self, data, POOR_SHARED));
        jzx_msg_free(loop, data);
    }
    ok_or_no_memory(jzx_loop_call(loop, nothing, NULL));
    ok_or_no_memory(jzx_heap_set_quota(ctx, 100000));
    (void)!jzx_alloc(ctx, 9000);
    ok_or_no_memory(jzx_stash(ctx, msg));
}

static jzx_behavior_result poor_actor(jzx_context *ctx, const jzx_message *msg) {
    static jzx_actor_id stashed_by;
    switch (msg->tag) {
    case POOR_GO:
        jzx_test_ran();
        if (stashed_by == ctx->self) /* from the stash */
            return JZX_BEHAVIOR_OK;
        stashed_by = ctx->self;
        poor_calls(ctx, msg);
        break;
    case JZX_TAG_DOWN: poor.downs++; break;
    case POOR_TIMER: poor.timers++; break;
    case POOR_ANSWER: poor.answers++; break;
    case JZX_TAG_CHILD_ADDED: poor.adds++; break;
    case POOR_LAST: stashed_by = JZX_NOBODY; return JZX_BEHAVIOR_STOP;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}

/* False when no allocation has failed. */
static bool be_poor(uint64_t after, uint64_t count) {
    const jzx_child_spec specs[] = {
        {.name = "child",
         .registered = "child",
         .behavior = poor_child,
         .init = poor_init,
         .backoff = {.initial_delay_ns = JZX_MS(10), .max_delay_ns = JZX_MS(10)},
         .keep_mailbox = true}};
    jzx_clock *clock = jzx_clock_manual(JZX_SECOND(1));
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    assert_non_null(loop);
    memset(&poor, 0, sizeof poor);
    jzx_supervisor_opts opts = JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs));
    assert_int_equal(jzx_spawn_supervisor(loop, &opts, &poor.root), JZX_OK);
    step(loop); /* what fails at the first start makes it give up */
    jzx_actor_id self = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = poor_actor));
    fixture_send(loop, self, POOR_GO);
    jzx_actor_id child = JZX_NOBODY;
    uint64_t before = fixture_allocations();
    fixture_fail_allocations(after, count);
    step(loop);
    assert_int_equal(jzx_clock_advance(clock, JZX_MS(7)), JZX_OK);
    step(loop);
    bool has_failed = fixture_allocations() - before >= after && after != UINT64_MAX;
    fixture_fail_allocations(UINT64_MAX, 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(jzx_clock_advance(clock, JZX_MS(50)), JZX_OK);
        step(loop);
    }
    JZX_EXPECT_EQ(poor.downs, poor.expected_downs);
    JZX_EXPECT_EQ(poor.timers, poor.expected_timers);
    JZX_EXPECT_EQ(poor.answers, poor.expected_answers);
    JZX_EXPECT_EQ(poor.adds, poor.expected_adds);
    JZX_EXPECT_EQ(poor.destructors, poor.buffers);
    JZX_EXPECT_EQ(jzx_lookup(loop, "child", &child), JZX_OK);
    fixture_send(loop, self, POOR_LAST);
    step(loop);
    JZX_EXPECT_EQ(jzx_send(loop, self, JZX_NOBODY, NULL, 0, NUDGE), JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
    return has_failed;
}

JZX_TEST(whichever_allocation_fails_calls_keep_their_word_and_the_tree_comes_back) {
    uint64_t rounds = 0;
    while (be_poor(rounds, 1))
        rounds++;
    JZX_EXPECT(rounds > 3);
    for (uint64_t after = 0; after <= rounds; after++)
        be_poor(after, UINT64_MAX);
    JZX_EXPECT(jzx_test_runs() > rounds);
}

/* ---- memory that is not needed ---- */

static const size_t lengths[] = {0, 1, 32, 33, 100, 1000, 4000};

static jzx_behavior_result take_and_pass(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id to = *(jzx_actor_id *)ctx->state;
    jzx_test_ran();
    void *data = jzx_msg_take(ctx, msg);
    if (JZX_EXPECT(data != NULL) && jzx_send_msg(ctx->loop, to, ctx->self, data, NUDGE) != JZX_OK)
        jzx_msg_free(ctx->loop, data);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

/* Messages of all lengths: copied, moved, refused, dropped, and dead with their actor. */
static void busy_round(jzx_loop *loop, jzx_actor_id passer) {
    static const char payload[4000];
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        jzx_actor_id doomed =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore, .name = "doomed",
                                                .mailbox_cap = 2, .on_full = (jzx_on_full)(i % 3)));
        for (int k = 0; k < 4; k++)
            (void)jzx_send(loop, doomed, JZX_NOBODY, payload, lengths[i], NUDGE);
        JZX_EXPECT_EQ(jzx_actor_stop(loop, doomed, JZX_STOP_KILL), JZX_OK);
        JZX_EXPECT_EQ(jzx_send(loop, passer, JZX_NOBODY, payload, lengths[i], NUDGE), JZX_OK);
        void *data = jzx_msg_alloc(loop, lengths[i], NULL);
        if (JZX_EXPECT(data != NULL))
            JZX_EXPECT_EQ(jzx_send_msg(loop, passer, JZX_NOBODY, data, NUDGE), JZX_OK);
    }
    step(loop);
}

JZX_TEST(messages_that_are_passed_on_dropped_or_dead_allocate_nothing_once_warm) {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id end = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore, .mailbox_cap = 3));
    jzx_actor_id passer =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = take_and_pass, .state = &end));
    for (int i = 0; i < 100; i++) /* blocks of slots come one by one, as they are first used */
        busy_round(loop, passer);
    uint64_t before = fixture_allocations();
    for (int i = 0; i < 300; i++)
        busy_round(loop, passer);
    JZX_EXPECT_EQ(fixture_allocations(), before);
    JZX_EXPECT_EQ(jzx_test_runs(), 400 * 2 * 7);
    fixture_destroy(loop);
}
