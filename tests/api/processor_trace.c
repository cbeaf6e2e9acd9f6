/* SPDX-License-Identifier: MIT */
/* Traces are compared step by step, in every respect: else a replay could show anything. */
#include "processing.h"

enum { STEPS = 3 };

static const jzx_actor_factory some_type = {.size = sizeof some_type, .type = "some"};
static const jzx_actor_factory its_twin = {.size = sizeof its_twin, .type = "some"};
static const jzx_actor_factory other_type = {.size = sizeof other_type, .type = "other"};

static const jzx_trace_step usual = {.action = {.kind = JZX_ACTION_FAIL,
                                                .error = JZX_ERR_TIMEOUT,
                                                .source = 3,
                                                .target = 4,
                                                .tag = 5,
                                                .len = 3,
                                                .data = "abc",
                                                .factory = &some_type},
                                     .outcome = JZX_OUTCOME_DONE,
                                     .tick = 6};

/* The steps of a trace with that one at an index, beside a trace of usual steps. */
static size_t difference_with(const jzx_trace_step *step, size_t index) {
    const jzx_trace_step all_usual[STEPS] = {usual, usual, usual};
    jzx_trace_step steps[STEPS] = {usual, usual, usual};
    steps[index] = *step;
    const jzx_trace a = {.steps = all_usual, .count = STEPS};
    const jzx_trace b = {.steps = steps, .count = STEPS};
    size_t difference = jzx_trace_difference(&a, &b);
    assert_true(jzx_trace_difference(&b, &a) == difference);
    return difference;
}

JZX_TEST(traces_that_differ_in_any_respect_differ_at_their_first_such_step, "A23", "A1", "X32") {
    enum { RESPECTS = 10 };
    jzx_trace_step others[RESPECTS];
    for (size_t i = 0; i < RESPECTS; i++)
        others[i] = usual;
    others[0].action.kind = JZX_ACTION_SEND;
    others[1].action.error = JZX_ERR_CLOSED;
    others[2].action.source = 4;
    others[3].action.target = 3;
    others[4].action.tag = 6;
    others[5].action.len = 2;
    others[6].action.data = "abd";
    others[7].action.factory = &other_type;
    others[8].outcome = JZX_OUTCOME_DROPPED;
    others[9].tick = 7;
    for (size_t index = 0; index < STEPS; index++) {
        for (size_t i = 0; i < RESPECTS; i++)
            assert_int_equal(difference_with(&others[i], index), index);
    }
}

JZX_TEST(traces_are_the_same_with_data_and_factories_at_other_addresses, "A23", "A1") {
    char data[] = "abc";
    jzx_trace_step step = usual;
    step.action.data = data;
    step.action.factory = &its_twin;
    for (size_t index = 0; index < STEPS; index++)
        assert_true(difference_with(&step, index) == SIZE_MAX);
    data[0] = 'x';
    assert_int_equal(difference_with(&step, 1), 1);
}

JZX_TEST(a_trace_that_ends_earlier_differs_at_its_end, "A23") {
    const jzx_trace_step steps[STEPS] = {usual, usual, usual};
    for (size_t a = 0; a <= STEPS; a++) {
        for (size_t b = 0; b <= STEPS; b++) {
            const jzx_trace first = {.steps = steps, .count = a};
            const jzx_trace second = {.steps = steps, .count = b};
            assert_true(jzx_trace_difference(&first, &second) ==
                        (a == b ? SIZE_MAX : (a < b ? a : b)));
        }
    }
    assert_int_equal(jzx_trace_difference(&(jzx_trace){.steps = steps, .count = 1}, NULL), 0);
}
