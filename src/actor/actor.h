/* SPDX-License-Identifier: MIT */
/* An actor: a task with an id, a mailbox bound, a behaviour and a state; 128 bytes. What most
 * actors do not need (a name, hooks, a stash) is in a cold record of its own. */
#ifndef JZX_ACTOR_ACTOR_H
#define JZX_ACTOR_ACTOR_H

#include "sched/task.h"
#include "sched/worker.h"

#include "jzx/exit.h"

#include <setjmp.h>

struct jzx__ending_kept;
struct jzx__kind_ops;
struct jzx__message;
struct jzx__trap;
struct jzx_loop;

/* Requests in the task's state word (JZX__CONTROL_BITS); the strongest wins. */
#define JZX__WANT_KILL 0x01u
#define JZX__WANT_FAIL 0x02u
#define JZX__WANT_STOP 0x04u
#define JZX__WANT_DRAIN 0x08u
#define JZX__WANT_SHUTDOWN 0x10u
#define JZX__WANT_FINISH 0x20u  /* as DRAIN, and then ends with JZX_EXIT_SHUTDOWN */
#define JZX__WANT_STALLED 0x40u /* as FAIL, with its own text; supervisors do not obey */
#define JZX__WANT_ROOM 0x100u   /* somebody is in line for room (room.h); no end */
#define JZX__WANT_URGENT 0x200u /* urgent messages wait (urgent.h); no end */
#define JZX__WANT_GENTLE (JZX__WANT_DRAIN | JZX__WANT_FINISH)
#define JZX__WANT_END                                                                              \
    (JZX__WANT_KILL | JZX__WANT_FAIL | JZX__WANT_STOP | JZX__WANT_SHUTDOWN | JZX__WANT_STALLED)

/* Slow things that the turn must look at before each message. */
#define JZX__CARE_START 0x01u       /* the init is due */
#define JZX__CARE_ROOM 0x02u        /* somebody waits for room */
#define JZX__CARE_DROP_OLDEST 0x04u /* for life: the inbox may hold more than the bound */
#define JZX__CARE_DRAIN 0x08u       /* ends when the private list is empty */
#define JZX__CARE_ANNOUNCE 0x10u    /* the start event is due */
#define JZX__CARE_WANT 0x20u        /* this thread has set a request bit */
#define JZX__CARE_MOVE 0x40u        /* goes to the worker that it sends to (B4 of balance.c) */
#define JZX__CARE_HEAD 0x80u        /* each message is looked at before it is handled */
#define JZX__CARE_KIND 0x100u       /* for life: its kind runs its turn, see kind.h */
#define JZX__CARE_FINISH 0x200u     /* with DRAIN: it ends with JZX_EXIT_SHUTDOWN */
#define JZX__CARE_LINE 0x400u       /* senders are in line for room (room.h) */
#define JZX__CARE_URGENT 0x800u     /* urgent messages wait (urgent.h) */

/* The fields of the task that are the kind's own: status is a jzx_actor_status, care JZX__CARE_*,
 * on_full a jzx_on_full and perhaps JZX__KEEPS_MAIL, cold a struct jzx__cold or NULL, and waiters
 * who waits for room: the last of a ring, whose next is the first. */
struct jzx__actor {
    struct jzx__task task;
};

/* In task.on_full: as keeps_mail of its cold record, for senders on other threads. */
#define JZX__KEEPS_MAIL 0x80u

_Static_assert(sizeof(struct jzx__actor) == 128, "two cache lines");

/* What runs an actor; see kind.h. */
enum jzx__kind {
    JZX__KIND_BEHAVIOR, /* 0: a function for each message, which the pass calls itself */
    JZX__KIND_FIBER,
    JZX__KIND_PROCESS,
    JZX__KIND_MANUAL,
    JZX__KIND_ASYNC,
    JZX__KIND_COUNT
};

