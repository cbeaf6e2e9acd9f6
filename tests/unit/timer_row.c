/* SPDX-License-Identifier: MIT */
/* Timers that one message sets in a row, on a clock that only the test moves: each counts from its
 * own call, and those of one tick come in order. tests/api/timer_row.c does it on the real clock.
 */
#include "timer/timer.h"

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
    if (msg->tag >= GO)
        world.act(ctx);
    else if (JZX_EXPECT(world.count < ARRIVALS_MAX))
        world.arrivals[world.count++] =
            (struct arrival){.tag = msg->tag, .at_ns = jzx_loop_now(ctx->loop)};
    return JZX_BEHAVIOR_OK;
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

/* Over the end of a tick; the list grows meanwhile, and the cache of records is empty at times. */
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

/* Every other way to set one, in between. */
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

/* One after another, and far beyond the delay of the first. */
static void set_and_dawdle(jzx_context *ctx) {
    for (uint32_t i = 0; i < 12; i++) {
        set(ctx, i, JZX_MS(3));
        pass_ns(i == 8 ? JZX_SECOND(5) : JZX_MS(1));
    }
}

JZX_TEST(each_timer_counts_from_its_call_however_long_the_message_takes, "E51") {
    jzx_actor_id id = open_world();
    have_done(id, set_and_dawdle);
    uint64_t end_ns = START_NS + JZX_SECOND(5) + JZX_MS(11);
    pass_ticks(4);
    expect_in_order(12);
    for (uint32_t i = 0; i < 12; i++) {
        uint64_t due_ns = START_NS + JZX_MS(i + 3) + (i > 8 ? JZX_SECOND(5) - JZX_MS(1) : 0);
        JZX_EXPECT_EQ(world.arrivals[i].at_ns, due_ns > end_ns ? due_ns : end_ns);
    }
    close_world();
}

/* The first fires 20 us after its time, the second 700 us after; then the message takes 60 us. */
static void set_two_near_a_tick(jzx_context *ctx) {
    for (uint32_t i = 0; i < 5; i++)
        set(ctx, 9, JZX_MS(50));
    set(ctx, 0, JZX_MS(3) - JZX_US(20));
    set(ctx, 1, JZX_MS(3) - JZX_US(700));
    pass_ns(JZX_US(60));
}

JZX_TEST(a_message_that_goes_on_makes_no_timer_later, "E51") {
    jzx_actor_id id = open_world();
    have_done(id, set_two_near_a_tick);
    pass_ticks(10);
    expect_in_order(2);
    for (uint32_t i = 0; i < world.count; i++)
        JZX_EXPECT_EQ(world.arrivals[i].at_ns, START_NS + JZX_MS(3));
    close_world();
}

#endif
