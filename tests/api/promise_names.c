/* SPDX-License-Identifier: MIT */
/* Attacks on what docs/guarantees.md promises about names, groups, shared buffers and questions:
 * names that change hands in cleanups, members that end, answers that come too late. */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { NUDGE = 1, QUESTION, ANSWER };

static void step(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

/* ---- a name is a lock ---- */

static atomic_uint holders;
static atomic_uint held;

static jzx_behavior_result fighter(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *left = ctx->state;
    jzx_err err = jzx_register(ctx->loop, "the only one", ctx->self);
    jzx_test_ran();
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_EXISTS);
    if (err == JZX_OK) {
        jzx_actor_id id = JZX_NOBODY;
        JZX_EXPECT_EQ(atomic_fetch_add(&holders, 1), 0);
        JZX_EXPECT_EQ(jzx_lookup(ctx->loop, "the only one", &id), JZX_OK);
        JZX_EXPECT_EQ(id, ctx->self);
        atomic_fetch_add(&held, 1);
        atomic_fetch_sub(&holders, 1);
        if (*left % 10 == 0) /* its end frees it, too */
            return JZX_BEHAVIOR_FAIL;
        JZX_EXPECT_EQ(jzx_unregister(ctx->loop, "the only one"), JZX_OK);
    }
    if (--*left == 0)
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, ctx->self, msg->tag);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(of_many_that_register_one_name_on_all_workers_one_has_it) {
    static uint32_t left[30];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 3));
    assert_non_null(loop);
    for (uint32_t i = 0; i < 30; i++) {
        left[i] = 31 + i;
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fighter, .state = &left[i],
                                                .place = JZX_PLACE_WORKER(i % 3)));
        fixture_send(loop, id, NUDGE);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT(atomic_load(&held) > 0 && jzx_test_runs() > 0);
    JZX_EXPECT_EQ(jzx_lookup(loop, "the only one", &id), JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
}

/* ---- a name that each cleanup gives to the next ---- */

#define HEIRS 2000u

static struct {
    jzx_loop *loop;
    jzx_actor_id ids[HEIRS + 1];
    atomic_uint count; /* ids that are valid */
    atomic_bool is_over;
} dynasty;

static void crown(jzx_loop *loop);

static void heir_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    jzx_actor_id id = JZX_NOBODY;
    (void)reason;
    JZX_EXPECT_EQ(jzx_lookup(ctx->loop, "crown", &id), JZX_ERR_NO_SUCH_ACTOR);
    if (atomic_load(&dynasty.count) <= HEIRS)
        crown(ctx->loop);
    else
        atomic_store(&dynasty.is_over, true);
}

static jzx_behavior_result heir(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    jzx_exit(ctx, JZX_EXIT_FAIL, "the next");
}

static void crown(jzx_loop *loop) {
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = heir, .cleanup = heir_cleanup));
    unsigned count = atomic_load(&dynasty.count);
    dynasty.ids[count] = id;
    atomic_store(&dynasty.count, count + 1);
    JZX_EXPECT_EQ(jzx_register(loop, "crown", id), JZX_OK);
    fixture_send(loop, id, NUDGE);
}

static void *look_up(void *arg) {
    unsigned place = 0;
    (void)arg;
    while (!atomic_load(&dynasty.is_over)) {
        jzx_actor_id id = JZX_NOBODY;
        jzx_err err = jzx_lookup(dynasty.loop, "crown", &id);
        if (err != JZX_OK) {
            JZX_EXPECT(err == JZX_ERR_NO_SUCH_ACTOR);
            continue;
        }
        unsigned count = atomic_load(&dynasty.count); /* never back to one before */
        while (place < count && dynasty.ids[place] != id)
            place++;
        if (!JZX_EXPECT(place < count))
            break;
    }
    return NULL;
}

static void inherit(uint32_t workers) {
    pthread_t thread;
    memset(&dynasty, 0, sizeof dynasty);
    dynasty.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_non_null(dynasty.loop);
    crown(dynasty.loop);
    assert_int_equal(pthread_create(&thread, NULL, look_up, NULL), 0);
    assert_int_equal(jzx_loop_run(dynasty.loop), JZX_OK);
    pthread_join(thread, NULL);
    fixture_destroy(dynasty.loop);
}

