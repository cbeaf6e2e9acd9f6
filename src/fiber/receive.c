/* SPDX-License-Identifier: MIT */
/* Receiving: which message a fiber gets, and what it has passed over. */
#include "fiber/receive.h"

#include "actor/mailbox.h"
#include "actor/share.h"
#include "ask/ask.h"
#include "watch/watch.h"

#include "jzx/exit.h"

#include <string.h>

/* ---- filters ---- */

static bool is_end_of(const struct jzx__message *message, jzx_monitor_ref monitor) {
    jzx_exit_notice notice;
    if (message->tag != JZX_TAG_DOWN)
        return false;
    memcpy(&notice, message->payload, sizeof notice);
    return notice.monitor == monitor;
}

/* What a call of the fiber itself waits for: no receive is to see it. */
static bool is_for_call(const struct jzx__filter *filter, struct jzx__message *message) {
    if (filter->kind == JZX__FILTER_JOIN)
        return is_end_of(message, filter->value);
    return jzx__ask_is_answer(message, filter->value) || jzx__ask_is_down(message, filter->value);
}

/* Whether a message is wanted. */
enum wanted { UNASKED = -1, /* the turn is over: a predicate is asked in the next one */ NO, YES };

/* The predicate is the user's code, inside the bracket (S3 of seat.h). It is asked once: so not in
 * a turn that is over. */
static enum wanted ask_predicate(const struct jzx__fiber *fiber, struct jzx__message *message) {
    const jzx_message view = jzx__fiber_view(message);
    struct jzx__seat *seat = fiber->turn.seat;
    if (fiber->worker->budget.left <= 1)
        return UNASKED;
    jzx__seat_leave(seat, JZX__SEAT_IN_PREDICATE);
    bool matches = fiber->filter->fn(fiber->filter->arg, &view);
    jzx__seat_enter(seat);
    return matches ? YES : NO;
}

static enum wanted matches(const struct jzx__fiber *fiber, struct jzx__message *message) {
    switch (fiber->filter->kind) {
    case JZX__FILTER_ANY: return YES;
    case JZX__FILTER_TAG: return message->tag == fiber->filter->value ? YES : NO;
    case JZX__FILTER_SENDER: return message->sender == fiber->filter->value ? YES : NO;
    case JZX__FILTER_MATCH: return ask_predicate(fiber, message);
    case JZX__FILTER_NONE: return NO;
    default: return is_for_call(fiber->filter, message) ? YES : NO;
    }
}

/* ---- the cursors (V6) ---- */

void jzx__fiber_forget_cursors(struct jzx__actor *actor) {
    struct jzx__fiber *fiber = jzx__fiber_of(jzx__actor_cold(actor));
    if (fiber == NULL)
        return;
    fiber->passed = NULL;
    fiber->judged = NULL;
    fiber->changes++;
}

static bool has_cursor(const struct jzx__filter *filter) {
    return filter->kind >= JZX__FILTER_TAG && filter->kind <= JZX__FILTER_MATCH;
}

void jzx__fiber_set_filter(struct jzx__fiber *fiber, const struct jzx__filter *filter) {
    fiber->filter = filter;
    if (!has_cursor(filter))
        return;
    if (filter->kind != fiber->passed_kind || filter->value != fiber->passed_value ||
        filter->kind == JZX__FILTER_MATCH)
        fiber->passed = NULL;
    fiber->passed_kind = filter->kind;
    fiber->passed_value = filter->value;
}

/* The node that a scan with this filter has come to, NULL: the beginning. */
static struct jzx__node *cursor(const struct jzx__fiber *fiber) {
    switch (fiber->filter->kind) {
    case JZX__FILTER_ANY: return NULL;
    case JZX__FILTER_TAG:
    case JZX__FILTER_SENDER:
    case JZX__FILTER_MATCH: return fiber->passed;
    default: return fiber->judged; /* what it looks for comes behind that, if at all */
    }
}

static void advance(struct jzx__fiber *fiber, struct jzx__node *before, struct jzx__node *node) {
    if (fiber->judged == before)
        fiber->judged = node;
    if (has_cursor(fiber->filter))
        fiber->passed = node;
}

/* The node is about to leave the list: a cursor that is at it goes to the one before. */
static void leave_node(struct jzx__fiber *fiber, struct jzx__node *before,
                       const struct jzx__node *node) {
    if (fiber->passed == node)
        fiber->passed = before;
    if (fiber->judged == node)
        fiber->judged = before;
}

/* Takes the node out: it is handled from now on. */
static void take_out(struct jzx__worker *me, struct jzx__fiber *fiber, struct jzx__node *before,
                     struct jzx__node *node) {
    struct jzx__cold *cold = jzx__actor_cold(fiber->turn.actor);
    leave_node(fiber, before, node);
    jzx__task_remove(&fiber->turn.actor->task, before, node);
    jzx__mailbox_publish_room(fiber->turn.actor);
    fiber->found = jzx__message_of(node);
    me->budget.left--;
    me->pass_handled++;
    cold->hears = cold->listens && node->lane == JZX__LANE_USER;
    cold->steps += cold->accounts;
}

