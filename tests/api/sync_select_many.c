/* SPDX-License-Identifier: MIT */
/* Select of more cases than a call has room for on its stack: in each form, with each end. */
#include "puppets.h"

JZX_CHANNEL(number, uint64_t)

enum { PUPPETS = 2, CHANNELS = 1000 };

static struct {
    struct timing timing;
    struct puppet puppets[PUPPETS];
    number_channel channels[CHANNELS];
    jzx_promise *promise;
    jzx_future *future;
    jzx_case cases[CHANNELS + 1];
    uint64_t values[CHANNELS + 1];
    size_t count; /* of the cases: channels, and if it is a fiber's, the future as the last */
    size_t index;
} s;

static void set_up(void) {
    memset(&s, 0, sizeof s);
    s.timing = timing_open();
    for (int i = 0; i < PUPPETS; i++)
        puppet_spawn(&s.puppets[i], &s.timing);
    for (size_t i = 0; i < CHANNELS; i++)
        JZX_EXPECT_EQ(number_channel_init(s.timing.loop, &s.channels[i], 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_promise_create(s.timing.loop, 8, &s.promise, &s.future), JZX_OK);
}

static void tear_down(void) {
    jzx_promise_drop(s.promise);
    (void)jzx_future_error(s.future, NULL);
    jzx_future_release(s.future);
    timing_close(&s.timing);
    for (size_t i = 0; i < CHANNELS; i++)
        JZX_EXPECT_EQ(number_channel_deinit(&s.channels[i]), JZX_OK);
}

/* count channels. */
static void choose_channels(size_t count) {
    s.count = count;
    s.index = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        s.cases[i] = number_channel_case_receive(&s.channels[i], &s.values[i]);
}

static void choose_with_future(size_t count) {
    choose_channels(count);
    s.cases[s.count] = jzx_future_case(s.future, &s.values[s.count]);
    s.count++;
}

static jzx_err in_fiber(jzx_context *ctx, struct puppet *puppet) {
    return jzx_select(ctx, s.cases, s.count, sizeof s.cases[0], puppet->deadline_ns, &s.index);
}

static jzx_err by_message(jzx_context *ctx, struct puppet *puppet) {
    jzx_op op = 0;
    jzx_err err = jzx_select_to(ctx, s.cases, s.count, sizeof s.cases[0], TAG_RESULT, &op);
    (void)puppet;
    return puppet_await(ctx, err, op, &s.index, sizeof s.index);
}

static const puppet_fn forms[] = {in_fiber, by_message};

/* No other channel has lost anything. */
static void expect_untouched(size_t won) {
    for (size_t i = 0; i < CHANNELS; i++) {
        uint64_t value = 0;
        if (i == won)
            continue;
        JZX_EXPECT_EQ(number_channel_try_send(&s.channels[i], i), JZX_OK);
        JZX_EXPECT_EQ(number_channel_try_receive(&s.channels[i], &value), JZX_OK);
        JZX_EXPECT_EQ(value, i);
    }
}

JZX_TEST(a_select_waits_for_as_many_as_it_is_given, "E57") {
    static const size_t counts[] = {15, 16, 17, 100, CHANNELS};
    set_up();
    for (size_t i = 0; i < 2 * sizeof counts / sizeof counts[0]; i++) {
        const size_t won = counts[i / 2] - 1; /* the last channel */
        choose_with_future(counts[i / 2]);
        s.values[won] = 0;
        assert_false(puppet_do(&s.puppets[0], forms[i % 2], NULL, JZX_NEVER));
        assert_int_equal(number_channel_try_send(&s.channels[won], 500 + i), JZX_OK);
        timing_step(&s.timing);
        puppet_gets(&s.puppets[0], JZX_OK);
        assert_int_equal(s.index, won);
        assert_int_equal(s.values[won], 500 + i);
        expect_untouched(CHANNELS);
    }
    for (size_t i = 0; i < 2; i++) { /* at once, and of several the first */
        choose_channels(CHANNELS);
        assert_int_equal(number_channel_try_send(&s.channels[30], 3), JZX_OK);
        assert_int_equal(number_channel_try_send(&s.channels[20], 2), JZX_OK);
        assert_true(puppet_do(&s.puppets[0], forms[i], NULL, JZX_NEVER));
        assert_int_equal(s.index, 20);
        assert_true(puppet_do(&s.puppets[0], forms[i], NULL, JZX_NEVER));
        assert_int_equal(s.index, 30);
    }
    tear_down();
}

JZX_TEST(the_last_of_many_cases_may_be_a_future, "E57") {
    set_up();
    choose_with_future(CHANNELS);
    assert_false(puppet_do(&s.puppets[0], in_fiber, NULL, JZX_NEVER));
    assert_int_equal(jzx_promise_resolve(s.promise, &(uint64_t){77}), JZX_OK);
    s.promise = NULL;
    timing_step(&s.timing);
    puppet_gets(&s.puppets[0], JZX_OK);
    assert_int_equal(s.index, CHANNELS);
    assert_int_equal(s.values[CHANNELS], 77);
    s.values[CHANNELS] = 0;
    assert_true(puppet_do(&s.puppets[0], by_message, NULL, JZX_NEVER));
    assert_int_equal(s.index, CHANNELS);
    assert_int_equal(s.values[CHANNELS], 77);
    tear_down();
}

static void *wait_in_thread(void *arg) {
    jzx_err *err = arg;
    *err = jzx_select_wait(s.cases, s.count, sizeof s.cases[0], JZX_NEVER, &s.index);
    return NULL;
}

JZX_TEST(a_thread_selects_of_many, "E57") {
    set_up();
    choose_channels(CHANNELS);
    puppet_expect(&s.puppets[0], in_fiber, NULL, JZX_ERR_TIMEOUT); /* as a fiber does */
    for (size_t i = 0; i < 2; i++) { /* it may wait already, or not yet */
        pthread_t thread;
        jzx_err err = JZX_ERR_UNKNOWN;
        choose_channels(CHANNELS);
        assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, &err), 0);
        assert_int_equal(number_channel_try_send(&s.channels[999], 9), JZX_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(err, JZX_OK);
        assert_int_equal(s.index, 999);
        assert_int_equal(s.values[999], 9);
    }
    assert_int_equal(jzx_select_wait(s.cases, s.count, sizeof s.cases[0], 0, &s.index),
                     JZX_ERR_TIMEOUT);
    expect_untouched(CHANNELS);
    tear_down();
}

