/* SPDX-License-Identifier: MIT */
/* Children that depend on one another by name: when they start and stop, what a failure brings
 * down, and which names are refused. */
#include "listening.h"

#define SERVICE(...) JZX_SERVICE(__VA_ARGS__, .jitter_percent = JZX_NONE)

static jzx_child_state state_of(const struct timing *timing, jzx_actor_id root, const char *name) {
    jzx_child_state state = (jzx_child_state)77;
    JZX_EXPECT_EQ(jzx_supervisor_child_state(timing->loop, root, name, &state), JZX_OK);
    return state;
}

/* The list is in no order of the dependencies. log needs nobody, and nobody needs it: it comes
 * where the scheduler has it, which on one worker is always the same place. */
static const jzx_child_spec shop[] = {
    SERVICE(TOY("web"), .depends_on = {"store", "index"}),
    SERVICE(TOY("index"), .depends_on = {"store"}),
    SERVICE(TOY("store")),
    SERVICE(TOY("log")),
};

static jzx_actor_id shop_open(const struct timing *timing, jzx_strategy strategy,
                              jzx_actor_id listener) {
    jzx_actor_id root =
        nursery_tree(timing, &JZX_SUPERVISOR_OPTS(.strategy = strategy, .intensity = JZX_NONE,
                                                  .listener = listener, JZX_CHILDREN(shop)));
    expect_trace("+log +store +index +web ");
    return root;
}

/* ---- start and stop ---- */

JZX_TEST(children_start_by_their_names_and_stop_in_the_reverse_order, "D+sup", "C21") {
    for (int strategy = JZX_ONE_FOR_ONE; strategy <= JZX_REST_FOR_ONE; strategy++) {
        struct timing timing = nursery_open();
        jzx_actor_id root = shop_open(&timing, (jzx_strategy)strategy, JZX_NOBODY);
        nursery_close(&timing, root);
        expect_trace("-webS -indexS -storeS -logS ");
    }
}

JZX_TEST(without_a_name_children_go_by_their_list, "D+sup") {
    static const jzx_child_spec list[] = {{TOY("b")}, {TOY("a")}};
    static const jzx_child_spec named[] = {{TOY("b"), .depends_on = {JZX_DEPENDS_ON_NOBODY}},
                                           {TOY("a")}};
    for (int i = 0; i < 2; i++) {
        struct timing timing = nursery_open();
        const jzx_child_spec *specs = i == 0 ? list : named;
        jzx_actor_id root = JZX_NOBODY;
        assert_int_equal(
            jzx_spawn_supervisor(timing.loop,
                                 &JZX_SUPERVISOR_OPTS(.children = specs, .child_count = 2,
                                                      .child_size = sizeof *specs),
                                 &root),
            JZX_OK);
        while (state_of(&timing, root, "b") != JZX_CHILD_STARTING)
            JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
        /* An empty list makes all of them independent. */
        JZX_EXPECT_EQ(state_of(&timing, root, "a"),
                      i == 0 ? JZX_CHILD_UNKNOWN : JZX_CHILD_STARTING);
        timing_step(&timing);
        nursery_close(&timing, root);
        expect_trace(i == 0 ? "+b +a -aS -bS " : "+a +b -bS -aS ");
    }
}

JZX_TEST(independent_branches_start_and_stop_at_the_same_time, "D+sup") {
    static const jzx_child_spec specs[] = {
        SERVICE(TOY("a")),
        SERVICE(TOY("b1"), .depends_on = {"a"}),
        SERVICE(TOY("b2"), .depends_on = {"a"}),
        SERVICE(TOY("c"), .depends_on = {"b1", "b2"}),
    };
    struct timing timing = nursery_open();
    jzx_actor_id root = JZX_NOBODY;
    assert_int_equal(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)), &root),
        JZX_OK);
    while (state_of(&timing, root, "b1") == JZX_CHILD_UNKNOWN) {
        JZX_EXPECT_EQ(state_of(&timing, root, "b2"), JZX_CHILD_UNKNOWN);
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    }
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_RUNNING);
    JZX_EXPECT_EQ(state_of(&timing, root, "b1"), JZX_CHILD_STARTING);
    JZX_EXPECT_EQ(state_of(&timing, root, "b2"), JZX_CHILD_STARTING);
    JZX_EXPECT_EQ(state_of(&timing, root, "c"), JZX_CHILD_UNKNOWN);
    timing_step(&timing);
    expect_trace("+a +b2 +b1 +c ");
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    while (state_of(&timing, root, "b1") == JZX_CHILD_RUNNING)
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    JZX_EXPECT_EQ(state_of(&timing, root, "c"), JZX_CHILD_STOPPED);
    JZX_EXPECT_EQ(state_of(&timing, root, "b1"), JZX_CHILD_STOPPING);
    JZX_EXPECT_EQ(state_of(&timing, root, "b2"), JZX_CHILD_STOPPING);
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_RUNNING);
    timing_step(&timing);
    expect_trace("-cS -b1S -b2S -aS ");
    timing_close(&timing);
}

