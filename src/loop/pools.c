/* SPDX-License-Identifier: MIT */
/* One pool of each family can be found by all who know the loop. */
#include "actor/system.h"
#include "pool/pool.h"

jzx_err jzx_pool_register(jzx_loop *loop, jzx_pool *pool) {
    if (loop == NULL || pool == NULL)
        return JZX_ERR_INVALID_ARG;
    return jzx__pool_names_add(&loop->pools, jzx__pool_of(pool));
}

jzx_err jzx_pool_unregister(jzx_loop *loop, jzx_pool *pool) {
    if (loop == NULL || pool == NULL)
        return JZX_ERR_INVALID_ARG;
    return jzx__pool_names_remove(&loop->pools, jzx__pool_of(pool)) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

jzx_pool *jzx_pool_lookup(jzx_loop *loop, const jzx_pool_type *type) {
    if (loop == NULL || type == NULL || type->size != sizeof *type || type->name == NULL)
        return NULL;
    struct jzx__pool *pool = jzx__pool_names_find(&loop->pools, type);
    return pool == NULL ? NULL : &pool->head;
}
