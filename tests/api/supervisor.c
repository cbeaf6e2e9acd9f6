/* SPDX-License-Identifier: MIT */
/* Supervisors: each strategy with toy children, and the exact trace of what starts and stops. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

enum { FAIL = 1, STOP, COUNT };

/* Children write "+name " when they start and "-name " when they end. */
static char trace[4096];

static void note(char sign, const char *name) {
    size_t length = strlen(trace);
    snprintf(trace + length, sizeof trace - length, "%c%s ", sign, name);
}

static jzx_err begin(jzx_context *ctx) {
    note('+', ctx->state);
    return JZX_OK;
}

static void finish(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    note('-', ctx->state);
}

static jzx_behavior_result toy(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    return msg->tag == FAIL   ? JZX_BEHAVIOR_FAIL
           : msg->tag == STOP ? JZX_BEHAVIOR_STOP
                              : JZX_BEHAVIOR_OK;
}

#define TOY(child)                                                                                 \
    .name = child, .behavior = toy, .init = begin, .cleanup = finish, .state = (char[]) {          \
        child                                                                                      \
    }

static const jzx_child_spec abc[] = {{TOY("a")}, {TOY("b")}, {TOY("c")}};

static void step(jzx_loop *loop) {
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

static jzx_actor_id child(jzx_loop *loop, jzx_actor_id root, const char *name) {
    jzx_actor_id id = JZX_NOBODY;
    assert_int_equal(jzx_supervisor_child(loop, root, name, &id), JZX_OK);
    return id;
}

static jzx_actor_id tree(jzx_loop *loop, const jzx_supervisor_opts *opts) {
    jzx_actor_id root = JZX_NOBODY;
    trace[0] = '\0';
    assert_int_equal(jzx_spawn_supervisor(loop, opts, &root), JZX_OK);
    step(loop);
    return root;
}

/* What the trace is since the last look. */
static void expect_trace(const char *expected) {
    assert_string_equal(trace, expected);
    trace[0] = '\0';
}

static void check_strategy(jzx_strategy strategy, const char *restarted, const char *stopped) {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id root = tree(loop, &JZX_SUPERVISOR_OPTS(.strategy = strategy, JZX_CHILDREN(abc)));
    expect_trace("+a +b +c ");
    jzx_actor_id before = child(loop, root, "b");
    fixture_send(loop, before, FAIL);
    step(loop);
    expect_trace(restarted);
    assert_int_not_equal(child(loop, root, "b"), before);
    assert_int_equal(jzx_send(loop, before, JZX_NOBODY, NULL, 0, COUNT), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_actor_stop(loop, root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    step(loop);
    expect_trace(stopped);
    assert_false(jzx_loop_alive(loop));
    fixture_destroy(loop);
}

JZX_TEST(one_for_one_restarts_the_child_that_failed, "C21", "C27") {
    check_strategy(JZX_ONE_FOR_ONE, "-b +b ", "-c -b -a ");
}

JZX_TEST(one_for_all_stops_all_and_starts_all, "C21", "C27") {
    check_strategy(JZX_ONE_FOR_ALL, "-b -c -a +a +b +c ", "-c -b -a ");
}

JZX_TEST(rest_for_one_restarts_what_was_started_later, "C21", "C27") {
    check_strategy(JZX_REST_FOR_ONE, "-b -c +b +c ", "-c -b -a ");
}

JZX_TEST(a_top_supervisor_that_gives_up_stops_the_loop, "C22", "C+sup", "C+tool") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id root = tree(loop, &JZX_SUPERVISOR_OPTS(.intensity = 2, JZX_CHILDREN(abc)));
    for (int i = 0; i < 2; i++) {
        fixture_send(loop, child(loop, root, "b"), FAIL);
        step(loop);
    }
    expect_trace("+a +b +c -b +b -b +b ");
    fixture_send(loop, child(loop, root, "b"), FAIL);
    assert_int_equal(jzx_loop_run(loop), JZX_ERR_ESCALATED);
    expect_trace("-b -c -a ");
    fixture_destroy(loop);
}

JZX_TEST(a_registered_name_leads_to_the_incarnation_that_runs, "D+name") {
    const jzx_child_spec specs[] = {{TOY("a"), .registered = "service"}};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id root = tree(loop, &JZX_SUPERVISOR_OPTS(.intensity = 1, JZX_CHILDREN(specs)));
    jzx_actor_id before = JZX_NOBODY;
    jzx_actor_id after = JZX_NOBODY;
    assert_int_equal(jzx_lookup(loop, "service", &before), JZX_OK);
    assert_int_equal(before, child(loop, root, "a"));
    fixture_send(loop, before, FAIL);
    step(loop);
    assert_int_equal(jzx_lookup(loop, "service", &after), JZX_OK);
    assert_int_equal(after, child(loop, root, "a"));
    assert_int_not_equal(after, before);
    fixture_destroy(loop);
}

JZX_TEST(a_registered_name_that_another_has_is_a_failure, "D+name", "C22") {
    const jzx_child_spec specs[] = {{TOY("a"), .registered = "service"}};
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id other = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    assert_int_equal(jzx_register(loop, "service", other), JZX_OK);
    jzx_actor_id root = JZX_NOBODY;
    trace[0] = '\0';
    assert_int_equal(jzx_spawn_supervisor(loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)), &root),
                     JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_ERR_ESCALATED);
    expect_trace("-a "); /* its init never ran */
    fixture_destroy(loop);
}

