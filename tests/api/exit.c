/* SPDX-License-Identifier: MIT */
/* jzx_exit and JZX_CHECK: from wherever an actor calls them it ends, cleanly and once, and nobody
 * else notices. */
#include "watching.h"

#include <jzx/clock.h>
#include <jzx/timer.h>

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { GO = 1, DIE, WORK, LAST };

/* ---- the observer's view ---- */

static struct {
    uint32_t stops;
    uint32_t fails;
    uint32_t dead_letters;
    jzx_exit_reason reason;
    char detail[200];
} events;

static void on_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    events.dead_letters += event->kind == JZX_EVENT_DEAD_LETTER;
    if (event->kind != JZX_EVENT_ACTOR_STOP && event->kind != JZX_EVENT_ACTOR_FAIL)
        return;
    events.stops += event->kind == JZX_EVENT_ACTOR_STOP;
    events.fails += event->kind == JZX_EVENT_ACTOR_FAIL;
    events.reason = event->reason;
    snprintf(events.detail, sizeof events.detail, "%s", event->detail == NULL ? "" : event->detail);
}

static jzx_loop *observed_loop(void) {
    jzx_loop *loop = fixture_loop();
    memset(&events, 0, sizeof events);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = on_event), NULL),
                     JZX_OK);
    return loop;
}

/* ---- reasons and texts ---- */

struct ending {
    jzx_exit_reason reason;
    const char *text;
};

static jzx_behavior_result end_as_told(jzx_context *ctx, void *arg) {
    const struct ending *ending = arg;
    jzx_exit(ctx, ending->reason, ending->text);
}

/* A watcher, a partner that traps, and one who ends: all hear the same. */
static void expect_ending(struct ending ending, jzx_exit_reason reason, const char *text) {
    jzx_loop *loop = observed_loop();
    struct diary watcher = {0};
    struct diary partner = {0};
    struct diary ender = {0};
    jzx_actor_id watcher_id = diary_spawn(loop, &watcher);
    jzx_actor_id partner_id = diary_spawn(loop, &partner);
    jzx_actor_id id = diary_spawn(loop, &ender);
    JZX_EXPECT_EQ(now_monitor(loop, watcher_id, id, NULL), JZX_OK);
    now(loop, partner_id, call_trap, &partner);
    JZX_EXPECT_EQ(now_link(loop, partner_id, id), JZX_OK);
    now(loop, id, end_as_told, &ending);
    JZX_EXPECT_EQ(ender.cleanups, 1);
    JZX_EXPECT_EQ(ender.reason, reason);
    JZX_EXPECT_EQ(watcher.count, 1);
    JZX_EXPECT_EQ(partner.count, 1);
    expect_notice(&watcher, 0, JZX_TAG_DOWN, id, reason);
    expect_notice(&partner, 0, JZX_TAG_EXIT, id, reason);
    assert_string_equal(watcher.entries[0].notice.text, text);
    assert_string_equal(partner.entries[0].notice.text, text);
    JZX_EXPECT_EQ(events.reason, reason);
    JZX_EXPECT_EQ(events.stops, reason != JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(events.fails, reason == JZX_EXIT_FAIL);
    assert_string_equal(events.detail, text);
    JZX_EXPECT_EQ(fixture_stats(loop).failed, reason == JZX_EXIT_FAIL);
    fixture_destroy(loop);
}

JZX_TEST(an_exit_is_seen_with_its_reason_and_text, "E10", "E+sem", "D+top") {
    expect_ending((struct ending){JZX_EXIT_FAIL, "no disk"}, JZX_EXIT_FAIL, "no disk");
    expect_ending((struct ending){JZX_EXIT_NORMAL, "all done"}, JZX_EXIT_NORMAL, "all done");
    expect_ending((struct ending){JZX_EXIT_SHUTDOWN, "bye"}, JZX_EXIT_SHUTDOWN, "bye");
    expect_ending((struct ending){JZX_EXIT_FAIL, NULL}, JZX_EXIT_FAIL, "");
    expect_ending((struct ending){JZX_EXIT_NORMAL, ""}, JZX_EXIT_NORMAL, "");
}

JZX_TEST(reasons_of_the_runtime_become_fail, "E10", "E+sem") {
    static const int reasons[] = {
        JZX_EXIT_KILLED, JZX_EXIT_FAULT, JZX_EXIT_NO_ACTOR, 7, 1000000, -1};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        expect_ending((struct ending){(jzx_exit_reason)reasons[i], "x"}, JZX_EXIT_FAIL, "x");
}

JZX_TEST(a_text_that_is_too_long_is_cut, "E+sem") {
    char text[301];
    memset(text, 'a', sizeof text);
    for (size_t len = JZX_EXIT_TEXT_MAX - 2; len <= 300; len += len < 80 ? 1 : 44) {
        char wanted[JZX_EXIT_TEXT_MAX + 1] = {0};
        size_t kept = len < JZX_EXIT_TEXT_MAX ? len : JZX_EXIT_TEXT_MAX;
        memset(text, 'a', len);
        text[len] = '\0';
        text[kept - 1] = 'z';
        memcpy(wanted, text, kept);
        expect_ending((struct ending){JZX_EXIT_FAIL, text}, JZX_EXIT_FAIL, wanted);
        text[len] = 'a';
    }
}

/* The text is copied: it may stand in the frame that is left, and be written over then. */
static jzx_behavior_result exit_with_local_text(jzx_context *ctx, void *arg) {
    char text[20];
    snprintf(text, sizeof text, "local %d", *(int *)arg);
    jzx_exit(ctx, JZX_EXIT_FAIL, text);
}

JZX_TEST(the_text_is_copied, "E+sem") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {0};
    struct diary ender = {0};
    jzx_actor_id watcher_id = diary_spawn(loop, &watcher);
    jzx_actor_id id = diary_spawn(loop, &ender);
    int number = 42;
    JZX_EXPECT_EQ(now_monitor(loop, watcher_id, id, NULL), JZX_OK);
    now(loop, id, exit_with_local_text, &number);
    assert_string_equal(watcher.entries[0].notice.text, "local 42");
    fixture_destroy(loop);
}

