/* SPDX-License-Identifier: MIT */
/* Making actors: checking the options, filling a slot, opening it (R13). */
#include "actor/spawn.h"

#include "actor/announce.h"
#include "actor/kind.h"
#include "actor/mailbox.h"
#include "actor/part.h"
#include "actor/trap.h"
#include "base/sized.h"

#include "jzx/context.h"
#include "jzx/process.h"

#include <stddef.h>
#include <string.h>

jzx_err jzx_spawn_opts_init(jzx_spawn_opts *opts, size_t size) {
    const jzx_spawn_opts full = JZX_SPAWN_OPTS();
    return jzx__init_sized(opts, size, &full, sizeof full) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

/* Not 0 if it is for a process. */
static inline uintptr_t process_of(const jzx_spawn_opts *opts) {
    return (uintptr_t)opts->process | (uintptr_t)opts->method | (uintptr_t)opts->input |
           opts->input_len;
}

bool jzx__stack_size_is_valid(jzx_fiber_fn fiber, uint32_t size_bytes) {
    return size_bytes == 0 ||
           (fiber != NULL && size_bytes >= JZX_STACK_SIZE_MIN && size_bytes <= JZX_STACK_SIZE_MAX);
}

bool jzx__process_fits(const jzx_process_ops *ops, const char *method, const void *input,
                       size_t len) {
    if (ops == NULL)
        return method == NULL && input == NULL && len == 0;
    return ops->size == sizeof *ops && ops->step != NULL && (input != NULL || len == 0) &&
           len <= JZX_MSG_LEN_MAX;
}

/* A behaviour, a type, or a fiber or a process with what belongs to one. */
static bool kind_is_valid(const jzx_spawn_opts *opts) {
    int kinds = (opts->behavior != NULL) + (opts->fiber != NULL) + (opts->type != NULL) +
                (opts->process != NULL);
    return kinds == 1 &&
           jzx__process_fits(opts->process, opts->method, opts->input, opts->input_len) &&
           (opts->process == NULL || (opts->init == NULL && opts->cleanup == NULL)) &&
           jzx__stack_size_is_valid(opts->fiber, opts->stack_size_bytes) &&
           (opts->fiber != NULL ? !opts->migratable || !opts->thread_bound
                                : !opts->migratable && !opts->thread_bound);
}

static bool opts_are_valid(const jzx_spawn_opts *opts) {
    return opts != NULL && opts->size == sizeof *opts && kind_is_valid(opts) &&
           opts->mailbox_cap <= JZX_MAILBOX_CAP_MAX &&
           (opts->stash_cap <= JZX_MAILBOX_CAP_MAX || opts->stash_cap == JZX_NONE) &&
           (unsigned)opts->on_full <= JZX_FULL_DROP_NEW && opts->priority <= JZX_PRIORITY_LOW &&
           (JZX_LIKELY(opts->name == NULL) ||
            strnlen(opts->name, JZX_NAME_MAX + 1) <= JZX_NAME_MAX);
}

static bool needs_cold(const jzx_spawn_opts *opts) {
    return opts->name != NULL || opts->init != NULL || opts->cleanup != NULL ||
           opts->stash_cap != 0 || opts->account || opts->on_full == JZX_FULL_DROP_OLDEST ||
           opts->fiber != NULL || opts->type != NULL || opts->process != NULL || opts->trap_stop;
}

static void fill_cold(struct jzx_loop *loop, struct jzx__cold *cold, const jzx_spawn_opts *opts) {
    cold->init = opts->init;
    cold->cleanup = opts->cleanup;
    if (opts->stash_cap != 0)
        cold->stash_cap = opts->stash_cap == JZX_NONE ? 0 : opts->stash_cap;
    if (opts->name != NULL)
        jzx__name_write(cold, opts->name);
    cold->accounts = opts->account;
    if (opts->fiber != NULL) {
        cold->kind = JZX__KIND_FIBER;
        cold->is_migratable = opts->migratable;
        cold->is_thread_bound = opts->thread_bound || opts->place == JZX_PLACE_CALLER;
        /* relaxed: nobody can see the actor yet */
        jzx__atomic_store_relaxed(&cold->bound, opts->mailbox_cap != 0 ? opts->mailbox_cap
                                                                       : loop->default_mailbox_cap);
        cold->stack_size_bytes =
            opts->stack_size_bytes != 0 ? opts->stack_size_bytes : JZX_DEFAULT_STACK_SIZE;
    }
    if (opts->process != NULL)
        cold->kind = JZX__KIND_PROCESS;
    if (opts->account) {
        cold->started_ns = jzx__clock_now(&loop->sched.clock);
        cold->parent = jzx_current_actor();
    }
}

static enum jzx__rank rank_of(const jzx_spawn_opts *opts) {
    return opts->priority == JZX_PRIORITY_DEFAULT
               ? JZX__NORMAL
               : (enum jzx__rank)(opts->priority - JZX_PRIORITY_CRITICAL);
}

static enum jzx__bound bound_of(const jzx_spawn_opts *opts) {
    if (opts->place == JZX_PLACE_ANY)
        return JZX__FREE;
    return opts->place == JZX_PLACE_CALLER ? JZX__BOUND_CALLER : JZX__BOUND_WORKER;
}

/* What most actors do not have. */
static void fill_extras(const struct jzx_loop *loop, struct jzx__task *task,
                        const jzx_spawn_opts *opts) {
    task->rank = (uint8_t)rank_of(opts);
    task->bound = (uint8_t)bound_of(opts);
    if (task->rank != JZX__NORMAL || task->bound == JZX__BOUND_CALLER) {
        jzx__task_set_rest(task, JZX__ASIDE);
        task->place = JZX__ASIDE;
    }
    if (opts->on_full == JZX_FULL_DROP_OLDEST)
        task->care |= JZX__CARE_DROP_OLDEST;
    if (opts->account)
        task->care |= JZX__CARE_HEAD;
    if (opts->fiber != NULL) {
        task->entry = (void (*)(void))opts->fiber;
        task->care |= JZX__CARE_KIND;
    }
    if (opts->process != NULL) {
        task->entry = (void (*)(void))opts->process->step; /* any but NULL: the actor lives */
        task->care |= JZX__CARE_KIND;
    }
    if (JZX_UNLIKELY(loop->sched.restless))
        task->care |= JZX__CARE_MOVE;
}

/* care is what the first turn must look at, beside what the options ask for. */
JZX_INLINE void fill_slot(struct jzx_loop *loop, struct jzx__actor *slot,
                          const jzx_spawn_opts *opts, struct jzx__cold *cold,
                          jzx_actor_status status, uint16_t care) {
    uint32_t cap = opts->mailbox_cap != 0 ? opts->mailbox_cap : loop->default_mailbox_cap;
    struct jzx__task *task = &slot->task;
    /* relaxed: only late senders of older generations can read it before the slot is open */
    jzx__atomic_store_relaxed(&task->cap, cap);
    /* release: pairs with the acquire in deliver_remote; a late sender that reads it sees that its
     * id is stale */
    jzx__atomic_store_release(&task->on_full, (uint8_t)opts->on_full);
    task->entry = (void (*)(void))opts->behavior;
    task->arg = opts->state;
    task->head = NULL;
    task->pending = 0;
    task->easy = jzx__task_easy(cap);
    task->place = JZX__NEW; /* eight bytes in a row, which the compiler writes at once */
    task->holds = false;
    task->care = care;
    task->stays = 0;
    task->rest = JZX__IDLE;
    task->status = status & 0xF;
    task->heat = 0;
    task->bulk = 0;
    task->bound = JZX__FREE;
    task->rank = JZX__NORMAL;
    task->daemon = opts->daemon;
    task->waiters = NULL;
    jzx__actor_set_cold(slot, cold);
}

/* Opens a filled slot: from here on its id reaches it. Returns the id. */
static inline jzx_actor_id open_slot(struct jzx__actor *slot, uintptr_t owner, uint64_t inbox) {
    jzx_actor_id id = jzx__actor_id(slot); /* a free slot is ours alone (I6) */
    /* relaxed: forgets requests under a guessed id; published by the release below */
    jzx__atomic_store_relaxed(&slot->task.state, jzx__state_make(jzx_id_generation(id)));
    /* release: pairs with the acquire in jzx__actor_glance, which may see it before the inbox. The
     * release below publishes it to who gets the token */
    jzx__atomic_store_release(&slot->task.owner, owner);
    /* release: pairs with the acquire of a push that finds no CLOSED; publishes the owner word */
    jzx__atomic_store_release(&slot->task.inbox, inbox);
    return id;
}

/* The mail of a predecessor is its own from here on, and a kind that its options cannot name. */
static void inherit(struct jzx__actor *slot, const struct jzx__bonds *bonds) {
    uint32_t generation = jzx_id_generation(jzx__actor_id(slot));
    struct jzx__node *mail = bonds == NULL ? NULL : bonds->mail;
    if (bonds != NULL && bonds->keeps_mail) {
        uint8_t policy = (uint8_t)((uint32_t)jzx__actor_on_full(slot) | JZX__KEEPS_MAIL);
        /* release: pairs with the acquire in deliver_remote, as in fill_slot */
        jzx__atomic_store_release(&slot->task.on_full, policy);
    }
    if (bonds != NULL && bonds->kind != JZX__KIND_BEHAVIOR)
        slot->task.care |= JZX__CARE_KIND;
    while (mail != NULL) {
        struct jzx__node *node = mail;
        mail = node->next;
        node->generation = generation;
        jzx__task_append(&slot->task, node, node->weight);
    }
}

/* The actor can be sent to, and cannot begin yet. */
static inline void tell_before(const struct jzx__bonds *bonds, jzx_actor_id id) {
    if (bonds != NULL && bonds->before != NULL)
        bonds->before(bonds->before_arg, id);
}

/* On the loop's thread: the actor is ours, and ready when it is sent something or has an init. */
JZX_INLINE jzx_actor_id open_local(struct jzx_loop *loop, struct jzx__worker *me,
                                   struct jzx__actor *slot, const jzx_spawn_opts *opts,
                                   struct jzx__cold *cold, const struct jzx__bonds *bonds) {
    struct jzx__node *mail = bonds == NULL ? NULL : bonds->mail;
    if (cold != NULL && cold->init != NULL)
        fill_slot(loop, slot, opts, cold, JZX_ACTOR_INIT, JZX__CARE_START | JZX__CARE_ANNOUNCE);
    else
        fill_slot(loop, slot, opts, cold, JZX_ACTOR_RUNNING, JZX__CARE_ANNOUNCE);
    fill_extras(loop, &slot->task, opts);
    inherit(slot, bonds);
    jzx__worker_count_spawned(me, opts->daemon);
    jzx_actor_id id = open_slot(slot, jzx__worker_word(me), 0);
    tell_before(bonds, id);
    if (JZX_UNLIKELY(jzx__observer_is_set(&loop->observer)))
        jzx__actor_announce(loop, slot);
    slot->task.care &= (uint16_t)~JZX__CARE_ANNOUNCE;
    if ((cold != NULL && cold->init != NULL) || mail != NULL || (slot->task.care & JZX__CARE_KIND))
        jzx__worker_ready(me, &slot->task);
    return id;
}

/* The worker that the actor is bound to, or NULL if any will do. */
static struct jzx__worker *target_of(const struct jzx_loop *loop, const jzx_spawn_opts *opts) {
    switch (bound_of(opts)) {
    case JZX__FREE: return NULL;
    case JZX__BOUND_CALLER: return loop->sched.workers[0];
    case JZX__BOUND_WORKER: break;
    }
    return loop->sched.workers[opts->place - JZX_PLACE_WORKER(0)];
}

/* On a thread that will not own it: handed to the worker that it is bound to, whose entry starts
 * it, or put into the global queue (I5). */
static jzx_actor_id open_elsewhere(struct jzx_loop *loop, struct jzx__worker *me,
                                   struct jzx__actor *slot, const jzx_spawn_opts *opts,
                                   struct jzx__cold *cold, const struct jzx__bonds *bonds) {
    struct jzx__worker *target = target_of(loop, opts);
    struct jzx__task *task = &slot->task;
    fill_slot(loop, slot, opts, cold, JZX_ACTOR_INIT, JZX__CARE_START | JZX__CARE_ANNOUNCE);
    fill_extras(loop, task, opts);
    inherit(slot, bonds);
    if (me != NULL) {
        jzx__worker_count_spawned(me, opts->daemon);
    } else { /* in this order, see jzx__sched_live */
        struct jzx__counters *counters = &jzx__sched_foreign(&loop->sched)->counters;
        jzx__counter_add_shared(&counters->spawned, 1);
        if (opts->daemon)
            jzx__counter_add_shared(&counters->daemons_spawned, 1);
    }
    if (target == NULL) {
        task->holds = true;
        task->place = JZX__OFFERED;
    }
    jzx_actor_id id = open_slot(slot, jzx__worker_word(target) | JZX__OWNER_OUT, JZX__INBOX_TOKEN);
    tell_before(bonds, id);
    if (target == NULL)
        jzx__sched_submit(&loop->sched, task);
    else
        jzx__task_inject(task, me);
    return id;
}

static bool is_local(const struct jzx_loop *loop, const struct jzx__worker *me,
                     const jzx_spawn_opts *opts) {
    return me != NULL && (opts->place == JZX_PLACE_ANY || target_of(loop, opts) == me);
}

static bool place_exists(const struct jzx_loop *loop, const jzx_spawn_opts *opts) {
    return opts->place == JZX_PLACE_CALLER || opts->place <= loop->sched.worker_count;
}

static void fill_bonds(struct jzx__cold *cold, const struct jzx__bonds *bonds, jzx_actor_id id) {
    if (bonds->ops != NULL)
        bonds->ops->tie(cold, bonds, id);
    cold->keeps_mail = bonds->keeps_mail;
    cold->is_child = bonds->is_child;
    cold->is_super = bonds->is_super;
    if (bonds->kind != JZX__KIND_BEHAVIOR)
        cold->kind = bonds->kind;
    cold->traps_exits = bonds->is_super; /* who links itself to it does not take the tree down */
    cold->stop_note = bonds->stop_note;
    cold->started_note = bonds->started_note;
}

/* Of an actor that is not made after all. NULL is fine. */
static void destroy_cold(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold) {
    const struct jzx__kind_ops *kind = cold == NULL ? NULL : jzx__kinds[cold->kind];
    if (kind != NULL && kind->unmake != NULL)
        kind->unmake(loop, cold);
    if (cold != NULL)
        jzx__trap_destroy(loop, me, cold->trap);
    jzx__cold_destroy(loop, me, cold);
}

/* What its kind, and the trap of its stops, need. False without memory. */
static bool make_kind(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold,
                      const jzx_spawn_opts *opts, const struct jzx__bonds *bonds) {
    const struct jzx__kind_ops *kind = jzx__kinds[cold->kind];
    if (opts->trap_stop || opts->process != NULL) {
        cold->trap = jzx__trap_create(loop, me, bonds == NULL ? 0 : bonds->stop_grace_ns);
        if (cold->trap == NULL)
            return false;
    }
    return kind == NULL || kind->make == NULL || kind->make(loop, cold, opts);
}

/* A cold record for an actor that needs one, in *cold; false without memory. */
static bool make_cold(struct jzx_loop *loop, struct jzx__worker *me, const jzx_spawn_opts *opts,
                      const struct jzx__bonds *bonds, struct jzx__cold **cold) {
    *cold = NULL;
    if (bonds == NULL && !needs_cold(opts))
        return true;
    *cold = jzx__cold_create(loop, me);
    if (*cold == NULL)
        return false;
    fill_cold(loop, *cold, opts);
    if (make_kind(loop, me, *cold, opts, bonds) &&
        (bonds == NULL || bonds->ops == NULL || bonds->ops->prepare(loop, me, *cold)))
        return true;
    destroy_cold(loop, me, *cold);
    return false;
}

/* Of an actor that has a type: the part of types knows it from here on. */
static void settle_type(const struct jzx_loop *loop, struct jzx__cold *cold, void *record,
                        jzx_actor_id id) {
    jzx__cold_set_part(cold, JZX__PART_TYPED, record);
    loop->part_ops[JZX__PART_TYPED]->settle(record, id);
}

/* bonds may be NULL; outfit is that of a type, or NULL. */
static jzx_err spawn_inside(struct jzx_loop *loop, struct jzx__worker *me,
                            const jzx_spawn_opts *opts, const struct jzx__bonds *bonds,
                            void *outfit, jzx_actor_id *id) {
    struct jzx__cold *cold;
    if (!make_cold(loop, me, opts, bonds, &cold))
        return JZX_ERR_NO_MEMORY;
    jzx_err err = JZX_OK;
    struct jzx__actor *slot =
        jzx__table_acquire(&loop->table, me != NULL ? jzx__slots_of(me) : NULL, &err);
    if (slot == NULL) {
        destroy_cold(loop, me, cold);
        return err;
    }
    if (bonds != NULL)
        fill_bonds(cold, bonds, jzx__actor_id(slot));
    if (outfit != NULL)
        settle_type(loop, cold, outfit, jzx__actor_id(slot));
    jzx_actor_id made = is_local(loop, me, opts)
                            ? open_local(loop, me, slot, opts, cold, bonds)
                            : open_elsewhere(loop, me, slot, opts, cold, bonds);
    if (id != NULL)
        *id = made;
    return JZX_OK;
}

/* The part of types fills in what the type stands for, and makes the state. */
static jzx_err spawn_typed(struct jzx_loop *loop, struct jzx__worker *me,
                           const jzx_spawn_opts *opts, const struct jzx__bonds *bonds,
                           jzx_actor_id *id) {
    const struct jzx__part_ops *ops = loop->part_ops[JZX__PART_TYPED];
    jzx_spawn_opts full = *opts;
    void *record;
    jzx_err err = ops->outfit(loop, &full, bonds == NULL ? NULL : bonds->source, &record);
    if (err != JZX_OK)
        return err;
    err = spawn_inside(loop, me, &full, bonds, record, id);
    if (err != JZX_OK)
        ops->release(loop, me, record);
    return err;
}

jzx_err jzx__spawn_bound(struct jzx_loop *loop, struct jzx__worker *me, const jzx_spawn_opts *opts,
                         const struct jzx__bonds *bonds, jzx_actor_id *id) {
    jzx_spawn_opts full;
    if (opts != NULL && opts->size != sizeof full) { /* of an older program, or wrong */
        if (!jzx__read_sized(&full, sizeof full, opts))
            return JZX_ERR_INVALID_ARG;
        opts = &full;
    }
    if (!opts_are_valid(opts) || !place_exists(loop, opts))
        return JZX_ERR_INVALID_ARG;
    if (jzx__sched_stop_state(&loop->sched) != JZX__OPEN)
        return JZX_ERR_LOOP_CLOSED;
    if (opts->type != NULL)
        return spawn_typed(loop, me, opts, bonds, id);
    return spawn_inside(loop, me, opts, bonds, NULL, id);
}

/* Every spawn that is not the common case: other threads, names, hooks, observers, errors. */
static JZX_COLD jzx_err spawn_any(struct jzx_loop *loop, const jzx_spawn_opts *opts,
                                  jzx_actor_id *id) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = jzx__spawn_bound(loop, me, opts, NULL, id);
    jzx__visit_end(&visit);
    return err;
}

