/* SPDX-License-Identifier: MIT */
/* Prints what fault containment costs, for docs/containment.md: medians of 31 runs. */
#include <jzx/jzx.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ALL (JZX_CONTAIN_OVERFLOW | JZX_CONTAIN_FAULTS)

enum { RUNS = 31 };

static int *volatile no_pointer;
static volatile int zero;
static volatile int sink;
static long left;

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static jzx_loop *open_loop(uint32_t contain) {
    jzx_loop *loop = jzx_loop_create(
        &JZX_CONFIG(.workers = 1, .contain = contain, .log = {.level = JZX_LOG_OFF}));
    if (loop == NULL)
        exit(1);
    return loop;
}

static jzx_behavior_result read_null(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    sink = *no_pointer;
    return JZX_BEHAVIOR_STOP;
}

static __attribute__((noinline)) int dive(int depth) {
    volatile char frame[512];
    frame[depth & 511] = 1;
    return zero != 0 ? 0 : dive(depth + 1) + frame[1];
}

static jzx_behavior_result overflow(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    sink = dive(0);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result fail(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_FAIL;
}

static jzx_behavior_result pass_ball(jzx_context *ctx, const jzx_message *msg) {
    const jzx_actor_id *other = ctx->state;
    (void)msg;
    if (--left <= 0)
        return JZX_BEHAVIOR_STOP;
    jzx_send(ctx->loop, *other, ctx->self, NULL, 0, 1);
    return JZX_BEHAVIOR_OK;
}

/* Of one step in which one actor fails so. */
static double failure_us(jzx_behavior_fn behavior) {
    enum { COUNT = 50 };
    jzx_loop *loop = open_loop(ALL);
    double total = 0;
    for (int i = 0; i < COUNT; i++) {
        jzx_actor_id id;
        if (jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = behavior), &id) != JZX_OK)
            exit(1);
        jzx_send(loop, id, JZX_NOBODY, NULL, 0, 1);
        double start = now_ns();
        jzx_loop_step(loop, JZX_NEVER);
        total += now_ns() - start;
    }
    jzx_loop_destroy(loop);
    return total / COUNT / 1e3;
}

static double turn_ns(uint32_t contain) {
    enum { COUNT = 2000000 };
    jzx_loop *loop = open_loop(contain);
    jzx_actor_id a;
    jzx_actor_id b;
    if (jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = pass_ball, .state = &b), &a) != JZX_OK ||
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = pass_ball, .state = &a), &b) != JZX_OK)
        exit(1);
    left = COUNT;
    jzx_send(loop, a, JZX_NOBODY, NULL, 0, 1);
    double start = now_ns();
    jzx_loop_step(loop, JZX_NEVER);
    double took = now_ns() - start;
    jzx_loop_destroy(loop);
    return took / COUNT;
}

static double step_ns(uint32_t contain) {
    enum { COUNT = 20000 };
    jzx_loop *loop = open_loop(contain);
    double start = now_ns();
    for (int i = 0; i < COUNT; i++)
        jzx_loop_step(loop, JZX_NEVER);
    double took = now_ns() - start;
    jzx_loop_destroy(loop);
    return took / COUNT;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, RUNS, sizeof values[0], compare);
    return values[RUNS / 2];
}

static void print_failure(const char *what, jzx_behavior_fn behavior) {
    double values[RUNS];
    for (int i = 0; i < RUNS; i++)
        values[i] = failure_us(behavior);
    printf("%-24s %8.1f us\n", what, median(values));
}

static void print_both(const char *what, double (*measure)(uint32_t)) {
    double off[RUNS];
    double on[RUNS];
    for (int i = 0; i < RUNS; i++) {
        off[i] = measure(0);
        on[i] = measure(ALL);
    }
    double off_median = median(off);
    printf("%-24s %8.2f ns off, %.2f ns on\n", what, off_median, median(on));
}

int main(void) {
    print_failure("fault: NULL read", read_null);
    print_failure("fault: stack overflow", overflow);
    print_failure("JZX_BEHAVIOR_FAIL", fail);
    print_both("message, turn", turn_ns);
    print_both("empty jzx_loop_step", step_ns);
    return 0;
}
