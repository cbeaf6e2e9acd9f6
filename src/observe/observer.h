/* SPDX-License-Identifier: MIT */
/* The observer of a loop: one place that turns an event into its callbacks. */
#ifndef JZX_OBSERVE_OBSERVER_H
#define JZX_OBSERVE_OBSERVER_H

#include "base/atomic.h"
#include "base/compiler.h"

#include "jzx/observe.h"

struct jzx__observer {
    jzx_observer callbacks;
    void *ctx;
    _Atomic uint32_t is_set; /* written by the driving thread; a hint for other threads */
};

static inline bool jzx__observer_is_set(const struct jzx__observer *observer) {
    /* relaxed: the driving thread sees its own store; others may miss a moment, nothing more */
    return JZX_UNLIKELY(jzx__atomic_load_relaxed(&observer->is_set) != 0);
}

void jzx__observer_set(struct jzx__observer *observer, const jzx_observer *callbacks, void *ctx);

/* Calls the callback of the event's kind, then on_event. On the driving thread only. */
void jzx__observer_emit(const struct jzx__observer *observer, const jzx_event *event);

#endif
