/* SPDX-License-Identifier: MIT */
/* Datagrams over UDP. docs/io.md has the whole picture.
 *
 * A behaviour is told of each datagram and sends without waiting:
 *
 *     jzx_udp_open(ctx, "0.0.0.0:5555", NULL, &udp);
 *     jzx_udp_active(ctx, udp, DATAGRAM, JZX_UDP_ALWAYS);
 *     ...
 *     case DATAGRAM: {
 *         const jzx_udp_event *event = msg->data;
 *         if (event->kind == JZX_UDP_DATA)
 *             jzx_udp_try_send(ctx, udp, jzx_udp_data(event), event->len, &event->from);
 *     }
 *
 * A fiber waits:
 *
 *     jzx_datagram in = {.data = buf, .cap = sizeof buf};
 *     while (jzx_udp_receive(ctx, udp, &in, JZX_NEVER) == JZX_OK)
 *         jzx_udp_send(ctx, udp, buf, in.len, &in.address, JZX_NEVER);
 *
 * Operations come in the three forms of jzx/stream.h: plain (suspends a fiber, and is
 * JZX_ERR_WOULD_SUSPEND elsewhere), _to (a message with a jzx_result) and _async (a future, from
 * any thread). What jzx/stream.h says of owners, handles and closing holds here, too: a socket
 * belongs to the actor that opened it or was given it, and is closed when that ends; any actor that
 * has the handle may send, receive and close; a handle whose socket is closed is JZX_ERR_CLOSED for
 * ever; closing completes all that is pending, each operation once, with JZX_ERR_CLOSED.
 *
 * **Truncation.** A datagram that is longer than the room for it is received as far as it fits, and
 * the rest is lost, as the system has it. This is no error, in any form: len says how many bytes
 * there are and size how many there were, so size > len tells.
 *
 * **Errors** common to all calls: JZX_ERR_INVALID_ARG (NULL, a wrong context, a number, length or
 * tag out of range, an address of a family that the socket does not take), JZX_ERR_CLOSED,
 * JZX_ERR_TIMEOUT (the deadline), JZX_ERR_CANCELLED (the fiber works off its queue, or
 * jzx_op_cancel), JZX_ERR_NO_MEMORY, JZX_ERR_LOOP_CLOSED, and JZX_ERR_IO for what has no name of
 * its own: jzx_last_os_error, or jzx_result.os_error, has the errno. Of the _to forms
 * JZX_ERR_NO_SUCH_ACTOR: the calling actor works off its queue.
 *
 * JZX_ERR_REFUSED: the peer of a connected socket has answered an earlier datagram that nobody
 * listens there. The next call that sends or receives gets it, once, and has done nothing; the
 * socket can be used as before. JZX_ERR_UNREACHABLE comes in the same way. */
#ifndef JZX_UDP_H
#define JZX_UDP_H

#include "jzx/stream.h"

/* A handle. Never 0. */
typedef uint64_t jzx_udp;

#define JZX_NO_UDP 0u

/* ---- addresses ---- */

/* An address with its port, of IPv4 or IPv6. Plain data: may be copied, compared and sent to other
 * actors of the process. All zeroes: none. */
typedef struct jzx_address {
    uint64_t opaque[4];
} jzx_address;

/* How a socket is to be; zero fields are the defaults. */
typedef struct jzx_udp_opts {
    size_t size;             /* sizeof(jzx_udp_opts) */
    const char *peer;        /* connects the socket there: jzx_udp_connect. NULL: it is not */
    uint32_t datagram_max;   /* room for one datagram of an active socket: 1,500 bytes */
    uint32_t queue_max;      /* bytes of _to and _async forms that may wait to be sent: 1 MiB */
    uint32_t receive_buffer; /* of the system, in bytes; 0: as the system decides */
    uint32_t send_buffer;    /* likewise */
    bool reuse_port : 1;     /* several sockets share the address, and the system spreads datagrams
                              * over them by their sender: one for each worker, say */
    bool reuse_address : 1;  /* several sockets have the address, for multicast: each gets what is
                              * sent to a group that it has joined */
    bool broadcast : 1;      /* may send to broadcast addresses */
    bool v6_only : 1;        /* "[::]:80" takes nothing over IPv4 */
} jzx_udp_opts;

/* Options in place, in C. In C++ use jzx_udp_opts_init. */
#define JZX_UDP_OPTS(...) ((jzx_udp_opts){.size = sizeof(jzx_udp_opts), __VA_ARGS__})

#define JZX_DEFAULT_DATAGRAM_MAX 1500u
#define JZX_DEFAULT_UDP_QUEUE (1u << 20)

/* No datagram is longer. */
#define JZX_UDP_SIZE_MAX 65535u

/* Datagrams of one batch. */
#define JZX_UDP_BATCH_MAX 16u

