/* SPDX-License-Identifier: MIT */
#include "actor/timer_guess.h"

#include "actor/timer.h"

/* Sets it again, so many ticks later, unless it has ended: it is on the wheel of this worker, which
 * alone may take it off there (H1). */
static void postpone(struct jzx__worker *me, jzx_timer_id id, uint32_t ticks) {
    struct jzx__timers *timers = jzx__timers_of(me);
    struct jzx__timer *timer = jzx__timer_record(&jzx__loop_of(me)->timer_pool, (uint32_t)id);
    uint64_t generation = id & ~(uint64_t)UINT32_MAX;
    /* relaxed: if it is as this thread has set it, nobody has had it since */
    if (jzx__atomic_load_relaxed(&timer->state) != (generation | jzx__timer_set_at(me)))
        return;
    struct jzx__wheel *wheel = &timers->wheel;
    struct jzx__wheel_entry *entry = &timer->wait.entry;
    uint32_t ahead = entry->deadline - (uint32_t)wheel->now; /* the wheel has not turned (A2) */
    jzx__wheel_remove(wheel, entry);
    jzx__wheel_set(wheel, entry, wheel->now + ahead + ticks);
}

void jzx__timer_guess_settle(struct jzx__worker *me) {
    struct jzx__timer_guess *guess = &jzx__timers_of(me)->guess;
    if (guess->count != 0) {
        uint64_t now = jzx__timer_now(jzx__loop_of(me), me);
        uint64_t passed = now > guess->ns ? now - guess->ns : 0;
        if (JZX_UNLIKELY(passed > guess->slack_ns)) {
            for (uint32_t i = 0; i < guess->count; i++)
                postpone(me, guess->noted[i], (uint32_t)jzx__timer_tick(passed));
        }
    }
    guess->by = JZX_NOBODY;
    guess->count = 0;
    guess->looks = 0;
}

void jzx__timer_guess_begin(struct jzx__worker *me, struct jzx__task *current, jzx_actor_id by) {
    struct jzx__timer_guess *guess = &jzx__timers_of(me)->guess;
    uint64_t now = jzx__pace_count(&jzx__timers_of(me)->pace);
    if (now == 0 || current == NULL || jzx__actor_id(jzx__actor_of(current)) != by)
        return;
    jzx__timer_guess_settle(me);
    guess->by = by;
    guess->ns = now;
    guess->slack_ns = UINT64_MAX;
    current->care |= JZX__CARE_HEAD; /* something is to be done before its next message */
}
