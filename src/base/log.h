/* SPDX-License-Identifier: MIT */
/* The log of a loop: lines for its operator, by level, to the sink of the configuration. */
#ifndef JZX_BASE_LOG_H
#define JZX_BASE_LOG_H

#include "jzx/config.h"

/* Fills the zero fields of a sink: standard error, warnings. */
void jzx__log_defaults(jzx_log_sink *sink);

/* Formats (at most 255 bytes) only if the level is on. No allocation. */
__attribute__((format(printf, 3, 4))) void jzx__log(const jzx_log_sink *sink, jzx_log_level level,
                                                    const char *format, ...);

#endif
