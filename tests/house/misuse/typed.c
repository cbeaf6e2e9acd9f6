/* SPDX-License-Identifier: MIT */
/* Wrong uses of the macros for typed actors, one for each value of WRONG: house.misuse compiles
 * them all, and only 0 may pass. */
#include <jzx/typed.h>

struct other {
    int number;
};

#define COUNTER(T, STATE, ON, ASK)                                                                 \
    STATE(T, int64_t, value, 0)                                                                    \
    ON(T, inc, int64_t, by)                                                                        \
    ON(T, name, const char *, text, uint32_t, len)                                                 \
    ON(T, take, struct other, other)                                                               \
    ON(T, reset)                                                                                   \
    ASK(T, get, int64_t)
JZX_ACTOR_TYPE(counter, COUNTER);

static jzx_behavior_result counter_on_inc(jzx_context *ctx, struct counter *self,
                                          const struct counter_inc *msg) {
    (void)ctx;
    self->value += msg->by;
#if WRONG == 1 /* says: has no member named */
    self->value += msg->missing;
#elif WRONG == 2 /* says: assignment of member .by. in read-only object */
    msg->by = 0;
#endif
    return JZX_BEHAVIOR_OK;
}

#if WRONG == 3 /* says: conflicting types for .counter_on_name. */
static jzx_behavior_result counter_on_name(jzx_context *ctx, struct counter *self,
                                           const struct counter_inc *msg) {
#else
static jzx_behavior_result counter_on_name(jzx_context *ctx, struct counter *self,
                                           const struct counter_name *msg) {
#endif
    (void)ctx, (void)self, (void)msg;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result counter_on_take(jzx_context *ctx, struct counter *self,
                                           const struct counter_take *msg) {
    (void)ctx, (void)self, (void)msg;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result counter_on_reset(jzx_context *ctx, struct counter *self,
                                            const struct counter_reset *msg) {
    (void)ctx, (void)self, (void)msg;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result counter_on_get(jzx_context *ctx, struct counter *self,
                                          const struct counter_get *msg, int64_t *answer) {
    (void)ctx, (void)msg;
    *answer = self->value;
    return JZX_BEHAVIOR_OK;
}

/* Another type, for jobs: the receiver and the message belong together. */
#define METER(T, STATE, ON, ASK) STATE(T, int, value, 0) ON(T, read, int64_t, by) ON(T, reset)
JZX_ACTOR_MESSAGES(meter, METER);

#if WRONG == 4 /* says: each field has a type and a name */
#define HALF(T, STATE, ON, ASK) STATE(T, int, value, 0) ON(T, half, int)
JZX_ACTOR_MESSAGES(half, HALF);
#endif

jzx_err use(jzx_context *ctx, jzx_actor_id id);
jzx_err use(jzx_context *ctx, jzx_actor_id id) {
    int64_t value = 0;
    (void)counter_spawn(ctx->loop, &id);
    (void)counter_send_inc(ctx, id, 5);
    (void)counter_call_get(ctx, id, JZX_NEVER, &value);
#if WRONG == 5 /* says: makes integer from pointer without a cast */
    (void)counter_send_inc(ctx, id, "five");
#elif WRONG == 6  /* says: too few arguments to function .counter_send_inc. */
    (void)counter_send_inc(ctx, id);
#elif WRONG == 7  /* says: too many arguments to function .counter_send_reset. */
    (void)counter_send_reset(ctx, id, 1);
#elif WRONG == 8  /* says: implicit declaration of function .counter_send_dec. */
    (void)counter_send_dec(ctx, id, 1);
#elif WRONG == 9  /* says: incompatible type for argument */
    (void)counter_send_take(ctx, id, (jzx_message){0});
#elif WRONG == 10 /* says: argument 3 of .counter_send_name. from incompatible pointer type */
    (void)counter_send_name(ctx, id, &value, 1);
#elif WRONG == 11 /* says: argument 4 of .counter_call_get. from incompatible pointer type */
    struct other other;
    (void)counter_call_get(ctx, id, JZX_NEVER, &other);
#elif WRONG == 12 /* says: implicit declaration of function .counter_send_get. */
    (void)counter_send_get(ctx, id);
#elif WRONG == 13 /* says: incompatible type for argument 3 of .counter_schedule_once_inc. */
    (void)counter_schedule_once_inc(ctx, 1, meter_ref_of(id), 5, NULL, NULL);
#elif WRONG ==                                                                                     \
    14 /* says: incompatible type for argument 4 of .counter_schedule_at_fixed_rate_inc. */
    (void)counter_schedule_at_fixed_rate_inc(ctx, 1, 1, meter_ref_of(id), 5, NULL, NULL);
#elif WRONG ==                                                                                     \
    15 /* says: incompatible type for argument 4 of .meter_schedule_with_fixed_delay_reset. */
    (void)meter_schedule_with_fixed_delay_reset(ctx, 1, 1, counter_ref_of(id), NULL, NULL);
#elif WRONG == 16 /* says: incompatible type for argument 3 of .counter_schedule_once_inc. */
    (void)counter_schedule_once_inc(ctx, 1, id, 5, NULL, NULL);
#elif WRONG == 17 /* says: implicit declaration of function .counter_schedule_once_read. */
    (void)counter_schedule_once_read(ctx, 1, counter_ref_of(id), 5, NULL, NULL);
#elif WRONG == 18 /* says: makes integer from pointer without a cast */
    (void)counter_schedule_once_inc(ctx, 1, counter_ref_of(id), "five", NULL, NULL);
#elif WRONG == 19 /* says: too few arguments to function .counter_schedule_once_inc. */
    (void)counter_schedule_once_inc(ctx, 1, counter_ref_of(id), NULL, NULL);
#elif WRONG == 20 /* says: implicit declaration of function .counter_schedule_once_get. */
    (void)counter_schedule_once_get(ctx, 1, counter_ref_of(id), NULL, NULL);
#else
    (void)counter_schedule_once_inc(ctx, 1, counter_ref_of(id), 5, NULL, NULL);
    (void)meter_schedule_at_fixed_rate_read(ctx, 1, 1, meter_ref_of(id), 5,
                                            &JZX_SCHEDULE_OPTS(.backlog_limit = 4), NULL);
#endif
    return JZX_OK;
}
