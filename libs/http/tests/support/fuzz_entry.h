/* SPDX-License-Identifier: MIT */
/* The function that fuzzers of the parser run. */
#ifndef JZX_HTTP_FUZZ_ENTRY_H
#define JZX_HTTP_FUZZ_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether these bytes, as messages of each kind, parse the same whole and in pieces. */
bool fuzz_agrees(const char *data, size_t len);

/* libFuzzer calls this. It aborts where fuzz_agrees is false. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#endif
