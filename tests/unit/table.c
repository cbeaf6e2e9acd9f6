/* SPDX-License-Identifier: MIT */
/* The table of actors: indices and generations, look-ups that fail cleanly, the exact bound,
 * growth in chunks, and slots that are used up. */
#include "actor/table.h"

#include "fixture.h"
#include "seeds.h"

#include <pthread.h>
#include <string.h>

#define LAST_GENERATION UINT32_MAX

static jzx_allocator counting;
static struct jzx__table table;
static struct jzx__slot_cache cache;

static void open_table(uint32_t max) {
    counting = fixture_allocator();
    jzx__table_init(&table, max, &counting);
    jzx__slot_cache_init(&cache, &table, 1);
}

static void close_table(void) {
    jzx__table_deinit(&table);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* The tests run with the worker's cache and, as other threads do, without. */
static struct jzx__slot_cache *cache_if(bool cached) {
    return cached ? &cache : NULL;
}

static struct jzx__actor *acquire(struct jzx__slot_cache *with) {
    jzx_err err = JZX_ERR_UNKNOWN;
    struct jzx__actor *slot = jzx__table_acquire(&table, with, &err);
    JZX_EXPECT((slot == NULL) == (err == JZX_ERR_MAX_ACTORS || err == JZX_ERR_NO_MEMORY));
    return slot;
}

static jzx_err refusal(struct jzx__slot_cache *with) {
    jzx_err err = JZX_OK;
    JZX_EXPECT(jzx__table_acquire(&table, with, &err) == NULL);
    return err;
}

static uint32_t generation_of(struct jzx__actor *slot) {
    return jzx_id_generation(jzx__actor_id(slot));
}

static jzx_actor_id id_of(struct jzx__actor *slot) {
    return jzx__actor_id(slot);
}

/* What the end of an actor does to its slot. */
static void set_generation(struct jzx__actor *slot, uint32_t generation) {
    uint32_t index = jzx_id_index(jzx__actor_id(slot));
    jzx__atomic_store_relaxed(&slot->task.id, jzx_make_id(generation, index));
    jzx__atomic_store_relaxed(&slot->task.state, jzx__state_make(generation));
}

static void end_life(struct jzx__slot_cache *with, struct jzx__actor *slot) {
    set_generation(slot, generation_of(slot) + 1);
    jzx__table_release(&table, with, slot);
}

/* ---- ids ---- */

JZX_TEST(an_id_has_the_index_in_its_low_half_and_the_generation_in_its_high_half, "C1") {
    JZX_EXPECT_EQ(jzx_make_id(1, 0), (uint64_t)1 << 32);
    JZX_EXPECT_EQ(jzx_make_id(0, 1), 1);
    JZX_EXPECT_EQ(jzx_make_id(0x89ABCDEFu, 0x12345678u), 0x89ABCDEF12345678u);
    static const uint32_t parts[] = {0, 1, 0x7FFFFFFFu, 0x80000000u, UINT32_MAX};
    for (size_t g = 0; g < 5; g++) {
        for (size_t i = 0; i < 5; i++) {
            jzx_actor_id id = jzx_make_id(parts[g], parts[i]);
            JZX_EXPECT_EQ(jzx_id_generation(id), parts[g]);
            JZX_EXPECT_EQ(jzx_id_index(id), parts[i]);
        }
    }
    JZX_EXPECT_EQ(jzx_make_id(0, 0), JZX_NOBODY);
}

JZX_TEST(the_first_slot_is_0_in_generation_1_and_the_others_follow, "C3", "X17") {
    for (int cached = 0; cached <= 1; cached++) {
        open_table(100000);
        for (uint32_t i = 0; i < 300; i++) {
            struct jzx__actor *slot = acquire(cache_if(cached));
            assert_non_null(slot);
            JZX_EXPECT_EQ(jzx_id_index(jzx__actor_id(slot)), i);
            JZX_EXPECT_EQ(generation_of(slot), 1);
        }
        close_table();
    }
}

JZX_TEST(a_new_slot_is_closed_without_a_token_and_nobodys) {
    open_table(1000);
    struct jzx__actor *slot = acquire(NULL);
    JZX_EXPECT_EQ(jzx__task_inbox(&slot->task), JZX__INBOX_CLOSED); /* I6 */
    JZX_EXPECT(jzx__atomic_load_relaxed(&slot->task.owner) & JZX__OWNER_OUT);
    JZX_EXPECT(slot->task.entry == NULL);
    close_table();
}

JZX_TEST(the_slot_freed_last_is_used_next_with_the_next_generation, "C6") {
    for (int cached = 0; cached <= 1; cached++) {
        struct jzx__slot_cache *with = cache_if(cached);
        struct jzx__actor *slots[20];
        open_table(100000);
        for (int i = 0; i < 20; i++)
            slots[i] = acquire(with);
        for (int i = 5; i < 15; i++)
            end_life(with, slots[i]);
        for (int i = 14; i >= 5; i--) {
            struct jzx__actor *slot = acquire(with);
            JZX_EXPECT(slot == slots[i]);
            JZX_EXPECT_EQ(jzx_id_index(jzx__actor_id(slot)), i);
            JZX_EXPECT_EQ(generation_of(slot), 2);
        }
        JZX_EXPECT_EQ(jzx_id_index(jzx__actor_id(acquire(with))), 20); /* and then a new one */
        close_table();
    }
}

/* ---- look-ups ---- */

JZX_TEST(a_lookup_finds_exactly_the_current_generation, "C5", "C6") {
    open_table(1000);
    struct jzx__actor *slots[3] = {acquire(NULL), acquire(NULL), acquire(NULL)};
    for (uint32_t i = 0; i < 3; i++) {
        JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(1, i)) == slots[i]);
        JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(0, i)) == NULL);
        JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(2, i)) == NULL);
        JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(LAST_GENERATION, i)) == NULL);
    }
    jzx_actor_id stale = id_of(slots[1]);
    end_life(NULL, slots[1]);
    JZX_EXPECT(jzx__table_lookup(&table, stale) == NULL);
    JZX_EXPECT(acquire(NULL) == slots[1]);
    JZX_EXPECT(jzx__table_lookup(&table, stale) == NULL);
    JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(2, 1)) == slots[1]);
    close_table();
}

