/* SPDX-License-Identifier: MIT */
/* The scheduler core with several threads: some schedule and cancel, some complete what was
 * delivered, one announces ticks, and the owner runs them. At the end every job that was let in has
 * been released exactly once, and no handler ran after a cancel that said it came in time. */
#include "schedule/core/admit.h"
#include "schedule/core/life.h"
#include "schedule/core/property.h"
#include "schedule/core/run.h"
#include "schedule/core/shutdown.h"
#include "schedule/core/tick_heap.h"

#include "base/rng.h"
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define CLIENTS 3u
#define COMPLETERS 2u
#define QUEUE 8192u /* a power of two that holds the whole quota */

/* What a client knows of one of its jobs; the payload of that job. */
struct job_note {
    jzx__job_id id;
    atomic_uint runs;      /* handlers that began */
    atomic_uint cancelled; /* set before a cancel, back to 0 if it was refused */
    atomic_uint released;
    bool is_periodic;
};

struct world {
    struct jzx__schedule s;
    atomic_ullong now_ns;
    atomic_uint stop;
    atomic_uint clients_left;
    struct job_note *notes; /* of all clients */
    uint32_t per_client;
    uint64_t let_in;

    /* Deliveries on their way to the completers: written by the owner alone. */
    _Atomic(struct job_note *) queue[QUEUE];
    atomic_uint head;
    atomic_uint tail;
};

static struct world world;

static uint64_t now(void *ctx) {
    (void)ctx;
    return world.now_ns;
}

static enum jzx__delivery deliver(void *ctx, const struct jzx__delivery_order *order) {
    (void)ctx;
    uint32_t tail = world.tail;
    if (tail - world.head >= QUEUE)
        return JZX__DELIVERY_FULL;
    world.queue[tail % QUEUE] = order->payload;
    ((struct job_note *)order->payload)->id = order->job;
    world.tail = tail + 1;
    return JZX__DELIVERED;
}

static void release(void *ctx, void *payload, enum jzx__job_state end) {
    (void)ctx;
    (void)end;
    atomic_fetch_add(&((struct job_note *)payload)->released, 1);
}

/* ---- threads ---- */

/* A handler begins only if the job may run, and never after a cancel in time. */
static void *complete(void *arg) {
    (void)arg;
    for (;;) {
        uint32_t head = world.head;
        if (head == world.tail) {
            if (world.stop != 0)
                return NULL;
            sched_yield();
            continue;
        }
        struct job_note *note = world.queue[head % QUEUE];
        if (!atomic_compare_exchange_weak(&world.head, &head, head + 1))
            continue;
        jzx__job_id id = note->id;
        if (jzx__schedule_may_run(&world.s, id)) {
            atomic_fetch_add(&note->runs, 1);
            if (note->is_periodic && note->runs == 3)
                (void)jzx__schedule_cancel_elsewhere(&world.s, id);
        }
        JZX_EXPECT(jzx__schedule_complete_elsewhere(&world.s, id, world.now_ns, 0));
    }
}

static void *schedule(void *arg) {
    struct job_note *notes = arg;
    struct jzx__rng rng;
    jzx__rng_init(&rng, (uint64_t)(notes - world.notes) + 1);
    uint64_t let_in = 0;
    for (uint32_t i = 0; i < world.per_client; i++) {
        struct job_note *note = &notes[i];
        bool is_periodic = jzx__rng_below(&rng, 4) == 0;
        note->is_periodic = is_periodic;
        struct jzx__schedule_request request = {
            .mode = is_periodic ? JZX__JOB_FIXED_RATE : JZX__JOB_ONE_SHOT,
            .delay_ns = 10000000 * (int64_t)(1 + jzx__rng_below(&rng, 30)),
            .period_ns = 10000000,
            .policy = {.backlog_limit = UINT32_MAX},
            .payload = note};
        struct jzx__schedule_result result = jzx__schedule_submit(&world.s, &request);
        if (result.status != JZX__SCHEDULE_OK) {
            JZX_EXPECT(result.status == JZX__SCHEDULE_QUOTA_EXCEEDED ||
                       result.status == JZX__SCHEDULE_BACKPRESSURED);
            sched_yield();
            continue;
        }
        let_in++;
        if (jzx__rng_below(&rng, 2) == 0) {
            for (uint32_t n = jzx__rng_below(&rng, 3); n > 0; n--)
                sched_yield();
            bool first = jzx__schedule_cancel_elsewhere(&world.s, result.job);
            bool second = jzx__schedule_cancel_elsewhere(&world.s, result.job);
            JZX_EXPECT(!(first && second));
            note->cancelled = first && !is_periodic;
        }
    }
    atomic_fetch_sub(&world.clients_left, 1);
    return (void *)(uintptr_t)let_in;
}

