/* SPDX-License-Identifier: MIT */
/* A loop of JZX_CONFIG_ONE_THREAD: all code of the program runs on the thread that runs the loop,
 * and the library starts no other. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/io.h>
#include <jzx/supervisor.h>
#include <jzx/timer.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { HELLO = 1, FAIL = 2, TICK = 3, LAST = 4 };

static pthread_t owner;
static atomic_uint inside; /* calls of the program's code that are under way */

/* Each piece of the program's code begins and ends with these. */
static void enter(void) {
    JZX_EXPECT(pthread_equal(pthread_self(), owner));
    JZX_EXPECT_EQ(atomic_fetch_add(&inside, 1u), 0);
    jzx_test_ran();
}

static void leave(void) {
    JZX_EXPECT_EQ(atomic_fetch_sub(&inside, 1u), 1);
}

/* An observer is also called inside other code. */
static void here(void) {
    JZX_EXPECT(pthread_equal(pthread_self(), owner));
}

struct seen {
    uint32_t starts, stops, restarts, escalations, fulls;
    uint64_t kinds; /* a bit for each kind of event */
};

static void on_start(void *ctx, jzx_actor_id id, const char *name) {
    (void)id, (void)name;
    here();
    ((struct seen *)ctx)->starts++;
}

static void on_stop(void *ctx, jzx_actor_id id, jzx_exit_reason reason) {
    (void)id, (void)reason;
    here();
    ((struct seen *)ctx)->stops++;
}

static void on_restart(void *ctx, jzx_actor_id id, uint32_t attempt) {
    (void)id, (void)attempt;
    here();
    ((struct seen *)ctx)->restarts++;
}

static void on_escalate(void *ctx, jzx_actor_id id) {
    (void)id;
    here();
    ((struct seen *)ctx)->escalations++;
}

static void on_full(void *ctx, jzx_actor_id id) {
    (void)id;
    here();
    ((struct seen *)ctx)->fulls++;
}

static void on_event(void *ctx, const jzx_event *event) {
    here();
    ((struct seen *)ctx)->kinds |= UINT64_C(1) << event->kind;
}

static const jzx_observer observer = {sizeof observer, on_start, on_stop, on_restart,
                                      on_escalate,     on_full,  on_event};

struct stage {
    int fds[2];
    jzx_actor_id small; /* has room for one message */
    uint32_t fiber_runs;
    uint32_t ticks;
    uint32_t reads;
    uint32_t calls;
};

static struct stage stage;

static jzx_err begin(jzx_context *ctx) {
    (void)ctx;
    enter();
    leave();
    return JZX_OK;
}

static void finish(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx, (void)reason;
    enter();
    leave();
}

static jzx_behavior_result fail_once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    enter();
    leave();
    return msg->tag == FAIL ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result take_one(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    enter();
    leave();
    return JZX_BEHAVIOR_STOP;
}

static void fiber(jzx_context *ctx) {
    enter();
    leave();
    JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(1))), JZX_OK);
    enter();
    stage.fiber_runs++;
    leave();
}

static void called(jzx_loop *loop, void *ctx) {
    (void)loop, (void)ctx;
    enter();
    stage.calls++;
    leave();
}

