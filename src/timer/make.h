/* SPDX-License-Identifier: MIT */
/* Records of timers and their messages. */
#ifndef JZX_TIMER_MAKE_H
#define JZX_TIMER_MAKE_H

#include "timer/timer.h"

/* What travels when it fires. */
struct jzx__message *jzx__timer_carrier(struct jzx__timer *timer);

/* The timer of a message that has one. */
struct jzx__timer *jzx__timer_of(struct jzx__message *message);

/* Of one with a key; of one that repeats. */
uint64_t jzx__timer_key(const struct jzx__timer *timer);
uint64_t jzx__timer_period(const struct jzx__timer *timer);

/* How many firings the message stands for beyond its own. */
uint64_t jzx__timer_missed(struct jzx__message *message);

/* A record for that, on its way to nowhere yet; NULL without memory. me is this thread's worker, or
 * NULL. */
struct jzx__timer *jzx__timer_make(struct jzx_loop *loop, struct jzx__worker *me,
                                   const struct jzx__timer_spec *spec);

/* Makes its id stale. False if that was the last generation: it is not to be used again. */
bool jzx__timer_make_stale(struct jzx__timer *timer);

/* Frees a record, and its body: it was not launched, or has ended. */
void jzx__timer_unmake(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__timer *timer);

/* An actor starts a timer for itself, in its turn; me is NULL if that has lost its worker. id
 * may be NULL. */
jzx_err jzx__timer_start(struct jzx__turn *turn, struct jzx__worker *me,
                         const struct jzx__timer_spec *spec, jzx_timer_id *id);

#endif
