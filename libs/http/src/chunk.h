/* SPDX-License-Identifier: MIT */
/*
 * The body behind a head. The caller feeds bytes as they come and gets them back as content,
 * without a copy. Trailers are a section of fields, which need a buffer: the caller reads them with
 * jzx__http_fields_parse, and the message ends where they end.
 */
#ifndef JZX_HTTP_CHUNK_H
#define JZX_HTTP_CHUNK_H

#include <stdbool.h>

#include "refusal.h"

enum jzx__http_framing {
    JZX__HTTP_NO_BODY,
    JZX__HTTP_LENGTH,
    JZX__HTTP_CHUNKED,
    JZX__HTTP_UNTIL_CLOSE, /* a response without a length */
    JZX__HTTP_TUNNEL,      /* bytes behind the head are no HTTP: CONNECT, or status 101 */
};

enum jzx__http_part {
    JZX__HTTP_BODY_MORE,     /* all bytes are consumed, and the body goes on */
    JZX__HTTP_BODY_CONTENT,  /* the last `content` of the consumed bytes are content */
    JZX__HTTP_BODY_TRAILERS, /* a section of fields follows the consumed bytes */
    JZX__HTTP_BODY_DONE,     /* the message ends behind the consumed bytes */
    JZX__HTTP_BODY_REFUSED,
};

struct jzx__http_body {
    enum jzx__http_framing framing;
    uint8_t state;
    uint8_t digits;          /* of the chunk size */
    uint32_t line;           /* bytes of the chunk line so far */
    uint32_t line_bytes_max; /* of a chunk line with its CRLF; a longer one: 400 */
    uint32_t extensions;     /* bytes of all extensions so far */
    uint32_t extensions_max; /* more: 400 */
    uint64_t left;           /* of the body or chunk */
    uint64_t content_len;    /* so far */
    uint64_t content_max;    /* more: 413 */
    uint64_t offset;         /* bytes consumed; refusals count from the body's begin */
    struct jzx__http_refusal refusal;
};

/* length: for JZX__HTTP_LENGTH. The limits are the caller's to set, before. */
void jzx__http_body_begin(struct jzx__http_body *body, enum jzx__http_framing framing,
                          uint64_t length);

/* Reads on in data, which begins behind all bytes consumed so far. Call it again after CONTENT with
 * the rest. With no body and with a tunnel the first call returns DONE and consumes nothing. */
enum jzx__http_part jzx__http_body_next(struct jzx__http_body *body, const char *data, size_t len,
                                        size_t *consumed, size_t *content);

/* The peer has closed. Returns whether the body was complete; a refusal says that it was not.
 * Trailers that are still missing are the caller's to notice. */
bool jzx__http_body_close(struct jzx__http_body *body);

#endif
