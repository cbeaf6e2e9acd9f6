/* SPDX-License-Identifier: MIT */
/* What the rows share: checks, time, CPUs, and the actors that several rows use. */
#include "bench.h"

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void bench_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("jzx bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void bench_check_equal(uint64_t is, uint64_t should_be, const char *what, const char *file,
                       int line) {
    if (is != should_be)
        bench_fail("%s:%d: %s is %" PRIu64 " and should be %" PRIu64, file, line, what, is,
                   should_be);
}

double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void bench_leave_cpu(int cpu) {
    cpu_set_t others;
    CPU_ZERO(&others);
    for (long i = 0; i < sysconf(_SC_NPROCESSORS_CONF) && i < CPU_SETSIZE; i++) {
        if (i != cpu)
            CPU_SET((size_t)i, &others);
    }
    sched_setaffinity(0, sizeof others, &others); /* fails if there is no other: then it stays */
}

void bench_start(jzx_loop *loop, jzx_actor_id to, uint32_t tag, uint64_t value) {
    BENCH_CHECK(jzx_send(loop, to, JZX_NOBODY, &value, sizeof value, tag) == JZX_OK);
}

void bench_run_until_quiet(jzx_loop *loop) {
    BENCH_CHECK(jzx_loop_step(loop, JZX_NEVER) == JZX_OK);
}

jzx_behavior_result bench_count(jzx_context *ctx, const jzx_message *msg) {
    uint64_t *sum = ctx->state;
    *sum += bench_value(msg);
    return JZX_BEHAVIOR_OK;
}

/* Whatever it is sent means "go on": the start, its own message, room in a mailbox that was full.
 */
jzx_behavior_result bench_produce(jzx_context *ctx, const jzx_message *msg) {
    struct bench_producer *self = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < BENCH_BATCH && self->left != 0; i++, self->left--) {
        if (!bench_offer(ctx, self->to, 0, 1))
            return JZX_BEHAVIOR_OK;
    }
    if (self->left != 0)
        bench_send(ctx, ctx->self, 0, 0);
    return JZX_BEHAVIOR_OK;
}
