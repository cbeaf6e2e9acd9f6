/* SPDX-License-Identifier: MIT */
/* Questions and the lives of who asks and who is asked; wrong use; and a lack of memory. */
#include "asking.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

/* ---- who is asked ends ---- */

static void ask_the_dead(jzx_context *ctx) {
    const struct asker *self = ctx->state;
    uint64_t ref = 4711;
    JZX_EXPECT_EQ(jzx_ask(ctx, self->desk, NULL, 0, NOW, JZX_MS(5), &ref), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_ask(ctx, JZX_NOBODY, NULL, 0, NOW, JZX_NEVER, &ref), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(ref, 4711);
}

JZX_TEST(an_actor_that_has_ended_cannot_be_asked, "E+mode") {
    struct asking asking = asking_open();
    JZX_EXPECT_EQ(jzx_actor_stop(asking.timing.loop, asking.desk_id, JZX_STOP_KILL), JZX_OK);
    timing_step(&asking.timing);
    asking_do(&asking, ask_the_dead);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).refused_no_actor, 2);
    asking_advance(&asking, JZX_MS(10));
    JZX_EXPECT_EQ(asking.asker->count, 0);
    asking_close(&asking);
}

/* ---- the asker ends ---- */

static void ask_and_keep(jzx_context *ctx) {
    ask(ctx, KEEP, JZX_MS(5));
    ask(ctx, KEEP, JZX_NEVER);
}

/* The next actor in the asker's slot gets nothing of it. */
JZX_TEST(an_answer_to_an_asker_that_has_ended_reaches_nobody, "E+mode", "X14") {
    struct asking asking = asking_open();
    struct recorder log = {0};
    asking_do(&asking, ask_and_keep);
    JZX_EXPECT_EQ(jzx_actor_stop(asking.timing.loop, asking.asker_id, JZX_STOP_KILL), JZX_OK);
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(timing_pending(asking.timing.loop), 0); /* its deadlines went with it */
    jzx_actor_id next = JZX_NOBODY;
    for (uint32_t i = 0; i < 1000 && jzx_id_index(next) != jzx_id_index(asking.asker_id); i++)
        next =
            fixture_spawn(asking.timing.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    JZX_EXPECT_EQ(jzx_id_index(next), jzx_id_index(asking.asker_id));
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(
            jzx_reply_to(asking.timing.loop, asking.desk->kept[i], asking.desk_id, NULL, 0, ANSWER),
            JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).refused_no_actor, 2);
    asking_advance(&asking, JZX_MS(10));
    JZX_EXPECT_EQ(log.count, 0);
    asking_close(&asking);
}

JZX_TEST(answers_that_wait_die_with_their_asker, "X14") {
    struct asking asking = asking_open();
    asking_do(&asking, ask_and_keep);
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(
            jzx_reply_to(asking.timing.loop, asking.desk->kept[i], asking.desk_id, NULL, 0, ANSWER),
            JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(asking.timing.loop, asking.asker_id, JZX_STOP_KILL), JZX_OK);
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, 0);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 2);
    asking_close(&asking);
}

static jzx_actor_id hangman;

static jzx_behavior_result answer_and_kill(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(echo(ctx, msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, msg->sender, JZX_STOP_KILL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void ask_for_the_last_time(jzx_context *ctx) {
    for (uint32_t i = 0; i < 4; i++)
        ask(ctx, KEEP, JZX_NEVER);
    JZX_EXPECT_EQ(jzx_ask(ctx, hangman, NULL, 0, NOW, JZX_NEVER, NULL), JZX_OK);
}

/* Each question is bound to the life of the actor that is asked, and that one goes on. Each
 * asker ends with four open questions, while the answer to a fifth waits. */
JZX_TEST(askers_that_end_leave_nothing_at_the_actors_that_they_have_asked, "E+mode") {
    static struct asker state;
    struct asking asking = asking_open();
    jzx_loop *loop = asking.timing.loop;
    uint64_t bytes = 0;
    hangman = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = answer_and_kill));
    for (uint32_t i = 0; i < 2000; i++) {
        state.desk = asking.desk_id;
        state.asked = asking.desk->kept_count = 0;
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_asker, .state = &state));
        timing_do(&asking.timing, id, ask_for_the_last_time);
        JZX_EXPECT_EQ(fixture_stats(loop).dead, i + 1);
        if (i == 1000) /* all slots of actors were used by then */
            bytes = fixture_bytes();
    }
    JZX_EXPECT_EQ(asking.desk->kept_count, 4);
    JZX_EXPECT_EQ(state.count, 0);
    JZX_EXPECT_EQ(fixture_bytes(), bytes);
    asking_close(&asking);
}

