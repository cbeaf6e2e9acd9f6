/* SPDX-License-Identifier: MIT */
/* A bank account as a typed actor, for the tests of types and of manual actors. */
#ifndef JZX_API_TYPING_H
#define JZX_API_TYPING_H

#include "fixture.h"

#include <jzx/typed.h>

#include <stdio.h>
#include <string.h>

/* What accounts tell the test. */
struct ledger {
    uint32_t opened; /* inits */
    uint32_t closed; /* cleanups */
    jzx_exit_reason reason;
    int64_t balance; /* at the last cleanup */
    uint32_t others; /* messages that are none of the type's */
    uint32_t last_tag;
    jzx_actor_id last_sender;
    jzx_context_kind kind;
    jzx_err waited; /* what a call that waits said in a handler */
    jzx_ask_handle asker;
    bool is_inside; /* a handler runs */
    char text[JZX_EXIT_TEXT_MAX + 1];
};

static struct ledger ledger;

#define ACCOUNT(T, STATE, ON, ASK)                                                                 \
    STATE(T, int64_t, balance, 100)                                                                \
    STATE(T, uint32_t, moves, 0)                                                                   \
    STATE(T, jzx_actor_id, next, JZX_NOBODY)                                                       \
    ON(T, deposit, int64_t, amount)                                                                \
    ON(T, transfer, jzx_actor_id, to, int64_t, amount, uint8_t, times)                             \
    ON(T, close)                                                                                   \
    ON(T, fail)                                                                                    \
    ON(T, panic, const char *, text)                                                               \
    ON(T, spawn, jzx_actor_id *, id)                                                               \
    ON(T, watch, jzx_actor_id, whom)                                                               \
    ON(T, put_aside)                                                                               \
    ASK(T, balance, int64_t)                                                                       \
    ASK(T, later, int64_t, int64_t, plus)

static inline jzx_err account_open(jzx_context *ctx) {
    struct ledger *to = &ledger;
    JZX_EXPECT(ctx->state != NULL);
    to->opened++;
    return JZX_OK;
}

static void account_closed(jzx_context *ctx, jzx_exit_reason reason);
static jzx_behavior_result account_other(jzx_context *ctx, const jzx_message *msg);

JZX_ACTOR_TYPE_WITH(account, ACCOUNT, account_open, account_closed, account_other);

static void account_closed(jzx_context *ctx, jzx_exit_reason reason) {
    const struct account *self = ctx->state;
    ledger.closed++;
    ledger.reason = reason;
    ledger.balance = self->balance;
}

static jzx_behavior_result account_other(jzx_context *ctx, const jzx_message *msg) {
    struct account *self = ctx->state;
    int64_t answer;
    jzx_test_ran();
    ledger.others++;
    ledger.last_tag = msg->tag;
    if (msg->tag == JZX_TAG_DOWN) {
        const jzx_exit_notice *notice = msg->data;
        snprintf(ledger.text, sizeof ledger.text, "%s", notice->text);
    }
    if (account_is_answer_balance(msg, &answer))
        self->balance += answer;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result account_on_deposit(jzx_context *ctx, struct account *self,
                                              const struct account_deposit *msg) {
    JZX_EXPECT(!ledger.is_inside); /* one at a time, and none inside another */
    ledger.is_inside = true;
    self->balance += msg->amount;
    self->moves++;
    ledger.kind = jzx_current_kind();
    ledger.waited = jzx_sleep(ctx, JZX_NEVER);
    ledger.last_sender = jzx_type_sender(ctx);
    ledger.is_inside = false;
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result account_on_transfer(jzx_context *ctx, struct account *self,
                                               const struct account_transfer *msg) {
    for (uint32_t i = 0; i < msg->times; i++) {
        JZX_EXPECT_EQ(account_send_deposit(ctx, msg->to, msg->amount), JZX_OK);
        self->balance -= msg->amount;
    }
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result account_on_close(jzx_context *ctx, struct account *self,
                                            const struct account_close *msg) {
    (void)ctx, (void)self, (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result account_on_fail(jzx_context *ctx, struct account *self,
                                           const struct account_fail *msg) {
    (void)ctx, (void)self, (void)msg;
    return JZX_BEHAVIOR_FAIL;
}

static jzx_behavior_result account_on_panic(jzx_context *ctx, struct account *self,
                                            const struct account_panic *msg) {
    (void)self;
    jzx_exit(ctx, JZX_EXIT_FAIL, msg->text);
}

static jzx_behavior_result account_on_spawn(jzx_context *ctx, struct account *self,
                                            const struct account_spawn *msg) {
    JZX_EXPECT_EQ(account_spawn(ctx->loop, msg->id), JZX_OK);
    JZX_EXPECT_EQ(account_send_deposit(ctx, *msg->id, 11), JZX_OK);
    self->next = *msg->id;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result account_on_watch(jzx_context *ctx, struct account *self,
                                            const struct account_watch *msg) {
    (void)self;
    JZX_EXPECT_EQ(jzx_monitor(ctx, msg->whom, NULL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* The first time aside, and brought back; the second time counted. */
static jzx_behavior_result account_on_put_aside(jzx_context *ctx, struct account *self,
                                                const struct account_put_aside *msg) {
    jzx_message raw;
    (void)msg;
    if (self->moves++ == 0) {
        JZX_EXPECT_EQ(jzx_type_message(ctx, &raw), JZX_OK);
        JZX_EXPECT_EQ(jzx_stash(ctx, &raw), JZX_OK);
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
    }
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result account_on_balance(jzx_context *ctx, struct account *self,
                                              const struct account_balance *msg, int64_t *answer) {
    (void)ctx, (void)msg;
    *answer = self->balance;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result account_on_later(jzx_context *ctx, struct account *self,
                                            const struct account_later *msg, int64_t *answer) {
    ledger.asker = jzx_type_defer(ctx);
    JZX_EXPECT(ledger.asker.asker != JZX_NOBODY);
    JZX_EXPECT(jzx_type_defer(ctx).asker == JZX_NOBODY); /* it has it already */
    self->balance += msg->plus;
    *answer = -1;
    return JZX_BEHAVIOR_OK;
}

static inline jzx_actor_id open_account(jzx_loop *loop) {
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(account_spawn(loop, &id), JZX_OK);
    return id;
}

static inline void run_loop(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

static inline void close_account(jzx_loop *loop, jzx_actor_id id) {
    JZX_EXPECT_EQ(account_post_close(loop, id), JZX_OK);
    run_loop(loop);
}

#endif
