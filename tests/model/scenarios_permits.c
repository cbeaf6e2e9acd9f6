/* SPDX-License-Identifier: MIT */
/* src/sync/permits.c: threads that take permits the short way, and wait for them, against those
 * that release them, deadlines, and a party that gives back what it was handed.
 *
 * What every scenario checks: no permit is lost or made (P3), no more are out than there are, what
 * is done with a permit is visible to who has it next, and nobody waits beside permits that are
 * enough for it (P1, P2, P4), which the engine reports as a thread that sleeps for ever. */
#include "scenarios.h"

#include "sync/permits.h"

#include "base/clock.h"

#include "jzx/time.h"

#include <string.h>

#define O(number) ((uint64_t)1 << (number))

#define PARTIES_MAX 3

struct party {
    struct jzx__waiter waiter;
    struct jzx__wait_link link;
    struct jzx__permit_want want;
};

static struct {
    struct jzx__permits permits;
    struct party parties[PARTIES_MAX];
    unsigned come; /* parties */
    struct jzx__clock clock;
    uint32_t max;
    unsigned inside;  /* of those that take all: plain memory, which the permits guard */
    unsigned taken;   /* times that somebody got what it wanted */
    unsigned waited;  /* of them, after a wait */
    unsigned died;    /* told of a death */
    unsigned timeout; /* waits without permits */
    unsigned kept;    /* permits */
} s;

static void release(uint32_t count, bool died) {
    const struct jzx__permit_return back = {.count = count, .died = died};
    MODEL_ASSERT(jzx__permits_release(&s.permits, &back, NULL));
}

/* In the hands of the only one. */
static void use(const struct jzx__permit_want *want) {
    s.taken++;
    s.died += want->result == JZX_ERR_OWNER_DIED;
    if (want->count != s.max) {
        model_plain_read(&s.inside);
        MODEL_ASSERT(s.inside == 0);
        return;
    }
    model_plain_write(&s.inside);
    MODEL_ASSERT(s.inside++ == 0);
    s.inside--;
}

/* As jzx__take_permits on a thread; NULL if time was over. */
static struct party *take(uint32_t count, uint64_t deadline_ns) {
    struct party *party = &s.parties[s.come++];
    uint32_t cause;
    party->want = (struct jzx__permit_want){.count = count};
    if (jzx__permits_try(&s.permits, &party->want))
        return party;
    jzx__waiter_init_thread(&party->waiter);
    do {
        party->link = jzx__permits_link(&s.permits, &party->want);
        jzx__waiter_begin(&party->waiter, (struct jzx__wait_what){"permits", 0, 0});
        jzx__waiter_join(&party->waiter, &party->link, 1, NULL);
        if (deadline_ns == 0)
            (void)jzx__waiter_withdraw(&party->waiter, JZX__CAUSE_TIMEOUT);
        else if (jzx__waiter_arm(&party->waiter) == JZX__ARM_SUSPEND)
            jzx__waiter_block(&party->waiter, &s.clock, deadline_ns);
        cause = jzx__waiter_end(&party->waiter);
    } while (jzx__cause_kind(cause) == JZX__CAUSE_AGAIN);
    jzx__sources_vacate(&party->link, 1, cause, NULL);
    bool has_item = jzx__cause_kind(cause) == JZX__CAUSE_ITEM;
    s.waited += has_item;
    s.timeout += !has_item;
    return has_item ? party : NULL;
}

static void take_and_release(uint32_t count, uint64_t deadline_ns, bool dies) {
    struct party *party = take(count, deadline_ns);
    if (party == NULL)
        return;
    use(&party->want);
    release(count, dies);
}

/* ---- threads ---- */

static void lock_all(void) {
    take_and_release(s.max, JZX_NEVER, false);
}

static void lock_until(void) {
    take_and_release(s.max, 5, false);
}

static void lock_and_give_up(void) {
    take_and_release(s.max, 0, false);
}