JZX_TEST(a_name_that_cleanups_hand_on_is_free_each_time_and_never_leads_back) {
    inherit(1);
    inherit(3);
    JZX_EXPECT_EQ(jzx_test_runs(), 2 * (HEIRS + 1));
}

/* ---- groups ---- */

#define MEMBERS 30u
#define CASTS 40u

static struct {
    jzx_actor_id ids[MEMBERS];
    uint32_t state[MEMBERS]; /* of a member: joins and leaves heard of */
    uint32_t events;
    uint32_t casts;
    uint32_t heard[MEMBERS];
} club;

static jzx_behavior_result clerk(jzx_context *ctx, const jzx_message *msg) {
    jzx_group_event event;
    if (msg->tag == NUDGE) {
        JZX_EXPECT_EQ(jzx_group_monitor(ctx, "club", NULL, 0, NULL), JZX_OK);
        for (uint32_t i = 0; i < MEMBERS; i++)
            fixture_send(ctx->loop, club.ids[i], NUDGE);
        return JZX_BEHAVIOR_OK;
    }
    memcpy(&event, msg->data, sizeof event);
    JZX_EXPECT(strcmp(event.group, "club") == 0 && event.actor == msg->sender);
    uint32_t index = 0;
    while (index < MEMBERS && club.ids[index] != event.actor)
        index++;
    if (!JZX_EXPECT(index < MEMBERS))
        return JZX_BEHAVIOR_STOP;
    JZX_EXPECT_EQ(msg->tag,
                  club.state[index]++ % 2 == 0 ? JZX_TAG_GROUP_JOIN : JZX_TAG_GROUP_LEAVE);
    return ++club.events == 4 * MEMBERS ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void member_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    size_t delivered = 99;
    JZX_EXPECT_EQ(jzx_group_broadcast(ctx->loop, "nobody's", ctx->self, NULL, 0, NUDGE, &delivered),
                  JZX_OK);
    JZX_EXPECT_EQ(delivered, 0);
}

static jzx_behavior_result member(jzx_context *ctx, const jzx_message *msg) {
    uint32_t index = (uint32_t)(uintptr_t)ctx->state;
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_group_join(ctx, "club"), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_leave(ctx, "club"), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_leave(ctx, "club"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_group_join(ctx, "club"), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_join(ctx, "club"), JZX_OK);
    if (index % 3 == 0)
        jzx_exit(ctx, JZX_EXIT_FAIL, "out");
    if (index % 3 == 1)
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_KILL), JZX_OK);
    return index % 3 == 1 ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_subscriber_without_room_hears_of_each_join_and_leave_in_order_also_at_ends) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = 3, .max_group_events = JZX_UNLIMITED));
    assert_non_null(loop);
    for (uint32_t i = 0; i < MEMBERS; i++)
        club.ids[i] = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = member, .cleanup = member_cleanup,
                                  .state = (void *)(uintptr_t)i, .place = JZX_PLACE_WORKER(i % 3)));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = clerk, .mailbox_cap = 1));
    fixture_send(loop, id, NUDGE);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(club.events, 4 * MEMBERS);
    JZX_EXPECT_EQ(jzx_test_runs(), MEMBERS);
    for (uint32_t i = 0; i < MEMBERS; i++)
        JZX_EXPECT_EQ(club.state[i], 4);
    fixture_destroy(loop);
}

/* Stays, and expects every number once. */
static jzx_err steady_init(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_group_join(ctx, "crowd"), JZX_OK);
    return JZX_OK;
}

