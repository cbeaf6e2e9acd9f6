/* SPDX-License-Identifier: MIT */
/* Groups of actors.
 *
 * A group is found by its name (names.h) and has an array of **places**, one per member, in chunks
 * that double. Joins, leaves and subscriptions hold the one lock of all groups; whoever sends reads
 * places without it.
 *
 *   J1  a member keeps its place as long as it is one, below `places`. So a reader that goes over
 *       the places meets each that stays exactly once.
 *   J2  groups and chunks stay in memory until the loop is destroyed, and are used again. `life`
 *       is the word that the name leads to while the group lives. An id that was read from a place
 *       was a member's if life is still that word afterwards: it changes before anything is used
 *       again.
 *   J3  a group lives while it has members or subscribers.
 *   J4  `spare` holds a message for each pair of a member and a subscriber: no leave needs memory.
 *   J5  events are delivered under the lock: all subscribers see the same order.
 *   J6  an event has the number of the subscription that it is for, and is handled only while that
 *       one lasts: the subscriber looks when the event's turn comes.
 *   J7  at most events_max events of a subscription wait for their first look. The message of the
 *       next one becomes a notice that the subscriber lags; until that was looked at, the others
 *       are counted in missed, and their messages freed.
 *
 * What an actor has with a group is one record in its cold record's list, whether it is a member,
 * a subscriber or both. The list and the number of joins are the turn's own (and, at the end, the
 * owner's); the rest is guarded by the lock.
 *
 * Rejected: a copy of the array for each change (a million joins would copy a million times); a
 * buffer per subscriber that drops events silently. */
#ifndef JZX_DIRECTORY_GROUPS_H
#define JZX_DIRECTORY_GROUPS_H

#include "base/list.h"
#include "base/lock.h"
#include "directory/names.h"

struct jzx__actor;
struct jzx__node;
struct jzx__worker;
struct jzx_loop;

/* Chunk k has JZX__GROUP_FIRST << k places, from (JZX__GROUP_FIRST << k) - JZX__GROUP_FIRST on. */
#define JZX__GROUP_FIRST 8u
#define JZX__GROUP_FIRST_BIT 3u
#define JZX__GROUP_CHUNKS 29u

/* A place: the id of its member, or, below this, 1 + the index of the next that is free, or 0. */
#define JZX__PLACE_TAKEN ((uint64_t)1 << 32)

typedef _Atomic uint64_t jzx__place;

struct jzx__group {
    /* Read by all. */
    _Alignas(JZX_CACHE_LINE) _Atomic uint64_t life; /* its own address and a generation; 0: free */
    _Atomic uint32_t places;                        /* taken, and free ones between them */
    _Atomic(jzx__place *) chunks[JZX__GROUP_CHUNKS];

    _Alignas(JZX_CACHE_LINE) _Atomic uint64_t turn; /* of round robin; written by who routes */

    /* Under the lock. */
    _Alignas(JZX_CACHE_LINE) uint32_t generation;
    uint32_t member_count;
    uint32_t subscriber_count;
    uint64_t free_place;          /* as in a place */
    struct jzx__list subscribers; /* of struct jzx__member */
    struct jzx__node *spare;      /* J4 */
    struct jzx__name *entry;
    struct jzx__group *next_free;
    struct jzx__group *next_made;
    char name[JZX_NAME_MAX + 1]; /* fixed in a life: members read it without the lock */
};

/* What an actor has with a group. */
struct jzx__member {
    struct jzx__member *next; /* in its actor's list, the turn's own */
    struct jzx__group *group;
    jzx_actor_id id;
    uint32_t joins; /* 0: no member; the turn's own */
    uint32_t place;
    uint64_t subscription;    /* its number, 0 if there is none; the turn's own, too */
    _Atomic uint32_t waiting; /* events not looked at (J7): raised under the lock, lowered by the
                               * turn. A gauge for the limit alone */
    uint32_t missed;          /* under the lock; not 0: a notice waits */
    struct jzx__link link;    /* in subscribers */
};

struct jzx__groups {
    struct jzx__names names;
    struct jzx__lock lock;
    uint32_t count; /* of those that live */
    uint32_t max;
    uint32_t members_max;
    uint32_t events_max;    /* J7 */
    uint64_t subscriptions; /* so many there were: numbers from 1 on */
    struct jzx__group *free;
    struct jzx__group *made;
    jzx__place *free_chunks[JZX__GROUP_CHUNKS]; /* linked by their first place */
    const jzx_allocator *allocator;
};

void jzx__groups_init(struct jzx__groups *groups, const jzx_config *config,
                      const jzx_allocator *allocator);
void jzx__groups_deinit(struct jzx__groups *groups);

/* The actor ends, and leaves whatever it is in. Owner only. */
void jzx__groups_leave_all(struct jzx__worker *me, struct jzx__actor *actor);

/* ---- for those who send ---- */

/* The life of a name's group, or 0. Any thread. */
static inline uint64_t jzx__groups_get(const struct jzx__groups *groups,
                                       const struct jzx__name_key *key) {
    return jzx__names_get(&groups->names, key);
}

#define JZX__GROUP_GENERATION_BITS 22

static inline struct jzx__group *jzx__group_of_life(uint64_t life) {
    return (void *)(uintptr_t)(life >> JZX__GROUP_GENERATION_BITS << 6);
}

static inline uint32_t jzx__group_places(const struct jzx__group *group) {
    /* acquire: pairs with the release in join; the chunks below it are there */
    return jzx__atomic_load_acquire(&group->places);
}

/* The word of a place below jzx__group_places; NULL if the group has ended meanwhile. */
static inline jzx__place *jzx__group_place(const struct jzx__group *group, uint32_t index) {
    uint64_t at = (uint64_t)index + JZX__GROUP_FIRST;
    unsigned high = 63u ^ (unsigned)__builtin_clzll(at);
    /* acquire: pairs with the release in ensure_chunk */
    jzx__place *chunk = jzx__atomic_load_acquire(&group->chunks[high - JZX__GROUP_FIRST_BIT]);
    return chunk == NULL ? NULL : chunk + (at - ((uint64_t)1 << high));
}

/* The member in a place of the group that had this life, or JZX_NOBODY; *over if it has ended. */
static inline jzx_actor_id jzx__group_at(const struct jzx__group *group, uint64_t life,
                                         uint32_t index, bool *over) {
    jzx__place *place = jzx__group_place(group, index);
    /* acquire: pairs with the release of whoever wrote the place; a life that ended is seen (J2) */
    uint64_t word = place == NULL ? 0 : jzx__atomic_load_acquire(place);
    /* relaxed: the load before it is acquire */
    *over = jzx__atomic_load_relaxed(&group->life) != life;
    return *over || word < JZX__PLACE_TAKEN ? JZX_NOBODY : word;
}

#endif
