/* SPDX-License-Identifier: MIT */
/* The work-stealing deque with its owner and many thieves at once: each item is taken exactly once,
 * thieves get the oldest first, and who takes an item sees what its owner wrote into it. Made for
 * ThreadSanitizer: the bodies of items are plain data, and takers write to them. */
#include "base/deque.h"

#include "base/alloc.h"
#include "base/rng.h"

#include "jzx_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define THIEVES_MAX 7u
#define STEAL_BATCH 32u

struct item {
    uint64_t number;
    uint64_t body;          /* what the owner computed from the number, before the push */
    uint64_t taker;         /* written by who takes it */
    _Atomic uint32_t taken; /* how often */
};

struct storm;

/* How an owner works its items off, until all were pushed. */
typedef void (*owner_plan)(struct storm *storm, struct jzx__rng *rng);

struct storm {
    struct jzx__deque deque;
    struct item *items;
    uint64_t item_count;
    uint64_t pushed;      /* the owner's */
    _Atomic bool is_over; /* the owner has pushed everything */
    _Atomic uint32_t ready;
};

struct thief {
    struct storm *storm;
    uint64_t index; /* from 1; the owner is 0 */
    uint64_t taken;
    uint64_t lost;
    uint64_t last_number;
    uint64_t largest_batch;
};

static uint64_t body_of(uint64_t number) {
    return (number + 1) * 0x9E3779B97F4A7C15u;
}

/* relaxed: the item itself must be made visible by the deque, so nothing else may order it */
static void take(struct item *item, uint64_t taker) {
    JZX_EXPECT_EQ(jzx__atomic_add_relaxed(&item->taken, 1), 0);
    JZX_EXPECT_EQ(item->body, body_of(item->number));
    item->taker = taker;
}

/* ---- the owner ---- */

static void push(struct storm *storm) {
    struct item *item = &storm->items[storm->pushed];
    item->number = storm->pushed;
    item->body = body_of(storm->pushed);
    if (JZX_EXPECT(jzx__deque_push(&storm->deque, item)))
        storm->pushed++;
}

static bool pop(struct storm *storm) {
    struct item *item = jzx__deque_pop(&storm->deque);
    if (item != NULL)
        take(item, 0);
    return item != NULL;
}

/* Bursts of pushes and of pops, of any length: the deque is full, nearly empty and empty by turns.
 */
static void push_and_pop_in_bursts(struct storm *storm, struct jzx__rng *rng) {
    while (storm->pushed < storm->item_count) {
        uint64_t pushes = 1 + jzx__rng_below(rng, 1u << jzx__rng_below(rng, 8));
        for (uint64_t i = 0; i < pushes && storm->pushed < storm->item_count; i++)
            push(storm);
        uint64_t pops = jzx__rng_below(rng, 1u << jzx__rng_below(rng, 8));
        for (uint64_t i = 0; i < pops && pop(storm); i++)
            continue;
    }
}

/* One or two items at a time: they are always the last ones. */
static void pop_what_was_pushed(struct storm *storm, struct jzx__rng *rng) {
    while (storm->pushed < storm->item_count) {
        push(storm);
        if (storm->pushed < storm->item_count && jzx__rng_below(rng, 2) == 0)
            push(storm);
        while (pop(storm))
            continue;
    }
}

/* All at once, so that the array grows under the thieves' hands. */
static void push_everything(struct storm *storm, struct jzx__rng *rng) {
    while (storm->pushed < storm->item_count) {
        push(storm);
        if (jzx__rng_below(rng, 64) == 0)
            pop(storm);
    }
}

/* ---- thieves ---- */

/* Whether it may be worth to go on. */
static bool steal_one(struct thief *thief) {
    void *found = NULL;
    enum jzx__steal_result result = jzx__deque_steal(&thief->storm->deque, &found);
    if (result == JZX__STEAL_GOT) {
        struct item *item = found;
        take(item, thief->index);
        /* Later pushes have larger numbers and later places, whatever the owner pops. */
        JZX_EXPECT(thief->taken == 0 || item->number > thief->last_number);
        thief->last_number = item->number;
        thief->taken++;
    }
    thief->lost += result == JZX__STEAL_LOST;
    return result != JZX__STEAL_EMPTY;
}

/* As a scheduler does: half of what is there, at most 32, one by one. False if there was nothing.
 */
