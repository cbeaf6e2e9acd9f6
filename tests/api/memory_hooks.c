/* SPDX-License-Identifier: MIT */
/* All memory of a loop comes from its two pairs of hooks. The process grows by what they gave,
 * each of their calls may fail, and at the end both have all of it back. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/time.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if !defined(IS_SANITIZED)
#define IS_SANITIZED 0
#endif

/* ---- hooks that map ---- */

/* The pages that a pair of hooks has given and not got back. */
struct ledger {
    uint64_t bytes;
    uint64_t calls;
    uint64_t fails_from;   /* the first call that fails, */
    uint64_t fails_until;  /* and the first after it that does not */
    struct ledger *shared; /* counts the calls, if that is another */
};

static size_t to_pages(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

static void *take_pages(void *ctx, size_t size) {
    struct ledger *ledger = ctx;
    struct ledger *counter = ledger->shared != NULL ? ledger->shared : ledger;
    uint64_t call = counter->calls++;
    if (call >= counter->fails_from && call < counter->fails_until)
        return NULL;
    void *pages = mmap(NULL, to_pages(size), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!JZX_EXPECT(pages != MAP_FAILED))
        return NULL;
    ledger->bytes += to_pages(size);
    return pages;
}

static void give_pages(void *ctx, void *ptr, size_t size) {
    struct ledger *ledger = ctx;
    ledger->bytes -= to_pages(size);
    JZX_EXPECT_EQ(munmap(ptr, to_pages(size)), 0);
}

static jzx_loop *open_loop(struct ledger *blocks, struct ledger *stacks, uint32_t contain) {
    return jzx_loop_create(&JZX_CONFIG(.workers = 1, .contain = contain, .track_buffers = true,
                                       .log.level = JZX_LOG_OFF,
                                       .allocator = {take_pages, give_pages, blocks},
                                       .mapper = {take_pages, give_pages, stacks}));
}

/* ---- the balance ---- */

/* The address space of the process, in bytes; without stdio, which has buffers. */
static uint64_t mapped_by_process(void) {
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    JZX_EXPECT(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t in_use_of_malloc(void) {
#if defined(__GLIBC__)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

static void park(jzx_context *ctx) {
    jzx_message msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
}

/* The heap of the C library grows by about as much at a time. */
#define TOLERANCE_MAPPED ((uint64_t)256 << 10)

/* Blocks of malloc that the hooks did not give: there is none, but for what the C library keeps. */
#define TOLERANCE_MALLOC 1024u

#define FIBERS 1000u

JZX_TEST(a_thousand_parked_fibers_have_their_memory_from_the_hooks_alone, "C17") {
    struct ledger blocks = {0};
    struct ledger stacks = {0};
    if (IS_SANITIZED)
        skip(); /* they map shadow memory, and delay what is freed */
    uint64_t mapped_before = mapped_by_process();
    uint64_t malloc_before = in_use_of_malloc();
    jzx_loop *loop = open_loop(&blocks, &stacks, 0);
    assert_non_null(loop);
    for (uint32_t i = 0; i < FIBERS; i++)
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = park));
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), FIBERS);

    uint64_t grown = mapped_by_process() - mapped_before;
    uint64_t given = blocks.bytes + stacks.bytes;
    JZX_EXPECT(stacks.bytes >= (uint64_t)FIBERS * 64 * 1024);
    JZX_EXPECT(blocks.bytes > 0);
    JZX_EXPECT(grown >= given);
    JZX_EXPECT(grown - given <= TOLERANCE_MAPPED);
    JZX_EXPECT(in_use_of_malloc() <= malloc_before + TOLERANCE_MALLOC);

    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
    JZX_EXPECT_EQ(blocks.bytes, 0);
    JZX_EXPECT_EQ(stacks.bytes, 0);
    JZX_EXPECT(mapped_by_process() <= mapped_before + TOLERANCE_MAPPED);
    JZX_EXPECT(in_use_of_malloc() <= malloc_before + TOLERANCE_MALLOC);
}

JZX_TEST(the_signal_stack_of_a_loop_that_contains_faults_comes_from_the_hooks, "C17") {
    struct ledger blocks = {0};
    struct ledger stacks = {0};
    jzx_loop *loop = open_loop(&blocks, &stacks, JZX_CONTAIN_OVERFLOW);
    assert_non_null(loop);
    JZX_EXPECT(stacks.bytes > 64 * 1024);
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
    JZX_EXPECT_EQ(stacks.bytes + blocks.bytes, 0);
}

/* ---- failures ---- */

static void answer(jzx_context *ctx) {
    jzx_message msg;
    char frame[20000]; /* of a stack that is used */
    memset(frame, 1, sizeof frame);
    jzx_test_ran();
    if (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK && frame[msg.tag] != 0) {
        void *block = jzx_alloc(ctx, 3000);
        (void)block; /* goes with the actor */
    }
}

