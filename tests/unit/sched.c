/* SPDX-License-Identifier: MIT */
/* A scheduler takes its settings from the configuration and all its memory from the hooks, on
 * whatever thread it is asked. */
#include "rig.h"

#include <pthread.h>

JZX_TEST(a_scheduler_is_set_up_from_its_configuration) {
    static struct jzx__sched sched;
    static const struct jzx__feed_ops urgent = {.take = rig_take, .ends_pass = true};
    static const struct jzx__task_ops ops = {
        .run_ready = rig_run_ready,
        .free_slot = rig_free_slot,
        .worker_size = sizeof(struct jzx__worker),
        .feeds = {[RIG_FEED] = &rig_feed_ops, [RIG_FEED + 1] = &urgent}};
    jzx_config config =
        JZX_CONFIG(.allocator = fixture_allocator(), .max_msgs_per_actor = 3,
                   .max_actors_per_tick = 5, .max_async_drain = 7, .workers = 3,
                   .local_queue_size = 16, .thread_name = "rig", .global_queue_size = 9,
                   .steal_batch = 11, .spare_threads_max = 13);
    JZX_EXPECT(jzx__sched_init(&sched, &config, &ops));
    JZX_EXPECT_EQ(sched.msgs_per_turn, 3);
    JZX_EXPECT_EQ(sched.turns_per_pass, 5);
    JZX_EXPECT_EQ(sched.drain_max, 7);
    JZX_EXPECT_EQ(sched.global_max, 9);
    JZX_EXPECT_EQ(sched.steal_max, 11);
    JZX_EXPECT_EQ(sched.crew.spare_max, 13);
    JZX_EXPECT(sched.ops.run_ready == ops.run_ready && sched.ops.free_slot == ops.free_slot);
    JZX_EXPECT_EQ(sched.feed_count, RIG_FEED + 2);
    JZX_EXPECT_EQ(sched.pass_enders, 1u << (RIG_FEED + 1));
    JZX_EXPECT(!jzx__sched_is_stopped(&sched));
    JZX_EXPECT_EQ(sched.worker_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        JZX_EXPECT(sched.workers[i]->sched == &sched);
        JZX_EXPECT_EQ(sched.workers[i]->index, i);
        JZX_EXPECT(!jzx__worker_has_work(sched.workers[i]));
    }
    jzx__sched_deinit(&sched);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(a_scheduler_that_is_told_to_stop_is_stopped) {
    rig_open();
    JZX_EXPECT(!jzx__sched_is_stopped(&rig.sched));
    jzx__sched_close(&rig.sched);
    JZX_EXPECT(jzx__sched_is_stopped(&rig.sched));
    rig_close();
}

JZX_TEST(a_thread_keeps_its_foreign_cache) {
    rig_open();
    struct jzx__foreign *mine = jzx__sched_foreign(&rig.sched);
    JZX_EXPECT(mine >= rig.sched.foreign && mine < rig.sched.foreign + JZX__FOREIGN_COUNT);
    for (int i = 0; i < 10; i++)
        JZX_EXPECT(jzx__sched_foreign(&rig.sched) == mine);
    rig_close();
}

JZX_TEST(blocks_of_the_worker_and_of_other_threads_are_of_their_class, "C17") {
    rig_open();
    for (uint32_t c = 0; c < JZX__SLAB_CLASS_COUNT; c++) {
        unsigned char *own = jzx__sched_alloc(&rig.sched, rig_worker(), c);
        unsigned char *foreign = jzx__sched_alloc(&rig.sched, NULL, c);
        assert_non_null(own);
        assert_non_null(foreign);
        memset(own, 1, jzx__slab_class_size(c));
        memset(foreign, 2, jzx__slab_class_size(c));
        for (size_t i = 0; i < jzx__slab_class_size(c); i++)
            JZX_EXPECT(own[i] == 1 && foreign[i] == 2);
        jzx__sched_free(&rig.sched, rig_worker(), c, own);
        JZX_EXPECT(jzx__sched_alloc(&rig.sched, rig_worker(), c) == own);
        jzx__sched_free(&rig.sched, NULL, c, foreign);
        JZX_EXPECT(jzx__sched_alloc(&rig.sched, NULL, c) == foreign);
        jzx__sched_free(&rig.sched, rig_worker(), c, own);
        jzx__sched_free(&rig.sched, NULL, c, foreign);
    }
    rig_close();
}

JZX_TEST(without_memory_neither_the_worker_nor_another_thread_gets_a_block, "C17") {
    rig_open();
    fixture_fail_allocations(0, 2);
    JZX_EXPECT(jzx__sched_alloc(&rig.sched, NULL, 0) == NULL);
    JZX_EXPECT(jzx__sched_alloc(&rig.sched, rig_worker(), 0) == NULL);
    void *foreign = jzx__sched_alloc(&rig.sched, NULL, 0);
    void *own = jzx__sched_alloc(&rig.sched, rig_worker(), 0);
    fixture_fail_allocations(UINT64_MAX, 0);
    assert_non_null(foreign);
    assert_non_null(own);
    jzx__sched_free(&rig.sched, NULL, 0, foreign);
    jzx__sched_free(&rig.sched, rig_worker(), 0, own);
    rig_close();
}

/* ---- threads ---- */

#define THREAD_COUNT 12

static uint64_t rounds;

/* Eight places with a block each, of all classes: each block is exchanged for a new one in turn. */
static void *exchange_blocks(void *ctx) {
    uintptr_t stamp = (uintptr_t)ctx;
    uintptr_t *held[8] = {NULL};
    for (uint64_t i = 0; i < rounds; i++) {
        uint32_t place = (uint32_t)(i * 5 % 8);
        uint32_t class_index = place % JZX__SLAB_CLASS_COUNT;
        if (held[place] != NULL) {
            JZX_EXPECT_EQ(*held[place], stamp);
            jzx__sched_free(&rig.sched, NULL, class_index, held[place]);
        }
        held[place] = jzx__sched_alloc(&rig.sched, NULL, class_index);
        if (!JZX_EXPECT(held[place] != NULL))
            return NULL;
        *held[place] = stamp;
    }
    for (uint32_t place = 0; place < 8; place++)
        jzx__sched_free(&rig.sched, NULL, place % JZX__SLAB_CLASS_COUNT, held[place]);
    return NULL;
}

JZX_TEST(threads_that_share_the_foreign_caches_never_share_a_block) {
    pthread_t threads[THREAD_COUNT];
    rig_open();
    rounds = jzx_test_rounds(10000, 100000);
    for (uintptr_t i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, exchange_blocks, (void *)(i + 1)), 0);
    for (int i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    rig_close();
}

/* K6: two CPUs, and how many of them the awake workers use. */
JZX_TEST(a_worker_is_woken_for_a_cpu_that_a_blocked_one_leaves_and_not_for_one_that_a_turn_uses,
         "E6") {
    struct jzx__sched sched;
    static const struct jzx__task_ops ops = {.worker_size = sizeof(struct jzx__worker)};
    jzx_config config = JZX_CONFIG(.allocator = fixture_allocator(), .workers = 4,
                                   .local_queue_size = 4, .thread_name = "test");
    JZX_EXPECT(jzx__sched_init(&sched, &config, &ops));
    sched.cpu_count = 2;
    jzx__atomic_store_relaxed(&sched.active, 2u);
    JZX_EXPECT(!jzx__sched_has_idle(&sched));
    jzx__atomic_store_relaxed(&sched.blocked, 1u);
    JZX_EXPECT(jzx__sched_has_idle(&sched));
    jzx__atomic_store_relaxed(&sched.strays, 1u);
    JZX_EXPECT(!jzx__sched_has_idle(&sched));
    jzx__atomic_store_relaxed(&sched.blocked, 3u); /* a figure of an earlier moment */
    JZX_EXPECT(jzx__sched_has_idle(&sched));
    jzx__sched_deinit(&sched);
}
