/* SPDX-License-Identifier: MIT */
/* A command of the processor, beside a plain message: two actors send a number back and forth, sync
 * ones in a single tick, or behaviours on one worker. */
#include "bench.h"

#include <jzx/processor.h>

#include <string.h>

enum { BALL };

/* ---- sync actors ---- */

struct player {
    jzx_processor_handle other;
    uint64_t sum;
};

static void play(void *state, const jzx_action *msg, jzx_actions *out) {
    struct player *self = state;
    uint64_t number;
    memcpy(&number, msg->data, sizeof number);
    self->sum += number;
    if (number-- == 0)
        return;
    BENCH_CHECK(jzx_actions_send(out, self->other, BALL, &number, sizeof number) == JZX_OK);
}

static jzx_err create_player(void *state, jzx_processor_handle self, const void *config,
                             size_t len) {
    struct player *player = state;
    (void)self;
    (void)len;
    memcpy(&player->other, config, sizeof player->other);
    return JZX_OK;
}

static const jzx_actor_factory player_actor =
    JZX_ACTOR_FACTORY(.type = "player", .state_size = sizeof(struct player),
                      .create = create_player, .handle = play);

static void init_root(void *state, jzx_actions *out) {
    struct player *self = state;
    const jzx_processor_handle me = jzx_actions_self(out);
    BENCH_CHECK(jzx_actions_spawn_new(out, &player_actor, &me, sizeof me, &self->other) == JZX_OK);
}

static const jzx_actor_factory root_actor =
    JZX_ACTOR_FACTORY(.type = "root", .state_size = sizeof(struct player), .init = init_root,
                      .handle = play);

static void run_commands(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_processor *processor = NULL;
    jzx_processor_stats stats = {.size = sizeof stats};
    const uint64_t first = size - 1;
    BENCH_CHECK(jzx_processor_create(loop, &JZX_PROCESSOR_OPTS(.root = &root_actor), &processor) ==
                JZX_OK);
    double start = bench_now();
    BENCH_CHECK(jzx_processor_dispatch(processor, BALL, &first, sizeof first) == JZX_OK);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK(jzx_processor_stats_get(processor, &stats) == JZX_OK);
    BENCH_CHECK_EQUAL(stats.commands, size + 2); /* and two spawns */
    BENCH_CHECK(jzx_processor_destroy(processor) == JZX_OK);
}

/* ---- behaviours ---- */

struct partner {
    BENCH_APART jzx_actor_id other;
    uint64_t count;
};

static struct partner partners[2];

static jzx_behavior_result pass(jzx_context *ctx, const jzx_message *msg) {
    struct partner *self = ctx->state;
    uint64_t number = bench_value(msg);
    self->count++;
    if (number != 0)
        bench_send(ctx, self->other, BALL, number - 1);
    return number <= 1 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void run_messages(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_actor_id ids[2];
    for (int i = 0; i < 2; i++) {
        partners[i].count = 0;
        ids[i] = bench_spawn(loop, pass, &partners[i]);
    }
    partners[0].other = ids[1];
    partners[1].other = ids[0];
    bench_start(loop, ids[0], BALL, size - 1);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(partners[0].count + partners[1].count, size);
}

const struct bench bench_processor = {
    .name = "processor",
    .op = "command of a sync actor; beside it, a message between two actors",
    .checked = "how many were carried out",
    .batch = "1",
    .kind = BENCH_ONE,
    .run = run_commands,
    .alone = run_messages,
    .size = 2000000,
    .size_min = 4,
    .payload = 8,
    .aim = -1,
    .ratio_limit = 2,
};
