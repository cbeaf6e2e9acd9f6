/* SPDX-License-Identifier: MIT */
/* Streams: connections over TCP (jzx/tcp.h) and Unix sockets (jzx/unix.h). docs/io.md has the whole
 * picture.
 *
 * A behaviour is told what arrives and sends without waiting:
 *
 *     jzx_stream_active(ctx, stream, DATA, JZX_STREAM_ALWAYS);
 *     ...
 *     case DATA: {
 *         const jzx_stream_event *event = msg->data;
 *         if (event->kind == JZX_STREAM_DATA)
 *             jzx_stream_send(ctx, event->stream, jzx_stream_data(event), event->len);
 *         else                                             the end, or an error
 *             jzx_stream_close(ctx->loop, event->stream);
 *     }
 *
 * A fiber waits:
 *
 *     while (jzx_stream_read(ctx, stream, buf, sizeof buf, JZX_NEVER, &len) == JZX_OK)
 *         jzx_stream_write(ctx, stream, buf, len, JZX_NEVER);
 *
 * Each operation comes in three forms. The plain one suspends a fiber until it is complete, and
 * returns JZX_ERR_WOULD_SUSPEND elsewhere. The one that ends in _to returns at once and completes
 * by a message with a jzx_result (jzx/op.h). The one that ends in _async returns a future
 * (jzx/future.h) and may be called on any thread. All of them try the system call at once and wait
 * only if it cannot go on.
 *
 * **Owners.** A socket belongs to an actor: the one that accepted or connected it, or that it was
 * given to. It is registered at the owner's worker, where the owner stays while it has sockets, and
 * it is closed when the owner ends. Any actor that has the handle may read, write and close; only
 * the owner may give the socket away or make it active.
 *
 * **Handles** are plain data. One whose socket is closed is JZX_ERR_CLOSED for ever: no handle ever
 * means another socket.
 *
 * **Closing** completes whatever is pending on the socket, each operation once, with
 * JZX_ERR_CLOSED.
 *
 * **Errors** common to all calls: JZX_ERR_INVALID_ARG (NULL, a wrong context, a length or tag out
 * of range), JZX_ERR_CLOSED, JZX_ERR_RESET (the peer has broken the connection), JZX_ERR_TIMEOUT
 * (the deadline, or the stream was idle for idle_ns), JZX_ERR_CANCELLED (jzx_op_cancel; or the call
 * would wait and the fiber works off its queue, as after jzx_loop_stop), JZX_ERR_NO_MEMORY,
 * JZX_ERR_LOOP_CLOSED, and JZX_ERR_IO for what has no name of its own: jzx_last_os_error, or
 * jzx_result.os_error, has the errno. Of the _to forms JZX_ERR_NO_SUCH_ACTOR: the calling actor
 * works off its queue. An error is returned by the call or comes with the completion, not both. */
#ifndef JZX_STREAM_H
#define JZX_STREAM_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/future.h"
#include "jzx/message.h"
#include "jzx/op.h"
#include "jzx/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Handles. Never 0. */
typedef uint64_t jzx_stream;
typedef uint64_t jzx_listener;

#define JZX_NO_STREAM 0u

/* How a stream is to be; zero fields are the defaults. Given to listen (for all streams that are
 * accepted there) and to connect. */
typedef struct jzx_stream_opts {
    size_t size;         /* sizeof(jzx_stream_opts) */
    uint32_t queue_max;  /* bytes that may wait to be written: 1 MiB. A single write may be longer
                          * if the queue is empty */
    uint32_t queue_high; /* with so many waiting the owner gets JZX_TAG_STREAM_HIGH: 1/4 of
                          * queue_max */
    uint32_t queue_low;  /* and then, with so many left, JZX_TAG_STREAM_LOW: 1/4 of queue_high */
    uint32_t receive_buffer; /* of the system, in bytes; 0: as the system decides */
    uint32_t send_buffer;    /* likewise */
    uint64_t idle_ns;   /* the connection ends when nothing was read or written for so long: what is
                         * pending completes with JZX_ERR_TIMEOUT, and so does each later call until
                         * jzx_stream_close; 0: never */
    bool delay : 1;     /* TCP: small writes may be delayed (Nagle). Else TCP_NODELAY is set */
    bool keepalive : 1; /* TCP: probes an idle peer, as often as the system is set up to */
} jzx_stream_opts;

