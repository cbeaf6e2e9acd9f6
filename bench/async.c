/* SPDX-License-Identifier: MIT */
/* Futures and async functions: to poll one by hand, to await one that is there, to resolve one that
 * somebody awaits, to start functions and to join them, and what a future takes. */
#include "bench.h"

#include <stdatomic.h>
#include <stdlib.h>

JZX_BENCH_SHOWS("E66", "E68");

#define JOINED 1000u

static void consume_number(jzx_future *future, uint64_t expected) {
    uint64_t value = 0;
    BENCH_CHECK(jzx_future_try(future, &value) == JZX_OK);
    BENCH_CHECK_EQUAL(value, expected);
    jzx_future_release(future);
}

/* ---- polls, and awaits of what is there ---- */

struct polls {
    uint64_t left;
    uint64_t sum;
    uint64_t value;
    jzx_future *future;
    jzx_await_op op;
};

/* An awaitable of the row's own that is ready: the least that an await can be. */
static jzx_poll poll_one(jzx_awaitable *what, jzx_context *ctx, void *out) {
    (void)what, (void)ctx;
    *(uint64_t *)out = 1;
    return JZX_READY;
}

/* Where the compiler does not see what is in it. */
static jzx_poll (*volatile poll_indirect)(jzx_awaitable *what, jzx_context *ctx,
                                          void *out) = poll_one;

static void run_try(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_promise *promise;
    jzx_future *future;
    uint64_t value = 0;
    uint64_t pending = 0;
    BENCH_CHECK(jzx_promise_create(loop, sizeof value, &promise, &future) == JZX_OK);
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++)
        pending += jzx_future_try(future, &value) == JZX_ERR_TIMEOUT;
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(pending, size);
    value = 7;
    BENCH_CHECK(jzx_promise_resolve(promise, &value) == JZX_OK);
    consume_number(future, 7);
}

JZX_ASYNC(await_ready, struct polls, uint64_t) {
    for (; self->left != 0; self->left--) {
        JZX_AWAIT(jzx_op_await(&self->op, self->future, JZX_NEVER), &self->value);
        self->sum += self->value;
    }
    JZX_RETURN(self->sum);
}
JZX_END

static void run_ready(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct polls polls = {.left = size};
    jzx_future *future;
    BENCH_CHECK(jzx_future_resolved(loop, &(uint64_t){1}, sizeof(uint64_t), &polls.future) ==
                JZX_OK);
    BENCH_CHECK(await_ready_spawn(loop, polls, &future) == JZX_OK);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    consume_number(future, size);
    jzx_future_release(polls.future);
}

static void run_indirect(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    uint64_t sum = 0;
    uint64_t value = 0;
    (void)loop;
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++) {
        (void)poll_indirect(NULL, NULL, &value);
        sum += value;
    }
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(sum, size);
}

/* ---- polls by hand ---- */

/* Ready again after each of its polls, of which it counts down so many. */
JZX_ASYNC(be_polled, uint64_t, uint64_t) {
    while (--*self != 0)
        JZX_YIELD();
    JZX_RETURN(1);
}
JZX_END

static void spawn_polled(jzx_loop *loop, jzx_executor *executor, uint64_t polls,
                         jzx_future **future) {
    const jzx_async_opts opts = JZX_ASYNC_OPTS(.detached = true, .executor = executor);
    BENCH_CHECK(jzx_async_spawn(loop, &be_polled_type, &polls, &opts, future) == JZX_OK);
}

/* Each call polls all functions once: what an executor costs is shared by them. */
static void run_poll(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static jzx_future *futures[JOINED];
    jzx_executor *executor;
    uint64_t polls = 0;
    BENCH_CHECK(jzx_executor_create(loop, &executor) == JZX_OK);
    for (uint32_t i = 0; i < JOINED; i++)
        spawn_polled(loop, executor, size, &futures[i]);
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++) {
        uint32_t polled = 0;
        BENCH_CHECK(jzx_executor_poll_all(executor, &polled) == JZX_OK);
        polls += polled;
    }
    run->seconds = bench_now() - start;
    run->ops = size * JOINED;
    BENCH_CHECK_EQUAL(polls, size * JOINED);
    BENCH_CHECK_EQUAL(jzx_executor_pending(executor), 0);
    for (uint32_t i = 0; i < JOINED; i++)
        consume_number(futures[i], 1);
    jzx_executor_destroy(executor);
}

