/* SPDX-License-Identifier: MIT */
/* A waiter: how a task, a thread or an operation waits for one of several things, and gets one.
 *
 * The **waiting party** has a waiter in its own memory: a fiber on its stack, a thread in its
 * frame, an operation in its block. It waits at **sources** (a channel, a mutex, a future, ...), at
 * each through a **link** that stands in the source's list. Sources, the deadline, a cancel and a
 * kill compete for the wait; one word decides between them:
 *
 *   IDLE(e) -begin-> ARMING(e) -arm-> ARMED(e) -claim-> CLAIMED(e, cause) -end-> IDLE(e + 1)
 *                        \-------------claim----------->/
 *
 * A wait, in the order of the calls:
 *
 *   begin   the wait has an epoch, and dumps can see it.
 *   join    under the lock of one source after the other: takes what is there already, which is a
 *           claim of its own, or queues the link. Then perhaps a deadline.
 *   arm     from now on a claim wakes the party, so it may suspend; or it was claimed meanwhile.
 *   ...     suspended. A claim comes, from whichever side.
 *   end     leaves every source, takes the deadline off the wheel, and says why the wait is over.
 *
 * What must stay true (waiter/A1 and so on):
 *
 *   A1  a wait ends by exactly one claim: one compare-and-exchange from ARMING or ARMED of its
 *       epoch. All that lose change nothing.
 *   A2  only the waiting party leaves IDLE and CLAIMED. So a cause, once set, stays until its end.
 *   A3  a claim that found ARMED wakes the party, once. A claim that found ARMING does not: arm
 *       finds CLAIMED, and the party does not suspend.
 *   A4  a source touches a link and its waiter only under its own lock, and only while the link is
 *       in its list. It claims, takes the link out of the list, writes `slot`, copies {wake, who},
 *       unlocks, wakes, and never touches either again.
 *   A5  the party takes the lock of every source that it joined before it reads a slot, and before
 *       its memory is used for something else. That lock, not the word, publishes the slot.
 *   A6  a source hands over only what it has won a claim for. Whoever cannot be claimed any more
 *       is taken out of the list, and the next one is tried: a wait that timed out, was cancelled
 *       or was won by another source has consumed nothing.
 *   A7  the deadline is on a wheel only between begin and end, and only its home worker touches it.
 *   A8  a claim names the epoch of the wait that it is for. A late one finds another epoch, unless
 *       the party has waited 2^32 times meanwhile. Claims through links are never late (A5).
 *   A9  nobody takes a second lock while it has that of a source. Nothing of the user runs under
 *       one, and a thread with a seat takes it inside its bracket (S4).
 *   A10 a source claims no wait of a party that is **doomed**: its actor has been told to end, or
 *       has ended, and will not go on. Its link is taken out of the list, and the next one is
 *       tried. The end of the actor claims the wait. So a call that never returns hands nothing
 *       over. The claim looks at the request before it changes the word: a request that comes
 *       between the two is too late for it.
 *   A11 an object that counts its parties has a reference of each from before it joins until it
 *       touches the object no more: it has ended the wait, taken what was handed over or given it
 *       back, and vacated. So whoever finds no reference may deinit the object: an empty list does
 *       not allow it, since a claimed party has yet to leave.
 *   A12 a source that **serves** does the work of the claimed party under its own lock, in the
 *       memory of the party, and only after the claim. From then on the party is `served`, until it
 *       leaves the source (A5); meanwhile the source serves no other. A killed party leaves without
 *       taking: it stays `served` until give_back has revoked the work, under the lock. So nothing
 *       that was served is lost, and none of it overtakes.
 *
 * Wakers come late: {wake, who} is called after the lock is released, when the party may have gone
 * on, ended the wait and begun another. So a wake means "look again", never "you have it": a task
 * gets a nudge too many (its memory is type-stable), a futex address a wake too many.
 *
 * A task arms on its owner's thread. A claim sets the word and then NUDGED, so that a task which
 * has not seen the word does not go idle (I8). The owner's own thread needs no nudge for a task at
 * rest: it makes the task ready. But a task may be armed and still in its turn, and what it does
 * there may claim its own wait; so the owner nudges a task that is in a turn.
 *
 * A party that dies while it waits (a kill) claims its own wait. If a source was faster, what it
 * handed over is the party's, which gives it back or destroys it.
 *
 * At a rendezvous two waits must be claimed, and both sides may be selects. The side that runs
 * claims its own wait first: if that is lost, the other side has not noticed anything. If it is won
 * and the other side is gone meanwhile, the wait ends with JZX__CAUSE_AGAIN and the party begins
 * another; a source that found the wait claimed has kept its item, and shows it to the next join.
 *
 * Rejected: a lock per waiter (sources and waiters would lock each other in both orders, and a
 * deadline would need it, too); a count of who may still touch the waiter, which the last one
 * frees (an allocation per wait); publishing the slot with the claim (it would have to be written
 * before it is known who gets it); a flag beside the word for threads to sleep on (the waker would
 * touch the frame after the claim). */
