/* SPDX-License-Identifier: MIT */
/* Watched descriptors and the loop around them: run, a host that polls, fibers, memory. */
#include "watching_fd.h"

#include <jzx/async.h>
#include <jzx/fiber.h>

#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>

/* ---- run ---- */

struct writer {
    jzx_loop *loop;
    int fd;
    int peer; /* where that is read */
    uint32_t rounds;
};

/* Writes when the loop sleeps, and not before. */
static void *write_when_asleep(void *arg) {
    const struct writer *writer = arg;
    for (uint32_t i = 0; i < writer->rounds; i++) {
        jzx_worker_stats stats = {.size = sizeof stats};
        while (is_readable(writer->peer) || !stats.is_parked) {
            sched_yield();
            JZX_EXPECT_EQ(jzx_loop_worker_stats(writer->loop, 0, &stats), JZX_OK);
        }
        put_bytes(writer->fd, 1);
    }
    return NULL;
}

JZX_TEST(run_sleeps_until_a_descriptor_is_ready, "C+loop", "E53", "C24") {
    struct scene scene;
    open_scene(&scene);
    watch_read(&scene);
    scene.listener.reads = 1;
    scene.listener.stop_at = 20;
    struct writer writer = {scene.loop, scene.fds[1], scene.fds[0], 20};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_when_asleep, &writer), 0);
    assert_int_equal(jzx_loop_run(scene.loop), JZX_OK); /* the watch has kept it going */
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(scene.listener.count, 20);
    JZX_EXPECT_EQ(scene.listener.got, 20);
    JZX_EXPECT(fixture_stats(scene.loop).parked <= 3 * 20 + 3); /* idle, it does not wake up */
    close_scene(&scene);
}

static void *send_plain(void *arg) {
    const struct scene *scene = arg;
    while (fixture_stats(scene->loop).parked == 0)
        sched_yield();
    fixture_send(scene->loop, scene->id, PLAIN_TAG);
    while (fixture_stats(scene->loop).parked == 1)
        sched_yield();
    JZX_EXPECT_EQ(jzx_actor_stop(scene->loop, scene->id, JZX_STOP_KILL), JZX_OK);
    return NULL;
}

JZX_TEST(other_threads_wake_a_loop_that_sleeps_with_io, "E53", "C+loop") {
    struct scene scene;
    open_scene(&scene);
    watch_read(&scene);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_plain, &scene), 0);
    assert_int_equal(jzx_loop_run(scene.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(scene.listener.others, 1);
    JZX_EXPECT_EQ(scene.listener.count, 0);
    close_scene(&scene);
}

static void *write_after_timers(void *arg) {
    const struct scene *scene = arg;
    while (fixture_stats(scene->loop).timers_fired < 4)
        sched_yield();
    put_bytes(scene->fds[1], 1);
    return NULL;
}

JZX_TEST(a_loop_that_sleeps_with_io_wakes_for_its_timers, "C+loop") {
    struct scene scene;
    open_scene(&scene);
    fixture_destroy(scene.loop);
    scene.loop = fixture_loop(); /* on the clock of the system */
    scene.id = spawn_listener(scene.loop, &scene.listener);
    watch_read(&scene);
    struct recorder other = {.stop_at = 1};
    jzx_actor_id last =
        fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &other));
    for (uint32_t i = 1; i <= 3; i++)
        JZX_EXPECT_EQ(jzx_send_after(scene.loop, scene.id, JZX_NOBODY, NULL, 0, PLAIN_TAG,
                                     JZX_MS(2 * i), NULL),
                      JZX_OK);
    JZX_EXPECT_EQ(jzx_send_after(scene.loop, last, JZX_NOBODY, NULL, 0, 1, JZX_MS(8), NULL),
                  JZX_OK);
    scene.listener.stop_at = 1;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_after_timers, &scene), 0);
    assert_int_equal(jzx_loop_run(scene.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(other.count, 1);
    JZX_EXPECT_EQ(scene.listener.others, 3);
    JZX_EXPECT(fixture_stats(scene.loop).parked >= 1);
    close_scene(&scene);
}

JZX_TEST(the_watch_of_a_daemon_does_not_keep_the_loop_going, "C+loop") {
    struct listener listener = {0};
    int fds[2];
    open_pipe(fds);
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = listen_to, .state = &listener, .daemon = true));
    JZX_EXPECT_EQ(jzx_watch_fd(loop, fds[0], id, JZX_IO_READ, 1), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    put_bytes(fds[1], 1);
    listener.reads = 1;
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(listener.count, 1);
    JZX_EXPECT(!jzx_loop_alive(loop));
    fixture_destroy(loop);
    close_pipe(fds);
}

