/* SPDX-License-Identifier: MIT */
/* The parser of what a server sends. Lines are always copied to the caller's buffer, as they are
 * short; a payload that lies whole in the input is not copied at all. */
#include "codec.h"

#include "check.h"

#include <string.h>

static size_t or_default(size_t value, size_t fallback) {
    return value != 0 ? value : fallback;
}

static bool limits_resolve(const struct jzx__nats_limits *given, struct jzx__nats_limits *limits) {
    limits->line_max = or_default(given->line_max, JZX__NATS_LINE_MAX);
    limits->info_max = or_default(given->info_max, JZX__NATS_INFO_MAX);
    limits->payload_max = or_default(given->payload_max, JZX__NATS_PAYLOAD_MAX);
    limits->header_max = or_default(given->header_max, limits->payload_max);
    return limits->line_max >= 16 && limits->line_max <= limits->info_max &&
           limits->info_max <= JZX__NATS_PAYLOAD_LIMIT &&
           limits->header_max <= JZX__NATS_PAYLOAD_LIMIT &&
           limits->payload_max <= JZX__NATS_PAYLOAD_LIMIT;
}

/* An INFO line, or another line with a payload and its CRLF. */
static size_t buffer_need(const struct jzx__nats_limits *limits) {
    const size_t message = limits->line_max + limits->payload_max + 2;
    return message > limits->info_max ? message : limits->info_max;
}

size_t jzx__nats_parser_buffer_size(const struct jzx__nats_limits *limits) {
    struct jzx__nats_limits resolved;
    return limits_resolve(limits, &resolved) ? buffer_need(&resolved) : 0;
}

jzx_err jzx__nats_parser_init(struct jzx__nats_parser *parser,
                              const struct jzx__nats_limits *limits, void *buffer, size_t size) {
    struct jzx__nats_limits resolved;
    if (!limits_resolve(limits, &resolved) || size < buffer_need(&resolved))
        return JZX_ERR_INVALID_ARG;
    memset(parser, 0, sizeof *parser);
    parser->limits = resolved;
    parser->buffer = buffer;
    return JZX_OK;
}

static jzx_err refuse(struct jzx__nats_parser *parser, const char *why) {
    parser->why = why;
    return JZX_ERR_INVALID_ARG;
}

/* The words of a line, which ends before its CRLF. */
struct words {
    const char *at;
    const char *end;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static struct jzx__nats_bytes next_word(struct words *words) {
    while (words->at < words->end && is_blank(*words->at))
        words->at++;
    const char *begin = words->at;
    while (words->at < words->end && !is_blank(*words->at))
        words->at++;
    return (struct jzx__nats_bytes){begin, (size_t)(words->at - begin)};
}

static struct jzx__nats_bytes rest_of(struct words *words) {
    while (words->at < words->end && is_blank(*words->at))
        words->at++;
    const char *end = words->end;
    while (end > words->at && is_blank(end[-1]))
        end--;
    return (struct jzx__nats_bytes){words->at, (size_t)(end - words->at)};
}

static bool word_is(struct jzx__nats_bytes word, const char *upper) {
    const size_t size = strlen(upper);
    if (word.size != size)
        return false;
    for (size_t i = 0; i < size; i++) {
        const char c = word.data[i];
        if ((c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c) != upper[i])
            return false;
    }
    return true;
}

/* Up to 19 digits, which fit 64 bits. */
static bool read_number(struct jzx__nats_bytes word, uint64_t *number) {
    if (word.size == 0 || word.size > 19)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] < '0' || word.data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(word.data[i] - '0');
    }
    *number = value;
    return true;
}

/* "<subject> <sid> [reply] [header size] <size>". */
static jzx_err begin_message(struct jzx__nats_parser *parser, struct words *words, bool headers) {
    struct jzx__nats_bytes word[6];
    size_t count = 0;
    while (count < 6 && (word[count] = next_word(words)).size > 0)
        count++;
    const size_t numbers = headers ? 2 : 1;
    if (count < 2 + numbers || count > 3 + numbers)
        return refuse(parser, "a message line has the wrong number of words");
    const struct jzx__nats_bytes *last = &word[count - 1];
    uint64_t sid, total, header = 0;
    if (!read_number(word[1], &sid))
        return refuse(parser, "a message has no number as its subscription");
    if (!read_number(*last, &total) || (headers && !read_number(last[-1], &header)))
        return refuse(parser, "a message has no number as its size");
    if (header > parser->limits.header_max) {
        parser->why = "the header of a message is longer than header_max";
        return JZX_ERR_TOO_LONG;
    }
    if (total > parser->limits.payload_max) {
        parser->why = "a message is longer than payload_max";
        return JZX_ERR_TOO_LONG;
    }
    if (header > total)
        return refuse(parser, "the header of a message is longer than the message");
    parser->op = (struct jzx__nats_op){.kind = JZX__NATS_MSG, .subject = word[0], .sid = sid};
    if (count == 3 + numbers)
        parser->op.reply = word[2];
    parser->op.header.data = headers ? "" : NULL;
    parser->header_want = (size_t)header;
    parser->body_want = (size_t)total + 2;
    parser->body_size = 0;
    return JZX_OK;
}

