/* SPDX-License-Identifier: MIT */
/* The life of a fiber: it begins at its spawn, goes on where it waited, and ends as any actor. */
#include "fibering.h"

#include <jzx/ask.h>
#include <jzx/context.h>
#include <jzx/heap.h>
#include <jzx/name.h>

#include <pthread.h>
#include <stdatomic.h>

static void run(jzx_loop *loop) {
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
}

/* ---- begin and end ---- */

static void say_where(jzx_context *ctx) {
    struct life *life = ctx->state;
    life->begun++;
    JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_FIBER);
    JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
    JZX_EXPECT_EQ(jzx_current_worker(), 0);
    life->finished++;
}

JZX_TEST(a_fiber_begins_without_a_message_and_ends_when_it_returns, "E13") {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    jzx_actor_id id = spawn_fiber(loop, say_where, &life);
    assert_int_equal(life.begun, 0);
    run(loop);
    assert_int_equal(life.begun, 1);
    assert_int_equal(life.finished, 1);
    expect_ended(&life, JZX_EXIT_NORMAL);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_current_kind(), JZX_CONTEXT_NONE);
    fixture_destroy(loop);
}

JZX_TEST(a_fiber_that_never_began_has_its_cleanup, "E13") {
    struct life life = {0};
    jzx_loop *loop = fixture_loop();
    spawn_fiber(loop, say_where, &life);
    fixture_destroy(loop);
    assert_int_equal(life.begun, 0);
    expect_ended(&life, JZX_EXIT_SHUTDOWN);

    loop = fixture_loop();
    life = (struct life){0};
    jzx_actor_id id = spawn_fiber(loop, say_where, &life);
    assert_int_equal(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
    run(loop);
    assert_int_equal(life.begun, 0);
    expect_ended(&life, JZX_EXIT_KILLED);
    fixture_destroy(loop);
}

static jzx_err init_well(jzx_context *ctx) {
    struct life *life = ctx->state;
    JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_WAITLESS);
    JZX_EXPECT_EQ(life->begun, 0);
    note_tag(life, 1);
    return JZX_OK;
}

static jzx_err init_badly(jzx_context *ctx) {
    return init_well(ctx) == JZX_OK ? JZX_ERR_NO_MEMORY : JZX_OK;
}

JZX_TEST(the_init_of_a_fiber_runs_before_it, "E13") {
    jzx_loop *loop = fixture_loop();
    struct life good = {0};
    struct life bad = {0};
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = say_where, .init = init_well, .state = &good,
                                        .cleanup = note_cleanup));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = say_where, .init = init_badly, .state = &bad,
                                        .cleanup = note_cleanup));
    run(loop);
    assert_int_equal(good.count, 1);
    assert_int_equal(good.finished, 1);
    expect_ended(&good, JZX_EXIT_NORMAL);
    assert_int_equal(bad.count, 1);
    assert_int_equal(bad.begun, 0);
    expect_ended(&bad, JZX_EXIT_FAIL);
    fixture_destroy(loop);
}

static void replace_state(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->begun++;
    ctx->state = life + 1;
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(ctx->state, life + 1);
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    JZX_EXPECT_EQ(ctx->state, life + 1);
}

JZX_TEST(the_cleanup_has_the_state_that_the_fiber_put_in_place) {
    jzx_loop *loop = fixture_loop();
    struct life lives[4] = {0};
    fixture_send(loop, spawn_fiber(loop, replace_state, &lives[0]), 1);
    jzx_actor_id killed = spawn_fiber(loop, replace_state, &lives[2]);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_actor_stop(loop, killed, JZX_STOP_KILL), JZX_OK);
    run(loop);
    assert_int_equal(lives[0].cleaned, 0);
    expect_ended(&lives[1], JZX_EXIT_NORMAL);
    assert_int_equal(lives[2].cleaned, 0);
    expect_ended(&lives[3], JZX_EXIT_KILLED);
    fixture_destroy(loop);
}

/* ---- jzx_exit ---- */

