/* SPDX-License-Identifier: MIT */
/* A fast producer, a consumer with a small mailbox, and four answers to JZX_ERR_MAILBOX_FULL: drop
 * the message, try again later, fail, or wait until the consumer says that it has room. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { START = 1, ITEM = 2, MAILBOX = 8, ITEMS = 100 };

enum policy { DROP, RETRY, ESCALATE, WAIT_FOR_ROOM };

struct producer {
    enum policy policy;
    jzx_actor_id consumer;
    int next; /* item to send */
    int dropped;
    int pauses;
};

static jzx_behavior_result produce(jzx_context *ctx, const jzx_message *msg) {
    struct producer *self = ctx->state;
    (void)msg; /* START, our own note to try again, or JZX_TAG_ROOM: all mean "go on" */
    for (; self->next < ITEMS; self->next++) {
        jzx_err err =
            jzx_send(ctx->loop, self->consumer, ctx->self, &self->next, sizeof self->next, ITEM);
        if (err == JZX_OK)
            continue;
        if (err != JZX_ERR_MAILBOX_FULL)
            return JZX_BEHAVIOR_FAIL;
        switch (self->policy) {
        case DROP: /* what cannot be delivered now is not worth delivering: telemetry */
            self->dropped++;
            continue;
        case RETRY: /* a note to ourselves: our turn ends, so the consumer runs before it */
            self->pauses++;
            jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, START);
            return JZX_BEHAVIOR_OK;
        case ESCALATE: /* a full mailbox is an error here: whoever watches us decides */
            return JZX_BEHAVIOR_FAIL;
        case WAIT_FOR_ROOM: /* no polling: one message comes when less than half is used */
            self->pauses++;
            jzx_send_when_room(ctx->loop, self->consumer, ctx->self);
            return JZX_BEHAVIOR_OK;
        }
    }
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result consume(jzx_context *ctx, const jzx_message *msg) {
    int *count = ctx->state;
    (void)msg;
    ++*count;
    return JZX_BEHAVIOR_OK;
}

static void note_reason(jzx_context *ctx, jzx_exit_reason reason) {
    struct producer *self = ctx->state;
    if (reason == JZX_EXIT_FAIL)
        printf("  the producer failed at item %d\n", self->next);
}

static void run_with(enum policy policy, const char *name) {
    int count = 0;
    struct producer producer = {.policy = policy};
    jzx_actor_id id;
    /* A failed producer is expected here: no warning about it. */
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .log = {.level = JZX_LOG_ERROR}));
    printf("%s\n", name);
    jzx_spawn(loop,
              &JZX_SPAWN_OPTS(.behavior = consume, .state = &count, .mailbox_cap = MAILBOX,
                              .daemon = true),
              &producer.consumer);
    jzx_spawn(loop,
              &JZX_SPAWN_OPTS(.behavior = produce, .state = &producer, .cleanup = note_reason),
              &id);
    jzx_send(loop, id, JZX_NOBODY, NULL, 0, START);
    jzx_loop_run(loop);             /* until the producer is done */
    jzx_loop_step(loop, JZX_NEVER); /* and what the consumer still has */
    printf("  %d consumed, %d dropped, %d pauses\n", count, producer.dropped, producer.pauses);
    jzx_loop_destroy(loop);
}

int main(void) {
    run_with(DROP, "drop");
    run_with(RETRY, "retry");
    run_with(ESCALATE, "escalate");
    run_with(WAIT_FOR_ROOM, "wait for room");
    return 0;
}
