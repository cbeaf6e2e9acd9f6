/* SPDX-License-Identifier: MIT */
/* Manual actors: nothing but a poll runs them. */
#include "timing.h"
#include "typing.h"

#include <pthread.h>

static jzx_manual *open_manual(jzx_loop *loop) {
    jzx_manual *manual = NULL;
    ledger = (struct ledger){0};
    JZX_EXPECT_EQ(account_manual(loop, &manual), JZX_OK);
    return manual;
}

static bool poll_one(jzx_manual *manual) {
    bool handled = false;
    JZX_EXPECT_EQ(jzx_manual_poll_one(manual, &handled), JZX_OK);
    return handled;
}

static size_t drain_some(jzx_manual *manual, uint32_t max) {
    size_t count = 0;
    JZX_EXPECT_EQ(jzx_manual_drain(manual, max, &count), JZX_OK);
    return count;
}

static size_t drain(jzx_manual *manual) {
    return drain_some(manual, 0);
}

static int64_t balance_of(jzx_manual *manual) {
    const struct account *state = jzx_manual_state(manual);
    return state == NULL ? -1 : state->balance;
}

static void deposit(jzx_manual *manual, jzx_loop *loop, uint32_t times) {
    for (uint32_t i = 0; i < times; i++)
        JZX_EXPECT_EQ(account_post_deposit(loop, jzx_manual_id(manual), 1), JZX_OK);
}

/* ---- polling ---- */

JZX_TEST(a_send_never_runs_a_manual_actor_and_a_poll_runs_one_message, "E22", "E24") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual = open_manual(loop);
    deposit(manual, loop, 3);
    for (int i = 0; i < 3; i++)
        run_loop(loop);
    assert_int_equal(jzx_loop_run(loop), JZX_OK); /* it does not keep the loop */
    assert_int_equal(jzx_test_runs(), 0);
    assert_true(poll_one(manual));
    assert_int_equal(jzx_test_runs(), 1);
    assert_int_equal(balance_of(manual), 101);
    assert_int_equal(drain(manual), 2);
    assert_false(poll_one(manual));
    assert_int_equal(drain(manual), 0);
    assert_int_equal(balance_of(manual), 103);
    assert_int_equal(ledger.opened, 1);
    assert_int_equal(ledger.kind, JZX_CONTEXT_WAITLESS);
    assert_int_equal(ledger.waited, JZX_ERR_WOULD_SUSPEND);
    fixture_check_books(loop);
    jzx_manual_destroy(manual);
    assert_int_equal(ledger.closed, 1);
    assert_int_equal(ledger.balance, 103);
    assert_int_equal(ledger.reason, JZX_EXIT_NORMAL);
    fixture_destroy(loop);
}

JZX_TEST(a_manual_actor_works_in_a_loop_that_nobody_runs, "E24", "E31") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual = open_manual(loop);
    for (uint32_t frame = 0; frame < 200; frame++) {
        deposit(manual, loop, 3);
        assert_int_equal(drain(manual), 3);
        assert_int_equal(balance_of(manual), 100 + 3 * ((int64_t)frame + 1));
    }
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

JZX_TEST(a_poll_runs_no_other_actor, "E24") {
    jzx_loop *loop = fixture_loop();
    struct recorder recorder = {.count = 0};
    jzx_manual *manual = open_manual(loop);
    jzx_actor_id other =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder));
    fixture_send(loop, other, 1);
    deposit(manual, loop, 2);
    assert_int_equal(drain(manual), 2);
    assert_int_equal(recorder.count, 0);
    run_loop(loop);
    assert_int_equal(recorder.count, 1);
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

JZX_TEST(a_drain_goes_on_until_the_mailbox_is_empty, "E24") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual = open_manual(loop);
    jzx_actor_id id = jzx_manual_id(manual);
    deposit(manual, loop, 150); /* more than a batch */
    assert_int_equal(account_post_transfer(loop, id, id, 1, 5), JZX_OK);
    assert_int_equal(drain(manual), 156); /* the transfer has sent five deposits */
    assert_int_equal(drain(manual), 0);
    deposit(manual, loop, 100);
    assert_true(poll_one(manual)); /* what is left of its batch is drained, too */
    deposit(manual, loop, 1);
    assert_int_equal(drain(manual), 100);
    assert_int_equal(jzx_test_runs(), 256); /* all but the transfer */
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