#ifndef JZX_SCHED_WAITER_H
#define JZX_SCHED_WAITER_H

#include "base/assert.h"
#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"
#include "time/wheel.h"

#include "jzx/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jzx__clock;
struct jzx__source;
struct jzx__task;
struct jzx__wait_link;
struct jzx__worker;

/* ---- the word: {epoch 32, cause 24, phase 8} ---- */

enum jzx__wait_phase {
    JZX__WAIT_IDLE, /* 0: as in memory that was cleared */
    JZX__WAIT_ARMING,
    JZX__WAIT_ARMED,
    JZX__WAIT_CLAIMED
};

/* Why a wait is over. */
enum jzx__cause_kind {
    JZX__CAUSE_NONE,      /* it is not */
    JZX__CAUSE_ITEM,      /* a source handed something over */
    JZX__CAUSE_CLOSED,    /* a source will never have anything */
    JZX__CAUSE_AGAIN,     /* what a source had is gone: wait once more */
    JZX__CAUSE_TIMEOUT,   /* the deadline has passed */
    JZX__CAUSE_CANCELLED, /* somebody cancelled the operation */
    JZX__CAUSE_KILLED     /* the waiting party ends */
};

/* A cause: {kind 8, index 16}; the index of the link for those that come from a source, else 0. */
#define JZX__WAIT_LINKS_MAX 0xFFFFu

static inline uint32_t jzx__cause_make(enum jzx__cause_kind kind, uint32_t index) {
    return (uint32_t)kind << 16 | index;
}

static inline enum jzx__cause_kind jzx__cause_kind(uint32_t cause) {
    return (enum jzx__cause_kind)(cause >> 16);
}

static inline uint32_t jzx__cause_index(uint32_t cause) {
    return cause & 0xFFFFu;
}

/* What a call that has waited returns for it. */
static inline jzx_err jzx__cause_err(uint32_t cause) {
    switch (jzx__cause_kind(cause)) {
    case JZX__CAUSE_ITEM: return JZX_OK;
    case JZX__CAUSE_CLOSED: return JZX_ERR_CLOSED;
    case JZX__CAUSE_TIMEOUT: return JZX_ERR_TIMEOUT;
    default: return JZX_ERR_CANCELLED;
    }
}

static inline uint64_t jzx__wait_word(uint32_t epoch, uint32_t cause, enum jzx__wait_phase phase) {
    return (uint64_t)epoch << 32 | (uint64_t)cause << 8 | (uint64_t)phase;
}

static inline uint32_t jzx__wait_epoch(uint64_t word) {
    return (uint32_t)(word >> 32);
}

static inline uint32_t jzx__wait_cause(uint64_t word) {
    return (uint32_t)word >> 8;
}

static inline enum jzx__wait_phase jzx__wait_phase(uint64_t word) {
    return (enum jzx__wait_phase)(word & 0xFFu);
}

