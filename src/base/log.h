/* SPDX-License-Identifier: MIT */
/* The log of a loop: lines for its operator, by level, to the sink of the configuration. */
#ifndef JZX_BASE_LOG_H
#define JZX_BASE_LOG_H

#include "jzx/config.h"

#include <stdarg.h>
#include <stddef.h>

#define JZX__LOG_LINE_SIZE 256u

/* Fills the zero fields of a sink: standard error, warnings. */
void jzx__log_defaults(jzx_log_sink *sink);

/* Copies the text as one line of printable UTF-8: line feeds, other control characters, those that
 * turn the order of writing, and bytes that are no UTF-8 become \n, \x1b and the like. Cut to size,
 * between two characters. Returns the length. Async-signal-safe. */
size_t jzx__log_escape(char *line, size_t size, const char *text);

/* The same with a text that is formatted first, of less than JZX__LOG_LINE_SIZE bytes. */
__attribute__((format(printf, 3, 0))) size_t jzx__log_format(char *line, size_t size,
                                                             const char *format, va_list args);

/* Formats and escapes (at most 255 bytes) only if the level is on. No allocation. */
__attribute__((format(printf, 3, 4))) void jzx__log(const jzx_log_sink *sink, jzx_log_level level,
                                                    const char *format, ...);

#endif
