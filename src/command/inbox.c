/* SPDX-License-Identifier: MIT */
/* Async actors: a fiber each, which takes messages out of its inbox and brings actions back. */
#include "command/inbox.h"

#include "base/alloc.h"
#include "command/processor.h"
#include "command/recording.h"

#include "jzx/fiber.h"

#include <string.h>

/* ---- messages ---- */

static jzx_err push(struct jzx_inbox *inbox, struct jzx__parcel *parcel) {
    jzx_err err = jzx_channel_try_send(&inbox->messages, &parcel);
    if (err != JZX_OK)
        jzx__free(&inbox->processor->allocator, parcel, parcel->size);
    return err;
}

/* A copy of the message, with room for more data behind its own. NULL without memory. */
static struct jzx__parcel *wrap(struct jzx_inbox *inbox, const jzx_action *msg, size_t more) {
    const size_t size = sizeof(struct jzx__parcel) + msg->len + more;
    struct jzx__parcel *parcel = jzx__alloc(&inbox->processor->allocator, size);
    if (parcel == NULL)
        return NULL;
    parcel->size = size;
    parcel->action = *msg;
    parcel->action.data = parcel->data;
    if (msg->len != 0)
        memcpy(parcel->data, msg->data, msg->len);
    return parcel;
}

jzx_err jzx__inbox_push(struct jzx_inbox *inbox, const jzx_action *msg) {
    inbox->told_in = inbox->processor->counts.ticks;
    if (inbox->processor->is_replay)
        return JZX_OK; /* nobody will take it out */
    struct jzx__parcel *parcel = wrap(inbox, msg, 0);
    return parcel == NULL ? JZX_ERR_NO_MEMORY : push(inbox, parcel);
}

