/* SPDX-License-Identifier: MIT */
#include "base/leak.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void jzx__leak_found(const char *pool, uint64_t block_size, uint64_t count) {
    fprintf(stderr,
            "jzx: invariant does not hold: %" PRIu64 " blocks of %" PRIu64
            " bytes leaked from %s\n",
            count, block_size, pool);
    abort();
}
