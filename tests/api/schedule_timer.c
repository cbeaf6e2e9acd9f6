/* SPDX-License-Identifier: MIT */
/* Timers in place of the wheel: the heap of the library, and a sorted list of the program. */
#include "scheduling.h"

static struct rig rig;

/* ---- a timer of the program: a list by tick, in the entries themselves ---- */

struct list_timer {
    jzx_tick_entry *first;
    uint64_t polled; /* last */
    size_t count;
    size_t count_max;
    size_t entries_max;
    uint64_t reach_max; /* of an insert, in ticks */
};

static struct {
    uint32_t created;
    uint32_t destroyed;
    uint32_t inserted;
    size_t count_max;
    uint64_t reach_max;
    bool refuses;  /* create fails */
    bool is_early; /* next answers the tick that comes next */
} list;

static void begin(void) {
    memset(&list, 0, sizeof list);
}

static size_t list_size(void *arg, size_t entries_max) {
    (void)arg, (void)entries_max;
    return sizeof(struct list_timer);
}

static void *list_create(void *arg, void *memory, size_t entries_max, uint64_t now) {
    struct list_timer *self = memory;
    JZX_EXPECT(arg == &list);
    if (list.refuses)
        return NULL;
    JZX_EXPECT_EQ((uintptr_t)memory % _Alignof(max_align_t), 0);
    *self = (struct list_timer){.polled = now, .entries_max = entries_max};
    list.created++;
    return self;
}

static void list_destroy(void *timer) {
    const struct list_timer *self = timer;
    JZX_EXPECT_EQ(self->count, 0);
    list.destroyed++;
    list.count_max = self->count_max;
    list.reach_max = self->reach_max;
}

static jzx_tick_entry *next_of(const jzx_tick_entry *entry) {
    return entry->own[0].pointer;
}

static void list_insert(void *timer, jzx_tick_entry *entry) {
    struct list_timer *self = timer;
    jzx_tick_entry *before = NULL;
    JZX_EXPECT(entry->tick > self->polled);
    uint64_t reach = entry->tick - self->polled;
    self->reach_max = reach > self->reach_max ? reach : self->reach_max;
    jzx_tick_entry *after = self->first;
    while (after != NULL && after->tick <= entry->tick) {
        before = after;
        after = next_of(after);
    }
    entry->own[0].pointer = after;
    entry->own[1].pointer = before;
    entry->own[2].number = entry->tick;
    if (after != NULL)
        after->own[1].pointer = entry;
    if (before != NULL)
        before->own[0].pointer = entry;
    else
        self->first = entry;
    self->count++;
    self->count_max = self->count > self->count_max ? self->count : self->count_max;
    JZX_EXPECT(self->count <= self->entries_max);
    list.inserted++;
}

static void list_cancel(void *timer, jzx_tick_entry *entry) {
    struct list_timer *self = timer;
    jzx_tick_entry *after = entry->own[0].pointer;
    jzx_tick_entry *before = entry->own[1].pointer;
    JZX_EXPECT_EQ(entry->own[2].number, entry->tick); /* the scheduler has not written to it */
    if (after != NULL)
        after->own[1].pointer = before;
    if (before != NULL)
        before->own[0].pointer = after;
    else
        self->first = after;
    self->count--;
}

static jzx_tick_entry *list_poll_expired(void *timer, uint64_t tick) {
    struct list_timer *self = timer;
    jzx_tick_entry *entry = self->first;
    JZX_EXPECT(tick >= self->polled);
    self->polled = tick;
    if (entry == NULL || entry->tick > tick)
        return NULL;
    list_cancel(self, entry);
    return entry;
}

static uint64_t list_next(void *timer) {
    const struct list_timer *self = timer;
    if (self->first == NULL)
        return UINT64_MAX;
    return list.is_early ? self->polled + 1 : self->first->tick;
}

static const jzx_tick_timer list_timer = {.arg = &list,
                                          .size = list_size,
                                          .create = list_create,
                                          .destroy = list_destroy,
                                          .insert = list_insert,
                                          .cancel = list_cancel,
                                          .poll_expired = list_poll_expired,
                                          .next = list_next};