static jzx_behavior_result ask_in_vain(jzx_context *ctx, const jzx_message *msg) {
    const struct asker *self = ctx->state;
    if (msg->tag == PLAIN) {
        JZX_EXPECT_EQ(jzx_ask(ctx, self->desk, NULL, 0, NOW, JZX_MS(5), NULL),
                      JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT_EQ(jzx_ask(ctx, self->desk, NULL, 0, NOW, JZX_NEVER, NULL),
                      JZX_ERR_NO_SUCH_ACTOR);
    }
    return JZX_BEHAVIOR_OK;
}

/* It hears answers that waited already, and could not hear others. */
JZX_TEST(an_actor_that_works_off_its_queue_cannot_ask, "E+mode") {
    struct asking asking = asking_open();
    asking.asker->then = ask_in_vain;
    asking_do(&asking, ask_and_keep);
    JZX_EXPECT_EQ(
        jzx_reply_to(asking.timing.loop, asking.desk->kept[0], asking.desk_id, NULL, 0, ANSWER),
        JZX_OK);
    fixture_send(asking.timing.loop, asking.asker_id, PLAIN);
    JZX_EXPECT_EQ(jzx_actor_stop(asking.timing.loop, asking.asker_id, JZX_STOP_AFTER_QUEUE),
                  JZX_OK);
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, 2);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).exited, 1);
    asking_close(&asking);
}

/* ---- wrong use ---- */

static void expect_refused(jzx_context *ctx, jzx_actor_id to, const jzx_message *msg) {
    JZX_EXPECT_EQ(jzx_ask(ctx, to, NULL, 0, NOW, JZX_MS(1), NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, (uint64_t)1 << 32), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask_ref(ctx), 0);
    JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, ANSWER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask_from(ctx, msg).ref, 0);
}

static jzx_context *lent;
static const jzx_message *lent_msg;

static void *refuse_on_a_thread(void *arg) {
    (void)arg;
    expect_refused(lent, lent->self, lent_msg);
    return NULL;
}

