/* SPDX-License-Identifier: MIT */
/* The scheduler API: delays, ticks and order, the three modes, and the life of a handle. */
#include "scheduling.h"

static struct rig rig;

/* ---- once ---- */

JZX_TEST(a_one_shot_comes_once_at_its_tick, "B1", "B52", "B62", "B72", "R1.AC1", "R3.AC5") {
    static const int64_t delays[] = {1, 2, 255, 256, 257, 16383, 16384, 16385, 100000};
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        rig_open(&rig, NULL);
        jzx_job_id job = rig_once(&rig, 7, TICKS(delays[i]));
        rig_leap(&rig, TICKS(delays[i]) - 1);
        JZX_EXPECT_EQ(rig.notes.count, 0);
        rig_expect_state(&rig, job, JZX_JOB_SCHEDULED);
        rig_leap(&rig, 1);
        JZX_EXPECT_EQ(rig.notes.count, 1);
        rig_expect_note(&rig, 0, (uint64_t)delays[i], 7);
        rig_expect_batch(&rig, 0, 1, 0, JZX_JOB_ONE_SHOT);
        rig_expect_state(&rig, job, JZX_JOB_COMPLETED);
        rig_leap(&rig, TICKS(1000));
        JZX_EXPECT_EQ(rig.notes.count, 1);
        rig_close(&rig);
    }
}

JZX_TEST(a_delay_is_rounded_up_to_ticks_and_never_early, "B62", "B+rules", "B16") {
    static const struct {
        int64_t start_ns;
        int64_t delay_ns;
        uint64_t tick;
    } cases[] = {{0, 1, 1},           {0, TICK_NS - 1, 1},   {0, TICK_NS + 1, 2},
                 {5000000, 1, 1},     {5000000, TICK_NS, 2}, {TICK_NS - 1, 1, 1},
                 {TICK_NS - 1, 2, 2}, {TICKS(3), TICK_NS, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig_open(&rig, NULL);
        rig_leap(&rig, cases[i].start_ns);
        rig_once(&rig, 1, cases[i].delay_ns);
        rig_leap(&rig, TICKS(cases[i].tick) - cases[i].start_ns - 1);
        JZX_EXPECT_EQ(rig.notes.count, 0);
        rig_leap(&rig, 1);
        JZX_EXPECT_EQ(rig.notes.count, 1);
        rig_close(&rig);
    }
}

JZX_TEST(a_delay_that_is_not_positive_or_too_long_is_refused, "B61", "R1.AC5", "X7", "B+rules",
         "X3", "B+tests") {
    static const int64_t wrong[] = {0, -1, INT64_MIN, TICKS(INT32_MAX) + 1, INT64_MAX};
    jzx_job_id job = 99;
    rig_open(&rig, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        JZX_EXPECT_EQ(rig_try_once(&rig, wrong[i], NULL), JZX_ERR_INVALID_DELAY);
        JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, wrong[i], rig.to, JZX_NOBODY,
                                                 NULL, 0, 1, &job),
                      JZX_ERR_INVALID_DELAY);
        JZX_EXPECT_EQ(jzx_schedule_with_fixed_delay(rig.loop, wrong[i], TICK_NS, rig.to, JZX_NOBODY,
                                                    NULL, 0, 1, &job),
                      JZX_ERR_INVALID_DELAY);
        JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, wrong[i], NULL, &job, call_down, &rig.notes),
                      JZX_ERR_INVALID_DELAY);
    }
    JZX_EXPECT_EQ(job, 99);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(INT32_MAX), NULL), JZX_OK);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 1);
    rig_close(&rig);
}

JZX_TEST(a_job_beyond_the_wheel_comes_at_its_tick, "B10", "B46", "X3") {
    static const int64_t delays[] = {1048575, 1048576, 1048577, 5000000};
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        rig_open(&rig, NULL);
        rig_once(&rig, 7, TICKS(delays[i]));
        rig_leap(&rig, TICKS(delays[i]) - 1);
        JZX_EXPECT_EQ(rig.notes.count, 0);
        rig_leap(&rig, 1);
        JZX_EXPECT_EQ(rig.notes.count, 1);
        rig_close(&rig);
    }
}

