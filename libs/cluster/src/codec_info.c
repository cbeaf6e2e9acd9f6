/* SPDX-License-Identifier: MIT */
/* Reads the JSON of INFO into a record of fixed size. Fields that the client does not need are
 * walked over with a limit on their depth; a needed field of the wrong type is refused. */
#include "codec_info.h"

#include <string.h>

#define DEPTH_MAX 8

struct reader {
    const char *at;
    const char *end;
    const char *why; /* the first failure; nothing is read after it */
};

static bool fail(struct reader *reader, const char *why) {
    if (reader->why == NULL)
        reader->why = why;
    return false;
}

static char peek(struct reader *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t'))
        reader->at++;
    return reader->at < reader->end ? *reader->at : 0;
}

static bool take(struct reader *reader, char c) {
    if (peek(reader) != c || reader->at == reader->end)
        return false;
    reader->at++;
    return true;
}

static bool read_hex4(struct reader *reader, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++) {
        if (reader->at == reader->end)
            return false;
        const char c = *reader->at++;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return false;
        *code = *code * 16 + (uint32_t)digit;
    }
    return true;
}

/* Writes to `out` (of `room` bytes with the 0), or nowhere if it is NULL. */
struct sink {
    char *out;
    size_t room;
    size_t size;
};

static bool sink_put(struct sink *sink, char c) {
    if (sink->out == NULL)
        return true;
    if (sink->size + 1 >= sink->room)
        return false;
    sink->out[sink->size++] = c;
    return true;
}

static bool sink_put_code(struct sink *sink, uint32_t code) {
    if (code < 0x80)
        return sink_put(sink, (char)code);
    if (code < 0x800)
        return sink_put(sink, (char)(0xC0 | (code >> 6))) &&
               sink_put(sink, (char)(0x80 | (code & 0x3F)));
    if (code < 0x10000)
        return sink_put(sink, (char)(0xE0 | (code >> 12))) &&
               sink_put(sink, (char)(0x80 | ((code >> 6) & 0x3F))) &&
               sink_put(sink, (char)(0x80 | (code & 0x3F)));
    return sink_put(sink, (char)(0xF0 | (code >> 18))) &&
           sink_put(sink, (char)(0x80 | ((code >> 12) & 0x3F))) &&
           sink_put(sink, (char)(0x80 | ((code >> 6) & 0x3F))) &&
           sink_put(sink, (char)(0x80 | (code & 0x3F)));
}

/* The four digits of \u, and those of the low surrogate behind a high one. A 0 would end the text
 * early, so it is refused. */
static bool read_unicode(struct reader *reader, uint32_t *code) {
    if (!read_hex4(reader, code) || *code == 0 || (*code >= 0xDC00 && *code <= 0xDFFF))
        return false;
    if (*code < 0xD800 || *code > 0xDBFF)
        return true;
    uint32_t low;
    if (reader->end - reader->at < 6 || reader->at[0] != '\\' || reader->at[1] != 'u')
        return false;
    reader->at += 2;
    if (!read_hex4(reader, &low) || low < 0xDC00 || low > 0xDFFF)
        return false;
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static bool read_escape(struct reader *reader, uint32_t *code) {
    static const char names[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";
    if (reader->at == reader->end)
        return false;
    const char c = *reader->at++;
    if (c == 'u')
        return read_unicode(reader, code);
    const char *found = c != 0 ? strchr(names, c) : NULL;
    if (found == NULL)
        return false;
    *code = (uint32_t)codes[found - names];
    return true;
}

static bool read_text(struct reader *reader, char *out, size_t room) {
    struct sink sink = {out, room, 0};
    if (!take(reader, '"'))
        return fail(reader, "INFO has another type where a text is expected");
    while (reader->at < reader->end) {
        const char c = *reader->at++;
        bool fits;
        uint32_t code;
        if (c == '"') {
            if (out != NULL)
                out[sink.size] = 0;
            return true;
        }
        if ((unsigned char)c < ' ')
            return fail(reader, "INFO has a control character in a text");
        if (c == '\\') {
            if (!read_escape(reader, &code))
                return fail(reader, "INFO has an invalid escape in a text");
            fits = sink_put_code(&sink, code);
        } else {
            fits = sink_put(&sink, c);
        }
        if (!fits)
            return fail(reader, "INFO has a text of more than 255 bytes");
    }
    return fail(reader, "INFO ends within a text");
}

static bool read_word(struct reader *reader, const char *word) {
    const size_t size = strlen(word);
    (void)peek(reader);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0)
        return false;
    reader->at += size;
    return true;
}

static bool read_bool(struct reader *reader, bool *value) {
    if (read_word(reader, "true"))
        *value = true;
    else if (read_word(reader, "false"))
        *value = false;
    else
        return fail(reader, "INFO has another type where true or false is expected");
    return true;
}

/* Whole numbers from 0, of up to 18 digits. */
static bool read_count(struct reader *reader, int64_t *value) {
    int64_t read = 0;
    int digits = 0;
    (void)peek(reader);
    for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++) {
        if (++digits > 18)
            return fail(reader, "INFO has a number of more than 18 digits");
        read = read * 10 + (*reader->at - '0');
    }
    const char after = reader->at < reader->end ? *reader->at : 0;
    if (digits == 0 || after == '.' || after == 'e' || after == 'E')
        return fail(reader, "INFO has another type where a whole number is expected");
    *value = read;
    return true;
}

