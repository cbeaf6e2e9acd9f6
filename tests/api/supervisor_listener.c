/* SPDX-License-Identifier: MIT */
/* Supervisors: what a listener is told of the ends and restarts of children, exactly once each and
 * in order; with any mailbox, and without one. */
#include "listening.h"

JZX_TEST(the_tags_of_child_events_are_those_of_the_requirement, "C+sys") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    static const jzx_child_spec specs[] = {{TOY("a")}};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.listener = listener, JZX_CHILDREN(specs)));
    expect_heard(""); /* first starts are not told */
    tell(&timing, root, "a", TOY_FAIL);
    assert_int_equal(heard_count, 2);
    JZX_EXPECT_EQ(heard[0].tag, 0xFFFF0002u);
    JZX_EXPECT_EQ(heard[1].tag, 0xFFFF0003u);
    nursery_close(&timing, root);
}

JZX_TEST(an_event_says_who_ended_why_and_what_happens_next, "C+sys", "C+inv") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    static const jzx_child_spec specs[] = {
        {TOY("a"), .backoff = {.initial_delay_ns = JZX_MS(30), .max_delay_ns = JZX_MS(1000)}}};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.listener = listener, JZX_CHILDREN(specs)));
    jzx_actor_id first = child_of(&timing, root, "a");
    tell(&timing, root, "a", TOY_EXIT_FAIL);
    expect_heard("-aF~ ");
    const jzx_child_event *event = last_heard();
    JZX_EXPECT_EQ(event->supervisor, root);
    JZX_EXPECT_EQ(event->child, first);
    JZX_EXPECT_EQ(event->before, JZX_NOBODY);
    JZX_EXPECT_EQ(event->attempt, 1);
    JZX_EXPECT_EQ(event->delay_ns, JZX_MS(30));
    JZX_EXPECT_EQ(strcmp(event->text, "no more tea"), 0);
    timing_advance(&timing, JZX_MS(30));
    expect_heard("+a ");
    event = last_heard();
    JZX_EXPECT_EQ(event->child, child_of(&timing, root, "a"));
    JZX_EXPECT_EQ(event->before, first);
    JZX_EXPECT_EQ(event->state, JZX_CHILD_RUNNING);
    JZX_EXPECT_EQ(event->reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(event->delay_ns, JZX_MS(30));
    JZX_EXPECT_EQ(strcmp(event->text, "no more tea"), 0);
    tell(&timing, root, "a", TOY_PANIC);
    expect_heard("-aP~ ");
    JZX_EXPECT_EQ(last_heard()->attempt, 2);
    JZX_EXPECT_EQ(last_heard()->delay_ns, JZX_MS(60));
    nursery_close(&timing, root);
}

JZX_TEST(each_end_is_told_once_in_the_order_of_the_strategy, "C+sys", "C+inv", "C21") {
    static const struct {
        jzx_strategy strategy;
        const char *heard;
    } cases[] = {{JZX_ONE_FOR_ONE, "-bF~ +b "},
                 {JZX_ONE_FOR_ALL, "-bF~ -cS~? -aS~? +a +b +c "},
                 {JZX_REST_FOR_ONE, "-bF~ -cS~? +b +c "},
                 {JZX_DYNAMIC, "-bF~ +b "}};
    static const jzx_child_spec specs[] = {{TOY("a")}, {TOY("b")}, {TOY("c")}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct timing timing = nursery_open();
        jzx_actor_id listener = listener_spawn(&timing, 0);
        jzx_actor_id root =
            nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.strategy = cases[i].strategy,
                                                       .listener = listener, JZX_CHILDREN(specs)));
        tell(&timing, root, "b", TOY_FAIL);
        expect_heard(cases[i].heard);
        JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
        timing_step(&timing);
        if (cases[i].strategy != JZX_DYNAMIC) /* there they stop at the same time */
            expect_heard("-cS.? -bS.? -aS.? ");
        JZX_EXPECT_EQ(heard_count - heard_read, cases[i].strategy == JZX_DYNAMIC ? 3 : 0);
        timing_close(&timing);
    }
}

