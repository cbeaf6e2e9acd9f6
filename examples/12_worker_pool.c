/* SPDX-License-Identifier: MIT */
/* A pool of workers under a supervisor. They join a group when they start, and jobs go to them one
 * after another; who sends a job knows no worker. One job is poisoned: the worker that gets it
 * fails and is started again, with the jobs that waited for it, and the others go on meanwhile.
 *
 * Prints the same every time: with one worker thread, and every message has its place. */
#include <jzx/jzx.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 3, JOBS = 12, POISON = 4 };
enum { JOB = 1, RESULT };

struct job {
    unsigned number;
};

struct result {
    unsigned number;
    unsigned long long value;
    char worker[JZX_NAME_MAX + 1];
};

static void check(jzx_err err) {
    if (err != JZX_OK) {
        fprintf(stderr, "%s\n", jzx_err_text(err));
        exit(1);
    }
}

/* ---- the workers ---- */

/* Every incarnation joins anew: the one that failed has left the group by its end. */
static jzx_err join(jzx_context *ctx) {
    return jzx_group_join(ctx, "pool");
}

static unsigned long long factorial(unsigned n) {
    return n < 2 ? 1 : n * factorial(n - 1);
}

/* Its state is its name. If nobody collects the result any more, the job was for nothing. */
static jzx_behavior_result work(jzx_context *ctx, const jzx_message *msg) {
    const struct job *job = msg->data;
    JZX_CHECK(ctx, job->number != POISON);
    struct result result = {.number = job->number, .value = factorial(job->number)};
    snprintf(result.worker, sizeof result.worker, "%s", (const char *)ctx->state);
    (void)jzx_send_named(ctx->loop, "collector", ctx->self, &result, sizeof result, RESULT);
    return JZX_BEHAVIOR_OK;
}

/* ---- the collector: stops when all results are there, but the one that never comes ---- */

struct collector {
    unsigned count;
    struct result results[JOBS];
};

static jzx_behavior_result collect(jzx_context *ctx, const jzx_message *msg) {
    struct collector *self = ctx->state;
    const struct result *result = msg->data;
    self->results[result->number] = *result;
    return ++self->count == JOBS - 1 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void print(const struct collector *collector) {
    for (unsigned i = 0; i < JOBS; i++) {
        const struct result *result = &collector->results[i];
        if (result->value != 0)
            printf("%2u! = %llu, says %s\n", i, result->value, result->worker);
        else
            printf("%2u! was poisoned\n", i);
    }
}

static void report(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_ACTOR_RESTART)
        printf("%s has failed, and is started again\n", event->name);
}

int main(void) {
    static char names[WORKERS][8] = {"Ada", "Bea", "Cem"};
    struct collector collector = {.count = 0};
    jzx_child_spec children[WORKERS];
    jzx_actor_id supervisor;
    jzx_actor_id id;
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .log.level = JZX_LOG_OFF));
    if (loop == NULL)
        return 1;
    check(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = report), NULL));
    for (int i = 0; i < WORKERS; i++)
        children[i] = (jzx_child_spec){.name = names[i],
                                       .behavior = work,
                                       .init = join,
                                       .state = names[i],
                                       .keep_mailbox = true};
    check(jzx_spawn_supervisor(loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(children)), &supervisor));
    check(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = collect, .state = &collector), &id));
    check(jzx_register(loop, "collector", id));
    check(jzx_loop_step(loop, JZX_NEVER)); /* all have joined */

    for (struct job job = {0}; job.number < JOBS; job.number++)
        check(jzx_route(loop, "pool", JZX_ROUTE_ROUND_ROBIN, 0, JZX_NOBODY, &job, sizeof job, JOB));
    check(jzx_loop_step(loop, JZX_NEVER)); /* all jobs are done */
    check(jzx_actor_stop(loop, supervisor, JZX_STOP_AFTER_MESSAGE));
    check(jzx_loop_run(loop)); /* returns when no actor is left: the collector has them all */
    print(&collector);
    check(jzx_loop_destroy(loop));
    return 0;
}
