/* SPDX-License-Identifier: MIT */
/* What the handlers of a type call, and what calls them (jzx/typed.h). */
#include "actor/message.h"
#include "actor/own.h"
#include "actor/share.h"
#include "typed/typed.h"

#include <stdio.h>

jzx_err jzx_type_message(const jzx_context *ctx, jzx_message *msg) {
    if (ctx == NULL || msg == NULL || jzx__own_turn(ctx) == NULL)
        return JZX_ERR_INVALID_ARG;
    const struct jzx__turn *turn = jzx__seat_of_thread->turn;
    struct jzx__message *current = turn->current;
    if (current == NULL)
        return JZX_ERR_INVALID_ARG;
    *msg = (jzx_message){jzx__message_data(current), current->len, current->tag, current->sender};
    return JZX_OK;
}

jzx_actor_id jzx_type_sender(const jzx_context *ctx) {
    jzx_message msg;
    return jzx_type_message(ctx, &msg) == JZX_OK ? msg.sender : JZX_NOBODY;
}

/* ---- messages without a handler ---- */

jzx_behavior_result jzx_type_stray(jzx_context *ctx, const jzx_message *msg,
                                   const jzx_actor_type *type) {
    uint32_t index = msg->tag - jzx_type_base(type->name, strlen(type->name));
    char text[JZX_EXIT_TEXT_MAX + 1];
    if (index < type->message_count)
        snprintf(text, sizeof text, "%s: message %s has %zu bytes, %zu came", type->name,
                 type->messages[index].name, type->messages[index].len, msg->len);
    else if (type->other != NULL)
        return type->other(ctx, msg);
    else
        snprintf(text, sizeof text, "%s: no message has tag 0x%x (%zu bytes came)", type->name,
                 msg->tag, msg->len);
    jzx_exit(ctx, JZX_EXIT_FAIL, text);
}

/* ---- questions ---- */

/* One that cannot be answered for want of memory must not be forgotten: the actor fails, and the
 * asker hears of that. */
jzx_behavior_result jzx_type_reply(jzx_context *ctx, const jzx_message *msg, const void *answer,
                                   size_t len, jzx_behavior_result result) {
    if (result == JZX_BEHAVIOR_FAIL)
        return result;
    jzx_err err = jzx_reply(ctx, msg, answer, len, msg->tag + JZX_TYPE_MESSAGES_MAX);
    if (err == JZX_ERR_NO_MEMORY)
        jzx_exit(ctx, JZX_EXIT_FAIL, "no memory for an answer");
    return result; /* else nobody asks, it was answered, or the asker has ended */
}

jzx_ask_handle jzx_type_defer(jzx_context *ctx) {
    jzx_message msg;
    jzx_ask_handle handle = {JZX_NOBODY, 0};
    if (jzx_type_message(ctx, &msg) != JZX_OK)
        return handle;
    handle = jzx_ask_from(ctx, &msg);
    const struct jzx__turn *turn = jzx__seat_of_thread->turn;
    if (handle.asker != JZX_NOBODY) /* jzx_reply finds no question any more */
        jzx__message_set_trailer_kind(turn->current, JZX__TRAILER_OTHER);
    return handle;
}

/* ---- calls ---- */

static jzx_err take_answer(const jzx_type_call *call, const jzx_message *msg) {
    if (msg->len != call->answer_len || msg->tag != call->tag + JZX_TYPE_MESSAGES_MAX)
        return JZX_ERR_INVALID_STATE;
    if (call->answer != NULL)
        memcpy(call->answer, msg->data, msg->len);
    return JZX_OK;
}

jzx_err jzx_type_call_fiber(jzx_context *ctx, const jzx_type_call *call, uint64_t deadline_ns) {
    jzx_message msg;
    if (call == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx_call(ctx, call->to, call->data, call->len, call->tag, deadline_ns, &msg);
    return err == JZX_OK ? take_answer(call, &msg) : err;
}

jzx_err jzx_type_call_wait(jzx_loop *loop, const jzx_type_call *call, uint64_t deadline_ns) {
    jzx_message msg;
    if (call == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err =
        jzx_call_wait(loop, call->to, call->data, call->len, call->tag, deadline_ns, &msg);
    if (err != JZX_OK)
        return err;
    err = take_answer(call, &msg);
    jzx_msg_free(loop, msg.data);
    return err;
}

bool jzx_type_is_answer(const jzx_message *msg, uint32_t tag, void *answer, size_t len) {
    if (msg == NULL || msg->tag != tag || msg->len != len)
        return false;
    if (answer != NULL)
        memcpy(answer, msg->data, len);
    return true;
}
