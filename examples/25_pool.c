/* SPDX-License-Identifier: MIT */
/* Game entities in pools. A tower shoots at the nearest monster; arrows take two ticks to arrive
 * and remember their target by reference. A monster that dies leaves no dangling pointer behind:
 * arrows that are still on their way find nothing, even if a new monster has its slot by then. The
 * world is an actor, so its pools need no lock; the score is kept by a pool for any thread. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { MONSTERS_MAX = 3, ARROWS_MAX = 8, TICKS = 6 };
enum { TICK = 1 };

struct monster {
    const char *name;
    int health;
};

JZX_POOL(monster, struct monster)

struct arrow {
    monster_ref target;
    int ticks_left;
};

JZX_POOL(arrow, struct arrow)

struct score {
    int kills;
    int misses;
};

JZX_SHARED_POOL(score, struct score)

struct world {
    monster_pool *monsters;
    arrow_pool *arrows;
    score_ref score;
    int ticks;
};

/* Counts in the pool that the loop knows. Another thread may count at the same time: then the
 * commit is refused, and it is done again with what that one has written. */
static void count(jzx_loop *loop, score_ref ref, int kills, int misses) {
    score_pool *scores = score_pool_lookup(loop);
    score_edit edit;
    while (score_pool_get_mut(scores, ref, &edit)) {
        edit.value.kills += kills;
        edit.value.misses += misses;
        if (score_pool_commit(scores, &edit))
            break;
    }
}

struct flight {
    jzx_loop *loop;
    struct world *world;
};

/* Moves an arrow by one tick. False when it has arrived: the pool frees it. */
static bool fly(arrow_ref ref, struct arrow *arrow, void *ctx) {
    struct flight *flight = ctx;
    (void)ref;
    if (--arrow->ticks_left > 0)
        return true;
    struct monster *target = monster_pool_get_mut(flight->world->monsters, arrow->target);
    if (target == NULL) {
        printf("  an arrow hits the ground\n");
        count(flight->loop, flight->world->score, 0, 1);
        return false;
    }
    target->health -= 10;
    printf("  an arrow hits the %s: %d left\n", target->name, target->health);
    if (target->health <= 0) {
        monster_pool_free(flight->world->monsters, arrow->target);
        count(flight->loop, flight->world->score, 1, 0);
    }
    return false;
}

static void come(struct world *world, const char *name, int health) {
    struct monster monster = {name, health};
    jzx_err err = monster_pool_new(world->monsters, &monster, NULL);
    printf("  a%s %s %s\n", *name == 'o' ? "n" : "", name,
           err == JZX_OK ? "comes" : "finds no room");
}

static jzx_behavior_result tick(jzx_context *ctx, const jzx_message *msg) {
    struct world *self = ctx->state;
    struct flight flight = {ctx->loop, self};
    (void)msg;
    printf("tick %d\n", ++self->ticks);
    arrow_pool_retain(self->arrows, fly, &flight);
    if (self->ticks == 3)
        come(self, "bat", 10); /* into the slot that the orc had */
    monster_ref nearest = {JZX_NO_REF};
    if (monster_pool_next(self->monsters, &nearest) != NULL)
        arrow_pool_new(self->arrows, &(struct arrow){nearest, 2}, NULL);
    if (self->ticks == TICKS)
        return JZX_BEHAVIOR_STOP;
    jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, TICK);
    return JZX_BEHAVIOR_OK;
}

int main(void) {
    struct world world = {.ticks = 0};
    score_pool *scores = NULL;
    struct score score = {0, 0};
    jzx_actor_id id;
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1));
    if (loop == NULL || monster_pool_create(MONSTERS_MAX, NULL, &world.monsters) != JZX_OK ||
        arrow_pool_create(ARROWS_MAX, NULL, &world.arrows) != JZX_OK ||
        score_pool_create(1, NULL, &scores) != JZX_OK)
        return 1;
    score_pool_register(loop, scores);
    score_pool_new(scores, NULL, &world.score);
    come(&world, "orc", 10);
    come(&world, "troll", 20);
    come(&world, "wolf", 10);
    come(&world, "ghost", 10);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = tick, .state = &world), &id);
    jzx_send(loop, id, JZX_NOBODY, NULL, 0, TICK);
    jzx_loop_run(loop);

    score_pool_get(scores, world.score, &score);
    printf("%d killed, %d missed, %u monsters left\n", score.kills, score.misses,
           (unsigned)monster_pool_count(world.monsters));
    jzx_loop_destroy(loop);
    score_pool_destroy(scores);
    arrow_pool_destroy(world.arrows);
    monster_pool_destroy(world.monsters);
    return score.kills == 2 && score.misses == 2 ? 0 : 1;
}
