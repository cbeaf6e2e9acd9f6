/* SPDX-License-Identifier: MIT */
/* The store of examples/database: one part fails, and the others do not notice. The loop runs on a
 * thread of its own, with one worker and with four; the test moves its clock, and never faster than
 * every worker follows. */
#include "fixture.h"

#include "../../examples/database/store.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { TICK_MS = 10, WORKERS_MAX = 4, RESTARTS_MAX = 16, ASK_COUNTERS = 3000 };

static struct rig {
    jzx_clock *clock;
    jzx_loop *loop;
    jzx_actor_id root;
    jzx_actor_id clerk;
    uint32_t workers;
    pthread_t thread;
    sem_t ticked;   /* once by every worker for every tick */
    sem_t answered; /* result or counters are there */
    struct result *result;
    struct counters counters;
    /* Of the merger, by the observer. */
    uint64_t failed_ns;
    uint64_t waited_ns[RESTARTS_MAX]; /* from the failure to the restart */
    uint64_t delay_ns[RESTARTS_MAX];  /* as the event says */
    atomic_uint restarts;
} rig;

/* ---- what runs in the loop ---- */

/* The next tick is set before this one is told, so that the clock cannot overtake it. */
static jzx_err tick_next(jzx_context *ctx) {
    jzx_err err =
        jzx_send_after(ctx->loop, ctx->self, ctx->self, NULL, 0, 1, JZX_MS(TICK_MS), NULL);
    sem_post(&rig.ticked);
    return err;
}

static jzx_behavior_result tell_tick(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT_EQ(tick_next(ctx), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* Asks metrics for the test's thread, and takes the answers to it. */
static jzx_behavior_result clerk(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id id = JZX_NOBODY;
    switch (msg->tag) {
    case ASK_COUNTERS:
        JZX_EXPECT_EQ(jzx_lookup(ctx->loop, "metrics", &id), JZX_OK);
        JZX_EXPECT_EQ(jzx_ask(ctx, id, NULL, 0, READ_COUNTERS, JZX_NEVER, NULL), JZX_OK);
        break;
    case COUNTERS:
        memcpy(&rig.counters, msg->data, sizeof rig.counters);
        sem_post(&rig.answered);
        break;
    case QUERY_RESULT:
        rig.result = jzx_msg_take(ctx, msg);
        sem_post(&rig.answered);
        break;
    default: JZX_EXPECT_EQ(msg->tag, QUERY_RESULT); break;
    }
    return JZX_BEHAVIOR_OK;
}

static void on_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->name == NULL || strcmp(event->name, "merge") != 0)
        return;
    unsigned count = atomic_load(&rig.restarts);
    if (event->kind == JZX_EVENT_ACTOR_FAIL) {
        rig.failed_ns = jzx_loop_now(rig.loop);
    } else if (event->kind == JZX_EVENT_ACTOR_RESTART && count < RESTARTS_MAX) {
        rig.waited_ns[count] = jzx_loop_now(rig.loop) - rig.failed_ns;
        rig.delay_ns[count] = event->elapsed_ns;
        atomic_store(&rig.restarts, count + 1);
    }
}

static void *run(void *arg) {
    (void)arg;
    JZX_EXPECT_EQ(jzx_loop_run(rig.loop), JZX_OK);
    return NULL;
}

/* ---- the rig ---- */

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0)
        continue;
}

/* One step of the clock, and every worker has seen it. */
static void tick(void) {
    assert_int_equal(jzx_clock_advance(rig.clock, JZX_MS(TICK_MS)), JZX_OK);
    for (uint32_t i = 0; i < rig.workers; i++)
        wait_for(&rig.ticked);
}

static jzx_actor_id id_of(const char *name) {
    jzx_actor_id id = JZX_NOBODY;
    return jzx_lookup(rig.loop, name, &id) == JZX_OK ? id : JZX_NOBODY;
}

