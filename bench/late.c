/* SPDX-License-Identifier: MIT */
/* How long ready actors wait behind one that computes for long while another core is idle. A thread
 * beside the loop starts rounds, with a rest in between so that all workers sleep. In a round an
 * actor makes a heavy one ready, and before and after it light ones that are new and so its
 * neighbours; the delay of the round is that of the last of them to run. */
#include "bench.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#define LIGHT 8u
#define REST_US 2000u
#define ROUNDS_MAX 1000u
#define WARM_ROUNDS 10u /* until a heavy actor is known as one */
#define SEED 0x9E3779B97F4A7C15u

/* Threads stay on their cores: the question is what the runtime does, not whether the system wakes
 * a thread on a core that is busy. */
static const jzx_config pinned = {.size = sizeof(jzx_config), .pin_threads = true};

enum { START, WORK, WORKED, LOOK, SEEN, END };

struct heavy {
    BENCH_APART uint32_t us; /* its message takes */
    uint64_t expected;
    bool once; /* it ends after that */
};

struct starter {
    BENCH_APART jzx_actor_id heavy; /* JZX_NOBODY: a new one each time */
    struct heavy *heavy_state;
    unsigned missing; /* answers */
    uint64_t worst_ns;
    sem_t done;
};

struct rounds {
    jzx_loop *loop;
    jzx_actor_id starter_id;
    struct starter *starter;
    unsigned warm;
    unsigned count;
    double delays_us[ROUNDS_MAX];
};

/* ---- the actors ---- */

static jzx_behavior_result labour(jzx_context *ctx, const jzx_message *msg) {
    struct heavy *self = ctx->state;
    if (msg->tag == END)
        return JZX_BEHAVIOR_STOP;
    BENCH_CHECK_EQUAL(bench_compute(SEED, self->us), self->expected);
    bench_send(ctx, msg->sender, WORKED, 0);
    return self->once ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result look(jzx_context *ctx, const jzx_message *msg) {
    bench_send(ctx, msg->sender, SEEN, bench_now_ns() - bench_value(msg));
    return JZX_BEHAVIOR_STOP;
}

static void start_round(jzx_context *ctx, struct starter *self) {
    self->missing = LIGHT + 1;
    self->worst_ns = 0;
    jzx_actor_id heavy = self->heavy;
    if (heavy == JZX_NOBODY)
        heavy = bench_spawn(ctx->loop, labour, self->heavy_state);
    for (unsigned i = 0; i < LIGHT; i++) {
        if (i == LIGHT / 2)
            bench_send(ctx, heavy, WORK, 0);
        bench_send(ctx, bench_spawn(ctx->loop, look, NULL), LOOK, bench_now_ns());
    }
}

static jzx_behavior_result conduct(jzx_context *ctx, const jzx_message *msg) {
    struct starter *self = ctx->state;
    if (msg->tag == START) {
        start_round(ctx, self);
        return JZX_BEHAVIOR_OK;
    }
    if (msg->tag == END)
        return JZX_BEHAVIOR_STOP;
    if (msg->tag == SEEN && bench_value(msg) > self->worst_ns)
        self->worst_ns = bench_value(msg);
    if (--self->missing == 0)
        BENCH_CHECK(sem_post(&self->done) == 0);
    return JZX_BEHAVIOR_OK;
}

/* ---- the thread ---- */

static void *start_rounds(void *arg) {
    struct rounds *self = arg;
    for (unsigned i = 0; i < self->warm + self->count; i++) {
        usleep(REST_US);
        bench_start(self->loop, self->starter_id, START, 0);
        while (sem_wait(&self->starter->done) != 0) {
        }
        if (i >= self->warm)
            self->delays_us[i - self->warm] = (double)self->starter->worst_ns * 1e-3;
    }
    if (self->starter->heavy != JZX_NOBODY)
        bench_start(self->loop, self->starter->heavy, END, 0);
    bench_start(self->loop, self->starter_id, END, 0);
    return NULL;
}

static void run_rounds(jzx_loop *loop, bool known, uint32_t us, uint64_t count,
                       struct bench_run *run) {
    static struct rounds rounds;
    struct heavy heavy = {.us = us, .expected = bench_compute(SEED, us), .once = !known};
    struct starter starter = {.heavy_state = &heavy};
    BENCH_CHECK(count <= ROUNDS_MAX);
    BENCH_CHECK(sem_init(&starter.done, 0, 0) == 0);
    if (known)
        starter.heavy = bench_spawn(loop, labour, &heavy);
    rounds.loop = loop;
    rounds.starter_id = bench_spawn(loop, conduct, &starter);
    rounds.starter = &starter;
    rounds.warm = known ? WARM_ROUNDS : 0;
    rounds.count = (unsigned)count;
    pthread_t thread;
    BENCH_CHECK(pthread_create(&thread, NULL, start_rounds, &rounds) == 0);
    bench_run_to_end(loop);
    BENCH_CHECK(pthread_join(thread, NULL) == 0);
    sem_destroy(&starter.done);
    BENCH_CHECK_EQUAL(starter.missing, 0);
    BENCH_CHECK_EQUAL(bench_stats(loop).exited,
                      1 + (rounds.warm + count) * LIGHT + (known ? 1 : count));
    bench_sort(rounds.delays_us, rounds.count);
    run->notes[0] = rounds.delays_us[rounds.count / 2];
    run->notes[1] = rounds.delays_us[rounds.count * 9 / 10];
    run->notes[2] = rounds.delays_us[rounds.count - 1];
    run->seconds = run->notes[1] * 1e-6;
    run->ops = 1;
}

static void run_known(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_rounds(loop, true, 1000, size, run);
}

static void run_new(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_rounds(loop, false, 30000, size, run);
}

static const char *const notes[] = {"p50_us", "p90_us", "max_us", NULL};

const struct bench bench_late_known = {
    .name = "late-known",
    .op = "p90 wait behind 1 ms of an actor known as heavy",
    .checked = "answers, exits, results",
    .batch = "9",
    .notes = notes,
    .kind = BENCH_SEVERAL,
    .run = run_known,
    .config = &pinned,
    .size = 50,
    .size_min = 5,
    .foreign_threads = 1,
    .payload = 8,
    .aim = 200e3,
};

const struct bench bench_late_new = {
    .name = "late-new",
    .op = "p90 wait behind 30 ms of a new actor",
    .checked = "answers, exits, results",
    .batch = "9",
    .notes = notes,
    .kind = BENCH_SEVERAL,
    .run = run_new,
    .config = &pinned,
    .size = 10,
    .size_min = 3,
    .foreign_threads = 1,
    .payload = 8,
    .aim = JZX_DEFAULT_STALL_AFTER_NS + 1e6,
};
