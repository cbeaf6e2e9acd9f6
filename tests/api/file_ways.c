/* SPDX-License-Identifier: MIT */
/* Files by messages and as futures: what a fiber can do, a behaviour and a thread can. */
#include "filing.h"

#include <errno.h>
#include <jzx/async.h>
#include <jzx/combine.h>
#include <sched.h>
#include <stdatomic.h>

enum { GO = 1, DONE };

#define RW (JZX_FILE_READ | JZX_FILE_WRITE)

/* ---- a behaviour: one step after another ---- */

struct clerk {
    uint32_t step;
    jzx_file file;
    jzx_op op;
};

static const void *data_of(const jzx_result *result, size_t len) {
    return JZX_EXPECT_EQ(result->err, JZX_OK) && JZX_EXPECT_EQ(result->len, len)
               ? jzx_result_data(result)
               : NULL;
}

static jzx_err begin_step(jzx_context *ctx, struct clerk *self) {
    char text[] = "hello";
    const struct iovec parts[] = {{text, 2}, {text + 2, 3}};
    switch (self->step) {
    case 0: return jzx_file_open_to(ctx, in_folder("a"), RW | JZX_FILE_CREATE, 0600, DONE, NULL);
    case 1: return jzx_file_write_to(ctx, self->file, "12345", 5, 0, DONE, NULL);
    case 2: return jzx_file_writev_to(ctx, self->file, parts, 2, 1, DONE, NULL);
    case 3: return jzx_file_read_to(ctx, self->file, 100, 0, DONE, NULL);
    case 4: return jzx_file_sync_to(ctx, self->file, false, DONE, NULL);
    case 5: return jzx_file_truncate_to(ctx, self->file, 2, DONE, NULL);
    case 6: return jzx_file_allocate_to(ctx, self->file, 0, 4, DONE, NULL);
    case 7: return jzx_file_stat_to(ctx, self->file, DONE, NULL);
    case 8: return jzx_path_stat_to(ctx, in_folder("a"), DONE, NULL);
    case 9: return jzx_path_rename_to(ctx, in_folder("a"), in_folder("b"), DONE, NULL);
    case 10: return jzx_path_mkdir_to(ctx, in_folder("d"), 0700, DONE, NULL);
    case 11: return jzx_path_copy_to(ctx, in_folder("b"), in_folder("d/c"), DONE, NULL);
    case 12: return jzx_path_list_to(ctx, in_folder("d"), 100, DONE, NULL);
    case 13: return jzx_path_remove_to(ctx, in_folder("d/c"), DONE, NULL);
    case 14: return jzx_path_replace_to(ctx, in_folder("b"), "new", 3, 0, DONE, NULL);
    case 15: return jzx_file_temporary_to(ctx, folder, DONE, NULL);
    case 16: return jzx_file_read_to(ctx, self->file, 10, 4, DONE, &self->op);
    default: return jzx_file_open_to(ctx, in_folder("none"), RW, 0, DONE, &self->op);
    }
}

/* False after the last step. */
static bool check_step(struct clerk *self, const jzx_result *result) {
    const void *data;
    switch (self->step++) {
    case 0:
    case 15:
        data = data_of(result, sizeof self->file);
        if (data != NULL && self->step == 1)
            memcpy(&self->file, data, sizeof self->file);
        return data != NULL;
    case 1:
    case 2:
        data = data_of(result, sizeof(uint64_t));
        return data != NULL && JZX_EXPECT_EQ(*(const uint64_t *)data, 5);
    case 3:
        data = data_of(result, 6);
        return data != NULL && JZX_EXPECT(memcmp(data, "1hello", 6) == 0);
    case 7:
    case 8:
        data = data_of(result, sizeof(jzx_file_info));
        return data != NULL && JZX_EXPECT_EQ(((const jzx_file_info *)data)->bytes, 4);
    case 12: data = data_of(result, 2); return data != NULL && JZX_EXPECT(strcmp(data, "c") == 0);
    case 16:
        JZX_EXPECT_EQ(result->err, JZX_ERR_END);
        JZX_EXPECT(result->op == self->op);
        return JZX_EXPECT_EQ(result->len, 0);
    case 17:
        JZX_EXPECT_EQ(result->err, JZX_ERR_NOT_FOUND);
        JZX_EXPECT_EQ(result->os_error, ENOENT);
        JZX_EXPECT_EQ(result->len, 0);
        return false;
    default: return data_of(result, 0) != NULL || result->err == JZX_OK;
    }
}

