/* SPDX-License-Identifier: MIT */
/* Calls that wait where nothing may wait: every call, in every place, with every config.on_wait. */
#include "../unit/child.h"
#include "fibering.h"

#include <jzx/ask.h>
#include <jzx/context.h>
#include <jzx/future.h>

#include <pthread.h>

/* ---- the calls ---- */

static jzx_actor_id bystander; /* lives, and is never reached */

static bool take_any(void *arg, const jzx_message *msg) {
    (void)arg;
    (void)msg;
    return true;
}

static jzx_err do_receive(jzx_context *ctx) {
    jzx_message msg;
    return jzx_receive(ctx, 0, &msg);
}

static jzx_err do_receive_tag(jzx_context *ctx) {
    jzx_message msg;
    return jzx_receive_tag(ctx, 1, JZX_NEVER, &msg);
}

static jzx_err do_receive_from(jzx_context *ctx) {
    jzx_message msg;
    return jzx_receive_from(ctx, bystander, JZX_NEVER, &msg);
}

static jzx_err do_receive_match(jzx_context *ctx) {
    jzx_message msg;
    return jzx_receive_match(ctx, take_any, NULL, JZX_NEVER, &msg);
}

static jzx_err do_sleep(jzx_context *ctx) {
    return jzx_sleep(ctx, jzx_in(ctx, JZX_MS(1)));
}

static jzx_err do_call(jzx_context *ctx) {
    jzx_message answer;
    return jzx_call(ctx, bystander, NULL, 0, 1, JZX_NEVER, &answer);
}

static jzx_err do_join(jzx_context *ctx) {
    return jzx_join(ctx, bystander, JZX_NEVER, NULL);
}

static jzx_err do_send_until(jzx_context *ctx) {
    return jzx_send_until(ctx, bystander, NULL, 0, 1, JZX_NEVER);
}

static jzx_future *settled; /* a call that waits for it is refused all the same */

static jzx_err do_await(jzx_context *ctx) {
    return jzx_await(ctx, settled, JZX_NEVER, NULL);
}

static jzx_err do_future_wait(jzx_context *ctx) {
    (void)ctx;
    return jzx_future_wait(settled, JZX_NEVER, NULL);
}

static jzx_err do_send_wait(jzx_context *ctx) {
    return jzx_send_wait(ctx->loop, bystander, NULL, 0, 1, JZX_NEVER);
}

static jzx_err do_call_wait(jzx_context *ctx) {
    jzx_message answer;
    return jzx_call_wait(ctx->loop, bystander, NULL, 0, 1, JZX_NEVER, &answer);
}

static jzx_err do_spawn_wait(jzx_context *ctx) {
    jzx_actor_id id;
    return jzx_spawn_wait(ctx->loop, &JZX_SPAWN_OPTS(.behavior = record), JZX_NEVER, &id);
}

static const struct {
    const char *name;
    jzx_err (*make)(jzx_context *ctx);
    bool is_for_threads; /* that are no workers: there it may wait */
} calls[] = {
    {"jzx_receive", do_receive, false},
    {"jzx_receive_tag", do_receive_tag, false},
    {"jzx_receive_from", do_receive_from, false},
    {"jzx_receive_match", do_receive_match, false},
    {"jzx_sleep", do_sleep, false},
    {"jzx_yield", jzx_yield, false},
    {"jzx_call", do_call, false},
    {"jzx_join", do_join, false},
    {"jzx_send_until", do_send_until, false},
    {"jzx_await", do_await, false},
    {"jzx_future_wait", do_future_wait, true},
    {"jzx_send_until", do_send_until, false},
    {"jzx_send_wait", do_send_wait, true},
    {"jzx_call_wait", do_call_wait, true},
    {"jzx_spawn_wait", do_spawn_wait, true},
};

#define CALL_COUNT (sizeof calls / sizeof calls[0])

/* ---- one case ---- */

static struct {
    jzx_on_wait on_wait;
    size_t call;
    /* what happened */
    uint32_t made;      /* times that the call was made */
    uint32_t returned;  /* and that it returned */
    uint32_t went_on;   /* actors that came to an end of their own */
    jzx_exit_reason as; /* how the actor ended that made it */
    char text[JZX_EXIT_TEXT_MAX + 1];
    uint32_t lines; /* of the log that name the call */
    char line[256];
} at;

static void wait_here(jzx_context *ctx) {
    at.made++;
    jzx_err err = calls[at.call].make(ctx);
    JZX_EXPECT_EQ(err, JZX_ERR_WOULD_SUSPEND);
    at.returned++;
}

