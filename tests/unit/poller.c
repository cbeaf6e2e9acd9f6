/* SPDX-License-Identifier: MIT */
/* What a reactor relies on, of each back end: the same cases run on epoll and on io_uring. Without
 * io_uring the second half of each is left out, and the last test says so. */
#include "io/poller.h"

#include "jzx/time.h"

#include "descriptors.h"
#include "fixture.h"
#include "os_faults.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 700u /* more than a ring has places for */

static struct {
    struct jzx__poller poller;
    jzx_allocator allocator;
    int open_before;
    struct jzx__poll_event events[JZX__POLL_EVENTS];
    int count; /* of the last wait */
} world;

static const struct jzx__poller_ops *const backends[] = {&jzx__poller_epoll, &jzx__poller_uring};

static bool open_world(const struct jzx__poller_ops *ops) {
    world.open_before = descriptors_open();
    world.allocator = fixture_allocator();
    world.poller =
        (struct jzx__poller){.ops = ops, .os = &os_faulty, .allocator = &world.allocator, .fd = -1};
    os_fail_never();
    int err = ops->open(&world.poller);
    if (ops == &jzx__poller_uring && (err == -ENOSYS || err == -EPERM))
        return false;
    JZX_EXPECT_EQ(err, 0);
    print_message("on %s\n", ops == &jzx__poller_uring ? "io_uring" : "epoll");
    return true;
}

static void close_world(void) {
    world.poller.ops->close(&world.poller);
    JZX_EXPECT_EQ(world.poller.fd, -1);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    JZX_EXPECT_EQ(descriptors_open(), world.open_before);
}

#define ON_EACH_BACKEND                                                                            \
    for (size_t backend = 0; backend < 2 && open_world(backends[backend]); backend++, close_world())

static int add(int fd, enum jzx__poll_mode mode, uint32_t interest, uint64_t key) {
    const struct jzx__poll_entry entry = {
        .fd = fd, .mode = (uint8_t)mode, .interest = (uint8_t)interest, .key = key};
    return world.poller.ops->add(&world.poller, &entry);
}

static int change(int fd, enum jzx__poll_mode mode, uint32_t interest, uint64_t key) {
    const struct jzx__poll_entry entry = {
        .fd = fd, .mode = (uint8_t)mode, .interest = (uint8_t)interest, .key = key};
    return world.poller.ops->change(&world.poller, &entry);
}

static int remove_it(int fd) {
    return world.poller.ops->remove(&world.poller, fd);
}

static int wait_at_most(uint32_t count_max, uint64_t timeout_ns) {
    world.count = world.poller.ops->wait(&world.poller, world.events, count_max, timeout_ns);
    return world.count;
}

/* What is there now. */
static int look(void) {
    return wait_at_most(JZX__POLL_EVENTS, 0);
}

/* True if it finds nothing; a signal may have ended it. */
static bool is_quiet(uint32_t count_max, uint64_t timeout_ns) {
    int count = wait_at_most(count_max, timeout_ns);
    return count == 0 || count == -EINTR;
}

/* Sleeps until there is something. */
static int sleep_until_ready(void) {
    while (is_quiet(JZX__POLL_EVENTS, JZX_NEVER))
        ;
    return world.count;
}

/* The bits of that key in the last wait; 0: it was not reported. */
static uint32_t heard(uint64_t key) {
    uint32_t ready = 0;
    for (int i = 0; i < world.count; i++)
        ready |= world.events[i].key == key ? world.events[i].ready : 0;
    return ready;
}

static void say(int fd) {
    assert_int_equal(write(fd, "x", 1), 1);
}

static void hear(int fd) {
    char byte;
    assert_int_equal(read(fd, &byte, 1), 1);
}

static void close_both(const int fds[2]) {
    close(fds[0]);
    close(fds[1]);
}