/* Options in place, in C. In C++ use jzx_stream_opts_init. */
#define JZX_STREAM_OPTS(...) ((jzx_stream_opts){.size = sizeof(jzx_stream_opts), __VA_ARGS__})

#define JZX_DEFAULT_STREAM_QUEUE (1u << 20)

/* What an event says. */
typedef enum jzx_stream_event_kind {
    JZX_STREAM_DATA = 1,    /* len bytes have arrived */
    JZX_STREAM_PASSIVE = 2, /* count messages have come: the stream is not active any more. err is
                             * JZX_OK; or JZX_ERR_NO_MEMORY: it ends early, what has arrived waits,
                             * and jzx_stream_active goes on from there */
    JZX_STREAM_END = 3,     /* the peer writes no more; the stream can still be written to */
    JZX_STREAM_ERROR = 4,   /* err and os_error say what. Nothing more comes; close the stream */
    JZX_STREAM_HIGH = 5,    /* tag JZX_TAG_STREAM_HIGH: queued bytes wait to be written */
    JZX_STREAM_LOW = 6      /* tag JZX_TAG_STREAM_LOW: queued bytes are left */
} jzx_stream_event_kind;

/* The messages of a write queue, to the owner: slow down, and go on. They alternate. */
#define JZX_TAG_STREAM_HIGH 0xFFFF0060u
#define JZX_TAG_STREAM_LOW 0xFFFF0061u

/* The payload of a message about a stream. The data follow it in the same block: jzx_stream_data;
 * msg->len may be larger than both. The message can be taken, stashed and sent on as any other; its
 * sender is JZX_NOBODY. */
typedef struct jzx_stream_event {
    jzx_stream stream;
    uint32_t kind; /* a jzx_stream_event_kind */
    jzx_err err;
    int os_error; /* the errno behind err, or 0 */
    uint32_t len;
    uint64_t queued; /* HIGH, LOW */
} jzx_stream_event;

/* For count of jzx_stream_active: until the end, without JZX_STREAM_PASSIVE. */
#define JZX_STREAM_ALWAYS UINT32_MAX

/* A picture of the moment. */
typedef struct jzx_stream_info {
    size_t size; /* sizeof(jzx_stream_info), set by the caller */
    jzx_actor_id owner;
    int fd;            /* for setsockopt, and for logs: the library reads, writes and closes it */
    bool is_active;    /* jzx_stream_active counts */
    bool is_reading;   /* a read is pending */
    uint64_t received; /* bytes that were read from the system */
    uint64_t sent;     /* bytes that the system has taken */
    uint64_t queued;   /* bytes that wait to be written, of jzx_stream_send and the _to forms */
    uint64_t buffered; /* bytes that were read from the system and by nobody yet */
} jzx_stream_info;

JZX_BEGIN_C

/* As JZX_STREAM_OPTS(); size is sizeof *opts. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_stream_opts_init(jzx_stream_opts *opts, size_t size);

/* ---- reading: one read at a time ----
 *
 * A read while another one is pending, or while the stream is active, is JZX_ERR_BUSY. A read of a
 * fiber is pending until the fiber has taken its bytes. The end of the stream, when the peer
 * writes no more and everything was read, is JZX_ERR_END, each time. A read that ends without
 * JZX_OK has consumed nothing: what had arrived for it is kept with the stream, and the next read
 * of whatever kind gets it first. */

