/* SPDX-License-Identifier: MIT */
/* Random timers against a list: each fires at its exact millisecond, in order and once, or was
 * cancelled, or went with its actor. A seed that fails prints the line that reruns it. */
#include "timing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { ACTORS = 5, TIMERS_MAX = 4096, OPERATIONS = 120 };

enum state { PENDING, HANDLED, CANCELLED, DROPPED };

/* Its place in the list says in which order they were set. */
struct timer {
    jzx_timer_id id;
    uint64_t due_ms;
    uint64_t period_ms; /* 0: once */
    jzx_repeat repeat;
    uint32_t actor;      /* whose it is */
    jzx_actor_id setter; /* JZX_NOBODY: set outside of all turns */
    enum state state;
    bool in_hand;
};

struct model {
    struct timing timing;
    uint64_t random;
    struct timer timers[TIMERS_MAX];
    uint32_t count;
    jzx_actor_id actors[ACTORS];
    uint32_t generations[ACTORS];
    uint32_t dying;   /* whom nobody may set a timer for, or cancel one of; ACTORS: none */
    bool looks_first; /* the loop takes in what was set before the clock moves */
    bool all_held;
};

static struct model model;

static void expect(bool held) {
    model.all_held = model.all_held && held;
}

static uint64_t next_random(void) {
    uint64_t z = (model.random += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t bound) {
    return next_random() % bound;
}

/* Short ones mostly, and each border of the wheel. */
static uint64_t random_ns(void) {
    static const uint64_t borders_ms[] = {0,     1,     255,     256,     257,     16383,
                                          16384, 16385, 1048575, 1048576, 1048577, 70000000};
    switch (below(8)) {
    case 0: return JZX_MS(borders_ms[below(sizeof borders_ms / sizeof borders_ms[0])]);
    case 1: return JZX_MS(below(300));
    case 2: return JZX_MS(below(20000));
    case 3: return JZX_MS(below(2000000));
    case 4: return below(JZX_MS(3)); /* between two milliseconds */
    default: return JZX_MS(below(20));
    }
}

static uint64_t now_ns(void) {
    return jzx_clock_now(model.timing.clock);
}

static void advance(uint64_t duration_ns) {
    if (model.looks_first)
        expect(JZX_EXPECT_EQ(jzx_loop_step(model.timing.loop, JZX_NEVER), JZX_OK));
    expect(JZX_EXPECT_EQ(jzx_clock_advance(model.timing.clock, duration_ns), JZX_OK));
}

/* The first whole millisecond at or after its time; zero means the next. */
static uint64_t due_ms_after(uint64_t delay_ns) {
    uint64_t now = now_ns();
    return delay_ns == 0 ? now / JZX_MS(1) + 1 : (now + delay_ns + JZX_MS(1) - 1) / JZX_MS(1);
}

/* ---- operations: outside, or in some actor's turn ---- */

static void set_timer(void) {
    uint32_t actor = (uint32_t)below(ACTORS);
    if (model.count == TIMERS_MAX || actor == model.dying)
        return;
    uint32_t index = model.count++;
    struct timer *timer = &model.timers[index];
    uint64_t delay = random_ns();
    *timer = (struct timer){
        .actor = actor, .setter = jzx_current_actor(), .due_ms = due_ms_after(delay)};
    expect(JZX_EXPECT_EQ(jzx_send_after(model.timing.loop, model.actors[timer->actor], JZX_NOBODY,
                                        &index, sizeof index, 1, delay, &timer->id),
                         JZX_OK));
}

static void set_repeating(void) {
    /* From a whole millisecond on: else each firing is rounded by itself. */
    advance(JZX_MS(1) - now_ns() % JZX_MS(1));
    if (model.count == TIMERS_MAX)
        return;
    uint32_t index = model.count++;
    struct timer *timer = &model.timers[index];
    *timer = (struct timer){.actor = (uint32_t)below(ACTORS),
                            .period_ms = 1 + below(400),
                            .repeat = below(2) ? JZX_FIXED_RATE : JZX_FIXED_DELAY};
    timer->due_ms = now_ns() / JZX_MS(1) + timer->period_ms;
    expect(JZX_EXPECT_EQ(jzx_send_every(model.timing.loop, model.actors[timer->actor], JZX_NOBODY,
                                        &index, sizeof index, 1, JZX_MS(timer->period_ms),
                                        timer->repeat, &timer->id),
                         JZX_OK));
}

static void cancel_one(void) {
    if (model.count == 0)
        return;
    /* A late one mostly, as the early ones are over. */
    uint64_t back = below(4) ? below(8) : below(model.count);
    struct timer *timer = &model.timers[model.count - 1 - (back < model.count ? back : 0)];
    if (timer->actor == model.dying)
        return;
    bool can = timer->state == PENDING && !(timer->in_hand && timer->period_ms == 0);
    expect(JZX_EXPECT_EQ(jzx_timer_cancel(model.timing.loop, timer->id),
                         can ? JZX_OK : JZX_ERR_TIMER_INVALID));
    if (can)
        timer->state = CANCELLED;
}

/* ---- what comes ---- */

/* Of the same actor, no timer that fires once may be passed over: none of an earlier millisecond,
 * and of the same one none that was set earlier in the same place. */
static bool must_come_first(const struct timer *other, const struct timer *timer) {
    if (other->actor != timer->actor || other->state != PENDING || other->period_ms != 0)
        return false;
    return other->due_ms < timer->due_ms ||
           (other->due_ms == timer->due_ms && other < timer && other->setter == timer->setter);
}

static void check_order(const struct timer *timer) {
    for (uint32_t i = 0; i < model.count; i++)
        expect(JZX_EXPECT(!must_come_first(&model.timers[i], timer)));
}

static void handle_timer(jzx_context *ctx, struct timer *timer) {
    uint64_t now_ms = now_ns() / JZX_MS(1);
    expect(JZX_EXPECT_EQ(timer->state, PENDING));
    expect(JZX_EXPECT_EQ(ctx->self, model.actors[timer->actor]));
    expect(JZX_EXPECT(timer->due_ms <= now_ms)); /* never early */
    uint64_t missed = 0;
    if (timer->period_ms == 0)
        check_order(timer);
    else if (timer->repeat == JZX_FIXED_RATE && timer->due_ms <= now_ms)
        missed = (now_ms - timer->due_ms) / timer->period_ms;
    expect(JZX_EXPECT_EQ(jzx_timer_missed(ctx), missed));
    timer->in_hand = true;
    if (below(4) == 0)
        cancel_one();
    if (below(8) == 0 && model.count < TIMERS_MAX / 2)
        set_timer();
    timer->in_hand = false;
    if (timer->state != PENDING)
        return;
    if (timer->period_ms == 0)
        timer->state = HANDLED;
    else if (timer->repeat == JZX_FIXED_RATE)
        timer->due_ms += (missed + 1) * timer->period_ms;
    else /* from now on, which may be between two milliseconds */
        timer->due_ms = due_ms_after(JZX_MS(timer->period_ms));
}

static jzx_behavior_result act(jzx_context *ctx, const jzx_message *msg) {
    uint32_t index;
    if (msg->tag == TAG_DO) {
        set_timer();
        return JZX_BEHAVIOR_OK;
    }
    expect(JZX_EXPECT_EQ(msg->len, sizeof index));
    memcpy(&index, msg->data, sizeof index);
    if (JZX_EXPECT(index < model.count))
        handle_timer(ctx, &model.timers[index]);
    else
        model.all_held = false;
    return JZX_BEHAVIOR_OK;
}

/* ---- the run ---- */

static void step_and_check(void) {
    uint64_t pending = 0;
    expect(JZX_EXPECT_EQ(jzx_loop_step(model.timing.loop, JZX_NEVER), JZX_OK));
    for (uint32_t i = 0; i < model.count; i++) {
        if (model.timers[i].state != PENDING)
            continue;
        pending++;
        expect(JZX_EXPECT(JZX_MS(model.timers[i].due_ms) > now_ns())); /* never late */
    }
    jzx_stats stats = fixture_stats(model.timing.loop);
    expect(JZX_EXPECT_EQ(stats.timers_set - stats.timers_ended, pending));
    expect(JZX_EXPECT_EQ(stats.waiting, 0));
    expect(JZX_EXPECT_EQ(stats.accepted, stats.handled + stats.dead));
}

static void replace_actor(uint32_t index) {
    if (model.generations[index]++ > 0) {
        model.dying = index;
        expect(JZX_EXPECT_EQ(jzx_actor_stop(model.timing.loop, model.actors[index], JZX_STOP_KILL),
                             JZX_OK));
        expect(JZX_EXPECT_EQ(jzx_loop_step(model.timing.loop, JZX_NEVER), JZX_OK));
        model.dying = ACTORS;
        for (uint32_t i = 0; i < model.count; i++)
            if (model.timers[i].actor == index && model.timers[i].state == PENDING)
                model.timers[i].state = DROPPED;
    }
    model.actors[index] = fixture_spawn(model.timing.loop, &JZX_SPAWN_OPTS(.behavior = act));
}

static void operate(void) {
    switch (below(16)) {
    case 0:
    case 1: cancel_one(); break;
    case 2: set_repeating(); break;
    case 3:
        if (below(4) == 0)
            replace_actor((uint32_t)below(ACTORS));
        break;
    case 4: fixture_send(model.timing.loop, model.actors[below(ACTORS)], TAG_DO); break;
    case 5: advance(random_ns()); break; /* and no step */
    case 6:
    case 7:
    case 8:
    case 9:
        advance(random_ns());
        step_and_check();
        break;
    case 10: step_and_check(); break;
    default: set_timer(); break;
    }
}

static bool check_seed(uint64_t seed, bool looks_first) {
    memset(&model, 0, sizeof model);
    model.random = seed;
    model.looks_first = looks_first;
    model.all_held = true;
    model.dying = ACTORS;
    model.timing = timing_open_with(JZX_MS(below(2) ? 0 : below(2000000)), NULL);
    for (uint32_t i = 0; i < ACTORS; i++)
        replace_actor(i);
    for (uint32_t i = 0; i < OPERATIONS && model.all_held; i++)
        operate();
    if (model.all_held && below(2)) { /* else they end with the loop */
        advance(JZX_SECOND(100000));
        step_and_check();
    }
    timing_close(&model.timing);
    return model.all_held;
}

static void check_seeds(const char *test, bool looks_first) {
    const char *only = getenv("JZX_SEED");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    uint64_t last = only != NULL ? first : jzx_test_rounds(3000, 100000);
    for (uint64_t seed = first; seed <= last; seed++)
        if (!check_seed(seed, looks_first))
            fail_msg("rerun with: JZX_SEED=%" PRIu64 " %s %s", seed, program_invocation_name, test);
}

JZX_TEST(random_timers_fire_exactly_as_a_sorted_list_says, "E48", "E51", "C23", "C27", "X7",
         "X15") {
    check_seeds("random_timers_fire_exactly_as_a_sorted_list_says", true);
}

JZX_TEST(so_do_those_that_the_loop_has_not_seen_when_the_clock_moves, "E51", "C23", "X15") {
    check_seeds("so_do_those_that_the_loop_has_not_seen_when_the_clock_moves", false);
}
