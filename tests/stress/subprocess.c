/* SPDX-License-Identifier: MIT */
/* A storm: actors on several workers start programs, stop, kill, close, give away and wait for
 * them, and are killed themselves meanwhile. No process, no zombie and no descriptor is left, and
 * no status is anybody else's. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/subprocess.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>

#define PARTIES 6u

struct party {
    uint64_t random;
    uint32_t index;
    uint32_t left; /* programs to start */
};

static struct party parties[PARTIES];
static _Atomic jzx_actor_id fibers[PARTIES];
static atomic_uint over;
static atomic_uint started;

static uint32_t draw(struct party *self, uint32_t below) {
    self->random = self->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(self->random >> 33) % below;
}

static void check(jzx_context *ctx, jzx_subprocess child, int code) {
    jzx_subprocess_status status = {.code = -1};
    if (JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, JZX_NEVER, &status), JZX_OK))
        JZX_EXPECT(status.end == JZX_SUBPROCESS_EXITED && status.code == code);
    JZX_EXPECT_EQ(jzx_subprocess_close(ctx->loop, child), JZX_OK);
}

static void end_it(jzx_context *ctx, struct party *self, jzx_subprocess child, int code) {
    jzx_actor_id to = atomic_load(&fibers[draw(self, PARTIES)]);
    jzx_subprocess_status status;
    switch (draw(self, 6)) {
    case 0: JZX_EXPECT_EQ(jzx_subprocess_close(ctx->loop, child), JZX_OK); break;
    case 1: (void)jzx_subprocess_give(ctx, child, to); break;
    case 2:
        JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, child, 0, jzx_in(ctx, JZX_MS(1)), &status), JZX_OK);
        break;
    case 3: (void)jzx_subprocess_signal(ctx->loop, child, SIGKILL); break; /* until the end */
    default: check(ctx, child, code); break;
    }
}

static void play(jzx_context *ctx) {
    struct party *self = ctx->state;
    while (self->left != 0) {
        char script[32];
        const char *const argv[] = {"/bin/sh", "-c", script, NULL};
        int code = (int)draw(self, 256);
        jzx_subprocess child;
        self->left--;
        snprintf(script, sizeof script, "exit %d", code);
        jzx_err err = jzx_subprocess_spawn(
            ctx,
            &JZX_SUBPROCESS_OPTS(.argv = argv,
                                 .input = {.kind = draw(self, 2) ? JZX_STDIO_STREAM : 0},
                                 .output = {.kind = JZX_STDIO_STREAM}, .grace_ns = JZX_MS(1)),
            JZX_NEVER, &child);
        if (JZX_EXPECT_EQ(err, JZX_OK)) {
            atomic_fetch_add(&started, 1);
            end_it(ctx, self, child, code);
        }
        if (draw(self, 8) == 0)
            jzx_exit(ctx, JZX_EXIT_FAIL, "on purpose");
    }
}

static bool is_alive(jzx_loop *loop, jzx_actor_id id) {
    jzx_actor_info info = {.size = sizeof info};
    return jzx_actor_info_get(loop, id, &info) == JZX_OK;
}

/* Another takes the place of one that has ended, until all programs were started; and some are
 * killed wherever they are. */
static void direct(jzx_context *ctx) {
    struct party own = {.random = 4711, .left = parties[0].left};
    bool goes_on = true;
    while (goes_on) {
        goes_on = false;
        for (uint32_t i = 0; i < PARTIES; i++) {
            jzx_actor_id id = atomic_load(&fibers[i]);
            if (is_alive(ctx->loop, id)) {
                goes_on = true;
                if (own.left != 0 && draw(&own, 16) == 0) {
                    own.left--;
                    (void)jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL);
                }
            } else if (parties[i].left != 0) {
                goes_on = true;
                JZX_EXPECT_EQ(
                    jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = play, .state = &parties[i]), &id),
                    JZX_OK);
                atomic_store(&fibers[i], id);
            }
        }
        (void)jzx_sleep(ctx, jzx_in(ctx, JZX_MS(2)));
    }
    atomic_fetch_add(&over, 1);
}

JZX_TEST(a_storm_of_subprocesses_leaves_nothing, "C+goal", "C+fail") {
    siginfo_t info;
    int before = descriptors_open();
    uint32_t rounds = (uint32_t)jzx_test_rounds(40, 1000);
    atomic_store(&over, 0);
    atomic_store(&started, 0);
    for (uint32_t i = 0; i < PARTIES; i++) {
        parties[i] = (struct party){.random = i + 1, .index = i, .left = rounds};
        atomic_store(&fibers[i], JZX_NOBODY);
    }
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 3));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = direct));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    assert_int_equal(atomic_load(&over), 1);
    /* Each kill has cut one start short at most. */
    JZX_EXPECT(atomic_load(&started) >= (PARTIES - 1) * rounds);
    JZX_EXPECT(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == -1 && errno == ECHILD);
    JZX_EXPECT_EQ(descriptors_open(), before);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}
