/* SPDX-License-Identifier: MIT */
/* The whole scheduler against a model that keeps all jobs in an array and looks at each of them at
 * every tick: random jobs, cancels, completions, full mailboxes, pauses and submissions. */
#include "schedule_rig.h"

#include "seeds.h"

#include <inttypes.h>

#define JOBS 96u
#define STEPS 250u

/* One job of the model; the array is in the order of registration. */
struct model_job {
    jzx__job_id id;
    enum jzx__job_mode mode;
    uint64_t deadline;
    uint64_t period;
    enum jzx__job_state state;
    uint32_t deferrals;
    bool in_flight;
};

struct model {
    struct model_job jobs[4096];
    uint32_t count;
    uint64_t tick;
    uint32_t live;
    enum jzx__delivery answer;
    struct delivery expected[DELIVERIES_MAX];
    uint32_t expected_count;
};

static struct model model;

static void model_end(struct model_job *job, enum jzx__job_state state) {
    job->state = state;
    model.live--;
}

static void model_fire(struct model_job *job) {
    uint64_t skipped = job->period > 0 ? (model.tick - job->deadline) / job->period : 0;
    if (skipped > JZX__BACKLOG_LIMIT) {
        model_end(job, JZX__JOB_CANCELLED);
        return;
    }
    if (model.answer == JZX__DELIVERY_GONE) {
        model_end(job, JZX__JOB_CANCELLED);
        return;
    }
    if (model.answer == JZX__DELIVERY_FULL) {
        if (++job->deferrals > JZX__BACKLOG_LIMIT && job->period == 0)
            model_end(job, JZX__JOB_CANCELLED);
        return;
    }
    model.expected[model.expected_count++] =
        (struct delivery){.job = job->id,
                          .tick = model.tick,
                          .batch = {(uint32_t)skipped + 1, (uint32_t)skipped, job->mode}};
    job->deferrals = 0;
    job->in_flight = true;
    job->state = JZX__JOB_EXECUTING;
    job->deadline += job->period * (skipped + 1);
}

static void model_tick(void) {
    model.tick++;
    for (uint32_t i = 0; i < model.count; i++) {
        struct model_job *job = &model.jobs[i];
        if (job->state == JZX__JOB_SCHEDULED && job->deadline <= model.tick)
            model_fire(job);
    }
}

static void model_complete(struct model_job *job, int32_t error) {
    job->in_flight = false;
    if (job->state == JZX__JOB_CANCELLED)
        model.live--;
    else if (error != 0)
        model_end(job, JZX__JOB_CANCELLED);
    else if (job->period == 0)
        model_end(job, JZX__JOB_COMPLETED);
    else
        job->state = JZX__JOB_SCHEDULED;
    if (job->mode == JZX__JOB_FIXED_DELAY)
        job->deadline = model.tick + job->period;
}

static bool model_cancel(struct model_job *job) {
    if (job->state == JZX__JOB_SCHEDULED) {
        model_end(job, JZX__JOB_CANCELLED);
        return true;
    }
    if (job->state == JZX__JOB_EXECUTING && job->period > 0) {
        job->state = JZX__JOB_CANCELLED; /* its record lives until the run ends */
        return true;
    }
    return false;
}

/* ---- one step of both ---- */

static void add_one(struct rig *rig, struct jzx__rng *rng) {
    static const uint32_t reaches[] = {3, 40, 600, 9000};
    struct jzx__schedule_request request = rig_request(
        (enum jzx__job_mode)jzx__rng_below(rng, 3),
        1 + jzx__rng_below(rng, reaches[jzx__rng_below(rng, 4)]), 1 + jzx__rng_below(rng, 60));
    bool submits = jzx__rng_below(rng, 3) == 0;
    struct jzx__schedule_result result =
        submits ? jzx__schedule_submit(&rig->s, &request) : jzx__schedule_add(&rig->s, &request);
    if (!JZX_EXPECT_EQ(result.status,
                       model.live < JOBS ? JZX__SCHEDULE_OK : JZX__SCHEDULE_QUOTA_EXCEEDED) ||
        result.status != JZX__SCHEDULE_OK)
        return;
    bool is_periodic = request.mode != JZX__JOB_ONE_SHOT;
    model.jobs[model.count++] =
        (struct model_job){.id = result.job,
                           .mode = request.mode,
                           .deadline = model.tick + (uint64_t)(request.delay_ns / TICK_NS),
                           .period = is_periodic ? (uint64_t)(request.period_ns / TICK_NS) : 0,
                           .state = JZX__JOB_SCHEDULED};
    model.live++;
}