/* A question that is handled, and what is wrong with each call. */
static jzx_behavior_result answer_wrongly(jzx_context *ctx, const jzx_message *msg) {
    jzx_context copy = *ctx;
    jzx_message other = {.data = &copy, .len = 0, .tag = msg->tag, .sender = msg->sender};
    pthread_t thread;
    lent = ctx;
    lent_msg = msg;
    if (JZX_EXPECT_EQ(pthread_create(&thread, NULL, refuse_on_a_thread, NULL), 0))
        JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    expect_refused(&copy, ctx->self, msg);
    expect_refused(NULL, ctx->self, msg);
    JZX_EXPECT_EQ(jzx_reply(ctx, NULL, NULL, 0, ANSWER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_reply(ctx, &other, NULL, 0, ANSWER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 1, ANSWER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, JZX_TAG_ASK_TIMEOUT), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_reply(ctx, msg, "x", SIZE_MAX, ANSWER), JZX_ERR_INVALID_ARG);
    jzx_ask_handle handle = jzx_ask_from(ctx, msg);
    JZX_EXPECT_EQ(jzx_reply_to(NULL, handle, ctx->self, NULL, 0, ANSWER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_reply_to(ctx->loop, (jzx_ask_handle){0}, ctx->self, NULL, 0, ANSWER),
                  JZX_ERR_INVALID_ARG);
    handle.ref += (uint64_t)1 << 32; /* a question that is not asked yet, and one that never is */
    JZX_EXPECT_EQ(jzx_reply_to(ctx->loop, handle, ctx->self, NULL, 0, ANSWER), JZX_OK);
    handle.ref = UINT64_MAX;
    JZX_EXPECT_EQ(jzx_reply_to(ctx->loop, handle, ctx->self, NULL, 0, ANSWER), JZX_OK);
    handle.asker = ctx->self; /* who never asked anything */
    JZX_EXPECT_EQ(jzx_reply_to(ctx->loop, handle, ctx->self, NULL, 0, ANSWER), JZX_OK);
    JZX_EXPECT_EQ(echo(ctx, msg), JZX_OK); /* it can still be answered */
    return JZX_BEHAVIOR_OK;
}

static void ask_wrongly(jzx_context *ctx) {
    const struct asker *self = ctx->state;
    uint64_t ref = 4711;
    JZX_EXPECT_EQ(jzx_ask(ctx, self->desk, NULL, 1, NOW, 1, &ref), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask(ctx, self->desk, "x", SIZE_MAX, NOW, 1, &ref), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask(ctx, self->desk, NULL, 0, JZX_TAG_RESERVED, 1, &ref),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(ref, 4711);
    ask(ctx, NOW, JZX_MS(5));
}

JZX_TEST(calls_with_wrong_arguments_or_from_elsewhere_are_refused, "X22", "C+fail") {
    struct asking asking = asking_open();
    asking.asker->desk =
        fixture_spawn(asking.timing.loop, &JZX_SPAWN_OPTS(.behavior = answer_wrongly));
    asking.desk_id = asking.asker->desk;
    asking_do(&asking, ask_wrongly);
    JZX_EXPECT_EQ(asking.asker->count, 1);
    expect_heard(&asking, 0, ANSWER, 0);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 3);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).refused_invalid, 7);
    asking_close(&asking);
}

static void refuse_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    expect_refused(ctx, ctx->self, &(jzx_message){0});
}

JZX_TEST(a_cleanup_cannot_ask, "E+mode") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {.stop_at = 1};
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = record, .cleanup = refuse_in_cleanup, .state = &log));
    fixture_send(loop, id, 1);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}

/* From another thread, to an actor that never asked (Q4). */
static jzx_loop *stray_loop;
static jzx_ask_handle stray;

static void *answer_a_stranger(void *arg) {
    (void)arg;
    JZX_EXPECT_EQ(jzx_reply_to(stray_loop, stray, JZX_NOBODY, "x", 1, ANSWER), JZX_OK);
    return NULL;
}

