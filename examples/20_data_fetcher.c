/* SPDX-License-Identifier: MIT */
/* Data fetcher: an actor that fetches values by key. What it has is in its cache; fetches of one
 * key at the same time share one request; all who wait for it are told. The fetches are async
 * functions, and their results come to the actor as messages. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { KEYS = 4, WAITERS_MAX = 8 };
enum { GET = 1, FETCHED, VALUE };

/* The slow source: one request. */
struct request {
    uint32_t key;
    jzx_await_op wait;
};

struct reply {
    uint32_t key;
    uint32_t value;
};

JZX_ASYNC(request, struct request, struct reply) {
    printf("request for key %u\n", self->key);
    JZX_AWAIT(jzx_op_sleep(&self->wait, jzx_in(ctx, JZX_MS(2))), NULL);
    JZX_RETURN((struct reply){self->key, self->key * 11});
}
JZX_END

struct fetcher {
    struct {
        bool is_cached;
        uint32_t value;
        jzx_actor_id waiters[WAITERS_MAX];
        uint32_t count;
    } keys[KEYS];
    uint32_t answers;
};

static void tell(jzx_context *ctx, jzx_actor_id to, uint32_t value) {
    struct fetcher *self = ctx->state;
    self->answers++;
    (void)jzx_send(ctx->loop, to, ctx->self, &value, sizeof value, VALUE);
}

static jzx_err begin(jzx_context *ctx, uint32_t key) {
    jzx_future *future;
    jzx_err err = request_spawn(ctx->loop, (struct request){.key = key}, &future);
    if (err != JZX_OK)
        return err;
    err = jzx_future_to(ctx, future, FETCHED, NULL);
    jzx_future_release(future); /* the operation has a handle of its own */
    return err;
}

static jzx_behavior_result get(jzx_context *ctx, const jzx_message *msg) {
    struct fetcher *self = ctx->state;
    uint32_t key = *(const uint32_t *)msg->data % KEYS;
    if (self->keys[key].is_cached) {
        tell(ctx, msg->sender, self->keys[key].value);
        return JZX_BEHAVIOR_OK;
    }
    if (self->keys[key].count == WAITERS_MAX)
        return JZX_BEHAVIOR_OK; /* one that is not told asks again */
    self->keys[key].waiters[self->keys[key].count++] = msg->sender;
    if (self->keys[key].count == 1 && begin(ctx, key) != JZX_OK)
        return JZX_BEHAVIOR_FAIL;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result fetched(jzx_context *ctx, const jzx_result *result) {
    struct fetcher *self = ctx->state;
    if (result->err != JZX_OK)
        return JZX_BEHAVIOR_FAIL;
    const struct reply *reply = jzx_result_data(result);
    self->keys[reply->key].is_cached = true;
    self->keys[reply->key].value = reply->value;
    for (uint32_t i = 0; i < self->keys[reply->key].count; i++)
        tell(ctx, self->keys[reply->key].waiters[i], reply->value);
    self->keys[reply->key].count = 0;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result be_fetcher(jzx_context *ctx, const jzx_message *msg) {
    return msg->tag == GET ? get(ctx, msg) : fetched(ctx, msg->data);
}

/* ---- those who want values ---- */

struct client {
    jzx_actor_id fetcher;
    uint32_t key;
};

static void be_client(jzx_context *ctx) {
    const struct client *self = ctx->state;
    jzx_message msg;
    for (int i = 0; i < 2; i++) { /* the second time it is in the cache */
        if (jzx_send(ctx->loop, self->fetcher, ctx->self, &self->key, sizeof self->key, GET) !=
                JZX_OK ||
            jzx_receive(ctx, JZX_NEVER, &msg) != JZX_OK)
            return;
        if (i == 1)
            printf("key %u is %u\n", self->key, *(const uint32_t *)msg.data);
    }
}

int main(void) {
    struct fetcher fetcher = {0};
    struct client clients[4];
    jzx_actor_id id;
    jzx_loop *loop = jzx_loop_create(NULL);
    if (loop == NULL || jzx_spawn(loop,
                                  &JZX_SPAWN_OPTS(.behavior = be_fetcher, .state = &fetcher,
                                                  .name = "fetcher", .daemon = true),
                                  &id) != JZX_OK)
        return 1;
    for (uint32_t i = 0; i < 4; i++) {
        clients[i] = (struct client){.fetcher = id, .key = 1 + i / 3};
        if (jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = be_client, .state = &clients[i]), NULL) !=
            JZX_OK)
            return 1;
    }
    jzx_err err = jzx_loop_run(loop);
    (void)jzx_loop_destroy(loop);
    printf("%u answers\n", fetcher.answers);
    return err == JZX_OK && fetcher.answers == 8 ? 0 : 1;
}
