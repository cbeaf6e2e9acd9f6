/* SPDX-License-Identifier: MIT */
/* The close tasks of the library itself. Each scheduler registers them when it is made, before any
 * of the program's, in this order: so each is the first of its priority, and they run in it. The
 * configuration may give them other priorities.
 *
 *   delays    SYSTEM_CRITICAL  futures of delays are resolved: nobody waits for a tick any more
 *   remoting  SYSTEM_CRITICAL  a place alone: there is no remoting
 *   timers    RUNTIME          timers of actors that were started by key are stopped
 *   hooks     USER             what the program registered by jzx_schedule_on_shutdown is called */
#ifndef JZX_SCHEDULE_CLOSER_H
#define JZX_SCHEDULE_CLOSER_H

#include "schedule/scheduler.h"

/* As the program says; JZX_CLOSE_DEFAULT: `fallback`. */
static inline enum jzx__close_priority jzx__close_priority_of(jzx_close_priority priority,
                                                              enum jzx__close_priority fallback) {
    return priority == JZX_CLOSE_DEFAULT
               ? fallback
               : (enum jzx__close_priority)(priority - JZX_CLOSE_SYSTEM_CRITICAL);
}

/* Of a scheduler that nobody knows yet. */
void jzx__closers_register(struct jzx__scheduler *scheduler);

/* Owner. False without memory. */
bool jzx__hooks_add(struct jzx__scheduler *scheduler, jzx_close_fn fn, void *ctx);

/* Those that were not called. */
void jzx__hooks_free(struct jzx__scheduler *scheduler);

#endif
