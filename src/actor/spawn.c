/* SPDX-License-Identifier: MIT */
/* Making actors: checking the options, filling a slot, opening it (R13). */
#include "actor/mailbox.h"

#include <string.h>

void jzx_spawn_opts_init(jzx_spawn_opts *opts) {
    if (opts != NULL)
        *opts = JZX_SPAWN_OPTS();
}

static bool opts_are_valid(const jzx_spawn_opts *opts) {
    return opts != NULL && opts->size == sizeof *opts && opts->behavior != NULL &&
           opts->mailbox_cap <= JZX_MAILBOX_CAP_MAX &&
           (opts->stash_cap <= JZX_MAILBOX_CAP_MAX || opts->stash_cap == JZX_NONE) &&
           (unsigned)opts->on_full <= JZX_FULL_DROP_NEW &&
           (JZX_LIKELY(opts->name == NULL) ||
            strnlen(opts->name, JZX_NAME_MAX + 1) <= JZX_NAME_MAX);
}

static bool needs_cold(const jzx_spawn_opts *opts) {
    return opts->name != NULL || opts->init != NULL || opts->cleanup != NULL ||
           opts->stash_cap != 0;
}

struct jzx__cold *jzx__cold_create(struct jzx_loop *loop, struct jzx__worker *me) {
    struct jzx__cold *cold = jzx__sched_alloc(&loop->sched, me, JZX__COLD_CLASS);
    if (cold != NULL) {
        memset(cold, 0, sizeof *cold);
        cold->stash_cap = JZX_DEFAULT_STASH_CAP;
    }
    return cold;
}

static void fill_cold(struct jzx__cold *cold, const jzx_spawn_opts *opts) {
    cold->init = opts->init;
    cold->cleanup = opts->cleanup;
    if (opts->stash_cap != 0)
        cold->stash_cap = opts->stash_cap == JZX_NONE ? 0 : opts->stash_cap;
    if (opts->name != NULL)
        memcpy(cold->name, opts->name, strlen(opts->name) + 1);
}

/* care is what the first turn must look at, beside what the options ask for. */
JZX_INLINE void fill_slot(struct jzx_loop *loop, struct jzx__actor *slot,
                          const jzx_spawn_opts *opts, struct jzx__cold *cold,
                          jzx_actor_status status, uint8_t care) {
    uint32_t cap = opts->mailbox_cap != 0 ? opts->mailbox_cap : loop->default_mailbox_cap;
    struct jzx__task *task = &slot->task;
    /* relaxed, both: only late senders of older generations can read them before the slot is open
     */
    jzx__atomic_store_relaxed(&task->cap, cap);
    jzx__atomic_store_relaxed(&task->on_full, (uint8_t)opts->on_full);
    task->entry = (void (*)(void))opts->behavior;
    task->arg = opts->state;
    task->head = NULL;
    task->tail = &task->head;
    task->pending = 0;
    task->easy = cap < JZX__SOFT_LIMIT - 1 ? cap : JZX__SOFT_LIMIT - 1;
    task->place = JZX__NEW;
    task->holds = false;
    task->status = (uint8_t)status;
    task->care = opts->on_full == JZX_FULL_DROP_OLDEST ? care | JZX__CARE_DROP_OLDEST : care;
    task->daemon = opts->daemon;
    slot->task.cold = cold;
    slot->task.waiters = NULL;
}

/* Opens a filled slot: from here on its id reaches it. Returns the id. */
static inline jzx_actor_id open_slot(struct jzx__actor *slot, uintptr_t owner, uint64_t inbox) {
    jzx_actor_id id = jzx__actor_id(slot); /* a free slot is ours alone (I6) */
    /* relaxed: forgets requests under a guessed id; published by the release below */
    jzx__atomic_store_relaxed(&slot->task.state, jzx__state_make(jzx_id_generation(id)));
    /* relaxed: published by the release below to who gets the token */
    jzx__atomic_store_relaxed(&slot->task.owner, owner);
    /* release: pairs with the acquire of a push that finds no CLOSED; publishes the owner word */
    jzx__atomic_store_release(&slot->task.inbox, inbox);
    return id;
}