JZX_TEST(what_is_wrong_is_refused, "B61", "B+tests", "B+rules") {
    jzx_job_id job = 99;
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(jzx_schedule_once(NULL, TICK_NS, rig.to, JZX_NOBODY, NULL, 0, 1, &job),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_schedule_once(rig.loop, TICK_NS, rig.to, JZX_NOBODY, NULL, 1, 1, &job),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(
        jzx_schedule_once(rig.loop, TICK_NS, rig.to, JZX_NOBODY, NULL, 0, JZX_TAG_RESERVED, &job),
        JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, TICK_NS, NULL, &job, NULL, NULL),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, &(jzx_schedule_opts){.size = 0}),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, &JZX_SCHEDULE_OPTS(.dispatcher = "nobody")),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, &JZX_SCHEDULE_OPTS(.subsystem = "nobody")),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, &JZX_SCHEDULE_OPTS(.priority = (jzx_job_priority)9)),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(
        jzx_schedule_once(rig.loop, TICK_NS, jzx_make_id(77, 77), JZX_NOBODY, NULL, 0, 1, &job),
        JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(job, 99);
    JZX_EXPECT(!jzx_job_cancel(NULL, 1));
    JZX_EXPECT(!jzx_job_cancel(rig.loop, 12345));
    JZX_EXPECT_EQ(jzx_job_state(rig.loop, JZX_NO_JOB), JZX_JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0);
    rig_close(&rig);
}

JZX_TEST(data_sender_and_metadata_come_with_the_message, "B52", "B56", "B58") {
    static const char data[] = "a payload of more than eight bytes, and of more than thirty-two";
    rig_open(&rig, NULL);
    jzx_actor_id sender = rig_spawn(&rig, &(struct notes){0});
    JZX_EXPECT_EQ(jzx_schedule_once_with_options(rig.loop, TICK_NS, rig.to, sender, data,
                                                 sizeof data, 5,
                                                 &JZX_SCHEDULE_OPTS(.metadata = 4711), NULL),
                  JZX_OK);
    rig_pass(&rig, 1);
    rig_expect_note(&rig, 0, 1, 5);
    JZX_EXPECT_EQ(rig.notes.list[0].sender, sender);
    JZX_EXPECT_EQ(rig.notes.list[0].len, sizeof data);
    JZX_EXPECT_EQ(rig.notes.list[0].metadata, 4711);
    rig_close(&rig);
}

/* ---- order ---- */

JZX_TEST(jobs_of_one_tick_come_in_the_order_in_which_they_were_scheduled, "B15", "R1.AC2",
         "B+tests") {
    rig_open(&rig, NULL);
    for (uint32_t round = 0; round < 12; round++) {
        uint32_t first = rig.notes.count;
        for (uint32_t i = 0; i < 10; i++)
            rig_once(&rig, i, TICKS(1 + round)); /* from other distances each time */
        rig_pass(&rig, 1 + round);
        JZX_EXPECT_EQ(rig.notes.count, first + 10);
        for (uint32_t i = 0; i < 10; i++)
            JZX_EXPECT_EQ(rig.notes.list[first + i].tag, i);
    }
    rig_close(&rig);
}

JZX_TEST(jobs_that_meet_in_a_tick_keep_the_order_of_their_calls, "B15", "R1.AC2") {
    rig_open(&rig, NULL);
    rig_rate(&rig, 0, TICKS(10), TICKS(10));
    rig_once(&rig, 1, TICKS(300));
    rig_delay(&rig, 2, TICKS(30), TICKS(30));
    rig_pass(&rig, 290);
    rig_once(&rig, 3, TICKS(10));
    uint32_t first = rig.notes.count;
    rig_pass(&rig, 10);
    JZX_EXPECT_EQ(rig.notes.count, first + 4);
    for (uint32_t i = 0; i < 4; i++)
        JZX_EXPECT_EQ(rig.notes.list[first + i].tag, i);
    rig_close(&rig);
}

/* ---- handles ---- */

JZX_TEST(a_job_that_was_cancelled_never_comes_and_its_place_is_free, "B76", "B80", "B82", "R1.AC4",
         "R4.AC3", "R4.AC4", "X20", "B+rules") {
    rig_open(&rig, NULL);
    jzx_job_id job = rig_once(&rig, 1, TICKS(3));
    JZX_EXPECT_EQ(job, 1); /* handles start at 1 */
    rig_expect_state(&rig, job, JZX_JOB_SCHEDULED);
    rig_pass(&rig, 1);
    JZX_EXPECT(jzx_job_cancel(rig.loop, job));
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0); /* at once, on the worker itself */
    for (uint32_t i = 0; i < 5; i++) {
        JZX_EXPECT(!jzx_job_cancel(rig.loop, job));
        rig_expect_state(&rig, job, JZX_JOB_CANCELLED);
        rig_pass(&rig, 1);
    }
    JZX_EXPECT_EQ(rig.notes.count, 0);
    rig_close(&rig);
}

