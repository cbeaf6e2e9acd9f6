/* SPDX-License-Identifier: MIT */
/* An alternate signal stack of a thread, with a page below it that nobody may touch: handlers with
 * SA_ONSTACK run there, so that they work after an overflow, and on stacks that are too small for
 * them. */
#ifndef JZX_BASE_SIGSTACK_H
#define JZX_BASE_SIGSTACK_H

#include "jzx/allocator.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* The system's frame may have 12 KiB, a walk over the stack and its report as much; the rest is for
 * handlers of others. */
#define JZX__SIGSTACK_SIZE 65536u

struct jzx__sigstack {
    unsigned char *base; /* NULL: there is none, and the functions below do nothing */
    size_t mapped_bytes;
    const jzx_mapper *mapper; /* where it comes from */
    stack_t before;           /* what the thread had */
    bool is_set;
};

/* Maps it, with extra_bytes above it for the caller, all 0. The mapper outlives it. False without
 * memory. */
bool jzx__sigstack_init(struct jzx__sigstack *stack, size_t extra_bytes, const jzx_mapper *mapper);
void jzx__sigstack_deinit(struct jzx__sigstack *stack);

/* The bytes above it. */
void *jzx__sigstack_extra(const struct jzx__sigstack *stack);

/* It is the calling thread's until clear, which puts back what was there; but what the thread has
 * set for itself meanwhile stays. Nests, with another one. */
void jzx__sigstack_set(struct jzx__sigstack *stack);
void jzx__sigstack_clear(struct jzx__sigstack *stack);

#endif
