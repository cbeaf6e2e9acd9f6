/* SPDX-License-Identifier: MIT */
/* Select: one of several is done, and nothing of the others. */
#include "puppets.h"

enum { PUPPETS = 4 };

JZX_CHANNEL(number, uint64_t)
JZX_ONESHOT(number, uint64_t)
JZX_BROADCAST(number, uint64_t)

static struct {
    struct timing timing;
    struct puppet puppets[PUPPETS];
    number_channel first;
    number_channel second;
    number_oneshot once;
    number_broadcast news;
    jzx_reader reader;
    jzx_gate gate;
    size_t index[PUPPETS];
} s;

static void set_up(void) {
    memset(&s, 0, sizeof s);
    s.timing = timing_open();
    jzx_loop *loop = s.timing.loop;
    for (int i = 0; i < PUPPETS; i++) {
        puppet_spawn(&s.puppets[i], &s.timing);
        s.index[i] = 99;
    }
    JZX_EXPECT_EQ(number_channel_init(loop, &s.first, 1), JZX_OK);
    JZX_EXPECT_EQ(number_channel_init(loop, &s.second, 1), JZX_OK);
    JZX_EXPECT_EQ(number_oneshot_init(loop, &s.once), JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_init(loop, &s.news, 2), JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_subscribe(&s.news, &s.reader), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_init(loop, &s.gate, false), JZX_OK);
}

static void tear_down(void) {
    timing_close(&s.timing);
    JZX_EXPECT_EQ(number_channel_deinit(&s.first), JZX_OK);
    JZX_EXPECT_EQ(number_channel_deinit(&s.second), JZX_OK);
    JZX_EXPECT_EQ(number_oneshot_deinit(&s.once), JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_deinit(&s.news), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_deinit(&s.gate), JZX_OK);
}

static size_t *index_of(const struct puppet *puppet) {
    return &s.index[puppet - s.puppets];
}

/* All five, in this order. */
static jzx_err select_all(jzx_context *ctx, struct puppet *puppet) {
    const jzx_case cases[] = {number_channel_case_receive(&s.first, &puppet->value),
                              number_channel_case_receive(&s.second, &puppet->value),
                              number_oneshot_case_receive(&s.once, &puppet->value),
                              number_broadcast_case_read(&s.reader, &puppet->value),
                              jzx_gate_case(&s.gate)};
    return jzx_select(ctx, JZX_CASES(cases), puppet->deadline_ns, index_of(puppet));
}

/* Sends its number to the first, or receives of the second. */
static jzx_err send_or_receive(jzx_context *ctx, struct puppet *puppet) {
    const jzx_case cases[] = {number_channel_case_send(&s.first, &puppet->number),
                              number_channel_case_receive(&s.second, &puppet->value)};
    return jzx_select(ctx, JZX_CASES(cases), puppet->deadline_ns, index_of(puppet));
}

/* Waits at both ends of one channel. */
static jzx_err both_ends(jzx_context *ctx, struct puppet *puppet) {
    const jzx_case cases[] = {number_channel_case_receive(&s.first, &puppet->value),
                              number_channel_case_send(&s.first, &puppet->number)};
    return jzx_select(ctx, JZX_CASES(cases), puppet->deadline_ns, index_of(puppet));
}

static void done(const struct puppet *puppet, jzx_err result, size_t index, uint64_t value) {
    puppet_gets(puppet, result);
    JZX_EXPECT_EQ(*index_of(puppet), index);
    if (result == JZX_OK)
        JZX_EXPECT_EQ(puppet->value, value);
}

JZX_TEST(a_select_does_the_first_that_comes_and_no_other, "E57") {
    struct puppet *one = &s.puppets[0];
    set_up();
    for (size_t i = 0; i < 5; i++) {
        one->value = 0;
        assert_false(puppet_do(one, select_all, NULL, JZX_NEVER));
        assert_int_equal(info_of(s.timing.loop, one->id).wait, JZX_WAIT_SELECT);
        switch (i) {
        case 0: JZX_EXPECT_EQ(number_channel_try_send(&s.first, 10), JZX_OK); break;
        case 1: JZX_EXPECT_EQ(number_channel_try_send(&s.second, 11), JZX_OK); break;
        case 2: JZX_EXPECT_EQ(number_broadcast_publish(&s.news, 12), JZX_OK); break;
        case 3: JZX_EXPECT_EQ(jzx_gate_open(&s.gate), JZX_OK); break;
        default: JZX_EXPECT_EQ(number_oneshot_send(&s.once, 14), JZX_OK); break;
        }
        timing_step(&s.timing);
        static const size_t indexes[] = {0, 1, 3, 4, 2};
        static const uint64_t values[] = {10, 11, 12, 0, 14};
        done(one, JZX_OK, indexes[i], values[i]);
        JZX_EXPECT_EQ(jzx_gate_close(&s.gate), JZX_OK);
    }
    puppet_do(one, select_all, NULL, 0); /* the oneshot is used up */
    done(one, JZX_ERR_CLOSED, 2, 0);
    tear_down();
}