/* ---- a waiter and its links ---- */

/* Makes the waiting party look at its waiter. me is the worker of the calling thread, or NULL. It
 * may come late, see above. */
typedef void jzx__wake_fn(void *who, struct jzx__worker *me);

/* What a claimer does after it has unlocked; fn is NULL if there is nothing to do. */
struct jzx__wake {
    jzx__wake_fn *fn;
    void *who;
};

static inline void jzx__wake_make(const struct jzx__wake *wake, struct jzx__worker *me) {
    if (wake->fn != NULL)
        wake->fn(wake->who, me);
}

/* What somebody waits for, for dumps: "tag" 7, "channel" 0x7f.., and since when. */
struct jzx__wait_what {
    const char *kind; /* a literal */
    uint64_t object;
    uint64_t since_ns;
};

struct jzx__waiter {
    _Atomic uint64_t word; /* written by the party and by who claims. Decides */
    struct jzx__wake wake; /* fixed from init to deinit; read by the claimer */

    /* Written by the party at begin; dumps read them, too. */
    _Atomic(const char *) kind;
    _Atomic uint64_t object;
    _Atomic uint64_t since_ns;

    /* The party's own. */
    struct jzx__wait_link *links;
    uint32_t joined; /* of them, from the first */
    bool is_mortal;  /* fixed as wake is: it is part of a struct jzx__mortal */

    /* Its home worker's (A7). */
    struct jzx__wheel_entry deadline;
    struct jzx__wheel *wheel; /* NULL: there is no deadline */
    uint64_t due_tick;
};

/* The waiter of a party that ends with an actor, and what tells whether it is doomed (A10). Fixed
 * as wake is. */
struct jzx__mortal {
    struct jzx__waiter waiter; /* first */
    const struct jzx__task *task;
    uint32_t generation; /* of the task */
    uint32_t fatal;      /* requests in its state word that end it, whatever it does */
};

struct jzx__wait_link {
    /* Set by the party before it joins. */
    struct jzx__source *source;
    void *slot;     /* where the source puts what it hands over; written under its lock (A4) */
    uint32_t index; /* of the cause */

    /* Set by join. */
    uint32_t epoch;
    struct jzx__waiter *waiter;
    struct jzx__link at_source; /* under the source's lock; next is NULL outside of the list */
};

/* What a source does for those who join it. Under its lock. */
struct jzx__source_ops {
    /* What there is for the link now: ITEM, CLOSED, or NONE: then the link is queued. */
    enum jzx__cause_kind (*look)(struct jzx__source *source, const struct jzx__wait_link *link);
    /* After ITEM, when the wait was claimed for it: takes it out of the source and into the link's
     * slot. The party to wake for it, because there is room now, goes into *wake. False if it is
     * gone after all, with a partner whose wait is over: that makes it AGAIN. */
    bool (*take)(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake);
    /* The party was killed after a claim with ITEM, and the wait has ended: takes back what is in
     * the slot. Without the lock. NULL if there is nothing to take back. */
    void (*give_back)(struct jzx__source *source, struct jzx__wait_link *link,
                      struct jzx__worker *me);
    /* The party was killed, whatever the cause, and will not go on: releases what it has brought
     * along with the link. Without the lock, after give_back. NULL if that is nothing. */
    void (*abandon)(struct jzx__source *source, struct jzx__wait_link *link,
                    struct jzx__worker *me);
    /* A wait at the source has ended otherwise than with its ITEM: serves those behind, which it
     * was in the way of. Called for a party that was killed; others call jzx__sources_vacate, if
     * the source has it. Without the lock. NULL if nobody ever is in the way. */
    void (*vacate)(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__worker *me);
    /* Where the object has its count of references, an _Atomic uint32_t, in bytes from the source.
     * 0: the object counts none, and something else keeps it there (A11). */
    ptrdiff_t refs_at;
    bool serves; /* the source is that of a struct jzx__served_source (A12) */
};

