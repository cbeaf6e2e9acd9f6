/* SPDX-License-Identifier: MIT */
/* Combinators that need an actor: then, catch and finally run code of the user, delayed and timeout
 * wait for a time, map runs async functions. */
#include "future/async.h"
#include "future/combine.h"

#include <string.h>

/* ---- async functions whose result has a size that the call says ---- */

/* One with the step of type, and a result of result_size bytes; not started. */
static jzx_err create(struct jzx_loop *loop, const jzx_async_type *type, size_t result_size,
                      const void *state, const jzx_async_opts *opts, struct jzx_future **future) {
    jzx_async_type sized = *type;
    sized.result_size = result_size;
    jzx_err err = jzx_async_create(loop, &sized, state, opts, future);
    if (err == JZX_OK)
        ((struct jzx__async *)jzx__future_extra(*future))->root.type = type;
    return err;
}

/* On an error nothing is left of it, and its cleanup is not called. */
static jzx_err start(struct jzx_future *future) {
    jzx_err err = jzx_async_start(future);
    if (err != JZX_OK) {
        (void)jzx_future_error(future, NULL);
        jzx_future_release(future);
    }
    return err;
}

/* ---- then, catch, finally ---- */

struct chain {
    struct jzx_future *input; /* a handle of its own */
    jzx_then_fn then;         /* one of the four */
    jzx_then_future_fn then_future;
    jzx_catch_fn catch;
    jzx_finally_fn finally;
    void *arg;
    jzx_err err; /* of the input; JZX_ERR_CANCELLED also of the wait for it */
    const char *text;
    jzx_await_op op;
};

/* The outcome of the input goes on. */
static jzx_poll pass(jzx_async *async, jzx_context *ctx, const struct chain *chain) {
    const char *text = NULL;
    if (chain->err != JZX_OK) {
        (void)jzx_future_error(chain->input, &text);
        return jzx_async_done(async, chain->err, text);
    }
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__visit_begin(&visit);
    /* Here, because an object moves; the end of the function finds it settled. */
    (void)jzx__future_copy(jzx__async_of(ctx)->future, me, chain->input);
    jzx__visit_end(&visit);
    return jzx_async_done(async, JZX_OK, NULL);
}

/* The value of the input; of an object its place is *object. */
static const void *value_of(const struct chain *chain, void **object) {
    if ((chain->input->flags & JZX__FUTURE_MOVED) == 0)
        return chain->input->value.bytes;
    (void)jzx__future_read(chain->input, object);
    return object;
}

static jzx_err call_then(jzx_context *ctx, const struct chain *chain, void *result) {
    void *object;
    return chain->then(ctx, value_of(chain, &object), result, chain->arg);
}

/* What is wrong with it, or NULL. */
static const char *wrong_next(const struct jzx_future *next, const struct jzx_future *result) {
    if (next == NULL)
        return "the function of a then gave no future";
    if (next == result) /* it would wait for itself, and hold its last handle */
        return "the function of a then gave its own result";
    bool fits =
        next->value_size == result->value_size || jzx__future_state(next) == JZX_FUTURE_REJECTED;
    return next->home == result->home && fits
               ? NULL
               : "the future that a then gave has another loop or size";
}

/* The next future takes the place of the input. *text says what is wrong with it. */
static jzx_err call_then_future(jzx_context *ctx, struct chain *chain, const char **text) {
    const struct jzx_future *result = jzx__async_of(ctx)->future;
    jzx_future *next = NULL;
    void *object;
    *text = NULL;
    jzx_err err = chain->then_future(ctx, value_of(chain, &object), &next, chain->arg);
    if (err == JZX_OK)
        *text = wrong_next(next, result);
    if (*text != NULL)
        err = JZX_ERR_INVALID_ARG;
    if (err != JZX_OK) {
        jzx_future_release(next);
        return err;
    }
    jzx_future_release(chain->input);
    chain->input = next;
    chain->then_future = NULL;
    return JZX_OK;
}

static jzx_err call_catch(jzx_context *ctx, const struct chain *chain, void *result) {
    const char *text;
    (void)jzx_future_error(chain->input, &text);
    return chain->catch (ctx, chain->err, text, result, chain->arg);
}

