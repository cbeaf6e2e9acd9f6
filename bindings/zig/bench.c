/* SPDX-License-Identifier: MIT */
/* The C side of bench.zig: two actors pass a number of 8 bytes to and fro. */
#include <jzx/jzx.h>

#include <string.h>

struct player {
    jzx_actor_id other;
};

static jzx_behavior_result play(jzx_context *ctx, const jzx_message *msg) {
    const struct player *self = ctx->state;
    uint64_t left;
    if (msg->tag != 0 || msg->len != sizeof left)
        return JZX_BEHAVIOR_FAIL;
    memcpy(&left, msg->data, sizeof left);
    if (left == 0) {
        jzx_loop_request_stop(ctx->loop);
        return JZX_BEHAVIOR_STOP;
    }
    left--;
    return jzx_send(ctx->loop, self->other, ctx->self, &left, sizeof left, 0) == JZX_OK
               ? JZX_BEHAVIOR_OK
               : JZX_BEHAVIOR_FAIL;
}

int jzx_zig_bench_c(jzx_loop *loop, uint64_t messages) {
    static struct player players[2];
    jzx_actor_id a, b;
    if (jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = play, .state = &players[0]), &a) != JZX_OK ||
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = play, .state = &players[1]), &b) != JZX_OK)
        return -1;
    players[0].other = b;
    players[1].other = a;
    if (jzx_send(loop, a, JZX_NOBODY, &messages, sizeof messages, 0) != JZX_OK)
        return -1;
    return jzx_loop_run(loop);
}
