/* SPDX-License-Identifier: MIT */
/* Behaviours, fibers and async functions in one loop: each kind waits for each other, in its own
 * way; and code that never waits runs the same way every time. */
#include "fibering.h"

#include <jzx/async.h>
#include <jzx/combine.h>

#define ORDERS 20u

enum { PRICE = 1, ORDER, DONE };

struct shop {
    jzx_actor_id prices; /* behaviour */
    jzx_actor_id stock;  /* fiber */
    jzx_actor_id desk;   /* behaviour */
    uint64_t sum;        /* the desk's: of the orders that it has had, */
    uint32_t done;       /* and how many these were */
    uint64_t paid;       /* the customer's */
};

/* The price list: a behaviour. */
static jzx_behavior_result tell_price(jzx_context *ctx, const jzx_message *msg) {
    uint64_t item = number_of(msg);
    uint64_t price = 100 + item;
    JZX_EXPECT_EQ(jzx_reply(ctx, msg, &price, sizeof price, PRICE), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* A question to the fiber: it keeps the promise when it has the price. */
struct order {
    uint64_t item;
    jzx_promise *promise;
};

/* The stock: a fiber, which calls the behaviour, sleeps, and settles what an async function
 * awaits. */
static void keep_stock(jzx_context *ctx) {
    struct shop *shop = ctx->state;
    for (uint32_t i = 0; i < ORDERS; i++) {
        struct order order;
        uint64_t price = 0;
        jzx_message msg;
        jzx_message answer;
        if (!JZX_EXPECT_EQ(jzx_receive_tag(ctx, ORDER, JZX_NEVER, &msg), JZX_OK))
            return;
        memcpy(&order, msg.data, sizeof order);
        JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(1))), JZX_OK);
        if (JZX_EXPECT_EQ(jzx_call(ctx, shop->prices, &order.item, sizeof order.item, PRICE,
                                   JZX_NEVER, &answer),
                          JZX_OK))
            price = number_of(&answer);
        JZX_EXPECT_EQ(jzx_promise_resolve(order.promise, &price), JZX_OK);
    }
}

struct buy {
    struct shop *shop;
    uint64_t item;
    jzx_await_op op;
    uint64_t price;
};

/* Sends a promise to the fiber. */
static jzx_future *ask_stock(jzx_context *ctx, const struct buy *buy) {
    struct order order = {.item = buy->item};
    jzx_future *future = NULL;
    if (jzx_promise_create(ctx->loop, sizeof(uint64_t), &order.promise, &future) == JZX_OK)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, buy->shop->stock, ctx->self, &order, sizeof order, ORDER),
                      JZX_OK);
    return future;
}

/* A purchase: an async function, which awaits the fiber. */
JZX_ASYNC(buy, struct buy, uint64_t) {
    JZX_AWAIT(jzx_op_consume(&self->op, ask_stock(ctx, self), JZX_NEVER), &self->price);
    JZX_AWAIT(jzx_op_sleep(&self->op, jzx_in(ctx, JZX_MS(1))), NULL);
    JZX_RETURN(self->price * 2);
}
JZX_END

/* The desk: a behaviour, which starts async functions and gets their results as messages. */
static jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    struct shop *shop = ctx->state;
    if (msg->tag == ORDER) {
        jzx_future *future = NULL;
        struct buy state = {.shop = shop, .item = number_of(msg)};
        if (JZX_EXPECT_EQ(buy_spawn(ctx->loop, state, &future), JZX_OK))
            JZX_EXPECT_EQ(jzx_future_to(ctx, future, DONE, NULL), JZX_OK);
        jzx_future_release(future);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_result *result = msg->data;
    uint64_t paid = 0;
    JZX_EXPECT_EQ(result->err, JZX_OK);
    if (JZX_EXPECT_EQ(result->len, sizeof paid))
        memcpy(&paid, jzx_result_data(result), sizeof paid);
    shop->sum += paid;
    return ++shop->done < ORDERS - 1 ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

/* A customer: a fiber, which awaits an async function itself, beside what it sends to the desk. */
static void visit(jzx_context *ctx) {
    struct shop *shop = ctx->state;
    jzx_future *future = NULL;
    for (uint64_t item = 0; item < ORDERS - 1; item++)
        send_number(ctx->loop, shop->desk, ctx->self, item, ORDER);
    struct buy state = {.shop = shop, .item = ORDERS - 1};
    if (JZX_EXPECT_EQ(buy_spawn(ctx->loop, state, &future), JZX_OK))
        JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, &shop->paid), JZX_OK);
    jzx_future_release(future);
}

