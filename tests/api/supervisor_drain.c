/* SPDX-License-Identifier: MIT */
/* A tree that is shut down in the ordinary way lets its children work off what waits for them; one
 * that is stopped because of a failure does not. */
#include "supervising.h"

#include <stdatomic.h>

enum { WORK = 50, REPEAT, FORWARD, KEEP };
enum { MAIL = 20, MUCH_MAIL = 500 };

/* Children of a test, by their place. */
struct job {
    atomic_uint handled;
    uint32_t refused;
    jzx_actor_id next; /* that it forwards to */
    jzx_exit_reason reason;
};
static struct job jobs[4];

static jzx_behavior_result work(jzx_context *ctx, const jzx_message *msg) {
    struct job *job = ctx->state;
    atomic_fetch_add(&job->handled, 1);
    if (msg->tag == REPEAT)
        job->refused += jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, REPEAT) != JZX_OK;
    if (msg->tag == FORWARD)
        job->refused += jzx_send(ctx->loop, job->next, ctx->self, NULL, 0, WORK) != JZX_OK;
    if (msg->tag == KEEP)
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    return msg->tag == TOY_FAIL ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_OK;
}

static void note_reason(jzx_context *ctx, jzx_exit_reason reason) {
    struct job *job = ctx->state;
    job->reason = reason;
}

#define JOB(child, index)                                                                          \
    .name = (child), .behavior = work, .cleanup = note_reason, .state = &jobs[index]

/* One message a turn, so that a supervisor comes to ask before a queue is empty. */
static struct timing open_jobs(void) {
    memset(jobs, 0, sizeof jobs);
    return nursery_open_with(&JZX_CONFIG(.max_msgs_per_actor = 1));
}

/* Sends without a step: all of it waits. */
static void pile_up(const struct timing *timing, jzx_actor_id root, const char *name, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        fixture_send(timing->loop, child_of(timing, root, name), WORK);
}

static const jzx_child_spec two[] = {{JOB("a", 0)}, {JOB("b", 1)}};

static void expect_drained_of(uint32_t count, uint32_t mail) {
    for (uint32_t i = 0; i < count; i++) {
        JZX_EXPECT_EQ(jobs[i].handled, mail);
        JZX_EXPECT_EQ(jobs[i].reason, JZX_EXIT_SHUTDOWN);
    }
}

static void expect_drained(uint32_t count) {
    expect_drained_of(count, MAIL);
}

/* ---- the ordinary ways to stop ---- */

JZX_TEST(a_gentle_stop_of_the_loop_drains_children) {
    struct timing timing = open_jobs();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(two)));
    pile_up(&timing, root, "a", MAIL);
    pile_up(&timing, root, "b", MAIL);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_NEVER), JZX_OK);
    timing_step(&timing);
    expect_drained(2);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 0);
    timing_close(&timing);
}

struct late_mail {
    jzx_loop *loop;
    jzx_actor_id root;
};

/* On the loop's own thread, while other workers run: mails the children, then stops the loop. */
static jzx_behavior_result mail_and_stop(jzx_context *ctx, const jzx_message *msg) {
    const struct late_mail *mail = ctx->state;
    static const char *const names[] = {"a", "b"};
    jzx_actor_id ids[2];
    (void)msg;
    for (uint32_t i = 0; i < 2; i++) {
        if (jzx_supervisor_child(ctx->loop, mail->root, names[i], &ids[i]) != JZX_OK) /* not yet */
            return jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, WORK) == JZX_OK
                       ? JZX_BEHAVIOR_OK
                       : JZX_BEHAVIOR_FAIL;
    }
    for (uint32_t i = 0; i < 2 * MUCH_MAIL; i++)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ids[i % 2], ctx->self, NULL, 0, WORK), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_stop(ctx->loop, JZX_NEVER), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(children_on_several_workers_drain) {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct late_mail mail;
        memset(jobs, 0, sizeof jobs);
        mail.loop = fixture_loop_with(
            &JZX_CONFIG(.workers = workers, .max_msgs_per_actor = 1, .max_actors_per_tick = 1));
        assert_int_equal(
            jzx_spawn_supervisor(mail.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(two)), &mail.root),
            JZX_OK);
        jzx_actor_id id =
            fixture_spawn(mail.loop, &JZX_SPAWN_OPTS(.behavior = mail_and_stop, .state = &mail));
        fixture_send(mail.loop, id, WORK);
        assert_int_equal(jzx_loop_run(mail.loop), JZX_OK);
        expect_drained_of(2, MUCH_MAIL);
        JZX_EXPECT_EQ(fixture_stats(mail.loop).dead, 0);
        fixture_destroy(mail.loop);
    }
}

