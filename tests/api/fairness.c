/* SPDX-License-Identifier: MIT */
/* Budgets and order of turns, as programs see them. */
#include "fixture.h"

#include <string.h>

static struct recorder turns;

static jzx_behavior_result note_self(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    turns.tags[turns.count++] = jzx_id_index(ctx->self);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_actor_yields_after_its_message_budget, "C+loop", "C+def", "X5") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id a = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_self));
    jzx_actor_id b = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_self));
    for (int i = 0; i < 300; i++)
        fixture_send(loop, a, 1);
    fixture_send(loop, b, 1);
    turns.count = 0;
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(turns.count, 301);
    uint32_t turn_of_b = 0;
    while (turns.tags[turn_of_b] != jzx_id_index(b))
        turn_of_b++;
    assert_true(turn_of_b <= JZX_DEFAULT_MSGS_PER_ACTOR); /* not behind all 300 */
    fixture_destroy(loop);
}

/* Pairs that play ping-pong share the loop: nobody is left behind. */
struct player {
    jzx_actor_id peer;
    uint64_t hits;
    uint64_t *total;
    uint64_t limit;
};

static jzx_behavior_result play(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    (void)msg;
    self->hits++;
    if (++*self->total >= self->limit) {
        jzx_loop_request_stop(ctx->loop);
        return JZX_BEHAVIOR_OK;
    }
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->peer, ctx->self, NULL, 0, 1), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

#define PAIRS 50

JZX_TEST(pairs_that_play_ping_pong_get_equal_shares, "C28") {
    jzx_loop *loop = fixture_loop();
    static struct player players[2 * PAIRS];
    jzx_actor_id ids[2 * PAIRS];
    uint64_t total = 0;
    for (int i = 0; i < 2 * PAIRS; i++) {
        players[i] = (struct player){.total = &total, .limit = 200000};
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = play, .state = &players[i]));
    }
    for (int i = 0; i < 2 * PAIRS; i++)
        players[i].peer = ids[i ^ 1];
    for (int i = 0; i < 2 * PAIRS; i += 2)
        fixture_send(loop, ids[i], 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (int i = 0; i < 2 * PAIRS; i++) {
        least = players[i].hits < least ? players[i].hits : least;
        most = players[i].hits > most ? players[i].hits : most;
    }
    /* A pair keeps the next-slot for at most 61 turns and not past two ticks: the shares differ by
     * a round or two, or by a few more where the machine holds the thread up and waits look
     * long. */
    assert_true(most - least <= most / 8);
    fixture_destroy(loop);
}

JZX_TEST(ping_pong_hits_are_exact, "C+tool") {
    jzx_loop *loop = fixture_loop();
    struct player players[2];
    jzx_actor_id ids[2];
    uint64_t total = 0;
    for (int i = 0; i < 2; i++) {
        players[i] = (struct player){.total = &total, .limit = 22};
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = play, .state = &players[i]));
    }
    players[0].peer = ids[1];
    players[1].peer = ids[0];
    fixture_send(loop, ids[0], 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(players[0].hits, 11);
    assert_int_equal(players[1].hits, 11);
    fixture_destroy(loop);
}

/* ---- a long queue of long messages, and nobody else ---- */

#define LONG_MSGS 100u
#define LONG_MSG_NS JZX_US(800)

struct toiler {
    jzx_clock *clock;
    uint32_t handled;
    uint32_t handled_at_tick; /* when the timer's message was handled, */
    uint32_t handled_at_call; /* and when the call came */
};

static void note_call(jzx_loop *loop, void *ctx) {
    struct toiler *toiler = ctx;
    (void)loop;
    toiler->handled_at_call = toiler->handled;
}

static jzx_behavior_result toil(jzx_context *ctx, const jzx_message *msg) {
    struct toiler *self = ctx->state;
    (void)msg;
    JZX_EXPECT_EQ(jzx_clock_advance(self->clock, LONG_MSG_NS), JZX_OK);
    if (++self->handled == 5)
        JZX_EXPECT_EQ(jzx_loop_call(ctx->loop, note_call, self), JZX_OK);
    return self->handled == LONG_MSGS ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result note_tick(jzx_context *ctx, const jzx_message *msg) {
    struct toiler *toiler = ctx->state;
    (void)msg;
    toiler->handled_at_tick = toiler->handled;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(an_actor_alone_with_a_long_queue_holds_up_neither_timers_nor_calls) {
    struct toiler toiler = {.clock = jzx_clock_manual(0)};
    assert_non_null(toiler.clock);
    jzx_config config;
    jzx_config_init(&config, sizeof config);
    config.workers = 1;
    config.clock = toiler.clock;
    jzx_loop *loop = fixture_loop_with(&config);
    jzx_actor_id busy = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = toil, .state = &toiler));
    jzx_actor_id idle =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_tick, .state = &toiler));
    for (uint32_t i = 0; i < LONG_MSGS; i++)
        fixture_send(loop, busy, 1);
    assert_int_equal(jzx_send_after(loop, idle, JZX_NOBODY, NULL, 0, 1, JZX_MS(10), NULL), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(toiler.handled, LONG_MSGS);
    JZX_EXPECT(toiler.handled_at_call >= 5 && toiler.handled_at_call <= 8);   /* 1 ms later */
    JZX_EXPECT(toiler.handled_at_tick >= 12 && toiler.handled_at_tick <= 15); /* 10 ms */
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(toiler.clock), JZX_OK);
}

