/* SPDX-License-Identifier: MIT */
/* The odd numbers go through a chain of actors. Each keeps up to 1,000 primes, drops their
 * multiples and passes on what is left, to an actor that it spawns when it needs it. */
#include "bench.h"

#include <stdlib.h>

#define LINK_PRIMES 1000u

enum { NEXT, NUMBER, END };

struct generator {
    BENCH_APART jzx_actor_id first;
    uint64_t next;
    uint64_t limit;
};

struct link {
    BENCH_APART struct link *rest; /* of the chain; NULL: none yet */
    jzx_actor_id rest_id;
    uint32_t count;
    uint32_t primes[LINK_PRIMES];
};

static struct link *make_link(void) {
    struct link *made = aligned_alloc(_Alignof(struct link), sizeof *made);
    BENCH_CHECK(made != NULL);
    made->rest = NULL;
    made->rest_id = JZX_NOBODY;
    made->count = 0;
    return made;
}

static bool is_multiple(const struct link *self, uint32_t number) {
    for (uint32_t i = 0; i < self->count; i++) {
        if (number % self->primes[i] == 0)
            return true;
    }
    return false;
}

static jzx_behavior_result sift(jzx_context *ctx, const jzx_message *msg) {
    struct link *self = ctx->state;
    if (msg->tag == END) {
        if (self->rest != NULL)
            bench_send(ctx, self->rest_id, END, 0);
        return JZX_BEHAVIOR_STOP;
    }
    uint32_t number = (uint32_t)bench_value(msg);
    if (is_multiple(self, number))
        return JZX_BEHAVIOR_OK;
    if (self->count < LINK_PRIMES) {
        self->primes[self->count++] = number;
        return JZX_BEHAVIOR_OK;
    }
    if (self->rest == NULL) {
        /* Only the generator can wait for room: what comes from a link must fit. */
        jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = sift, .mailbox_cap = JZX_MAILBOX_CAP_MAX);
        opts.state = self->rest = make_link();
        BENCH_CHECK(jzx_spawn(ctx->loop, &opts, &self->rest_id) == JZX_OK);
    }
    bench_send(ctx, self->rest_id, NUMBER, number);
    return JZX_BEHAVIOR_OK;
}

/* Whatever it is sent means "go on". */
static jzx_behavior_result generate(jzx_context *ctx, const jzx_message *msg) {
    struct generator *self = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < BENCH_BATCH && self->next <= self->limit; i++, self->next += 2) {
        if (!bench_offer(ctx, self->first, NUMBER, self->next))
            return JZX_BEHAVIOR_OK;
    }
    if (self->next <= self->limit)
        bench_send(ctx, ctx->self, NEXT, 0);
    else if (bench_offer(ctx, self->first, END, 0))
        return JZX_BEHAVIOR_STOP;
    return JZX_BEHAVIOR_OK;
}

/* In the plain way. */
static uint64_t count_primes(uint64_t limit) {
    bool *is_composite = calloc(limit + 1, sizeof *is_composite);
    BENCH_CHECK(is_composite != NULL);
    uint64_t count = 0;
    for (uint64_t i = 2; i <= limit; i++) {
        if (is_composite[i])
            continue;
        count++;
        for (uint64_t multiple = i * i; multiple <= limit; multiple += i)
            is_composite[multiple] = true;
    }
    free(is_composite);
    return count;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct link *first = make_link();
    struct generator generator = {
        .first = bench_spawn(loop, sift, first), .next = 3, .limit = size};
    jzx_actor_id id = bench_spawn(loop, generate, &generator);
    double start = bench_now();
    bench_start(loop, id, NEXT, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size / 2;
    uint64_t primes = 1; /* the even one */
    while (first != NULL) {
        struct link *rest = first->rest;
        primes += first->count;
        free(first);
        first = rest;
    }
    BENCH_CHECK_EQUAL(primes, count_primes(size));
}

const struct bench bench_sieve = {
    .name = "sieve",
    .op = "number",
    .checked = "primes",
    .cap = "1024/524287",
    .batch = "64",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 100000,
    .size_min = 20000, /* three links */
    .payload = 8,
    .aim = -1,
};