static void cancel_one(struct rig *rig, struct jzx__rng *rng) {
    if (model.count == 0)
        return;
    uint32_t back = jzx__rng_below(rng, model.count < 100 ? model.count : 100);
    struct model_job *job = &model.jobs[model.count - 1 - back];
    bool is_old = rig_state(rig, job->id) == JZX__JOB_FORGOTTEN;
    bool elsewhere = jzx__rng_below(rng, 2) == 0;
    bool cancelled = elsewhere ? jzx__schedule_cancel_elsewhere(&rig->s, job->id)
                               : jzx__schedule_cancel(&rig->s, job->id);
    JZX_EXPECT_EQ(cancelled, !is_old && model_cancel(job));
    if (elsewhere) /* free at the owner's next pass */
        jzx__schedule_take_in(&rig->s);
}

static void complete_some(struct rig *rig, struct jzx__rng *rng) {
    for (uint32_t i = 0; i < model.count; i++) {
        struct model_job *job = &model.jobs[i];
        if (!job->in_flight || jzx__rng_below(rng, 3) == 0)
            continue;
        int32_t error = jzx__rng_below(rng, 20) == 0 ? -1 : 0;
        if (jzx__rng_below(rng, 2) == 0) {
            JZX_EXPECT(jzx__schedule_complete(&rig->s, job->id, rig->clock.now_ns, error));
        } else {
            JZX_EXPECT(
                jzx__schedule_complete_elsewhere(&rig->s, job->id, rig->clock.now_ns, error));
            jzx__schedule_take_in(&rig->s);
        }
        model_complete(job, error);
    }
}

static bool compare(struct rig *rig) {
    bool held = JZX_EXPECT_EQ(rig->count, model.expected_count);
    for (uint32_t i = 0; held && i < rig->count; i++) {
        const struct delivery *is = &rig->deliveries[i];
        const struct delivery *should = &model.expected[i];
        held = JZX_EXPECT_EQ(is->job, should->job) && JZX_EXPECT_EQ(is->tick, should->tick) &&
               JZX_EXPECT_EQ(is->batch.runs, should->batch.runs) &&
               JZX_EXPECT_EQ(is->batch.missed_runs, should->batch.missed_runs) &&
               JZX_EXPECT_EQ(is->batch.mode, should->batch.mode);
    }
    rig->count = model.expected_count = 0;
    for (uint32_t i = 0; held && i < model.count; i++) {
        enum jzx__job_state state = rig_state(rig, model.jobs[i].id);
        held = state == JZX__JOB_FORGOTTEN || JZX_EXPECT_EQ(state, model.jobs[i].state);
    }
    held = JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).active_total, model.live) && held;
    const char *broken = jzx__schedule_check(&rig->s);
    if (!JZX_EXPECT(broken == NULL))
        print_error("does not hold: %s\n", broken);
    return held && broken == NULL;
}

static bool scheduler_and_model_agree(struct jzx__rng *rng) {
    static const struct jzx__wheel_shape shapes[] = {
        {{256, 64, 64}}, {{16, 16, 16}}, {{4, 4, 4}}, {{64, 2, 2}}};
    struct rig *rig = rig_make_small(
        (struct jzx__schedule_config){.capacity = {.system_quota = JOBS, .overflow = JOBS},
                                      .shape = shapes[jzx__rng_below(rng, 4)],
                                      .reinsertion_batch_limit = 2 + jzx__rng_below(rng, 100),
                                      .log_capacity = 64});
    memset(&model, 0, sizeof model);
    rig->holds_back = true;
    bool held = true;
    for (unsigned step = 0; held && step < STEPS; step++) {
        for (uint32_t n = jzx__rng_below(rng, 4); n > 0; n--)
            add_one(rig, rng);
        if (jzx__rng_below(rng, 3) == 0)
            cancel_one(rig, rng);
        complete_some(rig, rng);
        uint32_t dice = jzx__rng_below(rng, 40);
        model.answer = rig->answer = dice == 0  ? JZX__DELIVERY_GONE
                                     : dice < 6 ? JZX__DELIVERY_FULL
                                                : JZX__DELIVERED;
        uint32_t ticks = 1 + jzx__rng_below(rng, jzx__rng_below(rng, 10) == 0 ? 300 : 5);
        rig_advance(rig, ticks);
        for (uint32_t i = 0; i < ticks; i++)
            model_tick();
        held = compare(rig) && JZX_EXPECT(jzx__schedule_is_monotonic(&rig->s));
    }
    rig_destroy(rig);
    JZX_EXPECT_EQ(rig->released, model.count);
    return held;
}

JZX_TEST(the_scheduler_does_what_a_model_does_that_looks_at_every_job_at_every_tick, "B+tests") {
    run_seeds("the_scheduler_does_what_a_model_does_that_looks_at_every_job_at_every_tick", 1000,
              scheduler_and_model_agree);
}
