/* SPDX-License-Identifier: MIT */
/* A message is made before its data are read, with room for as many as the last ones had: doubled
 * when that was filled, halved when a quarter would have done. So nothing is copied, nothing that
 * was read can be lost for want of memory, and an idle stream has no buffer. */
#include "net/active.h"

#include "actor/mailbox.h"
#include "net/read.h"

#include <errno.h>
#include <string.h>

/* Of data in one message. The first fits a block of 256 bytes, the last one of 64 KiB. */
#define HEAD (sizeof(struct jzx__message) + sizeof(jzx_stream_event))
#define SIZE_FIRST 256u
#define SIZE_LAST 65536u

_Static_assert(sizeof(jzx_stream_event) == 32, "data behind it is aligned for any type");

static jzx_stream_event *event_of(struct jzx__message *message) {
    return (void *)message->payload;
}

void *jzx_stream_data(const jzx_stream_event *event) {
    return event == NULL ? NULL : (void *)(uintptr_t)(event + 1);
}

void jzx__stream_make_passive(struct jzx__stream *stream, struct jzx__worker *me) {
    if (stream->notice != NULL)
        jzx__message_destroy(stream->socket.loop, me, stream->notice);
    stream->notice = NULL;
    stream->active_left = 0;
}

void jzx__stream_end_active(struct jzx__stream *stream, struct jzx__worker *me,
                            jzx_stream_event_kind kind, jzx_err err, int os_error) {
    struct jzx__message *notice = stream->notice;
    stream->notice = NULL;
    stream->active_left = 0;
    if (notice == NULL)
        return;
    notice->tag = stream->active_tag;
    *event_of(notice) = (jzx_stream_event){.stream = jzx__socket_handle(&stream->socket),
                                           .kind = (uint32_t)kind,
                                           .err = err,
                                           .os_error = os_error};
    (void)jzx__socket_tell(&stream->socket, me, notice, JZX__LANE_RUNTIME);
}

/* ---- one message ---- */

/* What the next message is to have room for. */
static void adapt(struct jzx__stream *stream, size_t got) {
    if (got == stream->active_size - HEAD && stream->active_size < SIZE_LAST)
        stream->active_size *= 2;
    else if (got < stream->active_size / 4 && stream->active_size > SIZE_FIRST)
        stream->active_size /= 2;
}

/* Reads into it: as jzx__stream_receive. */
static ssize_t fill(struct jzx__stream *stream, struct jzx__worker *me,
                    struct jzx__message *message, size_t room) {
    void *data = event_of(message) + 1;
    if (stream->buffer != NULL)
        return (ssize_t)jzx__stream_unbuffer(stream, me, data, room);
    ssize_t got = jzx__stream_receive(stream, data, room);
    if (got > 0)
        adapt(stream, (size_t)got);
    return got;
}

static void send_data(struct jzx__stream *stream, struct jzx__worker *me,
                      struct jzx__message *message, size_t len) {
    message->tag = stream->active_tag;
    stream->active_number++;
    *event_of(message) = (jzx_stream_event){.stream = jzx__socket_handle(&stream->socket),
                                            .kind = JZX_STREAM_DATA,
                                            .len = (uint32_t)len,
                                            .queued = stream->active_number};
    if (stream->active_left != JZX_STREAM_ALWAYS)
        stream->active_left--;
    bool is_last = stream->active_left == 0;
    stream->is_out = jzx__socket_tell(&stream->socket, me, message, JZX__LANE_STREAM);
    if (is_last)
        jzx__stream_end_active(stream, me, JZX_STREAM_PASSIVE, JZX_OK, 0);
}

/* True if there may be something to read, or to tell. */
static bool has_something(const struct jzx__stream *stream) {
    return stream->buffer != NULL || stream->read_err != JZX_OK ||
           (stream->socket.ready & JZX__READY_READ) != 0;
}

static void end_as_read(struct jzx__stream *stream, struct jzx__worker *me) {
    bool is_end = stream->read_err == JZX_ERR_END;
    jzx__stream_end_active(stream, me, is_end ? JZX_STREAM_END : JZX_STREAM_ERROR,
                           (jzx_err)stream->read_err, stream->read_os_error);
}

