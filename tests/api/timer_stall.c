/* SPDX-License-Identifier: MIT */
/* Timers and where actors run: bound to a worker, and in a behaviour whose worker went on without
 * it. Such a behaviour waits for what only a timer of another actor of its own worker brings. */
#include "timing.h"

#include <errno.h>
#include <semaphore.h>

enum { GO = 1, OLD = 2, NEW = 3, RATE = 4, PLAIN = 5, LONG = 6, NEAR = 7, DROPPED = 8, WAKE = 9 };

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

struct staller {
    sem_t go;
    jzx_actor_id id;
    jzx_actor_id waker;
    jzx_actor_id near;       /* another of the same worker */
    jzx_timer_id dropped;    /* that the waker cancels */
    jzx_timer_id rate;       /* in whose message it stalls, if it does */
    uint32_t seen[WAKE + 1]; /* messages by tag */
    uint32_t timeouts;
    uint64_t firings;
    uint64_t start_ns;
};

static struct staller staller;

/* Runs only when a spare thread drives the worker. */
static jzx_behavior_result let_go(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    if (staller.dropped != JZX_NO_TIMER)
        JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, staller.dropped), JZX_OK);
    if (staller.rate != JZX_NO_TIMER)
        JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, staller.rate),
                      JZX_OK); /* its message is in hand */
    sem_post(&staller.go);
    return JZX_BEHAVIOR_STOP;
}

static void stall(jzx_context *ctx) {
    JZX_EXPECT_EQ(
        jzx_send_after(ctx->loop, staller.waker, ctx->self, NULL, 0, WAKE, JZX_MS(3), NULL),
        JZX_OK);
    wait_for(&staller.go);
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
}

/* Everything, after its worker has gone on. */
static void use_timers(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_missed(ctx), 0);
    JZX_EXPECT(jzx_timer_is_active(ctx, 1));
    JZX_EXPECT(jzx_timer_is_active(ctx, 2));
    JZX_EXPECT(!jzx_timer_is_active(ctx, 3));
    JZX_EXPECT_EQ(jzx_timer_stop(ctx, 1), JZX_OK);
    JZX_EXPECT(!jzx_timer_is_active(ctx, 1));
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 2, "0123456789", 10, NEW, JZX_MS(1)), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 3, NULL, 0, RATE, JZX_MS(1), JZX_FIXED_RATE), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 4, NULL, 0, LONG, JZX_SECOND(1000)), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_stop(ctx, 4), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_SECOND(1000)), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(2)), JZX_OK); /* the last one holds */
    timing_set(ctx->loop, ctx->self, PLAIN, JZX_MS(1));
    timing_set(ctx->loop, staller.near, NEAR, JZX_MS(1));
    jzx_timer_id timer = timing_set(ctx->loop, ctx->self, DROPPED, JZX_MS(1));
    JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, timer), JZX_OK);
}

static jzx_behavior_result stall_and_set(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == JZX_TAG_RECEIVE_TIMEOUT)
        staller.timeouts++;
    else if (JZX_EXPECT(msg->tag <= WAKE))
        staller.seen[msg->tag]++;
    if (msg->tag == GO) {
        JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, NULL, 0, LONG, JZX_SECOND(1000)), JZX_OK);
        JZX_EXPECT_EQ(jzx_timer_start(ctx, 2, "abc", 3, OLD, 0), JZX_OK); /* fires in the stall */
        staller.dropped = timing_set(ctx->loop, ctx->self, DROPPED, 0);   /* likewise */
        stall(ctx);
        use_timers(ctx);
    }
    bool is_over =
        staller.seen[NEW] && staller.seen[RATE] > 3 && staller.seen[PLAIN] && staller.timeouts > 1;
    return is_over ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_loop *open_with_staller(jzx_behavior_fn behavior, struct recorder *near) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(1)));
    assert_non_null(loop);
    memset(&staller, 0, sizeof staller);
    sem_init(&staller.go, 0, 0);
    staller.id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = behavior, .place = JZX_PLACE_WORKER(1)));
    staller.waker =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = let_go, .place = JZX_PLACE_WORKER(1)));
    staller.near = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = record, .state = near, .place = JZX_PLACE_WORKER(1)));
    return loop;
}

JZX_TEST(timers_work_in_a_behaviour_whose_worker_went_on, "B+actor", "C23") {
    struct recorder near = {.stop_at = 1};
    jzx_loop *loop = open_with_staller(stall_and_set, &near);
    fixture_send(loop, staller.id, GO);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(staller.seen[OLD], 0); /* replaced, though its message waited */
    JZX_EXPECT_EQ(staller.seen[NEW], 1);
    JZX_EXPECT_EQ(staller.seen[PLAIN], 1);
    JZX_EXPECT_EQ(staller.seen[LONG], 0);
    JZX_EXPECT_EQ(staller.seen[DROPPED], 0);
    JZX_EXPECT_EQ(near.count, 1);
    fixture_destroy(loop);
    sem_destroy(&staller.go);
}

