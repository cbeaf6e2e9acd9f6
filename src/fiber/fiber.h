/* SPDX-License-Identifier: MIT */
/* Fibers: the kind of actor that has a stack of its own.
 *
 * A fiber's record lies at the upper end of its stack: its turn with the context that its function
 * gets, what it waits for, and where it goes on. Both are made at its first turn and stay until it
 * has ended. The code of a fiber runs on its stack; the scheduler, and all that may end an actor,
 * on that of the thread. Each call that waits says in the record what it wants (its **wish**) and
 * switches to the thread's stack, if what it wants is not there already; the kind's turn looks at
 * the wish whenever the actor is attended to, and switches back when it is fulfilled.
 *
 *   V1  a fiber switches away inside the bracket and is resumed inside the bracket.
 *   V2  only on the thread's stack is a fiber requeued, idled or ended (R19): or it could run
 *       elsewhere while its stack is in use here, or lose the stack that it runs on.
 *   V3  the record belongs to the fiber's own code while that runs, and else to the owner of the
 *       actor. A fiber whose thread has lost its worker hands it over by jzx__turn_lose.
 *   V4  a fiber that has begun stays on its worker, unless it is migratable, and runs on whichever
 *       thread drives the worker (decision 22). If it is bound to its thread, it runs on the home
 *       thread only (C4 of crew.h). A substitute sets it aside; the home thread makes it ready
 *       again. Before its first turn it is passed to a worker that is at home, and is set aside if
 *       it may not leave or there is none.
 *   V5  its waiter waits (waiter.h: begin to end) only while `waits`: for an event from the call
 *       on, which joins the sources; for a time alone from when the owner arms it. The owner arms
 *       and ends it. While it has a deadline on a wheel, the actor does not leave that worker
 *       (waiter/A7).
 *   V6  up to `passed` no node of the private list matches what was asked for last ({passed_kind,
 *       passed_value}); up to `judged` none is of a lane that may end the actor. Both are nodes of
 *       that list, or NULL: its beginning, and passed is not behind judged. Who else takes out a
 *       node, or puts some first, has both forgotten (jzx__fiber_forget_cursors). */
#ifndef JZX_FIBER_FIBER_H
#define JZX_FIBER_FIBER_H

#include "actor/kind.h"
#include "actor/message.h"
#include "actor/part.h"
#include "actor/share.h"
#include "base/stack.h"
#include "base/switch.h"
#include "base/switch_side.h"
#include "fiber/deadlock.h"
#include "sched/waiter.h"

#include "jzx/fiber.h"

/* What a suspended fiber wants. */
enum jzx__wish {
    JZX__WISH_RUN,     /* to go on */
    JZX__WISH_TURN,    /* to go on when others had their turn */
    JZX__WISH_MESSAGE, /* one that its filter takes, or its deadline */
    JZX__WISH_TIME,    /* its deadline */
    JZX__WISH_EVENT,   /* what one of its sources has, or its deadline */
    JZX__WISH_END      /* its function has returned */
};

/* Which messages are wanted. */
enum jzx__filter_kind {
    JZX__FILTER_NONE,
    JZX__FILTER_ANY,
    JZX__FILTER_TAG, /* these three have a cursor, see V6 */
    JZX__FILTER_SENDER,
    JZX__FILTER_MATCH,
    JZX__FILTER_CALL, /* these are for calls of the fiber itself: what a question has come to, */
    JZX__FILTER_JOIN  /* the end of an actor */
};

struct jzx__filter {
    enum jzx__filter_kind kind;
    uint64_t value;  /* tag, sender, reference of a question or of a monitor */
    uint64_t object; /* for dumps: the tag, or whom it concerns */
    jzx_match_fn fn;
    void *arg;
};

/* What is waited for at sources, in the frame of the call. Link i has the index i. */
struct jzx__event {
    jzx_wait_kind kind; /* for dumps, as the next */
    uint64_t object;
    struct jzx__wait_link *links;
    uint32_t count;
    jzx_actor_id (*holder)(uint64_t object); /* who has it now, or JZX_NOBODY; may be NULL */
    bool is_firm; /* neither a limit nor that the actor drains ends the wait */
};

