/* SPDX-License-Identifier: MIT */
/* A kind of actors beside behaviours: its turn is called at one place, after all that concerns
 * every actor was seen to. */
#include "actor/kind.h"

#include "actor/exit.h"
#include "actor/mailbox.h"

#include "fixture.h"

enum { GO = 1 };

static struct {
    jzx_loop *loop;
    unsigned turns;
    unsigned handled;
    bool had_init;
    bool cleaned;
} world;

/* Handles all that waits, two messages a turn. */
static enum jzx__fate handle_two(struct jzx__worker *me, struct jzx__turn *turn) {
    struct jzx__task *task = &turn->actor->task;
    world.turns++;
    JZX_EXPECT(world.had_init);
    JZX_EXPECT(jzx__seat_of_thread->turn == turn);
    for (unsigned i = 0; i < 2; i++) {
        if (task->head == NULL && jzx__inbox_list(jzx__task_inbox(task)) != NULL)
            jzx__mailbox_take_in(me, turn->actor);
        struct jzx__node *node = task->head;
        if (node == NULL)
            break;
        jzx__task_pop(task, node);
        me->pass_handled++;
        world.handled++;
        jzx__message_destroy(turn->ctx.loop, me, jzx__message_of(node));
    }
    if (task->head == NULL && (task->care & JZX__CARE_DRAIN) != 0) { /* for the kind to say */
        jzx__actor_end(me, turn->actor, JZX_EXIT_NORMAL, NULL);
        return JZX__FATE_OVER;
    }
    if (task->head != NULL || !jzx__task_go_idle(task, jzx__task_inbox(task)))
        jzx__worker_requeue_any(me, task);
    return JZX__FATE_OVER;
}

static const struct jzx__kind_ops in_twos = {.turn = handle_two};
static const struct jzx__kind_ops *const kinds[JZX__KIND_COUNT] = {[JZX__KIND_MANUAL] = &in_twos};

static jzx_behavior_result never(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    JZX_EXPECT(false && "the behaviour of an actor of another kind");
    return JZX_BEHAVIOR_FAIL;
}

static jzx_err note_init(jzx_context *ctx) {
    (void)ctx;
    world.had_init = true;
    return JZX_OK;
}

static void note_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    JZX_EXPECT_EQ(reason, JZX_EXIT_NORMAL);
    world.cleaned = true;
}

static void step(void) {
    while (jzx_loop_next_deadline(world.loop) == 0)
        JZX_EXPECT_EQ(jzx_loop_step(world.loop, JZX_NEVER), JZX_OK);
}

JZX_TEST(an_actor_of_another_kind_has_its_turns_run_by_that) {
    world.loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    assert_non_null(world.loop);
    world.loop->kinds = kinds;
    jzx_actor_id id = fixture_spawn(
        world.loop, &JZX_SPAWN_OPTS(.behavior = never, .init = note_init, .cleanup = note_cleanup));
    struct jzx__actor *actor = jzx__table_lookup(&world.loop->table, id);
    JZX_ASSERT(actor != NULL);
    jzx__actor_cold(actor)->kind = JZX__KIND_MANUAL;
    actor->task.care |= JZX__CARE_KIND;
    for (unsigned i = 0; i < 5; i++)
        fixture_send(world.loop, id, GO);
    step();
    JZX_EXPECT_EQ(world.handled, 5);
    JZX_EXPECT(world.turns >= 3);
    JZX_EXPECT_EQ(jzx_actor_stop(world.loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    step();
    JZX_EXPECT(world.cleaned);
    JZX_EXPECT(!jzx_loop_alive(world.loop));
    fixture_destroy(world.loop);
}
