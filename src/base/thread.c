/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What sched_getattr and sched_setattr exchange, in the size of their first version: no header that
 * every libc has declares it. */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns; /* of an ordinary thread: its slice */
    uint64_t deadline_ns;
    uint64_t period_ns;
};

#define POLICY_ORDINARY 0u

/* The least slice that there is. */
#define SLICE_NS 100000u

void jzx__thread_be_prompt(void) {
    struct attributes attributes = {.size = sizeof attributes};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
        attributes.policy != POLICY_ORDINARY)
        return;
    attributes.size = sizeof attributes;
    attributes.runtime_ns = SLICE_NS;
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

unsigned long jzx__thread_set_slack(unsigned long slack_ns) {
    /* All five arguments: the system call reads them, whatever they are. */
    int before = prctl(PR_GET_TIMERSLACK, 0ul, 0ul, 0ul, 0ul);
    if (before <= 0 || prctl(PR_SET_TIMERSLACK, slack_ns, 0ul, 0ul, 0ul) != 0)
        return 0;
    return (unsigned long)before;
}
