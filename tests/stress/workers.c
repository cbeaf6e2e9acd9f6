/* SPDX-License-Identifier: MIT */
/* Several workers, as hard as it goes: every message arrives once and in order however often its
 * actors move, slots are used again under late senders, the books balance, and runs begin and end
 * without a trace. */
#include "actor/loop.h"

#include "fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { START = 1, NUMBER = 2, DONE = 3 };

/* A loop whose actors move to another worker after every message, if it is restless. */
static jzx_loop *open_loop(uint32_t workers, bool restless, jzx_balance balance) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers, .balance = balance));
    assert_non_null(loop);
    loop->sched.restless = restless && workers > 1;
    /* relaxed: sends every spawn the long way, where it is made restless */
    jzx__atomic_store_relaxed(&loop->observer.is_set, loop->sched.restless ? 1u : 0u);
    return loop;
}

/* ---- order ---- */

#define PEERS 24u

/* Sends numbers to every other peer in rounds, and checks that those of each peer come in order. */
struct peer {
    uint32_t index;
    uint32_t rounds;
    uint32_t round;
    uint32_t finished; /* peers whose last number came */
    uint32_t next[PEERS];
    const jzx_actor_id *ids;
};

struct number {
    uint32_t from;
    uint32_t number;
};

static void send_round(jzx_context *ctx, struct peer *self) {
    struct number number = {self->index, self->round++};
    for (uint32_t i = 0; i < PEERS; i++)
        assert_int_equal(
            jzx_send(ctx->loop, self->ids[i], ctx->self, &number, sizeof number, NUMBER), JZX_OK);
}

static jzx_behavior_result talk(jzx_context *ctx, const jzx_message *msg) {
    struct peer *self = ctx->state;
    if (msg->tag == START) {
        send_round(ctx, self);
        return JZX_BEHAVIOR_OK;
    }
    struct number number;
    memcpy(&number, msg->data, sizeof number);
    JZX_EXPECT_EQ(number.number, self->next[number.from]);
    self->next[number.from] = number.number + 1;
    if (number.from == self->index && self->round < self->rounds)
        send_round(ctx, self);
    if (number.number + 1 == self->rounds)
        self->finished++;
    return self->finished == PEERS ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void talk_in_order(uint32_t workers, bool restless, jzx_balance balance, uint32_t rounds) {
    static jzx_actor_id ids[PEERS];
    static struct peer peers[PEERS];
    jzx_loop *loop = open_loop(workers, restless, balance);
    for (uint32_t i = 0; i < PEERS; i++) {
        peers[i] = (struct peer){.index = i, .rounds = rounds, .ids = ids};
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = talk, .state = &peers[i],
                                                     .mailbox_cap = 8 * PEERS * rounds));
    }
    for (uint32_t i = 0; i < PEERS; i++)
        fixture_send(loop, ids[i], START);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.handled, (uint64_t)PEERS * PEERS * rounds + PEERS);
    JZX_EXPECT_EQ(stats.dead, 0);
    fixture_destroy(loop);
}

JZX_TEST(messages_of_a_pair_stay_in_order_while_their_actors_move_after_every_message, "D13", "D14",
         "D15", "X6") {
    uint32_t rounds = (uint32_t)jzx_test_rounds(30, 300);
    for (uint32_t workers = 2; workers <= 8; workers++)
        talk_in_order(workers, true, JZX_BALANCE_ADAPTIVE, rounds);
}

JZX_TEST(messages_of_a_pair_stay_in_order_under_every_balance, "D13", "D15") {
    uint32_t rounds = (uint32_t)jzx_test_rounds(100, 1000);
    for (uint32_t workers = 1; workers <= 4; workers++) {
        talk_in_order(workers, false, JZX_BALANCE_ADAPTIVE, rounds);
        talk_in_order(workers, false, JZX_BALANCE_EAGER, rounds);
        talk_in_order(workers, false, JZX_BALANCE_NONE, rounds);
    }
}

/* ---- slots that are used again ---- */

#define TARGETS 8u

/* A breeder spawns short-lived actors, tells talkers their ids, and these go on sending to ids that
 * are stale by then. */
struct breeder {
    uint32_t left;
    uint32_t talker;
    jzx_actor_id talkers[4];
};

static jzx_behavior_result die_after_one(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result breed(jzx_context *ctx, const jzx_message *msg) {
    struct breeder *self = ctx->state;
    (void)msg;
    jzx_actor_id id = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = die_after_one));
    for (uint32_t i = 0; i < 4; i++)
        jzx_send(ctx->loop, self->talkers[i], ctx->self, &id, sizeof id, NUMBER);
    if (--self->left == 0) {
        for (uint32_t i = 0; i < 4; i++)
            jzx_send(ctx->loop, self->talkers[i], ctx->self, NULL, 0, DONE);
        jzx_send(ctx->loop, id, ctx->self, NULL, 0, NUMBER);
        return JZX_BEHAVIOR_STOP;
    }
    fixture_send(ctx->loop, ctx->self, START);
    return JZX_BEHAVIOR_OK;
}

struct talker {
    jzx_actor_id known[TARGETS];
    uint32_t next;
    uint64_t done;
};