/* It has waited in between. The compiler does not see that it never returns. */
static uint32_t wait_and_exit(jzx_context *ctx) {
    struct life *life = ctx->state;
    expect_next(ctx, 5);
    if (life->begun == 1)
        jzx_exit(ctx, JZX_EXIT_FAIL, "at the bottom");
    return 0;
}

static uint32_t exit_below(jzx_context *ctx, uint32_t depth) {
    volatile uint32_t frame[16] = {depth};
    return depth == 0 ? wait_and_exit(ctx) : exit_below(ctx, depth - 1) + frame[0];
}

static void exit_at_depth(jzx_context *ctx) {
    struct life *life = ctx->state;
    life->begun++;
    exit_below(ctx, 50);
    life->finished++;
}

static void fail_a_check(jzx_context *ctx) {
    struct life *life = ctx->state;
    expect_next(ctx, 5);
    JZX_CHECK(ctx, life->count == 1);
    life->finished++;
}

/* Watches life->other, and writes down the tag and the reason. */
struct watcher {
    struct life life;
    jzx_exit_notice notice;
};

static void watch_other(jzx_context *ctx) {
    struct watcher *self = ctx->state;
    jzx_message msg;
    self->life.begun++;
    JZX_EXPECT_EQ(jzx_monitor(ctx, self->life.other, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, JZX_TAG_DOWN, JZX_NEVER, &msg), JZX_OK);
    if (JZX_EXPECT_EQ(msg.len, sizeof self->notice))
        memcpy(&self->notice, msg.data, sizeof self->notice);
    self->life.finished++;
}

JZX_TEST(an_exit_leaves_a_fiber_at_any_depth, "E10") {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    struct watcher watcher = {0};
    jzx_actor_id id = watcher.life.other = spawn_fiber(loop, exit_at_depth, &life);
    spawn_fiber(loop, watch_other, &watcher.life);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(life.begun, 1);
    assert_int_equal(life.cleaned, 0);
    fixture_send(loop, id, 5);
    fixture_send(loop, id, 6); /* a dead letter */
    run(loop);
    assert_int_equal(life.finished, 0);
    expect_ended(&life, JZX_EXIT_FAIL);
    assert_int_equal(watcher.life.finished, 1);
    assert_int_equal(watcher.notice.actor, id);
    assert_int_equal(watcher.notice.reason, JZX_EXIT_FAIL);
    assert_string_equal(watcher.notice.text, "at the bottom");
    assert_int_equal(fixture_stats(loop).dead, 1);
    fixture_destroy(loop);
}

JZX_TEST(a_check_that_fails_ends_the_fiber, "E10") {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    struct watcher watcher = {0};
    watcher.life.other = spawn_fiber(loop, fail_a_check, &life);
    spawn_fiber(loop, watch_other, &watcher.life);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_send(loop, watcher.life.other, 5);
    run(loop);
    assert_int_equal(life.finished, 0);
    expect_ended(&life, JZX_EXIT_FAIL);
    assert_int_equal(watcher.notice.reason, JZX_EXIT_FAIL);
    assert_non_null(strstr(watcher.notice.text, "life->count == 1"));
    fixture_destroy(loop);
}

/* ---- heap, names, become ---- */

static void use_heap(jzx_context *ctx) {
    struct life *life = ctx->state;
    unsigned char *small = jzx_alloc(ctx, 100);
    unsigned char *large = jzx_alloc(ctx, 10000);
    life->begun++;
    if (!JZX_EXPECT(small != NULL && large != NULL))
        return;
    memset(small, 1, 100);
    memset(large, 2, 10000);
    expect_next(ctx, 1);
    JZX_EXPECT_EQ(small[99], 1);
    JZX_EXPECT_EQ(large[9999], 2);
    large = jzx_realloc(ctx, large, 20000);
    JZX_EXPECT(large != NULL && large[9999] == 2);
    expect_next(ctx, 2);
}

