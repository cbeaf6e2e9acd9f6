/* SPDX-License-Identifier: MIT */
/* A small, fast, seedable generator (splitmix64): the same seed gives the same numbers everywhere.
 * Not for secrets. */
#ifndef JZX_BASE_RNG_H
#define JZX_BASE_RNG_H

#include <stdint.h>

struct jzx__rng {
    uint64_t state;
};

static inline void jzx__rng_init(struct jzx__rng *rng, uint64_t seed) {
    rng->state = seed;
}

static inline uint64_t jzx__rng_next(struct jzx__rng *rng) {
    uint64_t z = (rng->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Evenly in 0 .. bound - 1, for bound > 0; the bias is below 2^-32. */
static inline uint32_t jzx__rng_below(struct jzx__rng *rng, uint32_t bound) {
    return (uint32_t)(((jzx__rng_next(rng) >> 32) * bound) >> 32);
}

#endif