static jzx_behavior_result pester(jzx_context *ctx, const jzx_message *msg) {
    struct talker *self = ctx->state;
    if (msg->tag == DONE)
        return ++self->done == 2 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    memcpy(&self->known[self->next++ % TARGETS], msg->data, sizeof(jzx_actor_id));
    for (uint32_t i = 0; i < TARGETS; i++) {
        if (self->known[i] != JZX_NOBODY)
            jzx_send(ctx->loop, self->known[i], ctx->self, &i, sizeof i, NUMBER);
        if (i % 4 == 3 && self->known[i] != JZX_NOBODY)
            jzx_actor_stop(ctx->loop, self->known[i], JZX_STOP_KILL);
    }
    return JZX_BEHAVIOR_OK;
}

static void reuse_slots(uint32_t workers, bool restless, uint32_t count) {
    static struct breeder breeders[2];
    static struct talker talkers[4];
    jzx_loop *loop = open_loop(workers, restless, JZX_BALANCE_EAGER);
    memset(talkers, 0, sizeof talkers);
    for (uint32_t i = 0; i < 4; i++)
        breeders[0].talkers[i] = breeders[1].talkers[i] =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = pester, .state = &talkers[i],
                                                .mailbox_cap = 4 * count + 16));
    for (uint32_t i = 0; i < 2; i++) {
        breeders[i].left = count;
        fixture_send(loop,
                     fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = breed, .state = &breeders[i],
                                                         .mailbox_cap = 16)),
                     START);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.accepted, stats.handled + stats.dead);
    JZX_EXPECT_EQ(stats.spawned, stats.exited);
    JZX_EXPECT_EQ(stats.spawned, 2 * (uint64_t)count + 6);
    fixture_destroy(loop);
}

JZX_TEST(slots_are_used_again_under_late_senders_on_many_workers, "D13", "D16", "X14") {
    uint32_t count = (uint32_t)jzx_test_rounds(1000, 20000);
    for (uint32_t workers = 2; workers <= 5; workers++) {
        reuse_slots(workers, false, count);
        reuse_slots(workers, true, count / 4);
    }
}

/* ---- many actors ---- */

#define CROWD 10000u

#define WALKERS 100u

/* ids[CROWD] is who counts the walks that have ended. */
static jzx_behavior_result pass_on(jzx_context *ctx, const jzx_message *msg) {
    const jzx_actor_id *ids = ctx->state;
    struct number number;
    memcpy(&number, msg->data, sizeof number);
    if (number.number == 0) {
        fixture_send(ctx->loop, ids[CROWD], DONE);
        return JZX_BEHAVIOR_OK;
    }
    number.number--;
    number.from = (number.from * 1103515245u + 12345u) % CROWD;
    assert_int_equal(
        jzx_send(ctx->loop, ids[number.from], ctx->self, &number, sizeof number, NUMBER), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void run_crowd(uint32_t workers, uint32_t hops) {
    static jzx_actor_id ids[CROWD + 1];
    static struct recorder log;
    log = (struct recorder){.stop_at = WALKERS};
    jzx_loop *loop = open_loop(workers, false, JZX_BALANCE_ADAPTIVE);
    for (uint32_t i = 0; i < CROWD; i++)
        ids[i] =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = pass_on, .state = ids, .daemon = true));
    ids[CROWD] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    for (uint32_t i = 0; i < WALKERS; i++) {
        struct number number = {i, hops};
        assert_int_equal(jzx_send(loop, ids[i], JZX_NOBODY, &number, sizeof number, NUMBER),
                         JZX_OK);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(log.count, WALKERS);
    JZX_EXPECT_EQ(fixture_stats(loop).handled, WALKERS * ((uint64_t)hops + 2));
    fixture_destroy(loop);
}

JZX_TEST(ten_thousand_actors_run_on_one_to_eight_workers, "E1", "E2", "E3", "D5") {
    uint32_t hops = (uint32_t)jzx_test_rounds(100, 2000);
    for (uint32_t workers = 1; workers <= 8; workers++)
        run_crowd(workers, hops);
}

/* ---- runs that begin and end ---- */

static void *stop_soon(void *loop) {
    jzx_loop_request_stop(loop);
    return NULL;
}

static jzx_behavior_result spin_on(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    fixture_send(ctx->loop, ctx->self, msg->tag);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(loops_start_and_stop_in_a_storm, "D18", "D+stop") {
    uint64_t handled = 0;
    uint64_t rounds = jzx_test_rounds(60, 1000);
    for (uint64_t i = 0; i < rounds; i++) {
        pthread_t thread;
        jzx_loop *loop = open_loop(1 + (uint32_t)(i % 5), i % 2 == 0, JZX_BALANCE_EAGER);
        for (int k = 0; k < 10; k++)
            fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spin_on)), START);
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, loop), 0);
        jzx_err err = jzx_loop_run(loop);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_LOOP_CLOSED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        handled += fixture_stats(loop).handled;
        fixture_destroy(loop);
    }
    JZX_EXPECT_EQ(jzx_test_runs(), handled);
}

static jzx_behavior_result stop_at_once(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_loop_runs_again_and_again, "D18") {
    uint64_t rounds = jzx_test_rounds(100, 2000);
    jzx_loop *loop = open_loop(4, false, JZX_BALANCE_EAGER);
    for (uint64_t i = 0; i < rounds; i++) {
        for (int k = 0; k < 20; k++)
            fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_at_once)),
                         START);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(fixture_stats(loop).exited, 20 * (i + 1));
    }
    assert_int_equal(jzx_test_runs(), 20 * rounds);
    fixture_destroy(loop);
}
