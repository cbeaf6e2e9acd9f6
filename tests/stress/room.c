/* SPDX-License-Identifier: MIT */
/* Lines for room under load: fibers of several workers and threads wait for room at a few targets,
 * with deadlines that pass and without, between plain sends, while senders are killed and targets
 * end. What a sender was told is what happened: a message arrives once if it was sent, and never
 * otherwise; those of one sender arrive in their order. */
#include "fixture.h"

#include <jzx/fiber.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { WORKERS = 3, TARGETS = 3, FIBERS = 12, THREADS = 3, SENDERS = FIBERS + THREADS, CAP = 3 };
enum { DONE = 1000 };

struct sender {
    uint32_t index;
    uint32_t number; /* of the next message */
    uint64_t sent;
    uint64_t timed_out;
    uint64_t refused;
    uint32_t random;
};

struct target {
    uint64_t next[SENDERS]; /* the least number that each may send next */
    uint64_t received;
    uint32_t lives; /* messages until it ends; 0: for ever */
    bool is_fiber;
};

static struct {
    jzx_loop *loop;
    jzx_actor_id targets[TARGETS];
    struct target states[TARGETS];
    struct sender senders[SENDERS];
    uint64_t rounds;
    _Atomic uint32_t running;
} s;

static uint32_t draw(struct sender *self, uint32_t below) {
    self->random = self->random * 1664525u + 1013904223u;
    return (self->random >> 8) % below;
}

/* ---- targets ---- */

static void take(struct target *self, const jzx_message *msg) {
    uint64_t number = 0;
    JZX_EXPECT_EQ(msg->len, sizeof number);
    memcpy(&number, msg->data, sizeof number);
    JZX_EXPECT(number >= self->next[msg->tag]);
    self->next[msg->tag] = number + 1;
    self->received++;
}

