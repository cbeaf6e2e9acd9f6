/* SPDX-License-Identifier: MIT */
/* Fibers that wait for room in a mailbox: in line, each message once or not at all. */
#include "fibering.h"

enum { START = 900, CAP = 4, SENDERS = 100 };

/* The state of a fiber that sends one message with its number as the tag. */
struct sender {
    struct life life; /* first; its other is whom it sends to */
    uint32_t tag;
    uint64_t deadline_ns;
};

static struct sender senders[SENDERS];
static uint32_t calls[SENDERS]; /* the tags, in the order in which they were sent */
static uint32_t call_count;

static void send_one(jzx_context *ctx) {
    struct sender *self = ctx->state;
    uint64_t number = self->tag * 3;
    calls[call_count++] = self->tag;
    self->life.begun++;
    self->life.err =
        jzx_send_until(ctx, self->life.other, &number, sizeof number, self->tag, self->deadline_ns);
    self->life.woken_ns = jzx_loop_now(ctx->loop);
    self->life.finished++;
}

/* Waits for START, and then receives all that came before and after. */
static void receive_after_start(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_sleep(ctx, JZX_SECOND(100)), JZX_OK);
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK) {
        if (msg.tag != START)
            JZX_EXPECT_EQ(number_of(&msg), msg.tag * 3);
        note_tag(life, msg.tag);
    }
}

/* A fiber with a full mailbox that receives from second 100 on, and senders that wait for it. */
struct scene {
    struct timing timing;
    struct life target;
    jzx_actor_id id;
    jzx_actor_id ids[SENDERS];
};

static void fill(struct scene *scene) {
    for (uint32_t i = 0; i < CAP; i++)
        fixture_send(scene->timing.loop, scene->id, START);
}

static void add_sender(struct scene *scene, uint32_t i, uint64_t deadline_ns) {
    senders[i] = (struct sender){
        .life = {.other = scene->id, .err = 1}, .tag = i + 1, .deadline_ns = deadline_ns};
    scene->ids[i] = timing_fiber(&scene->timing, send_one, &senders[i].life);
    assert_int_equal(senders[i].life.begun, 1);
    assert_int_equal(senders[i].life.finished, 0);
}

static void scene_open(struct scene *scene, uint32_t count) {
    *scene = (struct scene){.timing = timing_open()};
    call_count = 0;
    scene->id = fixture_spawn(scene->timing.loop,
                              &JZX_SPAWN_OPTS(.fiber = receive_after_start, .state = &scene->target,
                                              .cleanup = note_cleanup, .mailbox_cap = CAP));
    timing_step(&scene->timing);
    fill(scene);
    for (uint32_t i = 0; i < count; i++)
        add_sender(scene, i, JZX_NEVER);
}

/* What the target got behind those that filled it. */
static void expect_sent(const struct scene *scene, uint32_t count, const uint32_t *tags) {
    JZX_EXPECT_EQ(scene->target.count, CAP + count);
    for (uint32_t i = 0; i < count; i++)
        JZX_EXPECT_EQ(scene->target.tags[CAP + i], tags[i]);
}

static void scene_close(struct scene *scene) {
    jzx_stats stats = fixture_stats(scene->timing.loop);
    JZX_EXPECT_EQ(stats.waiting, 0);
    timing_close(&scene->timing);
}

/* ---- the line ---- */

JZX_TEST(senders_that_wait_for_room_are_served_in_their_order) {
    struct scene scene;
    scene_open(&scene, SENDERS);
    timing_advance(&scene.timing, JZX_SECOND(100));
    assert_int_equal(call_count, SENDERS);
    expect_sent(&scene, SENDERS, calls);
    for (uint32_t i = 0; i < SENDERS; i++) {
        assert_int_equal(senders[i].life.err, JZX_OK);
        assert_int_equal(senders[i].life.finished, 1);
    }
    assert_int_equal(fixture_stats(scene.timing.loop).refused_full, 0);
    scene_close(&scene);
}

