/* SPDX-License-Identifier: MIT */
/* The rows that make sense for libuv, a library of event loops without actors; whatever WORKERS is
 * but in the echo servers (uv_echo.c).
 * wake: round trips between two threads, each with its loop, by uv_async_send. The timers are those
 * of one loop, and a callback is a message. */
#define _GNU_SOURCE
#include "uv_echo.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct result {
    double seconds;
    uint64_t ops;
    double amount;
};

static void check(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "libuv: the check failed: %s\n", what);
        exit(1);
    }
}

/* ---- wake ---- */

struct side {
    uv_loop_t loop;
    uv_async_t async;
    struct side *other;
    uint64_t sent;
    uint64_t woken;
    uint64_t size; /* round trips */
    uv_sem_t ready;
};

static void wake_other(struct side *self) {
    self->sent++;
    check(uv_async_send(&self->other->async) == 0, "uv_async_send");
}

/* The first side begins and ends; the second answers. */
static void on_wake(uv_async_t *async) {
    struct side *self = async->data;
    self->woken++;
    if (self->sent != self->size)
        wake_other(self);
    if (self->woken == self->size)
        uv_stop(&self->loop);
}

static void init_side(struct side *self, struct side *other, uint64_t size) {
    self->other = other;
    self->size = size;
    check(uv_loop_init(&self->loop) == 0, "uv_loop_init");
    check(uv_async_init(&self->loop, &self->async, on_wake) == 0, "uv_async_init");
    self->async.data = self;
    check(uv_sem_init(&self->ready, 0) == 0, "uv_sem_init");
}

static void run_second(void *data) {
    struct side *self = data;
    uv_sem_post(&self->ready);
    uv_run(&self->loop, UV_RUN_DEFAULT);
}

static void close_side(struct side *self) {
    uv_close((uv_handle_t *)&self->async, NULL);
    uv_run(&self->loop, UV_RUN_DEFAULT);
    check(uv_loop_close(&self->loop) == 0, "uv_loop_close");
    uv_sem_destroy(&self->ready);
}

static void row_wake(uint64_t size, struct result *result) {
    static struct side first;
    static struct side second;
    uv_thread_t thread;
    init_side(&first, &second, size);
    init_side(&second, &first, size);
    check(uv_thread_create(&thread, run_second, &second) == 0, "uv_thread_create");
    uv_sem_wait(&second.ready);
    uint64_t start = uv_hrtime();
    wake_other(&first);
    uv_run(&first.loop, UV_RUN_DEFAULT);
    result->seconds = (double)(uv_hrtime() - start) * 1e-9;
    result->ops = size;
    check(uv_thread_join(&thread) == 0, "uv_thread_join");
    check(first.woken == size && first.sent == size, "wakes of the first thread");
    check(second.woken == size && second.sent == size, "wakes of the second thread");
    close_side(&first);
    close_side(&second);
}

/* ---- timers ---- */

#define BATCH 64u
#define SEED 88172645463325252u

static uint64_t fired;

static uint64_t delay_ms(uint64_t *random, uint32_t least, uint32_t most) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return least + ((*random >> 32) * (most - least + 1) >> 32);
}

static double cpu_seconds(void) {
    uv_rusage_t usage;
    check(uv_getrusage(&usage) == 0, "uv_getrusage");
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* A timer is one callback: it does not come again. */
static void on_timer(uv_timer_t *timer) {
    check(uv_now(timer->loop) >= (uint64_t)(uintptr_t)timer->data, "timer-fire: none is early");
    fired++;
}

static uv_timer_t *init_timers(uv_loop_t *loop, uint64_t count) {
    uv_timer_t *timers = calloc(count, sizeof *timers);
    check(timers != NULL, "memory");
    check(uv_loop_init(loop) == 0, "uv_loop_init");
    for (uint64_t i = 0; i < count; i++)
        check(uv_timer_init(loop, &timers[i]) == 0, "uv_timer_init");
    return timers;
}

static void close_timers(uv_loop_t *loop, uv_timer_t *timers, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        uv_close((uv_handle_t *)&timers[i], NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    check(uv_loop_close(loop) == 0, "uv_loop_close");
    free(timers);
}

static void row_timer_fire(uint64_t size, struct result *result) {
    uv_loop_t loop;
    uint64_t random = SEED;
    uv_timer_t *timers = init_timers(&loop, size);
    double start = cpu_seconds();
    uv_update_time(&loop);
    for (uint64_t i = 0; i < size; i++) {
        uint64_t ms = delay_ms(&random, 1, 1000);
        timers[i].data = (void *)(uintptr_t)(uv_now(&loop) + ms);
        check(uv_timer_start(&timers[i], on_timer, ms, 0) == 0, "uv_timer_start");
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    result->seconds = cpu_seconds() - start;
    result->ops = size;
    check(fired == size, "timer-fire: all come");
    close_timers(&loop, timers, size);
}

static void row_timer_cancel(uint64_t size, struct result *result) {
    uv_loop_t loop;
    uint64_t random = SEED;
    uv_timer_t *timers = init_timers(&loop, BATCH);
    uint64_t start = uv_hrtime();
    for (uint64_t left = size; left != 0;) {
        uint64_t count = left < BATCH ? left : BATCH;
        for (uint64_t i = 0; i < count; i++)
            uv_timer_start(&timers[i], on_timer, delay_ms(&random, 1000, 60000), 0);
        for (uint64_t i = 0; i < count; i++)
            check(uv_is_active((uv_handle_t *)&timers[i]) && uv_timer_stop(&timers[i]) == 0,
                  "timer-cancel: every timer was pending");
        uv_run(&loop, UV_RUN_NOWAIT);
        left -= count;
    }
    result->seconds = (double)(uv_hrtime() - start) * 1e-9;
    result->ops = size;
    check(fired == 0, "timer-cancel: none comes");
    close_timers(&loop, timers, BATCH);
}

/* ---- the command ---- */

static const struct {
    const char *name;
    void (*run)(uint64_t size, struct result *result);
} rows[] = {
    {"wake", row_wake},
    {"timer-fire", row_timer_fire},
    {"timer-cancel", row_timer_cancel},
};

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "use: prog ROW SIZE WORKERS\n");
        return 2;
    }
    uint64_t size = strtoull(argv[2], NULL, 10);
    if (size == 0) {
        fprintf(stderr, "SIZE is a number from 1\n");
        return 2;
    }
    unsigned workers = (unsigned)strtoul(argv[3], NULL, 10);
    if (strcmp(argv[1], "tcp-64") == 0)
        serve_echo("tcp", 64, size, workers);
    if (strcmp(argv[1], "tcp-1000") == 0)
        serve_echo("tcp", 1000, size, workers);
    if (strcmp(argv[1], "udp-64") == 0)
        serve_echo("udp", 64, size, workers);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(argv[1], rows[i].name) != 0)
            continue;
        struct result result = {0};
        rows[i].run(size, &result);
        printf("%.9f %llu %.0f\n", result.seconds, (unsigned long long)result.ops, result.amount);
        return 0;
    }
    return 3;
}