JZX_TEST(a_supervisor_below_is_up_when_all_its_children_are, "D+sup") {
    static const jzx_child_spec leaves[] = {SERVICE(TOY("y"), .depends_on = {"x"}),
                                            SERVICE(FUSSY("x"))};
    const jzx_supervisor_opts below = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(leaves));
    const jzx_child_spec specs[] = {
        {TOY("last"), .depends_on = {"tree"}},
        {.name = "tree", .supervisor = &below},
    };
    struct timing timing = nursery_open();
    failures_left = 1;
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    expect_trace("+x -xF ");
    timing_advance(&timing, JZX_SECOND(1));
    expect_trace("+x +y +last ");
    nursery_close(&timing, root);
    expect_trace("-lastS -yS -xS ");
}

JZX_TEST(a_branch_that_does_not_start_delays_no_other, "D+sup") {
    static const jzx_child_spec specs[] = {
        SERVICE(FUSSY("slow")),
        SERVICE(TOY("after"), .depends_on = {"slow"}),
        SERVICE(TOY("a")),
        SERVICE(TOY("b"), .depends_on = {"a"}),
    };
    static const jzx_strategy strategies[] = {JZX_ONE_FOR_ONE, JZX_REST_FOR_ONE};
    for (size_t i = 0; i < 2; i++) {
        struct timing timing = nursery_open();
        failures_left = 2;
        jzx_actor_id root = nursery_tree(
            &timing, &JZX_SUPERVISOR_OPTS(.strategy = strategies[i], JZX_CHILDREN(specs)));
        expect_trace("+a +b +slow -slowF ");
        JZX_EXPECT_EQ(state_of(&timing, root, "after"), JZX_CHILD_UNKNOWN);
        timing_advance(&timing, JZX_SECOND(1));
        timing_advance(&timing, JZX_SECOND(2));
        expect_trace("+slow -slowF +slow +after ");
        nursery_close(&timing, root);
    }
}

/* ---- failures ---- */

JZX_TEST(rest_for_one_brings_down_the_dependents_alone_and_starts_them_after, "D+sup", "C21") {
    struct timing timing = nursery_open();
    jzx_actor_id listener = listener_spawn(&timing, 0);
    jzx_actor_id root = shop_open(&timing, JZX_REST_FOR_ONE, listener);
    jzx_actor_id log = child_of(&timing, root, "log");
    tell(&timing, root, "store", TOY_FAIL);
    expect_trace("-storeF -webS -indexS ");
    JZX_EXPECT_EQ(state_of(&timing, root, "index"), JZX_CHILD_WAITING);
    expect_heard("-storeF~ -webS~? -indexS~? ");
    timing_advance(&timing, JZX_MS(999));
    expect_trace("");
    timing_advance(&timing, JZX_MS(1));
    expect_trace("+store +index +web ");
    expect_heard("+store +index +web ");
    tell(&timing, root, "index", TOY_FAIL);
    timing_advance(&timing, JZX_SECOND(1));
    expect_trace("-indexF -webS +index +web ");
    tell(&timing, root, "web", TOY_FAIL);
    timing_advance(&timing, JZX_SECOND(1));
    expect_trace("-webF +web ");
    JZX_EXPECT_EQ(child_of(&timing, root, "log"), log);
    JZX_EXPECT_EQ(escalations, 0);
    nursery_close(&timing, root);
}

