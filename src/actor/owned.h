/* SPDX-License-Identifier: MIT */
/* Which buffers callers own, for a loop with config.track_buffers: at its end it names those that
 * were never released, and the actors that took them.
 *
 * Taking a buffer writes it down, and that is all: to send or free it touches nothing here. A block
 * of a slab or of a timer's record stays mapped as long as the loop, so that its mark (message/M5)
 * says at the end whether a caller owns it still. A block from the allocator hooks is crossed out
 * when it is freed.
 *
 * Builds for development (base/leak.h) track always, with memory of malloc, which no hook sees. */
#ifndef JZX_ACTOR_OWNED_H
#define JZX_ACTOR_OWNED_H

#include "actor/message.h"

struct jzx__owned;

/* Sets loop->owned, to NULL if the loop does not track. False without memory. */
bool jzx__owned_open(struct jzx_loop *loop, const jzx_config *config);
void jzx__owned_close(struct jzx_loop *loop);

JZX_COLD void jzx__owned_note(struct jzx_loop *loop, struct jzx__message *block);
JZX_COLD void jzx__owned_forget(struct jzx_loop *loop, const struct jzx__message *block);

/* The caller owns the block, or has one more reference to it. Outside of a visit. */
static inline void jzx__owned_add(struct jzx_loop *loop, struct jzx__message *block) {
    if (JZX_UNLIKELY(loop->owned != NULL))
        jzx__owned_note(loop, block);
}

/* A block from the hooks is freed. */
static inline void jzx__owned_remove(struct jzx_loop *loop, const struct jzx__message *block) {
    if (JZX_UNLIKELY(loop->owned != NULL))
        jzx__owned_forget(loop, block);
}

/* All actors have ended: the log says what was not released. Blocks of pools go back, so that these
 * count only what the library has lost; no destructor runs. On the driving thread. */
void jzx__owned_settle(struct jzx_loop *loop, struct jzx__worker *me);

#endif
