/* SPDX-License-Identifier: MIT */
/* Output, and the ways to wait for it. */
#include "command/output.h"

#include "base/alloc.h"
#include "future/future.h"
#include "op/op.h"
#include "sync/channel.h"

#include "jzx/combine.h"

#include <string.h>

/* ---- the blocks ---- */

struct block {
    jzx_output output; /* first */
    jzx_allocator allocator;
    size_t size;
    _Alignas(16) unsigned char data[];
};

void jzx_output_free(jzx_output *output) {
    if (output == NULL)
        return;
    struct block *block = JZX_CONTAINER_OF(output, struct block, output);
    jzx_allocator allocator = block->allocator;
    jzx__free(&allocator, block, block->size);
}

static void drop_output(void *object) {
    jzx_output_free(object);
}

static jzx_output *make_output(struct jzx_processor *processor, const jzx_action *action) {
    const size_t size = sizeof(struct block) + action->len;
    struct block *block = jzx__alloc(&processor->allocator, size);
    if (block == NULL)
        return NULL;
    block->output = (jzx_output){
        .source = action->source, .tag = action->tag, .len = action->len, .data = block->data};
    block->allocator = processor->allocator;
    block->size = size;
    if (action->len != 0)
        memcpy(block->data, action->data, action->len);
    return &block->output;
}

/* ---- the channel ---- */

void jzx__output_init(struct jzx_processor *processor) {
    jzx_err err =
        jzx_channel_init(processor->loop, &processor->output, JZX_UNBOUNDED, sizeof(jzx_output *));
    JZX_ASSERT(err == JZX_OK); /* its memory was cleared, and it needs none yet */
}

void jzx__output_deinit(struct jzx_processor *processor) {
    jzx_output *output;
    while (jzx_channel_try_receive(&processor->output, &output) == JZX_OK)
        jzx_output_free(output);
    jzx_err err = jzx_channel_deinit(&processor->output);
    JZX_ASSERT(err == JZX_OK);
}

/* A look under the channel's lock. */
struct look {
    bool is_waited;
    bool is_closed;
    size_t count;
};

static struct look look(struct jzx_processor *processor) {
    struct jzx__channel *channel = jzx__channel_of(&processor->output);
    struct jzx__caller caller;
    jzx__caller_begin_any(&caller, &channel->object);
    jzx__lock_acquire(&channel->lock);
    const struct look found = {.is_waited = channel->promised != 0 ||
                                            !jzx__list_is_empty(&channel->receivers.waiting),
                               .is_closed = channel->is_closed,
                               .count = channel->count};
    jzx__lock_release(&channel->lock);
    jzx__caller_end(&caller);
    return found;
}

bool jzx__output_is_waited(struct jzx_processor *processor) {
    return look(processor).is_waited;
}

jzx_output_state jzx_processor_output_state(jzx_processor *processor) {
    if (processor == NULL)
        return JZX_OUTPUT_COMPLETED;
    const struct look found = look(processor);
    if (found.is_closed)
        return found.count != 0 ? JZX_OUTPUT_DRAINING : JZX_OUTPUT_COMPLETED;
    return found.is_waited ? JZX_OUTPUT_AWAITS_VALUES : JZX_OUTPUT_AWAITS_READERS;
}

