/* SPDX-License-Identifier: MIT */
/* Tables of refused bytes: R(before, rest, status, text) is refused at the first byte of rest. */
#ifndef JZX_HTTP_REFUSALS_H
#define JZX_HTTP_REFUSALS_H

#include "driver.h"
#include "jzx_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct refusal {
    const char *bytes;
    size_t len;
    size_t offset;
    unsigned status;
    const char *text;
};

#define R(before, rest, status, text)                                                              \
    { before rest, sizeof(before rest) - 1, sizeof(before) - 1, status, text }

#define HOST_LINE "Host: a\r\n"
#define HEAD "GET / HTTP/1.1\r\n" HOST_LINE
#define CHUNKED_HEAD "POST / HTTP/1.1\r\n" HOST_LINE "Transfer-Encoding: chunked\r\n\r\n"
#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Shows every bad row by its bytes; also that the refusal does not depend on how bytes arrive. */
static inline void expect_refusals(const struct driver_options *options, const struct refusal *rows,
                                   size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct refusal *row = &rows[i];
        struct driver_result result = driver_run(options, row->bytes, row->len, row->len, 1);
        bool fits = result.end == DRIVER_REFUSED && result.refusal.status == row->status &&
                    result.refused_at == row->offset && strcmp(result.refusal.text, row->text) == 0;
        if (!JZX_EXPECT(fits)) {
            printf("row %zu: %s\ngives %s\n", i, row->bytes, result.text);
        }
        driver_free(&result);
        JZX_EXPECT(driver_agrees(options, row->bytes, row->len, row->len + 1));
    }
}

/* The transcript of bytes that are fine has this piece in it. */
static inline void expect_transcript(const struct driver_options *options, const char *bytes,
                                     const char *piece) {
    size_t len = strlen(bytes);
    struct driver_result result = driver_run(options, bytes, len, len, 1);
    if (!JZX_EXPECT(result.end != DRIVER_REFUSED && strstr(result.text, piece) != NULL)) {
        printf("%s\ngives %s\nwithout %s\n", bytes, result.text, piece);
    }
    driver_free(&result);
    JZX_EXPECT(driver_agrees(options, bytes, len, len + 1));
}

#endif
