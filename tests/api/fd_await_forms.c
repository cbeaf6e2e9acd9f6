/* SPDX-License-Identifier: MIT */
/* The readiness of a descriptor by a message, by a future and in an async function. */
#include "awaiting_fd.h"

#include <jzx/async.h>

/* ---- by a message ---- */

/* The state of an actor that begins a wait for each message, and writes the results down. */
struct asker {
    const struct scene *scene;
    uint32_t interest;
    uint64_t deadline_ns;
    int fd;
    jzx_err begun;
    jzx_op op;
    uint32_t results;
    uint32_t tag;
    jzx_result last;
    uint32_t ready;
};

enum { BEGIN = 1, READY, CANCEL };

static jzx_behavior_result ask_for_it(jzx_context *ctx, const jzx_message *msg) {
    struct asker *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == BEGIN) {
        self->begun =
            jzx_fd_await_to(ctx, self->fd, self->interest, self->deadline_ns, READY, &self->op);
        return JZX_BEHAVIOR_OK;
    }
    if (msg->tag == CANCEL) {
        self->begun = jzx_op_cancel(ctx->loop, self->op);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_result *result = msg->data;
    self->tag = msg->tag;
    self->last = *result;
    self->ready = UNTOUCHED;
    if (JZX_EXPECT_EQ(result->len, result->err == JZX_OK ? sizeof self->ready : 0) &&
        result->err == JZX_OK)
        memcpy(&self->ready, jzx_result_data(result), sizeof self->ready);
    self->results++;
    return JZX_BEHAVIOR_OK;
}

static jzx_actor_id open_asker(struct scene *scene, struct asker *asker, uint64_t deadline_ns) {
    open_scene(scene);
    *asker = (struct asker){
        .scene = scene, .interest = JZX_IO_READ, .fd = scene->fds[0], .deadline_ns = deadline_ns};
    return fixture_spawn(scene->loop, &JZX_SPAWN_OPTS(.behavior = ask_for_it, .state = asker));
}

static void order(const struct scene *scene, jzx_actor_id id, uint32_t tag) {
    fixture_send(scene->loop, id, tag);
    step(scene);
}

static void expect_result(const struct asker *asker, uint32_t results, jzx_err err,
                          uint32_t ready) {
    JZX_EXPECT_EQ(asker->results, results);
    JZX_EXPECT_EQ(asker->last.err, err);
    JZX_EXPECT_EQ(asker->ready, ready);
    JZX_EXPECT_EQ(asker->tag, READY);
    JZX_EXPECT_EQ(asker->last.op, asker->op);
}

JZX_TEST(readiness_comes_as_one_message, "E53", "E54", "X40") {
    struct scene scene;
    struct asker asker;
    jzx_actor_id id = open_asker(&scene, &asker, JZX_NEVER);
    order(&scene, id, BEGIN);
    JZX_EXPECT_EQ(asker.begun, JZX_OK);
    JZX_EXPECT(asker.op != JZX_NO_OP);
    JZX_EXPECT_EQ(asker.results, 0);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    step(&scene);
    expect_result(&asker, 1, JZX_OK, JZX_IO_READ);
    order(&scene, id, BEGIN); /* it is ready already */
    expect_result(&asker, 2, JZX_OK, JZX_IO_READ);
    step(&scene);
    JZX_EXPECT_EQ(asker.results, 2);
    close_scene(&scene);
}

JZX_TEST(a_cancelled_wait_completes_once_and_consumes_nothing, "X40") {
    struct scene scene;
    struct asker asker;
    jzx_actor_id id = open_asker(&scene, &asker, JZX_NEVER);
    order(&scene, id, BEGIN);
    order(&scene, id, CANCEL);
    JZX_EXPECT_EQ(asker.begun, JZX_OK);
    expect_result(&asker, 1, JZX_ERR_CANCELLED, UNTOUCHED);
    JZX_EXPECT_EQ(asker.last.os_error, 0);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    JZX_EXPECT_EQ(asker.results, 1);
    JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, asker.op), JZX_ERR_NO_SUCH_OP);
    close_scene(&scene);
}

