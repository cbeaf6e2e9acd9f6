/* SPDX-License-Identifier: MIT */
/*
 * Hosts are stricter than RFC 3986: no user, no percent encoding and no punctuation beside "-._~",
 * as no name that DNS or a hosts file carries has them. A host that two readers understand
 * differently leads to the wrong server.
 */
#include "uri.h"

#include "chars.h"

enum { PORT_MAX = 65535, ADDRESS_GROUPS = 8, GROUP_DIGITS_MAX = 4, OCTET_MAX = 255 };

/* Four decimal numbers up to 255 with dots between them. */
static bool is_ipv4(const char *at, const char *end) {
    for (int octet = 0; octet < 4; octet++) {
        if (octet > 0) {
            if (at == end || *at++ != '.')
                return false;
        }
        int value = 0;
        int digits = 0;
        for (; at < end && jzx__http_is(*at, JZX__HTTP_DIGIT) && digits < 3; at++, digits++) {
            value = value * 10 + (*at - '0');
        }
        if (digits == 0 || value > OCTET_MAX)
            return false;
    }
    return at == end;
}

/* Groups of hexadecimal digits, at most one "::" for two or more, the last two maybe as IPv4. */
static bool is_ipv6(const char *at, const char *end) {
    int groups = 0;
    bool has_gap = false;
    if (end - at >= 2 && at[0] == ':' && at[1] == ':') {
        has_gap = true;
        at += 2;
    }
    while (at < end) {
        const char *digits = at;
        at = jzx__http_skip(at, end, JZX__HTTP_HEX);
        if (at < end && *at == '.') {
            groups += 2;
            return is_ipv4(digits, end) &&
                   (has_gap ? groups < ADDRESS_GROUPS : groups == ADDRESS_GROUPS);
        }
        if (at == digits || at - digits > GROUP_DIGITS_MAX || ++groups > ADDRESS_GROUPS) {
            return false;
        }
        if (at == end)
            break;
        if (*at++ != ':')
            return false;
        if (at == end)
            return false; /* it ends with one colon */
        if (*at == ':') {
            if (has_gap)
                return false;
            has_gap = true;
            at++;
        }
    }
    return has_gap ? groups < ADDRESS_GROUPS : groups == ADDRESS_GROUPS;
}

static const char *read_port(const char *at, const char *end, int32_t *port, const char **fault) {
    int32_t value = 0;
    *port = -1;
    for (; at < end; at++) {
        *fault = at;
        if (!jzx__http_is(*at, JZX__HTTP_DIGIT))
            return "The port is no number";
        value = value * 10 + (*at - '0');
        if (value > PORT_MAX)
            return "The port is above 65535";
        *port = value;
    }
    return NULL;
}

const char *jzx__http_host_read(const char *data, struct jzx__http_slice at,
                                struct jzx__http_host *host, uint32_t *at_fault) {
    const char *begin = data + at.begin;
    const char *end = begin + at.len;
    const char *name_end;
    *at_fault = at.begin;
    if (begin == end)
        return "The host is empty";
    if (*begin == '[') {
        name_end = memchr(begin, ']', at.len);
        if (name_end == NULL || !is_ipv6(begin + 1, name_end)) {
            return "The host has brackets, and no IPv6 address in them";
        }
        name_end++;
    } else {
        name_end = jzx__http_skip(begin, end, JZX__HTTP_UNRESERVED);
        if (name_end == begin && *begin == ':')
            return "The host is empty";
    }
    *at_fault = (uint32_t)(name_end - data);
    if (name_end < end && *name_end == '@')
        return "The host has a user name before it";
    if (name_end < end && *name_end != ':')
        return "A byte is not allowed in a host";
    host->name = (struct jzx__http_slice){at.begin, (uint32_t)(name_end - begin)};
    host->port = -1;
    if (name_end == end)
        return NULL;
    const char *fault = name_end;
    const char *wrong = read_port(name_end + 1, end, &host->port, &fault);
    *at_fault = (uint32_t)(fault - data);
    return wrong;
}

