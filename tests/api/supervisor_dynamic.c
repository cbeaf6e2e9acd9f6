/* SPDX-License-Identifier: MIT */
/* Supervisors: children that are added, removed and restarted on the way, by whom and when. */
#include "supervising.h"

#include <pthread.h>

/* ---- answers ---- */

static jzx_child_added answers[64];
static uint32_t answer_count;

static jzx_behavior_result collect(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    if (!JZX_EXPECT_EQ(msg->tag, JZX_TAG_CHILD_ADDED) ||
        !JZX_EXPECT_EQ(msg->len, sizeof(jzx_child_added)) || !JZX_EXPECT(answer_count < 64))
        return JZX_BEHAVIOR_OK;
    memcpy(&answers[answer_count++], msg->data, sizeof(jzx_child_added));
    return JZX_BEHAVIOR_OK;
}

static jzx_actor_id collector(const struct timing *timing) {
    answer_count = 0;
    return fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.behavior = collect, .daemon = true));
}

static void expect_answer(uint32_t index, jzx_actor_id supervisor, const char *name, jzx_err err) {
    if (!JZX_EXPECT(index < answer_count))
        return;
    JZX_EXPECT_EQ(answers[index].err, err);
    JZX_EXPECT_EQ(answers[index].supervisor, supervisor);
    JZX_EXPECT_EQ(strcmp(answers[index].name, name), 0);
    JZX_EXPECT_EQ(answers[index].child != JZX_NOBODY, err == JZX_OK || err == JZX_ERR_EXISTS);
}

static void add(const struct timing *timing, jzx_actor_id supervisor, const jzx_child_spec *spec,
                jzx_actor_id reply_to) {
    JZX_EXPECT_EQ(jzx_supervisor_add(timing->loop, supervisor, spec, sizeof *spec, reply_to),
                  JZX_OK);
}

static const jzx_child_spec ab[] = {{TOY("a")}, {TOY("b")}};

JZX_TEST(added_children_start_behind_the_others_and_stop_before_them, "C21", "D+sup") {
    for (int strategy = JZX_ONE_FOR_ONE; strategy <= JZX_REST_FOR_ONE; strategy++) {
        struct timing timing = nursery_open();
        jzx_actor_id who = collector(&timing);
        jzx_actor_id root = nursery_tree(
            &timing, &JZX_SUPERVISOR_OPTS(.strategy = (jzx_strategy)strategy, JZX_CHILDREN(ab)));
        add(&timing, root, &(jzx_child_spec){TOY("x")}, who);
        add(&timing, root, &(jzx_child_spec){TOY("y")}, JZX_NOBODY);
        timing_step(&timing);
        add(&timing, root, &(jzx_child_spec){TOY("a")}, who);
        timing_step(&timing);
        expect_trace("+a +b +x +y ");
        JZX_EXPECT_EQ(answer_count, 2);
        expect_answer(0, root, "x", JZX_OK);
        JZX_EXPECT_EQ(answers[0].child, child_of(&timing, root, "x"));
        expect_answer(1, root, "a", JZX_ERR_EXISTS);
        JZX_EXPECT_EQ(answers[1].child, child_of(&timing, root, "a"));
        JZX_EXPECT_EQ(strcmp(info_of(&timing, root, 3).name, "y"), 0);
        JZX_EXPECT_EQ(family_of(&timing, root).children, 4);
        tell(&timing, root, "x", TOY_FAIL);
        static const char *const then[] = {"-xF +x ", "-xF -yS -bS -aS +a +b +x +y ",
                                           "-xF -yS +x +y "};
        expect_trace(then[strategy]);
        stop_supervisor(&timing, root);
        expect_trace("-yS -xS -bS -aS ");
        timing_close(&timing);
    }
}

JZX_TEST(children_are_added_before_the_loop_runs, "C21") {
    struct timing timing = nursery_open();
    jzx_actor_id who = collector(&timing);
    jzx_actor_id root = JZX_NOBODY;
    assert_int_equal(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(ab)), &root), JZX_OK);
    add(&timing, root, &(jzx_child_spec){TOY("x")}, who);
    add(&timing, root, &(jzx_child_spec){.name = "n", .behavior = toy}, who);
    timing_step(&timing);
    expect_trace("+a +b +x ");
    expect_answer(0, root, "x", JZX_OK);
    expect_answer(1, root, "n", JZX_OK);
    nursery_close(&timing, root);
}

