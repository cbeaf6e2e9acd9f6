/* SPDX-License-Identifier: MIT */
/* An actor and its wait in words, for dumps and the report of a stop. Any thread. */
#ifndef JZX_LOOP_WAIT_TEXT_H
#define JZX_LOOP_WAIT_TEXT_H

#include "actor/loop.h"

#define JZX__LABEL_SIZE (JZX_NAME_MAX + 32u)
#define JZX__WAIT_TEXT_SIZE (2u * JZX__LABEL_SIZE)

/* "7.1 name", or "7.1" of an actor without a name, or one that has ended. Returns text. */
const char *jzx__loop_label(const struct jzx_loop *loop, jzx_actor_id id, char *text, size_t size);

/* "tag 7 since 0.2 s", "the end of 3.1 since 4.0 s", "a mutex of 3.1 alice since 0.0 s". info->wait
 * is not JZX_WAIT_NONE. Returns text. */
const char *jzx__loop_wait_text(const struct jzx_loop *loop, const jzx_actor_info *info, char *text,
                                size_t size);

#endif
