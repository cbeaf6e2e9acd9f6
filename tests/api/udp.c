/* SPDX-License-Identifier: MIT */
/* Datagrams in fibers, by messages and by futures: batches, truncation, peers, multicast. */
#include "udping.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- fibers ---- */

static void talk_in_fibers(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    char buf[64];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    for (unsigned i = 0; i < 100; i++) {
        JZX_EXPECT_EQ(jzx_udp_send(ctx, ends.a, "ping", 4, &ends.at_b, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.b, &in, JZX_NEVER), JZX_OK);
        JZX_EXPECT(in.len == 4 && in.size == 4 && memcmp(buf, "ping", 4) == 0);
        JZX_EXPECT(jzx_address_is_equal(&in.address, &ends.at_a));
        JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.b, "pong!", 5, &in.address), JZX_OK);
        JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.a, &in, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(in.len, 5);
    }
    JZX_EXPECT_EQ(jzx_udp_send(ctx, ends.a, NULL, 0, &ends.at_b, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.b, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT(in.len == 0 && in.size == 0); /* an empty one is one, too */
    jzx_udp_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends.a, &info), JZX_OK);
    JZX_EXPECT(info.sent == 101 && info.received == 100 && info.owner == ctx->self);
    finished++;
}

JZX_TEST(fibers_send_and_receive_datagrams, "E55") {
    run_fiber(talk_in_fibers);
}

static void talk_over_v6(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "[::1]:0");
    char buf[8];
    char text[JZX_ADDRESS_MAX];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    JZX_EXPECT_EQ(jzx_udp_send(ctx, ends.a, "six", 3, &ends.at_b, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.b, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT(in.len == 3 && memcmp(buf, "six", 3) == 0);
    JZX_EXPECT_EQ(jzx_address_format(&in.address, text, sizeof text), JZX_OK);
    JZX_EXPECT(strncmp(text, "[::1]:", 6) == 0);
    JZX_EXPECT_EQ(jzx_udp_set_ttl(ctx->loop, ends.a, 9), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_set_multicast_ttl(ctx->loop, ends.a, 9), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_join(ctx->loop, ends.a, "239.1.2.3", NULL), JZX_ERR_INVALID_ARG);
    finished++;
}

JZX_TEST(datagrams_go_over_ipv6, "E55") {
    run_fiber(talk_over_v6);
}

/* ---- truncation ---- */

static void truncate_some(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    char buf[4];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    jzx_message msg;
    for (unsigned i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "0123456789", 10, &ends.at_b), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.b, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT(in.len == 4 && in.size == 10 && memcmp(buf, "0123", 4) == 0);
    JZX_EXPECT_EQ(jzx_udp_receive_to(ctx, ends.b, 5, DONE, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    const jzx_udp_event *event = jzx_result_data(msg.data);
    JZX_EXPECT(event->len == 5 && event->size == 10);
    JZX_EXPECT(memcmp(jzx_udp_data(event), "01234", 5) == 0);
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, 1), JZX_OK); /* its datagram_max is 8 */
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DATA, JZX_NEVER, &msg), JZX_OK);
    event = msg.data;
    JZX_EXPECT(event->kind == JZX_UDP_DATA && event->len == 8 && event->size == 10);
    jzx_udp_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends.b, &info), JZX_OK);
    JZX_EXPECT(info.received == 3 && info.truncated == 3);
    finished++;
}

JZX_TEST(a_datagram_that_does_not_fit_is_cut_and_its_size_is_told, "E55") {
    run_fiber(truncate_some);
}

/* ---- batches ---- */

#define MANY 12u

static void fill_batch(jzx_datagram *batch, char texts[][8], const jzx_address *to) {
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(texts[i], 8, "d%u", i);
        batch[i] = (jzx_datagram){.data = texts[i], .len = strlen(texts[i]), .address = *to};
    }
}

