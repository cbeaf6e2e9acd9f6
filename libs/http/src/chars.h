/* SPDX-License-Identifier: MIT */
/*
 * Classes of bytes, and the two scans in which a parser spends its time. A table answers for one
 * byte. Field values are long, so their scan looks at eight bytes at once and asks the table only
 * about the byte that may end the value.
 */
#ifndef JZX_HTTP_CHARS_H
#define JZX_HTTP_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum jzx__http_class {
    JZX__HTTP_TOKEN = 1,      /* tchar, RFC 9110 section 5.6.2 */
    JZX__HTTP_VALUE = 2,      /* field-vchar, SP and HTAB, RFC 9110 section 5.5 */
    JZX__HTTP_TARGET = 4,     /* RFC 3986, and []{}|^` as browsers send them (decision 35) */
    JZX__HTTP_UNRESERVED = 8, /* RFC 3986 section 2.3 */
    JZX__HTTP_HEX = 16,
    JZX__HTTP_DIGIT = 32,
};

extern const uint8_t jzx__http_classes[256];

static inline bool jzx__http_is(char byte, unsigned classes) {
    return (jzx__http_classes[(unsigned char)byte] & classes) != 0;
}

static inline bool jzx__http_is_space(char byte) {
    return byte == ' ' || byte == '\t';
}

static inline char jzx__http_lower(char byte) {
    return byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
}

/* Compares with a word in lower case. */
static inline bool jzx__http_equals(const char *text, size_t len, const char *word,
                                    size_t word_len) {
    if (len != word_len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (jzx__http_lower(text[i]) != word[i]) {
            return false;
        }
    }
    return true;
}

#define JZX__HTTP_EQUALS(text, len, word) jzx__http_equals(text, len, word, sizeof(word) - 1)

/* The first byte in [at, end) that has none of the classes, or end. */
static inline const char *jzx__http_skip(const char *at, const char *end, unsigned classes) {
    for (; end - at >= 4; at += 4) {
        if (!jzx__http_is(at[0], classes))
            return at;
        if (!jzx__http_is(at[1], classes))
            return at + 1;
        if (!jzx__http_is(at[2], classes))
            return at + 2;
        if (!jzx__http_is(at[3], classes))
            return at + 3;
    }
    while (at < end && jzx__http_is(*at, classes)) {
        at++;
    }
    return at;
}

/*
 * As jzx__http_skip for JZX__HTTP_VALUE. A value ends at a byte below 32 that is not HTAB, or at
 * DEL. In a word of eight bytes `(word - n) & ~word` has the top bit of each byte that is less than
 * n, for n <= 128. A borrow can set the bit of a later byte by mistake, but never that of an
 * earlier one, so the first bit set is right. XOR with DEL turns "is DEL" into "is less than 1".
 */
static inline const char *jzx__http_skip_value(const char *at, const char *end) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        uint64_t not_del = word ^ (ones * 0x7f);
        uint64_t found = ((word - ones * 0x20) & ~word) | ((not_del - ones) & ~not_del);
        found &= ones * 0x80;
        if (found == 0) {
            at += 8;
            continue;
        }
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        at += __builtin_ctzll(found) / 8;
#endif
        const char *word_end = end - at < 8 ? end : at + 8;
        while (at < word_end && jzx__http_is(*at, JZX__HTTP_VALUE)) {
            at++; /* HTAB and bytes behind it; on big-endian machines all before the end */
        }
        if (at < word_end) {
            return at;
        }
    }
    while (at < end && jzx__http_is(*at, JZX__HTTP_VALUE)) {
        at++;
    }
    return at;
}

#endif
