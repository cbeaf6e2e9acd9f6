/* SPDX-License-Identifier: MIT */
/* Watches when the system refuses: each system call of the I/O layer fails at each of its uses. And
 * what only the inside shows: where a watch is registered, and that its owner is pinned. */
#include "io/watch_fd.h"

#include "descriptors.h"
#include "fixture.h"
#include "os_faults.h"

#include <fcntl.h>
#include <unistd.h>

enum { PLAIN = 1, EVENT };

static struct {
    jzx_loop *loop;
    jzx_actor_id id;
    int fds[2];
    uint32_t told; /* events */
    uint32_t ready;
    bool ended; /* told that the watch is over */
    uint32_t reads;
    jzx_err err; /* of the watch that the actor made itself */
    bool by_itself;
} world;

static jzx_behavior_result behave(jzx_context *ctx, const jzx_message *msg) {
    jzx_io_event event;
    char byte;
    jzx_test_ran();
    if (msg->tag == PLAIN) {
        world.err = jzx_watch_fd(ctx->loop, world.fds[0], ctx->self, JZX_IO_READ, EVENT);
        return JZX_BEHAVIOR_OK;
    }
    memcpy(&event, msg->data, sizeof event);
    JZX_EXPECT_EQ(event.fd, world.fds[0]);
    world.told++;
    world.ready = event.ready;
    world.ended = world.ended || (event.ready & JZX_IO_CLOSED) != 0;
    if (event.ready & JZX_IO_READ)
        world.reads += read(event.fd, &byte, 1) == 1;
    return JZX_BEHAVIOR_OK;
}

static void step(void) {
    JZX_EXPECT_EQ(jzx_loop_step(world.loop, JZX_NEVER), JZX_OK);
}

static void open_world(bool by_itself) {
    memset(&world, 0, sizeof world);
    world.by_itself = by_itself;
    world.loop = fixture_loop();
    jzx__io_of(world.loop)->os = &os_faulty;
    world.id = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = behave));
    assert_int_equal(pipe(world.fds), 0);
    assert_int_equal(fcntl(world.fds[0], F_SETFL, O_NONBLOCK), 0);
    step();
}

static void close_world(void) {
    fixture_destroy(world.loop);
    close(world.fds[0]);
    close(world.fds[1]);
}

static jzx_err watch(void) {
    if (!world.by_itself)
        return jzx_watch_fd(world.loop, world.fds[0], world.id, JZX_IO_READ, EVENT);
    fixture_send(world.loop, world.id, PLAIN);
    step();
    return world.err;
}

/* Watches, reads three times, ends the watch. True if no call has failed. */
static bool use_watch(void) {
    jzx_err err = watch();
    if (err != JZX_OK) {
        JZX_EXPECT(err == JZX_ERR_IO_REG_FAILED || err == JZX_ERR_NO_MEMORY);
        JZX_EXPECT_EQ(jzx_unwatch_fd(world.loop, world.fds[0]), JZX_ERR_IO_NOT_WATCHED);
        return false;
    }
    uint32_t before = world.told;
    for (uint32_t i = 1; i <= 3 && !world.ended; i++) {
        JZX_EXPECT_EQ(write(world.fds[1], "x", 1), 1);
        for (int steps = 0; steps < 10 && world.reads < i && !world.ended; steps++)
            step();
        JZX_EXPECT(world.reads == i || world.ended); /* it heard of it, or that it will not */
    }
    step();
    JZX_EXPECT_EQ(jzx_unwatch_fd(world.loop, world.fds[0]),
                  world.ended ? JZX_ERR_IO_NOT_WATCHED : JZX_OK);
    return world.told - before == 3 && !world.ended;
}

JZX_TEST(each_system_call_fails_at_each_use_and_the_owner_hears_of_it, "C+fail", "C+io") {
    static const struct {
        enum os_call call;
        int error;
    } faults[] = {{OS_EPOLL_CREATE, EMFILE}, {OS_EPOLL_CTL, ENOSPC}, {OS_EPOLL_CTL, ENOMEM},
                  {OS_EPOLL_CTL, EBADF},     {OS_EPOLL_WAIT, EINTR}, {OS_CLOSE, EIO}};
    int open_before = descriptors_open();
    for (size_t i = 0; i < 2 * sizeof faults / sizeof faults[0]; i++) {
        enum os_call call = faults[i / 2].call;
        bool was_used = true;
        for (uint32_t at = 1; was_used && at < 100; at++) {
            open_world(i % 2 != 0);
            os_fail(call, at, 1, faults[i / 2].error);
            use_watch();
            was_used = os_faults.uses[call] >= at;
            os_fail_never();
            world.ended = false;
            world.reads = 0;
            char byte;
            while (read(world.fds[0], &byte, 1) == 1)
                continue;
            JZX_EXPECT(use_watch()); /* the next one works */
            close_world();
        }
        JZX_EXPECT(!was_used || call == OS_CLOSE);
        JZX_EXPECT_EQ(descriptors_open(), open_before);
    }
}

JZX_TEST(an_owner_is_pinned_while_it_has_watches) {
    os_fail_never();
    open_world(false);
    const struct jzx__actor *actor = jzx__table_lookup(&world.loop->table, world.id);
    int second[2];
    assert_int_equal(pipe(second), 0);
    for (int round = 0; round < 2; round++) {
        JZX_EXPECT_EQ(actor->task.bound, JZX__FREE);
        JZX_EXPECT_EQ(watch(), JZX_OK);
        JZX_EXPECT_EQ(jzx_watch_fd(world.loop, second[0], world.id, JZX_IO_READ, EVENT), JZX_OK);
        step();
        JZX_EXPECT_EQ(actor->task.bound, JZX__BOUND_WORKER);
        JZX_EXPECT_EQ(world.loop->sched.workers[0]->io_count, 2);
        JZX_EXPECT_EQ(jzx_unwatch_fd(world.loop, second[0]), JZX_OK);
        step();
        JZX_EXPECT_EQ(actor->task.bound, JZX__BOUND_WORKER);
        JZX_EXPECT_EQ(jzx_unwatch_fd(world.loop, world.fds[0]), JZX_OK);
        step();
        JZX_EXPECT_EQ(world.loop->sched.workers[0]->io_count, 0);
    }
    JZX_EXPECT_EQ(actor->task.bound, JZX__FREE);
    close(second[0]);
    close(second[1]);
    close_world();
}

/* No poll and no wait without a registration: nobody pays for what nobody uses. */
JZX_TEST(a_loop_that_watches_nothing_makes_no_system_call) {
    open_world(false);
    os_fail_never();
    for (int i = 0; i < 100; i++) {
        JZX_EXPECT_EQ(jzx_send(world.loop, world.id, JZX_NOBODY, &(jzx_io_event){world.fds[0], 0},
                               sizeof(jzx_io_event), EVENT),
                      JZX_OK);
        step();
    }
    JZX_EXPECT_EQ(world.told, 100);
    for (int call = 0; call < OS_CALL_COUNT; call++)
        JZX_EXPECT_EQ(os_faults.uses[call], 0);
    close_world();
}