static void send_batches(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    char texts[MANY][8];
    char rooms[MANY][8];
    jzx_datagram out[MANY];
    jzx_datagram in[MANY];
    size_t count = 0;
    size_t all = 0;
    fill_batch(out, texts, &ends.at_b);
    JZX_EXPECT_EQ(jzx_udp_send_batch(ctx, ends.a, out, MANY, JZX_NEVER, &count), JZX_OK);
    JZX_EXPECT_EQ(count, MANY);
    for (unsigned i = 0; i < MANY; i++)
        in[i] = (jzx_datagram){.data = rooms[i], .cap = sizeof rooms[i]};
    while (all < MANY) {
        JZX_EXPECT_EQ(jzx_udp_receive_batch(ctx, ends.b, in + all, MANY - all, JZX_NEVER, &count),
                      JZX_OK);
        all += count;
    }
    for (unsigned i = 0; i < MANY; i++)
        JZX_EXPECT(in[i].len == out[i].len && memcmp(rooms[i], texts[i], in[i].len) == 0 &&
                   jzx_address_is_equal(&in[i].address, &ends.at_a));
    /* The third cannot be sent: two are out. */
    out[2].len = 70000;
    out[2].data = calloc(1, 70000);
    JZX_EXPECT_EQ(jzx_udp_try_send_batch(ctx, ends.a, out, MANY, &count), JZX_ERR_TOO_LONG);
    JZX_EXPECT_EQ(count, 2);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), EMSGSIZE);
    free(out[2].data);
    JZX_EXPECT_EQ(jzx_udp_send_batch(ctx, ends.a, out, 0, JZX_NEVER, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_send_batch(ctx, ends.a, out, JZX_UDP_BATCH_MAX + 1, JZX_NEVER, NULL),
                  JZX_ERR_INVALID_ARG);
    finished++;
}

JZX_TEST(batches_arrive_in_order_and_tell_how_many_were_sent, "E55") {
    run_fiber(send_batches);
}

/* By messages: loopback has delivered all when the sends are complete. */
static void send_batches_by_message(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    char texts[MANY][8];
    jzx_datagram out[MANY];
    jzx_message msg;
    jzx_op op;
    unsigned all = 0;
    fill_batch(out, texts, &ends.at_b);
    JZX_EXPECT_EQ(jzx_udp_send_batch_to(ctx, ends.a, out, MANY, DONE, &op), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    expect_result(msg.data, op, JZX_OK);
    while (all < MANY) {
        JZX_EXPECT_EQ(jzx_udp_receive_batch_to(ctx, ends.b, 7, MANY, DONE, &op), JZX_OK);
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        expect_result(msg.data, op, JZX_OK);
        for (const jzx_udp_event *event = jzx_result_data(msg.data); event != NULL;
             event = jzx_udp_next(event)) {
            JZX_EXPECT(event->len == out[all].len &&
                       memcmp(jzx_udp_data(event), texts[all], event->len) == 0);
            JZX_EXPECT(jzx_address_is_equal(&event->from, &ends.at_a));
            all++;
        }
    }
    JZX_EXPECT_EQ(all, MANY);
    finished++;
}

JZX_TEST(batches_go_by_messages, "E55") {
    run_fiber(send_batches_by_message);
}

/* ---- pending receives ---- */

static void receive_by_message(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    char buf[8];
    jzx_datagram in = {.data = buf, .cap = sizeof buf, .len = 99};
    jzx_message msg;
    jzx_op receive;
    jzx_op send;
    JZX_EXPECT_EQ(jzx_udp_receive_to(ctx, ends.b, 16, DONE, &receive), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive_to(ctx, ends.b, 16, DONE, NULL), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DATA, 1), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "hello", 5, &ends.at_b, OTHER, &send), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, OTHER, JZX_NEVER, &msg), JZX_OK);
    expect_result(msg.data, send, JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
    expect_result(msg.data, receive, JZX_OK);
    const jzx_udp_event *event = jzx_result_data(msg.data);
    JZX_EXPECT(event->len == 5 && memcmp(jzx_udp_data(event), "hello", 5) == 0);
    JZX_EXPECT(jzx_udp_next(event) == NULL);
    /* One that is cancelled, and one that times out, have lost nothing. */
    JZX_EXPECT_EQ(jzx_udp_receive_to(ctx, ends.b, 16, DONE, &receive), JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, receive), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "kept", 4, &ends.at_b), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
    expect_result(msg.data, receive, JZX_ERR_CANCELLED);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.a, &in, jzx_in(ctx, JZX_MS(1))), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(in.len, 99);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.b, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT(in.len == 4 && memcmp(buf, "kept", 4) == 0);
    finished++;
}