JZX_TEST(two_branches_that_fail_wait_each_for_their_own_delay, "D+sup") {
    static const jzx_child_spec specs[] = {
        {TOY("a"), .backoff = {.initial_delay_ns = JZX_MS(5000)}},
        {TOY("a1"), .depends_on = {"a"}},
        {TOY("b"), .backoff = {.initial_delay_ns = JZX_MS(100)}},
        {TOY("b1"), .depends_on = {"b"}},
    };
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_REST_FOR_ONE, JZX_CHILDREN(specs)));
    expect_trace("+b +b1 +a +a1 ");
    tell(&timing, root, "a", TOY_FAIL);
    tell(&timing, root, "b", TOY_FAIL);
    expect_trace("-aF -a1S -bF -b1S ");
    timing_advance(&timing, JZX_MS(100));
    expect_trace("+b +b1 ");
    timing_advance(&timing, JZX_MS(4900));
    expect_trace("+a +a1 ");
    nursery_close(&timing, root);
}

JZX_TEST(one_for_one_lets_dependents_go_on_and_starts_them_when_they_can, "D+sup") {
    struct timing timing = nursery_open();
    jzx_actor_id root = shop_open(&timing, JZX_ONE_FOR_ONE, JZX_NOBODY);
    tell(&timing, root, "web", TOY_FAIL);
    timing_advance(&timing, JZX_MS(500));
    tell(&timing, root, "store", TOY_FAIL);
    expect_trace("-webF -storeF ");
    JZX_EXPECT_EQ(state_of(&timing, root, "index"), JZX_CHILD_RUNNING);
    timing_advance(&timing, JZX_MS(500)); /* web could start, but for the store */
    expect_trace("");
    JZX_EXPECT_EQ(state_of(&timing, root, "web"), JZX_CHILD_WAITING);
    timing_advance(&timing, JZX_MS(500));
    expect_trace("+store +web ");
    nursery_close(&timing, root);
}

JZX_TEST(one_for_all_stops_all_in_reverse_and_starts_all_by_name_after_the_delay, "D+sup") {
    struct timing timing = nursery_open();
    jzx_actor_id root = shop_open(&timing, JZX_ONE_FOR_ALL, JZX_NOBODY);
    tell(&timing, root, "index", TOY_FAIL);
    expect_trace("-indexF -webS -storeS -logS ");
    timing_advance(&timing, JZX_MS(999));
    expect_trace("");
    timing_advance(&timing, JZX_MS(1));
    expect_trace("+log +store +index +web ");
    nursery_close(&timing, root);
}

JZX_TEST(children_that_count_make_their_supervisor_give_up_in_reverse, "D+sup", "C22") {
    static const jzx_child_spec specs[] = {{TOY("b"), .depends_on = {"a"}}, {TOY("a")}};
    struct timing timing = nursery_open();
    jzx_actor_id root = JZX_NOBODY;
    assert_int_equal(jzx_spawn_supervisor(timing.loop,
                                          &JZX_SUPERVISOR_OPTS(.strategy = JZX_REST_FOR_ONE,
                                                               .intensity = 1, JZX_CHILDREN(specs)),
                                          &root),
                     JZX_OK);
    timing_step(&timing);
    tell(&timing, root, "a", TOY_FAIL);
    expect_trace("+a +b -aF -bS +a +b ");
    fixture_send(timing.loop, child_of(&timing, root, "a"), TOY_FAIL);
    JZX_EXPECT_EQ(jzx_loop_step(timing.loop, JZX_NEVER), JZX_ERR_ESCALATED);
    expect_trace("-aF -bS ");
    JZX_EXPECT_EQ(escalations, 1);
    timing_close(&timing);
}

JZX_TEST(a_dependent_that_fails_while_it_is_to_stop_counts_no_second_failure, "D+sup", "C22") {
    static const jzx_child_spec specs[] = {{TOY("a")},
                                           {TOY("b"), .depends_on = {"a"}},
                                           {TOY("c"), .depends_on = {"b"}, .trap_stop = true}};
    struct timing timing = nursery_open();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_REST_FOR_ONE, .intensity = 1,
                                                   JZX_CHILDREN(specs)));
    tell(&timing, root, "a", TOY_FAIL);
    tell(&timing, root, "b", TOY_FAIL); /* it was to stop after c, which takes its time */
    expect_trace("+a +b +c -aF -bF ");
    JZX_EXPECT_EQ(state_of(&timing, root, "c"), JZX_CHILD_STOPPING);
    timing_advance(&timing, JZX_SECOND(5));
    expect_trace("-cK +a +b +c ");
    JZX_EXPECT_EQ(info_of(&timing, root, 1).attempt, 0);
    JZX_EXPECT_EQ(escalations, 0);
    stop_supervisor(&timing, root);
    timing_advance(&timing, JZX_SECOND(5));
    expect_trace("-cK -bS -aS ");
    timing_close(&timing);
}

