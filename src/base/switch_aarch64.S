/* SPDX-License-Identifier: MIT */
/* The switch of stacks on AArch64; base/switch.h says what it promises.
 *
 * What lies at a point, lowest address first; switch.c writes the same for a new stack:
 *     0  x29, x30
 *    16  x19 to x28
 *    96  d8 to d15: the lower halves of v8 to v15 are callee-saved
 *   160  fpcr, 8 unused
 * The frame has this shape before and after the stack pointer changes, so that its unwind
 * information holds at each instruction. */

#if defined(__aarch64__) && !defined(__ILP32__) && !defined(JZX__SWITCH_UCONTEXT)

#define FRAME 176
#define LANDING hint #34 /* bti c; no operation where there is none */

    .text

/* void *jzx__switch(void **from, void *to, void *arg) */
    .globl jzx__switch
    .hidden jzx__switch
    .type jzx__switch, %function
    .p2align 6
jzx__switch:
    .cfi_startproc
    LANDING
    sub sp, sp, #FRAME
    .cfi_def_cfa_offset FRAME
    stp x29, x30, [sp, #0]
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    stp x19, x20, [sp, #16]
    .cfi_rel_offset x19, 16
    .cfi_rel_offset x20, 24
    stp x21, x22, [sp, #32]
    .cfi_rel_offset x21, 32
    .cfi_rel_offset x22, 40
    stp x23, x24, [sp, #48]
    .cfi_rel_offset x23, 48
    .cfi_rel_offset x24, 56
    stp x25, x26, [sp, #64]
    .cfi_rel_offset x25, 64
    .cfi_rel_offset x26, 72
    stp x27, x28, [sp, #80]
    .cfi_rel_offset x27, 80
    .cfi_rel_offset x28, 88
    stp d8, d9, [sp, #96]
    .cfi_rel_offset d8, 96
    .cfi_rel_offset d9, 104
    stp d10, d11, [sp, #112]
    .cfi_rel_offset d10, 112
    .cfi_rel_offset d11, 120
    stp d12, d13, [sp, #128]
    .cfi_rel_offset d12, 128
    .cfi_rel_offset d13, 136
    stp d14, d15, [sp, #144]
    .cfi_rel_offset d14, 144
    .cfi_rel_offset d15, 152
    mrs x9, fpcr
    str x9, [sp, #160]

    mov x10, sp
    str x10, [x0]
    mov sp, x1

    ldr x10, [sp, #160]
    cmp x9, x10 /* writing fpcr is slow, and rarely needed */
    b.eq 1f
    msr fpcr, x10
1:
    mov x0, x2
    ldp d14, d15, [sp, #144]
    ldp d12, d13, [sp, #128]
    ldp d10, d11, [sp, #112]
    ldp d8, d9, [sp, #96]
    ldp x27, x28, [sp, #80]
    ldp x25, x26, [sp, #64]
    ldp x23, x24, [sp, #48]
    ldp x21, x22, [sp, #32]
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp, #0]
    add sp, sp, #FRAME
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    .cfi_restore x19
    .cfi_restore x20
    .cfi_restore x21
    .cfi_restore x22
    .cfi_restore x23
    .cfi_restore x24
    .cfi_restore x25
    .cfi_restore x26
    .cfi_restore x27
    .cfi_restore x28
    .cfi_restore d8
    .cfi_restore d9
    .cfi_restore d10
    .cfi_restore d11
    .cfi_restore d12
    .cfi_restore d13
    .cfi_restore d14
    .cfi_restore d15
    ret
    .cfi_endproc
    .size jzx__switch, . - jzx__switch

/* The outermost frame of a stack (S4). Its x19 is the entry; the argument is what jzx__switch would
 * return. Unwinders look one instruction before a return address, so the first one needs an
 * instruction of this function before it. */
    .globl jzx__switch_first
    .hidden jzx__switch_first
    .type jzx__switch_start, %function
    .p2align 4
jzx__switch_start:
    .cfi_startproc
    .cfi_undefined x30
    nop
jzx__switch_first:
    blr x19
    brk #1
    .cfi_endproc
    .size jzx__switch_start, . - jzx__switch_start

/* Says that indirect calls land on bti here, if the compiler was asked for that. */
#if defined(__ARM_FEATURE_BTI_DEFAULT)
    .section .note.gnu.property, "a"
    .p2align 3
    .long 4
    .long 16
    .long 5
    .asciz "GNU"
    .long 0xc0000000
    .long 4
    .long 1
    .long 0
#endif

#endif

    .section .note.GNU-stack, "", %progbits
