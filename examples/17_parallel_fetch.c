/* SPDX-License-Identifier: MIT */
/* Parallel fetch: three slow sources are asked at the same time, and `all` has the answers in the
 * order of the questions when the slowest has come. */
#include <jzx/jzx.h>
#include <stdio.h>

/* A slow source, until there is a network. */
struct fetch {
    int id;
    jzx_await_op wait;
};

JZX_ASYNC(fetch, struct fetch, int) {
    JZX_AWAIT(jzx_op_sleep(&self->wait, jzx_in(ctx, JZX_MS(4 - self->id))), NULL);
    printf("source %d answers\n", self->id);
    JZX_RETURN(self->id * 100);
}
JZX_END

struct program {
    jzx_future *all;
    int prices[3];
    jzx_await_op wait;
};

static jzx_future *fetch_three(jzx_loop *loop) {
    jzx_future *inputs[3] = {NULL, NULL, NULL};
    jzx_future *all = NULL;
    jzx_err err = JZX_OK;
    for (int i = 0; i < 3 && err == JZX_OK; i++)
        err = fetch_spawn(loop, (struct fetch){.id = i + 1}, &inputs[i]);
    if (err == JZX_OK)
        err = jzx_future_all(loop, inputs, 3, 0, &all);
    for (int i = 0; i < 3; i++) /* the combinator has handles of its own */
        jzx_future_release(inputs[i]);
    return err == JZX_OK ? all : NULL;
}

JZX_ASYNC(program, struct program, int) {
    self->all = fetch_three(ctx->loop);
    JZX_AWAIT(jzx_op_consume(&self->wait, self->all, JZX_NEVER), self->prices);
    for (int i = 0; i < 3; i++)
        printf("price %d: %d\n", i + 1, self->prices[i]);
    JZX_RETURN(0);
}
JZX_END

int main(void) {
    return jzx_async_run(NULL, &program_type, &(struct program){0}, NULL) == JZX_OK ? 0 : 1;
}
