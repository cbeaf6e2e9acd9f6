/* SPDX-License-Identifier: MIT */
/* Signals as messages when the system refuses: each system call fails at each of its uses. */
#include "io/signal.h"

#include "descriptors.h"
#include "fixture.h"
#include "os_faults.h"

#include <pthread.h>
#include <unistd.h>

enum { SUBSCRIBE = 1, HEARD };

static struct {
    jzx_err err;
    uint32_t signals;
} world;

static jzx_behavior_result behave(jzx_context *ctx, const jzx_message *msg) {
    jzx_signal_event event;
    jzx_test_ran();
    if (msg->tag == SUBSCRIBE) {
        world.err = jzx_signal_to(ctx, SIGUSR1, HEARD);
        return JZX_BEHAVIOR_OK;
    }
    memcpy(&event, msg->data, sizeof event);
    world.signals += event.count;
    return JZX_BEHAVIOR_OK;
}

static void settle(jzx_loop *loop) {
    for (int i = 0; i < 5; i++)
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

/* One subscription and one signal. */
static void subscribe_and_hear(void) {
    jzx_loop *loop = fixture_loop();
    world.signals = 0;
    jzx__io_of(loop)->os = &os_faulty;
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = behave));
    fixture_send(loop, id, SUBSCRIBE);
    settle(loop);
    if (world.err == JZX_OK) {
        JZX_EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
        settle(loop);
        JZX_EXPECT_EQ(world.signals, 1);
    } else {
        JZX_EXPECT_EQ(world.err, JZX_ERR_IO_REG_FAILED);
    }
    fixture_destroy(loop);
}

JZX_TEST(each_system_call_fails_at_each_use_and_no_signal_is_lost, "C+fail") {
    static const struct {
        enum os_call call;
        int error;
        bool refuses; /* else the call is made again */
    } faults[] = {{OS_EPOLL_CREATE, EMFILE, true}, {OS_EVENTFD, EMFILE, true},
                  {OS_SIGNALFD, EMFILE, true},     {OS_READ, EINTR, false},
                  {OS_WRITE, EINTR, false},        {OS_EPOLL_WAIT, EINTR, false}};
    int open_before = descriptors_open();
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &signals, NULL), 0);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        bool was_used = true;
        for (uint32_t at = 1; was_used && at < 100; at++) {
            os_fail(faults[i].call, at, 1, faults[i].error);
            subscribe_and_hear();
            was_used = os_faults.uses[faults[i].call] >= at;
            JZX_EXPECT_EQ(world.err != JZX_OK, was_used && faults[i].refuses);
            JZX_EXPECT_EQ(descriptors_open(), open_before);
        }
        JZX_EXPECT(!was_used);
    }
    for (uint32_t at = 1; at <= 3; at++) { /* the parker's descriptor, the eventfd, the signalfd */
        os_fail(OS_EPOLL_CTL, at, 1, ENOSPC);
        subscribe_and_hear();
        JZX_EXPECT_EQ(world.err, JZX_ERR_IO_REG_FAILED);
        JZX_EXPECT_EQ(descriptors_open(), open_before);
    }
}
