/* SPDX-License-Identifier: MIT */
/* Files and their owners: closed with them in every state, handed over, never leaked. */
#include "filing.h"

#include <sched.h>
#include <stdatomic.h>

enum { GO = 1, DONE, TAKE, END };

#define RW (JZX_FILE_READ | JZX_FILE_WRITE)

static atomic_uint is_open;
static atomic_uint entered;

static jzx_err pass_gate(void *arg) {
    (void)arg;
    atomic_fetch_add(&entered, 1);
    while (atomic_load(&is_open) == 0)
        sched_yield();
    return JZX_OK;
}

static jzx_loop *open_loop(void) {
    folder_open();
    atomic_store(&is_open, 0);
    atomic_store(&entered, 0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    JZX_EXPECT_EQ(jzx_blocking_pool_create(
                      loop, &JZX_BLOCKING_OPTS(.name = JZX_FILE_POOL, .threads_max = 1), NULL),
                  JZX_OK);
    return loop;
}

/* The thread of the pool is busy until is_open. */
static void close_gate(jzx_loop *loop) {
    jzx_future *gate = NULL;
    jzx_blocking_pool *pool = jzx_blocking_pool_find(loop, JZX_FILE_POOL);
    JZX_EXPECT_EQ(jzx_blocking_copy_async(loop, pool, pass_gate, NULL, 0, &gate), JZX_OK);
    jzx_future_detach(gate);
    while (atomic_load(&entered) == 0)
        sched_yield();
}

static void step(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

/* An actor that opens files and goes on as it is told. */
struct owner {
    uint32_t heard;
    jzx_file file;
    jzx_actor_id to;
    jzx_err given;
    bool ended;
};

static jzx_behavior_result be_owner(jzx_context *ctx, const jzx_message *msg) {
    struct owner *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == GO)
        JZX_EXPECT_EQ(jzx_file_open_to(ctx, in_folder("a"), RW | JZX_FILE_CREATE, 0600, DONE, NULL),
                      JZX_OK);
    if (msg->tag == DONE) {
        const jzx_result *result = msg->data;
        self->heard++;
        if (self->heard == 1 && JZX_EXPECT_EQ(result->err, JZX_OK))
            memcpy(&self->file, jzx_result_data(result), sizeof self->file);
    }
    if (msg->tag == TAKE)
        self->given = jzx_file_give(ctx, self->file, self->to);
    return msg->tag == END ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void note_end(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    ((struct owner *)ctx->state)->ended = true;
}

static jzx_actor_id spawn_owner(jzx_loop *loop, struct owner *owner) {
    return fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = be_owner, .state = owner, .cleanup = note_end));
}

/* It has a file. */
static jzx_actor_id spawn_with_file(jzx_loop *loop, struct owner *owner) {
    jzx_actor_id id = spawn_owner(loop, owner);
    fixture_send(loop, id, GO);
    while (owner->heard == 0) {
        step(loop);
        sched_yield();
    }
    return id;
}

static void kill(jzx_loop *loop, jzx_actor_id id) {
    JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
    step(loop);
}

/* ---- the end of the owner ---- */

JZX_TEST(a_file_is_closed_when_its_owner_ends, "E55") {
    jzx_loop *loop = open_loop();
    struct owner owner = {0};
    jzx_actor_id id = spawn_with_file(loop, &owner);
    int open = descriptors_open();
    kill(loop, id);
    JZX_EXPECT(owner.ended);
    JZX_EXPECT_EQ(descriptors_open(), open - 1);
    JZX_EXPECT_EQ(jzx_file_close(loop, owner.file), JZX_ERR_CLOSED);
    fixture_destroy(loop);
    folder_close();
}

JZX_TEST(an_owner_that_is_killed_while_it_opens_leaves_nothing, "E55") {
    for (uint32_t runs = 0; runs < 2; runs++) {
        jzx_loop *loop = open_loop();
        struct owner owner = {0};
        if (!runs)
            close_gate(loop);
        jzx_actor_id id = spawn_owner(loop, &owner);
        fixture_send(loop, id, GO);
        step(loop);
        kill(loop, id);
        JZX_EXPECT(owner.ended);
        atomic_store(&is_open, 1);
        fixture_destroy(loop);
        JZX_EXPECT(runs || owner.heard == 0);
        JZX_EXPECT(jzx_test_runs() > runs);     /* it has asked */
        JZX_EXPECT(runs || count_names() == 0); /* one that waited was not even opened */
        folder_close();
    }
}

