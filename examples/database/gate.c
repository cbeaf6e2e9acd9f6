/* SPDX-License-Identifier: MIT */
/* The gate: takes points for all series, and opens a series when it is first seen. A point whose
 * head is not there yet, or is full, is stashed until it is, or has room. */
#include "store.h"

#include <stdio.h>
#include <string.h>

jzx_err store_append(jzx_loop *loop, const char *series, struct point point) {
    struct series_point message = {.point = point};
    size_t length = strlen(series);
    if (length == 0 || length >= sizeof message.series)
        return JZX_ERR_INVALID_ARG;
    memcpy(message.series, series, length);
    return jzx_send_named(loop, "gate", JZX_NOBODY, &message, sizeof message, POINT);
}

/* The answer is JZX_TAG_CHILD_ADDED. */
static jzx_err open_series(jzx_context *ctx, const char *series) {
    char name[JZX_NAME_MAX + 1];
    jzx_actor_id supervisor;
    jzx_child_spec spec = head_spec;
    head_name(series, name);
    spec.name = series;
    spec.registered = name;
    jzx_err err = jzx_lookup(ctx->loop, "ingest", &supervisor);
    return err == JZX_OK ? jzx_supervisor_add(ctx->loop, supervisor, &spec, sizeof spec, ctx->self)
                         : err;
}

/* JZX_OK also if a message will come that says when to try again: *wait is true then. */
static jzx_err pass_on(jzx_context *ctx, const struct series_point *message, bool *wait) {
    char name[JZX_NAME_MAX + 1];
    jzx_actor_id head = JZX_NOBODY;
    head_name(message->series, name);
    jzx_err err = jzx_lookup(ctx->loop, name, &head);
    if (err == JZX_OK)
        err = jzx_send(ctx->loop, head, ctx->self, &message->point, sizeof message->point, APPEND);
    *wait = err != JZX_OK;
    if (err == JZX_ERR_NO_SUCH_ACTOR)
        return open_series(ctx, message->series); /* or it is being restarted: JZX_ERR_EXISTS */
    if (err == JZX_ERR_MAILBOX_FULL)
        return jzx_send_when_room(ctx->loop, head, ctx->self);
    return err;
}

static void take_point(jzx_context *ctx, const jzx_message *msg) {
    bool wait = false;
    jzx_err err = pass_on(ctx, msg->data, &wait);
    if (err == JZX_OK && wait)
        err = jzx_stash(ctx, msg);
    if (err != JZX_OK)
        store_count(ctx->loop, POINTS_REFUSED, 1);
}

jzx_behavior_result gate(jzx_context *ctx, const jzx_message *msg) {
    const jzx_child_added *added = msg->data;
    switch (msg->tag) {
    case POINT: take_point(ctx, msg); break;
    case JZX_TAG_CHILD_ADDED:
        /* A series that cannot be opened: the points that wait for it are given up with the gate,
         * as dead letters, and the next gate begins with an empty stash. */
        JZX_CHECK(ctx, added->err == JZX_OK || added->err == JZX_ERR_EXISTS);
        jzx_unstash(ctx);
        break;
    case JZX_TAG_ROOM: jzx_unstash(ctx); break;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}
