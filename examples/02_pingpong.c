/* SPDX-License-Identifier: MIT */
/* Two actors that hit a ball to and fro. A message carries its sender, so an actor can answer
 * without knowing anybody. With a number of rounds it also tells the time of a message:
 *     ./jzx run examples/02_pingpong.c 1000000 */
#include <jzx/jzx.h>
#include <stdio.h>
#include <stdlib.h>

enum { SERVE = 1, BALL = 2, GAME_OVER = 3 };

struct player {
    const char *name;
    jzx_actor_id opponent; /* whom to serve to; only the one who serves needs to know */
    long hits;
    long rounds; /* to play, for the one who serves */
};

static jzx_behavior_result play(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    if (msg->tag == GAME_OVER)
        return JZX_BEHAVIOR_STOP;
    jzx_actor_id to = msg->tag == SERVE ? self->opponent : msg->sender;
    if (self->rounds != 0 && self->hits == self->rounds) {
        jzx_send(ctx->loop, to, ctx->self, NULL, 0, GAME_OVER);
        return JZX_BEHAVIOR_STOP;
    }
    self->hits++;
    jzx_send(ctx->loop, to, ctx->self, NULL, 0, BALL);
    return JZX_BEHAVIOR_OK;
}

/* Runs when the actor ends, however it ends. */
static void report(jzx_context *ctx, jzx_exit_reason reason) {
    struct player *self = ctx->state;
    (void)reason;
    printf("%s hit the ball %ld times\n", self->name, self->hits);
}

int main(int argc, char **argv) {
    struct player ping = {.name = "ping", .rounds = argc > 1 ? atol(argv[1]) : 5};
    struct player pong = {.name = "pong"};
    jzx_actor_id first;
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = play, .state = &ping, .cleanup = report), &first);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = play, .state = &pong, .cleanup = report),
              &ping.opponent);

    uint64_t start = jzx_loop_now(loop);
    jzx_send(loop, first, JZX_NOBODY, NULL, 0, SERVE);
    jzx_err err = jzx_loop_run(loop);
    if (ping.hits >= 100000)
        printf("%.1f ns a message\n",
               (double)(jzx_loop_now(loop) - start) / (double)(ping.hits + pong.hits));
    jzx_loop_destroy(loop);
    return err != JZX_OK || ping.hits != pong.hits;
}
