/* SPDX-License-Identifier: MIT */
/* Services: their defaults, field by field and as they act on a clock that the test moves; their
 * attempts and jitter; the order in which they start; and every state of a child. */
#include "listening.h"

/* The values that D+sup gives. */
static void expect_service_defaults(const jzx_child_spec *spec) {
    JZX_EXPECT_EQ(spec->start_ns, JZX_SECOND(10));
    JZX_EXPECT_EQ(spec->shutdown_ns, JZX_SECOND(10));
    JZX_EXPECT_EQ(spec->stable_ns, JZX_SECOND(5));
    JZX_EXPECT_EQ(spec->backoff.kind, JZX_BACKOFF_EXPONENTIAL);
    JZX_EXPECT_EQ(spec->backoff.initial_delay_ns, JZX_SECOND(1));
    JZX_EXPECT_EQ(spec->backoff.max_delay_ns, JZX_SECOND(90));
    JZX_EXPECT(spec->backoff.factor == 2.0);
    JZX_EXPECT_EQ(spec->backoff.jitter_ns, 0);
    JZX_EXPECT_EQ(spec->jitter_percent, 10);
    JZX_EXPECT_EQ(spec->max_attempts, 0);
    JZX_EXPECT(spec->service);
}

JZX_TEST(a_service_has_the_defaults_of_the_requirement, "D+sup") {
    jzx_child_spec spec;
    memset(&spec, 0xFF, sizeof spec);
    JZX_EXPECT_EQ(jzx_service_init(&spec, sizeof spec), JZX_OK);
    expect_service_defaults(&spec);
    JZX_EXPECT_EQ(spec.behavior == NULL && spec.name == NULL && spec.init == NULL, true);
    JZX_EXPECT_EQ(spec.mode, JZX_PERMANENT);
    const jzx_child_spec named = JZX_SERVICE(.name = "x", .behavior = toy);
    JZX_EXPECT(named.service);
    JZX_EXPECT_EQ(named.behavior == toy && strcmp(named.name, "x") == 0, true);
}

JZX_TEST(wrong_sizes_and_fields_of_services_are_refused, "D+sup", "X21") {
    jzx_child_spec spec;
    const char *field = NULL;
    JZX_EXPECT_EQ(jzx_service_init(NULL, sizeof spec), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_service_init(&spec, 0), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_service_init(&spec, sizeof spec + 1), JZX_ERR_INVALID_ARG);
    const jzx_child_spec wrong[] = {{TOY("a"), .jitter_percent = 101},
                                    {TOY("a"), .stable_ns = (uint64_t)INT64_MAX + 1}};
    const char *const named[] = {"jitter_percent", "stable_ns"};
    for (size_t i = 0; i < 2; i++) {
        const jzx_supervisor_opts opts =
            JZX_SUPERVISOR_OPTS(.children = &wrong[i], .child_count = 1,
                                .child_size = sizeof wrong[i]);
        JZX_EXPECT_EQ(jzx_supervisor_check(&opts, &field), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(strcmp(field, named[i]), 0);
    }
}

/* What a spec that says nothing but service does, by the clock. */
JZX_TEST(delays_of_a_service_double_from_a_second_to_ninety, "D+sup", "C22") {
    static const uint64_t seconds[] = {1, 2, 4, 8, 16, 32, 64, 90, 90, 90};
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    const jzx_child_spec specs[] = {JZX_SERVICE(TOY("a"), .jitter_percent = JZX_NONE)};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.intensity = JZX_NONE, .listener = listener,
                                                   JZX_CHILDREN(specs)));
    for (uint32_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        tell(&timing, root, "a", TOY_FAIL);
        expect_heard("-aF~ ");
        JZX_EXPECT_EQ(last_heard()->attempt, i + 1);
        JZX_EXPECT_EQ(last_heard()->delay_ns, JZX_SECOND(seconds[i]));
        timing_advance(&timing, JZX_SECOND(seconds[i]) - JZX_MS(1));
        expect_heard("");
        timing_advance(&timing, JZX_MS(1));
        expect_heard("+a ");
    }
    JZX_EXPECT_EQ(escalations, 0); /* an intensity of none, and still nobody gave up */
    nursery_close(&timing, root);
}

