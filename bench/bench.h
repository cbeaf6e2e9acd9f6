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

#include "order.h"

#include <jzx/jzx.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Messages that a producer sends before it lets others run. */
#define BENCH_BATCH 64u

/* States that different workers write stand apart, by the pair of cache lines that is fetched. */
#define BENCH_APART _Alignas(128)

enum bench_unit {
    BENCH_NS,
    BENCH_BYTES,
    BENCH_ALLOCATIONS,
    BENCH_SWITCHES,
    BENCH_US,    /* the run's amount as it is: a quantile of what its operations took */
    BENCH_PER_S, /* as BENCH_NS, but shown as operations a second */
};

/* In which table a row is, and with how many workers it can run. With several workers its actors
 * share nothing that changes but what they send; what they count is added up after the run. */
enum bench_kind {
    BENCH_ONE,     /* one worker only */
    BENCH_BOTH,    /* in both tables */
    BENCH_WORKERS, /* in the table of several workers, compared with fewer */
    BENCH_HELD,    /* likewise, but held out: nothing may be tuned by it */
    BENCH_SEVERAL, /* in that table; two workers at least, compared with a floor or nothing */
};

#define BENCH_NOTES_MAX 8u
#define BENCH_APART_MAX 32u /* threads of bench_run_apart */

/* What one run measured. */
struct bench_run {
    double seconds;
    uint64_t ops;
    double amount; /* of all operations, in the row's unit; unused with NS and PER_S */
    double notes[BENCH_NOTES_MAX]; /* what struct bench names */
    uint64_t handovers;            /* of workers, from threads that did not come back in time */
};

struct bench {
    const char *name;    /* names that differ behind a '-' are selected by what is before it, too */
    const char *op;      /* what one operation is */
    const char *checked; /* what every run compares before it returns */
    const char *batch;   /* how much a sender sends before it lets others run */
    const char *cap;     /* of mailboxes, if not all have that of the loop */
    const char *const *shows; /* ids of requirements, by JZX_BENCH_SHOWS; NULL: none */
    const char *const *notes; /* names of further figures, up to a NULL; NULL: none */
    enum bench_kind kind;
    bool if_named; /* runs only if it is named: it takes long, or much memory */

    /* Runs the row with its own actors on a new loop. size is the row's own measure: see size. */
    void (*run)(jzx_loop *loop, uint64_t size, struct bench_run *run);
    /* What the side with one worker, or instead of a floor, runs if that is not the same; else
     * NULL. */
    void (*alone)(jzx_loop *loop, uint64_t size, struct bench_run *run);
    /* The same work by threads that share nothing, one for each worker of a loop that is not used:
     * what the CPUs give at that time, shown beside a row that asks for a gain with up to
     * BENCH_APART_MAX workers; else NULL. */
    void (*apart)(jzx_loop *unused, uint64_t size, struct bench_run *run);
    uint64_t size;            /* so that a run takes 50 to 150 ms */
    uint64_t size_min;        /* the least that makes sense */
    const jzx_config *config; /* of the loop, its workers aside; NULL: the defaults */
    uint32_t foreign_threads; /* beside those that drive the loop */
    uint32_t payload;         /* bytes a message */
    double run_seconds;       /* what a run takes, about, if that is more than in other rows */
    unsigned pairs_max;       /* so many runs are enough; 0: as many as were asked for */
    const char *peer_row;     /* what the peers' programs call it; NULL: as its name */
    const char *peers;        /* that run beside ours; NULL: the best two, as a trial shows */
    bool has_client;          /* the load comes from a process of its own (peers/client): with one
                               * worker the server has one CPU, and the client another */

