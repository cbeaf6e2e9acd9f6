/* SPDX-License-Identifier: MIT */
/* The parser: operations, limits, refusals, and that cutting the input changes nothing. */
#include "codec.h"

#include "jzx_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct jzx__nats_limits small = {
    .line_max = 64, .info_max = 400, .header_max = 48, .payload_max = 64};

/* The operations that a parser yielded, as text. */
struct story {
    char text[4096];
    size_t size;
    jzx_err err;
};

static void add(struct story *story, const char *data, size_t size) {
    for (size_t i = 0; i < size && story->size + 8 < sizeof story->text; i++) {
        const unsigned char c = (unsigned char)data[i];
        story->size += (size_t)snprintf(story->text + story->size, 8,
                                        c < ' ' || c > '~' ? "\\%02x" : "%c", (unsigned)c);
    }
}

static void add_bytes(struct story *story, const char *label, struct jzx__nats_bytes bytes) {
    if (bytes.data == NULL)
        return;
    add(story, " ", 1);
    add(story, label, strlen(label));
    add(story, "=", 1);
    add(story, bytes.data, bytes.size);
}

static void add_op(struct story *story, const struct jzx__nats_op *op) {
    static const char *const kinds[] = {"NONE", "INFO", "MSG", "PING", "PONG", "OK", "ERR"};
    char sid[32];
    add(story, kinds[op->kind], strlen(kinds[op->kind]));
    if (op->kind == JZX__NATS_MSG) {
        add(story, sid, (size_t)snprintf(sid, sizeof sid, " sid=%u", (unsigned)op->sid));
        add_bytes(story, "subject", op->subject);
        add_bytes(story, "reply", op->reply);
        add_bytes(story, "header", op->header);
        add_bytes(story, "payload", op->payload);
    }
    add_bytes(story, "text", op->text);
    if (op->kind == JZX__NATS_INFO)
        add_bytes(story, "id",
                  (struct jzx__nats_bytes){op->info->server_id, strlen(op->info->server_id)});
    add(story, ";", 1);
}

/* Feeds one piece, which is copied so that a sanitizer sees a read beyond it. */
static void feed(struct jzx__nats_parser *parser, const char *bytes, size_t size,
                 struct story *story) {
    char *copy = malloc(size > 0 ? size : 1);
    size_t done = 0;
    memcpy(copy, bytes, size);
    while (done < size && story->err == JZX_OK) {
        struct jzx__nats_op op;
        size_t used;
        story->err = jzx__nats_parse(parser, copy + done, size - done, &used, &op);
        done += used;
        if (story->err == JZX_OK && op.kind != JZX__NATS_NONE)
            add_op(story, &op);
    }
    free(copy);
}

/* Pieces of an input: they end at these two places and at its end, or each has one byte. */
struct pieces {
    size_t cut;
    size_t cut2;
    bool single;
};

static void tell(struct story *story, const struct jzx__nats_limits *limits, const char *bytes,
                 size_t size, struct pieces pieces) {
    struct jzx__nats_parser parser;
    const size_t need = jzx__nats_parser_buffer_size(limits);
    char *buffer = malloc(need);
    story->size = 0;
    story->err = JZX_OK;
    JZX_EXPECT_EQ(jzx__nats_parser_init(&parser, limits, buffer, need), JZX_OK);
    if (pieces.single) {
        for (size_t i = 0; i < size; i++)
            feed(&parser, bytes + i, 1, story);
    } else {
        feed(&parser, bytes, pieces.cut, story);
        feed(&parser, bytes + pieces.cut, pieces.cut2 - pieces.cut, story);
        feed(&parser, bytes + pieces.cut2, size - pieces.cut2, story);
    }
    if (story->err != JZX_OK) {
        add(story, "refused: ", 9);
        add(story, parser.why, strlen(parser.why));
    }
    story->text[story->size] = 0;
    free(buffer);
}

static bool is_same(const struct story *a, const struct story *b) {
    return a->err == b->err && strcmp(a->text, b->text) == 0;
}

