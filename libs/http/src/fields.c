/* SPDX-License-Identifier: MIT */
/*
 * One pass over the bytes. A state per part of a line lets the parser stop at any byte and resume
 * there. The scans end at the line limit, so an endless line costs no more than the limit.
 */
#include "fields.h"

#include "chars.h"

enum state { AT_LINE, IN_NAME, BEFORE_VALUE, IN_VALUE, IN_CR, IN_LAST_CR };

void jzx__http_fields_begin(struct jzx__http_fields *fields, uint32_t at) {
    fields->count = 0;
    fields->at = at;
    fields->line = at;
    fields->part = at;
    fields->state = AT_LINE;
}

static enum jzx__http_name identify(const char *name, size_t len) {
    switch (len) {
    case 4: return JZX__HTTP_EQUALS(name, len, "host") ? JZX__HTTP_HOST : JZX__HTTP_OTHER;
    case 6: return JZX__HTTP_EQUALS(name, len, "expect") ? JZX__HTTP_EXPECT : JZX__HTTP_OTHER;
    case 7: return JZX__HTTP_EQUALS(name, len, "upgrade") ? JZX__HTTP_UPGRADE : JZX__HTTP_OTHER;
    case 10:
        return JZX__HTTP_EQUALS(name, len, "connection") ? JZX__HTTP_CONNECTION : JZX__HTTP_OTHER;
    case 14:
        return JZX__HTTP_EQUALS(name, len, "content-length") ? JZX__HTTP_CONTENT_LENGTH
                                                             : JZX__HTTP_OTHER;
    case 17:
        return JZX__HTTP_EQUALS(name, len, "transfer-encoding") ? JZX__HTTP_TRANSFER_ENCODING
                                                                : JZX__HTTP_OTHER;
    default: return JZX__HTTP_OTHER;
    }
}

/* The byte at `at` ends a name and is no colon, or it is the colon of an empty name. */
static const char *wrong_name(const struct jzx__http_fields *fields, const char *data, size_t at) {
    bool is_first = at == fields->line;
    switch (data[at]) {
    case ':': return "The field name is empty";
    case ' ':
    case '\t':
        if (!is_first)
            return "White space in a field name, or before its colon";
        return fields->count == 0 ? "White space before the first field line"
                                  : "A field value continues on the next line (obs-fold)";
    case '\r': return "A field line has no colon";
    case '\n': return is_first ? "A line ends with LF without CR" : "A field line has no colon";
    default: return "A byte is not allowed in a field name";
    }
}

static const char *wrong_value(char byte) {
    switch (byte) {
    case '\n': return "A line ends with LF without CR";
    case '\0': return "NUL in a field value";
    default: return "A control byte in a field value";
    }
}

static void add(struct jzx__http_fields *fields, const char *data, uint32_t value_end) {
    struct jzx__http_field *field = &fields->list[fields->count];
    uint32_t value = fields->part;
    while (value_end > value && jzx__http_is_space(data[value_end - 1])) {
        value_end--;
    }
    field->value.begin = value;
    field->value.len = value_end - value;
}

/* No byte is left before `stop`: the line or the section is too long, or there is no more yet. */
static enum jzx__http_step stopped(struct jzx__http_fields *fields, uint32_t at,
                                   struct jzx__http_refusal *refusal) {
    fields->at = at;
    bool in_line = fields->state >= IN_NAME && fields->state <= IN_VALUE;
    if (in_line && at - fields->line > fields->line_bytes_max) {
        return jzx__http_refuse(refusal, 431, "A field line is too long", at - 1);
    }
    if (at + (fields->state >= IN_CR) >= fields->end_max) {
        return jzx__http_refuse(refusal, 431, "The fields are too long", fields->end_max);
    }
    return JZX__HTTP_MORE;
}

/* A byte is there: it begins a field line or the empty line. */
static inline enum jzx__http_step begin_line(struct jzx__http_fields *fields, uint32_t at,
                                             bool is_empty, struct jzx__http_refusal *refusal) {
    fields->line = at;
    if (is_empty) {
        fields->state = IN_LAST_CR;
    } else if (fields->count == fields->count_max) {
        return jzx__http_refuse(refusal, 431, "Too many fields", at);
    } else {
        fields->state = IN_NAME;
    }
    return JZX__HTTP_DONE;
}

static inline void name_field(struct jzx__http_fields *fields, const char *data) {
    struct jzx__http_field *field = &fields->list[fields->count];
    field->name.begin = fields->line;
    field->name.len = fields->part - fields->line;
    field->known = identify(data + fields->line, field->name.len);
}

