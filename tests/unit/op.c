/* SPDX-License-Identifier: MIT */
/* src/op: operations of a part that the test plays. */
#include "op/op.h"

#include "fixture.h"

#include <stdlib.h>

enum { GO = 1, DONE };

#define OPS_MAX 300u

/* ---- the part ---- */

static unsigned cancels;
static bool completes_at_cancel;

static void note_cancel(struct jzx__op *op, struct jzx__worker *me) {
    cancels++;
    if (completes_at_cancel)
        jzx__op_complete(op, me, JZX_ERR_CANCELLED, NULL, 0);
}

static const struct jzx__op_ops can_cancel = {.cancel = note_cancel};
static const struct jzx__op_ops cannot_cancel = {.cancel = NULL};

/* As a call that ends in _to. */
static jzx_err begin(jzx_context *ctx, const struct jzx__op_ops *ops, size_t capacity,
                     struct jzx__op **op) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    const struct jzx__op_spec spec = {.ops = ops, .capacity = capacity, .tag = DONE};
    jzx_err err = jzx__op_begin(&own, &spec, op);
    if (err == JZX_OK)
        jzx__op_launch(*op);
    jzx__own_end(&own);
    return err;
}

/* On the thread of the test, which drives nothing then. */
static void complete(jzx_loop *loop, struct jzx__op *op, jzx_err err, const void *data,
                     size_t len) {
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx__op_complete(op, me, err, data, len);
    jzx__visit_end(&visit);
}

/* ---- an actor ---- */

struct owner {
    const struct jzx__op_ops *ops;
    uint32_t to_begin; /* at each GO */
    uint32_t begun;
    uint32_t heard;
    struct jzx__op *slots[OPS_MAX];
    jzx_op ids[OPS_MAX];
    jzx_result results[OPS_MAX];
    char data[OPS_MAX];
};

static jzx_behavior_result own(jzx_context *ctx, const jzx_message *msg) {
    struct owner *self = ctx->state;
    for (uint32_t i = 0; msg->tag == GO && i < self->to_begin; i++, self->begun++) {
        JZX_EXPECT_EQ(begin(ctx, self->ops, 100, &self->slots[self->begun]), JZX_OK);
        self->ids[self->begun] = jzx__op_id(self->slots[self->begun]);
    }
    if (msg->tag == DONE) {
        const jzx_result *result = msg->data;
        self->data[self->heard] = result->len == 0 ? 0 : *(const char *)jzx_result_data(result);
        self->results[self->heard++] = *result;
    }
    return JZX_BEHAVIOR_OK;
}

struct scene {
    jzx_loop *loop;
    struct owner owner;
    jzx_actor_id id;
};

static void step(const struct scene *scene) {
    JZX_EXPECT_EQ(jzx_loop_step(scene->loop, JZX_NEVER), JZX_OK);
}

static void go(struct scene *scene, uint32_t count) {
    scene->owner.to_begin = count;
    fixture_send(scene->loop, scene->id, GO);
    step(scene);
}

static void scene_open(struct scene *scene, const struct jzx__op_ops *ops, uint32_t count) {
    cancels = 0;
    completes_at_cancel = false;
    *scene = (struct scene){.loop = fixture_loop_with(&JZX_CONFIG(.workers = 1))};
    scene->owner.ops = ops;
    scene->id =
        fixture_spawn(scene->loop, &JZX_SPAWN_OPTS(.behavior = own, .state = &scene->owner));
    go(scene, count);
}

static struct scene scene;

/* ---- results ---- */

JZX_TEST(each_operation_completes_by_one_message) {
    scene_open(&scene, &can_cancel, 3);
    complete(scene.loop, scene.owner.slots[1], JZX_OK, "b", 1);
    complete(scene.loop, scene.owner.slots[0], JZX_ERR_CLOSED, NULL, 0);
    step(&scene);
    JZX_EXPECT_EQ(scene.owner.heard, 2);
    JZX_EXPECT_EQ(scene.owner.results[0].op, scene.owner.ids[1]);
    JZX_EXPECT_EQ(scene.owner.results[0].err, JZX_OK);
    JZX_EXPECT_EQ(scene.owner.data[0], 'b');
    JZX_EXPECT_EQ(scene.owner.results[1].op, scene.owner.ids[0]);
    JZX_EXPECT_EQ(scene.owner.results[1].err, JZX_ERR_CLOSED);
    complete(scene.loop, scene.owner.slots[2], JZX_OK, NULL, 100);
    step(&scene);
    JZX_EXPECT_EQ(scene.owner.heard, 3);
    JZX_EXPECT_EQ(scene.owner.results[2].len, 100);
    fixture_destroy(scene.loop);
}

