/* SPDX-License-Identifier: MIT */
#include "net/read.h"

#include "fiber/fiber.h"
#include "net/start.h"

#include <errno.h>
#include <string.h>

/* A buffer is made with room for so many bytes, or for as many as are wanted. */
#define BUFFER_FIRST (JZX__BLOCK_SIZE_MAX - sizeof(struct jzx__message))

/* ---- from the system ---- */

/* T4. A connection that is broken is broken for both sides. */
static void fail_reading(struct jzx__stream *stream, int error) {
    stream->read_err = (int16_t)jzx__os_error_status(error);
    stream->read_os_error = (uint16_t)error;
    if (stream->write_err == JZX_OK) {
        stream->write_err = stream->read_err;
        stream->write_os_error = stream->read_os_error;
    }
}

/* After fewer bytes than there was room for, the socket is empty: but for an end or an error that
 * wait behind them (epoll(7), on edges). */
ssize_t jzx__stream_receive(struct jzx__stream *stream, void *to, size_t size) {
    struct jzx__socket *socket = &stream->socket;
    ssize_t got;
    do
        got = jzx__socket_os(socket)->recv(jzx__socket_fd(socket), to, size, 0);
    while (got == -EINTR);
    if (got > 0) {
        stream->received += (uint64_t)got;
        jzx__stream_touch(stream);
        if ((size_t)got < size &&
            (socket->ready & (JZX__READY_READ_END | JZX__READY_HANGUP | JZX__READY_ERROR)) == 0)
            socket->ready &= (uint8_t)~JZX__READY_READ;
    } else if (got == -EAGAIN) {
        socket->ready &= (uint8_t)~JZX__READY_READ;
        return -EAGAIN;
    } else if (got == 0) {
        stream->read_err = JZX_ERR_END;
    } else {
        fail_reading(stream, (int)-got);
    }
    return got;
}

/* ---- the buffer (T2) ---- */

static char *buffer_at(const struct jzx__stream *stream, uint32_t place) {
    return stream->buffer->payload + place;
}

static void drop_buffer(struct jzx__stream *stream, struct jzx__worker *me) {
    jzx__message_destroy(stream->socket.loop, me, stream->buffer);
    stream->buffer = NULL;
    stream->buffer_begin = 0;
    stream->buffer_end = 0;
}

size_t jzx__stream_unbuffer(struct jzx__stream *stream, struct jzx__worker *me, void *to,
                            size_t size) {
    uint32_t there = jzx__stream_buffered(stream);
    uint32_t len = size < there ? (uint32_t)size : there;
    memcpy(to, buffer_at(stream, stream->buffer_begin), len);
    stream->buffer_begin += len;
    if (len == there)
        drop_buffer(stream, me);
    return len;
}

/* Makes room for so many bytes in all, those that are there included. False without memory. */
static bool reserve(struct jzx__stream *stream, struct jzx__worker *me, size_t size) {
    uint32_t there = jzx__stream_buffered(stream);
    if (stream->buffer != NULL && stream->buffer->len - stream->buffer_begin >= size)
        return true;
    if (stream->buffer != NULL && stream->buffer->len >= size) {
        memmove(buffer_at(stream, 0), buffer_at(stream, stream->buffer_begin), there);
    } else {
        size_t cap = size < BUFFER_FIRST ? BUFFER_FIRST : size;
        struct jzx__message *buffer = jzx__message_create(stream->socket.loop, me, cap);
        if (buffer == NULL)
            return false;
        if (stream->buffer != NULL) {
            memcpy(buffer->payload, buffer_at(stream, stream->buffer_begin), there);
            drop_buffer(stream, me);
        }
        stream->buffer = buffer;
    }
    stream->buffer_begin = 0;
    stream->buffer_end = there;
    return true;
}

/* ---- a try ---- */

static enum jzx__step fail(struct jzx__outcome *outcome, jzx_err err, int os_error) {
    *outcome = (struct jzx__outcome){.err = err, .os_error = os_error};
    return JZX__STEP_FAILED;
}

static enum jzx__step succeed(struct jzx__outcome *outcome, size_t len) {
    *outcome = (struct jzx__outcome){.err = JZX_OK, .len = len};
    return JZX__STEP_DONE;
}

static enum jzx__step fail_as_read(const struct jzx__stream *stream, struct jzx__outcome *outcome) {
    return fail(outcome, (jzx_err)stream->read_err, stream->read_os_error);
}

