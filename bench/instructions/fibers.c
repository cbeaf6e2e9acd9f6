/* SPDX-License-Identifier: MIT */
/* Rows of fibers, async functions and their futures, locks and channels. */
#include "instructions.h"

#include <jzx/async.h>
#include <jzx/fiber.h>
#include <jzx/future.h>
#include <jzx/sync.h>

JZX_CHANNEL(number, uint64_t)

static uint64_t done; /* operations of this run so far */

/* Shared by the fibers of a row. */
struct scene {
    uint64_t ops;
    jzx_actor_id peer;
    jzx_mutex mutex;
    jzx_semaphore semaphore;
    number_channel channel;
};

static void run_fibers(struct rig *rig, struct scene *scene, jzx_fiber_fn first,
                       jzx_fiber_fn second) {
    done = 0;
    if (second != NULL)
        scene->peer = rig_spawn_fiber(rig, second, scene);
    rig_spawn_fiber(rig, first, scene);
    rig_count(rig, rig_step);
    CHECK(done == rig->ops);
}

/* ---- fibers ---- */

static void end_at_once(jzx_context *ctx) {
    (void)ctx;
}

static void spawn_and_join(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    for (; done < scene->ops; done++) {
        jzx_actor_id id;
        CHECK(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = end_at_once), &id) == JZX_OK);
        CHECK(jzx_join(ctx, id, JZX_NEVER, NULL) == JZX_OK);
    }
}

static void run_fiber_spawn(struct rig *rig) {
    struct scene scene = {.ops = rig->ops};
    run_fibers(rig, &scene, spawn_and_join, NULL);
}

static void yield_on(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    for (; done < scene->ops; done++)
        CHECK(jzx_yield(ctx) == JZX_OK);
}

/* When one fiber counts the last yield the other is in a yield, which it counts as well. */
static void run_fiber_yield(struct rig *rig) {
    struct scene scene = {.ops = rig->ops - 1};
    run_fibers(rig, &scene, yield_on, yield_on);
}

static void begin_trips(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    jzx_message msg;
    while (done < scene->ops) {
        send_value(ctx, scene->peer, 0, 0);
        CHECK(jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK);
        done += 2;
    }
}

static void answer_trips(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    jzx_message msg;
    for (uint64_t i = 0; i < scene->ops; i += 2) {
        CHECK(jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK);
        send_value(ctx, msg.sender, 0, 0);
    }
}

static void run_fiber_trip(struct rig *rig) {
    struct scene scene = {.ops = rig->ops};
    run_fibers(rig, &scene, begin_trips, answer_trips);
}

