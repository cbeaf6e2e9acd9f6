/* SPDX-License-Identifier: MIT */
/* What else a worker wakes at some time, in order with timers. */
#include "actor/timer.h"

#include "fixture.h"

enum { WAITERS = 4 };

static struct {
    jzx_clock *clock;
    struct jzx__waiter waiters[WAITERS];
    uint32_t woken[WAITERS];
    uint64_t at_ms[WAITERS];
    jzx_timer_id timer; /* that the first to wake cancels */
    uint32_t messages;
} s;

static void wake(struct jzx__worker *me, struct jzx__waiter *waiter) {
    ptrdiff_t number = waiter - s.waiters;
    s.woken[number]++;
    s.at_ms[number] = jzx_clock_now(s.clock) / JZX_MS(1);
    if (number == 0) {
        jzx__waiter_cancel(me, &s.waiters[3]); /* due at the same tick, and behind this one */
        JZX_EXPECT_EQ(jzx_timer_cancel(jzx__loop_of(me), s.timer), JZX_OK);
    }
    if (number == 1 && s.woken[1] == 1) /* again, from inside */
        jzx__waiter_set(me, waiter, jzx_clock_now(s.clock) + JZX_SECOND(2000));
}

static void set_all(jzx_loop *loop, void *ctx) {
    static const uint64_t due_ns[WAITERS] = {JZX_MS(5), JZX_MS(5) - 1, JZX_SECOND(3), JZX_MS(5)};
    (void)ctx;
    for (uint32_t i = 0; i < WAITERS; i++) {
        s.waiters[i] = (struct jzx__waiter){.wake = wake};
        jzx__waiter_set(loop->sched.workers[0], &s.waiters[i], due_ns[i]);
    }
}

static void cancel_third(jzx_loop *loop, void *ctx) {
    (void)ctx;
    jzx__waiter_cancel(loop->sched.workers[0], &s.waiters[2]);
    jzx__waiter_cancel(loop->sched.workers[0], &s.waiters[2]); /* once more does nothing */
}

static jzx_behavior_result count(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    s.messages++;
    return JZX_BEHAVIOR_OK;
}

static void advance(jzx_loop *loop, uint64_t ns) {
    JZX_EXPECT_EQ(jzx_clock_advance(s.clock, ns), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

JZX_TEST(waiters_are_woken_at_their_tick_or_were_cancelled) {
    memset(&s, 0, sizeof s);
    s.clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .clock = s.clock));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = count));
    JZX_EXPECT_EQ(jzx_loop_call(loop, set_all, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_after(loop, id, JZX_NOBODY, NULL, 0, 1, JZX_MS(5), &s.timer), JZX_OK);
    advance(loop, JZX_MS(5) - 1);
    for (uint32_t i = 0; i < WAITERS; i++)
        JZX_EXPECT_EQ(s.woken[i], 0);
    advance(loop, 1);
    JZX_EXPECT_EQ(s.woken[0], 1);
    JZX_EXPECT_EQ(s.woken[1], 1);
    JZX_EXPECT_EQ(s.woken[3], 0);
    JZX_EXPECT_EQ(s.messages, 0); /* its timer was due behind the first waiter */
    JZX_EXPECT_EQ(jzx_loop_call(loop, cancel_third, NULL), JZX_OK);
    advance(loop, JZX_SECOND(2000) - 1);
    JZX_EXPECT_EQ(s.woken[1], 1);
    advance(loop, 1);
    JZX_EXPECT_EQ(s.woken[1], 2);
    JZX_EXPECT_EQ(s.at_ms[1], 2000005);
    JZX_EXPECT_EQ(s.woken[2], 0);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(jzx_clock_free(s.clock), JZX_OK);
}
