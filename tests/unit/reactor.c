/* SPDX-License-Identifier: MIT */
/* The reactor on real descriptors, with a table of system calls that can fail at any use. */
#include "io/reactor.h"

#include "descriptors.h"
#include "os_faults.h"
#include "rig.h"

#include <stdlib.h>
#include <unistd.h>

#define PIPES 80u

/* A registration and what its callback has heard. */
struct ear {
    struct jzx__registration registration;
    int fds[2]; /* a pipe: [0] is registered */
    uint32_t calls;
    uint32_t heard; /* of the last call */
    uint32_t checks;
    struct ear *ends; /* its callback removes this one; NULL: none */
};

static struct {
    struct jzx__reactor reactor;
    struct ear ears[PIPES];
    int open_before;
} world;

static void on_ready(struct jzx__worker *me, struct jzx__registration *registration,
                     uint32_t ready) {
    struct ear *ear = JZX_CONTAINER_OF(registration, struct ear, registration);
    JZX_EXPECT(me == rig_worker());
    ear->calls++;
    ear->heard = ready;
    if (ear->ends != NULL && ear->ends->registration.index != JZX__NOT_REGISTERED)
        jzx__reactor_remove(&world.reactor, &ear->ends->registration);
}

static void on_check(struct jzx__worker *me, struct jzx__registration *registration) {
    (void)me;
    JZX_CONTAINER_OF(registration, struct ear, registration)->checks++;
}

static const struct jzx__registration_ops ops = {.ready = on_ready};
static const struct jzx__registration_ops checked_ops = {.ready = on_ready, .check = on_check};

static void open_world(void) {
    world.open_before = descriptors_open();
    os_fail_never();
    rig_open();
    jzx__reactor_init(&world.reactor, rig_worker(), &jzx__poller_epoll, &os_faulty,
                      &rig.sched.allocator);
}

static void close_world(void) {
    jzx__reactor_deinit(&world.reactor);
    rig_close();
    JZX_EXPECT_EQ(descriptors_open(), world.open_before);
}

static struct ear *open_ear(uint32_t index, enum jzx__poll_mode mode,
                            const struct jzx__registration_ops *with) {
    struct ear *ear = &world.ears[index];
    *ear = (struct ear){0};
    assert_int_equal(pipe(ear->fds), 0);
    jzx__registration_init(&ear->registration, with, ear->fds[0], mode);
    return ear;
}

static int add(struct ear *ear, uint32_t interest) {
    return jzx__reactor_add(&world.reactor, &ear->registration, interest);
}

static void close_ear(struct ear *ear) {
    if (ear->registration.index != JZX__NOT_REGISTERED)
        jzx__reactor_remove(&world.reactor, &ear->registration);
    close(ear->fds[0]);
    close(ear->fds[1]);
}

static void say(struct ear *ear) {
    assert_int_equal(write(ear->fds[1], "x", 1), 1);
}

static void poll_once(void) {
    JZX_EXPECT(!jzx__reactor_poll(&world.reactor));
}

/* ---- registering ---- */

JZX_TEST(a_registration_hears_that_its_descriptor_is_ready, "E53", "E52") {
    open_world();
    struct ear *ear = open_ear(0, JZX__POLL_ONCE, &ops);
    JZX_EXPECT_EQ(add(ear, JZX__READY_READ), 0);
    JZX_EXPECT_EQ(rig_worker()->io_count, 1);
    poll_once();
    JZX_EXPECT_EQ(ear->calls, 0);
    say(ear);
    poll_once();
    JZX_EXPECT_EQ(ear->calls, 1);
    JZX_EXPECT_EQ(ear->heard, JZX__READY_READ);
    close_ear(ear);
    JZX_EXPECT_EQ(rig_worker()->io_count, 0);
    close_world();
}

