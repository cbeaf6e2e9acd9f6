/* SPDX-License-Identifier: MIT */
/* Scopes: what is started in one ends with it; the first error and the deadline cancel the rest. */
#include "fibering.h"

#include <jzx/async.h>
#include <jzx/context.h>
#include <jzx/scope.h>

#define MEMBERS 6u

/* A member: sleeps so long, then succeeds or fails; notes how its sleep ended. */
struct nap {
    uint64_t for_ns;
    jzx_err outcome;
    jzx_err *slept;
    jzx_await_op op;
};

JZX_ASYNC(nap, struct nap, uint32_t) {
    JZX_TRY(*self->slept, jzx_op_sleep(&self->op, jzx_in(ctx, self->for_ns)), NULL);
    if (self->outcome != JZX_OK)
        JZX_FAIL(self->outcome, "a bad dream");
    if (*self->slept != JZX_OK)
        JZX_FAIL(*self->slept, NULL);
    JZX_RETURN(1);
}
JZX_END

/* A fiber that opens a scope, starts naps, and closes it. */
struct opener {
    struct life life;
    uint64_t deadline_ns; /* from now on */
    struct nap naps[MEMBERS];
    uint32_t count;
    jzx_err slept[MEMBERS];
    jzx_scope_result result;
    uint64_t closed_ns;
    uint32_t closed;
    jzx_scope *scope;
    void (*inside)(jzx_context *ctx, struct opener *opener);
};

static void open_and_close(jzx_context *ctx) {
    struct opener *opener = ctx->state;
    uint64_t deadline_ns = opener->deadline_ns == 0 ? JZX_NEVER : jzx_in(ctx, opener->deadline_ns);
    JZX_EXPECT_EQ(jzx_scope_open(ctx, deadline_ns, &opener->scope), JZX_OK);
    for (uint32_t i = 0; i < opener->count; i++) {
        opener->slept[i] = JZX_ERR_UNKNOWN;
        opener->naps[i].slept = &opener->slept[i];
        JZX_EXPECT_EQ(jzx_scope_async(opener->scope, &nap_type, &opener->naps[i], NULL), JZX_OK);
    }
    if (opener->inside != NULL)
        opener->inside(ctx, opener);
    opener->result.size = sizeof opener->result;
    opener->life.err = jzx_scope_close(ctx, opener->scope, &opener->result);
    opener->closed_ns = jzx_loop_now(ctx->loop);
    opener->closed++;
}

static jzx_actor_id start(const struct timing *timing, struct opener *opener) {
    return timing_fiber(timing, open_and_close, &opener->life);
}

static void finish(struct timing *timing) {
    assert_int_equal(fixture_stats(timing->loop).spawned, fixture_stats(timing->loop).exited);
    timing_close(timing);
}

JZX_TEST(closing_waits_for_all_members, "E+sem") {
    struct timing timing = timing_open();
    struct opener opener = {
        .count = 3,
        .naps = {{.for_ns = JZX_MS(5)}, {.for_ns = JZX_MS(20)}, {.for_ns = JZX_MS(10)}}};
    jzx_actor_id id = start(&timing, &opener);
    assert_int_equal(jzx_scope_members(opener.scope), 3);
    assert_int_equal(info_of(timing.loop, id).wait, JZX_WAIT_SCOPE);
    timing_advance(&timing, JZX_MS(19));
    assert_int_equal(opener.closed, 0);
    assert_int_equal(jzx_scope_members(opener.scope), 1);
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(opener.closed, 1);
    assert_int_equal(opener.life.err, JZX_OK);
    assert_int_equal(opener.result.ended, 3);
    finish(&timing);
}

JZX_TEST(the_first_error_cancels_the_siblings, "E+sem") {
    struct timing timing = timing_open();
    struct opener opener = {.count = 3,
                            .naps = {{.for_ns = JZX_SECOND(100)},
                                     {.for_ns = JZX_MS(10), .outcome = JZX_ERR_FULL},
                                     {.for_ns = JZX_SECOND(100), .outcome = JZX_ERR_BUSY}}};
    start(&timing, &opener);
    timing_advance(&timing, JZX_MS(10));
    assert_int_equal(opener.closed, 1);
    assert_int_equal(opener.life.err, JZX_ERR_FULL);
    assert_int_equal(opener.result.err, JZX_ERR_FULL);
    assert_string_equal(opener.result.text, "a bad dream");
    assert_int_equal(opener.result.ended, 3);
    assert_int_equal(opener.slept[0], JZX_ERR_CANCELLED);
    assert_int_equal(opener.slept[1], JZX_OK);
    assert_int_equal(opener.slept[2], JZX_ERR_CANCELLED);
    finish(&timing);
}

