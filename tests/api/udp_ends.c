/* SPDX-License-Identifier: MIT */
/* Active datagram sockets, and ends: of sockets, owners, loops and memory. */
#include "udping.h"

#include <stdatomic.h>

/* ---- active ---- */

static jzx_udp_event expect_event(jzx_context *ctx, uint32_t kind, const char *data) {
    jzx_message msg;
    jzx_udp_event event = {.kind = 0};
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DATA, JZX_NEVER, &msg), JZX_OK);
    memcpy(&event, msg.data, sizeof event);
    JZX_EXPECT_EQ(event.kind, kind);
    JZX_EXPECT_EQ(event.next, 0);
    if (data != NULL && JZX_EXPECT_EQ(event.len, strlen(data)))
        JZX_EXPECT(memcmp(jzx_udp_data(msg.data), data, event.len) == 0);
    return event;
}

static void be_active(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    char buf[8];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, 2), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.b, &in, JZX_NEVER), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "one", 3, &ends.at_b), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "two", 3, &ends.at_b), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "three", 5, &ends.at_b), JZX_OK);
    jzx_udp_event event = expect_event(ctx, JZX_UDP_DATA, "one");
    JZX_EXPECT(event.udp == ends.b && jzx_address_is_equal(&event.from, &ends.at_a));
    expect_event(ctx, JZX_UDP_DATA, "two");
    JZX_EXPECT_EQ(expect_event(ctx, JZX_UDP_PASSIVE, NULL).err, JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.b, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(in.len, 5); /* what was not asked for waits */
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, JZX_UDP_ALWAYS), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "four", 4, &ends.at_b), JZX_OK);
    expect_event(ctx, JZX_UDP_DATA, "four");
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, ends.b), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, 1), JZX_ERR_CLOSED);
    finished++;
}

JZX_TEST(an_active_socket_tells_its_owner_of_each_datagram, "E55") {
    run_fiber(be_active);
}

/* With another tag, for more, for ever and for nothing. */
static void be_active_again(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    jzx_message msg;
    jzx_udp_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, 2), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, OTHER, 1), JZX_OK);
    for (unsigned i = 0; i < 4; i++) {
        if (i < 3)
            JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "x", 1, &ends.at_b), JZX_OK);
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(msg.tag, OTHER);
        JZX_EXPECT_EQ(((const jzx_udp_event *)msg.data)->kind,
                      i < 3 ? JZX_UDP_DATA : JZX_UDP_PASSIVE);
    }
    const uint32_t more[] = {JZX_UDP_ALWAYS, 1, JZX_UDP_ALWAYS};
    for (unsigned i = 0; i < 3; i++) { /* for ever stays so */
        JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, more[i]), JZX_OK);
        JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends.b, &info), JZX_OK);
        JZX_EXPECT(info.is_active);
    }
    for (unsigned i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends.b, &info), JZX_OK);
        JZX_EXPECT(info.is_active && !info.is_receiving);
        JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "x", 1, &ends.at_b), JZX_OK);
        expect_event(ctx, JZX_UDP_DATA, "x");
    }
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends.b, &info), JZX_OK);
    JZX_EXPECT(!info.is_active);
    finished++;
}

JZX_TEST(a_call_while_a_socket_is_active_adds_to_its_count_and_changes_its_tag, "E55") {
    run_fiber(be_active_again);
}

#define BURST 200u

/* The mailbox never has more than a batch, and nothing is lost or out of order. */
static void be_slow(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    jzx_udp_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, BURST), JZX_OK);
    for (uint32_t i = 0; i < BURST; i++)
        JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, &i, sizeof i, &ends.at_b), JZX_OK);
    for (unsigned i = 0; i < 50; i++)
        (void)jzx_yield(ctx);
    for (uint32_t i = 0; i < BURST; i++) {
        jzx_message msg;
        uint32_t number;
        JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends.b, &info), JZX_OK);
        JZX_EXPECT(info.received - i <= JZX_UDP_BATCH_MAX);
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        memcpy(&number, jzx_udp_data(msg.data), sizeof number);
        JZX_EXPECT_EQ(number, i);
    }
    expect_event(ctx, JZX_UDP_PASSIVE, NULL);
    JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends.b, &info), JZX_OK);
    JZX_EXPECT(info.received == BURST && !info.is_active);
    finished++;
}

JZX_TEST(of_an_active_socket_at_most_one_batch_waits_in_the_mailbox, "E55") {
    run_fiber(be_slow);
}

static void hear_refusal(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    char text[JZX_ADDRESS_MAX];
    JZX_EXPECT_EQ(jzx_udp_local(ctx->loop, ends.b, text, sizeof text), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_connect(ctx->loop, ends.a, text), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, ends.b), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.a, DATA, JZX_UDP_ALWAYS), JZX_OK);
    for (unsigned i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "x", 1, NULL), JZX_OK);
        JZX_EXPECT_EQ(expect_event(ctx, JZX_UDP_ERROR, NULL).err, JZX_ERR_REFUSED);
    }
    jzx_udp_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends.a, &info), JZX_OK);
    JZX_EXPECT(info.is_active);
    finished++;
}

