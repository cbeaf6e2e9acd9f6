/* SPDX-License-Identifier: MIT */
/* A stream is made before it is connected, so that it is closed if its owner ends meanwhile. Nobody
 * has its handle before it is connected. */
#include "net/connect.h"

#include "base/sized.h"
#include "fiber/fiber.h"
#include "net/address.h"
#include "net/start.h"

#include "jzx/unix.h"

#include <errno.h>
#include <string.h>

/* Between two tries at a Unix socket whose backlog is full: nothing tells when it is not. */
#define RETRY_NS JZX_MS(10)

/* ---- options ---- */

jzx_err jzx_connect_opts_init(jzx_connect_opts *opts, size_t size) {
    const jzx_connect_opts defaults = JZX_CONNECT_OPTS(.local = NULL);
    return jzx__init_sized(opts, size, &defaults, sizeof defaults) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

/* What a call asks for. */
struct request {
    struct jzx__address address;
    struct jzx__address local;
    bool has_local;
    jzx_stream_opts stream;
};

static jzx_err parse(const char *text, bool is_unix, struct jzx__address *address) {
    return is_unix ? jzx__address_parse_unix(text, address) : jzx__address_parse(text, address);
}

static jzx_err read_request(struct request *request, const char *address, bool is_unix,
                            const jzx_connect_opts *opts) {
    jzx_connect_opts full = JZX_CONNECT_OPTS(.local = NULL);
    if (opts != NULL && !jzx__read_sized(&full, sizeof full, opts))
        return JZX_ERR_INVALID_ARG;
    if (!jzx__stream_opts_settle(&request->stream, full.stream))
        return JZX_ERR_INVALID_ARG;
    request->has_local = full.local != NULL;
    jzx_err err = parse(address, is_unix, &request->address);
    if (err == JZX_OK && request->has_local)
        err = parse(full.local, is_unix, &request->local);
    return err;
}

/* ---- to the system ---- */

/* A socket that is configured and bound; or the negative errno. */
static int open_fd(struct jzx_loop *loop, const struct request *request) {
    const struct jzx__os *os = jzx__io_of(loop)->os;
    int family = request->address.any.sa_family;
    int fd = os->socket(family, SOCK_STREAM, 0);
    if (fd < 0)
        return fd;
    int err = jzx__stream_configure(loop, fd, family, &request->stream);
    if (err == 0 && request->has_local)
        err = os->bind(fd, &request->local.any, request->local.size);
    if (err == 0)
        return fd;
    (void)os->close(fd);
    return err;
}

/* A connect that a signal has interrupted goes on. */
static int call_connect(struct jzx__socket *socket, const struct jzx__address *address) {
    int err = jzx__socket_os(socket)->connect(jzx__socket_fd(socket), &address->any, address->size);
    return err == -EINTR ? -EINPROGRESS : err;
}

/* What has become of one that is in progress: 0, -EINPROGRESS, or an error. */
static int ask_system(struct jzx__socket *socket) {
    const struct jzx__os *os = jzx__socket_os(socket);
    struct jzx__address peer;
    int error = 0;
    socklen_t size = sizeof error;
    int failed = os->getsockopt(jzx__socket_fd(socket), SOL_SOCKET, SO_ERROR, &error, &size);
    if (failed < 0 || error != 0)
        return failed < 0 ? failed : -error;
    peer.size = sizeof peer.local;
    failed = os->getpeername(jzx__socket_fd(socket), &peer.any, &peer.size);
    return failed == -ENOTCONN ? -EINPROGRESS : failed;
}

/* ---- going on, under the lock ---- */

static void drop_retry(struct jzx__stream *stream, struct jzx__worker *me) {
    if (stream->retry != NULL)
        jzx__message_destroy(stream->socket.loop, me, stream->retry);
    stream->retry = NULL;
}

/* Keeps the address for the next try. False without memory. */
static bool keep_address(struct jzx__stream *stream, struct jzx__worker *me,
                         const struct jzx__address *address) {
    if (stream->retry == NULL)
        stream->retry = jzx__message_create(stream->socket.loop, me, sizeof *address);
    if (stream->retry == NULL)
        return false;
    memcpy(stream->retry->payload, address, sizeof *address);
    return true;
}

/* 0: it is connected; 1: not yet; or the negative errno. */
static int advance(struct jzx__stream *stream, struct jzx__worker *me, int err) {
    struct jzx__socket *socket = &stream->socket;
    if (err == -EINPROGRESS || err == -EAGAIN) {
        socket->ready = 0;
        return 1;
    }
    drop_retry(stream, me);
    if (err < 0)
        return err;
    stream->is_connecting = false;
    socket->ready = JZX__READY_READ | JZX__READY_WRITE;
    jzx__stream_touch(stream);
    return 0;
}

static int try_again(struct jzx__stream *stream, struct jzx__worker *me) {
    struct jzx__socket *socket = &stream->socket;
    int err;
    if (stream->retry == NULL) {
        err = ask_system(socket);
    } else {
        err = call_connect(socket, (const void *)stream->retry->payload);
        if (err == -EINPROGRESS)
            drop_retry(stream, me);
    }
    return advance(stream, me, err);
}

/* The operation has its data before it is complete. */
static void complete(struct jzx__stream *stream, struct jzx__done *done) {
    struct jzx__socket_op *own = stream->connect_op;
    jzx_stream handle = jzx__socket_handle(&stream->socket);
    stream->connect_op = NULL;
    memcpy(jzx__op_data(jzx__op_of_own(own)), &handle, sizeof handle);
    jzx__done_add(done, own, JZX_OK, 0, sizeof handle);
}

/* Nobody has its handle: of one that failed nothing is left. A fiber closes it itself. */
static void give_up(struct jzx__stream *stream, struct jzx__worker *me, int error,
                    struct jzx__done *done) {
    struct jzx__socket_op *own = stream->connect_op;
    stream->connect_op = NULL;
    jzx_err err = jzx__os_error_status(error);
    if (own == NULL) {
        jzx__socket_fail(&stream->socket, me, err, error, done);
        return;
    }
    jzx__done_add(done, own, err, error, 0);
    jzx__socket_close(&stream->socket, me, done);
}

void jzx__connect_listed(struct jzx__stream *stream, struct jzx__worker *me) {
    struct jzx_loop *loop = stream->socket.loop;
    if (stream->retry != NULL && stream->connect_op != NULL)
        (void)jzx__socket_set_timer(&stream->socket, me,
                                    jzx__clock_now(&loop->sched.clock) + RETRY_NS);
}

/* A stream that is connected begins its time of idleness. */
void jzx__connect_go_on(struct jzx__stream *stream, struct jzx__worker *me,
                        struct jzx__done *done) {
    int err = try_again(stream, me);
    if (err < 0) {
        give_up(stream, me, -err, done);
        return;
    }
    if (err == 0 && stream->connect_op != NULL)
        complete(stream, done);
    else if (err == 0)
        (void)jzx__socket_wake_one(&stream->socket.writers, me);
    jzx__socket_attend(&stream->socket, me);
}

void jzx__connect_end(struct jzx__stream *stream, jzx_err err, struct jzx__done *done) {
    if (stream->connect_op != NULL)
        jzx__done_add(done, stream->connect_op, err, stream->socket.os_error, 0);
    stream->connect_op = NULL;
    if (stream->is_connecting)
        drop_retry(stream, NULL);
    stream->is_connecting = false;
}

/* ---- beginning ---- */

/* A stream that belongs to the owner and is connected, or is being connected. own, or NULL, is the
 * operation that is to complete then. *error: the errno of a failure. In a visit; the stream is
 * locked on JZX_OK. */
static jzx_err begin(struct jzx__worker *me, struct jzx__stream *stream,
                     const struct request *request, jzx_actor_id owner, int *error) {
    struct jzx__socket *socket = &stream->socket;
    stream->is_connecting = true;
    int err = call_connect(socket, &request->address);
    if (err == -EAGAIN && !keep_address(stream, me, &request->address))
        return JZX_ERR_NO_MEMORY;
    err = advance(stream, me, err);
    if (err < 0) {
        *error = -err;
        return jzx__os_error_status(-err);
    }
    return jzx__socket_adopt(socket, me, owner);
}

/* A record for it, without an owner. */
static jzx_err make(struct jzx_loop *loop, const struct request *request,
                    struct jzx__stream **stream, int *error) {
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    int fd = open_fd(loop, request);
    if (fd < 0) {
        *error = -fd;
        return jzx__os_error_status(-fd);
    }
    *stream = jzx__stream_create(loop, fd, &request->stream);
    return *stream == NULL ? JZX_ERR_NO_MEMORY : JZX_OK;
}

/* ---- a fiber ---- */

struct fiber_connect {
    struct jzx__socket *socket;
    jzx_stream handle;
    bool is_over;  /* it is connected */
    bool is_retry; /* it is to be tried again after a while */
};

static JZX_ACROSS_WAIT jzx_err begin_in_fiber(jzx_context *ctx, const struct request *request,
                                              struct fiber_connect *own) {
    struct jzx__own turn;
    struct jzx__done done = {.first = NULL};
    struct jzx__stream *stream;
    int error = 0;
    if (!jzx__own_begin(&turn, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = make(ctx->loop, request, &stream, &error);
    if (err == JZX_OK) {
        jzx__socket_lock(&stream->socket);
        err = begin(turn.me, stream, request, ctx->self, &error);
        *own = (struct fiber_connect){.socket = &stream->socket,
                                      .handle = jzx__socket_handle(&stream->socket),
                                      .is_over = !stream->is_connecting,
                                      .is_retry = stream->retry != NULL};
        if (err != JZX_OK)
            jzx__socket_close(&stream->socket, turn.me, &done);
        jzx__socket_release(&stream->socket, turn.me, &done);
    }
    if (error != 0)
        turn.turn->os_error = error;
    jzx__own_end(&turn);
    return err;
}

/* Looks how far it is. */
static JZX_ACROSS_WAIT jzx_err look(jzx_context *ctx, struct fiber_connect *own) {
    struct jzx__own turn;
    struct jzx__done done = {.first = NULL};
    jzx_err err = JZX_ERR_CLOSED;
    if (!jzx__own_begin(&turn, ctx))
        return JZX_ERR_INVALID_ARG;
    struct jzx__socket *socket = jzx__socket_acquire(ctx->loop, own->handle, JZX__SOCKET_STREAM);
    if (socket != NULL) {
        struct jzx__stream *stream = jzx__stream_of(socket);
        if (stream->is_connecting && stream->retry != NULL)
            jzx__connect_go_on(stream, turn.me, &done);
        err = (jzx_err)socket->err;
        own->is_over = !stream->is_connecting;
        own->is_retry = stream->retry != NULL;
        if (err != JZX_OK) {
            turn.turn->os_error = socket->os_error;
            jzx__socket_close(socket, turn.me, &done);
        }
        jzx__socket_release(socket, turn.me, &done);
    }
    jzx__own_end(&turn);
    return err;
}

/* Waits once. A time that is over early is no error. */
static jzx_err wait_on(jzx_context *ctx, struct fiber_connect *own, uint64_t deadline_ns) {
    struct jzx__socket_wait wait = {.handle = own->handle};
    uint64_t next_ns = own->is_retry ? jzx_in(ctx, RETRY_NS) : JZX_NEVER;
    bool is_early = next_ns < deadline_ns;
    jzx_err err =
        jzx__socket_await(ctx, &wait, &own->socket->writers, is_early ? next_ns : deadline_ns);
    return err == JZX_ERR_TIMEOUT && is_early && jzx_loop_now(ctx->loop) >= next_ns ? JZX_OK : err;
}

static jzx_err connect_in_fiber(jzx_context *ctx, const struct request *request,
                                uint64_t deadline_ns, jzx_stream *stream) {
    struct fiber_connect own;
    jzx_err err = begin_in_fiber(ctx, request, &own);
    while (err == JZX_OK && !own.is_over) {
        err = wait_on(ctx, &own, deadline_ns);
        if (err != JZX_OK)
            (void)jzx_stream_close(ctx->loop, own.handle);
        else
            err = look(ctx, &own);
    }
    if (err == JZX_OK)
        *stream = own.handle;
    return err;
}

static jzx_err connect_any(jzx_context *ctx, bool is_unix, const char *address,
                           const jzx_connect_opts *opts, uint64_t deadline_ns, jzx_stream *stream) {
    struct request request;
    jzx_err err = jzx__fiber_take_turn(ctx, is_unix ? "jzx_unix_connect" : "jzx_tcp_connect");
    if (err == JZX_OK)
        err = stream == NULL ? JZX_ERR_INVALID_ARG : read_request(&request, address, is_unix, opts);
    return err != JZX_OK ? err : connect_in_fiber(ctx, &request, deadline_ns, stream);
}

jzx_err jzx_tcp_connect(jzx_context *ctx, const char *address, const jzx_connect_opts *opts,
                        uint64_t deadline_ns, jzx_stream *stream) {
    return connect_any(ctx, false, address, opts, deadline_ns, stream);
}

jzx_err jzx_unix_connect(jzx_context *ctx, const char *address, const jzx_connect_opts *opts,
                         uint64_t deadline_ns, jzx_stream *stream) {
    return connect_any(ctx, true, address, opts, deadline_ns, stream);
}

/* ---- by a message, by a future ---- */

static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx__socket_op *own = jzx__op_own(op);
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(own->socket);
    if (own->is_pending) {
        jzx__stream_of(own->socket)->connect_op = NULL;
        jzx__done_add(&done, own, JZX_ERR_CANCELLED, 0, 0);
        jzx__socket_close(own->socket, me, &done);
    }
    jzx__socket_release(own->socket, me, &done);
}

static const struct jzx__op_ops connect_ops = {.cancel = cancel};

/* The errors of the system come with the completion. */
static jzx_err launch(struct jzx__start *start, struct jzx__stream *stream,
                      const struct request *request, jzx_actor_id owner) {
    struct jzx__socket_op *own = jzx__op_own(start->made);
    struct jzx__socket *socket = &stream->socket;
    struct jzx__done done = {.first = NULL};
    int error = 0;
    jzx__socket_lock(socket);
    stream->connect_op = own;
    own->is_pending = true;
    jzx_err err = begin(start->me, stream, request, owner, &error);
    if (err != JZX_OK) {
        stream->connect_op = NULL;
        own->is_pending = false;
        if (error != 0) {
            jzx__done_add(&done, own, err, error, 0);
            err = JZX_OK;
        }
        jzx__socket_close(socket, start->me, &done);
    } else if (!stream->is_connecting) {
        complete(stream, &done);
    }
    jzx__socket_release(socket, start->me, &done);
    return err;
}

/* One that nobody has used. */
static void destroy(struct jzx__stream *stream, struct jzx__worker *me) {
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(&stream->socket);
    jzx__socket_close(&stream->socket, me, &done);
    jzx__socket_release(&stream->socket, me, &done);
}

static jzx_err start_connect(struct jzx__start *start, const struct request *request,
                             jzx_actor_id owner) {
    const struct jzx__start_spec spec = {.ops = &connect_ops, .capacity = sizeof(jzx_stream)};
    struct jzx__stream *stream = NULL;
    int error = 0;
    jzx_err err = jzx__start_enter(start);
    if (err == JZX_OK)
        err = make(start->loop, request, &stream, &error);
    if (err == JZX_OK) {
        err = jzx__start_open(start, &stream->socket, &spec);
        if (err == JZX_OK)
            err = launch(start, stream, request, owner);
        else
            destroy(stream, start->me);
    }
    return jzx__start_close(start, err);
}

static jzx_err connect_to(jzx_context *ctx, const char *address, bool is_unix,
                          const jzx_connect_opts *opts, uint32_t tag, jzx_op *op) {
    struct request request;
    jzx_err err =
        ctx == NULL ? JZX_ERR_INVALID_ARG : read_request(&request, address, is_unix, opts);
    if (err != JZX_OK)
        return err;
    return start_connect(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, &request,
                         ctx->self);
}

static jzx_err connect_async(jzx_loop *loop, const char *address, bool is_unix,
                             const jzx_connect_opts *opts, jzx_actor_id owner,
                             jzx_future **future) {
    struct request request;
    jzx_err err = loop == NULL || future == NULL ? JZX_ERR_INVALID_ARG
                                                 : read_request(&request, address, is_unix, opts);
    if (err != JZX_OK)
        return err;
    return start_connect(&(struct jzx__start){.loop = loop, .future = future}, &request, owner);
}

jzx_err jzx_tcp_connect_to(jzx_context *ctx, const char *address, const jzx_connect_opts *opts,
                           uint32_t tag, jzx_op *op) {
    return connect_to(ctx, address, false, opts, tag, op);
}

jzx_err jzx_unix_connect_to(jzx_context *ctx, const char *address, const jzx_connect_opts *opts,
                            uint32_t tag, jzx_op *op) {
    return connect_to(ctx, address, true, opts, tag, op);
}

jzx_err jzx_tcp_connect_async(jzx_loop *loop, const char *address, const jzx_connect_opts *opts,
                              jzx_actor_id owner, jzx_future **future) {
    return connect_async(loop, address, false, opts, owner, future);
}

jzx_err jzx_unix_connect_async(jzx_loop *loop, const char *address, const jzx_connect_opts *opts,
                               jzx_actor_id owner, jzx_future **future) {
    return connect_async(loop, address, true, opts, owner, future);
}

/* ---- pairs ---- */

static jzx_err adopt(struct jzx__stream *stream, struct jzx__own *own, jzx_stream *handle) {
    struct jzx__socket *socket = &stream->socket;
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(socket);
    jzx_err err = jzx__socket_adopt(socket, own->me, own->turn->ctx.self);
    *handle = jzx__socket_handle(socket);
    if (err != JZX_OK)
        jzx__socket_close(socket, own->me, &done);
    jzx__socket_release(socket, own->me, &done);
    return err;
}

static jzx_err make_pair(struct jzx__own *own, const jzx_stream_opts *opts, jzx_stream pair[2]) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    jzx_stream handles[2] = {JZX_NO_STREAM, JZX_NO_STREAM};
    int fds[2];
    int failed = jzx__io_of(loop)->os->socketpair(AF_UNIX, SOCK_STREAM, fds);
    if (failed < 0)
        return jzx__io_failed(own, -failed);
    jzx_err err = JZX_OK;
    for (uint32_t i = 0; i < 2; i++) {
        (void)jzx__stream_configure(loop, fds[i], AF_UNIX, opts);
        struct jzx__stream *stream = jzx__stream_create(loop, fds[i], opts);
        jzx_err made = stream == NULL ? JZX_ERR_NO_MEMORY : adopt(stream, own, &handles[i]);
        err = err == JZX_OK ? made : err;
    }
    if (err == JZX_OK)
        memcpy(pair, handles, sizeof handles);
    else if (handles[0] != JZX_NO_STREAM)
        (void)jzx_stream_close(loop, handles[0]);
    if (err != JZX_OK && handles[1] != JZX_NO_STREAM)
        (void)jzx_stream_close(loop, handles[1]);
    return err;
}

jzx_err jzx_unix_pair(jzx_context *ctx, const jzx_stream_opts *opts, jzx_stream pair[2]) {
    struct jzx__own own;
    jzx_stream_opts full;
    if (pair == NULL || !jzx__stream_opts_settle(&full, opts) || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = make_pair(&own, &full, pair);
    jzx__own_end(&own);
    return err;
}