/* O2, O7: more than a cache and a chunk hold, again and again. */
JZX_TEST(slots_are_used_again_and_ids_are_not) {
    scene_open(&scene, &can_cancel, 0);
    uint64_t most = 0;
    for (uint32_t round = 0; round < 20; round++) {
        scene.owner.begun = scene.owner.heard = 0;
        go(&scene, OPS_MAX);
        for (uint32_t i = 0; i < OPS_MAX; i++) {
            most = (uint32_t)scene.owner.ids[i] > most ? (uint32_t)scene.owner.ids[i] : most;
            complete(scene.loop, scene.owner.slots[i], JZX_OK, NULL, 0);
        }
        jzx_op first = scene.owner.ids[0];
        JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, first), JZX_ERR_NO_SUCH_OP);
        step(&scene);
        JZX_EXPECT_EQ(scene.owner.heard, OPS_MAX);
        JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, first), JZX_ERR_NO_SUCH_OP);
        JZX_EXPECT(scene.owner.ids[0] >> 32 == round + 1); /* the generation of a slot goes on */
    }
    JZX_EXPECT(most < 2 * OPS_MAX);
    JZX_EXPECT_EQ(cancels, 0);
    fixture_destroy(scene.loop);
}

/* O7. */
JZX_TEST(a_slot_that_has_used_its_last_generation_is_not_used_again) {
    scene_open(&scene, &can_cancel, 1);
    struct jzx__op *op = scene.owner.slots[0];
    jzx_op last = (uint64_t)UINT32_MAX << 32 | op->index;
    jzx__atomic_store_relaxed(&op->state,
                              (uint64_t)UINT32_MAX << 32 | JZX__OP_PENDING | JZX__OP_LISTED);
    jzx__op_result(op)->op = last;
    complete(scene.loop, op, JZX_OK, NULL, 0);
    step(&scene);
    JZX_EXPECT_EQ(scene.owner.heard, 1);
    go(&scene, OPS_MAX - 1);
    for (uint32_t i = 1; i < OPS_MAX; i++) {
        JZX_EXPECT(scene.owner.slots[i] != op);
        complete(scene.loop, scene.owner.slots[i], JZX_OK, NULL, 0);
    }
    JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, last), JZX_ERR_NO_SUCH_OP);
    step(&scene);
    fixture_destroy(scene.loop);
}

/* ---- cancel ---- */

/* O5. */
JZX_TEST(the_part_is_asked_once_and_may_go_on) {
    scene_open(&scene, &can_cancel, 1);
    JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, scene.owner.ids[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, scene.owner.ids[0]), JZX_OK);
    JZX_EXPECT_EQ(cancels, 1);
    step(&scene);
    JZX_EXPECT_EQ(scene.owner.heard, 0);
    complete(scene.loop, scene.owner.slots[0], JZX_OK, "x", 1);
    step(&scene);
    JZX_EXPECT_EQ(scene.owner.data[0], 'x');
    fixture_destroy(scene.loop);
}

JZX_TEST(a_part_that_completes_at_a_cancel_is_heard_once) {
    scene_open(&scene, &can_cancel, 2);
    completes_at_cancel = true;
    JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, scene.owner.ids[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, scene.owner.ids[1]), JZX_ERR_NO_SUCH_OP);
    step(&scene);
    JZX_EXPECT_EQ(scene.owner.heard, 1);
    JZX_EXPECT_EQ(scene.owner.results[0].op, scene.owner.ids[1]);
    JZX_EXPECT_EQ(scene.owner.results[0].err, JZX_ERR_CANCELLED);
    complete(scene.loop, scene.owner.slots[0], JZX_OK, NULL, 0);
    step(&scene);
    fixture_destroy(scene.loop);
}

JZX_TEST(what_cannot_be_cancelled_goes_on) {
    scene_open(&scene, &cannot_cancel, 1);
    JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, scene.owner.ids[0]), JZX_OK);
    complete(scene.loop, scene.owner.slots[0], JZX_OK, NULL, 0);
    step(&scene);
    JZX_EXPECT_EQ(scene.owner.results[0].err, JZX_OK);
    fixture_destroy(scene.loop);
}

/* ---- the end of the owner ---- */

static void kill_owner(void) {
    JZX_EXPECT_EQ(jzx_actor_stop(scene.loop, scene.id, JZX_STOP_KILL), JZX_OK);
    step(&scene);
}

