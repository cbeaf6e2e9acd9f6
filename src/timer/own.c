/* SPDX-License-Identifier: MIT */
/* What an actor does with timers of its own: by key, and the receive timeout. All of it in its own
 * turn, also in one that has lost its worker: then the lists may be read, and the rest is asked of
 * the worker (H4 of timer/timer.h). */
#include "actor/own.h"
#include "timer/list.h"
#include "timer/make.h"

#include "jzx/message.h"

static bool has_key(const struct jzx__timer *timer, uint64_t key) {
    return jzx__timer_mode(timer) != JZX__TIMER_IDLE && jzx__timer_key(timer) == key &&
           jzx__timer_is_active(timer);
}

/* A timer, and the index of its record. */
struct found {
    struct jzx__timer *timer; /* NULL: none */
    uint32_t index;
};

/* NULL: it never had any. */
static struct jzx__actor_timers *timers_of(const struct jzx__own *own) {
    return jzx__own_part(own, JZX__PART_TIMER);
}

static struct found requested(struct jzx__node *node) {
    struct jzx__timer *timer = jzx__timer_of(jzx__message_of(node));
    return (struct found){timer, timer->number};
}

static struct found at_index(const struct jzx__own *own, uint32_t index) {
    return (struct found){jzx__timer_record(jzx__timer_pool_of(own->turn->ctx.loop), index), index};
}

/* What is in a place of the list of those with a key. */
static struct found listed(const struct jzx__own *own, uint32_t place) {
    uint32_t index = timers_of(own)->keyed->places[place];
    return index == JZX__TIMER_NONE ? (struct found){NULL, 0} : at_index(own, index);
}

static uint32_t places(const struct jzx__own *own) {
    const struct jzx__actor_timers *timers = timers_of(own);
    return timers == NULL || timers->keyed == NULL ? 0 : timers->keyed->count;
}

/* The next one with a key of those that no list had room for; *number is where to look. */
static struct found chained(const struct jzx__own *own, uint32_t *number) {
    while (*number != 0) {
        struct found found = at_index(own, *number - 1);
        *number = found.timer->number;
        if (jzx__timer_is_keyed(found.timer))
            return found;
    }
    return (struct found){NULL, 0};
}

static uint32_t chain(const struct jzx__own *own) {
    const struct jzx__actor_timers *timers = timers_of(own);
    return timers == NULL ? 0 : timers->chained;
}

/* The active timer with the key. */
static struct found find(const struct jzx__own *own, uint64_t key) {
    struct found found;
    for (struct jzx__node *node = own->turn->requested; node != NULL; node = node->next) {
        found = requested(node);
        if (has_key(found.timer, key))
            return found;
    }
    for (uint32_t i = places(own); i-- != 0;) {
        found = listed(own, i);
        if (found.timer != NULL && has_key(found.timer, key))
            return found;
    }
    uint32_t number = chain(own);
    while ((found = chained(own, &number)).timer != NULL && !has_key(found.timer, key))
        continue;
    return found;
}

static jzx_err launch(const struct jzx__own *own, const struct jzx__timer_spec *spec) {
    return jzx__timer_start(own->turn, own->me, spec, NULL);
}

static bool cancel(const struct jzx__own *own, struct found found) {
    return jzx__timer_cancel_listed(own->turn->ctx.loop, own->me, found.timer, found.index);
}

