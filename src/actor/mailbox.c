/* SPDX-License-Identifier: MIT */
/* The owner's side of a mailbox and the bound with its policies. */
#include "actor/mailbox.h"

#include "actor/announce.h"
#include "actor/kind.h"
#include "actor/line.h"
#include "actor/urgent.h"
#include "sched/balance.h"
#include "sched/cut.h"

static jzx_actor_id id_of_node(const struct jzx__actor *actor, const struct jzx__node *node) {
    return jzx_make_id(node->generation, jzx_id_index(jzx__actor_id(actor)));
}

/* ---- events ---- */

/* kind is MAILBOX_FULL or DEAD_LETTER. */
static void emit(struct jzx_loop *loop, struct jzx__actor *actor, jzx_actor_id id,
                 jzx_event_kind kind, uint32_t count) {
    if (!jzx__observer_is_set(&loop->observer))
        return;
    jzx__actor_announce(loop, actor); /* no event of an actor comes before its start */
    jzx_event event = {.kind = kind, .actor = id, .name = jzx__actor_name(actor), .count = count};
    jzx__loop_emit(loop, &event);
}

static void emit_full(struct jzx_loop *loop, struct jzx__actor *actor, jzx_actor_id id) {
    emit(loop, actor, id, JZX_EVENT_MAILBOX_FULL, 1);
}

/* A thread that is not the owner met a full mailbox: the owner will tell the observer. False if
 * nobody can: the actor has ended meanwhile. */
static bool note_full(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__actor *actor,
                      uint32_t generation) {
    if (!jzx__observer_is_set(&loop->observer))
        return true;
    /* relaxed: a first guess for the exchange below */
    uint64_t state = jzx__atomic_load_relaxed(&actor->task.state);
    do {
        if (jzx__state_generation(state) != generation)
            return false;
        if ((state & JZX__FULLS_MASK) == JZX__FULLS_MASK)
            return true;
        /* pairs with the exchange in the turn; only a count is passed */
    } while (!jzx__atomic_cas_acq_rel(&actor->task.state, &state, state + JZX__FULLS_ONE));
    /* The mailbox may have been emptied meanwhile: somebody must look. */
    if (jzx__task_nudge(&actor->task) == JZX__PUSH_OK_INJECT)
        jzx__task_inject(&actor->task, me);
    return true;
}

void jzx__mailbox_report_fulls(struct jzx__worker *me, struct jzx__actor *actor, jzx_actor_id id,
                               uint32_t fulls) {
    struct jzx_loop *loop = jzx__loop_of(me);
    emit(loop, actor, id, JZX_EVENT_MAILBOX_FULL, fulls);
    /* Their senders released them: who sent them and what they said is not known here. */
    if (jzx__actor_on_full(actor) != JZX_FULL_REFUSE)
        emit(loop, actor, id, JZX_EVENT_DEAD_LETTER, fulls);
}

/* ---- waiting for room ---- */

/* Turns a request into its answer and sends it. */
static void tell_waiter(struct jzx__worker *me, struct jzx__message *message, jzx_actor_id target) {
    struct jzx_loop *loop = jzx__loop_of(me);
    jzx_actor_id who = message->sender;
    message->sender = target;
    message->tag = JZX_TAG_ROOM;
    message->len = 0; /* its links mean nothing any more */
    message->node.lane = JZX__LANE_RUNTIME;
    message->node.flags &= (uint8_t)~JZX__MSG_UNCOUNTED;
    message->node.generation = jzx_id_generation(who);
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, who);
    if (actor == NULL || jzx__mailbox_deliver(loop, me, actor, message) != JZX_OK) {
        jzx__counter_add(&me->counters.accepted, 1);
        jzx__message_bury(loop, me, message, who, NULL);
    }
}

/* In the payload of a request that waits. All that wait at one actor are also a trie, by the bits
 * of a hash of who asked; its root is the first of the ring. They leave together, so nobody is ever
 * taken out of it. */
struct request {
    struct jzx__message *children[2];
};
_Static_assert(sizeof(struct request) <= JZX_MSG_INLINE, "in a block of the smallest class");

static struct request *request_of(struct jzx__message *message) {
    return (void *)message->payload;
}

/* Different ids have different hashes, so that no path is longer than 64. */
static uint64_t hash_of(jzx_actor_id who) {
    uint64_t hash = who ^ who >> 32;
    hash *= 0x9E3779B97F4A7C15u; /* odd: can be undone, as each step */
    return hash ^ hash >> 32;
}

