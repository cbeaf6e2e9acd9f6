/* SPDX-License-Identifier: MIT */
/* Looking a policy up: few rules, so one by one. */
#include "schedule/core/policy.h"

#include <stddef.h>

static struct jzx__policy fallback(enum jzx__affinity_kind kind) {
    return (struct jzx__policy){.priority = kind == JZX__AFFINITY_SUBSYSTEM ? JZX__PRIORITY_HIGH
                                                                            : JZX__PRIORITY_NORMAL,
                                .backlog_limit = JZX__BACKLOG_LIMIT,
                                .burst_threshold = JZX__BURST_THRESHOLD};
}

/* Fields of `over` that are not zero win. */
static void overlay(struct jzx__policy *policy, struct jzx__policy over) {
    if (over.priority != JZX__PRIORITY_DEFAULT)
        policy->priority = over.priority;
    if (over.backlog_limit != 0)
        policy->backlog_limit = over.backlog_limit;
    if (over.burst_threshold != 0)
        policy->burst_threshold = over.burst_threshold;
}

struct jzx__policy jzx__policy_resolve(const struct jzx__policy_rule *rules, uint32_t count,
                                       struct jzx__affinity affinity, struct jzx__policy own) {
    struct jzx__policy policy = fallback(affinity.kind);
    for (uint32_t i = 0; i < count; i++) {
        if (rules[i].affinity.kind == affinity.kind && rules[i].affinity.key == affinity.key) {
            overlay(&policy, rules[i].policy);
            break;
        }
    }
    overlay(&policy, own);
    return policy;
}

bool jzx__policy_allows(struct jzx__affinity affinity, enum jzx__job_priority priority) {
    return priority <= JZX__PRIORITY_NORMAL ||
           (priority == JZX__PRIORITY_HIGH && affinity.kind == JZX__AFFINITY_SUBSYSTEM);
}
