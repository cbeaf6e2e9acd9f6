/* SPDX-License-Identifier: MIT */
/* The lines of senders that wait for room, and jzx_send_wait. */
#include "actor/room.h"

#include "actor/control.h"
#include "actor/mailbox.h"
#include "actor/send.h"
#include "actor/waitless.h"

/* ---- the line as a source ---- */

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    const struct jzx__room_wait *wait = link->slot;
    (void)source;
    if (JZX__MUTANT(room_asks_too_early))
        return JZX__CAUSE_NONE;
    return jzx__actor_ask_for(wait->loop, wait->me, wait->to, JZX__WANT_ROOM)
               ? JZX__CAUSE_NONE
               : JZX__CAUSE_CLOSED; /* F2, F3 */
}

/* A fiber was killed in the line. */
static void abandon(struct jzx__source *source, struct jzx__wait_link *link,
                    struct jzx__worker *me) {
    struct jzx__room_wait *wait = link->slot;
    (void)source;
    wait->me = me;
    (void)jzx__room_leave(
        wait, jzx__cause_make(wait->message == NULL ? JZX__CAUSE_ITEM : JZX__CAUSE_KILLED, 0));
}

static const struct jzx__source_ops ops = {.look = look, .abandon = abandon};

/* ---- the sender ---- */

/* All that it has left. */
static void release(struct jzx__room_wait *wait) {
    if (wait->message != NULL)
        jzx__message_destroy(wait->loop, wait->me, wait->message);
    if (wait->line != NULL)
        jzx__line_leave(&wait->loop->lines, wait->me, wait->line);
    wait->message = NULL;
    wait->line = NULL;
}

jzx_err jzx__room_give_up(struct jzx__room_wait *wait, jzx_err reason) {
    bool was_full = reason == JZX_ERR_TIMEOUT || reason == JZX_ERR_CANCELLED;
    release(wait);
    jzx__send_refuse(wait->loop, wait->me, was_full ? JZX_ERR_MAILBOX_FULL : reason);
    return reason;
}

jzx_err jzx__room_send(struct jzx__room_wait *wait, jzx_actor_id from, const void *data, size_t len,
                       uint32_t tag) {
    struct jzx_loop *loop = wait->loop;
    if ((data == NULL && len != 0) || len > JZX_MSG_LEN_MAX || tag >= JZX_TAG_RESERVED)
        return jzx__send_refuse(loop, wait->me, JZX_ERR_INVALID_ARG);
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, wait->to);
    if (actor == NULL)
        return jzx__send_refuse(loop, wait->me, jzx__mailbox_gone(loop));
    if (wait->me != NULL && !jzx__slab_is_stocked(&wait->me->slab, loop->short_class))
        jzx__worker_end_turn(wait->me); /* W6 */
    struct jzx__message *message = jzx__message_create(loop, wait->me, len);
    if (message == NULL)
        return jzx__send_refuse(loop, wait->me, JZX_ERR_NO_MEMORY);
    jzx__send_address(message, wait->to, from, tag);
    if (len != 0)
        memcpy(message->payload, data, len);
    jzx_err err = jzx__line_is_taken(&loop->lines, wait->to)
                      ? JZX_ERR_MAILBOX_FULL
                      : jzx__mailbox_try_deliver(loop, wait->me, actor, message);
    wait->message = err == JZX_OK ? NULL : message;
    return err == JZX_OK || err == JZX_ERR_MAILBOX_FULL ? err : jzx__room_give_up(wait, err);
}

jzx_err jzx__room_join(struct jzx__room_wait *wait, struct jzx__wait_link *link) {
    wait->line = jzx__line_enter(&wait->loop->lines, wait->me, wait->to, &ops);
    if (wait->line == NULL)
        return jzx__room_give_up(wait, JZX_ERR_NO_MEMORY);
    if (JZX__MUTANT(room_asks_too_early))
        (void)jzx__actor_ask_for(wait->loop, wait->me, wait->to, JZX__WANT_ROOM);
    *link = (struct jzx__wait_link){.source = &wait->line->source, .slot = wait};
    return JZX_OK;
}

jzx_err jzx__room_leave(struct jzx__room_wait *wait, uint32_t cause) {
    jzx_err err = jzx__cause_err(cause);
    JZX_ASSERT((err == JZX_OK) == (wait->message == NULL)); /* F1 */
    if (err != JZX_OK)
        return jzx__room_give_up(wait, err == JZX_ERR_CLOSED ? jzx__mailbox_gone(wait->loop) : err);
    release(wait);
    return JZX_OK;
}

/* ---- the owner of the target ---- */