static bool steal_half(struct thief *thief) {
    uint64_t half = (jzx__deque_count(&thief->storm->deque) + 1) / 2;
    uint64_t batch = half < STEAL_BATCH ? half : STEAL_BATCH;
    uint64_t before = thief->taken;
    while (thief->taken - before < batch && steal_one(thief))
        continue;
    uint64_t got = thief->taken - before;
    JZX_EXPECT(got <= STEAL_BATCH);
    thief->largest_batch = got > thief->largest_batch ? got : thief->largest_batch;
    return got != 0;
}

static void *steal_until_over(void *arg) {
    struct thief *thief = arg;
    struct storm *storm = thief->storm;
    bool over = false;
    bool got = true;
    jzx__atomic_add_acq_rel(&storm->ready, 1);
    while (got || !over) {
        over = jzx__atomic_load_acquire(&storm->is_over); /* before the look that finds nothing */
        got = thief->index % 2 == 0 ? steal_half(thief) : steal_one(thief);
        if (!got)
            sched_yield();
    }
    return NULL;
}

/* ---- a storm ---- */

struct sums {
    uint64_t stolen;
    uint64_t lost;
    uint64_t largest_batch;
};

static struct sums run_storm(uint32_t thief_count, uint32_t capacity, uint64_t item_count,
                             owner_plan plan, uint64_t seed) {
    struct storm storm = {.item_count = item_count};
    struct thief thieves[THIEVES_MAX];
    pthread_t threads[THIEVES_MAX];
    struct jzx__rng rng;
    struct sums sums = {0, 0, 0};
    jzx__rng_init(&rng, seed);
    assert_true(jzx__deque_init(&storm.deque, capacity, &jzx__allocator_default));
    assert_non_null(storm.items = calloc(item_count, sizeof *storm.items));
    for (uint32_t i = 0; i < thief_count; i++) {
        thieves[i] = (struct thief){.storm = &storm, .index = i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, steal_until_over, &thieves[i]), 0);
    }
    while (jzx__atomic_load_acquire(&storm.ready) < thief_count)
        sched_yield();
    plan(&storm, &rng);
    jzx__atomic_store_release(&storm.is_over, true);
    for (uint32_t i = 0; i < thief_count; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        sums.stolen += thieves[i].taken;
        sums.lost += thieves[i].lost;
        if (thieves[i].largest_batch > sums.largest_batch)
            sums.largest_batch = thieves[i].largest_batch;
    }
    JZX_EXPECT_EQ(jzx__deque_count(&storm.deque), 0);
    JZX_EXPECT(jzx__deque_pop(&storm.deque) == NULL);
    for (uint64_t i = 0; i < item_count; i++)
        JZX_EXPECT_EQ(jzx__atomic_load_relaxed(&storm.items[i].taken), 1);
    free(storm.items);
    jzx__deque_deinit(&storm.deque);
    return sums;
}

/* Rounds of at most so many items, with fresh ones in each, to keep the memory bounded. */
#define ROUND_ITEMS 50000u

static struct sums run_storms(uint32_t thief_count, uint32_t capacity, uint64_t item_count,
                              owner_plan plan) {
    struct sums all = {0, 0, 0};
    for (uint64_t done = 0; done < item_count; done += ROUND_ITEMS) {
        uint64_t count = item_count - done < ROUND_ITEMS ? item_count - done : ROUND_ITEMS;
        struct sums sums = run_storm(thief_count, capacity, count, plan, done + thief_count);
        all.stolen += sums.stolen;
        all.lost += sums.lost;
        if (sums.largest_batch > all.largest_batch)
            all.largest_batch = sums.largest_batch;
    }
    print_message("%u thieves: %llu of %llu items stolen, %llu tries lost, batches of up to %llu\n",
                  thief_count, (unsigned long long)all.stolen, (unsigned long long)item_count,
                  (unsigned long long)all.lost, (unsigned long long)all.largest_batch);
    return all;
}

JZX_TEST(each_item_is_taken_once_by_its_owner_or_one_of_many_thieves, "D9", "D10", "X1") {
    uint64_t count = jzx_test_rounds(100000, 2000000);
    for (uint32_t thieves = 1; thieves <= THIEVES_MAX; thieves++)
        run_storms(thieves, 64, count, push_and_pop_in_bursts);
}

JZX_TEST(the_last_item_is_taken_by_one_of_all_who_want_it, "D9", "X1") {
    uint64_t count = jzx_test_rounds(200000, 4000000);
    run_storms(1, 2, count, pop_what_was_pushed);
    run_storms(3, 2, count, pop_what_was_pushed);
}

JZX_TEST(an_array_grows_under_thieves_and_no_item_is_lost, "D9", "X1") {
    uint64_t count = jzx_test_rounds(200000, 4000000);
    run_storms(1, 1, count, push_everything);
    run_storms(4, 1, count, push_everything);
}
