/* SPDX-License-Identifier: MIT */
/* Mapping, guarding and pooling stacks. */
#include "base/stack.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/switch_side.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(JZX__SWITCH_ASAN)
#include <sanitizer/asan_interface.h>
#endif

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif

#if !defined(MADV_GUARD_INSTALL)
#define MADV_GUARD_INSTALL 102
#endif
#if !defined(MADV_GUARD_REMOVE)
#define MADV_GUARD_REMOVE 103
#endif

#define SLAB_STACKS_MAX 112u         /* whole batches, and their records fit a page of 4 KiB */
#define SLAB_BYTES ((size_t)8 << 20) /* about, without guards; larger stacks have a slab each */
#define BATCH_MAX 16u
#define BATCH_BYTES ((size_t)1 << 20)

struct jzx__stack_slab {
    struct jzx__stack_slab *next;
    unsigned char *first; /* the guard page of stack 0 */
    size_t stride;        /* from one guard page to the next */
    size_t mapped_bytes;
    uint32_t count;
    uint32_t carved_count; /* under the lock of the stacks */
    struct jzx__stack stacks[];
};

_Static_assert(sizeof(struct jzx__stack_slab) + SLAB_STACKS_MAX * sizeof(struct jzx__stack) <= 4096,
               "one page of records");

/* ---- the system ---- */

static void *map(size_t size, int protection) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    return mmap(NULL, size, protection, flags, -1, 0);
}

const struct jzx__stack_system jzx__stack_system_default = {
    .map = map,
    .unmap = munmap,
    .advise = madvise,
    .protect = mprotect,
};

const char *jzx__stack_status_text(enum jzx__stack_status status) {
    switch (status) {
    case JZX__STACK_OK: return "no error";
    case JZX__STACK_TOO_LARGE: return "the stack of a fiber has at most 64 MiB";
    case JZX__STACK_NO_MEMORY: return "no memory for the stack of a fiber";
    case JZX__STACK_MAPPING_LIMIT:
        return "no mapping left for the stack of a fiber: raise vm.max_map_count";
    case JZX__STACK_ADDRESS_LIMIT:
        return "no address space for the stack of a fiber: raise RLIMIT_AS (ulimit -v)";
    }
    return "unknown status";
}

/* The first number of a file of /proc; 0 if there is none. Not by stdio, which would take a buffer
 * of malloc. */
