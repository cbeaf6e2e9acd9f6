/* SPDX-License-Identifier: MIT */
/* Where the queues of urgent messages of a loop are; see urgent.h for the rules G1-G5. */
#ifndef JZX_ACTOR_URGENTS_H
#define JZX_ACTOR_URGENTS_H

#include "base/compiler.h"
#include "base/lock.h"

#include <stdint.h>

struct jzx__urgent; /* a queue */

#define JZX__URGENT_STRIPE_COUNT 64u

struct jzx__urgent_stripe {
    _Alignas(JZX_CACHE_LINE) struct jzx__lock lock;
    struct jzx__urgent *queues; /* under the lock */
};

/* Those of a loop. */
struct jzx__urgents {
    struct jzx__urgent_stripe stripes[JZX__URGENT_STRIPE_COUNT];
    uint32_t cap; /* messages that may wait for one actor */
};

void jzx__urgents_init(struct jzx__urgents *urgents, uint32_t cap);
void jzx__urgents_deinit(struct jzx__urgents *urgents);

#endif
