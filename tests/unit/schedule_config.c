/* SPDX-License-Identifier: MIT */
/* Profiles, defaults, windows, and the field that a wrong configuration names. */
#include "schedule/core/config.h"

#include "jzx/time.h"

#include "jzx_test.h"

#include <string.h>

static struct jzx__schedule_config resolved(struct jzx__schedule_config config) {
    struct jzx__schedule_config out;
    memset(&out, 0, sizeof out);
    JZX_EXPECT_EQ(jzx__schedule_resolve(&config, &out).error, JZX__CONFIG_OK);
    return out;
}

static void refuses(struct jzx__schedule_config config, enum jzx__schedule_config_error error,
                    const char *field) {
    struct jzx__schedule_config out = {.resolution_ns = 77};
    struct jzx__schedule_config_check check = jzx__schedule_resolve(&config, &out);
    JZX_EXPECT_EQ(check.error, error);
    if (!JZX_EXPECT(check.field != NULL && strcmp(check.field, field) == 0))
        print_error("the field is %s, not %s\n", check.field != NULL ? check.field : "-", field);
    JZX_EXPECT_EQ(out.resolution_ns, 77); /* untouched */
}

static void expect_capacity(enum jzx__schedule_profile profile, uint32_t quota, uint32_t overflow,
                            uint32_t task_run) {
    struct jzx__schedule_config c = resolved((struct jzx__schedule_config){.profile = profile});
    JZX_EXPECT_EQ(c.capacity.system_quota, quota);
    JZX_EXPECT_EQ(c.capacity.overflow, overflow);
    JZX_EXPECT_EQ(c.capacity.task_run, task_run);
    JZX_EXPECT_EQ(c.adaptive_quota, quota / 2);
}

JZX_TEST(the_profiles_have_the_capacities_of_the_table, "B38", "B39", "B40", "B41") {
    expect_capacity(JZX__PROFILE_TINY, 2048, 512, 128);
    expect_capacity(JZX__PROFILE_SMALL, 4096, 1024, 256);
    expect_capacity(JZX__PROFILE_STANDARD, 10240, 2560, 512);
    expect_capacity(JZX__PROFILE_LARGE, 25600, 6400, 1024);
    expect_capacity(JZX__PROFILE_DEFAULT, 10240, 2560, 512);
}

static struct jzx__schedule_config custom(uint32_t quota, uint32_t overflow, uint32_t task_run) {
    return (struct jzx__schedule_config){.profile = JZX__PROFILE_CUSTOM,
                                         .capacity = {quota, overflow, task_run}};
}

JZX_TEST(custom_capacities_reach_the_largest_profile_and_no_further) {
    struct jzx__schedule_config c = resolved(custom(25600, 6400, 1024));
    JZX_EXPECT_EQ(c.capacity.system_quota, 25600);
    c = resolved(custom(1, 1, 1));
    JZX_EXPECT_EQ(c.capacity.system_quota, 1);
    JZX_EXPECT_EQ(c.adaptive_quota, 1);
    refuses(custom(25601, 1, 1), JZX__CONFIG_CAPACITY_TOO_LARGE, "capacity.system_quota");
    refuses(custom(1, 6401, 1), JZX__CONFIG_CAPACITY_TOO_LARGE, "capacity.overflow");
    refuses(custom(1, 1, 1025), JZX__CONFIG_CAPACITY_TOO_LARGE, "capacity.task_run");
}

JZX_TEST(zero_means_the_documented_default, "B46", "B47", "B102", "X20", "B17") {
    struct jzx__schedule_config c = resolved((struct jzx__schedule_config){0});
    JZX_EXPECT_EQ(c.resolution_ns, 10000000);
    JZX_EXPECT_EQ(c.slot_capacity, 1024);
    JZX_EXPECT_EQ(c.overflow_threshold_pct, 75);
    JZX_EXPECT_EQ(c.reinsertion_batch_limit, 100);
    JZX_EXPECT_EQ(c.catch_up_window_ns, JZX_MS(50));
    JZX_EXPECT_EQ(c.catch_up_window_ticks, 5);
    JZX_EXPECT_EQ(c.catch_up_chunk_ticks, 5);
    JZX_EXPECT_EQ(c.drift_budget_pct, 5);
    JZX_EXPECT_EQ(c.cooldown_ticks, 5);
    JZX_EXPECT_EQ(c.diagnostics_queue_capacity, 256);
    JZX_EXPECT_EQ((uint64_t)c.shape.slots[0] * c.shape.slots[1] * c.shape.slots[2], 1 << 20);
    JZX_EXPECT(!c.test_mode);
}

