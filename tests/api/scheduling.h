/* SPDX-License-Identifier: MIT */
/* What the tests of the scheduler API share: a loop on a manual clock, whose ticks of 10 ms come
 * with the clock or by hand, and receivers that write down what comes, when, and what it stands
 * for. */
#ifndef JZX_API_SCHEDULING_H
#define JZX_API_SCHEDULING_H

#include "fixture.h"

#include <jzx/schedule.h>
#include <jzx/schedule_admin.h>

#include <string.h>

#define TICK_NS INT64_C(10000000)
#define TICKS(n) ((int64_t)(n)*TICK_NS)
#define TOLD_MAX 4096u
#define NOTES_MAX 4096u

/* One message or call, as its receiver saw it. */
struct note {
    uint64_t at_ns;
    jzx_batch batch; /* runs 0: there was none */
    uint64_t metadata;
    jzx_actor_id sender;
    uint32_t tag;
    size_t len;
};

struct notes {
    struct note list[NOTES_MAX];
    uint32_t count;
    jzx_loop *loop;   /* for functions */
    jzx_err answer;   /* of functions */
    int64_t takes_ns; /* a handler moves the clock by so much, */
    uint32_t slow;    /* so often */
    jzx_clock *clock;
};

struct rig {
    jzx_clock *clock;
    jzx_loop *loop;
    jzx_actor_id to;
    struct notes notes;
    struct jzx_schedule_event told[TOLD_MAX]; /* to the observer */
    uint32_t told_count;
};

static inline void note_down(struct notes *notes, struct note note) {
    if (JZX_EXPECT(notes->count < NOTES_MAX))
        notes->list[notes->count++] = note;
    if (notes->takes_ns > 0 && notes->slow > 0 && notes->slow-- > 0)
        JZX_EXPECT_EQ(jzx_clock_advance(notes->clock, (uint64_t)notes->takes_ns), JZX_OK);
}

static inline jzx_behavior_result write_down(jzx_context *ctx, const jzx_message *msg) {
    const jzx_batch *batch = jzx_schedule_batch(ctx);
    jzx_test_ran();
    note_down(ctx->state, (struct note){.at_ns = jzx_loop_now(ctx->loop),
                                        .batch = batch != NULL ? *batch : (jzx_batch){0},
                                        .metadata = jzx_schedule_metadata(ctx),
                                        .sender = msg->sender,
                                        .tag = msg->tag,
                                        .len = msg->len});
    return JZX_BEHAVIOR_OK;
}

static inline jzx_err call_down(void *ctx, const jzx_batch *batch) {
    struct notes *notes = ctx;
    jzx_test_ran();
    note_down(notes, (struct note){.at_ns = jzx_loop_now(notes->loop), .batch = *batch});
    return notes->answer;
}

static inline void keep_told(void *ctx, const jzx_event *event) {
    struct rig *rig = ctx;
    if (event->kind != JZX_EVENT_SCHEDULE || !JZX_EXPECT(event->schedule != NULL))
        return;
    if (rig->told_count < TOLD_MAX)
        rig->told[rig->told_count] = *event->schedule;
    rig->told_count++;
}

static inline void rig_step(struct rig *rig) {
    JZX_EXPECT_EQ(jzx_loop_step(rig->loop, JZX_NEVER), JZX_OK);
}

static inline jzx_actor_id rig_spawn(struct rig *rig, struct notes *notes) {
    notes->loop = rig->loop;
    notes->clock = rig->clock;
    jzx_actor_id id =
        fixture_spawn(rig->loop, &JZX_SPAWN_OPTS(.behavior = write_down, .state = notes));
    rig_step(rig);
    return id;
}

/* config may be NULL: the defaults, made with the first job. */
static inline void rig_open(struct rig *rig, const jzx_schedule_config *config) {
    memset(rig, 0, sizeof *rig);
    rig->clock = jzx_clock_manual(0);
    assert_non_null(rig->clock);
    rig->loop =
        fixture_loop_with(&JZX_CONFIG(.workers = 1, .clock = rig->clock, .schedule = config));
    assert_non_null(rig->loop);
    JZX_EXPECT_EQ(jzx_loop_set_observer(rig->loop, &JZX_OBSERVER(.on_event = keep_told), rig),
                  JZX_OK);
    rig->to = rig_spawn(rig, &rig->notes);
}

