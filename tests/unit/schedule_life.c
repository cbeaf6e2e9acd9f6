/* SPDX-License-Identifier: MIT */
/* Jobs from their registration to their end: when they run, in which order, and who may cancel. */
#include "schedule_rig.h"

/* ---- one-shots ---- */

JZX_TEST(a_one_shot_fires_once_at_its_tick) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    jzx__job_id job = rig_once(rig, 5);
    JZX_EXPECT_EQ(job, 1);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_SCHEDULED);
    rig_advance(rig, 4);
    JZX_EXPECT_EQ(rig->count, 0);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig->count, 1);
    JZX_EXPECT_EQ(rig->deliveries[0].job, job);
    rig_expect_batch(rig->deliveries[0].batch, 1, 0, JZX__JOB_ONE_SHOT);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_COMPLETED);
    rig_advance(rig, 100);
    JZX_EXPECT_EQ(rig->count, 1);
    JZX_EXPECT_EQ(rig->released_completed, 1);
    rig_destroy(rig);
}

JZX_TEST(a_delay_between_ticks_never_fires_early_and_at_most_a_tick_late) {
    for (int64_t offset = 0; offset < TICK_NS; offset += TICK_NS / 7) {
        for (int64_t delay = 1; delay < 3 * TICK_NS; delay += TICK_NS / 3) {
            struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
            rig->clock.now_ns = (uint64_t)offset;
            struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 0, 0);
            request.delay_ns = delay;
            rig_add(rig, request);
            rig_advance(rig, 10);
            JZX_EXPECT_EQ(rig->count, 1);
            int64_t fired = (int64_t)rig->deliveries[0].tick * TICK_NS;
            JZX_EXPECT(fired >= offset + delay && fired < offset + delay + TICK_NS);
            rig_destroy(rig);
        }
    }
}

JZX_TEST(boundaries_of_the_wheel_and_the_overflow_fire_at_the_exact_tick) {
    static const int64_t delays[] = {1,     2,       255,     256,     257,     16383,
                                     16384, 1048575, 1048576, 1048577, 2097152, 9000000};
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    for (unsigned i = 0; i < 12; i++)
        rig_once(rig, delays[i]);
    rig_advance(rig, 9000000);
    JZX_EXPECT_EQ(rig->count, 12);
    for (unsigned i = 0; i < 12; i++)
        JZX_EXPECT_EQ(rig->deliveries[i].tick, delays[i]);
    rig_destroy(rig);
}

/* Of three schedulers in one process each has its own time. */
JZX_TEST(schedulers_are_independent_of_one_another) {
    static struct jzx__schedule schedules[3];
    static struct jzx__manual_clock clocks[3];
    static struct rig sinks[3];
    jzx_allocator allocator = fixture_allocator();
    struct jzx__schedule_config config = {.test_mode = true,
                                          .profile = JZX__PROFILE_TINY,
                                          .timer =
                                              fixture_has_heap_timer() ? &jzx__tick_heap : NULL};
    JZX_EXPECT_EQ(jzx__schedule_resolve(&config, &config).error, JZX__CONFIG_OK);
    for (unsigned i = 0; i < 3; i++) {
        struct jzx__schedule_ops ops = rig_ops(&sinks[i]);
        ops.run_inline = NULL;
        sinks[i].holds_back = true;
        JZX_EXPECT(jzx__schedule_init(&schedules[i], &config, ops,
                                      jzx__manual_clock_table(&clocks[i]), &allocator));
        struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 2, 0);
        JZX_EXPECT_EQ(jzx__schedule_add(&schedules[i], &request).job, 1);
        (void)jzx__tick_source_notify(&schedules[i].source, i + 1);
    }
    for (unsigned i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx__schedule_run(&schedules[i]).ticks, i + 1);
        JZX_EXPECT_EQ(schedules[i].tick, i + 1);
        JZX_EXPECT_EQ(sinks[i].count, i >= 1);
        (void)jzx__schedule_shutdown(&schedules[i]);
        jzx__schedule_deinit(&schedules[i]);
    }
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* ---- order ---- */