/* In the first message of a timer that repeats. */
static jzx_behavior_result stall_in_a_firing(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == GO)
        return JZX_BEHAVIOR_STOP;
    if (staller.seen[msg->tag]++ == 0)
        stall(ctx);
    staller.firings += 1 + jzx_timer_missed(ctx);
    JZX_EXPECT(jzx_loop_now(ctx->loop) >= staller.start_ns + JZX_MS(staller.firings));
    return staller.seen[RATE] > 5 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(a_fixed_rate_goes_on_after_a_stall_in_its_message, "B+actor", "X15") {
    for (uint32_t i = 0; i < 2; i++) {
        struct recorder near = {.stop_at = 1};
        jzx_loop *loop = open_with_staller(stall_in_a_firing, &near);
        staller.start_ns = jzx_loop_now(loop);
        timing_repeat(loop, staller.id, RATE, JZX_MS(1), i == 0 ? JZX_FIXED_RATE : JZX_FIXED_DELAY);
        fixture_send(loop, staller.near, 1);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(staller.seen[RATE], 6);
        fixture_destroy(loop);
        sem_destroy(&staller.go);
    }
}

JZX_TEST(a_repeating_timer_can_be_cancelled_while_its_message_stalls, "B+actor", "X15") {
    for (uint32_t i = 0; i < 2; i++) {
        struct recorder near = {.stop_at = 1};
        jzx_loop *loop = open_with_staller(stall_in_a_firing, &near);
        staller.start_ns = jzx_loop_now(loop);
        staller.rate = timing_repeat(loop, staller.id, RATE, JZX_MS(1),
                                     i == 0 ? JZX_FIXED_RATE : JZX_FIXED_DELAY);
        fixture_send(loop, staller.near, 1);
        timing_set(loop, staller.id, GO, JZX_MS(50)); /* time for what must not come */
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(staller.seen[RATE], 1);
        fixture_destroy(loop);
        sem_destroy(&staller.go);
    }
}

/* ---- bound actors ---- */

struct bound {
    uint32_t worker;
    uint32_t left;
    jzx_actor_id next; /* for whom it sets timers */
};

static jzx_behavior_result check_worker(jzx_context *ctx, const jzx_message *msg) {
    struct bound *self = ctx->state;
    JZX_EXPECT_EQ(jzx_current_worker(), self->worker);
    if (msg->tag == DROPPED) {
        JZX_EXPECT(false && "a timer that was cancelled");
        return JZX_BEHAVIOR_OK;
    }
    timing_set(ctx->loop, self->next, PLAIN, JZX_US(msg->tag * 100));
    jzx_timer_id timer = timing_set(ctx->loop, self->next, DROPPED, JZX_MS(1000));
    JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, timer), JZX_OK); /* of an actor somewhere else */
    self->left -= self->left > 0;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_bound_actor_gets_its_timers_where_it_is_bound, "C23", "X16") {
    static struct bound bounds[3];
    jzx_actor_id ids[3];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 3));
    assert_non_null(loop);
    for (uint32_t i = 0; i < 3; i++) {
        bounds[i] = (struct bound){.worker = i, .left = 20};
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = check_worker, .state = &bounds[i],
                                                     .place = JZX_PLACE_WORKER(i), .daemon = true));
    }
    for (uint32_t i = 0; i < 3; i++) {
        bounds[i].next = ids[(i + 1) % 3];
        timing_set(loop, ids[i], PLAIN, 0);
    }
    bool is_over = false;
    while (!is_over) { /* between two runs nobody else touches what is looked at here */
        struct recorder last = {.stop_at = 1};
        jzx_actor_id id = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &last, .place = JZX_PLACE_CALLER));
        timing_set(loop, id, PLAIN, JZX_MS(1));
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(last.count, 1);
        is_over = bounds[0].left + bounds[1].left + bounds[2].left == 0;
    }
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}

/* ---- order ---- */

#define KEYS 16u

static struct {
    uint32_t next;
    bool in_order;
} order;

/* For one millisecond, which is far enough away that all are set in time. */
static void set_in_order(jzx_context *ctx) {
    uint64_t due = (jzx_loop_now(ctx->loop) / JZX_MS(1) + 50) * JZX_MS(1);
    for (uint32_t i = 0; i < KEYS; i++) {
        uint64_t delay = due - jzx_loop_now(ctx->loop);
        jzx_err err = i % 2 ? jzx_timer_start(ctx, i, &i, sizeof i, NEAR, delay)
                            : jzx_timer_start(ctx, 100 + i, &i, sizeof i, NEAR, delay);
        JZX_EXPECT_EQ(err, JZX_OK);
    }
}

static jzx_behavior_result stall_and_order(jzx_context *ctx, const jzx_message *msg) {
    uint32_t number;
    if (msg->tag == GO) {
        stall(ctx);
        set_in_order(ctx);
        return JZX_BEHAVIOR_OK;
    }
    memcpy(&number, msg->data, sizeof number);
    order.in_order = order.in_order && number == order.next;
    return ++order.next == KEYS ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(timers_set_in_a_turn_without_its_worker_keep_their_order, "E48") {
    struct recorder near = {.stop_at = 1};
    jzx_loop *loop = open_with_staller(stall_and_order, &near);
    order.next = 0;
    order.in_order = true;
    fixture_send(loop, staller.near, 1);
    fixture_send(loop, staller.id, GO);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(order.in_order);
    fixture_destroy(loop);
}