/* What the features of the library keep of an actor, each in a record of its own: see part.h. */
enum jzx__part {
    JZX__PART_HEAP,      /* struct jzx__arena */
    JZX__PART_TIMER,     /* struct jzx__actor_timers */
    JZX__PART_WATCH,     /* struct jzx__actor_watches */
    JZX__PART_ASK,       /* struct jzx__asks */
    JZX__PART_DIRECTORY, /* the first struct jzx__member */
    JZX__PART_SUPER,
    JZX__PART_FIBER,   /* struct jzx__fiber */
    JZX__PART_ASYNC,   /* struct jzx__async */
    JZX__PART_SCOPE,   /* struct jzx__scope_part */
    JZX__PART_OP,      /* struct jzx__actor_ops */
    JZX__PART_IO,      /* struct jzx__actor_io */
    JZX__PART_SYNC,    /* struct jzx__helds */
    JZX__PART_TYPED,   /* struct jzx__instance */
    JZX__PART_MANUAL,  /* struct jzx_manual */
    JZX__PART_PROCESS, /* struct jzx__process */
    JZX__PART_RECORDS, /* how many give actors records; those that follow are of loops only */
    JZX__PART_POOL = JZX__PART_RECORDS,
    JZX__PART_FUTURE,
    JZX__PART_BLOCKING,
    JZX__PART_SCHEDULE,
    JZX__PART_FILE,
    JZX__PART_NET,
    JZX__PART_SUBPROCESS,
    JZX__PART_COUNT
};

/* Made at spawn if the options ask for it, at the first stash, or with the first part. */
struct jzx__cold {
    jzx_init_fn init;
    jzx_cleanup_fn cleanup;
    struct jzx__node *stash_first; /* oldest first */
    struct jzx__node *stash_last;
    uint32_t stash_count;
    uint32_t stash_cap;
    struct jzx__node *deferred; /* filed when its turn is taken back; newest first */
    struct jzx__node *skipped;  /* with drop_oldest: see mailbox/B6 */
    uint64_t heard_ns;          /* when a message of a user was handled last, if it listens */
    uint32_t looks;             /* nodes in the private list that are to be looked at */
    bool listens;               /* somebody wants to know heard_ns */
    bool hears;                 /* one that counts is being handled */
    bool accounts;              /* as the spawn options say */
    bool traps_exits;           /* see watch.h, as what follows */
    bool keeps_mail;            /* its supervisor gets what it has not handled */
    bool is_child;              /* it has one, which stops it when the loop stops */
    bool is_super;              /* it is one: who wants it to end gets stop_note handled */
    uint8_t kind;               /* enum jzx__kind */
    bool is_movable;            /* it is pinned, and may move again then; see pin.h */
    uint8_t pins;               /* likewise */
    bool is_migratable;         /* of a fiber, as what follows: as the spawn options say */
    bool is_thread_bound;       /* or its place does */
    uint32_t stack_size_bytes;
    uint32_t urgent_count;             /* urgent messages in the private list, see urgent.h */
    struct jzx__trap *trap;            /* NULL: it does not trap stops, see trap.h */
    struct jzx__message *stop_note;    /* of a supervisor, until it was needed */
    struct jzx__message *started_note; /* of a child, until its init is through */
    uint64_t steps;                    /* account, as what follows */
    uint64_t started_ns;
    jzx_actor_id parent;
    void *parts[JZX__PART_RECORDS]; /* NULL: none; the turn's, and the owner's while none goes on */

    uint32_t own_bits; /* bit i: parts[i] is there; as parts */

    /* Other threads read these, perhaps of a record that is another's by now. */
    _Atomic uint32_t part_bits; /* own_bits, as a hint */
    _Atomic uint32_t bound;     /* of another kind than behaviours: its mailbox_cap, of which
                             * task.cap may be less (mailbox/B7) */
    _Atomic uint32_t wait_kind; /* jzx_wait_kind: what it waits for in its code */
    _Atomic uint32_t in_hand;   /* of a manual actor: messages that count and that its poller has.
                                 * Written by who has its turn; a gauge */
    _Atomic uint64_t wait_object;
    _Atomic uint64_t wait_since_ns;
    _Atomic uint64_t wait_holder; /* who has that, when the wait began or was looked at last */
    _Atomic uint64_t open_ref;    /* its last question that anybody may answer, or 0 */
    char name[JZX_NAME_MAX + 1];
};

#define JZX__COLD_CLASS JZX__SLAB_RECORD
_Static_assert(sizeof(struct jzx__cold) <= JZX__RECORD_SIZE, "fits its class");
_Static_assert(offsetof(struct jzx__cold, name) >= sizeof(struct jzx__block),
               "a name stays readable");

/* A name is written and read byte by byte, so that a dump on another thread sees nothing worse than
 * a mixture; it looks at the id afterwards. */
