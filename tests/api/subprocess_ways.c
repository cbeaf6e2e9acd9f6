/* SPDX-License-Identifier: MIT */
/* Subprocesses by messages and as futures: what a fiber can do, a behaviour and a thread can. */
#include "subprocessing.h"

#include <jzx/future.h>

#include <pthread.h>
#include <stdatomic.h>

enum { STARTED = 1, ENDED, ENDED_AGAIN, STOPPED, DATA, REFUSED, CANCELLED };

/* ---- a behaviour ---- */

struct clerk {
    jzx_subprocess child;
    jzx_stream out;
    jzx_op refused;
    jzx_op cancelled;
    uint32_t left; /* messages to come */
    char text[16];
};

static jzx_err begin(jzx_context *ctx) {
    static const char *const none[] = {"/nowhere/program", NULL};
    struct clerk *self = ctx->state;
    self->left = 7;
    jzx_test_ran();
    JZX_EXPECT_EQ(
        jzx_subprocess_spawn_to(ctx, &JZX_SUBPROCESS_OPTS(.argv = none), REFUSED, &self->refused),
        JZX_OK);
    char script[] = "echo hello; read line; exec sleep 60";
    jzx_err err = jzx_subprocess_spawn_to(
        ctx, &JZX_SUBPROCESS_OPTS(.argv = shell(script), .input = STREAM, .output = STREAM),
        STARTED, NULL);
    memset(script, 'x', sizeof script); /* it was copied */
    return err;
}

static void on_started(jzx_context *ctx, struct clerk *self, const jzx_result *result) {
    JZX_EXPECT_EQ(result->err, JZX_OK);
    JZX_EXPECT_EQ(result->len, sizeof self->child);
    memcpy(&self->child, jzx_result_data(result), sizeof self->child);
    self->out = stream_of(ctx, self->child, 1);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, self->out, DATA, JZX_STREAM_ALWAYS), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_wait_to(ctx, self->child, ENDED, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_wait_to(ctx, self->child, ENDED_AGAIN, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_wait_to(ctx, self->child, CANCELLED, &self->cancelled), JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, self->cancelled), JZX_OK);
}

static void on_data(jzx_context *ctx, struct clerk *self, const jzx_stream_event *event) {
    if (event->kind != JZX_STREAM_DATA) {
        self->left--; /* its end */
        return;
    }
    strncat(self->text, jzx_stream_data(event), event->len);
    if (strchr(self->text, '\n') != NULL)
        JZX_EXPECT_EQ(jzx_subprocess_stop_to(ctx, self->child, SIGTERM, JZX_NEVER, STOPPED, NULL),
                      JZX_OK);
}

static jzx_behavior_result work(jzx_context *ctx, const jzx_message *msg) {
    struct clerk *self = ctx->state;
    const jzx_result *result = msg->data;
    const jzx_subprocess_status *status;
    switch (msg->tag) {
    case STARTED: on_started(ctx, self, result); break;
    case DATA: on_data(ctx, self, msg->data); return self->left == 0 ? JZX_BEHAVIOR_STOP : 0;
    case REFUSED:
        JZX_EXPECT(result->op == self->refused && result->err == JZX_ERR_NOT_FOUND);
        JZX_EXPECT_EQ(result->os_error, ENOENT);
        break;
    case CANCELLED: JZX_EXPECT_EQ(result->err, JZX_ERR_CANCELLED); break;
    default:
        status = jzx_result_data(result);
        JZX_EXPECT_EQ(result->err, JZX_OK);
        JZX_EXPECT(status->end == JZX_SUBPROCESS_KILLED && status->code == SIGTERM);
    }
    return --self->left == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(a_behaviour_starts_reads_waits_and_stops_by_messages, "C+goal") {
    static struct clerk self;
    children_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    memset(&self, 0, sizeof self);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = work, .init = begin, .state = &self));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    assert_int_equal(self.left, 0);
    assert_string_equal(self.text, "hello\n");
    fixture_destroy(loop);
    children_close();
}

/* ---- a thread that is no worker ---- */

static jzx_behavior_result own(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_STOP;
}

static jzx_err settled(jzx_err err, jzx_future *future, void *value) {
    if (err != JZX_OK)
        return err;
    err = jzx_future_wait(future, JZX_NEVER, value);
    jzx_future_release(future);
    return err;
}

static void *run_loop(void *loop) {
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    return NULL;
}

