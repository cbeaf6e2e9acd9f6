/* SPDX-License-Identifier: MIT */
/* Behaviours that do not return, by the hundred, on all workers at once and with too few spares:
 * every message is handled once, nobody runs twice at a time, and in the end every worker is driven
 * by its home thread. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>

#define WORKERS 4u
#define ACTORS_PER_WORKER 6u
#define ACTORS (WORKERS * ACTORS_PER_WORKER)
#define STALL_AFTER JZX_MS(1)

enum { STEP = 1, LOOK = 2 };

static struct {
    pthread_t home[WORKERS];
    uint32_t steps;   /* of each actor */
    uint64_t stop_at; /* the loop stops at this step of all; 0: it does not */
    _Atomic uint64_t step;
    _Atomic bool is_stopped;
    _Atomic uint64_t lost;
} run_of;

struct stepper {
    uint32_t worker;
    uint32_t seen;
    jzx_actor_id id;
    _Atomic uint32_t runs; /* threads that are in it */
    _Atomic bool stands;   /* its stall was reported, and nobody took the worker */
};

static struct stepper steppers[ACTORS];

static void note_home(void *ctx, uint32_t worker) {
    (void)ctx;
    if (worker != JZX_NONE)
        run_of.home[worker] = pthread_self();
}

static bool is_home(uint32_t worker) {
    return pthread_equal(pthread_self(), run_of.home[worker]) != 0;
}

/* Until the worker is lost, or it is said that no thread is there to drive it. */
static void stall(struct stepper *self) {
    self->stands = false;
    while (jzx_current_worker() != JZX_NONE && !self->stands && !run_of.is_stopped)
        sched_yield();
    run_of.lost += jzx_current_worker() == JZX_NONE;
}

static void on_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_STALL || event->handed_over)
        return;
    for (uint32_t i = 0; i < ACTORS; i++) {
        if (steppers[i].id == event->actor)
            steppers[i].stands = true;
    }
}

/* To itself; a loop that was stopped refuses it. */
static void send_on(jzx_context *ctx, uint32_t tag) {
    jzx_err err = jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, tag);
    JZX_EXPECT(err == JZX_OK || run_of.stop_at != 0);
}

/* One of 16 steps stalls. */
static jzx_behavior_result step(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    struct stepper *self = ctx->state;
    (void)msg;
    JZX_EXPECT_EQ(self->runs++, 0);
    self->seen++;
    if (++run_of.step == run_of.stop_at) {
        JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
        run_of.is_stopped = true;
    }
    if (self->seen < run_of.steps)
        send_on(ctx, STEP);
    if ((self->seen * 7 + self->worker) % 16 == 0)
        stall(self);
    JZX_EXPECT_EQ(self->runs--, 1);
    return self->seen == run_of.steps ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* Goes on until the home thread runs it. */
static jzx_behavior_result look(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    if (is_home((uint32_t)(uintptr_t)ctx->state))
        return JZX_BEHAVIOR_STOP;
    send_on(ctx, LOOK);
    return JZX_BEHAVIOR_OK;
}

static void spawn_all(jzx_loop *loop) {
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = on_event), NULL),
                     JZX_OK);
    for (uint32_t i = 0; i < ACTORS; i++) {
        steppers[i] = (struct stepper){.worker = i % WORKERS};
        steppers[i].id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = step, .state = &steppers[i],
                                                .place = JZX_PLACE_WORKER(i % WORKERS)));
        fixture_send(loop, steppers[i].id, STEP);
    }
    for (uint32_t i = 0; i < WORKERS; i++) {
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = look, .state = (void *)(uintptr_t)i,
                                                .place = JZX_PLACE_WORKER(i)));
        fixture_send(loop, id, LOOK);
    }
}

static void run_with_spares(uint32_t spares) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = WORKERS, .stall_after_ns = STALL_AFTER,
                                      .spare_threads_max = spares, .on_thread_start = note_home));
    assert_non_null(loop);
    run_of.lost = 0;
    for (uint32_t i = 0; i < 3; i++) {
        spawn_all(loop);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        for (uint32_t k = 0; k < ACTORS; k++)
            JZX_EXPECT_EQ(steppers[k].seen, run_of.steps);
    }
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT(stats.handled >= 3 * (uint64_t)ACTORS * run_of.steps);
    JZX_EXPECT_EQ(stats.dead, 0);
    JZX_EXPECT(run_of.lost > 0 && stats.handovers > 0);
    fixture_destroy(loop);
}

JZX_TEST(workers_go_away_and_come_home_and_nobody_is_lost, "D12") {
    run_of.steps = (uint32_t)jzx_test_rounds(32, 1000);
    run_of.stop_at = 0;
    run_of.is_stopped = false;
    run_with_spares(1);
    run_with_spares(2);
    run_with_spares(0); /* enough for all */
}

JZX_TEST(runs_end_at_any_moment_of_workers_that_go_away_and_come_home, "D18") {
    run_of.steps = 1u << 30;
    for (uint64_t round = 0; round < jzx_test_rounds(12, 500); round++) {
        jzx_loop *loop =
            fixture_loop_with(&JZX_CONFIG(.workers = WORKERS, .stall_after_ns = STALL_AFTER,
                                          .spare_threads_max = 1 + (uint32_t)(round % 3),
                                          .on_thread_start = note_home));
        assert_non_null(loop);
        run_of.step = 0;
        run_of.is_stopped = false;
        run_of.stop_at = 1 + 29 * round;
        spawn_all(loop);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        fixture_destroy(loop);
    }
    JZX_EXPECT(jzx_test_runs() != 0);
}
