/* SPDX-License-Identifier: MIT */
/* 120 actors, each sends pings to random others, one at a time, and answers theirs. */
#include "chatty.h"

static struct chatter chatters[CHAT_ACTORS];
static jzx_actor_id ids[CHAT_ACTORS];

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct bench_judge judge = {.missing = CHAT_ACTORS};
    jzx_actor_id judge_id = bench_spawn(loop, bench_await, &judge);
    for (unsigned i = 0; i < CHAT_ACTORS; i++) {
        chatters[i] = chat_member(ids, i, size, judge_id);
        ids[i] = bench_spawn(loop, chat, &chatters[i]);
    }
    double start = bench_now();
    for (unsigned i = 0; i < CHAT_ACTORS; i++)
        bench_start(loop, ids[i], CHAT_START, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = 2 * CHAT_ACTORS * size;
    for (unsigned i = 0; i < CHAT_ACTORS; i++) {
        BENCH_CHECK_EQUAL(chatters[i].answered, size);
        BENCH_CHECK_EQUAL(chatters[i].left, 0);
    }
}

const struct bench bench_big = {
    .name = "big",
    .op = "message",
    .checked = "pings answered",
    .batch = "1",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 20000,
    .payload = 8,
    .floor_row = "big",
    .aim = 24,
    .aim_2 = 24,
    .ratio_limit = 1.5,
};
