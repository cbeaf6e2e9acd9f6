/* SPDX-License-Identifier: MIT */
/* Sleeping and waking: no wake is lost (P1), a wake costs one call (P2), and none of it needs a
 * time-out. A test that loses a wake does not end. */
#include "base/parker.h"

#include "base/mpsc.h"

#include "jzx_test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

static bool is_readable(int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

/* ---- one thread ---- */

JZX_TEST(a_wake_between_announcing_and_waiting_is_not_lost) {
    struct jzx__parker parker;
    jzx__parker_init(&parker);
    for (int i = 0; i < 1000; i++) {
        jzx__parker_announce(&parker, JZX__SLEEPS_ON_FUTEX);
        JZX_EXPECT(jzx__parker_wake(&parker));
        jzx__parker_wait(&parker, 0);
        JZX_EXPECT(!jzx__parker_sleeps(&parker));
    }
    jzx__parker_deinit(&parker);
}

JZX_TEST(who_did_not_announce_or_cancelled_does_not_wait) {
    struct jzx__parker parker;
    jzx__parker_init(&parker);
    jzx__parker_wait(&parker, 0);
    JZX_EXPECT(!jzx__parker_sleeps(&parker));
    jzx__parker_announce(&parker, JZX__SLEEPS_ON_FUTEX);
    JZX_EXPECT(jzx__parker_sleeps(&parker));
    jzx__parker_cancel(&parker);
    jzx__parker_wait(&parker, 0);
    JZX_EXPECT(!jzx__parker_sleeps(&parker));
    jzx__parker_deinit(&parker);
}

JZX_TEST(the_descriptor_is_made_once_and_closed_at_the_end) {
    struct jzx__parker parker;
    jzx__parker_init(&parker);
    int fd = jzx__parker_open_fd(&parker);
    assert_true(fd >= 0);
    JZX_EXPECT_EQ(jzx__parker_open_fd(&parker), fd);
    JZX_EXPECT(!is_readable(fd));
    jzx__parker_deinit(&parker);
    errno = 0;
    JZX_EXPECT_EQ(close(fd), -1);
    JZX_EXPECT_EQ(errno, EBADF);
}

JZX_TEST(a_wake_makes_the_announced_descriptor_readable_until_it_is_cleared) {
    struct jzx__parker parker;
    jzx__parker_init(&parker);
    int fd = jzx__parker_open_fd(&parker);
    for (int i = 0; i < 3; i++) {
        jzx__parker_announce(&parker, JZX__SLEEPS_ON_FD);
        JZX_EXPECT(!is_readable(fd));
        jzx__parker_wake(&parker);
        JZX_EXPECT(is_readable(fd));
        JZX_EXPECT(is_readable(fd));
        jzx__parker_clear_fd(&parker);
        JZX_EXPECT(!is_readable(fd));
        jzx__parker_clear_fd(&parker); /* also if it is clear already: must not block */
    }
    jzx__parker_deinit(&parker);
}

JZX_TEST(one_sleep_costs_its_wakers_one_call) {
    struct jzx__parker parker;
    uint64_t count = 0;
    jzx__parker_init(&parker);
    int fd = jzx__parker_open_fd(&parker);
    jzx__parker_announce(&parker, JZX__SLEEPS_ON_FD);
    for (int i = 0; i < 10; i++)
        jzx__parker_wake(&parker);
    JZX_EXPECT_EQ(read(fd, &count, sizeof count), sizeof count);
    JZX_EXPECT_EQ(count, 1);
    jzx__parker_deinit(&parker);
}

JZX_TEST(a_wake_of_somebody_awake_does_nothing) {
    struct jzx__parker parker;
    jzx__parker_init(&parker);
    int fd = jzx__parker_open_fd(&parker);
    jzx__parker_wake(&parker);
    JZX_EXPECT(!is_readable(fd));
    jzx__parker_announce(&parker, JZX__SLEEPS_ON_FD);
    jzx__parker_cancel(&parker);
    jzx__parker_wake(&parker);
    JZX_EXPECT(!is_readable(fd));
    jzx__parker_announce(&parker,
                         JZX__SLEEPS_ON_FUTEX); /* the futex, though there is a descriptor */
    jzx__parker_wake(&parker);
    JZX_EXPECT(!is_readable(fd));
    jzx__parker_deinit(&parker);
}

JZX_TEST(the_sleeper_itself_can_raise_and_clear_its_descriptor) {
    struct jzx__parker parker;
    jzx__parker_init(&parker);
    jzx__parker_raise_fd(&parker); /* nothing without a descriptor */
    jzx__parker_clear_fd(&parker);
    int fd = jzx__parker_open_fd(&parker);
    JZX_EXPECT(!is_readable(fd));
    jzx__parker_raise_fd(&parker);
    jzx__parker_raise_fd(&parker);
    JZX_EXPECT(is_readable(fd));
    jzx__parker_clear_fd(&parker);
    JZX_EXPECT(!is_readable(fd));
    jzx__parker_deinit(&parker);
}

static struct jzx__parker *woken_by_signal;

static void wake_on_signal(int number) {
    (void)number;
    jzx__parker_wake(woken_by_signal);
}

JZX_TEST(a_signal_handler_may_wake_and_leaves_errno_alone) {
    struct jzx__parker parker;
    jzx__parker_init(&parker);
    woken_by_signal = &parker;
    signal(SIGUSR1, wake_on_signal);
    jzx__parker_announce(&parker, JZX__SLEEPS_ON_FUTEX);
    errno = ENOTTY;
    raise(SIGUSR1);
    JZX_EXPECT_EQ(errno, ENOTTY);
    jzx__parker_wait(&parker, 0);

    int fd = jzx__parker_open_fd(&parker);
    uint64_t almost_full = UINT64_MAX - 1; /* a further write fails, and sets errno */
    assert_int_equal(write(fd, &almost_full, sizeof almost_full), sizeof almost_full);
    jzx__parker_announce(&parker, JZX__SLEEPS_ON_FD);
    errno = ENOTTY;
    raise(SIGUSR1);
    JZX_EXPECT_EQ(errno, ENOTTY);
    JZX_EXPECT(is_readable(fd));
    jzx__parker_deinit(&parker);
}

/* ---- two threads ---- */

struct player {
    struct jzx__parker parker;
    struct jzx__mpsc inbox;
    struct player *other;
    uint64_t rounds;
    bool polls; /* sleeps in poll(2) on the descriptor */
};

static void sleep_until_there_is_work(struct player *me) {
    jzx__parker_announce(&me->parker, me->polls ? JZX__SLEEPS_ON_FD : JZX__SLEEPS_ON_FUTEX);
    if (jzx__mpsc_is_empty_seq_cst(&me->inbox)) {
        if (me->polls) {
            struct pollfd entry = {.fd = jzx__parker_open_fd(&me->parker), .events = POLLIN};
            JZX_EXPECT_EQ(poll(&entry, 1, -1), 1);
        } else {
            jzx__parker_wait(&me->parker, 0);
        }
    }
    jzx__parker_cancel(&me->parker);
    if (me->polls)
        jzx__parker_clear_fd(&me->parker);
}

static struct jzx__mpsc_node *wait_for_ball(struct player *me) {
    struct jzx__mpsc_node *ball;
    while ((ball = jzx__mpsc_take_all(&me->inbox)) == NULL)
        sleep_until_there_is_work(me);
    return ball;
}

static void *play(void *ctx) {
    struct player *me = ctx;
    for (uint64_t i = 0; i < me->rounds; i++) {
        struct jzx__mpsc_node *ball = wait_for_ball(me);
        JZX_EXPECT(ball->next == NULL);
        jzx__mpsc_push(&me->other->inbox, ball);
        jzx__parker_wake(&me->other->parker);
    }
    return NULL;
}

static void ping_pong(bool first_polls, bool second_polls, uint64_t rounds) {
    struct player players[2];
    struct jzx__mpsc_node ball;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        players[i].other = &players[1 - i];
        players[i].rounds = rounds;
        players[i].polls = i == 0 ? first_polls : second_polls;
        jzx__mpsc_init(&players[i].inbox);
        jzx__parker_init(&players[i].parker);
        assert_true(jzx__parker_open_fd(&players[i].parker) >= 0);
    }
    jzx__mpsc_push(&players[0].inbox, &ball);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, play, &players[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++)
        jzx__parker_deinit(&players[i].parker);
}

