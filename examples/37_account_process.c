/* SPDX-License-Identifier: MIT */
/* A bank account as a process: it is opened with an input, answers questions, and says its balance
 * as its result when it is asked to stop. */
#include <jzx/jzx.h>

#include <stdio.h>
#include <string.h>

enum { DEPOSIT = 1, WITHDRAW = 2, BALANCE = 3 };

struct account {
    int64_t balance;
};

static jzx_err account_init(jzx_context *ctx, const char *method, const void *input, size_t len) {
    if (strcmp(method, "open") != 0)
        return JZX_ERR_UNKNOWN_METHOD;
    if (len != sizeof(int64_t))
        return JZX_ERR_INVALID_ARG;
    struct account *self = jzx_alloc(ctx, sizeof *self);
    if (self == NULL)
        return JZX_ERR_NO_MEMORY;
    memcpy(&self->balance, input, len);
    ctx->state = self;
    return JZX_OK;
}

static void book(struct account *self, const jzx_process_event *event) {
    int64_t amount = 0;
    if (event->len == sizeof amount)
        memcpy(&amount, event->data, sizeof amount);
    if (event->tag == DEPOSIT)
        self->balance += amount;
    if (event->tag == WITHDRAW && amount <= self->balance)
        self->balance -= amount;
}

static jzx_err account_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                            jzx_step_out *out) {
    struct account *self = ctx->state;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == JZX_PROCESS_CANCEL)
            return jzx_out_done(out, &self->balance, sizeof self->balance);
        book(self, &events[i]);
        jzx_event_open(ctx, &events[i]); /* of several questions this one is answered */
        jzx_reply(ctx, &events[i].message, &self->balance, sizeof self->balance, BALANCE);
    }
    return JZX_OK;
}

static const jzx_process_ops account = JZX_PROCESS_OPS(.init = account_init, .step = account_step);

struct customer {
    jzx_actor_id account;
    int64_t seen;
};

static int64_t ask(jzx_context *ctx, jzx_actor_id at, uint32_t what, int64_t amount) {
    jzx_message answer;
    int64_t balance = -1;
    if (jzx_call(ctx, at, &amount, sizeof amount, what, jzx_in(ctx, JZX_SECOND(10)), &answer) ==
        JZX_OK)
        memcpy(&balance, answer.data, sizeof balance);
    return balance;
}

static void be_customer(jzx_context *ctx) {
    struct customer *self = ctx->state;
    printf("after a deposit of 50: %lld\n", (long long)ask(ctx, self->account, DEPOSIT, 50));
    printf("after a withdrawal of 500: %lld\n", (long long)ask(ctx, self->account, WITHDRAW, 500));
    self->seen = ask(ctx, self->account, WITHDRAW, 30);
    printf("after a withdrawal of 30: %lld\n", (long long)self->seen);
    jzx_actor_stop(ctx->loop, self->account, JZX_STOP_AFTER_QUEUE);
}

int main(void) {
    struct customer customer = {.seen = 0};
    const int64_t opening = 100;
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_spawn(loop,
              &JZX_SPAWN_OPTS(.process = &account, .method = "open", .input = &opening,
                              .input_len = sizeof opening, .name = "account"),
              &customer.account);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = be_customer, .state = &customer), NULL);
    jzx_err err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    return err == JZX_OK && customer.seen == 120 ? 0 : 1;
}
