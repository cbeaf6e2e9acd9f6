/* SPDX-License-Identifier: MIT */
/* A future: who waits for it, what it has come to, and who has a handle to it.
 *
 *   F1  it is settled once, under its lock: `state` goes from PENDING or RUNNING to RESOLVED or
 *       REJECTED, by the promise or by a cancel; who comes second changes nothing. Value and error
 *       are written before, and do not change any more (but for jzx_future_take).
 *   F2  `holders` counts the handles, and has a bit for the promise. Who takes it to 0 frees the
 *       future; so a caller's own handle keeps what it uses.
 *   F3  who waits is in `source`, with a waiter (waiter.h), or, for parts of the library, in
 *       `thens`. Settling takes both out and wakes them, after the lock is released. No code of the
 *       user runs inside.
 *   F4  thens are run one after another by the outermost settling of a thread: what one settles is
 *       added to the end of that row, so that a chain of any length needs no stack.
 *   F5  a then has a handle, and starts nothing. So an async function that was not started is
 *       cancelled when all handles that are left to it are those of its thens: else they would wait
 *       for ever, and keep each other's blocks and the home. Until it is started, all handles go
 *       under its lock: `holders` and `thens` are compared there. */
#ifndef JZX_FUTURE_FUTURE_H
#define JZX_FUTURE_FUTURE_H

#include "future/home.h"

#include "jzx/future.h"

struct jzx__then;

/* What a part of the library does when a future is settled; it is in that part's memory. Inside the
 * bracket, without a lock; me may be NULL. It has a handle to the future meanwhile. */
typedef void jzx__then_fn(struct jzx__then *then, struct jzx_future *future,
                          struct jzx__worker *me);

struct jzx__then {
    struct jzx__then *next;
    struct jzx__then **place;  /* that points to it, under the future's lock; NULL: it is in none */
    struct jzx_future *future; /* to which it has a handle */
    struct jzx__lock *lock;    /* the future's, which off may need when the future is gone */
    jzx__then_fn *run;
};

/* A kind of future: what works on it. */
struct jzx__future_ops {
    size_t (*extra)(struct jzx_future *future); /* bytes behind the value, see jzx__future_extra */
    /* Nobody wants it any more, or its last handle goes. Any thread, inside the bracket, without a
     * lock; me may be NULL. The caller has a handle. */
    void (*cancel)(struct jzx_future *future, struct jzx__worker *me);
    /* It was PENDING, and nobody can start it any more; it is RUNNING now. Rejects it, and gives up
     * the promise's place. As above; NULL for those that are never PENDING. */
    void (*give_up)(struct jzx_future *future, struct jzx__worker *me);
    /* It is freed: what belongs to it is, too. As above. */
    void (*release)(struct jzx_future *future, struct jzx__worker *me);
};

enum {
    JZX__FUTURE_MOVED = 1u, /* flags: the value is an object with a drop function */
    JZX__FUTURE_TEXT = 2u   /* the error has a text */
};

/* holders: the promise, and handles below that. */
#define JZX__HOLDER_PROMISE 0x80000000u

struct jzx_future {
    struct jzx__source source;
    struct jzx__future_home *home;
    const struct jzx__future_ops *ops; /* NULL: a plain promise */
    struct jzx__then *thens;           /* newest first; under the lock */
    _Atomic uint32_t holders;          /* F2. Decides */
    _Atomic uint8_t state;             /* jzx_future_status. Decides */
    uint8_t flags;
    uint8_t class_index;  /* of its block */
    _Atomic uint8_t seen; /* somebody has read its error, or was told */
    union {
        int32_t err;         /* of a settled one */
        uint32_t then_count; /* of one that is not; under the lock */
    };
    uint32_t value_size;
    union {
        unsigned char bytes[24]; /* or as many as value_size says */
        struct {
            _Atomic(void *) object;
            jzx_drop_fn drop;
        } moved;
        char *text; /* of the allocator */
        void *none; /* for the alignment */
    } value;
};

#define JZX__FUTURE_SMALL 96u
_Static_assert(sizeof(struct jzx_future) == JZX__FUTURE_SMALL, "a pending future (X25)");

static inline jzx_future_status jzx__future_state(const struct jzx_future *future) {
    /* acquire: pairs with settle; value and error are there */
    return (jzx_future_status)jzx__atomic_load_acquire(&future->state);
}

static inline bool jzx__future_is_settled(const struct jzx_future *future) {
    return jzx__future_state(future) >= JZX_FUTURE_RESOLVED;
}

/* RUNNING, with the promise's place and one handle taken; ops may be NULL. There are extra bytes
 * behind the value, not initialised. NULL without memory. In a visit. */
struct jzx_future *jzx__future_create(struct jzx__future_home *home, struct jzx__worker *me,
                                      size_t value_size, size_t extra,
                                      const struct jzx__future_ops *ops);

/* What a kind of future keeps behind the value, at a multiple of 16. */
void *jzx__future_extra(struct jzx_future *future);

/* The promise's side, inside: settles it unless it was (then JZX_ERR_CANCELLED), and wakes. The
 * promise's place is still taken: jzx__future_let_go gives it up. value may be NULL: zeroes; or
 * future->value.bytes: it was written there, by who alone can settle it. */
jzx_err jzx__future_resolve(struct jzx_future *future, struct jzx__worker *me, const void *value);
jzx_err jzx__future_reject(struct jzx_future *future, struct jzx__worker *me, jzx_err err,
                           const char *text);

/* The same with the value or error of another one, which is settled. An object that was moved into
 * that one moves on. */
jzx_err jzx__future_copy(struct jzx_future *future, struct jzx__worker *me,
                         struct jzx_future *from);

/* Gives up JZX__HOLDER_PROMISE or handles. Not in a visit of the caller's own. */
void jzx__future_let_go(struct jzx_future *future, uint32_t holders);

/* A copy of the text of an error, cut; NULL if there is none, or no memory. And its end. */
char *jzx__future_text_copy(const struct jzx__future_home *home, const char *text);
void jzx__future_text_free(const struct jzx__future_home *home, char *text);

/* Copies the value out, or says why not: of a settled one. */
jzx_err jzx__future_read(struct jzx_future *future, void *value);

/* Runs then when the future is settled. False if it is: then is not kept. Has a handle. */
bool jzx__future_on(struct jzx_future *future, struct jzx__then *then, jzx__then_fn *run);

/* Takes it out. False if it was run, or is about to be; the future may be gone then. */
bool jzx__future_off(struct jzx__then *then);

#endif