JZX_TEST(two_threads_that_sleep_on_futexes_never_miss_a_wake) {
    ping_pong(false, false, jzx_test_rounds(10000, 100000));
}

JZX_TEST(two_threads_that_sleep_in_poll_never_miss_a_wake) {
    ping_pong(true, true, jzx_test_rounds(5000, 50000));
}

JZX_TEST(a_futex_and_a_descriptor_work_together) {
    ping_pong(false, true, jzx_test_rounds(5000, 50000));
}

/* A sleeper that is interrupted by signals goes on sleeping until it is really woken. */
struct interrupted {
    struct jzx__parker parker;
    _Atomic uint64_t announced; /* rounds in which the sleeper has announced */
    _Atomic uint64_t allowed;   /* rounds in which it may wake up */
    uint64_t rounds;
};

static void do_nothing(int number) {
    (void)number;
}

static void *sleep_through_signals(void *ctx) {
    struct interrupted *shared = ctx;
    for (uint64_t i = 1; i <= shared->rounds; i++) {
        jzx__parker_announce(&shared->parker, JZX__SLEEPS_ON_FUTEX);
        jzx__atomic_store_seq_cst(&shared->announced, i);
        jzx__parker_wait(&shared->parker, 0);
        JZX_EXPECT_EQ(jzx__atomic_load_seq_cst(&shared->allowed), i);
    }
    return NULL;
}

JZX_TEST(a_signal_does_not_end_the_wait) {
    struct interrupted shared = {.rounds = jzx_test_rounds(1000, 100000)};
    struct sigaction action = {.sa_handler = do_nothing}; /* no SA_RESTART */
    pthread_t sleeper;
    jzx__parker_init(&shared.parker);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(pthread_create(&sleeper, NULL, sleep_through_signals, &shared), 0);
    for (uint64_t i = 1; i <= shared.rounds; i++) {
        while (jzx__atomic_load_seq_cst(&shared.announced) != i)
            sched_yield();
        for (int n = 0; n < 3; n++) {
            pthread_kill(sleeper, SIGUSR1);
            sched_yield();
        }
        jzx__atomic_store_seq_cst(&shared.allowed, i);
        jzx__parker_wake(&shared.parker);
    }
    assert_int_equal(pthread_join(sleeper, NULL), 0);
    jzx__parker_deinit(&shared.parker);
}