JZX_TEST(a_fiber_has_a_heap_that_goes_with_it) {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    jzx_actor_id id = spawn_fiber(loop, use_heap, &life);
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    uint64_t bytes = fixture_bytes();
    fixture_send(loop, id, 2);
    run(loop);
    expect_ended(&life, JZX_EXIT_NORMAL);
    assert_true(fixture_bytes() + 20000 <= bytes);
    fixture_destroy(loop);
}

static void refuse_become(jzx_context *ctx) {
    struct life *life = ctx->state;
    life->begun++;
    life->err = jzx_become(ctx, record);
    expect_next(ctx, 1);
    life->finished++;
}

JZX_TEST(a_fiber_has_names_as_any_actor_and_no_other_behaviour) {
    jzx_loop *loop = fixture_loop();
    struct life life = {.err = JZX_OK};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = refuse_become, .state = &life,
                                                          .name = "greeter", .mailbox_cap = 7,
                                                          .priority = JZX_PRIORITY_HIGH));
    assert_int_equal(jzx_register(loop, "desk", id), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(life.err, JZX_ERR_INVALID_ARG);
    jzx_actor_info info = info_of(loop, id);
    assert_string_equal(info.name, "greeter");
    assert_int_equal(info.mailbox_cap, 7);
    assert_int_equal(info.priority, JZX_PRIORITY_HIGH);
    assert_int_equal(info.status, JZX_ACTOR_RUNNING);
    assert_int_equal(jzx_send_named(loop, "desk", JZX_NOBODY, NULL, 0, 1), JZX_OK);
    run(loop);
    assert_int_equal(life.finished, 1);
    assert_int_equal(jzx_lookup(loop, "desk", &id), JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
}

/* ---- links ---- */

static void link_other(jzx_context *ctx) {
    struct life *life = ctx->state;
    life->begun++;
    JZX_EXPECT_EQ(jzx_link(ctx, life->other), JZX_OK);
    keep_life(ctx);
}

JZX_TEST(a_link_of_fibers_takes_the_other_along, "E19") {
    for (int from = 0; from < 2; from++) {
        jzx_loop *loop = fixture_loop();
        struct life lives[2] = {0};
        jzx_actor_id ids[2];
        ids[0] = lives[1].other = spawn_fiber(loop, keep_life, &lives[0]);
        ids[1] = spawn_fiber(loop, link_other, &lives[1]);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(jzx_actor_fail(loop, ids[from]), JZX_OK);
        run(loop);
        expect_ended(&lives[0], JZX_EXIT_FAIL);
        expect_ended(&lives[1], JZX_EXIT_FAIL);
        fixture_destroy(loop);
    }
}

JZX_TEST(a_fiber_that_returns_does_not_end_what_is_linked_to_it, "E19") {
    jzx_loop *loop = fixture_loop();
    struct life lives[2] = {0};
    jzx_actor_id first = lives[1].other = spawn_fiber(loop, keep_life, &lives[0]);
    jzx_actor_id second = spawn_fiber(loop, link_other, &lives[1]);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_send(loop, first, 0);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    expect_ended(&lives[0], JZX_EXIT_NORMAL);
    assert_int_equal(lives[1].cleaned, 0);
    fixture_send(loop, second, 0);
    run(loop);
    expect_ended(&lives[1], JZX_EXIT_NORMAL);
    fixture_destroy(loop);
}

/* ---- timers ---- */

static void keep_times(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->begun++;
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 7, NULL, 0, 1, JZX_MS(10)), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 8, NULL, 0, 2, JZX_MS(20)), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, 1);
    JZX_EXPECT_EQ(jzx_loop_now(ctx->loop), JZX_MS(10));
    JZX_EXPECT(!jzx_timer_is_active(ctx, 7));
    JZX_EXPECT(jzx_timer_is_active(ctx, 8));
    JZX_EXPECT_EQ(jzx_timer_stop(ctx, 8), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_MS(50), &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_loop_now(ctx->loop), JZX_MS(50));
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(5)), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, JZX_TAG_RECEIVE_TIMEOUT);
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_NEVER), JZX_OK);
    life->finished++;
}