/* One function, and a call for each poll. */
static void run_poll_one(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_executor *executor;
    jzx_future *future;
    uint64_t polls = 0;
    BENCH_CHECK(jzx_executor_create(loop, &executor) == JZX_OK);
    spawn_polled(loop, executor, size, &future);
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++) {
        bool polled = false;
        BENCH_CHECK(jzx_executor_poll_one(executor, &polled) == JZX_OK);
        polls += polled;
    }
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(polls, size);
    consume_number(future, 1);
    jzx_executor_destroy(executor);
}

/* ---- resolve and await ---- */

/* What a future of this row brings: the promise of the next one, which is its receiver's to keep;
 * NULL at the end. */
struct player {
    BENCH_APART uint64_t left; /* promises to keep */
    uint64_t received;
    jzx_future *future;
    jzx_promise *next;
    jzx_await_op op;
};

static struct player players[2];

/* Waits for a promise of the other, keeps it with a promise that it makes, and so on. */
JZX_ASYNC(play, struct player *, uint64_t) {
    for (; (*self)->left != 0; (*self)->left--) {
        JZX_AWAIT(jzx_op_consume(&(*self)->op, (*self)->future, JZX_NEVER), &(*self)->next);
        (*self)->received++;
        jzx_promise *mine;
        BENCH_CHECK(jzx_promise_create(ctx->loop, sizeof mine, &mine, &(*self)->future) == JZX_OK);
        BENCH_CHECK(jzx_promise_resolve((*self)->next, &mine) == JZX_OK);
    }
    JZX_RETURN((*self)->received);
}
JZX_END

static void run_await(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_promise *promises[2];
    jzx_future *ends[2];
    for (unsigned i = 0; i < 2; i++) {
        players[i] = (struct player){.left = size};
        BENCH_CHECK(jzx_promise_create(loop, sizeof(jzx_promise *), &promises[i],
                                       &players[i].future) == JZX_OK);
        BENCH_CHECK(play_spawn(loop, &players[i], &ends[i]) == JZX_OK);
    }
    double start = bench_now();
    BENCH_CHECK(jzx_promise_resolve(promises[0], &promises[1]) == JZX_OK);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = 2 * size;
    for (unsigned i = 0; i < 2; i++) {
        consume_number(ends[i], size);
        jzx_promise *last = NULL;
        if (jzx_future_try(players[i].future, &last) == JZX_OK)
            jzx_promise_drop(last);
        jzx_future_release(players[i].future);
    }
}

/* ---- functions that end at once ---- */

JZX_ASYNC(give, uint64_t, uint64_t) {
    JZX_RETURN(*self);
}
JZX_END

struct joiner {
    uint64_t rounds;
    uint64_t sum;
    uint64_t value;
    uint32_t at;
    jzx_future *children[JOINED];
    jzx_await_op op;
};

JZX_ASYNC(join, struct joiner *, uint64_t) {
    for (; (*self)->rounds != 0; (*self)->rounds--) {
        for (uint32_t i = 0; i < JOINED; i++)
            BENCH_CHECK(give_spawn(ctx->loop, i, &(*self)->children[i]) == JZX_OK);
        for ((*self)->at = 0; (*self)->at < JOINED; (*self)->at++) {
            JZX_AWAIT(jzx_op_consume(&(*self)->op, (*self)->children[(*self)->at], JZX_NEVER),
                      &(*self)->value);
            (*self)->sum += (*self)->value;
        }
    }
    JZX_RETURN((*self)->sum);
}
JZX_END

static void run_join(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct joiner joiner = {.rounds = size};
    jzx_future *future;
    BENCH_CHECK(join_spawn(loop, &joiner, &future) == JZX_OK);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size * JOINED;
    consume_number(future, size * (JOINED * (JOINED - 1) / 2));
}

static _Atomic uint64_t lives;

/* relaxed: read when the loop has ended */
JZX_ASYNC(live, uint64_t, uint64_t) {
    atomic_fetch_add_explicit(&lives, *self, memory_order_relaxed);
    JZX_RETURN(*self);
}
JZX_END

