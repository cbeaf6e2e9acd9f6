/* SPDX-License-Identifier: MIT */
/* A loop that is destroyed with blocks of a pool in use says which pool, how large they are, and
 * how many. That ends the process: each pool has a child process here. */
#include "base/leak.h"

#include "actor/loop.h"
#include "child.h"
#include "fixture.h"
#include "future/home.h"
#include "op/op.h"
#include "timer/timer.h"

#include <jzx/future.h>

#include <stdio.h>

static void leak_from_the_slabs(jzx_loop *loop) {
    for (uint32_t class_index = 1; class_index < 3; class_index++)
        (void)jzx__sched_alloc(&loop->sched, NULL, class_index);
    (void)jzx__sched_alloc(&loop->sched, loop->sched.workers[1], 1);
}

static void leak_a_cold_record(jzx_loop *loop) {
    (void)jzx__sched_alloc(&loop->sched, loop->sched.workers[0], JZX__SLAB_RECORD);
}

static void leak_timers(jzx_loop *loop) {
    struct jzx__timer_pool *pool = jzx__timer_pool_of(loop);
    for (uint32_t i = 0; i < 3; i++)
        (void)jzx__timer_alloc(pool, jzx__timer_cache_of(loop->sched.workers[i % 2]));
    (void)jzx__timer_alloc(pool, NULL);
}

static void leak_an_operation(jzx_loop *loop) {
    (void)jzx__op_slot_alloc(jzx__op_slots_of(loop), NULL);
}

static void leak_an_actor(jzx_loop *loop) {
    jzx_err err;
    (void)jzx__table_acquire(&loop->table, jzx__slots_of(loop->sched.workers[0]), &err);
}

/* The block alone: a future that somebody has keeps its home, and the hooks see that. */
static void leak_a_future(jzx_loop *loop) {
    struct jzx__future_home *home = jzx__future_home_of(loop);
    uint8_t class_index;
    (void)jzx__future_alloc(home, NULL, 96, &class_index);
    home->live--;
}

static const struct {
    void (*leak)(jzx_loop *loop);
    const char *text;
} ways[] = {
    {leak_from_the_slabs, "2 blocks of 128 bytes leaked from the slabs of a loop"},
    {leak_a_cold_record, "1 blocks of 384 bytes leaked from the slabs of a loop"},
    {leak_timers, "4 blocks of 64 bytes leaked from the records of timers"},
    {leak_an_operation, "1 blocks of 192 bytes leaked from the slots of operations"},
    {leak_an_actor, "1 blocks of 128 bytes leaked from the table of actors"},
    {leak_a_future, "1 blocks of 96 bytes leaked from the slabs of futures"},
};

static size_t way;

/* More than a batch comes and goes before, in magazines of the worker and of other threads. */
static void use_pools(jzx_loop *loop) {
    static void *blocks[1000];
    for (uint32_t i = 0; i < 1000; i++)
        blocks[i] = jzx__sched_alloc(&loop->sched, i % 3 ? NULL : loop->sched.workers[0], 1);
    for (uint32_t i = 0; i < 1000; i++)
        jzx__sched_free(&loop->sched, i % 2 ? NULL : loop->sched.workers[1], 1, blocks[i]);
    struct jzx__timer_pool *pool = jzx__timer_pool_of(loop);
    for (uint32_t i = 0; i < 1000; i++)
        blocks[i] = jzx__timer_alloc(pool, jzx__timer_cache_of(loop->sched.workers[0]));
    for (uint32_t i = 0; i < 1000; i++)
        jzx__timer_free(pool, i % 3 ? NULL : jzx__timer_cache_of(loop->sched.workers[1]),
                        blocks[i]);
}

static void destroy_a_loop(void) {
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 2));
    use_pools(loop);
    if (way < sizeof ways / sizeof ways[0])
        ways[way].leak(loop);
    jzx_loop_destroy(loop);
}

JZX_TEST(the_end_of_a_loop_says_which_pool_has_leaked_and_how_much) {
    for (way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        struct child_end end = run_in_child(destroy_a_loop);
        if (!JZX_EXPECT(child_aborted(&end, ways[way].text)))
            fprintf(stderr, "not \"%s\": %s\n", ways[way].text, end.text);
    }
    struct child_end end = run_in_child(destroy_a_loop); /* the same without a leak */
    JZX_EXPECT_EQ(end.status, 0);
    JZX_EXPECT_EQ(strlen(end.text), 0);
}
