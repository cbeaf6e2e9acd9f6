/* SPDX-License-Identifier: MIT */
#include "actor/timer_guess.h"

#include "actor/timer.h"

/* Sets it again, so many ticks later, behind those that were set again before it; unless it has
 * ended. It is on the wheel of this worker, which alone may take it off there (H1). */
static void set_again(struct jzx__worker *me, jzx_timer_id id, uint64_t ticks) {
    struct jzx__timer *timer = jzx__timer_record(&jzx__loop_of(me)->timer_pool, (uint32_t)id);
    uint64_t generation = id & ~(uint64_t)UINT32_MAX;
    /* relaxed: if it is as this worker has set it, nobody has had it since */
    if (jzx__atomic_load_relaxed(&timer->state) != (generation | jzx__timer_set_at(me)))
        return;
    struct jzx__wheel *wheel = &jzx__timers_of(me)->wheel;
    struct jzx__wheel_entry *entry = &timer->wait.entry;
    uint32_t ahead = entry->deadline - (uint32_t)wheel->now; /* the wheel has not turned (A2) */
    jzx__wheel_remove(wheel, entry);
    jzx__wheel_set(wheel, entry, wheel->now + ahead + ticks);
}

/* If the time of the guess had been so much later. */
static void set_all_again(struct jzx__worker *me, const struct jzx__timer_guess *guess,
                          uint64_t passed_ns) {
    for (uint32_t i = 0; i < guess->count; i++) {
        uint64_t slack_ns = guess->slack_ns[i];
        set_again(me, guess->noted[i],
                  passed_ns > slack_ns ? jzx__timer_tick(passed_ns - slack_ns) : 0);
    }
}

void jzx__timer_guess_settle(struct jzx__worker *me) {
    struct jzx__timers *timers = jzx__timers_of(me);
    struct jzx__timer_guess *guess = &timers->guess;
    if (guess->count != 0) {
        uint64_t now = jzx__pace_now(&timers->pace, &me->sched->clock);
        uint64_t passed_ns = now > guess->ns ? now - guess->ns : 0;
        if (JZX_UNLIKELY(passed_ns > guess->slack_min_ns))
            set_all_again(me, guess, passed_ns);
    }
    guess->by = JZX_NOBODY;
    guess->count = 0;
    guess->looks = 0;
}