JZX_TEST(a_lookup_fails_for_an_index_that_no_slot_has, "C5") {
    static const uint32_t indices[] = {2,   3,           63,          64,          127,
                                       128, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFF00u, UINT32_MAX};
    open_table(JZX_ACTORS_MAX);
    JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(1, 0)) == NULL);
    JZX_EXPECT(jzx__table_lookup(&table, JZX_NOBODY) == NULL);
    acquire(NULL);
    acquire(NULL);
    for (size_t i = 0; i < sizeof indices / sizeof indices[0]; i++) {
        JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(0, indices[i])) == NULL);
        JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(1, indices[i])) == NULL);
    }
    close_table();
}

JZX_TEST(requests_beside_the_generation_do_not_hide_an_actor) {
    open_table(10);
    struct jzx__actor *slot = acquire(NULL);
    jzx__atomic_store_relaxed(&slot->task.state, jzx__state_make(1) | JZX__ATTENTION_MASK);
    JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(1, 0)) == slot);
    JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(2, 0)) == NULL);
    close_table();
}

/* ---- chunks ---- */

JZX_TEST(slots_at_and_around_chunk_boundaries_are_distinct_and_found_by_index) {
    enum { COUNT = 4100 }; /* boundaries at 64, 192, 448, 960, 1984, 4032 */
    static struct jzx__actor *slots[COUNT];
    open_table(COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        slots[i] = acquire(NULL);
        assert_non_null(slots[i]);
        JZX_EXPECT_EQ((uintptr_t)slots[i] % 64, 0);
        memset((void *)&slots[i]->task.head, (int)(i % 251), sizeof slots[i]->task.head);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        JZX_EXPECT(jzx__table_slot(&table, i) == slots[i]);
        JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(1, i)) == slots[i]);
        JZX_EXPECT_EQ(jzx_id_index(jzx__actor_id(slots[i])), i);
        JZX_EXPECT_EQ(*(unsigned char *)&slots[i]->task.head, i % 251); /* nobody's but its own */
    }
    close_table();
}

