/* SPDX-License-Identifier: MIT */
/* Timers that an actor sets in a row, while it handles one message: a look at the clock, even by
 * counting cycles, is a quarter of what one costs. So after a few that had a look each, the next
 * ones take the time of the last look for granted, as a **guess**, and are noted. When the message
 * was handled the clock is looked at once. Mostly no deadline would have come out different. Else
 * the ones that were noted are set again, later, as if all of them had been set just now.
 *
 *   A1  a guess is older than every timer that was set by it, and is used in the message in which
 *       it was made, by the actor that handles it, for itself. So whatever ends that actor ends
 *       what was set by it.
 *   A2  before the wheel turns, before another message is handled and before another thread has
 *       the worker for its turns, guesses are settled: each timer then counts from its call at the
 *       earliest, from that moment at the latest. */
#ifndef JZX_ACTOR_TIMER_GUESS_H
#define JZX_ACTOR_TIMER_GUESS_H

#include "jzx/timer.h"

#include <stdbool.h>
#include <stdint.h>

struct jzx__task;
struct jzx__worker;

/* Timers of one message that have a look each. To settle costs about three looks. */
#define JZX__TIMER_LOOKS 4u

/* Timers that one guess is good for. */
#define JZX__TIMER_ROW 64u

struct jzx__timer_guess {
    jzx_actor_id by;   /* whose guess it is; NOBODY: there is none, but some may be noted */
    uint64_t ns;       /* the time */
    uint64_t slack_ns; /* so much later it may be without a deadline that comes out different */
    uint64_t message;  /* in which timers had a look: its number in the pass, a hint */
    uint32_t looks;    /* of that message */
    uint32_t count;    /* of those that are noted */
    jzx_timer_id noted[JZX__TIMER_ROW];
};

/* A timer was set by the guess that fires so long after its time. */
static inline void jzx__timer_guess_note(struct jzx__timer_guess *guess, jzx_timer_id timer,
                                         uint64_t slack_ns) {
    guess->slack_ns = slack_ns < guess->slack_ns ? slack_ns : guess->slack_ns;
    guess->noted[guess->count++] = timer;
    if (guess->count == JZX__TIMER_ROW)
        guess->by = JZX_NOBODY;
}

/* Another timer of that message was set after a look. True if it is time for a guess. */
static inline bool jzx__timer_guess_looked(struct jzx__timer_guess *guess, uint64_t message) {
    guess->looks = guess->message == message ? guess->looks + 1 : 1;
    guess->message = message;
    return guess->looks >= JZX__TIMER_LOOKS;
}

/* If it is the actor whose turn it is, it guesses from now on; what was noted before is settled. */
void jzx__timer_guess_begin(struct jzx__worker *me, struct jzx__task *current, jzx_actor_id by);

/* A2. The short test is for every pass. */
void jzx__timer_guess_settle(struct jzx__worker *me);

static inline bool jzx__timer_guess_is_open(const struct jzx__timer_guess *guess) {
    return guess->by != JZX_NOBODY || guess->count != 0;
}

#endif
