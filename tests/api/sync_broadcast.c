/* SPDX-License-Identifier: MIT */
/* Broadcasts and latest values: each reader sees each value in order, or how many it has missed. */
#include "puppets.h"

enum { PUPPETS = 4, KEEP = 3, STEPS = 200 };

JZX_BROADCAST(number, uint64_t)
JZX_LATEST(number, uint64_t)

static struct {
    struct timing timing;
    struct puppet puppets[PUPPETS];
    jzx_reader readers[PUPPETS];
    number_broadcast news;
    number_latest latest;
} s;

static void set_up(void) {
    memset(&s, 0, sizeof s);
    s.timing = timing_open();
    JZX_EXPECT_EQ(number_broadcast_init(s.timing.loop, &s.news, KEEP), JZX_OK);
    JZX_EXPECT_EQ(number_latest_init(s.timing.loop, &s.latest, 100), JZX_OK);
    for (int i = 0; i < PUPPETS; i++) {
        puppet_spawn(&s.puppets[i], &s.timing);
        JZX_EXPECT_EQ(number_broadcast_subscribe(&s.news, &s.readers[i]), JZX_OK);
    }
}

static void tear_down(void) {
    timing_close(&s.timing);
    JZX_EXPECT_EQ(number_broadcast_deinit(&s.news), JZX_OK);
    JZX_EXPECT_EQ(number_latest_deinit(&s.latest), JZX_OK);
}

static jzx_err read_next(jzx_context *ctx, struct puppet *puppet) {
    return number_broadcast_read(ctx, puppet->object, puppet->deadline_ns, &puppet->value);
}

/* puppet->number is the version that it knows. */
static jzx_err await_change(jzx_context *ctx, struct puppet *puppet) {
    return number_latest_changed(ctx, puppet->object, &puppet->number, puppet->deadline_ns,
                                 &puppet->value);
}

static void publish(uint64_t value) {
    JZX_EXPECT_EQ(number_broadcast_publish(&s.news, value), JZX_OK);
    timing_step(&s.timing);
}

static void has_read(const struct puppet *puppet, uint64_t value) {
    if (puppet_gets(puppet, JZX_OK))
        JZX_EXPECT_EQ(puppet->value, value);
}

JZX_TEST(each_reader_sees_each_value_in_order, "E57") {
    set_up();
    for (int i = 0; i < 3; i++)
        assert_false(puppet_do(&s.puppets[i], read_next, &s.readers[i], JZX_NEVER));
    publish(1);
    for (int i = 0; i < 3; i++)
        has_read(&s.puppets[i], 1);
    publish(2);
    publish(3);
    for (uint64_t value = 1; value <= 3; value++) { /* one that has not read yet */
        puppet_do(&s.puppets[3], read_next, &s.readers[3], 0);
        has_read(&s.puppets[3], value);
    }
    puppet_expect(&s.puppets[3], read_next, &s.readers[3], JZX_ERR_TIMEOUT);
    jzx_reader late;
    assert_int_equal(number_broadcast_subscribe(&s.news, &late), JZX_OK);
    uint64_t value = 0;
    assert_int_equal(number_broadcast_try_read(&late, &value), JZX_ERR_TIMEOUT); /* from now on */
    publish(4);
    assert_int_equal(number_broadcast_read_wait(&late, 0, &value), JZX_OK);
    assert_int_equal(value, 4);
    tear_down();
}

JZX_TEST(a_reader_that_lags_is_told_how_much_and_goes_on_with_the_oldest, "E57") {
    set_up();
    for (uint64_t i = 1; i <= 5; i++)
        publish(i);
    puppet_expect(&s.puppets[0], read_next, &s.readers[0], JZX_ERR_LAGGED);
    assert_int_equal(s.readers[0].missed, 2);
    for (uint64_t value = 3; value <= 5; value++) {
        puppet_do(&s.puppets[0], read_next, &s.readers[0], 0);
        has_read(&s.puppets[0], value);
        assert_int_equal(s.readers[0].missed, 0);
    }
    /* It lags while it is woken, too. */
    assert_false(puppet_do(&s.puppets[0], read_next, &s.readers[0], JZX_NEVER));
    for (uint64_t i = 6; i <= 9; i++)
        JZX_EXPECT_EQ(number_broadcast_publish(&s.news, i), JZX_OK);
    timing_step(&s.timing);
    puppet_gets(&s.puppets[0], JZX_ERR_LAGGED);
    assert_int_equal(s.readers[0].missed, 1);
    tear_down();
}