/* False if one of the same actor waits in the trie already. */
static bool grow_trie(struct jzx__message *root, struct jzx__message *message) {
    uint64_t hash = hash_of(message->sender);
    struct jzx__message *at = root;
    for (; at->sender != message->sender; hash >>= 1) {
        struct jzx__message **child = &request_of(at)->children[hash & 1];
        if (*child == NULL) {
            *child = message;
            return true;
        }
        at = *child;
    }
    return false;
}

/* Takes a request over. One of the same actor that waits already answers for both. */
static void add_waiter(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *node) {
    struct jzx__node *last = actor->task.waiters;
    struct jzx__message *message = jzx__message_of(node);
    *request_of(message) = (struct request){{NULL, NULL}};
    if (last != NULL && !grow_trie(jzx__message_of(last->next), message)) {
        jzx__message_destroy(jzx__loop_of(me), me, message);
        return;
    }
    node->next = last == NULL ? node : last->next;
    if (last != NULL)
        last->next = node;
    actor->task.waiters = node;
    actor->task.care |= JZX__CARE_ROOM;
}

void jzx__mailbox_tell_waiters(struct jzx__worker *me, struct jzx__actor *actor, bool at_end) {
    struct jzx__node *last = actor->task.waiters;
    if (last == NULL || (!at_end && !jzx__mailbox_has_room(actor)))
        return;
    actor->task.waiters = NULL;
    actor->task.care &= (uint16_t)~JZX__CARE_ROOM;
    struct jzx__node *node = last->next;
    last->next = NULL;
    while (node != NULL) {
        struct jzx__node *next = node->next;
        tell_waiter(me, jzx__message_of(node), id_of_node(actor, node));
        node = next;
    }
}

/* ---- taking in ---- */

/* A node was taken out of the private list, or some were put first: a kind may know places. */
static void tell_kind(struct jzx__actor *actor) {
    if (JZX_LIKELY((actor->task.care & JZX__CARE_KIND) == 0))
        return;
    const struct jzx__kind_ops *kind = jzx__kinds[jzx__actor_cold(actor)->kind];
    if (kind != NULL && kind->list_changed != NULL)
        kind->list_changed(actor);
}

/* Takes the oldest message that counts out of the private list, which has one (B6). */
static struct jzx__message *remove_oldest(struct jzx__actor *actor) {
    struct jzx__task *task = &actor->task;
    struct jzx__cold *cold = jzx__actor_cold(actor);
    struct jzx__node *before = cold->skipped;
    struct jzx__node *node = before == NULL ? task->head : before->next;
    for (; node->weight == 0; node = node->next)
        before = node;
    if ((task->care & JZX__CARE_KIND) == 0) /* a kind takes messages out by itself */
        cold->skipped = before;
    jzx__task_remove(task, before, node);
    return jzx__message_of(node);
}

static void drop_oldest(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx_loop *loop = jzx__loop_of(me);
    jzx_actor_id id = jzx__actor_id(actor);
    struct jzx__message *oldest = remove_oldest(actor);
    tell_kind(actor);
    emit_full(loop, actor, id);
    jzx__message_bury(loop, me, oldest, id, jzx__actor_name(actor));
}

/* Nodes of other generations, and those that nobody has asked for. Calls out. */
static void bury_others(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *nodes) {
    while (nodes != NULL) {
        struct jzx__node *node = nodes;
        nodes = node->next;
        jzx__node_bury(me, node, &(struct jzx__addressee){.id = id_of_node(actor, node)});
    }
}

/* One of the actor's own generation. False if it goes to the others. */
static bool file_own(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *node) {
    const struct jzx__lane_ops *lane = jzx__lane_of(node);
    switch (lane->file == NULL ? JZX__FILED_KEEP : lane->file(me, actor, node)) {
    case JZX__FILED_KEEP:
        jzx__mailbox_look(actor);
        jzx__task_append(&actor->task, node, node->weight);
        break;
    case JZX__FILED_TAKEN: break;
    case JZX__FILED_DEFER: jzx__mailbox_defer(actor, node); break;
    case JZX__FILED_VAIN: return false;
    }
    return true;
}

