/* SPDX-License-Identifier: MIT */
/* For calls that only an actor itself may make: whose context is it? A context that was copied,
 * kept for too long, or handed to another thread is nobody's. Nothing of it is read before it was
 * recognised by its address. */
#ifndef JZX_ACTOR_OWN_H
#define JZX_ACTOR_OWN_H

#include "actor/loop.h"
#include "actor/part.h"

/* The turn or cleanup that runs on this thread, or NULL. */
static inline struct jzx__turn *jzx__running_turn(void) {
    const struct jzx__seat *seat = jzx__seat_of_thread;
    if (!jzx__seat_exists(seat) || jzx__seat_task(seat) == NULL)
        return NULL;
    return seat->cleanup != NULL ? seat->cleanup : seat->turn;
}

/* The actor, if its turn or its init runs on this thread with this context, also when the thread
 * has lost its worker; else NULL. In the cleanup the id is stale already: NULL. */
static inline struct jzx__actor *jzx__own_turn(const jzx_context *ctx) {
    struct jzx__seat *seat = jzx__seat_of_thread;
    const struct jzx__turn *turn = seat->turn;
    /* relaxed: this thread's own */
    bool is_idle = jzx__atomic_load_relaxed(&seat->task) == NULL;
    /* The context is its first member. In a cleanup at the end of a loop there is no turn. */
    if (JZX_UNLIKELY((const void *)ctx != turn || is_idle || turn == NULL))
        return NULL;
    struct jzx__actor *actor = turn->actor;
    return JZX_LIKELY(jzx__actor_id(actor) == turn->ctx.self) ? actor : NULL;
}

/* The actor, if its cleanup runs on this thread with this context; else NULL. */
static inline struct jzx__actor *jzx__own_cleanup(const jzx_context *ctx) {
    const struct jzx__turn *turn = jzx__seat_of_thread->cleanup; /* it has one of its own */
    return turn == NULL || ctx != &turn->ctx ? NULL : turn->actor;
}

/* A call of an actor in its own turn. */
struct jzx__own {
    struct jzx__turn *turn;
    struct jzx__visit visit;
    struct jzx__worker *me; /* NULL in a turn that has lost its worker */
    struct jzx__cold *cold; /* NULL: the actor has none */
};

/* False if this is no turn of the context's actor; then there is nothing to end. */
static inline bool jzx__own_begin(struct jzx__own *own, const jzx_context *ctx) {
    const struct jzx__actor *actor = jzx__own_turn(ctx);
    if (actor == NULL)
        return false;
    own->me = jzx__loop_visit(ctx->loop, &own->visit);
    own->turn = own->visit.seat->turn;
    own->cold = jzx__actor_cold(actor);
    return true;
}

static inline void jzx__own_end(struct jzx__own *own) {
    jzx__visit_end(&own->visit);
}

/* False without memory. */
static inline bool jzx__own_ensure_cold(struct jzx__own *own) {
    own->cold = jzx__cold_ensure(own->turn->ctx.loop, own->me, own->turn->actor);
    return own->cold != NULL;
}

/* The same with the record of a part that is of JZX__PART_CLASS. */
static inline bool jzx__own_ensure_part(struct jzx__own *own, enum jzx__part part) {
    return jzx__own_ensure_cold(own) &&
           jzx__part_ensure(own->turn->ctx.loop, own->me, own->cold, part) != NULL;
}

/* NULL if there is none. */
static inline void *jzx__own_part(const struct jzx__own *own, enum jzx__part part) {
    return own->cold == NULL ? NULL : jzx__cold_part(own->cold, part);
}

#endif
