/* SPDX-License-Identifier: MIT */
/* What an actor looks like, for people and tools: whole for actors of this thread's worker, and for
 * all while the loop does not run; from outside only what other threads may read. */
#include "actor/info.h"

#include "actor/mailbox.h"
#include "actor/part.h"

static size_t list_size_bytes(const struct jzx__node *node) {
    size_t bytes = 0;
    for (; node != NULL; node = node->next)
        bytes += jzx__message_size_bytes((const struct jzx__message *)(const void *)node);
    return bytes;
}

static jzx_actor_status status_of(struct jzx__actor *actor) {
    const uint64_t ends = JZX__WANT_END | JZX__WANT_DRAIN;
    /* relaxed: a picture of the moment */
    if (jzx__atomic_load_relaxed(&actor->task.state) & ends)
        return JZX_ACTOR_STOPPING;
    return (jzx_actor_status)actor->task.status;
}

static jzx_activity activity_of(const struct jzx__actor *actor) {
    switch (actor->task.place) {
    case JZX__IDLE:
    case JZX__NEW:
    case JZX__ASIDE: return JZX_ACTIVITY_IDLE;
    case JZX__RUNNING:
        return jzx__actor_is_ending(actor) ? JZX_ACTIVITY_COMPLETE : JZX_ACTIVITY_RUNNING;
    case JZX__AWAY: return JZX_ACTIVITY_BLOCKED;
    case JZX__ENDING: return JZX_ACTIVITY_COMPLETE;
    default: return JZX_ACTIVITY_READY;
    }
}

static uint32_t current_tag(const struct jzx__worker *worker, const struct jzx__actor *actor) {
    /* relaxed, all: the worker is this thread's, or at rest */
    struct jzx__seat *seat = jzx__atomic_load_relaxed(&worker->seat);
    if (seat == NULL || jzx__atomic_load_relaxed(&seat->task) != &actor->task)
        return 0;
    /* relaxed: as above */
    return jzx__atomic_load_relaxed(&seat->tag);
}

static size_t part_size_bytes(const struct jzx_loop *loop, const struct jzx__cold *cold,
                              enum jzx__part part) {
    const void *record = jzx__cold_part(cold, part);
    const struct jzx__part_ops *ops = loop->part_ops[part];
    return record == NULL || ops->size_bytes == NULL ? 0 : ops->size_bytes(record);
}

/* The part in the cold record. Stash and parts belong to a turn that went on without its worker. */
static void fill_cold(const struct jzx_loop *loop, const struct jzx__actor *actor,
                      jzx_actor_info *info) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    if (cold == NULL)
        return;
    info->memory_bytes += jzx__slab_class_size(JZX__COLD_CLASS);
    info->steps = cold->steps;
    info->started_ns = cold->started_ns;
    info->parent = cold->parent;
    if (actor->task.place != JZX__AWAY) {
        info->stashed = cold->stash_count;
        info->memory_bytes += list_size_bytes(cold->stash_first);
        for (uint32_t i = 0; i < JZX__PART_COUNT; i++)
            info->memory_bytes += part_size_bytes(loop, cold, (enum jzx__part)i);
    }
}

/* An actor of a worker that is this thread's, or at rest. */
static void fill(struct jzx__worker *worker, struct jzx__actor *actor, jzx_actor_info *info) {
    uint32_t in_inbox = jzx__inbox_count(jzx__task_inbox(&actor->task));
    *info = (jzx_actor_info){.size = sizeof *info};
    info->id = jzx__actor_id(actor);
    info->status = status_of(actor);
    info->activity = activity_of(actor);
    info->priority = (jzx_priority)(actor->task.rank + JZX_PRIORITY_CRITICAL);
    info->worker = worker->index;
    info->daemon = actor->task.daemon;
    info->depth = actor->task.pending + in_inbox;
    info->mailbox_cap = jzx__actor_cap(actor);
    info->current_tag = current_tag(worker, actor);
    info->memory_bytes =
        sizeof *actor + list_size_bytes(actor->task.head) + (size_t)in_inbox * JZX__BLOCK_SIZE_MIN;
    jzx__name_read(actor, info->name);
    fill_cold(jzx__loop_of(worker), actor, info);
}