JZX_ASYNC(chain, struct chain, unsigned char) {
    JZX_TRY(self->err, jzx_op_await(&self->op, self->input, JZX_NEVER), NULL);
    if (self->then_future != NULL && self->err == JZX_OK) {
        self->err = call_then_future(ctx, self, &self->text);
        if (self->err != JZX_OK)
            return jzx_async_done(async, self->err, self->text);
        JZX_TRY(self->err, jzx_op_await(&self->op, self->input, JZX_NEVER), NULL);
    }
    if (self->then != NULL && self->err == JZX_OK)
        return jzx_async_done(async, call_then(ctx, self, jzx_out), NULL);
    if (self->catch != NULL && self->err != JZX_OK && jzx__future_is_settled(self->input))
        return jzx_async_done(async, call_catch(ctx, self, jzx_out), NULL);
    if (self->finally != NULL)
        self->finally(ctx, self->err, self->arg);
    return pass(async, ctx, self);
}
JZX_END

static void leave_chain(jzx_context *ctx, jzx_exit_reason reason) {
    struct chain *chain = ctx->state;
    (void)reason;
    jzx_future_release(chain->input);
}

/* In a visit, which keeps the loop. */
static jzx_err make_inside(const struct chain *chain, size_t result_size, jzx_async_opts opts,
                           jzx_future **result) {
    struct jzx_future *made;
    struct jzx_future *input = jzx_future_ref(chain->input);
    opts.cleanup = leave_chain;
    jzx_err err = create(input->home->loop, &chain_type, result_size, chain, &opts, &made);
    if (err == JZX_OK)
        err = start(made);
    if (err == JZX_OK)
        *result = made;
    else
        jzx_future_release(input);
    return err;
}

static jzx_err make_chain(const struct chain *chain, size_t result_size, jzx_async_opts opts,
                          jzx_future **result) {
    struct jzx__future_visit visit;
    if (chain->input == NULL || result == NULL ||
        (chain->then == NULL && chain->then_future == NULL && chain->catch == NULL &&
         chain->finally == NULL))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = JZX_ERR_LOOP_CLOSED;
    if (jzx__future_visit(chain->input->home, &visit))
        err = make_inside(chain, result_size, opts, result);
    jzx__future_visit_end(chain->input->home, &visit);
    return err;
}

jzx_err jzx_future_then(jzx_future *input, size_t result_size, jzx_then_fn fn, void *arg,
                        jzx_future **result) {
    return make_chain(&(struct chain){.input = input, .then = fn, .arg = arg}, result_size,
                      JZX_ASYNC_OPTS(.name = "then"), result);
}

jzx_err jzx_future_then_future(jzx_future *input, size_t result_size, jzx_then_future_fn fn,
                               void *arg, jzx_future **result) {
    return make_chain(&(struct chain){.input = input, .then_future = fn, .arg = arg}, result_size,
                      JZX_ASYNC_OPTS(.name = "then"), result);
}

jzx_err jzx_future_catch(jzx_future *input, jzx_catch_fn fn, void *arg, jzx_future **result) {
    return make_chain(&(struct chain){.input = input, .catch = fn, .arg = arg},
                      jzx_future_value_size(input), JZX_ASYNC_OPTS(.name = "catch"), result);
}

jzx_err jzx_future_finally(jzx_future *input, jzx_finally_fn fn, void *arg, jzx_future **result) {
    return make_chain(&(struct chain){.input = input, .finally = fn, .arg = arg},
                      jzx_future_value_size(input), JZX_ASYNC_OPTS(.name = "finally"), result);
}

/* ---- time ---- */

struct alarm {
    uint64_t until_ns;
    jzx_err err; /* what it comes to; JZX_OK: the value that is in its future already */
    jzx_await_op op;
};

JZX_ASYNC(alarm, struct alarm, unsigned char) {
    JZX_AWAIT(jzx_op_sleep(&self->op, self->until_ns), NULL);
    return jzx_async_done(async, self->err, NULL);
}
JZX_END

