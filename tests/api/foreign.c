/* SPDX-License-Identifier: MIT */
/* What other threads may do with a loop while it runs. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>

/* Waits until the loop has gone to sleep so many times: then only a wake ends the sleep. */
static void wait_until_parked(jzx_loop *loop, uint64_t times) {
    while (fixture_stats(loop).parked < times)
        sched_yield();
}

static pthread_t start(void *(*fn)(void *), void *arg) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fn, arg), 0);
    return thread;
}

struct shared {
    jzx_loop *loop;
    jzx_actor_id id;
    struct recorder log;
    uint32_t count;
};

/* ---- waking ---- */

static void *send_to_sleeper(void *arg) {
    struct shared *shared = arg;
    for (uint32_t i = 0; i < shared->count; i++) {
        wait_until_parked(shared->loop, i + 1);
        JZX_EXPECT_EQ(jzx_send_async(shared->loop, shared->id, NULL, 0, i), JZX_OK);
    }
    return NULL;
}

JZX_TEST(a_send_wakes_a_sleeping_loop_at_once, "C8", "X16", "C+tool", "C+loop") {
    struct shared shared = {.loop = fixture_loop(), .count = 100};
    shared.log.stop_at = shared.count;
    shared.id =
        fixture_spawn(shared.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &shared.log));
    pthread_t thread = start(send_to_sleeper, &shared);
    /* There is no time-out in the loop: a wake that got lost would hang here. */
    assert_int_equal(jzx_loop_run(shared.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(shared.log.count, 100);
    fixture_destroy(shared.loop);
}

static void *stop_sleeper(void *arg) {
    struct shared *shared = arg;
    wait_until_parked(shared->loop, 1);
    JZX_EXPECT_EQ(jzx_loop_request_stop(shared->loop), JZX_OK);
    return NULL;
}

JZX_TEST(request_stop_wakes_a_sleeping_loop, "X16", "C+loop") {
    struct shared shared = {.loop = fixture_loop()};
    fixture_spawn(shared.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &shared.log));
    pthread_t thread = start(stop_sleeper, &shared);
    assert_int_equal(jzx_loop_run(shared.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_destroy(shared.loop);
}

/* ---- order ---- */

static void *send_many(void *arg) {
    struct shared *shared = arg;
    for (uint32_t i = 0; i < shared->count; i++) {
        while (jzx_send_async(shared->loop, shared->id, &i, sizeof i, i) == JZX_ERR_MAILBOX_FULL)
            sched_yield();
    }
    return NULL;
}

JZX_TEST(sends_of_another_thread_arrive_in_order, "C8", "C9", "X16", "C+inv", "C+tool") {
    struct shared shared = {.loop = fixture_loop(), .count = 512};
    shared.log.stop_at = shared.count;
    shared.id =
        fixture_spawn(shared.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &shared.log));
    pthread_t thread = start(send_many, &shared);
    assert_int_equal(jzx_loop_run(shared.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(shared.log.count, 512);
    for (uint32_t i = 0; i < 512; i++)
        assert_int_equal(shared.log.tags[i], i);
    fixture_destroy(shared.loop);
}

/* What another thread sent before does not wait for a busy actor's whole queue of turns. */
JZX_TEST(what_other_threads_sent_is_taken_in_before_actors_run, "C9", "C+loop") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_async_drain = 2));
    static struct recorder logs[5];
    jzx_actor_id ids[5];
    for (int i = 0; i < 5; i++) {
        logs[i] = (struct recorder){.stop_at = 1};
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &logs[i]));
    }
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK); /* all five live and are idle */
    for (int i = 0; i < 5; i++)
        fixture_send(loop, ids[i], 1);
    assert_int_equal(jzx_loop_step(loop, 0), JZX_OK); /* one pass: two were taken in, one ran */
    int ran = 0;
    int taken = 0;
    for (int i = 0; i < 5; i++)
        ran += (int)logs[i].count;
    assert_int_equal(ran, 1);
    taken = (int)fixture_stats(loop).injected;
    assert_int_equal(taken, 2);
    assert_int_equal(jzx_loop_run(loop), JZX_OK); /* and none of the five is forgotten */
    for (int i = 0; i < 5; i++)
        assert_int_equal(logs[i].count, 1);
    fixture_destroy(loop);
}

/* ---- everything else that is safe from any thread ---- */

static void *use_everything(void *arg) {
    struct shared *shared = arg;
    jzx_loop *loop = shared->loop;
    wait_until_parked(loop, 1);
    jzx_actor_id spawned = JZX_NOBODY;
    JZX_EXPECT_EQ(
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &shared->log, .name = "far"),
                  &spawned),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_send(loop, spawned, JZX_NOBODY, NULL, 0, 1), JZX_OK); /* valid at once */
    void *buffer = jzx_msg_alloc(loop, 100, NULL);
    JZX_EXPECT_EQ(jzx_send_msg(loop, spawned, JZX_NOBODY, buffer, 2), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_when_room(loop, shared->id, spawned), JZX_OK);
    jzx_actor_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    JZX_EXPECT_EQ(jzx_actor_info_get(loop, shared->id, &info), JZX_OK);
    JZX_EXPECT(info.is_partial);
    JZX_EXPECT_EQ(jzx_actor_next(loop, &cursor, &info), JZX_OK);
    JZX_EXPECT(info.is_partial);
    JZX_EXPECT_EQ(jzx_loop_set_observer(loop, NULL, NULL), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_step(loop, 0), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_fd(loop), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, shared->id, JZX_STOP_KILL), JZX_OK);
    return NULL;
}

