/* SPDX-License-Identifier: MIT */
/* Random programs of a few fibers with a channel, against a list of values and two of those that
 * wait. A seed that fails prints the line that reruns it. */
#include "puppets.h"

enum { PARTIES = 6, STEPS = 150, VALUES_MAX = STEPS + 1 };

JZX_CHANNEL(number, uint64_t)

struct party {
    struct puppet puppet;
    bool waits;
    uint64_t deadline_ns;
    jzx_err expected; /* of the last call that is done */
    uint64_t value;   /* likewise, if it was a receive */
};

struct line {
    uint32_t who[PARTIES];
    uint32_t count;
};

static struct {
    struct timing timing;
    uint64_t random;
    number_channel channel;
    jzx_gate gate;
    size_t bound;
    struct party parties[PARTIES];

    /* The model. */
    uint64_t values[VALUES_MAX];
    uint32_t count;
    struct line senders;
    struct line receivers;
    bool closed;
    uint64_t next; /* value */
    bool held;     /* all that was compared */
} m;

static void expect(bool held) {
    m.held = m.held && held;
}

static uint64_t below(uint64_t bound) {
    return random_below(&m.random, bound);
}

/* A select with a gate that stays closed is the same: every second time. */
static jzx_err select_with_gate(jzx_context *ctx, jzx_case it, uint64_t deadline_ns) {
    const jzx_case cases[] = {jzx_gate_case(&m.gate), it};
    size_t index = 1;
    jzx_err err = jzx_select(ctx, JZX_CASES(cases), deadline_ns, &index);
    JZX_EXPECT_EQ(index, 1);
    return err;
}

/* The same as an operation. */
static jzx_err select_by_op(jzx_context *ctx, jzx_case it) {
    const jzx_case cases[] = {jzx_gate_case(&m.gate), it};
    size_t index = 1;
    jzx_op op = JZX_NO_OP;
    jzx_err begun = jzx_select_to(ctx, JZX_CASES(cases), TAG_RESULT, &op);
    jzx_err err = puppet_await(ctx, begun, op, &index, sizeof index);
    JZX_EXPECT_EQ(index, 1);
    return err;
}

static jzx_err send_by_op(jzx_context *ctx, struct puppet *puppet) {
    jzx_op op = JZX_NO_OP;
    if (puppet->number % 2 == 0 && m.bound != JZX_UNBOUNDED)
        return select_by_op(ctx, number_channel_case_send(&m.channel, &puppet->number));
    jzx_err begun = number_channel_send_to(ctx, &m.channel, puppet->number, TAG_RESULT, &op);
    return puppet_await(ctx, begun, op, NULL, 0);
}

static jzx_err receive_by_op(jzx_context *ctx, struct puppet *puppet) {
    jzx_op op = JZX_NO_OP;
    if (puppet->begun % 2 == 0)
        return select_by_op(ctx, number_channel_case_receive(&m.channel, &puppet->value));
    jzx_err begun = number_channel_receive_to(ctx, &m.channel, TAG_RESULT, &op);
    return puppet_await(ctx, begun, op, &puppet->value, sizeof puppet->value);
}

static jzx_err send(jzx_context *ctx, struct puppet *puppet) {
    if (puppet_by_op(puppet))
        return send_by_op(ctx, puppet);
    if (puppet->number % 2 == 0 && m.bound != JZX_UNBOUNDED)
        return select_with_gate(ctx, number_channel_case_send(&m.channel, &puppet->number),
                                puppet->deadline_ns);
    return number_channel_send(ctx, &m.channel, puppet->number, puppet->deadline_ns);
}

static jzx_err try_send(jzx_context *ctx, struct puppet *puppet) {
    (void)ctx;
    return number_channel_try_send(&m.channel, puppet->number);
}

static jzx_err receive(jzx_context *ctx, struct puppet *puppet) {
    if (puppet_by_op(puppet))
        return receive_by_op(ctx, puppet);
    if (puppet->begun % 2 == 0)
        return select_with_gate(ctx, number_channel_case_receive(&m.channel, &puppet->value),
                                puppet->deadline_ns);
    return number_channel_receive(ctx, &m.channel, puppet->deadline_ns, &puppet->value);
}

static jzx_err try_receive(jzx_context *ctx, struct puppet *puppet) {
    (void)ctx;
    return number_channel_try_receive(&m.channel, &puppet->value);
}

static jzx_err close_it(jzx_context *ctx, struct puppet *puppet) {
    (void)ctx;
    (void)puppet;
    return number_channel_close(&m.channel);
}

/* ---- the model ---- */

static void leave(struct line *line, uint32_t index) {
    for (uint32_t i = 0; i < line->count; i++) {
        if (line->who[i] == index) {
            memmove(&line->who[i], &line->who[i + 1], (--line->count - i) * sizeof line->who[0]);
            return;
        }
    }
}

static void settle(uint32_t index, jzx_err result) {
    leave(&m.senders, index);
    leave(&m.receivers, index);
    m.parties[index].waits = false;
    m.parties[index].expected = result;
}

static void take_value(uint32_t index) {
    settle(index, JZX_OK);
    m.parties[index].value = m.values[0];
    memmove(m.values, m.values + 1, --m.count * sizeof m.values[0]);
}