static jzx_behavior_result lead(jzx_context *ctx, const jzx_message *msg) {
    jzx_timer_id timer;
    enter();
    switch (msg->tag) {
    case HELLO:
        JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, stage.fds[0], ctx->self, JZX_IO_READ, 0), JZX_OK);
        JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, ctx->self, NULL, 0, TICK, 1, &timer),
                      JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_call(ctx->loop, called, NULL), JZX_OK);
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = fiber, .cleanup = finish));
        JZX_EXPECT_EQ(jzx_send(ctx->loop, stage.small, ctx->self, NULL, 0, HELLO), JZX_OK);
        JZX_EXPECT_EQ(jzx_send(ctx->loop, stage.small, ctx->self, NULL, 0, HELLO),
                      JZX_ERR_MAILBOX_FULL);
        break;
    case TICK:
        stage.ticks++;
        JZX_EXPECT_EQ(write(stage.fds[1], "x", 1), 1);
        break;
    case JZX_TAG_IO: stage.reads++; break;
    default: break;
    }
    leave();
    return stage.reads != 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(all_code_runs_on_the_thread_that_runs_the_loop_and_no_other_starts, "X39", "C7", "C14",
         "C15", "C+goal") {
    struct seen seen = {0};
    jzx_child_spec children[] = {
        {.name = "c", .behavior = fail_once, .registered = "c", .mode = JZX_TRANSIENT}};
    uint64_t threads = jzx_test_threads();
    owner = pthread_self();
    stage = (struct stage){.calls = 0};
    assert_int_equal(pipe(stage.fds), 0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG_ONE_THREAD(.log.level = JZX_LOG_OFF));
    JZX_EXPECT_EQ(jzx_loop_workers(loop), 1);
    JZX_EXPECT_EQ(jzx_loop_set_observer(loop, &observer, &seen), JZX_OK);
    stage.small =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = take_one, .mailbox_cap = 1, .init = begin));
    jzx_actor_id leader =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = lead, .init = begin, .cleanup = finish));
    JZX_EXPECT_EQ(jzx_spawn_supervisor(loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(children)), NULL),
                  JZX_OK);
    fixture_send(loop, leader, HELLO);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_actor_id child = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_lookup(loop, "c", &child), JZX_OK);
    fixture_send(loop, child, FAIL);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    while (seen.restarts == 0 || stage.reads == 0 || stage.fiber_runs == 0)
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_stop(loop, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);

    JZX_EXPECT_EQ(stage.calls, 1);
    JZX_EXPECT_EQ(stage.ticks, 1);
    JZX_EXPECT_EQ(stage.reads, 1);
    JZX_EXPECT_EQ(seen.starts, seen.stops);
    JZX_EXPECT_EQ(seen.restarts, 1);
    JZX_EXPECT_EQ(seen.fulls, 1);
    JZX_EXPECT(jzx_test_runs() >= 10);
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
    const uint64_t wanted =
        UINT64_C(1) << JZX_EVENT_LOOP_START | UINT64_C(1) << JZX_EVENT_LOOP_STOP |
        UINT64_C(1) << JZX_EVENT_ACTOR_START | UINT64_C(1) << JZX_EVENT_ACTOR_STOP |
        UINT64_C(1) << JZX_EVENT_ACTOR_FAIL | UINT64_C(1) << JZX_EVENT_ACTOR_RESTART |
        UINT64_C(1) << JZX_EVENT_MAILBOX_FULL;
    JZX_EXPECT_EQ(seen.kinds & wanted, wanted);
    JZX_EXPECT_EQ(jzx_test_threads(), threads);
    close(stage.fds[0]);
    close(stage.fds[1]);
}

/* ---- the owner ---- */

struct intruder {
    jzx_loop *loop;
    jzx_actor_id id;
    jzx_err run, step, destroy, observe;
};

/* Calls of the owner alone, while the owner is in the loop. */
static void *intrude(void *arg) {
    struct intruder *intruder = arg;
    intruder->run = jzx_loop_run(intruder->loop);
    intruder->step = jzx_loop_step(intruder->loop, JZX_NEVER);
    intruder->destroy = jzx_loop_destroy(intruder->loop);
    intruder->observe = jzx_loop_set_observer(intruder->loop, &observer, NULL);
    return NULL;
}

