/* SPDX-License-Identifier: MIT */
/* The calls: pools of a loop, and jobs. What a pool does with a job is in workforce.c. */
#include "io/blocking.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "fiber/fiber.h"
#include "fiber/operate.h"
#include "future/operate.h"
#include "io/workforce.h"

#include "jzx/config.h"
#include "jzx/time.h"

#include <string.h>

static struct jzx__blocking *blocking_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_BLOCKING];
}

/* ---- pools ---- */

jzx_err jzx_blocking_opts_init(jzx_blocking_opts *opts, size_t size) {
    const jzx_blocking_opts defaults =
        JZX_BLOCKING_OPTS(.threads_max = JZX_DEFAULT_BLOCKING_THREADS,
                          .queue_max = JZX_DEFAULT_BLOCKING_QUEUE,
                          .idle_ns = JZX_DEFAULT_BLOCKING_IDLE_NS);
    return jzx__init_sized(opts, size, &defaults, sizeof defaults) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

/* Zero fields become the defaults. False if one is wrong. */
static bool settle_opts(jzx_blocking_opts *opts) {
    if (opts->threads_max == 0)
        opts->threads_max = JZX_DEFAULT_BLOCKING_THREADS;
    if (opts->queue_max == 0)
        opts->queue_max = JZX_DEFAULT_BLOCKING_QUEUE;
    if (opts->queue_max == JZX_NONE)
        opts->queue_max = 0;
    if (opts->idle_ns == 0)
        opts->idle_ns = JZX_DEFAULT_BLOCKING_IDLE_NS;
    return opts->name != NULL && opts->name[0] != '\0' &&
           strlen(opts->name) <= JZX_BLOCKING_NAME_MAX &&
           opts->threads_max <= JZX_BLOCKING_THREADS_MAX;
}

/* Under the lock. */
static struct jzx_blocking_pool *find(const struct jzx__blocking *blocking, const char *name) {
    struct jzx_blocking_pool *pool = blocking->pools;
    while (pool != NULL && strcmp(pool->name, name) != 0)
        pool = pool->next;
    return pool;
}

/* The options are settled. Under the lock, which is the allocator's, too, for that moment. */
static jzx_err add(struct jzx_loop *loop, const jzx_blocking_opts *opts,
                   struct jzx_blocking_pool **pool) {
    struct jzx__blocking *blocking = blocking_of(loop);
    if (blocking->is_halted)
        return JZX_ERR_LOOP_CLOSED; /* J6 */
    if (find(blocking, opts->name) != NULL)
        return JZX_ERR_EXISTS;
    struct jzx_blocking_pool *made = jzx__alloc(&loop->sched.allocator, sizeof *made);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx__workforce_init(made, loop, opts);
    made->next = blocking->pools;
    blocking->pools = made;
    if (strcmp(opts->name, JZX_BLOCKING_DEFAULT) == 0) {
        /* release: pairs with the acquire in usual_pool; publishes the pool */
        jzx__atomic_store_release(&blocking->usual, made);
    }
    *pool = made;
    return JZX_OK;
}

jzx_err jzx_blocking_pool_create(jzx_loop *loop, const jzx_blocking_opts *opts,
                                 jzx_blocking_pool **pool) {
    jzx_blocking_opts full;
    struct jzx_blocking_pool *made;
    if (loop == NULL || !jzx__read_sized(&full, sizeof full, opts) || !settle_opts(&full))
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    (void)jzx__loop_visit(loop, &visit); /* S4 of seat.h, as below */
    jzx__lock_acquire(&blocking_of(loop)->lock);
    jzx_err err = add(loop, &full, &made);
    jzx__lock_release(&blocking_of(loop)->lock);
    jzx__visit_end(&visit);
    if (err == JZX_OK && pool != NULL)
        *pool = made;
    return err;
}

jzx_blocking_pool *jzx_blocking_pool_find(jzx_loop *loop, const char *name) {
    struct jzx__visit visit;
    if (loop == NULL || name == NULL)
        return NULL;
    (void)jzx__loop_visit(loop, &visit);
    jzx__lock_acquire(&blocking_of(loop)->lock);
    struct jzx_blocking_pool *pool = find(blocking_of(loop), name);
    jzx__lock_release(&blocking_of(loop)->lock);
    jzx__visit_end(&visit);
    return pool;
}

jzx_err jzx_blocking_pool_stats(jzx_blocking_pool *pool, jzx_blocking_stats *stats) {
    struct jzx__visit visit;
    if (pool == NULL || !jzx__is_sized(stats, sizeof *stats))
        return JZX_ERR_INVALID_ARG;
    (void)jzx__loop_visit(pool->loop, &visit);
    jzx__lock_acquire(&pool->lock);
    const jzx_blocking_stats now = {.threads = pool->thread_count,
                                    .idle = pool->idle_count,
                                    .queued = pool->queue_count,
                                    .started = pool->started,
                                    .cancelled = pool->cancelled,
                                    .refused = pool->refused,
                                    .threads_started = pool->threads_started};
    jzx__lock_release(&pool->lock);
    jzx__visit_end(&visit);
    jzx__write_sized(stats, &now);
    return JZX_OK;
}

/* The default pool, which is made when it is needed. */
static jzx_err usual_pool(struct jzx_loop *loop, struct jzx_blocking_pool **pool) {
    struct jzx__blocking *blocking = blocking_of(loop);
    /* acquire: pairs with the release in add */
    *pool = jzx__atomic_load_acquire(&blocking->usual);
    if (JZX_LIKELY(*pool != NULL))
        return JZX_OK;
    jzx_blocking_opts opts = JZX_BLOCKING_OPTS(.name = JZX_BLOCKING_DEFAULT);
    (void)settle_opts(&opts);
    jzx__lock_acquire(&blocking->lock);
    jzx_err err = add(loop, &opts, pool);
    if (err == JZX_ERR_EXISTS) {
        *pool = find(blocking, JZX_BLOCKING_DEFAULT); /* another thread was faster */
        err = JZX_OK;
    }
    jzx__lock_release(&blocking->lock);
    return err;
}

/* ---- jobs ---- */

static const struct jzx__op_ops job_ops = {.cancel = jzx__workforce_cancel};

/* What a call asks for. */
struct request {
    struct jzx_blocking_pool *pool; /* NULL: the default one */
    jzx_blocking_fn fn;
    void *arg;        /* if there is no copy */
    const void *data; /* to be copied, or NULL */
    size_t len;
    bool has_copy;
    bool is_waited; /* by the calling fiber */
    uint32_t tag;
};

static bool is_valid(const struct jzx_loop *loop, const struct request *request) {
    return request->fn != NULL && (request->data != NULL || request->len == 0) &&
           (request->pool == NULL || request->pool->loop == loop);
}

static jzx_err pool_of(struct jzx_loop *loop, const struct request *request,
                       struct jzx_blocking_pool **pool) {
    *pool = request->pool;
    return *pool != NULL ? JZX_OK : usual_pool(loop, pool);
}

/* Launches the operation, and gives the job to the pool. */
static jzx_err submit(struct jzx__op *op, const struct request *request,
                      struct jzx_blocking_pool *pool, struct jzx__worker *me) {
    struct jzx__job *job = jzx__op_own(op);
    *job = (struct jzx__job){.pool = pool,
                             .fn = request->fn,
                             .arg = request->has_copy ? jzx__op_data(op) : request->arg};
    if (request->len != 0)
        memcpy(jzx__op_data(op), request->data, request->len);
    jzx__op_launch(op);
    return jzx__workforce_submit(pool, job, me);
}

static jzx_err begin(struct jzx__own *own, const struct request *request, struct jzx__op **op) {
    struct jzx_blocking_pool *pool;
    const struct jzx__op_spec spec = {.ops = &job_ops,
                                      .capacity = request->len,
                                      .tag = request->tag,
                                      .is_waited = request->is_waited,
                                      .borrows = request->is_waited && !request->has_copy};
    jzx_err err = pool_of(own->turn->ctx.loop, request, &pool);
    if (err == JZX_OK)
        err = jzx__op_begin(own, &spec, op);
    if (err != JZX_OK)
        return err;
    err = submit(*op, request, pool, own->me);
    if (err != JZX_OK)
        jzx__op_undo(own, *op);
    return err;
}

/* The operation is the actor's, so that the slot stays: *id may be read after it has begun. */
static JZX_ACROSS_WAIT jzx_err start(jzx_context *ctx, const struct request *request,
                                     struct jzx__op **op, jzx_op *id) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = is_valid(ctx->loop, request) ? begin(&own, request, op) : JZX_ERR_INVALID_ARG;
    if (err == JZX_OK && id != NULL)
        *id = jzx__op_id(*op);
    jzx__own_end(&own);
    return err;
}

