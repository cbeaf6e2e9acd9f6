/* SPDX-License-Identifier: MIT */
/* The observer: which events come, in which order, and that it changes nothing. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

struct trace {
    char text[4096];
    size_t used;
};

/* A word, a number and perhaps more, and a space. */
static void add(struct trace *trace, const char *word, uint32_t number, const char *more) {
    int n = snprintf(trace->text + trace->used, sizeof trace->text - trace->used, "%s%u%s ", word,
                     number, more);
    if (JZX_EXPECT(n > 0 && trace->used + (size_t)n < sizeof trace->text))
        trace->used += (size_t)n;
}

static void on_start(void *ctx, jzx_actor_id id, const char *name) {
    add(ctx, name == NULL ? "start" : "named", jzx_id_index(id), "");
}

static void on_stop(void *ctx, jzx_actor_id id, jzx_exit_reason reason) {
    static const char *const reasons[] = {":0", ":1", ":2", ":3", ":4"};
    add(ctx, "stop", jzx_id_index(id), reasons[reason]);
}

static void on_full(void *ctx, jzx_actor_id id) {
    add(ctx, "full", jzx_id_index(id), "");
}

static void on_event(void *ctx, const jzx_event *event) {
    add(ctx, "(", event->kind, ")");
    JZX_EXPECT(event->kind != JZX_EVENT_LOOP_START || event->actor == JZX_NOBODY);
}

static const jzx_observer all_callbacks = {.size = sizeof(jzx_observer),
                                           .on_actor_start = on_start,
                                           .on_actor_stop = on_stop,
                                           .on_mailbox_full = on_full,
                                           .on_event = on_event};

static jzx_behavior_result do_as_tagged(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    return msg->tag <= 2 ? (jzx_behavior_result)msg->tag : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result spawn_child(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_actor_id child;
    JZX_EXPECT_EQ(
        jzx_spawn(ctx->loop,
                  &JZX_SPAWN_OPTS(.behavior = do_as_tagged, .name = "child", .mailbox_cap = 1),
                  &child),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, child, ctx->self, NULL, 0, JZX_BEHAVIOR_FAIL), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, child, ctx->self, NULL, 0, 0), JZX_ERR_MAILBOX_FULL);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(every_event_comes_once_and_in_order, "C14", "C15", "X24") {
    jzx_loop *loop = fixture_loop();
    struct trace trace = {0};
    assert_int_equal(jzx_loop_set_observer(loop, &all_callbacks, &trace), JZX_OK);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spawn_child));
    fixture_send(loop, id, 1);
    fixture_send(loop, id, 2);           /* waits when the actor stops: a dead letter */
    assert_string_equal(trace.text, ""); /* events are of the loop's thread, even the spawn's */
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_string_equal(trace.text, "(1) start0 (3) named1 (3) full1 (8) (9) stop0:0 (4) "
                                    "stop1:1 (5) ");
    trace = (struct trace){0};
    fixture_destroy(loop);
    assert_string_equal(trace.text, "(2) ");
}

static void expect_names(void *ctx, const jzx_event *event) {
    uint32_t *letters = ctx;
    if (event->kind == JZX_EVENT_DEAD_LETTER) {
        ++*letters;
        JZX_EXPECT(event->name != NULL && strcmp(event->name, "stillborn") == 0);
    }
}

static jzx_err refuse_to_live(jzx_context *ctx) {
    (void)ctx;
    return JZX_ERR_UNKNOWN;
}

JZX_TEST(dead_letters_carry_the_name_of_their_actor, "C14", "X14") {
    jzx_loop *loop = fixture_loop();
    uint32_t letters = 0;
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = expect_names), &letters),
                     JZX_OK);
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = do_as_tagged, .init = refuse_to_live,
                                            .name = "stillborn"));
    fixture_send(loop, id, 5);
    fixture_send(loop, id, 6);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(letters, 2);
    fixture_destroy(loop);
}

JZX_TEST(the_loops_own_events_enclose_all_others, "C14") {
    jzx_loop *loop = fixture_loop();
    struct trace trace = {0};
    assert_int_equal(jzx_loop_set_observer(loop, &all_callbacks, &trace), JZX_OK);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = do_as_tagged));
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK); /* it never ran */
    assert_string_equal(trace.text, "(1) start0 (3) stop0:4 (4) (2) ");
}

JZX_TEST(callbacks_may_be_missing, "C15") {
    jzx_loop *loop = fixture_loop();
    jzx_observer none = {.size = sizeof none};
    assert_int_equal(jzx_loop_set_observer(loop, &none, NULL), JZX_OK);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spawn_child));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(fixture_stats(loop).spawned, 2);
    fixture_destroy(loop);
}

JZX_TEST(set_observer_checks_its_arguments, "X24", "C15") {
    jzx_loop *loop = fixture_loop();
    struct trace trace = {0};
    jzx_observer wrong = all_callbacks;
    wrong.size = sizeof wrong + 8;
    assert_int_equal(jzx_loop_set_observer(loop, &wrong, &trace), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_set_observer(NULL, &all_callbacks, &trace), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_set_observer(loop, &all_callbacks, &trace), JZX_OK);
    assert_int_equal(jzx_loop_set_observer(loop, NULL, NULL), JZX_OK); /* gone again */
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    assert_string_equal(trace.text, "");
}

/* ---- observers may use the loop ---- */

struct reactor {
    jzx_loop *loop;
    jzx_actor_id heir;
    int spawned;
};

static void replace_the_dead(void *ctx, jzx_actor_id id, jzx_exit_reason reason) {
    struct reactor *self = ctx;
    (void)id;
    if (reason != JZX_EXIT_FAIL || self->spawned == 3)
        return;
    self->spawned++;
    JZX_EXPECT_EQ(jzx_spawn(self->loop, &JZX_SPAWN_OPTS(.behavior = do_as_tagged), &self->heir),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_send(self->loop, self->heir, JZX_NOBODY, NULL, 0, JZX_BEHAVIOR_FAIL), JZX_OK);
}

JZX_TEST(an_observer_may_spawn_and_send, "C15") {
    struct reactor reactor = {.loop = fixture_loop()};
    jzx_observer observer = {.size = sizeof observer, .on_actor_stop = replace_the_dead};
    assert_int_equal(jzx_loop_set_observer(reactor.loop, &observer, &reactor), JZX_OK);
    jzx_actor_id id = fixture_spawn(reactor.loop, &JZX_SPAWN_OPTS(.behavior = do_as_tagged));
    fixture_send(reactor.loop, id, JZX_BEHAVIOR_FAIL);
    assert_int_equal(jzx_loop_run(reactor.loop), JZX_OK);
    assert_int_equal(reactor.spawned, 3);
    assert_int_equal(fixture_stats(reactor.loop).failed, 4);
    fixture_destroy(reactor.loop);
}

/* ---- the layout of the struct ---- */

JZX_TEST(the_observer_begins_with_its_size_and_has_the_five_callbacks, "C15", "X24") {
    assert_int_equal(offsetof(jzx_observer, size), 0);
    size_t slot = sizeof(size_t);
    assert_int_equal(offsetof(jzx_observer, on_actor_start), 1 * slot);
    assert_int_equal(offsetof(jzx_observer, on_actor_stop), 2 * slot);
    assert_int_equal(offsetof(jzx_observer, on_actor_restart), 3 * slot);
    assert_int_equal(offsetof(jzx_observer, on_supervisor_escalate), 4 * slot);
    assert_int_equal(offsetof(jzx_observer, on_mailbox_full), 5 * slot);
    assert_int_equal(offsetof(jzx_observer, on_event), 6 * slot);
}
