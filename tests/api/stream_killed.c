/* SPDX-License-Identifier: MIT */
/* Owners of sockets that end in the middle of an operation, of every kind and in each of the forms:
 * nothing is reported to nobody, nothing is leaked, and the loop goes on. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/unix.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PILE (8u << 20) /* more than a socket takes when nobody reads */

enum operation {
    READ,
    READ_EXACT, /* a part has arrived */
    READ_UNTIL,
    WRITE,
    WRITEV,
    SENDFILE,
    SHUTDOWN, /* something waits to be written */
    ACCEPT,
    CONNECT, /* the backlog is full */
    OPERATIONS
};

enum form { AS_FIBER, AS_MESSAGE, AS_FUTURE, FORMS };

enum end { KILLED, STOPPED, CLOSED, DESTROYED, ENDS };

enum { GO = 1, RESULT, CLOSE };

static struct {
    enum operation operation;
    enum form form;
    jzx_stream pair[2];
    jzx_listener listener;
    jzx_stream connected[4];
    jzx_future *future;
    char *pile;
    int file;
    char path[64];
    jzx_err err; /* what a fiber's call returned */
    uint32_t results;
    jzx_err result;
} scene;

static void prepare(jzx_context *ctx) {
    const jzx_listen_opts narrow = JZX_LISTEN_OPTS(.backlog = 1);
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, scene.pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, scene.path, &narrow, &scene.listener), JZX_OK);
    if (scene.operation == READ_EXACT)
        JZX_EXPECT_EQ(jzx_stream_send(ctx, scene.pair[1], "abc", 3), JZX_OK);
    if (scene.operation == SHUTDOWN) {
        jzx_err err;
        while ((err = jzx_stream_send(ctx, scene.pair[0], scene.pile, 256 << 10)) == JZX_OK) {
        }
        JZX_EXPECT_EQ(err, JZX_ERR_FULL);
    }
}

static jzx_err operate(jzx_context *ctx) {
    static char buffer[16];
    const struct iovec parts[2] = {{scene.pile, PILE / 2}, {scene.pile + PILE / 2, PILE / 2}};
    jzx_stream s = scene.pair[0];
    jzx_stream made;
    size_t len;
    switch (scene.operation) {
    case READ: return jzx_stream_read(ctx, s, buffer, sizeof buffer, JZX_NEVER, &len);
    case READ_EXACT: return jzx_stream_read_exact(ctx, s, buffer, 9, JZX_NEVER);
    case READ_UNTIL:
        return jzx_stream_read_until(ctx, s, '\n', buffer, sizeof buffer, JZX_NEVER, &len);
    case WRITE: return jzx_stream_write(ctx, s, scene.pile, PILE, JZX_NEVER);
    case WRITEV: return jzx_stream_writev(ctx, s, parts, 2, JZX_NEVER);
    case SENDFILE: return jzx_stream_sendfile(ctx, s, scene.file, 0, PILE, JZX_NEVER, &len);
    case SHUTDOWN: return jzx_stream_shutdown(ctx, s, JZX_NEVER);
    case ACCEPT: return jzx_listener_accept(ctx, scene.listener, JZX_NEVER, &made);
    default: {
        jzx_err err = JZX_OK;
        for (uint32_t i = 0; i < 4 && err == JZX_OK; i++)
            err = jzx_unix_connect(ctx, scene.path, NULL, JZX_NEVER, &scene.connected[i]);
        return err;
    }
    }
}

static jzx_err operate_to(jzx_context *ctx) {
    const struct iovec parts[2] = {{scene.pile, PILE / 2}, {scene.pile + PILE / 2, PILE / 2}};
    jzx_stream s = scene.pair[0];
    switch (scene.operation) {
    case READ: return jzx_stream_read_to(ctx, s, 16, RESULT, NULL);
    case READ_EXACT: return jzx_stream_read_exact_to(ctx, s, 9, RESULT, NULL);
    case READ_UNTIL: return jzx_stream_read_until_to(ctx, s, '\n', 16, RESULT, NULL);
    case WRITE: return jzx_stream_write_to(ctx, s, scene.pile, PILE, RESULT, NULL);
    case WRITEV: return jzx_stream_writev_to(ctx, s, parts, 2, RESULT, NULL);
    case SENDFILE: return jzx_stream_sendfile_to(ctx, s, scene.file, 0, PILE, RESULT, NULL);
    case SHUTDOWN: return jzx_stream_shutdown_to(ctx, s, RESULT, NULL);
    case ACCEPT: return jzx_listener_accept_to(ctx, scene.listener, RESULT, NULL);
    default: return jzx_unix_connect_to(ctx, scene.path, NULL, RESULT, NULL);
    }
}

static jzx_err operate_async(jzx_context *ctx) {
    const struct iovec parts[2] = {{scene.pile, PILE / 2}, {scene.pile + PILE / 2, PILE / 2}};
    jzx_loop *loop = ctx->loop;
    jzx_stream s = scene.pair[0];
    jzx_future **future = &scene.future;
    switch (scene.operation) {
    case READ: return jzx_stream_read_async(loop, s, 16, future);
    case READ_EXACT: return jzx_stream_read_exact_async(loop, s, 9, future);
    case READ_UNTIL: return jzx_stream_read_until_async(loop, s, '\n', 16, future);
    case WRITE: return jzx_stream_write_async(loop, s, scene.pile, PILE, future);
    case WRITEV: return jzx_stream_writev_async(loop, s, parts, 2, future);
    case SENDFILE: return jzx_stream_sendfile_async(loop, s, scene.file, 0, PILE, future);
    case SHUTDOWN: return jzx_stream_shutdown_async(loop, s, future);
    case ACCEPT: return jzx_listener_accept_async(loop, scene.listener, future);
    default: return jzx_unix_connect_async(loop, scene.path, NULL, ctx->self, future);
    }
}