/* An operation that waits is cancelled by the kill, one that runs goes on: either way the file is
 * closed after it. */
JZX_TEST(a_file_that_is_used_is_closed_after_its_last_use, "E55") {
    jzx_loop *loop = open_loop();
    struct owner owner = {0};
    jzx_future *write = NULL;
    uint64_t done = 0;
    jzx_actor_id id = spawn_with_file(loop, &owner);
    close_gate(loop);
    int open = descriptors_open();
    JZX_EXPECT_EQ(jzx_file_write_async(loop, owner.file, "abc", 3, 0, &write), JZX_OK);
    kill(loop, id);
    JZX_EXPECT_EQ(descriptors_open(), open); /* the write has a use */
    JZX_EXPECT_EQ(jzx_file_close(loop, owner.file), JZX_ERR_CLOSED);
    JZX_EXPECT(jzx_file_fd(loop, owner.file) < 0);
    atomic_store(&is_open, 1);
    JZX_EXPECT_EQ(jzx_future_wait(write, JZX_NEVER, &done), JZX_OK);
    JZX_EXPECT_EQ(done, 3);
    JZX_EXPECT_EQ(descriptors_open(), open - 1);
    jzx_future_release(write);
    fixture_destroy(loop);
    JZX_EXPECT(has_text("a", "abc"));
    folder_close();
}

/* ---- fibers ---- */

struct sleeper {
    jzx_file file;
    atomic_uint begun;
    char buffer[16];
    bool ended;
};

static void read_for_long(jzx_context *ctx) {
    struct sleeper *self = ctx->state;
    char buffer[4096];
    size_t len;
    atomic_store(&self->begun, 1);
    (void)jzx_file_read(ctx, self->file, buffer, sizeof buffer, 0, JZX_NEVER, &len);
    JZX_EXPECT(false); /* it is killed in there */
}

static void note_sleeper(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    ((struct sleeper *)ctx->state)->ended = true;
}

/* The request waits for a thread: the kill cancels it. */
JZX_TEST(a_fiber_is_killed_while_its_read_waits) {
    jzx_loop *loop = open_loop();
    struct owner owner = {0};
    (void)spawn_with_file(loop, &owner);
    close_gate(loop);
    struct sleeper sleeper = {.file = owner.file};
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.fiber = read_for_long, .state = &sleeper, .cleanup = note_sleeper));
    step(loop);
    JZX_EXPECT_EQ(atomic_load(&sleeper.begun), 1);
    kill(loop, id);
    while (!sleeper.ended)
        step(loop);
    atomic_store(&is_open, 1);
    fixture_destroy(loop);
    folder_close();
}

static int pipe_fds[2];

static void make_pipe_full(void) {
    static const char block[4096];
    int flags = fcntl(pipe_fds[1], F_GETFL);
    assert_int_equal(fcntl(pipe_fds[1], F_SETFL, flags | O_NONBLOCK), 0);
    while (write(pipe_fds[1], block, sizeof block) > 0)
        continue;
}

/* It opens a pipe by its name, and writes: the system call blocks until something is read. */
static void write_pipe(jzx_context *ctx) {
    struct sleeper *self = ctx->state;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", pipe_fds[1]);
    JZX_EXPECT_EQ(jzx_file_open(ctx, path, JZX_FILE_WRITE, 0, JZX_NEVER, &self->file), JZX_OK);
    atomic_store(&self->begun, 1);
    memcpy(self->buffer, "xyz", 3);
    (void)jzx_file_write(ctx, self->file, self->buffer, 3, JZX_FILE_HERE, JZX_NEVER, NULL);
    JZX_EXPECT(false);
}

/* The last that the pipe has. */
static void read_until_xyz(void) {
    char block[4096];
    ssize_t got;
    do
        got = read(pipe_fds[0], block, sizeof block);
    while (got > 0 && block[got - 1] == 0);
    JZX_EXPECT(got >= 3 && memcmp(block + got - 3, "xyz", 3) == 0);
}

