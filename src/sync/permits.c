/* SPDX-License-Identifier: MIT */
/* Taking, waiting and handing over (P1-P5 of permits.h). */
#include "sync/permits.h"

static struct jzx__permits *permits_of(struct jzx__source *source) {
    return JZX_CONTAINER_OF(source, struct jzx__permits, source);
}

/* The word when `want` has its permits out of it. WAITING stays as it is. */
static uint64_t without(uint64_t word, const struct jzx__permit_want *want) {
    return (word & ~(uint64_t)JZX__PERMITS_DIED) - want->count +
           want->holders * JZX__PERMITS_HOLDER;
}

static jzx_err result_of(uint64_t word) {
    return (word & JZX__PERMITS_DIED) != 0 ? JZX_ERR_OWNER_DIED : JZX_OK; /* P5 */
}

bool jzx__permits_try(struct jzx__permits *permits, struct jzx__permit_want *want) {
    uint64_t word = jzx__permits_word(permits);
    do {
        if ((word & JZX__PERMITS_WAITING) != 0 && !JZX__MUTANT(permits_overtake))
            return false; /* P1 */
        if (jzx__permits_available(word) < want->count)
            return false;
        /* acquire: pairs with the release of who had them; what it did is visible. release: none
         * needed, who releases reads only the word */
    } while (!jzx__atomic_cas_acq_rel(&permits->word, &word, without(word, want)));
    want->result = result_of(word);
    return true;
}

/* ---- the source, under its lock ---- */

/* Marks that somebody waits, unless there are enough. True if it waits. */
static bool announce(struct jzx__permits *permits, const struct jzx__permit_want *want) {
    uint64_t word = jzx__permits_word(permits);
    do {
        if (jzx__permits_available(word) >= want->count)
            return false;
        if (JZX__MUTANT(permits_not_announced))
            return true;
        /* acquire: pairs with put_back; who is served later by the lock sees what was done with the
         * permits. release: none needed */
    } while (!jzx__atomic_cas_acq_rel(&permits->word, &word, word | JZX__PERMITS_WAITING));
    return true;
}

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    struct jzx__permits *permits = permits_of(source);
    if (!jzx__list_is_empty(&source->waiting) || announce(permits, link->slot))
        return JZX__CAUSE_NONE; /* P1, P2 */
    return JZX__CAUSE_ITEM;
}

/* There were enough. Others may have taken them since by the short way. Nobody waits. */
static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    struct jzx__permits *permits = permits_of(source);
    struct jzx__permit_want *want = link->slot;
    uint64_t word = jzx__permits_word(permits);
    (void)wake;
    do {
        if (jzx__permits_available(word) < want->count)
            return false;
        /* acquire: pairs with put_back, as in try. WAITING, of those that have left, goes */
    } while (!jzx__atomic_cas_acq_rel(&permits->word, &word,
                                      without(word, want) & ~(uint64_t)JZX__PERMITS_WAITING));
    want->result = result_of(word);
    return true;
}

/* One step of handing over; the caller has the lock, and WAITING is set. False if there is nobody
 * left who can be served. */
static bool serve_one(struct jzx__permits *permits, struct jzx__wake *wake) {
    struct jzx__list *waiting = &permits->source.waiting;
    uint64_t word = jzx__permits_word(permits); /* stable: P1 */
    bool goes_on = false;
    *wake = (struct jzx__wake){.fn = NULL};
    if (!jzx__list_is_empty(waiting)) {
        struct jzx__wait_link *first =
            JZX_CONTAINER_OF(waiting->ring.next, struct jzx__wait_link, at_source);
        struct jzx__permit_want *want = first->slot;
        if (jzx__permits_available(word) < want->count)
            return false; /* P2 */
        goes_on = true;
        if (jzx__source_claim_first(&permits->source, JZX__CAUSE_ITEM, wake) != NULL) {
            want->result = result_of(word);
            word = without(word, want);
        }
    }
    if (jzx__list_is_empty(waiting))
        word &= ~(uint64_t)JZX__PERMITS_WAITING;
    /* release: pairs with try; who had these permits before has seen to that with its own */
    jzx__atomic_store_release(&permits->word, word);
    return goes_on && !jzx__list_is_empty(waiting);
}

/* The caller has the lock, which is released. */
static void serve(struct jzx__permits *permits, struct jzx__worker *me) {
    for (;;) {
        struct jzx__wake wake = {.fn = NULL};
        bool goes_on =
            (jzx__permits_word(permits) & JZX__PERMITS_WAITING) != 0 && serve_one(permits, &wake);
        jzx__lock_release(&permits->lock);
        jzx__wake_make(&wake, me);
        if (!goes_on)
            return;
        jzx__lock_acquire(&permits->lock);
    }
}

/* ---- releasing ---- */

/* The word when they are back; false if they cannot be. */
static bool with(const struct jzx__permits *permits, uint64_t word,
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

enum put_back { PUT_BACK, REFUSED, SOMEBODY_WAITS };

/* locked: the caller has the lock, and serves those that wait. */
static enum put_back put_back(struct jzx__permits *permits, const struct jzx__permit_return *back,
                              bool locked) {
    uint64_t word = jzx__permits_word(permits);
    uint64_t next;
    do {
        if (!with(permits, word, back, &next))
            return REFUSED;
        if (!locked && (word & JZX__PERMITS_WAITING) != 0 && !JZX__MUTANT(permits_left_lying))
            return SOMEBODY_WAITS; /* P1 */
        /* release: pairs with the acquire of who takes them; publishes what was done with them */
    } while (!jzx__atomic_cas_acq_rel(&permits->word, &word, next));
    return PUT_BACK;
}

bool jzx__permits_release(struct jzx__permits *permits, struct jzx__permit_return back,
                          struct jzx__worker *me) {
    enum put_back result = put_back(permits, &back, false);
    if (result != SOMEBODY_WAITS)
        return result == PUT_BACK;
    jzx__lock_acquire(&permits->lock);
    result = put_back(permits, &back, true);
    serve(permits, me);
    return result == PUT_BACK;
}

/* P3. Meanwhile others may have added as many as there may be. */
static void give_back(struct jzx__source *source, struct jzx__wait_link *link,
                      struct jzx__worker *me) {
    const struct jzx__permit_want *want = link->slot;
    const struct jzx__permit_return back = {.count = want->count,
                                            .holders = want->holders,
                                            .died = want->result == JZX_ERR_OWNER_DIED,
                                            .clamps = true};
    bool is_back = jzx__permits_release(permits_of(source), back, me);
    JZX_ASSERT(is_back);
}

/* P4. */
static void vacate(struct jzx__source *source, struct jzx__wait_link *link,
                   struct jzx__worker *me) {
    struct jzx__permits *permits = permits_of(source);
    (void)link;
    if (JZX__MUTANT(permits_not_vacated))
        return;
    jzx__lock_acquire(&permits->lock);
    serve(permits, me);
}

void jzx__permits_init(struct jzx__permits *permits, uint32_t available, uint32_t max) {
    static const struct jzx__source_ops ops = {
        .look = look, .take = take, .give_back = give_back, .vacate = vacate};
    jzx__lock_init(&permits->lock);
    jzx__source_init(&permits->source, &permits->lock, &ops);
    permits->max = max;
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&permits->word, (uint64_t)available);
}

bool jzx__permits_deinit(struct jzx__permits *permits) {
    jzx__lock_acquire(&permits->lock);
    bool is_empty = jzx__list_is_empty(&permits->source.waiting);
    jzx__lock_release(&permits->lock);
    if (is_empty)
        jzx__lock_deinit(&permits->lock);
    return is_empty;
}
