/* SPDX-License-Identifier: MIT */
/* Timers that are set in a row by a guess of the time, on a clock that only the test moves: in
 * order, never early, and not later than the end of the message says. tests/api/timer_row.c does it
 * on the real clock. */
#include "actor/timer.h"

#include "fixture.h"

#include <jzx/clock.h>

#if JZX__HAS_CYCLES

enum { GO = 1u << 20 };

#define START_NS JZX_MS(1000)
#define ARRIVALS_MAX 256u

struct arrival {
    uint32_t tag;
    uint64_t at_ns;
};

static struct {
    jzx_clock *clock;
    jzx_loop *loop;
    struct arrival arrivals[ARRIVALS_MAX];
    uint32_t count;
    void (*act)(jzx_context *ctx);
    const jzx_message *in_hand;
    bool ends; /* the actor whose message it is */
} world;

static struct jzx__timers *timers(void) {
    return jzx__timers_of(world.loop->sched.workers[0]);
}

/* Time passes, also for who counts cycles: as if these stood still, and looks said the rest. */
static void pass_ns(uint64_t ns) {
    JZX_EXPECT_EQ(jzx_clock_advance(world.clock, ns), JZX_OK);
    timers()->pace = (struct jzx__pace){.cycles = __rdtsc(),
                                        .ns = jzx_clock_now(world.clock) - JZX__PACE_AHEAD_NS,
                                        .window = UINT64_MAX};
}

static jzx_timer_id set(jzx_context *ctx, uint32_t tag, uint64_t delay_ns) {
    jzx_timer_id timer = JZX_NO_TIMER;
    JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, JZX_NOBODY, NULL, 0, tag, delay_ns, &timer),
                  JZX_OK);
    return timer;
}

static jzx_behavior_result act(jzx_context *ctx, const jzx_message *msg) {
    world.in_hand = msg;
    if (msg->tag >= GO)
        world.act(ctx);
    else if (JZX_EXPECT(world.count < ARRIVALS_MAX))
        world.arrivals[world.count++] =
            (struct arrival){.tag = msg->tag, .at_ns = jzx_loop_now(ctx->loop)};
    bool ends = world.ends;
    world.ends = false;
    return ends ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_actor_id open_world(void) {
    memset(&world, 0, sizeof world);
    world.clock = jzx_clock_manual(START_NS);
    world.loop = fixture_loop_with(&JZX_CONFIG(.clock = world.clock));
    assert_non_null(world.loop);
    pass_ns(0);
    return fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = act));
}

static void step(void) {
    JZX_EXPECT_EQ(jzx_loop_step(world.loop, JZX_NEVER), JZX_OK);
}

static void have_done(jzx_actor_id id, void (*what)(jzx_context *ctx)) {
    world.act = what;
    fixture_send(world.loop, id, GO);
    step();
    JZX_EXPECT(!jzx__timer_guess_is_open(&timers()->guess));
}

/* Tick by tick. */
static void pass_ticks(uint32_t ticks) {
    for (uint32_t i = 0; i < ticks; i++) {
        uint64_t now = jzx_clock_now(world.clock);
        pass_ns(JZX__TIMER_TICK_NS - now % JZX__TIMER_TICK_NS);
        step();
    }
}

static void close_world(void) {
    fixture_destroy(world.loop);
    JZX_EXPECT_EQ(jzx_clock_free(world.clock), JZX_OK);
}

static void expect_in_order(uint32_t count) {
    JZX_EXPECT_EQ(world.count, count);
    for (uint32_t i = 0; i < world.count; i++)
        JZX_EXPECT_EQ(world.arrivals[i].tag, i);
}

/* ---- order ---- */

#define MANY 150u

/* Over the end of a tick; the list grows meanwhile, and the cache of records is empty now and then:
 * each of these ends a row. */
static void set_many(jzx_context *ctx) {
    pass_ns(JZX_US(900));
    for (uint32_t i = 0; i < MANY; i++) {
        set(ctx, i, JZX_MS(2));
        pass_ns(JZX_US(2));
    }
}

JZX_TEST(timers_of_one_delay_come_in_the_order_in_which_a_message_has_set_them, "E51", "X15") {
    jzx_actor_id id = open_world();
    have_done(id, set_many);
    pass_ticks(8);
    expect_in_order(MANY);
    close_world();
}

/* Every other way to set one, between those that are set by a guess. */
static void set_of_all_kinds(jzx_context *ctx) {
    char data[40] = "";
    pass_ns(JZX_US(900));
    for (uint32_t i = 0; i < 60; i += 6) {
        for (uint32_t k = 0; k < 4; k++) {
            set(ctx, i + k, JZX_MS(2));
            pass_ns(JZX_US(3));
        }
        JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, JZX_NOBODY, data, sizeof data, i + 4,
                                     JZX_MS(2), NULL),
                      JZX_OK);
        JZX_EXPECT_EQ(jzx_timer_start(ctx, i, NULL, 0, i + 5, JZX_MS(2)), JZX_OK);
        pass_ns(JZX_US(3));
    }
}

