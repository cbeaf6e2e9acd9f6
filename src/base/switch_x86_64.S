/* SPDX-License-Identifier: MIT */
/* The switch of stacks on x86-64; base/switch.h says what it promises.
 *
 * What lies at a point, lowest address first; switch.c writes the same for a new stack:
 *     0  mxcsr, 4 bytes; x87 control word, 2 bytes; 2 unused
 *     8  r15, r14, r13, r12, rbx, rbp
 *    56  return address
 * The frame has this shape before and after the stack pointer changes, so that its unwind
 * information holds at each instruction.
 *
 * The way back is a jump, not a return: the processor's return predictor knows the caller of the
 * stack that we leave, which is the wrong one. */

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(JZX__SWITCH_UCONTEXT)

#if defined(__CET__) && (__CET__ & 1)
#define LANDING endbr64
#define JUMP_BACK notrack jmp *%rcx /* to behind a call, where no endbr64 is */
#else
#define LANDING
#define JUMP_BACK jmp *%rcx
#endif

    .text

/* void *jzx__switch(void **from, void *to, void *arg) */
    .globl jzx__switch
    .hidden jzx__switch
    .type jzx__switch, @function
    .p2align 6
jzx__switch:
    .cfi_startproc
    LANDING
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    pushq %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    pushq %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r13, 0
    pushq %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r14, 0
    pushq %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r15, 0
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    stmxcsr (%rsp)
    fnstcw 4(%rsp)

    movq %rsp, (%rdi)
    movq %rsi, %rsp

    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    movq %rdx, %rax
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %r15
    .cfi_adjust_cfa_offset -8
    .cfi_same_value %r15
    popq %r14
    .cfi_adjust_cfa_offset -8
    .cfi_same_value %r14
    popq %r13
    .cfi_adjust_cfa_offset -8
    .cfi_same_value %r13
    popq %r12
    .cfi_adjust_cfa_offset -8
    .cfi_same_value %r12
    popq %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_same_value %rbx
    popq %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_same_value %rbp
    popq %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rcx
    JUMP_BACK
    .cfi_endproc
    .size jzx__switch, . - jzx__switch

/* The outermost frame of a stack (S4). Its rbx is the entry; the argument is what jzx__switch would
 * return. Unwinders look one byte before a return address, so the first one needs a byte of this
 * function before it. */
    .globl jzx__switch_first
    .hidden jzx__switch_first
    .type jzx__switch_start, @function
    .p2align 4
jzx__switch_start:
    .cfi_startproc
    .cfi_undefined %rip
    nop
jzx__switch_first:
    movq %rax, %rdi
    call *%rbx
    ud2
    .cfi_endproc
    .size jzx__switch_start, . - jzx__switch_start

/* Says that indirect branches land on endbr64 here, if the compiler was asked for that; and, by
 * its silence, that shadow stacks are not supported: so the linker leaves them off. */
#if defined(__CET__) && (__CET__ & 1)
    .section .note.gnu.property, "a"
    .p2align 3
    .long 4
    .long 16
    .long 5
    .asciz "GNU"
    .long 0xc0000002
    .long 4
    .long 1
    .long 0
#endif

#endif

    .section .note.GNU-stack, "", @progbits
