/* SPDX-License-Identifier: MIT */
/* What an actor looks like, for people and tools: whole for actors of this thread's worker, and for
 * all while nobody drives the loop; otherwise only what other threads may read. A look from outside
 * changes nothing: it keeps run and step waiting for its own short time, and takes in no mail. */
#include "actor/info.h"

#include "actor/mailbox.h"
#include "actor/part.h"
#include "base/sized.h"
#include "sched/crew.h"

static size_t list_size_bytes(const struct jzx__node *node) {
    size_t bytes = 0;
    for (; node != NULL; node = node->next)
        bytes += jzx__message_size_bytes((const struct jzx__message *)(const void *)node);
    return bytes;
}

static jzx_actor_status status_of(struct jzx__actor *actor) {
    const uint64_t ends = JZX__WANT_END | JZX__WANT_GENTLE;
    /* relaxed: a picture of the moment */
    if (jzx__atomic_load_relaxed(&actor->task.state) & ends)
        return JZX_ACTOR_STOPPING;
    return (jzx_actor_status)actor->task.status;
}

/* By a thread of the program, and has its turn there for life. */
static bool is_polled(const struct jzx__actor *actor) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    return cold != NULL && cold->kind == JZX__KIND_MANUAL;
}

static jzx_activity activity_of(const struct jzx__actor *actor) {
    switch (actor->task.place) {
    case JZX__IDLE:
    case JZX__NEW:
    case JZX__ASIDE: return JZX_ACTIVITY_IDLE;
    case JZX__RUNNING:
        return jzx__actor_is_ending(actor) ? JZX_ACTIVITY_COMPLETE : JZX_ACTIVITY_RUNNING;
    case JZX__AWAY: return is_polled(actor) ? JZX_ACTIVITY_IDLE : JZX_ACTIVITY_BLOCKED;
    case JZX__ENDING: return JZX_ACTIVITY_COMPLETE;
    default: return JZX_ACTIVITY_READY;
    }
}

/* True if it is in its turn on that worker; then with the tag of the message in hand. Any
 * thread. */
static bool is_current(const struct jzx__worker *worker, const struct jzx__actor *actor,
                       uint32_t *tag) {
    /* acquire: pairs with the release in sit; seats live as long as the loop */
    struct jzx__seat *seat = jzx__atomic_load_acquire(&worker->seat);
    /* relaxed, both: the worker is this thread's or at rest, or it is a picture of the moment */
    if (seat == NULL || jzx__atomic_load_relaxed(&seat->task) != &actor->task)
        return false;
    *tag = jzx__atomic_load_relaxed(&seat->tag);
    return true;
}

/* True if its turn goes on without its worker; then with the tag of the message in hand. Any
 * thread. */
static bool is_away(const struct jzx__worker *worker, const struct jzx__actor *actor,
                    uint32_t *tag) {
    /* relaxed: a hint: there are no such turns, usually */
    if (jzx__atomic_load_relaxed(&worker->sched->crew.lost_count) == 0)
        return false;
    struct jzx__visit visit;
    uint32_t index;
    jzx__visit_begin(&visit); /* S4 of seat.h */
    enum jzx__turn_place place = jzx__crew_find(worker->sched, &actor->task, tag, &index);
    jzx__visit_end(&visit);
    return place == JZX__TURN_AWAY;
}

static size_t part_size_bytes(const struct jzx_loop *loop, const struct jzx__cold *cold,
                              enum jzx__part part) {
    const void *record = jzx__cold_part(cold, part);
    const struct jzx__part_ops *ops = loop->part_ops[part];
    return record == NULL || ops->size_bytes == NULL ? 0 : ops->size_bytes(record);
}

/* The part in the cold record. Stash and parts belong to a turn that went on without its worker. */
static void fill_cold(const struct jzx_loop *loop, const struct jzx__actor *actor, bool is_out,
                      jzx_actor_info *info) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    if (cold == NULL)
        return;
    info->memory_bytes += jzx__slab_class_size(JZX__COLD_CLASS);
    /* relaxed: a picture of the moment */
    info->depth += jzx__atomic_load_relaxed(&cold->in_hand);
    info->steps = cold->steps;
    info->started_ns = cold->started_ns;
    info->parent = cold->parent;
    if (is_out || actor->task.place != JZX__AWAY) {
        info->stashed = cold->stash_count;
        info->memory_bytes += list_size_bytes(cold->stash_first);
        for (uint32_t i = 0; i < JZX__PART_RECORDS; i++)
            info->memory_bytes += part_size_bytes(loop, cold, (enum jzx__part)i);
        info->stack_bytes = part_size_bytes(loop, cold, JZX__PART_FIBER);
    }
}