JZX_TEST(an_answer_to_who_never_asked_is_a_dead_letter, "X14") {
    struct recorder log = {0};
    stray_loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(stray_loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    stray = (jzx_ask_handle){id, (uint64_t)1 << 32};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer_a_stranger, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_send(stray_loop, id, PLAIN);
    JZX_EXPECT_EQ(jzx_loop_step(stray_loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(log.count, 1);
    JZX_EXPECT_EQ(fixture_stats(stray_loop).dead, 1);
    fixture_destroy(stray_loop);
}

/* ---- receive timeout ---- */

static void wait_and_ask(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(10)), JZX_OK);
    ask(ctx, KEEP, JZX_MS(8));
    ask(ctx, KEEP, JZX_SECOND(1));
}

JZX_TEST(an_answer_counts_for_the_receive_timeout_and_its_timeout_does_not, "E+mode") {
    struct asking asking = asking_open();
    asking_do(&asking, wait_and_ask);
    asking_advance(&asking, JZX_MS(5));
    JZX_EXPECT_EQ(
        jzx_reply_to(asking.timing.loop, asking.desk->kept[1], asking.desk_id, NULL, 0, ANSWER),
        JZX_OK);
    timing_step(&asking.timing);
    asking_advance(&asking, JZX_MS(3)); /* the deadline of the other */
    asking_advance(&asking, JZX_MS(6)); /* 14 */
    JZX_EXPECT_EQ(asking.asker->count, 2);
    asking_advance(&asking, JZX_MS(1)); /* 10 after the answer */
    JZX_EXPECT_EQ(asking.asker->count, 3);
    JZX_EXPECT_EQ(asking.asker->heard[2].tag, JZX_TAG_RECEIVE_TIMEOUT);
    timing_close(&asking.timing);
}

/* ---- without memory ---- */

static uint32_t refused;

/* Only success and lack of memory are right answers here. */
static bool worked(jzx_err err) {
    if (err == JZX_ERR_NO_MEMORY)
        refused++;
    else
        JZX_EXPECT_EQ(err, JZX_OK);
    return err == JZX_OK;
}

#define ROUNDS 40u

static void ask_what_there_is_memory_for(jzx_context *ctx) {
    static const char data[100000];
    static const size_t lens[] = {0, 24, 25, 100, 3000, sizeof data};
    struct asker *self = ctx->state;
    for (uint32_t i = 0; i < ROUNDS * 6; i++) {
        uint64_t ref = 4711;
        if (worked(jzx_ask(ctx, self->desk, data, lens[i % 6], KEEP, i % 2 ? JZX_MS(5) : JZX_NEVER,
                           &ref)))
            self->refs[self->asked++] = ref;
        else
            JZX_EXPECT_EQ(ref, 4711);
    }
}

static uint32_t play(jzx_clock *clock) {
    static struct asker asker;
    static struct desk desk;
    memset(&asker, 0, sizeof asker);
    memset(&desk, 0, sizeof desk);
    refused = 0;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    if (loop == NULL)
        return 1;
    jzx_actor_id id;
    turn_fn fn = ask_what_there_is_memory_for;
    if (worked(
            jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_desk, .state = &desk), &asker.desk)) &&
        worked(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_asker, .state = &asker), &id)))
        worked(jzx_send(loop, id, JZX_NOBODY, &fn, sizeof fn, TAG_DO));
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(desk.kept_count, asker.asked);
    uint32_t answered = 0;
    for (uint32_t i = 0; i < desk.kept_count; i += 3)
        answered += worked(jzx_reply_to(loop, desk.kept[i], asker.desk, "abcd", 4, ANSWER));
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(asker.count, answered);
    fixture_fail_allocations(0, UINT64_MAX); /* no timeout needs memory */
    JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_MS(5)), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT_EQ(fixture_stats(loop).timers_set, fixture_stats(loop).timers_ended);
    fixture_destroy(loop);
    return refused;
}

static void fail_each(uint64_t failures) {
    jzx_clock *clock = jzx_clock_manual(0);
    assert_non_null(clock);
    uint64_t before = fixture_allocations();
    JZX_EXPECT_EQ(play(clock), 0);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    uint64_t total = fixture_allocations() - before;
    JZX_EXPECT(total > 10);
    for (uint64_t n = 0; n < total; n++) {
        fixture_fail_allocations(n, failures);
        play(clock);
        fixture_fail_allocations(UINT64_MAX, 0);
        JZX_EXPECT_EQ(fixture_bytes(), 0);
    }
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(the_nth_allocation_fails_for_every_n, "C17", "C+fail") {
    fail_each(1);
}

JZX_TEST(all_allocations_from_the_nth_on_fail_for_every_n, "C17", "C+fail") {
    fail_each(UINT64_MAX);
}

static void ask_ten(jzx_context *ctx) {
    for (uint32_t i = 0; i < 10; i++)
        ask(ctx, NOW, JZX_MS(5));
}

JZX_TEST(questions_allocate_nothing_once_warm, "C+goal") {
    struct asking asking = asking_open();
    for (uint32_t i = 0; i < 20; i++)
        asking_do(&asking, ask_ten);
    uint64_t before = fixture_allocations();
    for (uint32_t i = 0; i < 100; i++)
        asking_do(&asking, ask_ten);
    JZX_EXPECT_EQ(fixture_allocations(), before);
    JZX_EXPECT_EQ(asking.asker->count, 1200);
    asking_close(&asking);
}

/* ---- a behaviour whose worker went on ---- */

struct staller {
    sem_t go;
    jzx_actor_id waker;
    jzx_actor_id desk;
    uint64_t answered;
    uint64_t cancelled;
    uint64_t timed_out;
    uint32_t answers;
    uint32_t timeouts;
};

static struct staller staller;

/* Runs only when a spare thread drives the worker. */
static jzx_behavior_result let_go(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    sem_post(&staller.go);
    return JZX_BEHAVIOR_STOP;
}

/* The asker may have ended before the question that it cancelled is answered. */
static jzx_behavior_result echo_all(jzx_context *ctx, const jzx_message *msg) {
    jzx_err err = msg->tag == NOW ? echo(ctx, msg) : JZX_OK;
    if (err != JZX_ERR_NO_SUCH_ACTOR)
        JZX_EXPECT_EQ(err, JZX_OK);
    return msg->tag == OPEN ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void ask_without_worker(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    JZX_EXPECT_EQ(jzx_ask(ctx, staller.desk, NULL, 0, NOW, JZX_SECOND(1000), &staller.answered),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_ask(ctx, staller.desk, NULL, 0, NOW, JZX_SECOND(1000), &staller.cancelled),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_ask(ctx, staller.desk, NULL, 0, KEEP, JZX_MS(1), &staller.timed_out), JZX_OK);
    JZX_EXPECT_EQ(jzx_ask(ctx, JZX_NOBODY, NULL, 0, KEEP, JZX_MS(1), NULL), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, staller.cancelled), JZX_OK);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, staller.cancelled), JZX_ERR_INVALID_ARG);
}

