/* SPDX-License-Identifier: MIT */
/* Log lines are formatted on the stack and handed to the sink, one call a line. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_SIZE_BYTES 256

static void write_stderr(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    static const char *const words[] = {"", "", "error: ", "warning: ", "", "debug: "};
    fprintf(stderr, "jzx: %s%s\n", words[level], text);
}

void jzx__log_defaults(jzx_log_sink *sink) {
    if (sink->write == NULL)
        sink->write = write_stderr;
    if (sink->level == JZX_LOG_DEFAULT)
        sink->level = JZX_LOG_WARN;
}

void jzx__log(const jzx_log_sink *sink, jzx_log_level level, const char *format, ...) {
    static _Thread_local uint32_t depth; /* sinks that are being called on this thread */
    if (level > sink->level || depth == JZX_NESTING_MAX)
        return;
    char line[LINE_SIZE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    depth++;
    sink->write(sink->ctx, level, line);
    depth--;
}
