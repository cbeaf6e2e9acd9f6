/* SPDX-License-Identifier: MIT */
/* What a behaviour does with itself and with the message it is handling. */
#include "actor/mailbox.h"

/* The turn, if msg is the message that it handles and still its own; else NULL. */
static struct jzx__turn *turn_with(jzx_context *ctx, const jzx_message *msg) {
    if (ctx == NULL || msg == NULL)
        return NULL;
    struct jzx__turn *turn = jzx__turn_of(ctx);
    return turn->current != NULL && turn->current->payload == msg->data ? turn : NULL;
}

void *jzx_msg_take(jzx_context *ctx, const jzx_message *msg) {
    struct jzx__turn *turn = turn_with(ctx, msg);
    if (turn == NULL)
        return NULL;
    void *data = turn->current->payload;
    turn->current = NULL;
    return data;
}

jzx_err jzx_become(jzx_context *ctx, jzx_behavior_fn behavior) {
    if (ctx == NULL || behavior == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__actor *actor = jzx__turn_of(ctx)->actor;
    if (actor->task.status == JZX_ACTOR_STOPPED || actor->task.status == JZX_ACTOR_FAILED)
        return JZX_ERR_NO_SUCH_ACTOR; /* from its cleanup */
    actor->task.entry = (void (*)(void))behavior;
    return JZX_OK;
}

jzx_err jzx_stash(jzx_context *ctx, const jzx_message *msg) {
    struct jzx__turn *turn = turn_with(ctx, msg);
    struct jzx__worker *me = turn == NULL ? NULL : jzx__loop_self(ctx->loop);
    if (me == NULL) /* also inside another loop that the behaviour runs */
        return JZX_ERR_INVALID_ARG;
    struct jzx__actor *actor = turn->actor;
    if (actor->task.cold == NULL)
        actor->task.cold = jzx__cold_create(ctx->loop, me);
    struct jzx__cold *cold = actor->task.cold;
    if (cold == NULL)
        return JZX_ERR_NO_MEMORY;
    if (cold->stash_count >= cold->stash_cap)
        return JZX_ERR_MAILBOX_FULL;
    struct jzx__node *node = &turn->current->node;
    node->next = NULL;
    if (cold->stash_first == NULL)
        cold->stash_first = node;
    else
        cold->stash_last->next = node;
    cold->stash_last = node;
    cold->stash_count++;
    turn->current = NULL;
    me->pass_handled--; /* it waits again */
    return JZX_OK;
}

size_t jzx_unstash(jzx_context *ctx) {
    if (ctx == NULL)
        return 0;
    struct jzx__actor *actor = jzx__turn_of(ctx)->actor;
    struct jzx__task *task = &actor->task;
    struct jzx__cold *cold = actor->task.cold;
    if (cold == NULL || cold->stash_first == NULL)
        return 0;
    size_t count = cold->stash_count;
    for (struct jzx__node *node = cold->stash_first; node != NULL; node = node->next)
        task->pending += node->weight;
    if (task->head == NULL)
        task->tail = &cold->stash_last->next;
    cold->stash_last->next = task->head;
    task->head = cold->stash_first;
    cold->stash_first = NULL;
    cold->stash_count = 0;
    return count;
}

bool jzx_turn_spent(const jzx_context *ctx) {
    struct jzx__worker *me = ctx == NULL ? NULL : jzx__loop_self(ctx->loop);
    return me != NULL && jzx__worker_turn_spent(me);
}
