/* SPDX-License-Identifier: MIT */
#include "net/udp_address.h"

#include "net/address.h"

#include <string.h>

_Static_assert(sizeof(struct sockaddr_in6) <= sizeof(jzx_address), "has its place there");

static sa_family_t family_of(const jzx_address *address) {
    struct sockaddr head;
    memcpy(&head, address, sizeof head);
    return head.sa_family;
}

socklen_t jzx__udp_address_size(const jzx_address *address) {
    switch (family_of(address)) {
    case AF_INET: return sizeof(struct sockaddr_in);
    case AF_INET6: return sizeof(struct sockaddr_in6);
    default: return 0;
    }
}

bool jzx__udp_address_is_valid(const jzx_address *address) {
    return family_of(address) == AF_UNSPEC || jzx__udp_address_size(address) != 0;
}

/* ---- vectors ---- */

static struct msghdr *add(struct jzx__vector *vector, void *data, size_t size) {
    struct msghdr *head = &vector->heads[vector->count].msg_hdr;
    struct iovec *part = &vector->parts[vector->count++];
    *part = (struct iovec){.iov_base = data, .iov_len = size};
    *head = (struct msghdr){.msg_iov = part, .msg_iovlen = 1};
    return head;
}

void jzx__vector_add_room(struct jzx__vector *vector, void *data, size_t cap, jzx_address *from) {
    struct msghdr *head = add(vector, data, cap);
    memset(from, 0, sizeof *from);
    head->msg_name = from;
    head->msg_namelen = sizeof *from;
}

void jzx__vector_add(struct jzx__vector *vector, const void *data, size_t len,
                     const jzx_address *to) {
    struct msghdr *head = add(vector, (void *)(uintptr_t)data, len);
    if (to == NULL || jzx__udp_address_size(to) == 0)
        return;
    head->msg_name = (void *)(uintptr_t)to;
    head->msg_namelen = jzx__udp_address_size(to);
}

/* ---- the calls ---- */

jzx_err jzx_address_parse(const char *text, jzx_address *address) {
    struct jzx__address parsed;
    if (address == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__address_parse(text, &parsed);
    if (err != JZX_OK)
        return err;
    memset(address, 0, sizeof *address);
    memcpy(address, &parsed.any, parsed.size);
    return JZX_OK;
}

jzx_err jzx_address_format(const jzx_address *address, char *text, size_t size) {
    struct jzx__address whole = {.size = 0};
    if (address == NULL || text == NULL || jzx__udp_address_size(address) == 0)
        return JZX_ERR_INVALID_ARG;
    whole.size = jzx__udp_address_size(address);
    memcpy(&whole.any, address, whole.size);
    return jzx__address_format(&whole, text, size);
}

bool jzx_address_is_equal(const jzx_address *a, const jzx_address *b) {
    return a != NULL && b != NULL && memcmp(a, b, sizeof *a) == 0;
}