JZX_TEST(an_empty_scope_closes_at_once) {
    struct timing timing = timing_open();
    struct opener opener = {.count = 0};
    start(&timing, &opener);
    assert_int_equal(opener.closed, 1);
    assert_int_equal(opener.life.err, JZX_OK);
    finish(&timing);
}

JZX_TEST(the_deadline_cancels_all) {
    struct timing timing = timing_open();
    struct opener opener = {.count = 2,
                            .deadline_ns = JZX_MS(50),
                            .naps = {{.for_ns = JZX_SECOND(1)}, {.for_ns = JZX_MS(1)}}};
    start(&timing, &opener);
    timing_advance(&timing, JZX_MS(49));
    assert_int_equal(opener.closed, 0);
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(opener.closed, 1);
    assert_int_equal(opener.life.err, JZX_ERR_TIMEOUT);
    assert_int_equal(opener.slept[0], JZX_ERR_CANCELLED);
    assert_int_equal(opener.slept[1], JZX_OK);
    finish(&timing);
}

static void nest(jzx_context *ctx, struct opener *opener) {
    jzx_scope *inner;
    jzx_err slept = JZX_OK;
    struct nap state = {.for_ns = JZX_SECOND(100), .slept = &slept};
    (void)opener;
    JZX_EXPECT_EQ(jzx_scope_open(ctx, jzx_in(ctx, JZX_SECOND(10)), &inner), JZX_OK);
    JZX_EXPECT_EQ(jzx_scope_async(inner, &nap_type, &state, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_scope_close(ctx, inner, NULL), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(slept, JZX_ERR_CANCELLED);
    JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_SECOND(1))), JZX_ERR_TIMEOUT);
}

JZX_TEST(a_scope_inherits_the_deadline_of_the_one_around_it) {
    struct timing timing = timing_open();
    struct opener opener = {.deadline_ns = JZX_MS(30), .inside = nest};
    start(&timing, &opener);
    timing_advance(&timing, JZX_MS(30));
    assert_int_equal(opener.closed, 1);
    assert_int_equal(opener.life.err, JZX_ERR_TIMEOUT);
    finish(&timing);
}

JZX_TEST(a_scope_can_be_cancelled_from_outside) {
    struct timing timing = timing_open();
    struct opener opener = {.count = 1, .naps = {{.for_ns = JZX_SECOND(1)}}};
    struct nap late = {.for_ns = 1};
    start(&timing, &opener);
    jzx_scope_cancel(opener.scope);
    assert_int_equal(jzx_scope_async(opener.scope, &nap_type, &late, NULL), JZX_ERR_CLOSED);
    timing_step(&timing);
    assert_int_equal(opener.closed, 1);
    assert_int_equal(opener.life.err, JZX_ERR_CANCELLED);
    assert_int_equal(opener.slept[0], JZX_ERR_CANCELLED);
    finish(&timing);
}

