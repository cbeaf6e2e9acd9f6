/* SPDX-License-Identifier: MIT */
/* The writers of what a client sends. Each checks its arguments, then appends to a copy of the
 * output, and keeps the copy only if all of it fitted (codec/C4). */
#include "codec_put.h"

#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static jzx_err refuse(struct jzx__nats_out *out, jzx_err err, const char *why) {
    out->why = why;
    return err;
}

/* Appends as far as there is room; `size` goes on counting, so that the end knows whether it
 * fitted. */
static void put(struct jzx__nats_out *out, const char *data, size_t size) {
    if (out->size <= out->capacity && size <= out->capacity - out->size) {
        if (size > 0)
            memcpy(out->data + out->size, data, size);
        out->size += size;
    } else {
        out->size = SIZE_MAX; /* stays there: no later piece may fit */
    }
}

static void put_text(struct jzx__nats_out *out, const char *text) {
    put(out, text, strlen(text));
}

static void put_bytes(struct jzx__nats_out *out, struct jzx__nats_bytes bytes) {
    put(out, bytes.data, bytes.size);
}

static void put_number(struct jzx__nats_out *out, uint64_t number) {
    char digits[24];
    const int size = snprintf(digits, sizeof digits, "%" PRIu64, number);
    put(out, digits, (size_t)size);
}

/* Keeps what `next` has appended, or nothing. */
static jzx_err commit(struct jzx__nats_out *out, const struct jzx__nats_out *next) {
    if (next->size == SIZE_MAX)
        return refuse(out, JZX_ERR_FULL, "the output has no room for the operation");
    JZX__CHECK(next->size >= out->size && next->size <= out->capacity);
    out->size = next->size;
    return JZX_OK;
}

/* The size of the UTF-8 character at text, 0 if it is none. */
static size_t utf8_size(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    const size_t size = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4;
    if (c[0] > 0xF4)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    const bool overlong = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
    const bool beyond = (c[0] == 0xED && c[1] > 0x9F) || (c[0] == 0xF4 && c[1] > 0x8F);
    return overlong || beyond ? 0 : size;
}

static bool is_utf8(const char *text) {
    while (*text != 0) {
        const size_t size = utf8_size(text);
        if (size == 0)
            return false;
        text += size;
    }
    return true;
}

static void put_json_text(struct jzx__nats_out *out, const char *text) {
    put_text(out, "\"");
    for (; *text != 0; text++) {
        char escaped[8];
        if (*text == '"' || *text == '\\')
            put(out, (char[]){'\\', *text}, 2);
        else if ((unsigned char)*text < ' ')
            put(out, escaped,
                (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)*text));
        else
            put(out, text, 1);
    }
    put_text(out, "\"");
}

static void put_json_bool(struct jzx__nats_out *out, const char *key, bool value) {
    put_text(out, ",\"");
    put_text(out, key);
    put_text(out, value ? "\":true" : "\":false");
}

jzx_err jzx__nats_put_connect(struct jzx__nats_out *out, const struct jzx__nats_connect *connect) {
    const struct {
        const char *key;
        const char *text;
    } texts[] = {{"name", connect->name},
                 {"version", connect->version},
                 {"user", connect->user},
                 {"pass", connect->password},
                 {"auth_token", connect->token}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].text != NULL && !is_utf8(texts[i].text))
            return refuse(out, JZX_ERR_INVALID_ARG,
                          "a name, user, password or token is not valid UTF-8");
    if ((connect->user == NULL) != (connect->password == NULL))
        return refuse(out, JZX_ERR_INVALID_ARG, "a user needs a password, and a password a user");
    if (connect->no_responders && !connect->headers)
        return refuse(out, JZX_ERR_INVALID_ARG, "no_responders needs headers");
    struct jzx__nats_out next = *out;
    put_text(&next, "CONNECT {\"lang\":\"c\",\"protocol\":1");
    put_json_bool(&next, "verbose", connect->verbose);
    put_json_bool(&next, "pedantic", connect->pedantic);
    put_json_bool(&next, "tls_required", connect->tls_required);
    put_json_bool(&next, "echo", connect->echo);
    put_json_bool(&next, "headers", connect->headers);
    put_json_bool(&next, "no_responders", connect->no_responders);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].text == NULL)
            continue;
        put_text(&next, ",\"");
        put_text(&next, texts[i].key);
        put_text(&next, "\":");
        put_json_text(&next, texts[i].text);
    }
    put_text(&next, "}\r\n");
    if (next.size != SIZE_MAX && next.size - out->size > JZX__NATS_CONNECT_MAX)
        return refuse(out, JZX_ERR_TOO_LONG, "CONNECT is longer than 4096 bytes");
    return commit(out, &next);
}

static bool has_line_break(struct jzx__nats_bytes text) {
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '\r' || text.data[i] == '\n')
            return true;
    return false;
}

static bool field_is_valid(const struct jzx__nats_field *field) {
    for (size_t i = 0; i < field->name.size; i++) {
        const unsigned char c = (unsigned char)field->name.data[i];
        if (c <= ' ' || c == ':' || c >= 0x7F)
            return false;
    }
    return field->name.size > 0 && !has_line_break(field->value);
}

static const char header_begin[] = "NATS/1.0\r\n";

