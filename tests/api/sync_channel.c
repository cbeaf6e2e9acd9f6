/* SPDX-License-Identifier: MIT */
/* Channels and oneshots: order, room, ends, and waits that consume nothing. */
#include "puppets.h"

enum { PUPPETS = 5, CAPACITY = 2 };

JZX_CHANNEL(number, uint64_t)
JZX_ONESHOT(number, uint64_t)

struct wide {
    char text[300];
    uint64_t number;
};
JZX_CHANNEL(wide, struct wide)

static struct {
    struct timing timing;
    struct puppet puppets[PUPPETS];
    number_channel channel;
} s;

static void set_up(void) {
    memset(&s, 0, sizeof s);
    s.timing = timing_open();
    for (int i = 0; i < PUPPETS; i++)
        puppet_spawn(&s.puppets[i], &s.timing);
    assert_int_equal(number_channel_init(s.timing.loop, &s.channel, CAPACITY), JZX_OK);
}

static void tear_down(void) {
    timing_close(&s.timing);
    assert_int_equal(number_channel_deinit(&s.channel), JZX_OK);
}

static jzx_err send(jzx_context *ctx, struct puppet *puppet) {
    return number_channel_send(ctx, puppet->object, puppet->number, puppet->deadline_ns);
}

static jzx_err receive(jzx_context *ctx, struct puppet *puppet) {
    return number_channel_receive(ctx, puppet->object, puppet->deadline_ns, &puppet->value);
}

static jzx_err receive_oneshot(jzx_context *ctx, struct puppet *puppet) {
    return number_oneshot_receive(ctx, puppet->object, puppet->deadline_ns, &puppet->value);
}

static bool do_send(struct puppet *puppet, uint64_t number, uint64_t deadline_ns) {
    puppet->number = number;
    return puppet_do(puppet, send, &s.channel, deadline_ns);
}

static bool do_receive(struct puppet *puppet, uint64_t deadline_ns) {
    puppet->value = 0;
    return puppet_do(puppet, receive, &s.channel, deadline_ns);
}

static void has_value(const struct puppet *puppet, uint64_t value) {
    if (puppet_gets(puppet, JZX_OK))
        JZX_EXPECT_EQ(puppet->value, value);
}

/* ---- order and room ---- */

JZX_TEST(values_come_in_the_order_of_their_sending, "E57") {
    set_up();
    assert_true(do_send(&s.puppets[0], 1, 0));
    assert_true(do_send(&s.puppets[0], 2, 0));
    assert_int_equal(number_channel_count(&s.channel), 2);
    assert_false(do_send(&s.puppets[0], 3, JZX_NEVER)); /* there is no room */
    assert_false(do_send(&s.puppets[1], 4, JZX_NEVER));
    assert_int_equal(number_channel_try_send(&s.channel, 5), JZX_ERR_TIMEOUT);
    assert_int_equal(info_of(s.timing.loop, s.puppets[0].id).wait, JZX_WAIT_CHANNEL);
    for (uint64_t i = 1; i <= 4; i++) {
        assert_true(do_receive(&s.puppets[2], 0));
        has_value(&s.puppets[2], i);
        assert_int_equal(puppet_waits(&s.puppets[0]), i < 1);
        assert_int_equal(puppet_waits(&s.puppets[1]), i < 2);
    }
    puppet_gets(&s.puppets[0], JZX_OK);
    puppet_gets(&s.puppets[1], JZX_OK);
    do_receive(&s.puppets[2], 0);
    puppet_gets(&s.puppets[2], JZX_ERR_TIMEOUT);
    tear_down();
}

JZX_TEST(receivers_are_served_in_order_and_each_once, "E57") {
    set_up();
    for (int i = 0; i < 3; i++)
        assert_false(do_receive(&s.puppets[i], JZX_NEVER));
    for (uint64_t i = 0; i < 3; i++) {
        assert_true(do_send(&s.puppets[3], 10 + i, JZX_NEVER));
        for (uint64_t k = 0; k < 3; k++)
            JZX_EXPECT_EQ(puppet_waits(&s.puppets[k]), k > i);
        has_value(&s.puppets[i], 10 + i);
    }
    assert_int_equal(number_channel_count(&s.channel), 0);
    tear_down();
}

