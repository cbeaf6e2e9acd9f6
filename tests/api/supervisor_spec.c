/* SPDX-License-Identifier: MIT */
/* Supervisors: what is wrong in a spec is named, and starts nothing; what is right is copied. */
#include "supervising.h"

#include <math.h>

static void expect_wrong(const jzx_supervisor_opts *opts, const char *field) {
    struct timing timing = nursery_open();
    const char *named = "untouched";
    jzx_actor_id id = 77;
    JZX_EXPECT_EQ(jzx_supervisor_check(opts, &named), JZX_ERR_INVALID_ARG);
    if (!JZX_EXPECT_EQ(strcmp(named, field), 0))
        print_error("named %s, not %s\n", named, field);
    JZX_EXPECT_EQ(jzx_supervisor_check(opts, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_spawn_supervisor(timing.loop, opts, &id), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(id, 77);
    timing_step(&timing);
    expect_trace("");
    JZX_EXPECT_EQ(fixture_stats(timing.loop).spawned, 0);
    timing_close(&timing);
}

/* Wrong as a child, as a child of a supervisor below, and when it is added. */
static void expect_wrong_child(jzx_child_spec wrong, const char *field) {
    const jzx_child_spec specs[] = {{TOY("ok")}, wrong};
    const jzx_supervisor_opts opts = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs));
    const jzx_child_spec above[] = {{TOY("ok")}, {.name = "below", .supervisor = &opts}};
    expect_wrong(&opts, field);
    expect_wrong(&JZX_SUPERVISOR_OPTS(JZX_CHILDREN(above)), field);
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS());
    JZX_EXPECT_EQ(jzx_supervisor_add(timing.loop, root, &wrong, sizeof wrong, JZX_NOBODY),
                  JZX_ERR_INVALID_ARG);
    timing_step(&timing);
    expect_trace("");
    JZX_EXPECT_EQ(family_of(&timing, root).children, 0);
    nursery_close(&timing, root);
}

#define WRONG(field, ...) expect_wrong_child((jzx_child_spec){__VA_ARGS__}, field)

/* The first that is no span any more. */
#define BEYOND ((uint64_t)INT64_MAX + 1)

static void wait_a_little(jzx_context *ctx) {
    (void)jzx_yield(ctx);
}

static const jzx_supervisor_opts empty = {.size = sizeof(jzx_supervisor_opts)};

JZX_TEST(wrong_children_are_named_and_start_nothing, "X21", "C21", "C+sup") {
    static const char long_name[] = "0123456789012345678901234567890123456789012345678";
    WRONG("behavior", .name = "x");
    WRONG("supervisor", TOY("x"), .supervisor = &empty);
    WRONG("registered", TOY("x"), .registered = "@x");
    WRONG("registered", TOY("x"), .registered = "");
    WRONG("name", .name = long_name, .behavior = toy);
    WRONG("mode", TOY("x"), .mode = (jzx_child_mode)3);
    WRONG("mode", TOY("x"), .mode = (jzx_child_mode)-1);
    WRONG("shutdown_ns", TOY("x"), .shutdown_ns = BEYOND);
    WRONG("start_ns", TOY("x"), .start_ns = BEYOND);
    WRONG("start_ns", TOY("x"), .start_ns = JZX_NONE);
    WRONG("stable_ns", TOY("x"), .stable_ns = JZX_NEVER - 1);
    WRONG("significant", TOY("x"), .significant = true);
    WRONG("significant", TOY("x"), .significant = true, .mode = JZX_TRANSIENT); /* never acts */
    WRONG("mailbox_cap", TOY("x"), .mailbox_cap = JZX_MAILBOX_CAP_MAX + 1);
    WRONG("on_full", TOY("x"), .on_full = (jzx_on_full)9);
    WRONG("migratable", TOY("x"), .migratable = true);
    WRONG("thread_bound", TOY("x"), .thread_bound = true);
    WRONG("thread_bound", .fiber = wait_a_little, .migratable = true, .thread_bound = true);
    WRONG("priority", TOY("x"), .priority = 5);
}

JZX_TEST(wrong_backoffs_are_named_and_start_nothing, "X21", "C+sup") {
    WRONG("backoff.kind", TOY("x"), .backoff.kind = (jzx_backoff_kind)3);
    WRONG("backoff.initial_delay_ns", TOY("x"), .backoff.initial_delay_ns = BEYOND);
    WRONG("backoff.step_ns", TOY("x"), .backoff.step_ns = BEYOND);
    WRONG("backoff.max_delay_ns", TOY("x"), .backoff.max_delay_ns = BEYOND);
    WRONG("backoff.jitter_ns", TOY("x"), .backoff.jitter_ns = BEYOND);
    WRONG("backoff.factor", TOY("x"), .backoff.factor = (double)NAN);
    WRONG("backoff.factor", TOY("x"), .backoff.factor = -2.0);
    WRONG("backoff.factor", TOY("x"), .backoff.factor = 0.5);
    WRONG("backoff.factor", TOY("x"), .backoff.factor = (double)INFINITY);
}

