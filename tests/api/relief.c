/* SPDX-License-Identifier: MIT */
/* No actor waits while an idle worker could run it (W9). Each behaviour here blocks or computes
 * until another thread of the loop has done something: without relief the test does not end.
 * Stalls are not reported unless a test asks for it. */
#include "watching_fd.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

enum { GO = 1, BEAT = 2, WAKE = 3 };

/* A signal may interrupt it. */
static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

static jzx_loop *open_with(jzx_config config) {
    if (config.stall_after_ns == 0)
        config.stall_after_ns = JZX_NEVER;
    if (config.relieve_after_ns == 0)
        config.relieve_after_ns = JZX_DEFAULT_RELIEVE_AFTER_NS; /* the fixture's default is never */
    jzx_loop *loop = fixture_loop_with(&config);
    assert_non_null(loop);
    return loop;
}

/* The state of the actor that does not return. Its turn begins with a post to begun. */
static struct {
    sem_t begun;
    sem_t go;
    _Atomic uint32_t runs;   /* of others, meanwhile */
    _Atomic uint32_t wanted; /* so many let the holder go */
    uint32_t rounds;         /* of the holder that are left */
} world;

static void open_world(uint32_t wanted) {
    sem_init(&world.begun, 0, 0);
    sem_init(&world.go, 0, 0);
    world.runs = 0;
    world.wanted = wanted;
    world.rounds = 1;
}

static jzx_behavior_result block(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    sem_post(&world.begun);
    wait_for(&world.go);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result compute(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    sem_post(&world.begun);
    while (world.runs < world.wanted)
        continue;
    return JZX_BEHAVIOR_STOP;
}

/* Runs while the holder does not return. */
static jzx_behavior_result run_once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    if (++world.runs == world.wanted)
        sem_post(&world.go);
    return JZX_BEHAVIOR_STOP;
}

/* The first message makes it known to its worker; the next is the one that counts. */
static jzx_behavior_result run_again(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag != WAKE)
        return JZX_BEHAVIOR_OK;
    return run_once(ctx, msg);
}

/* ---- actors that other threads spawn ---- */

static void *spawn_fresh(void *arg) {
    jzx_loop *loop = arg;
    wait_for(&world.begun);
    for (uint32_t i = 0; i < world.wanted; i++)
        fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = run_once)), GO);
    return NULL;
}

static void check_fresh(jzx_behavior_fn holder, jzx_config config) {
    pthread_t thread;
    open_world(5);
    jzx_loop *loop = open_with(config);
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = holder)), GO);
    assert_int_equal(pthread_create(&thread, NULL, spawn_fresh, loop), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(world.runs, 5);
    JZX_EXPECT_EQ(jzx_test_runs(), 5);
    fixture_destroy(loop);
}

JZX_TEST(actors_that_another_thread_spawns_run_beside_a_blocked_worker, "E6") {
    check_fresh(block, JZX_CONFIG(.workers = 2, .spare_threads_max = JZX_NONE));
}

JZX_TEST(actors_that_another_thread_spawns_run_beside_a_computing_worker, "E6") {
    check_fresh(compute, JZX_CONFIG(.workers = 2, .spare_threads_max = JZX_NONE));
}

/* The sender wakes a worker; no watchdog is there. */
JZX_TEST(a_spawn_beside_a_blocked_worker_needs_no_watchdog, "E6") {
    check_fresh(block, JZX_CONFIG(.workers = 2, .relieve_after_ns = JZX_NEVER));
}

/* ---- actors that the worker has already ---- */

static struct {
    jzx_loop *loop;
    jzx_actor_id holder;
    jzx_actor_id others[5];
} old;

static void *wake_old(void *arg) {
    (void)arg;
    wait_for(&world.begun);
    for (uint32_t i = 0; i < world.wanted; i++)
        fixture_send(old.loop, old.others[i], WAKE);
    return NULL;
}

