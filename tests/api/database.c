/* SPDX-License-Identifier: MIT */
/* The store of examples/database: one part fails, and the others do not notice, unless it fails too
 * often. The loop runs on a thread of its own, with one worker and with four. The test moves its
 * clock, and never faster than every worker follows. */
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
    sem_t ticked;    /* once by every worker for every tick */
    sem_t answered;  /* result or counters are there */
    jzx_err outcome; /* of the run */
    atomic_bool ended;
    struct result *result;
    struct counters counters;
    /* The observer saw this of the job of series a. */
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
    if (event->name == NULL || strcmp(event->name, JOB_PREFIX "a") != 0)
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
    rig.outcome = jzx_loop_run(rig.loop);
    atomic_store(&rig.ended, true);
    for (int i = 0; i < WORKERS_MAX; i++)
        sem_post(&rig.ticked);
    return NULL;
}

/* ---- the rig ---- */

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0)
        continue;
}

/* One step of the clock, and every worker has seen it, unless the loop has ended. */
static void tick(void) {
    assert_int_equal(jzx_clock_advance(rig.clock, JZX_MS(TICK_MS)), JZX_OK);
    for (uint32_t i = 0; i < rig.workers && !atomic_load(&rig.ended); i++)
        wait_for(&rig.ticked);
}

