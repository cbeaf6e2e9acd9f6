/* SPDX-License-Identifier: MIT */
/* The INFO of a server, as far as the client needs it. */
#ifndef JZX_CLUSTER_CODEC_INFO_H
#define JZX_CLUSTER_CODEC_INFO_H

#include "codec_text.h"

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

/* Reads the JSON of INFO. `why` is set on failure only. */
jzx_err jzx__nats_info_read(const char *json, size_t size, struct jzx__nats_info *info,
                            const char **why);

#endif
