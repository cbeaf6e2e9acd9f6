/* SPDX-License-Identifier: MIT */
/* Unix sockets of the stream kind: how streams and listeners (jzx/stream.h) come to be. As TCP
 * (jzx/tcp.h), but for what is said here.
 *
 * Addresses are paths, "/run/server.sock", or names in the abstract namespace of Linux, which begin
 * with '@' and have no file: "@server". */
#ifndef JZX_UNIX_H
#define JZX_UNIX_H

#include "jzx/tcp.h"

JZX_BEGIN_C

/* JZX_ERR_ADDRESS_IN_USE: something has that path, and stays as it is. Only a socket that no
 * process has open any more, left behind by one that has ended, is replaced. JZX_ERR_TOO_LONG: a
 * path of more than 107 bytes. The listener keeps a descriptor of the directory, so that it finds
 * its file when it is closed (jzx/stream.h). */
JZX_API jzx_err jzx_unix_listen(jzx_context *ctx, const char *address, const jzx_listen_opts *opts,
                                jzx_listener *listener);

JZX_API jzx_err jzx_unix_accept(jzx_context *ctx, jzx_listener listener, uint64_t deadline_ns,
                                jzx_stream *stream);
JZX_API jzx_err jzx_unix_accept_to(jzx_context *ctx, jzx_listener listener, uint32_t tag,
                                   jzx_op *op);
JZX_API jzx_err jzx_unix_accept_async(jzx_loop *loop, jzx_listener listener, jzx_future **future);

/* JZX_ERR_NOT_FOUND: there is no such file. JZX_ERR_REFUSED: nobody listens there. While the
 * backlog of the listener is full a connect waits: it tries again every 10 ms. */
JZX_API jzx_err jzx_unix_connect(jzx_context *ctx, const char *address,
                                 const jzx_connect_opts *opts, uint64_t deadline_ns,
                                 jzx_stream *stream);
JZX_API jzx_err jzx_unix_connect_to(jzx_context *ctx, const char *address,
                                    const jzx_connect_opts *opts, uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_unix_connect_async(jzx_loop *loop, const char *address,
                                       const jzx_connect_opts *opts, jzx_actor_id owner,
                                       jzx_future **future);

/* Two streams that are connected to each other, both the calling actor's. */
JZX_API jzx_err jzx_unix_pair(jzx_context *ctx, const jzx_stream_opts *opts, jzx_stream pair[2]);

JZX_END_C

#endif
