/* SPDX-License-Identifier: MIT */
/* Actors that most programs need, the async ones.
 *
 * The work of an iterator has a fiber of its own, the **worker**, so that the actor's fiber hears
 * the next message meanwhile. It then moves to the next generation of its inbox, from which on
 * nothing of the old worker is heard (inbox.h), and kills it. */
#include "command/inbox.h"

#include "base/alloc.h"
#include "command/processor.h"

#include "jzx/exit.h"
#include "jzx/fiber.h"
#include "jzx/heap.h"

#include <string.h>

/* ---- from a future ---- */

static jzx_err create_future(void *state, jzx_processor_handle self, const void *config,
                             size_t len) {
    jzx_future_config *copy = state;
    (void)self;
    if (len != sizeof *copy)
        return JZX_ERR_INVALID_ARG;
    memcpy(copy, config, sizeof *copy);
    return copy->start == NULL || copy->tag >= JZX_TAG_RESERVED ||
                   copy->error_tag >= JZX_TAG_RESERVED
               ? JZX_ERR_INVALID_ARG
               : JZX_OK;
}

/* What it came to, as a message. */
static jzx_err bring_value(jzx_context *ctx, const jzx_future_config *config, jzx_future *future,
                           jzx_actions *out) {
    size_t size = jzx_future_value_size(future);
    void *value = size == 0 ? NULL : jzx_alloc(ctx, size);
    if (size != 0 && value == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = jzx_await(ctx, future, JZX_NEVER, value);
    return err == JZX_OK ? jzx_actions_send(out, config->to, config->tag, value, size) : err;
}

static void run_future(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_future_config *config = state;
    const jzx_action *msg;
    if (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) != JZX_OK)
        return;
    const jzx_message in = {.data = (void *)(uintptr_t)msg->data, .len = msg->len, .tag = msg->tag};
    jzx_actions *out = jzx_inbox_actions(inbox);
    jzx_future *future = config->start(config->arg, ctx->loop, &in);
    jzx_err err = JZX_ERR_FAILED;
    if (future != NULL) {
        err = bring_value(ctx, config, future, out);
        jzx_future_release(future);
    }
    if (err != JZX_OK)
        (void)jzx_actions_send(out, config->to, config->error_tag, &err, sizeof err);
    (void)jzx_actions_kill(out, jzx_actions_self(out));
}

const jzx_actor_factory jzx_future_actor =
    JZX_ACTOR_FACTORY(.type = "future", .state_size = sizeof(jzx_future_config),
                      .create = create_future, .run = run_future);

/* ---- from an iterator ---- */

/* One iteration, of its worker. The actor's fiber has a reference to it, too, by its subject. */
struct iteration {
    struct jzx_inbox *inbox;
    jzx_iterator_config config;
    uint64_t generation;
    jzx_message msg;
    size_t size;
    _Alignas(16) unsigned char scratch[JZX_SCAN_SIZE];
    _Alignas(16) unsigned char data[];
};

static jzx_err create_iterator(void *state, jzx_processor_handle self, const void *config,
                               size_t len) {
    jzx_iterator_config *copy = state;
    (void)self;
    if (len != sizeof *copy)
        return JZX_ERR_INVALID_ARG;
    memcpy(copy, config, sizeof *copy);
    return copy->fn == NULL ? JZX_ERR_INVALID_ARG : JZX_OK;
}

/* Sends an item; false if nobody wants it. */
static JZX_ACROSS_WAIT bool bring_item(struct iteration *iteration, const jzx_message *item) {
    struct jzx_inbox *inbox = iteration->inbox;
    struct jzx__roll roll = {.head = NULL};
    struct jzx_actions out = {
        .processor = inbox->processor, .self = inbox->subject, .roll = &roll, .passes = &roll};
    if (jzx_actions_send(&out, iteration->config.to, item->tag, item->data, item->len) == JZX_OK &&
        jzx__inbox_give(inbox, &roll, iteration->generation) == JZX_OK)
        return true;
    jzx__roll_clear(&roll, &inbox->processor->allocator);
    return false;
}

