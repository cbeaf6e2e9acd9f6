/* SPDX-License-Identifier: MIT */
/* The counting allocator and the checks of the fixture. */
#define JZX_TEST_CHECKS_DO_NOT_COUNT
#include "fixture.h"

#include "jzx/time.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t allocation_count;
static uint64_t block_count;
static uint64_t byte_count;
static uint64_t fail_after = UINT64_MAX;
static uint64_t fail_count;

#define SIZE_MAX_ALLOCATED ((size_t)1 << 36)

/* The size stands before each block, to compare it with what free is told. */
union header {
    size_t size;
    max_align_t align;
};

static void *counting_alloc(void *ctx, size_t size) {
    (void)ctx;
    JZX_EXPECT(size != 0);
    pthread_mutex_lock(&lock);
    bool fails = fail_after == 0 && fail_count > 0;
    if (fails && fail_count != UINT64_MAX)
        fail_count--;
    if (!fails && fail_after > 0 && fail_after != UINT64_MAX)
        fail_after--;
    /* Sanitizers end the process at sizes that no allocator has. */
    fails = fails || size > SIZE_MAX_ALLOCATED;
    union header *block = fails ? NULL : malloc(sizeof(union header) + size);
    if (block != NULL) {
        block->size = size;
        allocation_count++;
        block_count++;
        byte_count += size;
    }
    pthread_mutex_unlock(&lock);
    return block == NULL ? NULL : block + 1;
}

static void counting_free(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    union header *block = (union header *)ptr - 1;
    JZX_EXPECT_EQ(size, block->size);
    pthread_mutex_lock(&lock);
    block_count--;
    byte_count -= size;
    pthread_mutex_unlock(&lock);
    free(block);
}

jzx_allocator fixture_allocator(void) {
    return (jzx_allocator){counting_alloc, counting_free, NULL};
}

uint64_t fixture_allocations(void) {
    pthread_mutex_lock(&lock);
    uint64_t count = allocation_count;
    pthread_mutex_unlock(&lock);
    return count;
}

uint64_t fixture_bytes(void) {
    pthread_mutex_lock(&lock);
    uint64_t bytes = byte_count;
    pthread_mutex_unlock(&lock);
    return bytes;
}

void fixture_fail_allocations(uint64_t after, uint64_t count) {
    pthread_mutex_lock(&lock);
    fail_after = after;
    fail_count = count;
    pthread_mutex_unlock(&lock);
}

static void nothing_is_left(void) {
    JZX_EXPECT_EQ(block_count, 0);
    JZX_EXPECT_EQ(byte_count, 0);
}

/* Buffers that a test has taken and forgotten (config.track_buffers). */
static void expect_released(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    (void)level;
    if (!JZX_EXPECT(strstr(text, "not released") == NULL))
        fprintf(stderr, "%s\n", text);
}

bool fixture_has_heap_timer(void) {
    const char *name = getenv("JZX_TEST_TIMER");
    return name != NULL && strcmp(name, "heap") == 0;
}

/* The configuration with the heap, unless it names a timer or has another size. NULL: none. */
static const jzx_schedule_config *with_heap_timer(const jzx_schedule_config *config,
                                                  jzx_schedule_config *ours) {
    if (config != NULL && (config->size != sizeof *config ||
                           config->timer_kind != JZX_TICK_TIMER_DEFAULT || config->timer != NULL))
        return config;
    *ours = config != NULL ? *config : JZX_SCHEDULE_CONFIG();
    ours->timer_kind = JZX_TICK_TIMER_HEAP;
    return ours;
}

jzx_loop *fixture_loop_with(const jzx_config *config) {
    jzx_schedule_config schedule;
    static bool registered;
    if (!registered)
        jzx_test_at_end(nothing_is_left);
    registered = true;
    jzx_config ours = config != NULL ? *config : JZX_CONFIG();
    ours.allocator = fixture_allocator();
    if (ours.workers == 0)
        ours.workers = 1;
    if (ours.stall_after_ns == 0 && ours.workers > 1)
        ours.stall_after_ns =
            JZX_NEVER; /* a busy machine holds threads up, and no test is about that */
    if (ours.relieve_after_ns == 0 && ours.stall_after_ns == JZX_NEVER)
        ours.relieve_after_ns = JZX_NEVER;
    if (ours.log.level == JZX_LOG_DEFAULT)
        ours.log = (jzx_log_sink){.write = expect_released, .level = JZX_LOG_WARN};
    if (fixture_has_heap_timer())
        ours.schedule = with_heap_timer(ours.schedule, &schedule);
    fixture_configure(&ours);
    jzx_loop *loop = jzx_loop_create(&ours);
    if (loop != NULL)
        fixture_made(loop);
    return loop;
}

__attribute__((weak)) void fixture_configure(jzx_config *config) {
    (void)config;
}

__attribute__((weak)) void fixture_made(jzx_loop *loop) {
    (void)loop;
}

__attribute__((weak)) void fixture_destroyed(const jzx_loop *loop) {
    (void)loop;
}

jzx_loop *fixture_loop(void) {
    jzx_loop *loop = fixture_loop_with(NULL);
    assert_non_null(loop);
    return loop;
}

jzx_stats fixture_stats(const jzx_loop *loop) {
    jzx_stats stats = {.size = sizeof stats};
    JZX_EXPECT_EQ(jzx_loop_stats(loop, &stats), JZX_OK);
    return stats;
}

void fixture_check_books(jzx_loop *loop) {
    uint64_t waiting = 0;
    uint64_t living = 0;
    uint64_t cursor = 0;
    jzx_actor_info info = {.size = sizeof info};
    while (jzx_actor_next(loop, &cursor, &info) == JZX_OK) {
        waiting += info.depth + info.stashed;
        living++;
    }
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.accepted, stats.handled + stats.dead + waiting);
    JZX_EXPECT_EQ(stats.waiting, waiting);
    JZX_EXPECT_EQ(stats.spawned - stats.exited, living);
}

void fixture_destroy(jzx_loop *loop) {
    fixture_check_books(loop);
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK); /* asserts that nothing waits and all ended */
    fixture_destroyed(loop);
}

jzx_actor_id fixture_spawn(jzx_loop *loop, const jzx_spawn_opts *opts) {
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_spawn(loop, opts, &id), JZX_OK);
    return id;
}

void fixture_send(jzx_loop *loop, jzx_actor_id to, uint32_t tag) {
    JZX_EXPECT_EQ(jzx_send(loop, to, JZX_NOBODY, NULL, 0, tag), JZX_OK);
}

jzx_behavior_result record(jzx_context *ctx, const jzx_message *msg) {
    struct recorder *self = ctx->state;
    if (JZX_EXPECT(self->count < sizeof self->tags / sizeof self->tags[0]))
        self->tags[self->count++] = msg->tag;
    return self->count == self->stop_at ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static uint64_t cpu_of_thread(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void fixture_compute(uint64_t cpu_ns) {
    uint64_t until = cpu_of_thread() + cpu_ns;
    while (cpu_of_thread() < until)
        continue;
}
