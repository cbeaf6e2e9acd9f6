/* SPDX-License-Identifier: MIT */
/* A process for tests of sockets and files: it writes down how its commands complete, and does what
 * the test has planned. */
#ifndef JZX_API_SCRIPTING_H
#define JZX_API_SCRIPTING_H

#include "descriptors.h"
#include "fixture.h"

#include <jzx/process_io.h>

#include <stdio.h>
#include <string.h>

#define SEEN_MAX 64u

struct seen {
    uint64_t tag;
    jzx_err error;
    size_t len;
    char bytes[48];
};

struct script;

/* What the process does in a step, after its events were written down. */
typedef jzx_err (*script_fn)(jzx_context *ctx, struct script *script, jzx_step_out *out);

struct script {
    script_fn plan;
    struct seen seen[SEEN_MAX]; /* completions */
    uint32_t count;
    uint32_t messages; /* other events */
    uint32_t steps;
    uint32_t closes;
    jzx_listener listener;
    jzx_stream pairs[3][2];
    uint32_t numbers[4]; /* the plan's own */
};

static inline jzx_err script_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                                  jzx_step_out *out) {
    struct script *script = ctx->state;
    jzx_test_ran();
    script->steps++;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind != JZX_PROCESS_YIELD_COMPLETE) {
            script->messages++;
            continue;
        }
        struct seen seen = {.tag = events[i].tag, .error = events[i].error, .len = events[i].len};
        JZX_EXPECT_EQ(events[i].data == NULL, events[i].len == 0);
        JZX_EXPECT_EQ((uintptr_t)events[i].data % 16, 0);
        if (seen.len != 0)
            memcpy(seen.bytes, events[i].data,
                   seen.len < sizeof seen.bytes ? seen.len : sizeof seen.bytes);
        if (JZX_EXPECT(script->count < SEEN_MAX))
            script->seen[script->count++] = seen;
    }
    return script->plan(ctx, script, out);
}

static inline void script_close(jzx_context *ctx) {
    struct script *script = ctx->state;
    script->closes++;
}

static const jzx_process_ops script_ops = {
    .size = sizeof script_ops, .step = script_step, .close = script_close};

/* Runs a loop with that process until it has ended; nothing is left. */
static inline void run_script(struct script *script) {
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(NULL);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &script_ops, .state = script));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(script->closes, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

static inline void expect_seen(const struct script *script, uint32_t i, uint64_t tag, jzx_err error,
                               const char *text) {
    if (!JZX_EXPECT(i < script->count))
        return;
    const struct seen *seen = &script->seen[i];
    JZX_EXPECT_EQ(seen->tag, tag);
    JZX_EXPECT_EQ(seen->error, error);
    if (JZX_EXPECT_EQ(seen->len, strlen(text)))
        JZX_EXPECT(memcmp(seen->bytes, text, strlen(text)) == 0);
}

static inline uint64_t handle_of(const struct seen *seen) {
    uint64_t handle = 0;
    if (JZX_EXPECT_EQ(seen->error, JZX_OK) && JZX_EXPECT_EQ(seen->len, sizeof handle))
        memcpy(&handle, seen->bytes, sizeof handle);
    return handle;
}

#endif
