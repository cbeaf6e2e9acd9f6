/* SPDX-License-Identifier: MIT */
/* Promises, futures, combinators, async functions, executors. Values are a uint64_t for the most
 * part. A handle is used by one call at a time, or borrowed: nobody releases it meanwhile. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS = 4 };

static void dropped(void *object) {
    free(object);
}

static size_t value_size(struct fuzz *f) {
    return fuzz_chance(f, 24) ? fuzz_length(f) : fuzz_chance(f, 6) ? 0 : sizeof(uint64_t);
}

static void do_jzx_promise_create(struct fuzz *f) {
    jzx_promise *promise = NULL;
    jzx_future *future = NULL;
    if (fuzz_status(f, jzx_promise_create(LOOP, value_size(f), &promise, OR_NULL(&future))) !=
        JZX_OK)
        return;
    fuzz_put(f, OF_PROMISE, promise);
    fuzz_put(f, OF_FUTURE, future);
}

static void do_jzx_promise_resolve(struct fuzz *f) {
    jzx_promise *promise = fuzz_take(f, OF_PROMISE);
    fuzz_status(f, jzx_promise_resolve(promise, fuzz_bytes));
}

/* Of promises with values of the size of a pointer: others are refused, and drop the object. */
static void do_jzx_promise_resolve_moved(struct fuzz *f) {
    jzx_promise *promise = fuzz_take(f, OF_PROMISE);
    if (promise != NULL)
        fuzz_status(f, jzx_promise_resolve_moved(promise, malloc(8), dropped));
}

static void do_jzx_promise_reject(struct fuzz *f) {
    fuzz_status(f, jzx_promise_reject(fuzz_take(f, OF_PROMISE), (jzx_err) - (int)BELOW(49), TEXT));
}

RUN(jzx_promise_drop, fuzz_take(f, OF_PROMISE));

static void do_jzx_promise_is_wanted(struct fuzz *f) {
    int ticket;
    jzx_promise *promise = fuzz_borrow(f, OF_PROMISE, &ticket);
    if (promise != NULL)
        (void)jzx_promise_is_wanted(promise);
    fuzz_give_back(f, OF_PROMISE, ticket);
}

FUTURE(jzx_future_resolved, LOOP, DATA, value_size(f));
FUTURE(jzx_future_rejected, LOOP, (jzx_err) - (int)BELOW(49), TEXT);

/* ---- a handle that is borrowed; the room for its value is that of the largest ---- */

static unsigned char *room_for(jzx_future *future) {
    size_t size = future == NULL ? 0 : jzx_future_value_size(future);
    return malloc(size + 1);
}

/* A fiber that is killed meanwhile takes the memory of its value with it: so it wants none. */
static void do_jzx_await(struct fuzz *f) {
    int ticket;
    jzx_future *future = fuzz_borrow(f, OF_FUTURE, &ticket);
    unsigned char value[64];
    bool fits = future != NULL && jzx_future_value_size(future) <= sizeof value;
    fuzz_status(f, jzx_await(CTX, future, WHEN, fits ? value : NULL));
    fuzz_give_back(f, OF_FUTURE, ticket);
}

static void do_jzx_future_wait(struct fuzz *f) {
    int ticket;
    jzx_future *future = fuzz_borrow(f, OF_FUTURE, &ticket);
    fuzz_status(f, jzx_future_wait(future, WHEN, NULL));
    fuzz_give_back(f, OF_FUTURE, ticket);
}

static void do_jzx_future_try(struct fuzz *f) {
    int ticket;
    jzx_future *future = fuzz_borrow(f, OF_FUTURE, &ticket);
    unsigned char *value = room_for(future);
    fuzz_status(f, jzx_future_try(future, OR_NULL(value)));
    free(value);
    fuzz_give_back(f, OF_FUTURE, ticket);
}

