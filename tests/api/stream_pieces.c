/* SPDX-License-Identifier: MIT */
/* Writes of several pieces, of moved buffers and of files; listeners that change owners; and the
 * refusals of stopped loops and ending actors. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/unix.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DONE = 7, GO };

#define LONG ((size_t)1 << 20)

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
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

static void expect_same(jzx_context *ctx, jzx_stream stream, const char *data, size_t len) {
    static char buf[LONG];
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, stream, buf, len, JZX_NEVER), JZX_OK);
    JZX_EXPECT(memcmp(buf, data, len) == 0);
}

/* ---- pieces ---- */

/* The parts have unequal lengths, some of them 0, and make up the pile. */
static void cut(struct iovec parts[JZX_STREAM_PARTS_MAX]) {
    size_t at = 0;
    for (size_t i = 0; i < JZX_STREAM_PARTS_MAX; i++) {
        bool is_last = i + 1 == JZX_STREAM_PARTS_MAX;
        size_t len = is_last ? LONG - at : i % 5 == 0 ? 0 : i * 500 + 1;
        parts[i] = (struct iovec){.iov_base = len == 0 ? NULL : pile + at, .iov_len = len};
        at += len;
    }
}

static void write_parts(jzx_context *ctx) {
    const jzx_stream *stream = ctx->state;
    struct iovec parts[JZX_STREAM_PARTS_MAX];
    struct iovec same[JZX_STREAM_PARTS_MAX];
    cut(parts);
    memcpy(same, parts, sizeof same);
    JZX_EXPECT_EQ(jzx_stream_writev(ctx, *stream, parts, JZX_STREAM_PARTS_MAX, JZX_NEVER), JZX_OK);
    JZX_EXPECT(memcmp(same, parts, sizeof same) == 0); /* they are the caller's */
    finished++;
}

static void write_in_pieces(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_message msg;
    struct iovec parts[JZX_STREAM_PARTS_MAX + 1] = {{NULL, 0}};
    jzx_op op;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = write_parts, .state = &pair[0]));
    expect_same(ctx, pair[1], pile, LONG);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    cut(parts);
    JZX_EXPECT_EQ(jzx_stream_writev_to(ctx, pair[0], parts, JZX_STREAM_PARTS_MAX, DONE, &op),
                  JZX_OK);
    memset(parts, 0, sizeof parts); /* they were copied */
    expect_same(ctx, pair[1], pile, LONG);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(((const jzx_result *)msg.data)->err, JZX_OK);
    size_t most = JZX_STREAM_PARTS_MAX;
    JZX_EXPECT_EQ(jzx_stream_writev(ctx, pair[0], parts, most, JZX_NEVER), JZX_OK); /* nothing */
    JZX_EXPECT_EQ(jzx_stream_writev(ctx, pair[0], NULL, 0, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_writev(ctx, pair[0], NULL, 1, JZX_NEVER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_stream_writev(ctx, pair[0], parts, most + 1, JZX_NEVER), JZX_ERR_INVALID_ARG);
    parts[3].iov_len = 1; /* of NULL */
    JZX_EXPECT_EQ(jzx_stream_writev(ctx, pair[0], parts, most, JZX_NEVER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], "end", 3), JZX_OK);
    expect_same(ctx, pair[1], "end", 3);
}

JZX_TEST(many_pieces_arrive_as_one_and_stay_the_callers) {
    run_fiber(write_in_pieces);
}

/* ---- buffers that are moved ---- */

static unsigned destroyed;

static void note_end(void *data, size_t len) {
    (void)data;
    JZX_EXPECT_EQ(len, LONG);
    destroyed++;
}

static char *make_buffer(jzx_context *ctx) {
    char *data = jzx_msg_alloc(ctx->loop, LONG, note_end);
    memcpy(data, pile, LONG);
    return data;
}