static enum jzx__step read_some(struct jzx__stream *stream, struct jzx__worker *me,
                                const struct jzx__want *want, void *to,
                                struct jzx__outcome *outcome) {
    if (stream->buffer != NULL)
        return succeed(outcome, jzx__stream_unbuffer(stream, me, to, want->size));
    if (stream->read_err != JZX_OK)
        return fail_as_read(stream, outcome);
    if ((stream->socket.ready & JZX__READY_READ) == 0)
        return JZX__STEP_WAIT;
    ssize_t got = jzx__stream_receive(stream, to, want->size);
    if (got > 0)
        return succeed(outcome, (size_t)got);
    return got == -EAGAIN ? JZX__STEP_WAIT : fail_as_read(stream, outcome);
}

/* Of what is in the buffer, how much is what is wanted; 0: more must come. The first `seen` bytes
 * were looked at before. */
static size_t match(const struct jzx__stream *stream, const struct jzx__want *want, size_t seen) {
    size_t there = jzx__stream_buffered(stream);
    if (want->kind == JZX__WANT_EXACTLY)
        return there >= want->size ? want->size : 0;
    size_t end = there < want->size ? there : want->size;
    if (end <= seen)
        return 0;
    const char *first = buffer_at(stream, stream->buffer_begin);
    const char *found = memchr(first + seen, want->delimiter, end - seen);
    return found == NULL ? 0 : (size_t)(found - first) + 1;
}

/* How many bytes there is to be room for: all at once if the number is known, else twice as many as
 * there are. */
static size_t room_for(const struct jzx__want *want, size_t there) {
    size_t room = there < BUFFER_FIRST / 2 ? BUFFER_FIRST : 2 * there;
    return want->kind == JZX__WANT_EXACTLY || room > want->size ? want->size : room;
}

/* Reads into the buffer until all that is wanted is there. DONE: its first outcome->len bytes are.
 */
static enum jzx__step fill(struct jzx__stream *stream, struct jzx__worker *me,
                           const struct jzx__want *want, struct jzx__outcome *outcome) {
    size_t seen = 0;
    for (;;) {
        size_t there = jzx__stream_buffered(stream);
        size_t len = there == 0 ? 0 : match(stream, want, seen);
        if (len != 0)
            return succeed(outcome, len);
        if (there >= want->size)
            return fail(outcome, JZX_ERR_TOO_LONG, 0);
        if (stream->read_err != JZX_OK)
            return fail_as_read(stream, outcome);
        if ((stream->socket.ready & JZX__READY_READ) == 0)
            return JZX__STEP_WAIT;
        if (!reserve(stream, me, room_for(want, there)))
            return fail(outcome, JZX_ERR_NO_MEMORY, 0);
        seen = there;
        ssize_t got = jzx__stream_receive(stream, buffer_at(stream, stream->buffer_end),
                                          stream->buffer->len - stream->buffer_end);
        if (got > 0)
            stream->buffer_end += (uint32_t)got;
        else if (there == 0)
            drop_buffer(stream, me);
    }
}

static enum jzx__step read_whole(struct jzx__stream *stream, struct jzx__worker *me,
                                 const struct jzx__want *want, void *to,
                                 struct jzx__outcome *outcome) {
    enum jzx__step step = fill(stream, me, want, outcome);
    if (step == JZX__STEP_DONE)
        (void)jzx__stream_unbuffer(stream, me, to, outcome->len);
    return step;
}

enum jzx__step jzx__stream_try_read(struct jzx__stream *stream, struct jzx__worker *me,
                                    const struct jzx__want *want, void *to,
                                    struct jzx__outcome *outcome) {
    return want->kind == JZX__WANT_SOME ? read_some(stream, me, want, to, outcome)
                                        : read_whole(stream, me, want, to, outcome);
}

/* ---- going on ---- */

/* What an operation keeps in its slot. */
struct read_op {
    struct jzx__socket_op base;
    struct jzx__want want;
    jzx_stream handle;
};

_Static_assert(sizeof(struct read_op) <= JZX__OP_OWN_SIZE, "has its place in the slot");

void jzx__stream_go_on_reading(struct jzx__stream *stream, struct jzx__worker *me,
                               struct jzx__done *done) {
    struct read_op *own = JZX_CONTAINER_OF(stream->read_op, struct read_op, base);
    struct jzx__outcome outcome;
    void *to = jzx__op_data(jzx__op_of_own(own));
    if (jzx__stream_try_read(stream, me, &own->want, to, &outcome) == JZX__STEP_WAIT)
        return;
    stream->read_op = NULL;
    jzx__done_add(done, &own->base, outcome.err, outcome.os_error, outcome.len);
}

