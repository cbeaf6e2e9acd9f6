/* SPDX-License-Identifier: MIT */
/* The calls that write to a stream. */
#include "net/start.h"
#include "net/write.h"

#include "fiber/fiber.h"

#include <string.h>

/* What a call asks for. */
struct request {
    enum jzx__write_kind kind;
    const struct iovec *parts;
    size_t part_count;
    int fd;
    uint64_t offset;
    size_t len;
    struct jzx__message *moved; /* that has the data, or NULL */
};

/* Of pieces of data: fills the length. False if they are wrong. */
static bool is_valid(struct request *request) {
    if (request->kind == JZX__WRITE_FILE)
        return request->fd >= 0 && request->len <= (size_t)INT64_MAX &&
               request->offset <= (uint64_t)INT64_MAX - request->len;
    if (request->part_count > JZX_STREAM_PARTS_MAX ||
        (request->parts == NULL && request->part_count != 0))
        return false;
    for (size_t i = 0; i < request->part_count; i++) {
        const struct iovec *part = &request->parts[i];
        if ((part->iov_base == NULL && part->iov_len != 0) ||
            part->iov_len > PTRDIFF_MAX - request->len)
            return false;
        request->len += part->iov_len;
    }
    return true;
}

/* The parts are copied, as a write changes them. */
static void fill(struct jzx__write *write, const struct request *request, struct iovec *parts) {
    *write = (struct jzx__write){.kind = request->kind,
                                 .fd = request->fd,
                                 .offset = (off_t)request->offset,
                                 .parts = parts,
                                 .left = request->len};
    for (size_t i = 0; i < request->part_count; i++) {
        if (request->parts[i].iov_len != 0)
            parts[write->part_count++] = request->parts[i];
    }
}

/* ---- a fiber ---- */

struct fiber_write {
    struct jzx__socket_wait wait;
    struct jzx__write write;
    bool has_begun;
    jzx_err err;
    int os_error;
    struct jzx__source *source; /* where to wait */
};

/* Its place among the others, and its turn if nobody is before it. */
static enum jzx__step queue_up(struct jzx__stream *stream, struct fiber_write *own) {
    if (!own->has_begun) {
        own->err = jzx__stream_write_refusal(stream, &own->os_error);
        if (own->err != JZX_OK)
            return JZX__STEP_FAILED;
        own->has_begun = true;
        own->wait.number = stream->next_number++;
        own->wait.is_shutdown = own->write.kind == JZX__WRITE_SHUTDOWN;
        stream->is_shutting = own->wait.is_shutdown;
        if (jzx__stream_is_free_to_write(stream)) {
            jzx__stream_grant(&stream->socket, &own->wait);
            return JZX__STEP_DONE;
        }
    }
    if (stream->write_err != JZX_OK) {
        own->err = (jzx_err)stream->write_err;
        own->os_error = stream->write_os_error;
        return JZX__STEP_FAILED;
    }
    own->source = &stream->socket.line;
    return own->wait.has_turn ? JZX__STEP_DONE : JZX__STEP_WAIT;
}

/* Under the lock. */
static enum jzx__step go_on(struct jzx__stream *stream, struct jzx__worker *me,
                            struct fiber_write *own, struct jzx__done *done) {
    enum jzx__step step = queue_up(stream, own);
    if (!own->wait.has_turn)
        return step;
    step = jzx__write_try(stream, &own->write);
    own->wait.done = own->write.done;
    own->source = &stream->socket.writers;
    if (step == JZX__STEP_WAIT)
        return step;
    own->wait.has_turn = false;
    own->err = step == JZX__STEP_DONE ? JZX_OK : (jzx_err)stream->write_err;
    own->os_error = step == JZX__STEP_DONE ? 0 : stream->write_os_error;
    jzx__stream_end_turn(stream, me, own->write.done, step == JZX__STEP_DONE, done);
    return step;
}