static jzx_behavior_result answer(jzx_context *ctx, const jzx_message *msg) {
    CHECK(jzx_reply(ctx, msg, msg->data, msg->len, 0) == JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void call_again(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    jzx_message msg;
    for (; done < scene->ops; done++)
        CHECK(jzx_call(ctx, scene->peer, &done, sizeof done, 0, JZX_NEVER, &msg) == JZX_OK);
    CHECK(jzx_actor_stop(ctx->loop, scene->peer, JZX_STOP_AFTER_MESSAGE) == JZX_OK);
}

static void run_fiber_call(struct rig *rig) {
    struct scene scene = {.ops = rig->ops, .peer = rig_spawn(rig, answer, NULL)};
    run_fibers(rig, &scene, call_again, NULL);
}

/* ---- async functions ---- */

struct call {
    uint64_t left;
    uint64_t value;
    uint64_t sum;
    jzx_future *future;
    jzx_promise *promise; /* of the other function's future */
    jzx_await_op op;
};

static void run_async(struct rig *rig, jzx_future *future, uint64_t result) {
    uint64_t value = 0;
    rig_count(rig, rig_step);
    CHECK(jzx_future_try(future, &value) == JZX_OK);
    CHECK(value == result);
    jzx_future_release(future);
}

JZX_ASYNC(give_one, uint64_t, uint64_t) {
    JZX_RETURN(*self);
}
JZX_END

JZX_ASYNC(join_each, struct call, uint64_t) {
    for (; self->left != 0; self->left--) {
        CHECK(give_one_spawn(ctx->loop, 1, &self->future) == JZX_OK);
        JZX_AWAIT(jzx_op_consume(&self->op, self->future, JZX_NEVER), &self->value);
        self->sum += self->value;
    }
    JZX_RETURN(self->sum);
}
JZX_END

static void run_async_spawn(struct rig *rig) {
    jzx_future *future;
    CHECK(join_each_spawn(rig->loop, (struct call){.left = rig->ops}, &future) == JZX_OK);
    run_async(rig, future, rig->ops);
}

JZX_ASYNC(await_ready, struct call, uint64_t) {
    for (; self->left != 0; self->left--) {
        JZX_AWAIT(jzx_op_await(&self->op, self->future, JZX_NEVER), &self->value);
        self->sum += self->value;
    }
    JZX_RETURN(self->sum);
}
JZX_END

static void run_await_ready(struct rig *rig) {
    const uint64_t one = 1;
    struct call call = {.left = rig->ops};
    jzx_future *future;
    CHECK(jzx_future_resolved(rig->loop, &one, sizeof one, &call.future) == JZX_OK);
    CHECK(await_ready_spawn(rig->loop, call, &future) == JZX_OK);
    run_async(rig, future, rig->ops);
    jzx_future_release(call.future);
}

/* The value of each future is the promise of the next, which its receiver resolves. */
JZX_ASYNC(await_and_keep, struct call, uint64_t) {
    for (; self->left != 0; self->left--) {
        JZX_AWAIT(jzx_op_consume(&self->op, self->future, JZX_NEVER), &self->promise);
        jzx_promise *mine;
        CHECK(jzx_promise_create(ctx->loop, sizeof mine, &mine, &self->future) == JZX_OK);
        CHECK(jzx_promise_resolve(self->promise, &mine) == JZX_OK);
        self->sum++;
    }
    jzx_future_detach(self->future);
    JZX_RETURN(self->sum);
}
JZX_END

static void run_await_pending(struct rig *rig) {
    jzx_promise *promises[2];
    jzx_future *ends[2];
    for (unsigned i = 0; i < 2; i++) {
        struct call call = {.left = rig->ops / 2};
        CHECK(jzx_promise_create(rig->loop, sizeof(jzx_promise *), &promises[i], &call.future) ==
              JZX_OK);
        CHECK(await_and_keep_spawn(rig->loop, call, &ends[i]) == JZX_OK);
    }
    rig_step(rig);
    CHECK(jzx_promise_resolve(promises[0], &promises[1]) == JZX_OK);
    run_async(rig, ends[0], rig->ops / 2);
    uint64_t value = 0;
    CHECK(jzx_future_try(ends[1], &value) == JZX_OK);
    CHECK(value == rig->ops / 2);
    jzx_future_release(ends[1]);
}

/* ---- locks and channels ---- */

static void lock_and_unlock(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    for (; done < scene->ops; done++) {
        CHECK(jzx_mutex_lock(ctx, &scene->mutex, JZX_NEVER) == JZX_OK);
        CHECK(jzx_mutex_unlock(ctx, &scene->mutex) == JZX_OK);
    }
}

/* Yields while it has the mutex, so that the other waits every time. */
static void lock_and_yield(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    while (done < scene->ops) {
        CHECK(jzx_mutex_lock(ctx, &scene->mutex, JZX_NEVER) == JZX_OK);
        done++;
        CHECK(jzx_yield(ctx) == JZX_OK);
        CHECK(jzx_mutex_unlock(ctx, &scene->mutex) == JZX_OK);
    }
}

static void acquire_and_release(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    for (; done < scene->ops; done++) {
        CHECK(jzx_semaphore_acquire(ctx, &scene->semaphore, 1, JZX_NEVER) == JZX_OK);
        CHECK(jzx_semaphore_release(ctx, &scene->semaphore, 1) == JZX_OK);
    }
}

static void send_numbers(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    for (uint64_t i = 0; i < scene->ops; i++)
        CHECK(number_channel_send(ctx, &scene->channel, i, JZX_NEVER) == JZX_OK);
}

static void receive_numbers(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    uint64_t value;
    for (; done < scene->ops; done++) {
        CHECK(number_channel_receive(ctx, &scene->channel, JZX_NEVER, &value) == JZX_OK);
        CHECK(value == done);
    }
}

static void run_mutex_of(struct rig *rig, uint64_t ops, jzx_fiber_fn first, jzx_fiber_fn second) {
    struct scene scene = {.ops = ops};
    CHECK(jzx_mutex_init(rig->loop, &scene.mutex) == JZX_OK);
    run_fibers(rig, &scene, first, second);
    CHECK(jzx_mutex_deinit(&scene.mutex) == JZX_OK);
}

static void run_mutex(struct rig *rig) {
    run_mutex_of(rig, rig->ops, lock_and_unlock, NULL);
}

/* The fiber that waits when the other has counted enough gets the mutex, and counts once more. */
static void run_mutex_wait(struct rig *rig) {
    run_mutex_of(rig, rig->ops - 1, lock_and_yield, lock_and_yield);
}

static void run_semaphore(struct rig *rig) {
    struct scene scene = {.ops = rig->ops};
    CHECK(jzx_semaphore_init(rig->loop, &scene.semaphore, 4, 4) == JZX_OK);
    run_fibers(rig, &scene, acquire_and_release, NULL);
    CHECK(jzx_semaphore_deinit(&scene.semaphore) == JZX_OK);
}

static void run_channel(struct rig *rig) {
    struct scene scene = {.ops = rig->ops};
    CHECK(number_channel_init(rig->loop, &scene.channel, BATCH) == JZX_OK);
    run_fibers(rig, &scene, receive_numbers, send_numbers);
    CHECK(number_channel_deinit(&scene.channel) == JZX_OK);
}

const struct row fiber_rows[] = {
    {"fiber-spawn", "fiber spawned and joined by another", 4096, run_fiber_spawn, false},
    {"fiber-yield", "jzx_yield to another fiber", 4096, run_fiber_yield, false},
    {"fiber-trip", "message of a round trip between two fibers", 4096, run_fiber_trip, false},
    {"fiber-call", "jzx_call of a behaviour", 4096, run_fiber_call, false},
    {"async-spawn", "async function spawned and joined", 4096, run_async_spawn, false},
    {"await-ready", "await of a future that is settled", 8192, run_await_ready, false},
    {"await-pending", "promise made, sent, kept and awaited by another", 4096, run_await_pending,
     false},
    {"mutex", "lock and unlock of a mutex that is free", 8192, run_mutex, false},
    {"mutex-wait", "wait for a mutex that another fiber has, and unlock", 4096, run_mutex_wait,
     false},
    {"semaphore", "permit of four taken and given back", 8192, run_semaphore, false},
    {"channel", "value through a channel of 64, fiber to fiber", 4096, run_channel, false},
    {NULL, NULL, 0, NULL, false},
};