static jzx_behavior_result be_clerk(jzx_context *ctx, const jzx_message *msg) {
    struct clerk *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == DONE && !check_step(self, msg->data))
        return JZX_BEHAVIOR_STOP;
    JZX_EXPECT_EQ(begin_step(ctx, self), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_behaviour_does_all_that_a_fiber_does, "E55") {
    struct clerk clerk = {0};
    folder_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_clerk, .state = &clerk));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(clerk.step, 18);
    JZX_EXPECT_EQ(jzx_test_runs(), 19);
    JZX_EXPECT(has_text("b", "new"));
    fixture_destroy(loop);
    folder_close();
}

/* ---- a thread ---- */

/* Waits, and releases. */
static jzx_err await(jzx_err begun, jzx_future *future, void *value) {
    if (!JZX_EXPECT_EQ(begun, JZX_OK))
        return begun;
    jzx_err err = jzx_future_wait(future, JZX_NEVER, value);
    jzx_future_release(future);
    return err;
}

struct bytes {
    jzx_result result;
    char data[96];
};

static void use_file(jzx_loop *loop) {
    jzx_future *future = NULL;
    jzx_file file = JZX_NO_FILE;
    uint64_t done = 0;
    struct bytes bytes;
    jzx_file_info info;
    jzx_err err = jzx_file_open_async(loop, in_folder("a"), RW | JZX_FILE_CREATE, 0600, &future);
    JZX_EXPECT_EQ(await(err, future, &file), JZX_OK);
    err = jzx_file_write_async(loop, file, "12345", 5, 0, &future);
    JZX_EXPECT_EQ(await(err, future, &done), JZX_OK);
    JZX_EXPECT_EQ(done, 5);
    err = jzx_file_read_async(loop, file, sizeof bytes.data, 1, &future);
    JZX_EXPECT_EQ(await(err, future, &bytes), JZX_OK);
    JZX_EXPECT_EQ(bytes.result.len, 4);
    JZX_EXPECT(memcmp(bytes.data, "2345", 5) == 0); /* zeroes behind it */
    err = jzx_file_truncate_async(loop, file, 3, &future);
    JZX_EXPECT_EQ(await(err, future, NULL), JZX_OK);
    err = jzx_file_allocate_async(loop, file, 0, 7, &future);
    JZX_EXPECT_EQ(await(err, future, NULL), JZX_OK);
    err = jzx_file_sync_async(loop, file, true, &future);
    JZX_EXPECT_EQ(await(err, future, NULL), JZX_OK);
    err = jzx_file_stat_async(loop, file, &future);
    JZX_EXPECT_EQ(await(err, future, &info), JZX_OK);
    JZX_EXPECT_EQ(info.bytes, 7);
    err = jzx_file_temporary_async(loop, NULL, &future);
    JZX_EXPECT_EQ(await(err, future, &file), JZX_OK); /* stays open until the loop ends */
}

static void use_names(jzx_loop *loop) {
    jzx_future *future = NULL;
    struct bytes bytes;
    jzx_file_info info;
    jzx_err err = jzx_path_replace_async(loop, in_folder("b"), "x", 1, 0640, &future);
    JZX_EXPECT_EQ(await(err, future, NULL), JZX_OK);
    err = jzx_path_stat_async(loop, in_folder("b"), &future);
    JZX_EXPECT_EQ(await(err, future, &info), JZX_OK);
    JZX_EXPECT_EQ(info.mode, 0640);
    err = jzx_path_mkdir_async(loop, in_folder("d"), 0700, &future);
    JZX_EXPECT_EQ(await(err, future, NULL), JZX_OK);
    err = jzx_path_copy_async(loop, in_folder("b"), in_folder("d/c"), &future);
    JZX_EXPECT_EQ(await(err, future, NULL), JZX_OK);
    err = jzx_path_rename_async(loop, in_folder("d/c"), in_folder("d/e"), &future);
    JZX_EXPECT_EQ(await(err, future, NULL), JZX_OK);
    err = jzx_path_list_async(loop, in_folder("d"), sizeof bytes.data, &future);
    JZX_EXPECT_EQ(await(err, future, &bytes), JZX_OK);
    JZX_EXPECT_EQ(bytes.result.len, 2);
    JZX_EXPECT(strcmp(bytes.data, "e") == 0);
    err = jzx_path_remove_async(loop, in_folder("d/e"), &future);
    JZX_EXPECT_EQ(await(err, future, NULL), JZX_OK);
}

