/* SPDX-License-Identifier: MIT */
/* Watched descriptors with several workers and other threads. */
#include "watching_fd.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#define PIPES 12u

static struct {
    jzx_loop *loop;
    int fds[PIPES][2];
    jzx_actor_id ids[PIPES];
    struct listener listeners[PIPES];
    size_t bytes; /* for each */
    _Atomic uint32_t done;
    int open_before;
} world;

static void open_world(uint32_t workers, size_t bytes) {
    memset(&world, 0, sizeof world);
    world.open_before = descriptors_open();
    world.bytes = bytes;
    world.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_non_null(world.loop);
    for (uint32_t i = 0; i < PIPES; i++)
        open_pipe(world.fds[i]);
}

static void close_world(void) {
    fixture_destroy(world.loop);
    for (uint32_t i = 0; i < PIPES; i++)
        close_pipe(world.fds[i]);
    JZX_EXPECT_EQ(descriptors_open(), world.open_before);
}

/* Reads its own pipe until all has come. */
static jzx_behavior_result read_own(jzx_context *ctx, const jzx_message *msg) {
    struct listener *me = ctx->state;
    size_t number = (size_t)(me - world.listeners);
    char buffer[16];
    jzx_test_ran();
    if (msg->tag == PLAIN_TAG) { /* it watches for itself */
        JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, world.fds[number][0], ctx->self, JZX_IO_READ, 1),
                      JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    jzx_io_event event = event_of(msg);
    JZX_EXPECT_EQ(event.fd, world.fds[number][0]);
    JZX_EXPECT_EQ(event.ready, JZX_IO_READ);
    ssize_t got = read(event.fd, buffer, sizeof buffer);
    me->got += got > 0 ? (size_t)got : 0;
    me->count++;
    return me->got < world.bytes ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

static void *write_all(void *arg) {
    uint32_t first = *(const uint32_t *)arg;
    for (size_t i = 0; i < world.bytes; i++) {
        for (uint32_t k = first; k < PIPES; k += 2) {
            while (write(world.fds[k][1], "x", 1) != 1)
                sched_yield(); /* full */
        }
    }
    return NULL;
}

static void run_with_writers(void) {
    pthread_t threads[2];
    uint32_t firsts[2] = {0, 1};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_all, &firsts[i]), 0);
    assert_int_equal(jzx_loop_run(world.loop), JZX_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (uint32_t i = 0; i < PIPES; i++) {
        JZX_EXPECT_EQ(world.listeners[i].got, world.bytes);
        JZX_EXPECT(world.listeners[i].count >= 1 && world.listeners[i].count <= world.bytes);
    }
}

JZX_TEST(nothing_is_lost_between_threads_that_write_and_workers_that_read, "X29", "C+inv", "E3") {
    for (uint32_t workers = 1; workers <= 4; workers++) {
        for (int by_themselves = 0; by_themselves < 2; by_themselves++) {
            open_world(workers, jzx_test_rounds(1000, 20000));
            for (uint32_t i = 0; i < PIPES; i++) {
                world.ids[i] = fixture_spawn(
                    world.loop, &JZX_SPAWN_OPTS(.behavior = read_own, .state = &world.listeners[i],
                                                .place = JZX_PLACE_WORKER(i % workers)));
                if (by_themselves)
                    fixture_send(world.loop, world.ids[i], PLAIN_TAG);
                else
                    JZX_EXPECT_EQ(
                        jzx_watch_fd(world.loop, world.fds[i][0], world.ids[i], JZX_IO_READ, 1),
                        JZX_OK);
            }
            run_with_writers();
            close_world();
        }
    }
}