/* Messages of a handler, of another thread, and a timer that is due by then: all come meanwhile. */
static struct {
    jzx_loop *loop;
    jzx_clock *clock;
    jzx_actor_id id;
    uint32_t tags[16];
    uint32_t count;
} meanwhile;

static void *send_from_outside(void *arg) {
    (void)arg;
    JZX_EXPECT_EQ(jzx_send(meanwhile.loop, meanwhile.id, JZX_NOBODY, NULL, 0, 5), JZX_OK);
    return NULL;
}

static jzx_behavior_result have_more_sent(jzx_context *ctx, const jzx_message *msg) {
    pthread_t thread;
    jzx_test_ran();
    meanwhile.tags[meanwhile.count++ % 16] = msg->tag;
    switch (msg->tag) {
    case 1: /* one behind the other, for three generations */
    case 2:
    case 3: fixture_send(ctx->loop, ctx->self, msg->tag + 1); break;
    case 4:
        JZX_EXPECT_EQ(pthread_create(&thread, NULL, send_from_outside, NULL), 0);
        JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
        break;
    case 5: JZX_EXPECT_EQ(jzx_clock_advance(meanwhile.clock, JZX_MS(10)), JZX_OK); break;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_drain_handles_everything_that_comes_meanwhile, "E24") {
    struct timing timing = timing_open();
    jzx_manual *manual = NULL;
    memset(&meanwhile, 0, sizeof meanwhile);
    meanwhile.loop = timing.loop;
    meanwhile.clock = timing.clock;
    assert_int_equal(
        jzx_manual_create(timing.loop, &JZX_SPAWN_OPTS(.behavior = have_more_sent), &manual),
        JZX_OK);
    const jzx_actor_id id = jzx_manual_id(manual);
    meanwhile.id = id;
    assert_int_equal(jzx_send_after(timing.loop, id, id, NULL, 0, 6, JZX_MS(10), NULL), JZX_OK);
    fixture_send(timing.loop, id, 1);
    assert_int_equal(drain(manual), 6);
    assert_int_equal(meanwhile.count, 6);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(meanwhile.tags[i], i + 1);
    assert_int_equal(drain(manual), 0);
    assert_int_equal(jzx_test_runs(), 6);
    jzx_manual_destroy(manual);
    timing_close(&timing);
}

static jzx_behavior_result send_to_itself(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    fixture_send(ctx->loop, ctx->self, msg->tag);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_drain_ends_at_its_bound, "E24", "X21") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual = open_manual(loop);
    deposit(manual, loop, 150); /* more than two batches */
    assert_int_equal(drain_some(manual, 1), 1);
    assert_int_equal(drain_some(manual, 70), 70);
    assert_int_equal(balance_of(manual), 171);
    assert_int_equal(drain_some(manual, 79), 79); /* exactly all */
    assert_int_equal(drain_some(manual, 1), 0);
    deposit(manual, loop, 3);
    assert_int_equal(drain_some(manual, JZX_UNLIMITED), 3);
    deposit(manual, loop, 3);
    assert_int_equal(drain_some(manual, JZX_UNLIMITED - 1), 3);
    assert_int_equal(jzx_test_runs(), 156);
    jzx_manual_destroy(manual);
    assert_int_equal(jzx_manual_create(loop, &JZX_SPAWN_OPTS(.behavior = send_to_itself), &manual),
                     JZX_OK);
    fixture_send(loop, jzx_manual_id(manual), 1);
    assert_int_equal(drain_some(manual, 1000), 1000); /* else for ever */
    assert_int_equal(jzx_test_runs(), 1156);
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

static bool is_left(void *arg) {
    uint32_t *left = arg;
    return *left != 0 && (*left)-- != 0;
}

JZX_TEST(a_poll_goes_on_while_a_predicate_holds_and_something_waits, "E24") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual = open_manual(loop);
    size_t count = 0;
    uint32_t left = 4;
    deposit(manual, loop, 6);
    assert_int_equal(jzx_manual_poll_while(manual, is_left, &left, &count), JZX_OK);
    assert_int_equal(count, 4);
    left = 100;
    assert_int_equal(jzx_manual_poll_while(manual, is_left, &left, &count), JZX_OK);
    assert_int_equal(count, 2);
    assert_int_equal(left, 100 - 3);
    assert_int_equal(jzx_test_runs(), 6);
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

JZX_TEST(a_full_manual_actor_refuses_and_has_room_again_after_a_poll, "E24") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual;
    ledger = (struct ledger){0};
    assert_int_equal(
        jzx_manual_create(loop, &JZX_SPAWN_OPTS(.type = &account_type, .mailbox_cap = 4), &manual),
        JZX_OK);
    deposit(manual, loop, 4);
    assert_int_equal(account_post_deposit(loop, jzx_manual_id(manual), 1), JZX_ERR_MAILBOX_FULL);
    assert_int_equal(drain(manual), 4);
    deposit(manual, loop, 4);
    assert_int_equal(drain(manual), 4);
    assert_int_equal(jzx_test_runs(), 8);
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

/* ---- what comes by polling ---- */

JZX_TEST(timers_of_a_manual_actor_fire_when_it_is_polled, "E24") {
    struct timing timing = timing_open();
    jzx_loop *loop = timing.loop;
    jzx_manual *manual = open_manual(loop);
    jzx_actor_id id = jzx_manual_id(manual);
    jzx_timer_id timer;
    assert_int_equal(jzx_send_every(loop, id, id, NULL, 0, 9, JZX_MS(10), JZX_FIXED_DELAY, &timer),
                     JZX_OK);
    assert_int_equal(drain(manual), 0);
    for (uint32_t i = 1; i <= 5; i++) {
        assert_int_equal(jzx_clock_advance(timing.clock, JZX_MS(10)), JZX_OK);
        assert_int_equal(ledger.others, i - 1);
        assert_int_equal(drain(manual), 1);
        assert_int_equal(ledger.others, i);
        assert_int_equal(ledger.last_tag, 9);
        assert_int_equal(drain(manual), 0);
    }
    assert_int_equal(jzx_timer_cancel(loop, timer), JZX_OK);
    assert_int_equal(jzx_clock_advance(timing.clock, JZX_MS(50)), JZX_OK);
    assert_int_equal(drain(manual), 0);
    jzx_manual_destroy(manual);
    timing_close(&timing);
}

static void set_timer(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, NULL, 0, 9, JZX_MS(10)), JZX_OK);
}