/* The eight bytes of the options from on_full on. */
static inline uint64_t tail_of(const jzx_spawn_opts *opts) {
    uint64_t tail;
    _Static_assert(offsetof(jzx_spawn_opts, fiber) - offsetof(jzx_spawn_opts, on_full) ==
                       sizeof tail,
                   "one word");
    memcpy(&tail, &opts->on_full, sizeof tail);
    return tail;
}

/* Valid options that ask for nothing beyond the 128 bytes of the slot. Smaller ones have not all
 * that is read here. */
static inline bool opts_are_plain(const jzx_spawn_opts *opts) {
    if (opts->size != sizeof *opts)
        return false;
    const jzx_spawn_opts extra = {.on_full = (jzx_on_full)UINT32_MAX,
                                  .place = UINT16_MAX,
                                  .priority = UINT8_MAX,
                                  .account = true}; /* all of the tail but daemon */
    uintptr_t extras = (uintptr_t)opts->name | (uintptr_t)opts->init | (uintptr_t)opts->cleanup |
                       opts->stash_cap | (tail_of(opts) & tail_of(&extra)) |
                       (uintptr_t)opts->fiber | opts->stack_size_bytes | opts->migratable |
                       opts->trap_stop | opts->thread_bound | (uintptr_t)opts->type |
                       process_of(opts);
    return extras == 0 && opts->behavior != NULL && opts->mailbox_cap <= JZX_MAILBOX_CAP_MAX;
}

