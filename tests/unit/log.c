/* SPDX-License-Identifier: MIT */
/* The log: which levels reach the sink, what a line may be, and the sink of those who give none. */
#include "base/log.h"

#include "child.h"

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
