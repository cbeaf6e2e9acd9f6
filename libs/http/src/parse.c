/* SPDX-License-Identifier: MIT */
/*
 * The start line. A state per part lets the parser stop at any byte; each scan ends at the limit of
 * its part. The fields then go to fields.c, and what they mean is decided in meaning.c once all of
 * them are known.
 */
#include "parse.h"

#include "chars.h"
#include "meaning.h"

enum state {
    EMPTY_LINES, /* before a request */
    EMPTY_LINE_LF,
    METHOD,
    TARGET,
    REQUEST_VERSION,
    REQUEST_CR,
    RESPONSE_VERSION,
    STATUS_SPACE,
    STATUS,
    REASON_SPACE,
    REASON,
    LINE_LF,
    FIELDS,
    COMPLETE,
    WRONG,
};

enum {
    EMPTY_LINES_MAX = 2, /* some clients send one behind a body; RFC 9112 section 2.2 */
    VERSION_LEN = 8,
    STATUS_DIGITS = 3,
    TLS_HANDSHAKE = 0x16, /* first byte of a record */
};

const struct jzx__http_limits jzx__http_limits_default = {
    .method_max = 32,
    .target_max = 8000,
    .field_line_max = 8000,
    .head_max = 65536,
    .trailers_max = 8192,
    .chunk_line_max = 256,
    .extensions_max = 4096,
    .content_max = UINT64_MAX,
};

void jzx__http_head_begin(struct jzx__http_head *head, enum jzx__http_kind kind,
                          const struct jzx__http_limits *limits, struct jzx__http_field *list,
                          uint32_t count_max) {
    *head = (struct jzx__http_head){
        .kind = kind,
        .limits = *limits,
        .state = kind == JZX__HTTP_REQUEST ? EMPTY_LINES : RESPONSE_VERSION,
        .host.port = -1,
        .fields =
            {
                .list = list,
                .count_max = count_max,
                .line_bytes_max = limits->field_line_max,
                .end_max = limits->head_max,
            },
    };
}

static enum jzx__http_step refuse(struct jzx__http_head *head, unsigned status, const char *text,
                                  size_t at) {
    head->state = WRONG;
    return jzx__http_refuse(&head->refusal, status, text, at);
}

/* Where the scan of the current part stops: at the last byte, or one byte behind its limit. */
static const char *stop_of(const struct jzx__http_head *head, const char *data, const char *end,
                           uint32_t part_max) {
    size_t left = (size_t)(end - (data + head->part));
    size_t max = (size_t)part_max + 1;
    return data + head->part + (left < max ? left : max);
}

static const char *wrong_method(char byte, bool is_first) {
    switch (byte) {
    case ' ': return "White space before the method";
    case '\r':
    case '\n': return "The request line ends within the method";
    case TLS_HANDSHAKE:
        if (is_first)
            return "The client speaks TLS";
        /* fallthrough */
    default: return "A byte is not allowed in a method";
    }
}

static const char *wrong_target(char byte, bool is_first) {
    switch (byte) {
    case ' ': return "More than one space behind the method";
    case '\r':
    case '\n':
        return is_first ? "The request line has no target" : "The request line has no version";
    case '#': return "The target has a fragment";
    default: return "A byte is not allowed in a target";
    }
}

/* Each of these reads one part. DONE: it is complete, and *at is behind it. */
static enum jzx__http_step read_method(struct jzx__http_head *head, const char *data,
                                       const char *end, const char **at) {
    const char *stop = stop_of(head, data, end, head->limits.method_max);
    *at = jzx__http_skip(*at, stop, JZX__HTTP_TOKEN);
    uint32_t len = (uint32_t)(*at - data) - head->part;
    if (len > head->limits.method_max) {
        return refuse(head, 400, "The method is too long", head->part + len - 1);
    }
    if (*at == stop)
        return JZX__HTTP_MORE;
    if (**at != ' ' || len == 0) {
        return refuse(head, 400, wrong_method(**at, len == 0), (size_t)(*at - data));
    }
    head->method = (struct jzx__http_slice){head->part, len};
    head->part += len + 1;
    ++*at;
    return JZX__HTTP_DONE;
}