/* O6: the slots live until the completions have come. */
JZX_TEST(operations_of_an_actor_that_ends_are_cancelled_and_their_results_dropped) {
    scene_open(&scene, &can_cancel, 3);
    complete(scene.loop, scene.owner.slots[2], JZX_OK, NULL, 0); /* waits in its mailbox */
    kill_owner();
    JZX_EXPECT_EQ(cancels, 2);
    JZX_EXPECT_EQ(fixture_stats(scene.loop).dead, 1);
    JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, scene.owner.ids[0]), JZX_OK); /* not complete */
    JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, scene.owner.ids[2]), JZX_ERR_NO_SUCH_OP);
    JZX_EXPECT_EQ(cancels, 2);
    complete(scene.loop, scene.owner.slots[0], JZX_OK, "x", 1);
    complete(scene.loop, scene.owner.slots[1], JZX_OK, NULL, 0);
    JZX_EXPECT_EQ(fixture_stats(scene.loop).dead, 1);
    JZX_EXPECT_EQ(scene.owner.heard, 0);
    fixture_destroy(scene.loop);
}

JZX_TEST(operations_that_complete_when_their_actor_ends_are_freed_at_once) {
    scene_open(&scene, &can_cancel, 2);
    completes_at_cancel = true;
    kill_owner();
    JZX_EXPECT_EQ(cancels, 2);
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, scene.owner.ids[i]), JZX_ERR_NO_SUCH_OP);
    fixture_destroy(scene.loop);
}

static jzx_err late_err;

static jzx_behavior_result begin_late(jzx_context *ctx, const jzx_message *msg) {
    struct jzx__op *op;
    (void)msg;
    late_err = begin(ctx, &can_cancel, 0, &op);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_actor_that_works_off_its_queue_begins_nothing) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = begin_late));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(late_err, JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
}

static jzx_behavior_result begin_and_undo(jzx_context *ctx, const jzx_message *msg) {
    jzx_op *id = ctx->state;
    struct jzx__op *op;
    (void)msg;
    JZX_EXPECT_EQ(begin(ctx, &can_cancel, 5000, &op), JZX_OK);
    *id = jzx__op_id(op);
    struct jzx__own own;
    JZX_EXPECT(jzx__own_begin(&own, ctx));
    jzx__op_undo(&own, op);
    jzx__own_end(&own);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_operation_that_could_not_start_leaves_nothing) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx_op id = 0;
    jzx_actor_id actor =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = begin_and_undo, .state = &id));
    fixture_send(loop, actor, GO);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT(id != 0);
    JZX_EXPECT_EQ(jzx_op_cancel(loop, id), JZX_ERR_NO_SUCH_OP);
    JZX_EXPECT_EQ(fixture_stats(loop).accepted, 1);
    fixture_destroy(loop);
}

/* ---- a part that has something to take, and something to free ---- */

static unsigned handled, released;

static void note_handle(struct jzx__op *op, struct jzx__worker *me, struct jzx__actor *owner) {
    JZX_EXPECT(me != NULL);
    JZX_EXPECT_EQ(jzx__actor_id(owner), scene.id);
    handled++;
    jzx__op_result(op)->err = JZX_ERR_LAGGED; /* the owner sees what the part says now */
}

static void note_release(struct jzx__op *op, struct jzx__worker *me) {
    (void)me;
    JZX_EXPECT(!jzx__op_is_cancelled(op) || cancels != 0);
    released++;
}

static const struct jzx__op_ops keeps_records = {
    .cancel = note_cancel, .handle = note_handle, .release = note_release};

JZX_TEST(a_part_hears_of_each_message_that_is_handled_and_of_each_slot_that_goes) {
    handled = released = 0;
    scene_open(&scene, &keeps_records, 4);
    complete(scene.loop, scene.owner.slots[0], JZX_OK, "a", 1);
    JZX_EXPECT_EQ(handled + released, 0); /* the message is under way */
    step(&scene);
    JZX_EXPECT_EQ(scene.owner.results[0].err, JZX_ERR_LAGGED);
    JZX_EXPECT_EQ(scene.owner.data[0], 'a');
    JZX_EXPECT_EQ(handled, 1);
    JZX_EXPECT_EQ(released, 1);
    complete(scene.loop, scene.owner.slots[1], JZX_OK, NULL, 0);
    completes_at_cancel = true; /* of the third; the fourth goes on */
    JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, scene.owner.ids[2]), JZX_OK);
    completes_at_cancel = false;
    JZX_EXPECT_EQ(jzx_actor_stop(scene.loop, scene.id, JZX_STOP_KILL), JZX_OK);
    step(&scene);
    JZX_EXPECT_EQ(handled, 1); /* two messages were dropped */
    JZX_EXPECT_EQ(released, 3);
    complete(scene.loop, scene.owner.slots[3], JZX_OK, NULL, 0);
    JZX_EXPECT_EQ(released, 4);
    fixture_destroy(scene.loop);
}

