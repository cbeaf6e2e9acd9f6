/* SPDX-License-Identifier: MIT */
/* Waits for descriptors when the system refuses: each system call fails at each of its uses. And
 * what only the inside shows: no actor is pinned, and a set at which nobody waits is quiet. */
#include "io/fd_waits.h"

#include "descriptors.h"
#include "fixture.h"
#include "os_faults.h"

#include <fcntl.h>
#include <unistd.h>

enum { READS = 3 };

static struct {
    jzx_loop *loop;
    jzx_actor_id id;
    int fds[2];
    uint32_t reads;
    jzx_err err; /* of the last wait of the fiber */
    bool is_over;
} world;

static void read_bytes(jzx_context *ctx) {
    char byte;
    jzx_test_ran();
    while (world.reads < READS) {
        uint32_t ready = 0;
        world.err = jzx_fd_await(ctx, world.fds[0], JZX_IO_READ, JZX_NEVER, &ready);
        if (world.err != JZX_OK)
            break;
        JZX_EXPECT_EQ(ready, JZX_IO_READ);
        if (read(world.fds[0], &byte, 1) == 1)
            world.reads++;
    }
    world.is_over = true;
}

static void step(void) {
    JZX_EXPECT_EQ(jzx_loop_step(world.loop, JZX_NEVER), JZX_OK);
}

static void open_world(void) {
    memset(&world, 0, sizeof world);
    os_fail_never();
    world.loop = fixture_loop();
    jzx__io_of(world.loop)->os = &os_faulty;
    assert_int_equal(pipe(world.fds), 0);
    assert_int_equal(fcntl(world.fds[0], F_SETFL, O_NONBLOCK), 0);
}

static void close_world(void) {
    fixture_destroy(world.loop);
    close(world.fds[0]);
    close(world.fds[1]);
}

/* True if all was read. */
static bool use_fiber(void) {
    world.reads = 0;
    world.is_over = false;
    world.id = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.fiber = read_bytes));
    step();
    for (uint32_t i = 1; i <= READS && !world.is_over; i++) {
        JZX_EXPECT_EQ(write(world.fds[1], "x", 1), 1);
        for (int steps = 0; steps < 10 && world.reads < i && !world.is_over; steps++)
            step();
        JZX_EXPECT(world.reads == i || world.is_over); /* it goes on, or hears why not */
    }
    step();
    JZX_EXPECT(world.is_over);
    return world.err == JZX_OK;
}

/* The same from a thread without a worker. */
static bool use_future(void) {
    jzx_future *future = NULL;
    jzx_err err = JZX_ERR_TIMEOUT;
    uint32_t ready = 0;
    assert_int_equal(jzx_fd_await_async(world.loop, world.fds[0], JZX_IO_READ, JZX_NEVER, &future),
                     JZX_OK);
    step();
    JZX_EXPECT_EQ(write(world.fds[1], "x", 1), 1);
    for (int steps = 0; steps < 10 && err == JZX_ERR_TIMEOUT; steps++) {
        step();
        err = jzx_future_try(future, &ready);
    }
    JZX_EXPECT(err != JZX_ERR_TIMEOUT); /* it is settled */
    world.err = err;
    jzx_future_release(future);
    return err == JZX_OK;
}

static const struct {
    enum os_call call;
    int error;
    jzx_err err;
} faults[] = {{OS_EPOLL_CREATE, EMFILE, JZX_ERR_IO_REG_FAILED},
              {OS_EPOLL_CTL, ENOSPC, JZX_ERR_IO_REG_FAILED},
              {OS_EPOLL_CTL, ENOMEM, JZX_ERR_NO_MEMORY},
              {OS_EPOLL_CTL, EBADF, JZX_ERR_CLOSED},
              {OS_EPOLL_CTL, ENOENT, JZX_ERR_CLOSED},
              {OS_POLL, EBADF, JZX_ERR_CLOSED},
              {OS_STAT_AT, EACCES, JZX_OK},
              {OS_EPOLL_WAIT, EINTR, JZX_OK}};

/* An errno of the reactor's own descriptors says nothing of the one that is awaited. */
static bool is_fitting(size_t fault, jzx_err err) {
    return err == JZX_OK || err == faults[fault].err ||
           (faults[fault].error == ENOENT && err == JZX_ERR_IO_REG_FAILED);
}

JZX_TEST(each_system_call_fails_at_each_use_and_the_wait_ends, "C+fail", "E54") {
    int open_before = descriptors_open();
    uint32_t failed = 0;
    for (size_t i = 0; i < 2 * sizeof faults / sizeof faults[0]; i++) {
        enum os_call call = faults[i / 2].call;
        bool was_used = true;
        for (uint32_t at = 1; was_used && at < 100; at++) {
            open_world();
            os_fail(call, at, 1, faults[i / 2].error);
            failed += !(i % 2 ? use_future() : use_fiber());
            JZX_EXPECT(is_fitting(i / 2, world.err));
            was_used = os_faults.uses[call] >= at;
            os_fail_never();
            char byte;
            while (read(world.fds[0], &byte, 1) == 1)
                continue;
            JZX_EXPECT(use_fiber()); /* the next one works */
            close_world();
        }
        JZX_EXPECT(!was_used);
        JZX_EXPECT_EQ(descriptors_open(), open_before);
    }
    JZX_EXPECT(failed >= 8);
}

static jzx_behavior_result begin_wait(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == 1)
        JZX_EXPECT_EQ(
            jzx_fd_await_to(ctx, world.fds[0], JZX_IO_READ, jzx_in(ctx, JZX_SECOND(60)), 2, NULL),
            JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_wait_pins_no_actor_and_a_set_without_waits_is_quiet) {
    open_world();
    struct jzx__worker *worker = world.loop->sched.workers[0];
    world.id = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = begin_wait));
    const struct jzx__actor *actor = jzx__table_lookup(&world.loop->table, world.id);
    for (uint64_t round = 1; round <= 3; round++) {
        char byte;
        fixture_send(world.loop, world.id, 1);
        step();
        JZX_EXPECT_EQ(actor->task.bound, JZX__FREE);
        JZX_EXPECT_EQ(worker->io_count, 1);
        JZX_EXPECT_EQ(write(world.fds[1], "x", 1), 1);
        step();
        step();
        JZX_EXPECT_EQ(jzx_test_runs(), 2 * round);
        JZX_EXPECT_EQ(worker->io_count, 0);
        JZX_EXPECT_EQ(read(world.fds[0], &byte, 1), 1);
    }
    close_world();
}

/* The thread that cancels may not touch the reactor: its worker finds the empty set. */
JZX_TEST(a_set_that_others_have_emptied_becomes_quiet) {
    open_world();
    struct jzx__worker *worker = world.loop->sched.workers[0];
    jzx_future *future = NULL;
    assert_int_equal(jzx_fd_await_async(world.loop, world.fds[0], JZX_IO_READ, JZX_NEVER, &future),
                     JZX_OK);
    step();
    JZX_EXPECT_EQ(worker->io_count, 1);
    jzx_future_cancel(future);
    step();
    step();
    JZX_EXPECT_EQ(worker->io_count, 0);
    JZX_EXPECT_EQ(jzx_future_try(future, NULL), JZX_ERR_CANCELLED);
    jzx_future_release(future);
    close_world();
}
