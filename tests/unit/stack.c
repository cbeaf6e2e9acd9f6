/* SPDX-License-Identifier: MIT */
/* Stacks of fibers: sizes, guards, pools, limits, and every failure of the system. */
#include "base/stack.h"

#include "base/switch.h"
#include "base/switch_side.h"

#include "child.h"
#include "jzx_test.h"

#include <jzx/exit.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#if defined(JZX__SWITCH_ASAN) || defined(JZX__HAS_TSAN)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

#define KIB ((size_t)1 << 10)
#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL */

static struct jzx__stacks stacks;
static struct jzx__stack_pool pool;

static void open_with(struct jzx__stacks_options options) {
    jzx__stacks_init(&stacks, &options);
    jzx__stack_pool_init(&pool, &stacks);
}

static void open_stacks(void) {
    open_with((struct jzx__stacks_options){.idle_bytes_max = JZX__STACK_IDLE_BYTES_DEFAULT});
}

static void close_stacks(void) {
    jzx__stack_pool_deinit(&pool);
    jzx__stacks_deinit(&stacks);
}

static struct jzx__stack *take(size_t size) {
    struct jzx__stack *stack = NULL;
    assert_int_equal(jzx__stack_take(&pool, size, &stack), JZX__STACK_OK);
    return stack;
}

/* Reserves as much as a stack of that class does. */
static size_t reserved_size(const struct jzx__stack *stack) {
    size_t page = stacks.page_size;
    return ((uintptr_t)stack->top + page - 1) / page * page - (uintptr_t)stack->base;
}

static void touch_pages(struct jzx__stack *stack, size_t count) {
    for (size_t i = 0; i < count; i++)
        stack->base[reserved_size(stack) - 1 - i * stacks.page_size] = 1;
}

/* ---- sizes ---- */

JZX_TEST(a_stack_has_the_next_power_of_two_less_its_colour) {
    static const struct {
        size_t asked, reserved;
    } rows[] = {
        {0, 64 * KIB},         {1, 16 * KIB},
        {16 * KIB, 16 * KIB},  {16385, 32 * KIB},
        {64 * KIB, 64 * KIB},  {100000, 128 * KIB},
        {1 << 20, 1024 * KIB}, {(64 << 20) - 1, 64 << 20},
        {64 << 20, 64 << 20},
    };
    open_stacks();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct jzx__stack *stack = take(rows[i].asked);
        JZX_EXPECT_EQ(reserved_size(stack), rows[i].reserved);
        JZX_EXPECT(jzx__stack_size(stack) > rows[i].reserved - KIB);
        JZX_EXPECT_EQ((uintptr_t)stack->base % stacks.page_size, 0);
        JZX_EXPECT_EQ((uintptr_t)stack->top % 64, 0);
        stack->base[0] = 1;
        stack->top[-1] = 1;
        jzx__stack_give(&pool, stack);
    }
    struct jzx__stack *none = NULL;
    JZX_EXPECT_EQ(jzx__stack_take(&pool, ((size_t)64 << 20) + 1, &none), JZX__STACK_TOO_LARGE);
    JZX_EXPECT_EQ(jzx__stack_take(&pool, SIZE_MAX, &none), JZX__STACK_TOO_LARGE);
    JZX_EXPECT(none == NULL);
    close_stacks();
}

JZX_TEST(the_upper_ends_of_neighbours_differ_by_cache_lines) {
    struct jzx__stack *taken[JZX__STACK_COLOUR_COUNT];
    uint32_t seen = 0;
    open_stacks();
    for (size_t i = 0; i < JZX__STACK_COLOUR_COUNT; i++) {
        taken[i] = take(0);
        size_t below = (size_t)(taken[i]->base + reserved_size(taken[i]) - taken[i]->top);
        JZX_EXPECT(below < KIB);
        seen |= 1u << below / 64;
    }
    JZX_EXPECT_EQ(seen, 0xffff);
    for (size_t i = 0; i < JZX__STACK_COLOUR_COUNT; i++)
        jzx__stack_give(&pool, taken[i]);
    close_stacks();
}

/* ---- pools ---- */

