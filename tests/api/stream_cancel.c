/* SPDX-License-Identifier: MIT */
/* Cancelled writes: the peer reads whole writes, or an exact prefix of the write that broke the
 * stream. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/future.h>
#include <jzx/unix.h>

#include <string.h>

enum { DONE = 7 };

#define LONG ((size_t)1 << 20) /* more than a socket takes */

static char pile[LONG];
static unsigned finished;

static void run_fiber(jzx_fiber_fn fn) {
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    finished = 0;
    for (size_t i = 0; i < LONG; i++)
        pile[i] = (char)(i * 31 + i / 251);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

static jzx_stream_info info_of(jzx_context *ctx, jzx_stream stream) {
    jzx_stream_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, stream, &info), JZX_OK);
    return info;
}

/* Receives the next result; skips HIGH and LOW. */
static void expect_result(jzx_context *ctx, jzx_op op, jzx_err err) {
    jzx_message msg;
    if (!JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK))
        return;
    const jzx_result *result = msg.data;
    JZX_EXPECT_EQ(result->op, op);
    JZX_EXPECT_EQ(result->err, err);
}

/* The next len bytes are a prefix of the pile. */
static void expect_pile(jzx_context *ctx, jzx_stream stream, size_t len) {
    static char buf[40000];
    bool is_same = true;
    for (size_t got = 0; got < len;) {
        size_t now = 0;
        size_t cap = len - got < sizeof buf ? len - got : sizeof buf;
        if (!JZX_EXPECT_EQ(jzx_stream_read(ctx, stream, buf, cap, JZX_NEVER, &now), JZX_OK))
            return;
        is_same &= memcmp(buf, pile + got, now) == 0;
        got += now;
    }
    JZX_EXPECT(is_same);
}

static void expect_text(jzx_context *ctx, jzx_stream stream, const char *text) {
    char buf[16] = "";
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, stream, buf, strlen(text), JZX_NEVER), JZX_OK);
    JZX_EXPECT(memcmp(buf, text, strlen(text)) == 0);
}

/* ---- a part is out ---- */

static void cancel_begun(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_op ops[2];
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], pile, LONG, DONE, &ops[0]), JZX_OK);
    jzx_stream_info info = info_of(ctx, pair[0]);
    JZX_EXPECT(info.sent > 0 && info.queued > 0 && info.sent + info.queued == LONG);
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], "tail", 4, DONE, &ops[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, ops[0]), JZX_OK);
    JZX_EXPECT_EQ(info_of(ctx, pair[0]).queued, info.queued + 4); /* it goes on */
    expect_pile(ctx, pair[1], LONG);
    expect_text(ctx, pair[1], "tail");
    expect_result(ctx, ops[0], JZX_OK);
    expect_result(ctx, ops[1], JZX_OK);
    JZX_EXPECT_EQ(info_of(ctx, pair[0]).queued, 0);
    finished++;
}

JZX_TEST(a_cancelled_write_of_which_a_part_is_out_goes_on_to_its_end) {
    run_fiber(cancel_begun);
}

static void cancel_begun_future(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_future *future;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write_async(ctx->loop, pair[0], pile, LONG, &future), JZX_OK);
    JZX_EXPECT(info_of(ctx, pair[0]).queued > 0);
    jzx_future_cancel(future);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], "tail", 4), JZX_OK);
    expect_pile(ctx, pair[1], LONG);
    expect_text(ctx, pair[1], "tail");
    JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, NULL), JZX_OK);
    jzx_future_release(future);
    finished++;
}

JZX_TEST(a_cancelled_future_of_a_write_of_which_a_part_is_out_is_fulfilled) {
    run_fiber(cancel_begun_future);
}

/* ---- nothing is out ---- */

static void cancel_queued(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_op ops[3];
    jzx_future *future;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], pile, LONG, DONE, &ops[0]), JZX_OK);
    uint64_t queued = info_of(ctx, pair[0]).queued;
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], "never", 5, DONE, &ops[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write_async(ctx->loop, pair[0], "neither", 7, &future), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], "tail", 4), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_shutdown_to(ctx, pair[0], DONE, &ops[2]), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], "late", 4), JZX_ERR_INVALID_STATE);

    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, ops[1]), JZX_OK);
    expect_result(ctx, ops[1], JZX_ERR_CANCELLED);
    jzx_future_cancel(future);
    JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, NULL), JZX_ERR_CANCELLED);
    jzx_future_release(future);
    JZX_EXPECT_EQ(info_of(ctx, pair[0]).queued, queued + 4);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, ops[2]), JZX_OK);
    expect_result(ctx, ops[2], JZX_ERR_CANCELLED);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], "open", 4), JZX_OK); /* it was not shut down */

    expect_pile(ctx, pair[1], LONG);
    expect_text(ctx, pair[1], "tailopen");
    expect_result(ctx, ops[0], JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, ops[0]), JZX_ERR_NO_SUCH_OP);
    finished++;
}

