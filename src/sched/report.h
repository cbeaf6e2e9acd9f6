/* SPDX-License-Identifier: MIT */
/* What is told of stalls: each once, and its end once. A worker has one record of the stall that
 * was told last; report_state says who may use it. */
#ifndef JZX_SCHED_REPORT_H
#define JZX_SCHED_REPORT_H

#include "sched/worker.h"

/* How far the report of a turn is that goes on without its worker. The watchdog reports it when it
 * has become a stall; the worker that takes the turn back reports it if the watchdog has not. Each
 * moves the state by an exchange, so a stall is reported once, and so is its end.
 *
 *   UNTOLD  -> TELLING  the watchdog reports the stall
 *   TELLING -> TOLD     the watchdog has done so
 *   UNTOLD  -> OVER     the worker reports the stall, if it was one, and its end
 *   TOLD    -> OVER     the worker reports the end
 *   TELLING -> OVER     the watchdog finds that, and reports the end */
enum jzx__told { JZX__TELL_UNTOLD, JZX__TELL_TELLING, JZX__TELL_TOLD, JZX__TELL_OVER };

/* What the turn in a seat is about, for those who may look. */
struct jzx__stall jzx__stall_of(const struct jzx__seat *seat, uint64_t elapsed_ns);
bool jzx__stall_is_same(const struct jzx__stall *a, const struct jzx__stall *b);

/* Tells of a turn that keeps its worker. The last report has ended, as it was of another tick. The
 * watchdog alone. */
void jzx__report_open(struct jzx__worker *worker, const struct jzx__stall *stall, uint64_t tick);

/* Tells the end of that stall, unless somebody has. By the watchdog, or after its end by the caller
 * of run. */
void jzx__report_end(struct jzx__worker *worker, uint64_t now);

/* Notes that the turn in the seat goes on without its worker since began_ns, and whether it was
 * reported. The watchdog alone, which has the worker. */
void jzx__report_away(struct jzx__worker *worker, struct jzx__seat *seat, uint64_t began_ns);

/* True if that turn was not reported. A hint. */
bool jzx__report_is_untold(const struct jzx__seat *seat);

/* Reports that turn, which has become a stall, if it was not reported. The watchdog alone. */
void jzx__report_lost(struct jzx__seat *seat, struct jzx__stall *stall);

/* Tells of a turn that was a stall when it was seen, and ended while its worker was taken. */
void jzx__report_past(struct jzx__worker *worker, const struct jzx__stall *seen,
                      uint64_t elapsed_ns);

/* A turn that went on without the worker is about to be taken back: says how long it took, if it
 * was a stall. */
void jzx__report_returned(struct jzx__worker *me, struct jzx__seat *seat);

/* Counts a turn that took long because the worker's thread had no CPU. The watchdog calls it, or
 * the worker if there is no watchdog. */
void jzx__report_held_up(struct jzx__worker *worker, uint64_t delay_ns);

/* The tick has seen that much time since the last one: says so if the watchdog had reported it, or,
 * without one, if it was a single message. */
void jzx__report_tick(struct jzx__worker *me, struct jzx__task *task, uint64_t elapsed_ns,
                      bool single);

#endif