/* Says to all threads, and to its own fast path, whether there is a line (F4). */
static void show_line(struct jzx__actor *actor, bool is_there) {
    struct jzx__task *task = &actor->task;
    uint32_t bound = jzx__actor_bound(actor);
    uint32_t cap = jzx__actor_cap(actor) | (is_there ? JZX__CAP_LINE : 0);
    /* relaxed: a hint, and the line is under a lock */
    jzx__atomic_store_relaxed(&task->cap, cap);
    task->easy = is_there || task->rest != JZX__IDLE ? 0 : jzx__task_easy(bound);
    task->care &= (uint16_t)~JZX__CARE_LINE;
    task->care |= is_there ? JZX__CARE_LINE : 0;
}

static void append(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__message *message) {
    jzx__task_append(&actor->task, &message->node, message->node.weight);
    jzx__counter_add(&me->counters.accepted, 1);
    if (actor->task.care & JZX__CARE_KIND)
        jzx__mailbox_publish_room(actor);
}

enum step { SERVED, INBOX, FULL, EMPTY };

/* Claims the first in line if there is room for its message. Under the lock. */
static enum step claim(struct jzx__actor *actor, struct jzx__line *line,
                       struct jzx__message **message, struct jzx__wake *wake) {
    uint64_t word = jzx__task_inbox(&actor->task);
    if (line == NULL)
        return EMPTY;
    if (actor->task.pending + jzx__inbox_count(word) >= jzx__actor_bound(actor))
        return FULL;
    if (jzx__inbox_list(word) != NULL && !JZX__MUTANT(room_served_before_inbox))
        return INBOX; /* F5 */
    struct jzx__wait_link *link = jzx__source_claim(&line->source, JZX__CAUSE_ITEM, wake);
    if (link == NULL)
        return EMPTY;
    struct jzx__room_wait *wait = link->slot;
    *message = wait->message;
    wait->message = NULL; /* F1 */
    return SERVED;
}

/* False if there is no more to be done. */
static bool serve_next(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__lines *lines = &jzx__loop_of(me)->lines;
    jzx_actor_id id = jzx__actor_id(actor);
    struct jzx__lock *lock = &jzx__line_stripe(lines, id)->lock;
    struct jzx__message *message = NULL;
    struct jzx__wake wake = {.fn = NULL};
    jzx__lock_acquire(lock);
    enum step step = claim(actor, jzx__line_find(lines, id), &message, &wake);
    if (step == EMPTY)
        show_line(actor, false); /* who joins from here on asks again (F2) */
    jzx__lock_release(lock);
    if (step == SERVED) {
        append(me, actor, message);
        jzx__wake_make(&wake, me);
    } else if (step == INBOX) {
        jzx__mailbox_take_in(me, actor);
        if (actor->task.care & JZX__CARE_KIND)
            jzx__mailbox_publish_room(actor);
    }
    return step == SERVED || step == INBOX;
}

void jzx__room_serve(struct jzx__worker *me, struct jzx__actor *actor) {
    JZX_ASSERT_OWNER(me);
    while (serve_next(me, actor))
        continue;
}

void jzx__room_open(struct jzx__worker *me, struct jzx__actor *actor) {
    actor->task.care &= (uint16_t)~JZX__CARE_LINE;
    if (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED) {
        jzx__line_close(&jzx__loop_of(me)->lines, me, jzx__actor_id(actor)); /* it drains */
        return;
    }
    show_line(actor, true);
    jzx__room_serve(me, actor);
}

/* ---- threads that are no actors ---- */

/* Blocks in the line until the wait is over, and returns its cause. */
static uint32_t block(const struct jzx__room_wait *wait, struct jzx__wait_link *link,
                      uint64_t deadline_ns) {
    const struct jzx__clock *clock = &wait->loop->sched.clock;
    const struct jzx__wait_what what = {"room at", wait->to, jzx__clock_now(clock)};
    struct jzx__waiter waiter;
    jzx__waiter_init_thread(&waiter);
    jzx__waiter_begin(&waiter, what);
    jzx__waiter_join(&waiter, link, 1, NULL);
    if (jzx__waiter_arm(&waiter) == JZX__ARM_SUSPEND)
        jzx__waiter_block(&waiter, clock, deadline_ns);
    return jzx__waiter_end(&waiter);
}

jzx_err jzx_send_wait(jzx_loop *loop, jzx_actor_id to, const void *data, size_t len, uint32_t tag,
                      uint64_t deadline_ns) {
    struct jzx__wait_link link;
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    if (jzx__seat_exists(jzx__seat_of_thread))
        return jzx__waitless_refuse(loop, "jzx_send_wait");
    struct jzx__room_wait wait = {.loop = loop, .to = to};
    jzx_err err = jzx__room_send(&wait, JZX_NOBODY, data, len, tag);
    if (err != JZX_ERR_MAILBOX_FULL)
        return err;
    err = jzx__room_join(&wait, &link);
    return err == JZX_OK ? jzx__room_leave(&wait, block(&wait, &link, deadline_ns)) : err;
}
