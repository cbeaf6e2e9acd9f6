/* SPDX-License-Identifier: MIT */
/* Jobs for typed actors: the functions of a type, and the typed form with options. */
#include "scheduling.h"

#include <jzx/typed.h>

static struct rig rig;

/* What a meter was told last, and by which actor. */
static struct {
    uint32_t came;
    int64_t value;
    uint32_t unit;
    uint32_t flushes;
    jzx_actor_id from;
    uint64_t metadata;
    jzx_job_mode mode;
} seen;

#define METER(T, STATE, ON, ASK)                                                                   \
    STATE(T, int64_t, sum, 0)                                                                      \
    ON(T, add, int64_t, value, uint32_t, unit)                                                     \
    ON(T, flush)                                                                                   \
    ASK(T, get, int64_t)
JZX_ACTOR_TYPE(meter, METER);

static void see(jzx_context *ctx) {
    const jzx_batch *batch = jzx_schedule_batch(ctx);
    jzx_test_ran();
    seen.from = jzx_type_sender(ctx);
    seen.metadata = jzx_schedule_metadata(ctx);
    if (JZX_EXPECT(batch != NULL))
        seen.mode = batch->mode;
}

static jzx_behavior_result meter_on_add(jzx_context *ctx, struct meter *self,
                                        const struct meter_add *msg) {
    see(ctx);
    self->sum += msg->value;
    seen.came++;
    seen.value = msg->value;
    seen.unit = msg->unit;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result meter_on_flush(jzx_context *ctx, struct meter *self,
                                          const struct meter_flush *msg) {
    (void)self, (void)msg;
    see(ctx);
    seen.flushes++;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result meter_on_get(jzx_context *ctx, struct meter *self,
                                        const struct meter_get *msg, int64_t *answer) {
    (void)ctx, (void)msg;
    *answer = self->sum;
    return JZX_BEHAVIOR_OK;
}

/* An actor that does in its turn what the test says. */
static void (*turn)(jzx_context *ctx);

static jzx_behavior_result take_turn(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    turn(ctx);
    return JZX_BEHAVIOR_OK;
}

static meter_ref meter;

static jzx_actor_id in_an_actor(void (*what)(jzx_context *ctx)) {
    jzx_actor_id id = fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = take_turn));
    turn = what;
    fixture_send(rig.loop, id, 0);
    rig_step(&rig);
    return id;
}

static void begin(void) {
    jzx_actor_id id = JZX_NOBODY;
    memset(&seen, 0, sizeof seen);
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(meter_spawn(rig.loop, &id), JZX_OK);
    meter = meter_ref_of(id);
    JZX_EXPECT_EQ(meter.id, id);
}

/* ---- the functions of a type ---- */

static jzx_job_id job;

static void add_once(jzx_context *ctx) {
    JZX_EXPECT_EQ(meter_schedule_once_add(ctx, TICKS(2), meter, -7, 3,
                                          &JZX_SCHEDULE_OPTS(.metadata = 11), &job),
                  JZX_OK);
}

JZX_TEST(a_type_schedules_its_message_once_from_the_calling_actor, "B59") {
    begin();
    jzx_actor_id from = in_an_actor(add_once);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(seen.came, 0);
    rig_pass(&rig, 3);
    JZX_EXPECT_EQ(seen.came, 1);
    JZX_EXPECT_EQ(seen.value, -7);
    JZX_EXPECT_EQ(seen.unit, 3);
    JZX_EXPECT_EQ(seen.from, from);
    JZX_EXPECT_EQ(seen.metadata, 11);
    JZX_EXPECT_EQ(seen.mode, JZX_JOB_ONE_SHOT);
    rig_expect_state(&rig, job, JZX_JOB_COMPLETED);
    rig_close(&rig);
}

static void add_at_a_rate(jzx_context *ctx) {
    JZX_EXPECT_EQ(meter_schedule_at_fixed_rate_add(ctx, TICKS(1), TICKS(2), meter, 5, 6,
                                                   &JZX_SCHEDULE_OPTS(.metadata = 12), &job),
                  JZX_OK);
}

JZX_TEST(a_type_schedules_its_message_at_a_fixed_rate, "B59", "B58") {
    begin();
    jzx_actor_id from = in_an_actor(add_at_a_rate);
    rig_pass(&rig, 5);
    JZX_EXPECT_EQ(seen.came, 3);
    JZX_EXPECT_EQ(seen.value, 5);
    JZX_EXPECT_EQ(seen.unit, 6);
    JZX_EXPECT_EQ(seen.from, from);
    JZX_EXPECT_EQ(seen.metadata, 12);
    JZX_EXPECT_EQ(seen.mode, JZX_JOB_FIXED_RATE);
    JZX_EXPECT(jzx_job_cancel(rig.loop, job));
    rig_close(&rig);
}

