/* SPDX-License-Identifier: MIT */
/* The urgent lane: it overtakes, keeps its order, and has a bound of its own. */
#include "fibering.h"

#include <jzx/exit.h>

#include <pthread.h>

static void send_urgent(jzx_loop *loop, jzx_actor_id to, uint32_t tag) {
    JZX_EXPECT_EQ(jzx_send_urgent(loop, to, JZX_NOBODY, &tag, sizeof tag, tag), JZX_OK);
}

JZX_TEST(an_urgent_message_overtakes_all_that_waits_and_keeps_its_order, "X15") {
    struct timing timing = timing_open();
    struct diary diary = {.count = 0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    fixture_send(timing.loop, id, 1);
    fixture_send(timing.loop, id, 2);
    send_urgent(timing.loop, id, 10);
    send_urgent(timing.loop, id, 11);
    fixture_send(timing.loop, id, 3);
    send_urgent(timing.loop, id, 12);
    timing_step(&timing);
    expect_tags(&diary, 6, (uint32_t[]){10, 11, 12, 1, 2, 3});
    timing_close(&timing);
}

/* Sends itself an urgent message and one that is not, while others wait. */
static jzx_behavior_result urge_itself(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag != 1)
        return JZX_BEHAVIOR_OK;
    fixture_send(ctx->loop, ctx->self, 4);
    send_urgent(ctx->loop, ctx->self, 10);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_actor_sends_itself_what_it_does_next, "X15") {
    struct timing timing = timing_open();
    struct diary diary = {.then = urge_itself};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t tag = 1; tag <= 3; tag++)
        fixture_send(timing.loop, id, tag);
    timing_step(&timing);
    expect_tags(&diary, 5, (uint32_t[]){1, 10, 2, 3, 4});
    timing_close(&timing);
}

JZX_TEST(sixteen_urgent_messages_wait_and_one_more_is_refused, "X15") {
    for (uint32_t cap = 0; cap <= 3; cap += 3) {
        struct timing timing = timing_open_with(0, &JZX_CONFIG(.urgent_cap = cap));
        struct diary diary = {.count = 0};
        jzx_actor_id id = timing_spawn(&timing, &diary);
        uint32_t bound = cap == 0 ? JZX_DEFAULT_URGENT_CAP : cap;
        for (uint32_t i = 0; i < bound; i++)
            send_urgent(timing.loop, id, 100 + i);
        JZX_EXPECT_EQ(jzx_send_urgent(timing.loop, id, JZX_NOBODY, NULL, 0, 7),
                      JZX_ERR_MAILBOX_FULL);
        JZX_EXPECT_EQ(fixture_stats(timing.loop).refused_full, 1);
        timing_step(&timing);
        JZX_EXPECT_EQ(diary.count, bound);
        for (uint32_t i = 0; i < diary.count; i++)
            JZX_EXPECT_EQ(diary.arrivals[i].tag, 100 + i);
        send_urgent(timing.loop, id, 8); /* there is room again */
        timing_step(&timing);
        JZX_EXPECT_EQ(diary.count, bound + 1);
        timing_close(&timing);
    }
    const char *field = NULL;
    JZX_EXPECT_EQ(jzx_config_check(&JZX_CONFIG(.urgent_cap = JZX_NONE), &field),
                  JZX_ERR_INVALID_ARG);
    assert_string_equal(field, "urgent_cap");
}

JZX_TEST(a_full_mailbox_takes_urgent_messages_whatever_its_policy, "X15") {
    for (jzx_on_full on_full = JZX_FULL_REFUSE; on_full <= JZX_FULL_DROP_NEW; on_full++) {
        struct timing timing = timing_open();
        struct diary diary = {.count = 0};
        jzx_actor_id id =
            fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary,
                                                       .mailbox_cap = 2, .on_full = on_full));
        fixture_send(timing.loop, id, 1);
        fixture_send(timing.loop, id, 2);
        send_urgent(timing.loop, id, 10);
        send_urgent(timing.loop, id, 11);
        timing_step(&timing);
        expect_tags(&diary, 4, (uint32_t[]){10, 11, 1, 2});
        timing_close(&timing);
    }
}

/* ---- stash ---- */

static jzx_behavior_result stash_one(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == 1 && ((struct diary *)ctx->state)->count == 1)
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    if (msg->tag == 2) {
        send_urgent(ctx->loop, ctx->self, 10);
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
    }
    if (msg->tag == 10 && ((struct diary *)ctx->state)->count == 3)
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    if (msg->tag == 3)
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(what_is_unstashed_comes_behind_what_is_urgent, "X15") {
    struct timing timing = timing_open();
    struct diary diary = {.then = stash_one};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t tag = 1; tag <= 3; tag++)
        fixture_send(timing.loop, id, tag);
    timing_step(&timing);
    expect_tags(&diary, 6, (uint32_t[]){1, 2, 10, 1, 3, 10});
    timing_close(&timing);
}