/* Spawned on the holder's worker; the holder begins when they have run there. */
static jzx_behavior_result make_old(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    for (uint32_t i = 0; i < world.wanted; i++) {
        old.others[i] = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = run_again));
        fixture_send(ctx->loop, old.others[i], BEAT);
    }
    fixture_send(ctx->loop, old.holder, GO);
    return JZX_BEHAVIOR_STOP;
}

static jzx_stats check_old(jzx_behavior_fn holder, jzx_config config) {
    pthread_t thread;
    open_world(5);
    jzx_loop *loop = open_with(config);
    old.loop = loop;
    old.holder =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = holder, .place = JZX_PLACE_WORKER(0)));
    fixture_send(
        loop,
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = make_old, .place = JZX_PLACE_WORKER(0))),
        GO);
    assert_int_equal(pthread_create(&thread, NULL, wake_old, NULL), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(jzx_test_runs(), 5);
    jzx_stats stats = fixture_stats(loop);
    fixture_destroy(loop);
    return stats;
}

JZX_TEST(actors_of_a_computing_worker_run_on_another_thread, "E6", "E8") {
    jzx_stats stats = check_old(compute, JZX_CONFIG(.workers = 2, .balance = JZX_BALANCE_NONE));
    JZX_EXPECT(stats.handovers >= 1);
    JZX_EXPECT_EQ(stats.stalls, 0); /* relief is no report */
}

JZX_TEST(actors_of_a_blocked_worker_run_on_another_thread, "E6", "E8") {
    jzx_stats stats = check_old(block, JZX_CONFIG(.workers = 2, .balance = JZX_BALANCE_NONE));
    JZX_EXPECT(stats.handovers >= 1);
    JZX_EXPECT_EQ(stats.stalls, 0);
}

/* ---- when no spare thread is left ---- */

JZX_TEST(actors_of_a_blocked_worker_move_if_no_spare_thread_is_left, "E6", "E8") {
    jzx_stats stats = check_old(block, JZX_CONFIG(.workers = 2, .spare_threads_max = JZX_NONE,
                                                  .balance = JZX_BALANCE_NONE));
    JZX_EXPECT_EQ(stats.handovers, 0);
}

static struct {
    uint32_t count;
    char text[512];
} limit;

static void keep_limit(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    (void)level;
    if (strstr(text, "no spare thread is left") == NULL)
        return;
    limit.count++;
    snprintf(limit.text, sizeof limit.text, "%s", text);
    sem_post(&world.go);
    sem_post(&world.go);
}

/* No thread is left for a worker that is blocked and has something to do. The line lets the
 * behaviours go on that it tells of. */
JZX_TEST(the_log_names_once_the_behaviours_that_keep_all_spare_threads) {
    open_world(99);
    memset(&limit, 0, sizeof limit);
    jzx_loop *loop = open_with(JZX_CONFIG(.workers = 3, .spare_threads_max = JZX_NONE,
                                          .balance = JZX_BALANCE_NONE,
                                          .log = {.write = keep_limit, .level = JZX_LOG_WARN}));
    for (uint16_t i = 0; i < 2; i++) {
        jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = block, .name = i == 0 ? "alice" : "bob",
                                             .place = JZX_PLACE_WORKER(i));
        fixture_send(loop, fixture_spawn(loop, &opts), GO);
        opts.behavior = run_once; /* it may not leave, and waits */
        opts.name = NULL;
        fixture_send(loop, fixture_spawn(loop, &opts), GO);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(limit.count, 1);
    JZX_EXPECT(strstr(limit.text, "alice") != NULL || strstr(limit.text, "bob") != NULL);
    JZX_EXPECT_EQ(world.runs, 2);
    fixture_destroy(loop);
}

/* As many blocked behaviours as spares and workers together, and more. */
static struct {
    sem_t go[8];
    _Atomic uint32_t next;
} crowd;

