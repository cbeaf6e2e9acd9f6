/* SPDX-License-Identifier: MIT */
/* The configuration of a scheduler: what is refused, and by which name; capabilities; policies. */
#include "scheduling.h"

#include <stdio.h>

static struct rig rig;

/* ---- what is wrong ---- */

static void expect_wrong(const jzx_schedule_config *config, const char *field) {
    const char *found = NULL;
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_config whole = JZX_CONFIG(.workers = 1, .clock = clock, .schedule = config);
    JZX_EXPECT_EQ(jzx_config_check(&whole, &found), JZX_ERR_INVALID_ARG);
    if (!JZX_EXPECT(found != NULL && strcmp(found, field) == 0))
        print_message("expected %s, found %s\n", field, found == NULL ? "nothing" : found);
    JZX_EXPECT(fixture_loop_with(&whole) == NULL); /* it aborts the start */
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
}

#define WRONG(field, ...) expect_wrong(&JZX_SCHEDULE_CONFIG(__VA_ARGS__), "schedule." field)

JZX_TEST(a_wrong_field_aborts_the_start_and_is_named, "B42", "B34", "B35", "X2", "B61", "B+tests",
         "B+driver") {
    WRONG("resolution_ns", .resolution_ns = 1000000001);
    WRONG("profile", .profile = (jzx_schedule_profile)6);
    WRONG("system_quota", .profile = JZX_SCHEDULE_CUSTOM, .system_quota = 25601);
    WRONG("overflow_capacity", .profile = JZX_SCHEDULE_CUSTOM, .overflow_capacity = 6401);
    WRONG("task_run_capacity", .profile = JZX_SCHEDULE_CUSTOM, .task_run_capacity = 1025);
    WRONG("adaptive_quota", .adaptive_quota = 10241);
    WRONG("catch_up_window_ns", .catch_up_window_ns = JZX_MS(321));
    WRONG("catch_up_chunk_ticks", .catch_up_chunk_ticks = 6);
    WRONG("overflow_threshold_pct", .overflow_threshold_pct = 101);
    WRONG("drift_budget_pct", .drift_budget_pct = 101);
    WRONG("diagnostics_queue_capacity", .diagnostics_queue_capacity = 65537);
    WRONG("log_capacity", .log_capacity = (1u << 24) + 1);
    WRONG("without_modes", .without_modes = 4);
    WRONG("wheel_slots", .wheel_slots = {256, 64, 63});
    WRONG("reinsertion_batch_limit", .wheel_slots = {2, 2, 2}, .reinsertion_batch_limit = 1);
    WRONG("driver_kind", .driver_kind = (jzx_driver_kind)5);
    WRONG("driver_kind", .driver_kind = JZX_DRIVER_MANUAL); /* outside of test_mode */
    WRONG("driver_kind", .driver_kind = JZX_DRIVER_THREAD); /* the clock is moved by hand */
    WRONG("driver", .driver = &(jzx_tick_driver){.name = "mine"});
    WRONG("clock", .clock = &(jzx_tick_clock){.now_ns = NULL}, .driver_kind = JZX_DRIVER_FOREIGN);
    expect_wrong(&(jzx_schedule_config){.size = 1}, "schedule.size");
}

static void *no_timer(void *arg, void *memory, size_t entries_max, uint64_t now) {
    (void)memory, (void)entries_max, (void)now;
    return arg;
}

static void move_entry(void *timer, jzx_tick_entry *entry) {
    (void)timer, (void)entry;
}

static jzx_tick_entry *no_entry(void *timer, uint64_t tick) {
    (void)timer, (void)tick;
    return NULL;
}

static uint64_t no_tick(void *timer) {
    (void)timer;
    return UINT64_MAX;
}

