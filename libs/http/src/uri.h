/* SPDX-License-Identifier: MIT */
/*
 * Request targets and hosts. These functions look at a whole text, allocate nothing, and return
 * NULL or a static text that says what is wrong.
 */
#ifndef JZX_HTTP_URI_H
#define JZX_HTTP_URI_H

#include <stdbool.h>

#include "fields.h"

/* RFC 9112 section 3.2. */
enum jzx__http_form {
    JZX__HTTP_ORIGIN,    /* /path?query */
    JZX__HTTP_ABSOLUTE,  /* http://host/path?query */
    JZX__HTTP_AUTHORITY, /* host:port, only with CONNECT */
    JZX__HTTP_ASTERISK,  /* *, only with OPTIONS */
};

/* uri-host [ ":" port ]. The port is -1 if there is none. */
struct jzx__http_host {
    struct jzx__http_slice name; /* an IPv6 address has its brackets */
    int32_t port;
};

struct jzx__http_target {
    enum jzx__http_form form;
    bool is_https;                /* absolute form */
    struct jzx__http_host host;   /* absolute and authority form */
    struct jzx__http_slice path;  /* as sent: not decoded, and empty in http://host */
    struct jzx__http_slice query; /* without "?"; of length 0 also if there is none */
};

/* Reads the host at `at`; slices count from data. at_fault: the byte that a refusal is about. */
const char *jzx__http_host_read(const char *data, struct jzx__http_slice at,
                                struct jzx__http_host *host, uint32_t *at_fault);

/* Splits a target all of whose bytes are JZX__HTTP_TARGET. The path has only complete percent
 * triplets, and none of a control byte. The query may have a lone "%", as browsers send it. */
const char *jzx__http_target_read(const char *data, struct jzx__http_slice method,
                                  struct jzx__http_slice at, struct jzx__http_target *target,
                                  uint32_t *at_fault);

#endif
