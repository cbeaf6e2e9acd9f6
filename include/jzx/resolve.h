/* SPDX-License-Identifier: MIT */
/* Host names: what they stand for, as addresses that the calls of jzx/tcp.h and jzx/udp.h take.
 *
 *     jzx_addresses found;                                              in a fiber
 *     jzx_resolve(ctx, "example.org:80", 0, jzx_in(ctx, JZX_SECOND(5)), &found);
 *     jzx_tcp_connect(ctx, found.text[0], NULL, JZX_NEVER, &stream);
 *
 * The system is asked (getaddrinfo: its hosts file, then name servers, as it is set up to) on a
 * thread of a pool (jzx/blocking.h) that is called JZX_RESOLVE_POOL and has
 * JZX_DEFAULT_RESOLVE_THREADS threads; to set its limits, make a pool of that name before the first
 * call. Nothing is cached.
 *
 * A name is "host:port" or "host:service"; the host may be an address itself, one of IPv6 in
 * brackets. The three forms are those of jzx/blocking.h: a deadline or a cancel ends the wait at
 * once; a question that was put to the system goes on for nobody. JZX_ERR_NOT_FOUND: no such host
 * or service. JZX_ERR_UNREACHABLE: no name server has answered; try again later.
 * JZX_ERR_INVALID_ARG, JZX_ERR_TOO_LONG (the name), and the errors of jzx_blocking_copy,
 * jzx_blocking_copy_to and jzx_blocking_copy_async. */
#ifndef JZX_RESOLVE_H
#define JZX_RESOLVE_H

#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/future.h"
#include "jzx/op.h"
#include "jzx/time.h"

#include <stdint.h>

#define JZX_RESOLVE_POOL "resolve"
#define JZX_DEFAULT_RESOLVE_THREADS 4u

/* Addresses at most, and the bytes of one with its '\0'. */
#define JZX_ADDRESSES_MAX 16u
#define JZX_ADDRESS_SIZE 80u

/* Of which kind they are to be; 0: any. */
enum { JZX_RESOLVE_V4 = 1, JZX_RESOLVE_V6 = 2 };

/* What a name stands for, best first, as "127.0.0.1:80" and "[::1]:80". */
typedef struct jzx_addresses {
    uint32_t count; /* at least 1 */
    uint32_t reserved;
    char text[JZX_ADDRESSES_MAX][JZX_ADDRESS_SIZE];
} jzx_addresses;

JZX_BEGIN_C

/* Suspends the calling fiber. *found is untouched on an error. */
JZX_API jzx_err jzx_resolve(jzx_context *ctx, const char *name, uint32_t kind, uint64_t deadline_ns,
                            jzx_addresses *found);

/* By a message; with JZX_OK the data of the result are a jzx_addresses. */
JZX_API jzx_err jzx_resolve_to(jzx_context *ctx, const char *name, uint32_t kind, uint32_t tag,
                               jzx_op *op);

/* As a future; the value is a jzx_addresses. Any thread. */
JZX_API jzx_err jzx_resolve_async(jzx_loop *loop, const char *name, uint32_t kind,
                                  jzx_future **future);

JZX_END_C

#endif
