/* SPDX-License-Identifier: MIT */
/* Mapping and setting alternate signal stacks. */
#include "base/sigstack.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_to_pages(size_t size) {
    return (size + page_size() - 1) / page_size() * page_size();
}

/* One mapping: the page that nobody may touch, the stack, the caller's. */
bool jzx__sigstack_init(struct jzx__sigstack *stack, size_t extra_bytes, const jzx_mapper *mapper) {
    size_t size = page_size() + JZX__SIGSTACK_SIZE + round_to_pages(extra_bytes);
    unsigned char *memory = jzx__pages_map(mapper, size);
    if (memory == NULL)
        return false;
    if (mprotect(memory, page_size(), PROT_NONE) != 0) {
        jzx__pages_unmap(mapper, memory, size);
        return false;
    }
    *stack = (struct jzx__sigstack){
        .base = memory + page_size(), .mapped_bytes = size, .mapper = mapper};
    memset(jzx__sigstack_extra(stack), 0, extra_bytes);
    return true;
}

void jzx__sigstack_deinit(struct jzx__sigstack *stack) {
    if (stack->base == NULL)
        return;
    unsigned char *memory = stack->base - page_size();
    stack->base = NULL;
    int failed = mprotect(memory, page_size(), PROT_READ | PROT_WRITE); /* joins two mappings */
    JZX_ASSERT(failed == 0);
    jzx__pages_unmap(stack->mapper, memory, stack->mapped_bytes);
}

void *jzx__sigstack_extra(const struct jzx__sigstack *stack) {
    return stack->base + JZX__SIGSTACK_SIZE;
}

void jzx__sigstack_set(struct jzx__sigstack *stack) {
    if (stack->base == NULL)
        return;
    stack_t ours = {.ss_sp = stack->base, .ss_size = JZX__SIGSTACK_SIZE};
    stack->is_set = sigaltstack(&ours, &stack->before) == 0;
}

void jzx__sigstack_clear(struct jzx__sigstack *stack) {
    stack_t current;
    if (stack->base == NULL || !stack->is_set)
        return;
    stack->is_set = false;
    if (sigaltstack(&stack->before, &current) == 0 && current.ss_sp != stack->base)
        sigaltstack(&current, NULL);
}