JZX_ASYNC(launch, uint64_t, uint64_t) {
    while (*self != 0) {
        for (uint32_t i = 0; i < BENCH_BATCH && *self != 0; i++, --*self) {
            jzx_future *future;
            BENCH_CHECK(live_spawn(ctx->loop, 1, &future) == JZX_OK);
            jzx_future_detach(future);
        }
        JZX_YIELD();
    }
    JZX_RETURN(0);
}
JZX_END

static void run_spawn(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_future *future;
    atomic_store(&lives, 0);
    jzx_async_opts opts = JZX_ASYNC_OPTS(.detached = true);
    BENCH_CHECK(jzx_async_spawn(loop, &launch_type, &size, &opts, &future) == JZX_OK);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    consume_number(future, 0);
    BENCH_CHECK_EQUAL(atomic_load(&lives), size);
    BENCH_CHECK_EQUAL(bench_stats(loop).exited, size + 1);
}

/* ---- memory ---- */

static void run_memory(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_promise **promises = malloc(size * sizeof *promises);
    jzx_future **futures = malloc(size * sizeof *futures);
    BENCH_CHECK(promises != NULL && futures != NULL);
    memset(promises, 0xFF, size * sizeof *promises); /* or their pages would come later */
    memset(futures, 0xFF, size * sizeof *futures);
    double before = bench_resident_bytes();
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++)
        BENCH_CHECK(jzx_promise_create(loop, sizeof i, &promises[i], &futures[i]) == JZX_OK);
    run->seconds = bench_now() - start;
    run->amount = bench_resident_bytes() - before;
    run->ops = size;
    for (uint64_t i = 0; i < size; i++)
        BENCH_CHECK(jzx_promise_resolve(promises[i], &i) == JZX_OK);
    for (uint64_t i = 0; i < size; i++)
        consume_number(futures[i], i);
    free(promises);
    free(futures);
}

/* ---- the rows ---- */

const struct bench bench_async_poll = {
    .name = "async-poll",
    .op = "poll of an async function, 1,000 in a jzx_executor_poll_all",
    .checked = "polls, results",
    .batch = "1000",
    .shows = shows,
    .run = run_poll,
    .size = 500,
    .aim = 50,
};

const struct bench bench_async_poll_one = {
    .name = "async-poll-one",
    .op = "jzx_executor_poll_one of an async function",
    .checked = "polls, result",
    .batch = "1",
    .run = run_poll_one,
    .size = 200000,
    .aim = -1,
};

const struct bench bench_async_try = {
    .name = "async-try",
    .op = "look at a future that is not settled",
    .checked = "answers",
    .batch = "1",
    .run = run_try,
    .size = 20000000,
    .aim = 50,
};

const struct bench bench_async_ready = {
    .name = "async-ready",
    .op = "await of a future that is settled; alone: an indirect call",
    .checked = "sum of the values",
    .batch = "1",
    .run = run_ready,
    .alone = run_indirect,
    .size = 10000000,
    .payload = 8,
    .aim = -1,
    .ratio_limit = 3,
};

const struct bench bench_async_await = {
    .name = "async-await",
    .op = "promise made, sent in another, kept and awaited",
    .checked = "promises received",
    .batch = "1",
    .kind = BENCH_BOTH,
    .run = run_await,
    .size = 500000,
    .payload = 8,
    .aim = -1,
};

const struct bench bench_async_join = {
    .name = "async-join",
    .op = "one of 1,000 async functions, started and joined",
    .checked = "sum of the results",
    .batch = "1000",
    .kind = BENCH_BOTH,
    .run = run_join,
    .size = 500,
    .payload = 8,
    .aim = -1,
};

const struct bench bench_async_spawn = {
    .name = "async-spawn",
    .op = "start + end of an async function",
    .checked = "lives, exits",
    .batch = "64",
    .kind = BENCH_BOTH,
    .run = run_spawn,
    .size = 500000,
    .payload = 8,
    .aim = -1,
};

const struct bench bench_async_memory = {
    .name = "async-memory",
    .op = "pending future, of 1,000,000",
    .checked = "values",
    .batch = "1",
    .shows = shows,
    .run = run_memory,
    .size = 1000000,
    .payload = 8,
    .unit = BENCH_BYTES,
    .aim = 96.5, /* 96, and what a block of them takes beside */
};
