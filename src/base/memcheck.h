/* SPDX-License-Identifier: MIT */
/* Tools that watch over memory: AddressSanitizer and Valgrind's memcheck. Both see malloc and free
 * by themselves; what they cannot see is memory that is there and must not be touched. They are
 * found when the program runs, so that a library built without them works under them. */
#ifndef JZX_BASE_MEMCHECK_H
#define JZX_BASE_MEMCHECK_H

#include <stdbool.h>
#include <stddef.h>

/* For functions that read what may be hidden, or nobody's. */
#if defined(__SANITIZE_ADDRESS__)
#define JZX__PEEKS __attribute__((no_sanitize_address, noinline, unused))
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define JZX__PEEKS __attribute__((no_sanitize_address, noinline, unused))
#endif
#endif
#ifndef JZX__PEEKS
#define JZX__PEEKS inline
#endif

/* True if such a tool runs this program. */
bool jzx__memcheck_is_on(void);

/* Whoever touches these bytes from now on is reported; and no more. Without a tool both do
 * nothing. */
void jzx__memcheck_hide(const void *ptr, size_t size);
void jzx__memcheck_show(const void *ptr, size_t size);

#endif
