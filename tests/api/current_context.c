/* SPDX-License-Identifier: MIT */
/* jzx_current_context: whose code could be left by jzx_exit here. */
#include "fixture.h"

static jzx_context *seen_by_destructor;
static bool destructor_ran;

static void look_in_destructor(void *data, size_t len) {
    (void)data;
    (void)len;
    seen_by_destructor = jzx_current_context();
    destructor_ran = true;
}

static jzx_err look_in_init(jzx_context *ctx) {
    JZX_EXPECT(jzx_current_context() == ctx);
    jzx_test_ran();
    return JZX_OK;
}

static void look_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    JZX_EXPECT_EQ(reason, JZX_EXIT_NORMAL);
    JZX_EXPECT(jzx_current_context() == ctx);
    jzx_test_ran();
}

static jzx_behavior_result look(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT(jzx_current_context() == ctx);
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 8, look_in_destructor));
    JZX_EXPECT(jzx_current_context() == ctx);
    jzx_test_ran();
    return JZX_BEHAVIOR_STOP;
}

static void look_in_fiber(jzx_context *ctx) {
    JZX_EXPECT(jzx_current_context() == ctx);
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    JZX_EXPECT(jzx_current_context() == ctx);
    jzx_test_ran();
}

static void look_in_call(jzx_loop *loop, void *arg) {
    (void)loop;
    (void)arg;
    JZX_EXPECT(jzx_current_context() == NULL);
    jzx_test_ran();
}

JZX_TEST(the_current_context_is_that_of_the_actor_whose_code_runs, "C20") {
    jzx_loop *loop = fixture_loop();
    assert_null(jzx_current_context());
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = look, .init = look_in_init, .cleanup = look_in_cleanup));
    fixture_send(loop, id, 1);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = look_in_fiber, .cleanup = look_in_cleanup));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = look_in_fiber));
    assert_int_equal(jzx_loop_call(loop, look_in_call, NULL), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_true(destructor_ran);
    assert_null(seen_by_destructor);
    assert_null(jzx_current_context());
    fixture_destroy(loop);
    assert_int_equal(jzx_test_runs(), 7);
}

static jzx_behavior_result panic(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_exit(jzx_current_context(), JZX_EXIT_PANIC, "index out of bounds");
}

static jzx_exit_notice seen;

static void join_the_panicked(jzx_context *ctx) {
    jzx_actor_id id = *(const jzx_actor_id *)ctx->state;
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, &seen), JZX_OK);
    jzx_test_ran();
}

JZX_TEST(a_panic_handler_ends_the_actor_by_the_current_context, "C20") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = panic));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = join_the_panicked, .state = &id));
    jzx_loop_step(loop, JZX_NEVER);
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    assert_int_equal(jzx_test_runs(), 1);
    assert_int_equal(seen.reason, JZX_EXIT_PANIC);
    assert_string_equal(seen.text, "index out of bounds");
}

/* Tables of children are often constant. */
static const uint16_t places[] = {JZX_PLACE_WORKER(0), JZX_PLACE_WORKER(JZX_WORKERS_MAX - 1),
                                  JZX_PLACE_WORKER(JZX_WORKERS_MAX)};

JZX_TEST(the_place_of_a_worker_evaluates_its_index_once_and_is_a_constant_for_a_constant) {
    uint32_t next = 0;
    uint64_t wide = 0;
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(JZX_PLACE_WORKER(next++ % 2), jzx_place_worker(i % 2));
        assert_int_equal(JZX_PLACE_WORKER(wide++), jzx_place_worker(i));
    }
    assert_int_equal(next, 8);
    assert_int_equal(wide, 8);
    assert_int_equal(places[0], jzx_place_worker(0));
    assert_int_equal(places[1], jzx_place_worker(JZX_WORKERS_MAX - 1));
    assert_int_equal(places[2], UINT16_MAX - 1);
}

JZX_TEST(place_worker_is_the_macro) {
    assert_int_equal(jzx_place_worker(0), JZX_PLACE_WORKER(0));
    assert_int_equal(jzx_place_worker(1023), JZX_PLACE_WORKER(1023));
    assert_int_equal(jzx_place_worker(1024), UINT16_MAX - 1);
    assert_int_equal(jzx_place_worker(UINT32_MAX), UINT16_MAX - 1);
}