JZX_TEST(a_timer_without_one_of_its_functions_is_refused, "B2") {
    const jzx_tick_timer whole = {.create = no_timer,
                                  .insert = move_entry,
                                  .cancel = move_entry,
                                  .poll_expired = no_entry,
                                  .next = no_tick};
    WRONG("timer_kind", .timer_kind = (jzx_tick_timer_kind)4);
    WRONG("timer", .timer_kind = JZX_TICK_TIMER_FOREIGN);
    WRONG("timer", .timer = &whole); /* of another kind */
    WRONG("timer", .timer_kind = JZX_TICK_TIMER_HEAP, .timer = &whole);
    jzx_tick_timer timer = whole;
    jzx_schedule_config config =
        JZX_SCHEDULE_CONFIG(.timer_kind = JZX_TICK_TIMER_FOREIGN, .timer = &timer);
    JZX_EXPECT_EQ(jzx_schedule_config_check(&config, NULL), JZX_OK);
    timer.create = NULL;
    expect_wrong(&config, "schedule.timer");
    timer = whole;
    timer.insert = NULL;
    expect_wrong(&config, "schedule.timer");
    timer = whole;
    timer.cancel = NULL;
    expect_wrong(&config, "schedule.timer");
    timer = whole;
    timer.poll_expired = NULL;
    expect_wrong(&config, "schedule.timer");
    timer = whole;
    timer.next = NULL;
    expect_wrong(&config, "schedule.timer");
}

JZX_TEST(a_manual_driver_needs_a_manual_clock, "B+driver") {
    const char *field = NULL;
    jzx_config config =
        JZX_CONFIG(.schedule =
                       &JZX_SCHEDULE_CONFIG(.driver_kind = JZX_DRIVER_MANUAL, .test_mode = true));
    JZX_EXPECT_EQ(jzx_config_check(&config, &field), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(field != NULL && strcmp(field, "schedule.driver_kind") == 0);
}

JZX_TEST(wrong_dispatchers_and_policies_are_refused, "B60") {
    static const jzx_dispatcher twice[] = {{"io", 0, 0}, {"io", 0, 0}};
    static const jzx_dispatcher unnamed[] = {{"", 0, 0}};
    static const jzx_dispatcher too_low[] = {{"io", (jzx_priority)5, 0}};
    static const jzx_schedule_policy no_such[] = {{JZX_SCHEDULE_DISPATCHER, "io", 0, 0, 0}};
    static const jzx_schedule_policy too_high[] = {
        {JZX_SCHEDULE_DISPATCHER, NULL, JZX_JOB_PRIORITY_HIGH, 0, 0}};
    static const jzx_schedule_policy no_name[] = {{JZX_SCHEDULE_SUBSYSTEM, NULL, 0, 0, 0}};
    static const jzx_dispatcher *const bad[] = {twice, unnamed, too_low};
    static const uint32_t bad_counts[] = {2, 1, 1};
    static const jzx_schedule_policy *const bad_policies[] = {no_such, too_high, no_name};
    for (uint32_t i = 0; i < 3; i++) {
        WRONG("dispatchers", .dispatchers = bad[i], .dispatcher_size = sizeof(jzx_dispatcher),
              .dispatcher_count = bad_counts[i]);
        WRONG("policies", .policies = bad_policies[i], .policy_size = sizeof(jzx_schedule_policy),
              .policy_count = 1);
    }
    WRONG("dispatchers", .dispatchers = NULL, .dispatcher_count = 1);
    WRONG("dispatchers", .dispatchers = twice, .dispatcher_size = 1, .dispatcher_count = 1);
    WRONG("policies", .policies = no_name, .policy_size = 0, .policy_count = 1);
}

JZX_TEST(more_dispatchers_or_policies_than_there_is_room_for_are_refused, "B60") {
    static jzx_dispatcher dispatchers[256];
    static jzx_schedule_policy policies[257];
    static char names[257][8];
    for (uint32_t i = 0; i < 257; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%u", (unsigned)i);
        policies[i] = (jzx_schedule_policy){JZX_SCHEDULE_SUBSYSTEM, names[i], 0, 0, 0};
        if (i < 256)
            dispatchers[i] = (jzx_dispatcher){names[i], 0, 0};
    }
    WRONG("dispatchers", .dispatchers = dispatchers, .dispatcher_size = sizeof dispatchers[0],
          .dispatcher_count = 256);
    WRONG("policies", .policies = policies, .policy_size = sizeof policies[0], .policy_count = 257);
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.dispatchers = dispatchers,
                                        .dispatcher_size = sizeof dispatchers[0],
                                        .dispatcher_count = 255, .policies = policies,
                                        .policy_size = sizeof policies[0], .policy_count = 256));
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, &JZX_SCHEDULE_OPTS(.dispatcher = "n254")), JZX_OK);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, &JZX_SCHEDULE_OPTS(.subsystem = "n255")), JZX_OK);
    rig_close(&rig);
}

