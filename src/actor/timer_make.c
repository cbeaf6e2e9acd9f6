/* SPDX-License-Identifier: MIT */
/* Records of timers and their messages. */
#include "actor/timer.h"

#include <string.h>

/* A block of its own for a long payload; the record's address stands at its end. */
static struct jzx__message *make_body(struct jzx_loop *loop, struct jzx__worker *me,
                                      struct jzx__timer *timer, size_t len) {
    struct jzx__message *body = jzx__message_create_large(loop, me, len, jzx__no_destructor);
    if (body == NULL)
        return NULL;
    body->node.flags = JZX__MSG_TIMER | JZX__MSG_TRAILER;
    memcpy(jzx__message_trailer(body), &timer, sizeof timer);
    memcpy(jzx__timer_block(timer)->payload, &body, sizeof body);
    timer->entry.kind |= JZX__TIMER_BODY;
    return body;
}

struct jzx__message *jzx__timer_carrier(struct jzx__timer *timer) {
    struct jzx__message *body;
    if ((timer->entry.kind & JZX__TIMER_BODY) == 0)
        return jzx__timer_block(timer);
    memcpy(&body, jzx__timer_block(timer)->payload, sizeof body);
    return body;
}

struct jzx__timer *jzx__timer_of(struct jzx__message *message) {
    struct jzx__timer *timer;
    if (message->node.size_class == JZX__MSG_EMBEDDED)
        return (void *)message;
    memcpy(&timer, jzx__message_trailer(message), sizeof timer);
    return timer;
}

/* Never behind the clock. */
static uint64_t time_of(struct jzx_loop *loop, struct jzx__worker *me) {
    return me == NULL ? jzx__clock_now(&loop->sched.clock)
                      : jzx__pace_now(&jzx__timers_of(me)->pace, &loop->sched.clock);
}

static void fill_message(struct jzx__message *message, const struct jzx__timer_spec *spec) {
    message->node.generation = jzx_id_generation(spec->to);
    message->node.weight = 0;
    message->node.lane = JZX__LANE_TIMER;
    message->sender = spec->from;
    message->tag = spec->tag;
    message->len = (uint32_t)spec->len;
}

struct jzx__timer *jzx__timer_make(struct jzx_loop *loop, struct jzx__worker *me,
                                   const struct jzx__timer_spec *spec) {
    struct jzx__timer *timer = jzx__timer_alloc(&loop->timer_pool, jzx__timer_cache_of(me));
    if (JZX_UNLIKELY(timer == NULL))
        return NULL;
    uint64_t delay_ns = spec->delay_ns + (spec->delay_ns == 0); /* 0: at the next tick */
    uint64_t now = time_of(loop, me);
    uint64_t due_ns = jzx__timer_add(now, delay_ns);
    bool more = spec->mode != JZX__TIMER_ONCE || spec->keyed;
    struct jzx__message *block = jzx__timer_block(timer);
    timer->entry.kind = (uint8_t)(spec->mode | (spec->keyed ? JZX__TIMER_KEYED : 0));
    timer->entry.place = JZX__WHEEL_NOWHERE;
    timer->entry.deadline = jzx__timer_tick(due_ns);
    timer->target = jzx_id_index(spec->to);
    fill_message(block, spec);
    block->node.flags = JZX__MSG_TIMER;
    block->node.size_class = JZX__MSG_EMBEDDED;
    if (JZX_UNLIKELY(more))
        *jzx__timer_more(timer) = (struct jzx__timer_more){
            spec->key, delay_ns, spec->mode == JZX__TIMER_RATE ? now : due_ns};
    if (JZX_LIKELY(spec->len <= (more ? JZX__TIMER_INLINE_MORE : JZX_MSG_INLINE))) {
        if (spec->len != 0)
            memcpy(block->payload, spec->data, spec->len);
        return timer;
    }
    struct jzx__message *body = make_body(loop, me, timer, spec->len);
    if (body == NULL) {
        jzx__timer_free(&loop->timer_pool, jzx__timer_cache_of(me), timer);
        return NULL;
    }
    fill_message(body, spec);
    memcpy(body->payload, spec->data, spec->len);
    return timer;
}

bool jzx__timer_make_stale(struct jzx__timer *timer) {
    /* relaxed: nobody else can change it any more (H3) */
    uint64_t state = jzx__atomic_load_relaxed(&timer->state);
    uint64_t next = (state | (JZX__TIMER_GENERATION_ONE - 1)) + 1;
    /* release: pairs with the acquire of who still has the id: it sees another generation */
    jzx__atomic_store_release(&timer->state, next);
    return next != 0;
}

void jzx__timer_unmake(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__timer *timer) {
    if (JZX_UNLIKELY(timer->entry.kind & JZX__TIMER_BODY)) {
        struct jzx__message *body = jzx__timer_carrier(timer);
        body->node.flags = JZX__MSG_TRAILER;
        jzx__message_destroy(loop, me, body);
    }
    if (JZX_LIKELY(jzx__timer_make_stale(timer)))
        jzx__timer_free(&loop->timer_pool, jzx__timer_cache_of(me), timer);
}
