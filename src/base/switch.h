/* SPDX-License-Identifier: MIT */
/* Switching between stacks of one thread.
 *
 * A **point** is where a suspended stack goes on: the address of what jzx__switch saved on that
 * stack, below all its frames. Nothing else describes a stack here; whoever suspends a stack keeps
 * its point. The machine code is in switch_x86_64.S and switch_aarch64.S; switch.c has the portable
 * implementation by ucontext, which also saves the signal mask and so makes two system calls per
 * switch. -DJZX_SWITCH=asm|ucontext chooses when the library is configured.
 *
 * S1  A point is used once: jzx__switch to it makes it invalid.
 * S2  Each stack has its own callee-saved registers and its own floating point control state
 *     (rounding, masked exceptions: mxcsr and the x87 control word, or fpcr). A new stack begins
 *     with that of the thread which calls jzx__switch_prepare.
 * S3  Everything else belongs to the thread and stays when stacks are switched: errno,
 *     thread-locals, the signal mask (by ucontext: of the side). The compiler does not know that a
 *     call may return on another thread, so the address of a thread-local that was computed before
 *     a switch must not be used after it: read thread-locals through a function with
 *     JZX_ACROSS_WAIT (compiler.h).
 * S4  The outermost frame of a stack says so in its unwind information, and its frame pointer is 0:
 *     debuggers, profilers and _Unwind_Backtrace end there, whether the stack runs or is suspended.
 *
 * Rejected: setjmp and longjmp (no way to a new stack, and a fortified longjmp aborts), one
 * implementation by ucontext alone (eight times as slow), saving the signal mask (no code of ours
 * changes it across a switch). Shadow stacks: a switch would have to switch those, too, and to map
 * one per stack; the build refuses them (cmake/jzx_switch.cmake). */
#ifndef JZX_BASE_SWITCH_H
#define JZX_BASE_SWITCH_H

#include <stddef.h>

/* Suspends the running stack, stores its point in *from, and goes on at the point `to`. `arg` is
 * what the jzx__switch that suspended that stack returns there, or the argument of its entry at
 * the first time. Returns when somebody switches to *from. */
void *jzx__switch(void **from, void *to, void *arg);

/* The smallest stack that jzx__switch_prepare takes. */
#define JZX__SWITCH_STACK_MIN 8192u

/* The point of a new stack in the `size` bytes at base: the first switch to it calls entry(arg),
 * which must not return. A stack that is done switches away and is not resumed. Writes at the upper
 * end of the stack: 176 bytes or less, by ucontext up to 4.7 KB. */
void *jzx__switch_prepare(void *base, size_t size, void (*entry)(void *arg));

#endif
