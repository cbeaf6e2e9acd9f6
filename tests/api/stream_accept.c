/* SPDX-License-Identifier: MIT */
/* Accepts that compete for connections, and the limit of open streams. The clients are plain
 * sockets: a connection is in the backlog when connect(2) returns. */
#include "serving.h"

#include <jzx/fiber.h>

static unsigned finished;

static void run_fiber(jzx_fiber_fn fn) {
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    finished = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

static jzx_listener listen_here(jzx_context *ctx, uint32_t connections_max, uint16_t *port) {
    const jzx_listen_opts opts = JZX_LISTEN_OPTS(.connections_max = connections_max);
    char address[JZX_ADDRESS_MAX];
    jzx_listener listener = 0;
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", &opts, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, listener, address, sizeof address), JZX_OK);
    *port = (uint16_t)atoi(strrchr(address, ':') + 1);
    return listener;
}

/* The other end of the stream is that client. */
static void expect_client(jzx_loop *loop, jzx_stream stream, int client) {
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    char peer[JZX_ADDRESS_MAX];
    JZX_EXPECT_EQ(getsockname(client, (void *)&address, &size), 0);
    JZX_EXPECT_EQ(jzx_stream_peer(loop, stream, peer, sizeof peer), JZX_OK);
    JZX_EXPECT_EQ(atoi(strrchr(peer, ':') + 1), ntohs(address.sin_port));
}

/* The next message is the result of that accept. */
static jzx_stream expect_accepted(jzx_context *ctx, jzx_op op) {
    jzx_message msg;
    jzx_stream stream = JZX_NO_STREAM;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, ACCEPTED, JZX_NEVER, &msg), JZX_OK);
    const jzx_result *result = msg.data;
    JZX_EXPECT_EQ(result->op, op);
    if (JZX_EXPECT_EQ(result->err, JZX_OK))
        memcpy(&stream, jzx_result_data(result), sizeof stream);
    return stream;
}

/* ---- several that accept ---- */

struct acceptor {
    jzx_listener listener;
    int client; /* the other end of the connection that it accepts */
    unsigned done;
};

static void accept_one(jzx_context *ctx) {
    struct acceptor *acceptor = ctx->state;
    jzx_stream stream;
    JZX_EXPECT_EQ(jzx_listener_accept(ctx, acceptor->listener, JZX_NEVER, &stream), JZX_OK);
    expect_client(ctx->loop, stream, acceptor->client);
    acceptor->done++;
}

/* It waits when this returns. */
static jzx_actor_id begin_accept(jzx_context *ctx, struct acceptor *acceptor) {
    jzx_actor_info info = {.size = sizeof info};
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = accept_one, .state = acceptor));
    do {
        (void)jzx_yield(ctx);
        JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, id, &info), JZX_OK);
    } while (info.wait != JZX_WAIT_IO);
    return id;
}

/* Both connections arrive while no fiber runs, so one edge of readiness reports them. */
static void accept_in_two(jzx_context *ctx) {
    uint16_t port;
    jzx_listener listener = listen_here(ctx, 0, &port);
    struct acceptor acceptors[2] = {{listener, -1, 0}, {listener, -1, 0}};
    jzx_actor_id ids[2] = {begin_accept(ctx, &acceptors[0]), begin_accept(ctx, &acceptors[1])};
    for (unsigned i = 0; i < 2; i++)
        acceptors[i].client = client_connect(port);
    for (unsigned i = 0; i < 2; i++) {
        JZX_EXPECT_EQ(jzx_join(ctx, ids[i], JZX_NEVER, NULL), JZX_OK);
        JZX_EXPECT_EQ(acceptors[i].done, 1);
        close(acceptors[i].client);
    }
    finished++;
}

JZX_TEST(two_fibers_that_accept_get_one_of_two_connections_each_in_order) {
    run_fiber(accept_in_two);
}

/* Kills the first of two fibers a few turns after the connection arrived: before the listener wakes
 * the fiber, before the woken fiber runs, or, too late, after it has accepted. */
