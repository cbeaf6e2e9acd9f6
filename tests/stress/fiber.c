/* SPDX-License-Identifier: MIT */
/* Migratable fibers that are made to move to another worker after every message: what is on their
 * stacks goes with them, each message is received once and in its order, and they do move. */
#include "actor/loop.h"

#include "fixture.h"

#include <jzx/ask.h>
#include <jzx/fiber.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define WORKERS 4u
#define FIBERS 24u

enum { TOKEN = 1, OWN = 2, NEVER_SENT = 3, QUESTION = 4 };

static jzx_loop *open_restless_loop(void) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = WORKERS, .balance = JZX_BALANCE_EAGER));
    assert_non_null(loop);
    loop->sched.restless = true;
    /* relaxed: sends every spawn the long way, where it is made restless */
    jzx__atomic_store_relaxed(&loop->observer.is_set, 1u);
    return loop;
}

struct mover {
    jzx_actor_id next; /* to whom it passes the tokens on; JZX_NOBODY: the last */
    jzx_actor_id oracle;
    uint32_t rounds;
    uint32_t moves;       /* waits after which it was on another thread */
    uint32_t finished;    /* its function has come to its end */
    _Atomic uint32_t run; /* threads that are in it */
};

static struct mover movers[FIBERS];

/* The compiler takes pthread_self for a constant, and must not remember it over a wait. */
static __attribute__((noinline)) pthread_t thread_now(void) {
    __asm__ volatile("");
    return pthread_self();
}

/* What a fiber has on its stack, and where it last was. */
struct luggage {
    struct mover *self;
    jzx_context *ctx;
    pthread_t thread;
    uint64_t words[16];
};

static void pack(struct luggage *luggage, uint64_t round) {
    for (uint32_t i = 0; i < 16; i++)
        luggage->words[i] = round * 1000 + i + (uint64_t)luggage->ctx->self;
    JZX_EXPECT_EQ(atomic_fetch_sub(&luggage->self->run, 1), 1);
}

/* After each wait. */
static void unpack(struct luggage *luggage, uint64_t round) {
    JZX_EXPECT_EQ(atomic_fetch_add(&luggage->self->run, 1), 0);
    for (uint32_t i = 0; i < 16; i++)
        JZX_EXPECT_EQ(luggage->words[i], round * 1000 + i + (uint64_t)luggage->ctx->self);
    JZX_EXPECT_EQ(jzx_current_actor(), luggage->ctx->self);
    JZX_EXPECT_EQ(luggage->ctx->state, luggage->self);
    if (!pthread_equal(thread_now(), luggage->thread))
        luggage->self->moves++;
    luggage->thread = thread_now();
}

static uint64_t number_of(const jzx_message *msg) {
    uint64_t number = UINT64_MAX;
    if (JZX_EXPECT_EQ(msg->len, sizeof number))
        memcpy(&number, msg->data, sizeof number);
    return number;
}

static void send_number(jzx_context *ctx, jzx_actor_id to, uint64_t number, uint32_t tag) {
    JZX_EXPECT_EQ(jzx_send(ctx->loop, to, ctx->self, &number, sizeof number, tag), JZX_OK);
}

/* Each kind of wait once: with a message there and to come, with a deadline, for an answer. */
static void wait_in_each_way(struct luggage *luggage, uint64_t round) {
    jzx_context *ctx = luggage->ctx;
    jzx_message msg;
    pack(luggage, round);
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    unpack(luggage, round);
    send_number(ctx, ctx->self, round, OWN);
    pack(luggage, round);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, OWN, JZX_NEVER, &msg), JZX_OK);
    unpack(luggage, round);
    JZX_EXPECT_EQ(number_of(&msg), round);
    pack(luggage, round);
    JZX_EXPECT_EQ(
        jzx_receive_tag(ctx, NEVER_SENT, round % 8 == 0 ? jzx_in(ctx, JZX_US(20)) : 0, &msg),
        JZX_ERR_TIMEOUT);
    unpack(luggage, round);
    pack(luggage, round);
    JZX_EXPECT_EQ(
        jzx_call(ctx, luggage->self->oracle, &round, sizeof round, QUESTION, JZX_NEVER, &msg),
        JZX_OK);
    unpack(luggage, round);
    JZX_EXPECT_EQ(number_of(&msg), round + 1);
}

static void move_on(jzx_context *ctx) {
    struct mover *self = ctx->state;
    struct luggage luggage = {.self = self, .ctx = ctx, .thread = thread_now()};
    bool is_first = self == &movers[FIBERS - 1];
    jzx_message msg;
    JZX_EXPECT_EQ(atomic_fetch_add(&self->run, 1), 0);
    for (uint64_t round = 0; round < self->rounds; round++) {
        if (!is_first) {
            pack(&luggage, round);
            JZX_EXPECT_EQ(jzx_receive_tag(ctx, TOKEN, JZX_NEVER, &msg), JZX_OK);
            unpack(&luggage, round);
            JZX_EXPECT_EQ(number_of(&msg), round);
        }
        wait_in_each_way(&luggage, round);
        if (self->next != JZX_NOBODY)
            send_number(ctx, self->next, round, TOKEN);
    }
    self->finished++;
    JZX_EXPECT_EQ(atomic_fetch_sub(&self->run, 1), 1);
}

/* A behaviour, which moves as well; a daemon. */
static jzx_behavior_result answer(jzx_context *ctx, const jzx_message *msg) {
    uint64_t number = number_of(msg) + 1;
    JZX_EXPECT_EQ(jzx_reply(ctx, msg, &number, sizeof number, QUESTION), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(migratable_fibers_that_move_at_every_wait_lose_nothing) {
    jzx_loop *loop = open_restless_loop();
    uint32_t rounds = (uint32_t)jzx_test_rounds(400, 10000);
    uint64_t moves = 0;
    jzx_actor_id next = JZX_NOBODY;
    jzx_actor_id oracle = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = answer, .daemon = true));
    memset(movers, 0, sizeof movers);
    for (uint32_t i = 0; i < FIBERS; i++) {
        movers[i].next = next;
        movers[i].oracle = oracle;
        movers[i].rounds = rounds;
        next = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = move_on, .state = &movers[i],
                                                   .mailbox_cap = 20000, .migratable = true));
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < FIBERS; i++) {
        assert_int_equal(movers[i].finished, 1);
        assert_true(movers[i].moves > 0);
        moves += movers[i].moves;
    }
    assert_true(moves > (uint64_t)FIBERS * rounds); /* more than once a round */
    fixture_destroy(loop);
}
