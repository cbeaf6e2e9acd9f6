/* SPDX-License-Identifier: MIT */
/* Rows for the gate of instruction counts: each repeats one operation of the library, by the same
 * instructions every time. A row has one loop, with one worker, on a manual clock.
 *
 * A row prepares its actors, has the work counted by rig_count, and checks the result. It runs
 * twice on its loop: once uncounted, which allocates all that is needed, and once counted.
 * Callgrind counts the instructions below the function `counted`, on its thread alone, and the
 * system calls of the process while that function runs. */
#ifndef JZX_BENCH_INSTRUCTIONS_H
#define JZX_BENCH_INSTRUCTIONS_H

#include <jzx/jzx.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operations that an actor begins in one turn, where a row says nothing else. */
#define BATCH 64u

struct rig {
    jzx_loop *loop;
    jzx_clock *clock;
    uint64_t ops; /* operations of one run, a multiple of BATCH */
    bool is_counting;
    void *row; /* arguments of the work; the row sets it */
};

struct row {
    const char *name;
    const char *op; /* what one operation is */
    uint64_t ops;
    void (*run)(struct rig *rig);
    bool has_threads; /* its system calls are not shown: those of other threads are among them */
};

/* Rows of one file, up to one without a name. */
extern const struct row actor_rows[];
extern const struct row fiber_rows[];
extern const struct row system_rows[];

/* Ends the process with a message if the condition does not hold. */
#define CHECK(cond) ((cond) ? (void)0 : check_failed(__FILE__, __LINE__, #cond))
__attribute__((noreturn, cold)) void check_failed(const char *file, int line, const char *what);

/* Does the work, and counts it in the second run. The counts of several calls add up. */
void rig_count(struct rig *rig, void (*work)(struct rig *rig));

/* Runs the loop until nothing is ready; most rows have that counted. */
void rig_step(struct rig *rig);

static inline jzx_actor_id rig_spawn(struct rig *rig, jzx_behavior_fn behavior, void *state) {
    jzx_actor_id id;
    CHECK(jzx_spawn(rig->loop, &JZX_SPAWN_OPTS(.behavior = behavior, .state = state), &id) ==
          JZX_OK);
    return id;
}

static inline jzx_actor_id rig_spawn_fiber(struct rig *rig, jzx_fiber_fn fiber, void *state) {
    jzx_actor_id id;
    CHECK(jzx_spawn(rig->loop, &JZX_SPAWN_OPTS(.fiber = fiber, .state = state), &id) == JZX_OK);
    return id;
}

/* Sends the message that sets an actor going. */
static inline void rig_start(struct rig *rig, jzx_actor_id id) {
    uint64_t value = 0;
    CHECK(jzx_send(rig->loop, id, JZX_NOBODY, &value, sizeof value, 0) == JZX_OK);
}

/* Sends 8 bytes, as most rows do. */
static inline void send_value(jzx_context *ctx, jzx_actor_id to, uint32_t tag, uint64_t value) {
    CHECK(jzx_send(ctx->loop, to, ctx->self, &value, sizeof value, tag) == JZX_OK);
}

#endif
