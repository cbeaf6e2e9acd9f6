/* SPDX-License-Identifier: MIT */
/* The life of an operation: begin, complete or cancel, and the end of its owner. */
#include "op/op.h"

#include "actor/exit.h"
#include "actor/mailbox.h"
#include "base/alloc.h"
#include "base/futex.h"

#include <string.h>

/* How an actor ends whose operations borrow (O9). */
#define KEPT_CLASS 1u
_Static_assert(sizeof(struct jzx__ending_kept) <= (size_t)JZX__BLOCK_SIZE_MIN << KEPT_CLASS,
               "fits its class");

static struct jzx__op_cache *cache_of(struct jzx__worker *me) {
    return me == NULL ? NULL : jzx__actor_worker_of(me)->parts[JZX__PART_OP];
}

/* message may be NULL. */
static void destroy_message(struct jzx_loop *loop, struct jzx__worker *me,
                            struct jzx__message *message) {
    if (message != NULL)
        jzx__message_destroy(loop, me, message);
}

/* ---- the word ---- */

/* Sets bits, for who holds the slot; what it was before. */
static uint64_t mark(struct jzx__op *op, uint64_t bits) {
    /* acquire and release: pairs with itself, DONE and ORPHAN meet here (O6), and with the acquire
     * in pin_to_cancel, for which PENDING publishes the slot */
    return jzx__atomic_or_acq_rel(&op->state, bits);
}

/* Holds the slot no more; the last one frees it (O2). */
static void let_go(struct jzx__op *op, struct jzx__worker *me, uint64_t holder) {
    /* acquire and release: pairs with the same of the others that held it; all that they did to the
     * slot is over before it is used again */
    uint64_t before = jzx__atomic_add_acq_rel(&op->state, 0u - holder);
    JZX_ASSERT((before & holder) != 0);
    if ((before & JZX__OP_HOLDERS) != holder)
        return;
    if (op->ops->release != NULL)
        op->ops->release(op, me);
    uint64_t next = (before | (JZX__OP_GENERATION_ONE - 1)) + 1;
    /* release: pairs with the acquire of who still has the id: it sees another generation */
    jzx__atomic_store_release(&op->state, next);
    if (next != 0) /* O7 */
        jzx__op_slot_free(jzx__op_slots_of(op->loop), cache_of(me), op);
}

/* Asks for the cancel of one that this thread pins by it (O5). False if it is over, or another. If
 * somebody has asked before there is nothing to do: *op is NULL. */
static bool pin_to_cancel(struct jzx_loop *loop, jzx_op id, struct jzx__op **op) {
    *op = jzx__op_slot_at(jzx__op_slots_of(loop), (uint32_t)id);
    if (*op == NULL)
        return false;
    /* acquire: pairs with the release in jzx__op_launch; the slot is that operation's, or later */
    uint64_t state = jzx__atomic_load_acquire(&(*op)->state);
    do {
        if (state >> 32 != id >> 32 ||
            (state & (JZX__OP_PENDING | JZX__OP_DONE)) != JZX__OP_PENDING)
            return false;
        if (state & JZX__OP_CANCEL) {
            *op = NULL;
            return true;
        }
        /* acquire: pairs with the release in jzx__op_launch; the slot may be read */
    } while (
        !jzx__atomic_cas_acq_rel(&(*op)->state, &state, state | JZX__OP_CANCEL | JZX__OP_PINNED));
    return true;
}

/* ---- begin ---- */

/* The message that it completes by, or the block for its data. NULL without memory. */
static struct jzx__message *make_message(struct jzx__own *own, const struct jzx__op_spec *spec) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    const size_t len = sizeof(jzx_result) + spec->capacity;
    struct jzx__message *message =
        spec->destructor == NULL ? jzx__message_create(loop, own->me, len)
                                 : jzx__message_create_large(loop, own->me, len, spec->destructor);
    if (message == NULL)
        return NULL;
    if (spec->destructor != NULL)
        memset(message->payload, 0, sizeof(jzx_result)); /* it may run before there is a result */
    message->node.generation = jzx_id_generation(own->turn->ctx.self);
    message->node.weight = 0; /* O3 */
    message->node.lane = JZX__LANE_OP;
    message->sender = JZX_NOBODY;
    message->tag = spec->tag;
    return message;
}

static const struct jzx__source_ops source_ops;

