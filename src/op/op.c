/* SPDX-License-Identifier: MIT */
/* The life of an operation: begin, complete or cancel, and the end of its owner. */
#include "op/op.h"

#include "actor/mailbox.h"
#include "base/alloc.h"

#include <string.h>

static struct jzx__op_cache *cache_of(struct jzx__worker *me) {
    return me == NULL ? NULL : jzx__actor_worker_of(me)->parts[JZX__PART_OP];
}

/* ---- the word ---- */

/* Sets bits, for who holds the slot; what it was before. */
static uint64_t mark(struct jzx__op *op, uint64_t bits) {
    /* acquire and release: DONE and ORPHAN meet here (O6), each sees what the other did before */
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

/* The message that it completes by. NULL without memory. */
static struct jzx__message *make_message(struct jzx__own *own, const struct jzx__op_spec *spec) {
    struct jzx__message *message =
        jzx__message_create(own->turn->ctx.loop, own->me, sizeof(jzx_result) + spec->capacity);
    if (message == NULL)
        return NULL;
    message->node.generation = jzx_id_generation(own->turn->ctx.self);
    message->node.weight = 0; /* O3 */
    message->node.lane = JZX__LANE_OP;
    message->sender = JZX_NOBODY;
    message->tag = spec->tag;
    return message;
}

static void fill(struct jzx__op *op, struct jzx__own *own, const struct jzx__op_ops *ops,
                 struct jzx__message *message) {
    struct jzx__actor_ops *listed = jzx__own_part(own, JZX__PART_OP);
    op->loop = own->turn->ctx.loop;
    op->ops = ops;
    op->message = message;
    op->owner = own->turn->ctx.self;
    jzx__list_push_back(&listed->listed, &op->at_owner);
    /* relaxed: nobody else changes a free one */
    uint64_t generation = jzx__atomic_load_relaxed(&op->state);
    JZX_ASSERT((generation & (JZX__OP_GENERATION_ONE - 1)) == 0);
    jzx__op_result(op)->op = generation | op->index;
    /* relaxed: an operation that is not PENDING is nobody else's */
    jzx__atomic_store_relaxed(&op->state, generation | JZX__OP_LISTED);
}

jzx_err jzx__op_begin(struct jzx__own *own, const struct jzx__op_spec *spec, struct jzx__op **op) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    if (spec->capacity > JZX_MSG_LEN_MAX - sizeof(jzx_result) || spec->tag >= JZX_TAG_RESERVED)
        return JZX_ERR_INVALID_ARG;
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    if (jzx__task_inbox(&own->turn->actor->task) & JZX__INBOX_CLOSED)
        return jzx__mailbox_gone(loop);
    if (!jzx__own_ensure_part(own, JZX__PART_OP))
        return JZX_ERR_NO_MEMORY;
    struct jzx__message *message = make_message(own, spec);
    if (message == NULL)
        return JZX_ERR_NO_MEMORY;
    struct jzx__op *made = jzx__op_slot_alloc(jzx__op_slots_of(loop), cache_of(own->me));
    if (made == NULL) {
        jzx__message_destroy(loop, own->me, message);
        return JZX_ERR_NO_MEMORY;
    }
    fill(made, own, spec->ops, message);
    *op = made;
    return JZX_OK;
}

void jzx__op_launch(struct jzx__op *op) {
    uint64_t before = mark(op, JZX__OP_PENDING); /* the release publishes the slot */
    JZX_ASSERT((before & JZX__OP_HOLDERS) == JZX__OP_LISTED);
}

void jzx__op_undo(struct jzx__own *own, struct jzx__op *op) {
    struct jzx__message *message = op->message;
    jzx__list_remove(&op->at_owner);
    uint64_t before = mark(op, JZX__OP_DONE); /* a cancel by a guessed id finds nothing to do */
    JZX_ASSERT((before & JZX__OP_DONE) == 0);
    let_go(op, own->me, JZX__OP_LISTED);
    let_go(op, own->me, JZX__OP_PENDING);
    jzx__message_destroy(own->turn->ctx.loop, own->me, message);
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

void jzx__op_complete(struct jzx__op *op, struct jzx__worker *me, jzx_err err, const void *data,
                      size_t len) {
    struct jzx_loop *loop = op->loop;
    struct jzx__message *message = op->message;
    jzx_result *result = jzx__op_result(op);
    JZX_ASSERT(len <= jzx__op_capacity(op));
    result->err = err;
    result->len = (uint32_t)len;
    if (data != NULL && len != 0)
        memcpy(jzx__op_data(op), data, len);
    uint64_t before = mark(op, JZX__OP_DONE);
    JZX_ASSERT((before & (JZX__OP_PENDING | JZX__OP_DONE)) == JZX__OP_PENDING); /* O1 */
    if (before & JZX__OP_ORPHAN)
        jzx__message_destroy(loop, me, message);
    else
        deliver(loop, me, op->owner, message);
    let_go(op, me, JZX__OP_PENDING);
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
    let_go(op, me, JZX__OP_LISTED);
    return JZX__LOOK_HANDLE;
}

const struct jzx__lane_ops jzx__lane_op = {.file = file, .begin = begin, .bury = bury};

/* ---- the part of an actor ---- */

static void init(void *record) {
    struct jzx__actor_ops *ops = record;
    jzx__list_init(&ops->listed);
}

/* The actor ends (O6). */
static void orphan(struct jzx__op *op, struct jzx__worker *me) {
    uint64_t before = mark(op, JZX__OP_ORPHAN | JZX__OP_CANCEL);
    if ((before & (JZX__OP_DONE | JZX__OP_CANCEL)) == 0)
        call_cancel(op, me);
    let_go(op, me, JZX__OP_LISTED);
}

static void orphan_all(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__actor_ops *ops = jzx__actor_part(actor, JZX__PART_OP);
    struct jzx__link *link;
    while ((link = jzx__list_pop_front(&ops->listed)) != NULL)
        orphan(JZX_CONTAINER_OF(link, struct jzx__op, at_owner), me);
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    jzx__sched_free(&loop->sched, me, JZX__PART_CLASS, record);
}

static size_t size_bytes(const void *record) {
    (void)record;
    return jzx__slab_class_size(JZX__PART_CLASS);
}

/* ---- the part of a loop ---- */

static void close_ops(struct jzx_loop *loop) {
    struct jzx__op_slots *slots = jzx__op_slots_of(loop);
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        struct jzx__actor_worker *worker = jzx__actor_worker_of(loop->sched.workers[i]);
        if (worker->parts[JZX__PART_OP] != NULL)
            jzx__free(&loop->sched.allocator, worker->parts[JZX__PART_OP],
                      sizeof(struct jzx__op_cache));
        worker->parts[JZX__PART_OP] = NULL;
    }
    jzx__op_slots_deinit(slots);
    jzx__free(&loop->sched.allocator, slots, sizeof *slots);
    loop->parts[JZX__PART_OP] = NULL;
}

static bool open_ops(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    struct jzx__op_slots *slots = jzx__alloc(&loop->sched.allocator, sizeof *slots);
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
                                           .release = release,
                                           .size_bytes = size_bytes};