JZX_TEST(a_closed_broadcast_is_read_to_its_end, "E57") {
    set_up();
    publish(1);
    puppet_do(&s.puppets[1], read_next, &s.readers[1], 0);
    assert_false(puppet_do(&s.puppets[1], read_next, &s.readers[1], JZX_NEVER));
    assert_int_equal(number_broadcast_deinit(&s.news), JZX_ERR_BUSY);
    assert_int_equal(number_broadcast_close(&s.news), JZX_OK);
    assert_int_equal(number_broadcast_publish(&s.news, 2), JZX_ERR_CLOSED);
    timing_step(&s.timing);
    puppet_gets(&s.puppets[1], JZX_ERR_CLOSED);
    puppet_do(&s.puppets[0], read_next, &s.readers[0], 0);
    has_read(&s.puppets[0], 1);
    puppet_expect(&s.puppets[0], read_next, &s.readers[0], JZX_ERR_CLOSED);
    tear_down();
}

JZX_TEST(of_a_latest_value_only_the_last_counts, "E57") {
    uint64_t value = 0, version = 0;
    set_up();
    puppet_do(&s.puppets[0], await_change, &s.latest, JZX_NEVER); /* it knows none yet */
    has_read(&s.puppets[0], 100);
    assert_false(puppet_do(&s.puppets[0], await_change, &s.latest, JZX_NEVER));
    puppet_expect(&s.puppets[1], await_change, &s.latest, JZX_OK);
    assert_int_equal(number_latest_set(&s.latest, 101), JZX_OK);
    assert_int_equal(number_latest_set(&s.latest, 102), JZX_OK);
    timing_step(&s.timing);
    has_read(&s.puppets[0], 102);
    assert_int_equal(number_latest_get(&s.latest, &value, &version), JZX_OK);
    assert_int_equal(value, 102);
    assert_int_equal(version, s.puppets[0].number);
    puppet_expect(&s.puppets[0], await_change, &s.latest, JZX_ERR_TIMEOUT);
    assert_int_equal(number_latest_changed_wait(&s.latest, &version, 0, &value), JZX_ERR_TIMEOUT);
    assert_int_equal(number_latest_get(&s.latest, &value, NULL), JZX_OK);
    tear_down();
}