bool jzx__actor_glance(struct jzx__actor *actor, jzx_actor_info *info) {
    /* acquire: pairs with the release that makes an id stale */
    jzx_actor_id id = jzx__atomic_load_acquire(&actor->task.id);
    uint64_t word = jzx__task_inbox(&actor->task);
    /* relaxed: a picture of the moment */
    uintptr_t owner = jzx__atomic_load_relaxed(&actor->task.owner);
    if (owner & JZX__OWNER_GONE)
        return false;
    const struct jzx__worker *worker = (const void *)(owner & ~JZX__OWNER_FLAGS);
    *info = (jzx_actor_info){.size = sizeof *info,
                             .id = id,
                             .is_partial = true,
                             .status = worker == NULL ? JZX_ACTOR_INIT : JZX_ACTOR_RUNNING,
                             .worker = worker == NULL ? JZX_NONE : worker->index,
                             .depth = jzx__inbox_count(word),
                             .mailbox_cap = jzx__actor_cap(actor),
                             .memory_bytes = sizeof *actor};
    jzx__name_read(actor, info->name);
    /* acquire: pairs with the release that makes an id stale; the name was its own */
    return jzx__atomic_load_acquire(&actor->task.id) == id;
}

/* False if the slot has no living actor. */
static bool show(const struct jzx__drive *drive, struct jzx__actor *actor, jzx_actor_info *info) {
    /* relaxed: only this thread makes it one of its workers, or the others are at rest */
    uintptr_t owner = jzx__atomic_load_relaxed(&actor->task.owner);
    struct jzx__worker *worker = (struct jzx__worker *)owner;
    bool is_mine = drive->nested ? worker == drive->me : (owner & JZX__OWNER_FLAGS) == 0;
    if (!is_mine)
        return jzx__actor_glance(actor, info);
    fill(worker, actor, info);
    return true;
}

static jzx_err fill_by_id(struct jzx_loop *loop, const struct jzx__drive *drive, jzx_actor_id id,
                          jzx_actor_info *info) {
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, id);
    const struct jzx__turn *turn = jzx__seat_of_thread->cleanup;
    if (actor != NULL)
        return show(drive, actor, info) ? JZX_OK : jzx__mailbox_gone(loop);
    if (turn == NULL || turn->ctx.self != id)
        return jzx__mailbox_gone(loop);
    fill(drive->me, turn->actor, info); /* it asks from its own cleanup */
    info->id = id;
    return JZX_OK;
}

/* Becomes the driving thread and, from outside, takes in what other threads have made. */
static jzx_err enter(struct jzx_loop *loop, struct jzx__drive *drive) {
    if (!jzx__loop_enter(loop, drive))
        return JZX_ERR_ACTOR_NOT_LOCAL;
    if (!drive->nested)
        jzx__loop_take_in_all(loop, drive->seat);
    return JZX_OK;
}

jzx_err jzx_actor_info_get(jzx_loop *loop, jzx_actor_id id, jzx_actor_info *info) {
    if (loop == NULL || info == NULL || info->size != sizeof *info)
        return JZX_ERR_INVALID_ARG;
    struct jzx__drive drive;
    jzx_err err = enter(loop, &drive);
    if (err != JZX_OK)
        return err;
    err = fill_by_id(loop, &drive, id, info);
    jzx__loop_leave(loop, &drive);
    return err;
}

jzx_err jzx_actor_next(jzx_loop *loop, uint64_t *cursor, jzx_actor_info *info) {
    if (loop == NULL || cursor == NULL || info == NULL || info->size != sizeof *info)
        return JZX_ERR_INVALID_ARG;
    struct jzx__drive drive;
    jzx_err err = enter(loop, &drive);
    if (err != JZX_OK)
        return err;
    err = JZX_ERR_NO_SUCH_ACTOR;
    /* acquire: pairs with the release in mint */
    uint64_t minted = jzx__atomic_load_acquire(&loop->table.minted);
    for (; err != JZX_OK && *cursor < minted; ++*cursor) {
        struct jzx__actor *actor = jzx__table_slot(&loop->table, (uint32_t)*cursor);
        if (show(&drive, actor, info))
            err = JZX_OK;
    }
    jzx__loop_leave(loop, &drive);
    return err;
}
