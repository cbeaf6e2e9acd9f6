/* SPDX-License-Identifier: MIT */
/* A request in three ways: for a fiber that waits, by a message, as a future. And the way to the
 * back ends that carry requests out: io_uring (uring.h), and the pool of threads. */
#include "file/start.h"

#include "base/alloc.h"
#include "base/size.h"
#include "fiber/fiber.h"
#include "fiber/operate.h"
#include "file/await.h"
#include "file/execute.h"
#include "file/uring.h"
#include "future/operate.h"
#include "io/workforce.h"

#include <fcntl.h>
#include <string.h>

/* ---- the back ends ---- */

/* Under the lock of the making: makes it, or finds the one that the program has made, which then
 * has all requests unless io_uring was asked for by name. */
static jzx_err make_pool(struct jzx_loop *loop, struct jzx__files *files,
                         struct jzx_blocking_pool **pool) {
    const jzx_blocking_opts opts =
        JZX_BLOCKING_OPTS(.name = JZX_FILE_POOL, .threads_max = JZX_DEFAULT_FILE_THREADS);
    jzx_err err = jzx_blocking_pool_create(loop, &opts, pool);
    if (err == JZX_ERR_EXISTS) {
        *pool = jzx_blocking_pool_find(loop, JZX_FILE_POOL);
        err = JZX_OK;
        if (jzx__io_of(loop)->backend != JZX_IO_URING)
            /* relaxed: published with the pool, below */
            jzx__atomic_store_relaxed(&files->is_pool_only, 1u);
    }
    if (err == JZX_OK)
        /* release: pairs with the acquire in pool_of; the pool is there */
        jzx__atomic_store_release(&files->pool, *pool);
    return err;
}

/* JZX_FILE_POOL, made when it is needed. */
static jzx_err pool_of(struct jzx_loop *loop, struct jzx_blocking_pool **pool) {
    struct jzx__files *files = jzx__files_of(loop);
    jzx_err err = JZX_OK;
    /* acquire: pairs with the release in make_pool */
    *pool = jzx__atomic_load_acquire(&files->pool);
    if (JZX_LIKELY(*pool != NULL))
        return JZX_OK;
    jzx__lock_acquire(&files->making);
    /* relaxed: written under the lock */
    *pool = jzx__atomic_load_relaxed(&files->pool);
    if (*pool == NULL)
        err = make_pool(loop, files, pool);
    jzx__lock_release(&files->making);
    return err;
}

static jzx_err execute(void *arg) {
    struct jzx__file_request *request = arg;
    jzx__file_execute(request);
    return request->err;
}

static bool opens(const struct jzx__file_request *request) {
    return request->what == JZX__FILE_DO_OPEN || request->what == JZX__FILE_DO_TEMPORARY;
}

static bool uses_position(const struct jzx__file_request *request) {
    return (request->what == JZX__FILE_DO_READ || request->what == JZX__FILE_DO_WRITE) &&
           request->offset == JZX_FILE_HERE;
}

/* What is none is read in another way (uring/U5, await.h). The system knows it of a file that it
 * has just opened. */
static bool is_regular(const struct jzx__file_request *request) {
    struct stat stat;
    return request->fd >= 0 && request->os->stat(request->fd, &stat) == 0 && S_ISREG(stat.st_mode);
}

/* Gives its file up (R1). */
static void leave_file(struct jzx__file_request *request, bool ran) {
    if (request->file == NULL)
        return;
    if (opens(request))
        jzx__file_opened(request->file, ran ? request->fd : -1, ran && is_regular(request));
    else
        jzx__file_unuse(request->file, uses_position(request));
    request->file = NULL;
}

/* What an operation that opens a file for a future has come to is nobody's: if nobody will hear of
 * it, it is closed. */
static void close_unwanted(const struct jzx__op *op, const struct jzx__file_request *request) {
    if (opens(request) && request->err == JZX_OK && op->has_target &&
        !jzx_promise_is_wanted((const jzx_promise *)op->target.who))
        (void)jzx_file_close(op->loop, request->handle);
}

/* What its data are: *data is NULL if they are in place. */
static size_t data_of(const struct jzx__file_request *request, const void **data) {
    *data = NULL;
    switch (request->what) {
    case JZX__FILE_DO_OPEN:
    case JZX__FILE_DO_TEMPORARY:
        *data = &request->handle;
        return request->err == JZX_OK ? sizeof request->handle : 0;
    case JZX__FILE_DO_WRITE: *data = &request->count; return sizeof request->count;
    case JZX__FILE_DO_READ:
    case JZX__FILE_DO_LIST:
    case JZX__FILE_DO_STAT:
    case JZX__FILE_DO_STAT_PATH: return request->err == JZX_OK ? request->count : 0;
    default: return 0;
    }
}

static void free_block(struct jzx_loop *loop, struct jzx__file_request *request) {
    jzx__free(&loop->sched.allocator, request, request->block_size);
}

