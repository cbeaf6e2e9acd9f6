/* SPDX-License-Identifier: MIT */
/* Bodies of requests: content of a known length, chunks, extensions and trailers. */
#include "refusals.h"

#define NO_SIZE "A chunk has no size"
#define IN_SIZE "A byte is not allowed in a chunk size"
#define LINE_LF "A chunk line ends with LF without CR"
#define LONGER "A chunk is longer than its size"

JZX_TEST(malformed_chunks_are_refused_at_the_byte_at_fault) {
    static const struct refusal rows[] = {
        R(CHUNKED_HEAD, "-1\r\n", 400, NO_SIZE),
        R(CHUNKED_HEAD, "+1\r\n", 400, NO_SIZE),
        R(CHUNKED_HEAD, " 1\r\n", 400, NO_SIZE),
        R(CHUNKED_HEAD, "\r\n", 400, NO_SIZE),
        R(CHUNKED_HEAD, ";a\r\n", 400, NO_SIZE),
        R(CHUNKED_HEAD "1\r\na\r\n", "\r\n", 400, NO_SIZE),
        R(CHUNKED_HEAD, "\n", 400, LINE_LF),
        R(CHUNKED_HEAD "0", "x5\r\n", 400, IN_SIZE),
        R(CHUNKED_HEAD "1", "_0\r\n", 400, IN_SIZE),
        R(CHUNKED_HEAD "5", "\nhello\r\n", 400, LINE_LF),
        R(CHUNKED_HEAD "5 ", "\r\nhello\r\n", 400, "A byte is not allowed in a chunk line"),
        R(CHUNKED_HEAD "5 ", "5\r\nhello\r\n", 400, "A byte is not allowed in a chunk line"),
        R(CHUNKED_HEAD "5\r", "hello\r\n", 400, "CR without LF in a chunk line"),
        R(CHUNKED_HEAD "0000000000000005", "5\r\n", 400, "A chunk size has more than 16 digits"),
        R(CHUNKED_HEAD "5\r\nhello", "!\r\n", 400, LONGER),
        R(CHUNKED_HEAD "5\r\nhello", "\n0\r\n", 400, LONGER),
        R(CHUNKED_HEAD "5\r\nhello\r", "0\r\n", 400, "CR without LF behind a chunk"),
        R(CHUNKED_HEAD "5;", "\r\n", 400, "A chunk extension has no name"),
        R(CHUNKED_HEAD "5;a=", "\r\n", 400, "A chunk extension has no value"),
        R(CHUNKED_HEAD "5;a ", "\r\n", 400, "A byte is not allowed in a chunk line"),
        R(CHUNKED_HEAD "5;a ", "b\r\n", 400, "A byte is not allowed in a chunk line"),
        R(CHUNKED_HEAD "5;a", "\n", 400, LINE_LF),
        R(CHUNKED_HEAD "5;a=b", "\"\r\n", 400, "A byte is not allowed in a chunk line"),
        R(CHUNKED_HEAD "5;a=\"b", "\r\n", 400, "A control byte in a chunk extension"),
        R(CHUNKED_HEAD "5;a=\"b\\", "\0\"\r\n", 400, "A control byte in a chunk extension"),
        R(CHUNKED_HEAD "5;a=\"b\"", "c\r\n", 400, "A byte is not allowed in a chunk line"),
    };
    struct driver_options options = driver_requests();
    expect_refusals(&options, rows, ARRAY_COUNT(rows));
}

JZX_TEST(chunks_give_their_content_and_skip_extensions) {
    struct driver_options options = driver_requests();
    expect_transcript(&options,
                      CHUNKED_HEAD "3\r\nabc\r\n00b;x\r\ndefghijklmn\r\n"
                                   "1 ; x = y;z=\"\\\"\xff;\" ;w\r\no\r\n0;last\r\n\r\n",
                      "\nabcdefghijklmno\nTRAILERS\nDONE");
    expect_transcript(&options, CHUNKED_HEAD "0\r\n\r\n", "\n\nTRAILERS\nDONE");
    expect_transcript(&options, CHUNKED_HEAD "00000001\r\na\r\n00000001\r\nb\r\n00000001\r\nc\r\n",
                      "abc\nEND 0 in=1");
    expect_transcript(&options, CHUNKED_HEAD "FFFFFFFFFFFFFFFF\r\nabc", "abc\nEND 0 in=1");
}

