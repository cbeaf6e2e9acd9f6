/* SPDX-License-Identifier: MIT */
/* Names: finding an actor by what it does. A name belongs to at most one actor of a loop, an actor
 * may have several, and the name is free in the very moment in which its actor's id becomes stale.
 * So a name may lead to another actor than it did before; an id never does.
 *
 * A name is 1 to JZX_NAME_MAX bytes and does not begin with '@', which is reserved for the runtime.
 * The name in jzx_spawn_opts is something else: a label for people, which need not be unique.
 *
 * All calls: any thread. A look-up takes no lock and never waits for who registers. */
#ifndef JZX_NAME_H
#define JZX_NAME_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/id.h"

#include <stddef.h>
#include <stdint.h>

typedef struct jzx_loop jzx_loop;

JZX_BEGIN_C

/* Gives the name to an actor. JZX_OK also if it has the name already. The name is copied.
 * JZX_ERR_EXISTS if another living actor has it, JZX_ERR_NO_SUCH_ACTOR if id has ended,
 * JZX_ERR_INVALID_ARG (NULL loop, a wrong name), JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY; nothing
 * has changed then. */
JZX_API jzx_err jzx_register(jzx_loop *loop, const char *name, jzx_actor_id id);

/* Takes a name from whoever has it. JZX_ERR_NO_SUCH_ACTOR if nobody has, JZX_ERR_INVALID_ARG,
 * JZX_ERR_LOOP_CLOSED. */
JZX_API jzx_err jzx_unregister(jzx_loop *loop, const char *name);

/* Who has the name now, in *id, which is untouched on an error. JZX_ERR_NO_SUCH_ACTOR if nobody
 * has, JZX_ERR_INVALID_ARG, JZX_ERR_LOOP_CLOSED. */
JZX_API jzx_err jzx_lookup(const jzx_loop *loop, const char *name, jzx_actor_id *id);

/* jzx_send to whoever has the name at this moment; JZX_ERR_NO_SUCH_ACTOR if nobody has. To send
 * often, look the name up once and keep the id until a send says JZX_ERR_NO_SUCH_ACTOR. */
JZX_API jzx_err jzx_send_named(jzx_loop *loop, const char *name, jzx_actor_id from,
                               const void *data, size_t len, uint32_t tag);

JZX_END_C

#endif
