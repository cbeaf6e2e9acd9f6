/* SPDX-License-Identifier: MIT */
/* The life of an actor: spawn, init, messages, the ways to end, cleanup. */
#include "fixture.h"

#include <string.h>

JZX_TEST(spawn_refuses_bad_arguments_and_leaves_the_id_alone, "C+fail", "C18", "X21") {
    jzx_loop *loop = fixture_loop();
    static const char long_name[] = "a name of forty-eight bytes is one byte too long";
    assert_int_equal(strlen(long_name), JZX_NAME_MAX + 1);
    const jzx_spawn_opts bad[] = {
        {.size = 0, .behavior = record},
        {.size = sizeof(size_t) - 1, .behavior = record},
        {.size = sizeof(jzx_spawn_opts) + 1, .behavior = record},
        JZX_SPAWN_OPTS(.behavior = NULL),
        JZX_SPAWN_OPTS(.behavior = record, .mailbox_cap = JZX_MAILBOX_CAP_MAX + 1),
        JZX_SPAWN_OPTS(.behavior = record, .mailbox_cap = JZX_UNLIMITED),
        JZX_SPAWN_OPTS(.behavior = record, .stash_cap = JZX_UNLIMITED),
        JZX_SPAWN_OPTS(.behavior = record, .on_full = (jzx_on_full)3),
        JZX_SPAWN_OPTS(.behavior = record, .name = long_name),
    };
    jzx_actor_id id = 5;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(jzx_spawn(loop, &bad[i], &id), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_spawn(NULL, &JZX_SPAWN_OPTS(.behavior = record), &id),
                     JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_spawn(loop, NULL, &id), JZX_ERR_INVALID_ARG);
    assert_true(id == 5);
    jzx_spawn_opts opts;
    memset(&opts, 0xFF, sizeof opts);
    jzx_spawn_opts_init(&opts, sizeof opts);
    assert_int_equal(jzx_spawn(loop, &opts, &id), JZX_ERR_INVALID_ARG); /* still no behaviour */
    opts.behavior = record;
    assert_int_equal(jzx_spawn(loop, &opts, NULL), JZX_OK); /* the id is optional */
    fixture_destroy(loop);
}

/* ---- how actors end ---- */

struct life {
    int inits;
    int messages;
    int cleanups;
    jzx_err init_result;
    jzx_behavior_result result;
    jzx_exit_reason reason;
    void *state_at_cleanup;
    jzx_actor_id self_at_cleanup;
};

static jzx_err life_init(jzx_context *ctx) {
    struct life *life = ctx->state;
    JZX_EXPECT_EQ(life->messages, 0);
    life->inits++;
    return life->init_result;
}

static jzx_behavior_result life_step(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    struct life *life = ctx->state;
    life->messages++;
    return life->result;
}

static void life_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct life *life = ctx->state;
    life->cleanups++;
    life->reason = reason;
    life->state_at_cleanup = ctx->state;
    life->self_at_cleanup = ctx->self;
    /* The id is stale by now, and only this call can still ask about it. */
    JZX_EXPECT(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 1) != JZX_OK);
    jzx_actor_info info = {.size = sizeof info};
    bool failed = reason == JZX_EXIT_FAIL || reason == JZX_EXIT_PANIC;
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &info), JZX_OK);
    JZX_EXPECT_EQ(info.id, ctx->self);
    JZX_EXPECT_EQ(info.status, failed ? JZX_ACTOR_FAILED : JZX_ACTOR_STOPPED);
    JZX_EXPECT_EQ(strcmp(info.name, "life"), 0);
}

#define LIFE_OPTS(life)                                                                            \
    JZX_SPAWN_OPTS(.behavior = life_step, .state = (life), .init = life_init,                      \
                   .cleanup = life_cleanup, .name = "life")

static void run_life(struct life *life, int sends) {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &LIFE_OPTS(life));
    for (int i = 0; i < sends; i++)
        fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(life->cleanups, 1);
    assert_ptr_equal(life->state_at_cleanup, life);
    assert_true(life->self_at_cleanup == id);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
    assert_int_equal(life->cleanups, 1);
}

JZX_TEST(a_behaviour_that_returns_stop_ends_normally, "C18", "C27", "C+msg") {
    struct life life = {.result = JZX_BEHAVIOR_STOP};
    run_life(&life, 3);
    assert_int_equal(life.inits, 1);
    assert_int_equal(life.messages, 1);
    assert_int_equal(life.reason, JZX_EXIT_NORMAL);
}