static jzx_err finish_error(struct jzx__nats_parser *parser, struct words *words,
                            struct jzx__nats_op *op) {
    struct jzx__nats_bytes text = rest_of(words);
    if (text.size >= 2 && text.data[0] == '\'' && text.data[text.size - 1] == '\'') {
        text.data++;
        text.size -= 2;
    }
    parser->line_size = 0;
    *op = (struct jzx__nats_op){.kind = JZX__NATS_ERR, .text = text};
    return JZX_OK;
}

static jzx_err finish_info(struct jzx__nats_parser *parser, struct words *words,
                           struct jzx__nats_op *op) {
    const struct jzx__nats_bytes json = rest_of(words);
    const jzx_err err = jzx__nats_info_read(json.data, json.size, &parser->info, &parser->why);
    if (err != JZX_OK)
        return err;
    parser->line_size = 0;
    *op = (struct jzx__nats_op){.kind = JZX__NATS_INFO, .info = &parser->info};
    return JZX_OK;
}

/* A complete line: yields its operation, or has the payload awaited. */
static jzx_err take_line(struct jzx__nats_parser *parser, struct jzx__nats_op *op) {
    static const struct {
        const char *verb;
        enum jzx__nats_kind kind;
    } bare[] = {{"PING", JZX__NATS_PING}, {"PONG", JZX__NATS_PONG}, {"+OK", JZX__NATS_OK}};

    if (parser->line_size < 2 || parser->buffer[parser->line_size - 2] != '\r')
        return refuse(parser, "a line does not end with CR LF");
    struct words words = {parser->buffer, parser->buffer + parser->line_size - 2};
    const struct jzx__nats_bytes verb = next_word(&words);
    if (word_is(verb, "MSG"))
        return begin_message(parser, &words, false);
    if (word_is(verb, "HMSG"))
        return begin_message(parser, &words, true);
    if (word_is(verb, "INFO"))
        return finish_info(parser, &words, op);
    if (word_is(verb, "-ERR"))
        return finish_error(parser, &words, op);
    for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++) {
        if (!word_is(verb, bare[i].verb))
            continue;
        if (next_word(&words).size > 0)
            return refuse(parser, "PING, PONG or +OK has words behind it");
        parser->line_size = 0;
        *op = (struct jzx__nats_op){.kind = bare[i].kind};
        return JZX_OK;
    }
    return refuse(parser, "a line begins with no verb of the protocol");
}

/* The line has the longer limit of INFO only if it begins with that verb and a blank. */
static size_t line_limit(const struct jzx__nats_parser *parser) {
    const bool is_info = parser->line_size >= 5 && is_blank(parser->buffer[4]) &&
                         word_is((struct jzx__nats_bytes){parser->buffer, 4}, "INFO");
    return is_info ? parser->limits.info_max : parser->limits.line_max;
}

/* Appends input up to the end of the line. Looks at the verb before it takes more than line_max. */
static jzx_err feed_line(struct jzx__nats_parser *parser, const char *bytes, size_t size,
                         size_t *used, bool *complete) {
    *used = 0;
    *complete = false;
    while (*used < size && !*complete) {
        const size_t room = line_limit(parser) - parser->line_size;
        if (room == 0) {
            parser->why = "a line is longer than its limit";
            return JZX_ERR_TOO_LONG;
        }
        size_t take = size - *used < room ? size - *used : room;
        const char *end = memchr(bytes + *used, '\n', take);
        if (end != NULL)
            take = (size_t)(end - (bytes + *used)) + 1;
        memcpy(parser->buffer + parser->line_size, bytes + *used, take);
        parser->line_size += take;
        *used += take;
        *complete = end != NULL;
    }
    return JZX_OK;
}

