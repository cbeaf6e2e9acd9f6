/* SPDX-License-Identifier: MIT */
/*
 * The rules that decide where a message ends (RFC 9112 section 6) are the ones that attacks need
 * two readers to understand differently. A head that leaves any doubt is refused: two lengths,
 * even equal ones; a list; a leading zero; a length beside a transfer coding; and any transfer
 * coding but one "chunked".
 */
#include "meaning.h"

#include "chars.h"

/* The fields that are read here, at most one of each kind where more would be in doubt. */
struct known {
    const struct jzx__http_field *host;
    const struct jzx__http_field *length;
    const struct jzx__http_field *coding;
    bool has_close;
    bool has_keep_alive;
    bool has_upgrade_option;
    bool has_upgrade;
    bool has_websocket;
};

static enum jzx__http_step refuse(struct jzx__http_head *head, unsigned status, const char *text,
                                  uint32_t at) {
    return jzx__http_refuse(&head->refusal, status, text, at);
}

static bool is_method(const struct jzx__http_head *head, const char *data, const char *name) {
    size_t len = strlen(name);
    return head->method.len == len && memcmp(data + head->method.begin, name, len) == 0;
}

static void read_connection(struct known *known, const char *value, size_t len) {
    known->has_close |= jzx__http_list_has(value, len, "close");
    known->has_keep_alive |= jzx__http_list_has(value, len, "keep-alive");
    known->has_upgrade_option |= jzx__http_list_has(value, len, "upgrade");
}

static enum jzx__http_step once(struct jzx__http_head *head, const struct jzx__http_field **place,
                                const struct jzx__http_field *field, const char *text) {
    if (*place != NULL)
        return refuse(head, 400, text, field->name.begin);
    *place = field;
    return JZX__HTTP_DONE;
}

static enum jzx__http_step collect(struct jzx__http_head *head, const char *data,
                                   struct known *known) {
    enum jzx__http_step step = JZX__HTTP_DONE;
    for (uint32_t i = 0; i < head->fields.count && step == JZX__HTTP_DONE; i++) {
        const struct jzx__http_field *field = &head->fields.list[i];
        if (field->known == JZX__HTTP_OTHER)
            continue;
        const char *value = data + field->value.begin;
        size_t len = field->value.len;
        switch (field->known) {
        case JZX__HTTP_HOST:
            if (head->kind == JZX__HTTP_REQUEST) {
                step = once(head, &known->host, field, "More than one Host");
            }
            break;
        case JZX__HTTP_CONTENT_LENGTH:
            step = once(head, &known->length, field, "More than one Content-Length");
            break;
        case JZX__HTTP_TRANSFER_ENCODING:
            step = once(head, &known->coding, field, "More than one Transfer-Encoding");
            break;
        case JZX__HTTP_CONNECTION: read_connection(known, value, len); break;
        case JZX__HTTP_UPGRADE:
            known->has_upgrade |= len > 0;
            known->has_websocket |= jzx__http_list_has(value, len, "websocket");
            break;
        default: /* Expect */
            head->expects = JZX__HTTP_EQUALS(value, len, "100-continue") &&
                                    head->expects != JZX__HTTP_EXPECTS_UNKNOWN
                                ? JZX__HTTP_EXPECTS_CONTINUE
                                : JZX__HTTP_EXPECTS_UNKNOWN;
        }
    }
    return step;
}

/* The host of the target goes before that of the field (RFC 9112 section 3.2.2). */
static enum jzx__http_step judge_host(struct jzx__http_head *head, const char *data,
                                      const struct jzx__http_field *field) {
    if (field != NULL) {
        uint32_t fault;
        const char *wrong = jzx__http_host_read(data, field->value, &head->host, &fault);
        if (wrong != NULL)
            return refuse(head, 400, wrong, fault);
    } else if (head->minor > 0) {
        return refuse(head, 400, "The request has no Host", head->at);
    }
    if (head->target.host.name.len > 0)
        head->host = head->target.host;
    return JZX__HTTP_DONE;
}

static enum jzx__http_step read_length(struct jzx__http_head *head, const char *data,
                                       const struct jzx__http_field *field) {
    const char *value = data + field->value.begin;
    uint32_t len = field->value.len;
    uint64_t length = 0;
    if (len == 0)
        return refuse(head, 400, "Content-Length is empty", field->value.begin);
    for (uint32_t i = 0; i < len; i++) {
        uint32_t at = field->value.begin + i;
        if (!jzx__http_is(value[i], JZX__HTTP_DIGIT)) {
            return refuse(head, 400, "Content-Length is not one number", at);
        }
        uint64_t digit = (uint64_t)(value[i] - '0');
        if (length > (UINT64_MAX - digit) / 10) {
            return refuse(head, 400, "Content-Length is above 2^64 - 1", at);
        }
        length = length * 10 + digit;
    }
    if (len > 1 && value[0] == '0') {
        return refuse(head, 400, "Content-Length has a leading zero", field->value.begin);
    }
    head->content_len = length;
    return JZX__HTTP_DONE;
}