JZX_TEST(the_stack_that_was_given_last_is_taken_first) {
    open_stacks();
    struct jzx__stack *a = take(0);
    struct jzx__stack *b = take(0);
    struct jzx__stack *large = take(128 * KIB);
    JZX_EXPECT(a != b);
    jzx__stack_give(&pool, a);
    jzx__stack_give(&pool, b);
    jzx__stack_give(&pool, large);
    JZX_EXPECT(take(0) == b);
    JZX_EXPECT(take(0) == a);
    JZX_EXPECT(take(128 * KIB) == large);
    jzx__stack_give(&pool, a);
    jzx__stack_give(&pool, b);
    jzx__stack_give(&pool, large);
    close_stacks();
}

JZX_TEST(stacks_taken_here_and_given_there_come_back) {
    struct jzx__stack_pool other;
    open_stacks();
    jzx__stack_pool_init(&other, &stacks);
    for (int i = 0; i < 10000; i++)
        jzx__stack_give(&other, take(0));
    struct jzx__stack_totals totals = jzx__stacks_totals(&stacks);
    JZX_EXPECT_EQ(totals.slab_count, 1);
    JZX_EXPECT_EQ(totals.in_use_count, 0);
    JZX_EXPECT(totals.idle_count <= 64);
    jzx__stack_pool_deinit(&other);
    close_stacks();
}

JZX_TEST(all_stacks_are_accounted_for) {
    struct jzx__stack *taken[200];
    open_stacks();
    struct jzx__stack_totals totals = jzx__stacks_totals(&stacks);
    JZX_EXPECT_EQ(totals.reserved_bytes, 0);
    for (size_t i = 0; i < 200; i++) {
        taken[i] = take(0);
        totals = jzx__stacks_totals(&stacks);
        JZX_EXPECT_EQ(totals.in_use_count, i + 1);
    }
    JZX_EXPECT_EQ(totals.slab_count, 2);
    JZX_EXPECT_EQ(totals.reserved_bytes,
                  2 * (112 * (64 * KIB + stacks.page_size) + stacks.page_size));
    for (size_t i = 0; i < 200; i++)
        jzx__stack_give(&pool, taken[i]);
    totals = jzx__stacks_totals(&stacks);
    JZX_EXPECT_EQ(totals.in_use_count, 0);
    JZX_EXPECT(totals.idle_count >= 200 && totals.idle_count <= 224);
    JZX_EXPECT_EQ(totals.cold_count, 0);
    close_stacks();
}

static void close_with_a_stack_in_use(void) {
    open_stacks();
    take(0);
    close_stacks();
}

JZX_TEST(a_stack_in_use_cannot_be_forgotten) {
    struct child_end end = run_in_child(close_with_a_stack_in_use);
    JZX_EXPECT(child_aborted(&end, "past_taken == stacks->past_given"));
}

/* ---- guards ---- */

static bool died_of_fault(const struct child_end *end) {
    if (WIFSIGNALED(end->status))
        return WTERMSIG(end->status) == SIGSEGV;
    return IS_SANITIZED && strstr(end->text, "SEGV") != NULL;
}

static size_t below; /* the base */
static bool protects;

static void write_below_a_stack(void) {
    signal(SIGSEGV, SIG_DFL);
    open_with((struct jzx__stacks_options){.protects = protects});
    struct jzx__stack *stack = NULL;
    for (int i = 0; i < 3; i++)
        stack = take(0);
    *(volatile unsigned char *)(stack->base - below) = 1;
}

JZX_TEST(the_page_below_a_stack_is_a_guard) {
    for (int i = 0; i < 2; i++) {
        protects = i == 1;
        below = 1;
        struct child_end first = run_in_child(write_below_a_stack);
        JZX_EXPECT(died_of_fault(&first));
        below = (size_t)sysconf(_SC_PAGESIZE);
        struct child_end last = run_in_child(write_below_a_stack);
        JZX_EXPECT(died_of_fault(&last));
        below = 0;
        struct child_end inside = run_in_child(write_below_a_stack);
        JZX_EXPECT_EQ(inside.status, 0);
    }
}

JZX_TEST(a_reused_stack_still_has_its_guard) {
    open_with((struct jzx__stacks_options){.idle_bytes_max = 0});
    for (int round = 0; round < 3; round++) {
        struct jzx__stack *taken[100];
        for (size_t i = 0; i < 100; i++) {
            taken[i] = take(0);
            /* The system reads it for us: no fault, but an error. */
            int ends[2];
            assert_int_equal(pipe(ends), 0);
            JZX_EXPECT_EQ(write(ends[1], taken[i]->base - 1, 1), -1);
            JZX_EXPECT_EQ(errno, EFAULT);
            JZX_EXPECT_EQ(write(ends[1], taken[i]->base, 1), 1);
            close(ends[0]);
            close(ends[1]);
        }
        for (size_t i = 0; i < 100; i++)
            jzx__stack_give(&pool, taken[i]);
    }
    close_stacks();
}