/* One datagram of a fiber. Its size is fixed: arrays of them are batches. */
typedef struct jzx_datagram {
    void *data;          /* the caller's; not changed by a send */
    size_t cap;          /* receive: the room there, not 0 */
    size_t len;          /* bytes that are there, or that are to be sent */
    size_t size;         /* receive: bytes of the datagram; more than len if it did not fit */
    jzx_address address; /* receive: the sender. send: the receiver; zeroes: the peer of a connected
                          * socket */
} jzx_datagram;

/* What an event says. */
typedef enum jzx_udp_event_kind {
    JZX_UDP_DATA = 1,    /* a datagram; its length may be 0 */
    JZX_UDP_PASSIVE = 2, /* count datagrams have come: the socket is not active any more. err is
                          * JZX_OK; or JZX_ERR_NO_MEMORY: it ends early, what has arrived waits with
                          * the system, and jzx_udp_active goes on from there */
    JZX_UDP_ERROR = 3    /* err and os_error say what. JZX_ERR_REFUSED and JZX_ERR_UNREACHABLE are
                          * about datagrams that were sent, and more events come; after any other
                          * the socket is not active any more */
} jzx_udp_event_kind;

/* The payload of a message of an active socket, and what the result of a receive has for each
 * datagram. The data follow in the same block: jzx_udp_data. */
typedef struct jzx_udp_event {
    jzx_udp udp;
    uint32_t kind; /* a jzx_udp_event_kind */
    jzx_err err;
    int os_error;     /* the errno behind err, or 0 */
    uint32_t len;     /* bytes that are there */
    uint32_t size;    /* bytes of the datagram; more than len if it did not fit */
    uint32_t next;    /* of jzx_udp_next */
    jzx_address from; /* the sender */
} jzx_udp_event;

/* For count of jzx_udp_active: until it is closed, without JZX_UDP_PASSIVE. */
#define JZX_UDP_ALWAYS UINT32_MAX

/* A picture of the moment. */
typedef struct jzx_udp_info {
    size_t size; /* sizeof(jzx_udp_info), set by the caller */
    jzx_actor_id owner;
    int fd;             /* for setsockopt, and for logs: the library reads, writes and closes it */
    bool is_active;     /* jzx_udp_active counts */
    bool is_receiving;  /* a receive is pending */
    uint64_t received;  /* datagrams */
    uint64_t truncated; /* of these, how many did not fit */
    uint64_t sent;      /* datagrams that the system has taken */
    uint64_t queued;    /* bytes that wait to be sent, of the _to and _async forms */
} jzx_udp_info;

JZX_BEGIN_C

/* "127.0.0.1:5555", "[::1]:80", "[fe80::1%eth0]:80". JZX_ERR_INVALID_ARG: it is none, and *address
 * is untouched. Any thread, as the next two. */
JZX_API jzx_err jzx_address_parse(const char *text, jzx_address *address);

/* The text with its '\0'. JZX_ERR_TOO_LONG: size bytes are too few; JZX_ADDRESS_MAX is enough.
 * JZX_ERR_INVALID_ARG: NULL, or no address. */
JZX_API jzx_err jzx_address_format(const jzx_address *address, char *text, size_t size);

/* NULL is equal to nothing. */
JZX_API bool jzx_address_is_equal(const jzx_address *a, const jzx_address *b);

/* As JZX_UDP_OPTS(); size is sizeof *opts. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_udp_opts_init(jzx_udp_opts *opts, size_t size);

/* Opens a socket at that address of this host, which belongs to the calling actor. Port 0 lets the
 * system choose: ask jzx_udp_local. local may be NULL if opts->peer is there: the system chooses
 * all. opts may be NULL. Returns at once. Only in an actor's own turn. JZX_ERR_INVALID_ARG (also an
 * address that is none, or a peer of another family), JZX_ERR_ADDRESS_IN_USE, JZX_ERR_PERMISSION,
 * JZX_ERR_NOT_FOUND (the address is not this host's), JZX_ERR_UNREACHABLE, JZX_ERR_NO_DESCRIPTORS,
 * JZX_ERR_NO_MEMORY, JZX_ERR_IO, JZX_ERR_NO_SUCH_ACTOR (this actor works off its queue),
 * JZX_ERR_LOOP_CLOSED. */
JZX_API jzx_err jzx_udp_open(jzx_context *ctx, const char *local, const jzx_udp_opts *opts,
                             jzx_udp *udp);

/* Fixes the peer: datagrams without an address go there, and those of others do not arrive any
 * more (what arrived before the call still comes). NULL: takes that back; the socket keeps its
 * port, also one that the system has chosen. For an instant such a port is nobody's: datagrams to
 * it may be lost, and if another program takes it then, the call is JZX_ERR_ADDRESS_IN_USE and the
 * socket has no port. Any thread; returns at once. */
