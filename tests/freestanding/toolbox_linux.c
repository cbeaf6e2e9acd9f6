/* SPDX-License-Identifier: MIT */
/* The toolbox for a Linux process without libc: the start, the end, and the functions that
 * compilers call by themselves. */
#include "base/assert.h"

#include "toolbox.h"

#include <stddef.h>

_Noreturn static void leave(long status) {
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(231L), "D"(status) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x0 __asm__("x0") = status;
    register long x8 __asm__("x8") = 94;
    __asm__ volatile("svc 0" : : "r"(x0), "r"(x8) : "memory");
#else
#error "no toolbox for this machine"
#endif
    for (;;)
        continue;
}

void jzx__assert_failed(const char *file, int line, const char *text) {
    (void)file;
    (void)line;
    (void)text;
    leave(TOOLBOX_INVARIANT);
}

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

__attribute__((used)) _Noreturn static void begin(void) {
    leave(run_program());
}

/* The stack is aligned for a jump here, not for a call: so a call is made. */
#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n    xor %ebp, %ebp\n    call begin\n");
#else
__asm__(".globl _start\n_start:\n    bl begin\n");
#endif