static inline void rig_close(struct rig *rig) {
    fixture_destroy(rig->loop);
    JZX_EXPECT_EQ(jzx_clock_free(rig->clock), JZX_OK);
}

/* Moves the clock from tick to tick, and has all that is ready run at each. */
static inline void rig_pass(struct rig *rig, uint64_t ticks) {
    for (uint64_t i = 0; i < ticks; i++) {
        uint64_t now = jzx_clock_now(rig->clock);
        uint64_t left = (uint64_t)TICK_NS - now % (uint64_t)TICK_NS;
        JZX_EXPECT_EQ(jzx_clock_advance(rig->clock, left), JZX_OK);
        rig_step(rig);
    }
}

/* Moves it in one leap. */
static inline void rig_leap(struct rig *rig, int64_t ns) {
    JZX_EXPECT_EQ(jzx_clock_advance(rig->clock, (uint64_t)ns), JZX_OK);
    rig_step(rig);
}

static inline jzx_job_id rig_once(struct rig *rig, uint32_t tag, int64_t delay_ns) {
    jzx_job_id job = JZX_NO_JOB;
    JZX_EXPECT_EQ(jzx_schedule_once(rig->loop, delay_ns, rig->to, JZX_NOBODY, NULL, 0, tag, &job),
                  JZX_OK);
    return job;
}

static inline jzx_job_id rig_rate(struct rig *rig, uint32_t tag, int64_t first, int64_t interval) {
    jzx_job_id job = JZX_NO_JOB;
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate(rig->loop, first, interval, rig->to, JZX_NOBODY, NULL,
                                             0, tag, &job),
                  JZX_OK);
    return job;
}

static inline jzx_job_id rig_delay(struct rig *rig, uint32_t tag, int64_t first, int64_t delay) {
    jzx_job_id job = JZX_NO_JOB;
    JZX_EXPECT_EQ(jzx_schedule_with_fixed_delay(rig->loop, first, delay, rig->to, JZX_NOBODY, NULL,
                                                0, tag, &job),
                  JZX_OK);
    return job;
}

static inline jzx_err rig_try_once(struct rig *rig, int64_t delay_ns,
                                   const jzx_schedule_opts *opts) {
    return jzx_schedule_once_with_options(rig->loop, delay_ns, rig->to, JZX_NOBODY, NULL, 0, 1,
                                          opts, NULL);
}

static inline jzx_schedule_metrics rig_metrics(struct rig *rig) {
    jzx_schedule_metrics metrics = {.size = sizeof metrics};
    JZX_EXPECT_EQ(jzx_schedule_metrics_get(rig->loop, &metrics), JZX_OK);
    return metrics;
}

/* The state of the job, as it should be. */
static inline void rig_expect_state(struct rig *rig, jzx_job_id job, jzx_job_status status) {
    JZX_EXPECT_EQ(jzx_job_state(rig->loop, job), status);
    JZX_EXPECT_EQ(jzx_job_is_cancelled(rig->loop, job), status == JZX_JOB_CANCELLED);
    JZX_EXPECT_EQ(jzx_job_is_completed(rig->loop, job), status == JZX_JOB_COMPLETED);
}

/* How often a kind was told to the observer; *last is the newest. */
static inline uint32_t rig_told(const struct rig *rig, jzx_schedule_event_kind kind,
                                struct jzx_schedule_event *last) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < rig->told_count && i < TOLD_MAX; i++) {
        if (rig->told[i].kind != kind)
            continue;
        count++;
        if (last != NULL)
            *last = rig->told[i];
    }
    return count;
}

/* Note i came at that tick, with that tag. */
static inline void rig_expect_note(const struct rig *rig, uint32_t i, uint64_t tick, uint32_t tag) {
    if (!JZX_EXPECT(i < rig->notes.count))
        return;
    JZX_EXPECT_EQ(rig->notes.list[i].at_ns, tick * (uint64_t)TICK_NS);
    JZX_EXPECT_EQ(rig->notes.list[i].tag, tag);
}

static inline void rig_expect_batch(const struct rig *rig, uint32_t i, uint32_t runs,
                                    uint32_t missed, jzx_job_mode mode) {
    if (!JZX_EXPECT(i < rig->notes.count))
        return;
    JZX_EXPECT_EQ(rig->notes.list[i].batch.runs, runs);
    JZX_EXPECT_EQ(rig->notes.list[i].batch.missed_runs, missed);
    JZX_EXPECT_EQ(rig->notes.list[i].batch.mode, mode);
}

#endif
