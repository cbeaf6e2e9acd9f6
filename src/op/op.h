/* SPDX-License-Identifier: MIT */
/* Operations: what has been begun for an actor and completes later, on whichever thread. This is
 * what stands behind every call that ends in _to; the parts that do the work (the blocking pool,
 * I/O, futures) supply the way to cancel and call jzx__op_complete.
 *
 * An operation is a slot (slots.h) and a message, both taken when it begins. A state word {32 bits
 * generation, bits} says who still has it:
 *
 *   PENDING  the part that does the work, until it has completed it
 *   LISTED   its owner, in the list of the actor, until its message is handled or the actor ends
 *   PINNED   a thread that calls the part's cancel
 *
 *   O1  an operation completes exactly once: DONE is set by jzx__op_complete and by nobody else.
 *       Whoever sets it has the message, and delivers or destroys it.
 *   O2  the slot is freed by whoever takes the last of PENDING, LISTED and PINNED away; the
 *       generation goes on with that. So a thread that has one of them may use the slot.
 *   O3  completing needs no memory and is refused by no bound: the message is there, and has no
 *       weight.
 *   O4  the list of an actor, and LISTED, are its turn's, and the owner's while none goes on
 *       (part/A1).
 *   O5  CANCEL is set at most once, on an operation that is PENDING and not DONE. Whoever sets it
 *       calls the part's cancel, and holds the slot meanwhile: by PINNED, or, at the end of the
 *       actor, by LISTED.
 *   O6  ORPHAN is set by an owner that ends, before its id is stale. A completion that sees it
 *       destroys the message; one that does not finds the actor, or is buried with its mail.
 *   O7  no generation comes twice: a slot that has used the last one is not used again.
 *   O8  a fiber may wait for an operation in place of its message: at the source in the slot, whose
 *       lock orders DONE and the look of who joins. The operation is the fiber's to end then.
 *   O9  of such an operation that **borrows** memory of the actor, the end of the actor waits for
 *       the completion (part/A3): the owner sets HELD with ORPHAN, and the completion comes to it
 *       by the feed of its worker. LISTED stays until then.
 *   O10 an operation may complete a **target** (a future) in place of a message or a fiber. It has
 *       no owner: it is never LISTED, PENDING alone keeps it, and no end of an actor touches it.
 *       The target's settle is called once, after DONE and before PENDING goes, so it may use the
 *       slot. The part that does the work completes it before its loop closes, as all others.
 *   O11 an operation that anybody may complete by its id (CLAIMABLE, from begin on) is claimed
 *       first: CLAIMED is set by one at a time, which is the part that has PENDING.
 *   O12 one that does not borrow may be brought to a worker, once. The part does not complete it
 *       before it has arrived: PENDING keeps the slot meanwhile.
 *
 * Rejected: the record inside of the message (who cancels with an old id would read a block that is
 * somebody else's); a lock per operation in place of the word (a completion on the owner's own
 * thread, which I/O has mostly, would pay for it twice). */
#ifndef JZX_OP_OP_H
#define JZX_OP_OP_H

#include "actor/message.h"
#include "actor/own.h"
#include "actor/part.h"
#include "base/list.h"
#include "op/slots.h"
#include "sched/feed.h"
#include "sched/waiter.h"

#include "jzx/op.h"

#define JZX__OP_PENDING 0x01u
#define JZX__OP_LISTED 0x02u
#define JZX__OP_PINNED 0x04u
#define JZX__OP_HOLDERS (JZX__OP_PENDING | JZX__OP_LISTED | JZX__OP_PINNED)
#define JZX__OP_DONE 0x08u
#define JZX__OP_CANCEL 0x10u
#define JZX__OP_ORPHAN 0x20u
#define JZX__OP_HELD 0x40u
#define JZX__OP_CLAIMABLE 0x80u
#define JZX__OP_CLAIMED 0x100u
#define JZX__OP_GENERATION_ONE ((uint64_t)1 << 32)

/* What a part keeps of its operation in the slot. */
#define JZX__OP_OWN_SIZE 64u

struct jzx__op;

