/* SPDX-License-Identifier: MIT */
/* Slabs and their depot: the arithmetic of the classes, blocks that never overlap (S1), batches
 * that travel between slabs, memory that stays bounded (S2), and failing allocations (S3). */
#include "base/slab.h"

#include "base/mpsc.h"

#include "fixture.h"
#include "seeds.h"

#include <pthread.h>
#include <string.h>

struct pool {
    jzx_allocator allocator;
    struct jzx__depot depot;
    struct jzx__slab slabs[2];
};

static void pool_init(struct pool *pool) {
    pool->allocator = fixture_allocator();
    jzx__depot_init(&pool->depot, &pool->allocator, "a pool");
    jzx__slab_init(&pool->slabs[0], &pool->depot);
    jzx__slab_init(&pool->slabs[1], &pool->depot);
}

static void pool_deinit(struct pool *pool) {
    jzx__depot_deinit(&pool->depot);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* ---- classes ---- */

JZX_TEST(a_size_has_the_class_of_the_smallest_block_that_holds_it) {
    for (size_t size = 0; size <= JZX__BLOCK_SIZE_MAX; size++) {
        uint32_t class_index = jzx__slab_class(size);
        if (!JZX_EXPECT(class_index < JZX__SLAB_CLASS_COUNT))
            continue;
        JZX_EXPECT(jzx__slab_class_size(class_index) >= size);
        JZX_EXPECT(class_index == 0 || jzx__slab_class_size(class_index - 1) < size);
    }
}

JZX_TEST(a_size_above_the_largest_block_has_no_class) {
    JZX_EXPECT_EQ(jzx__slab_class(JZX__BLOCK_SIZE_MAX), JZX__SLAB_CLASS_COUNT - 1);
    JZX_EXPECT_EQ(jzx__slab_class(JZX__BLOCK_SIZE_MAX + 1), JZX__SLAB_CLASS_COUNT);
    JZX_EXPECT_EQ(jzx__slab_class((size_t)1 << 32), JZX__SLAB_CLASS_COUNT);
    JZX_EXPECT_EQ(jzx__slab_class(((size_t)1 << 32) + 1), JZX__SLAB_CLASS_COUNT);
    JZX_EXPECT_EQ(jzx__slab_class(SIZE_MAX), JZX__SLAB_CLASS_COUNT);
}

JZX_TEST(the_classes_go_from_the_smallest_to_the_largest_block) {
    JZX_EXPECT_EQ(jzx__slab_class_size(0), JZX__BLOCK_SIZE_MIN);
    JZX_EXPECT_EQ(jzx__slab_class_size(JZX__SLAB_CLASS_COUNT - 1), JZX__BLOCK_SIZE_MAX);
    for (uint32_t i = 0; i < JZX__SLAB_CLASS_COUNT; i++) {
        JZX_EXPECT_EQ(jzx__slab_class(jzx__slab_class_size(i)), i);
        JZX_EXPECT_EQ(jzx__slab_class(jzx__slab_class_size(i) + 1), i + 1);
        JZX_EXPECT(jzx__slab_batch_count(i) >= 4);
    }
}

/* ---- blocks ---- */

#define HELD_MAX 300u

struct held {
    unsigned char *block;
    uint32_t class_index;
    unsigned char stamp;
};

struct model {
    struct pool pool;
    struct held held[HELD_MAX];
    uint32_t count;
};

static bool take_one(struct model *m, struct jzx__rng *rng) {
    uint32_t class_index = jzx__rng_below(rng, JZX__SLAB_CLASS_COUNT);
    unsigned char *block = jzx__slab_alloc(&m->pool.slabs[jzx__rng_below(rng, 2)], class_index);
    if (!JZX_EXPECT(block != NULL) || !JZX_EXPECT_EQ((uintptr_t)block % JZX_CACHE_LINE, 0))
        return false;
    unsigned char stamp = (unsigned char)jzx__rng_next(rng);
    memset(block, stamp, jzx__slab_class_size(class_index));
    m->held[m->count++] = (struct held){block, class_index, stamp};
    return true;
}

/* Nobody else wrote to the block while we had it. */
static bool is_untouched(const struct held *held) {
    for (size_t i = 0; i < jzx__slab_class_size(held->class_index); i++) {
        if (!JZX_EXPECT_EQ(held->block[i], held->stamp))
            return false;
    }
    return true;
}

static bool give_one(struct model *m, struct jzx__rng *rng) {
    uint32_t at = jzx__rng_below(rng, m->count);
    struct held held = m->held[at];
    m->held[at] = m->held[--m->count];
    bool held_it = is_untouched(&held);
    jzx__slab_free(&m->pool.slabs[jzx__rng_below(rng, 2)], held.class_index, held.block);
    return held_it;
}

static bool check_seed(struct jzx__rng *rng) {
    static struct model m;
    bool held = true;
    m.count = 0;
    pool_init(&m.pool);
    uint32_t bias = 3; /* of ten: how many are frees; swings, so that it fills and empties */
    for (int i = 0; held && i < 2000; i++) {
        if (i % 300 == 0)
            bias = 2 + jzx__rng_below(rng, 7);
        bool gives = m.count == HELD_MAX || (m.count > 0 && jzx__rng_below(rng, 10) < bias);
        held = gives ? give_one(&m, rng) : take_one(&m, rng);
    }
    while (held && m.count > 0)
        held = give_one(&m, rng);
    pool_deinit(&m.pool);
    return held;
}

JZX_TEST(random_blocks_of_two_slabs_never_overlap_and_all_memory_comes_back, "C17") {
    run_seeds("random_blocks_of_two_slabs_never_overlap_and_all_memory_comes_back",
              jzx_test_rounds(200, 1000), check_seed);
}

JZX_TEST(a_block_that_was_freed_is_the_next_one_given) {
    struct pool pool;
    pool_init(&pool);
    for (uint32_t i = 0; i < JZX__SLAB_CLASS_COUNT; i++) {
        JZX_EXPECT(!jzx__slab_has(&pool.slabs[0], i));
        void *block = jzx__slab_alloc(&pool.slabs[0], i);
        jzx__slab_free(&pool.slabs[0], i, block);
        JZX_EXPECT(jzx__slab_has(&pool.slabs[0], i));
        JZX_EXPECT(jzx__slab_alloc_easy(&pool.slabs[0], i) == block);
    }
    pool_deinit(&pool);
}

JZX_TEST(a_slab_that_has_nothing_asks_for_nothing) {
    struct pool pool;
    uint64_t before = fixture_allocations();
    pool_init(&pool);
    JZX_EXPECT_EQ(fixture_allocations(), before);
    pool_deinit(&pool);
}

/* ---- memory ---- */

#define WAVE_MAX 1000u

/* Takes a wave of blocks from one slab and frees them into the other. */
static void wave(struct jzx__slab *from, struct jzx__slab *to, uint32_t class_index,
                 uint32_t count) {
    void *blocks[WAVE_MAX];
    for (uint32_t i = 0; i < count; i++) {
        blocks[i] = jzx__slab_alloc(from, class_index);
        assert_non_null(blocks[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        jzx__slab_free(to, class_index, blocks[i]);
}

/* Allocations during 500 waves that follow ten others. */
static uint64_t growth(bool same_slab, uint32_t class_index, uint32_t count) {
    struct pool pool;
    pool_init(&pool);
    struct jzx__slab *to = &pool.slabs[same_slab ? 0 : 1];
    uint64_t settled = 0;
    for (int i = 0; i < 510; i++) {
        if (i == 10)
            settled = fixture_allocations();
        wave(&pool.slabs[0], to, class_index, count);
    }
    uint64_t grown = fixture_allocations() - settled;
    pool_deinit(&pool);
    return grown;
}

JZX_TEST(waves_of_blocks_on_one_slab_never_need_more_memory) {
    for (uint32_t i = 0; i < JZX__SLAB_CLASS_COUNT; i++) {
        uint32_t batch = jzx__slab_batch_count(i);
        JZX_EXPECT_EQ(growth(true, i, 1), 0);
        JZX_EXPECT_EQ(growth(true, i, batch + 1), 0);
        JZX_EXPECT_EQ(growth(true, i, 3 * batch + 1), 0);
    }
}

JZX_TEST(blocks_freed_on_another_slab_come_back_in_batches) {
    for (uint32_t i = 0; i < JZX__SLAB_CLASS_COUNT; i++) {
        uint32_t batch = jzx__slab_batch_count(i);
        JZX_EXPECT_EQ(growth(false, i, 1), 0);
        JZX_EXPECT_EQ(growth(false, i, batch - 1), 0);
        JZX_EXPECT_EQ(growth(false, i, 5 * batch + 3), 0);
    }
}

/* Takes so many blocks from one slab, frees them into another, and says how many of a batch that
 * the first then gets from the depot know the block that comes 8 later. */
static uint32_t hinted(struct jzx__slab *from, struct jzx__slab *to) {
    struct jzx__block *blocks[512];
    uint32_t batch = jzx__slab_batch_count(0);
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3 * batch + 1; i++) {
        blocks[i] = jzx__slab_alloc(from, 0);
        blocks[i]->ahead = (void *)blocks;
    }
    for (uint32_t i = 0; i < 3 * batch + 1; i++)
        jzx__slab_free(to, 0, blocks[i]);
    while (jzx__slab_is_stocked(from, 0))
        (void)jzx__slab_alloc(from, 0);
    for (uint32_t i = 0; i < batch; i++)
        blocks[i] = jzx__slab_alloc(from, 0);
    for (uint32_t i = 0; i < batch; i++)
        count +=
            blocks[i]->ahead == (i + JZX__SLAB_AHEAD < batch ? blocks[i + JZX__SLAB_AHEAD] : NULL);
    return count;
}

JZX_TEST(batches_that_cross_say_which_block_comes_soon) {
    struct pool pool;
    pool_init(&pool);
    for (int i = 0; i < 3; i++) /* its own come back: nobody pays for hints */
        JZX_EXPECT_EQ(hinted(&pool.slabs[0], &pool.slabs[0]), 0);
    (void)hinted(&pool.slabs[0], &pool.slabs[1]);
    (void)hinted(&pool.slabs[0], &pool.slabs[1]);
    JZX_EXPECT_EQ(hinted(&pool.slabs[0], &pool.slabs[1]), jzx__slab_batch_count(0));
    pool_deinit(&pool);
}

/* Swings of so many blocks, again and again: after the first one the depot is exchanged for
 * another, which has nothing and gets nothing. */
static void swing(struct pool *pool, uint32_t class_index, uint32_t count) {
    struct jzx__slab *slab = &pool->slabs[0];
    struct jzx__depot empty;
    wave(slab, slab, class_index, count);
    jzx__depot_init(&empty, &pool->allocator, "an empty pool");
    slab->depot = &empty;
    fixture_fail_allocations(0, UINT64_MAX);
    for (int i = 0; i < 3; i++)
        wave(slab, slab, class_index, count);
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT(empty.classes[class_index].full_batches == NULL);
    slab->depot = &pool->depot;
    jzx__depot_deinit(&empty);
}

JZX_TEST(a_load_that_swings_around_one_batch_does_not_visit_the_depot) {
    for (uint32_t c = 0; c < JZX__SLAB_CLASS_COUNT; c++) {
        uint32_t batch = jzx__slab_batch_count(c);
        uint32_t step = batch / 4;
        struct pool pool;
        pool_init(&pool);
        for (uint32_t in_use = 0; in_use <= 2 * batch; in_use += step) {
            for (uint32_t count = step; count <= batch; count += step)
                swing(&pool, c, count);
            for (uint32_t i = 0; i < step; i++)
                assert_non_null(jzx__slab_alloc(&pool.slabs[0], c));
        }
        pool_deinit(&pool);
    }
}

JZX_TEST(a_chunk_is_used_up_to_less_than_a_block_before_the_next_is_asked_for) {
    for (uint32_t c = 0; c < JZX__SLAB_CLASS_COUNT; c++) {
        struct pool pool;
        pool_init(&pool);
        uint64_t before = fixture_allocations();
        size_t used = 0;
        size_t chunk = 0;
        for (;;) {
            void *block = jzx__slab_alloc(&pool.slabs[0], c);
            assert_non_null(block);
            if (fixture_allocations() - before == 2)
                break;
            chunk = fixture_bytes();
            used += jzx__slab_class_size(c);
        }
        JZX_EXPECT(used + jzx__slab_class_size(c) + 256 > chunk);
        JZX_EXPECT(used < chunk);
        pool_deinit(&pool);
    }
}

/* However they went: over magazines, reserves and the depot, from one slab to the other. */
JZX_TEST(blocks_in_use_are_those_carved_that_no_slab_and_no_depot_has) {
    enum { COUNT = 700, KEPT = 5 };
    for (uint32_t c = 0; c <= JZX__SLAB_RECORD; c++) {
        static void *blocks[COUNT];
        struct pool pool;
        pool_init(&pool);
        for (uint32_t i = 0; i < COUNT; i++) {
            blocks[i] = jzx__slab_alloc(&pool.slabs[i % 2], c);
            assert_non_null(blocks[i]);
        }
        for (uint32_t i = KEPT; i < COUNT; i++)
            jzx__slab_free(&pool.slabs[i % 3 == 0], c, blocks[i]);
        jzx__slab_deinit(&pool.slabs[0]);
        jzx__slab_deinit(&pool.slabs[1]);
        for (uint32_t other = 0; other <= JZX__SLAB_RECORD; other++)
            JZX_EXPECT_EQ(jzx__depot_in_use(&pool.depot, other), other == c ? KEPT : 0);
        pool_deinit(&pool);
    }
}

JZX_TEST(without_memory_an_allocation_is_refused_and_works_again_afterwards, "C17") {
    struct pool pool;
    pool_init(&pool);
    for (uint32_t c = 0; c < JZX__SLAB_CLASS_COUNT; c++) {
        enum { COUNT = 3000 };
        static unsigned char *blocks[COUNT];
        uint32_t refused = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            fixture_fail_allocations(0, 2);
            blocks[i] = jzx__slab_alloc(&pool.slabs[0], c);
            if (blocks[i] == NULL) {
                refused++;
                JZX_EXPECT(jzx__slab_alloc(&pool.slabs[0], c) == NULL);
                JZX_EXPECT(!jzx__slab_is_stocked(&pool.slabs[0], c));
                blocks[i] = jzx__slab_alloc(&pool.slabs[0], c);
            }
            assert_non_null(blocks[i]);
            memset(blocks[i], (int)(i & 0xFF), jzx__slab_class_size(c));
        }
        JZX_EXPECT(refused > 0);
        fixture_fail_allocations(0, UINT64_MAX);
        for (uint32_t i = 0; i < COUNT; i++) {
            JZX_EXPECT(is_untouched(&(struct held){blocks[i], c, (unsigned char)i}));
            jzx__slab_free(&pool.slabs[i % 2], c, blocks[i]); /* a free needs no memory */
        }
        wave(&pool.slabs[0], &pool.slabs[0], c, 100); /* nor do blocks that came back */
        fixture_fail_allocations(UINT64_MAX, 0);
    }
    pool_deinit(&pool);
}

/* ---- threads ---- */

struct parcel {
    struct jzx__mpsc_node node;
    uint64_t stamp;
};

struct side {
    struct jzx__slab *slab;
    struct jzx__mpsc *own;
    struct jzx__mpsc *peer;
    uint64_t rounds;
    uint64_t got;
};

static void open_parcels(struct side *side) {
    struct jzx__mpsc_node *node = jzx__mpsc_take_all(side->own);
    while (node != NULL) {
        struct parcel *parcel = JZX_CONTAINER_OF(node, struct parcel, node);
        node = node->next;
        JZX_EXPECT_EQ(parcel->stamp, (uintptr_t)parcel ^ 0x5A5A);
        jzx__slab_free(side->slab, 0, parcel);
        side->got++;
    }
}

static void *exchange_parcels(void *ctx) {
    struct side *side = ctx;
    for (uint64_t i = 0; i < side->rounds; i++) {
        struct parcel *parcel = jzx__slab_alloc(side->slab, 0);
        if (!JZX_EXPECT(parcel != NULL))
            break;
        parcel->stamp = (uintptr_t)parcel ^ 0x5A5A;
        jzx__mpsc_push(side->peer, &parcel->node);
        open_parcels(side);
    }
    return NULL;
}

JZX_TEST(two_threads_with_a_slab_each_share_a_depot) {
    struct pool pool;
    struct jzx__mpsc queues[2];
    pthread_t threads[2];
    uint64_t rounds = jzx_test_rounds(50000, 1000000);
    pool_init(&pool);
    jzx__mpsc_init(&queues[0]);
    jzx__mpsc_init(&queues[1]);
    struct side sides[2] = {{&pool.slabs[0], &queues[0], &queues[1], rounds, 0},
                            {&pool.slabs[1], &queues[1], &queues[0], rounds, 0}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, exchange_parcels, &sides[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        open_parcels(&sides[i]);
        JZX_EXPECT_EQ(sides[i].got, rounds);
    }
    pool_deinit(&pool);
}