/* ---- scanning ---- */

static struct jzx__node *after(const struct jzx__task *task, const struct jzx__node *before) {
    return before == NULL ? task->head : before->next;
}

/* A node that may end the actor when it is looked at, or is no message, which whoever passes it
 * does. It is gone after that, or a message as others. */
static bool is_signal(struct jzx__node *node) {
    return node->lane == JZX__LANE_LEAVE || node->lane == JZX__LANE_IO_ASK ||
           node->lane == JZX__LANE_FILE ||
           (node->lane == JZX__LANE_DOWN && !jzx__watch_has_fired(node)) ||
           (node->lane == JZX__LANE_WATCH && !jzx__watch_was_told(node));
}

static enum jzx__look look_at(struct jzx__worker *me, struct jzx__actor *actor,
                              struct jzx__node *before, struct jzx__node *node) {
    const struct jzx__spot at = {actor, before, node};
    const struct jzx__lane_ops *lane = jzx__lane_of(node);
    return lane->begin == NULL ? JZX__LOOK_HANDLE : lane->begin(me, &at);
}

/* Looks at a signal. HANDLE: it is a message, and waits as before. */
static enum jzx__look judge(struct jzx__worker *me, struct jzx__actor *actor,
                            struct jzx__node *before, struct jzx__node *node) {
    enum jzx__look look = look_at(me, actor, before, node);
    if (look == JZX__LOOK_HANDLE) {
        jzx__lane_of(node)->stash(jzx__actor_cold(actor), jzx__message_of(node));
        jzx__mailbox_look(actor);
    }
    return look;
}

/* One that matches. NONE: it is gone, and the next is looked at. */
static enum jzx__scan take(struct jzx__worker *me, struct jzx__fiber *fiber,
                           struct jzx__node *before, struct jzx__node *node) {
    if (me->budget.left <= 1) {
        if (fiber->filter->kind != JZX__FILTER_MATCH)
            return JZX__SCAN_SPENT;
        me->budget.left = 2; /* the predicate has ended the turn itself: one more */
    }
    if (jzx__lane_is_special(node->lane)) {
        leave_node(fiber, before, node); /* it may be gone after the look */
        switch (look_at(me, fiber->turn.actor, before, node)) {
        case JZX__LOOK_HANDLE: break;
        case JZX__LOOK_GONE: return JZX__SCAN_NONE;
        default: return JZX__SCAN_STOP;
        }
    }
    take_out(me, fiber, before, node);
    return JZX__SCAN_FOUND;
}

/* Takes in what has come meanwhile. False if there is nothing. */
static bool take_in(struct jzx__worker *me, struct jzx__actor *actor) {
    if (jzx__inbox_list(jzx__task_inbox(&actor->task)) == NULL)
        return false;
    jzx__mailbox_take_in(me, actor);
    jzx__mailbox_publish_room(actor);
    return true;
}

enum jzx__scan jzx__fiber_scan(struct jzx__worker *me, struct jzx__fiber *fiber, bool on_thread) {
    struct jzx__actor *actor = fiber->turn.actor;
    for (;;) {
        struct jzx__node *before = cursor(fiber);
        struct jzx__node *node = after(&actor->task, before);
        if (node == NULL) {
            if (!take_in(me, actor))
                return JZX__SCAN_NONE;
            if (JZX_UNLIKELY(jzx__fiber_is_wanted(actor)))
                return JZX__SCAN_STOP; /* a nudge came along, and is used up: R3 */
            continue;
        }
        if (JZX_UNLIKELY(is_signal(node))) {
            enum jzx__look look = on_thread ? judge(me, actor, before, node) : JZX__LOOK_AGAIN;
            if (look == JZX__LOOK_ENDED)
                return JZX__SCAN_ENDED;
            if (look == JZX__LOOK_AGAIN)
                return JZX__SCAN_STOP;
            continue;
        }
        uint32_t changes = fiber->changes;
        enum wanted wanted = matches(fiber, jzx__message_of(node));
        if (JZX_UNLIKELY(fiber->changes != changes))
            continue; /* a predicate has sent something to its own mailbox, which is full */
        if (wanted != YES) {
            if (wanted == UNASKED)
                return JZX__SCAN_SPENT;
            advance(fiber, before, node);
            continue;
        }
        enum jzx__scan scan = take(me, fiber, before, node);
        if (scan != JZX__SCAN_NONE)
            return scan;
    }
}

enum jzx__scan jzx__fiber_judge(struct jzx__worker *me, struct jzx__fiber *fiber) {
    static const struct jzx__filter none = {.kind = JZX__FILTER_NONE};
    const struct jzx__filter *filter = fiber->filter;
    fiber->filter = &none;
    enum jzx__scan scan = jzx__fiber_scan(me, fiber, true);
    if (scan != JZX__SCAN_ENDED)
        fiber->filter = filter;
    return scan;
}