JZX_TEST(a_cancel_from_another_thread_ends_the_wait, "X40") {
    struct scene scene;
    struct asker asker;
    jzx_actor_id id = open_asker(&scene, &asker, JZX_NEVER);
    order(&scene, id, BEGIN);
    JZX_EXPECT_EQ(jzx_op_cancel(scene.loop, asker.op), JZX_OK); /* drives no worker of the loop */
    close_pipe(scene.fds);                                      /* it is complete */
    step(&scene);
    expect_result(&asker, 1, JZX_ERR_CANCELLED, UNTOUCHED);
    close_scene(&scene);
}

JZX_TEST(deadlines_of_messages_pass_in_their_order, "X40") {
    struct scene scene;
    struct asker askers[3];
    jzx_actor_id ids[3];
    static const uint64_t deadlines[3] = {JZX_MS(20), JZX_MS(30), JZX_MS(10)};
    ids[0] = open_asker(&scene, &askers[0], deadlines[0]);
    for (int i = 1; i < 3; i++) {
        askers[i] = askers[0];
        askers[i].deadline_ns = deadlines[i];
        ids[i] =
            fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = ask_for_it, .state = &askers[i]));
    }
    for (int i = 0; i < 3; i++)
        order(&scene, ids[i], BEGIN);
    advance(&scene, JZX_MS(9));
    JZX_EXPECT_EQ(askers[0].results + askers[1].results + askers[2].results, 0);
    advance(&scene, JZX_MS(1));
    expect_result(&askers[2], 1, JZX_ERR_TIMEOUT, UNTOUCHED);
    JZX_EXPECT_EQ(askers[0].results + askers[1].results, 0);
    advance(&scene, JZX_MS(10));
    expect_result(&askers[0], 1, JZX_ERR_TIMEOUT, UNTOUCHED);
    JZX_EXPECT_EQ(askers[1].results, 0);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    step(&scene);
    expect_result(&askers[1], 1, JZX_OK, JZX_IO_READ);
    JZX_EXPECT_EQ(jzx_loop_next_deadline(scene.loop), JZX_NEVER); /* no timer is left */
    advance(&scene, JZX_MS(10));
    JZX_EXPECT_EQ(askers[1].results, 1);
    close_scene(&scene);
}

JZX_TEST(deadline_0_of_a_message_looks_and_does_not_wait, "X40") {
    struct scene scene;
    struct asker asker;
    jzx_actor_id id = open_asker(&scene, &asker, 0);
    order(&scene, id, BEGIN);
    expect_result(&asker, 1, JZX_ERR_TIMEOUT, UNTOUCHED);
    put_bytes(scene.fds[1], 1);
    order(&scene, id, BEGIN);
    expect_result(&asker, 2, JZX_OK, JZX_IO_READ);
    close_scene(&scene);
}

