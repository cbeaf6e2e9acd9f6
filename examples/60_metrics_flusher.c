/* SPDX-License-Identifier: MIT */
/* A metrics flusher: counters are flushed every 100 ms, at a fixed rate. A flush that takes too
 * long makes the flusher miss runs; it gets one message that says how many, and flushes once. A
 * flusher that misses more than its backlog allows is cancelled, and the observer hears of it. On
 * a clock that the program moves, all this takes no time. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { FLUSH = 1 };

struct flusher {
    jzx_clock *clock;
    unsigned flushes;
    unsigned runs;
};

static jzx_behavior_result flush(jzx_context *ctx, const jzx_message *msg) {
    struct flusher *self = ctx->state;
    const jzx_batch *batch = jzx_schedule_batch(ctx);
    (void)msg;
    self->flushes++;
    self->runs += batch->runs;
    printf("%4llu ms: flush %u, for %u run%s, %u missed\n",
           (unsigned long long)(jzx_loop_now(ctx->loop) / JZX_MS(1)), self->flushes, batch->runs,
           batch->runs == 1 ? "" : "s", batch->missed_runs);
    if (self->flushes == 3)
        jzx_clock_advance(self->clock, JZX_MS(250)); /* a disk that is slow */
    if (self->flushes == 6)
        jzx_clock_advance(self->clock, JZX_MS(900)); /* and one that is too slow */
    return JZX_BEHAVIOR_OK;
}

static void hear(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_SCHEDULE &&
        event->schedule->kind == JZX_SCHEDULE_EVENT_BACKLOG_EXCEEDED)
        printf("job %llu is cancelled: %llu runs were missed\n",
               (unsigned long long)event->schedule->job,
               (unsigned long long)event->schedule->value);
}

int main(void) {
    struct flusher flusher = {.clock = jzx_clock_manual(0)};
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .clock = flusher.clock));
    jzx_actor_id id;
    jzx_job_id job;
    jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = hear), NULL);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = flush, .state = &flusher), &id);
    jzx_schedule_at_fixed_rate_with_options(loop, JZX_MS(100), JZX_MS(100), id, JZX_NOBODY, NULL, 0,
                                            FLUSH, &JZX_SCHEDULE_OPTS(.backlog_limit = 4), &job);
    while (jzx_job_state(loop, job) == JZX_JOB_SCHEDULED) {
        jzx_clock_advance(flusher.clock, JZX_MS(10));
        jzx_loop_step(loop, JZX_NEVER);
    }
    printf("%u flushes for %u runs\n", flusher.flushes, flusher.runs);
    bool as_expected = flusher.flushes == 6 && flusher.runs == 7 && jzx_job_is_cancelled(loop, job);
    jzx_loop_destroy(loop);
    jzx_clock_free(flusher.clock);
    return as_expected ? 0 : 1;
}
