/* SPDX-License-Identifier: MIT */
/* 20 philosophers and the arbiter who has their forks: three messages a meal, and two more for
 * every refusal. */
#include "bench.h"

#define PHILOSOPHERS 20u
#define NOBODYS UINT64_MAX

enum { START, ASK, REFUSED, GRANTED, BACK };

struct philosopher {
    BENCH_APART jzx_actor_id arbiter;
    uint64_t seat; /* between the fork of that number and the next one */
    uint64_t left;
    uint64_t meals;
};

struct arbiter {
    BENCH_APART uint64_t left;
    uint64_t users[PHILOSOPHERS]; /* of the forks: a seat, or NOBODYS */
};

static struct philosopher philosophers[PHILOSOPHERS];

static jzx_behavior_result dine(jzx_context *ctx, const jzx_message *msg) {
    struct philosopher *self = ctx->state;
    if (msg->tag == GRANTED) {
        self->meals++;
        bench_send(ctx, self->arbiter, BACK, self->seat);
        if (--self->left == 0)
            return JZX_BEHAVIOR_STOP;
    }
    bench_send(ctx, self->arbiter, ASK, self->seat);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result arbitrate(jzx_context *ctx, const jzx_message *msg) {
    struct arbiter *self = ctx->state;
    uint64_t seat = bench_value(msg);
    uint64_t *one = &self->users[seat];
    uint64_t *other = &self->users[seat + 1 < PHILOSOPHERS ? seat + 1 : 0];
    if (msg->tag == BACK) {
        BENCH_CHECK_EQUAL(*one, seat);
        BENCH_CHECK_EQUAL(*other, seat);
        *one = *other = NOBODYS;
        return --self->left == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    }
    bool is_free = *one == NOBODYS && *other == NOBODYS;
    if (is_free)
        *one = *other = seat;
    bench_send(ctx, msg->sender, is_free ? GRANTED : REFUSED, seat);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_actor_id ids[PHILOSOPHERS];
    struct arbiter arbiter = {.left = PHILOSOPHERS * size};
    jzx_actor_id arbiter_id = bench_spawn(loop, arbitrate, &arbiter);
    for (unsigned i = 0; i < PHILOSOPHERS; i++) {
        arbiter.users[i] = NOBODYS;
        philosophers[i] = (struct philosopher){.arbiter = arbiter_id, .seat = i, .left = size};
        ids[i] = bench_spawn(loop, dine, &philosophers[i]);
    }
    double start = bench_now();
    for (unsigned i = 0; i < PHILOSOPHERS; i++)
        bench_start(loop, ids[i], START, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = PHILOSOPHERS * size;
    BENCH_CHECK_EQUAL(arbiter.left, 0);
    for (unsigned i = 0; i < PHILOSOPHERS; i++) {
        BENCH_CHECK_EQUAL(philosophers[i].meals, size);
        BENCH_CHECK_EQUAL(arbiter.users[i], NOBODYS);
    }
}

const struct bench bench_philosophers = {
    .name = "philosophers",
    .op = "meal",
    .checked = "meals, users of each fork",
    .batch = "1",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 50000,
    .payload = 8,
    .aim = -1,
};
