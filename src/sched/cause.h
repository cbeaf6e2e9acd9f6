/* SPDX-License-Identifier: MIT */
/* Why a turn takes long: its code computes, it waits in the kernel, or the thread has no CPU. The
 * last is the system's doing, and no actor is blamed for it. */
#ifndef JZX_SCHED_CAUSE_H
#define JZX_SCHED_CAUSE_H

#include "base/thread.h"

enum jzx__stall_cause {
    JZX__CAUSE_UNKNOWN, /* the system does not say */
    JZX__CAUSE_COMPUTES,
    JZX__CAUSE_BLOCKED,
    JZX__CAUSE_HELD_UP /* it could run, and has no CPU: others use it, or a quota is used up */
};

/* Compares two readings of a thread's usage. The thread computes if it used the CPU for half of the
 * time, or for enough_ns. Else its state now decides. */
enum jzx__stall_cause jzx__cause_of(const struct jzx__usage *before, const struct jzx__usage *now,
                                    uint64_t enough_ns, int thread_id);

/* The same for a turn that is over, on the thread that ran it: the time that the thread has waited
 * for a CPU decides. */
enum jzx__stall_cause jzx__cause_of_past(const struct jzx__usage *before,
                                         const struct jzx__usage *now, uint64_t enough_ns);

#endif