JZX_TEST(a_guard_page_leads_to_its_stack) {
    struct jzx__stack *taken[200];
    open_stacks();
    JZX_EXPECT(jzx__stacks_find_guard(&stacks, (uintptr_t)&stacks) == NULL);
    for (size_t i = 0; i < 200; i++)
        taken[i] = take(i % 3 == 0 ? 16 * KIB : i % 3 == 1 ? 64 * KIB : 2048 * KIB);
    for (size_t i = 0; i < 200; i++) {
        struct jzx__stack *stack = taken[i];
        uintptr_t base = (uintptr_t)stack->base;
        uintptr_t guard = base - stacks.page_size;
        JZX_EXPECT(jzx__stacks_find_guard(&stacks, base - 1) == stack);
        JZX_EXPECT(jzx__stacks_find_guard(&stacks, guard) == stack);
        JZX_EXPECT(jzx__stacks_find_guard(&stacks, base) == NULL);
        JZX_EXPECT(jzx__stacks_find_guard(&stacks, guard - 1) == NULL);
        JZX_EXPECT(jzx__stack_is_guard(&stacks, stack, base - 1));
        JZX_EXPECT(jzx__stack_is_guard(&stacks, stack, guard));
        JZX_EXPECT(!jzx__stack_is_guard(&stacks, stack, base));
        JZX_EXPECT(!jzx__stack_is_guard(&stacks, stack, guard - 1));
    }
    JZX_EXPECT(jzx__stacks_find_guard(&stacks, 0) == NULL);
    JZX_EXPECT(jzx__stacks_find_guard(&stacks, UINTPTR_MAX) == NULL);
    for (size_t i = 0; i < 200; i++)
        jzx__stack_give(&pool, taken[i]);
    close_stacks();
}

/* ---- memory ---- */