/* What its code waits for. Any thread: the record may be another actor's by now, and the caller
 * looks at the id afterwards. */
static void fill_wait(const struct jzx__actor *actor, jzx_actor_info *info) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    if (cold == NULL)
        return;
    /* relaxed, all: a picture of the moment */
    info->wait = (jzx_wait_kind)jzx__atomic_load_relaxed(&cold->wait_kind);
    if (info->wait == JZX_WAIT_NONE)
        return;
    /* relaxed, the three: as above */
    info->wait_object = jzx__atomic_load_relaxed(&cold->wait_object);
    info->wait_since_ns = jzx__atomic_load_relaxed(&cold->wait_since_ns);
    info->wait_holder = jzx__atomic_load_relaxed(&cold->wait_holder);
}

/* An actor that no other thread runs: its worker is this thread's, or the loop is at rest. worker
 * is NULL if it has none yet; is_out says that it waits for a worker to take it in. */
static void fill(struct jzx_loop *loop, struct jzx__worker *worker, struct jzx__actor *actor,
                 bool is_out, jzx_actor_info *info) {
    uint32_t in_inbox = jzx__inbox_count(jzx__task_inbox(&actor->task));
    *info = (jzx_actor_info){.size = sizeof *info};
    info->id = jzx__actor_id(actor);
    info->status = status_of(actor);
    info->activity = is_out ? JZX_ACTIVITY_READY : activity_of(actor);
    info->priority = (jzx_priority)(actor->task.rank + JZX_PRIORITY_CRITICAL);
    info->worker = worker == NULL ? JZX_NONE : worker->index;
    info->daemon = actor->task.daemon;
    info->depth = actor->task.pending + in_inbox;
    info->mailbox_cap = jzx__actor_bound(actor);
    info->memory_bytes =
        sizeof *actor + list_size_bytes(actor->task.head) + (size_t)in_inbox * JZX__BLOCK_SIZE_MIN;
    jzx__name_read(actor, info->name);
    if (worker != NULL)
        is_current(worker, actor, &info->current_tag);
    fill_cold(loop, actor, is_out, info);
    fill_wait(actor, info);
}

const char *jzx_wait_name(jzx_wait_kind kind) {
    static const char *const names[] = {
        [JZX_WAIT_NONE] = "nothing",
        [JZX_WAIT_MESSAGE] = "a message",
        [JZX_WAIT_TAG] = "tag",
        [JZX_WAIT_SENDER] = "a message of",
        [JZX_WAIT_ANSWER] = "an answer of",
        [JZX_WAIT_EXIT] = "the end of",
        [JZX_WAIT_ROOM] = "room at",
        [JZX_WAIT_MATCH] = "a match",
        [JZX_WAIT_TIME] = "time",
        [JZX_WAIT_FUTURE] = "a future",
        [JZX_WAIT_SCOPE] = "the members of a scope",
        [JZX_WAIT_OP] = "an operation",
        [JZX_WAIT_MUTEX] = "a mutex",
        [JZX_WAIT_SEMAPHORE] = "a semaphore",
        [JZX_WAIT_RWLOCK] = "a rwlock",
        [JZX_WAIT_CHANNEL] = "a channel",
        [JZX_WAIT_SIGNAL] = "a signal",
        [JZX_WAIT_SELECT] = "one of several",
        [JZX_WAIT_IO] = "I/O at",
    };
    bool is_known = (unsigned)kind < sizeof names / sizeof names[0] && names[kind] != NULL;
    return is_known ? names[kind] : "something unknown";
}

bool jzx__actor_glance(struct jzx__actor *actor, jzx_actor_info *info) {
    /* acquire: pairs with the release that makes an id stale; a free slot is GONE by then */
    jzx_actor_id id = jzx__atomic_load_acquire(&actor->task.id);
    uint64_t word = jzx__task_inbox(&actor->task);
    /* acquire: pairs with the release in open_slot; what the spawn has filled in is there */
    uintptr_t owner = jzx__atomic_load_acquire(&actor->task.owner);
    if (owner & JZX__OWNER_GONE)
        return false;
    const struct jzx__worker *worker = (const void *)(owner & ~JZX__OWNER_FLAGS);
    uint32_t tag = 0;
    bool runs = worker != NULL && is_current(worker, actor, &tag);
    bool away = worker != NULL && !runs && is_away(worker, actor, &tag);
    *info = (jzx_actor_info){.size = sizeof *info,
                             .id = id,
                             .is_partial = true,
                             .status = worker == NULL ? JZX_ACTOR_INIT : JZX_ACTOR_RUNNING,
                             .activity = runs   ? JZX_ACTIVITY_RUNNING
                                         : away ? JZX_ACTIVITY_BLOCKED
                                                : JZX_ACTIVITY_IDLE,
                             .worker = worker == NULL ? JZX_NONE : worker->index,
                             .depth = jzx__inbox_count(word),
                             .mailbox_cap = jzx__actor_bound(actor),
                             .current_tag = tag,
                             .memory_bytes = sizeof *actor};
    jzx__name_read(actor, info->name);
    fill_wait(actor, info);
    /* acquire: pairs with the release that makes an id stale; the name was its own */
    return jzx__atomic_load_acquire(&actor->task.id) == id;
}

