/* SPDX-License-Identifier: MIT */
/* The memory of an execution: what each thread may still read, and what it has synchronised with.
 * The model is described at the head of memory.c. Threads are numbers below MODEL_THREADS_MAX. */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "engine.h"

/* What a load or the reading half of a read-modify-write returned. */
struct memory_read {
    uint64_t value;
    unsigned newer; /* stores to the same place that come later in modification order */
    bool stored;    /* a compare-and-exchange that has succeeded */
};

/* Forgets everything: an execution begins, with thread 0 alone. */
void memory_reset(void);

/* Everything that parent has done happens before all that child does; and the other way round. */
void memory_fork(unsigned parent, unsigned child);
void memory_join(unsigned parent, unsigned child);

struct memory_read memory_load(unsigned thread, const volatile void *address, size_t size,
                               enum model_order order);
void memory_store(unsigned thread, volatile void *address, size_t size, uint64_t value,
                  enum model_order order);
struct memory_read memory_rmw(unsigned thread, volatile void *address, size_t size,
                              enum model_op op, uint64_t operand, enum model_order order);

/* stored says whether it succeeded; if it did not, value is what was read instead. A weak one may
 * fail with value == expected. */
struct memory_cas {
    uint64_t expected;
    uint64_t desired;
    enum model_order order;
    enum model_order order_failed;
    bool weak;
};
struct memory_read memory_compare_exchange(unsigned thread, volatile void *address, size_t size,
                                           const struct memory_cas *cas);

void memory_fence(unsigned thread, enum model_order order);

/* A seq_cst fence on every thread, between two of its operations. */
void memory_fence_all(unsigned thread, unsigned thread_count);

/* The last value in modification order, as the kernel compares it in a futex call. The thread
 * cannot read an older one afterwards, but synchronises with nobody. */
uint64_t memory_latest(unsigned thread, const volatile void *address, size_t size);
/* The same for the 32 bits that a futex is, which may be the low half of an object: the code under
 * test uses it with its whole size, the kernel alone looks at the half. */
uint32_t memory_latest_futex(unsigned thread, const volatile void *address);

/* The thread has waited long enough to see every store; it synchronises with nobody. */
void memory_refresh(unsigned thread);

/* Returns the other thread if the access is a race, else the thread itself. */
unsigned memory_plain(unsigned thread, const volatile void *address, bool is_write);

#endif
