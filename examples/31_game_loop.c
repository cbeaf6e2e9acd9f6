/* SPDX-License-Identifier: MIT */
/* A game loop. The controller of the enemies is a manual actor. It handles messages when the game
 * says so, once per frame and on the game's own thread. Rendering looks at its state without a
 * lock. Enemies live in a handle pool, and the controller has a list of their references.
 * A tick adds the time of the frame to what has accumulated and spawns an enemy for each step of
 * SPAWN_RATE in it, however long the frame was. A bomb tells the controller to damage all.
 *
 * It prints:
 *     frame 1 (0.25 s): no enemies
 *     frame 2 (0.50 s): 26
 *     frame 3 (1.25 s): 16 30 40 50
 *     frame 4 (0.25 s): 14 28 38 48, a bomb
 *     frame 5 (0.50 s): 10 24 34 44 66, a bomb
 *     frame 6 (0.50 s): 62 76
 *     frame 7 (0.25 s): 60 74 88, a bomb
 *     frame 8 (1.00 s): 66 80 92 102
 *     9 spawned, 5 of them killed by bombs
 */
#include <jzx/jzx.h>
#include <stdio.h>

enum { ENEMIES_MAX = 100, HP = 100 };

#define SPAWN_RATE 0.5 /* seconds */

struct enemy {
    int hp;
    double distance; /* to the player */
    double speed;
};

JZX_POOL(enemy, struct enemy)

/* ---- the controller ---- */

struct enemies {
    enemy_ref refs[ENEMIES_MAX];
    uint32_t count;
};

#define CONTROLLER(T, STATE, ON, ASK)                                                              \
    STATE(T, enemy_pool *, pool, NULL)                                                             \
    STATE(T, struct enemies, enemies, (struct enemies){.count = 0})                                \
    STATE(T, double, spawn_rate, SPAWN_RATE)                                                       \
    STATE(T, double, accumulated, 0)                                                               \
    STATE(T, uint32_t, spawned, 0)                                                                 \
    STATE(T, uint32_t, killed, 0)                                                                  \
    ON(T, tick, double, dt)                                                                        \
    ON(T, damage_all, int, amount)

static jzx_err controller_open(jzx_context *ctx);
static void controller_close(jzx_context *ctx, jzx_exit_reason reason);

JZX_ACTOR_TYPE_WITH(controller, CONTROLLER, controller_open, controller_close, NULL);

/* Runs in the first poll. */
static jzx_err controller_open(jzx_context *ctx) {
    struct controller *self = ctx->state;
    return enemy_pool_create(ENEMIES_MAX, NULL, &self->pool);
}

static void controller_close(jzx_context *ctx, jzx_exit_reason reason) {
    struct controller *self = ctx->state;
    (void)reason;
    (void)enemy_pool_destroy(self->pool);
}

/* A pool that is full spawns nobody. */
static void spawn_enemy(struct controller *self) {
    const struct enemy enemy = {.hp = HP, .distance = 30 + 10 * self->spawned, .speed = 8};
    enemy_ref ref;
    if (enemy_pool_new(self->pool, &enemy, &ref) != JZX_OK)
        return;
    self->enemies.refs[self->enemies.count++] = ref;
    self->spawned++;
}

static jzx_behavior_result controller_on_tick(jzx_context *ctx, struct controller *self,
                                              const struct controller_tick *msg) {
    (void)ctx;
    self->accumulated += msg->dt;
    while (self->accumulated >= self->spawn_rate) {
        self->accumulated -= self->spawn_rate;
        spawn_enemy(self);
    }
    for (uint32_t i = 0; i < self->enemies.count; i++) {
        enemy_ref ref = self->enemies.refs[i];
        struct enemy *enemy = enemy_pool_get_mut(self->pool, ref);
        if (enemy == NULL)
            continue;
        enemy->distance -= msg->dt * enemy->speed;
        if (enemy->hp <= 0)
            self->killed += enemy_pool_free(self->pool, ref);
    }
    /* Retains the references that still find an enemy. */
    self->enemies.count =
        (uint32_t)enemy_pool_compact(self->pool, self->enemies.refs, self->enemies.count);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result controller_on_damage_all(jzx_context *ctx, struct controller *self,
                                                    const struct controller_damage_all *msg) {
    (void)ctx;
    for (uint32_t i = 0; i < self->enemies.count; i++) {
        struct enemy *enemy = enemy_pool_get_mut(self->pool, self->enemies.refs[i]);
        if (enemy != NULL)
            enemy->hp -= msg->amount;
    }
    return JZX_BEHAVIOR_OK;
}

/* ---- the game ---- */

static void render(const struct controller *self, uint32_t frame, double dt) {
    printf("frame %u (%.2f s):", frame, dt);
    for (uint32_t i = 0; i < self->enemies.count; i++) {
        const struct enemy *enemy = enemy_pool_get(self->pool, self->enemies.refs[i]);
        if (enemy != NULL)
            printf(" %.0f", enemy->distance);
    }
    printf("%s", self->enemies.count == 0 ? " no enemies" : "");
}

int main(void) {
    static const struct {
        double dt;
        int bomb; /* which the player drops after this frame; 0: none */
    } frames[] = {{0.25, 0}, {0.5, 0}, {1.25, 0},  {0.25, 60},
                  {0.5, 60}, {0.5, 0}, {0.25, 40}, {1.0, 0}};
    const uint32_t count = sizeof frames / sizeof frames[0];
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_manual *controller;
    if (loop == NULL || controller_manual(loop, &controller) != JZX_OK)
        return 1;
    jzx_actor_id id = jzx_manual_id(controller);
    for (uint32_t i = 0; i < count; i++) {
        (void)controller_post_tick(loop, id, frames[i].dt);
        (void)jzx_manual_drain(controller, 0, NULL); /* all that has come since the last frame */
        render(jzx_manual_state(controller), i + 1, frames[i].dt); /* ours until the next poll */
        if (frames[i].bomb != 0)
            (void)controller_post_damage_all(loop, id, frames[i].bomb);
        printf("%s\n", frames[i].bomb != 0 ? ", a bomb" : "");
    }
    const struct controller *end = jzx_manual_state(controller);
    printf("%u spawned, %u of them killed by bombs\n", end->spawned, end->killed);
    jzx_manual_destroy(controller);
    return jzx_loop_destroy(loop) == JZX_OK ? 0 : 1;
}
