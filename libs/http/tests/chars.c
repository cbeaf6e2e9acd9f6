/* SPDX-License-Identifier: MIT */
/* The classes of bytes, and the scans by words. */
#include "chars.h"

#include "jzx_test.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool in(int byte, const char *set) {
    return byte != 0 && strchr(set, byte) != NULL;
}

JZX_TEST(every_byte_has_the_classes_of_the_grammar) {
    for (int byte = 0; byte < 256; byte++) {
        bool is_alnum = byte < 128 && isalnum(byte);
        unsigned expected = 0;
        if (is_alnum || in(byte, "!#$%&'*+-.^_`|~"))
            expected |= JZX__HTTP_TOKEN;
        if (byte == '\t' || (byte >= ' ' && byte != 0x7f))
            expected |= JZX__HTTP_VALUE;
        if (is_alnum || in(byte, "-._~!$&'()*+,;=:@/?%[]{}|^`"))
            expected |= JZX__HTTP_TARGET;
        if (is_alnum || in(byte, "-._~"))
            expected |= JZX__HTTP_UNRESERVED;
        if (byte < 128 && isxdigit(byte))
            expected |= JZX__HTTP_HEX;
        if (byte >= '0' && byte <= '9')
            expected |= JZX__HTTP_DIGIT;
        JZX_EXPECT_EQ(jzx__http_classes[byte], expected);
    }
}

/* Each byte, at each place of a text of each length up to three words, between bytes that make
 * borrows likely. The text ends with its block, so a sanitizer sees a read behind it. */
JZX_TEST(the_scan_of_values_stops_at_the_first_byte_that_is_none) {
    static const char around[] = {' ', '\t', '!', '~', '\x80', '\xff'};
    for (size_t len = 1; len <= 24; len++) {
        char *text = malloc(len);
        for (size_t at = 0; at < len; at++) {
            for (int byte = 0; byte < 256; byte++) {
                for (size_t i = 0; i < sizeof(around); i++) {
                    memset(text, around[i], len);
                    text[at] = (char)byte;
                    if (at + 1 < len)
                        text[at + 1] = '\x7f';
                    bool is_value = jzx__http_is((char)byte, JZX__HTTP_VALUE);
                    size_t expected = is_value ? (at + 1 < len ? at + 1 : len) : at;
                    size_t found = (size_t)(jzx__http_skip_value(text, text + len) - text);
                    if (found != expected)
                        JZX_EXPECT_EQ(found, expected);
                }
            }
        }
        JZX_EXPECT_EQ(jzx__http_skip(text, text, JZX__HTTP_VALUE) - text, 0);
        free(text);
    }
}

JZX_TEST(words_are_compared_without_case_of_letters_alone) {
    JZX_EXPECT(JZX__HTTP_EQUALS("Content-Length", 14, "content-length"));
    JZX_EXPECT(!JZX__HTTP_EQUALS("Content\rLength", 14, "content-length"));
    JZX_EXPECT(!JZX__HTTP_EQUALS("content-lengt", 13, "content-length"));
    JZX_EXPECT(!JZX__HTTP_EQUALS("content_length", 14, "content-length"));
}
