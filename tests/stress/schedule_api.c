/* SPDX-License-Identifier: MIT */
/* The scheduler API with several workers and threads: jobs are scheduled, cancelled and handled at
 * the same time. Every one-shot is handled once or was cancelled in time, and no run begins after a
 * cancel that said so. The ticks are 1 ms of the real clock; the test waits for events alone. */
#include "fixture.h"

#include <jzx/schedule.h>
#include <jzx/schedule_admin.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS 3u
#define RECEIVERS 8u

struct job_note {
    atomic_uint runs;
    atomic_uint late_runs; /* begun after a cancel that succeeded */
    atomic_uint cancelled;
    jzx_job_id id;
    bool is_periodic;
};

struct world {
    jzx_loop *loop;
    jzx_actor_id receivers[RECEIVERS];
    struct job_note *notes;
    uint32_t per_client;
    atomic_uint clients_left;
    atomic_uint refused;
};

static struct world world;

static void run_of(struct job_note *note) {
    if (atomic_load(&note->cancelled) != 0)
        atomic_fetch_add(&note->late_runs, 1);
    atomic_fetch_add(&note->runs, 1);
}

static jzx_behavior_result handle(jzx_context *ctx, const jzx_message *msg) {
    struct job_note *note;
    const jzx_batch *batch = jzx_schedule_batch(ctx);
    memcpy(&note, msg->data, sizeof note);
    JZX_EXPECT(batch != NULL && batch->runs >= 1);
    run_of(note);
    return JZX_BEHAVIOR_OK;
}

static jzx_err call(void *ctx, const jzx_batch *batch) {
    JZX_EXPECT(batch->runs >= 1);
    run_of(ctx);
    return JZX_OK;
}

static jzx_err schedule(struct job_note *note, uint64_t random) {
    jzx_actor_id to = world.receivers[random % RECEIVERS];
    int64_t delay = 1 + (int64_t)(random / 16 % 4000000);
    note->is_periodic = random % 5 == 0;
    if (note->is_periodic)
        return jzx_schedule_at_fixed_rate_with_options(
            world.loop, delay, 1000000, to, JZX_NOBODY, &note, sizeof note, 1,
            &JZX_SCHEDULE_OPTS(.backlog_limit = UINT32_MAX), &note->id);
    if (random % 5 == 1)
        return jzx_schedule_once_fn(world.loop, delay, NULL, &note->id, call, note);
    return jzx_schedule_once(world.loop, delay, to, JZX_NOBODY, &note, sizeof note, 1, &note->id);
}

/* A run that began before the cancel may still be going on: so the note is written afterwards. */
static void cancel(struct job_note *note) {
    if (jzx_job_cancel(world.loop, note->id) && !note->is_periodic)
        atomic_store(&note->cancelled, 1);
    JZX_EXPECT(!jzx_job_cancel(world.loop, note->id)); /* only the first one is true */
}

static void *client(void *arg) {
    uint32_t number = (uint32_t)(uintptr_t)arg;
    uint64_t random = number + 1;
    for (uint32_t i = 0; i < world.per_client; i++) {
        struct job_note *note = &world.notes[number * world.per_client + i];
        random = random * 6364136223846793005u + 1442695040888963407u;
        while (schedule(note, random >> 20) != JZX_OK) {
            atomic_fetch_add(&world.refused, 1); /* the quota: until others have ended */
            sched_yield();
        }
        if (note->is_periodic || random >> 60 < 4)
            cancel(i % 2 == 0 || i < 10 || note->is_periodic ? note : note - 5);
    }
    atomic_fetch_sub(&world.clients_left, 1);
    return NULL;
}

/* All that is to come has come. */
static bool is_over(void) {
    jzx_schedule_metrics metrics = {.size = sizeof metrics};
    JZX_EXPECT_EQ(jzx_schedule_metrics_get(world.loop, &metrics), JZX_OK);
    return atomic_load(&world.clients_left) == 0 && metrics.active_total == 0;
}

static void *wait_for_end(void *arg) {
    pthread_t *clients = arg;
    for (uint32_t i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    while (!is_over())
        sched_yield();
    JZX_EXPECT_EQ(jzx_loop_request_stop(world.loop), JZX_OK);
    return NULL;
}

static void check_notes(void) {
    for (uint32_t i = 0; i < CLIENTS * world.per_client; i++) {
        struct job_note *note = &world.notes[i];
        if (note->is_periodic)
            continue;
        JZX_EXPECT_EQ(atomic_load(&note->late_runs), 0);
        if (!JZX_EXPECT_EQ(atomic_load(&note->runs) + atomic_load(&note->cancelled), 1))
            break;
    }
}

static void run_world(jzx_driver_kind driver) {
    pthread_t clients[CLIENTS];
    pthread_t waiter;
    world.per_client = (uint32_t)jzx_test_rounds(3000, 30000);
    world.notes = calloc((size_t)CLIENTS * world.per_client, sizeof *world.notes);
    assert_non_null(world.notes);
    atomic_store(&world.clients_left, CLIENTS);
    world.loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 3,
                    .schedule =
                        &JZX_SCHEDULE_CONFIG(.resolution_ns = 1000000, .slot_capacity = 16384,
                                             .catch_up_window_ns = JZX_MS(32),
                                             .driver_kind = driver, .profile = JZX_SCHEDULE_TINY)));
    assert_non_null(world.loop);
    for (uint32_t i = 0; i < RECEIVERS; i++)
        world.receivers[i] = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = handle));
    for (uint32_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&clients[i], NULL, client, (void *)(uintptr_t)i), 0);
    assert_int_equal(pthread_create(&waiter, NULL, wait_for_end, clients), 0);
    JZX_EXPECT_EQ(jzx_loop_run(world.loop), JZX_OK);
    pthread_join(waiter, NULL);
    check_notes();
    fixture_destroy(world.loop);
    free(world.notes);
}

JZX_TEST(jobs_of_several_threads_come_once_or_were_cancelled_in_time, "B83", "R4.AC1", "R4.AC2",
         "R4.AC3", "B14") {
    run_world(JZX_DRIVER_AUTOMATIC);
}

JZX_TEST(the_same_with_a_thread_that_announces_the_ticks, "B+driver", "B83") {
    run_world(JZX_DRIVER_THREAD);
}