/* ---- while others are busy ---- */

static jzx_behavior_result never_done(jzx_context *ctx, const jzx_message *msg) {
    const struct scene *scene = ctx->state;
    if (scene->listener.count >= 3)
        return JZX_BEHAVIOR_STOP;
    return jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, msg->tag) == JZX_OK
               ? JZX_BEHAVIOR_OK
               : JZX_BEHAVIOR_FAIL;
}

/* The clock stands still, and the worker always has something to do. Else this does not end. */
JZX_TEST(io_is_polled_though_the_worker_is_always_busy, "C+loop") {
    struct scene scene;
    open_scene(&scene);
    scene.listener.reads = 1;
    scene.listener.stop_at = 3;
    put_bytes(scene.fds[1], 3);
    jzx_actor_id busy =
        fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = never_done, .state = &scene));
    fixture_send(scene.loop, busy, 1);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[0], scene.id, JZX_IO_READ, 1), JZX_OK);
    assert_int_equal(jzx_loop_run(scene.loop), JZX_OK);
    JZX_EXPECT_EQ(scene.listener.count, 3);
    close_scene(&scene);
}

/* ---- a host that polls ---- */

JZX_TEST(the_descriptor_of_the_loop_is_readable_when_a_watched_one_is_ready, "C+loop", "C+io") {
    struct scene scene;
    open_scene(&scene);
    int fd = jzx_loop_fd(scene.loop);
    assert_true(fd >= 0);
    watch_read(&scene);
    JZX_EXPECT(is_readable(fd)); /* something to take in */
    step(&scene);
    JZX_EXPECT_EQ(jzx_loop_fd(scene.loop), fd); /* it stays the same */
    for (uint32_t round = 1; round <= 3; round++) {
        JZX_EXPECT(!is_readable(fd));
        JZX_EXPECT(jzx_loop_next_deadline(scene.loop) == JZX_NEVER);
        put_bytes(scene.fds[1], 2);
        JZX_EXPECT(is_readable(fd));
        scene.listener.reads = 1;
        step(&scene);
        JZX_EXPECT(is_readable(fd)); /* a byte is left */
        step(&scene);
        JZX_EXPECT_EQ(scene.listener.count, 2 * round);
        JZX_EXPECT_EQ(scene.listener.got, 2 * round);
    }
    JZX_EXPECT(!is_readable(fd));
    fixture_send(scene.loop, scene.id, PLAIN_TAG);
    JZX_EXPECT(is_readable(fd));
    step(&scene);
    JZX_EXPECT(!is_readable(fd));
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, scene.fds[0]), JZX_OK);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    JZX_EXPECT(!is_readable(fd));
    close_scene(&scene);
}

JZX_TEST(a_host_sleeps_in_poll_and_nowhere_else, "C+loop") {
    struct scene scene;
    open_scene(&scene);
    scene.listener.reads = 1;
    scene.listener.stop_at = 50;
    watch_read(&scene);
    struct pollfd entry = {.fd = jzx_loop_fd(scene.loop), .events = POLLIN};
    struct writer writer = {.loop = scene.loop, .fd = scene.fds[1]};
    uint32_t wakes = 0;
    for (; jzx_loop_alive(scene.loop); wakes++) {
        if (scene.listener.got == wakes)
            put_bytes(writer.fd, 1);
        JZX_EXPECT_EQ(poll(&entry, 1, -1), 1);
        step(&scene);
    }
    JZX_EXPECT_EQ(scene.listener.count, 50);
    JZX_EXPECT(wakes <= 52);
    close_scene(&scene);
}