/* A host sleeps until the next deadline after a poll. */
JZX_TEST(a_timer_that_a_handler_sets_is_armed_when_the_poll_returns, "E24") {
    struct timing timing = timing_open();
    struct diary diary = {.count = 0};
    jzx_manual *manual;
    turn_fn fn = set_timer;
    assert_int_equal(jzx_manual_create(timing.loop,
                                       &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary),
                                       &manual),
                     JZX_OK);
    timing_step(&timing);
    assert_int_equal(jzx_loop_next_deadline(timing.loop), JZX_NEVER);
    jzx_actor_id id = jzx_manual_id(manual);
    assert_int_equal(jzx_send(timing.loop, id, JZX_NOBODY, &fn, sizeof fn, TAG_DO), JZX_OK);
    assert_true(poll_one(manual));
    assert_int_equal(jzx_test_runs(), 1);
    uint64_t due_ns = jzx_loop_now(timing.loop) + JZX_MS(10);
    assert_int_equal(jzx_loop_next_deadline(timing.loop), due_ns);
    assert_int_equal(jzx_clock_advance(timing.clock, JZX_MS(10)), JZX_OK);
    assert_true(poll_one(manual));
    assert_int_equal(diary.count, 1);
    assert_int_equal(diary.arrivals[0].tag, 9);
    assert_int_equal(diary.arrivals[0].at_ns, due_ns);
    jzx_manual_destroy(manual);
    timing_close(&timing);
}

JZX_TEST(a_manual_actor_hears_of_the_end_of_others_when_it_is_polled, "E24", "E+mode") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual = open_manual(loop);
    jzx_actor_id other = open_account(loop);
    assert_int_equal(account_post_watch(loop, jzx_manual_id(manual), other), JZX_OK);
    assert_int_equal(drain(manual), 1);
    assert_int_equal(account_post_panic(loop, other, "enough"), JZX_OK);
    run_loop(loop);
    assert_int_equal(ledger.others, 0);
    assert_int_equal(drain(manual), 1);
    assert_int_equal(ledger.last_tag, JZX_TAG_DOWN);
    assert_string_equal(ledger.text, "enough");
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

