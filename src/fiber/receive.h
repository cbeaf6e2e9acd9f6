/* SPDX-License-Identifier: MIT */
/* The mailbox of a fiber: looking for a message, by the fiber's own code or by its owner. */
#ifndef JZX_FIBER_RECEIVE_H
#define JZX_FIBER_RECEIVE_H

#include "fiber/fiber.h"

enum jzx__scan {
    JZX__SCAN_FOUND, /* in fiber->found, out of the mailbox */
    JZX__SCAN_NONE,  /* all that has come was looked at */
    JZX__SCAN_SPENT, /* there is one, but the turn is over */
    JZX__SCAN_STOP,  /* a node that only the thread's stack may look at; or callbacks have run */
    JZX__SCAN_ENDED  /* the actor has ended; not on the fiber's stack */
};

/* The filter of the next wish; keeps the cursor if it was set for the same. */
void jzx__fiber_set_filter(struct jzx__fiber *fiber, const struct jzx__filter *filter);

/* Looks for what the filter takes, in what has come. The owner's thread. */
enum jzx__scan jzx__fiber_scan(struct jzx__worker *me, struct jzx__fiber *fiber, bool on_thread);

/* Looks only at what may end the actor: NONE, STOP or ENDED. On the thread's stack. */
enum jzx__scan jzx__fiber_judge(struct jzx__worker *me, struct jzx__fiber *fiber);

/* True if what a call of the fiber waits for is in the private list. Owner only. */
bool jzx__fiber_has_match(const struct jzx__fiber *fiber);

/* True if there are messages that the filter was not asked about. */
bool jzx__fiber_has_unmatched(const struct jzx__fiber *fiber);

/* Gives the message in hand back, if there is one. The owner's thread. */
void jzx__fiber_drop_current(struct jzx__worker *me, struct jzx__fiber *fiber);

/* Others have changed the private list (V6). Owner only. */
void jzx__fiber_forget_cursors(struct jzx__actor *actor);

#endif
