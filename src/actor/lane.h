/* SPDX-License-Identifier: MIT */
/* Lanes: the kinds of nodes that a mailbox holds, and what is done with each.
 *
 * Messages of users and of the runtime are plain: they are appended, handled and released by the
 * turn itself, without a look at this table. A node of any other lane belongs to a part of the
 * library (timers, watches, questions), which supplies the operations of its lane; the table that
 * brings them together is in loop/parts.c. An operation that is NULL does what a plain message
 * needs.
 *
 *   L1  file never calls out, and never changes the private list itself: the order of what comes
 *       out of an inbox is the order in which it went in (mailbox/B3).
 *   L2  begin may find its node anywhere in the private list, not only at the head: a receiver may
 *       have skipped what is in front of it.
 *   L3  a node is buried once, by who finds that it will reach no actor. */
#ifndef JZX_ACTOR_LANE_H
#define JZX_ACTOR_LANE_H

#include "actor/actor.h"

struct jzx__message;

/* node.lane */
enum jzx__lane {
    JZX__LANE_USER,     /* 0, as jzx__node_init_plain writes it */
    JZX__LANE_RUNTIME,  /* never refused and not counted, but in order with user messages */
    JZX__LANE_ROOM,     /* a request for room: becomes a waiter when it is filed. From here on a
                        * node has operations */
    JZX__LANE_TIMER,    /* a timer's, as one of the runtime; see timer.h for what else it may be */
    JZX__LANE_DEADLINE, /* likewise, that of a question; see ask.h, also for the next */
    JZX__LANE_ANSWER,   /* as one of the runtime, until it was looked at */
    JZX__LANE_WATCH,    /* see watch.h, both */
    JZX__LANE_LEAVE,
    JZX__LANE_DOWN,  /* tells of who was asked; see ask.h */
    JZX__LANE_GROUP, /* tells a subscriber of a group; see groups.h */
    JZX__LANE_OP,    /* the result of an operation, as one of the runtime; see op.h */
    JZX__LANE_IO,    /* see watch_fd.h, both */
    JZX__LANE_IO_ASK,
    JZX__LANE_JOB,        /* of a job of the scheduler API; see schedule/item.h */
    JZX__LANE_URGENT,     /* overtakes all others; see urgent.h */
    JZX__LANE_FILE,       /* brings a file to its new owner; see file/file.h */
    JZX__LANE_SOCKET_ASK, /* see net/socket.h */
    JZX__LANE_STREAM,     /* data of an active stream, as one of the runtime; see net/active.h */
    JZX__LANE_DATAGRAM,   /* likewise the last of a batch; see net/udp_active.h */
    JZX__LANE_COUNT
};

/* What became of a node that came out of the inbox. */
enum jzx__filed {
    JZX__FILED_KEEP,  /* it goes into the private list, and is looked at before it is handled */
    JZX__FILED_TAKEN, /* it is not the mailbox's any more */
    JZX__FILED_DEFER, /* its actor's turn goes on without a worker: to be filed after that */
    JZX__FILED_VAIN   /* it will reach nobody, and is buried when all others are filed */
};

/* What became of a node that would be handled next. */
enum jzx__look {
    JZX__LOOK_HANDLE, /* it is a message for the behaviour */
    JZX__LOOK_GONE,   /* it is not in the list any more: look at the next */
    JZX__LOOK_AGAIN,  /* likewise, and user code has run: look at all again */
    JZX__LOOK_ENDED   /* the actor has ended by it */
};

/* Where a node is in the private list of its actor. */
struct jzx__spot {
    struct jzx__actor *actor;
    struct jzx__node *before; /* the node in front of it; NULL: it is the head */
    struct jzx__node *node;
};

/* The actor that a node was for and does not reach. */
struct jzx__addressee {
    jzx_actor_id id;
    const char *name;                 /* NULL: not known */
    struct jzx__cold *cold;           /* if it is ending: its record, or NULL */
    const struct jzx__ending *ending; /* if it is ending: how; else NULL */
};

struct jzx__lane_ops {
    /* It came out of the inbox, for an actor of its generation. Owner only. */
    enum jzx__filed (*file)(struct jzx__worker *me, struct jzx__actor *actor,
                            struct jzx__node *node);
    /* It is the next to be handled. On HANDLE it is still in the list. Owner only. */
    enum jzx__look (*begin)(struct jzx__worker *me, const struct jzx__spot *at);
    /* It will reach no actor (L3): on the driving thread. */
    void (*bury)(struct jzx__worker *me, struct jzx__node *node, const struct jzx__addressee *to);
    /* It was handled, or will never be: on the worker only, even in a turn that went on without it,
     * which leaves it to the worker. */
    void (*release)(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message);
    /* Its payload is to be the receiver's own. False: it cannot. me is NULL in a turn that has lost
     * its worker. */
    bool (*take)(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message);
    /* It was being handled by the actor with that record, and is put aside. */
    void (*stash)(struct jzx__cold *cold, struct jzx__message *message);
};

extern const struct jzx__lane_ops *const jzx__lanes[JZX__LANE_COUNT];

/* True if a node is to be looked at before it is handled. */
static inline bool jzx__lane_is_special(uint8_t lane) {
    return lane >= JZX__LANE_ROOM;
}

/* Takes the node out of the list. */
static inline void jzx__spot_remove(const struct jzx__spot *at) {
    struct jzx__cold *cold = jzx__actor_cold(at->actor); /* a node of a lane is never without */
    if (JZX_UNLIKELY(cold->skipped == at->node))
        cold->skipped = at->before; /* mailbox/B6 */
    jzx__task_remove(&at->actor->task, at->before, at->node);
}

static inline const struct jzx__lane_ops *jzx__lane_of(const struct jzx__node *node) {
    JZX_ASSERT(node->lane < JZX__LANE_COUNT);
    return jzx__lanes[node->lane];
}

/* The operations of the parts; each is named after its lane. */
extern const struct jzx__lane_ops jzx__lane_plain;
extern const struct jzx__lane_ops jzx__lane_room;       /* mailbox.c */
extern const struct jzx__lane_ops jzx__lane_timer;      /* timer.c */
extern const struct jzx__lane_ops jzx__lane_deadline;   /* ask.c */
extern const struct jzx__lane_ops jzx__lane_answer;     /* ask.c */
extern const struct jzx__lane_ops jzx__lane_watch;      /* watch.c, for both of its lanes */
extern const struct jzx__lane_ops jzx__lane_down;       /* ask.c */
extern const struct jzx__lane_ops jzx__lane_group;      /* groups.c */
extern const struct jzx__lane_ops jzx__lane_op;         /* op.c */
extern const struct jzx__lane_ops jzx__lane_io;         /* watch_fd.c, for both of its lanes */
extern const struct jzx__lane_ops jzx__lane_job;        /* schedule/item.c */
extern const struct jzx__lane_ops jzx__lane_urgent;     /* urgent.c */
extern const struct jzx__lane_ops jzx__lane_file;       /* file/file.c */
extern const struct jzx__lane_ops jzx__lane_socket_ask; /* socket.c */
extern const struct jzx__lane_ops jzx__lane_stream;     /* active.c */
extern const struct jzx__lane_ops jzx__lane_datagram;   /* udp_active.c */

#endif
