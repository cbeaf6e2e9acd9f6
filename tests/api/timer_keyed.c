/* SPDX-License-Identifier: MIT */
/* Timers by key: an actor's own, replaced and stopped by name, and only in its own turn. */
#include "timing.h"

#include <pthread.h>

/* ---- starting and replacing ---- */

static void start_three(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 0, "abc", 3, 10, JZX_MS(5)), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, NULL, 0, 11, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, UINT64_MAX, "0123456789", 10, 12, JZX_MS(300)), JZX_OK);
    JZX_EXPECT(jzx_timer_is_active(ctx, 0));
    JZX_EXPECT(jzx_timer_is_active(ctx, 1));
    JZX_EXPECT(jzx_timer_is_active(ctx, UINT64_MAX));
    JZX_EXPECT(!jzx_timer_is_active(ctx, 2));
}

static void expect_none_active(jzx_context *ctx) {
    for (uint64_t key = 0; key < 10; key++)
        JZX_EXPECT(!jzx_timer_is_active(ctx, key));
    JZX_EXPECT(!jzx_timer_is_active(ctx, UINT64_MAX));
    JZX_EXPECT_EQ(jzx_timer_stop_all(ctx), 0);
}

JZX_TEST(a_timer_by_key_comes_to_its_own_actor, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_do(&timing, id, start_three);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance(&timing, JZX_MS(1));
    expect_last(&diary, 1, 11, JZX_MS(1)); /* zero means at the next millisecond */
    timing_advance(&timing, JZX_MS(4) - 1);
    JZX_EXPECT_EQ(diary.count, 1);
    timing_advance(&timing, 1);
    expect_last(&diary, 2, 10, JZX_MS(5));
    JZX_EXPECT_EQ(diary.arrivals[1].len, 3);
    timing_advance_to(&timing, JZX_MS(300) - 1);
    JZX_EXPECT_EQ(diary.count, 2);
    timing_advance_to(&timing, JZX_MS(300));
    expect_last(&diary, 3, 12, JZX_MS(300));
    timing_do(&timing, id, expect_none_active);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    timing_close(&timing);
}

static void start_long(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 7, "old", 3, 1, JZX_MS(10)), JZX_OK);
}

static void start_again(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 7, "newer", 5, 2, JZX_MS(10)), JZX_OK);
    JZX_EXPECT(jzx_timer_is_active(ctx, 7));
}

JZX_TEST(starting_a_key_again_replaces_its_timer, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_do(&timing, id, start_long);
    for (uint32_t i = 0; i < 50; i++) { /* a deadline that moves */
        timing_advance(&timing, JZX_MS(9));
        timing_do(&timing, id, start_again);
    }
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance(&timing, JZX_MS(10) - 1);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance(&timing, 1);
    expect_last(&diary, 1, 2, JZX_MS(460));
    JZX_EXPECT_EQ(diary.arrivals[0].len, 5);
    timing_advance(&timing, JZX_SECOND(10));
    JZX_EXPECT_EQ(diary.count, 1);
    timing_do(&timing, id, expect_none_active);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    timing_close(&timing);
}

static jzx_repeat replacing_kind;

/* The message of key 7 waits behind this one. */
static jzx_behavior_result replace_at_first(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag != 100)
        return JZX_BEHAVIOR_OK;
    JZX_EXPECT(jzx_timer_is_active(ctx, 7));
    start_again(ctx);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_replaced_timer_does_not_come_though_its_message_waits, "B+actor", "X15") {
    struct diary diary = {.then = replace_at_first};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 100, JZX_MS(10));
    timing_do(&timing, id, start_long);
    timing_advance(&timing, JZX_MS(10));
    expect_tags(&diary, 1, (const uint32_t[]){100});
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    timing_advance(&timing, JZX_MS(10));
    expect_last(&diary, 2, 2, JZX_MS(20));
    timing_advance(&timing, JZX_SECOND(10));
    JZX_EXPECT_EQ(diary.count, 2);
    timing_close(&timing);
}

static void start_repeating(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 7, "rep", 3, 3, JZX_MS(10), replacing_kind), JZX_OK);
    JZX_EXPECT(jzx_timer_is_active(ctx, 7));
}

