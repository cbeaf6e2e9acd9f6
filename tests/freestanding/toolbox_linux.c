/* SPDX-License-Identifier: MIT */
/* The toolbox for a Linux process without libc: the start and the end. */
#include "base/assert.h"

#include "toolbox.h"

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

void jzx__wrong_use(const char *text) {
    (void)text;
    leave(TOOLBOX_INVARIANT);
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
