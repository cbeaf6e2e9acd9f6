/* SPDX-License-Identifier: MIT */
/* A table of the blocks that callers have taken, by their address: open addressing, linear
 * probing, at most half full. */
#include "actor/owned.h"

#include "actor/misuse.h"
#include "actor/share.h"
#include "base/alloc.h"
#include "base/leak.h"
#include "base/lock.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>

#define CAPACITY_MIN 64u

/* So many lines at most; the last one says how many more there are. */
#define LINES_MAX 16u

struct entry {
    struct jzx__message *block; /* NULL: free */
    jzx_actor_id id;            /* of the actor that took it last; JZX_NOBODY: no actor did */
    char name[JZX_NAME_MAX + 1];
};

struct jzx__owned {
    struct jzx__lock lock;
    jzx_allocator allocator;
    struct entry *entries;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    uint64_t missed; /* that there was no memory for */
};

/* ---- the table; under the lock ---- */

static size_t home_of(const struct jzx__owned *owned, const struct jzx__message *block) {
    uint64_t hash = (uint64_t)(uintptr_t)block * 0x9E3779B97F4A7C15u;
    return (size_t)(hash >> 32) & (owned->capacity - 1);
}

/* The entry of the block, or the free one where it would be. */
static size_t find(const struct jzx__owned *owned, const struct jzx__message *block) {
    size_t at = home_of(owned, block);
    while (owned->entries[at].block != NULL && owned->entries[at].block != block)
        at = (at + 1) & (owned->capacity - 1);
    return at;
}

static void free_entries(const struct jzx__owned *owned) {
    if (owned->entries != NULL)
        jzx__free(&owned->allocator, owned->entries, owned->capacity * sizeof *owned->entries);
}

/* Room for one more; false without memory. */
static bool reserve(struct jzx__owned *owned) {
    struct jzx__owned larger = *owned;
    if (owned->count < owned->capacity / 2)
        return true;
    larger.capacity = owned->capacity == 0 ? CAPACITY_MIN : 2 * owned->capacity;
    larger.entries = jzx__alloc(&owned->allocator, larger.capacity * sizeof *larger.entries);
    if (larger.entries == NULL)
        return false;
    memset(larger.entries, 0, larger.capacity * sizeof *larger.entries);
    for (size_t i = 0; i < owned->capacity; i++) {
        if (owned->entries[i].block != NULL)
            larger.entries[find(&larger, owned->entries[i].block)] = owned->entries[i];
    }
    free_entries(owned);
    owned->entries = larger.entries;
    owned->capacity = larger.capacity;
    return true;
}

/* What stands behind a free place moves up, if it is nearer to its home there. */
static void remove_at(struct jzx__owned *owned, size_t at) {
    size_t mask = owned->capacity - 1;
    for (size_t next = (at + 1) & mask; owned->entries[next].block != NULL;
         next = (next + 1) & mask) {
        size_t distance = (next - home_of(owned, owned->entries[next].block)) & mask;
        if (distance >= ((next - at) & mask)) {
            owned->entries[at] = owned->entries[next];
            at = next;
        }
    }
    owned->entries[at].block = NULL;
    owned->count--;
}

/* ---- blocks ---- */

void jzx__owned_note(struct jzx_loop *loop, struct jzx__message *block) {
    struct jzx__owned *owned = loop->owned;
    struct entry entry = {.block = block};
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* S3 of seat.h: the lock */
    entry.id = jzx__misuse_actor(loop, entry.name);
    jzx__lock_acquire(&owned->lock);
    if (reserve(owned)) {
        size_t at = find(owned, block);
        owned->count += owned->entries[at].block == NULL;
        owned->entries[at] = entry;
    } else {
        owned->missed++;
    }
    jzx__lock_release(&owned->lock);
    jzx__visit_end(&visit);
}

void jzx__owned_forget(struct jzx_loop *loop, const struct jzx__message *block) {
    struct jzx__owned *owned = loop->owned;
    jzx__lock_acquire(&owned->lock);
    if (owned->capacity != 0) {
        size_t at = find(owned, block);
        if (owned->entries[at].block != NULL)
            remove_at(owned, at);
    }
    jzx__lock_release(&owned->lock);
}

/* ---- the life of the table ---- */

bool jzx__owned_open(struct jzx_loop *loop, const jzx_config *config) {
    loop->owned = NULL;
    if (!config->track_buffers && !JZX__LEAKS_CHECKED)
        return true;
    const jzx_allocator *hooks =
        config->track_buffers ? &config->allocator : &jzx__allocator_default;
    struct jzx__owned *owned = jzx__alloc(hooks, sizeof *owned);
    if (owned == NULL)
        return false;
    *owned = (struct jzx__owned){.allocator = *hooks};
    jzx__lock_init(&owned->lock);
    loop->owned = owned;
    return true;
}

void jzx__owned_close(struct jzx_loop *loop) {
    struct jzx__owned *owned = loop->owned;
    if (owned == NULL)
        return;
    jzx_allocator allocator = owned->allocator;
    free_entries(owned);
    jzx__lock_deinit(&owned->lock);
    jzx__free(&allocator, owned, sizeof *owned);
    loop->owned = NULL;
}

static void tell(const struct jzx_loop *loop, const struct entry *entry) {
    char who[JZX__CALLER_SIZE];
    jzx__misuse_name(who, sizeof who, entry->id, entry->name);
    jzx__log(&loop->sched.log, JZX_LOG_WARN,
             "a %sbuffer of %" PRIu32 " bytes (%p) was not released: %s has taken it%s",
             jzx__message_is_shared(entry->block) ? "shared " : "", entry->block->len,
             (void *)entry->block->payload, who,
             jzx__message_is_shared(entry->block) ? " last" : "");
}

void jzx__owned_settle(struct jzx_loop *loop, struct jzx__worker *me) {
    struct jzx__owned *owned = loop->owned;
    uint64_t left = 0;
    for (size_t i = 0; owned != NULL && i < owned->capacity; i++) {
        struct entry *entry = &owned->entries[i];
        if (entry->block == NULL || !jzx__message_is_callers(loop, entry->block))
            continue;
        if (left++ < LINES_MAX)
            tell(loop, entry);
        jzx__message_abandon(loop, me, entry->block);
    }
    if (left > LINES_MAX)
        jzx__log(&loop->sched.log, JZX_LOG_WARN, "and %" PRIu64 " more buffers were not released",
                 left - LINES_MAX);
    if (owned != NULL && owned->missed != 0)
        jzx__log(&loop->sched.log, JZX_LOG_WARN,
                 "without memory to track them, %" PRIu64 " buffers were not looked at",
                 owned->missed);
}
