/* SPDX-License-Identifier: MIT */
/* jzx_exit where there is nothing to leave: the process ends with a message, never in silence and
 * never somewhere else. */
#include "../unit/child.h"
#include "watching.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { GO = 1, WORK };

static jzx_context *kept; /* of the turn that is on */
static jzx_context kept_copy;

static void expect_abort(void (*body)(void)) {
    struct child_end end = run_in_child(body);
    JZX_EXPECT(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT);
    JZX_EXPECT(strstr(end.text, "jzx_exit") != NULL);
    if (strstr(end.text, "jzx_exit") == NULL)
        fprintf(stderr, "status %d, text: %s\n", end.status, end.text);
}

/* Runs one order in an actor's turn; the child exits with 0 if the process goes on. */
static void in_a_turn(order_fn fn, void *arg) {
    static struct diary diary;
    jzx_loop *loop = fixture_loop();
    now(loop, diary_spawn(loop, &diary), fn, arg);
}

static jzx_behavior_result exit_nobody(jzx_context *ctx, void *arg) {
    (void)ctx;
    jzx_exit(arg, JZX_EXIT_FAIL, NULL);
}

static void without_context(void) {
    in_a_turn(exit_nobody, NULL);
}

static void without_context_or_turn(void) {
    jzx_exit(NULL, JZX_EXIT_FAIL, NULL);
}

static jzx_behavior_result exit_copy(jzx_context *ctx, void *arg) {
    jzx_context copy = *ctx;
    (void)arg;
    jzx_exit(&copy, JZX_EXIT_FAIL, NULL);
}

static void with_a_copy(void) {
    in_a_turn(exit_copy, NULL);
}

static jzx_behavior_result check_copy(jzx_context *ctx, void *arg) {
    jzx_context copy = *ctx;
    (void)arg;
    JZX_CHECK(&copy, copy.loop == NULL);
    return JZX_BEHAVIOR_OK;
}

static void with_a_copy_by_check(void) {
    in_a_turn(check_copy, NULL);
}

/* ---- after the call ---- */

static jzx_behavior_result keep_context(jzx_context *ctx, void *arg) {
    (void)arg;
    kept = ctx;
    kept_copy = *ctx;
    return JZX_BEHAVIOR_OK;
}

static void after_the_turn(void) {
    in_a_turn(keep_context, NULL);
    jzx_exit(kept, JZX_EXIT_FAIL, NULL);
}

static void exit_kept(jzx_loop *loop, void *arg) {
    (void)loop;
    (void)arg;
    jzx_exit(kept, JZX_EXIT_FAIL, NULL);
}

static void in_a_call_of_the_loop(void) {
    static struct diary diary;
    jzx_loop *loop = fixture_loop();
    now(loop, diary_spawn(loop, &diary), keep_context, NULL);
    JZX_EXPECT_EQ(jzx_loop_call(loop, exit_kept, NULL), JZX_OK);
    step(loop);
}

/* ---- another thread, while the turn is on ---- */

static void *exit_elsewhere(void *arg) {
    jzx_exit(arg, JZX_EXIT_FAIL, NULL);
}

static jzx_behavior_result start_thread(jzx_context *ctx, void *arg) {
    pthread_t thread;
    (void)arg;
    JZX_EXPECT_EQ(pthread_create(&thread, NULL, exit_elsewhere, ctx), 0);
    JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    return JZX_BEHAVIOR_OK;
}

static void on_another_thread(void) {
    in_a_turn(start_thread, NULL);
}

/* ---- in what the library calls within the turn ---- */

static void exit_in_destructor(void *data, size_t len) {
    (void)data;
    (void)len;
    jzx_exit(kept, JZX_EXIT_FAIL, NULL);
}

static jzx_behavior_result free_in_turn(jzx_context *ctx, void *arg) {
    (void)arg;
    kept = ctx;
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 10, exit_in_destructor));
    return JZX_BEHAVIOR_OK;
}

static void in_a_destructor_of_the_turn(void) {
    in_a_turn(free_in_turn, NULL);
}

/* The message's own destructor runs when the behaviour has returned. */
static jzx_behavior_result keep_and_return(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    kept = ctx;
    return JZX_BEHAVIOR_OK;
}

static void in_the_destructor_of_the_message(void) {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = keep_and_return));
    void *data = jzx_msg_alloc(loop, 10, exit_in_destructor);
    JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, WORK), JZX_OK);
    step(loop);
}

static void exit_in_observer(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_MAILBOX_FULL)
        jzx_exit(kept, JZX_EXIT_FAIL, NULL);
}

