/* SPDX-License-Identifier: MIT */
/* A stateless model checker for the library's own code.
 *
 * The protocol files of src/ are compiled with shim/base/atomic.h in place of src/base/atomic.h, so
 * that every atomic operation, lock, futex and mark of plain data becomes a call into this engine.
 * The threads of a **scenario** are coroutines on one operating system thread. Wherever the
 * outcome of a step is not determined (who goes on, which store a load returns, whether a weak
 * compare-and-exchange fails without cause) the engine makes a **choice**, and it runs the scenario
 * again and again, depth first, until every sequence of choices within the bounds was taken.
 *
 * E1  an execution is a function of its choices: scenarios use no time, no randomness, no memory
 *     of the runs before. The engine checks that a replayed choice has as many options as before.
 * E2  a switch away from a thread that could go on is a preemption; at most bounds.preemptions of
 *     them happen in an execution. Switches at the end of a thread and when it blocks are free.
 * E3  a load that returns something else than the newest store, and a store that takes its place
 *     before a newer one, is a stale step; at most bounds.stale of them happen in an execution.
 * E4  if no thread can go on and not all have ended, the execution has failed: that is what a lost
 *     wake-up looks like, as no wait has a time-out. Threads that said so (model_may_sleep) may
 *     sleep at the end; then check finds what was not done.
 * E5  every execution ends: after MODEL_STEPS_MAX operations it has failed.
 *
 * E6  of executions that differ only in the order of steps that commute, one is enough: a thread
 *     that was preempted before a step is not resumed before somebody has done a step that does
 *     not commute with it, as resuming it earlier is the same as preempting it later, at no
 *     greater cost (E2). Scenarios may share plain variables of their own among threads only where
 *     the order of use makes no difference, as in counters.
 *
 * Within those bounds the search is exhaustive. What the memory model covers is said in
 * memory.c. */
#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include "jzx/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_THREADS_MAX 6 /* with thread 0, which runs setup and check */
#define MODEL_STEPS_MAX 3000u

/* For bounds. */
#define MODEL_UNBOUNDED 200u
#define MODEL_NONE 201u

enum model_order { MODEL_RELAXED, MODEL_ACQUIRE, MODEL_RELEASE, MODEL_ACQ_REL, MODEL_SEQ_CST };

enum model_op {
    MODEL_LOAD,
    MODEL_STORE,
    MODEL_EXCHANGE,
    MODEL_ADD,
    MODEL_SUB,
    MODEL_OR,
    MODEL_AND,
    MODEL_CAS,
    MODEL_OPS
};

/* ---- what a scenario is ---- */

/* 0 stands for the default. */
struct model_bounds {
    unsigned preemptions; /* E2 */
    unsigned stale;       /* E3 */
    unsigned spurious;    /* weak exchanges that fail, and waits that end, without cause */
};

#define MODEL_DEFAULT_BOUNDS                                                                       \
    { .preemptions = 2, .stale = 2, .spurious = 1 }

typedef void model_body(void);

struct model_scenario {
    const char *name;
    const char *about;
    void *state; /* set to zero before each execution */
    size_t state_size;
    model_body *setup;                      /* runs first, on thread 0 */
    model_body *threads[MODEL_THREADS_MAX]; /* threads 1.., in any interleaving; NULL ends */
    model_body *check;                      /* runs on thread 0 after all threads have ended */
    uint64_t outcomes; /* the set of model_outcome numbers that must be seen, each at least once,
                        * and no other; 0 if the scenario reports none */
    struct model_bounds bounds;
};

struct model_suite {
    const char *name;
    const struct model_scenario *scenarios;
    const size_t *count;
};

