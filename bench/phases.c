/* SPDX-License-Identifier: MIT */
/* A program whose nature changes: the actors of `big` are chatty (together they are fastest), then
 * heavy (a ping costs 20 us, so they should be apart), then chatty again. A thread beside the loop
 * reads every millisecond how many pings were handled. A phase has settled with the first of 5
 * milliseconds in a row that reach 80 % of its steady state: the middle of its second half, or, if
 * that is more, a share of what one worker did in the same process just before. So a layout that
 * stays wrong has never settled. */
#include "chatty.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define HEAVY_US 20u
#define SEED 0x9E3779B97F4A7C15u

#define PHASES 3u
#define PHASE_MS_MAX 1000u
#define REFERENCE_MS 20u
#define HOLDS_MS 5u
#define SAMPLE_NS 1000000u
#define SETTLED_SHARE 0.8

/* The least steady state, as a share of what one worker reaches. */
#define CHATTY_SHARE_MIN 0.7
#define HEAVY_SHARE_MIN 1.5

/* The state of an actor: what the chatter is, and how many pings it has handled. */
struct member {
    struct chatter chatter;
    _Atomic uint64_t pings; /* written by the actor, read by the sampler: a gauge */
};

struct sample {
    uint64_t ns;
    uint64_t pings;
};

/* The thread that samples: it reads the gauges and says what phase it is. */
struct sampler {
    unsigned phases;
    unsigned phase_ms;
    struct sample samples[PHASES * PHASE_MS_MAX + 1];
};

struct phase {
    double settled_ms;
    double steady; /* pings a millisecond */
};

static struct member members[CHAT_ACTORS];
static jzx_actor_id ids[CHAT_ACTORS];
static uint64_t heavy_result;

/* Told by the sampler; nothing is published by them. */
static BENCH_APART atomic_bool is_heavy;
static atomic_bool is_over;

/* ---- the actors ---- */

static jzx_behavior_result pulse(jzx_context *ctx, const jzx_message *msg) {
    struct member *self = ctx->state;
    if (msg->tag == CHAT_PING) {
        if (atomic_load_explicit(&is_heavy, memory_order_relaxed))
            BENCH_CHECK_EQUAL(bench_compute(SEED, HEAVY_US), heavy_result);
        uint64_t pings = atomic_load_explicit(&self->pings, memory_order_relaxed);
        atomic_store_explicit(&self->pings, pings + 1, memory_order_relaxed);
    }
    if (atomic_load_explicit(&is_over, memory_order_relaxed))
        self->chatter.left = 0;
    return chat(ctx, msg);
}

/* ---- the sampler ---- */

static struct sample sample_now(void) {
    struct sample sample = {.ns = bench_now_ns()};
    for (unsigned i = 0; i < CHAT_ACTORS; i++)
        sample.pings += atomic_load_explicit(&members[i].pings, memory_order_relaxed);
    return sample;
}

static void sleep_until(uint64_t ns) {
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {
    }
}

static void *sample_all(void *arg) {
    struct sampler *self = arg;
    unsigned count = self->phases * self->phase_ms;
    self->samples[0] = sample_now();
    for (unsigned i = 1; i <= count; i++) {
        sleep_until(self->samples[i - 1].ns + SAMPLE_NS);
        self->samples[i] = sample_now();
        if (i % self->phase_ms == 0 && i != count)
            atomic_store_explicit(&is_heavy, i / self->phase_ms % 2 == 1, memory_order_relaxed);
    }
    atomic_store_explicit(&is_over, true, memory_order_relaxed);
    return NULL;
}

/* Runs the actors on a loop that is new, and samples them. */
static void run_sampled(jzx_loop *loop, struct sampler *sampler) {
    struct bench_judge judge = {.missing = CHAT_ACTORS};
    jzx_actor_id judge_id = bench_spawn(loop, bench_await, &judge);
    atomic_store(&is_heavy, false);
    atomic_store(&is_over, false);
    for (unsigned i = 0; i < CHAT_ACTORS; i++) {
        members[i].chatter = chat_member(ids, i, UINT64_MAX, judge_id);
        atomic_store(&members[i].pings, 0);
        ids[i] = bench_spawn(loop, pulse, &members[i]);
    }
    pthread_t thread;
    BENCH_CHECK(pthread_create(&thread, NULL, sample_all, sampler) == 0);
    for (unsigned i = 0; i < CHAT_ACTORS; i++)
        bench_start(loop, ids[i], CHAT_START, 0);
    bench_run_to_end(loop);
    BENCH_CHECK(pthread_join(thread, NULL) == 0);
    uint64_t pings = 0;
    uint64_t answered = 0;
    for (unsigned i = 0; i < CHAT_ACTORS; i++) {
        pings += atomic_load(&members[i].pings);
        answered += members[i].chatter.answered;
    }
    BENCH_CHECK_EQUAL(answered, pings);
    BENCH_CHECK_EQUAL(judge.missing, 0);
}