JZX_TEST(a_receive_by_message_is_pending_until_a_datagram_comes_or_a_cancel, "E55") {
    run_fiber(receive_by_message);
}

/* ---- futures ---- */

struct value {
    jzx_result result;
    jzx_udp_event event;
    char data[16];
};

struct caller {
    jzx_loop *loop;
    jzx_udp udp;
    jzx_address to;
};

static void *call_from_thread(void *arg) {
    struct caller *caller = arg;
    jzx_future *send;
    jzx_future *receive;
    struct value value;
    JZX_EXPECT_EQ(jzx_udp_receive_async(caller->loop, caller->udp, 16, &receive), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_send_async(caller->loop, caller->udp, "ping", 4, &caller->to, &send),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(send, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(receive, JZX_NEVER, &value), JZX_OK);
    JZX_EXPECT(value.event.len == 4 && memcmp(value.data, "pong", 4) == 0);
    JZX_EXPECT(jzx_address_is_equal(&value.event.from, &caller->to));
    jzx_future_release(send);
    jzx_future_release(receive);
    JZX_EXPECT_EQ(jzx_udp_send_async(caller->loop, caller->udp, "bye", 3, &caller->to, &send),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(send, JZX_NEVER, NULL), JZX_OK);
    jzx_future_release(send);
    return NULL;
}

static void answer_thread(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    struct caller caller = {.loop = ctx->loop, .udp = ends.a, .to = ends.at_b};
    char buf[8];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    jzx_future *future;
    pthread_t thread;
    JZX_EXPECT_EQ(pthread_create(&thread, NULL, call_from_thread, &caller), 0);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.b, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_send(ctx, ends.b, "pong", 4, &in.address, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.b, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(jzx_udp_receive_batch_async(ctx->loop, ends.b, 16, 2, &future), JZX_OK);
    jzx_future_cancel(future);
    JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, NULL), JZX_ERR_CANCELLED);
    jzx_future_release(future);
    finished++;
}

JZX_TEST(futures_send_and_receive_on_any_thread, "E55") {
    run_fiber(answer_thread);
}

/* ---- connected ---- */

