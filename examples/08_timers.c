/* SPDX-License-Identifier: MIT */
/* One of each: a message that comes later, one that comes again and again, a deadline that moves,
 * and a message for who hears nothing. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { HELLO = 1, TICK, DEADLINE };

struct clerk {
    uint64_t start_ns;
    uint64_t ticks;
};

static void say(const jzx_context *ctx, const char *what) {
    const struct clerk *self = ctx->state;
    printf("%3llu ms: %s\n",
           (unsigned long long)((jzx_loop_now(ctx->loop) - self->start_ns) / JZX_MS(1)), what);
}

static jzx_err start(jzx_context *ctx) {
    /* Once. The copy of the text travels with the timer. */
    jzx_send_after(ctx->loop, ctx->self, JZX_NOBODY, "hello", 6, HELLO, JZX_MS(5), NULL);
    /* Under a key of our own, every 10 ms. */
    jzx_timer_start_every(ctx, TICK, NULL, 0, TICK, JZX_MS(10), JZX_FIXED_RATE);
    /* If nothing but timers comes for 25 ms. */
    return jzx_receive_timeout(ctx, JZX_MS(25));
}

static jzx_behavior_result work(jzx_context *ctx, const jzx_message *msg) {
    struct clerk *self = ctx->state;
    switch (msg->tag) {
    case HELLO: say(ctx, msg->data); break;
    case TICK:
        self->ticks += 1 + jzx_timer_missed(ctx); /* a busy machine may have held us up */
        say(ctx, "tick");
        jzx_timer_start(ctx, DEADLINE, NULL, 0, DEADLINE, JZX_MS(15)); /* it moves */
        if (self->ticks >= 6)
            jzx_timer_stop(ctx, TICK);
        break;
    case JZX_TAG_RECEIVE_TIMEOUT: say(ctx, "nobody talks to me"); break;
    case DEADLINE: say(ctx, "no tick for 15 ms: the end"); return JZX_BEHAVIOR_STOP;
    }
    return JZX_BEHAVIOR_OK;
}

int main(void) {
    jzx_loop *loop = jzx_loop_create(NULL);
    struct clerk clerk = {.start_ns = jzx_loop_now(loop)};
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = work, .init = start, .state = &clerk), NULL);
    jzx_err err = jzx_loop_run(loop); /* sleeps between the timers, and ends with the actor */
    jzx_loop_destroy(loop);
    return err == JZX_OK ? 0 : 1;
}