JZX_TEST(a_dependency_that_is_out_of_attempts_stops_nobody_and_starts_nobody, "D+sup") {
    static const jzx_child_spec specs[] = {
        SERVICE(FUSSY("a"), .max_attempts = 1),
        SERVICE(TOY("b"), .depends_on = {"a"}),
        SERVICE(TOY("c"), .depends_on = {"b"}),
        SERVICE(TOY("d")),
    };
    struct timing timing = nursery_open();
    failures_left = 2;
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_REST_FOR_ONE, JZX_CHILDREN(specs)));
    timing_advance(&timing, JZX_SECOND(1));
    expect_trace("+d +a -aF +a -aF ");
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_FAILED);
    timing_advance(&timing, JZX_SECOND(600));
    expect_trace("");
    JZX_EXPECT_EQ(state_of(&timing, root, "b"), JZX_CHILD_UNKNOWN);
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "a"), JZX_OK);
    timing_step(&timing);
    expect_trace("+a +b +c ");
    for (int i = 0; i < 2; i++) { /* now they run, and its end is no reason to stop them */
        tell(&timing, root, "a", TOY_FAIL);
        timing_advance(&timing, JZX_SECOND(1));
    }
    expect_trace("-aF -cS -bS +a +b +c -aF ");
    JZX_EXPECT_EQ(state_of(&timing, root, "a"), JZX_CHILD_FAILED);
    JZX_EXPECT_EQ(state_of(&timing, root, "b"), JZX_CHILD_RUNNING);
    nursery_close(&timing, root);
}

JZX_TEST(a_job_that_has_ended_well_is_up_for_its_dependents, "D+sup") {
    static const jzx_child_spec specs[] = {
        {TOY("job"), .mode = JZX_TRANSIENT},
        {TOY("b"), .depends_on = {"job"}},
    };
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    tell(&timing, root, "job", TOY_STOP);
    tell(&timing, root, "b", TOY_FAIL);
    expect_trace("+job +b -jobN -bF +b ");
    nursery_close(&timing, root);
}

/* ---- by hand ---- */

JZX_TEST(a_dependency_that_is_stopped_by_hand_stops_nobody_and_starts_nobody, "D+sup") {
    struct timing timing = nursery_open();
    jzx_actor_id root = shop_open(&timing, JZX_REST_FOR_ONE, JZX_NOBODY);
    JZX_EXPECT_EQ(jzx_supervisor_stop_child(timing.loop, root, "store"), JZX_OK);
    timing_step(&timing);
    expect_trace("-storeS ");
    tell(&timing, root, "index", TOY_FAIL);
    timing_advance(&timing, JZX_SECOND(1));
    expect_trace("-indexF -webS ");
    JZX_EXPECT_EQ(state_of(&timing, root, "index"), JZX_CHILD_WAITING);
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "store"), JZX_OK);
    timing_step(&timing);
    expect_trace("+store +index +web ");
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "store"), JZX_OK);
    timing_step(&timing);
    expect_trace("-storeS +store ");
    tell(&timing, root, "web", TOY_FAIL);
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "web"), JZX_OK); /* before its delay */
    timing_step(&timing);
    expect_trace("-webF +web ");
    nursery_close(&timing, root);
}

static jzx_child_added added;
static uint32_t added_count;

static jzx_behavior_result note_added(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    if (msg->tag == JZX_TAG_CHILD_ADDED)
        memcpy(&added, msg->data, sizeof added);
    added_count++;
    return JZX_BEHAVIOR_OK;
}

static jzx_err add(const struct timing *timing, jzx_actor_id root, const jzx_child_spec *spec,
                   jzx_actor_id who) {
    jzx_err err = jzx_supervisor_add(timing->loop, root, spec, sizeof *spec, who);
    timing_step(timing);
    return err;
}

