/* SPDX-License-Identifier: MIT */
/* The probes of the library: each is overloaded for real, on virtual time, and named as the reason.
 */
#include "scheduling.h"

#include <jzx/fiber.h>

static struct rig rig;

#define BY(kind) (JZX_PRESSURE_BY_GAUGE | JZX_PRESSURE_BY_##kind)

/* As rig_open, for a loop of another configuration. */
static void open_with(jzx_config config) {
    memset(&rig, 0, sizeof rig);
    rig.clock = jzx_clock_manual(0);
    assert_non_null(rig.clock);
    config.workers = 1;
    config.clock = rig.clock;
    rig.loop = fixture_loop_with(&config);
    assert_non_null(rig.loop);
    JZX_EXPECT_EQ(jzx_loop_set_observer(rig.loop, &JZX_OBSERVER(.on_event = keep_told), &rig),
                  JZX_OK);
    rig.to = rig_spawn(&rig, &rig.notes);
}

static void expect_pressure(jzx_pressure_state state, uint32_t reasons) {
    jzx_schedule_metrics metrics = rig_metrics(&rig);
    JZX_EXPECT_EQ(metrics.pressure, state);
    JZX_EXPECT_EQ(metrics.pressure_reasons, reasons);
}

/* Change number i of the state, from 0 on. */
static void expect_change(uint32_t i, jzx_pressure_state state, uint32_t reason) {
    for (uint32_t k = 0; k < rig.told_count; k++) {
        if (rig.told[k].kind != JZX_SCHEDULE_EVENT_BACKPRESSURE_STATE || i-- > 0)
            continue;
        JZX_EXPECT_EQ(rig.told[k].state, state);
        JZX_EXPECT_EQ(rig.told[k].reason, reason);
        JZX_EXPECT_EQ(rig.told[k].is_engaged, state == JZX_PRESSURE_ENGAGED);
        return;
    }
    JZX_EXPECT(!"so many changes were told");
}

static uint32_t changes(void) {
    return rig_told(&rig, JZX_SCHEDULE_EVENT_BACKPRESSURE_STATE, NULL);
}

/* ---- mailboxes ---- */

#define CAP 10u
#define WAKE 77u

/* Leaves its mailbox alone until somebody says WAKE, then empties it. */
static void be_deaf(jzx_context *ctx) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, WAKE, JZX_NEVER, &msg), JZX_OK);
    while (jzx_receive(ctx, jzx_in(ctx, 0), &msg) == JZX_OK)
        jzx_test_ran();
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, WAKE, JZX_NEVER, &msg), JZX_OK);
}

#define MANY 40u

static jzx_actor_id deafs[MANY];
static uint32_t deaf_count;

static jzx_actor_id spawn_deaf(jzx_on_full on_full) {
    jzx_actor_id id = fixture_spawn(
        rig.loop, &JZX_SPAWN_OPTS(.fiber = be_deaf, .mailbox_cap = CAP, .on_full = on_full));
    rig_step(&rig);
    deafs[deaf_count++] = id;
    return id;
}

static void close_all(void) {
    while (deaf_count > 0)
        (void)jzx_actor_stop(rig.loop, deafs[--deaf_count], JZX_STOP_AFTER_MESSAGE);
    rig_step(&rig);
    rig_close(&rig);
}

/* Its ticks are those at which the probes are sampled. */
static void run_every_tick(void) {
    rig_rate(&rig, 9, TICKS(2), TICK_NS);
}

static void fill(jzx_actor_id id, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        JZX_EXPECT_EQ(jzx_send(rig.loop, id, JZX_NOBODY, NULL, 0, 1), JZX_OK);
}

static void empty(jzx_actor_id id) {
    JZX_EXPECT_EQ(jzx_send_urgent(rig.loop, id, JZX_NOBODY, NULL, 0, WAKE), JZX_OK);
    rig_step(&rig);
}

/* The job's own message does not count against the bound. */
static void send_to_at_every_tick(jzx_actor_id id) {
    JZX_EXPECT_EQ(
        jzx_schedule_at_fixed_rate_with_options(rig.loop, TICK_NS, TICK_NS, id, JZX_NOBODY, NULL, 0,
                                                2, &JZX_SCHEDULE_OPTS(.backlog_limit = 1000), NULL),
        JZX_OK);
}

