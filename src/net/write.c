/* SPDX-License-Identifier: MIT */
/* The queue of a stream, and who writes next. */
#include "net/write.h"

#include "actor/mailbox.h"

#include <errno.h>
#include <string.h>

/* Bytes of a file that one system call is asked for. */
#define FILE_PIECE ((size_t)1 << 20)

/* ---- to the system ---- */

/* T4. After a reset the other side is over, too. */
static enum jzx__step fail(struct jzx__stream *stream, int error) {
    stream->write_err = (int16_t)jzx__os_error_status(error);
    stream->write_os_error = (uint16_t)error;
    if (error == ECONNRESET && stream->read_err == JZX_OK) {
        stream->read_err = stream->write_err;
        stream->read_os_error = stream->write_os_error;
    }
    return JZX__STEP_FAILED;
}

static ssize_t send_parts(struct jzx__stream *stream, const struct jzx__write *write) {
    struct jzx__socket *socket = &stream->socket;
    const struct jzx__os *os = jzx__socket_os(socket);
    if (write->part_count == 1)
        return os->send(jzx__socket_fd(socket), write->parts->iov_base, write->parts->iov_len, 0);
    const struct msghdr message = {.msg_iov = write->parts, .msg_iovlen = write->part_count};
    return os->sendmsg(jzx__socket_fd(socket), &message, 0);
}

static void forget_parts(struct jzx__write *write, size_t sent) {
    while (write->part_count != 0 && sent >= write->parts->iov_len) {
        sent -= write->parts->iov_len;
        write->parts++;
        write->part_count--;
    }
    if (sent != 0) {
        write->parts->iov_base = (char *)write->parts->iov_base + sent;
        write->parts->iov_len -= sent;
    }
}

/* A file that ends before is written as far as it goes. */
static ssize_t send_some(struct jzx__stream *stream, struct jzx__write *write) {
    if (write->kind == JZX__WRITE_DATA)
        return send_parts(stream, write);
    size_t size = write->left < FILE_PIECE ? write->left : FILE_PIECE;
    ssize_t sent = jzx__socket_os(&stream->socket)
                       ->sendfile(jzx__socket_fd(&stream->socket), write->fd, &write->offset, size);
    if (sent == 0)
        write->left = 0;
    return sent;
}

static enum jzx__step shut_down(struct jzx__stream *stream) {
    struct jzx__socket *socket = &stream->socket;
    int err = jzx__socket_os(socket)->shutdown(jzx__socket_fd(socket), SHUT_WR);
    return err < 0 ? fail(stream, -err) : JZX__STEP_DONE;
}

/* After fewer bytes than there were, the socket is full; as in jzx__stream_receive. */
static void note_sent(struct jzx__stream *stream, struct jzx__write *write, size_t sent) {
    write->left -= sent;
    write->done += sent;
    stream->sent += sent;
    jzx__stream_touch(stream);
    if (write->kind != JZX__WRITE_DATA)
        return;
    forget_parts(write, sent);
    if (write->left != 0 && (stream->socket.ready & (JZX__READY_HANGUP | JZX__READY_ERROR)) == 0)
        stream->socket.ready &= (uint8_t)~JZX__READY_WRITE;
}

enum jzx__step jzx__write_try(struct jzx__stream *stream, struct jzx__write *write) {
    struct jzx__socket *socket = &stream->socket;
    if (stream->write_err != JZX_OK)
        return JZX__STEP_FAILED;
    if (write->kind == JZX__WRITE_SHUTDOWN)
        return shut_down(stream);
    while (write->left != 0) {
        if ((socket->ready & JZX__READY_WRITE) == 0)
            return JZX__STEP_WAIT;
        ssize_t sent = send_some(stream, write);
        if (sent == -EINTR)
            continue;
        if (sent == -EAGAIN) {
            socket->ready &= (uint8_t)~JZX__READY_WRITE;
            return JZX__STEP_WAIT;
        }
        if (sent < 0)
            return fail(stream, (int)-sent);
        if (sent == 0)
            continue; /* the file has ended */
        note_sent(stream, write, (size_t)sent);
    }
    return JZX__STEP_DONE;
}

