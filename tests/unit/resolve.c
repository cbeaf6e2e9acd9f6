/* SPDX-License-Identifier: MIT */
#include "resolve/resolve.h"

#include "jzx_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

/* ---- names ---- */

JZX_TEST(a_name_is_a_host_and_a_port) {
    static const struct {
        const char *name;
        const char *host;
        const char *service;
        jzx_err err;
    } cases[] = {
        {"localhost:80", "localhost", "80", JZX_OK},
        {"127.0.0.1:http", "127.0.0.1", "http", JZX_OK},
        {"[::1]:80", "::1", "80", JZX_OK},
        {"[fe80::1%lo]:80", "fe80::1%lo", "80", JZX_OK},
        {NULL, "", "", JZX_ERR_INVALID_ARG},
        {"", "", "", JZX_ERR_INVALID_ARG},
        {"localhost", "", "", JZX_ERR_INVALID_ARG},
        {":80", "", "", JZX_ERR_INVALID_ARG},
        {"localhost:", "", "", JZX_ERR_INVALID_ARG},
        {"::1:80", "", "", JZX_ERR_INVALID_ARG},
        {"[::1:80", "", "", JZX_ERR_INVALID_ARG},
        {"[]:80", "", "", JZX_ERR_INVALID_ARG},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct jzx__question question;
        assert_int_equal(jzx__resolve_parse(cases[i].name, 0, &question), cases[i].err);
        if (cases[i].err != JZX_OK)
            continue;
        assert_string_equal(question.host, cases[i].host);
        assert_string_equal(question.service, cases[i].service);
    }
    struct jzx__question question;
    char name[400];
    memset(name, 'x', sizeof name);
    memcpy(name + sizeof name - 4, ":80", 4);
    assert_int_equal(jzx__resolve_parse(name, 0, &question), JZX_ERR_TOO_LONG);
    assert_int_equal(jzx__resolve_parse("a:1", 4, &question), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx__resolve_parse("a:1", JZX_RESOLVE_V6, &question), JZX_OK);
    assert_int_equal(question.family, AF_INET6);
}

/* ---- a system that the test plays ---- */

#define MANY (JZX_ADDRESSES_MAX + 3u)

static int error_to_return;
static uint32_t to_find;
static uint32_t released;

static int look_up(const char *host, const char *service, const struct addrinfo *hints,
                   struct addrinfo **list) {
    static struct sockaddr_in addresses[MANY];
    static struct addrinfo infos[MANY];
    assert_string_equal(host, "somewhere");
    assert_string_equal(service, "80");
    assert_int_equal(hints->ai_family, AF_INET);
    for (uint32_t i = 0; i < to_find; i++) {
        addresses[i] = (struct sockaddr_in){
            .sin_family = AF_INET, .sin_port = htons(80), .sin_addr = {htonl(0x0a000000u + i)}};
        infos[i] = (struct addrinfo){.ai_family = i == 1 ? AF_UNIX : AF_INET,
                                     .ai_addr = (void *)&addresses[i],
                                     .ai_addrlen = sizeof addresses[i],
                                     .ai_next = i + 1 < to_find ? &infos[i + 1] : NULL};
    }
    *list = to_find == 0 ? NULL : infos;
    errno = EMFILE;
    return error_to_return;
}

static void release(struct addrinfo *list) {
    (void)list;
    released++;
}

static jzx_err ask(uint32_t count, int error, union jzx__resolve_data *data) {
    static const struct jzx__resolve_os played = {look_up, release};
    memset(data, 0, sizeof *data);
    assert_int_equal(jzx__resolve_parse("somewhere:80", JZX_RESOLVE_V4, &data->question), JZX_OK);
    data->question.os = &played;
    to_find = count;
    error_to_return = error;
    released = 0;
    return jzx__resolve_look_up(data);
}

JZX_TEST(addresses_come_as_texts_in_their_order) {
    union jzx__resolve_data data;
    assert_int_equal(ask(3, 0, &data), JZX_OK);
    assert_int_equal(data.found.count, 2); /* one is of no kind that can be used */
    assert_string_equal(data.found.text[0], "10.0.0.0:80");
    assert_string_equal(data.found.text[1], "10.0.0.2:80");
    assert_int_equal(released, 1);
    assert_int_equal(ask(MANY, 0, &data), JZX_OK);
    assert_int_equal(data.found.count, JZX_ADDRESSES_MAX);
    assert_int_equal(released, 1);
}

JZX_TEST(errors_of_the_system_have_a_status, "C+fail") {
    union jzx__resolve_data data;
    assert_int_equal(ask(0, 0, &data), JZX_ERR_NOT_FOUND);
    assert_int_equal(ask(1, EAI_NONAME, &data), JZX_ERR_NOT_FOUND);
    assert_int_equal(ask(1, EAI_AGAIN, &data), JZX_ERR_UNREACHABLE);
    assert_int_equal(ask(1, EAI_MEMORY, &data), JZX_ERR_NO_MEMORY);
    assert_int_equal(ask(1, EAI_SYSTEM, &data), JZX_ERR_NO_DESCRIPTORS);
    assert_int_equal(released, 0);
}