void jzx__stream_end_reading(struct jzx__stream *stream, struct jzx__worker *me, jzx_err err,
                             struct jzx__done *done) {
    if (stream->read_op != NULL)
        jzx__done_add(done, stream->read_op, err, stream->socket.os_error, 0);
    stream->read_op = NULL;
    if (stream->buffer != NULL)
        drop_buffer(stream, me);
}

/* ---- a fiber ---- */

static bool is_valid(const struct jzx__want *want) {
    return want->size != 0 && want->size <= JZX_MSG_LEN_MAX - sizeof(jzx_result);
}

static const char *const names[] = {"jzx_stream_read", "jzx_stream_read_exact",
                                    "jzx_stream_read_until"}; /* by enum jzx__want_kind */

static struct jzx__read_wait *of_link(struct jzx__wait_link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__read_wait, base.link);
}

/* True if a try would end: there is something, or all of it, or an error. The fiber is in the list,
 * so its frame is there. */
static bool has_what_is_wanted(struct jzx__stream *stream, struct jzx__worker *me) {
    struct jzx__link *first = stream->socket.readers.waiting.ring.next;
    const struct jzx__read_wait *wait =
        of_link(JZX_CONTAINER_OF(first, struct jzx__wait_link, at_source));
    struct jzx__outcome outcome;
    return wait->want->kind == JZX__WANT_SOME ||
           fill(stream, me, wait->want, &outcome) != JZX__STEP_WAIT;
}

void jzx__stream_serve(struct jzx__stream *stream, struct jzx__worker *me, struct jzx__done *done) {
    struct jzx__served_source *readers = &stream->socket.reading;
    if (jzx__list_is_empty(&readers->source.waiting) || !has_what_is_wanted(stream, me))
        return;
    struct jzx__wait_link *link = jzx__source_serve(readers, &done->wake);
    if (link == NULL)
        return;
    struct jzx__read_wait *wait = of_link(link);
    wait->step = jzx__stream_try_read(stream, me, wait->want, wait->to, &wait->outcome);
}

/* Under the lock: one try, or the wait has begun. */
static enum jzx__step begin_wait(struct jzx__fiber *fiber, struct jzx__stream *stream,
                                 struct jzx__read_wait *wait) {
    struct jzx__worker *me = jzx__fiber_worker(fiber);
    if (jzx__stream_is_read(stream))
        return fail(&wait->outcome, JZX_ERR_BUSY, 0);
    enum jzx__step step = jzx__stream_try_read(stream, me, wait->want, wait->to, &wait->outcome);
    if (step != JZX__STEP_WAIT)
        return step;
    wait->base.link = (struct jzx__wait_link){.source = &stream->socket.readers};
    jzx__waiter_begin(&fiber->waiter, (struct jzx__wait_what){.kind = "event"});
    if (!jzx__mortal_is_doomed(&fiber->mortal)) /* else it does not come back */
        jzx__waiter_queue(&fiber->waiter, &wait->base.link);
    return step;
}

/* The event reads for the fiber that waits, so a wake means in most cases that the bytes are there.
 * Another look is needed when they were gone, or the socket is. Inside. */
static jzx_err read_inside(struct jzx__fiber *fiber, struct jzx__read_wait *wait,
                           uint64_t deadline_ns) {
    struct jzx_loop *loop = fiber->turn.ctx.loop;
    const struct jzx__event event = {
        .kind = JZX_WAIT_IO, .object = wait->base.handle, .links = &wait->base.link, .count = 1};
    for (;;) {
        struct jzx__done done = {.first = NULL};
        struct jzx__stream *stream = jzx__stream_acquire(
            loop, wait->base.handle, &wait->outcome.err, &wait->outcome.os_error);
        if (stream == NULL)
            return wait->outcome.err;
        wait->step = JZX__STEP_WAIT; /* until an event has served it */
        enum jzx__step step = begin_wait(fiber, stream, wait);
        jzx__socket_release(&stream->socket, jzx__fiber_worker(fiber), &done);
        if (step != JZX__STEP_WAIT)
            return wait->outcome.err;
        uint32_t cause = jzx__fiber_await_queued(fiber, &event, deadline_ns);
        if (jzx__cause_kind(cause) == JZX__CAUSE_ITEM && wait->step != JZX__STEP_WAIT)
            return wait->outcome.err;
        if (jzx__cause_kind(cause) != JZX__CAUSE_ITEM &&
            jzx__cause_kind(cause) != JZX__CAUSE_CLOSED)
            return jzx__cause_err(cause);
    }
}

