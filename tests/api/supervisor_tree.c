/* SPDX-License-Identifier: MIT */
/* Supervisors below supervisors: escalation level by level, how a tree ends, and who ends it. */
#include "supervising.h"

/* root: a, mid: m, low: x, w, y; n; z */
#define TREE(root_intensity, mid_intensity, low_intensity)                                         \
    static const jzx_child_spec low_children[] = {{TOY("x")}, {TOY("w")}, {TOY("y")}};             \
    const jzx_supervisor_opts low_opts =                                                           \
        JZX_SUPERVISOR_OPTS(.name = "low", .intensity = (low_intensity),                           \
                            .period_ns = JZX_MS(3600000), JZX_CHILDREN(low_children));             \
    const jzx_child_spec mid_children[] = {                                                        \
        {TOY("m")}, {.name = "low", .supervisor = &low_opts}, {TOY("n")}};                         \
    const jzx_supervisor_opts mid_opts =                                                           \
        JZX_SUPERVISOR_OPTS(.name = "mid", .intensity = (mid_intensity),                           \
                            .period_ns = JZX_MS(3600000), JZX_CHILDREN(mid_children));             \
    const jzx_child_spec root_children[] = {                                                       \
        {TOY("a")}, {.name = "mid", .supervisor = &mid_opts}, {TOY("z")}};                         \
    const jzx_supervisor_opts root_opts =                                                          \
        JZX_SUPERVISOR_OPTS(.name = "root", .intensity = (root_intensity),                         \
                            .period_ns = JZX_MS(3600000), JZX_CHILDREN(root_children))

static const char tree_start[] = "+a +m +x +w +y +n +z ";

static jzx_actor_id low_of(const struct timing *timing, jzx_actor_id root) {
    return child_of(timing, child_of(timing, root, "mid"), "low");
}

JZX_TEST(trees_start_in_order_and_stop_in_the_reverse_order, "D+sup", "C21", "C27") {
    TREE(3, 3, 3);
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &root_opts);
    expect_trace(tree_start);
    jzx_supervisor_info info = family_of(&timing, root);
    JZX_EXPECT_EQ(info.children, 3);
    JZX_EXPECT_EQ(info.running, 3);
    JZX_EXPECT_EQ(info.supervisors, 1);
    JZX_EXPECT_EQ(info.restarts, 0);
    JZX_EXPECT_EQ(info.closing, false);
    JZX_EXPECT_EQ(family_of(&timing, low_of(&timing, root)).supervisors, 0);
    stop_supervisor(&timing, root);
    expect_trace("-zS -nS -yS -wS -xS -mS -aS ");
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    timing_close(&timing);
}

JZX_TEST(escalation_goes_up_one_level_at_a_time_and_stops_the_loop_last, "C22", "C+sup", "C+inv",
         "C+tool") {
    TREE(JZX_NONE, JZX_NONE, JZX_NONE);
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &root_opts);
    jzx_actor_id mid = child_of(&timing, root, "mid");
    jzx_actor_id low = low_of(&timing, root);
    trace_clear();
    fixture_send(timing.loop, child_of(&timing, low, "w"), TOY_FAIL);
    JZX_EXPECT_EQ(jzx_loop_run(timing.loop), JZX_ERR_ESCALATED);
    expect_trace("-wF -yS -xS -nS -mS -zS -aS ");
    JZX_EXPECT_EQ(escalations, 3);
    JZX_EXPECT_EQ(escalated[0], low);
    JZX_EXPECT_EQ(escalated[1], mid);
    JZX_EXPECT_EQ(escalated[2], root);
    JZX_EXPECT_EQ(restarts, 0);
    JZX_EXPECT_EQ(jzx_loop_run(timing.loop), JZX_ERR_LOOP_CLOSED);
    timing_close(&timing);
}

