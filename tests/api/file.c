/* SPDX-License-Identifier: MIT */
/* Files for fibers: what is written is read, what the system refuses has a status and its errno. */
#include "filing.h"

#include <errno.h>
#include <jzx/io.h>
#include <sys/resource.h>

#define RW (JZX_FILE_READ | JZX_FILE_WRITE)

static jzx_file open_file(jzx_context *ctx, const char *name, uint32_t how) {
    jzx_file file = JZX_NO_FILE;
    JZX_EXPECT_EQ(jzx_file_open(ctx, in_folder(name), how, 0644, JZX_NEVER, &file), JZX_OK);
    JZX_EXPECT(file != JZX_NO_FILE);
    return file;
}

static void expect_read(jzx_context *ctx, jzx_file file, uint64_t offset, const char *text) {
    char buffer[64];
    size_t len = 0;
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, buffer, sizeof buffer, offset, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT(len == strlen(text) && memcmp(buffer, text, len) == 0);
}

/* ---- bytes ---- */

static void write_and_read(jzx_context *ctx) {
    jzx_test_ran();
    jzx_file file = open_file(ctx, "a", RW | JZX_FILE_CREATE);
    char buffer[4];
    size_t len = 99;
    JZX_EXPECT_EQ(jzx_file_write(ctx, file, "hello", 5, JZX_FILE_HERE, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT_EQ(len, 5);
    JZX_EXPECT_EQ(jzx_file_write(ctx, file, " world", 6, JZX_FILE_HERE, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_write(ctx, file, "J", 1, 0, JZX_NEVER, NULL), JZX_OK);
    expect_read(ctx, file, 0, "Jello world");
    expect_read(ctx, file, 6, "world");
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, buffer, 4, 11, JZX_NEVER, &len), JZX_ERR_END);
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, buffer, 4, JZX_FILE_HERE, JZX_NEVER, &len), JZX_ERR_END);
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, buffer, 4, 0, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT_EQ(len, 4);
    JZX_EXPECT_EQ(jzx_file_write(ctx, file, NULL, 0, 0, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT_EQ(len, 0);
    JZX_EXPECT_EQ(jzx_file_close(ctx->loop, file), JZX_OK);
    JZX_EXPECT(has_text("a", "Jello world"));
}

JZX_TEST(what_is_written_is_read_at_offsets_and_in_sequence, "E55") {
    in_a_fiber(write_and_read, NULL);
}

static void use_parts(jzx_context *ctx) {
    char a[3] = {0};
    char b[5] = {0};
    char texts[] = "onetwothree";
    const struct iovec out[] = {{texts, 3}, {texts, 0}, {texts + 3, 3}, {texts + 6, 5}};
    const struct iovec in[] = {{a, sizeof a}, {b, sizeof b}};
    size_t len = 0;
    jzx_test_ran();
    jzx_file file = open_file(ctx, "a", RW | JZX_FILE_CREATE | JZX_FILE_NEW);
    JZX_EXPECT_EQ(jzx_file_writev(ctx, file, out, 4, 2, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT_EQ(len, 11);
    JZX_EXPECT_EQ(jzx_file_readv(ctx, file, in, 2, 2, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT_EQ(len, 8);
    JZX_EXPECT(memcmp(a, "one", 3) == 0 && memcmp(b, "twoth", 5) == 0);
    JZX_EXPECT_EQ(jzx_file_readv(ctx, file, in, 0, 0, JZX_NEVER, &len), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_file_readv(ctx, file, in, JZX_FILE_PARTS_MAX + 1, 0, JZX_NEVER, &len),
                  JZX_ERR_INVALID_ARG);
}

JZX_TEST(pieces_are_written_and_read_in_order, "E55") {
    in_a_fiber(use_parts, NULL);
}

static void size_it(jzx_context *ctx) {
    jzx_file_info info;
    jzx_test_ran();
    jzx_file file = open_file(ctx, "a", RW | JZX_FILE_CREATE);
    JZX_EXPECT_EQ(jzx_file_write(ctx, file, "12345", 5, 0, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_truncate(ctx, file, 3, JZX_NEVER), JZX_OK);
    expect_read(ctx, file, 0, "123");
    JZX_EXPECT_EQ(jzx_file_allocate(ctx, file, 0, 10000, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_sync(ctx, file, false, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_sync(ctx, file, true, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_stat(ctx, file, JZX_NEVER, &info), JZX_OK);
    JZX_EXPECT_EQ(info.bytes, 10000);
    JZX_EXPECT(info.allocated >= 10000);
    JZX_EXPECT_EQ(info.kind, JZX_FILE_REGULAR);
    JZX_EXPECT_EQ(info.links, 1);
    JZX_EXPECT(info.modified_ns > 0);
    JZX_EXPECT_EQ(jzx_file_allocate(ctx, file, 0, 0, JZX_NEVER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_file_truncate(ctx, file, UINT64_MAX, JZX_NEVER), JZX_ERR_INVALID_ARG);
}

JZX_TEST(a_file_is_sized_synced_and_looked_at, "E55") {
    in_a_fiber(size_it, NULL);
}

static void append(jzx_context *ctx) {
    jzx_test_ran();
    put_file("a", "one");
    jzx_file file = open_file(ctx, "a", JZX_FILE_WRITE | JZX_FILE_APPEND);
    JZX_EXPECT_EQ(jzx_file_write(ctx, file, "two", 3, JZX_FILE_HERE, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT(has_text("a", "onetwo"));
    jzx_file again = open_file(ctx, "a", RW | JZX_FILE_TRUNCATE);
    JZX_EXPECT(has_text("a", ""));
    JZX_EXPECT(file != again);
    jzx_file unnamed = JZX_NO_FILE;
    JZX_EXPECT_EQ(jzx_file_temporary(ctx, folder, JZX_NEVER, &unnamed), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_write(ctx, unnamed, "x", 1, 0, JZX_NEVER, NULL), JZX_OK);
    expect_read(ctx, unnamed, 0, "x");
    JZX_EXPECT_EQ(count_names(), 1);
    JZX_EXPECT(jzx_file_fd(ctx->loop, unnamed) >= 0);
    /* None of them is closed: they end with the fiber. */
}

JZX_TEST(files_append_are_truncated_and_may_have_no_name, "E55") {
    in_a_fiber(append, NULL);
}

/* ---- errors ---- */

static void expect_open(jzx_context *ctx, const char *path, uint32_t how, jzx_err err, int error) {
    jzx_file file = 77;
    JZX_EXPECT_EQ(jzx_file_open(ctx, path, how, 0644, JZX_NEVER, &file), err);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), error);
    JZX_EXPECT_EQ(file, 77);
}

static void fail_to_open(jzx_context *ctx) {
    char path[6000];
    jzx_file file;
    jzx_test_ran();
    put_file("a", "");
    expect_open(ctx, in_folder("none"), RW, JZX_ERR_NOT_FOUND, ENOENT);
    expect_open(ctx, in_folder("a"), RW | JZX_FILE_CREATE | JZX_FILE_NEW, JZX_ERR_EXISTS, EEXIST);
    expect_open(ctx, folder, JZX_FILE_WRITE, JZX_ERR_IO, EISDIR);
    expect_open(ctx, in_folder("a"), JZX_FILE_READ | JZX_FILE_DIRECTORY, JZX_ERR_IO, ENOTDIR);
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    expect_open(ctx, path, RW, JZX_ERR_TOO_LONG, ENAMETOOLONG);
    JZX_EXPECT_EQ(symlink("a", in_folder("link")), 0);
    expect_open(ctx, in_folder("link"), RW | JZX_FILE_NO_FOLLOW, JZX_ERR_IO, ELOOP);
    JZX_EXPECT_EQ(jzx_file_open(ctx, NULL, RW, 0, JZX_NEVER, &file), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_file_open(ctx, "a", JZX_FILE_CREATE, 0, JZX_NEVER, &file),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_file_open(ctx, "a", RW | 0x100, 0, JZX_NEVER, &file), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_file_open(ctx, "a", RW | JZX_FILE_NEW, 0, JZX_NEVER, &file),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_file_open(ctx, "a", RW, 0, JZX_NEVER, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_file_open(ctx, "a", RW, 0, 0, &file), JZX_ERR_TIMEOUT);
}

JZX_TEST(what_cannot_be_opened_has_a_status_and_its_errno, "E55", "C+fail") {
    in_a_fiber(fail_to_open, NULL);
}

static void fill_disk(jzx_context *ctx) {
    jzx_file file = JZX_NO_FILE;
    size_t done = 99;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_file_open(ctx, "/dev/full", JZX_FILE_WRITE, 0, JZX_NEVER, &file), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_write(ctx, file, "x", 1, JZX_FILE_HERE, JZX_NEVER, &done),
                  JZX_ERR_NO_SPACE);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ENOSPC);
    JZX_EXPECT_EQ(done, 0);
    JZX_EXPECT_EQ(jzx_file_close(ctx->loop, file), JZX_OK);
}

JZX_TEST(a_full_disk_is_an_error, "C+fail") {
    in_a_fiber(fill_disk, NULL);
}

/* The first write is cut by the limit, the second gets nothing; SIGXFSZ reaches nobody. */
static void exceed_limit(jzx_context *ctx) {
    char block[1000];
    size_t done = 99;
    jzx_test_ran();
    memset(block, 'x', sizeof block);
    const uint64_t most = 1u << 26; /* more than what else this process writes meanwhile */
    const struct rlimit limit = {most, RLIM_INFINITY};
    jzx_file file = open_file(ctx, "a", JZX_FILE_WRITE | JZX_FILE_CREATE);
    JZX_EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    JZX_EXPECT_EQ(jzx_file_write(ctx, file, block, 1000, most - 1500, JZX_NEVER, &done), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_write(ctx, file, block, 1000, most - 500, JZX_NEVER, &done),
                  JZX_ERR_NO_SPACE);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), EFBIG);
    JZX_EXPECT_EQ(done, 500); /* and so many are in the file */
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    JZX_EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
}

JZX_TEST(a_limit_on_the_size_of_files_is_an_error_and_no_signal, "C+fail") {
    in_a_fiber(exceed_limit, NULL);
}

static void run_out(jzx_context *ctx) {
    struct rlimit before;
    jzx_file files[64];
    uint32_t count = 0;
    jzx_err err = JZX_OK;
    jzx_test_ran();
    put_file("a", "");
    files[count++] = open_file(ctx, "a", RW); /* its thread is there */
    JZX_EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {(rlim_t)(descriptors_open() + 5), before.rlim_max};
    JZX_EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (count < 64 &&
           (err = jzx_file_open(ctx, in_folder("a"), RW, 0, JZX_NEVER, &files[count])) == JZX_OK)
        count++;
    JZX_EXPECT_EQ(err, JZX_ERR_NO_DESCRIPTORS);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), EMFILE);
    JZX_EXPECT_EQ(jzx_file_close(ctx->loop, files[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_open(ctx, in_folder("a"), RW, 0, JZX_NEVER, &files[0]), JZX_OK);
    JZX_EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

JZX_TEST(without_descriptors_an_open_fails_until_one_is_closed, "C+fail") {
    in_a_fiber(run_out, NULL);
}

/* ---- files that are no regular ones ---- */

/* No descriptor for writing only is ever ready to be read: a wait for that has no end. */
static void read_what_is_written(jzx_context *ctx) {
    char buffer[4];
    size_t len = 0;
    jzx_test_ran();
    JZX_EXPECT_EQ(mkfifo(in_folder("pipe"), 0600), 0);
    int reader = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    JZX_EXPECT(reader >= 0);
    jzx_file file = open_file(ctx, "pipe", JZX_FILE_WRITE);
    const uint64_t deadline = jzx_loop_now(ctx->loop) + JZX_SECOND(10);
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, buffer, 4, JZX_FILE_HERE, deadline, &len),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), EBADF);
    close(reader);
}

JZX_TEST(a_pipe_that_was_opened_for_writing_only_is_not_read_and_nobody_waits, "C+fail") {
    in_a_fiber(read_what_is_written, NULL);
}

/* ---- handles ---- */

static void go_stale(jzx_context *ctx) {
    char buffer[4];
    size_t len;
    jzx_file_info info;
    jzx_test_ran();
    jzx_file file = open_file(ctx, "a", RW | JZX_FILE_CREATE);
    JZX_EXPECT_EQ(jzx_file_close(ctx->loop, file), JZX_OK);
    jzx_file other = open_file(ctx, "b", RW | JZX_FILE_CREATE); /* in its place */
    JZX_EXPECT_EQ((uint32_t)file, (uint32_t)other);
    JZX_EXPECT(file != other);
    JZX_EXPECT_EQ(jzx_file_close(ctx->loop, file), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, buffer, 4, 0, JZX_NEVER, &len), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_file_write(ctx, file, "x", 1, 0, JZX_NEVER, NULL), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_file_stat(ctx, file, JZX_NEVER, &info), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_file_fd(ctx->loop, file), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_file_give(ctx, file, ctx->self), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_file_close(ctx->loop, JZX_NO_FILE), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_file_close(ctx->loop, UINT64_MAX), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_file_close(NULL, other), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(has_text("b", ""));
}

JZX_TEST(a_stale_handle_is_closed_and_never_another_file) {
    in_a_fiber(go_stale, NULL);
}