static jzx_behavior_result ask_in_a_stall(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == KEEP || msg->tag == NOW) { /* a question, answered without the worker, too */
        JZX_EXPECT_EQ(jzx_send(ctx->loop, staller.waker, ctx->self, NULL, 0, 1), JZX_OK);
        while (sem_wait(&staller.go) != 0 && errno == EINTR)
            continue;
        ask_without_worker(ctx);
        if (msg->tag == NOW)
            JZX_EXPECT_EQ(echo(ctx, msg), JZX_OK);
        JZX_EXPECT_EQ(echo(ctx, msg), JZX_ERR_INVALID_ARG);
        return JZX_BEHAVIOR_OK;
    }
    if (msg->tag == ANSWER) {
        JZX_EXPECT_EQ(jzx_ask_ref(ctx), staller.answered);
        staller.answers++;
    } else {
        JZX_EXPECT_EQ(msg->tag, JZX_TAG_ASK_TIMEOUT);
        JZX_EXPECT_EQ(jzx_ask_ref(ctx), staller.timed_out);
        staller.timeouts++;
    }
    if (staller.answers + staller.timeouts < 2)
        return JZX_BEHAVIOR_OK;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, staller.desk, ctx->self, NULL, 0, OPEN), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

static uint32_t outside_answers;

static jzx_behavior_result ask_the_staller(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id *id = ctx->state;
    if (msg->tag != ANSWER) {
        JZX_EXPECT_EQ(jzx_ask(ctx, *id, NULL, 0, NOW, JZX_SECOND(1000), NULL), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    outside_answers++;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(asking_and_answering_work_in_a_behaviour_whose_worker_went_on, "E+mode", "C23") {
    for (uint32_t i = 0; i < 2; i++) {
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(1)));
        assert_non_null(loop);
        memset(&staller, 0, sizeof staller);
        sem_init(&staller.go, 0, 0);
        outside_answers = 0;
        jzx_actor_id id = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = ask_in_a_stall, .place = JZX_PLACE_WORKER(1)));
        staller.waker =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = let_go, .place = JZX_PLACE_WORKER(1)));
        staller.desk = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = echo_all, .place = JZX_PLACE_WORKER(i)));
        if (i == 0) {
            fixture_send(loop, id, KEEP);
        } else {
            jzx_actor_id other =
                fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ask_the_staller, .state = &id));
            fixture_send(loop, other, PLAIN);
        }
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(staller.answers, 1);
        JZX_EXPECT_EQ(staller.timeouts, 1);
        JZX_EXPECT_EQ(outside_answers, i);
        fixture_destroy(loop);
        sem_destroy(&staller.go);
    }
}