/* One-shot by repeating, repeating by repeating, repeating by one-shot. */
static void replace_kinds(jzx_repeat repeat) {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    replacing_kind = repeat;
    timing_do(&timing, id, start_long);
    timing_advance(&timing, JZX_MS(5));
    timing_do(&timing, id, start_repeating);
    timing_advance(&timing, JZX_MS(9));
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance(&timing, JZX_MS(1));
    expect_last(&diary, 1, 3, JZX_MS(15));
    timing_advance(&timing, JZX_MS(10));
    expect_last(&diary, 2, 3, JZX_MS(25));
    timing_advance(&timing, JZX_MS(5));
    timing_do(&timing, id, start_repeating);
    timing_advance(&timing, JZX_MS(9));
    JZX_EXPECT_EQ(diary.count, 2);
    timing_advance(&timing, JZX_MS(1));
    expect_last(&diary, 3, 3, JZX_MS(40));
    timing_do(&timing, id, start_again);
    timing_advance(&timing, JZX_MS(10));
    expect_last(&diary, 4, 2, JZX_MS(50));
    timing_advance(&timing, JZX_SECOND(10));
    JZX_EXPECT_EQ(diary.count, 4);
    timing_do(&timing, id, expect_none_active);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    timing_close(&timing);
}

JZX_TEST(a_key_may_change_the_kind_of_its_timer, "B+actor") {
    replace_kinds(JZX_FIXED_RATE);
    replace_kinds(JZX_FIXED_DELAY);
}

/* In the handler of the key's own message, the same key begins anew. */
static jzx_behavior_result start_in_own_message(jzx_context *ctx, const jzx_message *msg) {
    struct diary *self = ctx->state;
    (void)msg;
    if (self->count < 5)
        JZX_EXPECT_EQ(jzx_timer_start(ctx, 7, "0123456789", 10, self->count, JZX_MS(10)), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void start_first(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 7, "0123456789", 10, 0, JZX_MS(10)), JZX_OK);
}

JZX_TEST(a_key_can_be_started_in_the_message_of_its_own_timer, "B+actor") {
    for (uint32_t kind = 0; kind < 3; kind++) {
        struct diary diary = {.then = start_in_own_message};
        struct timing timing = timing_open();
        jzx_actor_id id = timing_spawn(&timing, &diary);
        replacing_kind = kind == 1 ? JZX_FIXED_RATE : JZX_FIXED_DELAY;
        timing_do(&timing, id, kind == 0 ? start_first : start_repeating);
        for (uint32_t i = 1; i <= 5; i++) {
            timing_advance(&timing, JZX_MS(10));
            expect_last(&diary, i, i == 1 ? kind == 0 ? 0 : 3 : i - 1, JZX_MS(10 * i));
        }
        timing_advance(&timing, JZX_SECOND(1));
        JZX_EXPECT_EQ(diary.count, 5);
        timing_do(&timing, id, expect_none_active);
        JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
        timing_close(&timing);
    }
}

JZX_TEST(keys_of_different_actors_are_different_timers, "B+actor") {
    struct diary diaries[3] = {{.count = 0}};
    struct timing timing = timing_open();
    jzx_actor_id ids[3];
    for (uint32_t i = 0; i < 3; i++) {
        ids[i] = timing_spawn(&timing, &diaries[i]);
        timing_do(&timing, ids[i], start_long);
        timing_advance(&timing, JZX_MS(2));
    }
    timing_do(&timing, ids[1], start_again);
    timing_advance(&timing, JZX_SECOND(1));
    for (uint32_t i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(diaries[i].count, 1);
        JZX_EXPECT_EQ(diaries[i].arrivals[0].tag, i == 1 ? 2 : 1);
    }
    timing_close(&timing);
}

/* ---- stopping ---- */

static void stop_some(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_stop(ctx, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_stop(ctx, 0), JZX_ERR_TIMER_INVALID);
    JZX_EXPECT_EQ(jzx_timer_stop(ctx, 2), JZX_ERR_TIMER_INVALID); /* never was */
    JZX_EXPECT(!jzx_timer_is_active(ctx, 0));
    JZX_EXPECT(jzx_timer_is_active(ctx, 1));
}

static void stop_the_rest(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_stop_all(ctx), 2);
    expect_none_active(ctx);
}

