/* SPDX-License-Identifier: MIT */
/* Scheduling, cancelling, and what a handler sees of its job. */
#include "schedule/jobs.h"

#include "actor/mailbox.h"
#include "actor/own.h"
#include "base/sized.h"
#include "schedule/core/admit.h"
#include "schedule/core/life.h"
#include "schedule/driver.h"
#include "schedule/item.h"
#include "schedule/make.h"
#include "schedule/owner.h"
#include "schedule/runner.h"

/* The library's own jobs: a subsystem that no configuration can name. */
#define SUBSYSTEM_OF_WAKES UINT32_MAX

/* ---- one call ---- */

/* What is asked for, in one piece. */
struct call {
    jzx_job_mode mode;
    int64_t delay_ns;
    int64_t period_ns;
    struct jzx__item_spec spec;
    const jzx_schedule_opts *opts;
};

static jzx_err error_of(enum jzx__schedule_status status) {
    switch (status) {
    case JZX__SCHEDULE_OK: return JZX_OK;
    case JZX__SCHEDULE_INVALID_DELAY: return JZX_ERR_INVALID_DELAY;
    case JZX__SCHEDULE_INVALID_ARG: return JZX_ERR_INVALID_ARG;
    case JZX__SCHEDULE_UNSUPPORTED_MODE: return JZX_ERR_UNSUPPORTED;
    case JZX__SCHEDULE_CAPACITY_EXCEEDED: return JZX_ERR_CAPACITY_EXCEEDED;
    case JZX__SCHEDULE_QUOTA_EXCEEDED: return JZX_ERR_QUOTA_EXCEEDED;
    case JZX__SCHEDULE_BACKPRESSURED: return JZX_ERR_BACKPRESSURED;
    case JZX__SCHEDULE_SHUTDOWN: return JZX_ERR_SHUTDOWN;
    case JZX__SCHEDULE_TASK_RUN_CAPACITY_EXCEEDED: return JZX_ERR_FULL;
    }
    return JZX_ERR_UNKNOWN;
}

static bool is_valid(const struct jzx__item_spec *spec) {
    return (spec->data != NULL || spec->len == 0) && spec->len <= JZX_MSG_LEN_MAX &&
           spec->tag < JZX_TAG_RESERVED;
}

/* False if the options name what is not there. */
static bool read_options(const struct jzx__scheduler *scheduler, const jzx_schedule_opts *opts,
                         struct jzx__schedule_request *request) {
    const struct jzx__settings *settings = &scheduler->settings;
    uint32_t dispatcher = opts->dispatcher == NULL
                              ? jzx__runner_current(scheduler)
                              : jzx__settings_dispatcher(settings, opts->dispatcher);
    uint32_t subsystem =
        opts->subsystem == NULL ? 0 : jzx__settings_subsystem(settings, opts->subsystem);
    if (dispatcher == UINT32_MAX || subsystem == UINT32_MAX ||
        (unsigned)opts->priority > JZX_JOB_PRIORITY_HIGH)
        return false;
    request->executor = dispatcher;
    request->affinity = opts->subsystem != NULL
                            ? (struct jzx__affinity){JZX__AFFINITY_SUBSYSTEM, subsystem}
                            : (struct jzx__affinity){JZX__AFFINITY_DISPATCHER, dispatcher};
    request->policy = (struct jzx__policy){(enum jzx__job_priority)opts->priority,
                                           opts->backlog_limit, opts->burst_threshold};
    request->skips_missed = opts->skip_missed;
    return true;
}

/* The receiver is there, or the runner is made. */
static jzx_err find_receiver(struct jzx__scheduler *scheduler, const struct call *call,
                             uint32_t dispatcher) {
    if (call->spec.wake != NULL)
        return JZX_OK;
    if (call->spec.fn != NULL)
        return jzx__runner_ensure(scheduler, dispatcher);
    return jzx__table_lookup(&scheduler->loop->table, call->spec.to) != NULL
               ? JZX_OK
               : JZX_ERR_NO_SUCH_ACTOR;
}

