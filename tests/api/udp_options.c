/* SPDX-License-Identifier: MIT */
/* Options and settings of datagram sockets, read back from the system. */
#include "udping.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

static int option_of(jzx_context *ctx, jzx_udp udp, int level, int name) {
    jzx_udp_info info = {.size = sizeof info};
    int value = -1;
    socklen_t size = sizeof value;
    JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, udp, &info), JZX_OK);
    JZX_EXPECT_EQ(getsockopt(info.fd, level, name, &value, &size), 0);
    return value;
}

/* ---- options ---- */

/* Linux doubles the size of a buffer. */
static void open_with_options(jzx_context *ctx) {
    for (unsigned i = 0; i < 7; i++) {
        const jzx_udp_opts opts =
            JZX_UDP_OPTS(.receive_buffer = i == 0 ? 20000 : 0, .send_buffer = i == 1 ? 30000 : 0,
                         .reuse_port = i == 2, .reuse_address = i == 3, .broadcast = i == 4,
                         .v6_only = i == 5);
        jzx_udp udp = JZX_NO_UDP;
        JZX_EXPECT_EQ(jzx_udp_open(ctx, "[::]:0", i == 6 ? NULL : &opts, &udp), JZX_OK);
        JZX_EXPECT_EQ(option_of(ctx, udp, SOL_SOCKET, SO_RCVBUF) == 40000, i == 0);
        JZX_EXPECT_EQ(option_of(ctx, udp, SOL_SOCKET, SO_SNDBUF) == 60000, i == 1);
        JZX_EXPECT_EQ(option_of(ctx, udp, SOL_SOCKET, SO_REUSEPORT), i == 2);
        JZX_EXPECT_EQ(option_of(ctx, udp, SOL_SOCKET, SO_REUSEADDR), i == 3);
        JZX_EXPECT_EQ(option_of(ctx, udp, SOL_SOCKET, SO_BROADCAST), i == 4);
        JZX_EXPECT_EQ(option_of(ctx, udp, IPPROTO_IPV6, IPV6_V6ONLY), i == 5);
        JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, udp), JZX_OK);
    }
    finished++;
}

JZX_TEST(the_system_has_the_options_of_a_datagram_socket, "E55") {
    run_fiber(open_with_options);
}

static void open_connected(jzx_context *ctx) {
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    char peer[JZX_ADDRESS_MAX];
    char text[JZX_ADDRESS_MAX];
    jzx_udp udp;
    JZX_EXPECT_EQ(jzx_udp_local(ctx->loop, ends.b, peer, sizeof peer), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.2:0", &JZX_UDP_OPTS(.peer = peer), &udp), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_peer(ctx->loop, udp, text, sizeof text), JZX_OK);
    JZX_EXPECT(strcmp(text, peer) == 0);
    JZX_EXPECT_EQ(jzx_udp_local(ctx->loop, udp, text, sizeof text), JZX_OK);
    JZX_EXPECT(strncmp(text, "127.0.0.2:", 10) == 0);
    /* Datagrams of others do not arrive. */
    const jzx_address to = address_of(ctx->loop, udp);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "other", 5, &to), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.b, "peer", 4, &to), JZX_OK);
    char buf[8];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, udp, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT(in.len == 4 && memcmp(buf, "peer", 4) == 0);
    JZX_EXPECT(jzx_address_is_equal(&in.address, &ends.at_b));
    finished++;
}

JZX_TEST(a_socket_has_its_own_address_and_that_of_its_peer, "E55") {
    run_fiber(open_connected);
}

/* One byte more than there is room for. */
static void fill_datagrams(jzx_context *ctx) {
    static char data[JZX_UDP_SIZE_MAX];
    static const uint32_t rooms[] = {1, 1000, JZX_DEFAULT_DATAGRAM_MAX, 20000};
    const jzx_udp_opts too_large = JZX_UDP_OPTS(.datagram_max = JZX_UDP_SIZE_MAX + 1);
    jzx_udp udp = 77;
    struct ends ends = open_ends(ctx, "127.0.0.1:0");
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.1:0", &too_large, &udp), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(udp, 77);
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        bool is_default = rooms[i] == JZX_DEFAULT_DATAGRAM_MAX;
        const jzx_udp_opts opts = JZX_UDP_OPTS(.datagram_max = is_default ? 0 : rooms[i]);
        JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.1:0", &opts, &udp), JZX_OK);
        const jzx_address to = address_of(ctx->loop, udp);
        JZX_EXPECT_EQ(jzx_udp_active(ctx, udp, DATA, 2), JZX_OK);
        JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, data, rooms[i], &to), JZX_OK);
        JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, data, rooms[i] + 1, &to), JZX_OK);
        for (uint32_t more = 0; more < 2; more++) {
            jzx_message msg;
            JZX_EXPECT_EQ(jzx_receive_tag(ctx, DATA, JZX_NEVER, &msg), JZX_OK);
            const jzx_udp_event *event = msg.data;
            JZX_EXPECT_EQ(event->kind, JZX_UDP_DATA);
            JZX_EXPECT_EQ(event->len, rooms[i]);
            JZX_EXPECT_EQ(event->size, rooms[i] + more);
        }
        jzx_udp_info info = {.size = sizeof info};
        JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, udp, &info), JZX_OK);
        JZX_EXPECT(info.received == 2 && info.truncated == 1);
        JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, udp), JZX_OK);
        jzx_message msg;
        while (jzx_receive(ctx, 0, &msg) == JZX_OK) /* it has become passive */
            continue;
    }
    finished++;
}