static void done(struct jzx__job *job, struct jzx__worker *me, jzx_err err, bool ran) {
    struct jzx__file_request *request = job->arg;
    struct jzx__op *op = jzx__op_of_own(job);
    struct jzx_loop *loop = op->loop;
    const void *data = NULL;
    bool has_block = request->block_size != 0;
    if (!ran) {
        request->err = err;
        request->count = 0;
    }
    leave_file(request, ran);
    close_unwanted(op, request);
    size_t len = has_block && ran ? data_of(request, &data) : 0;
    if (ran)
        jzx__op_set_os_error(op, request->os_error);
    jzx__op_complete(op, me, request->err, data, len); /* one of a fiber may be gone with it */
    if (has_block)
        free_block(loop, request);
}

static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx__file_own *own = jzx__op_own(op);
    /* acquire: pairs with the release of who has given it to a back end */
    struct jzx__uring *uring = jzx__atomic_load_acquire(&own->ring);
    if (uring != NULL)
        jzx__uring_cancel(uring, op);
    else
        jzx__workforce_cancel(op, me);
    jzx__file_stop_wait(op->loop, op);
}

static const struct jzx__op_ops ops = {.cancel = cancel};

/* Launches the operation for the request, which comes back by done. */
static jzx_err submit(struct jzx__op *op, struct jzx__file_request *request,
                      struct jzx_blocking_pool *pool, struct jzx__worker *me) {
    struct jzx__file_own *own = jzx__op_own(op);
    request->op = op;
    own->job = (struct jzx__job){.pool = pool, .fn = execute, .arg = request, .done = done};
    /* relaxed: nobody can cancel it before it is launched */
    jzx__atomic_store_relaxed(&own->ring, NULL);
    jzx__op_launch(op);
    return jzx__uring_start(op, request, me) ? JZX_OK : jzx__workforce_submit(pool, &own->job, me);
}

/* ---- before ---- */

/* Its table of calls, and its use of a file (R1). */
static jzx_err prepare(struct jzx_loop *loop, struct jzx__own *own,
                       struct jzx__file_request *request) {
    request->os = jzx__files_of(loop)->os;
    request->file = NULL;
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    if (opens(request)) {
        request->file = jzx__file_create(loop, own);
        if (request->file == NULL)
            return JZX_ERR_NO_MEMORY;
        request->file->is_readable = (request->flags & O_ACCMODE) != O_WRONLY;
        request->handle = jzx__file_handle(request->file);
        return JZX_OK;
    }
    if (request->path != NULL)
        return JZX_OK;
    return jzx__file_use(loop, request->handle, uses_position(request), &request->file);
}

static size_t text_size(const char *text) {
    return text == NULL ? 0 : strlen(text) + 1;
}

static size_t given_size(const struct jzx__file_request *request) {
    size_t size = 0;
    bool has_parts = request->what == JZX__FILE_DO_WRITE || request->what == JZX__FILE_DO_REPLACE;
    for (uint32_t i = 0; has_parts && i < request->part_count; i++)
        size += request->parts[i].iov_len;
    return size;
}

static const char *copy_text(char **place, const char *text) {
    size_t size = text_size(text);
    const char *copy = *place;
    if (size != 0)
        memcpy(*place, text, size);
    *place += size;
    return text == NULL ? NULL : copy;
}

/* The pieces become one. */
static void copy_parts(struct jzx__file_request *copy, char *place, size_t size) {
    const struct iovec *parts = copy->parts;
    copy->part = (struct iovec){place, size};
    for (uint32_t i = 0; size != 0 && i < copy->part_count; i++) {
        if (parts[i].iov_len != 0)
            memcpy(place, parts[i].iov_base, parts[i].iov_len);
        place += parts[i].iov_len;
    }
    copy->parts = &copy->part;
    copy->part_count = 1;
}

/* Of the block. False if it is no size. */
static bool copy_size(const struct jzx__file_request *request, size_t given, size_t *size) {
    *size = sizeof *request;
    return jzx__size_add(size, text_size(request->path)) &&
           jzx__size_add(size, text_size(request->other)) && jzx__size_add(size, given);
}

/* A block with all that the request points to (R2); NULL without memory. */
static struct jzx__file_request *copy_request(struct jzx_loop *loop,
                                              const struct jzx__file_request *request) {
    size_t given = given_size(request);
    size_t size;
    if (!copy_size(request, given, &size))
        return NULL;
    struct jzx__file_request *copy = jzx__alloc(&loop->sched.allocator, size);
    if (copy == NULL)
        return NULL;
    *copy = *request;
    copy->block_size = size;
    char *place = (char *)(copy + 1);
    copy->path = copy_text(&place, request->path);
    copy->other = copy_text(&place, request->other);
    copy_parts(copy, place, given);
    return copy;
}

static size_t capacity_of(const struct jzx__file_request *request) {
    switch (request->what) {
    case JZX__FILE_DO_OPEN:
    case JZX__FILE_DO_TEMPORARY: return sizeof request->handle;
    case JZX__FILE_DO_WRITE: return sizeof request->count;
    case JZX__FILE_DO_STAT:
    case JZX__FILE_DO_STAT_PATH: return sizeof(jzx_file_info);
    case JZX__FILE_DO_READ:
    case JZX__FILE_DO_LIST: return request->capacity;
    default: return 0;
    }
}