JZX_TEST(a_fiber_has_timers_by_key_and_a_receive_timeout) {
    struct timing timing = timing_open();
    struct life life = {0};
    timing_fiber(&timing, keep_times, &life);
    for (int i = 0; i < 60; i++)
        timing_advance(&timing, JZX_MS(1));
    assert_int_equal(life.finished, 1);
    assert_int_equal(timing_pending(timing.loop), 0);
    timing_close(&timing);
}

static void count_ticks(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->begun++;
    for (uint32_t i = 1; i <= 3; i++) {
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, 9, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_now(ctx->loop), JZX_MS(10) * i);
        JZX_EXPECT_EQ(jzx_timer_missed(ctx), 0);
        JZX_EXPECT_EQ(number_of(&msg), 77);
        JZX_EXPECT_EQ(jzx_msg_take(ctx, &msg), NULL);
    }
    life->finished++;
}

JZX_TEST(a_timer_that_repeats_comes_to_a_fiber_and_ends_with_it) {
    struct timing timing = timing_open();
    struct life life = {0};
    uint64_t number = 77;
    jzx_actor_id id = spawn_fiber(timing.loop, count_ticks, &life);
    assert_int_equal(jzx_send_every(timing.loop, id, JZX_NOBODY, &number, sizeof number, 9,
                                    JZX_MS(10), JZX_FIXED_RATE, NULL),
                     JZX_OK);
    timing_step(&timing);
    for (int i = 0; i < 5; i++)
        timing_advance(&timing, JZX_MS(10));
    assert_int_equal(life.finished, 1);
    expect_ended(&life, JZX_EXIT_NORMAL);
    assert_int_equal(timing_pending(timing.loop), 0);
    timing_close(&timing);
}

/* ---- stash ---- */

static void put_aside(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->begun++;
    for (int i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(jzx_stash(ctx, &msg), JZX_OK);
        JZX_EXPECT_EQ(jzx_stash(ctx, &msg), JZX_ERR_INVALID_ARG);
    }
    expect_next(ctx, 4); /* it came behind them */
    JZX_EXPECT_EQ(jzx_unstash(ctx), 3);
    for (uint32_t i = 1; i <= 3; i++)
        expect_next(ctx, i);
    expect_next(ctx, 5);
    life->finished++;
}

JZX_TEST(a_fiber_can_put_messages_aside) {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    jzx_actor_id id = spawn_fiber(loop, put_aside, &life);
    for (uint32_t i = 1; i <= 5; i++)
        fixture_send(loop, id, i);
    run(loop);
    assert_int_equal(life.finished, 1);
    assert_int_equal(fixture_stats(loop).dead, 0);
    fixture_destroy(loop);
}

static void skip_and_put_aside(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->begun++;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 3, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_stash(ctx, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 5, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_stash(ctx, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_unstash(ctx), 2);
    static const uint32_t order[] = {3, 5, 1, 2, 4};
    for (uint32_t i = 0; i < 5; i++)
        expect_next(ctx, order[i]);
    life->finished++;
}

JZX_TEST(what_comes_back_from_the_stash_is_before_what_was_passed_over) {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    jzx_actor_id id = spawn_fiber(loop, skip_and_put_aside, &life);
    for (uint32_t i = 1; i <= 5; i++)
        fixture_send(loop, id, i);
    run(loop);
    assert_int_equal(life.finished, 1);
    fixture_destroy(loop);
}

/* A message that a receive has passed over is found after it was put aside and brought back: the
 * place from which the next receive looks on does not hide it. */
static void unstash_before_the_place(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->begun++;
    expect_next(ctx, 7);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 8, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_stash(ctx, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 8, 0, &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 8, 0, &msg), JZX_OK);
    life->finished++;
}

