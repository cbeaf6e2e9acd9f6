/* SPDX-License-Identifier: MIT */
/* From events to callbacks: each kind calls its own callback with the event's fields, then
 * on_event. */
#include "observe/observer.h"

#include "jzx_test.h"

#include <string.h>

/* One letter per call, in order, and the arguments of the last one. */
struct seen {
    char calls[64];
    jzx_actor_id id;
    const char *name;
    jzx_exit_reason reason;
    uint32_t attempt;
    const jzx_event *event;
    struct jzx__observer *observer; /* to change in a callback */
};

static void note(struct seen *seen, char call, jzx_actor_id id) {
    seen->calls[strlen(seen->calls)] = call;
    seen->id = id;
}

static void on_start(void *ctx, jzx_actor_id id, const char *name) {
    note(ctx, 's', id);
    ((struct seen *)ctx)->name = name;
}

static void on_stop(void *ctx, jzx_actor_id id, jzx_exit_reason reason) {
    note(ctx, 'e', id);
    ((struct seen *)ctx)->reason = reason;
}

static void on_restart(void *ctx, jzx_actor_id id, uint32_t attempt) {
    note(ctx, 'r', id);
    ((struct seen *)ctx)->attempt = attempt;
}

static void on_escalate(void *ctx, jzx_actor_id id) {
    note(ctx, 'u', id);
}

static void on_full(void *ctx, jzx_actor_id id) {
    note(ctx, 'f', id);
}

static void on_event(void *ctx, const jzx_event *event) {
    note(ctx, '*', event->actor);
    ((struct seen *)ctx)->event = event;
}

static const jzx_observer all = {
    .size = sizeof(jzx_observer),
    .on_actor_start = on_start,
    .on_actor_stop = on_stop,
    .on_actor_restart = on_restart,
    .on_supervisor_escalate = on_escalate,
    .on_mailbox_full = on_full,
    .on_event = on_event,
};

static const jzx_event event_of[] = {
    {.kind = JZX_EVENT_LOOP_START},
    {.kind = JZX_EVENT_LOOP_STOP},
    {.kind = JZX_EVENT_ACTOR_START, .actor = 11, .name = "eleven"},
    {.kind = JZX_EVENT_ACTOR_STOP, .actor = 12, .reason = JZX_EXIT_NORMAL},
    {.kind = JZX_EVENT_ACTOR_FAIL, .actor = 13, .reason = JZX_EXIT_FAIL},
    {.kind = JZX_EVENT_ACTOR_RESTART, .actor = 14, .attempt = 3},
    {.kind = JZX_EVENT_SUPERVISOR_ESCALATE, .actor = 15},
    {.kind = JZX_EVENT_MAILBOX_FULL, .actor = 16},
    {.kind = JZX_EVENT_DEAD_LETTER, .actor = 17, .sender = 5, .tag = 6, .len = 7},
};
static const char *const calls_of[] = {"*", "*", "s*", "e*", "e*", "r*", "u*", "f*", "*"};

#define KIND_COUNT (sizeof event_of / sizeof event_of[0])

JZX_TEST(each_kind_calls_its_own_callback_and_then_the_one_for_all) {
    struct jzx__observer observer = {0};
    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct seen seen = {.calls = ""};
        jzx__observer_set(&observer, &all, &seen);
        jzx__observer_emit(&observer, &event_of[i]);
        assert_string_equal(seen.calls, calls_of[i]);
        JZX_EXPECT_EQ(seen.id, event_of[i].actor);
        JZX_EXPECT(seen.event == &event_of[i]);
        JZX_EXPECT(seen.name == event_of[i].name);
        JZX_EXPECT_EQ(seen.reason, event_of[i].reason);
        JZX_EXPECT_EQ(seen.attempt, event_of[i].attempt);
    }
}

JZX_TEST(callbacks_that_are_null_are_passed_over) {
    struct jzx__observer observer = {0};
    struct seen seen = {.calls = ""};
    jzx_observer only_events = {.size = sizeof only_events, .on_event = on_event};
    jzx__observer_set(&observer, &only_events, &seen);
    for (size_t i = 0; i < KIND_COUNT; i++)
        jzx__observer_emit(&observer, &event_of[i]);
    assert_string_equal(seen.calls, "*********");

    jzx_observer without_events = all;
    without_events.on_event = NULL;
    memset(seen.calls, 0, sizeof seen.calls);
    jzx__observer_set(&observer, &without_events, &seen);
    for (size_t i = 0; i < KIND_COUNT; i++)
        jzx__observer_emit(&observer, &event_of[i]);
    assert_string_equal(seen.calls, "seeruf");

    jzx_observer nothing = {.size = sizeof nothing};
    memset(seen.calls, 0, sizeof seen.calls);
    jzx__observer_set(&observer, &nothing, &seen);
    for (size_t i = 0; i < KIND_COUNT; i++)
        jzx__observer_emit(&observer, &event_of[i]);
    assert_string_equal(seen.calls, "");
}

JZX_TEST(an_observer_that_is_not_set_hears_nothing) {
    struct jzx__observer observer = {0};
    struct seen seen = {.calls = ""};
    JZX_EXPECT(!jzx__observer_is_set(&observer));
    jzx__observer_emit(&observer, &event_of[2]);
    jzx__observer_set(&observer, &all, &seen);
    JZX_EXPECT(jzx__observer_is_set(&observer));
    jzx__observer_emit(&observer, &event_of[2]);
    jzx__observer_set(&observer, NULL, &seen);
    JZX_EXPECT(!jzx__observer_is_set(&observer));
    jzx__observer_emit(&observer, &event_of[2]);
    assert_string_equal(seen.calls, "s*");
}

JZX_TEST(the_callbacks_are_copied) {
    struct jzx__observer observer = {0};
    struct seen seen = {.calls = ""};
    jzx_observer mine = all;
    jzx__observer_set(&observer, &mine, &seen);
    memset(&mine, 0, sizeof mine);
    jzx__observer_emit(&observer, &event_of[7]);
    assert_string_equal(seen.calls, "f*");
}

static void take_the_observer_away(void *ctx, jzx_actor_id id) {
    struct seen *seen = ctx;
    note(seen, 'x', id);
    jzx__observer_set(seen->observer, NULL, NULL);
}

JZX_TEST(a_callback_may_replace_the_observer_and_its_event_is_still_whole) {
    struct jzx__observer observer = {0};
    struct seen seen = {.calls = "", .observer = &observer};
    jzx_observer leaving = all;
    leaving.on_mailbox_full = take_the_observer_away;
    jzx__observer_set(&observer, &leaving, &seen);
    jzx__observer_emit(&observer, &event_of[7]);
    jzx__observer_emit(&observer, &event_of[7]);
    assert_string_equal(seen.calls, "x*");
}
