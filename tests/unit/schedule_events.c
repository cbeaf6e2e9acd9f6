/* SPDX-License-Identifier: MIT */
/* Event rings, the deterministic log and close tasks, each by itself. */
#include "schedule/core/close.h"
#include "schedule/core/events.h"
#include "schedule/core/log.h"

#include "seeds.h"

#include <string.h>

#define CAPACITY 4u

static struct jzx__schedule_event storage[CAPACITY * (JZX__SUBSCRIBERS_MAX + 1)];
static struct jzx__schedule_event streamed[64];
static unsigned streamed_count;

static void stream(void *ctx, const struct jzx__schedule_event *event) {
    (void)ctx;
    if (streamed_count < 64)
        streamed[streamed_count++] = *event;
}

static struct jzx__schedule_events *make(void) {
    static struct jzx__schedule_events events;
    JZX_EXPECT_EQ(jzx__events_storage(CAPACITY), sizeof storage / sizeof storage[0]);
    jzx__events_init(&events, storage, CAPACITY, stream, NULL);
    streamed_count = 0;
    return &events;
}

static void tell(struct jzx__schedule_events *events, enum jzx__schedule_event_kind kind,
                 uint64_t job) {
    jzx__events_tell(events, &(struct jzx__schedule_event){.kind = kind, .job = job});
}

static void expect_next(struct jzx__schedule_events *events, int subscriber,
                        enum jzx__schedule_event_kind kind, uint64_t job) {
    struct jzx__schedule_event event = {.kind = JZX__EVENT_KINDS};
    JZX_EXPECT(jzx__events_next(events, subscriber, &event));
    JZX_EXPECT_EQ(event.kind, kind);
    JZX_EXPECT_EQ(event.job, job);
}

static void expect_none(struct jzx__schedule_events *events, int subscriber) {
    struct jzx__schedule_event event;
    JZX_EXPECT(!jzx__events_next(events, subscriber, &event));
}

JZX_TEST(several_subscribers_get_what_each_asked_for) {
    struct jzx__schedule_events *events = make();
    int fires = jzx__events_subscribe(events, JZX__EVENT_BIT(JZX__EVENT_FIRE));
    int all = jzx__events_subscribe(events, JZX__EVENT_ALL);
    tell(events, JZX__EVENT_SCHEDULE, 1);
    tell(events, JZX__EVENT_FIRE, 2);
    tell(events, JZX__EVENT_CANCEL, 3);
    expect_next(events, fires, JZX__EVENT_FIRE, 2);
    expect_none(events, fires);
    expect_next(events, all, JZX__EVENT_SCHEDULE, 1);
    expect_next(events, all, JZX__EVENT_FIRE, 2);
    expect_next(events, all, JZX__EVENT_CANCEL, 3);
    expect_none(events, all);
}

JZX_TEST(without_subscribers_all_goes_to_the_stream_and_with_one_only_warnings, "B101", "B17") {
    struct jzx__schedule_events *events = make();
    tell(events, JZX__EVENT_FIRE, 1);
    tell(events, JZX__EVENT_BURST_FIRE, 1);
    JZX_EXPECT_EQ(streamed_count, 2);
    int subscriber = jzx__events_subscribe(events, JZX__EVENT_ALL);
    tell(events, JZX__EVENT_FIRE, 1);
    tell(events, JZX__EVENT_BURST_FIRE, 1);
    JZX_EXPECT_EQ(streamed_count, 3);
    JZX_EXPECT_EQ(streamed[2].kind, JZX__EVENT_BURST_FIRE);
    jzx__events_unsubscribe(events, subscriber);
    tell(events, JZX__EVENT_FIRE, 1);
    JZX_EXPECT_EQ(streamed_count, 4);
}

JZX_TEST(early_events_are_kept_for_the_first_subscriber_alone) {
    struct jzx__schedule_events *events = make();
    for (uint64_t i = 1; i <= CAPACITY + 2; i++) /* two more than are kept */
        tell(events, JZX__EVENT_FIRE, i);
    int first = jzx__events_subscribe(events, JZX__EVENT_ALL);
    int second = jzx__events_subscribe(events, JZX__EVENT_ALL);
    for (uint64_t i = 3; i <= CAPACITY + 2; i++)
        expect_next(events, first, JZX__EVENT_FIRE, i);
    expect_none(events, first);
    expect_none(events, second);
}

