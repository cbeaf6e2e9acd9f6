/* SPDX-License-Identifier: MIT */
/* Timers of actors.
 *
 * A timer is a record of one cache line: a message, and what the wheel and its actor need to know
 * of it. It is **listed** at its actor, by the actor's owner alone, and it is **on its way**: in
 * the mail of a worker or the inbox of the actor (TRANSIT, as set by another thread), on the wheel
 * of its **home** (SET), in the actor's inbox or mailbox (QUEUED), or in its hands (HANDLED). Home
 * is the worker that owned the actor when the timer was set. The actor may have moved since; the
 * timer stays, and its message goes after the actor. One that repeats goes on from there at the
 * actor's worker of that moment.
 *
 * A record has two forms, or it would not fit: while it is SET it is an entry of a wheel, and else
 * a message (jzx__timer_to_wait, jzx__timer_to_message). What most timers do not need, a key beside
 * a payload, a period, a payload of more than 8 bytes, is in blocks of their own.
 *
 *   H1  a timer's phase changes by an exchange on its state word, and with it who may touch the
 *       rest: TRANSIT its carrier, SET its home, QUEUED and HANDLED the actor's owner. The number
 *       is the owner's always. Who changes a SET one to QUEUED turns it into a message then; who
 *       sets it makes it an entry before.
 *   H2  CANCELLED is set at most once, by whom the cancel succeeds, and never on a one-shot that is
 *       being handled. A message is looked at before it is handled (jzx__timer_begin): so it is
 *       handled XOR cancelled. Who has it SET and listed may free it by the exchange that cancels.
 *   H3  a record is freed when it is neither listed nor on its way. The owner says "not listed any
 *       more" by ORPHAN if the record is in other hands, these say "not on its way any more" by
 *       BOUNCED if they cannot bring it to the actor; who comes second frees it.
 *   H4  while a turn goes on without its worker (JZX__AWAY) the lists of that actor do not change:
 *       what comes for them is deferred until the turn is taken back.
 *   H5  firing needs no memory: the message was made when the timer was set.
 *   H6  taking in a timer that another thread has set needs no memory either: what the list has no
 *       room for is CHAINED.
 *
 * Rejected: timers that move with their actor (one that waits in a deque to be stolen would have no
 * wheel); a lock per actor (most timers are set and cancelled by their own actor). */
#ifndef JZX_TIMER_TIMER_H
#define JZX_TIMER_TIMER_H

#include "actor/message.h"
#include "actor/part.h"
#include "base/pace.h"
#include "time/wheel.h"
#include "timer/pool.h"

#include "jzx/ask.h"
#include "jzx/timer.h"

#define JZX__TIMER_TICK_NS 1000000u

/* The state word: {generation, home, kind, bits}. Home is what the last SET said; the kind does not
 * change in a life. */
#define JZX__TIMER_GENERATION_ONE ((uint64_t)1 << 32)
#define JZX__TIMER_HOME_SHIFT 16
#define JZX__TIMER_HOME ((uint64_t)0xFFFF << JZX__TIMER_HOME_SHIFT)
#define JZX__TIMER_KIND_SHIFT 8
#define JZX__TIMER_PHASE 0x07u
#define JZX__TIMER_CHAINED 0x08u /* the owner's: see list.h */
#define JZX__TIMER_CANCELLED 0x10u
#define JZX__TIMER_ORPHAN 0x20u
#define JZX__TIMER_BOUNCED 0x40u
#define JZX__TIMER_REPEATS 0x80u /* a cancel succeeds while it is handled */

enum jzx__timer_phase {
    JZX__TIMER_FREE, /* 0 */
    JZX__TIMER_TRANSIT,
    JZX__TIMER_SET,
    JZX__TIMER_QUEUED,
    JZX__TIMER_HANDLED
};

/* The kind. */
#define JZX__TIMER_ONCE 0u
#define JZX__TIMER_RATE 1u
#define JZX__TIMER_DELAY 2u
#define JZX__TIMER_IDLE 3u /* a receive timeout */
#define JZX__TIMER_MODE 0x0Fu
#define JZX__TIMER_KEYED 0x20u
#define JZX__TIMER_EXTRA 0x40u /* where the payload would be is the address of a jzx__timer_extra */

/* A payload of so much needs no block of its own. */
#define JZX__TIMER_INLINE 8u

