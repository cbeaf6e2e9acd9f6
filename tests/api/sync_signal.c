/* SPDX-License-Identifier: MIT */
/* Gate, wait group, barrier and once: each by itself, and in random programs against a few
 * counters. */
#include "puppets.h"

enum { PUPPETS = 5, STEPS = 120 };

static struct {
    struct timing timing;
    struct puppet puppets[PUPPETS];
    jzx_gate gate;
    jzx_wait_group group;
    jzx_barrier barrier;
    jzx_once once;
    uint32_t calls; /* of the function of once */
} s;

static void set_up(void) {
    memset(&s, 0, sizeof s);
    s.timing = timing_open();
    for (int i = 0; i < PUPPETS; i++)
        puppet_spawn(&s.puppets[i], &s.timing);
    JZX_EXPECT_EQ(jzx_gate_init(s.timing.loop, &s.gate, false), JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_init(s.timing.loop, &s.group), JZX_OK);
    JZX_EXPECT_EQ(jzx_barrier_init(s.timing.loop, &s.barrier, 3), JZX_OK);
    JZX_EXPECT_EQ(jzx_once_init(s.timing.loop, &s.once), JZX_OK);
}

static void tear_down(void) {
    timing_close(&s.timing);
    JZX_EXPECT_EQ(jzx_gate_deinit(&s.gate), JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_deinit(&s.group), JZX_OK);
    JZX_EXPECT_EQ(jzx_barrier_deinit(&s.barrier), JZX_OK);
    JZX_EXPECT_EQ(jzx_once_deinit(&s.once), JZX_OK);
}

static jzx_err pass(jzx_context *ctx, struct puppet *puppet) {
    return jzx_gate_pass(ctx, puppet->object, puppet->deadline_ns);
}

static jzx_err join(jzx_context *ctx, struct puppet *puppet) {
    return jzx_wait_group_join(ctx, puppet->object, puppet->deadline_ns);
}

static jzx_err arrive(jzx_context *ctx, struct puppet *puppet) {
    bool is_last = false;
    jzx_err err = jzx_barrier_arrive(ctx, puppet->object, puppet->deadline_ns, &is_last);
    puppet->value = is_last;
    return err;
}

/* ---- gate ---- */

JZX_TEST(a_gate_lets_all_pass_while_it_is_open, "E57") {
    set_up();
    for (int i = 0; i < 3; i++)
        assert_false(puppet_do(&s.puppets[i], pass, &s.gate, i == 2 ? JZX_MS(2) : JZX_NEVER));
    assert_false(jzx_gate_is_open(&s.gate));
    assert_int_equal(info_of(s.timing.loop, s.puppets[0].id).wait, JZX_WAIT_SIGNAL);
    timing_advance(&s.timing, JZX_MS(2));
    puppet_gets(&s.puppets[2], JZX_ERR_TIMEOUT);
    assert_int_equal(jzx_gate_deinit(&s.gate), JZX_ERR_BUSY);
    assert_int_equal(jzx_gate_open(&s.gate), JZX_OK);
    assert_int_equal(jzx_gate_close(&s.gate), JZX_OK); /* those that waited pass all the same */
    timing_step(&s.timing);
    puppet_gets(&s.puppets[0], JZX_OK);
    puppet_gets(&s.puppets[1], JZX_OK);
    puppet_expect(&s.puppets[2], pass, &s.gate, JZX_ERR_TIMEOUT);
    assert_int_equal(jzx_gate_open(&s.gate), JZX_OK);
    assert_true(jzx_gate_is_open(&s.gate));
    puppet_expect(&s.puppets[2], pass, &s.gate, JZX_OK);
    assert_int_equal(jzx_gate_pass_wait(&s.gate, 0), JZX_OK);
    tear_down();
}

/* ---- wait group ---- */