static jzx_behavior_result block_in_crowd(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    sem_post(&world.begun);
    wait_for(&crowd.go[crowd.next++]);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result beat(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    if (++world.runs < 100)
        return JZX_BEHAVIOR_OK;
    for (uint32_t i = 0; i < 8; i++)
        sem_post(&crowd.go[i]);
    return JZX_BEHAVIOR_STOP;
}

/* Lets one block after another, so that all but the last thread are used up, and then sends. */
static void *crowd_and_beat(void *arg) {
    const jzx_actor_id *ids = arg;
    for (uint32_t i = 1; i <= 8; i++) {
        fixture_send(old.loop, ids[i], GO);
        if (i <= 4) /* two workers and two spares; the others may wait behind them */
            wait_for(&world.begun);
    }
    for (uint32_t i = 0; i < 100; i++)
        fixture_send(old.loop, ids[0], BEAT);
    return NULL;
}

JZX_TEST(a_loop_with_more_blocked_behaviours_than_threads_goes_on_when_they_return, "E8") {
    jzx_actor_id ids[9];
    pthread_t thread;
    open_world(0);
    crowd.next = 0;
    old.loop = open_with(JZX_CONFIG(.workers = 3, .spare_threads_max = 2));
    ids[0] = fixture_spawn(old.loop, &JZX_SPAWN_OPTS(.behavior = beat));
    for (uint32_t i = 0; i < 8; i++) {
        sem_init(&crowd.go[i], 0, i >= 4); /* those that come late return at once */
        ids[i + 1] = fixture_spawn(old.loop, &JZX_SPAWN_OPTS(.behavior = block_in_crowd));
    }
    assert_int_equal(pthread_create(&thread, NULL, crowd_and_beat, ids), 0);
    assert_int_equal(jzx_loop_run(old.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(world.runs, 100);
    JZX_EXPECT_EQ(crowd.next, 8);
    fixture_destroy(old.loop);
}

/* ---- timers and I/O of a computing worker ---- */

static jzx_behavior_result compute_for_timer(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == GO)
        JZX_EXPECT_EQ(
            jzx_send_after(ctx->loop, old.others[0], ctx->self, NULL, 0, WAKE, JZX_US(100), NULL),
            JZX_OK);
    return compute(ctx, msg);
}

JZX_TEST(timers_of_a_computing_worker_fire, "E6") {
    open_world(1);
    jzx_loop *loop = open_with(JZX_CONFIG(.workers = 2));
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = run_again, .place = JZX_PLACE_WORKER(1));
    old.others[0] = fixture_spawn(loop, &opts);
    fixture_send(loop,
                 fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = compute_for_timer,
                                                     .place = JZX_PLACE_WORKER(1))),
                 GO);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT(fixture_stats(loop).handovers >= 1);
    fixture_destroy(loop);
}

static int pipe_ends[2];

static jzx_behavior_result hear_of_pipe(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == GO) {
        JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, pipe_ends[0], ctx->self, JZX_IO_READ, WAKE), JZX_OK);
        fixture_send(ctx->loop, old.holder, GO);
        return JZX_BEHAVIOR_OK;
    }
    JZX_EXPECT_EQ(jzx_unwatch_fd(ctx->loop, pipe_ends[0]), JZX_OK);
    return run_once(ctx, msg);
}

static jzx_behavior_result write_and_compute(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
    return compute(ctx, msg);
}

JZX_TEST(readiness_reaches_the_actors_of_a_computing_worker, "E6") {
    open_world(1);
    assert_int_equal(pipe(pipe_ends), 0);
    jzx_loop *loop = open_with(JZX_CONFIG(.workers = 2));
    old.holder = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = write_and_compute, .place = JZX_PLACE_WORKER(1)));
    fixture_send(loop,
                 fixture_spawn(
                     loop, &JZX_SPAWN_OPTS(.behavior = hear_of_pipe, .place = JZX_PLACE_WORKER(1))),
                 GO);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

/* ---- what is said of it ---- */

static struct {
    _Atomic uint32_t stalls;
    _Atomic uint32_t ends;
    jzx_stall_cause cause;
    uint32_t tag;
    bool handed_over;
} told;

static void hear(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_STALL_END)
        told.ends++;
    if (event->kind != JZX_EVENT_STALL)
        return;
    told.cause = event->cause;
    told.tag = event->tag;
    told.handed_over = event->handed_over;
    told.stalls++;
    sem_post(&world.go);
}