JZX_TEST(a_value_that_is_promised_is_not_taken_by_others, "E57") {
    uint64_t value = 0;
    set_up();
    assert_false(do_receive(&s.puppets[0], JZX_NEVER));
    assert_int_equal(number_channel_try_send(&s.channel, 7), JZX_OK);
    assert_int_equal(number_channel_try_receive(&s.channel, &value), JZX_ERR_TIMEOUT);
    assert_int_equal(number_channel_count(&s.channel), 1); /* not received yet */
    timing_step(&s.timing);
    has_value(&s.puppets[0], 7);
    tear_down();
}

/* ---- waits that consume nothing ---- */

JZX_TEST(a_receive_that_timed_out_or_was_cancelled_consumes_nothing, "E57", "E+sem", "E+mode") {
    set_up();
    assert_false(do_receive(&s.puppets[0], JZX_MS(3)));
    assert_false(do_receive(&s.puppets[1], JZX_NEVER));
    timing_advance(&s.timing, JZX_MS(3));
    puppet_gets(&s.puppets[0], JZX_ERR_TIMEOUT);
    assert_int_equal(s.puppets[0].value, 0);
    jzx_actor_stop(s.timing.loop, s.puppets[1].id, JZX_STOP_AFTER_QUEUE);
    timing_step(&s.timing);
    puppet_gets(&s.puppets[1], JZX_ERR_CANCELLED);
    assert_true(do_send(&s.puppets[2], 9, 0));
    assert_int_equal(number_channel_count(&s.channel), 1);
    assert_true(do_receive(&s.puppets[3], 0));
    has_value(&s.puppets[3], 9);
    tear_down();
}

JZX_TEST(a_send_that_timed_out_or_was_cancelled_sends_nothing, "E57", "E+sem") {
    set_up();
    do_send(&s.puppets[0], 1, 0);
    do_send(&s.puppets[0], 2, 0);
    assert_false(do_send(&s.puppets[0], 3, JZX_MS(3)));
    assert_false(do_send(&s.puppets[1], 4, JZX_NEVER));
    assert_false(do_send(&s.puppets[2], 5, JZX_NEVER));
    timing_advance(&s.timing, JZX_MS(3));
    puppet_gets(&s.puppets[0], JZX_ERR_TIMEOUT);
    puppet_kill(&s.puppets[1]);
    for (uint64_t i = 0; i < 3; i++) {
        do_receive(&s.puppets[3], 0);
        has_value(&s.puppets[3], i < 2 ? i + 1 : 5);
    }
    puppet_gets(&s.puppets[2], JZX_OK);
    tear_down();
}

JZX_TEST(a_receiver_that_is_killed_before_it_goes_on_leaves_its_value, "E57", "E+sem") {
    uint64_t value = 0;
    set_up();
    for (int i = 0; i < 3; i++)
        assert_false(do_receive(&s.puppets[i], JZX_NEVER));
    assert_int_equal(number_channel_try_send(&s.channel, 1), JZX_OK);
    assert_int_equal(number_channel_try_send(&s.channel, 2), JZX_OK);
    jzx_actor_stop(s.timing.loop, s.puppets[0].id, JZX_STOP_KILL);
    timing_step(&s.timing);
    s.puppets[0].done = s.puppets[0].begun;
    puppet_gets(&s.puppets[1], JZX_OK); /* one each, whichever ran first */
    puppet_gets(&s.puppets[2], JZX_OK);
    assert_int_equal(s.puppets[1].value + s.puppets[2].value, 3);
    assert_false(do_receive(&s.puppets[1], JZX_NEVER));
    assert_int_equal(number_channel_try_send(&s.channel, 3), JZX_OK);
    jzx_actor_stop(s.timing.loop, s.puppets[1].id, JZX_STOP_KILL);
    timing_step(&s.timing);
    assert_int_equal(number_channel_try_receive(&s.channel, &value), JZX_OK); /* nobody waits */
    assert_int_equal(value, 3);
    tear_down();
}

