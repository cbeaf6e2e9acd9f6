/* SPDX-License-Identifier: MIT */
/* What the tests of timers share: a loop on a clock that only the test moves, and actors that write
 * down what comes and when, and do in their own turn what the test hands them. */
#ifndef JZX_API_TIMING_H
#define JZX_API_TIMING_H

#include "fixture.h"

#include <jzx/clock.h>
#include <jzx/timer.h>

#include <string.h>

#define DIARY_MAX 512u
#define TAG_DO 0xD0D0u /* carries a function for the actor to call */

struct timing {
    jzx_clock *clock;
    jzx_loop *loop;
};

struct arrival {
    uint64_t at_ns;
    uint64_t missed;
    jzx_actor_id sender;
    size_t len;
    uint32_t tag;
};

/* The state of an actor that writes down what comes. */
struct diary {
    struct arrival arrivals[DIARY_MAX];
    uint32_t count;
    /* What it does with each message but TAG_DO, after it was written down. May be NULL. */
    jzx_behavior_result (*then)(jzx_context *ctx, const jzx_message *msg);
};

typedef void (*turn_fn)(jzx_context *ctx);

static inline jzx_behavior_result keep_diary(jzx_context *ctx, const jzx_message *msg) {
    struct diary *self = ctx->state;
    if (msg->tag == TAG_DO) {
        turn_fn fn;
        memcpy(&fn, msg->data, sizeof fn);
        jzx_test_ran();
        fn(ctx);
        return JZX_BEHAVIOR_OK;
    }
    JZX_EXPECT(msg->data != NULL);
    if (JZX_EXPECT(self->count < DIARY_MAX))
        self->arrivals[self->count++] = (struct arrival){
            .at_ns = jzx_loop_now(ctx->loop),
            .missed = jzx_timer_missed(ctx),
            .sender = msg->sender,
            .len = msg->len,
            .tag = msg->tag,
        };
    return self->then != NULL ? self->then(ctx, msg) : JZX_BEHAVIOR_OK;
}

/* config may be NULL; its clock is set here. */
static inline struct timing timing_open_with(uint64_t start_ns, const jzx_config *config) {
    struct timing timing = {.clock = jzx_clock_manual(start_ns)};
    assert_non_null(timing.clock);
    jzx_config ours = config != NULL ? *config : JZX_CONFIG();
    ours.clock = timing.clock;
    timing.loop = fixture_loop_with(&ours);
    assert_non_null(timing.loop);
    return timing;
}

static inline struct timing timing_open(void) {
    return timing_open_with(0, NULL);
}

static inline void timing_step(const struct timing *timing) {
    JZX_EXPECT_EQ(jzx_loop_step(timing->loop, JZX_NEVER), JZX_OK);
}

static inline void timing_advance(const struct timing *timing, uint64_t duration_ns) {
    JZX_EXPECT_EQ(jzx_clock_advance(timing->clock, duration_ns), JZX_OK);
    timing_step(timing);
}

/* Moves the clock on to that time, in one leap. */
static inline void timing_advance_to(const struct timing *timing, uint64_t at_ns) {
    uint64_t now = jzx_clock_now(timing->clock);
    if (JZX_EXPECT(at_ns >= now))
        timing_advance(timing, at_ns - now);
}

/* Also right while messages of the runtime wait, which fixture_check_books is not. */
static inline void timing_check_books(jzx_loop *loop) {
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.accepted, stats.handled + stats.dead + stats.waiting);
}

/* Timers that will still fire, or whose message waits. */
static inline uint64_t timing_pending(jzx_loop *loop) {
    jzx_stats stats = fixture_stats(loop);
    return stats.timers_set - stats.timers_ended;
}

/* Nothing waits any more: only timers that have not fired may be left. */
static inline void timing_close(struct timing *timing) {
    timing_check_books(timing->loop);
    fixture_destroy(timing->loop);
    JZX_EXPECT_EQ(jzx_clock_free(timing->clock), JZX_OK);
}

/* Its first turn is over when this returns. */
static inline jzx_actor_id timing_spawn(const struct timing *timing, struct diary *diary) {
    jzx_actor_id id =
        fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = diary));
    timing_step(timing);
    return id;
}

/* Has fn called in the actor's own turn, and all that is ready run. */
static inline void timing_do(const struct timing *timing, jzx_actor_id id, turn_fn fn) {
    uint64_t before = jzx_test_runs();
    JZX_EXPECT_EQ(jzx_send(timing->loop, id, JZX_NOBODY, &fn, sizeof fn, TAG_DO), JZX_OK);
    timing_step(timing);
    JZX_EXPECT(jzx_test_runs() > before);
}

/* A timer without data. */
static inline jzx_timer_id timing_set(jzx_loop *loop, jzx_actor_id to, uint32_t tag,
                                      uint64_t delay_ns) {
    jzx_timer_id timer = JZX_NO_TIMER;
    JZX_EXPECT_EQ(jzx_send_after(loop, to, JZX_NOBODY, NULL, 0, tag, delay_ns, &timer), JZX_OK);
    JZX_EXPECT(timer != JZX_NO_TIMER);
    return timer;
}

static inline jzx_timer_id timing_repeat(jzx_loop *loop, jzx_actor_id to, uint32_t tag,
                                         uint64_t period_ns, jzx_repeat repeat) {
    jzx_timer_id timer = JZX_NO_TIMER;
    JZX_EXPECT_EQ(jzx_send_every(loop, to, JZX_NOBODY, NULL, 0, tag, period_ns, repeat, &timer),
                  JZX_OK);
    JZX_EXPECT(timer != JZX_NO_TIMER);
    return timer;
}

static inline void expect_tags(const struct diary *diary, uint32_t count, const uint32_t *tags) {
    JZX_EXPECT_EQ(diary->count, count);
    for (uint32_t i = 0; i < count && i < diary->count; i++)
        JZX_EXPECT_EQ(diary->arrivals[i].tag, tags[i]);
}

/* The last message came at that time. */
static inline void expect_last(const struct diary *diary, uint32_t count, uint32_t tag,
                               uint64_t at_ns) {
    if (!JZX_EXPECT_EQ(diary->count, count) || count == 0)
        return;
    JZX_EXPECT_EQ(diary->arrivals[count - 1].tag, tag);
    JZX_EXPECT_EQ(diary->arrivals[count - 1].at_ns, at_ns);
}

#endif