JZX_TEST(stopped_timers_do_not_come, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_do(&timing, id, start_three);
    timing_do(&timing, id, stop_some);
    timing_set(timing.loop, id, 50, JZX_MS(2)); /* has no key */
    timing_do(&timing, id, stop_the_rest);
    timing_advance(&timing, JZX_SECOND(10));
    expect_tags(&diary, 1, (const uint32_t[]){50});
    timing_do(&timing, id, start_three); /* the keys are free again */
    timing_advance(&timing, JZX_SECOND(10));
    JZX_EXPECT_EQ(diary.count, 4);
    timing_close(&timing);
}

/* Messages of keys 1 .. 3 wait behind this one. */
static jzx_behavior_result stop_those_that_wait(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag != 100)
        return JZX_BEHAVIOR_OK;
    for (uint64_t key = 1; key <= 3; key++)
        JZX_EXPECT(jzx_timer_is_active(ctx, key)); /* until it is handled */
    JZX_EXPECT_EQ(jzx_timer_stop(ctx, 2), JZX_OK);
    JZX_EXPECT(!jzx_timer_is_active(ctx, 2));
    JZX_EXPECT_EQ(jzx_timer_stop(ctx, 2), JZX_ERR_TIMER_INVALID);
    return JZX_BEHAVIOR_OK;
}

static void start_three_at_once(jzx_context *ctx) {
    for (uint32_t key = 1; key <= 3; key++)
        JZX_EXPECT_EQ(jzx_timer_start(ctx, key, NULL, 0, key, JZX_MS(10)), JZX_OK);
}

JZX_TEST(a_stopped_timer_does_not_come_though_its_message_waits, "B+actor", "X15") {
    struct diary diary = {.then = stop_those_that_wait};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 100, JZX_MS(10));
    timing_do(&timing, id, start_three_at_once);
    timing_advance(&timing, JZX_MS(10));
    expect_tags(&diary, 3, (const uint32_t[]){100, 1, 3});
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    timing_close(&timing);
}

static jzx_behavior_result stop_all_that_wait(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == 100)
        JZX_EXPECT_EQ(jzx_timer_stop_all(ctx), 3);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(stop_all_reaches_messages_that_wait, "B+actor", "X15") {
    struct diary diary = {.then = stop_all_that_wait};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 100, JZX_MS(10));
    timing_do(&timing, id, start_three_at_once);
    timing_advance(&timing, JZX_MS(10));
    expect_tags(&diary, 1, (const uint32_t[]){100});
    timing_do(&timing, id, expect_none_active);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    timing_close(&timing);
}

static jzx_behavior_result stop_in_own_message(jzx_context *ctx, const jzx_message *msg) {
    const struct diary *self = ctx->state;
    if (msg->tag == 3 && self->count == 2) { /* repeats: it can be stopped */
        JZX_EXPECT(jzx_timer_is_active(ctx, 7));
        JZX_EXPECT_EQ(jzx_timer_stop(ctx, 7), JZX_OK);
        JZX_EXPECT(!jzx_timer_is_active(ctx, 7));
    }
    if (msg->tag == 1) /* does not, and is in hand */
        JZX_EXPECT_EQ(jzx_timer_stop(ctx, 7), JZX_ERR_TIMER_INVALID);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_timer_can_be_stopped_in_its_own_message_if_it_repeats, "B+actor") {
    for (uint32_t kind = 0; kind < 3; kind++) {
        struct diary diary = {.then = stop_in_own_message};
        struct timing timing = timing_open();
        jzx_actor_id id = timing_spawn(&timing, &diary);
        replacing_kind = kind == 1 ? JZX_FIXED_RATE : JZX_FIXED_DELAY;
        timing_do(&timing, id, kind == 0 ? start_long : start_repeating);
        for (uint32_t i = 0; i < 10; i++)
            timing_advance(&timing, JZX_MS(10));
        JZX_EXPECT_EQ(diary.count, kind == 0 ? 1 : 2);
        timing_do(&timing, id, expect_none_active);
        JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
        timing_close(&timing);
    }
}

/* ---- many keys ---- */

enum { KEYS = 300 };

static uint64_t key_of(uint32_t i) {
    return i * 0x9E3779B97F4A7C15u;
}

