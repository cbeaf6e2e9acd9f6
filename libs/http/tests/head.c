/* SPDX-License-Identifier: MIT */
/* Heads of requests: the start line, the fields, and what they mean. */
#include "refusals.h"

#define VERSION_TEXT "The HTTP version is neither 1.0 nor 1.1"
#define MALFORMED "The HTTP version is malformed"
#define BARE_LF "A line ends with LF without CR"
#define BARE_CR "CR without LF"

JZX_TEST(malformed_request_lines_are_refused_at_the_byte_at_fault) {
    static const struct refusal rows[] = {
        R("", " GET / HTTP/1.1\r\n", 400, "White space before the method"),
        R("", "\n", 400, BARE_LF),
        R("\r\n\r\n", "\r\nGET / HTTP/1.1\r\n", 400, "Too many empty lines before the request"),
        R("", "\rGET / HTTP/1.1\r\n", 400, BARE_CR),
        R("", "\x16\x03\x01\x02", 400, "The client speaks TLS"),
        R("G", "\x16", 400, "A byte is not allowed in a method"),
        R("", "{GET / HTTP/1.1\r\n", 400, "A byte is not allowed in a method"),
        R("GET", "\t/ HTTP/1.1\r\n", 400, "A byte is not allowed in a method"),
        R("GET", "\r\n", 400, "The request line ends within the method"),
        R("GET ", " / HTTP/1.1\r\n", 400, "More than one space behind the method"),
        R("GET ", "\r\n", 400, "The request line has no target"),
        R("GET /", "\r\n", 400, "The request line has no version"),
        R("GET /", "\n", 400, "The request line has no version"),
        R("GET /a", "#b HTTP/1.1\r\n", 400, "The target has a fragment"),
        R("GET /a", "\"b HTTP/1.1\r\n", 400, "A byte is not allowed in a target"),
        R("GET /a", "\\b HTTP/1.1\r\n", 400, "A byte is not allowed in a target"),
        R("GET /a", "<b HTTP/1.1\r\n", 400, "A byte is not allowed in a target"),
        R("GET /a", "\x7f HTTP/1.1\r\n", 400, "A byte is not allowed in a target"),
        R("GET /a", "\xc3\xa9 HTTP/1.1\r\n", 400, "A byte is not allowed in a target"),
        R("GET /a", "\0b HTTP/1.1\r\n", 400, "A byte is not allowed in a target"),
        R("GET / ", " HTTP/1.1\r\n", 400, MALFORMED),
        R("GET / ", "http/1.1\r\n", 400, MALFORMED),
        R("GET / HTTP/", "x.1\r\n", 400, MALFORMED),
        R("GET / HTTP/1", "\r\n", 400, MALFORMED),
        R("GET / HTTP/1", ",1\r\n", 400, MALFORMED),
        R("GET / HTTP/", "2.0\r\n", 505, VERSION_TEXT),
        R("GET / HTTP/", "0.9\r\n", 505, VERSION_TEXT),
        R("GET / HTTP/", "1.2\r\n", 505, VERSION_TEXT),
        R("GET / HTTP/1.1", " \r\n", 400,
          "A byte is not allowed behind the HTTP version or status"),
        R("GET / HTTP/1.1", "0\r\n", 400,
          "A byte is not allowed behind the HTTP version or status"),
        R("GET / HTTP/1.1", "\n", 400, BARE_LF),
        R("GET / HTTP/1.1", "\rHost: a\r\n", 400, BARE_CR),
    };
    struct driver_options options = driver_requests();
    expect_refusals(&options, rows, ARRAY_COUNT(rows));
}

JZX_TEST(malformed_field_lines_are_refused_at_the_byte_at_fault) {
    static const struct refusal rows[] = {
        R("GET / HTTP/1.1\r\n", " Host: a\r\n", 400, "White space before the first field line"),
        R(HEAD, " b\r\n", 400, "A field value continues on the next line (obs-fold)"),
        R(HEAD "A:\r\n", "\tb\r\n", 400, "A field value continues on the next line (obs-fold)"),
        R(HEAD, ": b\r\n", 400, "The field name is empty"),
        R(HEAD "A", " : b\r\n", 400, "White space in a field name, or before its colon"),
        R(HEAD "A", "\t: b\r\n", 400, "White space in a field name, or before its colon"),
        R(HEAD "A", "\r\n", 400, "A field line has no colon"),
        R(HEAD "A", "\n", 400, "A field line has no colon"),
        R(HEAD "A", "(: b\r\n", 400, "A byte is not allowed in a field name"),
        R(HEAD "A", "\0: b\r\n", 400, "A byte is not allowed in a field name"),
        R(HEAD "A", "\xc3\xab: b\r\n", 400, "A byte is not allowed in a field name"),
        R(HEAD "A: b", "\nC: d\r\n", 400, BARE_LF),
        R(HEAD "A: b", "\rc\r\n", 400, BARE_CR),
        R(HEAD "A: b", "\r\r\n", 400, BARE_CR),
        R(HEAD "A: b", "\0c\r\n", 400, "NUL in a field value"),
        R(HEAD "A: 0123456\t",
          "\x1f"
          "c\r\n",
          400, "A control byte in a field value"),
        R(HEAD "A: 0123456789abcdef",
          "\x7f"
          "c\r\n",
          400, "A control byte in a field value"),
        R(HEAD "A: b\r\n", "\n", 400, BARE_LF),
        R(HEAD "A: b\r\n", "\rX", 400, BARE_CR),
    };
    struct driver_options options = driver_requests();
    expect_refusals(&options, rows, ARRAY_COUNT(rows));
}

