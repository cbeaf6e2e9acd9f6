/* SPDX-License-Identifier: MIT */
/* Faults and overflows in the code of a fiber end that fiber, and nobody else. */
#include "faults.h"
#include "fibering.h"

#include <jzx/fiber.h>

#include <pthread.h>

#define ALL (JZX_CONTAIN_OVERFLOW | JZX_CONTAIN_FAULTS)

static void run(jzx_loop *loop) {
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
}

static struct {
    pthread_mutex_t lock;
    char detail[JZX_EXIT_TEXT_MAX + 1];
    char name[JZX_NAME_MAX + 1];
    size_t stack_count;
    uint32_t count;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    pthread_mutex_lock(&seen.lock);
    if (event->kind == JZX_EVENT_ACTOR_FAIL) {
        snprintf(seen.detail, sizeof seen.detail, "%s", event->detail);
        snprintf(seen.name, sizeof seen.name, "%s", event->name == NULL ? "" : event->name);
        seen.stack_count = event->stack_count;
        seen.count++;
    }
    pthread_mutex_unlock(&seen.lock);
}

struct faller {
    struct life life; /* first */
    enum fault fault;
    uint32_t depth;
};

static AS_IT_IS void fall_below(jzx_context *ctx, struct faller *self, uint32_t depth) {
    volatile char frame[64] = {(char)depth};
    if (depth > 0) {
        fall_below(ctx, self, depth - 1);
        sink = frame[0];
        return;
    }
    jzx_yield(ctx); /* it has waited before */
    do_fault(self->fault);
    JZX_EXPECT(false && "it goes on");
}

static AS_IT_IS void fall(jzx_context *ctx) {
    struct faller *self = ctx->state;
    jzx_message msg;
    self->life.begun++;
    jzx_receive(ctx, JZX_NEVER, &msg);
    fall_below(ctx, self, self->depth);
}

/* The neighbours are in the middle of a wait, before and after. */
static void count_messages(jzx_context *ctx) {
    uint32_t *count = ctx->state;
    jzx_message msg;
    for (uint32_t i = 1; i <= 2; i++) {
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, i, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
        ++*count;
    }
}

static void watch_it(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_exit_notice how;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    jzx_actor_id id = (jzx_actor_id)number_of(&msg);
    fixture_send(ctx->loop, id, 1);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, &how), JZX_OK);
    JZX_EXPECT(how.reason == JZX_EXIT_FAULT || how.reason == JZX_EXIT_NO_ACTOR);
    fixture_send(ctx->loop, life->other, 2);
    life->finished++;
}

static void contain_one(uint32_t worker, enum fault fault, uint32_t depth) {
    struct faller self = {.fault = fault, .depth = depth};
    struct life watcher = {0};
    uint32_t count = 0;
    uint16_t place = JZX_PLACE_WORKER(worker);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = worker + 1, .contain = ALL));
    assert_non_null(loop);
    seen.count = 0;
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = on_event), NULL),
                     JZX_OK);
    watcher.other = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.fiber = count_messages, .state = &count, .place = place));
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fall, .state = &self, .name = "faller",
                                            .cleanup = note_cleanup, .place = place));
    fixture_send(loop, watcher.other, 1);
    send_number(loop, spawn_fiber(loop, watch_it, &watcher), JZX_NOBODY, id, 1);
    run(loop);
    JZX_EXPECT_EQ(count, 2);
    JZX_EXPECT_EQ(watcher.finished, 1);
    expect_ended(&self.life, JZX_EXIT_FAULT);
    JZX_EXPECT_EQ(seen.count, 1);
    JZX_EXPECT_EQ(strcmp(seen.name, "faller"), 0);
    JZX_EXPECT_EQ(strncmp(seen.detail, text_of(fault), strlen(text_of(fault))), 0);
    JZX_EXPECT(seen.stack_count >= 1);
    fixture_destroy(loop);
}

JZX_TEST(faults_in_a_fiber_end_only_it, "C20", "E17") {
    for (enum fault fault = 0; fault < FAULT_COUNT; fault++) {
        if (!can_happen(fault))
            continue;
        contain_one(0, fault, 0);
        contain_one(1, fault, 10);
    }
}

