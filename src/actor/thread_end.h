/* SPDX-License-Identifier: MIT */
/* Threads that end in the middle of a turn: pthread_exit, or a cancellation, in a behaviour. */
#ifndef JZX_ACTOR_THREAD_END_H
#define JZX_ACTOR_THREAD_END_H

#include "base/compiler.h"

/* From now on an end of the calling thread while it drives a loop ends the process, with a text
 * that names the actor. */
JZX_COLD void jzx__thread_end_watch(void);

#endif
