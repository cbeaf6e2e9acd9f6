/* SPDX-License-Identifier: MIT */
/* Async functions that are started while an actor ends, by the observer of its end or by a
 * destructor of its mail: they leave nothing behind. */
#include "fibering.h"

#include <jzx/async.h>
#include <jzx/combine.h>
#include <jzx/observe.h>

enum { STOP = 1, FAIL, KEEP };

static struct {
    jzx_loop *loop;
    jzx_future *value; /* is settled */
    jzx_future *error;
    bool is_on;     /* the observer starts functions */
    uint32_t ends;  /* of actors that it was told of while it did */
    uint32_t notes; /* functions of each kind that ended well */
    uint32_t thens;
    uint32_t catches;
    uint32_t finals;
    uint32_t cancelled;
    uint32_t started; /* by destructors */
} s;

/* Takes time, as an audit record does that goes to a file. */
struct note {
    jzx_await_op op;
};

JZX_ASYNC(note, struct note, int) {
    jzx_err err;
    JZX_TRY(err, jzx_op_sleep(&self->op, jzx_in(ctx, JZX_MS(1))), NULL);
    s.notes += err == JZX_OK;
    s.cancelled += err == JZX_ERR_CANCELLED;
    JZX_RETURN(1);
}
JZX_END

static jzx_err on_value(jzx_context *ctx, const void *value, void *result, void *arg) {
    (void)ctx, (void)arg;
    s.thens++;
    memcpy(result, value, sizeof(int));
    return JZX_OK;
}

static jzx_err on_error(jzx_context *ctx, jzx_err err, const char *text, void *result, void *arg) {
    (void)ctx, (void)text, (void)result, (void)arg;
    s.catches += err == JZX_ERR_FULL;
    return JZX_OK;
}

static void on_end(jzx_context *ctx, jzx_err err, void *arg) {
    (void)ctx, (void)arg;
    s.finals += err == JZX_OK;
}

static void start_note(void) {
    jzx_future *future = NULL;
    JZX_EXPECT_EQ(note_spawn(s.loop, (struct note){0}, &future), JZX_OK);
    jzx_future_detach(future);
}

static void start_all(void) {
    jzx_future *future = NULL;
    start_note();
    JZX_EXPECT_EQ(jzx_future_then(s.value, sizeof(int), on_value, NULL, &future), JZX_OK);
    jzx_future_detach(future);
    JZX_EXPECT_EQ(jzx_future_catch(s.error, on_error, NULL, &future), JZX_OK);
    jzx_future_detach(future);
    JZX_EXPECT_EQ(jzx_future_finally(s.value, on_end, NULL, &future), JZX_OK);
    jzx_future_detach(future);
}

/* The functions that it starts end as well, of which it hears, too. */
static void on_stop(void *ctx, jzx_actor_id id, jzx_exit_reason reason) {
    (void)ctx, (void)id, (void)reason;
    if (!s.is_on)
        return;
    jzx_test_ran();
    s.is_on = false;
    s.ends++;
    start_all();
}

static jzx_future *settled(jzx_err err) {
    const int value = 7;
    jzx_promise *promise = NULL;
    jzx_future *future = NULL;
    JZX_EXPECT_EQ(jzx_promise_create(s.loop, sizeof value, &promise, &future), JZX_OK);
    JZX_EXPECT_EQ(err == JZX_OK ? jzx_promise_resolve(promise, &value)
                                : jzx_promise_reject(promise, err, NULL),
                  JZX_OK);
    return future;
}

static struct timing open_observed(void) {
    struct timing timing = timing_open();
    memset(&s, 0, sizeof s);
    s.loop = timing.loop;
    s.value = settled(JZX_OK);
    s.error = settled(JZX_ERR_FULL);
    JZX_EXPECT_EQ(jzx_loop_set_observer(timing.loop, &JZX_OBSERVER(.on_actor_stop = on_stop), NULL),
                  JZX_OK);
    return timing;
}

