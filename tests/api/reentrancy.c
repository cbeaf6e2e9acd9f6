/* SPDX-License-Identifier: MIT */
/* User code that calls back at the worst moment: from init, observers, calls, other threads in the
 * middle of a turn, loops inside loops. */
#include "fixture.h"

#include <pthread.h>

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

/* What another thread does in the middle of a turn. */
static void on_another_thread(void *(*fn)(void *)) {
    pthread_t thread;
    JZX_EXPECT_EQ(pthread_create(&thread, NULL, fn, NULL), 0);
    JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
}

static jzx_loop *loop;
static jzx_actor_id target;

/* ---- requests ---- */

static jzx_err kill_self(jzx_context *ctx) {
    return jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_KILL);
}

JZX_TEST(an_actor_that_ends_itself_in_its_init_handles_nothing, "C27") {
    for (uint32_t waiting = 0; waiting < 3; waiting++) {
        loop = fixture_loop();
        struct recorder log = {0};
        target = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .init = kill_self));
        for (uint32_t i = 0; i < waiting; i++)
            fixture_send(loop, target, i);
        assert_int_equal(jzx_loop_run(loop), JZX_OK); /* and so it returns */
        assert_int_equal(log.count, 0);
        assert_int_equal(fixture_stats(loop).dead, waiting);
        fixture_destroy(loop);
    }
}

static jzx_actor_id stale;

static void *push_stale_and_kill(void *arg) {
    (void)arg;
    jzx_send_async(loop, stale, NULL, 0, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, target, JZX_STOP_KILL), JZX_OK);
    return NULL;
}

static jzx_err be_killed_meanwhile(jzx_context *ctx) {
    target = ctx->self;
    on_another_thread(push_stale_and_kill);
    return JZX_OK;
}

JZX_TEST(a_kill_during_init_is_seen_whatever_else_is_taken_in, "X16", "C27") {
    loop = fixture_loop_with(&JZX_CONFIG(.max_actors = 1));
    struct recorder log = {.stop_at = 1};
    stale = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    fixture_send(loop, stale, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore, .init = be_killed_meanwhile,
                                        .mailbox_cap = 1, .on_full = JZX_FULL_DROP_OLDEST));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}

/* ---- the loop from inside ---- */

static void *release_it(void *arg) {
    (void)arg;
    JZX_EXPECT_EQ(jzx_loop_release(loop), JZX_OK);
    return NULL;
}

static pthread_t releaser;

static void note_that_run_goes_on(jzx_loop *of, void *ctx) {
    JZX_EXPECT(jzx_loop_alive(of));
    *(bool *)ctx = true;
    JZX_EXPECT_EQ(pthread_create(&releaser, NULL, release_it, NULL), 0);
}

static jzx_behavior_result hold_and_stop(jzx_context *ctx, const jzx_message *msg) {
    static bool went_on;
    (void)msg;
    JZX_EXPECT_EQ(jzx_loop_hold(ctx->loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_call(ctx->loop, note_that_run_goes_on, &went_on), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(the_last_actor_may_hold_the_loop, "C+loop") {
    loop = fixture_loop();
    target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = hold_and_stop));
    fixture_send(loop, target, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK); /* ended by the release, not by the actor */
    assert_int_equal(pthread_join(releaser, NULL), 0);
    assert_int_equal(fixture_stats(loop).calls, 1);
    fixture_destroy(loop);
}

static void stop_from_a_call(jzx_loop *of, void *ctx) {
    (void)ctx;
    JZX_EXPECT_EQ(jzx_loop_request_stop(of), JZX_OK);
}

JZX_TEST(no_turn_comes_after_a_call_that_stops_the_loop, "C+loop") {
    loop = fixture_loop();
    struct recorder log = {0};
    target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    fixture_send(loop, target, 1);
    assert_int_equal(jzx_loop_call(loop, stop_from_a_call, NULL), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 0);
    fixture_destroy(loop);
}

static void count_actors(jzx_loop *of, void *ctx) {
    uint64_t cursor = 0;
    jzx_actor_info info = {.size = sizeof info};
    while (jzx_actor_next(of, &cursor, &info) == JZX_OK)
        ++*(uint32_t *)ctx;
}

JZX_TEST(a_walk_from_inside_shows_actors_that_are_not_taken_in_yet) {
    loop = fixture_loop_with(&JZX_CONFIG(.max_async_drain = 10));
    uint32_t count = 0;
    for (int i = 0; i < 30; i++)
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore));
    assert_int_equal(jzx_loop_call(loop, count_actors, &count), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(count, 30);
    fixture_destroy(loop);
}

/* ---- the bound ---- */

static void *send_two(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++)
        jzx_send_async(loop, target, NULL, 0, 2);
    return NULL;
}

struct greedy {
    jzx_actor_id roomy; /* JZX_NOBODY: send; else ask it for room on behalf of the target */
    uint32_t depth;
};

