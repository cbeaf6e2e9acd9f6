/* SPDX-License-Identifier: MIT */
/* How the tools are spoken to: AddressSanitizer by functions that its runtime brings along,
 * Valgrind by a sequence of instructions that does nothing elsewhere. Neither needs a header. */
#include "base/memcheck.h"

#include <stdint.h>

/* NULL if the program has no such runtime. */
__attribute__((weak)) void __asan_poison_memory_region(const volatile void *ptr, size_t size);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void *ptr, size_t size);

static bool has_asan(void) {
    return __asan_poison_memory_region != NULL && __asan_unpoison_memory_region != NULL;
}

/* ---- Valgrind ---- */

enum request { MAKE_NOACCESS = 0x4D430000, MAKE_DEFINED = 0x4D430002 };

/* What the tool answers, or 0: of Valgrind's tools only memcheck knows these requests. */
static uintptr_t ask_memcheck(enum request request, const void *ptr, size_t size) {
    const uintptr_t words[6] = {(uintptr_t)request, (uintptr_t)ptr, size};
    uintptr_t answer = 0;
#if defined(__x86_64__)
    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(words)
                     : "cc", "memory");
#elif defined(__aarch64__)
    register uintptr_t result __asm__("x3") = 0;
    register const uintptr_t *block __asm__("x4") = words;
    __asm__ volatile("ror x12, x12, #3\n\tror x12, x12, #13\n\t"
                     "ror x12, x12, #51\n\tror x12, x12, #61\n\t"
                     "orr x10, x10, x10"
                     : "+r"(result)
                     : "r"(block)
                     : "cc", "memory");
    answer = result;
#endif
    return answer;
}

static bool has_valgrind(void) {
    char byte = 0;
    return ask_memcheck(MAKE_DEFINED, &byte, sizeof byte) != 0;
}

bool jzx__memcheck_is_on(void) {
    return has_asan() || has_valgrind();
}

void jzx__memcheck_hide(const void *ptr, size_t size) {
    if (has_asan())
        __asan_poison_memory_region(ptr, size);
    else
        ask_memcheck(MAKE_NOACCESS, ptr, size);
}

void jzx__memcheck_show(const void *ptr, size_t size) {
    if (has_asan())
        __asan_unpoison_memory_region(ptr, size);
    else
        ask_memcheck(MAKE_DEFINED, ptr, size);
}
