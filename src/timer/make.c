/* SPDX-License-Identifier: MIT */
/* Records of timers and their messages. */
#include "timer/make.h"

#include "timer/timer.h"

#include <string.h>

struct jzx__message *jzx__timer_carrier(struct jzx__timer *timer) {
    const struct jzx__timer_extra *extra = jzx__timer_extra(timer);
    return extra != NULL && extra->body != NULL ? extra->body : jzx__timer_block(timer);
}

struct jzx__timer *jzx__timer_of(struct jzx__message *message) {
    struct jzx__timer *timer;
    if (message->node.size_class == JZX__MSG_EMBEDDED)
        return (void *)message;
    memcpy(&timer, jzx__message_trailer(message), sizeof timer);
    return timer;
}

/* The number in the place of the payload of one that has no extra. */
static uint64_t number_in(const struct jzx__timer *timer) {
    uint64_t number;
    memcpy(&number, timer->payload, sizeof number);
    return number;
}

uint64_t jzx__timer_key(const struct jzx__timer *timer) {
    const struct jzx__timer_extra *extra = jzx__timer_extra(timer);
    return extra != NULL ? extra->key : number_in(timer);
}

uint64_t jzx__timer_period(const struct jzx__timer *timer) {
    const struct jzx__timer_extra *extra = jzx__timer_extra(timer);
    return extra != NULL ? extra->period_ns : number_in(timer);
}

uint64_t jzx__timer_missed(struct jzx__message *message) {
    if (!jzx__message_is_timer(message))
        return 0;
    const struct jzx__timer *timer = jzx__timer_of(message);
    return jzx__timer_mode(timer) == JZX__TIMER_RATE ? jzx__timer_extra(timer)->missed : 0;
}

static void fill_message(struct jzx__message *message, const struct jzx__timer_spec *spec,
                         size_t len) {
    message->node.generation = jzx_id_generation(spec->to);
    message->node.weight = 0;
    message->node.lane = jzx__timer_lane(spec->tag);
    message->sender = spec->from;
    message->tag = spec->tag;
    message->len = (uint32_t)len;
    if (len != 0)
        memcpy(message->payload, spec->data, len);
}

/* Where a payload would be there is room for one number: the payload, the key, or the period of a
 * receive timeout. And one that is very far away must be known exactly. */
static bool needs_extra(const struct jzx__timer_spec *spec) {
    return spec->mode == JZX__TIMER_RATE || spec->mode == JZX__TIMER_DELAY ||
           spec->len > (spec->keyed ? 0 : JZX__TIMER_INLINE) ||
           spec->delay_ns / JZX__TIMER_TICK_NS >= JZX__WHEEL_REACH / 2;
}

/* A block of its own for the payload; the record's address stands at its end. */
static struct jzx__message *make_body(struct jzx_loop *loop, struct jzx__worker *me,
                                      struct jzx__timer *timer,
                                      const struct jzx__timer_spec *spec) {
    struct jzx__message *body = jzx__message_create_large(loop, me, spec->len, jzx__no_destructor);
    if (body == NULL)
        return NULL;
    body->node.flags = JZX__TRAILER_OTHER;
    memcpy(jzx__message_trailer(body), &timer, sizeof timer);
    fill_message(body, spec, spec->len);
    return body;
}

/* False without memory. */
static bool add_extra(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__timer *timer,
                      const struct jzx__timer_spec *spec, struct jzx__timer_extra content) {
    struct jzx__timer_extra *extra = jzx__sched_alloc(&loop->sched, me, JZX__TIMER_EXTRA_CLASS);
    if (extra == NULL)
        return false;
    if (spec->len != 0 && (content.body = make_body(loop, me, timer, spec)) == NULL) {
        jzx__sched_free(&loop->sched, me, JZX__TIMER_EXTRA_CLASS, extra);
        return false;
    }
    *extra = content;
    memcpy(timer->payload, &extra, sizeof extra);
    return true;
}

struct jzx__timer *jzx__timer_make(struct jzx_loop *loop, struct jzx__worker *me,
                                   const struct jzx__timer_spec *spec) {
    struct jzx__timer *timer = jzx__timer_alloc(jzx__timer_pool_of(loop), jzx__timer_cache_of(me));
    if (JZX_UNLIKELY(timer == NULL))
        return NULL;
    uint64_t delay_ns = spec->delay_ns + (spec->delay_ns == 0); /* 0: at the next tick */
    uint64_t now = jzx__timer_now(loop, me);
    uint64_t due_ns = jzx__timer_add(now, delay_ns);
    bool extra = needs_extra(spec);
    uint64_t kind =
        spec->mode | (spec->keyed ? JZX__TIMER_KEYED : 0) | (extra ? JZX__TIMER_EXTRA : 0);
    struct jzx__message *block = jzx__timer_block(timer);
    fill_message(block, spec, extra ? 0 : spec->len);
    block->node.flags = 0;
    block->node.size_class = JZX__MSG_EMBEDDED;
    timer->target = jzx_id_index(spec->to);
    jzx__timer_set_tick(timer, jzx__timer_tick(due_ns));
    if (JZX_UNLIKELY(extra)) {
        struct jzx__timer_extra content = {.key = spec->key,
                                           .period_ns = delay_ns,
                                           .due_ns = spec->mode == JZX__TIMER_RATE ? now : due_ns};
        if (!add_extra(loop, me, timer, spec, content)) {
            jzx__timer_free(jzx__timer_pool_of(loop), jzx__timer_cache_of(me), timer);
            return NULL;
        }
    } else if (spec->keyed) {
        memcpy(timer->payload, spec->mode == JZX__TIMER_IDLE ? &delay_ns : &spec->key,
               sizeof timer->payload);
    }
    uint64_t repeats = spec->mode == JZX__TIMER_ONCE ? 0 : JZX__TIMER_REPEATS;
    /* relaxed, both: nobody else knows the id; all but the generation was 0 */
    uint64_t generation = jzx__atomic_load_relaxed(&timer->state);
    jzx__atomic_store_relaxed(&timer->state, generation | kind << JZX__TIMER_KIND_SHIFT | repeats);
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
    struct jzx__timer_extra *extra = jzx__timer_extra(timer);
    if (JZX_UNLIKELY(extra != NULL)) {
        if (extra->body != NULL) {
            extra->body->node.lane = JZX__LANE_USER; /* a block as any */
            jzx__message_destroy(loop, me, extra->body);
        }
        jzx__sched_free(&loop->sched, me, JZX__TIMER_EXTRA_CLASS, extra);
    }
    if (JZX_LIKELY(jzx__timer_make_stale(timer)))
        jzx__timer_free(jzx__timer_pool_of(loop), jzx__timer_cache_of(me), timer);
}

jzx_err jzx__timer_start(struct jzx__turn *turn, struct jzx__worker *me,
                         const struct jzx__timer_spec *spec, jzx_timer_id *id) {
    struct jzx_loop *loop = turn->ctx.loop;
    struct jzx__timer *timer = jzx__timer_make(loop, me, spec);
    if (timer == NULL)
        return JZX_ERR_NO_MEMORY;
    if (me != NULL)
        return jzx__timer_launch(loop, me, timer, id);
    jzx_timer_id made = jzx__timer_id_of(timer, timer->number);
    if (!jzx__timer_request(turn, timer))
        return JZX_ERR_NO_MEMORY;
    if (id != NULL)
        *id = made;
    return JZX_OK;
}