static bool is_readable(void) {
    struct pollfd entry = {.fd = world.poller.fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1;
}

/* ---- when something is reported ---- */

JZX_TEST(what_is_ready_is_reported_with_its_key, "E53") {
    ON_EACH_BACKEND {
        int first[2];
        int second[2];
        assert_int_equal(pipe(first), 0);
        assert_int_equal(pipe(second), 0);
        JZX_EXPECT_EQ(add(first[0], JZX__POLL_ONCE, JZX__READY_READ, 11), 0);
        JZX_EXPECT_EQ(add(second[1], JZX__POLL_EDGE, JZX__READY_WRITE, 22), 0);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT_EQ(heard(22), JZX__READY_WRITE);
        JZX_EXPECT_EQ(look(), 0);
        say(first[1]);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT_EQ(heard(11), JZX__READY_READ);
        JZX_EXPECT_EQ(remove_it(first[0]), 0);
        JZX_EXPECT_EQ(remove_it(second[1]), 0);
        close_both(first);
        close_both(second);
    }
}

JZX_TEST(once_means_once_until_it_is_changed) {
    ON_EACH_BACKEND {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        JZX_EXPECT_EQ(add(fds[0], JZX__POLL_ONCE, JZX__READY_READ, 1), 0);
        say(fds[1]);
        for (int round = 0; round < 3; round++) {
            JZX_EXPECT_EQ(look(), 1);
            say(fds[1]);
            JZX_EXPECT_EQ(look(), 0);
            JZX_EXPECT_EQ(change(fds[0], JZX__POLL_ONCE, JZX__READY_READ, 1), 0);
        }
        JZX_EXPECT_EQ(look(), 1);
        for (int i = 0; i < 4; i++)
            hear(fds[0]);
        JZX_EXPECT_EQ(change(fds[0], JZX__POLL_ONCE, JZX__READY_READ, 1), 0);
        JZX_EXPECT_EQ(look(), 0);
        JZX_EXPECT_EQ(change(fds[0], JZX__POLL_ONCE, JZX__READY_READ, 1), 0); /* it waits already */
        say(fds[1]);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT_EQ(look(), 0);
        close_both(fds);
    }
}

JZX_TEST(an_edge_is_reported_each_time_that_something_arrives) {
    ON_EACH_BACKEND {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        say(fds[1]); /* before it is added */
        JZX_EXPECT_EQ(add(fds[0], JZX__POLL_EDGE, JZX__READY_READ, 1), 0);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT_EQ(look(), 0);
        for (int round = 0; round < 5; round++) {
            say(fds[1]); /* nothing was read in between */
            JZX_EXPECT_EQ(look(), 1);
            JZX_EXPECT_EQ(heard(1), JZX__READY_READ);
            JZX_EXPECT_EQ(look(), 0);
        }
        say(fds[1]);
        say(fds[1]);
        JZX_EXPECT_EQ(look(), 1); /* one event for both */
        say(fds[1]);              /* after the wait, before the user reads */
        hear(fds[0]);
        JZX_EXPECT_EQ(look(), 1);
        close_both(fds);
    }
}

static void make_full(int fd) {
    static const char block[4096];
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    while (write(fd, block, sizeof block) > 0)
        ;
}

static void make_empty(int fd) {
    char block[4096];
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    while (read(fd, block, sizeof block) > 0)
        ;
}

/* Two completions of a ring: neither takes the place of the other. */
JZX_TEST(what_becomes_readable_and_writable_between_two_waits_is_reported_as_both, "E53") {
    ON_EACH_BACKEND {
        for (int is_read_first = 0; is_read_first < 2; is_read_first++) {
            int fds[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
            make_full(fds[0]);
            JZX_EXPECT_EQ(add(fds[0], JZX__POLL_EDGE, JZX__READY_READ | JZX__READY_WRITE, 1), 0);
            JZX_EXPECT_EQ(look(), 0);
            if (is_read_first)
                say(fds[1]);
            make_empty(fds[1]);
            if (!is_read_first)
                say(fds[1]);
            JZX_EXPECT_EQ(look(), 1);
            JZX_EXPECT_EQ(heard(1), JZX__READY_READ | JZX__READY_WRITE);
            JZX_EXPECT_EQ(remove_it(fds[0]), 0);
            close_both(fds);
        }
    }
}

JZX_TEST(a_wait_without_events_ends_with_its_time) {
    ON_EACH_BACKEND {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        JZX_EXPECT(is_quiet(1, 1000));
        JZX_EXPECT_EQ(add(fds[0], JZX__POLL_ONCE, JZX__READY_READ, 1), 0);
        JZX_EXPECT(is_quiet(1, 2000000));
        say(fds[1]);
        JZX_EXPECT_EQ(wait_at_most(1, JZX_NEVER), 1);
        close_both(fds);
    }
}

JZX_TEST(what_finds_no_place_in_one_wait_comes_with_the_next) {
    ON_EACH_BACKEND {
        int fds[10][2];
        uint32_t seen[10] = {0};
        for (uint32_t i = 0; i < 10; i++) {
            assert_int_equal(pipe(fds[i]), 0);
            JZX_EXPECT_EQ(add(fds[i][0], JZX__POLL_ONCE, JZX__READY_READ, i), 0);
            say(fds[i][1]);
        }
        for (int left = 10; left > 0; left -= 3) {
            JZX_EXPECT_EQ(wait_at_most(3, JZX_NEVER), left < 3 ? left : 3);
            for (int i = 0; i < world.count; i++)
                seen[world.events[i].key]++;
        }
        JZX_EXPECT_EQ(look(), 0);
        for (uint32_t i = 0; i < 10; i++) {
            JZX_EXPECT_EQ(seen[i], 1);
            close_both(fds[i]);
        }
    }
}

/* ---- what is reported ---- */

JZX_TEST(the_end_of_a_pipe_is_told_on_both_sides, "E52") {
    ON_EACH_BACKEND {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        JZX_EXPECT_EQ(add(fds[0], JZX__POLL_ONCE, JZX__READY_READ, 1), 0);
        JZX_EXPECT_EQ(look(), 0);
        say(fds[1]);
        close(fds[1]);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT(heard(1) & JZX__READY_READ);
        JZX_EXPECT_EQ(change(fds[0], JZX__POLL_ONCE, 0, 1), 0);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT_EQ(heard(1), JZX__READY_HANGUP); /* whatever the interest is */
        close(fds[0]);

        assert_int_equal(pipe(fds), 0);
        JZX_EXPECT_EQ(add(fds[1], JZX__POLL_EDGE, JZX__READY_WRITE, 2), 0);
        JZX_EXPECT_EQ(look(), 1);
        close(fds[0]);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT(heard(2) & JZX__READY_ERROR);
        close(fds[1]);
    }
}

JZX_TEST(a_half_closed_socket_is_told_if_it_is_asked_for, "E52") {
    const uint32_t all = JZX__READY_READ | JZX__READY_WRITE | JZX__READY_READ_END;
    ON_EACH_BACKEND {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        JZX_EXPECT_EQ(add(fds[0], JZX__POLL_EDGE, all, 1), 0);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT_EQ(heard(1), JZX__READY_WRITE);
        shutdown(fds[1], SHUT_WR);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT_EQ(heard(1) & (JZX__READY_READ | JZX__READY_READ_END),
                      JZX__READY_READ | JZX__READY_READ_END);
        JZX_EXPECT_EQ(change(fds[0], JZX__POLL_EDGE, JZX__READY_READ, 1), 0);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT_EQ(heard(1), JZX__READY_READ);
        close(fds[1]);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT(heard(1) & JZX__READY_HANGUP);
        close(fds[0]);
    }
}

/* As a watch for room does, at a peer that writes no more and does not read. */
JZX_TEST(a_half_closed_socket_that_is_full_is_silent_until_there_is_room) {
    ON_EACH_BACKEND {
        static char data[65536];
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
        while (write(fds[0], data, sizeof data) > 0)
            ;
        shutdown(fds[1], SHUT_WR);
        JZX_EXPECT_EQ(add(fds[0], JZX__POLL_ONCE, JZX__READY_WRITE, 1), 0);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 10; i++)
                JZX_EXPECT(is_quiet(1, 1));
            while (read(fds[1], data, sizeof data) > 0)
                ;
            JZX_EXPECT_EQ(look(), 1);
            JZX_EXPECT_EQ(heard(1), JZX__READY_WRITE);
            while (write(fds[0], data, sizeof data) > 0)
                ;
            JZX_EXPECT_EQ(look(), 0);
            JZX_EXPECT_EQ(change(fds[0], JZX__POLL_ONCE, JZX__READY_WRITE, 1), 0);
        }
        JZX_EXPECT_EQ(look(), 0);
        JZX_EXPECT_EQ(look(), 0);
        JZX_EXPECT(!is_readable());
        close_both(fds);
    }
}