JZX_TEST(an_added_child_may_depend_on_those_that_are_there, "D+sup") {
    static const jzx_child_spec more = SERVICE(TOY("more"), .depends_on = {"web", "store"});
    static const jzx_child_spec lost = {TOY("lost"), .depends_on = {"web", "nobody"}};
    static const jzx_child_spec self = {TOY("self"), .depends_on = {"self"}};
    struct timing timing = nursery_open();
    jzx_actor_id who =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = note_added, .daemon = true));
    jzx_actor_id root = shop_open(&timing, JZX_REST_FOR_ONE, JZX_NOBODY);
    added_count = 0;
    tell(&timing, root, "store", TOY_FAIL);
    expect_trace("-storeF -webS -indexS ");
    JZX_EXPECT_EQ(add(&timing, root, &more, who), JZX_OK);
    JZX_EXPECT_EQ(added_count, 0); /* it waits for the store */
    timing_advance(&timing, JZX_SECOND(1));
    expect_trace("+store +index +web +more ");
    JZX_EXPECT_EQ(added_count, 1);
    JZX_EXPECT_EQ(added.err, JZX_OK);
    JZX_EXPECT_EQ(add(&timing, root, &lost, who), JZX_OK);
    JZX_EXPECT_EQ(added.err, JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(add(&timing, root, &self, who), JZX_OK);
    JZX_EXPECT_EQ(added.err, JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(added_count, 3);
    JZX_EXPECT(!has_child(&timing, root, "lost"));
    /* A dependency that is removed is none any more. */
    JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "web"), JZX_OK);
    timing_step(&timing);
    tell(&timing, root, "more", TOY_FAIL);
    timing_advance(&timing, JZX_SECOND(1));
    expect_trace("-webS -moreF +more ");
    nursery_close(&timing, root);
    expect_trace("-indexS -logS -moreS -storeS ");
}

JZX_TEST(a_supervisor_that_goes_by_its_list_adds_no_child_with_dependencies, "D+sup") {
    static const jzx_child_spec specs[] = {{TOY("a")}};
    static const jzx_child_spec more = {TOY("more"), .depends_on = {"a"}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    JZX_EXPECT_EQ(add(&timing, root, &more, JZX_NOBODY), JZX_ERR_INVALID_ARG);
    nursery_close(&timing, root);
}

/* ---- names ---- */

static char last_line[256];

static void keep_line(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    (void)level;
    snprintf(last_line, sizeof last_line, "%s", text);
}

static void expect_refused(const jzx_supervisor_opts *opts, const char *text) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.log = {.write = keep_line, .level = JZX_LOG_ERROR}));
    const char *field = NULL;
    jzx_actor_id id = 77;
    last_line[0] = '\0';
    JZX_EXPECT_EQ(jzx_supervisor_check(opts, &field), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(field != NULL && strcmp(field, "depends_on") == 0, true);
    JZX_EXPECT_EQ(jzx_spawn_supervisor(loop, opts, &id), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(id, 77);
    if (!JZX_EXPECT(strcmp(last_line, text) == 0))
        print_error("logged \"%s\"\n", last_line);
    fixture_destroy(loop);
}

JZX_TEST(names_that_cannot_be_followed_are_refused_with_the_reason, "D+sup", "X21") {
    static const jzx_child_spec unknown[] = {{TOY("a")}, {TOY("b"), .depends_on = {"a", "x"}}};
    static const jzx_child_spec self[] = {{TOY("a"), .depends_on = {"a"}}};
    static const jzx_child_spec circle[] = {
        {TOY("a"), .depends_on = {"d"}}, {TOY("b"), .depends_on = {"a", "d"}},
        {TOY("c"), .depends_on = {"b"}}, {TOY("d")},
        {TOY("e"), .depends_on = {"g"}}, {TOY("f"), .depends_on = {"a", "e"}},
        {TOY("g"), .depends_on = {"f"}}};
    static char names[257][8];
    static jzx_child_spec many[257];
    const jzx_supervisor_opts below = JZX_SUPERVISOR_OPTS(.name = "inner", JZX_CHILDREN(unknown));
    const jzx_child_spec outer[] = {{TOY("a")}, {.name = "tree", .supervisor = &below}};
    expect_refused(&JZX_SUPERVISOR_OPTS(.name = "s", JZX_CHILDREN(unknown)),
                   "supervisor s: child b depends on x: no sibling has that name");
    expect_refused(&JZX_SUPERVISOR_OPTS(JZX_CHILDREN(self)),
                   "supervisor -: child a depends on a: they wait for one another");
    expect_refused(&JZX_SUPERVISOR_OPTS(.name = "s", JZX_CHILDREN(circle)),
                   "supervisor s: child e depends on g: they wait for one another");
    expect_refused(&JZX_SUPERVISOR_OPTS(.name = "s", JZX_CHILDREN(outer)),
                   "supervisor inner: child b depends on x: no sibling has that name");
    expect_refused(&JZX_SUPERVISOR_OPTS(.name = "s", .strategy = JZX_DYNAMIC, JZX_CHILDREN(shop)),
                   "supervisor s: depends_on is refused: children of a dynamic supervisor do not "
                   "depend on one another");
    for (int i = 0; i < 257; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        many[i] = (jzx_child_spec){TOY(names[i]), .depends_on = {JZX_DEPENDS_ON_NOBODY}};
    }
    expect_refused(&JZX_SUPERVISOR_OPTS(.name = "s", JZX_CHILDREN(many)),
                   "supervisor s: depends_on is refused: it has too many children");
    JZX_EXPECT_EQ(jzx_supervisor_check(&JZX_SUPERVISOR_OPTS(.children = many, .child_count = 256,
                                                            .child_size = sizeof many[0]),
                                       NULL),
                  JZX_OK);
}

JZX_TEST(a_spec_of_an_older_program_depends_on_nobody, "D+sup") {
    const jzx_child_spec spec = {TOY("a"), .depends_on = {"nobody"}};
    JZX_EXPECT_EQ(jzx_supervisor_check(
                      &JZX_SUPERVISOR_OPTS(.children = &spec, .child_count = 1,
                                           .child_size = offsetof(jzx_child_spec, depends_on)),
                      NULL),
                  JZX_OK);
}

JZX_TEST(names_are_copied, "D+sup") {
    char name[] = "a";
    const jzx_child_spec specs[] = {{TOY("b"), .depends_on = {name}}, {TOY("a")}};
    struct timing timing = nursery_open();
    jzx_actor_id root = JZX_NOBODY;
    assert_int_equal(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)), &root),
        JZX_OK);
    name[0] = 'x';
    timing_step(&timing);
    expect_trace("+a +b ");
    nursery_close(&timing, root);
}

