/* SPDX-License-Identifier: MIT */
/* Subjects and header blocks: texts of NATS that the framing does not look into. */
#include "codec_text.h"

#include <string.h>

static jzx_err refuse(const char **why, const char *text) {
    *why = text;
    return JZX_ERR_INVALID_ARG;
}

/* The token at *at, which moves behind it and its dot. */
static struct jzx__nats_bytes next_token(const char **at, const char *end) {
    const char *begin = *at;
    const char *dot = memchr(begin, '.', (size_t)(end - begin));
    *at = dot != NULL ? dot + 1 : end;
    return (struct jzx__nats_bytes){begin, (size_t)((dot != NULL ? dot : end) - begin)};
}

static bool token_is(struct jzx__nats_bytes token, char c) {
    return token.size == 1 && token.data[0] == c;
}

jzx_err jzx__nats_subject_check(struct jzx__nats_bytes subject, bool is_pattern, const char **why) {
    if (subject.size == 0)
        return refuse(why, "a subject is empty");
    if (subject.size > JZX__NATS_SUBJECT_MAX) {
        *why = "a subject is longer than 1024 bytes";
        return JZX_ERR_TOO_LONG;
    }
    for (size_t i = 0; i < subject.size; i++)
        if ((unsigned char)subject.data[i] <= ' ' || subject.data[i] == 0x7F)
            return refuse(why, "a subject has a blank or a control character");
    if (subject.data[subject.size - 1] == '.')
        return refuse(why, "a subject ends with a dot");
    const char *end = subject.data + subject.size;
    for (const char *at = subject.data; at < end;) {
        const struct jzx__nats_bytes token = next_token(&at, end);
        if (token.size == 0)
            return refuse(why, "a subject has an empty token");
        const bool is_rest = token_is(token, '>');
        if (!is_pattern && (is_rest || token_is(token, '*')))
            return refuse(why, "a subject to publish to has a wildcard");
        if (is_rest && at < end)
            return refuse(why, "the wildcard > is not the last token");
    }
    return JZX_OK;
}

bool jzx__nats_subject_matches(struct jzx__nats_bytes pattern, struct jzx__nats_bytes subject) {
    const char *p = pattern.data, *p_end = p + pattern.size;
    const char *s = subject.data, *s_end = s + subject.size;
    while (p < p_end && s < s_end) {
        const struct jzx__nats_bytes want = next_token(&p, p_end);
        if (token_is(want, '>'))
            return true;
        const struct jzx__nats_bytes have = next_token(&s, s_end);
        if (!token_is(want, '*') &&
            (want.size != have.size || memcmp(want.data, have.data, want.size) != 0))
            return false;
    }
    return p == p_end && s == s_end;
}

/* Takes one line with its CRLF from the block. */
static bool take_line(struct jzx__nats_bytes *block, struct jzx__nats_bytes *line) {
    const char *end = block->size > 0 ? memchr(block->data, '\r', block->size) : NULL;
    if (end == NULL || end + 1 == block->data + block->size || end[1] != '\n')
        return false;
    *line = (struct jzx__nats_bytes){block->data, (size_t)(end - block->data)};
    if (memchr(line->data, '\n', line->size) != NULL)
        return false;
    block->data = end + 2;
    block->size -= line->size + 2;
    return true;
}

static struct jzx__nats_bytes trim(struct jzx__nats_bytes text) {
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* "NATS/1.0", "NATS/1.0 503" or "NATS/1.0 100 Idle Heartbeat". */
static jzx_err read_status(struct jzx__nats_headers *headers, struct jzx__nats_bytes line,
                           const char **why) {
    static const char version[] = "NATS/1.0";
    const size_t size = sizeof version - 1;
    if (line.size < size || memcmp(line.data, version, size) != 0)
        return refuse(why, "a header block does not begin with NATS/1.0");
    const struct jzx__nats_bytes rest =
        trim((struct jzx__nats_bytes){line.data + size, line.size - size});
    if (rest.size == 0)
        return JZX_OK;
    const char *d = rest.data;
    const bool is_number = line.data[size] == ' ' && rest.size >= 3 && d[0] >= '1' && d[0] <= '9' &&
                           d[1] >= '0' && d[1] <= '9' && d[2] >= '0' && d[2] <= '9';
    if (!is_number || (rest.size > 3 && d[3] != ' '))
        return refuse(why, "the status of a header block is no number of three digits");
    headers->status = (d[0] - '0') * 100 + (d[1] - '0') * 10 + (d[2] - '0');
    headers->status_text = trim((struct jzx__nats_bytes){d + 3, rest.size - 3});
    return JZX_OK;
}

static bool split_field(struct jzx__nats_bytes line, struct jzx__nats_bytes *name,
                        struct jzx__nats_bytes *value) {
    const char *colon = line.size > 0 ? memchr(line.data, ':', line.size) : NULL;
    if (colon == NULL || colon == line.data)
        return false;
    *name = (struct jzx__nats_bytes){line.data, (size_t)(colon - line.data)};
    *value = trim((struct jzx__nats_bytes){colon + 1, line.size - name->size - 1});
    for (size_t i = 0; i < name->size; i++)
        if ((unsigned char)name->data[i] <= ' ' || name->data[i] == 0x7F)
            return false;
    return true;
}

jzx_err jzx__nats_headers_open(struct jzx__nats_headers *headers, struct jzx__nats_bytes block,
                               const char **why) {
    struct jzx__nats_headers opened = {0};
    struct jzx__nats_bytes line, name, value;
    if (!take_line(&block, &line))
        return refuse(why, "a header block has no first line");
    const jzx_err err = read_status(&opened, line, why);
    if (err != JZX_OK)
        return err;
    opened.rest = block;
    for (size_t count = 0; take_line(&block, &line); count++) {
        if (line.size == 0) {
            if (block.size > 0)
                return refuse(why, "a header block goes on behind its empty line");
            *headers = opened;
            return JZX_OK;
        }
        if (!split_field(line, &name, &value))
            return refuse(why, "a header field has no name and colon");
        if (count == JZX__NATS_HEADERS_MAX) {
            *why = "a header block has more than 64 fields";
            return JZX_ERR_TOO_LONG;
        }
    }
    return refuse(why, "a header block does not end with an empty line");
}

bool jzx__nats_headers_next(struct jzx__nats_headers *headers, struct jzx__nats_bytes *name,
                            struct jzx__nats_bytes *value) {
    struct jzx__nats_bytes line;
    return take_line(&headers->rest, &line) && line.size > 0 && split_field(line, name, value);
}
