/* SPDX-License-Identifier: MIT */
/* What the tests of synchronisation share: fibers that do what the test tells them, one thing at a
 * time, on a clock that only the test moves. While a puppet has begun something and is not done
 * with it, it waits. */
#ifndef JZX_API_PUPPETS_H
#define JZX_API_PUPPETS_H

#include "fibering.h"

#include <jzx/sync.h>

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define TAG_OBEY 0x0BE4u
#define TAG_RESULT 0x0BE5u

struct puppet;
typedef jzx_err (*puppet_fn)(jzx_context *ctx, struct puppet *puppet);

struct puppet {
    struct timing *timing;
    jzx_actor_id id;
    puppet_fn fn;
    void *object;
    uint64_t number; /* what it gives, */
    uint64_t deadline_ns;
    jzx_err result; /* and gets */
    uint64_t value;
    uint32_t begun;
    uint32_t done;
};

static inline void be_puppet(jzx_context *ctx) {
    struct puppet *puppet = ctx->state;
    jzx_message msg;
    while (jzx_receive_tag(ctx, TAG_OBEY, JZX_NEVER, &msg) == JZX_OK) {
        jzx_test_ran();
        puppet->begun++;
        puppet->result = puppet->fn(ctx, puppet);
        puppet->done++;
    }
}

static inline void puppet_spawn(struct puppet *puppet, struct timing *timing) {
    *puppet = (struct puppet){.timing = timing};
    puppet->id = fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.fiber = be_puppet, .state = puppet));
    timing_step(timing);
}

static inline bool puppet_waits(const struct puppet *puppet) {
    return puppet->begun != puppet->done;
}

/* Has it begin, and everything run that can. True if it is done. */
static inline bool puppet_do(struct puppet *puppet, puppet_fn fn, void *object,
                             uint64_t deadline_ns) {
    uint32_t before = puppet->begun;
    puppet->fn = fn;
    puppet->object = object;
    puppet->deadline_ns = deadline_ns;
    fixture_send(puppet->timing->loop, puppet->id, TAG_OBEY);
    timing_step(puppet->timing);
    JZX_EXPECT_EQ(puppet->begun, before + 1);
    return !puppet_waits(puppet);
}

/* It is done, with that result. */
static inline bool puppet_gets(const struct puppet *puppet, jzx_err result) {
    return JZX_EXPECT(!puppet_waits(puppet)) && JZX_EXPECT_EQ(puppet->result, result);
}

static inline void puppet_expect(struct puppet *puppet, puppet_fn fn, void *object,
                                 jzx_err result) {
    puppet_do(puppet, fn, object, 0);
    puppet_gets(puppet, result);
}

static inline void puppet_kill(struct puppet *puppet) {
    JZX_EXPECT_EQ(jzx_actor_stop(puppet->timing->loop, puppet->id, JZX_STOP_KILL), JZX_OK);
    timing_step(puppet->timing);
    puppet->done = puppet->begun;
}

/* ---- calls that end in _to ---- */

/* In the same way as a behaviour would wait for its message, so that the call can stand where the
 * form that suspends stands. begun: what the call has returned. data (may be NULL) gets size bytes
 * if the result has them. */
static inline jzx_err puppet_await(jzx_context *ctx, jzx_err begun, jzx_op op, void *data,
                                   size_t size) {
    const struct puppet *puppet = ctx->state;
    jzx_message msg;
    if (begun != JZX_OK)
        return begun;
    bool is_late = jzx_receive_tag(ctx, TAG_RESULT, puppet->deadline_ns, &msg) == JZX_ERR_TIMEOUT;
    if (is_late) {
        JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, op), JZX_OK);
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, TAG_RESULT, JZX_NEVER, &msg), JZX_OK);
    }
    const jzx_result *result = msg.data;
    JZX_EXPECT_EQ(result->op, op);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, op), JZX_ERR_NO_SUCH_OP);
    if (is_late)
        return JZX_EXPECT_EQ(result->err, JZX_ERR_CANCELLED) ? JZX_ERR_TIMEOUT : result->err;
    if (data != NULL && result->len != 0 && JZX_EXPECT_EQ(result->len, size))
        memcpy(data, jzx_result_data(result), size);
    return result->err;
}

/* Every third call: this one, and the next one. */
static inline bool puppet_by_op(const struct puppet *puppet) {
    return puppet->begun % 3 == 0;
}

static inline bool puppet_by_op_next(const struct puppet *puppet) {
    return (puppet->begun + 1) % 3 == 0;
}

/* ---- random programs ---- */

static inline uint64_t random_below(uint64_t *state, uint64_t bound) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % bound;
}

/* Runs the program with one seed after the other, or only with JZX_SEED; it returns whether all
 * held. */
static inline void run_seeds(const char *test, uint64_t count, bool (*run)(uint64_t seed)) {
    const char *only = getenv("JZX_SEED");
    uint64_t seed = only == NULL ? 1 : strtoull(only, NULL, 10);
    uint64_t end = only == NULL ? seed + count : seed + 1;
    for (; seed < end; seed++) {
        if (!run(seed)) {
            printf("rerun: JZX_SEED=%" PRIu64 " test_api %s\n", seed, test);
            JZX_EXPECT(false && "a seed failed");
            return;
        }
    }
}

#endif
