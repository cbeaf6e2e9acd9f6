/* SPDX-License-Identifier: MIT */
/* What the tests of datagrams have in common. */
#ifndef JZX_API_UDPING_H
#define JZX_API_UDPING_H

#include "descriptors.h"
#include "fixture.h"

#include <string.h>

enum { DONE = 7, OTHER, DATA, GO };

static unsigned finished;

/* Two sockets of the running actor, and their addresses. */
struct ends {
    jzx_udp a;
    jzx_udp b;
    jzx_address at_a;
    jzx_address at_b;
};

/* No descriptor is left open. */
static inline void run_fiber_with(const jzx_config *config, jzx_fiber_fn fn) {
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(config);
    finished = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

static inline void run_fiber(jzx_fiber_fn fn) {
    run_fiber_with(NULL, fn);
}

static inline jzx_address address_of(jzx_loop *loop, jzx_udp udp) {
    char text[JZX_ADDRESS_MAX];
    jzx_address address = {{0, 0, 0, 0}};
    JZX_EXPECT_EQ(jzx_udp_local(loop, udp, text, sizeof text), JZX_OK);
    JZX_EXPECT_EQ(jzx_address_parse(text, &address), JZX_OK);
    return address;
}

static inline struct ends open_ends(jzx_context *ctx, const char *local) {
    struct ends ends = {.a = JZX_NO_UDP};
    JZX_EXPECT_EQ(jzx_udp_open(ctx, local, NULL, &ends.a), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, local, &JZX_UDP_OPTS(.datagram_max = 8), &ends.b), JZX_OK);
    ends.at_a = address_of(ctx->loop, ends.a);
    ends.at_b = address_of(ctx->loop, ends.b);
    return ends;
}

static inline void expect_result(const jzx_result *result, jzx_op op, jzx_err err) {
    JZX_EXPECT_EQ(result->op, op);
    JZX_EXPECT_EQ(result->err, err);
}

#endif
