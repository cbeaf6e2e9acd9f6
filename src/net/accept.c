/* SPDX-License-Identifier: MIT */
/* A listener as a socket, and the calls that accept from it. */
#include "base/log.h"
#include "net/listener.h"
#include "net/place.h"
#include "net/start.h"
#include "net/stream.h"
#include "net/unix_file.h"

#include "jzx/fiber.h"
#include "jzx/unix.h"

#include <errno.h>
#include <string.h>

/* Between two tries without descriptors. */
#define RETRY_NS JZX_MS(50)

/* ---- from the system ---- */

/* True if the next one may be accepted, whatever became of this one: accept(2). */
static bool is_of_connection(int error) {
    return error == EINTR || error == ECONNABORTED || error == EPROTO || error == ENETDOWN ||
           error == ENOPROTOOPT || error == EHOSTDOWN || error == ENONET || error == EHOSTUNREACH ||
           error == ENETUNREACH;
}

static bool is_of_shortage(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* L1. The log hears of a shortage once. */
static void starve(struct jzx__listener *listener, int error) {
    struct jzx__socket *socket = &listener->socket;
    socket->ready &= (uint8_t)~JZX__READY_READ;
    if (!listener->is_starved)
        jzx__log(&socket->loop->sched.log, JZX_LOG_WARN,
                 "listener of %u.%u: no %s to accept a connection (errno %d); it tries again",
                 jzx_id_index(socket->owner), jzx_id_generation(socket->owner),
                 error == EMFILE || error == ENFILE ? "descriptors" : "memory", error);
    listener->is_starved = true;
}

static void relieve(struct jzx__listener *listener) {
    const struct jzx__socket *socket = &listener->socket;
    if (!listener->is_starved)
        return;
    listener->is_starved = false;
    jzx__log(&socket->loop->sched.log, JZX_LOG_WARN, "listener of %u.%u: accepts again",
             jzx_id_index(socket->owner), jzx_id_generation(socket->owner));
}

/* A descriptor; -EAGAIN: nothing is to be accepted now; or another error. */
static int accept_fd(struct jzx__listener *listener) {
    struct jzx__socket *socket = &listener->socket;
    if (listener->connections >= listener->connections_max) {
        listener->is_limited = true;
        socket->ready &= (uint8_t)~JZX__READY_READ;
    }
    while (socket->ready & JZX__READY_READ) {
        int fd = jzx__socket_os(socket)->accept(jzx__socket_fd(socket), NULL, NULL);
        if (fd >= 0)
            return fd;
        if (fd == -EAGAIN)
            socket->ready &= (uint8_t)~JZX__READY_READ;
        else if (is_of_shortage(-fd))
            starve(listener, -fd);
        else if (!is_of_connection(-fd))
            return fd;
    }
    return -EAGAIN;
}

/* Under the lock of the listener (N8). */
static jzx_err settle(struct jzx__listener *listener, struct jzx__worker *me, int fd,
                      jzx_actor_id owner, jzx_stream *handle) {
    struct jzx_loop *loop = listener->socket.loop;
    struct jzx__done done = {.first = NULL};
    (void)jzx__stream_configure(loop, fd, listener->family, &listener->stream);
    struct jzx__stream *stream = jzx__stream_create(loop, fd, &listener->stream);
    if (stream == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx__lock_acquire_unordered(&stream->socket.lock);
    jzx_err err = jzx__socket_adopt(&stream->socket, me, owner);
    *handle = jzx__socket_handle(&stream->socket);
    if (err == JZX_OK) {
        stream->from = jzx__socket_handle(&listener->socket);
        jzx__socket_note_place(&stream->socket, me, (jzx_accept_mode)listener->accept_mode);
        listener->connections++;
        relieve(listener);
    } else {
        jzx__socket_close(&stream->socket, me, &done);
    }
    jzx__socket_release(&stream->socket, me, &done);
    return err;
}

/* One connection for that owner. A stream that cannot be made is a connection that is lost. */
static enum jzx__step try_accept(struct jzx__listener *listener, struct jzx__worker *me,
                                 jzx_actor_id owner, struct jzx__outcome *outcome,
                                 jzx_stream *handle) {
    int fd = accept_fd(listener);
    if (fd == -EAGAIN)
        return JZX__STEP_WAIT;
    *outcome = (struct jzx__outcome){.err = JZX_OK};
    if (fd < 0) {
        outcome->err = jzx__os_error_status(-fd);
        outcome->os_error = -fd;
    } else {
        outcome->err = settle(listener, me, fd, owner, handle);
    }
    return outcome->err == JZX_OK ? JZX__STEP_DONE : JZX__STEP_FAILED;
}

/* ---- operations that wait ---- */

struct accept_op {
    struct jzx__socket_op base;
    struct jzx__link at_listener;
    jzx_actor_id owner; /* JZX_NOBODY: that of the listener */
};

_Static_assert(sizeof(struct accept_op) <= JZX__OP_OWN_SIZE, "has its place in the slot");

/* False if it waits on. */
static bool serve(struct jzx__listener *listener, struct jzx__worker *me, struct accept_op *own,
                  struct jzx__done *done) {
    struct jzx__outcome outcome;
    jzx_stream handle;
    jzx_actor_id owner = own->owner == JZX_NOBODY ? listener->socket.owner : own->owner;
    enum jzx__step step = try_accept(listener, me, owner, &outcome, &handle);
    if (step == JZX__STEP_WAIT)
        return false;
    if (step == JZX__STEP_DONE)
        memcpy(jzx__op_data(jzx__op_of_own(own)), &handle, sizeof handle);
    jzx__done_add(done, &own->base, outcome.err, outcome.os_error,
                  step == JZX__STEP_DONE ? sizeof handle : 0);
    return true;
}

static void set_retry(struct jzx__listener *listener, struct jzx__worker *me) {
    struct jzx__socket *socket = &listener->socket;
    if (listener->is_starved && !jzx__list_is_empty(&listener->accepts))
        (void)jzx__socket_set_timer(socket, me,
                                    jzx__clock_now(&socket->loop->sched.clock) + RETRY_NS);
}

static void go_on(struct jzx__listener *listener, struct jzx__worker *me, struct jzx__done *done) {
    struct jzx__socket *socket = &listener->socket;
    if ((socket->ready & JZX__READY_READ) == 0 || jzx__socket_wake_one(&socket->readers, me))
        return;
    while (!jzx__list_is_empty(&listener->accepts)) {
        struct accept_op *own =
            JZX_CONTAINER_OF(listener->accepts.ring.next, struct accept_op, at_listener);
        if (!serve(listener, me, own, done))
            break;
        jzx__list_remove(&own->at_listener);
    }
    if (listener->is_starved)
        jzx__socket_attend(socket, me);
}

static void try_again(struct jzx__listener *listener, struct jzx__worker *me,
                      struct jzx__done *done) {
    listener->socket.ready |= JZX__READY_READ;
    go_on(listener, me, done);
}

static void end_accepts(struct jzx__listener *listener, jzx_err err, struct jzx__done *done) {
    struct jzx__link *link;
    while ((link = jzx__list_pop_front(&listener->accepts)) != NULL)
        jzx__done_add(done, &JZX_CONTAINER_OF(link, struct accept_op, at_listener)->base, err, 0,
                      0);
}

/* ---- as a socket ---- */

static void on_ready(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    go_on(jzx__listener_of(socket), me, done);
}

static void on_end(struct jzx__socket *socket, struct jzx__worker *me, jzx_err err,
                   struct jzx__done *done) {
    struct jzx__listener *listener = jzx__listener_of(socket);
    if (listener->file != NULL)
        jzx__message_destroy(socket->loop, me, listener->file);
    listener->file = NULL;
    end_accepts(listener, err, done);
}

static void on_listed(struct jzx__socket *socket, struct jzx__worker *me) {
    set_retry(jzx__listener_of(socket), me);
}

static void on_expire(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    try_again(jzx__listener_of(socket), me, done);
}

/* It may have been woken for a connection, which another takes now. */
static void on_abandon(struct jzx__socket *socket, struct jzx__socket_wait *wait,
                       struct jzx__worker *me, struct jzx__done *done) {
    (void)wait;
    go_on(jzx__listener_of(socket), me, done);
}

/* It listens no more when this returns, and its address is free: also if somebody else has the file
 * for a moment longer, as a child of fork, or a poller (poller/P6). */
static void put_away(struct jzx__socket *socket, int fd) {
    const struct jzx__listener *listener = jzx__listener_of(socket);
    const struct jzx__os *os = jzx__socket_os(socket);
    if (listener->file != NULL)
        jzx__unix_file_remove(os, (const struct jzx__unix_file *)listener->file->payload);
    (void)os->shutdown(fd, SHUT_RDWR);
    (void)os->close(fd);
}

/* A place for a connection is free. */
static void on_vacated(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    struct jzx__listener *listener = jzx__listener_of(socket);
    listener->connections--;
    if (listener->is_limited || listener->is_starved) {
        listener->is_limited = false;
        try_again(listener, me, done);
    }
}

const struct jzx__socket_ops jzx__listener_ops = {.ready = on_ready,
                                                  .end = on_end,
                                                  .put_away = put_away,
                                                  .listed = on_listed,
                                                  .vacated = on_vacated,
                                                  .expire = on_expire,
                                                  .abandon = on_abandon};

/* ---- a fiber ---- */

struct fiber_accept {
    struct jzx__socket *socket;
    struct jzx__outcome outcome;
    jzx_stream stream;
    bool is_starved;
};

static JZX_ACROSS_WAIT enum jzx__step step(jzx_context *ctx, jzx_listener handle,
                                           struct fiber_accept *own, bool is_late) {
    struct jzx__own turn;
    struct jzx__done done = {.first = NULL};
    enum jzx__step result = JZX__STEP_FAILED;
    own->outcome = (struct jzx__outcome){.err = JZX_ERR_INVALID_ARG};
    if (!jzx__own_begin(&turn, ctx))
        return result;
    own->outcome.err = JZX_ERR_CLOSED;
    own->socket = jzx__socket_acquire(ctx->loop, handle, JZX__SOCKET_LISTENER);
    if (own->socket != NULL) {
        struct jzx__listener *listener = jzx__listener_of(own->socket);
        if (is_late && listener->is_starved)
            own->socket->ready |= JZX__READY_READ;
        result = try_accept(listener, turn.me, ctx->self, &own->outcome, &own->stream);
        own->is_starved = listener->is_starved;
        if (result != JZX__STEP_WAIT)
            go_on(listener, turn.me, &done); /* L2 */
        jzx__socket_release(own->socket, turn.me, &done);
    }
    if (result == JZX__STEP_FAILED && own->outcome.os_error != 0)
        turn.turn->os_error = own->outcome.os_error;
    jzx__own_end(&turn);
    return result;
}

/* Waits once. *is_late: it is time to try again without a descriptor. */
static jzx_err wait_on(jzx_context *ctx, jzx_listener handle, const struct fiber_accept *own,
                       uint64_t deadline_ns, bool *is_late) {
    struct jzx__socket_wait wait = {.handle = handle};
    uint64_t next_ns = own->is_starved ? jzx_in(ctx, RETRY_NS) : JZX_NEVER;
    bool is_early = next_ns < deadline_ns;
    jzx_err err =
        jzx__socket_await(ctx, &wait, &own->socket->readers, is_early ? next_ns : deadline_ns);
    *is_late = err == JZX_ERR_TIMEOUT && is_early && jzx_loop_now(ctx->loop) >= next_ns;
    return *is_late ? JZX_OK : err;
}

static jzx_err accept_in_fiber(jzx_context *ctx, const char *call, jzx_listener listener,
                               uint64_t deadline_ns, jzx_stream *stream) {
    struct fiber_accept own;
    bool is_late = false;
    jzx_err err = jzx__fiber_take_turn(ctx, call);
    if (err == JZX_OK && stream == NULL)
        err = JZX_ERR_INVALID_ARG;
    while (err == JZX_OK) {
        enum jzx__step result = step(ctx, listener, &own, is_late);
        if (result == JZX__STEP_DONE)
            *stream = own.stream;
        if (result != JZX__STEP_WAIT)
            return own.outcome.err;
        err = wait_on(ctx, listener, &own, deadline_ns, &is_late);
    }
    return err;
}

jzx_err jzx_listener_accept(jzx_context *ctx, jzx_listener listener, uint64_t deadline_ns,
                            jzx_stream *stream) {
    return accept_in_fiber(ctx, "jzx_listener_accept", listener, deadline_ns, stream);
}

jzx_err jzx_tcp_accept(jzx_context *ctx, jzx_listener listener, uint64_t deadline_ns,
                       jzx_stream *stream) {
    return accept_in_fiber(ctx, "jzx_tcp_accept", listener, deadline_ns, stream);
}

jzx_err jzx_unix_accept(jzx_context *ctx, jzx_listener listener, uint64_t deadline_ns,
                        jzx_stream *stream) {
    return accept_in_fiber(ctx, "jzx_unix_accept", listener, deadline_ns, stream);
}

/* ---- by a message, by a future ---- */

static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct accept_op *own = jzx__op_own(op);
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(own->base.socket);
    if (own->base.is_pending) {
        jzx__list_remove(&own->at_listener);
        jzx__done_add(&done, &own->base, JZX_ERR_CANCELLED, 0, 0);
    }
    jzx__socket_release(own->base.socket, me, &done);
}

static const struct jzx__op_ops accept_ops = {.cancel = cancel};

static jzx_err start_accept(struct jzx__start *start, jzx_listener handle, jzx_actor_id owner) {
    struct jzx_loop *loop = jzx__start_loop(start);
    const struct jzx__start_spec spec = {.ops = &accept_ops, .capacity = sizeof(jzx_stream)};
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__start_open(start, jzx__socket_find(loop, handle), &spec);
    if (err == JZX_OK) {
        struct accept_op *own = jzx__op_own(start->made);
        struct jzx__done done = {.first = NULL};
        struct jzx__socket *socket = jzx__socket_acquire(loop, handle, JZX__SOCKET_LISTENER);
        err = socket == NULL ? JZX_ERR_CLOSED : JZX_OK;
        own->owner = owner;
        if (socket != NULL) {
            struct jzx__listener *listener = jzx__listener_of(socket);
            own->base.is_pending = true;
            jzx__list_push_back(&listener->accepts, &own->at_listener);
            go_on(listener, start->me, &done);
            jzx__socket_release(socket, start->me, &done);
        }
    }
    return jzx__start_close(start, err);
}

jzx_err jzx_listener_accept_to(jzx_context *ctx, jzx_listener listener, uint32_t tag, jzx_op *op) {
    if (ctx == NULL)
        return JZX_ERR_INVALID_ARG;
    return start_accept(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, listener,
                        ctx->self);
}

jzx_err jzx_tcp_accept_to(jzx_context *ctx, jzx_listener listener, uint32_t tag, jzx_op *op) {
    return jzx_listener_accept_to(ctx, listener, tag, op);
}

jzx_err jzx_unix_accept_to(jzx_context *ctx, jzx_listener listener, uint32_t tag, jzx_op *op) {
    return jzx_listener_accept_to(ctx, listener, tag, op);
}

jzx_err jzx_listener_accept_async(jzx_loop *loop, jzx_listener listener, jzx_future **future) {
    if (future == NULL)
        return JZX_ERR_INVALID_ARG;
    return start_accept(&(struct jzx__start){.loop = loop, .future = future}, listener, JZX_NOBODY);
}

jzx_err jzx_tcp_accept_async(jzx_loop *loop, jzx_listener listener, jzx_future **future) {
    return jzx_listener_accept_async(loop, listener, future);
}

jzx_err jzx_unix_accept_async(jzx_loop *loop, jzx_listener listener, jzx_future **future) {
    return jzx_listener_accept_async(loop, listener, future);
}