static JZX_ACROSS_WAIT enum jzx__step step(jzx_context *ctx, jzx_stream handle,
                                           struct fiber_write *own) {
    struct jzx__own turn;
    struct jzx__done done = {.first = NULL};
    enum jzx__step result = JZX__STEP_FAILED;
    own->err = JZX_ERR_INVALID_ARG;
    if (!jzx__own_begin(&turn, ctx))
        return result;
    struct jzx__stream *stream = jzx__stream_acquire(ctx->loop, handle, &own->err, &own->os_error);
    if (stream != NULL) {
        result = go_on(stream, turn.me, own, &done);
        jzx__socket_release(&stream->socket, turn.me, &done);
    }
    if (result == JZX__STEP_FAILED && own->os_error != 0)
        turn.turn->os_error = own->os_error;
    jzx__own_end(&turn);
    return result;
}

/* Its wait has ended without anything. */
static JZX_ACROSS_WAIT void give_up(jzx_context *ctx, jzx_stream handle, struct fiber_write *own) {
    struct jzx__own turn;
    struct jzx__done done = {.first = NULL};
    jzx_err err;
    int os_error;
    if (!jzx__own_begin(&turn, ctx))
        return;
    struct jzx__stream *stream = jzx__stream_acquire(ctx->loop, handle, &err, &os_error);
    if (stream != NULL) {
        if (own->wait.is_shutdown)
            stream->is_shutting = false;
        if (own->wait.has_turn)
            jzx__stream_end_turn(stream, turn.me, own->write.done, false, &done);
        jzx__socket_release(&stream->socket, turn.me, &done);
    }
    jzx__own_end(&turn);
}

/* The request has its length. */
static jzx_err write_in_fiber(jzx_context *ctx, jzx_stream handle, const struct request *request,
                              struct iovec *parts, uint64_t deadline_ns, size_t *sent) {
    struct fiber_write own = {.wait = {.handle = handle}};
    fill(&own.write, request, parts);
    for (;;) {
        enum jzx__step result = step(ctx, handle, &own);
        if (result == JZX__STEP_DONE && sent != NULL)
            *sent = own.write.done;
        if (result != JZX__STEP_WAIT)
            return own.err;
        jzx_err err = jzx__socket_await(ctx, &own.wait, own.source, deadline_ns);
        if (err != JZX_OK) {
            give_up(ctx, handle, &own);
            return err;
        }
    }
}