JZX_TEST(a_sender_that_finds_room_does_not_wait) {
    struct timing timing = timing_open();
    struct recorder log = {0};
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    senders[0] = (struct sender){.life = {.other = id}, .tag = 1};
    call_count = 0;
    timing_fiber(&timing, send_one, &senders[0].life);
    assert_int_equal(senders[0].life.finished, 1);
    assert_int_equal(senders[0].life.err, JZX_OK);
    assert_int_equal(log.count, 1);
    timing_close(&timing);
}

/* A behaviour that sends one to itself for each that it handles keeps its mailbox full. */
static jzx_behavior_result talk_to_itself(jzx_context *ctx, const jzx_message *msg) {
    struct life *life = ctx->state;
    if (msg->tag != START) {
        life->finished++;
        return JZX_BEHAVIOR_STOP;
    }
    life->begun++;
    life->err = jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, START);
    return life->begun < 1000 ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

JZX_TEST(room_goes_to_those_in_line_first) {
    struct timing timing = timing_open();
    struct life talker = {0};
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = talk_to_itself, .state = &talker,
                                                   .mailbox_cap = CAP));
    for (uint32_t i = 0; i < CAP; i++)
        fixture_send(timing.loop, id, START);
    senders[0] = (struct sender){.life = {.other = id}, .tag = 1, .deadline_ns = JZX_NEVER};
    call_count = 0;
    timing_fiber(&timing, send_one, &senders[0].life);
    assert_int_equal(senders[0].life.err, JZX_OK);
    assert_int_equal(talker.finished, 1); /* it got the message of who waited */
    assert_in_range(talker.begun, CAP, 999);
    timing_close(&timing);
}

/* Between two messages it has room, which is that of who is in line. */
static void receive_and_look(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_sleep(ctx, JZX_SECOND(100)), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    life->err = jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, START);
    note_tag(life, info_of(ctx->loop, ctx->self).depth);
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK && msg.tag != 0)
        note_tag(life, msg.tag);
}

static void room_between_messages(uint64_t deadline_ns, jzx_err err, uint32_t last) {
    struct scene scene = {.timing = timing_open()};
    call_count = 0;
    scene.id = fixture_spawn(
        scene.timing.loop,
        &JZX_SPAWN_OPTS(.fiber = receive_and_look, .state = &scene.target, .mailbox_cap = CAP));
    timing_step(&scene.timing);
    fill(&scene);
    add_sender(&scene, 0, deadline_ns);
    timing_advance(&scene.timing, JZX_SECOND(50));
    timing_advance(&scene.timing, JZX_SECOND(50));
    assert_int_equal(scene.target.err, err);
    expect_life_tags(&scene.target, CAP + 1,
                     (uint32_t[]){err == JZX_OK ? CAP : CAP - 1, START, START, START, last});
    timing_close(&scene.timing);
}

JZX_TEST(a_send_that_does_not_wait_is_refused_while_others_are_in_line) {
    room_between_messages(JZX_NEVER, JZX_ERR_MAILBOX_FULL, 1);
}

JZX_TEST(a_line_that_was_left_refuses_nobody) {
    room_between_messages(JZX_SECOND(50), JZX_OK, START);
}

/* ---- waits that send nothing ---- */

JZX_TEST(a_wait_for_room_that_timed_out_has_sent_nothing, "E16") {
    struct scene scene;
    scene_open(&scene, 2);
    add_sender(&scene, 2, JZX_SECOND(10));
    add_sender(&scene, 3, JZX_NEVER);
    timing_advance(&scene.timing, JZX_SECOND(10) - 1);
    assert_int_equal(senders[2].life.finished, 0);
    timing_advance(&scene.timing, 1);
    assert_int_equal(senders[2].life.err, JZX_ERR_TIMEOUT);
    assert_int_equal(senders[2].life.woken_ns, JZX_SECOND(10));
    assert_int_equal(fixture_stats(scene.timing.loop).refused_full, 1);
    timing_advance(&scene.timing, JZX_SECOND(90));
    expect_sent(&scene, 3, (uint32_t[]){1, 2, 4});
    assert_int_equal(timing_pending(scene.timing.loop), 0);
    scene_close(&scene);
}

static void poll_for_room(jzx_context *ctx) {
    struct life *life = ctx->state;
    for (int i = 0; i < 1000; i++) /* and uses up its turns */
        JZX_EXPECT_EQ(jzx_send_until(ctx, life->other, NULL, 0, 7, 0), JZX_ERR_TIMEOUT);
    life->finished++;
}