/* ---- change and remove ---- */

JZX_TEST(a_change_takes_effect_for_what_has_happened_already) {
    ON_EACH_BACKEND {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        for (int mode = JZX__POLL_EDGE; mode <= JZX__POLL_ONCE; mode++) {
            JZX_EXPECT_EQ(add(fds[0], (enum jzx__poll_mode)mode, JZX__READY_READ, 1), 0);
            JZX_EXPECT_EQ(look(), 0);
            say(fds[1]); /* is on its way under the old key */
            JZX_EXPECT_EQ(change(fds[0], (enum jzx__poll_mode)mode, JZX__READY_WRITE, 2), 0);
            JZX_EXPECT_EQ(look(), 1);
            JZX_EXPECT_EQ(heard(2), JZX__READY_WRITE);
            JZX_EXPECT_EQ(look(), 0);
            JZX_EXPECT_EQ(change(fds[0], (enum jzx__poll_mode)mode, JZX__READY_READ, 3), 0);
            JZX_EXPECT_EQ(look(), 1);
            JZX_EXPECT_EQ(heard(3), JZX__READY_READ);
            JZX_EXPECT_EQ(remove_it(fds[0]), 0);
            hear(fds[0]);
        }
        close_both(fds);
    }
}

/* Puts a pipe with something to read in place of fds, under the same numbers. */
static void replace(int fds[2]) {
    int others[2];
    assert_int_equal(pipe(others), 0);
    say(others[1]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dup2(others[i], fds[i]), fds[i]);
        close(others[i]);
    }
}