#define POST "POST / HTTP/1.1\r\n" HOST_LINE
#define NO_NUMBER "Content-Length is not one number"
#define NOT_CHUNKED "The last transfer coding is not chunked"

JZX_TEST(heads_that_leave_a_doubt_about_the_framing_are_refused) {
    static const struct refusal rows[] = {
        R(POST "Content-Length: 5\r\n", "Content-Length: 5\r\n\r\n", 400,
          "More than one Content-Length"),
        R(POST "Content-Length: 5\r\n", "content-length: 6\r\n\r\n", 400,
          "More than one Content-Length"),
        R(POST "Content-Length: 5", ", 5\r\n\r\n", 400, NO_NUMBER),
        R(POST "Content-Length: 5", ", 6\r\n\r\n", 400, NO_NUMBER),
        R(POST "Content-Length: ", "+5\r\n\r\n", 400, NO_NUMBER),
        R(POST "Content-Length: ", "-5\r\n\r\n", 400, NO_NUMBER),
        R(POST "Content-Length: 5", " 5\r\n\r\n", 400, NO_NUMBER),
        R(POST "Content-Length: 0", "x5\r\n\r\n", 400, NO_NUMBER),
        R(POST "Content-Length: ", "\r\n\r\n", 400, "Content-Length is empty"),
        R(POST "Content-Length: ", "05\r\n\r\n", 400, "Content-Length has a leading zero"),
        R(POST "Content-Length: 1844674407370955161", "6\r\n\r\n", 400,
          "Content-Length is above 2^64 - 1"),
        R(POST "Content-Length: 5\r\nTransfer-Encoding: ", "chunked\r\n\r\n", 400,
          "Both Content-Length and Transfer-Encoding"),
        R(POST "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\n\r\n", 400,
          "More than one Transfer-Encoding"),
        R(POST "Transfer-Encoding: ", "gzip\r\n\r\n", 400, NOT_CHUNKED),
        R(POST "Transfer-Encoding: ", "identity\r\n\r\n", 400, NOT_CHUNKED),
        R(POST "Transfer-Encoding: ", "xchunked\r\n\r\n", 400, NOT_CHUNKED),
        R(POST "Transfer-Encoding: ", "chunked;a=b\r\n\r\n", 400, NOT_CHUNKED),
        R(POST "Transfer-Encoding: ", "chunked, gzip\r\n\r\n", 400, NOT_CHUNKED),
        R(POST "Transfer-Encoding: ", "chunked,\r\n\r\n", 400, NOT_CHUNKED),
        R(POST "Transfer-Encoding: ", "\r\n\r\n", 400, NOT_CHUNKED),
        R(POST "Transfer-Encoding: ", "chunked, chunked\r\n\r\n", 400,
          "Transfer-Encoding lists chunked twice"),
        R(POST "Transfer-Encoding: ", "gzip, chunked\r\n\r\n", 501,
          "A transfer coding beside chunked is not implemented"),
        R("POST / HTTP/1.0\r\n" HOST_LINE "Transfer-Encoding: ", "chunked\r\n\r\n", 400,
          "Transfer-Encoding in an HTTP/1.0 message"),
        R("", "CONNECT a:1 HTTP/1.1\r\n" HOST_LINE "Content-Length: 1\r\n\r\n", 400,
          "CONNECT has a body"),
        R("", "TRACE / HTTP/1.1\r\n" HOST_LINE "Content-Length: 1\r\n\r\n", 400,
          "TRACE has a body"),
    };
    struct driver_options options = driver_requests();
    expect_refusals(&options, rows, ARRAY_COUNT(rows));
}