static bool skip_number(struct reader *reader) {
    const char *begin = reader->at;
    while (reader->at < reader->end && *reader->at != 0 &&
           strchr("+-.0123456789eE", *reader->at) != NULL)
        reader->at++;
    return reader->at > begin || fail(reader, "INFO has a value of no type");
}

static bool skip_value(struct reader *reader, int depth);

/* The members of an object or the elements of an array, behind the bracket that opens it. */
static bool skip_members(struct reader *reader, char close, int depth) {
    if (take(reader, close))
        return true;
    do {
        if (close == '}' && (!read_text(reader, NULL, 0) || !take(reader, ':')))
            return fail(reader, "INFO has a member without a name and colon");
        if (!skip_value(reader, depth + 1))
            return false;
    } while (take(reader, ','));
    return take(reader, close) || fail(reader, "INFO has a bracket that is not closed");
}

static bool skip_value(struct reader *reader, int depth) {
    if (depth > DEPTH_MAX)
        return fail(reader, "INFO is nested deeper than 8 levels");
    const char c = peek(reader);
    if (c == '"')
        return read_text(reader, NULL, 0);
    if (take(reader, '{'))
        return skip_members(reader, '}', depth);
    if (take(reader, '['))
        return skip_members(reader, ']', depth);
    return read_word(reader, "true") || read_word(reader, "false") || read_word(reader, "null") ||
           skip_number(reader);
}

/* A list beyond the limit is read on, and counted. null is an empty list. */
static bool read_urls(struct reader *reader, struct jzx__nats_info *info) {
    info->url_count = info->urls_dropped = 0;
    if (read_word(reader, "null"))
        return true;
    if (!take(reader, '['))
        return fail(reader, "INFO has another type where a list is expected");
    if (take(reader, ']'))
        return true;
    do {
        if (info->url_count == JZX__NATS_URLS_MAX) {
            info->urls_dropped++;
            if (!read_text(reader, NULL, 0))
                return false;
        } else if (!read_text(reader, info->urls[info->url_count], JZX__NATS_TEXT_MAX)) {
            return false;
        } else {
            info->url_count++;
        }
    } while (take(reader, ','));
    return take(reader, ']') || fail(reader, "INFO has a list that is not closed");
}

static bool read_field(struct reader *reader, const char *key, struct jzx__nats_info *info) {
    const struct {
        const char *key;
        char *text;
        int64_t *count;
        bool *flag;
    } fields[] = {
        {"server_id", info->server_id, NULL, NULL},
        {"server_name", info->server_name, NULL, NULL},
        {"version", info->version, NULL, NULL},
        {"nonce", info->nonce, NULL, NULL},
        {"client_id", NULL, &info->client_id, NULL},
        {"max_payload", NULL, &info->max_payload, NULL},
        {"proto", NULL, &info->proto, NULL},
        {"headers", NULL, NULL, &info->headers},
        {"auth_required", NULL, NULL, &info->auth_required},
        {"tls_required", NULL, NULL, &info->tls_required},
        {"tls_available", NULL, NULL, &info->tls_available},
        {"ldm", NULL, NULL, &info->lame_duck},
    };
    if (strcmp(key, "connect_urls") == 0)
        return read_urls(reader, info);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(key, fields[i].key) != 0)
            continue;
        if (fields[i].text != NULL)
            return read_text(reader, fields[i].text, JZX__NATS_TEXT_MAX);
        if (fields[i].count != NULL)
            return read_count(reader, fields[i].count);
        return read_bool(reader, fields[i].flag);
    }
    return skip_value(reader, 1);
}

jzx_err jzx__nats_info_read(const char *json, size_t size, struct jzx__nats_info *info,
                            const char **why) {
    struct reader reader = {json, json + size, NULL};
    memset(info, 0, sizeof *info);
    if (!take(&reader, '{'))
        fail(&reader, "INFO is no JSON object");
    else if (!take(&reader, '}')) {
        do {
            char key[JZX__NATS_TEXT_MAX];
            if (!read_text(&reader, key, sizeof key))
                break;
            if (!take(&reader, ':')) {
                fail(&reader, "INFO has a member without a colon");
                break;
            }
            if (!read_field(&reader, key, info))
                break;
        } while (take(&reader, ','));
        if (reader.why == NULL && !take(&reader, '}'))
            fail(&reader, "INFO has an object that is not closed");
    }
    (void)peek(&reader);
    if (reader.why == NULL && reader.at != reader.end)
        fail(&reader, "INFO goes on behind its object");
    if (reader.why == NULL)
        return JZX_OK;
    *why = reader.why;
    return JZX_ERR_INVALID_ARG;
}