/* Registers the job at once, or leaves it to worker 0 if another thread is the owner now. */
static struct jzx__schedule_result submit(struct jzx__scheduler *scheduler, struct jzx__worker *me,
                                          struct jzx__schedule_request *request) {
    struct jzx__schedule_result result;
    if (jzx__owner_try_acquire(scheduler, me)) {
        request->now_ns = jzx__driver_before_add(scheduler);
        result = jzx__schedule_add(&scheduler->core, request);
        jzx__owner_release(scheduler, jzx__owner_due_of(scheduler, result.job));
    } else {
        result = jzx__schedule_submit(&scheduler->core, request);
        jzx__owner_hand_over(scheduler, me);
    }
    return result;
}

/* In a visit. */
static jzx_err schedule(struct jzx__scheduler *scheduler, struct jzx__worker *me,
                        const struct call *call, jzx_job_id *job) {
    jzx_schedule_opts opts = JZX_SCHEDULE_OPTS();
    struct jzx__schedule_request request = {.mode = (enum jzx__job_mode)call->mode,
                                            .delay_ns = call->delay_ns,
                                            .period_ns = call->period_ns,
                                            .is_function = call->spec.fn != NULL};
    if ((call->opts != NULL && !jzx__read_sized(&opts, sizeof opts, call->opts)) ||
        !read_options(scheduler, &opts, &request))
        return JZX_ERR_INVALID_ARG;
    if (call->spec.wake != NULL)
        request.affinity = (struct jzx__affinity){JZX__AFFINITY_SUBSYSTEM, SUBSYSTEM_OF_WAKES};
    jzx_err err = find_receiver(scheduler, call, request.executor);
    if (err != JZX_OK)
        return err;
    struct jzx__item_spec spec = call->spec;
    spec.metadata = opts.metadata;
    struct jzx__schedule_item *item = jzx__item_create(scheduler, me, &spec);
    if (item == NULL)
        return JZX_ERR_NO_MEMORY;
    request.payload = item;
    struct jzx__schedule_result result = submit(scheduler, me, &request);
    if (result.status != JZX__SCHEDULE_OK)
        jzx__item_destroy(item, me);
    else if (job != NULL)
        *job = result.job;
    return error_of(result.status);
}

static jzx_err schedule_call(jzx_loop *loop, const struct call *call, jzx_job_id *job) {
    if (loop == NULL || !is_valid(&call->spec))
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx__scheduler *scheduler = jzx__scheduler_ensure(loop);
    jzx_err err = scheduler == NULL                     ? JZX_ERR_NO_MEMORY
                  : jzx__sched_is_stopped(&loop->sched) ? JZX_ERR_LOOP_CLOSED
                                                        : schedule(scheduler, me, call, job);
    jzx__visit_end(&visit);
    return err;
}

/* ---- the calls ---- */

