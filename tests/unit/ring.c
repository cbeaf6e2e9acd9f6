/* SPDX-License-Identifier: MIT */
/* A ring of io_uring, on the real kernel, with a table of system calls that can fail at any use. */
#include "io/ring.h"

#include "jzx_test.h"

#include "descriptors.h"
#include "os_faults.h"

#include <jzx/jzx.h>

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#if defined(JZX__HAS_IO_URING)

static struct {
    struct jzx__ring ring;
    int open_before;
} world;

static void open_world(uint32_t entries) {
    world.open_before = descriptors_open();
    os_fail_never();
    int err = jzx__ring_open(&world.ring, &os_faulty, entries);
    if (err == -ENOSYS || err == -EPERM)
        skip(); /* this system has no io_uring, or forbids it */
    assert_int_equal(err, 0);
}

static void close_world(void) {
    os_fail_never();
    jzx__ring_close(&world.ring);
    JZX_EXPECT_EQ(world.ring.fd, -1);
    JZX_EXPECT_EQ(descriptors_open(), world.open_before);
}

static struct io_uring_sqe request(uint8_t opcode, int fd, uint64_t key) {
    struct io_uring_sqe entry;
    memset(&entry, 0, sizeof entry);
    entry.opcode = opcode;
    entry.fd = fd;
    entry.user_data = key;
    return entry;
}

static struct io_uring_sqe no_op(uint64_t key) {
    return request(IORING_OP_NOP, -1, key);
}

static struct io_uring_sqe read_of(int fd, void *place, uint32_t size, uint64_t key) {
    struct io_uring_sqe entry = request(IORING_OP_READ, fd, key);
    entry.addr = (uint64_t)(uintptr_t)place;
    entry.len = size;
    entry.off = UINT64_MAX;
    return entry;
}

/* Waits for one, which must be that; returns its result. */
static int32_t result_of(uint64_t key) {
    struct jzx__ring_done done = {0};
    while (jzx__ring_reap(&world.ring, &done, 1) == 0)
        assert_int_equal(jzx__ring_wait(&world.ring, JZX_NEVER), 0);
    JZX_EXPECT_EQ(done.key, key);
    return done.result;
}

JZX_TEST(a_request_completes_with_its_key) {
    open_world(4);
    JZX_EXPECT(jzx__ring_can(&world.ring, IORING_OP_READ));
    JZX_EXPECT(!jzx__ring_can(&world.ring, 255));
    JZX_EXPECT(!jzx__ring_can(&world.ring, 256));
    struct io_uring_sqe entry = no_op(77);
    assert_int_equal(jzx__ring_start(&world.ring, &entry), 0);
    JZX_EXPECT_EQ(result_of(77), 0);
    struct jzx__ring_done done;
    JZX_EXPECT_EQ(jzx__ring_reap(&world.ring, &done, 1), 0);
    close_world();
}

JZX_TEST(requests_that_were_pushed_wait_for_a_submit) {
    open_world(4);
    struct jzx__ring_done done[8];
    for (uint64_t key = 1; key <= 4; key++) {
        struct io_uring_sqe entry = no_op(key);
        assert_int_equal(jzx__ring_push(&world.ring, &entry), 0);
    }
    struct io_uring_sqe fifth = no_op(5);
    JZX_EXPECT_EQ(jzx__ring_push(&world.ring, &fifth), -EBUSY);
    JZX_EXPECT_EQ(jzx__ring_start(&world.ring, &fifth), -EBUSY);
    JZX_EXPECT_EQ(jzx__ring_reap(&world.ring, done, 8), 0);
    JZX_EXPECT_EQ(jzx__ring_submit(&world.ring), 0);
    assert_int_equal(jzx__ring_reap(&world.ring, done, 8), 4);
    for (uint64_t i = 0; i < 4; i++)
        JZX_EXPECT_EQ(done[i].key, i + 1);
    close_world();
}

JZX_TEST(more_completions_than_places_are_kept_and_reaped) {
    open_world(4); /* 8 places */
    struct jzx__ring_done done[3];
    uint64_t next = 1;
    uint32_t count;
    for (uint64_t key = 1; key <= 50; key++) {
        struct io_uring_sqe entry = no_op(key);
        assert_int_equal(jzx__ring_start(&world.ring, &entry), 0);
    }
    while ((count = jzx__ring_reap(&world.ring, done, 3)) != 0) {
        for (uint32_t i = 0; i < count; i++)
            JZX_EXPECT_EQ(done[i].key, next++);
    }
    JZX_EXPECT_EQ(next, 51);
    close_world();
}

