/* SPDX-License-Identifier: MIT */
/* What a loop takes beyond what its configuration names: no thread. What a parked fiber takes: one
 * page of its stack. And how a library with callbacks meets a future. */
#include "fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

/* ---- threads ---- */

static uint32_t threads_seen;

static uint32_t count_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    uint32_t count = 0;
    if (tasks == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static jzx_behavior_result look_at_threads(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    jzx_test_ran();
    threads_seen = count_threads();
    return JZX_BEHAVIOR_STOP;
}

static uint32_t threads_of(uint32_t workers) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = workers, .stall_after_ns = JZX_NEVER));
    assert_non_null(loop);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = look_at_threads));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    return threads_seen;
}

static void *do_nothing(void *arg) {
    return arg;
}

JZX_TEST(a_loop_has_no_threads_but_its_workers, "C+goal") {
    pthread_t thread; /* a sanitizer may start one of its own with the first */
    assert_int_equal(pthread_create(&thread, NULL, do_nothing, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    uint32_t before = count_threads();
    JZX_EXPECT_EQ(threads_of(1), before);
    JZX_EXPECT_EQ(threads_of(3), before + 2);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
}

/* ---- stacks ---- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void park(jzx_context *ctx) {
    jzx_message msg;
    jzx_test_ran();
    (void)jzx_receive(ctx, JZX_NEVER, &msg);
}
#endif

JZX_TEST(a_parked_fiber_keeps_one_page_of_64_kib, "X25") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* it uses more of the stack */
#else
    jzx_actor_info info = {.size = sizeof info};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    assert_non_null(loop);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = park));
    assert_int_equal(jzx_loop_step(loop, 0), JZX_OK);
    assert_int_equal(jzx_actor_info_get(loop, id, &info), JZX_OK);
    JZX_EXPECT_EQ(info.wait, JZX_WAIT_MESSAGE);
    JZX_EXPECT_EQ(JZX_DEFAULT_STACK_SIZE, 64 * 1024);
    JZX_EXPECT(info.stack_bytes <= (size_t)sysconf(_SC_PAGESIZE));
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
#endif
}

JZX_TEST(a_pending_future_takes_96_bytes_at_most, "X25") {
    enum { COUNT = 65536 };
    static jzx_promise *promises[COUNT];
    static jzx_future *futures[COUNT];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    assert_non_null(loop);
    uint64_t before = fixture_bytes();
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(jzx_promise_create(loop, 8, &promises[i], &futures[i]), JZX_OK);
    /* The memory comes in chunks, of which the last one is not full. */
    JZX_EXPECT(fixture_bytes() - before <= COUNT * 96u + (1u << 20));
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(jzx_promise_resolve(promises[i], &(uint64_t){i}), JZX_OK);
        jzx_future_release(futures[i]);
    }
    fixture_destroy(loop);
}

/* ---- a library that calls back ---- */

/* Adds on a thread of its own, and calls back there: the way of many C libraries. */
struct legacy_call {
    int a;
    int b;
    void (*done)(void *arg, int sum);
    void *arg;
};

static void *legacy_thread(void *arg) {
    const struct legacy_call *call = arg;
    call->done(call->arg, call->a + call->b);
    return NULL;
}

static void keep_promise(void *arg, int sum) {
    JZX_EXPECT_EQ(jzx_promise_resolve(arg, &sum), JZX_OK);
}

static jzx_future *bridged;
static int bridged_sum;

static void await_legacy(jzx_context *ctx) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_await(ctx, bridged, JZX_NEVER, &bridged_sum), JZX_OK);
}

JZX_TEST(a_callback_of_a_library_keeps_a_promise, "E45") {
    struct legacy_call call = {.a = 40, .b = 2, .done = keep_promise};
    jzx_promise *promise;
    pthread_t thread;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    assert_non_null(loop);
    assert_int_equal(jzx_promise_create(loop, sizeof(int), &promise, &bridged), JZX_OK);
    call.arg = promise;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = await_legacy));
    assert_int_equal(pthread_create(&thread, NULL, legacy_thread, &call), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(bridged_sum, 42);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    jzx_future_release(bridged);
    fixture_destroy(loop);
}
