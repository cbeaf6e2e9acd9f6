/* SPDX-License-Identifier: MIT */
/* Fibers that await the readiness of a descriptor, step by step on one worker. */
#include "awaiting_fd.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* ---- ready, or not yet ---- */

JZX_TEST(a_fiber_waits_until_a_descriptor_is_ready, "E53", "E54", "X40") {
    struct scene scene;
    open_scene(&scene);
    struct party party = {.fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
    spawn_party(&scene, &party);
    step(&scene);
    step(&scene);
    JZX_EXPECT_EQ(party.ended, 0);
    put_bytes(scene.fds[1], 3);
    step(&scene);
    expect_ready(&party, JZX_IO_READ);
    JZX_EXPECT(is_readable(scene.fds[0])); /* the library has read nothing */
    close_scene(&scene);
}

static uint32_t noted[8];
static uint32_t noted_count;

static void note(uint32_t what) {
    if (JZX_EXPECT(noted_count < 8))
        noted[noted_count++] = what;
}

static void await_and_note(jzx_context *ctx) {
    const struct scene *scene = ctx->state;
    uint32_t ready = 0;
    jzx_test_ran();
    note(1);
    JZX_EXPECT_EQ(jzx_fd_await(ctx, scene->fds[0], JZX_IO_READ, JZX_NEVER, &ready), JZX_OK);
    JZX_EXPECT_EQ(ready, JZX_IO_READ);
    JZX_EXPECT_EQ(jzx_fd_await(ctx, scene->fds[0], JZX_IO_READ, JZX_NEVER, NULL), JZX_OK);
    note(2);
}

static void only_note(jzx_context *ctx) {
    (void)ctx;
    note(3);
}

JZX_TEST(a_ready_bit_ends_the_wait_without_a_switch, "E54", "X40") {
    struct scene scene;
    open_scene(&scene);
    put_bytes(scene.fds[1], 1);
    noted_count = 0;
    fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.fiber = await_and_note, .state = &scene));
    fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.fiber = only_note, .state = &scene));
    step(&scene);
    assert_int_equal(noted_count, 3);
    JZX_EXPECT_EQ(noted[0], 1);
    JZX_EXPECT_EQ(noted[1], 2); /* the other fiber did not run in between */
    JZX_EXPECT_EQ(noted[2], 3);
    close_scene(&scene);
}

JZX_TEST(all_bits_that_are_ready_are_told, "E54", "E52") {
    struct scene scene;
    open_scene(&scene);
    int fd = eventfd(1, EFD_NONBLOCK);
    struct party both = {
        .fd = fd, .interest = JZX_IO_READ | JZX_IO_WRITE, .deadline_ns = JZX_NEVER};
    struct party one = {.fd = fd, .interest = JZX_IO_WRITE, .deadline_ns = JZX_NEVER};
    spawn_party(&scene, &both);
    spawn_party(&scene, &one);
    step(&scene);
    expect_ready(&both, JZX_IO_READ | JZX_IO_WRITE);
    expect_ready(&one, JZX_IO_WRITE);
    close(fd);
    close_scene(&scene);
}

JZX_TEST(a_wait_for_room_ends_when_the_pipe_is_drained, "E53", "E54") {
    struct scene scene;
    static char bytes[4096];
    open_scene(&scene);
    while (write(scene.fds[1], bytes, sizeof bytes) > 0)
        continue;
    struct party party = {.fd = scene.fds[1], .interest = JZX_IO_WRITE, .deadline_ns = JZX_NEVER};
    spawn_party(&scene, &party);
    step(&scene);
    JZX_EXPECT_EQ(party.ended, 0);
    while (read(scene.fds[0], bytes, sizeof bytes) > 0)
        continue;
    step(&scene);
    expect_ready(&party, JZX_IO_WRITE);
    close_scene(&scene);
}

