/* SPDX-License-Identifier: MIT */
/* Which actor has which name. A name is an actor's as long as the id is valid: an end has nothing
 * to do for it. */
#ifndef JZX_DIRECTORY_REGISTRY_H
#define JZX_DIRECTORY_REGISTRY_H

#include "base/lock.h"
#include "directory/names.h"

struct jzx_loop;
struct jzx__table;

struct jzx__registry {
    struct jzx__names names;
    struct jzx__lock lock; /* of who writes */
};

void jzx__registry_init(struct jzx__registry *registry, const struct jzx__table *table,
                        const jzx_allocator *allocator);
void jzx__registry_deinit(struct jzx__registry *registry);

/* For those who start an actor again under its name: registers and pins. Until the pin is given
 * back, moving the name to a new id needs no memory. '@' may begin the name, and the id may be that
 * of an actor to come (bonds.before), which is reached when its slot is open. Errors as
 * jzx_register, and nothing has changed then. Any thread, as the others. */
jzx_err jzx__names_pin(struct jzx_loop *loop, const char *name, jzx_actor_id id,
                       struct jzx__name **pin);

/* Gives the pin back; if id has the name it is free then, whether id has ended or not. */
void jzx__names_unpin(struct jzx_loop *loop, struct jzx__name *pin, jzx_actor_id id);

/* The name is id's from now on, whoever had it before and ended. JZX_OK, JZX_ERR_EXISTS if another
 * living actor has it: it was registered, or given up, meanwhile; JZX_ERR_NO_SUCH_ACTOR or
 * JZX_ERR_LOOP_CLOSED if id has ended. Nothing else can fail. */
jzx_err jzx__names_move(struct jzx_loop *loop, struct jzx__name *pin, jzx_actor_id id);

#endif
