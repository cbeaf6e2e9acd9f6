/* SPDX-License-Identifier: MIT */
/* The tests of base/switch.h, for each implementation of it: the files that include this one say
 * which. Without CMocka, too: JZX_EXPECT and JZX_EXPECT_EQ are all that is needed. */
#ifndef JZX_UNIT_SWITCH_CASES_H
#define JZX_UNIT_SWITCH_CASES_H

#include "base/switch.h"
#include "base/switch_side.h"

#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#if defined(JZX__SWITCH_ASAN) || defined(JZX__HAS_TSAN)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* ---- a stack and what runs on it ---- */

/* DEPTH frames fit, each with a ucontext_t where a compiler inlines the switch into it. */
#define STACK_SIZE ((size_t)4 << 20)

struct fiber {
    unsigned char *base;
    void *point;
    struct jzx__switch_side side;
    void (*body)(struct fiber *fiber, void *arg);
    void *back; /* the point of the side that resumed it */
    struct jzx__switch_side main;
    uint64_t count; /* for the bodies */
    bool is_done;
};

/* What the resuming side gets; returns what that one sends next. */
static void *suspend(struct fiber *fiber, void *value) {
    jzx__switch_before(&fiber->side, &fiber->main);
    void *arg = jzx__switch(&fiber->point, fiber->back, value);
    jzx__switch_after(&fiber->side, &fiber->main);
    return arg;
}

/* Two words on the way in: which fiber, and its argument. */
struct start {
    struct fiber *fiber;
    void *arg;
};

static void run_body(void *arg) {
    struct start start = *(struct start *)arg;
    struct fiber *fiber = start.fiber;
    jzx__switch_after(&fiber->side, &fiber->main);
    fiber->body(fiber, start.arg);
    fiber->is_done = true;
    jzx__switch_before_last(&fiber->side, &fiber->main);
    jzx__switch(&fiber->point, fiber->back, NULL);
}

static void fiber_create(struct fiber *fiber, void (*body)(struct fiber *fiber, void *arg)) {
    memset(fiber, 0, sizeof *fiber);
    fiber->base = malloc(STACK_SIZE);
    if (fiber->base == NULL)
        abort();
    fiber->body = body;
    jzx__switch_side_init_thread(&fiber->main);
    jzx__switch_side_init(&fiber->side, fiber->base, STACK_SIZE);
    fiber->point = jzx__switch_prepare(fiber->base, STACK_SIZE, run_body);
}

static void fiber_destroy(struct fiber *fiber) {
    jzx__switch_side_deinit(&fiber->side);
    free(fiber->base);
}

static void *resume(struct fiber *fiber, void *arg) {
    jzx__switch_before(&fiber->main, &fiber->side);
    void *value = jzx__switch(&fiber->back, fiber->point, arg);
    jzx__switch_after(&fiber->main, &fiber->side);
    return value;
}

static void *start(struct fiber *fiber, void *arg) {
    struct start start = {fiber, arg};
    return resume(fiber, &start);
}

static void *number(uint64_t value) {
    return (void *)(uintptr_t)value;
}

/* ---- arguments and values ---- */

static void add_up(struct fiber *fiber, void *arg) {
    uint64_t sum = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < 3; i++)
        sum += (uint64_t)(uintptr_t)suspend(fiber, number(sum));
    fiber->count = sum;
}

static inline void case_a_new_stack_gets_its_argument_and_values_pass_both_ways(void) {
    struct fiber fiber;
    fiber_create(&fiber, add_up);
    JZX_EXPECT_EQ(start(&fiber, number(1)), 1);
    JZX_EXPECT_EQ(resume(&fiber, number(10)), 11);
    JZX_EXPECT_EQ(resume(&fiber, number(100)), 111);
    JZX_EXPECT(!fiber.is_done);
    JZX_EXPECT_EQ(resume(&fiber, number(1000)), 0);
    JZX_EXPECT(fiber.is_done);
    JZX_EXPECT_EQ(fiber.count, 1111);
    fiber_destroy(&fiber);
}

static void note_alignment(struct fiber *fiber, void *arg) {
    _Alignas(16) volatile char aligned[16];
    aligned[0] = 0;
    fiber->count = ((uintptr_t)__builtin_frame_address(0) | (uintptr_t)aligned) & 15;
    (void)arg;
}

