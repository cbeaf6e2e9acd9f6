/* SPDX-License-Identifier: MIT */
/* Names for the few compiler features that the library uses. */
#ifndef JZX_BASE_COMPILER_H
#define JZX_BASE_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define JZX_LIKELY(cond) __builtin_expect(!!(cond), 1)
#define JZX_UNLIKELY(cond) __builtin_expect(!!(cond), 0)

/* For slow paths: keeps them out of the caller's instruction lines. */
#define JZX_COLD __attribute__((noinline, cold))

/* For loops that are instantiated with a function known at compile time. */
#define JZX_INLINE static inline __attribute__((always_inline))

/* For functions that look up something of their thread (its seat, errno) and are called by one that
 * waits. After the wait the thread may be another one (switch.h, S3). Were such a function part of
 * its caller, the compiler could use an address of a thread-local after the wait that it has
 * computed before. So it is neither inlined nor copied for a caller; noipa hides its body from
 * optimisation at link time, too. The test house.across_wait has the list of these functions;
 * house.across_wait_code finds functions that wait and look up such things themselves. */
#if defined(__has_attribute)
#if __has_attribute(noipa)
#define JZX_ACROSS_WAIT __attribute__((noinline, noclone, noipa))
#elif __has_attribute(noclone)
#define JZX_ACROSS_WAIT __attribute__((noinline, noclone))
#endif
#endif
#if !defined(JZX_ACROSS_WAIT)
#define JZX_ACROSS_WAIT __attribute__((noinline))
#endif

#define JZX_CACHE_LINE 64

/* Built for ThreadSanitizer. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define JZX__HAS_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define JZX__HAS_TSAN 1
#endif

/* For functions that look at words of other threads by jzx__peek. */
#define JZX_PEEKS __attribute__((noinline, no_sanitize("thread")))

/* The struct whose member is at ptr. */
#define JZX_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* The same word, but the compiler does not know that. After `if (loaded == known)` it takes the two
 * for one and may go on with the loaded one: then all that follows waits for that load. Comparing
 * with jzx__hide(known) keeps them apart. */
static inline uintptr_t jzx__hide(uintptr_t word) {
    __asm__("" : "+r"(word));
    return word;
}

#endif
