/* SPDX-License-Identifier: MIT */
/* 100 creatures meet in pairs at one mall and change their colours: one busy actor, four messages a
 * meeting. */
#include "bench.h"

#define CREATURES 100

enum { START, MEET, CHANGE, EXIT, MEETINGS };

struct creature {
    BENCH_APART jzx_actor_id mall;
    uint64_t colour;
    uint64_t meetings;
};

struct mall {
    BENCH_APART uint64_t left;
    uint64_t creatures;
    jzx_actor_id waiting; /* JZX_NOBODY: none */
    uint64_t meetings;
};

static struct creature creatures[CREATURES];

static uint64_t complement(uint64_t mine, uint64_t other) {
    return mine == other ? mine : 3 - mine - other;
}

static jzx_behavior_result live(jzx_context *ctx, const jzx_message *msg) {
    struct creature *self = ctx->state;
    switch (msg->tag) {
    case START: bench_send(ctx, self->mall, MEET, self->colour); break;
    case MEET:
        self->colour = complement(self->colour, bench_value(msg));
        self->meetings++;
        bench_send(ctx, msg->sender, CHANGE, self->colour);
        bench_send(ctx, self->mall, MEET, self->colour);
        break;
    case CHANGE:
        self->colour = bench_value(msg);
        self->meetings++;
        bench_send(ctx, self->mall, MEET, self->colour);
        break;
    case EXIT: bench_send(ctx, self->mall, MEETINGS, self->meetings); return JZX_BEHAVIOR_STOP;
    default: bench_fail("chameneos: a message of tag %u", (unsigned)msg->tag);
    }
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result host(jzx_context *ctx, const jzx_message *msg) {
    struct mall *self = ctx->state;
    if (msg->tag == MEETINGS) {
        self->meetings += bench_value(msg);
        if (--self->creatures == 0)
            return JZX_BEHAVIOR_STOP;
    } else if (self->left == 0) {
        bench_send(ctx, msg->sender, EXIT, 0);
    } else if (self->waiting == JZX_NOBODY) {
        self->waiting = msg->sender;
    } else {
        jzx_actor_id waiting = self->waiting;
        uint64_t colour = bench_value(msg);
        self->left--;
        self->waiting = JZX_NOBODY;
        /* In the name of the other, who gets the answer. */
        BENCH_CHECK(jzx_send(ctx->loop, waiting, msg->sender, &colour, sizeof colour, MEET) ==
                    JZX_OK);
    }
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct mall mall = {.left = size, .creatures = CREATURES};
    jzx_actor_id mall_id = bench_spawn(loop, host, &mall);
    double start = bench_now();
    for (unsigned i = 0; i < CREATURES; i++) {
        creatures[i] = (struct creature){.mall = mall_id, .colour = i % 3};
        bench_start(loop, bench_spawn(loop, live, &creatures[i]), START, 0);
    }
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(mall.meetings, 2 * size);
    uint64_t meetings = 0;
    for (unsigned i = 0; i < CREATURES; i++)
        meetings += creatures[i].meetings;
    BENCH_CHECK_EQUAL(meetings, 2 * size);
}

const struct bench bench_chameneos = {
    .name = "chameneos",
    .op = "meeting (4 messages)",
    .checked = "meetings of mall and creatures",
    .batch = "1",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 2000000,
    .payload = 8,
    .floor_row = "chameneos",
    .aim = 60,
    .aim_2 = 69,
    .ratio_limit = 2,
};
