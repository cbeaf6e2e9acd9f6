/* SPDX-License-Identifier: MIT */
/* What a benchmark is, and what its actors share.
 *
 * The rules of the race: our actors do what the floor's do, message for message, and every message
 * carries 8 bytes as the floor's do, whether they are read or not. No behaviour runs inside
 * another's turn, every send is checked, nothing is lost. A run checks its result before it
 * returns; a wrong one ends the process with a message. Both sides start cold, in a process of
 * their own. */
#ifndef JZX_BENCH_H
#define JZX_BENCH_H

#include <jzx/jzx.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Messages that a producer sends before it lets others run. */
#define BENCH_BATCH 64u

enum bench_unit { BENCH_NS, BENCH_BYTES, BENCH_ALLOCATIONS };

/* What one run measured. */
struct bench_run {
    double seconds;
    uint64_t ops;
    double amount; /* bytes or allocations of all operations; unused if the unit is BENCH_NS */
};

struct bench {
    const char *name;    /* names that differ behind a '-' are selected by what is before it, too */
    const char *op;      /* what one operation is */
    const char *checked; /* what every run compares before it returns */
    const char *batch;   /* how much a sender sends before it lets others run */
    const char *const *shows; /* ids of requirements, by JZX_BENCH_SHOWS; NULL: none */

    /* Runs the row with its own actors on a new loop. size is the row's own measure: see size. */
    void (*run)(jzx_loop *loop, uint64_t size, struct bench_run *run);
    uint64_t size;            /* so that a run takes 50 to 150 ms */
    const jzx_config *config; /* of the loop; NULL: the defaults */
    uint32_t foreign_threads; /* beside the one that drives the loop */
    uint32_t payload;         /* bytes a message */

    enum bench_unit unit;
    const char *floor_row; /* of the floor program, run with the same size; NULL: no floor */
    double aim;            /* units an operation, at most; negative: none */
    double ratio_limit;    /* times the floor, at most; 0: none */
};

/* Names the requirements that the benchmark of this file shows. Alone on its line: it is also read
 * by tools/requirements.sh. */
#define JZX_BENCH_SHOWS(...) static const char *const shows[] = {__VA_ARGS__, NULL}

/* Ends this process with a message: the result is wrong. */
__attribute__((noreturn, cold, format(printf, 1, 2))) void bench_fail(const char *format, ...);

#define BENCH_CHECK(cond)                                                                          \
    ((cond) ? (void)0 : bench_fail("%s:%d: does not hold: %s", __FILE__, __LINE__, #cond))

/* Both sides are equal, or the values are shown. */
#define BENCH_CHECK_EQUAL(is, should_be)                                                           \
    bench_check_equal((uint64_t)(is), (uint64_t)(should_be), #is, __FILE__, __LINE__)
void bench_check_equal(uint64_t is, uint64_t should_be, const char *what, const char *file,
                       int line);

/* Monotonic seconds. */
double bench_now(void);

/* Moves the calling thread to any CPU but that one, if there is another. */
void bench_leave_cpu(int cpu);

/* ---- what the actors of all rows use ---- */

static inline jzx_actor_id bench_spawn(jzx_loop *loop, jzx_behavior_fn behavior, void *state) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = behavior, .state = state);
    BENCH_CHECK(jzx_spawn(loop, &opts, &id) == JZX_OK);
    return id;
}

/* The message that sets an actor going; from nobody. */
void bench_start(jzx_loop *loop, jzx_actor_id to, uint32_t tag, uint64_t value);

/* Runs until nothing is ready, as the floor does. */
void bench_run_until_quiet(jzx_loop *loop);

static inline uint64_t bench_value(const jzx_message *msg) {
    uint64_t value;
    memcpy(&value, msg->data, sizeof value);
    return value;
}

/* Sends 8 bytes where the row's own rules leave room in the mailbox. */
static inline void bench_send(jzx_context *ctx, jzx_actor_id to, uint32_t tag, uint64_t value) {
    BENCH_CHECK(jzx_send(ctx->loop, to, ctx->self, &value, sizeof value, tag) == JZX_OK);
}

/* Sends 8 bytes where the mailbox may be full. False if it is: the actor will get a message of tag
 * JZX_TAG_ROOM when it is time to try again. */
static inline bool bench_offer(jzx_context *ctx, jzx_actor_id to, uint32_t tag, uint64_t value) {
    jzx_err err = jzx_send(ctx->loop, to, ctx->self, &value, sizeof value, tag);
    if (__builtin_expect(err == JZX_OK, 1))
        return true;
    BENCH_CHECK(err == JZX_ERR_MAILBOX_FULL);
    BENCH_CHECK(jzx_send_when_room(ctx->loop, to, ctx->self) == JZX_OK);
    return false;
}

/* An actor that adds up what it is sent: its state is a uint64_t. */
jzx_behavior_result bench_count(jzx_context *ctx, const jzx_message *msg);

/* An actor that sends the value 1 left times: BENCH_BATCH of them, then a message to itself. */
struct bench_producer {
    jzx_actor_id to;
    uint64_t left;
};
jzx_behavior_result bench_produce(jzx_context *ctx, const jzx_message *msg);

/* ---- the rows, in the order of the table ---- */

#define BENCH_MAP(X)                                                                               \
    X(pingpong)                                                                                    \
    X(ring)                                                                                        \
    X(counting)                                                                                    \
    X(fanin)                                                                                       \
    X(big)                                                                                         \
    X(create)                                                                                      \
    X(forkjoin)                                                                                    \
    X(skynet)                                                                                      \
    X(fib)                                                                                         \
    X(chameneos)                                                                                   \
    X(memory)                                                                                      \
    X(foreign)                                                                                     \
    X(foreign_2)                                                                                   \
    X(allocations_message)                                                                         \
    X(allocations_spawn)

#define BENCH_DECLARE(name) extern const struct bench bench_##name;
BENCH_MAP(BENCH_DECLARE)
#undef BENCH_DECLARE

#endif