/* As an interrupt would: nothing but announcements. */
static void *tick(void *arg) {
    uint64_t *announced = arg;
    while (world.stop == 0) {
        if (jzx__tick_source_pending(&world.s.source) < 3) /* in time: else all is refused */
            *announced += jzx__tick_source_notify(&world.s.source, 1);
        sched_yield();
    }
    return NULL;
}

/* ---- the test ---- */

static void run_owner(void) {
    while (world.clients_left > 0 || jzx__schedule_metrics_of(&world.s).active_total > 0) {
        world.now_ns = (world.s.tick + 1) * 10000000;
        if (!jzx__schedule_run(&world.s).has_more)
            sched_yield();
    }
}

static void check_notes(void) {
    uint64_t released = 0;
    for (uint32_t i = 0; i < CLIENTS * world.per_client; i++) {
        const struct job_note *note = &world.notes[i];
        released += note->released;
        JZX_EXPECT(note->released <= 1);
        if (!note->is_periodic)
            JZX_EXPECT(note->runs + note->cancelled <= 1);
        if (note->released == 1 && !note->is_periodic)
            JZX_EXPECT_EQ(note->runs + note->cancelled, 1);
    }
    JZX_EXPECT_EQ(released, world.let_in);
}

JZX_TEST(jobs_scheduled_cancelled_and_completed_on_several_threads_end_exactly_once) {
    struct jzx__schedule_config config = {.profile = JZX__PROFILE_TINY,
                                          .slot_capacity = 4096,
                                          .timer =
                                              fixture_has_heap_timer() ? &jzx__tick_heap : NULL};
    struct jzx__schedule_ops ops = {.deliver = deliver, .release = release};
    struct jzx__tick_clock clock = {JZX__CLOCK_REALTIME_HOST, NULL, now, NULL};
    jzx_allocator allocator = fixture_allocator();
    JZX_EXPECT_EQ(jzx__schedule_resolve(&config, &config).error, JZX__CONFIG_OK);
    JZX_EXPECT(jzx__schedule_init(&world.s, &config, ops, clock, &allocator));
    world.per_client = (uint32_t)jzx_test_rounds(20000, 400000);
    world.notes = calloc(CLIENTS * world.per_client, sizeof world.notes[0]);
    assert_non_null(world.notes);
    world.clients_left = CLIENTS;

    pthread_t clients[CLIENTS];
    pthread_t completers[COMPLETERS];
    pthread_t ticker;
    uint64_t announced = 0;
    for (uint32_t i = 0; i < CLIENTS; i++)
        assert_int_equal(
            pthread_create(&clients[i], NULL, schedule, &world.notes[i * world.per_client]), 0);
    for (uint32_t i = 0; i < COMPLETERS; i++)
        assert_int_equal(pthread_create(&completers[i], NULL, complete, NULL), 0);
    assert_int_equal(pthread_create(&ticker, NULL, tick, &announced), 0);
    run_owner();
    for (uint32_t i = 0; i < CLIENTS; i++) {
        void *let_in;
        pthread_join(clients[i], &let_in);
        world.let_in += (uintptr_t)let_in;
    }
    world.stop = 1;
    for (uint32_t i = 0; i < COMPLETERS; i++)
        pthread_join(completers[i], NULL);
    pthread_join(ticker, NULL);
    JZX_EXPECT(jzx__schedule_check(&world.s) == NULL);
    uint64_t flushed = jzx__schedule_shutdown(&world.s).flushed_ticks;
    JZX_EXPECT_EQ(world.s.tick, announced); /* no tick was lost */
    JZX_EXPECT(flushed <= announced);
    jzx__schedule_deinit(&world.s);
    JZX_EXPECT(world.let_in > CLIENTS * world.per_client / 100);
    check_notes();
    free(world.notes);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}