static jzx_err read_in_fiber(jzx_context *ctx, jzx_stream handle, const struct jzx__want *want,
                             void *to, uint64_t deadline_ns, size_t *len) {
    struct jzx__read_wait wait = {.base = {.handle = handle}, .want = want, .to = to};
    jzx_err err = JZX_OK;
    struct jzx__fiber *fiber = jzx__fiber_enter(ctx, names[want->kind], &err);
    if (fiber == NULL)
        return err;
    if (!jzx__fiber_goes_on(fiber))
        err = jzx__fiber_wait(fiber, JZX__WISH_TURN, 0);
    if (err == JZX_OK && (to == NULL || len == NULL || !is_valid(want)))
        err = JZX_ERR_INVALID_ARG;
    if (err == JZX_OK) {
        err = read_inside(fiber, &wait, deadline_ns);
        if (err == JZX_OK)
            *len = wait.outcome.len;
        else if (wait.outcome.os_error != 0)
            fiber->turn.os_error = (uint16_t)wait.outcome.os_error;
    }
    jzx__fiber_leave(fiber);
    return err;
}

jzx_err jzx_stream_read(jzx_context *ctx, jzx_stream stream, void *buf, size_t cap,
                        uint64_t deadline_ns, size_t *len) {
    const struct jzx__want want = {.kind = JZX__WANT_SOME, .size = cap};
    return read_in_fiber(ctx, stream, &want, buf, deadline_ns, len);
}

jzx_err jzx_stream_read_exact(jzx_context *ctx, jzx_stream stream, void *buf, size_t len,
                              uint64_t deadline_ns) {
    const struct jzx__want want = {.kind = JZX__WANT_EXACTLY, .size = len};
    size_t got;
    return read_in_fiber(ctx, stream, &want, buf, deadline_ns, &got);
}

jzx_err jzx_stream_read_until(jzx_context *ctx, jzx_stream stream, char delimiter, void *buf,
                              size_t cap, uint64_t deadline_ns, size_t *len) {
    const struct jzx__want want = {.kind = JZX__WANT_UNTIL, .delimiter = delimiter, .size = cap};
    return read_in_fiber(ctx, stream, &want, buf, deadline_ns, len);
}

/* ---- by a message, by a future ---- */

/* What has arrived stays with the stream. */
static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx__socket_op *own = jzx__op_own(op);
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(own->socket);
    if (own->is_pending) {
        jzx__stream_of(own->socket)->read_op = NULL;
        jzx__done_add(&done, own, JZX_ERR_CANCELLED, 0, 0);
    }
    jzx__socket_release(own->socket, me, &done);
}

/* Puts bytes in front of those that are there. False without memory. */
static bool put_back(struct jzx__stream *stream, struct jzx__worker *me, const void *data,
                     size_t len) {
    uint32_t there = jzx__stream_buffered(stream);
    if (len > UINT32_MAX - there || !reserve(stream, me, there + len))
        return false;
    memmove(buffer_at(stream, stream->buffer_begin + (uint32_t)len),
            buffer_at(stream, stream->buffer_begin), there);
    memcpy(buffer_at(stream, stream->buffer_begin), data, len);
    stream->buffer_end += (uint32_t)len;
    return true;
}

/* The bytes that the fiber was served are the stream's again, in front of all others. Without
 * memory the stream fails: there is never a gap. */
void jzx__stream_revoke(struct jzx__socket *socket, struct jzx__socket_wait *base,
                        struct jzx__worker *me) {
    struct jzx__stream *stream = jzx__stream_of(socket);
    const struct jzx__read_wait *wait = JZX_CONTAINER_OF(base, struct jzx__read_wait, base);
    if (wait->step != JZX__STEP_DONE || put_back(stream, me, wait->to, wait->outcome.len))
        return;
    stream->read_err = JZX_ERR_NO_MEMORY;
    stream->read_os_error = 0;
    if (stream->buffer != NULL)
        drop_buffer(stream, me);
}

/* What it has read stays with the stream; with one that is closed nothing is lost. */
static bool take_back(struct jzx__op *op, struct jzx__worker *me) {
    const struct read_op *own = jzx__op_own(op);
    struct jzx__done done = {.first = NULL};
    jzx_err err;
    int os_error;
    struct jzx__stream *stream = jzx__stream_acquire(op->loop, own->handle, &err, &os_error);
    if (stream == NULL)
        return true;
    bool is_back = put_back(stream, me, jzx__op_data(op), jzx__op_result(op)->len);
    jzx__socket_release(&stream->socket, me, &done);
    return is_back;
}

/* Another actor that waits for more gets the bytes that were put back. One whose try has found none
 * and that is about to wait looks at READY_READ first. */
