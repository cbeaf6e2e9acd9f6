/* SPDX-License-Identifier: MIT */
/* Faults planted in the link, each of which the schedules find. A program of its own: its link is
 * built with JZX__LINK_MUTANTS. */
#include "../sim.h"

#include "jzx_test.h"

#include <inttypes.h>
#include <stdio.h>

static void expect_found(int mutant, const char *name) {
    jzx__link_mutant = mutant;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        const struct sim_result result = sim_run(seed, false);
        if (result.failure != NULL) {
            printf("%s: found by schedule %" PRIu64 ": %s\n", name, seed, result.failure);
            jzx__link_mutant = 0;
            JZX_EXPECT(true);
            return;
        }
    }
    fprintf(stderr, "mutant %d is not found: %s\n", mutant, name);
    JZX_EXPECT(false);
}

JZX_TEST(without_a_planted_fault_the_same_schedules_find_nothing) {
    for (uint64_t seed = 1; seed <= 1000; seed++)
        JZX_EXPECT(sim_run(seed, true).failure == NULL);
}

JZX_TEST(schedules_find_that_duplicates_are_delivered) {
    expect_found(1, "units before the expected one are taken again");
}

JZX_TEST(schedules_find_that_a_gap_is_passed_over) {
    expect_found(2, "units behind a gap are taken");
}

JZX_TEST(schedules_find_that_an_old_incarnation_is_heard) {
    expect_found(3, "only the epochs of the tags are compared");
}

JZX_TEST(schedules_find_that_an_acknowledgement_frees_one_unit_too_many) {
    expect_found(4, "an acknowledgement is off by one");
}

JZX_TEST(schedules_find_that_a_reset_is_not_reported) {
    expect_found(5, "a reset of the peer ends the session in silence");
}

JZX_TEST(schedules_find_that_a_resend_begins_one_unit_late) {
    expect_found(6, "a resend leaves out the oldest unit");
}

JZX_TEST(schedules_find_that_a_dead_peer_is_not_noticed) {
    expect_found(7, "silence does not count");
}

JZX_TEST(schedules_find_that_the_queue_has_no_limit) {
    expect_found(8, "a full queue accepts messages");
}

JZX_TEST(schedules_find_that_a_frame_for_a_former_session_is_taken) {
    expect_found(9, "the destination of a frame is not compared");
}
