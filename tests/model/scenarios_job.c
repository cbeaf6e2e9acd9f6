/* SPDX-License-Identifier: MIT */
/* src/schedule/core: the owner of a scheduler against threads that schedule, cancel, complete and
 * tick. In all of them a payload that was let in is released exactly once, and whoever has it may
 * use it: it is plain data that the thread which schedules wrote before. */
#include "scenarios.h"

#include "schedule/core/admit.h"
#include "schedule/core/life.h"
#include "schedule/core/property.h"
#include "schedule/core/run.h"
#include "schedule/core/shutdown.h"

#define O(number) ((uint64_t)1 << (number))
#define TICK_NS 1000
#define JOBS_MAX 3

struct load {
    unsigned let_in;
    unsigned delivered;
    unsigned ran;
    unsigned released;
};

static struct {
    struct jzx__schedule schedule;
    struct jzx__manual_clock clock;
    struct load loads[JOBS_MAX];
    jzx__job_id first; /* of the setup */
    bool cancelled;
    bool completes; /* deliveries are completed at once */
    uint32_t pulled;
    uint32_t announced;
    _Atomic uint32_t poked; /* of the adapter: Q5 of schedule/scheduler.h */
    bool sees_closed;
} s;

/* ---- the adapter ---- */

static enum jzx__delivery deliver(void *ctx, const struct jzx__delivery_order *order) {
    struct load *load = order->payload;
    (void)ctx;
    model_plain_write(load);
    load->delivered++;
    if (s.completes) {
        load->ran++;
        (void)jzx__schedule_complete(&s.schedule, order->job, 0, 0);
    }
    return JZX__DELIVERED;
}

static void release(void *ctx, void *payload, enum jzx__job_state end) {
    struct load *load = payload;
    (void)ctx;
    (void)end;
    model_plain_write(load);
    load->released++;
}

static void set_up(uint32_t quota) {
    struct jzx__schedule_config config = {.resolution_ns = TICK_NS,
                                          .profile = JZX__PROFILE_CUSTOM,
                                          .capacity = {quota, 1, 1},
                                          .diagnostics_queue_capacity = 1,
                                          .shape = {{2, 2, 2}},
                                          .test_mode = true};
    struct jzx__schedule_ops ops = {.deliver = deliver, .release = release};
    MODEL_ASSERT(jzx__schedule_resolve(&config, &config).error == JZX__CONFIG_OK);
    struct jzx__tick_clock clock = jzx__manual_clock_table(&s.clock);
    clock.advance_to = NULL; /* it stands still: a thread that schedules reads it */
    MODEL_ASSERT(jzx__schedule_init(&s.schedule, &config, ops, clock, &model_allocator));
}

static jzx__job_id submit(unsigned number, enum jzx__job_mode mode) {
    struct load *load = &s.loads[number];
    struct jzx__schedule_request request = {
        .mode = mode, .delay_ns = TICK_NS, .period_ns = TICK_NS, .payload = load};
    model_plain_write(load);
    load->let_in = 1;
    struct jzx__schedule_result result = jzx__schedule_submit(&s.schedule, &request);
    if (result.status != JZX__SCHEDULE_OK)
        load->let_in = 0; /* it is still ours */
    return result.job;
}

static void set_up_one_shot(void) {
    set_up(1);
    s.completes = true;
    s.first = submit(0, JZX__JOB_ONE_SHOT);
    jzx__schedule_take_in(&s.schedule);
}

static void set_up_submitted(void) {
    set_up(1);
    s.completes = true;
    s.first = submit(0, JZX__JOB_ONE_SHOT);
}

static void set_up_in_flight(enum jzx__job_mode mode) {
    set_up(1);
    s.first = submit(0, mode);
    MODEL_ASSERT(jzx__schedule_advance(&s.schedule, 1));
    MODEL_ASSERT(s.loads[0].delivered == 1);
}

static void set_up_one_shot_in_flight(void) {
    set_up_in_flight(JZX__JOB_ONE_SHOT);
}

static void set_up_periodic_in_flight(void) {
    set_up_in_flight(JZX__JOB_FIXED_RATE);
}

static void set_up_two(void) {
    set_up(2);
    s.completes = true;
}

static void set_up_ticks(void) {
    set_up(1);
}

/* ---- what threads do ---- */

static void run_a_tick(void) {
    MODEL_ASSERT(jzx__schedule_advance(&s.schedule, 1));
}

static void take_in(void) {
    jzx__schedule_take_in(&s.schedule);
}

