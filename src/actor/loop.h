/* SPDX-License-Identifier: MIT */
/* struct jzx_loop: a scheduler, a table of actors and an observer. The loop layer creates and
 * drives it; the actor layer works inside it. */
#ifndef JZX_ACTOR_LOOP_H
#define JZX_ACTOR_LOOP_H

#include "actor/line.h"
#include "actor/table.h"
#include "actor/urgents.h"
#include "observe/observer.h"
#include "sched/sched.h"

#include "jzx/loop.h"

/* The feeds that the layers above the scheduler add (sched/feed.h). */
enum {
    JZX__FEED_CALLS = JZX__FEED_OWN_COUNT, /* functions to call on worker 0's thread */
    JZX__FEED_TIMER_MAIL,                  /* timers that other threads have set or cancelled */
    JZX__FEED_OP_MAIL,                     /* operations that were brought to a worker (op.h) */
    JZX__FEED_SCHEDULE,                    /* a look at the scheduler API, at worker 0 */
    JZX__FEED_PROBES,                      /* the search for a deadlock (fiber/deadlock.h) */
    JZX__FEED_MANUAL,                      /* turns of manual actors (typed/manual.h) */
    JZX__FEED_COUNT
};

/* What the actor layer keeps per worker. */
struct jzx__actor_worker {
    struct jzx__worker worker;
    struct jzx__slot_cache slots;
    void *parts[JZX__PART_COUNT]; /* what the parts keep per worker, see part.h; NULL: nothing */
    uint64_t refs;                /* references that were made on it */
    uint32_t endings;             /* actors of it that wait for their parts (part/A3) */

    /* Called when the worker's home thread (crew.h) begins a pass; NULL: nobody waits for that. */
    void (*at_home)(struct jzx__worker *me);
};

/* In jzx_loop.driven. A driver sets its bit, then waits for those that look; from then on nobody
 * begins to look. So looks never make run or step fail, and cannot hold them up for ever. */
#define JZX__DRIVEN 1u
#define JZX__LOOK 2u
#define JZX__BRIEF 0x80000000u /* with DRIVEN: soon over, so that another driver waits for it */

struct jzx_loop {
    size_t inline_end; /* shorter payloads travel in a block of the smallest class: JZX_MSG_INLINE
                        * + 1; 0 if a block is checked or stamped (message.h) */
    struct jzx__table table;
    struct jzx__sched sched;
    struct jzx__observer observer;
    const struct jzx__part_ops *const *part_ops; /* jzx__part_table, by enum jzx__part */
    const struct jzx__kind_ops *const *kinds;    /* jzx__kinds, by enum jzx__kind */
    void *parts[JZX__PART_COUNT];                /* what the parts keep per loop; NULL: nothing */
    struct jzx__lines lines;                     /* of senders that wait for room */
    struct jzx__urgents urgents;                 /* urgent messages that wait for their actors */
    uint32_t default_mailbox_cap;
    _Atomic uint64_t refs;         /* references that were made without a worker */
    size_t default_heap_quota;     /* 0: unlimited */
    _Atomic uint64_t left_at_stop; /* messages that a gentle stop has left unhandled; a gauge */
    uint32_t calls_max;
    uint32_t forks; /* jzx__fork_count when it was created: in a child it is another */
    jzx_on_wait on_wait;
    jzx_on_stall on_stall;
    bool checks;              /* its blocks are checked (message.h), */
    bool stamps;              /* and stamped */
    struct jzx__owned *owned; /* buffers of callers (owned.h); NULL: nobody tracks them */
    uint32_t short_class;     /* of a block for a short payload, for W6 (order.h) */
    _Atomic uint32_t calls;   /* functions that wait for worker 0. Decides */

    /* The caller's own. */
    bool started; /* the loop start event was sent */
    bool ended;   /* everything was ended and the loop stop event was sent */

    struct jzx__seat seat;    /* of who drives it outside of run; dumps may look at it any time */
    _Atomic uint32_t driven;  /* JZX__DRIVEN while a thread is inside run, step, ...; and how many
                               * look while none is, each JZX__LOOK. Decides */
    _Atomic uint32_t running; /* 1 while run has threads at work: nobody sets the observer then */
};

static inline struct jzx_loop *jzx__loop_of(struct jzx__worker *worker) {
    return JZX_CONTAINER_OF(worker->sched, struct jzx_loop, sched);
}

static inline struct jzx__actor_worker *jzx__actor_worker_of(struct jzx__worker *worker) {
    return JZX_CONTAINER_OF(worker, struct jzx__actor_worker, worker);
}

static inline struct jzx__slot_cache *jzx__slots_of(struct jzx__worker *worker) {
    return &jzx__actor_worker_of(worker)->slots;
}

/* A number that no other call in this loop gives: for monitors, and what else needs one. me may be
 * NULL. */
uint64_t jzx__loop_new_ref(struct jzx_loop *loop, struct jzx__worker *me);

/* The worker that this thread drives if it is one of loop's, else NULL: a foreign thread. The
 * visit must be ended (sched/seat.h). */
static inline struct jzx__worker *jzx__loop_visit(const struct jzx_loop *loop,
                                                  struct jzx__visit *visit) {
    struct jzx__worker *me = jzx__visit_begin(visit);
    return me != NULL && me->sched == &loop->sched ? me : NULL;
}

/* Becoming the thread that drives the loop, also from inside (then nothing changes): it sits down
 * at worker 0. False if another thread is. leave() undoes the last enter(). */
struct jzx__drive {
    struct jzx__seat *seat;  /* the loop's, if not nested */
    struct jzx__visit visit; /* if nested */
    struct jzx__worker *me;  /* worker 0, or, if nested, the worker of this thread */
    bool nested;
};

bool jzx__loop_enter(struct jzx_loop *loop, struct jzx__drive *drive);

/* The same for a moment: other threads that want to drive the loop wait for the leave, and are not
 * told that it is busy. */
bool jzx__loop_enter_briefly(struct jzx_loop *loop, struct jzx__drive *drive);

/* While no worker has a thread: takes in, for every worker, what others have made ready. */
void jzx__loop_take_in_all(struct jzx_loop *loop, struct jzx__seat *seat);
void jzx__loop_leave(struct jzx_loop *loop, const struct jzx__drive *drive);

/* Keeps the loop at rest, so that the private sides of its workers and actors may be read; it calls
 * nobody and ends soon. False if a thread drives the loop. Any thread, in a visit (S4 of seat.h).
 */
bool jzx__loop_look_begin(struct jzx_loop *loop);
void jzx__loop_look_end(struct jzx_loop *loop);

/* Shows the event to the observer, if there is one, inside the bracket (S3 of seat.h). */
void jzx__loop_emit(struct jzx_loop *loop, const jzx_event *event);

/* Whose turn a worker is in, and with which message (tag may be NULL), or JZX_NOBODY. Any
 * thread. */
jzx_actor_id jzx__loop_running_on(const struct jzx_loop *loop, uint32_t worker, uint32_t *tag);

/* Adds to a counter of the calling thread: plain on the worker, shared elsewhere. */
#define jzx__loop_count(loop, me, name)                                                            \
    ((me) != NULL                                                                                  \
         ? jzx__counter_add(&(me)->counters.name, 1)                                               \
         : jzx__counter_add_shared(&jzx__sched_foreign(&(loop)->sched)->counters.name, 1))

#endif
