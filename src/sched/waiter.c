/* SPDX-License-Identifier: MIT */
/* Joining and leaving sources, deadlines, the sources' side, wakers and dumps. The edges of the
 * word are in the header. */
#include "sched/waiter.h"

#include "base/clock.h"
#include "base/futex.h"
#include "sched/worker.h"

#include "jzx/time.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- the waiting party ---- */

/* The source has something for the link: the party claims its own wait, and takes it. */
static void take(struct jzx__waiter *waiter, struct jzx__wait_link *link, enum jzx__cause_kind kind,
                 struct jzx__wake *wake) {
    uint32_t cause = jzx__cause_make(kind, link->index);
    if (jzx__waiter_claim(waiter, link->epoch, cause) == JZX__CLAIM_LOST)
        return;
    if (kind == JZX__CAUSE_ITEM && !link->source->ops->take(link->source, link, wake))
        jzx__waiter_revoke(waiter, link->index);
}

/* Queues the link, or takes what is there for it. True if it is queued. */
static bool join_one(struct jzx__waiter *waiter, struct jzx__wait_link *link,
                     struct jzx__worker *me) {
    struct jzx__source *source = link->source;
    struct jzx__wake wake = {.fn = NULL};
    jzx__touch(link);
    link->waiter = waiter;
    link->epoch = jzx__waiter_epoch(waiter);
    link->at_source.next = NULL;
    jzx__lock_acquire(source->lock);
    enum jzx__cause_kind kind = source->ops->look(source, link);
    if (kind == JZX__CAUSE_NONE)
        jzx__list_push_back(&source->waiting, &link->at_source);
    else
        take(waiter, link, kind, &wake);
    jzx__lock_release(source->lock);
    jzx__wake_make(&wake, me);
    return kind == JZX__CAUSE_NONE;
}

void jzx__waiter_join(struct jzx__waiter *waiter, struct jzx__wait_link *links, uint32_t count,
                      struct jzx__worker *me) {
    JZX_ASSERT(count <= JZX__WAIT_LINKS_MAX);
    JZX_ASSERT(waiter->joined == 0);
    waiter->links = links;
    while (waiter->joined < count && jzx__waiter_cause(waiter) == 0) {
        jzx__touch(&waiter->joined);
        struct jzx__wait_link *link = &links[waiter->joined++];
        if (!join_one(waiter, link, me))
            return;
    }
}

void jzx__waiter_queue(struct jzx__waiter *waiter, struct jzx__wait_link *link) {
    JZX_ASSERT(waiter->joined == 0);
    jzx__touch(link);
    link->waiter = waiter;
    link->epoch = jzx__waiter_epoch(waiter);
    jzx__list_push_back(&link->source->waiting, &link->at_source);
    waiter->links = link;
    waiter->joined = 1;
}

static struct jzx__served_source *served_source_of(struct jzx__source *source) {
    JZX_ASSERT(source->ops->serves);
    return JZX_CONTAINER_OF(source, struct jzx__served_source, source);
}

/* Under the source's lock, whether or not the source has taken the link out: what the source did
 * with link, slot and waiter is over then, and visible (A5). A party that takes is served no longer
 * (A12). */
static void leave_one(struct jzx__wait_link *link, bool takes) {
    struct jzx__source *source = link->source;
    if (JZX__MUTANT(waiter_leaves_without_lock) && link->at_source.next == NULL)
        return;
    jzx__lock_acquire(source->lock);
    jzx__touch(link);
    if (link->at_source.next != NULL)
        jzx__list_remove(&link->at_source);
    else if (source->ops->serves && (takes || JZX__MUTANT(waiter_killed_party_takes)))
        (void)jzx__source_take_back(served_source_of(source), link);
    link->at_source.next = NULL;
    jzx__lock_release(source->lock);
}

static inline uint32_t end_wait(struct jzx__waiter *waiter, bool takes) {
    JZX_ASSERT(jzx__waiter_cause(waiter) != 0);
    jzx__touch(&waiter->joined);
    while (waiter->joined != 0)
        leave_one(&waiter->links[--waiter->joined], takes);
    if (waiter->wheel != NULL && jzx__wheel_is_set(&waiter->deadline))
        jzx__wheel_remove(waiter->wheel, &waiter->deadline);
    waiter->wheel = NULL;
    return jzx__waiter_settle(waiter);
}

uint32_t jzx__waiter_end(struct jzx__waiter *waiter) {
    return end_wait(waiter, true);
}

