/* SPDX-License-Identifier: MIT */
/* Lines of senders that wait for room, with threads in them: what the tests of the public calls
 * cannot wait for is that a thread stands in line. */
#include "actor/room.h"

#include "actor/loop.h"

#include "../api/fibering.h"

#include <pthread.h>
#include <sched.h>

enum { CAP = 4, SENDERS = 40, FILL = 900 };

static struct jzx__line_stripe *stripe_of(jzx_loop *loop, jzx_actor_id id) {
    return jzx__line_stripe(&loop->lines, id);
}

static uint32_t line_length(jzx_loop *loop, jzx_actor_id id) {
    struct jzx__line_stripe *stripe = stripe_of(loop, id);
    uint32_t length = 0;
    jzx__lock_acquire(&stripe->lock);
    for (struct jzx__line *line = stripe->lines; line != NULL; line = line->next) {
        struct jzx__link *ring = &line->source.waiting.ring;
        for (struct jzx__link *at = ring->next; line->to == id && at != ring; at = at->next)
            length++;
    }
    jzx__lock_release(&stripe->lock);
    return length;
}

static void await_line(jzx_loop *loop, jzx_actor_id id, uint32_t length) {
    while (line_length(loop, id) != length)
        sched_yield();
}

/* Receives from second 100 on. */
static void receive_late(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_sleep(ctx, JZX_SECOND(100)), JZX_OK);
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK)
        note_tag(life, msg.tag);
}

struct scene {
    struct timing timing;
    struct life target;
    jzx_actor_id id;
};

static struct scene scene;

static void scene_open(jzx_fiber_fn fn) {
    scene = (struct scene){.timing = timing_open()};
    scene.id = fixture_spawn(scene.timing.loop,
                             &JZX_SPAWN_OPTS(.fiber = fn, .state = &scene.target,
                                             .cleanup = note_cleanup, .mailbox_cap = CAP));
    timing_step(&scene.timing);
    for (uint32_t i = 0; i < CAP; i++)
        fixture_send(scene.timing.loop, scene.id, FILL);
    timing_step(&scene.timing);
}

struct sender {
    uint32_t tag;
    uint64_t deadline_ns;
    jzx_err err;
    pthread_t thread;
};

static struct sender senders[SENDERS];

static void send_from_fiber(jzx_context *ctx) {
    struct sender *self = ctx->state;
    self->err = jzx_send_until(ctx, scene.id, NULL, 0, self->tag, self->deadline_ns);
}

static void *send_from_thread(void *arg) {
    struct sender *self = arg;
    self->err = jzx_send_wait(scene.timing.loop, scene.id, NULL, 0, self->tag, self->deadline_ns);
    return NULL;
}

static void start_thread(uint32_t i, uint64_t deadline_ns) {
    senders[i] = (struct sender){.tag = i, .deadline_ns = deadline_ns, .err = 1};
    assert_int_equal(pthread_create(&senders[i].thread, NULL, send_from_thread, &senders[i]), 0);
}

static void join_thread(uint32_t i, jzx_err err) {
    assert_int_equal(pthread_join(senders[i].thread, NULL), 0);
    assert_int_equal(senders[i].err, err);
}

/* Nothing is left of the lines. */
static void scene_close(void) {
    const struct jzx__line_stripe *stripe = stripe_of(scene.timing.loop, scene.id);
    assert_null(stripe->lines);
    assert_int_equal(jzx__atomic_load_relaxed(&stripe->users), 0);
    timing_close(&scene.timing);
}

/* ---- order ---- */

JZX_TEST(fibers_and_threads_stand_in_one_line) {
    scene_open(receive_late);
    for (uint32_t i = 0; i < SENDERS; i++) {
        if (i % 3 == 0) {
            start_thread(i, JZX_NEVER);
        } else {
            senders[i] = (struct sender){.tag = i, .deadline_ns = JZX_NEVER, .err = 1};
            fixture_spawn(scene.timing.loop,
                          &JZX_SPAWN_OPTS(.fiber = send_from_fiber, .state = &senders[i]));
            timing_step(&scene.timing);
        }
        await_line(scene.timing.loop, scene.id, i + 1);
    }
    assert_int_equal(jzx_send(scene.timing.loop, scene.id, JZX_NOBODY, NULL, 0, FILL),
                     JZX_ERR_MAILBOX_FULL);
    timing_advance(&scene.timing, JZX_SECOND(100));
    for (uint32_t i = 0; i < SENDERS; i += 3)
        join_thread(i, JZX_OK);
    assert_int_equal(scene.target.count, CAP + SENDERS);
    for (uint32_t i = 0; i < SENDERS; i++) {
        assert_int_equal(senders[i].err, JZX_OK);
        assert_int_equal(scene.target.tags[CAP + i], i);
    }
    scene_close();
}

