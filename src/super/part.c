/* SPDX-License-Identifier: MIT */
/* The part of supervisors (actor/part.h): where a loop finds them. */
#include "actor/part.h"

#include "base/alloc.h"
#include "super/super.h"

static bool open_supers(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    struct jzx__supers *supers = jzx__alloc(&loop->sched.allocator, sizeof *supers);
    if (supers == NULL)
        return false;
    jzx__lock_init(&supers->lock);
    for (uint32_t i = 0; i < JZX__SUPER_BUCKETS; i++)
        jzx__list_init(&supers->buckets[i]);
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&supers->escalated, 0u);
    loop->parts[JZX__PART_SUPER] = supers;
    return true;
}

static void close_supers(struct jzx_loop *loop) {
    struct jzx__supers *supers = jzx__supers_of(loop);
    jzx__lock_deinit(&supers->lock);
    jzx__free(&loop->sched.allocator, supers, sizeof *supers);
    loop->parts[JZX__PART_SUPER] = NULL;
}

const struct jzx__part_ops jzx__part_super = {.open = open_supers, .close = close_supers};
