/* SPDX-License-Identifier: MIT */
/* What the tests of supervisors share: toy children that write down when they start and end and
 * why, trees of them on a clock that only the test moves, and a record of what an observer was
 * told. */
#ifndef JZX_API_SUPERVISING_H
#define JZX_API_SUPERVISING_H

#include "timing.h"

#include <jzx/supervisor.h>

#include <stdio.h>

/* What a toy does with a message of this tag; it ignores others. */
enum {
    TOY_FAIL = 1,
    TOY_STOP,
    TOY_PANIC,
    TOY_EXIT_FAIL,
    TOY_EXIT_NORMAL,
    TOY_EXIT_SHUTDOWN,
    TOY_CHECK,
    TOY_NOTHING
};

/* "+a" when the init of a begins, "-aF" when it ends, with the letter of its reason. */
static char trace[65536];
static size_t trace_length;

static inline void trace_clear(void) {
    trace_length = 0;
    trace[0] = '\0';
}

static inline void trace_add(const char *text) {
    size_t length = strlen(text);
    if (!JZX_EXPECT(trace_length + length < sizeof trace))
        return;
    memcpy(trace + trace_length, text, length + 1);
    trace_length += length;
}

static inline char reason_letter(jzx_exit_reason reason) {
    return "NFPKSUO"[reason]; /* normal, fail, panic, killed, shutdown, fault, no actor */
}

static inline void trace_start(const char *name) {
    char text[64];
    snprintf(text, sizeof text, "+%s ", name);
    trace_add(text);
}

static inline void trace_end(const char *name, jzx_exit_reason reason) {
    char text[64];
    snprintf(text, sizeof text, "-%s%c ", name, reason_letter(reason));
    trace_add(text);
}

/* The trace since the last look. */
static inline bool expect_trace_at(const char *expected, const char *file, int line) {
    bool same = strcmp(trace, expected) == 0;
    if (!same)
        print_error("%s:%d: the trace is \"%s\", not \"%s\"\n", file, line, trace, expected);
    jzx_test_expect(same, "the trace is as expected", file, line);
    trace_clear();
    return same;
}
#define expect_trace(expected) expect_trace_at((expected), __FILE__, __LINE__)

/* ---- toys: their state is their name ---- */

static inline jzx_err toy_init(jzx_context *ctx) {
    trace_start(ctx->state);
    return JZX_OK;
}

static inline void toy_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    trace_end(ctx->state, reason);
}

static inline jzx_behavior_result toy(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    switch (msg->tag) {
    case TOY_FAIL: return JZX_BEHAVIOR_FAIL;
    case TOY_STOP: return JZX_BEHAVIOR_STOP;
    case TOY_PANIC: return (jzx_behavior_result)77;
    case TOY_EXIT_FAIL: jzx_exit(ctx, JZX_EXIT_FAIL, "no more tea");
    case TOY_EXIT_NORMAL: jzx_exit(ctx, JZX_EXIT_NORMAL, "all done");
    case TOY_EXIT_SHUTDOWN: jzx_exit(ctx, JZX_EXIT_SHUTDOWN, "going down");
    case TOY_CHECK: JZX_CHECK(ctx, msg->tag == 0); break;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}

#define TOY(child)                                                                                 \
    .name = (child), .behavior = toy, .init = toy_init, .cleanup = toy_cleanup,                    \
    .state = (void *)(uintptr_t)(child)

/* An init that fails as often as `failures_left` says. */
static uint32_t failures_left;

static inline jzx_err fussy_init(jzx_context *ctx) {
    trace_start(ctx->state);
    if (failures_left == 0)
        return JZX_OK;
    failures_left--;
    return JZX_ERR_UNKNOWN;
}

#define FUSSY(child)                                                                               \
    .name = (child), .behavior = toy, .init = fussy_init, .cleanup = toy_cleanup,                  \
    .state = (void *)(uintptr_t)(child)

/* ---- what the observer saw ---- */

#define SEEN_MAX 4096u

struct seen {
    jzx_event_kind kind;
    jzx_actor_id actor;
    jzx_exit_reason reason;
    uint32_t attempt;
    uint64_t elapsed_ns;
    char name[JZX_NAME_MAX + 1];
    char detail[128];
};

static struct seen seen[SEEN_MAX];
static uint32_t seen_count;
static uint32_t escalations; /* calls of on_supervisor_escalate */
static uint32_t restarts;    /* calls of on_actor_restart */
static jzx_actor_id escalated[64];

static inline void see_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_ACTOR_RESTART && event->kind != JZX_EVENT_SUPERVISOR_ESCALATE &&
        event->kind != JZX_EVENT_STOP_LATE)
        return;
    if (seen_count == SEEN_MAX)
        return;
    struct seen *entry = &seen[seen_count++];
    *entry = (struct seen){.kind = event->kind,
                           .actor = event->actor,
                           .reason = event->reason,
                           .attempt = event->attempt,
                           .elapsed_ns = event->elapsed_ns};
    snprintf(entry->name, sizeof entry->name, "%s", event->name != NULL ? event->name : "");
    snprintf(entry->detail, sizeof entry->detail, "%s", event->detail != NULL ? event->detail : "");
}

