/* SPDX-License-Identifier: MIT */
/* Messages that come later, to any actor, from any thread. */
#include "timer/easy.h"
#include "timer/make.h"

#include "jzx/message.h"

/* True if it is a worker of that loop. A turn of one loop may use another. */
static inline bool is_of(const struct jzx__worker *me, const struct jzx_loop *loop) {
    return me != NULL && me->sched == &loop->sched;
}

static bool is_valid(const struct jzx__timer_spec *spec) {
    return (spec->data != NULL || spec->len == 0) && spec->len <= JZX_MSG_LEN_MAX &&
           spec->tag < JZX_TAG_RESERVED;
}

/* Inside the bracket. */
static jzx_err set(struct jzx_loop *loop, struct jzx__worker *me,
                   const struct jzx__timer_spec *spec, jzx_timer_id *id) {
    struct jzx__timer *timer = jzx__timer_make(loop, me, spec);
    return timer == NULL ? JZX_ERR_NO_MEMORY : jzx__timer_launch(loop, me, timer, id);
}

static jzx_err set_any(struct jzx_loop *loop, const struct jzx__timer_spec *spec,
                       jzx_timer_id *id) {
    if (loop == NULL || !is_valid(spec))
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = set(loop, me, spec, id);
    jzx__visit_end(&visit);
    return err;
}

JZX_INLINE struct jzx__timer_spec once(jzx_actor_id to, jzx_actor_id from, const void *data,
                                       size_t len, uint32_t tag, uint64_t delay_ns) {
    return (struct jzx__timer_spec){.to = to,
                                    .from = from,
                                    .data = data,
                                    .len = len,
                                    .tag = tag,
                                    .mode = JZX__TIMER_ONCE,
                                    .delay_ns = delay_ns};
}

/* Keeps set_any out of the code of jzx_send_after. */
static JZX_COLD jzx_err send_any(jzx_loop *loop, const struct jzx__timer_spec *spec,
                                 jzx_timer_id *timer) {
    return set_any(loop, spec, timer);
}

/* The common case, but the time cannot be counted: it takes a look at the clock. */
static JZX_COLD jzx_err send_looking(jzx_loop *loop, const struct jzx__timer_spec *spec,
                                     jzx_timer_id *timer) {
    struct jzx__seat *seat = jzx__seat_of_thread;
    struct jzx__worker *me = jzx__seat_enter(seat);
    bool set = is_of(me, loop) && jzx__timer_set_easy(loop, me, jzx__seat_task(seat),
                                                      jzx__timer_now(loop, me), spec, timer);
    jzx__seat_leave(seat, 0);
    return set ? JZX_OK : set_any(loop, spec, timer);
}

/* As jzx_send: the common case decides everything before it changes anything. Its spec stays in
 * registers, because the rare cases get one of their own. */
jzx_err jzx_send_after(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, const void *data,
                       size_t len, uint32_t tag, uint64_t delay_ns, jzx_timer_id *timer) {
    struct jzx__seat *seat = jzx__seat_of_thread;
    if (JZX_UNLIKELY(jzx__seat_is_inside(seat)) || JZX_UNLIKELY(loop == NULL) ||
        JZX_UNLIKELY(tag >= JZX_TAG_RESERVED) || JZX_UNLIKELY(len > JZX__TIMER_INLINE) ||
        (JZX_UNLIKELY(data == NULL) && len != 0)) {
        const struct jzx__timer_spec rare = once(to, from, data, len, tag, delay_ns);
        return send_any(loop, &rare, timer);
    }
    const struct jzx__timer_spec spec = once(to, from, data, len, tag, delay_ns);
    struct jzx__worker *me = jzx__seat_enter(seat);
    uint64_t now = JZX_LIKELY(is_of(me, loop)) ? jzx__pace_count(&jzx__timers_of(me)->pace) : 0;
    bool set = now != 0 && jzx__timer_set_easy(loop, me, jzx__seat_task(seat), now, &spec, timer);
    jzx__seat_leave(seat, 0);
    if (JZX_LIKELY(set))
        return JZX_OK;
    const struct jzx__timer_spec rare = once(to, from, data, len, tag, delay_ns);
    return now == 0 ? send_looking(loop, &rare, timer) : send_any(loop, &rare, timer);
}

jzx_err jzx_send_every(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, const void *data,
                       size_t len, uint32_t tag, uint64_t period_ns, jzx_repeat repeat,
                       jzx_timer_id *timer) {
    if (period_ns == 0 || (repeat != JZX_FIXED_RATE && repeat != JZX_FIXED_DELAY))
        return JZX_ERR_INVALID_ARG;
    struct jzx__timer_spec spec = {.to = to,
                                   .from = from,
                                   .data = data,
                                   .len = len,
                                   .tag = tag,
                                   .mode = jzx__timer_mode_of(repeat),
                                   .delay_ns = period_ns};
    return set_any(loop, &spec, timer);
}

static JZX_COLD jzx_err cancel_any(jzx_loop *loop, jzx_timer_id timer) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = jzx__timer_cancel(loop, me, timer);
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_timer_cancel(jzx_loop *loop, jzx_timer_id timer) {
    struct jzx__seat *seat = jzx__seat_of_thread;
    if (JZX_UNLIKELY(jzx__seat_is_inside(seat)) || JZX_UNLIKELY(loop == NULL))
        return cancel_any(loop, timer);
    struct jzx__worker *me = jzx__seat_enter(seat);
    bool cancelled =
        is_of(me, loop) && jzx__timer_cancel_easy(loop, me, jzx__seat_task(seat), timer);
    jzx__seat_leave(seat, 0);
    return JZX_LIKELY(cancelled) ? JZX_OK : cancel_any(loop, timer);
}
