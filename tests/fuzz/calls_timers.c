/* SPDX-License-Identifier: MIT */
/* Timers, and the jobs of the scheduler. */
#include "fuzz.h"

#include <string.h>

#define REPEAT ((jzx_repeat)BELOW(fuzz_chance(f, 16) ? 9 : 2))
#define KEY fuzz_below(f, 6)

MAKE(A_TIMER, jzx_send_after, LOOP, ID, ID, DATA, LEN, TAG, SPAN);
MAKE(A_TIMER, jzx_send_every, LOOP, ID, ID, DATA, LEN, TAG, SPAN, REPEAT);
CALL(jzx_timer_cancel, LOOP, fuzz_handle(f, A_TIMER));
USE(jzx_timer_missed, CTX);
CALL(jzx_timer_start, CTX, KEY, DATA, LEN, TAG, SPAN);
CALL(jzx_timer_start_every, CTX, KEY, DATA, LEN, TAG, SPAN, REPEAT);
CALL(jzx_timer_stop, CTX, KEY);
USE(jzx_timer_stop_all, CTX);
USE(jzx_timer_is_active, CTX, KEY);
CALL(jzx_receive_timeout, CTX, SPAN);
RUN(jzx_receive_timeout_ignore, CTX);

static const struct fuzz_operation timer_operations[] = {
    ROW(jzx_send_after, 6, ANYWHERE),
    ROW(jzx_send_every, 4, ANYWHERE),
    ROW(jzx_timer_cancel, 5, ANYWHERE),
    ROW(jzx_timer_missed, 1, ANYWHERE),
    ROW(jzx_timer_start, 4, ANYWHERE),
    ROW(jzx_timer_start_every, 3, ANYWHERE),
    ROW(jzx_timer_stop, 2, ANYWHERE),
    ROW(jzx_timer_stop_all, 1, ANYWHERE),
    ROW(jzx_timer_is_active, 1, ANYWHERE),
    ROW(jzx_receive_timeout, 2, ANYWHERE),
    ROW(jzx_receive_timeout_ignore, 1, ANYWHERE),
};
FUZZ_FAMILY(timers, timer_operations);

/* ---- the scheduler ---- */

#define JOB fuzz_handle(f, A_JOB)
#define DELAY (int64_t)(fuzz_chance(f, 12) ? WORD : 1 + fuzz_below(f, JZX_MS(20)))

static const jzx_schedule_opts *job_opts(struct fuzz *f, jzx_schedule_opts *opts) {
    *opts = JZX_SCHEDULE_OPTS(.dispatcher = fuzz_chance(f, 16) ? NAME : NULL,
                              .subsystem = fuzz_chance(f, 16) ? NAME : NULL,
                              .priority = (jzx_job_priority)BELOW(4), .backlog_limit = BELOW(4),
                              .burst_threshold = BELOW(3), .skip_missed = YES_OR_NO, .metadata = 7);
    opts->size = fuzz_options_size(f, sizeof *opts);
    return fuzz_chance(f, 4) ? NULL : opts;
}
#define JOB_OPTS job_opts(f, &(jzx_schedule_opts){0})

static void do_jzx_schedule_once_fn(struct fuzz *f) {
    jzx_job_id job = 0;
    if (fuzz_status(f, jzx_schedule_once_fn(LOOP, DELAY, JOB_OPTS, &job, OR_NULL(fuzz_ticked),
                                            NULL)) == JZX_OK)
        fuzz_note(f, A_JOB, job);
}
static void do_jzx_schedule_at_fixed_rate_fn(struct fuzz *f) {
    jzx_job_id job = 0;
    if (fuzz_status(f, jzx_schedule_at_fixed_rate_fn(LOOP, DELAY, DELAY, JOB_OPTS, &job,
                                                     fuzz_ticked, NULL)) == JZX_OK)
        fuzz_note(f, A_JOB, job);
}
static void do_jzx_schedule_with_fixed_delay_fn(struct fuzz *f) {
    jzx_job_id job = 0;
    if (fuzz_status(f, jzx_schedule_with_fixed_delay_fn(LOOP, DELAY, DELAY, JOB_OPTS, &job,
                                                        fuzz_ticked, NULL)) == JZX_OK)
        fuzz_note(f, A_JOB, job);
}