/* Ends the execution as failed unless cond holds. */
#define MODEL_ASSERT(cond)                                                                         \
    ((cond) ? (void)0 : model_fail("%s:%d: does not hold: %s", __FILE__, __LINE__, #cond))

__attribute__((format(printf, 1, 2))) _Noreturn void model_fail(const char *format, ...);

/* Adds number (below 64) to the set of outcomes that this scenario has shown. */
void model_outcome(unsigned number);

/* The number of the running thread: 0 in setup and check, 1.. in threads. */
unsigned model_self(void);

/* The running thread is a server: it may still sleep when all others have ended. */
void model_may_sleep(void);

/* Waiting for another thread in a loop: the caller goes on when somebody has stored something
 * since it looked last, and then sees all stores (they become visible in finite time). */
void model_yield(void);

/* A variable that the code under test has once per thread. Setup only; cleared for all threads. */
void model_thread_local(void *variable, size_t size);

/* Plain data: two accesses of different threads that are not ordered by happens-before, one of
 * them a write, are a race, and the execution has failed. */
#define model_plain_write(p) model_plain((p), true, #p, __FILE__, __LINE__)
#define model_plain_read(p) model_plain((p), false, #p, __FILE__, __LINE__)
void model_plain(const volatile void *address, bool is_write, const char *text, const char *file,
                 int line);

/* Memory for the code under test, filled with garbage, gone after the execution. */
void *model_alloc(size_t size);

/* The same in the form of the library's hooks. */
extern const jzx_allocator model_allocator;

/* ---- what the shim calls ---- */

/* Where an operation is in the source. */
#define MODEL_HERE(p) #p, __func__, __FILE__, __LINE__
#define MODEL_HERE_PARAMS const char *text, const char *function, const char *file, int line

uint64_t model_load(const volatile void *p, size_t size, enum model_order order, MODEL_HERE_PARAMS);
void model_store(volatile void *p, size_t size, uint64_t value, enum model_order order,
                 MODEL_HERE_PARAMS);
uint64_t model_rmw(volatile void *p, size_t size, enum model_op op, uint64_t operand,
                   enum model_order order, MODEL_HERE_PARAMS);
bool model_cas(volatile void *p, size_t size, void *expected, uint64_t desired,
               enum model_order order, enum model_order order_failed, bool weak, MODEL_HERE_PARAMS);
void model_fence(enum model_order order);
void model_membarrier(void);
void model_lock(volatile uint32_t *held);
void model_unlock(volatile uint32_t *held);
bool model_mutant(const char *name);

/* ---- what the parts of the engine offer one another ---- */

/* One of count options, explored all in turn; 0 first. */
unsigned engine_choose(unsigned count);
/* The same, where all but option 0 are stale steps (E3) or spurious ones. */
unsigned engine_choose_stale(unsigned count);
unsigned engine_choose_spurious(unsigned count);

/* What the running thread does next. Steps on different objects, and two loads, commute; a step on
 * NULL commutes with none. */
struct engine_step {
    const volatile void *address;
    bool is_load;
};

/* A point at which another thread may go on; before each step that others can observe. */
void engine_point(struct engine_step step);
/* The running thread cannot go on until somebody unblocks address. */
void engine_block(const volatile void *address);
/* Makes at most max threads ready that are blocked at address. */
void engine_unblock(const volatile void *address, unsigned max);
/* Somebody has stored something: threads that yielded may look again. */
void engine_stored(void);

/* Blocks until the descriptor, which the code under test made with eventfd, is readable. */
void model_poll_fd(int fd);

struct model_result {
    uint64_t executions; /* run to their end */
    uint64_t cut;        /* given up, as they are the same as others (E6) */
    uint64_t outcomes;
    bool failed;
    bool limited; /* not all were explored: executions_max was reached */
    char why[512];
    char replay[4096]; /* the choices of the failed execution */
};

/* Explores all executions, or, if replay is not NULL, runs that one. */
void model_explore(const struct model_scenario *scenario, const struct model_bounds *bounds,
                   const char *replay, uint64_t executions_max, struct model_result *result);

/* Runs equivalent executions, too (E6): to see that it makes no difference. */
void model_set_full(bool full);

/* The mutant that JZX__MUTANT is true for, or NULL. */
void model_set_mutant(const char *name);

#endif
