/* SPDX-License-Identifier: MIT */
/* Sending to a group: to all, or to one that a policy chooses. Readers hold no lock; what they read
 * of a group that ended meanwhile is not used (J2 of groups.h). */
#include "actor/mailbox.h"
#include "actor/share.h"
#include "directory/directory.h"

#include "jzx/group.h"

/* So many members ahead of the one that is sent to, its actor is fetched. */
#define FETCH_AHEAD 8u

/* A group as a sender sees it. */
struct target {
    struct jzx_loop *loop;
    const struct jzx__group *group;
    uint64_t life; /* 0: there is no such group */
    uint32_t places;
    bool over; /* it has ended since */
};

/* What is sent. */
struct parcel {
    jzx_actor_id from;
    const void *data;
    size_t len;
    uint32_t tag;
    void *shared; /* a reference to a copy, or NULL */
};

static struct target find_target(struct jzx_loop *loop, const struct jzx__name_key *key) {
    struct target target = {.loop = loop, .life = jzx__groups_get(jzx__groups_of(loop), key)};
    if (target.life != 0) {
        target.group = jzx__group_of_life(target.life);
        target.places = jzx__group_places(target.group);
    }
    return target;
}

static jzx_actor_id member_at(struct target *target, uint32_t index) {
    return target->over ? JZX_NOBODY
                        : jzx__group_at(target->group, target->life, index, &target->over);
}

/* The actor, if it takes messages; not if it has ended and its leave is under way, nor if it only
 * works its queue off. */
static struct jzx__actor *open_actor(const struct target *target, jzx_actor_id id) {
    if (id == JZX_NOBODY)
        return NULL;
    struct jzx__actor *actor = jzx__table_lookup(&target->loop->table, id);
    bool is_open = actor != NULL && (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED) == 0;
    return is_open ? actor : NULL;
}

static jzx_err send_to(const struct target *target, const struct parcel *parcel, jzx_actor_id id) {
    if (parcel->shared != NULL)
        return jzx_send_shared(target->loop, id, parcel->from, parcel->shared, parcel->tag);
    return jzx_send(target->loop, id, parcel->from, parcel->data, parcel->len, parcel->tag);
}

/* ---- all ---- */

static void fetch(const struct target *target, jzx_actor_id id) {
    if (id == JZX_NOBODY)
        return;
    const char *slot = (const char *)jzx__table_slot(&target->loop->table, jzx_id_index(id));
    __builtin_prefetch(slot, 1);
    __builtin_prefetch(slot + JZX_CACHE_LINE, 1);
}

/* Returns how many accepted it; *refusal is why others did not. */
static size_t send_to_all(struct target *target, const struct parcel *parcel, jzx_err *refusal) {
    jzx_actor_id ahead[FETCH_AHEAD] = {JZX_NOBODY};
    size_t delivered = 0;
    for (uint64_t i = 0; i < (uint64_t)target->places + FETCH_AHEAD; i++) {
        jzx_actor_id id = ahead[i % FETCH_AHEAD];
        jzx_actor_id next = i < target->places ? member_at(target, (uint32_t)i) : JZX_NOBODY;
        ahead[i % FETCH_AHEAD] = next;
        fetch(target, next);
        if (open_actor(target, id) == NULL)
            continue;
        jzx_err err = send_to(target, parcel, id);
        if (err == JZX_OK)
            delivered++;
        else
            *refusal = err;
    }
    return delivered;
}

/* A send that nobody gets, for its errors and the books. */
static jzx_err refuse(struct jzx_loop *loop) {
    return jzx_send(loop, JZX_NOBODY, JZX_NOBODY, NULL, 1, 0);
}

static bool is_valid(const struct parcel *parcel) {
    return (parcel->data != NULL || parcel->len == 0) && parcel->len <= JZX_MSG_LEN_MAX &&
           parcel->tag < JZX_TAG_RESERVED;
}

