/* SPDX-License-Identifier: MIT */
/* The timing wheel, against a model that looks at all entries: exact ticks, order, removal. */
#include "time/wheel.h"

#include "child.h"
#include "fixture.h"
#include "seeds.h"

#include <string.h>

#define ENTRIES 64u
#define NEVER UINT64_MAX

static const jzx_allocator *counting(void) {
    static jzx_allocator allocator;
    allocator = fixture_allocator();
    return &allocator;
}

/* ---- levels ---- */

/* With a tick of 1 ms: 256 ms, 16.4 s, 17.5 min. */
JZX_TEST(the_levels_have_256_64_and_64_slots_and_a_heap_comes_behind_them, "E46") {
    static const uint32_t slots[] = {256, 64, 64};
    static const uint32_t slot_ticks[] = {1, 256, 256 * 64};
    struct jzx__wheel wheel;
    static struct jzx__wheel_entry entries[3];
    JZX_EXPECT(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 0, counting()));
    for (unsigned i = 0; i < JZX__WHEEL_LEVELS; i++) {
        JZX_EXPECT_EQ(wheel.levels[i].mask + 1, slots[i]);
        JZX_EXPECT_EQ(1u << wheel.levels[i].shift, slot_ticks[i]);
        JZX_EXPECT_EQ(wheel.levels[i].span, slots[i] * slot_ticks[i]);
    }
    for (unsigned i = 0; i < 3; i++) /* beyond the levels: in the order of the deadlines */
        jzx__wheel_set(&wheel, &entries[i], 9000000 - 1000 * i);
    JZX_EXPECT_EQ(wheel.heap.count, 3);
    for (unsigned i = 3; i-- > 0;)
        JZX_EXPECT(jzx__wheel_pop(&wheel, 9000000) == &entries[i]);
    jzx__wheel_deinit(&wheel);
}

/* The level in whose slot an entry is; JZX__WHEEL_LEVELS: it is in the heap. */
static unsigned level_of(struct jzx__wheel *wheel, const struct jzx__wheel_entry *entry) {
    if (jzx__wheel_place(entry) == JZX__WHEEL_IN_HEAP)
        return JZX__WHEEL_LEVELS;
    for (unsigned i = 0; i < JZX__WHEEL_LEVELS; i++) {
        struct jzx__wheel_level *level = &wheel->levels[i];
        for (uint32_t slot = 0; slot <= level->mask; slot++) {
            if (level->slots[slot].ring.next == &entry->link)
                return i;
        }
    }
    return UINT32_MAX;
}

JZX_TEST(an_entry_is_placed_by_the_ticks_that_it_is_away, "E47") {
    static const struct {
        uint64_t delay;
        unsigned level;
    } cases[] = {{1, 0},
                 {255, 0},
                 {256, 1},
                 {256 * 64 - 1, 1},
                 {256 * 64, 2},
                 {256 * 64 * 64 - 1, 2},
                 {256 * 64 * 64, JZX__WHEEL_LEVELS},
                 {1u << 30, JZX__WHEEL_LEVELS}};
    static const uint64_t starts[] = {0, 1, 255, 256, 16383, 123456789};
    for (size_t k = 0; k < sizeof starts / sizeof starts[0]; k++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct jzx__wheel wheel;
            struct jzx__wheel_entry entry = {0};
            JZX_EXPECT(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, starts[k], counting()));
            jzx__wheel_set(&wheel, &entry, starts[k] + cases[i].delay);
            JZX_EXPECT_EQ(level_of(&wheel, &entry), cases[i].level);
            jzx__wheel_remove(&wheel, &entry);
            jzx__wheel_deinit(&wheel);
        }
    }
}

/* ---- one entry ---- */

/* The tick at which an entry with this delay fires, if time passes tick by tick or in one step. */
static uint64_t fires_at(uint64_t start, uint64_t delay, uint64_t step) {
    struct jzx__wheel wheel;
    struct jzx__wheel_entry entry = {0};
    JZX_EXPECT(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, start, counting()));
    jzx__wheel_set(&wheel, &entry, start + delay);
    uint64_t fired = NEVER;
    while (fired == NEVER && wheel.now < start + delay + 2) {
        if (jzx__wheel_pop(&wheel, wheel.now + step) != NULL)
            fired = wheel.now;
    }
    jzx__wheel_deinit(&wheel);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    return fired;
}

static const uint64_t boundary_delays[] = {1,     2,     255,     256,     257,     511,
                                           512,   16383, 16384,   16385,   16640,   32768,
                                           65536, 65537, 1048575, 1048576, 1048577, 1064960};