JZX_TEST(of_several_that_can_go_on_a_select_takes_the_first, "E57") {
    uint64_t value;
    set_up();
    assert_int_equal(number_channel_try_send(&s.second, 2), JZX_OK);
    assert_int_equal(number_channel_try_send(&s.first, 1), JZX_OK);
    assert_int_equal(jzx_gate_open(&s.gate), JZX_OK);
    for (uint64_t i = 0; i < 2; i++) {
        puppet_do(&s.puppets[0], select_all, NULL, JZX_NEVER);
        done(&s.puppets[0], JZX_OK, i, i + 1);
    }
    s.puppets[0].value = 7;
    puppet_do(&s.puppets[0], select_all, NULL, JZX_NEVER);
    done(&s.puppets[0], JZX_OK, 4, 7); /* a gate has no value */
    assert_int_equal(number_channel_try_receive(&s.first, &value), JZX_ERR_TIMEOUT);
    tear_down();
}

JZX_TEST(a_select_that_timed_out_was_cancelled_or_killed_did_nothing, "E57", "E+sem") {
    uint64_t value = 0;
    set_up();
    for (int i = 0; i < 3; i++)
        assert_false(puppet_do(&s.puppets[i], select_all, NULL, i == 0 ? JZX_MS(2) : JZX_NEVER));
    timing_advance(&s.timing, JZX_MS(2));
    done(&s.puppets[0], JZX_ERR_TIMEOUT, 99, 0);
    jzx_actor_stop(s.timing.loop, s.puppets[1].id, JZX_STOP_AFTER_QUEUE);
    timing_step(&s.timing);
    done(&s.puppets[1], JZX_ERR_CANCELLED, 99, 0);
    assert_int_equal(number_channel_try_send(&s.first, 5), JZX_OK); /* promised to the third, */
    jzx_actor_stop(s.timing.loop, s.puppets[2].id, JZX_STOP_KILL);  /* which is killed */
    timing_step(&s.timing);
    assert_int_equal(number_channel_try_receive(&s.first, &value), JZX_OK);
    assert_int_equal(value, 5);
    tear_down();
}

JZX_TEST(a_select_sends_or_receives, "E57") {
    set_up();
    s.puppets[0].number = 21;
    puppet_do(&s.puppets[0], send_or_receive, NULL, JZX_NEVER);
    done(&s.puppets[0], JZX_OK, 0, 0); /* there was room */
    s.puppets[0].number = 22;
    assert_false(puppet_do(&s.puppets[0], send_or_receive, NULL, JZX_NEVER));
    assert_int_equal(number_channel_try_send(&s.second, 31), JZX_OK);
    timing_step(&s.timing);
    done(&s.puppets[0], JZX_OK, 1, 31);
    uint64_t value = 0;
    assert_int_equal(number_channel_try_receive(&s.first, &value), JZX_OK);
    assert_int_equal(value, 21);
    assert_int_equal(number_channel_try_receive(&s.first, &value), JZX_ERR_TIMEOUT); /* no 22 */
    s.puppets[1].number = 40;
    puppet_do(&s.puppets[1], both_ends, NULL, JZX_NEVER);
    done(&s.puppets[1], JZX_OK, 1, 0); /* not to itself */
    puppet_do(&s.puppets[1], both_ends, NULL, JZX_NEVER);
    done(&s.puppets[1], JZX_OK, 0, 40);
    tear_down();
}

JZX_TEST(a_select_tells_which_is_closed_and_how_much_it_lags, "E57") {
    set_up();
    assert_false(puppet_do(&s.puppets[0], select_all, NULL, JZX_NEVER));
    assert_int_equal(number_channel_close(&s.second), JZX_OK);
    timing_step(&s.timing);
    done(&s.puppets[0], JZX_ERR_CLOSED, 1, 0);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(number_broadcast_publish(&s.news, i), JZX_OK);
    uint64_t value;
    const jzx_case only[] = {number_broadcast_case_read(&s.reader, &value)};
    size_t index = 99;
    assert_int_equal(jzx_select_wait(JZX_CASES(only), 0, &index), JZX_ERR_LAGGED);
    assert_int_equal(index, 0);
    assert_int_equal(s.reader.missed, 3);
    assert_int_equal(jzx_select_wait(JZX_CASES(only), 0, &index), JZX_OK);
    assert_int_equal(value, 3);
    tear_down();
}

static jzx_behavior_result be_refused(jzx_context *ctx, const jzx_message *msg) {
    const jzx_case cases[] = {jzx_gate_case(&s.gate)};
    size_t index;
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_select(ctx, JZX_CASES(cases), 0, &index), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_select_wait(JZX_CASES(cases), 0, &index), JZX_ERR_WOULD_SUSPEND);
    return JZX_BEHAVIOR_STOP;
}

