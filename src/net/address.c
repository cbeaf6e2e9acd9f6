/* SPDX-License-Identifier: MIT */
#include "net/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

/* Of a host in text, with a zone perhaps. */
#define HOST_MAX (INET6_ADDRSTRLEN + IF_NAMESIZE)

/* Digits only, and to the end: no sign, no blanks. */
static bool parse_number(const char *text, uint32_t max, uint32_t *number) {
    uint32_t value = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (uint32_t)(*text - '0');
        if (value > max)
            return false;
    }
    *number = value;
    return true;
}

static bool parse_v4(const char *host, uint16_t port, struct jzx__address *address) {
    address->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    address->size = sizeof address->v4;
    return inet_pton(AF_INET, host, &address->v4.sin_addr) == 1;
}

bool jzx__address_interface(const char *text, uint32_t *number) {
    if (parse_number(text, UINT32_MAX / 10 - 1, number))
        return true;
    *number = if_nametoindex(text);
    return *number != 0;
}

/* host may be cut at its zone. */
static bool parse_v6(char *host, uint16_t port, struct jzx__address *address) {
    char *zone = strchr(host, '%');
    address->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    address->size = sizeof address->v6;
    if (zone != NULL) {
        *zone = '\0';
        if (!jzx__address_interface(zone + 1, &address->v6.sin6_scope_id))
            return false;
    }
    return inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1;
}

jzx_err jzx__address_parse(const char *text, struct jzx__address *address) {
    char host[HOST_MAX + 1];
    struct jzx__address made = {.size = 0};
    uint32_t port;
    if (text == NULL)
        return JZX_ERR_INVALID_ARG;
    bool is_v6 = text[0] == '[';
    const char *begin = text + is_v6;
    const char *end = strchr(text, is_v6 ? ']' : ':');
    const char *colon = end == NULL ? NULL : end + is_v6;
    if (end == NULL || *colon != ':' || (size_t)(end - begin) > HOST_MAX)
        return JZX_ERR_INVALID_ARG;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    if (!parse_number(colon + 1, UINT16_MAX, &port))
        return JZX_ERR_INVALID_ARG;
    bool is_good =
        is_v6 ? parse_v6(host, (uint16_t)port, &made) : parse_v4(host, (uint16_t)port, &made);
    if (!is_good)
        return JZX_ERR_INVALID_ARG;
    *address = made;
    return JZX_OK;
}

jzx_err jzx__address_parse_host(const char *text, struct jzx__address *address) {
    char host[HOST_MAX + 1];
    struct jzx__address made = {.size = 0};
    if (text == NULL || strlen(text) > HOST_MAX)
        return JZX_ERR_INVALID_ARG;
    memcpy(host, text, strlen(text) + 1);
    if (strchr(host, ':') != NULL ? !parse_v6(host, 0, &made) : !parse_v4(host, 0, &made))
        return JZX_ERR_INVALID_ARG;
    *address = made;
    return JZX_OK;
}

/* An abstract name has no '\0' at its end, and one in front in place of '@'. */
jzx_err jzx__address_parse_unix(const char *text, struct jzx__address *address) {
    struct jzx__address made = {.local = {.sun_family = AF_UNIX}};
    if (text == NULL || text[0] == '\0')
        return JZX_ERR_INVALID_ARG;
    size_t len = strlen(text);
    bool is_abstract = text[0] == '@';
    if (len + !is_abstract > sizeof made.local.sun_path)
        return JZX_ERR_TOO_LONG;
    memcpy(made.local.sun_path, text, len);
    if (is_abstract)
        made.local.sun_path[0] = '\0';
    made.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + !is_abstract);
    *address = made;
    return JZX_OK;
}

/* With its '\0'. */
static size_t write_unix(const struct jzx__address *address, char *text) {
    size_t offset = offsetof(struct sockaddr_un, sun_path);
    size_t len = address->size <= offset ? 0 : address->size - offset;
    bool is_abstract = len != 0 && address->local.sun_path[0] == '\0';
    if (!is_abstract)
        len = strnlen(address->local.sun_path, len);
    memcpy(text, address->local.sun_path, len);
    if (is_abstract)
        text[0] = '@';
    text[len] = '\0';
    return len + 1;
}

static size_t write_v6(const struct jzx__address *address, char *text, size_t size) {
    char host[INET6_ADDRSTRLEN];
    char zone[16] = "";
    (void)inet_ntop(AF_INET6, &address->v6.sin6_addr, host, sizeof host);
    if (address->v6.sin6_scope_id != 0)
        (void)snprintf(zone, sizeof zone, "%%%u", address->v6.sin6_scope_id);
    return (size_t)snprintf(text, size, "[%s%s]:%u", host, zone,
                            (unsigned)ntohs(address->v6.sin6_port)) +
           1;
}

static size_t write_v4(const struct jzx__address *address, char *text, size_t size) {
    char host[INET_ADDRSTRLEN];
    (void)inet_ntop(AF_INET, &address->v4.sin_addr, host, sizeof host);
    return (size_t)snprintf(text, size, "%s:%u", host, (unsigned)ntohs(address->v4.sin_port)) + 1;
}

jzx_err jzx__address_format(const struct jzx__address *address, char *text, size_t size) {
    char whole[JZX__ADDRESS_TEXT_MAX];
    size_t len;
    switch (address->any.sa_family) {
    case AF_INET: len = write_v4(address, whole, sizeof whole); break;
    case AF_INET6: len = write_v6(address, whole, sizeof whole); break;
    case AF_UNIX: len = write_unix(address, whole); break;
    default: return JZX_ERR_UNSUPPORTED;
    }
    if (len > size)
        return JZX_ERR_TOO_LONG;
    memcpy(text, whole, len);
    return JZX_OK;
}
