/* SPDX-License-Identifier: MIT */
/* Time that a program moves itself: for tests that wait for hours, and that never wait.
 *
 *     jzx_clock *clock = jzx_clock_manual(0);
 *     jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .clock = clock));
 *     ...
 *     jzx_loop_step(loop, JZX_NEVER);
 *     jzx_clock_advance(clock, JZX_SECOND(3600));
 *     jzx_loop_step(loop, JZX_NEVER);
 *
 * While it stands still the actors of a loop share it as fairly as ever: each message counts for
 * 100 ns then where the order of turns depends on time. Any thread may call these functions. */
#ifndef JZX_CLOCK_H
#define JZX_CLOCK_H

#include "jzx/allocator.h"
#include "jzx/api.h"
#include "jzx/error.h"

#include <stdint.h>

typedef struct jzx_clock jzx_clock;

JZX_BEGIN_C

/* Creates a clock that stands still at start_ns. Any number of loops may use it. allocator may be
 * NULL: malloc and free; it is copied. JZX_ERR_INVALID_ARG (an allocator with one function),
 * JZX_ERR_NO_MEMORY; *clock is untouched then. */
JZX_API JZX_MUST_USE jzx_err jzx_clock_create(uint64_t start_ns, const jzx_allocator *allocator,
                                              jzx_clock **clock);

/* The same in one expression, with malloc. NULL without memory. */
JZX_API JZX_MUST_USE jzx_clock *jzx_clock_manual(uint64_t start_ns);

/* 0 for NULL. */
JZX_API uint64_t jzx_clock_now(const jzx_clock *clock);

/* Moves it on, up to the end of time, and wakes the loops that wait for it. Timers that were
 * due on the way fire in the order of their times, all at the new time. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_clock_advance(jzx_clock *clock, uint64_t duration_ns);

/* JZX_ERR_BUSY, and nothing happens, while a loop uses it. NULL is fine. */
JZX_API jzx_err jzx_clock_free(jzx_clock *clock);

JZX_END_C

#endif