static jzx_behavior_result fill_in_turn(jzx_context *ctx, void *arg) {
    const jzx_actor_id *full = arg;
    kept = ctx;
    while (jzx_send(ctx->loop, *full, ctx->self, NULL, 0, WORK) == JZX_OK)
        continue;
    return JZX_BEHAVIOR_OK;
}

static void in_an_observer_of_the_turn(void) {
    static struct diary diaries[2];
    jzx_loop *loop = fixture_loop();
    JZX_EXPECT_EQ(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = exit_in_observer), NULL),
                  JZX_OK);
    jzx_actor_id full = fixture_spawn(loop, &DIARY_OPTS(&diaries[0], .mailbox_cap = 2));
    now(loop, diary_spawn(loop, &diaries[1]), fill_in_turn, &full);
}

static void exit_at_end(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_ACTOR_STOP)
        jzx_exit(kept, JZX_EXIT_FAIL, NULL);
}

static jzx_behavior_result keep_and_stop(jzx_context *ctx, void *arg) {
    (void)arg;
    kept = ctx;
    return JZX_BEHAVIOR_STOP;
}

static void in_the_observer_of_its_own_end(void) {
    static struct diary diary;
    jzx_loop *loop = fixture_loop();
    JZX_EXPECT_EQ(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = exit_at_end), NULL),
                  JZX_OK);
    now(loop, diary_spawn(loop, &diary), keep_and_stop, NULL);
}

/* ---- the same in a cleanup, which may itself be left ---- */

static void free_in_cleanup(jzx_context *ctx) {
    kept = ctx;
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 10, exit_in_destructor));
}

static void in_a_destructor_of_a_cleanup(void) {
    static struct diary diary;
    jzx_loop *loop = fixture_loop();
    diary.last = free_in_cleanup;
    now(loop, diary_spawn(loop, &diary), call_stop, NULL);
}

static jzx_actor_id full_one;

static void fill_in_cleanup(jzx_context *ctx) {
    fill_in_turn(ctx, &full_one);
}

static void in_an_observer_of_a_cleanup(void) {
    static struct diary diaries[2];
    jzx_loop *loop = fixture_loop();
    JZX_EXPECT_EQ(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = exit_in_observer), NULL),
                  JZX_OK);
    full_one = fixture_spawn(loop, &DIARY_OPTS(&diaries[0], .mailbox_cap = 2));
    diaries[1].last = fill_in_cleanup;
    now(loop, diary_spawn(loop, &diaries[1]), call_stop, NULL);
}

/* ---- and in a turn that has lost its worker ---- */

static sem_t let_go;

static jzx_behavior_result post_let_go(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    sem_post(&let_go);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result stall_and_free(jzx_context *ctx, void *arg) {
    const jzx_actor_id *waker = arg;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, *waker, ctx->self, NULL, 0, WORK), JZX_OK);
    while (sem_wait(&let_go) != 0)
        continue;
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    return free_in_turn(ctx, NULL);
}

static void in_a_destructor_of_a_turn_without_a_worker(void) {
    static struct diary diary;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(1)));
    sem_init(&let_go, 0, 0);
    jzx_actor_id waker =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = post_let_go, .place = JZX_PLACE_WORKER(1)));
    order(loop, fixture_spawn(loop, &DIARY_OPTS(&diary, .place = JZX_PLACE_WORKER(1))),
          stall_and_free, &waker);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
}

/* ---- another actor's ---- */

static jzx_behavior_result exit_other(jzx_context *ctx, void *arg) {
    (void)ctx;
    (void)arg;
    jzx_exit(&kept_copy, JZX_EXIT_FAIL, NULL);
}

static void with_the_context_of_another(void) {
    static struct diary diaries[2];
    jzx_loop *loop = fixture_loop();
    now(loop, diary_spawn(loop, &diaries[0]), keep_context, NULL);
    now(loop, diary_spawn(loop, &diaries[1]), exit_other, NULL);
}

/* The outer turn waits for the inner one, and cannot be left from there. */
static jzx_behavior_result exit_outer(jzx_context *ctx, void *arg) {
    (void)ctx;
    jzx_exit(arg, JZX_EXIT_FAIL, NULL);
}

static jzx_behavior_result run_inside(jzx_context *ctx, void *arg) {
    static struct diary diary;
    (void)arg;
    jzx_loop *inner = fixture_loop();
    now(inner, diary_spawn(inner, &diary), exit_outer, ctx);
    return JZX_BEHAVIOR_OK;
}

