/* SPDX-License-Identifier: MIT */
/* The common cases of setting and of cancelling a timer, each in one piece: a one-shot with a short
 * payload, to an actor of mine that has had timers before, in the next 17 minutes.
 *
 * me is this thread's worker of this loop, current the task whose turn it runs, or NULL. */
#ifndef JZX_TIMER_EASY_H
#define JZX_TIMER_EASY_H

#include "actor/mailbox.h"
#include "timer/list.h"

/* Takes a record from the cache, which has one, and writes all of it but what the wheel does. */
JZX_INLINE struct jzx__timer *jzx__timer_fill(struct jzx__timers *timers,
                                              const struct jzx__timer_spec *spec) {
    struct jzx__timer *timer = (void *)timers->cache.first;
    if (spec->len > JZX__TIMER_INLINE)
        __builtin_unreachable(); /* or compilers warn of what would be then */
    timers->cache.first = timers->cache.first->next;
    timers->cache.count--;
    timer->wait.tag = spec->tag;
    timer->wait.generation = jzx_id_generation(spec->to);
    jzx__copy_short(timer->payload, spec->data, spec->len);
    timer->sender = spec->from;
    timer->target = jzx_id_index(spec->to);
    return timer;
}

/* The actor if it is one of mine, else NULL. Mostly it is the one whose turn it is: current. */
JZX_INLINE struct jzx__actor *jzx__timer_my_actor(const struct jzx_loop *loop,
                                                  const struct jzx__worker *me,
                                                  struct jzx__task *current, jzx_actor_id to) {
    if (JZX_LIKELY(current != NULL)) {
        struct jzx__actor *actor = jzx__actor_of(current);
        if (jzx__actor_id(actor) == to)
            return actor; /* and this thread has the worker */
    }
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, to);
    return actor != NULL && jzx__timer_may_list(me, actor) ? actor : NULL;
}

/* False if it is not the common case: then nothing has happened. The spec is valid, of a one-shot
 * without a key and with JZX__TIMER_INLINE bytes at most. now is what its delay counts from: never
 * behind the clock. */
JZX_INLINE bool jzx__timer_set_easy(struct jzx_loop *loop, struct jzx__worker *me,
                                    struct jzx__task *current, uint64_t now,
                                    const struct jzx__timer_spec *spec, jzx_timer_id *id) {
    struct jzx__actor *actor = jzx__timer_my_actor(loop, me, current, spec->to);
    if (actor == NULL || spec->delay_ns - 1 >= JZX__WHEEL_SPAN * JZX__TIMER_TICK_NS - 1)
        return false;
    struct jzx__timers *timers = jzx__timers_of(me);
    struct jzx__actor_timers *own = jzx__actor_timers(actor);
    if (timers->cache.first == NULL || own == NULL || !jzx__timer_list_has_room(own->plain) ||
        timers->wheel.count == 0 || (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED))
        return false;
    uint64_t due_ns = now + spec->delay_ns;
    uint64_t tick = (due_ns + JZX__TIMER_TICK_NS - 1) / JZX__TIMER_TICK_NS;
    if (due_ns > UINT64_MAX / 2 || !jzx__wheel_is_near(&timers->wheel, tick))
        return false;
    struct jzx__timer *timer = jzx__timer_fill(timers, spec);
    /* relaxed: it is mine; all but the generation is 0 while it is free */
    uint64_t generation = jzx__atomic_load_relaxed(&timer->state);
    jzx_timer_id made = generation | timer->number;
    jzx__timer_list_add(own->plain, timer);
    /* release: pairs with the acquire of a cancel */
    jzx__atomic_store_release(&timer->state, generation | jzx__timer_set_at(me));
    jzx__wheel_set_near(&timers->wheel, &timer->wait.entry, (uint32_t)spec->len, tick);
    if (tick * JZX__TIMER_TICK_NS < me->due_ns)
        me->due_ns = tick * JZX__TIMER_TICK_NS;
    jzx__counter_add(&me->counters.timers_set, 1);
    if (id != NULL)
        *id = made;
    return true;
}

/* False if it is not the common case: then nothing has happened. What is SET here stays here until
 * this thread takes it away: so the record may be read before the exchange that decides. */
JZX_INLINE bool jzx__timer_cancel_easy(struct jzx_loop *loop, struct jzx__worker *me,
                                       struct jzx__task *current, jzx_timer_id id) {
    uint64_t generation = id & ~(uint64_t)UINT32_MAX;
    uint64_t stale = generation + JZX__TIMER_GENERATION_ONE;
    if (!jzx__timer_exists(jzx__timer_pool_of(loop), (uint32_t)id) || stale == 0)
        return false;
    struct jzx__timer *timer = jzx__timer_record(jzx__timer_pool_of(loop), (uint32_t)id);
    uint64_t set = generation | jzx__timer_set_at(me);
    /* acquire: pairs with the release that set it (H1) */
    if (jzx__atomic_load_acquire(&timer->state) != set)
        return false;
    struct jzx__timers *timers = jzx__timers_of(me);
    struct jzx__actor *actor = current == NULL ? NULL : jzx__actor_of(current);
    if (JZX_UNLIKELY(actor == NULL || jzx_id_index(jzx__actor_id(actor)) != timer->target))
        actor = jzx__table_slot(&loop->table, timer->target);
    if (!jzx__timer_may_list(me, actor) || !jzx__wheel_is_in_slot(&timer->wait.entry) ||
        !jzx__timer_cache_has_room(&timers->cache))
        return false;
    /* acquire, release: pairs with itself in other hands; cancelled and free in one (H2) */
    if (!jzx__atomic_cas_acq_rel(&timer->state, &set, stale))
        return false;
    jzx__wheel_remove_near(&timers->wheel, &timer->wait.entry);
    jzx__timer_list_remove(jzx__actor_timers(actor)->plain, timer);
    jzx__counter_add(&me->counters.timers_ended, 1);
    jzx__timer_free_easy(&timers->cache, timer);
    return true;
}

#endif