static enum jzx__http_step read_target(struct jzx__http_head *head, const char *data,
                                       const char *end, const char **at) {
    const char *stop = stop_of(head, data, end, head->limits.target_max);
    *at = jzx__http_skip(*at, stop, JZX__HTTP_TARGET);
    uint32_t len = (uint32_t)(*at - data) - head->part;
    if (len > head->limits.target_max) {
        return refuse(head, 414, "The target is too long", head->part + len - 1);
    }
    if (*at == stop)
        return JZX__HTTP_MORE;
    if (**at != ' ' || len == 0) {
        return refuse(head, 400, wrong_target(**at, len == 0), (size_t)(*at - data));
    }
    head->target_text = (struct jzx__http_slice){head->part, len};
    uint32_t fault;
    const char *wrong =
        jzx__http_target_read(data, head->method, head->target_text, &head->target, &fault);
    if (wrong != NULL)
        return refuse(head, 400, wrong, fault);
    head->part += len + 1;
    ++*at;
    return JZX__HTTP_DONE;
}

static enum jzx__http_step read_version(struct jzx__http_head *head, const char *data,
                                        const char *end, const char **at) {
    static const char form[VERSION_LEN + 1] = "HTTP/1.1";
    for (;; ++*at) {
        size_t i = (size_t)(*at - data) - head->part;
        if (i == VERSION_LEN)
            break;
        if (*at == end)
            return JZX__HTTP_MORE;
        bool fits = jzx__http_is(form[i], JZX__HTTP_DIGIT) ? jzx__http_is(**at, JZX__HTTP_DIGIT)
                                                           : **at == form[i];
        if (!fits) {
            return refuse(head, 400, "The HTTP version is malformed", (size_t)(*at - data));
        }
    }
    const char *version = data + head->part;
    if (version[5] != '1' || version[7] > '1') {
        return refuse(head, 505, "The HTTP version is neither 1.0 nor 1.1", head->part + 5);
    }
    head->minor = (uint8_t)(version[7] - '0');
    return JZX__HTTP_DONE;
}

static enum jzx__http_step read_status(struct jzx__http_head *head, const char *data,
                                       const char *end, const char **at) {
    for (; (size_t)(*at - data) - head->part < STATUS_DIGITS; ++*at) {
        if (*at == end)
            return JZX__HTTP_MORE;
        bool is_first = (size_t)(*at - data) == head->part;
        if (!jzx__http_is(**at, JZX__HTTP_DIGIT) || (is_first && **at == '0')) {
            return refuse(head, 502, "The status is no number of three digits",
                          (size_t)(*at - data));
        }
        head->status = (uint16_t)(head->status * 10 + (**at - '0'));
    }
    return JZX__HTTP_DONE;
}

static enum jzx__http_step read_reason(struct jzx__http_head *head, const char *data,
                                       const char *end, const char **at) {
    const char *stop = stop_of(head, data, end, head->limits.field_line_max);
    *at = jzx__http_skip_value(*at, stop);
    uint32_t len = (uint32_t)(*at - data) - head->part;
    if (len > head->limits.field_line_max) {
        return refuse(head, 502, "The reason phrase is too long", head->part + len - 1);
    }
    if (*at == stop)
        return JZX__HTTP_MORE;
    if (**at != '\r') {
        return refuse(head, 502, "A byte is not allowed in a reason phrase", (size_t)(*at - data));
    }
    head->reason = (struct jzx__http_slice){head->part, len};
    ++*at;
    return JZX__HTTP_DONE;
}

/* One byte that has to be `wanted`. */
static enum jzx__http_step read_byte(struct jzx__http_head *head, const char *data, const char *end,
                                     const char **at, char wanted) {
    if (*at == end)
        return JZX__HTTP_MORE;
    if (**at == wanted) {
        ++*at;
        return JZX__HTTP_DONE;
    }
    const char *wrong = "CR without LF";
    size_t offset = (size_t)(*at - data);
    if (wanted == '\n') {
        offset--;
    } else {
        wrong = **at == '\n' ? "A line ends with LF without CR"
                             : "A byte is not allowed behind the HTTP version or status";
    }
    return refuse(head, 400, wrong, offset);
}

/* Steps over empty lines, whose number is limited. MORE also means that the method begins. */
static enum jzx__http_step read_empty_lines(struct jzx__http_head *head, const char *data,
                                            const char *end, const char **at) {
    while (*at < end) {
        if (head->state == EMPTY_LINE_LF) {
            enum jzx__http_step step = read_byte(head, data, end, at, '\n');
            if (step != JZX__HTTP_DONE)
                return step;
            head->state = EMPTY_LINES;
        } else if (**at != '\r') {
            if (**at == '\n') {
                return refuse(head, 400, "A line ends with LF without CR", (size_t)(*at - data));
            }
            return JZX__HTTP_DONE;
        } else if (head->empty_lines++ == EMPTY_LINES_MAX) {
            return refuse(head, 400, "Too many empty lines before the request",
                          (size_t)(*at - data));
        } else {
            ++*at;
            head->state = EMPTY_LINE_LF;
        }
    }
    return JZX__HTTP_MORE;
}

