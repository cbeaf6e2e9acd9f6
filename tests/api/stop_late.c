/* SPDX-License-Identifier: MIT */
/* The report of a late stop: its text for each kind of actor that is alive, in virtual time. */
#include "fibering.h"

#include <jzx/manual.h>
#include <jzx/supervisor.h>

#include <pthread.h>
#include <semaphore.h>

enum { HOLD = 7 };

static struct {
    pthread_mutex_t lock;
    uint32_t count;
    char lines[8][256]; /* "name: what it does" */
    sem_t *let_go;      /* posted after the sleeper, the last; may be NULL */
} report = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_late(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_STOP_LATE)
        return;
    pthread_mutex_lock(&report.lock);
    if (JZX_EXPECT(report.count < 8))
        snprintf(report.lines[report.count++], sizeof report.lines[0], "%s: %s", event->name,
                 event->detail);
    pthread_mutex_unlock(&report.lock);
    if (report.let_go != NULL && strcmp(event->name, "sleeper") == 0)
        sem_post(report.let_go);
}

static struct timing open_loop(uint32_t workers) {
    struct timing timing =
        timing_open_with(0, &JZX_CONFIG(.workers = workers, .spare_threads_max = JZX_NONE,
                                        .stall_after_ns = JZX_NEVER));
    report.count = 0;
    report.let_go = NULL;
    JZX_EXPECT_EQ(jzx_loop_set_observer(timing.loop, &JZX_OBSERVER(.on_event = note_late), NULL),
                  JZX_OK);
    return timing;
}

static void expect_line(const char *expected) {
    for (uint32_t i = 0; i < report.count; i++) {
        if (strcmp(report.lines[i], expected) == 0)
            return;
    }
    fprintf(stderr, "expected \"%s\", and the report has:\n", expected);
    for (uint32_t i = 0; i < report.count; i++)
        fprintf(stderr, "  \"%s\"\n", report.lines[i]);
    JZX_EXPECT(!"the line is in the report");
}

static void sleep_for_long(jzx_context *ctx) {
    jzx_test_ran();
    (void)jzx_sleep(ctx, JZX_SECOND(30));
}

static jzx_behavior_result stay(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_late_stop_says_what_a_sleeper_and_an_idle_behaviour_wait_for, "D18", "D+stop") {
    struct timing timing = open_loop(1);
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = sleep_for_long, .name = "sleeper"));
    fixture_spawn(timing.loop,
                  &JZX_SPAWN_OPTS(.behavior = stay, .trap_stop = true, .name = "trapper"));
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(100));
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_MS(300)), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(report.count, 0);
    timing_advance(&timing, JZX_MS(200));
    JZX_EXPECT_EQ(report.count, 2);
    expect_line("sleeper: waits for time since 0.3 s");
    expect_line("trapper: waits for messages; was told to stop");
    JZX_EXPECT_EQ(jzx_test_runs(), 2); /* the fiber, and JZX_TAG_STOP */
    timing_close(&timing);
}

JZX_TEST(a_stop_that_is_late_at_once_says_who_would_have_had_a_turn, "D18") {
    struct timing timing = open_loop(1);
    jzx_actor_id ready =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = stay, .name = "ready"));
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = stay, .name = "idle"));
    fixture_send(timing.loop, ready, HOLD);
    timing_step(&timing);
    fixture_send(timing.loop, ready, HOLD);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(1)), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_MS(1)), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(report.count, 2);
    expect_line("ready: waits for its turn on worker 0");
    expect_line("idle: waits for messages");
    JZX_EXPECT_EQ(jzx_test_runs(), 1); /* the first message */
    timing_close(&timing);
}

/* ---- a supervisor, and an actor that a thread polls ---- */

JZX_TEST(a_late_stop_says_of_a_supervisor_that_it_waits_for_its_children, "D18") {
    struct timing timing = open_loop(1);
    static const jzx_child_spec children[] = {
        {.name = "child", .behavior = stay, .trap_stop = true}};
    JZX_EXPECT_EQ(jzx_spawn_supervisor(timing.loop,
                                       &JZX_SUPERVISOR_OPTS(.name = "top", JZX_CHILDREN(children)),
                                       NULL),
                  JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_MS(300)), JZX_OK);
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(300));
    JZX_EXPECT_EQ(report.count, 2);
    expect_line("top: waits for its children");
    expect_line("child: waits for messages; was told to stop");
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    timing_close(&timing);
}

JZX_TEST(a_late_stop_says_of_a_manual_actor_that_a_thread_polls_it, "D18") {
    struct timing timing = open_loop(1);
    jzx_manual *manual = NULL;
    JZX_EXPECT_EQ(jzx_manual_create(timing.loop,
                                    &JZX_SPAWN_OPTS(.behavior = stay, .name = "polled"), &manual),
                  JZX_OK);
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = sleep_for_long, .name = "sleeper"));
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_MS(300)), JZX_OK);
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(300));
    JZX_EXPECT_EQ(report.count, 2);
    expect_line("polled: waits for the thread that polls it");
    JZX_EXPECT_EQ(jzx_test_runs(), 1); /* the sleeper */
    jzx_manual_destroy(manual);
    timing_close(&timing);
}

/* ---- beside a turn, on another worker ---- */

struct holder {
    jzx_clock *clock;
    sem_t let_go;
};

/* It has a low priority: by now the others of its worker sleep, and were told. */
static jzx_behavior_result hold_the_worker(jzx_context *ctx, const jzx_message *msg) {
    struct holder *holder = ctx->state;
    if (msg->tag != JZX_TAG_STOP)
        return JZX_BEHAVIOR_OK;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_clock_advance(holder->clock, JZX_MS(300)), JZX_OK);
    while (sem_wait(&holder->let_go) != 0)
        continue;
    return JZX_BEHAVIOR_STOP;
}

static void stop_and_sleep(jzx_context *ctx) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_loop_stop(ctx->loop, JZX_MS(300)), JZX_OK);
    (void)jzx_sleep(ctx, JZX_SECOND(30));
}

JZX_TEST(a_late_stop_says_what_those_of_another_worker_do, "D18", "D+stop") {
    struct timing timing = open_loop(2);
    struct holder holder = {.clock = timing.clock};
    sem_init(&holder.let_go, 0, 0);
    report.let_go = &holder.let_go;
    const uint16_t there = JZX_PLACE_WORKER(1);
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = stay, .trap_stop = true, .place = there,
                                               .name = "trapper"));
    fixture_spawn(timing.loop,
                  &JZX_SPAWN_OPTS(.behavior = hold_the_worker, .state = &holder, .trap_stop = true,
                                  .place = there, .priority = JZX_PRIORITY_LOW, .name = "holder"));
    fixture_spawn(timing.loop,
                  &JZX_SPAWN_OPTS(.fiber = stop_and_sleep, .place = there, .name = "sleeper"));
    assert_int_equal(jzx_loop_run(timing.loop), JZX_OK);
    JZX_EXPECT_EQ(report.count, 3);
    expect_line("sleeper: waits for time since 0.3 s");
    expect_line("trapper: waits for messages; was told to stop");
    char line[128];
    snprintf(line, sizeof line, "holder: handles a message with tag %u on worker 1", JZX_TAG_STOP);
    expect_line(line);
    JZX_EXPECT_EQ(jzx_test_runs(), 3);
    sem_destroy(&holder.let_go);
    timing_close(&timing);
}
