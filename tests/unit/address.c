/* SPDX-License-Identifier: MIT */
#include "net/address.h"

#include "jzx_test.h"

#include <string.h>

static const char *round_trip(const char *text) {
    static char out[JZX__ADDRESS_TEXT_MAX];
    struct jzx__address address;
    if (jzx__address_parse(text, &address) != JZX_OK)
        return "refused";
    return jzx__address_format(&address, out, sizeof out) == JZX_OK ? out : "not formatted";
}

JZX_TEST(addresses_are_read_and_written_the_same) {
    static const char *const texts[] = {"127.0.0.1:5555", "0.0.0.0:0", "255.255.255.255:65535",
                                        "[::]:0",         "[::1]:80",  "[2001:db8::1]:443",
                                        "[fe80::1%1]:80"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        JZX_EXPECT(strcmp(round_trip(texts[i]), texts[i]) == 0);
    JZX_EXPECT(strcmp(round_trip("[::FFFF:1.2.3.4]:7"), "[::ffff:1.2.3.4]:7") == 0);
    JZX_EXPECT(strcmp(round_trip("1.2.3.4:00080"), "1.2.3.4:80") == 0);
}

JZX_TEST(what_is_no_address_is_refused_and_nothing_is_written) {
    static const char *const texts[] = {"",
                                        ":",
                                        ":80",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        "1.2.3:80",
                                        "1.2.3.4:-1",
                                        "1.2.3.4:65536",
                                        "1.2.3.4: 80",
                                        "1.2.3.4:80 ",
                                        "::1:80",
                                        "[::1]",
                                        "[::1]80",
                                        "[::1]:",
                                        "[::1:80",
                                        "[1.2.3.4]:1",
                                        "[]:1",
                                        "[::1%]:1",
                                        "[::1%nosuch]:1",
                                        "localhost:80",
                                        "1.2.3.4:99999999999999999999",
                                        "[::1%99999999999999]:1"};
    struct jzx__address address;
    memset(&address, 0x5A, sizeof address);
    const struct jzx__address before = address;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        JZX_EXPECT_EQ(jzx__address_parse(texts[i], &address), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx__address_parse(NULL, &address), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(memcmp(&before, &address, sizeof address) == 0);
    char longest[400];
    memset(longest, '1', sizeof longest);
    memcpy(longest + sizeof longest - 4, ":80", 4);
    JZX_EXPECT_EQ(jzx__address_parse(longest, &address), JZX_ERR_INVALID_ARG);
}

JZX_TEST(unix_addresses_are_paths_or_abstract_names) {
    char text[JZX__ADDRESS_TEXT_MAX];
    char longest[110];
    struct jzx__address address;
    JZX_EXPECT_EQ(jzx__address_parse_unix("/run/x.sock", &address), JZX_OK);
    JZX_EXPECT_EQ(jzx__address_format(&address, text, sizeof text), JZX_OK);
    JZX_EXPECT(strcmp(text, "/run/x.sock") == 0);
    JZX_EXPECT_EQ(jzx__address_parse_unix("@name", &address), JZX_OK);
    JZX_EXPECT_EQ(address.size, offsetof(struct sockaddr_un, sun_path) + 5);
    JZX_EXPECT_EQ(address.local.sun_path[0], '\0');
    JZX_EXPECT_EQ(jzx__address_format(&address, text, sizeof text), JZX_OK);
    JZX_EXPECT(strcmp(text, "@name") == 0);
    memset(longest, 'a', sizeof longest);
    longest[108] = '\0';
    JZX_EXPECT_EQ(jzx__address_parse_unix(longest, &address), JZX_ERR_TOO_LONG);
    longest[0] = '@';
    JZX_EXPECT_EQ(jzx__address_parse_unix(longest, &address), JZX_OK);
    JZX_EXPECT_EQ(jzx__address_format(&address, text, sizeof text), JZX_OK);
    JZX_EXPECT(strcmp(text, longest) == 0);
    longest[107] = '\0';
    longest[0] = '/';
    JZX_EXPECT_EQ(jzx__address_parse_unix(longest, &address), JZX_OK);
    JZX_EXPECT_EQ(jzx__address_parse_unix("", &address), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx__address_parse_unix(NULL, &address), JZX_ERR_INVALID_ARG);
    address = (struct jzx__address){.local = {.sun_family = AF_UNIX},
                                    .size = offsetof(struct sockaddr_un, sun_path)};
    JZX_EXPECT_EQ(jzx__address_format(&address, text, sizeof text), JZX_OK);
    JZX_EXPECT(strcmp(text, "") == 0);
}

JZX_TEST(an_address_that_does_not_fit_leaves_the_text_alone) {
    char text[16] = "untouched";
    struct jzx__address address;
    JZX_EXPECT_EQ(jzx__address_parse("127.0.0.1:5555", &address), JZX_OK);
    JZX_EXPECT_EQ(jzx__address_format(&address, text, 14), JZX_ERR_TOO_LONG);
    JZX_EXPECT(strcmp(text, "untouched") == 0);
    JZX_EXPECT_EQ(jzx__address_format(&address, text, 15), JZX_OK);
    JZX_EXPECT(strcmp(text, "127.0.0.1:5555") == 0);
    address.any.sa_family = AF_PACKET;
    JZX_EXPECT_EQ(jzx__address_format(&address, text, sizeof text), JZX_ERR_UNSUPPORTED);
}
