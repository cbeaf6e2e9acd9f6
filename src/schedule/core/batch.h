/* SPDX-License-Identifier: MIT */
/* The modes of a job, and the batch that one delivery stands for. */
#ifndef JZX_SCHEDULE_CORE_BATCH_H
#define JZX_SCHEDULE_CORE_BATCH_H

#include <stdint.h>

enum jzx__job_mode { JZX__JOB_ONE_SHOT, JZX__JOB_FIXED_RATE, JZX__JOB_FIXED_DELAY };

/* Copied freely. runs is never 0. A receiver that is late gets one delivery with runs =
 * missed_runs + 1; runs that were folded because the tick driver paused count in `runs` alone. */
struct jzx__batch {
    uint32_t runs;
    uint32_t missed_runs;
    enum jzx__job_mode mode;
};

static inline struct jzx__batch jzx__batch_once(void) {
    return (struct jzx__batch){.runs = 1, .missed_runs = 0, .mode = JZX__JOB_ONE_SHOT};
}

#endif
