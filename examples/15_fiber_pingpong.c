/* SPDX-License-Identifier: MIT */
/* Erlang's first example, as two fibers: each waits for a message in the middle of its code. With a
 * number of rounds it also tells the time of a message:
 *     ./jzx run examples/15_fiber_pingpong.c 1000000 */
#include <jzx/jzx.h>
#include <stdio.h>
#include <stdlib.h>

enum { PING = 1, PONG = 2, DONE = 3 };

struct game {
    jzx_actor_id pong;
    long rounds;
    long pings;
    long pongs;
};

static void ping(jzx_context *ctx) {
    struct game *game = ctx->state;
    jzx_message msg;
    for (long i = 0; i < game->rounds; i++) {
        jzx_send(ctx->loop, game->pong, ctx->self, NULL, 0, PING);
        if (jzx_receive_tag(ctx, PONG, JZX_NEVER, &msg) == JZX_OK)
            game->pongs++;
    }
    jzx_send(ctx->loop, game->pong, ctx->self, NULL, 0, DONE);
}

static void pong(jzx_context *ctx) {
    struct game *game = ctx->state;
    jzx_message msg;
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK && msg.tag != DONE) {
        game->pings++;
        jzx_send(ctx->loop, msg.sender, ctx->self, NULL, 0, PONG);
    }
}

int main(int argc, char **argv) {
    struct game game = {.rounds = argc > 1 ? atol(argv[1]) : 3};
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = pong, .state = &game), &game.pong);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = ping, .state = &game), NULL);

    uint64_t start = jzx_loop_now(loop);
    jzx_err err = jzx_loop_run(loop);
    printf("%ld pings, %ld pongs\n", game.pings, game.pongs);
    if (game.rounds >= 100000)
        printf("%.1f ns a message\n",
               (double)(jzx_loop_now(loop) - start) / (double)(game.pings + game.pongs));
    jzx_loop_destroy(loop);
    return err != JZX_OK || game.pings != game.rounds || game.pongs != game.rounds;
}
