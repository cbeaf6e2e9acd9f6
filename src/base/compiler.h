/* SPDX-License-Identifier: MIT */
/* Names for the few compiler features that the library uses. */
#ifndef JZX_BASE_COMPILER_H
#define JZX_BASE_COMPILER_H

#include <stddef.h>

#define JZX_LIKELY(cond) __builtin_expect(!!(cond), 1)
#define JZX_UNLIKELY(cond) __builtin_expect(!!(cond), 0)

/* For slow paths: keeps them out of the caller's instruction lines. */
#define JZX_COLD __attribute__((noinline, cold))

/* For loops that are instantiated with a function known at compile time. */
#define JZX_INLINE static inline __attribute__((always_inline))

#define JZX_CACHE_LINE 64

/* The struct whose member is at ptr. */
#define JZX_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