JZX_TEST(a_start_that_is_refused_leaves_nothing_in_the_ring) {
    static const int errors[] = {EAGAIN, EBUSY, ENOMEM};
    open_world(2);
    for (uint32_t i = 0; i < 3; i++) {
        struct io_uring_sqe pushed = no_op(1);
        struct io_uring_sqe refused = no_op(2);
        struct io_uring_sqe taken = no_op(3);
        os_fail(OS_IO_URING_ENTER, 1, 1, errors[i]);
        assert_int_equal(jzx__ring_push(&world.ring, &pushed), 0);
        JZX_EXPECT_EQ(jzx__ring_start(&world.ring, &refused), -errors[i]);
        JZX_EXPECT_EQ(jzx__ring_start(&world.ring, &taken), 0);
        JZX_EXPECT_EQ(result_of(1), 0); /* it was pushed before, and goes with the next one */
        JZX_EXPECT_EQ(result_of(3), 0);
    }
    struct jzx__ring_done done;
    JZX_EXPECT_EQ(jzx__ring_reap(&world.ring, &done, 1), 0);
    close_world();
}

JZX_TEST(a_submit_that_is_refused_keeps_what_was_pushed) {
    open_world(2);
    struct io_uring_sqe entry = no_op(9);
    os_fail(OS_IO_URING_ENTER, 1, 1, ENOMEM);
    assert_int_equal(jzx__ring_push(&world.ring, &entry), 0);
    JZX_EXPECT_EQ(jzx__ring_wait(&world.ring, JZX_NEVER), -ENOMEM);
    JZX_EXPECT_EQ(jzx__ring_submit(&world.ring), 0);
    JZX_EXPECT_EQ(result_of(9), 0);
    close_world();
}

JZX_TEST(an_interrupted_submit_is_made_again) {
    open_world(2);
    struct io_uring_sqe entry = no_op(9);
    os_fail(OS_IO_URING_ENTER, 1, 3, EINTR);
    assert_int_equal(jzx__ring_start(&world.ring, &entry), 0);
    JZX_EXPECT_EQ(os_faults.uses[OS_IO_URING_ENTER], 4);
    JZX_EXPECT_EQ(result_of(9), 0);
    os_fail(OS_IO_URING_ENTER, 1, 1, EINTR);
    JZX_EXPECT_EQ(jzx__ring_wait(&world.ring, JZX_NEVER), 0); /* early: the caller reaps */
    close_world();
}

JZX_TEST(an_open_that_fails_at_any_call_leaves_nothing) {
    static const enum os_call calls[] = {OS_IO_URING_SETUP, OS_IO_URING_REGISTER, OS_MAP, OS_MAP};
    open_world(4);
    close_world();
    int before = descriptors_open();
    for (uint32_t i = 0; i < 4; i++) {
        os_fail(calls[i], i == 3 ? 2 : 1, 1, ENOMEM);
        JZX_EXPECT_EQ(jzx__ring_open(&world.ring, &os_faulty, 4), -ENOMEM);
        JZX_EXPECT_EQ(world.ring.fd, -1);
        JZX_EXPECT_EQ(descriptors_open(), before);
    }
    os_fail(OS_IO_URING_SETUP, 1, 1, EPERM);
    JZX_EXPECT_EQ(jzx__ring_open(&world.ring, &os_faulty, 4), -EPERM);
}

static int setup_without_nodrop(unsigned entries, struct io_uring_params *params) {
    int fd = jzx__os_system.io_uring_setup(entries, params);
    params->features &= ~(uint32_t)IORING_FEAT_NODROP;
    return fd;
}

JZX_TEST(a_kernel_without_what_is_needed_is_refused) {
    open_world(4);
    close_world();
    int before = descriptors_open();
    struct jzx__os os = jzx__os_system;
    os.io_uring_setup = setup_without_nodrop;
    JZX_EXPECT_EQ(jzx__ring_open(&world.ring, &os, 4), -ENOSYS);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

JZX_TEST(a_wait_ends_by_its_timeout_or_by_a_completion) {
    open_world(4);
    int fds[2];
    char byte = 0;
    assert_int_equal(pipe(fds), 0);
    struct jzx__ring_done done;
    struct io_uring_sqe entry = read_of(fds[0], &byte, 1, 5);
    assert_int_equal(jzx__ring_start(&world.ring, &entry), 0);
    JZX_EXPECT_EQ(jzx__ring_wait(&world.ring, 0), 0);
    JZX_EXPECT_EQ(jzx__ring_wait(&world.ring, JZX_MS(2)), 0);
    JZX_EXPECT_EQ(jzx__ring_reap(&world.ring, &done, 1), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    JZX_EXPECT_EQ(result_of(5), 1);
    JZX_EXPECT_EQ(byte, 'x');
    (void)close(fds[0]);
    (void)close(fds[1]);
    close_world();
}

JZX_TEST(the_descriptor_is_readable_while_there_is_something_to_reap) {
    open_world(4);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | (uint32_t)EPOLLET};
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, world.ring.fd, &event), 0);
    for (uint64_t key = 1; key <= 20; key++) { /* an edge for each one, though none is left */
        struct io_uring_sqe entry = no_op(key);
        JZX_EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
        assert_int_equal(jzx__ring_start(&world.ring, &entry), 0);
        JZX_EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 1);
        JZX_EXPECT_EQ(result_of(key), 0);
    }
    (void)close(epoll);
    close_world();
}