static inline void jzx__name_write(struct jzx__cold *cold, const char *name) {
    for (size_t i = 0; i < sizeof cold->name; i++) {
        /* relaxed: see above */
        jzx__byte_store_relaxed(&cold->name[i], name[i]);
        if (name[i] == '\0')
            break;
    }
}

/* Any thread; copy has JZX_NAME_MAX + 1 bytes. */
static inline void jzx__name_read(const struct jzx__actor *actor, char *copy) {
    /* The record may be another actor's by now, but is a record. relaxed: see above */
    const struct jzx__cold *cold =
        jzx__atomic_load_acquire(&actor->task.cold); /* pairs with set_cold */
    for (size_t i = 0; i < JZX_NAME_MAX; i++)
        copy[i] = cold == NULL ? '\0' : jzx__byte_load_relaxed(&cold->name[i]);
    copy[JZX_NAME_MAX] = '\0';
}

/* What the stop_note of a supervisor says. */
struct jzx__stop_order {
    jzx_exit_reason reason;
    bool at_once; /* its children do not work off their queues */
};

/* How an actor has ended; text may be NULL. */
struct jzx__ending {
    jzx_actor_id id;
    jzx_exit_reason reason;
    const char *text;
    const struct jzx__fault *fault; /* by which, or NULL */

    /* Set by a part that has something to do when nothing of the actor is left, or NULL. */
    void (*last)(struct jzx__worker *me, void *arg, const struct jzx__ending *ending);
    void *last_arg;
};

/* The turn that runs: the seat of the thread that runs it points to it. A pass uses one for all its
 * turns, which lies in the seat; a kind of actor whose turn outlives a pass brings its own. When
 * the thread loses its worker in the middle of a turn, the turn is still the thread's: of the actor
 * it may touch the behaviour, the state, the stash and the parts, until it leaves the turn with the
 * worker, which takes it back (jzx__actor_take_back). */
struct jzx__turn {
    jzx_context ctx;
    struct jzx__actor *actor;         /* whose turn it is */
    const struct jzx__kind_ops *kind; /* of whose making it is; NULL: the pass's own */
    struct jzx__seat *seat;           /* of the thread that runs it */
    struct jzx__message *current;     /* being handled; NULL once taken or stashed, and before it is
                                       * released: no other turn or callback finds it (turn/C1) */
    struct jzx__message *answer;      /* of the last jzx_call of a fiber; NULL once taken */
    bool in_init;                     /* it is the init that runs, not the behaviour */
    bool has_stashed;                 /* current was put aside after the worker was lost */
    int os_error;                     /* of the last call that the system has failed, or 0 */

    /* Written when the turn ends without the worker. */
    jzx_behavior_result result;
    jzx_err init_err;
    struct jzx__node *unstashed; /* to go to the head of the mailbox, oldest first */
    struct jzx__node *unstashed_last;
    jzx_behavior_fn become_to;       /* NULL: as before */
    struct jzx__message *unreleased; /* current, if only the worker can release it (lane.h) */
    struct jzx__node *requested;     /* to be filed at the actor itself, newest first */

    /* jzx_exit leaves user code by a jump to where the pass (or the cleanup) was begun. */
    jmp_buf *jump;
    bool exits; /* it has been called, with what follows; not initialised before */
    jzx_exit_reason exit_reason;
    char exit_text[JZX_EXIT_TEXT_MAX + 1];
    const struct jzx__fault *fault; /* of JZX_EXIT_FAULT; in the guard of the thread */
    uintptr_t frame;                /* below that of the function that the jump leads to */
    uintptr_t limit;                /* where the stack begins that its code runs on */
};

_Static_assert(sizeof(struct jzx__turn) <= JZX__SEAT_TURN_SIZE, "has its place in the seat");

#define JZX__SLOT_CACHE_MAX 256u

/* Free slots that a worker has at hand. Small tables keep none, so that max_actors is exact for
 * every thread. */
struct jzx__slot_cache {
    struct jzx__actor *slots[JZX__SLOT_CACHE_MAX];
    uint32_t count;
    uint32_t limit;
};

static inline struct jzx__actor *jzx__actor_of(struct jzx__task *task) {
    return JZX_CONTAINER_OF(task, struct jzx__actor, task);
}

static inline struct jzx__turn *jzx__turn_of(jzx_context *ctx) {
    return JZX_CONTAINER_OF(ctx, struct jzx__turn, ctx);
}

