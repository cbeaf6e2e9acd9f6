/* SPDX-License-Identifier: MIT */
/* What the tests of fibers share: a life that is written down, and loops on a manual clock. */
#ifndef JZX_API_FIBERING_H
#define JZX_API_FIBERING_H

#include "timing.h"

#include <jzx/fiber.h>

#include <stdio.h>

#define LIFE_TAGS 256u

/* The state of a fiber. */
struct life {
    uint32_t begun;    /* calls of its function */
    uint32_t finished; /* times that the function came to its last line */
    uint32_t cleaned;
    jzx_exit_reason reason; /* of the cleanup */
    uint32_t tags[LIFE_TAGS];
    uint32_t count;
    jzx_actor_id other; /* whom it talks to */
    jzx_err err;        /* of the last wait */
    uint64_t woken_ns;  /* when that returned */
};

static inline void note_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct life *life = ctx->state;
    life->cleaned++;
    life->reason = reason;
}

static inline void note_tag(struct life *life, uint32_t tag) {
    if (JZX_EXPECT(life->count < LIFE_TAGS))
        life->tags[life->count++] = tag;
}

static inline jzx_actor_id spawn_fiber(jzx_loop *loop, jzx_fiber_fn fn, struct life *life) {
    return fixture_spawn(loop,
                         &JZX_SPAWN_OPTS(.fiber = fn, .state = life, .cleanup = note_cleanup));
}

static inline jzx_actor_id timing_fiber(const struct timing *timing, jzx_fiber_fn fn,
                                        struct life *life) {
    jzx_actor_id id = spawn_fiber(timing->loop, fn, life);
    timing_step(timing);
    return id;
}

static inline void send_number(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, uint64_t number,
                               uint32_t tag) {
    JZX_EXPECT_EQ(jzx_send(loop, to, from, &number, sizeof number, tag), JZX_OK);
}

static inline uint64_t number_of(const jzx_message *msg) {
    uint64_t number = 0;
    if (JZX_EXPECT_EQ(msg->len, sizeof number))
        memcpy(&number, msg->data, sizeof number);
    return number;
}

/* The next message has that tag. */
static inline void expect_next(jzx_context *ctx, uint32_t tag) {
    jzx_message msg;
    if (JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK))
        JZX_EXPECT_EQ(msg.tag, tag);
}

static inline jzx_actor_info info_of(jzx_loop *loop, jzx_actor_id id) {
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(loop, id, &info), JZX_OK);
    return info;
}

static inline void expect_ended(const struct life *life, jzx_exit_reason reason) {
    JZX_EXPECT_EQ(life->cleaned, 1);
    JZX_EXPECT_EQ(life->reason, reason);
}

static inline void expect_life_tags(const struct life *life, uint32_t count, const uint32_t *tags) {
    JZX_EXPECT_EQ(life->count, count);
    for (uint32_t i = 0; i < count && i < life->count; i++)
        JZX_EXPECT_EQ(life->tags[i], tags[i]);
}

/* Writes down what comes, and ends at tag 0. */
static inline void keep_life(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->begun++;
    while (JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK) && msg.tag != 0)
        note_tag(life, msg.tag);
    life->finished++;
}

#endif
