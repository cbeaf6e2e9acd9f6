/* SPDX-License-Identifier: MIT */
/* Monitors: one message each, in its place, unless the monitor is taken back; whatever becomes of
 * the two. */
#include "watching.h"

#include <pthread.h>
#include <string.h>

enum { GO = 1, WORK, LAST };

static jzx_actor_id talk_to;

static void send_in_cleanup(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_send(ctx->loop, talk_to, ctx->self, NULL, 0, LAST), JZX_OK);
}

static jzx_behavior_result send_and_stop(jzx_context *ctx, void *arg) {
    (void)arg;
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, talk_to, ctx->self, NULL, 0, WORK), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

/* ---- once, and last ---- */

JZX_TEST(down_comes_once_and_behind_what_the_cleanup_sent, "E19", "D+top", "X15") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {0};
    struct diary target = {.last = send_in_cleanup};
    jzx_monitor_ref ref = JZX_NO_MONITOR;
    talk_to = diary_spawn(loop, &watcher);
    jzx_actor_id id = diary_spawn(loop, &target);
    JZX_EXPECT_EQ(now_monitor(loop, talk_to, id, &ref), JZX_OK);
    JZX_EXPECT(ref != JZX_NO_MONITOR);
    now(loop, id, send_and_stop, NULL);
    assert_int_equal(watcher.count, 5);
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(watcher.entries[i].tag, WORK);
    JZX_EXPECT_EQ(watcher.entries[3].tag, LAST);
    expect_notice(&watcher, 4, JZX_TAG_DOWN, id, JZX_EXIT_NORMAL);
    JZX_EXPECT_EQ(watcher.entries[4].notice.monitor, ref);
    assert_string_equal(watcher.entries[4].notice.text, "");
    JZX_EXPECT_EQ(now_demonitor(loop, talk_to, ref), JZX_ERR_NO_SUCH_ACTOR);
    now(loop, talk_to, call_stop, NULL);
    fixture_destroy(loop);
}

JZX_TEST(monitors_of_one_target_are_independent, "E19", "D+top") {
    jzx_loop *loop = fixture_loop();
    struct diary watchers[2] = {{.count = 0}, {.count = 0}};
    struct diary target = {0};
    jzx_actor_id ids[2] = {diary_spawn(loop, &watchers[0]), diary_spawn(loop, &watchers[1])};
    jzx_actor_id id = diary_spawn(loop, &target);
    jzx_monitor_ref refs[10];
    for (uint32_t i = 0; i < 10; i++)
        JZX_EXPECT_EQ(now_monitor(loop, ids[i % 2], id, &refs[i]), JZX_OK);
    for (uint32_t i = 0; i < 10; i++)
        for (uint32_t k = 0; k < i; k++)
            JZX_EXPECT(refs[i] != refs[k]);
    JZX_EXPECT_EQ(now_demonitor(loop, ids[0], refs[4]), JZX_OK);
    JZX_EXPECT_EQ(now_demonitor(loop, ids[1], refs[9]), JZX_OK);
    now(loop, id, call_stop, NULL);
    for (uint32_t w = 0; w < 2; w++) {
        uint32_t seen = 0;
        JZX_EXPECT_EQ(watchers[w].count, 4);
        for (uint32_t i = 0; i < 4; i++)
            for (uint32_t k = w; k < 10; k += 2)
                if (watchers[w].entries[i].notice.monitor == refs[k])
                    seen |= 1u << k;
        JZX_EXPECT_EQ(seen, w == 0 ? 0x145 : 0x0AA);
    }
    fixture_destroy(loop);
}

static void end_how(jzx_loop *loop, jzx_actor_id id, int how) {
    char text[] = "x";
    switch (how) {
    case 0: order(loop, id, call_stop, NULL); break;
    case 1: order(loop, id, call_exit, text); break;
    case 2: JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK); break;
    case 3: JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK); break;
    case 4: JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_MESSAGE), JZX_OK); break;
    default: JZX_EXPECT_EQ(jzx_actor_fail(loop, id), JZX_OK); break;
    }
    step(loop);
}