JZX_TEST(what_comes_back_from_the_stash_is_looked_at_again) {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    jzx_actor_id id = spawn_fiber(loop, unstash_before_the_place, &life);
    for (uint32_t i = 7; i >= 1; i--)
        fixture_send(loop, id, i);
    fixture_send(loop, id, 8);
    run(loop);
    assert_int_equal(life.finished, 1);
    assert_int_equal(fixture_stats(loop).dead, 6);
    fixture_destroy(loop);
}

/* ---- questions to a fiber ---- */

static void answer_slowly(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->begun++;
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK && msg.tag != 0) {
        uint64_t number = number_of(&msg);
        JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(5))), JZX_OK);
        JZX_EXPECT_EQ(number_of(&msg), number); /* other waits do not end it */
        JZX_EXPECT_EQ(jzx_ask_from(ctx, &msg).asker, life->other);
        number *= 2;
        JZX_EXPECT_EQ(jzx_reply(ctx, &msg, &number, sizeof number, 100), JZX_OK);
        JZX_EXPECT_EQ(jzx_reply(ctx, &msg, &number, sizeof number, 100), JZX_ERR_INVALID_ARG);
    }
    life->finished++;
}

static jzx_behavior_result ask_twice(jzx_context *ctx, const jzx_message *msg) {
    struct life *life = ctx->state;
    uint64_t number = 20 + life->count;
    if (msg->tag == 100) {
        JZX_EXPECT_EQ(number_of(msg), 2 * (20 + life->count));
        JZX_EXPECT(jzx_ask_ref(ctx) != 0);
        if (++life->count == 2)
            return JZX_BEHAVIOR_STOP;
        number++;
    }
    JZX_EXPECT_EQ(jzx_ask(ctx, life->other, &number, sizeof number, 1, JZX_NEVER, NULL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_fiber_answers_a_question_after_it_has_waited) {
    struct timing timing = timing_open();
    struct life desk = {0};
    struct life asker = {0};
    asker.other = spawn_fiber(timing.loop, answer_slowly, &desk);
    desk.other =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = ask_twice, .state = &asker));
    fixture_send(timing.loop, desk.other, 1);
    timing_step(&timing);
    for (int i = 0; i < 3; i++)
        timing_advance(&timing, JZX_MS(5));
    assert_int_equal(asker.count, 2);
    fixture_send(timing.loop, asker.other, 0);
    timing_step(&timing);
    assert_int_equal(desk.finished, 1);
    timing_close(&timing);
}

/* ---- spawns ---- */

static _Atomic uint32_t ended;

static void grow(jzx_context *ctx) {
    uintptr_t depth = (uintptr_t)ctx->state;
    jzx_actor_id children[2];
    for (int i = 0; i < 2 && depth > 0; i++)
        JZX_EXPECT_EQ(jzx_spawn(ctx->loop,
                                &JZX_SPAWN_OPTS(.fiber = grow, .state = (void *)(depth - 1)),
                                &children[i]),
                      JZX_OK);
    for (int i = 0; i < 2 && depth > 0; i++)
        JZX_EXPECT_EQ(jzx_join(ctx, children[i], JZX_NEVER, NULL), JZX_OK);
    atomic_fetch_add(&ended, 1);
}

JZX_TEST(fibers_spawn_fibers) {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        assert_non_null(loop);
        ended = 0;
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = grow, .state = (void *)7));
        run(loop);
        assert_int_equal(ended, 255);
        fixture_destroy(loop);
    }
}

static void watch_a_child(jzx_context *ctx) {
    struct watcher *self = ctx->state;
    jzx_monitor_ref ref = JZX_NO_MONITOR;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
    JZX_EXPECT_EQ(jzx_spawn_watched(ctx, &JZX_SPAWN_OPTS(.fiber = fail_a_check, .state = self),
                                    true, &self->life.other, &ref),
                  JZX_OK);
    fixture_send(ctx->loop, self->life.other, 5);
    JZX_EXPECT_EQ(jzx_receive_from(ctx, self->life.other, JZX_NEVER, &msg), JZX_OK);
    note_tag(&self->life, msg.tag);
    JZX_EXPECT_EQ(jzx_receive_from(ctx, self->life.other, JZX_NEVER, &msg), JZX_OK);
    note_tag(&self->life, msg.tag);
    self->life.finished++;
}

