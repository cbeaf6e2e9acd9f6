/* SPDX-License-Identifier: MIT */
/* jzx_send and its relatives: arguments, the look-up, the copy; the rest is the mailbox's. */
#include "actor/send.h"

#include "actor/mailbox.h"
#include "actor/share.h"

#include <string.h>

jzx_err jzx__send_refuse(struct jzx_loop *loop, struct jzx__worker *me, jzx_err reason) {
    switch (reason) {
    case JZX_ERR_MAILBOX_FULL: jzx__loop_count(loop, me, refused_full); break;
    case JZX_ERR_NO_SUCH_ACTOR: jzx__loop_count(loop, me, refused_no_actor); break;
    case JZX_ERR_LOOP_CLOSED: jzx__loop_count(loop, me, refused_closed); break;
    case JZX_ERR_NO_MEMORY: jzx__loop_count(loop, me, refused_no_memory); break;
    default: jzx__loop_count(loop, me, refused_invalid); break;
    }
    return reason;
}

/* The receiver and the sender of a user message. */
struct envelope {
    jzx_actor_id to;
    jzx_actor_id from;
};

/* Every send that is not the common case: other threads, long payloads, a bound in reach,
 * errors. */
static jzx_err send_inside(struct jzx_loop *loop, struct jzx__worker *me,
                           const struct envelope *envelope, const void *data, size_t len,
                           uint32_t tag) {
    if ((data == NULL && len != 0) || len > JZX_MSG_LEN_MAX || tag >= JZX_TAG_RESERVED)
        return jzx__send_refuse(loop, me, JZX_ERR_INVALID_ARG);
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, envelope->to);
    if (actor == NULL)
        return jzx__send_refuse(loop, me, jzx__mailbox_gone(loop));
    if (me != NULL && !jzx__slab_is_stocked(&me->slab, loop->short_class))
        jzx__worker_end_turn(me); /* W6 */
    struct jzx__message *message = jzx__message_create(loop, me, len);
    if (message == NULL)
        return jzx__send_refuse(loop, me, JZX_ERR_NO_MEMORY);
    jzx__slab_fetch_ahead(message); /* mostly for another worker, which frees it there */
    jzx__send_address(message, envelope->to, envelope->from, tag);
    if (JZX_LIKELY(len <= JZX_MSG_INLINE))
        jzx__copy_short(message->payload, data, len);
    else
        memcpy(message->payload, data, len);
    jzx_err err = jzx__mailbox_deliver(loop, me, actor, message);
    if (err != JZX_OK) {
        jzx__message_destroy(loop, me, message);
        return jzx__send_refuse(loop, me, err);
    }
    return JZX_OK;
}

static JZX_COLD jzx_err send_any(struct jzx_loop *loop, jzx_actor_id to, jzx_actor_id from,
                                 const void *data, size_t len, uint32_t tag) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    const struct envelope envelope = {.to = to, .from = from};
    jzx_err err = send_inside(loop, me, &envelope, data, len, tag);
    jzx__visit_end(&visit);
    return err;
}

/* True if everything is as it mostly is, so that a send needs no call. An actor that this thread
 * owns is one of a loop that it drives; NULL owns nothing. */
JZX_INLINE bool is_easy(const struct jzx__worker *me, struct jzx__actor *actor) {
    return jzx__worker_owns(me, &actor->task) &&
           (jzx__task_inbox(&actor->task) & ~JZX__INBOX_TOKEN) == 0 &&
           actor->task.pending < actor->task.easy && jzx__slab_has(&me->slab, 0);
}

JZX_INLINE void send_easy(struct jzx__worker *me, struct jzx__actor *actor,
                          const struct envelope *envelope, const void *data, size_t len,
                          uint32_t tag) {
    struct jzx__message *message = jzx__slab_alloc_easy(&me->slab, 0);
    jzx__task_append(&actor->task, &message->node, 1);
    jzx__node_init_plain(&message->node, jzx_id_generation(envelope->to));
    message->sender = envelope->from;
    message->tag = tag;
    message->len = (uint32_t)len;
    me->pass_accepted++;
    jzx__copy_short(message->payload, data, len);
    jzx__worker_ready_plain(me, &actor->task);
}

/* For a caller that has opened the bracket: this closes it. */
static JZX_COLD jzx_err send_entered(struct jzx_loop *loop, jzx_actor_id to, jzx_actor_id from,
                                     const void *data, size_t len, uint32_t tag) {
    jzx__seat_leave(jzx__seat_of_thread, 0);
    return send_any(loop, to, from, data, len, tag);
}

/* The common case makes no call but the last, so that it needs little stack: it decides everything
 * before it changes anything, and leaves the rest to send_any. A callback of the runtime is inside
 * the bracket already; that is rare. */
