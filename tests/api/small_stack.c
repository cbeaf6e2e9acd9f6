/* SPDX-License-Identifier: MIT */
/* A thread with the smallest stack that there is can create a loop, drive it and destroy it. */
#include "fixture.h"

#include <pthread.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER true
#elif defined(__has_feature)
#define UNDER_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define UNDER_SANITIZER false
#endif

enum { GO = 1, MOVED = 2, LAST = 3 };

static jzx_behavior_result do_little(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag != GO)
        return msg->tag == LAST ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    void *data = jzx_msg_alloc(ctx->loop, 5000, NULL);
    JZX_EXPECT(data != NULL && jzx_alloc(ctx, 100) != NULL);
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, ctx->self, ctx->self, data, MOVED), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, ctx->self, NULL, 0, LAST, 1, NULL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void *drive(void *arg) {
    uint32_t *ended = arg;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        for (uint32_t contain = 0; contain < 2; contain++) {
            jzx_loop *loop = fixture_loop_with(
                &JZX_CONFIG(.workers = workers, .contain = contain != 0 ? JZX_CONTAIN_FAULTS : 0));
            if (!JZX_EXPECT(loop != NULL))
                return NULL;
            jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = do_little));
            fixture_send(loop, id, GO);
            JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
            JZX_EXPECT_EQ(fixture_stats(loop).exited, 1);
            JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
            ++*ended;
        }
    }
    return NULL;
}

JZX_TEST(sixteen_kib_of_stack_are_enough_for_a_loop) {
    if (UNDER_SANITIZER)
        skip(); /* whose frames are larger */
    pthread_attr_t attributes;
    pthread_t thread;
    uint32_t ended = 0;
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, least > 16384 ? least : 16384), 0);
    assert_int_equal(pthread_create(&thread, &attributes, drive, &ended), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ended, 4);
    assert_int_equal(jzx_test_runs(), 4 * 3);
    pthread_attr_destroy(&attributes);
}