JZX_TEST(a_closer_that_drains_cancels_and_still_waits) {
    struct timing timing = timing_open();
    struct opener opener = {.count = 2,
                            .naps = {{.for_ns = JZX_SECOND(1)}, {.for_ns = JZX_SECOND(2)}}};
    jzx_actor_id id = start(&timing, &opener);
    assert_int_equal(jzx_actor_stop(timing.loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    timing_step(&timing);
    assert_int_equal(opener.closed, 1);
    assert_int_equal(opener.life.err, JZX_ERR_CANCELLED);
    assert_int_equal(opener.result.ended, 2);
    finish(&timing);
}

JZX_TEST(members_are_cancelled_when_the_opener_is_killed) {
    struct timing timing = timing_open();
    struct opener opener = {.count = 2,
                            .deadline_ns = JZX_SECOND(100),
                            .naps = {{.for_ns = JZX_SECOND(1)}, {.for_ns = JZX_SECOND(2)}}};
    jzx_actor_id id = start(&timing, &opener);
    assert_int_equal(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    assert_int_equal(opener.closed, 0);
    assert_int_equal(opener.slept[0], JZX_ERR_CANCELLED);
    assert_int_equal(opener.slept[1], JZX_ERR_CANCELLED);
    finish(&timing);
}

/* ---- other kinds of members ---- */

static void sleep_long(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->err = jzx_sleep(ctx, jzx_in(ctx, JZX_MS(1)));
    life->finished++;
    if (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK)
        jzx_exit(ctx, JZX_EXIT_FAIL, "as it was told");
}

static struct life lives[2];
static jzx_actor_id members[2];

static void start_actors(jzx_context *ctx, struct opener *opener) {
    (void)ctx;
    memset(lives, 0, sizeof lives);
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(jzx_scope_spawn(opener->scope,
                                      &JZX_SPAWN_OPTS(.fiber = sleep_long, .state = &lives[i],
                                                      .cleanup = note_cleanup),
                                      &members[i]),
                      JZX_OK);
    JZX_EXPECT_EQ(jzx_scope_spawn(opener->scope, &JZX_SPAWN_OPTS(.behavior = NULL), NULL),
                  JZX_ERR_INVALID_ARG);
}

JZX_TEST(fibers_are_members_and_their_failures_count) {
    struct timing timing = timing_open();
    struct opener opener = {.inside = start_actors};
    start(&timing, &opener);
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(opener.closed, 0);
    assert_int_equal(jzx_scope_members(opener.scope), 2);
    fixture_send(timing.loop, members[1], 1);
    timing_step(&timing);
    assert_int_equal(opener.closed, 1);
    assert_int_equal(opener.life.err, JZX_ERR_FAILED);
    assert_int_equal(opener.result.member, members[1]);
    assert_string_equal(opener.result.text, "as it was told");
    expect_ended(&lives[0], JZX_EXIT_NORMAL);
    expect_ended(&lives[1], JZX_EXIT_FAIL);
    finish(&timing);
}

/* ---- async functions as openers ---- */

struct async_opener {
    jzx_scope *scope;
    jzx_await_op op;
    struct nap naps[2];
    jzx_scope_result result;
};

JZX_ASYNC(async_opener, struct async_opener, uint32_t) {
    if (jzx_scope_open(ctx, JZX_NEVER, &self->scope) != JZX_OK)
        JZX_FAIL(JZX_ERR_UNKNOWN, "no scope");
    for (uint32_t i = 0; i < 2; i++)
        (void)jzx_scope_async(self->scope, &nap_type, &self->naps[i], NULL);
    self->result.size = sizeof self->result;
    JZX_AWAIT(jzx_op_close(&self->op, self->scope), &self->result);
    JZX_RETURN(self->result.ended);
}
JZX_END

JZX_TEST(an_async_function_opens_a_scope) {
    for (uint32_t how = 0; how < 3; how++) {
        struct timing timing = timing_open();
        jzx_err slept[2];
        struct async_opener state = {.naps = {{.for_ns = JZX_MS(10), .slept = &slept[0]},
                                              {.for_ns = JZX_MS(5),
                                               .slept = &slept[1],
                                               .outcome = how == 1 ? JZX_ERR_FULL : JZX_OK}}};
        jzx_future *future;
        uint32_t ended = 0;
        assert_int_equal(async_opener_spawn(timing.loop, state, &future), JZX_OK);
        timing_step(&timing);
        assert_false(jzx_future_is_ready(future));
        if (how == 2)
            jzx_future_cancel(future);
        timing_advance(&timing, JZX_MS(5));
        timing_advance(&timing, JZX_MS(5));
        static const jzx_err errs[] = {JZX_OK, JZX_ERR_FULL, JZX_ERR_CANCELLED};
        assert_int_equal(jzx_future_try(future, &ended), errs[how]);
        assert_int_equal(slept[0], how == 0 ? JZX_OK : JZX_ERR_CANCELLED);
        if (how == 0)
            assert_int_equal(ended, 2);
        jzx_future_release(future);
        finish(&timing);
    }
}

/* ---- who starts an async function owns it ---- */

static jzx_err owned_slept[2];

static jzx_behavior_result be_owner(jzx_context *ctx, const jzx_message *msg) {
    struct nap state = {.for_ns = JZX_SECOND(1), .slept = &owned_slept[0]};
    jzx_future *future;
    if (msg->tag == 2)
        return JZX_BEHAVIOR_FAIL;
    JZX_EXPECT_EQ(nap_spawn(ctx->loop, state, &future), JZX_OK);
    jzx_future_detach(future);
    state.slept = &owned_slept[1];
    JZX_EXPECT_EQ(
        jzx_async_spawn(ctx->loop, &nap_type, &state, &JZX_ASYNC_OPTS(.detached = true), &future),
        JZX_OK);
    jzx_future_detach(future);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_async_function_is_cancelled_with_the_actor_that_started_it, "E44") {
    struct timing timing = timing_open();
    jzx_actor_id id = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = be_owner));
    owned_slept[0] = owned_slept[1] = JZX_ERR_UNKNOWN;
    fixture_send(timing.loop, id, 1);
    timing_step(&timing);
    fixture_send(timing.loop, id, 2);
    timing_step(&timing);
    assert_int_equal(owned_slept[0], JZX_ERR_CANCELLED);
    assert_int_equal(owned_slept[1], JZX_ERR_UNKNOWN);
    timing_advance(&timing, JZX_SECOND(1));
    assert_int_equal(owned_slept[1], JZX_OK);
    finish(&timing);
}

/* ---- misuse ---- */

static jzx_scope *foreign_scope;

static void misuse(jzx_context *ctx) {
    jzx_scope *scope = NULL;
    JZX_EXPECT_EQ(jzx_scope_close(ctx, foreign_scope, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_scope_close(ctx, NULL, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_scope_open(ctx, JZX_NEVER, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_scope_open(NULL, JZX_NEVER, &scope), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_scope_spawn(NULL, NULL, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_scope_async(NULL, &nap_type, NULL, NULL), JZX_ERR_INVALID_ARG);
    ((struct life *)ctx->state)->finished++;
}

static jzx_behavior_result be_opener(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT_EQ(jzx_scope_open(ctx, JZX_NEVER, &foreign_scope), JZX_OK);
    JZX_EXPECT_EQ(jzx_scope_close(ctx, foreign_scope, NULL), JZX_ERR_WOULD_SUSPEND);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(only_the_opener_closes_a_scope) {
    struct timing timing = timing_open();
    struct life life = {0};
    jzx_actor_id id = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = be_opener));
    fixture_send(timing.loop, id, 1);
    timing_step(&timing);
    timing_fiber(&timing, misuse, &life);
    assert_int_equal(life.finished, 1);
    assert_int_equal(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    finish(&timing);
}

/* ---- orders and limits ---- */

static void close_outer_first(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_scope *outer;
    jzx_scope *inner;
    JZX_EXPECT_EQ(jzx_scope_open(ctx, jzx_in(ctx, JZX_MS(5)), &outer), JZX_OK);
    JZX_EXPECT_EQ(jzx_scope_open(ctx, JZX_NEVER, &inner), JZX_OK);
    JZX_EXPECT_EQ(jzx_scope_close(ctx, outer, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_scope_close(ctx, inner, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(50))), JZX_OK); /* no limit is left */
    life->finished++;
}

JZX_TEST(scopes_may_be_closed_in_any_order) {
    struct timing timing = timing_open();
    struct life life = {0};
    timing_fiber(&timing, close_outer_first, &life);
    timing_advance(&timing, JZX_MS(49));
    assert_int_equal(life.finished, 0);
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(life.finished, 1);
    finish(&timing);
}

static void open_without_time(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_scope *outer;
    jzx_scope *inner;
    JZX_EXPECT_EQ(jzx_scope_open(ctx, 0, &outer), JZX_OK);
    JZX_EXPECT_EQ(jzx_scope_open(ctx, JZX_NEVER, &inner), JZX_OK);
    JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(50))), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_scope_close(ctx, inner, NULL), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_scope_close(ctx, outer, NULL), JZX_ERR_TIMEOUT);
    life->finished++;
}

JZX_TEST(a_scope_without_time_has_none_inside_either) {
    struct timing timing = timing_open();
    struct life life = {0};
    timing_advance(&timing, JZX_MS(1)); /* time 0 is over */
    timing_fiber(&timing, open_without_time, &life);
    assert_int_equal(life.finished, 1);
    finish(&timing);
}