static jzx_err start_async(jzx_loop *loop, const char *const *argv, jzx_actor_id owner,
                           jzx_subprocess *child) {
    jzx_future *future;
    jzx_err err = jzx_subprocess_spawn_async(
        loop, &JZX_SUBPROCESS_OPTS(.argv = argv, .output = {.kind = JZX_STDIO_NULL}), owner,
        &future);
    return settled(err, future, child);
}

static void use_futures(jzx_loop *loop, jzx_actor_id owner) {
    static const char *const none[] = {"/nowhere/program", NULL};
    jzx_subprocess child;
    jzx_subprocess_status status = {.code = -1};
    jzx_future *futures[2];
    jzx_subprocess_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(start_async(loop, none, owner, &child), JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(start_async(loop, shell("exec sleep 60"), owner, &child), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_info_get(loop, child, &info), JZX_OK);
    JZX_EXPECT(info.owner == owner);
    JZX_EXPECT_EQ(jzx_subprocess_wait_async(loop, child, &futures[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_stop_async(loop, child, SIGUSR2, JZX_NEVER, &futures[1]), JZX_OK);
    JZX_EXPECT_EQ(settled(JZX_OK, futures[1], &status), JZX_OK);
    JZX_EXPECT_EQ(status.code, SIGUSR2);
    status.code = -1;
    JZX_EXPECT_EQ(settled(JZX_OK, futures[0], &status), JZX_OK);
    JZX_EXPECT_EQ(status.code, SIGUSR2);
    JZX_EXPECT_EQ(jzx_subprocess_close(loop, child), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_wait_async(loop, child, &futures[0]), JZX_ERR_CLOSED);
    /* One whose future goes at once is not left, whatever it had come to. */
    JZX_EXPECT_EQ(jzx_subprocess_spawn_async(loop,
                                             &JZX_SUBPROCESS_OPTS(.argv = shell("exec sleep 60")),
                                             owner, &futures[0]),
                  JZX_OK);
    jzx_future_release(futures[0]);
}

JZX_TEST(a_thread_starts_waits_and_stops_by_futures, "C+goal") {
    pthread_t thread;
    children_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    jzx_actor_id owner = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = own));
    assert_int_equal(pthread_create(&thread, NULL, run_loop, loop), 0);
    use_futures(loop, owner);
    fixture_send(loop, owner, 1);
    pthread_join(thread, NULL);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
    children_close();
}

/* ---- memory ---- */

static atomic_uint memory_failures;

/* CLOSED: the worker could not watch it. */
static void note(jzx_err err) {
    if (err != JZX_OK && JZX_EXPECT(err == JZX_ERR_NO_MEMORY || err == JZX_ERR_CLOSED))
        atomic_fetch_add(&memory_failures, 1);
}

static void play_fiber(jzx_context *ctx) {
    static const char *const yes[] = {"true", NULL};
    jzx_subprocess child;
    jzx_subprocess_status status;
    jzx_message msg;
    jzx_err err =
        jzx_subprocess_spawn(ctx,
                             &JZX_SUBPROCESS_OPTS(.argv = yes, .input = STREAM, .output = STREAM,
                                                  .stop_signal = SIGKILL),
                             JZX_NEVER, &child);
    note(err);
    if (err != JZX_OK)
        return;
    note(jzx_subprocess_stop(ctx, child, SIGCONT, jzx_in(ctx, JZX_SECOND(1000)), &status));
    err = jzx_subprocess_wait_to(ctx, child, ENDED, NULL);
    note(err);
    if (err == JZX_OK)
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, ENDED, JZX_NEVER, &msg), JZX_OK);
    jzx_test_ran();
}

static uint32_t play(uint64_t after, uint64_t count) {
    jzx_actor_id id;
    children_open();
    atomic_store(&memory_failures, 0);
    fixture_fail_allocations(after, count);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx_err err = loop == NULL ? JZX_ERR_NO_MEMORY
                               : jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = play_fiber), &id);
    note(err);
    if (err == JZX_OK)
        note(jzx_loop_run(loop));
    fixture_fail_allocations(UINT64_MAX, 0);
    if (loop != NULL)
        fixture_destroy(loop);
    children_close();
    return atomic_load(&memory_failures);
}

JZX_TEST(every_allocation_of_a_subprocess_may_fail, "C+fail") {
    for (uint64_t count = 1; count != 0; count = count == 1 ? UINT64_MAX : 0) {
        uint64_t after = 0;
        while (play(after, count) != 0 || after < 20)
            after++;
        JZX_EXPECT(after < 1000);
    }
    JZX_EXPECT(jzx_test_runs() != 0);
}