/* Two actors whose lines are in one stripe. */
JZX_TEST(lines_of_one_stripe_do_not_mix) {
    struct life other = {0};
    jzx_actor_id twin = JZX_NOBODY;
    scene_open(receive_late);
    while (stripe_of(scene.timing.loop, twin) != stripe_of(scene.timing.loop, scene.id) ||
           twin == JZX_NOBODY)
        twin =
            fixture_spawn(scene.timing.loop, &JZX_SPAWN_OPTS(.fiber = receive_late, .state = &other,
                                                             .mailbox_cap = CAP));
    for (uint32_t i = 0; i < CAP; i++)
        fixture_send(scene.timing.loop, twin, FILL);
    timing_step(&scene.timing);
    start_thread(0, JZX_NEVER);
    await_line(scene.timing.loop, scene.id, 1);
    assert_false(jzx__line_is_taken(&scene.timing.loop->lines, twin));
    assert_true(jzx__line_is_taken(&scene.timing.loop->lines, scene.id));
    assert_int_equal(jzx_actor_stop(scene.timing.loop, twin, JZX_STOP_KILL), JZX_OK);
    timing_step(&scene.timing);
    assert_int_equal(line_length(scene.timing.loop, scene.id), 1);
    timing_advance(&scene.timing, JZX_SECOND(100));
    join_thread(0, JZX_OK);
    scene_close();
}

/* ---- time ---- */

JZX_TEST(a_thread_in_line_times_out_by_the_clock_of_the_loop) {
    scene_open(receive_late);
    start_thread(0, JZX_SECOND(10));
    start_thread(1, JZX_NEVER);
    await_line(scene.timing.loop, scene.id, 2);
    /* The loop does not run. */
    assert_int_equal(jzx_clock_advance(scene.timing.clock, JZX_SECOND(10)), JZX_OK);
    join_thread(0, JZX_ERR_TIMEOUT);
    assert_int_equal(line_length(scene.timing.loop, scene.id), 1);
    timing_advance(&scene.timing, JZX_SECOND(90));
    join_thread(1, JZX_OK);
    assert_int_equal(scene.target.count, CAP + 1);
    assert_int_equal(scene.target.tags[CAP], 1);
    start_thread(2, JZX_SECOND(1)); /* there is room: it looks, and sends */
    join_thread(2, JZX_OK);
    timing_step(&scene.timing);
    scene_close();
}

/* In its own code, with room for one: the thread in line leaves it, and nobody else knows. */
static void receive_one_and_send(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_sleep(ctx, JZX_SECOND(100)), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 7), JZX_ERR_MAILBOX_FULL);
    JZX_EXPECT_EQ(jzx_clock_advance(scene.timing.clock, JZX_SECOND(100)), JZX_OK);
    await_line(ctx->loop, ctx->self, 0);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 7), JZX_OK);
    for (uint32_t i = 0; i < CAP; i++) {
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        note_tag(life, msg.tag);
    }
}

JZX_TEST(the_sign_of_a_line_that_was_left_refuses_nobody) {
    scene_open(receive_one_and_send);
    start_thread(0, JZX_SECOND(200));
    await_line(scene.timing.loop, scene.id, 1);
    timing_step(&scene.timing); /* the owner knows of the line */
    assert_int_equal(jzx_clock_advance(scene.timing.clock, JZX_SECOND(100)), JZX_OK);
    timing_step(&scene.timing);
    join_thread(0, JZX_ERR_TIMEOUT);
    expect_life_tags(&scene.target, CAP, (uint32_t[]){FILL, FILL, FILL, 7});
    scene_close();
}

