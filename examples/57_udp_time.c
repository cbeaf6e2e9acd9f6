/* SPDX-License-Identifier: MIT */
/* A time server over UDP (RFC 868): any datagram is a question, the answer is four bytes, the
 * seconds since 1900 in network order.
 *
 *     57_udp_time 0.0.0.0:3737     serves until it is killed: try it with
 *                                  `printf x | nc -u -w1 127.0.0.1 3737 | od -An -tu1`
 *     57_udp_time                  asks itself three times, and ends */
#include <jzx/jzx.h>

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { START = 1, QUESTION };

/* From 1900 to 1970. */
#define SECONDS_BEFORE_1970 2208988800u

struct server {
    const char *address;
    bool has_client; /* in the same program */
    bool has_failed;
    jzx_udp udp;
};

static uint32_t seconds_since_1900(void) {
    return (uint32_t)((uint64_t)time(NULL) + SECONDS_BEFORE_1970);
}

/* ---- the client: a fiber with a connected socket ---- */

/* Datagrams get lost: a question without an answer is asked again. */
static jzx_err ask(jzx_context *ctx, jzx_udp udp, uint32_t *seconds) {
    uint32_t answer;
    jzx_datagram in = {.data = &answer, .cap = sizeof answer};
    for (unsigned i = 0; i < 5; i++) {
        jzx_err err = jzx_udp_send(ctx, udp, NULL, 0, NULL, JZX_NEVER);
        if (err == JZX_OK)
            err = jzx_udp_receive(ctx, udp, &in, jzx_in(ctx, JZX_SECOND(2)));
        if (err == JZX_OK && in.size == sizeof answer) {
            *seconds = ntohl(answer);
            return JZX_OK;
        }
        if (err != JZX_OK && err != JZX_ERR_TIMEOUT)
            return err; /* JZX_ERR_REFUSED: no server there */
    }
    return JZX_ERR_TIMEOUT;
}

static void run_client(jzx_context *ctx) {
    struct server *server = ctx->state;
    char address[JZX_ADDRESS_MAX];
    jzx_udp udp;
    server->has_failed = true;
    if (jzx_udp_local(ctx->loop, server->udp, address, sizeof address) != JZX_OK ||
        jzx_udp_open(ctx, NULL, &JZX_UDP_OPTS(.peer = address), &udp) != JZX_OK)
        return;
    server->has_failed = false;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t seconds = 0;
        uint32_t before = seconds_since_1900();
        jzx_err err = ask(ctx, udp, &seconds);
        bool is_good = err == JZX_OK && seconds - before <= seconds_since_1900() - before;
        server->has_failed |= !is_good;
        printf("question %u: %s\n", i + 1, is_good ? "the time is right" : jzx_err_text(err));
    }
    jzx_loop_request_stop(ctx->loop);
}

/* ---- the server: a behaviour with an active socket ---- */

static jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    struct server *self = ctx->state;
    if (msg->tag == START) {
        jzx_err err = jzx_udp_open(ctx, self->address, NULL, &self->udp);
        if (err == JZX_OK)
            err = jzx_udp_active(ctx, self->udp, QUESTION, JZX_UDP_ALWAYS);
        if (err == JZX_OK && self->has_client)
            err = jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = run_client, .state = self), NULL);
        if (err == JZX_OK)
            return JZX_BEHAVIOR_OK;
        fprintf(stderr, "%s: %s\n", self->address, jzx_err_text(err));
        self->has_failed = true;
        return JZX_BEHAVIOR_STOP;
    }
    const jzx_udp_event *event = msg->data;
    if (event->kind == JZX_UDP_DATA) {
        uint32_t answer = htonl(seconds_since_1900());
        /* JZX_ERR_FULL: the client asks again */
        (void)jzx_udp_try_send(ctx, event->udp, &answer, sizeof answer, &event->from);
    }
    return JZX_BEHAVIOR_OK;
}

int main(int argc, char **argv) {
    struct server server = {.address = argc > 1 ? argv[1] : "127.0.0.1:0", .has_client = argc <= 1};
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_actor_id id;
    if (loop == NULL)
        return 1;
    if (jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = serve, .state = &server), &id) != JZX_OK ||
        jzx_send(loop, id, JZX_NOBODY, NULL, 0, START) != JZX_OK || jzx_loop_run(loop) != JZX_OK)
        server.has_failed = true;
    jzx_loop_destroy(loop);
    return server.has_failed ? 1 : 0;
}
