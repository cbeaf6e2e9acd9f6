/* SPDX-License-Identifier: MIT */
/* Lengths and counts of streams and datagrams at their limits. */
#include "limiting.h"

#include <jzx/udp.h>
#include <jzx/unix.h>

#define RESULT_MAX ((size_t)JZX_MSG_LEN_MAX - sizeof(jzx_result))
#define VALUE_MAX ((size_t)JZX_FUTURE_VALUE_MAX - sizeof(jzx_result))
#define DATA_MAX ((size_t)PTRDIFF_MAX)

#define CALL(name, expression)                                                                     \
    static jzx_err name(size_t size) {                                                             \
        return expression;                                                                         \
    }

/* ---- streams ---- */

static jzx_stream stream;
static jzx_listener listener;

static void open_stream(void) {
    char address[64];
    snprintf(address, sizeof address, "@jzx-limits-%" PRIu64,
             (uint64_t)(uintptr_t)bytes ^ turn->self);
    JZX_EXPECT_EQ(jzx_unix_listen(turn, address, NULL, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_unix_connect(turn, address, NULL, JZX_NEVER, &stream), JZX_OK);
}

CALL(read_some, jzx_stream_read(turn, stream, bytes, size, JZX_NEVER, &(size_t){0}))
CALL(read_exact, jzx_stream_read_exact(turn, stream, bytes, size, JZX_NEVER))
CALL(read_until, jzx_stream_read_until(turn, stream, ',', bytes, size, JZX_NEVER, &(size_t){0}))
CALL(read_to, jzx_stream_read_to(turn, stream, size, 1, NULL))
CALL(read_exact_to, jzx_stream_read_exact_to(turn, stream, size, 1, NULL))
CALL(read_until_to, jzx_stream_read_until_to(turn, stream, ',', size, 1, NULL))
CALL(write_all, jzx_stream_write(turn, stream, bytes, size, JZX_NEVER))
CALL(write_to, jzx_stream_write_to(turn, stream, bytes, size, 1, NULL))
CALL(send_bytes, jzx_stream_send(turn, stream, bytes, size))
CALL(send_file, jzx_stream_sendfile(turn, stream, 0, 0, size, JZX_NEVER, NULL))
CALL(send_file_to, jzx_stream_sendfile_to(turn, stream, 0, 1, size, 1, NULL))

static jzx_err read_async(size_t size) {
    jzx_future *future;
    return let_go(jzx_stream_read_async(loop, stream, size, &future), &future);
}

static jzx_err write_async(size_t size) {
    jzx_future *future;
    return let_go(jzx_stream_write_async(loop, stream, bytes, size, &future), &future);
}

static jzx_err write_two(size_t size) {
    const struct iovec parts[2] = {{bytes, size}, {bytes, size}};
    return jzx_stream_writev_to(turn, stream, parts, 2, 1, NULL);
}

static jzx_err write_many(size_t count) {
    static struct iovec parts[JZX_STREAM_PARTS_MAX];
    return jzx_stream_writev(turn, stream, parts, count, JZX_NEVER);
}

JZX_TEST(a_length_that_no_stream_carries_is_refused) {
    static const struct limit limits[] = {
        {"jzx_stream_read", read_some, .max = RESULT_MAX, .is_read = true},
        {"jzx_stream_read_exact", read_exact, .max = RESULT_MAX, .is_read = true},
        {"jzx_stream_read_until", read_until, .max = RESULT_MAX, .is_read = true},
        {"jzx_stream_read_to", read_to, .max = RESULT_MAX},
        {"jzx_stream_read_exact_to", read_exact_to, .max = RESULT_MAX},
        {"jzx_stream_read_until_to", read_until_to, .max = RESULT_MAX},
        {"jzx_stream_read_async", read_async, .max = VALUE_MAX},
        {"jzx_stream_write", write_all, .max = DATA_MAX, .is_read = true},
        {"jzx_stream_write_to", write_to, .max = DATA_MAX, .is_read = true},
        {"jzx_stream_write_async", write_async, .max = DATA_MAX, .is_read = true},
        {"jzx_stream_send", send_bytes, .max = DATA_MAX, .is_read = true},
        {"jzx_stream_writev_to", write_two, .max = DATA_MAX / 2, .is_read = true},
        {"jzx_stream_writev", write_many, .max = JZX_STREAM_PARTS_MAX},
        {"jzx_stream_sendfile", send_file, .max = DATA_MAX, .is_read = true},
        {"jzx_stream_sendfile_to", send_file_to, .max = DATA_MAX - 1, .is_read = true},
    };
    check_limits(LIMITS(limits), open_stream);
}

/* ---- datagrams ---- */

static jzx_udp udp;
static jzx_address to;

static void open_udp(void) {
    JZX_EXPECT_EQ(jzx_udp_open(turn, "127.0.0.1:0", NULL, &udp), JZX_OK);
    JZX_EXPECT_EQ(jzx_address_parse("127.0.0.1:9", &to), JZX_OK);
}

CALL(receive_to, jzx_udp_receive_to(turn, udp, size, 1, NULL))
CALL(receive_many_to, jzx_udp_receive_batch_to(turn, udp, 100, size, 1, NULL))
CALL(send_one, jzx_udp_send(turn, udp, bytes, size, &to, JZX_NEVER))
CALL(send_now, jzx_udp_try_send(turn, udp, bytes, size, &to))
CALL(send_to, jzx_udp_send_to(turn, udp, bytes, size, &to, 1, NULL))

static jzx_err receive_async(size_t size) {
    jzx_future *future;
    return let_go(jzx_udp_receive_async(loop, udp, size, &future), &future);
}

static jzx_err send_async(size_t size) {
    jzx_future *future;
    return let_go(jzx_udp_send_async(loop, udp, bytes, size, &to, &future), &future);
}

/* Whose lengths are in range, though not their sum with what a copy of them needs. */
static jzx_err send_two(size_t size) {
    const jzx_datagram datagrams[2] = {{.data = bytes, .len = 1, .address = to},
                                       {.data = bytes, .len = size, .address = to}};
    return jzx_udp_send_batch_to(turn, udp, datagrams, 2, 1, NULL);
}

static jzx_err send_many(size_t count) {
    static jzx_datagram datagrams[JZX_UDP_BATCH_MAX];
    return jzx_udp_send_batch_to(turn, udp, datagrams, count, 1, NULL);
}

JZX_TEST(a_length_that_no_datagram_has_is_refused) {
    static const struct limit limits[] = {
        {"jzx_udp_receive_to", receive_to, .max = JZX_UDP_SIZE_MAX, .is_read = true},
        {"jzx_udp_receive_batch_to", receive_many_to, .max = JZX_UDP_BATCH_MAX, .is_read = true},
        {"jzx_udp_receive_async", receive_async, .max = JZX_UDP_SIZE_MAX, .is_read = true},
        {"jzx_udp_send_to", send_to, .max = JZX_MSG_LEN_MAX},
        {"jzx_udp_send_batch_to", send_two, .max = JZX_MSG_LEN_MAX},
        {"jzx_udp_send_async", send_async, .max = JZX_MSG_LEN_MAX},
        {"jzx_udp_send", send_one, .max = JZX_MSG_LEN_MAX, .is_read = true},
        {"jzx_udp_try_send", send_now, .max = JZX_MSG_LEN_MAX, .is_read = true},
        {"jzx_udp_send_batch_to, count", send_many, .max = JZX_UDP_BATCH_MAX, .is_read = true},
    };
    check_limits(LIMITS(limits), open_udp);
}

/* ---- texts ---- */

static char *const room = bytes;

CALL(show_peer, jzx_stream_peer(loop, stream, room, size))
CALL(show_local, jzx_stream_local(loop, stream, room, size))
CALL(show_listener, jzx_listener_address(loop, listener, room, size))
CALL(show_udp, jzx_udp_local(loop, udp, room, size))
CALL(show_address, jzx_address_format(&to, room, size))

static void show_all(jzx_context *ctx) {
    static jzx_err (*const calls[])(size_t) = {show_peer, show_local, show_listener, show_udp,
                                               show_address};
    turn = ctx;
    loop = ctx->loop;
    jzx_test_ran();
    open_stream();
    open_udp();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        JZX_EXPECT_EQ(calls[i](sizeof bytes), JZX_OK);
        JZX_EXPECT_EQ(calls[i](SIZE_MAX), JZX_OK);
        JZX_EXPECT_EQ(calls[i](SIZE_MAX / 2 + 1), JZX_OK);
        JZX_EXPECT(calls[i](0) != JZX_OK);
    }
}

JZX_TEST(an_address_is_written_to_room_of_any_size) {
    jzx_loop *made = fixture_loop();
    fixture_spawn(made, &JZX_SPAWN_OPTS(.fiber = show_all));
    assert_int_equal(jzx_loop_run(made), JZX_OK);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(made);
}
