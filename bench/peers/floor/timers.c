/* SPDX-License-Identifier: MIT */
/* Timers in plain C: a hierarchical wheel of 1 ms with intrusive records from a pool that only
 * grows. A record is the message, too: when it is due it goes to its actor's mailbox, and the actor
 * runs after the tick. No ids, no bounds, no order between levels. */
#include "floor.h"

#include "../../order.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define TICK_NS 1000000u
#define BATCH 64u
#define HUGE_PAGE ((size_t)2 << 20)

/* Slots of the levels: 256 of a tick, 64 and 64. */
#define BITS_0 8u
#define BITS 6u
#define MASK_0 ((1u << BITS_0) - 1)
#define MASK ((1u << BITS) - 1)

/* Two in a cache line. */
struct timer {
    struct timer *next;
    struct timer *prev;
    uint64_t value;
    uint32_t tick;
    uint32_t to; /* of actors */
};

struct actor {
    struct timer *head;
    struct timer **tail;
    void (*behavior)(struct actor *self, const struct timer *message);
    uint64_t *seen; /* a bit for each timer */
    uint64_t got;
};

static struct actor actors[1];

/* Only the links of a slot are used. */
static struct timer slots_0[1u << BITS_0];
static struct timer slots_1[1u << BITS];
static struct timer slots_2[1u << BITS];
static uint64_t epoch_ns; /* the time of tick 0 */
static uint32_t tick;     /* that was fired last */

static struct timer *pool;
static struct timer *pool_end;
static struct timer *free_timers;

/* ---- time, from the epoch ---- */

static inline uint64_t elapsed_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - epoch_ns;
}

static void sleep_until_tick(uint32_t until) {
    uint64_t ns = epoch_ns + (uint64_t)until * TICK_NS;
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {
    }
}