/* Until nobody can be served. */
static void serve(void) {
    for (;;) {
        if (m.receivers.count != 0 && m.count != 0) {
            take_value(m.receivers.who[0]);
        } else if (m.senders.count != 0 && m.count < m.bound) {
            uint32_t index = m.senders.who[0];
            m.values[m.count++] = m.parties[index].puppet.number;
            settle(index, JZX_OK);
        } else {
            return;
        }
    }
}

static void check(void) {
    for (uint32_t i = 0; i < PARTIES; i++) {
        struct party *party = &m.parties[i];
        expect(JZX_EXPECT_EQ(puppet_waits(&party->puppet), party->waits));
        if (!party->waits) {
            expect(JZX_EXPECT_EQ(party->puppet.result, party->expected));
            expect(JZX_EXPECT_EQ(party->puppet.value, party->value));
        }
    }
    expect(JZX_EXPECT_EQ(number_channel_count(&m.channel), m.count));
    expect(JZX_EXPECT_EQ(number_channel_is_closed(&m.channel), m.closed));
}

/* ---- steps ---- */

static uint64_t random_deadline(void) {
    return below(2) ? JZX_NEVER : jzx_clock_now(m.timing.clock) + JZX_MS(below(6));
}

/* It waits, or has only looked. */
static void wait_or_not(uint32_t index, struct line *line, bool only_tries, uint64_t deadline_ns) {
    struct party *party = &m.parties[index];
    if (only_tries || deadline_ns <= jzx_clock_now(m.timing.clock)) {
        party->expected = JZX_ERR_TIMEOUT;
        return;
    }
    party->waits = true;
    party->deadline_ns = deadline_ns;
    line->who[line->count++] = index;
}

static void step_send(uint32_t index) {
    struct party *party = &m.parties[index];
    bool only_tries = below(4) == 0;
    uint64_t deadline_ns = random_deadline();
    party->puppet.number = ++m.next;
    if (m.closed) {
        party->expected = JZX_ERR_CLOSED;
    } else if (m.count < m.bound) {
        party->expected = JZX_OK;
        m.values[m.count++] = m.next;
        serve();
    } else {
        wait_or_not(index, &m.senders, only_tries, deadline_ns);
    }
    puppet_do(&party->puppet, only_tries ? try_send : send, NULL, deadline_ns);
}

static void step_receive(uint32_t index) {
    struct party *party = &m.parties[index];
    bool only_tries = below(4) == 0;
    uint64_t deadline_ns = random_deadline();
    if (m.count != 0) {
        take_value(index);
        serve();
    } else if (m.closed) {
        party->expected = JZX_ERR_CLOSED;
    } else {
        wait_or_not(index, &m.receivers, only_tries, deadline_ns);
    }
    puppet_do(&party->puppet, only_tries ? try_receive : receive, NULL, deadline_ns);
}

static void step_close(uint32_t index) {
    m.closed = true;
    while (m.receivers.count != 0)
        settle(m.receivers.who[0], JZX_ERR_CLOSED);
    while (m.senders.count != 0)
        settle(m.senders.who[0], JZX_ERR_CLOSED);
    m.parties[index].expected = JZX_OK;
    puppet_do(&m.parties[index].puppet, close_it, NULL, 0);
}

static void step_time(void) {
    uint64_t now_ns = jzx_clock_now(m.timing.clock) + JZX_MS(1 + below(3));
    for (uint32_t i = 0; i < PARTIES; i++) {
        if (m.parties[i].waits && m.parties[i].deadline_ns <= now_ns)
            settle(i, JZX_ERR_TIMEOUT);
    }
    timing_advance_to(&m.timing, now_ns);
}

/* Another fiber takes its place. */
static void step_kill(uint32_t index) {
    struct party *party = &m.parties[index];
    settle(index, JZX_OK);
    puppet_kill(&party->puppet);
    *party = (struct party){.expected = JZX_OK};
    puppet_spawn(&party->puppet, &m.timing);
}

static void step(void) {
    uint32_t index = (uint32_t)below(PARTIES);
    bool waits = m.parties[index].waits;
    uint64_t choice = below(200);
    if (choice == 0 && !waits)
        step_close(index);
    else if (choice < 20)
        step_time();
    else if (choice < 30)
        step_kill(index);
    else if (choice < 115 && !waits)
        step_send(index);
    else if (!waits)
        step_receive(index);
    check();
}

static bool play(uint64_t seed) {
    memset(&m, 0, sizeof m);
    m.random = seed;
    m.held = true;
    m.timing = timing_open();
    m.bound = below(5) == 0 ? JZX_UNBOUNDED : 1 + below(4);
    expect(number_channel_init(m.timing.loop, &m.channel, m.bound) == JZX_OK);
    expect(jzx_gate_init(m.timing.loop, &m.gate, false) == JZX_OK);
    for (int i = 0; i < PARTIES; i++)
        puppet_spawn(&m.parties[i].puppet, &m.timing);
    for (int i = 0; i < STEPS && m.held; i++)
        step();
    timing_close(&m.timing);
    expect(JZX_EXPECT_EQ(number_channel_deinit(&m.channel), JZX_OK));
    expect(JZX_EXPECT_EQ(jzx_gate_deinit(&m.gate), JZX_OK));
    return m.held;
}

JZX_TEST(random_programs_with_a_channel_are_those_of_a_list, "E57", "E+sem", "E+mode") {
    run_seeds("sync_channel_model.random_programs_with_a_channel_are_those_of_a_list",
              jzx_test_rounds(3000, 40000), play);
}