/* ---- random graphs and events ---- */

#define NODES 7u

static struct {
    struct timing timing;
    jzx_actor_id root;
    uint64_t random;
    char names[NODES][4];
    const char *lists[NODES][JZX_DEPENDS_MAX];
    bool needs[NODES][NODES];
    bool lives[NODES];
    bool closes;
    bool together; /* events may come together: a need may fail while its child begins */
    bool holds;
} g;

static void g_expect(bool held) {
    g.holds = JZX_EXPECT(held) && g.holds;
}

static uint32_t g_below(uint32_t bound) {
    g.random = g.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g.random >> 33) % bound;
}

/* In its init each child finds those that it needs up; at the end of all it ends before them. */
static jzx_err g_init(jzx_context *ctx) {
    size_t self = (size_t)((char(*)[4])ctx->state - g.names);
    jzx_test_ran();
    g_expect(!g.lives[self]);
    for (size_t i = 0; i < NODES; i++) {
        jzx_child_state state =
            g.needs[self][i] ? state_of(&g.timing, g.root, g.names[i]) : JZX_CHILD_RUNNING;
        g_expect(g.together || state == JZX_CHILD_RUNNING || state == JZX_CHILD_EXITED);
    }
    if (failures_left != 0) {
        failures_left--;
        return JZX_ERR_UNKNOWN;
    }
    g.lives[self] = true;
    return JZX_OK;
}

static void g_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    size_t self = (size_t)((char(*)[4])ctx->state - g.names);
    g.lives[self] = false;
    for (size_t i = 0; i < NODES && reason == JZX_EXIT_SHUTDOWN && g.closes; i++)
        g_expect(!g.needs[i][self] || !g.lives[i]);
}