/* ---- closing ---- */

JZX_TEST(a_closed_channel_is_drained_and_then_closed, "E57", "E+sem", "E+mode") {
    set_up();
    do_send(&s.puppets[0], 1, 0);
    do_send(&s.puppets[0], 2, 0);
    assert_false(do_send(&s.puppets[0], 3, JZX_NEVER));
    assert_false(number_channel_is_closed(&s.channel));
    assert_int_equal(number_channel_close(&s.channel), JZX_OK);
    assert_int_equal(number_channel_close(&s.channel), JZX_OK);
    assert_true(number_channel_is_closed(&s.channel));
    timing_step(&s.timing);
    puppet_gets(&s.puppets[0], JZX_ERR_CLOSED);
    do_send(&s.puppets[1], 4, JZX_NEVER);
    puppet_gets(&s.puppets[1], JZX_ERR_CLOSED);
    assert_int_equal(number_channel_try_send(&s.channel, 4), JZX_ERR_CLOSED);
    for (uint64_t i = 1; i <= 2; i++) {
        do_receive(&s.puppets[2], JZX_NEVER);
        has_value(&s.puppets[2], i);
    }
    do_receive(&s.puppets[2], JZX_NEVER);
    puppet_gets(&s.puppets[2], JZX_ERR_CLOSED);
    uint64_t value;
    assert_int_equal(number_channel_try_receive(&s.channel, &value), JZX_ERR_CLOSED);
    tear_down();
}

JZX_TEST(who_waits_for_a_value_is_told_of_the_close, "E57") {
    set_up();
    assert_false(do_receive(&s.puppets[0], JZX_NEVER));
    assert_false(do_receive(&s.puppets[1], JZX_NEVER));
    assert_false(do_receive(&s.puppets[2], JZX_NEVER));
    assert_int_equal(number_channel_try_send(&s.channel, 1), JZX_OK);
    assert_int_equal(number_channel_close(&s.channel), JZX_OK);
    jzx_actor_stop(s.timing.loop, s.puppets[0].id, JZX_STOP_KILL); /* to whom it is promised */
    timing_step(&s.timing);
    has_value(&s.puppets[1], 1); /* it was not drained before */
    puppet_gets(&s.puppets[2], JZX_ERR_CLOSED);
    tear_down();
}

/* ---- kinds of channels ---- */

JZX_TEST(an_unbounded_channel_takes_what_memory_holds, "E57") {
    number_channel many;
    set_up();
    memset(&many, 0, sizeof many);
    assert_int_equal(number_channel_init(s.timing.loop, &many, JZX_UNBOUNDED), JZX_OK);
    uint64_t sent = 0, received = 0, value;
    for (int round = 0; round < 200; round++) { /* also when the ring does not begin at 0 */
        for (int i = 0; i < 30; i++)
            assert_int_equal(number_channel_try_send(&many, sent++), JZX_OK);
        for (int i = 0; i < 25; i++) {
            assert_int_equal(number_channel_try_receive(&many, &value), JZX_OK);
            assert_int_equal(value, received++);
        }
    }
    assert_int_equal(number_channel_count(&many), sent - received);
    fixture_fail_allocations(0, UINT64_MAX);
    jzx_err err = JZX_OK;
    while (err == JZX_OK)
        err = number_channel_try_send(&many, sent++);
    fixture_fail_allocations(UINT64_MAX, 0);
    assert_int_equal(err, JZX_ERR_NO_MEMORY);
    sent--;
    assert_int_equal(number_channel_try_send(&many, sent++), JZX_OK);
    while (number_channel_try_receive(&many, &value) == JZX_OK)
        assert_int_equal(value, received++);
    assert_int_equal(received, sent);
    puppet_expect(&s.puppets[0], send, &many, JZX_OK);
    assert_int_equal(number_channel_deinit(&many), JZX_OK); /* with a value in it */
    tear_down();
}