static void move_buffers(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_message msg;
    jzx_op op;
    destroyed = 0;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send_msg(ctx, pair[0], make_buffer(ctx)), JZX_OK);
    JZX_EXPECT_EQ(destroyed, 0); /* a part waits */
    char *refused = make_buffer(ctx);
    JZX_EXPECT_EQ(jzx_stream_send_msg(ctx, pair[0], refused), JZX_ERR_FULL);
    JZX_EXPECT_EQ(jzx_stream_write_msg_to(ctx, pair[0], refused, DONE, &op), JZX_ERR_FULL);
    JZX_EXPECT_EQ(destroyed, 0);
    expect_same(ctx, pair[1], pile, LONG);
    JZX_EXPECT_EQ(destroyed, 1);
    JZX_EXPECT_EQ(jzx_stream_write_msg_to(ctx, pair[0], refused, DONE, &op), JZX_OK);
    expect_same(ctx, pair[1], pile, LONG);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(((const jzx_result *)msg.data)->err, JZX_OK);
    JZX_EXPECT_EQ(destroyed, 2);
    /* After a refusal the caller still has its reference, and frees it once. */
    char *shared = jzx_msg_share(ctx->loop, make_buffer(ctx));
    JZX_EXPECT_EQ(jzx_stream_send_msg(ctx, pair[0], shared), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_stream_write_msg_to(ctx, pair[0], shared, DONE, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(memcmp(shared, pile, LONG) == 0);
    jzx_msg_free(ctx->loop, shared);
    JZX_EXPECT_EQ(destroyed, 3);
    JZX_EXPECT_EQ(jzx_stream_send_msg(ctx, pair[0], NULL), JZX_ERR_INVALID_ARG);
    /* A close drops the queue. */
    JZX_EXPECT_EQ(jzx_stream_send_msg(ctx, pair[0], make_buffer(ctx)), JZX_OK);
    JZX_EXPECT_EQ(destroyed, 3);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[0]), JZX_OK);
    JZX_EXPECT_EQ(destroyed, 4);
    refused = make_buffer(ctx);
    JZX_EXPECT_EQ(jzx_stream_send_msg(ctx, pair[0], refused), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_stream_write_msg_to(ctx, pair[0], refused, DONE, &op), JZX_ERR_CLOSED);
    jzx_msg_free(ctx->loop, refused);
    JZX_EXPECT_EQ(destroyed, 5);
    finished++;
}

JZX_TEST(a_moved_buffer_is_the_streams_or_after_a_refusal_the_callers) {
    run_fiber(move_buffers);
}

/* ---- files ---- */

#define FILE_LEN 5000u

static void send_file(jzx_context *ctx) {
    jzx_stream pair[2];
    size_t sent = 99;
    int fd = memfd_create("pieces", MFD_CLOEXEC);
    JZX_EXPECT_EQ(write(fd, pile, FILE_LEN), FILE_LEN);
    JZX_EXPECT_EQ(lseek(fd, 17, SEEK_SET), 17);
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_sendfile(ctx, pair[0], fd, 100, 1000, JZX_NEVER, &sent), JZX_OK);
    JZX_EXPECT_EQ(sent, 1000);
    expect_same(ctx, pair[1], pile + 100, 1000);
    JZX_EXPECT_EQ(jzx_stream_sendfile(ctx, pair[0], fd, FILE_LEN - 10, 11, JZX_NEVER, &sent),
                  JZX_OK);
    JZX_EXPECT_EQ(sent, 10);
    expect_same(ctx, pair[1], pile + FILE_LEN - 10, 10);
    JZX_EXPECT_EQ(jzx_stream_sendfile(ctx, pair[0], fd, FILE_LEN, 1, JZX_NEVER, &sent), JZX_OK);
    JZX_EXPECT_EQ(sent, 0);
    JZX_EXPECT_EQ(jzx_stream_sendfile(ctx, pair[0], fd, 0, 0, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 17); /* its own place is as it was */
    sent = 99;
    JZX_EXPECT_EQ(jzx_stream_sendfile(ctx, pair[0], -1, 0, 1, JZX_NEVER, &sent),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_stream_sendfile(ctx, pair[0], fd, INT64_MAX, 1, JZX_NEVER, &sent),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(sent, 99);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], "end", 3), JZX_OK);
    expect_same(ctx, pair[1], "end", 3);
    close(fd);
    finished++;
}

