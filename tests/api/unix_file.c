/* SPDX-License-Identifier: MIT */
/* The files of Unix sockets that listen: which a listener replaces, and which it removes. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/unix.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

enum { GO = 1 };

static struct {
    char name[40];
    int before; /* descriptor of the folder that the process worked in */
    int descriptors;
    unsigned finished;
} folder;

/* It is the working directory until folder_remove. */
static void folder_enter(void) {
    folder.descriptors = descriptors_open();
    folder.finished = 0;
    strcpy(folder.name, "/tmp/jzx_unix_XXXXXX");
    assert_non_null(mkdtemp(folder.name));
    folder.before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chdir(folder.name), 0);
}

static void folder_remove(const char *const *names) {
    assert_int_equal(chdir(folder.name), 0);
    for (; *names != NULL; names++)
        (void)remove(*names);
    assert_int_equal(fchdir(folder.before), 0);
    JZX_EXPECT_EQ(close(folder.before), 0);
    JZX_EXPECT_EQ(rmdir(folder.name), 0); /* nothing else was left there */
    JZX_EXPECT_EQ(descriptors_open(), folder.descriptors);
}

static void run_there(jzx_fiber_fn fn, const char *const *names) {
    folder_enter();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(folder.finished, 1);
    fixture_destroy(loop);
    folder_remove(names);
}

static int bound_socket(const char *path, int type) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    JZX_EXPECT_EQ(bind(fd, (const void *)&address, sizeof address), 0);
    return fd;
}

static void make_stale_socket(const char *path) {
    JZX_EXPECT_EQ(close(bound_socket(path, SOCK_STREAM)), 0);
}

static void make_file(const char *path) {
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0640);
    JZX_EXPECT_EQ(write(fd, "precious", 8), 8);
    JZX_EXPECT_EQ(close(fd), 0);
}

static bool is_there(const char *path) {
    struct stat stat;
    return lstat(path, &stat) == 0;
}

/* ---- what is replaced ---- */

/* "device" needs a right that not every test run has. */
static const char *const obstacles[] = {"file",     "fifo",      "directory", "to_file", "no_way",
                                        "to_stale", "datagrams", "bound",     "device",  NULL};
static const char *const obstructed[] = {"file",   "fifo",     "directory", "to_file",
                                         "no_way", "to_stale", "datagrams", "bound",
                                         "device", "stale",    NULL};

static void listen_at_obstacles(jzx_context *ctx) {
    jzx_listener listener;
    for (unsigned i = 0; obstacles[i] != NULL; i++) {
        struct stat before;
        struct stat after;
        if (lstat(obstacles[i], &before) != 0)
            continue;
        JZX_EXPECT_EQ(jzx_unix_listen(ctx, obstacles[i], NULL, &listener), JZX_ERR_ADDRESS_IN_USE);
        JZX_EXPECT_EQ(jzx_last_os_error(ctx), EADDRINUSE);
        if (!JZX_EXPECT_EQ(lstat(obstacles[i], &after), 0))
            continue;
        JZX_EXPECT_EQ(after.st_ino, before.st_ino);
        JZX_EXPECT_EQ(after.st_mode, before.st_mode);
        JZX_EXPECT_EQ(after.st_size, before.st_size);
        folder.finished++;
    }
    JZX_EXPECT(is_there("stale"));
}

JZX_TEST(a_listener_leaves_everything_but_a_stale_socket_at_its_path_untouched) {
    folder_enter();
    make_file("file");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(mkdir("directory", 0700), 0);
    assert_int_equal(symlink("file", "to_file"), 0);
    assert_int_equal(symlink("nowhere", "no_way"), 0);
    make_stale_socket("stale");
    assert_int_equal(symlink("stale", "to_stale"), 0);
    int datagrams = bound_socket("datagrams", SOCK_DGRAM);
    int bound = bound_socket("bound", SOCK_STREAM); /* it does not listen yet */
    unsigned device = mknod("device", S_IFCHR | 0600, makedev(1, 3)) == 0;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = listen_at_obstacles));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(folder.finished, 8 + device);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(close(datagrams), 0);
    JZX_EXPECT_EQ(close(bound), 0);
    folder_remove(obstructed);
}