uint32_t jzx__waiter_end_killed(struct jzx__waiter *waiter) {
    return end_wait(waiter, false);
}

/* ---- deadlines ---- */

void jzx__waiter_set_deadline(struct jzx__waiter *waiter, struct jzx__wheel *wheel, uint64_t tick) {
    JZX_ASSERT(waiter->wheel == NULL); /* A7 */
    waiter->deadline.info = jzx__wheel_info(JZX__WHEEL_WAITER, JZX__WHEEL_NOWHERE, 0);
    waiter->wheel = wheel;
    waiter->due_tick = tick;
}

bool jzx__waiter_expire(struct jzx__waiter *waiter, uint64_t tick, struct jzx__worker *me) {
    JZX_ASSERT(waiter->wheel != NULL && !jzx__wheel_is_set(&waiter->deadline)); /* A7 */
    if (tick < waiter->due_tick)
        return false;
    /* On the home worker, where end is, too: the wait is still the one that it was set for. */
    (void)jzx__waiter_cancel(waiter, jzx__waiter_epoch(waiter), JZX__CAUSE_TIMEOUT, me);
    return true;
}

/* ---- cancelling from outside ---- */

bool jzx__waiter_cancel(struct jzx__waiter *waiter, uint32_t epoch, enum jzx__cause_kind kind,
                        struct jzx__worker *me) {
    struct jzx__wake wake = waiter->wake; /* fixed; after the claim the waiter is its party's */
    enum jzx__claim_result result = jzx__waiter_claim(waiter, epoch, jzx__cause_make(kind, 0));
    if (result == JZX__CLAIM_WAKE)
        jzx__wake_make(&wake, me);
    return result != JZX__CLAIM_LOST;
}

/* ---- sources ---- */

void jzx__source_init(struct jzx__source *source, struct jzx__lock *lock,
                      const struct jzx__source_ops *ops) {
    source->lock = lock;
    source->ops = ops;
    jzx__list_init(&source->waiting);
}

void jzx__source_deinit(struct jzx__source *source) {
    JZX_ASSERT(jzx__list_is_empty(&source->waiting));
}

void jzx__mortal_init(struct jzx__mortal *mortal, const struct jzx__task *task, uint32_t generation,
                      uint32_t fatal) {
    mortal->waiter.is_mortal = true;
    mortal->task = task;
    mortal->generation = generation;
    mortal->fatal = fatal;
}

bool jzx__mortal_is_doomed(const struct jzx__mortal *mortal) {
    /* relaxed: a request that the caller has made or heard of is seen; others have no order */
    uint64_t state = jzx__atomic_load_relaxed(&mortal->task->state);
    return jzx__state_generation(state) != mortal->generation || (state & mortal->fatal) != 0;
}

/* Under the lock of a source that has the link. */
static bool is_doomed(const struct jzx__wait_link *link) {
    return link->waiter->is_mortal &&
           jzx__mortal_is_doomed(JZX_CONTAINER_OF(link->waiter, struct jzx__mortal, waiter));
}

/* The link is out of its list, whose lock the caller has. False if its wait is over, or nobody will
 * go on with it (A10). */
static bool claim_link(struct jzx__wait_link *link, enum jzx__cause_kind kind,
                       struct jzx__wake *wake) {
    uint32_t cause = jzx__cause_make(kind, link->index);
    jzx__touch(link);
    link->at_source.next = NULL;
    if (is_doomed(link))
        return false;
    enum jzx__claim_result result = jzx__waiter_claim(link->waiter, link->epoch, cause);
    if (result == JZX__CLAIM_WAKE) {
        jzx__touch(&link->waiter->wake);
        *wake = link->waiter->wake;
    }
    return result != JZX__CLAIM_LOST || JZX__MUTANT(waiter_loser_gets_it);
}

/* Of a list whose links are under one lock, which the caller has. */
static struct jzx__wait_link *claim_first(struct jzx__list *waiting, enum jzx__cause_kind kind,
                                          struct jzx__wake *wake) {
    struct jzx__link *at_source;
    *wake = (struct jzx__wake){.fn = NULL};
    while ((at_source = jzx__list_pop_front(waiting)) != NULL) {
        struct jzx__wait_link *link = JZX_CONTAINER_OF(at_source, struct jzx__wait_link, at_source);
        if (claim_link(link, kind, wake))
            return link;
    }
    return NULL;
}

struct jzx__wait_link *jzx__source_claim(struct jzx__source *source, enum jzx__cause_kind kind,
                                         struct jzx__wake *wake) {
    return claim_first(&source->waiting, kind, wake);
}

