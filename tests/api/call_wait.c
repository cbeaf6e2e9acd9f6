/* SPDX-License-Identifier: MIT */
/* Threads that are no actors and wait for one: for an answer, and for an init. */
#include "asking.h"

#include <jzx/context.h>
#include <jzx/exit.h>
#include <jzx/fiber.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* ---- a loop that another thread drives, with a desk that keeps it going ---- */

struct office {
    jzx_loop *loop;
    struct desk desk;
    jzx_actor_id desk_id;
    pthread_t driver;
};

static struct office office;

static void *drive(void *arg) {
    jzx_err err = jzx_loop_run(arg);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_LOOP_CLOSED);
    return NULL;
}

static void office_make(const jzx_config *config) {
    memset(&office, 0, sizeof office);
    office.loop = fixture_loop_with(config);
    assert_non_null(office.loop);
    office.desk_id =
        fixture_spawn(office.loop, &JZX_SPAWN_OPTS(.behavior = be_desk, .state = &office.desk));
}

static void office_run(void) {
    assert_int_equal(pthread_create(&office.driver, NULL, drive, office.loop), 0);
}

static void office_open(void) {
    office_make(&JZX_CONFIG(.workers = 1));
    office_run();
}

static void office_join(void) {
    assert_int_equal(pthread_join(office.driver, NULL), 0);
}

static void office_close(void) {
    jzx_actor_stop(office.loop, office.desk_id, JZX_STOP_KILL);
    office_join();
    fixture_destroy(office.loop);
}

/* A thread that calls. */
struct caller {
    pthread_t thread;
    uint64_t deadline_ns;
    uint32_t tag;
    jzx_err err;
    jzx_message answer;
};

static void *call(void *arg) {
    struct caller *self = arg;
    uint32_t number = 7;
    self->err = jzx_call_wait(office.loop, office.desk_id, &number, sizeof number, self->tag,
                              self->deadline_ns, &self->answer);
    return NULL;
}

static void caller_start(struct caller *caller, uint32_t tag, uint64_t deadline_ns) {
    *caller = (struct caller){.tag = tag, .deadline_ns = deadline_ns, .err = JZX_ERR_UNKNOWN};
    assert_int_equal(pthread_create(&caller->thread, NULL, call, caller), 0);
}

static void caller_join(struct caller *caller, jzx_err expected) {
    assert_int_equal(pthread_join(caller->thread, NULL), 0);
    JZX_EXPECT_EQ(caller->err, expected);
}

/* Until so many actors were made. */
static void await_spawned(uint64_t count) {
    while (fixture_stats(office.loop).spawned < count)
        sched_yield();
}

static uint64_t soon(void) {
    return jzx_loop_now(office.loop) + JZX_MS(1);
}

/* ---- answers ---- */

JZX_TEST(a_thread_gets_the_answer_as_its_own) {
    office_open();
    char data[100];
    for (size_t len = 0; len <= sizeof data; len += 4) {
        jzx_message answer = {.data = NULL};
        memset(data, (int)len, sizeof data);
        JZX_EXPECT_EQ(
            jzx_call_wait(office.loop, office.desk_id, data, len, NOW, JZX_NEVER, &answer), JZX_OK);
        if (!JZX_EXPECT(answer.data != NULL))
            break;
        JZX_EXPECT_EQ(answer.len, len);
        JZX_EXPECT_EQ(answer.tag, ANSWER);
        JZX_EXPECT_EQ(answer.sender, office.desk_id);
        JZX_EXPECT_EQ(memcmp(answer.data, data, len), 0);
        JZX_EXPECT_EQ(jzx_msg_len(answer.data), len);
        jzx_msg_free(office.loop, answer.data);
    }
    JZX_EXPECT_EQ(jzx_call_wait(office.loop, office.desk_id, data, 50, NOW, JZX_NEVER, NULL),
                  JZX_OK);
    office_close();
}