JZX_TEST(a_supervisor_that_gave_up_is_restarted_with_its_children, "C22", "C+sup", "E+sem") {
    TREE(3, 1, 1);
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &root_opts);
    jzx_actor_id low = low_of(&timing, root);
    jzx_actor_id m = child_of(&timing, child_of(&timing, root, "mid"), "m");
    expect_trace(tree_start);
    tell(&timing, low, "w", TOY_FAIL);
    expect_trace("-wF +w ");
    tell(&timing, low, "w", TOY_FAIL);
    expect_trace("-wF -yS -xS +x +w +y ");
    JZX_EXPECT_EQ(escalations, 1);
    JZX_EXPECT(low_of(&timing, root) != low);
    JZX_EXPECT(!lives(&timing, low));
    JZX_EXPECT_EQ(child_of(&timing, child_of(&timing, root, "mid"), "m"), m);
    tell(&timing, low_of(&timing, root), "x", TOY_FAIL);
    expect_trace("-xF +x ");
    tell(&timing, low_of(&timing, root), "x", TOY_FAIL);
    expect_trace("-xF -yS -wS -nS -mS +m +x +w +y +n ");
    JZX_EXPECT_EQ(escalations, 3);
    nursery_close(&timing, root);
}

/* Each incarnation bears one failure: 2 x 2 x 2 of the lowest child end the loop. */
JZX_TEST(each_level_counts_only_the_failures_of_its_own_children, "C22", "C+inv") {
    TREE(1, 1, 1);
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &root_opts);
    for (int i = 1; i < 8; i++) {
        tell(&timing, low_of(&timing, root), "w", TOY_FAIL);
        JZX_EXPECT_EQ(escalations, i / 2 + i / 4);
    }
    fixture_send(timing.loop, child_of(&timing, low_of(&timing, root), "w"), TOY_FAIL);
    JZX_EXPECT_EQ(jzx_loop_run(timing.loop), JZX_ERR_ESCALATED);
    JZX_EXPECT_EQ(escalations, 4 + 2 + 1);
    JZX_EXPECT_EQ(escalated[6], root);
    uint32_t events = 0;
    for (uint32_t i = 0; i < seen_count; i++)
        events += seen[i].kind == JZX_EVENT_SUPERVISOR_ESCALATE;
    JZX_EXPECT_EQ(events, 7);
    timing_close(&timing);
}

/* ---- a supervisor below that ends in other ways ---- */

JZX_TEST(a_supervisor_below_is_restarted_as_its_mode_says, "C21", "C22") {
    static const jzx_child_spec leaves[] = {{TOY("w")}};
    const jzx_supervisor_opts below =
        JZX_SUPERVISOR_OPTS(.intensity = JZX_NONE, JZX_CHILDREN(leaves));
    const jzx_child_spec specs[] = {
        {.name = "p", .supervisor = &below},
        {.name = "t", .supervisor = &below, .mode = JZX_TRANSIENT},
        {.name = "u", .supervisor = &below, .mode = JZX_TEMPORARY},
    };
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)));
    expect_trace("+w +w +w ");
    tell(&timing, child_of(&timing, root, "p"), "w", TOY_FAIL);
    expect_trace("-wF +w ");
    tell(&timing, child_of(&timing, root, "t"), "w", TOY_FAIL);
    expect_trace("-wF +w ");
    tell(&timing, child_of(&timing, root, "u"), "w", TOY_FAIL);
    expect_trace("-wF ");
    JZX_EXPECT(!has_child(&timing, root, "u"));
    JZX_EXPECT_EQ(escalations, 3);
    stop_supervisor(&timing, child_of(&timing, root, "t")); /* no failure */
    expect_trace("-wS ");
    JZX_EXPECT(!has_child(&timing, root, "t"));
    stop_supervisor(&timing, child_of(&timing, root, "p"));
    expect_trace("-wS +w ");
    nursery_close(&timing, root);
}

JZX_TEST(killing_a_supervisor_leaves_no_orphans_and_its_parent_starts_it_again, "C21", "D+sup") {
    TREE(3, 3, 3);
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &root_opts);
    jzx_actor_id mid = child_of(&timing, root, "mid");
    jzx_actor_id low = low_of(&timing, root);
    jzx_actor_id w = child_of(&timing, low, "w");
    trace_clear();
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, mid, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT(!lives(&timing, mid));
    JZX_EXPECT(!lives(&timing, low));
    JZX_EXPECT(!lives(&timing, w));
    JZX_EXPECT_EQ(fixture_stats(timing.loop).spawned - fixture_stats(timing.loop).exited, 10);
    JZX_EXPECT(child_of(&timing, root, "mid") != mid);
    JZX_EXPECT(child_of(&timing, low_of(&timing, root), "w") != w);
    JZX_EXPECT_EQ(escalations, 0);
    nursery_close(&timing, root);
}