JZX_TEST(the_table_grows_at_the_boundaries_and_nowhere_else) {
    open_table(2000);
    uint64_t before = fixture_allocations();
    for (uint32_t i = 0; i < 1500; i++) {
        acquire(NULL);
        uint64_t chunks = i < 64 ? 1 : i < 192 ? 2 : i < 448 ? 3 : i < 960 ? 4 : 5;
        JZX_EXPECT_EQ(fixture_allocations() - before, chunks);
    }
    close_table();
}

JZX_TEST(an_idle_bound_of_billions_costs_nothing_and_use_costs_what_is_used) {
    uint64_t before = fixture_allocations();
    open_table(JZX_ACTORS_MAX);
    JZX_EXPECT_EQ(fixture_allocations(), before);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    acquire(&cache);
    JZX_EXPECT_EQ(fixture_allocations(), before + 1);
    JZX_EXPECT(fixture_bytes() <= 64 * sizeof(struct jzx__actor) + 256);
    close_table();
}

JZX_TEST(slots_do_not_move_when_the_table_grows) {
    open_table(100000);
    struct jzx__actor *first = acquire(NULL);
    for (int i = 0; i < 10000; i++)
        acquire(NULL);
    JZX_EXPECT(jzx__table_slot(&table, 0) == first);
    JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(1, 0)) == first);
    close_table();
}

JZX_TEST(without_memory_to_grow_a_slot_is_refused_and_the_next_try_goes_on, "C4", "C17") {
    for (int cached = 0; cached <= 1; cached++) {
        struct jzx__slot_cache *with = cache_if(cached);
        uint32_t refused = 0;
        open_table(100000);
        for (uint32_t i = 0; i < 1000; i++) {
            fixture_fail_allocations(0, cached ? UINT64_MAX : 1);
            jzx_err err = JZX_OK;
            struct jzx__actor *slot = jzx__table_acquire(&table, with, &err);
            if (slot == NULL) {
                refused++;
                JZX_EXPECT_EQ(err, JZX_ERR_NO_MEMORY);
                JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(1, i)) == NULL);
                fixture_fail_allocations(UINT64_MAX, 0);
                slot = acquire(with);
            }
            assert_non_null(slot);
            JZX_EXPECT_EQ(jzx_id_index(jzx__actor_id(slot)), i); /* no index was lost */
        }
        fixture_fail_allocations(UINT64_MAX, 0);
        JZX_EXPECT(refused >= 3); /* at 0, and at most boundaries */
        close_table();
    }
}

/* ---- the bound ---- */

static void fill_to_the_bound(uint32_t max, struct jzx__slot_cache *with) {
    static struct jzx__actor *slots[2000];
    open_table(max);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < max; i++) {
            slots[i] = acquire(with);
            assert_non_null(slots[i]);
            JZX_EXPECT(jzx_id_index(jzx__actor_id(slots[i])) < max);
            JZX_EXPECT_EQ(generation_of(slots[i]), round + 1);
        }
        JZX_EXPECT_EQ(refusal(with), JZX_ERR_MAX_ACTORS);
        JZX_EXPECT_EQ(refusal(NULL), JZX_ERR_MAX_ACTORS);
        for (uint32_t i = 0; i < max; i++)
            end_life(with, slots[i]);
    }
    close_table();
}

JZX_TEST(exactly_max_actors_live_at_once, "C4") {
    static const uint32_t bounds[] = {1, 2, 63, 64, 65, 127, 128, 129, 192, 1000, 2000};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        fill_to_the_bound(bounds[i], NULL);
        fill_to_the_bound(bounds[i], &cache);
    }
}

JZX_TEST(a_small_table_keeps_nothing_from_threads_without_the_cache, "C4") {
    struct jzx__actor *slots[63];
    open_table(63);
    for (int i = 0; i < 63; i++)
        slots[i] = acquire(&cache);
    for (int i = 0; i < 63; i++)
        end_life(&cache, slots[i]);
    for (int i = 0; i < 63; i++)
        JZX_EXPECT(acquire(NULL) != NULL);
    JZX_EXPECT_EQ(refusal(NULL), JZX_ERR_MAX_ACTORS);
    close_table();
}