/* The common case, inside the bracket: decides everything before it changes anything, as jzx_send
 * does. False if it is not the common case. */
JZX_INLINE bool spawn_easy(struct jzx_loop *loop, struct jzx__worker *me,
                           const jzx_spawn_opts *opts, jzx_actor_id *id) {
    if (JZX_UNLIKELY(me == NULL || me->sched != &loop->sched))
        return false;
    struct jzx__slot_cache *slots = jzx__slots_of(me);
    uint32_t count = slots->count;
    if (JZX_UNLIKELY(count == 0 || jzx__sched_stop_state(&loop->sched) != JZX__OPEN ||
                     jzx__observer_is_set(&loop->observer)))
        return false;
    slots->count = count - 1;
    struct jzx__actor *slot = slots->slots[count - 1];
    fill_slot(loop, slot, opts, NULL, JZX_ACTOR_RUNNING, 0);
    jzx__worker_count_spawned(me, opts->daemon);
    jzx_actor_id made = open_slot(slot, jzx__worker_word(me), 0);
    if (id != NULL)
        *id = made;
    return true;
}

jzx_err jzx_spawn(jzx_loop *loop, const jzx_spawn_opts *opts, jzx_actor_id *id) {
    struct jzx__seat *seat = jzx__seat_of_thread;
    if (JZX_UNLIKELY(jzx__seat_is_inside(seat) || loop == NULL || opts == NULL ||
                     !opts_are_plain(opts)))
        return spawn_any(loop, opts, id);
    bool made = spawn_easy(loop, jzx__seat_enter(seat), opts, id);
    jzx__seat_leave(seat, 0);
    return JZX_LIKELY(made) ? JZX_OK : spawn_any(loop, opts, id);
}

