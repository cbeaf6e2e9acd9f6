/* SPDX-License-Identifier: MIT */
/* What is told of stalls: each once, and its end once. A worker has one record of the stall that
 * was told last; report_state says who may use it. */
#ifndef JZX_SCHED_REPORT_H
#define JZX_SCHED_REPORT_H

#include "sched/worker.h"

/* What the turn in a seat is about, for those who may look. */
struct jzx__stall jzx__stall_of(const struct jzx__seat *seat, uint64_t elapsed_ns);
bool jzx__stall_is_same(const struct jzx__stall *a, const struct jzx__stall *b);

/* Tells of a turn that keeps its worker. The last report has ended, as it was of another tick. The
 * watchdog alone. */
void jzx__report_open(struct jzx__worker *worker, const struct jzx__stall *stall, uint64_t tick);

/* Tells the end of that stall, unless somebody has. By the watchdog, or after its end by the caller
 * of run. */
void jzx__report_end(struct jzx__worker *worker, uint64_t now);

/* Tells of the turn that goes on without its worker since began_ns, unless it was reported before.
 * The watchdog alone, which has the worker. */
void jzx__report_away(struct jzx__worker *worker, struct jzx__seat *seat,
                      const struct jzx__stall *seen, uint64_t began_ns);

/* Tells of a turn that was a stall when it was seen, and ended while its worker was taken. */
void jzx__report_past(struct jzx__worker *worker, const struct jzx__stall *seen,
                      uint64_t elapsed_ns);

/* A turn that went on without the worker is about to be taken back: says how long it took, if it
 * was a stall. */
void jzx__report_returned(struct jzx__worker *me, const struct jzx__seat *seat);

/* The tick has seen that much time since the last one: says so if the watchdog had reported it, or,
 * without one, if it was a single message. */
void jzx__report_tick(struct jzx__worker *me, struct jzx__task *task, uint64_t elapsed_ns,
                      bool single);

#endif
