/* SPDX-License-Identifier: MIT */
/* The log: which levels reach the sink, what a line may be, and the sink of those who give none. */
#include "base/log.h"

#include "child.h"

#include <stdio.h>

struct lines {
    uint32_t count;
    jzx_log_level level;
    char text[1024];
};

static void keep(void *ctx, jzx_log_level level, const char *text) {
    struct lines *lines = ctx;
    lines->count++;
    lines->level = level;
    strncpy(lines->text, text, sizeof lines->text - 1);
}

static jzx_log_sink sink_of(struct lines *lines, jzx_log_level level) {
    return (jzx_log_sink){.write = keep, .ctx = lines, .level = level};
}

JZX_TEST(a_line_is_formatted_and_handed_over_with_its_level_and_context) {
    struct lines lines = {0};
    jzx_log_sink sink = sink_of(&lines, JZX_LOG_INFO);
    jzx__log(&sink, JZX_LOG_WARN, "actor %u of %s", 17u, "x");
    JZX_EXPECT_EQ(lines.count, 1);
    JZX_EXPECT_EQ(lines.level, JZX_LOG_WARN);
    JZX_EXPECT(strcmp(lines.text, "actor 17 of x") == 0);
}

JZX_TEST(lines_above_the_level_of_the_sink_are_not_written) {
    static const jzx_log_level levels[] = {JZX_LOG_ERROR, JZX_LOG_WARN, JZX_LOG_INFO,
                                           JZX_LOG_DEBUG};
    for (int limit = JZX_LOG_OFF; limit <= JZX_LOG_DEBUG; limit++) {
        for (size_t i = 0; i < 4; i++) {
            struct lines lines = {0};
            jzx_log_sink sink = sink_of(&lines, (jzx_log_level)limit);
            jzx__log(&sink, levels[i], "line");
            JZX_EXPECT_EQ(lines.count, (int)levels[i] <= limit ? 1 : 0);
        }
    }
}

JZX_TEST(a_line_that_is_too_long_is_cut_at_255_bytes) {
    struct lines lines = {0};
    jzx_log_sink sink = sink_of(&lines, JZX_LOG_DEBUG);
    char text[401];
    for (size_t length = 250; length <= 400; length += 5) {
        memset(text, 'x', length);
        text[length] = '\0';
        jzx__log(&sink, JZX_LOG_ERROR, "%s", text);
        JZX_EXPECT_EQ(strlen(lines.text), length < 255 ? length : 255);
        JZX_EXPECT(strncmp(lines.text, text, strlen(lines.text)) == 0);
    }
}

/* ---- what a line shows ---- */

static const struct {
    const char *text;
    const char *shown;
} escapes[] = {
    {"plain text, 'quotes' and \\ backslashes", "plain text, 'quotes' and \\ backslashes"},
    {"two\nlines\r\n", "two\\nlines\\r\\n"},
    {"\ttab \x1b[2J \a\b \x7f", "\\ttab \\x1b[2J \\x07\\x08 \\x7f"},
    {"gr\xc3\xbc\xc3\x9f, \xe4\xb8\xad\xe6\x96\x87, \xf0\x9f\x8e\xb7",
     "gr\xc3\xbc\xc3\x9f, \xe4\xb8\xad\xe6\x96\x87, \xf0\x9f\x8e\xb7"},
    {"\xc2\x80 \xc2\x9b"
     "2J \xc2\x9f \xc2\xa0",
     "\\xc2\\x80 \\xc2\\x9b"
     "2J \\xc2\\x9f \xc2\xa0"},
    {"\xe2\x80\xa8 \xe2\x80\xae \xe2\x81\xa6 \xe2\x80\xa6",
     "\\xe2\\x80\\xa8 \\xe2\\x80\\xae \\xe2\\x81\\xa6 \xe2\x80\xa6"},
    {"\xd8\x9b \xd8\x9c \xe2\x80\x8d \xe2\x80\x8e \xe2\x80\x8f \xe2\x80\x90",
     "\xd8\x9b \\xd8\\x9c \xe2\x80\x8d \\xe2\\x80\\x8e \\xe2\\x80\\x8f \xe2\x80\x90"},
    {"\x80 \xbf \xff \xfe", "\\x80 \\xbf \\xff \\xfe"},                   /* no beginning of any */
    {"\xc3 \xe4\xb8 \xf0\x9f\x8e!", "\\xc3 \\xe4\\xb8 \\xf0\\x9f\\x8e!"}, /* unfinished */
    {"\xe4\xb8", "\\xe4\\xb8"},                                           /* at the end */
    {"\xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf",                            /* too long */
     "\\xc0\\xaf \\xe0\\x80\\xaf \\xf0\\x80\\x80\\xaf"},
    {"\xed\xa0\x80 \xf4\x90\x80\x80 \xf8\x88\x80\x80\x80", /* surrogate, above all, 5 bytes */
     "\\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xf8\\x88\\x80\\x80\\x80"},
    {"\xc2\xa0 \xdf\xbf \xe0\xa0\x80 \xef\xbf\xbd \xf4\x8f\xbf\xbf", /* the first and last ones */
     "\xc2\xa0 \xdf\xbf \xe0\xa0\x80 \xef\xbf\xbd \xf4\x8f\xbf\xbf"},
};

