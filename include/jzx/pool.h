/* SPDX-License-Identifier: MIT */
/* Handle pools: a fixed number of objects of one type, named by references that cannot dangle
 * as long as they are used with the pool that made them.
 *
 *     JZX_POOL(enemy, struct enemy)
 *
 *     enemy_pool *pool = NULL;
 *     enemy_ref boss = {JZX_NO_REF};
 *     enemy_pool_create(10000, NULL, &pool);
 *     enemy_pool_new(pool, &(struct enemy){.health = 100}, &boss);
 *     struct enemy *found = enemy_pool_get_mut(pool, boss);
 *     enemy_pool_free(pool, boss);
 *     enemy_pool_get(pool, boss);              -> NULL, whichever object of this pool has the slot
 *
 * A reference is a slot and the generation of that slot. It is plain data: copy it, store it, send
 * it in a message. Dropping one frees nothing; freeing the object makes all of them stale, and a
 * stale reference is none.
 *
 * A reference is good only in the pool that made it. It does not name its pool: another pool of the
 * family, or one that is created later, may give out the same references for its own objects. A
 * program with several pools of one family keeps the pool beside the reference.
 *
 * Two kinds of pool share one family of names:
 *
 *   JZX_POOL(name, type)         hands out pointers. One thread at a time uses it, as any state of
 *                                an actor: get is a few inline instructions.
 *   JZX_SHARED_POOL(name, type)  is for any thread. It hands out copies and takes changes back, so
 *                                that nobody holds a pointer into a slot that another thread frees.
 *                                No code of the program runs while its lock is held.
 *
 * The macros stand at file scope, without a semicolon, in C11 and in C++17. The type is copied as
 * bytes: in C++ it must be trivially copyable. All memory is taken by create; new and free take
 * none. Calls take constant time, except create; next and retain, which look at every slot ever
 * used; compact, which looks at every reference that it is given; and register, unregister and
 * lookup, which walk the list of the loop's pools. */
#ifndef JZX_POOL_H
#define JZX_POOL_H

#include "jzx/api.h"
#include "jzx/config.h"
#include "jzx/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct jzx_loop jzx_loop;

/* A reference: the slot's index in the low bits, as many as the capacity of the pool needs, and the
 * generation of the slot, from 1, in all others. Generations do not wrap: a slot that has used them
 * all is retired, so no pool ever gives out a reference twice. Any pool can make about 2^63 objects
 * before that, however small it is. */
typedef uint64_t jzx_ref;

/* No object: what a reference is that was set to zero, and never a valid one. */
#define JZX_NO_REF ((jzx_ref)0)

/* The largest capacity, and the largest alignment of a type. */
#define JZX_POOL_CAPACITY_MAX UINT32_MAX
#define JZX_POOL_ALIGN_MAX 4096u

/* Describes a family. JZX_POOL and JZX_SHARED_POOL make one. */
typedef struct jzx_pool_type {
    size_t size;       /* sizeof(jzx_pool_type) */
    const char *name;  /* of the family; static */
    size_t value_size; /* of the type */
    size_t slot_size;  /* of a value with its mark before it */
    size_t slot_align; /* a power of two, at least that of jzx_ref */
    bool is_shared;
} jzx_pool_type;

/* What the inline functions read. Programs use the functions: the library writes these fields, and
 * in a shared pool under its lock. */
typedef struct jzx_pool {
    char *slots;         /* each begins with its mark, which is its reference while it is in use */
    uint64_t index_mask; /* of the index in a reference */
    uint32_t slot_count; /* slots that were in use so far: the first ones */
    uint32_t count;      /* in use now */
} jzx_pool;

JZX_BEGIN_C

/* ---- what the families are made of; other languages may call them ---- */

/* Creates a pool for capacity objects. allocator may be NULL: malloc and free; it is copied.
 * JZX_ERR_INVALID_ARG (capacity 0, a wrong type, an allocator with one function),
 * JZX_ERR_NO_MEMORY; *pool is untouched then. */
JZX_API JZX_MUST_USE jzx_err jzx_pool_create(const jzx_pool_type *type, uint32_t capacity,
                                             const jzx_allocator *allocator, jzx_pool **pool);

/* Frees the pool and all objects. No other thread may use it any more. JZX_ERR_BUSY, and nothing
 * happens, while it is registered with a loop. NULL is fine. */