JZX_TEST(trailers_are_fields_that_neither_frame_nor_route) {
    static const struct refusal rows[] = {
        R(CHUNKED_HEAD "0\r\n", "Content-Length: 5\r\n\r\n", 400,
          "A trailer may not frame or route the message"),
        R(CHUNKED_HEAD "0\r\nA: b\r\n", "transfer-encoding: chunked\r\n\r\n", 400,
          "A trailer may not frame or route the message"),
        R(CHUNKED_HEAD "0\r\n", "Host: b\r\n\r\n", 400,
          "A trailer may not frame or route the message"),
        R(CHUNKED_HEAD "0\r\n", "\n", 400, "A line ends with LF without CR"),
        R(CHUNKED_HEAD "0\r\nA: b\r\n", " c\r\n", 400,
          "A field value continues on the next line (obs-fold)"),
    };
    struct driver_options options = driver_requests();
    expect_refusals(&options, rows, ARRAY_COUNT(rows));
    expect_transcript(&options, CHUNKED_HEAD "1\r\na\r\n0\r\nX-Sum: abc\r\nY: d\r\n\r\n",
                      "\nTRAILERS name=<X-Sum> value=<abc> known=0\n name=<Y> value=<d> known=0\n");
    options.limits.trailers_max = 9;
    expect_transcript(&options, CHUNKED_HEAD "0\r\nA: 45\r\n\r\n", "value=<45>");
    static const struct refusal long_row[] = {
        R(CHUNKED_HEAD "0\r\nA: 456\r\n\r", "\n", 431, "The fields are too long"),
    };
    expect_refusals(&options, long_row, 1);
}

JZX_TEST(chunk_lines_extensions_and_content_have_limits) {
    static const struct refusal line[] = {
        R(CHUNKED_HEAD "1;a=67", "\r\n", 400, "A chunk line is too long"),
    };
    static const struct refusal extensions[] = {
        R(CHUNKED_HEAD "1;a\r\nb\r\n1;", "a\r\nb\r\n", 400,
          "The chunk extensions of the body are too long"),
    };
    static const struct refusal content[] = {
        R(CHUNKED_HEAD "3\r\nabc\r\n3\r", "\ndef\r\n", 413, "The body is larger than the limit"),
        R(CHUNKED_HEAD "FFFFFFFFFFFFFFFF\r", "\n", 413, "The body is larger than the limit"),
    };
    struct driver_options options = driver_requests();
    options.limits.chunk_line_max = 6;
    expect_refusals(&options, line, 1);
    expect_transcript(&options, CHUNKED_HEAD "1;a2\r\nb\r\n", "b\nEND");
    options.limits.extensions_max = 3;
    expect_refusals(&options, extensions, 1);
    options.limits.extensions_max = 4;
    expect_transcript(&options, CHUNKED_HEAD "1;a\r\nb\r\n1;a\r\nb\r\n", "bb\nEND");
    options.limits = jzx__http_limits_default;
    options.limits.content_max = 5;
    expect_refusals(&options, content, 2);
    expect_transcript(&options, CHUNKED_HEAD "3\r\nabc\r\n2\r\nde\r\n", "abcde\nEND");
}

JZX_TEST(a_cut_body_is_told_apart_from_a_complete_one) {
    struct driver_options options = driver_requests();
    options.closes = true;
    expect_transcript(&options, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell",
                      "hell\nEND 0 in=1");
    expect_transcript(&options, CHUNKED_HEAD "5\r\nhello\r\n", "hello\nEND 0 in=1");
}
