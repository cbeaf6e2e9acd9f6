/* SPDX-License-Identifier: MIT */
/*
 * Parses one browser request over and over and prints the rate. From the root of the tree:
 *
 *     gcc -std=c11 -D_GNU_SOURCE -O2 -Ilibs/http/src libs/http/bench/parse.c \
 *         libs/http/src/?*.c -o http_bench && ./http_bench
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "parse.h"

enum { FIELDS_MAX = 64, ROUNDS = 15, REPEATS = 100000 };

static const char request[] =
    "GET /en-US/docs/Web/HTTP/Headers?from=search&q=content-length HTTP/1.1\r\n"
    "Host: developer.example.org\r\n"
    "Connection: keep-alive\r\n"
    "Cache-Control: max-age=0\r\n"
    "sec-ch-ua: \"Chromium\";v=\"124\", \"Google Chrome\";v=\"124\", \"Not-A.Brand\";v=\"99\"\r\n"
    "sec-ch-ua-mobile: ?0\r\n"
    "sec-ch-ua-platform: \"Linux\"\r\n"
    "Upgrade-Insecure-Requests: 1\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/124.0.0.0 Safari/537.36\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,"
    "image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Sec-Fetch-Mode: navigate\r\n"
    "Sec-Fetch-User: ?1\r\n"
    "Sec-Fetch-Dest: document\r\n"
    "Referer: https://developer.example.org/en-US/search?q=content-length\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-US,en;q=0.9,de;q=0.8\r\n"
    "Cookie: session=0f3c9c2b7a5d4e6f8a9b0c1d2e3f4a5b; theme=dark; consent=yes\r\n"
    "\r\n";

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(void) {
    static struct jzx__http_field list[FIELDS_MAX];
    const size_t len = sizeof(request) - 1;
    double rates[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double begin = seconds();
        for (int i = 0; i < REPEATS; i++) {
            struct jzx__http_head head;
            const char *data = request;
            __asm__ volatile("" : "+r"(data) : : "memory");
            jzx__http_head_begin(&head, JZX__HTTP_REQUEST, &jzx__http_limits_default, list,
                                 FIELDS_MAX);
            if (jzx__http_head_parse(&head, data, len) != JZX__HTTP_DONE) {
                printf("refused: %s\n", head.refusal.text);
                return EXIT_FAILURE;
            }
        }
        rates[round] = (double)len * REPEATS / (seconds() - begin) * 1e-9;
    }
    qsort(rates, ROUNDS, sizeof(rates[0]), ascending);
    printf("request of %zu bytes: median %.2f GB/s, best %.2f GB/s of CPU time\n", len,
           rates[ROUNDS / 2], rates[ROUNDS - 1]);
    return EXIT_SUCCESS;
}
