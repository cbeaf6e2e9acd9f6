/* SPDX-License-Identifier: MIT */
/* A scheduler core on a manual clock with receivers that record what they get. A delivery completes
 * at once unless the test holds it back. */
#ifndef JZX_UNIT_SCHEDULE_RIG_H
#define JZX_UNIT_SCHEDULE_RIG_H

#include "schedule/core/admit.h"
#include "schedule/core/dump.h"
#include "schedule/core/life.h"
#include "schedule/core/property.h"
#include "schedule/core/run.h"
#include "schedule/core/shutdown.h"
#include "schedule/core/tick_heap.h"

#include "fixture.h"

#include <string.h>

#define TICK_NS INT64_C(10000000)
#define DELIVERIES_MAX 65536u
#define TOLD_MAX 4096u

struct delivery {
    jzx__job_id job;
    uint64_t tick;
    struct jzx__batch batch;
    uint32_t executor;
    uintptr_t payload;
};

struct rig {
    struct jzx__schedule s;
    struct jzx__manual_clock clock;
    jzx_allocator allocator;
    struct delivery deliveries[DELIVERIES_MAX];
    uint32_t count;
    struct jzx__schedule_event told[TOLD_MAX]; /* the event stream */
    uint32_t told_count;
    uint32_t released;
    uint32_t released_completed;
    uint32_t inline_runs;

    /* How receivers behave. */
    enum jzx__delivery answer;
    bool holds_back; /* deliveries are not completed */
    int32_t error;   /* of every run */
    void (*on_delivery)(struct rig *rig, const struct jzx__delivery_order *order);
};

static inline enum jzx__delivery rig_deliver(void *ctx, const struct jzx__delivery_order *order) {
    struct rig *rig = ctx;
    if (rig->answer != JZX__DELIVERED)
        return rig->answer;
    if (rig->count < DELIVERIES_MAX)
        rig->deliveries[rig->count] = (struct delivery){order->job, rig->s.tick, order->batch,
                                                        order->executor, (uintptr_t)order->payload};
    rig->count++;
    if (rig->on_delivery != NULL)
        rig->on_delivery(rig, order);
    if (!rig->holds_back)
        JZX_EXPECT(jzx__schedule_complete(&rig->s, order->job, rig->clock.now_ns, rig->error));
    return JZX__DELIVERED;
}

static inline int32_t rig_run_inline(void *ctx, const struct jzx__delivery_order *order) {
    struct rig *rig = ctx;
    (void)order;
    rig->inline_runs++;
    return rig->error;
}

static inline void rig_release(void *ctx, void *payload, enum jzx__job_state end) {
    struct rig *rig = ctx;
    JZX_EXPECT(payload != NULL);
    JZX_EXPECT(end == JZX__JOB_COMPLETED || end == JZX__JOB_CANCELLED);
    rig->released++;
    rig->released_completed += end == JZX__JOB_COMPLETED;
}

static inline void rig_emit(void *ctx, const struct jzx__schedule_event *event) {
    struct rig *rig = ctx;
    if (rig->told_count < TOLD_MAX)
        rig->told[rig->told_count++] = *event;
}

static inline struct jzx__schedule_ops rig_ops(struct rig *rig) {
    return (struct jzx__schedule_ops){.ctx = rig,
                                      .deliver = rig_deliver,
                                      .run_inline = rig_run_inline,
                                      .release = rig_release,
                                      .emit = rig_emit};
}

/* One rig per test: tests run in processes of their own. `kind` of the clock; a real one moves only
 * when the test sets rig->clock.now_ns. */
static inline struct rig *rig_make_with_clock(struct jzx__schedule_config config,
                                              enum jzx__tick_clock_kind kind) {
    static struct rig rig;
    struct jzx__schedule_config resolved;
    memset(&rig, 0, sizeof rig);
    rig.allocator = fixture_allocator();
    if (config.timer == NULL && fixture_has_heap_timer())
        config.timer = &jzx__tick_heap;
    assert_int_equal(jzx__schedule_resolve(&config, &resolved).error, JZX__CONFIG_OK);
    struct jzx__tick_clock clock = jzx__manual_clock_table(&rig.clock);
    clock.kind = kind;
    if (kind != JZX__CLOCK_DETERMINISTIC)
        clock.advance_to = NULL;
    assert_true(jzx__schedule_init(&rig.s, &resolved, rig_ops(&rig), clock, &rig.allocator));
    return &rig;
}