static void g_open(jzx_strategy strategy) {
    jzx_child_spec specs[NODES];
    bool service = g_below(2) == 0;
    for (size_t i = 0; i < NODES; i++) {
        size_t count = 0;
        snprintf(g.names[i], sizeof g.names[i], "n%u", (unsigned)i);
        for (size_t k = 0; k < i; k++) {
            g.needs[i][k] = g_below(3) == 0;
            if (g.needs[i][k])
                g.lists[i][count++] = g.names[k];
        }
        /* From the last to the first, so that the list is of no help. */
        specs[NODES - 1 - i] =
            (jzx_child_spec){.name = g.names[i],
                             .behavior = toy,
                             .init = g_init,
                             .cleanup = g_cleanup,
                             .state = g.names[i],
                             .mode = g_below(3) == 0 ? JZX_TRANSIENT : JZX_PERMANENT,
                             .service = service,
                             .backoff = {.initial_delay_ns = JZX_MS(100) * g_below(3),
                                         .max_delay_ns = JZX_MS(1000)}};
        memcpy(specs[NODES - 1 - i].depends_on, g.lists[i], sizeof g.lists[i]);
    }
    assert_int_equal(
        jzx_spawn_supervisor(g.timing.loop,
                             &JZX_SUPERVISOR_OPTS(.strategy = strategy, .intensity = JZX_UNLIMITED,
                                                  JZX_CHILDREN(specs)),
                             &g.root),
        JZX_OK);
    timing_step(&g.timing);
}

static void g_event(void) {
    const char *name = g.names[g_below(NODES)];
    jzx_actor_id id = JZX_NOBODY;
    switch (g_below(6)) {
    case 0: (void)jzx_supervisor_stop_child(g.timing.loop, g.root, name); break;
    case 1:
    case 2: (void)jzx_supervisor_restart(g.timing.loop, g.root, name); break;
    default:
        if (jzx_supervisor_child(g.timing.loop, g.root, name, &id) == JZX_OK)
            fixture_send(g.timing.loop, id, g_below(4) == 0 ? TOY_STOP : TOY_FAIL);
        break;
    }
    if (g.together && g_below(2) == 0)
        return;
    failures_left = g_below(8) == 0;
    timing_advance(&g.timing, JZX_MS(g_below(300)));
    failures_left = 0;
}

/* Nothing that could run waits, once all delays are over. */
static void g_expect_rest(void) {
    for (int i = 0; i < 4; i++)
        timing_advance(&g.timing, JZX_SECOND(2));
    for (size_t i = 0; i < NODES; i++) {
        jzx_child_state state = state_of(&g.timing, g.root, g.names[i]);
        bool can = true;
        g_expect(g.lives[i] == (state == JZX_CHILD_RUNNING));
        for (size_t k = 0; k < NODES; k++) {
            jzx_child_state need =
                g.needs[i][k] ? state_of(&g.timing, g.root, g.names[k]) : JZX_CHILD_RUNNING;
            can = can && (need == JZX_CHILD_RUNNING || need == JZX_CHILD_EXITED);
        }
        if (can)
            g_expect(state != JZX_CHILD_UNKNOWN && state != JZX_CHILD_WAITING);
    }
}

JZX_TEST(random_graphs_keep_their_order_whatever_happens, "D+sup", "C21") {
    uint64_t rounds = jzx_test_rounds(600, 6000);
    for (uint64_t seed = 1; seed <= rounds; seed++) {
        jzx_strategy strategy = (jzx_strategy)(seed % 3);
        memset(&g, 0, sizeof g);
        g.random = seed;
        g.timing = nursery_open();
        g.holds = true;
        g.together = seed % 2 == 0;
        g_open(strategy);
        g_expect_rest();
        for (int i = 0; i < 30; i++)
            g_event();
        timing_step(&g.timing);
        g_expect_rest();
        g.closes = true;
        nursery_close(&g.timing, g.root);
        if (!g.holds) {
            print_error("seed %llu\n", (unsigned long long)seed);
            return;
        }
    }
}

/* ---- a name that is taken over ---- */

JZX_TEST(a_child_that_takes_over_a_name_is_needed_as_the_one_before, "D+sup") {
    static const jzx_child_spec store = SERVICE(TOY("store"));
    static const jzx_child_spec circle = SERVICE(TOY("store"), .depends_on = {"web"});
    struct timing timing = nursery_open();
    jzx_actor_id root = shop_open(&timing, JZX_REST_FOR_ONE, JZX_NOBODY);
    JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "store"), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_supervisor_add(timing.loop, root, &circle, sizeof circle, JZX_NOBODY),
                  JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(state_of(&timing, root, "store"), JZX_CHILD_UNKNOWN);
    for (int i = 0; i < 2; i++) { /* then before the one before has ended */
        JZX_EXPECT_EQ(jzx_supervisor_add(timing.loop, root, &store, sizeof store, JZX_NOBODY),
                      JZX_OK);
        timing_step(&timing);
        expect_trace("-storeS +store ");
        if (i == 0)
            JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "store"), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_actor_fail(timing.loop, child_of(&timing, root, "store")), JZX_OK);
    timing_step(&timing);
    expect_trace("-storeF -webS -indexS ");
    timing_advance(&timing, JZX_SECOND(1));
    expect_trace("+store +index +web ");
    nursery_close(&timing, root);
    expect_trace("-webS -indexS -storeS -logS ");
}