/* ---- fibers ---- */

static void receive_seven_first(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    if (JZX_EXPECT_EQ(jzx_receive_tag(ctx, 7, JZX_NEVER, &msg), JZX_OK))
        note_tag(life, msg.tag);
    while (jzx_receive(ctx, 0, &msg) == JZX_OK)
        note_tag(life, msg.tag);
    life->finished++;
}

JZX_TEST(a_fiber_passes_over_urgent_messages_and_gets_them_first_later, "X15") {
    struct timing timing = timing_open_with(0, &JZX_CONFIG(.urgent_cap = 2));
    struct life life = {0};
    jzx_actor_id id = timing_fiber(&timing, receive_seven_first, &life);
    fixture_send(timing.loop, id, 1);
    timing_step(&timing);
    send_urgent(timing.loop, id, 10);
    timing_step(&timing);
    send_urgent(timing.loop, id, 11);
    timing_step(&timing);
    /* Passed over, they still wait, and still count. */
    JZX_EXPECT_EQ(jzx_send_urgent(timing.loop, id, JZX_NOBODY, NULL, 0, 12), JZX_ERR_MAILBOX_FULL);
    fixture_send(timing.loop, id, 7);
    timing_step(&timing);
    JZX_EXPECT_EQ(life.finished, 1);
    expect_life_tags(&life, 4, (uint32_t[]){7, 10, 11, 1});
    timing_close(&timing);
}

static void wait_for_seven(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->err = jzx_receive_tag(ctx, 7, JZX_NEVER, &msg);
    life->finished++;
}

JZX_TEST(an_urgent_message_wakes_a_fiber_that_waits_for_it, "X15") {
    struct timing timing = timing_open();
    struct life life = {0};
    jzx_actor_id id = timing_fiber(&timing, wait_for_seven, &life);
    send_urgent(timing.loop, id, 7);
    timing_step(&timing);
    JZX_EXPECT_EQ(life.finished, 1);
    timing_close(&timing);
}

/* ---- ends ---- */

JZX_TEST(urgent_messages_of_an_actor_that_ends_are_dead_letters, "X14", "X15") {
    struct timing timing = timing_open();
    struct diary diary = {.count = 0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    send_urgent(timing.loop, id, 10);
    send_urgent(timing.loop, id, 11);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(diary.count, 0);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 2);
    JZX_EXPECT_EQ(jzx_send_urgent(timing.loop, id, JZX_NOBODY, NULL, 0, 12), JZX_ERR_NO_SUCH_ACTOR);
    timing_close(&timing);
}

JZX_TEST(an_actor_that_works_off_its_queue_handles_what_was_urgent_before, "X15") {
    struct timing timing = timing_open();
    struct diary diary = {.count = 0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    fixture_send(timing.loop, id, 1);
    send_urgent(timing.loop, id, 10);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    timing_step(&timing);
    expect_tags(&diary, 2, (uint32_t[]){10, 1});
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 0);
    timing_close(&timing);
}

JZX_TEST(a_loop_that_is_destroyed_buries_its_urgent_messages, "X14") {
    jzx_loop *loop = fixture_loop();
    struct recorder recorder = {.count = 0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder));
    send_urgent(loop, id, 10);
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_urgent(loop, id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_LOOP_CLOSED);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(recorder.count, 0);
}

