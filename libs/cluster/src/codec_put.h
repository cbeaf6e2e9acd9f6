/* SPDX-License-Identifier: MIT */
/* The writers of the operations that a client sends. */
#ifndef JZX_CLUSTER_CODEC_PUT_H
#define JZX_CLUSTER_CODEC_PUT_H

#include "codec_text.h"

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