static uint64_t resident_bytes(void) {
    unsigned long long total = 0;
    unsigned long long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu %llu", &total, &resident), 2);
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t mapping_count(void) {
    uint64_t lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    for (int c = fgetc(file); c != EOF; c = fgetc(file))
        lines += c == '\n';
    fclose(file);
    return lines;
}

JZX_TEST(twenty_thousand_stacks_cost_a_page_each_and_few_mappings) {
    size_t count = IS_SANITIZED ? 5000 : 20000;
    struct jzx__stack **taken = malloc(count * sizeof *taken);
    assert_non_null(taken);
    memset(taken, 0, count * sizeof *taken);
    open_stacks();
    uint64_t resident_before = resident_bytes();
    uint64_t mappings_before = mapping_count();
    for (size_t i = 0; i < count; i++) {
        taken[i] = take(0);
        taken[i]->top[-1] = 1;
    }
    uint64_t resident = resident_bytes() - resident_before;
    if (!IS_SANITIZED) /* which have memory of their own for it */
        JZX_EXPECT(resident <= count * 4608);
    JZX_EXPECT(resident >= count * stacks.page_size);
    uint64_t mappings = mapping_count() - mappings_before;
    if (atomic_load(&stacks.protects) == 0)
        JZX_EXPECT(mappings <= count / 20);
    else
        JZX_EXPECT(mappings <= 2 * count + count / 20);
    printf("%zu stacks: %.0f bytes resident each, %llu mappings\n", count,
           (double)resident / (double)count, (unsigned long long)mappings);
    for (size_t i = 0; i < count; i++)
        jzx__stack_give(&pool, taken[i]);
    free(taken);
    close_stacks();
    if (!IS_SANITIZED)
        JZX_EXPECT(mapping_count() <= mappings_before);
}

JZX_TEST(the_high_water_mark_counts_the_pages_that_were_touched) {
    open_with((struct jzx__stacks_options){.idle_bytes_max = 0});
    struct jzx__stack *stack = take(8192 * KIB); /* more than one look at its pages */
    size_t page_count = reserved_size(stack) / stacks.page_size;
    JZX_EXPECT_EQ(jzx__stack_high_water(&stacks, stack), 0);
    for (size_t pages = 1; pages <= page_count; pages = pages * 3 + 1) {
        touch_pages(stack, pages);
        JZX_EXPECT_EQ(jzx__stack_high_water(&stacks, stack), pages * stacks.page_size);
    }
    stack->base[0] = 1;
    JZX_EXPECT_EQ(jzx__stack_high_water(&stacks, stack), reserved_size(stack));
    jzx__stack_give(&pool, stack);
    close_stacks();
}

#define MANY 192 /* whole slabs and batches: all that exist are used */

JZX_TEST(idle_stacks_above_the_limit_give_their_pages_back) {
    struct jzx__stack *taken[MANY];
    uint32_t with_pages = 0;
    open_with((struct jzx__stacks_options){.idle_bytes_max = 10 * 64 * KIB});
    for (size_t i = 0; i < MANY; i++) {
        taken[i] = take(0);
        touch_pages(taken[i], 16);
    }
    for (size_t i = 0; i < MANY; i++)
        jzx__stack_give(&pool, taken[i]);
    for (size_t i = 0; i < MANY; i++)
        with_pages += jzx__stack_high_water(&stacks, taken[i]) != 0;
    JZX_EXPECT(with_pages >= 10 + 16 && with_pages <= 10 + 32); /* the loop's and the pool's */
    struct jzx__stack_totals totals = jzx__stacks_totals(&stacks);
    JZX_EXPECT_EQ(totals.cold_count, MANY - with_pages);
    JZX_EXPECT_EQ(totals.in_use_count, 0);
    for (size_t i = 0; i < MANY; i++) { /* those with pages first */
        struct jzx__stack *stack = take(0);
        JZX_EXPECT_EQ(jzx__stack_high_water(&stacks, stack) != 0, i < with_pages);
        if (i >= with_pages)
            JZX_EXPECT_EQ(stack->top[-1], 0);
        taken[i] = stack;
    }
    JZX_EXPECT_EQ(jzx__stacks_totals(&stacks).cold_count, 0);
    for (size_t i = 0; i < MANY; i++)
        jzx__stack_give(&pool, taken[i]);
    close_stacks();
}

/* ---- hooks ---- */

#define HOOK_PAGES_MAX ((size_t)16 << 20)

static unsigned char *hook_pages;
static int64_t hook_bytes;

static void *hook_map(void *ctx, size_t size) {
    (void)ctx;
    assert_true(size <= HOOK_PAGES_MAX && hook_bytes == 0);
    hook_bytes += (int64_t)size;
    memset(hook_pages, 0xff, size);
    return hook_pages;
}

/* Each page can be used again. */
static void hook_unmap(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    hook_bytes -= (int64_t)size;
    for (size_t i = 0; i < size; i += 4096)
        ((unsigned char *)ptr)[i] = 1;
}

/* T5, for both sorts of guards, in memory that the program uses again. */
JZX_TEST(a_slab_of_the_hooks_goes_back_without_guards, "C17") {
    hook_pages =
        mmap(NULL, HOOK_PAGES_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(hook_pages != MAP_FAILED);
    for (int round = 0; round < 4; round++) {
        struct jzx__stack *taken[20];
        open_with((struct jzx__stacks_options){.mapper = {hook_map, hook_unmap, NULL},
                                               .protects = round % 2 == 1});
        for (size_t i = 0; i < 20; i++) {
            taken[i] = take(0);
            JZX_EXPECT(taken[i]->is_guarded);
            taken[i]->top[-1] = 1;
        }
        JZX_EXPECT(hook_bytes > 0);
        for (size_t i = 0; i < 20; i++)
            jzx__stack_give(&pool, taken[i]);
        close_stacks();
        JZX_EXPECT_EQ(hook_bytes, 0);
    }
    munmap(hook_pages, HOOK_PAGES_MAX);
}

/* ---- a system that fails ---- */

static struct {
    int64_t calls_left; /* until one fails; negative: none does */
    int error;
    size_t largest;     /* of a mapping; 0: any */
    bool has_no_advice; /* MADV_GUARD_INSTALL is unknown */
    uint64_t protects;  /* calls */
    uint64_t guards;    /* the same */
    uint64_t map_count; /* of those that succeeded */
    int64_t bytes_mapped;
} fake;

static bool fails(void) {
    if (fake.calls_left < 0 || fake.calls_left-- != 0)
        return false;
    errno = fake.error;
    return true;
}

static void *fake_map(size_t size, int protection) {
    if (fails())
        return MAP_FAILED;
    if (fake.largest != 0 && size > fake.largest) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *memory = jzx__stack_system_default.map(size, protection);
    if (memory != MAP_FAILED) {
        fake.map_count++;
        fake.bytes_mapped += (int64_t)size;
    }
    return memory;
}

static int fake_unmap(void *address, size_t size) {
    fake.bytes_mapped -= (int64_t)size;
    return jzx__stack_system_default.unmap(address, size);
}

static int fake_advise(void *address, size_t size, int advice) {
    if (fails())
        return -1;
    if (advice == GUARD_INSTALL && fake.has_no_advice) {
        errno = EINVAL;
        return -1;
    }
    fake.guards += advice == GUARD_INSTALL;
    return jzx__stack_system_default.advise(address, size, advice);
}

static int fake_protect(void *address, size_t size, int protection) {
    if (fails())
        return -1;
    fake.protects++;
    return jzx__stack_system_default.protect(address, size, protection);
}

static const struct jzx__stack_system fake_system = {fake_map, fake_unmap, fake_advise,
                                                     fake_protect};

static void open_fake(bool has_no_advice) {
    memset(&fake, 0, sizeof fake);
    fake.calls_left = -1;
    fake.error = ENOMEM;
    fake.has_no_advice = has_no_advice;
    open_with((struct jzx__stacks_options){.system = &fake_system});
}

static void close_fake(void) {
    fake.calls_left = -1;
    close_stacks();
    JZX_EXPECT_EQ(fake.bytes_mapped, 0);
}

JZX_TEST(a_system_without_the_advice_gets_its_guards_by_protection) {
    open_fake(true);
    struct jzx__stack *a = take(0);
    struct jzx__stack *b = take(0);
    JZX_EXPECT_EQ(fake.protects, 2);
    JZX_EXPECT_EQ(fake.guards, 0);
    JZX_EXPECT_EQ(atomic_load(&stacks.protects), 1);
    jzx__stack_give(&pool, a);
    jzx__stack_give(&pool, b);
    JZX_EXPECT(take(0) == b);
    JZX_EXPECT_EQ(fake.protects, 2);
    jzx__stack_give(&pool, b);
    close_fake();
}

/* Takes, uses and gives stacks until all has been done once; every refusal is one that it can be,
 * and the same call works the next time. Returns the number of refusals. */
static uint32_t use_stacks(void) {
    static const size_t sizes[] = {0, 0, 512 * KIB, 64 << 20};
    struct jzx__stack *taken[4] = {NULL};
    uint32_t refusals = 0;
    for (size_t i = 0; i < 4; i++) {
        enum jzx__stack_status status = jzx__stack_take(&pool, sizes[i], &taken[i]);
        if (status != JZX__STACK_OK) {
            JZX_EXPECT(status == JZX__STACK_NO_MEMORY || status == JZX__STACK_MAPPING_LIMIT);
            JZX_EXPECT(taken[i] == NULL);
            refusals++;
            taken[i] = take(sizes[i]);
        }
        taken[i]->top[-1] = 1;
    }
    JZX_EXPECT_EQ(jzx__stacks_totals(&stacks).in_use_count, 4);
    for (size_t i = 0; i < 4; i++)
        jzx__stack_give(&pool, taken[i]);
    JZX_EXPECT_EQ(jzx__stacks_totals(&stacks).in_use_count, 0);
    return refusals;
}

JZX_TEST(any_call_of_the_system_may_fail) {
    for (int mode = 0; mode < 2; mode++) {
        uint32_t refusals = 0;
        int64_t n = 0;
        bool has_failed = true;
        for (; has_failed; n++) {
            open_fake(mode == 1);
            fake.calls_left = n;
            refusals += use_stacks();
            jzx__stack_pool_deinit(&pool); /* gives pages back */
            jzx__stack_pool_init(&pool, &stacks);
            has_failed = fake.calls_left < 0;
            close_fake();
        }
        /* Of the slabs, of the guards, and of the look for the advice; the rest are hints. */
        JZX_EXPECT_EQ(refusals, 3 + 4 + mode);
        JZX_EXPECT(n > 7);
    }
}

JZX_TEST(a_refusal_names_the_limit) {
    struct jzx__stack *stack = NULL;
    open_fake(false);
    fake.largest = 1; /* not even a page */
    JZX_EXPECT_EQ(jzx__stack_take(&pool, 0, &stack), JZX__STACK_MAPPING_LIMIT);
    fake.largest = stacks.page_size;
    JZX_EXPECT_EQ(jzx__stack_take(&pool, 0, &stack), JZX__STACK_NO_MEMORY);
    fake.largest = 0;
    JZX_EXPECT_EQ(jzx__stack_take(&pool, 0, &stack), JZX__STACK_OK);
    jzx__stack_give(&pool, stack);
    close_fake();
    JZX_EXPECT(strstr(jzx__stack_status_text(JZX__STACK_MAPPING_LIMIT), "vm.max_map_count"));
    JZX_EXPECT(strstr(jzx__stack_status_text(JZX__STACK_ADDRESS_LIMIT), "RLIMIT_AS"));
    JZX_EXPECT(strstr(jzx__stack_status_text(JZX__STACK_NO_MEMORY), "no memory"));
    JZX_EXPECT(strstr(jzx__stack_status_text(JZX__STACK_TOO_LARGE), "64 MiB"));
    JZX_EXPECT(strstr(jzx__stack_status_text(JZX__STACK_OK), "no error"));
    for (int status = JZX__STACK_OK; status <= JZX__STACK_ADDRESS_LIMIT; status++)
        JZX_EXPECT(strlen(jzx__stack_status_text((enum jzx__stack_status)status)) <=
                   JZX_EXIT_TEXT_MAX);
}

static void reach_the_address_limit(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%llu", &pages) != 1)
        _exit(2);
    fclose(file);
    rlim_t size = pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)16 << 20);
    struct rlimit limit = {size, size};
    setrlimit(RLIMIT_AS, &limit);
    open_stacks();
    struct jzx__stack *stack;
    for (int i = 0; i < 1000; i++) {
        enum jzx__stack_status status = jzx__stack_take(&pool, 0, &stack);
        if (status != JZX__STACK_OK)
            _exit(status == JZX__STACK_ADDRESS_LIMIT ? 0 : 3);
    }
    _exit(4);
}