/* value may be NULL: zeroes. */
static jzx_err make_alarm(struct jzx_loop *loop, const struct alarm *alarm, const void *value,
                          size_t value_size, struct jzx_future **future) {
    struct jzx_future *made;
    jzx_err err =
        create(loop, &alarm_type, value_size, alarm, &JZX_ASYNC_OPTS(.detached = true), &made);
    if (err != JZX_OK)
        return err;
    if (value != NULL && value_size != 0)
        memcpy(made->value.bytes, value, value_size);
    else
        memset(made->value.bytes, 0, value_size);
    err = start(made);
    if (err == JZX_OK)
        *future = made;
    return err;
}

jzx_err jzx_future_delayed(jzx_loop *loop, uint64_t until_ns, const void *value, size_t value_size,
                           jzx_future **result) {
    if (loop == NULL || result == NULL || (value == NULL && value_size != 0))
        return JZX_ERR_INVALID_ARG;
    return make_alarm(loop, &(struct alarm){.until_ns = until_ns}, value, value_size, result);
}

/* In a visit, which keeps the loop. */
static jzx_err timeout_inside(jzx_future *input, uint64_t deadline_ns, uint32_t flags,
                              jzx_future **result) {
    struct jzx_future *inputs[2] = {input, NULL};
    struct jzx_loop *loop = input->home->loop;
    if (jzx__future_is_settled(input) || deadline_ns == JZX_NEVER)
        return jzx_future_race(loop, inputs, 1, flags, result);
    const struct alarm alarm = {.until_ns = deadline_ns, .err = JZX_ERR_TIMEOUT};
    jzx_err err = make_alarm(loop, &alarm, NULL, input->value_size, &inputs[1]);
    if (err != JZX_OK)
        return err;
    err = jzx_future_race(loop, inputs, 2, flags, result);
    jzx_future_release(inputs[1]); /* the race has the only handle: it ends with that */
    return err;
}

jzx_err jzx_future_timeout(jzx_future *input, uint64_t deadline_ns, uint32_t flags,
                           jzx_future **result) {
    struct jzx__future_visit visit;
    if (input == NULL || result == NULL || (flags & ~JZX_CANCEL_INPUTS) != 0)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = JZX_ERR_LOOP_CLOSED;
    if (jzx__future_visit(input->home, &visit))
        err = timeout_inside(input, deadline_ns, flags, result);
    jzx__future_visit_end(input->home, &visit);
    return err;
}

/* ---- map ---- */

/* An async function for each state, none of which is started. */
static jzx_err fill_map(struct jzx_loop *loop, const jzx_async_type *type, const void *states,
                        struct jzx__combine *map) {
    const unsigned char *state = states;
    jzx_err err = JZX_OK;
    for (uint32_t i = 0; i < map->count && err == JZX_OK; i++, state += type->state_size)
        err = jzx_async_create(loop, type, state, &JZX_ASYNC_OPTS(.detached = true),
                               &map->items[i].then.future);
    return err;
}

static bool map_is_valid(const jzx_async_type *type, const void *states, size_t count) {
    return type != NULL && type->size == sizeof *type &&
           type->result_size <= JZX_FUTURE_VALUE_MAX &&
           (count == 0 || states != NULL || type->state_size == 0) &&
           count <= JZX_FUTURE_VALUE_MAX / sizeof(struct jzx__combine_item) &&
           (count == 0 || type->result_size <= JZX_FUTURE_VALUE_MAX / count);
}

jzx_err jzx_future_map(jzx_loop *loop, const jzx_async_type *type, const void *states, size_t count,
                       uint32_t limit, jzx_future **result) {
    struct jzx__visit visit;
    if (loop == NULL || result == NULL || !map_is_valid(type, states, count))
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    const struct jzx__combine_plan plan = {
        .kind = JZX__COMBINE_ALL, .count = count, .input_size = type->result_size};
    struct jzx_future *made = jzx__combine_create(loop, me, &plan);
    jzx__visit_end(&visit);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    struct jzx__combine *map = jzx__combine_of(made);
    map->cancels = true;
    map->is_map = true;
    jzx_err err = fill_map(loop, type, states, map);
    if (err != JZX_OK) {
        jzx__combine_abandon(made);
        return err;
    }
    me = jzx__loop_visit(loop, &visit);
    jzx__combine_build(made, me);
    jzx__visit_end(&visit);
    size_t at_once = limit == 0 || limit > count ? count : limit;
    for (size_t i = 0; i < at_once; i++)
        jzx__combine_start_next(made);
    *result = made;
    return JZX_OK;
}
