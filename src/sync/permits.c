/* SPDX-License-Identifier: MIT */
/* Taking, waiting and handing over (P1-P6 of permits.h). */
#include "sync/permits.h"

static struct jzx__permits *permits_of(struct jzx__source *source) {
    return JZX_CONTAINER_OF(source, struct jzx__permits, source);
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

/* Apart from the short way: true if one of those in the list lives. */
static JZX_COLD bool has_living(struct jzx__source *source) {
    (void)jzx__source_drop_doomed(source); /* P6 */
    return !jzx__list_is_empty(&source->waiting);
}

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    struct jzx__permits *permits = permits_of(source);
    if (!jzx__list_is_empty(&source->waiting) && has_living(source))
        return JZX__CAUSE_NONE; /* P1, P2 */
    return announce(permits, link->slot) ? JZX__CAUSE_NONE : JZX__CAUSE_ITEM;
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
    } while (!jzx__atomic_cas_acq_rel(
        &permits->word, &word, jzx__permits_without(word, want) & ~(uint64_t)JZX__PERMITS_WAITING));
    want->result = jzx__permits_result(word);
    return true;
}

/* One step of handing over; the caller has the lock, and WAITING is set. False if there is nobody
 * left who can be served. */
static bool serve_one(struct jzx__permits *permits, struct jzx__wake *wake) {
    struct jzx__list *waiting = &permits->source.waiting;
    uint64_t word = jzx__permits_word(permits); /* stable: P1 */
    *wake = (struct jzx__wake){.fn = NULL};
    if (!jzx__list_is_empty(waiting)) {
        struct jzx__wait_link *first =
            JZX_CONTAINER_OF(waiting->ring.next, struct jzx__wait_link, at_source);
        struct jzx__permit_want *want = first->slot;
        if (jzx__permits_available(word) < want->count) {
            if (!jzx__source_drop_doomed(&permits->source))
                return false; /* P2 */
        } else if (jzx__source_claim_first(&permits->source, JZX__CAUSE_ITEM, wake) != NULL) {
            want->result = jzx__permits_result(word);
            word = jzx__permits_without(word, want);
        }
    }
    if (jzx__list_is_empty(waiting))
        word &= ~(uint64_t)JZX__PERMITS_WAITING;
    /* release: pairs with try; who had these permits before has seen to that with its own */
    jzx__atomic_store_release(&permits->word, word);
    return !jzx__list_is_empty(waiting);
}

/* The caller has the lock, which is released. */
static void serve(struct jzx__permits *permits, struct jzx__worker *me) {
    for (;;) {
        struct jzx__wake wake = {.fn = NULL};
        bool goes_on =
            (jzx__permits_word(permits) & JZX__PERMITS_WAITING) != 0 && serve_one(permits, &wake);
        if (goes_on)
            jzx__refs_add(&permits->refs); /* those that are left may leave meanwhile */
        jzx__lock_release(&permits->lock);
        jzx__wake_make(&wake, me);
        if (!goes_on)
            return;
        jzx__lock_acquire(&permits->lock);
        jzx__refs_drop(&permits->refs);
    }
}

/* ---- releasing ---- */

bool jzx__permits_release_and_serve(struct jzx__permits *permits,
                                    const struct jzx__permit_return *back, struct jzx__worker *me) {
    jzx__lock_acquire(&permits->lock);
    enum jzx__put_back result = jzx__permits_put_back(permits, back, true);
    serve(permits, me);
    return result == JZX__PUT_BACK;
}

/* P3. Meanwhile others may have added as many as there may be. */
static void give_back(struct jzx__source *source, struct jzx__wait_link *link,
                      struct jzx__worker *me) {
    const struct jzx__permit_want *want = link->slot;
    const struct jzx__permit_return back = {.count = want->count,
                                            .holders = want->holders,
                                            .died = want->result == JZX_ERR_OWNER_DIED,
                                            .clamps = true};
    bool is_back = jzx__permits_release(permits_of(source), &back, me);
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
    static const struct jzx__source_ops ops = {.look = look,
                                               .take = take,
                                               .give_back = give_back,
                                               .vacate = vacate,
                                               .refs_at =
                                                   JZX__REFS_AT(struct jzx__permits, source, refs)};
    jzx__lock_init(&permits->lock);
    jzx__source_init(&permits->source, &permits->lock, &ops);
    permits->max = max;
    /* relaxed, both: not shared yet */
    jzx__atomic_store_relaxed(&permits->refs, 0u);
    jzx__atomic_store_relaxed(&permits->word, (uint64_t)available);
}

bool jzx__permits_deinit(struct jzx__permits *permits) {
    jzx__lock_acquire(&permits->lock);
    bool is_used = jzx__source_has_refs(&permits->source);
    jzx__lock_release(&permits->lock);
    if (is_used)
        return false;
    jzx__source_deinit(&permits->source);
    jzx__lock_deinit(&permits->lock);
    return true;
}
