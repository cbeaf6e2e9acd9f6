/* SPDX-License-Identifier: MIT */
/* Fibers of a worker that goes on without its thread: they go on with it on another thread, in
 * every kind of wait; those that are bound to their thread wait for that. */
#include "fibering.h"

#include <jzx/ask.h>
#include <jzx/blocking.h>
#include <jzx/context.h>
#include <jzx/future.h>
#include <jzx/supervisor.h>
#include <jzx/sync.h>
#include <jzx/unix.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { BEGIN = 1, WORD, ANSWER, NEWS, GO };

/* How often each fiber waits on another thread. */
#define ROUNDS 3u

/* The same for the fibers of a test. */
static struct {
    jzx_loop *loop;
    uint16_t place; /* of all that the stuck thread holds up */
    uint32_t worker;
    jzx_actor_id plug;   /* a behaviour that blocks the thread */
    jzx_actor_id helper; /* a behaviour on the other worker */
    pthread_t thread;    /* the one that is blocked */
    sem_t free;          /* ends that */
    _Atomic bool is_stuck;
    _Atomic uint32_t to_begin; /* fibers that have not waited yet */
    _Atomic uint32_t to_end;   /* and that have not waited on another thread */
} stage;

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

/* The address of the calling thread's descriptor, read afresh. */
static __attribute__((noinline)) bool is_on_stuck_thread(void) {
    return pthread_equal(stage.thread, pthread_self()) != 0;
}

/* Blocks its thread until all fibers of its worker have done what they can. */
static jzx_behavior_result plug(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    stage.thread = pthread_self();
    atomic_store(&stage.is_stuck, true);
    wait_for(&stage.free);
    atomic_store(&stage.is_stuck, false);
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    return JZX_BEHAVIOR_STOP;
}

/* A machine that holds this thread up may have cost it its worker. */
static void expect_own_worker(void) {
    uint32_t worker = jzx_current_worker();
    JZX_EXPECT(worker == stage.worker || worker == JZX_NONE);
}

/* ---- the waits ---- */

/* A message to the helper. */
struct order {
    enum { SEND, RELEASE, FILL, RESOLVE, WRITE } what;
    void *object;
    jzx_stream stream;
};

static jzx_behavior_result help(jzx_context *ctx, const jzx_message *msg) {
    struct order order;
    uint64_t number = 7;
    if (msg->tag == JZX_TAG_STOP || msg->tag == GO)
        return JZX_BEHAVIOR_STOP;
    if (msg->tag == ANSWER) {
        JZX_EXPECT_EQ(jzx_reply(ctx, msg, &number, sizeof number, ANSWER), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    memcpy(&order, msg->data, sizeof order);
    switch (order.what) {
    case SEND: send_number(ctx->loop, msg->sender, ctx->self, number, NEWS); break;
    case RELEASE: JZX_EXPECT_EQ(jzx_semaphore_release(ctx, order.object, 1), JZX_OK); break;
    case FILL: JZX_EXPECT_EQ(jzx_channel_try_send(order.object, &number), JZX_OK); break;
    case RESOLVE: JZX_EXPECT_EQ(jzx_promise_resolve(order.object, &number), JZX_OK); break;
    case WRITE: JZX_EXPECT_EQ(jzx_stream_send(ctx, order.stream, "x", 1), JZX_OK); break;
    }
    return JZX_BEHAVIOR_OK;
}

static void ask_for(jzx_context *ctx, const struct order *order) {
    JZX_EXPECT_EQ(jzx_send(ctx->loop, stage.helper, ctx->self, order, sizeof *order, WORD), JZX_OK);
}

static void wait_for_message(jzx_context *ctx) {
    jzx_message msg;
    ask_for(ctx, &(struct order){.what = SEND});
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, NEWS, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(number_of(&msg), 7);
}

static void wait_for_deadline(jzx_context *ctx) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive(ctx, jzx_in(ctx, JZX_US(300)), &msg), JZX_ERR_TIMEOUT);
}

static void wait_for_time(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_US(300))), JZX_OK);
}

static void wait_for_turn(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
}

static void wait_for_answer(jzx_context *ctx) {
    jzx_message answer;
    JZX_EXPECT_EQ(jzx_call(ctx, stage.helper, NULL, 0, ANSWER, JZX_NEVER, &answer), JZX_OK);
    JZX_EXPECT_EQ(number_of(&answer), 7);
}

static void return_at_once(jzx_context *ctx) {
    (void)ctx;
}