JZX_TEST(failing_a_supervisor_stops_its_children_first, "C21", "C22") {
    TREE(3, 3, 3);
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &root_opts);
    trace_clear();
    JZX_EXPECT_EQ(jzx_actor_fail(timing.loop, low_of(&timing, root)), JZX_OK);
    timing_step(&timing);
    expect_trace("-yS -wS -xS +x +w +y ");
    JZX_EXPECT_EQ(escalations, 0); /* it did not give up */
    nursery_close(&timing, root);
}

static void end_root(int how, jzx_err expected_err, uint32_t expected_escalations) {
    TREE(3, 3, 3);
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &root_opts);
    trace_clear();
    if (how == 0)
        JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    else if (how == 1)
        JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_QUEUE), JZX_OK);
    else if (how == 2)
        JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_KILL), JZX_OK);
    else
        JZX_EXPECT_EQ(jzx_actor_fail(timing.loop, root), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(timing.loop), expected_err);
    JZX_EXPECT_EQ(escalations, expected_escalations);
    if (how != 2) /* killed, it stops nobody in order: they hear of its end */
        expect_trace("-zS -nS -yS -wS -xS -mS -aS ");
    JZX_EXPECT_EQ(fixture_stats(timing.loop).spawned, fixture_stats(timing.loop).exited);
    timing_close(&timing);
}

JZX_TEST(a_root_that_is_stopped_ends_the_tree_without_escalation, "C22", "D+sup") {
    end_root(0, JZX_OK, 0);
    end_root(1, JZX_OK, 0);
}

JZX_TEST(a_root_that_is_killed_or_fails_leaves_nobody, "C22", "D+sup") {
    end_root(2, JZX_OK, 0);
    end_root(3, JZX_OK, 0); /* it was told to fail, and has not given up */
}

/* ---- automatic shutdown ---- */

static void auto_shutdown(jzx_auto_shutdown when, const char *script, const char *then,
                          bool is_over) {
    bool significant = when != JZX_AUTO_SHUTDOWN_NEVER; /* refused otherwise */
    const jzx_child_spec specs[] = {
        {TOY("a"), .mode = JZX_TRANSIENT, .significant = significant},
        {TOY("b")},
        {TOY("c"), .mode = JZX_TEMPORARY, .significant = significant},
        {TOY("d"), .mode = JZX_TRANSIENT},
    };
    struct timing timing = nursery_open();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.auto_shutdown = when, JZX_CHILDREN(specs)));
    trace_clear();
    for (const char *name = script; *name != '\0'; name++) /* capitals fail, others stop */
        tell(&timing, root, (char[]){(char)(*name | 0x20), '\0'},
             *name & 0x20 ? TOY_STOP : TOY_FAIL);
    expect_trace(then);
    JZX_EXPECT_EQ(jzx_loop_alive(timing.loop), !is_over);
    JZX_EXPECT_EQ(lives(&timing, root), !is_over);
    JZX_EXPECT_EQ(escalations, 0);
    if (!is_over)
        stop_supervisor(&timing, root);
    timing_close(&timing);
}

JZX_TEST(a_supervisor_stops_itself_when_its_significant_children_have_ended, "C21") {
    auto_shutdown(JZX_AUTO_SHUTDOWN_NEVER, "ac", "-aN -cN ", false);
    auto_shutdown(JZX_AUTO_SHUTDOWN_ANY, "d", "-dN ", false);
    auto_shutdown(JZX_AUTO_SHUTDOWN_ANY, "A", "-aF +a ", false);
    auto_shutdown(JZX_AUTO_SHUTDOWN_ANY, "a", "-aN -dS -cS -bS ", true);
    auto_shutdown(JZX_AUTO_SHUTDOWN_ANY, "C", "-cF -dS -bS -aS ", true);
    auto_shutdown(JZX_AUTO_SHUTDOWN_ALL, "a", "-aN ", false);
    auto_shutdown(JZX_AUTO_SHUTDOWN_ALL, "dc", "-dN -cN ", false);
    auto_shutdown(JZX_AUTO_SHUTDOWN_ALL, "ac", "-aN -cN -dS -bS ", true);
    auto_shutdown(JZX_AUTO_SHUTDOWN_ALL, "CAa", "-cF -aF +a -aN -dS -bS ", true);
}

