/* SPDX-License-Identifier: MIT */
/* A process reads from a stream of an actor on another worker, and is upgraded at the moment when
 * the bytes arrive: the new code gets them, whichever of the two was first. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/process_io.h>

#include <sched.h>
#include <stdatomic.h>

struct round {
    jzx_stream pair[2];
    uint32_t steps;
    uint32_t delay; /* of the upgrade */
    bool is_new;
    atomic_bool goes;
    atomic_bool is_over;
};

static void pass_time(uint32_t count) {
    for (volatile uint32_t i = 0; i < count; i++)
        continue;
}

static jzx_err yield_read(const struct round *round, jzx_step_out *out) {
    const jzx_command_socket_read arg = {.stream = round->pair[0], .len = 40};
    return jzx_out_yield(out, 1, JZX_COMMAND_SOCKET_READ, &arg, sizeof arg);
}

static jzx_err read_again(jzx_context *ctx, const jzx_process_event *events, size_t count,
                          jzx_step_out *out) {
    struct round *round = ctx->state;
    if (!round->is_new) {
        round->is_new = true;
        return yield_read(round, out);
    }
    if (count == 0)
        return JZX_OK;
    JZX_EXPECT_EQ(events[0].error, JZX_OK);
    JZX_EXPECT_EQ(events[0].len, 4);
    atomic_store(&round->is_over, true);
    return jzx_out_done(out, NULL, 0);
}

static const jzx_process_ops new_ops = {.size = sizeof new_ops, .step = read_again};

static jzx_err read_and_upgrade(jzx_context *ctx, const jzx_process_event *events, size_t count,
                                jzx_step_out *out) {
    struct round *round = ctx->state;
    (void)events, (void)count;
    if (++round->steps == 1) {
        jzx_out_continue(out);
        return yield_read(round, out);
    }
    atomic_store(&round->goes, true);
    pass_time(round->delay);
    return jzx_out_upgrade(out, &new_ops, NULL, NULL, 0);
}

static const jzx_process_ops old_ops = {.size = sizeof old_ops, .step = read_and_upgrade};

static void play(jzx_context *ctx) {
    static struct round round;
    uint32_t rounds = (uint32_t)jzx_test_rounds(300, 60000);
    for (uint32_t i = 0; i < rounds; i++) {
        round = (struct round){.delay = i * 37 % 4000};
        JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, round.pair), JZX_OK);
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.process = &old_ops, .state = &round,
                                                 .place = JZX_PLACE_WORKER(0)));
        while (!atomic_load(&round.goes))
            sched_yield();
        pass_time(i * 91 % 6000);
        JZX_EXPECT_EQ(jzx_stream_write(ctx, round.pair[1], "abcd", 4, JZX_NEVER), JZX_OK);
        while (!atomic_load(&round.is_over))
            JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_US(20))), JZX_OK);
        for (uint32_t k = 0; k < 2; k++)
            JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, round.pair[k]), JZX_OK);
    }
    jzx_test_ran();
}

JZX_TEST(an_upgrade_keeps_bytes_that_arrive_on_another_worker_at_that_moment, "D+reg", "D+top") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_NEVER));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = play, .place = JZX_PLACE_WORKER(1)));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
}