static void refuse(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    char text[JZX_ADDRESS_MAX];
    char buf[8];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    jzx_udp udp;
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "x", 1, NULL), JZX_ERR_IO);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), EDESTADDRREQ);
    JZX_EXPECT_EQ(jzx_udp_peer(ctx->loop, ends.a, text, sizeof text), JZX_ERR_IO);
    JZX_EXPECT_EQ(jzx_address_format(&ends.at_b, text, sizeof text), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, NULL, &JZX_UDP_OPTS(.peer = text), &udp), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_send(ctx, udp, "hi", 2, NULL, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.b, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(in.len, 2);
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, ends.b), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_send(ctx, udp, "hi", 2, NULL, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, udp, &in, JZX_NEVER), JZX_ERR_REFUSED);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ECONNREFUSED);
    /* It goes on: with another peer. */
    JZX_EXPECT_EQ(jzx_address_format(&ends.at_a, text, sizeof text), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_connect(ctx->loop, udp, text), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_send(ctx, udp, "hi", 2, NULL, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.a, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_connect(ctx->loop, udp, "[::1]:5"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_connect(ctx->loop, udp, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, udp, "hi", 2, NULL), JZX_ERR_IO);
    finished++;
}

JZX_TEST(a_connected_socket_hears_that_its_peer_is_gone_and_goes_on, "E55") {
    run_fiber(refuse);
}

/* Opened at `local`, or wherever the system wants. A third socket sends to its port afterwards. */
static void disconnect_at(jzx_context *ctx, const char *local, const char *other) {
    char peer[JZX_ADDRESS_MAX];
    char before[JZX_ADDRESS_MAX];
    char after[JZX_ADDRESS_MAX];
    char host[JZX_ADDRESS_MAX];
    char buf[8];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    jzx_address to;
    jzx_udp udp;
    const char *asked = local == NULL ? "0.0.0.0:0" : local;
    struct ends ends = open_ends(ctx, other);
    JZX_EXPECT_EQ(jzx_udp_local(ctx->loop, ends.a, peer, sizeof peer), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, local, &JZX_UDP_OPTS(.peer = peer), &udp), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_local(ctx->loop, udp, before, sizeof before), JZX_OK);
    for (unsigned round = 0; round < 3; round++) {
        JZX_EXPECT_EQ(jzx_udp_connect(ctx->loop, udp, NULL), JZX_OK);
        JZX_EXPECT_EQ(jzx_udp_local(ctx->loop, udp, after, sizeof after), JZX_OK);
        JZX_EXPECT(strncmp(after, asked, (size_t)(strrchr(asked, ':') - asked) + 1) == 0);
        if (!JZX_EXPECT(strcmp(strrchr(after, ':'), strrchr(before, ':')) == 0))
            break; /* nothing would arrive */
        snprintf(host, sizeof host, "%.*s%s", (int)(strrchr(other, ':') - other), other,
                 strrchr(before, ':'));
        JZX_EXPECT_EQ(jzx_address_parse(host, &to), JZX_OK);
        JZX_EXPECT_EQ(jzx_udp_send(ctx, ends.b, "still", 5, &to, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(jzx_udp_receive(ctx, udp, &in, JZX_NEVER), JZX_OK);
        JZX_EXPECT(in.len == 5 && jzx_address_is_equal(&in.address, &ends.at_b));
        if (round == 1) /* else it is disconnected twice */
            JZX_EXPECT_EQ(jzx_udp_connect(ctx->loop, udp, peer), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, udp), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, ends.a), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, ends.b), JZX_OK);
}

static void disconnect_everywhere(jzx_context *ctx) {
    disconnect_at(ctx, "127.0.0.1:0", "127.0.0.1:0");
    disconnect_at(ctx, "0.0.0.0:0", "127.0.0.1:0");
    disconnect_at(ctx, NULL, "127.0.0.1:0");
    disconnect_at(ctx, "[::1]:0", "[::1]:0");
    disconnect_at(ctx, "[::]:0", "[::1]:0");
    finished++;
}

JZX_TEST(a_socket_keeps_its_port_when_it_is_disconnected, "E55") {
    run_fiber(disconnect_everywhere);
}

/* ---- addresses and options ---- */

