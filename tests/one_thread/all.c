/* SPDX-License-Identifier: MIT */
/* Part of a program of tests: every loop of the fixture with one worker is one of
 * JZX_CONFIG_ONE_THREAD, and starts no thread. */
#include "fixture.h"

/* Each thread of a loop calls it; the only one is the home of worker 0. */
static void expect_the_only_worker(void *ctx, uint32_t worker) {
    (void)ctx;
    JZX_EXPECT_EQ(worker, 0);
}

void fixture_configure(jzx_config *config) {
    const jzx_config preset = JZX_CONFIG_ONE_THREAD();
    if (config->workers > 1)
        return;
    config->workers = preset.workers;
    config->balance = preset.balance;
    config->spare_threads_max = preset.spare_threads_max;
    config->relieve_after_ns = preset.relieve_after_ns;
    if (config->on_thread_start == NULL)
        config->on_thread_start = expect_the_only_worker;
}
