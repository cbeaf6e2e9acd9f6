/* SPDX-License-Identifier: MIT */
/* The common case of setting a timer, in one piece: a one-shot with a short payload, to an actor of
 * mine that has had timers before, in the next 17 minutes. */
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
    timer->entry.home = (uint16_t)me->index;
    jzx__list_push_front(&cold->timers, &timer->link);
    jzx_timer_id made = jzx__timer_id_of(timer);
    /* release: pairs with the acquire of a cancel; publishes home */
    jzx__atomic_store_release(&timer->state, made - timer->index + JZX__TIMER_SET);
    jzx__wheel_set_near(&timers->wheel, &timer->entry, tick);
    if (tick * JZX__TIMER_TICK_NS < me->due_ns)
        me->due_ns = tick * JZX__TIMER_TICK_NS;
    jzx__counter_add(&me->counters.timers_set, 1);
    if (id != NULL)
        *id = made;
    return true;
}

#endif
