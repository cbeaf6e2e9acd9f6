/* SPDX-License-Identifier: MIT */
/* A shop that serves one customer at a time: it takes an order, asks the bank, waits for the answer
 * and goes on. What others send meanwhile stays in the mailbox, in order. */
#include <jzx/jzx.h>
#include <stdio.h>
#include <string.h>

enum { ORDER = 1, PAY = 2, PAID = 3, CLOSE = 4 };

struct shop {
    jzx_actor_id bank;
    int sold;
};

/* Answers every question; a behaviour, as it handles each message by itself. */
static jzx_behavior_result bank(jzx_context *ctx, const jzx_message *msg) {
    int amount;
    memcpy(&amount, msg->data, sizeof amount);
    bool ok = amount <= 100;
    jzx_reply(ctx, msg, &ok, sizeof ok, PAID);
    return JZX_BEHAVIOR_OK;
}

static bool charge(jzx_context *ctx, jzx_actor_id at, int amount) {
    jzx_message answer;
    bool ok = false;
    if (jzx_call(ctx, at, &amount, sizeof amount, PAY, jzx_in(ctx, JZX_SECOND(1)), &answer) ==
        JZX_OK)
        memcpy(&ok, answer.data, sizeof ok);
    return ok;
}

static void serve(jzx_context *ctx) {
    struct shop *shop = ctx->state;
    jzx_message order;
    while (jzx_receive_tag(ctx, ORDER, jzx_in(ctx, JZX_MS(50)), &order) == JZX_OK) {
        int amount;
        memcpy(&amount, order.data, sizeof amount); /* it stays valid while the bank is asked */
        bool ok = charge(ctx, shop->bank, amount);
        printf("an order of %d: %s\n", amount, ok ? "sold" : "refused");
        shop->sold += ok;
    }
    jzx_message note;
    while (jzx_receive(ctx, 0, &note) == JZX_OK) /* what was no order is still there */
        printf("a note with tag %u\n", note.tag);
    jzx_actor_stop(ctx->loop, shop->bank, JZX_STOP_AFTER_QUEUE);
}

int main(void) {
    struct shop shop = {.sold = 0};
    jzx_actor_id id;
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = bank), &shop.bank);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = serve, .state = &shop, .name = "shop"), &id);
    const int amounts[] = {20, 250, 75};
    jzx_send(loop, id, JZX_NOBODY, NULL, 0, CLOSE);
    for (int i = 0; i < 3; i++)
        jzx_send(loop, id, JZX_NOBODY, &amounts[i], sizeof amounts[i], ORDER);
    jzx_err err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    return err != JZX_OK || shop.sold != 2;
}
