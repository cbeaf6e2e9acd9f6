/* SPDX-License-Identifier: MIT */
/* Jobs of futures, submitted by fibers and by threads, against cancels by others, releases and
 * small pools: each is settled once, with its value or cancelled, and nothing leaks. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define FIBERS 4u
#define THREADS 2u
#define AT_ONCE 8u

struct work {
    uint64_t number;
    uint32_t spin;
    uint32_t runs;
};

static jzx_err do_work(void *arg) {
    struct work *work = arg;
    for (uint32_t i = 0; i < work->spin; i++)
        sched_yield();
    work->runs++;
    return work->number % 5 == 0 ? JZX_ERR_EXISTS : JZX_OK;
}

struct party {
    jzx_loop *loop;
    jzx_blocking_pool *pool;
    uint64_t rounds;
    uint64_t random;
    uint64_t settled[3]; /* with a value, with the error of the job, cancelled */
    uint64_t refused;
};

/* Where one party shows a handle to the others, which cancel it. */
static _Atomic(jzx_future *) board[4];

static uint32_t draw(struct party *self, uint32_t below) {
    self->random = self->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(self->random >> 33) % below;
}

/* Another handle goes to the board; the one that was there is cancelled and released. */
static void show(struct party *self, jzx_future *future) {
    jzx_future *other = atomic_exchange(&board[draw(self, 4)], jzx_future_ref(future));
    if (other != NULL)
        jzx_future_cancel(other);
    jzx_future_release(other);
}

static void note(struct party *self, jzx_err err, const struct work *work, uint64_t number) {
    if (err == JZX_ERR_CANCELLED) {
        self->settled[2]++;
    } else if (number % 5 == 0) {
        JZX_EXPECT_EQ(err, JZX_ERR_EXISTS);
        self->settled[1]++;
    } else if (JZX_EXPECT_EQ(err, JZX_OK)) {
        JZX_EXPECT_EQ(work->number, number);
        JZX_EXPECT_EQ(work->runs, 1);
        self->settled[0]++;
    }
}

/* ctx is NULL for a thread. */
static void play(struct party *self, jzx_context *ctx) {
    for (uint64_t round = 0; round < self->rounds; round++) {
        jzx_future *futures[AT_ONCE] = {0};
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            struct work work = {.number = round * AT_ONCE + i, .spin = draw(self, 3)};
            jzx_err err = jzx_blocking_copy_async(self->loop, self->pool, do_work, &work,
                                                  sizeof work, &futures[i]);
            self->refused += err != JZX_OK;
            JZX_EXPECT(err == JZX_OK || err == JZX_ERR_FULL);
            if (err == JZX_OK && draw(self, 3) == 0)
                show(self, futures[i]);
        }
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            struct work work;
            if (futures[i] == NULL)
                continue;
            uint32_t way = draw(self, 6);
            if (way == 0)
                jzx_future_detach(futures[i]);
            else if (way == 1)
                jzx_future_release(futures[i]);
            if (way <= 1)
                continue;
            jzx_err err = ctx != NULL ? jzx_await(ctx, futures[i], JZX_NEVER, &work)
                                      : jzx_future_wait(futures[i], JZX_NEVER, &work);
            note(self, err, &work, round * AT_ONCE + i);
            jzx_future_release(futures[i]);
        }
    }
}

static void in_fiber(jzx_context *ctx) {
    jzx_test_ran();
    play(ctx->state, ctx);
}

static void *in_thread(void *arg) {
    play(arg, NULL);
    return NULL;
}

JZX_TEST(every_future_of_a_job_is_settled_once, "E43") {
    static struct party parties[FIBERS + THREADS];
    pthread_t threads[THREADS];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    jzx_blocking_pool *pool = NULL;
    JZX_EXPECT_EQ(
        jzx_blocking_pool_create(
            loop, &JZX_BLOCKING_OPTS(.name = "small", .threads_max = 2, .queue_max = 24), &pool),
        JZX_OK);
    for (uint32_t i = 0; i < FIBERS + THREADS; i++)
        parties[i] = (struct party){
            .loop = loop, .pool = pool, .rounds = jzx_test_rounds(150, 3000), .random = i + 1};
    for (uint32_t i = 0; i < FIBERS; i++)
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = in_fiber, .state = &parties[i]));
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, in_thread, &parties[FIBERS + i]), 0);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t settled[3] = {0};
    for (uint32_t i = 0; i < FIBERS + THREADS; i++)
        for (uint32_t k = 0; k < 3; k++)
            settled[k] += parties[i].settled[k];
    for (uint32_t k = 0; k < 3; k++)
        JZX_EXPECT(settled[k] != 0);
    for (uint32_t i = 0; i < 4; i++)
        jzx_future_release(atomic_exchange(&board[i], NULL));
    fixture_destroy(loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    JZX_EXPECT_EQ(jzx_test_runs(), FIBERS);
}