/* ---- jzx_turn_spent ---- */

static uint64_t asked;

static jzx_behavior_result compute(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    while (!jzx_turn_spent(ctx))
        asked++;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_long_computation_learns_that_its_turn_is_spent) {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id a = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = compute));
    jzx_actor_id b = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_self));
    fixture_send(loop, a, 1);
    fixture_send(loop, b, 1); /* somebody waits, so the loop in a ends */
    assert_int_equal(jzx_actor_stop(loop, b, JZX_STOP_AFTER_QUEUE), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_true(asked > 0);
    assert_false(jzx_turn_spent(NULL));
    fixture_destroy(loop);
}

static jzx_behavior_result ask_alone(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)msg;
    for (int i = 0; i < 10000; i++)
        JZX_EXPECT(!jzx_turn_spent(ctx)); /* nobody waits: there is no reason to yield */
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_turn_is_not_spent_while_nobody_waits) {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ask_alone));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

/* ---- a manual clock that stands still ---- */

/* So many turns are enough for a wait that takes 5 ms where messages take JZX__COUNTED_NS of
 * meter.h; most waits are far shorter. */
#define TURNS_MAX 200000u

static jzx_loop *still_loop(jzx_clock **clock) {
    *clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .clock = *clock));
    assert_non_null(loop);
    return loop;
}

/* One turn a step, until *count is not 0. Returns how many it took. */
static uint32_t turns_until(jzx_loop *loop, const uint32_t *count) {
    uint32_t taken = 0;
    while (taken < TURNS_MAX && *count == 0) {
        JZX_EXPECT_EQ(jzx_loop_step(loop, 0), JZX_OK);
        taken++;
    }
    JZX_EXPECT_EQ(*count, 1);
    return taken;
}

static uint32_t starts;

static jzx_err start_once(jzx_context *ctx) {
    (void)ctx;
    return starts++ == 0 ? JZX_OK : JZX_ERR_UNKNOWN;
}

static jzx_behavior_result crash(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_FAIL;
}

static uint32_t turns_beside_a_crash_loop(void) {
    jzx_clock *clock;
    jzx_loop *loop = still_loop(&clock);
    struct recorder log = {0};
    const jzx_child_spec children[] = {{.name = "crashes", .behavior = crash, .init = start_once}};
    jzx_actor_id super = JZX_NOBODY;
    jzx_actor_id child = JZX_NOBODY;
    starts = 0;
    jzx_actor_id sibling = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    assert_int_equal(
        jzx_spawn_supervisor(
            loop, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(children)), &super),
        JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_supervisor_child(loop, super, "crashes", &child), JZX_OK);
    fixture_send(loop, child, 1);
    for (uint32_t i = 0; i < 100; i++)
        JZX_EXPECT_EQ(jzx_loop_step(loop, 0), JZX_OK);
    JZX_EXPECT(starts > 10);
    fixture_send(loop, sibling, 1);
    uint32_t taken = turns_until(loop, &log.count);
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK); /* in the middle of a restart */
    jzx_clock_free(clock);
    return taken;
}

JZX_TEST(a_crash_loop_starves_nobody_though_the_clock_stands_still) {
    uint32_t taken = turns_beside_a_crash_loop();
    JZX_EXPECT(taken < 2000);
    JZX_EXPECT_EQ(turns_beside_a_crash_loop(), taken); /* a simulation has one order */
}

/* Two that never rest: one of low priority waits until it is overdue. */
static uint32_t turns_of_low(void) {
    jzx_clock *clock;
    jzx_loop *loop = still_loop(&clock);
    struct player players[2];
    struct recorder log = {0};
    jzx_actor_id ids[2];
    uint64_t total = 0;
    for (int i = 0; i < 2; i++) {
        players[i] = (struct player){.total = &total, .limit = UINT64_MAX};
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = play, .state = &players[i]));
    }
    players[0].peer = ids[1];
    players[1].peer = ids[0];
    fixture_send(loop, ids[0], 1);
    jzx_actor_id low = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .priority = JZX_PRIORITY_LOW));
    fixture_send(loop, low, 1);
    uint32_t taken = turns_until(loop, &log.count);
    fixture_destroy(loop);
    jzx_clock_free(clock);
    return taken;
}

JZX_TEST(low_priority_has_its_turn_though_the_clock_stands_still) {
    JZX_EXPECT_EQ(turns_of_low(), turns_of_low());
}

static uint32_t asks;

static jzx_behavior_result ask_until_spent(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    while (asks < TURNS_MAX && !jzx_turn_spent(ctx))
        asks++;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_turn_is_spent_though_the_clock_stands_still) {
    jzx_clock *clock;
    jzx_loop *loop = still_loop(&clock);
    struct recorder log = {0};
    jzx_actor_id ids[] = {fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ask_until_spent)),
                          fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log))};
    for (size_t i = 0; i < 2; i++)
        fixture_send(loop, ids[i], 1);
    asks = 0;
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT(asks > 0 && asks < TURNS_MAX);
    JZX_EXPECT_EQ(log.count, 1);
    fixture_destroy(loop);
    jzx_clock_free(clock);
}
