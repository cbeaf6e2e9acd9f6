/* SPDX-License-Identifier: MIT */
/* What a stall means for the actor: it goes on, or it ends when its code has returned. The code
 * that stalls waits for the report of it, or for the clock of its loop. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/supervisor.h>

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#define STALL_AFTER JZX_MS(10)

enum { GO = 1, AFTER = 2 };

static struct {
    jzx_actor_id id; /* who stalls */
    sem_t reported;
    uint32_t stalled; /* times that its code has waited for the report */
    uint32_t after;   /* times that it went on after that */
    uint32_t cleaned;
    jzx_exit_reason reason;
    char text[JZX_EXIT_TEXT_MAX + 1];
} seen;

static void see(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->actor != seen.id)
        return;
    if (event->kind == JZX_EVENT_STALL)
        sem_post(&seen.reported);
    if (event->kind == JZX_EVENT_ACTOR_FAIL || event->kind == JZX_EVENT_ACTOR_STOP) {
        seen.reason = event->reason;
        snprintf(seen.text, sizeof seen.text, "%s", event->detail);
    }
}

static void wait_for_report(void) {
    seen.stalled++;
    while (sem_wait(&seen.reported) != 0 && errno == EINTR)
        continue;
}

/* With one worker a stall is reported when it is over, and if the thread had a CPU. */
static void let_time_pass(void) {
    seen.stalled++;
    fixture_compute(2 * STALL_AFTER);
}

static void stall(jzx_context *ctx) {
    if (jzx_loop_workers(ctx->loop) > 1)
        wait_for_report();
    else
        let_time_pass();
}

static void note_end(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    seen.cleaned++;
}

static jzx_behavior_result stall_first(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == GO) {
        stall(ctx);
        return JZX_BEHAVIOR_OK;
    }
    seen.after++;
    return JZX_BEHAVIOR_STOP;
}

static jzx_err stall_in_init(jzx_context *ctx) {
    stall(ctx);
    return JZX_OK;
}

static void stall_and_receive(jzx_context *ctx) {
    jzx_message msg;
    stall(ctx);
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK && msg.tag != AFTER)
        continue;
    seen.after++;
}

static void stall_and_yield(jzx_context *ctx) {
    stall(ctx);
    if (jzx_yield(ctx) == JZX_OK)
        seen.after++;
}

static const jzx_spawn_opts guilty[] = {
    {.size = sizeof(jzx_spawn_opts), .behavior = stall_first, .cleanup = note_end},
    {.size = sizeof(jzx_spawn_opts),
     .behavior = stall_first,
     .init = stall_in_init,
     .cleanup = note_end},
    {.size = sizeof(jzx_spawn_opts), .fiber = stall_and_receive, .cleanup = note_end},
    {.size = sizeof(jzx_spawn_opts), .fiber = stall_and_yield, .cleanup = note_end},
};

#define GUILTY_COUNT (sizeof guilty / sizeof guilty[0])

/* The worker is handed over, or waits, or is the only one. */
static const struct {
    uint32_t workers;
    uint32_t spares;
} crews[] = {{2, 0}, {2, JZX_NONE}, {1, 0}};

#define CREW_COUNT (sizeof crews / sizeof crews[0])

static void run_guilty(size_t crew, size_t who, jzx_on_stall on_stall) {
    memset(&seen, 0, sizeof seen);
    sem_init(&seen.reported, 0, 0);
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = crews[crew].workers, .spare_threads_max = crews[crew].spares,
                    .stall_after_ns = STALL_AFTER, .relieve_after_ns = JZX_NEVER,
                    .on_stall = on_stall));
    assert_non_null(loop);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = see), NULL), JZX_OK);
    seen.id = fixture_spawn(loop, &guilty[who]);
    if (guilty[who].init == NULL)
        fixture_send(loop, seen.id, GO);
    fixture_send(loop, seen.id, AFTER);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(seen.cleaned, 1);
    fixture_destroy(loop);
    sem_destroy(&seen.reported);
}

JZX_TEST(an_actor_that_stalls_fails_when_it_returns_if_the_loop_says_so, "E+wait") {
    for (size_t crew = 0; crew < CREW_COUNT; crew++) {
        for (size_t who = 0; who < GUILTY_COUNT; who++) {
            run_guilty(crew, who, JZX_ON_STALL_FAIL);
            JZX_EXPECT(seen.stalled <= 1); /* 0: its thread was held up before it began */
            JZX_EXPECT_EQ(seen.after, 0);
            JZX_EXPECT_EQ(seen.reason, JZX_EXIT_FAIL);
            if (!JZX_EXPECT(strstr(seen.text, "stall_after_ns") != NULL))
                fprintf(stderr, "crew %zu, actor %zu: %s\n", crew, who, seen.text);
        }
    }
}

JZX_TEST(an_actor_that_stalls_goes_on_by_default, "E+wait") {
    for (size_t crew = 0; crew < CREW_COUNT; crew++) {
        for (size_t who = 0; who < GUILTY_COUNT; who++) {
            run_guilty(crew, who, who == 0 ? JZX_ON_STALL_GO_ON : JZX_ON_STALL_DEFAULT);
            JZX_EXPECT_EQ(seen.stalled, 1);
            JZX_EXPECT_EQ(seen.after, 1);
            JZX_EXPECT_EQ(seen.reason, JZX_EXIT_NORMAL);
        }
    }
}

/* ---- under a supervisor ---- */

static uint32_t starts;
static uint32_t restarts;

static jzx_err start_child(jzx_context *ctx) {
    if (++starts < 3)
        stall(ctx);
    else
        JZX_EXPECT_EQ(jzx_loop_stop(ctx->loop, JZX_NEVER), JZX_OK);
    return JZX_OK;
}

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

/* It runs in the turn of the supervisor, which stalls by that. */
static void take_long_at_restart(void *ctx, const jzx_event *event) {
    if (event->kind != JZX_EVENT_ACTOR_RESTART)
        return;
    (void)ctx;
    restarts++;
    let_time_pass();
}

JZX_TEST(a_child_that_stalled_is_restarted_and_no_supervisor_fails_by_a_stall, "E+wait") {
    const jzx_child_spec children[] = {{.behavior = ignore, .init = start_child}};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .stall_after_ns = STALL_AFTER,
                                                   .relieve_after_ns = JZX_NEVER,
                                                   .on_stall = JZX_ON_STALL_FAIL));
    jzx_actor_id top = JZX_NOBODY;
    memset(&seen, 0, sizeof seen);
    assert_non_null(loop);
    assert_int_equal(
        jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = take_long_at_restart), loop), JZX_OK);
    assert_int_equal(jzx_spawn_supervisor(loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(children)), &top),
                     JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK); /* not JZX_ERR_ESCALATED */
    JZX_EXPECT_EQ(starts, 3);
    JZX_EXPECT_EQ(restarts, 2);
    fixture_destroy(loop);
}