/* Jobs for one tick from every distance: near, far, through the overflow, submitted and added. */
JZX_TEST(jobs_of_one_tick_fire_in_the_order_of_their_registration, "B15") {
    static const uint64_t distances[] = {3000000, 1048577, 1048576, 1048575, 16385, 16384,
                                         16383,   257,     256,     255,     2,     1};
    enum { COUNT = sizeof distances / sizeof distances[0], TICK = 4000000 };
    struct rig *rig = rig_make_small((struct jzx__schedule_config){.capacity = {.overflow = 64}});
    for (unsigned i = 0; i < COUNT; i++) {
        rig_advance(rig, TICK - distances[i] - rig->s.tick);
        struct jzx__schedule_request request =
            rig_request(JZX__JOB_ONE_SHOT, (int64_t)distances[i], 0);
        request.payload = (void *)(uintptr_t)(2 * i + 1);
        JZX_EXPECT_EQ(jzx__schedule_submit(&rig->s, &request).status, JZX__SCHEDULE_OK);
        request.payload = (void *)(uintptr_t)(2 * i + 2);
        rig_add(rig, request);
    }
    rig_advance(rig, TICK - rig->s.tick);
    JZX_EXPECT_EQ(rig->count, 2 * COUNT);
    for (unsigned i = 0; i < 2 * COUNT; i++)
        JZX_EXPECT_EQ(rig->deliveries[i].payload, i + 1);
    rig_destroy(rig);
}

JZX_TEST(periodic_jobs_of_one_tick_keep_their_order_whichever_ended_first) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    jzx__job_id jobs[10];
    rig->holds_back = true;
    for (unsigned i = 0; i < 10; i++)
        jobs[i] = rig_rate(rig, 3, 3);
    for (unsigned round = 0; round < 3; round++) {
        rig->count = 0;
        rig_advance(rig, 3);
        JZX_EXPECT_EQ(rig->count, 10);
        for (unsigned i = 0; i < 10; i++)
            JZX_EXPECT_EQ(rig->deliveries[i].job, jobs[i]);
        for (unsigned i = 10; i-- > 0;)
            JZX_EXPECT(jzx__schedule_complete(&rig->s, jobs[i], rig->clock.now_ns, 0));
    }
    rig_destroy(rig);
}

JZX_TEST(submitted_jobs_are_registered_in_the_order_of_the_calls_at_the_next_tick, "B14") {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    for (uintptr_t i = 1; i <= 12; i++) {
        struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 1, 0);
        request.payload = (void *)i;
        JZX_EXPECT_EQ(jzx__schedule_submit(&rig->s, &request).job, i);
    }
    JZX_EXPECT_EQ(jzx__schedule_shape_of(&rig->s).pending_commands, 12);
    JZX_EXPECT_EQ(jzx__places_count(&rig->s.places), 0);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(jzx__schedule_shape_of(&rig->s).pending_commands, 0);
    JZX_EXPECT_EQ(rig->count, 12);
    for (uintptr_t i = 1; i <= 12; i++)
        JZX_EXPECT_EQ(rig->deliveries[i - 1].payload, i);
    JZX_EXPECT_EQ(rig->s.sequence, 12);
    rig_destroy(rig);
}

/* ---- cancelling ---- */

JZX_TEST(a_job_that_waits_is_cancelled_once_and_never_fires) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    static const int64_t delays[] = {1, 300, 20000, 2000000};
    jzx__job_id jobs[4];
    for (unsigned i = 0; i < 4; i++)
        jobs[i] = rig_once(rig, delays[i]);
    for (unsigned i = 0; i < 4; i++) {
        JZX_EXPECT(jzx__schedule_cancel(&rig->s, jobs[i]));
        JZX_EXPECT(!jzx__schedule_cancel(&rig->s, jobs[i]));
        JZX_EXPECT_EQ(rig_state(rig, jobs[i]), JZX__JOB_CANCELLED);
        JZX_EXPECT_EQ(rig->released, i + 1); /* its memory is free at once */
    }
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).active_total, 0);
    rig_advance(rig, 2000001);
    JZX_EXPECT_EQ(rig->count, 0);
    rig_destroy(rig);
}

JZX_TEST(a_cancel_from_elsewhere_holds_at_once_and_frees_by_the_next_tick) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    jzx__job_id placed = rig_rate(rig, 1, 1);
    struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 1, 0);
    jzx__job_id on_its_way = jzx__schedule_submit(&rig->s, &request).job;
    JZX_EXPECT(jzx__schedule_cancel_elsewhere(&rig->s, placed));
    JZX_EXPECT(jzx__schedule_cancel_elsewhere(&rig->s, on_its_way));
    JZX_EXPECT(!jzx__schedule_cancel_elsewhere(&rig->s, placed));
    JZX_EXPECT(!jzx__schedule_cancel(&rig->s, on_its_way));
    JZX_EXPECT_EQ(rig_state(rig, placed), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_state(rig, on_its_way), JZX__JOB_CANCELLED);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig->count, 0);
    JZX_EXPECT_EQ(rig->released, 2);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_SCHEDULE), 1); /* the other one was never placed */
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).active_total, 0);
    rig_destroy(rig);
}

