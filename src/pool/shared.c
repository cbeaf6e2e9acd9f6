/* SPDX-License-Identifier: MIT */
/* The pool for any thread: the slots of pool.c behind one lock, and values that are copied in and
 * out.
 *
 * One mutex is enough: it is held for a look-up and one memcpy, never while code of the program
 * runs (V6), so a holder is late only if the system takes its thread away. A change is optimistic:
 * the caller reads value and version, and the write is refused if the version has moved on. Each
 * call takes effect at one moment between its begin and its end, the copy under the lock.
 *
 * These calls have no bracket, so a fault in them may be contained (docs/containment.md), and the
 * lock would stay taken. So the caller's memory is touched before the lock is: a pointer to nowhere
 * faults there, and only the actor that brought it ends. */
#include "pool/pool.h"

#include <string.h>

static struct jzx__shared_slot *find(struct jzx__pool *pool, jzx_ref ref) {
    return jzx_pool_find_slot(&pool->head, ref, pool->type.slot_size);
}

/* The compiler lays the struct of the family out in the same way. */
static void *value_of(const struct jzx__pool *pool, struct jzx__shared_slot *slot) {
    size_t align = pool->type.slot_align;
    return (char *)slot + ((sizeof *slot + align - 1) & ~(align - 1));
}

#define PAGE_SIZE_MIN 4096u

/* The caller's memory can be read. NULL is fine. */
static void touch(const void *memory, size_t size) {
    const volatile char *bytes = memory;
    if (bytes == NULL)
        return;
    for (size_t at = 0; at < size; at += PAGE_SIZE_MIN)
        (void)bytes[at];
    (void)bytes[size - 1];
}

/* It can be written: nobody else uses it meanwhile. */
static void touch_to_write(void *memory, size_t size) {
    volatile char *bytes = memory;
    if (bytes == NULL)
        return;
    for (size_t at = 0; at < size; at += PAGE_SIZE_MIN)
        bytes[at] = bytes[at];
    bytes[size - 1] = bytes[size - 1];
}

/* Where a value and a version go; each may be NULL. */
static void touch_outputs(const struct jzx__pool *pool, void *value, uint64_t *version) {
    touch_to_write(value, pool->type.value_size);
    touch_to_write(version, sizeof *version);
}

static void copy_out(const struct jzx__pool *pool, struct jzx__shared_slot *slot, void *value,
                     uint64_t *version) {
    if (value != NULL)
        memcpy(value, value_of(pool, slot), pool->type.value_size);
    if (version != NULL)
        *version = slot->version;
}

/* Shared calls on a pool of the other kind would not be guarded: there is none for them. */
static struct jzx__pool *shared_of(jzx_pool *pool) {
    struct jzx__pool *self = pool == NULL ? NULL : jzx__pool_of(pool);
    return self != NULL && self->type.is_shared ? self : NULL;
}

jzx_err jzx_pool_add(jzx_pool *pool, const void *value, jzx_ref *ref) {
    struct jzx__pool *self = shared_of(pool);
    if (self == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_ref made = JZX_NO_REF;
    touch(value, self->type.value_size);
    jzx__lock_acquire(&self->lock);
    struct jzx__shared_slot *slot = jzx_pool_take_slot(pool, &made);
    if (slot != NULL) {
        slot->version = 0;
        if (value != NULL)
            memcpy(value_of(self, slot), value, self->type.value_size);
        else
            memset(value_of(self, slot), 0, self->type.value_size);
    }
    jzx__lock_release(&self->lock);
    if (slot == NULL)
        return JZX_ERR_FULL;
    if (ref != NULL)
        *ref = made;
    return JZX_OK;
}

bool jzx_pool_read(jzx_pool *pool, jzx_ref ref, void *value, uint64_t *version) {
    struct jzx__pool *self = shared_of(pool);
    if (self == NULL)
        return false;
    touch_outputs(self, value, version);
    jzx__lock_acquire(&self->lock);
    struct jzx__shared_slot *slot = find(self, ref);
    if (slot != NULL)
        copy_out(self, slot, value, version);
    jzx__lock_release(&self->lock);
    return slot != NULL;
}

bool jzx_pool_write(jzx_pool *pool, jzx_ref ref, const void *value, uint64_t *version) {
    struct jzx__pool *self = shared_of(pool);
    if (self == NULL || value == NULL || version == NULL)
        return false;
    touch(value, self->type.value_size);
    touch_to_write(version, sizeof *version);
    jzx__lock_acquire(&self->lock);
    struct jzx__shared_slot *slot = find(self, ref);
    bool is_same = slot != NULL && slot->version == *version;
    if (is_same) {
        memcpy(value_of(self, slot), value, self->type.value_size);
        *version = ++slot->version;
    }
    jzx__lock_release(&self->lock);
    return is_same;
}

bool jzx_pool_remove(jzx_pool *pool, jzx_ref ref, void *value, const uint64_t *version) {
    struct jzx__pool *self = shared_of(pool);
    if (self == NULL)
        return false;
    touch_outputs(self, value, NULL);
    touch(version, sizeof *version);
    jzx__lock_acquire(&self->lock);
    struct jzx__shared_slot *slot = find(self, ref);
    bool is_same = slot != NULL && (version == NULL || slot->version == *version);
    if (is_same) {
        copy_out(self, slot, value, NULL);
        jzx__pool_give_slot(self, ref);
    }
    jzx__lock_release(&self->lock);
    return is_same;
}

bool jzx_pool_read_next(jzx_pool *pool, jzx_ref *ref, void *value, uint64_t *version) {
    struct jzx__pool *self = shared_of(pool);
    if (self == NULL || ref == NULL)
        return false;
    touch_to_write(ref, sizeof *ref);
    touch_outputs(self, value, version);
    jzx__lock_acquire(&self->lock);
    struct jzx__shared_slot *slot = jzx_pool_next_slot(pool, ref);
    if (slot != NULL)
        copy_out(self, slot, value, version);
    jzx__lock_release(&self->lock);
    return slot != NULL;
}