jzx_err jzx_blocking_to(jzx_context *ctx, jzx_blocking_fn fn, void *arg, uint32_t tag, jzx_op *op) {
    struct jzx__op *made;
    const struct request request = {.fn = fn, .arg = arg, .tag = tag};
    return start(ctx, &request, &made, op);
}

jzx_err jzx_blocking_copy_to(jzx_context *ctx, jzx_blocking_pool *pool, jzx_blocking_fn fn,
                             const void *data, size_t len, uint32_t tag, jzx_op *op) {
    struct jzx__op *made;
    const struct request request = {
        .pool = pool, .fn = fn, .data = data, .len = len, .has_copy = true, .tag = tag};
    return start(ctx, &request, &made, op);
}

/* ---- a fiber waits ---- */

/* result: where the data of a copy go, or NULL. */
static jzx_err wait_for(jzx_context *ctx, const struct request *request, uint64_t deadline_ns,
                        void *result) {
    struct jzx__op *op;
    if (!jzx__fiber_may_wait(ctx))
        return jzx__fiber_refuse(ctx, request->has_copy ? "jzx_blocking_copy" : "jzx_blocking");
    if (deadline_ns != JZX_NEVER && deadline_ns <= jzx_loop_now(ctx->loop))
        return is_valid(ctx->loop, request) ? JZX_ERR_TIMEOUT : JZX_ERR_INVALID_ARG;
    jzx_err err = start(ctx, request, &op, NULL);
    return err != JZX_OK ? err : jzx__fiber_operate(ctx, op, deadline_ns, result, NULL);
}

