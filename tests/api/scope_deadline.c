/* SPDX-License-Identifier: MIT */
/* The deadline of a scope belongs to the scope: closing reports it, whatever noticed it first. */
#include "fibering.h"

#include <jzx/async.h>
#include <jzx/op.h>
#include <jzx/scope.h>

#define DEADLINE_NS JZX_MS(10)

/* A member: sleeps until then, computes so long, then succeeds or fails. */
struct nap {
    uint64_t until_ns;
    uint64_t computes_ns;
    jzx_clock *clock;
    jzx_err outcome;
    jzx_err slept;
    jzx_await_op op;
};

JZX_ASYNC(nap, struct nap *, uint32_t) {
    JZX_TRY((*self)->slept, jzx_op_sleep(&(*self)->op, (*self)->until_ns), NULL);
    JZX_EXPECT_EQ(jzx_clock_advance((*self)->clock, (*self)->computes_ns), JZX_OK);
    if ((*self)->outcome != JZX_OK)
        JZX_FAIL((*self)->outcome, "a bad dream");
    if ((*self)->slept != JZX_OK)
        JZX_FAIL((*self)->slept, NULL);
    JZX_RETURN(1);
}
JZX_END

/* An opener, and what it does between opening and closing. */
struct opener {
    struct life life;
    jzx_clock *clock;
    jzx_scope *scope;
    jzx_err waits[2];
    struct nap nap; /* a member if its until_ns is set */
    void (*inside)(jzx_context *ctx, struct opener *opener);
    jzx_scope_result result;
    uint64_t closed_ns;
};

static void start_nap(struct opener *opener) {
    struct nap *nap = &opener->nap;
    nap->slept = JZX_ERR_UNKNOWN;
    nap->clock = opener->clock;
    if (nap->until_ns != 0)
        JZX_EXPECT_EQ(jzx_scope_async(opener->scope, &nap_type, &nap, NULL), JZX_OK);
}

static void open_and_close(jzx_context *ctx) {
    struct opener *opener = ctx->state;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_scope_open(ctx, DEADLINE_NS, &opener->scope), JZX_OK);
    start_nap(opener);
    opener->inside(ctx, opener);
    opener->result.size = sizeof opener->result;
    opener->life.err = jzx_scope_close(ctx, opener->scope, &opener->result);
    opener->closed_ns = jzx_loop_now(ctx->loop);
    opener->life.finished++;
}

static struct timing open_at_once(struct opener *opener) {
    struct timing timing = timing_open();
    opener->clock = timing.clock;
    return timing;
}

/* Every actor that the scope needed has ended. */
static void finish(struct timing *timing) {
    timing_step(timing);
    assert_int_equal(fixture_stats(timing->loop).spawned, fixture_stats(timing->loop).exited);
    timing_close(timing);
}

static void run_for(struct opener *opener, uint64_t duration_ns) {
    struct timing timing = open_at_once(opener);
    timing_fiber(&timing, open_and_close, &opener->life);
    timing_advance(&timing, duration_ns);
    assert_int_equal(jzx_test_runs(), 1);
    assert_int_equal(opener->life.finished, 1);
    finish(&timing);
}