JZX_TEST(reasons_have_names) {
    assert_string_equal(jzx_exit_name(JZX_EXIT_NORMAL), "JZX_EXIT_NORMAL");
    assert_string_equal(jzx_exit_name(JZX_EXIT_FAIL), "JZX_EXIT_FAIL");
    assert_string_equal(jzx_exit_name(JZX_EXIT_PANIC), "JZX_EXIT_PANIC");
    assert_string_equal(jzx_exit_name(JZX_EXIT_KILLED), "JZX_EXIT_KILLED");
    assert_string_equal(jzx_exit_name(JZX_EXIT_SHUTDOWN), "JZX_EXIT_SHUTDOWN");
    assert_string_equal(jzx_exit_name(JZX_EXIT_FAULT), "JZX_EXIT_FAULT");
    assert_string_equal(jzx_exit_name(JZX_EXIT_NO_ACTOR), "JZX_EXIT_NO_ACTOR");
    const char *unknown = jzx_exit_name((jzx_exit_reason)7);
    assert_non_null(unknown);
    assert_string_equal(jzx_exit_name((jzx_exit_reason)-1), unknown);
    assert_string_equal(jzx_exit_name((jzx_exit_reason)INT32_MIN), unknown);
}

/* ---- JZX_CHECK ---- */

static uint32_t evaluated;

static bool evaluate(bool result) {
    evaluated++;
    return result;
}

static int check_line;

static jzx_behavior_result check_twice(jzx_context *ctx, void *arg) {
    (void)arg;
    JZX_CHECK(ctx, evaluate(true));
    if (evaluated == 1)
        JZX_CHECK(ctx, 1 + 1 == 2);
    else
        JZX_CHECK(ctx, false); /* not reached: also shows that it is one statement */
    check_line = __LINE__ + 1;
    JZX_CHECK(ctx, evaluate(false));
    evaluated += 100;
    return JZX_BEHAVIOR_OK;
}

/* A path longer than the text. */
static jzx_behavior_result fail_far_away(jzx_context *ctx, void *arg) {
    (void)arg;
    jzx_check_failed(ctx, "left < right",
                     "/home/somebody/with/a/rather/long/path/to/all/of/the/projects/lib/src/far.c",
                     1234);
}

JZX_TEST(a_check_that_fails_names_place_and_condition, "E10", "E+sem") {
    jzx_loop *loop = observed_loop();
    struct diary diary = {0};
    char place[40];
    evaluated = 0;
    now(loop, diary_spawn(loop, &diary), check_twice, NULL);
    JZX_EXPECT_EQ(evaluated, 2);
    JZX_EXPECT_EQ(diary.reason, JZX_EXIT_FAIL);
    snprintf(place, sizeof place, "exit.c:%d", check_line);
    assert_non_null(strstr(events.detail, place));
    assert_non_null(strstr(events.detail, "evaluate(false)"));
    now(loop, diary_spawn(loop, &diary), fail_far_away, NULL);
    JZX_EXPECT_EQ(diary.cleanups, 2);
    assert_non_null(strstr(events.detail, "far.c:1234"));
    assert_non_null(strstr(events.detail, "left < right"));
    fixture_destroy(loop);
}

