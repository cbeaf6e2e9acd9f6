/* SPDX-License-Identifier: MIT */
/* A night in a moment: on a clock that the program moves, a timer of hours fires at once and
 * exactly. This is how timers are tested. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { CHIME = 1 };

static jzx_behavior_result strike(jzx_context *ctx, const jzx_message *msg) {
    unsigned *hours = ctx->state;
    (void)msg;
    printf("%02llu:00\n", (unsigned long long)(jzx_loop_now(ctx->loop) / JZX_SECOND(3600)));
    return ++*hours == 6 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

int main(void) {
    unsigned hours = 0;
    jzx_actor_id tower;
    jzx_clock *clock = jzx_clock_manual(0); /* midnight */
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .clock = clock));
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = strike, .state = &hours), &tower);
    jzx_send_every(loop, tower, JZX_NOBODY, NULL, 0, CHIME, JZX_SECOND(3600), JZX_FIXED_RATE, NULL);
    while (jzx_loop_alive(loop)) {
        jzx_loop_step(loop, JZX_NEVER); /* all that is ready now */
        uint64_t next = jzx_loop_next_deadline(loop);
        if (next == JZX_NEVER)
            break; /* nothing will ever happen */
        if (next > jzx_loop_now(loop))
            jzx_clock_advance(clock, next - jzx_loop_now(loop)); /* nobody has waited */
    }
    jzx_loop_destroy(loop);
    jzx_clock_free(clock);
    return hours == 6 ? 0 : 1;
}