static jzx_behavior_result compute_until_told(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    fixture_send(ctx->loop, old.others[0], WAKE);
    while (told.stalls == 0)
        continue;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result block_until_told(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    fixture_send(ctx->loop, old.others[0], WAKE);
    wait_for(&world.go);
    return JZX_BEHAVIOR_STOP;
}

static void check_told(jzx_behavior_fn holder, jzx_stall_cause cause) {
    open_world(99);
    memset(&told, 0, sizeof told);
    jzx_loop *loop = open_with(JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(10),
                                          .balance = JZX_BALANCE_NONE, .log.level = JZX_LOG_OFF));
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = hear), NULL), JZX_OK);
    const uint16_t place = JZX_PLACE_WORKER(1);
    old.others[0] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = run_again, .place = place));
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = holder, .place = place)),
                 GO);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(told.stalls, 1);
    JZX_EXPECT_EQ(told.ends, 1);
    JZX_EXPECT_EQ(told.cause, cause);
    JZX_EXPECT(told.handed_over);
    JZX_EXPECT_EQ(fixture_stats(loop).stalls, 1);
    fixture_destroy(loop);
}

/* Its worker was taken long before. */
JZX_TEST(a_relieved_turn_that_computes_on_is_reported_as_that, "E8") {
    check_told(compute_until_told, JZX_STALL_COMPUTES);
}

JZX_TEST(a_relieved_turn_that_blocks_is_reported_as_that, "E8") {
    check_told(block_until_told, JZX_STALL_BLOCKED);
}

static void block_in_fiber(jzx_context *ctx) {
    fixture_send(ctx->loop, old.others[0], WAKE);
    wait_for(&world.go);
}

/* A message of another actor is the last that its thread has handled. */
static jzx_behavior_result spawn_fiber(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    fixture_spawn(ctx->loop,
                  &JZX_SPAWN_OPTS(.fiber = block_in_fiber, .place = JZX_PLACE_WORKER(1)));
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_fiber_without_a_message_is_reported_with_tag_0, "E8") {
    check_told(spawn_fiber, JZX_STALL_BLOCKED);
    JZX_EXPECT_EQ(told.tag, 0);
}

/* ---- a monitor ---- */

static jzx_actor_info seen;

/* Looks until the worker has gone on, and then lets the holder go. */
static void *look_at_holder(void *arg) {
    jzx_loop *loop = arg;
    wait_for(&world.begun);
    seen = (jzx_actor_info){.size = sizeof seen};
    while (fixture_stats(loop).handovers == 0)
        sched_yield();
    do {
        JZX_EXPECT_EQ(jzx_actor_info_get(loop, old.holder, &seen), JZX_OK);
    } while (seen.activity == JZX_ACTIVITY_RUNNING); /* a moment before */
    world.wanted = 0;
    sem_post(&world.go);
    return NULL;
}

static void check_monitor(jzx_behavior_fn holder) {
    pthread_t thread;
    open_world(99);
    jzx_loop *loop = open_with(JZX_CONFIG(.workers = 2, .balance = JZX_BALANCE_NONE));
    const uint16_t place = JZX_PLACE_WORKER(1);
    old.holder = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = holder, .place = place));
    fixture_send(loop, old.holder, GO);
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = run_once, .place = place)),
                 GO);
    assert_int_equal(pthread_create(&thread, NULL, look_at_holder, loop), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(seen.activity, JZX_ACTIVITY_BLOCKED);
    JZX_EXPECT_EQ(seen.current_tag, GO);
    JZX_EXPECT_EQ(seen.id, old.holder);
    fixture_destroy(loop);
}

static jzx_behavior_result compute_for_monitor(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    sem_post(&world.begun);
    while (world.wanted != 0)
        continue;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_monitor_sees_an_actor_whose_worker_went_on, "E12") {
    check_monitor(block);
    check_monitor(compute_for_monitor);
}
