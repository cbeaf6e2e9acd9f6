/* SPDX-License-Identifier: MIT */
/* First frames for the switches in assembly, and the switch by ucontext. */
#include "base/switch.h"

#include "base/assert.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The ends of a stack may be anywhere; the ABIs want multiples of 16. */
static unsigned char *aligned_top(void *base, size_t size) {
    uintptr_t top = ((uintptr_t)base + size) & ~(uintptr_t)15;
    JZX_ASSERT(size >= JZX__SWITCH_STACK_MIN);
    return (unsigned char *)top;
}

#if defined(JZX__SWITCH_UCONTEXT)

#include <ucontext.h>

/* A point: lies in the frame of the jzx__switch that suspended its stack. */
struct point {
    ucontext_t context;
    void *arg;
};

_Static_assert(sizeof(struct point) <= JZX__SWITCH_STACK_MIN / 2 + 1024, "room for frames");

void *jzx__switch(void **from, void *to, void *arg) {
    struct point here;
    struct point *there = to;
    *from = &here;
    there->arg = arg;
    int failed = swapcontext(&here.context, &there->context);
    JZX_ASSERT(failed == 0);
    return here.arg;
}

/* makecontext passes nothing but int. */
static void call_entry(unsigned entry_low, unsigned entry_high, unsigned there_low,
                       unsigned there_high) {
    uintptr_t entry = (uintptr_t)((uint64_t)entry_high << 32 | entry_low);
    const struct point *there =
        (const struct point *)(uintptr_t)((uint64_t)there_high << 32 | there_low);
    ((void (*)(void *))entry)(there->arg);
    JZX_ASSERT(false && "the entry of a stack returned");
}

void *jzx__switch_prepare(void *base, size_t size, void (*entry)(void *arg)) {
    size_t room = (sizeof(struct point) + 15) & ~(size_t)15;
    unsigned char *top = aligned_top(base, size) - room;
    struct point *first = (struct point *)(void *)top;
    int failed = getcontext(&first->context);
    JZX_ASSERT(failed == 0);
    first->context.uc_stack.ss_sp = base;
    first->context.uc_stack.ss_size = (size_t)(top - (unsigned char *)base);
    first->context.uc_link = NULL;
    uint64_t function = (uint64_t)(uintptr_t)entry;
    uint64_t self = (uint64_t)(uintptr_t)first;
    makecontext(&first->context, (void (*)(void))call_entry, 4, (unsigned)function,
                (unsigned)(function >> 32), (unsigned)self, (unsigned)(self >> 32));
    return first;
}

#else

/* In the .S files: where a new stack begins. */
extern const char jzx__switch_first[];

#if defined(__x86_64__) && !defined(__ILP32__)

struct frame {
    uint32_t mxcsr;
    uint16_t x87;
    uint16_t unused;
    uint64_t r15, r14, r13, r12;
    uint64_t rbx; /* the entry */
    uint64_t rbp; /* 0: no frame is below the first */
    uint64_t return_address;
    uint64_t end[2];
};

_Static_assert(offsetof(struct frame, return_address) == 56, "as switch_x86_64.S has it");

static void fill(struct frame *frame, uint64_t entry) {
    frame->rbx = entry;
    frame->return_address = (uint64_t)(uintptr_t)jzx__switch_first;
    __asm__("stmxcsr %0\n\tfnstcw %1" : "=m"(frame->mxcsr), "=m"(frame->x87));
}

#elif defined(__aarch64__) && !defined(__ILP32__)

struct frame {
    uint64_t x29; /* 0: no frame is below the first */
    uint64_t x30; /* the return address */
    uint64_t x19; /* the entry */
    uint64_t x20_to_x28[9];
    uint64_t d8_to_d15[8];
    uint64_t fpcr;
    uint64_t unused;
};

_Static_assert(sizeof(struct frame) == 176, "as switch_aarch64.S has it");

static void fill(struct frame *frame, uint64_t entry) {
    frame->x19 = entry;
    frame->x30 = (uint64_t)(uintptr_t)jzx__switch_first;
    __asm__("mrs %0, fpcr" : "=r"(frame->fpcr));
}

#else
#error "there is no switch in assembly for this processor: configure with -DJZX_SWITCH=ucontext"
#endif

void *jzx__switch_prepare(void *base, size_t size, void (*entry)(void *arg)) {
    struct frame *frame = (struct frame *)(void *)aligned_top(base, size) - 1;
    memset(frame, 0, sizeof *frame);
    fill(frame, (uint64_t)(uintptr_t)entry);
    return frame;
}

#endif