static void expect_service(jzx_context *ctx, const char *path) {
    jzx_stream stream;
    JZX_EXPECT_EQ(jzx_unix_connect(ctx, path, NULL, JZX_NEVER, &stream), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, stream), JZX_OK);
}

static void listen_at_stale(jzx_context *ctx) {
    jzx_listener listener;
    make_stale_socket("stale");
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, "stale", &JZX_LISTEN_OPTS(.mode = 0600), &listener), JZX_OK);
    struct stat stat;
    JZX_EXPECT_EQ(lstat("stale", &stat), 0);
    JZX_EXPECT_EQ(stat.st_mode, S_IFSOCK | 0600);
    expect_service(ctx, "stale");
    JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, listener), JZX_OK);
    JZX_EXPECT(!is_there("stale"));
    folder.finished++;
}

JZX_TEST(a_listener_replaces_a_socket_that_nobody_has_open) {
    static const char *const names[] = {NULL};
    run_there(listen_at_stale, names);
}

/* ---- what is removed ---- */

static void close_after_successor(jzx_context *ctx) {
    jzx_listener old;
    jzx_listener successor;
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, "socket", NULL, &old), JZX_OK);
    JZX_EXPECT_EQ(unlink("socket"), 0);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, "socket", NULL, &successor), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, old), JZX_OK);
    expect_service(ctx, "socket");
    JZX_EXPECT_EQ(unlink("socket"), 0);
    make_file("socket");
    JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, successor), JZX_OK);
    JZX_EXPECT(is_there("socket"));
    folder.finished++;
}

JZX_TEST(closing_a_listener_leaves_what_has_come_to_its_path_since) {
    static const char *const names[] = {"socket", NULL};
    run_there(close_after_successor, names);
}

static void close_elsewhere(jzx_context *ctx) {
    jzx_listener listener;
    jzx_listener inside;
    JZX_EXPECT_EQ(mkdir("other", 0700), 0);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, "socket", NULL, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, "other/inside", NULL, &inside), JZX_OK);
    make_file("other/socket");
    JZX_EXPECT_EQ(chdir("other"), 0);
    JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, inside), JZX_OK);
    JZX_EXPECT(is_there("socket"));
    JZX_EXPECT(!is_there("../socket"));
    JZX_EXPECT(!is_there("inside"));
    folder.finished++;
}

JZX_TEST(a_listener_removes_its_file_after_the_process_has_changed_its_directory) {
    static const char *const names[] = {"other/socket", "other", NULL};
    run_there(close_elsewhere, names);
}

/* ---- ends ---- */

static jzx_behavior_result listen_twice(jzx_context *ctx, const jzx_message *msg) {
    jzx_listener listener;
    bool *stops_loop = ctx->state;
    JZX_EXPECT_EQ(msg->tag, GO);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, "own", NULL, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, "taken", NULL, &listener), JZX_OK);
    JZX_EXPECT_EQ(unlink("taken"), 0);
    make_file("taken");
    JZX_EXPECT_EQ(mkdir("other", 0700), 0);
    JZX_EXPECT_EQ(chdir("other"), 0);
    make_file("own");
    folder.finished++;
    if (!*stops_loop)
        return JZX_BEHAVIOR_STOP;
    jzx_loop_request_stop(ctx->loop);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_ends_of_an_actor_and_of_a_loop_remove_only_the_files_of_their_listeners) {
    static const char *const names[] = {"taken", "other/own", "other", NULL};
    for (unsigned way = 0; way < 2; way++) {
        bool stops_loop = way == 1;
        folder_enter();
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = listen_twice, .state = &stops_loop));
        fixture_send(loop, id, GO);
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        fixture_destroy(loop);
        JZX_EXPECT_EQ(folder.finished, 1);
        JZX_EXPECT(is_there("own"));
        JZX_EXPECT(is_there("../taken"));
        JZX_EXPECT(!is_there("../own"));
        folder_remove(names);
    }
}