JZX_TEST(a_behaviour_that_returns_fail_ends_with_fail, "C18", "C27", "C+msg") {
    struct life life = {.result = JZX_BEHAVIOR_FAIL};
    run_life(&life, 2);
    assert_int_equal(life.messages, 1);
    assert_int_equal(life.reason, JZX_EXIT_FAIL);
}

JZX_TEST(an_unknown_result_is_a_panic, "C18", "C+msg") {
    struct life life = {.result = (jzx_behavior_result)42};
    run_life(&life, 2);
    assert_int_equal(life.reason, JZX_EXIT_PANIC);
    assert_int_equal(JZX_EXIT_NORMAL, 0);
    assert_int_equal(JZX_EXIT_FAIL, 1);
    assert_int_equal(JZX_EXIT_PANIC, 2);
}

JZX_TEST(a_failing_init_ends_the_actor_before_its_first_message, "C27") {
    struct life life = {.init_result = JZX_ERR_NO_MEMORY};
    run_life(&life, 2);
    assert_int_equal(life.inits, 1);
    assert_int_equal(life.messages, 0);
    assert_int_equal(life.reason, JZX_EXIT_FAIL);
}

static void stop_in_the_middle(jzx_stop_kind kind, jzx_exit_reason reason, int handled) {
    struct life life = {0};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &LIFE_OPTS(&life));
    for (int i = 0; i < 5; i++)
        fixture_send(loop, id, 1);
    assert_int_equal(jzx_actor_stop(loop, id, kind), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(life.messages, handled);
    assert_int_equal(life.reason, reason);
    assert_int_equal(life.cleanups, 1);
    assert_int_equal(fixture_stats(loop).dead, 5 - handled);
    fixture_destroy(loop);
}

JZX_TEST(stop_after_message_overtakes_the_queue, "C27", "X15") {
    stop_in_the_middle(JZX_STOP_AFTER_MESSAGE, JZX_EXIT_NORMAL, 0);
}

JZX_TEST(stop_after_queue_handles_what_was_accepted, "C27", "X15") {
    stop_in_the_middle(JZX_STOP_AFTER_QUEUE, JZX_EXIT_NORMAL, 5);
}

JZX_TEST(kill_overtakes_the_queue, "C27", "X15") {
    stop_in_the_middle(JZX_STOP_KILL, JZX_EXIT_KILLED, 0);
}

JZX_TEST(fail_from_outside_ends_with_fail, "C27", "C+fail") {
    struct life life = {0};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &LIFE_OPTS(&life));
    assert_int_equal(jzx_actor_fail(loop, id), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(life.reason, JZX_EXIT_FAIL);
    assert_int_equal(jzx_actor_fail(loop, id), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_actor_fail(NULL, id), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_actor_stop(loop, id, (jzx_stop_kind)9), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

/* ---- stopping from inside ---- */

static jzx_behavior_result drain_self(jzx_context *ctx, const jzx_message *msg) {
    struct recorder *self = ctx->state;
    record(ctx, msg);
    if (self->count == 1) {
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_AFTER_QUEUE), JZX_OK);
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_AFTER_QUEUE), JZX_OK);
        jzx_actor_info info = {.size = sizeof info};
        JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &info), JZX_OK);
        JZX_EXPECT_EQ(info.status, JZX_ACTOR_STOPPING);
    }
    /* From then on nothing is accepted, so a drain always ends. */
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 99), JZX_ERR_NO_SUCH_ACTOR);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_actor_that_works_its_queue_off_accepts_nothing_more, "C27") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = drain_self, .state = &log));
    for (uint32_t tag = 1; tag <= 4; tag++)
        fixture_send(loop, id, tag);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 4);
    assert_int_equal(fixture_stats(loop).dead, 0);
    fixture_destroy(loop);
}

static jzx_behavior_result kill_self_twice(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_AFTER_QUEUE), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_fail(ctx->loop, ctx->self), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_KILL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void note_reason(jzx_context *ctx, jzx_exit_reason reason) {
    *(jzx_exit_reason *)ctx->state = reason;
}

JZX_TEST(of_several_requests_the_strongest_wins, "C27") {
    jzx_loop *loop = fixture_loop();
    jzx_exit_reason reason = JZX_EXIT_NORMAL;
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = kill_self_twice, .state = &reason,
                                            .cleanup = note_reason));
    fixture_send(loop, id, 1);
    fixture_send(loop, id, 2);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(reason, JZX_EXIT_KILLED);
    assert_int_equal(fixture_stats(loop).handled, 1);
    fixture_destroy(loop);
}