/* The timer that had the key goes only when the new one is set. */
static jzx_err start(jzx_context *ctx, struct jzx__timer_spec *spec) {
    struct jzx__own own;
    if ((spec->data == NULL && spec->len != 0) || spec->len > JZX_MSG_LEN_MAX ||
        spec->tag >= JZX_TAG_RESERVED || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    struct found before = find(&own, spec->key);
    spec->to = ctx->self;
    spec->from = ctx->self;
    spec->keyed = true;
    jzx_err err = launch(&own, spec);
    if (err == JZX_OK && before.timer != NULL)
        cancel(&own, before);
    jzx__own_end(&own);
    return err;
}

jzx_err jzx_timer_start(jzx_context *ctx, uint64_t key, const void *data, size_t len, uint32_t tag,
                        uint64_t delay_ns) {
    struct jzx__timer_spec spec = {.data = data,
                                   .len = len,
                                   .tag = tag,
                                   .mode = JZX__TIMER_ONCE,
                                   .key = key,
                                   .delay_ns = delay_ns};
    return start(ctx, &spec);
}

jzx_err jzx_timer_start_every(jzx_context *ctx, uint64_t key, const void *data, size_t len,
                              uint32_t tag, uint64_t period_ns, jzx_repeat repeat) {
    if (period_ns == 0 || (repeat != JZX_FIXED_RATE && repeat != JZX_FIXED_DELAY))
        return JZX_ERR_INVALID_ARG;
    struct jzx__timer_spec spec = {.data = data,
                                   .len = len,
                                   .tag = tag,
                                   .mode = jzx__timer_mode_of(repeat),
                                   .key = key,
                                   .delay_ns = period_ns};
    return start(ctx, &spec);
}

jzx_err jzx_timer_stop(jzx_context *ctx, uint64_t key) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    struct found found = find(&own, key);
    bool stopped = found.timer != NULL && cancel(&own, found);
    jzx__own_end(&own);
    return stopped ? JZX_OK : JZX_ERR_TIMER_INVALID;
}

size_t jzx_timer_stop_all(jzx_context *ctx) {
    struct jzx__own own;
    size_t count = 0;
    if (!jzx__own_begin(&own, ctx))
        return 0;
    for (struct jzx__node *node = own.turn->requested; node != NULL; node = node->next) {
        struct found found = requested(node);
        count += jzx__timer_mode(found.timer) != JZX__TIMER_IDLE && cancel(&own, found);
    }
    for (uint32_t i = 0; i < places(&own); i++) {
        struct found found = listed(&own, i);
        count += found.timer != NULL && jzx__timer_mode(found.timer) != JZX__TIMER_IDLE &&
                 cancel(&own, found);
    }
    struct found found;
    uint32_t number = chain(&own);
    while ((found = chained(&own, &number)).timer != NULL)
        count += jzx__timer_mode(found.timer) != JZX__TIMER_IDLE && cancel(&own, found);
    jzx__own_end(&own);
    return count;
}

bool jzx_timer_is_active(const jzx_context *ctx, uint64_t key) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return false;
    bool active = find(&own, key).timer != NULL;
    jzx__own_end(&own);
    return active;
}

uint64_t jzx_timer_missed(const jzx_context *ctx) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return 0;
    struct jzx__message *message = own.turn->current;
    uint64_t missed = message == NULL ? 0 : jzx__timer_missed(message);
    jzx__own_end(&own);
    return missed;
}

/* ---- receive timeout ---- */

/* Of those asked for in a turn without a worker the newest, else the one that is set. */
static struct found idle_timer(const struct jzx__own *own) {
    for (struct jzx__node *node = own->turn->requested; node != NULL; node = node->next) {
        struct found found = requested(node);
        if (jzx__timer_mode(found.timer) == JZX__TIMER_IDLE && jzx__timer_is_active(found.timer))
            return found;
    }
    const struct jzx__actor_timers *timers = timers_of(own);
    if (timers == NULL || timers->receive == NULL)
        return (struct found){NULL, 0};
    return at_index(own, jzx__timer_index(own->turn->ctx.loop, timers, timers->receive));
}

jzx_err jzx_receive_timeout(jzx_context *ctx, uint64_t idle_ns) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    struct found before = idle_timer(&own);
    jzx_err err = JZX_OK;
    if (idle_ns != JZX_NEVER) {
        struct jzx__timer_spec spec = {.to = ctx->self,
                                       .tag = JZX_TAG_RECEIVE_TIMEOUT,
                                       .mode = JZX__TIMER_IDLE,
                                       .keyed = true,
                                       .delay_ns = idle_ns};
        err = launch(&own, &spec);
    }
    if (err == JZX_OK && before.timer != NULL && (idle_ns == JZX_NEVER || own.me == NULL))
        cancel(&own, before); /* else the new one has replaced it */
    jzx__own_end(&own);
    return err;
}

void jzx_receive_timeout_ignore(jzx_context *ctx) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return;
    if (own.cold != NULL)
        own.cold->hears = false;
    jzx__own_end(&own);
}