JZX_TEST(other_threads_may_spawn_send_ask_and_stop, "X16", "C7", "C+fail", "X15") {
    struct shared shared = {.loop = fixture_loop()};
    struct recorder target = {0};
    shared.log.stop_at = 3;
    shared.id = fixture_spawn(shared.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &target));
    pthread_t thread = start(use_everything, &shared);
    assert_int_equal(jzx_loop_run(shared.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(shared.log.count, 3);
    assert_int_equal(shared.log.tags[0], 1);
    assert_int_equal(shared.log.tags[1], 2);
    assert_int_equal(shared.log.tags[2], JZX_TAG_ROOM);
    assert_int_equal(fixture_stats(shared.loop).spawned, 2);
    fixture_destroy(shared.loop);
}

static void *end_it(void *arg) {
    struct shared *shared = arg;
    wait_until_parked(shared->loop, 1);
    static const jzx_stop_kind kinds[] = {JZX_STOP_AFTER_MESSAGE, JZX_STOP_AFTER_QUEUE,
                                          JZX_STOP_KILL};
    if (shared->count < 3)
        JZX_EXPECT_EQ(jzx_actor_stop(shared->loop, shared->id, kinds[shared->count]), JZX_OK);
    else
        JZX_EXPECT_EQ(jzx_actor_fail(shared->loop, shared->id), JZX_OK);
    return NULL;
}

static jzx_exit_reason last_reason;

static void note_reason(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    last_reason = reason;
}

JZX_TEST(every_kind_of_end_reaches_an_idle_actor_from_another_thread, "X16", "C27") {
    static const jzx_exit_reason reasons[] = {JZX_EXIT_NORMAL, JZX_EXIT_NORMAL, JZX_EXIT_KILLED,
                                              JZX_EXIT_FAIL};
    for (uint32_t i = 0; i < 4; i++) {
        struct shared shared = {.loop = fixture_loop(), .count = i};
        shared.id =
            fixture_spawn(shared.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &shared.log,
                                                       .cleanup = note_reason));
        pthread_t thread = start(end_it, &shared);
        assert_int_equal(jzx_loop_run(shared.loop), JZX_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(last_reason, reasons[i]);
        fixture_destroy(shared.loop);
    }
}

/* ---- calls from other threads ---- */

static void look_and_stop(jzx_loop *loop, void *ctx) {
    struct shared *shared = ctx;
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(loop, shared->id, &info), JZX_OK);
    JZX_EXPECT_EQ(info.status, JZX_ACTOR_RUNNING);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, shared->id, JZX_STOP_AFTER_QUEUE), JZX_OK);
}

static void *call_sleeper(void *arg) {
    struct shared *shared = arg;
    wait_until_parked(shared->loop, 1);
    JZX_EXPECT_EQ(jzx_loop_call(shared->loop, look_and_stop, shared), JZX_OK);
    return NULL;
}

JZX_TEST(a_call_wakes_a_sleeping_loop, "X16", "C+loop") {
    struct shared shared = {.loop = fixture_loop()};
    shared.id =
        fixture_spawn(shared.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &shared.log));
    pthread_t thread = start(call_sleeper, &shared);
    assert_int_equal(jzx_loop_run(shared.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_destroy(shared.loop);
}

/* ---- a loop that moves from thread to thread ---- */

static void *step_once(void *arg) {
    struct shared *shared = arg;
    JZX_EXPECT_EQ(jzx_loop_step(shared->loop, JZX_NEVER), JZX_OK);
    return NULL;
}

JZX_TEST(a_loop_may_be_driven_by_one_thread_after_another, "X16") {
    struct shared shared = {.loop = fixture_loop()};
    shared.id =
        fixture_spawn(shared.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &shared.log));
    for (uint32_t i = 0; i < 20; i++) {
        fixture_send(shared.loop, shared.id, i);
        assert_int_equal(pthread_join(start(step_once, &shared), NULL), 0);
        assert_int_equal(shared.log.count, i + 1);
    }
    fixture_destroy(shared.loop);
}

/* ---- max_actors from outside and inside ---- */

static jzx_behavior_result spawn_until_full(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *made = ctx->state;
    (void)msg;
    while (jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = record, .daemon = true), NULL) ==
           JZX_OK)
        ++*made;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(the_loops_thread_and_others_share_one_bound, "C4", "X16") {
    static const uint32_t bounds[] = {1, 63, 64, 1000, 5000};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_actors = bounds[i]));
        uint32_t made = 0;
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spawn_until_full, .state = &made));
        fixture_send(loop, id, 1);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        assert_int_equal(made, bounds[i] - 1);
        fixture_destroy(loop);
    }
}