/* Whole, at every split and byte by byte. Returns the story of the whole. */
static bool tells_at_every_split(const struct jzx__nats_limits *limits, const char *bytes,
                                 size_t size, struct story *whole) {
    struct story other;
    tell(whole, limits, bytes, size, (struct pieces){size, size, false});
    tell(&other, limits, bytes, size, (struct pieces){0, 0, true});
    bool same = is_same(whole, &other);
    for (size_t cut = 0; cut <= size && same; cut++) {
        tell(&other, limits, bytes, size, (struct pieces){cut, cut + (size - cut) / 2, false});
        same = is_same(whole, &other);
    }
    return same;
}

static void expect_story(const char *bytes, const char *expected) {
    struct story whole;
    JZX_EXPECT(tells_at_every_split(&small, bytes, strlen(bytes), &whole));
    if (!JZX_EXPECT(strcmp(whole.text, expected) == 0))
        fprintf(stderr, "input    %s\nactual   %s\nexpected %s\n", bytes, whole.text, expected);
}

JZX_TEST(every_operation_of_a_server_is_read_at_every_split) {
    expect_story("PING\r\nPONG\r\n+OK\r\nping \r\n", "PING;PONG;OK;PING;");
    expect_story("MSG a.b 9 5\r\nhello\r\n", "MSG sid=9 subject=a.b payload=hello;");
    expect_story("MSG a.b 9 in.box 5\r\nhello\r\nPING\r\n",
                 "MSG sid=9 subject=a.b reply=in.box payload=hello;PING;");
    expect_story("msg\ta  1\t0\r\n\r\n", "MSG sid=1 subject=a payload=;");
    expect_story("MSG a 1 4\r\n\r\n\r\n\r\n", "MSG sid=1 subject=a payload=\\0d\\0a\\0d\\0a;");
    expect_story("HMSG a 2 22 24\r\nNATS/1.0\r\nk: value\r\n\r\nhi\r\n",
                 "MSG sid=2 subject=a header=NATS/1.0\\0d\\0ak: value\\0d\\0a\\0d\\0a payload=hi;");
    expect_story("HMSG a 2 r 16 16\r\nNATS/1.0 503\r\n\r\n\r\n",
                 "MSG sid=2 subject=a reply=r header=NATS/1.0 503\\0d\\0a\\0d\\0a payload=;");
    expect_story("-ERR 'Unknown Protocol Operation'\r\n-ERR bare\r\n",
                 "ERR text=Unknown Protocol Operation;ERR text=bare;");
    expect_story("INFO {\"server_id\":\"N1\"}\r\nPING\r\n", "INFO id=N1;PING;");
}

/* A publisher chose these subjects, headers and payloads: the server checks none of them. */
JZX_TEST(bytes_of_a_publisher_do_not_end_the_connection) {
    struct story whole;
    static const char odd[] = "MSG a\rb\0\x01.. 1 \xff\r 2\r\n\r\n\r\nPING\r\n";
    JZX_EXPECT(tells_at_every_split(&small, odd, sizeof odd - 1, &whole));
    JZX_EXPECT(strcmp(whole.text, "MSG sid=1 subject=a\\0db\\00\\01.. reply=\\ff\\0d "
                                  "payload=\\0d\\0a;PING;") == 0);
    expect_story("HMSG a 2 9 9\r\nno header\r\nPING\r\n",
                 "MSG sid=2 subject=a header=no header payload=;PING;");
    /* The words of PUB may have 4 KiB, and MSG has a few more. */
    static char input[9000];
    const struct jzx__nats_limits defaults = {0};
    const size_t head = (size_t)snprintf(input, sizeof input, "MSG ");
    memset(input + head, 's', 4096);
    const size_t tail = (size_t)snprintf(input + head + 4096, 100, " 18446744073709 0\r\n\r\n");
    tell(&whole, &defaults, input, head + 4096 + tail, (struct pieces){head, head + 100, false});
    JZX_EXPECT_EQ(whole.err, JZX_OK);
}

