/* SPDX-License-Identifier: MIT */
/* Pinning: an actor that has something on its worker (an entry of the wheel, a registration) does
 * not leave it. Each part pins at most once at a time. */
#ifndef JZX_ACTOR_PIN_H
#define JZX_ACTOR_PIN_H

#include "actor/actor.h"

/* The actor stays where it is until the same number of unpins. It has a cold record. Owner only. */
static inline void jzx__actor_pin(struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    cold->pins++;
    if (actor->task.bound != JZX__FREE)
        return;
    actor->task.bound = JZX__BOUND_WORKER;
    cold->is_movable = true;
}

/* A fiber that has begun stays, unless it is migratable (fiber/V4). */
static inline void jzx__actor_unpin(struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    if (--cold->pins != 0 || !cold->is_movable)
        return;
    cold->is_movable = false;
    if (cold->kind != JZX__KIND_FIBER || cold->is_migratable)
        actor->task.bound = JZX__FREE;
}

#endif