static void do_jzx_future_state(struct fuzz *f) {
    int ticket;
    const char *text = NULL;
    jzx_future *future = fuzz_borrow(f, OF_FUTURE, &ticket);
    if (future != NULL) {
        jzx_future_status state = jzx_future_state(future);
        bool was_settled = state == JZX_FUTURE_RESOLVED || state == JZX_FUTURE_REJECTED;
        if (was_settled && !jzx_future_is_ready(future))
            fuzz_fail("a future that was settled is not ready");
        if (state == JZX_FUTURE_REJECTED && jzx_future_error(future, &text) == JZX_OK)
            fuzz_fail("a future that was rejected has no error");
        if (text != NULL && strlen(text) > JZX_FUTURE_TEXT_MAX)
            fuzz_fail("the text of a future is too long");
        (void)jzx_async_actor(future);
    }
    fuzz_give_back(f, OF_FUTURE, ticket);
}

static void do_jzx_future_take(struct fuzz *f) {
    int ticket;
    jzx_future *future = fuzz_borrow(f, OF_FUTURE, &ticket);
    if (future != NULL && jzx_future_value_size(future) == sizeof(void *))
        free(jzx_future_take(future));
    fuzz_give_back(f, OF_FUTURE, ticket);
}

static void do_jzx_future_ref(struct fuzz *f) {
    int ticket;
    jzx_future *future = fuzz_borrow(f, OF_FUTURE, &ticket);
    if (future != NULL)
        fuzz_put(f, OF_FUTURE, jzx_future_ref(future));
    fuzz_give_back(f, OF_FUTURE, ticket);
}

RUN(jzx_future_release, fuzz_take(f, OF_FUTURE));
RUN(jzx_future_detach, fuzz_take(f, OF_FUTURE));

static void do_jzx_future_cancel(struct fuzz *f) {
    int ticket;
    jzx_future_cancel(fuzz_borrow(f, OF_FUTURE, &ticket));
    fuzz_give_back(f, OF_FUTURE, ticket);
}

/* ---- combinators ---- */

typedef jzx_err combine_fn(jzx_loop *loop, jzx_future *const *inputs, size_t count, uint32_t flags,
                           jzx_future **result);

static void combine(struct fuzz *f, combine_fn *fn) {
    jzx_future *inputs[INPUTS];
    int tickets[INPUTS];
    jzx_future *result = NULL;
    for (unsigned i = 0; i < INPUTS; i++)
        inputs[i] = fuzz_borrow(f, OF_FUTURE, &tickets[i]);
    size_t count = BELOW(INPUTS + 1);
    uint32_t flags = YES_OR_NO ? JZX_CANCEL_INPUTS : fuzz_chance(f, 16) ? (uint32_t)WORD : 0;
    fuzz_keep_future(f, fn(LOOP, inputs, count, flags, &result), &result);
    for (unsigned i = 0; i < INPUTS; i++)
        fuzz_give_back(f, OF_FUTURE, tickets[i]);
}

static void do_jzx_future_all(struct fuzz *f) {
    combine(f, jzx_future_all);
}
static void do_jzx_future_race(struct fuzz *f) {
    combine(f, jzx_future_race);
}
static void do_jzx_future_any(struct fuzz *f) {
    combine(f, jzx_future_any);
}
static void do_jzx_future_all_settled(struct fuzz *f) {
    combine(f, jzx_future_all_settled);
}

static jzx_err some(jzx_loop *loop, jzx_future *const *inputs, size_t count, uint32_t flags,
                    jzx_future **result) {
    return jzx_future_some(loop, inputs, count, count / 2 + (flags & 1u), flags, result);
}

static void do_jzx_future_some(struct fuzz *f) {
    combine(f, some);
}

/* The winner of a result, and the errors of its inputs: as settled as it is. */
static void do_jzx_future_winner(struct fuzz *f) {
    int ticket;
    size_t index = SIZE_MAX;
    jzx_err err;
    const char *text = NULL;
    jzx_future *future = fuzz_borrow(f, OF_FUTURE, &ticket);
    bool was_ready = jzx_future_is_ready(future);
    jzx_err won = jzx_future_winner(future, OR_NULL(&index));
    if (was_ready && won == JZX_ERR_INVALID_STATE)
        fuzz_fail("a settled result does not tell its winner");
    if (won == JZX_OK && index >= INPUTS && jzx_future_error(future, NULL) == JZX_OK)
        fuzz_fail("input %zu of %u has won", index, (unsigned)INPUTS);
    fuzz_status(f, won);
    won = jzx_future_error_at(future, BELOW(INPUTS + 1), &err, OR_NULL(&text));
    if (won == JZX_OK && text != NULL && strlen(text) > JZX_FUTURE_TEXT_MAX)
        fuzz_fail("the text of an input is too long");
    fuzz_status(f, won);
    fuzz_give_back(f, OF_FUTURE, ticket);
}

