/* SPDX-License-Identifier: MIT */
/* Metrics, events, the log and its replay, dumps, and the calls for property tests. */
#include "actor/message.h"
#include "base/alloc.h"
#include "base/sized.h"
#include "schedule/core/dump.h"
#include "schedule/core/pressure.h"
#include "schedule/core/property.h"
#include "schedule/visit.h"

#include <string.h>

#define KIND_IS_THE_CORES(name, number)                                                            \
    _Static_assert((int)JZX_SCHEDULE_EVENT_##name == (int)JZX__EVENT_##name, "the same number");
JZX_SCHEDULE_EVENT_MAP(KIND_IS_THE_CORES)
_Static_assert(JZX_SCHEDULE_ALL_KINDS == JZX__EVENT_ALL, "every kind");
_Static_assert(JZX_SCHEDULE_WARNINGS ==
                   (JZX__EVENT_ALL & ~(JZX__EVENT_BIT(JZX__EVENT_FIRST_WARNING) - 1)),
               "the warnings");

/* ---- metrics ---- */

static jzx_schedule_metrics show_metrics(struct jzx__schedule *core) {
    struct jzx__schedule_metrics own = jzx__schedule_metrics_of(core);
    return (jzx_schedule_metrics){.size = sizeof(jzx_schedule_metrics),
                                  .active_total = own.active_total,
                                  .periodic_total = own.periodic_total,
                                  .dropped_total = own.dropped_total,
                                  .quota_limit = own.quota_limit,
                                  .catch_up_window_ticks = own.catch_up_window_ticks,
                                  .tick_backlog = own.tick_backlog,
                                  .ticks_total = own.ticks_total,
                                  .enqueued_total = own.enqueued_total,
                                  .tick_backlog_peak = own.tick_backlog_peak,
                                  .tick_overflow_events = own.tick_overflow_events,
                                  .drift_compensations = own.drift_compensations,
                                  .drift_worst_ns = own.drift_worst_ns,
                                  .diagnostics_dropped_total = own.diagnostics_dropped_total,
                                  .task_run_on_close_total = own.task_run_on_close_total,
                                  .task_run_on_close_failures = own.task_run_on_close_failures,
                                  .task_run_on_close_duration_ns =
                                      own.task_run_on_close_duration_ns,
                                  .driver = own.driver,
                                  .driver_status = (jzx_driver_status)own.driver_status,
                                  .ticks_per_second = own.ticks_per_second,
                                  .pressure = (jzx_pressure_state)core->pressure.state,
                                  .pressure_reasons = jzx__pressure_reasons(core),
                                  .catch_ups = own.catch_ups,
                                  .tick_buffer_quota = own.tick_buffer_quota,
                                  .tick_buffer_overflows = own.tick_buffer_overflows};
}

jzx_err jzx_schedule_metrics_get(jzx_loop *loop, jzx_schedule_metrics *metrics) {
    struct jzx__schedule_visit visit;
    if (!jzx__is_sized(metrics, sizeof *metrics))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    jzx_schedule_metrics shown = show_metrics(visit.core);
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    jzx__write_sized(metrics, &shown);
    return JZX_OK;
}

jzx_err jzx_schedule_last_batch(jzx_loop *loop, jzx_batch *batch) {
    struct jzx__schedule_visit visit;
    if (batch == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    struct jzx__batch last = visit.core->last_batch;
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    if (last.runs == 0)
        return JZX_ERR_INVALID_ARG;
    *batch = (jzx_batch){last.runs, last.missed_runs, (jzx_job_mode)last.mode};
    return JZX_OK;
}

/* ---- events ---- */

jzx_err jzx_schedule_subscribe(jzx_loop *loop, uint32_t kinds, uint32_t *subscriber) {
    struct jzx__schedule_visit visit;
    if (subscriber == NULL || (kinds & JZX_SCHEDULE_ALL_KINDS) == 0)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    int number = jzx__events_subscribe(&visit.core->events, kinds);
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    if (number < 0)
        return JZX_ERR_FULL;
    *subscriber = (uint32_t)number;
    return JZX_OK;
}

jzx_err jzx_schedule_unsubscribe(jzx_loop *loop, uint32_t subscriber) {
    struct jzx__schedule_visit visit;
    if (subscriber >= JZX__SUBSCRIBERS_MAX)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    jzx__events_unsubscribe(&visit.core->events, (int)subscriber);
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    return JZX_OK;
}

bool jzx_schedule_next_event(jzx_loop *loop, uint32_t subscriber, jzx_schedule_event *event,
                             size_t size) {
    struct jzx__schedule_visit visit;
    struct jzx__schedule_event next;
    if (event == NULL || size == 0 || size > sizeof *event || subscriber >= JZX__SUBSCRIBERS_MAX ||
        jzx__schedule_visit_begin(&visit, loop) != JZX_OK)
        return false;
    bool is_there = jzx__events_next(&visit.core->events, (int)subscriber, &next);
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    if (!is_there)
        return false;
    jzx_schedule_event shown = jzx__schedule_event_show(&next);
    memcpy(event, &shown, size);
    return true;
}

const char *jzx_schedule_event_text(jzx_schedule_event_kind kind) {
    return jzx__event_text((enum jzx__schedule_event_kind)kind);
}

/* ---- the log ---- */

size_t jzx_schedule_log(jzx_loop *loop, jzx_schedule_record *records, size_t record_size,
                        size_t count) {
    struct jzx__schedule_visit visit;
    if (records == NULL || record_size == 0 || record_size > sizeof *records ||
        jzx__schedule_visit_begin(&visit, loop) != JZX_OK)
        return 0;
    const struct jzx__schedule_log *log = &visit.core->log;
    uint32_t have = jzx__log_count(log);
    uint32_t shown = count < have ? (uint32_t)count : have;
    for (uint32_t i = 0; i < shown; i++) {
        const struct jzx__log_record *own = jzx__log_at(log, have - shown + i);
        jzx_schedule_record record = {own->timer_id, own->scheduled_at,
                                      own->deadline, own->fired_at,
                                      own->executor, (jzx_schedule_log_kind)own->kind};
        memcpy((char *)records + i * record_size, &record, record_size);
    }
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    return shown;
}

/* A trace: how many records were ever written, their digest, how many follow; and these. */
#define TRACE_HEAD 24u

static void put_word(unsigned char *bytes, uint64_t value) {
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get_word(const unsigned char *bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static void write_trace(const struct jzx__schedule_log *log, unsigned char *bytes) {
    uint32_t count = jzx__log_count(log);
    put_word(bytes, log->written);
    put_word(bytes + 8, log->digest);
    put_word(bytes + 16, count);
    for (uint32_t i = 0; i < count; i++)
        jzx__log_encode(jzx__log_at(log, i),
                        bytes + TRACE_HEAD + (size_t)i * JZX__LOG_RECORD_BYTES);
}

size_t jzx_schedule_trace(jzx_loop *loop, void *bytes, size_t size) {
    struct jzx__schedule_visit visit;
    if (jzx__schedule_visit_begin(&visit, loop) != JZX_OK)
        return 0;
    size_t need = TRACE_HEAD + (size_t)jzx__log_count(&visit.core->log) * JZX__LOG_RECORD_BYTES;
    if (bytes != NULL && size >= need)
        write_trace(&visit.core->log, bytes);
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    return need;
}

/* The number of the first record that differs. */
static uint32_t compare(const struct jzx__schedule_log *log, const unsigned char *records,
                        uint64_t count) {
    uint32_t have = jzx__log_count(log);
    uint32_t i = 0;
    for (; i < have && i < count; i++) {
        unsigned char own[JZX__LOG_RECORD_BYTES];
        jzx__log_encode(jzx__log_at(log, i), own);
        if (memcmp(own, records + (size_t)i * sizeof own, sizeof own) != 0)
            break;
    }
    return i;
}

jzx_err jzx_schedule_replay_check(jzx_loop *loop, const void *trace, size_t size, uint32_t *first) {
    struct jzx__schedule_visit visit;
    const unsigned char *bytes = trace;
    if (trace == NULL || size < TRACE_HEAD ||
        get_word(bytes + 16) != (size - TRACE_HEAD) / JZX__LOG_RECORD_BYTES)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    const struct jzx__schedule_log *log = &visit.core->log;
    bool is_same = log->written == get_word(bytes) && log->digest == get_word(bytes + 8);
    uint32_t differs = compare(log, bytes + TRACE_HEAD, get_word(bytes + 16));
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    if (first != NULL)
        *first = differs;
    return is_same ? JZX_OK : JZX_ERR_UNKNOWN;
}

/* ---- dumps ---- */

/* Text that is measured first, and then written into memory of that size; cut if it has grown. */
struct text {
    char *bytes; /* NULL: it is measured */
    size_t size;
    size_t len;
};

static void add_text(void *ctx, const char *words, size_t len) {
    struct text *text = ctx;
    if (text->bytes != NULL) {
        size_t room = text->size - text->len;
        len = len < room ? len : room;
        memcpy(text->bytes + text->len, words, len);
    }
    text->len += len;
}

static jzx_err write_dump(jzx_loop *loop, struct text *text) {
    struct jzx__schedule_visit visit;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    jzx__schedule_dump(visit.core, add_text, text);
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    return JZX_OK;
}

static void show_lines(char *text, jzx_dump_fn line, void *ctx) {
    char *end;
    for (; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        line(ctx, text);
    }
}

jzx_err jzx_schedule_dump(jzx_loop *loop, jzx_dump_fn line, void *ctx) {
    struct text measured = {0};
    if (line == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = write_dump(loop, &measured);
    if (err != JZX_OK)
        return err;
    const jzx_allocator *allocator = &loop->sched.allocator;
    size_t size = measured.len + 1;
    struct text text = {.bytes = jzx__alloc(allocator, size), .size = measured.len};
    if (text.bytes == NULL)
        return JZX_ERR_NO_MEMORY;
    err = write_dump(loop, &text);
    if (err == JZX_OK) {
        text.bytes[text.len] = '\0';
        show_lines(text.bytes, line, ctx);
    }
    jzx__free(allocator, text.bytes, size);
    return err;
}

jzx_err jzx_schedule_dump_to(jzx_loop *loop, jzx_actor_id to, uint32_t tag) {
    struct text measured = {0};
    jzx_err err = write_dump(loop, &measured);
    if (err != JZX_OK)
        return err;
    struct text text = {.bytes = jzx_msg_alloc(loop, measured.len, NULL), .size = measured.len};
    if (text.bytes == NULL)
        return JZX_ERR_NO_MEMORY;
    err = write_dump(loop, &text);
    if (err == JZX_OK) {
        memset(text.bytes + text.len, ' ', text.size - text.len); /* it may have become shorter */
        err = jzx_send_msg(loop, to, JZX_NOBODY, text.bytes, tag);
    }
    if (err != JZX_OK)
        jzx_msg_free(loop, text.bytes);
    return err;
}

/* ---- properties ---- */

/* False outside of test_mode: then there is nothing to end. */
static bool begin_test(struct jzx__schedule_visit *visit, jzx_loop *loop) {
    if (jzx__schedule_visit_begin(visit, loop) != JZX_OK)
        return false;
    if (visit->core->config.test_mode)
        return true;
    jzx__schedule_visit_end(visit, JZX_NEVER);
    return false;
}

const char *jzx_schedule_check(jzx_loop *loop) {
    struct jzx__schedule_visit visit;
    if (!begin_test(&visit, loop))
        return "the scheduler is not in test_mode";
    const char *wrong = jzx__schedule_check(visit.core);
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    return wrong;
}

bool jzx_schedule_is_monotonic(jzx_loop *loop) {
    struct jzx__schedule_visit visit;
    if (!begin_test(&visit, loop))
        return false;
    bool is_monotonic = jzx__schedule_is_monotonic(visit.core);
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    return is_monotonic;
}

uint32_t jzx_schedule_inject_random_cancel(jzx_loop *loop, uint64_t seed, uint32_t per_mille) {
    struct jzx__schedule_visit visit;
    if (!begin_test(&visit, loop))
        return 0;
    uint32_t cancelled = jzx__schedule_inject_random_cancel(visit.core, seed, per_mille);
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    return cancelled;
}