JZX_TEST(a_thread_hears_of_the_end_of_who_was_asked) {
    struct caller callers[3];
    jzx_message answer = {.data = NULL};
    office_open();
    for (uint32_t i = 0; i < 3; i++)
        caller_start(&callers[i], KEEP, JZX_NEVER);
    await_spawned(4);
    JZX_EXPECT_EQ(jzx_call_wait(office.loop, office.desk_id, NULL, 0, DIE, JZX_NEVER, &answer),
                  JZX_ERR_NO_SUCH_ACTOR);
    for (uint32_t i = 0; i < 3; i++)
        caller_join(&callers[i], JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_call_wait(office.loop, office.desk_id, NULL, 0, NOW, JZX_NEVER, &answer),
                  JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT(answer.data == NULL);
    office_join(); /* nobody is left */
    fixture_destroy(office.loop);
}

JZX_TEST(wrong_arguments_of_a_call_that_blocks_are_refused) {
    office_make(&JZX_CONFIG(.workers = 1));
    jzx_loop *loop = office.loop;
    jzx_actor_id to = office.desk_id;
    JZX_EXPECT_EQ(jzx_call_wait(NULL, to, NULL, 0, NOW, JZX_NEVER, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_call_wait(loop, to, NULL, 1, NOW, JZX_NEVER, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_call_wait(loop, to, NULL, 0, JZX_TAG_RESERVED, JZX_NEVER, NULL),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_call_wait(loop, to, &to, (size_t)JZX_MSG_LEN_MAX + 1, NOW, JZX_NEVER, NULL),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_call_wait(loop, JZX_NOBODY, NULL, 0, NOW, JZX_NEVER, NULL),
                  JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_spawn_wait(NULL, NULL, JZX_NEVER, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_spawn_wait(loop, NULL, JZX_NEVER, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_spawn_wait(loop, &JZX_SPAWN_OPTS(.state = NULL), JZX_NEVER, NULL),
                  JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

/* ---- deadlines ---- */

JZX_TEST(a_thread_waits_no_longer_than_its_deadline) {
    jzx_message answer = {.data = NULL};
    office_open();
    JZX_EXPECT_EQ(jzx_call_wait(office.loop, office.desk_id, NULL, 0, NOW, JZX_NEVER, NULL),
                  JZX_OK);
    uint64_t deadline_ns = soon();
    JZX_EXPECT_EQ(jzx_call_wait(office.loop, office.desk_id, NULL, 0, KEEP, deadline_ns, &answer),
                  JZX_ERR_TIMEOUT);
    JZX_EXPECT(jzx_loop_now(office.loop) >= deadline_ns);
    JZX_EXPECT_EQ(jzx_call_wait(office.loop, office.desk_id, NULL, 0, KEEP, 0, &answer),
                  JZX_ERR_TIMEOUT);
    JZX_EXPECT(answer.data == NULL);
    office_close();
}

JZX_TEST(a_call_that_timed_out_before_the_loop_runs_asks_nobody) {
    office_make(&JZX_CONFIG(.workers = 1));
    JZX_EXPECT_EQ(jzx_call_wait(office.loop, office.desk_id, NULL, 0, KEEP, soon(), NULL),
                  JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_loop_step(office.loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(office.desk.kept_count, 0);
    JZX_EXPECT_EQ(fixture_stats(office.loop).exited, 1);
    fixture_destroy(office.loop);
}

JZX_TEST(a_call_waits_for_a_loop_that_does_not_run_yet) {
    struct caller caller;
    office_make(&JZX_CONFIG(.workers = 1));
    caller_start(&caller, NOW, JZX_NEVER);
    await_spawned(2);
    office_run();
    caller_join(&caller, JZX_OK);
    JZX_EXPECT_EQ(*(const uint32_t *)caller.answer.data, 7);
    jzx_msg_free(office.loop, caller.answer.data);
    office_close();
}

JZX_TEST(a_thread_notices_a_clock_that_is_moved_by_hand) {
    for (uint32_t i = 0; i < 2; i++) { /* before it has asked, and after */
        jzx_clock *clock = jzx_clock_manual(1000);
        struct caller caller;
        office_make(&JZX_CONFIG(.workers = 1, .clock = clock));
        caller_start(&caller, KEEP, 1000 + JZX_SECOND(3600));
        await_spawned(2);
        while (i == 1 && office.desk.kept_count == 0)
            JZX_EXPECT_EQ(jzx_loop_step(office.loop, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_SECOND(3600) - 1), JZX_OK);
        JZX_EXPECT_EQ(jzx_clock_advance(clock, 1), JZX_OK);
        caller_join(&caller, JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(jzx_loop_step(office.loop, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(office.desk.kept_count, i);
        fixture_destroy(office.loop);
        JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
    }
}

/* ---- loops that end ---- */

enum end { REQUEST_STOP, GENTLE_STOP, DESTROY_AFTER, DESTROY_BEFORE, ENDS };

static void end_office(enum end end) {
    switch (end) {
    case REQUEST_STOP: JZX_EXPECT_EQ(jzx_loop_request_stop(office.loop), JZX_OK); break;
    case GENTLE_STOP: JZX_EXPECT_EQ(jzx_loop_stop(office.loop, JZX_NEVER), JZX_OK); break;
    case DESTROY_AFTER:
        while (office.desk.kept_count == 0)
            JZX_EXPECT_EQ(jzx_loop_step(office.loop, JZX_NEVER), JZX_OK);
        break;
    default: break;
    }
    if (end <= GENTLE_STOP)
        office_join();
    fixture_destroy(office.loop);
}

/* jzx_loop_destroy waits for the thread, so that the loop is there until the call has returned. */
JZX_TEST(a_loop_that_ends_lets_its_threads_go, "X14") {
    for (enum end end = 0; end < ENDS; end++) {
        struct caller caller;
        office_make(&JZX_CONFIG(.workers = 1));
        if (end <= GENTLE_STOP)
            office_run();
        caller_start(&caller, KEEP, JZX_NEVER);
        await_spawned(2);
        end_office(end);
        caller_join(&caller, JZX_ERR_LOOP_CLOSED);
    }
}

JZX_TEST(a_closed_loop_takes_no_calls) {
    office_make(&JZX_CONFIG(.workers = 1));
    JZX_EXPECT_EQ(jzx_loop_request_stop(office.loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_call_wait(office.loop, office.desk_id, NULL, 0, NOW, JZX_NEVER, NULL),
                  JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(
        jzx_spawn_wait(office.loop, &JZX_SPAWN_OPTS(.behavior = be_desk), JZX_NEVER, NULL),
        JZX_ERR_LOOP_CLOSED);
    fixture_destroy(office.loop);
}

/* The actor that asks in place of the thread, of which others may know. */
JZX_TEST(who_ends_the_actor_that_asks_cancels_the_call) {
    struct caller caller;
    uint64_t cursor = 0;
    jzx_actor_info info = {.size = sizeof info};
    office_make(&JZX_CONFIG(.workers = 1));
    caller_start(&caller, KEEP, JZX_NEVER);
    await_spawned(2);
    while (office.desk.kept_count == 0)
        JZX_EXPECT_EQ(jzx_loop_step(office.loop, JZX_NEVER), JZX_OK);
    while (jzx_actor_next(office.loop, &cursor, &info) == JZX_OK)
        if (strcmp(info.name, "jzx_call_wait") == 0)
            JZX_EXPECT_EQ(jzx_actor_stop(office.loop, info.id, JZX_STOP_KILL), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(office.loop, JZX_NEVER), JZX_OK);
    caller_join(&caller, JZX_ERR_CANCELLED);
    fixture_destroy(office.loop);
}

/* ---- threads of the loop ---- */

static void expect_refusal(jzx_loop *loop, jzx_actor_id to) {
    jzx_message answer = {.data = NULL};
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_call_wait(loop, to, NULL, 0, NOW, JZX_NEVER, &answer), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_spawn_wait(loop, &JZX_SPAWN_OPTS(.behavior = be_desk), JZX_NEVER, &id),
                  JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT(answer.data == NULL && id == JZX_NOBODY);
    jzx_test_ran();
}

static jzx_behavior_result call_in_turn(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    expect_refusal(ctx->loop, ctx->self);
    return JZX_BEHAVIOR_STOP;
}

static void call_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    expect_refusal(ctx->loop, ctx->self);
}

static void call_in_fiber(jzx_context *ctx) {
    expect_refusal(ctx->loop, ctx->self);
}

static void call_in_call(jzx_loop *loop, void *arg) {
    (void)arg;
    expect_refusal(loop, JZX_NOBODY);
}

JZX_TEST(inside_a_loop_calls_that_block_are_refused) {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = call_in_turn, .cleanup = call_in_cleanup));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = call_in_fiber));
    fixture_send(loop, id, 1);
    JZX_EXPECT_EQ(jzx_loop_call(loop, call_in_call, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 4);
    JZX_EXPECT_EQ(fixture_stats(loop).spawned, 2);
    fixture_destroy(loop);
}

/* ---- starting ---- */

static struct {
    atomic_uint inits;
    atomic_uint cleanups;
    atomic_bool go;
} start;

static void start_clear(void) {
    atomic_store(&start.inits, 0);
    atomic_store(&start.cleanups, 0);
    atomic_store(&start.go, false);
}

static jzx_err init_well(jzx_context *ctx) {
    (void)ctx;
    atomic_fetch_add(&start.inits, 1);
    return JZX_OK;
}

static jzx_err init_badly(jzx_context *ctx) {
    (void)ctx;
    atomic_fetch_add(&start.inits, 1);
    return JZX_ERR_EXISTS;
}

static jzx_err init_by_exit(jzx_context *ctx) {
    atomic_fetch_add(&start.inits, 1);
    jzx_exit(ctx, JZX_EXIT_FAIL, "no");
}

static jzx_err init_slowly(jzx_context *ctx) {
    (void)ctx;
    atomic_fetch_add(&start.inits, 1);
    while (!atomic_load(&start.go))
        sched_yield();
    return JZX_OK;
}

static void count_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    atomic_fetch_add(&start.cleanups, 1);
}

static jzx_behavior_result ignore_all(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

static void receive_one(jzx_context *ctx) {
    jzx_message msg;
    jzx_receive(ctx, JZX_NEVER, &msg);
}

static void expect_start(jzx_init_fn init, jzx_fiber_fn fiber, jzx_err expected) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_actor_info info = {.size = sizeof info};
    start_clear();
    jzx_err err =
        jzx_spawn_wait(office.loop,
                       &JZX_SPAWN_OPTS(.behavior = fiber == NULL ? ignore_all : NULL,
                                       .fiber = fiber, .init = init, .cleanup = count_cleanup),
                       JZX_NEVER, &id);
    JZX_EXPECT_EQ(err, expected);
    JZX_EXPECT_EQ(atomic_load(&start.inits), init != NULL);
    JZX_EXPECT_EQ(atomic_load(&start.cleanups), expected != JZX_OK);
    JZX_EXPECT_EQ(id != JZX_NOBODY, expected == JZX_OK);
    if (expected != JZX_OK)
        return;
    JZX_EXPECT_EQ(jzx_actor_info_get(office.loop, id, &info), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(office.loop, id, JZX_STOP_KILL), JZX_OK);
    while (atomic_load(&start.cleanups) == 0)
        sched_yield();
}

JZX_TEST(a_thread_waits_until_an_actor_has_started) {
    office_open();
    expect_start(NULL, NULL, JZX_OK);
    expect_start(init_well, NULL, JZX_OK);
    expect_start(init_well, receive_one, JZX_OK);
    office_close();
}

JZX_TEST(a_thread_gets_the_error_of_an_init_and_no_actor_is_left) {
    office_open();
    expect_start(init_badly, NULL, JZX_ERR_EXISTS);
    expect_start(init_badly, receive_one, JZX_ERR_EXISTS);
    expect_start(init_by_exit, NULL, JZX_ERR_NO_SUCH_ACTOR);
    office_close();
}

static jzx_err start_slowly(uint64_t deadline_ns) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_err err = jzx_spawn_wait(
        office.loop,
        &JZX_SPAWN_OPTS(.behavior = ignore_all, .init = init_slowly, .cleanup = count_cleanup),
        deadline_ns, &id);
    JZX_EXPECT(err != JZX_OK && id == JZX_NOBODY);
    return err;
}

JZX_TEST(an_actor_that_does_not_start_in_time_is_killed) {
    office_make(&JZX_CONFIG(.workers = 1));
    start_clear();
    JZX_EXPECT_EQ(start_slowly(soon()), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_loop_step(office.loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(atomic_load(&start.inits), 0); /* nor does it start later */
    JZX_EXPECT_EQ(atomic_load(&start.cleanups), 1);
    office_run();
    JZX_EXPECT_EQ(start_slowly(soon()), JZX_ERR_TIMEOUT); /* perhaps in the middle of its init */
    atomic_store(&start.go, true);
    office_close();
    JZX_EXPECT_EQ(atomic_load(&start.cleanups), 2);
}

static void *start_in_thread(void *arg) {
    *(jzx_err *)arg = start_slowly(JZX_NEVER);
    return NULL;
}

JZX_TEST(a_loop_that_ends_lets_threads_go_that_wait_for_a_start) {
    pthread_t thread;
    jzx_err err = JZX_OK;
    office_make(&JZX_CONFIG(.workers = 1));
    start_clear();
    assert_int_equal(pthread_create(&thread, NULL, start_in_thread, &err), 0);
    await_spawned(2);
    fixture_destroy(office.loop);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(err, JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(atomic_load(&start.inits), 0);
    JZX_EXPECT_EQ(atomic_load(&start.cleanups), 1);
}

/* ---- without memory ---- */

static void fail_each(uint64_t failures) {
    for (uint64_t n = 0;; n++) {
        jzx_actor_id id = JZX_NOBODY;
        char data[300] = {0};
        office_open();
        JZX_EXPECT_EQ(
            jzx_spawn_wait(office.loop, &JZX_SPAWN_OPTS(.behavior = ignore_all), JZX_NEVER, NULL),
            JZX_OK); /* the loop runs */
        uint64_t before = fixture_allocations();
        fixture_fail_allocations(n, failures);
        jzx_err called =
            jzx_call_wait(office.loop, office.desk_id, data, sizeof data, NOW, JZX_NEVER, NULL);
        jzx_err started =
            jzx_spawn_wait(office.loop, &JZX_SPAWN_OPTS(.behavior = ignore_all, .init = init_well),
                           JZX_NEVER, &id);
        fixture_fail_allocations(UINT64_MAX, 0);
        uint64_t allocated = fixture_allocations() - before;
        JZX_EXPECT(called == JZX_OK || called == JZX_ERR_NO_MEMORY);
        JZX_EXPECT(started == JZX_OK || started == JZX_ERR_NO_MEMORY);
        JZX_EXPECT_EQ(jzx_loop_request_stop(office.loop), JZX_OK);
        office_join();
        fixture_destroy(office.loop);
        JZX_EXPECT_EQ(fixture_bytes(), 0);
        if (called == JZX_OK && started == JZX_OK && allocated <= n) {
            JZX_EXPECT(n > 0);
            return;
        }
    }
}

JZX_TEST(calls_that_block_survive_that_the_nth_allocation_fails, "C17", "C+fail") {
    fail_each(1);
}

JZX_TEST(calls_that_block_survive_that_all_allocations_fail, "C17", "C+fail") {
    fail_each(UINT64_MAX);
}