static void pass_ms(uint32_t duration_ms) {
    for (uint32_t i = 0; i < duration_ms; i += TICK_MS)
        tick();
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

static void rig_end(jzx_err outcome) {
    assert_int_equal(pthread_join(rig.thread, NULL), 0);
    assert_int_equal(rig.outcome, outcome);
    fixture_destroy(rig.loop);
    assert_int_equal(jzx_clock_free(rig.clock), JZX_OK);
    sem_destroy(&rig.ticked);
    sem_destroy(&rig.answered);
}

static void rig_close(void) {
    assert_int_equal(jzx_actor_stop(rig.loop, rig.root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    rig_end(JZX_OK);
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

/* The child with that name, wherever it is in the row. Its state is UNKNOWN if there is none. */
static jzx_child_info child_in(jzx_actor_id parent, const char *name) {
    jzx_child_info info = {.size = sizeof info};
    for (size_t i = 0; jzx_supervisor_child_info(rig.loop, parent, i, &info) == JZX_OK; i++) {
        if (strcmp(info.name, name) == 0)
            return info;
    }
    return (jzx_child_info){.state = JZX_CHILD_UNKNOWN};
}

static jzx_child_info child_of(const char *parent, const char *name) {
    return child_in(supervisor(parent), name);
}

static void await_restarts(const char *parent, const char *name, uint32_t restarts) {
    while (child_of(parent, name).restarts < restarts)
        continue;
    assert_int_equal(child_of(parent, name).restarts, restarts);
}

/* How often the root has started a part of the tree again. */
static uint32_t restarts_of(const char *part) {
    return child_in(rig.root, part).restarts;
}

static const struct point bad_point = {500, (double)NAN};

/* Blocks as no head makes them, if they are not sorted. */
static void send_block(const char *series, bool sorted) {
    const struct point points[] = {{sorted ? 0 : 2, 0}, {1, 0}};
    struct block *block = block_create(rig.loop, series, 0, points, 2);
    assert_non_null(block);
    assert_int_equal(block_send(rig.loop, "planner", JZX_NOBODY, block), JZX_OK);
    jzx_msg_free(rig.loop, block);
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

    assert_int_equal(store_append(rig.loop, "b", bad_point), JZX_OK);
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

/* ---- a merge fails ---- */

/* A job of series a meets a bad block. It fails on it JOB_ATTEMPTS times. */
static void fail_merge_of_a(void) {
    send_block("a", false);
    while (child_of("merging", JOB_PREFIX "a").state != JZX_CHILD_WAITING)
        tick();
}

static void await_restart(unsigned restarts) {
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

    fail_merge_of_a();
    append("a", 20, 80);
    append("b", 20, 80);
    await_stored("b", 80); /* its job has nothing to do with that of a */
    assert_int_equal(counted(POINTS_TAKEN), 160);
    assert_int_equal(stored("a"), 20); /* points that were merged before can still be read */
    for (unsigned restarts = 1; restarts <= JOB_ATTEMPTS; restarts++)
        await_restart(restarts);
    await_stored("a", 80); /* without the bad block */
    assert_int_equal(counted(BLOCKS_REFUSED), 1);
    assert_int_equal(id_of("head/a"), a);
    assert_int_equal(id_of("head/b"), b);
    assert_int_equal(id_of("ingest"), ingest);
    assert_int_equal(supervisor("merging"), merging);
    assert_int_equal(child_of("ingest", "a").restarts, 0);
    assert_int_equal(child_of("ingest", "b").restarts, 0);
    assert_int_equal(restarts_of("merging"), 0);
    assert_int_equal(counted(POINTS_REFUSED) + counted(POINTS_LOST), 0);
    rig_close();
}

JZX_TEST(a_merge_that_fails_is_tried_again_later_and_ingestion_goes_on, "C25", "C26") {
    check_merge_failure(1);
}

JZX_TEST(a_merge_that_fails_does_not_stop_ingestion_on_four_workers, "C25", "C26") {
    check_merge_failure(WORKERS_MAX);
}

/* A job fails at all times between two flushes: also with blocks that it has not merged. */
static void check_failures_at_all_times(uint32_t workers) {
    enum { ROUNDS = 10, ROUND_MS = 2000 }; /* so few failures that no supervisor gives up */
    rig_open(workers);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        append("a", 5 * round, 5 * round + 5);
        append("b", 5 * round, 5 * round + 5);
        pass_ms(round * TICK_MS);
        fail_merge_of_a();
        pass_ms(ROUND_MS);
    }
    await_stored("a", 5 * ROUNDS);
    await_stored("b", 5 * ROUNDS);
    assert_int_equal(counted(BLOCKS_REFUSED), ROUNDS);
    assert_int_equal(counted(POINTS_LOST), 0);
    assert_int_equal(restarts_of("merging"), 0);
    rig_close();
}

JZX_TEST(no_point_is_lost_whenever_a_merge_fails, "C26") {
    check_failures_at_all_times(1);
    check_failures_at_all_times(WORKERS_MAX);
}

JZX_TEST(each_series_has_a_merge_job_of_its_own_that_goes_when_it_is_done, "C25") {
    rig_open(1);
    send_block("a", false);
    send_block("b", false);
    while (child_of("merging", JOB_PREFIX "a").state != JZX_CHILD_WAITING ||
           child_of("merging", JOB_PREFIX "b").state != JZX_CHILD_WAITING)
        tick();
    while (counted(BLOCKS_REFUSED) < 2)
        tick();
    while (child_of("merging", JOB_PREFIX "a").state != JZX_CHILD_UNKNOWN ||
           child_of("merging", JOB_PREFIX "b").state != JZX_CHILD_UNKNOWN)
        tick();
    rig_close();
}

JZX_TEST(the_progress_marker_of_a_merge_reaches_metrics, "C25") {
    rig_open(1);
    send_block("a", true);
    send_block("a", true);
    send_block("a", false);
    while (child_of("merging", JOB_PREFIX "a").state != JZX_CHILD_WAITING)
        tick();
    (void)counted(BLOCKS_MERGED);
    assert_string_equal(rig.counters.progress.series, "a");
    assert_int_equal(rig.counters.progress.done, 2); /* it has failed on the third one */
    assert_int_equal(rig.counters.progress.total, 3);
    assert_int_equal(rig.counters.progress_reports, 2);
    while (counted(BLOCKS_MERGED) == 0)
        tick();
    assert_int_equal(rig.counters.values[BLOCKS_MERGED], 2);
    assert_int_equal(rig.counters.values[BLOCKS_REFUSED], 1);
    assert_int_equal(rig.counters.progress.done, 2);
    assert_int_equal(rig.counters.progress.total, 2);
    rig_close();
}

/* ---- failures that reach the root, and others ---- */

static void append_bad_points(const char *series, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(store_append(rig.loop, series, bad_point), JZX_OK);
}

JZX_TEST(bad_points_that_come_slowly_never_reach_the_root, "C25", "C26") {
    enum { POINTS = 2 * INGEST_RESTARTS };
    rig_open(1);
    append("b", 0, 1);
    await_stored("b", 1);
    for (uint32_t i = 1; i <= POINTS; i++) {
        append_bad_points("b", 1);
        await_restarts("ingest", "b", i);
        pass_ms(PERIOD_MS / INGEST_RESTARTS + TICK_MS);
    }
    assert_int_equal(restarts_of("ingest"), 0);
    rig_close();
}

static void check_bad_points_that_escalate(uint32_t workers) {
    rig_open(workers);
    append("a", 0, 50);
    append("b", 0, 1);
    await_stored("a", 50);
    await_stored("b", 1);
    jzx_actor_id ingest = id_of("ingest");
    jzx_actor_id planner_id = id_of("planner");
    append_bad_points("b", INGEST_RESTARTS);
    await_restarts("ingest", "b", INGEST_RESTARTS);
    assert_int_equal(restarts_of("ingest"), 0);

    append_bad_points("b", 1);
    while (restarts_of("ingest") == 0 || id_of("gate") == JZX_NOBODY)
        continue;
    assert_int_equal(restarts_of("ingest"), 1);
    assert_int_not_equal(id_of("ingest"), ingest);
    assert_int_equal(id_of("planner"), planner_id);
    assert_int_equal(restarts_of("merging") + restarts_of("indexing"), 0);
    append("a", 50, 100);
    await_stored("a", 100);
    assert_int_equal(counted(POINTS_LOST), 0);
    rig_close();
}

JZX_TEST(a_storm_of_bad_points_has_the_root_start_ingestion_again, "C25", "C26") {
    check_bad_points_that_escalate(1);
    check_bad_points_that_escalate(WORKERS_MAX);
}

static void send_bad_blocks(uint32_t series_count) {
    char series[] = "bad0";
    for (uint32_t i = 0; i < series_count; i++) {
        series[3] = (char)('0' + i);
        send_block(series, false);
    }
}

static void check_bad_blocks_that_escalate(uint32_t workers) {
    enum { BLOCKS = 8 }; /* 16 restarts after the second failure of each */
    rig_open(workers);
    append("a", 0, 50);
    await_stored("a", 50);
    jzx_actor_id head = id_of("head/a");
    jzx_actor_id planner_id = id_of("planner");
    jzx_actor_id merging = supervisor("merging");
    send_bad_blocks(BLOCKS);
    while (counted(BLOCKS_REFUSED) < BLOCKS)
        tick();
    assert_int_equal(restarts_of("merging"), 1);
    assert_int_not_equal(supervisor("merging"), merging);
    assert_int_equal(id_of("planner"), planner_id);
    assert_int_equal(id_of("head/a"), head);
    assert_int_equal(restarts_of("ingest") + restarts_of("indexing"), 0);
    append("a", 50, 100);
    await_stored("a", 100);
    assert_int_equal(counted(POINTS_LOST), 0);
    rig_close();
}

JZX_TEST(bad_blocks_in_many_series_have_the_root_start_merging_again, "C25", "C26") {
    check_bad_blocks_that_escalate(1);
    check_bad_blocks_that_escalate(WORKERS_MAX);
}

JZX_TEST(bad_blocks_in_a_few_series_never_reach_the_root, "C25", "C26") {
    enum { BLOCKS = MERGE_RESTARTS / JOB_ATTEMPTS };
    rig_open(1);
    send_bad_blocks(BLOCKS);
    while (counted(BLOCKS_REFUSED) < BLOCKS)
        tick();
    assert_int_equal(restarts_of("merging"), 0);
    rig_close();
}

/* The root gives up when a part of the tree had to be started again too often. */
JZX_TEST(a_storm_of_bad_points_that_does_not_end_escalates_beyond_the_root, "C25") {
    rig_open(1);
    while (!atomic_load(&rig.ended))
        (void)store_append(rig.loop, "b", bad_point);
    rig_end(JZX_ERR_ESCALATED);
}

JZX_TEST(a_storm_of_bad_blocks_that_does_not_end_escalates_beyond_the_root, "C25") {
    rig_open(1);
    while (!atomic_load(&rig.ended)) {
        for (char series[] = "bad0"; series[3] <= '9'; series[3]++) {
            const struct point points[] = {{2, 0}, {1, 0}};
            struct block *block = block_create(rig.loop, series, 0, points, 2);
            assert_non_null(block);
            (void)block_send(rig.loop, "planner", JZX_NOBODY, block);
            jzx_msg_free(rig.loop, block);
        }
        pass_ms(500);
    }
    rig_end(JZX_ERR_ESCALATED);
}

/* ---- bounds ---- */

JZX_TEST(a_head_takes_what_it_can_hold_and_refuses_the_rest, "C25") {
    rig_open(1);
    append("a", 0, 1);
    await_stored("a", 1);
    fail_merge_of_a();
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