JZX_TEST(the_end_of_a_fiber_waits_for_a_write_out_of_its_memory) {
    jzx_loop *loop = open_loop();
    struct sleeper sleeper = {0};
    jzx_blocking_stats stats = {.size = sizeof stats};
    assert_int_equal(pipe(pipe_fds), 0);
    make_pipe_full();
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.fiber = write_pipe, .state = &sleeper, .cleanup = note_sleeper));
    jzx_blocking_pool *pool = jzx_blocking_pool_find(loop, JZX_FILE_POOL);
    do {
        step(loop);
        sched_yield();
        JZX_EXPECT_EQ(jzx_blocking_pool_stats(pool, &stats), JZX_OK);
    } while (stats.started < 2); /* the write has begun */
    kill(loop, id);
    JZX_EXPECT(!sleeper.ended); /* its memory is in use */
    read_until_xyz();
    while (!sleeper.ended) {
        step(loop);
        sched_yield();
    }
    JZX_EXPECT_EQ(jzx_file_close(loop, sleeper.file), JZX_ERR_CLOSED);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    fixture_destroy(loop);
    folder_close();
}

/* ---- handing over ---- */

JZX_TEST(a_file_that_was_given_ends_with_its_new_owner, "E55") {
    jzx_loop *loop = open_loop();
    struct owner first = {0};
    struct owner second = {0};
    jzx_actor_id a = spawn_with_file(loop, &first);
    jzx_actor_id b = spawn_owner(loop, &second);
    int open = descriptors_open();
    first.to = b;
    fixture_send(loop, a, TAKE);
    step(loop);
    JZX_EXPECT_EQ(first.given, JZX_OK);
    fixture_send(loop, a, TAKE);
    step(loop);
    JZX_EXPECT_EQ(first.given, JZX_ERR_NOT_OWNER);
    kill(loop, a);
    JZX_EXPECT_EQ(descriptors_open(), open);
    second.file = first.file;
    second.to = b;
    fixture_send(loop, b, TAKE); /* to itself */
    step(loop);
    JZX_EXPECT_EQ(second.given, JZX_OK);
    second.to = a;
    fixture_send(loop, b, TAKE);
    step(loop);
    JZX_EXPECT_EQ(second.given, JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT(jzx_file_fd(loop, first.file) >= 0);
    kill(loop, b);
    JZX_EXPECT_EQ(descriptors_open(), open - 1);
    fixture_destroy(loop);
    folder_close();
}

/* It is on its way when the receiver ends, when it is closed, and when the loop ends. */
JZX_TEST(a_file_on_its_way_is_lost_nowhere) {
    for (uint32_t how = 0; how < 3; how++) {
        jzx_loop *loop = open_loop();
        struct owner first = {0};
        struct owner second = {0};
        jzx_actor_id a = spawn_with_file(loop, &first);
        jzx_actor_id b = spawn_owner(loop, &second);
        int open = descriptors_open();
        first.to = b;
        fixture_send(loop, b, END); /* before the file comes */
        if (how != 0)
            step(loop);
        fixture_send(loop, a, TAKE);
        if (how == 1)
            JZX_EXPECT_EQ(jzx_file_close(loop, first.file), JZX_OK);
        if (how != 2)
            step(loop);
        if (how == 0 && first.given == JZX_OK)
            JZX_EXPECT_EQ(descriptors_open(), open - 1);
        fixture_destroy(loop);
        JZX_EXPECT(jzx_test_runs() != 0);
        folder_close();
    }
}

static void wait_for_end(jzx_context *ctx) {
    jzx_message msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, END, JZX_NEVER, &msg), JZX_OK);
}

JZX_TEST(a_fiber_takes_a_file_in_while_it_waits_for_something_else) {
    jzx_loop *loop = open_loop();
    struct owner owner = {0};
    jzx_actor_id a = spawn_with_file(loop, &owner);
    jzx_actor_id b = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = wait_for_end));
    step(loop);
    int open = descriptors_open();
    owner.to = b;
    fixture_send(loop, a, TAKE);
    fixture_send(loop, a, END);
    step(loop);
    JZX_EXPECT_EQ(owner.given, JZX_OK);
    JZX_EXPECT_EQ(descriptors_open(), open);
    fixture_send(loop, b, END);
    step(loop);
    JZX_EXPECT_EQ(descriptors_open(), open - 1);
    fixture_destroy(loop);
    folder_close();
}