JZX_TEST(values_of_any_size_arrive_whole, "E57") {
    static wide_channel wide;
    struct wide out = {.number = 5}, in;
    set_up();
    memset(out.text, 'x', sizeof out.text);
    assert_int_equal(wide_channel_init(s.timing.loop, &wide, 3), JZX_OK);
    for (int i = 0; i < 10; i++) {
        out.number++;
        out.text[i] = 'y';
        assert_int_equal(wide_channel_try_send(&wide, out), JZX_OK);
        assert_int_equal(wide_channel_try_receive(&wide, &in), JZX_OK);
        assert_memory_equal(&in, &out, sizeof in);
    }
    puppet_expect(&s.puppets[0], receive, &s.channel, JZX_ERR_TIMEOUT);
    assert_int_equal(wide_channel_deinit(&wide), JZX_OK);
    tear_down();
}

JZX_TEST(a_oneshot_is_sent_once_and_received_once, "E57") {
    static number_oneshot first, second;
    set_up();
    assert_int_equal(number_oneshot_init(s.timing.loop, &first), JZX_OK);
    assert_int_equal(number_oneshot_init(s.timing.loop, &second), JZX_OK);
    assert_false(puppet_do(&s.puppets[0], receive_oneshot, &first, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[1], receive_oneshot, &first, JZX_NEVER));
    assert_int_equal(number_oneshot_send(&first, 42), JZX_OK);
    assert_int_equal(number_oneshot_send(&first, 43), JZX_ERR_CLOSED);
    assert_true(number_oneshot_is_closed(&first));
    timing_step(&s.timing);
    has_value(&s.puppets[0], 42);
    puppet_gets(&s.puppets[1], JZX_ERR_CLOSED);
    puppet_expect(&s.puppets[1], receive_oneshot, &first, JZX_ERR_CLOSED);
    assert_false(puppet_do(&s.puppets[0], receive_oneshot, &second, JZX_NEVER));
    assert_int_equal(number_oneshot_close(&second), JZX_OK); /* it will not come */
    timing_step(&s.timing);
    puppet_gets(&s.puppets[0], JZX_ERR_CLOSED);
    assert_int_equal(number_oneshot_deinit(&first), JZX_OK);
    assert_int_equal(number_oneshot_deinit(&second), JZX_OK);
    tear_down();
}

/* ---- behaviours ---- */

