/* SPDX-License-Identifier: MIT */
/* Calls that an actor makes for itself, in its own turn: also in one that has lost its worker. */
#ifndef JZX_ACTOR_OWN_H
#define JZX_ACTOR_OWN_H

#include "actor/system.h"

struct jzx__own {
    struct jzx__turn *turn;
    struct jzx__visit visit;
    struct jzx__worker *me; /* NULL in a turn that has lost its worker */
    struct jzx__cold *cold; /* NULL: the actor has none */
};

/* False if this is no turn of the context's actor, or its cleanup; then there is nothing to end. */
static inline bool jzx__own_begin(struct jzx__own *own, const jzx_context *ctx) {
    if (ctx == NULL)
        return false;
    own->me = jzx__loop_visit(ctx->loop, &own->visit);
    own->turn = (void *)own->visit.seat->turn; /* a cleanup has another one */
    if (ctx != &own->turn->ctx) {
        jzx__visit_end(&own->visit);
        return false;
    }
    own->cold = jzx__actor_cold(jzx__turn_actor(own->turn));
    return true;
}

static inline void jzx__own_end(struct jzx__own *own) {
    jzx__visit_end(&own->visit);
}

/* False without memory. */
static inline bool jzx__own_ensure_cold(struct jzx__own *own) {
    own->cold = jzx__cold_ensure(own->turn->ctx.loop, own->me, jzx__turn_actor(own->turn));
    return own->cold != NULL;
}

#endif