JZX_TEST(what_is_reported_once_is_silent_until_it_is_changed) {
    open_world();
    struct ear *ear = open_ear(0, JZX__POLL_ONCE, &ops);
    JZX_EXPECT_EQ(add(ear, JZX__READY_READ), 0);
    say(ear);
    for (uint32_t round = 1; round <= 3; round++) {
        poll_once();
        poll_once();
        JZX_EXPECT_EQ(ear->calls, round); /* nothing was read: it is ready all the time */
        JZX_EXPECT_EQ(jzx__reactor_change(&world.reactor, &ear->registration, JZX__READY_READ), 0);
    }
    close_ear(ear);
    close_world();
}

JZX_TEST(readiness_stays_until_a_call_has_found_nothing, "X9") {
    open_world();
    struct ear *ear = open_ear(0, JZX__POLL_EDGE, &ops);
    char byte;
    JZX_EXPECT_EQ(add(ear, JZX__READY_READ | JZX__READY_READ_END), 0);
    JZX_EXPECT(!jzx__registration_is_ready(&ear->registration, JZX__READY_READ));
    say(ear);
    poll_once();
    poll_once();
    JZX_EXPECT_EQ(ear->calls, 1); /* an edge comes once, */
    JZX_EXPECT(jzx__registration_is_ready(&ear->registration, JZX__READY_READ)); /* and stays */
    JZX_EXPECT_EQ(read(ear->fds[0], &byte, 1), 1);
    jzx__registration_block(&ear->registration, JZX__READY_READ);
    JZX_EXPECT(!jzx__registration_is_ready(&ear->registration, JZX__READY_READ));
    say(ear);
    poll_once();
    JZX_EXPECT_EQ(ear->calls, 2);
    JZX_EXPECT(jzx__registration_is_ready(&ear->registration, JZX__READY_READ));
    close_ear(ear);
    close_world();
}

JZX_TEST(the_end_of_the_other_side_is_reported_with_what_is_left_to_read, "E52") {
    open_world();
    struct ear *ear = open_ear(0, JZX__POLL_ONCE, &ops);
    JZX_EXPECT_EQ(add(ear, JZX__READY_READ), 0);
    say(ear);
    close(ear->fds[1]);
    poll_once();
    JZX_EXPECT_EQ(ear->heard, JZX__READY_READ | JZX__READY_HANGUP);
    jzx__reactor_remove(&world.reactor, &ear->registration);
    ear->fds[1] = dup(ear->fds[0]);
    close_ear(ear);
    close_world();
}

JZX_TEST(a_write_end_without_reader_is_an_error, "E52") {
    open_world();
    struct ear *ear = open_ear(0, JZX__POLL_ONCE, &ops);
    jzx__registration_init(&ear->registration, &ops, ear->fds[1], JZX__POLL_ONCE);
    close(ear->fds[0]);
    JZX_EXPECT_EQ(add(ear, JZX__READY_WRITE), 0);
    poll_once();
    JZX_EXPECT_EQ(ear->heard, JZX__READY_WRITE | JZX__READY_ERROR);
    jzx__reactor_remove(&world.reactor, &ear->registration);
    ear->fds[0] = dup(ear->fds[1]);
    close_ear(ear);
    close_world();
}

/* ---- events and those who have gone ---- */

JZX_TEST(an_event_for_a_registration_that_has_ended_reaches_nobody, "E53") {
    open_world();
    struct ear *first = open_ear(0, JZX__POLL_ONCE, &ops);
    struct ear *second = open_ear(1, JZX__POLL_ONCE, &ops);
    JZX_EXPECT_EQ(add(first, JZX__READY_READ), 0);
    JZX_EXPECT_EQ(add(second, JZX__READY_READ), 0);
    first->ends = second; /* both are in one batch: who is called first ends the other */
    second->ends = first;
    say(first);
    say(second);
    poll_once();
    JZX_EXPECT_EQ(first->calls + second->calls, 1);
    close_ear(first);
    close_ear(second);

    struct ear *old = open_ear(0, JZX__POLL_ONCE, &ops);
    JZX_EXPECT_EQ(add(old, JZX__READY_READ), 0);
    say(old);
    jzx__reactor_wait(&world.reactor, JZX_NEVER);
    JZX_EXPECT(rig_worker()->poll_due); /* its event was fetched */
    jzx__reactor_remove(&world.reactor, &old->registration);
    struct ear *next = open_ear(1, JZX__POLL_ONCE, &ops);
    JZX_EXPECT_EQ(add(next, JZX__READY_READ), 0);
    JZX_EXPECT_EQ(next->registration.index, 0); /* the same slot */
    poll_once();
    JZX_EXPECT_EQ(old->calls + next->calls, 0);
    close_ear(old);
    close_ear(next);
    close_world();
}

