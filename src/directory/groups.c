/* SPDX-License-Identifier: MIT */
/* Joining, leaving and watching groups. */
#include "directory/groups.h"

#include "actor/mailbox.h"
#include "actor/own.h"
#include "base/alloc.h"
#include "directory/directory.h"

#include "jzx/group.h"

#include <string.h>

#define PLACES_MAX (UINT32_MAX - JZX__GROUP_FIRST)
#define GENERATION_MASK (((uint32_t)1 << JZX__GROUP_GENERATION_BITS) - 1)
#define MEMBER_CLASS 0u
_Static_assert(sizeof(struct jzx__member) <= JZX__BLOCK_SIZE_MIN, "fits its class");

/* ---- life ---- */

/* A name has no value once its group has gone. */
static bool is_live(const void *ctx, uint64_t value) {
    (void)ctx;
    return value != 0;
}

void jzx__groups_init(struct jzx__groups *groups, const jzx_config *config,
                      const jzx_allocator *allocator) {
    memset(groups, 0, sizeof *groups);
    jzx__names_init(&groups->names, allocator, is_live, NULL);
    jzx__lock_init(&groups->lock);
    groups->max = config->max_groups;
    groups->members_max = config->max_members_per_group;
    groups->events_max = config->max_group_events;
    groups->allocator = allocator;
}

static size_t chunk_size_bytes(uint32_t chunk) {
    return sizeof(jzx__place) * JZX__GROUP_FIRST << chunk;
}

/* Every actor has ended, so that all groups are free. */
void jzx__groups_deinit(struct jzx__groups *groups) {
    JZX_ASSERT(groups->count == 0);
    for (uint32_t i = 0; i < JZX__GROUP_CHUNKS; i++) {
        while (groups->free_chunks[i] != NULL) {
            jzx__place *chunk = groups->free_chunks[i];
            /* relaxed: nobody else is left */
            groups->free_chunks[i] = (void *)(uintptr_t)jzx__atomic_load_relaxed(chunk);
            jzx__free(groups->allocator, chunk, chunk_size_bytes(i));
        }
    }
    while (groups->made != NULL) {
        struct jzx__group *group = groups->made;
        groups->made = group->next_made;
        jzx__free_aligned(groups->allocator, group, sizeof *group, JZX_CACHE_LINE);
    }
    jzx__lock_deinit(&groups->lock);
    jzx__names_deinit(&groups->names);
}

static struct jzx__group *take_group(struct jzx__groups *groups) {
    struct jzx__group *group = groups->free;
    if (group != NULL) {
        groups->free = group->next_free;
        return group;
    }
    group = jzx__alloc_aligned(groups->allocator, sizeof *group, JZX_CACHE_LINE);
    if (group == NULL)
        return NULL;
    memset(group, 0, sizeof *group);
    group->next_made = groups->made;
    groups->made = group;
    return group;
}

static void give_group(struct jzx__groups *groups, struct jzx__group *group) {
    group->next_free = groups->free;
    groups->free = group;
}

static struct jzx__group *find_group(struct jzx__groups *groups, const struct jzx__name_key *key) {
    struct jzx__name *entry = jzx__names_find(&groups->names, key);
    uint64_t life = entry == NULL ? 0 : jzx__name_value(entry);
    return life == 0 ? NULL : jzx__group_of_life(life);
}

/* A group with nobody in it. */
static jzx_err create_group(struct jzx__groups *groups, const struct jzx__name_key *key,
                            struct jzx__group **made) {
    if (groups->count >= groups->max)
        return JZX_ERR_MAX_ACTORS;
    struct jzx__group *group = take_group(groups);
    if (group == NULL)
        return JZX_ERR_NO_MEMORY;
    group->entry = jzx__names_put(&groups->names, key);
    if (group->entry == NULL) {
        give_group(groups, group);
        return JZX_ERR_NO_MEMORY;
    }
    memcpy(group->name, key->words, key->count * sizeof key->words[0]);
    jzx__list_init(&group->subscribers);
    group->generation++;
    uint64_t life = (uint64_t)(uintptr_t)group >> 6 << JZX__GROUP_GENERATION_BITS |
                    (group->generation & GENERATION_MASK);
    /* relaxed, both: published by the name */
    jzx__atomic_store_relaxed(&group->life, life);
    jzx__atomic_store_relaxed(&group->turn, 0u);
    jzx__name_set(group->entry, life);
    groups->count++;
    *made = group;
    return JZX_OK;
}

