/* SPDX-License-Identifier: MIT */
/* Finding an object by its reference, compared with an array whose index is checked: what a program
 * would do that never frees anything. */
#include "bench.h"

#include <stdlib.h>

#define OBJECTS 10000u

struct object {
    uint64_t number;
    uint64_t rest[2]; /* so that a slot is half a cache line */
};

JZX_POOL(object, struct object)
JZX_SHARED_POOL(common, struct object)

/* The order in which both sides look; the same for each. */
static uint32_t order[OBJECTS];

static uint64_t sum_of(uint64_t size) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < size % OBJECTS; i++)
        sum += order[i];
    return sum + size / OBJECTS * ((uint64_t)OBJECTS * (OBJECTS - 1) / 2);
}

/* ---- pool-get ---- */

static double get_all(const object_pool *pool, const object_ref *refs, uint64_t size) {
    uint64_t sum = 0;
    double start = bench_now();
    for (uint64_t done = 0; done < size;) {
        uint64_t count = size - done < OBJECTS ? size - done : OBJECTS;
        for (uint64_t i = 0; i < count; i++) {
            const struct object *found = object_pool_get(pool, refs[i]);
            if (found == NULL)
                bench_fail("a reference is stale");
            sum += found->number;
        }
        done += count;
    }
    double seconds = bench_now() - start;
    BENCH_CHECK_EQUAL(sum, sum_of(size));
    return seconds;
}

static void run_get(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static object_ref made[OBJECTS];
    static object_ref refs[OBJECTS];
    object_pool *pool = NULL;
    (void)loop;
    BENCH_CHECK(object_pool_create(OBJECTS, NULL, &pool) == JZX_OK);
    bench_order(order, OBJECTS, true);
    for (uint32_t i = 0; i < OBJECTS; i++)
        BENCH_CHECK(object_pool_new(pool, &(struct object){.number = i}, &made[i]) == JZX_OK);
    for (uint32_t i = 0; i < OBJECTS; i++)
        refs[i] = made[order[i]];
    run->seconds = get_all(pool, refs, size);
    run->ops = size;
    BENCH_CHECK(object_pool_destroy(pool) == JZX_OK);
}

static void run_array(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct object *objects = malloc(OBJECTS * sizeof *objects);
    uint64_t sum = 0;
    size_t length = OBJECTS;
    static uint64_t indices[OBJECTS];
    (void)loop;
    BENCH_CHECK(objects != NULL);
    bench_order(order, OBJECTS, true);
    for (uint32_t i = 0; i < OBJECTS; i++) {
        objects[i] = (struct object){.number = i};
        indices[i] = order[i];
    }
    __asm__("" : "+r"(length)); /* read from somewhere, as the length of a pool is */
    double start = bench_now();
    for (uint64_t done = 0; done < size;) {
        uint64_t count = size - done < OBJECTS ? size - done : OBJECTS;
        for (uint64_t i = 0; i < count; i++) {
            if (indices[i] >= length)
                bench_fail("an index is wrong");
            sum += objects[indices[i]].number;
        }
        done += count;
    }
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(sum, sum_of(size));
    free(objects);
}

const struct bench bench_pool_get = {
    .name = "pool-get",
    .op = "one of 10,000 objects, found by its reference; alone: by an index that is checked",
    .checked = "the sum of what was found",
    .batch = "all",
    .kind = BENCH_ONE,
    .run = run_get,
    .alone = run_array,
    .size = 50000000,
    .payload = 0,
    .aim = -1,
    .ratio_limit = 2,
};

/* ---- pool-new and pool-shared: a new object in place of the oldest of 64 ---- */

#define RING 64u

static void run_new(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    object_ref ring[RING] = {{JZX_NO_REF}};
    object_pool *pool = NULL;
    uint64_t freed = 0;
    (void)loop;
    BENCH_CHECK(object_pool_create(OBJECTS, NULL, &pool) == JZX_OK);
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++) {
        freed += object_pool_free(pool, ring[i % RING]);
        BENCH_CHECK(object_pool_new(pool, &(struct object){.number = i}, &ring[i % RING]) ==
                    JZX_OK);
    }
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(freed, size - RING);
    BENCH_CHECK(object_pool_destroy(pool) == JZX_OK);
}

const struct bench bench_pool_new = {
    .name = "pool-new",
    .op = "object made, and the oldest of 64 freed",
    .checked = "how many were freed",
    .batch = "64",
    .kind = BENCH_ONE,
    .run = run_new,
    .size = 10000000,
    .size_min = RING,
    .payload = 0,
    .aim = -1,
};

static void run_shared(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static common_ref refs[OBJECTS];
    common_pool *pool = NULL;
    uint64_t sum = 0;
    (void)loop;
    BENCH_CHECK(common_pool_create(OBJECTS, NULL, &pool) == JZX_OK);
    bench_order(order, OBJECTS, true);
    for (uint32_t i = 0; i < OBJECTS; i++) {
        struct object object = {.number = order[i]};
        BENCH_CHECK(common_pool_new(pool, &object, &refs[i]) == JZX_OK);
    }
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++) {
        struct object copy;
        BENCH_CHECK(common_pool_get(pool, refs[i % OBJECTS], &copy));
        sum += copy.number;
    }
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(sum, sum_of(size));
    BENCH_CHECK(common_pool_destroy(pool) == JZX_OK);
}

const struct bench bench_pool_shared = {
    .name = "pool-shared",
    .op = "copy of one of 10,000 objects of a pool for any thread, taken by one",
    .checked = "the sum of what was found",
    .batch = "all",
    .kind = BENCH_ONE,
    .run = run_shared,
    .size = 4000000,
    .payload = 0,
    .aim = -1,
};