void jzx__mailbox_file(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *nodes) {
    JZX_ASSERT_OWNER(me);
    uint32_t generation = jzx_id_generation(jzx__actor_id(actor));
    struct jzx__node *others = NULL;
    struct jzx__node **others_tail = &others;
    while (nodes != NULL) { /* nothing calls out before all are in: order (B3) */
        struct jzx__node *node = nodes;
        nodes = node->next;
        if (JZX_LIKELY(node->generation == generation)) {
            if (JZX_LIKELY(!jzx__lane_is_special(node->lane))) {
                jzx__task_append(&actor->task, node, node->weight);
                continue;
            }
            if (file_own(me, actor, node))
                continue;
        }
        *others_tail = node;
        others_tail = &node->next;
    }
    *others_tail = NULL;
    bury_others(me, actor, others);
    if (JZX_UNLIKELY(actor->task.waiters != NULL))
        jzx__mailbox_tell_waiters(me, actor, false);
    if (jzx__actor_on_full(actor) == JZX_FULL_DROP_OLDEST) {
        while (actor->task.pending > jzx__actor_bound(actor))
            drop_oldest(me, actor); /* B4 */
    }
}

static struct jzx__node *reversed(struct jzx__node *node) {
    struct jzx__node *oldest = NULL;
    while (node != NULL) {
        struct jzx__node *next = node->next;
        node->next = oldest;
        oldest = node;
        node = next;
    }
    return oldest;
}

void jzx__mailbox_defer(struct jzx__actor *actor, struct jzx__node *node) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    node->next = cold->deferred;
    cold->deferred = node;
}

void jzx__mailbox_file_deferred(struct jzx__worker *me, struct jzx__actor *actor,
                                struct jzx__turn *turn) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    struct jzx__node *nodes = reversed(turn->requested);
    turn->requested = NULL;
    if (cold != NULL && cold->deferred != NULL) {
        struct jzx__node *deferred = reversed(cold->deferred);
        cold->deferred = NULL;
        jzx__mailbox_file(me, actor, deferred);
    }
    if (nodes != NULL)
        jzx__mailbox_file(me, actor, nodes);
}

void jzx__mailbox_take_in(struct jzx__worker *me, struct jzx__actor *actor) {
    while (!jzx__mailbox_try_take_in(me, actor))
        sched_yield();
}

bool jzx__mailbox_try_take_in(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__task *task = &actor->task;
    bool is_locked = (task->care & JZX__CARE_DROP_OLDEST) != 0;
    if (is_locked &&
        jzx__task_try_lock(task, jzx_id_generation(jzx__actor_id(actor))) != JZX__LOCK_GOT)
        return false;
    struct jzx__node *nodes = jzx__task_take(task);
    if (is_locked)
        jzx__task_unlock(task, 0);
    jzx__mailbox_file(me, actor, nodes);
    return true;
}

void jzx__mailbox_put_first(struct jzx__actor *actor, struct jzx__node *first,
                            struct jzx__node *last) {
    struct jzx__task *task = &actor->task;
    if (task->care & JZX__CARE_DROP_OLDEST)
        jzx__actor_cold(actor)->skipped = NULL; /* B6 */
    for (struct jzx__node *node = first; node != NULL; node = node->next) {
        task->pending += node->weight;
        if (jzx__lane_is_special(node->lane))
            jzx__mailbox_look(actor);
    }
    struct jzx__node *before = jzx__urgent_last(actor); /* urgent/G4 */
    struct jzx__node *after = before == NULL ? task->head : before->next;
    if (after == NULL)
        task->last = last;
    last->next = after;
    if (before == NULL)
        task->head = first;
    else
        before->next = first;
    tell_kind(actor);
}

/* ---- delivering ---- */

void jzx__mailbox_soft_limit(struct jzx__worker *me, struct jzx__actor *actor) {
    if (actor->task.care & JZX__CARE_KIND) {
        /* relaxed: the owner's own */
        uint32_t kind = jzx__atomic_load_relaxed(&jzx__actor_cold(actor)->wait_kind);
        if (kind != JZX_WAIT_NONE && kind != JZX_WAIT_MESSAGE)
            return; /* it would pass over what it has, and wait on */
    }
    jzx__worker_soft_limit(me, &actor->task);
}