JZX_TEST(a_full_mailbox_of_a_receiver_engages_backpressure_until_it_is_emptied, "B89", "B91",
         "B87") {
    rig_open(&rig, NULL);
    jzx_actor_id deaf = spawn_deaf(JZX_FULL_REFUSE);
    send_to_at_every_tick(deaf);
    run_every_tick();
    jzx_job_id spare = rig_delay(&rig, 1, TICKS(50), TICKS(50));
    rig_pass(&rig, 2);
    fill(deaf, CAP * 8 / 10 - 1);
    rig_pass(&rig, 3);
    expect_pressure(JZX_PRESSURE_NORMAL, 0);
    JZX_EXPECT_EQ(changes(), 0);
    fill(deaf, 1); /* 8 of 10 */
    rig_pass(&rig, 1);
    expect_pressure(JZX_PRESSURE_GAUGE, 0);
    rig_pass(&rig, 1);
    expect_pressure(JZX_PRESSURE_ENGAGED, BY(MAILBOX));
    rig_expect_state(&rig, spare, JZX_JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_ERR_BACKPRESSURED);
    rig_pass(&rig, 20); /* it stays so */
    expect_pressure(JZX_PRESSURE_ENGAGED, BY(MAILBOX));
    empty(deaf);
    JZX_EXPECT(jzx_test_runs() >= 8);
    rig_pass(&rig, 1);
    expect_pressure(JZX_PRESSURE_NORMAL, 0);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_OK);
    JZX_EXPECT_EQ(changes(), 3);
    expect_change(0, JZX_PRESSURE_GAUGE, BY(MAILBOX));
    expect_change(1, JZX_PRESSURE_ENGAGED, BY(MAILBOX));
    expect_change(2, JZX_PRESSURE_NORMAL, BY(MAILBOX));
    close_all();
}

/* 40 receivers, and the last of them is full: six ticks look at all, two critical ones engage. */
JZX_TEST(the_fullest_of_many_receivers_is_found_within_few_ticks_and_kept_in_view, "B89") {
    rig_open(&rig, NULL);
    for (uint32_t i = 0; i < MANY; i++)
        send_to_at_every_tick(spawn_deaf(JZX_FULL_REFUSE));
    run_every_tick();
    rig_pass(&rig, 2);
    fill(deafs[MANY - 1], CAP);
    rig_pass(&rig, 7);
    expect_pressure(JZX_PRESSURE_ENGAGED, BY(MAILBOX));
    rig_pass(&rig, 20);
    expect_pressure(JZX_PRESSURE_ENGAGED, BY(MAILBOX));
    JZX_EXPECT_EQ(changes(), 2);
    JZX_EXPECT_EQ(jzx_actor_stop(rig.loop, deafs[MANY - 1], JZX_STOP_AFTER_MESSAGE), JZX_OK);
    rig_step(&rig);
    rig_pass(&rig, 1); /* nothing is left of it */
    expect_pressure(JZX_PRESSURE_NORMAL, 0);
    close_all();
}

/* Ticks by hand are run by a thread that is no worker. */
JZX_TEST(ticks_by_hand_sample_the_probes_as_others_do, "B89", "B13") {
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.test_mode = true, .driver_kind = JZX_DRIVER_MANUAL));
    send_to_at_every_tick(spawn_deaf(JZX_FULL_REFUSE));
    run_every_tick();
    JZX_EXPECT_EQ(jzx_schedule_advance(rig.loop, 1), JZX_OK);
    rig_step(&rig);
    fill(deafs[0], CAP);
    rig_step(&rig); /* they are in the actor's own list now */
    for (uint32_t i = 0; i < 2; i++) {
        JZX_EXPECT_EQ(jzx_schedule_advance(rig.loop, 1), JZX_OK);
        rig_step(&rig);
    }
    expect_pressure(JZX_PRESSURE_ENGAGED, BY(MAILBOX));
    close_all();
}

