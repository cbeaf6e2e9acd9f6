/* SPDX-License-Identifier: MIT */
/*
 * A chunk line is short and rare, so its bytes go one by one through a table of states; content
 * goes by in pieces as large as the caller feeds. The grammar is RFC 9112 section 7.1, with white
 * space only where it has BWS: around ";" and "=" of an extension, never at the end of the line.
 */
#include "chunk.h"

#include "chars.h"

enum state {
    SIZE,             /* hexadecimal digits */
    BEFORE_SEMICOLON, /* white space behind the size, a name or a value; or ";" */
    BEFORE_NAME,
    IN_NAME,
    BEFORE_EQUALS, /* white space behind a name */
    BEFORE_VALUE,
    IN_VALUE,
    IN_QUOTES,
    IN_QUOTES_ESCAPED,
    AFTER_QUOTES,
    LINE_LF,
    CONTENT,
    CONTENT_CR,
    CONTENT_LF,
    FINISHED,
    WRONG,
};

static const char *const too_much = "The body is larger than the limit";

void jzx__http_body_begin(struct jzx__http_body *body, enum jzx__http_framing framing,
                          uint64_t length) {
    body->framing = framing;
    body->digits = 0;
    body->line = 0;
    body->extensions = 0;
    body->left = 0;
    body->content_len = 0;
    body->offset = 0;
    body->refusal = (struct jzx__http_refusal){0};
    switch (framing) {
    case JZX__HTTP_LENGTH:
        body->left = length;
        body->state = length > 0 ? CONTENT : FINISHED;
        break;
    case JZX__HTTP_CHUNKED: body->state = SIZE; break;
    case JZX__HTTP_UNTIL_CLOSE:
        body->left = UINT64_MAX;
        body->state = CONTENT;
        break;
    default: body->state = FINISHED;
    }
}

static enum jzx__http_part refuse(struct jzx__http_body *body, unsigned status, const char *text) {
    body->state = WRONG;
    (void)jzx__http_refuse(&body->refusal, status, text, (size_t)body->offset);
    return JZX__HTTP_BODY_REFUSED;
}

static int hex_value(char digit) {
    return digit <= '9' ? digit - '0' : jzx__http_lower(digit) - 'a' + 10;
}

static const char *wrong_size(const struct jzx__http_body *body, char byte) {
    if (byte == '\n')
        return "A chunk line ends with LF without CR";
    return body->digits == 0 ? "A chunk has no size" : "A byte is not allowed in a chunk size";
}

/* The size or an extension may end with this byte. */
static const char *after_part(struct jzx__http_body *body, char byte) {
    if (byte == ';') {
        body->state = BEFORE_NAME;
    } else if (jzx__http_is_space(byte)) {
        body->state = BEFORE_SEMICOLON;
    } else if (byte == '\r' && body->state != BEFORE_SEMICOLON) {
        body->state = LINE_LF;
    } else {
        return byte == '\n' ? "A chunk line ends with LF without CR"
                            : "A byte is not allowed in a chunk line";
    }
    return NULL;
}

static const char *in_size(struct jzx__http_body *body, char byte) {
    if (jzx__http_is(byte, JZX__HTTP_HEX)) {
        if (body->digits == 16)
            return "A chunk size has more than 16 digits";
        body->digits++;
        body->left = body->left * 16 + (uint64_t)hex_value(byte);
        return NULL;
    }
    if (body->digits == 0 || after_part(body, byte) != NULL)
        return wrong_size(body, byte);
    return NULL;
}

static const char *in_extension(struct jzx__http_body *body, char byte) {
    bool is_token = jzx__http_is(byte, JZX__HTTP_TOKEN);
    bool is_space = jzx__http_is_space(byte);
    switch (body->state) {
    case BEFORE_SEMICOLON:
    case AFTER_QUOTES: return after_part(body, byte);
    case BEFORE_NAME:
        if (is_token)
            body->state = IN_NAME;
        return is_token || is_space ? NULL : "A chunk extension has no name";
    case IN_NAME:
        if (is_token)
            return NULL;
        /* fallthrough */
    case BEFORE_EQUALS:
        if (is_space) {
            body->state = BEFORE_EQUALS;
            return NULL;
        }
        if (byte == '=') {
            body->state = BEFORE_VALUE;
            return NULL;
        }
        if (body->state == BEFORE_EQUALS)
            body->state = BEFORE_SEMICOLON;
        return after_part(body, byte);
    case BEFORE_VALUE:
        if (byte == '"')
            body->state = IN_QUOTES;
        if (is_token)
            body->state = IN_VALUE;
        return is_token || is_space || byte == '"' ? NULL : "A chunk extension has no value";
    case IN_VALUE: return is_token ? NULL : after_part(body, byte);
    case IN_QUOTES:
        if (byte == '"')
            body->state = AFTER_QUOTES;
        if (byte == '\\')
            body->state = IN_QUOTES_ESCAPED;
        break;
    default: body->state = IN_QUOTES;
    }
    return jzx__http_is(byte, JZX__HTTP_VALUE) ? NULL : "A control byte in a chunk extension";
}