JZX_TEST(wrong_supervisors_are_named_and_start_nothing, "X21", "C21", "C22") {
    static const jzx_child_spec twins[] = {{TOY("a")}, {TOY("b")}, {TOY("a")}};
    static const jzx_child_spec one[] = {{TOY("a")}};
    expect_wrong(NULL, "size");
    expect_wrong(&(jzx_supervisor_opts){0}, "size");
    expect_wrong(&(jzx_supervisor_opts){.size = sizeof(size_t) - 1}, "size");
    expect_wrong(&(jzx_supervisor_opts){.size = sizeof(jzx_supervisor_opts) + 1}, "size");
    expect_wrong(&JZX_SUPERVISOR_OPTS(.strategy = (jzx_strategy)4), "strategy");
    expect_wrong(&JZX_SUPERVISOR_OPTS(.auto_shutdown = (jzx_auto_shutdown)3), "auto_shutdown");
    expect_wrong(&JZX_SUPERVISOR_OPTS(.intensity = 65536), "intensity");
    expect_wrong(&JZX_SUPERVISOR_OPTS(.period_ns = JZX_NONE), "period_ns");
    expect_wrong(&JZX_SUPERVISOR_OPTS(.stable_ns = BEYOND), "stable_ns");
    expect_wrong(&JZX_SUPERVISOR_OPTS(.child_count = 1, .child_size = sizeof one[0]), "children");
    expect_wrong(&JZX_SUPERVISOR_OPTS(.children = one, .child_count = 1), "child_size");
    expect_wrong(
        &JZX_SUPERVISOR_OPTS(.children = one, .child_count = 1, .child_size = sizeof one[0] + 8),
        "child_size");
    expect_wrong(&JZX_SUPERVISOR_OPTS(JZX_CHILDREN(twins)), "name");
}

/* A chain of supervisors, each with the next one below it. */
static jzx_err check_chain(size_t levels, const char **field) {
    static jzx_supervisor_opts opts[80];
    static jzx_child_spec specs[80];
    for (size_t i = 0; i < levels; i++) {
        opts[i] = i + 1 < levels ? JZX_SUPERVISOR_OPTS(.children = &specs[i], .child_count = 1,
                                                       .child_size = sizeof specs[0])
                                 : JZX_SUPERVISOR_OPTS();
        specs[i] = (jzx_child_spec){.supervisor = &opts[i + 1]};
    }
    jzx_err err = jzx_supervisor_check(&opts[0], field);
    if (err == JZX_OK) { /* then it also starts and stops */
        struct timing timing = nursery_open();
        jzx_actor_id root = nursery_tree(&timing, &opts[0]);
        JZX_EXPECT_EQ(fixture_stats(timing.loop).spawned, levels);
        nursery_close(&timing, root);
    }
    return err;
}

JZX_TEST(trees_are_at_most_64_levels_deep, "X21") {
    const char *field = NULL;
    JZX_EXPECT_EQ(check_chain(2, &field), JZX_OK);
    JZX_EXPECT_EQ(check_chain(64, &field), JZX_OK);
    JZX_EXPECT_EQ(field, NULL);
    JZX_EXPECT_EQ(check_chain(70, &field), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(field != NULL && strcmp(field, "supervisor") == 0);
}

JZX_TEST(specs_are_copied, "C21") {
    struct timing timing = nursery_open();
    char name[8] = "x";
    char top[8] = "top";
    jzx_child_spec leaf[] = {{TOY("w")}};
    jzx_supervisor_opts below = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(leaf));
    jzx_child_spec specs[] = {{.name = name, .supervisor = &below}};
    jzx_actor_id root = JZX_NOBODY;
    jzx_supervisor_opts opts = JZX_SUPERVISOR_OPTS(.name = top, JZX_CHILDREN(specs));
    assert_int_equal(jzx_spawn_supervisor(timing.loop, &opts, &root), JZX_OK);
    memset(name, 'q', sizeof name);
    memset(top, 'q', sizeof top);
    memset(leaf, 0xFF, sizeof leaf);
    memset(&below, 0xFF, sizeof below);
    memset(specs, 0xFF, sizeof specs);
    timing_step(&timing);
    tell(&timing, child_of(&timing, root, "x"), "w", TOY_FAIL);
    expect_trace("+w -wF +w ");
    JZX_EXPECT_EQ(jzx_actor_fail(timing.loop, child_of(&timing, root, "x")), JZX_OK);
    timing_step(&timing);
    expect_trace("-wS +w ");
    nursery_close(&timing, root);
}

JZX_TEST(wrong_arguments_of_the_calls_are_refused, "X21") {
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS());
    jzx_actor_id id = 77;
    jzx_child_info child = {.size = sizeof child + 1};
    jzx_supervisor_info family = {.size = sizeof family + 1};
    JZX_EXPECT_EQ(jzx_spawn_supervisor(NULL, &empty, &id), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_supervisor_child(timing.loop, root, NULL, &id), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_supervisor_child(timing.loop, root, "a", NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_supervisor_child(timing.loop, root, "a", &id), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_supervisor_child(timing.loop, 12345, "a", &id), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_supervisor_child_id(timing.loop, root, 0, &id), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_supervisor_child_id(timing.loop, root, SIZE_MAX, &id), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_supervisor_child_info(timing.loop, root, 0, &child), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_supervisor_info_get(timing.loop, root, &family), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_supervisor_add(timing.loop, root, NULL, sizeof(jzx_child_spec), JZX_NOBODY),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(id, 77);
    nursery_close(&timing, root);
}

JZX_TEST(a_place_that_the_loop_does_not_have_is_refused, "C+sup", "X21") {
    const jzx_child_spec leaf[] = {{TOY("x"), .place = JZX_PLACE_WORKER(7)}};
    const jzx_supervisor_opts lower = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(leaf));
    const jzx_child_spec specs[] = {{TOY("a")}, {.name = "lower", .supervisor = &lower}};
    struct timing timing = nursery_open();
    jzx_actor_id root = JZX_NOBODY;
    JZX_EXPECT_EQ(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)), &root),
        JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(root, JZX_NOBODY);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).spawned, 0);
    root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.name = "root"));
    JZX_EXPECT_EQ(jzx_supervisor_add(timing.loop, root, leaf, sizeof leaf[0], JZX_NOBODY),
                  JZX_ERR_INVALID_ARG);
    nursery_close(&timing, root);
}