static inline void case_a_new_stack_is_aligned_wherever_it_ends(void) {
    for (size_t less = 0; less < 64; less += 8) {
        struct fiber fiber;
        fiber_create(&fiber, note_alignment);
        fiber.point = jzx__switch_prepare(fiber.base, STACK_SIZE - less, run_body);
        start(&fiber, NULL);
        JZX_EXPECT(fiber.is_done);
        JZX_EXPECT_EQ(fiber.count, 0);
        fiber_destroy(&fiber);
    }
}

/* ---- registers ---- */

/* Gives each callee-saved register its own value, derived from seed, switches, and returns 0 if all
 * of them are as they were. */
uint64_t switch_probe(void **from, void *to, uint64_t seed);

#if defined(__x86_64__)
#define SET(reg, n) "    leaq " #n "(%rdx), %" #reg "\n"
#define COMPARE(reg, n)                                                                            \
    "    leaq " #n "(%rdx), %rcx\n    xorq %" #reg ", %rcx\n    orq %rcx, %rax\n"
__asm__(".text\n"
        ".type switch_probe, @function\n"
        "switch_probe:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n    pushq %rdx\n"      /* */
        SET(rbp, 1) SET(rbx, 2) SET(r12, 3) SET(r13, 4) SET(r14, 5) SET(r15, 6) /* */
        "    call jzx__switch\n"
        "    movq (%rsp), %rdx\n    xorl %eax, %eax\n" /* */
        COMPARE(rbp, 1) COMPARE(rbx, 2) COMPARE(r12, 3) COMPARE(r13, 4) COMPARE(r14, 5)
            COMPARE(r15, 6) /* */
        "    popq %rdx\n    popq %r15\n    popq %r14\n    popq %r13\n"
        "    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n");
#elif defined(__aarch64__)
#define SET(n) "    add x" #n ", x2, #" #n "\n"
#define SET_D(n) "    add x9, x2, #" #n "00\n    fmov d" #n ", x9\n"
#define COMPARE(n) "    add x9, x2, #" #n "\n    eor x9, x9, x" #n "\n    orr x0, x0, x9\n"
#define COMPARE_D(n)                                                                               \
    "    add x9, x2, #" #n "00\n    fmov x10, d" #n "\n    eor x9, x9, x10\n    orr x0, x0, x9\n"
__asm__(".text\n"
        ".type switch_probe, %function\n"
        "switch_probe:\n"
        "    stp x29, x30, [sp, #-176]!\n    stp x19, x20, [sp, #16]\n    stp x21, x22, [sp, #32]\n"
        "    stp x23, x24, [sp, #48]\n    stp x25, x26, [sp, #64]\n    stp x27, x28, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n    str x2, [sp, #160]\n" /* */
        SET(19) SET(20) SET(21) SET(22) SET(23) SET(24) SET(25) SET(26) SET(27) SET(28)
            SET(29)                                                                   /* */
        SET_D(8) SET_D(9) SET_D(10) SET_D(11) SET_D(12) SET_D(13) SET_D(14) SET_D(15) /* */
        "    bl jzx__switch\n"
        "    ldr x2, [sp, #160]\n    mov x0, #0\n" /* */
        COMPARE(19) COMPARE(20) COMPARE(21) COMPARE(22) COMPARE(23) COMPARE(24) COMPARE(25)
            COMPARE(26) COMPARE(27) COMPARE(28) COMPARE(29) /* */
        COMPARE_D(8) COMPARE_D(9) COMPARE_D(10) COMPARE_D(11) COMPARE_D(12) COMPARE_D(13)
            COMPARE_D(14) COMPARE_D(15) /* */
        "    ldp x19, x20, [sp, #16]\n    ldp x21, x22, [sp, #32]\n    ldp x23, x24, [sp, #48]\n"
        "    ldp x25, x26, [sp, #64]\n    ldp x27, x28, [sp, #80]\n    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n    ldp d12, d13, [sp, #128]\n    ldp d14, d15, [sp, #144]\n"
        "    ldp x29, x30, [sp], #176\n"
        "    ret\n");
#else
#error "which registers are callee-saved here?"
#endif

static void probe_on_fiber(struct fiber *fiber, void *arg) {
    (void)arg;
    for (uint64_t i = 0; i < 3; i++) {
        jzx__switch_before(&fiber->side, &fiber->main);
        fiber->count |= switch_probe(&fiber->point, fiber->back, 0x1000000000 + 4096 * i);
        jzx__switch_after(&fiber->side, &fiber->main);
    }
}

