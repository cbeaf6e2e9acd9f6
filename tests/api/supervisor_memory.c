/* SPDX-License-Identifier: MIT */
/* Supervisors without memory: each call says so or it is tried again, and nothing is lost or
 * leaked; and crash loops that go on for ever in the same memory. */
#include "listening.h"

static uint32_t answers_seen;

static jzx_behavior_result count_answers(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    answers_seen += msg->tag == JZX_TAG_CHILD_ADDED;
    return JZX_BEHAVIOR_OK;
}

/* Only success and lack of memory are right answers to a call. */
static bool worked(jzx_err err) {
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
    return err == JZX_OK;
}

/* Runs what is ready. True as long as no supervisor at the top has given up. */
static bool goes_on(const struct timing *timing) {
    jzx_err err = jzx_loop_step(timing->loop, JZX_NEVER);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_ESCALATED);
    return err == JZX_OK;
}

static jzx_actor_id listener; /* of the tree; or JZX_NOBODY */

static jzx_err spawn_tree(const struct timing *timing, jzx_strategy strategy, jzx_actor_id *root) {
    static const jzx_child_spec leaves[] = {{TOY("x")}, {TOY("y"), .keep_mailbox = true}};
    const jzx_supervisor_opts below = JZX_SUPERVISOR_OPTS(.name = "below", .strategy = strategy,
                                                          .intensity = 50, JZX_CHILDREN(leaves));
    const jzx_child_spec specs[] = {
        {TOY("a"), .keep_mailbox = true},
        {.name = "s", .supervisor = &below},
        {TOY("b"), .backoff = {.initial_delay_ns = JZX_MS(5)}},
        {.name = "plain", .behavior = toy},
    };
    return jzx_spawn_supervisor(timing->loop,
                                &JZX_SUPERVISOR_OPTS(.name = "top", .strategy = strategy,
                                                     .intensity = 50, .listener = listener,
                                                     JZX_CHILDREN(specs)),
                                root);
}

/* Fails children, adds one, and restarts by hand. True if the tree still stands. */
static bool disturb(const struct timing *timing, jzx_actor_id root, jzx_actor_id who,
                    uint32_t *adds) {
    static const char *const victims[] = {"a", "b", "s", "plain"};
    for (size_t i = 0; i < 4; i++) {
        jzx_actor_id id = JZX_NOBODY;
        if (jzx_supervisor_child(timing->loop, root, victims[i], &id) == JZX_OK) {
            worked(jzx_send(timing->loop, id, JZX_NOBODY, NULL, 0, TOY_NOTHING));
            JZX_EXPECT_EQ(jzx_actor_fail(timing->loop, id), JZX_OK);
        }
        if (!goes_on(timing))
            return false;
    }
    if (worked(jzx_supervisor_add(timing->loop, root, &(jzx_child_spec){TOY("new")},
                                  sizeof(jzx_child_spec), who)))
        ++*adds;
    if (!goes_on(timing))
        return false;
    worked(jzx_supervisor_restart(timing->loop, root, "a"));
    return goes_on(timing);
}

/* The memory is back: after a while all that is to run does. */
static void expect_recovery(const struct timing *timing, jzx_actor_id root) {
    for (int i = 0; i < 8; i++)
        timing_advance(timing, JZX_MS(200));
    jzx_supervisor_info family = family_of(timing, root);
    JZX_EXPECT_EQ(family.running, family.children);
    JZX_EXPECT(family.children == 4 || family.children == 5);
    jzx_supervisor_info below = family_of(timing, child_of(timing, root, "s"));
    JZX_EXPECT_EQ(below.running, 2);
}

/* Everything, with the n-th allocation after the loop was made failing, and `failures` of them. */
static void play(jzx_strategy strategy, uint64_t n, uint64_t failures) {
    struct timing timing = nursery_open();
    jzx_actor_id root = JZX_NOBODY;
    uint32_t adds = 0;
    answers_seen = 0;
    jzx_actor_id who =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = count_answers, .daemon = true));
    timing_step(&timing);
    fixture_fail_allocations(n, failures);
    bool stands = worked(spawn_tree(&timing, strategy, &root));
    if (!stands)
        JZX_EXPECT_EQ(root, JZX_NOBODY);
    bool spawned = stands;
    stands = stands && goes_on(&timing) && disturb(&timing, root, who, &adds);
    for (int i = 0; i < 3 && stands; i++) {
        JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(10)), JZX_OK);
        stands = goes_on(&timing);
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT_EQ(escalations > 0 || stands || !spawned, true);
    if (stands) {
        expect_recovery(&timing, root);
        JZX_EXPECT_EQ(answers_seen, adds);
        nursery_close(&timing, root);
    } else {
        timing_close(&timing);
    }
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* ---- with a listener ---- */

#define ENDED_MAX 1024u
static jzx_actor_id ended[ENDED_MAX];
static uint32_t ended_count;

static void see_stop(void *ctx, jzx_actor_id id, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    if (JZX_EXPECT(ended_count < ENDED_MAX))
        ended[ended_count++] = id;
}

static uint32_t times_told(jzx_actor_id id) {
    uint32_t times = 0;
    for (uint32_t i = 0; i < heard_count; i++)
        times += heard[i].tag == JZX_TAG_CHILD_EXIT && heard[i].event.child == id;
    return times;
}