JZX_TEST(ends_that_are_no_failures_are_told_with_the_state_that_follows, "C+sys", "D+sup") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    static const jzx_child_spec specs[] = {{TOY("t"), .mode = JZX_TRANSIENT},
                                           {TOY("u"), .mode = JZX_TRANSIENT},
                                           {TOY("m"), .mode = JZX_TEMPORARY},
                                           {TOY("n"), .mode = JZX_TEMPORARY},
                                           {TOY("r")},
                                           {TOY("h")}};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.listener = listener, JZX_CHILDREN(specs)));
    tell(&timing, root, "t", TOY_STOP);
    tell(&timing, root, "u", TOY_EXIT_SHUTDOWN);
    tell(&timing, root, "m", TOY_FAIL);
    tell(&timing, root, "n", TOY_STOP);
    expect_heard("-tNx -uSx -mF! -nNx ");
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "h"), JZX_OK);
    timing_step(&timing);
    expect_heard("-hS~? +h ");
    JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "r"), JZX_OK);
    JZX_EXPECT_EQ(jzx_supervisor_stop_child(timing.loop, root, "h"), JZX_OK);
    timing_step(&timing);
    expect_heard("-rS.? -hS.? ");
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "t"), JZX_OK);
    timing_step(&timing);
    expect_heard("+t ");
    nursery_close(&timing, root);
}

JZX_TEST(a_restart_is_told_when_its_init_is_through_and_not_before, "C+sys", "C+inv") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    static const jzx_child_spec specs[] = {{FUSSY("f")}};
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.intensity = 10, .listener = listener, JZX_CHILDREN(specs)));
    failures_left = 2;
    tell(&timing, root, "f", TOY_FAIL);
    expect_heard("-fF~ -fF~ -fF~ +f ");
    JZX_EXPECT_EQ(last_heard()->attempt, 3);
    JZX_EXPECT_EQ(last_heard()->before, heard[2].event.child);
    JZX_EXPECT_EQ(family_of(&timing, root).restarts, 3);
    nursery_close(&timing, root);
}

JZX_TEST(an_added_child_that_does_not_start_is_told_as_failed, "C+sys") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.listener = listener));
    failures_left = 1;
    JZX_EXPECT_EQ(jzx_supervisor_add(timing.loop, root, &(jzx_child_spec){FUSSY("f")},
                                     sizeof(jzx_child_spec), JZX_NOBODY),
                  JZX_OK);
    timing_step(&timing);
    expect_heard("-fF! ");
    nursery_close(&timing, root);
}

JZX_TEST(giving_up_is_told_by_the_ends_of_all_children_once, "C+inv", "C+sys", "C22") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    static const jzx_child_spec leaves[] = {{TOY("x")}, {TOY("y")}, {TOY("z")}};
    const jzx_supervisor_opts below =
        JZX_SUPERVISOR_OPTS(.intensity = JZX_NONE, JZX_CHILDREN(leaves));
    const jzx_child_spec specs[] = {{TOY("a")}, {.name = "s", .supervisor = &below}};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.listener = listener, JZX_CHILDREN(specs)));
    jzx_actor_id inner = child_of(&timing, root, "s");
    tell(&timing, inner, "y", TOY_FAIL);
    /* The supervisor below has the listener of the one above, in every incarnation. */
    expect_heard("-yF! -zS.? -xS.? -sF~ +s ");
    JZX_EXPECT_EQ(escalations, 1);
    JZX_EXPECT_EQ(heard[0].sender, inner);
    JZX_EXPECT_EQ(heard[3].sender, root);
    JZX_EXPECT_EQ(heard[3].event.child, inner);
    tell(&timing, child_of(&timing, root, "s"), "x", TOY_FAIL);
    expect_heard("-xF! -zS.? -yS.? -sF~ +s ");
    JZX_EXPECT_EQ(escalations, 2);
    nursery_close(&timing, root);
}

JZX_TEST(a_supervisor_below_may_have_a_listener_of_its_own, "C+sys") {
    struct timing timing = nursery_open();
    struct diary diary = {.count = 0};
    jzx_actor_id above = timing_spawn(&timing, &diary);
    jzx_actor_id listener = listener_spawn(&timing, 0);
    static const jzx_child_spec leaves[] = {{TOY("x")}};
    const jzx_supervisor_opts below =
        JZX_SUPERVISOR_OPTS(.listener = listener, JZX_CHILDREN(leaves));
    const jzx_child_spec specs[] = {{TOY("a")}, {.name = "s", .supervisor = &below}};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.listener = above, JZX_CHILDREN(specs)));
    tell(&timing, child_of(&timing, root, "s"), "x", TOY_FAIL);
    expect_heard("-xF~ +x ");
    JZX_EXPECT_EQ(diary.count, 0);
    tell(&timing, root, "a", TOY_FAIL);
    expect_heard("");
    JZX_EXPECT_EQ(diary.count, 2);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, above, JZX_STOP_KILL), JZX_OK);
    nursery_close(&timing, root);
}