struct jzx__op_ops {
    /* Somebody wants it to end (O5): if the part can stop it, it calls jzx__op_complete with
     * JZX_ERR_CANCELLED, here or later; else the operation goes on. It may have completed
     * meanwhile, but the slot is still its own. NULL: it cannot be stopped. Any thread, in a visit;
     * never blocks. */
    void (*cancel)(struct jzx__op *op, struct jzx__worker *me);
    /* Its message is about to be handled, in a turn of the owner: the part may still change the
     * result. NULL: there is nothing to do. */
    void (*handle)(struct jzx__op *op, struct jzx__worker *me, struct jzx__actor *owner);
    /* It has completed, but nobody will look at its result, which waits in the mailbox: puts back
     * what it has consumed, and serves nobody with that yet: more may come in front of it. In a
     * turn of the owner; me may be NULL. False: that cannot be done. NULL: it has consumed nothing.
     */
    bool (*revoke)(struct jzx__op *op, struct jzx__worker *me);
    /* All that the turn revokes is back: serves operations that wait for it. NULL: none can. */
    void (*restore)(struct jzx__op *op, struct jzx__worker *me);
    /* jzx__op_bring has brought it: on that worker's thread, or where the mail of a loop that ends
     * is taken. NULL: nobody brings it. */
    void (*arrive)(struct jzx__op *op, struct jzx__worker *me);
    /* The slot is about to be freed (O2): the message was handled, or dropped. Any thread, in a
     * visit; never blocks; me may be NULL. NULL: the part has nothing beside the slot. */
    void (*release)(struct jzx__op *op, struct jzx__worker *me);
};

/* What an operation without an owner completes (O10). */
struct jzx__op_target {
    /* It is DONE, with err, os_error and len; the data are in place. Any thread, in a visit; me may
     * be NULL. */
    void (*settle)(struct jzx__op *op, struct jzx__worker *me);
    void *who;       /* settle's own */
    void *data;      /* where the part writes its data until it completes the operation */
    size_t capacity; /* bytes there */
};

struct jzx__op {
    _Atomic uint64_t state; /* Decides */
    struct jzx_loop *loop;
    const struct jzx__op_ops *ops;
    struct jzx__message *message; /* O1; of one that is waited for: has the data, or NULL */
    jzx_actor_id owner;
    uint32_t index;
    union {
        struct jzx__link at_owner; /* LISTED */
        struct jzx__op *next_free;
    };

    /* The part's own. */
    _Alignas(JZX_CACHE_LINE) char own[JZX__OP_OWN_SIZE];

    union {
        struct jzx__source source;    /* of one that a fiber waits for (O8) */
        struct jzx__op_target target; /* of one that has one (O10) */
    };
    struct jzx__mpsc_node mail; /* HELD and complete: on its way to home; or brought (O12) */
    struct jzx__worker *home;   /* HELD: of the owner */
    int16_t err;                /* DONE: a jzx_err; as the next two */
    uint16_t os_error;
    uint32_t len;
    bool is_waited; /* fixed when it begins, as the next two */
    bool borrows;
    bool has_target;
};

_Static_assert(sizeof(struct jzx__op) == 3 * JZX_CACHE_LINE, "three lines");
_Static_assert(sizeof(jzx_result) == 16, "data behind it is aligned for any type");

/* What an actor has of operations: its part. */
struct jzx__actor_ops {
    struct jzx__list listed;       /* O4 */
    struct jzx__list held;         /* O9; the actor ends */
    struct jzx__ending_kept *kept; /* how; there from the first operation that borrows */
    bool aborts;                   /* the loop ends, too, and waits for those */
};

_Static_assert(sizeof(struct jzx__actor_ops) <= JZX__BLOCK_SIZE_MIN, "fits JZX__PART_CLASS");

static inline struct jzx__op_slots *jzx__op_slots_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_OP];
}

static inline void *jzx__op_own(struct jzx__op *op) {
    return op->own;
}

static inline struct jzx__op *jzx__op_of_own(void *own) {
    return JZX_CONTAINER_OF(own, struct jzx__op, own);
}

/* Its id, for who holds it. */
static inline jzx_op jzx__op_id(const struct jzx__op *op) {
    /* relaxed: the generation does not change while somebody holds it (O2) */
    uint64_t state = jzx__atomic_load_relaxed(&op->state);
    return (state & ~(JZX__OP_GENERATION_ONE - 1)) | op->index;
}

static inline jzx_result *jzx__op_result(const struct jzx__op *op) {
    return (void *)op->message->payload;
}

/* Where its data will be: the part may write there until it completes the operation. */
static inline void *jzx__op_data(const struct jzx__op *op) {
    if (op->has_target)
        return op->target.data;
    return op->message == NULL ? NULL : jzx__op_result(op) + 1;
}