/* Actors that may move do not while they have a watch, however the load is balanced. */
JZX_TEST(an_actor_with_a_watch_stays_on_its_worker_and_works, "X29") {
    open_world(3, jzx_test_rounds(1000, 20000));
    for (uint32_t i = 0; i < PIPES; i++) {
        world.ids[i] = fixture_spawn(
            world.loop, &JZX_SPAWN_OPTS(.behavior = read_own, .state = &world.listeners[i]));
        JZX_EXPECT_EQ(jzx_watch_fd(world.loop, world.fds[i][0], world.ids[i], JZX_IO_READ, 1),
                      JZX_OK);
    }
    run_with_writers();
    close_world();
}

/* ---- watch, unwatch and take over from everywhere ---- */

#define KEEPERS 4u

static struct listener keepers[KEEPERS];
static jzx_actor_id keeper_ids[KEEPERS];

static jzx_behavior_result keep(jzx_context *ctx, const jzx_message *msg) {
    struct listener *me = ctx->state;
    char byte;
    jzx_test_ran();
    if (msg->tag == PLAIN_TAG)
        return JZX_BEHAVIOR_STOP;
    jzx_io_event event = event_of(msg);
    if (event.ready & JZX_IO_READ)
        me->got += read(event.fd, &byte, 1) == 1;
    me->count++;
    return JZX_BEHAVIOR_OK;
}

static void *juggle(void *arg) {
    uint32_t seed = *(const uint32_t *)arg;
    for (uint64_t i = 0; i < world.bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        int fd = world.fds[(seed >> 8) % PIPES][0];
        jzx_actor_id owner = keeper_ids[(seed >> 16) % KEEPERS];
        jzx_err err = (seed >> 24) % 4 == 0
                          ? jzx_unwatch_fd(world.loop, fd)
                          : jzx_watch_fd(world.loop, fd, owner, 1 + (seed >> 26) % 3, 1);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_IO_NOT_WATCHED);
        if (write(world.fds[(seed >> 4) % PIPES][1], "x", 1) != 1)
            JZX_EXPECT_EQ(errno, EAGAIN);
    }
    world.done++;
    return NULL;
}

/* The last word is that every pipe is watched: then all of it is read. */
static void *juggle_and_end(void *arg) {
    juggle(arg);
    while (world.done < 3)
        sched_yield();
    for (uint32_t i = 0; i < PIPES; i++)
        JZX_EXPECT_EQ(
            jzx_watch_fd(world.loop, world.fds[i][0], keeper_ids[i % KEEPERS], JZX_IO_READ, 1),
            JZX_OK);
    for (uint32_t i = 0; i < PIPES; i++) {
        while (is_readable(world.fds[i][0]))
            sched_yield();
    }
    for (uint32_t i = 0; i < KEEPERS; i++)
        fixture_send(world.loop, keeper_ids[i], PLAIN_TAG);
    return NULL;
}

JZX_TEST(watches_are_made_moved_and_ended_by_several_threads_at_once, "C+io", "X29") {
    for (uint32_t workers = 1; workers <= 3; workers += 2) {
        pthread_t threads[3];
        uint32_t seeds[3] = {1, 77, 4711};
        open_world(workers, jzx_test_rounds(3000, 100000));
        memset(keepers, 0, sizeof keepers);
        for (uint32_t i = 0; i < KEEPERS; i++)
            keeper_ids[i] =
                fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = keep, .state = &keepers[i],
                                                          .place = JZX_PLACE_WORKER(i % workers)));
        for (int i = 0; i < 3; i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, i == 0 ? juggle_and_end : juggle, &seeds[i]), 0);
        assert_int_equal(jzx_loop_run(world.loop), JZX_OK);
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        close_world();
    }
}

/* Owners come and go while other threads watch for them. */
static jzx_behavior_result live_shortly(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_STOP;
}

