/* SPDX-License-Identifier: MIT */
/* The allocator of a round. Each block has a header with its size and a mark, and is linked, so
 * that a leak can be told with sizes; its content is overwritten when it comes and when it goes, so
 * that what is read too early or too late is seen. Blocks beyond a bound are refused, as lengths
 * by seed may ask for any. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LARGEST = 64 << 20, TOLD = 12 };

struct header {
    _Alignas(max_align_t) size_t size;
    uint64_t mark;
    struct header *next;
    struct header *previous;
    uint64_t number;
};

static const uint64_t in_use = 0x4655425A5A4C4956u;
static const uint64_t freed = 0x4445414444454144u;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct header *first;
static long long blocks, bytes;
static uint64_t number, seed_of_failures;
static unsigned fails_one_in;
static bool may_fail;

static bool is_to_fail(void) {
    uint64_t x = (seed_of_failures ^ number) * 0x9E3779B97F4A7C15u;
    return may_fail && fails_one_in != 0 && (x >> 33) % fails_one_in == 0;
}

static void *allocate(void *ctx, size_t size) {
    (void)ctx;
    if (size == 0)
        fuzz_fail("the library asks for 0 bytes");
    pthread_mutex_lock(&lock);
    number++;
    struct header *block = NULL;
    if (!is_to_fail() && size <= LARGEST)
        block = malloc(sizeof *block + size);
    if (block != NULL) {
        *block = (struct header){size, in_use, first, NULL, number};
        if (first != NULL)
            first->previous = block;
        first = block;
        blocks++;
        bytes += (long long)size;
    }
    pthread_mutex_unlock(&lock);
    if (block == NULL)
        return NULL;
    memset(block + 1, 0xA5, size);
    return block + 1;
}

static void release(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    if (ptr == NULL)
        fuzz_fail("the library frees NULL");
    struct header *block = (struct header *)ptr - 1;
    if (block->mark != in_use)
        fuzz_fail("the library frees %p, which is %s", ptr,
                  block->mark == freed ? "freed already" : "no block");
    if (block->size != size)
        fuzz_fail("the library frees %zu bytes of a block of %zu", size, block->size);
    memset(ptr, 0x5A, size);
    pthread_mutex_lock(&lock);
    block->mark = freed;
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        first = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
    blocks--;
    bytes -= (long long)size;
    pthread_mutex_unlock(&lock);
    free(block);
}

/* Pages are counted as blocks are, and fail as they do. */
static void *map(void *ctx, size_t size) {
    (void)ctx;
    pthread_mutex_lock(&lock);
    number++;
    void *pages = is_to_fail() ? MAP_FAILED
                               : mmap(NULL, size, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages != MAP_FAILED) {
        blocks++;
        bytes += (long long)size;
    }
    pthread_mutex_unlock(&lock);
    return pages == MAP_FAILED ? NULL : pages;
}

static void unmap(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    if (munmap(ptr, size) != 0)
        fuzz_fail("the library unmaps %zu bytes at %p", size, ptr);
    pthread_mutex_lock(&lock);
    blocks--;
    bytes -= (long long)size;
    pthread_mutex_unlock(&lock);
}

jzx_mapper fuzz_mapper(void) {
    return (jzx_mapper){map, unmap, NULL};
}

jzx_allocator fuzz_allocator(void) {
    return (jzx_allocator){allocate, release, NULL};
}

void fuzz_memory_reset(uint64_t seed, unsigned one_in) {
    pthread_mutex_lock(&lock);
    first = NULL;
    blocks = bytes = 0;
    number = 0;
    seed_of_failures = seed;
    fails_one_in = one_in;
    may_fail = false;
    pthread_mutex_unlock(&lock);
}

void fuzz_memory_fails(bool may) {
    pthread_mutex_lock(&lock);
    may_fail = may;
    pthread_mutex_unlock(&lock);
}

long long fuzz_memory_blocks(void) {
    pthread_mutex_lock(&lock);
    long long result = blocks;
    pthread_mutex_unlock(&lock);
    return result;
}

long long fuzz_memory_bytes(void) {
    pthread_mutex_lock(&lock);
    long long result = bytes;
    pthread_mutex_unlock(&lock);
    return result;
}

void fuzz_memory_report(FILE *out) {
    unsigned told = 0;
    for (struct header *block = first; block != NULL && told < TOLD; block = block->next, told++)
        fprintf(out, "  left: %zu bytes, allocation %llu, begins with %016llx %016llx\n",
                block->size, (unsigned long long)block->number,
                block->size >= 8 ? (unsigned long long)*(uint64_t *)(void *)(block + 1) : 0,
                block->size >= 16 ? (unsigned long long)((uint64_t *)(void *)(block + 1))[1] : 0);
}