JZX_API jzx_err jzx_pool_destroy(jzx_pool *pool);

/* Frees the object; true if there was one. All references to it are stale from then on, and the
 * slot is used again. */
JZX_API bool jzx_pool_free(jzx_pool *pool, jzx_ref ref);

/* Objects now, and at most: the capacity less the slots that are retired. */
JZX_API uint32_t jzx_pool_count(jzx_pool *pool);
JZX_API uint32_t jzx_pool_capacity(jzx_pool *pool);

/* One pool of each family can be registered with a loop, for all who know the loop, under the
 * family's name. It must be destroyed after it was unregistered, or after the loop.
 * JZX_ERR_EXISTS if the loop has a pool of that name, JZX_ERR_BUSY if the pool is registered
 * already, JZX_ERR_INVALID_ARG (NULL; unregister: it is not registered there). Any thread. */
JZX_API jzx_err jzx_pool_register(jzx_loop *loop, jzx_pool *pool);
JZX_API jzx_err jzx_pool_unregister(jzx_loop *loop, jzx_pool *pool);

/* The registered pool of this name and these sizes, or NULL. Any thread. It takes a lock and walks
 * a list: keep the pointer. */
JZX_API jzx_pool *jzx_pool_lookup(jzx_loop *loop, const jzx_pool_type *type);

/* ---- JZX_POOL only ---- */

/* A slot for a new object, its mark already set; NULL if the pool is full. */
JZX_API void *jzx_pool_take_slot(jzx_pool *pool, jzx_ref *ref);

/* The slot of the next object in the order of slots, and its reference in *ref, which says where to
 * go on: JZX_NO_REF at first, and again at the end, with NULL. */
JZX_API void *jzx_pool_next_slot(const jzx_pool *pool, jzx_ref *ref);

/* The slot of the object, or NULL. slot_size is that of the pool's type. */
JZX_API inline void *jzx_pool_find_slot(const jzx_pool *pool, jzx_ref ref, size_t slot_size) {
    if (pool == NULL)
        return NULL;
    uint64_t index = ref & pool->index_mask;
    if (index >= pool->slot_count)
        return NULL;
    void *slot = pool->slots + index * slot_size;
    return *(const jzx_ref *)slot == ref ? slot : NULL;
}

/* ---- JZX_SHARED_POOL only: values are copied in and out under the lock of the pool ---- */

/* value: NULL for zeroes. JZX_ERR_FULL, JZX_ERR_INVALID_ARG (NULL, or a pool of the other kind);
 * *ref (may be NULL) is untouched then. */
JZX_API jzx_err jzx_pool_add(jzx_pool *pool, const void *value, jzx_ref *ref);

/* Copies the value out, and says which version of it that is; either may be NULL. False, and
 * nothing is written, if there is none. */
JZX_API bool jzx_pool_read(jzx_pool *pool, jzx_ref ref, void *value, uint64_t *version);

/* Replaces the value if it still has that version, and says the new one. */
JZX_API bool jzx_pool_write(jzx_pool *pool, jzx_ref ref, const void *value, uint64_t *version);

/* Copies the value out (value may be NULL) and frees the object; with version (may be NULL) only if
 * it still has that one. Of several threads one gets true. */
JZX_API bool jzx_pool_remove(jzx_pool *pool, jzx_ref ref, void *value, const uint64_t *version);

/* As jzx_pool_next_slot, with a copy. Objects that live throughout are shown once. */
JZX_API bool jzx_pool_read_next(jzx_pool *pool, jzx_ref *ref, void *value, uint64_t *version);

JZX_END_C

#ifdef __cplusplus
#define JZX_POOL_CHECK(type)                                                                       \
    static_assert(alignof(type) <= JZX_POOL_ALIGN_MAX, "a pool cannot align this type");           \
    static_assert(__is_trivially_copyable(type), "a pool copies its values as bytes");
#define JZX_POOL_ALIGNOF(type) alignof(type)
#else
#define JZX_POOL_CHECK(type)                                                                       \
    _Static_assert(_Alignof(type) <= JZX_POOL_ALIGN_MAX, "a pool cannot align this type");
#define JZX_POOL_ALIGNOF(type) _Alignof(type)
#endif