JZX_TEST(a_select_of_many_that_is_not_won_has_consumed_nothing, "E57") {
    set_up();
    for (size_t i = 0; i < 2; i++) {
        choose_with_future(CHANNELS);
        assert_false(
            puppet_do(&s.puppets[i], forms[i], NULL, jzx_clock_now(s.timing.clock) + JZX_MS(1)));
        timing_advance(&s.timing, JZX_MS(1));
        puppet_gets(&s.puppets[i], JZX_ERR_TIMEOUT);
        assert_int_equal(s.index, SIZE_MAX);
        expect_untouched(CHANNELS);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_false(puppet_do(&s.puppets[i], forms[i], NULL, JZX_NEVER));
        assert_int_equal(number_channel_try_send(&s.channels[700], 5), JZX_OK);
        puppet_kill(&s.puppets[i]); /* promised to it, which is given back */
        uint64_t value = 0;
        assert_int_equal(number_channel_try_receive(&s.channels[700], &value), JZX_OK);
        assert_int_equal(value, 5);
        expect_untouched(CHANNELS);
    }
    tear_down();
}

JZX_TEST(a_fiber_that_is_killed_in_a_select_of_many_leaves_no_memory, "E57") {
    set_up();
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 20; i++) {
        choose_with_future(CHANNELS);
        puppet_spawn(&s.puppets[0], &s.timing);
        assert_false(puppet_do(&s.puppets[0], forms[i % 2], NULL, JZX_NEVER));
        puppet_kill(&s.puppets[0]);
        if (i == 9)
            bytes = fixture_bytes();
    }
    assert_int_equal(fixture_bytes(), bytes);
    expect_untouched(CHANNELS);
    tear_down();
}

static jzx_err and_give_back(jzx_context *ctx, struct puppet *puppet) {
    jzx_heap_info before = {.size = sizeof before};
    jzx_heap_info after = {.size = sizeof after};
    JZX_EXPECT_EQ(jzx_heap_info_get(ctx, &before), JZX_OK);
    jzx_err err = in_fiber(ctx, puppet);
    JZX_EXPECT_EQ(jzx_heap_info_get(ctx, &after), JZX_OK);
    JZX_EXPECT_EQ(after.used_bytes, before.used_bytes);
    JZX_EXPECT(after.peak_bytes > before.used_bytes);
    return err;
}