/* A loop inside another: its descriptor is one as any. */
static jzx_behavior_result step_inner(jzx_context *ctx, const jzx_message *msg) {
    struct scene *inner = ctx->state;
    (void)msg;
    jzx_test_ran();
    step(inner);
    return inner->listener.count == 0 ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_loop_can_watch_the_descriptor_of_another) {
    struct scene inner;
    open_scene(&inner);
    inner.listener.reads = 1;
    watch_read(&inner);
    step(&inner);
    jzx_loop *outer = fixture_loop();
    jzx_actor_id id =
        fixture_spawn(outer, &JZX_SPAWN_OPTS(.behavior = step_inner, .state = &inner));
    JZX_EXPECT_EQ(jzx_watch_fd(outer, jzx_loop_fd(inner.loop), id, JZX_IO_READ, 1), JZX_OK);
    put_bytes(inner.fds[1], 1);
    assert_int_equal(jzx_loop_run(outer), JZX_OK);
    JZX_EXPECT_EQ(inner.listener.count, 1);
    fixture_destroy(outer);
    close_scene(&inner);
}

/* ---- fibers ---- */

static void read_all(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    jzx_message msg;
    char byte;
    JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, scene->fds[0], ctx->self, JZX_IO_READ, 0), JZX_OK);
    for (;;) {
        jzx_err err = jzx_receive_tag(ctx, JZX_TAG_IO, jzx_in(ctx, JZX_SECOND(600)), &msg);
        if (!JZX_EXPECT_EQ(err, JZX_OK))
            return;
        jzx_test_ran();
        JZX_EXPECT_EQ(event_of(&msg).fd, scene->fds[0]);
        ssize_t got = read(scene->fds[0], &byte, 1);
        if (got == 0)
            break;
        scene->listener.got += got == 1;
        scene->listener.count++;
    }
    JZX_EXPECT_EQ(jzx_unwatch_fd(ctx->loop, scene->fds[0]), JZX_OK);
}

JZX_TEST(a_fiber_receives_events, "X29", "E3") {
    for (int migratable = 0; migratable < 2; migratable++) {
        struct scene scene;
        open_scene(&scene);
        jzx_actor_id id =
            fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.fiber = read_all, .state = &scene,
                                                      .migratable = migratable != 0));
        fixture_send(scene.loop, id, PLAIN_TAG); /* skipped */
        step(&scene);
        put_bytes(scene.fds[1], 5);
        for (int i = 0; i < 5; i++)
            step(&scene);
        JZX_EXPECT_EQ(scene.listener.got, 5);
        JZX_EXPECT_EQ(scene.listener.count, 5);
        close(scene.fds[1]);
        scene.fds[1] = -1;
        step(&scene);
        JZX_EXPECT_EQ(jzx_actor_stop(scene.loop, id, JZX_STOP_KILL), JZX_ERR_NO_SUCH_ACTOR);
        close_scene(&scene);
    }
}

/* ---- the end, and memory ---- */

JZX_TEST(a_loop_is_destroyed_with_watches_in_every_state, "C+inv", "C+io") {
    for (int state = 0; state < 4; state++) {
        struct scene scene;
        open_scene(&scene);
        watch_read(&scene); /* asked for, and not taken in */
        if (state >= 1)
            step(&scene); /* registered */
        if (state >= 2)
            put_bytes(scene.fds[1], 1); /* ready */
        if (state >= 3)
            step(&scene); /* handled, and armed again */
        JZX_EXPECT_EQ(scene.listener.count, state >= 3);
        close_scene(&scene);
    }
}

static bool use_watches(struct scene *scene) {
    int other[2];
    struct listener second = {.reads = 8};
    jzx_actor_id id;
    bool whole = true;
    open_pipe(other);
    if (jzx_spawn(scene->loop, &JZX_SPAWN_OPTS(.behavior = listen_to, .state = &second), &id) !=
        JZX_OK) {
        close_pipe(other);
        return false;
    }
    jzx_err err = jzx_watch_fd(scene->loop, scene->fds[0], id, JZX_IO_READ, 1);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
    whole = whole && err == JZX_OK;
    (void)jzx_loop_step(scene->loop, JZX_NEVER);
    jzx_err taken = jzx_watch_fd(scene->loop, scene->fds[0], scene->id, JZX_IO_READ, 2);
    JZX_EXPECT(taken == JZX_OK || taken == JZX_ERR_NO_MEMORY);
    whole = whole && taken == JZX_OK;
    put_bytes(scene->fds[1], 1);
    (void)jzx_loop_step(scene->loop, JZX_NEVER);
    (void)jzx_loop_step(scene->loop, JZX_NEVER);
    /* Who has it was told: that it is ready, or that it cannot be watched. */
    JZX_EXPECT_EQ(scene->listener.count, taken == JZX_OK);
    JZX_EXPECT(second.count == 0 || err == JZX_OK);
    JZX_EXPECT(second.count == 1 || taken == JZX_OK || err != JZX_OK);
    whole = whole && second.count == 0 && scene->listener.events[0].ready == JZX_IO_READ;
    (void)jzx_unwatch_fd(scene->loop, scene->fds[0]);
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene->loop, scene->fds[0]), JZX_ERR_IO_NOT_WATCHED);
    JZX_EXPECT_EQ(jzx_actor_stop(scene->loop, id, JZX_STOP_KILL), JZX_OK);
    close_pipe(other);
    return whole;
}