/* One copy for all of a payload that does not travel inside the message. */
static bool make_shared(struct jzx_loop *loop, struct parcel *parcel) {
    if (parcel->len <= JZX_MSG_INLINE)
        return true;
    void *copy = jzx_msg_alloc(loop, parcel->len, NULL);
    if (copy == NULL)
        return false;
    memcpy(copy, parcel->data, parcel->len);
    parcel->shared = jzx_msg_share(loop, copy);
    return true;
}

/* *delivered is how many accepted it, *refusal why the last that did not refused, or why there was
 * nobody. */
static jzx_err broadcast(struct target *target, struct parcel *parcel, size_t *delivered,
                         jzx_err *refusal) {
    *delivered = 0;
    *refusal = JZX_ERR_NO_SUCH_ACTOR;
    if (target->places == 0)
        return JZX_OK;
    bool is_ours = parcel->shared == NULL;
    if (is_ours && !make_shared(target->loop, parcel))
        return JZX_ERR_NO_MEMORY;
    *delivered = send_to_all(target, parcel, refusal);
    if (is_ours)
        jzx_msg_free(target->loop, parcel->shared);
    return JZX_OK;
}

static jzx_err broadcast_named(jzx_loop *loop, const char *group, struct parcel *parcel,
                               size_t *delivered) {
    struct jzx__name_key key;
    if (loop == NULL || !is_valid(parcel) || !jzx__name_pack(&key, group) || group[0] == '@')
        return refuse(loop);
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    struct target target = find_target(loop, &key);
    size_t count;
    jzx_err refusal;
    jzx_err err = broadcast(&target, parcel, &count, &refusal);
    if (err == JZX_OK && delivered != NULL)
        *delivered = count;
    return err;
}

jzx_err jzx_group_broadcast(jzx_loop *loop, const char *group, jzx_actor_id from, const void *data,
                            size_t len, uint32_t tag, size_t *delivered) {
    struct parcel parcel = {.from = from, .data = data, .len = len, .tag = tag};
    return broadcast_named(loop, group, &parcel, delivered);
}

jzx_err jzx_group_broadcast_shared(jzx_loop *loop, const char *group, jzx_actor_id from, void *data,
                                   uint32_t tag, size_t *delivered) {
    struct jzx__message *block = loop == NULL || data == NULL
                                     ? NULL
                                     : jzx__message_claim(loop, data, "jzx_group_broadcast_shared");
    if (block == NULL || !jzx__message_is_shared(block))
        return refuse(loop);
    struct parcel parcel = {.from = from, .tag = tag, .shared = data};
    return broadcast_named(loop, group, &parcel, delivered);
}

/* ---- one ---- */

/* The first from a place on that accepts it; those that are gone or full are passed by. *distance
 * is how many places were passed. */
static jzx_err send_from(struct target *target, const struct parcel *parcel, uint64_t start,
                         uint32_t *distance) {
    jzx_err err = JZX_ERR_NO_SUCH_ACTOR;
    for (uint32_t i = 0; i < target->places; i++) {
        jzx_actor_id id = member_at(target, (uint32_t)((start + i) % target->places));
        if (open_actor(target, id) == NULL)
            continue;
        jzx_err result = send_to(target, parcel, id);
        *distance = i;
        if (result == JZX_OK || (result != JZX_ERR_MAILBOX_FULL && result != JZX_ERR_NO_SUCH_ACTOR))
            return result;
        if (result == JZX_ERR_MAILBOX_FULL)
            err = result;
    }
    return err;
}

/* The counter of a group belongs to whoever routes, although they do not write anything else. */
static _Atomic uint64_t *turn_of(const struct target *target) {
    return &jzx__group_of_life(target->life)->turn;
}

static jzx_err send_in_turn(struct target *target, const struct parcel *parcel) {
    uint32_t distance = 0;
    /* relaxed: a number; nothing is passed with it */
    uint64_t start = jzx__atomic_add_relaxed(turn_of(target), 1u);
    jzx_err err = send_from(target, parcel, start, &distance);
    if (distance != 0) /* whoever comes after a hole does not get the turn of the hole, too */
        jzx__atomic_add_relaxed(turn_of(target), distance); /* relaxed: as above */
    return err;
}