void jzx__stream_go_on_active(struct jzx__stream *stream, struct jzx__worker *me) {
    struct jzx_loop *loop = stream->socket.loop;
    if (stream->active_left == 0 || stream->is_out || !has_something(stream))
        return;
    if (stream->buffer == NULL && stream->read_err != JZX_OK) {
        end_as_read(stream, me);
        return;
    }
    size_t room = stream->active_size - HEAD;
    struct jzx__message *message = jzx__message_create(loop, me, room + sizeof(jzx_stream_event));
    if (message == NULL) {
        jzx__stream_end_active(stream, me, JZX_STREAM_PASSIVE, JZX_ERR_NO_MEMORY, 0);
        return;
    }
    ssize_t got = fill(stream, me, message, room);
    if (got > 0) {
        send_data(stream, me, message, (size_t)got);
        return;
    }
    jzx__message_destroy(loop, me, message);
    if (got != -EAGAIN)
        end_as_read(stream, me);
}

/* ---- in the mailbox ---- */

/* It is about to be handled: from here on it is a message as any, and the next one is read. */
static enum jzx__look begin(struct jzx__worker *me, const struct jzx__spot *at) {
    jzx_stream_event *event = event_of(jzx__message_of(at->node));
    struct jzx__done done = {.first = NULL};
    uint64_t number = event->queued;
    event->queued = 0;
    jzx__mailbox_looked(at->actor);
    at->node->lane = JZX__LANE_RUNTIME;
    struct jzx__socket *socket =
        jzx__socket_acquire(jzx__loop_of(me), event->stream, JZX__SOCKET_STREAM);
    if (socket == NULL)
        return JZX__LOOK_HANDLE;
    struct jzx__stream *stream = jzx__stream_of(socket);
    if (stream->is_out && stream->active_number == number) {
        stream->is_out = false;
        jzx__stream_go_on_active(stream, me);
    }
    jzx__socket_release(socket, me, &done);
    return JZX__LOOK_HANDLE;
}

const struct jzx__lane_ops jzx__lane_stream = {.begin = begin};

/* ---- the call ---- */

/* Under the lock. */
static jzx_err activate(struct jzx__stream *stream, struct jzx__worker *me, uint32_t tag,
                        uint32_t count) {
    if (stream->active_left == 0 && jzx__stream_is_read(stream))
        return JZX_ERR_BUSY;
    if (count == 0) {
        jzx__stream_make_passive(stream, me);
        return JZX_OK;
    }
    if (stream->notice == NULL) {
        stream->notice = jzx__message_create(stream->socket.loop, me, sizeof(jzx_stream_event));
        if (stream->notice == NULL)
            return JZX_ERR_NO_MEMORY;
    }
    if (stream->active_size == 0)
        stream->active_size = SIZE_FIRST;
    uint32_t room = JZX_STREAM_ALWAYS - stream->active_left;
    stream->active_left += count < room ? count : room;
    stream->active_tag = tag;
    jzx__stream_go_on_active(stream, me);
    return JZX_OK;
}

jzx_err jzx_stream_active(jzx_context *ctx, jzx_stream handle, uint32_t tag, uint32_t count) {
    struct jzx__own own;
    struct jzx__done done = {.first = NULL};
    jzx_err err;
    int os_error = 0;
    if (tag >= JZX_TAG_RESERVED || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    if (!jzx__own_ensure_cold(&own)) { /* its messages are looked at */
        jzx__own_end(&own);
        return JZX_ERR_NO_MEMORY;
    }
    struct jzx__stream *stream = jzx__stream_acquire(ctx->loop, handle, &err, &os_error);
    if (stream != NULL) { /* an async function would drop each message, and get the next at once */
        err = stream->socket.owner != ctx->self   ? JZX_ERR_NOT_OWNER
              : own.cold->kind == JZX__KIND_ASYNC ? JZX_ERR_UNSUPPORTED
                                                  : activate(stream, own.me, tag, count);
        jzx__socket_release(&stream->socket, own.me, &done);
    }
    if (os_error != 0)
        own.turn->os_error = os_error;
    jzx__own_end(&own);
    return err;
}