/* A restart is told after the end of its predecessor, and once. */
static void expect_order(uint32_t index) {
    uint32_t before = 0;
    for (uint32_t i = 0; i < index; i++) {
        JZX_EXPECT(heard[i].event.child != heard[index].event.child);
        before +=
            heard[i].tag == JZX_TAG_CHILD_EXIT && heard[i].event.child == heard[index].event.before;
    }
    JZX_EXPECT_EQ(before, 1);
}

/* Everything as in play, with a listener that has room for one message. */
static void play_told(jzx_strategy strategy, uint64_t n, uint64_t failures) {
    struct timing timing = nursery_open();
    jzx_actor_id root = JZX_NOBODY;
    uint32_t adds = 0;
    ended_count = 0;
    JZX_EXPECT_EQ(
        jzx_loop_set_observer(timing.loop, &JZX_OBSERVER(.on_actor_stop = see_stop), NULL), JZX_OK);
    listener = listener_spawn(&timing, 1);
    fixture_fail_allocations(n, failures);
    bool stands = worked(spawn_tree(&timing, strategy, &root)) && goes_on(&timing) &&
                  disturb(&timing, root, JZX_NOBODY, &adds);
    fixture_fail_allocations(UINT64_MAX, 0);
    if (stands) {
        expect_recovery(&timing, root);
        stop_supervisor(&timing, root);
        for (uint32_t i = 0; i < ended_count; i++) /* all but the listener have ended by now */
            JZX_EXPECT_EQ(times_told(ended[i]), ended[i] != root);
        for (uint32_t i = 0; i < heard_count; i++)
            if (heard[i].tag == JZX_TAG_CHILD_RESTART)
                expect_order(i);
    }
    listener = JZX_NOBODY;
    timing_close(&timing);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(listeners_are_told_when_the_nth_allocation_fails, "C+sys", "C+fail", "X15") {
    for (int strategy = JZX_ONE_FOR_ONE; strategy <= JZX_DYNAMIC; strategy++) {
        uint64_t before = fixture_allocations();
        play_told((jzx_strategy)strategy, UINT64_MAX, 0);
        uint64_t total = fixture_allocations() - before;
        JZX_EXPECT(ended_count > 10);
        for (uint64_t n = 0; n < total; n++) {
            play_told((jzx_strategy)strategy, n, 1);
            play_told((jzx_strategy)strategy, n, 4);
            play_told((jzx_strategy)strategy, n, UINT64_MAX);
        }
    }
}

/* ---- without one ---- */

static void fail_each(jzx_strategy strategy, uint64_t failures) {
    uint64_t before = fixture_allocations();
    play(strategy, UINT64_MAX, 0);
    uint64_t total = fixture_allocations() - before;
    JZX_EXPECT(total > 20);
    for (uint64_t n = 0; n < total; n++)
        play(strategy, n, failures);
}

JZX_TEST(trees_start_and_recover_when_the_nth_allocation_fails, "C+fail", "C21", "C17") {
    for (int strategy = JZX_ONE_FOR_ONE; strategy <= JZX_DYNAMIC; strategy++)
        fail_each((jzx_strategy)strategy, 1);
}

JZX_TEST(trees_start_and_recover_when_allocations_fail_for_a_while, "C+fail", "C21", "C17") {
    for (int strategy = JZX_ONE_FOR_ONE; strategy <= JZX_DYNAMIC; strategy++) {
        fail_each((jzx_strategy)strategy, 4);
        fail_each((jzx_strategy)strategy, UINT64_MAX);
    }
}

/* ---- storms ---- */

static void crash_loop(jzx_strategy strategy, uint32_t rounds, uint32_t tag) {
    static const jzx_child_spec specs[] = {{TOY("a")}, {TOY("w"), .keep_mailbox = true}};
    struct timing timing = nursery_open();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.strategy = strategy, .intensity = JZX_UNLIMITED,
                                                   JZX_CHILDREN(specs)));
    for (uint32_t i = 0; i < 100; i++)
        tell(&timing, root, "w", tag);
    uint64_t bytes = fixture_bytes();
    uint64_t allocations = fixture_allocations();
    for (uint32_t i = 100; i < rounds; i++) {
        trace_clear();
        seen_count = 0;
        tell(&timing, root, "w", tag);
    }
    JZX_EXPECT_EQ(fixture_bytes(), bytes);
    JZX_EXPECT_EQ(fixture_allocations(), allocations);
    JZX_EXPECT_EQ(info_of(&timing, root, 1).restarts, rounds);
    JZX_EXPECT_EQ(info_of(&timing, root, 1).attempt, rounds);
    JZX_EXPECT_EQ(restarts, strategy == JZX_ONE_FOR_ONE ? rounds : 2 * rounds);
    JZX_EXPECT_EQ(seen[seen_count - 1].attempt, rounds);
    nursery_close(&timing, root);
}

JZX_TEST(a_hundred_thousand_restarts_take_no_memory, "C22", "C21", "C27") {
    crash_loop(JZX_ONE_FOR_ONE, (uint32_t)jzx_test_rounds(100000, 100000), TOY_EXIT_FAIL);
    crash_loop(JZX_ONE_FOR_ALL, (uint32_t)jzx_test_rounds(20000, 20000), TOY_FAIL);
}