JZX_TEST(a_manual_actor_is_watched_answers_and_puts_aside_as_others_do, "E24") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual = open_manual(loop);
    jzx_actor_id id = jzx_manual_id(manual);
    jzx_actor_id watcher = open_account(loop);
    assert_int_equal(account_post_watch(loop, watcher, id), JZX_OK);
    assert_int_equal(account_post_put_aside(loop, id), JZX_OK);
    run_loop(loop);
    assert_int_equal(drain(manual), 2); /* it is handled once more */
    assert_int_equal(((struct account *)jzx_manual_state(manual))->moves, 2);
    fixture_check_books(loop);
    assert_int_equal(account_post_panic(loop, id, "by hand"), JZX_OK);
    assert_true(poll_one(manual));
    assert_int_equal(jzx_manual_poll_one(manual, NULL), JZX_ERR_NO_SUCH_ACTOR);
    assert_true(jzx_manual_state(manual) == NULL);
    run_loop(loop);
    assert_string_equal(ledger.text, "by hand");
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

static void expect_stop(jzx_stop_kind kind, size_t handled, jzx_exit_reason reason) {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual = open_manual(loop);
    size_t count = 0;
    deposit(manual, loop, 5);
    JZX_EXPECT(poll_one(manual));
    JZX_EXPECT_EQ(jzx_actor_stop(loop, jzx_manual_id(manual), kind), JZX_OK);
    run_loop(loop);
    JZX_EXPECT_EQ(ledger.closed, 0);
    jzx_err err = jzx_manual_drain(manual, 0, &count);
    JZX_EXPECT_EQ(count, handled);
    if (err == JZX_OK)
        err = jzx_manual_drain(manual, 0, NULL);
    JZX_EXPECT_EQ(err, JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(ledger.closed, 1);
    JZX_EXPECT_EQ(ledger.reason, reason);
    JZX_EXPECT_EQ(account_post_deposit(loop, jzx_manual_id(manual), 1), JZX_ERR_NO_SUCH_ACTOR);
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

JZX_TEST(a_stop_reaches_a_manual_actor_when_it_is_polled, "E24") {
    expect_stop(JZX_STOP_AFTER_MESSAGE, 0, JZX_EXIT_NORMAL);
    expect_stop(JZX_STOP_KILL, 0, JZX_EXIT_KILLED);
    expect_stop(JZX_STOP_AFTER_QUEUE, 4, JZX_EXIT_NORMAL);
    assert_int_equal(jzx_test_runs(), 3 + 4);
}

/* ---- ends ---- */

JZX_TEST(a_loop_ends_its_manual_actors_and_a_handle_may_outlive_it, "E24") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual = open_manual(loop);
    jzx_manual *stopped;
    assert_int_equal(account_manual(loop, &stopped), JZX_OK);
    deposit(manual, loop, 3);
    assert_true(poll_one(manual)); /* two are in the poller's hand */
    fixture_destroy(loop);
    assert_int_equal(ledger.closed, 2);
    assert_int_equal(jzx_manual_poll_one(manual, NULL), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_manual_drain(stopped, 0, NULL), JZX_ERR_NO_SUCH_ACTOR);
    jzx_manual_destroy(manual);
    jzx_manual_destroy(stopped);
    assert_int_equal(jzx_test_runs(), 1);
}

JZX_TEST(a_manual_actor_that_returns_stop_has_ended_when_the_poll_returns, "E24") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual = open_manual(loop);
    assert_int_equal(account_post_close(loop, jzx_manual_id(manual)), JZX_OK);
    deposit(manual, loop, 2);
    assert_true(poll_one(manual));
    assert_int_equal(ledger.opened, 1);
    assert_int_equal(ledger.closed, 1);
    assert_int_equal(jzx_manual_drain(manual, 0, NULL), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(fixture_stats(loop).dead, 2);
    assert_int_equal(jzx_type_instances(loop, "account", NULL, 0), 0);
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

static jzx_err refuse(jzx_context *ctx) {
    (void)ctx;
    jzx_test_ran();
    return JZX_ERR_FULL;
}

JZX_TEST(the_init_of_a_manual_actor_runs_in_its_first_poll_and_may_fail, "E24") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual;
    struct recorder recorder = {.count = 0};
    assert_int_equal(
        jzx_manual_create(
            loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder, .init = refuse), &manual),
        JZX_OK);
    fixture_send(loop, jzx_manual_id(manual), 1);
    run_loop(loop);
    assert_int_equal(jzx_test_runs(), 0);
    assert_int_equal(jzx_manual_drain(manual, 0, NULL), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_test_runs(), 1);
    assert_int_equal(recorder.count, 0);
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

/* ---- wrong use ---- */

static jzx_manual *polled;

static jzx_behavior_result poll_inside(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    JZX_EXPECT_EQ(jzx_manual_poll_one(polled, NULL), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_manual_drain(polled, 0, NULL), JZX_ERR_BUSY);
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_manual_actor_is_polled_by_threads_that_are_inside_no_loop, "E24") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = poll_inside));
    assert_int_equal(jzx_manual_create(loop, &JZX_SPAWN_OPTS(.behavior = poll_inside), &polled),
                     JZX_OK);
    fixture_send(loop, id, 1);
    fixture_send(loop, jzx_manual_id(polled), 1);
    run_loop(loop);
    assert_int_equal(drain(polled), 1); /* nor in its own handler */
    assert_int_equal(jzx_test_runs(), 2);
    jzx_manual_destroy(polled);
    fixture_destroy(loop);
}

