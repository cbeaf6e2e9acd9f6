/* SPDX-License-Identifier: MIT */
/* A server on 127.0.0.1, and the client that it starts. It spawns an actor for each connection,
 * gives it the stream, tells it, and accepts the next. It ends when the client has ended. */
#ifndef JZX_BENCH_TCP_SERVER_H
#define JZX_BENCH_TCP_SERVER_H

#include "bench.h"

/* What the actor of a connection is sent: first TCP_BEGIN, whose data is its stream. */
enum { TCP_BEGIN, TCP_DATA };

struct tcp_server {
    jzx_behavior_fn behavior; /* of the actors, or */
    jzx_fiber_fn fiber;
    bool ends_all; /* with itself: there are actors that would go on */
    jzx_listener listener;
};

/* After client_prepare. The state lives as long as the loop runs. */
void tcp_serve(jzx_loop *loop, struct tcp_server *server);

/* A behaviour that sends back what comes, by an active stream. Another behaviour may call it, too,
 * for each message after it has looked at it. */
jzx_behavior_result tcp_echo(jzx_context *ctx, const jzx_message *msg);

#endif
