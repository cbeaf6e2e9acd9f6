/* SPDX-License-Identifier: MIT */
/* Calls that wait, made where nothing may wait: config.on_wait says what becomes of them. */
#ifndef JZX_ACTOR_WAITLESS_H
#define JZX_ACTOR_WAITLESS_H

#include "base/compiler.h"

#include "jzx/error.h"

struct jzx_loop;

/* The one answer of every call that waits, by its public name, to code that may not wait: ends the
 * actor, aborts, or returns JZX_ERR_WOULD_SUSPEND. The loop of the actor that runs on this thread
 * decides; without one that of the call, or, if that is NULL, of the thread's worker. The caller
 * has changed nothing, and is outside of its own bracket. */
JZX_COLD jzx_err jzx__waitless_refuse(struct jzx_loop *loop, const char *call);

#endif