struct jzx__wait_link *jzx__source_claim_first(struct jzx__source *source,
                                               enum jzx__cause_kind kind, struct jzx__wake *wake) {
    struct jzx__link *at_source = jzx__list_pop_front(&source->waiting);
    struct jzx__wait_link *link = JZX_CONTAINER_OF(at_source, struct jzx__wait_link, at_source);
    *wake = (struct jzx__wake){.fn = NULL};
    return claim_link(link, kind, wake) ? link : NULL;
}

struct jzx__wait_link *jzx__source_serve(struct jzx__served_source *source,
                                         struct jzx__wake *wake) {
    JZX_ASSERT(source->source.ops->serves);
    *wake = (struct jzx__wake){.fn = NULL};
    if (source->served != NULL && !JZX__MUTANT(waiter_serves_two))
        return NULL;
    source->served = jzx__source_claim(&source->source, JZX__CAUSE_ITEM, wake);
    return source->served;
}

bool jzx__source_take_back(struct jzx__served_source *source, const struct jzx__wait_link *link) {
    if (source->served != link)
        return false;
    source->served = NULL;
    return true;
}

bool jzx__wait_link_drop_doomed(struct jzx__wait_link *link) {
    if (!is_doomed(link))
        return false;
    jzx__touch(link);
    jzx__list_remove(&link->at_source);
    link->at_source.next = NULL;
    return true;
}

bool jzx__source_drop_doomed(struct jzx__source *source) {
    struct jzx__list *waiting = &source->waiting;
    bool dropped = false;
    while (!jzx__list_is_empty(waiting) &&
           jzx__wait_link_drop_doomed(
               JZX_CONTAINER_OF(waiting->ring.next, struct jzx__wait_link, at_source)))
        dropped = true;
    return dropped;
}

void jzx__sources_vacate(struct jzx__wait_link *links, uint32_t count, uint32_t cause,
                         struct jzx__worker *me) {
    bool has_item = jzx__cause_kind(cause) == JZX__CAUSE_ITEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct jzx__source_ops *ops = links[i].source->ops;
        if (ops->vacate != NULL && !(has_item && links[i].index == jzx__cause_index(cause)))
            ops->vacate(links[i].source, &links[i], me);
    }
}

uint32_t jzx__source_unlock_and_wake_all(struct jzx__source *source, enum jzx__cause_kind kind,
                                         struct jzx__worker *me) {
    struct jzx__lock *lock = source->lock;
    _Atomic uint32_t *refs = NULL;
    struct jzx__list batch; /* under the lock as well: a party takes its link out of it, too */
    struct jzx__wake wake;
    uint32_t count = 0;
    jzx__list_init(&batch);
    jzx__list_splice(&batch, &source->waiting);
    while (claim_first(&batch, kind, &wake) != NULL) {
        bool was_last = jzx__list_is_empty(&batch); /* nobody is added to it */
        if (!was_last) {
            if (count == 0) /* the source is there still */
                refs = jzx__source_refs(source);
            if (!JZX__MUTANT(waiter_batch_unreferenced))
                jzx__refs_add(refs); /* those that are left may leave meanwhile */
        }
        jzx__lock_release(lock);
        jzx__wake_make(&wake, me);
        count++;
        if (was_last)
            return count;
        jzx__lock_acquire(lock);
        if (!JZX__MUTANT(waiter_batch_unreferenced))
            jzx__refs_drop(refs);
    }
    jzx__lock_release(lock);
    return count;
}

uint32_t jzx__source_wake_all(struct jzx__source *source, enum jzx__cause_kind kind,
                              struct jzx__worker *me) {
    jzx__lock_acquire(source->lock);
    return jzx__source_unlock_and_wake_all(source, kind, me);
}

/* ---- wakers ---- */

/* True if the caller owns the task, and the task is not in a turn. */
static bool is_at_rest(struct jzx__task *task, const struct jzx__worker *me) {
    if (me == NULL || !jzx__worker_owns(me, task))
        return false;
    return (task->place != JZX__RUNNING && task->place != JZX__AWAY) ||
           JZX__MUTANT(waiter_not_nudged_in_turn);
}

void jzx__wake_task(void *who, struct jzx__worker *me) {
    struct jzx__task *task = who;
    if (is_at_rest(task, me))
        jzx__worker_ready(me, task);
    else if (jzx__task_nudge(task) == JZX__PUSH_OK_INJECT)
        jzx__task_inject(task, me);
}

