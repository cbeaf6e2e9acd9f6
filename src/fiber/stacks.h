/* SPDX-License-Identifier: MIT */
/* The stacks of the fibers of a loop, and what a loop and its workers have of fibers. */
#ifndef JZX_FIBER_STACKS_H
#define JZX_FIBER_STACKS_H

#include "fiber/fiber.h"

bool jzx__fibers_open(struct jzx_loop *loop, const jzx_config *config);
void jzx__fibers_close(struct jzx_loop *loop);

/* What a loop has of fibers. */
struct jzx__fiber_home {
    struct jzx__stacks stacks;
    struct jzx__deadlocks deadlocks;
};

static inline struct jzx__stacks *jzx__stacks_of(const struct jzx_loop *loop) {
    return &((struct jzx__fiber_home *)loop->parts[JZX__PART_FIBER])->stacks;
}

static inline struct jzx__deadlocks *jzx__deadlocks_of(const struct jzx_loop *loop) {
    return &((struct jzx__fiber_home *)loop->parts[JZX__PART_FIBER])->deadlocks;
}

#endif
