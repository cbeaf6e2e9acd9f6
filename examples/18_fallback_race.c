/* SPDX-License-Identifier: MIT */
/* Fallback race: a source that may be too slow races a default that is there after 5 ms. The loser
 * is cancelled: nobody has a handle to it any more. */
#include <jzx/jzx.h>
#include <stdio.h>

struct source {
    uint64_t delay_ns;
    jzx_err err;
    jzx_await_op wait;
};

JZX_ASYNC(source, struct source, int) {
    JZX_TRY(self->err, jzx_op_sleep(&self->wait, jzx_in(ctx, self->delay_ns)), NULL);
    if (self->err != JZX_OK) {
        printf("the source was cancelled\n");
        JZX_FAIL(self->err, NULL);
    }
    JZX_RETURN(42);
}
JZX_END

/* The answer of a source that takes so long, or 7. */
static jzx_future *ask(jzx_loop *loop, uint64_t delay_ns) {
    jzx_future *both[2] = {NULL, NULL};
    jzx_future *first = NULL;
    const int fallback = 7;
    if (source_spawn(loop, (struct source){.delay_ns = delay_ns}, &both[0]) == JZX_OK &&
        jzx_future_delayed(loop, jzx_loop_now(loop) + JZX_MS(5), &fallback, sizeof fallback,
                           &both[1]) == JZX_OK)
        (void)jzx_future_race(loop, both, 2, 0, &first);
    jzx_future_release(both[0]);
    jzx_future_release(both[1]);
    return first;
}

struct program {
    int answer;
    jzx_await_op wait;
};

JZX_ASYNC(program, struct program, int) {
    JZX_AWAIT(jzx_op_consume(&self->wait, ask(ctx->loop, 0), JZX_NEVER), &self->answer);
    printf("quick: %d\n", self->answer);
    JZX_AWAIT(jzx_op_consume(&self->wait, ask(ctx->loop, JZX_SECOND(60)), JZX_NEVER),
              &self->answer);
    printf("slow: %d\n", self->answer);
    JZX_RETURN(0);
}
JZX_END

int main(void) {
    return jzx_async_run(NULL, &program_type, &(struct program){0}, NULL) == JZX_OK ? 0 : 1;
}
