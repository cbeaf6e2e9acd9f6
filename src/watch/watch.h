/* SPDX-License-Identifier: MIT */
/* Who hears of whose end: monitors, links, questions, and the bond between a supervisor and its
 * children.
 *
 * A **watch** stands between a **holder**, who is to hear, and a **target**. It is one record with
 * two messages in it: one goes to the target to be listed there and comes back as the notice of its
 * end; the other follows the first if the holder lets go. So whatever happens later needs no
 * memory.
 *
 *   Z1  the holder's side (its watches) is touched in the holder's turn and at its end; the
 *       target's (its watchers) in the target's turn, at its end, or by the thread that owns the
 *       target while no turn of it runs. A turn that has lost its worker is a turn all the same.
 *   Z2  the phase goes ASKED -> LISTED -> FIRED, by an exchange on the state word. ASKED and FIRED:
 *       the block is on its way, and who takes it in does the next step.
 *   Z3  LET_GO is set once, by the holder: from then on it hears nothing. If the target has listed
 *       the watch, the second message is on its way then, or the holder does the target's part
 *       (Z1).
 *   Z4  a watch is freed when neither side has it and nothing is on its way: LOST says that the
 *       notice will not arrive or that the target has forgotten one that was let go, RETURNED that
 *       the second message could not be sent; who comes second frees it.
 *   Z5  a holder that ends lets go of all before its mailbox is buried, so that a notice which
 *       reaches no holder was let go of.
 *       One that was handled as a message and stashed is held again, so that it can be let go of.
 *   Z6  notices go out after the cleanup, by the ordinary way of messages: what the dead actor sent
 *       before comes before.
 *   Z7  the watch of a question (ASK) whose message a successor is to have goes with the message,
 *       if it was not let go of: it is in no list meanwhile, then in the successor's. Its target
 *       stays stale for the holder, who lets go of it as of any that has ended (RETURNED).
 *
 * A link is two watches, one each way, with the same number in their notices. The one that asks
 * brings the other along (peer).
 *
 * Rejected: a lock per actor (an exit would have to take it to learn that nobody watches, and an
 * exit without watchers has no atomic operation to spare); one list at the holder only (a dead
 * target would have to be searched for). */
#ifndef JZX_WATCH_WATCH_H
#define JZX_WATCH_WATCH_H

#include "actor/message.h"
#include "actor/part.h"
#include "actor/spawn.h"

#include "jzx/exit.h"

enum jzx__watch_kind {
    JZX__WATCH_MONITOR,
    JZX__WATCH_LINK,
    JZX__WATCH_CHILD,  /* held by a supervisor */
    JZX__WATCH_PARENT, /* held by a child: its supervisor's end is its own */
    JZX__WATCH_ASK     /* held by a question of the holder's, of lane DOWN: see ask/ask.h */
};

/* The state word: a phase, and what has happened. */
#define JZX__WATCH_PHASE 0x03u
#define JZX__WATCH_ASKED 0x00u
#define JZX__WATCH_LISTED 0x01u
#define JZX__WATCH_FIRED 0x02u
#define JZX__WATCH_LET_GO 0x04u
#define JZX__WATCH_UNLINKED 0x08u /* with LET_GO: by jzx_unlink, not by the holder's end */
#define JZX__WATCH_LOST 0x10u
#define JZX__WATCH_RETURNED 0x20u

struct jzx__watch {
    /* The notice, a message from the target; before that, what asks the target to list it. */
    _Alignas(JZX_CACHE_LINE) char block[2 * JZX_CACHE_LINE];

    _Alignas(JZX_CACHE_LINE) struct jzx__node leave; /* the second message */
    struct jzx__link at_target;                      /* the target's, from LISTED on */
    struct jzx__link at_holder;                      /* the holder's */
    jzx_actor_id holder;
    _Atomic uint32_t state; /* Decides */
    uint8_t kind;           /* enum jzx__watch_kind */
    bool is_held;           /* in the holder's list; the holder's, as the next */
    bool is_told;           /* the holder has seen the notice as a message: it may be stashed */