JZX_TEST(a_number_that_is_used_again_has_nothing_of_the_file_before, "E53") {
    ON_EACH_BACKEND {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        for (int mode = JZX__POLL_EDGE; mode <= JZX__POLL_ONCE; mode++) {
            JZX_EXPECT_EQ(add(fds[0], (enum jzx__poll_mode)mode, JZX__READY_READ, 1), 0);
            JZX_EXPECT_EQ(look(), mode == JZX__POLL_ONCE);
            say(fds[1]); /* and its event is not fetched */
            JZX_EXPECT_EQ(remove_it(fds[0]), 0);
            replace(fds);
            JZX_EXPECT_EQ(look(), 0);
            JZX_EXPECT_EQ(add(fds[0], (enum jzx__poll_mode)mode, JZX__READY_READ, 2), 0);
            JZX_EXPECT_EQ(look(), 1);
            JZX_EXPECT_EQ(heard(2), JZX__READY_READ);
            JZX_EXPECT_EQ(remove_it(fds[0]), 0);
        }
        JZX_EXPECT_EQ(look(), 0);
        close_both(fds);
    }
}

JZX_TEST(a_descriptor_that_was_closed_by_others_is_found_by_a_change) {
    ON_EACH_BACKEND {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        JZX_EXPECT_EQ(add(fds[0], JZX__POLL_ONCE, JZX__READY_READ, 1), 0);
        JZX_EXPECT_EQ(look(), 0);
        int number = fds[0];
        close(fds[0]);
        JZX_EXPECT_EQ(change(number, JZX__POLL_ONCE, JZX__READY_READ, 1), -EBADF);
        close(fds[1]);
        assert_int_equal(pipe(fds), 0);
        JZX_EXPECT_EQ(fds[0], number);
        say(fds[1]);
        JZX_EXPECT_EQ(change(number, JZX__POLL_ONCE, JZX__READY_READ, 1), -ENOENT);
        JZX_EXPECT_EQ(add(number, JZX__POLL_ONCE, JZX__READY_READ, 2), 0);
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT_EQ(heard(2), JZX__READY_READ);
        JZX_EXPECT_EQ(heard(1), 0);

        /* Before it was armed again: the successor is not polled in its place. */
        JZX_EXPECT_EQ(change(number, JZX__POLL_ONCE, JZX__READY_READ, 2), 0);
        replace(fds);
        JZX_EXPECT_EQ(look(), 0);
        JZX_EXPECT_EQ(remove_it(number), -ENOENT);
        close_both(fds);
    }
}

