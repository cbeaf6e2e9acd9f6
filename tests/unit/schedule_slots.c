/* SPDX-License-Identifier: MIT */
/* Counting jobs by tick, against a plain array. */
#include "schedule/core/slots.h"

#include "child.h"
#include "seeds.h"

#define JOBS 24u
#define TICKS 40u

static struct jzx__slot_cell cells[64];

static struct jzx__slots make(void) {
    struct jzx__slots slots;
    JZX_EXPECT_EQ(jzx__slots_cells(JOBS), 64);
    jzx__slots_init(&slots, cells, JOBS);
    return slots;
}

JZX_TEST(a_tick_counts_its_jobs_and_no_others) {
    struct jzx__slots slots = make();
    jzx__slots_add(&slots, 7);
    jzx__slots_add(&slots, 7);
    jzx__slots_add(&slots, UINT64_C(7) << 40);
    JZX_EXPECT_EQ(jzx__slots_count(&slots, 7), 2);
    JZX_EXPECT_EQ(jzx__slots_count(&slots, UINT64_C(7) << 40), 1);
    JZX_EXPECT_EQ(jzx__slots_count(&slots, 8), 0);
    JZX_EXPECT_EQ(slots.used, 2);
    jzx__slots_remove(&slots, 7);
    jzx__slots_remove(&slots, 7);
    JZX_EXPECT_EQ(jzx__slots_count(&slots, 7), 0);
    JZX_EXPECT_EQ(slots.used, 1);
}

static bool counts_are_those_of_an_array(struct jzx__rng *rng) {
    struct jzx__slots slots = make();
    uint32_t model[TICKS] = {0};
    uint64_t base = jzx__rng_next(rng) >> 8;
    uint64_t stride = 1 + jzx__rng_below(rng, 1000);
    uint32_t jobs = 0;
    for (unsigned step = 0; step < 400; step++) {
        uint32_t t = jzx__rng_below(rng, TICKS);
        if (jobs < JOBS && jzx__rng_below(rng, 3) > 0) {
            jzx__slots_add(&slots, base + t * stride);
            model[t]++;
            jobs++;
        } else if (model[t] > 0) {
            jzx__slots_remove(&slots, base + t * stride);
            model[t]--;
            jobs--;
        }
        uint32_t used = 0;
        for (uint32_t i = 0; i < TICKS; i++) {
            used += model[i] > 0;
            if (!JZX_EXPECT_EQ(jzx__slots_count(&slots, base + i * stride), model[i]))
                return false;
        }
        if (!JZX_EXPECT_EQ(slots.used, used))
            return false;
    }
    return true;
}

JZX_TEST(counts_stay_right_whatever_is_added_and_removed) {
    run_seeds("counts_stay_right_whatever_is_added_and_removed", 300, counts_are_those_of_an_array);
}

static void remove_what_is_not_there(void) {
    struct jzx__slots slots = make();
    jzx__slots_remove(&slots, 3);
}

JZX_TEST(removing_from_an_empty_tick_breaks_an_invariant) {
    struct child_end end = run_in_child(remove_what_is_not_there);
    JZX_EXPECT(child_aborted(&end, "count > 0"));
}
