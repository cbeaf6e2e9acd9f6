/* SPDX-License-Identifier: MIT */
/* What the tests of subprocesses share: a fiber that starts programs, and a look for processes,
 * descriptors and memory that were left. Only /bin/sh, cat, sleep, true and false are needed. */
#ifndef JZX_API_SUBPROCESSING_H
#define JZX_API_SUBPROCESSING_H

#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/subprocess.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int descriptors_before;

/* No child of this process is left, neither running nor as a zombie. */
static inline void expect_no_children(void) {
    siginfo_t info;
    errno = 0;
    JZX_EXPECT_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
    JZX_EXPECT_EQ(errno, ECHILD);
}

static inline void children_open(void) {
    expect_no_children();
    descriptors_before = descriptors_open();
}

/* The loop is gone: so is all that was started. */
static inline void children_close(void) {
    expect_no_children();
    JZX_EXPECT_EQ(descriptors_open(), descriptors_before);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* Runs a fiber to its end. */
static inline void in_a_fiber_with(jzx_fiber_fn fn, void *state, const jzx_config *config) {
    children_open();
    jzx_loop *loop = fixture_loop_with(config);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn, .state = state));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
    children_close();
}

static inline void in_a_fiber(jzx_fiber_fn fn, void *state) {
    in_a_fiber_with(fn, state, &JZX_CONFIG(.workers = 1));
}

/* ---- programs ---- */

#define STREAM                                                                                     \
    { .kind = JZX_STDIO_STREAM }

/* argv of a shell that runs a script; one at a time. Not inlined: a caller that waits may be on
 * another thread the next time. */
static __attribute__((noinline, unused)) const char *const *shell(const char *script) {
    static _Thread_local const char *argv[4] = {"/bin/sh", "-c"};
    argv[2] = script;
    return argv;
}

/* Starts it, or fails the test. */
static inline jzx_subprocess start(jzx_context *ctx, const jzx_subprocess_opts *opts) {
    jzx_subprocess child = JZX_NO_SUBPROCESS;
    JZX_EXPECT_EQ(jzx_subprocess_spawn(ctx, opts, JZX_NEVER, &child), JZX_OK);
    return child;
}

static inline jzx_stream stream_of(jzx_context *ctx, jzx_subprocess child, uint32_t which) {
    jzx_stream stream = JZX_NO_STREAM;
    JZX_EXPECT_EQ(jzx_subprocess_stream(ctx->loop, child, which, &stream), JZX_OK);
    return stream;
}

#define TEXT_SIZE 4096u

/* Up to the end of the stream. The text is the actor's. */
static inline const char *read_all(jzx_context *ctx, jzx_stream stream) {
    char *text = jzx_alloc(ctx, TEXT_SIZE);
    size_t all = 0;
    size_t len;
    jzx_err err;
    if (!JZX_EXPECT(text != NULL))
        return "";
    while ((err = jzx_stream_read(ctx, stream, text + all, TEXT_SIZE - 1 - all, JZX_NEVER, &len)) ==
           JZX_OK)
        all += len;
    JZX_EXPECT_EQ(err, JZX_ERR_END);
    text[all] = '\0';
    return text;
}

/* A line that the program has written: it is ready. */
static inline void read_line(jzx_context *ctx, jzx_stream stream) {
    char line[64];
    size_t len;
    JZX_EXPECT_EQ(jzx_stream_read_until(ctx, stream, '\n', line, sizeof line, JZX_NEVER, &len),
                  JZX_OK);
}

static inline void expect_end(jzx_context *ctx, jzx_subprocess child, jzx_subprocess_end end,
                              int code) {
    jzx_subprocess_status status = {.code = -1};
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, JZX_NEVER, &status), JZX_OK);
    JZX_EXPECT_EQ(status.end, end);
    JZX_EXPECT_EQ(status.code, code);
}

static inline int pid_of(jzx_loop *loop, jzx_subprocess child) {
    jzx_subprocess_info info = {.size = sizeof info};
    return jzx_subprocess_info_get(loop, child, &info) == JZX_OK ? info.pid : -1;
}

#endif
