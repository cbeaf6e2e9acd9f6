/* SPDX-License-Identifier: MIT */
/* Several futures, and one result of them: the first three values of ten, the errors of all when
 * none has a value, the winner of a race. A clock that the program moves makes the order certain.
 *
 * It prints:
 *     the first 3 of 10:
 *       mirror 7 after 50 ms
 *       mirror 4 after 60 ms
 *       mirror 1 after 70 ms
 *     any of 2: JZX_ERR_ALL_REJECTED
 *       source 0: JZX_ERR_REFUSED, the disk is full
 *       source 1: JZX_ERR_TIMEOUT, the network is slow
 *     the race: mirror 2 of the list has won, after 70 ms
 */
#include <jzx/jzx.h>

#include <stdio.h>

enum { MIRRORS = 10, WANTED = 3, RUNNERS = 3 };

/* ---- a mirror: its value is the time that it takes, in milliseconds ---- */

struct mirror {
    unsigned ms;
    jzx_await_op op;
};

JZX_ASYNC(mirror, struct mirror, unsigned) {
    JZX_AWAIT(jzx_op_sleep(&self->op, jzx_in(ctx, JZX_MS(self->ms))), NULL);
    JZX_RETURN(self->ms);
}
JZX_END

static jzx_future *ask(jzx_context *ctx, unsigned ms) {
    jzx_future *future = NULL;
    jzx_err err = mirror_spawn(ctx->loop, (struct mirror){.ms = ms}, &future);
    if (err != JZX_OK)
        jzx_exit(ctx, JZX_EXIT_FAIL, jzx_err_text(err));
    return future;
}

static void release(jzx_future **futures, size_t count) {
    for (size_t i = 0; i < count; i++)
        jzx_future_release(futures[i]);
}

/* ---- the three results ---- */

/* The other seven are cancelled when three have a value: no handle to them is left. */
static void take_three(jzx_context *ctx) {
    static const unsigned ms[MIRRORS] = {150, 70, 140, 130, 60, 120, 110, 50, 100, 90};
    _Alignas(jzx_settled) char records[WANTED * JZX_SETTLED_SIZE(sizeof(unsigned))];
    jzx_future *inputs[MIRRORS];
    jzx_future *some = NULL;
    for (size_t i = 0; i < MIRRORS; i++)
        inputs[i] = ask(ctx, ms[i]);
    jzx_err err = jzx_future_some(ctx->loop, inputs, MIRRORS, WANTED, 0, &some);
    release(inputs, MIRRORS);
    if (err == JZX_OK)
        err = jzx_await(ctx, some, JZX_NEVER, records);
    printf("the first %d of %d:\n", WANTED, MIRRORS);
    for (size_t i = 0; err == JZX_OK && i < WANTED; i++) {
        jzx_settled *record = jzx_settled_at(records, sizeof(unsigned), i);
        const unsigned *value = (const void *)(record + 1);
        printf("  mirror %u after %u ms\n", record->index, *value);
    }
    jzx_future_release(some);
}

static void take_any(jzx_context *ctx) {
    jzx_future *inputs[2] = {NULL, NULL};
    jzx_future *any = NULL;
    jzx_err err = jzx_future_rejected(ctx->loop, JZX_ERR_REFUSED, "the disk is full", &inputs[0]);
    if (err == JZX_OK)
        err = jzx_future_rejected(ctx->loop, JZX_ERR_TIMEOUT, "the network is slow", &inputs[1]);
    if (err == JZX_OK)
        err = jzx_future_any(ctx->loop, inputs, 2, 0, &any);
    release(inputs, 2);
    if (err == JZX_OK)
        err = jzx_await(ctx, any, JZX_NEVER, NULL);
    printf("any of 2: %s\n", jzx_err_name(err));
    for (size_t i = 0; i < 2; i++) {
        const char *text;
        if (jzx_future_error_at(any, i, &err, &text) == JZX_OK)
            printf("  source %zu: %s, %s\n", i, jzx_err_name(err), text);
    }
    jzx_future_release(any);
}

/* JZX_CANCEL_INPUTS: the losers are cancelled though we have handles to them. */
static void race(jzx_context *ctx) {
    jzx_future *inputs[RUNNERS] = {ask(ctx, 90), ask(ctx, 80), ask(ctx, 70)};
    jzx_future *first = NULL;
    size_t winner = 0;
    unsigned ms = 0;
    jzx_err err = jzx_future_race(ctx->loop, inputs, RUNNERS, JZX_CANCEL_INPUTS, &first);
    if (err == JZX_OK)
        err = jzx_await(ctx, first, JZX_NEVER, &ms);
    if (err == JZX_OK)
        err = jzx_future_winner(first, &winner);
    if (err == JZX_OK)
        printf("the race: mirror %zu of the list has won, after %u ms\n", winner, ms);
    jzx_future_release(first);
    release(inputs, RUNNERS);
}

static void run(jzx_context *ctx) {
    take_three(ctx);
    take_any(ctx);
    race(ctx);
}

int main(void) {
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG_ONE_THREAD(.clock = clock));
    if (clock == NULL || loop == NULL)
        return 1;
    jzx_err err = jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = run), NULL);
    while (err == JZX_OK && jzx_loop_alive(loop)) {
        err = jzx_loop_step(loop, JZX_NEVER);
        uint64_t next = jzx_loop_next_deadline(loop);
        if (next != JZX_NEVER && next > jzx_loop_now(loop))
            jzx_clock_advance(clock, next - jzx_loop_now(loop));
    }
    jzx_loop_destroy(loop);
    jzx_clock_free(clock);
    return err != JZX_OK;
}
