/* SPDX-License-Identifier: MIT */
/* The stacks of the fibers of a loop, and what a loop and its workers have of fibers. */
#ifndef JZX_FIBER_STACKS_H
#define JZX_FIBER_STACKS_H

#include "fiber/fiber.h"

bool jzx__fibers_open(struct jzx_loop *loop, const jzx_config *config);
void jzx__fibers_close(struct jzx_loop *loop);

static inline struct jzx__stacks *jzx__stacks_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_FIBER];
}

#endif
