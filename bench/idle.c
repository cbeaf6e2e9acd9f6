/* SPDX-License-Identifier: MIT */
/* A loop that has nothing to do: 1000 idle actors, and how often any thread of the process gets or
 * gives up a CPU in 300 ms. Each may have a timer that is an hour away. */
#include "bench.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define QUIET_US 300000u
#define POLL_US 1000u
#define POLLS_MAX 5000u
#define SETTLE_US 20000u

struct watcher {
    jzx_loop *loop;
    uint64_t actors;
    uint64_t switches;
    unsigned threads;
};

static jzx_behavior_result idle(jzx_context *ctx, const jzx_message *msg) {
    uint64_t *sum = ctx->state;
    *sum = bench_value(msg);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result idle_for_an_hour(jzx_context *ctx, const jzx_message *msg) {
    BENCH_CHECK(jzx_send_after(ctx->loop, ctx->self, ctx->self, msg->data, msg->len, 0,
                               JZX_SECOND(3600), NULL) == JZX_OK);
    return idle(ctx, msg);
}

static uint64_t switches_of(const char *tid) {
    char path[64];
    char line[128];
    unsigned long long switches = 0;
    unsigned found = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", tid);
    FILE *file = fopen(path, "r");
    BENCH_CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long long count;
        if (sscanf(line, "voluntary_ctxt_switches: %llu", &count) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %llu", &count) == 1) {
            switches += count;
            found++;
        }
    }
    fclose(file);
    BENCH_CHECK_EQUAL(found, 2);
    return switches;
}

/* Of all threads but this one. */
static uint64_t switches_of_others(unsigned *threads) {
    DIR *tasks = opendir("/proc/self/task");
    BENCH_CHECK(tasks != NULL);
    char self[24];
    snprintf(self, sizeof self, "%ld", (long)gettid());
    uint64_t switches = 0;
    *threads = 0;
    for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        if (task->d_name[0] == '.' || strcmp(task->d_name, self) == 0)
            continue;
        switches += switches_of(task->d_name);
        ++*threads;
    }
    closedir(tasks);
    return switches;
}

static bool all_sleep(jzx_loop *loop, uint64_t actors) {
    if (bench_stats(loop).handled != actors)
        return false;
    for (uint32_t i = 0; i < jzx_loop_workers(loop); i++) {
        jzx_worker_stats stats = {.size = sizeof stats};
        BENCH_CHECK(jzx_loop_worker_stats(loop, i, &stats) == JZX_OK);
        if (!stats.is_parked)
            return false;
    }
    return true;
}

static void *watch(void *arg) {
    struct watcher *self = arg;
    unsigned polls = 0;
    while (!all_sleep(self->loop, self->actors)) {
        if (++polls > POLLS_MAX)
            bench_fail("idle: the workers do not all sleep");
        usleep(POLL_US);
    }
    usleep(SETTLE_US);
    uint64_t before = switches_of_others(&self->threads);
    usleep(QUIET_US);
    unsigned threads;
    self->switches = switches_of_others(&threads) - before;
    BENCH_CHECK_EQUAL(threads, self->threads);
    BENCH_CHECK(jzx_loop_request_stop(self->loop) == JZX_OK);
    return NULL;
}

static void watch_idle(jzx_loop *loop, jzx_behavior_fn behavior, uint64_t size,
                       struct bench_run *run) {
    uint64_t *sums = calloc(size, sizeof *sums);
    BENCH_CHECK(sums != NULL);
    for (uint64_t i = 0; i < size; i++)
        bench_start(loop, bench_spawn(loop, behavior, &sums[i]), 0, i);
    struct watcher watcher = {.loop = loop, .actors = size};
    pthread_t thread;
    double start = bench_now();
    BENCH_CHECK(pthread_create(&thread, NULL, watch, &watcher) == 0);
    bench_run_to_end(loop);
    BENCH_CHECK(pthread_join(thread, NULL) == 0);
    run->seconds = bench_now() - start;
    run->ops = 1;
    run->amount = (double)watcher.switches;
    run->notes[0] = watcher.threads;
    for (uint64_t i = 0; i < size; i++)
        BENCH_CHECK_EQUAL(sums[i], i);
    BENCH_CHECK(watcher.threads >= jzx_loop_workers(loop));
    free(sums);
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *figures) {
    watch_idle(loop, idle, size, figures);
}

static void run_timers(jzx_loop *loop, uint64_t size, struct bench_run *figures) {
    watch_idle(loop, idle_for_an_hour, size, figures);
    BENCH_CHECK_EQUAL(bench_stats(loop).timers_set, size);
    BENCH_CHECK_EQUAL(bench_stats(loop).timers_fired, 0);
}

static const char *const notes[] = {"threads", NULL};

const struct bench bench_idle = {
    .name = "idle",
    .op = "300 ms with 1000 idle actors",
    .checked = "messages handled, threads alive",
    .batch = "1",
    .notes = notes,
    .kind = BENCH_SEVERAL,
    .run = run,
    .size = 1000,
    .size_min = 10,
    .foreign_threads = 1,
    .payload = 8,
    .unit = BENCH_SWITCHES,
    .aim = 0,
};

const struct bench bench_timer_idle = {
    .name = "timer-idle",
    .op = "300 ms with 1000 timers that are an hour away",
    .checked = "timers set, none fired, threads alive",
    .batch = "1",
    .notes = notes,
    .kind = BENCH_ONE,
    .run = run_timers,
    .size = 1000,
    .size_min = 10,
    .foreign_threads = 1,
    .payload = 8,
    .unit = BENCH_SWITCHES,
    .aim = 0,
};