MAKE(A_JOB, jzx_schedule_once, LOOP, DELAY, ID, ID, DATA, LEN, TAG);
MAKE(A_JOB, jzx_schedule_at_fixed_rate, LOOP, DELAY, DELAY, ID, ID, DATA, LEN, TAG);
MAKE(A_JOB, jzx_schedule_with_fixed_delay, LOOP, DELAY, DELAY, ID, ID, DATA, LEN, TAG);
MAKE(A_JOB, jzx_schedule_once_with_options, LOOP, DELAY, ID, ID, DATA, LEN, TAG, JOB_OPTS);
MAKE(A_JOB, jzx_schedule_at_fixed_rate_with_options, LOOP, DELAY, DELAY, ID, ID, DATA, LEN, TAG,
     JOB_OPTS);
MAKE(A_JOB, jzx_schedule_with_fixed_delay_with_options, LOOP, DELAY, DELAY, ID, ID, DATA, LEN, TAG,
     JOB_OPTS);
MAKE(A_JOB, jzx_schedule_once_by, CTX, DELAY, ID, DATA, LEN, TAG, JOB_OPTS);
MAKE(A_JOB, jzx_schedule_at_fixed_rate_by, CTX, DELAY, DELAY, ID, DATA, LEN, TAG, JOB_OPTS);
MAKE(A_JOB, jzx_schedule_with_fixed_delay_by, CTX, DELAY, DELAY, ID, DATA, LEN, TAG, JOB_OPTS);
FUTURE(jzx_schedule_delay_async, LOOP, DELAY);
CALL(jzx_schedule_opts_init, OR_NULL(&(jzx_schedule_opts){0}),
     fuzz_options_size(f, sizeof(jzx_schedule_opts)));
CALL(jzx_schedule_config_init, OR_NULL(&(jzx_schedule_config){0}),
     fuzz_options_size(f, sizeof(jzx_schedule_config)));
USE(jzx_job_cancel, LOOP, JOB);
USE(jzx_job_state, LOOP, JOB);
USE(jzx_job_is_cancelled, LOOP, JOB);
USE(jzx_job_is_completed, LOOP, JOB);
USE(jzx_schedule_metadata, CTX);
CALL(jzx_schedule_dispatcher, LOOP, NAME, OR_NULL(&(uint32_t){0}));
USE(jzx_schedule_notify, LOOP, BELOW(4));
CALL(jzx_schedule_advance, LOOP, fuzz_below(f, 4));
CALL(jzx_schedule_driver_stopped, LOOP, (jzx_driver_error)BELOW(9));
USE(jzx_schedule_now, LOOP);
USE(jzx_schedule_max_frequency, LOOP);
CALL(jzx_schedule_push_load, LOOP, BELOW(1200));
CALL(jzx_schedule_shutdown, LOOP,
     OR_NULL(&(jzx_shutdown_summary){.size = sizeof(jzx_shutdown_summary)}));
CALL(jzx_schedule_metrics_get, LOOP,
     OR_NULL(&(jzx_schedule_metrics){.size = fuzz_options_size(f, sizeof(jzx_schedule_metrics))}));
CALL(jzx_schedule_capabilities_get, LOOP,
     OR_NULL(&(jzx_schedule_capabilities){
         .size = fuzz_options_size(f, sizeof(jzx_schedule_capabilities))}));
CALL(jzx_schedule_last_batch, LOOP, OR_NULL(&(jzx_batch){0}));
USE(jzx_schedule_event_text, (jzx_schedule_event_kind)BELOW(30));
CALL(jzx_schedule_dump_to, LOOP, ID, TAG);
USE(jzx_schedule_is_monotonic, LOOP);
USE(jzx_schedule_inject_random_cancel, LOOP, WORD, BELOW(1001));