/* Stacks that fibers have fallen from are used again, and the thread's own is as it was. */
JZX_TEST(many_fibers_fault_on_one_thread, "C20", "E17") {
    enum { TIMES = 300 };
    static struct faller fallers[TIMES];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .contain = ALL));
    assert_non_null(loop);
    for (uint32_t i = 0; i < TIMES; i++) {
        fallers[i] = (struct faller){.fault = i % 2 ? OVERFLOW : WRITE_NULL, .depth = i % 20};
        jzx_actor_id id = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.fiber = fall, .state = &fallers[i], .cleanup = note_cleanup,
                                  .stack_size_bytes = i % 3 ? 0 : 20000));
        fixture_send(loop, id, 1);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        expect_ended(&fallers[i].life, JZX_EXIT_FAULT);
    }
    JZX_EXPECT_EQ(fixture_stats(loop).failed, TIMES);
    fixture_destroy(loop);
}

/* Takes eight buffers more, on the worker; they are all different. */
struct hoard {
    void *buffers[24];
    uint32_t count;
};

static jzx_behavior_result hoard_more(jzx_context *ctx, const jzx_message *msg) {
    struct hoard *self = ctx->state;
    (void)msg;
    for (uint32_t end = self->count + 8; self->count < end; self->count++) {
        self->buffers[self->count] = jzx_msg_alloc(ctx->loop, 60, NULL);
        for (uint32_t i = 0; i < self->count; i++)
            JZX_EXPECT(self->buffers[i] != self->buffers[self->count]);
    }
    return JZX_BEHAVIOR_OK;
}

/* Or two of the next buffers would be one. Some are taken before, so that the worker's magazine has
 * room for what comes back. */
JZX_TEST(the_message_in_the_hand_of_a_fiber_that_faults_is_released_once, "C20", "E17") {
    static const char text[60];
    static struct faller faller;
    struct hoard hoard = {.count = 0};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .contain = ALL));
    assert_non_null(loop);
    faller = (struct faller){.fault = WRITE_NULL};
    jzx_actor_id hoarder =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = hoard_more, .state = &hoard));
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.fiber = fall, .state = &faller, .cleanup = note_cleanup));
    fixture_send(loop, hoarder, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, text, sizeof text, 1), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    expect_ended(&faller.life, JZX_EXIT_FAULT);
    fixture_send(loop, hoarder, 1);
    fixture_send(loop, hoarder, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(hoard.count, 24);
    for (uint32_t i = 0; i < hoard.count; i++)
        jzx_msg_free(loop, hoard.buffers[i]);
    fixture_destroy(loop);
}

static AS_IT_IS bool fall_in_predicate(void *arg, const jzx_message *msg) {
    (void)msg;
    do_fault(*(enum fault *)arg);
    return true;
}

static AS_IT_IS void match_badly(jzx_context *ctx) {
    struct faller *self = ctx->state;
    jzx_message msg;
    self->life.begun++;
    jzx_receive_match(ctx, fall_in_predicate, &self->fault, JZX_NEVER, &msg);
    self->life.finished++;
}

JZX_TEST(a_fault_in_a_predicate_ends_only_its_fiber, "C20") {
    static const enum fault faults[] = {WRITE_NULL, OVERFLOW};
    for (uint32_t i = 0; i < 2; i++) {
        struct faller self = {.fault = faults[i]};
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .contain = ALL));
        assert_non_null(loop);
        jzx_actor_id id = spawn_fiber(loop, match_badly, &self.life);
        fixture_send(loop, id, 1);
        run(loop);
        JZX_EXPECT_EQ(self.life.finished, 0);
        expect_ended(&self.life, JZX_EXIT_FAULT);
        fixture_destroy(loop);
    }
}

static AS_IT_IS void fall_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    note_cleanup(ctx, reason);
    do_fault(OVERFLOW);
}

static void return_at_once(jzx_context *ctx) {
    struct life *life = ctx->state;
    life->finished++;
}

JZX_TEST(a_fault_in_the_cleanup_of_a_fiber_is_contained, "C20") {
    struct life life = {0};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .contain = ALL));
    assert_non_null(loop);
    fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.fiber = return_at_once, .state = &life, .cleanup = fall_in_cleanup));
    run(loop);
    JZX_EXPECT_EQ(life.finished, 1);
    expect_ended(&life, JZX_EXIT_NORMAL);
    fixture_destroy(loop);
}
