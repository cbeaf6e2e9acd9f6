/* SPDX-License-Identifier: MIT */
/* The link under thousands of seeded schedules. JZX_LINK_SEED=n runs one, JZX_LINK_SCHEDULES=n that
 * many; `./jzx test --all` runs a million. */
#include "sim.h"

#include "jzx_test.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

static uint64_t running_seed;

static void print_seed(void) {
    fprintf(stderr, "rerun: JZX_LINK_SEED=%" PRIu64 " test_cluster link_sim\n", running_seed);
}

/* A broken invariant ends the process: the seed has to be known then, too. */
static void on_abort(int number) {
    print_seed();
    signal(number, SIG_DFL);
    raise(number);
}

static uint64_t from_environment(const char *name, uint64_t fallback) {
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : fallback;
}

JZX_TEST(every_accepted_message_arrives_once_and_in_order_or_its_sender_learns_of_the_loss) {
    const uint64_t only = from_environment("JZX_LINK_SEED", 0);
    const uint64_t count =
        only != 0 ? 1 : from_environment("JZX_LINK_SCHEDULES", jzx_test_rounds(10000, 1000000));
    struct sim_result sum = {0};
    signal(SIGABRT, on_abort);
    for (uint64_t n = 1; n <= count; n++) {
        running_seed = only != 0 ? only : n;
        const struct sim_result result = sim_run(running_seed, true);
        if (result.failure != NULL) {
            fprintf(stderr, "seed %" PRIu64 ": %s\n", running_seed, result.failure);
            print_seed();
        }
        if (!JZX_EXPECT(result.failure == NULL))
            return;
        sum.delivered += result.delivered;
        sum.downs += result.downs;
        sum.resent += result.resent;
        sum.stale += result.stale;
    }
    printf("%" PRIu64 " schedules: %" PRIu64 " messages delivered, %" PRIu64 " DOWN, %" PRIu64
           " units resent, %" PRIu64 " stale frames refused\n",
           count, sum.delivered, sum.downs, sum.resent, sum.stale);
    /* The schedules reach what they are for. */
    JZX_EXPECT(only != 0 || count < 1000 ||
               (sum.delivered > 10 * count && sum.downs > count && sum.resent > count &&
                sum.stale > count / 2));
}

JZX_TEST(a_schedule_is_determined_by_its_seed) {
    for (uint64_t seed = 1; seed <= 50; seed++) {
        const struct sim_result first = sim_run(seed, false), second = sim_run(seed, false);
        JZX_EXPECT_EQ(first.delivered, second.delivered);
        JZX_EXPECT_EQ(first.downs, second.downs);
        JZX_EXPECT_EQ(first.resent, second.resent);
    }
}
