/* SPDX-License-Identifier: MIT */
/* The scheduler in words: the wheel, the load, and every job that has not ended, written piece by
 * piece to a function of the caller's, so that no memory is needed. Owner only. */
#ifndef JZX_SCHEDULE_CORE_DUMP_H
#define JZX_SCHEDULE_CORE_DUMP_H

#include "schedule/core/schedule.h"

typedef void (*jzx__dump_write_fn)(void *ctx, const char *text, size_t len);

void jzx__schedule_dump(struct jzx__schedule *s, jzx__dump_write_fn write, void *ctx);

/* The figures of the dump. */
struct jzx__schedule_shape {
    uint64_t wheel_offset; /* the tick that was run last */
    uint32_t active_slots; /* ticks that have jobs in the wheel */
    size_t overflow_size;
    uint32_t periodic_jobs;
    uint32_t one_shot_jobs;
    uint32_t pending_commands; /* submitted and not registered yet */
    uint32_t close_tasks;      /* that wait for the shutdown */
};
struct jzx__schedule_shape jzx__schedule_shape_of(struct jzx__schedule *s);

#endif