static void empty_places(struct jzx__group *group) {
    group->free_place = 0;
    /* release: pairs with jzx__group_places; there is nobody */
    jzx__atomic_store_release(&group->places, 0u);
}

/* J3: the last one has gone. What it had is for others. */
static void retire_if_empty(struct jzx__groups *groups, struct jzx__group *group) {
    if (group->member_count != 0)
        return;
    empty_places(group);
    if (group->subscriber_count != 0)
        return;
    JZX_ASSERT(group->spare == NULL); /* J4 */
    jzx__name_set(group->entry, 0);
    /* release: pairs with the acquire of a place or a chunk that is used again (J2) */
    jzx__atomic_store_release(&group->life, 0u);
    for (uint32_t i = 0; i < JZX__GROUP_CHUNKS; i++) {
        /* relaxed: written under the lock that we hold */
        jzx__place *chunk = jzx__atomic_load_relaxed(&group->chunks[i]);
        if (chunk == NULL)
            break;
        /* release, both: pairs with the acquires in jzx__group_place and jzx__group_at (J2) */
        jzx__atomic_store_release(&group->chunks[i], NULL);
        jzx__atomic_store_release(chunk, (uint64_t)(uintptr_t)groups->free_chunks[i]);
        groups->free_chunks[i] = chunk;
    }
    groups->count--;
    give_group(groups, group);
}

/* ---- places ---- */

static bool ensure_chunk(struct jzx__groups *groups, struct jzx__group *group, uint32_t index) {
    uint64_t at = (uint64_t)index + JZX__GROUP_FIRST;
    uint32_t k = (63u ^ (uint32_t)__builtin_clzll(at)) - JZX__GROUP_FIRST_BIT;
    /* relaxed: written under the lock that we hold */
    if (jzx__atomic_load_relaxed(&group->chunks[k]) != NULL)
        return true;
    jzx__place *chunk = groups->free_chunks[k];
    if (chunk != NULL)
        /* relaxed: as above */
        groups->free_chunks[k] = (void *)(uintptr_t)jzx__atomic_load_relaxed(chunk);
    else
        chunk = jzx__alloc(groups->allocator, chunk_size_bytes(k));
    if (chunk == NULL)
        return false;
    for (size_t i = 0; i < (size_t)JZX__GROUP_FIRST << k; i++)
        /* release: pairs with the acquire in jzx__group_at (J2) */
        jzx__atomic_store_release(&chunk[i], 0u);
    /* release: pairs with the acquire in jzx__group_place */
    jzx__atomic_store_release(&group->chunks[k], chunk);
    return true;
}

/* The place for one more; false without memory. Nothing is taken yet. */
static bool find_place(struct jzx__groups *groups, struct jzx__group *group, uint32_t *index) {
    *index = group->free_place != 0 ? (uint32_t)group->free_place - 1 : jzx__group_places(group);
    return *index < PLACES_MAX && ensure_chunk(groups, group, *index);
}

static void take_place(struct jzx__group *group, uint32_t index, jzx_actor_id id) {
    jzx__place *place = jzx__group_place(group, index);
    if (group->free_place != 0)
        /* relaxed: written under the lock that we hold */
        group->free_place = jzx__atomic_load_relaxed(place);
    /* release: pairs with the acquire in jzx__group_at */
    jzx__atomic_store_release(place, id);
    if (index >= jzx__group_places(group))
        /* release: pairs with jzx__group_places; publishes the chunk */
        jzx__atomic_store_release(&group->places, index + 1);
    group->member_count++;
}

static void give_place(struct jzx__group *group, uint32_t index) {
    /* release: pairs with the acquire in jzx__group_at */
    jzx__atomic_store_release(jzx__group_place(group, index), group->free_place);
    group->free_place = (uint64_t)index + 1;
    group->member_count--;
}

/* Under the lock it is exact. */
static void copy_members(const struct jzx__group *group, jzx_actor_id *ids, size_t capacity) {
    uint32_t places = jzx__group_places(group);
    size_t count = 0;
    for (uint32_t i = 0; i < places && count < capacity; i++) {
        /* relaxed: written under the lock that we hold */
        uint64_t word = jzx__atomic_load_relaxed(jzx__group_place(group, i));
        if (word >= JZX__PLACE_TAKEN)
            ids[count++] = word;
    }
}

/* ---- events ---- */

