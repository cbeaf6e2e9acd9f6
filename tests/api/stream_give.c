/* SPDX-License-Identifier: MIT */
/* Streams that change owners: while they are active, while operations are pending, and while the
 * new owner ends. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/unix.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

enum { DATA = 7, DONE, GO, NEXT };

static unsigned finished;

static void run_with(uint32_t workers, jzx_fiber_fn fn) {
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    finished = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn, .place = JZX_PLACE_WORKER(0)));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

static jzx_stream_info info_of(jzx_loop *loop, jzx_stream stream) {
    jzx_stream_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_stream_info_get(loop, stream, &info), JZX_OK);
    return info;
}

/* Receives the next event, which has that kind and that text. */
static void expect_event(jzx_context *ctx, jzx_stream stream, uint32_t kind, const char *text) {
    jzx_message msg;
    if (!JZX_EXPECT_EQ(jzx_receive_tag(ctx, DATA, JZX_NEVER, &msg), JZX_OK))
        return;
    const jzx_stream_event *event = msg.data;
    JZX_EXPECT_EQ(event->stream, stream);
    JZX_EXPECT_EQ(event->kind, kind);
    if (JZX_EXPECT_EQ(event->len, strlen(text)))
        JZX_EXPECT(memcmp(jzx_stream_data(event), text, event->len) == 0);
}

/* Yields until the stream has read count bytes from the system. */
static void await_received(jzx_context *ctx, jzx_stream stream, uint64_t count) {
    while (info_of(ctx->loop, stream).received < count)
        (void)jzx_yield(ctx);
}

/* ---- while it is active ---- */

#define MUCH 1000u /* more than the first event has room for */

static atomic_bool may_look;

/* Takes two events, then the rest. It does not call receive too early: that looks at events. */
static void take_active(jzx_context *ctx) {
    jzx_message msg;
    jzx_stream pair[2];
    uint32_t events = 0;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, GO, JZX_NEVER, &msg), JZX_OK);
    memcpy(pair, msg.data, sizeof pair);
    jzx_actor_id giver = msg.sender;
    jzx_stream_info info = info_of(ctx->loop, pair[0]);
    JZX_EXPECT(info.owner == ctx->self && !info.is_active && info.received == 3);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, 2), JZX_OK);
    while (!atomic_load(&may_look))
        (void)jzx_yield(ctx);
    for (size_t got = 0; got < MUCH;) {
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, DATA, JZX_NEVER, &msg), JZX_OK);
        const jzx_stream_event *event = msg.data;
        JZX_EXPECT_EQ(event->kind, events == 2 ? JZX_STREAM_PASSIVE : JZX_STREAM_DATA);
        for (size_t i = 0; i < event->len; i++, got++)
            JZX_EXPECT_EQ(((const char *)jzx_stream_data(event))[i], (char)got);
        if (++events == 3)
            JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, JZX_STREAM_ALWAYS), JZX_OK);
    }
    JZX_EXPECT(events > 3);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, giver, ctx->self, NULL, 0, DONE), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, NEXT, JZX_NEVER, &msg), JZX_OK);
}

static void give_active(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_message msg;
    char much[MUCH];
    for (unsigned i = 0; i < MUCH; i++)
        much[i] = (char)i;
    atomic_store(&may_look, false);
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, JZX_STREAM_ALWAYS), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "one", 3), JZX_OK);
    await_received(ctx, pair[0], 3); /* it is in the mailbox, and stays there */
    JZX_EXPECT_EQ(jzx_stream_give(ctx, pair[0], ctx->self), JZX_OK); /* changes nothing */
    JZX_EXPECT(info_of(ctx->loop, pair[0]).is_active);
    jzx_actor_id to = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = take_active));
    JZX_EXPECT_EQ(jzx_stream_give(ctx, pair[0], to), JZX_OK);
    JZX_EXPECT(!info_of(ctx->loop, pair[0]).is_active);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, 1), JZX_ERR_NOT_OWNER);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], much, MUCH), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, to, ctx->self, pair, sizeof pair, GO), JZX_OK);
    await_received(ctx, pair[0], 4);
    uint64_t received = info_of(ctx->loop, pair[0]).received;
    JZX_EXPECT(received < 3 + MUCH);
    expect_event(ctx, pair[0], JZX_STREAM_DATA, "one");
    /* Handling the old event reads nothing more: the event of the new owner still waits. */
    JZX_EXPECT_EQ(info_of(ctx->loop, pair[0]).received, received);
    atomic_store(&may_look, true);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DATA, 0, &msg), JZX_ERR_TIMEOUT); /* and nothing else */
    JZX_EXPECT_EQ(jzx_send(ctx->loop, to, ctx->self, NULL, 0, NEXT), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, to, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[0]), JZX_ERR_CLOSED); /* with its new owner */
    finished++;
}