JZX_TEST(a_file_is_sent_from_its_offset_as_far_as_it_goes) {
    run_fiber(send_file);
}

/* ---- a listener that is given away ---- */

static jzx_listener given;
static char path[64];

static void accept_as_heir(jzx_context *ctx) {
    jzx_message msg;
    jzx_stream stream;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, GO, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_unix_accept(ctx, given, JZX_NEVER, &stream), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, stream, "heir", 4, JZX_NEVER), JZX_OK);
}

static void give_listener(jzx_context *ctx) {
    jzx_stream stream;
    jzx_listener listener;
    snprintf(path, sizeof path, "/tmp/jzx_pieces_%d.sock", (int)getpid());
    jzx_actor_id heir = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = accept_as_heir));
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, path, NULL, &listener), JZX_OK);
    given = listener;
    JZX_EXPECT_EQ(jzx_stream_give(ctx, given, heir), JZX_ERR_CLOSED); /* it is no stream */
    JZX_EXPECT_EQ(jzx_listener_give(ctx, given, ctx->self), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_give(ctx, given, heir), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_give(ctx, given, heir), JZX_ERR_NOT_OWNER);
    fixture_send(ctx->loop, heir, GO);
    JZX_EXPECT_EQ(jzx_unix_connect(ctx, path, NULL, JZX_NEVER, &stream), JZX_OK);
    expect_same(ctx, stream, "heir", 4);
    JZX_EXPECT_EQ(jzx_join(ctx, heir, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, given), JZX_ERR_CLOSED); /* with its new owner */
    JZX_EXPECT_EQ(access(path, F_OK), -1);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, path, NULL, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_give(ctx, listener, heir), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, listener), JZX_OK); /* it is still the caller's */
    finished++;
}

JZX_TEST(a_listener_given_away_accepts_for_its_new_owner_and_ends_with_it) {
    run_fiber(give_listener);
}

/* ---- a loop that was stopped ---- */

static jzx_behavior_result open_too_late(jzx_context *ctx, const jzx_message *msg) {
    jzx_listener listener = 77;
    jzx_stream pair[2] = {77, 77};
    jzx_udp udp = 77;
    jzx_future *future = NULL;
    (void)msg;
    JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &listener), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, "@jzx-too-late", NULL, &listener), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.1:0", NULL, &udp), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_tcp_connect_to(ctx, "127.0.0.1:9", NULL, DONE, NULL), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_tcp_connect_async(ctx->loop, "127.0.0.1:9", NULL, ctx->self, &future),
                  JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT(listener == 77 && pair[0] == 77 && pair[1] == 77 && udp == 77 && future == NULL);
    finished++;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_loop_that_was_stopped_opens_no_socket) {
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    finished = 0;
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = open_too_late));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

/* An actor that works off its queue. */
static void open_while_ending(jzx_context *ctx) {
    jzx_listener listener;
    jzx_stream pair[2];
    jzx_udp udp;
    char buf[4];
    size_t len;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], buf, sizeof buf, JZX_NEVER, &len),
                  JZX_ERR_CANCELLED);
    int before = descriptors_open();
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &listener), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.1:0", NULL, &udp), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_tcp_connect_to(ctx, "127.0.0.1:9", NULL, DONE, NULL), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(descriptors_open(), before);
    finished++;
}

static void stop_opener(jzx_context *ctx) {
    jzx_actor_info info = {.size = sizeof info};
    jzx_actor_id id = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = open_while_ending));
    do {
        (void)jzx_yield(ctx);
        JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, id, &info), JZX_OK);
    } while (info.wait != JZX_WAIT_IO);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
}

JZX_TEST(an_actor_that_works_off_its_queue_opens_no_socket) {
    run_fiber(stop_opener);
}
