/* SPDX-License-Identifier: MIT */
/* How long an actor waits where one worker computes and the other is idle. An actor computes 30 ms
 * a message, again and again. In each of these turns a thread beside the loop makes another actor
 * ready, a new one or an old one, and takes the time until it runs. It does so in the first 8 ms of
 * the turn: after 10 ms the watchdog has given the worker to another thread, and nobody waits. */
#include "bench.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#define COMPUTES_US 30000u
#define FIRST_US 8000u /* of a turn */
#define STEP_US 3700u  /* from where in one turn to where in the next, round and round */
#define WARM_ROUNDS 5u /* the computing actor is known as one */
#define ROUNDS_MAX 1000u
#define SEED 0x9E3779B97F4A7C15u

enum { GO, LOOK, END };

struct computer {
    uint32_t steps;
    uint64_t result;
    sem_t turns; /* that have begun */
};

struct looker {
    uint64_t ran_ns;
    sem_t ran;
};

struct rounds {
    jzx_loop *loop;
    struct computer computer;
    jzx_actor_id computer_id;
    jzx_actor_id old; /* JZX_NOBODY: each round spawns */
    struct looker looker;
    unsigned count;
    double delays_us[ROUNDS_MAX];
};

/* ---- the actors ---- */

static jzx_behavior_result compute(jzx_context *ctx, const jzx_message *msg) {
    struct computer *self = ctx->state;
    if (msg->tag == END)
        return JZX_BEHAVIOR_STOP;
    BENCH_CHECK(sem_post(&self->turns) == 0);
    BENCH_CHECK_EQUAL(bench_work(SEED, self->steps), self->result);
    bench_send(ctx, ctx->self, GO, 0);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result look(jzx_context *ctx, const jzx_message *msg) {
    struct looker *self = ctx->state;
    if (msg->tag == END)
        return JZX_BEHAVIOR_STOP;
    self->ran_ns = bench_now_ns();
    BENCH_CHECK(sem_post(&self->ran) == 0);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result look_once(jzx_context *ctx, const jzx_message *msg) {
    (void)look(ctx, msg);
    return JZX_BEHAVIOR_STOP;
}

/* ---- the thread ---- */

static void await(sem_t *sem) {
    while (sem_wait(sem) != 0) {
    }
}

/* Until so far into a turn that has not begun yet. */
static void sleep_into_turn(struct rounds *self, uint32_t us) {
    const struct timespec pause = {.tv_nsec = (long)us * 1000};
    while (sem_trywait(&self->computer.turns) == 0) {
    }
    await(&self->computer.turns);
    BENCH_CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL) == 0);
}

static double run_round(struct rounds *self) {
    uint64_t start_ns = bench_now_ns();
    jzx_actor_id to = self->old;
    if (to == JZX_NOBODY)
        to = bench_spawn(self->loop, look_once, &self->looker);
    bench_start(self->loop, to, LOOK, 0);
    await(&self->looker.ran);
    return (double)(self->looker.ran_ns - start_ns) * 1e-3;
}

static void *run_rounds(void *arg) {
    struct rounds *self = arg;
    for (unsigned i = 0; i < WARM_ROUNDS + self->count; i++) {
        sleep_into_turn(self, i * STEP_US % FIRST_US);
        double us = run_round(self);
        if (i >= WARM_ROUNDS)
            self->delays_us[i - WARM_ROUNDS] = us;
    }
    bench_start(self->loop, self->computer_id, END, 0);
    if (self->old != JZX_NOBODY)
        bench_start(self->loop, self->old, END, 0);
    return NULL;
}

static void begin(struct rounds *self, bool is_old) {
    self->computer.steps = COMPUTES_US * bench_steps_per_us();
    self->computer.result = bench_work(SEED, self->computer.steps);
    BENCH_CHECK(sem_init(&self->computer.turns, 0, 0) == 0);
    BENCH_CHECK(sem_init(&self->looker.ran, 0, 0) == 0);
    self->computer_id = bench_spawn(self->loop, compute, &self->computer);
    self->old = is_old ? bench_spawn(self->loop, look, &self->looker) : JZX_NOBODY;
    bench_start(self->loop, self->computer_id, GO, 0);
}

static void run_actors(jzx_loop *loop, bool is_old, uint64_t size, struct bench_run *run) {
    static struct rounds rounds;
    pthread_t thread;
    BENCH_CHECK(size <= ROUNDS_MAX);
    rounds.loop = loop;
    rounds.count = (unsigned)size;
    begin(&rounds, is_old);
    double start = bench_now();
    BENCH_CHECK(pthread_create(&thread, NULL, run_rounds, &rounds) == 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK(pthread_join(thread, NULL) == 0);
    sem_destroy(&rounds.looker.ran);
    sem_destroy(&rounds.computer.turns);
    BENCH_CHECK_EQUAL(bench_stats(loop).exited, is_old ? 2 : 1 + WARM_ROUNDS + size);
    bench_sort(rounds.delays_us, rounds.count);
    run->amount = rounds.delays_us[rounds.count / 2];
    run->notes[0] = rounds.delays_us[rounds.count * 9 / 10];
    run->notes[1] = rounds.delays_us[rounds.count - 1];
}

static void run_fresh(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_actors(loop, false, size, run);
}

static void run_old(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_actors(loop, true, size, run);
}

static const char *const notes[] = {"p90_us", "max_us", NULL};

#define ACTOR_ROW(symbol, label, text, function, limit_us)                                         \
    const struct bench symbol = {                                                                  \
        .name = label,                                                                             \
        .op = "p50 wait of " text ", begun in the first 8 ms of a turn of 30 ms",                  \
        .checked = "all run, results, exits",                                                      \
        .batch = "1",                                                                              \
        .notes = notes,                                                                            \
        .kind = BENCH_SEVERAL,                                                                     \
        .if_named = true,                                                                          \
        .run = function,                                                                           \
        .size = 60,                                                                                \
        .size_min = 5,                                                                             \
        .foreign_threads = 1,                                                                      \
        .payload = 8,                                                                              \
        .run_seconds = 2,                                                                          \
        .pairs_max = 9,                                                                            \
        .peers = "erlang go tokio",                                                                \
        .unit = BENCH_US,                                                                          \
        .aim = limit_us,                                                                           \
    }

ACTOR_ROW(bench_latency_fresh, "latency-fresh", "a new actor", run_fresh, 300);
ACTOR_ROW(bench_latency_old, "latency-old", "an old actor", run_old, 2000);