static jzx_behavior_result let_intrude(jzx_context *ctx, const jzx_message *msg) {
    struct intruder *intruder = ctx->state;
    pthread_t thread;
    (void)msg;
    enter();
    if (JZX_EXPECT_EQ(pthread_create(&thread, NULL, intrude, intruder), 0))
        pthread_join(thread, NULL);
    leave();
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(while_its_owner_runs_a_loop_other_threads_can_not, "C7", "X16", "X39") {
    struct intruder intruder = {.run = JZX_OK};
    owner = pthread_self();
    intruder.loop = fixture_loop_with(&JZX_CONFIG_ONE_THREAD(.max_actors = 10));
    intruder.id =
        fixture_spawn(intruder.loop, &JZX_SPAWN_OPTS(.behavior = let_intrude, .state = &intruder));
    fixture_send(intruder.loop, intruder.id, HELLO);
    JZX_EXPECT_EQ(jzx_loop_run(intruder.loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(intruder.run, JZX_ERR_BUSY);
    JZX_EXPECT_EQ(intruder.step, JZX_ERR_BUSY);
    JZX_EXPECT_EQ(intruder.destroy, JZX_ERR_BUSY);
    JZX_EXPECT_EQ(intruder.observe, JZX_ERR_BUSY);
    fixture_destroy(intruder.loop);
}

/* ---- foreign sends ---- */

struct order {
    uint32_t tags[600];
    jzx_actor_id senders[600];
    uint32_t count;
};

static jzx_behavior_result note_order(jzx_context *ctx, const jzx_message *msg) {
    struct order *order = ctx->state;
    enter();
    order->tags[order->count] = msg->tag;
    order->senders[order->count++] = msg->sender;
    leave();
    return JZX_BEHAVIOR_OK;
}

static void *send_many(void *arg) {
    const struct intruder *intruder = arg;
    for (uint32_t i = 0; i < 512; i++)
        JZX_EXPECT_EQ(jzx_send_async(intruder->loop, intruder->id, NULL, 0, i), JZX_OK);
    return NULL;
}

JZX_TEST(what_another_thread_sent_is_handled_by_the_owner_in_order_and_without_a_sender, "C8", "C9",
         "X16", "X39") {
    struct order order = {.count = 0};
    struct intruder intruder = {.run = JZX_OK};
    pthread_t thread;
    owner = pthread_self();
    intruder.loop = fixture_loop_with(&JZX_CONFIG_ONE_THREAD());
    intruder.id =
        fixture_spawn(intruder.loop, &JZX_SPAWN_OPTS(.behavior = note_order, .state = &order));
    assert_int_equal(pthread_create(&thread, NULL, send_many, &intruder), 0);
    pthread_join(thread, NULL);
    JZX_EXPECT_EQ(jzx_loop_step(intruder.loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(order.count, 512);
    for (uint32_t i = 0; i < order.count; i++) {
        JZX_EXPECT_EQ(order.tags[i], i);
        JZX_EXPECT_EQ(order.senders[i], JZX_NOBODY);
    }
    fixture_destroy(intruder.loop);
}

JZX_TEST(the_bound_of_actors_is_exact, "C2", "C4", "X39") {
    static const jzx_behavior_fn behavior = note_order;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG_ONE_THREAD(.max_actors = 3));
    jzx_actor_id id = JZX_NOBODY;
    for (uint32_t i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = behavior), &id), JZX_OK);
        JZX_EXPECT_EQ(jzx_id_index(id), i);
        JZX_EXPECT_EQ(jzx_id_generation(id), 1);
    }
    JZX_EXPECT_EQ(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = behavior), NULL), JZX_ERR_MAX_ACTORS);
    fixture_destroy(loop);
}

JZX_TEST(the_function_and_the_macro_set_the_same, "X39", "C16") {
    jzx_config config;
    jzx_config plain;
    assert_int_equal(jzx_config_init_one_thread(&config, sizeof config), JZX_OK);
    assert_int_equal(jzx_config_init(&plain, sizeof plain), JZX_OK);
    const jzx_config macro = JZX_CONFIG_ONE_THREAD();
    JZX_EXPECT_EQ(config.workers, 1);
    JZX_EXPECT_EQ(config.workers, macro.workers);
    JZX_EXPECT_EQ(config.balance, macro.balance);
    JZX_EXPECT_EQ(config.spare_threads_max, macro.spare_threads_max);
    JZX_EXPECT(config.relieve_after_ns == macro.relieve_after_ns);
    JZX_EXPECT_EQ(config.default_mailbox_cap, plain.default_mailbox_cap);
    JZX_EXPECT_EQ(jzx_config_check(&config, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_config_check(&macro, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_config_init_one_thread(NULL, sizeof config), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_config_init_one_thread(&config, 0), JZX_ERR_INVALID_ARG);
}