/* A result of jzx__fiber_wait: there are messages that the fiber itself has to look at. */
#define JZX__FIBER_LOOK ((jzx_err)1)

struct jzx__fiber {
    struct jzx__turn turn;            /* first: its context is that of the function */
    void *point;                      /* where it goes on, while it is suspended */
    void *thread_point;               /* where its thread does, while it runs */
    struct jzx__worker *worker;       /* that runs it */
    const struct jzx__filter *filter; /* of the wish for a message, in the frame of the call */
    const struct jzx__event *event;   /* of the wish for one, as well */
    struct jzx__node *judged;         /* V6, as what follows */
    struct jzx__node *passed;
    enum jzx__filter_kind passed_kind; /* which passed is for */
    uint64_t passed_value;
    uint32_t changes;           /* how often the cursors were forgotten */
    jzx_err result;             /* of the wish */
    uint32_t cause;             /* of the end of its waiter's last wait */
    struct jzx__message *found; /* by the wish */
    struct jzx__message *kept;  /* turn.current, while the turn is taken back */
    uint64_t deadline_ns;       /* of the wish */
    uint64_t limit_ns;          /* no wait goes on after that: of an open scope, or JZX_NEVER */
    uint8_t wish;               /* enum jzx__wish */
    bool waits;                 /* V5, as the next */
    bool armed;
    bool is_lost;    /* it was suspended without its worker */
    bool has_looked; /* the fiber itself has found nothing, just before it was suspended */
    bool is_pinned;  /* V5 */
    bool is_aside;   /* V4 */
    bool is_shown;   /* dumps see its wait */
    struct jzx__fiber *next_aside;
    struct jzx__watched watched; /* see deadlock.h */
    union {
        struct jzx__waiter waiter;
        struct jzx__mortal mortal;
    };
    struct jzx__stack *stack;
    struct jzx__switch_side side;
    struct jzx__switch_side thread_side;
};

static inline struct jzx__fiber *jzx__fiber_of_turn(struct jzx__turn *turn) {
    return JZX_CONTAINER_OF(turn, struct jzx__fiber, turn);
}

/* NULL before its first turn. */
static inline struct jzx__fiber *jzx__fiber_of(const struct jzx__cold *cold) {
    return jzx__cold_part(cold, JZX__PART_FIBER);
}

/* What a worker has of fibers. */
struct jzx__fibers {
    struct jzx__stack_pool stacks;
    struct jzx__fiber *aside; /* V4 */
    struct jzx__deadlock_watch deadlocks;
};

static inline struct jzx__fibers *jzx__fibers_of(struct jzx__worker *worker) {
    return jzx__actor_worker_of(worker)->parts[JZX__PART_FIBER];
}

static inline jzx_message jzx__fiber_view(struct jzx__message *message) {
    return (jzx_message){jzx__message_data(message), message->len, message->tag, message->sender};
}

/* ---- a call that waits, on the fiber's stack ---- */

/* True if this is a fiber's own code, with its own context. */
bool jzx__fiber_may_wait(const jzx_context *ctx);

/* The seat of this thread, looked up afresh (JZX_ACROSS_WAIT). */
struct jzx__seat *jzx__fiber_seat(void);

/* The same as jzx__fiber_may_wait, with the seat of this thread. */
static inline bool jzx__fiber_is_own(const struct jzx__seat *seat, const jzx_context *ctx) {
    const struct jzx__turn *turn = seat->turn;
    return ctx != NULL && (const void *)ctx == turn && turn->kind == &jzx__kind_fiber &&
           !jzx__seat_is_inside(seat);
}

/* The answer of a call that waits to code that may not: does what config.on_wait says, and returns
 * the status if there is one to return. call is its public name. */
JZX_COLD jzx_err jzx__fiber_refuse(const jzx_context *ctx, const char *call);

/* Opens the bracket. NULL if this is no fiber's own code with its own context: that was refused,
 * *err is the status, and there is nothing to end. */