JZX_TEST(broadcasts_that_are_none_are_refused, "E57") {
    number_broadcast none = {0};
    jzx_reader reader = {.from = &none.broadcast};
    uint64_t value, version = 0;
    set_up();
    assert_int_equal(number_broadcast_init(s.timing.loop, &s.news, 1), JZX_ERR_BUSY);
    assert_int_equal(number_broadcast_init(s.timing.loop, &none, 0), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_broadcast_init(s.timing.loop, &none, SIZE_MAX), JZX_ERR_INVALID_ARG);
    fixture_fail_allocations(0, UINT64_MAX);
    assert_int_equal(number_broadcast_init(s.timing.loop, &none, 1), JZX_ERR_NO_MEMORY);
    fixture_fail_allocations(UINT64_MAX, 0);
    assert_int_equal(number_broadcast_publish(&none, 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_broadcast_publish(NULL, 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_broadcast_close(&none), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_broadcast_subscribe(&none, &reader), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_broadcast_subscribe(&s.news, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_broadcast_try_read(&reader, &value), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_broadcast_read_wait(NULL, 0, &value), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_broadcast_try_read(&s.readers[0], NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_broadcast_deinit(&none), JZX_ERR_INVALID_ARG);
    assert_int_equal(number_latest_changed_wait(NULL, &version, 0, &value), JZX_ERR_INVALID_ARG);
    puppet_expect(&s.puppets[0], read_next, &reader, JZX_ERR_INVALID_ARG);
    assert_int_equal(number_broadcast_try_read(&s.readers[0], &value), JZX_ERR_TIMEOUT);
    tear_down();
}

/* ---- random programs against the list of all values ---- */

static struct {
    uint64_t random;
    uint64_t published; /* value i is i */
    uint64_t next[PUPPETS];
    bool waits[PUPPETS];
    uint64_t deadlines[PUPPETS];
    jzx_err expected[PUPPETS];
    bool held;
} m;

static void expect(bool held) {
    m.held = m.held && held;
}

/* What its read comes to; false if it waits. */
static bool model_read(int index) {
    uint64_t oldest = m.published < KEEP ? 0 : m.published - KEEP;
    if (m.next[index] < oldest) {
        m.next[index] = oldest;
        m.expected[index] = JZX_ERR_LAGGED;
    } else if (m.next[index] < m.published) {
        m.next[index]++;
        m.expected[index] = JZX_OK;
    } else {
        return false;
    }
    m.waits[index] = false;
    return true;
}

static void step_publish(void) {
    uint64_t count = 1 + random_below(&m.random, KEEP + 2);
    while (count-- != 0)
        expect(number_broadcast_publish(&s.news, m.published++) == JZX_OK);
    timing_step(&s.timing);
    for (int i = 0; i < PUPPETS; i++) {
        if (m.waits[i])
            model_read(i);
    }
}

/* Every third time as an operation. */
static jzx_err read_either(jzx_context *ctx, struct puppet *puppet) {
    jzx_op op = JZX_NO_OP;
    if (!puppet_by_op(puppet))
        return read_next(ctx, puppet);
    jzx_err begun = number_broadcast_read_to(ctx, puppet->object, TAG_RESULT, &op);
    return puppet_await(ctx, begun, op, &puppet->value, sizeof puppet->value);
}

static void step_read(int index) {
    uint64_t now_ns = jzx_clock_now(s.timing.clock);
    uint64_t deadline_ns =
        random_below(&m.random, 2) ? JZX_NEVER : now_ns + JZX_MS(random_below(&m.random, 4));
    if (!model_read(index)) {
        m.waits[index] = deadline_ns > now_ns;
        m.deadlines[index] = deadline_ns;
        m.expected[index] = JZX_ERR_TIMEOUT;
    }
    puppet_do(&s.puppets[index], read_either, &s.readers[index], deadline_ns);
}

static void step_time(void) {
    timing_advance(&s.timing, JZX_MS(1));
    for (int i = 0; i < PUPPETS; i++)
        m.waits[i] = m.waits[i] && m.deadlines[i] > jzx_clock_now(s.timing.clock);
}

static void step_kill(int index) {
    puppet_kill(&s.puppets[index]);
    puppet_spawn(&s.puppets[index], &s.timing);
    m.waits[index] = false;
    m.expected[index] = JZX_OK;
    s.puppets[index].value = m.next[index] - 1;
}

static bool play(uint64_t seed) {
    memset(&m, 0, sizeof m);
    m.random = seed;
    m.held = true;
    set_up();
    for (int step = 0; step < STEPS && m.held; step++) {
        int index = (int)random_below(&m.random, PUPPETS);
        uint64_t choice = random_below(&m.random, 10);
        if (choice < 2)
            step_publish();
        else if (choice == 2)
            step_time();
        else if (choice == 3)
            step_kill(index);
        else if (!m.waits[index])
            step_read(index);
        for (int i = 0; i < PUPPETS; i++) {
            expect(JZX_EXPECT_EQ(puppet_waits(&s.puppets[i]), m.waits[i]));
            expect(JZX_EXPECT_EQ(s.readers[i].next, m.next[i]));
            if (!m.waits[i] && s.puppets[i].begun != 0) {
                expect(JZX_EXPECT_EQ(s.puppets[i].result, m.expected[i]));
                if (m.expected[i] == JZX_OK)
                    expect(JZX_EXPECT_EQ(s.puppets[i].value, m.next[i] - 1));
            }
        }
    }
    tear_down();
    return m.held;
}

JZX_TEST(random_programs_with_a_broadcast_are_those_of_a_list, "E57") {
    run_seeds("sync_broadcast.random_programs_with_a_broadcast_are_those_of_a_list",
              jzx_test_rounds(1500, 20000), play);
}
