/* SPDX-License-Identifier: MIT */
/* The timers of the scheduler, each alone, by the table that the scheduler calls: against a model
 * that keeps ticks in an array. */
#include "schedule/core/places.h"
#include "schedule/core/tick_heap.h"
#include "schedule/core/tick_wheel.h"

#include "child.h"
#include "fixture.h"
#include "seeds.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES 300u
#define SPAN 4096u

static struct jzx__wheel_shape shape = {{16, 16, 16}};

static jzx_tick_timer timers[2];

static void make_tables(void) {
    timers[0] = jzx__tick_wheel(&shape);
    timers[1] = jzx__tick_heap;
}

/* ---- one timer, with guards behind its memory ---- */

#define GUARD 64u

struct rig {
    jzx_tick_timer table;
    unsigned char *memory;
    size_t size;
    void *timer;
    jzx_tick_entry entries[ENTRIES];
    bool inside[ENTRIES];
    uint64_t now;
    uint32_t count;
};

static struct rig *make(jzx_tick_timer table) {
    static struct rig rig;
    memset(&rig, 0, sizeof rig);
    memset(rig.entries, 0xA5, sizeof rig.entries); /* what is in an entry at first says nothing */
    rig.table = table;
    rig.size = table.size(table.arg, ENTRIES);
    rig.memory = malloc(rig.size + GUARD);
    assert_non_null(rig.memory);
    memset(rig.memory, 0xA5, rig.size + GUARD);
    rig.timer = table.create(table.arg, rig.memory, ENTRIES, 0);
    assert_non_null(rig.timer);
    return &rig;
}

static void cancel(struct rig *rig, uint32_t i) {
    rig->table.cancel(rig->timer, &rig->entries[i]);
    rig->inside[i] = false;
    rig->count--;
}

static void destroy(struct rig *rig) {
    for (uint32_t i = 0; i < ENTRIES; i++)
        if (rig->inside[i])
            cancel(rig, i);
    JZX_EXPECT_EQ(rig->count, 0);
    JZX_EXPECT_EQ(rig->table.next(rig->timer), UINT64_MAX);
    rig->table.destroy(rig->timer);
    for (size_t i = 0; i < GUARD; i++)
        JZX_EXPECT_EQ(rig->memory[rig->size + i], 0xA5);
    free(rig->memory);
}

static void insert(struct rig *rig, uint32_t i, uint64_t tick) {
    rig->entries[i].tick = tick;
    rig->table.insert(rig->timer, &rig->entries[i]);
    rig->inside[i] = true;
    rig->count++;
}

static uint64_t first_of(const struct rig *rig) {
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < ENTRIES; i++)
        if (rig->inside[i] && rig->entries[i].tick < first)
            first = rig->entries[i].tick;
    return first;
}

/* ---- against the model ---- */

/* Polls a tick, and checks that exactly those come that are due. */
static bool poll(struct rig *rig, uint64_t tick) {
    jzx_tick_entry *entry;
    bool held = true;
    rig->now = tick;
    while ((entry = rig->table.poll_expired(rig->timer, tick)) != NULL) {
        uint32_t i = (uint32_t)(entry - rig->entries);
        held = JZX_EXPECT(i < ENTRIES && rig->inside[i]) && JZX_EXPECT(entry->tick <= tick) && held;
        rig->inside[i] = false;
        rig->count--;
    }
    return JZX_EXPECT(first_of(rig) > tick) && held;
}

static bool timers_agree_with_the_model(struct jzx__rng *rng) {
    make_tables();
    struct rig *rig = make(timers[jzx__rng_below(rng, 2)]);
    bool held = true;
    for (unsigned step = 0; held && step < 600; step++) {
        for (uint32_t n = jzx__rng_below(rng, 4); n > 0; n--) {
            uint32_t i = jzx__rng_below(rng, ENTRIES);
            uint32_t reach = jzx__rng_below(rng, 3) == 0 ? SPAN - 1 : 40;
            if (rig->inside[i])
                cancel(rig, i);
            else
                insert(rig, i, rig->now + 1 + jzx__rng_below(rng, reach));
        }
        uint64_t next = rig->table.next(rig->timer);
        held = JZX_EXPECT(next > rig->now) && JZX_EXPECT(next <= first_of(rig));
        uint64_t tick = rig->now + 1 + jzx__rng_below(rng, 3);
        if (jzx__rng_below(rng, 8) == 0 && next != UINT64_MAX)
            tick = next; /* over all that is empty, in one leap */
        held = poll(rig, tick) && held;
    }
    destroy(rig);
    return held;
}

