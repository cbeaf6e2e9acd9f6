/* SPDX-License-Identifier: MIT */
/* Echo servers on several workers whose connections are given from actor to actor, closed by a
 * thread beside the loop, and killed: every client comes to an end, and nothing is left open. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/tcp.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { BEGIN = 1, DATA };

#define CLIENTS 6u
#define HANDS 4u /* of a connection: how often it is given on, at most */

static struct {
    char address[JZX_ADDRESS_MAX];
    uint64_t rounds;
    atomic_uint clients_done;
    atomic_uint whole; /* conversations that nobody disturbed */
    atomic_uint ended; /* those that somebody did */
    _Atomic jzx_stream victim;
    _Atomic jzx_actor_id doomed;
    atomic_bool is_over;
} world;

/* A connection that has been passed on so often. */
struct hand {
    jzx_stream stream;
    uint32_t depth;
};

static jzx_behavior_result echo(jzx_context *ctx, const jzx_message *msg);

static jzx_err pass_on(jzx_context *ctx, const struct hand *hand) {
    struct hand next = {hand->stream, hand->depth + 1};
    jzx_actor_id id;
    jzx_err err = jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = echo), &id);
    if (err == JZX_OK)
        err = jzx_stream_give(ctx, hand->stream, id);
    if (err == JZX_OK)
        err = jzx_send(ctx->loop, id, ctx->self, &next, sizeof next, BEGIN);
    if (err != JZX_OK) /* it was closed, or killed, meanwhile */
        (void)jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL);
    return err;
}

/* Each hand answers two messages, and the last one all that come. */
static jzx_behavior_result echo(jzx_context *ctx, const jzx_message *msg) {
    struct hand hand;
    if (msg->tag == BEGIN) {
        memcpy(&hand, msg->data, sizeof hand);
        uint32_t count = hand.depth < HANDS ? 2 : JZX_STREAM_ALWAYS;
        atomic_store(&world.doomed, ctx->self);
        ctx->state = (void *)(uintptr_t)hand.depth;
        return jzx_stream_active(ctx, hand.stream, DATA, count) == JZX_OK ? JZX_BEHAVIOR_OK
                                                                          : JZX_BEHAVIOR_STOP;
    }
    const jzx_stream_event *event = msg->data;
    if (event->kind == JZX_STREAM_PASSIVE) {
        hand = (struct hand){event->stream, (uint32_t)(uintptr_t)ctx->state};
        (void)pass_on(ctx, &hand);
        return JZX_BEHAVIOR_STOP;
    }
    if (event->kind != JZX_STREAM_DATA)
        return JZX_BEHAVIOR_STOP;
    jzx_err err = jzx_stream_send(ctx, event->stream, jzx_stream_data(event), event->len);
    return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

static bool talk(jzx_context *ctx, jzx_stream stream) {
    char buf[16];
    for (unsigned i = 0; i < 3 * HANDS; i++) {
        if (jzx_stream_write(ctx, stream, "0123456789abcdef", 16, JZX_NEVER) != JZX_OK ||
            jzx_stream_read_exact(ctx, stream, buf, 16, JZX_NEVER) != JZX_OK)
            return false;
        JZX_EXPECT(memcmp(buf, "0123456789abcdef", 16) == 0);
    }
    return true;
}

static void call(jzx_context *ctx) {
    const jzx_listener *listener = ctx->state;
    jzx_stream stream;
    jzx_test_ran();
    for (uint64_t i = 0; i < world.rounds; i++) {
        if (!JZX_EXPECT_EQ(jzx_tcp_connect(ctx, world.address, NULL, JZX_NEVER, &stream), JZX_OK))
            break;
        if (i % 3 == 0)
            atomic_store(&world.victim, stream);
        if (talk(ctx, stream))
            atomic_fetch_add(&world.whole, 1);
        else
            atomic_fetch_add(&world.ended, 1);
        (void)jzx_stream_close(ctx->loop, stream);
    }
    if (atomic_fetch_add(&world.clients_done, 1) + 1 == CLIENTS)
        JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, *listener), JZX_OK);
}

static void serve(jzx_context *ctx) {
    static jzx_listener listener;
    struct hand hand = {.depth = 0};
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, listener, world.address, sizeof world.address),
                  JZX_OK);
    for (unsigned i = 0; i < CLIENTS; i++)
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = call, .state = &listener));
    while (jzx_tcp_accept(ctx, listener, JZX_NEVER, &hand.stream) == JZX_OK) {
        jzx_err err = pass_on(ctx, &hand);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_CLOSED || err == JZX_ERR_NO_SUCH_ACTOR);
    }
}

/* Beside the loop. */
static void *disturb(void *arg) {
    jzx_loop *loop = arg;
    for (unsigned i = 0; !atomic_load(&world.is_over); i++) {
        if (i % 2 == 0)
            (void)jzx_stream_close(loop, atomic_load(&world.victim));
        else if (i % 16 == 1)
            (void)jzx_actor_stop(loop, atomic_load(&world.doomed), JZX_STOP_KILL);
        sched_yield();
    }
    return NULL;
}

JZX_TEST(connections_are_given_on_closed_and_killed_and_every_client_ends) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 3));
    pthread_t thread;
    memset(&world, 0, sizeof world);
    world.rounds = jzx_test_rounds(40, 4000);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = serve));
    assert_int_equal(pthread_create(&thread, NULL, disturb, loop), 0);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    atomic_store(&world.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(atomic_load(&world.whole) + atomic_load(&world.ended), CLIENTS * world.rounds);
    fixture_destroy(loop);
}

/* ---- the order of locks ---- */

/* By the numbers of records, the lower half of a handle: listener over stream. */
static bool has_accepted[8][8];

static void exchange_roles(jzx_context *ctx) {
    jzx_test_ran();
    for (uint32_t round = 0; round < 6; round++) {
        char address[JZX_ADDRESS_MAX];
        jzx_listener listener;
        jzx_stream client;
        jzx_stream stream;
        JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &listener), JZX_OK);
        JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, listener, address, sizeof address), JZX_OK);
        JZX_EXPECT_EQ(jzx_tcp_connect(ctx, address, NULL, JZX_NEVER, &client), JZX_OK);
        JZX_EXPECT_EQ(jzx_tcp_accept(ctx, listener, JZX_NEVER, &stream), JZX_OK);
        has_accepted[(uint32_t)listener % 8][(uint32_t)stream % 8] = true;
        /* Records are used again in the order of their release. */
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, stream), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, client), JZX_OK);
        JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, listener), JZX_OK);
    }
}

/* ThreadSanitizer sees two orders if a stream is locked under the lock of its listener. */
JZX_TEST(a_listener_and_a_stream_may_exchange_their_records_without_a_cycle_of_locks) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    unsigned exchanged = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = exchange_roles));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t k = 0; k < i; k++)
            exchanged += has_accepted[i][k] && has_accepted[k][i];
    }
    JZX_EXPECT(exchanged > 0);
    fixture_destroy(loop);
}