JZX_TEST(down_says_how_the_target_ended, "E19", "E10", "D+top") {
    static const jzx_exit_reason reasons[] = {JZX_EXIT_NORMAL, JZX_EXIT_FAIL,   JZX_EXIT_KILLED,
                                              JZX_EXIT_NORMAL, JZX_EXIT_NORMAL, JZX_EXIT_FAIL};
    for (int how = 0; how < 6; how++) {
        jzx_loop *loop = fixture_loop();
        struct diary watcher = {0};
        struct diary target = {0};
        jzx_actor_id id = diary_spawn(loop, &target);
        JZX_EXPECT_EQ(now_monitor(loop, diary_spawn(loop, &watcher), id, NULL), JZX_OK);
        end_how(loop, id, how);
        JZX_EXPECT_EQ(watcher.count, 1);
        expect_notice(&watcher, 0, JZX_TAG_DOWN, id, reasons[how]);
        JZX_EXPECT_EQ(target.reason, reasons[how]);
        fixture_destroy(loop);
    }
}

static jzx_behavior_result unknown_result(jzx_context *ctx, void *arg) {
    (void)ctx;
    (void)arg;
    return (jzx_behavior_result)77;
}

JZX_TEST(down_tells_of_a_panic_too, "E19", "E10") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {0};
    struct diary target = {0};
    jzx_actor_id id = diary_spawn(loop, &target);
    JZX_EXPECT_EQ(now_monitor(loop, diary_spawn(loop, &watcher), id, NULL), JZX_OK);
    now(loop, id, unknown_result, NULL);
    JZX_EXPECT_EQ(watcher.count, 1);
    expect_notice(&watcher, 0, JZX_TAG_DOWN, id, JZX_EXIT_PANIC);
    fixture_destroy(loop);
}

/* ---- what is refused ---- */

static struct call in_cleanup;