JZX_TEST(the_nth_allocation_fails_for_every_n, "C+fail") {
    bool whole = false;
    for (uint64_t n = 0; n < 200 && !whole; n++) {
        struct scene scene;
        open_scene(&scene);
        scene.listener.reads = 8;
        fixture_fail_allocations(n, 1);
        whole = use_watches(&scene);
        fixture_fail_allocations(UINT64_MAX, 0);
        close_scene(&scene);
    }
    JZX_EXPECT(whole);
}

JZX_TEST(events_need_no_memory, "C+fail", "X29") {
    struct scene scene;
    open_scene(&scene);
    scene.listener.reads = 1;
    watch_read(&scene);
    step(&scene);
    fixture_fail_allocations(0, UINT64_MAX);
    for (uint32_t i = 1; i <= 10; i++) {
        put_bytes(scene.fds[1], 1);
        step(&scene);
        JZX_EXPECT_EQ(scene.listener.count, i);
    }
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, scene.fds[0]), JZX_OK);
    step(&scene);
    fixture_fail_allocations(UINT64_MAX, 0);
    close_scene(&scene);
}

JZX_TEST(an_eventfd_is_a_descriptor_as_any, "C+io") {
    struct scene scene;
    open_scene(&scene);
    int fd = eventfd(0, EFD_NONBLOCK);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, fd, scene.id, JZX_IO_READ, 3), JZX_OK);
    scene.listener.reads = 8;
    for (uint32_t i = 1; i <= 3; i++) {
        uint64_t one = 1;
        JZX_EXPECT_EQ(write(fd, &one, sizeof one), sizeof one);
        step(&scene);
        step(&scene);
        JZX_EXPECT_EQ(scene.listener.count, i);
    }
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, fd), JZX_OK);
    close(fd);
    close_scene(&scene);
}

/* ---- async functions ---- */

struct watcher {
    int fd;
    jzx_future *until;
    jzx_await_op op;
};

JZX_ASYNC(watcher, struct watcher, int) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, self->fd, ctx->self, JZX_IO_READ, 3),
                  JZX_ERR_UNSUPPORTED);
    JZX_AWAIT(jzx_op_await(&self->op, self->until, JZX_NEVER), NULL);
    JZX_RETURN(0);
}
JZX_END

JZX_TEST(an_async_function_gets_no_events_and_is_refused, "X29") {
    struct scene scene;
    jzx_promise *promise = NULL;
    jzx_future *until = NULL;
    jzx_future *future = NULL;
    open_scene(&scene);
    JZX_EXPECT_EQ(jzx_promise_create(scene.loop, 0, &promise, &until), JZX_OK);
    JZX_EXPECT_EQ(
        watcher_spawn(scene.loop, (struct watcher){.fd = scene.fds[0], .until = until}, &future),
        JZX_OK);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, scene.fds[0]), JZX_ERR_IO_NOT_WATCHED);
    /* By a thread that does not drive the loop: it is found out at the owner. */
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[0], jzx_async_actor(future), JZX_IO_READ, 3),
                  JZX_OK);
    step(&scene);
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, scene.fds[0]), JZX_ERR_IO_NOT_WATCHED);
    JZX_EXPECT_EQ(jzx_promise_resolve(promise, NULL), JZX_OK);
    step(&scene);
    JZX_EXPECT_EQ(jzx_future_try(future, NULL), JZX_OK);
    jzx_future_release(future);
    jzx_future_release(until);
    close_scene(&scene);
}
