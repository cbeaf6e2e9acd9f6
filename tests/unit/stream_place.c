/* SPDX-License-Identifier: MIT */
/* What a connection does to the actor that it is given to, and to the books of its worker, before
 * that actor begins. */
#include "net/place.h"

#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/unix.h>

#include <stdio.h>
#include <unistd.h>

static struct {
    jzx_accept_mode mode;
    enum jzx__bound bound; /* that the new actor is to have */
    unsigned finished;
} world;

static uint32_t sockets_of(const jzx_loop *loop, uint32_t worker) {
    return jzx__atomic_load_relaxed(&jzx__net_of(loop)->loads[worker].count);
}

static enum jzx__bound bound_of(const jzx_loop *loop, jzx_actor_id id) {
    return (enum jzx__bound)jzx__table_lookup(&loop->table, id)->task.bound;
}

static void begin(jzx_context *ctx) {
    JZX_EXPECT_EQ(sockets_of(ctx->loop, 0), 3);
    jzx_test_ran();
}

static void give_one(jzx_context *ctx) {
    char address[64];
    jzx_listener listener;
    jzx_stream client;
    jzx_stream stream;
    jzx_test_ran();
    snprintf(address, sizeof address, "@jzx-place-%d", (int)getpid());
    const jzx_listen_opts opts = JZX_LISTEN_OPTS(.accept_mode = world.mode);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, address, &opts, &listener), JZX_OK);
    JZX_EXPECT_EQ(sockets_of(ctx->loop, 0), 1);
    JZX_EXPECT_EQ(jzx_unix_connect(ctx, address, NULL, JZX_NEVER, &client), JZX_OK);
    JZX_EXPECT_EQ(jzx_unix_accept(ctx, listener, JZX_NEVER, &stream), JZX_OK);
    JZX_EXPECT_EQ(sockets_of(ctx->loop, 0), 3);
    jzx_actor_id id = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = begin));
    JZX_EXPECT_EQ(bound_of(ctx->loop, id), JZX__FREE);
    JZX_EXPECT_EQ(jzx_stream_give(ctx, stream, id), JZX_OK);
    JZX_EXPECT_EQ(bound_of(ctx->loop, id), world.bound);
    JZX_EXPECT_EQ(sockets_of(ctx->loop, 0), 3); /* it is on its way, and counts */
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, stream), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, client), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, listener), JZX_OK);
    JZX_EXPECT_EQ(sockets_of(ctx->loop, 0), 0);
    JZX_EXPECT_EQ(sockets_of(ctx->loop, 1), 0);
    world.finished++;
}

static void run_in(jzx_accept_mode mode, enum jzx__bound bound) {
    /* The balance is off: it would take an actor that has not begun. */
    const jzx_config config = JZX_CONFIG(.workers = 2, .balance = JZX_BALANCE_NONE);
    jzx_loop *loop = fixture_loop_with(&config);
    world.mode = mode;
    world.bound = bound;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = give_one, .place = JZX_PLACE_WORKER(0)));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}

JZX_TEST(a_new_actor_is_bound_by_a_connection_that_is_to_stay_and_by_no_other) {
    world.finished = 0;
    run_in(JZX_ACCEPT_SPREAD, JZX__FREE);
    run_in(JZX_ACCEPT_LOCAL, JZX__BOUND_WORKER);
    JZX_EXPECT_EQ(world.finished, 2);
    JZX_EXPECT_EQ(jzx_test_runs(), 4);
}
