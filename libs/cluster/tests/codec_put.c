/* SPDX-License-Identifier: MIT */
/* The writers of the protocol, and the texts that they and the client look into. */
#include "codec_put.h"
#include "codec.h"

#include "jzx_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char room[8192];

static struct jzx__nats_out output(void) {
    return (struct jzx__nats_out){.data = room, .capacity = sizeof room};
}

static struct jzx__nats_bytes text(const char *string) {
    return (struct jzx__nats_bytes){string, strlen(string)};
}

static const struct jzx__nats_bytes absent = {NULL, 0};

static bool wrote(const struct jzx__nats_out *out, const char *expected) {
    const bool same = out->size == strlen(expected) && memcmp(out->data, expected, out->size) == 0;
    if (!same)
        fprintf(stderr, "wrote %.*s\n", (int)out->size, out->data);
    return same;
}

JZX_TEST(a_client_writes_each_operation) {
    struct jzx__nats_out out = output();
    const struct jzx__nats_field fields[] = {{text("k"), text("v 1")}, {text("E"), text("")}};
    struct jzx__nats_publish publish = {.subject = text("a.b"), .payload = text("hello")};
    JZX_EXPECT_EQ(jzx__nats_put_publish(&out, &publish), JZX_OK);
    publish.reply = text("in.box");
    publish.payload = text("");
    JZX_EXPECT_EQ(jzx__nats_put_publish(&out, &publish), JZX_OK);
    JZX_EXPECT(wrote(&out, "PUB a.b 5\r\nhello\r\nPUB a.b in.box 0\r\n\r\n"));
    out.size = 0;
    publish.fields = fields;
    publish.field_count = 2;
    publish.payload = text("hi");
    JZX_EXPECT_EQ(jzx__nats_put_publish(&out, &publish), JZX_OK);
    JZX_EXPECT(wrote(&out, "HPUB a.b in.box 25 27\r\nNATS/1.0\r\nk: v 1\r\nE: \r\n\r\nhi\r\n"));
    out.size = 0;
    JZX_EXPECT_EQ(jzx__nats_put_sub(&out, text("a.*.>"), absent, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx__nats_put_sub(&out, text("a"), text("group"), 22), JZX_OK);
    JZX_EXPECT_EQ(jzx__nats_put_unsub(&out, 1, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx__nats_put_unsub(&out, 22, 5), JZX_OK);
    JZX_EXPECT_EQ(jzx__nats_put_ping(&out), JZX_OK);
    JZX_EXPECT_EQ(jzx__nats_put_pong(&out), JZX_OK);
    JZX_EXPECT(
        wrote(&out, "SUB a.*.> 1\r\nSUB a group 22\r\nUNSUB 1\r\nUNSUB 22 5\r\nPING\r\nPONG\r\n"));
}

JZX_TEST(connect_escapes_its_texts) {
    struct jzx__nats_out out = output();
    const struct jzx__nats_connect connect = {.name = "a\"b\\c\n\xC3\xA4",
                                              .user = "u",
                                              .password = "p",
                                              .headers = true,
                                              .no_responders = true};
    JZX_EXPECT_EQ(jzx__nats_put_connect(&out, &connect), JZX_OK);
    JZX_EXPECT(wrote(&out, "CONNECT {\"lang\":\"c\",\"protocol\":1,\"verbose\":false,\"pedantic\":"
                           "false,\"tls_required\":false,\"echo\":false,\"headers\":true,"
                           "\"no_responders\":true,\"name\":\"a\\\"b\\\\c\\u000a\xC3\xA4\","
                           "\"user\":\"u\",\"pass\":\"p\"}\r\n"));
    out.size = 0;
    const struct jzx__nats_connect by_token = {.token = "t", .echo = true};
    JZX_EXPECT_EQ(jzx__nats_put_connect(&out, &by_token), JZX_OK);
    out.data[out.size] = 0;
    JZX_EXPECT(strstr(out.data, "\"auth_token\":\"t\"}\r\n") != NULL);
    JZX_EXPECT(strstr(out.data, "\"pass\"") == NULL);
}

JZX_TEST(invalid_connects_are_refused_in_words) {
    static const char *const texts[] = {"\xFF",
                                        "\xC3",
                                        "\xC0\x80",
                                        "\xE0\x80\x80",
                                        "\xED\xA0\x80",
                                        "\xF4\x90\x80\x80",
                                        "\xF5\x80\x80\x80"};
    struct jzx__nats_out out = output();
    struct jzx__nats_connect connect = {0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        connect.name = texts[i];
        JZX_EXPECT_EQ(jzx__nats_put_connect(&out, &connect), JZX_ERR_INVALID_ARG);
    }
    connect = (struct jzx__nats_connect){.user = "u"};
    JZX_EXPECT_EQ(jzx__nats_put_connect(&out, &connect), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(strcmp(out.why, "a user needs a password, and a password a user") == 0);
    connect = (struct jzx__nats_connect){.no_responders = true};
    JZX_EXPECT_EQ(jzx__nats_put_connect(&out, &connect), JZX_ERR_INVALID_ARG);
    char longest[JZX__NATS_CONNECT_MAX + 1];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    connect = (struct jzx__nats_connect){.token = longest};
    JZX_EXPECT_EQ(jzx__nats_put_connect(&out, &connect), JZX_ERR_TOO_LONG);
    JZX_EXPECT_EQ(out.size, 0);
}

JZX_TEST(no_text_of_the_caller_ends_a_line_or_a_header) {
    struct jzx__nats_out out = output();
    static const char *const subjects[] = {"",   "a b",  "a\r\nPING", "a\n", ".a",
                                           "a.", "a..b", "*",         "a.>", "a.*.b"};
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        const struct jzx__nats_publish bad = {.subject = text(subjects[i])};
        const struct jzx__nats_publish bad_reply = {.subject = text("a"),
                                                    .reply = text(subjects[i])};
        JZX_EXPECT_EQ(jzx__nats_put_publish(&out, &bad), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx__nats_put_publish(&out, &bad_reply), JZX_ERR_INVALID_ARG);
    }
    const struct jzx__nats_field fields[] = {{text("a"), text("b\r\nc: d")},
                                             {text("a"), text("b\n")},
                                             {text("a:b"), text("c")},
                                             {text("a b"), text("c")},
                                             {text(""), text("c")}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const struct jzx__nats_publish bad = {
            .subject = text("a"), .fields = &fields[i], .field_count = 1};
        JZX_EXPECT_EQ(jzx__nats_put_publish(&out, &bad), JZX_ERR_INVALID_ARG);
    }
    JZX_EXPECT_EQ(jzx__nats_put_sub(&out, text("a.>.b"), absent, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx__nats_put_sub(&out, text("a"), text("g h"), 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx__nats_put_sub(&out, text("a"), text(""), 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(out.size, 0);
}

JZX_TEST(messages_beyond_the_limit_of_the_server_are_refused) {
    struct jzx__nats_out out = output();
    const struct jzx__nats_field field = {text("k"), text("v")}; /* 18 bytes with its block */
    struct jzx__nats_publish publish = {
        .subject = text("a"), .payload = text("12345678"), .payload_max = 8};
    JZX_EXPECT_EQ(jzx__nats_put_publish(&out, &publish), JZX_OK);
    publish.payload_max = 7;
    JZX_EXPECT_EQ(jzx__nats_put_publish(&out, &publish), JZX_ERR_TOO_LONG);
    publish.fields = &field;
    publish.field_count = 1;
    publish.payload_max = 26;
    JZX_EXPECT_EQ(jzx__nats_put_publish(&out, &publish), JZX_OK);
    publish.payload_max = 25;
    JZX_EXPECT_EQ(jzx__nats_put_publish(&out, &publish), JZX_ERR_TOO_LONG);
    publish.field_count = JZX__NATS_HEADERS_MAX + 1;
    JZX_EXPECT_EQ(jzx__nats_put_publish(&out, &publish), JZX_ERR_TOO_LONG);
}

JZX_TEST(a_full_output_keeps_what_it_had_and_takes_nothing) {
    const struct jzx__nats_field field = {text("key"), text("value")};
    const struct jzx__nats_publish publish = {.subject = text("a.b"),
                                              .reply = text("r"),
                                              .payload = text("payload"),
                                              .fields = &field,
                                              .field_count = 1};
    const struct jzx__nats_connect connect = {.name = "n\n", .token = "t"};
    for (int kind = 0; kind < 5; kind++) {
        jzx_err err = JZX_ERR_FULL;
        size_t capacity = 4;
        for (; err == JZX_ERR_FULL; capacity++) {
            char *data = malloc(capacity);
            memcpy(data, "+++", 3);
            struct jzx__nats_out out = {.data = data, .size = 3, .capacity = capacity};
            err = kind == 0   ? jzx__nats_put_publish(&out, &publish)
                  : kind == 1 ? jzx__nats_put_connect(&out, &connect)
                  : kind == 2 ? jzx__nats_put_sub(&out, text("a.*"), text("q"), 77)
                  : kind == 3 ? jzx__nats_put_unsub(&out, 77, 3)
                              : jzx__nats_put_ping(&out);
            JZX_EXPECT_EQ(out.size, err == JZX_OK ? capacity : 3);
            JZX_EXPECT(memcmp(data, "+++", 3) == 0);
            JZX_EXPECT(err == JZX_OK || (err == JZX_ERR_FULL && out.why != NULL));
            free(data);
        }
        JZX_EXPECT_EQ(err, JZX_OK);
    }
}

JZX_TEST(patterns_match_subjects_by_tokens) {
    static const struct {
        const char *pattern, *subject;
        bool matches;
    } pairs[] = {{"a.b", "a.b", true},    {"a.b", "a.c", false},  {"a.*", "a.b", true},
                 {"a.*", "a.b.c", false}, {"a.>", "a.b.c", true}, {"a.>", "a", false},
                 {">", "a.b", true},      {"*.b", "a.b", true},   {"*", "a.b", false},
                 {"a.b.c", "a.b", false}, {"a", "ab", false},     {"a*", "ab", false},
                 {"a*", "a*", true}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const char *why;
        JZX_EXPECT_EQ(jzx__nats_subject_check(text(pairs[i].pattern), true, &why), JZX_OK);
        JZX_EXPECT_EQ(jzx__nats_subject_check(text(pairs[i].subject), false, &why), JZX_OK);
        JZX_EXPECT_EQ(jzx__nats_subject_matches(text(pairs[i].pattern), text(pairs[i].subject)),
                      pairs[i].matches);
    }
    char longest[JZX__NATS_SUBJECT_MAX + 1];
    const char *why = NULL;
    memset(longest, 'x', sizeof longest);
    const struct jzx__nats_bytes fits = {longest, JZX__NATS_SUBJECT_MAX};
    const struct jzx__nats_bytes longer = {longest, JZX__NATS_SUBJECT_MAX + 1};
    JZX_EXPECT_EQ(jzx__nats_subject_check(fits, false, &why), JZX_OK);
    JZX_EXPECT_EQ(jzx__nats_subject_check(longer, false, &why), JZX_ERR_TOO_LONG);
    JZX_EXPECT(why != NULL);
}

JZX_TEST(header_blocks_have_a_status_and_fields) {
    struct jzx__nats_headers headers;
    struct jzx__nats_bytes name, value;
    const char *why;
    JZX_EXPECT_EQ(jzx__nats_headers_open(&headers, text("NATS/1.0 503\r\n\r\n"), &why), JZX_OK);
    JZX_EXPECT(headers.status == 503 && headers.status_text.size == 0);
    JZX_EXPECT(!jzx__nats_headers_next(&headers, &name, &value));
    JZX_EXPECT_EQ(
        jzx__nats_headers_open(
            &headers, text("NATS/1.0 100 Idle Heartbeat\r\na:b\r\nC:  d : e \r\n\r\n"), &why),
        JZX_OK);
    JZX_EXPECT(headers.status == 100 && headers.status_text.size == 14);
    JZX_EXPECT(jzx__nats_headers_next(&headers, &name, &value));
    JZX_EXPECT(name.size == 1 && *name.data == 'a' && value.size == 1 && *value.data == 'b');
    JZX_EXPECT(jzx__nats_headers_next(&headers, &name, &value));
    JZX_EXPECT(value.size == 5 && memcmp(value.data, "d : e", 5) == 0);
    JZX_EXPECT(!jzx__nats_headers_next(&headers, &name, &value));
    JZX_EXPECT_EQ(jzx__nats_headers_open(&headers, text("NATS/1.0\r\n\r\n"), &why), JZX_OK);
    JZX_EXPECT_EQ(headers.status, 0);
}

JZX_TEST(invalid_header_blocks_are_refused_in_words) {
    static const char *const blocks[] = {"",
                                         "NATS/1.0",
                                         "NATS/1.0\r\n",
                                         "NATS/2.0\r\n\r\n",
                                         "NATS/1.0 50\r\n\r\n",
                                         "NATS/1.0 5033\r\n\r\n",
                                         "NATS/1.0503\r\n\r\n",
                                         "NATS/1.0\r\na\r\n\r\n",
                                         "NATS/1.0\r\n:a\r\n\r\n",
                                         "NATS/1.0\r\na b:c\r\n\r\n",
                                         "NATS/1.0\r\na:b\n\r\n\r\n",
                                         "NATS/1.0\r\na:b\r\r\n\r\n",
                                         "NATS/1.0\r\n\r\nmore"};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        struct jzx__nats_headers headers;
        const char *why = NULL;
        if (!JZX_EXPECT_EQ(jzx__nats_headers_open(&headers, text(blocks[i]), &why),
                           JZX_ERR_INVALID_ARG))
            fprintf(stderr, "%s\n", blocks[i]);
        JZX_EXPECT(why != NULL);
    }
    char many[1024] = "NATS/1.0\r\n";
    for (unsigned i = 0; i <= JZX__NATS_HEADERS_MAX; i++)
        strcat(many, "a:b\r\n");
    strcat(many, "\r\n");
    struct jzx__nats_headers headers;
    const char *why;
    JZX_EXPECT_EQ(jzx__nats_headers_open(&headers, text(many), &why), JZX_ERR_TOO_LONG);
}
