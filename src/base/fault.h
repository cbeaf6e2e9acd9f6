/* SPDX-License-Identifier: MIT */
/* Faults of the program (SIGSEGV, SIGBUS, SIGFPE, SIGILL), and abort(), caught by signal handlers:
 * the part that knows the system. The layer above knows whose code ran and where to jump to.
 *
 * Handlers are installed once per process, counted, and put back by the last user. A thread is
 * **guarded** between arm and disarm: it has a stack for the handler, so that an overflow of its
 * own can be handled, and the handler asks the layer above about what happens on it. Faults of
 * other threads go to whoever handled them before.
 *
 * The handler does not jump itself: it returns to a function that does, on the stack of the thread,
 * whatever stack the fault was on: user code may run on one of its own, of any size and place. So
 * the system restores the signal mask, and nothing that follows runs inside a handler.
 * Everything in the handler is async-signal-safe: what it needs to know of the program (where its
 * code is, and libc's mem* and str* functions) is found out when it is installed.
 *
 * F1  a fault is contained only if its code is the program's, or a mem* or str* function of libc
 *     that the program has called: nothing else can be left by a jump without breaking it.
 * F2  a fault in the handler itself is never judged: it ends the process, but for one in the walk
 *     over a broken stack, which ends that walk.
 * F3  what is not contained is seen by the handler that was there before, or by the default action,
 *     as if we were not there. */
#ifndef JZX_BASE_FAULT_H
#define JZX_BASE_FAULT_H

#include "jzx/allocator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JZX__FAULT_STACK_MAX 64u
#define JZX__FAULT_NAME_MAX 64u

/* What happened. */
struct jzx__fault {
    int signal;
    int code; /* si_code */
    uintptr_t address;
    uintptr_t pc;
    uintptr_t sp;
    bool is_overflow;
    uint32_t stack_count;
    void *stack[JZX__FAULT_STACK_MAX]; /* the pc first, then return addresses */

    /* Of the layer above, by look. */
    uint64_t actor;
    char name[JZX__FAULT_NAME_MAX]; /* or "" */
    uint32_t contain;               /* JZX_CONTAIN_* */
    uintptr_t entry;                /* the function of the user's that runs */
    uintptr_t limit;   /* where the stack begins that the user's code runs on, as far as known */
    uintptr_t landing; /* on the thread's own stack: the frame above it stays, all below is free */
    bool in_cleanup;
};

enum jzx__fault_place {
    JZX__FAULT_ELSEWHERE,  /* none of our business */
    JZX__FAULT_IN_RUNTIME, /* there is no way back */
    JZX__FAULT_IN_USER     /* escape leads out */
};

struct jzx__fault_ops {
    /* Where this thread is, and who runs. In the handler. */
    enum jzx__fault_place (*look)(struct jzx__fault *fault);
    /* Jumps out of the user's code, no more in the handler. The fault stays valid until the next
     * one of the thread. */
    void (*escape)(const struct jzx__fault *fault);
};

/* What a thread needs that is guarded: a stack and the record of a fault. */
struct jzx__fault_guard;

/* NULL without memory. The mapper outlives it. */
struct jzx__fault_guard *jzx__fault_guard_create(const struct jzx__fault_ops *ops,
                                                 const jzx_mapper *mapper);
void jzx__fault_guard_destroy(struct jzx__fault_guard *guard);

/* The calling thread is guarded until disarm, which puts back what was there. Nests, with another
 * guard. NULL does nothing, in all three. */
void jzx__fault_arm(struct jzx__fault_guard *guard);
void jzx__fault_disarm(struct jzx__fault_guard *guard);

/* The floating point environment, as it is now, is the one to have after a fault. */
void jzx__fault_note_environment(struct jzx__fault_guard *guard);

/* A landing for faults of what the caller calls from now on, until it returns: what lies below its
 * frame. */
uintptr_t jzx__fault_landing(void);

/* Handlers for what JZX_CONTAIN_* asks for. False if the system or the program cannot have them: a
 * program without a dynamic linker does not know what code is libc's. */
bool jzx__fault_install(uint32_t contain);

/* False if somebody has replaced a handler of ours meanwhile: then that one stays. */
bool jzx__fault_uninstall(uint32_t contain);

#endif