static void cancel_first(void) {
    s.cancelled = jzx__schedule_cancel_elsewhere(&s.schedule, s.first);
}

static void cancel_here(void) {
    (void)jzx__schedule_cancel(&s.schedule, s.first);
}

/* A handler on another thread. */
static void run_first(void) {
    struct load *load = &s.loads[0];
    if (jzx__schedule_may_run(&s.schedule, s.first)) {
        model_plain_write(load);
        load->ran++;
    }
    MODEL_ASSERT(jzx__schedule_complete_elsewhere(&s.schedule, s.first, 0, 0));
}

static void submit_second(void) {
    (void)submit(1, JZX__JOB_ONE_SHOT);
}

static void submit_third(void) {
    (void)submit(2, JZX__JOB_ONE_SHOT);
}

/* Both queues have the record, in whatever order the owner looks. */
static void submit_and_cancel(void) {
    s.first = submit(0, JZX__JOB_FIXED_RATE);
    cancel_first();
}

/* The end of a loop, and a thread that leaves a job meanwhile: jzx__scheduler_end, and
 * jzx__owner_hand_over but for the lock. */
static void shut_down_and_end_looks(void) {
    (void)jzx__schedule_shutdown(&s.schedule);
    /* pairs with leave_a_job */
    (void)jzx__atomic_exchange_acq_rel(&s.poked, 1u);
    jzx__schedule_take_in(&s.schedule);
}

static void leave_a_job(void) {
    (void)submit(1, JZX__JOB_ONE_SHOT);
    /* pairs with shut_down_and_end_looks */
    (void)jzx__atomic_exchange_acq_rel(&s.poked, 1u);
    s.sees_closed = jzx__schedule_is_closed(&s.schedule);
}

static void announce_twice(void) {
    s.announced += jzx__tick_source_notify(&s.schedule.source, 1);
    s.announced += jzx__tick_source_notify(&s.schedule.source, 1);
}

static void pull_twice(void) {
    s.pulled += jzx__tick_source_pull(&s.schedule.source);
    s.pulled += jzx__tick_source_pull(&s.schedule.source);
}

/* ---- the table alone ---- */

static struct {
    struct jzx__job_table table;
    struct jzx__job records[1];
    _Atomic uint32_t cells[2];
    jzx__job_id id;
    unsigned taken;
    enum jzx__job_state state;
} t;

static void set_up_table(void) {
    jzx__job_table_init(&t.table, t.records, 1, t.cells);
    struct jzx__job *job = jzx__job_table_take(&t.table, false);
    t.id = job->id;
    jzx__job_submit(&job->word);
    MODEL_ASSERT(jzx__job_cancel(&job->word, 0) == JZX__CANCEL_UNLINK);
}

static void put_back(void) {
    model_plain_write(&t.records[0].payload);
    jzx__job_table_put_back(&t.table, &t.records[0]);
}

static void take_record(void) {
    struct jzx__job *job = jzx__job_table_take(&t.table, false);
    if (job == NULL)
        return;
    model_plain_write(&job->payload);
    t.taken++;
    MODEL_ASSERT(job->id != t.id);
}

static void ask_state(void) {
    t.state = jzx__job_table_state(&t.table, t.id);
}

static void check_taken(void) {
    MODEL_ASSERT(t.taken <= 1);
    model_outcome(t.taken);
}

static void check_state(void) {
    MODEL_ASSERT(t.state == JZX__JOB_CANCELLED);
}

/* ---- what must be true at the end ---- */

static void finish(void) {
    jzx__schedule_take_in(&s.schedule);
    MODEL_ASSERT(jzx__schedule_check(&s.schedule) == NULL);
    (void)jzx__schedule_shutdown(&s.schedule);
    jzx__schedule_deinit(&s.schedule);
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        model_plain_write(&s.loads[i]);
        MODEL_ASSERT(s.loads[i].released == s.loads[i].let_in);
    }
}

/* It runs, or it was cancelled in time. */
static void check_either(void) {
    bool completed = jzx__schedule_state(&s.schedule, s.first) == JZX__JOB_COMPLETED;
    MODEL_ASSERT(s.loads[0].ran + s.cancelled == 1);
    MODEL_ASSERT(completed == !s.cancelled);
    model_outcome(s.cancelled);
    finish();
}

/* A one-shot in flight runs whatever is tried. */
static void check_ran(void) {
    MODEL_ASSERT(s.loads[0].ran == 1 && !s.cancelled);
    finish();
}