    union {
        struct jzx__watch *peer; /* LINK, ASKED: held by the target, of the holder's end */
        void *child;             /* CHILD: the supervisor's own, which does not move */
    };
    struct jzx__cold *spare; /* of one that is ASKED: for a target that needs it (part.h) */
    struct jzx__node *kept;  /* CHILD, FIRED: the user messages that its target had not handled */
    struct jzx__node *kept_last;
};

/* What an actor has of watches: its part. */
struct jzx__actor_watches {
    struct jzx__list watchers; /* that are to hear of its end; that of a supervisor is the first */
    struct jzx__list watches;  /* whose end it is to hear of */
};

_Static_assert(sizeof(struct jzx__actor_watches) <= JZX__BLOCK_SIZE_MIN, "fits JZX__PART_CLASS");

/* Of an actor that has it: who holds or is watched. */
static inline struct jzx__actor_watches *jzx__watches_of(const struct jzx__cold *cold) {
    return jzx__cold_part(cold, JZX__PART_WATCH);
}

#define JZX__WATCH_CLASS 2u
_Static_assert(sizeof(struct jzx__watch) == (size_t)JZX__BLOCK_SIZE_MIN << JZX__WATCH_CLASS,
               "fills its class: who takes the notice frees the record");
_Static_assert(sizeof(struct jzx__message) + sizeof(jzx_exit_notice) == 2 * JZX_CACHE_LINE, "fits");

static inline struct jzx__message *jzx__watch_message(struct jzx__watch *watch) {
    return (void *)watch->block;
}

static inline jzx_exit_notice *jzx__watch_notice(struct jzx__watch *watch) {
    return (void *)jzx__watch_message(watch)->payload;
}

/* True for a notice that its holder has seen as a message. A node of lane WATCH; the holder. */
bool jzx__watch_was_told(struct jzx__node *node);

/* True if the node comes back to its holder; else it goes to the target, to be listed. Of a watch
 * that is on its way; who has it in a mailbox. */
bool jzx__watch_has_fired(struct jzx__node *node);

/* A watch of which nobody knows; NULL without memory. */
struct jzx__watch *jzx__watch_create(struct jzx_loop *loop, struct jzx__worker *me,
                                     enum jzx__watch_kind kind, jzx_actor_id holder,
                                     jzx_actor_id target);

/* For one that nobody has (any more), its kept messages included. me may be NULL. */
void jzx__watch_destroy(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch);

/* The record of an actor of mine, or of the turn that this thread runs, and with it the cold one.
 * NULL without memory. */
struct jzx__actor_watches *jzx__watches_ensure(struct jzx_loop *loop, struct jzx__worker *me,
                                               struct jzx__actor *actor);

/* The holder's part of making it, in its turn. It has its record. */
void jzx__watch_hold(struct jzx__cold *holder, struct jzx__watch *watch);

/* The target's part, by who may do it (Z1). */
void jzx__watch_list(struct jzx__cold *target, struct jzx__watch *watch);

/* Undoes hold and create, for one that could not be asked for. */
void jzx__watch_forget(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch);

/* How watches are the bonds of an actor to come (actor/spawn.h). */
extern const struct jzx__bond_ops jzx__watch_bonds;

/* The actor was not made: frees the watches, which their maker had held and listed. */
void jzx__bonds_forget(struct jzx_loop *loop, struct jzx__worker *me,
                       const struct jzx__bonds *bonds);

/* Has it listed by its target, with its peer if it has one. On an error nothing has happened. */
jzx_err jzx__watch_ask(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch);

/* The same for a target that was just looked up. */
jzx_err jzx__watch_ask_found(struct jzx_loop *loop, struct jzx__worker *me,
                             struct jzx__actor *target, struct jzx__watch *watch);

/* The holder wants to hear nothing any more (Z3); flags: UNLINKED or 0. me may be NULL. */
void jzx__watch_let_go(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch,
                       uint32_t flags);

#endif