JZX_TEST(a_fiber_watches_the_fiber_that_it_spawned, "E19") {
    jzx_loop *loop = fixture_loop();
    struct watcher self = {0};
    spawn_fiber(loop, watch_a_child, &self.life);
    run(loop);
    assert_int_equal(self.life.finished, 1);
    assert_int_equal(self.life.tags[0] + self.life.tags[1], JZX_TAG_EXIT + JZX_TAG_DOWN);
    fixture_destroy(loop);
}

static void wait_once(jzx_context *ctx) {
    expect_next(ctx, 1);
    atomic_fetch_add(&ended, 1);
}

static void *spawn_many(void *arg) {
    jzx_loop *loop = arg;
    for (int i = 0; i < 200; i++)
        fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = wait_once)), 1);
    JZX_EXPECT_EQ(jzx_loop_release(loop), JZX_OK);
    return NULL;
}

JZX_TEST(other_threads_spawn_fibers) {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        pthread_t threads[3];
        assert_non_null(loop);
        ended = 0;
        for (int i = 0; i < 3; i++) {
            assert_int_equal(jzx_loop_hold(loop), JZX_OK);
            assert_int_equal(pthread_create(&threads[i], NULL, spawn_many, loop), 0);
        }
        run(loop);
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(ended, 600);
        fixture_destroy(loop);
    }
}

/* ---- options ---- */

static void refuse(jzx_loop *loop, jzx_spawn_opts opts) {
    jzx_actor_id id = 77;
    assert_int_equal(jzx_spawn(loop, &opts, &id), JZX_ERR_INVALID_ARG);
    assert_int_equal(id, 77);
}

JZX_TEST(a_spawn_needs_a_behaviour_or_a_fiber_and_a_stack_in_range, "C+fail") {
    jzx_loop *loop = fixture_loop();
    refuse(loop, JZX_SPAWN_OPTS(.state = NULL));
    refuse(loop, JZX_SPAWN_OPTS(.fiber = wait_once, .behavior = record));
    refuse(loop, JZX_SPAWN_OPTS(.fiber = wait_once, .stack_size_bytes = 1));
    refuse(loop, JZX_SPAWN_OPTS(.fiber = wait_once, .stack_size_bytes = JZX_STACK_SIZE_MIN - 1));
    refuse(loop, JZX_SPAWN_OPTS(.fiber = wait_once, .stack_size_bytes = JZX_STACK_SIZE_MAX + 1));
    refuse(loop, JZX_SPAWN_OPTS(.fiber = wait_once, .stack_size_bytes = UINT32_MAX));
    refuse(loop, JZX_SPAWN_OPTS(.fiber = wait_once, .migratable = true, .thread_bound = true));
    refuse(loop, JZX_SPAWN_OPTS(.behavior = record, .thread_bound = true));
    refuse(loop, JZX_SPAWN_OPTS(.behavior = record, .migratable = true));
    assert_int_equal(fixture_stats(loop).spawned, 0);
    fixture_destroy(loop);
}

/* Uses three quarters of the stack, which it is told the size of, and waits at the bottom. */
static uint32_t use_stack(jzx_context *ctx, size_t bytes) {
    volatile unsigned char frame[1024];
    frame[0] = (unsigned char)bytes;
    frame[sizeof frame - 1] = 1;
    if (bytes <= 2 * sizeof frame) {
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
        return frame[sizeof frame - 1];
    }
    uint32_t below = use_stack(ctx, bytes - (sizeof frame + 256));
    return below + frame[sizeof frame - 1];
}