static void read_one(void) {
    take_and_release(1, JZX_NEVER, false);
}

/* Until all is over. */
static void read_and_keep(void) {
    struct party *party = take(1, JZX_NEVER);
    use(&party->want);
    s.kept++;
}

/* Its owner ends with it. */
static void lock_and_die(void) {
    take_and_release(s.max, JZX_NEVER, true);
}

static void try_all(void) {
    struct jzx__permit_want want = {.count = s.max};
    if (jzx__permits_try(&s.permits, &want)) {
        use(&want);
        release(s.max, false);
    }
}

/* Was handed it, and is killed before it knows: as the part of a fiber does. */
static void lock_and_be_killed(void) {
    struct party *party = take(s.max, JZX_NEVER);
    party->link = jzx__permits_link(&s.permits, &party->want);
    s.taken++;
    s.permits.source.ops->give_back(&s.permits.source, &party->link, NULL);
}

/* ---- setting up, and the end ---- */

static void set_up(uint32_t max) {
    jzx__clock_init_manual(&s.clock, 1);
    s.clock.is_real = true; /* a deadline passes when the engine lets a futex time out */
    s.max = max;
    jzx__permits_init(&s.permits, max, max);
}

static void set_up_mutex(void) {
    set_up(1);
}

static void set_up_rwlock(void) {
    set_up(2);
}

static void check_all_back(void) {
    uint64_t word = jzx__permits_word(&s.permits);
    MODEL_ASSERT(jzx__permits_available(word) == s.max - s.kept);
    MODEL_ASSERT((word & JZX__PERMITS_WAITING) == 0);
    jzx__source_deinit(&s.permits.source);
}

/* How many had to wait. */
static void check_waits(void) {
    check_all_back();
    model_outcome(s.waited);
}

static void check_timeouts(void) {
    check_all_back();
    MODEL_ASSERT(s.taken + s.timeout == 3);
    model_outcome(s.timeout);
}

/* The second has heard of the death, or the word still knows; or it came before. */
static void check_death(void) {
    check_all_back();
    bool is_known = (jzx__permits_word(&s.permits) & JZX__PERMITS_DIED) != 0;
    MODEL_ASSERT(s.died + is_known == 1);
    model_outcome(s.died);
}

#define PERMITS .state = &s, .state_size = sizeof s

const struct model_scenario model_permits[] = {
    {.name = "permits_hand_over",
     .about = "P1, P3: the short way against the hand-over",
     .setup = set_up_mutex,
     .threads = {lock_all, lock_all},
     .check = check_waits,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 3},
     PERMITS},
    {.name = "permits_three",
     .about = "P1: one waits, one tries, one releases",
     .setup = set_up_mutex,
     .threads = {lock_all, lock_all, try_all},
     .check = check_waits,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 2, .stale = 2},
     PERMITS},
    {.name = "permits_against_timeout",
     .about = "P3: a wait that has timed out has nothing, and the next gets it",
     .setup = set_up_mutex,
     .threads = {lock_all, lock_until, lock_all},
     .check = check_timeouts,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 2},
     PERMITS},
    {.name = "permits_in_the_way",
     .about = "P2, P4: a writer that gives up lets the reader behind it go",
     .setup = set_up_rwlock,
     .threads = {read_and_keep, lock_and_give_up, read_one},
     .check = check_timeouts,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 2},
     PERMITS},
    {.name = "permits_owner_dies",
     .about = "P5: one is told, once",
     .setup = set_up_mutex,
     .threads = {lock_and_die, lock_all},
     .check = check_death,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 3},
     PERMITS},
    {.name = "permits_given_back",
     .about = "P3: a party that is killed gives back",
     .setup = set_up_mutex,
     .threads = {lock_all, lock_and_be_killed, lock_all},
     .check = check_waits,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 2, .stale = 2},
     PERMITS},
};
const size_t model_permits_count = sizeof model_permits / sizeof *model_permits;
