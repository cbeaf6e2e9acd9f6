/* SPDX-License-Identifier: MIT */
/* The memory of an actor: an arena that hangs on its cold record. It takes its memory from the
 * allocator hooks and not from the worker's slabs, so that a turn can go on without its worker. */
#ifndef JZX_ACTOR_MEMORY_H
#define JZX_ACTOR_MEMORY_H

#include "actor/actor.h"

/* The actor has ended, and its cleanup is over: all of it goes. */
void jzx__memory_release(struct jzx__cold *cold);

/* What it has taken from the allocator. Not for an actor whose turn goes on without its worker. */
size_t jzx__memory_taken_bytes(const struct jzx__cold *cold);

#endif