JZX_TEST(a_deadline_that_has_passed_looks_once) {
    struct scene scene;
    struct life life = {0};
    scene_open(&scene, 0);
    life.other = scene.id;
    timing_fiber(&scene.timing, poll_for_room, &life);
    assert_int_equal(life.finished, 1);
    timing_advance(&scene.timing, JZX_SECOND(100));
    expect_sent(&scene, 0, NULL);
    scene_close(&scene);
}

JZX_TEST(a_fiber_that_is_killed_in_line_has_sent_nothing) {
    struct scene scene;
    scene_open(&scene, 6);
    for (uint32_t i = 0; i < 6; i += 2)
        assert_int_equal(jzx_actor_stop(scene.timing.loop, scene.ids[i], JZX_STOP_KILL), JZX_OK);
    timing_step(&scene.timing);
    timing_advance(&scene.timing, JZX_SECOND(100));
    expect_sent(&scene, 3, (uint32_t[]){2, 4, 6});
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(senders[i].life.finished, i % 2);
    scene_close(&scene);
}

/* Room and the kill come at once: the message was sent, or was not, and nothing is left of it. */
JZX_TEST(a_fiber_that_is_killed_when_it_is_served) {
    struct scene scene;
    scene_open(&scene, 3);
    assert_int_equal(jzx_clock_advance(scene.timing.clock, JZX_SECOND(100)), JZX_OK);
    assert_int_equal(jzx_actor_stop(scene.timing.loop, scene.ids[1], JZX_STOP_KILL), JZX_OK);
    timing_step(&scene.timing);
    assert_in_range(scene.target.count, CAP + 2, CAP + 3);
    assert_int_equal(senders[1].life.finished, 0);
    assert_int_equal(scene.target.tags[scene.target.count - 1], 3);
    scene_close(&scene);
}

JZX_TEST(a_fiber_that_is_to_stop_leaves_the_line) {
    struct scene scene;
    scene_open(&scene, 2);
    assert_int_equal(jzx_actor_stop(scene.timing.loop, scene.ids[0], JZX_STOP_AFTER_QUEUE), JZX_OK);
    timing_step(&scene.timing);
    assert_int_equal(senders[0].life.err, JZX_ERR_CANCELLED);
    assert_int_equal(senders[0].life.finished, 1);
    timing_advance(&scene.timing, JZX_SECOND(100));
    expect_sent(&scene, 1, (uint32_t[]){2});
    scene_close(&scene);
}

/* ---- the end of the target ---- */

static void end_with_line(jzx_err (*stop)(jzx_loop *loop, jzx_actor_id id)) {
    struct scene scene;
    scene_open(&scene, 10);
    assert_int_equal(stop(scene.timing.loop, scene.id), JZX_OK);
    timing_step(&scene.timing);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(senders[i].life.finished, 1);
        assert_int_equal(senders[i].life.err, JZX_ERR_NO_SUCH_ACTOR);
    }
    assert_int_equal(fixture_stats(scene.timing.loop).refused_no_actor, 10);
    timing_advance(&scene.timing, JZX_SECOND(100));
    scene_close(&scene);
}

static jzx_err stop_kill(jzx_loop *loop, jzx_actor_id id) {
    return jzx_actor_stop(loop, id, JZX_STOP_KILL);
}

static jzx_err stop_gently(jzx_loop *loop, jzx_actor_id id) {
    return jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE);
}

JZX_TEST(those_in_line_hear_of_the_end_of_their_target) {
    end_with_line(stop_kill);
    end_with_line(jzx_actor_fail);
}

JZX_TEST(those_in_line_hear_that_their_target_takes_no_more) {
    end_with_line(stop_gently);
}

static void kill_from_turn(jzx_context *ctx) {
    struct life *life = ctx->state;
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, life->other, JZX_STOP_KILL), JZX_OK);
    life->err = jzx_send_until(ctx, life->other, NULL, 0, 1, JZX_NEVER);
    life->finished++;
}