JZX_API jzx_err jzx_udp_connect(jzx_loop *loop, jzx_udp udp, const char *peer);

/* ---- receiving: one receive at a time ----
 *
 * A receive while another one is pending, or while the socket is active, is JZX_ERR_BUSY. A receive
 * that ends without JZX_OK has consumed nothing: a datagram that arrives then waits with the
 * system, as far as receive_buffer goes, and the next receive gets it. */

/* Waits for one. *datagram is borrowed until the return, and untouched on an error. */
JZX_API jzx_err jzx_udp_receive(jzx_context *ctx, jzx_udp udp, jzx_datagram *datagram,
                                uint64_t deadline_ns);

/* Waits for one, and takes up to count that are there, at most JZX_UDP_BATCH_MAX, by one system
 * call: *received says how many. */
JZX_API jzx_err jzx_udp_receive_batch(jzx_context *ctx, jzx_udp udp, jzx_datagram *datagrams,
                                      size_t count, uint64_t deadline_ns, size_t *received);

/* By a message. The data of the result begin with the jzx_udp_event of the first datagram;
 * jzx_udp_next has the others of a batch. The room for cap bytes of each, at most JZX_UDP_SIZE_MAX,
 * is taken now. *op may be NULL. jzx_op_cancel stops a receive that is pending. */
JZX_API jzx_err jzx_udp_receive_to(jzx_context *ctx, jzx_udp udp, size_t cap, uint32_t tag,
                                   jzx_op *op);
JZX_API jzx_err jzx_udp_receive_batch_to(jzx_context *ctx, jzx_udp udp, size_t cap, size_t count,
                                         uint32_t tag, jzx_op *op);

/* By a future. Its value is a jzx_result with the same data behind it: JZX_UDP_VALUE_SIZE bytes for
 * each datagram, after sizeof(jzx_result). Any thread. Cancelling the future cancels the
 * receive. */
#define JZX_UDP_VALUE_SIZE(cap) (sizeof(jzx_udp_event) + (((size_t)(cap) + 15u) & ~(size_t)15u))
JZX_API jzx_err jzx_udp_receive_async(jzx_loop *loop, jzx_udp udp, size_t cap, jzx_future **future);
JZX_API jzx_err jzx_udp_receive_batch_async(jzx_loop *loop, jzx_udp udp, size_t cap, size_t count,
                                            jzx_future **future);

/* The data behind an event, aligned for any type. NULL for NULL. */
JZX_API void *jzx_udp_data(const jzx_udp_event *event);

/* The next event of the same result; NULL after the last, and for NULL. */
JZX_API const jzx_udp_event *jzx_udp_next(const jzx_udp_event *event);

/* Each datagram that arrives comes to the owner by a message with that tag and a jzx_udp_event:
 * count datagrams, then one message with JZX_UDP_PASSIVE (never with JZX_UDP_ALWAYS). Errors come
 * as JZX_UDP_ERROR and are not counted. While the socket is active a further call adds to count;
 * with another tag it changes the tag, and count 0 makes it passive at once, without a message.
 *
 * Back-pressure: at most JZX_UDP_BATCH_MAX datagrams of a socket wait in the mailbox. No more are
 * read from the system before the last of these is handled; what the system's own buffer cannot
 * hold meanwhile is lost, as always with UDP. The messages do not count against the bound of the
 * mailbox. An idle socket has no buffer. The room for each is opts.datagram_max.
 *
 * Only the owner, in its own turn. JZX_ERR_NOT_OWNER; JZX_ERR_BUSY: a receive is pending. */
JZX_API jzx_err jzx_udp_active(jzx_context *ctx, jzx_udp udp, uint32_t tag, uint32_t count);

/* ---- sending ----
 *
 * to is the receiver; NULL, or zeroes: the peer of a connected socket. A datagram is sent when the
 * system has taken it; whether it arrives is not known. JZX_ERR_TOO_LONG: the system sends none of
 * that length. JZX_ERR_PERMISSION: a broadcast address without the option, for instance.
 *
 * The system seldom has no room. Then fibers wait; _to and _async forms wait as a copy in the queue
 * of the socket, up to queue_max bytes, after which they are JZX_ERR_FULL; jzx_udp_try_send is
 * JZX_ERR_FULL at once. One that is longer than queue_max may wait if the queue is empty. */

/* Waits until the system has taken it. buf is borrowed until the return; len may be 0. */
JZX_API jzx_err jzx_udp_send(jzx_context *ctx, jzx_udp udp, const void *buf, size_t len,
                             const jzx_address *to, uint64_t deadline_ns);

/* Sends count datagrams, 1 to JZX_UDP_BATCH_MAX, in order, with as few system calls as possible.
 * After an error the first *sent of them are out (sent may be NULL), and no others. */