JZX_TEST(a_server_that_breaks_the_framing_is_refused_in_words_at_every_split) {
    expect_story("HELLO\r\n", "refused: a line begins with no verb of the protocol");
    expect_story("PING\n", "refused: a line does not end with CR LF");
    expect_story("\r\n", "refused: a line begins with no verb of the protocol");
    expect_story("PING x\r\n", "refused: PING, PONG or +OK has words behind it");
    expect_story("PING\r\nMSG a 1\r\n",
                 "PING;refused: a message line has the wrong number of words");
    expect_story("MSG a 1 b c 5\r\n", "refused: a message line has the wrong number of words");
    expect_story("MSG a x 5\r\n", "refused: a message has no number as its subscription");
    expect_story("MSG a 1 5x\r\n", "refused: a message has no number as its size");
    expect_story("MSG a 1 -1\r\n", "refused: a message has no number as its size");
    expect_story("HMSG a 1 b 5\r\n", "refused: a message has no number as its size");
    expect_story("HMSG a 1 9 5\r\n", "refused: the header of a message is longer than the message");
    expect_story("MSG a 1 99999999999999999999\r\n",
                 "refused: a message has no number as its size");
    expect_story("MSG a 1 5\r\nhelloX\nPING\r\n",
                 "refused: a payload is not followed by CR LF: its size is wrong");
    expect_story("MSG a 1 5\r\nhello\rXPING\r\n",
                 "refused: a payload is not followed by CR LF: its size is wrong");
    expect_story("INFO []\r\n", "refused: INFO is no JSON object");
}

JZX_TEST(each_limit_holds_to_the_byte_at_every_split) {
    char input[1024];
    struct story whole;
    const size_t line_max = small.line_max;
    for (size_t length = line_max - 2; length <= line_max + 2; length++) {
        memset(input, 'x', sizeof input);
        memcpy(input, "-ERR ", 5);
        memcpy(input + length - 2, "\r\n", 2);
        JZX_EXPECT(tells_at_every_split(&small, input, length, &whole));
        JZX_EXPECT_EQ(whole.err, length <= line_max ? JZX_OK : JZX_ERR_TOO_LONG);
    }
    for (size_t length = small.info_max - 2; length <= small.info_max + 2; length++) {
        memset(input, ' ', sizeof input);
        memcpy(input, "INFO {}", 7);
        memcpy(input + length - 2, "\r\n", 2);
        JZX_EXPECT(tells_at_every_split(&small, input, length, &whole));
        JZX_EXPECT_EQ(whole.err, length <= small.info_max ? JZX_OK : JZX_ERR_TOO_LONG);
    }
    for (size_t length = small.payload_max - 1; length <= small.payload_max + 1; length++) {
        memset(input, 'x', sizeof input);
        const size_t head = (size_t)snprintf(input, sizeof input, "MSG a 1 %zu\r\n", length);
        memcpy(input + head + length, "\r\n", 2);
        JZX_EXPECT(tells_at_every_split(&small, input, head + length + 2, &whole));
        JZX_EXPECT_EQ(whole.err, length <= small.payload_max ? JZX_OK : JZX_ERR_TOO_LONG);
    }
    expect_story("HMSG a 1 49 50\r\n",
                 "refused: the header of a message is longer than header_max");
    expect_story("INFOX 0123456789012345678901234567890123456789012345678901234567890",
                 "refused: a line is longer than its limit");
}