/* Reads one part, and enters the state of the next. */
static enum jzx__http_step read_part(struct jzx__http_head *head, const char *data, const char *end,
                                     const char **at) {
    enum jzx__http_step step;
    unsigned next = head->state + 1u;
    switch (head->state) {
    case EMPTY_LINES:
    case EMPTY_LINE_LF:
        step = read_empty_lines(head, data, end, at);
        head->part = (uint32_t)(*at - data);
        next = METHOD;
        break;
    case METHOD: step = read_method(head, data, end, at); break;
    case TARGET: step = read_target(head, data, end, at); break;
    case RESPONSE_VERSION:
    case REQUEST_VERSION: step = read_version(head, data, end, at); break;
    case REQUEST_CR:
        step = read_byte(head, data, end, at, '\r');
        next = LINE_LF;
        break;
    case STATUS_SPACE:
        step = read_byte(head, data, end, at, ' ');
        head->part = (uint32_t)(*at - data);
        break;
    case STATUS: step = read_status(head, data, end, at); break;
    case REASON_SPACE: /* many servers leave the space out with the phrase */
        head->part = (uint32_t)(*at - data);
        if (*at < end && **at == '\r') {
            step = JZX__HTTP_DONE;
        } else {
            step = read_byte(head, data, end, at, ' ');
            head->part = (uint32_t)(*at - data);
        }
        break;
    case REASON: step = read_reason(head, data, end, at); break;
    default: /* LINE_LF */
        step = read_byte(head, data, end, at, '\n');
        jzx__http_fields_begin(&head->fields, (uint32_t)(*at - data));
    }
    if (step == JZX__HTTP_DONE)
        head->state = (uint8_t)next;
    return step;
}

static enum jzx__http_step read_fields(struct jzx__http_head *head, const char *data, size_t len) {
    enum jzx__http_step step = jzx__http_fields_parse(&head->fields, data, len, &head->refusal);
    head->at = head->fields.at;
    if (step == JZX__HTTP_DONE) {
        step = jzx__http_head_judge(head, data);
        head->state = COMPLETE;
    }
    if (step == JZX__HTTP_REFUSED)
        head->state = WRONG;
    return step;
}

enum jzx__http_step jzx__http_head_parse(struct jzx__http_head *head, const char *data,
                                         size_t len) {
    enum jzx__http_step step = JZX__HTTP_DONE;
    if (head->state < FIELDS) {
        const char *end = data + (len < head->limits.head_max ? len : head->limits.head_max);
        const char *at = data + head->at;
        while (step == JZX__HTTP_DONE && head->state < FIELDS) {
            step = read_part(head, data, end, &at);
        }
        head->at = (uint32_t)(at - data);
        if (step == JZX__HTTP_MORE && head->at >= head->limits.head_max) {
            step = refuse(head, 431, "The head is too long", head->at);
        }
    }
    if (head->state == FIELDS)
        step = read_fields(head, data, len);
    if (head->state == WRONG)
        step = JZX__HTTP_REFUSED;
    if (step == JZX__HTTP_REFUSED && head->kind == JZX__HTTP_RESPONSE) {
        head->refusal.status = 502; /* for a gateway; a client has the text */
    }
    return step;
}

void jzx__http_head_body(const struct jzx__http_head *head, struct jzx__http_body *body) {
    body->line_bytes_max = head->limits.chunk_line_max;
    body->extensions_max = head->limits.extensions_max;
    body->content_max = head->limits.content_max;
    jzx__http_body_begin(body, head->framing, head->content_len);
}

void jzx__http_head_trailers(const struct jzx__http_head *head, struct jzx__http_fields *trailers,
                             struct jzx__http_field *list, uint32_t count_max) {
    trailers->list = list;
    trailers->count_max = count_max;
    trailers->line_bytes_max = head->limits.field_line_max;
    trailers->end_max = head->limits.trailers_max;
    jzx__http_fields_begin(trailers, 0);
}