/* Waits until something has arrived, and copies at most cap bytes (not 0) of it: *len says how
 * many, at least 1. buf is borrowed until the return. */
JZX_API jzx_err jzx_stream_read(jzx_context *ctx, jzx_stream stream, void *buf, size_t cap,
                                uint64_t deadline_ns, size_t *len);

/* Waits for exactly len bytes (not 0). JZX_ERR_END: the end came before; jzx_stream_read still gets
 * what there is. */
JZX_API jzx_err jzx_stream_read_exact(jzx_context *ctx, jzx_stream stream, void *buf, size_t len,
                                      uint64_t deadline_ns);

/* Waits for a delimiter and copies all up to and with it: *len bytes. JZX_ERR_TOO_LONG: it is not
 * among the first cap bytes (not 0), which stay where they are. JZX_ERR_END: the end came before;
 * jzx_stream_read still gets what there is. */
JZX_API jzx_err jzx_stream_read_until(jzx_context *ctx, jzx_stream stream, char delimiter,
                                      void *buf, size_t cap, uint64_t deadline_ns, size_t *len);

/* The same, by a message: the data are behind the jzx_result. The room for cap (len) bytes is taken
 * now, in the message; to wait without, use jzx_stream_active. *op may be NULL. jzx_op_cancel stops
 * a read that is pending. */
JZX_API jzx_err jzx_stream_read_to(jzx_context *ctx, jzx_stream stream, size_t cap, uint32_t tag,
                                   jzx_op *op);
