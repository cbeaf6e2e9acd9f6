/* SPDX-License-Identifier: MIT */
/* Many timers that one message sets, on the real clock, which is counted in cycles if the machine
 * counts those steadily (src/base/pace.h). None may be early, however long that message takes. */
#include "timing.h"

#include <errno.h>
#include <semaphore.h>

enum { GO = 1, DUE, DROPPED, POLL };

/* By then cycles are counted. */
#define WARM_UP_NS JZX_MS(80)

static void spend(jzx_loop *loop, uint64_t ns) {
    uint64_t until = jzx_loop_now(loop) + ns;
    while (jzx_loop_now(loop) < until)
        continue;
}

/* Carries the time before which it must not come. */
static jzx_timer_id set_due(jzx_context *ctx, uint32_t tag, uint64_t delay_ns) {
    jzx_timer_id timer = JZX_NO_TIMER;
    uint64_t due_ns = jzx_loop_now(ctx->loop) + delay_ns;
    JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, ctx->self, &due_ns, sizeof due_ns, tag,
                                 delay_ns, &timer),
                  JZX_OK);
    return timer;
}

static void expect_not_early(jzx_context *ctx, const jzx_message *msg) {
    uint64_t due_ns;
    JZX_EXPECT_EQ(msg->len, sizeof due_ns);
    memcpy(&due_ns, msg->data, sizeof due_ns);
    JZX_EXPECT(jzx_loop_now(ctx->loop) >= due_ns);
}

/* True when timers were set for so long; else there comes another GO. */
static bool is_warm(jzx_context *ctx, uint64_t start_ns) {
    if (jzx_loop_now(ctx->loop) - start_ns >= WARM_UP_NS)
        return true;
    JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, set_due(ctx, DROPPED, JZX_MS(5))), JZX_OK);
    fixture_send(ctx->loop, ctx->self, GO);
    return false;
}

/* ---- rows of all lengths ---- */

#define ROUNDS 24u

struct setter {
    uint64_t start_ns;
    uint32_t rounds;
    uint32_t set;
    uint32_t got;
};

/* Some are cancelled at once, some after the next one was set, and one in ten takes a while. */
static void set_row(jzx_context *ctx, struct setter *self, uint32_t count) {
    jzx_timer_id dropped = JZX_NO_TIMER;
    for (uint32_t i = 0; i < count; i++) {
        set_due(ctx, DUE, JZX_MS(1) + i % 7 * JZX_US(333));
        self->set++;
        if (dropped != JZX_NO_TIMER)
            JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, dropped), JZX_OK);
        dropped = JZX_NO_TIMER;
        if (i % 3 == 1)
            dropped = set_due(ctx, DROPPED, JZX_MS(1));
        if (i % 10 == 9)
            spend(ctx->loop, JZX_US(400));
    }
    if (dropped != JZX_NO_TIMER)
        JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, dropped), JZX_OK);
}

static jzx_behavior_result set_rows(jzx_context *ctx, const jzx_message *msg) {
    struct setter *self = ctx->state;
    JZX_EXPECT(msg->tag == GO || msg->tag == DUE);
    if (msg->tag == DUE) {
        expect_not_early(ctx, msg);
        self->got++;
    } else if (is_warm(ctx, self->start_ns) && self->rounds < ROUNDS) {
        set_row(ctx, self, 2 + self->rounds * 5 % 110);
        self->rounds++;
        fixture_send(ctx->loop, ctx->self, GO);
    }
    bool is_over = self->rounds == ROUNDS && self->got == self->set;
    return is_over ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(timers_that_are_set_in_a_row_are_never_early, "E51") {
    jzx_loop *loop = fixture_loop();
    struct setter setter = {.start_ns = jzx_loop_now(loop)};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = set_rows, .state = &setter));
    fixture_send(loop, id, GO);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(setter.rounds, ROUNDS);
    JZX_EXPECT_EQ(setter.got, setter.set);
    fixture_destroy(loop);
}

/* ---- in a turn that outlives its worker ---- */

