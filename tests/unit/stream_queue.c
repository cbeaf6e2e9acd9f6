/* SPDX-License-Identifier: MIT */
/* The write queue of a stream to the byte, on a system that takes an exact number of bytes. */
#include "net/stream.h"

#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/unix.h>

#include <errno.h>
#include <string.h>

enum { DONE = 7 };

#define HIGH 40u
#define LOW 10u
#define MAX 100u

static size_t room; /* bytes that the system takes */
static unsigned finished;

static ssize_t send_some(int fd, const void *buffer, size_t size, int flags) {
    size_t now = size < room ? size : room;
    if (now == 0)
        return -EAGAIN;
    room -= now;
    return jzx__os_system.send(fd, buffer, now, flags);
}

static void run_fiber(jzx_fiber_fn fn) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    struct jzx__os os = jzx__os_system;
    os.send = send_some;
    jzx__io_of(loop)->os = &os;
    finished = 0;
    room = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
}

static void open_pair(jzx_context *ctx, const jzx_stream_opts *opts, jzx_stream pair[2]) {
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, opts, pair), JZX_OK);
    room = 0;
}

static void put(jzx_context *ctx, jzx_stream stream, size_t len, jzx_err wanted) {
    static const char piece[4096];
    JZX_EXPECT_EQ(jzx_stream_send(ctx, stream, piece, len), wanted);
}

static void expect_counts(jzx_context *ctx, jzx_stream stream, uint64_t sent, uint64_t queued) {
    jzx_stream_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, stream, &info), JZX_OK);
    JZX_EXPECT_EQ(info.sent, sent);
    JZX_EXPECT_EQ(info.queued, queued);
}

/* The system takes that many bytes more. The arrival of a byte wakes the stream: its edge reports
 * reading and writing. */
static void make_room(jzx_context *ctx, const jzx_stream pair[2], size_t bytes) {
    char byte;
    room = 1;
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "!", 1), JZX_OK);
    JZX_EXPECT_EQ(room, 0);
    room = bytes;
    while (room != 0)
        (void)jzx_yield(ctx);
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, pair[0], &byte, 1, JZX_NEVER), JZX_OK);
}

static void expect_no_note(jzx_context *ctx) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_TIMEOUT);
}

static void expect_note(jzx_context *ctx, jzx_stream stream, uint32_t tag, uint64_t queued) {
    jzx_message msg;
    if (!JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_OK))
        return;
    const jzx_stream_event *event = msg.data;
    JZX_EXPECT_EQ(msg.tag, tag);
    JZX_EXPECT_EQ(event->stream, stream);
    JZX_EXPECT_EQ(event->kind, tag == JZX_TAG_STREAM_HIGH ? JZX_STREAM_HIGH : JZX_STREAM_LOW);
    JZX_EXPECT_EQ(event->queued, queued);
}

static void cross_marks(jzx_context *ctx) {
    const jzx_stream_opts opts =
        JZX_STREAM_OPTS(.queue_max = MAX, .queue_high = HIGH, .queue_low = LOW);
    jzx_stream pair[2];
    open_pair(ctx, &opts, pair);
    for (uint64_t sent = 0; sent < 500; sent = sent + MAX) { /* they alternate */
        put(ctx, pair[0], HIGH - 1, JZX_OK);
        expect_no_note(ctx);
        expect_counts(ctx, pair[0], sent, HIGH - 1);
        put(ctx, pair[0], 1, JZX_OK);
        expect_note(ctx, pair[0], JZX_TAG_STREAM_HIGH, HIGH);
        put(ctx, pair[0], MAX - HIGH, JZX_OK); /* once is enough */
        expect_no_note(ctx);
        expect_counts(ctx, pair[0], sent, MAX);
        put(ctx, pair[0], 1, JZX_ERR_FULL);
        make_room(ctx, pair, MAX - LOW - 1);
        expect_no_note(ctx);
        expect_counts(ctx, pair[0], sent + MAX - LOW - 1, LOW + 1);
        put(ctx, pair[0], HIGH, JZX_OK); /* it is above already */
        expect_no_note(ctx);
        make_room(ctx, pair, HIGH + 1);
        expect_note(ctx, pair[0], JZX_TAG_STREAM_LOW, LOW);
        expect_counts(ctx, pair[0], sent + MAX - LOW + HIGH, LOW);
        sent += HIGH;
        make_room(ctx, pair, LOW);
        expect_no_note(ctx);
        expect_counts(ctx, pair[0], sent + MAX, 0);
    }
    finished++;
}