/* ---- ends ---- */

JZX_TEST(threads_in_line_hear_of_the_end_of_their_target) {
    for (int seen = 0; seen < 2; seen++) { /* and whether or not it knew of them */
        scene_open(receive_late);
        for (uint32_t i = 0; i < 3; i++)
            start_thread(i, JZX_NEVER);
        await_line(scene.timing.loop, scene.id, 3);
        if (seen)
            timing_step(&scene.timing);
        assert_int_equal(jzx_actor_stop(scene.timing.loop, scene.id, JZX_STOP_KILL), JZX_OK);
        timing_step(&scene.timing);
        for (uint32_t i = 0; i < 3; i++)
            join_thread(i, JZX_ERR_NO_SUCH_ACTOR);
        scene_close();
    }
}

static jzx_behavior_result drain_target(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, scene.id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

/* F3. It sleeps, and what waits in its mailbox is handled later. */
JZX_TEST(threads_in_line_hear_at_once_that_their_target_works_off_its_queue) {
    for (int seen = 0; seen < 2; seen++) { /* whether or not it knew of them */
        scene_open(receive_late);
        jzx_loop *loop = scene.timing.loop;
        for (uint32_t i = 0; i < 3; i++)
            start_thread(i, JZX_NEVER);
        await_line(loop, scene.id, 3);
        if (seen)
            timing_step(&scene.timing);
        fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = drain_target)), 1);
        timing_step(&scene.timing);
        for (uint32_t i = 0; i < 3; i++)
            join_thread(i, JZX_ERR_NO_SUCH_ACTOR);
        start_thread(3, JZX_NEVER);
        join_thread(3, JZX_ERR_NO_SUCH_ACTOR);
        assert_int_equal(line_length(loop, scene.id), 0);
        assert_int_equal(scene.target.count, 0);
        timing_advance(&scene.timing, JZX_SECOND(100));
        assert_int_equal(scene.target.count, CAP);
        scene_close();
    }
    assert_int_equal(jzx_test_runs(), 2);
}

JZX_TEST(threads_in_line_hear_that_the_loop_is_closed) {
    scene_open(receive_late);
    for (uint32_t i = 0; i < 3; i++)
        start_thread(i, JZX_NEVER);
    await_line(scene.timing.loop, scene.id, 3);
    assert_int_equal(jzx_loop_request_stop(scene.timing.loop), JZX_OK);
    (void)jzx_loop_step(scene.timing.loop, JZX_NEVER);
    for (uint32_t i = 0; i < 3; i++)
        join_thread(i, JZX_ERR_LOOP_CLOSED);
    start_thread(3, JZX_NEVER);
    join_thread(3, JZX_ERR_LOOP_CLOSED);
    scene_close();
}

/* A behaviour: its cap is its bound, and stays what it was. */
static jzx_behavior_result count_one(jzx_context *ctx, const jzx_message *msg) {
    struct life *life = ctx->state;
    note_tag(life, msg->tag);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_bound_of_a_target_is_the_same_after_a_line) {
    scene = (struct scene){.timing = timing_open()};
    jzx_loop *loop = scene.timing.loop;
    scene.id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = count_one, .state = &scene.target, .mailbox_cap = CAP));
    timing_step(&scene.timing);
    const struct jzx__task *task = &jzx__table_lookup(&loop->table, scene.id)->task;
    uint32_t easy = task->easy;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < CAP; i++)
            fixture_send(loop, scene.id, FILL);
        for (uint32_t i = 0; i < 8; i++) {
            start_thread(i, JZX_NEVER);
            await_line(loop, scene.id, i + 1);
        }
        timing_step(&scene.timing);
        for (uint32_t i = 0; i < 8; i++) {
            join_thread(i, JZX_OK);
            assert_int_equal(scene.target.tags[round * (CAP + 8) + CAP + i], i);
        }
        timing_step(&scene.timing);
        assert_int_equal(info_of(loop, scene.id).mailbox_cap, CAP);
        assert_int_equal(jzx__atomic_load_relaxed(&task->cap), CAP);
        assert_int_equal(task->easy, easy);
        assert_int_equal(task->care, 0);
    }
    scene_close();
}
