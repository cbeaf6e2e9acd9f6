/* SPDX-License-Identifier: MIT */
/* Requests to the system about when a thread runs, and the system's figures of a thread. */
#ifndef JZX_BASE_THREAD_H
#define JZX_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Lets the calling thread, and those that it starts, run soon after they wake, also beside one that
 * computes, which has a slice of 3 ms to finish first otherwise. Their share of the CPU stays the
 * same. Best effort: a system that cannot do it (Linux before 6.12) leaves them as they are. */
void jzx__thread_be_prompt(void);

/* Sets by how much the system may delay the end of a sleep of the calling thread, to save energy
 * (50 us if nobody asks). Returns what it was; 0 if the system cannot do it. */
unsigned long jzx__thread_set_slack(unsigned long slack_ns);

/* The system's number of the calling thread. */
int jzx__thread_id(void);

/* The CPU time of a thread, and the time for which it was ready and had no CPU, since it began. 0:
 * the system does not say. */
struct jzx__usage {
    uint64_t at_ns; /* when that was; the caller's */
    uint64_t cpu_ns;
    uint64_t delay_ns;
};

/* The thread must not have been joined. id 0: not known, and nothing is. */
void jzx__thread_usage(pthread_t thread, int id, struct jzx__usage *usage);

/* The CPU time alone: one system call. */
uint64_t jzx__thread_cpu_ns(pthread_t thread, int id);

/* The state of a thread at the moment. A thread that could run and has no CPU RUNS as well. */
enum jzx__thread_state { JZX__THREAD_UNKNOWN, JZX__THREAD_RUNS, JZX__THREAD_SLEEPS };
enum jzx__thread_state jzx__thread_look(int id);

#endif
