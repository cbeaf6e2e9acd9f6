/* SPDX-License-Identifier: MIT */
/* Kinds of actors. A behaviour, the common kind, is called by the pass itself for each message. Any
 * other kind (a fiber, a process) runs its own turn: its actor has JZX__CARE_KIND for life, so that
 * the turn attends to it before each message, sees to requests, the init and the mailbox as for
 * every actor, and then leaves the rest of the turn to the kind. The table is in loop/parts.c. */
#ifndef JZX_ACTOR_KIND_H
#define JZX_ACTOR_KIND_H

#include "actor/actor.h"

/* What became of a turn. */
enum jzx__fate {
    JZX__FATE_GOES_ON, /* there may be something to handle */
    JZX__FATE_AGAIN,   /* the kind's code has run: all is looked at anew, requests as well */
    JZX__FATE_OVER,    /* the actor idles, waits for its next turn, has moved away, or has ended */
    JZX__FATE_LOST     /* the thread has lost its worker; the turn is the worker's to take back */
};

struct jzx__kind_ops {
    /* The turn of an actor of this kind, as far as it gets; never GOES_ON. Requests, the init and
     * the bound were seen to; what is in the mailbox, and the end of an actor that drains, are the
     * kind's own. Inside the bracket. */
    enum jzx__fate (*turn)(struct jzx__worker *me, struct jzx__turn *turn);
    /* An actor to come has options that name the kind: fills its cold record. False without memory,
     * and unmake undoes it if the actor is not made after all. Both may be NULL. */
    bool (*make)(struct jzx_loop *loop, struct jzx__cold *cold, const jzx_spawn_opts *opts);
    void (*unmake)(struct jzx_loop *loop, struct jzx__cold *cold);
    /* Somebody else than the kind has taken a node out of the private list, or put some first. May
     * be NULL, as what follows. Owner only. */
    void (*list_changed)(struct jzx__actor *actor);
    /* The rest is for kinds that bring turns of their own (turn->kind); else NULL. */
    /* jzx_exit was called in such a turn, which says how: leaves its code, and does not return. */
    void (*exit)(struct jzx__turn *turn);
    /* A fault has led out of its code, onto the stack of the pass. The actor ends after this. */
    void (*landed)(struct jzx__turn *turn);
    /* It went on without the worker, and is over: the actor goes on from there, unless it exits. */
    void (*take_back)(struct jzx__worker *me, struct jzx__turn *turn);
};

/* By enum jzx__kind; NULL for behaviours. */
extern const struct jzx__kind_ops *const jzx__kinds[JZX__KIND_COUNT];

extern const struct jzx__kind_ops jzx__kind_fiber;
extern const struct jzx__kind_ops jzx__kind_async;
extern const struct jzx__kind_ops jzx__kind_manual;
extern const struct jzx__kind_ops jzx__kind_process;

#endif
