/* SPDX-License-Identifier: MIT */
/* Metrics counts, and keeps the progress marker that a merge job told last. Compaction keeps the
 * store from growing old. */
#include "store.h"

/* ---- metrics ---- */

jzx_err metrics_init(jzx_context *ctx) {
    ctx->state = jzx_alloc_zeroed(ctx, 1, sizeof(struct counters));
    return ctx->state == NULL ? JZX_ERR_NO_MEMORY : JZX_OK;
}

jzx_behavior_result metrics(jzx_context *ctx, const jzx_message *msg) {
    struct counters *counters = ctx->state;
    const struct count *count = msg->data;
    if (msg->tag == READ_COUNTERS) {
        (void)jzx_reply(ctx, msg, counters, sizeof *counters, COUNTERS);
    } else if (msg->tag == COUNT) {
        JZX_CHECK(ctx, count->counter < COUNTERS_MAX);
        counters->values[count->counter] += count->amount;
    } else if (msg->tag == PROGRESS) {
        counters->progress = *(const struct progress *)msg->data;
        counters->progress_reports++;
    }
    return JZX_BEHAVIOR_OK;
}

/* ---- compaction ---- */

enum { COMPACT_KEY = 1 };

/* A fixed delay begins anew when the message was handled: a slow turn is not followed by two. */
jzx_err compaction_init(jzx_context *ctx) {
    return jzx_timer_start_every(ctx, COMPACT_KEY, NULL, 0, COMPACT, JZX_MS(COMPACT_MS),
                                 JZX_FIXED_DELAY);
}

/* One question at a time: if the index does not answer in a period, the next one asks again. */
jzx_behavior_result compaction(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id index;
    if (msg->tag == COMPACT && jzx_lookup(ctx->loop, "index", &index) == JZX_OK) {
        int64_t before_ms = store_now_ms(ctx->loop) - RETENTION_MS;
        (void)jzx_ask(ctx, index, &before_ms, sizeof before_ms, DROP_BEFORE, JZX_MS(COMPACT_MS / 2),
                      NULL);
    }
    return JZX_BEHAVIOR_OK; /* DROPPED and JZX_TAG_ASK_TIMEOUT need nothing done */
}