/* The size of the header block; 0 without fields. */
static jzx_err header_size(struct jzx__nats_out *out, const struct jzx__nats_publish *publish,
                           size_t *size) {
    *size = 0;
    if (publish->field_count == 0)
        return JZX_OK;
    if (publish->field_count > JZX__NATS_HEADERS_MAX)
        return refuse(out, JZX_ERR_TOO_LONG, "a message has more than 64 header fields");
    *size = sizeof header_begin - 1 + 2;
    for (size_t i = 0; i < publish->field_count; i++) {
        const struct jzx__nats_field *field = &publish->fields[i];
        if (field->name.size > JZX__NATS_HEADER_MAX || field->value.size > JZX__NATS_HEADER_MAX)
            return refuse(out, JZX_ERR_TOO_LONG, "a header block is longer than 65536 bytes");
        if (!field_is_valid(field))
            return refuse(out, JZX_ERR_INVALID_ARG,
                          "a header field has no valid name, or a line break in its value");
        *size += field->name.size + 2 + field->value.size + 2;
    }
    if (*size > JZX__NATS_HEADER_MAX)
        return refuse(out, JZX_ERR_TOO_LONG, "a header block is longer than 65536 bytes");
    return JZX_OK;
}

static jzx_err publish_check(struct jzx__nats_out *out, const struct jzx__nats_publish *publish,
                             size_t *header) {
    jzx_err err = jzx__nats_subject_check(publish->subject, false, &out->why);
    if (err == JZX_OK && publish->reply.data != NULL)
        err = jzx__nats_subject_check(publish->reply, false, &out->why);
    if (err == JZX_OK)
        err = header_size(out, publish, header);
    if (err != JZX_OK)
        return err;
    const size_t max = publish->payload_max != 0 ? publish->payload_max : JZX__NATS_PAYLOAD_MAX;
    if (publish->payload.size > max || *header > max - publish->payload.size)
        return refuse(out, JZX_ERR_TOO_LONG, "a message is longer than the server's max_payload");
    return JZX_OK;
}

jzx_err jzx__nats_put_publish(struct jzx__nats_out *out, const struct jzx__nats_publish *publish) {
    size_t header;
    const jzx_err err = publish_check(out, publish, &header);
    if (err != JZX_OK)
        return err;
    struct jzx__nats_out next = *out;
    put_text(&next, header > 0 ? "HPUB " : "PUB ");
    put_bytes(&next, publish->subject);
    put_text(&next, " ");
    if (publish->reply.data != NULL) {
        put_bytes(&next, publish->reply);
        put_text(&next, " ");
    }
    if (header > 0) {
        put_number(&next, header);
        put_text(&next, " ");
    }
    put_number(&next, header + publish->payload.size);
    put_text(&next, "\r\n");
    if (header > 0) {
        put_text(&next, header_begin);
        for (size_t i = 0; i < publish->field_count; i++) {
            put_bytes(&next, publish->fields[i].name);
            put_text(&next, ": ");
            put_bytes(&next, publish->fields[i].value);
            put_text(&next, "\r\n");
        }
        put_text(&next, "\r\n");
    }
    put_bytes(&next, publish->payload);
    put_text(&next, "\r\n");
    return commit(out, &next);
}

jzx_err jzx__nats_put_sub(struct jzx__nats_out *out, struct jzx__nats_bytes subject,
                          struct jzx__nats_bytes queue, uint64_t sid) {
    const jzx_err err = jzx__nats_subject_check(subject, true, &out->why);
    if (err != JZX_OK)
        return err;
    if (queue.data != NULL && queue.size > JZX__NATS_SUBJECT_MAX)
        return refuse(out, JZX_ERR_TOO_LONG, "a queue group is longer than 1024 bytes");
    if (queue.data != NULL && queue.size == 0)
        return refuse(out, JZX_ERR_INVALID_ARG, "a queue group is empty");
    for (size_t i = 0; queue.data != NULL && i < queue.size; i++)
        if ((unsigned char)queue.data[i] <= ' ' || queue.data[i] == 0x7F)
            return refuse(out, JZX_ERR_INVALID_ARG,
                          "a queue group has a blank or a control character");
    struct jzx__nats_out next = *out;
    put_text(&next, "SUB ");
    put_bytes(&next, subject);
    put_text(&next, " ");
    if (queue.data != NULL) {
        put_bytes(&next, queue);
        put_text(&next, " ");
    }
    put_number(&next, sid);
    put_text(&next, "\r\n");
    return commit(out, &next);
}

jzx_err jzx__nats_put_unsub(struct jzx__nats_out *out, uint64_t sid, uint64_t max_count) {
    struct jzx__nats_out next = *out;
    put_text(&next, "UNSUB ");
    put_number(&next, sid);
    if (max_count > 0) {
        put_text(&next, " ");
        put_number(&next, max_count);
    }
    put_text(&next, "\r\n");
    return commit(out, &next);
}

static jzx_err put_bare(struct jzx__nats_out *out, const char *line) {
    struct jzx__nats_out next = *out;
    put_text(&next, line);
    return commit(out, &next);
}

jzx_err jzx__nats_put_ping(struct jzx__nats_out *out) {
    return put_bare(out, "PING\r\n");
}

jzx_err jzx__nats_put_pong(struct jzx__nats_out *out) {
    return put_bare(out, "PONG\r\n");
}
