/* SPDX-License-Identifier: MIT */
/* Reports of wrong use that cannot be, or is not only, a status. */
#ifndef JZX_ACTOR_MISUSE_H
#define JZX_ACTOR_MISUSE_H

#include "base/compiler.h"

#include "jzx/id.h"

#include <stddef.h>

struct jzx_loop;

/* Room for the text of jzx__misuse_caller. */
#define JZX__CALLER_SIZE 112

/* Who runs on this thread, as text: "actor 3.1 cart". */
JZX_COLD void jzx__misuse_caller(char *text, size_t size);

/* The same in two steps: the actor of the loop, or JZX_NOBODY, and its name, which is "" or has at
 * most JZX_NAME_MAX bytes; and the text of both. */
JZX_COLD jzx_actor_id jzx__misuse_actor(const struct jzx_loop *loop, char *name);
JZX_COLD void jzx__misuse_name(char *text, size_t size, jzx_actor_id id, const char *name);

/* The log says which actor has given ptr to which call, and what is wrong with it. */
JZX_COLD void jzx__misuse_report(struct jzx_loop *loop, const char *call, const void *ptr,
                                 const char *what);

#endif