JZX_TEST(the_other_end_closes_under_a_wait_and_before_one, "E54", "E52") {
    struct scene scene;
    open_scene(&scene);
    struct party early = {.fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
    struct party late = early;
    late.interest = JZX_IO_ERROR;
    spawn_party(&scene, &early);
    step(&scene);
    JZX_EXPECT_EQ(early.ended, 0);
    close(scene.fds[1]);
    scene.fds[1] = -1;
    step(&scene);
    expect_ready(&early, JZX_IO_HANGUP);
    spawn_party(&scene, &late);
    step(&scene);
    expect_ready(&late, JZX_IO_HANGUP);
    close_scene(&scene);
}

JZX_TEST(a_half_closed_socket_hangs_up_for_readers_alone, "E52") {
    struct scene scene;
    int pair[2];
    open_scene(&scene);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    struct party reader = {.fd = pair[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
    spawn_party(&scene, &reader);
    step(&scene);
    JZX_EXPECT_EQ(reader.ended, 0);
    JZX_EXPECT_EQ(shutdown(pair[1], SHUT_WR), 0);
    step(&scene);
    expect_ready(&reader, JZX_IO_READ | JZX_IO_HANGUP);
    struct party writer = {.fd = pair[0], .interest = JZX_IO_WRITE, .deadline_ns = JZX_NEVER};
    spawn_party(&scene, &writer);
    step(&scene);
    expect_ready(&writer, JZX_IO_WRITE);
    close_pipe(pair);
    close_scene(&scene);
}

/* ---- deadlines ---- */

JZX_TEST(deadline_0_looks_and_does_not_wait, "X40") {
    struct scene scene;
    open_scene(&scene);
    struct party party = {.fd = scene.fds[0], .interest = JZX_IO_READ};
    spawn_party(&scene, &party);
    step(&scene);
    expect_failed(&party, JZX_ERR_TIMEOUT);
    put_bytes(scene.fds[1], 1);
    struct party again = {.fd = scene.fds[0], .interest = JZX_IO_READ};
    spawn_party(&scene, &again);
    step(&scene);
    expect_ready(&again, JZX_IO_READ);
    close_scene(&scene);
}

JZX_TEST(a_wait_that_timed_out_has_left_nothing_behind, "X40") {
    struct scene scene;
    open_scene(&scene);
    struct party party = {.fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_MS(50)};
    spawn_party(&scene, &party);
    step(&scene);
    advance(&scene, JZX_MS(49));
    JZX_EXPECT_EQ(party.ended, 0);
    advance(&scene, JZX_MS(1));
    expect_failed(&party, JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(party.at_ns, JZX_MS(50));
    put_bytes(scene.fds[1], 1);
    step(&scene);
    JZX_EXPECT_EQ(party.ended, 1);
    close_pipe(scene.fds); /* nothing is registered: the numbers may be used again */
    open_pipe(scene.fds);
    struct party again = {.fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
    spawn_party(&scene, &again);
    step(&scene);
    JZX_EXPECT_EQ(again.ended, 0);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    expect_ready(&again, JZX_IO_READ);
    close_scene(&scene);
}

/* ---- what cannot be awaited ---- */

JZX_TEST(a_descriptor_that_is_not_open_ends_the_wait_at_once, "E54", "X40") {
    static const int gone[] = {BAD_FD, -1};
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        open_scene(&scene);
        struct party party = {.fd = gone[i], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
        spawn_party(&scene, &party);
        step(&scene);
        expect_failed(&party, JZX_ERR_CLOSED);
        JZX_EXPECT_EQ(party.os_error, EBADF);
        close_scene(&scene);
    }
}

JZX_TEST(a_regular_file_and_a_directory_are_refused, "X40") {
    static const char *const paths[] = {"/proc/self/exe", "/"};
    static const uint32_t interests[] = {JZX_IO_READ, JZX_IO_HANGUP};
    for (size_t i = 0; i < 4; i++) {
        struct scene scene;
        open_scene(&scene);
        int fd = open(paths[i % 2], O_RDONLY);
        struct party party = {.fd = fd, .interest = interests[i / 2], .deadline_ns = JZX_NEVER};
        spawn_party(&scene, &party);
        step(&scene);
        expect_failed(&party, JZX_ERR_IO_REG_FAILED);
        JZX_EXPECT_EQ(party.os_error, EPERM);
        close(fd);
        close_scene(&scene);
    }
}

static void try_wrong_arguments(jzx_context *ctx) {
    const struct scene *scene = ctx->state;
    int fd = scene->fds[1]; /* it is ready */
    uint32_t ready = UNTOUCHED;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_fd_await(ctx, fd, 0, JZX_NEVER, &ready), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_fd_await(ctx, fd, JZX_IO_CLOSED, JZX_NEVER, &ready), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(ready, UNTOUCHED);
}

static jzx_behavior_result try_in_a_behavior(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_fd_await(ctx, 0, JZX_IO_READ, 0, NULL), JZX_ERR_WOULD_SUSPEND);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(invalid_arguments_and_other_callers_are_refused, "X40") {
    struct scene scene;
    open_scene(&scene);
    fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.fiber = try_wrong_arguments, .state = &scene));
    jzx_actor_id id = fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = try_in_a_behavior));
    fixture_send(scene.loop, id, 1);
    step(&scene);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    JZX_EXPECT_EQ(jzx_fd_await(NULL, 0, JZX_IO_READ, 0, NULL), JZX_ERR_INVALID_ARG);
    close_scene(&scene);
}

/* ---- several waits, and a watch ---- */

JZX_TEST(each_wait_for_a_descriptor_ends_by_its_own_interest, "E53", "E54") {
    struct scene scene;
    static char bytes[4096];
    int pair[2];
    open_scene(&scene);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    while (write(pair[0], bytes, sizeof bytes) > 0)
        continue;
    struct party parties[3] = {{.fd = pair[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER},
                               {.fd = pair[0], .interest = JZX_IO_WRITE, .deadline_ns = JZX_NEVER},
                               {.fd = pair[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER}};
    for (size_t i = 0; i < 3; i++)
        spawn_party(&scene, &parties[i]);
    step(&scene);
    put_bytes(pair[1], 1);
    step(&scene);
    expect_ready(&parties[0], JZX_IO_READ);
    expect_ready(&parties[2], JZX_IO_READ); /* two that read are both told */
    JZX_EXPECT_EQ(parties[1].ended, 0);
    while (read(pair[1], bytes, sizeof bytes) > 0)
        continue;
    step(&scene);
    expect_ready(&parties[1], JZX_IO_WRITE); /* it was armed again */
    close_pipe(pair);
    close_scene(&scene);
}

/* More than the checks before a poll would arm. */
JZX_TEST(every_descriptor_is_armed_again_for_those_that_still_wait, "E53", "E54") {
    enum { MANY = 60 };
    struct scene scene;
    static char bytes[4096];
    static int pairs[MANY][2];
    static struct party readers[MANY];
    static struct party writers[MANY];
    open_scene(&scene);
    for (int i = 0; i < MANY; i++) {
        const int room = 1;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pairs[i]), 0);
        (void)setsockopt(pairs[i][0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        while (write(pairs[i][0], bytes, sizeof bytes) > 0)
            continue;
        readers[i] =
            (struct party){.fd = pairs[i][0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
        writers[i] = readers[i];
        writers[i].interest = JZX_IO_WRITE;
        spawn_party(&scene, &readers[i]);
        spawn_party(&scene, &writers[i]);
    }
    step(&scene);
    for (int i = 0; i < MANY; i++)
        put_bytes(pairs[i][1], 1);
    step(&scene);
    for (int i = 0; i < MANY; i++) {
        expect_ready(&readers[i], JZX_IO_READ);
        JZX_EXPECT_EQ(writers[i].ended, 0);
        while (read(pairs[i][1], bytes, sizeof bytes) > 0)
            continue;
    }
    step(&scene);
    for (int i = 0; i < MANY; i++) {
        expect_ready(&writers[i], JZX_IO_WRITE);
        close_pipe(pairs[i]);
    }
    close_scene(&scene);
}

JZX_TEST(a_watch_and_a_wait_do_not_know_of_each_other, "X40", "X29") {
    for (int in_front = 0; in_front < 2; in_front++) {
        struct scene scene;
        open_scene(&scene);
        struct party party = {
            .fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
        struct party other = party;
        if (in_front)
            watch_read(&scene);
        spawn_party(&scene, &party);
        spawn_party(&scene, &other);
        step(&scene);
        if (!in_front)
            watch_read(&scene);
        put_bytes(scene.fds[1], 1);
        step(&scene);
        expect_ready(&party, JZX_IO_READ);
        expect_ready(&other, JZX_IO_READ);
        JZX_EXPECT_EQ(scene.listener.count > 0, true);
        scene.listener.reads = 8;
        step(&scene);
        struct party last = {.fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
        spawn_party(&scene, &last);
        step(&scene);
        JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, scene.fds[0]), JZX_OK);
        uint32_t count = scene.listener.count;
        put_bytes(scene.fds[1], 1);
        step(&scene);
        expect_ready(&last, JZX_IO_READ); /* unwatch has not ended it */
        JZX_EXPECT_EQ(scene.listener.count, count);
        close_scene(&scene);
    }
}

static void watch_and_await(jzx_context *ctx) {
    const struct scene *scene = ctx->state;
    jzx_message msg;
    uint32_t ready = 0;
    JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, scene->fds[0], ctx->self, JZX_IO_READ, 7), JZX_OK);
    JZX_EXPECT_EQ(jzx_fd_await(ctx, scene->fds[0], JZX_IO_READ, JZX_NEVER, &ready), JZX_OK);
    JZX_EXPECT_EQ(ready, JZX_IO_READ);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, 7);
    jzx_test_ran();
}

JZX_TEST(an_actor_awaits_a_descriptor_that_it_watches, "X40", "X29") {
    struct scene scene;
    open_scene(&scene);
    fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.fiber = watch_and_await, .state = &scene));
    step(&scene);
    JZX_EXPECT_EQ(jzx_test_runs(), 0);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    step(&scene);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    close_scene(&scene);
}

