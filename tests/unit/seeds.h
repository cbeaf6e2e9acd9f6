/* SPDX-License-Identifier: MIT */
/* Random tests by seed: a seed that fails ends the test and prints the line that reruns it alone.
 */
#ifndef JZX_UNIT_SEEDS_H
#define JZX_UNIT_SEEDS_H

#include "base/rng.h"

#include "jzx_test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Calls check for the seeds 1 .. count, or for the one in JZX_SEED. check returns whether all that
 * it expected held. */
static inline void run_seeds(const char *test, uint64_t count, bool (*check)(struct jzx__rng *)) {
    const char *only = getenv("JZX_SEED");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    uint64_t last = only != NULL ? first : count;
    for (uint64_t seed = first; seed <= last; seed++) {
        struct jzx__rng rng;
        jzx__rng_init(&rng, seed);
        if (!check(&rng))
            fail_msg("rerun with: JZX_SEED=%" PRIu64 " %s %s", seed, program_invocation_name, test);
    }
}

#endif