JZX_TEST(what_a_cache_keeps_from_other_threads_is_a_small_part_of_the_bound) {
    static const uint32_t bounds[] = {64, 100, 1000, 10000};
    for (size_t i = 0; i < 4; i++) {
        static struct jzx__actor *slots[10000];
        open_table(bounds[i]);
        for (uint32_t n = 0; n < bounds[i]; n++)
            slots[n] = acquire(&cache);
        for (uint32_t n = 0; n < bounds[i]; n++)
            end_life(&cache, slots[n]);
        uint32_t others = 0;
        jzx_err err = JZX_OK;
        while (jzx__table_acquire(&table, NULL, &err) != NULL)
            others++;
        JZX_EXPECT_EQ(err, JZX_ERR_MAX_ACTORS);
        JZX_EXPECT(others >= bounds[i] - bounds[i] / 32);
        JZX_EXPECT(others <= bounds[i]);
        close_table();
    }
}

/* ---- all at once, against a model ---- */

#define MODEL_MAX 300u

struct model {
    struct jzx__actor *alive[MODEL_MAX];
    jzx_actor_id ids[MODEL_MAX];
    uint32_t count;
    jzx_actor_id stale[64]; /* the last ones that ended */
    uint32_t ended;
};

static bool spawn_one(struct model *m, struct jzx__slot_cache *with) {
    jzx_err err = JZX_OK;
    struct jzx__actor *slot = jzx__table_acquire(&table, with, &err);
    if (slot == NULL) /* other threads may miss what the cache keeps */
        return JZX_EXPECT_EQ(err, JZX_ERR_MAX_ACTORS) &&
               JZX_EXPECT(m->count + (with == NULL ? cache.count : 0) == MODEL_MAX);
    for (uint32_t i = 0; i < m->count; i++) {
        if (!JZX_EXPECT(m->alive[i] != slot))
            return false;
    }
    if (!JZX_EXPECT(m->count < MODEL_MAX))
        return false;
    m->alive[m->count] = slot;
    m->ids[m->count++] = id_of(slot);
    return JZX_EXPECT(jzx_id_index(jzx__actor_id(slot)) < MODEL_MAX);
}

static bool end_one(struct model *m, struct jzx__slot_cache *with, struct jzx__rng *rng) {
    if (m->count == 0)
        return true;
    uint32_t at = jzx__rng_below(rng, m->count);
    m->stale[m->ended++ % 64] = m->ids[at];
    end_life(with, m->alive[at]);
    m->count--;
    m->alive[at] = m->alive[m->count];
    m->ids[at] = m->ids[m->count];
    return true;
}

static bool look_up_some(const struct model *m, struct jzx__rng *rng) {
    bool held = true;
    if (m->count > 0) {
        uint32_t at = jzx__rng_below(rng, m->count);
        held = JZX_EXPECT(jzx__table_lookup(&table, m->ids[at]) == m->alive[at]);
    }
    if (m->ended > 0) {
        uint32_t among = m->ended < 64 ? m->ended : 64;
        jzx_actor_id stale = m->stale[jzx__rng_below(rng, among)];
        held = JZX_EXPECT(jzx__table_lookup(&table, stale) == NULL) && held;
    }
    return held;
}

static bool check_seed(struct jzx__rng *rng) {
    static struct model m;
    bool held = true;
    uint32_t bias = 5;
    memset(&m, 0, sizeof m);
    open_table(MODEL_MAX);
    for (int i = 0; held && i < 3000; i++) {
        struct jzx__slot_cache *with = cache_if(jzx__rng_below(rng, 4) != 0);
        if (i % 500 == 0)
            bias = 2 + jzx__rng_below(rng, 7);
        held = (jzx__rng_below(rng, 10) < bias ? end_one(&m, with, rng) : spawn_one(&m, with)) &&
               look_up_some(&m, rng);
    }
    close_table();
    return held;
}

JZX_TEST(random_lives_never_share_a_slot_and_stale_ids_never_come_back, "C5", "C6") {
    run_seeds("random_lives_never_share_a_slot_and_stale_ids_never_come_back",
              jzx_test_rounds(200, 5000), check_seed);
}

/* ---- generations that are used up ---- */