JZX_TEST(what_cannot_be_polled_is_refused_in_the_same_way) {
    ON_EACH_BACKEND {
        char path[] = "/tmp/jzx_poller_XXXXXX";
        int file = mkstemp(path);
        int event = eventfd(0, EFD_NONBLOCK);
        unlink(path);
        for (int mode = JZX__POLL_EDGE; mode <= JZX__POLL_ONCE; mode++) {
            JZX_EXPECT_EQ(add(file, (enum jzx__poll_mode)mode, JZX__READY_READ, 1), -EPERM);
            JZX_EXPECT_EQ(add(-1, (enum jzx__poll_mode)mode, JZX__READY_READ, 1), -EBADF);
            JZX_EXPECT_EQ(add(event, (enum jzx__poll_mode)mode, JZX__READY_READ, 1), 0);
            JZX_EXPECT_EQ(add(event, (enum jzx__poll_mode)mode, JZX__READY_READ, 2), -EEXIST);
            JZX_EXPECT_EQ(remove_it(event), 0);
            JZX_EXPECT_EQ(remove_it(event), -ENOENT);
            JZX_EXPECT_EQ(change(event, (enum jzx__poll_mode)mode, JZX__READY_READ, 1), -ENOENT);
        }
        JZX_EXPECT_EQ(look(), 0);
        close(file);
        JZX_EXPECT_EQ(add(file, JZX__POLL_ONCE, JZX__READY_READ, 1), -EBADF);
        close(event);
    }
}

/* ---- the descriptor of the poller ---- */

JZX_TEST(a_host_sees_at_the_descriptor_that_a_wait_would_return_something) {
    ON_EACH_BACKEND {
        int fds[2];
        struct epoll_event event = {.events = EPOLLIN};
        int host = epoll_create1(EPOLL_CLOEXEC);
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(epoll_ctl(host, EPOLL_CTL_ADD, world.poller.fd, &event), 0);
        JZX_EXPECT(!is_readable());
        JZX_EXPECT_EQ(add(fds[0], JZX__POLL_EDGE, JZX__READY_READ, 1), 0);
        JZX_EXPECT_EQ(look(), 0);
        for (int round = 0; round < 3; round++) {
            JZX_EXPECT(!is_readable());
            say(fds[1]);
            JZX_EXPECT(is_readable());
            JZX_EXPECT_EQ(epoll_wait(host, &event, 1, 0), 1);
            JZX_EXPECT_EQ(look(), 1);
            JZX_EXPECT(!is_readable());
            JZX_EXPECT_EQ(epoll_wait(host, &event, 1, 0), 0);
        }
        JZX_EXPECT_EQ(remove_it(fds[0]), 0);
        JZX_EXPECT_EQ(look(), 0);
        say(fds[1]);
        JZX_EXPECT(!is_readable());
        close(host);
        close_both(fds);
    }
}