JZX_TEST(a_one_shot_whose_run_has_begun_cannot_be_cancelled) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig->holds_back = true;
    jzx__job_id job = rig_once(rig, 1);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_EXECUTING);
    JZX_EXPECT(!jzx__schedule_cancel(&rig->s, job));
    JZX_EXPECT(!jzx__schedule_cancel_elsewhere(&rig->s, job));
    JZX_EXPECT(jzx__schedule_may_run(&rig->s, job));
    JZX_EXPECT(jzx__schedule_complete(&rig->s, job, rig->clock.now_ns, 0));
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_COMPLETED);
    JZX_EXPECT(!jzx__schedule_cancel(&rig->s, job));
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_COMPLETED);
    rig_destroy(rig);
}

JZX_TEST(a_periodic_job_cancelled_during_its_run_ends_with_that_run) {
    for (unsigned elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
        rig->holds_back = true;
        jzx__job_id job = rig_rate(rig, 1, 1);
        rig_advance(rig, 1);
        JZX_EXPECT(elsewhere != 0 ? jzx__schedule_cancel_elsewhere(&rig->s, job)
                                  : jzx__schedule_cancel(&rig->s, job));
        JZX_EXPECT(!jzx__schedule_cancel(&rig->s, job));
        JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_CANCELLED);
        JZX_EXPECT_EQ(rig->released, 0); /* the run is under way */
        rig_advance(rig, 5);
        JZX_EXPECT(jzx__schedule_complete(&rig->s, job, rig->clock.now_ns, 0));
        JZX_EXPECT_EQ(rig->released, 1);
        rig_advance(rig, 5);
        JZX_EXPECT_EQ(rig->count, 1);
        JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_CANCELLED);
        rig_destroy(rig);
    }
}

static jzx__job_id victim;

static void cancel_the_victim(struct rig *rig, const struct jzx__delivery_order *order) {
    if (order->job != victim)
        JZX_EXPECT(jzx__schedule_cancel(&rig->s, victim));
}

JZX_TEST(a_handler_may_cancel_a_job_that_is_due_in_the_same_tick) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig_once(rig, 3);
    victim = rig_once(rig, 3);
    rig->on_delivery = cancel_the_victim;
    rig_advance(rig, 3);
    JZX_EXPECT_EQ(rig->count, 1);
    JZX_EXPECT_EQ(rig_state(rig, victim), JZX__JOB_CANCELLED);
    rig_destroy(rig);
}

static void cancel_elsewhere(struct rig *rig, const struct jzx__delivery_order *order) {
    if (order->job != victim)
        JZX_EXPECT(jzx__schedule_cancel_elsewhere(&rig->s, victim));
}

/* The second check: after the tick was collected, before the delivery. */
JZX_TEST(a_job_cancelled_elsewhere_between_collection_and_delivery_is_dropped, "B73", "B77") {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig_once(rig, 3);
    victim = rig_once(rig, 3);
    rig->on_delivery = cancel_elsewhere;
    rig_advance(rig, 3);
    JZX_EXPECT_EQ(rig->count, 1);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).dropped_total, 1);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).active_total, 0);
    rig_destroy(rig);
}

/* The third: the message waits in the mailbox when its job is cancelled. */
JZX_TEST(a_run_that_was_cancelled_before_its_handler_began_must_not_begin) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig->holds_back = true;
    jzx__job_id job = rig_delay(rig, 1, 1);
    rig_advance(rig, 1);
    JZX_EXPECT(jzx__schedule_may_run(&rig->s, job));
    JZX_EXPECT(jzx__schedule_cancel(&rig->s, job));
    JZX_EXPECT(!jzx__schedule_may_run(&rig->s, job));
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).dropped_total, 1);
    JZX_EXPECT(jzx__schedule_complete_elsewhere(&rig->s, job, rig->clock.now_ns, 0));
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).active_total, 0);
    rig_destroy(rig);
}

/* ---- completing ---- */

JZX_TEST(a_completion_from_elsewhere_counts_at_once_for_a_one_shot_and_frees_later) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig->holds_back = true;
    jzx__job_id once = rig_once(rig, 1);
    jzx__job_id again = rig_rate(rig, 1, 4);
    rig_advance(rig, 1);
    JZX_EXPECT(jzx__schedule_complete_elsewhere(&rig->s, once, rig->clock.now_ns, 0));
    JZX_EXPECT(jzx__schedule_complete_elsewhere(&rig->s, again, rig->clock.now_ns, 0));
    JZX_EXPECT_EQ(rig_state(rig, once), JZX__JOB_COMPLETED);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig_state(rig, again), JZX__JOB_SCHEDULED);
    JZX_EXPECT_EQ(rig->released, 1);
    rig_advance(rig, 3);
    JZX_EXPECT_EQ(rig->count, 3);
    JZX_EXPECT_EQ(rig->deliveries[2].tick, 5);
    rig_destroy(rig);
}