JZX_TEST(a_request_names_one_valid_host) {
    static const struct refusal rows[] = {
        R("GET / HTTP/1.1\r\n\r\n", "", 400, "The request has no Host"),
        R(HEAD, "Host: a\r\n\r\n", 400, "More than one Host"),
        R("GET / HTTP/1.0\r\n" HOST_LINE, "Host: b\r\n\r\n", 400, "More than one Host"),
        R("GET / HTTP/1.1\r\nHost:", "\r\n\r\n", 400, "The host is empty"),
        R("GET / HTTP/1.1\r\nHost: ", ":80\r\n\r\n", 400, "The host is empty"),
        R("GET / HTTP/1.1\r\nHost: u", "@a\r\n\r\n", 400, "The host has a user name before it"),
        R("GET / HTTP/1.1\r\nHost: a", "/b\r\n\r\n", 400, "A byte is not allowed in a host"),
        R("GET / HTTP/1.1\r\nHost: a", ", b\r\n\r\n", 400, "A byte is not allowed in a host"),
        R("GET / HTTP/1.1\r\nHost: a:8", "x\r\n\r\n", 400, "The port is no number"),
        R("GET / HTTP/1.1\r\nHost: a:6553", "6\r\n\r\n", 400, "The port is above 65535"),
        R("GET / HTTP/1.1\r\nHost: ", "[::1\r\n\r\n", 400,
          "The host has brackets, and no IPv6 address in them"),
    };
    struct driver_options options = driver_requests();
    expect_refusals(&options, rows, ARRAY_COUNT(rows));
    expect_transcript(&options, "GET / HTTP/1.1\r\nhOsT: \t a.b-c_d:65535 \t\r\n\r\n",
                      " host=<a.b-c_d> reason=<> form=0 port=65535");
    expect_transcript(&options, "GET / HTTP/1.1\r\nHost: [::1]:1\r\n\r\n", " host=<[::1]> ");
    expect_transcript(&options, "GET / HTTP/1.0\r\n\r\n", " host=<> reason=<> form=0 port=-1");
    expect_transcript(&options, "GET http://b:2/ HTTP/1.1\r\nHost: a:1\r\n\r\n",
                      " path=</> query=<> host=<b> reason=<> form=1 port=");
}

JZX_TEST(a_head_reports_how_the_connection_goes_on) {
    static const struct {
        const char *version;
        const char *fields;
        const char *transcript;
    } rows[] = {
        {"1.1", "", " expects=0 keeps=1 upgrade=0 websocket=0"},
        {"1.1", "Connection: close\r\n", " keeps=0 "},
        {"1.1", "Connection: keep-alive, , CLOSE\r\n", " keeps=0 "},
        {"1.1", "Connection: keep-alive\r\nConnection: x ,close\r\n", " keeps=0 "},
        {"1.1", "Connection: closed\r\n", " keeps=1 "},
        {"1.0", "", " version=1.0 status=0 framing=0 length=0 expects=0 keeps=0 "},
        {"1.0", "Connection: Keep-Alive\r\n", " keeps=1 "},
        {"1.1", "Expect: 100-Continue\r\n", " expects=1 "},
        {"1.1", "Expect: 200-ok\r\n", " expects=2 "},
        {"1.1", "Expect: x\r\nExpect: 100-continue\r\n", " expects=2 "},
        {"1.0", "Expect: 100-continue\r\n", " expects=0 "},
        {"1.1", "Upgrade: websocket\r\n", " upgrade=0 websocket=0"},
        {"1.1", "Connection: upgrade\r\n", " upgrade=0 websocket=0"},
        {"1.1", "Connection: x, Upgrade\r\nUpgrade: h2c\r\n", " upgrade=1 websocket=0"},
        {"1.1", "Connection: Upgrade\r\nUpgrade: h2c, WebSocket\r\n", " upgrade=1 websocket=1"},
        {"1.0", "Connection: Upgrade\r\nUpgrade: websocket\r\n", " upgrade=0 websocket=0"},
    };
    struct driver_options options = driver_requests();
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        char request[256];
        snprintf(request, sizeof(request), "GET / HTTP/%s\r\nHost: a\r\n%s\r\n", rows[i].version,
                 rows[i].fields);
        expect_transcript(&options, request, rows[i].transcript);
    }
    expect_transcript(&options,
                      "POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                      "\r\n",
                      " upgrade=1 websocket=0");
}

JZX_TEST(fields_come_without_white_space_around_their_values) {
    struct driver_options options = driver_requests();
    expect_transcript(
        &options, "\r\nGET /p?q HTTP/1.1\r\nHost:a\r\nA:\r\nB: \t \r\nC:\t1 \t 2\xff\t \r\n\r\n",
        " method=<GET> target=</p?q> path=</p> query=<q> host=<a>");
    expect_transcript(&options, HEAD "A:\r\nB: \t \r\nC:\t1 \t 2\xff\t \r\n\r\n",
                      " name=<A> value=<> known=0\n name=<B> value=<> known=0\n"
                      " name=<C> value=<1 \t 2\xff> known=0\n");
}