JZX_TEST(a_job_that_has_completed_cannot_be_cancelled, "B78", "B79", "B82") {
    rig_open(&rig, NULL);
    jzx_job_id job = rig_once(&rig, 1, TICKS(1));
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    for (uint32_t i = 0; i < 3; i++) {
        rig_expect_state(&rig, job, JZX_JOB_COMPLETED);
        JZX_EXPECT(!jzx_job_cancel(rig.loop, job));
    }
    rig_close(&rig);
}

static jzx_job_id watched;
static jzx_job_status seen_inside;
static bool cancelled_inside;
static bool cancelled_twice;

static jzx_behavior_result cancel_inside(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    seen_inside = jzx_job_state(ctx->loop, watched);
    cancelled_inside = jzx_job_cancel(ctx->loop, watched);
    cancelled_twice = jzx_job_cancel(ctx->loop, watched);
    return write_down(ctx, msg);
}

JZX_TEST(a_one_shot_cannot_be_cancelled_by_its_own_handler, "B77", "B81", "X4") {
    rig_open(&rig, NULL);
    jzx_actor_id to =
        fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = cancel_inside, .state = &rig.notes));
    JZX_EXPECT_EQ(jzx_schedule_once(rig.loop, TICK_NS, to, JZX_NOBODY, NULL, 0, 1, &watched),
                  JZX_OK);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    JZX_EXPECT_EQ(seen_inside, JZX_JOB_EXECUTING);
    JZX_EXPECT(!cancelled_inside);
    rig_expect_state(&rig, watched, JZX_JOB_COMPLETED);
    rig_close(&rig);
}

JZX_TEST(a_periodic_job_that_its_handler_cancels_ends_with_that_run, "B81", "X4", "X27", "R4.AC3") {
    rig_open(&rig, NULL);
    jzx_actor_id to =
        fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = cancel_inside, .state = &rig.notes));
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, TICK_NS, to, JZX_NOBODY, NULL, 0, 1,
                                             &watched),
                  JZX_OK);
    rig_pass(&rig, 5);
    JZX_EXPECT_EQ(rig.notes.count, 1); /* the run under way ended normally */
    JZX_EXPECT_EQ(seen_inside, JZX_JOB_EXECUTING);
    JZX_EXPECT(cancelled_inside);
    JZX_EXPECT(!cancelled_twice); /* although its run goes on */
    JZX_EXPECT(!jzx_job_cancel(rig.loop, watched));
    rig_expect_state(&rig, watched, JZX_JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0);
    rig_close(&rig);
}

JZX_TEST(a_periodic_job_is_scheduled_again_after_each_run, "X27", "B74", "B75") {
    rig_open(&rig, NULL);
    jzx_job_id rate = rig_rate(&rig, 1, TICK_NS, TICK_NS);
    jzx_job_id delay = rig_delay(&rig, 2, TICK_NS, TICK_NS);
    for (uint32_t i = 0; i < 5; i++) {
        rig_expect_state(&rig, rate, JZX_JOB_SCHEDULED);
        rig_expect_state(&rig, delay, JZX_JOB_SCHEDULED);
        rig_pass(&rig, 1);
    }
    JZX_EXPECT_EQ(rig.notes.count, 10);
    rig_close(&rig);
}

/* ---- what a receiver gets ---- */

static char gotten[3][8];

static jzx_behavior_result keep_text(jzx_context *ctx, const jzx_message *msg) {
    if (JZX_EXPECT(msg->tag < 3 && msg->len <= sizeof gotten[0]))
        memcpy(gotten[msg->tag], msg->data, msg->len);
    return write_down(ctx, msg);
}

JZX_TEST(jobs_of_every_kind_bring_message_and_sender_of_their_call, "B52", "B53", "B54") {
    rig_open(&rig, NULL);
    memset(gotten, 0, sizeof gotten);
    jzx_actor_id to =
        fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = keep_text, .state = &rig.notes));
    JZX_EXPECT_EQ(jzx_schedule_once(rig.loop, TICK_NS, to, rig.to, "once", 5, 0, NULL), JZX_OK);
    JZX_EXPECT_EQ(
        jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, TICKS(50), to, rig.to, "rate", 5, 1, NULL),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_with_fixed_delay(rig.loop, TICK_NS, TICKS(50), to, rig.to, "delay",
                                                6, 2, NULL),
                  JZX_OK);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig.notes.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        rig_expect_note(&rig, i, 1, i);
        JZX_EXPECT_EQ(rig.notes.list[i].sender, rig.to);
    }
    JZX_EXPECT(strcmp(gotten[0], "once") == 0 && strcmp(gotten[1], "rate") == 0 &&
               strcmp(gotten[2], "delay") == 0);
    rig_close(&rig);
}

/* ---- fixed rate and fixed delay ---- */

