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

#include "jzx/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JZX__NATS_LINE_MAX 8192u         /* a line with its CRLF; a server allows 4 KiB of words */
#define JZX__NATS_CONNECT_MAX 4096u      /* the line of CONNECT */
#define JZX__NATS_INFO_MAX 32768u        /* the line of INFO */
#define JZX__NATS_HEADER_MAX 65536u      /* the header block of HPUB */
#define JZX__NATS_PAYLOAD_MAX 1048576u   /* header block and payload; 64 MiB is the server's own */
#define JZX__NATS_PAYLOAD_LIMIT 67108864 /* no configuration exceeds it */
#define JZX__NATS_HEADERS_MAX 64u        /* header fields of one message */
#define JZX__NATS_SUBJECT_MAX 1024u
#define JZX__NATS_TEXT_MAX 256u /* a text of INFO with its 0 */
#define JZX__NATS_URLS_MAX 16u  /* servers of one INFO; the rest is counted */

/* Bytes of someone else, not terminated. */
struct jzx__nats_bytes {
    const char *data; /* NULL: absent */
    size_t size;
};

struct jzx__nats_info {
    char server_id[JZX__NATS_TEXT_MAX];
    char server_name[JZX__NATS_TEXT_MAX];
    char version[JZX__NATS_TEXT_MAX];
    char nonce[JZX__NATS_TEXT_MAX];
    char urls[JZX__NATS_URLS_MAX][JZX__NATS_TEXT_MAX]; /* "host:port" of the cluster's servers */
    uint32_t url_count;
    uint32_t urls_dropped; /* beyond URLS_MAX */
    int64_t client_id;
    int64_t max_payload;
    int64_t proto;
    bool headers;
    bool auth_required;
    bool tls_required;
    bool tls_available;
    bool lame_duck; /* the server is about to stop */
};

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

/* Reads the JSON of INFO. `why` is set on failure only. */
jzx_err jzx__nats_info_read(const char *json, size_t size, struct jzx__nats_info *info,
                            const char **why);

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

/* A header block, validated as a whole by open. Each call of next yields one field. */
struct jzx__nats_headers {
    int status; /* 503 of "NATS/1.0 503"; 0 without one */
    struct jzx__nats_bytes status_text;
    struct jzx__nats_bytes rest;
};

jzx_err jzx__nats_headers_open(struct jzx__nats_headers *headers, struct jzx__nats_bytes block,
                               const char **why);
bool jzx__nats_headers_next(struct jzx__nats_headers *headers, struct jzx__nats_bytes *name,
                            struct jzx__nats_bytes *value);

/* A subject has tokens between dots. Only a pattern may have the wildcards "*" and, as its last
 * token, ">". `why` is set on failure only. */
jzx_err jzx__nats_subject_check(struct jzx__nats_bytes subject, bool is_pattern, const char **why);

/* Whether a valid pattern covers a valid subject. */
bool jzx__nats_subject_matches(struct jzx__nats_bytes pattern, struct jzx__nats_bytes subject);

/* The caller's room for output. Writers append at `size`. They return FULL if the operation does
 * not fit in `capacity` now, TOO_LONG if it exceeds a limit of the protocol, INVALID_ARG if it is
 * no valid one; `why` tells. */
struct jzx__nats_out {
    char *data;
    size_t size;
    size_t capacity;
    const char *why;
};

/* Texts are UTF-8; NULL leaves a field out. */
struct jzx__nats_connect {
    const char *name;
    const char *version; /* of the client */
    const char *user;
    const char *password;
    const char *token;
    bool headers;
    bool no_responders; /* needs headers */
    bool echo;
    bool verbose;
    bool pedantic;
    bool tls_required;
};

struct jzx__nats_field {
    struct jzx__nats_bytes name;
    struct jzx__nats_bytes value;
};

struct jzx__nats_publish {
    struct jzx__nats_bytes subject;
    struct jzx__nats_bytes reply; /* absent: data is NULL */
    struct jzx__nats_bytes payload;
    const struct jzx__nats_field *fields; /* HPUB if there are some */
    size_t field_count;
    size_t payload_max; /* of the server's INFO; 0: JZX__NATS_PAYLOAD_MAX */
};

jzx_err jzx__nats_put_connect(struct jzx__nats_out *out, const struct jzx__nats_connect *connect);
jzx_err jzx__nats_put_publish(struct jzx__nats_out *out, const struct jzx__nats_publish *publish);
/* The queue group is absent if its data is NULL. */
jzx_err jzx__nats_put_sub(struct jzx__nats_out *out, struct jzx__nats_bytes subject,
                          struct jzx__nats_bytes queue, uint64_t sid);
/* max_count 0 unsubscribes at once. */
jzx_err jzx__nats_put_unsub(struct jzx__nats_out *out, uint64_t sid, uint64_t max_count);
jzx_err jzx__nats_put_ping(struct jzx__nats_out *out);
jzx_err jzx__nats_put_pong(struct jzx__nats_out *out);

#endif