static void keep_line(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    (void)level;
    if (strstr(text, "where nothing may wait") == NULL || strstr(text, " failed: ") != NULL)
        return;
    at.lines++;
    snprintf(at.line, sizeof at.line, "%s", text);
}

static jzx_context *the_fiber; /* whose code is below a callback, or the context of an actor */
static bool observer_waits;

static void see(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_ACTOR_STOP || event->kind == JZX_EVENT_ACTOR_FAIL) {
        if (event->name == NULL || strcmp(event->name, "guilty") != 0)
            return;
        at.as = event->reason;
        snprintf(at.text, sizeof at.text, "%s", event->detail);
    }
    if (event->kind == JZX_EVENT_DEAD_LETTER && observer_waits)
        wait_here(the_fiber);
}

/* ---- the places ---- */

static jzx_behavior_result stop_well(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    at.went_on++;
    return JZX_BEHAVIOR_STOP;
}

static void spawn_guilty(jzx_loop *loop, const jzx_spawn_opts *opts) {
    jzx_spawn_opts named = *opts;
    named.name = "guilty";
    jzx_actor_id id = fixture_spawn(loop, &named);
    if (named.behavior != NULL)
        fixture_send(loop, id, 1);
}

static jzx_behavior_result wait_in_behavior(jzx_context *ctx, const jzx_message *msg) {
    wait_here(ctx);
    return stop_well(ctx, msg);
}

static void in_behavior(jzx_loop *loop) {
    spawn_guilty(loop, &JZX_SPAWN_OPTS(.behavior = wait_in_behavior));
}

static jzx_err wait_in_init(jzx_context *ctx) {
    wait_here(ctx);
    return JZX_OK;
}

static void in_init(jzx_loop *loop) {
    spawn_guilty(loop, &JZX_SPAWN_OPTS(.behavior = stop_well, .init = wait_in_init));
}

static void end_well(jzx_context *ctx) {
    (void)ctx;
    at.went_on++;
}

static void in_init_of_fiber(jzx_loop *loop) {
    spawn_guilty(loop, &JZX_SPAWN_OPTS(.fiber = end_well, .init = wait_in_init));
}

static bool wait_in_predicate(void *arg, const jzx_message *msg) {
    (void)msg;
    wait_here(arg);
    return true;
}

static void match(jzx_context *ctx) {
    jzx_message msg;
    fixture_send(ctx->loop, ctx->self, 1);
    JZX_EXPECT_EQ(jzx_receive_match(ctx, wait_in_predicate, ctx, JZX_NEVER, &msg), JZX_OK);
    at.went_on++;
}

static void in_predicate(jzx_loop *loop) {
    spawn_guilty(loop, &JZX_SPAWN_OPTS(.fiber = match));
}

static void use_copy(jzx_context *ctx) {
    jzx_context copy = *ctx;
    wait_here(&copy);
    at.went_on++;
}

static void with_another_context(jzx_loop *loop) {
    spawn_guilty(loop, &JZX_SPAWN_OPTS(.fiber = use_copy));
}

static void wait_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    wait_here(ctx);
}

static void in_cleanup(jzx_loop *loop) {
    spawn_guilty(loop, &JZX_SPAWN_OPTS(.behavior = stop_well, .cleanup = wait_in_cleanup));
}

static void in_cleanup_of_fiber(jzx_loop *loop) {
    spawn_guilty(loop, &JZX_SPAWN_OPTS(.fiber = end_well, .cleanup = wait_in_cleanup));
}

static void wait_in_destructor(void *data, size_t len) {
    (void)data;
    (void)len;
    wait_here(the_fiber);
}

static void free_one(jzx_context *ctx) {
    the_fiber = ctx;
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 8, wait_in_destructor));
    at.went_on++;
}

static void in_destructor(jzx_loop *loop) {
    spawn_guilty(loop, &JZX_SPAWN_OPTS(.fiber = free_one));
}

static void free_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    the_fiber = ctx;
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 8, wait_in_destructor));
}

static void in_destructor_of_cleanup(jzx_loop *loop) {
    spawn_guilty(loop, &JZX_SPAWN_OPTS(.behavior = stop_well, .cleanup = free_in_cleanup));
}

static void overfill(jzx_context *ctx) {
    the_fiber = ctx;
    fixture_send(ctx->loop, ctx->self, 1);
    observer_waits = true;
    fixture_send(ctx->loop, ctx->self, 1); /* a dead letter */
    observer_waits = false;
    at.went_on++;
}