static void from_a_loop_inside(void) {
    in_a_turn(run_inside, NULL);
}

JZX_TEST(an_exit_without_a_turn_to_leave_ends_the_process, "E10", "E+sem") {
    expect_abort(without_context);
    expect_abort(without_context_or_turn);
    expect_abort(after_the_turn);
    expect_abort(in_a_call_of_the_loop);
}

JZX_TEST(an_exit_with_a_context_that_is_not_of_this_call_ends_the_process, "E10", "E+sem") {
    expect_abort(with_a_copy);
    expect_abort(with_a_copy_by_check);
    expect_abort(with_the_context_of_another);
    expect_abort(from_a_loop_inside);
}

JZX_TEST(an_exit_on_another_thread_ends_the_process, "E10", "E+sem") {
    expect_abort(on_another_thread);
}

JZX_TEST(an_exit_in_a_destructor_ends_the_process, "E10", "E+sem") {
    expect_abort(in_a_destructor_of_the_turn);
    expect_abort(in_the_destructor_of_the_message);
    expect_abort(in_a_destructor_of_a_cleanup);
    expect_abort(in_a_destructor_of_a_turn_without_a_worker);
}

JZX_TEST(an_exit_in_an_observer_ends_the_process, "E10", "E+sem") {
    expect_abort(in_an_observer_of_the_turn);
    expect_abort(in_the_observer_of_its_own_end);
    expect_abort(in_an_observer_of_a_cleanup);
}

/* After all these callbacks within a turn it may be left as ever. */
static void do_nothing(void *data, size_t len) {
    (void)data;
    (void)len;
}

static void see_nothing(void *ctx, const jzx_event *event) {
    (void)ctx;
    (void)event;
}

static jzx_behavior_result call_all_and_exit(jzx_context *ctx, void *arg) {
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 10, do_nothing));
    fill_in_turn(ctx, arg);
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 10, do_nothing));
    jzx_exit(ctx, JZX_EXIT_FAIL, "as ever");
}

JZX_TEST(a_turn_can_be_left_after_observers_and_destructors_were_called, "E10", "E+sem") {
    struct diary full = {0};
    struct diary diary = {0};
    jzx_loop *loop = fixture_loop();
    JZX_EXPECT_EQ(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = see_nothing), NULL),
                  JZX_OK);
    jzx_actor_id full_id = fixture_spawn(loop, &DIARY_OPTS(&full, .mailbox_cap = 2));
    now(loop, diary_spawn(loop, &diary), call_all_and_exit, &full_id);
    JZX_EXPECT_EQ(diary.cleanups, 1);
    JZX_EXPECT_EQ(diary.reason, JZX_EXIT_FAIL);
    fixture_destroy(loop);
}

/* ---- the end of the thread ---- */

static jzx_behavior_result end_thread(jzx_context *ctx, void *arg) {
    (void)ctx;
    (void)arg;
    pthread_exit(NULL);
}

static jzx_behavior_result cancel_thread(jzx_context *ctx, void *arg) {
    (void)ctx;
    (void)arg;
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return JZX_BEHAVIOR_OK;
}

static void exit_thread_in_a_turn(void) {
    in_a_turn(end_thread, NULL);
}

static void cancel_thread_in_a_turn(void) {
    in_a_turn(cancel_thread, NULL);
}

static jzx_behavior_result end_this_thread(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    pthread_exit(NULL);
}

/* Worker 1 has a thread of the library's. */
static void exit_thread_of_a_worker(void) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    fixture_send(loop,
                 fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = end_this_thread, .name = "quits",
                                                     .place = JZX_PLACE_WORKER(1))),
                 GO);
    jzx_loop_run(loop);
}

JZX_TEST(a_thread_that_ends_inside_an_actor_ends_the_process_with_its_name) {
    void (*const bodies[])(void) = {exit_thread_in_a_turn, cancel_thread_in_a_turn,
                                    exit_thread_of_a_worker};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct child_end end = run_in_child(bodies[i]);
        if (!JZX_EXPECT(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT &&
                        strstr(end.text, "the thread has ended inside actor 0.1") != NULL))
            fprintf(stderr, "%zu: status %d, text: %s\n", i, end.status, end.text);
    }
}

static void *drive_and_end(void *arg) {
    static struct diary diary;
    jzx_loop *loop = fixture_loop();
    now(loop, diary_spawn(loop, &diary), keep_context, arg);
    fixture_destroy(loop);
    pthread_exit(NULL);
}

JZX_TEST(a_thread_that_has_left_its_loop_may_end) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, drive_and_end, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}
