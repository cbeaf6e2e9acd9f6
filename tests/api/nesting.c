/* SPDX-License-Identifier: MIT */
/* Code that the library calls, inside code that the library calls: handlers, observers, destructors
 * and log sinks that lead to themselves. Each has a bound. */
#include "fixture.h"

#include <jzx/fiber.h>

#include <stdio.h>
#include <string.h>

/* How deep one kind of call is nested. */
static struct {
    uint32_t depth;
    uint32_t deepest;
    uint32_t count;
} nest;

static void nest_enter(void) {
    nest.count++;
    if (++nest.depth > nest.deepest)
        nest.deepest = nest.depth;
}

static void nest_leave(void) {
    nest.depth--;
}

/* ---- a loop inside itself ---- */

static jzx_loop *outer;

static void expect_busy(void) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_loop_run(outer), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_step(outer, JZX_NEVER), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_destroy(outer), JZX_ERR_BUSY);
}

static jzx_err init_inside(jzx_context *ctx) {
    (void)ctx;
    expect_busy();
    return JZX_OK;
}

static void cleanup_inside(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    expect_busy();
}

static void destructor_inside(void *data, size_t len) {
    (void)data;
    (void)len;
    expect_busy();
}

static bool predicate_inside(void *arg, const jzx_message *msg) {
    (void)arg;
    (void)msg;
    expect_busy();
    return true;
}

static void call_inside(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
    expect_busy();
}

static void see_start(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_ACTOR_START)
        expect_busy();
}

static jzx_behavior_result in_inner_loop(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    expect_busy();
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result behavior_inside(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    expect_busy();
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 8, destructor_inside));
    jzx_loop *inner = fixture_loop();
    fixture_send(inner, fixture_spawn(inner, &JZX_SPAWN_OPTS(.behavior = in_inner_loop)), 1);
    JZX_EXPECT_EQ(jzx_loop_run(inner), JZX_OK);
    fixture_destroy(inner);
    return JZX_BEHAVIOR_STOP;
}

static void fiber_inside(jzx_context *ctx) {
    jzx_message msg;
    expect_busy();
    fixture_send(ctx->loop, ctx->self, 1);
    JZX_EXPECT_EQ(jzx_receive_match(ctx, predicate_inside, NULL, JZX_NEVER, &msg), JZX_OK);
}

JZX_TEST(a_loop_cannot_be_run_inside_itself, "E+wait") {
    outer = fixture_loop();
    assert_int_equal(jzx_loop_set_observer(outer, &JZX_OBSERVER(.on_event = see_start), NULL),
                     JZX_OK);
    fixture_send(
        outer,
        fixture_spawn(outer, &JZX_SPAWN_OPTS(.behavior = behavior_inside, .init = init_inside,
                                             .cleanup = cleanup_inside)),
        1);
    fixture_spawn(outer, &JZX_SPAWN_OPTS(.fiber = fiber_inside));
    assert_int_equal(jzx_loop_call(outer, call_inside, NULL), JZX_OK);
    assert_int_equal(jzx_loop_run(outer), JZX_OK);
    assert_int_equal(jzx_test_runs(), 10);
    fixture_destroy(outer);
}

/* ---- loops inside other loops ---- */

static jzx_err deepest_err;

static void run_one(void);

static jzx_behavior_result run_another(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    run_one();
    return JZX_BEHAVIOR_STOP;
}

static void run_one(void) {
    jzx_loop *loop = fixture_loop();
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = run_another)), 1);
    nest_enter();
    jzx_err err = jzx_loop_run(loop);
    nest_leave();
    if (err != JZX_OK) {
        deepest_err = err;
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_ERR_FULL);
        JZX_EXPECT_EQ(fixture_stats(loop).turns, 0);
    }
    fixture_destroy(loop);
}

JZX_TEST(loops_run_inside_each_other_up_to_a_limit, "E+wait") {
    for (int again = 0; again < 2; again++) {
        memset(&nest, 0, sizeof nest);
        deepest_err = JZX_OK;
        run_one();
        assert_int_equal(deepest_err, JZX_ERR_FULL);
        assert_int_equal(nest.deepest, JZX_NESTING_MAX + 1); /* the last one was refused */
    }
}

/* ---- observers ---- */

static struct {
    jzx_loop *loop;
    jzx_actor_id full;
    uint32_t lines;
} letters;

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

static void count_lines(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    (void)level;
    letters.lines += strstr(text, "not shown") != NULL;
}

/* Each dead letter is answered with one. */
static void answer_letters(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_DEAD_LETTER)
        return;
    nest_enter();
    JZX_EXPECT_EQ(jzx_send(letters.loop, letters.full, JZX_NOBODY, NULL, 0, 1), JZX_OK);
    nest_leave();
}