JZX_TEST(a_full_ring_drops_the_oldest_and_says_so) {
    struct jzx__schedule_events *events = make();
    int slow = jzx__events_subscribe(events, JZX__EVENT_BIT(JZX__EVENT_FIRE));
    for (uint64_t i = 1; i <= CAPACITY + 1; i++)
        tell(events, JZX__EVENT_FIRE, i);
    JZX_EXPECT_EQ(streamed_count, 1);
    JZX_EXPECT_EQ(streamed[0].kind, JZX__EVENT_DIAGNOSTICS_DROPPED);
    JZX_EXPECT_EQ(streamed[0].value, 1);
    JZX_EXPECT_EQ(streamed[0].capacity, CAPACITY);
    JZX_EXPECT_EQ(events->dropped_total, 1);
    for (uint64_t i = 2; i <= CAPACITY + 1; i++)
        expect_next(events, slow, JZX__EVENT_FIRE, i);
    expect_none(events, slow);
}

JZX_TEST(losing_as_many_as_a_ring_holds_is_an_overflow_that_its_subscriber_hears_of) {
    struct jzx__schedule_events *events = make();
    int slow = jzx__events_subscribe(events, JZX__EVENT_BIT(JZX__EVENT_FIRE));
    int quick = jzx__events_subscribe(events, JZX__EVENT_BIT(JZX__EVENT_FIRE));
    for (uint64_t i = 1; i <= 2 * CAPACITY; i++) {
        tell(events, JZX__EVENT_FIRE, i);
        expect_next(events, quick, JZX__EVENT_FIRE, i);
    }
    JZX_EXPECT_EQ(streamed_count, 2);
    JZX_EXPECT_EQ(streamed[1].kind, JZX__EVENT_DIAGNOSTICS_OVERFLOW);
    for (uint64_t i = CAPACITY + 2; i <= 2 * CAPACITY; i++)
        expect_next(events, slow, JZX__EVENT_FIRE, i);
    expect_next(events, slow, JZX__EVENT_DIAGNOSTICS_OVERFLOW, 0);
    expect_none(events, quick);
    tell(events, JZX__EVENT_FIRE, 99); /* an emptied ring starts anew */
    JZX_EXPECT_EQ(streamed_count, 2);
}

JZX_TEST(a_ring_that_was_given_up_can_be_taken_again_and_a_ninth_subscriber_is_refused) {
    struct jzx__schedule_events *events = make();
    int subscribers[JZX__SUBSCRIBERS_MAX];
    for (unsigned i = 0; i < JZX__SUBSCRIBERS_MAX; i++) {
        subscribers[i] = jzx__events_subscribe(events, JZX__EVENT_ALL);
        JZX_EXPECT(subscribers[i] >= 0);
    }
    JZX_EXPECT_EQ(jzx__events_subscribe(events, JZX__EVENT_ALL), -1);
    tell(events, JZX__EVENT_FIRE, 1);
    jzx__events_unsubscribe(events, subscribers[3]);
    jzx__events_unsubscribe(events, subscribers[3]); /* once more does nothing */
    JZX_EXPECT_EQ(events->subscribers, JZX__SUBSCRIBERS_MAX - 1);
    expect_none(events, subscribers[3]);
    JZX_EXPECT_EQ(jzx__events_subscribe(events, JZX__EVENT_ALL), subscribers[3]);
    expect_none(events, subscribers[3]); /* nothing of the one before */
    JZX_EXPECT_EQ(jzx__events_subscribe(events, 0), -1);
}

JZX_TEST(every_event_has_a_text_of_its_own) {
    for (int i = 0; i < JZX__EVENT_KINDS; i++) {
        const char *text = jzx__event_text((enum jzx__schedule_event_kind)i);
        JZX_EXPECT(strlen(text) > 0 && strcmp(text, "unknown") != 0);
        for (int k = 0; k < i; k++)
            JZX_EXPECT(strcmp(text, jzx__event_text((enum jzx__schedule_event_kind)k)) != 0);
    }
    JZX_EXPECT(strcmp(jzx__event_text(JZX__EVENT_KINDS), "unknown") == 0);
}

/* ---- the log ---- */

static struct jzx__log_record record_of(uint64_t i) {
    return (struct jzx__log_record){i, i + 1, i + 2, i + 3, (uint32_t)i + 4, JZX__LOG_FIRE};
}

JZX_TEST(the_log_keeps_the_newest_records_and_a_digest_of_all) {
    struct jzx__log_record records[2][3];
    struct jzx__schedule_log logs[2];
    uint32_t first;
    for (unsigned k = 0; k < 2; k++) {
        jzx__log_init(&logs[k], records[k], 3);
        for (uint64_t i = 0; i < 5; i++) {
            struct jzx__log_record record = record_of(k == 1 && i == 0 ? 7 : i);
            jzx__log_write(&logs[k], &record);
        }
    }
    JZX_EXPECT_EQ(jzx__log_count(&logs[0]), 3);
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx__log_at(&logs[0], i)->timer_id, i + 2);
    JZX_EXPECT(jzx__log_is_monotonic(&logs[0]));
    JZX_EXPECT(jzx__log_matches(&logs[0], &logs[0], &first));
    JZX_EXPECT(!jzx__log_matches(&logs[0], &logs[1], &first)); /* a record that is gone differs */
    JZX_EXPECT_EQ(first, 3);
}

