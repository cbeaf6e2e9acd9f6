/* SPDX-License-Identifier: MIT */
/* Ways to fault. The sanitizers look at none of them: what is tested is what the processor does. */
#ifndef JZX_API_FAULTS_H
#define JZX_API_FAULTS_H

#include "jzx_test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#if !defined(UNDER_SANITIZER)
#define UNDER_SANITIZER 0
#endif

#define AS_IT_IS                                                                                   \
    __attribute__((noinline, no_sanitize("address"), no_sanitize("thread"),                        \
                   no_sanitize("undefined")))

enum fault {
    READ_NULL,
    WRITE_NULL,
    WILD_READ,
    WILD_CALL,
    OVERFLOW,
    DIVIDE,
    ILLEGAL,
    BUS,
    MEMCPY,
    STRLEN,
    FAULT_COUNT
};

/* Where the compiler does not see what is in it. */
static int *volatile no_pointer;
static void (*volatile no_function)(void);
static volatile int zero;
static volatile int sink;

static AS_IT_IS void read_null(void) {
    sink = *no_pointer;
}

static AS_IT_IS void write_null(void) {
    *no_pointer = 1;
}

/* Not canonical on x86-64, and nobody's elsewhere. */
static AS_IT_IS void read_wild(void) {
    sink = *(volatile int *)(uintptr_t)0x5a5a5a5a5a5a5a58u;
}

static AS_IT_IS void call_wild(void) {
    no_function();
    sink = 1; /* so that it is no jump */
}

static AS_IT_IS int dive(int depth) {
    volatile char frame[512];
    frame[depth & 511] = (char)depth;
    if (zero != 0)
        return 0; /* never, but the compiler does not know */
    return dive(depth + 1) + frame[(depth + 1) & 511];
}

static AS_IT_IS void divide(void) {
#if defined(__x86_64__)
    sink = sink / zero;
#else
    raise(SIGFPE); /* no such fault there; not used */
#endif
}

static AS_IT_IS void run_illegal(void) {
#if defined(__aarch64__)
    __asm__ volatile(".inst 0");
#else
    __builtin_trap();
#endif
}

/* A page of a file that is shorter. */
static AS_IT_IS void touch_truncated(void) {
    char path[] = "/tmp/jzx_contain_XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    if (ftruncate(fd, 4096) != 0)
        return;
    volatile char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (ftruncate(fd, 0) != 0)
        return;
    close(fd);
    sink = map[8]; /* the mapping is left: nobody comes back to take it */
}

static AS_IT_IS void copy_bad(void) {
    char buffer[4096];
    void *volatile from = no_pointer;
    volatile size_t length = sizeof buffer;
    memcpy(buffer, from, length);
    sink = buffer[7];
}

static AS_IT_IS void measure_bad(void) {
    const char *volatile text = (const char *)(uintptr_t)16;
    sink = (int)strlen(text);
}

static AS_IT_IS void do_fault(enum fault fault) {
    switch (fault) {
    case READ_NULL: read_null(); break;
    case WRITE_NULL: write_null(); break;
    case WILD_READ: read_wild(); break;
    case WILD_CALL: call_wild(); break;
    case OVERFLOW: sink = dive(0); break;
    case DIVIDE: divide(); break;
    case ILLEGAL: run_illegal(); break;
    case BUS: touch_truncated(); break;
    case MEMCPY: copy_bad(); break;
    default: measure_bad(); break;
    }
}

/* Some cannot happen as they would without it: a sanitizer has its own mem* and str*, and faults
 * inside of them, which is not the program's code; only x86-64 faults at a division. */
static inline bool can_happen(enum fault fault) {
    if (UNDER_SANITIZER && (fault == MEMCPY || fault == STRLEN))
        return false;
#if !defined(__x86_64__)
    if (fault == DIVIDE)
        return false;
#endif
    return true;
}

/* How the text begins. */
static inline const char *text_of(enum fault fault) {
    static const char *const texts[] = {"SIGSEGV at 0x0, pc 0x", "SIGSEGV at 0x0, pc 0x",
                                        "SIGSEGV at ",           "SIGSEGV at 0x0, pc 0x0 in",
                                        "stack overflow at 0x",  "SIGFPE at 0x",
                                        "SIGILL at 0x",          "SIGBUS at 0x",
                                        "SIGSEGV at 0x0, pc 0x", "SIGSEGV at 0x10, pc 0x"};
    return texts[fault];
}

#endif