JZX_TEST(a_limit_of_the_address_space_is_named) {
    if (IS_SANITIZED)
        skip(); /* they need most of it themselves */
    struct child_end end = run_in_child(reach_the_address_limit);
    JZX_EXPECT_EQ(end.status, 0);
}

static uint64_t take_all(struct jzx__stack **taken, uint64_t count_max,
                         enum jzx__stack_status *status) {
    uint64_t count = 0;
    *status = JZX__STACK_OK;
    while (count < count_max && *status == JZX__STACK_OK) {
        *status = jzx__stack_take(&pool, 16 * KIB, &taken[count]);
        count += *status == JZX__STACK_OK;
    }
    return count;
}

JZX_TEST(guards_by_protection_leave_mappings_for_others) {
    struct jzx__stack *taken[64];
    enum jzx__stack_status status;
    open_with((struct jzx__stacks_options){.protects = true, .protected_max = 20});
    JZX_EXPECT_EQ(take_all(taken, 64, &status), 20);
    JZX_EXPECT_EQ(status, JZX__STACK_MAPPING_LIMIT);
    struct jzx__stack *more = NULL;
    JZX_EXPECT_EQ(jzx__stack_take(&pool, 0, &more), JZX__STACK_MAPPING_LIMIT);
    jzx__stack_give(&pool, taken[7]);
    JZX_EXPECT(take(16 * KIB) == taken[7]);

    /* What another pool gave serves, too. */
    struct jzx__stack_pool other;
    jzx__stack_pool_init(&other, &stacks);
    jzx__stack_give(&other, taken[8]);
    jzx__stack_pool_deinit(&other);
    JZX_EXPECT(take(16 * KIB) == taken[8]);
    for (int i = 0; i < 20; i++)
        jzx__stack_give(&pool, taken[i]);
    close_stacks();
}

