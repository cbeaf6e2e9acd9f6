/* SPDX-License-Identifier: MIT */
/* How messages enter and wait: taking the inbox in, the bound and its policies, waiting for room.
 *
 * B1  on the owner's thread an append happens only if private + inbox < cap, exactly.
 *     What senders in line for room have comes first (room.h): while there are some, others are
 *     refused, and the owner appends theirs by the same sum.
 * B2  other threads push only while the inbox holds less than cap: together at most 2 x cap wait.
 * B3  the inbox is taken in when the private list is empty, or before an append that fits: whoever
 *     appends never passes an older message of the same sender.
 * B4  with drop_oldest the newest cap messages survive: taking in trims to cap, and a thread that
 *     finds 2 x cap in the inbox cuts it down to cap first (cut.h). Together at most 3 x cap wait.
 * B5  what is accepted for an actor that keeps mail is in its own mailbox, never in that of the
 *     slot's next actor: other threads check the id and push under a lock (table.h). For any other
 *     actor that may happen to a sender that is held up, and the message is a dead letter.
 * B6  with drop_oldest, `skipped` in the cold record is NULL, or a node of the private list that
 *     does not count, as none before it does. So the oldest message that counts is found without a
 *     walk over what was passed before.
 * B7  a kind may take the inbox in while messages that it has skipped are in the private list. It
 *     lowers task.cap, the limit of other threads, by what it has, so that together no more wait
 *     than the bound (jzx__mailbox_publish_room); not with drop_oldest, which trims (B4). */
#ifndef JZX_ACTOR_MAILBOX_H
#define JZX_ACTOR_MAILBOX_H

#include "actor/message.h"

/* Takes a non-empty inbox into the private list. Owner only. */
void jzx__mailbox_take_in(struct jzx__worker *me, struct jzx__actor *actor);

/* The same; false if that would have to wait for a thread that cuts the inbox (cut/C1). */
bool jzx__mailbox_try_take_in(struct jzx__worker *me, struct jzx__actor *actor);

/* With drop_oldest: the head of the private list is about to be handled (B6). Owner only. */
static inline void jzx__mailbox_leave_head(struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    if (cold->skipped == actor->task.head)
        cold->skipped = NULL;
}

/* Of a kind, after a change of what waits in the private list (B7). Owner only. */
static inline void jzx__mailbox_publish_room(struct jzx__actor *actor) {
    uint32_t bound = jzx__actor_bound(actor);
    uint32_t room = bound > actor->task.pending ? bound - actor->task.pending : 0;
    if (room != jzx__actor_cap(actor) && jzx__actor_on_full(actor) != JZX_FULL_DROP_OLDEST) {
        uint32_t line = jzx__actor_has_line(actor) ? JZX__CAP_LINE : 0;
        /* relaxed: a limit; a sender that reads an older one exceeds the bound by its message */
        jzx__atomic_store_relaxed(&actor->task.cap, room | line);
    }
}

/* Files nodes (oldest first) that came out of the inbox: stale ones are buried, others go where
 * their lane says, the rest is appended and trimmed. Owner only. */
void jzx__mailbox_file(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *nodes);

/* The actor's turn goes on without its worker: the node is filed when that is over. The actor has a
 * cold record. Owner only. */
void jzx__mailbox_defer(struct jzx__actor *actor, struct jzx__node *node);

/* It is over: files what was deferred, and then what the turn has for the actor itself. Owner only.
 */
void jzx__mailbox_file_deferred(struct jzx__worker *me, struct jzx__actor *actor,
                                struct jzx__turn *turn);

/* Why an actor cannot be reached: the loop is closed, or the actor is gone. */
static inline jzx_err jzx__mailbox_gone(const struct jzx_loop *loop) {
    return jzx__sched_is_stopped(&loop->sched) ? JZX_ERR_LOOP_CLOSED : JZX_ERR_NO_SUCH_ACTOR;
}

/* Reports what other threads have counted in the state word: the messages that they were refused or
 * that were dropped, all in one event. Owner only. */