JZX_TEST(timers_of_other_kinds_keep_their_place_among_them, "E51", "X15") {
    jzx_actor_id id = open_world();
    have_done(id, set_of_all_kinds);
    pass_ticks(8);
    expect_in_order(60);
    close_world();
}

/* ---- time ---- */

static bool guessed;

/* Five have a look each; the first, on a wheel without timers, is not counted. Then one that fires
 * 20 us after its time and one that does 700 us after, and a while to go. */
static void set_two_by_a_guess(jzx_context *ctx) {
    for (uint32_t i = 0; i < 5; i++)
        set(ctx, 9, JZX_MS(50));
    guessed = timers()->guess.by == ctx->self;
    set(ctx, 0, JZX_MS(3) - JZX_US(20));
    set(ctx, 1, JZX_MS(3) - JZX_US(700));
    JZX_EXPECT_EQ(timers()->guess.count, 2);
    pass_ns(JZX_US(60));
}

JZX_TEST(only_those_are_later_whose_time_would_be, "E51") {
    jzx_actor_id id = open_world();
    have_done(id, set_two_by_a_guess);
    JZX_EXPECT(guessed);
    pass_ticks(10);
    JZX_EXPECT_EQ(world.count, 2);
    JZX_EXPECT_EQ(world.arrivals[0].tag, 1);
    JZX_EXPECT_EQ(world.arrivals[0].at_ns, START_NS + JZX_MS(3));
    JZX_EXPECT_EQ(world.arrivals[1].tag, 0);
    JZX_EXPECT_EQ(world.arrivals[1].at_ns, START_NS + JZX_MS(4));
    close_world();
}

/* Far beyond its delay. */
static void set_and_dawdle(jzx_context *ctx) {
    for (uint32_t i = 0; i < 12; i++) {
        set(ctx, i, JZX_MS(3));
        if (i == 8)
            pass_ns(JZX_SECOND(5));
    }
    guessed = timers()->guess.count != 0;
}

JZX_TEST(what_a_long_message_has_set_counts_from_its_end_at_the_latest, "E51") {
    jzx_actor_id id = open_world();
    have_done(id, set_and_dawdle);
    JZX_EXPECT(guessed);
    pass_ticks(4);
    expect_in_order(12);
    for (uint32_t i = 8; i < 12; i++)
        JZX_EXPECT_EQ(world.arrivals[i].at_ns, START_NS + JZX_SECOND(5) + JZX_MS(3));
    close_world();
}

/* ---- whose they are ---- */

static jzx_actor_id heir;

/* The one ends with a guess of 10 us ago; the other, in the same pass, sets a timer that is due at
 * a tick, and by that guess would not be. */
static void set_and_end(jzx_context *ctx) {
    if (ctx->self == heir) {
        set(ctx, 0, JZX_MS(1) - JZX_US(10));
        pass_ns(JZX_US(20));
        return;
    }
    for (uint32_t i = 0; i < 12; i++)
        set(ctx, 9, JZX_MS(50));
    guessed = timers()->guess.by == ctx->self;
    pass_ns(JZX_US(10));
    fixture_send(ctx->loop, heir, GO);
    world.ends = true;
}

static void set_far(jzx_context *ctx) {
    set(ctx, 9, JZX_MS(500)); /* so it has a list, and the wheel is not empty */
}

JZX_TEST(a_guess_is_nobody_elses, "E51") {
    jzx_actor_id id = open_world();
    heir = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = act));
    have_done(heir, set_far); /* it has begun: nothing is to be seen to before its message */
    have_done(id, set_far);
    have_done(id, set_and_end);
    JZX_EXPECT(guessed);
    pass_ticks(3);
    JZX_EXPECT_EQ(world.count, 1);
    JZX_EXPECT_EQ(world.arrivals[0].at_ns, START_NS + JZX_MS(1));
    close_world();
}

static void set_three(jzx_context *ctx) {
    for (uint32_t i = 0; i < 3; i++)
        set(ctx, 0, JZX_MS(50));
    guessed |= timers()->guess.by != JZX_NOBODY;
}

static void set_three_and_stash(jzx_context *ctx) {
    set_three(ctx);
    JZX_EXPECT_EQ(jzx_stash(ctx, world.in_hand), JZX_OK);
}

JZX_TEST(looks_of_one_message_are_not_those_of_another, "E51") {
    jzx_actor_id id = open_world();
    guessed = false;
    for (uint32_t i = 0; i < 20; i++)
        have_done(id, i % 3 == 1 ? set_three_and_stash : set_three);
    for (uint32_t i = 0; i < 20; i++) /* in one pass, too */
        fixture_send(world.loop, id, GO);
    step();
    JZX_EXPECT(!guessed);
    close_world();
}

#endif
