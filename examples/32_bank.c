/* SPDX-License-Identifier: MIT */
/* A bank account in four kinds of actors. Each begins with 100, gets 30, pays 50 and says what is
 * left. docs/kinds.md puts them side by side. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { DEPOSIT = 1, WITHDRAW, CLOSE };

static void report(const char *kind, int64_t balance) {
    printf("%s: %lld\n", kind, (long long)balance);
}

/* [behaviour] */
static jzx_behavior_result account(jzx_context *ctx, const jzx_message *msg) {
    int64_t *balance = ctx->state;
    switch (msg->tag) {
    case DEPOSIT: *balance += *(const int64_t *)msg->data; break;
    case WITHDRAW: *balance -= *(const int64_t *)msg->data; break;
    case CLOSE: report("behaviour", *balance); return JZX_BEHAVIOR_STOP;
    default: return JZX_BEHAVIOR_FAIL;
    }
    return JZX_BEHAVIOR_OK;
}
/* [end] */

/* [fiber] */
static void account_fiber(jzx_context *ctx) {
    int64_t balance = 100;
    jzx_message msg;
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK && msg.tag != CLOSE) {
        int64_t amount = *(const int64_t *)msg.data;
        balance += msg.tag == DEPOSIT ? amount : -amount;
    }
    report("fiber", balance);
}
/* [end] */

/* [async] */
struct account_async {
    int64_t balance;
    jzx_future *moves[2]; /* what others bring: an async function has no mailbox to read */
    int64_t amount;
    int at;
    jzx_await_op op;
};

JZX_ASYNC(account_async, struct account_async, int64_t) {
    for (self->at = 0; self->at < 2; self->at++) {
        JZX_AWAIT(jzx_op_consume(&self->op, self->moves[self->at], JZX_NEVER), &self->amount);
        self->balance += self->amount;
    }
    report("async function", self->balance);
    JZX_RETURN(self->balance);
}
JZX_END
/* [end] */

/* [typed] */
#define ACCOUNT(T, STATE, ON, ASK)                                                                 \
    STATE(T, int64_t, balance, 100)                                                                \
    ON(T, deposit, int64_t, amount)                                                                \
    ON(T, withdraw, int64_t, amount)                                                               \
    ON(T, close)

JZX_ACTOR_TYPE(typed, ACCOUNT);

static jzx_behavior_result typed_on_deposit(jzx_context *ctx, struct typed *self,
                                            const struct typed_deposit *msg) {
    (void)ctx;
    self->balance += msg->amount;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result typed_on_withdraw(jzx_context *ctx, struct typed *self,
                                             const struct typed_withdraw *msg) {
    (void)ctx;
    self->balance -= msg->amount;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result typed_on_close(jzx_context *ctx, struct typed *self,
                                          const struct typed_close *msg) {
    (void)ctx, (void)msg;
    report("typed actor", self->balance);
    return JZX_BEHAVIOR_STOP;
}
/* [end] */

/* The same messages for the kinds that read them by their tags. */
static bool use(jzx_loop *loop, jzx_actor_id id) {
    const int64_t in = 30;
    const int64_t out = 50;
    return jzx_send(loop, id, JZX_NOBODY, &in, sizeof in, DEPOSIT) == JZX_OK &&
           jzx_send(loop, id, JZX_NOBODY, &out, sizeof out, WITHDRAW) == JZX_OK &&
           jzx_send(loop, id, JZX_NOBODY, NULL, 0, CLOSE) == JZX_OK;
}

static bool use_async(jzx_loop *loop) {
    static const int64_t amounts[2] = {30, -50};
    struct account_async state = {.balance = 100};
    jzx_promise *promises[2];
    jzx_future *result = NULL;
    for (int i = 0; i < 2; i++) {
        if (jzx_promise_create(loop, sizeof amounts[i], &promises[i], &state.moves[i]) != JZX_OK)
            return false;
    }
    bool started = account_async_spawn(loop, state, &result) == JZX_OK;
    for (int i = 0; i < 2; i++)
        (void)jzx_promise_resolve(promises[i], &amounts[i]);
    bool ran = started && jzx_loop_run(loop) == JZX_OK;
    jzx_future_release(result);
    return ran;
}

int main(void) {
    jzx_loop *loop = jzx_loop_create(NULL);
    static int64_t balance = 100;
    jzx_actor_id id;
    bool ok =
        loop != NULL &&
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = account, .state = &balance), &id) == JZX_OK &&
        use(loop, id) && jzx_loop_run(loop) == JZX_OK;
    ok = ok && jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = account_fiber), &id) == JZX_OK &&
         use(loop, id) && jzx_loop_run(loop) == JZX_OK;
    ok = ok && use_async(loop);
    ok = ok && jzx_spawn(loop, &JZX_SPAWN_OPTS(.type = &typed_type), &id) == JZX_OK &&
         typed_post_deposit(loop, id, 30) == JZX_OK &&
         typed_post_withdraw(loop, id, 50) == JZX_OK && typed_post_close(loop, id) == JZX_OK &&
         jzx_loop_run(loop) == JZX_OK;
    (void)jzx_loop_destroy(loop);
    return ok ? 0 : 1;
}
