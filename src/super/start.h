/* SPDX-License-Identifier: MIT */
/* Making and unmaking children and supervisors. */
#ifndef JZX_SUPER_START_H
#define JZX_SUPER_START_H

#include "super/super.h"

/* A call of the behaviour. */
struct jzx__super_turn {
    struct jzx__super *super;
    struct jzx__own own;
    bool over; /* nothing is left to do but to end */
};

/* Starts a child that has no actor: it is STARTING or RUNNING then, and has its mail. On an error
 * nothing has changed. */
jzx_err jzx__child_start(struct jzx__super_turn *turn, struct jzx__child *child);

/* Frees one that is in no list. */
void jzx__child_destroy(struct jzx__child *child);

/* A child of a spec that outlives it; NULL without memory. */
struct jzx__child *jzx__child_create(struct jzx__super *super, const jzx_child_spec *spec);

/* The supervisor with that id, or NULL. Under the lock. */
struct jzx__super *jzx__super_find(struct jzx_loop *loop, jzx_actor_id id);

/* Makes a supervisor. bonds (may be NULL) are those with the one above, name what observers see. */
jzx_err jzx__super_spawn(struct jzx_loop *loop, struct jzx__worker *me,
                         const jzx_supervisor_opts *opts, const char *name,
                         const struct jzx__bonds *bonds, jzx_actor_id *id);

#endif