/* refs_at of a source that is a member of the type, as the count is. */
#define JZX__REFS_AT(type, source, refs)                                                           \
    ((ptrdiff_t)offsetof(type, refs) - (ptrdiff_t)offsetof(type, source))

/* Where parties wait for one kind of thing: part of a channel, a mutex, a future. The lock is the
 * object's, so that one object can have several (a channel has its senders and its receivers). */
struct jzx__source {
    struct jzx__lock *lock;
    struct jzx__list waiting; /* first in, first out */
    const struct jzx__source_ops *ops;
};

/* A source that serves (A12). Parties do not join it: they try under its lock, and queue. */
struct jzx__served_source {
    struct jzx__source source;     /* first */
    struct jzx__wait_link *served; /* NULL: none. Under the lock, as the source */
};

static inline void jzx__waiter_init(struct jzx__waiter *waiter, jzx__wake_fn *wake, void *who) {
    *waiter = (struct jzx__waiter){.wake = {.fn = wake, .who = who}};
}

/* The waiter is inited. */
void jzx__mortal_init(struct jzx__mortal *mortal, const struct jzx__task *task, uint32_t generation,
                      uint32_t fatal);

/* One of the fatal requests was made, or the task has ended. Any thread for which the waiter is
 * there: by the lock of a source that has its link, or as the party. */
bool jzx__mortal_is_doomed(const struct jzx__mortal *mortal);

/* ---- the edges ---- */

/* The party's own epoch: that of the wait that it is in, or of the next one. */
static inline uint32_t jzx__waiter_epoch(const struct jzx__waiter *waiter) {
    /* relaxed: only the party changes the epoch (A2) */
    return jzx__wait_epoch(jzx__atomic_load_relaxed(&waiter->word));
}

/* IDLE -> ARMING. Returns the epoch, for who may cancel. Party only. */
static inline uint32_t jzx__waiter_begin(struct jzx__waiter *waiter, struct jzx__wait_what what) {
    /* relaxed: nobody else leaves IDLE (A2) */
    uint64_t word = jzx__atomic_load_relaxed(&waiter->word);
    uint32_t epoch = jzx__wait_epoch(word);
    JZX_ASSERT(jzx__wait_phase(word) == JZX__WAIT_IDLE);
    /* release, the three: pairs with glance; brings along that the last wait is over */
    jzx__atomic_store_release(&waiter->kind, what.kind);
    jzx__atomic_store_release(&waiter->object, what.object);
    jzx__atomic_store_release(&waiter->since_ns, what.since_ns);
    /* release: pairs with glance; publishes what it waits for */
    jzx__atomic_store_release(&waiter->word, jzx__wait_word(epoch, 0, JZX__WAIT_ARMING));
    return epoch;
}

enum jzx__arm_result {
    JZX__ARM_SUSPEND, /* the party may suspend: it will be woken */
    JZX__ARM_CLAIMED  /* the wait is over: nobody wakes, the party ends it */
};

/* ARMING -> ARMED, unless it was claimed. Party only. */
static inline enum jzx__arm_result jzx__waiter_arm(struct jzx__waiter *waiter) {
    uint32_t epoch = jzx__waiter_epoch(waiter);
    uint64_t word = jzx__wait_word(epoch, 0, JZX__WAIT_ARMING);
    const uint64_t armed = jzx__wait_word(epoch, 0, JZX__WAIT_ARMED);
    /* release: pairs with claim; if the party is an operation, whoever claims it goes on in its
     * place, and sees what it has joined. acquire: pairs with claim; what its claimer did before it
     * is visible */
    while (!jzx__atomic_cas_acq_rel(&waiter->word, &word, armed)) {
        JZX_ASSERT(jzx__wait_epoch(word) == epoch && jzx__wait_phase(word) != JZX__WAIT_ARMED);
        if (jzx__wait_phase(word) == JZX__WAIT_CLAIMED && !JZX__MUTANT(waiter_armed_in_any_case))
            return JZX__ARM_CLAIMED; /* A3 */
    }
    return JZX__ARM_SUSPEND;
}