JZX_TEST(wrong_urgent_sends_are_refused, "X15", "X22") {
    struct timing timing = timing_open();
    struct diary diary = {.count = 0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    JZX_EXPECT_EQ(jzx_send_urgent(NULL, id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_urgent(timing.loop, id, JZX_NOBODY, NULL, 1, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_urgent(timing.loop, id, JZX_NOBODY, NULL, 0, JZX_TAG_STOP),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_urgent(timing.loop, JZX_NOBODY, JZX_NOBODY, NULL, 0, 1),
                  JZX_ERR_NO_SUCH_ACTOR);
    timing_step(&timing);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_close(&timing);
}

JZX_TEST(an_urgent_send_without_memory_says_so_and_leaves_nothing) {
    uint32_t refused = 0;
    for (uint32_t n = 0; n < 6; n++) {
        struct timing timing = timing_open();
        struct diary diary = {.count = 0};
        jzx_actor_id id = timing_spawn(&timing, &diary);
        static const char long_one[5000];
        fixture_fail_allocations(n, UINT64_MAX);
        jzx_err err = jzx_send_urgent(timing.loop, id, JZX_NOBODY, long_one, sizeof long_one, 1);
        fixture_fail_allocations(UINT64_MAX, 0);
        refused += err == JZX_ERR_NO_MEMORY;
        if (err != JZX_ERR_NO_MEMORY)
            JZX_EXPECT_EQ(err, JZX_OK);
        timing_step(&timing);
        JZX_EXPECT_EQ(diary.count, err == JZX_OK);
        timing_close(&timing);
    }
    JZX_EXPECT(refused > 0 && refused < 6);
}

/* ---- threads ---- */

#define THREADS 3u

struct stream {
    jzx_loop *loop;
    jzx_actor_id to;
    uint32_t number;
    uint64_t count;
    pthread_t thread;
};

struct order {
    uint64_t next[THREADS];
    uint64_t plain;
    uint64_t urgent;
};

static jzx_behavior_result check_order(jzx_context *ctx, const jzx_message *msg) {
    struct order *order = ctx->state;
    uint64_t value;
    if (msg->tag == 99)
        return JZX_BEHAVIOR_STOP;
    memcpy(&value, msg->data, sizeof value);
    if (msg->tag == 1) {
        order->plain++;
        return JZX_BEHAVIOR_OK;
    }
    uint64_t from = value >> 32;
    JZX_EXPECT_EQ((uint32_t)value, order->next[from]++);
    order->urgent++;
    return JZX_BEHAVIOR_OK;
}

static void *stream_urgent(void *arg) {
    struct stream *stream = arg;
    for (uint64_t i = 0; i < stream->count;) {
        uint64_t value = (uint64_t)stream->number << 32 | i;
        jzx_err err =
            jzx_send_urgent(stream->loop, stream->to, JZX_NOBODY, &value, sizeof value, 2);
        if (err == JZX_OK)
            i++;
        else if (!JZX_EXPECT_EQ(err, JZX_ERR_MAILBOX_FULL))
            break;
        (void)jzx_send_async(stream->loop, stream->to, &value, sizeof value, 1);
    }
    return NULL;
}

static void *stream_all(void *arg) {
    struct stream *streams = arg;
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_create(&streams[i].thread, NULL, stream_urgent, &streams[i]);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(streams[i].thread, NULL);
    JZX_EXPECT_EQ(jzx_send_wait(streams->loop, streams->to, NULL, 0, 99, JZX_NEVER), JZX_OK);
    return NULL;
}

JZX_TEST(urgent_messages_of_several_threads_come_all_and_each_in_order, "X15") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct order order = {.plain = 0};
        struct stream streams[THREADS];
        uint64_t count = jzx_test_rounds(3000, 100000);
        pthread_t thread;
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = check_order, .state = &order));
        for (uint32_t i = 0; i < THREADS; i++)
            streams[i] = (struct stream){.loop = loop, .to = id, .number = i, .count = count};
        assert_int_equal(pthread_create(&thread, NULL, stream_all, streams), 0);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        pthread_join(thread, NULL);
        JZX_EXPECT_EQ(order.urgent, THREADS * count);
        fixture_destroy(loop);
    }
}

/* Actors that end under urgent senders: nothing is left behind, whoever was faster. */
static jzx_behavior_result end_soon(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static void *chase(void *arg) {
    struct stream *stream = arg;
    uint64_t ended = 0;
    for (uint64_t i = 0; i < stream->count; i++) {
        jzx_actor_id id;
        if (!JZX_EXPECT_EQ(jzx_spawn(stream->loop, &JZX_SPAWN_OPTS(.behavior = end_soon), &id),
                           JZX_OK))
            break;
        jzx_err err = JZX_OK;
        while (err == JZX_OK || err == JZX_ERR_MAILBOX_FULL)
            err = jzx_send_urgent(stream->loop, id, JZX_NOBODY, NULL, 0, 1);
        ended += err == JZX_ERR_NO_SUCH_ACTOR;
    }
    JZX_EXPECT_EQ(ended, stream->count);
    (void)jzx_loop_release(stream->loop);
    return NULL;
}

JZX_TEST(an_end_races_with_urgent_senders_and_nothing_is_lost, "X14", "X15") {
    struct stream streams[THREADS];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    for (uint32_t i = 0; i < THREADS; i++) {
        streams[i] = (struct stream){.loop = loop, .count = jzx_test_rounds(500, 20000)};
        assert_int_equal(jzx_loop_hold(loop), JZX_OK);
        assert_int_equal(pthread_create(&streams[i].thread, NULL, chase, &streams[i]), 0);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(streams[i].thread, NULL);
    fixture_destroy(loop);
}