static void rig_open(uint32_t workers) {
    memset(&rig, 0, sizeof rig);
    rig.workers = workers;
    sem_init(&rig.ticked, 0, 0);
    sem_init(&rig.answered, 0, 0);
    rig.clock = jzx_clock_manual(0);
    assert_non_null(rig.clock);
    rig.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers, .clock = rig.clock));
    assert_non_null(rig.loop);
    assert_int_equal(jzx_loop_set_observer(rig.loop, &JZX_OBSERVER(.on_event = on_event), NULL),
                     JZX_OK);
    assert_int_equal(store_start(rig.loop, &rig.root), JZX_OK);
    rig.clerk = fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = clerk, .daemon = true));
    for (uint32_t i = 0; i < workers; i++)
        fixture_spawn(rig.loop,
                      &JZX_SPAWN_OPTS(.behavior = tell_tick, .init = tick_next, .daemon = true,
                                      .place = (uint16_t)JZX_PLACE_WORKER(i)));
    assert_int_equal(pthread_create(&rig.thread, NULL, run, NULL), 0);
    for (uint32_t i = 0; i < workers; i++)
        wait_for(&rig.ticked); /* all set their timers at time 0 */
    while (id_of("gate") == JZX_NOBODY)
        tick();
}

static void rig_close(void) {
    assert_int_equal(jzx_actor_stop(rig.loop, rig.root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    assert_int_equal(pthread_join(rig.thread, NULL), 0);
    fixture_destroy(rig.loop);
    assert_int_equal(jzx_clock_free(rig.clock), JZX_OK);
    sem_destroy(&rig.ticked);
    sem_destroy(&rig.answered);
}

/* ---- what the tests do and see ---- */

/* Points at 0, 10, 20, ... whose values tell their times. */
static struct point point_at(uint32_t i) {
    return (struct point){.time_ms = 10 * (int64_t)i, .value = 0.25 * (double)i};
}

static void append(const char *series, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++)
        assert_int_equal(store_append(rig.loop, series, point_at(i)), JZX_OK);
}

static uint64_t counted(enum counter counter) {
    assert_int_equal(jzx_send(rig.loop, rig.clerk, JZX_NOBODY, NULL, 0, ASK_COUNTERS), JZX_OK);
    wait_for(&rig.answered);
    return rig.counters.values[counter];
}

/* All points of a series that the store has: those at 0, 10, ..., in order, or the test fails. */
static uint32_t stored(const char *series) {
    struct range range = {.from_ms = INT64_MIN, .to_ms = INT64_MAX};
    snprintf(range.series, sizeof range.series, "%s", series);
    assert_int_equal(store_query(rig.loop, &range, rig.clerk), JZX_OK);
    wait_for(&rig.answered);
    assert_true(rig.result->complete);
    uint32_t count = rig.result->count;
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(rig.result->points[i].time_ms, point_at(i).time_ms);
        assert_true(rig.result->points[i].value == point_at(i).value);
    }
    jzx_msg_free(rig.loop, rig.result);
    return count;
}

/* Goes on until they are there: if they never are, the test runs into its time limit. */
static void await_stored(const char *series, uint32_t count) {
    while (stored(series) < count)
        tick();
    assert_int_equal(stored(series), count);
}

static jzx_actor_id supervisor(const char *name) {
    jzx_actor_id id = JZX_NOBODY;
    assert_int_equal(jzx_supervisor_child(rig.loop, rig.root, name, &id), JZX_OK);
    return id;
}

/* The child with that name, wherever it is in the row. */
static jzx_child_info child_of(const char *parent, const char *name) {
    jzx_child_info info = {.size = sizeof info};
    size_t i = 0;
    do
        assert_int_equal(jzx_supervisor_child_info(rig.loop, supervisor(parent), i++, &info),
                         JZX_OK);
    while (strcmp(info.name, name) != 0);
    return info;
}

/* ---- one series fails ---- */