/* ---- from anywhere ---- */

static uint32_t passed; /* places that must not be reached */

static uint32_t dig(jzx_context *ctx, uint32_t depth) {
    volatile uint32_t frame[16];
    frame[depth % 16] = depth;
    if (depth == 0)
        jzx_exit(ctx, JZX_EXIT_FAIL, "at the bottom");
    uint32_t result = depth == UINT32_MAX ? 0 : dig(ctx, depth - 1) + frame[0];
    passed++;
    return result;
}

static jzx_behavior_result dig_deep(jzx_context *ctx, void *arg) {
    (void)arg;
    return dig(ctx, 1000) == 0 ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

JZX_TEST(an_exit_leaves_functions_at_any_depth, "E10", "E+sem") {
    jzx_loop *loop = observed_loop();
    struct diary diary = {0};
    passed = 0;
    jzx_actor_id id = diary_spawn(loop, &diary);
    order(loop, id, dig_deep, NULL);
    for (uint32_t i = 0; i < 10; i++)
        fixture_send(loop, id, WORK);
    step(loop);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(passed, 0);
    JZX_EXPECT_EQ(diary.count, 0);
    JZX_EXPECT_EQ(diary.cleanups, 1);
    JZX_EXPECT_EQ(events.dead_letters, 10);
    JZX_EXPECT_EQ(fixture_stats(loop).dead, 10);
    JZX_EXPECT_EQ(fixture_stats(loop).handled, 1);
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, NULL, 0, WORK), JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
}

static jzx_err exit_in_init(jzx_context *ctx) {
    dig(ctx, 3);
    return JZX_OK;
}

static jzx_err stop_in_init(jzx_context *ctx) {
    jzx_exit(ctx, JZX_EXIT_NORMAL, "nothing to do");
}

JZX_TEST(an_exit_in_init_ends_the_actor_before_its_first_message, "E10", "E+sem") {
    jzx_loop *loop = observed_loop();
    struct diary diary = {0};
    passed = 0;
    jzx_actor_id id = fixture_spawn(loop, &DIARY_OPTS(&diary, .init = exit_in_init));
    fixture_send(loop, id, WORK);
    fixture_send(loop, id, WORK);
    step(loop);
    JZX_EXPECT_EQ(passed, 0);
    JZX_EXPECT_EQ(diary.count, 0);
    JZX_EXPECT_EQ(diary.cleanups, 1);
    JZX_EXPECT_EQ(diary.reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(events.dead_letters, 2);
    assert_string_equal(events.detail, "at the bottom");
    fixture_spawn(loop, &DIARY_OPTS(&diary, .init = stop_in_init));
    step(loop);
    JZX_EXPECT_EQ(diary.cleanups, 2);
    JZX_EXPECT_EQ(diary.reason, JZX_EXIT_NORMAL);
    assert_string_equal(events.detail, "nothing to do");
    fixture_destroy(loop);
}

static jzx_actor_id work_to;

static void exit_in_cleanup(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_send(ctx->loop, work_to, ctx->self, NULL, 0, LAST), JZX_OK);
    dig(ctx, 3);
    passed++;
}

/* What it said before it died counts; what its cleanup says is over with the cleanup. */
JZX_TEST(an_exit_in_a_cleanup_ends_the_cleanup, "E10", "E+sem", "E19") {
    static const order_fn how[] = {call_stop, call_exit};
    for (size_t i = 0; i < 2; i++) {
        jzx_loop *loop = observed_loop();
        struct diary watcher = {0};
        struct diary diary = {.last = exit_in_cleanup};
        char text[] = "first";
        passed = 0;
        work_to = diary_spawn(loop, &watcher);
        jzx_actor_id id = diary_spawn(loop, &diary);
        JZX_EXPECT_EQ(now_monitor(loop, work_to, id, NULL), JZX_OK);
        order(loop, id, how[i], text);
        fixture_send(loop, id, WORK);
        step(loop);
        JZX_EXPECT_EQ(passed, 0);
        JZX_EXPECT_EQ(diary.cleanups, 1);
        JZX_EXPECT_EQ(watcher.count, 2);
        JZX_EXPECT_EQ(watcher.entries[0].tag, LAST);
        expect_notice(&watcher, 1, JZX_TAG_DOWN, id, i == 0 ? JZX_EXIT_NORMAL : JZX_EXIT_FAIL);
        assert_string_equal(watcher.entries[1].notice.text, i == 0 ? "" : "first");
        JZX_EXPECT_EQ(events.stops, i == 0);
        JZX_EXPECT_EQ(events.fails, i == 1);
        JZX_EXPECT_EQ(fixture_stats(loop).exited, 1);
        fixture_destroy(loop);
    }
}

