/* SPDX-License-Identifier: MIT */
/* A scheduler on static memory, driven by ticks as an interrupt would announce them: jobs of all
 * modes, a slow receiver, a cancel, a pause of the driver, backpressure, a full quota, a dump, a
 * shutdown. All of it once with the wheel and once with the heap. */
#include "schedule/core/admit.h"
#include "schedule/core/dump.h"
#include "schedule/core/life.h"
#include "schedule/core/property.h"
#include "schedule/core/region.h"
#include "schedule/core/run.h"
#include "schedule/core/shutdown.h"
#include "schedule/core/tick_heap.h"

#include "toolbox.h"

#define MS INT64_C(1000000) /* a tick */
#define MEMORY 65536u
#define QUOTA 24u

#define CHECK(number, condition)                                                                   \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return (number);                                                                       \
    } while (0)

static struct jzx__schedule s;
static _Alignas(max_align_t) char memory[MEMORY];

/* ---- the board: a counter, and receivers ---- */

static struct jzx__tick_source *source;
static uint64_t counter_ns;
static bool is_slow;
static unsigned delivered;
static unsigned runs;
static unsigned dumped;
static unsigned released;
static uint32_t load;

static uint64_t read_counter(void *ctx) {
    (void)ctx;
    return counter_ns;
}

/* The interrupt of the timer. */
static void on_timer_interrupt(void) {
    counter_ns += (uint64_t)MS;
    (void)jzx__tick_source_notify(source, 1);
}

static enum jzx__driver_error attach(void *ctx, struct jzx__tick_source *to,
                                     uint32_t resolution_ns) {
    (void)ctx;
    source = to;
    return resolution_ns == MS ? JZX__DRIVER_OK : JZX__DRIVER_INVALID_RESOLUTION;
}

static enum jzx__delivery deliver(void *ctx, const struct jzx__delivery_order *order) {
    (void)ctx;
    delivered++;
    runs += order->batch.runs;
    if (!is_slow)
        (void)jzx__schedule_complete(&s, order->job, counter_ns, 0);
    return JZX__DELIVERED;
}

static void release(void *ctx, void *payload, enum jzx__job_state end) {
    (void)ctx;
    (void)payload;
    (void)end;
    released++;
}

static void write(void *ctx, const char *text, size_t len) {
    (void)ctx;
    (void)text;
    dumped += (unsigned)len;
}

/* ---- the program ---- */

static void forget(void) {
    counter_ns = 0;
    is_slow = false;
    delivered = runs = dumped = released = load = 0;
}

static bool start(const jzx_tick_timer *timer) {
    static struct jzx__region region;
    static jzx_allocator allocator;
    static const struct jzx__driver driver = {
        JZX__DRIVER_FOREIGN, "timer", NULL, attach, NULL, NULL};
    struct jzx__schedule_config config = {.resolution_ns = (uint32_t)MS,
                                          .platform = JZX__PLATFORM_EMBEDDED,
                                          .profile = JZX__PROFILE_CUSTOM,
                                          .capacity = {QUOTA, 8, 4},
                                          .diagnostics_queue_capacity = 8,
                                          .shape = {{64, 8, 8}},
                                          .timer = timer};
    struct jzx__schedule_ops ops = {.deliver = deliver, .release = release};
    struct jzx__tick_clock clock = {JZX__CLOCK_REALTIME_HARDWARE, NULL, read_counter, NULL};
    forget();
    region = (struct jzx__region){memory, MEMORY, 0};
    allocator = jzx__region_allocator(&region);
    return jzx__schedule_resolve(&config, &config).error == JZX__CONFIG_OK &&
           jzx__schedule_bytes(&config) <= MEMORY &&
           jzx__schedule_init(&s, &config, ops, clock, &allocator) &&
           jzx__schedule_start(&s, &driver, NULL) == JZX__DRIVER_OK;
}

static jzx__job_id add(enum jzx__job_mode mode, int64_t delay_ns, int64_t period_ns) {
    struct jzx__schedule_request request = {
        .mode = mode, .delay_ns = delay_ns, .period_ns = period_ns, .payload = memory};
    return jzx__schedule_add(&s, &request).job;
}

static void let_pass(unsigned ticks) {
    for (unsigned i = 0; i < ticks; i++) {
        on_timer_interrupt();
        while (jzx__schedule_run(&s).has_more)
            continue;
    }
}

static int check_modes(void) {
    jzx__job_id once = add(JZX__JOB_ONE_SHOT, 5 * MS, 0);
    jzx__job_id far = add(JZX__JOB_ONE_SHOT, 5000 * MS, 0);
    jzx__job_id rate = add(JZX__JOB_FIXED_RATE, 10 * MS, 10 * MS);
    jzx__job_id delay = add(JZX__JOB_FIXED_DELAY, 20 * MS, 20 * MS);
    CHECK(1, once == 1 && delay == 4);
    let_pass(100);
    CHECK(2, delivered == 1 + 10 + 5);
    CHECK(3, jzx__schedule_state(&s, once) == JZX__JOB_COMPLETED);
    CHECK(4, jzx__schedule_cancel(&s, delay) && !jzx__schedule_cancel(&s, delay));
    is_slow = true;
    let_pass(55);
    is_slow = false;
    runs = 0;
    CHECK(5, jzx__schedule_complete(&s, rate, counter_ns, 0));
    let_pass(1);
    CHECK(6, runs == 4); /* the points at 120, 130, 140 and 150 in one delivery */
    CHECK(7, jzx__schedule_cancel_elsewhere(&s, rate));
    let_pass(5000);
    CHECK(8, jzx__schedule_state(&s, far) == JZX__JOB_COMPLETED);
    CHECK(9, jzx__schedule_check(&s) == NULL);
    return 0;
}

