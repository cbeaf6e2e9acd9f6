/* SPDX-License-Identifier: MIT */
/* What an idle connection takes in user space: its actor, its stream and its place at the
 * reactor. */
#include "serving.h"

/* The runtime takes memory from the allocator in chunks, of which a part is not used yet: so the
 * bytes of many connections are compared, and the first ones do not count. */
#define FIRST 64u
#define LAST 447u
#define IDLE_BYTES_MAX 1104u

static int clients[LAST];

/* Connects, and steps until each connection has answered: its actor has made its stream active. */
static void open_connections(struct server *server, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        uint64_t number = i;
        uint64_t echo = 0;
        clients[i] = client_connect(server->port);
        assert_true(clients[i] >= 0);
        assert_true(send_all(clients[i], &number, sizeof number));
        while (recv(clients[i], &echo, sizeof echo, MSG_DONTWAIT) != (ssize_t)sizeof echo)
            assert_int_equal(jzx_loop_step(server->loop, 0), JZX_OK);
        JZX_EXPECT_EQ(echo, number);
    }
}

JZX_TEST(an_idle_connection_takes_little_more_than_a_kibibyte, "C24") {
    struct server server = {.opts = NULL};
    server_open(&server, 1, BY_ACTIVE);
    while (server.port == 0)
        assert_int_equal(jzx_loop_step(server.loop, 0), JZX_OK);
    open_connections(&server, 0, FIRST);
    uint64_t bytes = fixture_bytes();
    open_connections(&server, FIRST, LAST);
    bytes = fixture_bytes() - bytes;
    JZX_EXPECT(bytes <= (uint64_t)IDLE_BYTES_MAX * (LAST - FIRST));
    for (uint32_t i = 0; i < LAST; i++)
        close(clients[i]);
    server_leave(&server);
    JZX_EXPECT_EQ(jzx_loop_run(server.loop), JZX_OK);
    server_close(&server);
}