JZX_TEST(a_wait_group_is_joined_when_all_is_done, "E57") {
    set_up();
    puppet_expect(&s.puppets[0], join, &s.group, JZX_OK); /* nothing is to be done */
    assert_int_equal(jzx_wait_group_done(&s.group), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_wait_group_add(&s.group, 2), JZX_OK);
    assert_int_equal(jzx_wait_group_add(&s.group, UINT32_MAX), JZX_ERR_FULL);
    assert_false(puppet_do(&s.puppets[0], join, &s.group, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[1], join, &s.group, JZX_NEVER));
    assert_int_equal(jzx_wait_group_done(&s.group), JZX_OK);
    assert_int_equal(jzx_wait_group_count(&s.group), 1);
    timing_step(&s.timing);
    assert_true(puppet_waits(&s.puppets[0]));
    assert_int_equal(jzx_wait_group_done(&s.group), JZX_OK);
    assert_int_equal(jzx_wait_group_add(&s.group, 1), JZX_OK); /* the next ones wait again */
    timing_step(&s.timing);
    puppet_gets(&s.puppets[0], JZX_OK);
    puppet_gets(&s.puppets[1], JZX_OK);
    puppet_expect(&s.puppets[2], join, &s.group, JZX_ERR_TIMEOUT);
    assert_int_equal(jzx_wait_group_join_wait(&s.group, 0), JZX_ERR_TIMEOUT);
    tear_down();
}

/* ---- barrier ---- */

JZX_TEST(a_barrier_lets_its_parties_pass_together_again_and_again, "E57") {
    set_up();
    for (int round = 0; round < 4; round++) {
        assert_false(puppet_do(&s.puppets[0], arrive, &s.barrier, JZX_NEVER));
        assert_false(puppet_do(&s.puppets[1], arrive, &s.barrier, JZX_NEVER));
        assert_true(puppet_do(&s.puppets[2], arrive, &s.barrier, JZX_NEVER));
        for (int i = 0; i < 3; i++) {
            puppet_gets(&s.puppets[i], JZX_OK);
            assert_int_equal(s.puppets[i].value, i == 2);
        }
    }
    assert_int_equal(jzx_barrier_arrive_wait(&s.barrier, 0, NULL), JZX_ERR_TIMEOUT);
    tear_down();
}

JZX_TEST(one_that_gives_up_or_is_killed_does_not_count_at_a_barrier, "E57") {
    set_up();
    assert_false(puppet_do(&s.puppets[0], arrive, &s.barrier, JZX_MS(1)));
    assert_false(puppet_do(&s.puppets[1], arrive, &s.barrier, JZX_NEVER));
    timing_advance(&s.timing, JZX_MS(1));
    puppet_gets(&s.puppets[0], JZX_ERR_TIMEOUT);
    puppet_kill(&s.puppets[1]);
    assert_false(puppet_do(&s.puppets[2], arrive, &s.barrier, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[3], arrive, &s.barrier, JZX_NEVER));
    assert_int_equal(jzx_barrier_deinit(&s.barrier), JZX_ERR_BUSY);
    assert_true(puppet_do(&s.puppets[4], arrive, &s.barrier, JZX_NEVER));
    puppet_gets(&s.puppets[2], JZX_OK);
    puppet_gets(&s.puppets[3], JZX_OK);
    tear_down();
}

/* ---- once ---- */

static jzx_err make(jzx_context *ctx, void *arg) {
    s.calls++;
    JZX_EXPECT_EQ(jzx_once_run(ctx, &s.once, 0, make, arg), JZX_ERR_BUSY);
    if (ctx != NULL)
        jzx_sleep(ctx, jzx_in(ctx, JZX_MS(1)));
    return *(jzx_err *)arg;
}

static jzx_err fail_with = JZX_ERR_UNKNOWN;
static jzx_err succeed_with = JZX_OK;

static jzx_err run_once(jzx_context *ctx, struct puppet *puppet) {
    return jzx_once_run(ctx, &s.once, puppet->deadline_ns, make, puppet->object);
}