JZX_TEST(the_check_stands_alone_and_the_init_gives_the_defaults) {
    jzx_schedule_config config;
    jzx_schedule_opts opts;
    const char *field = "untouched";
    JZX_EXPECT_EQ(jzx_schedule_config_init(&config, sizeof config), JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_config_check(&config, &field), JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_config_check(NULL, &field), JZX_OK);
    JZX_EXPECT(strcmp(field, "untouched") == 0);
    config.drift_budget_pct = 200;
    JZX_EXPECT_EQ(jzx_schedule_config_check(&config, &field), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(strcmp(field, "schedule.drift_budget_pct") == 0);
    JZX_EXPECT_EQ(jzx_schedule_config_init(NULL, sizeof config), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_schedule_config_init(&config, 0), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_schedule_opts_init(&opts, sizeof opts), JZX_OK);
    JZX_EXPECT_EQ(opts.size, sizeof opts);
    JZX_EXPECT_EQ(jzx_schedule_opts_init(&opts, sizeof opts + 1), JZX_ERR_INVALID_ARG);
}

/* ---- profiles ---- */

static int32_t do_nothing(void *ctx) {
    (void)ctx;
    return 0;
}

/* So many close tasks, far jobs and jobs there may be, and one more is refused. */
static void expect_profile(jzx_schedule_profile profile, uint32_t quota, uint32_t overflow,
                           uint32_t task_run) {
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.profile = profile, .slot_capacity = 65536));
    JZX_EXPECT_EQ(rig_metrics(&rig).quota_limit, quota);
    for (uint32_t i = 0; i <= task_run; i++)
        JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, JZX_CLOSE_USER, NULL, do_nothing, NULL),
                      i < task_run ? JZX_OK : JZX_ERR_FULL);
    for (uint32_t i = 0; i <= overflow; i++)
        JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(2000000), NULL),
                      i < overflow ? JZX_OK : JZX_ERR_CAPACITY_EXCEEDED);
    for (uint32_t i = overflow; i <= quota; i++)
        JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(5), NULL),
                      i < quota ? JZX_OK : JZX_ERR_QUOTA_EXCEEDED);
    rig_close(&rig);
}

JZX_TEST(a_profile_of_the_configuration_has_the_capacities_of_the_table, "B38", "B39", "B40",
         "B41") {
    expect_profile(JZX_SCHEDULE_TINY, 2048, 512, 128);
    expect_profile(JZX_SCHEDULE_SMALL, 4096, 1024, 256);
    expect_profile(JZX_SCHEDULE_STANDARD, 10240, 2560, 512);
    expect_profile(JZX_SCHEDULE_LARGE, 25600, 6400, 1024);
}

/* ---- capabilities ---- */

JZX_TEST(capabilities_say_what_the_configuration_offers_and_the_rest_is_refused, "B18", "B19",
         "B20", "R1.AC6", "B16", "X12", "B+tests") {
    jzx_schedule_capabilities caps = {.size = sizeof caps};
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(jzx_schedule_capabilities_get(rig.loop, &caps), JZX_OK);
    JZX_EXPECT_EQ(caps.max_frequency_hz, 100);
    JZX_EXPECT_EQ(caps.min_delay_ticks, 1);
    JZX_EXPECT_EQ(caps.tick_resolution_ns, 10000000);
    JZX_EXPECT(caps.fixed_rate && caps.fixed_delay && !caps.manual_clock);
    JZX_EXPECT_EQ(jzx_schedule_max_frequency(rig.loop), 100);
    JZX_EXPECT_EQ(rig_metrics(&rig).quota_limit, 10240);
    rig_close(&rig);
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.resolution_ns = 1000000, .test_mode = true,
                                        .without_modes = JZX_SCHEDULE_WITHOUT_FIXED_RATE |
                                                         JZX_SCHEDULE_WITHOUT_FIXED_DELAY));
    JZX_EXPECT_EQ(jzx_schedule_capabilities_get(rig.loop, &caps), JZX_OK);
    JZX_EXPECT_EQ(caps.max_frequency_hz, 1000);
    JZX_EXPECT(!caps.fixed_rate && !caps.fixed_delay && caps.manual_clock);
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, TICK_NS, rig.to, JZX_NOBODY, NULL,
                                             0, 1, NULL),
                  JZX_ERR_UNSUPPORTED);
    JZX_EXPECT_EQ(jzx_schedule_with_fixed_delay(rig.loop, TICK_NS, TICK_NS, rig.to, JZX_NOBODY,
                                                NULL, 0, 1, NULL),
                  JZX_ERR_UNSUPPORTED);
    JZX_EXPECT_EQ(rig_try_once(&rig, 1000000, NULL), JZX_OK);
    rig_leap(&rig, 1000000);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    JZX_EXPECT_EQ(jzx_schedule_capabilities_get(rig.loop, &(jzx_schedule_capabilities){0}),
                  JZX_ERR_INVALID_ARG);
    rig_close(&rig);
}