static jzx_behavior_result overfill(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    for (int i = 0; i < 3; i++) /* one fits */
        JZX_EXPECT_EQ(jzx_send(ctx->loop, letters.full, ctx->self, NULL, 0, 1), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(an_observer_that_causes_events_without_end_is_not_called_for_all, "E+wait") {
    memset(&nest, 0, sizeof nest);
    memset(&letters, 0, sizeof letters);
    letters.loop =
        fixture_loop_with(&JZX_CONFIG(.log = {.write = count_lines, .level = JZX_LOG_WARN}));
    assert_int_equal(
        jzx_loop_set_observer(letters.loop, &JZX_OBSERVER(.on_event = answer_letters), NULL),
        JZX_OK);
    letters.full =
        fixture_spawn(letters.loop, &JZX_SPAWN_OPTS(.behavior = ignore, .mailbox_cap = 1,
                                                    .daemon = true, .on_full = JZX_FULL_DROP_NEW));
    fixture_send(letters.loop, fixture_spawn(letters.loop, &JZX_SPAWN_OPTS(.behavior = overfill)),
                 1);
    assert_int_equal(jzx_loop_run(letters.loop), JZX_OK);
    assert_int_equal(nest.deepest, JZX_NESTING_MAX);
    JZX_EXPECT(letters.lines > 0);
    JZX_EXPECT(fixture_stats(letters.loop).dead > nest.count);
    assert_int_equal(jzx_loop_set_observer(letters.loop, NULL, NULL), JZX_OK);
    fixture_destroy(letters.loop);
}

/* ---- destructors ---- */

#define CHAIN 100000u

struct link {
    jzx_loop *loop; /* of the next */
    struct link *next;
};

static void free_next(void *data, size_t len) {
    const struct link *link = data;
    JZX_EXPECT_EQ(len, sizeof *link);
    nest_enter();
    if (link->next != NULL)
        jzx_msg_free(link->loop, link->next);
    nest_leave();
}

/* A list of buffers, in turn of one loop and of the other; each is freed by the one before. */
static struct link *make_chain(jzx_loop *const loops[2], uint32_t count) {
    struct link *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct link *link = jzx_msg_alloc(loops[i % 2], sizeof *link, free_next);
        assert_non_null(link);
        *link = (struct link){loops[(i + 1) % 2], first};
        first = link;
    }
    return first;
}

static void free_chain(bool two_loops) {
    jzx_loop *a = fixture_loop();
    jzx_loop *b = two_loops ? fixture_loop() : a;
    memset(&nest, 0, sizeof nest);
    struct link *first = make_chain((jzx_loop *const[]){a, b}, CHAIN);
    jzx_msg_free(b, first); /* the last that was made */
    assert_int_equal(nest.count, CHAIN);
    assert_int_equal(nest.depth, 0);
    assert_int_equal(nest.deepest, JZX_NESTING_MAX);
    if (two_loops)
        fixture_destroy(b);
    fixture_destroy(a);
}

JZX_TEST(a_long_chain_of_destructors_needs_no_deep_stack, "E+wait") {
    free_chain(false);
    free_chain(true);
}

static jzx_behavior_result free_in_turn(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_msg_free(ctx->loop, make_chain((jzx_loop *const[]){ctx->loop, ctx->loop}, 1000));
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_chain_may_also_be_released_by_the_end_of_its_actor, "E+wait") {
    for (int by_actor = 0; by_actor < 2; by_actor++) {
        jzx_loop *loop = fixture_loop();
        memset(&nest, 0, sizeof nest);
        if (by_actor) {
            fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = free_in_turn)), 1);
            assert_int_equal(jzx_loop_run(loop), JZX_OK);
        } else {
            jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore));
            struct link *first = make_chain((jzx_loop *const[]){loop, loop}, 1000);
            assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, first, 1), JZX_OK);
            assert_int_equal(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
            assert_int_equal(jzx_loop_run(loop), JZX_OK);
        }
        assert_int_equal(nest.count, 1000);
        fixture_destroy(loop);
    }
}

/* A buffer that is dropped sends the next one to the mailbox that has dropped it. */
static struct {
    jzx_loop *loop;
    jzx_actor_id full;
    uint32_t left;
} again;

static void send_again(void *data, size_t len) {
    (void)data;
    nest_enter();
    if (again.left-- > 1) {
        void *next = jzx_msg_alloc(again.loop, len, send_again);
        JZX_EXPECT_EQ(jzx_send_msg(again.loop, again.full, JZX_NOBODY, next, 1), JZX_OK);
    }
    nest_leave();
}

static jzx_behavior_result send_first(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, again.full, ctx->self, NULL, 0, 1), JZX_OK);
    void *next = jzx_msg_alloc(again.loop, 8, send_again);
    JZX_EXPECT_EQ(jzx_send_msg(again.loop, again.full, JZX_NOBODY, next, 1), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(destructors_that_send_to_a_full_mailbox_need_no_deep_stack, "E+wait") {
    memset(&nest, 0, sizeof nest);
    again.loop = fixture_loop();
    again.left = CHAIN;
    again.full =
        fixture_spawn(again.loop, &JZX_SPAWN_OPTS(.behavior = ignore, .mailbox_cap = 1,
                                                  .daemon = true, .on_full = JZX_FULL_DROP_NEW));
    fixture_send(again.loop, fixture_spawn(again.loop, &JZX_SPAWN_OPTS(.behavior = send_first)), 1);
    assert_int_equal(jzx_loop_run(again.loop), JZX_OK);
    assert_int_equal(nest.count, CHAIN);
    assert_int_equal(nest.deepest, JZX_NESTING_MAX);
    fixture_destroy(again.loop);
}

/* ---- log sinks ---- */

static char no_buffer[64];

static void misuse_again(void *ctx, jzx_log_level level, const char *text) {
    (void)level;
    (void)text;
    nest_enter();
    jzx_msg_free(*(jzx_loop **)ctx, no_buffer + 1); /* a line of its own */
    nest_leave();
}

JZX_TEST(a_log_sink_that_causes_lines_without_end_is_not_called_for_all, "E+wait") {
    jzx_loop *loop = NULL;
    memset(&nest, 0, sizeof nest);
    loop = fixture_loop_with(
        &JZX_CONFIG(.log = {.write = misuse_again, .ctx = &loop, .level = JZX_LOG_ERROR}));
    assert_non_null(loop);
    for (uint32_t i = 1; i <= 2; i++) {
        jzx_msg_free(loop, no_buffer + 1);
        assert_int_equal(nest.count, i * JZX_NESTING_MAX);
        assert_int_equal(nest.deepest, JZX_NESTING_MAX);
    }
    fixture_destroy(loop);
}