#define WITH_LIST(...)                                                                             \
    (&JZX_SCHEDULE_CONFIG(.timer_kind = JZX_TICK_TIMER_FOREIGN, .timer = &list_timer, __VA_ARGS__))

JZX_TEST(jobs_wait_in_a_timer_of_the_program, "B2", "B12", "R3.AC1") {
    begin();
    rig_open(&rig, WITH_LIST(.test_mode = true));
    JZX_EXPECT_EQ(list.created, 1);
    rig_once(&rig, 1, TICKS(3));
    rig_once(&rig, 2, TICKS(2000000)); /* beyond the span: the scheduler's overflow has it */
    jzx_job_id cancelled = rig_once(&rig, 3, TICKS(2));
    rig_rate(&rig, 4, TICKS(2), TICKS(2));
    JZX_EXPECT_EQ(list.inserted, 3);
    JZX_EXPECT(jzx_job_cancel(rig.loop, cancelled));
    rig_pass(&rig, 4);
    JZX_EXPECT_EQ(rig.notes.count, 3);
    rig_expect_note(&rig, 0, 2, 4);
    rig_expect_note(&rig, 1, 3, 1);
    rig_expect_note(&rig, 2, 4, 4);
    JZX_EXPECT(jzx_schedule_check(rig.loop) == NULL);
    rig_close(&rig);
    JZX_EXPECT_EQ(list.destroyed, 1);
    JZX_EXPECT_EQ(list.count_max, 3);
}

/* ---- the same with every timer ---- */

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void add_one(uint64_t *random, jzx_job_id *job) {
    static const int64_t reaches[] = {3, 40, 600, 9000};
    int64_t first = 1 + (int64_t)(next_random(random) % (uint64_t)reaches[next_random(random) % 4]);
    int64_t again = 1 + (int64_t)(next_random(random) % 60);
    switch (next_random(random) % 3) {
    case 0:
        (void)jzx_schedule_once(rig.loop, TICKS(first), rig.to, JZX_NOBODY, NULL, 0, 1, job);
        break;
    case 1:
        (void)jzx_schedule_at_fixed_rate(rig.loop, TICKS(first), TICKS(again), rig.to, JZX_NOBODY,
                                         NULL, 0, 2, job);
        break;
    default:
        (void)jzx_schedule_with_fixed_delay(rig.loop, TICKS(first), TICKS(again), rig.to,
                                            JZX_NOBODY, NULL, 0, 3, job);
    }
}

/* Jobs of all modes, near and far, cancels, pauses, full ticks and a full overflow, by seed. */
static void play(uint64_t seed, jzx_driver_kind driver, jzx_tick_timer_kind kind) {
    uint64_t random = seed;
    jzx_job_id jobs[8] = {JZX_NO_JOB};
    rig_open(&rig,
             &JZX_SCHEDULE_CONFIG(.test_mode = true, .log_capacity = 4096,
                                  .profile = JZX_SCHEDULE_CUSTOM, .system_quota = 48,
                                  .overflow_capacity = 6, .slot_capacity = 3,
                                  .wheel_slots = {16, 16, 2}, .driver_kind = driver,
                                  .timer_kind = kind,
                                  .timer = kind == JZX_TICK_TIMER_FOREIGN ? &list_timer : NULL));
    for (uint32_t step = 0; step < 60; step++) {
        add_one(&random, &jobs[next_random(&random) % 8]);
        if (next_random(&random) % 3 == 0)
            (void)jzx_job_cancel(rig.loop, jobs[next_random(&random) % 8]);
        uint64_t leap = next_random(&random) % 5 == 0 ? next_random(&random) % 300 : 0;
        uint64_t ticks = 1 + next_random(&random) % 4;
        if (driver == JZX_DRIVER_MANUAL) {
            JZX_EXPECT_EQ(jzx_schedule_advance(rig.loop, leap + ticks), JZX_OK);
            rig_step(&rig);
        } else {
            rig_leap(&rig, TICKS(leap));
            rig_pass(&rig, ticks);
        }
        JZX_EXPECT(jzx_schedule_check(rig.loop) == NULL);
    }
}

