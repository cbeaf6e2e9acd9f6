/* SPDX-License-Identifier: MIT */
/* Messages that go to another worker, many in a row: their payloads and destructors arrive whole,
 * whatever the runtime notes in their blocks on the way. */
#include "fixture.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#define MANY 100u
#define LEN_MAX 64u

struct stream {
    jzx_actor_id to;
    size_t len;
    uint32_t refused;
    uint32_t received;
    atomic_uint released;
    sem_t begun; /* the second worker is held up, */
    sem_t over;  /* until all were sent */
};

static struct stream stream;

static void count_release(void *data, size_t len) {
    (void)data;
    JZX_EXPECT_EQ(len, stream.len);
    atomic_fetch_add(&stream.released, 1);
}

static void fill(unsigned char *data, uint32_t number) {
    memset(data, (int)(number * 7 + 1) & 0xFF, stream.len);
}

/* On the first worker: sends all of them in one turn, so that many wait in one inbox. */
static jzx_behavior_result pour(jzx_context *ctx, const jzx_message *msg) {
    bool with_destructor = msg->tag == 1;
    JZX_EXPECT_EQ(jzx_current_worker(), 0);
    sem_wait(&stream.begun);
    for (uint32_t i = 0; i < MANY; i++) {
        unsigned char data[LEN_MAX];
        fill(data, i);
        if (!with_destructor) {
            if (jzx_send(ctx->loop, stream.to, ctx->self, data, stream.len, i) != JZX_OK)
                stream.refused++;
            continue;
        }
        void *moved = jzx_msg_alloc(ctx->loop, stream.len, count_release);
        if (!JZX_EXPECT(moved != NULL))
            break;
        memcpy(moved, data, stream.len);
        if (jzx_send_msg(ctx->loop, stream.to, ctx->self, moved, i) != JZX_OK) {
            stream.refused++;
            JZX_EXPECT(memcmp(moved, data, stream.len) == 0); /* still whole, and ours */
            jzx_msg_free(ctx->loop, moved);
        }
    }
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, stream.to, JZX_STOP_AFTER_QUEUE), JZX_OK);
    sem_post(&stream.over);
    return JZX_BEHAVIOR_STOP;
}

/* On the second worker: nobody takes anything in meanwhile. */
static jzx_behavior_result hold_up(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    sem_post(&stream.begun);
    sem_wait(&stream.over);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result catch_all(jzx_context *ctx, const jzx_message *msg) {
    unsigned char expected[LEN_MAX];
    (void)ctx;
    JZX_EXPECT_EQ(jzx_current_worker(), 1);
    JZX_EXPECT_EQ(msg->tag, stream.received++); /* those that are refused are the last */
    JZX_EXPECT_EQ(msg->len, stream.len);
    fill(expected, msg->tag);
    JZX_EXPECT(memcmp(msg->data, expected, stream.len) == 0);
    return JZX_BEHAVIOR_OK;
}

/* Of MANY messages with this bound; returns how many were refused. */
static uint32_t cross(size_t len, uint32_t cap, bool with_destructor) {
    memset(&stream, 0, sizeof stream);
    stream.len = len;
    sem_init(&stream.begun, 0, 0);
    sem_init(&stream.over, 0, 0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_NEVER));
    stream.to = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = catch_all, .mailbox_cap = cap,
                                                    .place = JZX_PLACE_WORKER(1)));
    jzx_actor_id source =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = pour, .place = JZX_PLACE_WORKER(0)));
    fixture_send(
        loop,
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = hold_up, .place = JZX_PLACE_WORKER(1))), 0);
    fixture_send(loop, source, with_destructor);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(atomic_load(&stream.released), with_destructor ? MANY : 0);
    JZX_EXPECT_EQ(stream.received, MANY - stream.refused);
    fixture_destroy(loop);
    sem_destroy(&stream.begun);
    sem_destroy(&stream.over);
    return stream.refused;
}

static const size_t lens[] = {0, 1, 8, 16, 23, 24, 25, 31, 32, 33, LEN_MAX};
#define LEN_COUNT (sizeof lens / sizeof lens[0])

JZX_TEST(many_payloads_in_a_row_arrive_whole, "X14") {
    for (size_t i = 0; i < LEN_COUNT; i++) {
        JZX_EXPECT_EQ(cross(lens[i], MANY, false), 0);
        JZX_EXPECT_EQ(cross(lens[i], MANY / 2, false), MANY / 2);
    }
}

JZX_TEST(a_destructor_crosses_with_its_message_and_runs_once, "X14", "C+msg") {
    for (size_t i = 0; i < LEN_COUNT; i++) {
        JZX_EXPECT_EQ(cross(lens[i], MANY, true), 0);
        JZX_EXPECT_EQ(cross(lens[i], MANY / 2, true), MANY / 2); /* the sender frees the others */
    }
}