JZX_TEST(pipelined_requests_are_told_apart) {
    static const char bytes[] =
        "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        "\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n" CHUNKED_HEAD "2\r\nde\r\n0\r\n\r\nGET /4 HTTP";
    struct driver_options options = driver_requests();
    struct driver_result result = driver_run(&options, bytes, sizeof(bytes) - 1, 7, 5);
    JZX_EXPECT_EQ(result.messages, 3);
    JZX_EXPECT_EQ(result.consumed, sizeof(bytes) - 1 - strlen("GET /4 HTTP"));
    JZX_EXPECT(result.is_in_message);
    driver_free(&result);
    JZX_EXPECT(driver_agrees(&options, bytes, sizeof(bytes) - 1, sizeof(bytes)));
}

/* Fills `bytes` with before, `count` times `c`, and after. */
static size_t fill(char *bytes, const char *before, char c, size_t count, const char *after) {
    size_t len = strlen(before);
    memcpy(bytes, before, len);
    memset(bytes + len, c, count);
    memcpy(bytes + len + count, after, strlen(after));
    return len + count + strlen(after);
}

static void expect_limit(const struct driver_options *options, const char *before, size_t max,
                         const char *after, unsigned status) {
    char bytes[512];
    size_t len = fill(bytes, before, 'a', max, after);
    struct driver_result result = driver_run(options, bytes, len, len, 1);
    if (!JZX_EXPECT(result.end != DRIVER_REFUSED && result.messages == 1)) {
        printf("%s\n", result.text);
    }
    driver_free(&result);
    len = fill(bytes, before, 'a', max + 1, after);
    result = driver_run(options, bytes, len, len, 1);
    if (!JZX_EXPECT(result.end == DRIVER_REFUSED && result.refusal.status == status)) {
        printf("%s\n", result.text);
    }
    driver_free(&result);
    JZX_EXPECT(driver_agrees(options, bytes, len, len + 1));
}

JZX_TEST(each_part_of_a_head_has_a_limit_that_it_may_reach) {
    struct driver_options options = driver_requests();
    options.limits.method_max = 8;
    expect_limit(&options, "", 8, " / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    options.limits.target_max = 20;
    expect_limit(&options, "GET /", 19, " HTTP/1.1\r\nHost: a\r\n\r\n", 414);
    options.limits.field_line_max = 30;
    expect_limit(&options, HEAD, 25, ": 345\r\n\r\n", 431);
    expect_limit(&options, HEAD "B: ", 27, "\r\n\r\n", 431);
    options.limits = jzx__http_limits_default;
    options.limits.head_max = 80;
    expect_limit(&options, HEAD "A: 0\r\nB: ", 80 - sizeof(HEAD "A: 0\r\nB: \r\n\r\n") + 1,
                 "\r\n\r\n", 431);
    options.limits.head_max = 20;
    expect_limit(&options, "GET /", 2, " HTTP/1.0\r\n\r\n", 431);
    static const struct refusal row[] = {R("GET /012", "3 HTTP", 431, "The head is too long")};
    options.limits.head_max = 8;
    expect_refusals(&options, row, 1);
}

JZX_TEST(a_head_has_at_most_as_many_fields_as_the_caller_has_room_for) {
    static const struct refusal row[] = {
        R(HEAD "A: b\r\n", "C: d\r\n\r\n", 431, "Too many fields")};
    struct driver_options options = driver_requests();
    options.fields_max = 2;
    expect_refusals(&options, row, 1);
    options.fields_max = 3;
    struct driver_result result = driver_run(&options, row->bytes, row->len, row->len, 1);
    JZX_EXPECT_EQ(result.messages, 1);
    driver_free(&result);
}

JZX_TEST(a_declared_length_above_the_limit_is_refused_with_413) {
    static const struct refusal rows[] = {
        R(POST "Content-Length: ", "6\r\n\r\n", 413, "The body is larger than the limit"),
    };
    struct driver_options options = driver_requests();
    options.limits.content_max = 5;
    expect_refusals(&options, rows, ARRAY_COUNT(rows));
    expect_transcript(&options, POST "Content-Length: 5\r\n\r\nhello", "hello\nDONE");
}

JZX_TEST(a_refusal_is_final) {
    struct jzx__http_head head;
    struct jzx__http_field list[1];
    jzx__http_head_begin(&head, JZX__HTTP_REQUEST, &jzx__http_limits_default, list, 1);
    JZX_EXPECT_EQ(jzx__http_head_parse(&head, "GET / HTTP/2.0", 14), JZX__HTTP_REFUSED);
    JZX_EXPECT_EQ(jzx__http_head_parse(&head, "GET / HTTP/1.1", 14), JZX__HTTP_REFUSED);
    JZX_EXPECT_EQ(head.refusal.status, 505);
}