/* The policies of a full mailbox, on the owner's thread. */
static JZX_COLD jzx_err deliver_full(struct jzx__worker *me, struct jzx__actor *actor,
                                     struct jzx__message *message) {
    struct jzx_loop *loop = jzx__loop_of(me);
    jzx_actor_id id = jzx__actor_id(actor);
    switch (jzx__actor_on_full(actor)) {
    case JZX_FULL_REFUSE:
        /* As at the soft limit: trying again in the same turn would be in vain. */
        jzx__worker_soft_limit(me, &actor->task);
        break;
    case JZX_FULL_DROP_OLDEST:
        jzx__mailbox_append(me, actor, message);
        drop_oldest(me, actor);
        return JZX_OK;
    case JZX_FULL_DROP_NEW:
        jzx__counter_add(&me->counters.accepted, 1);
        emit_full(loop, actor, id);
        jzx__message_bury(loop, me, message, id, jzx__actor_name(actor));
        return JZX_OK;
    }
    emit_full(loop, actor, id);
    return JZX_ERR_MAILBOX_FULL;
}

/* A runtime message behind what other threads sent: taking that in would loosen the bound (B2), so
 * it joins them. Whoever holds the token makes the actor ready. */
static jzx_err queue_behind(struct jzx__worker *me, struct jzx__actor *actor,
                            struct jzx__message *message) {
    enum jzx__push_result result = jzx__task_push(&actor->task, &message->node, 0);
    JZX_ASSERT(result ==
               JZX__PUSH_OK); /* I2: only this thread takes the list or clears the token */
    jzx__counter_add(&me->counters.accepted, 1);
    return JZX_OK;
}

/* True if a message more would exceed the bound (B1), or senders in line are first. Owner only. */
static bool is_full(struct jzx_loop *loop, struct jzx__actor *actor, uint64_t word) {
    return actor->task.pending + jzx__inbox_count(word) >= jzx__actor_bound(actor) ||
           (jzx__actor_has_line(actor) && jzx__line_is_taken(&loop->lines, jzx__actor_id(actor)));
}

/* The owner's thread, with something in the inbox or at the bound (R1). */
jzx_err jzx__mailbox_deliver_slow(struct jzx__worker *me, struct jzx__actor *actor,
                                  struct jzx__message *message) {
    struct jzx__task *task = &actor->task;
    bool counts = message->node.weight != 0;
    uint64_t word = jzx__task_inbox(task);
    for (;;) {
        if (word & JZX__INBOX_CLOSED)
            return jzx__mailbox_gone(jzx__loop_of(me)); /* it works its queue off */
        bool full = counts && is_full(jzx__loop_of(me), actor, word);
        if (full && jzx__actor_on_full(actor) != JZX_FULL_DROP_OLDEST)
            return deliver_full(me, actor, message); /* B1: nothing was taken */
        if (jzx__inbox_list(word) == NULL)
            break;
        if (!counts)
            return queue_behind(me, actor, message);
        if (task->care & JZX__CARE_DROP_OLDEST) {
            jzx__mailbox_take_in(me, actor);
            break;
        }
        uint64_t left = task->holds ? 0 : JZX__INBOX_TOKEN;
        /* acquire: pairs with push, the nodes are visible. release: pairs with the next push that
         * finds no token. On the word that was read, so that the sum above is exact (B1) */
        if (jzx__atomic_cas_acq_rel(&task->inbox, &word, left)) {
            task->holds = false;
            jzx__mailbox_file(me, actor, jzx__inbox_oldest_first(word));
            break;
        }
    }
    if (counts && task->pending >= jzx__actor_bound(actor))
        return deliver_full(me, actor, message);
    jzx__mailbox_append(me, actor, message);
    return JZX_OK;
}

/* The actor whose turn it is talks to another worker: perhaps it should be there. */
static void note_crossing(struct jzx__worker *me, struct jzx__actor *target) {
    struct jzx__task *current = jzx__worker_current(me);
    jzx__balance_crossed(me, &target->task);
    if (current != NULL && jzx__balance_wants_current(me, &target->task))
        current->care |= JZX__CARE_MOVE;
}

/* A short message without a destructor, which would be in that place, has room for a hint. */
static void add_hint(struct jzx__worker *me, struct jzx__actor *actor,
                     struct jzx__message *message) {
    const struct jzx__node *hint = jzx__worker_trail(me, &actor->task, &message->node);
    if (hint != NULL && jzx__node_is_plain(&message->node) &&
        sizeof *message + message->len <= JZX__NODE_HINT_AT)
        jzx__node_set_hint(&message->node, hint);
}