jzx_err jzx__output_push(struct jzx_processor *processor, const jzx_action *action) {
    jzx_output *output = make_output(processor, action);
    if (output == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = jzx_channel_try_send(&processor->output, &output);
    if (err != JZX_OK)
        jzx_output_free(output);
    return err == JZX_ERR_CLOSED ? JZX_OK : err;
}

/* ---- fibers and threads ---- */

jzx_err jzx_processor_next(jzx_context *ctx, jzx_processor *processor, uint64_t deadline_ns,
                           jzx_output **output) {
    if (processor == NULL || output == NULL)
        return JZX_ERR_INVALID_ARG;
    return jzx_channel_receive(ctx, &processor->output, deadline_ns, output);
}

jzx_err jzx_processor_next_wait(jzx_processor *processor, uint64_t deadline_ns,
                                jzx_output **output) {
    if (processor == NULL || output == NULL)
        return JZX_ERR_INVALID_ARG;
    return jzx_channel_receive_wait(&processor->output, deadline_ns, output);
}

jzx_err jzx_processor_try_next(jzx_processor *processor, jzx_output **output) {
    if (processor == NULL || output == NULL)
        return JZX_ERR_INVALID_ARG;
    return jzx_channel_try_receive(&processor->output, output);
}

/* ---- futures ---- */

/* Behind the value of the future. */
struct reader {
    struct jzx__waiter waiter;
    struct jzx__wait_link link;
    struct jzx__channel *channel;
};

static size_t extra_of(struct jzx_future *future) {
    (void)future;
    return sizeof(struct reader);
}

/* The wait is over (U1). */
static void finish(void *who, struct jzx__worker *me) {
    struct jzx_future *future = who;
    struct reader *reader = jzx__future_extra(future);
    jzx_promise *promise = (jzx_promise *)(void *)future;
    jzx_output *output;
    uint32_t cause = jzx__waiter_end(&reader->waiter);
    jzx__sources_vacate(&reader->link, 1, cause, me);
    if (jzx__cause_kind(cause) != JZX__CAUSE_ITEM) {
        (void)jzx_promise_reject(promise, jzx__cause_err(cause), NULL);
        return;
    }
    jzx__channel_take_promised(reader->channel, &output, me);
    (void)jzx_promise_resolve_moved(promise, output, drop_output);
}

static void cancel(struct jzx_future *future, struct jzx__worker *me) {
    struct reader *reader = jzx__future_extra(future);
    (void)jzx__waiter_cancel(&reader->waiter, 0, JZX__CAUSE_CANCELLED, me); /* U3 */
}

static const struct jzx__future_ops reader_ops = {.extra = extra_of, .cancel = cancel};

/* The wait of a future that was just made. */
static void begin(struct jzx_future *future, struct jzx__channel *channel, struct jzx__worker *me) {
    struct reader *reader = jzx__future_extra(future);
    *reader = (struct reader){.link = {.source = &channel->receivers}, .channel = channel};
    jzx__waiter_init(&reader->waiter, finish, future);
    uint32_t epoch = jzx__waiter_begin(
        &reader->waiter, (struct jzx__wait_what){.kind = "channel", .object = (uintptr_t)channel});
    JZX_ASSERT(epoch == 0); /* U3 */
    jzx__waiter_join(&reader->waiter, &reader->link, 1, me);
    if (jzx__waiter_arm(&reader->waiter) == JZX__ARM_CLAIMED)
        finish(future, me);
}

jzx_err jzx_processor_next_async(jzx_processor *processor, jzx_future **future) {
    struct jzx__caller caller;
    if (processor == NULL || future == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__channel *channel = jzx__channel_of(&processor->output);
    jzx__caller_begin_any(&caller, &channel->object);
    struct jzx_future *made =
        jzx__future_create(jzx__future_home_of(processor->loop), caller.me, sizeof(jzx_output *),
                           sizeof(struct reader), &reader_ops);
    if (made != NULL)
        begin(made, channel, caller.me);
    jzx__caller_end(&caller);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    *future = made;
    return JZX_OK;
}

/* ---- messages: the future's output, as an operation ---- */

/* What the operation has in its slot. It has the only handle to the future. */
struct delivery {
    struct jzx__then then;
};

_Static_assert(sizeof(struct delivery) <= JZX__OP_OWN_SIZE, "fits the slot");

/* The slot is not the delivery's any more after that. */
static void complete(struct jzx__op *op, struct jzx__worker *me, struct jzx_future *future) {
    jzx_err err = jzx__future_read(future, NULL);
    void *output = jzx_future_take(future);
    jzx__op_complete(op, me, err, &output, err == JZX_OK ? sizeof output : 0);
    jzx_future_release(future);
}

static void deliver(struct jzx__then *then, struct jzx_future *future, struct jzx__worker *me) {
    complete(jzx__op_of_own(JZX_CONTAINER_OF(then, struct delivery, then)), me, future);
}

/* The wait of the future ends, and that completes the operation, unless it was faster. The then
 * does not keep the future from being settled, so that a cancel is not lost; but the handle may be
 * given up meanwhile: off tells. */
static void cancel_delivery(struct jzx__op *op, struct jzx__worker *me) {
    struct delivery *delivery = jzx__op_own(op);
    struct jzx_future *future = delivery->then.future;
    if (!jzx__future_off(&delivery->then))
        return; /* it is complete, or about to be */
    cancel(future, me);
    if (!jzx__future_on(future, &delivery->then, deliver))
        complete(op, me, future);
}

static const struct jzx__op_ops delivery_ops = {.cancel = cancel_delivery};

/* Nobody has taken it out of the message. */
static void destroy_result(void *data, size_t len) {
    const jzx_result *result = data;
    jzx_output *output;
    (void)len;
    if (result->err != JZX_OK || result->len != sizeof output)
        return;
    memcpy(&output, result + 1, sizeof output);
    jzx_output_free(output);
}

jzx_output *jzx_processor_output_of(const jzx_message *msg) {
    jzx_output *output;
    if (msg == NULL || msg->len < sizeof(jzx_result) + sizeof output)
        return NULL;
    jzx_result *result = msg->data;
    if (result->err != JZX_OK || result->len != sizeof output)
        return NULL;
    memcpy(&output, result + 1, sizeof output);
    memset(result + 1, 0, sizeof output);
    return output;
}

static jzx_err begin_delivery(struct jzx__own *own, struct jzx_future *future, uint32_t tag,
                              jzx_op *id) {
    const struct jzx__op_spec spec = {.ops = &delivery_ops,
                                      .capacity = sizeof(jzx_output *),
                                      .tag = tag,
                                      .destructor = destroy_result};
    struct jzx__op *op;
    jzx_err err = jzx__op_begin(own, &spec, &op);
    if (err != JZX_OK)
        return err;
    struct delivery *delivery = jzx__op_own(op);
    *delivery = (struct delivery){.then = {.future = future, .lock = future->source.lock}};
    if (id != NULL)
        *id = jzx__op_id(op);
    jzx__op_launch(op);
    if (!jzx__future_on(future, &delivery->then, deliver))
        complete(op, own->me, future);
    return JZX_OK;
}

jzx_err jzx_processor_next_to(jzx_context *ctx, jzx_processor *processor, uint32_t tag,
                              jzx_op *op) {
    struct jzx__own own;
    jzx_future *future;
    if (processor == NULL || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = ctx->loop != processor->loop ? JZX_ERR_INVALID_ARG
                                               : jzx_processor_next_async(processor, &future);
    if (err == JZX_OK) {
        err = begin_delivery(&own, future, tag, op);
        if (err != JZX_OK)
            jzx_future_release(future);
    }
    jzx__own_end(&own);
    return err;
}
