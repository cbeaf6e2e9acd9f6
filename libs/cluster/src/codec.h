/* SPDX-License-Identifier: MIT */
/* The text protocol of NATS: a parser of the bytes that a server sends, and writers of the bytes
 * that a client sends. Neither does I/O nor allocates.
 *
 * Invariants:
 *   codec/C1  The result does not depend on how the input is cut: whole, in two pieces or byte by
 *             byte, the parser yields the same operations and the same refusal.
 *   codec/C2  No length of the peer is used before it is compared with its limit, and the parser
 *             writes only to the buffer of its caller.
 *   codec/C3  A refusal is final and has a text: the parser yields it again on each later call.
 *   codec/C4  A writer appends a whole operation or nothing. No text of the caller can end a line
 *             or a header before its time.
 *   codec/C5  Bytes of other publishers (subjects, headers, payloads) never make the parser refuse
 *             the connection; only a server that breaks the framing does.
 */
#ifndef JZX_CLUSTER_CODEC_H
#define JZX_CLUSTER_CODEC_H

#include "codec_info.h"
#include "codec_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jzx__nats_kind {
    JZX__NATS_NONE, /* needs more bytes */
    JZX__NATS_INFO,
    JZX__NATS_MSG, /* with a header block if header.data is there */
    JZX__NATS_PING,
    JZX__NATS_PONG,
    JZX__NATS_OK,
    JZX__NATS_ERR,
};

/* Pointers are valid until the next call on the parser, and as long as the input of this one. */
struct jzx__nats_op {
    enum jzx__nats_kind kind;
    struct jzx__nats_bytes subject;
    struct jzx__nats_bytes reply; /* absent: data is NULL */
    struct jzx__nats_bytes header;
    struct jzx__nats_bytes payload;
    struct jzx__nats_bytes text; /* of -ERR, without quotes */
    uint64_t sid;
    const struct jzx__nats_info *info;
};

/* 0 takes the default: the constant of the same name, and for header_max payload_max. With a
 * payload_max below that of the server, or a smaller header_max, any publisher can end the
 * connection. */
struct jzx__nats_limits {
    size_t line_max;
    size_t info_max;
    size_t header_max;
    size_t payload_max;
};

struct jzx__nats_parser {
    struct jzx__nats_limits limits;
    char *buffer;     /* the caller's: the line, and after it a payload that came in pieces */
    size_t line_size; /* with CRLF once it is complete */
    size_t body_size; /* payload bytes in the buffer */
    size_t body_want; /* with CRLF; 0: no payload is awaited */
    size_t header_want;
    struct jzx__nats_op op; /* of the line whose payload is awaited */
    struct jzx__nats_info info;
    const char *why; /* of the refusal, NULL before it */
    jzx_err err;
};

/* Bytes that a buffer for these limits needs; 0 if a limit is out of range. */
size_t jzx__nats_parser_buffer_size(const struct jzx__nats_limits *limits);

/* The buffer is the caller's and outlives the parser. INVALID_ARG: too small, or a bad limit. */
jzx_err jzx__nats_parser_init(struct jzx__nats_parser *parser,
                              const struct jzx__nats_limits *limits, void *buffer, size_t size);

/* Takes bytes up to the end of one operation and tells how many it took. With NONE all were taken.
 * INVALID_ARG: the server broke the protocol; parser->why tells how, and the connection is of no
 * use any more. TOO_LONG: a limit is exceeded, with the same effect. */
jzx_err jzx__nats_parse(struct jzx__nats_parser *parser, const void *bytes, size_t size,
                        size_t *used, struct jzx__nats_op *op);

enum jzx__nats_error {
    JZX__NATS_ERROR_OTHER,
    JZX__NATS_ERROR_AUTHORIZATION,
    JZX__NATS_ERROR_PERMISSION_PUBLISH,
    JZX__NATS_ERROR_PERMISSION_SUBSCRIBE,
    JZX__NATS_ERROR_STALE,
    JZX__NATS_ERROR_SLOW_CONSUMER,
    JZX__NATS_ERROR_MAX_PAYLOAD,
    JZX__NATS_ERROR_MAX_CONNECTIONS,
    JZX__NATS_ERROR_INVALID_SUBJECT,
};

/* The kind of an -ERR text, and whether the server closes the connection after it. */
enum jzx__nats_error jzx__nats_error_kind(struct jzx__nats_bytes text, bool *closes);

#endif