static void wait_for_end(jzx_context *ctx) {
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = return_at_once, .place = stage.place));
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
}

static void wait_for_permit(jzx_context *ctx) {
    jzx_semaphore semaphore;
    JZX_EXPECT_EQ(jzx_semaphore_init(ctx->loop, &semaphore, 0, 1), JZX_OK);
    ask_for(ctx, &(struct order){.what = RELEASE, .object = &semaphore});
    JZX_EXPECT_EQ(jzx_semaphore_acquire(ctx, &semaphore, 1, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_forget(ctx, &semaphore, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_deinit(&semaphore), JZX_OK);
}

static void wait_for_value(jzx_context *ctx) {
    jzx_channel channel;
    uint64_t number = 0;
    JZX_EXPECT_EQ(jzx_channel_init(ctx->loop, &channel, 1, sizeof number), JZX_OK);
    ask_for(ctx, &(struct order){.what = FILL, .object = &channel});
    JZX_EXPECT_EQ(jzx_channel_receive(ctx, &channel, JZX_NEVER, &number), JZX_OK);
    JZX_EXPECT_EQ(number, 7);
    JZX_EXPECT_EQ(jzx_channel_deinit(&channel), JZX_OK);
}

static void wait_for_future(jzx_context *ctx) {
    jzx_promise *promise;
    jzx_future *future;
    uint64_t number = 0;
    JZX_EXPECT_EQ(jzx_promise_create(ctx->loop, sizeof number, &promise, &future), JZX_OK);
    ask_for(ctx, &(struct order){.what = RESOLVE, .object = promise});
    JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, &number), JZX_OK);
    JZX_EXPECT_EQ(number, 7);
    jzx_future_release(future);
}

static void wait_for_bytes(jzx_context *ctx) {
    jzx_stream pair[2];
    char byte = 0;
    size_t len = 0;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    for (int i = 0; i < 2; i++) {
        ask_for(ctx, &(struct order){.what = WRITE, .stream = pair[1]});
        JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], &byte, 1, JZX_NEVER, &len), JZX_OK);
        JZX_EXPECT_EQ(byte, 'x');
    }
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[1]), JZX_OK);
}

static jzx_err note_job(void *arg) {
    ++*(uint32_t *)arg;
    return JZX_OK;
}

static void wait_for_job(jzx_context *ctx) {
    uint32_t calls = 0;
    JZX_EXPECT_EQ(jzx_blocking(ctx, note_job, &calls, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(calls, 1);
}

static void (*const waits[])(jzx_context *ctx) = {
    wait_for_message, wait_for_deadline, wait_for_time,   wait_for_turn,
    wait_for_answer,  wait_for_end,      wait_for_permit, wait_for_value,
    wait_for_future,  wait_for_bytes,    wait_for_job,
};

/* ---- fibers that go on ---- */

static void note_begun(jzx_context *ctx) {
    if (atomic_fetch_sub(&stage.to_begin, 1) == 1)
        send_number(ctx->loop, stage.plug, ctx->self, 0, GO);
}

static void note_end(jzx_context *ctx) {
    if (atomic_fetch_sub(&stage.to_end, 1) != 1)
        return;
    fixture_send(ctx->loop, stage.helper, GO);
    sem_post(&stage.free);
}

/* Waits on the thread that it has begun on, and so often when that is stuck, which is until all
 * have done so: a fiber that stayed behind would hold up the test for ever. */
static void wait_on(jzx_context *ctx) {
    void (*wait)(jzx_context * ctx) = *(void (*const *)(jzx_context *))ctx->state;
    bool has_begun = false;
    for (uint32_t stuck = 0; stuck < ROUNDS;) {
        wait(ctx);
        expect_own_worker();
        JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
        JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_FIBER);
        if (!has_begun)
            note_begun(ctx);
        has_begun = true;
        if (atomic_load(&stage.is_stuck)) {
            jzx_test_ran();
            stuck++;
            JZX_EXPECT(!is_on_stuck_thread());
        }
    }
    note_end(ctx);
}

/* Without stealing: a fiber that does not go on by itself waits. */
static void set_stage(uint32_t worker, uint32_t fibers) {
    stage.loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(2), .balance = JZX_BALANCE_NONE));
    assert_non_null(stage.loop);
    sem_init(&stage.free, 0, 0);
    stage.worker = worker;
    stage.place = JZX_PLACE_WORKER(worker);
    stage.to_begin = fibers;
    stage.to_end = fibers;
    stage.plug = fixture_spawn(stage.loop, &JZX_SPAWN_OPTS(.behavior = plug, .place = stage.place));
    stage.helper = fixture_spawn(
        stage.loop, &JZX_SPAWN_OPTS(.behavior = help, .place = JZX_PLACE_WORKER(1 - worker)));
}

