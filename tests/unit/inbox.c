/* SPDX-License-Identifier: MIT */
/* src/command/inbox.c: which inputs of an async actor still count (command/P6). */
#include "command/inbox.h"

#include "fixture.h"

#define MUCH 100000u /* too much for a slab */

static void wait_for_ever(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_action *msg;
    (void)state;
    jzx_test_ran();
    (void)jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg);
}

static const jzx_actor_factory waiter_actor =
    JZX_ACTOR_FACTORY(.type = "waiter", .run = wait_for_ever);

static jzx_processor_handle waiter;

static void spawn_waiter(void *state, jzx_actions *out) {
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &waiter_actor, NULL, 0, &waiter), JZX_OK);
}

static void pass_on(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_send(out, waiter, msg->tag, NULL, 0), JZX_OK);
}

static const jzx_actor_factory root_actor =
    JZX_ACTOR_FACTORY(.type = "root", .init = spawn_waiter, .handle = pass_on);

/* Blocks the end of the waiter, which it makes itself. */
static void block_end(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_action *command = msg->data;
    (void)state;
    if (command->kind != JZX_ACTION_KILL || command->source != command->target)
        JZX_EXPECT_EQ(jzx_actions_pass(out, command), JZX_OK);
}

static const jzx_actor_factory block_stage =
    JZX_ACTOR_FACTORY(.type = "block", .handle = block_end);

struct scene {
    jzx_loop *loop;
    jzx_processor *processor;
    struct jzx_inbox *inbox;
};

static struct scene scene_open(void) {
    const jzx_stage stages[] = {{.factory = &block_stage}};
    struct scene scene = {.loop = fixture_loop()};
    assert_int_equal(
        jzx_processor_create(scene.loop,
                             &JZX_PROCESSOR_OPTS(.root = &root_actor, .middleware = stages,
                                                 .middleware_count = 1,
                                                 .middleware_size = sizeof stages[0]),
                             &scene.processor),
        JZX_OK);
    scene.inbox = jzx__roster_find(&scene.processor->registry, waiter)->inbox;
    return scene;
}

static void scene_close(struct scene *scene) {
    assert_int_equal(jzx_processor_destroy(scene->processor), JZX_OK);
    fixture_destroy(scene->loop);
}

/* Brings a Send to output; what is refused is freed. */
static jzx_err give(struct scene *scene, uint64_t generation) {
    static const char data[MUCH];
    const jzx_action send = {.kind = JZX_ACTION_SEND,
                             .source = waiter,
                             .target = JZX_PROCESSOR_OUTPUT,
                             .tag = 5,
                             .len = MUCH,
                             .data = data};
    struct jzx__roll roll = {.head = NULL};
    const uint64_t bytes = fixture_bytes();
    assert_non_null(jzx__roll_add(&roll, &scene->processor->allocator, &send, JZX__CHUNK_EXACT));
    jzx_err err = jzx__inbox_give(scene->inbox, &roll, generation);
    assert_null(roll.head);
    jzx_output *output = NULL;
    assert_int_equal(jzx_processor_try_next(scene->processor, &output),
                     err == JZX_OK ? JZX_OK : JZX_ERR_TIMEOUT);
    assert_true(output == NULL || output->len == MUCH);
    jzx_output_free(output);
    assert_true(fixture_bytes() < bytes + MUCH);
    return err;
}

JZX_TEST(an_inbox_hears_its_newest_generation_and_inputs_of_none) {
    struct scene scene = scene_open();
    uint64_t first = jzx__inbox_advance(scene.inbox);
    assert_int_equal(give(&scene, first), JZX_OK);
    assert_int_equal(give(&scene, first), JZX_OK);
    uint64_t second = jzx__inbox_advance(scene.inbox);
    assert_true(second != first);
    assert_int_equal(give(&scene, first), JZX_ERR_CLOSED);
    assert_int_equal(give(&scene, second), JZX_OK);
    assert_int_equal(give(&scene, JZX__GENERATION_ANY), JZX_OK);
    scene_close(&scene);
}

JZX_TEST(an_inbox_of_a_removed_actor_hears_nothing) {
    struct scene scene = scene_open();
    uint64_t generation = jzx__inbox_advance(scene.inbox);
    assert_int_equal(jzx_processor_kill(scene.processor, waiter), JZX_OK);
    assert_null(jzx__roster_find(&scene.processor->registry, waiter)); /* its fiber has it still */
    assert_int_equal(give(&scene, generation), JZX_ERR_CLOSED);
    assert_int_equal(give(&scene, JZX__GENERATION_ANY), JZX_ERR_CLOSED);
    scene_close(&scene);
}

/* Its fiber has ended, and a stage keeps the actor. */
JZX_TEST(an_inbox_hears_nothing_after_the_end_of_its_fiber) {
    struct scene scene = scene_open();
    assert_int_equal(jzx_processor_dispatch(scene.processor, 1, NULL, 0), JZX_OK);
    assert_int_equal(jzx_loop_run(scene.loop), JZX_OK);
    assert_int_equal(jzx_test_runs(), 1);
    assert_non_null(jzx__roster_find(&scene.processor->registry, waiter));
    assert_int_equal(give(&scene, scene.inbox->generation), JZX_ERR_CLOSED);
    assert_int_equal(give(&scene, JZX__GENERATION_ANY), JZX_ERR_CLOSED);
    scene_close(&scene);
}
