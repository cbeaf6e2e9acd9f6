/* SPDX-License-Identifier: MIT */
/* What the rows share: checks, time, CPUs, and the actors that several rows use. */
#include "bench.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Steps of bench_compute in a microsecond of the machine for which the aims were written. */
#define STEPS_PER_US 590u

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

uint64_t bench_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t thread_cpu_ns(void) {
    struct timespec t;
    BENCH_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void bench_spin_until(uint64_t ns) {
    while (bench_now_ns() < ns) {
    }
}

/* Each step waits for the one before, and the compiler may not look through it. */
uint64_t bench_compute(uint64_t value, uint32_t us) {
    for (uint32_t i = 0; i < us * STEPS_PER_US; i++) {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

/* The least of several short runs: caches, a clock that was low and interrupts are no work. */
uint32_t bench_steps_per_us(void) {
    const uint32_t steps = 1u << 20;
    uint64_t least_ns = UINT64_MAX;
    for (unsigned i = 0; i < 16; i++) {
        uint64_t start_ns = thread_cpu_ns();
        (void)bench_work(i, steps);
        uint64_t ns = thread_cpu_ns() - start_ns;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    BENCH_CHECK(least_ns > 0 && least_ns < UINT64_C(1000) * steps);
    return (uint32_t)(UINT64_C(1000) * steps / least_ns);
}

static int compare_doubles(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

void bench_sort(double *values, unsigned count) {
    qsort(values, count, sizeof values[0], compare_doubles);
}

double bench_resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    BENCH_CHECK(file != NULL);
    long all = 0;
    long resident = 0;
    BENCH_CHECK(fscanf(file, "%ld %ld", &all, &resident) == 2);
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

unsigned bench_cpus(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (unsigned)CPU_COUNT(&allowed) : 1;
}

int bench_cpu_at(unsigned n) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        bench_fail("sched_getaffinity: %s", strerror(errno));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((size_t)cpu, &allowed) && n-- == 0)
            return cpu;
    }
    return BENCH_NO_CPU;
}

void bench_pin(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        bench_fail("cannot run on CPU %d: %s", cpu, strerror(errno));
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

struct part {
    BENCH_APART uint64_t (*work)(unsigned index);
    pthread_t thread;
    unsigned index;
    int cpu;
    uint64_t ops;
    double seconds;
};

static void *run_part(void *arg) {
    struct part *part = arg;
    bench_pin(part->cpu);
    double start = bench_now();
    part->ops = part->work(part->index);
    part->seconds = bench_now() - start;
    return NULL;
}

void bench_run_apart(unsigned count, uint64_t (*work)(unsigned index), struct bench_run *run) {
    static struct part parts[BENCH_APART_MAX];
    BENCH_CHECK(count <= BENCH_APART_MAX);
    for (unsigned i = 0; i < count; i++)
        parts[i] = (struct part){.work = work, .index = i, .cpu = bench_cpu_at(i % bench_cpus())};
    for (unsigned i = 0; i < count; i++)
        BENCH_CHECK(pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) == 0);
    double speed = 0;
    run->ops = 0;
    for (unsigned i = 0; i < count; i++) {
        BENCH_CHECK(pthread_join(parts[i].thread, NULL) == 0);
        speed += (double)parts[i].ops / parts[i].seconds;
        run->ops += parts[i].ops;
    }
    run->seconds = (double)run->ops / speed;
}

void bench_start(jzx_loop *loop, jzx_actor_id to, uint32_t tag, uint64_t value) {
    BENCH_CHECK(jzx_send(loop, to, JZX_NOBODY, &value, sizeof value, tag) == JZX_OK);
}

void bench_run_to_end(jzx_loop *loop) {
    BENCH_CHECK(jzx_loop_run(loop) == JZX_OK);
}

void bench_finish(jzx_context *ctx) {
    BENCH_CHECK(jzx_loop_request_stop(ctx->loop) == JZX_OK);
}

void bench_run_until_quiet(jzx_loop *loop) {
    BENCH_CHECK(jzx_loop_step(loop, JZX_NEVER) == JZX_OK);
}

jzx_stats bench_stats(jzx_loop *loop) {
    jzx_stats stats = {.size = sizeof stats};
    BENCH_CHECK(jzx_loop_stats(loop, &stats) == JZX_OK);
    return stats;
}

jzx_behavior_result bench_count(jzx_context *ctx, const jzx_message *msg) {
    struct bench_counter *self = ctx->state;
    self->sum += bench_value(msg);
    return self->sum == self->expected ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
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
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    bench_send(ctx, ctx->self, 0, 0);
    return JZX_BEHAVIOR_OK;
}

jzx_behavior_result bench_await(jzx_context *ctx, const jzx_message *msg) {
    struct bench_judge *self = ctx->state;
    (void)msg;
    if (--self->missing == 0)
        bench_finish(ctx);
    return JZX_BEHAVIOR_OK;
}