static void kill_first(jzx_context *ctx, unsigned turns) {
    uint16_t port;
    jzx_listener listener = listen_here(ctx, 0, &port);
    struct acceptor acceptors[2] = {{listener, -1, 0}, {listener, -1, 0}};
    jzx_actor_id ids[2] = {begin_accept(ctx, &acceptors[0]), begin_accept(ctx, &acceptors[1])};
    int first = acceptors[0].client = acceptors[1].client = client_connect(port);
    for (unsigned i = 0; i < turns; i++)
        (void)jzx_yield(ctx);
    if (jzx_actor_stop(ctx->loop, ids[0], JZX_STOP_KILL) == JZX_OK)
        JZX_EXPECT_EQ(jzx_join(ctx, ids[0], JZX_NEVER, NULL), JZX_OK);
    if (acceptors[0].done != 0)
        acceptors[1].client = client_connect(port);
    JZX_EXPECT_EQ(jzx_join(ctx, ids[1], JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(acceptors[1].done, 1);
    if (acceptors[1].client != first)
        close(acceptors[1].client);
    close(first);
}

static void kill_firsts(jzx_context *ctx) {
    for (unsigned turns = 0; turns < 6; turns++)
        kill_first(ctx, turns);
    finished++;
}

JZX_TEST(a_killed_acceptor_leaves_the_connection_to_the_next) {
    run_fiber(kill_firsts);
}

static void accept_in_all_ways(jzx_context *ctx) {
    uint16_t port;
    jzx_listener listener = listen_here(ctx, 0, &port);
    struct acceptor acceptor = {listener, -1, 0};
    int clients[3];
    jzx_op ops[3];
    for (unsigned i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_listener_accept_to(ctx, listener, ACCEPTED, &ops[i]), JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, ops[1]), JZX_OK);
    jzx_actor_id id = begin_accept(ctx, &acceptor);
    for (unsigned i = 0; i < 3; i++)
        clients[i] = client_connect(port);
    acceptor.client = clients[0];
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(acceptor.done, 1);
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, ACCEPTED, JZX_NEVER, &msg), JZX_OK);
    const jzx_result *result = msg.data;
    JZX_EXPECT(result->op == ops[1] && result->err == JZX_ERR_CANCELLED);
    expect_client(ctx->loop, expect_accepted(ctx, ops[0]), clients[1]);
    expect_client(ctx->loop, expect_accepted(ctx, ops[2]), clients[2]);
    for (unsigned i = 0; i < 3; i++)
        close(clients[i]);
    finished++;
}

JZX_TEST(a_waiting_fiber_accepts_before_operations_and_those_in_their_order) {
    run_fiber(accept_in_all_ways);
}

/* ---- a limit ---- */

#define LIMIT 2u

static void accept_in_fiber_to_limit(jzx_context *ctx) {
    uint16_t port;
    jzx_listener listener = listen_here(ctx, LIMIT, &port);
    jzx_stream streams[LIMIT];
    jzx_stream next = 77;
    for (unsigned round = 0; round < 3; round++) { /* the count stays exact */
        int clients[LIMIT + 1];
        for (unsigned i = 0; i <= LIMIT; i++)
            clients[i] = client_connect(port);
        for (unsigned i = 0; i < LIMIT; i++)
            JZX_EXPECT_EQ(jzx_listener_accept(ctx, listener, JZX_NEVER, &streams[i]), JZX_OK);
        next = 77;
        JZX_EXPECT_EQ(jzx_listener_accept(ctx, listener, jzx_in(ctx, JZX_MS(1)), &next),
                      JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(next, 77);
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, streams[1]), JZX_OK);
        JZX_EXPECT_EQ(jzx_listener_accept(ctx, listener, JZX_NEVER, &next), JZX_OK);
        expect_client(ctx->loop, next, clients[LIMIT]);
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, next), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, streams[0]), JZX_OK);
        for (unsigned i = 0; i <= LIMIT; i++)
            close(clients[i]);
    }
    finished++;
}

JZX_TEST(the_last_connection_of_the_limit_is_accepted_and_the_next_waits_for_a_close) {
    run_fiber(accept_in_fiber_to_limit);
}

/* Operations first, then a fiber. */
static void accept_by_message_to_limit(jzx_context *ctx) {
    uint16_t port;
    jzx_listener listener = listen_here(ctx, LIMIT, &port);
    int clients[LIMIT + 2];
    jzx_op ops[LIMIT + 2];
    jzx_stream streams[LIMIT + 2];
    jzx_message msg;
    struct acceptor acceptor = {listener, -1, 0};
    for (unsigned i = 0; i < LIMIT + 2; i++) {
        clients[i] = client_connect(port);
        JZX_EXPECT_EQ(jzx_listener_accept_to(ctx, listener, ACCEPTED, &ops[i]), JZX_OK);
    }
    for (unsigned i = 0; i < LIMIT; i++)
        streams[i] = expect_accepted(ctx, ops[i]);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, ACCEPTED, jzx_in(ctx, JZX_MS(1)), &msg), JZX_ERR_TIMEOUT);
    for (unsigned i = LIMIT; i < LIMIT + 2; i++) {
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, streams[i - LIMIT]), JZX_OK);
        streams[i] = expect_accepted(ctx, ops[i]);
        expect_client(ctx->loop, streams[i], clients[i]);
    }
    jzx_actor_id id = begin_accept(ctx, &acceptor);
    acceptor.client = client_connect(port);
    (void)jzx_yield(ctx);
    JZX_EXPECT_EQ(acceptor.done, 0);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, streams[LIMIT]), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(acceptor.done, 1);
    close(acceptor.client);
    for (unsigned i = 0; i < LIMIT + 2; i++)
        close(clients[i]);
    finished++;
}

JZX_TEST(an_accept_that_waits_at_the_limit_completes_when_a_stream_is_closed) {
    run_fiber(accept_by_message_to_limit);
}