/* Whether the last element of the list is "chunked". */
static bool ends_with_chunked(const char *value, size_t len) {
    size_t begin = len;
    while (begin > 0 && value[begin - 1] != ',') {
        begin--;
    }
    return jzx__http_list_has(value + begin, len - begin, "chunked");
}

static enum jzx__http_step judge_coding(struct jzx__http_head *head, const char *data,
                                        const struct known *known) {
    const char *value = data + known->coding->value.begin;
    uint32_t len = known->coding->value.len;
    uint32_t at = known->coding->value.begin;
    if (head->minor == 0) {
        return refuse(head, 400, "Transfer-Encoding in an HTTP/1.0 message", at);
    }
    if (known->length != NULL) {
        return refuse(head, 400, "Both Content-Length and Transfer-Encoding", at);
    }
    if (JZX__HTTP_EQUALS(value, len, "chunked"))
        return JZX__HTTP_DONE;
    const char *comma = memchr(value, ',', len);
    if (comma == NULL || !ends_with_chunked(value, len)) {
        return refuse(head, 400, "The last transfer coding is not chunked", at);
    }
    if (jzx__http_list_has(value, len - (sizeof("chunked") - 1), "chunked")) {
        return refuse(head, 400, "Transfer-Encoding lists chunked twice", at);
    }
    return refuse(head, 501, "A transfer coding beside chunked is not implemented", at);
}

static enum jzx__http_step judge_request(struct jzx__http_head *head, const char *data,
                                         const struct known *known) {
    bool has_content = known->coding != NULL || head->content_len > 0;
    if (has_content && is_method(head, data, "CONNECT")) {
        return refuse(head, 400, "CONNECT has a body", head->method.begin);
    }
    if (has_content && is_method(head, data, "TRACE")) {
        return refuse(head, 400, "TRACE has a body", head->method.begin);
    }
    if (head->content_len > head->limits.content_max) {
        return refuse(head, 413, "The body is larger than the limit", known->length->value.begin);
    }
    head->framing = known->coding != NULL   ? JZX__HTTP_CHUNKED
                    : head->content_len > 0 ? JZX__HTTP_LENGTH
                                            : JZX__HTTP_NO_BODY;
    if (is_method(head, data, "CONNECT"))
        head->framing = JZX__HTTP_TUNNEL;
    head->wants_upgrade = known->has_upgrade && known->has_upgrade_option && head->minor > 0;
    head->wants_websocket =
        head->wants_upgrade && known->has_websocket && is_method(head, data, "GET");
    if (head->minor == 0)
        head->expects = JZX__HTTP_EXPECTS_NOTHING;
    return JZX__HTTP_DONE;
}

/* RFC 9112 section 6.3, in its order. */
static enum jzx__http_step judge_response(struct jzx__http_head *head, const struct known *known) {
    unsigned status = head->status;
    head->expects = JZX__HTTP_EXPECTS_NOTHING;
    if (status == 101 || (head->answers == JZX__HTTP_TO_CONNECT && status / 100 == 2)) {
        head->framing = JZX__HTTP_TUNNEL;
    } else if (head->answers == JZX__HTTP_TO_HEAD || status / 100 == 1 || status == 204 ||
               status == 304) {
        head->framing = JZX__HTTP_NO_BODY;
    } else if (known->coding != NULL) {
        head->framing = JZX__HTTP_CHUNKED;
    } else if (known->length != NULL) {
        head->framing = head->content_len > 0 ? JZX__HTTP_LENGTH : JZX__HTTP_NO_BODY;
        if (head->content_len > head->limits.content_max) {
            return refuse(head, 413, "The body is larger than the limit",
                          known->length->value.begin);
        }
    } else {
        head->framing = JZX__HTTP_UNTIL_CLOSE;
        head->keeps_alive = false;
    }
    head->wants_upgrade = status == 101;
    head->wants_websocket = status == 101 && known->has_websocket;
    return JZX__HTTP_DONE;
}

enum jzx__http_step jzx__http_head_judge(struct jzx__http_head *head, const char *data) {
    struct known known = {0};
    bool is_request = head->kind == JZX__HTTP_REQUEST;
    enum jzx__http_step step = collect(head, data, &known);
    if (step == JZX__HTTP_DONE && is_request)
        step = judge_host(head, data, known.host);
    if (step == JZX__HTTP_DONE && known.length != NULL) {
        step = read_length(head, data, known.length);
    }
    if (step == JZX__HTTP_DONE && known.coding != NULL)
        step = judge_coding(head, data, &known);
    if (step != JZX__HTTP_DONE)
        return step;
    head->keeps_alive = !known.has_close && (head->minor > 0 || known.has_keep_alive);
    return is_request ? judge_request(head, data, &known) : judge_response(head, &known);
}
