/* SPDX-License-Identifier: MIT */
/* What a process costs beside a behaviour: a step with one event, and a command that is dispatched
 * and completed at once beside a message. */
#include "bench.h"

struct player {
    jzx_actor_id peer;
    uint64_t left; /* messages to send, or commands to yield */
    uint64_t received;
};

static struct player players[2];

static void set_players(jzx_actor_id second, uint64_t each) {
    players[0] = (struct player){.peer = second, .left = each};
    players[1] = (struct player){.left = each};
}

/* ---- behaviours ---- */

/* One that begins has an answer to wait for when it has sent its last. */
static jzx_behavior_result play(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    self->received += msg->sender != JZX_NOBODY;
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    bench_send(ctx, msg->sender == JZX_NOBODY ? self->peer : msg->sender, 0, 0);
    return --self->left == 0 && self->peer == JZX_NOBODY ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void play_to_end(jzx_loop *loop, jzx_actor_id first, uint64_t turns, struct bench_run *run) {
    double start = bench_now();
    bench_start(loop, first, 0, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = turns;
    BENCH_CHECK_EQUAL(players[0].received, turns / 2);
    BENCH_CHECK_EQUAL(players[1].received, turns / 2);
}

static void run_behaviours(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    set_players(bench_spawn(loop, play, &players[1]), size / 2);
    play_to_end(loop, bench_spawn(loop, play, &players[0]), size / 2 * 2, run);
}

/* ---- processes that play the same game ---- */

static jzx_err step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                    jzx_step_out *out) {
    for (size_t i = 0; i < count; i++) {
        switch (play(ctx, &events[i].message)) {
        case JZX_BEHAVIOR_OK: break;
        default: return jzx_out_done(out, NULL, 0);
        }
    }
    return JZX_OK;
}

static const jzx_process_ops playing = {.size = sizeof playing, .step = step};

static jzx_actor_id spawn_process(jzx_loop *loop, const jzx_process_ops *ops, void *state) {
    jzx_actor_id id;
    BENCH_CHECK(jzx_spawn(loop, &JZX_SPAWN_OPTS(.process = ops, .state = state), &id) == JZX_OK);
    return id;
}

static void run_steps(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    set_players(spawn_process(loop, &playing, &players[1]), size / 2);
    play_to_end(loop, spawn_process(loop, &playing, &players[0]), size / 2 * 2, run);
}

/* ---- a command for each step ---- */

#define ECHO 300u

static jzx_err echo(jzx_context *ctx, const jzx_command *command, void *data) {
    (void)data;
    return jzx_command_complete(ctx->loop, command->process, command->ref, command->arg,
                                command->len, JZX_OK);
}

static jzx_err command_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                            jzx_step_out *out) {
    struct player *self = ctx->state;
    for (size_t i = 0; i < count; i++)
        self->received += events[i].kind == JZX_PROCESS_YIELD_COMPLETE;
    if (self->left == 0)
        return jzx_out_done(out, NULL, 0);
    self->left--;
    return jzx_out_yield(out, self->left, ECHO, &self->left, sizeof self->left);
}

static void run_commands(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static const jzx_process_ops ops = {.size = sizeof ops, .step = command_step};
    BENCH_CHECK(jzx_command_register(loop, ECHO, &(jzx_command_handler){.handle = echo}) == JZX_OK);
    BENCH_CHECK(jzx_commands_freeze(loop) == JZX_OK);
    set_players(JZX_NOBODY, size);
    spawn_process(loop, &ops, &players[0]);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(players[0].received, size);
}

/* ---- the rows ---- */

const struct bench bench_kinds_process_step = {
    .name = "kinds-process-step",
    .op = "step of a process, with the send of its message; alone: a behaviour",
    .checked = "messages received",
    .batch = "1",
    .run = run_steps,
    .alone = run_behaviours,
    .size = 3000000,
    .size_min = 2,
    .payload = 8,
    .aim = -1,
};

const struct bench bench_kinds_process_command = {
    .name = "kinds-process-command",
    .op = "command of a process, dispatched and completed, and its step; alone: a message",
    .checked = "completions",
    .batch = "1",
    .run = run_commands,
    .alone = run_behaviours,
    .size = 2000000,
    .size_min = 2,
    .payload = 8,
    .aim = -1,
};