/* The records of futures that are settled already. */
static void do_jzx_settled_at(struct fuzz *f) {
    _Alignas(jzx_settled) unsigned char records[2 * JZX_SETTLED_SIZE(sizeof(uint64_t))];
    jzx_future *inputs[2] = {NULL, NULL};
    jzx_future *result = NULL;
    jzx_err made = jzx_future_resolved(THE_LOOP, fuzz_bytes, 8, &inputs[0]);
    if (made == JZX_OK)
        made = jzx_future_rejected(THE_LOOP, JZX_ERR_FAILED, "by seed", &inputs[1]);
    if (made == JZX_OK)
        made = jzx_future_all_settled(THE_LOOP, inputs, 2, 0, &result);
    if (made == JZX_OK && jzx_future_try(result, records) == JZX_OK &&
        (jzx_settled_at(records, 8, 0)->err != JZX_OK ||
         jzx_settled_at(records, 8, 1)->err != JZX_ERR_FAILED))
        fuzz_fail("the records of two settled futures are wrong");
    for (unsigned i = 0; i < 2; i++)
        jzx_future_release(inputs[i]);
    jzx_future_release(result);
}

static void here(jzx_context *ctx, void *arg) {
    struct fuzz f = fuzz_here(arg, IN_CALL);
    f.random = &f.own_random;
    if (jzx_current_context() != ctx)
        fuzz_fail("the function of a combinator has another context than its own");
    fuzz_act(&f, (unsigned)fuzz_below(&f, 2));
}

static jzx_err then(jzx_context *ctx, const void *value, void *result, void *arg) {
    (void)value;
    memset(result, 1, sizeof(uint64_t));
    here(ctx, arg);
    return jzx_current_actor() % 5 == 0 ? JZX_ERR_FAILED : JZX_OK;
}

static jzx_err caught(jzx_context *ctx, jzx_err err, const char *text, void *result, void *arg) {
    (void)result;
    if (text == NULL || strlen(text) > JZX_FUTURE_TEXT_MAX)
        fuzz_fail("the text of a caught error is wrong");
    here(ctx, arg);
    return err;
}

static void at_last(jzx_context *ctx, jzx_err err, void *arg) {
    (void)err;
    here(ctx, arg);
}

static void do_jzx_future_then(struct fuzz *f) {
    int ticket;
    jzx_future *result = NULL;
    jzx_future *input = fuzz_borrow(f, OF_FUTURE, &ticket);
    fuzz_keep_future(f, jzx_future_then(input, sizeof(uint64_t), OR_NULL(then), f->round, &result),
                     &result);
    fuzz_give_back(f, OF_FUTURE, ticket);
}

/* One that is settled, one of a delay, none. */
static jzx_err then_future(jzx_context *ctx, const void *value, jzx_future **next, void *arg) {
    const uint64_t number = 1;
    (void)value;
    here(ctx, arg);
    switch (jzx_current_actor() % 4) {
    case 0: return jzx_future_resolved(ctx->loop, &number, sizeof number, next);
    case 1: return jzx_future_delayed(ctx->loop, jzx_in(ctx, 1000), &number, sizeof number, next);
    case 2: return JZX_OK;
    default: return JZX_ERR_FAILED;
    }
}

static void do_jzx_future_then_future(struct fuzz *f) {
    int ticket;
    jzx_future *result = NULL;
    jzx_future *input = fuzz_borrow(f, OF_FUTURE, &ticket);
    fuzz_keep_future(
        f, jzx_future_then_future(input, sizeof(uint64_t), OR_NULL(then_future), f->round, &result),
        &result);
    fuzz_give_back(f, OF_FUTURE, ticket);
}

static void do_jzx_future_catch(struct fuzz *f) {
    int ticket;
    jzx_future *result = NULL;
    jzx_future *input = fuzz_borrow(f, OF_FUTURE, &ticket);
    fuzz_keep_future(f, jzx_future_catch(input, OR_NULL(caught), f->round, &result), &result);
    fuzz_give_back(f, OF_FUTURE, ticket);
}

