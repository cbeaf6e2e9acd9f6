/* SPDX-License-Identifier: MIT */
/* The pools that are registered with a loop, by the names of their families: a list, since a
 * program has a handful of them and keeps the pointers. A pool is in one list at most, and the link
 * is in the pool, so registering takes no memory. Locks are taken in this order: the list's, then
 * the pool's. */
#ifndef JZX_POOL_NAMES_H
#define JZX_POOL_NAMES_H

#include "base/lock.h"

#include "jzx/pool.h"

struct jzx__pool;

struct jzx__pool_names {
    struct jzx__lock lock;
    struct jzx__pool *first;
};

void jzx__pool_names_init(struct jzx__pool_names *names);

/* Unregisters all that are left. */
void jzx__pool_names_deinit(struct jzx__pool_names *names);

/* JZX_ERR_EXISTS: the name is taken. JZX_ERR_BUSY: the pool is in a list. */
jzx_err jzx__pool_names_add(struct jzx__pool_names *names, struct jzx__pool *pool);

/* False if the pool is not in this list. */
bool jzx__pool_names_remove(struct jzx__pool_names *names, struct jzx__pool *pool);

/* The pool with that name, if it has that layout, too; else NULL. */
struct jzx__pool *jzx__pool_names_find(struct jzx__pool_names *names, const jzx_pool_type *type);

#endif
