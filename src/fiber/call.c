/* SPDX-License-Identifier: MIT */
/* Waiting for other actors: their answers and their ends. */
#include "actor/room.h"
#include "ask/ask.h"
#include "fiber/receive.h"

#include "jzx/ask.h"
#include "jzx/exit.h"

#include <string.h>

/* The worker of the fiber, or NULL if its thread has lost it. Inside. */
static struct jzx__worker *worker_of(const struct jzx__fiber *fiber) {
    return fiber->is_lost ? NULL : fiber->worker;
}

/* Waits for a message that no receive sees. On JZX_OK the bracket is open, and fiber->found is the
 * message. */
static jzx_err wait_for(jzx_context *ctx, const char *call, const struct jzx__filter *filter,
                        uint64_t deadline_ns, struct jzx__fiber **fiber) {
    jzx_err err;
    *fiber = jzx__fiber_enter(ctx, call, &err);
    if (*fiber == NULL)
        return err;
    jzx__fiber_set_filter(*fiber, filter);
    err = jzx__fiber_wait(*fiber, JZX__WISH_MESSAGE, deadline_ns);
    if (err != JZX_OK)
        jzx__fiber_leave(*fiber);
    return err;
}

/* ---- the end of an actor ---- */

/* The notice that was found goes to *how, which may be NULL; closes the bracket. */
static void read_notice(struct jzx__fiber *fiber, jzx_exit_notice *how) {
    struct jzx__message *message = fiber->found;
    fiber->found = NULL;
    if (how != NULL)
        memcpy(how, message->payload, sizeof *how);
    jzx__message_destroy(fiber->turn.ctx.loop, worker_of(fiber), message);
    jzx__fiber_leave(fiber);
}

jzx_err jzx_join(jzx_context *ctx, jzx_actor_id id, uint64_t deadline_ns, jzx_exit_notice *how) {
    struct jzx__filter filter = {.kind = JZX__FILTER_JOIN, .object = id};
    struct jzx__fiber *fiber;
    if (!jzx__fiber_may_wait(ctx))
        return jzx__fiber_refuse(ctx, "jzx_join");
    jzx_err err = jzx_monitor(ctx, id, &filter.value);
    if (err == JZX_ERR_NO_SUCH_ACTOR) {
        if (how != NULL)
            *how = (jzx_exit_notice){.actor = id, .reason = JZX_EXIT_NO_ACTOR};
        return JZX_OK;
    }
    if (err != JZX_OK)
        return err;
    err = wait_for(ctx, "jzx_join", &filter, deadline_ns, &fiber);
    if (err == JZX_OK)
        read_notice(fiber, how);
    else
        jzx_demonitor(ctx, filter.value);
    return err;
}

/* ---- questions ---- */

/* The answer that was found is kept until the next call; closes the bracket. */
static void keep_answer(struct jzx__fiber *fiber, jzx_message *answer) {
    struct jzx__message *message = fiber->found;
    struct jzx__message *last = fiber->turn.answer;
    fiber->found = NULL;
    fiber->turn.answer = message;
    if (answer != NULL)
        *answer = jzx__fiber_view(message);
    if (last != NULL)
        jzx__message_destroy(fiber->turn.ctx.loop, worker_of(fiber), last);
    jzx__fiber_leave(fiber);
}

/* The question was sent. */
static jzx_err await_answer(jzx_context *ctx, const struct jzx__filter *filter,
                            uint64_t deadline_ns, jzx_message *answer) {
    struct jzx__fiber *fiber;
    jzx_err err = wait_for(ctx, "jzx_call", filter, deadline_ns, &fiber);
    if (err != JZX_OK) {
        jzx_ask_cancel(ctx, filter->value);
        return err;
    }
    if (jzx__ask_is_answer(fiber->found, filter->value)) {
        keep_answer(fiber, answer);
        return JZX_OK;
    }
    read_notice(fiber, NULL);
    return JZX_ERR_NO_SUCH_ACTOR;
}

jzx_err jzx_call(jzx_context *ctx, jzx_actor_id to, const void *data, size_t len, uint32_t tag,
                 uint64_t deadline_ns, jzx_message *answer) {
    struct jzx__filter filter = {.kind = JZX__FILTER_CALL, .object = to};
    if (!jzx__fiber_may_wait(ctx))
        return jzx__fiber_refuse(ctx, "jzx_call");
    if (to == ctx->self)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx_ask(ctx, to, data, len, tag, JZX_NEVER, &filter.value);
    return err != JZX_OK ? err : await_answer(ctx, &filter, deadline_ns, answer);
}

/* ---- room ---- */

/* Waits in line for room. Inside, before and after. */
static jzx_err await_room(struct jzx__fiber *fiber, struct jzx__room_wait *wait,
                          uint64_t deadline_ns) {
    struct jzx__wait_link link;
    const struct jzx__event event = {
        .kind = JZX_WAIT_ROOM, .object = wait->to, .links = &link, .count = 1};
    jzx_err err = jzx__room_join(wait, &link);
    if (err != JZX_OK)
        return err;
    uint32_t cause = jzx__fiber_await(fiber, &event, deadline_ns);
    wait->me = worker_of(fiber);
    return jzx__room_leave(wait, cause);
}

jzx_err jzx_send_until(jzx_context *ctx, jzx_actor_id to, const void *data, size_t len,
                       uint32_t tag, uint64_t deadline_ns) {
    jzx_err err;
    struct jzx__fiber *fiber = jzx__fiber_enter(ctx, "jzx_send_until", &err);
    if (fiber == NULL)
        return err;
    struct jzx__room_wait wait = {.loop = ctx->loop, .me = worker_of(fiber), .to = to};
    err = jzx__room_send(&wait, ctx->self, data, len, tag);
    if (err == JZX_ERR_MAILBOX_FULL)
        err =
            to == ctx->self ? jzx__room_give_up(&wait, err) : await_room(fiber, &wait, deadline_ns);
    /* A fiber that was told to end, and goes on sending to actors that are gone, ends here. */
    if (JZX_UNLIKELY(err != JZX_OK) && jzx__mortal_is_doomed(&fiber->mortal))
        (void)jzx__fiber_wait(fiber, JZX__WISH_TURN, 0);
    jzx__fiber_leave(fiber);
    return err;
}
