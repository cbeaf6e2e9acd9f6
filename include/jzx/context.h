/* SPDX-License-Identifier: MIT */
/* Where the calling code runs: for libraries that are called by actors and are handed no context.
 * Any thread. */
#ifndef JZX_CONTEXT_H
#define JZX_CONTEXT_H

#include "jzx/api.h"
#include "jzx/id.h"

#include <stdint.h>

typedef struct jzx_context jzx_context;

typedef enum jzx_context_kind {
    JZX_CONTEXT_NONE = 0,  /* on a thread of another kind, the one that reports stalls among them */
    JZX_CONTEXT_FIBER = 1, /* in a fiber's own code: it may wait, see jzx/fiber.h */
    JZX_CONTEXT_WAITLESS = 2 /* in a behaviour, an init, or a callback of the runtime (cleanup,
                              * observer, destructor, predicate, call): calls that wait do
                              * what config.on_wait says, by default JZX_ERR_WOULD_SUSPEND */
} jzx_context_kind;

JZX_BEGIN_C

JZX_API jzx_context_kind jzx_current_kind(void);

/* The actor whose turn it is, or JZX_NOBODY. */
JZX_API jzx_actor_id jzx_current_actor(void);

/* The context of the actor whose own code runs on this thread, which jzx_exit would leave: its
 * behaviour, its init, its cleanup or its fiber. NULL on every other thread, and in observers,
 * destructors and other callbacks of the runtime. Valid for as long as that code runs. For the
 * panic handlers of language bindings: see docs/bindings.md. */
JZX_API jzx_context *jzx_current_context(void);

/* The worker that this thread drives, or JZX_NONE (of jzx/config.h): a thread of another kind, or
 * one whose worker went on without it because it did not return for too long; test for it before
 * you use it as an index. */
JZX_API uint32_t jzx_current_worker(void);

/* The errno of the thread that runs now. For fibers (jzx/fiber.h): a wait may return on another
 * thread, and compilers take the address behind `errno` for the same in a whole function. So after
 * a wait `errno` may be the one of the thread before. Call this before the next wait, which may
 * change it: its value does not survive a wait, also in a fiber with .thread_bound. A call that
 * needs errno to be 0 before it (strtol) belongs in a function that does not wait and is not
 * inlined (__attribute__((noinline))). */
JZX_API int jzx_errno(void);

JZX_END_C

#endif