JZX_TEST(an_active_stream_given_away_is_passive_and_each_byte_comes_once_to_one_owner) {
    run_with(1, give_active);
    run_with(2, give_active);
}

/* ---- while a read and writes are pending ---- */

#define LONG ((size_t)1 << 20)

static void take_pending(jzx_context *ctx) {
    jzx_message msg;
    jzx_stream pair[2];
    char buf[8];
    size_t len;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, GO, JZX_NEVER, &msg), JZX_OK);
    memcpy(pair, msg.data, sizeof pair);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, 1), JZX_ERR_BUSY);
    JZX_EXPECT(info_of(ctx->loop, pair[0]).queued > 0);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], "end", 3), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, msg.sender, ctx->self, NULL, 0, GO), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, JZX_TAG_STREAM_LOW, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, NEXT, JZX_NEVER, &msg), JZX_OK);
}

static void give_pending(jzx_context *ctx) {
    static char pile[LONG];
    jzx_stream pair[2];
    jzx_message msg;
    jzx_op ops[2];
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, pair[0], 8, DONE, &ops[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], pile, LONG, DONE, &ops[1]), JZX_OK);
    jzx_actor_id to = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = take_pending));
    JZX_EXPECT_EQ(jzx_stream_give(ctx, pair[0], to), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, to, ctx->self, pair, sizeof pair, GO), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, GO, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "read", 4), JZX_OK);
    for (unsigned i = 0; i < 2; i++) { /* the read is complete first: nobody has read the pile */
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
        const jzx_result *result = msg.data;
        JZX_EXPECT_EQ(result->op, ops[i]);
        JZX_EXPECT_EQ(result->err, JZX_OK);
        if (i == 0) {
            JZX_EXPECT(result->len == 4 && memcmp(jzx_result_data(result), "read", 4) == 0);
            JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, pair[1], pile, LONG, JZX_NEVER), JZX_OK);
        }
    }
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, pair[1], pile, 3, JZX_NEVER), JZX_OK);
    JZX_EXPECT(memcmp(pile, "end", 3) == 0);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, to, ctx->self, NULL, 0, NEXT), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, to, JZX_NEVER, NULL), JZX_OK);
    finished++;
}

JZX_TEST(what_is_pending_completes_after_its_stream_was_given_away) {
    run_with(1, give_pending);
    run_with(2, give_pending);
}

/* ---- closed on its way ---- */

static void take_nothing(jzx_context *ctx) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, GO, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, NEXT, JZX_NEVER, &msg), JZX_OK);
}

/* A thread that is no worker, as a worker's own messages do not lie among the asks. */
struct mail {
    jzx_loop *loop;
    jzx_actor_id to;
};

static void *send_go(void *arg) {
    const struct mail *mail = arg;
    fixture_send(mail->loop, mail->to, GO);
    return NULL;
}

/* The record of a closed stream is not used again before its new owner has taken the close in. */
static void close_on_the_way(jzx_context *ctx) {
    jzx_stream pairs[8][2];
    char buf[4];
    jzx_actor_id to = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = take_nothing));
    struct mail mail = {ctx->loop, to};
    pthread_t thread;
    JZX_EXPECT_EQ(pthread_create(&thread, NULL, send_go, &mail), 0);
    JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    for (unsigned i = 0; i < 8; i++) {
        JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pairs[i]), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_give(ctx, pairs[i][0], to), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pairs[i][0]), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pairs[i][1]), JZX_OK);
    }
    for (unsigned i = 0; i < 8; i++)
        JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pairs[i]), JZX_OK);
    fixture_send(ctx->loop, to, NEXT);
    JZX_EXPECT_EQ(jzx_join(ctx, to, JZX_NEVER, NULL), JZX_OK);
    for (unsigned i = 0; i < 8; i++) { /* these are another's, and live */
        JZX_EXPECT_EQ(info_of(ctx->loop, pairs[i][0]).owner, ctx->self);
        JZX_EXPECT_EQ(jzx_stream_send(ctx, pairs[i][1], "live", 4), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, pairs[i][0], buf, 4, JZX_NEVER), JZX_OK);
    }
    finished++;
}

