/* SPDX-License-Identifier: MIT */
/* From events to callbacks. */
#include "observe/observer.h"

#include <string.h>

void jzx__observer_set(struct jzx__observer *observer, const jzx_observer *callbacks, void *ctx) {
    memset(&observer->callbacks, 0, sizeof observer->callbacks);
    if (callbacks != NULL)
        observer->callbacks = *callbacks;
    observer->ctx = ctx;
    /* relaxed: see is_set */
    jzx__atomic_store_relaxed(&observer->is_set, callbacks != NULL ? 1u : 0u);
}

static void emit_own(const jzx_observer *call, void *ctx, const jzx_event *event) {
    switch (event->kind) {
    case JZX_EVENT_ACTOR_START:
        if (call->on_actor_start != NULL)
            call->on_actor_start(ctx, event->actor, event->name);
        break;
    case JZX_EVENT_ACTOR_STOP:
    case JZX_EVENT_ACTOR_FAIL:
        if (call->on_actor_stop != NULL)
            call->on_actor_stop(ctx, event->actor, event->reason);
        break;
    case JZX_EVENT_ACTOR_RESTART:
        if (call->on_actor_restart != NULL)
            call->on_actor_restart(ctx, event->actor, event->attempt);
        break;
    case JZX_EVENT_SUPERVISOR_ESCALATE:
        if (call->on_supervisor_escalate != NULL)
            call->on_supervisor_escalate(ctx, event->actor);
        break;
    case JZX_EVENT_MAILBOX_FULL:
        if (call->on_mailbox_full != NULL)
            call->on_mailbox_full(ctx, event->actor);
        break;
    case JZX_EVENT_LOOP_START:
    case JZX_EVENT_LOOP_STOP:
    case JZX_EVENT_DEAD_LETTER:
    case JZX_EVENT_STALL:
    case JZX_EVENT_STALL_END:
    case JZX_EVENT_STOP_LATE:
    case JZX_EVENT_DRAIN_CUT:
    case JZX_EVENT_UNHANDLED_REJECTION:
    case JZX_EVENT_OWNER_DIED:
    case JZX_EVENT_SCHEDULE:
    case JZX_EVENT_DEADLOCK: break; /* on_event only */
    }
}

void jzx__observer_emit(const struct jzx__observer *observer, const jzx_event *event) {
    if (!jzx__observer_is_set(observer))
        return;
    jzx_observer call = observer->callbacks; /* a callback may replace the observer */
    void *ctx = observer->ctx;
    emit_own(&call, ctx, event);
    if (call.on_event != NULL)
        call.on_event(ctx, event);
}
