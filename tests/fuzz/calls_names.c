/* SPDX-License-Identifier: MIT */
/* Names, groups, and pools of objects with references. */
#include "fuzz.h"

CALL(jzx_register, LOOP, NAME, ID);
CALL(jzx_unregister, LOOP, NAME);
CALL(jzx_send_named, LOOP, NAME, ID, DATA, LEN, TAG);

static void do_jzx_lookup(struct fuzz *f) {
    jzx_actor_id id = JZX_NOBODY;
    if (fuzz_status(f, jzx_lookup(LOOP, NAME, &id)) == JZX_OK)
        fuzz_note(f, AN_ACTOR, id);
}

/* ---- groups ---- */

#define IDS                                                                                        \
    (jzx_actor_id[8]) {                                                                            \
        0                                                                                          \
    }

CALL(jzx_group_join, CTX, NAME);
CALL(jzx_group_leave, CTX, NAME);
CALL(jzx_group_list, CTX, (char[4][JZX_NAME_MAX + 1]){{0}}, BELOW(5), OR_NULL(&(size_t){0}));
CALL(jzx_group_members, LOOP, NAME, IDS, BELOW(9), OR_NULL(&(size_t){0}));
CALL(jzx_group_monitor, CTX, NAME, YES_OR_NO ? NULL : IDS, 8, OR_NULL(&(size_t){0}));
CALL(jzx_group_demonitor, CTX, NAME);
CALL(jzx_group_broadcast, LOOP, NAME, ID, DATA, LEN, TAG, OR_NULL(&(size_t){0}));
CALL(jzx_route, LOOP, NAME, (jzx_route_policy)BELOW(fuzz_chance(f, 16) ? 9 : 4), WORD, ID, DATA,
     LEN, TAG);

static void do_jzx_group_broadcast_shared(struct fuzz *f) {
    int ticket;
    void *data = fuzz_borrow(f, OF_SHARED, &ticket);
    fuzz_status(f, jzx_group_broadcast_shared(LOOP, NAME, ID, data, TAG, NULL));
    fuzz_give_back(f, OF_SHARED, ticket);
}

/* ---- pools: a shared one is for any thread, the plain one is used within one operation ---- */

struct thing {
    uint64_t numbers[3];
};
JZX_SHARED_POOL(thing, struct thing)
JZX_POOL(plain, struct thing)

static void do_jzx_pool_create(struct fuzz *f) {
    jzx_allocator allocator = fuzz_allocator();
    thing_pool *pool = NULL;
    if (fuzz_status(f, thing_pool_create(fuzz_chance(f, 16) ? 0 : 1 + BELOW(9), &allocator,
                                         &pool)) == JZX_OK)
        fuzz_put(f, OF_POOL, pool);
}

static void do_jzx_pool_destroy(struct fuzz *f) {
    void *pool = fuzz_take(f, OF_POOL);
    if (fuzz_status(f, jzx_pool_destroy(pool)) == JZX_ERR_BUSY)
        fuzz_put(f, OF_POOL, pool);
}

#define WITH_POOL(function, statement)                                                             \
    static void do_##function(struct fuzz *f) {                                                    \
        int ticket;                                                                                \
        jzx_pool *pool = fuzz_borrow(f, OF_POOL, &ticket);                                         \
        statement;                                                                                 \
        fuzz_give_back(f, OF_POOL, ticket);                                                        \
    }                                                                                              \
    struct fuzz

#define REF fuzz_handle(f, A_REF)
#define THING                                                                                      \
    &(struct thing) {                                                                              \
        { 1, 2, 3 }                                                                                \
    }

WITH_POOL(jzx_pool_add, jzx_ref ref = 0;
          if (fuzz_status(f, jzx_pool_add(pool, THING, &ref)) == JZX_OK) fuzz_note(f, A_REF, ref));
WITH_POOL(jzx_pool_free, if (pool != NULL)(void) jzx_pool_free(pool, REF));
WITH_POOL(jzx_pool_count, if (pool != NULL && jzx_pool_count(pool) > jzx_pool_capacity(pool))
                              fuzz_fail("a pool has more objects than capacity"));