static void do_jzx_future_finally(struct fuzz *f) {
    int ticket;
    jzx_future *result = NULL;
    jzx_future *input = fuzz_borrow(f, OF_FUTURE, &ticket);
    fuzz_keep_future(f, jzx_future_finally(input, OR_NULL(at_last), f->round, &result), &result);
    fuzz_give_back(f, OF_FUTURE, ticket);
}

FUTURE(jzx_future_delayed, LOOP, WHEN, fuzz_bytes, value_size(f));

static void do_jzx_future_timeout(struct fuzz *f) {
    int ticket;
    jzx_future *result = NULL;
    jzx_future *input = fuzz_borrow(f, OF_FUTURE, &ticket);
    fuzz_keep_future(f, jzx_future_timeout(input, WHEN, YES_OR_NO ? JZX_CANCEL_INPUTS : 0, &result),
                     &result);
    fuzz_give_back(f, OF_FUTURE, ticket);
}

static void do_jzx_future_to(struct fuzz *f) {
    int ticket;
    jzx_op op = JZX_NO_OP;
    jzx_future *input = fuzz_borrow(f, OF_FUTURE, &ticket);
    fuzz_begun(f, jzx_future_to(CTX, input, FUZZ_TAG_OP, &op), &op);
    fuzz_give_back(f, OF_FUTURE, ticket);
}

/* ---- async functions ---- */

static void do_jzx_async_spawn(struct fuzz *f) {
    _Alignas(max_align_t) unsigned char state[FUZZ_ASYNC_STATE];
    jzx_future *future = NULL;
    fuzz_async_state(f, state);
    struct fuzz_actor *actor = *(struct fuzz_actor **)(void *)state;
    if (actor == NULL)
        return;
    jzx_async_opts opts =
        JZX_ASYNC_OPTS(.name = NAME, .cleanup = fuzz_async_cleanup, .detached = fuzz_chance(f, 4));
    int ticket = -1;
    if (fuzz_chance(f, 4))
        opts.place = JZX_PLACE_WORKER(BELOW(3));
    if (fuzz_chance(f, 3) && !f->round->has_threads)
        opts.executor = fuzz_borrow(f, OF_EXECUTOR, &ticket);
    jzx_err err = jzx_async_spawn(LOOP, &fuzz_async_type, state, &opts, &future);
    if (err == JZX_OK)
        fuzz_spawned(f, err, actor, jzx_async_actor(future));
    fuzz_keep_future(f, err, &future);
    fuzz_give_back(f, OF_EXECUTOR, ticket);
}

static void do_jzx_async_create(struct fuzz *f) {
    _Alignas(max_align_t) unsigned char state[FUZZ_ASYNC_STATE];
    jzx_future *future = NULL;
    fuzz_async_state(f, state);
    if (*(struct fuzz_actor **)(void *)state == NULL)
        return;
    jzx_err err = jzx_async_create(LOOP, OR_NULL(&fuzz_async_type), state, NULL, &future);
    fuzz_keep_future(f, err, &future);
}

static void do_jzx_async_start(struct fuzz *f) {
    int ticket;
    jzx_future *future = fuzz_borrow(f, OF_FUTURE, &ticket);
    if (future != NULL)
        fuzz_status(f, jzx_async_start(future));
    fuzz_give_back(f, OF_FUTURE, ticket);
}

static void do_jzx_future_map(struct fuzz *f) {
    _Alignas(max_align_t) unsigned char states[3][FUZZ_ASYNC_STATE];
    unsigned char *packed = (unsigned char *)states;
    jzx_future *future = NULL;
    for (unsigned i = 0; i < 3; i++) {
        _Alignas(max_align_t) unsigned char state[FUZZ_ASYNC_STATE];
        fuzz_async_state(f, state);
        if (*(struct fuzz_actor **)(void *)state == NULL)
            return;
        memcpy(packed + i * fuzz_async_type.state_size, state, fuzz_async_type.state_size);
    }
    fuzz_keep_future(f, jzx_future_map(LOOP, &fuzz_async_type, states, BELOW(4), BELOW(3), &future),
                     &future);
}

