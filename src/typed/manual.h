/* SPDX-License-Identifier: MIT */
/* Manual actors: the kind of actor that a thread of the program polls.
 *
 * A manual actor has an owner, a worker, as every actor; that worker files what comes, keeps its
 * timers and ends it. But its turn is **away** (JZX__AWAY) for as long as it lives, as the turn of
 * a thread that has lost its worker is: what is sent to it waits, and nothing makes it ready. The
 * thread that polls it handles messages in that turn, on a seat without a worker. When it has none
 * left it **gives** the turn to the worker, which takes it back by the path of all lost turns
 * (jzx__actor_take_back), obeys requests, looks at what waits, and hands the turn over again with
 * the next **batch**: up to JZX__BATCH_MAX plain messages, or one of another lane, which is begun
 * by then.
 *
 *   G1  phase says whose the turn is, and with it the record but for phase and refs: the poller's
 *       in WITH_POLLER and HANDLING, the worker's else. Each edge is one exchange or a store of the
 *       side that has it:
 *           WITH_WORKER -> WITH_POLLER   hand_over, the worker
 *           WITH_POLLER -> HANDLING      begin, the poller; rest is the way back
 *           HANDLING    -> GIVEN         give, the poller
 *           GIVEN       -> WITH_WORKER   the worker takes the request, or ends the actor
 *           WITH_POLLER -> WITH_WORKER   the worker ends the actor: the end of the loop
 *           WITH_WORKER -> ENDED         release
 *   G2  an actor that is to end while a handler runs waits for that: only the end of a loop can
 *       find it so.
 *   G3  who waits for an edge sleeps on phase, and every edge that somebody may wait for wakes one:
 *       the poller waits in GIVEN and WITH_WORKER, the worker in HANDLING, never both at once.
 *   G4  the record lives as long as the handle, the actor, or a request in the worker's feed.
 *   G5  an actor whose handle was given up (is_left) has nobody to handle its messages: the worker
 *       ends it when it has the turn, whatever it traps, and a handler that returns gives it that.
 */
#ifndef JZX_TYPED_MANUAL_H
#define JZX_TYPED_MANUAL_H

#include "actor/loop.h"
#include "sched/feed.h"
#include "sched/seat.h"

#include "jzx/manual.h"

/* Messages that a poller has at once. They do not count against mailbox_cap any more. */
#define JZX__BATCH_MAX 64u

enum jzx__manual_phase {
    JZX__WITH_WORKER,
    JZX__WITH_POLLER,
    JZX__HANDLING,
    JZX__GIVEN,
    JZX__MANUAL_ENDED
};

struct jzx_manual {
    _Atomic uint32_t phase;   /* G1. Decides */
    _Atomic uint32_t refs;    /* G4. Decides */
    _Atomic uint32_t is_left; /* G5. Decides */
    struct jzx_loop *loop;
    jzx_allocator allocator; /* of the loop, which may be gone before the handle */
    jzx_actor_id id;
    struct jzx__actor *actor;
    struct jzx__worker *worker; /* its owner, for life */
    jzx_init_fn init;           /* due, or NULL */
    struct jzx__mpsc_node request;
    struct jzx__node *batch; /* oldest first */
    struct jzx__node *batch_last;
    size_t batch_count; /* when it was made */
    struct jzx__turn turn;
    struct jzx__seat seat; /* of the poller, while a handler runs */
};

/* What a poller finds. */
enum jzx__manual_look {
    JZX__MANUAL_HAS,   /* a message to handle, or the init */
    JZX__MANUAL_NONE,  /* nothing is left of the batch */
    JZX__MANUAL_WANTED /* somebody wants it to end, or to be looked at by its worker */
};

/* What has become of it. */
enum jzx__manual_fate {
    JZX__MANUAL_STARTED, /* the init has run */
    JZX__MANUAL_HANDLED,
    JZX__MANUAL_LEFT /* likewise, and the actor ends by it */
};

static inline uint32_t jzx__manual_phase(struct jzx_manual *manual) {
    /* acquire: pairs with the release of the edges; the record is as the other side left it */
    return jzx__atomic_load_acquire(&manual->phase);
}

/* ---- the poller, in WITH_POLLER and HANDLING ---- */

/* False: it is not WITH_POLLER any more. */
bool jzx__manual_begin(struct jzx_manual *manual);
void jzx__manual_rest(struct jzx_manual *manual);
enum jzx__manual_look jzx__manual_look(struct jzx_manual *manual);

/* Runs the init, or handles one message, on this thread. The phase is WITH_POLLER then, or GIVEN if
 * the worker has to see to something. */
enum jzx__manual_fate jzx__manual_handle(struct jzx_manual *manual);

/* From HANDLING to GIVEN, with what is left of the batch. The worker may sleep: who does not drive
 * the loop itself next calls it. */
void jzx__manual_give(struct jzx_manual *manual);
void jzx__manual_call(struct jzx_manual *manual);

/* Sleeps until the phase may have changed, for a millisecond at most: whoever drives the loop may
 * leave it without having taken the request. */
void jzx__manual_wait(struct jzx_manual *manual);

/* Nobody will poll it any more (G5). */
void jzx__manual_leave(struct jzx_manual *manual);

void jzx__manual_ref(struct jzx_manual *manual);
void jzx__manual_unref(struct jzx_manual *manual);

/* ---- the worker ---- */

/* The feed by which turns are given. */
extern const struct jzx__feed_ops jzx__manual_feed;

/* Takes all that are given. Owner only. */
void jzx__manual_take(struct jzx__worker *me, uint32_t max);

#endif