/* The trap of epoll: it reports a closed descriptor for as long as a copy is open. */
JZX_TEST(a_copy_of_a_closed_descriptor_is_reported_once_at_most) {
    open_world();
    struct ear *ear = open_ear(0, JZX__POLL_ONCE, &ops);
    JZX_EXPECT_EQ(add(ear, JZX__READY_READ), 0);
    int copy = dup(ear->fds[0]);
    close(ear->fds[0]);
    jzx__reactor_remove(&world.reactor, &ear->registration); /* too late for the system */
    say(ear);
    for (int i = 0; i < 5; i++)
        poll_once();
    JZX_EXPECT_EQ(ear->calls, 0);
    JZX_EXPECT_EQ(os_faults.uses[OS_EPOLL_WAIT], 5);
    struct epoll_event event;
    JZX_EXPECT_EQ(epoll_wait(world.reactor.poller.fd, &event, 1, 0), 0);
    ear->fds[0] = copy;
    close_ear(ear);
    close_world();
}

JZX_TEST(a_poll_handles_a_bounded_number_of_events_and_says_that_there_are_more) {
    open_world();
    for (uint32_t i = 0; i < PIPES; i++) {
        JZX_EXPECT_EQ(add(open_ear(i, JZX__POLL_ONCE, &ops), JZX__READY_READ), 0);
        say(&world.ears[i]);
    }
    uint32_t calls = 0;
    JZX_EXPECT(jzx__reactor_poll(&world.reactor));
    for (uint32_t i = 0; i < PIPES; i++)
        calls += world.ears[i].calls;
    JZX_EXPECT_EQ(calls, JZX__POLL_EVENTS);
    JZX_EXPECT(!jzx__reactor_poll(&world.reactor));
    for (uint32_t i = 0; i < PIPES; i++) {
        JZX_EXPECT_EQ(world.ears[i].calls, 1);
        close_ear(&world.ears[i]);
    }
    close_world();
}

/* ---- waiting ---- */

JZX_TEST(a_wait_ends_by_a_wake_and_leaves_nothing_to_poll, "E53") {
    open_world();
    struct ear *ear = open_ear(0, JZX__POLL_ONCE, &ops);
    JZX_EXPECT_EQ(add(ear, JZX__READY_READ), 0);
    for (int i = 0; i < 3; i++) {
        jzx__parker_announce(&rig_worker()->parker, JZX__SLEEPS_ON_FD);
        JZX_EXPECT(jzx__parker_wake(&rig_worker()->parker));
        jzx__reactor_wait(&world.reactor, JZX_NEVER); /* else it would not return */
        JZX_EXPECT(!rig_worker()->poll_due);
        jzx__reactor_wait(&world.reactor, 1000); /* the descriptor is not read, and silent now */
        JZX_EXPECT(!rig_worker()->poll_due);
    }
    close_ear(ear);
    close_world();
}

JZX_TEST(a_wait_that_is_interrupted_has_found_nothing) {
    open_world();
    struct ear *ear = open_ear(0, JZX__POLL_ONCE, &ops);
    JZX_EXPECT_EQ(add(ear, JZX__READY_READ), 0);
    say(ear);
    os_fail(OS_EPOLL_WAIT, 1, 1, EINTR);
    jzx__reactor_wait(&world.reactor, JZX_NEVER);
    JZX_EXPECT(!rig_worker()->poll_due);
    os_fail(OS_EPOLL_WAIT, 1, 1, EINTR);
    poll_once();
    JZX_EXPECT_EQ(ear->calls, 0);
    poll_once();
    JZX_EXPECT_EQ(ear->calls, 1);
    close_ear(ear);
    close_world();
}