/* True if the actor has the generation that a node is for. Any thread. */
static bool is_meant(struct jzx__actor *actor, const struct jzx__node *node) {
    /* relaxed: ordered by what the caller has read before */
    return jzx_id_generation(jzx__atomic_load_relaxed(&actor->task.id)) == node->generation;
}

static JZX_COLD enum jzx__push_result push_kept(struct jzx_loop *loop, struct jzx__actor *actor,
                                                struct jzx__node *node, uint32_t limit) {
    struct jzx__lock *keeper =
        jzx__table_keeper(&loop->table, jzx_id_index(jzx__actor_id(actor))); /* it never changes */
    jzx__lock_acquire(keeper);
    enum jzx__push_result result =
        is_meant(actor, node) ? jzx__task_push(&actor->task, node, limit) : JZX__PUSH_CLOSED;
    jzx__lock_release(keeper);
    return result;
}

/* The limit of the inbox for other threads (B2, B4). */
static uint32_t limit_of(struct jzx_loop *loop, struct jzx__actor *actor, struct jzx__node *node,
                         jzx_on_full on_full) {
    uint32_t cap = jzx__actor_cap(actor);
    if (JZX_UNLIKELY(jzx__actor_has_line(actor)) &&
        jzx__line_is_taken(&loop->lines, id_of_node(actor, node)))
        return 0;
    if (on_full != JZX_FULL_DROP_OLDEST)
        return cap;
    return cap <= JZX__INBOX_COUNT_MAX / 2 ? 2 * cap : (uint32_t)JZX__INBOX_COUNT_MAX;
}

/* Cuts the inbox of an actor that keeps the newest down to its bound (B4), or waits for a thread
 * that does. False if the actor has ended. */
static JZX_COLD bool make_room(struct jzx_loop *loop, struct jzx__worker *me,
                               struct jzx__actor *actor, uint32_t generation) {
    switch (jzx__task_try_lock(&actor->task, generation)) {
    case JZX__LOCK_GONE: return false;
    case JZX__LOCK_BUSY: sched_yield(); return true;
    case JZX__LOCK_GOT: break;
    }
    uint32_t cap = jzx__actor_cap(actor);
    uint32_t count;
    struct jzx__node *node =
        jzx__task_cut(&actor->task, cap < JZX__INBOX_COUNT_MAX ? cap : cap - 1, &count);
    bool is_observed = count != 0 && jzx__observer_is_set(&loop->observer);
    jzx__task_unlock(&actor->task, is_observed ? count : 0);
    if (is_observed && jzx__task_nudge(&actor->task) == JZX__PUSH_OK_INJECT)
        jzx__task_inject(&actor->task, me); /* the inbox may have been emptied meanwhile */
    while (node != NULL) {
        struct jzx__message *message = jzx__message_of(node);
        node = node->next;
        jzx__loop_count(loop, me, dead);
        jzx__message_destroy(loop, me, message);
    }
    return true;
}

/* From a thread that does not own the actor (R2). Between a push that got the token and the inject
 * nothing may block, allocate or call out: the actor hears of no other push until then. A sender
 * that would wait is refused without an event. */
