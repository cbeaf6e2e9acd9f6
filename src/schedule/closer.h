/* SPDX-License-Identifier: MIT */
/* The close tasks of the library itself. Each scheduler registers them when it is made, before any
 * of the program's, in this order: so each is the first of its priority, and they run in it.
 *
 *   delays    SYSTEM_CRITICAL  futures of delays are resolved: nobody waits for a tick any more
 *   remoting  SYSTEM_CRITICAL  a place alone: there is no remoting
 *   timers    RUNTIME          timers of actors that were started by key are stopped
 *   hooks     USER             what the program registered by jzx_schedule_on_shutdown is called */
#ifndef JZX_SCHEDULE_CLOSER_H
#define JZX_SCHEDULE_CLOSER_H

#include "schedule/scheduler.h"

/* Of a scheduler that nobody knows yet. */
void jzx__closers_register(struct jzx__scheduler *scheduler);

/* Owner. False without memory. */
bool jzx__hooks_add(struct jzx__scheduler *scheduler, jzx_close_fn fn, void *ctx);

/* Those that were not called. */
void jzx__hooks_free(struct jzx__scheduler *scheduler);

#endif