/* A periodic job: a cancel always comes in time for the runs to come. */
static void check_last_run(void) {
    MODEL_ASSERT(s.cancelled);
    MODEL_ASSERT(jzx__schedule_state(&s.schedule, s.first) == JZX__JOB_CANCELLED);
    model_outcome(s.loads[0].ran);
    jzx__schedule_take_in(&s.schedule);
    MODEL_ASSERT(jzx__schedule_metrics_of(&s.schedule).active_total == 0);
    finish();
}

/* Cancelled, before its first run or after it. */
static void check_gone(void) {
    MODEL_ASSERT(s.cancelled);
    model_outcome(s.loads[0].ran);
    finish();
}

static void check_let_in(void) {
    model_outcome(s.loads[1].let_in + 2 * s.loads[2].let_in);
    finish();
}

/* Refused, taken in by the shutdown, or left to the thread, which then knows that. */
static void check_left(void) {
    const struct load *load = &s.loads[1];
    bool is_left = load->let_in && load->released == 0;
    MODEL_ASSERT(!is_left || s.sees_closed);
    model_outcome(!load->let_in ? 0 : is_left ? 2 : 1);
    finish();
}

static void check_ticks(void) {
    s.pulled += jzx__tick_source_flush(&s.schedule.source);
    MODEL_ASSERT(s.announced == 2 && s.pulled == 2);
    finish();
}

#define JOB .state = &s, .state_size = sizeof s
#define TABLE .state = &t, .state_size = sizeof t

const struct model_scenario model_job[] = {
    {.name = "job_cancel_against_fire",
     .about = "a job is due and cancelled at once",
     .setup = set_up_one_shot,
     .threads = {run_a_tick, cancel_first},
     .check = check_either,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 3},
     JOB},
    {.name = "job_cancel_against_registration",
     .about = "a job is cancelled on its way to its owner",
     .setup = set_up_submitted,
     .threads = {run_a_tick, cancel_first},
     .check = check_either,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 3},
     JOB},
    {.name = "job_submit_and_cancel",
     .about = "a job comes and goes while its owner takes in",
     .setup = set_up_two,
     .threads = {run_a_tick, submit_and_cancel},
     .check = check_gone,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 3},
     JOB},
    {.name = "job_cancel_against_completion",
     .about = "a one-shot in flight is completed, cancelled and taken back",
     .setup = set_up_one_shot_in_flight,
     .threads = {run_a_tick, cancel_first, run_first},
     .check = check_ran,
     .bounds = {.preemptions = 2, .stale = 2},
     JOB},
    {.name = "job_last_run",
     .about = "a periodic job in flight is completed, cancelled and set again",
     .setup = set_up_periodic_in_flight,
     .threads = {take_in, cancel_first, run_first},
     .check = check_last_run,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 2},
     JOB},
    {.name = "job_record_reused",
     .about = "a record is freed and wanted by two threads",
     .setup = set_up_one_shot,
     .threads = {cancel_here, submit_second, submit_third},
     .check = check_let_in,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 2, .stale = 2},
     JOB},
    {.name = "job_two_submissions",
     .about = "two threads schedule while a tick runs",
     .setup = set_up_two,
     .threads = {run_a_tick, submit_second, submit_third},
     .check = check_let_in,
     .outcomes = O(3),
     .bounds = {.preemptions = 2, .stale = 2},
     JOB},
    {.name = "job_left_in_a_shutdown",
     .about = "a thread schedules while the scheduler shuts down and its loop ends",
     .setup = set_up_two,
     .threads = {shut_down_and_end_looks, leave_a_job},
     .check = check_left,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 3, .stale = 3},
     JOB},
    {.name = "job_table_record",
     .about = "a record is put back and taken by one of two threads",
     .setup = set_up_table,
     .threads = {put_back, take_record, take_record},
     .check = check_taken,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 3},
     TABLE},
    {.name = "job_table_history",
     .about = "a handle is asked while its record gets another generation",
     .setup = set_up_table,
     .threads = {put_back, ask_state},
     .check = check_state,
     .bounds = {.preemptions = 4, .stale = 4},
     TABLE},
    {.name = "job_ticks",
     .about = "ticks are announced, pulled and flushed",
     .setup = set_up_ticks,
     .threads = {announce_twice, pull_twice},
     .check = check_ticks,
     .bounds = {.preemptions = 4, .stale = 4},
     JOB},
};
const size_t model_job_count = sizeof model_job / sizeof *model_job;
