/* SPDX-License-Identifier: MIT */
/* Delays as futures with several workers and threads: they are awaited, dropped and cancelled while
 * they end, and the scheduler is shut down meanwhile. Each is over once, and leaves no job. */
#include "fixture.h"

#include <jzx/future.h>
#include <jzx/schedule.h>
#include <jzx/schedule_admin.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define CLIENTS 3u
#define KEPT 8u

static struct {
    jzx_loop *loop;
    uint32_t per_client;
    atomic_uint half_done; /* clients that have made half of their delays */
} world;

/* Waits for it, drops it, cancels it, or has it go on by itself. */
static void end_delay(jzx_future *future, uint64_t random) {
    switch (random % 4) {
    case 0: JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, NULL), JZX_OK); break;
    case 1: {
        jzx_future_cancel(future);
        jzx_err err = jzx_future_try(future, NULL);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_CANCELLED);
        break;
    }
    case 2: jzx_future_detach(future); return;
    default: break;
    }
    jzx_future_release(future);
}

static void *client(void *arg) {
    uint64_t random = (uint64_t)(uintptr_t)arg + 1;
    jzx_future *kept[KEPT] = {NULL};
    for (uint32_t i = 0; i < world.per_client; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        jzx_future **place = &kept[i % KEPT];
        if (*place != NULL)
            end_delay(*place, random >> 33);
        int64_t delay_ns = 1 + (int64_t)(random >> 40) % 3000000;
        *place = NULL;
        JZX_EXPECT_EQ(jzx_schedule_delay_async(world.loop, delay_ns, place), JZX_OK);
        if (i == world.per_client / 2)
            atomic_fetch_add(&world.half_done, 1);
    }
    for (uint32_t i = 0; i < KEPT; i++)
        end_delay(kept[i], 0);
    return NULL;
}

/* The rest of the delays meets a scheduler that is being shut down, or was. */
static void *shut_down(void *arg) {
    pthread_t *clients = arg;
    jzx_schedule_metrics metrics = {.size = sizeof metrics};
    while (atomic_load(&world.half_done) < CLIENTS)
        sched_yield();
    JZX_EXPECT_EQ(jzx_schedule_shutdown(world.loop, NULL), JZX_OK);
    for (uint32_t i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    do {
        JZX_EXPECT_EQ(jzx_schedule_metrics_get(world.loop, &metrics), JZX_OK);
        sched_yield();
    } while (metrics.active_total != 0);
    JZX_EXPECT_EQ(jzx_loop_release(world.loop), JZX_OK);
    return NULL;
}

JZX_TEST(delays_of_several_threads_are_over_once_also_in_a_shutdown, "B84", "B97", "B83") {
    pthread_t clients[CLIENTS];
    pthread_t closer;
    world.per_client = (uint32_t)jzx_test_rounds(2000, 20000);
    atomic_store(&world.half_done, 0);
    world.loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 2,
                    .schedule = &JZX_SCHEDULE_CONFIG(.resolution_ns = 1000000,
                                                     .catch_up_window_ns = JZX_MS(32))));
    assert_non_null(world.loop);
    JZX_EXPECT_EQ(jzx_loop_hold(world.loop), JZX_OK);
    for (uint32_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&clients[i], NULL, client, (void *)(uintptr_t)i), 0);
    assert_int_equal(pthread_create(&closer, NULL, shut_down, clients), 0);
    JZX_EXPECT_EQ(jzx_loop_run(world.loop), JZX_OK);
    pthread_join(closer, NULL);
    fixture_destroy(world.loop);
}
