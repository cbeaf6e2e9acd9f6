/* SPDX-License-Identifier: MIT */
/* Timers that an actor sets for itself in a row, while it handles one message: a look at the clock,
 * even by counting cycles, is a quarter of what one costs. So after a few that had a look each, the
 * next ones take the time of the last look for granted, as a **guess**, and are noted. When the
 * message was handled the clock is looked at once. Mostly no deadline would have come out different
 * if that had been the time. Else those that were noted are set again, as if it had been.
 *
 *   A1  a guess was a look in this message, so it is older than every timer that is set by it; and
 *       these are timers of the actor that handles the message. Whatever ends that actor ends them;
 *       what is left of the guess then names nobody who lives, and is dropped when it is settled.
 *   A2  guesses are settled before the wheel turns, before any other timer is set on this worker
 *       (so those of one tick stay in order, V2), before the actor's next message and before
 *       another thread runs turns of this worker. A timer then counts from its call at the
 *       earliest, and from that moment at the latest. */
#ifndef JZX_ACTOR_TIMER_GUESS_H
#define JZX_ACTOR_TIMER_GUESS_H

#include "base/assert.h"

#include "jzx/timer.h"

#include <stdbool.h>
#include <stdint.h>

struct jzx__worker;

/* Timers of one message that have a look each. To settle costs about three looks. */
#define JZX__TIMER_LOOKS 4u

/* Timers that one guess is good for. */
#define JZX__TIMER_ROW 64u

struct jzx__timer_guess {
    jzx_actor_id by;       /* whose guess it is, or JZX_NOBODY: it is used up, or there is none */
    uint64_t ns;           /* the time */
    uint64_t message;      /* in which timers had a look: how many its worker has handled */
    uint32_t looks;        /* of that message */
    uint32_t count;        /* of those that are noted */
    uint32_t slack_min_ns; /* of them */
    uint32_t slack_ns[JZX__TIMER_ROW]; /* so long after its time it fires */
    jzx_timer_id noted[JZX__TIMER_ROW];
};

/* A look is a guess from now on. None may be open. */
static inline void jzx__timer_guess_begin(struct jzx__timer_guess *guess, jzx_actor_id by,
                                          uint64_t ns) {
    JZX_ASSERT(guess->by == JZX_NOBODY && guess->count == 0);
    guess->by = by;
    guess->ns = ns;
    guess->slack_min_ns = UINT32_MAX;
}

/* A timer was set by it. */
static inline void jzx__timer_guess_note(struct jzx__timer_guess *guess, jzx_timer_id timer,
                                         uint32_t slack_ns) {
    guess->noted[guess->count] = timer;
    guess->slack_ns[guess->count] = slack_ns;
    if (slack_ns < guess->slack_min_ns)
        guess->slack_min_ns = slack_ns;
    if (++guess->count == JZX__TIMER_ROW)
        guess->by = JZX_NOBODY;
}

/* Another timer of that message was set after a look. True if there were enough. */
static inline bool jzx__timer_guess_looked(struct jzx__timer_guess *guess, uint64_t message) {
    guess->looks = guess->message == message ? guess->looks + 1 : 1;
    guess->message = message;
    return guess->looks >= JZX__TIMER_LOOKS;
}

static inline bool jzx__timer_guess_is_open(const struct jzx__timer_guess *guess) {
    return guess->by != JZX_NOBODY || guess->count != 0;
}

/* A2. */
void jzx__timer_guess_settle(struct jzx__worker *me);

#endif
