/* SPDX-License-Identifier: MIT */
/* The functions that compilers call by themselves, for every toolbox. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int byte, size_t size);
void *memmove(void *to, const void *from, size_t size);
int memcmp(const void *a, const void *b, size_t size);

/* The loops are volatile, so that the compiler does not make calls of these functions of them. */
void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    volatile char *t = to;
    const char *f = from;
    for (size_t i = 0; i < size; i++)
        t[i] = f[i];
    return to;
}

void *memset(void *to, int byte, size_t size) {
    volatile char *t = to;
    for (size_t i = 0; i < size; i++)
        t[i] = (char)byte;
    return to;
}

void *memmove(void *to, const void *from, size_t size) {
    volatile char *t = to;
    const char *f = from;
    if ((const char *)to < f)
        return memcpy(to, from, size);
    for (size_t i = size; i-- > 0;)
        t[i] = f[i];
    return to;
}

int memcmp(const void *a, const void *b, size_t size) {
    const unsigned char *x = a;
    const unsigned char *y = b;
    for (size_t i = 0; i < size; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}
