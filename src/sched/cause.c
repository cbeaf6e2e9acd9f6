/* SPDX-License-Identifier: MIT */
#include "sched/cause.h"

#include <stdbool.h>

static bool is_known(const struct jzx__usage *before, const struct jzx__usage *now) {
    return before->cpu_ns != 0 && now->cpu_ns != 0;
}

static bool has_computed(const struct jzx__usage *before, const struct jzx__usage *now,
                         uint64_t enough_ns) {
    uint64_t used_ns = now->cpu_ns - before->cpu_ns;
    return used_ns >= enough_ns || used_ns >= (now->at_ns - before->at_ns) / 2;
}

enum jzx__stall_cause jzx__cause_of(const struct jzx__usage *before, const struct jzx__usage *now,
                                    uint64_t enough_ns, int thread_id) {
    if (!is_known(before, now))
        return JZX__CAUSE_UNKNOWN;
    if (has_computed(before, now, enough_ns))
        return JZX__CAUSE_COMPUTES;
    switch (jzx__thread_look(thread_id)) {
    case JZX__THREAD_RUNS: return JZX__CAUSE_HELD_UP;
    case JZX__THREAD_SLEEPS: return JZX__CAUSE_BLOCKED;
    default: return JZX__CAUSE_UNKNOWN;
    }
}

enum jzx__stall_cause jzx__cause_of_past(const struct jzx__usage *before,
                                         const struct jzx__usage *now, uint64_t enough_ns) {
    if (!is_known(before, now))
        return JZX__CAUSE_UNKNOWN;
    if (has_computed(before, now, enough_ns))
        return JZX__CAUSE_COMPUTES;
    if (now->delay_ns == 0)
        return JZX__CAUSE_UNKNOWN;
    bool waited = now->delay_ns - before->delay_ns >= (now->at_ns - before->at_ns) / 2;
    return waited ? JZX__CAUSE_HELD_UP : JZX__CAUSE_BLOCKED;
}