/* ---- several threads ---- */

static void run_on_thread(void *(*body)(void *), void *arg) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, arg), 0);
    pthread_join(thread, NULL);
}

static void *add_it(void *arg) {
    JZX_EXPECT_EQ(add(*(int *)arg, JZX__POLL_ONCE, JZX__READY_READ, 7), 0);
    return NULL;
}

static void *change_it(void *arg) {
    JZX_EXPECT_EQ(change(*(int *)arg, JZX__POLL_ONCE, JZX__READY_READ, 8), 0);
    return NULL;
}

static void *remove_by_other(void *arg) {
    JZX_EXPECT_EQ(remove_it(*(int *)arg), 0);
    return NULL;
}

JZX_TEST(a_wait_hears_of_what_another_thread_has_added_meanwhile) {
    ON_EACH_BACKEND {
        int fds[2];
        pthread_t thread;
        assert_int_equal(pipe(fds), 0);
        say(fds[1]);
        assert_int_equal(pthread_create(&thread, NULL, add_it, &fds[0]), 0);
        JZX_EXPECT_EQ(sleep_until_ready(), 1);
        JZX_EXPECT_EQ(heard(7), JZX__READY_READ);
        pthread_join(thread, NULL);
        assert_int_equal(pthread_create(&thread, NULL, change_it, &fds[0]), 0);
        JZX_EXPECT_EQ(sleep_until_ready(), 1);
        JZX_EXPECT_EQ(heard(8), JZX__READY_READ);
        pthread_join(thread, NULL);
        JZX_EXPECT_EQ(change(fds[0], JZX__POLL_ONCE, JZX__READY_READ, 9), 0);
        run_on_thread(remove_by_other, &fds[0]);
        JZX_EXPECT_EQ(look(), 0);
        close_both(fds);
    }
}

JZX_TEST(a_host_hears_of_what_another_thread_has_added_meanwhile) {
    ON_EACH_BACKEND {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        JZX_EXPECT_EQ(look(), 0);
        say(fds[1]);
        run_on_thread(add_it, &fds[0]);
        JZX_EXPECT(is_readable());
        JZX_EXPECT_EQ(look(), 1);
        JZX_EXPECT(!is_readable());
        close_both(fds);
    }
}

static void *look_once(void *arg) {
    (void)arg;
    JZX_EXPECT_EQ(look(), 0);
    return NULL;
}

/* As the thread of a worker does at the end of a run: its requests go with it. */
JZX_TEST(nothing_is_lost_when_the_thread_that_has_waited_ends) {
    ON_EACH_BACKEND {
        int once[2];
        int edge[2];
        assert_int_equal(pipe(once), 0);
        assert_int_equal(pipe(edge), 0);
        JZX_EXPECT_EQ(add(once[0], JZX__POLL_ONCE, JZX__READY_READ, 1), 0);
        JZX_EXPECT_EQ(add(edge[0], JZX__POLL_EDGE, JZX__READY_READ, 2), 0);
        for (int round = 0; round < 3; round++) {
            uint32_t ready[3] = {0};
            run_on_thread(look_once, NULL);
            if (round == 1)
                run_on_thread(look_once, NULL);
            say(once[1]);
            say(edge[1]);
            while (ready[1] == 0 || ready[2] == 0) {
                JZX_EXPECT(sleep_until_ready() > 0);
                ready[1] |= heard(1);
                ready[2] |= heard(2);
            }
            hear(once[0]);
            hear(edge[0]);
            JZX_EXPECT_EQ(change(once[0], JZX__POLL_ONCE, JZX__READY_READ, 1), 0);
            while (look() != 0)
                JZX_EXPECT_EQ(heard(1), 0); /* the edge may come twice */
        }
        close_both(once);
        close_both(edge);
    }
}

