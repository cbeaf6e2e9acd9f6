/* SPDX-License-Identifier: MIT */
/* Timer, overflow and slots together, against a model that keeps deadlines in an array. */
#include "schedule/core/places.h"
#include "schedule/core/tick_heap.h"

#include "fixture.h"
#include "seeds.h"

#include <stdlib.h>
#include <string.h>

#define JOBS 512u
#define SPAN 4096u /* of the small timer */

struct rig {
    struct jzx__places places;
    struct jzx__schedule_config config;
    struct jzx__job jobs[JOBS];
    struct jzx__slot_cell cells[1024];
    struct jzx__heap_item items[JOBS];
    void *timer;
};

static struct rig *make(struct jzx__schedule_config config) {
    static struct rig rig;
    memset(&rig, 0, sizeof rig);
    config.profile = JZX__PROFILE_CUSTOM;
    config.capacity.system_quota = JOBS;
    config.capacity.task_run = 1;
    if (config.capacity.overflow == 0)
        config.capacity.overflow = 400;
    config.shape = (struct jzx__wheel_shape){{16, 16, 16}};
    config.timer = fixture_has_heap_timer() ? &jzx__tick_heap : NULL;
    JZX_EXPECT_EQ(jzx__schedule_resolve(&config, &rig.config).error, JZX__CONFIG_OK);
    jzx_tick_timer timer = jzx__places_timer(&rig.config);
    rig.timer = malloc(timer.size(timer.arg, JOBS));
    assert_non_null(rig.timer);
    const struct jzx__places_memory memory = {rig.cells, rig.items, rig.timer};
    JZX_EXPECT(jzx__places_init(&rig.places, &rig.config, &memory, 0));
    return &rig;
}

static void destroy(struct rig *rig) {
    for (uint32_t i = 0; i < JOBS; i++)
        jzx__places_remove(&rig->places, &rig->jobs[i]);
    JZX_EXPECT_EQ(jzx__places_count(&rig->places), 0);
    JZX_EXPECT_EQ(rig->places.slots.used, 0);
    jzx__places_deinit(&rig->places);
    free(rig->timer);
}

static enum jzx__placed add(struct rig *rig, uint32_t i, uint64_t deadline) {
    rig->jobs[i].deadline = deadline;
    rig->jobs[i].sequence = i;
    return jzx__places_add(&rig->places, &rig->jobs[i]);
}

static void go_to(struct rig *rig, uint64_t tick) {
    while (rig->places.now < tick) {
        (void)jzx__places_reinsert(&rig->places);
        JZX_EXPECT(jzx__places_pop(&rig->places, rig->places.now + 1) == NULL);
    }
}

JZX_TEST(a_near_job_goes_into_the_wheel_and_a_far_one_into_the_overflow, "B10") {
    struct rig *rig = make((struct jzx__schedule_config){0});
    JZX_EXPECT_EQ(add(rig, 0, 1), JZX__PLACED);
    JZX_EXPECT_EQ(add(rig, 1, SPAN - 1), JZX__PLACED);
    JZX_EXPECT_EQ(add(rig, 2, SPAN), JZX__PLACED);
    JZX_EXPECT_EQ(add(rig, 3, INT32_MAX), JZX__PLACED);
    JZX_EXPECT_EQ(rig->jobs[0].where, JZX__WHERE_TIMER);
    JZX_EXPECT_EQ(rig->jobs[1].where, JZX__WHERE_TIMER);
    JZX_EXPECT_EQ(rig->jobs[2].where, JZX__WHERE_OVERFLOW);
    JZX_EXPECT_EQ(rig->jobs[3].where, JZX__WHERE_OVERFLOW);
    destroy(rig);
}