JZX_TEST(once_calls_until_a_call_has_succeeded, "E57") {
    set_up();
    assert_false(puppet_do(&s.puppets[0], run_once, &fail_with, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[1], run_once, &succeed_with, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[2], run_once, &succeed_with, JZX_NEVER));
    assert_int_equal(s.calls, 1);
    timing_advance(&s.timing, JZX_MS(1));
    puppet_gets(&s.puppets[0], JZX_ERR_UNKNOWN);
    assert_int_equal(s.calls, 2);
    assert_false(jzx_once_is_done(&s.once));
    puppet_kill(&s.puppets[1]); /* in the call */
    assert_int_equal(s.calls, 3);
    assert_int_equal(jzx_once_deinit(&s.once), JZX_ERR_BUSY);
    timing_advance(&s.timing, JZX_MS(1));
    puppet_gets(&s.puppets[2], JZX_OK);
    assert_true(jzx_once_is_done(&s.once));
    puppet_expect(&s.puppets[3], run_once, &fail_with, JZX_OK);
    assert_int_equal(jzx_once_run_wait(&s.once, 0, make, &fail_with), JZX_OK);
    assert_int_equal(s.calls, 3);
    tear_down();
}

/* ---- misuse ---- */

JZX_TEST(signals_that_are_none_are_refused, "E57") {
    bool is_last;
    set_up();
    assert_int_equal(jzx_gate_init(s.timing.loop, &s.gate, true), JZX_ERR_BUSY);
    assert_int_equal(jzx_wait_group_init(s.timing.loop, &s.group), JZX_ERR_BUSY);
    assert_int_equal(jzx_barrier_init(s.timing.loop, &s.barrier, 1), JZX_ERR_BUSY);
    assert_int_equal(jzx_once_init(s.timing.loop, &s.once), JZX_ERR_BUSY);
    assert_int_equal(jzx_barrier_init(s.timing.loop, (void *)&s.gate, 0), JZX_ERR_INVALID_ARG);
    void *const wrong[] = {NULL, &s.puppets, s.once.mutex.opaque.bytes};
    for (int i = 0; i < 3; i++) {
        puppet_expect(&s.puppets[0], pass, wrong[i], JZX_ERR_INVALID_ARG);
        puppet_expect(&s.puppets[0], join, wrong[i], JZX_ERR_INVALID_ARG);
        puppet_expect(&s.puppets[0], arrive, wrong[i], JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_gate_open(wrong[i]), JZX_ERR_INVALID_ARG);
        assert_false(jzx_gate_is_open(wrong[i]));
        assert_int_equal(jzx_gate_deinit(wrong[i]), JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_wait_group_add(wrong[i], 1), JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_wait_group_done(wrong[i]), JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_wait_group_deinit(wrong[i]), JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_barrier_arrive_wait(wrong[i], 0, &is_last), JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_barrier_deinit(wrong[i]), JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_once_deinit(wrong[i]), JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_once_run_wait(wrong[i], 0, make, NULL), JZX_ERR_INVALID_ARG);
        assert_false(jzx_once_is_done(wrong[i]));
    }
    assert_int_equal(jzx_once_run_wait(&s.once, 0, NULL, NULL), JZX_ERR_INVALID_ARG);
    tear_down();
}

/* ---- random programs ---- */

enum type { GATE, GROUP, BARRIER };

static struct {
    enum type type;
    uint64_t random;
    bool waits[PUPPETS];
    uint64_t deadlines[PUPPETS];
    jzx_err expected[PUPPETS];
    bool is_open;
    uint32_t count; /* to be done, or that have arrived */
    bool held;
} m;

static void expect(bool held) {
    m.held = m.held && held;
}

static uint64_t below(uint64_t bound) {
    return random_below(&m.random, bound);
}

static bool may_pass(void) {
    switch (m.type) {
    case GATE: return m.is_open;
    case GROUP: return m.count == 0;
    default: return m.count == 3;
    }
}

/* All that wait pass, if they may. */
static void settle(void) {
    if (!may_pass())
        return;
    for (int i = 0; i < PUPPETS; i++) {
        if (m.waits[i])
            m.expected[i] = JZX_OK;
        m.waits[i] = false;
    }
    if (m.type == BARRIER)
        m.count = 0;
}

static void give_up(int index, jzx_err result) {
    if (m.waits[index] && m.type == BARRIER)
        m.count--;
    m.waits[index] = false;
    m.expected[index] = result;
}