static void free_events(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__node **events,
                        uint32_t count) {
    while (count-- > 0) {
        struct jzx__node *node = *events;
        *events = node->next;
        jzx__message_destroy(loop, me, jzx__message_of(node));
    }
}

/* Puts so many messages to the others; none without memory. */
static bool add_events(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__node **events,
                       uint32_t count) {
    for (uint32_t made = 0; made < count; made++) {
        struct jzx__message *message =
            jzx__message_create_large(loop, me, sizeof(jzx_group_event), jzx__no_destructor);
        if (message == NULL) {
            free_events(loop, me, events, made);
            return false;
        }
        jzx__message_set_trailer_kind(message, JZX__TRAILER_OTHER); /* for the subscription */
        message->node.next = *events;
        *events = &message->node;
    }
    return true;
}

/* In the trailer, beside the number of the subscription: nobody has looked at the message yet. */
#define UNSEEN ((uint64_t)1 << 63)

static void deliver(struct jzx_loop *loop, struct jzx__worker *me, const struct jzx__member *member,
                    struct jzx__message *message, const jzx_group_event *event) {
    const uint64_t mark = member->subscription | UNSEEN;
    message->node.generation = jzx_id_generation(member->id);
    message->node.weight = 0;
    message->node.lane = JZX__LANE_GROUP;
    memcpy(message->payload, event, sizeof *event);
    memcpy(jzx__message_trailer(message), &mark, sizeof mark);
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, member->id);
    if (actor == NULL || jzx__mailbox_deliver(loop, me, actor, message) != JZX_OK)
        jzx__message_destroy(loop, me, message); /* it ends, and its subscription with it */
}

/* The subscriber has events_max events to look at, or a notice (J7). */
static void tell_late(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__member *member,
                      struct jzx__message *message, const jzx_group_event *event) {
    jzx_group_event notice = {.actor = JZX_NOBODY};
    bool is_first = member->missed == 0;
    member->missed += member->missed != UINT32_MAX;
    if (!is_first) {
        jzx__message_destroy(loop, me, message);
        return;
    }
    memcpy(notice.group, event->group, sizeof notice.group);
    message->sender = JZX_NOBODY;
    message->tag = JZX_TAG_GROUP_LAGGED;
    deliver(loop, me, member, message, &notice);
}

/* Tells all subscribers, with messages of the spare ones. */
static void tell(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__group *group,
                 jzx_actor_id id, uint32_t tag) {
    const struct jzx__link *ring = &group->subscribers.ring;
    const uint32_t max = jzx__groups_of(loop)->events_max;
    jzx_group_event event = {.actor = id};
    memcpy(event.group, group->name, sizeof event.group);
    for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
        struct jzx__member *member = JZX_CONTAINER_OF(link, struct jzx__member, link);
        struct jzx__message *message = jzx__message_of(group->spare);
        group->spare = message->node.next;
        /* relaxed: a limit, and publishes nothing */
        if (member->missed != 0 || jzx__atomic_load_relaxed(&member->waiting) >= max) {
            tell_late(loop, me, member, message, &event);
            continue;
        }
        /* relaxed: as above; the message is what is published */
        jzx__atomic_add_relaxed(&member->waiting, 1u);
        message->sender = id;
        message->tag = tag;
        deliver(loop, me, member, message, &event);
    }
}

/* The first look at a message of a subscription that lasts (J7). */
static void see_event(struct jzx_loop *loop, struct jzx__member *member,
                      struct jzx__message *message) {
    memcpy(jzx__message_trailer(message), &member->subscription, sizeof member->subscription);
    if (message->tag != JZX_TAG_GROUP_LAGGED) {
        /* relaxed: as where it is raised */
        jzx__atomic_add_relaxed(&member->waiting, UINT32_MAX); /* minus one */
        return;
    }
    jzx_group_event *notice = (void *)message->payload;
    jzx__lock_acquire(&jzx__groups_of(loop)->lock);
    notice->missed = member->missed;
    member->missed = 0; /* from here on it is told again */
    jzx__lock_release(&jzx__groups_of(loop)->lock);
}