JZX_TEST(a_full_slot_refuses_and_other_slots_do_not, "B12") {
    struct rig *rig = make((struct jzx__schedule_config){.slot_capacity = 3});
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(add(rig, i, 100), JZX__PLACED);
    JZX_EXPECT_EQ(add(rig, 3, 100), JZX__SLOT_FULL);
    JZX_EXPECT_EQ(rig->jobs[3].where, JZX__WHERE_NOWHERE);
    JZX_EXPECT_EQ(add(rig, 3, 101), JZX__PLACED);
    jzx__places_remove(&rig->places, &rig->jobs[1]);
    JZX_EXPECT_EQ(add(rig, 4, 100), JZX__PLACED);
    JZX_EXPECT_EQ(jzx__places_next(&rig->places) > 0, 1);
    go_to(rig, 99);
    for (uint32_t i = 0; i < 3; i++) { /* first in, first out */
        static const uint32_t order[] = {0, 2, 4};
        JZX_EXPECT(jzx__places_pop(&rig->places, 100) == &rig->jobs[order[i]]);
    }
    JZX_EXPECT(jzx__places_pop(&rig->places, 100) == NULL);
    destroy(rig);
}

JZX_TEST(a_full_overflow_refuses_new_jobs_but_keeps_those_that_come_back) {
    struct rig *rig = make((struct jzx__schedule_config){.capacity = {.overflow = 4}});
    for (uint32_t i = 0; i < 4; i++)
        JZX_EXPECT_EQ(add(rig, i, 10000 + i), JZX__PLACED);
    JZX_EXPECT_EQ(add(rig, 4, 10000), JZX__OVERFLOW_FULL);
    rig->jobs[4].deadline = 9000; /* beyond two spans: it goes round */
    jzx__places_add_again(&rig->places, &rig->jobs[4]);
    JZX_EXPECT_EQ(rig->jobs[4].where, JZX__WHERE_TIMER);
    go_to(rig, 8999);
    JZX_EXPECT(jzx__places_pop(&rig->places, 9000) == &rig->jobs[4]);
    destroy(rig);
}

JZX_TEST(a_job_that_comes_back_is_placed_in_a_full_slot_all_the_same) {
    struct rig *rig = make((struct jzx__schedule_config){.slot_capacity = 1});
    JZX_EXPECT_EQ(add(rig, 0, 10), JZX__PLACED);
    rig->jobs[1].deadline = 10;
    jzx__places_add_again(&rig->places, &rig->jobs[1]);
    JZX_EXPECT_EQ(jzx__slots_count(&rig->places.slots, 10), 2);
    destroy(rig);
}

/* ---- reinsertion ---- */

JZX_TEST(the_threshold_is_a_share_of_the_overflow, "B46") {
    struct rig *rig = make((struct jzx__schedule_config){.capacity = {.overflow = 400}});
    JZX_EXPECT_EQ(rig->places.threshold, 300);
    for (uint32_t i = 0; i < 299; i++)
        JZX_EXPECT_EQ(add(rig, i, 5000), JZX__PLACED);
    JZX_EXPECT(!jzx__places_is_near_capacity(&rig->places));
    JZX_EXPECT_EQ(add(rig, 299, 5000), JZX__PLACED);
    JZX_EXPECT(jzx__places_is_near_capacity(&rig->places));
    destroy(rig);
}

/* From tick 1,000 on the jobs at 5,000 are within the span. */
JZX_TEST(below_the_threshold_jobs_stay_in_the_overflow_and_above_it_they_leave_early, "B46") {
    struct rig *rig = make((struct jzx__schedule_config){.reinsertion_batch_limit = 50});
    for (uint32_t i = 0; i < 299; i++)
        JZX_EXPECT_EQ(add(rig, i, 5000), JZX__PLACED);
    go_to(rig, 1000);
    JZX_EXPECT_EQ(jzx__places_reinsert(&rig->places), 0);
    for (uint32_t i = 299; i < 310; i++)
        JZX_EXPECT_EQ(add(rig, i, 8000), JZX__PLACED);
    JZX_EXPECT_EQ(jzx__places_reinsert(&rig->places), 50); /* one batch, not more */
    JZX_EXPECT_EQ(rig->places.overflow.count, 260);
    JZX_EXPECT_EQ(jzx__places_reinsert(&rig->places), 0); /* below the threshold again */
    destroy(rig);
}