static void check_bad_point(uint32_t workers) {
    rig_open(workers);
    append("a", 0, 50);
    append("b", 0, 50);
    append("c", 0, 50);
    while (counted(POINTS_TAKEN) < 150)
        continue; /* no tick: nothing is flushed, all is in the memory of the heads */
    jzx_actor_id a = id_of("head/a");
    jzx_actor_id b = id_of("head/b");
    jzx_actor_id c = id_of("head/c");
    jzx_actor_id ingest = id_of("ingest");

    assert_int_equal(store_append(rig.loop, "b", (struct point){500, (double)NAN}), JZX_OK);
    append("a", 50, 100);
    append("b", 50, 100);
    append("c", 50, 100);
    await_stored("a", 100);
    await_stored("b", 100); /* only the bad point is gone */
    await_stored("c", 100);
    assert_int_equal(id_of("head/a"), a);
    assert_int_not_equal(id_of("head/b"), b);
    assert_int_equal(id_of("head/c"), c);
    assert_int_equal(id_of("ingest"), ingest);
    assert_int_equal(child_of("ingest", "a").restarts, 0);
    assert_int_equal(child_of("ingest", "b").restarts, 1);
    assert_non_null(strstr(child_of("ingest", "b").last_text, "isfinite"));
    assert_int_equal(child_of("ingest", "c").restarts, 0);
    assert_int_equal(counted(POINTS_TAKEN), 300);
    assert_int_equal(counted(POINTS_LOST), 0);
    rig_close();
}

JZX_TEST(a_bad_point_restarts_the_head_of_its_series_and_no_other, "C25", "C26") {
    check_bad_point(1);
}

JZX_TEST(a_bad_point_restarts_one_head_on_four_workers, "C25", "C26") {
    check_bad_point(WORKERS_MAX);
}

/* ---- the merger fails ---- */

static void fail_merger(void) {
    const struct point points[] = {{2, 0}, {1, 0}}; /* not sorted */
    struct block *block = block_create(rig.loop, "bad", 0, points, 2);
    assert_non_null(block);
    assert_int_equal(block_send(rig.loop, "merge", JZX_NOBODY, block), JZX_OK);
    jzx_msg_free(rig.loop, block);
    while (child_of("merging", "merge").state != JZX_CHILD_WAITING)
        tick();
}

/* Points that come while the merger does not run are taken. */
static void append_without_merger(uint32_t from, uint32_t to) {
    append("a", from, to);
    append("b", from, to);
    while (counted(POINTS_TAKEN) < 2 * to)
        continue; /* the clock stands still: it cannot have been started again */
    assert_int_equal(child_of("merging", "merge").state, JZX_CHILD_WAITING);
    assert_int_equal(id_of("merge"), JZX_NOBODY);
}

static void await_merger(unsigned restarts) {
    while (atomic_load(&rig.restarts) < restarts)
        tick();
    assert_int_equal(atomic_load(&rig.restarts), restarts);
    assert_int_equal(rig.delay_ns[restarts - 1], JZX_MS(100) << (restarts - 1));
    assert_true(rig.waited_ns[restarts - 1] >= rig.delay_ns[restarts - 1]);
}

static void check_merge_failure(uint32_t workers) {
    rig_open(workers);
    append("a", 0, 20);
    append("b", 0, 20);
    await_stored("a", 20);
    await_stored("b", 20);
    jzx_actor_id a = id_of("head/a");
    jzx_actor_id b = id_of("head/b");
    jzx_actor_id ingest = id_of("ingest");
    jzx_actor_id merging = supervisor("merging");

    fail_merger();
    append_without_merger(20, 50);
    assert_int_equal(stored("a"), 20); /* what was merged before can still be read */
    await_merger(1);
    fail_merger();
    append_without_merger(50, 80);
    await_merger(2);
    await_stored("a", 80); /* what was flushed to the merger that failed was flushed again */
    await_stored("b", 80);
    assert_int_equal(id_of("head/a"), a);
    assert_int_equal(id_of("head/b"), b);
    assert_int_equal(id_of("ingest"), ingest);
    assert_int_equal(supervisor("merging"), merging);
    assert_int_equal(child_of("ingest", "a").restarts, 0);
    assert_int_equal(child_of("ingest", "b").restarts, 0);
    assert_int_equal(child_of("merging", "merge").restarts, 2);
    assert_int_equal(counted(POINTS_REFUSED) + counted(POINTS_LOST), 0);
    rig_close();
}