JZX_TEST(an_automatic_shutdown_is_no_failure_for_the_parent, "C21") {
    static const jzx_child_spec leaves[] = {{TOY("w"), .mode = JZX_TRANSIENT, .significant = true}};
    const jzx_supervisor_opts below =
        JZX_SUPERVISOR_OPTS(.auto_shutdown = JZX_AUTO_SHUTDOWN_ANY, JZX_CHILDREN(leaves));
    const jzx_child_spec specs[] = {{.name = "t", .supervisor = &below, .mode = JZX_TRANSIENT},
                                    {.name = "p", .supervisor = &below}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    expect_trace("+w +w ");
    tell(&timing, child_of(&timing, root, "t"), "w", TOY_STOP);
    expect_trace("-wN ");
    JZX_EXPECT(!has_child(&timing, root, "t"));
    JZX_EXPECT_EQ(info_of(&timing, root, 0).last_reason, JZX_EXIT_SHUTDOWN);
    tell(&timing, child_of(&timing, root, "p"), "w", TOY_STOP);
    expect_trace("-wN +w ");
    nursery_close(&timing, root);
}

/* ---- the loop stops ---- */

JZX_TEST(a_loop_that_stops_stops_trees_in_reverse_order_leaves_first, "D+sup", "D+stop") {
    TREE(3, 3, 3);
    struct timing timing = nursery_open();
    nursery_tree(&timing, &root_opts);
    trace_clear();
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, jzx_loop_now(timing.loop) + JZX_SECOND(5)), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(timing.loop), JZX_OK);
    expect_trace("-zS -nS -yS -wS -xS -mS -aS ");
    JZX_EXPECT_EQ(escalations, 0);
    JZX_EXPECT_EQ(restarts, 0);
    timing_close(&timing);
}

JZX_TEST(a_requested_stop_and_a_destroy_end_everybody_without_restarts, "D+sup", "D+stop") {
    for (int how = 0; how < 3; how++) {
        TREE(3, 3, 3);
        struct timing timing = nursery_open();
        jzx_actor_id root = nursery_tree(&timing, &root_opts);
        trace_clear();
        if (how == 1)
            fixture_send(timing.loop, child_of(&timing, root, "a"), TOY_FAIL);
        if (how < 2) {
            JZX_EXPECT_EQ(jzx_loop_request_stop(timing.loop), JZX_OK);
            JZX_EXPECT_EQ(jzx_loop_run(timing.loop), JZX_OK);
            JZX_EXPECT_EQ(fixture_stats(timing.loop).spawned, fixture_stats(timing.loop).exited);
        }
        JZX_EXPECT_EQ(escalations, 0);
        timing_close(&timing);
        JZX_EXPECT(strchr(trace, '+') == NULL);
        for (const char *name = "amxwynz"; *name != '\0'; name++)
            JZX_EXPECT(strstr(trace, (char[]){'-', *name, 'S', '\0'}) != NULL);
    }
}

/* After each number of turns: also while the tree starts, and while a plan restarts it. */
static bool stop_after_turns(uint32_t turns, bool fails, bool gently) {
    TREE(3, 3, 3);
    struct timing timing = nursery_open();
    jzx_actor_id root = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_spawn_supervisor(timing.loop, &root_opts, &root), JZX_OK);
    if (fails) {
        timing_step(&timing);
        JZX_EXPECT_EQ(jzx_actor_fail(timing.loop, child_of(&timing, root, "mid")), JZX_OK);
    }
    for (uint32_t i = 0; i < turns; i++)
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    bool is_busy = jzx_loop_next_deadline(timing.loop) == 0;
    JZX_EXPECT_EQ(gently ? jzx_loop_stop(timing.loop, JZX_NEVER)
                         : jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_MESSAGE),
                  JZX_OK);
    if (!JZX_EXPECT_EQ(jzx_loop_run(timing.loop), JZX_OK) || !JZX_EXPECT_EQ(escalations, 0))
        print_error("after %u turns, trace %s\n", turns, trace);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).spawned, fixture_stats(timing.loop).exited);
    timing_close(&timing);
    return is_busy;
}

