/* SPDX-License-Identifier: MIT */
/* Permits: the core of mutex (one permit), semaphore, and rwlock (a reader takes one, a writer
 * all). Who finds enough takes them by one exchange; else it waits at a source, and whoever
 * releases hands over to those that wait.
 *
 *   P1  while the list is not empty, WAITING is set, and only under the lock does the word change.
 *       So nobody overtakes who waits, and a release finds out that somebody does.
 *   P2  permits are handed over in the order of the list: as long as the first that waits wants
 *       more than there is, nobody else gets any.
 *   P3  a permit is available, or was taken by one exchange, or was handed over by a claim that was
 *       won (waiter/A6). A party that was killed before it knew gives back (give_back).
 *   P4  a wait that ends without permits may have been in the way of others: it serves the list
 *       when it has left (vacate).
 *   P5  DIED is set by who releases for a dead owner, and cleared by who takes permits next, which
 *       is told.
 *   P6  a doomed party (waiter/A10) at the front of the list is in nobody's way: who serves the
 *       list, or looks whether to join it, takes it out first. Those that stand behind it already
 *       are served at the next release, or when one that waits leaves without permits (P4), which
 *       the doomed party does at its end. */
#ifndef JZX_SYNC_PERMITS_H
#define JZX_SYNC_PERMITS_H

#include "sched/waiter.h"

/* ---- the word: {holders 32, DIED 1, WAITING 1, available 30} ---- */

#define JZX__PERMITS_MAX 0x3FFFFFFFu
#define JZX__PERMITS_WAITING 0x40000000u
#define JZX__PERMITS_DIED 0x80000000u
#define JZX__PERMITS_HOLDER 0x100000000u /* one actor that has a record of its permits */

struct jzx__permits {
    _Atomic uint64_t word;     /* written by all. Decides */
    uint32_t max;              /* of those available; never changes */
    _Atomic uint32_t refs;     /* of parties that wait (waiter/A11) */
    struct jzx__lock lock;     /* of the source */
    struct jzx__source source; /* its slots are struct jzx__permit_want */
};

/* What one that waits wants, and gets; in its frame. */
struct jzx__permit_want {
    uint32_t count;
    uint32_t holders; /* 1: it becomes a holder */
    jzx_err result;   /* JZX_OK or JZX_ERR_OWNER_DIED, when it has them */
};

void jzx__permits_init(struct jzx__permits *permits, uint32_t available, uint32_t max);

/* False, and nothing happens, while a party has a reference. */
bool jzx__permits_deinit(struct jzx__permits *permits);

/* A wait for the permits, by link 0 of an event. */
static inline struct jzx__wait_link jzx__permits_link(struct jzx__permits *permits,
                                                      struct jzx__permit_want *want) {
    return (struct jzx__wait_link){.source = &permits->source, .slot = want};
}

/* How permits are released. */
struct jzx__permit_return {
    uint32_t count;
    uint32_t holders; /* 1: their holder is none any more */
    bool died;        /* it has ended */
    bool clamps;      /* no more than fit under max, instead of none */
};

static inline uint32_t jzx__permits_available(uint64_t word) {
    return (uint32_t)word & JZX__PERMITS_MAX;
}

/* A picture of the moment, but for what the caller itself has taken. */
static inline uint64_t jzx__permits_word(const struct jzx__permits *permits) {
    /* relaxed: decides nothing that needs more than the value */
    return jzx__atomic_load_relaxed(&permits->word);
}

/* ---- taking ---- */

/* The word when `want` has its permits out of it. WAITING stays as it is. */
static inline uint64_t jzx__permits_without(uint64_t word, const struct jzx__permit_want *want) {
    return (word & ~(uint64_t)JZX__PERMITS_DIED) - want->count +
           want->holders * JZX__PERMITS_HOLDER;
}

static inline jzx_err jzx__permits_result(uint64_t word) {
    return (word & JZX__PERMITS_DIED) != 0 ? JZX_ERR_OWNER_DIED : JZX_OK; /* P5 */
}

/* Without a wait: false if there are not enough, or others wait. */
static inline bool jzx__permits_try(struct jzx__permits *permits, struct jzx__permit_want *want) {
    uint64_t word = jzx__permits_word(permits);
    do {
        if ((word & JZX__PERMITS_WAITING) != 0 && !JZX__MUTANT(permits_overtake))
            return false; /* P1 */
        if (jzx__permits_available(word) < want->count)
            return false;
        /* acquire: pairs with the release of who had them; what it did is visible. release: none
         * needed, who releases reads only the word */
    } while (!jzx__atomic_cas_acq_rel(&permits->word, &word, jzx__permits_without(word, want)));
    want->result = jzx__permits_result(word);
    return true;
}

/* ---- releasing ---- */

/* The word when they are back; false if they cannot be. */
static inline bool jzx__permits_with(const struct jzx__permits *permits, uint64_t word,
                                     const struct jzx__permit_return *back, uint64_t *next) {
    uint32_t room = permits->max - jzx__permits_available(word);
    uint32_t count = back->clamps && back->count > room ? room : back->count;
    if (count > room || word / JZX__PERMITS_HOLDER < back->holders)
        return false;
    *next = word + count - back->holders * JZX__PERMITS_HOLDER;
    if (back->died)
        *next |= JZX__PERMITS_DIED;
    return true;
}

enum jzx__put_back { JZX__PUT_BACK, JZX__PUT_REFUSED, JZX__PUT_SOMEBODY_WAITS };

/* locked: the caller has the lock, and serves those that wait. */
static inline enum jzx__put_back jzx__permits_put_back(struct jzx__permits *permits,
                                                       const struct jzx__permit_return *back,
                                                       bool locked) {
    uint64_t word = jzx__permits_word(permits);
    uint64_t next;
    do {
        if (!jzx__permits_with(permits, word, back, &next))
            return JZX__PUT_REFUSED;
        if (!locked && (word & JZX__PERMITS_WAITING) != 0 && !JZX__MUTANT(permits_left_lying))
            return JZX__PUT_SOMEBODY_WAITS; /* P1 */
        /* release: pairs with the acquire of who takes them; publishes what was done with them */
    } while (!jzx__atomic_cas_acq_rel(&permits->word, &word, next));
    return JZX__PUT_BACK;
}

/* The long way, for a word that has WAITING. */
bool jzx__permits_release_and_serve(struct jzx__permits *permits,
                                    const struct jzx__permit_return *back, struct jzx__worker *me);

/* False, and nothing happens, if there would be more than max, or there is no such holder. Hands
 * over to those that wait, and wakes them; me as for a wake. By pointer, as a want is: a copy of a
 * struct that was just written in parts waits for these stores, longer than all else takes. */
static inline bool jzx__permits_release(struct jzx__permits *permits,
                                        const struct jzx__permit_return *back,
                                        struct jzx__worker *me) {
    enum jzx__put_back result = jzx__permits_put_back(permits, back, false);
    if (JZX_UNLIKELY(result == JZX__PUT_SOMEBODY_WAITS))
        return jzx__permits_release_and_serve(permits, back, me);
    return result == JZX__PUT_BACK;
}

#endif