static void start_many(jzx_context *ctx) {
    for (uint32_t i = 0; i < KEYS; i++)
        JZX_EXPECT_EQ(jzx_timer_start(ctx, key_of(i), &i, sizeof i, i, JZX_MS(1000 - i)), JZX_OK);
}

static void stop_every_third(jzx_context *ctx) {
    for (uint32_t i = 0; i < KEYS; i += 3)
        JZX_EXPECT_EQ(jzx_timer_stop(ctx, key_of(i)), JZX_OK);
    for (uint32_t i = 0; i < KEYS; i++)
        JZX_EXPECT_EQ(jzx_timer_is_active(ctx, key_of(i)), i % 3 != 0);
}

JZX_TEST(an_actor_may_have_many_keys, "B+actor") {
    static struct diary diary;
    struct timing timing = timing_open();
    diary = (struct diary){0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_do(&timing, id, start_many);
    timing_do(&timing, id, stop_every_third);
    timing_advance(&timing, JZX_SECOND(1));
    JZX_EXPECT_EQ(diary.count, KEYS - KEYS / 3);
    for (uint32_t i = 1; i < diary.count; i++) /* the last one set is the first */
        JZX_EXPECT(diary.arrivals[i].tag < diary.arrivals[i - 1].tag);
    timing_do(&timing, id, expect_none_active);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    timing_close(&timing);
}

/* ---- wrong use ---- */

static void use_wrongly(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 7, "old", 3, 1, JZX_MS(10)), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 7, NULL, 1, 9, JZX_MS(1)), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 7, NULL, 0, JZX_TAG_RESERVED, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 7, "x", SIZE_MAX, 9, JZX_MS(1)), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 7, NULL, 0, 9, 0, JZX_FIXED_RATE),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 7, NULL, 0, UINT32_MAX, 1, JZX_FIXED_RATE),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 7, NULL, 5, 9, 1, JZX_FIXED_DELAY),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 7, NULL, 0, 9, 1, (jzx_repeat)7), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(jzx_timer_is_active(ctx, 7));
}

JZX_TEST(a_start_that_is_refused_leaves_the_old_timer, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_do(&timing, id, use_wrongly);
    timing_advance(&timing, JZX_MS(10) - 1);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance(&timing, 1);
    expect_last(&diary, 1, 1, JZX_MS(10));
    timing_close(&timing);
}

/* Each call, from where it is not allowed. ctx may be NULL. */
static void expect_refused(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, NULL, 0, 1, JZX_MS(1)), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 1, NULL, 0, 1, JZX_MS(1), JZX_FIXED_RATE),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_stop(ctx, 7), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_stop_all(ctx), 0);
    JZX_EXPECT(!jzx_timer_is_active(ctx, 7));
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(1)), JZX_ERR_INVALID_ARG);
    jzx_receive_timeout_ignore(ctx);
}

static void *refuse_on_a_thread(void *arg) {
    expect_refused(arg);
    JZX_EXPECT_EQ(jzx_timer_missed(arg), 0);
    return NULL;
}

static jzx_context *lent; /* valid while its owner waits */

static jzx_behavior_result use_the_lent(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    expect_refused(lent); /* in a turn, but not in that actor's */
    return JZX_BEHAVIOR_STOP;
}

static void lend(jzx_context *ctx) {
    pthread_t thread;
    start_long(ctx);
    if (JZX_EXPECT_EQ(pthread_create(&thread, NULL, refuse_on_a_thread, ctx), 0))
        JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    lent = ctx;
    jzx_loop *inner = fixture_loop();
    jzx_actor_id id = fixture_spawn(inner, &JZX_SPAWN_OPTS(.behavior = use_the_lent));
    fixture_send(inner, id, 1);
    JZX_EXPECT_EQ(jzx_loop_run(inner), JZX_OK);
    fixture_destroy(inner);
    JZX_EXPECT(jzx_timer_is_active(ctx, 7)); /* nothing happened to it */
}

JZX_TEST(keys_are_only_for_the_actors_own_turn, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    expect_refused(NULL);
    expect_refused(&(jzx_context){.self = id, .loop = timing.loop});
    timing_do(&timing, id, lend);
    timing_advance(&timing, JZX_MS(100));
    expect_tags(&diary, 1, (const uint32_t[]){1});
    timing_close(&timing);
}