/* A program need not use all functions of a family. */
#define JZX_POOL_FN static inline __attribute__((unused))

/* What both kinds of pool have. */
#define JZX_POOL_FAMILY(name, type, shared)                                                        \
    JZX_POOL_CHECK(type)                                                                           \
    typedef struct name##_pool name##_pool;                                                        \
    typedef struct name##_ref {                                                                    \
        jzx_ref ref;                                                                               \
    } name##_ref;                                                                                  \
                                                                                                   \
    JZX_POOL_FN const jzx_pool_type *name##_pool_type(void) {                                      \
        static const jzx_pool_type the_type = {sizeof(jzx_pool_type),                              \
                                               #name,                                              \
                                               sizeof(type),                                       \
                                               sizeof(struct name##_pool_slot),                    \
                                               JZX_POOL_ALIGNOF(struct name##_pool_slot),          \
                                               shared};                                            \
        return &the_type;                                                                          \
    }                                                                                              \
    JZX_POOL_FN JZX_MUST_USE jzx_err name##_pool_create(                                           \
        uint32_t capacity, const jzx_allocator *allocator, name##_pool **pool) {                   \
        jzx_pool *made = NULL;                                                                     \
        jzx_err err = pool == NULL                                                                 \
                          ? JZX_ERR_INVALID_ARG                                                    \
                          : jzx_pool_create(name##_pool_type(), capacity, allocator, &made);       \
        if (err == JZX_OK)                                                                         \
            *pool = (name##_pool *)(void *)made;                                                   \
        return err;                                                                                \
    }                                                                                              \
    JZX_POOL_FN jzx_err name##_pool_destroy(name##_pool *pool) {                                   \
        return jzx_pool_destroy((jzx_pool *)(void *)pool);                                         \
    }                                                                                              \
    JZX_POOL_FN bool name##_pool_free(name##_pool *pool, name##_ref ref) {                         \
        return jzx_pool_free((jzx_pool *)(void *)pool, ref.ref);                                   \
    }                                                                                              \
    JZX_POOL_FN uint32_t name##_pool_count(name##_pool *pool) {                                    \
        return jzx_pool_count((jzx_pool *)(void *)pool);                                           \
    }                                                                                              \
    JZX_POOL_FN uint32_t name##_pool_capacity(name##_pool *pool) {                                 \
        return jzx_pool_capacity((jzx_pool *)(void *)pool);                                        \
    }                                                                                              \
    JZX_POOL_FN jzx_err name##_pool_register(jzx_loop *loop, name##_pool *pool) {                  \
        return jzx_pool_register(loop, (jzx_pool *)(void *)pool);                                  \
    }                                                                                              \
    JZX_POOL_FN jzx_err name##_pool_unregister(jzx_loop *loop, name##_pool *pool) {                \
        return jzx_pool_unregister(loop, (jzx_pool *)(void *)pool);                                \
    }                                                                                              \
    JZX_POOL_FN name##_pool *name##_pool_lookup(jzx_loop *loop) {                                  \
        return (name##_pool *)(void *)jzx_pool_lookup(loop, name##_pool_type());                   \
    }

/* Drops the stale ones of an array of references; the others keep their order. How many stay. */
#define JZX_POOL_COMPACT(name, pool_type)                                                          \
    JZX_POOL_FN size_t name##_pool_compact(pool_type *pool, name##_ref *refs, size_t count) {      \
        size_t kept = 0;                                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            if (name##_pool_valid(pool, refs[i]))                                                  \
                refs[kept++] = refs[i];                                                            \
        }                                                                                          \
        return kept;                                                                               \
    }

/* The family for one thread at a time. Pointers are valid until their object is freed. Beside the
 * functions of JZX_POOL_FAMILY, each with the rules of its jzx_pool_ namesake:
 *
 *   jzx_err name_pool_new(pool, value, &ref)    a new object, a copy of *value, or all zero if that
 *                                               is NULL. JZX_ERR_FULL if there are as many as
 *                                               capacity, JZX_ERR_INVALID_ARG for a NULL pool:
 *                                               *ref (may be NULL) is untouched then
 *   const type *name_pool_get(pool, ref)        the object, or NULL if ref is stale
 *   type *name_pool_get_mut(pool, ref)          the same, to be changed
 *   bool name_pool_valid(pool, ref)
 *   const type *name_pool_next(pool, &ref)      the next object and its reference, in the order of
 *   type *name_pool_next_mut(pool, &ref)        slots; NULL at the end. Begin with {JZX_NO_REF}.
 *                                               New and free are fine meanwhile; what is new may be
 *                                               shown or not. Looks at every slot ever used
 *   size_t name_pool_retain(pool, keep, ctx)    frees every object for which keep(ref, value, ctx)
 *                                               says false, and says how many. keep may use the
 *                                               pool
 *   size_t name_pool_compact(pool, refs, count) drops stale references from an array */
