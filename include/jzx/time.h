/* SPDX-License-Identifier: MIT */
/* Time in libjzx: absolute monotonic nanoseconds, as jzx_loop_now() gives them. */
#ifndef JZX_TIME_H
#define JZX_TIME_H

#include <stdint.h>

/* A deadline that never comes. */
#define JZX_NEVER UINT64_MAX

/* Durations in nanoseconds. */
#define JZX_US(n) ((uint64_t)(n)*1000u)
#define JZX_MS(n) ((uint64_t)(n)*1000000u)
#define JZX_SECOND(n) ((uint64_t)(n)*1000000000u)

#endif