JZX_API jzx_err jzx_udp_send_batch(jzx_context *ctx, jzx_udp udp, const jzx_datagram *datagrams,
                                   size_t count, uint64_t deadline_ns, size_t *sent);

/* Without waiting: the form for behaviours. JZX_ERR_FULL: the system has no room now. After any
 * error of the second the first *sent are out. */
JZX_API jzx_err jzx_udp_try_send(jzx_context *ctx, jzx_udp udp, const void *buf, size_t len,
                                 const jzx_address *to);
JZX_API jzx_err jzx_udp_try_send_batch(jzx_context *ctx, jzx_udp udp, const jzx_datagram *datagrams,
                                       size_t count, size_t *sent);

/* By a message with a jzx_result without data. What cannot go at once is copied. If the operation
 * ends with an error, the first datagrams of a batch may be out. jzx_op_cancel stops one of which
 * nothing is out. */
JZX_API jzx_err jzx_udp_send_to(jzx_context *ctx, jzx_udp udp, const void *buf, size_t len,
                                const jzx_address *to, uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_udp_send_batch_to(jzx_context *ctx, jzx_udp udp, const jzx_datagram *datagrams,
                                      size_t count, uint32_t tag, jzx_op *op);

/* By a future without a value. Any thread. */
JZX_API jzx_err jzx_udp_send_async(jzx_loop *loop, jzx_udp udp, const void *buf, size_t len,
                                   const jzx_address *to, jzx_future **future);
JZX_API jzx_err jzx_udp_send_batch_async(jzx_loop *loop, jzx_udp udp, const jzx_datagram *datagrams,
                                         size_t count, jzx_future **future);

/* ---- its life; none of these waits ---- */

/* Closes it: what is pending completes with JZX_ERR_CLOSED, what waits to be sent is dropped. From
 * the return on the handle is stale. Any thread. JZX_ERR_CLOSED: it was closed before. */
JZX_API jzx_err jzx_udp_close(jzx_loop *loop, jzx_udp udp);

/* Makes another actor of the loop the owner, as jzx_stream_give does. What is pending stays with
 * the socket; an active one becomes passive, without a message (events that are in the old owner's
 * mailbox stay there). Only the owner, in its own turn. JZX_ERR_NOT_OWNER;
 * JZX_ERR_NO_SUCH_ACTOR: nothing has happened. */
JZX_API jzx_err jzx_udp_give(jzx_context *ctx, jzx_udp udp, jzx_actor_id to);

/* Any thread, as all that follow. JZX_ERR_CLOSED, JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_udp_info_get(jzx_loop *loop, jzx_udp udp, jzx_udp_info *info);

/* The own address, and that of the peer of a connected socket, as text: see jzx_address_format. */
JZX_API jzx_err jzx_udp_local(jzx_loop *loop, jzx_udp udp, char *text, size_t size);
JZX_API jzx_err jzx_udp_peer(jzx_loop *loop, jzx_udp udp, char *text, size_t size);

/* ---- multicast and other settings ----
 *
 * group is a numeric address without a port, of the family of the socket: "239.1.2.3", "ff02::1".
 * interface is the name of one ("eth0") or its number ("2"); NULL: as the system chooses.
 * JZX_ERR_NOT_FOUND: there is none of that name. */

/* From now on the socket gets what is sent to that group and to its port. JZX_ERR_ADDRESS_IN_USE:
 * it is in that group already. The groups are left when the socket is closed. */
JZX_API jzx_err jzx_udp_join(jzx_loop *loop, jzx_udp udp, const char *group, const char *interface);

/* JZX_ERR_NOT_FOUND: it is not in that group. */
JZX_API jzx_err jzx_udp_leave(jzx_loop *loop, jzx_udp udp, const char *group,
                              const char *interface);

/* How many hops multicasts may go: 0 to 255; 1, this network, is the default of the system. */
JZX_API jzx_err jzx_udp_set_multicast_ttl(jzx_loop *loop, jzx_udp udp, uint32_t ttl);

/* Whether multicasts come to this host's own members, too; the default is yes. */
JZX_API jzx_err jzx_udp_set_multicast_loop(jzx_loop *loop, jzx_udp udp, bool on);

/* The interface that multicasts leave by. */
JZX_API jzx_err jzx_udp_set_multicast_interface(jzx_loop *loop, jzx_udp udp, const char *interface);

/* How many hops other datagrams may go: 1 to 255. */
JZX_API jzx_err jzx_udp_set_ttl(jzx_loop *loop, jzx_udp udp, uint32_t ttl);

/* As the option says. */
JZX_API jzx_err jzx_udp_set_broadcast(jzx_loop *loop, jzx_udp udp, bool on);

JZX_END_C

#endif
