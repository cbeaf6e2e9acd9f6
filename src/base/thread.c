/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
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

int jzx__thread_id(void) {
    return (int)syscall(SYS_gettid);
}

/* Reads a file of a thread in /proc. Empty if there is none. */
static void read_proc(int id, const char *name, char *text, size_t size) {
    char path[48];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", id, name);
    int fd = id == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
}

uint64_t jzx__thread_cpu_ns(pthread_t thread, int id) {
    clockid_t clock;
    struct timespec t;
    if (id == 0 || pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void jzx__thread_usage(pthread_t thread, int id, struct jzx__usage *usage) {
    char text[96]; /* "cpu_ns delay_ns slices" */
    usage->cpu_ns = jzx__thread_cpu_ns(thread, id);
    read_proc(id, "schedstat", text, sizeof text);
    const char *delay = strchr(text, ' ');
    usage->delay_ns = delay == NULL ? 0 : strtoull(delay, NULL, 10);
}

enum jzx__thread_state jzx__thread_look(int id) {
    char text[96]; /* "id (name) state ...": a name has at most 15 bytes, and any */
    read_proc(id, "stat", text, sizeof text);
    const char *end = strrchr(text, ')');
    if (end == NULL || end[1] != ' ')
        return JZX__THREAD_UNKNOWN;
    return end[2] == 'R' ? JZX__THREAD_RUNS : JZX__THREAD_SLEEPS;
}