JZX_TEST(attempts_are_reset_by_a_run_of_the_stable_threshold_and_by_no_shorter_one, "D+sup") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    const jzx_child_spec specs[] = {
        JZX_SERVICE(TOY("a"), .jitter_percent = JZX_NONE),
        {TOY("b"), .backoff = {.initial_delay_ns = JZX_MS(1000), .max_delay_ns = JZX_MS(90000)},
         .stable_ns = JZX_MS(700)}};
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.stable_ns = JZX_MS(60000), .intensity = JZX_UNLIMITED,
                                      .listener = listener, JZX_CHILDREN(specs)));
    const char *const names[] = {"a", "b"};
    const uint64_t stable_ms[] = {5000, 700};
    for (int i = 0; i < 2; i++) {
        tell(&timing, root, names[i], TOY_FAIL);
        timing_advance(&timing, JZX_SECOND(1));
        timing_advance(&timing, JZX_MS(stable_ms[i] - 1)); /* a tick too short */
        tell(&timing, root, names[i], TOY_FAIL);
        JZX_EXPECT_EQ(last_heard()->attempt, 2);
        JZX_EXPECT_EQ(last_heard()->delay_ns, JZX_SECOND(2));
        timing_advance(&timing, JZX_SECOND(2));
        timing_advance(&timing, JZX_MS(stable_ms[i]));
        tell(&timing, root, names[i], TOY_FAIL);
        JZX_EXPECT_EQ(last_heard()->attempt, 1);
        JZX_EXPECT_EQ(last_heard()->delay_ns, JZX_SECOND(1));
        timing_advance(&timing, JZX_SECOND(1));
    }
    nursery_close(&timing, root);
}

/* The delays of `count` failures of a service, after runs that are long enough to be the first. */
static void collect_delays(uint64_t *delays, uint32_t count) {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    const jzx_child_spec specs[] = {JZX_SERVICE(TOY("a"))};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.listener = listener, JZX_CHILDREN(specs)));
    for (uint32_t i = 0; i < count; i++) {
        timing_advance(&timing, JZX_SECOND(5));
        tell(&timing, root, "a", TOY_FAIL);
        delays[i] = last_heard()->delay_ns;
        timing_advance(&timing, delays[i] + JZX_MS(1)); /* it is rounded up */
    }
    nursery_close(&timing, root);
}

JZX_TEST(jitter_is_a_tenth_of_the_delay_either_way_and_the_same_for_the_same_seed, "D+sup") {
    enum { COUNT = 400 };
    static uint64_t delays[2][COUNT];
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    collect_delays(delays[0], COUNT);
    collect_delays(delays[1], COUNT); /* the id of the supervisor is the seed */
    JZX_EXPECT_EQ(memcmp(delays[0], delays[1], sizeof delays[0]), 0);
    for (int i = 0; i < COUNT; i++) {
        least = delays[0][i] < least ? delays[0][i] : least;
        most = delays[0][i] > most ? delays[0][i] : most;
    }
    JZX_EXPECT(least >= JZX_MS(900) && least < JZX_MS(920));
    JZX_EXPECT(most <= JZX_MS(1100) && most > JZX_MS(1080));
}

JZX_TEST(a_child_that_is_out_of_attempts_is_left_failed_and_the_others_go_on, "D+sup") {
    static const jzx_strategy strategies[] = {JZX_ONE_FOR_ONE, JZX_ONE_FOR_ALL, JZX_REST_FOR_ONE};
    for (size_t i = 0; i < 3; i++) {
        struct timing timing = nursery_open();
        jzx_actor_id listener = listener_spawn(&timing, 0);
        const jzx_child_spec specs[] = {
            JZX_SERVICE(TOY("a"), .max_attempts = 2, .jitter_percent = JZX_NONE),
            {TOY("b"), .mode = JZX_TRANSIENT}};
        jzx_actor_id root =
            nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.strategy = strategies[i], .intensity = 1,
                                                       .listener = listener, JZX_CHILDREN(specs)));
        for (int n = 0; n < 2; n++) {
            tell(&timing, root, "a", TOY_FAIL);
            timing_advance(&timing, JZX_SECOND(n + 1));
        }
        heard_read = heard_count;
        jzx_actor_id other = child_of(&timing, root, "b");
        tell(&timing, root, "a", TOY_CHECK);
        expect_heard("-aF! ");
        JZX_EXPECT_EQ(last_heard()->attempt, 3);
        JZX_EXPECT_EQ(last_heard()->delay_ns, 0);
        timing_advance(&timing, JZX_SECOND(600));
        expect_heard("");
        JZX_EXPECT_EQ(info_of(&timing, root, 0).state, JZX_CHILD_FAILED);
        JZX_EXPECT_EQ(child_of(&timing, root, "b"), other);
        JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "a"), JZX_OK); /* begins anew */
        timing_step(&timing);
        expect_heard("+a ");
        JZX_EXPECT_EQ(info_of(&timing, root, 0).attempt, 0);
        JZX_EXPECT_EQ(escalations, 0);
        nursery_close(&timing, root);
    }
}

