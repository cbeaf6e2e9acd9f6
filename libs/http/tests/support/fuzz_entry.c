/* SPDX-License-Identifier: MIT */
/*
 * Parses arbitrary bytes as requests and as each kind of response, with usual and with small
 * limits, whole and in pieces. It aborts if the pieces change the result. The test fuzz.c runs it
 * on the corpus and on mutations of it. For libFuzzer, from the root of the tree:
 *
 *     clang -g -O1 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -Ilibs/http/src \
 *         libs/http/src/?*.c libs/http/tests/support/?*.c -o http_fuzz
 *     ./http_fuzz -max_total_time=60 libs/http/tests/corpus
 */
#include "fuzz_entry.h"

#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES = 4, MODES = 4 };

static const struct jzx__http_limits small_limits = {
    .method_max = 5,
    .target_max = 12,
    .field_line_max = 24,
    .head_max = 100,
    .trailers_max = 30,
    .chunk_line_max = 8,
    .extensions_max = 10,
    .content_max = 20,
};

static bool agrees(const struct driver_options *options, const char *data, size_t len) {
    static const size_t pieces[PIECES] = {1, 2, 3, 7};
    struct driver_result whole = driver_run(options, data, len, len, 1);
    bool agree = whole.consumed <= len && whole.refused_at <= len;
    for (size_t i = 0; i < PIECES && agree; i++) {
        size_t first = len > 0 ? (size_t)(unsigned char)data[len / 2] % (len + 1) : 0;
        struct driver_result cut = driver_run(options, data, len, first, pieces[i]);
        agree = cut.text_len == whole.text_len && cut.consumed == whole.consumed &&
                memcmp(cut.text, whole.text, whole.text_len) == 0;
        driver_free(&cut);
    }
    driver_free(&whole);
    return agree;
}

bool fuzz_agrees(const char *data, size_t len) {
    bool agree = true;
    for (int mode = 0; mode < MODES; mode++) {
        struct driver_options options =
            mode == 0 ? driver_requests() : driver_responses((enum jzx__http_answers)(mode - 1));
        options.closes = true;
        agree = agree && agrees(&options, data, len);
        options.limits = small_limits;
        options.fields_max = 3;
        agree = agree && agrees(&options, data, len);
    }
    return agree;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (!fuzz_agrees((const char *)data, len)) {
        abort();
    }
    return 0;
}
