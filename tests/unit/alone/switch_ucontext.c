/* SPDX-License-Identifier: MIT */
/* The switch of stacks by ucontext, whatever the library is configured for. */
#include "jzx_test.h"

#if !defined(JZX__SWITCH_UCONTEXT)
#define JZX__SWITCH_UCONTEXT
#endif
#include "base/switch.c"

#include "switch_cases.h"

JZX_TEST(a_new_stack_gets_its_argument_and_values_pass_both_ways) {
    case_a_new_stack_gets_its_argument_and_values_pass_both_ways();
}

JZX_TEST(a_new_stack_is_aligned_wherever_it_ends) {
    case_a_new_stack_is_aligned_wherever_it_ends();
}

JZX_TEST(each_stack_has_its_own_registers) {
    case_each_stack_has_its_own_registers();
}

JZX_TEST(each_stack_has_its_own_floating_point_control) {
    case_each_stack_has_its_own_floating_point_control();
}

JZX_TEST(deep_recursion_on_both_sides_keeps_every_frame) {
    case_deep_recursion_on_both_sides_keeps_every_frame();
}

JZX_TEST(a_million_switches) {
    case_a_million_switches();
}

JZX_TEST(many_stacks_take_turns) {
    case_many_stacks_take_turns();
}

JZX_TEST(a_suspended_stack_may_be_dropped) {
    case_a_suspended_stack_may_be_dropped();
}

JZX_TEST(an_unwinder_walks_a_stack_and_stops_at_its_entry) {
    case_an_unwinder_walks_a_stack_and_stops_at_its_entry();
}