JZX_TEST(a_supervisor_that_is_asked_to_stop_drains_its_children) {
    static const jzx_stop_kind kinds[] = {JZX_STOP_AFTER_MESSAGE, JZX_STOP_AFTER_QUEUE};
    static const jzx_strategy strategies[] = {JZX_ONE_FOR_ONE, JZX_ONE_FOR_ALL, JZX_DYNAMIC};
    for (uint32_t i = 0; i < 6; i++) {
        struct timing timing = open_jobs();
        jzx_actor_id root = nursery_tree(
            &timing, &JZX_SUPERVISOR_OPTS(.strategy = strategies[i / 2], JZX_CHILDREN(two)));
        pile_up(&timing, root, "a", MAIL);
        pile_up(&timing, root, "b", MAIL);
        JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, kinds[i % 2]), JZX_OK);
        timing_step(&timing);
        expect_drained(2);
        JZX_EXPECT(!jzx_loop_alive(timing.loop));
        timing_close(&timing);
    }
}

JZX_TEST(the_children_of_a_supervisor_below_drain) {
    const jzx_supervisor_opts low = {.size = sizeof low, JZX_CHILDREN(two)};
    const jzx_child_spec above[] = {{.name = "low", .supervisor = &low}, {JOB("c", 2)}};
    struct timing timing = open_jobs();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(above)));
    jzx_actor_id below = child_of(&timing, root, "low");
    pile_up(&timing, below, "a", MAIL);
    pile_up(&timing, below, "b", MAIL);
    pile_up(&timing, root, "c", MAIL);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_NEVER), JZX_OK);
    timing_step(&timing);
    expect_drained(3);
    timing_close(&timing);
}

JZX_TEST(a_child_that_is_removed_or_restarted_by_hand_drains) {
    struct timing timing = open_jobs();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(two)));
    pile_up(&timing, root, "a", MAIL);
    pile_up(&timing, root, "b", MAIL);
    jzx_actor_id before = child_of(&timing, root, "b");
    JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "a"), JZX_OK);
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "b"), JZX_OK);
    timing_step(&timing);
    expect_drained(2);
    JZX_EXPECT(child_of(&timing, root, "b") != before);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 0);
    nursery_close(&timing, root);
}

JZX_TEST(a_restart_by_hand_leaves_a_kept_mailbox_to_the_successor) {
    const jzx_child_spec keeper[] = {{JOB("a", 0), .keep_mailbox = true}};
    struct timing timing = open_jobs();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(keeper)));
    jzx_actor_id before = child_of(&timing, root, "a");
    JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "a"), JZX_OK);
    JZX_EXPECT_EQ(one_turn(&timing), JZX_OK); /* the supervisor has asked */
    JZX_EXPECT_EQ(jzx_send(timing.loop, before, JZX_NOBODY, NULL, 0, WORK), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(jobs[0].handled, 1);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 0);
    nursery_close(&timing, root);
}

JZX_TEST(a_tree_that_shuts_itself_down_drains_its_children) {
    const jzx_child_spec specs[] = {{JOB("a", 0)},
                                    {TOY("b"), .mode = JZX_TRANSIENT, .significant = true}};
    struct timing timing = open_jobs();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.auto_shutdown = JZX_AUTO_SHUTDOWN_ANY, JZX_CHILDREN(specs)));
    fixture_send(timing.loop, child_of(&timing, root, "b"), TOY_STOP);
    pile_up(&timing, root, "a", MAIL);
    timing_step(&timing);
    expect_drained(1);
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    timing_close(&timing);
}

/* ---- those that do not drain ---- */

JZX_TEST(a_child_that_is_to_stop_at_once_does_not_drain) {
    const jzx_supervisor_opts low = {.size = sizeof low, JZX_CHILDREN(two)};
    const jzx_child_spec above[] = {{.name = "low", .supervisor = &low, .stop_at_once = true},
                                    {JOB("c", 2), .stop_at_once = true},
                                    {JOB("d", 3)}};
    struct timing timing = open_jobs();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_DYNAMIC, JZX_CHILDREN(above)));
    jzx_actor_id below = child_of(&timing, root, "low");
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_NEVER), JZX_OK);
    pile_up(&timing, root, "d", MAIL);
    JZX_EXPECT_EQ(one_turn(&timing), JZX_OK); /* all are asked before they see their mail */
    pile_up(&timing, below, "a", MAIL);
    pile_up(&timing, root, "c", MAIL);
    timing_step(&timing);
    JZX_EXPECT_EQ(jobs[0].handled, 0);
    JZX_EXPECT_EQ(jobs[2].handled, 0);
    JZX_EXPECT_EQ(jobs[3].handled, MAIL); /* it does */
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 2 * MAIL);
    timing_close(&timing);
}