static void in_observer(jzx_loop *loop) {
    spawn_guilty(
        loop, &JZX_SPAWN_OPTS(.fiber = overfill, .mailbox_cap = 1, .on_full = JZX_FULL_DROP_NEW));
}

static void wait_in_call(jzx_loop *loop, void *ctx) {
    (void)loop;
    wait_here(the_fiber);
    *(bool *)ctx = true;
}

static void let_call_run(jzx_context *ctx) {
    bool was_called = false;
    the_fiber = ctx;
    JZX_EXPECT_EQ(jzx_loop_call(ctx->loop, wait_in_call, &was_called), JZX_OK);
    while (!was_called)
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    at.went_on++;
}

static void in_call_of_loop(jzx_loop *loop) {
    spawn_guilty(loop, &JZX_SPAWN_OPTS(.fiber = let_call_run));
}

static void *wait_elsewhere(void *arg) {
    wait_here(arg);
    return NULL;
}

static void start_thread(jzx_context *ctx) {
    pthread_t thread;
    JZX_EXPECT_EQ(pthread_create(&thread, NULL, wait_elsewhere, ctx), 0);
    JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    at.went_on++;
}

static void on_another_thread(jzx_loop *loop) {
    spawn_guilty(loop, &JZX_SPAWN_OPTS(.fiber = start_thread));
}

/* What failing means in a place. */
enum fails { ENDS_ACTOR, LEAVES_CLEANUP, ONLY_LOGS };

static const struct place {
    const char *name;
    void (*begin)(jzx_loop *loop);
    enum fails fails;
    const char *caller; /* in the log */
} places[] = {
    {"behaviour", in_behavior, ENDS_ACTOR, ""},
    {"init", in_init, ENDS_ACTOR, ""},
    {"init of a fiber", in_init_of_fiber, ENDS_ACTOR, ""},
    {"predicate", in_predicate, ENDS_ACTOR, ""},
    {"with another context", with_another_context, ENDS_ACTOR, ""},
    {"cleanup", in_cleanup, LEAVES_CLEANUP, ""},
    {"cleanup of a fiber", in_cleanup_of_fiber, LEAVES_CLEANUP, ""},
    {"destructor", in_destructor, ONLY_LOGS, " guilty"},
    {"destructor in a cleanup", in_destructor_of_cleanup, ONLY_LOGS, " guilty"},
    {"observer", in_observer, ONLY_LOGS, " guilty"},
    {"call of the loop", in_call_of_loop, ONLY_LOGS, "no actor"},
    {"another thread", on_another_thread, ONLY_LOGS, "no actor"},
};

#define PLACE_COUNT (sizeof places / sizeof places[0])

static void run_case(const struct place *place, jzx_on_wait on_wait, size_t call) {
    struct recorder idle = {0};
    memset(&at, 0, sizeof at);
    at.on_wait = on_wait;
    at.call = call;
    observer_waits = false;
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.on_wait = on_wait,
                    .log = {.write = keep_line,
                            .level = on_wait == JZX_ON_WAIT_FAIL ? JZX_LOG_WARN : JZX_LOG_DEBUG}));
    assert_non_null(loop);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = see), NULL), JZX_OK);
    assert_int_equal(jzx_future_resolved(loop, NULL, 0, &settled), JZX_OK);
    bystander =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &idle, .daemon = true));
    place->begin(loop);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(idle.count, 0);
    if (!JZX_EXPECT_EQ(at.made, 1))
        fprintf(stderr, "in %s\n", place->name);
    jzx_future_release(settled);
    fixture_destroy(loop);
}

static bool is_wrong(const struct place *place, size_t call) {
    return !calls[call].is_for_threads || place->begin != on_another_thread;
}

/* ---- refuse ---- */

JZX_TEST(a_call_that_waits_is_refused_where_nothing_may_wait, "E29", "E+wait") {
    for (int by_default = 0; by_default < 2; by_default++) {
        for (size_t i = 0; i < PLACE_COUNT; i++) {
            for (size_t call = 0; call < CALL_COUNT; call++) {
                if (!is_wrong(&places[i], call))
                    continue;
                run_case(&places[i], by_default ? JZX_ON_WAIT_DEFAULT : JZX_ON_WAIT_REFUSE, call);
                JZX_EXPECT_EQ(at.returned, 1);
                JZX_EXPECT_EQ(at.went_on, 1);
                JZX_EXPECT_EQ(at.as, JZX_EXIT_NORMAL);
                JZX_EXPECT_EQ(at.lines, 0);
            }
        }
    }
}

