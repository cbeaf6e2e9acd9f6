/* SPDX-License-Identifier: MIT */
/* Stacks for fibers: mapped, guarded, pooled.
 *
 * A **slab** is one mapping with a page of records and up to 112 stacks of one size class, each
 * with a guard page below it. Sizes are powers of two from 16 KiB to 64 MiB. A stack is address
 * space at first: only pages that were touched are memory, so a million stacks of 64 KiB of which
 * each uses a page are 4 GB. Three levels, as in base/slab.h: a **pool** belongs to one worker and
 * gives the stack that it got last, which is still in the cache. Batches go to the **stacks** of
 * the loop and come back from there, under one lock; so a stack that is taken on one worker and
 * given on another finds its way back. There, stacks above a limit give their pages back to the
 * system.
 *
 * T1  A stack is in exactly one place: in use, in a pool, with the loop, or uncarved.
 * T2  Slabs are mapped and never unmapped before jzx__stacks_deinit, and their bounds never change:
 *     a signal handler may look for a guard page at any time.
 * T3  A stack that jzx__stack_take returns has its guard. It is installed at the first take, so an
 *     uncarved stack costs no system call.
 * T4  Without memory a take returns a status and nothing has changed; a give never fails.
 * T5  A slab that goes back to the hooks of the program has no guard left.
 *
 * Guards: MADV_GUARD_INSTALL (Linux 6.13) marks a page in the page table. With mprotect a guard is
 * a mapping of its own and splits that of the slab, so that the kernel's limit of 65,530 mappings
 * (vm.max_map_count) ends at 32,000 stacks. The first guard finds out which of them works.
 *
 * Pages are given back by MADV_DONTNEED: MADV_FREE is cheaper, but the pages stay in the resident
 * size of the process until the system needs them, and nobody can see what was saved.
 *
 * Colours: all stacks end at the same offset in a page, so that the hot ends of a thousand fibers
 * would compete for the same cache sets. The upper end that a stack shows differs by up to 15 cache
 * lines from that of its neighbours; the page is the same. */
#ifndef JZX_BASE_STACK_H
#define JZX_BASE_STACK_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/list.h"
#include "base/lock.h"

#include "jzx/allocator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JZX__STACK_SIZE_DEFAULT ((size_t)64 << 10)
#define JZX__STACK_SIZE_MIN ((size_t)16 << 10)
#define JZX__STACK_SIZE_MAX ((size_t)64 << 20)
#define JZX__STACK_CLASS_COUNT 13u

#define JZX__STACK_COLOUR_COUNT 16u

/* What the loop keeps with their pages if nobody says otherwise: 1,024 stacks of 64 KiB. */
#define JZX__STACK_IDLE_BYTES_DEFAULT ((size_t)64 << 20)

enum jzx__stack_status {
    JZX__STACK_OK,
    JZX__STACK_TOO_LARGE,     /* more than JZX__STACK_SIZE_MAX */
    JZX__STACK_NO_MEMORY,     /* the system has none */
    JZX__STACK_MAPPING_LIMIT, /* vm.max_map_count */
    JZX__STACK_ADDRESS_LIMIT  /* RLIMIT_AS */
};

/* What to tell the user: one line that names the limit, and fits JZX_EXIT_TEXT_MAX. */
const char *jzx__stack_status_text(enum jzx__stack_status status);

/* The system calls, for tests that let them fail. As those of the system: errno says why. map and
 * unmap are not used beside hooks of the program. */
struct jzx__stack_system {
    void *(*map)(size_t size, int protection); /* private, anonymous, not reserved */
    int (*unmap)(void *address, size_t size);
    int (*advise)(void *address, size_t size, int advice);
    int (*protect)(void *address, size_t size, int protection);
};

extern const struct jzx__stack_system jzx__stack_system_default;

/* Written when its slab is mapped, except where it says otherwise. */
struct jzx__stack {
    unsigned char *base;     /* the lowest byte; the guard page ends here */
    unsigned char *top;      /* the upper end for its user: coloured, a multiple of 64 */
    struct jzx__stack *next; /* of the pool or the loop that has it */
    uint8_t class_index;
    bool is_guarded;   /* T3; of whoever has it */
    unsigned valgrind; /* of whoever has it: how Valgrind knows it */
};

static inline size_t jzx__stack_size(const struct jzx__stack *stack) {
    return (size_t)(stack->top - stack->base);
}

struct jzx__stack_slab;

/* A LIFO list. */
struct jzx__stack_list {
    struct jzx__stack *first;
    uint32_t count;
};

