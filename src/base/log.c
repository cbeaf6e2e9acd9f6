/* SPDX-License-Identifier: MIT */
/* Log lines are formatted on the stack and handed to the sink, one call a line. Names and texts in
 * them may come from anywhere, so a line is escaped before it is handed over. */
#include "base/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- escaping ---- */

/* The bytes of the UTF-8 character that begins there, and the character; 0: there is none. */
static size_t decode(const unsigned char *at, uint32_t *character) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = at[0] < 0x80   ? 1
                    : at[0] < 0xC0 ? 0
                    : at[0] < 0xE0 ? 2
                    : at[0] < 0xF0 ? 3
                    : at[0] < 0xF8 ? 4
                                   : 0;
    if (length < 2) {
        *character = at[0];
        return length;
    }
    uint32_t code = at[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) /* also at the end of the text */
            return 0;
        code = code << 6 | (at[i] & 0x3Fu);
    }
    *character = code;
    bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < least[length] || code > 0x10FFFF || is_surrogate ? 0 : length;
}

/* False for what moves a cursor, ends a line, or turns the order of what follows. */
static bool is_shown(uint32_t c) {
    bool is_control = c < 0x20 || (c >= 0x7F && c <= 0x9F);
    bool is_separator_or_order = (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
    bool is_mark_of_order = c == 0x061C || c == 0x200E || c == 0x200F;
    return !is_control && !is_separator_or_order && !is_mark_of_order;
}

/* What stands for a byte that is not shown; the length. */
static size_t escape(unsigned char byte, char escaped[4]) {
    static const char hex[] = "0123456789abcdef";
    static const char plain[] = "\n\r\t";
    const char *found = memchr(plain, byte, sizeof plain - 1);
    escaped[0] = '\\';
    escaped[1] = found == NULL ? 'x' : "nrt"[found - plain];
    escaped[2] = hex[byte >> 4];
    escaped[3] = hex[byte & 0xF];
    return found == NULL ? 4 : 2;
}

size_t jzx__log_escape(char *line, size_t size, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    size_t length = 0;
    while (*at != '\0') {
        uint32_t character;
        char escaped[4];
        const void *unit = at;
        size_t used = decode(at, &character);
        size_t unit_length = used;
        if (used == 0 || !is_shown(character)) {
            unit = escaped;
            unit_length = escape(*at, escaped);
            used = 1; /* each byte of a character by itself: those that follow are none alone */
        }
        if (unit_length > size - 1 - length)
            break;
        memcpy(line + length, unit, unit_length);
        length += unit_length;
        at += used;
    }
    line[length] = '\0';
    return length;
}

/* Takes away what is left of a character that a cut has gone through. */
static void trim(char *text) {
    size_t length = strlen(text);
    size_t at = length;
    while (at > 0 && length - at < 3 && ((unsigned char)text[at - 1] & 0xC0) == 0x80)
        at--;
    uint32_t character;
    if (at > 0 && (unsigned char)text[at - 1] >= 0xC0 &&
        decode((const unsigned char *)text + at - 1, &character) == 0)
        text[at - 1] = '\0';
}

size_t jzx__log_format(char *line, size_t size, const char *format, va_list args) {
    char text[JZX__LOG_LINE_SIZE];
    if (vsnprintf(text, sizeof text, format, args) >= (int)sizeof text)
        trim(text);
    return jzx__log_escape(line, size, text);
}

/* ---- lines ---- */

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
    char line[JZX__LOG_LINE_SIZE];
    va_list args;
    va_start(args, format);
    (void)jzx__log_format(line, sizeof line, format, args);
    va_end(args);
    depth++;
    sink->write(sink->ctx, level, line);
    depth--;
}