JZX_API jzx_err jzx_stream_read_exact_to(jzx_context *ctx, jzx_stream stream, size_t len,
                                         uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_stream_read_until_to(jzx_context *ctx, jzx_stream stream, char delimiter,
                                         size_t cap, uint32_t tag, jzx_op *op);

/* The same, by a future. Its value is a jzx_result with the data behind it, as in a message:
 * sizeof(jzx_result) + cap (len) bytes. Any thread. Cancelling the future cancels the read. */
JZX_API jzx_err jzx_stream_read_async(jzx_loop *loop, jzx_stream stream, size_t cap,
                                      jzx_future **future);
JZX_API jzx_err jzx_stream_read_exact_async(jzx_loop *loop, jzx_stream stream, size_t len,
                                            jzx_future **future);
JZX_API jzx_err jzx_stream_read_until_async(jzx_loop *loop, jzx_stream stream, char delimiter,
                                            size_t cap, jzx_future **future);

/* ---- active streams ---- */

/* What arrives comes to the owner by messages with that tag and a jzx_stream_event: count messages
 * with data, at least one byte each, then one with JZX_STREAM_PASSIVE (never with
 * JZX_STREAM_ALWAYS); or JZX_STREAM_END or JZX_STREAM_ERROR, after which nothing comes. While the
 * stream is active a further call adds to count; with another tag it changes the tag, and count 0
 * makes it passive at once, without a message of its own.
 *
 * Back-pressure: of one stream at most one message with data waits in the mailbox. Nothing more is
 * read from the system before that is handled, so a slow owner slows the peer down, and the
 * mailbox does not grow. The messages do not count against the bound of the mailbox. An idle stream
 * has no buffer.
 *
 * Only the owner, in its own turn. JZX_ERR_NOT_OWNER; JZX_ERR_BUSY: a read is pending;
 * JZX_ERR_UNSUPPORTED: it is an async function, which gets no messages. */
JZX_API jzx_err jzx_stream_active(jzx_context *ctx, jzx_stream stream, uint32_t tag,
                                  uint32_t count);

/* The data behind an event, aligned for any type. NULL for NULL. */
JZX_API void *jzx_stream_data(const jzx_stream_event *event);

/* ---- writing ----
 *
 * Writes go out in the order in which they were begun, each as a whole. What cannot be written at
 * once waits in the stream's queue, up to queue_max bytes: a _to or _async form or jzx_stream_send
 * that would exceed that is JZX_ERR_FULL, and nothing of it was taken. The owner hears
 * JZX_TAG_STREAM_HIGH when queue_high bytes wait, and JZX_TAG_STREAM_LOW when they are down to
 * queue_low. A fiber that waits in jzx_stream_write lends its own buffer and does not count.
 *
 * A write is complete when the system has taken all of it; whether the peer has it is not known. A
 * write that failed, or a fiber's that timed out or was cancelled, when a part of it was out,
 * breaks the stream for writing, because the peer could not tell where the next one begins: all
 * later writes fail with JZX_ERR_INVALID_STATE, or with the error of the failed one; reading goes
 * on. If nothing of it was out, nothing has happened. jzx_op_cancel and the cancel of a future stop
 * a write of which nothing is out; else it goes on. After jzx_stream_shutdown a write is
 * JZX_ERR_INVALID_STATE. A peer that is gone is JZX_ERR_RESET; SIGPIPE is never raised. */

/* Waits until all is written. buf is borrowed until the return. */
JZX_API jzx_err jzx_stream_write(jzx_context *ctx, jzx_stream stream, const void *buf, size_t len,
                                 uint64_t deadline_ns);

/* The same for several pieces, in one system call where that is possible. At most
 * JZX_STREAM_PARTS_MAX. */
#define JZX_STREAM_PARTS_MAX 64u
JZX_API jzx_err jzx_stream_writev(jzx_context *ctx, jzx_stream stream, const struct iovec *parts,
                                  size_t count, uint64_t deadline_ns);

/* Sends len bytes of a regular file from that offset on, without a copy in user space. *sent (may
 * be NULL) says how many: fewer only if the file ends before. The descriptor is the caller's and
 * must stay open until the operation is complete. Reading the file may block the worker on its
 * disk. */
JZX_API jzx_err jzx_stream_sendfile(jzx_context *ctx, jzx_stream stream, int fd, uint64_t offset,
                                    size_t len, uint64_t deadline_ns, size_t *sent);

/* Ends the writing side when all that waits is written: the peer reads JZX_ERR_END. Reading goes
 * on. A second one is JZX_ERR_INVALID_STATE. */
JZX_API jzx_err jzx_stream_shutdown(jzx_context *ctx, jzx_stream stream, uint64_t deadline_ns);

/* Takes a copy and returns at once, without a completion: the form for behaviours. JZX_OK: it was
 * written, or waits in the queue; an error that comes later is that of the next call on the stream,
 * and of its JZX_STREAM_ERROR event if it is active. jzx_stream_shutdown tells when all is
 * written. */
JZX_API jzx_err jzx_stream_send(jzx_context *ctx, jzx_stream stream, const void *buf, size_t len);

/* The same with a buffer of jzx_msg_alloc or jzx_msg_take, which is moved: on JZX_OK it is the
 * stream's, else still the caller's. A shared buffer (jzx_msg_share) is JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_stream_send_msg(jzx_context *ctx, jzx_stream stream, void *data);

/* By a message with a jzx_result, without data, when all is written. buf and parts are copied; data
 * of jzx_stream_write_msg_to is moved as by jzx_stream_send_msg. sendfile: the data of the result
 * are the number of bytes, a uint64_t. */
JZX_API jzx_err jzx_stream_write_to(jzx_context *ctx, jzx_stream stream, const void *buf,
                                    size_t len, uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_stream_write_msg_to(jzx_context *ctx, jzx_stream stream, void *data,
                                        uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_stream_writev_to(jzx_context *ctx, jzx_stream stream, const struct iovec *parts,
                                     size_t count, uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_stream_sendfile_to(jzx_context *ctx, jzx_stream stream, int fd, uint64_t offset,
                                       size_t len, uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_stream_shutdown_to(jzx_context *ctx, jzx_stream stream, uint32_t tag,
                                       jzx_op *op);

/* By a future without a value; that of sendfile has the number of bytes, a uint64_t. Any thread. */
JZX_API jzx_err jzx_stream_write_async(jzx_loop *loop, jzx_stream stream, const void *buf,
                                       size_t len, jzx_future **future);
JZX_API jzx_err jzx_stream_writev_async(jzx_loop *loop, jzx_stream stream,
                                        const struct iovec *parts, size_t count,
                                        jzx_future **future);
JZX_API jzx_err jzx_stream_sendfile_async(jzx_loop *loop, jzx_stream stream, int fd,
                                          uint64_t offset, size_t len, jzx_future **future);
JZX_API jzx_err jzx_stream_shutdown_async(jzx_loop *loop, jzx_stream stream, jzx_future **future);

/* ---- its life; none of these waits ---- */

/* Closes it: what is pending completes with JZX_ERR_CLOSED, what waits to be written is dropped (to
 * have it written, jzx_stream_shutdown first). What the system has already it still sends, unless
 * jzx_stream_set_linger says otherwise. From the return on the handle is stale. Any thread.
 * JZX_ERR_CLOSED: it was closed before. */
JZX_API jzx_err jzx_stream_close(jzx_loop *loop, jzx_stream stream);

/* Makes another actor of the loop the owner. Nothing is lost: what has arrived, what waits to be
 * written and what is pending stays with the stream; an active one becomes passive, without a
 * message (events that are in the old owner's mailbox already stay there). What the caller sends to
 * the new owner after this arrives when the stream is its own. If that actor ends before it has
 * the stream, the stream is closed. An acceptor hands a connection over so:
 *
 *     jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = connection), &id);
 *     jzx_stream_give(ctx, stream, id);
 *     jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, BEGIN);
 *
 * The stream is registered at the worker where its new owner is when it takes that in. Only the
 * owner, in its own turn. JZX_ERR_NOT_OWNER; JZX_ERR_NO_SUCH_ACTOR: nothing has happened. */
JZX_API jzx_err jzx_stream_give(jzx_context *ctx, jzx_stream stream, jzx_actor_id to);

/* Any thread, as all that follow. JZX_ERR_CLOSED, JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_stream_info_get(jzx_loop *loop, jzx_stream stream, jzx_stream_info *info);

/* The address of the peer, and the own one, as text with its '\0': "127.0.0.1:5555", "[::1]:80",
 * "/run/server.sock"; a Unix socket without a name: "". JZX_ERR_TOO_LONG: size bytes are too few;
 * JZX_ADDRESS_MAX is enough. */
#define JZX_ADDRESS_MAX 128u
JZX_API jzx_err jzx_stream_peer(jzx_loop *loop, jzx_stream stream, char *text, size_t size);
JZX_API jzx_err jzx_stream_local(jzx_loop *loop, jzx_stream stream, char *text, size_t size);

/* As jzx_stream_opts says; JZX_ERR_UNSUPPORTED where the socket has no such thing. */
JZX_API jzx_err jzx_stream_set_nodelay(jzx_loop *loop, jzx_stream stream, bool on);

/* Probes an idle peer after idle_ns, then every interval_ns, count times (whole seconds, rounded
 * up; 0: as the system is set up); idle_ns = JZX_NEVER: off. */
JZX_API jzx_err jzx_stream_set_keepalive(jzx_loop *loop, jzx_stream stream, uint64_t idle_ns,
                                         uint64_t interval_ns, uint32_t count);

/* What close does with data that the system has not sent: seconds < 0, the default, sends them in
 * the background; 0 drops them and resets the connection; more: gives up after that time. close
 * never blocks the caller in any case. */
JZX_API jzx_err jzx_stream_set_linger(jzx_loop *loop, jzx_stream stream, int seconds);

/* ---- listeners; jzx_tcp_listen and jzx_unix_listen make them ---- */

/* Chooses the worker that serves a connection. The choice takes effect when jzx_stream_give hands
 * an accepted stream to an actor that has not begun, as in a listener that spawns an actor for each
 * connection: the actor begins on that worker and stays there with the stream. An actor with a
 * place or a priority of its own begins where it would anyway. docs/io.md says which mode suits
 * which server. */
typedef enum jzx_accept_mode {
    JZX_ACCEPT_SPREAD = 0, /* the accepting worker; while that is busy (it has not slept for 1 ms),
                            * the worker with the fewest sockets. So one core carries a light
                            * server, and all cores carry a heavy one. JZX_BALANCE_NONE switches
                            * this off */
    JZX_ACCEPT_LOCAL = 1,  /* the worker of the actor that gives the stream away, at any load */
    JZX_ACCEPT_PER_WORKER = 2 /* the same, with reuse_port: each worker runs a listener of its own
                               * at one address, and the kernel spreads connections over them. TCP
                               * only; else JZX_ERR_UNSUPPORTED */
} jzx_accept_mode;

typedef struct jzx_listen_opts {
    size_t size;      /* sizeof(jzx_listen_opts) */
    uint32_t backlog; /* connections that wait to be accepted: 1024, bounded by the system */
    uint32_t connections_max; /* accepted streams that are open at a time; accept waits while there
                               * are so many. 0: no limit */
    bool reuse_port : 1;      /* TCP: several listeners share the address, and the system spreads
                               * connections over them: one for each worker, say */
    bool v6_only : 1;         /* "[::]:80" takes no connections over IPv4 */
    uint32_t mode;            /* Unix: of the file, 0600 for instance; 0: as the umask says */
    const jzx_stream_opts *stream; /* of accepted streams; NULL: the defaults. Copied */
    jzx_accept_mode accept_mode;
} jzx_listen_opts;

/* Options in place, in C. In C++ use jzx_listen_opts_init. */
#define JZX_LISTEN_OPTS(...) ((jzx_listen_opts){.size = sizeof(jzx_listen_opts), __VA_ARGS__})
#define JZX_DEFAULT_BACKLOG 1024u

JZX_API jzx_err jzx_listen_opts_init(jzx_listen_opts *opts, size_t size);

/* Accepts a connection; the stream belongs to the calling actor. Any number of accepts may be
 * pending: they are served in order, waiting fibers before messages and futures.
 *
 * A connection that is gone before it is accepted is skipped. While the process or the system has
 * no descriptors or memory for another one, accept waits and tries again, every 50 ms and whenever
 * a stream of this listener is closed; connections wait in the backlog meanwhile. The log says so
 * once, and once when it is over. */
JZX_API jzx_err jzx_listener_accept(jzx_context *ctx, jzx_listener listener, uint64_t deadline_ns,
                                    jzx_stream *stream);

/* The data of the result are the jzx_stream, which belongs to the calling actor: if that ends
 * before it has seen the result, the stream is closed with it. */
JZX_API jzx_err jzx_listener_accept_to(jzx_context *ctx, jzx_listener listener, uint32_t tag,
                                       jzx_op *op);

/* The value is the jzx_stream, which belongs to the listener's owner. Any thread. */
JZX_API jzx_err jzx_listener_accept_async(jzx_loop *loop, jzx_listener listener,
                                          jzx_future **future);

/* As for streams. Streams that were accepted stay open. A Unix socket's file is removed, also after
 * a chdir(2); what others have put at its path meanwhile stays. */
JZX_API jzx_err jzx_listener_close(jzx_loop *loop, jzx_listener listener);
JZX_API jzx_err jzx_listener_give(jzx_context *ctx, jzx_listener listener, jzx_actor_id to);

/* The address that it listens at, with the port that the system has chosen. Any thread. */
JZX_API jzx_err jzx_listener_address(jzx_loop *loop, jzx_listener listener, char *text,
                                     size_t size);

JZX_END_C

#endif