JZX_TEST(a_pass_moves_a_batch_at_most_and_the_rest_waits_for_later_ticks, "B47") {
    struct rig *rig = make((struct jzx__schedule_config){0});
    for (uint32_t i = 0; i < 400; i++)
        JZX_EXPECT_EQ(add(rig, i, 4500), JZX__PLACED);
    JZX_EXPECT_EQ(rig->places.batch_limit, 100);
    go_to(rig, 404); /* 4,500 is one beyond the reach of the pass before */
    JZX_EXPECT_EQ(rig->places.overflow.count, 400);
    JZX_EXPECT_EQ(jzx__places_reinsert(&rig->places), 0);
    JZX_EXPECT(jzx__places_pop(&rig->places, 405) == NULL);
    JZX_EXPECT_EQ(jzx__places_reinsert(&rig->places), 100);
    JZX_EXPECT_EQ(rig->places.overflow.count, 300);
    destroy(rig);
}

JZX_TEST(a_pass_stops_at_a_full_slot, "B47") {
    struct rig *rig = make((struct jzx__schedule_config){.slot_capacity = 5});
    for (uint32_t i = 0; i < 20; i++)
        JZX_EXPECT_EQ(add(rig, i, 5000), JZX__PLACED);
    go_to(rig, 4995);
    JZX_EXPECT_EQ(jzx__slots_count(&rig->places.slots, 5000), 5);
    JZX_EXPECT_EQ(rig->places.overflow.count, 15);
    JZX_EXPECT_EQ(jzx__places_reinsert(&rig->places), 0);
    destroy(rig);
}

JZX_TEST(a_full_overflow_of_jobs_for_one_tick_is_in_the_wheel_when_the_tick_comes) {
    struct rig *rig = make(
        (struct jzx__schedule_config){.overflow_threshold_pct = 100, .reinsertion_batch_limit = 7});
    for (uint32_t i = 0; i < 399; i++)
        JZX_EXPECT_EQ(add(rig, i, 5000), JZX__PLACED);
    go_to(rig, 4999);
    JZX_EXPECT_EQ(rig->places.overflow.count, 0);
    uint32_t count = 0;
    while (jzx__places_pop(&rig->places, 5000) != NULL)
        count++;
    JZX_EXPECT_EQ(count, 399);
    destroy(rig);
}

/* ---- against a model ---- */

/* Each job comes out exactly at its deadline, whatever is added and removed meanwhile, and no tick
 * before jzx__places_next has one. */
static bool jobs_come_out_at_their_deadlines(struct jzx__rng *rng) {
    struct rig *rig = make(
        (struct jzx__schedule_config){.reinsertion_batch_limit = 1 + jzx__rng_below(rng, 100)});
    uint64_t deadlines[JOBS] = {0};
    bool held = true;
    while (held && rig->places.now < 3 * SPAN) {
        uint64_t now = rig->places.now;
        for (unsigned k = 0; k < 4; k++) {
            uint32_t i = jzx__rng_below(rng, JOBS);
            if (deadlines[i] != 0) {
                jzx__places_remove(&rig->places, &rig->jobs[i]);
                deadlines[i] = 0;
            } else {
                uint32_t reach = jzx__rng_below(rng, 3) == 0 ? 3 * SPAN : 300;
                uint64_t deadline = now + 1 + jzx__rng_below(rng, reach);
                if (add(rig, i, deadline) == JZX__PLACED)
                    deadlines[i] = deadline;
            }
        }
        uint64_t next = jzx__places_next(&rig->places);
        uint64_t tick = now + 1;
        if (next > tick + 1) { /* pass over the rest */
            uint64_t to = next - 1 < now + 40 ? next - 1 : now + 40;
            jzx__places_pass(&rig->places, to);
            tick = to + 1;
        }
        (void)jzx__places_reinsert(&rig->places);
        struct jzx__job *job;
        while ((job = jzx__places_pop(&rig->places, tick)) != NULL) {
            uint32_t i = (uint32_t)(job - rig->jobs);
            held = JZX_EXPECT_EQ(deadlines[i], tick) && held;
            deadlines[i] = 0;
        }
        for (uint32_t i = 0; i < JOBS; i++)
            held = (deadlines[i] == 0 || JZX_EXPECT(deadlines[i] > tick)) && held;
    }
    destroy(rig);
    return held;
}

JZX_TEST(every_job_comes_out_at_its_tick_whatever_happens_meanwhile) {
    run_seeds("every_job_comes_out_at_its_tick_whatever_happens_meanwhile", 200,
              jobs_come_out_at_their_deadlines);
}
