/* SPDX-License-Identifier: MIT */
/* TCP: how streams and listeners (jzx/stream.h) come to be.
 *
 * Addresses are numeric, with a port: "127.0.0.1:5555", "[::1]:5555", "0.0.0.0:0", "[::]:0", and
 * with a zone "[fe80::1%eth0]:80"; for host names see jzx/resolve.h. Port 0 of a listener lets the
 * system choose: ask jzx_listener_address. */
#ifndef JZX_TCP_H
#define JZX_TCP_H

#include "jzx/stream.h"

/* Options of a connect; zero fields are the defaults. */
typedef struct jzx_connect_opts {
    size_t size;                   /* sizeof(jzx_connect_opts) */
    const char *local;             /* the address to connect from; NULL: as the system chooses */
    const jzx_stream_opts *stream; /* of the stream; NULL: the defaults. Both are copied */
} jzx_connect_opts;

/* Options in place, in C. In C++ use jzx_connect_opts_init. */
#define JZX_CONNECT_OPTS(...) ((jzx_connect_opts){.size = sizeof(jzx_connect_opts), __VA_ARGS__})

JZX_BEGIN_C

JZX_API jzx_err jzx_connect_opts_init(jzx_connect_opts *opts, size_t size);

/* Listens at that address; the listener belongs to the calling actor. opts may be NULL. Returns at
 * once. Only in an actor's own turn. JZX_ERR_INVALID_ARG (also an address that is none),
 * JZX_ERR_ADDRESS_IN_USE, JZX_ERR_PERMISSION, JZX_ERR_NOT_FOUND (the address is not this host's),
 * JZX_ERR_NO_DESCRIPTORS, JZX_ERR_NO_MEMORY, JZX_ERR_IO, JZX_ERR_NO_SUCH_ACTOR (this actor works
 * off its queue), JZX_ERR_LOOP_CLOSED. */
JZX_API jzx_err jzx_tcp_listen(jzx_context *ctx, const char *address, const jzx_listen_opts *opts,
                               jzx_listener *listener);

/* jzx_listener_accept and its other forms under the names that belong to the above. They take any
 * listener. */
JZX_API jzx_err jzx_tcp_accept(jzx_context *ctx, jzx_listener listener, uint64_t deadline_ns,
                               jzx_stream *stream);
JZX_API jzx_err jzx_tcp_accept_to(jzx_context *ctx, jzx_listener listener, uint32_t tag,
                                  jzx_op *op);
JZX_API jzx_err jzx_tcp_accept_async(jzx_loop *loop, jzx_listener listener, jzx_future **future);

/* Connects; the stream belongs to the calling actor. opts may be NULL. Of one that does not come to
 * an end nothing is left. JZX_ERR_REFUSED, JZX_ERR_UNREACHABLE, JZX_ERR_TIMEOUT (the deadline, or
 * the system has given up), JZX_ERR_NO_DESCRIPTORS, and the errors above. */
JZX_API jzx_err jzx_tcp_connect(jzx_context *ctx, const char *address, const jzx_connect_opts *opts,
                                uint64_t deadline_ns, jzx_stream *stream);

/* The data of the result are the jzx_stream, as for jzx_listener_accept_to. */
JZX_API jzx_err jzx_tcp_connect_to(jzx_context *ctx, const char *address,
                                   const jzx_connect_opts *opts, uint32_t tag, jzx_op *op);

/* The value is the jzx_stream, which belongs to owner. Any thread. */
JZX_API jzx_err jzx_tcp_connect_async(jzx_loop *loop, const char *address,
                                      const jzx_connect_opts *opts, jzx_actor_id owner,
                                      jzx_future **future);

JZX_END_C

#endif