/* With and without somebody to answer. */
JZX_TEST(an_added_child_whose_init_fails_is_forgotten_and_counts_for_nothing, "C21", "C22") {
    for (int replies = 0; replies < 2; replies++) {
        struct timing timing = nursery_open();
        jzx_actor_id who = collector(&timing);
        jzx_actor_id root =
            nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.intensity = JZX_NONE, JZX_CHILDREN(ab)));
        failures_left = 1;
        add(&timing, root, &(jzx_child_spec){FUSSY("f")}, replies ? who : JZX_NOBODY);
        timing_step(&timing);
        expect_trace("+a +b +f -fF ");
        JZX_EXPECT_EQ(answer_count, replies);
        if (replies)
            expect_answer(0, root, "f", JZX_ERR_UNKNOWN);
        JZX_EXPECT_EQ(escalations, 0);
        JZX_EXPECT_EQ(family_of(&timing, root).children, 2);
        JZX_EXPECT_EQ(family_of(&timing, root).restarts, 0);
        add(&timing, root, &(jzx_child_spec){FUSSY("f")}, who); /* the name is free again */
        timing_step(&timing);
        expect_trace("+f ");
        expect_answer((uint32_t)replies, root, "f", JZX_OK);
        nursery_close(&timing, root);
    }
}

/* There is room for the collector, the root, a and b. */
JZX_TEST(an_added_child_that_cannot_be_spawned_does_not_hold_up_a_plan, "C21", "C+fail") {
    for (int replies = 0; replies < 2; replies++) {
        const jzx_child_spec specs[] = {{TOY("a"), .backoff = {.initial_delay_ns = JZX_MS(10)}},
                                        {TOY("b")}};
        struct timing timing = nursery_open_with(&JZX_CONFIG(.max_actors = 4));
        jzx_actor_id who = collector(&timing);
        jzx_actor_id root = nursery_tree(
            &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_ONE_FOR_ALL, JZX_CHILDREN(specs)));
        tell(&timing, root, "a", TOY_FAIL);
        add(&timing, root, &(jzx_child_spec){TOY("x")}, replies ? who : JZX_NOBODY);
        add(&timing, root, &(jzx_child_spec){TOY("y")}, who);
        timing_step(&timing);
        expect_trace("+a +b -aF -bS ");
        timing_advance(&timing, JZX_MS(10));
        expect_trace("+a +b ");
        if (replies)
            expect_answer(0, root, "x", JZX_ERR_MAX_ACTORS);
        expect_answer((uint32_t)replies, root, "y", JZX_ERR_MAX_ACTORS);
        JZX_EXPECT_EQ(family_of(&timing, root).children, 2);
        JZX_EXPECT_EQ(escalations, 0);
        nursery_close(&timing, root);
    }
}

JZX_TEST(a_closing_supervisor_adds_nobody, "C21", "D+sup") {
    const jzx_child_spec specs[] = {{TOY("a"), .priority = JZX_PRIORITY_LOW}};
    struct timing timing = nursery_open();
    jzx_actor_id who = collector(&timing);
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    while (!family_of(&timing, root).closing)
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    add(&timing, root, &(jzx_child_spec){TOY("x")}, who);
    timing_step(&timing);
    expect_trace("+a -aS ");
    JZX_EXPECT_EQ(answer_count, 1);
    JZX_EXPECT(answers[0].err == JZX_ERR_LOOP_CLOSED || answers[0].err == JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(answers[0].child, JZX_NOBODY);
    JZX_EXPECT_EQ(jzx_supervisor_add(timing.loop, root, &(jzx_child_spec){TOY("x")},
                                     sizeof(jzx_child_spec), who),
                  JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_supervisor_add(timing.loop, who, &(jzx_child_spec){TOY("x")},
                                     sizeof(jzx_child_spec), who),
                  JZX_ERR_NO_SUCH_ACTOR);
    timing_close(&timing);
}

JZX_TEST(every_add_is_answered_once_when_its_supervisor_is_killed, "C21", "C+inv") {
    struct timing timing = nursery_open();
    jzx_actor_id who = collector(&timing);
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(ab)));
    add(&timing, root, &(jzx_child_spec){TOY("x")}, who);
    add(&timing, root, &(jzx_child_spec){TOY("y")}, who);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(answer_count, 2);
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    timing_close(&timing);
}

/* ---- removing ---- */

