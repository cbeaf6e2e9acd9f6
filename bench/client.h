/* SPDX-License-Identifier: MIT */
/* The load of the network rows, in a process of its own (peers/client). */
#ifndef JZX_BENCH_CLIENT_H
#define JZX_BENCH_CLIENT_H

#include "bench.h"

/* Up to a NULL: what a run notes whose client is no "rate". */
extern const char *const client_notes[];

/* Before the server is spawned. kind is "tcp", "udp", "wall" or "rate". One client at a time. */
void client_prepare(const char *kind, uint32_t connections, uint64_t requests);

/* Of the server: runs the client against its address on a thread of the blocking pool, which sleeps
 * meanwhile. The server gets a jzx_result with that tag when it has ended. */
void client_start(jzx_context *ctx, const char *address, uint32_t tag);

/* After the loop has run: what the client has measured. */
void client_report(struct bench_run *run);

#endif
