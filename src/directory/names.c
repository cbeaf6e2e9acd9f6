/* SPDX-License-Identifier: MIT */
/* The table of names. */
#include "directory/names.h"

#include "base/alloc.h"

#include <string.h>

#define FIRST_SLOTS 64u
#define CHUNK_ENTRIES 31u

/* A slot: the entry's address without the zeros at both ends, and the highest bits of the hash. */
#define TAG_BITS 22
#define TAG_MASK (((uint64_t)1 << TAG_BITS) - 1)
#define ALIGN_SHIFT 6

struct jzx__name_chunk {
    _Alignas(JZX_CACHE_LINE) struct jzx__name_chunk *next;
    struct jzx__name entries[CHUNK_ENTRIES];
};

static uint64_t slot_make(const struct jzx__name *entry, uint64_t hash) {
    return (uint64_t)(uintptr_t)entry >> ALIGN_SHIFT << TAG_BITS | hash >> (64 - TAG_BITS);
}

static struct jzx__name *slot_entry(uint64_t slot) {
    return (void *)(uintptr_t)(slot >> TAG_BITS << ALIGN_SHIFT);
}

static uint64_t slot_load(const struct jzx__name_array *array, uint64_t index) {
    /* acquire: pairs with slot_store; the entry's words, or the epoch of an array that is filled */
    return jzx__atomic_load_acquire(&array->slots[index & array->mask]);
}

static void slot_store(struct jzx__name_array *array, uint64_t index, uint64_t slot) {
    /* release: pairs with slot_load */
    jzx__atomic_store_release(&array->slots[index & array->mask], slot);
}

/* ---- names ---- */

static uint64_t hash_words(const uint64_t *words, uint32_t count) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ words[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    hash *= 0xBF58476D1CE4E5B9u;
    return hash ^ hash >> 32;
}

/* Fewer than 8 bytes as a word, by loads that may overlap: bytes that are stored one by one and
 * loaded as a word would have to wait for each other. */
