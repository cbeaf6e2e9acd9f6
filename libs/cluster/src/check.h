/* SPDX-License-Identifier: MIT */
/* Invariants of this library. They are on in every build, and a broken one ends the process with
 * its place. Wrong use by a caller, or bad bytes of a peer, is a status and never a check. */
#ifndef JZX_CLUSTER_CHECK_H
#define JZX_CLUSTER_CHECK_H

#include <stdio.h>
#include <stdlib.h>

/* Conditions must have no side effects. */
#define JZX__CHECK(cond) ((cond) ? (void)0 : jzx__cluster_check_failed(__FILE__, __LINE__, #cond))

static inline _Noreturn void jzx__cluster_check_failed(const char *file, int line,
                                                       const char *text) {
    fprintf(stderr, "%s:%d: libjzx-cluster: broken invariant: %s\n", file, line, text);
    abort();
}

#endif
