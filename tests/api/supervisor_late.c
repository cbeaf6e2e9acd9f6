/* SPDX-License-Identifier: MIT */
/* Supervisors and children that do not return: on another worker, while the test moves the clock.
 * They are held by a gate, so that each deadline has passed before they go on. */
#include "supervising.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { HOLD = 40 };

static sem_t gate;
static atomic_int held; /* how many stand at the gate */
static atomic_int inits_to_hold;
static atomic_int inits;
static atomic_int ended_with[8]; /* by reason */

static void stand_at_gate(void) {
    atomic_fetch_add(&held, 1);
    while (sem_wait(&gate) != 0) {
    }
    atomic_fetch_sub(&held, 1);
}

static jzx_behavior_result hold(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    if (msg->tag == HOLD)
        stand_at_gate();
    return msg->tag == TOY_FAIL ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_OK;
}

static jzx_err hold_init(jzx_context *ctx) {
    (void)ctx;
    atomic_fetch_add(&inits, 1);
    if (atomic_load(&inits_to_hold) > 0) {
        atomic_fetch_sub(&inits_to_hold, 1);
        stand_at_gate();
    }
    return JZX_OK;
}

static void hold_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    atomic_fetch_add(&ended_with[reason], 1);
}

/* So many timers are over, and nothing is left to do but for who is held with so many messages in
 * hand. */
static void wait_for_quiet(const struct timing *timing, uint64_t timers, uint64_t in_hand) {
    jzx_stats stats = fixture_stats(timing->loop);
    while (stats.timers_ended < timers || stats.waiting != in_hand) {
        sched_yield();
        stats = fixture_stats(timing->loop);
    }
}

/* The supervisor's timer is set after its child's state: the clock must not move before. */
static void wait_for_timer(const struct timing *timing, uint64_t timers_set) {
    while (fixture_stats(timing->loop).timers_set <= timers_set)
        sched_yield();
}

static void wait_for_held(void) {
    while (atomic_load(&held) == 0)
        sched_yield();
}

static void wait_for_state(const struct timing *timing, jzx_actor_id root, jzx_child_state state) {
    while (info_of(timing, root, 0).state != state)
        sched_yield();
}

struct late {
    struct timing timing;
    jzx_child_spec spec;
    sem_t is_ready; /* when the root is there */
    jzx_actor_id root;
};

/* Spawned on worker 0, where the supervisor stays: worker 1 is the child's alone. */
static jzx_err spawn_root(jzx_context *ctx) {
    struct late *late = ctx->state;
    JZX_EXPECT_EQ(
        jzx_spawn_supervisor(ctx->loop,
                             &JZX_SUPERVISOR_OPTS(.children = &late->spec, .child_count = 1,
                                                  .child_size = sizeof late->spec),
                             &late->root),
        JZX_OK);
    sem_post(&late->is_ready);
    return jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_AFTER_MESSAGE);
}

static void late_open(struct late *late, jzx_child_spec more) {
    more.name = "h";
    more.behavior = hold;
    more.init = hold_init;
    more.cleanup = hold_cleanup;
    more.place = JZX_PLACE_WORKER(1);
    late->spec = more;
    assert_int_equal(sem_init(&gate, 0, 0), 0);
    assert_int_equal(sem_init(&late->is_ready, 0, 0), 0);
    memset(ended_with, 0, sizeof ended_with);
    atomic_store(&inits_to_hold, 0);
    atomic_store(&inits, 0);
    late->timing = nursery_open_with(
        &JZX_CONFIG(.workers = 2, .spare_threads_max = JZX_NONE, .balance = JZX_BALANCE_NONE));
    fixture_spawn(late->timing.loop, &JZX_SPAWN_OPTS(.behavior = hold, .init = spawn_root,
                                                     .state = late, .place = JZX_PLACE_WORKER(0)));
}

/* Runs the loop here and the script beside it, which stops the tree or the loop at its end. */
static void late_run_to(struct late *late, void *(*script)(void *), jzx_err err) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, script, late), 0);
    JZX_EXPECT_EQ(jzx_loop_run(late->timing.loop), err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    timing_close(&late->timing);
    sem_destroy(&gate);
    sem_destroy(&late->is_ready);
}

static void late_run(struct late *late, void *(*script)(void *)) {
    late_run_to(late, script, JZX_OK);
}

static void wait_for_root(struct late *late) {
    while (sem_wait(&late->is_ready) != 0) {
    }
    wait_for_state(&late->timing, late->root, JZX_CHILD_RUNNING);
}