static uint64_t load_end(const char *bytes, size_t len) {
    uint32_t low = 0;
    uint32_t high = 0;
    if (len >= 4) {
        memcpy(&low, bytes, 4);
        memcpy(&high, bytes + len - 4, 4);
        return low | (uint64_t)high << 8 * (len - 4);
    }
    for (size_t i = 0; i < len; i++)
        low |= (uint32_t)(unsigned char)bytes[i] << 8 * i;
    return low;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");

bool jzx__name_pack(struct jzx__name_key *key, const char *name) {
    size_t len = name == NULL ? 0 : strnlen(name, JZX_NAME_MAX + 1);
    if (len == 0 || len > JZX_NAME_MAX)
        return false;
    uint32_t last = (uint32_t)(len / sizeof(uint64_t));
    for (uint32_t i = 0; i < last; i++)
        memcpy(&key->words[i], name + i * sizeof(uint64_t), sizeof(uint64_t));
    key->words[last] = load_end(name + last * sizeof(uint64_t), len % sizeof(uint64_t));
    key->count = last + 1;
    key->hash = hash_words(key->words, key->count);
    return true;
}

/* ---- reading ---- */

/* True if the entry has the name; its value then was *value at some moment during the call. */
static bool read_entry(const struct jzx__name *entry, const struct jzx__name_key *key,
                       uint64_t *value) {
    /* acquire: pairs with the release that ends a change */
    uint32_t change = jzx__atomic_load_acquire(&entry->change);
    if (change & 1)
        return false; /* N2 */
    for (uint32_t i = 0; i < key->count; i++) {
        /* acquire: pairs with the release in rename_entry; a change that it belongs to is seen */
        if (jzx__atomic_load_acquire(&entry->words[i]) != key->words[i])
            return false;
    }
    /* acquire: pairs with the release in rename_entry and jzx__name_set */
    *value = jzx__atomic_load_acquire(&entry->value);
    /* relaxed: the loads before it are acquire */
    return jzx__atomic_load_relaxed(&entry->change) == change;
}

static uint64_t search(const struct jzx__name_array *array, const struct jzx__name_key *key) {
    uint64_t tag = key->hash >> (64 - TAG_BITS);
    for (uint64_t i = 0; i <= array->mask; i++) {
        uint64_t value;
        uint64_t slot = slot_load(array, key->hash + i);
        if (slot == 0)
            return 0;
        if ((slot & TAG_MASK) == tag && read_entry(slot_entry(slot), key, &value))
            return value;
    }
    return 0;
}

uint64_t jzx__names_get(const struct jzx__names *names, const struct jzx__name_key *key) {
    for (;;) {
        /* acquire: pairs with the release in rebuild; the array is filled */
        const struct jzx__name_array *array = jzx__atomic_load_acquire(&names->current);
        if (array == NULL)
            return 0;
        /* acquire: pairs with the release in rebuild; who sees it filled sees what is current */
        uint32_t epoch = jzx__atomic_load_acquire(&array->epoch);
        uint64_t value = epoch & 1 ? 0 : search(array, key);
        /* relaxed: the loads of slots before it are acquire (N4) */
        if (value != 0 || jzx__atomic_load_relaxed(&array->epoch) == (epoch & ~1u))
            return value;
    }
}

/* ---- entries ---- */

static bool add_chunk(struct jzx__names *names) {
    struct jzx__name_chunk *chunk =
        jzx__alloc_aligned(names->allocator, sizeof *chunk, JZX_CACHE_LINE);
    if (chunk == NULL)
        return false;
    memset(chunk, 0, sizeof *chunk);
    chunk->next = names->chunks;
    names->chunks = chunk;
    for (uint32_t i = CHUNK_ENTRIES; i-- > 0;) {
        struct jzx__name *entry = &chunk->entries[i];
        /* relaxed, both: not shared yet; a free one is odd (N2) */
        jzx__atomic_store_relaxed(&entry->change, 1u);
        jzx__atomic_store_relaxed(&entry->words[0], (uint64_t)(uintptr_t)names->free);
        names->free = entry;
    }
    return true;
}

static struct jzx__name *take_entry(struct jzx__names *names) {
    struct jzx__name *entry = names->free;
    /* relaxed: the link was written under the lock */
    names->free = (void *)(uintptr_t)jzx__atomic_load_relaxed(&entry->words[0]);
    return entry;
}

/* Nobody has the name, and no array that is filled from now on has the entry. */
static void free_entry(struct jzx__names *names, struct jzx__name *entry) {
    /* relaxed: changed under the lock alone */
    uint32_t change = jzx__atomic_load_relaxed(&entry->change);
    /* relaxed: the release below publishes it */
    jzx__atomic_store_relaxed(&entry->change, change | 1);
    /* release: pairs with the acquire in read_entry, which then sees the change */
    jzx__atomic_store_release(&entry->words[0], (uint64_t)(uintptr_t)names->free);
    names->free = entry;
}

/* Gives an entry another name, and no value. */
static void rename_entry(struct jzx__name *entry, const struct jzx__name_key *key) {
    /* relaxed, both: changed under the lock alone; the releases below publish it */
    uint32_t change = jzx__atomic_load_relaxed(&entry->change) | 1;
    jzx__atomic_store_relaxed(&entry->change, change);
    /* release, both: pairs with the acquires in read_entry */
    jzx__atomic_store_release(&entry->value, 0u);
    for (uint32_t i = 0; i < key->count; i++)
        jzx__atomic_store_release(&entry->words[i], key->words[i]);
    entry->pins = 0;
    /* release: pairs with the first acquire in read_entry */
    jzx__atomic_store_release(&entry->change, change + 1);
}

static bool has_name(const struct jzx__name *entry, const struct jzx__name_key *key) {
    for (uint32_t i = 0; i < key->count; i++) {
        /* relaxed: written under the lock that we hold */
        if (jzx__atomic_load_relaxed(&entry->words[i]) != key->words[i])
            return false;
    }
    return true;
}

static bool is_stale(const struct jzx__names *names, const struct jzx__name *entry) {
    uint64_t value = jzx__name_value(entry);
    return entry->pins == 0 && (value == 0 || !names->is_live(names->live_ctx, value));
}

/* ---- arrays ---- */

static size_t array_size_bytes(uint32_t mask) {
    return sizeof(struct jzx__name_array) + ((size_t)mask + 1) * sizeof(uint64_t);
}

static struct jzx__name_array *current_of(const struct jzx__names *names) {
    /* relaxed: written under the lock that we hold */
    return jzx__atomic_load_relaxed(&names->current);
}

static struct jzx__name_array *make_array(struct jzx__names *names, uint32_t mask) {
    struct jzx__name_array *array = jzx__alloc(names->allocator, array_size_bytes(mask));
    if (array == NULL)
        return NULL;
    memset(array, 0, array_size_bytes(mask));
    array->mask = mask;
    return array;
}

static void insert(struct jzx__name_array *array, struct jzx__name *entry, uint64_t hash) {
    uint64_t index = hash;
    while (slot_load(array, index) != 0)
        index++;
    slot_store(array, index, slot_make(entry, hash));
}

static uint64_t hash_of(const struct jzx__name *entry) {
    uint64_t words[JZX__NAME_WORDS];
    uint32_t count = 0;
    do { /* up to the word with the end in it: the last byte of a word before it is not 0 */
        /* relaxed: written under the lock that we hold */
        words[count] = jzx__atomic_load_relaxed(&entry->words[count]);
    } while (((const char *)&words[count++])[sizeof(uint64_t) - 1] != '\0');
    return hash_words(words, count);
}

/* Fills an array that is not current with the names that are left (N4). */
static void fill(struct jzx__names *names, struct jzx__name_array *to) {
    struct jzx__name_array *from = current_of(names);
    /* relaxed: changed under the lock alone */
    uint32_t epoch = jzx__atomic_load_relaxed(&to->epoch);
    /* release: pairs with the acquire in jzx__names_get, which then sees that it is not current */
    jzx__atomic_store_release(&to->epoch, epoch + 1);
    for (uint64_t i = 0; i <= to->mask; i++)
        slot_store(to, i, 0);
    names->used = 0;
    for (uint64_t i = 0; i <= from->mask; i++) {
        struct jzx__name *entry = slot_entry(slot_load(from, i));
        if (entry == NULL)
            continue;
        if (is_stale(names, entry)) {
            free_entry(names, entry);
        } else {
            insert(to, entry, hash_of(entry));
            names->used++;
        }
    }
    /* release: pairs with the acquire in jzx__names_get */
    jzx__atomic_store_release(&to->epoch, epoch + 2);
}

static uint32_t count_live(const struct jzx__names *names) {
    const struct jzx__name_array *array = current_of(names);
    uint32_t count = 0;
    for (uint64_t i = 0; i <= array->mask; i++) {
        const struct jzx__name *entry = slot_entry(slot_load(array, i));
        count += entry != NULL && !is_stale(names, entry);
    }
    return count;
}

/* Another array, with room. Doubles if a quarter is alive; else a quarter of the slots is free
 * afterwards, so that rebuilding costs little per name. */
static bool rebuild(struct jzx__names *names) {
    struct jzx__name_array *from = current_of(names);
    bool grows = from == NULL || count_live(names) >= (from->mask + 1) / 4;
    struct jzx__name_array *to = grows ? NULL : names->spare;
    if (to == NULL) {
        if (from != NULL && grows && from->mask >= UINT32_MAX / 2)
            return false;
        uint32_t mask = from == NULL ? FIRST_SLOTS - 1 : grows ? from->mask * 2 + 1 : from->mask;
        to = make_array(names, mask);
        if (to == NULL)
            return false;
        to->older = names->arrays;
        names->arrays = to;
    }
    if (from != NULL)
        fill(names, to);
    names->spare = grows ? NULL : from;
    /* release: pairs with the acquire in jzx__names_get */
    jzx__atomic_store_release(&names->current, to);
    return true;
}

/* ---- writing ---- */

struct jzx__name *jzx__names_find(struct jzx__names *names, const struct jzx__name_key *key) {
    const struct jzx__name_array *array = current_of(names);
    for (uint64_t i = 0; array != NULL && i <= array->mask; i++) {
        struct jzx__name *entry = slot_entry(slot_load(array, key->hash + i));
        if (entry == NULL)
            break;
        if (has_name(entry, key))
            return entry;
    }
    return NULL;
}

/* The first entry in the chain whose name has gone takes the new one. NULL if there is none. */
static struct jzx__name *take_over(struct jzx__names *names, const struct jzx__name_key *key) {
    struct jzx__name_array *array = current_of(names);
    for (uint64_t i = 0; array != NULL && i <= array->mask; i++) {
        struct jzx__name *entry = slot_entry(slot_load(array, key->hash + i));
        if (entry == NULL)
            break;
        if (is_stale(names, entry)) {
            rename_entry(entry, key);
            slot_store(array, key->hash + i, slot_make(entry, key->hash));
            return entry;
        }
    }
    return NULL;
}

struct jzx__name *jzx__names_put(struct jzx__names *names, const struct jzx__name_key *key) {
    struct jzx__name *entry = jzx__names_find(names, key);
    if (entry == NULL)
        entry = take_over(names, key);
    if (entry != NULL)
        return entry;
    struct jzx__name_array *array = current_of(names);
    if ((array == NULL || names->used >= (array->mask + 1) / 2) && !rebuild(names))
        return NULL;
    if (names->free == NULL && !add_chunk(names))
        return NULL;
    entry = take_entry(names);
    rename_entry(entry, key);
    insert(current_of(names), entry, key->hash);
    names->used++;
    return entry;
}

/* ---- life ---- */

void jzx__names_init(struct jzx__names *names, const jzx_allocator *allocator,
                     jzx__name_live_fn is_live, const void *live_ctx) {
    memset(names, 0, sizeof *names);
    names->allocator = allocator;
    names->is_live = is_live;
    names->live_ctx = live_ctx;
}

void jzx__names_deinit(struct jzx__names *names) {
    while (names->arrays != NULL) {
        struct jzx__name_array *older = names->arrays->older;
        jzx__free(names->allocator, names->arrays, array_size_bytes(names->arrays->mask));
        names->arrays = older;
    }
    while (names->chunks != NULL) {
        struct jzx__name_chunk *next = names->chunks->next;
        jzx__free_aligned(names->allocator, names->chunks, sizeof *names->chunks, JZX_CACHE_LINE);
        names->chunks = next;
    }
}
