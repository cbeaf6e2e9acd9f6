/* SPDX-License-Identifier: MIT */
/* Host names in three ways; the names are those that every system knows by itself. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/io.h>
#include <jzx/resolve.h>

#include <errno.h>
#include <string.h>

enum { GO = 1, FOUND };

static void in_fiber(jzx_context *ctx) {
    jzx_addresses found = {.count = 77};
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_resolve(ctx, "127.0.0.1:80", 0, JZX_NEVER, &found), JZX_OK);
    JZX_EXPECT_EQ(found.count, 1);
    JZX_EXPECT(strcmp(found.text[0], "127.0.0.1:80") == 0);
    JZX_EXPECT_EQ(jzx_resolve(ctx, "[::1]:8080", 0, JZX_NEVER, &found), JZX_OK);
    JZX_EXPECT(strcmp(found.text[0], "[::1]:8080") == 0);
    found.count = 77;
    JZX_EXPECT_EQ(jzx_resolve(ctx, "127.0.0.1:80", JZX_RESOLVE_V6, JZX_NEVER, &found),
                  JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(jzx_resolve(ctx, "127.0.0.1:no_such_service", 0, JZX_NEVER, &found),
                  JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(jzx_resolve(ctx, "127.0.0.1", 0, JZX_NEVER, &found), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_resolve(ctx, "127.0.0.1:80", 0, JZX_NEVER, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_resolve(ctx, "127.0.0.1:80", 0, 0, &found), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(found.count, 77);
}

static jzx_behavior_result be_asker(jzx_context *ctx, const jzx_message *msg) {
    jzx_addresses found;
    jzx_test_ran();
    if (msg->tag == GO) {
        JZX_EXPECT_EQ(jzx_resolve(ctx, "127.0.0.1:9", 0, JZX_NEVER, &found), JZX_ERR_WOULD_SUSPEND);
        JZX_EXPECT_EQ(jzx_resolve_to(ctx, "127.0.0.1:9", JZX_RESOLVE_V4, FOUND, NULL), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_result *result = msg->data;
    JZX_EXPECT_EQ(result->err, JZX_OK);
    if (JZX_EXPECT_EQ(result->len, sizeof found)) {
        memcpy(&found, jzx_result_data(result), sizeof found);
        JZX_EXPECT(found.count == 1 && strcmp(found.text[0], "127.0.0.1:9") == 0);
    }
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(names_are_resolved_in_three_ways) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx_future *future = NULL;
    jzx_addresses found;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = in_fiber));
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_asker)), GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 3);
    JZX_EXPECT_EQ(jzx_resolve_async(loop, "[::1]:1", 0, &future), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, &found), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_value_size(future), sizeof found);
    assert_string_equal(found.text[0], "[::1]:1");
    jzx_future_release(future);
    JZX_EXPECT_EQ(jzx_resolve_async(loop, "x", 0, &future), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_resolve_async(NULL, "x:1", 0, &future), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

/* ---- the errno of a job ---- */

static jzx_err fail_by_errno(void *arg) {
    (void)arg;
    jzx_blocking_os_error(ENOTEMPTY);
    return JZX_ERR_IO;
}

static jzx_err fail_without(void *arg) {
    (void)arg;
    return JZX_ERR_IO;
}

static void wait_for_errno(jzx_context *ctx) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_blocking(ctx, fail_by_errno, NULL, JZX_NEVER), JZX_ERR_IO);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ENOTEMPTY);
}

JZX_TEST(a_job_keeps_the_errno_behind_its_error) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx_future *future = NULL;
    const char *text = NULL;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = wait_for_errno));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(jzx_blocking_async(loop, fail_by_errno, NULL, &future), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, NULL), JZX_ERR_IO);
    JZX_EXPECT_EQ(jzx_future_error(future, &text), JZX_ERR_IO);
    assert_string_equal(text, "Directory not empty (errno 39)");
    jzx_future_release(future);
    JZX_EXPECT_EQ(jzx_blocking_async(loop, fail_without, NULL, &future), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, NULL), JZX_ERR_IO);
    JZX_EXPECT_EQ(jzx_future_error(future, &text), JZX_ERR_IO);
    assert_string_equal(text, ""); /* nothing is left of the one before */
    jzx_future_release(future);
    fixture_destroy(loop);
}