enum jzx__claim_result {
    JZX__CLAIM_LOST, /* somebody else has claimed it, or that wait is over */
    JZX__CLAIM_WON,  /* and nobody needs waking */
    JZX__CLAIM_WAKE  /* won, and the caller wakes the party when it has unlocked */
};

/* ARMING or ARMED -> CLAIMED (A1). The caller knows that the waiter is there: by the lock of a
 * source, as the party, or because its memory is type-stable. */
static inline enum jzx__claim_result jzx__waiter_claim(struct jzx__waiter *waiter, uint32_t epoch,
                                                       uint32_t cause) {
    /* relaxed: a first guess, no older than what brought the epoch here; confirmed by the exchange
     * below */
    uint64_t word = jzx__atomic_load_relaxed(&waiter->word);
    do {
        if (jzx__wait_epoch(word) != epoch && !JZX__MUTANT(waiter_epoch_ignored))
            return JZX__CLAIM_LOST; /* A8 */
        if (jzx__wait_phase(word) != JZX__WAIT_ARMING && jzx__wait_phase(word) != JZX__WAIT_ARMED)
            return JZX__CLAIM_LOST;
        /* release: pairs with arm and cause; what the claimer did before is visible to the party.
         * acquire: pairs with arm, for who goes on in the place of an operation (to/T1); all else
         * that the claimer reads of the party it has from a lock */
    } while (!jzx__atomic_cas_acq_rel(
        &waiter->word, &word, jzx__wait_word(jzx__wait_epoch(word), cause, JZX__WAIT_CLAIMED)));
    return jzx__wait_phase(word) == JZX__WAIT_ARMED ? JZX__CLAIM_WAKE : JZX__CLAIM_WON; /* A3 */
}

/* The cause if the wait was claimed, else 0, which is JZX__CAUSE_NONE. Party only. */
static inline uint32_t jzx__waiter_cause(const struct jzx__waiter *waiter) {
    /* acquire: pairs with claim; what its claimer did before is visible, but for the slot (A5) */
    return jzx__wait_cause(jzx__atomic_load_acquire(&waiter->word));
}

/* Claims the party's own wait: its time is over, it is killed, it has found something elsewhere. On
 * false another was faster, and its cause stands. The party is awake, so nobody wakes. */
static inline bool jzx__waiter_withdraw(struct jzx__waiter *waiter, enum jzx__cause_kind kind) {
    return jzx__waiter_claim(waiter, jzx__waiter_epoch(waiter), jzx__cause_make(kind, 0)) !=
           JZX__CLAIM_LOST;
}

/* CLAIMED(ITEM) -> CLAIMED(AGAIN): the party has claimed its own wait for nothing. Party only. */
static inline void jzx__waiter_revoke(struct jzx__waiter *waiter, uint32_t index) {
    uint32_t cause = jzx__cause_make(JZX__CAUSE_AGAIN, index);
    /* relaxed: nobody else leaves CLAIMED (A2), and only the party looks at the cause */
    jzx__atomic_store_relaxed(&waiter->word,
                              jzx__wait_word(jzx__waiter_epoch(waiter), cause, JZX__WAIT_CLAIMED));
}

/* CLAIMED -> IDLE with the next epoch; the cause. Links and deadline are gone. Party only: part of
 * end. */
static inline uint32_t jzx__waiter_settle(struct jzx__waiter *waiter) {
    /* relaxed: nobody else leaves CLAIMED (A2); who waited for it has looked with acquire */
    uint64_t word = jzx__atomic_load_relaxed(&waiter->word);
    JZX_ASSERT(jzx__wait_phase(word) == JZX__WAIT_CLAIMED);
    JZX_ASSERT(waiter->joined == 0 && waiter->wheel == NULL); /* A5, A7 */
    /* relaxed: a late claim that still sees CLAIMED is lost as well */
    jzx__atomic_store_relaxed(&waiter->word,
                              jzx__wait_word(jzx__wait_epoch(word) + 1, 0, JZX__WAIT_IDLE));
    return jzx__wait_cause(word);
}