static jzx_behavior_result note_added(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(msg->tag, JZX_TAG_CHILD_ADDED);
    memcpy(ctx->state, msg->data, sizeof(jzx_child_added));
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(adding_a_child_whose_name_is_taken_is_answered_and_no_failure, "D+name", "C+sup") {
    jzx_loop *loop = fixture_loop();
    jzx_child_added added = {.err = JZX_OK};
    jzx_actor_id asker =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_added, .state = &added));
    jzx_actor_id root = tree(loop, &JZX_SUPERVISOR_OPTS(.intensity = JZX_NONE));
    assert_int_equal(jzx_register(loop, "service", asker), JZX_OK);
    const jzx_child_spec taken = {.name = "t", .registered = "service", .behavior = toy};
    assert_int_equal(jzx_supervisor_add(loop, root, &taken, sizeof taken, asker), JZX_OK);
    step(loop);
    assert_int_equal(added.err, JZX_ERR_EXISTS);
    assert_int_equal(added.child, asker); /* that has the name */
    jzx_supervisor_info info = {.size = sizeof info};
    assert_int_equal(jzx_supervisor_info_get(loop, root, &info), JZX_OK);
    assert_int_equal(info.children, 0);
    assert_false(info.closing);
    fixture_destroy(loop);
}

JZX_TEST(siblings_with_the_same_registered_name_are_refused, "D+name", "C+sup") {
    const jzx_child_spec specs[] = {{TOY("a"), .registered = "x"}, {TOY("b"), .registered = "x"}};
    const char *field = NULL;
    assert_int_equal(jzx_supervisor_check(&JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)), &field),
                     JZX_ERR_INVALID_ARG);
    assert_string_equal(field, "registered");
}

/* ---- why ---- */

static jzx_err lack(jzx_context *ctx) {
    (void)ctx;
    return JZX_ERR_NO_MEMORY;
}

static char why[JZX_EXIT_TEXT_MAX + 1];

static void note_why(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_SUPERVISOR_ESCALATE)
        snprintf(why, sizeof why, "%s", event->detail);
}

JZX_TEST(who_gives_up_says_the_cause_first_however_high_it_is, "C22") {
    const jzx_child_spec leaf[] = {{.name = "leaf", .behavior = toy, .init = lack}};
    const jzx_supervisor_opts low = {.size = sizeof low, JZX_CHILDREN(leaf)};
    const jzx_child_spec middle[] = {{.name = "low", .supervisor = &low}};
    const jzx_supervisor_opts high = {.size = sizeof high, JZX_CHILDREN(middle)};
    jzx_loop *loop = fixture_loop();
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = note_why), NULL),
                     JZX_OK);
    assert_int_equal(jzx_spawn_supervisor(loop, &high, NULL), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_ERR_ESCALATED);
    assert_non_null(strstr(why, "its init: JZX_ERR_NO_MEMORY"));
    assert_ptr_equal(strstr(why, "its init: JZX_ERR_NO_MEMORY"), why);
    assert_non_null(strstr(why, "(child low did not start)"));
    fixture_destroy(loop);
}

/* ---- a child that takes its time to end ---- */

struct slow {
    sem_t entered;
    sem_t go;
};

static jzx_behavior_result linger(jzx_context *ctx, const jzx_message *msg) {
    struct slow *slow = ctx->state;
    (void)msg;
    sem_post(&slow->entered);
    while (sem_wait(&slow->go) != 0)
        continue;
    return JZX_BEHAVIOR_OK;
}

