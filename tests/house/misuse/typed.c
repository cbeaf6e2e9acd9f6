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
#endif
    return JZX_OK;
}