/* Reads on to the end of the line. */
static inline enum jzx__http_step read_line(struct jzx__http_fields *fields, const char *data,
                                            const char *end, const char **next,
                                            struct jzx__http_refusal *refusal) {
    const char *at = *next;
    size_t line_max = (size_t)fields->line_bytes_max + 1;
    size_t line_left = (size_t)(end - (data + fields->line));
    const char *stop = data + fields->line + (line_left < line_max ? line_left : line_max);
    switch (fields->state) {
    case IN_NAME:
        at = jzx__http_skip(at, stop, JZX__HTTP_TOKEN);
        if (at == stop)
            return stopped(fields, (uint32_t)(at - data), refusal);
        fields->part = (uint32_t)(at - data);
        if (*at != ':' || fields->part == fields->line) {
            const char *wrong = wrong_name(fields, data, fields->part);
            return jzx__http_refuse(refusal, 400, wrong, fields->part);
        }
        at++;
        name_field(fields, data);
        fields->state = BEFORE_VALUE;
        /* fallthrough */
    case BEFORE_VALUE:
        while (at < stop && jzx__http_is_space(*at)) {
            at++;
        }
        if (at == stop)
            return stopped(fields, (uint32_t)(at - data), refusal);
        fields->part = (uint32_t)(at - data);
        fields->state = IN_VALUE;
        /* fallthrough */
    case IN_VALUE:
        at = jzx__http_skip_value(at, stop);
        if (at == stop)
            return stopped(fields, (uint32_t)(at - data), refusal);
        if (*at != '\r') {
            return jzx__http_refuse(refusal, 400, wrong_value(*at), (size_t)(at - data));
        }
        add(fields, data, (uint32_t)(at - data));
        fields->state = IN_CR;
        /* fallthrough */
    default:
        if (end - at < 2)
            return stopped(fields, (uint32_t)(at - data), refusal);
        if (at[1] != '\n') {
            return jzx__http_refuse(refusal, 400, "CR without LF", (size_t)(at - data));
        }
        *next = at + 2;
        return JZX__HTTP_DONE;
    }
}

enum jzx__http_step jzx__http_fields_parse(struct jzx__http_fields *fields, const char *data,
                                           size_t len, struct jzx__http_refusal *refusal) {
    const char *end = data + (len < fields->end_max ? len : fields->end_max);
    const char *at = data + fields->at;
    for (;;) {
        enum jzx__http_step step = JZX__HTTP_DONE;
        if (fields->state == AT_LINE) {
            if (at == end)
                return stopped(fields, (uint32_t)(at - data), refusal);
            step = begin_line(fields, (uint32_t)(at - data), *at == '\r', refusal);
        }
        if (step == JZX__HTTP_DONE)
            step = read_line(fields, data, end, &at, refusal);
        if (step != JZX__HTTP_DONE)
            return step;
        if (fields->state == IN_LAST_CR) {
            fields->at = (uint32_t)(at - data);
            return JZX__HTTP_DONE;
        }
        fields->count++;
        fields->state = AT_LINE;
    }
}

enum jzx__http_step jzx__http_trailers_check(const struct jzx__http_fields *fields,
                                             struct jzx__http_refusal *refusal) {
    for (uint32_t i = 0; i < fields->count; i++) {
        const struct jzx__http_field *field = &fields->list[i];
        switch (field->known) {
        case JZX__HTTP_HOST:
        case JZX__HTTP_CONTENT_LENGTH:
        case JZX__HTTP_TRANSFER_ENCODING:
            return jzx__http_refuse(refusal, 400, "A trailer may not frame or route the message",
                                    field->name.begin);
        default: break;
        }
    }
    return JZX__HTTP_DONE;
}

const struct jzx__http_field *jzx__http_fields_find(const struct jzx__http_fields *fields,
                                                    const char *data, const char *name) {
    size_t len = strlen(name);
    for (uint32_t i = 0; i < fields->count; i++) {
        const struct jzx__http_field *field = &fields->list[i];
        if (jzx__http_equals(data + field->name.begin, field->name.len, name, len)) {
            return field;
        }
    }
    return NULL;
}

bool jzx__http_list_has(const char *value, size_t len, const char *word) {
    const char *end = value + len;
    size_t word_len = strlen(word);
    while (value < end) {
        const char *comma = memchr(value, ',', (size_t)(end - value));
        const char *element_end = comma != NULL ? comma : end;
        const char *next = comma != NULL ? comma + 1 : end;
        while (value < element_end && jzx__http_is_space(*value)) {
            value++;
        }
        while (value < element_end && jzx__http_is_space(element_end[-1])) {
            element_end--;
        }
        if (jzx__http_equals(value, (size_t)(element_end - value), word, word_len)) {
            return true;
        }
        value = next;
    }
    return false;
}