/* ---- a look ---- */

/* What the calling thread may see. */
struct look {
    struct jzx_loop *loop;
    struct jzx__visit visit;
    struct jzx__worker *me; /* this thread's worker, or NULL */
    bool at_rest;           /* nobody drives the loop until the look ends */
};

static void look_begin(struct look *look, struct jzx_loop *loop) {
    look->loop = loop;
    look->me = jzx__loop_visit(loop, &look->visit);
    look->at_rest = look->me == NULL && jzx__loop_look_begin(loop);
}

static void look_end(struct look *look) {
    if (look->at_rest)
        jzx__loop_look_end(look->loop);
    jzx__visit_end(&look->visit);
}

/* While the loop is at rest. An actor of a worker is as that worker left it, its inbox perhaps
 * closed as it drains; one that another thread has just spawned is published with its inbox. */
static bool show_at_rest(struct jzx_loop *loop, struct jzx__actor *actor, jzx_actor_info *info) {
    bool is_closed = (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED) != 0;
    /* relaxed: a worker's does not change now, and the one of a spawn came with the inbox */
    uintptr_t owner = jzx__atomic_load_relaxed(&actor->task.owner);
    bool is_out = (owner & JZX__OWNER_OUT) != 0;
    if ((owner & JZX__OWNER_GONE) != 0 || (is_out && is_closed))
        return false;
    fill(loop, (struct jzx__worker *)(owner & ~JZX__OWNER_FLAGS), actor, is_out, info);
    return true;
}

/* False if the slot has no living actor. */
static bool show(const struct look *look, struct jzx__actor *actor, jzx_actor_info *info) {
    if (look->at_rest)
        return show_at_rest(look->loop, actor, info);
    if (look->me == NULL || !jzx__worker_owns(look->me, &actor->task))
        return jzx__actor_glance(actor, info);
    fill(look->loop, look->me, actor, false, info);
    return true;
}

static jzx_err fill_by_id(const struct look *look, jzx_actor_id id, jzx_actor_info *info) {
    struct jzx_loop *loop = look->loop;
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, id);
    const struct jzx__turn *turn = jzx__seat_of_thread->cleanup;
    if (actor != NULL)
        return show(look, actor, info) && info->id == id ? JZX_OK : jzx__mailbox_gone(loop);
    if (turn == NULL || turn->ctx.self != id || look->me == NULL)
        return jzx__mailbox_gone(loop);
    fill(loop, look->me, turn->actor, false, info); /* it asks from its own cleanup */
    info->id = id;
    return JZX_OK;
}

jzx_err jzx_actor_info_get(jzx_loop *loop, jzx_actor_id id, jzx_actor_info *info) {
    if (loop == NULL || !jzx__is_sized(info, sizeof *info))
        return JZX_ERR_INVALID_ARG;
    jzx_actor_info found;
    struct look look;
    look_begin(&look, loop);
    jzx_err err = fill_by_id(&look, id, &found);
    look_end(&look);
    if (err == JZX_OK)
        jzx__write_sized(info, &found);
    return err;
}

jzx_err jzx_actor_next(jzx_loop *loop, uint64_t *cursor, jzx_actor_info *info) {
    if (loop == NULL || cursor == NULL || !jzx__is_sized(info, sizeof *info))
        return JZX_ERR_INVALID_ARG;
    jzx_actor_info found;
    jzx_err err = JZX_ERR_NO_SUCH_ACTOR;
    struct look look;
    look_begin(&look, loop);
    /* acquire: pairs with the release in mint */
    uint64_t minted = jzx__atomic_load_acquire(&loop->table.minted);
    for (; err != JZX_OK && *cursor < minted; ++*cursor) {
        struct jzx__actor *actor = jzx__table_slot(&loop->table, (uint32_t)*cursor);
        if (show(&look, actor, &found))
            err = JZX_OK;
    }
    look_end(&look);
    if (err == JZX_OK)
        jzx__write_sized(info, &found);
    return err;
}