JZX_TEST(an_active_socket_hears_of_each_refusal_and_stays_active, "E55") {
    run_fiber(hear_refusal);
}

/* ---- ends ---- */

static void receive_until_closed(jzx_context *ctx) {
    char buf[8];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    const jzx_udp *udp = ctx->state;
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, *udp, &in, JZX_NEVER), JZX_ERR_CLOSED);
}

static jzx_actor_id begin_wait(jzx_context *ctx, jzx_udp *udp) {
    jzx_actor_info info = {.size = sizeof info};
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = receive_until_closed, .state = udp));
    do {
        (void)jzx_yield(ctx);
        JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, id, &info), JZX_OK);
    } while (info.wait != JZX_WAIT_IO);
    return id;
}

static void close_under_receives(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    jzx_message msg;
    jzx_future *future;
    jzx_op op;
    char buf[8];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    /* A fiber that is killed while it waits leaves the socket to others. */
    jzx_actor_id killed = begin_wait(ctx, &ends.a);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, killed, JZX_STOP_KILL), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, killed, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.b, "x", 1, &ends.at_a), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.a, &in, JZX_NEVER), JZX_OK);
    jzx_actor_id id = begin_wait(ctx, &ends.a);
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, ends.a), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive_to(ctx, ends.b, 16, DONE, &op), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, ends.b), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    expect_result(msg.data, op, JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, ends.b), JZX_ERR_CLOSED);
    ends = open_ends(ctx, "127.0.0.1:0");
    JZX_EXPECT_EQ(jzx_udp_receive_async(ctx->loop, ends.a, 16, &future), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, ends.a), JZX_OK);
    JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, NULL), JZX_ERR_CLOSED);
    jzx_future_release(future);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "x", 1, &ends.at_b), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_udp_join(ctx->loop, ends.a, "239.1.1.1", NULL), JZX_ERR_CLOSED);
    finished++;
}

JZX_TEST(a_close_completes_what_is_pending_with_closed, "E55") {
    run_fiber(close_under_receives);
}

/* Has sockets that receive in all ways; ends when it is told to. */
static jzx_behavior_result own_much(jzx_context *ctx, const jzx_message *msg) {
    jzx_udp *udps = ctx->state;
    jzx_test_ran();
    if (msg->tag != GO)
        return JZX_BEHAVIOR_OK;
    for (unsigned i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.1:0", NULL, &udps[i]), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive_to(ctx, udps[0], 100, DONE, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_active(ctx, udps[1], DATA, JZX_UDP_ALWAYS), JZX_OK);
    const jzx_address to = address_of(ctx->loop, udps[1]);
    for (unsigned i = 0; i < 5; i++)
        JZX_EXPECT_EQ(jzx_udp_try_send(ctx, udps[2], "x", 1, &to), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void end_owner(jzx_context *ctx) {
    jzx_udp udps[3] = {0, 0, 0};
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = own_much, .state = udps));
    fixture_send(ctx->loop, id, GO);
    while (udps[2] == 0)
        (void)jzx_yield(ctx);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    for (unsigned i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, udps[i]), JZX_ERR_CLOSED);
    finished++;
}

JZX_TEST(the_sockets_of_an_actor_that_is_killed_are_closed, "E55") {
    run_fiber(end_owner);
}

static jzx_behavior_result stop_loop(jzx_context *ctx, const jzx_message *msg) {
    jzx_behavior_result result = own_much(ctx, msg);
    jzx_loop_request_stop(ctx->loop);
    return result;
}

JZX_TEST(a_loop_is_destroyed_with_sockets_open, "E55") {
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    jzx_udp udps[3];
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_loop, .state = udps));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

/* ---- giving ---- */

static void take_over(jzx_context *ctx) {
    jzx_message msg;
    struct ends ends;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, GO, JZX_NEVER, &msg), JZX_OK);
    memcpy(&ends, msg.data, sizeof ends);
    jzx_actor_id giver = msg.sender;
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, 1), JZX_OK);
    expect_event(ctx, JZX_UDP_DATA, "early"); /* it came before the socket was given */
    expect_event(ctx, JZX_UDP_PASSIVE, NULL);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.b, "late", 4, &ends.at_a), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, giver, ctx->self, NULL, 0, DONE), JZX_OK);
}

static void give(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    char buf[8];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, JZX_UDP_ALWAYS), JZX_OK);
    jzx_actor_id to = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = take_over));
    JZX_EXPECT_EQ(jzx_udp_give(ctx, ends.b, to), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_give(ctx, ends.b, to), JZX_ERR_NOT_OWNER);
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, 1), JZX_ERR_NOT_OWNER);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "early", 5, &ends.at_b), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, to, ctx->self, &ends, sizeof ends, GO), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.a, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT(in.len == 4 && jzx_address_is_equal(&in.address, &ends.at_b));
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, to, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, ends.b), JZX_ERR_CLOSED); /* with its new owner */
    finished++;
}

