/* SPDX-License-Identifier: MIT */
/* One pool of each family can be found by all who know the loop. */
#include "actor/loop.h"
#include "actor/part.h"
#include "base/alloc.h"
#include "base/sized.h"
#include "pool/names.h"
#include "pool/pool.h"

static struct jzx__pool_names *names_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_POOL];
}

static bool open_names(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    struct jzx__pool_names *names = jzx__alloc(&loop->sched.allocator, sizeof *names);
    if (names == NULL)
        return false;
    jzx__pool_names_init(names);
    loop->parts[JZX__PART_POOL] = names;
    return true;
}

static void close_names(struct jzx_loop *loop) {
    jzx__pool_names_deinit(names_of(loop));
    jzx__free(&loop->sched.allocator, names_of(loop), sizeof(struct jzx__pool_names));
    loop->parts[JZX__PART_POOL] = NULL;
}

const struct jzx__part_ops jzx__part_pool = {.open = open_names, .close = close_names};

jzx_err jzx_pool_register(jzx_loop *loop, jzx_pool *pool) {
    if (loop == NULL || pool == NULL)
        return JZX_ERR_INVALID_ARG;
    return jzx__pool_names_add(names_of(loop), jzx__pool_of(pool));
}

jzx_err jzx_pool_unregister(jzx_loop *loop, jzx_pool *pool) {
    if (loop == NULL || pool == NULL)
        return JZX_ERR_INVALID_ARG;
    return jzx__pool_names_remove(names_of(loop), jzx__pool_of(pool)) ? JZX_OK
                                                                      : JZX_ERR_INVALID_ARG;
}

jzx_pool *jzx_pool_lookup(jzx_loop *loop, const jzx_pool_type *type) {
    jzx_pool_type full;
    if (loop == NULL || !jzx__read_sized(&full, sizeof full, type) || full.name == NULL)
        return NULL;
    struct jzx__pool *pool = jzx__pool_names_find(names_of(loop), &full);
    return pool == NULL ? NULL : &pool->head;
}