static void dig_in_cleanup(jzx_context *ctx) {
    dig(ctx, 5);
}

static jzx_behavior_result stop_loop(jzx_context *ctx, void *arg) {
    (void)arg;
    JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* Destroyed before it ran, or stopped while it runs. */
JZX_TEST(cleanups_that_exit_do_not_disturb_the_end_of_a_loop, "E10", "C20") {
    static struct diary diaries[100];
    for (int way = 0; way < 4; way++) {
        uint32_t workers = way < 2 ? 1 : 4;
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        for (uint32_t i = 0; i < 100; i++) {
            diaries[i] = (struct diary){.last = dig_in_cleanup};
            fixture_spawn(loop, &DIARY_OPTS(&diaries[i], .place = JZX_PLACE_WORKER(i % workers)));
        }
        if (way % 2 == 1) {
            struct diary stopper = {.last = dig_in_cleanup};
            order(loop, diary_spawn(loop, &stopper), stop_loop, NULL);
            JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
            JZX_EXPECT_EQ(stopper.cleanups, 1);
        }
        fixture_destroy(loop);
        for (uint32_t i = 0; i < 100; i++)
            JZX_EXPECT_EQ(diaries[i].cleanups, 1);
    }
}

/* ---- the message in hand ---- */

static uint32_t released;

static void count_released(void *data, size_t len) {
    (void)data;
    JZX_EXPECT_EQ(len, 100);
    released++;
}

enum fate { KEEP, TAKE, STASH, UNSTASH, TAKE_AND_FREE, TAKE_AND_SEND, FATES };

struct holder {
    enum fate fate;
    void *taken;
    jzx_actor_id other;
};

static jzx_behavior_result exit_with_message(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    struct holder *self = ctx->state;
    if (self->fate == STASH || self->fate == UNSTASH)
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    if (self->fate == UNSTASH)
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
    if (self->fate >= TAKE && self->fate != STASH && self->fate != UNSTASH)
        self->taken = jzx_msg_take(ctx, msg);
    if (self->fate == TAKE_AND_FREE)
        jzx_msg_free(ctx->loop, self->taken);
    if (self->fate == TAKE_AND_SEND)
        JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, self->other, ctx->self, self->taken, WORK), JZX_OK);
    jzx_exit(ctx, JZX_EXIT_FAIL, "with a message");
}

JZX_TEST(the_message_in_hand_is_released_once, "E10", "X15", "E+sem") {
    for (int fate = KEEP; fate < FATES; fate++) {
        jzx_loop *loop = fixture_loop();
        struct diary other = {0};
        struct holder holder = {.fate = (enum fate)fate, .other = diary_spawn(loop, &other)};
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = exit_with_message, .state = &holder));
        void *data = jzx_msg_alloc(loop, 100, count_released);
        released = 0;
        JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, GO), JZX_OK);
        step(loop);
        JZX_EXPECT_EQ(released, fate != TAKE);
        if (fate == TAKE)
            jzx_msg_free(loop, holder.taken);
        JZX_EXPECT_EQ(released, 1);
        jzx_stats stats = fixture_stats(loop);
        JZX_EXPECT_EQ(stats.dead, fate == STASH || fate == UNSTASH);
        JZX_EXPECT_EQ(other.count, fate == TAKE_AND_SEND);
        fixture_destroy(loop);
        JZX_EXPECT_EQ(released, 1);
    }
}

