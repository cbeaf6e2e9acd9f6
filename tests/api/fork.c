/* SPDX-License-Identifier: MIT */
/* Children of fork(2): they leave the loops of their parent alone, and the parent notices nothing.
 */
#include "fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int await_child(pid_t child) {
    int status = 0;
    JZX_EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

static void expect_abort(pid_t child) {
    int status = await_child(child);
    JZX_EXPECT(WIFSIGNALED(status));
    JZX_EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

static uint32_t handled;

/* The child returns, the parent waits for it and goes on. */
static jzx_behavior_result fork_and_return(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    jzx_test_ran();
    handled++;
    if (msg->tag != 1)
        return JZX_BEHAVIOR_STOP;
    pid_t child = fork();
    if (child != 0)
        expect_abort(child);
    return JZX_BEHAVIOR_OK;
}

static void fork_and_wait(jzx_context *ctx) {
    jzx_test_ran();
    pid_t child = fork();
    if (child != 0)
        expect_abort(child);
    (void)jzx_yield(ctx); /* the child does not come back */
    handled++;
}

JZX_TEST(a_child_that_returns_from_the_code_of_an_actor_is_aborted) {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        handled = 0;
        jzx_loop *loop =
            fixture_loop_with(&JZX_CONFIG(.workers = workers, .log = {.level = JZX_LOG_ERROR}));
        assert_non_null(loop);
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fork_and_return));
        fixture_send(loop, id, 1);
        fixture_send(loop, id, 2);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(handled, 2);
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fork_and_wait));
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(handled, 3);
        fixture_destroy(loop);
    }
    JZX_EXPECT_EQ(jzx_test_runs(), 6);
}

JZX_TEST(a_child_cannot_run_step_or_destroy_the_loops_of_its_parent) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    assert_non_null(loop);
    pid_t child = fork();
    if (child == 0) {
        bool is_refused = jzx_loop_run(loop) == JZX_ERR_INVALID_STATE &&
                          jzx_loop_step(loop, 0) == JZX_ERR_INVALID_STATE &&
                          jzx_loop_destroy(loop) == JZX_ERR_INVALID_STATE;
        jzx_loop *own = jzx_loop_create(&JZX_CONFIG(.workers = 1)); /* of its own it may have */
        bool is_fine =
            own != NULL && jzx_loop_run(own) == JZX_OK && jzx_loop_destroy(own) == JZX_OK;
        _exit(is_refused && is_fine ? 0 : 1);
    }
    JZX_EXPECT_EQ(await_child(child), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}