static jzx_behavior_result be_relay(jzx_context *ctx, const jzx_message *msg) {
    uint64_t value;
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(number_channel_send(ctx, &s.channel, 1, 0), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(number_channel_receive(ctx, &s.channel, 0, &value), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(number_channel_send_wait(&s.channel, 1, 0), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(number_channel_receive_wait(&s.channel, 0, &value), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(number_channel_try_send(&s.channel, 8), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_behaviour_tries_to_send_and_does_not_wait, "E57") {
    set_up();
    assert_false(do_receive(&s.puppets[0], JZX_NEVER));
    jzx_actor_id id = fixture_spawn(s.timing.loop, &JZX_SPAWN_OPTS(.behavior = be_relay));
    uint64_t before = jzx_test_runs();
    fixture_send(s.timing.loop, id, 1);
    timing_step(&s.timing);
    assert_int_equal(jzx_test_runs(), before + 1);
    has_value(&s.puppets[0], 8);
    tear_down();
}

/* ---- threads ---- */

static void *send_from_thread(void *arg) {
    (void)arg;
    for (uint64_t i = 1; i <= 100; i++)
        JZX_EXPECT_EQ(number_channel_send_wait(&s.channel, i, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(number_channel_close(&s.channel), JZX_OK);
    return NULL;
}

static void receive_all(jzx_context *ctx) {
    uint64_t value, next = 1;
    while (number_channel_receive(ctx, &s.channel, JZX_NEVER, &value) == JZX_OK)
        JZX_EXPECT_EQ(value, next++);
    JZX_EXPECT_EQ(next, 101);
    jzx_test_ran();
}

JZX_TEST(a_thread_waits_for_room_and_a_fiber_for_values, "E57") {
    pthread_t thread;
    jzx_loop *loop = fixture_loop();
    memset(&s, 0, sizeof s);
    assert_int_equal(number_channel_init(loop, &s.channel, CAPACITY), JZX_OK);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = receive_all));
    assert_int_equal(pthread_create(&thread, NULL, send_from_thread, NULL), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(loop);
    assert_int_equal(number_channel_deinit(&s.channel), JZX_OK);
}

static jzx_err thread_result;

static void *receive_until(void *arg) {
    uint64_t value;
    (void)arg;
    thread_result = number_channel_receive_wait(&s.channel, JZX_MS(10), &value);
    return NULL;
}

JZX_TEST(the_deadline_of_a_thread_follows_a_clock_that_is_moved_by_hand, "E57") {
    pthread_t thread;
    uint64_t value;
    set_up();
    assert_int_equal(number_channel_receive_wait(&s.channel, 0, &value), JZX_ERR_TIMEOUT);
    assert_int_equal(pthread_create(&thread, NULL, receive_until, NULL), 0);
    timing_advance(&s.timing, JZX_MS(10) - 1);
    timing_advance(&s.timing, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(thread_result, JZX_ERR_TIMEOUT);
    assert_true(do_send(&s.puppets[0], 1, 0));
    tear_down();
}

/* ---- misuse ---- */

JZX_TEST(channels_that_are_none_are_refused, "E57") {
    number_channel copy = {0}, none = {0};
    uint64_t value = 0;
    set_up();
    copy = s.channel;
    assert_int_equal(number_channel_init(s.timing.loop, &s.channel, 1), JZX_ERR_BUSY);
    assert_int_equal(number_channel_init(s.timing.loop, &none, 0), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_channel_init(NULL, &none, 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_channel_init(s.timing.loop, NULL, 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_channel_init(s.timing.loop, &none, SIZE_MAX - 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_channel_init(s.timing.loop, &none.channel, 1, 0), JZX_ERR_INVALID_ARG);
    fixture_fail_allocations(0, UINT64_MAX);
    assert_int_equal(number_channel_init(s.timing.loop, &none, 1), JZX_ERR_NO_MEMORY);
    fixture_fail_allocations(UINT64_MAX, 0);
    number_channel *const wrong[] = {NULL, &copy, &none};
    for (int i = 0; i < 3; i++) {
        puppet_expect(&s.puppets[0], send, wrong[i], JZX_ERR_INVALID_ARG);
        puppet_expect(&s.puppets[0], receive, wrong[i], JZX_ERR_INVALID_ARG);
        assert_int_equal(number_channel_try_send(wrong[i], 1), JZX_ERR_INVALID_ARG);
        assert_int_equal(number_channel_try_receive(wrong[i], &value), JZX_ERR_INVALID_ARG);
        assert_int_equal(number_channel_send_wait(wrong[i], 1, 0), JZX_ERR_INVALID_ARG);
        assert_int_equal(number_channel_close(wrong[i]), JZX_ERR_INVALID_ARG);
        assert_int_equal(number_channel_deinit(wrong[i]), JZX_ERR_INVALID_ARG);
        assert_int_equal(number_channel_count(wrong[i]), 0);
        assert_false(number_channel_is_closed(wrong[i]));
    }
    assert_int_equal(number_channel_try_receive(&s.channel, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_channel_try_send(&s.channel.channel, NULL), JZX_ERR_INVALID_ARG);
    assert_false(do_receive(&s.puppets[0], JZX_NEVER));
    assert_int_equal(number_channel_deinit(&s.channel), JZX_ERR_BUSY);
    do_send(&s.puppets[1], 1, 0);
    has_value(&s.puppets[0], 1);
    tear_down();
}
