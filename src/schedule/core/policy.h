/* SPDX-License-Identifier: MIT */
/* Policies by affinity: which priority and which limits a job gets that does not name its own. The
 * rules are part of the configuration and never change while the scheduler lives, so that every
 * thread that schedules may read them. */
#ifndef JZX_SCHEDULE_CORE_POLICY_H
#define JZX_SCHEDULE_CORE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* In the order in which a saturated slot drops them. */
enum jzx__job_priority {
    JZX__PRIORITY_DEFAULT, /* 0: the affinity decides */
    JZX__PRIORITY_LOW,
    JZX__PRIORITY_NORMAL,
    JZX__PRIORITY_HIGH /* internal uses alone */
};

enum jzx__affinity_kind {
    JZX__AFFINITY_NONE, /* 0: the default policy */
    JZX__AFFINITY_DISPATCHER,
    JZX__AFFINITY_GUARDIAN,
    JZX__AFFINITY_SUBSYSTEM /* internal uses: High unless a rule says otherwise */
};

struct jzx__affinity {
    enum jzx__affinity_kind kind;
    uint32_t key; /* which dispatcher, guardian or subsystem */
};

#define JZX__BACKLOG_LIMIT 32u
#define JZX__BURST_THRESHOLD 8u

struct jzx__policy {
    enum jzx__job_priority priority;
    uint32_t backlog_limit;   /* a job that misses more runs than this is cancelled */
    uint32_t burst_threshold; /* folding more runs than this is reported */
};

/* Zero fields of the policy are the defaults. */
struct jzx__policy_rule {
    struct jzx__affinity affinity;
    struct jzx__policy policy;
};

/* The rule of that affinity, else the default policy; then what the job names itself. */
struct jzx__policy jzx__policy_resolve(const struct jzx__policy_rule *rules, uint32_t count,
                                       struct jzx__affinity affinity, struct jzx__policy own);

/* User jobs are Normal or Low; a subsystem may also be High. */
bool jzx__policy_allows(struct jzx__affinity affinity, enum jzx__job_priority priority);

#endif