JZX_TEST(wheel_and_heap_hand_out_what_is_due_and_say_when_the_next_is, "B2", "B12") {
    run_seeds("wheel_and_heap_hand_out_what_is_due_and_say_when_the_next_is", 400,
              timers_agree_with_the_model);
}

JZX_TEST(a_timer_holds_as_many_entries_as_it_was_made_for, "B2") {
    make_tables();
    for (unsigned kind = 0; kind < 2; kind++) {
        struct rig *rig = make(timers[kind]);
        for (uint32_t i = 0; i < ENTRIES; i++)
            insert(rig, i, 1 + (i * 7) % (SPAN - 1));
        JZX_EXPECT(poll(rig, SPAN));
        JZX_EXPECT_EQ(rig->count, 0);
        destroy(rig);
    }
}

/* ---- a timer that breaks its contract ---- */

static jzx_tick_entry *forgotten;

static void *forgetful_create(void *arg, void *memory, size_t entries_max, uint64_t now) {
    (void)memory, (void)entries_max, (void)now;
    return arg;
}

static void forgetful_insert(void *timer, jzx_tick_entry *entry) {
    (void)timer;
    forgotten = entry;
}

static void forgetful_cancel(void *timer, jzx_tick_entry *entry) {
    (void)timer, (void)entry;
    forgotten = NULL;
}

static jzx_tick_entry *forgetful_poll(void *timer, uint64_t tick) {
    jzx_tick_entry *entry = forgotten;
    (void)timer;
    if (entry == NULL || entry->tick > tick)
        return NULL;
    forgotten = NULL;
    return entry;
}

static uint64_t forgetful_says;

static uint64_t forgetful_next(void *timer) {
    (void)timer;
    return forgetful_says;
}

static void pass_over_a_job(uint64_t says) {
    static char state;
    const jzx_tick_timer forgetful = {.arg = &state,
                                      .create = forgetful_create,
                                      .insert = forgetful_insert,
                                      .cancel = forgetful_cancel,
                                      .poll_expired = forgetful_poll,
                                      .next = forgetful_next};
    static struct jzx__places places;
    static struct jzx__slot_cell cells[64];
    static struct jzx__heap_item items[4];
    static struct jzx__job job;
    struct jzx__schedule_config config = {
        .profile = JZX__PROFILE_CUSTOM, .capacity = {16, 4, 1}, .timer = &forgetful};
    const struct jzx__places_memory memory = {cells, items, NULL};
    if (jzx__schedule_resolve(&config, &config).error != JZX__CONFIG_OK ||
        !jzx__places_init(&places, &config, &memory, 0))
        return;
    job.deadline = 5;
    if (jzx__places_add(&places, &job) == JZX__PLACED && jzx__places_next(&places) == says)
        jzx__places_pass(&places, 9);
}

static void say_too_late(void) {
    forgetful_says = 12;
    pass_over_a_job(12);
}

static void say_never(void) {
    forgetful_says = UINT64_MAX;
    pass_over_a_job(UINT64_MAX);
}

JZX_TEST(a_timer_that_says_too_late_when_the_next_job_is_due_ends_the_process) {
    struct child_end end = run_in_child(say_too_late);
    JZX_EXPECT(child_refused(&end, "jzx: jzx_tick_timer.next was too late: it returned 12, and an "
                                   "entry is due at tick 5\n"));
    end = run_in_child(say_never);
    JZX_EXPECT(child_refused(&end, "it returned UINT64_MAX, and an entry is due at tick 5\n"));
}