static jzx_behavior_result handle(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    struct target *self = ctx->state;
    if (msg->tag == DONE)
        return JZX_BEHAVIOR_STOP;
    take(self, msg);
    return --self->lives == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void receive(jzx_context *ctx) {
    struct target *self = ctx->state;
    jzx_message msg;
    do {
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        if (msg.tag == DONE)
            return;
        take(self, &msg);
    } while (--self->lives != 0);
}

/* ---- senders ---- */

/* The last of all stops the targets. */
static void end(void) {
    if (atomic_fetch_sub(&s.running, 1) != 1)
        return;
    for (uint32_t i = 0; i < TARGETS; i++)
        (void)jzx_actor_stop(s.loop, s.targets[i], JZX_STOP_AFTER_QUEUE);
}

static bool count(struct sender *self, jzx_err err) {
    switch (err) {
    case JZX_OK: self->sent++; break;
    case JZX_ERR_TIMEOUT: self->timed_out++; break;
    case JZX_ERR_MAILBOX_FULL:
    case JZX_ERR_NO_SUCH_ACTOR: self->refused++; break;
    default: JZX_EXPECT_EQ(err, JZX_OK);
    }
    return err != JZX_ERR_NO_SUCH_ACTOR;
}

/* One message to any target, in any way. ctx is NULL on a thread. */
static void send_one(struct sender *self, jzx_context *ctx) {
    jzx_actor_id to = s.targets[draw(self, TARGETS)];
    uint64_t number = self->number++;
    uint32_t way = draw(self, 8);
    uint64_t deadline_ns =
        way < 4 ? JZX_NEVER : jzx_loop_now(s.loop) + (uint64_t)draw(self, 4) * 10000;
    if (way == 7)
        count(self, jzx_send(s.loop, to, JZX_NOBODY, &number, sizeof number, self->index));
    else if (ctx == NULL)
        count(self, jzx_send_wait(s.loop, to, &number, sizeof number, self->index, deadline_ns));
    else
        count(self, jzx_send_until(ctx, to, &number, sizeof number, self->index, deadline_ns));
}

static void send_as_fiber(jzx_context *ctx) {
    struct sender *self = ctx->state;
    for (uint64_t i = 0; i < s.rounds; i++)
        send_one(self, ctx);
    end();
}

static void *send_as_thread(void *arg) {
    for (uint64_t i = 0; i < s.rounds; i++)
        send_one(arg, NULL);
    end();
    return NULL;
}

/* ---- worlds ---- */

static void open(uint64_t rounds, uint32_t lives) {
    memset(&s, 0, sizeof s);
    s.loop = fixture_loop_with(&JZX_CONFIG(.workers = WORKERS));
    assert_non_null(s.loop);
    s.rounds = rounds;
    s.running = SENDERS;
    for (uint32_t i = 0; i < TARGETS; i++) {
        struct target *target = &s.states[i];
        *target = (struct target){.lives = lives, .is_fiber = i % 2 == 1};
        jzx_spawn_opts opts = JZX_SPAWN_OPTS(.state = target, .mailbox_cap = CAP);
        if (target->is_fiber)
            opts.fiber = receive;
        else
            opts.behavior = handle;
        s.targets[i] = fixture_spawn(s.loop, &opts);
    }
    for (uint32_t i = 0; i < SENDERS; i++)
        s.senders[i] = (struct sender){.index = i, .random = i + 1};
}

static void run(void) {
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < FIBERS; i++)
        fixture_spawn(s.loop, &JZX_SPAWN_OPTS(.fiber = send_as_fiber, .state = &s.senders[i],
                                              .migratable = i % 2 == 0));
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_as_thread, &s.senders[FIBERS + i]),
                         0);
    assert_int_equal(jzx_loop_run(s.loop), JZX_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* All that was sent was received, or is dead with its target. */
static void check_and_close(void) {
    uint64_t sent = 0;
    uint64_t timed_out = 0;
    uint64_t refused = 0;
    uint64_t received = 0;
    for (uint32_t i = 0; i < SENDERS; i++) {
        const struct sender *sender = &s.senders[i];
        sent += sender->sent;
        timed_out += sender->timed_out;
        refused += sender->refused;
    }
    for (uint32_t i = 0; i < TARGETS; i++)
        received += s.states[i].received;
    jzx_stats stats = fixture_stats(s.loop);
    JZX_EXPECT_EQ(stats.accepted, sent);
    JZX_EXPECT_EQ(received + stats.dead, sent);
    JZX_EXPECT_EQ(stats.refused_full + stats.refused_no_actor, timed_out + refused);
    fixture_destroy(s.loop);
}

JZX_TEST(each_message_of_those_in_line_arrives_once_or_not_at_all) {
    open(jzx_test_rounds(10000, 100000), 0);
    run();
    check_and_close();
}

JZX_TEST(targets_that_end_leave_nobody_in_line) {
    uint64_t worlds = jzx_test_rounds(300, 3000);
    for (uint64_t i = 0; i < worlds; i++) {
        open(30, 20 + (uint32_t)i % 50);
        run();
        check_and_close();
    }
}

/* ---- kills ---- */

static jzx_actor_id victims[FIBERS];

static void *kill_and_send(void *arg) {
    struct sender *self = arg;
    for (uint64_t i = 0; i < s.rounds; i++) {
        send_one(self, NULL);
        if (i % 8 == 0)
            (void)jzx_actor_stop(s.loop, victims[draw(self, FIBERS)], JZX_STOP_KILL);
    }
    for (uint32_t i = 0; i < FIBERS; i++)
        (void)jzx_actor_stop(s.loop, victims[i], JZX_STOP_KILL);
    end();
    return NULL;
}

static void send_for_ever(jzx_context *ctx) {
    for (;;)
        send_one(ctx->state, ctx);
}

/* Of a victim's last message nobody knows; but nothing leaks, and the others hang on nothing. */
JZX_TEST(senders_that_are_killed_in_line_leave_nothing) {
    uint64_t worlds = jzx_test_rounds(150, 1500);
    for (uint64_t world = 0; world < worlds; world++) {
        pthread_t threads[THREADS];
        open(100, 0);
        s.running = THREADS;
        for (uint32_t i = 0; i < FIBERS; i++)
            victims[i] = fixture_spawn(
                s.loop, &JZX_SPAWN_OPTS(.fiber = send_for_ever, .state = &s.senders[i]));
        for (uint32_t i = 0; i < THREADS; i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, kill_and_send, &s.senders[FIBERS + i]), 0);
        assert_int_equal(jzx_loop_run(s.loop), JZX_OK);
        for (uint32_t i = 0; i < THREADS; i++) {
            const struct sender *sender = &s.senders[FIBERS + i];
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            JZX_EXPECT_EQ(sender->sent + sender->timed_out + sender->refused, s.rounds);
        }
        fixture_destroy(s.loop);
    }
    JZX_EXPECT(jzx_test_runs() != 0);
}
