/* SPDX-License-Identifier: MIT */
/* What the tests of exits, monitors and links share: actors that write down what comes, and do in
 * their own turn what the test orders. */
#ifndef JZX_API_WATCHING_H
#define JZX_API_WATCHING_H

#include "fixture.h"

#include <string.h>

#define DIARY_MAX 64u
#define TAG_ORDER 0xD0D0u

typedef jzx_behavior_result (*order_fn)(jzx_context *ctx, void *arg);

/* The payload of TAG_ORDER. */
struct order {
    order_fn fn;
    void *arg;
};

struct entry {
    jzx_actor_id sender;
    jzx_exit_notice notice; /* of JZX_TAG_DOWN and JZX_TAG_EXIT */
    uint32_t tag;
};

/* The state of an actor that writes down what comes, and how it ends. */
struct diary {
    struct entry entries[DIARY_MAX];
    uint32_t count; /* may go beyond DIARY_MAX: the rest is only counted */
    uint32_t cleanups;
    jzx_exit_reason reason;
    jzx_behavior_result (*then)(jzx_context *ctx, const jzx_message *msg); /* may be NULL */
    void (*last)(jzx_context *ctx); /* in the cleanup; may be NULL */
};

static inline jzx_behavior_result keep_diary(jzx_context *ctx, const jzx_message *msg) {
    struct diary *self = ctx->state;
    if (msg->tag == TAG_ORDER) {
        struct order order;
        memcpy(&order, msg->data, sizeof order);
        jzx_test_ran();
        return order.fn(ctx, order.arg);
    }
    struct entry entry = {.tag = msg->tag, .sender = msg->sender};
    if (msg->tag == JZX_TAG_DOWN || msg->tag == JZX_TAG_EXIT) {
        JZX_EXPECT_EQ(msg->len, sizeof entry.notice);
        memcpy(&entry.notice, msg->data, sizeof entry.notice);
        JZX_EXPECT_EQ(entry.notice.actor, msg->sender);
        JZX_EXPECT(memchr(entry.notice.text, '\0', sizeof entry.notice.text) != NULL);
    }
    if (self->count < DIARY_MAX)
        self->entries[self->count] = entry;
    self->count++;
    return self->then != NULL ? self->then(ctx, msg) : JZX_BEHAVIOR_OK;
}

static inline void end_diary(jzx_context *ctx, jzx_exit_reason reason) {
    struct diary *self = ctx->state;
    self->cleanups++;
    self->reason = reason;
    if (self->last != NULL)
        self->last(ctx);
}

#define DIARY_OPTS(diary, ...)                                                                     \
    JZX_SPAWN_OPTS(.behavior = keep_diary, .cleanup = end_diary, .state = (diary), __VA_ARGS__)

static inline jzx_actor_id diary_spawn(jzx_loop *loop, struct diary *diary) {
    return fixture_spawn(loop, &DIARY_OPTS(diary, .name = "diary"));
}

static inline void step(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

/* Its turn comes when the loop goes on. */
static inline void order(jzx_loop *loop, jzx_actor_id id, order_fn fn, void *arg) {
    struct order what = {fn, arg};
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, &what, sizeof what, TAG_ORDER), JZX_OK);
}

/* ---- orders ---- */

struct call {
    jzx_actor_id target;
    jzx_monitor_ref ref;
    jzx_err err;
};

static inline jzx_behavior_result call_monitor(jzx_context *ctx, void *arg) {
    struct call *call = arg;
    call->err = jzx_monitor(ctx, call->target, &call->ref);
    return JZX_BEHAVIOR_OK;
}

static inline jzx_behavior_result call_demonitor(jzx_context *ctx, void *arg) {
    struct call *call = arg;
    call->err = jzx_demonitor(ctx, call->ref);
    return JZX_BEHAVIOR_OK;
}

static inline jzx_behavior_result call_link(jzx_context *ctx, void *arg) {
    struct call *call = arg;
    call->err = jzx_link(ctx, call->target);
    return JZX_BEHAVIOR_OK;
}

static inline jzx_behavior_result call_unlink(jzx_context *ctx, void *arg) {
    struct call *call = arg;
    call->err = jzx_unlink(ctx, call->target);
    return JZX_BEHAVIOR_OK;
}

static inline jzx_behavior_result call_trap(jzx_context *ctx, void *arg) {
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, arg != NULL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static inline jzx_behavior_result call_stop(jzx_context *ctx, void *arg) {
    (void)ctx;
    (void)arg;
    return JZX_BEHAVIOR_STOP;
}

/* arg is a text. */
static inline jzx_behavior_result call_exit(jzx_context *ctx, void *arg) {
    jzx_exit(ctx, JZX_EXIT_FAIL, arg);
}

/* ---- and all that is ready is run ---- */

static inline void now(jzx_loop *loop, jzx_actor_id id, order_fn fn, void *arg) {
    uint64_t before = jzx_test_runs();
    order(loop, id, fn, arg);
    step(loop);
    JZX_EXPECT(jzx_test_runs() > before);
}

static inline jzx_err now_monitor(jzx_loop *loop, jzx_actor_id id, jzx_actor_id target,
                                  jzx_monitor_ref *ref) {
    struct call call = {.target = target, .err = 1};
    now(loop, id, call_monitor, &call);
    if (ref != NULL)
        *ref = call.ref;
    return call.err;
}

static inline jzx_err now_demonitor(jzx_loop *loop, jzx_actor_id id, jzx_monitor_ref ref) {
    struct call call = {.ref = ref, .err = 1};
    now(loop, id, call_demonitor, &call);
    return call.err;
}

static inline jzx_err now_link(jzx_loop *loop, jzx_actor_id id, jzx_actor_id other) {
    struct call call = {.target = other, .err = 1};
    now(loop, id, call_link, &call);
    return call.err;
}

static inline jzx_err now_unlink(jzx_loop *loop, jzx_actor_id id, jzx_actor_id other) {
    struct call call = {.target = other, .err = 1};
    now(loop, id, call_unlink, &call);
    return call.err;
}

/* ---- what came ---- */

static inline void expect_notice(const struct diary *diary, uint32_t index, uint32_t tag,
                                 jzx_actor_id actor, jzx_exit_reason reason) {
    if (!JZX_EXPECT(index < diary->count && index < DIARY_MAX))
        return;
    const struct entry *entry = &diary->entries[index];
    JZX_EXPECT_EQ(entry->tag, tag);
    JZX_EXPECT_EQ(entry->notice.actor, actor);
    JZX_EXPECT_EQ(entry->notice.reason, reason);
}

/* Also right while messages of the runtime wait, which fixture_check_books is not. */
static inline void check_sums(jzx_loop *loop) {
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.accepted, stats.handled + stats.dead + stats.waiting);
}

#endif