/* The form of one that is SET. */
struct jzx__timer_wait {
    struct jzx__wheel_entry entry; /* its spare bits: the length of the payload */
    uint32_t tag;                  /* in the same place as that of a message */
    uint32_t generation;           /* of the actor */
};

struct jzx__timer {
    union {
        char message[sizeof(struct jzx__message)];
        struct jzx__timer_wait wait;
    };
    /* The payload; or the key, or the period of a receive timeout; or see EXTRA. */
    char payload[JZX__TIMER_INLINE];
    _Atomic uint64_t state; /* Decides */
    union {
        jzx_actor_id sender;        /* of an entry */
        struct jzx__mpsc_node mail; /* of one that was cancelled: on its way to its home */
        uint64_t transit;           /* of one that is not SET yet: twice its tick, and one; or the
                                     * spare that comes along (part.h), which has the tick */
    };
    uint32_t target; /* index of the actor's slot */
    uint32_t number; /* its place in the list; the record's index while it is not listed; or, if it
                      * is CHAINED, one more than the index of the next, or 0 */
};

_Static_assert(sizeof(struct jzx__timer) == JZX_CACHE_LINE, "one line");
_Static_assert(sizeof(struct jzx__timer) == JZX__MSG_EMBEDDED_SIZE, "a block is its record");
_Static_assert(offsetof(struct jzx__timer, payload) == offsetof(struct jzx__message, payload) &&
                   offsetof(struct jzx__timer, wait.tag) == offsetof(struct jzx__message, tag),
               "the two forms agree");

struct jzx__timer_list;

/* What few timers have. */
struct jzx__timer_extra {
    uint64_t key;
    uint64_t period_ns;
    uint64_t due_ns; /* exactly; at a fixed rate that of the last firing that was counted */
    uint64_t missed; /* firings that the message stands for beyond its own */
    struct jzx__message *body; /* the payload, which travels instead of the record; or NULL */
};

/* What an actor has of timers: its part. */
struct jzx__actor_timers {
    struct jzx__timer_list *plain; /* see list.h; NULL: none */
    struct jzx__timer_list *keyed; /* those with a key, and the receive timeout */
    struct jzx__timer *receive;    /* the receive timeout, or NULL */
    uint32_t chained;              /* the first timer that no list had room for, as a number */
    uint64_t tick;                 /* in a spare: of the timer that it comes with */
};

_Static_assert(sizeof(struct jzx__actor_timers) <= JZX__BLOCK_SIZE_MIN, "fits JZX__PART_CLASS");

#define JZX__TIMER_EXTRA_CLASS 0u
_Static_assert(sizeof(struct jzx__timer_extra) <= JZX__BLOCK_SIZE_MIN, "fits its class");

static inline unsigned jzx__timer_chunk(uint32_t index) {
    return 63u ^ (unsigned)__builtin_clzll((uint64_t)index + JZX__TIMER_FIRST);
}

/* The record of an index below minted. */
static inline struct jzx__timer *jzx__timer_record(const struct jzx__timer_pool *pool,
                                                   uint32_t index) {
    /* relaxed: written before minted was raised past this index (Y1) */
    uintptr_t origin = jzx__atomic_load_relaxed(&pool->origins[jzx__timer_chunk(index)]);
    return (void *)(origin + ((uintptr_t)index + JZX__TIMER_FIRST) * sizeof(struct jzx__timer));
}

/* True if there is a record of that index. Any thread. */
static inline bool jzx__timer_exists(const struct jzx__timer_pool *pool, uint32_t index) {
    /* acquire: pairs with the release in mint (Y1) */
    return index < jzx__atomic_load_acquire(&pool->minted);
}

static inline struct jzx__message *jzx__timer_block(struct jzx__timer *timer) {
    return (void *)timer->message;
}

/* The tick of one that is not SET yet. */
static inline void jzx__timer_set_tick(struct jzx__timer *timer, uint64_t tick) {
    timer->transit = tick << 1 | 1;
}

static inline uint64_t jzx__timer_tick_of(const struct jzx__timer *timer) {
    return timer->transit >> 1;
}

/* ---- the two forms ---- */

/* All that is kept is read before anything is written: the barrier is for compilers, to which the
 * forms are types that have nothing to do with each other. Word by word, as some of it was just
 * written, and a wider load would have to wait for that. */