JZX_TEST(a_tree_is_stopped_at_any_moment_of_its_start_and_that_is_no_failure, "D+stop", "D+sup",
         "C+inv") {
    for (int how = 0; how < 4; how++) {
        uint32_t turns = 0;
        while (stop_after_turns(turns, how % 2 == 1, how / 2 == 1))
            turns++;
        JZX_EXPECT(turns > 5);
    }
}

/* ---- a loop that stops while its trees start ---- */

static jzx_err stop_the_loop(jzx_context *ctx) {
    trace_start(ctx->state);
    JZX_EXPECT_EQ(jzx_loop_stop(ctx->loop, JZX_NEVER), JZX_OK);
    return JZX_OK;
}

static void run_until_stopped(struct timing *timing, const char *expected) {
    JZX_EXPECT_EQ(jzx_loop_run(timing->loop), JZX_OK);
    JZX_EXPECT_EQ(escalations, 0);
    JZX_EXPECT_EQ(restarts, 0);
    expect_trace(expected);
    timing_close(timing);
}

JZX_TEST(a_tree_that_is_stopped_before_it_has_started_does_not_escalate, "D+sup", "D+stop", "C22") {
    const jzx_child_spec specs[] = {{TOY("a")}, {TOY("b")}};
    struct timing timing = nursery_open();
    JZX_EXPECT_EQ(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)), NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_NEVER), JZX_OK);
    run_until_stopped(&timing, "");
}

JZX_TEST(a_tree_that_is_stopped_while_it_starts_does_not_escalate, "D+sup", "D+stop", "C22") {
    const jzx_child_spec below[] = {{.name = "s",
                                     .behavior = toy,
                                     .init = stop_the_loop,
                                     .cleanup = toy_cleanup,
                                     .state = (void *)(uintptr_t) "s"},
                                    {TOY("c")}};
    const jzx_supervisor_opts lower = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(below));
    const jzx_child_spec specs[] = {
        {TOY("a")}, {.name = "lower", .supervisor = &lower}, {TOY("b")}};
    for (jzx_strategy strategy = JZX_ONE_FOR_ONE; strategy <= JZX_DYNAMIC; strategy++) {
        struct timing timing = nursery_open();
        JZX_EXPECT_EQ(
            jzx_spawn_supervisor(
                timing.loop, &JZX_SUPERVISOR_OPTS(.strategy = strategy, JZX_CHILDREN(specs)), NULL),
            JZX_OK);
        run_until_stopped(&timing, "+a +s -sS -aS ");
    }
}

/* ---- names ---- */

/* Looks the name up when an actor starts that is to have it. */
static uint32_t starts_with_name;
static jzx_loop *named_loop;

static void look_up_at_start(void *ctx, const jzx_event *event) {
    jzx_actor_id id = JZX_NOBODY;
    (void)ctx;
    if (event->kind != JZX_EVENT_ACTOR_START || event->name == NULL)
        return;
    JZX_EXPECT_EQ(jzx_lookup(named_loop, event->name, &id), JZX_OK);
    JZX_EXPECT_EQ(id, event->actor);
    starts_with_name++;
}

JZX_TEST(a_child_has_its_registered_name_before_it_begins, "D+name") {
    const jzx_child_spec below[] = {{.name = "leaf", .registered = "leaf", .behavior = toy}};
    const jzx_supervisor_opts lower = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(below));
    const jzx_child_spec specs[] = {{.name = "lower", .registered = "lower", .supervisor = &lower}};
    struct timing timing = nursery_open();
    named_loop = timing.loop;
    starts_with_name = 0;
    JZX_EXPECT_EQ(
        jzx_loop_set_observer(timing.loop, &JZX_OBSERVER(.on_event = look_up_at_start), NULL),
        JZX_OK);
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    JZX_EXPECT_EQ(starts_with_name, 2);
    tell(&timing, child_of(&timing, root, "lower"), "leaf", TOY_FAIL);
    JZX_EXPECT_EQ(starts_with_name, 3);
    JZX_EXPECT_EQ(jzx_actor_fail(timing.loop, child_of(&timing, root, "lower")), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(starts_with_name, 5);
    nursery_close(&timing, root);
}

