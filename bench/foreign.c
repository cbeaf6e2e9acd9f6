/* SPDX-License-Identifier: MIT */
/* Sends from threads that are not the loop's, to one actor, until all are handled. The loop's
 * thread stays on its CPU, the others on the rest. A thread that meets a full mailbox yields and
 * tries again. */
#include "bench.h"

#include <pthread.h>
#include <sched.h>

#define THREADS_MAX 2u

struct sender {
    pthread_t thread;
    jzx_loop *loop;
    jzx_actor_id to;
    uint64_t left;
    int loop_cpu;
    pthread_barrier_t *start;
};

struct receiver {
    uint64_t sum;
    uint64_t expected;
};

static jzx_behavior_result receive(jzx_context *ctx, const jzx_message *msg) {
    struct receiver *self = ctx->state;
    self->sum += bench_value(msg);
    return self->sum == self->expected ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void *send_all(void *arg) {
    struct sender *self = arg;
    uint64_t one = 1;
    bench_leave_cpu(self->loop_cpu);
    pthread_barrier_wait(self->start);
    while (self->left != 0) {
        jzx_err err = jzx_send_async(self->loop, self->to, &one, sizeof one, 0);
        if (err == JZX_OK) {
            self->left--;
        } else {
            BENCH_CHECK(err == JZX_ERR_MAILBOX_FULL);
            sched_yield();
        }
    }
    return NULL;
}

static void run_with(jzx_loop *loop, uint64_t size, unsigned thread_count, struct bench_run *run) {
    struct sender senders[THREADS_MAX];
    struct receiver receiver = {.expected = size / thread_count * thread_count};
    jzx_actor_id id = bench_spawn(loop, receive, &receiver);
    pthread_barrier_t start_line;
    BENCH_CHECK(pthread_barrier_init(&start_line, NULL, thread_count + 1) == 0);
    for (unsigned i = 0; i < thread_count; i++) {
        senders[i] = (struct sender){.loop = loop,
                                     .to = id,
                                     .left = size / thread_count,
                                     .loop_cpu = sched_getcpu(),
                                     .start = &start_line};
        BENCH_CHECK(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]) == 0);
    }
    pthread_barrier_wait(&start_line);
    double start = bench_now();
    BENCH_CHECK(jzx_loop_run(loop) == JZX_OK);
    run->seconds = bench_now() - start;
    run->ops = receiver.expected;
    for (unsigned i = 0; i < thread_count; i++)
        pthread_join(senders[i].thread, NULL);
    pthread_barrier_destroy(&start_line);
    BENCH_CHECK_EQUAL(receiver.sum, receiver.expected);
    for (unsigned i = 0; i < thread_count; i++)
        BENCH_CHECK_EQUAL(senders[i].left, 0);
}

static void run_1(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_with(loop, size, 1, run);
}

static void run_2(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_with(loop, size, 2, run);
}

const struct bench bench_foreign = {
    .name = "foreign",
    .op = "message, 1 foreign thread",
    .checked = "sum at the receiver",
    .batch = "until full",
    .run = run_1,
    .size = 1000000,
    .foreign_threads = 1,
    .payload = 8,
    .floor_row = "foreign",
    .aim = 100,
};

const struct bench bench_foreign_2 = {
    .name = "foreign-2",
    .op = "message, 2 foreign threads",
    .checked = "sum at the receiver",
    .batch = "until full",
    .run = run_2,
    .size = 1000000,
    .foreign_threads = 2,
    .payload = 8,
    .floor_row = "foreign-2",
    .aim = 100,
};