/* ---- policies ---- */

/* How many runs a job may miss: its receiver takes so many ticks, and the job is cancelled or not.
 */
static bool survives(const jzx_schedule_opts *opts, uint32_t missed) {
    jzx_job_id job = JZX_NO_JOB;
    rig.notes.takes_ns = TICKS(missed);
    rig.notes.slow = 1;
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate_with_options(rig.loop, TICK_NS, TICK_NS, rig.to,
                                                          JZX_NOBODY, NULL, 0, 1, opts, &job),
                  JZX_OK);
    rig_pass(&rig, 2);
    bool is_alive = jzx_job_state(rig.loop, job) == JZX_JOB_SCHEDULED;
    (void)jzx_job_cancel(rig.loop, job);
    return is_alive;
}

static void expect_backlog_limit(const jzx_schedule_opts *opts, uint32_t limit) {
    JZX_EXPECT(survives(opts, limit));
    struct jzx_schedule_event told;
    uint32_t before = rig_told(&rig, JZX_SCHEDULE_EVENT_BACKLOG_EXCEEDED, NULL);
    JZX_EXPECT(!survives(opts, limit + 1));
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_BACKLOG_EXCEEDED, &told), before + 1);
    JZX_EXPECT_EQ(told.value, limit + 1);
}

JZX_TEST(a_job_that_misses_more_runs_than_its_backlog_limit_is_cancelled, "B67", "R2.AC6", "X20",
         "B58", "B60", "B70", "B+rules", "B+tests") {
    static const jzx_dispatcher dispatchers[] = {{"io", 0, 0}};
    static const jzx_schedule_policy policies[] = {
        {JZX_SCHEDULE_DISPATCHER, "io", JZX_JOB_PRIORITY_LOW, 5, 2},
        {JZX_SCHEDULE_SUBSYSTEM, "cache", JZX_JOB_PRIORITY_HIGH, 7, 0}};
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.dispatchers = dispatchers,
                                        .dispatcher_size = sizeof dispatchers[0],
                                        .dispatcher_count = 1, .policies = policies,
                                        .policy_size = sizeof policies[0], .policy_count = 2));
    expect_backlog_limit(NULL, 32);
    expect_backlog_limit(&JZX_SCHEDULE_OPTS(.dispatcher = "io"), 5);
    expect_backlog_limit(&JZX_SCHEDULE_OPTS(.subsystem = "cache"), 7);
    expect_backlog_limit(&JZX_SCHEDULE_OPTS(.dispatcher = "io", .backlog_limit = 3), 3);
    rig_close(&rig);
}

static uint32_t bursts_of(const jzx_schedule_opts *opts, uint32_t missed) {
    uint32_t before = rig_told(&rig, JZX_SCHEDULE_EVENT_BURST_FIRE, NULL);
    (void)survives(opts, missed);
    return rig_told(&rig, JZX_SCHEDULE_EVENT_BURST_FIRE, NULL) - before;
}

