/* SPDX-License-Identifier: MIT */
/* The actors of `big` and those of `tasks` in one loop: the chatty ones should have a core for
 * themselves and the tasks the others. Both rows run the same program, which ends with the tasks;
 * each compares one half of it with that half alone on one worker. */
#include "chatty.h"
#include "tasks.h"

#include <stdatomic.h>

/* Knows when the tasks are done, and then waits for the chatty actors. */
struct mixed_judge {
    BENCH_APART uint64_t tasks_missing;
    uint64_t chatty_missing;
    double tasks_done; /* when */
};

static struct chatter chatters[CHAT_ACTORS];
static jzx_actor_id ids[CHAT_ACTORS];
static struct tasker taskers[TASK_ACTORS];

/* Nothing is published by it. */
static BENCH_APART atomic_bool tasks_are_done;

static jzx_behavior_result judge(jzx_context *ctx, const jzx_message *msg) {
    struct mixed_judge *self = ctx->state;
    if (msg->tag == TASK_DONE && --self->tasks_missing == 0) {
        self->tasks_done = bench_now();
        atomic_store_explicit(&tasks_are_done, true, memory_order_relaxed);
    }
    if (msg->tag == CHAT_DONE && --self->chatty_missing == 0)
        bench_finish(ctx);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result chat_on(jzx_context *ctx, const jzx_message *msg) {
    struct chatter *self = ctx->state;
    if (atomic_load_explicit(&tasks_are_done, memory_order_relaxed))
        self->left = 0;
    return chat(ctx, msg);
}

/* Returns the seconds until the tasks were done, and how many messages the others handled: until a
 * moment later, which is not much. */
static double run_both(jzx_loop *loop, uint64_t tasks, uint64_t *messages) {
    struct mixed_judge state = {.tasks_missing = TASK_ACTORS, .chatty_missing = CHAT_ACTORS};
    jzx_actor_id judge_id = bench_spawn(loop, judge, &state);
    atomic_store(&tasks_are_done, false);
    for (unsigned i = 0; i < CHAT_ACTORS; i++) {
        chatters[i] = chat_member(ids, i, UINT64_MAX, judge_id);
        ids[i] = bench_spawn(loop, chat_on, &chatters[i]);
    }
    double start = bench_now();
    for (unsigned i = 0; i < CHAT_ACTORS; i++)
        bench_start(loop, ids[i], CHAT_START, 0);
    task_start(loop, taskers, tasks, judge_id);
    bench_run_to_end(loop);
    task_check(taskers, tasks);
    *messages = 0;
    for (unsigned i = 0; i < CHAT_ACTORS; i++) {
        BENCH_CHECK(chatters[i].answered > 0);
        *messages += 2 * chatters[i].answered;
    }
    BENCH_CHECK_EQUAL(state.chatty_missing, 0);
    return state.tasks_done - start;
}

static void run_tasks(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    uint64_t messages;
    run->seconds = run_both(loop, size, &messages);
    run->ops = TASK_ACTORS * size;
}

static void run_chatty(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run->seconds = run_both(loop, size, &run->ops);
}

static void run_chatty_alone(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    (void)size;
    bench_big.run(loop, bench_big.size, run);
}

const struct bench bench_mixed_tasks = {
    .name = "mixed-tasks",
    .op = "task of 5 us beside chatty actors; alone on one worker",
    .checked = "results of each actor, pings answered",
    .batch = "1",
    .kind = BENCH_WORKERS,
    .run = run_tasks,
    .alone = task_run,
    .size = 300,
    .payload = 8,
    .aim = -1,
    .ratio_limit = 1 / 0.9,
};

const struct bench bench_mixed_chatty = {
    .name = "mixed-chatty",
    .op = "message beside tasks of 5 us; alone on one worker",
    .checked = "results of each actor, pings answered",
    .batch = "1",
    .kind = BENCH_WORKERS,
    .run = run_chatty,
    .alone = run_chatty_alone,
    .size = 300,
    .payload = 8,
    .aim = -1,
    .ratio_limit = 1.3,
};