static void serve_others(struct jzx__op *op, struct jzx__worker *me) {
    const struct read_op *own = jzx__op_own(op);
    struct jzx__done done = {.first = NULL};
    jzx_err err;
    int os_error;
    struct jzx__stream *stream = jzx__stream_acquire(op->loop, own->handle, &err, &os_error);
    if (stream == NULL)
        return;
    if (stream->buffer != NULL) {
        stream->socket.ready |= JZX__READY_READ;
        if (jzx__stream_is_read(stream))
            stream->socket.ops->ready(&stream->socket, me, &done);
    }
    jzx__socket_release(&stream->socket, me, &done);
}

static const struct jzx__op_ops read_ops = {
    .cancel = cancel, .revoke = take_back, .restore = serve_others};

/* Under the lock. What cannot begin is the error of the call, what can completes. */
static jzx_err begin(struct jzx__stream *stream, struct jzx__worker *me, struct read_op *own,
                     struct jzx__done *done) {
    struct jzx__outcome outcome;
    void *to = jzx__op_data(jzx__op_of_own(own));
    if (jzx__stream_is_read(stream))
        return JZX_ERR_BUSY;
    switch (jzx__stream_try_read(stream, me, &own->want, to, &outcome)) {
    case JZX__STEP_WAIT:
        own->base.is_pending = true;
        stream->read_op = &own->base;
        break;
    case JZX__STEP_DONE:
    case JZX__STEP_FAILED:
        jzx__done_add(done, &own->base, outcome.err, outcome.os_error, outcome.len);
        break;
    }
    return JZX_OK;
}

static jzx_err start_read(struct jzx__start *start, jzx_stream handle,
                          const struct jzx__want *want) {
    struct jzx_loop *loop = jzx__start_loop(start);
    if (loop == NULL || !is_valid(want))
        return JZX_ERR_INVALID_ARG;
    const struct jzx__start_spec spec = {
        .ops = &read_ops, .capacity = want->size, .has_result = true};
    jzx_err err = jzx__start_open(start, jzx__socket_find(loop, handle), &spec);
    if (err == JZX_OK) {
        struct read_op *own = jzx__op_own(start->made);
        struct jzx__done done = {.first = NULL};
        int os_error;
        own->want = *want;
        own->handle = handle;
        struct jzx__stream *stream = jzx__stream_acquire(loop, handle, &err, &os_error);
        if (stream != NULL) {
            err = begin(stream, start->me, own, &done);
            jzx__socket_release(&stream->socket, start->me, &done);
        }
    }
    return jzx__start_close(start, err);
}

jzx_err jzx_stream_read_to(jzx_context *ctx, jzx_stream stream, size_t cap, uint32_t tag,
                           jzx_op *op) {
    const struct jzx__want want = {.kind = JZX__WANT_SOME, .size = cap};
    return start_read(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, stream, &want);
}

jzx_err jzx_stream_read_exact_to(jzx_context *ctx, jzx_stream stream, size_t len, uint32_t tag,
                                 jzx_op *op) {
    const struct jzx__want want = {.kind = JZX__WANT_EXACTLY, .size = len};
    return start_read(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, stream, &want);
}

jzx_err jzx_stream_read_until_to(jzx_context *ctx, jzx_stream stream, char delimiter, size_t cap,
                                 uint32_t tag, jzx_op *op) {
    const struct jzx__want want = {.kind = JZX__WANT_UNTIL, .delimiter = delimiter, .size = cap};
    return start_read(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, stream, &want);
}

static jzx_err read_async(jzx_loop *loop, jzx_stream stream, const struct jzx__want *want,
                          jzx_future **future) {
    if (future == NULL)
        return JZX_ERR_INVALID_ARG;
    return start_read(&(struct jzx__start){.loop = loop, .future = future}, stream, want);
}

jzx_err jzx_stream_read_async(jzx_loop *loop, jzx_stream stream, size_t cap, jzx_future **future) {
    const struct jzx__want want = {.kind = JZX__WANT_SOME, .size = cap};
    return read_async(loop, stream, &want, future);
}

jzx_err jzx_stream_read_exact_async(jzx_loop *loop, jzx_stream stream, size_t len,
                                    jzx_future **future) {
    const struct jzx__want want = {.kind = JZX__WANT_EXACTLY, .size = len};
    return read_async(loop, stream, &want, future);
}

jzx_err jzx_stream_read_until_async(jzx_loop *loop, jzx_stream stream, char delimiter, size_t cap,
                                    jzx_future **future) {
    const struct jzx__want want = {.kind = JZX__WANT_UNTIL, .delimiter = delimiter, .size = cap};
    return read_async(loop, stream, &want, future);
}
