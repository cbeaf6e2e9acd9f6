/* SPDX-License-Identifier: MIT */
/* Promises of docs/guarantees.md under several threads at once: ids of actors that come and go, and
 * actors that never run twice at the same time. */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define SLOTS 8u
#define THREADS 3u
#define TIMERS 20u /* of one life: nothing else bounds what other threads set */

static struct {
    jzx_loop *loop;
    _Atomic jzx_actor_id ids[SLOTS];
    _Atomic uint64_t spawned;
    _Atomic uint64_t ended;
    _Atomic uint64_t handled;
    _Atomic uint64_t accepted;
    _Atomic uint64_t released;
    uint64_t lives; /* so many in all */
} town;

struct resident {
    uint32_t slot;
    atomic_flag running; /* of this life */
    _Atomic uint32_t timers;
    atomic_bool has_run; /* this life: who ends it waits for that, else none might ever run */
};

static struct resident residents[SLOTS];

static void release_one(void *data, size_t len) {
    (void)data;
    (void)len;
    atomic_fetch_add(&town.released, 1);
}

/* Each message says for whom it is: no other life of the slot may see it. */
static jzx_behavior_result reside(jzx_context *ctx, const jzx_message *msg) {
    struct resident *self = ctx->state;
    jzx_actor_id meant;
    jzx_test_ran();
    JZX_EXPECT(!atomic_flag_test_and_set(&self->running));
    atomic_fetch_add(&town.handled, 1);
    atomic_store(&self->has_run, true);
    JZX_EXPECT(msg->len >= sizeof meant);
    memcpy(&meant, msg->data, sizeof meant);
    JZX_EXPECT_EQ(meant, ctx->self);
    atomic_flag_clear(&self->running);
    return msg->tag % 13 == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void move_in(jzx_context *ctx, jzx_exit_reason reason);

static jzx_err settle(jzx_loop *loop, uint32_t slot) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_spawn_opts opts =
        JZX_SPAWN_OPTS(.behavior = reside, .state = &residents[slot], .cleanup = move_in,
                       .mailbox_cap = 2 + slot, .on_full = (jzx_on_full)(slot % 3),
                       .priority = (uint8_t)(slot % 5));
    jzx_err err = jzx_spawn(loop, &opts, &id);
    if (err == JZX_OK) {
        atomic_fetch_add(&town.spawned, 1);
        atomic_store(&residents[slot].timers, 0);
        atomic_store(&residents[slot].has_run, false);
        atomic_store(&town.ids[slot], id);
    }
    return err;
}

/* The next life of the slot begins in the cleanup of the one before. */
static void move_in(jzx_context *ctx, jzx_exit_reason reason) {
    struct resident *self = ctx->state;
    JZX_EXPECT(!atomic_flag_test_and_set(&self->running));
    atomic_flag_clear(&self->running);
    if (reason != JZX_EXIT_SHUTDOWN && atomic_load(&town.spawned) < town.lives)
        JZX_EXPECT_EQ(settle(ctx->loop, self->slot), JZX_OK);
    atomic_fetch_add(&town.ended,
                     1); /* behind the spawn: equal to spawned means that all is over */
}

static void visit(uint32_t slot, uint32_t turn) {
    jzx_actor_id id = atomic_load(&town.ids[slot]);
    void *buffer = jzx_msg_alloc(town.loop, turn % 2 == 0 ? 8 : 50, release_one);
    if (!JZX_EXPECT(buffer != NULL))
        return;
    memcpy(buffer, &id, sizeof id);
    if (jzx_send_msg(town.loop, id, JZX_NOBODY, buffer, turn) == JZX_OK)
        atomic_fetch_add(&town.accepted, 1);
    else
        jzx_msg_free(town.loop, buffer);
    if (turn % 5 == 0 && atomic_fetch_add(&residents[slot].timers, 1) < TIMERS)
        (void)jzx_send_after(town.loop, id, 0, &id, sizeof id, 1, 0, NULL);
    if (!atomic_load(&residents[slot].has_run))
        return;
    if (turn % 31 == 0)
        (void)jzx_actor_stop(town.loop, id, (jzx_stop_kind)(turn / 31 % 3));
    if (turn % 97 == 0)
        (void)jzx_actor_fail(town.loop, id);
}

static bool all_have_ended(void) {
    uint64_t ended = atomic_load(&town.ended); /* first: it is never ahead of spawned */
    return ended == atomic_load(&town.spawned);
}

static void *visit_all(void *arg) {
    uint32_t turn = (uint32_t)(uintptr_t)arg * 1000u + 1;
    while (!all_have_ended())
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            visit(slot, turn++);
    JZX_EXPECT_EQ(jzx_loop_release(town.loop), JZX_OK);
    return NULL;
}

static void live_in_town(uint32_t workers) {
    pthread_t threads[THREADS];
    memset(&town, 0, sizeof town);
    town.lives = jzx_test_rounds(2000, 50000);
    town.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers, .balance = JZX_BALANCE_EAGER));
    for (uint32_t i = 0; i < SLOTS; i++) {
        residents[i].slot = i;
        atomic_flag_clear(&residents[i].running);
        assert_int_equal(settle(town.loop, i), JZX_OK);
    }
    for (uintptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(jzx_loop_hold(town.loop), JZX_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, visit_all, (void *)i), 0);
    }
    assert_int_equal(jzx_loop_run(town.loop), JZX_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    JZX_EXPECT_EQ(atomic_load(&town.ended), atomic_load(&town.spawned));
    jzx_stats stats = fixture_stats(town.loop);
    JZX_EXPECT_EQ(stats.timers_set, stats.timers_ended);
    JZX_EXPECT_EQ(stats.exited, atomic_load(&town.ended));
    fixture_destroy(town.loop);
    assert_true(atomic_load(&town.handled) >= atomic_load(&town.spawned));
    JZX_EXPECT(atomic_load(&town.released) >= atomic_load(&town.accepted));
}

JZX_TEST(no_life_of_a_slot_gets_what_was_meant_for_another_and_none_runs_twice_at_once) {
    live_in_town(1);
    live_in_town(3);
}