/* The owner has not seen the request when the target ends. */
JZX_TEST(who_joins_the_line_of_a_target_that_is_about_to_end_hears_of_it) {
    struct scene scene;
    struct life life = {0};
    scene_open(&scene, 0);
    life.other = scene.id;
    timing_fiber(&scene.timing, kill_from_turn, &life);
    assert_int_equal(life.finished, 1);
    assert_int_equal(life.err, JZX_ERR_NO_SUCH_ACTOR);
    scene_close(&scene);
}

JZX_TEST(a_loop_that_is_destroyed_leaves_nothing_of_a_line) {
    struct scene scene;
    scene_open(&scene, 20);
    fixture_destroy(scene.timing.loop);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(senders[i].life.begun, 1);
    assert_int_equal(jzx_clock_free(scene.timing.clock), JZX_OK);
}

/* ---- who may wait, and for what ---- */

static jzx_behavior_result try_to_wait(jzx_context *ctx, const jzx_message *msg) {
    const struct life *life = ctx->state;
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_send_until(ctx, life->other, NULL, 0, 1, JZX_NEVER), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_send_until(ctx, life->other, NULL, 0, 1, 0), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_send_wait(ctx->loop, life->other, NULL, 0, 1, 0), JZX_ERR_WOULD_SUSPEND);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(only_fibers_wait_for_room, "E29") {
    struct scene scene;
    struct life life = {0};
    scene_open(&scene, 0);
    life.other = scene.id;
    jzx_actor_id id =
        fixture_spawn(scene.timing.loop, &JZX_SPAWN_OPTS(.behavior = try_to_wait, .state = &life));
    fixture_send(scene.timing.loop, id, 1);
    timing_step(&scene.timing);
    assert_int_equal(jzx_test_runs(), 1);
    assert_int_equal(jzx_send_until(NULL, scene.id, NULL, 0, 1, 0), JZX_ERR_INVALID_ARG);
    fixture_destroy(scene.timing.loop);
    assert_int_equal(jzx_clock_free(scene.timing.clock), JZX_OK);
}

static void send_wrongly(jzx_context *ctx) {
    struct life *life = ctx->state;
    for (uint32_t i = 0; i < CAP; i++)
        JZX_EXPECT_EQ(jzx_send_until(ctx, ctx->self, NULL, 0, i, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_until(ctx, ctx->self, NULL, 0, 1, JZX_NEVER), JZX_ERR_MAILBOX_FULL);
    JZX_EXPECT_EQ(jzx_send_until(ctx, 99, NULL, 0, 1, JZX_NEVER), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_send_until(ctx, ctx->self, NULL, 8, 1, JZX_NEVER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_until(ctx, ctx->self, NULL, 0, JZX_TAG_ROOM, JZX_NEVER),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_wait(ctx->loop, 99, NULL, 0, 1, JZX_NEVER), JZX_ERR_WOULD_SUSPEND);
    for (uint32_t i = 0; i < CAP; i++)
        expect_next(ctx, i);
    life->finished++;
}

JZX_TEST(wrong_sends_are_refused_at_once) {
    struct timing timing = timing_open();
    struct life life = {0};
    fixture_spawn(timing.loop,
                  &JZX_SPAWN_OPTS(.fiber = send_wrongly, .state = &life, .mailbox_cap = CAP));
    timing_step(&timing);
    assert_int_equal(life.finished, 1);
    jzx_stats stats = fixture_stats(timing.loop);
    assert_int_equal(stats.refused_full, 1);
    assert_int_equal(stats.refused_no_actor, 1);
    assert_int_equal(stats.refused_invalid, 2);
    timing_close(&timing);
}

static void send_many(jzx_context *ctx) {
    struct life *life = ctx->state;
    for (uint32_t i = 1; i <= 10; i++)
        JZX_EXPECT_EQ(jzx_send_until(ctx, life->other, NULL, 0, i, JZX_NEVER), JZX_OK);
    life->finished++;
}

static void policy_never_waits(jzx_on_full on_full, uint32_t first) {
    struct timing timing = timing_open();
    struct recorder log = {0};
    struct life life = {0};
    life.other = fixture_spawn(timing.loop,
                               &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = 4,
                                               .on_full = on_full, .priority = JZX_PRIORITY_LOW));
    timing_fiber(&timing, send_many, &life);
    assert_int_equal(life.finished, 1);
    timing_step(&timing);
    assert_int_equal(log.count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(log.tags[i], first + i);
    timing_close(&timing);
}

JZX_TEST(a_mailbox_that_drops_never_makes_its_senders_wait) {
    policy_never_waits(JZX_FULL_DROP_OLDEST, 7);
    policy_never_waits(JZX_FULL_DROP_NEW, 1);
}

/* ---- what is told of it ---- */

static uint32_t fulls;

static void count_fulls(void *ctx, const jzx_event *event) {
    (void)ctx;
    fulls += event->kind == JZX_EVENT_MAILBOX_FULL;
}

JZX_TEST(who_waits_for_room_is_no_event) {
    struct scene scene;
    fulls = 0;
    scene_open(&scene, 0);
    assert_int_equal(
        jzx_loop_set_observer(scene.timing.loop, &JZX_OBSERVER(.on_event = count_fulls), NULL),
        JZX_OK);
    for (uint32_t i = 0; i < 5; i++)
        add_sender(&scene, i, JZX_NEVER);
    timing_advance(&scene.timing, JZX_SECOND(100));
    expect_sent(&scene, 5, calls);
    assert_int_equal(fulls, 0);
    scene_close(&scene);
}

/* ---- memory ---- */

static char large[50000];

static void send_large(jzx_context *ctx) {
    struct sender *self = ctx->state;
    large[sizeof large - 1] = 7;
    self->life.err =
        jzx_send_until(ctx, self->life.other, large, sizeof large, self->tag, self->deadline_ns);
    self->life.finished++;
}

static void receive_large(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_sleep(ctx, JZX_SECOND(100)), JZX_OK);
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK) {
        const char *bytes = msg.data;
        JZX_EXPECT(msg.tag == START || (msg.len == sizeof large && bytes[msg.len - 1] == 7));
        note_tag(life, msg.tag);
    }
}