JZX_TEST(a_removed_child_is_stopped_and_forgotten_in_every_state, "C21") {
    const jzx_child_spec specs[] = {{TOY("r")},
                                    {TOY("w"), .backoff = {.initial_delay_ns = JZX_MS(100)}},
                                    {TOY("s"), .mode = JZX_TRANSIENT},
                                    {TOY("z")}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    tell(&timing, root, "w", TOY_FAIL);
    tell(&timing, root, "s", TOY_STOP);
    expect_trace("+r +w +s +z -wF -sN ");
    for (const char *name = "rws"; *name != '\0'; name++)
        JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, (char[]){*name, '\0'}), JZX_OK);
    JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "q"), JZX_ERR_NO_SUCH_ACTOR);
    timing_step(&timing);
    expect_trace("-rS ");
    JZX_EXPECT_EQ(family_of(&timing, root).children, 1);
    JZX_EXPECT_EQ(strcmp(info_of(&timing, root, 0).name, "z"), 0);
    timing_advance(&timing, JZX_SECOND(1)); /* and w does not come back */
    expect_trace("");
    JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "r"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, NULL), JZX_ERR_INVALID_ARG);
    nursery_close(&timing, root);
}

JZX_TEST(a_child_is_removed_while_it_starts_or_stops, "C21") {
    const jzx_child_spec specs[] = {{TOY("a")}, {TOY("b")}, {TOY("c")}};
    for (int when = 0; when < 2; when++) {
        struct timing timing = nursery_open();
        jzx_actor_id root = nursery_tree(
            &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_ONE_FOR_ALL, JZX_CHILDREN(specs)));
        trace_clear();
        fixture_send(timing.loop, child_of(&timing, root, "a"), TOY_FAIL);
        jzx_child_state state = when == 0 ? JZX_CHILD_STOPPING : JZX_CHILD_STARTING;
        while (info_of(&timing, root, 1).state != state)
            JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
        JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "b"), JZX_OK);
        JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "b"), JZX_OK); /* once is enough */
        timing_step(&timing);
        JZX_EXPECT_EQ(family_of(&timing, root).children, 2);
        JZX_EXPECT_EQ(family_of(&timing, root).running, 2);
        JZX_EXPECT(!has_child(&timing, root, "b"));
        JZX_EXPECT_EQ(escalations, 0);
        trace_clear();
        stop_supervisor(&timing, root);
        expect_trace("-cS -aS ");
        timing_close(&timing);
    }
}

/* ---- restarting by hand ---- */

JZX_TEST(a_restart_by_hand_is_at_once_and_no_failure, "C21", "C22", "E+sem") {
    const jzx_child_spec specs[] = {{TOY("r")},
                                    {TOY("w"), .backoff = {.initial_delay_ns = JZX_MS(100)}},
                                    {TOY("s"), .mode = JZX_TRANSIENT},
                                    {TOY("u"), .mode = JZX_TEMPORARY}};
    for (int strategy = JZX_ONE_FOR_ONE; strategy <= JZX_REST_FOR_ONE; strategy++) {
        struct timing timing = nursery_open();
        jzx_actor_id root =
            nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.strategy = (jzx_strategy)strategy,
                                                       .intensity = JZX_NONE, JZX_CHILDREN(specs)));
        tell(&timing, root, "s", TOY_STOP);
        trace_clear();
        jzx_actor_id before = child_of(&timing, root, "r");
        for (const char *name = "rsu"; *name != '\0'; name++)
            JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, (char[]){*name, '\0'}), JZX_OK);
        timing_step(&timing);
        JZX_EXPECT(child_of(&timing, root, "r") != before);
        JZX_EXPECT(!lives(&timing, before));
        JZX_EXPECT_EQ(family_of(&timing, root).running, 4);
        JZX_EXPECT(strstr(trace, "-rS ") != NULL && strstr(trace, "+r ") != NULL);
        JZX_EXPECT(strstr(trace, "-s") == NULL && strstr(trace, "+s ") != NULL);
        JZX_EXPECT(strstr(trace, "-uS ") != NULL && strstr(trace, "+u ") != NULL);
        JZX_EXPECT_EQ(escalations, 0);
        nursery_close(&timing, root);
    }
}

JZX_TEST(a_restart_by_hand_does_not_wait_for_the_backoff, "C21", "C+sup") {
    const jzx_child_spec specs[] = {{TOY("w"), .backoff = {.initial_delay_ns = JZX_MS(100)}}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    tell(&timing, root, "w", TOY_FAIL);
    expect_trace("+w -wF ");
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "w"), JZX_OK);
    timing_step(&timing);
    expect_trace("+w ");
    timing_advance(&timing, JZX_SECOND(1));
    expect_trace("");
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    nursery_close(&timing, root);
}