/* ---- what it holds when nobody is left to hear of it ---- */

/* Too much for a slab: what is forgotten is missed at the end of the loop. */
#define MUCH 300000u

enum end { END_PENDING, END_CANCELLED, END_DONE };

static struct jzx__op *waited_op;

static jzx_behavior_result begin_waited(jzx_context *ctx, const jzx_message *msg) {
    const struct jzx__op_spec *spec = ctx->state;
    struct jzx__own own;
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT(jzx__own_begin(&own, ctx));
    JZX_EXPECT_EQ(jzx__op_begin(&own, spec, &waited_op), JZX_OK);
    jzx__op_launch(waited_op);
    jzx__own_end(&own);
    return JZX_BEHAVIOR_OK;
}

/* Its owner begins an operation and ends before it, with it, or after it. */
static void end_owner_of(struct jzx__op_spec spec, enum end end) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    uint64_t before = fixture_bytes();
    cancels = 0;
    completes_at_cancel = end == END_CANCELLED;
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = begin_waited, .state = &spec));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT(fixture_bytes() >= before + MUCH);
    if (end == END_DONE)
        complete(loop, waited_op, JZX_OK, "x", 1);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(cancels, end != END_DONE);
    if (end == END_PENDING) {
        JZX_EXPECT(fixture_bytes() >= before + MUCH); /* the part may still write there */
        complete(loop, waited_op, JZX_OK, "x", 1);
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
    JZX_EXPECT(fixture_bytes() < before + MUCH);
    JZX_EXPECT_EQ(fixture_stats(loop).exited, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    completes_at_cancel = false;
}

/* O6, O9. */
JZX_TEST(the_block_of_an_operation_without_an_owner_is_freed_when_it_completes) {
    for (int borrows = 0; borrows < 2; borrows++) {
        for (int end = END_PENDING; end <= END_DONE; end++)
            end_owner_of((struct jzx__op_spec){.ops = &can_cancel,
                                               .capacity = MUCH,
                                               .is_waited = true,
                                               .borrows = borrows != 0},
                         (enum end)end);
    }
    JZX_EXPECT_EQ(jzx_test_runs(), 6);
}

/* The same of one whose result would have been a message. */
JZX_TEST(the_message_of_an_operation_without_an_owner_is_freed_when_it_completes) {
    for (int end = END_PENDING; end <= END_DONE; end++)
        end_owner_of((struct jzx__op_spec){.ops = &can_cancel, .capacity = MUCH, .tag = DONE},
                     (enum end)end);
    JZX_EXPECT_EQ(jzx_test_runs(), 3);
}

/* ---- slots ---- */

/* S2: a worker that frees what others have begun keeps some, and gives the rest to all. */
JZX_TEST(a_worker_keeps_few_free_slots_and_gives_the_others_away) {
    static struct jzx__op *ops[OPS_MAX];
    const jzx_allocator allocator = fixture_allocator();
    struct jzx__op_slots *slots = aligned_alloc(JZX_CACHE_LINE, sizeof *slots);
    struct jzx__op_cache a = {.free = NULL};
    struct jzx__op_cache b = {.free = NULL};
    assert_non_null(slots);
    jzx__op_slots_init(slots, &allocator);
    for (uint32_t i = 0; i < OPS_MAX; i++)
        assert_non_null(ops[i] = jzx__op_slot_alloc(slots, &a));
    uint32_t minted = jzx__atomic_load_relaxed(&slots->minted);
    for (uint32_t i = 0; i < OPS_MAX; i++) {
        jzx__op_slot_free(slots, &b, ops[i]);
        JZX_EXPECT(b.count <= JZX__OP_CACHE_MAX);
    }
    for (uint32_t i = 0; i < OPS_MAX - JZX__OP_CACHE_MAX; i++)
        assert_non_null(ops[i] = jzx__op_slot_alloc(slots, &a));
    JZX_EXPECT_EQ(jzx__atomic_load_relaxed(&slots->minted), minted); /* none is new */
    for (uint32_t i = 0; i < OPS_MAX - JZX__OP_CACHE_MAX; i++)
        jzx__op_slot_free(slots, &a, ops[i]);
    jzx__op_cache_deinit(slots, &a);
    jzx__op_cache_deinit(slots, &b);
    jzx__op_slots_deinit(slots);
    free(slots);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}
