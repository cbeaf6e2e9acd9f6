/* SPDX-License-Identifier: MIT */
/* Children that depend on one another by name (depends_on).
 *
 * If one child of a supervisor names others, the supervisor goes by these names instead of the
 * order of its list. It has no plan then: after each event it looks at all its children, stops
 * those that are to stop and can, and starts those that are to run and can. So independent branches
 * start and stop at the same time, and a branch that waits delays no other.
 *
 *   N1  a child is started only while each child that it needs is up. A child is up when it runs
 *       and its init is through, or when it has ended well by itself.
 *   N2  a child is asked to stop, because the supervisor closes or another child has failed, only
 *       when no child that needs it, directly or not, has an actor. A child that has ended starts
 *       again only when those that end because of it have ended.
 *   N3  needs[] are children of the same supervisor; a child that is removed is taken out of them,
 *       and one that is added with its name is put into them.
 *   N4  a child that is `down` has an actor, and is to stop because another child has failed.
 *
 * The strategy says which children a failure brings down: none (one_for_one), the running ones that
 * depend on the child, directly or through others that run (rest_for_one), or all (one_for_all). */
#ifndef JZX_SUPER_DEPEND_H
#define JZX_SUPER_DEPEND_H

#include "super/start.h"

/* Finds the children that this one needs. JZX_ERR_NO_SUCH_ACTOR: a name is unknown or its own;
 * JZX_ERR_NO_MEMORY. */
jzx_err jzx__depend_link(struct jzx__child *child);

/* It was added later, and is linked: those that have its name in depends_on, which a child that was
 * removed has had, need it. JZX_ERR_INVALID_ARG: it needs one of them, directly or not. */
jzx_err jzx__depend_adopt(struct jzx__child *child);

/* Its memory alone; no child needs it any more, or all are freed. */
void jzx__depend_unlink(struct jzx__child *child);

/* The child is about to be removed (N3). */
void jzx__depend_forget(const struct jzx__child *child);

/* The child has failed, and will be started again: marks those that are to stop before (N4). */
void jzx__depend_fail(const struct jzx__child *child);

/* Does all steps that can be done now. */
void jzx__depend_progress(struct jzx__super_turn *turn);

#endif