static void fill(struct jzx__op *op, struct jzx__own *own, const struct jzx__op_spec *spec,
                 struct jzx__message *message) {
    struct jzx__actor_ops *ops = jzx__own_part(own, JZX__PART_OP);
    op->loop = own->turn->ctx.loop;
    op->ops = spec->ops;
    op->message = message;
    op->owner = own->turn->ctx.self;
    op->is_waited = spec->is_waited;
    op->borrows = spec->borrows;
    op->has_target = false;
    op->os_error = 0;
    jzx__list_push_back(&ops->listed, &op->at_owner);
    if (op->is_waited)
        jzx__source_init(&op->source, &jzx__op_slots_of(op->loop)->locks[op->index % JZX__OP_LOCKS],
                         &source_ops);
    /* relaxed: nobody else changes a free one */
    uint64_t generation = jzx__atomic_load_relaxed(&op->state);
    JZX_ASSERT((generation & (JZX__OP_GENERATION_ONE - 1)) == 0);
    if (message != NULL)
        jzx__op_result(op)->op = generation | op->index;
    /* relaxed: an operation that is not PENDING is nobody else's */
    jzx__atomic_store_relaxed(&op->state, generation | JZX__OP_LISTED |
                                              (spec->is_claimable ? JZX__OP_CLAIMABLE : 0));
}

/* The record of the actor, with what an operation that borrows needs. */
static bool ensure_record(struct jzx__own *own, const struct jzx__op_spec *spec) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    if (!jzx__own_ensure_part(own, JZX__PART_OP))
        return false;
    struct jzx__actor_ops *ops = jzx__own_part(own, JZX__PART_OP);
    if (spec->borrows && ops->kept == NULL)
        ops->kept = jzx__sched_alloc(&loop->sched, own->me, KEPT_CLASS);
    return !spec->borrows || ops->kept != NULL;
}

/* Why none may begin; JZX_OK if it may. */
static jzx_err refusal(const struct jzx__own *own, const struct jzx__op_spec *spec) {
    const struct jzx_loop *loop = own->turn->ctx.loop;
    if (spec->capacity > JZX_MSG_LEN_MAX - sizeof(jzx_result) || spec->tag >= JZX_TAG_RESERVED)
        return JZX_ERR_INVALID_ARG;
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    if ((jzx__task_inbox(&own->turn->actor->task) & JZX__INBOX_CLOSED) == 0)
        return JZX_OK;
    return spec->is_waited ? JZX_ERR_CANCELLED : JZX_ERR_NO_SUCH_ACTOR;
}

jzx_err jzx__op_begin(struct jzx__own *own, const struct jzx__op_spec *spec, struct jzx__op **op) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    bool has_message = !spec->is_waited || spec->capacity != 0;
    jzx_err err = refusal(own, spec);
    if (err != JZX_OK)
        return err;
    if (!ensure_record(own, spec))
        return JZX_ERR_NO_MEMORY;
    struct jzx__message *message = has_message ? make_message(own, spec) : NULL;
    if (has_message && message == NULL)
        return JZX_ERR_NO_MEMORY;
    struct jzx__op *made = jzx__op_slot_alloc(jzx__op_slots_of(loop), cache_of(own->me));
    if (made == NULL) {
        destroy_message(loop, own->me, message);
        return JZX_ERR_NO_MEMORY;
    }
    fill(made, own, spec, message);
    *op = made;
    return JZX_OK;
}

jzx_err jzx__op_begin_for(struct jzx_loop *loop, struct jzx__worker *me,
                          const struct jzx__op_ops *ops, const struct jzx__op_target *target,
                          struct jzx__op **op) {
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    struct jzx__op *made = jzx__op_slot_alloc(jzx__op_slots_of(loop), cache_of(me));
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    made->loop = loop;
    made->ops = ops;
    made->message = NULL;
    made->owner = JZX_NOBODY;
    made->target = *target;
    made->os_error = 0;
    made->is_waited = false;
    made->borrows = false;
    made->has_target = true;
    *op = made;
    return JZX_OK;
}

void jzx__op_launch(struct jzx__op *op) {
    uint64_t before = mark(op, JZX__OP_PENDING); /* the release publishes the slot */
    JZX_ASSERT((before & JZX__OP_HOLDERS) == (op->has_target ? 0 : JZX__OP_LISTED));
}

void jzx__op_bring(struct jzx__op *op, struct jzx__worker *to) {
    JZX_ASSERT(!op->borrows); /* the node is for O9 then */
    (void)jzx__worker_bring(to, JZX__FEED_OP_MAIL, &op->mail);
}