JZX_TEST(high_and_low_come_at_their_bytes_and_alternate) {
    run_fiber(cross_marks);
}

/* A write that is partly out counts with its rest. */
static void fill_to_bound(jzx_context *ctx) {
    static const char piece[MAX + 1];
    const jzx_stream_opts opts = JZX_STREAM_OPTS(.queue_max = MAX);
    jzx_stream pair[2];
    jzx_message msg;
    jzx_op op;
    open_pair(ctx, &opts, pair);
    room = 30;
    put(ctx, pair[0], 50, JZX_OK);
    expect_counts(ctx, pair[0], 30, 20);
    put(ctx, pair[0], MAX - 20 + 1, JZX_ERR_FULL);
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], piece, MAX - 20 + 1, DONE, &op), JZX_ERR_FULL);
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], piece, MAX - 20, DONE, &op), JZX_OK);
    expect_counts(ctx, pair[0], 30, MAX);
    make_room(ctx, pair, MAX - 1);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, 0, &msg), JZX_ERR_TIMEOUT);
    make_room(ctx, pair, 1);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(((const jzx_result *)msg.data)->err, JZX_OK);
    expect_counts(ctx, pair[0], 30 + MAX, 0);
    put(ctx, pair[0], MAX + 1, JZX_OK); /* one that is longer may wait alone */
    expect_counts(ctx, pair[0], 30 + MAX, MAX + 1);
    put(ctx, pair[0], 1, JZX_ERR_FULL);
    finished++;
}

JZX_TEST(the_queue_takes_its_bound_to_the_byte_and_one_long_write_alone) {
    run_fiber(fill_to_bound);
}

/* A cancel lets go what waits behind the write: the LOW note, and a shutdown, which needs no
 * room. */
static void cancel_first(jzx_context *ctx) {
    static const char piece[HIGH];
    const jzx_stream_opts opts =
        JZX_STREAM_OPTS(.queue_max = MAX, .queue_high = HIGH, .queue_low = LOW);
    jzx_stream pair[2];
    jzx_message msg;
    jzx_op ops[2];
    char byte;
    size_t len;
    open_pair(ctx, &opts, pair);
    put(ctx, pair[0], LOW, JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], piece, HIGH - LOW, DONE, &ops[0]), JZX_OK);
    expect_note(ctx, pair[0], JZX_TAG_STREAM_HIGH, HIGH);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, ops[0]), JZX_OK);
    expect_note(ctx, pair[0], JZX_TAG_STREAM_LOW, LOW);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
    make_room(ctx, pair, LOW);
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], piece, HIGH, DONE, &ops[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_shutdown_to(ctx, pair[0], DONE, &ops[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, ops[0]), JZX_OK);
    for (unsigned i = 0; i < 2; i++) {
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
        const jzx_result *result = msg.data;
        JZX_EXPECT_EQ(result->op, ops[i]);
        JZX_EXPECT_EQ(result->err, i == 0 ? JZX_ERR_CANCELLED : JZX_OK);
    }
    for (unsigned i = 0; i < LOW; i++)
        JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[1], &byte, 1, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[1], &byte, 1, JZX_NEVER, &len), JZX_ERR_END);
    expect_counts(ctx, pair[0], LOW, 0);
    finished++;
}

JZX_TEST(a_cancelled_write_lets_those_behind_it_go_at_once) {
    run_fiber(cancel_first);
}

static void write_halfway(jzx_context *ctx) {
    const jzx_stream *stream = ctx->state;
    JZX_EXPECT_EQ(jzx_stream_write(ctx, *stream, "half", 4, JZX_NEVER), JZX_ERR_CANCELLED);
}