JZX_TEST(every_boundary_delay_fires_at_its_exact_tick, "E48", "E51") {
    static const uint64_t starts[] = {0, 1, 255, 256, 16383, 16384, 1048575, 1048576, 123456789};
    for (size_t i = 0; i < sizeof boundary_delays / sizeof boundary_delays[0]; i++) {
        for (size_t k = 0; k < sizeof starts / sizeof starts[0]; k++)
            JZX_EXPECT_EQ(fires_at(starts[k], boundary_delays[i], 1),
                          starts[k] + boundary_delays[i]);
    }
}

/* In the order of the deadlines all the same. */
JZX_TEST(an_entry_whose_tick_is_over_is_due_at_once, "E51") {
    struct jzx__wheel wheel;
    static struct jzx__wheel_entry entries[4];
    JZX_EXPECT(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 1000, counting()));
    jzx__wheel_set(&wheel, &entries[2], 1000);
    jzx__wheel_set(&wheel, &entries[0], 0);
    jzx__wheel_set(&wheel, &entries[3], 1001);
    jzx__wheel_set(&wheel, &entries[1], 999);
    JZX_EXPECT_EQ(jzx__wheel_next(&wheel), 1000);
    for (unsigned i = 0; i < 3; i++)
        JZX_EXPECT(jzx__wheel_pop(&wheel, 1000) == &entries[i]);
    JZX_EXPECT(jzx__wheel_pop(&wheel, 1000) == NULL);
    JZX_EXPECT(jzx__wheel_pop(&wheel, 1001) == &entries[3]);
    jzx__wheel_deinit(&wheel);
}

JZX_TEST(delays_of_years_and_beyond_the_last_tick_stay_set, "E51") {
    struct jzx__wheel wheel;
    static struct jzx__wheel_entry entries[3];
    uint64_t century = 100ull * 365 * 24 * 3600 * 1000;
    JZX_EXPECT(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 5, counting()));
    jzx__wheel_set(&wheel, &entries[0], UINT64_MAX);
    jzx__wheel_set(&wheel, &entries[1], JZX__TICK_MAX);
    jzx__wheel_set(&wheel, &entries[2], century);
    JZX_EXPECT(jzx__wheel_pop(&wheel, century - 1) == NULL);
    JZX_EXPECT(jzx__wheel_pop(&wheel, century) == &entries[2]);
    JZX_EXPECT(jzx__wheel_pop(&wheel, UINT64_MAX) == &entries[0]);
    JZX_EXPECT_EQ(wheel.now, JZX__TICK_MAX);
    JZX_EXPECT(jzx__wheel_pop(&wheel, UINT64_MAX) == &entries[1]);
    jzx__wheel_deinit(&wheel);
}

/* ---- order ---- */

/* Sets one entry for the same tick from each of these distances: each lies further down than the
 * one before when it is set. */
JZX_TEST(entries_of_one_tick_fire_in_the_order_in_which_they_were_set, "E48") {
    static const uint64_t distances[] = {3000000, 1048577, 1048576, 1048575, 500000, 16385, 16384,
                                         16383,   5000,    257,     256,     255,    2,     1};
    enum { COUNT = sizeof distances / sizeof distances[0] };
    for (uint64_t tick = 4194304 - 1; tick <= 4194304 + 1; tick++) {
        struct jzx__wheel wheel;
        struct jzx__wheel_entry entries[COUNT][2];
        memset(entries, 0, sizeof entries);
        JZX_EXPECT(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 0, counting()));
        for (unsigned i = 0; i < COUNT; i++) {
            JZX_EXPECT(jzx__wheel_pop(&wheel, tick - distances[i]) == NULL);
            jzx__wheel_set(&wheel, &entries[i][0], tick);
            jzx__wheel_set(&wheel, &entries[i][1], tick);
        }
        for (unsigned i = 0; i < 2 * COUNT; i++)
            JZX_EXPECT(jzx__wheel_pop(&wheel, tick) == &entries[0][0] + i);
        jzx__wheel_deinit(&wheel);
    }
}

JZX_TEST(time_stops_at_each_tick_at_which_something_is_due) {
    struct jzx__wheel wheel;
    static struct jzx__wheel_entry entries[4];
    JZX_EXPECT(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 0, counting()));
    for (unsigned i = 0; i < 4; i++)
        jzx__wheel_set(&wheel, &entries[i], 10 + i / 2 * 300);
    for (unsigned i = 0; i < 4; i++) {
        JZX_EXPECT(jzx__wheel_pop(&wheel, 1000) == &entries[i]);
        JZX_EXPECT_EQ(wheel.now, 10 + i / 2 * 300);
        JZX_EXPECT_EQ(wheel.count, 3 - i);
    }
    JZX_EXPECT(jzx__wheel_pop(&wheel, 1000) == NULL);
    JZX_EXPECT_EQ(wheel.now, 1000);
    jzx__wheel_deinit(&wheel);
}

/* ---- removal, memory ---- */