/* ---- messages about the queue ---- */

static void tell_queue(struct jzx__stream *stream, struct jzx__worker *me,
                       struct jzx__message *message, uint32_t kind) {
    const jzx_stream_event event = {
        .stream = jzx__socket_handle(&stream->socket), .kind = kind, .queued = stream->queued};
    message->tag = kind == JZX_STREAM_HIGH ? JZX_TAG_STREAM_HIGH : JZX_TAG_STREAM_LOW;
    memcpy(message->payload, &event, sizeof event);
    (void)jzx__socket_tell(&stream->socket, me, message, JZX__LANE_RUNTIME);
}

/* The queue has grown by so much: both messages are made before the first is sent. */
static bool tell_high(struct jzx__stream *stream, struct jzx__worker *me, size_t more) {
    struct jzx_loop *loop = stream->socket.loop;
    if (stream->low_note != NULL || stream->queued + more < stream->queue_high)
        return true;
    struct jzx__message *high = jzx__message_create(loop, me, sizeof(jzx_stream_event));
    struct jzx__message *low = jzx__message_create(loop, me, sizeof(jzx_stream_event));
    if (high == NULL || low == NULL) {
        if (high != NULL)
            jzx__message_destroy(loop, me, high);
        if (low != NULL)
            jzx__message_destroy(loop, me, low);
        return false;
    }
    stream->low_note = low;
    stream->queued += more;
    tell_queue(stream, me, high, JZX_STREAM_HIGH);
    stream->queued -= more;
    return true;
}

static void tell_low(struct jzx__stream *stream, struct jzx__worker *me) {
    struct jzx__message *low = stream->low_note;
    if (low == NULL || stream->queued > stream->queue_low)
        return;
    stream->low_note = NULL;
    tell_queue(stream, me, low, JZX_STREAM_LOW);
}

/* ---- the queue ---- */

static struct jzx__write *first_of(const struct jzx__stream *stream) {
    return jzx__list_is_empty(&stream->writes)
               ? NULL
               : JZX_CONTAINER_OF(stream->writes.ring.next, struct jzx__write, at_queue);
}

void jzx__write_destroy(struct jzx__stream *stream, struct jzx__worker *me,
                        struct jzx__write *write, struct jzx__done *done) {
    if (write->moved != NULL)
        jzx__done_drop(done, write->moved);
    jzx__message_destroy(stream->socket.loop, me, write->block);
}

bool jzx__stream_enqueue(struct jzx__stream *stream, struct jzx__worker *me,
                         struct jzx__write *write) {
    if (!tell_high(stream, me, write->left))
        return false;
    write->number = stream->next_number++;
    stream->queued += write->left;
    jzx__list_push_back(&stream->writes, &write->at_queue);
    return true;
}

/* It is over, and leaves the queue. The number of bytes of a file is its data. */
static void complete(struct jzx__stream *stream, struct jzx__worker *me, struct jzx__write *write,
                     jzx_err err, struct jzx__done *done) {
    struct jzx__socket_op *own = write->op;
    jzx__list_remove(&write->at_queue);
    stream->queued -= write->left;
    if (own != NULL) {
        uint64_t sent = write->done;
        bool has_data = err == JZX_OK && write->kind == JZX__WRITE_FILE;
        if (has_data)
            memcpy(jzx__op_data(jzx__op_of_own(own)), &sent, sizeof sent);
        jzx__done_add(done, own, err, err == JZX_OK ? 0 : stream->write_os_error,
                      has_data ? sizeof sent : 0);
    }
    jzx__write_destroy(stream, me, write, done);
}

