/* SPDX-License-Identifier: MIT */
/* Fibers that await a descriptor and write down how that ended. The scene (watching_fd.h) has a
 * loop on a clock that stands still, and a pipe. */
#ifndef JZX_API_AWAITING_FD_H
#define JZX_API_AWAITING_FD_H

#include "watching_fd.h"

#include <jzx/fiber.h>
#include <jzx/io.h>

#include <errno.h>

#define UNTOUCHED 0xFFu

/* The state of a fiber that awaits a descriptor, once or several times. */
struct party {
    int fd;
    uint32_t interest;
    uint64_t deadline_ns;
    uint32_t times; /* 0: once */
    uint32_t ended; /* waits that are over; of the last: */
    uint32_t ready; /* UNTOUCHED if it failed */
    jzx_err err;
    int os_error;
    uint64_t at_ns;
    bool reads; /* a byte after each that succeeds */
    bool is_cleaned;
    jzx_exit_reason reason;
};

static inline void note_party(jzx_context *ctx, jzx_exit_reason reason) {
    struct party *self = ctx->state;
    self->is_cleaned = true;
    self->reason = reason;
}

static inline void await_fd(jzx_context *ctx) {
    struct party *self = ctx->state;
    char byte;
    jzx_test_ran();
    do {
        uint32_t ready = UNTOUCHED;
        self->err = jzx_fd_await(ctx, self->fd, self->interest, self->deadline_ns, &ready);
        self->os_error = jzx_last_os_error(ctx);
        self->ready = ready;
        self->at_ns = jzx_loop_now(ctx->loop);
        if (self->reads && self->err == JZX_OK)
            JZX_EXPECT_EQ(read(self->fd, &byte, 1), 1);
        self->ended++;
    } while (self->err == JZX_OK && self->ended < self->times);
}

static inline jzx_actor_id spawn_party(const struct scene *scene, struct party *party) {
    return fixture_spawn(scene->loop,
                         &JZX_SPAWN_OPTS(.fiber = await_fd, .state = party, .cleanup = note_party));
}

static inline void expect_ready(const struct party *party, uint32_t ready) {
    JZX_EXPECT_EQ(party->ended, 1);
    JZX_EXPECT_EQ(party->err, JZX_OK);
    JZX_EXPECT_EQ(party->ready, ready);
}

static inline void expect_failed(const struct party *party, jzx_err err) {
    JZX_EXPECT_EQ(party->ended, 1);
    JZX_EXPECT_EQ(party->err, err);
    JZX_EXPECT_EQ(party->ready, UNTOUCHED);
}

static inline void advance(const struct scene *scene, uint64_t duration_ns) {
    JZX_EXPECT_EQ(jzx_clock_advance(scene->clock, duration_ns), JZX_OK);
    step(scene);
}

#endif
