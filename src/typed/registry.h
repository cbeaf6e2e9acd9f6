/* SPDX-License-Identifier: MIT */
/* The types of a loop by name, and their instances by id. Any thread, in a visit. */
#ifndef JZX_TYPED_REGISTRY_H
#define JZX_TYPED_REGISTRY_H

#include "typed/typed.h"

#include "jzx/observe.h"

bool jzx__types_open(struct jzx_loop *loop, const jzx_config *config);
void jzx__types_close(struct jzx_loop *loop);

/* The loop's record of the type, made if it has none. JZX_ERR_EXISTS: the name is another type's;
 * JZX_ERR_NO_MEMORY. */
jzx_err jzx__types_know(struct jzx_loop *loop, const jzx_actor_type *type,
                        struct jzx__known_type **known);

/* A new instance, a struct jzx__instance, and the end of one (T1); one that was never added may end
 * as well. */
void jzx__types_add(void *instance, jzx_actor_id id);
void jzx__types_remove(struct jzx_loop *loop, struct jzx__instance *instance);

/* One line for each type, and one for its messages. */
void jzx__types_print(struct jzx_loop *loop, jzx_dump_fn line, void *ctx);

#endif