    enum bench_unit unit;
    const char *floor_row; /* of the floor program, run with the same size; NULL: no floor */
    double aim;            /* units an operation, at most; negative: none */
    double aim_2;          /* likewise with two workers, if the row is in both tables; 0: none */
    double ratio_limit;    /* times the floor, or what runs alone, at most; 0: none */
    double speedup_min;    /* by the second worker on a second CPU, at least; 0: none */
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

/* Monotonic time. */
double bench_now(void);
uint64_t bench_now_ns(void);

/* Waits until that time without sleeping. */
void bench_spin_until(uint64_t ns);

/* Computes for about so many microseconds. Steps are counted, no clock is read: what the machine
 * does beside it does not count as work. Equal arguments give equal results. */
uint64_t bench_compute(uint64_t value, uint32_t us);

/* Steps of bench_work that take a microsecond of this thread's CPU time, now and here. Takes some
 * ten milliseconds. */
uint32_t bench_steps_per_us(void);

/* Steps of a generator, each on the result of the last: work that takes time and no memory. */
static inline uint64_t bench_work(uint64_t value, uint32_t steps) {
    for (uint32_t i = 0; i < steps; i++) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(value)); /* or a compiler may take many at once */
    }
    return value;
}

/* Least first. */
void bench_sort(double *values, unsigned count);

/* Memory of this process that is in use. */
double bench_resident_bytes(void);

/* CPUs that this process may use. */
unsigned bench_cpus(void);

/* The n-th of them, from 0; BENCH_NO_CPU if there are fewer. */
#define BENCH_NO_CPU (-1)
int bench_cpu_at(unsigned n);

/* Binds the calling thread to a CPU. */
void bench_pin(int cpu);

/* Has work(0) to work(count - 1) called, each on a thread and a CPU of its own; each answers how
 * many operations that was. The run is what the sum of their speeds makes of all operations: they
 * do not help each other when one is done, and the CPUs of a shared machine are not equally fast.
 * Where CPUs share a core that is a little too much: the last one has it to itself in the end. */
void bench_run_apart(unsigned count, uint64_t (*work)(unsigned index), struct bench_run *run);

/* Moves the calling thread to any CPU but that one, if there is another. */
void bench_leave_cpu(int cpu);

/* ---- what the actors of all rows use ---- */

static inline jzx_actor_id bench_spawn_at(jzx_loop *loop, jzx_behavior_fn behavior, void *state,
                                          uint16_t place) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = behavior, .state = state, .place = place);
    BENCH_CHECK(jzx_spawn(loop, &opts, &id) == JZX_OK);
    return id;
}

static inline jzx_actor_id bench_spawn(jzx_loop *loop, jzx_behavior_fn behavior, void *state) {
    return bench_spawn_at(loop, behavior, state, JZX_PLACE_ANY);
}

/* The message that sets an actor going; from nobody. */
void bench_start(jzx_loop *loop, jzx_actor_id to, uint32_t tag, uint64_t value);

/* Runs until every actor has ended, or until one of them has called bench_finish. */
void bench_run_to_end(jzx_loop *loop);
void bench_finish(jzx_context *ctx);

/* Runs until nothing is ready: one worker only. */
void bench_run_until_quiet(jzx_loop *loop);

/* The counters of the loop. */
jzx_stats bench_stats(jzx_loop *loop);

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

/* An actor that adds up what it is sent, and ends when it has what was expected. */
struct bench_counter {
    BENCH_APART uint64_t sum;
    uint64_t expected;
};
jzx_behavior_result bench_count(jzx_context *ctx, const jzx_message *msg);

/* An actor that sends the value 1 left times, BENCH_BATCH of them and then a message to itself, and
 * ends. */
struct bench_producer {
    BENCH_APART jzx_actor_id to;
    uint64_t left;
};
jzx_behavior_result bench_produce(jzx_context *ctx, const jzx_message *msg);

/* An actor that waits for so many messages of others that are done, then ends the run. */
struct bench_judge {
    BENCH_APART uint64_t missing;
};
jzx_behavior_result bench_await(jzx_context *ctx, const jzx_message *msg);

