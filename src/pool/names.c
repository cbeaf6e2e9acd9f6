/* SPDX-License-Identifier: MIT */
/* Registered pools; see names.h. */
#include "pool/names.h"

#include "pool/pool.h"

#include <string.h>

void jzx__pool_names_init(struct jzx__pool_names *names) {
    jzx__lock_init(&names->lock);
    names->first = NULL;
}

/* Sets where the pool is registered, if that was `from`; says whether it was. */
static bool move(struct jzx__pool *pool, struct jzx__pool_names *from, struct jzx__pool_names *to) {
    jzx__lock_acquire(&pool->lock);
    bool moved = pool->names == from;
    if (moved)
        pool->names = to;
    jzx__lock_release(&pool->lock);
    return moved;
}

void jzx__pool_names_deinit(struct jzx__pool_names *names) {
    while (names->first != NULL) {
        struct jzx__pool *pool = names->first;
        names->first = pool->next_named;
        move(pool, names, NULL); /* the pool may be destroyed from here on */
    }
    jzx__lock_deinit(&names->lock);
}

/* Under the lock. */
static struct jzx__pool *find(const struct jzx__pool_names *names, const char *name) {
    struct jzx__pool *pool = names->first;
    while (pool != NULL && strcmp(pool->type.name, name) != 0)
        pool = pool->next_named;
    return pool;
}

jzx_err jzx__pool_names_add(struct jzx__pool_names *names, struct jzx__pool *pool) {
    jzx_err err = JZX_OK;
    jzx__lock_acquire(&names->lock);
    struct jzx__pool *other = find(names, pool->type.name);
    if (other != NULL && other != pool) {
        err = JZX_ERR_EXISTS;
    } else if (!move(pool, NULL, names)) {
        err = JZX_ERR_BUSY;
    } else {
        pool->next_named = names->first;
        names->first = pool;
    }
    jzx__lock_release(&names->lock);
    return err;
}

bool jzx__pool_names_remove(struct jzx__pool_names *names, struct jzx__pool *pool) {
    jzx__lock_acquire(&names->lock);
    struct jzx__pool **place = &names->first;
    while (*place != NULL && *place != pool)
        place = &(*place)->next_named;
    bool found = *place == pool;
    if (found) {
        *place = pool->next_named;
        move(pool, names, NULL);
    }
    jzx__lock_release(&names->lock);
    return found;
}

static bool is_same_layout(const jzx_pool_type *a, const jzx_pool_type *b) {
    return a->value_size == b->value_size && a->slot_size == b->slot_size &&
           a->slot_align == b->slot_align && a->is_shared == b->is_shared;
}

struct jzx__pool *jzx__pool_names_find(struct jzx__pool_names *names, const jzx_pool_type *type) {
    jzx__lock_acquire(&names->lock);
    struct jzx__pool *pool = find(names, type->name);
    if (pool != NULL && !is_same_layout(&pool->type, type))
        pool = NULL;
    jzx__lock_release(&names->lock);
    return pool;
}
