/* SPDX-License-Identifier: MIT */
/* src/file on io_uring: what the answers of the kernel mean, and every call of a ring fails at each
 * of its uses: threads do the work, and nothing is lost or left. */
#include "file/execute.h"
#include "file/uring.h"
#include "file/uring_entry.h"

#include "descriptors.h"
#include "fixture.h"
#include "os_faults.h"

#include <jzx/fiber.h>
#include <jzx/path.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(JZX__HAS_IO_URING)

#define RW (JZX_FILE_READ | JZX_FILE_WRITE)

/* ---- answers ---- */

static bool settle(struct jzx__file_request *request, enum jzx__file_do what, int32_t result) {
    static char text[] = "abcdef";
    static const struct iovec parts[] = {{text, 3}, {text + 3, 3}};
    *request = (struct jzx__file_request){
        .what = what, .parts = parts, .part_count = 2, .os = &jzx__file_os_system, .fd = -1};
    return jzx__uring_settle(request, result);
}

JZX_TEST(an_answer_is_an_outcome_unless_it_may_be_the_rings_own) {
    static const int doubtful[] = {ECANCELED, EINTR,  EAGAIN,     EFAULT, EINVAL, EBADF,
                                   ENOMEM,    ENOSYS, EOPNOTSUPP, 512,    514,    516};
    struct jzx__file_request request;
    for (size_t i = 0; i < sizeof doubtful / sizeof doubtful[0]; i++)
        JZX_EXPECT(!settle(&request, JZX__FILE_DO_READ, -doubtful[i]));
    JZX_EXPECT(settle(&request, JZX__FILE_DO_READ, -EIO));
    JZX_EXPECT(request.err == JZX_ERR_IO && request.os_error == EIO);
    JZX_EXPECT(settle(&request, JZX__FILE_DO_READ, 0));
    JZX_EXPECT_EQ(request.err, JZX_ERR_END);
    JZX_EXPECT(settle(&request, JZX__FILE_DO_READ, 4));
    JZX_EXPECT(request.err == JZX_OK && request.count == 4);
    JZX_EXPECT(settle(&request, JZX__FILE_DO_OPEN, 7));
    JZX_EXPECT_EQ(request.fd, 7);
    JZX_EXPECT(!settle(&request, JZX__FILE_DO_REMOVE, -EISDIR));
    JZX_EXPECT(settle(&request, JZX__FILE_DO_MKDIR, -EPERM));
    JZX_EXPECT(settle(&request, JZX__FILE_DO_WRITE, 6));
    JZX_EXPECT_EQ(request.count, 6);
    JZX_EXPECT(!settle(&request, JZX__FILE_DO_WRITE, 0)); /* it would never end */
}

JZX_TEST(a_ring_syncs_all_unless_only_the_data_were_asked_for, "E55") {
    struct jzx__ring ring;
    struct jzx__uring_entry entry;
    struct jzx__file file = {.fd = 5};
    memset(&ring, 0xff, sizeof ring); /* it has every opcode */
    for (uint64_t data_only = 0; data_only < 2; data_only++) {
        struct jzx__file_request request = {
            .what = JZX__FILE_DO_SYNC, .file = &file, .len = data_only};
        assert_true(jzx__uring_fill(&entry, &ring, &request, 1));
        const struct io_uring_sqe *sqe = jzx__uring_sqe(&entry);
        assert_int_equal(sqe->opcode, IORING_OP_FSYNC);
        assert_int_equal(sqe->fd, 5);
        assert_int_equal(sqe->fsync_flags, data_only ? IORING_FSYNC_DATASYNC : 0);
    }
}