jzx_err jzx__inbox_push_command(struct jzx_inbox *inbox, const jzx_action *msg) {
    const jzx_action *command = msg->data;
    inbox->told_in = inbox->processor->counts.ticks;
    if (inbox->processor->is_replay)
        return JZX_OK;
    struct jzx__parcel *parcel = wrap(inbox, msg, command->len);
    if (parcel == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_action *copy = (void *)parcel->data;
    copy->data = copy + 1; /* a jzx_action takes a multiple of 16 */
    if (command->len != 0)
        memcpy(copy + 1, command->data, command->len);
    return push(inbox, parcel);
}

_Static_assert(sizeof(jzx_action) % 16 == 0, "what follows one is aligned");

/* ---- the fiber ---- */

/* The end of the fiber is the end of the actor, which is an input unless it was removed before. */
static JZX_ACROSS_WAIT void bring_end(struct jzx_inbox *inbox, jzx_err error) {
    if (inbox->has_brought_end)
        return;
    inbox->has_brought_end = true;
    struct jzx__record *record = jzx__roll_first(&inbox->end.roll);
    record->is_internal = inbox->subject->is_internal;
    record->is_frozen = true;
    record->action.kind = error == JZX_OK ? JZX_ACTION_KILL : JZX_ACTION_FAIL;
    record->action.error = error;
    jzx_err err = jzx__processor_bring(inbox->processor, &inbox->end, true, NULL);
    JZX_ASSERT(err == JZX_OK || err == JZX_ERR_CLOSED); /* P7 */
}

static void run_fiber(jzx_context *ctx) {
    struct jzx_inbox *inbox = ctx->state;
    struct jzx__subject *subject = inbox->subject;
    subject->made_of.run(ctx, jzx__subject_state(subject), inbox);
    jzx_err err = jzx_inbox_flush(inbox);
    bring_end(inbox, err == JZX_ERR_NO_MEMORY ? err : JZX_OK);
}

static jzx_err error_of(jzx_exit_reason reason) {
    switch (reason) {
    case JZX_EXIT_NORMAL: return JZX_OK;
    case JZX_EXIT_KILLED: return JZX_ERR_CANCELLED;
    case JZX_EXIT_SHUTDOWN: return JZX_ERR_LOOP_CLOSED;
    default: return JZX_ERR_FAILED;
    }
}

static void end_fiber(jzx_context *ctx, jzx_exit_reason reason) {
    struct jzx_inbox *inbox = ctx->state;
    struct jzx_processor *processor = inbox->processor;
    struct jzx__visit visit;
    bring_end(inbox, error_of(reason));
    jzx__processor_lock(processor, &visit);
    inbox->fiber = JZX_NOBODY;
    inbox->fiber_ended = true;
    jzx__processor_unlock(processor, &visit);
    jzx__subject_release(processor, inbox->subject);
    jzx__processor_release(processor);
}

/* The fiber has its references before it runs, and may have ended when this returns. */
static jzx_err start_fiber(struct jzx_inbox *inbox) {
    const jzx_actor_factory *made_of = &inbox->subject->made_of;
    struct jzx_processor *processor = inbox->processor;
    struct jzx__visit visit;
    jzx_actor_id fiber = JZX_NOBODY;
    jzx_err err = jzx_spawn(processor->loop,
                            &JZX_SPAWN_OPTS(.fiber = run_fiber, .state = inbox,
                                            .cleanup = end_fiber, .name = made_of->type,
                                            .stack_size_bytes = made_of->stack_size_bytes),
                            &fiber);
    jzx__processor_lock(processor, &visit);
    if (err != JZX_OK) {
        inbox->subject->references--;
        processor->refs--;
    } else if (!inbox->fiber_ended) {
        inbox->fiber = fiber;
    }
    jzx__processor_unlock(processor, &visit);
    return err;
}

jzx_err jzx__inbox_open(struct jzx_inbox *inbox) {
    struct jzx_processor *processor = inbox->processor;
    const bool has_fiber = !processor->is_replay;
    struct jzx__visit visit;
    inbox->told_in = processor->counts.ticks;
    jzx__processor_lock(processor, &visit);
    inbox->is_open = jzx__recording_reserve(processor);
    bool is_open = inbox->is_open;
    if (is_open && has_fiber) {
        inbox->subject->references++;
        processor->refs++;
    }
    jzx__processor_unlock(processor, &visit);
    if (!is_open)
        return JZX_ERR_NO_MEMORY;
    return has_fiber ? start_fiber(inbox) : JZX_OK;
}

void jzx__inbox_close(struct jzx_inbox *inbox) {
    struct jzx_processor *processor = inbox->processor;
    struct jzx__visit visit;
    jzx__processor_lock(processor, &visit);
    if (inbox->is_open && !inbox->has_ended)
        jzx__recording_unreserve(processor);
    inbox->is_open = false;
    jzx_actor_id fiber = inbox->fiber;
    jzx__processor_unlock(processor, &visit);
    (void)jzx_channel_close(&inbox->messages);
    if (fiber != JZX_NOBODY)
        (void)jzx_actor_stop(processor->loop, fiber, JZX_STOP_KILL);
}

/* ---- the way back ---- */

uint64_t jzx__inbox_advance(struct jzx_inbox *inbox) {
    struct jzx__visit visit;
    jzx__processor_lock(inbox->processor, &visit);
    uint64_t generation = ++inbox->generation;
    jzx__processor_unlock(inbox->processor, &visit);
    return generation;
}

JZX_ACROSS_WAIT jzx_err jzx__inbox_give(struct jzx_inbox *inbox, struct jzx__roll *roll,
                                        uint64_t generation) {
    struct jzx_processor *processor = inbox->processor;
    if (jzx__roll_first(roll) == NULL)
        return JZX_OK;
    struct jzx__input *input = jzx__alloc(&processor->allocator, sizeof *input);
    if (input == NULL)
        return JZX_ERR_NO_MEMORY;
    *input = (struct jzx__input){
        .roll = *roll, .source = inbox->subject->handle, .inbox = inbox, .generation = generation};
    *roll = (struct jzx__roll){.head = NULL}; /* before the tick, which may not return: a fault */
    jzx_err err = jzx__processor_bring(processor, input, true, NULL);
    if (err == JZX_ERR_NO_MEMORY) {
        *roll = input->roll; /* it stays with its owner */
        input->roll = (struct jzx__roll){.head = NULL};
    }
    if (err != JZX_OK)
        jzx__input_free(processor, input);
    return err;
}

jzx_actions *jzx_inbox_actions(jzx_inbox *inbox) {
    return inbox == NULL ? NULL : &inbox->out;
}

jzx_err jzx_inbox_flush(jzx_inbox *inbox) {
    if (inbox == NULL)
        return JZX_ERR_INVALID_ARG;
    if (inbox->out.err != JZX_OK) {
        jzx__roll_clear(&inbox->roll, &inbox->processor->allocator);
        inbox->out.err = JZX_OK;
        return JZX_ERR_NO_MEMORY;
    }
    return jzx__inbox_give(inbox, &inbox->roll, JZX__GENERATION_ANY);
}

jzx_err jzx_inbox_next(jzx_context *ctx, jzx_inbox *inbox, uint64_t deadline_ns,
                       const jzx_action **msg) {
    struct jzx__parcel *parcel;
    if (inbox == NULL || msg == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx_inbox_flush(inbox);
    if (err == JZX_OK)
        err = jzx_channel_receive(ctx, &inbox->messages, deadline_ns, &parcel);
    if (err != JZX_OK)
        return err;
    if (inbox->current != NULL)
        jzx__free(&inbox->processor->allocator, inbox->current, inbox->current->size);
    inbox->current = parcel;
    *msg = &parcel->action;
    return JZX_OK;
}
