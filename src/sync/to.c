/* SPDX-License-Identifier: MIT */
/* An operation as the waiting party (T1-T4 of to.h). */
#include "sync/to.h"

#include <string.h>

/* What the operation has in its slot. */
static struct jzx__to **record_of(struct jzx__op *op) {
    return jzx__op_own(op);
}

/* ---- the wait ---- */

/* T2. */
static bool is_promised(const struct jzx__to *to) {
    return to->kind->handle != NULL && jzx__cause_kind(to->cause) == JZX__CAUSE_ITEM;
}

/* The wait was claimed; whoever calls this is the party (T1). */
static void end_wait(struct jzx__to *to, struct jzx__worker *me) {
    size_t len = 0;
    to->cause = jzx__waiter_end(&to->waiter);
    jzx__sources_vacate(to->links, to->count, to->cause, me);
    jzx_err err = jzx__cause_err(to->cause);
    if (to->kind->settle != NULL)
        err = to->kind->settle(to, err, me, &len);
    if (!is_promised(to))
        jzx__sources_release(to->links, to->count); /* T3 */
    jzx__op_complete(to->op, me, err, NULL, len);
}

static void wake(void *who, struct jzx__worker *me) {
    end_wait(who, me);
}

static void begin_wait(struct jzx__to *to) {
    jzx__waiter_begin(&to->waiter, (struct jzx__wait_what){.kind = "operation"});
}

/* True if the wait is over, by a claim that wakes nobody. */
static bool join_and_arm(struct jzx__to *to, struct jzx__worker *me) {
    jzx__waiter_join(&to->waiter, to->links, to->count, me);
    return jzx__waiter_arm(&to->waiter) == JZX__ARM_CLAIMED;
}

static void wait(struct jzx__to *to, struct jzx__worker *me) {
    while (join_and_arm(to, me)) {
        if (jzx__cause_kind(jzx__waiter_cause(&to->waiter)) != JZX__CAUSE_AGAIN) {
            end_wait(to, me);
            return;
        }
        (void)jzx__waiter_end(&to->waiter);
        begin_wait(to);
        if (jzx__op_is_cancelled(to->op)) /* by one who may have found the last wait claimed */
            (void)jzx__waiter_withdraw(&to->waiter, JZX__CAUSE_CANCELLED);
    }
}

/* ---- the operation ---- */

static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx__to *to = *record_of(op);
    (void)jzx__waiter_cancel(&to->waiter, jzx__waiter_epoch(&to->waiter), JZX__CAUSE_CANCELLED, me);
}

static void give_back(struct jzx__to *to, struct jzx__worker *me) {
    struct jzx__wait_link *won = &to->links[jzx__cause_index(to->cause)];
    if (won->source->ops->give_back != NULL)
        won->source->ops->give_back(won->source, won, me);
}

static void handle(struct jzx__op *op, struct jzx__worker *me, struct jzx__actor *owner) {
    struct jzx__to *to = *record_of(op);
    if (!is_promised(to))
        return;
    to->is_handled = true;
    if (!to->kind->handle(to, me, owner))
        give_back(to, me);
    jzx__sources_release(to->links, to->count); /* T3 */
}

static void release(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx__to *to = *record_of(op);
    if (is_promised(to) && !to->is_handled) {
        give_back(to, me);
        jzx__sources_release(to->links, to->count); /* T3 */
    }
    if (to->kind->release != NULL)
        to->kind->release(to, me);
    jzx__sched_free(&op->loop->sched, me, to->class_index, to);
}

static const struct jzx__op_ops to_ops = {.cancel = cancel, .handle = handle, .release = release};

/* ---- a call ---- */

static struct jzx__to *make_record(const struct jzx__own *own, const struct jzx__to_spec *spec) {
    uint32_t class_index = jzx__slab_class(spec->record_size);
    struct jzx__to *to = jzx__sched_alloc(&own->turn->ctx.loop->sched, own->me, class_index);
    if (to == NULL)
        return NULL;
    memset(to, 0, spec->record_size);
    to->kind = spec->kind;
    to->class_index = class_index;
    const struct jzx__actor *owner = own->turn->actor;
    jzx__waiter_init(&to->waiter, wake, to);
    jzx__mortal_init(&to->mortal, &owner->task, jzx_id_generation(own->turn->ctx.self),
                     jzx__actor_fatal(owner));
    return to;
}

static jzx_err make(struct jzx__to_call *call, const struct jzx__to_spec *spec) {
    struct jzx_loop *loop = call->own.turn->ctx.loop;
    const struct jzx__op_spec of_op = {
        .ops = &to_ops, .capacity = spec->capacity, .tag = spec->tag};
    if (spec->object != NULL && loop != spec->object->loop)
        return JZX_ERR_INVALID_ARG;
    call->to = make_record(&call->own, spec);
    if (call->to == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = jzx__op_begin(&call->own, &of_op, &call->to->op);
    if (err != JZX_OK)
        jzx__sched_free(&loop->sched, call->own.me, call->to->class_index, call->to);
    else
        *record_of(call->to->op) = call->to;
    return err;
}

jzx_err jzx__to_begin(struct jzx__to_call *call, const struct jzx__to_spec *spec,
                      const jzx_context *ctx) {
    if (!jzx__own_begin(&call->own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = make(call, spec);
    if (err != JZX_OK)
        jzx__own_end(&call->own);
    return err;
}

jzx_err jzx__to_refuse(struct jzx__to_call *call, jzx_err err) {
    jzx__op_launch(call->to->op);
    jzx__op_undo(&call->own, call->to->op);
    jzx__own_end(&call->own);
    return err;
}

void jzx__to_start(struct jzx__to_call *call, struct jzx__wait_link *links, uint32_t count,
                   jzx_op *op) {
    struct jzx__to *to = call->to;
    to->links = links;
    to->count = count;
    jzx__sources_ref(links, count);
    if (op != NULL)
        *op = jzx__op_id(to->op);
    begin_wait(to);
    jzx__op_launch(to->op);
    wait(to, call->own.me);
    jzx__own_end(&call->own);
}

void jzx__to_finish(struct jzx__to_call *call, jzx_err err, jzx_op *op) {
    if (op != NULL)
        *op = jzx__op_id(call->to->op);
    jzx__op_launch(call->to->op);
    jzx__op_complete(call->to->op, call->own.me, err, NULL, 0);
    jzx__own_end(&call->own);
}