JZX_TEST(a_service_that_does_not_start_is_tried_again_and_those_behind_it_wait, "D+sup") {
    static const jzx_strategy strategies[] = {JZX_ONE_FOR_ONE, JZX_ONE_FOR_ALL, JZX_REST_FOR_ONE};
    for (size_t i = 0; i < 3; i++) {
        struct timing timing = nursery_open();
        failures_left = 3;
        const jzx_child_spec specs[] = {
            {TOY("a")}, JZX_SERVICE(FUSSY("s"), .jitter_percent = JZX_NONE), {TOY("c")}};
        const bool all = strategies[i] == JZX_ONE_FOR_ALL;
        jzx_actor_id root = nursery_tree(
            &timing, &JZX_SUPERVISOR_OPTS(.strategy = strategies[i], JZX_CHILDREN(specs)));
        expect_trace(all ? "+a +s -sF -aS " : "+a +s -sF ");
        JZX_EXPECT_EQ(info_of(&timing, root, 1).state, JZX_CHILD_WAITING);
        JZX_EXPECT_EQ(info_of(&timing, root, 2).state, JZX_CHILD_UNKNOWN);
        timing_advance(&timing, JZX_SECOND(1));
        expect_trace(all ? "+a +s -sF -aS " : "+s -sF ");
        timing_advance(&timing, JZX_SECOND(2));
        expect_trace(all ? "+a +s -sF -aS " : "+s -sF ");
        timing_advance(&timing, JZX_SECOND(4));
        expect_trace(all ? "+a +s +c " : "+s +c ");
        nursery_close(&timing, root);
        expect_trace("-cS -sS -aS ");
    }
}

JZX_TEST(while_a_service_does_not_start_the_others_can_be_dealt_with, "D+sup") {
    static const jzx_child_spec late = {TOY("late")};
    for (int what = 0; what < 3; what++) {
        struct timing timing = nursery_open();
        failures_left = 2;
        const jzx_child_spec specs[] = {
            {TOY("a")}, JZX_SERVICE(FUSSY("s"), .jitter_percent = JZX_NONE), {TOY("c")}};
        jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
        expect_trace("+a +s -sF ");
        JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "a"), JZX_OK);
        timing_step(&timing);
        expect_trace("-aS +a ");
        JZX_EXPECT_EQ(jzx_supervisor_add(timing.loop, root, &late, sizeof late, JZX_NOBODY),
                      JZX_OK);
        timing_step(&timing);
        expect_trace("");
        if (what == 0) { /* at once: it is tried, and waits again */
            JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "s"), JZX_OK);
            timing_step(&timing);
            expect_trace("+s -sF ");
            timing_advance(&timing, JZX_SECOND(1));
            expect_trace("+s +c +late ");
        } else if (what == 1) {
            JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "s"), JZX_OK);
            timing_step(&timing);
            expect_trace("+c +late ");
        } else {
            JZX_EXPECT_EQ(jzx_supervisor_stop_child(timing.loop, root, "s"), JZX_OK);
            timing_step(&timing);
            expect_trace("+c +late ");
            JZX_EXPECT_EQ(info_of(&timing, root, 1).state, JZX_CHILD_STOPPED);
        }
        JZX_EXPECT_EQ(escalations, 0);
        nursery_close(&timing, root);
    }
}

/* ---- states ---- */

static jzx_child_state state_of(const struct timing *timing, jzx_actor_id root, const char *name) {
    jzx_child_state state = (jzx_child_state)77;
    JZX_EXPECT_EQ(jzx_supervisor_child_state(timing->loop, root, name, &state), JZX_OK);
    return state;
}

