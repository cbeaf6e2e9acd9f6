/* SPDX-License-Identifier: MIT */
/* What a behaviour does with itself and with the message it is handling. */
#include "actor/mailbox.h"
#include "actor/own.h"
#include "actor/owned.h"
#include "actor/share.h"

/* The turn, if msg is the message that it handles and still its own; else NULL. */
static struct jzx__turn *turn_with(jzx_context *ctx, const jzx_message *msg) {
    if (msg == NULL || jzx__own_turn(ctx) == NULL)
        return NULL;
    struct jzx__turn *turn = jzx__turn_of(ctx);
    return turn->current != NULL && jzx__message_data(turn->current) == msg->data ? turn : NULL;
}

/* True if the turn's thread has lost its worker; the stash is still the turn's. */
static bool has_lost(const struct jzx__turn *turn, const struct jzx__visit *visit,
                     const struct jzx__worker *me) {
    return me == NULL && visit->seat == turn->seat;
}

/* Where the turn has the message: in hand, or as the answer to its last call. NULL: nowhere. */
static struct jzx__message **place_of(jzx_context *ctx, const jzx_message *msg) {
    if (turn_with(ctx, msg) != NULL)
        return &jzx__turn_of(ctx)->current;
    if (msg == NULL || jzx__own_turn(ctx) == NULL)
        return NULL;
    struct jzx__turn *turn = jzx__turn_of(ctx);
    bool is_answer = turn->answer != NULL && jzx__message_data(turn->answer) == msg->data;
    return is_answer ? &turn->answer : NULL;
}

void *jzx_msg_take(jzx_context *ctx, const jzx_message *msg) {
    struct jzx__message **place = place_of(ctx, msg);
    if (place == NULL)
        return NULL;
    const struct jzx__turn *turn = jzx__turn_of(ctx);
    struct jzx__message *message = *place;
    const struct jzx__lane_ops *lane = jzx__lane_of(&message->node);
    if (JZX_UNLIKELY(lane->take != NULL)) {
        struct jzx__visit visit;
        struct jzx__worker *me = jzx__loop_visit(ctx->loop, &visit);
        bool taken =
            (me != NULL || has_lost(turn, &visit, me)) && lane->take(ctx->loop, me, message);
        jzx__visit_end(&visit);
        if (!taken)
            return NULL;
    }
    if (jzx__message_trailer_kind(message) > JZX__TRAILER_OTHER)
        jzx__message_set_trailer_kind(message, JZX__TRAILER_OTHER); /* a buffer as any */
    *place = NULL;
    if (JZX_UNLIKELY(message->node.flags & JZX__MSG_REF)) {
        struct jzx__visit visit;
        struct jzx__worker *me = jzx__loop_visit(ctx->loop, &visit);
        message = jzx__shared_unwrap(ctx->loop, me, message);
        jzx__visit_end(&visit);
    } else {
        jzx__message_give(ctx->loop, message);
    }
    jzx__owned_add(ctx->loop, message);
    return message->payload;
}

uint64_t jzx_msg_sent_ns(jzx_context *ctx, const jzx_message *msg) {
    struct jzx__message **place = place_of(ctx, msg);
    return place == NULL ? 0 : jzx__message_sent_ns(*place);
}

jzx_err jzx_become(jzx_context *ctx, jzx_behavior_fn behavior) {
    struct jzx__actor *actor = jzx__own_turn(ctx);
    if (behavior == NULL)
        return JZX_ERR_INVALID_ARG;
    if (actor == NULL)
        return jzx__own_cleanup(ctx) != NULL ? JZX_ERR_NO_SUCH_ACTOR : JZX_ERR_INVALID_ARG;
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    if (cold != NULL && cold->kind != JZX__KIND_BEHAVIOR && cold->kind != JZX__KIND_MANUAL)
        return JZX_ERR_INVALID_ARG; /* it has none */
    struct jzx__visit visit;
    if (jzx__loop_visit(ctx->loop, &visit) == NULL)
        jzx__turn_of(ctx)->become_to = behavior; /* for the worker, which went on */
    else
        actor->task.entry = (void (*)(void))behavior;
    jzx__visit_end(&visit);
    return JZX_OK;
}

static jzx_err stash(struct jzx__turn *turn, struct jzx__worker *me) {
    struct jzx__actor *actor = turn->actor;
    struct jzx__cold *cold = jzx__cold_ensure(turn->ctx.loop, me, actor);
    if (cold == NULL)
        return JZX_ERR_NO_MEMORY;
    if (cold->stash_count >= cold->stash_cap)
        return JZX_ERR_MAILBOX_FULL;
    struct jzx__node *node = &turn->current->node;
    const struct jzx__lane_ops *lane = jzx__lane_of(node);
    if (lane->stash != NULL)
        lane->stash(cold, turn->current);
    if (JZX_UNLIKELY(jzx__message_is_checked(turn->current)) && !(node->flags & JZX__MSG_REF))
        jzx__message_hide(turn->current);
    node->next = NULL;
    if (cold->stash_first == NULL)
        cold->stash_first = node;
    else
        cold->stash_last->next = node;
    cold->stash_last = node;
    cold->stash_count++;
    turn->current = NULL;
    if (me != NULL)
        me->pass_handled--; /* the books: it waits again */
    else
        turn->has_stashed = true; /* as the worker will see */
    return JZX_OK;
}

jzx_err jzx_stash(jzx_context *ctx, const jzx_message *msg) {
    struct jzx__turn *turn = turn_with(ctx, msg);
    if (turn == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(ctx->loop, &visit);
    jzx_err err = JZX_ERR_INVALID_ARG; /* inside another loop that the behaviour runs */
    if (me != NULL || has_lost(turn, &visit, me))
        err = stash(turn, me);
    jzx__visit_end(&visit);
    return err;
}

size_t jzx_unstash(jzx_context *ctx) {
    if (jzx__own_turn(ctx) == NULL)
        return 0;
    struct jzx__turn *turn = jzx__turn_of(ctx);
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(ctx->loop, &visit);
    bool lost = has_lost(turn, &visit, me);
    struct jzx__cold *cold = jzx__actor_cold(turn->actor);
    size_t count = cold == NULL || (me == NULL && !lost) ? 0 : cold->stash_count;
    if (count != 0) {
        struct jzx__node *first = cold->stash_first;
        cold->stash_first = NULL;
        cold->stash_count = 0;
        if (!lost) {
            jzx__mailbox_put_first(turn->actor, first, cold->stash_last);
        } else {
            cold->stash_last->next = turn->unstashed; /* of an earlier call in this turn */
            if (turn->unstashed == NULL)
                turn->unstashed_last = cold->stash_last;
            turn->unstashed = first;
        }
    }
    jzx__visit_end(&visit);
    return count;
}

bool jzx_turn_spent(const jzx_context *ctx) {
    if (jzx__own_turn(ctx) == NULL && jzx__own_cleanup(ctx) == NULL)
        return false;
    const struct jzx__turn *turn = (const void *)ctx; /* the context is its first member */
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(ctx->loop, &visit);
    bool spent = me != NULL ? jzx__worker_turn_spent(me) : has_lost(turn, &visit, me);
    jzx__visit_end(&visit);
    return spent;
}