bool jzx__op_is_cancelled(struct jzx__op *op) {
    return (mark(op, 0) & JZX__OP_CANCEL) != 0; /* a write, so that it and CANCEL have an order */
}

void jzx__op_undo(struct jzx__own *own, struct jzx__op *op) {
    struct jzx__message *message = op->message;
    jzx__list_remove(&op->at_owner);
    uint64_t before = mark(op, JZX__OP_DONE); /* a cancel by a guessed id finds nothing to do */
    JZX_ASSERT((before & JZX__OP_DONE) == 0);
    let_go(op, own->me, JZX__OP_LISTED);
    let_go(op, own->me, JZX__OP_PENDING);
    destroy_message(own->turn->ctx.loop, own->me, message);
}

void jzx__op_undo_for(struct jzx__op *op, struct jzx__worker *me) {
    uint64_t before = mark(op, JZX__OP_DONE); /* as above */
    JZX_ASSERT((before & JZX__OP_DONE) == 0);
    let_go(op, me, JZX__OP_PENDING);
}

/* ---- complete ---- */

/* Who has set DONE has the message (O1). */
static void deliver(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id owner,
                    struct jzx__message *message) {
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, owner);
    if (actor == NULL || !jzx__worker_owns(me, &actor->task))
        message->node.flags |= JZX__MSG_UNCOUNTED;
    if (actor == NULL || jzx__mailbox_deliver(loop, me, actor, message) != JZX_OK)
        jzx__message_destroy(loop, me, message); /* it has ended, or works off its queue */
}

/* The end of the owner waits for it (O9). */
static void bring_to_owner(struct jzx__op *op) {
    struct jzx__op_slots *slots = jzx__op_slots_of(op->loop);
    struct jzx__worker *home = op->home;
    jzx__worker_bring(home, JZX__FEED_OP_MAIL,
                      &op->mail); /* the owner may let it go from here on */
    /* release: pairs with the acquire in abort_held; the mail is there */
    jzx__atomic_add_acq_rel(&slots->brought, 1u);
    jzx__futex_wake(&slots->brought);
}

/* DONE, for one that is waited for; whoever waits at its source goes on. */
static uint64_t finish_waited(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx__wake wake;
    jzx__lock_acquire(op->source.lock);
    uint64_t before = mark(op, JZX__OP_DONE);
    (void)jzx__source_claim(&op->source, JZX__CAUSE_ITEM, &wake);
    jzx__lock_release(op->source.lock);
    jzx__wake_make(&wake, me);
    return before;
}

static void complete_waited(struct jzx__op *op, struct jzx__worker *me, jzx_err err, size_t len) {
    op->err = (int16_t)err;
    op->len = (uint32_t)len;
    uint64_t before = finish_waited(op, me);
    JZX_ASSERT((before & (JZX__OP_PENDING | JZX__OP_DONE)) == JZX__OP_PENDING); /* O1 */
    if (before & JZX__OP_ORPHAN)
        destroy_message(op->loop, me, op->message);
    if (before & JZX__OP_HELD)
        bring_to_owner(op);
}

static void complete_by_message(struct jzx__op *op, struct jzx__worker *me, jzx_err err,
                                size_t len) {
    struct jzx__message *message = op->message;
    jzx_result *result = jzx__op_result(op);
    result->err = (int16_t)err;
    result->os_error = op->os_error;
    result->len = (uint32_t)len;
    uint64_t before = mark(op, JZX__OP_DONE);
    JZX_ASSERT((before & (JZX__OP_PENDING | JZX__OP_DONE)) == JZX__OP_PENDING); /* O1 */
    if (before & JZX__OP_ORPHAN)
        jzx__message_destroy(op->loop, me, message);
    else
        deliver(op->loop, me, op->owner, message);
}

static void complete_target(struct jzx__op *op, struct jzx__worker *me, jzx_err err, size_t len) {
    op->err = (int16_t)err;
    op->len = (uint32_t)len;
    uint64_t before = mark(op, JZX__OP_DONE);
    JZX_ASSERT((before & (JZX__OP_PENDING | JZX__OP_DONE)) == JZX__OP_PENDING); /* O1 */
    op->target.settle(op, me);
}

void jzx__op_complete(struct jzx__op *op, struct jzx__worker *me, jzx_err err, const void *data,
                      size_t len) {
    JZX_ASSERT(len <= jzx__op_capacity(op));
    if (data != NULL && len != 0)
        memcpy(jzx__op_data(op), data, len);
    if (op->is_waited)
        complete_waited(op, me, err, len);
    else if (op->has_target)
        complete_target(op, me, err, len);
    else
        complete_by_message(op, me, err, len);
    let_go(op, me, JZX__OP_PENDING);
}

