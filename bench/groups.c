/* SPDX-License-Identifier: MIT */
/* Two groups of 60 actors that chat, each among itself: two cores could serve one each. */
#define CHAT_ACTORS 60u
#include "chatty.h"

#define GROUPS 2u

static struct chatter chatters[GROUPS][CHAT_ACTORS];
static jzx_actor_id ids[GROUPS][CHAT_ACTORS];

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct bench_judge judge = {.missing = GROUPS * CHAT_ACTORS};
    jzx_actor_id judge_id = bench_spawn(loop, bench_await, &judge);
    for (unsigned i = 0; i < CHAT_ACTORS; i++) {
        for (unsigned group = 0; group < GROUPS; group++) {
            chatters[group][i] = chat_member(ids[group], i, size, judge_id);
            ids[group][i] = bench_spawn(loop, chat, &chatters[group][i]);
        }
    }
    double start = bench_now();
    for (unsigned i = 0; i < GROUPS * CHAT_ACTORS; i++)
        bench_start(loop, ids[i % GROUPS][i / GROUPS], CHAT_START, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = 2 * GROUPS * CHAT_ACTORS * size;
    for (unsigned i = 0; i < GROUPS * CHAT_ACTORS; i++)
        BENCH_CHECK_EQUAL(chatters[i % GROUPS][i / GROUPS].answered, size);
}

const struct bench bench_groups = {
    .name = "groups",
    .op = "message, 2 groups of 60",
    .checked = "pings answered",
    .batch = "1",
    .kind = BENCH_HELD,
    .run = run,
    .size = 20000,
    .payload = 8,
    .aim = -1,
};