static void do_jzx_schedule_batch(struct fuzz *f) {
    const jzx_batch *batch = jzx_schedule_batch(CTX);
    if (batch != NULL && batch->runs == 0)
        fuzz_fail("a batch stands for no run");
}

static void do_jzx_schedule_config_check(struct fuzz *f) {
    jzx_schedule_config config = JZX_SCHEDULE_CONFIG(.profile = (jzx_schedule_profile)BELOW(8));
    const char *field = NULL;
    config.resolution_ns = (uint32_t)WORD;
    config.wheel_slots[BELOW(3)] = BELOW(600);
    config.driver_kind = (jzx_driver_kind)BELOW(7);
    config.size = fuzz_options_size(f, sizeof config);
    if (fuzz_status(f, jzx_schedule_config_check(&config, &field)) != JZX_OK && field == NULL)
        fuzz_fail("jzx_schedule_config_check names no field");
}

static uint32_t probe(void *arg) {
    (void)arg;
    return 100;
}
CALL(jzx_schedule_add_probe, LOOP, "probe", (jzx_probe_kind)BELOW(4), OR_NULL(probe), NULL);

static int32_t closed(void *arg) {
    (void)arg;
    return 0;
}
static void do_jzx_schedule_on_close(struct fuzz *f) {
    uint64_t task = 0;
    if (fuzz_status(f, jzx_schedule_on_close(LOOP, (jzx_close_priority)BELOW(5), &task,
                                             OR_NULL(closed), NULL)) == JZX_OK)
        fuzz_note(f, A_CLOSE_TASK, task);
}
USE(jzx_schedule_cancel_on_close, LOOP, fuzz_handle(f, A_CLOSE_TASK));
CALL(jzx_schedule_on_shutdown, LOOP, OR_NULL(closed), NULL);

static void do_jzx_schedule_subscribe(struct fuzz *f) {
    uint32_t subscriber = 0;
    if (fuzz_status(f, jzx_schedule_subscribe(LOOP, (uint32_t)WORD, &subscriber)) == JZX_OK)
        fuzz_note(f, A_SUBSCRIBER, subscriber);
}
CALL(jzx_schedule_unsubscribe, LOOP, (uint32_t)fuzz_handle(f, A_SUBSCRIBER));

static void do_jzx_schedule_next_event(struct fuzz *f) {
    jzx_schedule_event event;
    (void)jzx_schedule_next_event(LOOP, (uint32_t)fuzz_handle(f, A_SUBSCRIBER), &event,
                                  fuzz_options_size(f, sizeof event) == sizeof event ? sizeof event
                                                                                     : 0);
}

static void do_jzx_schedule_log(struct fuzz *f) {
    jzx_schedule_record records[8];
    (void)jzx_schedule_log(LOOP, records, fuzz_chance(f, 8) ? 0 : sizeof records[0], BELOW(9));
}

static void do_jzx_schedule_trace(struct fuzz *f) {
    unsigned char bytes[2048];
    uint32_t first;
    size_t size = jzx_schedule_trace(LOOP, bytes, fuzz_chance(f, 4) ? BELOW(9) : sizeof bytes);
    if (size <= sizeof bytes && !fuzz_chance(f, 3))
        fuzz_status(f, jzx_schedule_replay_check(LOOP, bytes, size, &first));
    else
        fuzz_status(f, jzx_schedule_replay_check(LOOP, fuzz_bytes, BELOW(500), &first));
}

static void line(void *arg, const char *text) {
    (void)arg;
    if (strlen(text) > 100000)
        fuzz_fail("a line of a dump is too long");
}
CALL(jzx_schedule_dump, LOOP, OR_NULL(line), NULL);

static void do_jzx_schedule_check(struct fuzz *f) {
    const char *wrong = jzx_schedule_check(THE_LOOP);
    if (wrong != NULL && f->round->is_traced)
        fprintf(stderr, "    = %s\n", wrong);
}