JZX_TEST(a_slot_that_had_its_last_generation_is_retired_and_does_not_count, "X17") {
    for (int cached = 0; cached <= 1; cached++) {
        const uint32_t max = cached ? 200 : 1;
        static struct jzx__actor *slots[200];
        struct jzx__slot_cache *with = cache_if(cached);
        open_table(max);
        for (uint32_t i = 0; i < max; i++)
            slots[i] = acquire(with);
        struct jzx__actor *spent = slots[0];
        for (uint32_t life = 0; life < 3; life++) {
            uint32_t index = jzx_id_index(jzx__actor_id(spent));
            set_generation(spent, LAST_GENERATION);
            JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(LAST_GENERATION, index)) == spent);
            end_life(with, spent);
            JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(LAST_GENERATION, index)) == NULL);
            JZX_EXPECT(jzx__table_lookup(&table, jzx_make_id(1, index)) == NULL);
            struct jzx__actor *fresh = acquire(with);
            assert_non_null(fresh);
            JZX_EXPECT_EQ(jzx_id_index(jzx__actor_id(fresh)), max + life);
            JZX_EXPECT_EQ(generation_of(fresh), 1);
            JZX_EXPECT_EQ(refusal(with), JZX_ERR_MAX_ACTORS);
            spent = fresh;
        }
        close_table();
    }
}

JZX_TEST(the_last_generation_is_used_before_a_slot_is_retired, "X17") {
    open_table(1);
    struct jzx__actor *slot = acquire(NULL);
    set_generation(slot, LAST_GENERATION - 1);
    end_life(NULL, slot);
    JZX_EXPECT(acquire(NULL) == slot);
    JZX_EXPECT_EQ(generation_of(slot), LAST_GENERATION);
    close_table();
}

JZX_TEST(when_every_index_was_minted_no_slot_is_left, "C4") {
    open_table(JZX_ACTORS_MAX);
    jzx__atomic_store_relaxed(&table.minted, JZX_ACTORS_MAX); /* and all of them were retired */
    table.retired = JZX_ACTORS_MAX;
    JZX_EXPECT_EQ(refusal(NULL), JZX_ERR_MAX_ACTORS);
    jzx__atomic_store_relaxed(&table.minted, 0u);
    close_table();
}

/* ---- threads ---- */

static _Atomic uint32_t finished;

static void *look_up_while_it_grows(void *ctx) {
    uint32_t *found = ctx;
    struct jzx__rng rng;
    jzx__rng_init(&rng, 3);
    while (jzx__atomic_load_acquire(&finished) == 0) {
        uint32_t index = jzx__rng_below(&rng, 20000);
        struct jzx__actor *slot = jzx__table_lookup(&table, jzx_make_id(1, index));
        if (slot != NULL) {
            JZX_EXPECT_EQ(jzx_id_index(jzx__actor_id(slot)), index);
            JZX_EXPECT_EQ(jzx__task_inbox(&slot->task), JZX__INBOX_CLOSED);
            ++*found;
        }
    }
    return NULL;
}

static void *acquire_many(void *ctx) {
    uint64_t *sum = ctx;
    jzx_err err = JZX_OK;
    for (uint32_t i = 0; i < 5000; i++) {
        struct jzx__actor *slot = jzx__table_acquire(&table, NULL, &err);
        if (JZX_EXPECT(slot != NULL))
            *sum += jzx_id_index(jzx__actor_id(slot));
    }
    return NULL;
}

JZX_TEST(look_ups_and_spawns_on_other_threads_are_safe_while_the_table_grows) {
    pthread_t reader, writers[2];
    uint32_t found = 0;
    uint64_t sums[2] = {0};
    uint64_t sum = 0; /* of the indices that anybody got: each once */
    open_table(30000);
    finished = 0;
    assert_int_equal(pthread_create(&reader, NULL, look_up_while_it_grows, &found), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, acquire_many, &sums[i]), 0);
    for (uint32_t i = 0; i < 10000; i++)
        sum += jzx_id_index(jzx__actor_id(acquire(&cache)));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(writers[i], NULL), 0);
        sum += sums[i];
    }
    jzx__atomic_store_release(&finished, 1u);
    assert_int_equal(pthread_join(reader, NULL), 0);
    uint64_t minted = 20000 + cache.count;
    for (uint32_t i = 0; i < cache.count; i++)
        sum += jzx_id_index(jzx__actor_id(cache.slots[i]));
    JZX_EXPECT_EQ(jzx__atomic_load_acquire(&table.minted), minted);
    JZX_EXPECT_EQ(sum, minted * (minted - 1) / 2);
    close_table();
}