static inline struct jzx__fiber *jzx__fiber_enter(jzx_context *ctx, const char *call,
                                                  jzx_err *err) {
    struct jzx__seat *seat = jzx__fiber_seat();
    if (JZX_UNLIKELY(!jzx__fiber_is_own(seat, ctx))) {
        *err = jzx__fiber_refuse(ctx, call);
        return NULL;
    }
    struct jzx__fiber *fiber = jzx__fiber_of_turn(seat->turn);
    fiber->is_lost = jzx__seat_enter(seat) != fiber->worker;
    return fiber;
}

/* Requests of others, and what its turn has to look at beside its kind. */
static inline bool jzx__fiber_is_wanted(const struct jzx__actor *actor) {
    /* acquire: pairs with the exchange that set a bit */
    uint64_t state = jzx__atomic_load_acquire(&actor->task.state);
    const uint16_t quiet = JZX__CARE_KIND | JZX__CARE_HEAD | JZX__CARE_DRAIN | JZX__CARE_FINISH;
    return (state & JZX__ATTENTION_MASK) != 0 || (actor->task.care & (uint16_t)~quiet) != 0;
}

/* True if the fiber has its worker, and nobody wants anything of the actor. Inside. */
static inline bool jzx__fiber_is_free(const struct jzx__fiber *fiber) {
    return !fiber->is_lost && !jzx__fiber_is_wanted(fiber->turn.actor);
}

/* True if a call may take what it wants at once, without a switch: the fiber is free, and its turn
 * has something left, of which this uses up one. Inside. */
static inline bool jzx__fiber_goes_on(struct jzx__fiber *fiber) {
    if (!jzx__fiber_is_free(fiber) || fiber->worker->budget.left <= 1)
        return false;
    fiber->worker->budget.left--;
    return true;
}

/* The worker of the fiber, or NULL if its thread has lost it. Inside. */
static inline struct jzx__worker *jzx__fiber_worker(const struct jzx__fiber *fiber) {
    return fiber->is_lost ? NULL : fiber->worker;
}

/* Suspends it until its wish is fulfilled, and returns the result of that. Inside, before and
 * after. Inlined, as is what calls it: the processor predicts each return from a function that was
 * called before a switch wrongly. */
JZX_INLINE jzx_err jzx__fiber_wait(struct jzx__fiber *fiber, enum jzx__wish wish,
                                   uint64_t deadline_ns) {
    fiber->wish = (uint8_t)wish;
    fiber->deadline_ns = deadline_ns < fiber->limit_ns ? deadline_ns : fiber->limit_ns;
    jzx__switch_before(&fiber->side, &fiber->thread_side);
    jzx__switch(&fiber->point, fiber->thread_point, NULL);
    jzx__switch_after(&fiber->side, &fiber->thread_side);
    return fiber->result;
}

/* Waits at the sources of the event until one has something, the deadline passes, or the actor
 * drains (JZX__CAUSE_CANCELLED); the cause. What is there already is taken without a switch.
 * Inside, before and after. */
uint32_t jzx__fiber_await(struct jzx__fiber *fiber, const struct jzx__event *event,
                          uint64_t deadline_ns);

/* The same for a wait that has begun, whose link is queued under the lock of its source; or not, as
 * the fiber is doomed. Never AGAIN. */
uint32_t jzx__fiber_await_queued(struct jzx__fiber *fiber, const struct jzx__event *event,
                                 uint64_t deadline_ns);

/* ---- what it waits for; by its owner while it is suspended ---- */

jzx_wait_kind jzx__fiber_wait_kind(const struct jzx__fiber *fiber);

/* The actor that it waits for: who has its lock, is asked, or is to end. JZX_NOBODY: there is none,
 * or that is not known. */
jzx_actor_id jzx__fiber_holder(const struct jzx__fiber *fiber);

/* For dumps. */
void jzx__fiber_show_holder(const struct jzx__fiber *fiber, jzx_actor_id holder);

/* Closes the bracket. */
static inline void jzx__fiber_leave(const struct jzx__fiber *fiber) {
    jzx__seat_leave(fiber->turn.seat, 0);
}

#endif