static jzx_behavior_result mix_with_others(jzx_context *ctx, const jzx_message *msg) {
    struct greedy *self = ctx->state;
    (void)msg;
    for (int i = 0; i < 20; i++) {
        on_another_thread(send_two);
        if (self->roomy == JZX_NOBODY)
            jzx_send(ctx->loop, target, ctx->self, NULL, 0, 3);
        else
            JZX_EXPECT_EQ(jzx_send_when_room(ctx->loop, self->roomy, target), JZX_OK);
    }
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, target, &info), JZX_OK);
    self->depth = info.depth;
    return JZX_BEHAVIOR_OK;
}

static void depth_is_bounded(jzx_on_full on_full, bool by_room) {
    loop = fixture_loop();
    struct greedy greedy = {0};
    jzx_actor_id greedy_id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = mix_with_others, .state = &greedy));
    if (by_room)
        greedy.roomy = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore));
    fixture_send(loop, greedy_id, 1);
    target = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = ignore, .mailbox_cap = 2, .on_full = on_full));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_in_range(greedy.depth, 1, 4);
    fixture_destroy(loop);
}

JZX_TEST(at_most_twice_the_cap_waits_whoever_sends, "C11", "X15") {
    depth_is_bounded(JZX_FULL_REFUSE, false);
    depth_is_bounded(JZX_FULL_DROP_NEW, false);
    depth_is_bounded(JZX_FULL_REFUSE, true);
    depth_is_bounded(JZX_FULL_DROP_NEW, true);
}

#define CHAIN 50000

JZX_TEST(a_long_chain_of_answers_needs_no_deep_stack, "X15") {
    loop = fixture_loop();
    static jzx_actor_id ids[CHAIN];
    for (int i = 0; i < CHAIN; i++)
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    for (int i = 0; i + 1 < CHAIN; i++) /* each inbox holds a request, and gets an answer */
        assert_int_equal(jzx_send_when_room(loop, ids[i], ids[i + 1]), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(fixture_stats(loop).handled, CHAIN - 1);
    assert_int_equal(jzx_test_runs(), CHAIN - 1);
    fixture_destroy(loop);
}

/* ---- observers ---- */

static uint32_t phase;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void set_phase(uint32_t to) {
    pthread_mutex_lock(&lock);
    phase = to;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_for_phase(uint32_t wanted) {
    pthread_mutex_lock(&lock);
    while (phase < wanted)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static jzx_actor_id gone;

static void *ask_and_send(void *arg) {
    (void)arg;
    jzx_send_when_room(loop, target, gone); /* the answer will be a dead letter */
    JZX_EXPECT_EQ(jzx_send_async(loop, target, NULL, 0, 1), JZX_OK);
    set_phase(1);
    wait_for_phase(2);
    JZX_EXPECT_EQ(jzx_send_async(loop, target, NULL, 0, 2), JZX_OK);
    set_phase(3);
    return NULL;
}

static void send_in_between(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_DEAD_LETTER || event->tag != JZX_TAG_ROOM)
        return;
    set_phase(2);
    wait_for_phase(3);
    JZX_EXPECT_EQ(jzx_send(loop, target, JZX_NOBODY, NULL, 0, 9), JZX_OK);
}

JZX_TEST(an_observer_that_sends_does_not_break_the_order_of_others, "C+inv", "C15") {
    loop = fixture_loop();
    struct recorder log = {0};
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = send_in_between), NULL),
                     JZX_OK);
    target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    gone = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_actor_stop(loop, gone, JZX_STOP_KILL), JZX_OK);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask_and_send, NULL), 0);
    wait_for_phase(1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.count, 3);
    assert_int_equal(log.tags[0], 1);
    assert_int_equal(log.tags[1], 2);
    fixture_destroy(loop);
}

struct events {
    uint64_t fulls;
    uint64_t letters;
    bool started;
};

static void count_events(void *ctx, const jzx_event *event) {
    struct events *events = ctx;
    if (event->actor != target)
        return;
    events->fulls += event->kind == JZX_EVENT_MAILBOX_FULL ? event->count : 0;
    events->letters += event->kind == JZX_EVENT_DEAD_LETTER ? event->count : 0;
    events->started |= event->kind == JZX_EVENT_ACTOR_START;
    JZX_EXPECT(events->started); /* no event comes before the start */
}

static void *send_three(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++)
        jzx_send_async(loop, target, NULL, 0, 2);
    return NULL;
}

static jzx_behavior_result be_flooded_and_stop(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    on_another_thread(send_three); /* one fits */
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(refusals_of_other_threads_are_reported_though_the_actor_ends, "C14", "X14") {
    for (int dropping = 0; dropping <= 1; dropping++) {
        loop = fixture_loop();
        struct events events = {0};
        assert_int_equal(
            jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = count_events), &events), JZX_OK);
        target = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = be_flooded_and_stop, .mailbox_cap = 1,
                                  .on_full = dropping ? JZX_FULL_DROP_NEW : JZX_FULL_REFUSE));
        fixture_send(loop, target, 1);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        assert_int_equal(events.fulls, 2);
        assert_int_equal(events.letters, dropping ? 3 : 1);
        assert_int_equal(fixture_stats(loop).dead, events.letters);
        fixture_destroy(loop);
    }
}