/* ---- children, and who else is waited for ---- */

struct jzx__message *jzx__started_note(struct jzx_loop *loop, const struct jzx__started *started) {
    struct jzx__message *note = jzx__message_create(loop, NULL, sizeof *started);
    if (note == NULL)
        return NULL;
    note->tag = JZX__TAG_STARTED;
    memcpy(note->payload, started, sizeof *started);
    return note;
}

static void tell(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *note,
                 jzx_err err) {
    struct jzx__started started;
    memcpy(&started, note->payload, sizeof started);
    started.err = err;
    jzx__message_destroy(loop, me, note);
    started.tell(loop, &started);
}

/* In the payload until the actor has ended. */
static jzx_err *err_of(struct jzx__message *note) {
    return &((struct jzx__started *)(void *)note->payload)->err;
}

void jzx__actor_note_failure(struct jzx__actor *actor, jzx_err err) {
    struct jzx__message *note = jzx__actor_cold(actor)->started_note;
    if (note != NULL && note->tag == JZX__TAG_STARTED)
        *err_of(note) = err;
}

void jzx__started_note_drop(struct jzx_loop *loop, struct jzx__worker *me,
                            struct jzx__message *note) {
    if (note->tag != JZX__TAG_STARTED)
        jzx__message_destroy(loop, me, note);
    else
        tell(loop, me, note, *err_of(note) == JZX_OK ? JZX_ERR_NO_SUCH_ACTOR : *err_of(note));
}

void jzx__actor_tell_started(struct jzx_loop *loop, struct jzx__worker *me,
                             struct jzx__actor *actor) {
    struct jzx__message *note = jzx__actor_cold(actor)->started_note;
    if (note == NULL)
        return;
    jzx__actor_cold(actor)->started_note = NULL;
    if (note->tag == JZX__TAG_STARTED) {
        tell(loop, me, note, JZX_OK);
        return;
    }
    jzx_actor_id to;
    memcpy(&to, note->payload, sizeof to);
    note->sender = jzx__actor_id(actor);
    note->node.generation = jzx_id_generation(to);
    struct jzx__actor *supervisor = jzx__table_lookup(&loop->table, to);
    if (supervisor == NULL || jzx__mailbox_deliver(loop, me, supervisor, note) != JZX_OK)
        jzx__message_destroy(loop, me, note);
}