/* The leaf of before may live when the new one begins, as it hears of the end in a turn of its
 * own. */
JZX_TEST(a_killed_supervisor_leaves_the_names_of_its_children_to_its_successor, "D+name", "D+sup") {
    const jzx_child_spec below[] = {{.name = "leaf", .registered = "leaf", .behavior = toy}};
    const jzx_supervisor_opts lower = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(below));
    const jzx_child_spec specs[] = {{.name = "lower", .supervisor = &lower}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    jzx_actor_id killed = child_of(&timing, root, "lower");
    jzx_actor_id before = child_of(&timing, killed, "leaf");
    jzx_actor_id found = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, killed, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(escalations, 0);
    JZX_EXPECT_EQ(restarts, 1);
    JZX_EXPECT_EQ(jzx_lookup(timing.loop, "leaf", &found), JZX_OK);
    JZX_EXPECT_EQ(found, child_of(&timing, child_of(&timing, root, "lower"), "leaf"));
    JZX_EXPECT(found != before && !lives(&timing, before));
    nursery_close(&timing, root);
}

/* ---- what overlaps ---- */

static uint32_t overlaps; /* inits of a leaf while another incarnation of it lives */
static uint32_t leaves;   /* that live */
static uint32_t most;     /* at the same time */

static jzx_err count_leaf(jzx_context *ctx) {
    (void)ctx;
    overlaps += leaves != 0;
    most = ++leaves > most ? leaves : most;
    return JZX_OK;
}

static void uncount_leaf(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    JZX_EXPECT_EQ(reason, JZX_EXIT_SHUTDOWN);
    leaves--;
}

/* The leaf of a supervisor that ends has 20 messages to handle, one a turn. */
static void end_lower(jzx_err (*end)(jzx_loop *loop, jzx_actor_id id), uint32_t expected_overlaps) {
    const jzx_child_spec below[] = {{.name = "leaf",
                                     .registered = "leaf",
                                     .behavior = toy,
                                     .init = count_leaf,
                                     .cleanup = uncount_leaf}};
    const jzx_supervisor_opts lower = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(below));
    const jzx_child_spec specs[] = {{.name = "lower", .supervisor = &lower}};
    struct timing timing = nursery_open_with(&JZX_CONFIG(.max_msgs_per_actor = 1));
    overlaps = leaves = most = 0;
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    jzx_actor_id before = child_of(&timing, child_of(&timing, root, "lower"), "leaf");
    for (uint32_t i = 0; i < 20; i++)
        fixture_send(timing.loop, before, TOY_NOTHING);
    JZX_EXPECT_EQ(end(timing.loop, child_of(&timing, root, "lower")), JZX_OK);
    while (overlaps == 0 && lives(&timing, before))
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    JZX_EXPECT_EQ(overlaps, expected_overlaps);
    if (overlaps != 0) { /* both live, and the name leads to the new one */
        jzx_actor_id found = JZX_NOBODY;
        JZX_EXPECT(lives(&timing, before));
        JZX_EXPECT_EQ(jzx_lookup(timing.loop, "leaf", &found), JZX_OK);
        JZX_EXPECT(found != before);
        JZX_EXPECT_EQ(jzx_send(timing.loop, before, JZX_NOBODY, NULL, 0, TOY_NOTHING), JZX_OK);
    }
    timing_step(&timing);
    JZX_EXPECT_EQ(leaves, 1);
    JZX_EXPECT_EQ(most, 1 + expected_overlaps);
    JZX_EXPECT(!lives(&timing, before));
    nursery_close(&timing, root);
}

static jzx_err kill_it(jzx_loop *loop, jzx_actor_id id) {
    return jzx_actor_stop(loop, id, JZX_STOP_KILL);
}

static jzx_err stop_it(jzx_loop *loop, jzx_actor_id id) {
    return jzx_actor_stop(loop, id, JZX_STOP_AFTER_MESSAGE);
}

JZX_TEST(incarnations_overlap_only_below_a_supervisor_that_was_killed) {
    end_lower(kill_it, 1);
    end_lower(stop_it, 0);
    end_lower(jzx_actor_fail, 0);
}