static int hex_value(char digit) {
    return digit <= '9' ? digit - '0' : jzx__http_lower(digit) - 'a' + 10;
}

/* Control bytes in a decoded path end C strings, or forge lines of logs and header fields. */
static const char *check_percents(const char *at, const char *end, const char **fault) {
    while ((at = memchr(at, '%', (size_t)(end - at))) != NULL) {
        *fault = at;
        if (end - at < 3 || !jzx__http_is(at[1], JZX__HTTP_HEX) ||
            !jzx__http_is(at[2], JZX__HTTP_HEX)) {
            return "A percent sign in the path has not two hexadecimal digits behind it";
        }
        int byte = hex_value(at[1]) * 16 + hex_value(at[2]);
        if (byte < ' ' || byte == 0x7f)
            return "The path encodes a control byte";
        at += 3;
    }
    return NULL;
}

static const char *read_path(const char *data, const char *begin, const char *end,
                             struct jzx__http_target *target, uint32_t *at_fault) {
    const char *mark = memchr(begin, '?', (size_t)(end - begin));
    const char *path_end = mark != NULL ? mark : end;
    const char *query = mark != NULL ? mark + 1 : end;
    target->path = (struct jzx__http_slice){(uint32_t)(begin - data), (uint32_t)(path_end - begin)};
    target->query = (struct jzx__http_slice){(uint32_t)(query - data), (uint32_t)(end - query)};
    const char *fault = begin;
    const char *wrong = check_percents(begin, path_end, &fault);
    *at_fault = (uint32_t)(fault - data);
    return wrong;
}

static const char *read_absolute(const char *data, struct jzx__http_slice at,
                                 struct jzx__http_target *target, uint32_t *at_fault) {
    const char *begin = data + at.begin;
    const char *end = begin + at.len;
    size_t scheme_len = 0;
    if (at.len > 7 && jzx__http_equals(begin, 7, "http://", 7)) {
        scheme_len = 7;
    } else if (at.len > 8 && jzx__http_equals(begin, 8, "https://", 8)) {
        scheme_len = 8;
    } else {
        return "The target begins with neither \"/\" nor http:// or https:// and a host";
    }
    const char *host = begin + scheme_len;
    const char *host_end = host;
    while (host_end < end && *host_end != '/' && *host_end != '?') {
        host_end++;
    }
    target->form = JZX__HTTP_ABSOLUTE;
    target->is_https = scheme_len == 8;
    struct jzx__http_slice authority = {(uint32_t)(host - data), (uint32_t)(host_end - host)};
    const char *wrong = jzx__http_host_read(data, authority, &target->host, at_fault);
    return wrong != NULL ? wrong : read_path(data, host_end, end, target, at_fault);
}

const char *jzx__http_target_read(const char *data, struct jzx__http_slice method,
                                  struct jzx__http_slice at, struct jzx__http_target *target,
                                  uint32_t *at_fault) {
    const char *begin = data + at.begin;
    const char *verb = data + method.begin;
    *target = (struct jzx__http_target){.form = JZX__HTTP_ORIGIN, .host.port = -1};
    *at_fault = at.begin;
    if (method.len == 7 && memcmp(verb, "CONNECT", 7) == 0) {
        target->form = JZX__HTTP_AUTHORITY;
        const char *wrong = jzx__http_host_read(data, at, &target->host, at_fault);
        if (wrong == NULL && target->host.port <= 0) {
            wrong = "The target of CONNECT has no port";
        }
        return wrong;
    }
    if (*begin == '/') {
        return read_path(data, begin, begin + at.len, target, at_fault);
    }
    if (at.len == 1 && *begin == '*') {
        target->form = JZX__HTTP_ASTERISK;
        bool is_options = method.len == 7 && memcmp(verb, "OPTIONS", 7) == 0;
        return is_options ? NULL : "Only OPTIONS has the target *";
    }
    return read_absolute(data, at, target, at_fault);
}