static jzx_err finish_message(struct jzx__nats_parser *parser, const char *body,
                              struct jzx__nats_op *op) {
    const size_t total = parser->body_want - 2;
    if (body[total] != '\r' || body[total + 1] != '\n')
        return refuse(parser, "a payload is not followed by CR LF: its size is wrong");
    *op = parser->op;
    if (op->header.data != NULL)
        op->header = (struct jzx__nats_bytes){body, parser->header_want};
    op->payload = (struct jzx__nats_bytes){body + parser->header_want, total - parser->header_want};
    parser->line_size = parser->body_size = parser->body_want = 0;
    return JZX_OK;
}

static jzx_err feed_body(struct jzx__nats_parser *parser, const char *bytes, size_t size,
                         size_t *used, struct jzx__nats_op *op) {
    const size_t missing = parser->body_want - parser->body_size;
    if (parser->body_size == 0 && size >= missing) {
        *used = missing;
        return finish_message(parser, bytes, op);
    }
    char *body = parser->buffer + parser->line_size;
    *used = size < missing ? size : missing;
    if (*used > 0)
        memcpy(body + parser->body_size, bytes, *used);
    parser->body_size += *used;
    return parser->body_size == parser->body_want ? finish_message(parser, body, op) : JZX_OK;
}

static jzx_err parse(struct jzx__nats_parser *parser, const char *bytes, size_t size, size_t *used,
                     struct jzx__nats_op *op) {
    if (parser->body_want == 0) {
        bool complete;
        jzx_err err = feed_line(parser, bytes, size, used, &complete);
        if (err == JZX_OK && complete)
            err = take_line(parser, op);
        if (err != JZX_OK || parser->body_want == 0)
            return err;
    }
    size_t of_body;
    const jzx_err err = feed_body(parser, bytes + *used, size - *used, &of_body, op);
    *used += of_body;
    return err;
}

jzx_err jzx__nats_parse(struct jzx__nats_parser *parser, const void *bytes, size_t size,
                        size_t *used, struct jzx__nats_op *op) {
    static const struct jzx__nats_op none = {.kind = JZX__NATS_NONE};
    *op = none;
    *used = 0;
    if (parser->why == NULL && size > 0) {
        const jzx_err err = parse(parser, bytes, size, used, op);
        if (err == JZX_OK) {
            JZX__CHECK(op->kind != JZX__NATS_NONE || *used == size);
            return JZX_OK;
        }
        JZX__CHECK(parser->why != NULL); /* codec/C3 */
        parser->err = err;
        *op = none;
    }
    return parser->err;
}

enum jzx__nats_error jzx__nats_error_kind(struct jzx__nats_bytes text, bool *closes) {
    static const struct {
        const char *prefix;
        enum jzx__nats_error kind;
        bool closes;
    } known[] = {
        {"AUTHORIZATION VIOLATION", JZX__NATS_ERROR_AUTHORIZATION, true},
        {"AUTHORIZATION TIMEOUT", JZX__NATS_ERROR_AUTHORIZATION, true},
        {"AUTHENTICATION TIMEOUT", JZX__NATS_ERROR_AUTHORIZATION, true},
        {"AUTHENTICATION EXPIRED", JZX__NATS_ERROR_AUTHORIZATION, true},
        {"USER AUTHENTICATION EXPIRED", JZX__NATS_ERROR_AUTHORIZATION, true},
        {"PERMISSIONS VIOLATION FOR PUBLISH", JZX__NATS_ERROR_PERMISSION_PUBLISH, false},
        {"PERMISSIONS VIOLATION FOR SUBSCRIPTION", JZX__NATS_ERROR_PERMISSION_SUBSCRIBE, false},
        {"STALE CONNECTION", JZX__NATS_ERROR_STALE, true},
        {"SLOW CONSUMER", JZX__NATS_ERROR_SLOW_CONSUMER, true},
        {"MAXIMUM PAYLOAD", JZX__NATS_ERROR_MAX_PAYLOAD, true},
        {"MAXIMUM CONNECTIONS", JZX__NATS_ERROR_MAX_CONNECTIONS, true},
        {"INVALID SUBJECT", JZX__NATS_ERROR_INVALID_SUBJECT, false},
        {"INVALID PUBLISH SUBJECT", JZX__NATS_ERROR_INVALID_SUBJECT, false},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const size_t size = strlen(known[i].prefix);
        if (text.size >= size &&
            word_is((struct jzx__nats_bytes){text.data, size}, known[i].prefix)) {
            *closes = known[i].closes;
            return known[i].kind;
        }
    }
    *closes = true;
    return JZX__NATS_ERROR_OTHER;
}