JZX_TEST(a_child_is_in_each_state_of_the_requirement, "D+sup") {
    struct timing timing = nursery_open();
    const jzx_child_spec specs[] = {JZX_SERVICE(TOY("a")),
                                    {TOY("b"), .mode = JZX_TRANSIENT},
                                    JZX_SERVICE(TOY("c"), .max_attempts = 1)};
    jzx_actor_id root = JZX_NOBODY;
    assert_int_equal(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)), &root),
        JZX_OK);
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_UNKNOWN); /* not started yet */
    JZX_EXPECT_EQ(state_of(&timing, root, "nobody"), JZX_CHILD_UNKNOWN);
    while (state_of(&timing, root, "a") == JZX_CHILD_UNKNOWN)
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_STARTING);
    JZX_EXPECT_EQ(state_of(&timing, root, "b"), JZX_CHILD_UNKNOWN);
    timing_step(&timing);
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_RUNNING);
    tell(&timing, root, "b", TOY_STOP);
    JZX_EXPECT_EQ(state_of(&timing, root, "b"), JZX_CHILD_EXITED);
    tell(&timing, root, "c", TOY_FAIL);
    JZX_EXPECT_EQ(state_of(&timing, root, "c"), JZX_CHILD_WAITING);
    timing_advance(&timing, JZX_SECOND(2));
    tell(&timing, root, "c", TOY_FAIL);
    JZX_EXPECT_EQ(state_of(&timing, root, "c"), JZX_CHILD_FAILED);
    JZX_EXPECT_EQ(jzx_supervisor_stop_child(timing.loop, root, "a"), JZX_OK);
    while (state_of(&timing, root, "a") == JZX_CHILD_RUNNING)
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_STOPPING);
    timing_step(&timing);
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_STOPPED);
    nursery_close(&timing, root);
}

JZX_TEST(the_state_of_nobody_is_refused, "D+sup", "X21") {
    struct timing timing = nursery_open();
    static const jzx_child_spec specs[] = {{TOY("a")}};
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    jzx_child_state state = JZX_CHILD_FAILED;
    JZX_EXPECT_EQ(jzx_supervisor_child_state(NULL, root, "a", &state), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_supervisor_child_state(timing.loop, root, NULL, &state), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_supervisor_child_state(timing.loop, root, "a", NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_supervisor_stop_child(timing.loop, root, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_supervisor_stop_child(timing.loop, root, "b"), JZX_ERR_NO_SUCH_ACTOR);
    nursery_close(&timing, root);
}

JZX_TEST(a_stopped_child_is_started_by_a_restart_and_by_nothing_else, "D+sup") {
    struct timing timing = nursery_open();
    static const jzx_child_spec specs[] = {
        {TOY("a")}, {TOY("b")}, {TOY("m"), .mode = JZX_TEMPORARY}};
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_ONE_FOR_ALL, JZX_CHILDREN(specs)));
    JZX_EXPECT_EQ(jzx_supervisor_stop_child(timing.loop, root, "a"), JZX_OK);
    JZX_EXPECT_EQ(jzx_supervisor_stop_child(timing.loop, root, "m"), JZX_OK);
    timing_step(&timing);
    expect_trace("+a +b +m -aS -mS ");
    JZX_EXPECT_EQ(state_of(&timing, root, "m"), JZX_CHILD_UNKNOWN); /* forgotten */
    tell(&timing, root, "b", TOY_FAIL);
    expect_trace("-bF +b "); /* all that is to run */
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_STOPPED);
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "a"), JZX_OK);
    timing_step(&timing);
    expect_trace("+a ");
    /* A restart that meets the stop: the one that comes last counts. */
    JZX_EXPECT_EQ(jzx_supervisor_stop_child(timing.loop, root, "a"), JZX_OK);
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "a"), JZX_OK);
    timing_step(&timing);
    expect_trace("-aS +a ");
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "a"), JZX_OK);
    JZX_EXPECT_EQ(jzx_supervisor_stop_child(timing.loop, root, "a"), JZX_OK);
    timing_step(&timing);
    expect_trace("-aS ");
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_STOPPED);
    nursery_close(&timing, root);
}

JZX_TEST(a_child_that_waits_is_stopped_for_good, "D+sup") {
    struct timing timing = nursery_open();
    const jzx_child_spec specs[] = {JZX_SERVICE(TOY("a"), .keep_mailbox = true)};
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    tell(&timing, root, "a", TOY_FAIL);
    JZX_EXPECT_EQ(jzx_supervisor_stop_child(timing.loop, root, "a"), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_STOPPED);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    timing_advance(&timing, JZX_SECOND(100));
    expect_trace("+a -aF ");
    nursery_close(&timing, root);
}
