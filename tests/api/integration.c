/* SPDX-License-Identifier: MIT */
/* A small program that uses everything at once: a bank with accounts, a clerk per customer,
 * customers on threads of their own, an auditor. Money is neither made nor lost, whoever dies
 * meanwhile. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>

#define ACCOUNTS 20
#define CUSTOMERS 3
#define OPENING 1000

enum { TRANSFER = 1, DEPOSIT, AUDIT, BALANCE };

struct order {
    uint32_t from;
    uint32_t to;
    int64_t amount;
};

struct bank {
    jzx_loop *loop;
    jzx_actor_id accounts[ACCOUNTS];
    int64_t balances[ACCOUNTS];
    uint32_t transfers; /* of each customer */
    uint32_t bounced;   /* deposits that came back to their account */
    int64_t audited;
    uint32_t answers;
};

static struct bank bank;

/* An account: pays out, takes in, tells its balance. */
static jzx_behavior_result account(jzx_context *ctx, const jzx_message *msg) {
    int64_t *balance = ctx->state;
    if (msg->tag == TRANSFER) {
        const struct order *order = msg->data;
        if (*balance < order->amount)
            return JZX_BEHAVIOR_OK; /* refused: not enough */
        *balance -= order->amount;
        if (jzx_send(ctx->loop, bank.accounts[order->to], ctx->self, &order->amount,
                     sizeof order->amount, DEPOSIT) != JZX_OK) {
            *balance += order->amount;
            bank.bounced++;
        }
    } else if (msg->tag == DEPOSIT) {
        *balance += *(const int64_t *)msg->data;
    } else if (msg->tag == AUDIT) {
        JZX_EXPECT_EQ(
            jzx_send(ctx->loop, msg->sender, ctx->self, balance, sizeof *balance, BALANCE), JZX_OK);
    }
    return JZX_BEHAVIOR_OK;
}

/* A clerk, spawned for one order by a customer's thread: passes it on and ends. */
static jzx_behavior_result clerk(jzx_context *ctx, const jzx_message *msg) {
    const struct order *order = msg->data;
    void *own = NULL;
    if (jzx_send(ctx->loop, bank.accounts[order->from], ctx->self, NULL, 0, 0) == JZX_OK)
        own = jzx_msg_take(ctx, msg); /* the very message goes on */
    if (own != NULL &&
        jzx_send_msg(ctx->loop, bank.accounts[order->from], ctx->self, own, TRANSFER) != JZX_OK)
        jzx_msg_free(ctx->loop, own);
    return JZX_BEHAVIOR_STOP;
}

static void *customer(void *arg) {
    uint32_t seed = (uint32_t)(uintptr_t)arg * 7919u + 1;
    for (uint32_t i = 0; i < bank.transfers; i++) {
        seed = seed * 1664525u + 1013904223u;
        struct order order = {(seed >> 8) % ACCOUNTS, (seed >> 16) % ACCOUNTS, seed >> 27};
        jzx_actor_id id;
        JZX_EXPECT_EQ(
            jzx_spawn(bank.loop, &JZX_SPAWN_OPTS(.behavior = clerk, .name = "clerk"), &id), JZX_OK);
        JZX_EXPECT_EQ(jzx_send_async(bank.loop, id, &order, sizeof order, TRANSFER), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_loop_release(bank.loop), JZX_OK);
    return NULL;
}

static jzx_behavior_result auditor(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == AUDIT) {
        for (int i = 0; i < ACCOUNTS; i++)
            JZX_EXPECT_EQ(jzx_send(ctx->loop, bank.accounts[i], ctx->self, NULL, 0, AUDIT), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    bank.audited += *(const int64_t *)msg->data;
    return ++bank.answers == ACCOUNTS ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(a_bank_keeps_its_money, "E61", "X14", "C27") {
    bank = (struct bank){.loop = fixture_loop(), .transfers = 2000};
    for (int i = 0; i < ACCOUNTS; i++) {
        bank.balances[i] = OPENING;
        bank.accounts[i] = fixture_spawn(
            bank.loop,
            &JZX_SPAWN_OPTS(.behavior = account, .state = &bank.balances[i], .name = "account",
                            .daemon = true, .mailbox_cap = JZX_MAILBOX_CAP_MAX));
    }
    pthread_t threads[CUSTOMERS];
    for (uintptr_t i = 0; i < CUSTOMERS; i++) {
        assert_int_equal(jzx_loop_hold(bank.loop), JZX_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, customer, (void *)i), 0);
    }
    assert_int_equal(jzx_loop_run(bank.loop), JZX_OK);
    for (int i = 0; i < CUSTOMERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(jzx_loop_step(bank.loop, JZX_NEVER), JZX_OK);

    jzx_actor_id id = fixture_spawn(bank.loop, &JZX_SPAWN_OPTS(.behavior = auditor));
    fixture_send(bank.loop, id, AUDIT);
    assert_int_equal(jzx_loop_run(bank.loop), JZX_OK);
    assert_int_equal(bank.audited, (int64_t)ACCOUNTS * OPENING);
    jzx_stats stats = fixture_stats(bank.loop);
    assert_int_equal(stats.spawned, ACCOUNTS + CUSTOMERS * bank.transfers + 1);
    assert_int_equal(stats.failed, 0);
    fixture_destroy(bank.loop);
}