/* c fails at the end of its turn; what waits at the others is not handled before they are asked to
 * stop, as they are of a lower priority. */
#define SLOW(child, index) JOB(child, index), .priority = JZX_PRIORITY_LOW

JZX_TEST(siblings_of_a_child_that_failed_stop_at_once) {
    const jzx_supervisor_opts low = {.size = sizeof low, JZX_CHILDREN(two)};
    const jzx_child_spec specs[] = {{TOY("f"), .priority = JZX_PRIORITY_CRITICAL},
                                    {.name = "low", .supervisor = &low},
                                    {SLOW("c", 2)}};
    struct timing timing = open_jobs();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_REST_FOR_ONE, JZX_CHILDREN(specs)));
    uint64_t dead = fixture_stats(timing.loop).dead;
    fixture_send(timing.loop, child_of(&timing, root, "f"), TOY_FAIL);
    JZX_EXPECT_EQ(one_turn(&timing), JZX_OK); /* it has failed */
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(one_turn(&timing), JZX_OK); /* c is asked to stop */
    JZX_EXPECT_EQ(info_of(&timing, root, 2).state, JZX_CHILD_STOPPING);
    fixture_send(timing.loop, info_of(&timing, root, 2).id, WORK);
    jzx_actor_id below = info_of(&timing, root, 1).id;
    jzx_actor_id b = child_of(&timing, below, "b");
    while (info_of(&timing, below, 1).state != JZX_CHILD_STOPPING && lives(&timing, below))
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    fixture_send(timing.loop, b, WORK);
    timing_step(&timing);
    JZX_EXPECT_EQ(jobs[1].handled, 0);
    JZX_EXPECT_EQ(jobs[2].handled, 0);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, dead + 2);
    JZX_EXPECT_EQ(family_of(&timing, root).running, 3);
    nursery_close(&timing, root);
}

JZX_TEST(the_children_of_a_supervisor_that_gives_up_stop_at_once) {
    const jzx_child_spec specs[] = {{SLOW("a", 0)}, {TOY("f"), .priority = JZX_PRIORITY_CRITICAL}};
    struct timing timing = open_jobs();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.intensity = JZX_NONE, JZX_CHILDREN(specs)));
    fixture_send(timing.loop, child_of(&timing, root, "f"), TOY_FAIL);
    JZX_EXPECT_EQ(one_turn(&timing), JZX_OK); /* it has failed */
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(one_turn(&timing), JZX_OK); /* a is asked to stop */
    JZX_EXPECT_EQ(info_of(&timing, root, 0).state, JZX_CHILD_STOPPING);
    fixture_send(timing.loop, info_of(&timing, root, 0).id, WORK);
    JZX_EXPECT_EQ(jzx_loop_step(timing.loop, JZX_NEVER), JZX_ERR_ESCALATED);
    JZX_EXPECT_EQ(jobs[0].handled, 0);
    JZX_EXPECT_EQ(jobs[0].reason, JZX_EXIT_SHUTDOWN);
    timing_close(&timing);
}

/* ---- what comes while they drain ---- */

JZX_TEST(a_child_that_drains_takes_in_nothing_new) {
    struct timing timing = open_jobs();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(two)));
    jzx_actor_id a = child_of(&timing, root, "a");
    jobs[0].next = child_of(&timing, root, "b");
    pile_up(&timing, root, "b", MAIL);
    fixture_send(timing.loop, jobs[0].next, REPEAT); /* it would feed itself for ever */
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_QUEUE), JZX_OK);
    fixture_send(timing.loop, a, FORWARD);
    while (lives(&timing, jobs[0].next))
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    fixture_send(timing.loop, a, FORWARD); /* it stops later, and its sibling is gone */
    timing_step(&timing);
    JZX_EXPECT_EQ(jobs[0].handled, 2);
    JZX_EXPECT(jobs[0].refused >= 1);
    JZX_EXPECT_EQ(jobs[1].refused, 1);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 0);
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    timing_close(&timing);
}

