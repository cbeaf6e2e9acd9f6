/* SPDX-License-Identifier: MIT */
/* A spawn of another thread that is under way while the run of its loop ends. The constructor of a
 * typed state runs in the middle of it, and waits there. */
#include "fixture.h"

#include <jzx/typed.h>

#include <pthread.h>
#include <semaphore.h>

#define COUNTER(T, STATE, ON, ASK) STATE(T, uint32_t, count, 0) ON(T, add, uint32_t, number)
JZX_ACTOR_TYPE(counter, COUNTER);

static struct {
    jzx_loop *loop;
    jzx_actor_type type;
    sem_t is_under_way;
    sem_t may_go_on;
    jzx_err err;  /* of the spawn, */
    jzx_err sent; /* and of a send after it */
    uint32_t cleanups;
    jzx_exit_reason reason;
} s;

static jzx_behavior_result counter_on_add(jzx_context *ctx, struct counter *self,
                                          const struct counter_add *msg) {
    (void)ctx;
    self->count += msg->number;
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

static void construct_slowly(void *state) {
    (void)state;
    sem_post(&s.is_under_way);
    while (sem_wait(&s.may_go_on) != 0)
        continue;
}

static void clean_up(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    s.cleanups++;
    s.reason = reason;
}

static void *spawn_one(void *arg) {
    jzx_actor_id id = JZX_NOBODY;
    (void)arg;
    s.err = jzx_spawn(s.loop, &JZX_SPAWN_OPTS(.type = &s.type, .cleanup = clean_up), &id);
    s.sent = jzx_send(s.loop, id, JZX_NOBODY, NULL, 0, 1);
    return NULL;
}

/* The run has ended, and the loop is closed; then the spawn goes on, and comes to its end. */
static void end_run_under_spawn(uint32_t workers) {
    pthread_t thread;
    memset(&s, 0, sizeof s);
    s.type = counter_type;
    s.type.construct = construct_slowly;
    s.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_int_equal(sem_init(&s.is_under_way, 0, 0), 0);
    assert_int_equal(sem_init(&s.may_go_on, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, spawn_one, NULL), 0);
    while (sem_wait(&s.is_under_way) != 0)
        continue;
    assert_int_equal(jzx_loop_request_stop(s.loop), JZX_OK);
    assert_int_equal(jzx_loop_run(s.loop), JZX_OK);
    sem_post(&s.may_go_on);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(s.err, JZX_OK);
    assert_int_equal(s.sent, JZX_ERR_LOOP_CLOSED);
}

static void tear_down(void) {
    sem_destroy(&s.is_under_way);
    sem_destroy(&s.may_go_on);
    assert_int_equal(s.cleanups, 1);
    assert_int_equal(s.reason, JZX_EXIT_SHUTDOWN);
}

JZX_TEST(an_actor_that_comes_after_the_run_is_ended_by_the_next_call, "X14", "C+inv") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        end_run_under_spawn(workers);
        if (workers == 1)
            assert_int_equal(jzx_loop_step(s.loop, 0), JZX_ERR_LOOP_CLOSED);
        else
            assert_int_equal(jzx_loop_run(s.loop), JZX_ERR_LOOP_CLOSED);
        assert_int_equal(fixture_stats(s.loop).spawned, 1);
        assert_int_equal(fixture_stats(s.loop).exited, 1);
        fixture_destroy(s.loop);
        tear_down();
    }
}

JZX_TEST(an_actor_that_comes_after_the_run_is_ended_by_destroy, "X14", "C+inv") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        end_run_under_spawn(workers);
        assert_int_equal(jzx_loop_destroy(s.loop), JZX_OK);
        tear_down();
    }
}