#define JZX_POOL(name, type)                                                                       \
    struct name##_pool_slot {                                                                      \
        jzx_ref mark;                                                                              \
        type value;                                                                                \
    };                                                                                             \
    JZX_POOL_FAMILY(name, type, false)                                                             \
                                                                                                   \
    JZX_POOL_FN jzx_err name##_pool_new(name##_pool *pool, type const *value, name##_ref *ref) {   \
        jzx_ref made = JZX_NO_REF;                                                                 \
        struct name##_pool_slot *slot =                                                            \
            (struct name##_pool_slot *)jzx_pool_take_slot((jzx_pool *)(void *)pool, &made);        \
        if (slot == NULL)                                                                          \
            return pool == NULL ? JZX_ERR_INVALID_ARG : JZX_ERR_FULL;                              \
        if (value != NULL)                                                                         \
            slot->value = *value;                                                                  \
        else                                                                                       \
            memset((void *)&slot->value, 0, sizeof slot->value);                                   \
        if (ref != NULL)                                                                           \
            ref->ref = made;                                                                       \
        return JZX_OK;                                                                             \
    }                                                                                              \
    JZX_POOL_FN type *name##_pool_get_mut(name##_pool *pool, name##_ref ref) {                     \
        struct name##_pool_slot *slot = (struct name##_pool_slot *)jzx_pool_find_slot(             \
            (const jzx_pool *)(void *)pool, ref.ref, sizeof(struct name##_pool_slot));             \
        return slot == NULL ? NULL : &slot->value;                                                 \
    }                                                                                              \
    JZX_POOL_FN type const *name##_pool_get(const name##_pool *pool, name##_ref ref) {             \
        const struct name##_pool_slot *slot = (const struct name##_pool_slot *)jzx_pool_find_slot( \
            (const jzx_pool *)(const void *)pool, ref.ref, sizeof(struct name##_pool_slot));       \
        return slot == NULL ? NULL : &slot->value;                                                 \
    }                                                                                              \
    JZX_POOL_FN bool name##_pool_valid(const name##_pool *pool, name##_ref ref) {                  \
        return name##_pool_get(pool, ref) != NULL;                                                 \
    }                                                                                              \
    JZX_POOL_FN type *name##_pool_next_mut(name##_pool *pool, name##_ref *ref) {                   \
        struct name##_pool_slot *slot = (struct name##_pool_slot *)jzx_pool_next_slot(             \
            (const jzx_pool *)(void *)pool, &ref->ref);                                            \
        return slot == NULL ? NULL : &slot->value;                                                 \
    }                                                                                              \
    JZX_POOL_FN type const *name##_pool_next(const name##_pool *pool, name##_ref *ref) {           \
        const struct name##_pool_slot *slot = (const struct name##_pool_slot *)jzx_pool_next_slot( \
            (const jzx_pool *)(const void *)pool, &ref->ref);                                      \
        return slot == NULL ? NULL : &slot->value;                                                 \
    }                                                                                              \
    JZX_POOL_FN size_t name##_pool_retain(                                                         \
        name##_pool *pool, bool (*keep)(name##_ref ref, type * value, void *ctx), void *ctx) {     \
        size_t freed = 0;                                                                          \
        name##_ref at = {JZX_NO_REF};                                                              \
        type *value;                                                                               \
        while ((value = name##_pool_next_mut(pool, &at)) != NULL) {                                \
            if (!keep(at, value, ctx) && name##_pool_free(pool, at))                               \
                freed++;                                                                           \
        }                                                                                          \
        return freed;                                                                              \
    }                                                                                              \
    JZX_POOL_COMPACT(name, const name##_pool)

/* The family for any thread. Each call is one step: it happened before or after any other. None
 * waits for the program's code. Where it differs from JZX_POOL:
 *
 *   bool name_pool_get(pool, ref, &value)       a copy; false if ref is stale
 *   bool name_pool_get_mut(pool, ref, &edit)    a copy in edit.value, to be changed and given to
 *   bool name_pool_commit(pool, &edit)          which replaces the object, unless it was changed or
 *                                               freed since: then false; get it again. After true
 *                                               edit has the new version, and may be changed and
 *                                               committed again
 *   bool name_pool_take(pool, ref, &value)      frees the object and gives its last value, to one
 *                                               caller only
 *   bool name_pool_valid(pool, ref)             may be out of date by the time it returns
 *   bool name_pool_next(pool, &ref, &value)     a copy. Objects that live throughout are shown once
 *   size_t name_pool_retain(pool, keep, ctx)    keep(ref, &copy, ctx); an object that was changed
 *                                               after keep looked at it stays */
#define JZX_SHARED_POOL(name, type)                                                                \
    struct name##_pool_slot {                                                                      \
        jzx_ref mark;                                                                              \
        uint64_t version;                                                                          \
        type value;                                                                                \
    };                                                                                             \
    JZX_POOL_FAMILY(name, type, true)                                                              \
    typedef struct name##_edit {                                                                   \
        name##_ref ref;                                                                            \
        uint64_t version;                                                                          \
        type value;                                                                                \
    } name##_edit;                                                                                 \
                                                                                                   \
    JZX_POOL_FN jzx_err name##_pool_new(name##_pool *pool, type const *value, name##_ref *ref) {   \
        return jzx_pool_add((jzx_pool *)(void *)pool, value, ref == NULL ? NULL : &ref->ref);      \
    }                                                                                              \
    JZX_POOL_FN bool name##_pool_get(name##_pool *pool, name##_ref ref, type *value) {             \
        return jzx_pool_read((jzx_pool *)(void *)pool, ref.ref, value, NULL);                      \
    }                                                                                              \
    JZX_POOL_FN bool name##_pool_get_mut(name##_pool *pool, name##_ref ref, name##_edit *edit) {   \
        if (!jzx_pool_read((jzx_pool *)(void *)pool, ref.ref, &edit->value, &edit->version))       \
            return false;                                                                          \
        edit->ref = ref;                                                                           \
        return true;                                                                               \
    }                                                                                              \
    JZX_POOL_FN bool name##_pool_commit(name##_pool *pool, name##_edit *edit) {                    \
        return jzx_pool_write((jzx_pool *)(void *)pool, edit->ref.ref, &edit->value,               \
                              &edit->version);                                                     \
    }                                                                                              \
    JZX_POOL_FN bool name##_pool_take(name##_pool *pool, name##_ref ref, type *value) {            \
        return jzx_pool_remove((jzx_pool *)(void *)pool, ref.ref, value, NULL);                    \
    }                                                                                              \
    JZX_POOL_FN bool name##_pool_valid(name##_pool *pool, name##_ref ref) {                        \
        return jzx_pool_read((jzx_pool *)(void *)pool, ref.ref, NULL, NULL);                       \
    }                                                                                              \
    JZX_POOL_FN bool name##_pool_next(name##_pool *pool, name##_ref *ref, type *value) {           \
        return jzx_pool_read_next((jzx_pool *)(void *)pool, &ref->ref, value, NULL);               \
    }                                                                                              \
    JZX_POOL_FN size_t name##_pool_retain(                                                         \
        name##_pool *pool, bool (*keep)(name##_ref ref, type const *value, void *ctx),             \
        void *ctx) {                                                                               \
        size_t freed = 0;                                                                          \
        name##_ref at = {JZX_NO_REF};                                                              \
        type value;                                                                                \
        uint64_t version;                                                                          \
        jzx_pool *any = (jzx_pool *)(void *)pool;                                                  \
        while (jzx_pool_read_next(any, &at.ref, &value, &version)) {                               \
            if (!keep(at, &value, ctx) && jzx_pool_remove(any, at.ref, NULL, &version))            \
                freed++;                                                                           \
        }                                                                                          \
        return freed;                                                                              \
    }                                                                                              \
    JZX_POOL_COMPACT(name, name##_pool)

#endif