/* The half of the word with cause and phase: all that changes while the party sleeps. */
static _Atomic uint32_t *futex_of(struct jzx__waiter *waiter) {
    uintptr_t word = (uintptr_t)&waiter->word;
    return (_Atomic uint32_t *)(word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0));
}

/* An address is all that is needed: the thread may have gone on, and its frame may be gone. */
static void wake_thread(void *who, struct jzx__worker *me) {
    (void)me;
    jzx__futex_wake(who);
}

void jzx__waiter_init_thread(struct jzx__waiter *waiter) {
    jzx__waiter_init(waiter, wake_thread, futex_of(waiter));
}

static const uint32_t armed_half = (uint32_t)JZX__WAIT_ARMED; /* cause 0 */

/* False if the time is over. */
static bool sleep_while_armed(struct jzx__waiter *waiter, const struct jzx__clock *clock,
                              uint64_t deadline_ns) {
    if (deadline_ns == JZX_NEVER)
        return jzx__futex_wait(futex_of(waiter), armed_half, 0);
    uint64_t now_ns = jzx__clock_now(clock);
    return now_ns < deadline_ns &&
           jzx__futex_wait(futex_of(waiter), armed_half, deadline_ns - now_ns);
}

/* The deadline of a thread at a clock that is moved by hand, in the frame of the wait. */
struct alarm {
    struct jzx__clock_user user; /* first */
    struct jzx__waiter *waiter;
    struct jzx__clock clock;
    uint32_t epoch;
    uint64_t deadline_ns;
};

/* The clock was moved, and is locked: the alarm has not left it, so the waiter is there. */
static void look_at_clock(struct jzx__clock_user *user) {
    struct alarm *alarm = (struct alarm *)(void *)user;
    if (jzx__clock_now(&alarm->clock) >= alarm->deadline_ns)
        (void)jzx__waiter_cancel(alarm->waiter, alarm->epoch, JZX__CAUSE_TIMEOUT, NULL);
}

static void sleep_by_hand(struct jzx__waiter *waiter, struct jzx_clock *clock,
                          uint64_t deadline_ns) {
    struct alarm alarm = {.user.wake = look_at_clock,
                          .waiter = waiter,
                          .epoch = jzx__waiter_epoch(waiter),
                          .deadline_ns = deadline_ns};
    jzx__clock_join(&alarm.clock, clock, &alarm.user);
    look_at_clock(&alarm.user); /* it may have been moved before */
    while (jzx__waiter_cause(waiter) == 0)
        (void)sleep_while_armed(waiter, &alarm.clock, JZX_NEVER);
    jzx__clock_leave(clock, &alarm.user);
}

void jzx__waiter_block(struct jzx__waiter *waiter, const struct jzx__clock *clock,
                       uint64_t deadline_ns) {
    if (deadline_ns != JZX_NEVER && !clock->is_real) {
        JZX_ASSERT(clock->shared != NULL);
        sleep_by_hand(waiter, clock->shared, deadline_ns);
        return;
    }
    while (jzx__waiter_cause(waiter) == 0) {
        if (!sleep_while_armed(waiter, clock, deadline_ns))
            (void)jzx__waiter_withdraw(waiter, JZX__CAUSE_TIMEOUT);
    }
}

/* ---- dumps ---- */

bool jzx__waiter_glance(const struct jzx__waiter *waiter, struct jzx__wait_what *what) {
    /* acquire: pairs with begin; what it shows is of that wait, or of a later one */
    uint64_t word = jzx__atomic_load_acquire(&waiter->word);
    if (jzx__wait_phase(word) == JZX__WAIT_IDLE)
        return false;
    /* acquire, the three: pairs with begin; if one is of a later wait, so is the word below */
    what->kind = jzx__atomic_load_acquire(&waiter->kind);
    what->object = jzx__atomic_load_acquire(&waiter->object);
    what->since_ns = jzx__atomic_load_acquire(&waiter->since_ns);
    /* relaxed: see above */
    return jzx__wait_epoch(jzx__atomic_load_relaxed(&waiter->word)) == jzx__wait_epoch(word);
}

int jzx__wait_describe(const struct jzx__wait_what *what, uint64_t now_ns, char *text,
                       size_t size) {
    uint64_t waited_ns = now_ns > what->since_ns ? now_ns - what->since_ns : 0;
    return snprintf(text, size, "waits for %s %" PRIu64 " since %" PRIu64 ".%" PRIu64 " s",
                    what->kind, what->object, waited_ns / JZX_SECOND(1),
                    waited_ns % JZX_SECOND(1) / JZX_MS(100));
}
