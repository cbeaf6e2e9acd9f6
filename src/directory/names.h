/* SPDX-License-Identifier: MIT */
/* A table from names to words, read without locks: the registry of actors and that of groups.
 *
 * Open addressing: a slot packs the address of an entry and a part of the hash, so that a look-up
 * is one slot and one cache line mostly. Writers hold a lock of the caller's; readers never wait.
 *
 *   N1  a slot goes from empty to used once; a chain never breaks under a reader. A name that has
 *       gone stays in its entry until the name comes back, or another name takes the entry.
 *   N2  an entry is in memory until the table is deinitialised. `change` is odd while its name
 *       changes or it is free: a reader that sees that, or another number than before, has read
 *       of a name that was gone at that moment, and looks further.
 *   N3  one name has at most one entry.
 *   N4  an array is filled anew only while another one is current, and its epoch tells: who found
 *       nothing there begins again. So two arrays of a size are enough, however many names come
 *       and go; smaller ones stay until the end, together less than the two.
 *   N5  a pinned entry is neither taken over nor swept: setting its value needs no memory.
 *
 * Rejected: a seqlock around the table (a reader would wait for a writer that was preempted);
 * taking names out when actors end (work for each end, for the few that have a name). */
#ifndef JZX_DIRECTORY_NAMES_H
#define JZX_DIRECTORY_NAMES_H

#include "base/atomic.h"
#include "base/compiler.h"

#include "jzx/actor.h"

#include <stdbool.h>
#include <stdint.h>

#define JZX__NAME_WORDS ((JZX_NAME_MAX + 1) / sizeof(uint64_t))

/* A name as words: so many that its end is in the last one, with zeros behind it. */
struct jzx__name_key {
    uint64_t words[JZX__NAME_WORDS];
    uint32_t count;
    uint64_t hash;
};

/* One line. */
struct jzx__name {
    _Alignas(JZX_CACHE_LINE) _Atomic uint32_t change; /* N2 */
    uint32_t pins;                                    /* N5; under the lock */
    _Atomic uint64_t value;                           /* 0: none */
    _Atomic uint64_t words[JZX__NAME_WORDS];
};

_Static_assert(sizeof(struct jzx__name) == JZX_CACHE_LINE, "one line");

struct jzx__name_array {
    struct jzx__name_array *older;
    uint32_t mask;          /* slots, less one */
    _Atomic uint32_t epoch; /* odd while it is filled */
    _Atomic uint64_t slots[];
};

struct jzx__name_chunk;

/* False if a name with this value (not 0) has gone. */
typedef bool (*jzx__name_live_fn)(const void *ctx, uint64_t value);

struct jzx__names {
    _Atomic(struct jzx__name_array *) current; /* NULL as long as it is empty */

    /* Under the lock. */
    uint32_t used;                  /* slots of current that are not empty */
    struct jzx__name_array *arrays; /* all, linked by older */
    struct jzx__name_array *spare;  /* as large as current, or NULL */
    struct jzx__name *free;         /* linked by the first word */
    struct jzx__name_chunk *chunks;
    const jzx_allocator *allocator;
    jzx__name_live_fn is_live;
    const void *live_ctx;
};

void jzx__names_init(struct jzx__names *names, const jzx_allocator *allocator,
                     jzx__name_live_fn is_live, const void *live_ctx);
void jzx__names_deinit(struct jzx__names *names);

/* False if it is NULL, empty or too long. */
bool jzx__name_pack(struct jzx__name_key *key, const char *name);

/* The value of a name, dead or alive, or 0. Any thread. */
uint64_t jzx__names_get(const struct jzx__names *names, const struct jzx__name_key *key);

/* The rest is for who holds the lock. */

/* The entry of a name, or NULL. */
struct jzx__name *jzx__names_find(struct jzx__names *names, const struct jzx__name_key *key);

/* The same; one with value 0 is made if there is none. NULL without memory. */
struct jzx__name *jzx__names_put(struct jzx__names *names, const struct jzx__name_key *key);

static inline uint64_t jzx__name_value(const struct jzx__name *entry) {
    /* relaxed: written under the lock that the caller holds */
    return jzx__atomic_load_relaxed(&entry->value);
}

static inline void jzx__name_set(struct jzx__name *entry, uint64_t value) {
    /* release: pairs with the acquire in jzx__names_get; publishes what the value names */
    jzx__atomic_store_release(&entry->value, value);
}

#endif