/* Out of the turn's hand, to be released (turn/C1). NULL if there is none. */
static inline struct jzx__message *jzx__turn_put_down(struct jzx__turn *turn) {
    struct jzx__message *message = turn->current;
    turn->current = NULL;
    return message;
}

/* NULL if it has none. */
static inline struct jzx__cold *jzx__actor_cold(const struct jzx__actor *actor) {
    /* acquire: pairs with the release in set_cold, perhaps on a thread that has lost its worker */
    return jzx__atomic_load_acquire(&actor->task.cold);
}

/* Of a slot that is filled or emptied; a living actor is given one. */
static inline void jzx__actor_set_cold(struct jzx__actor *actor, struct jzx__cold *cold) {
    /* release: pairs with the acquire in jzx__actor_cold */
    jzx__atomic_store_release(&actor->task.cold, cold);
}

/* The same for a living actor that may have one. False: it has. The owner, and a thread whose turn
 * has lost its worker, may try at the same time. */
static inline bool jzx__actor_give_cold(struct jzx__actor *actor, struct jzx__cold *cold) {
    void *none = NULL;
    /* release: pairs with the acquire in jzx__actor_cold */
    while (!jzx__atomic_cas_acq_rel(&actor->task.cold, &none, cold)) {
        if (none != NULL)
            return false;
    }
    return true;
}

static inline bool jzx__actor_is_super(const struct jzx__actor *actor) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    return cold != NULL && cold->is_super;
}

/* A request to stop is told it, and not obeyed. */
static inline bool jzx__actor_is_told(const struct jzx__actor *actor) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    return cold != NULL && (cold->is_super || cold->trap != NULL);
}

/* The requests that end it, whatever it does (obey in turn.c). */
static inline uint32_t jzx__actor_fatal(const struct jzx__actor *actor) {
    if (!jzx__actor_is_told(actor))
        return JZX__WANT_END;
    return jzx__actor_is_super(actor) ? JZX__WANT_KILL
                                      : JZX__WANT_END & ~(JZX__WANT_STOP | JZX__WANT_SHUTDOWN);
}

/* NULL if it has none. */
static inline const char *jzx__actor_name(const struct jzx__actor *actor) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    return cold == NULL || cold->name[0] == '\0' ? NULL : cold->name;
}

/* In its cleanup. */
static inline bool jzx__actor_is_ending(const struct jzx__actor *actor) {
    return actor->task.status == JZX_ACTOR_STOPPED || actor->task.status == JZX_ACTOR_FAILED;
}

/* The id of a living actor, or the one to come of a free slot. */
static inline jzx_actor_id jzx__actor_id(const struct jzx__actor *actor) {
    /* relaxed: only the owner changes it */
    return jzx__atomic_load_relaxed(&actor->task.id);
}

/* Both are read by senders of older generations, too: what they decide by an outdated value is
 * undone when their message is taken in. */
static inline uint32_t jzx__actor_cap(const struct jzx__actor *actor) {
    /* relaxed: see above */
    return jzx__atomic_load_relaxed(&actor->task.cap) & ~JZX__CAP_LINE;
}

/* True if senders may be in line for its room. Any thread: a hint, see room.h. */
static inline bool jzx__actor_has_line(const struct jzx__actor *actor) {
    /* relaxed: see above */
    return (jzx__atomic_load_relaxed(&actor->task.cap) & JZX__CAP_LINE) != 0;
}

/* True if so many waiting messages leave no room, or room is not for the next who comes. */
static inline bool jzx__actor_is_tight(const struct jzx__actor *actor, uint32_t waiting) {
    /* relaxed: see above. With a line it is less than 0 */
    return (int32_t)waiting >= (int32_t)jzx__atomic_load_relaxed(&actor->task.cap);
}

/* What its mailbox may hold. Any thread. */
static inline uint32_t jzx__actor_bound(const struct jzx__actor *actor) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    /* relaxed: never changes in a life */
    uint32_t bound = cold == NULL ? 0 : jzx__atomic_load_relaxed(&cold->bound);
    return bound == 0 ? jzx__actor_cap(actor) : bound;
}

static inline jzx_on_full jzx__actor_on_full(const struct jzx__actor *actor) {
    /* relaxed: see above */
    uint32_t policy = jzx__atomic_load_relaxed(&actor->task.on_full);
    return (jzx_on_full)(policy & ~JZX__KEEPS_MAIL);
}

#endif