JZX_TEST(a_wrong_value_is_refused_by_the_name_of_its_field) {
    typedef struct jzx__schedule_config config;
    static const struct jzx__policy_rule high = {{JZX__AFFINITY_DISPATCHER, 1},
                                                 {JZX__PRIORITY_HIGH, 0, 0}};
    refuses((config){.resolution_ns = 1000000001}, JZX__CONFIG_INVALID_RESOLUTION, "resolution_ns");
    refuses((config){.platform = (enum jzx__schedule_platform)9}, JZX__CONFIG_INVALID_VALUE,
            "platform");
    refuses((config){.profile = (enum jzx__schedule_profile)9}, JZX__CONFIG_INVALID_VALUE,
            "profile");
    refuses((config){.adaptive_quota = 10241}, JZX__CONFIG_CAPACITY_TOO_LARGE, "adaptive_quota");
    refuses((config){.overflow_threshold_pct = 101}, JZX__CONFIG_INVALID_VALUE,
            "overflow_threshold_pct");
    refuses((config){.drift_budget_pct = 101}, JZX__CONFIG_INVALID_VALUE, "drift_budget_pct");
    refuses((config){.diagnostics_queue_capacity = 65537}, JZX__CONFIG_CAPACITY_TOO_LARGE,
            "diagnostics_queue_capacity");
    refuses((config){.log_capacity = (1u << 24) + 1}, JZX__CONFIG_CAPACITY_TOO_LARGE,
            "log_capacity");
    refuses((config){.without_modes = 4}, JZX__CONFIG_INVALID_VALUE, "without_modes");
    refuses((config){.policies_count = 1}, JZX__CONFIG_INVALID_VALUE, "policies_count");
    refuses((config){.policies = &high, .policies_count = 1}, JZX__CONFIG_INVALID_VALUE,
            "policies");
    refuses((config){.shape = {{256, 60, 64}}}, JZX__CONFIG_INVALID_SHAPE, "shape");
    refuses((config){.shape = {{256, 64, 0}}}, JZX__CONFIG_INVALID_SHAPE, "shape");
    refuses((config){.shape = {{4096, 4096, 4096}}}, JZX__CONFIG_INVALID_SHAPE, "shape");
    refuses((config){.shape = {{8, 4, 2}}, .reinsertion_batch_limit = 41},
            JZX__CONFIG_INVALID_VALUE, "reinsertion_batch_limit"); /* 2,560 jobs, 62 passes */
    (void)resolved((config){.shape = {{8, 4, 2}}, .reinsertion_batch_limit = 42});
}

/* ---- windows ---- */

static uint32_t window_ticks(uint32_t window_ms) {
    return resolved((struct jzx__schedule_config){.catch_up_window_ns = JZX_MS(window_ms)})
        .catch_up_window_ticks;
}

JZX_TEST(the_window_is_rounded_up_to_whole_ticks) {
    JZX_EXPECT_EQ(window_ticks(10), 1);
    JZX_EXPECT_EQ(window_ticks(50), 5);
    JZX_EXPECT_EQ(window_ticks(51), 6);
    JZX_EXPECT_EQ(window_ticks(100), 10);
}