/* Windows of 10, 50 and 100 ms are so many ticks of 10 ms, rounded up. */
static int check_windows(void) {
    static const uint32_t windows_ms[] = {10, 50, 100, 15};
    static const uint32_t ticks[] = {1, 5, 10, 2};
    for (unsigned i = 0; i < 4; i++) {
        struct jzx__schedule_config config = {.catch_up_window_ns = windows_ms[i] * (uint64_t)MS};
        CHECK(30, jzx__schedule_resolve(&config, &config).error == JZX__CONFIG_OK);
        CHECK(31, config.catch_up_window_ticks == ticks[i]);
    }
    struct jzx__schedule_config embedded = {.platform = JZX__PLATFORM_EMBEDDED,
                                            .catch_up_window_ns = 100 * MS};
    CHECK(32, jzx__schedule_resolve(&embedded, &embedded).error ==
                  JZX__CONFIG_CATCH_UP_WINDOW_TOO_LARGE);
    return 0;
}

static struct jzx__schedule_result add_high(void) {
    struct jzx__schedule_request request = {.mode = JZX__JOB_ONE_SHOT,
                                            .delay_ns = 2000 * MS,
                                            .affinity = {JZX__AFFINITY_SUBSYSTEM, 1},
                                            .payload = memory};
    return jzx__schedule_add(&s, &request);
}

/* The driver pauses: above 0.8 of its window of 8 ticks it catches up, above all of it there is
 * backpressure until that is done. */
static int check_driver_backlog(void) {
    for (unsigned i = 0; i < 7; i++)
        on_timer_interrupt();
    struct jzx__schedule_pass pass = jzx__schedule_run(&s);
    CHECK(33, pass.event.mode == JZX__TICKS_CATCH_UP && !pass.has_more);
    CHECK(34, s.pressure.state == JZX__BP_NORMAL);
    uint64_t overflows = jzx__schedule_metrics_of(&s).tick_overflow_events;
    for (unsigned i = 0; i < 12; i++)
        on_timer_interrupt();
    CHECK(35, jzx__schedule_run(&s).has_more && s.pressure.state == JZX__BP_ENGAGED);
    struct jzx__schedule_metrics metrics = jzx__schedule_metrics_of(&s);
    CHECK(36, metrics.tick_overflow_events == overflows + 1);
    CHECK(37, metrics.tick_backlog_peak == 1000); /* of the pause before */
    let_pass(2);
    CHECK(38, s.pressure.state == JZX__BP_NORMAL);
    return 0;
}

static uint32_t read_load(void *ctx) {
    (void)ctx;
    return load;
}

/* Under load only High is let in, up to the adaptive quota, then nothing for 5 ticks. */
static int check_backpressure(void) {
    const struct jzx__probe probe = {"load", JZX__PROBE_RUNTIME, read_load, NULL};
    CHECK(39, jzx__gauge_register(&s.gauge, probe));
    load = 900;
    let_pass(2);
    CHECK(40, s.pressure.state == JZX__BP_ENGAGED);
    unsigned count = 0;
    while (add_high().status == JZX__SCHEDULE_OK)
        count++;
    CHECK(41, count == QUOTA / 2);
    load = 0;
    let_pass(4);
    CHECK(42, add_high().status == JZX__SCHEDULE_BACKPRESSURED);
    let_pass(1);
    CHECK(43, add_high().status == JZX__SCHEDULE_OK);
    let_pass(2000);
    CHECK(44, jzx__schedule_check(&s) == NULL);
    return 0;
}

static int check_pause_and_quota(void) {
    delivered = 0;
    jzx__job_id rate = add(JZX__JOB_FIXED_RATE, MS, MS);
    for (unsigned i = 0; i < 1000; i++) /* interrupts go on while nobody runs ticks */
        on_timer_interrupt();
    CHECK(20, jzx__schedule_run(&s).has_more);
    CHECK(21, add(JZX__JOB_ONE_SHOT, MS, 0) == JZX__NO_JOB); /* backpressure */
    let_pass(10);
    CHECK(25, delivered == 1010);
    CHECK(22, jzx__schedule_cancel(&s, rate));
    let_pass(10);
    int failed = check_driver_backlog();
    if (failed == 0)
        failed = check_backpressure();
    if (failed != 0)
        return failed;
    unsigned count = 0;
    while (add(JZX__JOB_ONE_SHOT, 100 * MS, 0) != JZX__NO_JOB)
        count++;
    CHECK(23, count == QUOTA);
    jzx__schedule_dump(&s, write, NULL);
    CHECK(24, dumped > 100);
    return 0;
}

static int32_t close_task(void *ctx) {
    (void)ctx;
    return 0;
}

static int run_with(const jzx_tick_timer *timer) {
    uint64_t task = 0;
    CHECK(50, start(timer));
    int failed = check_modes();
    if (failed == 0)
        failed = check_windows();
    if (failed == 0)
        failed = check_pause_and_quota();
    if (failed != 0)
        return failed;
    CHECK(53, jzx__schedule_register_on_close(&s, close_task, NULL, JZX__CLOSE_USER, &task) ==
                  JZX__SCHEDULE_OK);
    on_timer_interrupt();
    struct jzx__shutdown_summary summary = jzx__schedule_shutdown(&s);
    CHECK(51, summary.flushed_ticks == 1 && summary.jobs_cancelled == QUOTA);
    CHECK(52, released == 5 + QUOTA + QUOTA / 2 + 1);
    CHECK(54, jzx__schedule_metrics_of(&s).task_run_on_close_total == 1);
    jzx__schedule_deinit(&s);
    return 0;
}

int run_program(void) {
    int failed = run_with(NULL);
    return failed != 0 ? failed : run_with(&jzx__tick_heap);
}
