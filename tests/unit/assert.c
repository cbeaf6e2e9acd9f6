/* SPDX-License-Identifier: MIT */
/* A broken invariant ends the process and says where; one that holds costs nothing but its test. */
#include "base/assert.h"

#include "child.h"

#include <stdio.h>

enum { BROKEN_LINE = __LINE__ + 4 };

static void break_an_invariant(void) {
    int apples = 2;
    JZX_ASSERT(apples == 3);
}

JZX_TEST(a_broken_invariant_aborts_and_prints_file_line_and_condition) {
    struct child_end end = run_in_child(break_an_invariant);
    char place[64];
    snprintf(place, sizeof place, "assert.c:%d: ", BROKEN_LINE);
    JZX_EXPECT(child_aborted(&end, "apples == 3"));
    JZX_EXPECT(strstr(end.text, place) != NULL);
    JZX_EXPECT(strncmp(end.text, "jzx: ", 5) == 0);
    JZX_EXPECT(strchr(end.text, '\n') == end.text + strlen(end.text) - 1); /* one whole line */
}

static void keep_an_invariant(void) {
    JZX_ASSERT(1 + 1 == 2);
}

JZX_TEST(an_invariant_that_holds_lets_the_process_go_on_in_silence) {
    struct child_end end = run_in_child(keep_an_invariant);
    JZX_EXPECT_EQ(end.status, 0);
    JZX_EXPECT_EQ(strlen(end.text), 0);
}

JZX_TEST(a_condition_is_evaluated_once) {
    int evaluated = 0;
    JZX_ASSERT(++evaluated > 0);
    JZX_EXPECT_EQ(evaluated, 1);
}

JZX_TEST(an_invariant_is_an_expression_and_may_stand_in_a_branch) {
    bool reached_else = false;
    if (reached_else)
        JZX_ASSERT(false);
    else
        reached_else = true;
    JZX_EXPECT(reached_else);
}