static inline void jzx__timer_to_wait(struct jzx__timer *timer) {
    const struct jzx__message *message = jzx__timer_block(timer);
    jzx_actor_id sender = message->sender;
    uint32_t len = message->len;
    uint32_t generation = message->node.generation;
    jzx__atomic_compiler_barrier();
    timer->wait.entry.info = jzx__wheel_info(len, JZX__WHEEL_NOWHERE, 0);
    timer->wait.generation = generation;
    timer->sender = sender;
}

/* The deadline of a question is looked at by who has asked it. */
static inline uint8_t jzx__timer_lane(uint32_t tag) {
    return tag == JZX_TAG_ASK_TIMEOUT ? JZX__LANE_DEADLINE : JZX__LANE_TIMER;
}

static inline void jzx__timer_to_message(struct jzx__timer *timer) {
    struct jzx__message *message = jzx__timer_block(timer);
    uint32_t len = jzx__wheel_spare(&timer->wait.entry);
    jzx_actor_id sender = timer->sender;
    const struct jzx__node node = {.generation = timer->wait.generation,
                                   .lane = jzx__timer_lane(timer->wait.tag),
                                   .size_class = JZX__MSG_EMBEDDED};
    jzx__atomic_compiler_barrier();
    message->node = node;
    message->sender = sender;
    message->len = len;
}

/* What a worker has of timers. */
struct jzx__timers {
    struct jzx__wheel wheel;
    struct jzx__timer_cache cache;
    struct jzx__pace pace;
    uint64_t set_at; /* jzx__timer_set_at */

    _Alignas(JZX_CACHE_LINE) _Atomic uint32_t mail_count; /* cancels sent to its mail, by others */
};

static inline struct jzx__timers *jzx__timers_of(struct jzx__worker *worker) {
    return jzx__actor_worker_of(worker)->parts[JZX__PART_TIMER];
}

static inline struct jzx__timer_pool *jzx__timer_pool_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_TIMER];
}

/* What the state says besides the generation when it is SET at that worker. */
static inline uint64_t jzx__timer_set_at(struct jzx__worker *home) {
    return jzx__timers_of(home)->set_at;
}

static inline struct jzx__timer_cache *jzx__timer_cache_of(struct jzx__worker *me) {
    return me == NULL ? NULL : &jzx__timers_of(me)->cache;
}

/* The time from which the delay of a timer counts that is going to be set: never behind the clock.
 */
static inline uint64_t jzx__timer_now(struct jzx_loop *loop, struct jzx__worker *me) {
    if (me == NULL)
        return jzx__clock_now(&loop->sched.clock);
    return jzx__pace_now(&jzx__timers_of(me)->pace, &loop->sched.clock);
}