JZX_TEST(a_refusal_is_final) {
    struct jzx__nats_parser parser;
    static char buffer[1024];
    struct jzx__nats_op op;
    size_t used;
    JZX_EXPECT_EQ(jzx__nats_parser_init(&parser, &small, buffer, sizeof buffer), JZX_OK);
    JZX_EXPECT_EQ(jzx__nats_parse(&parser, "BAD\r\n", 5, &used, &op), JZX_ERR_INVALID_ARG);
    const char *why = parser.why;
    JZX_EXPECT_EQ(jzx__nats_parse(&parser, "PING\r\n", 6, &used, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(op.kind == JZX__NATS_NONE && used == 0 && parser.why == why);
    JZX_EXPECT_EQ(jzx__nats_parse(&parser, "", 0, &used, &op), JZX_ERR_INVALID_ARG);
}

JZX_TEST(a_parser_needs_sound_limits_and_their_buffer) {
    struct jzx__nats_parser parser;
    static char buffer[1024];
    const struct jzx__nats_limits none = {0};
    const struct jzx__nats_limits huge = {.payload_max = (size_t)JZX__NATS_PAYLOAD_LIMIT + 1};
    const struct jzx__nats_limits tiny = {.line_max = 8};
    JZX_EXPECT_EQ(jzx__nats_parser_buffer_size(&huge), 0);
    JZX_EXPECT_EQ(jzx__nats_parser_buffer_size(&tiny), 0);
    JZX_EXPECT_EQ(jzx__nats_parser_buffer_size(&none),
                  JZX__NATS_LINE_MAX + JZX__NATS_PAYLOAD_MAX + 2);
    const size_t need = jzx__nats_parser_buffer_size(&small);
    JZX_EXPECT_EQ(need, small.info_max);
    JZX_EXPECT_EQ(jzx__nats_parser_init(&parser, &small, buffer, need - 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx__nats_parser_init(&parser, &huge, buffer, sizeof buffer),
                  JZX_ERR_INVALID_ARG);
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Changes, removes, doubles or inserts some bytes. */
static size_t mutate(uint64_t *random, char *bytes, size_t size, size_t room) {
    for (uint64_t n = 1 + next_random(random) % 4; n > 0; n--) {
        const size_t at = size > 0 ? next_random(random) % size : 0;
        switch (next_random(random) % 4) {
        case 0:
            if (size > 0)
                bytes[at] = (char)next_random(random);
            break;
        case 1:
            if (size > 0) {
                memmove(bytes + at, bytes + at + 1, size - at - 1);
                size--;
            }
            break;
        default:
            if (size < room) {
                memmove(bytes + at + 1, bytes + at, size - at);
                bytes[at] = "0123456789 \r\n{}[]\",:\\u'"[next_random(random) % 23];
                size++;
            }
        }
    }
    return size;
}

JZX_TEST(mutated_input_yields_the_same_at_every_split_and_never_reads_beyond) {
    static const char *const inputs[] = {
        "PING\r\nMSG a.b 9 in.box 5\r\nhello\r\n+OK\r\n",
        "HMSG a 2 22 24\r\nNATS/1.0\r\nk: value\r\n\r\nhi\r\nPONG\r\n",
        "-ERR 'Authorization Violation'\r\nPING\r\n",
        ("INFO {\"server_id\":\"N\\u00e41\",\"max_payload\":1048576,\"headers\":true,"
         "\"connect_urls\":[\"127.0.0.1:4222\",\"[::1]:4223\"],\"x\":{\"y\":[1,-2.5e3,null]}}\r\n"),
    };
    uint64_t random = 0x9E3779B97F4A7C15u, refused = 0;
    const uint64_t rounds = jzx_test_rounds(3000, 300000);
    for (uint64_t n = 0; n < rounds; n++) {
        char bytes[512];
        struct story whole;
        const char *input = inputs[n % 4];
        memcpy(bytes, input, strlen(input));
        const size_t size = mutate(&random, bytes, strlen(input), sizeof bytes);
        if (!JZX_EXPECT(tells_at_every_split(&small, bytes, size, &whole))) {
            fprintf(stderr, "round %u: %s\n", (unsigned)n, whole.text);
            return;
        }
        refused += whole.err != JZX_OK;
    }
    JZX_EXPECT(refused > rounds / 4 && refused < rounds);
}

static jzx_err read_info(const char *json, struct jzx__nats_info *info, const char **why) {
    *why = NULL;
    return jzx__nats_info_read(json, strlen(json), info, why);
}

JZX_TEST(info_has_the_fields_that_a_client_needs) {
    struct jzx__nats_info info;
    const char *why;
    JZX_EXPECT_EQ(
        read_info("{\"server_id\":\"NA\",\"server_name\":\"n\\\"1\\u20AC\\ud83d\\ude00\",\"go\":"
                  "\"1\",\"version\":\"2.9.10\",\"proto\":1,\"headers\":true,\"max_payload\":"
                  "1048576,\"client_id\":7,\"auth_required\":true,\"tls_required\":false,"
                  "\"tls_available\":true,\"ldm\":true,\"nonce\":\"abc\",\"connect_urls\":"
                  "[\"a:1\",\"b:2\"],\"unknown\":{\"a\":[1,2.5e-3,{\"b\":null}],\"c\":false}}",
                  &info, &why),
        JZX_OK);
    JZX_EXPECT(strcmp(info.server_id, "NA") == 0 && strcmp(info.version, "2.9.10") == 0);
    JZX_EXPECT(strcmp(info.server_name, "n\"1\xE2\x82\xAC\xF0\x9F\x98\x80") == 0);
    JZX_EXPECT(strcmp(info.nonce, "abc") == 0);
    JZX_EXPECT(info.proto == 1 && info.max_payload == 1048576 && info.client_id == 7);
    JZX_EXPECT(info.headers && info.auth_required && info.tls_available && info.lame_duck);
    JZX_EXPECT(!info.tls_required);
    JZX_EXPECT_EQ(info.url_count, 2);
    JZX_EXPECT(strcmp(info.urls[0], "a:1") == 0 && strcmp(info.urls[1], "b:2") == 0);
}

JZX_TEST(info_with_more_servers_than_there_is_room_for_counts_the_rest) {
    struct jzx__nats_info info;
    const char *why;
    char json[512] = "{\"connect_urls\":[\"h:0\"";
    for (int i = 1; i < 20; i++)
        strcat(json, ",\"h:1\"");
    strcat(json, "]}");
    JZX_EXPECT_EQ(read_info(json, &info, &why), JZX_OK);
    JZX_EXPECT_EQ(info.url_count, JZX__NATS_URLS_MAX);
    JZX_EXPECT_EQ(info.urls_dropped, 20 - JZX__NATS_URLS_MAX);
}

JZX_TEST(invalid_info_is_refused_in_words) {
    static const char *const inputs[] = {
        "",
        "{",
        "[]",
        "{} x",
        "{\"server_id\"}",
        "{\"server_id\":1}",
        "{\"max_payload\":\"1\"}",
        "{\"max_payload\":-1}",
        "{\"max_payload\":1.5}",
        "{\"max_payload\":1e9}",
        "{\"max_payload\":9999999999999999999}",
        "{\"headers\":1}",
        "{\"connect_urls\":\"a\"}",
        "{\"connect_urls\":[\"a\"}",
        "{\"connect_urls\":[1]}",
        "{\"x\":[[[[[[[[[[1]]]]]]]]]]}",
        "{\"x\":}",
        "{\"x\":{\"y\" 1}}",
        "{\"server_id\":\"\\u0000\"}",
        "{\"server_id\":\"\\ud800\"}",
        "{\"server_id\":\"\\q\"}",
        "{\"server_id\":\"a\tb\"}",
        "{\"server_id\":\"a",
        "{\"a\":1,}",
    };
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        struct jzx__nats_info info;
        const char *why;
        JZX_EXPECT_EQ(read_info(inputs[i], &info, &why), JZX_ERR_INVALID_ARG);
        if (!JZX_EXPECT(why != NULL && strncmp(why, "INFO", 4) == 0))
            fprintf(stderr, "%s\n", inputs[i]);
    }
    char json[400] = "{\"server_id\":\"";
    memset(json + strlen(json), 'x', 256);
    strcat(json, "\"}");
    struct jzx__nats_info info;
    const char *why;
    JZX_EXPECT_EQ(read_info(json, &info, &why), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(why != NULL && strcmp(why, "INFO has a text of more than 255 bytes") == 0);
}

JZX_TEST(errors_of_a_server_have_a_kind_and_tell_whether_it_closes) {
    static const struct {
        const char *text;
        enum jzx__nats_error kind;
        bool closes;
    } known[] = {
        {"Authorization Violation", JZX__NATS_ERROR_AUTHORIZATION, true},
        {"Permissions Violation for Publish to \"a\"", JZX__NATS_ERROR_PERMISSION_PUBLISH, false},
        {"Permissions Violation for Subscription to \"a\"", JZX__NATS_ERROR_PERMISSION_SUBSCRIBE,
         false},
        {"Stale Connection", JZX__NATS_ERROR_STALE, true},
        {"Slow Consumer", JZX__NATS_ERROR_SLOW_CONSUMER, true},
        {"maximum connections exceeded", JZX__NATS_ERROR_MAX_CONNECTIONS, true},
        {"Maximum Payload Violation", JZX__NATS_ERROR_MAX_PAYLOAD, true},
        {"Invalid Subject", JZX__NATS_ERROR_INVALID_SUBJECT, false},
        {"Something new", JZX__NATS_ERROR_OTHER, true},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        bool closes = !known[i].closes;
        const struct jzx__nats_bytes text = {known[i].text, strlen(known[i].text)};
        JZX_EXPECT_EQ(jzx__nats_error_kind(text, &closes), known[i].kind);
        JZX_EXPECT_EQ(closes, known[i].closes);
    }
}
