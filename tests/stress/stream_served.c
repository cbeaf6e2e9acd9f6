/* SPDX-License-Identifier: MIT */
/* Readers of one stream are killed at any moment, one after the other, while bytes come: the next
 * reader goes on behind the last byte that was returned. */
#include "fixture.h"

#include <jzx/unix.h>

#include <stdlib.h>
#include <string.h>

enum { TOTAL = 3000, READERS = 40, CHUNK_MAX = 8 };

static struct {
    uint32_t round;
    jzx_stream pair[2];
    unsigned char got[TOTAL + 64];
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

static void write_all(jzx_context *ctx) {
    unsigned seed = scene.round;
    unsigned char bytes[CHUNK_MAX];
    for (uint32_t i = 0; i < TOTAL;) {
        uint32_t count = 1 + (uint32_t)rand_r(&seed) % CHUNK_MAX;
        if (count > TOTAL - i)
            count = TOTAL - i;
        for (uint32_t k = 0; k < count; k++)
            bytes[k] = byte_at(i + k);
        JZX_EXPECT_EQ(jzx_stream_write(ctx, scene.pair[0], bytes, count, JZX_NEVER), JZX_OK);
        i += count;
        if (rand_r(&seed) % 3 == 0)
            (void)jzx_yield(ctx);
    }
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, scene.pair[0]), JZX_OK);
}

static void boss(jzx_context *ctx) {
    unsigned seed = scene.round;
    jzx_actor_id id;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, scene.pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = write_all), &id), JZX_OK);
    for (int i = 0; i < READERS; i++) {
        JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = read_on), &id), JZX_OK);
        for (int k = rand_r(&seed) % 12; k > 0; k--)
            (void)jzx_yield(ctx);
        if (i != READERS - 1)
            (void)jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL); /* or it has read all */
        (void)jzx_join(ctx, id, JZX_NEVER, NULL);
    }
    JZX_EXPECT_EQ(scene.have, TOTAL);
    for (uint32_t i = 0; i < TOTAL && scene.have == TOTAL; i++)
        JZX_EXPECT_EQ(scene.got[i], byte_at(i));
    jzx_test_ran();
}

static void run_round(uint32_t round, uint32_t workers) {
    memset(&scene, 0, sizeof scene);
    scene.round = round;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = boss));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}

JZX_TEST(readers_that_are_killed_lose_and_double_no_byte) {
    uint32_t rounds = (uint32_t)jzx_test_rounds(100, 3000);
    for (uint32_t round = 0; round < rounds; round++)
        run_round(round, 1 + round % 2);
    assert_int_equal(jzx_test_runs(), rounds);
}