static void expect_equal(const struct note *note, const struct note *before) {
    JZX_EXPECT_EQ(note->at_ns, before->at_ns);
    JZX_EXPECT_EQ(note->tag, before->tag);
    JZX_EXPECT_EQ(note->batch.runs, before->batch.runs);
    JZX_EXPECT_EQ(note->batch.missed_runs, before->batch.missed_runs);
}

/* The heap, the list, and the list with answers that are too early: they cost polls alone. */
static jzx_tick_timer_kind kind_of(uint32_t way) {
    list.is_early = way == 2;
    return way == 0 ? JZX_TICK_TIMER_HEAP : JZX_TICK_TIMER_FOREIGN;
}

JZX_TEST(the_log_is_the_same_with_every_timer, "B2", "B100") {
    static unsigned char trace[1 << 19];
    begin();
    for (uint64_t seed = 1; seed <= 30; seed++) {
        play(seed, JZX_DRIVER_MANUAL, JZX_TICK_TIMER_WHEEL);
        size_t size = jzx_schedule_trace(rig.loop, trace, sizeof trace);
        JZX_EXPECT(size > 1000 && size <= sizeof trace);
        rig_close(&rig);
        for (uint32_t way = 0; way < 3; way++) {
            uint32_t first = 0;
            play(seed, JZX_DRIVER_MANUAL, kind_of(way));
            if (!JZX_EXPECT_EQ(jzx_schedule_replay_check(rig.loop, trace, size, &first), JZX_OK))
                print_message("seed %u, way %u: record %u\n", (unsigned)seed, way, first);
            rig_close(&rig);
        }
    }
    JZX_EXPECT(list.inserted > 100);
    JZX_EXPECT(jzx_test_runs() > 100);
    JZX_EXPECT_EQ(list.created, list.destroyed);
    JZX_EXPECT(list.reach_max < 512); /* the product of wheel_slots */
}

JZX_TEST(receivers_get_the_same_at_the_same_time_with_every_timer, "B2") {
    static struct notes before;
    begin();
    for (uint64_t seed = 1; seed <= 30; seed++) {
        play(seed, JZX_DRIVER_AUTOMATIC, JZX_TICK_TIMER_WHEEL);
        before = rig.notes;
        JZX_EXPECT(before.count > 0);
        rig_close(&rig);
        for (uint32_t way = 0; way < 3; way++) {
            play(seed, JZX_DRIVER_AUTOMATIC, kind_of(way));
            JZX_EXPECT_EQ(rig.notes.count, before.count);
            for (uint32_t i = 0; i < before.count; i++)
                expect_equal(&rig.notes.list[i], &before.list[i]);
            rig_close(&rig);
        }
    }
}

/* ---- what goes wrong ---- */

JZX_TEST(a_timer_that_cannot_be_made_makes_no_loop, "B2") {
    begin();
    list.refuses = true;
    JZX_EXPECT(fixture_loop_with(&JZX_CONFIG(.workers = 1, .schedule = WITH_LIST())) == NULL);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    JZX_EXPECT_EQ(list.destroyed, 0);
}

static size_t size_of_everything(void *arg, size_t entries_max) {
    (void)arg, (void)entries_max;
    return SIZE_MAX;
}

JZX_TEST(a_timer_that_asks_for_too_much_memory_makes_no_loop) {
    jzx_tick_timer greedy = list_timer;
    begin();
    greedy.size = size_of_everything;
    JZX_EXPECT(
        fixture_loop_with(
            &JZX_CONFIG(.workers = 1,
                        .schedule = &JZX_SCHEDULE_CONFIG(.timer_kind = JZX_TICK_TIMER_FOREIGN,
                                                         .timer = &greedy))) == NULL);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    JZX_EXPECT_EQ(list.created, 0);
}

JZX_TEST(a_start_without_memory_destroys_each_timer_that_it_has_made) {
    jzx_loop *loop = NULL;
    begin();
    for (uint64_t after = 0; after < 256 && loop == NULL; after++) {
        fixture_fail_allocations(after, UINT64_MAX);
        loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .schedule = WITH_LIST()));
        fixture_fail_allocations(UINT64_MAX, UINT64_MAX);
        if (loop == NULL)
            JZX_EXPECT_EQ(list.created, list.destroyed);
    }
    assert_non_null(loop);
    JZX_EXPECT(list.created > list.destroyed);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(list.created, list.destroyed);
}