JZX_TEST(an_entry_can_be_taken_out_wherever_it_is) {
    struct jzx__wheel wheel;
    static struct jzx__wheel_entry entries[6];
    JZX_EXPECT(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 0, counting()));
    static const uint64_t deadlines[] = {1, 10, 1000, 100000, 10000000, 1};
    for (unsigned i = 0; i < 6; i++)
        jzx__wheel_set(&wheel, &entries[i], deadlines[i]);
    JZX_EXPECT(jzx__wheel_pop(&wheel, 1) == &entries[0]); /* the last one is due as well */
    for (unsigned i = 1; i < 6; i++) {
        JZX_EXPECT(jzx__wheel_is_set(&entries[i]));
        jzx__wheel_remove(&wheel, &entries[i]);
        jzx__wheel_remove(&wheel, &entries[i]); /* once more does nothing */
        JZX_EXPECT(!jzx__wheel_is_set(&entries[i]));
    }
    JZX_EXPECT_EQ(wheel.count, 0);
    JZX_EXPECT_EQ(jzx__wheel_next(&wheel), NEVER);
    jzx__wheel_deinit(&wheel);
}

JZX_TEST(a_slot_that_was_emptied_is_passed_over) {
    static struct jzx__wheel_entry entries[4];
    static const uint64_t deadlines[] = {10, 200, 5000, 300000};
    static const uint64_t nexts[] = {200, 5000 / 256 * 256, 300000 / 16384 * 16384, NEVER};
    struct jzx__wheel wheel;
    JZX_EXPECT(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 0, counting()));
    for (unsigned i = 0; i < 4; i++)
        jzx__wheel_set(&wheel, &entries[i], deadlines[i]);
    JZX_EXPECT_EQ(jzx__wheel_next(&wheel), 10);
    for (unsigned i = 0; i < 4; i++) {
        jzx__wheel_remove(&wheel, &entries[i]);
        JZX_EXPECT_EQ(jzx__wheel_next(&wheel), nexts[i]);
    }
    jzx__wheel_deinit(&wheel);
}

JZX_TEST(without_memory_every_entry_fires_at_its_tick_all_the_same, "C+fail", "E51") {
    struct jzx__wheel wheel;
    static const uint64_t ticks[] = {1048575, 1048576, 1048577, 2097152, 5000000, 67108864};
    static struct jzx__wheel_entry entries[6];
    fixture_fail_allocations(0, UINT64_MAX);
    JZX_EXPECT(!jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 0, counting()));
    fixture_fail_allocations(0, 0);
    JZX_EXPECT(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 0, counting()));
    fixture_fail_allocations(0, UINT64_MAX);
    for (unsigned i = 0; i < 6; i++)
        jzx__wheel_set(&wheel, &entries[i], ticks[i]);
    for (unsigned i = 0; i < 6; i++) {
        JZX_EXPECT(jzx__wheel_pop(&wheel, ticks[i] - 1) == NULL);
        JZX_EXPECT(jzx__wheel_pop(&wheel, ticks[i]) == &entries[i]);
    }
    fixture_fail_allocations(0, 0);
    jzx__wheel_deinit(&wheel);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(without_memory_what_is_beyond_reach_comes_out_there_and_is_set_again, "C+fail", "E51") {
    struct jzx__wheel wheel;
    static struct jzx__wheel_entry entry;
    const uint64_t far = 2 * JZX__WHEEL_REACH + 5;
    JZX_EXPECT(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 0, counting()));
    fixture_fail_allocations(0, UINT64_MAX);
    for (uint64_t round = 1; round <= 3; round++) {
        uint64_t out = round < 3 ? round * JZX__WHEEL_REACH : far;
        jzx__wheel_set(&wheel, &entry, far);
        JZX_EXPECT(jzx__wheel_pop(&wheel, out - 1) == NULL);
        JZX_EXPECT(jzx__wheel_pop(&wheel, out) == &entry);
    }
    fixture_fail_allocations(0, 0);
    jzx__wheel_deinit(&wheel);
}

static void make_an_odd_wheel(void) {
    struct jzx__wheel wheel;
    jzx__wheel_init(&wheel, (struct jzx__wheel_shape){{256, 60, 64}}, 0, counting());
}

JZX_TEST(a_level_has_a_power_of_two_of_slots) {
    struct child_end end = run_in_child(make_an_odd_wheel);
    JZX_EXPECT(child_aborted(&end, "wheel.c:"));
}

/* ---- anything ---- */

struct model {
    struct jzx__wheel wheel;
    struct jzx__wheel_entry entries[ENTRIES];
    uint64_t deadline[ENTRIES]; /* NEVER: not set */
    uint64_t set_as[ENTRIES];   /* its number among all that were set */
    uint64_t sequence;
};

