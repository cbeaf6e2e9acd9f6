/* SPDX-License-Identifier: MIT */
/* The calls that end in _to: the waiting party is an operation (op/op.h) in place of a fiber or a
 * thread. One implementation serves all objects; a kind says what they do differently.
 *
 *   T1  the party of an armed wait is whoever claims it: its wake ends the wait and completes the
 *       operation. A claim that finds the wait arming leaves that to the call that began it.
 *   T2  what a claim promises (permits, a value of a channel) is taken when the message is handled,
 *       in a turn of the owner. If that never comes, it is given back when the slot of the
 *       operation is freed. So an operation whose message is dropped has consumed nothing.
 *   T3  the objects are referenced (waiter/A11) until the wait has ended, or, with a promise, until
 *       that is taken or given back.
 *   T4  the record lives as long as the slot, so a late cancel finds a waiter that is over.
 *
 * Rejected: taking at the claim (a value would be lost with an owner that ends before it handles
 * the message, and chains of waiting senders and receivers would nest on the stack of whoever makes
 * the first move); the record inside of the message (a late cancel would read freed memory). */
#ifndef JZX_SYNC_TO_H
#define JZX_SYNC_TO_H

#include "op/op.h"
#include "sync/object.h"

struct jzx__to;

/* Each may be NULL. */
struct jzx__to_kind {
    /* The wait is over, and the message about to be sent: its result, and in *len the bytes of data
     * that are in place. On the thread of the claim; as jzx__op_complete. */
    jzx_err (*settle)(struct jzx__to *to, jzx_err err, struct jzx__worker *me, size_t *len);
    /* T2: takes what was promised. False if it is not wanted after all. NULL: nothing is. */
    bool (*handle)(struct jzx__to *to, struct jzx__worker *me, struct jzx__actor *owner);
    /* Frees what the record has. Any thread; me may be NULL. */
    void (*release)(struct jzx__to *to, struct jzx__worker *me);
};

/* The first member of the record of each kind. */
struct jzx__to {
    union {
        struct jzx__waiter waiter;
        struct jzx__mortal mortal;
    };
    const struct jzx__to_kind *kind;
    struct jzx__op *op;
    struct jzx__wait_link *links; /* in the record */
    uint32_t count;               /* of links */
    uint32_t class_index;         /* of the record's block */
    uint32_t cause;               /* 0: the wait goes on */
    bool is_handled;              /* T2 */
};

/* What a call begins with. */
struct jzx__to_spec {
    const struct jzx__object *object; /* NULL: any loop's actor will do */
    const struct jzx__to_kind *kind;
    size_t record_size;
    size_t capacity; /* of data in the result */
    uint32_t tag;
};

/* A call under way, in the turn of its actor. */
struct jzx__to_call {
    struct jzx__own own;
    struct jzx__to *to; /* zeroes behind what struct jzx__to has */
};

/* JZX_ERR_INVALID_ARG (no turn of this actor, another loop, capacity, tag), JZX_ERR_NO_SUCH_ACTOR
 * (the actor works off its queue), JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY; nothing is to be ended
 * then. */
jzx_err jzx__to_begin(struct jzx__to_call *call, const struct jzx__to_spec *spec,
                      const jzx_context *ctx);

/* It will not wait: the record goes. Returns err. */
jzx_err jzx__to_refuse(struct jzx__to_call *call, jzx_err err);

/* Waits at the sources of the links; *op (may be NULL) is its id. */
void jzx__to_start(struct jzx__to_call *call, struct jzx__wait_link *links, uint32_t count,
                   jzx_op *op);

/* Completes at once, without a wait and with nothing to take. */
void jzx__to_finish(struct jzx__to_call *call, jzx_err err, jzx_op *op);

/* In handle: the result that the owner is about to see. */
static inline jzx_result *jzx__to_result(const struct jzx__to *to) {
    return jzx__op_result(to->op);
}

static inline void *jzx__to_data(const struct jzx__to *to) {
    return jzx__op_data(to->op);
}

#endif