/* ---- many ---- */

JZX_TEST(thousands_of_waits_leave_nothing_behind, "X40") {
    struct scene scene;
    open_scene(&scene);
    struct party party = {.fd = scene.fds[0],
                          .interest = JZX_IO_READ,
                          .deadline_ns = JZX_NEVER,
                          .times = 5000,
                          .reads = true};
    spawn_party(&scene, &party);
    step(&scene);
    uint64_t bytes = 0;
    int open = 0;
    for (uint32_t i = 1; i <= party.times; i++) {
        put_bytes(scene.fds[1], 1);
        step(&scene);
        JZX_EXPECT_EQ(party.ended, i);
        if (i == 100) {
            bytes = fixture_bytes();
            open = descriptors_open();
        }
    }
    JZX_EXPECT(fixture_bytes() <= bytes); /* a fiber that has ended gives memory back */
    JZX_EXPECT_EQ(descriptors_open(), open);
    close_scene(&scene);
}

JZX_TEST(many_descriptors_are_awaited_at_once, "E53", "X40") {
    enum { MANY = 200 };
    struct scene scene;
    static struct party parties[MANY];
    open_scene(&scene);
    for (int i = 0; i < MANY; i++) {
        parties[i] = (struct party){
            .fd = eventfd(0, EFD_NONBLOCK), .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
        spawn_party(&scene, &parties[i]);
    }
    step(&scene);
    const uint64_t one = 1;
    for (int i = 0; i < MANY; i++) /* more than one poll brings */
        JZX_EXPECT_EQ(write(parties[i].fd, &one, sizeof one), sizeof one);
    step(&scene);
    step(&scene);
    for (int i = 0; i < MANY; i++) {
        expect_ready(&parties[i], JZX_IO_READ);
        close(parties[i].fd);
    }
    close_scene(&scene);
}

/* ---- the loop around it ---- */

struct ringer {
    const struct scene *scene;
    int fd;
};

/* Writes when the worker sleeps. */
static void *ring_when_asleep(void *arg) {
    const struct ringer *ringer = arg;
    jzx_worker_stats stats = {.size = sizeof stats};
    while (!stats.is_parked) {
        sched_yield();
        JZX_EXPECT_EQ(jzx_loop_worker_stats(ringer->scene->loop, 0, &stats), JZX_OK);
    }
    put_bytes(ringer->fd, 8);
    return NULL;
}

static void await_and_stop(jzx_context *ctx) {
    struct party *self = ctx->state;
    await_fd(ctx);
    JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    (void)self;
}

JZX_TEST(a_sleeping_worker_is_woken_by_a_descriptor, "E53", "X40") {
    struct scene scene;
    open_scene(&scene);
    struct party party = {.fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
    fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.fiber = await_and_stop, .state = &party));
    struct ringer ringer = {&scene, scene.fds[1]};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ring_when_asleep, &ringer), 0);
    assert_int_equal(jzx_loop_run(scene.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_ready(&party, JZX_IO_READ);
    close_scene(&scene);
}

JZX_TEST(the_event_loop_of_another_library_is_a_descriptor_as_any, "X40") {
    struct scene scene;
    open_scene(&scene);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, scene.fds[0], &event), 0);
    struct party party = {.fd = epoll, .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
    spawn_party(&scene, &party);
    step(&scene);
    JZX_EXPECT_EQ(party.ended, 0);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    expect_ready(&party, JZX_IO_READ);
    close(epoll);
    close_scene(&scene);
}