static jzx_behavior_result overfill(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, target, ctx->self, NULL, 0, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, target, ctx->self, NULL, 0, 1), JZX_ERR_MAILBOX_FULL);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(the_start_event_comes_before_all_others_of_an_actor, "C14", "C15") {
    loop = fixture_loop();
    struct events events = {0};
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = count_events), &events),
                     JZX_OK);
    jzx_actor_id first = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = overfill));
    fixture_send(loop, first, 1);
    target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore, .mailbox_cap = 1));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(events.fulls, 1);
    fixture_destroy(loop);
}

#define QUESTIONS 4

struct asker {
    jzx_actor_id asked;
    uint64_t refs[QUESTIONS];
    uint32_t answers;
};

/* The first message makes it ask, and want no answer; all others are answers. */
static jzx_behavior_result ask_in_vain(jzx_context *ctx, const jzx_message *msg) {
    struct asker *self = ctx->state;
    self->answers += msg->tag != 1;
    for (int i = 0; msg->tag == 1 && i < QUESTIONS; i++) {
        JZX_EXPECT_EQ(jzx_ask(ctx, self->asked, NULL, 0, 2, JZX_NEVER, &self->refs[i]), JZX_OK);
        JZX_EXPECT_EQ(jzx_ask_cancel(ctx, self->refs[i]), JZX_OK);
    }
    return JZX_BEHAVIOR_OK;
}

/* A refusal ends the turn in which the callback runs. */
static void be_refused(void *ctx, const jzx_event *event) {
    uint32_t *letters = ctx;
    if (event->kind != JZX_EVENT_DEAD_LETTER)
        return;
    ++*letters;
    jzx_send(loop, target, JZX_NOBODY, NULL, 0, 9);
    JZX_EXPECT_EQ(jzx_send(loop, target, JZX_NOBODY, NULL, 0, 9), JZX_ERR_MAILBOX_FULL);
}

JZX_TEST(a_turn_that_an_observer_ends_handles_nothing_unseen, "C+inv", "X22") {
    loop = fixture_loop();
    uint32_t letters = 0;
    struct asker asker = {0};
    asker.asked = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore));
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ask_in_vain, .state = &asker));
    target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore, .mailbox_cap = 1));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = be_refused), &letters),
                     JZX_OK);
    for (int i = 0; i < QUESTIONS; i++) {
        jzx_ask_handle late = {id, asker.refs[i]};
        assert_int_equal(jzx_reply_to(loop, late, asker.asked, NULL, 0, 3), JZX_OK);
    }
    for (int i = 0; i < QUESTIONS; i++) /* a turn each */
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(asker.answers, 0);
    assert_int_equal(letters, QUESTIONS);
    assert_int_equal(fixture_stats(loop).dead, QUESTIONS);
    fixture_destroy(loop);
}

/* ---- loops inside loops, and the books in the middle of a turn ---- */

static jzx_context *outer_ctx;
static const jzx_message *outer_msg;

static jzx_behavior_result stash_the_outer(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)ctx;
    (void)msg;
    JZX_EXPECT_EQ(jzx_stash(outer_ctx, outer_msg), JZX_ERR_INVALID_ARG);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result run_an_inner_loop(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    outer_ctx = ctx;
    outer_msg = msg;
    jzx_loop *inner = fixture_loop();
    fixture_send(inner, fixture_spawn(inner, &JZX_SPAWN_OPTS(.behavior = stash_the_outer)), 1);
    JZX_EXPECT_EQ(jzx_loop_run(inner), JZX_OK);
    fixture_destroy(inner);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_message_of_the_outer_loop_cannot_be_stashed_inside_an_inner_one, "C+inv") {
    loop = fixture_loop();
    target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = run_an_inner_loop));
    fixture_send(loop, target, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_test_runs(), 2);
    fixture_destroy(loop);
}

static jzx_behavior_result check_books_inside(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *count = ctx->state;
    ++*count;
    jzx_stats stats = fixture_stats(ctx->loop);
    JZX_EXPECT_EQ(stats.handled, *count); /* this one among them */
    JZX_EXPECT_EQ(stats.waiting, 10 - *count);
    if (msg->tag == 9) {
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        JZX_EXPECT_EQ(fixture_stats(ctx->loop).waiting, 1);
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_books_balance_in_the_middle_of_a_turn, "X14") {
    loop = fixture_loop();
    uint32_t count = 0;
    target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = check_books_inside, .state = &count));
    for (uint32_t i = 0; i < 10; i++)
        fixture_send(loop, target, i);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(count, 10);
    fixture_destroy(loop);
}
