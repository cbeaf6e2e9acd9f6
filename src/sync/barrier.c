/* SPDX-License-Identifier: MIT */
/* The barrier. Who comes last begins the next round, and lets those pass that wait.
 *
 *   R1  a round is over when enough parties stand in the list that are not doomed (waiter/A10). The
 *       last one marks all in the list: they have passed, whatever ended their wait.
 *   R2  `arrived` counts those that have arrived, have not passed, and have not been taken back:
 *       by themselves (vacate), or by a later one that found them doomed. So a round that it says
 *       is far from over needs no look at the list.
 *   R3  those of earlier rounds that were not claimed yet are in `passing`; whoever came last
 *       claims them, or, if it is killed before it goes on, the part that ends it (give_back). */
#include "sync/signal.h"
#include "sync/to.h"

struct barrier {
    struct jzx__signal signal;  /* first */
    struct jzx__source passing; /* R3 */
    uint32_t parties;           /* never changes */

    /* Under the lock. */
    uint32_t arrived; /* R2 */
};

_Static_assert(sizeof(struct barrier) <= sizeof(jzx_barrier), "fits its storage");

/* One that arrives: the slot of its link, in its frame. Under the lock. */
struct arrival {
    bool is_counted; /* R2; it takes itself back */
    bool is_last;
    bool has_passed; /* R1 */
};

static struct barrier *barrier_of(const jzx_barrier *storage) {
    return jzx__object_of(storage, JZX__SYNC_BARRIER);
}

/* Under the lock. Takes the doomed out, so that each is found once. */
static bool is_last_to_come(struct barrier *barrier) {
    struct jzx__link *end = &barrier->signal.source.waiting.ring;
    uint32_t living = 0;
    if (barrier->arrived + 1 < barrier->parties)
        return false;
    for (struct jzx__link *at = end->next, *next; at != end; at = next) {
        struct jzx__wait_link *link = JZX_CONTAINER_OF(at, struct jzx__wait_link, at_source);
        struct arrival *arrival = link->slot;
        next = at->next;
        if (!jzx__wait_link_drop_doomed(link)) {
            living++;
            continue;
        }
        arrival->is_counted = false;
        barrier->arrived--;
    }
    return living + 1 >= barrier->parties; /* R1 */
}

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    struct barrier *barrier = JZX_CONTAINER_OF(source, struct barrier, signal.source);
    struct arrival *arrival = link->slot;
    if (is_last_to_come(barrier))
        return JZX__CAUSE_ITEM;
    barrier->arrived++;
    arrival->is_counted = true;
    return JZX__CAUSE_NONE;
}

static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    struct barrier *barrier = JZX_CONTAINER_OF(source, struct barrier, signal.source);
    struct arrival *arrival = link->slot;
    (void)wake;
    arrival->is_last = true;
    struct jzx__link *end = &source->waiting.ring;
    for (struct jzx__link *at = end->next; at != end; at = at->next) {
        struct arrival *other = JZX_CONTAINER_OF(at, struct jzx__wait_link, at_source)->slot;
        other->has_passed = true;
        barrier->arrived--;
    }
    jzx__list_splice(&barrier->passing.waiting, &source->waiting);
    return true;
}

static void let_pass(struct barrier *barrier, struct jzx__worker *me) {
    jzx__source_wake_all(&barrier->passing, JZX__CAUSE_ITEM, me);
}

static void give_back(struct jzx__source *source, struct jzx__wait_link *link,
                      struct jzx__worker *me) {
    const struct arrival *arrival = link->slot;
    if (arrival->is_last)
        let_pass(JZX_CONTAINER_OF(source, struct barrier, signal.source), me);
}

static void vacate(struct jzx__source *source, struct jzx__wait_link *link,
                   struct jzx__worker *me) {
    struct barrier *barrier = JZX_CONTAINER_OF(source, struct barrier, signal.source);
    struct arrival *arrival = link->slot;
    (void)me;
    if (!arrival->is_counted)
        return;
    jzx__lock_acquire(&barrier->signal.lock);
    barrier->arrived -= !arrival->has_passed;
    jzx__lock_release(&barrier->signal.lock);
}