static jzx_err deliver_remote(struct jzx_loop *loop, struct jzx__worker *me,
                              struct jzx__actor *actor, struct jzx__message *message,
                              bool would_wait) {
    uint32_t generation = message->node.generation;
    /* acquire: pairs with the release in fill_slot; the policy of a later actor comes with its id
     */
    uint32_t policy = jzx__atomic_load_acquire(&actor->task.on_full);
    jzx_on_full on_full = (jzx_on_full)(policy & ~JZX__KEEPS_MAIL);
    if (jzx__sched_is_stopped(&loop->sched) || !is_meant(actor, &message->node))
        return jzx__mailbox_gone(loop);
    bool counts_here = (message->node.flags & JZX__MSG_UNCOUNTED) == 0;
    if (me != NULL)
        add_hint(me, actor, message);
    enum jzx__push_result result;
    do {
        uint32_t limit = limit_of(loop, actor, &message->node, on_full);
        result = JZX_UNLIKELY(policy & JZX__KEEPS_MAIL)
                     ? push_kept(loop, actor, &message->node, limit) /* B5 */
                     : jzx__task_push(&actor->task, &message->node, limit);
    } while (JZX_UNLIKELY(result == JZX__PUSH_FULL) && on_full == JZX_FULL_DROP_OLDEST &&
             make_room(loop, me, actor, generation));
    if (result == JZX__PUSH_FULL && on_full == JZX_FULL_DROP_OLDEST)
        result = JZX__PUSH_CLOSED; /* it has ended */
    if (result == JZX__PUSH_CLOSED || result == JZX__PUSH_FULL)
        message->node.flags &= (uint8_t)~JZX__NODE_HINTED; /* it is in no inbox */
    switch (result) {
    case JZX__PUSH_OK_INJECT: jzx__task_inject(&actor->task, me); break;
    case JZX__PUSH_OK: break;
    case JZX__PUSH_CLOSED: return jzx__mailbox_gone(loop);
    case JZX__PUSH_FULL:
        if (would_wait && on_full == JZX_FULL_REFUSE)
            return JZX_ERR_MAILBOX_FULL;
        if (!note_full(loop, me, actor, generation))
            return jzx__mailbox_gone(loop);
        if (on_full == JZX_FULL_REFUSE)
            return JZX_ERR_MAILBOX_FULL;
        jzx__loop_count(loop, me, accepted);
        jzx__loop_count(loop, me, dead);
        jzx__message_destroy(loop, me, message);
        return JZX_OK;
    }
    if (counts_here)
        jzx__loop_count(loop, me, accepted);
    if (me != NULL)
        note_crossing(me, actor);
    return JZX_OK;
}

jzx_err jzx__mailbox_deliver_remote(struct jzx_loop *loop, struct jzx__worker *me,
                                    struct jzx__actor *actor, struct jzx__message *message) {
    return deliver_remote(loop, me, actor, message, false);
}

jzx_err jzx__mailbox_try_deliver(struct jzx_loop *loop, struct jzx__worker *me,
                                 struct jzx__actor *actor, struct jzx__message *message) {
    if (!jzx__worker_owns(me, &actor->task))
        return deliver_remote(loop, me, actor, message, true);
    uint64_t word = jzx__task_inbox(&actor->task);
    if (jzx__actor_on_full(actor) == JZX_FULL_REFUSE && (word & JZX__INBOX_CLOSED) == 0 &&
        is_full(loop, actor, word))
        return JZX_ERR_MAILBOX_FULL;
    return jzx__mailbox_deliver(loop, me, actor, message);
}

/* ---- the lane of requests for room ---- */

static enum jzx__filed file_request(struct jzx__worker *me, struct jzx__actor *actor,
                                    struct jzx__node *node) {
    add_waiter(me, actor, node); /* told when all are filed, if there is room */
    return JZX__FILED_TAKEN;
}

/* Its target has ended: there will be no queue to wait for. */
static void bury_request(struct jzx__worker *me, struct jzx__node *node,
                         const struct jzx__addressee *to) {
    tell_waiter(me, jzx__message_of(node), to->id);
}

const struct jzx__lane_ops jzx__lane_room = {.file = file_request, .bury = bury_request};

/* ---- jzx_send_when_room ---- */

static jzx_err ask_for_room(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id target,
                            jzx_actor_id who) {
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, target);
    if (actor == NULL || !jzx__table_is_alive(&loop->table, who))
        return jzx__mailbox_gone(loop);
    struct jzx__message *request = jzx__message_create(loop, me, sizeof(struct request));
    if (request == NULL)
        return JZX_ERR_NO_MEMORY;
    request->sender = who;
    request->node.generation = jzx_id_generation(target);
    request->node.weight = 0;
    request->node.lane = JZX__LANE_ROOM;
    if (jzx__worker_owns(me, &actor->task) &&
        (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED) == 0) {
        add_waiter(me, actor, &request->node);
        jzx__mailbox_tell_waiters(me, actor, false);
        return JZX_OK;
    }
    request->node.flags |= JZX__MSG_UNCOUNTED; /* it is counted when its answer is sent */
    jzx_err err = jzx__mailbox_deliver_remote(loop, me, actor, request);
    if (err != JZX_OK)
        jzx__message_destroy(loop, me, request);
    return err;
}

jzx_err jzx_send_when_room(jzx_loop *loop, jzx_actor_id target, jzx_actor_id who) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = ask_for_room(loop, me, target, who);
    jzx__visit_end(&visit);
    return err;
}