static void *start_and_exit(void *arg) {
    const struct io_uring_sqe *entry = arg;
    JZX_EXPECT_EQ(jzx__ring_start(&world.ring, entry), 0);
    return NULL;
}

/* ring/G2: what a user has to reckon with. The byte is not lost with the request. */
JZX_TEST(requests_of_a_thread_that_exits_fail_and_the_ring_lives_on) {
    open_world(4);
    int fds[2];
    char byte = 0;
    pthread_t thread;
    assert_int_equal(pipe(fds), 0);
    struct io_uring_sqe entry = read_of(fds[0], &byte, 1, 5);
    assert_int_equal(pthread_create(&thread, NULL, start_and_exit, &entry), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    int32_t result = result_of(5);
    JZX_EXPECT(result == -ECANCELED || result == -EFAULT);
    assert_int_equal(jzx__ring_start(&world.ring, &entry), 0);
    JZX_EXPECT_EQ(result_of(5), 1);
    JZX_EXPECT_EQ(byte, 'x');
    (void)close(fds[0]);
    (void)close(fds[1]);
    close_world();
}

JZX_TEST(another_thread_may_cancel_a_request) {
    open_world(4);
    int fds[2];
    char byte = 0;
    pthread_t thread;
    assert_int_equal(pipe(fds), 0);
    struct io_uring_sqe entry = read_of(fds[0], &byte, 1, 5);
    struct io_uring_sqe cancel = request(IORING_OP_ASYNC_CANCEL, -1, 6);
    cancel.addr = 5;
    assert_int_equal(jzx__ring_start(&world.ring, &entry), 0);
    assert_int_equal(pthread_create(&thread, NULL, start_and_exit, &cancel), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    struct jzx__ring_done done[2];
    uint32_t count = 0;
    while ((count += jzx__ring_reap(&world.ring, done + count, 2 - count)) < 2)
        assert_int_equal(jzx__ring_wait(&world.ring, JZX_NEVER), 0);
    const struct jzx__ring_done *read = done[0].key == 5 ? &done[0] : &done[1];
    JZX_EXPECT_EQ(read->key, 5);
    JZX_EXPECT_EQ(read->result, -ECANCELED);
    (void)close(fds[0]);
    (void)close(fds[1]);
    close_world();
}

/* ---- many threads ---- */

#define SUBMITTERS 3u

/* A record that its submitter writes and the reaper reads (ring/G5). */
struct record {
    _Atomic uint32_t is_handed_over;
    uint64_t value;
};

static uint64_t per_thread;

static void *submit_many(void *arg) {
    struct record *records = arg;
    for (uint64_t i = 0; i < per_thread; i++) {
        struct record *record = &records[i];
        record->value = i + 1;
        /* release: pairs with the acquire of the reaper; the value is there (G5) */
        jzx__atomic_store_release(&record->is_handed_over, 1);
        struct io_uring_sqe entry = no_op((uint64_t)(uintptr_t)record);
        while (jzx__ring_start(&world.ring, &entry) != 0)
            sched_yield();
    }
    return NULL;
}

JZX_TEST(requests_of_many_threads_complete_once_each) {
    open_world(8);
    world.ring.os = &jzx__os_system; /* the table with faults counts for one thread */
    per_thread = jzx_test_rounds(2000, 20000);
    size_t size = SUBMITTERS * per_thread * sizeof(struct record);
    struct record *records = test_malloc(size);
    pthread_t threads[SUBMITTERS];
    struct jzx__ring_done done[16];
    uint64_t sum = 0;
    memset(records, 0, size);
    for (uint32_t i = 0; i < SUBMITTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, records + i * per_thread),
                         0);
    for (uint64_t left = SUBMITTERS * per_thread; left != 0;) {
        uint32_t count = jzx__ring_reap(&world.ring, done, 16);
        left -= count;
        for (uint32_t i = 0; i < count; i++) {
            struct record *record = (void *)(uintptr_t)done[i].key;
            /* acquire: pairs with the release of the submitter */
            JZX_EXPECT_EQ(jzx__atomic_load_acquire(&record->is_handed_over), 1);
            sum += record->value;
            record->value = 0;
        }
        if (count == 0)
            (void)jzx__ring_wait(&world.ring, JZX_MS(10));
    }
    for (uint32_t i = 0; i < SUBMITTERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    JZX_EXPECT_EQ(sum, SUBMITTERS * (per_thread * (per_thread + 1) / 2));
    test_free(records);
    close_world();
}

#else

JZX_TEST(without_the_header_a_ring_is_not_opened) {
    struct jzx__ring ring;
    JZX_EXPECT_EQ(jzx__ring_open(&ring, &jzx__os_system, 4), -ENOSYS);
    JZX_EXPECT_EQ(ring.fd, -1);
    JZX_EXPECT(!jzx__ring_can(&ring, 0));
}

#endif