/* ---- a failure while the tree starts ---- */

static bool was_hasty;

/* Fails by its first message, before others have begun. */
static jzx_err hasty_init(jzx_context *ctx) {
    trace_start(ctx->state);
    if (!was_hasty)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, TOY_FAIL), JZX_OK);
    was_hasty = true;
    return JZX_OK;
}

JZX_TEST(a_tree_has_not_started_while_one_for_all_waits_to_start_again, "D+sup", "C21") {
    static const jzx_child_spec specs[] = {
        {FUSSY("late"), .depends_on = {JZX_DEPENDS_ON_NOBODY}},
        {.name = "hasty",
         .behavior = toy,
         .init = hasty_init,
         .cleanup = toy_cleanup,
         .state = (void *)(uintptr_t) "hasty",
         .backoff = {.initial_delay_ns = JZX_MS(1000)}},
    };
    struct timing timing = nursery_open();
    jzx_child_state state = JZX_CHILD_UNKNOWN;
    was_hasty = false;
    failures_left = 2;
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_ONE_FOR_ALL, .intensity = 10,
                                                   JZX_CHILDREN(specs)));
    expect_trace("+hasty -hastyF -lateS ");
    JZX_EXPECT_EQ(state_of(&timing, root, "hasty"), JZX_CHILD_WAITING);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_SECOND(2)), JZX_OK);
    /* the first start has not succeeded: an init that fails is not tried again */
    JZX_EXPECT_EQ(jzx_loop_step(timing.loop, JZX_NEVER), JZX_ERR_ESCALATED);
    JZX_EXPECT_EQ(jzx_supervisor_child_state(timing.loop, root, "late", &state),
                  JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(escalations, 1);
    timing_close(&timing);
}

/* ---- memory ---- */

static void play(jzx_strategy strategy, uint64_t n, uint64_t failures) {
    static const jzx_child_spec more = {TOY("more"), .depends_on = {"web"}};
    struct timing timing = nursery_open();
    jzx_actor_id root = JZX_NOBODY;
    fixture_fail_allocations(n, failures);
    jzx_err err = jzx_spawn_supervisor(
        timing.loop,
        &JZX_SUPERVISOR_OPTS(.strategy = strategy, .intensity = JZX_UNLIMITED, JZX_CHILDREN(shop)),
        &root);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
    bool stands = err == JZX_OK && jzx_loop_step(timing.loop, JZX_NEVER) == JZX_OK;
    if (stands) {
        jzx_actor_id id = JZX_NOBODY;
        if (jzx_supervisor_child(timing.loop, root, "store", &id) == JZX_OK)
            (void)jzx_actor_fail(timing.loop, id);
        stands = jzx_loop_step(timing.loop, JZX_NEVER) == JZX_OK;
    }
    if (stands) {
        err = jzx_supervisor_add(timing.loop, root, &more, sizeof more, JZX_NOBODY);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
        stands = jzx_loop_step(timing.loop, JZX_NEVER) == JZX_OK;
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    if (stands) {
        for (int i = 0; i < 8; i++)
            timing_advance(&timing, JZX_SECOND(1));
        jzx_supervisor_info family = family_of(&timing, root);
        JZX_EXPECT_EQ(family.running, family.children);
        nursery_close(&timing, root);
    } else {
        timing_close(&timing);
    }
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(dependents_start_and_recover_when_the_nth_allocation_fails, "D+sup", "C17") {
    for (int strategy = JZX_ONE_FOR_ONE; strategy <= JZX_REST_FOR_ONE; strategy++) {
        uint64_t before = fixture_allocations();
        play((jzx_strategy)strategy, UINT64_MAX, 0);
        uint64_t total = fixture_allocations() - before;
        JZX_EXPECT(total > 10);
        for (uint64_t n = 0; n < total; n++) {
            play((jzx_strategy)strategy, n, 1);
            play((jzx_strategy)strategy, n, UINT64_MAX);
        }
    }
}