static void run_stage(void) {
    assert_int_equal(jzx_loop_run(stage.loop), JZX_OK);
    assert_true(fixture_stats(stage.loop).handovers >= 1);
    fixture_destroy(stage.loop);
    sem_destroy(&stage.free);
}

JZX_TEST(fibers_go_on_on_another_thread_while_theirs_is_stuck, "E17") {
    enum { KINDS = sizeof waits / sizeof waits[0], EACH = 3 };
    for (uint32_t worker = 0; worker < 2; worker++) {
        uint64_t before = jzx_test_runs();
        set_stage(worker, EACH * KINDS);
        for (uint32_t i = 0; i < EACH * KINDS; i++)
            fixture_spawn(stage.loop, &JZX_SPAWN_OPTS(.fiber = wait_on,
                                                      .state = (void *)(uintptr_t)&waits[i % KINDS],
                                                      .place = stage.place));
        run_stage();
        assert_int_equal(jzx_test_runs() - before, EACH * KINDS * ROUNDS);
    }
}

/* ---- and such that wait for their thread ---- */

/* Gets a message while its thread is stuck. */
static void stay(jzx_context *ctx) {
    jzx_message msg;
    pthread_t thread = pthread_self();
    note_begun(ctx);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT(pthread_equal(thread, pthread_self()));
    JZX_EXPECT(!atomic_load(&stage.is_stuck));
    jzx_test_ran();
}

/* Writes to one that stays, while the thread is stuck, and lets others have many turns. */
static void go_on(jzx_context *ctx) {
    const jzx_actor_id *bound = ctx->state;
    jzx_actor_id id = *bound;
    note_begun(ctx);
    while (!atomic_load(&stage.is_stuck))
        wait_for_turn(ctx);
    if (id == JZX_NOBODY)
        JZX_EXPECT_EQ(jzx_lookup(ctx->loop, "bound", &id), JZX_OK);
    fixture_send(ctx->loop, id, NEWS);
    for (int i = 0; i < 20; i++)
        wait_for_turn(ctx);
    JZX_EXPECT(!is_on_stuck_thread());
    jzx_test_ran();
    note_end(ctx);
}

static void hold_up(uint32_t worker, const jzx_spawn_opts *opts) {
    jzx_actor_id bound = JZX_NOBODY;
    uint64_t before = jzx_test_runs();
    set_stage(worker, 2);
    atomic_store(&stage.to_end, 1);
    if (opts != NULL)
        bound = fixture_spawn(stage.loop, opts);
    jzx_child_spec spec = {.fiber = stay,
                           .registered = "bound",
                           .mode = JZX_TEMPORARY,
                           .place = stage.place,
                           .significant = true,
                           .thread_bound = true};
    jzx_supervisor_opts tree =
        JZX_SUPERVISOR_OPTS(.auto_shutdown = JZX_AUTO_SHUTDOWN_ANY, .children = &spec,
                            .child_count = 1, .child_size = sizeof spec);
    if (opts == NULL)
        JZX_EXPECT_EQ(jzx_spawn_supervisor(stage.loop, &tree, NULL), JZX_OK);
    fixture_spawn(stage.loop,
                  &JZX_SPAWN_OPTS(.fiber = go_on, .state = &bound, .place = stage.place));
    run_stage();
    assert_int_equal(jzx_test_runs() - before, 2);
}

JZX_TEST(a_fiber_that_is_bound_to_its_thread_waits_for_it, "E17") {
    for (uint32_t worker = 0; worker < 2; worker++) {
        hold_up(worker, &JZX_SPAWN_OPTS(.fiber = stay, .place = JZX_PLACE_WORKER(worker),
                                        .thread_bound = true));
        hold_up(worker, NULL); /* a supervised one */
    }
}

JZX_TEST(a_fiber_that_is_placed_with_the_caller_is_bound_to_its_thread) {
    hold_up(0, &JZX_SPAWN_OPTS(.fiber = stay, .place = JZX_PLACE_CALLER));
    hold_up(0, &JZX_SPAWN_OPTS(.fiber = stay, .place = JZX_PLACE_CALLER, .migratable = true));
}