static inline uint64_t jzx__timer_add(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* True if the caller may change the lists of the timer's actor (H4). */
static inline bool jzx__timer_may_list(const struct jzx__worker *me, struct jzx__actor *actor) {
    return jzx__worker_owns(me, &actor->task) && actor->task.place != JZX__AWAY;
}

/* The first tick at or after the time. */
static inline uint64_t jzx__timer_tick(uint64_t ns) {
    return ns / JZX__TIMER_TICK_NS + (ns % JZX__TIMER_TICK_NS != 0);
}

/* For who has it, and knows the index of its record. */
static inline jzx_timer_id jzx__timer_id_of(const struct jzx__timer *timer, uint32_t index) {
    /* relaxed: the generation is the caller's */
    uint64_t state = jzx__atomic_load_relaxed(&timer->state);
    return (state & ~(uint64_t)UINT32_MAX) | index;
}

/* What is to be set. */
struct jzx__timer_spec {
    jzx_actor_id to;
    jzx_actor_id from;
    const void *data;
    size_t len;
    uint32_t tag;
    uint8_t mode;
    bool keyed;
    uint64_t key;
    uint64_t delay_ns; /* or the period */
};

/* Sets it going, and with it *id. On an error the record is gone. */
jzx_err jzx__timer_launch(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__timer *timer,
                          jzx_timer_id *id);

/* Any thread. */
jzx_err jzx__timer_cancel(struct jzx_loop *loop, struct jzx__worker *me, jzx_timer_id id);

/* The same for a record that cannot be freed meanwhile: one of the caller's actor. */
bool jzx__timer_cancel_listed(struct jzx_loop *loop, struct jzx__worker *me,
                              struct jzx__timer *timer, uint32_t index);

/* Cancels all timers of a loop that were started by key. Any thread. */
void jzx__timers_stop_keyed(struct jzx_loop *loop, struct jzx__worker *me);

/* True if its message may still come, or another. */
bool jzx__timer_is_active(const struct jzx__timer *timer);

static inline bool jzx__message_is_timer(const struct jzx__message *message) {
    return message->node.lane == JZX__LANE_TIMER || message->node.lane == JZX__LANE_DEADLINE;
}

/* NULL: it never had any. */
static inline struct jzx__actor_timers *jzx__actor_timers(const struct jzx__actor *actor) {
    return jzx__actor_part(actor, JZX__PART_TIMER);
}

static inline uint8_t jzx__timer_kind(const struct jzx__timer *timer) {
    /* relaxed: this part of it does not change in a life */
    return (uint8_t)(jzx__atomic_load_relaxed(&timer->state) >> JZX__TIMER_KIND_SHIFT);
}

static inline bool jzx__timer_is_keyed(const struct jzx__timer *timer) {
    return (jzx__timer_kind(timer) & JZX__TIMER_KEYED) != 0;
}

/* For the owner. */
static inline bool jzx__timer_is_chained(const struct jzx__timer *timer) {
    /* relaxed: only the owner changes this bit */
    return (jzx__atomic_load_relaxed(&timer->state) & JZX__TIMER_CHAINED) != 0;
}

/* NULL if it has none. */
static inline struct jzx__timer_extra *jzx__timer_extra(const struct jzx__timer *timer) {
    struct jzx__timer_extra *extra;
    memcpy(&extra, timer->payload, sizeof extra);
    return jzx__timer_kind(timer) & JZX__TIMER_EXTRA ? extra : NULL;
}

static inline uint8_t jzx__timer_mode_of(jzx_repeat repeat) {
    return repeat == JZX_FIXED_RATE ? JZX__TIMER_RATE : JZX__TIMER_DELAY;
}

static inline uint8_t jzx__timer_mode(const struct jzx__timer *timer) {
    return jzx__timer_kind(timer) & JZX__TIMER_MODE;
}

/* ---- the operations of its lane, which a part may borrow; owner only ---- */

/* A node of a timer came out of the inbox. KEEP if it is a message for the mailbox. */
enum jzx__filed jzx__timer_file(struct jzx__worker *me, struct jzx__actor *actor,
                                struct jzx__node *node);

/* Its message is about to be handled. GONE if it was cancelled, or comes too soon for a receive
 * timeout. */
enum jzx__look jzx__timer_begin(struct jzx__worker *me, const struct jzx__spot *at);

/* It will reach no actor. */
void jzx__timer_bury(struct jzx__worker *me, struct jzx__node *node,
                     const struct jzx__addressee *to);

/* Its message was handled, or will never be: the timer repeats, or is freed. */
void jzx__timer_release(struct jzx_loop *loop, struct jzx__worker *me,
                        struct jzx__message *message);

/* Its message is to be the receiver's own: the timer ends. False if it repeats. */
bool jzx__timer_take(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message);

/* Its message was being handled, and is put aside: it can be cancelled again. */
void jzx__timer_stash(struct jzx__cold *cold, struct jzx__message *message);

/* ---- in a turn ---- */

/* On a thread that has lost its worker: the actor starts a timer for itself, which its worker will
 * set (turn->requested). False without memory: the record is gone. */
bool jzx__timer_request(struct jzx__turn *turn, struct jzx__timer *timer);

/* ---- for the scheduler ---- */

/* Takes the mail: timers that other threads have set or cancelled. Then fires what is due. */
void jzx__timers_run(struct jzx__worker *me);

/* When there is something to do. */
uint64_t jzx__timers_next(struct jzx__worker *me);

/* Only the mail, and all of it: JZX__FEED_TIMER_MAIL. */
void jzx__timers_take_mail(struct jzx__worker *me, uint32_t max);
extern const struct jzx__feed_ops jzx__timer_mail;

/* ---- deadlines of waits ---- */

struct jzx__waiter;

/* The wait, which has begun, times out at the first tick at or after the time; its end takes that
 * off the wheel. On the party's home worker (waiter/A7). JZX_NEVER: nothing happens. */
void jzx__timers_set_deadline(struct jzx__worker *me, struct jzx__waiter *waiter, uint64_t due_ns);

#endif