/* A thread that has waited, and now sits in the kernel where nothing can interrupt it: it starts a
 * child that hangs before it executes anything, at a pipe with a name. */
static struct {
    char path[64];
    int told[2];
    pid_t thread;
    pid_t child;
} stuck;

/* True if the system says that its sleep cannot be interrupted. */
static bool is_stuck(void) {
    char path[64];
    char text[256] = {0};
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)stuck.thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    const char *state = strrchr(text, ')'); /* after the name */
    return state != NULL && state[2] == 'D';
}

static void *wait_and_get_stuck(void *arg) {
    (void)arg;
    char *const args[] = {(char[]){"true"}, NULL};
    posix_spawn_file_actions_t actions;
    JZX_EXPECT_EQ(look(), 0);
    stuck.thread = (pid_t)syscall(SYS_gettid);
    say(stuck.told[1]);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 9, stuck.path, O_RDONLY, 0);
    JZX_EXPECT_EQ(posix_spawnp(&stuck.child, "true", &actions, NULL, args, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return NULL;
}

JZX_TEST(a_thread_that_is_stuck_in_the_kernel_holds_up_no_events_of_the_next) {
    ON_EACH_BACKEND {
        int fds[2];
        pthread_t thread;
        snprintf(stuck.path, sizeof stuck.path, "/tmp/jzx_poller_%d", (int)getpid());
        assert_int_equal(mkfifo(stuck.path, 0600), 0);
        assert_int_equal(pipe(stuck.told), 0);
        assert_int_equal(pipe(fds), 0);
        JZX_EXPECT_EQ(add(fds[0], JZX__POLL_EDGE, JZX__READY_READ, 1), 0);
        assert_int_equal(pthread_create(&thread, NULL, wait_and_get_stuck, NULL), 0);
        hear(stuck.told[0]);
        while (!is_stuck())
            sched_yield();
        say(fds[1]);
        JZX_EXPECT_EQ(sleep_until_ready(), 1);
        say(fds[1]);
        JZX_EXPECT_EQ(sleep_until_ready(), 1);
        int end = open(stuck.path, O_WRONLY); /* when the child is there, it goes on */
        JZX_EXPECT(end >= 0);
        pthread_join(thread, NULL);
        JZX_EXPECT_EQ(waitpid(stuck.child, NULL, 0), stuck.child);
        close(end);
        unlink(stuck.path);
        close_both(stuck.told);
        close_both(fds);
    }
}

/* ---- limits ---- */

JZX_TEST(more_events_than_the_system_has_places_for_are_all_reported) {
    static int fds[MANY];
    static uint32_t seen[MANY];
    ON_EACH_BACKEND {
        for (uint32_t i = 0; i < MANY; i++) {
            fds[i] = eventfd(0, EFD_NONBLOCK);
            assert_true(fds[i] >= 0);
            JZX_EXPECT_EQ(add(fds[i], JZX__POLL_EDGE, JZX__READY_READ, i), 0);
        }
        JZX_EXPECT_EQ(look(), 0);
        for (int round = 0; round < 3; round++) {
            memset(seen, 0, sizeof seen);
            for (int times = 0; times < 4; times++) {
                for (uint32_t i = 0; i < MANY; i++)
                    assert_int_equal(eventfd_write(fds[i], 1), 0);
            }
            while (look() > 0) {
                for (int i = 0; i < world.count; i++)
                    seen[world.events[i].key]++;
            }
            for (uint32_t i = 0; i < MANY; i++) {
                eventfd_t count;
                JZX_EXPECT(seen[i] != 0);
                assert_int_equal(eventfd_read(fds[i], &count), 0);
            }
        }
        for (uint32_t i = 0; i < MANY; i++) {
            JZX_EXPECT_EQ(remove_it(fds[i]), 0);
            close(fds[i]);
        }
        JZX_EXPECT_EQ(look(), 0);
    }
}

/* ---- when the system refuses ---- */

/* Uses a poller of that kind. False if something was refused; what was not is reported. */
static bool use_poller(const struct jzx__poller_ops *ops) {
    int fds[4][2];
    bool whole = true;
    world.open_before = descriptors_open();
    world.poller.ops = ops;
    if (ops->open(&world.poller) < 0)
        return false;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t waits = 0;
        assert_int_equal(pipe(fds[i]), 0);
        bool added =
            add(fds[i][0], i % 2 == 0 ? JZX__POLL_ONCE : JZX__POLL_EDGE, JZX__READY_READ, i) == 0;
        say(fds[i][1]);
        while (added && look() <= 0 && ++waits < 5)
            whole = false;
        JZX_EXPECT(!added || heard(i) == JZX__READY_READ);
        if (added && change(fds[i][0], JZX__POLL_ONCE, JZX__READY_READ, i) < 0)
            whole = false;
        else if (added)
            JZX_EXPECT(look() == 1 || look() == 1 || look() == 1);
        if (added)
            JZX_EXPECT_EQ(remove_it(fds[i][0]), 0);
        whole = whole && added;
    }
    JZX_EXPECT(is_quiet(1, 0));
    for (uint32_t i = 0; i < 4; i++)
        close_both(fds[i]);
    close_world();
    return whole;
}