JZX_TEST(registrations_that_may_lose_their_descriptor_are_looked_at_in_turn) {
    open_world();
    for (uint32_t i = 0; i < 40; i++)
        JZX_EXPECT_EQ(
            add(open_ear(i, JZX__POLL_ONCE, i % 2 == 0 ? &checked_ops : &ops), JZX__READY_READ), 0);
    jzx__reactor_wait(&world.reactor, 0); /* 16 of 20 */
    for (int i = 0; i < 4; i++)
        poll_once(); /* and one each */
    for (uint32_t i = 0; i < 40; i++)
        JZX_EXPECT_EQ(world.ears[i].checks, i % 2 == 0);
    for (uint32_t i = 0; i < 40; i++)
        close_ear(&world.ears[i]);
    close_world();
}

/* ---- without memory, and when the system refuses ---- */

/* Some registrations, and an event each. False if something was refused. */
static bool use_reactor(void) {
    bool whole = true;
    for (uint32_t i = 0; i < 9; i++) {
        struct ear *ear = open_ear(i, JZX__POLL_ONCE, &ops);
        bool added = add(ear, JZX__READY_READ) == 0;
        JZX_EXPECT_EQ(added, ear->registration.index != JZX__NOT_REGISTERED);
        say(ear);
        for (int polls = 0; polls < 2 && added && ear->calls == 0; polls++) {
            whole = whole && polls == 0; /* if one was refused, the next one has it */
            poll_once();
        }
        JZX_EXPECT_EQ(ear->calls, added);
        if (added && jzx__reactor_change(&world.reactor, &ear->registration, 0) != 0)
            whole = false;
        whole = whole && added;
    }
    for (uint32_t i = 0; i < 9; i++)
        close_ear(&world.ears[i]);
    JZX_EXPECT_EQ(rig_worker()->io_count, 0);
    return whole;
}

JZX_TEST(each_system_call_fails_at_each_use_and_nothing_is_left_behind, "C+fail") {
    static const struct {
        enum os_call call;
        int error;
    } faults[] = {{OS_EPOLL_CREATE, EMFILE},
                  {OS_EPOLL_CTL, ENOSPC},
                  {OS_EPOLL_CTL, ENOMEM},
                  {OS_EPOLL_WAIT, EINTR},
                  {OS_CLOSE, EINTR}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        bool whole = false;
        for (uint32_t at = 1; !whole && at < 100; at++) {
            open_world();
            os_fail(faults[i].call, at, 1, faults[i].error);
            whole = use_reactor();
            if (os_faults.uses[faults[i].call] >= at)
                whole = false; /* one that goes wrong unseen, as that of a removal */
            jzx__reactor_deinit(&world.reactor);
            jzx__reactor_init(&world.reactor, rig_worker(), &jzx__poller_epoll, &os_faulty,
                              &rig.sched.allocator);
            close_world();
        }
        JZX_EXPECT(whole); /* in the end no use is left to fail */
    }
}

JZX_TEST(a_registration_without_memory_is_refused_and_the_next_one_is_not, "X9") {
    open_world();
    struct ear *ear = open_ear(0, JZX__POLL_ONCE, &ops);
    fixture_fail_allocations(0, 1);
    JZX_EXPECT_EQ(add(ear, JZX__READY_READ), -ENOMEM);
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT_EQ(rig_worker()->io_count, 0);
    JZX_EXPECT_EQ(add(ear, JZX__READY_READ), 0);
    close_ear(ear);
    close_world();
}

JZX_TEST(what_cannot_be_polled_is_refused) {
    open_world();
    char path[] = "/tmp/jzx_reactor_XXXXXX";
    struct ear *ear = open_ear(0, JZX__POLL_ONCE, &ops);
    int file = mkstemp(path);
    unlink(path);
    jzx__registration_init(&ear->registration, &ops, file, JZX__POLL_ONCE);
    JZX_EXPECT_EQ(add(ear, JZX__READY_READ), -EPERM);
    close(file);
    JZX_EXPECT_EQ(add(ear, JZX__READY_READ), -EBADF);
    close_ear(ear);
    close_world();
}
