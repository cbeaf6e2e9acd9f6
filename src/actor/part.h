/* SPDX-License-Identifier: MIT */
/* Parts: what the features of the library (timers, watches, questions, groups, the heap) keep of an
 * actor, of a worker and of a loop, and what they do at the end of an actor. A part hangs its own
 * record on the actor's cold record, so that a new one adds no field there; its operations are in a
 * table (loop/parts.c), which the making of a loop and the end of an actor walk. An operation that
 * is NULL does nothing (a part whose records stay until the end has release). All but open, close
 * and free_block are the owner's.
 *
 *   A1  a record is given once in a life, and stays until release (that of groups comes and goes).
 *       The records are the turn's, also if that goes on without its worker (JZX__AWAY): until it
 *       is taken back the owner leaves them alone.
 *   A2  at the end of an actor the operations are called in the order of struct jzx__part_ops, each
 *       for all parts before the next. From let_go on the actor's id is stale.
 *   A3  an actor whose parts are not all quiet ends in two steps: it is stale, takes nothing in and
 *       runs no code, until the last part calls jzx__actor_finish. Its cleanup, and all that
 *       follows, wait for that. When the loop ends before, its parts are told to abort. */
#ifndef JZX_ACTOR_PART_H
#define JZX_ACTOR_PART_H

#include "actor/actor.h"

#include "jzx/config.h"

struct jzx_source;

/* How an actor ends that waits for its parts (A3). A part that can be waited for has room for it,
 * in a record of its own making, as this is larger than JZX__PART_CLASS. */
struct jzx__ending_kept {
    jzx_actor_id id;
    jzx_exit_reason reason;
    char text[JZX_EXIT_TEXT_MAX + 1];
};

struct jzx__waiter;

struct jzx__part_ops {
    /* A loop is made, and has its scheduler and its table: makes what the part keeps per loop and
     * per worker (loop->parts, jzx__actor_worker.parts). False without memory: nothing is left. */
    bool (*open)(struct jzx_loop *loop, const jzx_config *config);
    /* A loop is destroyed; no turn runs any more, but its actors are there. Threads of the part's
     * own end, and bring nothing any more. me is worker 0. May block. */
    void (*halt)(struct jzx_loop *loop, struct jzx__worker *me);
    /* A loop is destroyed; all its actors have ended. */
    void (*close)(struct jzx_loop *loop);
    /* A new record, which is zeroed. */
    void (*init)(void *record);
    /* An actor is to be made whose options name this part (a type): fills in what they leave to it,
     * and makes its record, which release frees. source may be NULL. */
    jzx_err (*outfit)(struct jzx_loop *loop, jzx_spawn_opts *opts, const struct jzx_source *source,
                      void **record);
    /* Nothing can fail any more, and the actor with that record cannot be sent to yet. */
    void (*settle)(void *record, jzx_actor_id id);
    /* The actor ends, and its turn may be away, for kinds that have it so (JZX__KIND_MANUAL): takes
     * it back, with all that it has left to do, before any part cancels. */
    void (*reclaim)(struct jzx__worker *me, struct jzx__actor *actor);
    /* The actor can still be sent to: nothing new of the part is to reach it. */
    void (*cancel)(struct jzx__worker *me, struct jzx__actor *actor);
    /* Before its mail is buried. */
    void (*let_go)(struct jzx__worker *me, struct jzx__actor *actor);
    /* Of its mail, what is to outlive it, which is the part's from here on; returns the rest. For
     * actors that keep their mail. */
    struct jzx__node *(*keep)(struct jzx__worker *me, struct jzx__cold *cold,
                              struct jzx__node *nodes, uint32_t generation);
    /* After its mail was buried. */
    void (*leave)(struct jzx__worker *me, struct jzx__actor *actor);
    /* NULL: the part is quiet. Else something under way still needs the actor's memory: a place in
     * the part's record for how the actor ends, and the part calls jzx__actor_finish later (A3). */
    struct jzx__ending_kept *(*quiesce)(struct jzx__worker *me, struct jzx__actor *actor);
    /* The loop ends, and the part is not quiet: it is when this returns. */
    void (*abort)(struct jzx__worker *me, struct jzx__actor *actor);
    /* After its cleanup, and after the observer: others are told. */
    void (*tell)(struct jzx__worker *me, struct jzx__cold *cold, struct jzx__ending *ending);
    /* Frees the record. */
    void (*release)(struct jzx_loop *loop, struct jzx__worker *me, void *record);
    /* What it takes beyond the cold record: for jzx_actor_info. */
    size_t (*size_bytes)(const void *record);
    /* Of timers: as jzx__timers_set_deadline (timer.h), for the layers below. */
    void (*set_deadline)(struct jzx__worker *me, struct jzx__waiter *waiter, uint64_t due_ns);
    /* Frees a message block that is part of something of the part's own (JZX__MSG_EMBEDDED). Any
     * thread. */
    void (*free_block)(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message);
    /* A message that was kept, and has something of the part's own as its trailer
     * (JZX__TRAILER_KEPT), will be handled by nobody, and is about to be freed. Any thread. */
    void (*lose)(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message);
};

