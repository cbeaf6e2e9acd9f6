/* SPDX-License-Identifier: MIT */
/* Addresses as text and as the system has them. Numeric only: "127.0.0.1:5555", "[::1]:80",
 * "[fe80::1%eth0]:80"; and those of Unix sockets, "/run/x.sock" and "@abstract". */
#ifndef JZX_NET_ADDRESS_H
#define JZX_NET_ADDRESS_H

#include "jzx/error.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The longest text with its '\0': that of an abstract Unix socket, all of whose bytes are used. */
#define JZX__ADDRESS_TEXT_MAX 128u

struct jzx__address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
    };
    socklen_t size;
};

/* JZX_ERR_INVALID_ARG if the text is no address with a port; address is untouched then. NULL is
 * none. */
jzx_err jzx__address_parse(const char *text, struct jzx__address *address);

/* The same without a port: "239.1.2.3", "ff02::1". */
jzx_err jzx__address_parse_host(const char *text, struct jzx__address *address);

/* The number of an interface, by its number or its name. False if there is none. */
bool jzx__address_interface(const char *text, uint32_t *number);

/* Of a Unix socket. JZX_ERR_INVALID_ARG: NULL or empty; JZX_ERR_TOO_LONG. */
jzx_err jzx__address_parse_unix(const char *text, struct jzx__address *address);

/* Writes it with its '\0'. A Unix socket without a name is "". JZX_ERR_TOO_LONG: it does not fit,
 * and text is untouched; JZX_ERR_UNSUPPORTED: another family. */
jzx_err jzx__address_format(const struct jzx__address *address, char *text, size_t size);

#endif