JZX_TEST(sixteen_cases_take_no_memory, "E57") {
    set_up();
    choose_channels(16);
    assert_false(
        puppet_do(&s.puppets[0], in_fiber, NULL, jzx_clock_now(s.timing.clock) + JZX_MS(1)));
    timing_advance(&s.timing, JZX_MS(1)); /* what a first wait takes is there */
    uint64_t before = fixture_allocations();
    assert_int_equal(jzx_select_wait(s.cases, s.count, sizeof s.cases[0], 0, &s.index),
                     JZX_ERR_TIMEOUT);
    assert_true(puppet_do(&s.puppets[0], in_fiber, NULL, 0));
    assert_int_equal(fixture_allocations(), before);
    choose_channels(17);
    assert_true(puppet_do(&s.puppets[0], and_give_back, NULL, 0));
    puppet_gets(&s.puppets[0], JZX_ERR_TIMEOUT);
    assert_true(fixture_allocations() > before);
    tear_down();
}

/* Each form without its nth allocation: it says so, and has waited for nothing. */
JZX_TEST(a_select_of_many_says_so_when_the_nth_allocation_fails, "E57") {
    uint32_t failed = 0;
    set_up();
    choose_channels(CHANNELS);
    for (uint64_t nth = 0; nth < 12; nth++) {
        for (size_t form = 0; form < 3; form++) {
            jzx_err err = JZX_ERR_TIMEOUT;
            puppet_kill(&s.puppets[0]); /* a new one has no heap yet */
            puppet_spawn(&s.puppets[0], &s.timing);
            s.puppets[0].fn = form < 2 ? forms[form] : NULL;
            if (form < 2)
                fixture_send(s.timing.loop, s.puppets[0].id, TAG_OBEY);
            fixture_fail_allocations(nth, 1);
            if (form == 2)
                err = jzx_select_wait(s.cases, s.count, sizeof s.cases[0], 0, &s.index);
            timing_step(&s.timing);
            fixture_fail_allocations(UINT64_MAX, 0);
            if (form < 2 && JZX_EXPECT(!puppet_waits(&s.puppets[0])))
                err = s.puppets[0].result;
            JZX_EXPECT(err == JZX_ERR_TIMEOUT || err == JZX_ERR_NO_MEMORY);
            failed += err == JZX_ERR_NO_MEMORY;
            expect_untouched(CHANNELS);
        }
    }
    assert_true(failed >= 3);
    tear_down();
}

static jzx_behavior_result be_refused(jzx_context *ctx, const jzx_message *msg) {
    size_t index = 99;
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_select(ctx, s.cases, s.count, sizeof s.cases[0], 0, &index),
                  JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_select_wait(s.cases, s.count, sizeof s.cases[0], 0, &index),
                  JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(index, 99);
    return JZX_BEHAVIOR_STOP;
}

/* A quota that has no room for the block. */
static jzx_err beyond_quota(jzx_context *ctx, struct puppet *puppet) {
    JZX_EXPECT_EQ(jzx_heap_set_quota(ctx, 4096), JZX_OK);
    return in_fiber(ctx, puppet);
}

JZX_TEST(a_select_of_many_is_refused_as_any_other, "E57") {
    static jzx_case too_many[JZX_SELECT_MAX + 1];
    set_up();
    choose_channels(CHANNELS);
    uint64_t before = jzx_test_runs();
    jzx_actor_id id = fixture_spawn(s.timing.loop, &JZX_SPAWN_OPTS(.behavior = be_refused));
    fixture_send(s.timing.loop, id, 1);
    timing_step(&s.timing);
    assert_int_equal(jzx_test_runs(), before + 1);
    assert_int_equal(jzx_select(NULL, s.cases, s.count, sizeof s.cases[0], 0, &s.index),
                     JZX_ERR_INVALID_ARG);
    puppet_expect(&s.puppets[0], beyond_quota, NULL, JZX_ERR_NO_MEMORY);
    s.cases[CHANNELS - 1] = number_channel_case_receive(NULL, &s.values[0]);
    puppet_expect(&s.puppets[0], in_fiber, NULL, JZX_ERR_INVALID_ARG);
    puppet_expect(&s.puppets[0], by_message, NULL, JZX_ERR_INVALID_ARG);
    choose_with_future(CHANNELS);
    assert_int_equal(jzx_select_wait(s.cases, s.count, sizeof s.cases[0], 0, &s.index),
                     JZX_ERR_INVALID_ARG); /* no futures for threads */
    for (size_t i = 0; i <= JZX_SELECT_MAX; i++)
        too_many[i] = number_channel_case_receive(&s.channels[i % CHANNELS], &s.values[0]);
    assert_int_equal(jzx_select_wait(too_many, JZX_SELECT_MAX + 1, sizeof too_many[0], 0, &s.index),
                     JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_select_wait(too_many, JZX_SELECT_MAX, sizeof too_many[0], 0, &s.index),
                     JZX_ERR_TIMEOUT);
    assert_int_equal(s.index, SIZE_MAX);
    tear_down();
}