JZX_TEST(a_thread_does_all_that_a_fiber_does, "E55") {
    folder_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    use_file(loop);
    use_names(loop);
    jzx_future *future = NULL;
    const char *text;
    JZX_EXPECT_EQ(jzx_file_open_async(loop, in_folder("none"), RW, 0, &future), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, NULL), JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(jzx_future_error(future, &text), JZX_ERR_NOT_FOUND);
    assert_string_equal(text, "No such file or directory (errno 2)");
    jzx_future_release(future);
    fixture_destroy(loop);
    folder_close();
}

/* ---- an async function ---- */

struct copier {
    jzx_file file;
    uint64_t done;
    jzx_future *future;
    jzx_await_op op;
};

JZX_ASYNC(copier, struct copier, uint64_t) {
    jzx_test_ran();
    JZX_EXPECT_EQ(
        jzx_file_open_async(ctx->loop, in_folder("a"), RW | JZX_FILE_CREATE, 0600, &self->future),
        JZX_OK);
    JZX_AWAIT(jzx_op_await(&self->op, self->future, JZX_NEVER), &self->file);
    jzx_future_release(self->future);
    JZX_EXPECT_EQ(jzx_file_give(ctx, self->file, ctx->self), JZX_OK); /* ends with it */
    JZX_EXPECT_EQ(
        jzx_file_write_async(ctx->loop, self->file, "abc", 3, JZX_FILE_HERE, &self->future),
        JZX_OK);
    JZX_AWAIT(jzx_op_await(&self->op, self->future, JZX_NEVER), &self->done);
    jzx_future_release(self->future);
    JZX_RETURN(self->done);
}
JZX_END

JZX_TEST(an_async_function_opens_and_writes, "E55") {
    jzx_future *future = NULL;
    uint64_t done = 0;
    folder_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    JZX_EXPECT_EQ(copier_spawn(loop, (struct copier){0}, &future), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_try(future, &done), JZX_OK);
    JZX_EXPECT_EQ(done, 3);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(descriptors_open(), descriptors_before + 0); /* the file has ended with it */
    jzx_future_release(future);
    fixture_destroy(loop);
    JZX_EXPECT(has_text("a", "abc"));
    folder_close();
}

/* ---- limits ---- */

static atomic_uint entered;
static atomic_uint is_open;

static jzx_err pass_gate(void *arg) {
    (void)arg;
    atomic_fetch_add(&entered, 1);
    while (atomic_load(&is_open) == 0)
        sched_yield();
    return JZX_OK;
}

/* The only thread of the pool is busy until is_open. */
static jzx_loop *loop_with_busy_pool(uint32_t queue, jzx_future **gate) {
    jzx_blocking_pool *pool = NULL;
    atomic_store(&entered, 0);
    atomic_store(&is_open, 0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    JZX_EXPECT_EQ(jzx_blocking_pool_create(loop,
                                           &JZX_BLOCKING_OPTS(.name = JZX_FILE_POOL,
                                                              .threads_max = 1, .queue_max = queue),
                                           &pool),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_blocking_copy_async(loop, pool, pass_gate, NULL, 0, gate), JZX_OK);
    while (atomic_load(&entered) == 0)
        sched_yield();
    return loop;
}

JZX_TEST(a_full_pool_refuses_and_a_cancel_stops_what_waits, "E55", "C+fail") {
    jzx_future *gate = NULL;
    jzx_future *first = NULL;
    jzx_future *second = NULL;
    folder_open();
    jzx_loop *loop = loop_with_busy_pool(1, &gate);
    const char *path = in_folder("a");
    JZX_EXPECT_EQ(jzx_file_open_async(loop, path, RW | JZX_FILE_CREATE, 0600, &first), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_open_async(loop, path, RW, 0, &second), JZX_ERR_FULL);
    JZX_EXPECT(second == NULL);
    jzx_future_cancel(first);
    JZX_EXPECT_EQ(jzx_future_try(first, NULL), JZX_ERR_CANCELLED);
    jzx_future_release(first);
    JZX_EXPECT_EQ(jzx_file_open_async(loop, path, RW | JZX_FILE_CREATE, 0600, &second), JZX_OK);
    jzx_future_release(second); /* nobody wants it: it is not even opened */
    atomic_store(&is_open, 1);
    JZX_EXPECT_EQ(jzx_future_wait(gate, JZX_NEVER, NULL), JZX_OK);
    jzx_future_release(gate);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(count_names(), 0);
    folder_close();
}

static void time_out(jzx_context *ctx) {
    jzx_file file = 77;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_file_open(ctx, in_folder("a"), RW | JZX_FILE_CREATE, 0600,
                                jzx_in(ctx, JZX_MS(1)), &file),
                  JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(file, 77);
    atomic_store(&is_open, 1);
    JZX_EXPECT_EQ(jzx_file_open(ctx, in_folder("b"), RW | JZX_FILE_CREATE, 0600, JZX_NEVER, &file),
                  JZX_OK);
}

JZX_TEST(a_deadline_stops_what_waits_for_a_thread, "E55") {
    jzx_future *gate = NULL;
    folder_open();
    jzx_loop *loop = loop_with_busy_pool(10, &gate);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = time_out));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    jzx_future_release(gate);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(count_names(), 1);
    folder_close();
}

