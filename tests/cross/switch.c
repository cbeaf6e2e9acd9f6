/* SPDX-License-Identifier: MIT */
/* The unit tests of the switch of stacks as a program that needs nothing but libc: for processors
 * that the tests do not run on (cross.sh). */
#include <stdio.h>

static unsigned failures;

#define JZX_EXPECT(condition)                                                                      \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : (void)(failures++, printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition)))
#define JZX_EXPECT_EQ(actual, expected) JZX_EXPECT((int64_t)(actual) == (int64_t)(expected))

#include "switch_cases.h"

#define RUN(name) (puts(#name), case_##name())

int main(void) {
    RUN(a_new_stack_gets_its_argument_and_values_pass_both_ways);
    RUN(a_new_stack_is_aligned_wherever_it_ends);
    RUN(each_stack_has_its_own_registers);
    RUN(each_stack_has_its_own_floating_point_control);
    RUN(deep_recursion_on_both_sides_keeps_every_frame);
    RUN(a_million_switches);
    RUN(many_stacks_take_turns);
    RUN(a_suspended_stack_may_be_dropped);
    RUN(an_unwinder_walks_a_stack_and_stops_at_its_entry);
    printf("%u failed\n", failures);
    return failures != 0;
}
