/* SPDX-License-Identifier: MIT */
/* The toolbox for a Cortex-M3 in an emulator: the vector table, the start, and the end, which tells
 * the emulator the result by a semihosting call. */
#include "base/assert.h"

#include "toolbox.h"

#include <stdint.h>

#define SYS_EXIT_EXTENDED 0x20u
#define APPLICATION_EXIT 0x20026u
#define FAULT 101

extern uint32_t board_bss_begin[];
extern uint32_t board_bss_end[];
extern uint32_t board_stack_top[];

_Noreturn static void leave(uint32_t status) {
    const uint32_t block[2] = {APPLICATION_EXIT, status};
    register uint32_t r0 __asm__("r0") = SYS_EXIT_EXTENDED;
    register const uint32_t *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xAB" : : "r"(r0), "r"(r1) : "memory");
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

_Noreturn static void fault(void) {
    leave(FAULT);
}

_Noreturn static void reset(void) {
    for (volatile uint32_t *word = board_bss_begin; word < board_bss_end; word++)
        *word = 0;
    leave((uint32_t)run_program());
}

struct vectors {
    uint32_t *stack;
    void (*handlers[15])(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    board_stack_top, {reset, fault, fault, fault, fault, fault}};