/* Every third time as an operation. */
static jzx_err await_signal(jzx_context *ctx, struct puppet *puppet) {
    static puppet_fn const fns[] = {pass, join, arrive};
    bool is_last;
    jzx_op op = JZX_NO_OP;
    jzx_err err;
    if (!puppet_by_op(puppet))
        return fns[m.type](ctx, puppet);
    if (m.type == GATE)
        err = jzx_gate_pass_to(ctx, &s.gate, TAG_RESULT, &op);
    else if (m.type == GROUP)
        err = jzx_wait_group_join_to(ctx, &s.group, TAG_RESULT, &op);
    else
        err = jzx_barrier_arrive_to(ctx, &s.barrier, TAG_RESULT, &op);
    return puppet_await(ctx, err, op, &is_last, sizeof is_last);
}

static void step_wait(int index) {
    void *const objects[] = {&s.gate, &s.group, &s.barrier};
    uint64_t now_ns = jzx_clock_now(s.timing.clock);
    uint64_t deadline_ns = below(2) ? JZX_NEVER : now_ns + JZX_MS(below(5));
    m.waits[index] = true;
    m.deadlines[index] = deadline_ns;
    m.count += m.type == BARRIER;
    settle();
    if (m.waits[index] && deadline_ns <= now_ns)
        give_up(index, JZX_ERR_TIMEOUT);
    puppet_do(&s.puppets[index], await_signal, objects[m.type], deadline_ns);
}

static void step_change(void) {
    if (m.type == GATE) {
        m.is_open = below(3) == 0;
        expect((m.is_open ? jzx_gate_open(&s.gate) : jzx_gate_close(&s.gate)) == JZX_OK);
    } else if (m.type == GROUP && below(2)) {
        uint32_t count = (uint32_t)below(3);
        expect(jzx_wait_group_add(&s.group, count) == JZX_OK);
        m.count += count;
    } else if (m.type == GROUP) {
        jzx_err expected = m.count == 0 ? JZX_ERR_INVALID_ARG : JZX_OK;
        expect(JZX_EXPECT_EQ(jzx_wait_group_done(&s.group), expected));
        m.count -= m.count != 0;
    }
    settle();
    timing_step(&s.timing);
}

static void step_time(void) {
    uint64_t now_ns = jzx_clock_now(s.timing.clock) + JZX_MS(1 + below(2));
    for (int i = 0; i < PUPPETS; i++) {
        if (m.waits[i] && m.deadlines[i] <= now_ns)
            give_up(i, JZX_ERR_TIMEOUT);
    }
    timing_advance_to(&s.timing, now_ns);
}

static void step(void) {
    int index = (int)below(PUPPETS);
    uint64_t choice = below(10);
    if (choice == 0) {
        give_up(index, JZX_OK);
        puppet_kill(&s.puppets[index]);
        puppet_spawn(&s.puppets[index], &s.timing);
    } else if (choice < 3) {
        step_time();
    } else if (choice < 6) {
        step_change();
    } else if (!m.waits[index]) {
        step_wait(index);
    }
    for (int i = 0; i < PUPPETS; i++) {
        expect(JZX_EXPECT_EQ(puppet_waits(&s.puppets[i]), m.waits[i]));
        if (!m.waits[i])
            expect(JZX_EXPECT_EQ(s.puppets[i].result, m.expected[i]));
    }
}

static bool play(uint64_t seed) {
    for (int type = GATE; type <= BARRIER; type++) {
        memset(&m, 0, sizeof m);
        m.type = (enum type)type;
        m.random = seed * 4 + (uint64_t)type;
        m.held = true;
        set_up();
        for (int i = 0; i < STEPS && m.held; i++)
            step();
        tear_down();
        if (!m.held)
            return false;
    }
    return true;
}

JZX_TEST(random_programs_with_signals_are_those_of_counters, "E57") {
    run_seeds("sync_signal.random_programs_with_signals_are_those_of_counters",
              jzx_test_rounds(1200, 15000), play);
}