/* ---- what came of it ---- */

/* Pings a millisecond, in each millisecond of a phase. */
static void rates_of(const struct sampler *sampler, unsigned phase, double *rates) {
    const struct sample *first = &sampler->samples[phase * sampler->phase_ms];
    for (unsigned i = 0; i < sampler->phase_ms; i++)
        rates[i] = (double)(first[i + 1].pings - first[i].pings) /
                   ((double)(first[i + 1].ns - first[i].ns) * 1e-6);
}

static double steady_rate(const double *rates, unsigned count) {
    double half[PHASE_MS_MAX];
    unsigned half_count = count - count / 2;
    memcpy(half, rates + count / 2, half_count * sizeof half[0]);
    bench_sort(half, half_count);
    return half[half_count / 2];
}

static struct phase phase_of(const struct sampler *sampler, unsigned phase, double steady_min) {
    double rates[PHASE_MS_MAX];
    rates_of(sampler, phase, rates);
    double steady = steady_rate(rates, sampler->phase_ms);
    double wanted = SETTLED_SHARE * (steady > steady_min ? steady : steady_min);
    const struct sample *first = &sampler->samples[phase * sampler->phase_ms];
    unsigned settled = 0;
    unsigned in_a_row = 0;
    for (unsigned i = 0; i < sampler->phase_ms && in_a_row < HOLDS_MS; i++) {
        in_a_row = rates[i] >= wanted ? in_a_row + 1 : 0;
        if (in_a_row == 0)
            settled = i + 1;
    }
    return (struct phase){.settled_ms = (double)(first[settled].ns - first[0].ns) * 1e-6,
                          .steady = steady};
}

/* Pings a millisecond in all of the second half of a phase. */
static double mean_rate(const struct sampler *sampler, unsigned phase) {
    const struct sample *end = &sampler->samples[(phase + 1) * sampler->phase_ms];
    const struct sample *middle = end - sampler->phase_ms / 2;
    BENCH_CHECK(end->pings > middle->pings);
    return (double)(end->pings - middle->pings) / ((double)(end->ns - middle->ns) * 1e-6);
}

/* What one worker reaches in a chatty and a heavy phase. */
static void reference(double *chatty, double *heavy) {
    static struct sampler sampler = {.phases = 2, .phase_ms = REFERENCE_MS};
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1));
    BENCH_CHECK(loop != NULL);
    run_sampled(loop, &sampler);
    BENCH_CHECK(jzx_loop_destroy(loop) == JZX_OK);
    *chatty = mean_rate(&sampler, 0);
    *heavy = mean_rate(&sampler, 1);
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static struct sampler sampler;
    BENCH_CHECK(size <= PHASE_MS_MAX);
    heavy_result = bench_compute(SEED, HEAVY_US);
    double chatty;
    double heavy;
    reference(&chatty, &heavy);
    sampler.phases = PHASES;
    sampler.phase_ms = (unsigned)size;
    run_sampled(loop, &sampler);
    double worst_ms = 0; /* of the changes; the start is none */
    for (unsigned i = 0; i < PHASES; i++) {
        double one_worker = i % 2 == 0 ? chatty : heavy;
        double share_min = i % 2 == 0 ? CHATTY_SHARE_MIN : HEAVY_SHARE_MIN;
        struct phase phase = phase_of(&sampler, i, bench_cpus() > 1 ? share_min * one_worker : 0);
        run->notes[i] = phase.settled_ms;
        run->notes[PHASES + i] = phase.steady / one_worker;
        if (i > 0 && phase.settled_ms > worst_ms)
            worst_ms = phase.settled_ms;
    }
    run->seconds = worst_ms * 1e-3;
    run->ops = 1;
}

static const char *const notes[] = {
    "start_ms",         "heavy_ms",          "chatty_ms", "start_x_1_worker",
    "heavy_x_1_worker", "chatty_x_1_worker", NULL};

const struct bench bench_phases = {
    .name = "phases",
    .op = "worst of 2 changes, until settled",
    .checked = "pings answered, results",
    .batch = "1",
    .notes = notes,
    .kind = BENCH_SEVERAL,
    .run = run,
    .size = 100,
    .size_min = 30,
    .foreign_threads = 1,
    .payload = 8,
    .aim = 10e6,
};