struct jzx__op *jzx__op_claim(struct jzx_loop *loop, jzx_op id, const struct jzx__op_ops *ops) {
    const uint64_t wanted = JZX__OP_PENDING | JZX__OP_CLAIMABLE;
    const uint64_t mask = wanted | JZX__OP_DONE | JZX__OP_CLAIMED;
    struct jzx__op *op = jzx__op_slot_at(jzx__op_slots_of(loop), (uint32_t)id);
    if (op == NULL)
        return NULL;
    /* acquire: pairs with the release in jzx__op_launch; the slot is that operation's, or later */
    uint64_t state = jzx__atomic_load_acquire(&op->state);
    do {
        if (state >> 32 != id >> 32 || (state & mask) != wanted)
            return NULL;
        /* acquire: pairs with the release in jzx__op_launch; the slot may be read. release: pairs
         * with the acquire of the next claim, which finds it taken */
    } while (!jzx__atomic_cas_acq_rel(&op->state, &state, state | JZX__OP_CLAIMED));
    if (JZX_LIKELY(op->ops == ops))
        return op;
    /* release: pairs with the acquire of the claim of its own part */
    (void)jzx__atomic_add_acq_rel(&op->state, 0u - (uint64_t)JZX__OP_CLAIMED);
    return NULL;
}

bool jzx__op_grow(struct jzx__op *op, struct jzx__worker *me, size_t capacity) {
    struct jzx__message *old = op->message;
    if (capacity <= jzx__op_capacity(op))
        return true;
    struct jzx__message *grown = jzx__message_create(op->loop, me, sizeof(jzx_result) + capacity);
    if (grown == NULL)
        return false;
    grown->node.generation = old->node.generation;
    grown->node.weight = old->node.weight;
    grown->node.lane = old->node.lane;
    grown->sender = old->sender;
    grown->tag = old->tag;
    memcpy(grown->payload, old->payload, sizeof(jzx_result));
    op->message = grown;
    old->node.lane = JZX__LANE_USER; /* a block as any */
    jzx__message_destroy(op->loop, me, old);
    return true;
}

/* O2: it is LISTED. The message is in the mailbox, or on its way there: the turn has it. */
bool jzx__op_revoke(struct jzx__own *own, struct jzx__op *op) {
    if (op->ops->revoke == NULL || !jzx__op_is_done(op) || jzx__op_result(op)->err != JZX_OK)
        return true;
    return op->ops->revoke(op, own->me);
}

void jzx__op_restore(struct jzx__own *own, struct jzx__op *op) {
    if (op->ops->restore != NULL)
        op->ops->restore(op, own->me);
}

/* ---- cancel ---- */

static void call_cancel(struct jzx__op *op, struct jzx__worker *me) {
    if (op->ops->cancel != NULL)
        op->ops->cancel(op, me);
}

jzx_err jzx_op_cancel(jzx_loop *loop, jzx_op id) {
    struct jzx__op *op;
    struct jzx__visit visit;
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    bool is_pending = pin_to_cancel(loop, id, &op);
    if (is_pending && op != NULL) {
        call_cancel(op, me);
        let_go(op, me, JZX__OP_PINNED);
    }
    jzx__visit_end(&visit);
    return is_pending ? JZX_OK : JZX_ERR_NO_SUCH_OP;
}

void *jzx_result_data(const jzx_result *result) {
    return result == NULL ? NULL : (void *)(uintptr_t)(result + 1);
}

/* ---- one that a fiber waits for ---- */

/* Under the lock, as DONE is set (O8). */
static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    const struct jzx__op *op = JZX_CONTAINER_OF(source, struct jzx__op, source);
    (void)link;
    /* relaxed: the lock orders it */
    bool is_done = (jzx__atomic_load_relaxed(&op->state) & JZX__OP_DONE) != 0;
    return is_done ? JZX__CAUSE_ITEM : JZX__CAUSE_NONE;
}

/* The result stays in the slot, for who waits. */
static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    (void)source;
    (void)link;
    (void)wake;
    return true;
}

static const struct jzx__source_ops source_ops = {.look = look, .take = take};