JZX_ASYNC(nap, jzx_await_op, int) {
    JZX_AWAIT(jzx_op_sleep(self, 1), NULL);
    JZX_RETURN(7);
}
JZX_END

static void do_jzx_async_run(struct fuzz *f) {
    int result = 0;
    jzx_config config = JZX_CONFIG(.workers = 1, .allocator = fuzz_allocator());
    config.log.level = JZX_LOG_OFF;
    config.stall_after_ns = JZX_NEVER;
    if (fuzz_status(f, jzx_async_run(&config, &nap_type, &(jzx_await_op){0}, &result)) == JZX_OK &&
        result != 7)
        fuzz_fail("jzx_async_run has the result %d", result);
}

static void do_jzx_executor_create(struct fuzz *f) {
    jzx_executor *executor = NULL;
    if (fuzz_status(f, jzx_executor_create(LOOP, &executor)) == JZX_OK)
        fuzz_put(f, OF_EXECUTOR, executor);
}

static void do_jzx_executor_poll_one(struct fuzz *f) {
    int ticket;
    jzx_executor *executor = fuzz_borrow(f, OF_EXECUTOR, &ticket);
    if (executor != NULL) {
        (void)jzx_executor_pending(executor);
        fuzz_status(f, YES_OR_NO ? jzx_executor_poll_one(executor, &(bool){false})
                                 : jzx_executor_poll_all(executor, &(uint32_t){0}));
    }
    fuzz_give_back(f, OF_EXECUTOR, ticket);
}

RUN(jzx_executor_destroy, fuzz_take(f, OF_EXECUTOR));

static const struct fuzz_operation operations[] = {
    ROW(jzx_promise_create, 12, ANYWHERE),
    ROW(jzx_promise_resolve, 6, ANYWHERE),
    ROW(jzx_promise_resolve_moved, 2, ANYWHERE),
    ROW(jzx_promise_reject, 3, ANYWHERE),
    ROW(jzx_promise_drop, 2, ANYWHERE),
    ROW(jzx_promise_is_wanted, 1, ANYWHERE),
    ROW(jzx_future_resolved, 4, ANYWHERE),
    ROW(jzx_future_rejected, 3, ANYWHERE),
    ROW(jzx_await, 8, ANYWHERE),
    ROW(jzx_future_wait, 3, ANYWHERE),
    ROW(jzx_future_try, 3, ANYWHERE),
    ROW(jzx_future_state, 3, ANYWHERE),
    ROW(jzx_future_take, 1, ANYWHERE),
    ROW(jzx_future_ref, 3, ANYWHERE),
    ROW(jzx_future_release, 8, ANYWHERE),
    ROW(jzx_future_detach, 3, ANYWHERE),
    ROW(jzx_future_cancel, 3, ANYWHERE),
    ROW(jzx_future_all, 3, ANYWHERE),
    ROW(jzx_future_race, 3, ANYWHERE),
    ROW(jzx_future_any, 3, ANYWHERE),
    ROW(jzx_future_all_settled, 3, ANYWHERE),
    ROW(jzx_future_some, 3, ANYWHERE),
    ROW(jzx_future_winner, 2, ANYWHERE),
    ROW(jzx_settled_at, 1, ANYWHERE),
    ROW(jzx_future_then, 4, ANYWHERE),
    ROW(jzx_future_then_future, 4, ANYWHERE),
    ROW(jzx_future_catch, 3, ANYWHERE),
    ROW(jzx_future_finally, 3, ANYWHERE),
    ROW(jzx_future_delayed, 3, ANYWHERE),
    ROW(jzx_future_timeout, 3, ANYWHERE),
    ROW(jzx_future_to, 4, ANYWHERE),
    ROW(jzx_async_spawn, 8, ANYWHERE),
    ROW(jzx_async_create, 4, ANYWHERE),
    ROW(jzx_async_start, 4, ANYWHERE),
    ROW(jzx_future_map, 2, ANYWHERE),
    ROW(jzx_async_run, 1, ANYWHERE),
    ROW(jzx_executor_create, 1, MAIN_THREAD),
    ROW(jzx_executor_poll_one, 3, MAIN_THREAD),
    ROW(jzx_executor_destroy, 1, MAIN_THREAD),
};
FUZZ_FAMILY(futures, operations);