JZX_TEST(a_stream_closed_on_its_way_to_its_new_owner_leaves_no_trace_there) {
    run_with(1, close_on_the_way);
    run_with(2, close_on_the_way);
}

/* ---- the receiver ends before it has the stream ---- */

static struct {
    sem_t begun;
    sem_t given;
    jzx_stream stream;
    jzx_actor_id last;
} relay;

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

/* Receives the stream in the middle of its turn, and ends before it takes its mail in. */
static jzx_behavior_result pass_on(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    sem_post(&relay.begun);
    wait_for(&relay.given);
    JZX_EXPECT_EQ(info_of(ctx->loop, relay.stream).owner, ctx->self);
    if (relay.last != JZX_NOBODY)
        JZX_EXPECT_EQ(jzx_stream_give(ctx, relay.stream, relay.last), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

static void take_relayed(jzx_context *ctx) {
    jzx_message msg;
    char buf[8];
    size_t len;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, GO, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(info_of(ctx->loop, relay.stream).owner, ctx->self);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, relay.stream, buf, sizeof buf, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT(len == 4 && memcmp(buf, "kept", 4) == 0);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, relay.stream, "back", 4, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, NEXT, JZX_NEVER, &msg), JZX_OK);
}

/* Gives a stream to the relay, which runs on the other worker and ends. Returns the peer. */
static jzx_stream give_to_relay(jzx_context *ctx) {
    jzx_stream pair[2];
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "kept", 4), JZX_OK);
    relay.stream = pair[0];
    jzx_actor_id id = fixture_spawn(
        ctx->loop, &JZX_SPAWN_OPTS(.behavior = pass_on, .place = JZX_PLACE_WORKER(1)));
    fixture_send(ctx->loop, id, GO);
    wait_for(&relay.begun);
    JZX_EXPECT_EQ(jzx_stream_give(ctx, pair[0], id), JZX_OK);
    sem_post(&relay.given);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    return pair[1];
}

static void expect_closed(jzx_context *ctx, jzx_stream peer) {
    char buf[8];
    size_t len;
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, relay.stream), JZX_ERR_CLOSED);
    jzx_err err = jzx_stream_read(ctx, peer, buf, sizeof buf, JZX_NEVER, &len);
    JZX_EXPECT(err == JZX_ERR_END || err == JZX_ERR_RESET); /* it had not read all */
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, peer), JZX_OK);
}

static void relay_streams(jzx_context *ctx) {
    char buf[4];
    /* The next owner lives. */
    relay.last = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = take_relayed));
    jzx_stream peer = give_to_relay(ctx);
    fixture_send(ctx->loop, relay.last, GO);
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, peer, buf, 4, JZX_NEVER), JZX_OK);
    JZX_EXPECT(memcmp(buf, "back", 4) == 0);
    fixture_send(ctx->loop, relay.last, NEXT);
    JZX_EXPECT_EQ(jzx_join(ctx, relay.last, JZX_NEVER, NULL), JZX_OK);
    expect_closed(ctx, peer); /* with its last owner */
    /* No next owner: the stream ends with the relay. */
    relay.last = JZX_NOBODY;
    peer = give_to_relay(ctx);
    expect_closed(ctx, peer);
    finished++;
}

JZX_TEST(a_stream_goes_on_to_the_next_owner_while_its_first_receiver_ends) {
    assert_int_equal(sem_init(&relay.begun, 0, 0), 0);
    assert_int_equal(sem_init(&relay.given, 0, 0), 0);
    run_with(2, relay_streams);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    sem_destroy(&relay.begun);
    sem_destroy(&relay.given);
}