/* It is the next to be handled: by then its subscription may have ended (J6). */
static enum jzx__look begin_event(struct jzx__worker *me, const struct jzx__spot *at) {
    struct jzx__message *message = jzx__message_of(at->node);
    struct jzx__member *member = jzx__actor_part(at->actor, JZX__PART_DIRECTORY);
    uint64_t mark;
    memcpy(&mark, jzx__message_trailer(message), sizeof mark);
    jzx__mailbox_looked(at->actor);
    while (member != NULL && member->subscription != (mark & ~UNSEEN))
        member = member->next;
    if (member != NULL) {
        if ((mark & UNSEEN) != 0)
            see_event(jzx__loop_of(me), member, message);
        return JZX__LOOK_HANDLE;
    }
    jzx__spot_remove(at);
    me->pass_handled++; /* the books: it was accepted */
    jzx__message_destroy(jzx__loop_of(me), me, message);
    return JZX__LOOK_GONE;
}

/* It is the user's: a block as any. */
static bool take_event(struct jzx_loop *loop, struct jzx__worker *me,
                       struct jzx__message *message) {
    (void)loop;
    (void)me;
    message->node.lane = JZX__LANE_RUNTIME;
    return true;
}

const struct jzx__lane_ops jzx__lane_group = {.begin = begin_event, .take = take_event};

/* ---- what an actor has with a group ---- */

/* A call by an actor in its turn. */
struct caller {
    struct jzx_loop *loop;
    struct jzx__groups *groups;
    struct jzx__actor *actor;
    jzx_actor_id id;
    struct jzx__worker *me; /* NULL if the turn goes on without it */
    struct jzx__visit visit;
    struct jzx__name_key key;
};

/* On JZX_OK the visit has begun. */
static jzx_err begin(struct caller *caller, jzx_context *ctx) {
    caller->actor = jzx__own_turn(ctx);
    if (caller->actor == NULL)
        return jzx__own_cleanup(ctx) != NULL ? JZX_ERR_NO_SUCH_ACTOR : JZX_ERR_INVALID_ARG;
    caller->loop = ctx->loop;
    caller->groups = jzx__groups_of(ctx->loop);
    caller->id = ctx->self;
    caller->me = jzx__loop_visit(ctx->loop, &caller->visit);
    return JZX_OK;
}

static jzx_err begin_named(struct caller *caller, jzx_context *ctx, const char *group) {
    if (ctx == NULL || !jzx__name_pack(&caller->key, group) || group[0] == '@')
        return JZX_ERR_INVALID_ARG;
    return begin(caller, ctx);
}

/* Its record for the group, or NULL. A group that it has something with cannot end. */
static struct jzx__member *find_member(const struct caller *caller) {
    struct jzx__cold *cold = jzx__actor_cold(caller->actor);
    uint64_t life = jzx__groups_get(caller->groups, &caller->key);
    struct jzx__member *member =
        cold == NULL || life == 0 ? NULL : jzx__cold_part(cold, JZX__PART_DIRECTORY);
    while (member != NULL && member->group != jzx__group_of_life(life))
        member = member->next;
    return member;
}

/* A record in no list yet; NULL without memory. */
static struct jzx__member *make_member(const struct caller *caller) {
    if (jzx__cold_ensure(caller->loop, caller->me, caller->actor) == NULL)
        return NULL;
    struct jzx__member *member = jzx__sched_alloc(&caller->loop->sched, caller->me, MEMBER_CLASS);
    if (member != NULL)
        *member = (struct jzx__member){.id = caller->id};
    return member;
}

static void list_member(const struct caller *caller, struct jzx__member *member) {
    struct jzx__cold *cold = jzx__actor_cold(caller->actor);
    member->next = jzx__cold_part(cold, JZX__PART_DIRECTORY);
    jzx__cold_set_part(cold, JZX__PART_DIRECTORY, member);
}

static void free_member(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__member *member) {
    jzx__sched_free(&loop->sched, me, MEMBER_CLASS, member);
}

/* Frees a record that says nothing any more. */
static void drop_if_unused(const struct caller *caller, struct jzx__member *member) {
    struct jzx__cold *cold = jzx__actor_cold(caller->actor);
    if (member->joins != 0 || member->subscription != 0)
        return;
    struct jzx__member *before = jzx__cold_part(cold, JZX__PART_DIRECTORY);
    if (before == member) {
        jzx__cold_set_part(cold, JZX__PART_DIRECTORY, member->next);
    } else {
        while (before->next != member)
            before = before->next;
        before->next = member->next;
    }
    free_member(caller->loop, caller->me, member);
}

/* ---- joining and leaving ---- */

