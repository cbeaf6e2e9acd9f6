/* SPDX-License-Identifier: MIT */
/* Invariants of the library itself. They are on in every build: a broken invariant ends the process
 * with its place before it can do harm. Wrong use by the caller is a status, never an assert. */
#ifndef JZX_BASE_ASSERT_H
#define JZX_BASE_ASSERT_H

#include "base/compiler.h"

/* Conditions must have no side effects. */
#define JZX_ASSERT(cond)                                                                           \
    (JZX_LIKELY(cond) ? (void)0 : jzx__assert_failed(__FILE__, __LINE__, #cond))

JZX_COLD _Noreturn void jzx__assert_failed(const char *file, int line, const char *text);

/* Wrong use that leaves the library nothing to return to. */
JZX_COLD _Noreturn void jzx__wrong_use(const char *text);

#endif