/* The bytes that it has reserved for data. */
static inline size_t jzx__op_capacity(const struct jzx__op *op) {
    if (op->has_target)
        return op->target.capacity;
    return op->message == NULL ? 0 : op->message->len - sizeof(jzx_result);
}

/* What an operation is begun with. */
struct jzx__op_spec {
    const struct jzx__op_ops *ops;
    size_t capacity;               /* of data in its result */
    uint32_t tag;                  /* of its message */
    bool is_waited;                /* it has none (O8) */
    bool borrows;                  /* O9 */
    bool is_claimable;             /* O11 */
    jzx_msg_destructor destructor; /* of its message, which may have no result yet: all zeroes */
};

/* Makes one for the actor whose turn this is. The part fills what is its own in the slot, launches
 * the operation, and completes it from then on. JZX_ERR_INVALID_ARG (capacity, tag),
 * JZX_ERR_NO_SUCH_ACTOR (the actor works off its queue; JZX_ERR_CANCELLED if it is to be waited
 * for), JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY. */
jzx_err jzx__op_begin(struct jzx__own *own, const struct jzx__op_spec *spec, struct jzx__op **op);

/* Makes one that completes the target (O10). As above, but on any thread, in a visit; me may be
 * NULL. JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY. */
jzx_err jzx__op_begin_for(struct jzx_loop *loop, struct jzx__worker *me,
                          const struct jzx__op_ops *ops, const struct jzx__op_target *target,
                          struct jzx__op **op);

/* It is PENDING, and can be cancelled. */
void jzx__op_launch(struct jzx__op *op);

/* Has ops->arrive called at that worker (O12). Any thread; needs no memory. */
void jzx__op_bring(struct jzx__op *op, struct jzx__worker *to);

/* True if somebody has asked for its cancel. A part that publishes something for its own cancel
 * before this call, and finds false, knows that the cancel will see it. */
bool jzx__op_is_cancelled(struct jzx__op *op);

/* One that was launched could not be started, and will not complete. In the turn that began it. */
void jzx__op_undo(struct jzx__own *own, struct jzx__op *op);

/* The same for one with a target, which is not told. */
void jzx__op_undo_for(struct jzx__op *op, struct jzx__worker *me);

/* The errno behind the error that it will complete with. For who completes it, before that. */
static inline void jzx__op_set_os_error(struct jzx__op *op, int error) {
    op->os_error = (uint16_t)error;
}

/* Its result: len bytes of data, at most its capacity; data may be NULL if they are in place. The
 * slot is not the part's any more (O2). Any thread, in a visit; me may be NULL. */
void jzx__op_complete(struct jzx__op *op, struct jzx__worker *me, jzx_err err, const void *data,
                      size_t len);

/* The same by its id, for parts whose operations are completed by whoever has that (O11): the
 * caller completes it, and nobody else. NULL: it is complete, or about to be, or none with these
 * ops. Any thread, in a visit. */
struct jzx__op *jzx__op_claim(struct jzx_loop *loop, jzx_op id, const struct jzx__op_ops *ops);

/* Of a claimed one that completes by a message: makes room for so many bytes of data. What was in
 * it is gone. False without memory. me may be NULL. */
bool jzx__op_grow(struct jzx__op *op, struct jzx__worker *me, size_t capacity);

/* Of one that completes by a message, which waits and will be dropped (ops->revoke). In a turn of
 * the owner, the latest first. False: what it has consumed is lost. */
bool jzx__op_revoke(struct jzx__own *own, struct jzx__op *op);

/* Of each that was revoked, in the same turn, after the last of them (ops->restore). */
void jzx__op_restore(struct jzx__own *own, struct jzx__op *op);

/* ---- one that is waited for (O8), in the turn that began it ---- */

static inline bool jzx__op_is_done(const struct jzx__op *op) {
    /* acquire: pairs with the release that sets DONE; the result is there */
    return (jzx__atomic_load_acquire(&op->state) & JZX__OP_DONE) != 0;
}

/* It is DONE, and its err, len and data were read. */
void jzx__op_end(struct jzx__own *own, struct jzx__op *op);

/* Nobody waits for it any more: it is cancelled if it can be, and its result dropped. False if it
 * is DONE: the caller ends it. */
bool jzx__op_abandon(struct jzx__own *own, struct jzx__op *op);

extern const struct jzx__feed_ops jzx__op_mail;

#endif