JZX_TEST(a_mailbox_that_drops_messages_or_gets_no_jobs_is_no_load, "B89") {
    rig_open(&rig, NULL);
    jzx_actor_id dropping = spawn_deaf(JZX_FULL_DROP_OLDEST);
    jzx_actor_id other = spawn_deaf(JZX_FULL_REFUSE);
    send_to_at_every_tick(dropping);
    run_every_tick();
    rig_pass(&rig, 1);
    fill(dropping, 2 * CAP);
    fill(other, CAP);
    rig_pass(&rig, 5);
    expect_pressure(JZX_PRESSURE_NORMAL, 0);
    JZX_EXPECT_EQ(changes(), 0);
    JZX_EXPECT(rig.notes.count > 0);
    close_all();
}

/* It was the fullest one that got jobs, and fills again by messages that are no jobs. */
JZX_TEST(a_receiver_whose_last_job_is_over_is_no_load, "B89") {
    rig_open(&rig, NULL);
    jzx_actor_id deaf = spawn_deaf(JZX_FULL_REFUSE);
    run_every_tick();
    JZX_EXPECT_EQ(jzx_schedule_once(rig.loop, TICK_NS, deaf, JZX_NOBODY, NULL, 0, 2, NULL), JZX_OK);
    fill(deaf, CAP / 2);
    rig_pass(&rig, 4);
    empty(deaf);
    JZX_EXPECT(jzx_test_runs() > CAP / 2); /* the job, too */
    fill(deaf, CAP);
    rig_pass(&rig, 5);
    expect_pressure(JZX_PRESSURE_NORMAL, 0);
    JZX_EXPECT_EQ(changes(), 0);
    close_all();
}

/* No tick is due for a long time: the call itself looks, and has the next ticks run. */
JZX_TEST(scheduling_a_job_looks_at_the_load_and_begins_to_watch_it, "B89") {
    rig_open(&rig, NULL);
    jzx_actor_id deaf = spawn_deaf(JZX_FULL_REFUSE);
    send_to_at_every_tick(deaf); /* its message waits: no further run before it is handled */
    rig_pass(&rig, 2);
    rig_once(&rig, 1, TICKS(500)); /* worker 0 sleeps until then */
    rig_step(&rig);
    fill(deaf, CAP);
    rig_pass(&rig, 1);
    /* no observer: nothing else has worker 0 look */
    JZX_EXPECT_EQ(jzx_loop_set_observer(rig.loop, NULL, NULL), JZX_OK);
    rig_once(&rig, 1, TICKS(1000));
    expect_pressure(JZX_PRESSURE_GAUGE, 0);
    rig_step(&rig);
    JZX_EXPECT_EQ(jzx_loop_next_deadline(rig.loop), jzx_clock_now(rig.clock) + TICK_NS);
    rig_pass(&rig, 1);
    expect_pressure(JZX_PRESSURE_ENGAGED, BY(MAILBOX));
    empty(deaf);
    rig_pass(&rig, 1);
    expect_pressure(JZX_PRESSURE_NORMAL, 0);
    close_all();
}

/* ---- dispatchers ---- */

/* Each function takes a tick, so that at tick n the n - 1 oldest of 10 have run. */
JZX_TEST(a_flood_of_functions_engages_backpressure_until_the_dispatcher_is_through, "B89", "B91") {
    static const jzx_dispatcher slow = {"slow", JZX_PRIORITY_NORMAL, 0};
    open_with(JZX_CONFIG(.max_msgs_per_actor = 1, .max_actors_per_tick = 1,
                         .schedule = &JZX_SCHEDULE_CONFIG(.slot_capacity = 10, .dispatchers = &slow,
                                                          .dispatcher_size = sizeof slow,
                                                          .dispatcher_count = 1)));
    static struct notes slow_notes;
    slow_notes =
        (struct notes){.loop = rig.loop, .clock = rig.clock, .takes_ns = TICK_NS, .slow = 10};
    run_every_tick();
    for (uint32_t i = 0; i < 10; i++)
        JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, TICK_NS,
                                           &JZX_SCHEDULE_OPTS(.dispatcher = "slow"), NULL,
                                           call_down, &slow_notes),
                      JZX_OK);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(slow_notes.count, 10);
    rig_pass(&rig, 1);
    expect_pressure(JZX_PRESSURE_NORMAL, 0);
    JZX_EXPECT_EQ(changes(), 3);
    expect_change(0, JZX_PRESSURE_GAUGE, BY(DISPATCHER));
    expect_change(1, JZX_PRESSURE_ENGAGED, BY(DISPATCHER));
    expect_change(2, JZX_PRESSURE_NORMAL, BY(DISPATCHER));
    rig_close(&rig);
}