void jzx__op_end(struct jzx__own *own, struct jzx__op *op) {
    struct jzx__message *message = op->message;
    jzx__list_remove(&op->at_owner);
    let_go(op, own->me, JZX__OP_LISTED);
    destroy_message(own->turn->ctx.loop, own->me, message);
}

bool jzx__op_abandon(struct jzx__own *own, struct jzx__op *op) {
    uint64_t before = mark(op, JZX__OP_ORPHAN | JZX__OP_CANCEL);
    if (before & JZX__OP_DONE)
        return false;
    jzx__list_remove(&op->at_owner);
    if ((before & JZX__OP_CANCEL) == 0)
        call_cancel(op, own->me);
    let_go(op, own->me, JZX__OP_LISTED);
    return true;
}

/* ---- its message ---- */

/* One of another thread is counted as accepted by the actor's owner, so that the books never miss a
 * message that was handled: nobody can know when that thread would have counted it. */
static void count_accepted(struct jzx__worker *me, struct jzx__node *node) {
    if ((node->flags & JZX__MSG_UNCOUNTED) == 0)
        return;
    node->flags &= (uint8_t)~JZX__MSG_UNCOUNTED;
    jzx__counter_add(&me->counters.accepted, 1);
}

static enum jzx__filed file(struct jzx__worker *me, struct jzx__actor *actor,
                            struct jzx__node *node) {
    (void)actor;
    count_accepted(me, node);
    return JZX__FILED_KEEP;
}

static void bury(struct jzx__worker *me, struct jzx__node *node, const struct jzx__addressee *to) {
    count_accepted(me, node);
    jzx__message_bury(jzx__loop_of(me), me, jzx__message_of(node), to->id, to->name);
}

/* It is about to be handled: from here on it is a message as any. */
static enum jzx__look begin(struct jzx__worker *me, const struct jzx__spot *at) {
    const jzx_result *result = (void *)jzx__message_of(at->node)->payload;
    struct jzx__op *op = jzx__op_slot_at(jzx__op_slots_of(jzx__loop_of(me)), (uint32_t)result->op);
    JZX_ASSERT(op != NULL && jzx__op_id(op) == result->op); /* O2: it is LISTED */
    jzx__mailbox_looked(at->actor);
    at->node->lane = JZX__LANE_RUNTIME;
    jzx__list_remove(&op->at_owner);
    if (op->ops->handle != NULL)
        op->ops->handle(op, me, at->actor);
    let_go(op, me, JZX__OP_LISTED);
    return JZX__LOOK_HANDLE;
}

const struct jzx__lane_ops jzx__lane_op = {.file = file, .begin = begin, .bury = bury};

/* ---- the part of an actor ---- */

static void init(void *record) {
    struct jzx__actor_ops *ops = record;
    jzx__list_init(&ops->listed);
    jzx__list_init(&ops->held);
}

/* The actor ends (O6), and does not wait for it. */
static void orphan(struct jzx__op *op, struct jzx__worker *me) {
    uint64_t before = mark(op, JZX__OP_ORPHAN | JZX__OP_CANCEL);
    struct jzx__message *message = op->is_waited && (before & JZX__OP_DONE) ? op->message : NULL;
    if ((before & (JZX__OP_DONE | JZX__OP_CANCEL)) == 0)
        call_cancel(op, me);
    let_go(op, me, JZX__OP_LISTED);
    destroy_message(jzx__loop_of(me), me, message); /* that of another is in its mailbox */
}

/* The same for one that borrows (O9). */
static void hold(struct jzx__actor_ops *ops, struct jzx__op *op, struct jzx__worker *me) {
    op->home = me;
    uint64_t before = mark(op, JZX__OP_ORPHAN | JZX__OP_CANCEL | JZX__OP_HELD);
    if (before & JZX__OP_DONE) {
        struct jzx__message *message = op->message;
        let_go(op, me, JZX__OP_LISTED);
        destroy_message(jzx__loop_of(me), me, message);
        return;
    }
    jzx__list_push_back(&ops->held, &op->at_owner);
    if ((before & JZX__OP_CANCEL) == 0)
        call_cancel(op, me);
}

static void orphan_all(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__actor_ops *ops = jzx__actor_part(actor, JZX__PART_OP);
    struct jzx__link *link;
    while ((link = jzx__list_pop_front(&ops->listed)) != NULL) {
        struct jzx__op *op = JZX_CONTAINER_OF(link, struct jzx__op, at_owner);
        if (op->borrows)
            hold(ops, op, me);
        else
            orphan(op, me);
    }
}

