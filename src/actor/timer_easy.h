/* SPDX-License-Identifier: MIT */
/* The common cases of setting and of cancelling a timer, each in one piece: a one-shot with a short
 * payload, to an actor of mine that has had timers before, in the next 17 minutes. */
#ifndef JZX_ACTOR_TIMER_EASY_H
#define JZX_ACTOR_TIMER_EASY_H

#include "actor/mailbox.h"
#include "actor/timer.h"

/* Takes a record from the cache, which has one, and writes its message. */
JZX_INLINE struct jzx__timer *jzx__timer_fill(struct jzx__timers *timers, jzx_actor_id to,
                                              jzx_actor_id from, const void *data, size_t len,
                                              uint32_t tag) {
    struct jzx__timer *timer = (void *)timers->cache.first;
    struct jzx__message *block = jzx__timer_block(timer);
    const struct jzx__node node = {.generation = jzx_id_generation(to),
                                   .lane = JZX__LANE_TIMER,
                                   .flags = JZX__MSG_TIMER,
                                   .size_class = JZX__MSG_EMBEDDED};
    timers->cache.first = timers->cache.first->next;
    timers->cache.count--;
    block->node = node;
    block->sender = from;
    block->tag = tag;
    block->len = (uint32_t)len;
    jzx__copy_short(block->payload, data, len);
    timer->target = jzx_id_index(to);
    return timer;
}

/* False if it is not the common case: then nothing has happened. The arguments are valid. */
JZX_INLINE bool jzx__timer_set_easy(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id to,
                                    jzx_actor_id from, const void *data, size_t len, uint32_t tag,
                                    uint64_t delay_ns, jzx_timer_id *id) {
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, to);
    if (actor == NULL || me == NULL || !jzx__timer_may_list(me, actor) || delay_ns == 0 ||
        delay_ns >= JZX__WHEEL_SPAN * JZX__TIMER_TICK_NS)
        return false;
    struct jzx__timers *timers = jzx__timers_of(me);
    struct jzx__cold *cold = jzx__actor_cold(actor);
    if (timers->cache.first == NULL || cold == NULL || timers->wheel.count == 0 ||
        (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED))
        return false;
    uint64_t due_ns = jzx__pace_now(&timers->pace, &loop->sched.clock) + delay_ns;
    uint64_t tick = (due_ns + JZX__TIMER_TICK_NS - 1) / JZX__TIMER_TICK_NS;
    if (due_ns > UINT64_MAX / 2 || !jzx__wheel_is_near(&timers->wheel, tick))
        return false;
    struct jzx__timer *timer = jzx__timer_fill(timers, to, from, data, len, tag);
    timer->entry.kind = JZX__TIMER_ONCE;
    jzx__list_push_front(&cold->timers, &timer->link);
    /* relaxed: it is mine; all but the generation is 0 while it is free */
    uint64_t generation = jzx__atomic_load_relaxed(&timer->state);
    /* release: pairs with the acquire of a cancel */
    jzx__atomic_store_release(&timer->state, generation | jzx__timer_set_at(me));
    jzx__wheel_set_near(&timers->wheel, &timer->entry, tick);
    if (tick * JZX__TIMER_TICK_NS < me->due_ns)
        me->due_ns = tick * JZX__TIMER_TICK_NS;
    jzx__counter_add(&me->counters.timers_set, 1);
    if (id != NULL)
        *id = generation | timer->index;
    return true;
}

/* False if it is not the common case: then nothing has happened. What is SET here stays here until
 * this thread takes it away: so the record may be read before the exchange that decides. */
JZX_INLINE bool jzx__timer_cancel_easy(struct jzx_loop *loop, struct jzx__worker *me,
                                       jzx_timer_id id) {
    uint64_t generation = id & ~(uint64_t)UINT32_MAX;
    uint64_t stale = generation + JZX__TIMER_GENERATION_ONE;
    struct jzx__timer *timer = jzx__timer_at(&loop->timer_pool, (uint32_t)id);
    if (timer == NULL || me == NULL || stale == 0)
        return false;
    uint64_t set = generation | jzx__timer_set_at(me);
    /* acquire: pairs with the release that set it (H1) */
    if (jzx__atomic_load_acquire(&timer->state) != set)
        return false;
    struct jzx__timers *timers = jzx__timers_of(me);
    struct jzx__actor *actor = jzx__table_slot(&loop->table, timer->target);
    if (!jzx__timer_may_list(me, actor) || timer->entry.place != JZX__WHEEL_IN_SLOT ||
        timer->entry.kind != JZX__TIMER_ONCE || !jzx__timer_cache_has_room(&timers->cache))
        return false;
    /* acquire, release: pairs with itself in other hands; cancelled and free in one (H2) */
    if (!jzx__atomic_cas_acq_rel(&timer->state, &set, stale))
        return false;
    jzx__wheel_remove_near(&timers->wheel, &timer->entry);
    jzx__list_remove(&timer->link);
    jzx__counter_add(&me->counters.timers_ended, 1);
    jzx__timer_free_easy(&timers->cache, timer);
    return true;
}

#endif