static bool worked(jzx_err err) {
    return err == JZX_OK || (JZX_EXPECT_EQ(err, JZX_ERR_NO_MEMORY), false);
}

/* A clock, a loop, fibers with stacks of three sizes, and mail for them. */
static void play(struct ledger *blocks, struct ledger *stacks) {
    static const uint32_t sizes[] = {0, 256 << 10, 16 << 20};
    const jzx_allocator allocator = {take_pages, give_pages, blocks};
    jzx_clock *clock = NULL;
    if (!worked(jzx_clock_create(0, &allocator, &clock)))
        return;
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .clock = clock,
                                                 .contain = IS_SANITIZED ? 0 : JZX_CONTAIN_OVERFLOW,
                                                 .log.level = JZX_LOG_OFF, .track_buffers = true,
                                                 .allocator = allocator,
                                                 .mapper = {take_pages, give_pages, stacks}));
    for (uint32_t i = 0; loop != NULL && i < 6; i++) {
        jzx_actor_id id = JZX_NOBODY;
        if (worked(jzx_spawn(
                loop, &JZX_SPAWN_OPTS(.fiber = answer, .stack_size_bytes = sizes[i % 3]), &id)))
            (void)worked(jzx_send(loop, id, JZX_NOBODY, &id, sizeof id, 7));
    }
    if (loop != NULL) {
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
}

/* The n-th call of both pairs together and those after it, up to `failures`, for every n. */
static void fail_each(uint64_t failures) {
    struct ledger calls = {0};
    struct ledger blocks = {.shared = &calls};
    struct ledger stacks = {.shared = &calls};
    play(&blocks, &stacks);
    JZX_EXPECT_EQ(jzx_test_runs(), 6);
    JZX_EXPECT_EQ(blocks.bytes + stacks.bytes, 0);
    uint64_t total = calls.calls;
    JZX_EXPECT(total > 10);
    for (uint64_t n = 0; n < total; n++) {
        calls = (struct ledger){.fails_from = n,
                                .fails_until = failures == UINT64_MAX ? UINT64_MAX : n + failures};
        play(&blocks, &stacks);
        JZX_EXPECT(calls.calls > n);
        JZX_EXPECT_EQ(blocks.bytes, 0);
        JZX_EXPECT_EQ(stacks.bytes, 0);
    }
}

JZX_TEST(when_the_nth_call_of_the_hooks_fails_nothing_is_left_for_every_n, "C17", "C+fail") {
    fail_each(1);
}

JZX_TEST(when_all_calls_of_the_hooks_from_the_nth_on_fail_nothing_is_left, "C17", "C+fail") {
    fail_each(UINT64_MAX);
}

/* ---- addresses that a hook may not return ---- */

/* Hands out an address inside its pages. */
struct crooked {
    struct ledger ledger;
    bool is_on;
};

static void *take_crooked(void *ctx, size_t size) {
    struct crooked *crooked = ctx;
    char *pages = take_pages(&crooked->ledger, size + (crooked->is_on ? 4096u : 0));
    return crooked->is_on && pages != NULL ? pages + 64 : pages;
}

static void give_crooked(void *ctx, void *ptr, size_t size) {
    struct crooked *crooked = ctx;
    bool is_crooked = (uintptr_t)ptr % 4096u != 0;
    give_pages(&crooked->ledger, (char *)ptr - (is_crooked ? 64 : 0),
               size + (is_crooked ? 4096u : 0));
}

static void never_begin(jzx_context *ctx) {
    (void)ctx;
    jzx_test_ran();
}

static void join_one_without_stack(jzx_context *ctx) {
    struct crooked *crooked = ctx->state;
    jzx_exit_notice how;
    crooked->is_on = true;
    uint64_t calls = crooked->ledger.calls;
    jzx_actor_id id = fixture_spawn(
        ctx->loop, &JZX_SPAWN_OPTS(.fiber = never_begin, .stack_size_bytes = 1u << 20));
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, &how), JZX_OK);
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_FAIL);
    JZX_EXPECT(strstr(how.text, "no memory") != NULL);
    JZX_EXPECT_EQ(crooked->ledger.calls, calls + 1);
    crooked->is_on = false;
}

JZX_TEST(an_address_that_is_no_page_counts_as_no_memory_and_goes_back, "C17") {
    struct ledger blocks = {0};
    struct crooked crooked = {.is_on = false};
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .log.level = JZX_LOG_OFF,
                                                 .allocator = {take_pages, give_pages, &blocks},
                                                 .mapper = {take_crooked, give_crooked, &crooked}));
    assert_non_null(loop);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = join_one_without_stack, .state = &crooked));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(crooked.ledger.bytes > 0);
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
    JZX_EXPECT_EQ(crooked.ledger.bytes, 0);
    JZX_EXPECT_EQ(blocks.bytes, 0);
    JZX_EXPECT_EQ(jzx_test_runs(), 0);
}