JZX_TEST(a_completion_without_a_run_is_refused) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    jzx__job_id job = rig_rate(rig, 1, 1);
    JZX_EXPECT(!jzx__schedule_complete(&rig->s, job, 0, 0));
    JZX_EXPECT(!jzx__schedule_complete_elsewhere(&rig->s, job, 0, 0));
    JZX_EXPECT(!jzx__schedule_complete(&rig->s, JZX__NO_JOB, 0, 0));
    JZX_EXPECT(!jzx__schedule_complete(&rig->s, 12345, 0, 0));
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_SCHEDULED);
    rig_destroy(rig);
}

JZX_TEST(a_failing_handler_ends_its_job_and_is_reported_with_error_and_batch) {
    for (int mode = JZX__JOB_ONE_SHOT; mode <= JZX__JOB_FIXED_DELAY; mode++) {
        struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
        rig->error = -7;
        jzx__job_id job = rig_add(rig, rig_request((enum jzx__job_mode)mode, 2, 2));
        rig_advance(rig, 10);
        JZX_EXPECT_EQ(rig->count, 1);
        JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_CANCELLED);
        JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_HANDLER_FAILED), 1);
        struct jzx__schedule_event event = rig_last(rig, JZX__EVENT_HANDLER_FAILED);
        JZX_EXPECT_EQ(event.job, job);
        JZX_EXPECT_EQ(event.error, -7);
        JZX_EXPECT_EQ(rig->told[1].kind, JZX__EVENT_FIRE); /* it fired first, then it failed */
        JZX_EXPECT_EQ(rig->told[2].kind, JZX__EVENT_HANDLER_FAILED);
        rig_expect_batch(event.batch, 1, 0, (enum jzx__job_mode)mode);
        rig_destroy(rig);
    }
}

/* ---- receivers without room, or gone ---- */

JZX_TEST(a_delivery_without_room_is_tried_again_at_the_next_tick) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig->answer = JZX__DELIVERY_FULL;
    jzx__job_id job = rig_once(rig, 2);
    rig_advance(rig, 5);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_SCHEDULED);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_FIRE), 0); /* nothing was delivered */
    rig->answer = JZX__DELIVERED;
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig->count, 1);
    JZX_EXPECT_EQ(rig->deliveries[0].tick, 6);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_COMPLETED);
    rig_destroy(rig);
}

JZX_TEST(a_one_shot_without_room_is_given_up_after_its_backlog_limit) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig->answer = JZX__DELIVERY_FULL;
    jzx__job_id job = rig_once(rig, 1);
    rig_advance(rig, JZX__BACKLOG_LIMIT);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_SCHEDULED);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_BACKLOG_EXCEEDED).job, job);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).dropped_total, 1);
    rig_destroy(rig);
}

JZX_TEST(a_job_whose_receiver_is_gone_ends_quietly) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig->answer = JZX__DELIVERY_GONE;
    jzx__job_id job = rig_rate(rig, 1, 1);
    rig_advance(rig, 3);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(rig->released, 1);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).dropped_total, 1);
    for (uint32_t i = 0; i < rig->told_count; i++)
        JZX_EXPECT(rig->told[i].kind < JZX__EVENT_FIRST_WARNING);
    rig_destroy(rig);
}

JZX_TEST(a_run_that_is_given_up_cancels_its_job_without_a_word) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    jzx__job_id once = rig_once(rig, 1);
    jzx__job_id rate = rig_rate(rig, 1, 1);
    rig->holds_back = true;
    rig_advance(rig, 1);
    jzx__schedule_give_up(&rig->s, once);
    jzx__schedule_give_up(&rig->s, rate);
    JZX_EXPECT(jzx__schedule_complete(&rig->s, once, rig->clock.now_ns, 0));
    JZX_EXPECT(jzx__schedule_complete(&rig->s, rate, rig->clock.now_ns, 0));
    JZX_EXPECT_EQ(rig_state(rig, once), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_state(rig, rate), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_HANDLER_FAILED), 0);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).dropped_total, 2);
    JZX_EXPECT_EQ(rig->released, 2);
    rig_destroy(rig);
}