/* ---- the waiting party ---- */

/* Joins the sources of the links, in their order, until the wait is claimed: by one that has
 * something already, or that was claimed meanwhile. The links stay where they are until end, and so
 * do their slots. me as for a wake. */
void jzx__waiter_join(struct jzx__waiter *waiter, struct jzx__wait_link *links, uint32_t count,
                      struct jzx__worker *me);

/* Queues the only link of a wait that has begun, for a caller that holds the lock of its source and
 * has found nothing there. */
void jzx__waiter_queue(struct jzx__waiter *waiter, struct jzx__wait_link *link);

/* The wait is over: leaves every source, takes the deadline off its wheel, settles. Returns the
 * cause. From now on nobody knows the waiter (A5), and slots may be read. The wait was claimed;
 * with a deadline this is on its home worker. */
uint32_t jzx__waiter_end(struct jzx__waiter *waiter);

/* The same for a party that was killed: it takes nothing, so it stays served (A12). The caller
 * calls give_back next if the cause is ITEM. */
uint32_t jzx__waiter_end_killed(struct jzx__waiter *waiter);

/* ---- deadlines: on the wheel of the party's home worker ---- */

/* In the spare bits of an entry that is part of a waiter: for who pops it. */
#define JZX__WHEEL_WAITER 0xFu

static inline struct jzx__waiter *jzx__waiter_of_entry(struct jzx__wheel_entry *entry) {
    return JZX_CONTAINER_OF(entry, struct jzx__waiter, deadline);
}

/* Prepares the entry for that tick of the wheel; the caller sets it. Between begin and end. */
void jzx__waiter_set_deadline(struct jzx__waiter *waiter, struct jzx__wheel *wheel, uint64_t tick);

/* The entry came out of its wheel. False if that was early, for want of memory there: the caller
 * sets it again, for due_tick. Otherwise the wait has timed out, unless it was claimed. */
bool jzx__waiter_expire(struct jzx__waiter *waiter, uint64_t tick, struct jzx__worker *me);

/* ---- cancelling from outside ---- */

/* Claims the wait of that epoch and wakes the party; false if it was over. Any thread; the waiter
 * is there until this returns, see claim. */
bool jzx__waiter_cancel(struct jzx__waiter *waiter, uint32_t epoch, enum jzx__cause_kind kind,
                        struct jzx__worker *me);

/* ---- sources ---- */

void jzx__source_init(struct jzx__source *source, struct jzx__lock *lock,
                      const struct jzx__source_ops *ops);

/* Nobody waits there any more. */
void jzx__source_deinit(struct jzx__source *source);

/* ---- references: objects that can be deinited while others wait (A11) ---- */

static inline _Atomic uint32_t *jzx__source_refs(struct jzx__source *source) {
    ptrdiff_t at = source->ops->refs_at;
    return at == 0 ? NULL : (_Atomic uint32_t *)(void *)((unsigned char *)source + at);
}

/* refs may be NULL, as in the next. */
static inline void jzx__refs_add(_Atomic uint32_t *refs) {
    if (refs != NULL)
        /* relaxed: no deinit is called while a wait begins; the others have a reference or the
         * lock */
        (void)jzx__atomic_add_relaxed(refs, 1u);
}

static inline void jzx__refs_drop(_Atomic uint32_t *refs) {
    if (refs != NULL)
        /* release: pairs with has_refs; all that was done with the object comes before */
        (void)jzx__atomic_add_acq_rel(refs, 0u - 1u);
}

/* The object stays while this is true. */
static inline bool jzx__source_has_refs(struct jzx__source *source) {
    const _Atomic uint32_t *refs = jzx__source_refs(source);
    /* acquire: pairs with drop; all that parties did with the object is over */
    return jzx__atomic_load_acquire(refs) != 0;
}