static jzx_err select_future(jzx_context *ctx, struct puppet *puppet) {
    const jzx_case cases[] = {number_channel_case_receive(&s.first, &puppet->value),
                              jzx_future_case(puppet->object, &puppet->value)};
    return jzx_select(ctx, JZX_CASES(cases), puppet->deadline_ns, index_of(puppet));
}

static jzx_err select_future_alone(jzx_context *ctx, struct puppet *puppet) {
    const jzx_case cases[] = {jzx_future_case(puppet->object, NULL)};
    return jzx_select(ctx, JZX_CASES(cases), puppet->deadline_ns, index_of(puppet));
}

JZX_TEST(a_select_waits_for_futures_too, "E57") {
    set_up();
    jzx_promise *promise, *broken;
    jzx_future *future, *rejected;
    jzx_loop *loop = s.timing.loop;
    assert_int_equal(jzx_promise_create(loop, sizeof(uint64_t), &promise, &future), JZX_OK);
    assert_int_equal(jzx_promise_create(loop, 0, &broken, &rejected), JZX_OK);
    assert_false(puppet_do(&s.puppets[0], select_future, future, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[1], select_future, future, JZX_MS(1)));
    assert_false(puppet_do(&s.puppets[2], select_future_alone, rejected, JZX_NEVER));
    timing_advance(&s.timing, JZX_MS(1));
    done(&s.puppets[1], JZX_ERR_TIMEOUT, 99, 0);
    assert_false(puppet_do(&s.puppets[1], select_future, future, JZX_NEVER));
    assert_int_equal(number_channel_try_send(&s.first, 3), JZX_OK);
    timing_step(&s.timing);
    done(&s.puppets[0], JZX_OK, 0, 3);
    puppet_kill(&s.puppets[1]);
    assert_int_equal(jzx_promise_resolve(promise, &(uint64_t){4}), JZX_OK);
    assert_int_equal(jzx_promise_reject(broken, JZX_ERR_NO_SUCH_ACTOR, "gone"), JZX_OK);
    timing_step(&s.timing);
    done(&s.puppets[2], JZX_ERR_NO_SUCH_ACTOR, 0, 0);
    assert_true(puppet_do(&s.puppets[0], select_future, future, JZX_NEVER));
    done(&s.puppets[0], JZX_OK, 1, 4);
    const jzx_case for_threads[] = {jzx_future_case(future, NULL)};
    size_t index = 9;
    assert_int_equal(jzx_select_wait(JZX_CASES(for_threads), 0, &index), JZX_ERR_INVALID_ARG);
    jzx_future_release(future);
    jzx_future_release(rejected);
    tear_down();
}

JZX_TEST(cases_that_are_none_are_refused, "E57") {
    static number_channel unbounded, elsewhere;
    jzx_loop *other = fixture_loop();
    uint64_t value = 0;
    size_t index = 99;
    set_up();
    assert_int_equal(number_channel_init(s.timing.loop, &unbounded, JZX_UNBOUNDED), JZX_OK);
    assert_int_equal(number_channel_init(other, &elsewhere, 1), JZX_OK);
    const jzx_case wrong[][2] = {
        {jzx_gate_case(&s.gate), jzx_gate_case(NULL)},
        {jzx_gate_case(&s.gate), number_channel_case_receive(NULL, &value)},
        {jzx_gate_case(&s.gate), number_channel_case_receive(&s.first, NULL)},
        {jzx_gate_case(&s.gate), number_channel_case_send(&unbounded, &value)},
        {jzx_gate_case(&s.gate), number_channel_case_receive(&elsewhere, &value)},
        {jzx_gate_case(&s.gate), number_broadcast_case_read(NULL, &value)},
        {jzx_gate_case(&s.gate), {.kind = (jzx_case_kind)0}},
        {jzx_gate_case(&s.gate), {.kind = (jzx_case_kind)77}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(jzx_select_wait(JZX_CASES(wrong[i]), 0, &index), JZX_ERR_INVALID_ARG);
    const jzx_case many[] = {jzx_gate_case(&s.gate)};
    assert_int_equal(jzx_select_wait(many, 1, 1, 0, &index), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_select_wait(many, 0, sizeof many[0], 0, &index), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_select_wait(many, 1, sizeof many[0], 0, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_select_wait(NULL, 1, sizeof many[0], 0, &index), JZX_ERR_INVALID_ARG);
    assert_int_equal(index, 99);
    uint64_t before = jzx_test_runs();
    jzx_actor_id id = fixture_spawn(s.timing.loop, &JZX_SPAWN_OPTS(.behavior = be_refused));
    fixture_send(s.timing.loop, id, 1);
    timing_step(&s.timing);
    assert_int_equal(jzx_test_runs(), before + 1);
    fixture_destroy(other);
    assert_int_equal(number_channel_deinit(&unbounded), JZX_OK);
    assert_int_equal(number_channel_deinit(&elsewhere), JZX_OK);
    tear_down();
}