static void use_most_of_the_stack(jzx_context *ctx) {
    size_t bytes = (uintptr_t)ctx->state;
    JZX_EXPECT(use_stack(ctx, bytes) >= 1);
    jzx_actor_info info = info_of(ctx->loop, ctx->self);
    JZX_EXPECT(info.stack_bytes == 0 || info.stack_bytes >= bytes / 2);
    atomic_fetch_add(&ended, 1);
}

JZX_TEST(a_fiber_can_use_the_stack_that_it_asked_for, "E18") {
    static const uint32_t sizes[] = {JZX_STACK_SIZE_MIN, 0, JZX_STACK_SIZE_MIN + 1, 100000, 1 << 20,
                                     JZX_STACK_SIZE_MAX};
    jzx_loop *loop = fixture_loop();
    ended = 0;
    for (int round = 0; round < 3; round++) { /* the stacks are used again */
        for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            size_t size = sizes[i] == 0 ? JZX_DEFAULT_STACK_SIZE : sizes[i];
            size_t used = size < (4u << 20) ? size / 4 * 3 - 4096 : (size_t)4 << 20;
            fixture_spawn(loop,
                          &JZX_SPAWN_OPTS(.fiber = use_most_of_the_stack, .state = (void *)used,
                                          .stack_size_bytes = sizes[i]));
        }
        run(loop);
    }
    assert_int_equal(ended, 18);
    fixture_destroy(loop);
}

/* ---- without memory ---- */

static void use_everything(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->begun++;
    life->err = jzx_receive_tag(ctx, 2, JZX_NEVER, &msg);
    JZX_EXPECT_EQ(life->err, JZX_OK);
    life->err = jzx_call(ctx, life->other, NULL, 0, 1, jzx_in(ctx, JZX_MS(1)), &msg);
    JZX_EXPECT(life->err == JZX_OK || life->err == JZX_ERR_NO_MEMORY ||
               life->err == JZX_ERR_TIMEOUT);
    jzx_err err = jzx_sleep(ctx, jzx_in(ctx, JZX_MS(1)));
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
    err = jzx_receive(ctx, JZX_NEVER, &msg);
    JZX_EXPECT(err == JZX_OK && msg.tag == 1);
    while (jzx_actor_stop(ctx->loop, life->other, JZX_STOP_KILL) == JZX_OK) {
        err = jzx_join(ctx, life->other, JZX_NEVER, NULL);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
        jzx_yield(ctx);
    }
    life->finished++;
}

static jzx_behavior_result reply_at_once(jzx_context *ctx, const jzx_message *msg) {
    jzx_reply(ctx, msg, NULL, 0, 100); /* may fail without memory: then there is the deadline */
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_nth_allocation_fails_for_every_n_and_the_fiber_ends_or_goes_on, "C+fail") {
    for (uint64_t count = 1; count != 0; count = count == 1 ? 3 : 0) {
        for (uint64_t n = 0; n < 40; n++) {
            struct timing timing = timing_open();
            struct life life = {0};
            jzx_actor_id id = JZX_NOBODY;
            life.other = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = reply_at_once));
            timing_step(&timing);
            fixture_fail_allocations(n, count);
            jzx_err err = jzx_spawn(
                timing.loop,
                &JZX_SPAWN_OPTS(.fiber = use_everything, .state = &life, .cleanup = note_cleanup),
                &id);
            for (uint32_t tag = 1; err == JZX_OK && tag <= 2; tag++)
                while (jzx_send(timing.loop, id, JZX_NOBODY, NULL, 0, tag) == JZX_ERR_NO_MEMORY)
                    continue;
            for (int i = 0; i < 10; i++)
                timing_advance(&timing, JZX_MS(1));
            fixture_fail_allocations(UINT64_MAX, 0);
            assert_int_equal(life.cleaned, err == JZX_OK);
            assert_int_equal(life.finished, life.begun);
            if (err == JZX_OK)
                assert_int_equal(life.reason, life.begun ? JZX_EXIT_NORMAL : JZX_EXIT_FAIL);
            fixture_destroy(timing.loop);
            assert_int_equal(jzx_clock_free(timing.clock), JZX_OK);
        }
    }
}