JZX_TEST(a_replay_that_differs_is_found_by_its_first_record, "B100", "B103") {
    struct jzx__log_record records[2][8];
    struct jzx__schedule_log logs[2];
    uint32_t first;
    for (unsigned k = 0; k < 2; k++) {
        jzx__log_init(&logs[k], records[k], 8);
        for (uint64_t i = 0; i < 6; i++) {
            struct jzx__log_record record = record_of(i);
            record.executor += k == 1 && i == 4;
            jzx__log_write(&logs[k], &record);
        }
    }
    JZX_EXPECT(!jzx__log_matches(&logs[0], &logs[1], &first));
    JZX_EXPECT_EQ(first, 4);
    JZX_EXPECT(jzx__log_is_monotonic(&logs[0]));
    records[0][5].fired_at = 1;
    JZX_EXPECT(!jzx__log_is_monotonic(&logs[0]));
}

JZX_TEST(a_record_survives_being_written_as_bytes) {
    unsigned char bytes[JZX__LOG_RECORD_BYTES];
    struct jzx__log_record record = {0x0102030405060708, UINT64_MAX, 3,
                                     1u << 31,           0xDEADBEEF, JZX__LOG_CANCEL};
    struct jzx__log_record back;
    jzx__log_encode(&record, bytes);
    JZX_EXPECT_EQ(bytes[0], 8); /* the same bytes on every machine */
    jzx__log_decode(bytes, &back);
    JZX_EXPECT_EQ(back.timer_id, record.timer_id);
    JZX_EXPECT_EQ(back.scheduled_at, record.scheduled_at);
    JZX_EXPECT_EQ(back.deadline, record.deadline);
    JZX_EXPECT_EQ(back.fired_at, record.fired_at);
    JZX_EXPECT_EQ(back.executor, record.executor);
    JZX_EXPECT_EQ(back.kind, record.kind);
}

JZX_TEST(a_log_without_room_writes_nothing) {
    struct jzx__schedule_log log;
    struct jzx__log_record record = record_of(1);
    jzx__log_init(&log, &record, 0);
    jzx__log_write(&log, &record);
    JZX_EXPECT_EQ(jzx__log_count(&log), 0);
    JZX_EXPECT(jzx__log_is_monotonic(&log));
}

/* ---- close tasks ---- */

#define TASKS 8u

static struct jzx__close_task tasks[TASKS];
static struct jzx__heap_item items[TASKS];

static int32_t nothing(void *ctx) {
    (void)ctx;
    return 0;
}

JZX_TEST(close_tasks_come_by_priority_and_equals_in_the_order_of_registration) {
    struct jzx__close_tasks close;
    static const enum jzx__close_priority priorities[] = {
        JZX__CLOSE_USER, JZX__CLOSE_RUNTIME,         JZX__CLOSE_USER,
        JZX__CLOSE_USER, JZX__CLOSE_SYSTEM_CRITICAL, JZX__CLOSE_RUNTIME};
    static const uint64_t order[] = {5, 2, 6, 1, 3, 4};
    jzx__close_init(&close, tasks, items, TASKS);
    for (unsigned i = 0; i < 6; i++)
        JZX_EXPECT_EQ(jzx__close_register(&close, nothing, NULL, priorities[i]), i + 1);
    for (unsigned i = 0; i < 6; i++)
        JZX_EXPECT_EQ(jzx__close_pop(&close)->id, order[i]);
    JZX_EXPECT(jzx__close_pop(&close) == NULL);
}

JZX_TEST(a_cancelled_close_task_does_not_come_and_leaves_its_room) {
    struct jzx__close_tasks close;
    jzx__close_init(&close, tasks, items, 2);
    uint64_t a = jzx__close_register(&close, nothing, NULL, JZX__CLOSE_USER);
    uint64_t b = jzx__close_register(&close, nothing, NULL, JZX__CLOSE_USER);
    JZX_EXPECT_EQ(jzx__close_register(&close, nothing, NULL, JZX__CLOSE_USER), 0);
    JZX_EXPECT(jzx__close_cancel(&close, a));
    JZX_EXPECT(!jzx__close_cancel(&close, a));
    uint64_t c = jzx__close_register(&close, nothing, NULL, JZX__CLOSE_USER);
    JZX_EXPECT(c > b);
    JZX_EXPECT_EQ(jzx__close_pop(&close)->id, b);
    JZX_EXPECT_EQ(jzx__close_pop(&close)->id, c);
}
