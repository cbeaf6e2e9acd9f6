/* SPDX-License-Identifier: MIT */
/* A question for the addresses of a name. It travels as the copy of a blocking job: what is asked
 * goes in, and what was found comes out in its place. */
#ifndef JZX_RESOLVE_RESOLVE_H
#define JZX_RESOLVE_RESOLVE_H

#include "jzx/resolve.h"

#include <netdb.h>

#define JZX__HOST_SIZE 256u
#define JZX__SERVICE_SIZE 64u

/* The calls of the C library, for tests. */
struct jzx__resolve_os {
    int (*look_up)(const char *host, const char *service, const struct addrinfo *hints,
                   struct addrinfo **list);
    void (*release)(struct addrinfo *list);
};

struct jzx__question {
    const struct jzx__resolve_os *os;
    int family; /* AF_* */
    char host[JZX__HOST_SIZE];
    char service[JZX__SERVICE_SIZE];
};

union jzx__resolve_data {
    jzx_addresses found; /* the larger one */
    struct jzx__question question;
};

_Static_assert(sizeof(union jzx__resolve_data) == sizeof(jzx_addresses), "is the result as well");

/* Takes a name apart. JZX_ERR_INVALID_ARG, JZX_ERR_TOO_LONG. */
jzx_err jzx__resolve_parse(const char *name, uint32_t kind, struct jzx__question *question);

/* Asks; data is a union jzx__resolve_data. A jzx_blocking_fn. */
jzx_err jzx__resolve_look_up(void *data);

#endif