void jzx__mailbox_report_fulls(struct jzx__worker *me, struct jzx__actor *actor, jzx_actor_id id,
                               uint32_t fulls);

/* Tells those who wait for room if there is some; all of them, at the actor's end. Owner only. */
void jzx__mailbox_tell_waiters(struct jzx__worker *me, struct jzx__actor *actor, bool at_end);

/* Puts a list of messages before all that waits but urgent ones (urgent/G4). Owner only. */
void jzx__mailbox_put_first(struct jzx__actor *actor, struct jzx__node *first,
                            struct jzx__node *last);

/* True if less than half of the bound is used. Owner only. */
static inline bool jzx__mailbox_has_room(struct jzx__actor *actor) {
    uint32_t waiting = actor->task.pending + jzx__inbox_count(jzx__task_inbox(&actor->task));
    return waiting < jzx__actor_bound(actor) / 2 + jzx__actor_bound(actor) % 2;
}

/* A node was put into the private list that is to be looked at before it is handled. Its actor has
 * a cold record. Owner only. */
static inline void jzx__mailbox_look(struct jzx__actor *actor) {
    jzx__actor_cold(actor)->looks++;
    actor->task.care |= JZX__CARE_HEAD;
}

/* It was. */
static inline void jzx__mailbox_looked(struct jzx__actor *actor) {
    jzx__actor_cold(actor)->looks--;
}

/* The actor has JZX__SOFT_LIMIT messages waiting (W5 of order.h). Owner only. */
JZX_COLD void jzx__mailbox_soft_limit(struct jzx__worker *me, struct jzx__actor *actor);

/* Appends to the private list and makes ready. Owner only, with B1 and B3 seen to. */
static inline void jzx__mailbox_append(struct jzx__worker *me, struct jzx__actor *actor,
                                       struct jzx__message *message) {
    jzx__task_append(&actor->task, &message->node, message->node.weight);
    jzx__counter_add(&me->counters.accepted, 1);
    if (JZX_UNLIKELY(jzx__lane_is_special(message->node.lane)))
        jzx__mailbox_look(actor);
    jzx__worker_ready(me, &actor->task);
    if (JZX_UNLIKELY(actor->task.pending >= JZX__SOFT_LIMIT))
        jzx__mailbox_soft_limit(me, actor);
}

/* On the owner's thread, with something in the inbox or at the bound. */
JZX_COLD jzx_err jzx__mailbox_deliver_slow(struct jzx__worker *me, struct jzx__actor *actor,
                                           struct jzx__message *message);

/* From a thread that does not own the actor. */
JZX_COLD jzx_err jzx__mailbox_deliver_remote(struct jzx_loop *loop, struct jzx__worker *me,
                                             struct jzx__actor *actor,
                                             struct jzx__message *message);

/* Delivers a message whose node has its generation, weight and lane. On JZX_OK the runtime owns it,
 * otherwise the caller still does. actor was just looked up with that generation. Any thread. */
static inline jzx_err jzx__mailbox_deliver(struct jzx_loop *loop, struct jzx__worker *me,
                                           struct jzx__actor *actor, struct jzx__message *message) {
    if (JZX_UNLIKELY(!jzx__worker_owns(me, &actor->task)))
        return jzx__mailbox_deliver_remote(loop, me, actor, message);
    uint64_t word = jzx__task_inbox(&actor->task);
    if (JZX_UNLIKELY((word & ~JZX__INBOX_TOKEN) != 0 ||
                     jzx__actor_is_tight(actor, actor->task.pending)))
        return jzx__mailbox_deliver_slow(me, actor, message);
    jzx__mailbox_append(me, actor, message);
    return JZX_OK;
}

/* The same for a sender that waits if there is no room: JZX_ERR_MAILBOX_FULL is no refusal then,
 * and no event. */
jzx_err jzx__mailbox_try_deliver(struct jzx_loop *loop, struct jzx__worker *me,
                                 struct jzx__actor *actor, struct jzx__message *message);

#endif