/* On the loop's thread: the actor is ours, and ready when it is sent something or has an init. */
JZX_INLINE jzx_actor_id open_local(struct jzx_loop *loop, struct jzx__worker *me,
                                   struct jzx__actor *slot, const jzx_spawn_opts *opts,
                                   struct jzx__cold *cold) {
    if (opts->init != NULL)
        fill_slot(loop, slot, opts, cold, JZX_ACTOR_INIT, JZX__CARE_START | JZX__CARE_ANNOUNCE);
    else
        fill_slot(loop, slot, opts, cold, JZX_ACTOR_RUNNING, JZX__CARE_ANNOUNCE);
    jzx_actor_id id = open_slot(slot, jzx__worker_word(me), 0);
    if (!opts->daemon)
        loop->local_live++;
    jzx__counter_add(&me->counters.spawned, 1);
    if (JZX_UNLIKELY(jzx__observer_is_set(&loop->observer)))
        jzx__actor_announce(loop, slot);
    slot->task.care &= (uint8_t)~JZX__CARE_ANNOUNCE;
    if (opts->init != NULL)
        jzx__worker_ready(me, &slot->task);
    return id;
}

/* On another thread: handed to the loop's worker, whose entry starts it (I5). */
static jzx_actor_id open_remote(struct jzx_loop *loop, struct jzx__actor *slot,
                                const jzx_spawn_opts *opts, struct jzx__cold *cold) {
    uintptr_t owner = jzx__worker_word(&loop->sched.worker) | JZX__OWNER_OUT;
    fill_slot(loop, slot, opts, cold, JZX_ACTOR_INIT, JZX__CARE_START | JZX__CARE_ANNOUNCE);
    if (!opts->daemon) {
        /* relaxed: seen by the loop's thread with the entry that follows */
        jzx__atomic_add_relaxed(&loop->foreign_live, (uint64_t)1);
    }
    jzx_actor_id id = open_slot(slot, owner, JZX__INBOX_TOKEN);
    jzx__task_inject(&slot->task);
    jzx__loop_count(loop, (struct jzx__worker *)NULL, spawned);
    return id;
}

/* Every spawn that is not the common case: other threads, names, hooks, observers, errors. */
static JZX_COLD jzx_err spawn_any(struct jzx_loop *loop, const jzx_spawn_opts *opts,
                                  jzx_actor_id *id) {
    if (loop == NULL || !opts_are_valid(opts))
        return JZX_ERR_INVALID_ARG;
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    struct jzx__worker *me = jzx__loop_self(loop);
    struct jzx__cold *cold = NULL;
    if (needs_cold(opts)) {
        cold = jzx__cold_create(loop, me);
        if (cold == NULL)
            return JZX_ERR_NO_MEMORY;
        fill_cold(cold, opts);
    }
    jzx_err err = JZX_OK;
    struct jzx__actor *slot =
        jzx__table_acquire(&loop->table, me != NULL ? &loop->slots : NULL, &err);
    if (slot == NULL) {
        if (cold != NULL)
            jzx__sched_free(&loop->sched, me, JZX__COLD_CLASS, cold);
        return err;
    }
    jzx_actor_id made =
        me != NULL ? open_local(loop, me, slot, opts, cold) : open_remote(loop, slot, opts, cold);
    if (id != NULL)
        *id = made;
    return JZX_OK;
}

/* Valid options that ask for nothing beyond the 128 bytes of the slot. */
static inline bool opts_are_plain(const jzx_spawn_opts *opts) {
    uintptr_t extras = (uintptr_t)opts->name | (uintptr_t)opts->init | (uintptr_t)opts->cleanup |
                       opts->stash_cap | (uintptr_t)opts->on_full;
    return opts->size == sizeof *opts && extras == 0 && opts->behavior != NULL &&
           opts->mailbox_cap <= JZX_MAILBOX_CAP_MAX;
}

/* The common case decides everything before it changes anything, as jzx_send does. */
jzx_err jzx_spawn(jzx_loop *loop, const jzx_spawn_opts *opts, jzx_actor_id *id) {
    if (JZX_UNLIKELY(loop == NULL || opts == NULL || !opts_are_plain(opts)))
        return spawn_any(loop, opts, id);
    struct jzx__worker *me = jzx__loop_self(loop);
    if (JZX_UNLIKELY(me == NULL || loop->slots.count == 0 || jzx__sched_is_stopped(&loop->sched) ||
                     jzx__observer_is_set(&loop->observer)))
        return spawn_any(loop, opts, id);
    struct jzx__actor *slot = loop->slots.slots[--loop->slots.count];
    fill_slot(loop, slot, opts, NULL, JZX_ACTOR_RUNNING, 0);
    jzx_actor_id made = open_slot(slot, jzx__worker_word(me), 0);
    if (!opts->daemon)
        loop->local_live++;
    jzx__counter_add(&me->counters.spawned, 1);
    if (id != NULL)
        *id = made;
    return JZX_OK;
}
