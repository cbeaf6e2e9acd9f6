/* SPDX-License-Identifier: MIT */
/* Responses: the status line, and where each kind of them ends. */
#include "refusals.h"

#define OK "HTTP/1.1 200 OK\r\n"

JZX_TEST(malformed_responses_are_refused) {
    static const struct refusal rows[] = {
        R("", "\r\nHTTP/1.1 200 OK\r\n", 502, "The HTTP version is malformed"),
        R("H", "xTTP/1.1 200 OK\r\n", 502, "The HTTP version is malformed"),
        R("HTTP/", "2.0 200 OK\r\n", 502, "The HTTP version is neither 1.0 nor 1.1"),
        R("HTTP/1.1 ", " 200 OK\r\n", 502, "The status is no number of three digits"),
        R("HTTP/1.1 ", "099 OK\r\n", 502, "The status is no number of three digits"),
        R("HTTP/1.1 20", " OK\r\n", 502, "The status is no number of three digits"),
        R("HTTP/1.1 200", "0 OK\r\n", 502,
          "A byte is not allowed behind the HTTP version or status"),
        R("HTTP/1.1 200 O", "\nA: b\r\n", 502, "A byte is not allowed in a reason phrase"),
        R("HTTP/1.1 200 O", "\0K\r\n", 502, "A byte is not allowed in a reason phrase"),
        R("HTTP/1.1 200 O", "\rK\r\n", 502, "CR without LF"),
        R(OK "A: b\r\n", " c\r\n", 502, "A field value continues on the next line (obs-fold)"),
        R(OK "Content-Length: 1\r\nTransfer-Encoding: ", "chunked\r\n\r\n", 502,
          "Both Content-Length and Transfer-Encoding"),
        R(OK "Content-Length: 1\r\n", "Content-Length: 2\r\n\r\n", 502,
          "More than one Content-Length"),
        R("HTTP/1.0 200 OK\r\nTransfer-Encoding: ", "chunked\r\n\r\n", 502,
          "Transfer-Encoding in an HTTP/1.0 message"),
        R(OK "Transfer-Encoding: ", "gzip, chunked\r\n\r\n", 502,
          "A transfer coding beside chunked is not implemented"),
    };
    struct driver_options options = driver_responses(JZX__HTTP_TO_OTHERS);
    expect_refusals(&options, rows, ARRAY_COUNT(rows));
}

JZX_TEST(a_response_ends_where_its_status_and_its_request_say) {
    static const struct {
        enum jzx__http_answers answers;
        const char *bytes;
        const char *transcript;
    } rows[] = {
        {JZX__HTTP_TO_OTHERS, OK "Content-Length: 2\r\n\r\nab" OK "\r\n", "ab\nDONE @40"},
        {JZX__HTTP_TO_OTHERS, OK "Content-Length: 0\r\n\r\n", "\nDONE @38"},
        {JZX__HTTP_TO_OTHERS, OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
         "a\nTRAILERS\nDONE"},
        {JZX__HTTP_TO_OTHERS, OK "\r\nall of it", " framing=3 length=0 expects=0 keeps=0 "},
        {JZX__HTTP_TO_OTHERS, OK "\r\nall of it", "all of it\nEND 3 in=1"},
        {JZX__HTTP_TO_OTHERS, OK "Content-Length: 9\r\n\r\npart of", "part of\nEND 0 in=1"},
        {JZX__HTTP_TO_OTHERS, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "\nDONE"},
        {JZX__HTTP_TO_OTHERS, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "\nDONE"},
        {JZX__HTTP_TO_OTHERS, "HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 0\r\n\r\n",
         "\nDONE @25"},
        {JZX__HTTP_TO_HEAD, OK "Content-Length: 5\r\n\r\n", "\nDONE @38"},
        {JZX__HTTP_TO_HEAD, OK "Transfer-Encoding: chunked\r\n\r\n", "\nDONE @47"},
        {JZX__HTTP_TO_CONNECT, OK "Content-Length: 5\r\n\r\nhello", "TUNNEL @38"},
        {JZX__HTTP_TO_CONNECT, "HTTP/1.1 403 No\r\nContent-Length: 1\r\n\r\na", "a\nDONE"},
        {JZX__HTTP_TO_OTHERS,
         "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nx",
         " framing=4 length=0 expects=0 keeps=1 upgrade=1 websocket=1"},
        {JZX__HTTP_TO_OTHERS, "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", " reason=<> form"},
        {JZX__HTTP_TO_OTHERS, "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", " reason=<> form"},
        {JZX__HTTP_TO_OTHERS, "HTTP/1.0 999 G\xc3\xbct \r\nContent-Length: 0\r\n\r\n",
         " reason=<G\xc3\xbct > form=0 port=-1 version=1.0 status=999 "},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct driver_options options = driver_responses(rows[i].answers);
        expect_transcript(&options, rows[i].bytes, rows[i].transcript);
    }
}

JZX_TEST(a_body_until_the_close_stops_at_its_limit) {
    static const struct refusal rows[] = {
        R(OK "\r\n12345", "6", 413, "The body is larger than the limit"),
    };
    struct driver_options options = driver_responses(JZX__HTTP_TO_OTHERS);
    options.limits.content_max = 5;
    expect_refusals(&options, rows, ARRAY_COUNT(rows));
    expect_transcript(&options, OK "\r\n12345", "12345\nEND 3");
}
