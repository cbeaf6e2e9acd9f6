/* SPDX-License-Identifier: MIT */
/* Why a turn takes long, by real threads: one that computes, one that waits in the kernel. */
#include "sched/cause.h"

#include "jzx_test.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#define MS UINT64_C(1000000)

static struct {
    pthread_t thread;
    sem_t is_there;
    sem_t go;
    _Atomic bool computes;
    int id;
} other;

static void *compute_then_wait(void *arg) {
    (void)arg;
    other.id = jzx__thread_id();
    sem_post(&other.is_there);
    while (other.computes)
        continue;
    while (sem_wait(&other.go) != 0 && errno == EINTR)
        continue;
    return NULL;
}

static void open_other(void) {
    sem_init(&other.is_there, 0, 0);
    sem_init(&other.go, 0, 0);
    other.computes = true;
    assert_int_equal(pthread_create(&other.thread, NULL, compute_then_wait, NULL), 0);
    while (sem_wait(&other.is_there) != 0)
        continue;
}

static void close_other(void) {
    sem_post(&other.go);
    assert_int_equal(pthread_join(other.thread, NULL), 0);
}

/* Between these readings 20 ms have passed. */
static const struct jzx__usage before = {.at_ns = 5 * MS, .cpu_ns = 7 * MS, .delay_ns = 3 * MS};

static struct jzx__usage after(uint64_t used_ns, uint64_t delayed_ns) {
    return (struct jzx__usage){.at_ns = before.at_ns + 20 * MS,
                               .cpu_ns = before.cpu_ns + used_ns,
                               .delay_ns = before.delay_ns + delayed_ns};
}

JZX_TEST(a_thread_that_used_the_cpu_for_half_of_the_time_or_long_enough_computes, "E8") {
    struct jzx__usage half = after(10 * MS, 0);
    struct jzx__usage enough = after(5 * MS, 0);
    JZX_EXPECT_EQ(jzx__cause_of(&before, &half, 15 * MS, 0), JZX__CAUSE_COMPUTES);
    JZX_EXPECT_EQ(jzx__cause_of(&before, &enough, 5 * MS, 0), JZX__CAUSE_COMPUTES);
    JZX_EXPECT_EQ(jzx__cause_of_past(&before, &half, 15 * MS), JZX__CAUSE_COMPUTES);
}

/* It could run, and has hardly had a CPU: the readings say so, the thread is real. */
JZX_TEST(a_thread_that_could_run_and_has_no_cpu_is_held_up_and_one_that_sleeps_is_blocked, "E8") {
    struct jzx__usage little = after(1 * MS, 0);
    open_other();
    JZX_EXPECT_EQ(jzx__thread_look(other.id), JZX__THREAD_RUNS);
    JZX_EXPECT_EQ(jzx__cause_of(&before, &little, 5 * MS, other.id), JZX__CAUSE_HELD_UP);
    other.computes = false;
    while (jzx__thread_look(other.id) != JZX__THREAD_SLEEPS)
        continue;
    JZX_EXPECT_EQ(jzx__cause_of(&before, &little, 5 * MS, other.id), JZX__CAUSE_BLOCKED);
    close_other();
}

JZX_TEST(a_turn_that_is_over_was_held_up_if_its_thread_waited_for_a_cpu_for_half_of_the_time) {
    struct jzx__usage delayed = after(1 * MS, 10 * MS);
    struct jzx__usage asleep = after(1 * MS, 10 * MS - 1);
    JZX_EXPECT_EQ(jzx__cause_of_past(&before, &delayed, 5 * MS), JZX__CAUSE_HELD_UP);
    JZX_EXPECT_EQ(jzx__cause_of_past(&before, &asleep, 5 * MS), JZX__CAUSE_BLOCKED);
}

JZX_TEST(nothing_is_said_of_a_thread_that_the_system_does_not_show) {
    struct jzx__usage none = {.at_ns = 25 * MS};
    struct jzx__usage little = after(1 * MS, 0);
    JZX_EXPECT_EQ(jzx__cause_of(&before, &none, 5 * MS, 0), JZX__CAUSE_UNKNOWN);
    JZX_EXPECT_EQ(jzx__cause_of(&none, &little, 5 * MS, 0), JZX__CAUSE_UNKNOWN);
    JZX_EXPECT_EQ(jzx__cause_of(&before, &little, 5 * MS, 0), JZX__CAUSE_UNKNOWN);
    JZX_EXPECT_EQ(jzx__cause_of_past(&none, &little, 5 * MS), JZX__CAUSE_UNKNOWN);
    JZX_EXPECT_EQ(jzx__thread_look(0), JZX__THREAD_UNKNOWN);
}

JZX_TEST(the_usage_of_a_thread_grows_while_it_computes) {
    struct jzx__usage first = {0};
    struct jzx__usage later = {0};
    open_other();
    jzx__thread_usage(other.thread, other.id, &first);
    JZX_EXPECT(first.cpu_ns != 0);
    do {
        jzx__thread_usage(other.thread, other.id, &later);
        JZX_EXPECT(later.cpu_ns >= first.cpu_ns && later.delay_ns >= first.delay_ns);
    } while (later.cpu_ns == first.cpu_ns);
    other.computes = false;
    close_other();
}