JZX_TEST(behaviours_fibers_and_async_functions_wait_for_one_another, "E1") {
    static const uint32_t workers[] = {1, 2, 4};
    for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers[i]));
        struct shop shop = {.sum = 0};
        shop.prices = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = tell_price, .state = &shop, .daemon = true));
        shop.stock = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = keep_stock, .state = &shop));
        shop.desk = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = serve, .state = &shop));
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = visit, .state = &shop));
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(shop.done, ORDERS - 1);
        JZX_EXPECT_EQ(shop.sum, 2 * (100 * (ORDERS - 1) + (ORDERS - 1) * (ORDERS - 2) / 2));
        JZX_EXPECT_EQ(shop.paid, 2 * (100 + ORDERS - 1));
        fixture_destroy(loop);
    }
}

/* ---- code that never waits ---- */

#define DANCERS 40u
#define STEPS 3000u

/* Where all that happens is folded into one number, in the order in which it happens. */
struct dance {
    jzx_actor_id ids[DANCERS];
    uint64_t trace;
    uint32_t steps;
    uint32_t refused; /* calls that would have waited */
};

struct dancer {
    struct dance *dance;
    uint64_t random;
};

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static jzx_behavior_result dance_on(jzx_context *ctx, const jzx_message *msg) {
    struct dancer *self = ctx->state;
    struct dance *dance = self->dance;
    jzx_message none;
    dance->trace = (dance->trace ^ (ctx->self << 8) ^ msg->tag) * 0x9E3779B97F4A7C15u;
    dance->refused += jzx_receive(ctx, JZX_NEVER, &none) == JZX_ERR_WOULD_SUSPEND;
    if (++dance->steps > STEPS)
        return JZX_BEHAVIOR_OK;
    uint64_t random = next_random(&self->random);
    jzx_actor_id to = dance->ids[random % DANCERS];
    uint32_t tag = (uint32_t)(random >> 8 & 0xFF);
    if (random >> 20 & 1)
        JZX_EXPECT_EQ(jzx_send_after(ctx->loop, to, ctx->self, NULL, 0, tag, JZX_MS(tag % 8), NULL),
                      JZX_OK);
    else if (random >> 21 & 1)
        JZX_EXPECT_EQ(jzx_send_urgent(ctx->loop, to, ctx->self, NULL, 0, tag), JZX_OK);
    else
        JZX_EXPECT_EQ(jzx_send(ctx->loop, to, ctx->self, NULL, 0, tag), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static struct dance dance_with(uint64_t seed) {
    struct timing timing = timing_open();
    struct dance dance = {.trace = 0};
    struct dancer dancers[DANCERS];
    for (uint32_t i = 0; i < DANCERS; i++) {
        dancers[i] = (struct dancer){.dance = &dance, .random = seed + i};
        dance.ids[i] =
            fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = dance_on, .state = &dancers[i],
                                                       .priority = (uint8_t)(1 + i % 3)));
    }
    for (uint32_t i = 0; i < DANCERS; i++)
        fixture_send(timing.loop, dance.ids[i], i);
    for (uint32_t i = 0; dance.steps <= STEPS && i < STEPS; i++)
        timing_advance(&timing, JZX_MS(1));
    timing_advance(&timing, JZX_SECOND(1)); /* what is under way */
    timing_close(&timing);
    return dance;
}

JZX_TEST(behaviours_that_never_wait_run_the_same_way_every_time, "E1") {
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct dance first = dance_with(seed);
        struct dance second = dance_with(seed);
        struct dance other = dance_with(seed + 100);
        JZX_EXPECT(first.steps > STEPS);
        JZX_EXPECT_EQ(first.refused, first.steps);
        JZX_EXPECT_EQ(second.steps, first.steps);
        JZX_EXPECT_EQ(second.trace, first.trace);
        JZX_EXPECT(other.trace != first.trace); /* or the trace would say nothing */
    }
}
