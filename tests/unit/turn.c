/* SPDX-License-Identifier: MIT */
/* Turns on virtual time: with a clock that stands still the order of turns is a function of the
 * program alone. */
#include "actor/turn.h"

#include "actor/loop.h"

#include "fixture.h"

static jzx_loop *loop_with_still_clock(const jzx_config *config) {
    jzx_loop *loop = fixture_loop_with(config);
    assert_non_null(loop);
    jzx__clock_init_manual(&loop->sched.clock, 1000);
    return loop;
}

static struct recorder turns;

static jzx_behavior_result note_self(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    turns.tags[turns.count++] = jzx_id_index(ctx->self);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_message_budget_of_a_turn_can_be_set, "C+loop", "C16") {
    jzx_loop *loop = loop_with_still_clock(&JZX_CONFIG(.max_msgs_per_actor = 2));
    jzx_actor_id ids[3];
    for (int i = 0; i < 3; i++)
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_self));
    for (int i = 0; i < 12; i++)
        fixture_send(loop, ids[i % 3], 1);
    turns.count = 0;
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    static const uint32_t expected[] = {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2};
    assert_int_equal(turns.count, 12);
    assert_memory_equal(turns.tags, expected, sizeof expected);
    fixture_destroy(loop);
}

JZX_TEST(the_default_budget_is_128_messages, "X5", "C+def") {
    jzx_loop *loop = loop_with_still_clock(NULL);
    jzx_actor_id a = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_self));
    jzx_actor_id b = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_self));
    for (int i = 0; i < 200; i++)
        fixture_send(loop, a, 1);
    fixture_send(loop, b, 1);
    turns.count = 0;
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(turns.count, 201);
    assert_int_equal(turns.tags[127], jzx_id_index(a));
    assert_int_equal(turns.tags[128], jzx_id_index(b));
    fixture_destroy(loop);
}

JZX_TEST(a_pass_runs_at_most_max_actors_per_tick_turns, "C+loop", "C+def") {
    jzx_loop *loop = loop_with_still_clock(&JZX_CONFIG(.max_actors_per_tick = 4));
    for (int i = 0; i < 10; i++)
        fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_self)), 1);
    turns.count = 0;
    struct jzx__drive drive;
    assert_true(jzx__loop_enter(loop, &drive));
    struct jzx__worker *worker = loop->sched.workers[0];
    jzx__loop_take_in_all(loop, drive.seat);
    assert_true(jzx__actor_run_ready(worker, 4));
    assert_int_equal(turns.count, 4);
    assert_true(jzx__actor_run_ready(worker, 4));
    assert_int_equal(turns.count, 8);
    jzx__loop_leave(loop, &drive);
    fixture_destroy(loop);
}

/* ---- time within a turn ---- */

static jzx_behavior_result take_time(jzx_context *ctx, const jzx_message *msg) {
    note_self(ctx, msg);
    jzx__clock_advance(&ctx->loop->sched.clock, 15000);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_turn_of_slow_messages_ends_by_time_while_others_wait, "C+loop") {
    jzx_loop *loop = loop_with_still_clock(NULL);
    jzx_actor_id slow = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = take_time));
    jzx_actor_id other = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_self));
    for (int i = 0; i < 10; i++)
        fixture_send(loop, slow, 1);
    fixture_send(loop, other, 1);
    turns.count = 0;
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    uint32_t place = 0;
    while (turns.tags[place] != jzx_id_index(other))
        place++;
    assert_int_equal(place, 2); /* two messages of 15 us: two ticks */
    fixture_destroy(loop);
}

static jzx_behavior_result ask_with_time(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)msg;
    ctx->loop->sched.clock.is_real = true; /* nothing counts but the clock */
    JZX_EXPECT(!jzx_turn_spent(ctx));      /* the first question starts the clock */
    jzx__clock_advance(&ctx->loop->sched.clock, 19999);
    JZX_EXPECT(!jzx_turn_spent(ctx));
    jzx__clock_advance(&ctx->loop->sched.clock, 1);
    JZX_EXPECT(jzx_turn_spent(ctx));
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_turn_is_spent_after_20_us_when_others_wait) {
    jzx_loop *loop = loop_with_still_clock(NULL);
    jzx_actor_id asker = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ask_with_time));
    jzx_actor_id other = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_self));
    fixture_send(loop, asker, 1);
    fixture_send(loop, other, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(fixture_stats(loop).handled, 2);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
}

