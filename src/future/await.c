/* SPDX-License-Identifier: MIT */
/* What an async function awaits: futures, times, calls of other async functions. */
#include "future/await.h"

#include "future/async.h"

#include <stdio.h>

static struct jzx__await *await_of(jzx_awaitable *what) {
    return JZX_CONTAINER_OF(what, struct jzx__await, base);
}

/* The wait of the function begins, and with it this operation's. */
static void begin(struct jzx__async *async, struct jzx__await *await) {
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__visit_begin(&visit);
    JZX_ASSERT(!async->waits);
    jzx__waiter_begin(&async->waiter, (struct jzx__wait_what){.kind = "async"});
    async->waits = true;
    async->cause = 0;
    async->on = await;
    async->deadline_ns = await->deadline_ns < async->limit_ns || await->is_firm ? await->deadline_ns
                                                                                : async->limit_ns;
    if (await->link.source != NULL)
        jzx__waiter_join(&async->waiter, &await->link, 1, me);
    jzx__visit_end(&visit);
    await->begun = true;
}

jzx_poll jzx__await_wait(struct jzx__await *await, jzx_context *ctx) {
    struct jzx__async *async = jzx__async_of(ctx);
    if (async == NULL || (!await->begun && async->waits)) {
        await->base.err = JZX_ERR_WOULD_SUSPEND; /* somebody polls it who is no async function */
        return JZX_READY;
    }
    if (!await->begun) {
        begin(async, await);
        return JZX_PENDING;
    }
    if (async->cause == 0)
        return JZX_PENDING;
    await->base.err = jzx__cause_err(async->cause);
    async->cause = 0;
    async->on = NULL;
    return JZX_READY;
}

/* ---- time ---- */

/* The time that it sleeps until is behind the limit of a scope. */
static bool is_limited(const struct jzx__await *await, jzx_context *ctx) {
    const struct jzx__async *async = jzx__async_of(ctx);
    return async != NULL && await->deadline_ns > async->limit_ns;
}

static jzx_poll poll_time(jzx_awaitable *what, jzx_context *ctx, void *out) {
    (void)out;
    jzx_poll poll = jzx__await_wait(await_of(what), ctx);
    if (poll == JZX_READY && what->err == JZX_ERR_TIMEOUT && !is_limited(await_of(what), ctx))
        what->err = JZX_OK;
    return poll;
}

jzx_awaitable *jzx_op_sleep(jzx_await_op *op, uint64_t until_ns) {
    struct jzx__await *await = (void *)op;
    *await = (struct jzx__await){.base = {.poll = poll_time}, .deadline_ns = until_ns};
    return &await->base;
}

/* ---- futures ---- */

/* The text of a rejected one stays valid until the next one that is rejected. */
static void keep_failed(jzx_context *ctx, struct jzx_future *future) {
    struct jzx__async *async = jzx__async_of(ctx);
    jzx_future_release(async == NULL ? future : async->failed);
    if (async != NULL)
        async->failed = future;
}

static jzx_poll finish(struct jzx__await *await, jzx_context *ctx) {
    struct jzx_future *future = await->future;
    await->future = NULL;
    bool is_rejected =
        await->base.err != JZX_OK && jzx__future_state(future) == JZX_FUTURE_REJECTED;
    if (is_rejected)
        (void)jzx_future_error(future, &await->base.text);
    if (await->owns && is_rejected)
        keep_failed(ctx, future);
    else if (await->owns)
        jzx_future_release(future);
    return JZX_READY;
}

static jzx_poll poll_future(jzx_awaitable *what, jzx_context *ctx, void *out) {
    struct jzx__await *await = await_of(what);
    if (await->future == NULL) {
        what->err = JZX_ERR_INVALID_ARG;
        return JZX_READY;
    }
    jzx_future_status state = jzx__future_state(await->future);
    if (!await->begun && state == JZX_FUTURE_PENDING) {
        what->err = JZX_ERR_INVALID_STATE;
        return finish(await, ctx);
    }
    if (await->begun || state == JZX_FUTURE_RUNNING) {
        if (jzx__await_wait(await, ctx) == JZX_PENDING)
            return JZX_PENDING;
        if (what->err != JZX_OK)
            return finish(await, ctx);
    }
    what->err = jzx__future_read(await->future, out);
    return finish(await, ctx);
}

static jzx_awaitable *op_future(jzx_await_op *op, jzx_future *future, uint64_t deadline_ns,
                                bool owns) {
    struct jzx__await *await = (void *)op;
    /* One by one: to clear all of it takes longer than the rest. Joining sets most of the link. */
    await->base = (jzx_awaitable){.poll = poll_future};
    await->link.source = future == NULL ? NULL : &future->source;
    await->link.slot = NULL;
    await->link.index = 0;
    await->future = future;
    await->object = NULL;
    await->deadline_ns = deadline_ns;
    await->owns = owns;
    await->begun = false;
    await->is_firm = false;
    return &await->base;
}

jzx_awaitable *jzx_op_await(jzx_await_op *op, jzx_future *future, uint64_t deadline_ns) {
    return op_future(op, future, deadline_ns, false);
}

jzx_awaitable *jzx_op_consume(jzx_await_op *op, jzx_future *future, uint64_t deadline_ns) {
    return op_future(op, future, deadline_ns, true);
}

void jzx__await_drop(struct jzx__await *await) {
    if (await->owns)
        jzx_future_release(await->future);
    await->future = NULL;
}

/* ---- calls ---- */

static jzx_poll poll_call(jzx_awaitable *what, jzx_context *ctx, void *out) {
    jzx_async *async = JZX_CONTAINER_OF(what, jzx_async, base);
    return async->type->step(ctx, async, async->state, out);
}

jzx_awaitable *jzx_async_call(jzx_async *async, const jzx_async_type *type, void *state) {
    *async = (jzx_async){.base = {.poll = poll_call}, .type = type, .state = state};
    return &async->base;
}

/* Of a call that has ended: its code would go on behind its last await, with what is gone. */
static jzx_poll poll_ended(jzx_awaitable *what, jzx_context *ctx, void *out) {
    (void)ctx;
    (void)out;
    what->err = JZX_ERR_INVALID_STATE;
    what->text = "the call has ended";
    return JZX_READY;
}

jzx_poll jzx_async_done(jzx_async *async, jzx_err err, const char *text) {
    async->base.poll = poll_ended;
    async->base.err = err;
    async->base.text = text;
    return JZX_READY;
}

void jzx_async_again(jzx_context *ctx) {
    struct jzx__async *async = jzx__async_of(ctx);
    if (async != NULL)
        async->again = true;
}

void jzx_async_astray(jzx_context *ctx, const jzx_async *async) {
    char text[128];
    (void)ctx;
    snprintf(text, sizeof text, "the async function %s awaits inside a switch of its own",
             async->type->name);
    jzx__wrong_use(text);
}

/* For other languages: the inline function of the header as a symbol. */
extern inline jzx_poll jzx_async_poll(jzx_async *async, jzx_context *ctx, void *out);