/* A short write: the rest is a thread's, at the right place. */
JZX_TEST(threads_go_on_where_a_ring_has_stopped) {
    char path[] = "/tmp/jzx_uring_XXXXXX";
    char text[8] = {0};
    struct jzx__file file = {.fd = mkstemp(path)};
    struct jzx__file_request request;
    assert_true(file.fd >= 0);
    for (int32_t put = 1; put < 6; put++) {
        assert_int_equal(pwrite(file.fd, "......", 6, 10), 6);
        JZX_EXPECT(!settle(&request, JZX__FILE_DO_WRITE, put));
        request.file = &file;
        request.offset = 10;
        jzx__file_execute(&request);
        JZX_EXPECT(request.err == JZX_OK && request.count == 6);
        assert_int_equal(pread(file.fd, text, 6, 10), 6);
        JZX_EXPECT(memcmp(text, "......", (size_t)put) == 0);
        JZX_EXPECT(memcmp(text + put, &"abcdef"[put], 6 - (size_t)put) == 0);
    }
    (void)close(file.fd);
    (void)unlink(path);
}

/* ---- faults ---- */

struct scene {
    char folder[64];
    char text[8];
    uint32_t failed;
    uint64_t taken;
};

static void note(struct scene *scene, jzx_err err) {
    scene->failed += err != JZX_OK;
}

static void play(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    struct jzx__urings_books books;
    jzx_file file = JZX_NO_FILE;
    char path[128];
    size_t len = 0;
    snprintf(path, sizeof path, "%s/a", scene->folder);
    note(scene, jzx_file_open(ctx, path, RW | JZX_FILE_CREATE, 0600, JZX_NEVER, &file));
    note(scene, jzx_file_write(ctx, file, "abcdef", 6, 0, JZX_NEVER, &len));
    note(scene, jzx_file_sync(ctx, file, true, JZX_NEVER));
    note(scene, jzx_file_read(ctx, file, scene->text, 6, 0, JZX_NEVER, &len));
    note(scene, jzx_file_close(ctx->loop, file));
    note(scene, jzx_path_remove(ctx, path, JZX_NEVER));
    scene->taken = jzx__urings_look(ctx->loop, &books) ? books.taken : 0;
    jzx_test_ran();
}

static void run(struct scene *scene) {
    *scene = (struct scene){.folder = "/tmp/jzx_uring_XXXXXX"};
    assert_non_null(mkdtemp(scene->folder));
    int before = descriptors_open();
    uint64_t runs = jzx_test_runs();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .io_backend = JZX_IO_AUTO));
    jzx__io_of(loop)->os = &os_faulty;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = play, .state = scene));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), runs + 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(scene->failed, 0);
    assert_memory_equal(scene->text, "abcdef", 6);
    JZX_EXPECT_EQ(rmdir(scene->folder), 0);
    JZX_EXPECT_EQ(descriptors_open(), before);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(each_call_of_a_ring_fails_at_each_use_and_threads_do_the_work, "C+fail") {
    static const enum os_call calls[] = {OS_IO_URING_SETUP, OS_IO_URING_REGISTER, OS_MAP,
                                         OS_IO_URING_ENTER, OS_EPOLL_CREATE,      OS_EPOLL_CTL};
    static const int errors[] = {ENOMEM, EBUSY, EAGAIN};
    struct scene scene;
    uint32_t uses[OS_CALL_COUNT];
    os_fail_never();
    assert_int_equal(unsetenv("JZX_IO_BACKEND"), 0);
    run(&scene);
    if (scene.taken == 0)
        skip(); /* this system has no io_uring, or forbids it */
    memcpy(uses, os_faults.uses, sizeof uses);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (uint32_t at = 1; at <= uses[calls[i]]; at++) {
            os_fail(calls[i], at, 1, errors[at % 3]);
            run(&scene);
            /* The second register sets a limit that a ring can do without. */
            bool is_needed =
                calls[i] != OS_IO_URING_ENTER && (calls[i] != OS_IO_URING_REGISTER || at == 1);
            JZX_EXPECT(!is_needed || scene.taken == 0);
        }
    }
    os_fail(OS_IO_URING_ENTER, 1, UINT32_MAX, EBUSY);
    run(&scene);
    JZX_EXPECT_EQ(scene.taken, 0);
}

#else

JZX_TEST(without_the_header_files_are_served_by_threads) {
    struct jzx__urings_books books;
    jzx_loop *loop = fixture_loop();
    JZX_EXPECT(jzx__urings_look(loop, &books));
    JZX_EXPECT_EQ(books.taken, 0);
    fixture_destroy(loop);
}

#endif
