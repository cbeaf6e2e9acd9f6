/* SPDX-License-Identifier: MIT */
/* What a request waits for in a program that also computes. An echo server answers requests that
 * come at a fixed rate, beside hogs: actors that compute for some milliseconds a message, and send
 * the next one to themselves. And a server whose requests compute themselves. */
#include "client.h"
#include "tcp_server.h"

#define CONNECTIONS 64u
#define HOGS_MAX 4u
#define SERVER_US 200u
#define SEED 0x9E3779B97F4A7C15u

/* Work of one message or request, and what comes out of it: the same for all of a run. */
static struct {
    uint32_t steps;
    uint64_t result;
} job;

static void prepare_job(uint32_t us) {
    job.steps = us * bench_steps_per_us();
    job.result = bench_work(SEED, job.steps);
}

static void do_job(void) {
    BENCH_CHECK_EQUAL(bench_work(SEED, job.steps), job.result);
}

/* ---- latency-none, -1x5ms, -1x50ms, -4x5ms ---- */

struct hog {
    BENCH_APART uint64_t turns;
};

/* It goes on until the server stops the loop, perhaps in the midst of this on another worker. */
static jzx_behavior_result hog(jzx_context *ctx, const jzx_message *msg) {
    struct hog *self = ctx->state;
    self->turns++;
    do_job();
    jzx_err err = jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, msg->tag);
    BENCH_CHECK(err == JZX_OK || err == JZX_ERR_LOOP_CLOSED);
    return JZX_BEHAVIOR_OK;
}

/* The share of one CPU that all hogs had, in percent. */
static double hog_percent(const struct hog *hogs, unsigned count, uint32_t us, double seconds) {
    double turns = 0;
    for (unsigned i = 0; i < count; i++) {
        BENCH_CHECK(hogs[i].turns > 0);
        turns += (double)hogs[i].turns;
    }
    return turns * us * 1e-6 / seconds * 100;
}

static void run_hogs(jzx_loop *loop, unsigned count, uint32_t us, uint64_t size,
                     struct bench_run *run) {
    static struct hog hogs[HOGS_MAX];
    struct tcp_server server = {.behavior = tcp_echo, .ends_all = true};
    prepare_job(us);
    client_prepare("rate", CONNECTIONS, size);
    for (unsigned i = 0; i < count; i++)
        bench_start(loop, bench_spawn(loop, hog, &hogs[i]), 0, 0);
    tcp_serve(loop, &server);
    double start = bench_now();
    bench_run_to_end(loop);
    double seconds = bench_now() - start;
    client_report(run);
    run->notes[3] = hog_percent(hogs, count, us, seconds);
}

static void run_none(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_hogs(loop, 0, 1, size, run);
}

static void run_1x5ms(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_hogs(loop, 1, 5000, size, run);
}

static void run_1x50ms(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_hogs(loop, 1, 50000, size, run);
}

static void run_4x5ms(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_hogs(loop, 4, 5000, size, run);
}

/* ---- latency-server ---- */

static jzx_behavior_result echo_after_job(jzx_context *ctx, const jzx_message *msg) {
    const jzx_stream_event *event = msg->data;
    if (msg->tag == TCP_DATA && event->kind == JZX_STREAM_DATA)
        do_job();
    return tcp_echo(ctx, msg);
}

static void run_server(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct tcp_server server = {.behavior = echo_after_job};
    prepare_job(SERVER_US);
    client_prepare("wall", CONNECTIONS, size);
    tcp_serve(loop, &server);
    bench_run_to_end(loop);
    client_report(run);
}

static uint64_t jobs_apart;

static uint64_t do_jobs(unsigned index) {
    (void)index;
    for (uint64_t i = 0; i < jobs_apart; i++)
        do_job();
    return jobs_apart;
}

/* The same computing without a server. */
static void run_server_apart(jzx_loop *unused, uint64_t size, struct bench_run *run) {
    unsigned count = jzx_loop_workers(unused);
    prepare_job(SERVER_US);
    jobs_apart = size / count;
    bench_run_apart(count, do_jobs, run);
}

/* ---- rows ---- */

/* p99 is the figure itself. late_us is the client's own doing: see peers/client/rate.c. */
static const char *const hog_notes[] = {"p50_us", "p999_us", "late_us", "hogs_percent", NULL};

#define HOG_ROW(symbol, label, text, function)                                                     \
    const struct bench symbol = {                                                                  \
        .name = label,                                                                             \
        .op = "p99 of an echo, 2,000 a second on 64 connections, " text,                           \
        .checked = "every byte, every result of a hog",                                            \
        .batch = "1",                                                                              \
        .notes = hog_notes,                                                                        \
        .kind = BENCH_BOTH,                                                                        \
        .if_named = true,                                                                          \
        .run = function,                                                                           \
        .size = 4000,                                                                              \
        .size_min = 400,                                                                           \
        .foreign_threads = 1,                                                                      \
        .payload = 64,                                                                             \
        .run_seconds = 2.9,                                                                        \
        .pairs_max = 9,                                                                            \
        .peers = "erlang go tokio",                                                                \
        .has_client = true,                                                                        \
        .unit = BENCH_US,                                                                          \
        .aim = -1,                                                                                 \
    }

HOG_ROW(bench_latency_none, "latency-none", "nothing beside it", run_none);
HOG_ROW(bench_latency_1x5ms, "latency-1x5ms", "beside 1 hog of 5 ms", run_1x5ms);
HOG_ROW(bench_latency_1x50ms, "latency-1x50ms", "beside 1 hog of 50 ms", run_1x50ms);
HOG_ROW(bench_latency_4x5ms, "latency-4x5ms", "beside 4 hogs of 5 ms", run_4x5ms);

const struct bench bench_latency_server = {
    .name = "latency-server",
    .op = "requests of 200 us, 64 connections",
    .checked = "every byte, every result",
    .batch = "1",
    .notes = client_notes,
    .kind = BENCH_BOTH,
    .if_named = true,
    .run = run_server,
    .apart = run_server_apart,
    .size = 6000,
    .size_min = 200,
    .foreign_threads = 1,
    .payload = 64,
    .run_seconds = 1.6,
    .pairs_max = 9,
    .peers = "erlang go tokio",
    .has_client = true,
    .unit = BENCH_PER_S,
    .aim = -1,
    .speedup_min = 1.7,
};
