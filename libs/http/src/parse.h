/* SPDX-License-Identifier: MIT */
/*
 * The head of an HTTP/1.1 message, and its framing: RFC 9112 and RFC 9110, read strictly. The
 * parser does no I/O and allocates nothing. A message goes by in three steps:
 *
 *     jzx__http_head_begin(&head, JZX__HTTP_REQUEST, &limits, list, count_max);
 *     jzx__http_head_parse(&head, data, len)        until DONE; the buffer keeps the whole head
 *     jzx__http_head_body(&head, &body)             then jzx__http_body_next on what follows
 *     jzx__http_head_trailers(&head, &trailers, list, count_max)   behind BODY_TRAILERS
 *
 * The next message begins behind the last byte that a step consumed. A refusal ends the
 * connection. The same bytes give the same result however they are cut into pieces.
 */
#ifndef JZX_HTTP_PARSE_H
#define JZX_HTTP_PARSE_H

#include "chunk.h"
#include "uri.h"

enum jzx__http_kind { JZX__HTTP_REQUEST, JZX__HTTP_RESPONSE };

/* Sizes in bytes. Each limit has the status with which a request beyond it is refused. */
struct jzx__http_limits {
    uint32_t method_max;     /* 400 */
    uint32_t target_max;     /* 414 */
    uint32_t field_line_max; /* 431; also for a reason phrase and a line of trailers */
    uint32_t head_max;       /* 431; all of it, up to the empty line */
    uint32_t trailers_max;   /* 431 */
    uint32_t chunk_line_max; /* 400 */
    uint32_t extensions_max; /* 400; of all chunks of a body */
    uint64_t content_max;    /* 413 */
};

/* 8,000 bytes per line (RFC 9112 section 3 asks for them), 64 KiB per head, bodies without end. */
extern const struct jzx__http_limits jzx__http_limits_default;

/* The request that a response answers, as far as it decides where the response ends. */
enum jzx__http_answers { JZX__HTTP_TO_OTHERS, JZX__HTTP_TO_HEAD, JZX__HTTP_TO_CONNECT };

enum jzx__http_expects {
    JZX__HTTP_EXPECTS_NOTHING,
    JZX__HTTP_EXPECTS_CONTINUE,
    JZX__HTTP_EXPECTS_UNKNOWN
};

struct jzx__http_head {
    /* After DONE. Slices are offsets into the caller's buffer. */
    struct jzx__http_slice method;
    struct jzx__http_slice target_text;
    struct jzx__http_target target;
    struct jzx__http_host host; /* of the target if that has one, else of the field; else empty */
    struct jzx__http_slice reason;
    uint16_t status;
    uint8_t minor; /* of the version: 0 or 1 */
    enum jzx__http_framing framing;
    uint64_t content_len;           /* with JZX__HTTP_LENGTH */
    enum jzx__http_expects expects; /* UNKNOWN: answer with 417, or pass over it */
    bool keeps_alive;               /* the peer allows a next message on the connection */
    bool wants_upgrade;             /* Connection and Upgrade agree; HTTP/1.1 only */
    bool wants_websocket;           /* a GET whose Upgrade lists websocket */
    struct jzx__http_fields fields;

    /* After REFUSED. */
    struct jzx__http_refusal refusal;

    /* For the parser. */
    struct jzx__http_limits limits;
    enum jzx__http_kind kind;
    enum jzx__http_answers answers; /* set it after begin, before parse */
    uint32_t at;                    /* next byte to look at; after DONE: size of the head */
    uint32_t part;                  /* begin of the current part of the start line */
    uint8_t state;
    uint8_t empty_lines;
};

/* Prepares for a head that begins at the first byte of the buffer. list: room for its fields, as
 * long as the head is in use; one field more than count_max is refused with 431. */
void jzx__http_head_begin(struct jzx__http_head *head, enum jzx__http_kind kind,
                          const struct jzx__http_limits *limits, struct jzx__http_field *list,
                          uint32_t count_max);

/* Reads on. data, len: all bytes since the head's begin; the buffer may have moved. */
enum jzx__http_step jzx__http_head_parse(struct jzx__http_head *head, const char *data, size_t len);

/* After DONE: prepares for the body, or for the trailers behind it. Trailers are a section at
 * offset 0 of their own buffer; jzx__http_trailers_check judges them. */
void jzx__http_head_body(const struct jzx__http_head *head, struct jzx__http_body *body);
void jzx__http_head_trailers(const struct jzx__http_head *head, struct jzx__http_fields *trailers,
                             struct jzx__http_field *list, uint32_t count_max);

#endif