/* Of the process, user and system. */
static double cpu_seconds(void) {
    struct rusage usage;
    check(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage");
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* ---- the wheel ---- */

static void init_slots(struct timer *slots, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        slots[i].next = slots[i].prev = &slots[i];
}

static void init(uint64_t timers_max, void (*behavior)(struct actor *, const struct timer *)) {
    init_slots(slots_0, 1u << BITS_0);
    init_slots(slots_1, 1u << BITS);
    init_slots(slots_2, 1u << BITS);
    epoch_ns = elapsed_ns();
    size_t bytes = (timers_max * sizeof *pool + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    pool = aligned_alloc(HUGE_PAGE, bytes);
    check(pool != NULL, "timers: memory");
    madvise(pool, bytes, MADV_HUGEPAGE); /* if it can be had */
    pool_end = pool;
    actors[0] = (struct actor){.tail = &actors[0].head, .behavior = behavior};
}

static inline struct timer *slot_for(uint32_t at) {
    uint32_t ticks = at - tick;
    if (ticks < 1u << BITS_0)
        return &slots_0[at & MASK_0];
    if (ticks < 1u << (BITS_0 + BITS))
        return &slots_1[at >> BITS_0 & MASK];
    return &slots_2[at >> (BITS_0 + BITS) & MASK];
}

static inline void place(struct timer *timer) {
    struct timer *slot = slot_for(timer->tick);
    timer->next = slot;
    timer->prev = slot->prev;
    slot->prev->next = timer;
    slot->prev = timer;
}

static inline struct timer *set(uint32_t to, uint64_t due_ns, uint64_t value) {
    struct timer *timer = free_timers;
    if (timer != NULL)
        free_timers = timer->next;
    else
        timer = pool_end++;
    timer->tick = (uint32_t)((due_ns + TICK_NS - 1) / TICK_NS);
    timer->to = to;
    timer->value = value;
    place(timer);
    return timer;
}

static inline void release(struct timer *timer) {
    timer->next = free_timers;
    free_timers = timer;
}

static inline void cancel(struct timer *timer) {
    timer->next->prev = timer->prev;
    timer->prev->next = timer->next;
    release(timer);
}

static void cascade(struct timer *slot) {
    struct timer *timer = slot->next;
    slot->next = slot->prev = slot;
    while (timer != slot) {
        struct timer *next = timer->next;
        place(timer);
        timer = next;
    }
}

/* Brings the records of a slot into the cache. From both ends, as then two misses overlap: waiting
 * for memory is most of what firing costs. */
static void fetch(const struct timer *slot) {
    const struct timer *first = slot->next;
    const struct timer *last = slot->prev;
    while (first != last && first->next != last) {
        first = first->next;
        last = last->prev;
    }
    __asm__ volatile("" : : "r"(first), "r"(last)); /* or the loop has no effect */
}

static void run(struct actor *actor) {
    struct timer *message;
    while ((message = actor->head) != NULL) {
        actor->head = message->next;
        if (actor->head == NULL)
            actor->tail = &actor->head;
        actor->behavior(actor, message);
        release(message);
    }
}

static void fire_tick(void) {
    tick++;
    if ((tick & MASK_0) == 0) {
        if ((tick >> BITS_0 & MASK) == 0)
            cascade(&slots_2[tick >> (BITS_0 + BITS) & MASK]);
        cascade(&slots_1[tick >> BITS_0 & MASK]);
    }
    struct timer *slot = &slots_0[tick & MASK_0];
    fetch(slot);
    struct timer *timer = slot->next;
    slot->next = slot->prev = slot;
    while (timer != slot) {
        struct timer *next = timer->next;
        struct actor *to = &actors[timer->to];
        timer->next = NULL;
        *to->tail = timer;
        to->tail = &timer->next;
        timer = next;
    }
    run(&actors[0]);
}

static void fire_due(void) {
    for (uint64_t due = elapsed_ns() / TICK_NS; tick < due;)
        fire_tick();
}

/* ---- timer-fire ---- */

/* A value is the time that was asked for and the number of the timer. */
#define NUMBER_BITS 20u

/* Timers that may be handled without a look at the clock. */
#define LOOK_EVERY 64u

static uint64_t looked_ns; /* the time of the last look: not later than now */

static void count_once(struct actor *self, const struct timer *message) {
    uint64_t number = message->value & ((1u << NUMBER_BITS) - 1);
    uint64_t bit = (uint64_t)1 << number % 64;
    uint64_t asked_ns = message->value >> NUMBER_BITS;
    if (looked_ns < asked_ns || self->got % LOOK_EVERY == 0) /* or it is not early anyway */
        looked_ns = elapsed_ns();
    check(looked_ns >= asked_ns, "timer-fire: none is early");
    check((self->seen[number / 64] & bit) == 0, "timer-fire: each comes once");
    self->seen[number / 64] |= bit;
    self->got++;
}

void row_timer_fire(uint64_t size, struct result *result) {
    struct actor *actor = &actors[0];
    uint64_t random = BENCH_SEED;
    check(size <= 1u << NUMBER_BITS, "timer-fire: the size");
    double start = cpu_seconds();
    init(size, count_once);
    actor->seen = calloc(size / 64 + 1, sizeof *actor->seen);
    check(actor->seen != NULL, "timer-fire: memory");
    for (uint64_t i = 0; i < size;) {
        uint64_t from = elapsed_ns();
        for (unsigned k = 0; k < BATCH && i < size; k++, i++) {
            uint64_t due = from + bench_delay_ms(&random, 1, 1000) * TICK_NS;
            set(0, due, due << NUMBER_BITS | i);
        }
        fire_due();
    }
    while (actor->got < size) {
        sleep_until_tick(tick + 1);
        fire_due();
    }
    result->seconds = cpu_seconds() - start;
    result->ops = size;
    free(actor->seen);
    free(pool);
}

/* ---- timer-cancel ---- */

static void fail(struct actor *self, const struct timer *message) {
    (void)self;
    (void)message;
    check(false, "timer-cancel: none comes");
}

void row_timer_cancel(uint64_t size, struct result *result) {
    struct timer *timers[BATCH];
    uint64_t random = BENCH_SEED;
    init(BATCH, fail);
    double start = now();
    for (uint64_t left = size; left != 0;) {
        unsigned count = left < BATCH ? (unsigned)left : BATCH;
        uint64_t from = elapsed_ns();
        for (unsigned i = 0; i < count; i++)
            timers[i] = set(0, from + bench_delay_ms(&random, 1000, 60000) * TICK_NS, i);
        for (unsigned i = 0; i < count; i++)
            cancel(timers[i]);
        fire_due();
        left -= count;
    }
    result->seconds = now() - start;
    result->ops = size;
    check(pool_end - pool <= BATCH, "timer-cancel: all were cancelled");
    free(pool);
}