/* ---- the owner ---- */

static void close_sockets(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_stream_close(loop, scene.pair[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(loop, scene.pair[0]), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_listener_close(loop, scene.listener), JZX_OK);
}

static void own_as_fiber(jzx_context *ctx) {
    jzx_test_ran();
    prepare(ctx);
    scene.err = operate(ctx);
}

/* Of CONNECT: fills the backlog by connects that complete, so that the next one waits. */
static jzx_behavior_result own(jzx_context *ctx, const jzx_message *msg) {
    const jzx_result *result = msg->data;
    jzx_test_ran();
    if (msg->tag == RESULT && scene.operation == CONNECT && result->err == JZX_OK) {
        JZX_EXPECT(scene.results++ < 4);
        JZX_EXPECT_EQ(operate_to(ctx), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    if (msg->tag == RESULT) {
        scene.results = 100;
        scene.result = (jzx_err)result->err;
        return JZX_BEHAVIOR_STOP;
    }
    if (msg->tag != GO)
        return JZX_BEHAVIOR_OK; /* the water marks of the write queue */
    prepare(ctx);
    scene.err = scene.form == AS_MESSAGE ? operate_to(ctx) : operate_async(ctx);
    JZX_EXPECT_EQ(scene.err, JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result inherit(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    jzx_test_ran();
    return msg->tag == CLOSE ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* ---- the end ---- */

static void open_scene(void) {
    memset(&scene, 0, sizeof scene);
    scene.pile = calloc(1, PILE);
    assert_non_null(scene.pile);
    scene.file = memfd_create("pile", MFD_CLOEXEC);
    assert_true(scene.file >= 0);
    assert_int_equal(ftruncate(scene.file, PILE), 0);
    snprintf(scene.path, sizeof scene.path, "@jzx-test-%d", (int)getpid());
}

static void close_scene(void) {
    free(scene.pile);
    close(scene.file);
}

/* Steps until nothing happens any more: the operation waits. */
static void settle(jzx_loop *loop) {
    for (uint32_t i = 0; i < 100; i++)
        JZX_EXPECT_EQ(jzx_loop_step(loop, 0), JZX_OK);
}

/* A connect by a future waits only if the backlog is full, which this form does not see to. */
static bool is_tried(enum operation operation, enum form form) {
    return form != AS_FUTURE || operation != CONNECT;
}

/* The fixture compares the books with the depths of the mailboxes. A depth leaves out messages that
 * are exempt from the bound, and a fiber that waits in shutdown has one: JZX_TAG_STREAM_HIGH. */
static void destroy(jzx_loop *loop) {
    if (scene.form == AS_FIBER && scene.operation == SHUTDOWN)
        JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
    else
        fixture_destroy(loop);
}

static void end_one(enum operation operation, enum form form, enum end end) {
    int open_before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    assert_non_null(loop);
    open_scene();
    scene.operation = operation;
    scene.form = form;
    jzx_actor_id heir = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = inherit));
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = form == AS_FIBER ? NULL : own,
                                         .fiber = form == AS_FIBER ? own_as_fiber : NULL);
    jzx_actor_id owner = fixture_spawn(loop, &opts);
    fixture_send(loop, owner, GO);
    settle(loop);
    JZX_EXPECT_EQ(scene.err, JZX_OK);

    switch (end) {
    case KILLED: JZX_EXPECT_EQ(jzx_actor_stop(loop, owner, JZX_STOP_KILL), JZX_OK); break;
    case STOPPED: JZX_EXPECT_EQ(jzx_actor_stop(loop, owner, JZX_STOP_AFTER_QUEUE), JZX_OK); break;
    case CLOSED: close_sockets(loop); break;
    default: break;
    }
    if (end != DESTROYED) {
        fixture_send(loop, heir, CLOSE);
        settle(loop);
    }
    if (end == CLOSED && operation != CONNECT && form == AS_FIBER)
        JZX_EXPECT_EQ(scene.err, JZX_ERR_CLOSED);
    if (end == CLOSED && operation != CONNECT && form == AS_MESSAGE) {
        JZX_EXPECT_EQ(scene.results, 100);
        JZX_EXPECT_EQ(scene.result, JZX_ERR_CLOSED);
    }
    if (scene.future != NULL) {
        JZX_EXPECT(end == DESTROYED || operation == CONNECT || jzx_future_is_ready(scene.future));
        destroy(loop);
        JZX_EXPECT(jzx_future_state(scene.future) != JZX_FUTURE_PENDING);
        jzx_future_release(scene.future);
    } else {
        destroy(loop);
    }
    close_scene();
    JZX_EXPECT_EQ(descriptors_open(), open_before);
}

static void end_all(enum form form) {
    for (enum operation operation = 0; operation < OPERATIONS; operation++) {
        for (enum end end = 0; end < ENDS; end++) {
            if (is_tried(operation, form))
                end_one(operation, form, end);
        }
    }
}

JZX_TEST(a_fiber_may_end_in_any_operation_of_its_sockets, "C+inv", "C+fail") {
    end_all(AS_FIBER);
}

JZX_TEST(a_behaviour_may_end_with_any_operation_of_its_sockets_under_way, "C+inv", "C+fail") {
    end_all(AS_MESSAGE);
}

JZX_TEST(futures_of_operations_are_settled_when_the_owner_of_the_socket_ends, "C+inv", "C+fail") {
    end_all(AS_FUTURE);
}