static void *watch_for_the_dying(void *arg) {
    (void)arg;
    for (size_t i = 0; i < world.bytes; i++) {
        jzx_actor_id id;
        int fd = world.fds[i % PIPES][0];
        JZX_EXPECT_EQ(jzx_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = live_shortly), &id),
                      JZX_OK);
        jzx_err err = jzx_watch_fd(world.loop, fd, id, JZX_IO_READ, 1);
        JZX_EXPECT_EQ(err, JZX_OK);
        (void)jzx_send_async(world.loop, id, NULL, 0, 1); /* an event may have ended it */
        err = jzx_watch_fd(world.loop, world.fds[(i + 1) % PIPES][0], id, JZX_IO_READ, 1);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
    }
    JZX_EXPECT_EQ(jzx_loop_release(world.loop), JZX_OK);
    return NULL;
}

JZX_TEST(an_owner_may_end_while_another_thread_watches_for_it, "C+io") {
    pthread_t thread;
    open_world(3, jzx_test_rounds(3000, 50000));
    for (uint32_t i = 0; i < PIPES; i++)
        put_bytes(world.fds[i][1], 1); /* ready at once */
    JZX_EXPECT_EQ(jzx_loop_hold(world.loop), JZX_OK);
    assert_int_equal(pthread_create(&thread, NULL, watch_for_the_dying, NULL), 0);
    assert_int_equal(jzx_loop_run(world.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (uint32_t i = 0; i < PIPES; i++)
        JZX_EXPECT_EQ(jzx_unwatch_fd(world.loop, world.fds[i][0]), JZX_ERR_IO_NOT_WATCHED);
    close_world();
}

/* ---- a worker that changes its thread ---- */

static sem_t go_on;

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

/* Waits, in its turn, for what only another actor of its worker can do, and that needs I/O. */
static jzx_behavior_result block(jzx_context *ctx, const jzx_message *msg) {
    struct listener *me = ctx->state;
    jzx_test_ran();
    if (msg->tag == PLAIN_TAG) {
        put_bytes(world.fds[0][1], 1);
        wait_for(&go_on);
        /* It has no worker by now; these take the way of other threads. */
        JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, world.fds[1][0], ctx->self, JZX_IO_READ, 2), JZX_OK);
        put_bytes(world.fds[1][1], 1);
        JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, world.fds[2][0], ctx->self, JZX_IO_READ, 2), JZX_OK);
        JZX_EXPECT_EQ(jzx_unwatch_fd(ctx->loop, world.fds[2][0]), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    JZX_EXPECT_EQ(event_of(msg).fd, world.fds[1][0]);
    me->count++;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result unblock(jzx_context *ctx, const jzx_message *msg) {
    struct listener *me = ctx->state;
    char byte;
    jzx_test_ran();
    if (msg->tag == PLAIN_TAG) {
        JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, world.fds[0][0], ctx->self, JZX_IO_READ, 2), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    me->got += read(event_of(msg).fd, &byte, 1) == 1;
    sem_post(&go_on);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_worker_that_is_handed_over_keeps_its_registrations, "X29") {
    open_world(1, 1);
    fixture_destroy(world.loop);
    assert_int_equal(sem_init(&go_on, 0, 0), 0);
    for (uint32_t worker = 0; worker < 2; worker++) {
        memset(world.listeners, 0, sizeof world.listeners);
        world.loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(10)));
        for (uint32_t i = 0; i < 2; i++) {
            world.ids[i] =
                fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = i == 0 ? unblock : block,
                                                          .state = &world.listeners[i],
                                                          .place = JZX_PLACE_WORKER(worker)));
            fixture_send(world.loop, world.ids[i], PLAIN_TAG);
        }
        assert_int_equal(jzx_loop_run(world.loop), JZX_OK); /* else it does not end */
        JZX_EXPECT_EQ(world.listeners[0].got, 1);
        JZX_EXPECT_EQ(world.listeners[1].count, 1);
        JZX_EXPECT(fixture_stats(world.loop).handovers >= 1);
        fixture_destroy(world.loop);
        char byte;
        JZX_EXPECT_EQ(read(world.fds[1][0], &byte, 1), 1);
    }
    sem_destroy(&go_on);
    world.loop = fixture_loop();
    close_world();
}