void jzx__stream_end_writing(struct jzx__stream *stream, struct jzx__worker *me, jzx_err err,
                             struct jzx__done *done) {
    struct jzx__write *write;
    while ((write = first_of(stream)) != NULL)
        complete(stream, me, write, err, done);
    if (stream->socket.flags & JZX__SOCKET_CLOSED) {
        if (stream->low_note != NULL)
            jzx__message_destroy(stream->socket.loop, me, stream->low_note);
        stream->low_note = NULL;
    } else {
        tell_low(stream, me);
    }
    jzx__socket_wake_all(&stream->socket.line, me); /* they see write_err */
}

/* Writes the queue out as far as it goes, and as far as no fiber is before it (T3). */
static void flush(struct jzx__stream *stream, struct jzx__worker *me, struct jzx__done *done) {
    struct jzx__write *write;
    while ((write = first_of(stream)) != NULL && !jzx__socket_admit(&stream->socket, me)) {
        size_t left = write->left;
        enum jzx__step step = jzx__write_try(stream, write);
        stream->queued -= left - write->left;
        if (step == JZX__STEP_FAILED) {
            jzx__stream_end_writing(stream, me, (jzx_err)stream->write_err, done);
            return;
        }
        if (step == JZX__STEP_WAIT)
            break;
        complete(stream, me, write, JZX_OK, done);
    }
    tell_low(stream, me);
    if (first_of(stream) == NULL)
        (void)jzx__socket_admit(&stream->socket, me);
}

void jzx__stream_go_on_writing(struct jzx__stream *stream, struct jzx__worker *me,
                               struct jzx__done *done) {
    if (stream->write_err != JZX_OK)
        jzx__stream_end_writing(stream, me, (jzx_err)stream->write_err, done);
    else if (!stream->has_writer)
        flush(stream, me, done);
    (void)jzx__socket_wake_one(&stream->socket.writers, me);
}

bool jzx__stream_cancel_write(struct jzx__stream *stream, struct jzx__worker *me,
                              struct jzx__write *write, struct jzx__done *done) {
    if (write->done != 0)
        return false;
    if (write->kind == JZX__WRITE_SHUTDOWN)
        stream->is_shutting = false;
    complete(stream, me, write, JZX_ERR_CANCELLED, done);
    flush(stream, me, done); /* those behind it may go */
    return true;
}

/* ---- fibers ---- */

bool jzx__stream_may_go(struct jzx__socket *socket, const struct jzx__socket_wait *wait) {
    const struct jzx__stream *stream = jzx__stream_of(socket);
    const struct jzx__write *write = first_of(stream);
    if (stream->write_err != JZX_OK)
        return true; /* to see that */
    return !stream->has_writer &&
           (write == NULL || (write->done == 0 && wait->number < write->number));
}

void jzx__stream_grant(struct jzx__socket *socket, struct jzx__socket_wait *wait) {
    struct jzx__stream *stream = jzx__stream_of(socket);
    if (stream->write_err != JZX_OK)
        return;
    wait->has_turn = true;
    stream->has_writer = true;
}

/* A part of a write that does not go on is out: T4. */
void jzx__stream_end_turn(struct jzx__stream *stream, struct jzx__worker *me, size_t out, bool all,
                          struct jzx__done *done) {
    stream->has_writer = false;
    if (!all && out != 0 && stream->write_err == JZX_OK)
        stream->write_err = JZX_ERR_INVALID_STATE;
    if (stream->write_err != JZX_OK)
        jzx__stream_end_writing(stream, me, (jzx_err)stream->write_err, done);
    else
        flush(stream, me, done);
}

bool jzx__stream_is_free_to_write(const struct jzx__stream *stream) {
    return !stream->has_writer && jzx__list_is_empty(&stream->writes) &&
           jzx__list_is_empty(&stream->socket.line.waiting);
}

jzx_err jzx__stream_write_refusal(const struct jzx__stream *stream, int *os_error) {
    if (stream->write_err != JZX_OK) {
        *os_error = stream->write_os_error;
        return (jzx_err)stream->write_err;
    }
    return stream->is_shutting ? JZX_ERR_INVALID_STATE : JZX_OK;
}