/* ---- the rows, in the order of the tables ---- */

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
    X(millions)                                                                                    \
    X(philosophers)                                                                                \
    X(buffer)                                                                                      \
    X(dictionary)                                                                                  \
    X(quicksort)                                                                                   \
    X(nqueens)                                                                                     \
    X(sieve)                                                                                       \
    X(chat)                                                                                        \
    X(scale_2)                                                                                     \
    X(scale_1k)                                                                                    \
    X(scale_1k_random)                                                                             \
    X(scale_100k)                                                                                  \
    X(scale_100k_random)                                                                           \
    X(scale_1m)                                                                                    \
    X(scale_1m_random)                                                                             \
    X(foreign)                                                                                     \
    X(foreign_2)                                                                                   \
    X(allocations_message)                                                                         \
    X(allocations_spawn)                                                                           \
    X(naive_one)                                                                                   \
    X(naive_random)                                                                                \
    X(restart)                                                                                     \
    X(monitor)                                                                                     \
    X(name_lookup)                                                                                 \
    X(broadcast)                                                                                   \
    X(alloc)                                                                                       \
    X(pool_get)                                                                                    \
    X(pool_new)                                                                                    \
    X(pool_shared)                                                                                 \
    X(timer_cancel)                                                                                \
    X(timer_fire)                                                                                  \
    X(timer_memory)                                                                                \
    X(timer_late)                                                                                  \
    X(timer_idle)                                                                                  \
    X(timer_scale_1k)                                                                              \
    X(timer_scale_32k)                                                                             \
    X(timer_scale_1m)                                                                              \
    X(fiber_switch)                                                                                \
    X(fiber_turn)                                                                                  \
    X(fiber_yield)                                                                                 \
    X(fiber_trip)                                                                                  \
    X(fiber_spawn)                                                                                 \
    X(fiber_memory)                                                                                \
    X(fiber_million)                                                                               \
    X(schedule_cancel)                                                                             \
    X(schedule_fire)                                                                               \
    X(schedule_notify)                                                                             \
    X(schedule_overflow)                                                                           \
    X(schedule_late_1k)                                                                            \
    X(schedule_late_10k)                                                                           \
    X(async_poll)                                                                                  \
    X(async_poll_one)                                                                              \
    X(async_try)                                                                                   \
    X(async_ready)                                                                                 \
    X(async_await)                                                                                 \
    X(async_join)                                                                                  \
    X(async_spawn)                                                                                 \
    X(async_memory)                                                                                \
    X(sync_mutex)                                                                                  \
    X(sync_semaphore)                                                                              \
    X(sync_channel)                                                                                \
    X(sync_fanin)                                                                                  \
    X(sync_message)                                                                                \
    X(sync_broadcast)                                                                              \
    X(kinds_typed)                                                                                 \
    X(kinds_default)                                                                               \
    X(kinds_high)                                                                                  \
    X(kinds_manual)                                                                                \
    X(processor)                                                                                   \
    X(kinds_process_step)                                                                          \
    X(kinds_process_command)                                                                       \
    X(tcp_64)                                                                                      \
    X(tcp_1000)                                                                                    \
    X(tcp_fiber_64)                                                                                \
    X(tcp_fiber_1000)                                                                              \
    X(udp_64)                                                                                      \
    X(udp_fiber_64)                                                                                \
    X(latency_none)                                                                                \
    X(latency_1x5ms)                                                                               \
    X(latency_1x50ms)                                                                              \
    X(latency_4x5ms)                                                                               \
    X(latency_server)                                                                              \
    X(latency_fresh)                                                                               \
    X(latency_old)                                                                                 \
    X(pairs)                                                                                       \
    X(tasks)                                                                                       \
    X(pipeline)                                                                                    \
    X(mixed_tasks)                                                                                 \
    X(mixed_chatty)                                                                                \
    X(phases)                                                                                      \
    X(late_known)                                                                                  \
    X(late_new)                                                                                    \
    X(cross)                                                                                       \
    X(cross_one)                                                                                   \
    X(wake)                                                                                        \
    X(wake_slept)                                                                                  \
    X(blocking)                                                                                    \
    X(file_copy)                                                                                   \
    X(file_copy_threads)                                                                           \
    X(file_read)                                                                                   \
    X(idle)                                                                                        \
    X(pairs4)                                                                                      \
    X(groups)                                                                                      \
    X(tree50)                                                                                      \
    X(prodn)                                                                                       \
    X(scatter)

#define BENCH_DECLARE(name) extern const struct bench bench_##name;
BENCH_MAP(BENCH_DECLARE)
#undef BENCH_DECLARE

#endif