JZX_TEST(options_that_a_manual_actor_cannot_have_are_refused, "E24") {
    jzx_loop *loop = fixture_loop();
    jzx_manual *manual = NULL;
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = record, .place = JZX_PLACE_CALLER);
    assert_int_equal(jzx_manual_create(loop, &opts, &manual), JZX_ERR_INVALID_ARG);
    opts = JZX_SPAWN_OPTS(.behavior = record, .on_full = JZX_FULL_DROP_OLDEST);
    assert_int_equal(jzx_manual_create(loop, &opts, &manual), JZX_ERR_INVALID_ARG);
    opts = JZX_SPAWN_OPTS(.behavior = record, .place = JZX_PLACE_WORKER(1));
    assert_int_equal(jzx_manual_create(loop, &opts, &manual), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_manual_create(loop, &JZX_SPAWN_OPTS(), &manual), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_manual_create(loop, NULL, &manual), JZX_ERR_INVALID_ARG);
    assert_true(manual == NULL);
    assert_int_equal(jzx_manual_poll_one(NULL, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_manual_id(NULL), JZX_NOBODY);
    jzx_manual_destroy(NULL);
    fixture_destroy(loop);
}

JZX_TEST(a_manual_actor_without_memory_leaves_nothing, "E24") {
    for (uint64_t n = 0;; n++) {
        jzx_loop *loop = fixture_loop();
        jzx_manual *manual = NULL;
        ledger = (struct ledger){0};
        fixture_fail_allocations(n, 1);
        jzx_err err = account_manual(loop, &manual);
        fixture_fail_allocations(UINT64_MAX, 0);
        if (err == JZX_OK) {
            deposit(manual, loop, 1);
            assert_int_equal(drain(manual), 1);
            jzx_manual_destroy(manual);
            fixture_destroy(loop);
            assert_true(n > 2);
            assert_int_equal(jzx_test_runs(), 1);
            break;
        }
        assert_int_equal(err, JZX_ERR_NO_MEMORY);
        assert_true(manual == NULL);
        fixture_destroy(loop);
    }
}

/* ---- beside a loop that runs ---- */

static void *run_it(void *loop) {
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    return NULL;
}

/* Deposits four times. */
static jzx_behavior_result pay(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id to = (jzx_actor_id)(uintptr_t)ctx->state;
    for (int i = 0; i < 4; i++)
        JZX_EXPECT_EQ(account_send_deposit(ctx, to, 1), JZX_OK);
    return msg->tag == 2 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(a_thread_polls_while_others_run_the_loop, "E24", "E31") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    pthread_t runner;
    jzx_manual *manual = open_manual(loop);
    jzx_actor_id id = jzx_manual_id(manual);
    size_t handled = 0;
    assert_int_equal(jzx_loop_hold(loop), JZX_OK);
    assert_int_equal(pthread_create(&runner, NULL, run_it, loop), 0);
    jzx_actor_id payer =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = pay, .state = (void *)(uintptr_t)id));
    for (int frame = 0; frame < 50; frame++) {
        fixture_send(loop, payer, frame < 49 ? 1 : 2);
        for (size_t now = 0; now < 4;)
            now += drain(manual);
        handled += 4;
    }
    assert_int_equal(balance_of(manual), 100 + (int64_t)handled);
    assert_int_equal(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
    assert_int_equal(jzx_manual_poll_one(manual, NULL), JZX_ERR_NO_SUCH_ACTOR);
    jzx_manual_destroy(manual);
    assert_int_equal(jzx_loop_release(loop), JZX_OK);
    assert_int_equal(pthread_join(runner, NULL), 0);
    fixture_destroy(loop);
}
