/* SPDX-License-Identifier: MIT */
/*
 * Feeds a connection's bytes to the parser in pieces, and writes down everything that it says. Two
 * ways to cut the same bytes have to give the same transcript. Every piece comes in a new block of
 * exactly the bytes so far: a read behind them, or through an old pointer, is found by a sanitizer.
 */
#ifndef JZX_HTTP_DRIVER_H
#define JZX_HTTP_DRIVER_H

#include "parse.h"

enum driver_end {
    DRIVER_WAITS, /* for more bytes of a message, or for the next one */
    DRIVER_REFUSED,
    DRIVER_TUNNEL,   /* the rest is no HTTP */
    DRIVER_COMPLETE, /* responses: the peer's close ended the last body */
};

struct driver_options {
    enum jzx__http_kind kind;
    enum jzx__http_answers answers;
    struct jzx__http_limits limits;
    uint32_t fields_max; /* of a head and of trailers; at most 128 */
    bool closes;         /* the peer closes behind the last byte */
};

struct driver_result {
    enum driver_end end;
    unsigned messages; /* complete ones */
    struct jzx__http_refusal refusal;
    size_t consumed;                /* behind the last complete message */
    bool is_in_message;             /* some bytes of the next one were there */
    bool keeps_alive;               /* of the last head; false once one says so */
    bool wants_websocket;           /* any head */
    enum jzx__http_expects expects; /* of the last head */
    size_t refused_at;              /* counted from the first byte of the connection */
    char *text;                     /* the transcript; freed by driver_free */
    size_t text_len;
};

struct driver_options driver_requests(void);
struct driver_options driver_responses(enum jzx__http_answers answers);

/* Cuts the bytes at multiples of `piece`, shifted so that the first piece has `first` bytes. */
struct driver_result driver_run(const struct driver_options *options, const char *data, size_t len,
                                size_t first, size_t piece);
void driver_free(struct driver_result *result);

/* Whether whole, two pieces at every cut (at most `cuts_max` of them, evenly spread) and single
 * bytes give one transcript. Prints the two that differ. */
bool driver_agrees(const struct driver_options *options, const char *data, size_t len,
                   size_t cuts_max);

#endif