JZX_TEST(a_socket_that_is_given_away_loses_nothing, "E55") {
    run_fiber(give);
    run_fiber_with(&JZX_CONFIG(.workers = 2), give);
}

/* ---- giving while events wait ---- */

static atomic_bool may_look;

/* A receive would look at the events at once. */
static void take_active(jzx_context *ctx) {
    jzx_message msg;
    struct ends ends;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, GO, JZX_NEVER, &msg), JZX_OK);
    memcpy(&ends, msg.data, sizeof ends);
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, JZX_UDP_ALWAYS), JZX_OK);
    while (!atomic_load(&may_look))
        (void)jzx_yield(ctx);
    for (unsigned i = 0; i < 20; i++)
        expect_event(ctx, JZX_UDP_DATA, "x");
}

static uint64_t received_of(jzx_context *ctx, jzx_udp udp) {
    jzx_udp_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, udp, &info), JZX_OK);
    return info.received;
}

static void give_active(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    jzx_message msg;
    atomic_store(&may_look, false);
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, JZX_UDP_ALWAYS), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "one", 3, &ends.at_b), JZX_OK);
    while (received_of(ctx, ends.b) < 1)
        (void)jzx_yield(ctx);
    jzx_actor_id to = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = take_active));
    JZX_EXPECT_EQ(jzx_udp_give(ctx, ends.b, to), JZX_OK);
    for (unsigned i = 0; i < 20; i++)
        JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "x", 1, &ends.at_b), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, to, ctx->self, &ends, sizeof ends, GO), JZX_OK);
    while (received_of(ctx, ends.b) < 2) /* the new owner's, before this one has looked */
        (void)jzx_yield(ctx);
    uint64_t received = received_of(ctx, ends.b);
    JZX_EXPECT(received < 21);
    expect_event(ctx, JZX_UDP_DATA, "one");
    JZX_EXPECT_EQ(received_of(ctx, ends.b), received);
    atomic_store(&may_look, true);
    JZX_EXPECT_EQ(jzx_join(ctx, to, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DATA, 0, &msg), JZX_ERR_TIMEOUT);
    finished++;
}

JZX_TEST(an_active_socket_given_away_sends_each_datagram_to_one_owner, "E55") {
    run_fiber(give_active);
    run_fiber_with(&JZX_CONFIG(.workers = 2), give_active);
}

/* ---- memory ---- */

static bool is_short(jzx_err err) {
    return JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY) && err != JZX_OK;
}

/* Each call works, or is refused for want of memory and has done nothing. */
static jzx_behavior_result use_all(jzx_context *ctx, const jzx_message *msg) {
    jzx_udp a;
    jzx_udp b;
    jzx_future *future;
    jzx_test_ran();
    if (msg->tag != GO)
        return JZX_BEHAVIOR_STOP; /* the first result or event */
    if (is_short(jzx_udp_open(ctx, "127.0.0.1:0", NULL, &a)))
        return JZX_BEHAVIOR_STOP;
    if (is_short(jzx_udp_open(ctx, "127.0.0.1:0", NULL, &b)))
        return JZX_BEHAVIOR_STOP;
    const jzx_address to = address_of(ctx->loop, b);
    if (!is_short(jzx_udp_receive_async(ctx->loop, a, 16, &future)))
        jzx_future_release(future);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, a, "x", 1, &to), JZX_OK);
    bool is_active = !is_short(jzx_udp_active(ctx, b, DATA, 3));
    bool is_sent = !is_short(jzx_udp_send_to(ctx, a, "y", 1, &to, DONE, NULL));
    return is_active || is_sent ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

static void play(void) {
    jzx_loop *loop = fixture_loop_with(NULL);
    jzx_actor_id id;
    if (loop == NULL)
        return;
    if (jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = use_all), &id) == JZX_OK &&
        jzx_send(loop, id, JZX_NOBODY, NULL, 0, GO) == JZX_OK)
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_fail_allocations(UINT64_MAX, 0);
    fixture_destroy(loop);
}

JZX_TEST(the_nth_allocation_of_datagram_sockets_fails_for_every_n, "E55", "C+fail") {
    int before = descriptors_open();
    uint64_t first = fixture_allocations();
    play();
    uint64_t total = fixture_allocations() - first;
    JZX_EXPECT(total > 5);
    JZX_EXPECT_EQ(jzx_test_runs(), 2); /* what to do, and what came of it */
    for (uint64_t n = 0; n < total; n++) {
        fixture_fail_allocations(n, n % 2 == 0 ? 1 : UINT64_MAX);
        play();
        fixture_fail_allocations(UINT64_MAX, 0);
        JZX_EXPECT_EQ(fixture_bytes(), 0);
        JZX_EXPECT_EQ(descriptors_open(), before);
    }
}
