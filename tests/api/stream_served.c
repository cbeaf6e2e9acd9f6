/* SPDX-License-Identifier: MIT */
/* A fiber that reads is served by the event that makes its stream ready: the bytes are in its
 * buffer before it runs. If it is killed in between, they belong to the stream again. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/unix.h>

#include <string.h>
#include <unistd.h>

enum { EVENT = 1, KILLED };

static struct {
    jzx_stream pair[2];
    int pipe[2];
    jzx_actor_id boss;
    jzx_actor_id reader;
    bool exactly;
    char read_by_reader[8];
    char read_by_boss[8];
    jzx_err second_read; /* between the service and the end of the reader */
} scene;

static void read_and_note(jzx_context *ctx) {
    jzx_stream stream = scene.pair[1];
    size_t len = 6;
    jzx_err err = scene.exactly
                      ? jzx_stream_read_exact(ctx, stream, scene.read_by_reader, 6, JZX_NEVER)
                      : jzx_stream_read(ctx, stream, scene.read_by_reader, 6, JZX_NEVER, &len);
    JZX_EXPECT_EQ(err, JZX_OK);
    jzx_test_ran();
}

/* Its event comes in the same poll as the bytes, and it goes first. */
static jzx_behavior_result kill_reader(jzx_context *ctx, const jzx_message *msg) {
    char byte;
    if (msg->tag != EVENT)
        return JZX_BEHAVIOR_OK;
    JZX_EXPECT_EQ(read(scene.pipe[0], &byte, 1), 1);
    scene.second_read = jzx_stream_read_to(ctx, scene.pair[1], 6, KILLED, NULL);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, scene.reader, JZX_STOP_KILL), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, scene.boss, ctx->self, NULL, 0, KILLED), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

static void boss(jzx_context *ctx) {
    const jzx_spawn_opts killer =
        JZX_SPAWN_OPTS(.behavior = kill_reader, .priority = JZX_PRIORITY_CRITICAL);
    jzx_actor_id id;
    jzx_message msg;
    scene.boss = ctx->self;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, scene.pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = read_and_note), &scene.reader),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &killer, &id), JZX_OK);
    JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, scene.pipe[0], id, JZX_IO_READ, EVENT), JZX_OK);
    jzx_stream_info info = {.size = sizeof info};
    while (!info.is_reading) {
        (void)jzx_yield(ctx);
        JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, scene.pair[1], &info), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_stream_send(ctx, scene.pair[0], "abcdef", 6), JZX_OK);
    JZX_EXPECT_EQ(write(scene.pipe[1], "x", 1), 1);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, KILLED, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, scene.pair[0], "g", 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, scene.pair[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, scene.pair[1], scene.read_by_boss, 7, JZX_NEVER),
                  JZX_OK);
}

static void check(bool exactly) {
    memset(&scene, 0, sizeof scene);
    scene.exactly = exactly;
    assert_int_equal(pipe(scene.pipe), 0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = boss));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    close(scene.pipe[0]);
    close(scene.pipe[1]);
    assert_int_equal(jzx_test_runs(), 0); /* the reader never went on */
    assert_int_equal(scene.second_read, JZX_ERR_BUSY);
    assert_string_equal(scene.read_by_reader, "abcdef"); /* it had been served */
    assert_string_equal(scene.read_by_boss, "abcdefg");
}

JZX_TEST(bytes_read_for_a_fiber_that_is_killed_belong_to_the_stream_again, "C+inv", "E+sem") {
    check(false);
}

JZX_TEST(bytes_read_exactly_for_a_fiber_that_is_killed_belong_to_the_stream_again, "C+inv") {
    check(true);
}
