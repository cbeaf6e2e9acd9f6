/* SPDX-License-Identifier: MIT */
/* A typed actor: one block declares what it keeps and what it is sent. counter_send_inc(ctx, id,
 * "five") does not compile. */
#include <jzx/jzx.h>
#include <stdio.h>

#define COUNTER(T, STATE, ON, ASK)                                                                 \
    STATE(T, int64_t, value, 0)                                                                    \
    ON(T, inc, int64_t, by)                                                                        \
    ON(T, show)

JZX_ACTOR_TYPE(counter, COUNTER);

static jzx_behavior_result counter_on_inc(jzx_context *ctx, struct counter *self,
                                          const struct counter_inc *msg) {
    self->value += msg->by;
    return self->value < 10                              ? JZX_BEHAVIOR_OK
           : counter_send_show(ctx, ctx->self) == JZX_OK ? JZX_BEHAVIOR_OK
                                                         : JZX_BEHAVIOR_FAIL;
}

static jzx_behavior_result counter_on_show(jzx_context *ctx, struct counter *self,
                                           const struct counter_show *msg) {
    (void)ctx;
    (void)msg;
    printf("value: %lld\n", (long long)self->value);
    return JZX_BEHAVIOR_STOP;
}

static void print_line(void *ctx, const char *text) {
    (void)ctx;
    if (text[0] == 't')
        printf("%s\n", text);
}

int main(void) {
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_actor_id id;
    if (loop == NULL || counter_spawn(loop, &id) != JZX_OK)
        return 1;
    for (int64_t i = 1; i <= 4; i++)
        if (counter_post_inc(loop, id, i) != JZX_OK)
            return 1;
    (void)jzx_loop_dump(loop, print_line, NULL); /* what the loop knows of types */
    jzx_err err = jzx_loop_run(loop);
    (void)jzx_loop_destroy(loop);
    return err != JZX_OK;
}
