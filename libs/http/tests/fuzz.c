/* SPDX-License-Identifier: MIT */
/* The corpus, and mutations of it by seed. JZX_HTTP_SEED=n runs the mutation of that seed alone. */
#include "fuzz_entry.h"

#include "jzx_test.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 64, FILE_BYTES_MAX = 2048, INPUT_MAX = 4096, EDITS_MAX = 6 };

struct input {
    char bytes[INPUT_MAX];
    size_t len;
};

static struct input corpus[FILES_MAX];
static size_t corpus_count;

static int compare(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name); /* the same in every locale */
}

/* In the order of the names, so that a seed means the same everywhere. */
static void read_corpus(void) {
    struct dirent **names = NULL;
    int count = scandir(JZX_HTTP_CORPUS, &names, NULL, compare);
    for (int i = 0; i < count; i++) {
        if (names[i]->d_name[0] != '.' && corpus_count < FILES_MAX) {
            char path[1024];
            snprintf(path, sizeof(path), "%s/%s", JZX_HTTP_CORPUS, names[i]->d_name);
            FILE *file = fopen(path, "rb");
            if (JZX_EXPECT(file != NULL)) {
                struct input *input = &corpus[corpus_count++];
                input->len = fread(input->bytes, 1, FILE_BYTES_MAX, file);
                fclose(file);
            }
        }
        free(names[i]);
    }
    free(names);
    JZX_EXPECT(corpus_count >= 10);
}

/* splitmix64 */
static uint64_t draw(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t limit) {
    return limit > 0 ? (size_t)(draw(state) % limit) : 0;
}

/* Replaces `removed` bytes at `at`, as far as there is room. */
static void replace(struct input *input, size_t at, size_t removed, const char *text, size_t len) {
    char copy[FILE_BYTES_MAX];
    if (len > sizeof(copy) || input->len - removed + len > INPUT_MAX)
        return;
    memcpy(copy, text, len); /* it may be part of the input */
    memmove(input->bytes + at + len, input->bytes + at + removed, input->len - at - removed);
    memcpy(input->bytes + at, copy, len);
    input->len += len - removed;
}

static void edit(struct input *input, uint64_t *state) {
    static const char *const words[] = {
        "\r\n",
        "\n",
        "\r",
        " ",
        "\t",
        ":",
        ";",
        "0\r\n\r\n",
        "Content-Length: 3\r\n",
        ", ",
        "0x",
        "Transfer-Encoding: chunked\r\n",
        "Host: b\r\n",
        "Connection: close\r\n",
        "\"",
        "%00",
        "HTTP/1.0",
        "FFFFFFFFFFFFFFFF",
        "CONNECT ",
        "\r\n\r\n",
        "+",
        "-",
        "=",
        "\\",
    };
    size_t at = below(state, input->len + 1);
    size_t left = input->len - at;
    size_t count = below(state, left < 16 ? left + 1 : 16);
    const struct input *other = &corpus[below(state, corpus_count)];
    size_t from = below(state, other->len);
    const char *word = words[below(state, sizeof(words) / sizeof(words[0]))];
    switch (below(state, 6)) {
    case 0:
        if (left > 0)
            input->bytes[at] = (char)below(state, 256);
        break;
    case 1: replace(input, at, 0, word, strlen(word)); break;
    case 2: replace(input, at, count, word, strlen(word)); break;
    case 3: replace(input, at, count, "", 0); break;
    case 4: replace(input, at, 0, input->bytes + at, count); break;
    default: replace(input, at, left, other->bytes + from, other->len - from);
    }
}

JZX_TEST(the_corpus_gives_one_result_however_it_is_cut) {
    read_corpus();
    for (size_t i = 0; i < corpus_count; i++) {
        JZX_EXPECT(fuzz_agrees(corpus[i].bytes, corpus[i].len));
    }
    JZX_EXPECT_EQ(LLVMFuzzerTestOneInput((const uint8_t *)"", 0), 0);
}

JZX_TEST(mutations_of_the_corpus_give_one_result_however_they_are_cut) {
    static struct input input;
    read_corpus();
    const char *only = getenv("JZX_HTTP_SEED");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    uint64_t count = only != NULL ? 1 : jzx_test_rounds(10000, 200000);
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t state = seed;
        input = corpus[below(&state, corpus_count)];
        for (size_t edits = 1 + below(&state, EDITS_MAX); edits > 0; edits--) {
            edit(&input, &state);
        }
        if (!JZX_EXPECT(fuzz_agrees(input.bytes, input.len))) {
            printf("JZX_HTTP_SEED=%" PRIu64 "\n", seed);
            return;
        }
    }
}
