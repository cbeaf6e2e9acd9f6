/* SPDX-License-Identifier: MIT */
/* Readers of one stream are killed at any moment, one after the other, while bytes come: the next
 * reader goes on behind the last byte that was returned. */
#include "fixture.h"

#include <jzx/unix.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READERS = 40, CHUNK_MAX = 8, TOTAL_MAX = 4 * READERS * CHUNK_MAX };

static struct {
    uint32_t round;
    uint16_t place; /* of the readers; the stream is at home where its owner is, on worker 0 */
    jzx_stream pair[2];
    int pipe[2];
    uint32_t sent;
    unsigned char got[TOTAL_MAX];
    uint32_t have; /* a reader writes these two in its own turn, and readers do not overlap */
} scene;

static void read_on(jzx_context *ctx) {
    unsigned char buffer[64];
    size_t wanted = 1 + (size_t)(scene.round * 7) % 50;
    size_t len;
    jzx_err err;
    while ((err = jzx_stream_read(ctx, scene.pair[1], buffer, wanted, JZX_NEVER, &len)) == JZX_OK) {
        if (scene.have + len <= sizeof scene.got)
            memcpy(scene.got + scene.have, buffer, len);
        scene.have += (uint32_t)len;
    }
    JZX_EXPECT(err == JZX_ERR_END || err == JZX_ERR_CANCELLED);
}

static unsigned char byte_at(uint32_t place) {
    return (unsigned char)(place % 251);
}

static void send_some(jzx_context *ctx, unsigned *seed) {
    unsigned char bytes[CHUNK_MAX];
    uint32_t count = 1 + (uint32_t)rand_r(seed) % CHUNK_MAX;
    for (uint32_t k = 0; k < count; k++)
        bytes[k] = byte_at(scene.sent + k);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, scene.pair[0], bytes, count), JZX_OK);
    scene.sent += count;
}

static jzx_actor_id spawn_reader(jzx_context *ctx) {
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(
        jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = read_on, .place = scene.place), &id), JZX_OK);
    return id;
}

/* Waits for an event that comes in the same poll as the last bytes, and kills the reader. */
static void kill_beside_bytes(jzx_context *ctx, jzx_actor_id reader, unsigned *seed) {
    jzx_message msg;
    char byte;
    for (int k = rand_r(seed) % 4; k > 0; k--) {
        send_some(ctx, seed);
        (void)jzx_yield(ctx);
    }
    send_some(ctx, seed);
    JZX_EXPECT_EQ(write(scene.pipe[1], "x", 1), 1);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(read(scene.pipe[0], &byte, 1), 1);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, reader, JZX_STOP_KILL), JZX_OK);
    (void)jzx_join(ctx, reader, JZX_NEVER, NULL);
}

static void boss(jzx_context *ctx) {
    unsigned seed = scene.round;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, scene.pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, scene.pipe[0], ctx->self, JZX_IO_READ, 1), JZX_OK);
    for (int i = 0; i < READERS; i++)
        kill_beside_bytes(ctx, spawn_reader(ctx), &seed);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, scene.pair[0]), JZX_OK);
    (void)jzx_join(ctx, spawn_reader(ctx), JZX_NEVER, NULL);
    JZX_EXPECT_EQ(scene.have, scene.sent);
    for (uint32_t i = 0; i < scene.sent && scene.have == scene.sent; i++)
        JZX_EXPECT_EQ(scene.got[i], byte_at(i));
    jzx_test_ran();
}

static void run_round(uint32_t round, uint32_t workers) {
    memset(&scene, 0, sizeof scene);
    scene.round = round;
    scene.place = (uint16_t)JZX_PLACE_WORKER(workers - 1);
    assert_int_equal(pipe(scene.pipe), 0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = boss, .place = (uint16_t)JZX_PLACE_WORKER(0),
                                        .priority = JZX_PRIORITY_CRITICAL));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    close(scene.pipe[0]);
    close(scene.pipe[1]);
}

JZX_TEST(readers_that_are_killed_lose_and_double_no_byte) {
    uint32_t rounds = (uint32_t)jzx_test_rounds(100, 3000);
    for (uint32_t round = 0; round < rounds; round++)
        run_round(round, 1 + round % 2);
    assert_int_equal(jzx_test_runs(), rounds);
}