/* ---- the soft limit ---- */

struct pump {
    jzx_actor_id sink;
    uint32_t left;
};

static jzx_behavior_result pump(jzx_context *ctx, const jzx_message *msg) {
    struct pump *self = ctx->state;
    (void)msg;
    for (int i = 0; i < 64 && self->left > 0; i++, self->left--) {
        if (!JZX_EXPECT_EQ(jzx_send(ctx->loop, self->sink, ctx->self, NULL, 0, 1), JZX_OK))
            return JZX_BEHAVIOR_FAIL;
    }
    if (self->left > 0)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 1), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result count_in(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    ++*(uint64_t *)ctx->state;
    return JZX_BEHAVIOR_OK;
}

/* A hundred pumps would overrun a mailbox of 1024 many times over, if their turns did not end and
 * the sink did not go next when 256 messages wait. */
JZX_TEST(producers_do_not_overrun_a_consumer_that_keeps_up, "C28") {
    jzx_loop *loop = loop_with_still_clock(NULL);
    uint64_t count = 0;
    static struct pump pumps[100];
    jzx_actor_id sink = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = count_in, .state = &count));
    for (int i = 0; i < 100; i++) {
        pumps[i] = (struct pump){.sink = sink, .left = 1000};
        fixture_send(loop,
                     fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = pump, .state = &pumps[i])), 1);
    }
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(count, 100000);
    fixture_destroy(loop);
}

/* ---- an observer changes nothing ---- */

struct walker {
    uint32_t steps;
    uint32_t seed;
    jzx_actor_id *all;
    struct recorder *order;
};

static jzx_behavior_result walk(jzx_context *ctx, const jzx_message *msg) {
    struct walker *self = ctx->state;
    (void)msg;
    if (self->order->count < 2000)
        self->order->tags[self->order->count++] = jzx_id_index(ctx->self);
    for (int i = 0; i < 3 && self->steps > 0; i++) {
        self->steps--;
        self->seed = self->seed * 1664525u + 1013904223u;
        jzx_send(ctx->loop, self->all[(self->seed >> 16) % 10], ctx->self, NULL, 0, 1);
    }
    return JZX_BEHAVIOR_OK;
}

static void count_event(void *ctx, const jzx_event *event) {
    (void)event;
    ++*(uint32_t *)ctx;
}

static uint32_t walk_all(bool observed, struct recorder *order) {
    jzx_loop *loop = loop_with_still_clock(NULL);
    jzx_observer observer = {.size = sizeof observer, .on_event = count_event};
    uint32_t events = 0;
    if (observed)
        assert_int_equal(jzx_loop_set_observer(loop, &observer, &events), JZX_OK);
    jzx_actor_id ids[10];
    struct walker walkers[10];
    for (uint32_t i = 0; i < 10; i++) {
        walkers[i] = (struct walker){.steps = 50, .seed = i + 1, .all = ids, .order = order};
        ids[i] = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = walk, .state = &walkers[i], .mailbox_cap = 2));
    }
    for (uint32_t i = 0; i < 10; i++)
        fixture_send(loop, ids[i], 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_destroy(loop);
    return events;
}

JZX_TEST(an_observer_does_not_change_what_runs_or_when, "C28", "C14") {
    static struct recorder without;
    static struct recorder with;
    assert_int_equal(walk_all(false, &without), 0);
    assert_true(walk_all(true, &with) > 20); /* starts, stops, full mailboxes */
    assert_true(without.count >= 100);
    assert_int_equal(without.count, with.count);
    assert_memory_equal(without.tags, with.tags, sizeof with.tags);
}
