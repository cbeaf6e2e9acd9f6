/* SPDX-License-Identifier: MIT */
/* Ranges of code: of the main program and of this library from the program headers; of libc's mem*
 * and str* functions from the unwind tables. The latter have no symbols: what the linker binds is
 * one of several implementations for different processors, which are local to libc. */
#include "base/code.h"

#include "base/compiler.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#if defined(__GLIBC__)
#include <gnu/lib-names.h>
#include <unwind.h>
#endif

struct range {
    uintptr_t begin;
    uintptr_t end;
};

#define PROGRAM_MAX 4u /* segments with code; linkers make one */
#define LEAVES_MAX 48u

static struct {
    bool known;
    bool is_dynamic;
    struct range program[PROGRAM_MAX];
    uint32_t program_count;
    struct range runtime; /* this library, if it is not part of the program; else empty */
    struct range leaves[LEAVES_MAX];
    uint32_t leaf_count;
} code;

static bool is_in(struct range range, uintptr_t address) {
    return address - range.begin < range.end - range.begin;
}

/* ---- the program and this library ---- */

static void learn_program(const struct dl_phdr_info *object) {
    for (uint32_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_INTERP)
            code.is_dynamic = true;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
            code.program_count < PROGRAM_MAX)
            code.program[code.program_count++] = (struct range){begin, begin + segment->p_memsz};
    }
}

static void learn_runtime(const struct dl_phdr_info *object) {
    for (uint32_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        struct range range = {begin, begin + segment->p_memsz};
        if (segment->p_type == PT_LOAD && is_in(range, (uintptr_t)jzx__code_of))
            code.runtime = range;
    }
}

/* The first object is the main program. */
static int see_object(struct dl_phdr_info *object, size_t size, void *ctx) {
    uint32_t *count = ctx;
    (void)size;
    if ((*count)++ == 0)
        learn_program(object);
    else
        learn_runtime(object);
    return 0;
}

/* ---- mem* and str* ---- */

#if defined(__GLIBC__)

static const char *const leaf_names[] = {
    "memcpy",  "memmove", "mempcpy", "memset",  "memcmp",     "memchr",      "memrchr", "rawmemchr",
    "memmem",  "memccpy", "strlen",  "strnlen", "strcpy",     "stpcpy",      "strncpy", "stpncpy",
    "strcat",  "strncat", "strcmp",  "strncmp", "strcasecmp", "strncasecmp", "strchr",  "strchrnul",
    "strrchr", "strspn",  "strcspn", "strpbrk", "strstr",     "bcmp",        "bzero",   "strsep",
};

_Static_assert(sizeof leaf_names / sizeof leaf_names[0] <= LEAVES_MAX, "has room");

/* A function of libc is shorter than that. */
#define FUNCTION_SIZE_MAX 8192u

/* On x86-64 implementations of memmove and memset share their ends: those with and those without
 * `rep movsb` lie behind one another, with the checked variants between. */
#if defined(__x86_64__)
#define SHARED_COUNT 5u
#else
#define SHARED_COUNT 0u
#endif
#define PADDING_MAX 64u

/* The beginning of the function that the address is in, or 0. */
static uintptr_t function_at(uintptr_t address) {
    return (uintptr_t)_Unwind_FindEnclosingFunction((void *)(address + 1)); /* looks one before */
}

static uintptr_t end_of_function(uintptr_t begin) {
    uintptr_t inside = begin;
    for (uintptr_t step = FUNCTION_SIZE_MAX / 2; step != 0; step /= 2) {
        if (function_at(inside + step) == begin)
            inside += step;
    }
    return inside + 1;
}

static uintptr_t next_function(uintptr_t end) {
    for (uintptr_t gap = 0; gap < PADDING_MAX; gap++) {
        uintptr_t begin = function_at(end + gap);
        if (begin >= end)
            return begin;
    }
    return 0;
}

static void learn_leaf(uintptr_t address, bool shares) {
    struct range range = {function_at(address), 0};
    if (range.begin == 0)
        return;
    range.end = end_of_function(range.begin);
    for (uint32_t i = 0; shares && i != SHARED_COUNT; i++) {
        uintptr_t next = next_function(range.end);
        if (next == 0)
            break;
        range.end = end_of_function(next);
    }
    code.leaves[code.leaf_count++] = range;
}

static void learn_leaves(void) {
    void *libc = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD); /* not what others put before it */
    if (libc == NULL)
        return;
    for (uint32_t i = 0; i < sizeof leaf_names / sizeof leaf_names[0]; i++) {
        const char *name = leaf_names[i];
        void *function = dlsym(libc, name);
        bool shares = strcmp(name, "memcpy") == 0 || strcmp(name, "memmove") == 0 ||
                      strcmp(name, "memset") == 0;
        if (function != NULL)
            learn_leaf((uintptr_t)function, shares);
    }
    dlclose(libc);
}

#else

static void learn_leaves(void) {}

#endif

bool jzx__code_learn(void) {
    uint32_t count = 0;
    if (code.known)
        return code.is_dynamic;
    dl_iterate_phdr(see_object, &count);
    learn_leaves();
    code.known = true;
    return code.is_dynamic;
}

/* ---- in the handler ---- */

/* glibc finds objects without a lock since 2.35, and says so by this macro. */
#if defined(DLFO_EH_SEGMENT_TYPE)

static bool is_in_object_of(uintptr_t pc, uintptr_t entry) {
    struct dl_find_object object;
    if (entry == 0 || _dl_find_object((void *)entry, &object) != 0)
        return false;
    struct range range = {(uintptr_t)object.dlfo_map_start, (uintptr_t)object.dlfo_map_end};
    return is_in(range, pc);
}

#else

static bool is_in_object_of(uintptr_t pc, uintptr_t entry) {
    (void)pc;
    (void)entry;
    return false;
}

#endif

enum jzx__code jzx__code_of(uintptr_t pc, uintptr_t entry) {
    for (uint32_t i = 0; i < code.program_count; i++) {
        if (is_in(code.program[i], pc))
            return JZX__CODE_PROGRAM;
    }
    if (is_in(code.runtime, pc))
        return JZX__CODE_OTHER;
    for (uint32_t i = 0; i < code.leaf_count; i++) {
        if (is_in(code.leaves[i], pc))
            return JZX__CODE_LEAF;
    }
    return is_in_object_of(pc, entry) ? JZX__CODE_PROGRAM : JZX__CODE_OTHER;
}