static jzx_behavior_result steady(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *next = ctx->state;
    uint32_t number;
    memcpy(&number, msg->data, sizeof number);
    JZX_EXPECT_EQ(number, *next);
    ++*next;
    return *next == CASTS ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result fleeting(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    for (int i = 0; i < 20; i++) {
        JZX_EXPECT_EQ(jzx_group_join(ctx, "crowd"), JZX_OK);
        JZX_EXPECT_EQ(jzx_group_leave(ctx, "crowd"), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_group_join(ctx, "crowd"), JZX_OK);
    return JZX_BEHAVIOR_FAIL;
}

static jzx_behavior_result caster(jzx_context *ctx, const jzx_message *msg) {
    unsigned char payload[100] = {0};
    size_t delivered = 0;
    size_t members = 0;
    JZX_EXPECT_EQ(jzx_group_members(ctx->loop, "crowd", NULL, 0, &members), JZX_OK);
    if (club.casts == 0 && members < 10) { /* not all of them are there yet */
        fixture_send(ctx->loop, ctx->self, msg->tag);
        return JZX_BEHAVIOR_OK;
    }
    uint32_t number = club.casts++;
    jzx_test_ran();
    memcpy(payload, &number, sizeof number);
    for (int i = 0; i < 3; i++) {
        jzx_actor_id id = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = fleeting));
        fixture_send(ctx->loop, id, NUDGE);
    }
    JZX_EXPECT_EQ(jzx_group_broadcast(ctx->loop, "crowd", ctx->self, payload, sizeof payload, NUDGE,
                                      &delivered),
                  JZX_OK);
    JZX_EXPECT(delivered >= 10);
    if (number + 1 == CASTS)
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, ctx->self, msg->tag);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(members_that_stay_get_each_broadcast_once_while_others_come_leave_and_end) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 3));
    assert_non_null(loop);
    for (uint32_t i = 0; i < 10; i++)
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = steady, .init = steady_init,
                                            .state = &club.heard[i]));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = caster));
    fixture_send(loop, id, NUDGE);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), CASTS);
    for (uint32_t i = 0; i < 10; i++)
        JZX_EXPECT_EQ(club.heard[i], CASTS);
    fixture_destroy(loop);
}

/* ---- shared buffers ---- */

static atomic_uint destructors;
static void *kept_buffer;

static void count_destructor(void *data, size_t len) {
    JZX_EXPECT_EQ(*(unsigned char *)data, 0x3c);
    JZX_EXPECT_EQ(len, 500);
    atomic_fetch_add(&destructors, 1);
}

static jzx_behavior_result hoarder(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    kept_buffer = jzx_msg_take(ctx, msg);
    JZX_EXPECT(kept_buffer == msg->data);
    jzx_exit(ctx, JZX_EXIT_FAIL, "with the buffer");
}

static void hoarder_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    JZX_EXPECT_EQ(atomic_load(&destructors), 0);
    if (kept_buffer != NULL)
        jzx_msg_free(ctx->loop, kept_buffer);
    kept_buffer = NULL;
}

static jzx_behavior_result stasher(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    return JZX_BEHAVIOR_FAIL;
}

JZX_TEST(a_shared_buffer_is_released_once_however_its_holders_end) {
    struct recorder seen = {0};
    jzx_loop *loop = fixture_loop();
    unsigned char *data = jzx_msg_alloc(loop, 500, count_destructor);
    assert_non_null(data);
    data[0] = 0x3c;
    assert_ptr_equal(jzx_msg_share(loop, data), data);
    jzx_actor_id ids[6] = {
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &seen, .mailbox_cap = 1,
                                            .on_full = JZX_FULL_DROP_OLDEST)),
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &seen, .mailbox_cap = 1,
                                            .on_full = JZX_FULL_DROP_NEW)),
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &seen, .mailbox_cap = 1)),
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = hoarder, .cleanup = hoarder_cleanup)),
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stasher)),
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &seen)),
    };
    for (uint32_t i = 0; i < 6; i++)
        for (uint32_t k = 0; k < 3; k++) {
            jzx_err err = jzx_send_shared(loop, ids[i], JZX_NOBODY, data, NUDGE);
            JZX_EXPECT_EQ(err, i == 2 && k > 0 ? JZX_ERR_MAILBOX_FULL : JZX_OK);
        }
    assert_int_equal(jzx_actor_stop(loop, ids[5], JZX_STOP_KILL), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(seen.count, 3);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    JZX_EXPECT_EQ(atomic_load(&destructors), 0);
    for (uint32_t k = 0; k < 3; k++) /* wait until the loop is destroyed */
        JZX_EXPECT(jzx_send_shared(loop, ids[0], JZX_NOBODY, data, NUDGE) == JZX_OK);
    jzx_msg_free(loop, data);
    JZX_EXPECT_EQ(atomic_load(&destructors), 0);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(atomic_load(&destructors), 1);
}