jzx_err jzx_send(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, const void *data, size_t len,
                 uint32_t tag) {
    struct jzx__seat *seat = jzx__seat_of_thread;
    if (JZX_UNLIKELY(jzx__seat_is_inside(seat)))
        return send_any(loop, to, from, data, len, tag);
    /* One by one: gcc computes the whole of `a || b` before it branches. */
    if (JZX_UNLIKELY(loop == NULL))
        return send_any(loop, to, from, data, len, tag);
    if (JZX_UNLIKELY(tag >= JZX_TAG_RESERVED))
        return send_any(loop, to, from, data, len, tag);
    if (JZX_UNLIKELY(len >= loop->inline_end))
        return send_any(loop, to, from, data, len, tag);
    if (JZX_UNLIKELY(data == NULL) && len != 0)
        return send_any(loop, to, from, data, len, tag);
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, to);
    if (JZX_UNLIKELY(actor == NULL))
        return send_any(loop, to, from, data, len, tag);
    struct jzx__worker *me = jzx__seat_enter(seat);
    if (JZX_UNLIKELY(!is_easy(me, actor)))
        return send_entered(loop, to, from, data, len, tag);
    const struct envelope envelope = {.to = to, .from = from};
    send_easy(me, actor, &envelope, data, len, tag);
    jzx__seat_leave(seat, 0);
    return JZX_OK;
}

jzx_err jzx_send_async(jzx_loop *loop, jzx_actor_id to, const void *data, size_t len,
                       uint32_t tag) {
    return jzx_send(loop, to, JZX_NOBODY, data, len, tag);
}

static const char move_name[] = "jzx_send_msg";

/* Moves a reference, in a message that is made for it. */
static jzx_err move_shared(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__actor *actor,
                           struct jzx__message *block, const struct envelope *envelope,
                           uint32_t tag) {
    struct jzx__message *message = jzx__shared_wrap(loop, me, block);
    if (message == NULL)
        return jzx__send_refuse(loop, me, JZX_ERR_NO_MEMORY);
    jzx__send_address(message, envelope->to, envelope->from, tag);
    jzx_err err = jzx__mailbox_deliver(loop, me, actor, message);
    if (err == JZX_OK)
        return JZX_OK;
    jzx__shared_unwrap(loop, me, message);
    return jzx__send_refuse(loop, me, err);
}

/* A buffer that was refused is still the caller's. */
static JZX_COLD jzx_err keep(struct jzx_loop *loop, struct jzx__worker *me,
                             struct jzx__message *message, jzx_err reason) {
    if (message->node.flags & JZX__MSG_HIDDEN)
        jzx__message_show(message);
    jzx__message_give(loop, message);
    return jzx__send_refuse(loop, me, reason);
}

static jzx_err move_inside(struct jzx_loop *loop, struct jzx__worker *me,
                           const struct jzx__visit *visit, const struct envelope *envelope,
                           void *data, uint32_t tag) {
    struct jzx__message *message =
        data == NULL || tag >= JZX_TAG_RESERVED ? NULL : jzx__message_claim(loop, data, move_name);
    if (message == NULL)
        return jzx__send_refuse(loop, me, JZX_ERR_INVALID_ARG);
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, envelope->to);
    if (actor == NULL)
        return jzx__send_refuse(loop, me, jzx__mailbox_gone(loop));
    if (JZX_UNLIKELY(message->node.size_class >= JZX__MSG_SHARED)) {
        if (jzx__message_is_shared(message))
            return jzx__message_is_borrowed(loop, visit, message, move_name)
                       ? jzx__send_refuse(loop, me, JZX_ERR_INVALID_ARG)
                       : move_shared(loop, me, actor, message, envelope, tag);
        if (jzx__message_is_checked(message))
            jzx__message_hide(message);
        jzx__message_stamp(loop, message);
    }
    jzx__send_address(message, envelope->to, envelope->from, tag);
    jzx_err err = jzx__mailbox_deliver(loop, me, actor, message);
    return err == JZX_OK ? JZX_OK : keep(loop, me, message, err);
}

jzx_err jzx_send_msg(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, void *data, uint32_t tag) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    const struct envelope envelope = {.to = to, .from = from};
    jzx_err err = move_inside(loop, me, &visit, &envelope, data, tag);
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_send_shared(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, void *data,
                        uint32_t tag) {
    struct jzx__message *block =
        loop == NULL || data == NULL ? NULL : jzx__message_claim(loop, data, "jzx_send_shared");
    if (block == NULL || !jzx__message_is_shared(block))
        return jzx_send_msg(loop, to, from, NULL, tag); /* refused, and in the books */
    jzx__shared_acquire(block);
    jzx_err err = jzx_send_msg(loop, to, from, data, tag); /* moves the new one */
    if (err != JZX_OK)
        jzx__shared_release(block); /* not the last: the caller has its own */
    return err;
}