jzx_err jzx_blocking(jzx_context *ctx, jzx_blocking_fn fn, void *arg, uint64_t deadline_ns) {
    const struct request request = {.fn = fn, .arg = arg, .is_waited = true};
    return wait_for(ctx, &request, deadline_ns, NULL);
}

jzx_err jzx_blocking_copy(jzx_context *ctx, jzx_blocking_pool *pool, jzx_blocking_fn fn, void *data,
                          size_t len, uint64_t deadline_ns) {
    const struct request request = {
        .pool = pool, .fn = fn, .data = data, .len = len, .has_copy = true, .is_waited = true};
    return wait_for(ctx, &request, deadline_ns, data);
}

/* ---- as a future ---- */

static jzx_err begin_async(struct jzx_loop *loop, struct jzx__worker *me,
                           const struct request *request, struct jzx_future **future) {
    struct jzx__op *op;
    struct jzx_blocking_pool *pool;
    const struct jzx__future_op what = {.ops = &job_ops, .capacity = request->len};
    jzx_err err = pool_of(loop, request, &pool);
    if (err == JZX_OK)
        err = jzx__future_operate(loop, me, &what, &op, future);
    if (err != JZX_OK)
        return err;
    err = submit(op, request, pool, me);
    if (err != JZX_OK)
        jzx__future_undo(op, me);
    return err;
}

static jzx_err start_async(jzx_loop *loop, const struct request *request, jzx_future **future) {
    struct jzx__visit visit;
    struct jzx_future *made;
    if (loop == NULL || future == NULL || !is_valid(loop, request))
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = begin_async(loop, me, request, &made);
    jzx__visit_end(&visit);
    if (err == JZX_OK)
        *future = made;
    return err;
}

jzx_err jzx_blocking_async(jzx_loop *loop, jzx_blocking_fn fn, void *arg, jzx_future **future) {
    const struct request request = {.fn = fn, .arg = arg};
    return start_async(loop, &request, future);
}

jzx_err jzx_blocking_copy_async(jzx_loop *loop, jzx_blocking_pool *pool, jzx_blocking_fn fn,
                                const void *data, size_t len, jzx_future **future) {
    const struct request request = {
        .pool = pool, .fn = fn, .data = data, .len = len, .has_copy = true};
    return start_async(loop, &request, future);
}

/* ---- the part of a loop ---- */

static bool open_blocking(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    struct jzx__blocking *blocking = jzx__alloc(&loop->sched.allocator, sizeof *blocking);
    if (blocking == NULL)
        return false;
    memset(blocking, 0, sizeof *blocking);
    jzx__lock_init(&blocking->lock);
    blocking->has_cpus = sched_getaffinity(0, sizeof blocking->cpus, &blocking->cpus) == 0;
    loop->parts[JZX__PART_BLOCKING] = blocking;
    return true;
}

static bool join_pools(struct jzx_blocking_pool *pools) {
    bool joined = false;
    for (struct jzx_blocking_pool *pool = pools; pool != NULL; pool = pool->next)
        joined |= jzx__workforce_join(pool);
    return joined;
}

static void halt(struct jzx_loop *loop, struct jzx__worker *me) {
    struct jzx__blocking *blocking = blocking_of(loop);
    jzx__lock_acquire(&blocking->lock);
    blocking->is_halted = true; /* J6: the list does not change any more */
    jzx__lock_release(&blocking->lock);
    for (struct jzx_blocking_pool *pool = blocking->pools; pool != NULL; pool = pool->next)
        jzx__workforce_halt(pool, me);
    while (join_pools(blocking->pools))
        continue;
}

static void close_blocking(struct jzx_loop *loop) {
    struct jzx__blocking *blocking = blocking_of(loop);
    while (blocking->pools != NULL) {
        struct jzx_blocking_pool *pool = blocking->pools;
        blocking->pools = pool->next;
        jzx__workforce_deinit(pool);
        jzx__free(&loop->sched.allocator, pool, sizeof *pool);
    }
    jzx__lock_deinit(&blocking->lock);
    jzx__free(&loop->sched.allocator, blocking, sizeof *blocking);
    loop->parts[JZX__PART_BLOCKING] = NULL;
}

const struct jzx__part_ops jzx__part_blocking = {
    .open = open_blocking, .halt = halt, .close = close_blocking};
