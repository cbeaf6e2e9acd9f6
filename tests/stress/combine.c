/* SPDX-License-Identifier: MIT */
/* Threads that settle and cancel inputs while others combine them, and cancel, read and release the
 * results: each result is settled once with what its inputs allow, and no memory is left. */
#include "fixture.h"

#include <jzx/combine.h>
#include <jzx/fiber.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define INPUTS 300u
#define THREADS 4u
#define KINDS 8u

struct arena {
    jzx_loop *loop;
    jzx_promise *promises[INPUTS];
    jzx_future *futures[INPUTS];
    atomic_uint made;
    atomic_uint wrong;
};

static void expect(struct arena *arena, bool held) {
    if (!held)
        atomic_fetch_add(&arena->wrong, 1);
}

static void *settle_all(void *arg) {
    struct arena *arena = arg;
    for (uint32_t i = 0; i < INPUTS; i++) {
        uint64_t value = i;
        if (i % 5 == 4)
            (void)jzx_promise_reject(arena->promises[i], JZX_ERR_FULL, "no room");
        else
            (void)jzx_promise_resolve(arena->promises[i], &value);
    }
    return NULL;
}

static void *cancel_some(void *arg) {
    struct arena *arena = arg;
    for (uint32_t i = 0; i < INPUTS; i += 7)
        jzx_future_cancel(arena->futures[i]);
    return NULL;
}

static jzx_err add_one(jzx_context *ctx, const void *value, void *result, void *arg) {
    uint64_t number;
    (void)ctx, (void)arg;
    memcpy(&number, value, sizeof number);
    number++;
    memcpy(result, &number, sizeof number);
    return JZX_OK;
}

static jzx_err go_on(jzx_context *ctx, const void *value, jzx_future **next, void *arg) {
    uint64_t number = 0;
    (void)arg;
    jzx_err err = add_one(ctx, value, &number, NULL);
    return err == JZX_OK ? jzx_future_resolved(ctx->loop, &number, sizeof number, next) : err;
}

static jzx_future *make(struct arena *arena, uint32_t kind, jzx_future **inputs) {
    const uint32_t flags = kind % 3 == 2 ? JZX_CANCEL_INPUTS : 0;
    jzx_future *made = NULL;
    jzx_err err = JZX_OK;
    switch (kind % KINDS) {
    case 0: err = jzx_future_all(arena->loop, inputs, 3, flags, &made); break;
    case 1: err = jzx_future_race(arena->loop, inputs, 3, flags, &made); break;
    case 2: err = jzx_future_any(arena->loop, inputs, 3, flags, &made); break;
    case 3: err = jzx_future_all_settled(arena->loop, inputs, 3, flags, &made); break;
    case 4: err = jzx_future_then(inputs[0], 8, add_one, NULL, &made); break;
    case 6: err = jzx_future_some(arena->loop, inputs, 3, 2, flags, &made); break;
    case 7: err = jzx_future_then_future(inputs[0], 8, go_on, NULL, &made); break;
    default: err = jzx_future_timeout(inputs[0], JZX_NEVER, flags, &made); break;
    }
    expect(arena, err == JZX_OK || err == JZX_ERR_MAX_ACTORS);
    return err == JZX_OK ? made : NULL;
}

/* The errors that its inputs can have, of so many of them. */
static void check_errors(struct arena *arena, jzx_future *made, uint32_t least) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        jzx_err err = JZX_OK;
        const char *text = NULL;
        expect(arena, jzx_future_error_at(made, i, &err, &text) == JZX_OK);
        expect(arena, err == JZX_OK || err == JZX_ERR_CANCELLED ||
                          (err == JZX_ERR_FULL && strcmp(text, "no room") == 0));
        count += err != JZX_OK;
    }
    expect(arena, count >= least);
}