static void flush_with_a_delay(jzx_context *ctx) {
    JZX_EXPECT_EQ(meter_schedule_with_fixed_delay_flush(ctx, TICKS(1), TICKS(3), meter, NULL, NULL),
                  JZX_OK);
    JZX_EXPECT_EQ(meter_schedule_once_flush(ctx, TICKS(2), meter, NULL, &job), JZX_OK);
}

JZX_TEST(a_type_schedules_a_message_without_fields_with_a_fixed_delay, "B59") {
    begin();
    jzx_actor_id from = in_an_actor(flush_with_a_delay);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(seen.flushes, 1);
    JZX_EXPECT_EQ(seen.mode, JZX_JOB_FIXED_DELAY);
    JZX_EXPECT_EQ(seen.from, from);
    JZX_EXPECT_EQ(seen.metadata, 0);
    rig_pass(&rig, 3);
    JZX_EXPECT_EQ(seen.flushes, 3); /* at 2 the other one, and again at 4 */
    rig_close(&rig);
}

static void schedule_what_is_wrong(jzx_context *ctx) {
    meter_ref gone = meter_ref_of(rig.to);
    job = 77;
    JZX_EXPECT_EQ(meter_schedule_once_add(ctx, 0, meter, 1, 1, NULL, &job), JZX_ERR_INVALID_DELAY);
    JZX_EXPECT_EQ(meter_schedule_at_fixed_rate_add(ctx, 1, -1, meter, 1, 1, NULL, &job),
                  JZX_ERR_INVALID_DELAY);
    JZX_EXPECT_EQ(meter_schedule_with_fixed_delay_add(
                      ctx, 1, 1, meter, 1, 1, &JZX_SCHEDULE_OPTS(.dispatcher = "none"), &job),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(meter_schedule_once_flush(ctx, 1, gone, NULL, &job), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_schedule_once_by(NULL, 1, meter.id, NULL, 0, 1, NULL, &job),
                  JZX_ERR_INVALID_ARG); /* there is no calling actor */
    JZX_EXPECT_EQ(job, 77);
}

JZX_TEST(the_functions_of_a_type_pass_on_the_errors_of_the_scheduler, "B59") {
    begin();
    JZX_EXPECT_EQ(jzx_actor_stop(rig.loop, rig.to, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    rig_step(&rig);
    (void)in_an_actor(schedule_what_is_wrong);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0);
    rig_close(&rig);
}

/* ---- the typed form with options ---- */

struct order {
    uint64_t price;
};

static uint32_t evaluated;

/* Each call counts one argument that is evaluated. */
static jzx_context *once_ctx(jzx_context *ctx) {
    evaluated++;
    return ctx;
}

static const struct order *once_order(void) {
    static const struct order order = {.price = 30};
    evaluated++;
    return &order;
}

static const jzx_schedule_opts *once_opts(void) {
    static jzx_schedule_opts opts;
    evaluated++;
    opts = JZX_SCHEDULE_OPTS(.metadata = 40);
    return &opts;
}

static jzx_job_id orders[3];

static void order_three_times(jzx_context *ctx) {
    evaluated = 0;
    JZX_EXPECT_EQ(JZX_SCHEDULE_ONCE_WITH_OPTIONS(once_ctx(ctx), struct order, TICK_NS, rig.to,
                                                 once_order(), 1, once_opts(), &orders[0]),
                  JZX_OK);
    JZX_EXPECT_EQ(JZX_SCHEDULE_AT_FIXED_RATE_WITH_OPTIONS(once_ctx(ctx), struct order, TICK_NS,
                                                          TICKS(2), rig.to, once_order(), 2,
                                                          once_opts(), &orders[1]),
                  JZX_OK);
    JZX_EXPECT_EQ(JZX_SCHEDULE_WITH_FIXED_DELAY_WITH_OPTIONS(once_ctx(ctx), struct order, TICK_NS,
                                                             TICKS(3), rig.to, once_order(), 3,
                                                             once_opts(), &orders[2]),
                  JZX_OK);
    JZX_EXPECT_EQ(evaluated, 9);
    JZX_EXPECT_EQ(
        JZX_SCHEDULE_ONCE(once_ctx(ctx), struct order, TICKS(100), rig.to, once_order(), 4, NULL),
        JZX_OK);
    JZX_EXPECT_EQ(evaluated, 11);
}

JZX_TEST(the_typed_form_has_options_and_evaluates_each_argument_once, "B59", "B58") {
    begin();
    jzx_actor_id from = in_an_actor(order_three_times);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig.notes.count, 3);
    static const jzx_job_mode modes[] = {JZX_JOB_ONE_SHOT, JZX_JOB_FIXED_RATE, JZX_JOB_FIXED_DELAY};
    for (uint32_t i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(rig.notes.list[i].tag, i + 1);
        JZX_EXPECT_EQ(rig.notes.list[i].len, sizeof(struct order));
        JZX_EXPECT_EQ(rig.notes.list[i].sender, from);
        JZX_EXPECT_EQ(rig.notes.list[i].metadata, 40);
        JZX_EXPECT_EQ(rig.notes.list[i].batch.mode, modes[i]);
    }
    rig_close(&rig);
}