static void expect_timed_out(const struct opener *opener) {
    JZX_EXPECT_EQ(opener->life.err, JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(opener->result.err, JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(opener->result.member, JZX_NOBODY);
    JZX_EXPECT_EQ(opener->result.text[0], '\0');
}

/* ---- a wait of the opener notices it ---- */

static void receive_twice(jzx_context *ctx, struct opener *opener) {
    jzx_message msg;
    for (uint32_t i = 0; i < 2; i++)
        opener->waits[i] = jzx_receive(ctx, JZX_NEVER, &msg);
}

JZX_TEST(a_scope_whose_deadline_ended_a_receive_closes_with_the_timeout, "E+sem") {
    struct opener opener = {.inside = receive_twice};
    run_for(&opener, DEADLINE_NS);
    assert_int_equal(opener.waits[0], JZX_ERR_TIMEOUT);
    assert_int_equal(opener.waits[1], JZX_ERR_TIMEOUT);
    assert_int_equal(opener.closed_ns, DEADLINE_NS);
    expect_timed_out(&opener);
}

static void sleep_beyond(jzx_context *ctx, struct opener *opener) {
    opener->waits[0] = jzx_sleep(ctx, 3 * DEADLINE_NS);
}

JZX_TEST(a_scope_whose_deadline_ended_a_sleep_closes_with_the_timeout) {
    struct opener opener = {.inside = sleep_beyond};
    run_for(&opener, DEADLINE_NS);
    assert_int_equal(opener.waits[0], JZX_ERR_TIMEOUT);
    expect_timed_out(&opener);
}

/* ---- nothing waits ---- */

static void compute_beyond(jzx_context *ctx, struct opener *opener) {
    (void)ctx;
    JZX_EXPECT_EQ(jzx_clock_advance(opener->clock, DEADLINE_NS), JZX_OK);
}

static void compute_almost(jzx_context *ctx, struct opener *opener) {
    (void)ctx;
    JZX_EXPECT_EQ(jzx_clock_advance(opener->clock, DEADLINE_NS - 1), JZX_OK);
}

JZX_TEST(a_scope_that_is_closed_after_its_deadline_has_timed_out) {
    struct opener opener = {.inside = compute_beyond};
    run_for(&opener, 0);
    expect_timed_out(&opener);
}

JZX_TEST(a_scope_that_is_closed_just_before_its_deadline_has_not_timed_out) {
    struct opener opener = {.inside = compute_almost};
    run_for(&opener, 0);
    assert_int_equal(opener.life.err, JZX_OK);
}

static void start_one_more(jzx_context *ctx, struct opener *opener) {
    jzx_actor_id id = JZX_NOBODY;
    compute_beyond(ctx, opener);
    JZX_EXPECT_EQ(jzx_scope_spawn(opener->scope, &JZX_SPAWN_OPTS(.fiber = keep_life), &id),
                  JZX_ERR_CANCELLED);
    JZX_EXPECT_EQ(id, JZX_NOBODY);
    JZX_EXPECT_EQ(jzx_scope_members(opener->scope), 0);
}

JZX_TEST(a_scope_takes_no_member_after_its_deadline) {
    struct opener opener = {.inside = start_one_more};
    run_for(&opener, 0);
    expect_timed_out(&opener);
}

static void cancel_late(jzx_context *ctx, struct opener *opener) {
    compute_beyond(ctx, opener);
    jzx_scope_cancel(opener->scope);
}

JZX_TEST(a_cancel_after_the_deadline_leaves_the_timeout) {
    struct opener opener = {.inside = cancel_late};
    run_for(&opener, 0);
    expect_timed_out(&opener);
}

/* ---- members ---- */

static void do_nothing(jzx_context *ctx, struct opener *opener) {
    (void)ctx;
    (void)opener;
}

/* Nothing else has noticed that the deadline has passed. */
JZX_TEST(a_member_that_fails_after_the_deadline_leaves_the_timeout) {
    struct opener opener = {.inside = do_nothing,
                            .nap = {.until_ns = DEADLINE_NS - JZX_MS(1),
                                    .computes_ns = JZX_MS(1),
                                    .outcome = JZX_ERR_FULL}};
    run_for(&opener, DEADLINE_NS - JZX_MS(1));
    expect_timed_out(&opener);
}

JZX_TEST(a_last_member_that_ends_after_the_deadline_leaves_the_timeout) {
    struct opener opener = {.inside = do_nothing,
                            .nap = {.until_ns = DEADLINE_NS - JZX_MS(1), .computes_ns = JZX_MS(1)}};
    run_for(&opener, DEADLINE_NS - JZX_MS(1));
    expect_timed_out(&opener);
    assert_int_equal(opener.nap.slept, JZX_OK);
}

JZX_TEST(a_member_that_fails_before_the_deadline_gives_its_error) {
    struct opener opener = {.inside = do_nothing,
                            .nap = {.until_ns = DEADLINE_NS - JZX_MS(1), .outcome = JZX_ERR_FULL}};
    run_for(&opener, DEADLINE_NS - JZX_MS(1));
    assert_int_equal(opener.life.err, JZX_ERR_FULL);
    assert_string_equal(opener.result.text, "a bad dream");
}

JZX_TEST(a_member_that_ends_just_before_the_deadline_is_in_time) {
    struct opener opener = {.inside = do_nothing, .nap = {.until_ns = DEADLINE_NS - JZX_MS(1)}};
    run_for(&opener, DEADLINE_NS - JZX_MS(1));
    assert_int_equal(opener.life.err, JZX_OK);
    assert_int_equal(opener.nap.slept, JZX_OK);
}

/* ---- after the last member ---- */

static struct {
    struct opener *opener;
    jzx_actor_id id;
    uint32_t members; /* of the scope when it came */
} late;

static jzx_behavior_result be_late(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    late.members = jzx_scope_members(late.opener->scope);
    JZX_EXPECT_EQ(late.opener->life.finished, 0);
    jzx_scope_cancel(late.opener->scope);
    return JZX_BEHAVIOR_STOP;
}

static void call_late_one(jzx_context *ctx) {
    jzx_test_ran();
    (void)jzx_sleep(ctx, JZX_MS(1));
    fixture_send(ctx->loop, late.id, 1);
}

static void start_caller(jzx_context *ctx, struct opener *opener) {
    (void)ctx;
    JZX_EXPECT_EQ(jzx_scope_spawn(opener->scope, &JZX_SPAWN_OPTS(.fiber = call_late_one), NULL),
                  JZX_OK);
}

/* Its turn lies between the end of the member and that of the close. */
JZX_TEST(a_cancel_after_the_last_member_has_ended_changes_nothing) {
    struct opener opener = {.inside = start_caller};
    struct timing timing = open_at_once(&opener);
    late.opener = &opener;
    late.id = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = be_late));
    late.members = 1;
    timing_fiber(&timing, open_and_close, &opener.life);
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(jzx_test_runs(), 2);
    assert_int_equal(late.members, 0);
    assert_int_equal(opener.life.finished, 1);
    assert_int_equal(opener.life.err, JZX_OK);
    assert_int_equal(opener.result.ended, 1);
    finish(&timing);
}

