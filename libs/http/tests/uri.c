/* SPDX-License-Identifier: MIT */
/* The four forms of a target, and hosts. */
#include "refusals.h"

static const char *read_target(const char *method, const char *text,
                               struct jzx__http_target *target, char *bytes) {
    uint32_t fault = 0;
    size_t method_len = strlen(method);
    size_t len = strlen(text);
    memcpy(bytes, method, method_len);
    memcpy(bytes + method_len, text, len);
    const char *wrong = jzx__http_target_read(
        bytes, (struct jzx__http_slice){0, (uint32_t)method_len},
        (struct jzx__http_slice){(uint32_t)method_len, (uint32_t)len}, target, &fault);
    JZX_EXPECT(wrong == NULL || (fault >= method_len && fault <= method_len + len));
    return wrong;
}

static bool is_slice(const char *bytes, struct jzx__http_slice slice, const char *text) {
    return slice.len == strlen(text) && memcmp(bytes + slice.begin, text, slice.len) == 0;
}

JZX_TEST(a_target_has_one_of_four_forms) {
    static const struct {
        const char *method, *text;
        enum jzx__http_form form;
        const char *host;
        int port;
        const char *path, *query;
    } rows[] = {
        {"GET", "/", JZX__HTTP_ORIGIN, "", -1, "/", ""},
        {"GET", "/a/%41%2fb?c=%&d?e", JZX__HTTP_ORIGIN, "", -1, "/a/%41%2fb", "c=%&d?e"},
        {"GET", "//a:b@c/?", JZX__HTTP_ORIGIN, "", -1, "//a:b@c/", ""},
        {"GET", "/f[0]={x|y^z}`", JZX__HTTP_ORIGIN, "", -1, "/f[0]={x|y^z}`", ""},
        {"GET", "http://a", JZX__HTTP_ABSOLUTE, "a", -1, "", ""},
        {"PUT", "HTTP://a:80/b?c", JZX__HTTP_ABSOLUTE, "a", 80, "/b", "c"},
        {"GET", "https://[1::2]:/b", JZX__HTTP_ABSOLUTE, "[1::2]", -1, "/b", ""},
        {"OPTIONS", "http://a?b", JZX__HTTP_ABSOLUTE, "a", -1, "", "b"},
        {"OPTIONS", "*", JZX__HTTP_ASTERISK, "", -1, "", ""},
        {"CONNECT", "a.b:443", JZX__HTTP_AUTHORITY, "a.b", 443, "", ""},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct jzx__http_target target;
        char bytes[128];
        JZX_EXPECT(read_target(rows[i].method, rows[i].text, &target, bytes) == NULL);
        bool fits = target.form == rows[i].form && is_slice(bytes, target.path, rows[i].path) &&
                    is_slice(bytes, target.query, rows[i].query) &&
                    is_slice(bytes, target.host.name, rows[i].host) &&
                    target.host.port == rows[i].port &&
                    target.is_https == (strncmp(rows[i].text, "https", 5) == 0);
        if (!JZX_EXPECT(fits)) {
            printf("%s\n", rows[i].text);
        }
    }
}

JZX_TEST(targets_of_no_form_or_of_another_method_are_refused) {
    static const char *const rows[][2] = {
        {"GET", "*"},          {"CONNECT", "/"},      {"CONNECT", "a"},        {"CONNECT", "a:0"},
        {"CONNECT", "a:"},     {"CONNECT", "*"},      {"GET", "a:443"},        {"GET", "a"},
        {"GET", "**"},         {"GET", "ftp://a/"},   {"GET", "http:///b"},    {"GET", "http://"},
        {"GET", "https://"},   {"GET", "http:/a/b"},  {"GET", "/%"},           {"GET", "/%4"},
        {"GET", "/%4g"},       {"GET", "/%00"},       {"GET", "/a%0d%0ab"},    {"GET", "/%7F"},
        {"GET", "http://u@a"}, {"GET", "http://a:x"}, {"GET", "http://a%41/"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct jzx__http_target target;
        char bytes[128];
        if (!JZX_EXPECT(read_target(rows[i][0], rows[i][1], &target, bytes) != NULL)) {
            printf("%s %s\n", rows[i][0], rows[i][1]);
        }
    }
}

JZX_TEST(hosts_are_names_or_addresses_with_a_port_or_without) {
    static const char *const valid[] = {
        "a",
        "a.b",
        "A-b_c~d.",
        "127.0.0.1",
        "a:",
        "a:0",
        "a:00000080",
        "[::]",
        "[::1]:65535",
        "[1::]",
        "[1:2::3]",
        "[1:2:3:4:5:6:7:8]",
        "[::1.2.3.4]",
        "[1:2:3:4:5:6:1.2.3.4]",
        "[1:2:3:4:5:6:7::]",
        "[fe80::ABCD]",
    };
    static const char *const invalid[] = {
        "",
        ":",
        ":80",
        "a:b",
        "a:65536",
        "a:99999999999",
        "a b",
        "a,b",
        "a/",
        "u@a",
        "%41",
        "a\\b",
        "[",
        "[]",
        "[:]",
        "[1]",
        "[:::]",
        "[1::2::3]",
        "[12345::]",
        "[1:2:3:4:5:6:7]",
        "[1:2:3:4:5:6:7:8:9]",
        "[::g]",
        "[1:2:3:4:5:6:7:8::]",
        "[::1.2.3]",
        "[::1.2.3.256]",
        "[::1.2.3.4.5]",
        "[1:]",
        "[::1]x",
        "[::1",
        "[v1.a]",
        "a[::1]",
        "[::1.2.3.4:1]",
        "[::1%25eth0]",
        "[1:2:3:4:5:6:7:1.2.3.4]",
    };
    struct jzx__http_host host;
    uint32_t fault;
    for (size_t i = 0; i < ARRAY_COUNT(valid); i++) {
        struct jzx__http_slice at = {0, (uint32_t)strlen(valid[i])};
        if (!JZX_EXPECT(jzx__http_host_read(valid[i], at, &host, &fault) == NULL)) {
            printf("%s\n", valid[i]);
        }
    }
    for (size_t i = 0; i < ARRAY_COUNT(invalid); i++) {
        struct jzx__http_slice at = {0, (uint32_t)strlen(invalid[i])};
        if (!JZX_EXPECT(jzx__http_host_read(invalid[i], at, &host, &fault) != NULL)) {
            printf("%s\n", invalid[i]);
        }
    }
}