/* ---- the runtime ---- */

#define ACTORS 9u

struct busy {
    uint32_t rounds;
    jzx_clock *clock; /* of one of them, whose turn takes a tick */
};

static jzx_behavior_result be_busy(jzx_context *ctx, const jzx_message *msg) {
    struct busy *busy = ctx->state;
    if (busy->clock != NULL)
        JZX_EXPECT_EQ(jzx_clock_advance(busy->clock, (uint64_t)TICK_NS), JZX_OK);
    if (--busy->rounds > 0)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, msg->tag), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* 9 actors have something to do at every tick, and 10 are what the queue of the loop holds. */
JZX_TEST(actors_that_wait_for_a_worker_engage_backpressure_until_they_have_run, "B89", "B91") {
    static struct busy busy[ACTORS];
    open_with(JZX_CONFIG(.global_queue_size = 10, .max_msgs_per_actor = 1,
                         .schedule = &JZX_SCHEDULE_CONFIG()));
    rig_rate(&rig, 1, TICK_NS, TICK_NS);
    for (uint32_t i = 0; i < ACTORS; i++) {
        busy[i] = (struct busy){.rounds = 8, .clock = i == 0 ? rig.clock : NULL};
        jzx_actor_id id =
            fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = be_busy, .state = &busy[i]));
        JZX_EXPECT_EQ(jzx_send(rig.loop, id, JZX_NOBODY, NULL, 0, 1), JZX_OK);
    }
    rig_step(&rig);
    JZX_EXPECT_EQ(busy[ACTORS - 1].rounds, 0);
    rig_pass(&rig, 1);
    expect_pressure(JZX_PRESSURE_NORMAL, 0);
    JZX_EXPECT_EQ(changes(), 3);
    expect_change(0, JZX_PRESSURE_GAUGE, BY(RUNTIME));
    expect_change(1, JZX_PRESSURE_ENGAGED, BY(RUNTIME));
    expect_change(2, JZX_PRESSURE_NORMAL, BY(RUNTIME));
    rig_close(&rig);
}

/* ---- leaving them out ---- */

JZX_TEST(without_probes_a_full_mailbox_does_not_count_and_the_driver_does, "B90") {
    static const uint32_t without[] = {JZX_SCHEDULE_WITHOUT_MAILBOX_PROBE,
                                       JZX_SCHEDULE_WITHOUT_PROBES};
    for (uint32_t i = 0; i < 2; i++) {
        rig_open(&rig, &JZX_SCHEDULE_CONFIG(.driver_kind = JZX_DRIVER_FOREIGN,
                                            .without_probes = without[i]));
        jzx_actor_id deaf = spawn_deaf(JZX_FULL_REFUSE);
        send_to_at_every_tick(deaf);
        run_every_tick();
        fill(deaf, CAP);
        for (uint32_t k = 0; k < 5; k++) {
            JZX_EXPECT_EQ(jzx_clock_advance(rig.clock, (uint64_t)TICK_NS), JZX_OK);
            JZX_EXPECT(jzx_schedule_notify(rig.loop, 1));
            rig_step(&rig);
        }
        expect_pressure(JZX_PRESSURE_NORMAL, 0);
        JZX_EXPECT_EQ(changes(), 0);
        JZX_EXPECT_EQ(jzx_clock_advance(rig.clock, (uint64_t)TICKS(6)), JZX_OK);
        JZX_EXPECT(jzx_schedule_notify(rig.loop, 6)); /* more than a window */
        rig_step(&rig);
        expect_change(1, JZX_PRESSURE_ENGAGED, JZX_PRESSURE_BY_DRIVER);
        JZX_EXPECT(rig.notes.count > 0);
        close_all();
    }
    const char *field = NULL;
    JZX_EXPECT_EQ(jzx_schedule_config_check(&JZX_SCHEDULE_CONFIG(.without_probes = 8), &field),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT(field != NULL && strcmp(field, "schedule.without_probes") == 0);
}
