/* SPDX-License-Identifier: MIT */
/* The model build's base/atomic.h: found before the one in src, it has the same macros, and hands
 * every operation to the engine together with its place in the source. The real header says what
 * they are for. */
#ifndef JZX_BASE_ATOMIC_H
#define JZX_BASE_ATOMIC_H

#include "engine.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The type that is stored at p, without _Atomic and other qualifiers. A value may be left unused,
 * so it is that of a statement. */
#define MODEL_TYPE(p) __typeof__((void)0, *(p))
#define MODEL_BITS(p, v) ((uint64_t)(uintptr_t)(MODEL_TYPE(p))(v))
#define MODEL_VALUE(p, bits) __extension__({ (MODEL_TYPE(p))(uintptr_t)(bits); })

#define MODEL_DO_LOAD(p, order, ...)                                                               \
    MODEL_VALUE(p, model_load((p), sizeof *(p), (order), __VA_ARGS__))
#define MODEL_DO_STORE(p, v, order, ...)                                                           \
    model_store((p), sizeof *(p), MODEL_BITS(p, v), (order), __VA_ARGS__)
#define MODEL_DO_RMW(p, op, v, order, ...)                                                         \
    MODEL_VALUE(p, model_rmw((p), sizeof *(p), (op), MODEL_BITS(p, v), (order), __VA_ARGS__))
#define MODEL_DO_CAS(p, expected, desired, order, failed, weak, ...)                               \
    model_cas((p), sizeof *(p), (expected), MODEL_BITS(p, desired), (order), (failed), (weak),     \
              __VA_ARGS__)

#define jzx__atomic_load_relaxed(p) MODEL_DO_LOAD(p, MODEL_RELAXED, MODEL_HERE(p))
#define jzx__atomic_load_acquire(p) MODEL_DO_LOAD(p, MODEL_ACQUIRE, MODEL_HERE(p))
#define jzx__atomic_load_seq_cst(p) MODEL_DO_LOAD(p, MODEL_SEQ_CST, MODEL_HERE(p))

#define jzx__atomic_store_relaxed(p, v) MODEL_DO_STORE(p, v, MODEL_RELAXED, MODEL_HERE(p))
#define jzx__atomic_store_release(p, v) MODEL_DO_STORE(p, v, MODEL_RELEASE, MODEL_HERE(p))
#define jzx__atomic_store_seq_cst(p, v) MODEL_DO_STORE(p, v, MODEL_SEQ_CST, MODEL_HERE(p))

#define jzx__atomic_exchange_acq_rel(p, v)                                                         \
    MODEL_DO_RMW(p, MODEL_EXCHANGE, v, MODEL_ACQ_REL, MODEL_HERE(p))
#define jzx__atomic_exchange_seq_cst(p, v)                                                         \
    MODEL_DO_RMW(p, MODEL_EXCHANGE, v, MODEL_SEQ_CST, MODEL_HERE(p))

#define jzx__atomic_add_relaxed(p, v) MODEL_DO_RMW(p, MODEL_ADD, v, MODEL_RELAXED, MODEL_HERE(p))
#define jzx__atomic_or_acq_rel(p, v) MODEL_DO_RMW(p, MODEL_OR, v, MODEL_ACQ_REL, MODEL_HERE(p))
#define jzx__atomic_add_acq_rel(p, v) MODEL_DO_RMW(p, MODEL_ADD, v, MODEL_ACQ_REL, MODEL_HERE(p))
#define jzx__atomic_add_seq_cst(p, v) MODEL_DO_RMW(p, MODEL_ADD, v, MODEL_SEQ_CST, MODEL_HERE(p))
#define jzx__atomic_sub_seq_cst(p, v) MODEL_DO_RMW(p, MODEL_SUB, v, MODEL_SEQ_CST, MODEL_HERE(p))

#define jzx__atomic_cas_acq_rel(p, expected, desired)                                              \
    MODEL_DO_CAS(p, expected, desired, MODEL_ACQ_REL, MODEL_ACQUIRE, true, MODEL_HERE(p))
#define jzx__atomic_cas_seq_cst(p, expected, desired)                                              \
    MODEL_DO_CAS(p, expected, desired, MODEL_SEQ_CST, MODEL_ACQUIRE, true, MODEL_HERE(p))
#define jzx__atomic_cas_strong_acq_rel(p, expected, desired)                                       \
    MODEL_DO_CAS(p, expected, desired, MODEL_ACQ_REL, MODEL_ACQUIRE, false, MODEL_HERE(p))
#define jzx__atomic_cas_strong_seq_cst(p, expected, desired)                                       \
    MODEL_DO_CAS(p, expected, desired, MODEL_SEQ_CST, MODEL_ACQUIRE, false, MODEL_HERE(p))

/* Bytes of a name: a mixture does no harm. */
#define jzx__peek(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define jzx__byte_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define jzx__byte_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

/* Steps are in program order here. */
#define jzx__atomic_compiler_barrier() ((void)0)

#define jzx__touch(p) model_plain((p), true, "touch " #p, __FILE__, __LINE__)

#define JZX__MUTANT(name) model_mutant(#name)

typedef _Atomic uint64_t jzx__counter;

/* A gauge decides nothing, so it is no step of its own; but it has one writer at a time, or counts
 * are lost. */
static inline void jzx__counter_add(jzx__counter *counter, uint64_t n) {
    model_plain(counter, true, "counter", __FILE__, __LINE__);
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Those that decide are steps. */
#define jzx__counter_add_release(counter, n)                                                       \
    jzx__atomic_store_release(counter, jzx__atomic_load_relaxed(counter) + (n))
#define jzx__counter_get_acquire(counter) jzx__atomic_load_acquire(counter)
#define jzx__counter_add_shared(counter, n) ((void)jzx__atomic_add_relaxed(counter, n))

static inline uint64_t jzx__counter_get(const jzx__counter *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