/* Returns how many were refused for want of memory, of what is sent with the n-th allocation
 * failing. */
static uint32_t play(uint64_t n, uint64_t count) {
    struct scene scene = {.timing = timing_open()};
    uint32_t refused = 0;
    uint32_t sent = 0;
    scene.id = fixture_spawn(
        scene.timing.loop,
        &JZX_SPAWN_OPTS(.fiber = receive_large, .state = &scene.target, .mailbox_cap = CAP));
    timing_step(&scene.timing);
    fill(&scene);
    for (uint32_t i = 0; i < 3; i++) {
        senders[i] = (struct sender){.life = {.other = scene.id, .err = 1},
                                     .tag = i + 1,
                                     .deadline_ns = i == 2 ? JZX_SECOND(50) : JZX_NEVER};
        fixture_spawn(scene.timing.loop,
                      &JZX_SPAWN_OPTS(.fiber = send_large, .state = &senders[i]));
    }
    fixture_fail_allocations(n, count);
    timing_step(&scene.timing);
    timing_advance(&scene.timing, JZX_SECOND(50));
    fixture_fail_allocations(UINT64_MAX, 0);
    timing_advance(&scene.timing, JZX_SECOND(50));
    for (uint32_t i = 0; i < 3; i++) {
        const struct life *life = &senders[i].life;
        if (life->finished != 0 && life->err == JZX_OK)
            sent++;
        else if (life->finished == 0 || life->err == JZX_ERR_NO_MEMORY)
            refused++; /* or had no stack */
        else
            JZX_EXPECT_EQ(life->err, JZX_ERR_TIMEOUT);
    }
    JZX_EXPECT_EQ(scene.target.count, CAP + sent);
    scene_close(&scene);
    return refused;
}

JZX_TEST(a_wait_for_room_survives_every_failed_allocation) {
    assert_int_equal(play(UINT64_MAX, 0), 0);
    uint32_t all = 0;
    for (uint64_t n = 0; n < 40; n++)
        all += play(n, 1);
    assert_true(all != 0);
    assert_int_equal(play(39, 1), 0); /* past the last */
    for (uint64_t n = 0; n < 40; n++)
        (void)play(n, UINT64_MAX);
}