static inline struct rig *rig_make(struct jzx__schedule_config config) {
    config.test_mode = true;
    return rig_make_with_clock(config, JZX__CLOCK_DETERMINISTIC);
}

/* A small one: 64 jobs, 16 of them beyond the wheel. */
static inline struct rig *rig_make_small(struct jzx__schedule_config config) {
    config.profile = JZX__PROFILE_CUSTOM;
    if (config.capacity.system_quota == 0)
        config.capacity.system_quota = 64;
    if (config.capacity.overflow == 0)
        config.capacity.overflow = 16;
    config.capacity.task_run = 8;
    return rig_make(config);
}

static inline void rig_destroy(struct rig *rig) {
    const char *broken = jzx__schedule_check(&rig->s);
    if (!JZX_EXPECT(broken == NULL))
        print_error("does not hold: %s\n", broken);
    (void)jzx__schedule_shutdown(&rig->s);
    jzx__schedule_deinit(&rig->s);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

static inline struct jzx__schedule_request rig_request(enum jzx__job_mode mode, int64_t delay_ticks,
                                                       int64_t period_ticks) {
    return (struct jzx__schedule_request){.mode = mode,
                                          .delay_ns = delay_ticks * TICK_NS,
                                          .period_ns = period_ticks * TICK_NS,
                                          .payload = (void *)(uintptr_t)1};
}

/* Schedules and expects that to work. */
static inline jzx__job_id rig_add(struct rig *rig, struct jzx__schedule_request request) {
    struct jzx__schedule_result result = jzx__schedule_add(&rig->s, &request);
    JZX_EXPECT_EQ(result.status, JZX__SCHEDULE_OK);
    return result.job;
}

static inline jzx__job_id rig_once(struct rig *rig, int64_t delay_ticks) {
    return rig_add(rig, rig_request(JZX__JOB_ONE_SHOT, delay_ticks, 0));
}

static inline jzx__job_id rig_rate(struct rig *rig, int64_t delay_ticks, int64_t period_ticks) {
    return rig_add(rig, rig_request(JZX__JOB_FIXED_RATE, delay_ticks, period_ticks));
}

static inline jzx__job_id rig_delay(struct rig *rig, int64_t delay_ticks, int64_t period_ticks) {
    return rig_add(rig, rig_request(JZX__JOB_FIXED_DELAY, delay_ticks, period_ticks));
}

static inline enum jzx__schedule_status rig_try(struct rig *rig,
                                                struct jzx__schedule_request request) {
    return jzx__schedule_add(&rig->s, &request).status;
}

static inline void rig_advance(struct rig *rig, uint64_t ticks) {
    JZX_EXPECT(jzx__schedule_advance(&rig->s, ticks));
}

static inline enum jzx__job_state rig_state(const struct rig *rig, jzx__job_id job) {
    return jzx__schedule_state(&rig->s, job);
}

/* How often an event was told on the stream, and the last one of that kind. */
static inline uint32_t rig_told(const struct rig *rig, enum jzx__schedule_event_kind kind) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < rig->told_count; i++)
        count += rig->told[i].kind == kind;
    return count;
}

static inline struct jzx__schedule_event rig_last(const struct rig *rig,
                                                  enum jzx__schedule_event_kind kind) {
    struct jzx__schedule_event last = {.kind = JZX__EVENT_KINDS};
    for (uint32_t i = 0; i < rig->told_count; i++)
        last = rig->told[i].kind == kind ? rig->told[i] : last;
    return last;
}

static inline void rig_expect_batch(struct jzx__batch batch, uint32_t runs, uint32_t missed,
                                    enum jzx__job_mode mode) {
    JZX_EXPECT_EQ(batch.runs, runs);
    JZX_EXPECT_EQ(batch.missed_runs, missed);
    JZX_EXPECT_EQ(batch.mode, mode);
}

#endif
