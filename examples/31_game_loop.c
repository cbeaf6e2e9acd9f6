/* SPDX-License-Identifier: MIT */
/* A game loop. The world is a manual actor: it handles messages when the game says so, once per
 * frame and on the game's own thread, so that rendering may look at its state without a lock. Rocks
 * live in a handle pool. An actor of the loop, which runs beside the game, decides where to shoot:
 * it sends to the world as to any other actor, and never holds a frame up. */
#include <jzx/jzx.h>
#include <pthread.h>
#include <stdio.h>

enum { ROCKS = 3, FRAMES = 6 };

struct rock {
    double x;
    double speed;
};

JZX_POOL(rock, struct rock)

/* ---- the world ---- */

#define WORLD(T, STATE, ON, ASK)                                                                   \
    STATE(T, rock_pool *, rocks, NULL)                                                             \
    STATE(T, uint32_t, frame, 0)                                                                   \
    STATE(T, uint32_t, hits, 0)                                                                    \
    ON(T, tick, double, dt)                                                                        \
    ON(T, shoot, rock_ref, at)

static jzx_err world_open(jzx_context *ctx);
static void world_close(jzx_context *ctx, jzx_exit_reason reason);

JZX_ACTOR_TYPE_WITH(world, WORLD, world_open, world_close, NULL);

/* Runs in the first poll. */
static jzx_err world_open(jzx_context *ctx) {
    struct world *self = ctx->state;
    jzx_err err = rock_pool_create(ROCKS, NULL, &self->rocks);
    for (int i = 0; i < ROCKS && err == JZX_OK; i++) {
        rock_ref ref;
        err = rock_pool_new(self->rocks, &(struct rock){.x = 10 * i, .speed = 1 + i}, &ref);
    }
    return err;
}

static void world_close(jzx_context *ctx, jzx_exit_reason reason) {
    struct world *self = ctx->state;
    (void)reason;
    (void)rock_pool_destroy(self->rocks);
}

static jzx_behavior_result world_on_tick(jzx_context *ctx, struct world *self,
                                         const struct world_tick *msg) {
    rock_ref at = {JZX_NO_REF};
    struct rock *rock;
    (void)ctx;
    self->frame++;
    while ((rock = rock_pool_next_mut(self->rocks, &at)) != NULL)
        rock->x += rock->speed * msg->dt;
    return JZX_BEHAVIOR_OK;
}

/* A rock that is gone already is not hit again: the reference finds nothing. */
static jzx_behavior_result world_on_shoot(jzx_context *ctx, struct world *self,
                                          const struct world_shoot *msg) {
    (void)ctx;
    if (rock_pool_valid(self->rocks, msg->at)) {
        rock_pool_free(self->rocks, msg->at);
        self->hits++;
    }
    return JZX_BEHAVIOR_OK;
}

/* ---- who shoots: an actor of the loop that runs beside the game ---- */

#define GUNNER(T, STATE, ON, ASK)                                                                  \
    STATE(T, uint32_t, shots, 0)                                                                   \
    ON(T, seen, jzx_actor_id, world, rock_ref, nearest)

JZX_ACTOR_TYPE(gunner, GUNNER);

static jzx_behavior_result gunner_on_seen(jzx_context *ctx, struct gunner *self,
                                          const struct gunner_seen *msg) {
    self->shots++;
    (void)world_send_shoot(ctx, msg->world, msg->nearest);
    return self->shots == FRAMES ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* ---- the game ---- */

/* What a renderer would do: looks at all rocks. The nearest one is what the gunner is shown. */
static rock_ref render(const struct world *world) {
    rock_ref at = {JZX_NO_REF};
    rock_ref nearest = {JZX_NO_REF};
    const struct rock *rock;
    double x = 0;
    while ((rock = rock_pool_next(world->rocks, &at)) != NULL) {
        if (!rock_pool_valid(world->rocks, nearest) || rock->x < x) {
            nearest = at;
            x = rock->x;
        }
    }
    return nearest;
}

static void *run_loop(void *loop) {
    (void)jzx_loop_run(loop);
    return NULL;
}

int main(void) {
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_manual *world;
    jzx_actor_id gunner;
    pthread_t thread;
    if (loop == NULL || world_manual(loop, &world) != JZX_OK ||
        gunner_spawn(loop, &gunner) != JZX_OK || pthread_create(&thread, NULL, run_loop, loop) != 0)
        return 1;
    for (int frame = 0; frame < FRAMES; frame++) {
        (void)world_post_tick(loop, jzx_manual_id(world), 1.0 / 60);
        (void)jzx_manual_drain(world, 0, NULL); /* all that has come since the last frame */
        rock_ref nearest = render(jzx_manual_state(world)); /* ours until the next poll */
        (void)gunner_post_seen(loop, gunner, jzx_manual_id(world), nearest);
    }
    pthread_join(thread, NULL); /* the gunner has shot for the last time */
    (void)jzx_manual_drain(world, 0, NULL);
    const struct world *end = jzx_manual_state(world);
    printf("%u frames, %u rocks hit\n", end->frame, end->hits);
    bool is_right = end->frame == FRAMES && end->hits >= 1;
    jzx_manual_destroy(world);
    (void)jzx_loop_destroy(loop);
    return is_right ? 0 : 1;
}
