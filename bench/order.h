/* SPDX-License-Identifier: MIT */
/* What the floor and our rows must do alike: the generator, and orders made with it. */
#ifndef JZX_BENCH_ORDER_H
#define JZX_BENCH_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define BENCH_SEED 88172645463325252u

/* xorshift64: a few nanoseconds, the same numbers everywhere. */
static inline uint64_t bench_random_64(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline uint32_t bench_random(uint64_t *state) {
    return (uint32_t)(bench_random_64(state) >> 32);
}

/* A whole number from least to most. */
static inline uint64_t bench_delay_ms(uint64_t *state, uint32_t least, uint32_t most) {
    return least + ((uint64_t)bench_random(state) * (most - least + 1) >> 32);
}

/* 0 to count - 1, in order or shuffled. */
static inline void bench_order(uint32_t *order, uint32_t count, bool is_random) {
    uint64_t random = BENCH_SEED;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count - 1; is_random && i > 0; i--) {
        uint32_t other = (uint32_t)(bench_random_64(&random) % (i + 1));
        uint32_t swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
}

#endif
