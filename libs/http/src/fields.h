/* SPDX-License-Identifier: MIT */
/*
 * A section of field lines: of a head, or the trailers of a chunked body. The caller keeps all
 * bytes of the section in one buffer and calls again with more of them. The buffer may move
 * between calls, because everything here is an offset into it. Each byte is looked at once.
 *
 * The parser refuses line folding, white space before the colon, bare CR, bare LF, NUL and other
 * control bytes. The first byte at fault is the one that it reports, however the bytes arrive.
 */
#ifndef JZX_HTTP_FIELDS_H
#define JZX_HTTP_FIELDS_H

#include <stdbool.h>

#include "refusal.h"

struct jzx__http_slice {
    uint32_t begin; /* offset into the caller's buffer */
    uint32_t len;
};

/* Fields that this library reads itself. */
enum jzx__http_name {
    JZX__HTTP_OTHER,
    JZX__HTTP_HOST,
    JZX__HTTP_EXPECT,
    JZX__HTTP_UPGRADE,
    JZX__HTTP_CONNECTION,
    JZX__HTTP_CONTENT_LENGTH,
    JZX__HTTP_TRANSFER_ENCODING,
};

struct jzx__http_field {
    struct jzx__http_slice name;
    struct jzx__http_slice value; /* without white space around it */
    enum jzx__http_name known;
};

struct jzx__http_fields {
    struct jzx__http_field *list; /* the caller's */
    uint32_t count;
    uint32_t count_max;      /* length of the list; one field more is refused with 431 */
    uint32_t line_bytes_max; /* of a field line without its CRLF; a longer one: 431 */
    uint32_t end_max;        /* largest offset of the section's end; a later one: 431 */
    uint32_t at;             /* next byte to look at; after DONE: end of the section */
    uint32_t line;           /* begin of the current line */
    uint32_t part;           /* end of its name, then begin of its value */
    uint8_t state;
};

/* Prepares for a section that begins at the offset `at`. The limits and the list stay. */
void jzx__http_fields_begin(struct jzx__http_fields *fields, uint32_t at);

/* Reads on. data, len: the buffer with all bytes since offset 0. After REFUSED there is no more to
 * read: the caller keeps the refusal. */
enum jzx__http_step jzx__http_fields_parse(struct jzx__http_fields *fields, const char *data,
                                           size_t len, struct jzx__http_refusal *refusal);

/* After DONE of trailers: refuses fields that frame or route a message. The caller must not merge
 * the others into the head, because senders may not repeat its fields here. */
enum jzx__http_step jzx__http_trailers_check(const struct jzx__http_fields *fields,
                                             struct jzx__http_refusal *refusal);

/* The first field of that name in lower case, or NULL. */
const struct jzx__http_field *jzx__http_fields_find(const struct jzx__http_fields *fields,
                                                    const char *data, const char *name);

/* Whether an element of a list in a field value is this word in lower case. */
bool jzx__http_list_has(const char *value, size_t len, const char *word);

#endif