jzx_err jzx_barrier_init(jzx_loop *loop, jzx_barrier *storage, uint32_t parties) {
    static const struct jzx__source_ops ops = {.look = look,
                                               .take = take,
                                               .give_back = give_back,
                                               .vacate = vacate,
                                               .refs_at = JZX__SIGNAL_REFS_AT};
    static const struct jzx__source_ops passing_ops = {
        .refs_at = JZX__REFS_AT(struct barrier, passing, signal.refs)};
    struct barrier *barrier = (struct barrier *)(void *)storage;
    if (parties == 0)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__signal_init((void *)storage, loop, JZX__SYNC_BARRIER, &ops);
    if (err != JZX_OK)
        return err;
    jzx__source_init(&barrier->passing, &barrier->signal.lock, &passing_ops);
    barrier->parties = parties;
    barrier->arrived = 0;
    return JZX_OK;
}

jzx_err jzx_barrier_deinit(jzx_barrier *storage) {
    struct barrier *barrier = barrier_of(storage);
    return jzx__signal_deinit(barrier == NULL ? NULL : &barrier->signal);
}

static jzx_err arrive(struct jzx__party *party, struct barrier *barrier, uint64_t deadline_ns,
                      bool *is_last) {
    struct arrival arrival = {.is_counted = false};
    struct jzx__wait_link link = {.source = &barrier->signal.source, .slot = &arrival};
    const struct jzx__event event = {
        .kind = JZX_WAIT_SIGNAL, .object = (uintptr_t)barrier, .links = &link, .count = 1};
    jzx__refs_add(&barrier->signal.refs);
    jzx_err err = jzx__cause_err(jzx__party_await(party, &event, deadline_ns));
    if (arrival.is_last)
        let_pass(barrier, party->me);
    jzx__refs_drop(&barrier->signal.refs);
    if (arrival.has_passed)
        err = JZX_OK;
    if (err == JZX_OK && is_last != NULL)
        *is_last = arrival.is_last;
    return err;
}

jzx_err jzx_barrier_arrive(jzx_context *ctx, jzx_barrier *storage, uint64_t deadline_ns,
                           bool *is_last) {
    struct barrier *barrier = barrier_of(storage);
    struct jzx__party party;
    if (barrier == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err =
        jzx__party_begin_fiber(&party, &barrier->signal.object, ctx, "jzx_barrier_arrive");
    if (err != JZX_OK)
        return err;
    err = arrive(&party, barrier, deadline_ns, is_last);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx_barrier_arrive_wait(jzx_barrier *storage, uint64_t deadline_ns, bool *is_last) {
    struct barrier *barrier = barrier_of(storage);
    struct jzx__party party;
    if (barrier == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err =
        jzx__party_begin_thread(&party, &barrier->signal.object, "jzx_barrier_arrive_wait");
    if (err != JZX_OK)
        return err;
    err = arrive(&party, barrier, deadline_ns, is_last);
    jzx__party_end(&party);
    return err;
}

/* ---- as an operation ---- */

struct arrive_to {
    struct jzx__to to; /* first */
    struct jzx__wait_link link;
    struct arrival arrival;
    struct barrier *barrier;
};

/* It has arrived then, whatever becomes of the message. */
static jzx_err settle(struct jzx__to *to, jzx_err err, struct jzx__worker *me, size_t *len) {
    const struct arrive_to *it = (void *)to;
    bool *is_last = jzx__to_data(to);
    if (it->arrival.is_last)
        let_pass(it->barrier, me);
    if (it->arrival.has_passed)
        err = JZX_OK;
    *is_last = it->arrival.is_last;
    *len = err == JZX_OK ? sizeof *is_last : 0;
    return err;
}

static const struct jzx__to_kind arrive_kind = {.settle = settle};

jzx_err jzx_barrier_arrive_to(jzx_context *ctx, jzx_barrier *storage, uint32_t tag, jzx_op *op) {
    struct barrier *barrier = barrier_of(storage);
    struct jzx__to_call call;
    if (barrier == NULL)
        return JZX_ERR_INVALID_ARG;
    const struct jzx__to_spec spec = {.object = &barrier->signal.object,
                                      .kind = &arrive_kind,
                                      .record_size = sizeof(struct arrive_to),
                                      .capacity = sizeof(bool),
                                      .tag = tag};
    jzx_err err = jzx__to_begin(&call, &spec, ctx);
    if (err != JZX_OK)
        return err;
    struct arrive_to *it = (void *)call.to;
    it->barrier = barrier;
    it->link = (struct jzx__wait_link){.source = &barrier->signal.source, .slot = &it->arrival};
    jzx__to_start(&call, &it->link, 1, op);
    return JZX_OK;
}