/* The data of timers, as well: one that is small, and one that has memory of its own. */
JZX_TEST(an_exit_in_the_message_of_a_timer_ends_the_timer, "E10", "X15", "B+actor") {
    static const size_t lens[] = {0, 8, 200, 5000};
    static const char data[5000];
    for (int how = 0; how < 3 * 4; how++) {
        jzx_clock *clock = jzx_clock_manual(0);
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
        struct holder holder = {.fate = KEEP};
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = exit_with_message, .state = &holder));
        size_t len = lens[how / 3];
        step(loop);
        for (int i = 0; i < 2; i++) /* the second one waits behind the first */
            JZX_EXPECT_EQ(how % 3 == 0 ? jzx_send_after(loop, id, id, data, len, GO, 1, NULL)
                                       : jzx_send_every(
                                             loop, id, id, data, len, GO, JZX_MS(1),
                                             how % 3 == 1 ? JZX_FIXED_RATE : JZX_FIXED_DELAY, NULL),
                          JZX_OK);
        JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_MS(2)), JZX_OK);
        step(loop);
        JZX_EXPECT_EQ(jzx_test_runs(), how + 1);
        JZX_EXPECT_EQ(fixture_stats(loop).exited, 1);
        JZX_EXPECT_EQ(fixture_stats(loop).timers_ended, 2);
        JZX_EXPECT_EQ(fixture_stats(loop).handled, 1);
        JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_MS(5)), JZX_OK);
        step(loop);
        fixture_destroy(loop);
        JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
    }
}

/* Both of them are over when it exits: the one that it stashed, and its own by key. */
static jzx_behavior_result stash_timer_and_exit(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 7, NULL, 0, WORK, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(1)), JZX_OK);
    JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    jzx_exit(ctx, JZX_EXIT_NORMAL, NULL);
}

JZX_TEST(timers_that_were_touched_before_an_exit_end, "E10", "X15", "B+actor") {
    for (int repeats = 0; repeats < 2; repeats++) {
        jzx_clock *clock = jzx_clock_manual(0);
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stash_timer_and_exit));
        step(loop);
        JZX_EXPECT_EQ(
            repeats ? jzx_send_every(loop, id, id, NULL, 0, GO, JZX_MS(1), JZX_FIXED_RATE, NULL)
                    : jzx_send_after(loop, id, id, NULL, 0, GO, 1, NULL),
            JZX_OK);
        JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_MS(1)), JZX_OK);
        step(loop);
        jzx_stats stats = fixture_stats(loop);
        JZX_EXPECT_EQ(stats.exited, 1);
        JZX_EXPECT_EQ(stats.timers_set, stats.timers_ended);
        JZX_EXPECT_EQ(stats.dead, 1);
        fixture_destroy(loop);
        JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
    }
}

/* ---- what the actor did before ---- */

static jzx_behavior_result replace_and_exit(jzx_context *ctx, void *arg) {
    struct diary *other = arg;
    JZX_EXPECT_EQ(jzx_become(ctx, record), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, WORK), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, work_to, ctx->self, NULL, 0, WORK), JZX_OK);
    ctx->state = other;
    jzx_exit(ctx, JZX_EXIT_FAIL, NULL);
}

static jzx_err replace_in_init(jzx_context *ctx) {
    struct diary *self = ctx->state;
    ctx->state = self + 1;
    jzx_exit(ctx, JZX_EXIT_FAIL, NULL);
}

JZX_TEST(the_cleanup_has_the_state_that_the_actor_had_when_it_exited, "E10", "E+sem") {
    jzx_loop *loop = fixture_loop();
    struct diary first[2];
    struct diary second = {0};
    struct diary sink = {0};
    memset(first, 0, sizeof first);
    work_to = diary_spawn(loop, &sink);
    now(loop, diary_spawn(loop, &first[0]), replace_and_exit, &second);
    JZX_EXPECT_EQ(first[0].cleanups, 0);
    JZX_EXPECT_EQ(second.cleanups, 1);
    JZX_EXPECT_EQ(sink.count, 1);
    JZX_EXPECT_EQ(fixture_stats(loop).dead, 1);
    fixture_spawn(loop, &DIARY_OPTS(first, .init = replace_in_init));
    step(loop);
    JZX_EXPECT_EQ(first[0].cleanups, 0);
    JZX_EXPECT_EQ(first[1].cleanups, 1);
    fixture_destroy(loop);
}

static jzx_behavior_result be_stopped_and_exit(jzx_context *ctx, void *arg) {
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, *(const jzx_stop_kind *)arg), JZX_OK);
    jzx_exit(ctx, JZX_EXIT_FAIL, "stopped");
}