extern const struct jzx__part_ops *const jzx__part_table[JZX__PART_COUNT];

extern const struct jzx__part_ops jzx__part_heap;
extern const struct jzx__part_ops jzx__part_timer;
extern const struct jzx__part_ops jzx__part_watch;
extern const struct jzx__part_ops jzx__part_ask;
extern const struct jzx__part_ops jzx__part_directory;
extern const struct jzx__part_ops jzx__part_super;
extern const struct jzx__part_ops jzx__part_pool;
extern const struct jzx__part_ops jzx__part_fiber;
extern const struct jzx__part_ops jzx__part_future;
extern const struct jzx__part_ops jzx__part_async;
extern const struct jzx__part_ops jzx__part_scope;
extern const struct jzx__part_ops jzx__part_op;
extern const struct jzx__part_ops jzx__part_blocking;
extern const struct jzx__part_ops jzx__part_io;
extern const struct jzx__part_ops jzx__part_sync;
extern const struct jzx__part_ops jzx__part_net;
extern const struct jzx__part_ops jzx__part_schedule;
extern const struct jzx__part_ops jzx__part_typed;
extern const struct jzx__part_ops jzx__part_manual;
extern const struct jzx__part_ops jzx__part_process;
extern const struct jzx__part_ops jzx__part_file;
extern const struct jzx__part_ops jzx__part_subprocess;

/* Opens all parts of loop->part_ops, or none: false without memory. */
bool jzx__parts_open(struct jzx_loop *loop, const jzx_config *config);
void jzx__parts_halt(struct jzx_loop *loop, struct jzx__worker *me);
void jzx__parts_close(struct jzx_loop *loop);

/* ---- records ---- */

/* A cold record with defaults, or NULL without memory. */
struct jzx__cold *jzx__cold_create(struct jzx_loop *loop, struct jzx__worker *me);

/* One that no actor has, and the records of its parts that are of JZX__PART_CLASS. NULL is fine. */
void jzx__cold_destroy(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold);

/* That of a living actor of mine, or of the turn that this thread runs. NULL without memory. */
struct jzx__cold *jzx__cold_ensure(struct jzx_loop *loop, struct jzx__worker *me,
                                   struct jzx__actor *actor);

/* NULL if there is none. In the actor's turn, or by its owner while none goes on. */
static inline void *jzx__cold_part(const struct jzx__cold *cold, enum jzx__part part) {
    return cold->parts[part];
}

/* The same of an actor that may have no cold record. */
static inline void *jzx__actor_part(const struct jzx__actor *actor, enum jzx__part part) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    return cold == NULL ? NULL : jzx__cold_part(cold, part);
}

/* Bit i: the actor has part i. The caller is one that may read the records. */
static inline uint32_t jzx__cold_parts(const struct jzx__cold *cold) {
    return cold->own_bits;
}

/* record may be NULL. The caller is one that may read the records. */
static inline void jzx__cold_set_part(struct jzx__cold *cold, enum jzx__part part, void *record) {
    uint32_t bit = 1u << part;
    cold->parts[part] = record;
    cold->own_bits = record == NULL ? cold->own_bits & ~bit : cold->own_bits | bit;
    /* relaxed: a hint, see jzx__spare_prepare */
    jzx__atomic_store_relaxed(&cold->part_bits, cold->own_bits);
}

/* A record of a class of the slabs, zeroed, unless there is one. NULL without memory. Owner, or the
 * turn that this thread runs. */
void *jzx__part_ensure(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold,
                       enum jzx__part part);

/* ---- what a message brings along ---- */

/* A message of another thread may need a record at its target, and filing it must not need memory:
 * it brings a **spare** cold record along, which has the part's record. Records of parts that come
 * so are JZX__PART_CLASS. */
#define JZX__PART_CLASS 0u

/* For a target that lacks either: *spare is made. False without memory. Any thread. */
bool jzx__spare_prepare(struct jzx_loop *loop, struct jzx__worker *me,
                        const struct jzx__actor *target, enum jzx__part part,
                        struct jzx__cold **spare);

/* The target has a cold record from here on; spare may be NULL. True if the spare is used up.
 * Owner, also while the actor's turn goes on without its worker. */
bool jzx__spare_give_cold(struct jzx__actor *actor, struct jzx__cold *spare);

/* The rest, in the turn or at the end of an actor with this cold record: it has the part's record
 * from here on, and what is left of the spare is freed. */
void jzx__spare_use(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold,
                    enum jzx__part part, struct jzx__cold *spare);

/* One that was not needed is given to jzx__cold_destroy. */

#endif
