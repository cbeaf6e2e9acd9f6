/* SPDX-License-Identifier: MIT */
/* Fibers for which the system has no stack: each ends at its first turn and says which limit it
 * was, the others go on, and with room again so do new ones. */
#include "fibering.h"

#include <jzx/exit.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Sanitizers need most of what is limited here themselves. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

#define MAPPINGS_MAX 100000u  /* more are too many for a test */
#define STACK_SIZE (1u << 20) /* of a slab that the fiber which waits is not in */

enum { GO = 1, LAST = 2 };

static uint32_t begun;

static void begin_and_end(jzx_context *ctx) {
    (void)ctx;
    begun++;
}

/* Spawns a fiber each time it is told to, and hears how that ended. */
struct parent {
    uint32_t told;
    uint32_t stack_size; /* of the fiber */
    jzx_exit_notice how;
};

static void spawn_and_join(jzx_context *ctx) {
    struct parent *self = ctx->state;
    jzx_message msg;
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK && msg.tag == GO) {
        jzx_actor_id id =
            fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = begin_and_end,
                                                     .stack_size_bytes = self->stack_size));
        JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, &self->how), JZX_OK);
        self->told++;
    }
}

static void go(const struct timing *timing, jzx_actor_id id, struct parent *parent) {
    uint32_t told = parent->told;
    fixture_send(timing->loop, id, GO);
    timing_step(timing);
    JZX_EXPECT_EQ(parent->told, told + 1);
}

/* Twice without a stack, and once more with one. */
static void try_without_stack(void (*exhaust)(void), void (*give_back)(void), const char *limit) {
    struct timing timing = timing_open();
    struct parent parent = {0};
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = spawn_and_join, .state = &parent));
    timing_step(&timing);
    go(&timing, id, &parent); /* has what it needs besides, from now on */
    begun = 0;
    parent.stack_size = STACK_SIZE;
    exhaust();
    for (int i = 0; i < 2; i++) {
        go(&timing, id, &parent);
        JZX_EXPECT_EQ(begun, 0);
        JZX_EXPECT_EQ(parent.how.reason, JZX_EXIT_FAIL);
        JZX_EXPECT(strstr(parent.how.text, limit) != NULL);
    }
    give_back();
    go(&timing, id, &parent);
    JZX_EXPECT_EQ(begun, 1);
    JZX_EXPECT_EQ(parent.how.reason, JZX_EXIT_NORMAL);
    fixture_send(timing.loop, id, LAST);
    timing_step(&timing);
    timing_close(&timing);
}

/* ---- mappings ---- */

static unsigned char *pages;
static size_t pages_size;

/* Every other page differs from its neighbours, so that each is a mapping of its own. */
static void use_all_mappings(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    pages_size = 2 * MAPPINGS_MAX * page;
    pages = mmap(NULL, pages_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(pages != MAP_FAILED);
    size_t at = page;
    while (at < pages_size && mprotect(pages + at, page, PROT_READ) == 0)
        at += 2 * page;
    assert_true(at < pages_size);
    assert_int_equal(errno, ENOMEM);
    void *last; /* those that are left when two are not */
    do {
        last = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    } while (last != MAP_FAILED);
}

static void give_mappings_back(void) {
    assert_int_equal(munmap(pages, pages_size), 0);
}

static unsigned long long mapping_limit(void) {
    unsigned long long limit = 0;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu", &limit), 1);
    fclose(file);
    return limit;
}

JZX_TEST(a_fiber_without_a_mapping_ends_and_names_the_limit, "C+fail") {
    if (IS_SANITIZED || mapping_limit() > MAPPINGS_MAX)
        skip();
    try_without_stack(use_all_mappings, give_mappings_back, "vm.max_map_count");
}

/* ---- address space ---- */

static struct rlimit limit_before;

static void limit_address_space(size_t room) {
    unsigned long long count = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu", &count), 1);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_AS, &limit_before), 0);
    struct rlimit limit = limit_before;
    limit.rlim_cur = count * (rlim_t)sysconf(_SC_PAGESIZE) + room;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void use_all_addresses(void) {
    limit_address_space(STACK_SIZE / 2);
}

static void give_addresses_back(void) {
    assert_int_equal(setrlimit(RLIMIT_AS, &limit_before), 0);
}

JZX_TEST(a_fiber_without_address_space_ends_and_names_the_limit, "C+fail") {
    if (IS_SANITIZED)
        skip();
    try_without_stack(use_all_addresses, give_addresses_back, "RLIMIT_AS");
}

/* ---- some get one ---- */

static uint32_t failed;

static void note_end(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    failed += reason == JZX_EXIT_FAIL;
}

static void begin_and_wait(jzx_context *ctx) {
    jzx_message msg;
    begun++;
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
}

/* Those that have a stack keep it until they end; then others get it. */
JZX_TEST(some_fibers_get_stacks_and_the_others_end, "C+fail") {
    enum { COUNT = 64, LARGE = 16 << 20, ROOM = 200 << 20 };
    jzx_actor_id ids[COUNT];
    if (IS_SANITIZED)
        skip();
    struct timing timing = timing_open();
    begun = 0;
    failed = 0;
    limit_address_space(ROOM);
    for (int round = 1; round <= 2; round++) {
        for (uint32_t i = 0; i < COUNT; i++)
            ids[i] = fixture_spawn(timing.loop,
                                   &JZX_SPAWN_OPTS(.fiber = begin_and_wait, .cleanup = note_end,
                                                   .stack_size_bytes = LARGE));
        timing_step(&timing);
        JZX_EXPECT_EQ(begun + failed, (uint32_t)round * COUNT);
        JZX_EXPECT_EQ(begun % (uint32_t)round, 0); /* as many as before, on the same stacks */
        JZX_EXPECT(begun >= 4 * (uint32_t)round && failed >= (uint32_t)round * COUNT / 2);
        for (uint32_t i = 0; i < COUNT; i++)
            (void)jzx_send(timing.loop, ids[i], JZX_NOBODY, NULL, 0, GO);
        timing_step(&timing);
        JZX_EXPECT(!jzx_loop_alive(timing.loop));
    }
    give_addresses_back();
    timing_close(&timing);
}