static struct jzx__ending_kept *quiesce(struct jzx__worker *me, struct jzx__actor *actor) {
    const struct jzx__actor_ops *ops = jzx__actor_part(actor, JZX__PART_OP);
    (void)me;
    return jzx__list_is_empty(&ops->held) ? NULL : ops->kept;
}

/* An end has waited for its completion (O9). */
static void take_held(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__actor *actor = jzx__table_slot(&loop->table, jzx_id_index(op->owner));
    struct jzx__actor_ops *ops = jzx__actor_part(actor, JZX__PART_OP);
    jzx__list_remove(&op->at_owner);
    let_go(op, me, JZX__OP_LISTED);
    if (jzx__list_is_empty(&ops->held) && actor->task.place == JZX__ENDING && !ops->aborts)
        jzx__actor_finish(me, actor, ops->kept);
}

static void take_mail(struct jzx__worker *me, uint32_t max) {
    struct jzx__mpsc_node *node = jzx__mpsc_take_all(jzx__worker_queue(me, JZX__FEED_OP_MAIL));
    (void)max;
    while (node != NULL) {
        struct jzx__op *op = JZX_CONTAINER_OF(node, struct jzx__op, mail);
        node = node->next;
        if (op->borrows)
            take_held(op, me);
        else
            op->ops->arrive(op, me);
    }
}

const struct jzx__feed_ops jzx__op_mail = {.take = take_mail};

/* The loop ends, and waits for what its actors have lent. */
static void abort_held(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__op_slots *slots = jzx__op_slots_of(jzx__loop_of(me));
    struct jzx__actor_ops *ops = jzx__actor_part(actor, JZX__PART_OP);
    ops->aborts = true;
    if (slots->drain != NULL)
        slots->drain(jzx__loop_of(me), me);
    for (;;) {
        /* acquire: pairs with the release in bring_to_owner */
        uint32_t brought = jzx__atomic_load_acquire(&slots->brought);
        take_mail(me, UINT32_MAX);
        if (jzx__list_is_empty(&ops->held))
            return;
        jzx__futex_wait(&slots->brought, brought, 0);
    }
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    struct jzx__actor_ops *ops = record;
    if (ops->kept != NULL)
        jzx__sched_free(&loop->sched, me, KEPT_CLASS, ops->kept);
    jzx__sched_free(&loop->sched, me, JZX__PART_CLASS, record);
}

static size_t size_bytes(const void *record) {
    const struct jzx__actor_ops *ops = record;
    return jzx__slab_class_size(JZX__PART_CLASS) +
           (ops->kept != NULL ? jzx__slab_class_size(KEPT_CLASS) : 0);
}

/* ---- the part of a loop ---- */

static void close_ops(struct jzx_loop *loop) {
    struct jzx__op_slots *slots = jzx__op_slots_of(loop);
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        struct jzx__actor_worker *worker = jzx__actor_worker_of(loop->sched.workers[i]);
        struct jzx__op_cache *cache = worker->parts[JZX__PART_OP];
        if (cache != NULL) {
            jzx__op_cache_deinit(slots, cache);
            jzx__free(&loop->sched.allocator, cache, sizeof *cache);
        }
        worker->parts[JZX__PART_OP] = NULL;
    }
    jzx__op_slots_deinit(slots);
    jzx__free_aligned(&loop->sched.allocator, slots, sizeof *slots, _Alignof(struct jzx__op_slots));
    loop->parts[JZX__PART_OP] = NULL;
}

static bool open_ops(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    struct jzx__op_slots *slots =
        jzx__alloc_aligned(&loop->sched.allocator, sizeof *slots, _Alignof(struct jzx__op_slots));
    if (slots == NULL)
        return false;
    jzx__op_slots_init(slots, &loop->sched.allocator);
    loop->parts[JZX__PART_OP] = slots;
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        struct jzx__op_cache *cache = jzx__alloc(&loop->sched.allocator, sizeof *cache);
        if (cache == NULL) {
            close_ops(loop);
            return false;
        }
        *cache = (struct jzx__op_cache){0};
        jzx__actor_worker_of(loop->sched.workers[i])->parts[JZX__PART_OP] = cache;
    }
    return true;
}

const struct jzx__part_ops jzx__part_op = {.open = open_ops,
                                           .close = close_ops,
                                           .init = init,
                                           .cancel = orphan_all,
                                           .quiesce = quiesce,
                                           .abort = abort_held,
                                           .release = release,
                                           .size_bytes = size_bytes};