JZX_TEST(a_full_mailbox_takes_every_event, "C+sys", "X15") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 1);
    static const jzx_child_spec specs[] = {{TOY("a")}, {TOY("b")}};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, .listener = listener,
                                                   JZX_CHILDREN(specs)));
    JZX_EXPECT_EQ(jzx_actor_fail(timing.loop, child_of(&timing, root, "a")), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_fail(timing.loop, child_of(&timing, root, "b")), JZX_OK);
    /* Full when they come: a message of the test's was before them. */
    fixture_send(timing.loop, listener, TOY_NOTHING);
    JZX_EXPECT_EQ(jzx_send(timing.loop, listener, JZX_NOBODY, NULL, 0, TOY_NOTHING),
                  JZX_ERR_MAILBOX_FULL);
    timing_step(&timing);
    expect_heard("-aF~ +a -bF~ +b ");
    nursery_close(&timing, root);
}

JZX_TEST(a_listener_that_has_ended_is_missed_by_nobody, "C+sys") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    static const jzx_child_spec specs[] = {{TOY("a")}};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.listener = listener, JZX_CHILDREN(specs)));
    fixture_send(timing.loop, listener, TOY_STOP);
    timing_step(&timing);
    trace_clear();
    tell(&timing, root, "a", TOY_FAIL);
    expect_trace("-aF +a ");
    expect_heard("");
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 0);
    nursery_close(&timing, root);
}

JZX_TEST(a_killed_supervisor_tells_nothing_more_and_leaks_nothing, "C+sys", "C+fail") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    static const jzx_child_spec leaves[] = {
        {TOY("x")}, {TOY("y"), .backoff = {.initial_delay_ns = JZX_MS(50)}}};
    const jzx_supervisor_opts below = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(leaves));
    const jzx_child_spec specs[] = {{.name = "s", .supervisor = &below}};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.listener = listener, JZX_CHILDREN(specs)));
    tell(&timing, child_of(&timing, root, "s"), "y", TOY_FAIL);
    expect_heard("-yF~ ");
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, child_of(&timing, root, "s"), JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    expect_heard("-sK~ +s "); /* by the one above */
    nursery_close(&timing, root);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(a_supervisor_that_is_a_listener_ignores_what_it_is_told, "C+sys") {
    struct timing timing = nursery_open();
    static const jzx_child_spec specs[] = {{TOY("a")}};
    jzx_actor_id other = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.listener = other, JZX_CHILDREN(specs)));
    trace_clear();
    tell(&timing, root, "a", TOY_FAIL);
    expect_trace("-aF +a ");
    tell(&timing, other, "a", TOY_FAIL);
    expect_trace("-aF +a ");
    stop_supervisor(&timing, other);
    nursery_close(&timing, root);
}

JZX_TEST(a_child_may_listen_to_the_tree_beside_it, "C+sys") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    static const jzx_child_spec specs[] = {{TOY("a")}, {TOY("b")}};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.listener = listener, JZX_CHILDREN(specs)));
    const jzx_supervisor_opts deaf =
        JZX_SUPERVISOR_OPTS(.listener = child_of(&timing, root, "a"), JZX_CHILDREN(specs));
    const jzx_child_spec late = {.name = "s", .supervisor = &deaf};
    JZX_EXPECT_EQ(jzx_supervisor_add(timing.loop, root, &late, sizeof late, JZX_NOBODY), JZX_OK);
    timing_step(&timing);
    tell(&timing, child_of(&timing, root, "s"), "b", TOY_FAIL);
    expect_heard(""); /* a was told, which ignores it */
    tell(&timing, root, "a", TOY_FAIL);
    tell(&timing, child_of(&timing, root, "s"), "b", TOY_FAIL); /* and now nobody is */
    expect_heard("-aF~ +a ");
    nursery_close(&timing, root);
}