/* The real limit: without one of our own. */
JZX_TEST(the_mapping_limit_of_the_system_is_named) {
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    unsigned long long limit = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu", &limit), 1);
    fclose(file);
    if (limit > 100000 || IS_SANITIZED)
        skip(); /* too many for a test */
    struct jzx__stack **taken = malloc(limit * sizeof *taken);
    assert_non_null(taken);
    enum jzx__stack_status status;
    open_with((struct jzx__stacks_options){.protects = true, .protected_max = UINT32_MAX});
    uint64_t count = take_all(taken, limit, &status);
    for (uint64_t i = 0; i < count; i++)
        jzx__stack_give(&pool, taken[i]);
    close_stacks();
    JZX_EXPECT_EQ(status, JZX__STACK_MAPPING_LIMIT);
    JZX_EXPECT(count > limit / 2 - 1000 && count <= limit / 2);

    open_with((struct jzx__stacks_options){.protects = true});
    uint64_t usual = take_all(taken, limit, &status);
    uint64_t mappings = mapping_count();
    for (uint64_t i = 0; i < usual; i++)
        jzx__stack_give(&pool, taken[i]);
    close_stacks();
    JZX_EXPECT_EQ(status, JZX__STACK_MAPPING_LIMIT);
    JZX_EXPECT(usual > 20000 && mappings < limit - limit / 20);
    free(taken);
}

