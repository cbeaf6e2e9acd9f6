/* SPDX-License-Identifier: MIT */
/* Questions: an account answers at once, a clerk in the archive answers too late for one question
 * and in time for another. The clock is the program's own, so nobody really waits. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { DEPOSIT = 1, BALANCE, HISTORY, SUM, LETTER, WORK_DONE };

/* ---- the account: answers in the same turn ---- */

static jzx_behavior_result keep_account(jzx_context *ctx, const jzx_message *msg) {
    long *cents = ctx->state;
    if (msg->tag == DEPOSIT)
        *cents += *(const long *)msg->data;
    else if (msg->tag == BALANCE)
        jzx_reply(ctx, msg, cents, sizeof *cents, SUM);
    return JZX_BEHAVIOR_OK;
}

/* ---- the archive: keeps the handle, and answers when the work is done ---- */

static jzx_behavior_result search_archive(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == HISTORY) {
        jzx_ask_handle whom = jzx_ask_from(ctx, msg);
        jzx_send_after(ctx->loop, ctx->self, JZX_NOBODY, &whom, sizeof whom, WORK_DONE, JZX_MS(30),
                       NULL);
    } else if (msg->tag == WORK_DONE) {
        const jzx_ask_handle *whom = msg->data;
        jzx_reply_to(ctx->loop, *whom, ctx->self, "three letters", 14, LETTER);
    }
    return JZX_BEHAVIOR_OK;
}

/* ---- the customer: asks, and goes by the references ---- */

struct customer {
    jzx_actor_id account;
    jzx_actor_id archive;
    uint64_t hurried; /* the question that cannot wait */
    int settled;
};

static void say(const jzx_context *ctx, const char *what, const char *more) {
    printf("%2llu ms: %s%s\n", (unsigned long long)(jzx_loop_now(ctx->loop) / JZX_MS(1)), what,
           more);
}

static jzx_err begin(jzx_context *ctx) {
    struct customer *self = ctx->state;
    long cents = 1250;
    jzx_send(ctx->loop, self->account, ctx->self, &cents, sizeof cents, DEPOSIT);
    jzx_ask(ctx, self->account, NULL, 0, BALANCE, JZX_MS(10), NULL);
    jzx_ask(ctx, self->archive, NULL, 0, HISTORY, JZX_MS(20), &self->hurried);
    return jzx_ask(ctx, self->archive, NULL, 0, HISTORY, JZX_MS(100), NULL);
}

static jzx_behavior_result be_customer(jzx_context *ctx, const jzx_message *msg) {
    struct customer *self = ctx->state;
    switch (msg->tag) {
    case SUM:
        printf("%2llu ms: the balance is %ld cents\n",
               (unsigned long long)(jzx_loop_now(ctx->loop) / JZX_MS(1)), *(const long *)msg->data);
        break;
    case LETTER: say(ctx, "the archive has ", msg->data); break;
    case JZX_TAG_ASK_TIMEOUT:
        say(ctx, "no answer in time",
            jzx_ask_ref(ctx) == self->hurried ? " to the hurried question" : "");
        break;
    }
    return ++self->settled == 3 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

int main(void) {
    long cents = 0;
    struct customer customer = {.settled = 0};
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .clock = clock));
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = keep_account, .state = &cents, .daemon = true),
              &customer.account);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = search_archive, .daemon = true), &customer.archive);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_customer, .init = begin, .state = &customer),
              NULL);
    while (jzx_loop_alive(loop)) {
        jzx_loop_step(loop, JZX_NEVER); /* all that is ready now */
        uint64_t next = jzx_loop_next_deadline(loop);
        if (next == JZX_NEVER)
            break; /* nothing will ever happen */
        if (next > jzx_loop_now(loop))
            jzx_clock_advance(clock, next - jzx_loop_now(loop));
    }
    jzx_loop_destroy(loop);
    jzx_clock_free(clock);
    return customer.settled == 3 && cents == 1250 ? 0 : 1;
}
