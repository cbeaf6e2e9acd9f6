/* SPDX-License-Identifier: MIT */
/* Streams that end when they are idle, on a clock that only the test moves. */
#include "timing.h"

#include <jzx/tcp.h>
#include <jzx/unix.h>

enum { READ = 1 };

#define IDLE_NS JZX_MS(100)

static const jzx_stream_opts idle_opts = {.size = sizeof(jzx_stream_opts), .idle_ns = IDLE_NS};

static struct {
    jzx_stream pair[2];
    jzx_listener listener;
    char address[JZX_ADDRESS_MAX];
    jzx_err read; /* the last */
    uint32_t reads;
    jzx_clock *clock;
} world;

/* A stream that has failed has no descriptor any more. */
static bool is_open(const struct timing *timing, jzx_stream stream) {
    jzx_stream_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_stream_info_get(timing->loop, stream, &info), JZX_OK);
    return info.fd >= 0;
}

static jzx_behavior_result note_read(jzx_context *ctx, const jzx_message *msg) {
    const jzx_result *result = msg->data;
    (void)ctx;
    world.reads++;
    world.read = (jzx_err)result->err;
    return JZX_BEHAVIOR_OK;
}

static void make_pair(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, &idle_opts, world.pair), JZX_OK);
}

static void begin_read(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, world.pair[1], 8, READ, NULL), JZX_OK);
}

/* One end only writes, the other only reads. */
static void write_some(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_stream_send(ctx, world.pair[0], "x", 1), JZX_OK);
}

JZX_TEST(traffic_in_one_direction_keeps_both_ends_and_idleness_ends_them) {
    struct diary diary = {.then = note_read};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    memset(&world, 0, sizeof world);
    timing_do(&timing, id, make_pair);
    timing_do(&timing, id, begin_read);
    for (uint32_t i = 1; i <= 12; i++) { /* in gaps shorter than the time, and far beyond it */
        timing_advance(&timing, IDLE_NS - JZX_MS(1));
        timing_do(&timing, id, write_some);
        while (world.reads < i) /* the system tells in its own time */
            timing_step(&timing);
        JZX_EXPECT_EQ(world.reads, i);
        JZX_EXPECT_EQ(world.read, JZX_OK);
        timing_do(&timing, id, begin_read);
        JZX_EXPECT(is_open(&timing, world.pair[0]) && is_open(&timing, world.pair[1]));
    }
    timing_advance(&timing, IDLE_NS - JZX_MS(1));
    JZX_EXPECT(is_open(&timing, world.pair[0]) && is_open(&timing, world.pair[1]));
    JZX_EXPECT_EQ(world.reads, 12);
    timing_advance(&timing, JZX_MS(2)); /* a wheel may be a little late */
    JZX_EXPECT(!is_open(&timing, world.pair[0]) && !is_open(&timing, world.pair[1]));
    JZX_EXPECT_EQ(world.reads, 13);
    JZX_EXPECT_EQ(world.read, JZX_ERR_TIMEOUT);
    timing_close(&timing);
}

/* ---- over TCP: from the options of listen and of connect ---- */

static void open_listener(jzx_context *ctx) {
    const jzx_listen_opts opts = JZX_LISTEN_OPTS(.stream = &idle_opts);
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", &opts, &world.listener), JZX_OK);
    JZX_EXPECT_EQ(
        jzx_listener_address(ctx->loop, world.listener, world.address, sizeof world.address),
        JZX_OK);
}

enum { ACCEPTED = 2, CONNECTED };

static jzx_behavior_result note_streams(jzx_context *ctx, const jzx_message *msg) {
    const jzx_result *result = msg->data;
    (void)ctx;
    if (JZX_EXPECT_EQ(result->err, JZX_OK))
        memcpy(&world.pair[msg->tag == CONNECTED], jzx_result_data(result), sizeof(jzx_stream));
    return JZX_BEHAVIOR_OK;
}

static void connect_both(jzx_context *ctx) {
    const jzx_connect_opts opts = JZX_CONNECT_OPTS(.stream = &idle_opts);
    JZX_EXPECT_EQ(jzx_tcp_accept_to(ctx, world.listener, ACCEPTED, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_connect_to(ctx, world.address, &opts, CONNECTED, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_advance(world.clock, IDLE_NS / 2), JZX_OK); /* it takes its time */
}

static void connect_only(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_tcp_accept_to(ctx, world.listener, ACCEPTED, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_connect_to(ctx, world.address, NULL, CONNECTED, NULL), JZX_OK);
}

static struct timing open_connection(struct diary *diary, turn_fn fn) {
    struct timing timing = timing_open();
    diary->then = note_streams;
    memset(&world, 0, sizeof world);
    world.clock = timing.clock;
    jzx_actor_id id = timing_spawn(&timing, diary);
    timing_do(&timing, id, open_listener);
    timing_do(&timing, id, fn);
    while (world.pair[0] == 0 || world.pair[1] == 0)
        timing_step(&timing);
    return timing;
}

JZX_TEST(the_idle_time_of_connected_and_accepted_streams_begins_with_the_connection) {
    struct diary diary = {0};
    struct timing timing = open_connection(&diary, connect_both);
    timing_advance(&timing, IDLE_NS - JZX_MS(1));
    JZX_EXPECT(is_open(&timing, world.pair[0]) && is_open(&timing, world.pair[1]));
    timing_advance(&timing, JZX_MS(2));
    JZX_EXPECT(!is_open(&timing, world.pair[0]) && !is_open(&timing, world.pair[1]));
    timing_close(&timing);
}

JZX_TEST(a_stream_without_an_idle_time_never_ends_by_itself) {
    struct diary diary = {0};
    struct timing timing = open_connection(&diary, connect_only);
    timing_advance(&timing, IDLE_NS + JZX_MS(1));
    JZX_EXPECT(!is_open(&timing, world.pair[0])); /* that of the listener has one */
    JZX_EXPECT(is_open(&timing, world.pair[1]));
    timing_advance(&timing, JZX_SECOND(3600));
    JZX_EXPECT(is_open(&timing, world.pair[1]));
    timing_close(&timing);
}

/* ---- with another owner ---- */

static jzx_actor_id heir;

static void give_one(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_stream_give(ctx, world.pair[1], heir), JZX_OK);
}

JZX_TEST(a_stream_given_away_keeps_its_idle_time) {
    struct diary diaries[2] = {{.then = NULL}, {.then = note_read}};
    struct timing timing = timing_open();
    memset(&world, 0, sizeof world);
    jzx_actor_id id = timing_spawn(&timing, &diaries[0]);
    heir = timing_spawn(&timing, &diaries[1]);
    timing_do(&timing, id, make_pair);
    timing_advance(&timing, IDLE_NS / 2);
    timing_do(&timing, id, give_one);
    timing_do(&timing, heir, begin_read);
    timing_advance(&timing, IDLE_NS / 2 - JZX_MS(1));
    JZX_EXPECT(is_open(&timing, world.pair[0]) && is_open(&timing, world.pair[1]));
    timing_advance(&timing, JZX_MS(2));
    JZX_EXPECT(!is_open(&timing, world.pair[0]) && !is_open(&timing, world.pair[1]));
    JZX_EXPECT(world.reads == 1 && world.read == JZX_ERR_TIMEOUT);
    timing_close(&timing);
}
