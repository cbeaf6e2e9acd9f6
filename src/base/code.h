/* SPDX-License-Identifier: MIT */
/* Whose code an address is. */
#ifndef JZX_BASE_CODE_H
#define JZX_BASE_CODE_H

#include <stdbool.h>
#include <stdint.h>

enum jzx__code {
    JZX__CODE_OTHER,   /* a library, the runtime as a library, nothing at all */
    JZX__CODE_PROGRAM, /* the main program, or the object that holds `entry` */
    JZX__CODE_LEAF     /* a mem* or str* function of libc, which holds nothing */
};

/* Finds out what the other function needs; once, and again at no cost. False if the program has no
 * dynamic linker: then libc's code cannot be told from the program's. Under a lock. */
bool jzx__code_learn(void);

/* Async-signal-safe. entry is a function of the user's. */
enum jzx__code jzx__code_of(uintptr_t pc, uintptr_t entry);

#endif