/* What is read goes to the data of the operation. */
static void aim_at(struct jzx__file_request *request, const struct jzx__op *op) {
    request->data = jzx__op_data(op);
    if (request->what == JZX__FILE_DO_READ)
        request->part = (struct iovec){request->data, request->capacity};
}

/* ---- a fiber waits ---- */

static jzx_err begin_own_wait(struct jzx__own *own, struct jzx__file_request *request,
                              struct jzx__op **op) {
    const struct jzx__op_spec spec = {.ops = &ops, .is_waited = true, .borrows = true};
    struct jzx_blocking_pool *pool;
    jzx_err err = prepare(own->turn->ctx.loop, own, request);
    if (err != JZX_OK)
        return err;
    err = pool_of(own->turn->ctx.loop, &pool);
    if (err == JZX_OK)
        err = jzx__op_begin(own, &spec, op);
    if (err == JZX_OK) {
        err = submit(*op, request, pool, own->me);
        if (err != JZX_OK)
            jzx__op_undo(own, *op);
    }
    if (err != JZX_OK)
        leave_file(request, false);
    return err;
}

static JZX_ACROSS_WAIT jzx_err begin_wait(jzx_context *ctx, struct jzx__file_request *request,
                                          struct jzx__op **op) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = begin_own_wait(&own, request, op);
    jzx__own_end(&own);
    return err;
}

jzx_err jzx__file_wait(jzx_context *ctx, const char *call, struct jzx__file_request *request,
                       uint64_t deadline_ns) {
    struct jzx__op *op;
    request->block_size = 0;
    request->count = 0;
    if (!jzx__fiber_may_wait(ctx))
        return jzx__fiber_refuse(ctx, call);
    if (deadline_ns != JZX_NEVER && deadline_ns <= jzx_loop_now(ctx->loop))
        return JZX_ERR_TIMEOUT;
    jzx_err err = begin_wait(ctx, request, &op);
    return err != JZX_OK ? err : jzx__fiber_operate_fully(ctx, op, deadline_ns);
}

/* ---- by a message ---- */

static jzx_err begin_to(struct jzx__own *own, struct jzx__file_request *request, uint32_t tag,
                        jzx_op *id) {
    const struct jzx__op_spec spec = {.ops = &ops, .capacity = capacity_of(request), .tag = tag};
    struct jzx__op *op;
    struct jzx_blocking_pool *pool;
    jzx_err err = pool_of(own->turn->ctx.loop, &pool);
    if (err == JZX_OK)
        err = jzx__op_begin(own, &spec, &op);
    if (err != JZX_OK)
        return err;
    aim_at(request, op);
    err = submit(op, request, pool, own->me);
    if (err != JZX_OK)
        jzx__op_undo(own, op);
    else if (id != NULL)
        *id = jzx__op_id(op); /* it is LISTED: the slot stays */
    return err;
}

jzx_err jzx__file_start_to(jzx_context *ctx, const struct jzx__file_request *request, uint32_t tag,
                           jzx_op *op) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    struct jzx__file_request *copy = copy_request(ctx->loop, request);
    jzx_err err = copy == NULL ? JZX_ERR_NO_MEMORY : prepare(ctx->loop, &own, copy);
    if (err == JZX_OK)
        err = begin_to(&own, copy, tag, op);
    if (err != JZX_OK && copy != NULL) {
        leave_file(copy, false);
        free_block(ctx->loop, copy);
    }
    jzx__own_end(&own);
    return err;
}

/* ---- as a future ---- */

static jzx_err begin_async(struct jzx_loop *loop, struct jzx__worker *me,
                           struct jzx__file_request *request, struct jzx_future **future) {
    const struct jzx__future_op what = {.ops = &ops,
                                        .capacity = capacity_of(request),
                                        .has_result = request->what == JZX__FILE_DO_READ ||
                                                      request->what == JZX__FILE_DO_LIST};
    struct jzx__op *op;
    struct jzx_blocking_pool *pool;
    jzx_err err = pool_of(loop, &pool);
    if (err == JZX_OK)
        err = jzx__future_operate(loop, me, &what, &op, future);
    if (err != JZX_OK)
        return err;
    aim_at(request, op);
    err = submit(op, request, pool, me);
    if (err != JZX_OK)
        jzx__future_undo(op, me);
    return err;
}

jzx_err jzx__file_start_async(jzx_loop *loop, const struct jzx__file_request *request,
                              jzx_future **future) {
    struct jzx__visit visit;
    struct jzx_future *made;
    if (loop == NULL || future == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx__file_request *copy = copy_request(loop, request);
    jzx_err err = copy == NULL ? JZX_ERR_NO_MEMORY : prepare(loop, NULL, copy);
    if (err == JZX_OK)
        err = begin_async(loop, me, copy, &made);
    if (err != JZX_OK && copy != NULL) {
        leave_file(copy, false);
        free_block(loop, copy);
    }
    jzx__visit_end(&visit);
    if (err == JZX_OK)
        *future = made;
    return err;
}
