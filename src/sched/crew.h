/* SPDX-License-Identifier: MIT */
/* The threads of a running loop: one per worker, spares, and a watchdog that gives the worker of a
 * turn that does not return to a spare.
 *
 * Every worker has a **home thread** for the time of a run: for worker 0 the thread that called
 * run, for each other one a thread that the run starts. A home thread that has lost its worker
 * waits for it, and gets it back when its turn has returned. All further threads are
 * **substitutes**: a substitute sleeps as a spare until its seat gets a worker, drives that until
 * it loses it, gives it back or the run ends, and is a spare again, for any worker.
 *
 * C1  a worker has at most one seat, a seat at most one worker; both change under the lock, except
 *     that the last step of a take (see seat.h) is the watchdog's alone.
 * C2  a substitute whose turn outlived its worker is no spare before the worker has taken the turn
 *     back: the turn's record lives in its seat. It may be given that very worker before, as a home
 *     thread may have its worker back: then it takes its own turn back, before it begins another.
 * C3  every thread but the caller's ends before jzx_loop_run returns.
 * C4  a home thread drives its own worker and no other, and is never a spare.
 * C5  worker.wanted_by is set under the lock, by the home thread while its seat has no worker, and
 *     cleared with the gift. So a home thread gets its worker only while it waits (S2 of seat.h).
 * C6  a worker that is wanted goes home as soon as nobody is in a turn on it: a substitute gives it
 *     back at the end of its pass, which ends at the next tick; a substitute that is about to sleep
 *     sees the wish or is woken; and the watchdog, if it takes the worker from a substitute, gives
 *     it to the home thread, also when no spare is left.
 * C7  a worker that no thread is left to drive is **unattended**: the watchdog has moved what may
 *     run elsewhere to the global queue, and goes on doing that with what others send; what is
 *     bound to the worker waits. It is not counted as active. is_unattended changes under the
 *     lock, and whoever clears it drives the worker: the watchdog for a moment, the home thread
 *     when its turn is over, a substitute whose turn this worker has to take back, or a spare. */
#ifndef JZX_SCHED_CREW_H
#define JZX_SCHED_CREW_H

#include "sched/sched.h"

/* A run begins, unless the scheduler was closed. */
void jzx__crew_open(struct jzx__sched *sched);

/* Runs the scheduler on this thread and the others until the run is over; then all workers are
 * this thread's. False if a thread could not be started: nothing has run. */
bool jzx__crew_run(struct jzx__sched *sched);

/* A turn that goes on without its worker. */
struct jzx__lost_turn {
    uint64_t id; /* of its task */
    uint32_t tag;
    uint64_t since_ns;
};

/* Fills in at most max (1 or more) of them, as they are at this moment, and returns how many. Any
 * thread, inside its bracket (S4 of seat.h). */
uint32_t jzx__crew_lost_turns(struct jzx__sched *sched, struct jzx__lost_turn *turns, uint32_t max);

/* A new thread that waits for a worker: the home thread of the one with that index, or, with
 * JZX_NONE, a substitute. Under the lock. NULL without memory. */
struct jzx__thread *jzx__crew_start_thread(struct jzx__sched *sched, uint32_t home_index);

/* Gives a thread that waits a worker that nobody drives; under the lock. */
void jzx__crew_give(struct jzx__sched *sched, struct jzx__thread *thread,
                    struct jzx__worker *worker);

/* The same for a worker that is unattended (C7). */
void jzx__crew_attend(struct jzx__sched *sched, struct jzx__thread *thread,
                      struct jzx__worker *worker);

/* JZX__FEED_RETURNS: turns that outlived their worker, and are over. Takes all of them back. */
void jzx__crew_take_returns(struct jzx__worker *me, uint32_t max);
extern const struct jzx__feed_ops jzx__crew_returns;

/* One round of a worker: what others sent, then what is ready. */
enum jzx__pass_result jzx__crew_round(struct jzx__worker *me, uint32_t turns_max);

/* Sits down at a worker while no thread drives it, and rises again. */
void jzx__crew_sit(struct jzx__seat *seat, struct jzx__worker *worker, bool by_caller);
void jzx__crew_rise(struct jzx__seat *seat, struct jzx__worker *worker);

/* A turn is over, since that time, that outlived its worker: leaves it with the worker, which will
 * take it back. The calling thread does not touch its turn after that. */
void jzx__crew_return(struct jzx__worker *worker, struct jzx__seat *seat, uint64_t at_ns);

/* The worker has taken that turn back: a substitute is a spare from now on. */
void jzx__crew_relieve(struct jzx__seat *seat);

/* Where a task's turn runs, if it does: for reports. */
enum jzx__turn_place { JZX__TURN_NONE, JZX__TURN_ON_WORKER, JZX__TURN_AWAY };

/* Looks for the task's turn in all seats of the run. */
enum jzx__turn_place jzx__crew_find(struct jzx__sched *sched, const struct jzx__task *task,
                                    uint32_t *tag, uint32_t *worker);

#endif