JZX_TEST(a_fixed_rate_comes_at_every_point_of_its_grid, "B53", "B66", "R2.AC1", "R3.AC5",
         "B+tests") {
    static const struct {
        int64_t first;
        int64_t period;
    } cases[] = {{1, 1}, {3, 1}, {1, 7}, {5, 5}, {10, 256}, {256, 3}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        rig_open(&rig, NULL);
        rig_rate(&rig, 1, TICKS(cases[c].first), TICKS(cases[c].period));
        rig_pass(&rig, (uint64_t)(cases[c].first + 9 * cases[c].period));
        JZX_EXPECT_EQ(rig.notes.count, 10);
        for (uint32_t i = 0; i < 10; i++) {
            rig_expect_note(&rig, i, (uint64_t)(cases[c].first + i * cases[c].period), 1);
            rig_expect_batch(&rig, i, 1, 0, JZX_JOB_FIXED_RATE);
        }
        rig_close(&rig);
    }
}

JZX_TEST(a_slow_handler_gets_missed_runs_folded_into_one, "B66", "R2.AC2", "X13", "B63", "B64",
         "B+rules", "B+tests") {
    rig_open(&rig, NULL);
    rig_rate(&rig, 1, TICKS(2), TICKS(2));
    rig.notes.takes_ns = TICKS(7); /* runs at 4, 6 and 8 go by */
    rig.notes.slow = 1;
    rig_pass(&rig, 2);
    rig_expect_note(&rig, 0, 2, 1);
    rig_pass(&rig, 1); /* tick 10: its own run, and three that were missed */
    JZX_EXPECT_EQ(rig.notes.count, 2);
    rig_expect_note(&rig, 1, 10, 1);
    rig_expect_batch(&rig, 1, 4, 3, JZX_JOB_FIXED_RATE);
    jzx_batch last;
    JZX_EXPECT_EQ(jzx_schedule_last_batch(rig.loop, &last), JZX_OK);
    JZX_EXPECT_EQ(last.runs, 4);
    rig_pass(&rig, 2); /* and it is on its grid again */
    rig_expect_note(&rig, 2, 12, 1);
    rig_expect_batch(&rig, 2, 1, 0, JZX_JOB_FIXED_RATE);
    rig_close(&rig);
}

JZX_TEST(a_fixed_delay_counts_from_the_end_of_the_handler, "B54", "B69", "R2.AC4", "R3.AC5",
         "B+tests", "B+rules") {
    static const int64_t takes[] = {0, 1, TICK_NS / 2, TICKS(1), TICKS(5) + 1};
    for (size_t c = 0; c < sizeof takes / sizeof takes[0]; c++) {
        rig_open(&rig, NULL);
        rig.notes.takes_ns = takes[c];
        rig.notes.slow = UINT32_MAX;
        rig_delay(&rig, 1, TICKS(2), TICKS(3));
        uint64_t due = 2;
        for (uint32_t i = 0; i < 6; i++) {
            while (jzx_clock_now(rig.clock) < due * (uint64_t)TICK_NS && rig.notes.count <= i)
                rig_pass(&rig, 1);
            JZX_EXPECT_EQ(rig.notes.count, i + 1);
            rig_expect_note(&rig, i, due, 1);
            rig_expect_batch(&rig, i, 1, 0, JZX_JOB_FIXED_DELAY);
            due += ((uint64_t)takes[c] + (uint64_t)TICK_NS - 1) / (uint64_t)TICK_NS + 3;
        }
        rig_close(&rig);
    }
}

JZX_TEST(a_batch_is_there_in_the_handler_of_a_job_and_nowhere_else, "B64", "B65") {
    rig_open(&rig, NULL);
    fixture_send(rig.loop, rig.to, 9);
    rig_once(&rig, 1, TICK_NS);
    rig_pass(&rig, 1);
    fixture_send(rig.loop, rig.to, 9);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig.notes.count, 3);
    rig_expect_batch(&rig, 0, 0, 0, JZX_JOB_ONE_SHOT);
    rig_expect_batch(&rig, 1, 1, 0, JZX_JOB_ONE_SHOT);
    rig_expect_batch(&rig, 2, 0, 0, JZX_JOB_ONE_SHOT);
    JZX_EXPECT(jzx_schedule_batch(NULL) == NULL);
    jzx_context foreign = {.self = rig.to, .loop = rig.loop};
    JZX_EXPECT(jzx_schedule_batch(&foreign) == NULL);
    const jzx_batch once = JZX_BATCH_ONCE;
    JZX_EXPECT(once.runs == 1 && once.missed_runs == 0 && once.mode == JZX_JOB_ONE_SHOT);
    rig_close(&rig);
}