static void close_observed(struct timing *timing) {
    timing_advance(timing, JZX_MS(1));
    jzx_future_release(s.value);
    jzx_future_release(s.error);
    assert_int_equal(fixture_stats(timing->loop).spawned, fixture_stats(timing->loop).exited);
    timing_close(timing);
}

static jzx_behavior_result be_short(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    return msg->tag == FAIL ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_STOP;
}

/* It has started functions itself, which end with it. */
static jzx_behavior_result be_busy(jzx_context *ctx, const jzx_message *msg) {
    start_note();
    return be_short(ctx, msg);
}

static void be_idle_fiber(jzx_context *ctx) {
    jzx_message msg;
    (void)jzx_receive(ctx, JZX_NEVER, &msg);
}

static void clean_up(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx, (void)reason;
}

static void play(const jzx_spawn_opts *opts, uint32_t tag, uint32_t cancelled) {
    struct timing timing = open_observed();
    jzx_actor_id id = fixture_spawn(timing.loop, opts);
    timing_step(&timing);
    s.is_on = true;
    if (tag == 0)
        JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    else
        fixture_send(timing.loop, id, tag);
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(s.ends, 1);
    assert_int_equal(s.notes, 1);
    assert_int_equal(s.thens, 1);
    assert_int_equal(s.catches, 1);
    assert_int_equal(s.finals, 1);
    assert_int_equal(s.cancelled, cancelled);
    close_observed(&timing);
}

JZX_TEST(functions_that_an_observer_of_an_end_starts_run_and_leave_nothing, "C15") {
    play(&JZX_SPAWN_OPTS(.behavior = be_short), STOP, 0);
    play(&JZX_SPAWN_OPTS(.behavior = be_short), FAIL, 0);
    play(&JZX_SPAWN_OPTS(.behavior = be_short), 0, 0);
    play(&JZX_SPAWN_OPTS(.behavior = be_short, .name = "named", .cleanup = clean_up), STOP, 0);
    play(&JZX_SPAWN_OPTS(.behavior = be_busy), STOP, 1);
    play(&JZX_SPAWN_OPTS(.behavior = be_busy, .cleanup = clean_up), FAIL, 1);
    play(&JZX_SPAWN_OPTS(.fiber = be_idle_fiber), STOP, 0);
    play(&JZX_SPAWN_OPTS(.fiber = be_idle_fiber, .cleanup = clean_up), 0, 0);
    assert_int_equal(jzx_test_runs(), 8);
}

/* ---- destructors ---- */

static void start_from_destructor(void *data, size_t len) {
    (void)data, (void)len;
    jzx_test_ran();
    s.started++;
    start_note();
}

static void send_buffer(jzx_loop *loop, jzx_actor_id to) {
    void *data = jzx_msg_alloc(loop, 8, start_from_destructor);
    assert_non_null(data);
    assert_int_equal(jzx_send_msg(loop, to, JZX_NOBODY, data, KEEP), JZX_OK);
}

/* Holds its message in hand while it waits. */
static void hold(jzx_context *ctx) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    (void)jzx_sleep(ctx, JZX_NEVER);
}

static void play_destructors(const jzx_spawn_opts *opts, bool waits) {
    struct timing timing = open_observed();
    jzx_actor_id id = fixture_spawn(timing.loop, opts);
    send_buffer(timing.loop, id);
    if (waits)
        timing_step(&timing);
    send_buffer(timing.loop, id);
    assert_int_equal(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(s.started, 2);
    assert_int_equal(s.notes + s.cancelled, 2);
    close_observed(&timing);
}

JZX_TEST(functions_that_destructors_of_the_mail_start_leave_nothing, "C15") {
    play_destructors(&JZX_SPAWN_OPTS(.fiber = hold), true);
    play_destructors(&JZX_SPAWN_OPTS(.behavior = be_short), false);
    play_destructors(&JZX_SPAWN_OPTS(.behavior = be_short, .cleanup = clean_up), false);
    assert_int_equal(jzx_test_runs(), 6);
}
