/* SPDX-License-Identifier: MIT */
/* Threads that send to typed actors, registered and manual, while the loop runs and stops: each
 * message is handled once, by one thread at a time. Made for ThreadSanitizer. */
#include "fixture.h"

#include <jzx/typed.h>

#include <pthread.h>
#include <sched.h>

#define SENDERS 3

/* An array cannot be assigned, a struct can. */
struct nexts {
    uint32_t of[SENDERS];
};
#define TALLY(T, STATE, ON, ASK)                                                                   \
    STATE(T, uint64_t, count, 0)                                                                   \
    STATE(T, struct nexts, next, (struct nexts){{0}})                                              \
    ON(T, add, uint32_t, sender, uint32_t, number)                                                 \
    ON(T, poke)                                                                                    \
    ASK(T, count, uint64_t)
JZX_ACTOR_TYPE(tally, TALLY);

static jzx_behavior_result tally_on_add(jzx_context *ctx, struct tally *self,
                                        const struct tally_add *msg) {
    jzx_test_ran();
    (void)ctx;
    JZX_EXPECT_EQ(msg->number, self->next.of[msg->sender]);
    self->next.of[msg->sender]++;
    self->count++;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result tally_on_poke(jzx_context *ctx, struct tally *self,
                                         const struct tally_poke *msg) {
    jzx_test_ran();
    (void)ctx, (void)self, (void)msg;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result tally_on_count(jzx_context *ctx, struct tally *self,
                                          const struct tally_count *msg, uint64_t *answer) {
    (void)ctx, (void)msg;
    *answer = self->count;
    return JZX_BEHAVIOR_OK;
}

struct sender {
    jzx_loop *loop;
    jzx_actor_id to;
    uint32_t number;
    uint32_t count;
    pthread_t thread;
};

static void *send_all(void *arg) {
    struct sender *self = arg;
    for (uint32_t i = 0; i < self->count; i++) {
        jzx_err err;
        while ((err = tally_post_add(self->loop, self->to, self->number, i)) ==
               JZX_ERR_MAILBOX_FULL)
            sched_yield();
        JZX_EXPECT_EQ(err, JZX_OK);
    }
    return NULL;
}

static void start_senders(struct sender *senders, jzx_loop *loop, jzx_actor_id to, uint32_t count) {
    for (uint32_t i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){.loop = loop, .to = to, .number = i, .count = count};
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
    }
}

static void join_senders(struct sender *senders) {
    for (uint32_t i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_join(senders[i].thread, NULL), 0);
}

static void *run_it(void *loop) {
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    return NULL;
}

JZX_TEST(threads_send_to_a_registered_actor_and_nothing_is_stranded, "E25", "E26", "E27", "X6") {
    uint32_t each = (uint32_t)jzx_test_rounds(20000, 400000);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    struct sender senders[SENDERS];
    pthread_t runner;
    jzx_actor_id id;
    uint64_t count = 0;
    assert_int_equal(tally_spawn(loop, &id), JZX_OK);
    assert_int_equal(pthread_create(&runner, NULL, run_it, loop), 0);
    start_senders(senders, loop, id, each);
    join_senders(senders);
    assert_int_equal(tally_call_count_wait(loop, id, JZX_NEVER, &count), JZX_OK);
    assert_int_equal(count, (uint64_t)SENDERS * each);
    assert_int_equal(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    assert_int_equal(pthread_join(runner, NULL), 0);
    fixture_destroy(loop);
}

/* Polls until all have come; the loop is run by another thread, again and again, or by nobody. */
static void poll_all(jzx_loop *loop, jzx_manual *manual, uint64_t expected) {
    uint64_t handled = 0;
    while (handled < expected) {
        size_t count = 0;
        bool one = false;
        JZX_EXPECT_EQ(jzx_manual_poll_one(manual, &one), JZX_OK);
        JZX_EXPECT_EQ(jzx_manual_drain(manual, 0, &count), JZX_OK);
        handled += count + one;
        if (count == 0)
            sched_yield();
    }
    const struct tally *state = jzx_manual_state(manual);
    JZX_EXPECT_EQ(state->count, expected);
    fixture_check_books(loop);
}

JZX_TEST(threads_send_to_a_manual_actor_that_another_thread_polls, "E24") {
    uint32_t each = (uint32_t)jzx_test_rounds(5000, 100000);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    struct sender senders[SENDERS];
    jzx_manual *manual;
    assert_int_equal(tally_manual(loop, &manual), JZX_OK);
    start_senders(senders, loop, jzx_manual_id(manual), each);
    poll_all(loop, manual, (uint64_t)SENDERS * each);
    join_senders(senders);
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

struct runs {
    jzx_loop *loop;
    _Atomic bool is_over;
};

/* Runs the loop, which has nothing to do and returns, time and again. */
static void *run_again(void *arg) {
    struct runs *runs = arg;
    while (!runs->is_over)
        JZX_EXPECT_EQ(jzx_loop_run(runs->loop), JZX_OK);
    return NULL;
}

JZX_TEST(a_manual_actor_is_polled_while_the_loop_is_run_again_and_again, "E24") {
    uint32_t each = (uint32_t)jzx_test_rounds(1000, 20000);
    struct runs runs = {.loop = fixture_loop_with(&JZX_CONFIG(.workers = 2))};
    struct sender senders[SENDERS];
    pthread_t runner;
    jzx_manual *manual;
    assert_int_equal(tally_manual(runs.loop, &manual), JZX_OK);
    assert_int_equal(pthread_create(&runner, NULL, run_again, &runs), 0);
    start_senders(senders, runs.loop, jzx_manual_id(manual), each);
    uint64_t handled = 0;
    while (handled < (uint64_t)SENDERS * each) {
        size_t count = 0;
        JZX_EXPECT_EQ(jzx_manual_drain(manual, 0, &count), JZX_OK);
        handled += count;
    }
    join_senders(senders);
    runs.is_over = true;
    assert_int_equal(pthread_join(runner, NULL), 0);
    jzx_manual_destroy(manual);
    fixture_destroy(runs.loop);
    JZX_EXPECT(jzx_test_runs() != 0);
}

/* The poll may be first, and end the loop itself. */
static void *run_and_stop(void *loop) {
    jzx_err err = jzx_loop_run(loop);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_LOOP_CLOSED);
    return NULL;
}

JZX_TEST(a_loop_stops_while_its_manual_actor_is_polled, "E24") {
    uint64_t rounds = jzx_test_rounds(60, 2000);
    for (uint64_t round = 0; round < rounds; round++) {
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
        pthread_t runner;
        jzx_manual *manual;
        jzx_err err = JZX_OK;
        assert_int_equal(tally_manual(loop, &manual), JZX_OK);
        assert_int_equal(jzx_loop_hold(loop), JZX_OK);
        assert_int_equal(pthread_create(&runner, NULL, run_and_stop, loop), 0);
        for (uint32_t i = 0; err == JZX_OK; i++) {
            (void)tally_post_poke(loop, jzx_manual_id(manual));
            (void)tally_post_poke(loop, jzx_manual_id(manual));
            if (i == round % 7)
                assert_int_equal(jzx_loop_request_stop(loop), JZX_OK);
            err = round % 2 == 0 ? jzx_manual_drain(manual, 0, NULL)
                                 : jzx_manual_poll_one(manual, NULL);
        }
        assert_int_equal(err, JZX_ERR_NO_SUCH_ACTOR);
        assert_int_equal(pthread_join(runner, NULL), 0);
        jzx_manual_destroy(manual);
        fixture_destroy(loop);
    }
    JZX_EXPECT(jzx_test_runs() != 0);
}