jzx_err jzx_stream_write(jzx_context *ctx, jzx_stream stream, const void *buf, size_t len,
                         uint64_t deadline_ns) {
    struct iovec part = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
    struct iovec copy;
    struct request request = {.parts = &part, .part_count = 1};
    jzx_err err = jzx__fiber_take_turn(ctx, "jzx_stream_write");
    if (err != JZX_OK)
        return err;
    return is_valid(&request) ? write_in_fiber(ctx, stream, &request, &copy, deadline_ns, NULL)
                              : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_stream_writev(jzx_context *ctx, jzx_stream stream, const struct iovec *parts,
                          size_t count, uint64_t deadline_ns) {
    struct iovec copies[JZX_STREAM_PARTS_MAX];
    struct request request = {.parts = parts, .part_count = count};
    jzx_err err = jzx__fiber_take_turn(ctx, "jzx_stream_writev");
    if (err != JZX_OK)
        return err;
    return is_valid(&request) ? write_in_fiber(ctx, stream, &request, copies, deadline_ns, NULL)
                              : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_stream_sendfile(jzx_context *ctx, jzx_stream stream, int fd, uint64_t offset,
                            size_t len, uint64_t deadline_ns, size_t *sent) {
    struct request request = {.kind = JZX__WRITE_FILE, .fd = fd, .offset = offset, .len = len};
    jzx_err err = jzx__fiber_take_turn(ctx, "jzx_stream_sendfile");
    if (err != JZX_OK)
        return err;
    return is_valid(&request) ? write_in_fiber(ctx, stream, &request, NULL, deadline_ns, sent)
                              : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_stream_shutdown(jzx_context *ctx, jzx_stream stream, uint64_t deadline_ns) {
    const struct request request = {.kind = JZX__WRITE_SHUTDOWN};
    jzx_err err = jzx__fiber_take_turn(ctx, "jzx_stream_shutdown");
    return err != JZX_OK ? err : write_in_fiber(ctx, stream, &request, NULL, deadline_ns, NULL);
}

/* ---- by a message, by a future, without a completion ---- */

/* What an operation keeps in its slot. */
struct write_op {
    struct jzx__socket_op base;
    struct jzx__write *write; /* while it is pending */
};

_Static_assert(sizeof(struct write_op) <= JZX__OP_OWN_SIZE, "has its place in the slot");

static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct write_op *own = jzx__op_own(op);
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(own->base.socket);
    if (own->base.is_pending)
        (void)jzx__stream_cancel_write(jzx__stream_of(own->base.socket), me, own->write, &done);
    jzx__socket_release(own->base.socket, me, &done);
}

static const struct jzx__op_ops write_ops = {.cancel = cancel};

static void copy_parts(char *to, const struct jzx__write *from) {
    for (size_t i = 0; i < from->part_count; i++) {
        memcpy(to, from->parts[i].iov_base, from->parts[i].iov_len);
        to += from->parts[i].iov_len;
    }
}

/* A copy that lives in a block of its own, with the data that are left. NULL without memory. */
static struct jzx__write *keep(struct jzx_loop *loop, struct jzx__worker *me,
                               const struct jzx__write *write, struct jzx__message *moved) {
    size_t data = moved == NULL && write->kind == JZX__WRITE_DATA ? write->left : 0;
    struct jzx__message *block =
        data > JZX_MSG_LEN_MAX - sizeof *write
            ? NULL
            : jzx__message_create(loop, me, sizeof(struct jzx__write) + data);
    if (block == NULL)
        return NULL;
    struct jzx__write *kept = (void *)block->payload;
    *kept = *write;
    kept->block = block;
    kept->moved = moved;
    if (write->kind == JZX__WRITE_DATA) {
        kept->one.iov_base = moved != NULL ? write->parts->iov_base : (void *)(kept + 1);
        kept->one.iov_len = write->left;
        kept->parts = &kept->one;
        kept->part_count = 1;
        if (moved == NULL)
            copy_parts((char *)(kept + 1), write);
    }
    return kept;
}

/* Without memory for what is left: what is out cannot be called back (stream/T4). */
static jzx_err lose(struct jzx__stream *stream, struct jzx__worker *me,
                    const struct jzx__write *write, struct jzx__done *done) {
    if (write->done != 0) {
        stream->write_err = JZX_ERR_INVALID_STATE;
        jzx__stream_end_writing(stream, me, JZX_ERR_INVALID_STATE, done);
    }
    return JZX_ERR_NO_MEMORY;
}

static jzx_err enqueue(struct jzx__stream *stream, struct jzx__worker *me,
                       const struct jzx__write *write, const struct request *request,
                       struct write_op *own, struct jzx__done *done) {
    struct jzx__write *kept = keep(stream->socket.loop, me, write, request->moved);
    if (kept == NULL)
        return lose(stream, me, write, done);
    if (!jzx__stream_enqueue(stream, me, kept)) {
        kept->moved = NULL; /* it is the caller's still */
        jzx__write_destroy(stream, me, kept, done);
        return lose(stream, me, write, done);
    }
    if (own != NULL) {
        kept->op = &own->base;
        own->write = kept;
        own->base.is_pending = true;
    }
    if (kept->kind == JZX__WRITE_SHUTDOWN)
        stream->is_shutting = true;
    return JZX_OK;
}

/* All is out. A buffer that was moved has done its duty. */
static void complete(struct jzx__stream *stream, const struct jzx__write *write,
                     const struct request *request, struct write_op *own, struct jzx__done *done) {
    uint64_t sent = write->done;
    bool has_data = own != NULL && write->kind == JZX__WRITE_FILE;
    if (write->kind == JZX__WRITE_SHUTDOWN)
        stream->is_shutting = true;
    if (has_data)
        memcpy(jzx__op_data(jzx__op_of_own(own)), &sent, sizeof sent);
    if (own != NULL)
        jzx__done_add(done, &own->base, JZX_OK, 0, has_data ? sizeof sent : 0);
    if (request->moved != NULL)
        jzx__done_drop(done, request->moved);
}

/* Under the lock. own is NULL for one without a completion. */
static jzx_err begin(struct jzx__stream *stream, struct jzx__worker *me,
                     const struct request *request, struct write_op *own, struct jzx__done *done) {
    struct iovec parts[JZX_STREAM_PARTS_MAX];
    struct jzx__write write;
    int os_error;
    enum jzx__step step = JZX__STEP_WAIT;
    jzx_err err = jzx__stream_write_refusal(stream, &os_error);
    if (err != JZX_OK)
        return err;
    if (stream->queued != 0 && stream->queued + request->len > stream->queue_max)
        return JZX_ERR_FULL;
    fill(&write, request, parts);
    if (jzx__stream_is_free_to_write(stream))
        step = jzx__write_try(stream, &write);
    switch (step) {
    case JZX__STEP_WAIT: return enqueue(stream, me, &write, request, own, done);
    case JZX__STEP_FAILED:
        jzx__stream_end_writing(stream, me, (jzx_err)stream->write_err, done);
        return (jzx_err)stream->write_err;
    case JZX__STEP_DONE: break;
    }
    complete(stream, &write, request, own, done);
    return JZX_OK;
}

static jzx_err start_write(struct jzx__start *start, jzx_stream handle, struct request *request) {
    struct jzx_loop *loop = jzx__start_loop(start);
    if (loop == NULL || !is_valid(request))
        return JZX_ERR_INVALID_ARG;
    const struct jzx__start_spec spec = {
        .ops = &write_ops, .capacity = request->kind == JZX__WRITE_FILE ? sizeof(uint64_t) : 0};
    jzx_err err = jzx__start_open(start, jzx__socket_find(loop, handle), &spec);
    if (err == JZX_OK) {
        struct jzx__done done = {.first = NULL};
        int os_error;
        struct jzx__stream *stream = jzx__stream_acquire(loop, handle, &err, &os_error);
        if (stream != NULL) {
            err = begin(stream, start->me, request, jzx__op_own(start->made), &done);
            jzx__socket_release(&stream->socket, start->me, &done);
        }
    }
    return jzx__start_close(start, err);
}

jzx_err jzx_stream_write_to(jzx_context *ctx, jzx_stream stream, const void *buf, size_t len,
                            uint32_t tag, jzx_op *op) {
    const struct iovec part = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
    struct request request = {.parts = &part, .part_count = 1};
    return start_write(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, stream, &request);
}

jzx_err jzx_stream_writev_to(jzx_context *ctx, jzx_stream stream, const struct iovec *parts,
                             size_t count, uint32_t tag, jzx_op *op) {
    struct request request = {.parts = parts, .part_count = count};
    return start_write(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, stream, &request);
}

jzx_err jzx_stream_sendfile_to(jzx_context *ctx, jzx_stream stream, int fd, uint64_t offset,
                               size_t len, uint32_t tag, jzx_op *op) {
    struct request request = {.kind = JZX__WRITE_FILE, .fd = fd, .offset = offset, .len = len};
    return start_write(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, stream, &request);
}

jzx_err jzx_stream_shutdown_to(jzx_context *ctx, jzx_stream stream, uint32_t tag, jzx_op *op) {
    struct request request = {.kind = JZX__WRITE_SHUTDOWN};
    return start_write(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, stream, &request);
}

static jzx_err write_async(jzx_loop *loop, jzx_stream stream, struct request *request,
                           jzx_future **future) {
    if (future == NULL)
        return JZX_ERR_INVALID_ARG;
    return start_write(&(struct jzx__start){.loop = loop, .future = future}, stream, request);
}

jzx_err jzx_stream_write_async(jzx_loop *loop, jzx_stream stream, const void *buf, size_t len,
                               jzx_future **future) {
    const struct iovec part = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
    struct request request = {.parts = &part, .part_count = 1};
    return write_async(loop, stream, &request, future);
}

jzx_err jzx_stream_writev_async(jzx_loop *loop, jzx_stream stream, const struct iovec *parts,
                                size_t count, jzx_future **future) {
    struct request request = {.parts = parts, .part_count = count};
    return write_async(loop, stream, &request, future);
}

jzx_err jzx_stream_sendfile_async(jzx_loop *loop, jzx_stream stream, int fd, uint64_t offset,
                                  size_t len, jzx_future **future) {
    struct request request = {.kind = JZX__WRITE_FILE, .fd = fd, .offset = offset, .len = len};
    return write_async(loop, stream, &request, future);
}

jzx_err jzx_stream_shutdown_async(jzx_loop *loop, jzx_stream stream, jzx_future **future) {
    struct request request = {.kind = JZX__WRITE_SHUTDOWN};
    return write_async(loop, stream, &request, future);
}

/* ---- without a completion ---- */

static jzx_err send_plainly(jzx_context *ctx, jzx_stream handle, struct request *request) {
    struct jzx__own own;
    struct jzx__done done = {.first = NULL};
    jzx_err err;
    int os_error = 0;
    if (!is_valid(request) || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    struct jzx__stream *stream = jzx__stream_acquire(ctx->loop, handle, &err, &os_error);
    if (stream != NULL) {
        err = begin(stream, own.me, request, NULL, &done);
        os_error = err == stream->write_err ? stream->write_os_error : 0;
        jzx__socket_release(&stream->socket, own.me, &done);
    }
    if (err != JZX_OK && os_error != 0)
        own.turn->os_error = os_error;
    jzx__own_end(&own);
    return err;
}

jzx_err jzx_stream_send(jzx_context *ctx, jzx_stream stream, const void *buf, size_t len) {
    const struct iovec part = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
    struct request request = {.parts = &part, .part_count = 1};
    return send_plainly(ctx, stream, &request);
}

/* The block of a buffer that is the caller's; it is not marked as that any more. NULL: it is not.
 */
static struct jzx__message *claim(jzx_context *ctx, void *data, const char *call) {
    struct jzx__own own;
    struct jzx__message *message = NULL;
    if (data == NULL || !jzx__own_begin(&own, ctx))
        return NULL;
    message = jzx__message_claim(ctx->loop, data, call);
    if (message != NULL && jzx__message_is_shared(message))
        message = NULL; /* others may have it */
    jzx__own_end(&own);
    return message;
}

/* From here on the buffer is the stream's; on an error it is the caller's again. */
static void mark_taken(struct jzx__message *message, jzx_loop *loop, jzx_err err) {
    if (err != JZX_OK)
        jzx__message_give(loop, message);
}

jzx_err jzx_stream_send_msg(jzx_context *ctx, jzx_stream stream, void *data) {
    struct jzx__message *message = ctx == NULL ? NULL : claim(ctx, data, "jzx_stream_send_msg");
    if (message == NULL)
        return JZX_ERR_INVALID_ARG;
    const struct iovec part = {.iov_base = data, .iov_len = message->len};
    struct request request = {.parts = &part, .part_count = 1, .moved = message};
    message->sender = JZX_NOBODY;
    jzx_err err = send_plainly(ctx, stream, &request);
    mark_taken(message, ctx->loop, err);
    return err;
}

jzx_err jzx_stream_write_msg_to(jzx_context *ctx, jzx_stream stream, void *data, uint32_t tag,
                                jzx_op *op) {
    struct jzx__message *message = ctx == NULL ? NULL : claim(ctx, data, "jzx_stream_write_msg_to");
    if (message == NULL)
        return JZX_ERR_INVALID_ARG;
    const struct iovec part = {.iov_base = data, .iov_len = message->len};
    struct request request = {.parts = &part, .part_count = 1, .moved = message};
    message->sender = JZX_NOBODY;
    jzx_err err =
        start_write(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, stream, &request);
    mark_taken(message, ctx->loop, err);
    return err;
}
