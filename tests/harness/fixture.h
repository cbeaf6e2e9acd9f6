/* SPDX-License-Identifier: MIT */
/* A loop to test with: all its memory is counted, and its books are checked whenever it is
 * destroyed. Any number of loops may be made; what one leaves behind fails the test. */
#ifndef JZX_TEST_FIXTURE_H
#define JZX_TEST_FIXTURE_H

#include "jzx_test.h"

#include <jzx/jzx.h>

/* The counting allocator: usable from all threads. */
uint64_t fixture_allocations(void); /* calls of alloc that succeeded so far */
uint64_t fixture_bytes(void);       /* in use now */
jzx_allocator fixture_allocator(void);

/* The next `after` allocations succeed, and then `count` fail; UINT64_MAX: never, for ever. */
void fixture_fail_allocations(uint64_t after, uint64_t count);

/* Loops with the counting allocator and warnings off. config may be NULL. */
jzx_loop *fixture_loop(void);
jzx_loop *fixture_loop_with(const jzx_config *config);

/* True in the runs of tests/harness/by_heap.sh: schedulers whose configuration names no timer have
 * the heap in place of the wheel. The fixture gives it to its loops itself. */
bool fixture_has_heap_timer(void);

/* accepted = handled + dead + waiting, and waiting is what the mailboxes hold. The latter only if
 * no runtime message waits, as mailbox depths do not count those. */
void fixture_check_books(jzx_loop *loop);

/* Called with the configuration of each loop of the fixture before it is made; does nothing. A
 * program of tests may have its own (tests/one_thread). */
void fixture_configure(jzx_config *config);

/* Called with each loop of the fixture, which they do nothing with. A program of tests may have its
 * own (tests/nomad). */
void fixture_made(jzx_loop *loop);
void fixture_destroyed(const jzx_loop *loop); /* an address, no more */

/* Checks the books and destroys. Use in place of jzx_loop_destroy. */
void fixture_destroy(jzx_loop *loop);

jzx_stats fixture_stats(const jzx_loop *loop);

/* Spawns or sends, and fails the test if that is refused. */
jzx_actor_id fixture_spawn(jzx_loop *loop, const jzx_spawn_opts *opts);
void fixture_send(jzx_loop *loop, jzx_actor_id to, uint32_t tag);

/* A behaviour that records the tags it gets, in order; its state is a struct recorder. */
struct recorder {
    uint32_t tags[2048];
    uint32_t count;
    uint32_t stop_at; /* stops after so many messages; 0: never */
};
jzx_behavior_result record(jzx_context *ctx, const jzx_message *msg);

/* Uses this much CPU time, also on a busy machine. */
void fixture_compute(uint64_t cpu_ns);

#endif