/* How much waits for a member. The private list of an actor is its owner's. */
static uint32_t load_of(struct jzx__worker *me, struct jzx__actor *actor) {
    uint32_t load = jzx__inbox_count(jzx__task_inbox(&actor->task));
    return jzx__worker_owns(me, &actor->task) ? load + actor->task.pending : load;
}

static uint64_t least_loaded(struct target *target, uint64_t start) {
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(target->loop, &visit);
    uint64_t best = start;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < target->places && least != 0; i++) {
        jzx_actor_id id = member_at(target, (uint32_t)((start + i) % target->places));
        struct jzx__actor *actor = open_actor(target, id);
        if (actor != NULL && load_of(me, actor) < least) {
            least = load_of(me, actor);
            best = start + i;
        }
    }
    jzx__visit_end(&visit);
    return best;
}

static jzx_err send_to_least_loaded(struct target *target, const struct parcel *parcel) {
    uint32_t distance = 0;
    /* relaxed: a number; nothing is passed with it */
    uint64_t start = jzx__atomic_add_relaxed(turn_of(target), 1u);
    return send_from(target, parcel, least_loaded(target, start), &distance);
}

/* Rendezvous hashing: each member draws a number for the key, and the highest wins. */
static uint64_t draw(uint64_t key, jzx_actor_id id) {
    uint64_t z = key * 0x9E3779B97F4A7C15u ^ id;
    z = (z ^ (z >> 32)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 29)) * 0x94D049BB133111EBu;
    return z ^ (z >> 32);
}

static jzx_actor_id winner(struct target *target, uint64_t key) {
    jzx_actor_id best = JZX_NOBODY;
    uint64_t highest = 0;
    for (uint32_t i = 0; i < target->places; i++) {
        jzx_actor_id id = member_at(target, i);
        uint64_t number = draw(key, id);
        if (id != JZX_NOBODY && (best == JZX_NOBODY || number > highest) &&
            open_actor(target, id) != NULL) {
            best = id;
            highest = number;
        }
    }
    return best;
}

static jzx_err send_by_key(struct target *target, const struct parcel *parcel, uint64_t key) {
    for (;;) {
        jzx_actor_id id = winner(target, key);
        if (id == JZX_NOBODY)
            return JZX_ERR_NO_SUCH_ACTOR;
        jzx_err err = send_to(target, parcel, id);
        if (err != JZX_ERR_NO_SUCH_ACTOR)
            return err; /* else it has ended since, and another one has the key */
    }
}

static jzx_err broadcast_to_some(struct target *target, struct parcel *parcel) {
    size_t delivered;
    jzx_err refusal;
    jzx_err err = broadcast(target, parcel, &delivered, &refusal);
    return err != JZX_OK || delivered != 0 ? err : refusal;
}

jzx_err jzx_route(jzx_loop *loop, const char *group, jzx_route_policy policy, uint64_t key,
                  jzx_actor_id from, const void *data, size_t len, uint32_t tag) {
    struct parcel parcel = {.from = from, .data = data, .len = len, .tag = tag};
    struct jzx__name_key name;
    if (loop == NULL || (unsigned)policy > JZX_ROUTE_BROADCAST || !is_valid(&parcel) ||
        !jzx__name_pack(&name, group) || group[0] == '@')
        return refuse(loop);
    struct target target = find_target(loop, &name);
    if (target.places == 0 || jzx__sched_is_stopped(&loop->sched))
        return jzx_send(loop, JZX_NOBODY, from, data, len, tag);
    switch (policy) {
    case JZX_ROUTE_ROUND_ROBIN: return send_in_turn(&target, &parcel);
    case JZX_ROUTE_LEAST_LOADED: return send_to_least_loaded(&target, &parcel);
    case JZX_ROUTE_HASH: return send_by_key(&target, &parcel, key);
    case JZX_ROUTE_BROADCAST: break;
    }
    return broadcast_to_some(&target, &parcel);
}
