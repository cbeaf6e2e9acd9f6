/* SPDX-License-Identifier: MIT */
/* What the scheduler tells: events of jobs, and warnings. Every subscriber has a ring of its own
 * that keeps the newest events. Warnings also go to the event stream, a function of the adapter;
 * all other events go there while nobody subscribes. Events that come before the first subscriber
 * are kept for it, up to the capacity. Owner only. */
#ifndef JZX_SCHEDULE_CORE_EVENTS_H
#define JZX_SCHEDULE_CORE_EVENTS_H

#include "schedule/core/batch.h"
#include "schedule/core/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JZX__SUBSCRIBERS_MAX 8u

/* name, text; the first four are no warnings. */
#define JZX__SCHEDULE_EVENTS(X)                                                                    \
    X(SCHEDULE, "schedule")                                                                        \
    X(FIRE, "fire")                                                                                \
    X(CANCEL, "cancel")                                                                            \
    X(TICK_METRICS, "tick metrics")                                                                \
    X(DRIFT_EXCEEDED, "drift exceeded")                                                            \
    X(DRIVER_CATCH_UP_EXCEEDED, "driver catch-up exceeded")                                        \
    X(DRIVER_STATUS, "driver status")                                                              \
    X(DRIVER_STOPPED, "driver stopped")                                                            \
    X(QUOTA_REACHED, "quota reached")                                                              \
    X(CAPACITY_EXCEEDED, "capacity exceeded")                                                      \
    X(OVERFLOW_NEAR_CAPACITY, "overflow near capacity")                                            \
    X(DROPPED_LOW_PRIORITY, "dropped low priority")                                                \
    X(BACKLOG_EXCEEDED, "backlog exceeded")                                                        \
    X(BURST_FIRE, "burst fire")                                                                    \
    X(HANDLER_FAILED, "handler failed")                                                            \
    X(CANCELLED_BY_BACKPRESSURE, "cancelled by backpressure")                                      \
    X(BACKPRESSURE_STATE, "backpressure state")                                                    \
    X(TASK_RUN_FAILED, "task run failed")                                                          \
    X(DIAGNOSTICS_DROPPED, "diagnostics dropped")                                                  \
    X(DIAGNOSTICS_OVERFLOW, "diagnostics overflow")

enum jzx__schedule_event_kind {
#define JZX__EVENT_ENUM(name, text) JZX__EVENT_##name,
    JZX__SCHEDULE_EVENTS(JZX__EVENT_ENUM)
#undef JZX__EVENT_ENUM
        JZX__EVENT_KINDS
};

#define JZX__EVENT_FIRST_WARNING JZX__EVENT_DRIFT_EXCEEDED
#define JZX__EVENT_BIT(kind) ((uint32_t)1 << (kind))
#define JZX__EVENT_ALL (JZX__EVENT_BIT(JZX__EVENT_KINDS) - 1)

struct jzx__schedule_event {
    enum jzx__schedule_event_kind kind;
    enum jzx__job_priority priority; /* DROPPED_LOW_PRIORITY */
    uint32_t state;                  /* BACKPRESSURE_STATE, DRIVER_STATUS: the new one */
    uint32_t reason;                 /* BACKPRESSURE_STATE: jzx__backpressure_reason */
    bool is_engaged;                 /* BACKPRESSURE_STATE; QUOTA_REACHED: it is the adaptive one */
    int32_t error;                   /* HANDLER_FAILED, TASK_RUN_FAILED, DRIVER_STOPPED */
    uint64_t job;                    /* or the task; 0: none */
    uint64_t tick;
    uint64_t value; /* observed_ns, ticks, limit, dropped, ticks per second: by kind */
    uint64_t capacity;
    struct jzx__batch batch; /* FIRE, BURST_FIRE, HANDLER_FAILED */
};

typedef void (*jzx__schedule_emit_fn)(void *ctx, const struct jzx__schedule_event *event);

/* Events in order, the oldest first. When it is full the oldest goes. */
struct jzx__event_ring {
    struct jzx__schedule_event *events;
    uint32_t capacity;
    uint32_t first;
    uint32_t count;
    uint32_t kinds;   /* JZX__EVENT_BIT of what is wanted; 0: nobody has the ring */
    uint64_t dropped; /* since the ring was taken */
    uint64_t lost;    /* of them since it was last empty */
};

struct jzx__schedule_events {
    struct jzx__event_ring rings[JZX__SUBSCRIBERS_MAX];
    struct jzx__event_ring early; /* until the first subscriber comes */
    uint32_t subscribers;
    bool had_subscriber;
    uint64_t dropped_total;
    jzx__schedule_emit_fn emit; /* NULL: there is no event stream */
    void *ctx;
};

/* Events for all rings, of which the caller gives the memory. */
size_t jzx__events_storage(uint32_t capacity);
void jzx__events_init(struct jzx__schedule_events *events, struct jzx__schedule_event *storage,
                      uint32_t capacity, jzx__schedule_emit_fn emit, void *ctx);

void jzx__events_tell(struct jzx__schedule_events *events, const struct jzx__schedule_event *event);

/* A number below JZX__SUBSCRIBERS_MAX, or -1 if all are taken. */
int jzx__events_subscribe(struct jzx__schedule_events *events, uint32_t kinds);
void jzx__events_unsubscribe(struct jzx__schedule_events *events, int subscriber);

/* False: nothing waits. */
bool jzx__events_next(struct jzx__schedule_events *events, int subscriber,
                      struct jzx__schedule_event *event);

const char *jzx__event_text(enum jzx__schedule_event_kind kind);

#endif