JZX_TEST(the_position_of_a_file_is_used_by_one_at_a_time) {
    jzx_future *future = NULL;
    jzx_future *gate = NULL;
    jzx_future *writes[3] = {NULL};
    jzx_file file = JZX_NO_FILE;
    folder_open();
    jzx_loop *first = fixture_loop();
    jzx_loop *loop = loop_with_busy_pool(10, &gate);
    JZX_EXPECT_EQ(jzx_file_temporary_async(loop, NULL, &future), JZX_OK);
    atomic_store(&is_open, 1);
    JZX_EXPECT_EQ(await(JZX_OK, future, &file), JZX_OK);
    JZX_EXPECT_EQ(await(JZX_OK, gate, NULL), JZX_OK);
    atomic_store(&is_open, 0);
    jzx_blocking_pool *pool = jzx_blocking_pool_find(loop, JZX_FILE_POOL);
    JZX_EXPECT_EQ(jzx_blocking_copy_async(loop, pool, pass_gate, NULL, 0, &gate), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_write_async(loop, file, "a", 1, JZX_FILE_HERE, &writes[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_write_async(loop, file, "b", 1, JZX_FILE_HERE, &writes[1]),
                  JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_file_write_async(loop, file, "c", 1, 1, &writes[2]), JZX_OK);
    atomic_store(&is_open, 1);
    JZX_EXPECT_EQ(await(JZX_OK, writes[0], NULL), JZX_OK);
    JZX_EXPECT_EQ(await(JZX_OK, writes[2], NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_write_async(loop, file, "b", 1, JZX_FILE_HERE, &writes[1]), JZX_OK);
    JZX_EXPECT_EQ(await(JZX_OK, writes[1], NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_read_async(first, file, 8, 0, &future), JZX_ERR_CLOSED);
    jzx_future_release(gate);
    fixture_destroy(first);
    fixture_destroy(loop);
    folder_close();
}

/* ---- memory ---- */

static uint32_t play(uint64_t after, uint64_t count) {
    folder_open();
    fixture_fail_allocations(after, count);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    uint32_t refused = loop == NULL;
    jzx_file file = JZX_NO_FILE;
    jzx_future *future = NULL;
    jzx_err err = loop == NULL ? JZX_ERR_NO_MEMORY
                               : jzx_file_open_async(loop, in_folder("a"), RW | JZX_FILE_CREATE,
                                                     0600, &future);
    if (err == JZX_OK) {
        JZX_EXPECT_EQ(await(err, future, &file), JZX_OK);
        err = jzx_file_write_async(loop, file, "abc", 3, 0, &future);
        if (err == JZX_OK)
            JZX_EXPECT_EQ(await(err, future, NULL), JZX_OK);
    }
    refused += err != JZX_OK;
    if (err != JZX_OK)
        JZX_EXPECT_EQ(err, JZX_ERR_NO_MEMORY);
    fixture_fail_allocations(UINT64_MAX, 0);
    if (loop != NULL)
        fixture_destroy(loop);
    folder_close();
    return refused;
}

JZX_TEST(every_allocation_of_a_file_may_fail, "C+fail") {
    for (uint64_t count = 1; count != 0; count = count == 1 ? UINT64_MAX : 0) {
        uint64_t after = 0;
        while (play(after, count) != 0 || after < 20)
            after++;
        JZX_EXPECT(after < 1000);
    }
}