JZX_TEST(a_line_is_one_line_of_printable_text) {
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        struct lines lines = {0};
        jzx_log_sink sink = sink_of(&lines, JZX_LOG_WARN);
        jzx__log(&sink, JZX_LOG_WARN, "%s", escapes[i].text);
        if (!JZX_EXPECT(strcmp(lines.text, escapes[i].shown) == 0))
            printf("%zu: %s\n", i, lines.text);
    }
}

JZX_TEST(every_control_character_is_escaped_and_every_other_ascii_is_not) {
    for (int c = 1; c < 128; c++) {
        struct lines lines = {0};
        jzx_log_sink sink = sink_of(&lines, JZX_LOG_WARN);
        bool is_shown = c >= ' ' && c < 127;
        jzx__log(&sink, JZX_LOG_WARN, "%c", c);
        JZX_EXPECT(is_shown ? lines.text[0] == c && lines.text[1] == '\0' : lines.text[0] == '\\');
    }
}

/* A character, or what stands for a byte, is there as a whole or not at all. */
JZX_TEST(a_line_is_cut_between_characters) {
    static const char *const units[] = {"\xf0\x9f\x8e\xb7", "\xe4\xb8\xad", "\xc3\xbc", "\x1b",
                                        "\n"};
    static const char *const shown[] = {"\xf0\x9f\x8e\xb7", "\xe4\xb8\xad", "\xc3\xbc", "\\x1b",
                                        "\\n"};
    for (size_t i = 0; i < 5; i++) {
        for (size_t before = 0; before < 8; before++) {
            struct lines lines = {0};
            jzx_log_sink sink = sink_of(&lines, JZX_LOG_WARN);
            char text[601] = {0};
            memset(text, 'x', before);
            while (strlen(text) + strlen(units[i]) < sizeof text)
                strcat(text, units[i]);
            jzx__log(&sink, JZX_LOG_WARN, "%s", text);
            size_t size = strlen(shown[i]);
            size_t length = strlen(lines.text);
            JZX_EXPECT_EQ(length, before + (255 - before) / size * size);
            for (size_t at = before; at < length; at += size)
                JZX_EXPECT(strncmp(lines.text + at, shown[i], size) == 0);
        }
    }
}

JZX_TEST(an_escaped_text_fits_its_place) {
    for (size_t size = 1; size < 12; size++) {
        char line[16];
        memset(line, 'z', sizeof line);
        size_t length = jzx__log_escape(line, size,
                                        "a\x1b\xe4\xb8\xad"
                                        "b");
        JZX_EXPECT_EQ(length, size < 2 ? 0 : size < 6 ? 1 : size < 9 ? 5 : size < 10 ? 8 : 9);
        JZX_EXPECT_EQ(line[length], '\0');
        JZX_EXPECT_EQ(line[size], 'z');
    }
}

JZX_TEST(defaults_fill_only_what_is_not_set) {
    struct lines lines = {0};
    jzx_log_sink sink = sink_of(&lines, JZX_LOG_DEBUG);
    jzx__log_defaults(&sink);
    JZX_EXPECT(sink.write == keep);
    JZX_EXPECT(sink.ctx == &lines);
    JZX_EXPECT_EQ(sink.level, JZX_LOG_DEBUG);

    sink = sink_of(&lines, JZX_LOG_DEFAULT);
    jzx__log_defaults(&sink);
    JZX_EXPECT(sink.write == keep);
    JZX_EXPECT_EQ(sink.level, JZX_LOG_WARN);

    sink = (jzx_log_sink){.level = JZX_LOG_OFF};
    jzx__log_defaults(&sink);
    JZX_EXPECT(sink.write != NULL);
    JZX_EXPECT_EQ(sink.level, JZX_LOG_OFF);
}

static void log_to_the_default_sink(void) {
    jzx_log_sink sink = {0};
    jzx__log_defaults(&sink);
    jzx__log(&sink, JZX_LOG_ERROR, "first %d", 1);
    jzx__log(&sink, JZX_LOG_WARN, "second");
    jzx__log(&sink, JZX_LOG_INFO, "not shown");
    sink.level = JZX_LOG_DEBUG;
    jzx__log(&sink, JZX_LOG_INFO, "third");
    jzx__log(&sink, JZX_LOG_DEBUG, "fourth");
}

JZX_TEST(the_default_sink_writes_errors_and_warnings_to_standard_error) {
    struct child_end end = run_in_child(log_to_the_default_sink);
    JZX_EXPECT_EQ(end.status, 0);
    JZX_EXPECT(strcmp(end.text, "jzx: error: first 1\n"
                                "jzx: warning: second\n"
                                "jzx: third\n"
                                "jzx: debug: fourth\n") == 0);
}