/* By a party, before it joins: for all links of its wait. */
static inline void jzx__sources_ref(struct jzx__wait_link *links, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        jzx__refs_add(jzx__source_refs(links[i].source));
}

/* The last thing that it does with any of them. */
static inline void jzx__sources_release(struct jzx__wait_link *links, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        jzx__refs_drop(jzx__source_refs(links[i].source));
}

/* ---- claiming ---- */

/* Claims the first that still can be claimed, and takes it out of the list with all before it (A6).
 * The caller has the lock; writes into the link's slot, unlocks, and makes the wake. NULL: nobody
 * waits, and the source keeps what it has. kind is ITEM or CLOSED. */
struct jzx__wait_link *jzx__source_claim(struct jzx__source *source, enum jzx__cause_kind kind,
                                         struct jzx__wake *wake);

/* The same for the first alone: NULL if it could not be claimed any more; it is out of the list in
 * any case. For sources whose parties want different things. The list is not empty. */
struct jzx__wait_link *jzx__source_claim_first(struct jzx__source *source,
                                               enum jzx__cause_kind kind, struct jzx__wake *wake);

/* Claims as jzx__source_claim, and serves the party (A12): the caller works in the memory of the
 * link's party, unlocks, and makes the wake. NULL: nobody waits, or the last one that was served
 * has not left. */
struct jzx__wait_link *jzx__source_serve(struct jzx__served_source *source, struct jzx__wake *wake);

/* Ends the service of a party that was killed, for give_back: true if the work must be revoked,
 * false if the source has forgotten the party meanwhile. The caller holds the lock. */
bool jzx__source_take_back(struct jzx__served_source *source, const struct jzx__wait_link *link);

/* Takes those that are doomed (A10) off the front of the list; true if there were any. For sources
 * that look at the first before they claim it. The caller has the lock. */
bool jzx__source_drop_doomed(struct jzx__source *source);

/* The same for one that is in the list, wherever it stands; false if it is not doomed. */
bool jzx__wait_link_drop_doomed(struct jzx__wait_link *link);

/* The party has ended its wait with that cause: tells the sources that it leaves without anything.
 * links and count as for join. */
void jzx__sources_vacate(struct jzx__wait_link *links, uint32_t count, uint32_t cause,
                         struct jzx__worker *me);

/* Claims and wakes all that wait now, not those that come meanwhile. Nothing goes into slots. The
 * caller does not have the lock, and the source is there until this returns. Returns how many. */
uint32_t jzx__source_wake_all(struct jzx__source *source, enum jzx__cause_kind kind,
                              struct jzx__worker *me);

/* The same for a caller that has the lock, which is released: those that come later are not meant,
 * whatever becomes of the source meanwhile. */
uint32_t jzx__source_unlock_and_wake_all(struct jzx__source *source, enum jzx__cause_kind kind,
                                         struct jzx__worker *me);

/* ---- wakers ---- */

/* who is a struct jzx__task: its owner makes it ready; others, and its own turn, nudge it. */
void jzx__wake_task(void *who, struct jzx__worker *me);

/* For a thread that blocks: init in place of jzx__waiter_init. */
void jzx__waiter_init_thread(struct jzx__waiter *waiter);

/* After arm: blocks the calling thread until the wait is claimed, by itself at the deadline. Where
 * time is moved by hand (a jzx_clock), the one who moves it past the deadline claims. */
void jzx__waiter_block(struct jzx__waiter *waiter, const struct jzx__clock *clock,
                       uint64_t deadline_ns);

/* ---- dumps ---- */

/* What somebody waits for; false if it does not wait, or stopped while it was looked at. Any thread
 * for which the waiter's memory is there. */
bool jzx__waiter_glance(const struct jzx__waiter *waiter, struct jzx__wait_what *what);

/* "waits for tag 7 since 3.2 s", cut to size. Returns the length without a cut, as snprintf. */
int jzx__wait_describe(const struct jzx__wait_what *what, uint64_t now_ns, char *text, size_t size);

#endif