JZX_TEST(a_merge_that_fails_is_tried_again_later_and_ingestion_goes_on, "C25", "C26") {
    check_merge_failure(1);
}

JZX_TEST(a_merge_that_fails_does_not_stop_ingestion_on_four_workers, "C25", "C26") {
    check_merge_failure(WORKERS_MAX);
}

/* The merger fails at all times between two flushes: also with blocks that it has not merged. */
static void check_failures_at_all_times(uint32_t workers) {
    enum { ROUNDS = 10 }; /* a tick apart; more of them, and the points would be too old */
    rig_open(workers);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        append("a", 5 * round, 5 * round + 5);
        append("b", 5 * round, 5 * round + 5);
        for (uint32_t i = 0; i < round; i++)
            tick();
        fail_merger();
        while (atomic_load(&rig.restarts) <= round)
            tick();
    }
    await_stored("a", 5 * ROUNDS);
    await_stored("b", 5 * ROUNDS);
    assert_int_equal(counted(POINTS_LOST), 0);
    rig_close();
}

JZX_TEST(no_point_is_lost_with_a_merger_whenever_that_fails, "C26") {
    check_failures_at_all_times(1);
    check_failures_at_all_times(WORKERS_MAX);
}

/* ---- bounds ---- */

JZX_TEST(a_head_takes_what_it_can_hold_and_refuses_the_rest, "C25") {
    rig_open(1);
    append("a", 0, 1);
    await_stored("a", 1);
    fail_merger();
    append("a", 1, 1 + 3 * HEAD_POINTS);
    while (counted(POINTS_TAKEN) + counted(POINTS_REFUSED) < 1 + 3 * HEAD_POINTS)
        continue;
    /* A block that is under way, and as many again. */
    assert_int_equal(counted(POINTS_TAKEN), 1 + 2 * HEAD_POINTS);
    assert_int_equal(counted(POINTS_REFUSED), HEAD_POINTS);
    await_stored("a", 1 + 2 * HEAD_POINTS);
    rig_close();
}

JZX_TEST(compaction_drops_what_is_older_than_the_retention, "C25") {
    rig_open(1);
    append("a", 0, 5);
    await_stored("a", 5);
    append("a", 5, 10);
    await_stored("a", 10); /* merged into one block */
    while (jzx_loop_now(rig.loop) < JZX_MS(RETENTION_MS))
        tick();
    assert_int_equal(stored("a"), 10); /* its last point is at 90 ms */
    assert_int_equal(counted(BLOCKS_DROPPED), 0);
    while (counted(BLOCKS_DROPPED) == 0)
        tick();
    assert_int_equal(counted(BLOCKS_DROPPED), 1);
    assert_true(jzx_loop_now(rig.loop) > JZX_MS(RETENTION_MS + 90));
    assert_true(jzx_loop_now(rig.loop) <= JZX_MS(RETENTION_MS + 90 + 2 * COMPACT_MS));
    assert_int_equal(stored("a"), 0);
    rig_close();
}

JZX_TEST(a_series_that_leaves_has_flushed_and_may_come_back, "C25") {
    rig_open(1);
    append("a", 0, 10);
    append("b", 0, 10);
    while (counted(POINTS_TAKEN) < 20)
        continue;
    jzx_actor_id before = id_of("head/a");
    assert_int_equal(jzx_send_named(rig.loop, "head/a", JZX_NOBODY, NULL, 0, SHUTDOWN), JZX_OK);
    while (id_of("head/a") != JZX_NOBODY)
        tick();
    assert_int_equal(stored("a"), 10);
    append("a", 10, 20);
    await_stored("a", 20);
    await_stored("b", 10);
    assert_int_not_equal(id_of("head/a"), before);
    assert_int_equal(child_of("ingest", "a").restarts, 0);
    rig_close();
}