JZX_TEST(an_active_socket_has_room_for_its_datagram_max_to_the_byte, "E55") {
    run_fiber(fill_datagrams);
}

/* ---- settings ---- */

/* The names of a setting for IPv4 and IPv6. */
struct names {
    int level;
    int ttl;
    int multicast_ttl;
    int multicast_loop;
};

static void set_hops(jzx_context *ctx, const char *local, struct names names) {
    jzx_loop *loop = ctx->loop;
    jzx_udp udp;
    JZX_EXPECT_EQ(jzx_udp_open(ctx, local, NULL, &udp), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_set_ttl(loop, udp, 1), JZX_OK);
    JZX_EXPECT_EQ(option_of(ctx, udp, names.level, names.ttl), 1);
    JZX_EXPECT_EQ(jzx_udp_set_ttl(loop, udp, 255), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_set_ttl(loop, udp, 256), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_set_ttl(loop, udp, 0), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(option_of(ctx, udp, names.level, names.ttl), 255);
    JZX_EXPECT_EQ(option_of(ctx, udp, names.level, names.multicast_ttl), 1);
    JZX_EXPECT_EQ(jzx_udp_set_multicast_ttl(loop, udp, 255), JZX_OK);
    JZX_EXPECT_EQ(option_of(ctx, udp, names.level, names.multicast_ttl), 255);
    JZX_EXPECT_EQ(jzx_udp_set_multicast_ttl(loop, udp, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_set_multicast_ttl(loop, udp, 256), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(option_of(ctx, udp, names.level, names.multicast_ttl), 0);
    JZX_EXPECT_EQ(option_of(ctx, udp, names.level, names.multicast_loop), 1);
    JZX_EXPECT_EQ(jzx_udp_set_multicast_loop(loop, udp, false), JZX_OK);
    JZX_EXPECT_EQ(option_of(ctx, udp, names.level, names.multicast_loop), 0);
    JZX_EXPECT_EQ(jzx_udp_set_multicast_loop(loop, udp, true), JZX_OK);
    JZX_EXPECT_EQ(option_of(ctx, udp, names.level, names.multicast_loop), 1);
    for (int on = 1; on >= 0; on--) {
        JZX_EXPECT_EQ(jzx_udp_set_broadcast(loop, udp, on != 0), JZX_OK);
        JZX_EXPECT_EQ(option_of(ctx, udp, SOL_SOCKET, SO_BROADCAST), on);
    }
    JZX_EXPECT_EQ(jzx_udp_close(loop, udp), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_set_ttl(loop, udp, 1), JZX_ERR_CLOSED);
}

static void change_settings(jzx_context *ctx) {
    jzx_udp udp;
    set_hops(ctx, "127.0.0.1:0",
             (struct names){IPPROTO_IP, IP_TTL, IP_MULTICAST_TTL, IP_MULTICAST_LOOP});
    set_hops(
        ctx, "[::1]:0",
        (struct names){IPPROTO_IPV6, IPV6_UNICAST_HOPS, IPV6_MULTICAST_HOPS, IPV6_MULTICAST_LOOP});
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "[::1]:0", NULL, &udp), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_set_multicast_interface(ctx->loop, udp, "lo"), JZX_OK);
    JZX_EXPECT_EQ(option_of(ctx, udp, IPPROTO_IPV6, IPV6_MULTICAST_IF), (int)if_nametoindex("lo"));
    JZX_EXPECT_EQ(jzx_udp_set_multicast_interface(ctx->loop, udp, NULL), JZX_OK);
    JZX_EXPECT_EQ(option_of(ctx, udp, IPPROTO_IPV6, IPV6_MULTICAST_IF), 0);
    JZX_EXPECT_EQ(jzx_udp_set_multicast_interface(ctx->loop, udp, "no_such0"), JZX_ERR_NOT_FOUND);
    finished++;
}

JZX_TEST(the_system_has_the_settings_of_a_datagram_socket, "E55") {
    run_fiber(change_settings);
}

JZX_TEST(options_of_a_datagram_socket_begin_as_their_macro_says, "E55") {
    jzx_udp_opts opts;
    memset(&opts, 0xff, sizeof opts);
    JZX_EXPECT_EQ(jzx_udp_opts_init(&opts, sizeof opts), JZX_OK);
    JZX_EXPECT(opts.size == sizeof opts && opts.peer == NULL && opts.datagram_max == 0 &&
               opts.queue_max == 0 && opts.receive_buffer == 0 && opts.send_buffer == 0 &&
               !opts.reuse_port && !opts.reuse_address && !opts.broadcast && !opts.v6_only);
    JZX_EXPECT_EQ(jzx_udp_opts_init(&opts, 0), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_udp_opts_init(NULL, sizeof opts), JZX_ERR_INVALID_ARG);
}