JZX_TEST(a_cancelled_write_of_which_nothing_is_out_never_arrives) {
    run_fiber(cancel_queued);
}

/* ---- fibers ---- */

struct writer {
    jzx_stream stream;
    const char *data;
    size_t len;
    jzx_err wanted;
    unsigned done;
};

static void write_in_fiber(jzx_context *ctx) {
    struct writer *writer = ctx->state;
    jzx_err err = writer->data == NULL
                      ? jzx_stream_shutdown(ctx, writer->stream, JZX_NEVER)
                      : jzx_stream_write(ctx, writer->stream, writer->data, writer->len, JZX_NEVER);
    JZX_EXPECT_EQ(err, writer->wanted);
    writer->done++;
}

/* It waits when this returns. */
static jzx_actor_id begin_write(jzx_context *ctx, struct writer *writer) {
    jzx_actor_info info = {.size = sizeof info};
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = write_in_fiber, .state = writer));
    do {
        (void)jzx_yield(ctx);
        JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, id, &info), JZX_OK);
    } while (info.wait != JZX_WAIT_IO);
    return id;
}

/* Has the fiber work off its queue, which cancels its wait. */
static void cancel_write(jzx_context *ctx, jzx_actor_id id, const struct writer *writer) {
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(writer->done, 1);
}

static void cancel_begun_fiber(jzx_context *ctx) {
    jzx_stream pair[2];
    char buf[4];
    size_t len;
    jzx_op op;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    struct writer first = {pair[0], pile, LONG, JZX_ERR_CANCELLED, 0};
    struct writer second = {pair[0], "next", 4, JZX_ERR_INVALID_STATE, 0};
    jzx_actor_id ids[2] = {begin_write(ctx, &first), begin_write(ctx, &second)};
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], "last", 4, DONE, &op), JZX_OK);
    cancel_write(ctx, ids[0], &first);
    expect_result(ctx, op, JZX_ERR_INVALID_STATE);
    JZX_EXPECT_EQ(jzx_join(ctx, ids[1], JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(second.done, 1);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], "x", 1), JZX_ERR_INVALID_STATE);
    jzx_stream_info info = info_of(ctx, pair[0]);
    JZX_EXPECT(info.sent > 0 && info.sent < LONG && info.queued == 0);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "back", 4), JZX_OK);
    expect_text(ctx, pair[0], "back"); /* reading goes on */
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[0]), JZX_OK);
    expect_pile(ctx, pair[1], info.sent);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[1], buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_END);
    finished++;
}

JZX_TEST(a_fiber_cancelled_halfway_through_a_write_leaves_an_exact_beginning_and_no_more) {
    run_fiber(cancel_begun_fiber);
}

static void cancel_in_line(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_op op;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    struct writer writers[3] = {{pair[0], "never", 5, JZX_ERR_CANCELLED, 0},
                                {pair[0], "whole", 5, JZX_OK, 0},
                                {pair[0], NULL, 0, JZX_ERR_CANCELLED, 0}};
    jzx_actor_id ids[3];
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], pile, LONG, DONE, &op), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], "head", 4), JZX_OK);
    for (unsigned i = 0; i < 3; i++)
        ids[i] = begin_write(ctx, &writers[i]);
    cancel_write(ctx, ids[0], &writers[0]);
    cancel_write(ctx, ids[2], &writers[2]);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], "tail", 4), JZX_OK);
    expect_pile(ctx, pair[1], LONG);
    expect_text(ctx, pair[1], "headwholetail");
    expect_result(ctx, op, JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, ids[1], JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(writers[1].done, 1);
    finished++;
}

JZX_TEST(a_fiber_cancelled_in_line_has_written_nothing_and_the_others_go_on) {
    run_fiber(cancel_in_line);
}
