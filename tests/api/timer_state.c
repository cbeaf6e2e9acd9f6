/* SPDX-License-Identifier: MIT */
/* The timeouts of a state machine: one key, started anew at each entry of a state. A number in the
 * payload counts the entries, so that a timeout of an entry that is over would be seen. */
#include "timing.h"

#define STATE_KEY 1u
#define LEAVE 10u   /* goes on to the next state */
#define TIMEOUT 11u /* of a state */

struct machine {
    uint32_t entry; /* how many states were entered */
    uint32_t timeouts;
    uint32_t state;
    uint64_t last_ns; /* when the last timeout came */
};

static jzx_behavior_result in_short_state(jzx_context *ctx, const jzx_message *msg);
static jzx_behavior_result in_long_state(jzx_context *ctx, const jzx_message *msg);

/* Even states take 10 ms, odd ones 30 ms. */
static void enter(jzx_context *ctx, uint32_t state) {
    struct machine *self = ctx->state;
    self->state = state;
    self->entry++;
    JZX_EXPECT_EQ(jzx_become(ctx, state % 2 == 0 ? in_short_state : in_long_state), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, STATE_KEY, &self->entry, sizeof self->entry, TIMEOUT,
                                  state % 2 == 0 ? JZX_MS(10) : JZX_MS(30)),
                  JZX_OK);
}

static jzx_behavior_result react(jzx_context *ctx, const jzx_message *msg) {
    struct machine *self = ctx->state;
    uint32_t entry;
    jzx_test_ran();
    if (msg->tag == TIMEOUT) {
        memcpy(&entry, msg->data, sizeof entry);
        JZX_EXPECT_EQ(entry, self->entry);
        self->timeouts++;
        self->last_ns = jzx_loop_now(ctx->loop);
    }
    enter(ctx, self->state + 1);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result in_short_state(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(((const struct machine *)ctx->state)->state % 2, 0);
    return react(ctx, msg);
}

static jzx_behavior_result in_long_state(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(((const struct machine *)ctx->state)->state % 2, 1);
    return react(ctx, msg);
}

static jzx_behavior_result begin(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    enter(ctx, 0);
    return JZX_BEHAVIOR_OK;
}

static jzx_actor_id spawn_machine(const struct timing *timing, struct machine *machine) {
    jzx_actor_id id =
        fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.behavior = begin, .state = machine));
    fixture_send(timing->loop, id, LEAVE);
    timing_step(timing);
    JZX_EXPECT_EQ(machine->entry, 1);
    return id;
}

JZX_TEST(each_state_has_its_own_timeout, "B+actor") {
    static const uint64_t at_ms[] = {10, 40, 50, 80};
    struct machine machine = {0};
    struct timing timing = timing_open();
    spawn_machine(&timing, &machine);
    for (uint32_t i = 0; i < 4; i++) {
        timing_advance_to(&timing, JZX_MS(at_ms[i]) - 1);
        JZX_EXPECT_EQ(machine.timeouts, i);
        timing_advance(&timing, 1);
        JZX_EXPECT_EQ(machine.timeouts, i + 1);
        JZX_EXPECT_EQ(machine.state, i + 1);
    }
    timing_close(&timing);
}

JZX_TEST(a_state_that_is_left_takes_its_timeout_with_it, "B+actor") {
    struct machine machine = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = spawn_machine(&timing, &machine);
    timing_advance(&timing, JZX_MS(9));
    fixture_send(timing.loop, id, LEAVE); /* into a long state, at 9 ms */
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(30) - 1); /* past the 10 ms of the first */
    JZX_EXPECT_EQ(machine.timeouts, 0);
    timing_advance(&timing, 1);
    JZX_EXPECT_EQ(machine.timeouts, 1);
    JZX_EXPECT_EQ(machine.last_ns, JZX_MS(39));
    timing_close(&timing);
}

/* Both are in the mailbox when the turn begins: leaving the state comes first. */
JZX_TEST(a_timeout_that_waits_is_not_handled_in_the_next_state, "B+actor") {
    struct machine machine = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = spawn_machine(&timing, &machine);
    for (uint32_t i = 1; i <= 20; i++) {
        uint64_t takes_ns = machine.state % 2 == 0 ? JZX_MS(10) : JZX_MS(30);
        fixture_send(timing.loop, id, LEAVE);
        timing_advance(&timing, takes_ns);
        JZX_EXPECT_EQ(machine.state, i);
        JZX_EXPECT_EQ(machine.timeouts, 0);
    }
    JZX_EXPECT_EQ(timing_pending(timing.loop), 1); /* of the last state */
    timing_close(&timing);
}