JZX_TEST(an_error_of_the_descriptor_comes_with_the_message, "E54", "X40") {
    struct scene scene;
    struct asker asker;
    jzx_actor_id id = open_asker(&scene, &asker, JZX_NEVER);
    asker.fd = BAD_FD;
    order(&scene, id, BEGIN);
    JZX_EXPECT_EQ(asker.begun, JZX_OK);
    expect_result(&asker, 1, JZX_ERR_CLOSED, UNTOUCHED);
    JZX_EXPECT_EQ(asker.last.os_error, EBADF);
    asker.fd = open("/", O_RDONLY);
    order(&scene, id, BEGIN);
    expect_result(&asker, 2, JZX_ERR_IO_REG_FAILED, UNTOUCHED);
    JZX_EXPECT_EQ(asker.last.os_error, EPERM);
    close(asker.fd);
    asker.interest = 0;
    order(&scene, id, BEGIN);
    JZX_EXPECT_EQ(asker.begun, JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(asker.results, 2);
    JZX_EXPECT_EQ(jzx_fd_await_to(NULL, scene.fds[0], JZX_IO_READ, 0, READY, NULL),
                  JZX_ERR_INVALID_ARG);
    close_scene(&scene);
}

/* ---- by a future, from a thread that drives no worker ---- */

static jzx_future *await_async(const struct scene *scene, int fd, uint64_t deadline_ns) {
    jzx_future *future = NULL;
    JZX_EXPECT_EQ(jzx_fd_await_async(scene->loop, fd, JZX_IO_READ, deadline_ns, &future), JZX_OK);
    assert_non_null(future);
    return future;
}

static void expect_settled(jzx_future *future, jzx_err err, uint32_t ready) {
    uint32_t value = UNTOUCHED;
    JZX_EXPECT_EQ(jzx_future_try(future, &value), err);
    JZX_EXPECT_EQ(value, ready);
    jzx_future_release(future);
}

JZX_TEST(a_thread_without_a_worker_gets_a_future, "E53", "E54", "X40") {
    struct scene scene;
    open_scene(&scene);
    jzx_future *future = await_async(&scene, scene.fds[0], JZX_NEVER);
    step(&scene);
    JZX_EXPECT_EQ(jzx_future_try(future, NULL), JZX_ERR_TIMEOUT);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    expect_settled(future, JZX_OK, JZX_IO_READ);
    future = await_async(&scene, scene.fds[0], JZX_NEVER);
    expect_settled(future, JZX_OK, JZX_IO_READ); /* at once, on this thread */
    close_scene(&scene);
}

JZX_TEST(what_is_wrong_with_the_descriptor_rejects_the_future, "E54", "X40") {
    struct scene scene;
    jzx_future *none = NULL;
    open_scene(&scene);
    expect_settled(await_async(&scene, BAD_FD, JZX_NEVER), JZX_ERR_CLOSED, UNTOUCHED);
    expect_settled(await_async(&scene, scene.fds[0], 0), JZX_ERR_TIMEOUT, UNTOUCHED);
    /* The first wait has the loop open its descriptors: none of them gets the number. */
    jzx_future *other = await_async(&scene, scene.fds[0], JZX_NEVER);
    step(&scene);
    jzx_future_release(other);
    jzx_future *closed = await_async(&scene, scene.fds[0], JZX_NEVER);
    close_pipe(scene.fds); /* before the worker has heard of the wait */
    step(&scene);
    expect_settled(closed, JZX_ERR_CLOSED, UNTOUCHED);
    JZX_EXPECT_EQ(jzx_fd_await_async(NULL, 0, JZX_IO_READ, 0, &none), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_fd_await_async(scene.loop, 0, JZX_IO_READ, 0, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_fd_await_async(scene.loop, 0, 64, 0, &none), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(none == NULL);
    close_scene(&scene);
}

JZX_TEST(a_cancel_of_the_future_ends_the_wait, "X40") {
    for (int arrived = 0; arrived < 2; arrived++) {
        struct scene scene;
        open_scene(&scene);
        jzx_future *future = await_async(&scene, scene.fds[0], JZX_SECOND(1));
        if (arrived)
            step(&scene);
        jzx_future_cancel(future);
        step(&scene);
        expect_settled(future, JZX_ERR_CANCELLED, UNTOUCHED);
        future = await_async(&scene, scene.fds[0], JZX_SECOND(1));
        if (arrived)
            step(&scene);
        jzx_future_release(future); /* nobody wants it any more */
        step(&scene);
        put_bytes(scene.fds[1], 1);
        advance(&scene, JZX_SECOND(2));
        close_scene(&scene);
    }
}

JZX_TEST(a_future_times_out, "X40") {
    struct scene scene;
    open_scene(&scene);
    jzx_future *future = await_async(&scene, scene.fds[0], JZX_MS(10));
    step(&scene);
    advance(&scene, JZX_MS(9));
    JZX_EXPECT_EQ(jzx_future_try(future, NULL), JZX_ERR_TIMEOUT);
    advance(&scene, JZX_MS(1));
    expect_settled(future, JZX_ERR_TIMEOUT, UNTOUCHED);
    close_scene(&scene);
}

JZX_TEST(the_end_of_the_loop_rejects_the_futures, "X40") {
    struct scene scene;
    open_scene(&scene);
    jzx_future *early = await_async(&scene, scene.fds[0], JZX_SECOND(1));
    step(&scene);
    jzx_future *late = await_async(&scene, scene.fds[0], JZX_NEVER); /* on its way */
    fixture_destroy(scene.loop);
    expect_settled(early, JZX_ERR_LOOP_CLOSED, UNTOUCHED);
    expect_settled(late, JZX_ERR_LOOP_CLOSED, UNTOUCHED);
    scene.loop = NULL;
    JZX_EXPECT_EQ(jzx_clock_free(scene.clock), JZX_OK);
    close_pipe(scene.fds);
    JZX_EXPECT_EQ(descriptors_open(), scene.open_before);
}

/* ---- in an async function ---- */

struct reader {
    int fd;
    uint32_t rounds;
    uint32_t count;
    uint32_t ready;
    uint64_t deadline_ns;
    jzx_await_op op;
};

/* NULL: the await fails without memory. */
static jzx_future *readable(jzx_context *ctx, const struct reader *self) {
    jzx_future *future = NULL;
    (void)jzx_fd_await_async(ctx->loop, self->fd, JZX_IO_READ, self->deadline_ns, &future);
    return future;
}

JZX_ASYNC(reader, struct reader, uint32_t) {
    jzx_test_ran();
    while (self->count < self->rounds) {
        char byte;
        JZX_AWAIT(jzx_op_consume(&self->op, readable(ctx, self), JZX_NEVER), &self->ready);
        JZX_EXPECT_EQ(self->ready, JZX_IO_READ);
        JZX_EXPECT_EQ(read(self->fd, &byte, 1), 1);
        self->count++;
    }
    JZX_RETURN(self->count);
}
JZX_END

JZX_TEST(an_async_function_awaits_a_descriptor, "E53", "E54", "X40") {
    struct scene scene;
    jzx_future *future = NULL;
    open_scene(&scene);
    JZX_EXPECT_EQ(
        reader_spawn(scene.loop,
                     (struct reader){.fd = scene.fds[0], .rounds = 3, .deadline_ns = JZX_NEVER},
                     &future),
        JZX_OK);
    put_bytes(scene.fds[1], 2); /* the first two waits find it ready */
    step(&scene);
    JZX_EXPECT_EQ(jzx_future_try(future, NULL), JZX_ERR_TIMEOUT);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    step(&scene);
    expect_settled(future, JZX_OK, 3);
    close_scene(&scene);
}

JZX_TEST(the_error_of_a_wait_ends_an_async_function, "E54", "X40") {
    struct scene scene;
    jzx_future *future = NULL;
    open_scene(&scene);
    JZX_EXPECT_EQ(
        reader_spawn(scene.loop,
                     (struct reader){.fd = scene.fds[0], .rounds = 1, .deadline_ns = JZX_MS(5)},
                     &future),
        JZX_OK);
    step(&scene);
    advance(&scene, JZX_MS(5));
    expect_settled(future, JZX_ERR_TIMEOUT, UNTOUCHED);
    close_scene(&scene);
}

JZX_TEST(an_async_function_that_is_cancelled_gives_its_wait_up, "X40") {
    struct scene scene;
    jzx_future *future = NULL;
    open_scene(&scene);
    JZX_EXPECT_EQ(
        reader_spawn(scene.loop,
                     (struct reader){.fd = scene.fds[0], .rounds = 1, .deadline_ns = JZX_NEVER},
                     &future),
        JZX_OK);
    step(&scene);
    jzx_future_cancel(future);
    step(&scene);
    expect_settled(future, JZX_ERR_CANCELLED, UNTOUCHED);
    close_pipe(scene.fds);
    step(&scene);
    close_scene(&scene);
}
