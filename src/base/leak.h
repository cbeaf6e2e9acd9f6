/* SPDX-License-Identifier: MIT */
/* Blocks that are in use when their pool is freed. Neither the allocator hooks nor leak sanitizers
 * see a leak inside a chunk, as the chunk itself is freed. So each pool counts at its end what it
 * has carved, less what it has got back. In builds for development (JZX__LEAK_CHECK) a difference
 * ends the process; a release build does not look. */
#ifndef JZX_BASE_LEAK_H
#define JZX_BASE_LEAK_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/* count blocks of the pool, each of that size, are in use, and nobody can have one any more. */
JZX_COLD _Noreturn void jzx__leak_found(const char *pool, uint64_t block_size, uint64_t count);

#ifdef JZX__LEAK_CHECK
#define JZX__LEAKS_CHECKED true
#else
#define JZX__LEAKS_CHECKED false
#endif

static inline void jzx__leak_check(const char *pool, uint64_t block_size, uint64_t count) {
    if (JZX__LEAKS_CHECKED && count != 0)
        jzx__leak_found(pool, block_size, count);
}

#endif