static jzx_actor_id hold_it(struct late *late) {
    wait_for_root(late);
    jzx_actor_id id = child_of(&late->timing, late->root, "h");
    fixture_send(late->timing.loop, id, HOLD);
    wait_for_held();
    return id;
}

/* ---- the time to stop ---- */

static uint64_t stop_after_ms; /* how far the clock moves while it should stop */

static void *stop_while_held(void *arg) {
    struct late *late = arg;
    hold_it(late);
    uint64_t timers = fixture_stats(late->timing.loop).timers_ended;
    uint64_t timers_set = fixture_stats(late->timing.loop).timers_set;
    JZX_EXPECT_EQ(jzx_actor_stop(late->timing.loop, late->root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    wait_for_state(&late->timing, late->root, JZX_CHILD_STOPPING);
    if (stop_after_ms >= 5000)
        wait_for_timer(&late->timing, timers_set);
    JZX_EXPECT_EQ(jzx_clock_advance(late->timing.clock, JZX_MS(stop_after_ms)), JZX_OK);
    if (stop_after_ms >= 5000) /* its time is over: it is killed, and ends when it returns */
        wait_for_quiet(&late->timing, timers + 1, 1);
    sem_post(&gate);
    return NULL;
}

static void stop_late(uint64_t after_ms, uint64_t shutdown_ns, jzx_exit_reason reason) {
    struct late late;
    stop_after_ms = after_ms;
    late_open(&late, (jzx_child_spec){.shutdown_ns = shutdown_ns});
    late_run(&late, stop_while_held);
    JZX_EXPECT_EQ(atomic_load(&ended_with[reason]), 1);
    JZX_EXPECT_EQ(escalations, 0);
}

JZX_TEST(a_child_that_does_not_stop_in_time_is_killed, "D+sup", "X21") {
    stop_late(4999, 0, JZX_EXIT_SHUTDOWN);
    stop_late(5000, 0, JZX_EXIT_KILLED);
    stop_late(4000, JZX_NONE, JZX_EXIT_KILLED);
    stop_late(4000, JZX_NEVER, JZX_EXIT_SHUTDOWN);
}

/* ---- the time to start ---- */

static void *start_while_held(void *arg) {
    struct late *late = arg;
    wait_for_root(late);
    uint64_t timers = fixture_stats(late->timing.loop).timers_ended;
    uint64_t timers_set = fixture_stats(late->timing.loop).timers_set;
    atomic_store(&inits_to_hold, 1);
    jzx_actor_id first = child_of(&late->timing, late->root, "h");
    fixture_send(late->timing.loop, first, TOY_FAIL);
    wait_for_held();
    wait_for_state(&late->timing, late->root, JZX_CHILD_STARTING);
    wait_for_timer(&late->timing, timers_set);
    jzx_actor_id second = child_of(&late->timing, late->root, "h");
    JZX_EXPECT_EQ(jzx_clock_advance(late->timing.clock, JZX_MS(10000)), JZX_OK);
    wait_for_quiet(&late->timing, timers + 1, 0);
    JZX_EXPECT_EQ(info_of(&late->timing, late->root, 0).state, JZX_CHILD_STARTING);
    sem_post(&gate);
    wait_for_state(&late->timing, late->root, JZX_CHILD_RUNNING);
    while (info_of(&late->timing, late->root, 0).restarts < 2 ||
           info_of(&late->timing, late->root, 0).state != JZX_CHILD_RUNNING)
        sched_yield();
    jzx_child_info info = info_of(&late->timing, late->root, 0);
    JZX_EXPECT(info.id != first && info.id != second);
    JZX_EXPECT_EQ(info.last_reason, JZX_EXIT_KILLED);
    JZX_EXPECT_EQ(info.attempt, 2);
    JZX_EXPECT_EQ(jzx_actor_stop(late->timing.loop, late->root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    return NULL;
}

JZX_TEST(an_init_that_takes_too_long_is_a_failure, "D+sup", "X21", "C21") {
    struct late late;
    late_open(&late, (jzx_child_spec){0});
    late_run(&late, start_while_held);
    JZX_EXPECT_EQ(atomic_load(&ended_with[JZX_EXIT_KILLED]), 1);
    JZX_EXPECT_EQ(atomic_load(&ended_with[JZX_EXIT_SHUTDOWN]), 1);
}

/* Ends when the tree has given up, or has started the child again. */
static void *start_first_while_held(void *arg) {
    struct late *late = arg;
    jzx_loop *loop = late->timing.loop;
    jzx_child_info info = {.size = sizeof info};
    while (sem_wait(&late->is_ready) != 0) {
    }
    wait_for_held();
    wait_for_timer(&late->timing, 0);
    JZX_EXPECT_EQ(jzx_clock_advance(late->timing.clock, JZX_MS(10000)), JZX_OK);
    wait_for_quiet(&late->timing, 1, 0);
    sem_post(&gate);
    while (jzx_supervisor_child_info(loop, late->root, 0, &info) == JZX_OK && info.restarts == 0)
        sched_yield();
    (void)jzx_actor_stop(loop, late->root, JZX_STOP_AFTER_MESSAGE);
    return NULL;
}

JZX_TEST(a_first_start_that_takes_too_long_is_not_tried_again) {
    struct late late;
    late_open(&late, (jzx_child_spec){0});
    atomic_store(&inits_to_hold, 1);
    late_run_to(&late, start_first_while_held, JZX_ERR_ESCALATED);
    JZX_EXPECT_EQ(atomic_load(&inits), 1);
    JZX_EXPECT_EQ(atomic_load(&ended_with[JZX_EXIT_KILLED]), 1);
    JZX_EXPECT_EQ(escalations, 1);
}

static jzx_child_added added;
static sem_t is_added;

static jzx_behavior_result note_added(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    JZX_EXPECT_EQ(msg->tag, JZX_TAG_CHILD_ADDED);
    memcpy(&added, msg->data, sizeof added);
    sem_post(&is_added);
    return JZX_BEHAVIOR_STOP;
}

static void *add_while_held(void *arg) {
    struct late *late = arg;
    jzx_loop *loop = late->timing.loop;
    wait_for_root(late);
    jzx_actor_id asker = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_added));
    uint64_t timers = fixture_stats(loop).timers_ended;
    uint64_t timers_set = fixture_stats(loop).timers_set;
    jzx_child_spec spec = late->spec;
    spec.name = "added";
    atomic_store(&inits_to_hold, 1);
    JZX_EXPECT_EQ(jzx_supervisor_add(loop, late->root, &spec, sizeof spec, asker), JZX_OK);
    wait_for_held();
    wait_for_timer(&late->timing, timers_set);
    JZX_EXPECT_EQ(jzx_clock_advance(late->timing.clock, JZX_MS(10000)), JZX_OK);
    wait_for_quiet(&late->timing, timers + 1, 0);
    sem_post(&gate);
    while (sem_wait(&is_added) != 0) {
    }
    JZX_EXPECT_EQ(added.err, JZX_ERR_UNKNOWN);
    JZX_EXPECT_EQ(family_of(&late->timing, late->root).children, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, late->root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    return NULL;
}

JZX_TEST(an_added_child_whose_init_takes_too_long_is_forgotten) {
    struct late late;
    assert_int_equal(sem_init(&is_added, 0, 0), 0);
    late_open(&late, (jzx_child_spec){0});
    late_run(&late, add_while_held);
    JZX_EXPECT_EQ(atomic_load(&inits), 2);
    JZX_EXPECT_EQ(atomic_load(&ended_with[JZX_EXIT_KILLED]), 1);
    sem_destroy(&is_added);
}

/* ---- the deadline of the loop ---- */

static atomic_uint late_events;

static void see_late(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_STOP_LATE)
        atomic_fetch_add(&late_events, 1);
}

static void *stop_loop_while_held(void *arg) {
    struct late *late = arg;
    hold_it(late);
    uint64_t deadline = jzx_loop_now(late->timing.loop) + JZX_MS(300);
    JZX_EXPECT_EQ(jzx_loop_stop(late->timing.loop, deadline), JZX_OK);
    wait_for_state(&late->timing, late->root, JZX_CHILD_STOPPING);
    JZX_EXPECT_EQ(atomic_load(&late_events), 0);
    JZX_EXPECT_EQ(jzx_clock_advance(late->timing.clock, JZX_MS(300)), JZX_OK);
    while (atomic_load(&late_events) == 0) /* the one that waits for the other */
        sched_yield();
    sem_post(&gate);
    return NULL;
}

JZX_TEST(a_tree_that_does_not_stop_by_the_deadline_of_the_loop_is_reported, "D+stop", "D+sup") {
    struct late late;
    late_open(&late, (jzx_child_spec){.shutdown_ns = JZX_NEVER});
    atomic_store(&late_events, 0);
    JZX_EXPECT_EQ(
        jzx_loop_set_observer(late.timing.loop, &JZX_OBSERVER(.on_event = see_late), NULL), JZX_OK);
    late_run(&late, stop_loop_while_held);
    JZX_EXPECT_EQ(atomic_load(&late_events), 2); /* the supervisor and its child, once each */
    JZX_EXPECT_EQ(atomic_load(&ended_with[JZX_EXIT_SHUTDOWN]), 1);
}
