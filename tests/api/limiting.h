/* SPDX-License-Identifier: MIT */
/* What the tests of limits share: calls with one length or count each, tried at their limit, beyond
 * it, and near SIZE_MAX, where a sum of sizes would wrap round. */
#ifndef JZX_API_LIMITING_H
#define JZX_API_LIMITING_H

#include "fixture.h"

#include <jzx/fiber.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The largest block that the loop gets: lengths at their limit cost nothing. */
#define LARGEST ((size_t)1 << 24)

/* Lengths below SIZE_MAX that are tried: more than any record that a length is added to. */
#define WRAPS 600u

struct limit {
    const char *name;
    jzx_err (*call)(size_t size);
    size_t max;   /* the largest that is in range */
    bool is_read; /* the data would be read, and there are not so many: not tried at the limit */
    jzx_err err;  /* beyond the limit; JZX_OK: JZX_ERR_INVALID_ARG */
};

#define LIMITS(array) (array), sizeof(array) / sizeof((array)[0])

static jzx_loop *loop;
static jzx_context *turn;
static jzx_actor_id other;
static char bytes[256];

static void *limited_alloc(void *arg, size_t size) {
    const jzx_allocator hooks = fixture_allocator();
    (void)arg;
    return size > LARGEST ? NULL : hooks.alloc(hooks.ctx, size);
}

static void limited_free(void *arg, void *ptr, size_t size) {
    const jzx_allocator hooks = fixture_allocator();
    (void)arg;
    hooks.free(hooks.ctx, ptr, size);
}

static const jzx_allocator limited = {limited_alloc, limited_free, NULL};

static inline jzx_err or_no_memory(const void *block) {
    return block == NULL ? JZX_ERR_NO_MEMORY : JZX_OK;
}

/* A future that is not to be; the call has not given one unless it says JZX_OK. */
static inline jzx_err let_go(jzx_err err, jzx_future *const *future) {
    if (err == JZX_OK)
        jzx_future_release(*future);
    return err;
}

static inline void expect_refusal(const struct limit *limit, size_t size) {
    const jzx_err expected = limit->err == JZX_OK ? JZX_ERR_INVALID_ARG : limit->err;
    if (!JZX_EXPECT_EQ(limit->call(size), expected))
        printf("%s with %zu\n", limit->name, size);
}

static inline void check_limit(const struct limit *limit) {
    if (!limit->is_read && !JZX_EXPECT(limit->call(limit->max) != JZX_ERR_INVALID_ARG))
        printf("%s with %zu\n", limit->name, limit->max);
    for (size_t back = 0; back < WRAPS && SIZE_MAX - back > limit->max; back++)
        expect_refusal(limit, SIZE_MAX - back);
    if (limit->max < SIZE_MAX / 2 + 1) {
        expect_refusal(limit, SIZE_MAX / 2 + 1);
        expect_refusal(limit, limit->max + 1);
    }
    if (limit->max < SIZE_MAX / 2)
        expect_refusal(limit, SIZE_MAX / 2);
}

struct limits {
    const struct limit *first;
    size_t count;
    void (*open)(void); /* or NULL, as the next */
    void (*close)(void);
};

static inline void try_limits(jzx_context *ctx) {
    const struct limits *limits = ctx->state;
    turn = ctx;
    jzx_test_ran();
    if (limits->open != NULL)
        limits->open();
    for (size_t i = 0; i < limits->count; i++)
        check_limit(&limits->first[i]);
    if (limits->close != NULL)
        limits->close();
}

static inline jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    return JZX_BEHAVIOR_OK;
}

/* Tries them in a fiber, whose loop gets no large block. */
static inline void check_limits_between(const struct limit *first, size_t count, void (*open)(void),
                                        void (*close)(void)) {
    struct limits limits = {first, count, open, close};
    loop = jzx_loop_create(
        &JZX_CONFIG(.workers = 1, .allocator = limited, .log = {.level = JZX_LOG_OFF}));
    assert_non_null(loop);
    other = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore, .daemon = true));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = try_limits, .state = &limits));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

static inline void check_limits(const struct limit *first, size_t count, void (*open)(void)) {
    check_limits_between(first, count, open, NULL);
}

#endif