struct staller {
    sem_t go;
    uint64_t start_ns;
    uint64_t due_ns; /* of the first that is set later */
    jzx_actor_id poller;
    uint64_t fired; /* before */
    uint32_t got;
    bool has_polled;
};

static struct staller staller;

static uint64_t fired(jzx_loop *loop) {
    return fixture_stats(loop).timers_fired;
}

#define EARLY 8u /* timers that are set at once */
#define LATE 4u  /* those that are set 5 ms later */

/* Sets timers of 40 ms; then waits for an actor that runs only when a spare thread drives the
 * worker. */
static jzx_behavior_result set_and_stall(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == DUE) {
        expect_not_early(ctx, msg);
        return ++staller.got == EARLY + LATE ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    }
    if (!is_warm(ctx, staller.start_ns))
        return JZX_BEHAVIOR_OK;
    staller.fired = fired(ctx->loop);
    for (uint32_t i = 0; i < EARLY + LATE; i++) {
        if (i == EARLY)
            spend(ctx->loop, JZX_MS(5));
        if (i <= EARLY)
            staller.due_ns = jzx_loop_now(ctx->loop) + JZX_MS(40);
        set_due(ctx, DUE, JZX_MS(40));
    }
    fixture_send(ctx->loop, staller.poller, POLL);
    while (sem_wait(&staller.go) != 0 && errno == EINTR)
        continue;
    return JZX_BEHAVIOR_OK;
}

/* Until the first of those that were set later is due. */
static jzx_behavior_result poll_fired(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(msg->tag, POLL);
    uint64_t count = fired(ctx->loop) - staller.fired;
    if (jzx_loop_now(ctx->loop) < staller.due_ns) {
        JZX_EXPECT(count <= EARLY);
        fixture_send(ctx->loop, ctx->self, POLL);
        return JZX_BEHAVIOR_OK;
    }
    staller.has_polled = true;
    sem_post(&staller.go);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(timers_of_a_turn_that_outlives_its_worker_are_not_early, "E51") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(15)));
    assert_non_null(loop);
    memset(&staller, 0, sizeof staller);
    sem_init(&staller.go, 0, 0);
    staller.start_ns = jzx_loop_now(loop);
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = set_and_stall, .place = JZX_PLACE_WORKER(1)));
    staller.poller =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = poll_fired, .place = JZX_PLACE_WORKER(1)));
    fixture_send(loop, id, GO);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(staller.has_polled);
    JZX_EXPECT_EQ(staller.got, EARLY + LATE);
    fixture_destroy(loop);
    sem_destroy(&staller.go);
}

/* ---- another loop ---- */

struct guest {
    jzx_loop *other;
    jzx_actor_id to;
};

/* A turn of a loop with a clock of its own sets timers of another loop for a while: its own go by
 * its own clock all the same. */
static jzx_behavior_result set_elsewhere(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    struct guest *self = ctx->state;
    if (msg->tag == DUE) {
        JZX_EXPECT_EQ(jzx_loop_now(ctx->loop), JZX_MS(1000 + 7));
        return JZX_BEHAVIOR_STOP;
    }
    uint64_t until = jzx_loop_now(self->other) + WARM_UP_NS;
    while (jzx_loop_now(self->other) < until) {
        jzx_timer_id timer = JZX_NO_TIMER;
        JZX_EXPECT_EQ(
            jzx_send_after(self->other, self->to, ctx->self, NULL, 0, DUE, JZX_MS(100), &timer),
            JZX_OK);
        JZX_EXPECT_EQ(jzx_timer_cancel(self->other, timer), JZX_OK);
    }
    timing_set(ctx->loop, ctx->self, DUE, JZX_MS(7));
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(timers_of_another_loop_do_not_change_ones_own_time, "E51") {
    struct timing timing = timing_open_with(JZX_MS(1000), NULL);
    jzx_loop *other = fixture_loop();
    struct recorder recorder = {.stop_at = 1};
    struct guest guest = {.other = other};
    guest.to = fixture_spawn(other, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder));
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = set_elsewhere, .state = &guest));
    fixture_send(timing.loop, id, GO);
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(6));
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(1));
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    timing_close(&timing);
    fixture_destroy(other);
}