JZX_TEST(what_a_child_has_stashed_is_dead_when_it_has_drained) {
    struct timing timing = open_jobs();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(two)));
    fixture_send(timing.loop, child_of(&timing, root, "a"), KEEP);
    pile_up(&timing, root, "a", MAIL);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_NEVER), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(jobs[0].handled, MAIL + 1);
    JZX_EXPECT_EQ(jobs[0].reason, JZX_EXIT_SHUTDOWN);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 1);
    timing_close(&timing);
}

/* ---- deadlines ---- */

static struct {
    char line[256]; /* the last that says that messages were left */
    uint32_t lines;
    uint32_t events;
    uint64_t left; /* in all events */
    jzx_actor_id actor;
} told;

static void see_line(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    (void)level;
    if (strstr(text, "not handled") == NULL)
        return;
    told.lines++;
    snprintf(told.line, sizeof told.line, "%s", text);
}

static void see_left(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_DRAIN_CUT)
        return;
    told.events++;
    told.left += event->count;
    told.actor = event->actor;
}

static struct timing open_told(void) {
    memset(jobs, 0, sizeof jobs);
    memset(&told, 0, sizeof told);
    struct timing timing = timing_open_with(
        0, &JZX_CONFIG(.log = {.write = see_line, .level = JZX_LOG_WARN}, .max_msgs_per_actor = 1));
    JZX_EXPECT_EQ(jzx_loop_set_observer(timing.loop, &JZX_OBSERVER(.on_event = see_left), NULL),
                  JZX_OK);
    return timing;
}

JZX_TEST(what_shutdown_ms_leaves_is_told_with_its_count) {
    const jzx_child_spec specs[] = {{JOB("a", 0), .shutdown_ns = JZX_MS(30)}};
    struct timing timing = open_told();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    jzx_actor_id a = child_of(&timing, root, "a");
    pile_up(&timing, root, "a", MAIL);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_QUEUE), JZX_OK);
    for (uint32_t i = 0; i < 6; i++)
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK); /* one message a turn */
    uint32_t handled = jobs[0].handled;
    JZX_EXPECT(handled > 0 && handled < MAIL);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(30)), JZX_OK);
    timing_step(&timing);
    handled = jobs[0].handled;
    JZX_EXPECT(handled < MAIL);
    JZX_EXPECT_EQ(jobs[0].reason, JZX_EXIT_KILLED);
    JZX_EXPECT_EQ(told.events, 1);
    JZX_EXPECT_EQ(told.actor, a);
    JZX_EXPECT_EQ(told.left, MAIL - handled);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, MAIL - handled);
    char expected[64];
    snprintf(expected, sizeof expected, " a ended before its queue: %u messages not handled",
             MAIL - handled);
    JZX_EXPECT_EQ(told.lines, 1);
    JZX_EXPECT(strstr(told.line, expected) != NULL);
    timing_close(&timing);
}

JZX_TEST(what_the_deadline_of_the_loop_leaves_is_told_with_its_count) {
    struct timing timing = open_told();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(two)));
    pile_up(&timing, root, "a", MAIL);
    pile_up(&timing, root, "b", MAIL);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_MS(30)), JZX_OK);
    for (uint32_t i = 0; i < 8; i++)
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(30)), JZX_OK);
    timing_step(&timing);
    uint32_t left = 2 * MAIL - jobs[0].handled - jobs[1].handled;
    JZX_EXPECT(left > MAIL); /* a was not asked yet, and b is not through */
    JZX_EXPECT_EQ(told.events, 2);
    JZX_EXPECT_EQ(told.left, left);
    char expected[64];
    snprintf(expected, sizeof expected, "stop: %u messages not handled", left);
    JZX_EXPECT_EQ(told.lines, 1);
    JZX_EXPECT(strstr(told.line, expected) != NULL);
    timing_close(&timing);
}

JZX_TEST(a_child_that_drains_ends_with_a_supervisor_that_is_killed) {
    struct timing timing = open_told();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(two)));
    pile_up(&timing, root, "b", MAIL);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_QUEUE), JZX_OK);
    for (uint32_t i = 0; i < 6; i++)
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT(jobs[1].handled > 0 && jobs[1].handled < MAIL);
    JZX_EXPECT_EQ(jobs[1].reason, JZX_EXIT_SHUTDOWN);
    JZX_EXPECT_EQ(told.left, MAIL - jobs[1].handled);
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    timing_close(&timing);
}
