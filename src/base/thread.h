/* SPDX-License-Identifier: MIT */
/* What a thread asks of the system about when it runs. */
#ifndef JZX_BASE_THREAD_H
#define JZX_BASE_THREAD_H

/* Lets the calling thread, and those that it starts, run soon after they wake, also beside one that
 * computes, which has a slice of 3 ms to finish first otherwise. Their share of the CPU stays the
 * same. Best effort: a system that cannot do it (Linux before 6.12) leaves them as they are. */
void jzx__thread_be_prompt(void);

/* Sets by how much the system may delay the end of a sleep of the calling thread, to save energy
 * (50 us if nobody asks). Returns what it was; 0 if the system cannot do it. */
unsigned long jzx__thread_set_slack(unsigned long slack_ns);

#endif
