/* SPDX-License-Identifier: MIT */
/* The list of an actor's timers against the invariants O1 and O2, and without memory. */
#include "timer/list.h"

#include "fixture.h"
#include "seeds.h"

#define RECORDS 600u

static struct {
    jzx_loop *loop;
    struct jzx__drive drive;
    struct jzx__worker *me;
    struct jzx__timer *records[RECORDS];
    uint32_t indexes[RECORDS];
    bool listed[RECORDS];
    struct jzx__timer_list *list;
} s;

static void list_open(void) {
    memset(&s, 0, sizeof s);
    s.loop = fixture_loop();
    assert_true(jzx__loop_enter(s.loop, &s.drive));
    s.me = s.loop->sched.workers[0];
    for (uint32_t i = 0; i < RECORDS; i++) {
        s.records[i] = jzx__timer_alloc(jzx__timer_pool_of(s.loop), jzx__timer_cache_of(s.me));
        assert_non_null(s.records[i]);
        s.indexes[i] = s.records[i]->number;
    }
}

static void list_close(void) {
    jzx__timer_list_free(s.loop, s.me, &s.list);
    JZX_EXPECT(s.list == NULL);
    for (uint32_t i = 0; i < RECORDS; i++)
        jzx__timer_free(jzx__timer_pool_of(s.loop), jzx__timer_cache_of(s.me), s.records[i]);
    jzx__loop_leave(s.loop, &s.drive);
    fixture_destroy(s.loop); /* at the end of the test all memory must be back */
}

static bool add(uint32_t i) {
    if (!jzx__timer_list_reserve(s.loop, s.me, &s.list))
        return false;
    jzx__timer_list_add(s.list, s.records[i]);
    s.listed[i] = true;
    return true;
}

static void take_out(uint32_t i) {
    jzx__timer_list_remove(s.list, s.records[i]);
    s.listed[i] = false;
}

/* O1, O2 */
static bool holds(void) {
    uint32_t live = 0;
    bool ok = true;
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint32_t number = s.records[i]->number;
        live += s.listed[i];
        if (s.listed[i])
            ok &= number < s.list->count && s.list->places[number] == s.indexes[i];
        else
            ok &= number == s.indexes[i];
    }
    uint32_t used = 0;
    for (uint32_t i = 0; s.list != NULL && i < s.list->count; i++)
        used += s.list->places[i] != JZX__TIMER_NONE;
    ok &= used == live && jzx__timer_list_is_empty(s.list) == (live == 0);
    return JZX_EXPECT(ok) && (s.list == NULL || s.list->count == 0 ||
                              JZX_EXPECT(s.list->places[s.list->count - 1] != JZX__TIMER_NONE));
}

static bool check_seed(struct jzx__rng *rng) {
    list_open();
    bool ok = true;
    uint32_t crowd = 1 + jzx__rng_below(rng, RECORDS);
    for (uint32_t step = 0; step < 2000 && ok; step++) {
        uint32_t i = jzx__rng_below(rng, crowd);
        if (s.listed[i])
            take_out(i);
        else
            ok = JZX_EXPECT(add(i));
        if (step % 50 == 0)
            ok = ok && holds();
    }
    /* it does not grow by empty places */
    ok = ok && (s.list == NULL || JZX_EXPECT(s.list->capacity <= 4 * crowd + 16));
    list_close();
    return ok;
}

JZX_TEST(a_record_knows_its_place_and_empty_places_are_used_again) {
    run_seeds("a_record_knows_its_place_and_empty_places_are_used_again", 50, check_seed);
}

JZX_TEST(without_memory_a_list_stays_as_it_is, "C+fail") {
    list_open();
    uint32_t added = 0;
    while (add(added))
        fixture_fail_allocations(0, ++added >= 20 ? UINT64_MAX : 0);
    JZX_EXPECT(added >= 20 && added < RECORDS);
    JZX_EXPECT(holds());
    take_out(0);
    for (uint32_t i = 1; i < added; i += 2)
        take_out(i);
    JZX_EXPECT(add(0)); /* of half of the places there is need no more */
    JZX_EXPECT(holds());
    fixture_fail_allocations(0, 0);
    list_close();
}
