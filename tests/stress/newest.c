/* SPDX-License-Identifier: MIT */
/* Threads and actors of two workers flood an actor that drops the oldest: what waits is bounded,
 * each sender's messages keep their order, each accepted message is handled or shown as dropped,
 * and the last of all is handled. Made for ThreadSanitizer. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define FOREIGN 3u
#define SENDERS (FOREIGN + 1u) /* and an actor */
#define CAP 8u

enum { NUMBERED = 1, LAST };

struct numbered {
    uint32_t sender;
    uint32_t number;
};

struct flood {
    jzx_loop *loop;
    jzx_actor_id target;
    jzx_actor_id source;
    uint32_t sends; /* of each sender */
    uint32_t next[SENDERS];
    uint64_t handled;
    atomic_ulong accepted;
    atomic_ulong letters;
    atomic_ulong destroyed;
    atomic_uint left; /* senders at work */
};

static struct flood flood;

static void count_destroyed(void *data, size_t len) {
    (void)data;
    (void)len;
    atomic_fetch_add(&flood.destroyed, 1);
}

static jzx_behavior_result check(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_info info = {.size = sizeof info};
    if (msg->tag == LAST) {
        JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    const struct numbered *numbered = msg->data;
    JZX_EXPECT(numbered->number >= flood.next[numbered->sender]);
    flood.next[numbered->sender] = numbered->number + 1;
    flood.handled++;
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &info), JZX_OK);
    JZX_EXPECT(info.depth <= 3 * CAP);
    for (uint32_t spin = 0; spin < numbered->number % 64; spin++)
        (void)jzx_turn_spent(ctx); /* takes a little */
    return JZX_BEHAVIOR_OK;
}

static bool send_one(uint32_t sender, uint32_t number) {
    struct numbered *numbered = jzx_msg_alloc(flood.loop, sizeof *numbered, count_destroyed);
    if (!JZX_EXPECT(numbered != NULL))
        return false;
    *numbered = (struct numbered){sender, number};
    jzx_err err = jzx_send_msg(flood.loop, flood.target, JZX_NOBODY, numbered, NUMBERED);
    JZX_EXPECT_EQ(err, JZX_OK); /* never refused */
    atomic_fetch_add(&flood.accepted, err == JZX_OK);
    return err == JZX_OK;
}

static void is_done(void) {
    if (atomic_fetch_sub(&flood.left, 1) == 1)
        JZX_EXPECT_EQ(jzx_send_async(flood.loop, flood.target, NULL, 0, LAST), JZX_OK);
}

static void *send_all(void *arg) {
    uint32_t sender = (uint32_t)(uintptr_t)arg;
    for (uint32_t i = 0; i < flood.sends && send_one(sender, i); i++) {
        if (i % 256 == 0)
            sched_yield();
    }
    is_done();
    return NULL;
}

/* On its own worker or on the target's: as the balance will have it. */
static jzx_behavior_result send_some(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *number = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < 20 && *number < flood.sends; i++) {
        if (!send_one(FOREIGN, (*number)++))
            return JZX_BEHAVIOR_STOP;
    }
    if (*number == flood.sends) {
        is_done();
        return JZX_BEHAVIOR_STOP;
    }
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 1), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void see(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_DEAD_LETTER && event->actor == flood.target)
        atomic_fetch_add(&flood.letters, event->count);
}

static void flood_with(uint32_t workers) {
    static uint32_t number;
    pthread_t threads[FOREIGN];
    number = 0;
    flood = (struct flood){.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers)),
                           .sends = (uint32_t)jzx_test_rounds(20000, 300000),
                           .left = SENDERS};
    assert_non_null(flood.loop);
    assert_int_equal(jzx_loop_set_observer(flood.loop, &JZX_OBSERVER(.on_event = see), NULL),
                     JZX_OK);
    flood.target = fixture_spawn(flood.loop, &JZX_SPAWN_OPTS(.behavior = check, .mailbox_cap = CAP,
                                                             .on_full = JZX_FULL_DROP_OLDEST));
    flood.source =
        fixture_spawn(flood.loop, &JZX_SPAWN_OPTS(.behavior = send_some, .state = &number));
    fixture_send(flood.loop, flood.source, 1);
    for (uintptr_t i = 0; i < FOREIGN; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_all, (void *)i), 0);
    assert_int_equal(jzx_loop_run(flood.loop), JZX_OK);
    for (uint32_t i = 0; i < FOREIGN; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    unsigned long accepted = atomic_load(&flood.accepted);
    assert_int_equal(accepted, (unsigned long)SENDERS * flood.sends);
    assert_int_equal(flood.handled + atomic_load(&flood.letters), accepted);
    assert_int_equal(atomic_load(&flood.destroyed), accepted);
    fixture_destroy(flood.loop);
}

JZX_TEST(drop_oldest_holds_under_a_flood_with_one_worker, "C13", "C11", "X14", "X16") {
    flood_with(1);
}

JZX_TEST(drop_oldest_holds_under_a_flood_with_two_workers, "C13", "C11", "X14", "X16") {
    flood_with(2);
}