static inline void case_each_stack_has_its_own_registers(void) {
    struct fiber fiber;
    fiber_create(&fiber, probe_on_fiber);
    start(&fiber, NULL);
    for (uint64_t i = 0; i < 3; i++) {
        JZX_EXPECT(!fiber.is_done);
        jzx__switch_before(&fiber.main, &fiber.side);
        JZX_EXPECT_EQ(switch_probe(&fiber.back, fiber.point, 0x2000000000 + 8192 * i), 0);
        jzx__switch_after(&fiber.main, &fiber.side);
    }
    JZX_EXPECT(fiber.is_done);
    JZX_EXPECT_EQ(fiber.count, 0);
    fiber_destroy(&fiber);
}

/* ---- floating point ---- */

/* By the units that compute, beside what fegetround says (of x87, on x86-64). */
static bool rounds(int direction) {
    volatile double one = 1;
    volatile double tiny = 1e-30;
    double above = one + tiny;
    double below = one - tiny;
    int seen = above > 1 ? FE_UPWARD : below < 1 ? FE_DOWNWARD : FE_TONEAREST;
    return fegetround() == direction && seen == direction;
}

static void round_upward(struct fiber *fiber, void *arg) {
    (void)arg;
    fiber->count += rounds(FE_DOWNWARD); /* as it was when the stack was made */
    fesetround(FE_UPWARD);
    for (int i = 0; i < 3; i++) {
        suspend(fiber, NULL);
        fiber->count += rounds(FE_UPWARD);
    }
}

static inline void case_each_stack_has_its_own_floating_point_control(void) {
    struct fiber fiber;
    JZX_EXPECT(rounds(FE_TONEAREST));
    fesetround(FE_DOWNWARD);
    fiber_create(&fiber, round_upward);
    fesetround(FE_TONEAREST);
    start(&fiber, NULL);
    JZX_EXPECT(rounds(FE_TONEAREST));
    fesetround(FE_DOWNWARD);
    resume(&fiber, NULL);
    JZX_EXPECT(rounds(FE_DOWNWARD));
    fesetround(FE_TONEAREST);
    resume(&fiber, NULL);
    JZX_EXPECT(rounds(FE_TONEAREST));
    resume(&fiber, NULL);
    JZX_EXPECT(rounds(FE_TONEAREST));
    JZX_EXPECT(fiber.is_done);
    JZX_EXPECT_EQ(fiber.count, 4);
    fiber_destroy(&fiber);
}

/* ---- depth and number ---- */

#define DEPTH 1000

/* Suspends at each level on the way down and on the way up. */
static __attribute__((noinline)) uint64_t descend(struct fiber *fiber, uint64_t level) {
    volatile uint64_t words[8];
    for (uint64_t i = 0; i < 8; i++)
        words[i] = level * 8 + i;
    suspend(fiber, number(level));
    uint64_t wrong = level < DEPTH ? descend(fiber, level + 1) : 0;
    suspend(fiber, number(level));
    for (uint64_t i = 0; i < 8; i++)
        wrong += words[i] != level * 8 + i;
    return wrong;
}

static void descend_from_top(struct fiber *fiber, void *arg) {
    (void)arg;
    fiber->count = descend(fiber, 0);
}

/* The other way: one side goes up while the other goes down. */
static __attribute__((noinline)) uint64_t descend_beside(struct fiber *fiber, uint64_t level) {
    volatile uint64_t words[8];
    for (uint64_t i = 0; i < 8; i++)
        words[i] = ~(level * 8 + i);
    uint64_t wrong =
        (uint64_t)(uintptr_t)resume(fiber, NULL) != (level < DEPTH ? level + 1 : level);
    if (level < DEPTH)
        wrong += descend_beside(fiber, level + 1);
    for (uint64_t i = 0; i < 8; i++)
        wrong += words[i] != ~(level * 8 + i);
    return wrong;
}

static inline void case_deep_recursion_on_both_sides_keeps_every_frame(void) {
    struct fiber fiber;
    fiber_create(&fiber, descend_from_top);
    JZX_EXPECT_EQ(start(&fiber, NULL), 0);
    JZX_EXPECT_EQ(descend_beside(&fiber, 0), 0);
    for (uint64_t level = DEPTH; level-- > 0;)
        JZX_EXPECT_EQ(resume(&fiber, NULL), level);
    resume(&fiber, NULL);
    JZX_EXPECT(fiber.is_done);
    JZX_EXPECT_EQ(fiber.count, 0);
    fiber_destroy(&fiber);
}