/* The chunk line ends with this LF. */
static enum jzx__http_part end_line(struct jzx__http_body *body) {
    body->line = 0;
    body->digits = 0;
    if (body->left == 0) {
        body->state = FINISHED;
        body->offset++;
        return JZX__HTTP_BODY_TRAILERS;
    }
    if (body->left > body->content_max - body->content_len)
        return refuse(body, 413, too_much);
    body->state = CONTENT;
    return JZX__HTTP_BODY_MORE;
}

/* Takes a byte that is no content. BODY_MORE: it is consumed. */
static enum jzx__http_part step(struct jzx__http_body *body, char byte) {
    const char *wrong = NULL;
    if (body->state <= LINE_LF && ++body->line > body->line_bytes_max) {
        return refuse(body, 400, "A chunk line is too long");
    }
    switch (body->state) {
    case SIZE: wrong = in_size(body, byte); break;
    case LINE_LF:
        if (byte != '\n')
            return refuse(body, 400, "CR without LF in a chunk line");
        return end_line(body);
    case CONTENT_CR:
        if (byte != '\r')
            return refuse(body, 400, "A chunk is longer than its size");
        body->state = CONTENT_LF;
        break;
    case CONTENT_LF:
        if (byte != '\n')
            return refuse(body, 400, "CR without LF behind a chunk");
        body->state = SIZE;
        break;
    default: wrong = in_extension(body, byte);
    }
    if (wrong == NULL && body->state > SIZE && body->state < LINE_LF &&
        ++body->extensions > body->extensions_max) {
        wrong = "The chunk extensions of the body are too long";
    }
    return wrong != NULL ? refuse(body, 400, wrong) : JZX__HTTP_BODY_MORE;
}

static size_t take_content(struct jzx__http_body *body, size_t len) {
    uint64_t count = body->content_max - body->content_len;
    if (count > body->left)
        count = body->left;
    if (count > len)
        count = len;
    body->content_len += count;
    body->offset += count;
    if (body->framing != JZX__HTTP_UNTIL_CLOSE) {
        body->left -= count;
        if (body->left == 0) {
            body->state = body->framing == JZX__HTTP_CHUNKED ? CONTENT_CR : FINISHED;
        }
    }
    return (size_t)count;
}

enum jzx__http_part jzx__http_body_next(struct jzx__http_body *body, const char *data, size_t len,
                                        size_t *consumed, size_t *content) {
    size_t at = 0;
    enum jzx__http_part part = JZX__HTTP_BODY_MORE;
    *content = 0;
    while (part == JZX__HTTP_BODY_MORE && body->state < FINISHED && at < len) {
        if (body->state != CONTENT) {
            part = step(body, data[at]);
            if (part == JZX__HTTP_BODY_MORE)
                body->offset++;
            at += part != JZX__HTTP_BODY_REFUSED;
        } else if (body->content_len == body->content_max) {
            part = refuse(body, 413, too_much);
        } else {
            *content = take_content(body, len - at);
            at += *content;
            part = JZX__HTTP_BODY_CONTENT;
        }
    }
    *consumed = at;
    if (part != JZX__HTTP_BODY_MORE)
        return part;
    if (body->state == FINISHED)
        return JZX__HTTP_BODY_DONE;
    return body->state == WRONG ? JZX__HTTP_BODY_REFUSED : JZX__HTTP_BODY_MORE;
}

bool jzx__http_body_close(struct jzx__http_body *body) {
    if (body->state == FINISHED)
        return true;
    if (body->framing == JZX__HTTP_UNTIL_CLOSE && body->state == CONTENT) {
        body->state = FINISHED;
        return true;
    }
    if (body->state != WRONG)
        (void)refuse(body, 400, "The peer closed within the body");
    return false;
}