static void *run_loop(void *loop) {
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    return NULL;
}

static void await_other(jzx_loop *loop, jzx_actor_id root, jzx_actor_id before) {
    jzx_actor_id id = before;
    while (jzx_supervisor_child(loop, root, "a", &id) != JZX_OK || id == before)
        sched_yield();
}

JZX_TEST(a_child_that_is_being_removed_has_no_name_any_more, "C+sup") {
    struct slow slow;
    const jzx_child_spec specs[] = {{.name = "a",
                                     .behavior = linger,
                                     .state = &slow,
                                     .shutdown_ns = JZX_NEVER,
                                     .place = JZX_PLACE_WORKER(1)}};
    pthread_t thread;
    jzx_actor_id root = JZX_NOBODY;
    /* Whoever is on the worker of one that does not return goes on. */
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(1)));
    sem_init(&slow.entered, 0, 0);
    sem_init(&slow.go, 0, 0);
    assert_int_equal(jzx_spawn_supervisor(loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)), &root),
                     JZX_OK);
    assert_int_equal(pthread_create(&thread, NULL, run_loop, loop), 0);
    await_other(loop, root, JZX_NOBODY);
    jzx_actor_id before = child(loop, root, "a");
    fixture_send(loop, before, COUNT);
    while (sem_wait(&slow.entered) != 0)
        continue;
    assert_int_equal(jzx_supervisor_remove(loop, root, "a"), JZX_OK);
    assert_int_equal(jzx_supervisor_add(loop, root, &specs[0], sizeof specs[0], JZX_NOBODY),
                     JZX_OK);
    await_other(loop, root, before); /* the old one is still in its message */
    sem_post(&slow.go);
    assert_int_equal(jzx_actor_stop(loop, root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    pthread_join(thread, NULL);
    sem_destroy(&slow.entered);
    sem_destroy(&slow.go);
    fixture_destroy(loop);
}

/* ---- a leak ---- */

static uint64_t bytes_after_100;

/* Leaks, and fails when it is told to; each incarnation tells itself. */
static jzx_err leak(jzx_context *ctx) {
    uint32_t *incarnations = ctx->state;
    if (jzx_alloc(ctx, 100000) == NULL || jzx_alloc(ctx, 100) == NULL)
        return JZX_ERR_NO_MEMORY;
    if (++*incarnations == 100)
        bytes_after_100 = fixture_bytes();
    if (*incarnations == 1000)
        return JZX_OK;
    return jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, FAIL);
}

JZX_TEST(a_thousand_restarts_of_an_actor_that_leaks_take_no_memory, "C+tool", "C29") {
    uint32_t incarnations = 0;
    const jzx_child_spec specs[] = {{.behavior = toy, .init = leak, .state = &incarnations}};
    jzx_loop *loop = fixture_loop();
    tree(loop, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)));
    assert_int_equal(incarnations, 1000);
    assert_int_equal(fixture_bytes(), bytes_after_100);
    assert_int_equal(fixture_stats(loop).failed, 999);
    fixture_destroy(loop);
}

/* ---- the tree in a dump ---- */

static void collect(void *ctx, const char *text) {
    char *all = ctx;
    snprintf(all + strlen(all), 8192 - strlen(all), "%s\n", text);
}

JZX_TEST(a_dump_shows_the_tree_with_states_and_restarts) {
    const jzx_child_spec below[] = {{TOY("x")}, {TOY("y")}};
    const jzx_supervisor_opts lower = {.size = sizeof lower, JZX_CHILDREN(below)};
    const jzx_child_spec above[] = {{TOY("a")}, {.name = "lower", .supervisor = &lower}};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id root = tree(loop, &JZX_SUPERVISOR_OPTS(.name = "root", JZX_CHILDREN(above)));
    fixture_send(loop, child(loop, root, "a"), FAIL);
    step(loop);
    char all[8192] = "";
    assert_int_equal(jzx_loop_dump(loop, collect, all), JZX_OK);
    assert_non_null(strstr(all, " root: 2 children, 2 running, 1 restarts\n  a "));
    assert_non_null(strstr(all, " running, 1 restarts, 0 not taken in; attempt 1 after 0 ms, was "
                                "JZX_EXIT_FAIL"));
    assert_non_null(strstr(all, "\n  lower "));
    assert_non_null(strstr(all, "\n    x "));
    assert_non_null(strstr(all, "\n    y "));
    fixture_destroy(loop);
}
