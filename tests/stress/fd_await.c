/* SPDX-License-Identifier: MIT */
/* Descriptors that fibers of four workers await, while other threads await the same ones by
 * futures, cancel them and let them go. Each byte that is written is read once, and each wait ends
 * once. */
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { PAIRS = 8, THREADS = 2 };

static struct {
    jzx_loop *loop;
    uint32_t rounds;
    int fds[PAIRS][2][2]; /* there, and back */
    atomic_uint fibers;   /* that go on */
    atomic_uint echoed;
    atomic_uint settled; /* futures, by the threads */
    atomic_uint cancelled;
} world;

static void put(int fd) {
    JZX_EXPECT_EQ(write(fd, "x", 1), 1);
}

/* Waits with short deadlines now and then: a wait that timed out has consumed nothing. */
static void get(jzx_context *ctx, int fd, uint32_t round) {
    char byte;
    do {
        uint64_t deadline_ns = round % 3 == 0 ? jzx_in(ctx, JZX_MS(1)) : JZX_NEVER;
        uint32_t ready = 0;
        jzx_err err = jzx_fd_await(ctx, fd, JZX_IO_READ, deadline_ns, &ready);
        JZX_EXPECT(err == JZX_ERR_TIMEOUT ? deadline_ns != JZX_NEVER
                                          : err == JZX_OK && ready == JZX_IO_READ);
    } while (read(fd, &byte, 1) != 1);
}

static void leave(jzx_context *ctx) {
    if (atomic_fetch_sub(&world.fibers, 1) == 1)
        JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
}

static void serve(jzx_context *ctx) {
    int(*fds)[2] = ctx->state;
    for (uint32_t i = 0; i < world.rounds; i++) {
        put(fds[0][1]);
        get(ctx, fds[1][0], i);
        atomic_fetch_add(&world.echoed, 1);
    }
    leave(ctx);
}

static void echo(jzx_context *ctx) {
    int(*fds)[2] = ctx->state;
    for (uint32_t i = 0; i < world.rounds; i++) {
        get(ctx, fds[0][0], i + 1);
        put(fds[1][1]);
    }
    leave(ctx);
}

/* Awaits what the fibers await. */
static void *await_too(void *arg) {
    uint32_t next = (uint32_t)(uintptr_t)arg;
    while (atomic_load(&world.fibers) != 0) {
        jzx_future *future = NULL;
        int fd = world.fds[next % PAIRS][next / PAIRS % 2][0];
        jzx_err err = jzx_fd_await_async(world.loop, fd, JZX_IO_READ, JZX_NEVER, &future);
        next++;
        if (err != JZX_OK) {
            JZX_EXPECT_EQ(err, JZX_ERR_LOOP_CLOSED);
            break;
        }
        if (next % 4 == 0)
            sched_yield();
        if (next % 8 != 0) { /* else the release of the last handle ends the wait */
            jzx_future_cancel(future);
            while ((err = jzx_future_try(future, NULL)) == JZX_ERR_TIMEOUT &&
                   atomic_load(&world.fibers) != 0)
                sched_yield();
            JZX_EXPECT(err == JZX_OK || err == JZX_ERR_CANCELLED || err == JZX_ERR_TIMEOUT);
            atomic_fetch_add(err == JZX_OK ? &world.settled : &world.cancelled, 1);
        }
        jzx_future_release(future);
    }
    return NULL;
}

static void open_pairs(void) {
    for (int i = 0; i < PAIRS * 2; i++) {
        int *fds = world.fds[i / 2][i % 2];
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    }
}

static void close_pairs(void) {
    for (int i = 0; i < PAIRS * 4; i++)
        close(world.fds[i / 4][i / 2 % 2][i % 2]);
}

JZX_TEST(fibers_and_threads_await_the_same_descriptors, "E53", "E54", "X40") {
    pthread_t threads[THREADS];
    world.loop = fixture_loop_with(&JZX_CONFIG(.workers = 4));
    world.rounds = (uint32_t)jzx_test_rounds(1000, 20000);
    atomic_store(&world.fibers, PAIRS * 2);
    open_pairs();
    for (int i = 0; i < PAIRS; i++) {
        fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.fiber = serve, .state = world.fds[i]));
        fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.fiber = echo, .state = world.fds[i]));
    }
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, await_too, (void *)i), 0);
    assert_int_equal(jzx_loop_run(world.loop), JZX_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    JZX_EXPECT_EQ(atomic_load(&world.echoed), PAIRS * world.rounds);
    JZX_EXPECT(atomic_load(&world.settled) + atomic_load(&world.cancelled) > 0);
    fixture_destroy(world.loop);
    close_pairs();
}