JZX_TEST(folding_more_runs_than_the_threshold_is_reported, "B68", "X13", "X20", "R2.AC5", "B+rules",
         "B+tests") {
    struct jzx_schedule_event told;
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(bursts_of(NULL, 8), 0);
    JZX_EXPECT_EQ(bursts_of(NULL, 9), 1);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_BURST_FIRE, &told), 1);
    JZX_EXPECT_EQ(told.batch.runs, 10);
    JZX_EXPECT_EQ(told.batch.missed_runs, 9);
    JZX_EXPECT_EQ(bursts_of(&JZX_SCHEDULE_OPTS(.burst_threshold = 2), 2), 0);
    JZX_EXPECT_EQ(bursts_of(&JZX_SCHEDULE_OPTS(.burst_threshold = 2), 3), 1);
    rig_close(&rig);
}

JZX_TEST(only_a_subsystem_of_the_configuration_may_be_high, "B51", "B60") {
    static const jzx_schedule_policy policies[] = {{JZX_SCHEDULE_SUBSYSTEM, "cache", 0, 0, 0}};
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.policies = policies, .policy_size = sizeof policies[0],
                                        .policy_count = 1));
    JZX_EXPECT_EQ(
        rig_try_once(&rig, TICK_NS, &JZX_SCHEDULE_OPTS(.priority = JZX_JOB_PRIORITY_HIGH)),
        JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(
        rig_try_once(&rig, TICK_NS,
                     &JZX_SCHEDULE_OPTS(.priority = JZX_JOB_PRIORITY_HIGH, .subsystem = "cache")),
        JZX_OK);
    for (int p = JZX_JOB_PRIORITY_LOW; p <= JZX_JOB_PRIORITY_NORMAL; p++)
        JZX_EXPECT_EQ(
            rig_try_once(&rig, TICK_NS, &JZX_SCHEDULE_OPTS(.priority = (jzx_job_priority)p)),
            JZX_OK);
    rig_close(&rig);
}

/* The actor that runs functions ends; the scheduler makes another after its next tick. */
static void kill_runner(void) {
    jzx_actor_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    while (jzx_actor_next(rig.loop, &cursor, &info) == JZX_OK) {
        if (strcmp(info.name, "jzx-schedule") == 0)
            JZX_EXPECT_EQ(jzx_actor_stop(rig.loop, info.id, JZX_STOP_KILL), JZX_OK);
    }
    rig_step(&rig);
}

/* A function job whose runner is gone during that number of ticks. */
static jzx_job_id miss_runs(const jzx_schedule_opts *opts, uint32_t ticks) {
    jzx_job_id job = JZX_NO_JOB;
    JZX_EXPECT_EQ(jzx_schedule_with_fixed_delay_fn(rig.loop, TICK_NS, TICK_NS, opts, &job,
                                                   call_down, &rig.notes),
                  JZX_OK);
    for (uint32_t i = 0; i < ticks; i++) {
        kill_runner();
        rig_pass(&rig, 1);
        JZX_EXPECT_EQ(rig.notes.count, 0);
    }
    rig_pass(&rig, 1);
    return job;
}

JZX_TEST(a_fixed_delay_that_skips_missed_runs_counts_one_and_is_never_cancelled, "B+rules") {
    rig_open(&rig, NULL);
    jzx_job_id job = miss_runs(&JZX_SCHEDULE_OPTS(.skip_missed = true, .backlog_limit = 4), 5);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    rig_expect_batch(&rig, 0, 1, 0, JZX_JOB_FIXED_DELAY);
    rig_expect_state(&rig, job, JZX_JOB_SCHEDULED);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig.notes.count, 2);
    rig_expect_batch(&rig, 1, 1, 0, JZX_JOB_FIXED_DELAY);
    rig_close(&rig);
}

JZX_TEST(a_fixed_delay_folds_the_runs_that_it_missed_and_has_a_limit, "B+rules") {
    rig_open(&rig, NULL);
    jzx_job_id job = miss_runs(&JZX_SCHEDULE_OPTS(.backlog_limit = 5), 5);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    rig_expect_batch(&rig, 0, 6, 5, JZX_JOB_FIXED_DELAY);
    rig_expect_state(&rig, job, JZX_JOB_SCHEDULED);
    rig_close(&rig);
    rig_open(&rig, NULL);
    job = miss_runs(&JZX_SCHEDULE_OPTS(.backlog_limit = 4), 5);
    JZX_EXPECT_EQ(rig.notes.count, 0);
    rig_expect_state(&rig, job, JZX_JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_BACKLOG_EXCEEDED, NULL), 1);
    rig_close(&rig);
}
