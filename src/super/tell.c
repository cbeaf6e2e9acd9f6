/* SPDX-License-Identifier: MIT */
/* The messages to a supervisor's listener. */
#include "super/tell.h"

#include "actor/mailbox.h"

#include <string.h>

static bool reserve(struct jzx__super_turn *turn, struct jzx__message **note, uint32_t tag) {
    if (*note != NULL)
        return true;
    struct jzx__message *message =
        jzx__message_create(turn->super->loop, turn->own.me, sizeof(jzx_child_event));
    if (message == NULL)
        return false;
    message->node.weight = 0;
    message->node.lane = JZX__LANE_RUNTIME;
    message->sender = turn->super->id;
    message->tag = tag;
    *note = message;
    return true;
}

bool jzx__tell_reserve(struct jzx__super_turn *turn, struct jzx__child *child) {
    if (turn->super->spec->opts.listener == JZX_NOBODY)
        return true;
    bool again = child->last_id != JZX_NOBODY;
    return reserve(turn, &child->exit_note, JZX_TAG_CHILD_EXIT) &&
           (!again || reserve(turn, &child->restart_note, JZX_TAG_CHILD_RESTART));
}

/* The note is gone then. If the listener is, nobody hears of it. */
static void tell(struct jzx__super_turn *turn, const struct jzx__child *child,
                 struct jzx__message **note, const jzx_child_event *what) {
    struct jzx_loop *loop = turn->super->loop;
    jzx_actor_id to = turn->super->spec->opts.listener;
    struct jzx__message *message = *note;
    const char *name = jzx__child_name(child);
    jzx_child_event event = *what;
    *note = NULL;
    event.supervisor = turn->super->id;
    event.reason = child->last_reason;
    event.state = child->state;
    event.attempt = child->attempt;
    memcpy(event.name, name, strlen(name) + 1);
    memcpy(event.text, child->last_text, sizeof event.text);
    memcpy(message->payload, &event, sizeof event);
    message->node.generation = jzx_id_generation(to);
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, to);
    if (actor == NULL || jzx__mailbox_deliver(loop, turn->own.me, actor, message) != JZX_OK)
        jzx__message_destroy(loop, turn->own.me, message);
}

void jzx__tell_exit(struct jzx__super_turn *turn, struct jzx__child *child, bool asked,
                    uint64_t delay_ns) {
    if (!child->is_untold)
        return;
    child->is_untold = false;
    const jzx_child_event event = {.child = child->last_id, .asked = asked, .delay_ns = delay_ns};
    tell(turn, child, &child->exit_note, &event);
}

void jzx__tell_restart(struct jzx__super_turn *turn, struct jzx__child *child) {
    if (child->restart_note == NULL)
        return;
    const jzx_child_event event = {
        .child = child->id, .before = child->last_id, .delay_ns = child->delay_ns};
    tell(turn, child, &child->restart_note, &event);
}

void jzx__tell_drop(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__child *child) {
    if (child->exit_note != NULL)
        jzx__message_destroy(loop, me, child->exit_note);
    if (child->restart_note != NULL)
        jzx__message_destroy(loop, me, child->restart_note);
    child->exit_note = NULL;
    child->restart_note = NULL;
}