static void count_up(struct fiber *fiber, void *arg) {
    uint64_t limit = (uint64_t)(uintptr_t)arg;
    while (fiber->count < limit) {
        fiber->count++;
        suspend(fiber, NULL);
    }
}

static inline void case_a_million_switches(void) {
    uint64_t count = IS_SANITIZED ? 50000 : 500000; /* there and back */
    struct fiber fiber;
    fiber_create(&fiber, count_up);
    start(&fiber, number(count));
    for (uint64_t i = 1; i < count; i++)
        resume(&fiber, NULL);
    JZX_EXPECT_EQ(fiber.count, count);
    JZX_EXPECT(!fiber.is_done);
    resume(&fiber, NULL);
    JZX_EXPECT(fiber.is_done);
    fiber_destroy(&fiber);
}

#define RING 100

static inline void case_many_stacks_take_turns(void) {
    static struct fiber fibers[RING];
    for (uint64_t i = 0; i < RING; i++) {
        fiber_create(&fibers[i], count_up);
        start(&fibers[i], number(10 + i));
    }
    for (uint64_t round = 0; round < 10 + RING; round++) {
        for (uint64_t i = 0; i < RING; i++) {
            if (!fibers[i].is_done)
                resume(&fibers[i], NULL);
        }
    }
    for (uint64_t i = 0; i < RING; i++) {
        JZX_EXPECT(fibers[i].is_done);
        JZX_EXPECT_EQ(fibers[i].count, 10 + i);
        fiber_destroy(&fibers[i]);
    }
}

static inline void case_a_suspended_stack_may_be_dropped(void) {
    for (int i = 0; i < 200; i++) {
        struct fiber fiber;
        fiber_create(&fiber, descend_from_top);
        start(&fiber, NULL);
        resume(&fiber, NULL);
        JZX_EXPECT(!fiber.is_done);
        fiber_destroy(&fiber);
    }
}

/* ---- unwinding ---- */

#define FRAMES_MAX 64

struct trace {
    uintptr_t functions[FRAMES_MAX]; /* by their first instruction, innermost first */
    size_t count;
    bool has_ended;
};

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *arg) {
    struct trace *trace = arg;
    if (trace->count == FRAMES_MAX)
        return _URC_NORMAL_STOP;
    trace->functions[trace->count++] = _Unwind_GetRegionStart(context);
    return _URC_NO_REASON;
}

/* By a pointer, so that the compiler makes no copies of it. */
static void trace_at(struct trace *trace, int depth);
static void (*volatile trace_at_pointer)(struct trace *trace, int depth) = trace_at;

static void trace_at(struct trace *trace, int depth) {
    if (depth > 0)
        trace_at_pointer(trace, depth - 1);
    else
        trace->has_ended = _Unwind_Backtrace(note_frame, trace) == _URC_END_OF_STACK;
    __asm__ volatile("" : : "r"(trace) : "memory"); /* no tail call */
}

static void trace_on_fiber(struct fiber *fiber, void *arg) {
    trace_at_pointer(arg, 5);
    suspend(fiber, NULL);
    __asm__ volatile("" : : "r"(arg) : "memory");
}

static size_t frames_of(const struct trace *trace, uintptr_t function) {
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++)
        count += trace->functions[i] == function;
    return count;
}

static inline void case_an_unwinder_walks_a_stack_and_stops_at_its_entry(void) {
    struct trace trace = {.count = 0};
    struct fiber fiber;
    fiber_create(&fiber, trace_on_fiber);
    start(&fiber, &trace);
    JZX_EXPECT(trace.has_ended);
    JZX_EXPECT(trace.count < FRAMES_MAX);
    JZX_EXPECT_EQ(frames_of(&trace, (uintptr_t)trace_at), 6);
    JZX_EXPECT_EQ(frames_of(&trace, (uintptr_t)run_body), 1);
    size_t last = trace.count - 1; /* beside the function that calls the entry */
    JZX_EXPECT(trace.functions[last - 1] == (uintptr_t)run_body ||
               trace.functions[last - 2] == (uintptr_t)run_body);
    resume(&fiber, NULL);
    JZX_EXPECT(fiber.is_done);
    fiber_destroy(&fiber);
}

#endif