WITH_POOL(jzx_pool_read, if (pool != NULL)(void) jzx_pool_read(pool, REF, OR_NULL(THING), NULL));
WITH_POOL(jzx_pool_write, uint64_t version = BELOW(3);
          if (pool != NULL)(void) jzx_pool_write(pool, REF, THING, &version));
WITH_POOL(jzx_pool_remove, if (pool != NULL)(void) jzx_pool_remove(pool, REF, NULL, NULL));
WITH_POOL(jzx_pool_read_next, jzx_ref ref = JZX_NO_REF; struct thing value;
          for (unsigned i = 0;
               pool != NULL && i < 20 && jzx_pool_read_next(pool, &ref, &value, NULL); i++)
              fuzz_note(f, A_REF, ref));
WITH_POOL(jzx_pool_register, fuzz_status(f, jzx_pool_register(LOOP, pool)));
WITH_POOL(jzx_pool_unregister, fuzz_status(f, jzx_pool_unregister(LOOP, pool)));
USE(jzx_pool_lookup, LOOP, YES_OR_NO ? thing_pool_type() : NULL);

static bool keeps(plain_ref ref, struct thing *value, void *arg) {
    (void)value;
    (void)arg;
    return ref.ref % 2 == 0;
}

static void do_plain_pool(struct fuzz *f) {
    plain_pool *pool = NULL;
    plain_ref refs[8] = {{0}};
    uint32_t capacity = 1 + BELOW(8);
    if (plain_pool_create(capacity, NULL, &pool) != JZX_OK)
        return;
    for (unsigned i = 0; i < 24; i++) {
        plain_ref *ref = &refs[fuzz_below(f, 8)];
        if (plain_pool_valid(pool, *ref) && YES_OR_NO)
            (void)plain_pool_free(pool, *ref);
        else if (plain_pool_new(pool, NULL, ref) == JZX_ERR_FULL &&
                 plain_pool_count(pool) != capacity)
            fuzz_fail("a pool is full of %u of %u objects", plain_pool_count(pool), capacity);
    }
    uint32_t count = plain_pool_count(pool);
    size_t freed = plain_pool_retain(pool, keeps, NULL);
    if (plain_pool_count(pool) != count - freed)
        fuzz_fail("a pool has lost an object");
    fuzz_status(f, plain_pool_destroy(pool));
}

static const struct fuzz_operation operations[] = {
    ROW(jzx_register, 6, ANYWHERE),        ROW(jzx_unregister, 3, ANYWHERE),
    ROW(jzx_lookup, 4, ANYWHERE),          ROW(jzx_send_named, 5, ANYWHERE),
    ROW(jzx_group_join, 6, ANYWHERE),      ROW(jzx_group_leave, 3, ANYWHERE),
    ROW(jzx_group_list, 1, ANYWHERE),      ROW(jzx_group_members, 2, ANYWHERE),
    ROW(jzx_group_monitor, 4, ANYWHERE),   ROW(jzx_group_demonitor, 2, ANYWHERE),
    ROW(jzx_group_broadcast, 4, ANYWHERE), ROW(jzx_group_broadcast_shared, 3, ANYWHERE),
    ROW(jzx_route, 6, ANYWHERE),           ROW(jzx_pool_create, 2, ANYWHERE),
    ROW(jzx_pool_destroy, 1, ANYWHERE),    ROW(jzx_pool_add, 4, ANYWHERE),
    ROW(jzx_pool_free, 2, ANYWHERE),       ROW(jzx_pool_count, 1, ANYWHERE),
    ROW(jzx_pool_read, 2, ANYWHERE),       ROW(jzx_pool_write, 2, ANYWHERE),
    ROW(jzx_pool_remove, 2, ANYWHERE),     ROW(jzx_pool_read_next, 1, ANYWHERE),
    ROW(jzx_pool_register, 2, ANYWHERE),   ROW(jzx_pool_unregister, 1, ANYWHERE),
    ROW(jzx_pool_lookup, 1, ANYWHERE),     {"plain_pool", 1, ANYWHERE, do_plain_pool},
};
FUZZ_FAMILY(names, operations);
