/* SPDX-License-Identifier: MIT */
/* A delay as a future, on a one-shot of the scheduler API. The job has the promise's place, and
 * gives it up when it ends, in whatever way. */
#include "future/future.h"
#include "schedule/jobs.h"

/* Behind the value of the future. */
struct delay {
    jzx_job_id job;
};

static size_t extra_of(struct jzx_future *future) {
    (void)future;
    return sizeof(struct delay);
}

static void ring(void *ctx, struct jzx__worker *me) {
    struct jzx_future *future = ctx;
    (void)jzx__future_resolve(future, me, NULL); /* unless it was cancelled */
    jzx__future_let_go(future, JZX__HOLDER_PROMISE);
}

static void cancel(struct jzx_future *future, struct jzx__worker *me) {
    const struct delay *delay = jzx__future_extra(future);
    if (jzx__future_reject(future, me, JZX_ERR_CANCELLED, NULL) == JZX_OK)
        (void)jzx_job_cancel(future->home->loop, delay->job);
}

static const struct jzx__future_ops delay_ops = {.extra = extra_of, .cancel = cancel};

jzx_err jzx_schedule_delay_async(jzx_loop *loop, int64_t delay_ns, jzx_future **future) {
    struct jzx__visit visit;
    if (loop == NULL || future == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx_future *made =
        jzx__future_create(jzx__future_home_of(loop), me, 0, sizeof(struct delay), &delay_ops);
    if (made != NULL) {
        struct delay *delay = jzx__future_extra(made);
        delay->job = JZX_NO_JOB;
        if (jzx__schedule_wake(loop, delay_ns, &delay->job, ring, made) != JZX_OK)
            ring(made, me); /* nobody waits for a tick that will not come */
    }
    jzx__visit_end(&visit);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    *future = made;
    return JZX_OK;
}