static inline void see_escalate(void *ctx, jzx_actor_id id) {
    (void)ctx;
    if (escalations < 64)
        escalated[escalations] = id;
    escalations++;
}

static inline void see_restart(void *ctx, jzx_actor_id id, uint32_t attempt) {
    (void)ctx;
    (void)id;
    (void)attempt;
    restarts++;
}

/* ---- trees ---- */

/* A loop on a manual clock, with an observer and an empty trace. config may be NULL. */
static inline struct timing nursery_open_with(const jzx_config *config) {
    struct timing timing = timing_open_with(JZX_MS(1000), config);
    trace_clear();
    seen_count = 0;
    escalations = 0;
    restarts = 0;
    failures_left = 0;
    JZX_EXPECT_EQ(jzx_loop_set_observer(timing.loop,
                                        &JZX_OBSERVER(.on_event = see_event,
                                                      .on_supervisor_escalate = see_escalate,
                                                      .on_actor_restart = see_restart),
                                        NULL),
                  JZX_OK);
    return timing;
}

static inline struct timing nursery_open(void) {
    return nursery_open_with(NULL);
}

static inline jzx_actor_id nursery_tree(const struct timing *timing,
                                        const jzx_supervisor_opts *opts) {
    jzx_actor_id root = JZX_NOBODY;
    assert_int_equal(jzx_spawn_supervisor(timing->loop, opts, &root), JZX_OK);
    timing_step(timing);
    return root;
}

/* One turn only. */
static inline jzx_err one_turn(const struct timing *timing) {
    return jzx_loop_step(timing->loop, 0);
}

static inline jzx_actor_id child_of(const struct timing *timing, jzx_actor_id supervisor,
                                    const char *name) {
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_supervisor_child(timing->loop, supervisor, name, &id), JZX_OK);
    JZX_EXPECT(id != JZX_NOBODY);
    return id;
}

static inline bool has_child(const struct timing *timing, jzx_actor_id supervisor,
                             const char *name) {
    jzx_actor_id id = 77;
    jzx_err err = jzx_supervisor_child(timing->loop, supervisor, name, &id);
    if (err != JZX_OK) {
        JZX_EXPECT_EQ(err, JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT_EQ(id, 77);
    }
    return err == JZX_OK;
}

static inline void tell(const struct timing *timing, jzx_actor_id supervisor, const char *name,
                        uint32_t tag) {
    uint64_t before = jzx_test_runs();
    fixture_send(timing->loop, child_of(timing, supervisor, name), tag);
    timing_step(timing);
    JZX_EXPECT(jzx_test_runs() > before);
}

static inline jzx_child_info info_of(const struct timing *timing, jzx_actor_id supervisor,
                                     size_t index) {
    jzx_child_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_supervisor_child_info(timing->loop, supervisor, index, &info), JZX_OK);
    return info;
}

static inline jzx_supervisor_info family_of(const struct timing *timing, jzx_actor_id supervisor) {
    jzx_supervisor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_supervisor_info_get(timing->loop, supervisor, &info), JZX_OK);
    return info;
}

/* Whether an actor of that id lives. */
static inline bool lives(const struct timing *timing, jzx_actor_id id) {
    jzx_actor_info info = {.size = sizeof info};
    return jzx_actor_info_get(timing->loop, id, &info) == JZX_OK;
}

static inline void stop_supervisor(const struct timing *timing, jzx_actor_id id) {
    JZX_EXPECT_EQ(jzx_actor_stop(timing->loop, id, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    timing_step(timing);
}

/* The whole tree is stopped, and nothing is left. */
static inline void nursery_close(struct timing *timing, jzx_actor_id root) {
    stop_supervisor(timing, root);
    JZX_EXPECT(!jzx_loop_alive(timing->loop));
    timing_close(timing);
}

#endif