/* ---- a behaviour closes it ---- */

enum { GO = 1, CLOSED };

static jzx_behavior_result close_by_message(jzx_context *ctx, const jzx_message *msg) {
    struct opener *opener = ctx->state;
    if (msg->tag == GO) {
        JZX_EXPECT_EQ(jzx_scope_open(ctx, DEADLINE_NS, &opener->scope), JZX_OK);
        opener->inside(ctx, opener);
        JZX_EXPECT_EQ(jzx_scope_close_to(ctx, opener->scope, CLOSED, NULL), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    jzx_test_ran();
    const jzx_result *head = msg->data;
    opener->life.err = head->err;
    if (JZX_EXPECT_EQ(head->len, sizeof opener->result))
        memcpy(&opener->result, jzx_result_data(head), sizeof opener->result);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_scope_that_a_behaviour_closes_after_its_deadline_has_timed_out) {
    struct opener opener = {.inside = compute_beyond};
    struct timing timing = open_at_once(&opener);
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = close_by_message, .state = &opener));
    fixture_send(timing.loop, id, GO);
    timing_step(&timing);
    assert_int_equal(jzx_test_runs(), 1);
    expect_timed_out(&opener);
    finish(&timing);
}

/* ---- an async function opens it ---- */

struct async_opener {
    struct opener *opener;
    jzx_await_op op;
};

JZX_ASYNC(async_opener, struct async_opener, jzx_err) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_scope_open(ctx, DEADLINE_NS, &self->opener->scope), JZX_OK);
    start_nap(self->opener);
    if (self->opener->inside == sleep_beyond)
        JZX_TRY(self->opener->waits[0], jzx_op_sleep(&self->op, 3 * DEADLINE_NS), NULL);
    self->opener->result.size = sizeof self->opener->result;
    JZX_TRY(self->opener->life.err, jzx_op_close(&self->op, self->opener->scope),
            &self->opener->result);
    self->opener->closed_ns = jzx_loop_now(ctx->loop);
    /* The limit is gone with the scope. */
    JZX_TRY(self->opener->waits[1], jzx_op_sleep(&self->op, 3 * DEADLINE_NS), NULL);
    self->opener->life.finished++;
    JZX_RETURN(JZX_OK);
}
JZX_END

static void run_async(struct opener *opener) {
    struct timing timing = open_at_once(opener);
    struct async_opener state = {.opener = opener};
    jzx_future *future;
    assert_int_equal(async_opener_spawn(timing.loop, state, &future), JZX_OK);
    timing_step(&timing);
    timing_advance(&timing, DEADLINE_NS - 1);
    assert_int_equal(opener->closed_ns, 0);
    timing_advance(&timing, 1);
    assert_int_equal(opener->closed_ns, DEADLINE_NS);
    expect_timed_out(opener);
    timing_advance(&timing, 2 * DEADLINE_NS - 1);
    assert_int_equal(opener->life.finished, 0);
    timing_advance(&timing, 1);
    assert_int_equal(opener->life.finished, 1);
    assert_int_equal(opener->waits[1], JZX_OK);
    assert_int_equal(jzx_test_runs(), 1);
    jzx_future_release(future);
    finish(&timing);
}

JZX_TEST(the_deadline_of_a_scope_ends_the_awaits_of_an_async_opener) {
    struct opener opener = {.inside = sleep_beyond};
    run_async(&opener);
    assert_int_equal(opener.waits[0], JZX_ERR_TIMEOUT);
}

JZX_TEST(the_deadline_of_a_scope_cancels_the_members_of_an_async_opener) {
    struct opener opener = {.inside = do_nothing, .nap = {.until_ns = JZX_SECOND(1)}};
    run_async(&opener);
    assert_int_equal(opener.nap.slept, JZX_ERR_CANCELLED);
    assert_int_equal(opener.result.ended, 1);
}