JZX_TEST(a_restart_by_hand_during_a_plan_brings_back_one_that_had_ended, "C21") {
    const jzx_child_spec specs[] = {{TOY("a"), .backoff = {.initial_delay_ns = JZX_MS(10)}},
                                    {TOY("s"), .mode = JZX_TRANSIENT}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_ONE_FOR_ALL, JZX_CHILDREN(specs)));
    tell(&timing, root, "s", TOY_STOP);
    tell(&timing, root, "a", TOY_FAIL);
    expect_trace("+a +s -sN -aF ");
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "s"), JZX_OK);
    timing_advance(&timing, JZX_MS(10));
    expect_trace("+a +s ");
    nursery_close(&timing, root);
}

/* ---- dynamic supervisors ---- */

JZX_TEST(a_dynamic_supervisor_forgets_whom_it_does_not_restart, "C21") {
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_DYNAMIC, .intensity = JZX_UNLIMITED));
    for (int i = 0; i < 100; i++)
        add(&timing, root,
            &(jzx_child_spec){.behavior = toy, .mode = i % 2 ? JZX_TRANSIENT : JZX_PERMANENT},
            JZX_NOBODY);
    timing_step(&timing);
    JZX_EXPECT_EQ(family_of(&timing, root).running, 100);
    uint64_t bytes = fixture_bytes();
    for (size_t i = 0; i < 50; i++) {
        jzx_actor_id id = JZX_NOBODY;
        JZX_EXPECT_EQ(jzx_supervisor_child_id(timing.loop, root, i + 1, &id), JZX_OK);
        fixture_send(timing.loop, id, TOY_STOP); /* the next that is transient */
        timing_step(&timing);
    }
    JZX_EXPECT_EQ(family_of(&timing, root).children, 50);
    JZX_EXPECT(fixture_bytes() <= bytes);
    jzx_actor_id last = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_supervisor_child_id(timing.loop, root, 50, &last), JZX_ERR_NO_SUCH_ACTOR);
    nursery_close(&timing, root);
}

/* ---- from other threads ---- */

struct adder {
    jzx_loop *loop;
    jzx_actor_id root;
    uint32_t count;
};

static void *add_many(void *arg) {
    const struct adder *self = arg;
    for (uint32_t i = 0; i < self->count; i++)
        JZX_EXPECT_EQ(jzx_supervisor_add(self->loop, self->root, &(jzx_child_spec){.behavior = toy},
                                         sizeof(jzx_child_spec), JZX_NOBODY),
                      JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(self->loop, self->root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    return NULL;
}

JZX_TEST(children_are_added_from_another_thread, "C21") {
    struct timing timing = nursery_open();
    jzx_actor_id root = JZX_NOBODY;
    pthread_t thread;
    assert_int_equal(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(.strategy = JZX_DYNAMIC), &root),
        JZX_OK);
    struct adder adder = {timing.loop, root, 500};
    assert_int_equal(pthread_create(&thread, NULL, add_many, &adder), 0);
    JZX_EXPECT_EQ(jzx_loop_run(timing.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).spawned, fixture_stats(timing.loop).exited);
    timing_close(&timing);
}

/* ---- a crowd ---- */

#define CROWD 100000u

/* What each costs must not grow with their number, or this does not come to an end. */
JZX_TEST(a_hundred_thousand_children_are_added_and_stopped, "C21", "D+sup") {
    const jzx_child_spec spec = {.behavior = toy};
    for (jzx_strategy strategy = JZX_ONE_FOR_ONE; strategy <= JZX_DYNAMIC; strategy++) {
        struct timing timing = nursery_open();
        jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.strategy = strategy));
        uint32_t refused = 0;
        for (uint32_t i = 0; i < CROWD; i++) {
            jzx_err err = jzx_supervisor_add(timing.loop, root, &spec, sizeof spec, JZX_NOBODY);
            if (err == JZX_ERR_MAILBOX_FULL) { /* as any mailbox: bounded */
                refused++;
                timing_step(&timing);
                err = jzx_supervisor_add(timing.loop, root, &spec, sizeof spec, JZX_NOBODY);
            }
            JZX_EXPECT_EQ(err, JZX_OK);
        }
        timing_step(&timing);
        JZX_EXPECT_EQ(refused, (CROWD - 1) / JZX_DEFAULT_MAILBOX_CAP);
        JZX_EXPECT_EQ(family_of(&timing, root).running, CROWD);
        nursery_close(&timing, root);
    }
}
