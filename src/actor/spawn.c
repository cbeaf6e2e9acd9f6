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
           (opts->name == NULL || strnlen(opts->name, JZX_NAME_MAX + 1) <= JZX_NAME_MAX);
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

static void fill_slot(struct jzx_loop *loop, struct jzx__actor *slot, const jzx_spawn_opts *opts,
                      struct jzx__cold *cold) {
    uint32_t cap = opts->mailbox_cap != 0 ? opts->mailbox_cap : loop->default_mailbox_cap;
    /* relaxed: only late senders of older generations can read it before the slot is open */
    jzx__atomic_store_relaxed(&slot->task.cap, cap);
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&slot->on_full, (uint8_t)opts->on_full);
    slot->task.entry = (void (*)(void))opts->behavior;
    slot->task.arg = opts->state;
    slot->task.cold = cold;
    slot->task.head = NULL;
    slot->task.pending = 0;
    slot->task.easy = cap < JZX__SOFT_LIMIT - 1 ? cap : JZX__SOFT_LIMIT - 1;
    slot->task.scheduled = false;
    slot->task.holds = false;
    slot->task.fresh = true;
    slot->task.queue = JZX__QUEUE_NONE;
    slot->status = JZX_ACTOR_INIT;
    slot->care = JZX__CARE_START | JZX__CARE_ANNOUNCE;
    if (opts->on_full == JZX_FULL_DROP_OLDEST)
        slot->care |= JZX__CARE_DROP_OLDEST;
    slot->daemon = opts->daemon;
    slot->room_waiters = NULL;
}

/* Opens a filled slot: from here on its id reaches it. Returns the id. */
static jzx_actor_id open_slot(struct jzx__actor *slot, uintptr_t owner, uint64_t inbox) {
    /* relaxed: a free slot is ours alone (I6) */
    uint64_t state = jzx__atomic_load_relaxed(&slot->task.state);
    uint32_t generation = jzx__state_generation(state);
    /* relaxed: forgets requests under a guessed id; published by the release below */
    jzx__atomic_store_relaxed(&slot->task.state, jzx__state_make(generation));
    /* relaxed: published by the release below to who gets the token */
    jzx__atomic_store_relaxed(&slot->task.owner, owner);
    /* release: pairs with the acquire of a push that finds no CLOSED; publishes the owner word */
    jzx__atomic_store_release(&slot->task.inbox, inbox);
    return jzx_make_id(generation, slot->task.index);
}

/* On the loop's thread: the actor is ours and ready when it is sent something, or has an init. */
static jzx_actor_id open_local(struct jzx_loop *loop, struct jzx__worker *me,
                               struct jzx__actor *slot, bool has_init) {
    jzx_actor_id id = open_slot(slot, jzx__worker_word(me), 0);
    if (!slot->daemon)
        loop->local_live++;
    jzx__counter_add(&me->counters.spawned, 1);
    jzx__actor_announce(loop, slot);
    if (has_init) {
        jzx__worker_ready(me, &slot->task);
    } else {
        slot->status = JZX_ACTOR_RUNNING;
        slot->care &= (uint8_t)~JZX__CARE_START;
    }
    return id;
}

/* On another thread: handed to the loop's worker, whose entry starts it (I5). */
static jzx_actor_id open_remote(struct jzx_loop *loop, struct jzx__actor *slot) {
    uintptr_t owner = jzx__worker_word(&loop->sched.worker) | JZX__OWNER_OUT;
    if (!slot->daemon) {
        /* relaxed: seen by the loop's thread with the entry that follows */
        jzx__atomic_add_relaxed(&loop->foreign_live, (uint64_t)1);
    }
    jzx_actor_id id = open_slot(slot, owner, JZX__INBOX_TOKEN);
    jzx__task_inject(&slot->task);
    jzx__loop_count(loop, (struct jzx__worker *)NULL, spawned);
    return id;
}

jzx_err jzx_spawn(jzx_loop *loop, const jzx_spawn_opts *opts, jzx_actor_id *id) {
    if (loop == NULL || !opts_are_valid(opts))
        return JZX_ERR_INVALID_ARG;
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    struct jzx__worker *me = jzx__loop_self(loop);
    struct jzx__slot_cache *cache = me != NULL ? &loop->slots : NULL;
    struct jzx__cold *cold = NULL;
    if (needs_cold(opts)) {
        cold = jzx__cold_create(loop, me);
        if (cold == NULL)
            return JZX_ERR_NO_MEMORY;
        fill_cold(cold, opts);
    }
    jzx_err err = JZX_OK;
    struct jzx__actor *slot = jzx__table_acquire(&loop->table, cache, &err);
    if (slot == NULL) {
        if (cold != NULL)
            jzx__sched_free(&loop->sched, me, JZX__COLD_CLASS, cold);
        return err;
    }
    fill_slot(loop, slot, opts, cold);
    jzx_actor_id made =
        me != NULL ? open_local(loop, me, slot, opts->init != NULL) : open_remote(loop, slot);
    if (id != NULL)
        *id = made;
    return JZX_OK;
}