JZX_TEST(each_call_of_a_poller_fails_at_each_use_and_nothing_is_left_behind, "C+fail") {
    static const struct {
        enum os_call call;
        int error;
    } faults[] = {{OS_EPOLL_CREATE, EMFILE},
                  {OS_EPOLL_CTL, ENOSPC},
                  {OS_EPOLL_CTL, ENOMEM},
                  {OS_EPOLL_WAIT, EINTR},
                  {OS_CLOSE, EINTR},
                  {OS_IO_URING_SETUP, ENOMEM},
                  {OS_IO_URING_REGISTER, EPERM},
                  {OS_IO_URING_ENTER, EAGAIN},
                  {OS_IO_URING_ENTER, EBUSY},
                  {OS_IO_URING_ENTER, EINTR},
                  {OS_MAP, ENOMEM}};
    ON_EACH_BACKEND {
        close_world();
        for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
            bool was_used = true;
            for (uint32_t at = 1; was_used && at < 200; at++) {
                os_fail(faults[i].call, at, 1, faults[i].error);
                (void)use_poller(backends[backend]);
                was_used = os_faults.uses[faults[i].call] >= at;
                JZX_EXPECT_EQ(fixture_bytes(), 0);
                JZX_EXPECT_EQ(descriptors_open(), world.open_before);
            }
            JZX_EXPECT(!was_used); /* in the end no use is left to fail */
        }
        os_fail_never();
        JZX_EXPECT(use_poller(backends[backend]));
        JZX_EXPECT(open_world(backends[backend]));
    }
}

JZX_TEST(a_poller_without_memory_is_refused_and_the_next_one_is_not, "X9") {
    ON_EACH_BACKEND {
        close_world();
        for (uint64_t after = 0; after < 5; after++) {
            fixture_fail_allocations(after, 1);
            (void)use_poller(backends[backend]);
            JZX_EXPECT_EQ(fixture_bytes(), 0);
        }
        fixture_fail_allocations(UINT64_MAX, 0);
        JZX_EXPECT(use_poller(backends[backend]));
        JZX_EXPECT(open_world(backends[backend]));
    }
}

JZX_TEST(io_uring_is_one_of_the_back_ends_here) {
    if (!open_world(&jzx__poller_uring))
        skip();
    JZX_EXPECT(world.poller.ops->latches);
    close_world();
}