/* ---- questions ---- */

#define QUESTIONS 400u

static struct {
    jzx_actor_id oracle;
    jzx_ask_handle handles[QUESTIONS];
    uint64_t refs[QUESTIONS];
    uint32_t answers[QUESTIONS];
    uint32_t timeouts[QUESTIONS];
    bool cancelled[QUESTIONS];
    uint32_t heard;
} quiz;

static uint32_t question_of(jzx_context *ctx) {
    for (uint32_t i = 0; i < QUESTIONS; i++)
        if (quiz.refs[i] == jzx_ask_ref(ctx))
            return i;
    JZX_EXPECT(false);
    return 0;
}

/* Answers at once, twice, later, or never, by number; and the handles stay for later. */
static jzx_behavior_result oracle(jzx_context *ctx, const jzx_message *msg) {
    uint32_t number;
    jzx_test_ran();
    memcpy(&number, msg->data, sizeof number);
    quiz.handles[number] = jzx_ask_from(ctx, msg);
    if (number % 4 == 0)
        JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, ANSWER), JZX_OK);
    if (number % 4 <= 1) { /* a second answer, or the first by its handle */
        jzx_err err = jzx_reply_to(ctx->loop, quiz.handles[number], ctx->self, NULL, 0, ANSWER);
        JZX_EXPECT(err == JZX_OK);
    }
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result asker(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == NUDGE) {
        for (uint32_t i = 0; i < QUESTIONS; i++)
            JZX_EXPECT_EQ(
                jzx_ask(ctx, quiz.oracle, &i, sizeof i, QUESTION, JZX_MS(1 + i % 7), &quiz.refs[i]),
                JZX_OK);
        for (uint32_t i = 0; i < QUESTIONS; i += 5) {
            JZX_EXPECT_EQ(jzx_ask_cancel(ctx, quiz.refs[i]), JZX_OK);
            quiz.cancelled[i] = true;
        }
        return JZX_BEHAVIOR_OK;
    }
    uint32_t number = question_of(ctx);
    JZX_EXPECT(!quiz.cancelled[number]);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, quiz.refs[number]), JZX_ERR_INVALID_ARG);
    quiz.heard++;
    if (msg->tag == ANSWER)
        quiz.answers[number]++;
    else if (JZX_EXPECT_EQ(msg->tag, JZX_TAG_ASK_TIMEOUT))
        quiz.timeouts[number]++;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(each_question_has_an_answer_or_a_timeout_and_late_answers_reach_nobody) {
    jzx_clock *clock = jzx_clock_manual(JZX_SECOND(1));
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    assert_non_null(loop);
    quiz.oracle = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = oracle));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = asker, .mailbox_cap = 1));
    fixture_send(loop, id, NUDGE);
    step(loop);
    assert_int_equal(jzx_clock_advance(clock, JZX_MS(3)), JZX_OK);
    for (uint32_t i = 2; i < QUESTIONS; i += 4) /* in the moment in which some are over */
        JZX_EXPECT_EQ(jzx_reply_to(loop, quiz.handles[i], JZX_NOBODY, NULL, 0, ANSWER), JZX_OK);
    step(loop);
    assert_int_equal(jzx_clock_advance(clock, JZX_MS(30)), JZX_OK);
    step(loop);
    uint32_t heard = quiz.heard;
    for (uint32_t i = 0; i < QUESTIONS; i++) /* once more for all: too late */
        JZX_EXPECT_EQ(jzx_reply_to(loop, quiz.handles[i], JZX_NOBODY, NULL, 0, ANSWER), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(quiz.heard, heard);
    JZX_EXPECT_EQ(jzx_test_runs(), QUESTIONS);
    for (uint32_t i = 0; i < QUESTIONS; i++) {
        JZX_EXPECT_EQ(quiz.answers[i] + quiz.timeouts[i], quiz.cancelled[i] ? 0 : 1);
        if (!quiz.cancelled[i] && i % 4 <= 1)
            JZX_EXPECT_EQ(quiz.answers[i], 1);
        if (!quiz.cancelled[i] && i % 4 == 3)
            JZX_EXPECT_EQ(quiz.timeouts[i], 1);
    }
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}
