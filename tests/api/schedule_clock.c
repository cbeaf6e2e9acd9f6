/* SPDX-License-Identifier: MIT */
/* Which clock the scheduler API goes by. */
#include "scheduling.h"

#include <time.h>

static struct rig rig;

/* ---- the date of the system ---- */

#define DAY_NS (INT64_C(86400) * 1000000000)

static int64_t date_ns(void) {
    struct timespec t;
    JZX_EXPECT_EQ(clock_gettime(CLOCK_REALTIME, &t), 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct jump {
    uint32_t calls;
    uint64_t ticks;
    uint64_t loop_ns;
};

/* Tomorrow, and back to the day before yesterday. */
static void jump(int64_t ns) {
    int64_t before = date_ns();
    jzx_test_jump_realtime(ns);
    JZX_EXPECT(ns > 0 ? date_ns() - before > DAY_NS / 2 : before - date_ns() > DAY_NS);
}

static jzx_behavior_result jump_and_look(jzx_context *ctx, const jzx_message *msg) {
    struct jump *seen = ctx->state;
    uint64_t ticks = jzx_schedule_now(ctx->loop);
    uint64_t now_ns = jzx_loop_now(ctx->loop);
    (void)msg;
    jzx_test_ran();
    if (seen->calls++ > 0) { /* far from a day, whatever the machine does */
        JZX_EXPECT(ticks >= seen->ticks && ticks - seen->ticks < 100 * 60 * 60 * 12);
        JZX_EXPECT(now_ns >= seen->loop_ns && now_ns - seen->loop_ns < (uint64_t)DAY_NS / 2);
        JZX_EXPECT(jzx_schedule_batch(ctx)->runs < 100 * 60 * 60 * 12);
    }
    seen->ticks = ticks;
    seen->loop_ns = now_ns;
    switch (seen->calls) {
    case 2: jump(DAY_NS); break;
    case 4: jump(-3 * DAY_NS); break;
    case 6: JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK); break;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_jump_of_the_date_moves_no_job, "R2.AC3", "B8") {
    static const jzx_driver_kind kinds[] = {JZX_DRIVER_AUTOMATIC, JZX_DRIVER_THREAD};
    for (uint32_t i = 0; i < 2; i++) {
        struct jump seen = {0};
        jzx_loop *loop = fixture_loop_with(
            &JZX_CONFIG(.workers = 1, .schedule = &JZX_SCHEDULE_CONFIG(.driver_kind = kinds[i])));
        assert_non_null(loop);
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = jump_and_look, .state = &seen));
        JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate_with_options(
                          loop, TICK_NS, TICK_NS, id, JZX_NOBODY, NULL, 0, 1,
                          &JZX_SCHEDULE_OPTS(.backlog_limit = UINT32_MAX), NULL),
                      JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(seen.calls, 6);
        fixture_destroy(loop);
    }
    JZX_EXPECT_EQ(jzx_test_runs(), 12);
}

/* ---- a clock of the program's own ---- */

struct own_clock {
    uint64_t now_ns;
    uint32_t reads;
};

static uint64_t read_own(void *ctx) {
    struct own_clock *own = ctx;
    own->reads++;
    return own->now_ns;
}

/* The loop's clock stands at 0 and the own one at an hour: ticks, delays, the log and rates go by
 * the own one. */
JZX_TEST(a_clock_of_the_configuration_is_the_one_that_counts, "B2", "B8", "B9") {
    struct own_clock own = {.now_ns = UINT64_C(3600) * 1000000000 + 4000000};
    const jzx_tick_clock clock = {JZX_TICK_CLOCK_REALTIME_HARDWARE, read_own, &own};
    jzx_schedule_record records[2];
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.driver_kind = JZX_DRIVER_FOREIGN, .clock = &clock,
                                        .log_capacity = 4));
    JZX_EXPECT(own.reads > 0);
    JZX_EXPECT_EQ(jzx_schedule_now(rig.loop), 360000);
    rig_once(&rig, 1, TICKS(2)); /* at 3,600.024 s, so that the tick is 360,003 */
    JZX_EXPECT_EQ(jzx_schedule_log(rig.loop, records, sizeof records[0], 2), 1);
    JZX_EXPECT_EQ(records[0].scheduled_at, 360000);
    JZX_EXPECT_EQ(records[0].deadline, 360003);
    for (uint32_t i = 1; i <= 3; i++) {
        JZX_EXPECT_EQ(rig.notes.count, 0);
        own.now_ns += (uint64_t)TICK_NS;
        JZX_EXPECT(jzx_schedule_notify(rig.loop, 1));
        rig_leap(&rig, TICKS(1));
    }
    JZX_EXPECT_EQ(rig.notes.count, 1);
    JZX_EXPECT_EQ(jzx_schedule_now(rig.loop), 360003);
    rig_close(&rig);
}

/* A deterministic clock may not be off at all, one of hardware by the budget. */
JZX_TEST(the_kind_of_a_clock_decides_how_far_a_tick_may_be_off, "B9", "B17") {
    static const jzx_tick_clock_kind kinds[] = {JZX_TICK_CLOCK_DETERMINISTIC,
                                                JZX_TICK_CLOCK_REALTIME_HOST,
                                                JZX_TICK_CLOCK_REALTIME_HARDWARE};
    for (uint32_t i = 0; i < 3; i++) {
        struct own_clock own = {0};
        const jzx_tick_clock clock = {kinds[i], read_own, &own};
        rig_open(&rig, &JZX_SCHEDULE_CONFIG(.driver_kind = JZX_DRIVER_FOREIGN, .clock = &clock));
        rig_once(&rig, 1, TICK_NS);
        own.now_ns = (uint64_t)TICK_NS + 1;
        JZX_EXPECT(jzx_schedule_notify(rig.loop, 1));
        rig_leap(&rig, TICKS(1));
        JZX_EXPECT_EQ(rig.notes.count, 1);
        JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DRIFT_EXCEEDED, NULL), i == 0 ? 1 : 0);
        rig_close(&rig);
    }
}