/* ---- fail ---- */

static void expect_text(const char *text) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%s called where nothing may wait", calls[at.call].name);
    if (!JZX_EXPECT(strstr(text, wanted) != NULL))
        fprintf(stderr, "%s is not in: %s\n", wanted, text);
}

static void expect_failed(const struct place *place) {
    switch (place->fails) {
    case ENDS_ACTOR:
        JZX_EXPECT_EQ(at.returned, 0);
        JZX_EXPECT_EQ(at.went_on, 0);
        JZX_EXPECT_EQ(at.as, JZX_EXIT_FAIL);
        JZX_EXPECT_EQ(at.lines, 0);
        expect_text(at.text);
        break;
    case LEAVES_CLEANUP:
        JZX_EXPECT_EQ(at.returned, 0);
        JZX_EXPECT_EQ(at.went_on, 1);
        JZX_EXPECT_EQ(at.as, JZX_EXIT_NORMAL); /* as it had ended before */
        JZX_EXPECT_EQ(at.lines, 1);
        expect_text(at.line);
        break;
    case ONLY_LOGS:
        JZX_EXPECT_EQ(at.returned, 1);
        JZX_EXPECT_EQ(at.went_on, 1);
        JZX_EXPECT_EQ(at.as, JZX_EXIT_NORMAL);
        JZX_EXPECT_EQ(at.lines, 1);
        expect_text(at.line);
        JZX_EXPECT(strstr(at.line, place->caller) != NULL);
        break;
    }
}

JZX_TEST(a_call_that_waits_fails_its_actor_if_the_loop_says_so, "E29", "E+wait") {
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        for (size_t call = 0; call < CALL_COUNT; call++) {
            if (!is_wrong(&places[i], call))
                continue;
            run_case(&places[i], JZX_ON_WAIT_FAIL, call);
            expect_failed(&places[i]);
        }
    }
}

/* The actor of the inner loop makes the call, with the context of the outer one's. */
static jzx_behavior_result wait_for_outer(jzx_context *ctx, const jzx_message *msg) {
    wait_here(the_fiber);
    return stop_well(ctx, msg);
}

static void run_inner(jzx_context *ctx) {
    the_fiber = ctx;
    jzx_loop *inner = fixture_loop_with(&JZX_CONFIG(.on_wait = JZX_ON_WAIT_FAIL));
    JZX_EXPECT_EQ(jzx_loop_set_observer(inner, &JZX_OBSERVER(.on_event = see), NULL), JZX_OK);
    spawn_guilty(inner, &JZX_SPAWN_OPTS(.behavior = wait_for_outer));
    JZX_EXPECT_EQ(jzx_loop_run(inner), JZX_OK);
    fixture_destroy(inner);
    at.went_on++;
}

JZX_TEST(the_loop_of_the_code_that_waits_decides, "E29", "E+wait") {
    struct life life = {0};
    memset(&at, 0, sizeof at);
    jzx_loop *loop = fixture_loop(); /* refuses */
    spawn_fiber(loop, run_inner, &life);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(at.made, 1);
    JZX_EXPECT_EQ(at.returned, 0);
    JZX_EXPECT_EQ(at.went_on, 1);
    JZX_EXPECT_EQ(at.as, JZX_EXIT_FAIL);
    expect_ended(&life, JZX_EXIT_NORMAL);
    fixture_destroy(loop);
}

/* ---- abort ---- */

static size_t place_of_child;
static size_t call_of_child;

static void run_in_place(void) {
    run_case(&places[place_of_child], JZX_ON_WAIT_ABORT, call_of_child);
}

JZX_TEST(a_call_that_waits_ends_the_process_if_the_loop_says_so, "E29", "E+wait") {
    for (place_of_child = 0; place_of_child < PLACE_COUNT; place_of_child++) {
        /* every call in the first place, and every place with the first call */
        size_t count = place_of_child == 0 ? CALL_COUNT : 1;
        for (call_of_child = 0; call_of_child < count; call_of_child++) {
            at.call = call_of_child;
            struct child_end end = run_in_child(run_in_place);
            if (!JZX_EXPECT(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT))
                fprintf(stderr, "in %s: %s\n", places[place_of_child].name, end.text);
            expect_text(end.text);
        }
    }
}