/* The queue ends with the write that broke the stream. */
static void break_stream(jzx_context *ctx) {
    const jzx_stream_opts opts =
        JZX_STREAM_OPTS(.queue_max = MAX, .queue_high = HIGH, .queue_low = LOW);
    jzx_stream pair[2];
    jzx_actor_info info = {.size = sizeof info};
    open_pair(ctx, &opts, pair);
    room = 2;
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = write_halfway, .state = &pair[0]));
    do {
        (void)jzx_yield(ctx);
        JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, id, &info), JZX_OK);
    } while (info.wait != JZX_WAIT_IO);
    expect_counts(ctx, pair[0], 2, 0); /* the bytes of a fiber do not count */
    put(ctx, pair[0], HIGH, JZX_OK);
    expect_note(ctx, pair[0], JZX_TAG_STREAM_HIGH, HIGH);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    expect_note(ctx, pair[0], JZX_TAG_STREAM_LOW, 0);
    put(ctx, pair[0], 1, JZX_ERR_INVALID_STATE);
    expect_counts(ctx, pair[0], 2, 0);
    finished++;
}

JZX_TEST(the_queue_of_a_broken_stream_is_empty_and_low) {
    run_fiber(break_stream);
}

/* Without the options: a quarter of queue_max, and a quarter of that. */
static void cross_default_marks(jzx_context *ctx) {
    jzx_stream pair[2];
    open_pair(ctx, &JZX_STREAM_OPTS(.queue_max = 400), pair);
    put(ctx, pair[0], 99, JZX_OK);
    expect_no_note(ctx);
    put(ctx, pair[0], 1, JZX_OK);
    expect_note(ctx, pair[0], JZX_TAG_STREAM_HIGH, 100);
    make_room(ctx, pair, 74);
    expect_no_note(ctx);
    make_room(ctx, pair, 1);
    expect_note(ctx, pair[0], JZX_TAG_STREAM_LOW, 25);
    expect_counts(ctx, pair[0], 75, 25);
    for (uint32_t max = 1; max < 8; max++) { /* no mark is below the first byte */
        open_pair(ctx, &JZX_STREAM_OPTS(.queue_max = max), pair);
        put(ctx, pair[0], 1, JZX_OK);
        expect_note(ctx, pair[0], JZX_TAG_STREAM_HIGH, 1);
        make_room(ctx, pair, 1);
        expect_note(ctx, pair[0], JZX_TAG_STREAM_LOW, 0);
    }
    open_pair(ctx, NULL, pair);
    static char piece[JZX_DEFAULT_STREAM_QUEUE / 4];
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], piece, sizeof piece - 1), JZX_OK);
    expect_no_note(ctx);
    put(ctx, pair[0], 1, JZX_OK);
    expect_note(ctx, pair[0], JZX_TAG_STREAM_HIGH, sizeof piece);
    finished++;
}

JZX_TEST(the_marks_are_quarters_unless_they_are_given) {
    run_fiber(cross_default_marks);
}

static void open_wrongly(jzx_context *ctx) {
    jzx_stream pair[2] = {77, 78};
    const jzx_stream_opts wrong[] = {
        JZX_STREAM_OPTS(.queue_max = MAX, .queue_high = MAX + 1),
        JZX_STREAM_OPTS(.queue_max = MAX, .queue_high = HIGH, .queue_low = HIGH),
        JZX_STREAM_OPTS(.receive_buffer = (uint32_t)INT32_MAX + 1),
        JZX_STREAM_OPTS(.send_buffer = (uint32_t)INT32_MAX + 1),
        {.size = 0},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        JZX_EXPECT_EQ(jzx_unix_pair(ctx, &wrong[i], pair), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(pair[0] == 77 && pair[1] == 78);
    const jzx_stream_opts edge =
        JZX_STREAM_OPTS(.queue_max = MAX, .queue_high = MAX, .queue_low = MAX - 1);
    open_pair(ctx, &edge, pair);
    put(ctx, pair[0], MAX - 1, JZX_OK);
    expect_no_note(ctx);
    put(ctx, pair[0], 1, JZX_OK);
    expect_note(ctx, pair[0], JZX_TAG_STREAM_HIGH, MAX);
    make_room(ctx, pair, 1);
    expect_note(ctx, pair[0], JZX_TAG_STREAM_LOW, MAX - 1);
    finished++;
}

JZX_TEST(marks_beyond_the_bound_or_out_of_order_are_refused) {
    run_fiber(open_wrongly);
}
