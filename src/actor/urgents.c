/* SPDX-License-Identifier: MIT */
#include "actor/urgents.h"

#include "base/assert.h"

void jzx__urgents_init(struct jzx__urgents *urgents, uint32_t cap) {
    urgents->cap = cap;
    for (uint32_t i = 0; i < JZX__URGENT_STRIPE_COUNT; i++) {
        jzx__lock_init(&urgents->stripes[i].lock);
        urgents->stripes[i].queues = NULL;
    }
}

void jzx__urgents_deinit(struct jzx__urgents *urgents) {
    for (uint32_t i = 0; i < JZX__URGENT_STRIPE_COUNT; i++) {
        JZX_ASSERT(urgents->stripes[i].queues == NULL); /* G3 */
        jzx__lock_deinit(&urgents->stripes[i].lock);
    }
}