static const struct fuzz_operation schedule_operations[] = {
    ROW(jzx_schedule_once, 8, ANYWHERE),
    ROW(jzx_schedule_at_fixed_rate, 4, ANYWHERE),
    ROW(jzx_schedule_with_fixed_delay, 4, ANYWHERE),
    ROW(jzx_schedule_once_with_options, 4, ANYWHERE),
    ROW(jzx_schedule_at_fixed_rate_with_options, 4, ANYWHERE),
    ROW(jzx_schedule_with_fixed_delay_with_options, 4, ANYWHERE),
    ROW(jzx_schedule_once_by, 2, ANYWHERE),
    ROW(jzx_schedule_at_fixed_rate_by, 2, ANYWHERE),
    ROW(jzx_schedule_with_fixed_delay_by, 2, ANYWHERE),
    ROW(jzx_schedule_once_fn, 6, ANYWHERE),
    ROW(jzx_schedule_at_fixed_rate_fn, 3, ANYWHERE),
    ROW(jzx_schedule_with_fixed_delay_fn, 3, ANYWHERE),
    ROW(jzx_schedule_delay_async, 5, ANYWHERE),
    ROW(jzx_schedule_opts_init, 1, ANYWHERE),
    ROW(jzx_schedule_config_init, 1, ANYWHERE),
    ROW(jzx_schedule_config_check, 1, ANYWHERE),
    ROW(jzx_job_cancel, 6, ANYWHERE),
    ROW(jzx_job_state, 3, ANYWHERE),
    ROW(jzx_job_is_cancelled, 1, ANYWHERE),
    ROW(jzx_job_is_completed, 1, ANYWHERE),
    ROW(jzx_schedule_batch, 3, ANYWHERE),
    ROW(jzx_schedule_metadata, 1, ANYWHERE),
    ROW(jzx_schedule_dispatcher, 1, ANYWHERE),
    ROW(jzx_schedule_notify, 4, ANYWHERE),
    ROW(jzx_schedule_advance, 4, AT_BEFORE | AT_STEPS),
    ROW(jzx_schedule_driver_stopped, 1, ANYWHERE),
    ROW(jzx_schedule_now, 1, ANYWHERE),
    ROW(jzx_schedule_max_frequency, 1, ANYWHERE),
    ROW(jzx_schedule_capabilities_get, 1, ANYWHERE),
    ROW(jzx_schedule_add_probe, 1, ANYWHERE),
    ROW(jzx_schedule_push_load, 1, ANYWHERE),
    ROW(jzx_schedule_on_close, 2, ANYWHERE),
    ROW(jzx_schedule_cancel_on_close, 1, ANYWHERE),
    ROW(jzx_schedule_on_shutdown, 1, ANYWHERE),
    ROW(jzx_schedule_shutdown, 1, ANYWHERE),
    ROW(jzx_schedule_metrics_get, 2, ANYWHERE),
    ROW(jzx_schedule_last_batch, 1, ANYWHERE),
    ROW(jzx_schedule_subscribe, 2, ANYWHERE),
    ROW(jzx_schedule_unsubscribe, 1, ANYWHERE),
    ROW(jzx_schedule_next_event, 2, ANYWHERE),
    ROW(jzx_schedule_event_text, 1, ANYWHERE),
    ROW(jzx_schedule_log, 1, ANYWHERE),
    ROW(jzx_schedule_trace, 1, ANYWHERE),
    ROW(jzx_schedule_dump, 1, ANYWHERE),
    ROW(jzx_schedule_dump_to, 1, ANYWHERE),
    ROW(jzx_schedule_check, 1, ANYWHERE),
    ROW(jzx_schedule_is_monotonic, 1, ANYWHERE),
    ROW(jzx_schedule_inject_random_cancel, 1, ANYWHERE),
};
FUZZ_FAMILY(schedule, schedule_operations);