static void watch_in_cleanup(jzx_context *ctx) {
    struct diary child = {0};
    jzx_actor_id id = JZX_NOBODY;
    in_cleanup.err = jzx_monitor(ctx, in_cleanup.target, &in_cleanup.ref);
    JZX_EXPECT_EQ(jzx_demonitor(ctx, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_link(ctx, in_cleanup.target), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_unlink(ctx, in_cleanup.target), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_spawn_watched(ctx, &DIARY_OPTS(&child, .name = "child"), true, &id, NULL),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(id, JZX_NOBODY);
}

static void refuse_all(jzx_context *ctx, jzx_actor_id target) {
    jzx_monitor_ref ref = 77;
    jzx_actor_id id = 78;
    JZX_EXPECT_EQ(jzx_monitor(ctx, target, &ref), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_demonitor(ctx, ref), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_link(ctx, target), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_unlink(ctx, target), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_spawn_watched(ctx, &JZX_SPAWN_OPTS(.behavior = keep_diary), false, &id, &ref),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(ref, 77);
    JZX_EXPECT_EQ(id, 78);
}

static jzx_actor_id refused_target;

static void *refuse_elsewhere(void *ctx) {
    refuse_all(ctx, refused_target);
    return NULL;
}

static jzx_behavior_result refuse_in_turn(jzx_context *ctx, void *arg) {
    jzx_context copy = *ctx;
    pthread_t thread;
    (void)arg;
    refuse_all(NULL, refused_target);
    refuse_all(&copy, refused_target);
    JZX_EXPECT_EQ(pthread_create(&thread, NULL, refuse_elsewhere, ctx), 0);
    JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(monitors_are_asked_for_in_the_own_turn_only, "E19", "C+fail") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {0};
    struct diary target = {0};
    struct diary dying = {.last = watch_in_cleanup};
    jzx_actor_id id = diary_spawn(loop, &watcher);
    refused_target = diary_spawn(loop, &target);
    now(loop, id, refuse_in_turn, NULL);
    in_cleanup = (struct call){.target = refused_target};
    now(loop, diary_spawn(loop, &dying), call_stop, NULL);
    JZX_EXPECT_EQ(in_cleanup.err, JZX_ERR_INVALID_ARG);
    now(loop, refused_target, call_stop, NULL);
    JZX_EXPECT_EQ(watcher.count, 0);
    fixture_destroy(loop);
}

/* The context of a behaviour after its time: in a call of the loop, in the cleanup of the same
 * actor, in the destructor of a message that is buried with it. */
static jzx_context *kept;

static jzx_behavior_result keep_context(jzx_context *ctx, void *arg) {
    kept = ctx;
    return arg == NULL ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

static void refuse_in_call(jzx_loop *loop, void *arg) {
    (void)loop;
    (void)arg;
    refuse_all(kept, refused_target);
}

static void refuse_in_cleanup(jzx_context *ctx) {
    JZX_EXPECT(ctx != kept);
    refuse_all(kept, refused_target);
}

static void refuse_in_destructor(void *data, size_t len) {
    (void)data;
    (void)len;
    refuse_all(kept, refused_target);
}

JZX_TEST(a_context_is_good_for_its_call_only, "E19", "C+fail") {
    jzx_loop *loop = fixture_loop();
    struct diary first = {0};
    struct diary target = {0};
    struct diary dying = {.last = refuse_in_cleanup};
    jzx_actor_id id = diary_spawn(loop, &first);
    refused_target = diary_spawn(loop, &target);
    now(loop, id, keep_context, NULL);
    JZX_EXPECT_EQ(jzx_loop_call(loop, refuse_in_call, NULL), JZX_OK);
    step(loop);
    id = diary_spawn(loop, &dying);
    step(loop);
    order(loop, id, keep_context, &dying);
    void *data = jzx_msg_alloc(loop, 40, refuse_in_destructor);
    JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, WORK), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(dying.cleanups, 1);
    now(loop, refused_target, call_stop, NULL);
    fixture_destroy(loop);
}

JZX_TEST(who_is_not_there_cannot_be_monitored, "E19", "C+fail") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {0};
    struct diary target = {0};
    jzx_actor_id id = diary_spawn(loop, &watcher);
    jzx_actor_id dead = diary_spawn(loop, &target);
    jzx_monitor_ref ref = JZX_NO_MONITOR;
    now(loop, dead, call_stop, NULL);
    JZX_EXPECT_EQ(now_monitor(loop, id, dead, &ref), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(now_link(loop, id, dead), JZX_ERR_NO_SUCH_ACTOR);
    jzx_actor_id next = diary_spawn(loop, &target); /* perhaps in the slot of the dead one */
    JZX_EXPECT_EQ(now_monitor(loop, id, dead, &ref), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(now_monitor(loop, id, next + 1000, &ref), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(now_monitor(loop, id, UINT64_MAX, &ref), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT(now_monitor(loop, id, JZX_NOBODY, &ref) != JZX_OK);
    JZX_EXPECT_EQ(now_monitor(loop, id, id, &ref), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(now_link(loop, id, id), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(ref, JZX_NO_MONITOR);
    now(loop, next, call_stop, NULL);
    JZX_EXPECT_EQ(watcher.count, 0);
    JZX_EXPECT_EQ(watcher.cleanups, 0);
    fixture_destroy(loop);
}

/* ---- taking it back ---- */

/* All in one turn: the target has ended before, its message waits. */
struct late {
    jzx_monitor_ref ref;
    jzx_err first;
    jzx_err second;
};

static jzx_behavior_result demonitor_twice(jzx_context *ctx, void *arg) {
    struct late *late = arg;
    late->first = jzx_demonitor(ctx, late->ref);
    late->second = jzx_demonitor(ctx, late->ref);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_monitor_that_was_taken_back_says_nothing, "E19", "D+top", "X15") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {0};
    struct diary other = {0};
    struct diary target = {0};
    jzx_actor_id id = diary_spawn(loop, &watcher);
    jzx_actor_id other_id = diary_spawn(loop, &other);
    jzx_actor_id target_id = diary_spawn(loop, &target);
    jzx_monitor_ref ref = JZX_NO_MONITOR;
    JZX_EXPECT_EQ(now_monitor(loop, id, target_id, &ref), JZX_OK);
    JZX_EXPECT_EQ(now_demonitor(loop, other_id, ref), JZX_ERR_NO_SUCH_ACTOR); /* another's */
    JZX_EXPECT_EQ(now_demonitor(loop, id, JZX_NO_MONITOR), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(now_demonitor(loop, id, ref + 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(now_demonitor(loop, id, UINT64_MAX), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(now_demonitor(loop, id, ref), JZX_OK);
    JZX_EXPECT_EQ(now_demonitor(loop, id, ref), JZX_ERR_NO_SUCH_ACTOR);
    now(loop, target_id, call_stop, NULL);
    JZX_EXPECT_EQ(watcher.count, 0);
    JZX_EXPECT_EQ(other.count, 0);
    fixture_destroy(loop);
}

/* The watcher is stopped in the middle of its mailbox: one message a turn, and the rest waits. */
JZX_TEST(a_message_that_waits_is_taken_back_as_well, "E19", "X15", "D+top") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {0};
    struct diary target = {0};
    struct late late = {0};
    jzx_actor_id id = diary_spawn(loop, &watcher);
    jzx_actor_id target_id = diary_spawn(loop, &target);
    JZX_EXPECT_EQ(now_monitor(loop, id, target_id, &late.ref), JZX_OK);
    order(loop, target_id, call_stop, NULL); /* its turn comes first */
    order(loop, id, demonitor_twice, &late);
    step(loop);
    JZX_EXPECT_EQ(target.cleanups, 1);
    JZX_EXPECT_EQ(late.first, JZX_OK);
    JZX_EXPECT_EQ(late.second, JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(watcher.count, 0);
    check_sums(loop);
    now(loop, id, call_stop, NULL);
    fixture_destroy(loop);
}

/* Puts DOWN aside; what comes then is decided by the test. */
static jzx_behavior_result stash_down(jzx_context *ctx, const jzx_message *msg) {
    struct diary *self = ctx->state;
    if (msg->tag == JZX_TAG_DOWN && self->count == 1)
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result unstash_and_demonitor(jzx_context *ctx, void *arg) {
    jzx_unstash(ctx);
    return demonitor_twice(ctx, arg);
}

static jzx_behavior_result demonitor_and_unstash(jzx_context *ctx, void *arg) {
    struct late *late = arg;
    if (late->ref != JZX_NO_MONITOR)
        late->first = jzx_demonitor(ctx, late->ref);
    jzx_unstash(ctx);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_down_that_is_aside_comes_back_or_dies, "E19", "X15") {
    for (int what = 0; what < 5; what++) {
        jzx_loop *loop = fixture_loop();
        struct diary watcher = {.then = stash_down};
        struct diary target = {0};
        struct late late = {0};
        jzx_actor_id id = diary_spawn(loop, &watcher);
        jzx_actor_id target_id = diary_spawn(loop, &target);
        JZX_EXPECT_EQ(now_monitor(loop, id, target_id, &late.ref), JZX_OK);
        now(loop, target_id, call_stop, NULL);
        JZX_EXPECT_EQ(watcher.count, 1);
        check_sums(loop);
        if (what == 0) {
            now(loop, id, demonitor_and_unstash, &late);
            JZX_EXPECT_EQ(late.first, JZX_OK);
            JZX_EXPECT_EQ(watcher.count, 1);
        } else if (what == 4) { /* it waits again, at the head of the mailbox */
            now(loop, id, unstash_and_demonitor, &late);
            JZX_EXPECT_EQ(late.first, JZX_OK);
            JZX_EXPECT_EQ(late.second, JZX_ERR_NO_SUCH_ACTOR);
            JZX_EXPECT_EQ(watcher.count, 1);
        } else if (what == 1) {
            late.ref = JZX_NO_MONITOR;
            now(loop, id, demonitor_and_unstash, &late);
            JZX_EXPECT_EQ(watcher.count, 2);
            expect_notice(&watcher, 1, JZX_TAG_DOWN, target_id, JZX_EXIT_NORMAL);
        } else if (what == 2) {
            now(loop, id, call_stop, NULL);
            JZX_EXPECT_EQ(watcher.cleanups, 1);
        }
        check_sums(loop);
        JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
    }
}

static void *taken;

static jzx_behavior_result take_down(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == JZX_TAG_DOWN) {
        const jzx_exit_notice *notice = msg->data;
        JZX_EXPECT_EQ(jzx_demonitor(ctx, notice->monitor), JZX_ERR_NO_SUCH_ACTOR);
        taken = jzx_msg_take(ctx, msg);
        JZX_EXPECT(taken == NULL || taken == msg->data);
        JZX_EXPECT(taken == NULL || jzx_msg_len(taken) == sizeof(jzx_exit_notice));
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), taken != NULL ? JZX_ERR_INVALID_ARG : JZX_OK);
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_data_of_a_down_can_be_taken, "E19", "X15") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {.then = take_down};
    struct diary target = {0};
    char text[] = "taken along";
    jzx_actor_id id = diary_spawn(loop, &watcher);
    jzx_actor_id target_id = diary_spawn(loop, &target);
    JZX_EXPECT_EQ(now_monitor(loop, id, target_id, NULL), JZX_OK);
    now(loop, target_id, call_exit, text);
    now(loop, id, call_stop, NULL);
    assert_non_null(taken);
    const jzx_exit_notice *notice = taken;
    JZX_EXPECT_EQ(notice->actor, target_id);
    assert_string_equal(notice->text, "taken along");
    jzx_msg_free(loop, taken);
    fixture_destroy(loop);
}

static jzx_actor_id forward_to;

static jzx_behavior_result forward_down(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == JZX_TAG_DOWN) {
        void *data = jzx_msg_take(ctx, msg);
        JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, forward_to, ctx->self, data, JZX_TAG_DOWN),
                      JZX_ERR_INVALID_ARG); /* a tag of the runtime's */
        jzx_err err = jzx_send_msg(ctx->loop, forward_to, ctx->self, data, WORK);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_MAILBOX_FULL);
        if (err != JZX_OK)
            jzx_msg_free(ctx->loop, data);
    }
    return JZX_BEHAVIOR_OK;
}

/* Once it is the receiver's it is a message as any other, and counts in a mailbox. */
JZX_TEST(the_data_of_a_down_can_be_sent_on, "E19", "X15") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {.then = forward_down};
    struct diary sink = {0};
    struct diary targets[3] = {{.count = 0}, {.count = 0}, {.count = 0}};
    jzx_actor_id id = diary_spawn(loop, &watcher);
    forward_to = fixture_spawn(loop, &DIARY_OPTS(&sink, .mailbox_cap = 1));
    for (uint32_t i = 0; i < 3; i++) {
        jzx_actor_id target = diary_spawn(loop, &targets[i]);
        JZX_EXPECT_EQ(now_monitor(loop, id, target, NULL), JZX_OK);
        order(loop, target, call_stop, NULL);
    }
    step(loop);
    JZX_EXPECT_EQ(watcher.count, 3);
    JZX_EXPECT_EQ(sink.count + fixture_stats(loop).refused_full, 3);
    JZX_EXPECT(sink.count >= 1);
    JZX_EXPECT_EQ(sink.entries[0].tag, WORK);
    fixture_destroy(loop);
}

/* ---- mailboxes that are full ---- */

/* What fills the watcher's mailbox before and after DOWN. */
static void down_beside_full(jzx_on_full on_full, uint32_t cap, bool before) {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {0};
    struct diary target = {0};
    jzx_actor_id id =
        fixture_spawn(loop, &DIARY_OPTS(&watcher, .mailbox_cap = cap, .on_full = on_full));
    jzx_actor_id target_id = diary_spawn(loop, &target);
    JZX_EXPECT_EQ(now_monitor(loop, id, target_id, NULL), JZX_OK);
    if (!before) /* its end comes first, the rest behind */
        order(loop, target_id, call_stop, NULL);
    for (uint32_t i = 0; i < 3 * cap; i++)
        jzx_send(loop, id, JZX_NOBODY, NULL, 0, WORK);
    if (before)
        order(loop, target_id, call_stop, NULL);
    step(loop);
    uint32_t downs = 0;
    for (uint32_t i = 0; i < watcher.count; i++)
        downs += watcher.entries[i].tag == JZX_TAG_DOWN;
    JZX_EXPECT_EQ(downs, 1);
    JZX_EXPECT(watcher.count > 1);
    fixture_destroy(loop);
}

JZX_TEST(no_mailbox_refuses_or_drops_a_down, "C+sys", "E19", "X15", "D+top") {
    for (uint32_t cap = 1; cap <= 3; cap++) {
        for (int before = 0; before < 2; before++) {
            down_beside_full(JZX_FULL_REFUSE, cap, before != 0);
            down_beside_full(JZX_FULL_DROP_OLDEST, cap, before != 0);
            down_beside_full(JZX_FULL_DROP_NEW, cap, before != 0);
        }
    }
}

/* Fills the watcher's mailbox from its own turn, while many DOWNs wait at its head. */
static jzx_behavior_result overflow(jzx_context *ctx, void *arg) {
    (void)arg;
    for (uint32_t i = 0; i < 50; i++)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, WORK), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(downs_that_wait_are_not_the_oldest_to_be_dropped, "E19", "X15", "D+top") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {0};
    struct diary targets[20];
    memset(targets, 0, sizeof targets);
    jzx_actor_id id = fixture_spawn(
        loop, &DIARY_OPTS(&watcher, .mailbox_cap = 2, .on_full = JZX_FULL_DROP_OLDEST));
    for (uint32_t i = 0; i < 20; i++) {
        jzx_actor_id target = diary_spawn(loop, &targets[i]);
        JZX_EXPECT_EQ(now_monitor(loop, id, target, NULL), JZX_OK);
        order(loop, target, call_stop, NULL);
    }
    order(loop, id, overflow, NULL); /* its turn comes behind all those ends */
    step(loop);
    uint32_t downs = 0;
    for (uint32_t i = 0; i < watcher.count; i++)
        downs += watcher.entries[i].tag == JZX_TAG_DOWN;
    JZX_EXPECT_EQ(downs, 20);
    JZX_EXPECT_EQ(watcher.count, 22);
    JZX_EXPECT_EQ(fixture_stats(loop).dead, 48);
    fixture_destroy(loop);
}

/* ---- who works off its queue ---- */

JZX_TEST(who_works_off_its_queue_still_hears_and_is_heard, "E19", "C27") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {0};
    struct diary target = {0};
    jzx_actor_id id = diary_spawn(loop, &watcher);
    jzx_actor_id target_id = diary_spawn(loop, &target);
    JZX_EXPECT_EQ(now_monitor(loop, id, target_id, NULL), JZX_OK);
    for (uint32_t i = 0; i < 5; i++)
        fixture_send(loop, target_id, WORK);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, target_id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(target.count, 5);
    JZX_EXPECT_EQ(watcher.count, 1);
    expect_notice(&watcher, 0, JZX_TAG_DOWN, target_id, JZX_EXIT_NORMAL);
    fixture_destroy(loop);
}

static jzx_behavior_result stop_both(jzx_context *ctx, void *arg) {
    const jzx_actor_id *target = arg;
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_AFTER_QUEUE), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, *target, JZX_STOP_KILL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* The watcher is at the end of its queue, and the target dies meanwhile: nothing is left over. */
JZX_TEST(watchers_and_targets_may_end_together, "E19", "X15") {
    for (uint32_t waiting = 0; waiting < 3; waiting++) {
        jzx_loop *loop = fixture_loop();
        struct diary watcher = {0};
        struct diary target = {0};
        jzx_actor_id id = diary_spawn(loop, &watcher);
        jzx_actor_id target_id = diary_spawn(loop, &target);
        JZX_EXPECT_EQ(now_monitor(loop, id, target_id, NULL), JZX_OK);
        JZX_EXPECT_EQ(now_monitor(loop, target_id, id, NULL), JZX_OK);
        order(loop, id, stop_both, &target_id);
        for (uint32_t i = 0; i < waiting; i++)
            fixture_send(loop, id, WORK);
        step(loop);
        JZX_EXPECT_EQ(fixture_stats(loop).exited, 2);
        JZX_EXPECT_EQ(watcher.cleanups, 1);
        JZX_EXPECT_EQ(target.cleanups, 1);
        JZX_EXPECT(watcher.count >= waiting);
        fixture_destroy(loop);
    }
}

/* ---- loops that end ---- */

static void end_loop(jzx_loop *loop, int how) {
    if (how == 1)
        JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
    if (how == 2)
        JZX_EXPECT_EQ(jzx_loop_stop(loop, jzx_loop_now(loop) + JZX_SECOND(100)), JZX_OK);
    if (how == 3)
        JZX_EXPECT_EQ(jzx_loop_stop(loop, jzx_loop_now(loop)), JZX_OK);
    if (how != 0)
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    check_sums(loop);
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
}

JZX_TEST(a_loop_ends_with_everybody_watching_everybody, "E19", "C16", "D+top") {
    enum { COUNT = 12 };
    static struct diary diaries[COUNT];
    for (int how = 0; how < 4; how++) {
        for (uint32_t workers = 1; workers <= 4; workers += 3) {
            jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
            static struct call calls[COUNT][COUNT];
            jzx_actor_id ids[COUNT];
            uint64_t before = jzx_test_runs();
            memset(diaries, 0, sizeof diaries);
            for (uint32_t i = 0; i < COUNT; i++)
                ids[i] = diary_spawn(loop, &diaries[i]);
            for (uint32_t i = 0; i < COUNT * COUNT; i++) {
                struct call *call = &calls[i / COUNT][i % COUNT];
                *call = (struct call){.target = ids[i % COUNT]};
                order(loop, ids[i / COUNT], i % 3 == 0 ? call_link : call_monitor, call);
            }
            if (workers == 1 && how != 2)
                step(loop);
            end_loop(loop, how);
            if (workers == 1 && how != 2)
                JZX_EXPECT_EQ(jzx_test_runs() - before, COUNT * COUNT);
            for (uint32_t i = 0; i < COUNT; i++) {
                JZX_EXPECT_EQ(diaries[i].cleanups, 1);
                JZX_EXPECT(diaries[i].count <= COUNT);
            }
        }
    }
}

static jzx_behavior_result monitor_after_stop(jzx_context *ctx, void *arg) {
    struct call *call = arg;
    JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    call->err = jzx_monitor(ctx, call->target, &call->ref);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_loop_that_was_stopped_refuses_monitors_or_ends_them, "E19", "C16") {
    jzx_loop *loop = fixture_loop();
    struct diary watcher = {0};
    struct diary target = {0};
    struct call call = {.target = diary_spawn(loop, &target)};
    order(loop, diary_spawn(loop, &watcher), monitor_after_stop, &call);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(call.err == JZX_OK || call.err == JZX_ERR_LOOP_CLOSED);
    check_sums(loop);
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
}