JZX_TEST(who_was_stopped_may_still_exit, "E10", "E+sem") {
    static const jzx_stop_kind kinds[] = {JZX_STOP_AFTER_MESSAGE, JZX_STOP_AFTER_QUEUE,
                                          JZX_STOP_KILL};
    for (size_t i = 0; i < 3; i++) {
        jzx_loop *loop = observed_loop();
        struct diary diary = {0};
        jzx_actor_id id = diary_spawn(loop, &diary);
        jzx_stop_kind kind = kinds[i];
        order(loop, id, be_stopped_and_exit, &kind);
        fixture_send(loop, id, WORK);
        step(loop);
        JZX_EXPECT_EQ(jzx_test_runs(), i + 1);
        JZX_EXPECT_EQ(diary.count, 0);
        JZX_EXPECT_EQ(diary.cleanups, 1);
        JZX_EXPECT_EQ(events.stops + events.fails, 1);
        JZX_EXPECT_EQ(fixture_stats(loop).dead, 1);
        fixture_destroy(loop);
    }
}

JZX_TEST(an_exit_ends_who_works_off_its_queue, "E10", "E+sem") {
    jzx_loop *loop = observed_loop();
    struct diary diary = {0};
    char text[] = "halfway";
    jzx_actor_id id = diary_spawn(loop, &diary);
    step(loop);
    fixture_send(loop, id, WORK);
    order(loop, id, call_exit, text);
    fixture_send(loop, id, WORK);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(diary.count, 1);
    JZX_EXPECT_EQ(diary.reason, JZX_EXIT_FAIL);
    assert_string_equal(events.detail, "halfway");
    fixture_destroy(loop);
}

/* ---- a loop inside a behaviour of another loop ---- */

static jzx_behavior_result run_loop_inside(jzx_context *ctx, void *arg) {
    struct diary inner[3];
    char text[] = "inner";
    (void)arg;
    memset(inner, 0, sizeof inner);
    jzx_loop *loop = fixture_loop_with(NULL);
    for (int i = 0; i < 3; i++)
        order(loop, diary_spawn(loop, &inner[i]), i < 2 ? call_exit : call_stop, text);
    step(loop);
    for (int i = 0; i < 3; i++)
        JZX_EXPECT_EQ(inner[i].cleanups, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
    jzx_exit(ctx, JZX_EXIT_FAIL, "outer");
}

JZX_TEST(exits_of_a_loop_inside_a_behaviour_stay_inside, "E10", "C20", "E+sem") {
    jzx_loop *loop = observed_loop();
    struct diary diary = {0};
    jzx_actor_id id = diary_spawn(loop, &diary);
    order(loop, id, run_loop_inside, NULL);
    step(loop);
    JZX_EXPECT_EQ(diary.cleanups, 1);
    JZX_EXPECT_EQ(events.fails, 1);
    assert_string_equal(events.detail, "outer");
    fixture_destroy(loop);
}

/* ---- the order of an end ---- */

static char steps[8];
static size_t step_count;

static void note_step(char step) {
    if (JZX_EXPECT(step_count < sizeof steps - 1))
        steps[step_count++] = step;
}

static void note_cleanup(jzx_context *ctx) {
    (void)ctx;
    note_step('c');
}

static jzx_behavior_result note_down(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    if (msg->tag == JZX_TAG_DOWN)
        note_step('d');
    return JZX_BEHAVIOR_OK;
}

static void note_end(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_DEAD_LETTER)
        note_step('l');
    else if (event->kind == JZX_EVENT_ACTOR_STOP || event->kind == JZX_EVENT_ACTOR_FAIL)
        note_step('o');
}

/* As docs/supervision.md says: dead letters, the cleanup, the observer, those who watch. */
JZX_TEST(the_observer_hears_of_an_end_after_the_cleanup_and_before_those_who_watch) {
    for (int fails = 0; fails < 2; fails++) {
        jzx_loop *loop = fixture_loop();
        struct diary watcher = {.then = note_down};
        struct diary ender = {.last = note_cleanup};
        char text[] = "over";
        jzx_actor_id watcher_id = diary_spawn(loop, &watcher);
        jzx_actor_id id = diary_spawn(loop, &ender);
        JZX_EXPECT_EQ(now_monitor(loop, watcher_id, id, NULL), JZX_OK);
        assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = note_end), NULL),
                         JZX_OK);
        memset(steps, 0, sizeof steps);
        step_count = 0;
        order(loop, id, fails ? call_exit : call_stop, text);
        fixture_send(loop, id, WORK); /* nobody handles it */
        step(loop);
        assert_string_equal(steps, "lcod");
        assert_int_equal(jzx_loop_set_observer(loop, NULL, NULL), JZX_OK);
        fixture_destroy(loop);
    }
}
