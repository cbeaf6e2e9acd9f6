/* SPDX-License-Identifier: MIT */
/* Reports of wrong use that cannot be, or is not only, a status. */
#ifndef JZX_ACTOR_MISUSE_H
#define JZX_ACTOR_MISUSE_H

#include "base/compiler.h"

#include <stddef.h>

struct jzx_loop;

/* Room for the text of jzx__misuse_caller. */
#define JZX__CALLER_SIZE 112

/* Who runs on this thread, as text: "actor 3.1 cart". */
JZX_COLD void jzx__misuse_caller(char *text, size_t size);

/* The log says which actor has given ptr to which call, and what is wrong with it. */
JZX_COLD void jzx__misuse_report(struct jzx_loop *loop, const char *call, const void *ptr,
                                 const char *what);

#endif