JZX_TEST(the_window_for_a_pause_is_its_ticks_rounded_up_and_has_a_limit_by_platform, "B34") {
    typedef struct jzx__schedule_config config;
    JZX_EXPECT_EQ(jzx__catch_up_window_for(3000000, 1000000), 3);
    JZX_EXPECT_EQ(jzx__catch_up_window_for(200000000, 10000000), 20);
    JZX_EXPECT_EQ(jzx__catch_up_window_for(200000001, 10000000), 21);
    JZX_EXPECT_EQ(jzx__catch_up_window_for(UINT64_MAX, 1), UINT32_MAX);
    JZX_EXPECT_EQ(window_ticks(320), 32);
    refuses((config){.catch_up_window_ns = JZX_MS(321)}, JZX__CONFIG_CATCH_UP_WINDOW_TOO_LARGE,
            "catch_up_window_ns");
    config embedded = {.platform = JZX__PLATFORM_EMBEDDED,
                       .resolution_ns = 1000000,
                       .catch_up_window_ns = JZX_MS(8)};
    JZX_EXPECT_EQ(resolved(embedded).catch_up_window_ticks, 8);
    embedded.catch_up_window_ns = JZX_MS(9);
    refuses(embedded, JZX__CONFIG_CATCH_UP_WINDOW_TOO_LARGE, "catch_up_window_ns");
    embedded.catch_up_window_ns = 0; /* the default fits every resolution */
    JZX_EXPECT_EQ(resolved(embedded).catch_up_window_ticks, 8);
}

JZX_TEST(a_chunk_is_at_most_the_window, "B35") {
    typedef struct jzx__schedule_config config;
    JZX_EXPECT_EQ(resolved((config){.catch_up_chunk_ticks = 5}).catch_up_chunk_ticks, 5);
    refuses((config){.catch_up_chunk_ticks = 6}, JZX__CONFIG_CHUNK_TOO_LARGE,
            "catch_up_chunk_ticks");
    refuses((config){.catch_up_window_ns = UINT64_MAX, .resolution_ns = 1},
            JZX__CONFIG_CATCH_UP_WINDOW_TOO_LARGE, "catch_up_window_ns");
}

/* ---- capabilities ---- */

JZX_TEST(the_highest_frequency_is_a_second_divided_by_the_resolution) {
    JZX_EXPECT_EQ(jzx__max_frequency(10000000), 100);
    JZX_EXPECT_EQ(jzx__max_frequency(1000000), 1000);
    JZX_EXPECT_EQ(jzx__max_frequency(1), 1000000000);
}

JZX_TEST(capabilities_say_what_the_configuration_offers) {
    struct jzx__schedule_config c = resolved((struct jzx__schedule_config){.test_mode = true});
    struct jzx__schedule_capabilities can = jzx__schedule_capabilities_of(&c);
    JZX_EXPECT_EQ(can.max_frequency_hz, 100);
    JZX_EXPECT_EQ(can.min_delay_ticks, 1);
    JZX_EXPECT_EQ(can.tick_resolution_ns, 10000000);
    JZX_EXPECT(can.fixed_rate && can.fixed_delay && can.manual_clock);
    c = resolved((struct jzx__schedule_config){.without_modes = JZX__WITHOUT_FIXED_DELAY});
    can = jzx__schedule_capabilities_of(&c);
    JZX_EXPECT(can.fixed_rate && !can.fixed_delay && !can.manual_clock);
    JZX_EXPECT(jzx__schedule_offers(&c, JZX__JOB_ONE_SHOT));
    JZX_EXPECT(!jzx__schedule_offers(&c, JZX__JOB_FIXED_DELAY));
}

JZX_TEST(capabilities_need_a_frequency_and_a_delay_of_a_tick, "B20") {
    struct jzx__schedule_config c = resolved((struct jzx__schedule_config){0});
    struct jzx__schedule_capabilities can = jzx__schedule_capabilities_of(&c);
    JZX_EXPECT(jzx__schedule_capabilities_are_valid(&can));
    can.min_delay_ticks = 0;
    JZX_EXPECT(!jzx__schedule_capabilities_are_valid(&can));
    can.min_delay_ticks = 1;
    can.max_frequency_hz = 0;
    JZX_EXPECT(!jzx__schedule_capabilities_are_valid(&can));
}
