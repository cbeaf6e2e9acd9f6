/* SPDX-License-Identifier: MIT */
#ifndef JZX_BENCH_UV_ECHO_H
#define JZX_BENCH_UV_ECHO_H

#include <stdint.h>

/* Serves "tcp" or "udp" until the client has ended, and ends the process. */
void serve_echo(const char *kind, unsigned connections, uint64_t size, unsigned workers);

#endif