static uint64_t read_number(const char *path) {
    char text[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    return strtoull(text, NULL, 10);
}

static bool is_above_address_limit(const struct jzx__stacks *stacks, size_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    return read_number("/proc/self/statm") * stacks->page_size + wanted > limit.rlim_cur;
}

/* Why a mapping of this size was refused. A page that nobody may touch needs no memory, but a
 * mapping. Hooks give no reason. */
static enum jzx__stack_status why_not_mapped(const struct jzx__stacks *stacks, size_t size) {
    if (stacks->mapper.map != NULL)
        return JZX__STACK_NO_MEMORY;
    if (is_above_address_limit(stacks, size))
        return JZX__STACK_ADDRESS_LIMIT;
    void *probe = stacks->system->map(stacks->page_size, PROT_NONE);
    if (probe == MAP_FAILED)
        return JZX__STACK_MAPPING_LIMIT;
    stacks->system->unmap(probe, stacks->page_size);
    return JZX__STACK_NO_MEMORY;
}

static void *map_slab(const struct jzx__stacks *stacks, size_t size) {
    if (stacks->mapper.map != NULL)
        return jzx__pages_map(&stacks->mapper, size);
    void *memory = stacks->system->map(size, PROT_READ | PROT_WRITE);
    return memory == MAP_FAILED ? NULL : memory;
}

/* T5. A guard may be of either sort. */
static void unmap_slab(const struct jzx__stacks *stacks, struct jzx__stack_slab *slab) {
    const struct jzx__stack_system *system = stacks->system;
    size_t bytes = slab->count * slab->stride;
    if (stacks->mapper.map == NULL) {
        system->unmap(slab, slab->mapped_bytes);
        return;
    }
    system->advise(slab->first, bytes, MADV_GUARD_REMOVE); /* EINVAL: there is none of this sort */
    /* relaxed: all that used the stacks have ended */
    if (jzx__atomic_load_relaxed(&stacks->protects) != 0)
        system->protect(slab->first, bytes, PROT_READ | PROT_WRITE);
    jzx__pages_unmap(&stacks->mapper, slab, slab->mapped_bytes);
}

/* ---- those who look at stacks ---- */

/* Frames that were left without a return are still poisoned. */
static void tell_of_give(struct jzx__stack *stack, size_t size) {
    (void)stack;
    (void)size;
#if defined(JZX__SWITCH_ASAN)
    ASAN_UNPOISON_MEMORY_REGION(stack->base, size);
#endif
#if defined(VALGRIND_STACK_DEREGISTER)
    VALGRIND_STACK_DEREGISTER(stack->valgrind);
#endif
}

static void tell_of_take(struct jzx__stack *stack, size_t size) {
    (void)stack;
    (void)size;
#if defined(VALGRIND_STACK_REGISTER)
    stack->valgrind = VALGRIND_STACK_REGISTER(stack->base, stack->base + size);
#endif
}

/* ---- classes and lists ---- */

/* Pages may be larger than the smallest stack. */
static size_t class_size(const struct jzx__stacks *stacks, uint32_t class_index) {
    size_t size = JZX__STACK_SIZE_MIN << class_index;
    return size < stacks->page_size ? stacks->page_size : size;
}

static uint32_t class_of(size_t size) {
    uint32_t class_index = 0;
    while (JZX__STACK_SIZE_MIN << class_index < size)
        class_index++;
    return class_index;
}

static uint32_t clamp(size_t value, uint32_t max) {
    return value < 1 ? 1 : value > max ? max : (uint32_t)value;
}

static uint32_t batch_count(uint32_t class_index) {
    return clamp(BATCH_BYTES / (JZX__STACK_SIZE_MIN << class_index), BATCH_MAX);
}

static void push(struct jzx__stack_list *list, struct jzx__stack *stack) {
    stack->next = list->first;
    list->first = stack;
    list->count++;
}

static struct jzx__stack *pop(struct jzx__stack_list *list) {
    struct jzx__stack *stack = list->first;
    if (stack == NULL)
        return NULL;
    list->first = stack->next;
    list->count--;
    return stack;
}

static void move(struct jzx__stack_list *to, struct jzx__stack_list *from, uint32_t count_max) {
    while (count_max-- > 0 && from->first != NULL)
        push(to, pop(from));
}

/* ---- slabs ---- */

void jzx__stacks_init(struct jzx__stacks *stacks, const struct jzx__stacks_options *options) {
    *stacks = (struct jzx__stacks){
        .system = options->system != NULL ? options->system : &jzx__stack_system_default,
        .mapper = options->mapper,
        .page_size = (size_t)sysconf(_SC_PAGESIZE),
        .idle_bytes_max = options->idle_bytes_max,
        .protects = options->protects ? 1 : 0,
        .protected_max = options->protected_max,
    };
    if (stacks->protected_max == 0) {
        uint64_t mappings = read_number("/proc/sys/vm/max_map_count");
        mappings = mappings == 0 ? 65530 : mappings > UINT32_MAX ? UINT32_MAX : mappings;
        stacks->protected_max = (uint32_t)((mappings - mappings / 16) / 2);
    }
    jzx__lock_init(&stacks->lock);
    jzx__list_init(&stacks->pools);
}

void jzx__stacks_deinit(struct jzx__stacks *stacks) {
    JZX_ASSERT(jzx__list_is_empty(&stacks->pools));
    JZX_ASSERT(stacks->past_taken == stacks->past_given);
    /* relaxed: all that used the stacks have ended */
    struct jzx__stack_slab *slab = jzx__atomic_load_relaxed(&stacks->slabs);
    while (slab != NULL) {
        struct jzx__stack_slab *next = slab->next;
        unmap_slab(stacks, slab);
        slab = next;
    }
    jzx__lock_deinit(&stacks->lock);
}

static size_t round_to_pages(const struct jzx__stacks *stacks, size_t size) {
    return (size + stacks->page_size - 1) / stacks->page_size * stacks->page_size;
}

/* A slab with no stack carved. Under the lock. */
static enum jzx__stack_status add_slab(struct jzx__stacks *stacks, uint32_t class_index) {
    size_t size = class_size(stacks, class_index);
    uint32_t count = clamp(SLAB_BYTES / size, SLAB_STACKS_MAX);
    struct jzx__stack_slab *slab = NULL;
    size_t records = round_to_pages(stacks, sizeof *slab + count * sizeof slab->stacks[0]);
    size_t stride = stacks->page_size + size;
    size_t bytes = records + count * stride;
    void *memory = map_slab(stacks, bytes);
    if (memory == NULL)
        return why_not_mapped(stacks, bytes);
    /* A large page for a stack that needs a small one; a system without them refuses. */
    stacks->system->advise(memory, bytes, MADV_NOHUGEPAGE);
    slab = memory;
    memset(slab, 0, records);
    slab->first = (unsigned char *)memory + records;
    slab->stride = stride;
    slab->mapped_bytes = bytes;
    slab->count = count;
    /* relaxed: written under the lock, which is held */
    slab->next = jzx__atomic_load_relaxed(&stacks->slabs);
    /* release: pairs with the acquire in find_guard; the bounds are there */
    jzx__atomic_store_release(&stacks->slabs, slab);
    stacks->classes[class_index].carving = slab;
    stacks->reserved_bytes += bytes;
    stacks->slab_count++;
    return JZX__STACK_OK;
}

static struct jzx__stack *carve(struct jzx__stacks *stacks, struct jzx__stack_slab *slab,
                                uint32_t class_index) {
    uint32_t index = slab->carved_count++;
    struct jzx__stack *stack = &slab->stacks[index];
    size_t colour = (size_t)(stacks->carved_count++ % JZX__STACK_COLOUR_COUNT) * JZX_CACHE_LINE;
    stack->base = slab->first + index * slab->stride + stacks->page_size;
    stack->top = stack->base + class_size(stacks, class_index) - colour;
    stack->class_index = (uint8_t)class_index;
    return stack;
}

/* New stacks, without guards. Under the lock. */
static enum jzx__stack_status carve_batch(struct jzx__stacks *stacks, uint32_t class_index,
                                          struct jzx__stack_list *list) {
    struct jzx__stack_class *of = &stacks->classes[class_index];
    if (of->carving == NULL) {
        enum jzx__stack_status status = add_slab(stacks, class_index);
        if (status != JZX__STACK_OK)
            return status;
    }
    struct jzx__stack_slab *slab = of->carving;
    for (uint32_t i = batch_count(class_index); i > 0 && slab->carved_count < slab->count; i--)
        push(list, carve(stacks, slab, class_index));
    if (slab->carved_count == slab->count)
        of->carving = NULL;
    return JZX__STACK_OK;
}

/* ---- guards ---- */

static enum jzx__stack_status protect(struct jzx__stacks *stacks, void *guard) {
    /* relaxed: a count that orders nothing */
    if (jzx__atomic_add_relaxed(&stacks->protected_count, 1u) >= stacks->protected_max) {
        jzx__atomic_add_relaxed(&stacks->protected_count, UINT32_MAX); /* relaxed: as above */
        return JZX__STACK_MAPPING_LIMIT;
    }
    if (stacks->system->protect(guard, stacks->page_size, PROT_NONE) == 0)
        return JZX__STACK_OK;
    /* Memory is not what it asks for, but two mappings more. */
    jzx__atomic_add_relaxed(&stacks->protected_count, UINT32_MAX); /* relaxed: as above */
    return JZX__STACK_MAPPING_LIMIT;
}

/* T3. A system that does not know the advice says EINVAL, as one does whose mapping is locked into
 * memory: then, and from then on, mprotect does it. */
static enum jzx__stack_status install_guard(struct jzx__stacks *stacks, struct jzx__stack *stack) {
    void *guard = stack->base - stacks->page_size;
    /* relaxed: whoever reads the old value finds out by itself */
    if (jzx__atomic_load_relaxed(&stacks->protects) == 0) {
        int failed = stacks->system->advise(guard, stacks->page_size, MADV_GUARD_INSTALL);
        if (failed != 0 && errno != EINVAL)
            return JZX__STACK_NO_MEMORY;
        if (failed == 0) {
            stack->is_guarded = true;
            return JZX__STACK_OK;
        }
        jzx__atomic_store_relaxed(&stacks->protects, 1u); /* relaxed: as above */
    }
    enum jzx__stack_status status = protect(stacks, guard);
    stack->is_guarded = status == JZX__STACK_OK;
    return status;
}

static uintptr_t guard_of(const struct jzx__stacks *stacks, const struct jzx__stack *stack) {
    return (uintptr_t)stack->base - stacks->page_size;
}

bool jzx__stack_is_guard(const struct jzx__stacks *stacks, const struct jzx__stack *stack,
                         uintptr_t address) {
    return address - guard_of(stacks, stack) < stacks->page_size;
}

const struct jzx__stack *jzx__stacks_find_guard(const struct jzx__stacks *stacks,
                                                uintptr_t address) {
    /* acquire: pairs with the release in add_slab; the bounds are there */
    const struct jzx__stack_slab *slab = jzx__atomic_load_acquire(&stacks->slabs);
    for (; slab != NULL; slab = slab->next) {
        uintptr_t offset = address - (uintptr_t)slab->first;
        if (offset < slab->count * slab->stride)
            return offset % slab->stride < stacks->page_size ? &slab->stacks[offset / slab->stride]
                                                             : NULL;
    }
    return NULL;
}

/* ---- pools ---- */

void jzx__stack_pool_init(struct jzx__stack_pool *pool, struct jzx__stacks *stacks) {
    *pool = (struct jzx__stack_pool){.stacks = stacks};
    jzx__lock_acquire(&stacks->lock);
    jzx__list_push_back(&stacks->pools, &pool->link);
    jzx__lock_release(&stacks->lock);
}

/* A batch of stacks that others have given: with pages, or without. Under the lock. */
static bool reuse(struct jzx__stacks *stacks, uint32_t class_index, struct jzx__stack_list *list) {
    struct jzx__stack_class *of = &stacks->classes[class_index];
    uint32_t before = list->count;
    if (of->resident.first != NULL) {
        move(list, &of->resident, batch_count(class_index));
        stacks->idle_bytes -= (list->count - before) * class_size(stacks, class_index);
    } else {
        move(list, &of->cold, batch_count(class_index));
    }
    return list->count != before;
}

/* A batch for an empty pool. */
static enum jzx__stack_status refill(struct jzx__stack_pool *pool, uint32_t class_index) {
    struct jzx__stacks *stacks = pool->stacks;
    struct jzx__stack_list *hot = &pool->hot[class_index];
    enum jzx__stack_status status = JZX__STACK_OK;
    jzx__lock_acquire(&stacks->lock);
    if (!reuse(stacks, class_index, hot))
        status = carve_batch(stacks, class_index, hot);
    jzx__lock_release(&stacks->lock);
    return status;
}

/* T3 for the stack that is taken next. If no guard can be had, another worker may have given a
 * stack that has one. */
static enum jzx__stack_status ensure_guard(struct jzx__stack_pool *pool, uint32_t class_index) {
    struct jzx__stack_list *hot = &pool->hot[class_index];
    if (JZX_LIKELY(hot->first->is_guarded))
        return JZX__STACK_OK;
    enum jzx__stack_status status = install_guard(pool->stacks, hot->first);
    if (status == JZX__STACK_OK)
        return status;
    jzx__lock_acquire(&pool->stacks->lock);
    reuse(pool->stacks, class_index, hot);
    jzx__lock_release(&pool->stacks->lock);
    return hot->first->is_guarded ? JZX__STACK_OK : status;
}

/* Leaves the list empty. The system calls are outside of the lock: nobody else has these stacks. */
static void spill(struct jzx__stacks *stacks, uint32_t class_index, struct jzx__stack_list *list) {
    struct jzx__stack_class *of = &stacks->classes[class_index];
    size_t size = class_size(stacks, class_index);
    jzx__lock_acquire(&stacks->lock);
    while (list->first != NULL && stacks->idle_bytes + size <= stacks->idle_bytes_max) {
        push(&of->resident, pop(list));
        stacks->idle_bytes += size;
    }
    jzx__lock_release(&stacks->lock);
    if (list->first == NULL)
        return;
    for (struct jzx__stack *stack = list->first; stack != NULL; stack = stack->next)
        stacks->system->advise(stack->base, size, MADV_DONTNEED);
    jzx__lock_acquire(&stacks->lock);
    move(&of->cold, list, list->count);
    jzx__lock_release(&stacks->lock);
}

void jzx__stack_pool_deinit(struct jzx__stack_pool *pool) {
    struct jzx__stacks *stacks = pool->stacks;
    for (uint32_t i = 0; i < JZX__STACK_CLASS_COUNT; i++) {
        spill(stacks, i, &pool->hot[i]);
        spill(stacks, i, &pool->reserve[i]);
    }
    jzx__lock_acquire(&stacks->lock);
    jzx__list_remove(&pool->link);
    stacks->past_taken += jzx__counter_get(&pool->taken);
    stacks->past_given += jzx__counter_get(&pool->given);
    jzx__lock_release(&stacks->lock);
}

enum jzx__stack_status jzx__stack_take(struct jzx__stack_pool *pool, size_t size,
                                       struct jzx__stack **taken) {
    struct jzx__stacks *stacks = pool->stacks;
    if (size > JZX__STACK_SIZE_MAX)
        return JZX__STACK_TOO_LARGE;
    uint32_t class_index = class_of(size == 0 ? JZX__STACK_SIZE_DEFAULT : size);
    struct jzx__stack_list *hot = &pool->hot[class_index];
    struct jzx__stack_list *reserve = &pool->reserve[class_index];
    if (hot->first == NULL) {
        struct jzx__stack_list empty = *hot;
        *hot = *reserve;
        *reserve = empty;
    }
    enum jzx__stack_status status = JZX__STACK_OK;
    if (hot->first == NULL)
        status = refill(pool, class_index);
    if (status == JZX__STACK_OK)
        status = ensure_guard(pool, class_index);
    if (status != JZX__STACK_OK)
        return status;
    struct jzx__stack *stack = pop(hot);
    tell_of_take(stack, class_size(stacks, class_index));
    jzx__counter_add(&pool->taken, 1);
    *taken = stack;
    return JZX__STACK_OK;
}

void jzx__stack_give(struct jzx__stack_pool *pool, struct jzx__stack *stack) {
    struct jzx__stacks *stacks = pool->stacks;
    uint32_t class_index = stack->class_index;
    struct jzx__stack_list *hot = &pool->hot[class_index];
    tell_of_give(stack, class_size(stacks, class_index));
    if (hot->count >= batch_count(class_index)) {
        struct jzx__stack_list *reserve = &pool->reserve[class_index];
        spill(stacks, class_index, reserve);
        *reserve = *hot;
        *hot = (struct jzx__stack_list){0};
    }
    push(hot, stack);
    jzx__counter_add(&pool->given, 1);
}

/* ---- what is known of them ---- */

size_t jzx__stack_high_water(const struct jzx__stacks *stacks, const struct jzx__stack *stack) {
    unsigned char pages[1024];
    size_t size = class_size(stacks, stack->class_index);
    size_t step = sizeof pages * stacks->page_size;
    for (size_t offset = 0; offset < size; offset += step) {
        size_t length = size - offset < step ? size - offset : step;
        if (mincore(stack->base + offset, length, pages) != 0)
            return 0;
        for (size_t i = 0; i < length / stacks->page_size; i++) {
            if (pages[i] & 1)
                return size - offset - i * stacks->page_size;
        }
    }
    return 0;
}

struct jzx__stack_totals jzx__stacks_totals(struct jzx__stacks *stacks) {
    jzx__lock_acquire(&stacks->lock);
    struct jzx__stack_totals totals = {
        .reserved_bytes = stacks->reserved_bytes,
        .slab_count = stacks->slab_count,
    };
    uint64_t taken = stacks->past_taken;
    uint64_t given = stacks->past_given;
    struct jzx__link *link = stacks->pools.ring.next;
    for (; link != &stacks->pools.ring; link = link->next) {
        const struct jzx__stack_pool *pool = JZX_CONTAINER_OF(link, struct jzx__stack_pool, link);
        given += jzx__counter_get(&pool->given);
        taken += jzx__counter_get(&pool->taken);
    }
    totals.in_use_count = taken > given ? taken - given : 0;
    for (uint32_t i = 0; i < JZX__STACK_CLASS_COUNT; i++)
        totals.cold_count += stacks->classes[i].cold.count;
    totals.idle_count =
        stacks->carved_count > totals.in_use_count ? stacks->carved_count - totals.in_use_count : 0;
    jzx__lock_release(&stacks->lock);
    return totals;
}