static void misuse(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    jzx_address address;
    jzx_udp udp = 77;
    char text[JZX_ADDRESS_MAX];
    const jzx_udp_opts v6_peer = JZX_UDP_OPTS(.peer = "[::1]:1");
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "nonsense", NULL, &udp), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, NULL, NULL, &udp), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.1:0", &v6_peer, &udp), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "192.0.2.1:1", NULL, &udp), JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(jzx_udp_local(ctx->loop, ends.a, text, sizeof text), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, text, NULL, &udp), JZX_ERR_ADDRESS_IN_USE);
    JZX_EXPECT_EQ(udp, 77);
    JZX_EXPECT_EQ(jzx_address_parse("1.2.3.4", &address), JZX_ERR_INVALID_ARG);
    address = (jzx_address){{0, 0, 0, 0}};
    JZX_EXPECT_EQ(jzx_address_format(&address, text, sizeof text), JZX_ERR_INVALID_ARG);
    memset(&address, 0x5a, sizeof address);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "x", 1, &address), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_receive_to(ctx, ends.a, 0, DONE, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_receive_to(ctx, ends.a, 70000, DONE, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_set_ttl(ctx->loop, ends.a, 0), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_join(ctx->loop, ends.a, "10.0.0.1:5", NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_join(ctx->loop, ends.a, "239.1.1.1", "no_such0"), JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(jzx_address_parse("255.255.255.255:9", &address), JZX_OK);
    jzx_err err = jzx_udp_try_send(ctx, ends.a, "x", 1, &address);
    JZX_EXPECT(err == JZX_ERR_PERMISSION || err == JZX_ERR_UNREACHABLE);
    JZX_EXPECT_EQ(jzx_udp_set_broadcast(ctx->loop, ends.a, true), JZX_OK);
    finished++;
}

JZX_TEST(wrong_addresses_and_options_are_refused, "E55") {
    run_fiber(misuse);
}

static void share_port(jzx_context *ctx) {
    const jzx_udp_opts shared = JZX_UDP_OPTS(.reuse_port = true);
    char text[JZX_ADDRESS_MAX];
    jzx_udp first;
    jzx_udp second;
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.1:0", &shared, &first), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_local(ctx->loop, first, text, sizeof text), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, text, &shared, &second), JZX_OK);
    finished++;
}

JZX_TEST(sockets_share_a_port_if_they_are_told_to, "E55") {
    run_fiber(share_port);
}

/* ---- multicast ---- */

#define GROUP "239.193.7.11"

static bool has_multicast;

/* False if this system has none on its loopback interface. */
static bool join(jzx_context *ctx, jzx_udp udp) {
    jzx_err err = jzx_udp_join(ctx->loop, udp, GROUP, "lo");
    has_multicast = err == JZX_OK;
    finished += !has_multicast;
    return has_multicast;
}

static void cast(jzx_context *ctx) {
    const jzx_udp_opts shared = JZX_UDP_OPTS(.reuse_address = true);
    jzx_udp members[2];
    jzx_udp sender;
    char text[JZX_ADDRESS_MAX];
    char buf[8];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    jzx_address to;
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "0.0.0.0:0", &shared, &members[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_local(ctx->loop, members[0], text, sizeof text), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, text, &shared, &members[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.1:0", NULL, &sender), JZX_OK);
    if (!join(ctx, members[0]))
        return;
    JZX_EXPECT_EQ(jzx_udp_join(ctx->loop, members[1], GROUP, "lo"), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_join(ctx->loop, members[1], GROUP, "lo"), JZX_ERR_ADDRESS_IN_USE);
    JZX_EXPECT_EQ(jzx_udp_set_multicast_interface(ctx->loop, sender, "lo"), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_set_multicast_ttl(ctx->loop, sender, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_set_multicast_loop(ctx->loop, sender, true), JZX_OK);
    char group[JZX_ADDRESS_MAX];
    snprintf(group, sizeof group, GROUP "%s", strrchr(text, ':'));
    JZX_EXPECT_EQ(jzx_address_parse(group, &to), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_send(ctx, sender, "all", 3, &to, JZX_NEVER), JZX_OK);
    for (unsigned i = 0; i < 2; i++) {
        JZX_EXPECT_EQ(jzx_udp_receive(ctx, members[i], &in, JZX_NEVER), JZX_OK);
        JZX_EXPECT(in.len == 3 && memcmp(buf, "all", 3) == 0);
    }
    JZX_EXPECT_EQ(jzx_udp_leave(ctx->loop, members[1], GROUP, "lo"), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_leave(ctx->loop, members[1], GROUP, "lo"), JZX_ERR_NOT_FOUND);
    finished++;
}

JZX_TEST(multicast_goes_to_members, "E55") {
    run_fiber(cast);
    if (!has_multicast)
        skip(); /* no multicast on lo */
}
