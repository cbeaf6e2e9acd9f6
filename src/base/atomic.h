/* SPDX-License-Identifier: MIT */
/* The only place that names memory orders. Each use elsewhere says what it pairs with and what it
 * publishes, or, when relaxed, why nothing more is needed. A model build can replace these macros
 * by calls into a controlled scheduler. */
#ifndef JZX_BASE_ATOMIC_H
#define JZX_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdint.h>

#define jzx__atomic_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define jzx__atomic_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define jzx__atomic_load_seq_cst(p) atomic_load_explicit((p), memory_order_seq_cst)

#define jzx__atomic_store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define jzx__atomic_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define jzx__atomic_store_seq_cst(p, v) atomic_store_explicit((p), (v), memory_order_seq_cst)

#define jzx__atomic_exchange_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)
#define jzx__atomic_exchange_seq_cst(p, v) atomic_exchange_explicit((p), (v), memory_order_seq_cst)

#define jzx__atomic_add_acq_rel(p, v) atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define jzx__atomic_add_seq_cst(p, v) atomic_fetch_add_explicit((p), (v), memory_order_seq_cst)
#define jzx__atomic_sub_seq_cst(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_seq_cst)
#define jzx__atomic_or_acq_rel(p, v) atomic_fetch_or_explicit((p), (v), memory_order_acq_rel)
#define jzx__atomic_add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)

/* Compare and exchange: true if *p was *expected and is now desired; else *expected is the value
 * seen, loaded with the acquire half of the order. These may fail without cause: use them in
 * loops. */
#define jzx__atomic_cas_acq_rel(p, expected, desired)                                              \
    atomic_compare_exchange_weak_explicit((p), (expected), (desired), memory_order_acq_rel,        \
                                          memory_order_acquire)
#define jzx__atomic_cas_seq_cst(p, expected, desired)                                              \
    atomic_compare_exchange_weak_explicit((p), (expected), (desired), memory_order_seq_cst,        \
                                          memory_order_acquire)

/* The same, failing only if *p was another value. */
#define jzx__atomic_cas_strong_acq_rel(p, expected, desired)                                       \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_acq_rel,      \
                                            memory_order_acquire)
#define jzx__atomic_cas_strong_seq_cst(p, expected, desired)                                       \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_seq_cst,      \
                                            memory_order_acquire)

/* A store that the compiler must not move behind what follows in the program. The processor may:
 * whoever relies on the order runs a membarrier on every thread of the process. */
#define jzx__atomic_compiler_barrier() atomic_signal_fence(memory_order_seq_cst)

/* Bytes of a plain string that one thread writes, and reads as plain ones, and others look at. */
#define jzx__byte_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define jzx__byte_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

/* A look at a plain word of another thread, which writes it with plain stores: a hint that may be
 * old. It is an aligned word, so it is never half of a value. Only in functions that are marked
 * JZX_PEEKS: ThreadSanitizer would rightly report anything else. */
#define jzx__peek(p) __atomic_load_n((p), __ATOMIC_RELAXED)

/* Says that the calling thread is about to use a private side: nothing here, but in the model build
 * two uses that no order separates are an error. */
#define jzx__touch(p) ((void)(p))

/* True if the model build asks for a known mistake, to see that it is found. Never true here. */
#define JZX__MUTANT(name) 0

/* A counter with one writer and any number of readers: a gauge that decides nothing, so that the
 * writer needs no read-modify-write. */
typedef _Atomic uint64_t jzx__counter;

static inline void jzx__counter_add(jzx__counter *counter, uint64_t n) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* The same for a counter that decides: what was done before is visible to who reads the new value
 * with jzx__counter_get_acquire. */
static inline void jzx__counter_add_release(jzx__counter *counter, uint64_t n) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_release);
}

static inline uint64_t jzx__counter_get_acquire(const jzx__counter *counter) {
    return atomic_load_explicit(counter, memory_order_acquire);
}

/* The same counter where several threads write. */
static inline void jzx__counter_add_shared(jzx__counter *counter, uint64_t n) {
    atomic_fetch_add_explicit(counter, n, memory_order_release);
}

static inline uint64_t jzx__counter_get(const jzx__counter *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