/* What a result may be: values of its inputs, or an error that one can have. */
static void check(struct arena *arena, uint32_t kind, uint32_t at, jzx_future *made) {
    uint64_t values[6] = {0};
    size_t winner = 0;
    jzx_err err = jzx_future_wait(made, JZX_NEVER, values);
    if (kind % KINDS == 1 && jzx_future_winner(made, &winner) == JZX_OK)
        expect(arena, err != JZX_OK || values[0] == (at + winner) % INPUTS);
    if (err == JZX_ERR_ALL_REJECTED)
        check_errors(arena, made, kind % KINDS == 2 ? 3 : 2);
    if (err != JZX_OK) {
        expect(arena,
               err == JZX_ERR_FULL || err == JZX_ERR_CANCELLED || err == JZX_ERR_ALL_REJECTED);
        return;
    }
    for (uint32_t i = 0; kind % KINDS == 0 && i < 3; i++)
        expect(arena, values[i] == (at + i) % INPUTS);
    if (kind % KINDS == 4 || kind % KINDS == 7)
        expect(arena, values[0] == at + 1);
    for (uint32_t i = 0; kind % KINDS == 6 && i < 2; i++) {
        const jzx_settled *record = jzx_settled_at(values, 8, i);
        expect(arena, values[2 * i + 1] == (at + record->index) % INPUTS);
    }
    if (kind % KINDS == 5)
        expect(arena, values[0] == at);
}

static void *combine(void *arg) {
    struct arena *arena = arg;
    for (uint32_t round = 0; round < INPUTS * 4; round++) {
        uint32_t at = round * 7 % INPUTS;
        jzx_future *inputs[3];
        for (uint32_t i = 0; i < 3; i++)
            inputs[i] = arena->futures[(at + i) % INPUTS];
        jzx_future *made = make(arena, round, inputs);
        jzx_future *outer = NULL;
        if (made == NULL)
            continue;
        atomic_fetch_add(&arena->made, 1);
        if (round % 4 == 0 && jzx_future_race(arena->loop, &made, 1, 0, &outer) == JZX_OK)
            jzx_future_release(outer);
        if (round % 3 == 0)
            jzx_future_cancel(made);
        if (round % 3 == 1)
            check(arena, round, at, made);
        jzx_future_release(made);
    }
    return NULL;
}

static void *run_loop(void *arg) {
    struct arena *arena = arg;
    expect(arena, jzx_loop_run(arena->loop) == JZX_OK);
    return NULL;
}

static void play(struct arena *arena) {
    static void *(*const roles[THREADS])(void *) = {settle_all, cancel_some, combine, combine};
    pthread_t threads[THREADS];
    jzx_config config = {.size = sizeof config, .workers = 2};
    memset(arena, 0, sizeof *arena);
    arena->loop = fixture_loop_with(&config);
    for (uint32_t i = 0; i < INPUTS; i++)
        assert_int_equal(jzx_promise_create(arena->loop, sizeof(uint64_t), &arena->promises[i],
                                            &arena->futures[i]),
                         JZX_OK);
    assert_int_equal(jzx_loop_hold(arena->loop), JZX_OK);
    pthread_t runner;
    assert_int_equal(pthread_create(&runner, NULL, run_loop, arena), 0);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, roles[i], arena), 0);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(jzx_loop_release(arena->loop), JZX_OK);
    assert_int_equal(pthread_join(runner, NULL), 0);
    for (uint32_t i = 0; i < INPUTS; i++) {
        (void)jzx_future_error(arena->futures[i], NULL);
        jzx_future_release(arena->futures[i]);
    }
}

JZX_TEST(inputs_are_settled_while_results_are_made_cancelled_and_released) {
    static struct arena arena;
    const uint64_t rounds = jzx_test_rounds(20, 200);
    for (uint64_t round = 0; round < rounds; round++) {
        play(&arena);
        assert_int_equal(arena.wrong, 0);
        assert_true(arena.made > INPUTS);
        fixture_destroy(arena.loop);
    }
}