static void run_iteration(jzx_context *ctx) {
    struct iteration *iteration = ctx->state;
    const jzx_iterator_config *config = &iteration->config;
    bool goes_on = true;
    for (uint64_t index = 0; goes_on; index++) {
        jzx_message item = {.data = NULL};
        goes_on = config->fn(ctx, config->arg, iteration->scratch, &iteration->msg, index, &item) ==
                      JZX_OK &&
                  bring_item(iteration, &item);
    }
}

static void end_iteration(jzx_context *ctx, jzx_exit_reason reason) {
    struct iteration *iteration = ctx->state;
    struct jzx_processor *processor = iteration->inbox->processor;
    (void)reason;
    jzx__subject_release(processor, iteration->inbox->subject);
    jzx_allocator allocator = processor->allocator;
    jzx__free(&allocator, iteration, iteration->size);
    jzx__processor_release(processor);
}

static void refer(struct jzx_inbox *inbox, int by) {
    struct jzx__visit visit;
    jzx__processor_lock(inbox->processor, &visit);
    inbox->subject->references = (uint32_t)((int64_t)inbox->subject->references + by);
    inbox->processor->refs = (uint32_t)((int64_t)inbox->processor->refs + by);
    jzx__processor_unlock(inbox->processor, &visit);
}

/* The worker for a message; JZX_NOBODY if none could be made. */
static jzx_actor_id start_iteration(struct jzx_inbox *inbox, const jzx_iterator_config *config,
                                    const jzx_action *msg, uint64_t generation) {
    struct jzx_processor *processor = inbox->processor;
    const size_t size = sizeof(struct iteration) + msg->len;
    struct iteration *iteration = jzx__alloc(&processor->allocator, size);
    jzx_actor_id worker = JZX_NOBODY;
    if (iteration == NULL)
        return JZX_NOBODY;
    memset(iteration, 0, sizeof *iteration);
    iteration->inbox = inbox;
    iteration->config = *config;
    iteration->generation = generation;
    iteration->size = size;
    iteration->msg = (jzx_message){.data = iteration->data, .len = msg->len, .tag = msg->tag};
    if (msg->len != 0)
        memcpy(iteration->data, msg->data, msg->len);
    refer(inbox, 1);
    if (jzx_spawn(processor->loop,
                  &JZX_SPAWN_OPTS(.fiber = run_iteration, .state = iteration,
                                  .cleanup = end_iteration, .name = "iteration"),
                  &worker) != JZX_OK) {
        refer(inbox, -1); /* the fiber that calls has references of its own */
        jzx__free(&processor->allocator, iteration, size);
        return JZX_NOBODY;
    }
    return worker;
}

/* The worker for the next message, or JZX_NOBODY, after that of the last one, if there was one. */
static JZX_ACROSS_WAIT jzx_actor_id replace_worker(jzx_context *ctx, struct jzx_inbox *inbox,
                                                   const jzx_iterator_config *config,
                                                   const jzx_action *msg, jzx_actor_id last) {
    uint64_t generation = jzx__inbox_advance(inbox);
    if (last != JZX_NOBODY) {
        (void)jzx_unlink(ctx, last);
        (void)jzx_actor_stop(ctx->loop, last, JZX_STOP_KILL);
    }
    jzx_actor_id worker = start_iteration(inbox, config, msg, generation);
    if (worker == JZX_NOBODY)
        (void)jzx_actions_fail(jzx_inbox_actions(inbox), inbox->subject->handle, JZX_ERR_NO_MEMORY);
    else
        (void)jzx_link(ctx, worker); /* it ends with the actor */
    return worker;
}

static void run_iterator(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_iterator_config *config = state;
    const jzx_action *msg;
    jzx_actor_id worker = JZX_NOBODY;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        worker = replace_worker(ctx, inbox, config, msg, worker);
        if (worker == JZX_NOBODY)
            break;
    }
}

const jzx_actor_factory jzx_iterator_actor =
    JZX_ACTOR_FACTORY(.type = "iterator", .state_size = sizeof(jzx_iterator_config),
                      .create = create_iterator, .run = run_iterator);