bool jzx__fiber_has_match(const struct jzx__fiber *fiber) {
    for (struct jzx__node *node = fiber->turn.actor->task.head; node != NULL; node = node->next) {
        if (!is_signal(node) && is_for_call(fiber->filter, jzx__message_of(node)))
            return true;
    }
    return false;
}

bool jzx__fiber_has_unmatched(const struct jzx__fiber *fiber) {
    return after(&fiber->turn.actor->task, fiber->passed) != NULL;
}

/* ---- the message in hand ---- */

void jzx__fiber_drop_current(struct jzx__worker *me, struct jzx__fiber *fiber) {
    struct jzx__message *message = jzx__turn_put_down(&fiber->turn);
    struct jzx__cold *cold = jzx__actor_cold(fiber->turn.actor);
    if (JZX_UNLIKELY(cold->hears)) {
        cold->heard_ns = jzx__clock_now(&me->sched->clock);
        cold->hears = false;
    }
    if (message != NULL)
        jzx__message_destroy(fiber->turn.ctx.loop, me, message);
}

static void hand_over(struct jzx__fiber *fiber, jzx_message *msg) {
    struct jzx__message *message = fiber->found;
    fiber->found = NULL;
    fiber->turn.current = message;
    /* relaxed: for dumps and the watchdog */
    jzx__atomic_store_relaxed(&fiber->turn.seat->tag, message->tag);
    *msg = jzx__fiber_view(message);
}

/* ---- the calls ---- */

/* Without a switch, if what is wanted is there. NONE: the fiber is not to wait for it. A fiber that
 * is to look for its predicate has been attended to in this turn, and looks whatever there is to
 * attend to: that may be there for as long as nothing is received (senders in line for room). */
static enum jzx__scan receive_here(struct jzx__fiber *fiber, uint64_t deadline_ns,
                                   bool is_to_look) {
    struct jzx__worker *me = fiber->worker;
    if (is_to_look ? fiber->is_lost : !jzx__fiber_is_free(fiber))
        return JZX__SCAN_STOP;
    jzx__fiber_drop_current(me, fiber);
    enum jzx__scan scan = jzx__fiber_scan(me, fiber, false);
    if (JZX_LIKELY(scan == JZX__SCAN_FOUND)) {
        jzx__worker_count_message(me);
    } else if (scan == JZX__SCAN_NONE && (deadline_ns != 0 || me->budget.left <= 1)) {
        fiber->has_looked = true;
        scan = JZX__SCAN_STOP;
    } else if (scan == JZX__SCAN_NONE) {
        me->budget.left--; /* who only looks uses up its turn all the same */
    }
    return scan;
}

JZX_INLINE jzx_err receive(jzx_context *ctx, const char *call, const struct jzx__filter *filter,
                           uint64_t deadline_ns, jzx_message *msg) {
    jzx_err err;
    if (msg == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__fiber *fiber = jzx__fiber_enter(ctx, call, &err);
    if (JZX_UNLIKELY(fiber == NULL))
        return err;
    jzx__fiber_set_filter(fiber, filter);
    err = JZX_OK;
    do {
        switch (receive_here(fiber, deadline_ns, err == JZX__FIBER_LOOK)) {
        case JZX__SCAN_FOUND: err = JZX_OK; break;
        case JZX__SCAN_NONE: err = JZX_ERR_TIMEOUT; break;
        default: err = jzx__fiber_wait(fiber, JZX__WISH_MESSAGE, deadline_ns); break;
        }
    } while (err == JZX__FIBER_LOOK);
    if (err == JZX_OK)
        hand_over(fiber, msg);
    jzx__fiber_leave(fiber);
    return err;
}

jzx_err jzx_receive(jzx_context *ctx, uint64_t deadline_ns, jzx_message *msg) {
    const struct jzx__filter filter = {.kind = JZX__FILTER_ANY};
    return receive(ctx, "jzx_receive", &filter, deadline_ns, msg);
}

jzx_err jzx_receive_tag(jzx_context *ctx, uint32_t tag, uint64_t deadline_ns, jzx_message *msg) {
    const struct jzx__filter filter = {.kind = JZX__FILTER_TAG, .value = tag, .object = tag};
    return receive(ctx, "jzx_receive_tag", &filter, deadline_ns, msg);
}

jzx_err jzx_receive_from(jzx_context *ctx, jzx_actor_id sender, uint64_t deadline_ns,
                         jzx_message *msg) {
    const struct jzx__filter filter = {
        .kind = JZX__FILTER_SENDER, .value = sender, .object = sender};
    return receive(ctx, "jzx_receive_from", &filter, deadline_ns, msg);
}

jzx_err jzx_receive_match(jzx_context *ctx, jzx_match_fn fn, void *arg, uint64_t deadline_ns,
                          jzx_message *msg) {
    const struct jzx__filter filter = {.kind = JZX__FILTER_MATCH, .fn = fn, .arg = arg};
    if (fn == NULL)
        return JZX_ERR_INVALID_ARG;
    return receive(ctx, "jzx_receive_match", &filter, deadline_ns, msg);
}