/* ---- state, become, statuses ---- */

static jzx_behavior_result second_behavior(jzx_context *ctx, const jzx_message *msg) {
    struct recorder *self = ctx->state;
    JZX_EXPECT_EQ(msg->tag, 2);
    self->count += 100;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result first_behavior(jzx_context *ctx, const jzx_message *msg) {
    struct recorder *self = ctx->state;
    JZX_EXPECT_EQ(msg->tag, 1);
    self->count++;
    JZX_EXPECT_EQ(jzx_become(ctx, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_become(ctx, second_behavior), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(become_holds_from_the_next_message_on, "C18") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = first_behavior, .state = &log));
    fixture_send(loop, id, 1);
    fixture_send(loop, id, 2);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 101);
    assert_int_equal(jzx_become(NULL, record), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

static int counters[3];

static jzx_err point_at_first(jzx_context *ctx) {
    JZX_EXPECT_EQ(ctx->state, NULL);
    ctx->state = &counters[0];
    return JZX_OK;
}

static jzx_behavior_result walk(jzx_context *ctx, const jzx_message *msg) {
    int *counter = ctx->state;
    *counter += (int)msg->tag;
    ctx->state = counter + 1;
    return JZX_BEHAVIOR_OK;
}

static void expect_third(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    JZX_EXPECT_EQ(ctx->state, &counters[2]);
}

JZX_TEST(an_actor_may_replace_its_state, "C18") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = walk, .init = point_at_first, .cleanup = expect_third));
    fixture_send(loop, id, 10);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_send(loop, id, 20);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(counters[0], 10);
    assert_int_equal(counters[1], 20);
    fixture_destroy(loop);
}

static jzx_err check_init_status(jzx_context *ctx) {
    jzx_test_ran();
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &info), JZX_OK);
    JZX_EXPECT_EQ(info.status, JZX_ACTOR_INIT);
    return JZX_OK;
}

static jzx_behavior_result check_running_status(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &info), JZX_OK);
    JZX_EXPECT_EQ(info.status, JZX_ACTOR_RUNNING);
    JZX_EXPECT_EQ(info.current_tag, msg->tag);
    JZX_EXPECT_EQ(strcmp(info.name, "status"), 0);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &info), JZX_OK);
    JZX_EXPECT_EQ(info.status, JZX_ACTOR_STOPPING);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_status_follows_the_life, "C+msg") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = check_running_status,
                                            .init = check_init_status, .name = "status"));
    jzx_actor_info info = {.size = sizeof info};
    assert_int_equal(jzx_actor_info_get(loop, id, &info), JZX_OK);
    assert_int_equal(info.status, JZX_ACTOR_INIT);
    fixture_send(loop, id, 7);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(fixture_stats(loop).handled, 1);
    assert_int_equal(jzx_actor_info_get(loop, id, &info), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_test_runs(), 2);
    fixture_destroy(loop);
}

/* ---- cleanup may use the loop ---- */

static jzx_actor_id heir;

static void pass_on(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, heir, ctx->self, NULL, 0, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = record, .daemon = true), NULL),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_become(ctx, record), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_unstash(ctx), 0);
}

JZX_TEST(cleanup_may_send_and_spawn, "C27") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {.stop_at = 1};
    struct life life = {.result = JZX_BEHAVIOR_STOP};
    heir = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = life_step, .state = &life, .cleanup = pass_on));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 1);
    fixture_destroy(loop);
}

/* ---- the order of first turns ---- */

static uint32_t begun[8];
static uint32_t begun_count;

static jzx_err note_begin(jzx_context *ctx) {
    begun[begun_count++] = *(const uint32_t *)ctx->state;
    return JZX_OK;
}

static uint32_t numbers[] = {0, 1, 2, 3};

static jzx_behavior_result spawn_four(jzx_context *ctx, const jzx_message *msg) {
    struct recorder *log = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < 4; i++)
        JZX_EXPECT_EQ(
            jzx_spawn(ctx->loop,
                      &JZX_SPAWN_OPTS(.behavior = record, .init = note_begin, .state = &numbers[i]),
                      NULL),
            JZX_OK);
    log->count++;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(of_actors_that_never_ran_the_newest_begins_first) {
    jzx_clock *clock = jzx_clock_manual(0); /* with time the oldest has its turn, too */
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    struct recorder log = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spawn_four, .state = &log));
    fixture_send(loop, id, 1);
    begun_count = 0;
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.count, 1);
    assert_int_equal(begun_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(begun[i], 3 - i);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}
