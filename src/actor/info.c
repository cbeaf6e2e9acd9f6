/* SPDX-License-Identifier: MIT */
/* What an actor looks like, for people and tools. Looks only at what the driving thread owns. */
#include "actor/mailbox.h"

#include <string.h>

static size_t list_size_bytes(const struct jzx__node *node) {
    size_t bytes = 0;
    for (; node != NULL; node = node->next)
        bytes += jzx__message_size_bytes((const struct jzx__message *)(const void *)node);
    return bytes;
}

static jzx_actor_status status_of(struct jzx__actor *actor) {
    const uint64_t ends = JZX__WANT_KILL | JZX__WANT_FAIL | JZX__WANT_STOP | JZX__WANT_DRAIN;
    /* relaxed: a picture of the moment */
    if (jzx__atomic_load_relaxed(&actor->task.state) & ends)
        return JZX_ACTOR_STOPPING;
    return (jzx_actor_status)actor->task.status;
}

static void fill(struct jzx__worker *me, struct jzx__actor *actor, jzx_actor_info *info) {
    const struct jzx__cold *cold = actor->task.cold;
    const struct jzx__turn *turn = me->turn;
    uint32_t in_inbox = jzx__inbox_count(jzx__task_inbox(&actor->task));
    *info = (jzx_actor_info){.size = sizeof *info};
    info->id = jzx__actor_id(actor);
    info->status = status_of(actor);
    info->daemon = actor->task.daemon;
    info->depth = actor->task.pending + in_inbox;
    info->mailbox_cap = jzx__actor_cap(actor);
    info->current_tag = turn != NULL && turn->actor == actor ? turn->current_tag : 0;
    info->memory_bytes =
        sizeof *actor + list_size_bytes(actor->task.head) + (size_t)in_inbox * JZX__BLOCK_SIZE_MIN;
    if (cold != NULL) {
        memcpy(info->name, cold->name, sizeof info->name);
        info->stashed = cold->stash_count;
        info->memory_bytes +=
            jzx__slab_class_size(JZX__COLD_CLASS) + list_size_bytes(cold->stash_first);
    }
}

/* False if the slot has no living actor. */
static bool show(struct jzx_loop *loop, struct jzx__actor *actor, jzx_actor_info *info) {
    struct jzx__worker *me = &loop->sched.worker;
    if (jzx__worker_owns(me, &actor->task)) {
        fill(me, actor, info);
        return true;
    }
    if (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED)
        return false;
    /* Spawned by another thread and not taken in yet: there is nothing to see but that it lives. */
    *info = (jzx_actor_info){.size = sizeof *info, .status = JZX_ACTOR_INIT};
    info->id = jzx__actor_id(actor);
    info->mailbox_cap = jzx__actor_cap(actor);
    info->memory_bytes = sizeof *actor;
    return true;
}

static jzx_err fill_by_id(struct jzx_loop *loop, jzx_actor_id id, jzx_actor_info *info) {
    struct jzx__worker *me = &loop->sched.worker;
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, id);
    const struct jzx__turn *turn = me->turn;
    if (actor != NULL)
        return show(loop, actor, info) ? JZX_OK : jzx__mailbox_gone(loop);
    if (turn == NULL || turn->ctx.self != id)
        return jzx__mailbox_gone(loop);
    fill(me, turn->actor, info); /* it asks from its own cleanup */
    info->id = id;
    return JZX_OK;
}

/* Becomes the driving thread and, from outside, takes in what other threads have made. */
static jzx_err enter(struct jzx_loop *loop, struct jzx__drive *drive) {
    if (!jzx__loop_enter(loop, drive))
        return JZX_ERR_ACTOR_NOT_LOCAL;
    if (!drive->nested)
        jzx__worker_drain_inject(&loop->sched.worker, UINT32_MAX);
    return JZX_OK;
}

jzx_err jzx_actor_info_get(jzx_loop *loop, jzx_actor_id id, jzx_actor_info *info) {
    if (loop == NULL || info == NULL || info->size != sizeof *info)
        return JZX_ERR_INVALID_ARG;
    struct jzx__drive drive;
    jzx_err err = enter(loop, &drive);
    if (err != JZX_OK)
        return err;
    err = fill_by_id(loop, id, info);
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
        if (show(loop, actor, info))
            err = JZX_OK;
    }
    jzx__loop_leave(loop, &drive);
    return err;
}
