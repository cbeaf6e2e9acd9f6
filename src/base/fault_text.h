/* SPDX-License-Identifier: MIT */
/* What is said of a fault: to a log, or when the process ends by it. */
#ifndef JZX_BASE_FAULT_TEXT_H
#define JZX_BASE_FAULT_TEXT_H

#include "base/fault.h"

/* "SIGSEGV"; "signal" for others. */
const char *jzx__fault_signal_name(int number);

/* True if the address that the system reports is one: that of a wild pointer (not canonical) is
 * not known. */
bool jzx__fault_has_address(const struct jzx__fault *fault);

/* Writes the report to standard error: one line, then the stack. Async-signal-safe. */
void jzx__fault_report(const struct jzx__fault *fault, const char *why);

/* "SIGSEGV at 0x0, pc 0x401136 in read_it+0x1c", as much as fits. Not in the handler. */
void jzx__fault_describe(const struct jzx__fault *fault, char *text, size_t size);

#endif