/* Under the lock, in a group that exists. */
static jzx_err enter(const struct caller *caller, struct jzx__group *group,
                     struct jzx__member *member) {
    uint32_t subscribers = group->subscriber_count;
    if (group->member_count >= caller->groups->members_max)
        return JZX_ERR_MAX_ACTORS;
    if (!find_place(caller->groups, group, &member->place) ||
        !add_events(caller->loop, caller->me, &group->spare, subscribers))
        return JZX_ERR_NO_MEMORY;
    if (!add_events(caller->loop, caller->me, &group->spare, subscribers)) {
        free_events(caller->loop, caller->me, &group->spare, subscribers);
        return JZX_ERR_NO_MEMORY;
    }
    take_place(group, member->place, caller->id);
    member->group = group;
    tell(caller->loop, caller->me, group, caller->id, JZX_TAG_GROUP_JOIN);
    return JZX_OK;
}

/* The group of the caller's key, made if there is none. Under the lock. */
static jzx_err find_or_create(const struct caller *caller, struct jzx__group **group) {
    if (jzx__sched_is_stopped(&caller->loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    *group = find_group(caller->groups, &caller->key);
    return *group != NULL ? JZX_OK : create_group(caller->groups, &caller->key, group);
}

static jzx_err join_first(const struct caller *caller, struct jzx__member *known) {
    struct jzx__group *group;
    struct jzx__member *member = known != NULL ? known : make_member(caller);
    if (member == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx__lock_acquire(&caller->groups->lock);
    jzx_err err = find_or_create(caller, &group);
    if (err == JZX_OK) {
        err = enter(caller, group, member);
        retire_if_empty(caller->groups, group); /* it was made in vain */
    }
    jzx__lock_release(&caller->groups->lock);
    if (err == JZX_OK) {
        member->joins = 1;
        if (known == NULL)
            list_member(caller, member);
    } else if (known == NULL) {
        free_member(caller->loop, caller->me, member);
    }
    return err;
}

jzx_err jzx_group_join(jzx_context *ctx, const char *group) {
    struct caller caller;
    jzx_err err = begin_named(&caller, ctx, group);
    if (err != JZX_OK)
        return err;
    struct jzx__member *member = find_member(&caller);
    if (member == NULL || member->joins == 0)
        err = join_first(&caller, member);
    else if (member->joins == UINT32_MAX)
        err = JZX_ERR_MAX_ACTORS;
    else
        member->joins++;
    jzx__visit_end(&caller.visit);
    return err;
}

/* Under the lock. */
static void leave(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__member *member) {
    give_place(member->group, member->place);
    tell(loop, me, member->group, member->id, JZX_TAG_GROUP_LEAVE);
    retire_if_empty(jzx__groups_of(loop), member->group);
}

jzx_err jzx_group_leave(jzx_context *ctx, const char *group) {
    struct caller caller;
    jzx_err err = begin_named(&caller, ctx, group);
    if (err != JZX_OK)
        return err;
    struct jzx__member *member = find_member(&caller);
    if (member == NULL || member->joins == 0) {
        err = JZX_ERR_NO_SUCH_ACTOR;
    } else if (--member->joins == 0) {
        jzx__lock_acquire(&caller.groups->lock);
        leave(caller.loop, caller.me, member);
        jzx__lock_release(&caller.groups->lock);
        drop_if_unused(&caller, member);
    }
    jzx__visit_end(&caller.visit);
    return err;
}

jzx_err jzx_group_list(jzx_context *ctx, char (*names)[JZX_NAME_MAX + 1], size_t capacity,
                       size_t *count) {
    struct caller caller;
    if (ctx == NULL || count == NULL || (names == NULL && capacity != 0))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = begin(&caller, ctx);
    if (err != JZX_OK)
        return err;
    size_t found = 0;
    for (struct jzx__member *member = jzx__actor_part(caller.actor, JZX__PART_DIRECTORY);
         member != NULL; member = member->next) {
        if (member->joins == 0)
            continue;
        if (found < capacity)
            memcpy(names[found], member->group->name, sizeof member->group->name);
        found++;
    }
    *count = found;
    jzx__visit_end(&caller.visit);
    return JZX_OK;
}

jzx_err jzx_group_members(jzx_loop *loop, const char *group, jzx_actor_id *ids, size_t capacity,
                          size_t *count) {
    struct jzx__name_key key;
    if (loop == NULL || count == NULL || (ids == NULL && capacity != 0) ||
        !jzx__name_pack(&key, group) || group[0] == '@')
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* S4 of seat.h */
    jzx__lock_acquire(&jzx__groups_of(loop)->lock);
    const struct jzx__group *found = find_group(jzx__groups_of(loop), &key);
    *count = found == NULL ? 0 : found->member_count;
    if (found != NULL)
        copy_members(found, ids, capacity);
    jzx__lock_release(&jzx__groups_of(loop)->lock);
    jzx__visit_end(&visit);
    return JZX_OK;
}

/* ---- watching ---- */

/* Under the lock, in a group that exists. */
static jzx_err watch(const struct caller *caller, struct jzx__group *group,
                     struct jzx__member *member, jzx_actor_id *ids, size_t capacity,
                     size_t *count) {
    bool fits = ids == NULL || group->member_count <= capacity;
    if (fits && member->subscription == 0) {
        if (!add_events(caller->loop, caller->me, &group->spare, group->member_count))
            return JZX_ERR_NO_MEMORY;
        jzx__list_push_back(&group->subscribers, &member->link);
        group->subscriber_count++;
        member->group = group;
        member->missed = 0;
        /* relaxed: nobody tells it yet, as the lock is held */
        jzx__atomic_store_relaxed(&member->waiting, 0u);
        member->subscription = ++caller->groups->subscriptions;
    }
    if (count != NULL)
        *count = group->member_count;
    if (fits && ids != NULL)
        copy_members(group, ids, capacity);
    return fits ? JZX_OK : JZX_ERR_INVALID_ARG;
}

static jzx_err watch_named(const struct caller *caller, jzx_actor_id *ids, size_t capacity,
                           size_t *count) {
    struct jzx__group *group;
    struct jzx__member *known = find_member(caller);
    struct jzx__member *member = known != NULL ? known : make_member(caller);
    if (member == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx__lock_acquire(&caller->groups->lock);
    jzx_err err = find_or_create(caller, &group);
    if (err == JZX_OK) {
        err = watch(caller, group, member, ids, capacity, count);
        retire_if_empty(caller->groups, group);
    }
    jzx__lock_release(&caller->groups->lock);
    if (known == NULL && err == JZX_OK)
        list_member(caller, member);
    else if (known == NULL)
        free_member(caller->loop, caller->me, member);
    return err;
}

jzx_err jzx_group_monitor(jzx_context *ctx, const char *group, jzx_actor_id *ids, size_t capacity,
                          size_t *count) {
    struct caller caller;
    if (ids == NULL ? capacity != 0 : count == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = begin_named(&caller, ctx, group);
    if (err != JZX_OK)
        return err;
    err = watch_named(&caller, ids, capacity, count);
    jzx__visit_end(&caller.visit);
    return err;
}

/* Under the lock. */
static void unwatch(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__member *member) {
    struct jzx__group *group = member->group;
    member->subscription = 0;
    jzx__list_remove(&member->link);
    group->subscriber_count--;
    free_events(loop, me, &group->spare, group->member_count);
    retire_if_empty(jzx__groups_of(loop), group);
}

jzx_err jzx_group_demonitor(jzx_context *ctx, const char *group) {
    struct caller caller;
    jzx_err err = begin_named(&caller, ctx, group);
    if (err != JZX_OK)
        return err;
    struct jzx__member *member = find_member(&caller);
    if (member == NULL || member->subscription == 0) {
        err = JZX_ERR_NO_SUCH_ACTOR;
    } else {
        jzx__lock_acquire(&caller.groups->lock);
        unwatch(caller.loop, caller.me, member);
        jzx__lock_release(&caller.groups->lock);
        drop_if_unused(&caller, member);
    }
    jzx__visit_end(&caller.visit);
    return err;
}

/* ---- the end of an actor ---- */

void jzx__groups_leave_all(struct jzx__worker *me, struct jzx__actor *actor) {
    JZX_ASSERT_OWNER(me);
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__member *all = jzx__actor_part(actor, JZX__PART_DIRECTORY);
    jzx__cold_set_part(jzx__actor_cold(actor), JZX__PART_DIRECTORY, NULL);
    jzx__lock_acquire(&jzx__groups_of(loop)->lock);
    for (struct jzx__member *member = all; member != NULL; member = member->next) {
        if (member->subscription != 0)
            unwatch(loop, me, member); /* first, so that it is not told of itself */
    }
    for (struct jzx__member *member = all; member != NULL; member = member->next) {
        if (member->joins != 0)
            leave(loop, me, member);
    }
    jzx__lock_release(&jzx__groups_of(loop)->lock);
    while (all != NULL) {
        struct jzx__member *next = all->next;
        free_member(loop, me, all);
        all = next;
    }
}
