/* SPDX-License-Identifier: MIT */
/* One actor that greets three times and stops. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { GREET = 1 };

/* A behaviour: one function, called with one message at a time. */
static jzx_behavior_result greet(jzx_context *ctx, const jzx_message *msg) {
    int *count = ctx->state;
    printf("hello %.*s\n", (int)msg->len, (const char *)msg->data);
    return ++*count == 3 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

int main(void) {
    int count = 0;
    jzx_actor_id greeter;
    jzx_loop *loop = jzx_loop_create(NULL); /* NULL: the defaults, on all cores */
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = greet, .state = &count), &greeter);
    for (int i = 0; i < 3; i++)
        jzx_send(loop, greeter, JZX_NOBODY, "world", 5, GREET);
    jzx_err err = jzx_loop_run(loop); /* returns when no actor is left */
    jzx_loop_destroy(loop);
    return err != JZX_OK;
}
