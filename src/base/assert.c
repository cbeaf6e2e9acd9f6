/* SPDX-License-Identifier: MIT */
/* The end of a process whose invariants do not hold. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void jzx__assert_failed(const char *file, int line, const char *text) {
    fprintf(stderr, "jzx: %s:%d: invariant does not hold: %s\n", file, line, text);
    abort();
}

void jzx__wrong_use(const char *text) {
    fprintf(stderr, "jzx: %s\n", text);
    abort();
}