/* The entry that must fire next at or before tick `to`, or ENTRIES. */
static unsigned model_next(const struct model *m, uint64_t to) {
    unsigned first = ENTRIES;
    for (unsigned i = 0; i < ENTRIES; i++) {
        if (m->deadline[i] > to)
            continue;
        if (first == ENTRIES || m->deadline[i] < m->deadline[first] ||
            (m->deadline[i] == m->deadline[first] && m->set_as[i] < m->set_as[first]))
            first = i;
    }
    return first;
}

static uint64_t random_span(struct jzx__rng *rng, uint64_t span) {
    switch (jzx__rng_below(rng, 6)) {
    case 0: return jzx__rng_below(rng, 4);
    case 1: return jzx__rng_below(rng, 300);
    case 2: return span / 64 * jzx__rng_below(rng, 70) + jzx__rng_below(rng, 3);
    case 3: return span - 2 + jzx__rng_below(rng, 4);
    case 4: return jzx__rng_below(rng, (uint32_t)(3 * span));
    default: return jzx__rng_below(rng, (uint32_t)span);
    }
}

static void model_set(struct model *m, unsigned i, uint64_t delay) {
    uint64_t deadline = m->wheel.now + delay;
    jzx__wheel_set(&m->wheel, &m->entries[i], deadline);
    m->deadline[i] = deadline;
    m->set_as[i] = m->sequence++;
}

/* Lets time pass, and takes at most so many that are due. */
static bool model_advance(struct model *m, uint64_t to, uint32_t most) {
    uint64_t soonest = jzx__wheel_next(&m->wheel);
    unsigned first = model_next(m, NEVER - 1);
    bool ok = JZX_EXPECT(soonest >= m->wheel.now);
    if (first != ENTRIES)
        ok &= JZX_EXPECT(soonest <= m->deadline[first]);
    else
        ok &= JZX_EXPECT_EQ(soonest, NEVER);
    for (uint32_t taken = 0; ok && taken < most; taken++) {
        unsigned i = model_next(m, to);
        const struct jzx__wheel_entry *entry = jzx__wheel_pop(&m->wheel, to);
        if (i == ENTRIES)
            return JZX_EXPECT(entry == NULL) && JZX_EXPECT_EQ(m->wheel.now, to);
        ok &= JZX_EXPECT(entry == &m->entries[i]);
        ok &= JZX_EXPECT_EQ(m->wheel.now, m->deadline[i]);
        ok &= JZX_EXPECT(!jzx__wheel_is_set(&m->entries[i]));
        m->deadline[i] = NEVER;
    }
    return ok;
}

static bool check_any(struct jzx__rng *rng, struct jzx__wheel_shape shape) {
    static struct model m;
    memset(&m, 0, sizeof m);
    uint64_t start = jzx__rng_below(rng, 2) ? 0 : jzx__rng_below(rng, 1u << 30);
    bool ok = JZX_EXPECT(jzx__wheel_init(&m.wheel, shape, start, counting()));
    uint64_t span = m.wheel.span;
    for (unsigned i = 0; i < ENTRIES; i++)
        m.deadline[i] = NEVER;
    for (unsigned step = 0; step < 150 && ok; step++) {
        unsigned i = jzx__rng_below(rng, ENTRIES);
        uint32_t what = jzx__rng_below(rng, 8);
        if (what < 2) {
            uint64_t to = m.wheel.now + 1 + random_span(rng, span);
            ok = model_advance(&m, to, what == 0 ? UINT32_MAX : 1 + jzx__rng_below(rng, 3));
        } else if (m.deadline[i] == NEVER) {
            model_set(&m, i, random_span(rng, span));
        } else if (what == 2) {
            jzx__wheel_remove(&m.wheel, &m.entries[i]);
            m.deadline[i] = NEVER;
        }
    }
    while (ok && m.wheel.count != 0)
        ok = model_advance(&m, m.wheel.now + 4 * span, UINT32_MAX);
    if (!ok)
        return false;
    jzx__wheel_deinit(&m.wheel);
    return JZX_EXPECT_EQ(fixture_bytes(), 0);
}

static bool check_usual(struct jzx__rng *rng) {
    return check_any(rng, JZX__WHEEL_SHAPE);
}

static bool check_small(struct jzx__rng *rng) {
    struct jzx__wheel_shape shape = {
        {2u << jzx__rng_below(rng, 4), 2u << jzx__rng_below(rng, 4), 2u << jzx__rng_below(rng, 3)}};
    return check_any(rng, shape);
}

JZX_TEST(every_entry_fires_at_its_tick_in_order_once_or_was_removed, "E48", "C+inv") {
    run_seeds("every_entry_fires_at_its_tick_in_order_once_or_was_removed", 1000, check_usual);
}

JZX_TEST(wheels_of_other_shapes_do_the_same) {
    run_seeds("wheels_of_other_shapes_do_the_same", 2000, check_small);
}