struct jzx__stack_class {
    struct jzx__stack_list resident; /* have their pages still */
    struct jzx__stack_list cold;     /* gave them back */
    struct jzx__stack_slab *carving; /* the slab that has uncarved stacks, or NULL */
};

/* The stacks of a loop. */
struct jzx__stacks {
    const struct jzx__stack_system *system;
    jzx_mapper mapper; /* where slabs come from; without hooks: system */
    size_t page_size;
    size_t idle_bytes_max;

    struct jzx__lock lock; /* guards all up to the empty line */
    struct jzx__stack_class classes[JZX__STACK_CLASS_COUNT];
    size_t idle_bytes;       /* reserved by the resident ones */
    struct jzx__list pools;  /* for the totals */
    uint64_t past_taken;     /* of pools that are gone */
    uint64_t past_given;     /* the same */
    uint64_t carved_count;   /* gives the colours */
    uint64_t reserved_bytes; /* of all slabs */
    uint64_t slab_count;

    _Atomic(struct jzx__stack_slab *) slabs; /* newest first; written under lock; T2. Decides */
    _Atomic uint32_t protects; /* 1: guards by mprotect. Written by any taker, 0 to 1. Decides */
    _Atomic uint32_t protected_count; /* guards by mprotect. Written by any taker. Decides */
    uint32_t protected_max;           /* of those; leaves mappings for the rest of the process */
};

struct jzx__stacks_options {
    const struct jzx__stack_system *system; /* NULL: the system's own */
    jzx_mapper mapper;                      /* the program's, or without hooks */
    size_t idle_bytes_max;  /* address space of idle stacks of the loop that keep their pages */
    bool protects;          /* guards by mprotect, whatever the system has */
    uint32_t protected_max; /* 0: as many as vm.max_map_count allows, less a sixteenth of it */
};

/* Maps nothing yet. */
void jzx__stacks_init(struct jzx__stacks *stacks, const struct jzx__stacks_options *options);

/* Every stack is given back, and every pool is deinitialised. */
void jzx__stacks_deinit(struct jzx__stacks *stacks);

/* A hot batch and a reserve, per class: see base/slab.h. One thread at a time. */
struct jzx__stack_pool {
    struct jzx__stacks *stacks;
    struct jzx__link link; /* in stacks->pools */
    struct jzx__stack_list hot[JZX__STACK_CLASS_COUNT];
    struct jzx__stack_list reserve[JZX__STACK_CLASS_COUNT];
    jzx__counter taken; /* gauges, written by the thread of the pool, read by any */
    jzx__counter given;
};

void jzx__stack_pool_init(struct jzx__stack_pool *pool, struct jzx__stacks *stacks);
void jzx__stack_pool_deinit(struct jzx__stack_pool *pool);

/* A stack of at least `size` bytes less its colour, which is below 1 KiB; 0 asks for
 * JZX__STACK_SIZE_DEFAULT. Its bytes are those of whoever had it before, or 0. *taken is untouched
 * on failure. */
enum jzx__stack_status jzx__stack_take(struct jzx__stack_pool *pool, size_t size,
                                       struct jzx__stack **taken);

/* To any pool of the same stacks. Nobody may be on the stack. */
void jzx__stack_give(struct jzx__stack_pool *pool, struct jzx__stack *stack);

/* How far the stack was ever used, in bytes from its upper end, in whole pages: a system call per
 * 4 MiB of it. It counts from when the pages were last given back, so a reused stack may show the
 * depth of an earlier user: an upper bound. Pages that were swapped out do not count. 0 if the
 * system does not say. */
size_t jzx__stack_high_water(const struct jzx__stacks *stacks, const struct jzx__stack *stack);

/* True if the address is in the guard page of the stack. Async-signal-safe. */
bool jzx__stack_is_guard(const struct jzx__stacks *stacks, const struct jzx__stack *stack,
                         uintptr_t address);

/* The stack whose guard page the address is in, or NULL. Async-signal-safe; looks at every slab. */
const struct jzx__stack *jzx__stacks_find_guard(const struct jzx__stacks *stacks,
                                                uintptr_t address);

struct jzx__stack_totals {
    uint64_t reserved_bytes; /* address space, guards and records included */
    uint64_t slab_count;
    uint64_t in_use_count;
    uint64_t idle_count; /* in pools and with the loop */
    uint64_t cold_count; /* of the idle: their pages were given back */
};

/* Any thread. Exact while no stack is taken or given. */
struct jzx__stack_totals jzx__stacks_totals(struct jzx__stacks *stacks);

#endif
