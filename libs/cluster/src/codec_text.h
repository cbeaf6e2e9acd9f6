/* SPDX-License-Identifier: MIT */
/* Subjects and header blocks of NATS, and the limits of all that the codec reads and writes. */
#ifndef JZX_CLUSTER_CODEC_TEXT_H
#define JZX_CLUSTER_CODEC_TEXT_H

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

#endif
