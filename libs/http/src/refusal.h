/* SPDX-License-Identifier: MIT */
/*
 * How a parser answers. A refusal is final: the parser repeats it, and the connection has to be
 * closed after the answer, because nobody knows where the next message begins.
 */
#ifndef JZX_HTTP_REFUSAL_H
#define JZX_HTTP_REFUSAL_H

#include <stddef.h>
#include <stdint.h>

enum jzx__http_step {
    JZX__HTTP_MORE, /* all bytes are fine so far, and the end is not among them */
    JZX__HTTP_DONE,
    JZX__HTTP_REFUSED,
};

struct jzx__http_refusal {
    const char *text; /* static; NULL: none */
    size_t offset;    /* of the byte at fault */
    uint16_t status;  /* for the answer to a request */
};

/* Fills in a refusal, and returns JZX__HTTP_REFUSED. */
__attribute__((cold)) static inline enum jzx__http_step
jzx__http_refuse(struct jzx__http_refusal *refusal, unsigned status, const char *text,
                 size_t offset) {
    refusal->status = (uint16_t)status;
    refusal->text = text;
    refusal->offset = offset;
    return JZX__HTTP_REFUSED;
}

#endif
