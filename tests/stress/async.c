/* SPDX-License-Identifier: MIT */
/* Threads that resolve what async functions await, cancel the functions, release their futures and
 * start others, while two workers run them: each function ends once, its future says what it came
 * to, and no memory is left. */
#include "fixture.h"

#include <jzx/async.h>
#include <jzx/future.h>
#include <jzx/scope.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define FUNCTIONS 300u
#define ROUNDS 4u
#define THREADS 4u

struct arena {
    jzx_loop *loop;
    jzx_promise *promises[FUNCTIONS];
    jzx_future *gates[FUNCTIONS];
    jzx_future *functions[FUNCTIONS];
    atomic_uint cleaned;
    atomic_uint values; /* what functions came to, as they see it themselves */
    atomic_uint errors;
    atomic_uint read_values; /* and as a thread reads it */
    atomic_uint read_errors;
    atomic_uint wrong;
};

/* ---- functions ---- */

struct inner {
    struct arena *arena;
    uint32_t index;
    jzx_await_op op;
    uint64_t value;
};

JZX_ASYNC(inner, struct inner, uint64_t) {
    JZX_YIELD();
    JZX_AWAIT(jzx_op_await(&self->op, self->arena->gates[self->index], JZX_NEVER), &self->value);
    JZX_RETURN(self->value);
}
JZX_END

/* One way to wait for another function, by its index: a call, a child, or a scope. */
struct outer {
    struct arena *arena;
    uint32_t index;
    struct inner_call call;
    jzx_await_op op;
    jzx_future *child;
    jzx_scope *scope;
    uint64_t value;
    jzx_err err;
};

static struct inner inner_of(const struct outer *self) {
    return (struct inner){.arena = self->arena, .index = self->index};
}

static void clean_outer(jzx_context *ctx, jzx_exit_reason reason) {
    struct outer *self = ctx->state;
    (void)reason;
    jzx_future_release(self->child);
    atomic_fetch_add(&self->arena->cleaned, 1);
}

static jzx_err open_scope(jzx_context *ctx, struct outer *self) {
    const struct inner inner = inner_of(self);
    jzx_err err = jzx_scope_open(ctx, JZX_NEVER, &self->scope);
    return err != JZX_OK ? err : jzx_scope_async(self->scope, &inner_type, &inner, &self->child);
}

JZX_ASYNC(outer, struct outer, uint64_t) {
    if (self->index % 3 == 0) {
        JZX_TRY(self->err, inner_call(&self->call, inner_of(self)), &self->value);
    } else if (self->index % 3 == 1) {
        self->err = inner_spawn(ctx->loop, inner_of(self), &self->child);
        if (self->err == JZX_OK)
            JZX_TRY(self->err, jzx_op_await(&self->op, self->child, JZX_NEVER), &self->value);
    } else {
        self->err = open_scope(ctx, self);
        if (self->scope != NULL)
            JZX_TRY(self->err, jzx_op_close(&self->op, self->scope), NULL);
        if (self->err == JZX_OK)
            self->err = jzx_future_try(self->child, &self->value);
    }
    atomic_fetch_add(self->err == JZX_OK ? &self->arena->values : &self->arena->errors, 1);
    if (self->err != JZX_OK)
        JZX_FAIL(self->err, "as what it has waited for");
    JZX_RETURN(self->value);
}
JZX_END

/* ---- threads ---- */

static void *resolve_all(void *arg) {
    struct arena *arena = arg;
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        uint64_t value = i;
        if (jzx_promise_resolve(arena->promises[i], &value) != JZX_OK)
            atomic_fetch_add(&arena->wrong, 1);
    }
    return NULL;
}

static void *cancel_some(void *arg) {
    struct arena *arena = arg;
    for (uint32_t i = FUNCTIONS; i-- != 0;) {
        if (i % 4 != 0)
            jzx_future_cancel(arena->functions[i]);
    }
    return NULL;
}

static void *read_all(void *arg) {
    struct arena *arena = arg;
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        uint64_t value = 0;
        jzx_future *future = jzx_future_ref(arena->functions[i]);
        jzx_err err = jzx_future_wait(future, JZX_NEVER, &value);
        if (err == JZX_OK && value == i)
            atomic_fetch_add(&arena->read_values, 1);
        else if (err == JZX_ERR_CANCELLED)
            atomic_fetch_add(&arena->read_errors, 1);
        else
            atomic_fetch_add(&arena->wrong, 1);
        jzx_future_release(future);
    }
    return NULL;
}

/* Starts functions that nobody wants, and gives them up while they begin. */
static void *start_and_release(void *arg) {
    struct arena *arena = arg;
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        jzx_future *future;
        const struct inner state = {.arena = arena, .index = i};
        if (inner_spawn(arena->loop, state, &future) != JZX_OK)
            atomic_fetch_add(&arena->wrong, 1);
        else
            jzx_future_release(future);
    }
    if (jzx_loop_release(arena->loop) != JZX_OK)
        atomic_fetch_add(&arena->wrong, 1);
    return NULL;
}

/* ---- the test ---- */

static void begin(struct arena *arena) {
    memset(arena, 0, sizeof *arena);
    arena->loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        const struct outer state = {.arena = arena, .index = i};
        assert_int_equal(jzx_promise_create(arena->loop, sizeof(uint64_t), &arena->promises[i],
                                            &arena->gates[i]),
                         JZX_OK);
        assert_int_equal(jzx_async_spawn(arena->loop, &outer_type, &state,
                                         &JZX_ASYNC_OPTS(.cleanup = clean_outer),
                                         &arena->functions[i]),
                         JZX_OK);
    }
}

static void end(struct arena *arena) {
    assert_int_equal(arena->wrong, 0);
    assert_int_equal(arena->cleaned, FUNCTIONS);
    assert_int_equal(arena->values + arena->errors, FUNCTIONS);
    assert_int_equal(arena->read_values, arena->values);
    assert_int_equal(arena->read_errors, arena->errors);
    assert_true(arena->values >= FUNCTIONS / 4); /* nobody has cancelled these */
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        jzx_future_release(arena->functions[i]);
        jzx_future_release(arena->gates[i]);
    }
    fixture_destroy(arena->loop);
}

JZX_TEST(threads_resolve_cancel_and_release_what_async_functions_do, "E43", "E+sem") {
    static void *(*const roles[THREADS])(void *) = {resolve_all, cancel_some, read_all,
                                                    start_and_release};
    uint64_t bytes = fixture_bytes();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        static struct arena arena;
        pthread_t threads[THREADS];
        begin(&arena);
        assert_int_equal(jzx_loop_hold(arena.loop), JZX_OK); /* until all were started */
        for (uint32_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, roles[i], &arena), 0);
        assert_int_equal(jzx_loop_run(arena.loop), JZX_OK);
        for (uint32_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        end(&arena);
        assert_int_equal(fixture_bytes(), bytes);
    }
}