/* ---- threads ---- */

#define THREADS 4
#define SLOTS 16

static _Atomic(struct jzx__stack *) slots[SLOTS];
static uint64_t rounds;

/* Each stack goes through a slot to whichever thread finds it there. A stack in use is nobody
 * else's: its words stay. */
static void *pass_stacks_around(void *arg) {
    struct jzx__stack_pool mine;
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    jzx__stack_pool_init(&mine, &stacks);
    for (uint64_t i = 0; i < rounds; i++) {
        struct jzx__stack *stack = NULL;
        JZX_EXPECT_EQ(jzx__stack_take(&mine, 16 * KIB, &stack), JZX__STACK_OK);
        uint64_t *words = (uint64_t *)(void *)stack->base;
        words[0] = seed;
        words[1] = ~seed;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        stack = atomic_exchange(&slots[seed >> 60], stack);
        if (stack == NULL)
            continue;
        words = (uint64_t *)(void *)stack->base;
        JZX_EXPECT_EQ(words[0], ~words[1]);
        words[1] = words[0];
        jzx__stack_give(&mine, stack);
    }
    jzx__stack_pool_deinit(&mine);
    return NULL;
}

JZX_TEST(threads_with_pools_of_their_own_share_stacks) {
    pthread_t threads[THREADS];
    rounds = IS_SANITIZED ? 5000 : 50000;
    open_with((struct jzx__stacks_options){.idle_bytes_max = 20 * 16 * KIB});
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pass_stacks_around, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i] != NULL)
            jzx__stack_give(&pool, slots[i]);
    }
    struct jzx__stack_totals totals = jzx__stacks_totals(&stacks);
    JZX_EXPECT_EQ(totals.in_use_count, 0);
    JZX_EXPECT(totals.slab_count <= 4);
    close_stacks();
}

/* ---- with the switch ---- */

static void *thread_point;
static void *fiber_point;
static struct jzx__switch_side thread_side;
static struct jzx__switch_side fiber_side;

static __attribute__((noinline)) void fall_asleep(int depth) {
    volatile char bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)depth;
    if (depth > 0) {
        fall_asleep(depth - 1);
    } else {
        jzx__switch_before(&fiber_side, &thread_side);
        jzx__switch(&fiber_point, thread_point, NULL);
        jzx__switch_after(&fiber_side, &thread_side);
    }
    bytes[0] = 0;
}

static void fall_asleep_at(void *arg) {
    jzx__switch_after(&fiber_side, &thread_side);
    fall_asleep((int)(uintptr_t)arg);
}

/* The address sanitizer would take the frames that were dropped for those of the next user. */
JZX_TEST(a_stack_that_was_dropped_with_frames_on_it_serves_the_next) {
    open_stacks();
    struct jzx__stack *first = NULL;
    for (uintptr_t depth = 1; depth < 30; depth++) {
        struct jzx__stack *stack = take(128 * KIB);
        JZX_EXPECT(first == NULL || first == stack);
        first = stack;
        jzx__switch_side_init_thread(&thread_side);
        jzx__switch_side_init(&fiber_side, stack->base, jzx__stack_size(stack));
        fiber_point = jzx__switch_prepare(stack->base, jzx__stack_size(stack), fall_asleep_at);
        jzx__switch_before(&thread_side, &fiber_side);
        jzx__switch(&thread_point, fiber_point, (void *)depth);
        jzx__switch_after(&thread_side, &fiber_side);
        jzx__switch_side_deinit(&fiber_side);
        jzx__stack_give(&pool, stack);
        memset(stack->base, 0, 100 * KIB); /* nobody's frame */
    }
    close_stacks();
}