jzx_err jzx_schedule_opts_init(jzx_schedule_opts *opts, size_t size) {
    const jzx_schedule_opts full = JZX_SCHEDULE_OPTS();
    return jzx__init_sized(opts, size, &full, sizeof full) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_schedule_once_with_options(jzx_loop *loop, int64_t delay_ns, jzx_actor_id to,
                                       jzx_actor_id from, const void *data, size_t len,
                                       uint32_t tag, const jzx_schedule_opts *opts,
                                       jzx_job_id *job) {
    return schedule_call(
        loop,
        &(struct call){.mode = JZX_JOB_ONE_SHOT,
                       .delay_ns = delay_ns,
                       .spec = {.to = to, .from = from, .data = data, .len = len, .tag = tag},
                       .opts = opts},
        job);
}

jzx_err jzx_schedule_at_fixed_rate_with_options(jzx_loop *loop, int64_t initial_delay_ns,
                                                int64_t interval_ns, jzx_actor_id to,
                                                jzx_actor_id from, const void *data, size_t len,
                                                uint32_t tag, const jzx_schedule_opts *opts,
                                                jzx_job_id *job) {
    return schedule_call(
        loop,
        &(struct call){.mode = JZX_JOB_FIXED_RATE,
                       .delay_ns = initial_delay_ns,
                       .period_ns = interval_ns,
                       .spec = {.to = to, .from = from, .data = data, .len = len, .tag = tag},
                       .opts = opts},
        job);
}

jzx_err jzx_schedule_with_fixed_delay_with_options(jzx_loop *loop, int64_t initial_delay_ns,
                                                   int64_t delay_ns, jzx_actor_id to,
                                                   jzx_actor_id from, const void *data, size_t len,
                                                   uint32_t tag, const jzx_schedule_opts *opts,
                                                   jzx_job_id *job) {
    return schedule_call(
        loop,
        &(struct call){.mode = JZX_JOB_FIXED_DELAY,
                       .delay_ns = initial_delay_ns,
                       .period_ns = delay_ns,
                       .spec = {.to = to, .from = from, .data = data, .len = len, .tag = tag},
                       .opts = opts},
        job);
}

jzx_err jzx_schedule_once(jzx_loop *loop, int64_t delay_ns, jzx_actor_id to, jzx_actor_id from,
                          const void *data, size_t len, uint32_t tag, jzx_job_id *job) {
    return jzx_schedule_once_with_options(loop, delay_ns, to, from, data, len, tag, NULL, job);
}

jzx_err jzx_schedule_at_fixed_rate(jzx_loop *loop, int64_t initial_delay_ns, int64_t interval_ns,
                                   jzx_actor_id to, jzx_actor_id from, const void *data, size_t len,
                                   uint32_t tag, jzx_job_id *job) {
    return jzx_schedule_at_fixed_rate_with_options(loop, initial_delay_ns, interval_ns, to, from,
                                                   data, len, tag, NULL, job);
}

jzx_err jzx_schedule_with_fixed_delay(jzx_loop *loop, int64_t initial_delay_ns, int64_t delay_ns,
                                      jzx_actor_id to, jzx_actor_id from, const void *data,
                                      size_t len, uint32_t tag, jzx_job_id *job) {
    return jzx_schedule_with_fixed_delay_with_options(loop, initial_delay_ns, delay_ns, to, from,
                                                      data, len, tag, NULL, job);
}

/* ---- from the calling actor ---- */

static jzx_loop *loop_of(const jzx_context *ctx) {
    return ctx == NULL ? NULL : ctx->loop;
}

static jzx_actor_id self_of(const jzx_context *ctx) {
    return ctx == NULL ? JZX_NOBODY : ctx->self;
}

jzx_err jzx_schedule_once_by(jzx_context *ctx, int64_t delay_ns, jzx_actor_id to, const void *data,
                             size_t len, uint32_t tag, const jzx_schedule_opts *opts,
                             jzx_job_id *job) {
    return jzx_schedule_once_with_options(loop_of(ctx), delay_ns, to, self_of(ctx), data, len, tag,
                                          opts, job);
}

jzx_err jzx_schedule_at_fixed_rate_by(jzx_context *ctx, int64_t initial_delay_ns,
                                      int64_t interval_ns, jzx_actor_id to, const void *data,
                                      size_t len, uint32_t tag, const jzx_schedule_opts *opts,
                                      jzx_job_id *job) {
    return jzx_schedule_at_fixed_rate_with_options(loop_of(ctx), initial_delay_ns, interval_ns, to,
                                                   self_of(ctx), data, len, tag, opts, job);
}

jzx_err jzx_schedule_with_fixed_delay_by(jzx_context *ctx, int64_t initial_delay_ns,
                                         int64_t delay_ns, jzx_actor_id to, const void *data,
                                         size_t len, uint32_t tag, const jzx_schedule_opts *opts,
                                         jzx_job_id *job) {
    return jzx_schedule_with_fixed_delay_with_options(loop_of(ctx), initial_delay_ns, delay_ns, to,
                                                      self_of(ctx), data, len, tag, opts, job);
}

/* ---- functions ---- */

static jzx_err schedule_fn(jzx_loop *loop, struct call call, jzx_job_id *job, jzx_job_fn fn,
                           void *ctx) {
    if (fn == NULL)
        return JZX_ERR_INVALID_ARG;
    call.spec.fn = fn;
    call.spec.ctx = ctx;
    return schedule_call(loop, &call, job);
}

jzx_err jzx_schedule_once_fn(jzx_loop *loop, int64_t delay_ns, const jzx_schedule_opts *opts,
                             jzx_job_id *job, jzx_job_fn fn, void *ctx) {
    struct call call = {.mode = JZX_JOB_ONE_SHOT, .delay_ns = delay_ns, .opts = opts};
    return schedule_fn(loop, call, job, fn, ctx);
}

jzx_err jzx_schedule_at_fixed_rate_fn(jzx_loop *loop, int64_t initial_delay_ns, int64_t interval_ns,
                                      const jzx_schedule_opts *opts, jzx_job_id *job, jzx_job_fn fn,
                                      void *ctx) {
    struct call call = {.mode = JZX_JOB_FIXED_RATE,
                        .delay_ns = initial_delay_ns,
                        .period_ns = interval_ns,
                        .opts = opts};
    return schedule_fn(loop, call, job, fn, ctx);
}

jzx_err jzx_schedule_with_fixed_delay_fn(jzx_loop *loop, int64_t initial_delay_ns, int64_t delay_ns,
                                         const jzx_schedule_opts *opts, jzx_job_id *job,
                                         jzx_job_fn fn, void *ctx) {
    struct call call = {.mode = JZX_JOB_FIXED_DELAY,
                        .delay_ns = initial_delay_ns,
                        .period_ns = delay_ns,
                        .opts = opts};
    return schedule_fn(loop, call, job, fn, ctx);
}

/* ---- wakes ---- */

jzx_err jzx__schedule_wake(struct jzx_loop *loop, int64_t delay_ns, jzx_job_id *job,
                           jzx__wake_fn *wake, void *ctx) {
    const struct call call = {
        .mode = JZX_JOB_ONE_SHOT, .delay_ns = delay_ns, .spec = {.wake = wake, .ctx = ctx}};
    return schedule_call(loop, &call, job);
}

/* ---- handles ---- */

bool jzx_job_cancel(jzx_loop *loop, jzx_job_id job) {
    struct jzx__scheduler *scheduler = loop == NULL ? NULL : jzx__scheduler_of(loop);
    bool is_cancelled;
    if (scheduler == NULL)
        return false;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    if (jzx__owner_try_acquire(scheduler, me)) {
        is_cancelled = jzx__schedule_cancel(&scheduler->core, job);
        jzx__owner_release(scheduler, JZX_NEVER);
    } else {
        is_cancelled = jzx__schedule_cancel_elsewhere(&scheduler->core, job);
        if (is_cancelled)
            jzx__owner_hand_over(scheduler, me);
    }
    jzx__visit_end(&visit);
    return is_cancelled;
}

jzx_job_status jzx_job_state(jzx_loop *loop, jzx_job_id job) {
    const struct jzx__scheduler *scheduler = loop == NULL ? NULL : jzx__scheduler_of(loop);
    if (scheduler == NULL)
        return JZX_JOB_CANCELLED;
    return (jzx_job_status)jzx__schedule_state(&scheduler->core, job);
}

bool jzx_job_is_cancelled(jzx_loop *loop, jzx_job_id job) {
    return jzx_job_state(loop, job) == JZX_JOB_CANCELLED;
}

bool jzx_job_is_completed(jzx_loop *loop, jzx_job_id job) {
    return jzx_job_state(loop, job) == JZX_JOB_COMPLETED;
}

/* ---- in a handler ---- */

/* The job of the message in hand, or NULL. */
static const struct jzx__schedule_item *current_item(const jzx_context *ctx) {
    struct jzx__own own;
    const struct jzx__schedule_item *item = NULL;
    if (ctx == NULL || !jzx__own_begin(&own, ctx))
        return NULL;
    if (own.turn->current != NULL)
        item = jzx__item_of(own.turn->current);
    jzx__own_end(&own);
    return item;
}

const jzx_batch *jzx_schedule_batch(const jzx_context *ctx) {
    const struct jzx__schedule_item *item = current_item(ctx);
    return item == NULL ? NULL : &item->batch;
}

uint64_t jzx_schedule_metadata(const jzx_context *ctx) {
    const struct jzx__schedule_item *item = current_item(ctx);
    return item == NULL ? 0 : item->metadata;
}

jzx_err jzx_schedule_dispatcher(jzx_loop *loop, const char *name, uint32_t *number) {
    if (loop == NULL || number == NULL)
        return JZX_ERR_INVALID_ARG;
    const struct jzx__scheduler *scheduler = jzx__scheduler_of(loop);
    uint32_t found = name == NULL        ? 0
                     : scheduler == NULL ? UINT32_MAX
                                         : jzx__settings_dispatcher(&scheduler->settings, name);
    if (found == UINT32_MAX)
        return JZX_ERR_INVALID_ARG;
    *number = found;
    return JZX_OK;
}
