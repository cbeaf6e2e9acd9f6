/* SPDX-License-Identifier: MIT */
/* Streams when the system or memory fails: each call at each of its uses. Nothing hangs, nothing is
 * left open, and every failure has a status. */
#include "net/read.h"

#include "descriptors.h"
#include "fixture.h"
#include "os_faults.h"

#include <jzx/fiber.h>
#include <jzx/tcp.h>
#include <jzx/unix.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { DONE = 1 };

static struct {
    char address[JZX_ADDRESS_MAX];
    jzx_listener listener;
    bool is_whole; /* the scenario came to its end */
} world;

/* Of a client that is told nothing of what fails at the server: it gives up after a while. */
static bool is_known(jzx_err err) {
    static const jzx_err known[] = {JZX_ERR_IO,
                                    JZX_ERR_NO_MEMORY,
                                    JZX_ERR_NO_DESCRIPTORS,
                                    JZX_ERR_RESET,
                                    JZX_ERR_END,
                                    JZX_ERR_CLOSED,
                                    JZX_ERR_TIMEOUT,
                                    JZX_ERR_REFUSED,
                                    JZX_ERR_IO_REG_FAILED,
                                    JZX_ERR_INVALID_STATE,
                                    JZX_ERR_NO_SUCH_ACTOR,
                                    JZX_ERR_ADDRESS_IN_USE,
                                    JZX_ERR_INVALID_ARG};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (err == known[i])
            return true;
    }
    return err == JZX_OK;
}

static bool went_well(jzx_err err) {
    JZX_EXPECT(is_known(err));
    return err == JZX_OK;
}

/* A message or a future may be lost for want of memory: the call says so. */
static bool await_result(jzx_context *ctx, jzx_err err, uint64_t deadline_ns) {
    jzx_message msg;
    if (!went_well(err) || jzx_receive_tag(ctx, DONE, deadline_ns, &msg) != JZX_OK)
        return false;
    const jzx_result *result = msg.data;
    return went_well((jzx_err)result->err);
}

static bool talk(jzx_context *ctx, jzx_stream stream, uint64_t deadline_ns) {
    char part[] = "part";
    const struct iovec parts[2] = {{part, 2}, {part + 2, 2}};
    char buf[64];
    size_t len;
    jzx_op op;
    return went_well(jzx_stream_write(ctx, stream, "hello\n", 6, deadline_ns)) &&
           went_well(
               jzx_stream_read_until(ctx, stream, '\n', buf, sizeof buf, deadline_ns, &len)) &&
           went_well(jzx_stream_writev(ctx, stream, parts, 2, deadline_ns)) &&
           await_result(ctx, jzx_stream_read_exact_to(ctx, stream, 4, DONE, &op), deadline_ns) &&
           await_result(ctx, jzx_stream_write_to(ctx, stream, "end", 3, DONE, &op), deadline_ns) &&
           went_well(jzx_stream_read(ctx, stream, buf, sizeof buf, deadline_ns, &len)) &&
           went_well(jzx_stream_shutdown(ctx, stream, deadline_ns));
}

static void call(jzx_context *ctx) {
    jzx_stream stream;
    uint64_t deadline_ns = jzx_in(ctx, JZX_MS(300));
    jzx_test_ran();
    jzx_err err = jzx_tcp_connect(ctx, world.address, NULL, deadline_ns, &stream);
    world.is_whole = went_well(err) && talk(ctx, stream, deadline_ns);
    (void)jzx_listener_close(ctx->loop, world.listener);
}

static void serve(jzx_context *ctx) {
    jzx_stream stream;
    char buf[64];
    size_t len;
    jzx_test_ran();
    if (!went_well(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &world.listener)) ||
        !went_well(
            jzx_listener_address(ctx->loop, world.listener, world.address, sizeof world.address)) ||
        jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = call), NULL) != JZX_OK)
        return;
    while (went_well(jzx_tcp_accept(ctx, world.listener, JZX_NEVER, &stream))) {
        while (went_well(jzx_stream_read(ctx, stream, buf, sizeof buf, JZX_NEVER, &len)) &&
               went_well(jzx_stream_write(ctx, stream, buf, len, JZX_NEVER))) {
        }
        (void)jzx_stream_close(ctx->loop, stream);
    }
}

/* True if all went well. The fault is set by then. */
static bool run_scenario(void (*set_fault)(uint32_t at), uint32_t at) {
    jzx_loop *loop = fixture_loop();
    memset(&world, 0, sizeof world);
    jzx__io_of(loop)->os = &os_faulty;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = serve));
    set_fault(at);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_fail_allocations(UINT64_MAX, 0);
    bool is_whole = world.is_whole;
    fixture_destroy(loop);
    return is_whole;
}

static struct {
    enum os_call call;
    int error;
} fault;

static void fail_call(uint32_t at) {
    os_fail(fault.call, at, 1, fault.error);
}

JZX_TEST(each_call_of_a_socket_fails_at_each_use_and_nothing_is_left, "C+fail") {
    static const struct {
        enum os_call call;
        int error;
    } faults[] = {{OS_SOCKET, EMFILE},       {OS_BIND, EADDRINUSE},   {OS_LISTEN, EADDRINUSE},
                  {OS_ACCEPT, EMFILE},       {OS_ACCEPT, EINTR},      {OS_ACCEPT, EBADF},
                  {OS_CONNECT, ENOBUFS},     {OS_SHUTDOWN, ENOTCONN}, {OS_SETSOCKOPT, ENOMEM},
                  {OS_GETSOCKNAME, ENOBUFS}, {OS_RECV, ECONNRESET},   {OS_RECV, EINTR},
                  {OS_SEND, EPIPE},          {OS_SEND, EINTR},        {OS_SENDMSG, ECONNRESET},
                  {OS_EPOLL_CTL, ENOSPC},    {OS_EPOLL_WAIT, EINTR}};
    int open_before = descriptors_open();
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        bool was_used = true;
        fault.call = faults[i].call;
        fault.error = faults[i].error;
        for (uint32_t at = 1; was_used && at < 60; at++) {
            bool is_whole = run_scenario(fail_call, at);
            was_used = os_faults.uses[fault.call] >= at;
            JZX_EXPECT(is_whole || was_used);
            if (fault.error == EINTR)
                JZX_EXPECT(is_whole); /* nobody notices */
            os_fail_never();
            JZX_EXPECT_EQ(descriptors_open(), open_before);
        }
    }
}

static void fail_memory(uint32_t at) {
    os_fail_never();
    fixture_fail_allocations(at, 1);
}

JZX_TEST(each_allocation_fails_and_nothing_is_left, "C+fail") {
    int open_before = descriptors_open();
    uint32_t whole = 0;
    for (uint32_t at = 0; whole < 3 && at < 200; at++) {
        whole += run_scenario(fail_memory, at);
        JZX_EXPECT_EQ(descriptors_open(), open_before);
    }
    JZX_EXPECT_EQ(whole, 3);
}

/* ---- accept ---- */

/* Four times there are no descriptors for the connection; then there are. */
static void accept_by_message(jzx_context *ctx) {
    jzx_stream stream;
    jzx_op op;
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &world.listener), JZX_OK);
    JZX_EXPECT_EQ(
        jzx_listener_address(ctx->loop, world.listener, world.address, sizeof world.address),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_accept_to(ctx, world.listener, DONE, &op), JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_connect(ctx, world.address, NULL, JZX_NEVER, &stream), JZX_OK);
    world.is_whole = await_result(ctx, JZX_OK, JZX_NEVER);
}

JZX_TEST(accept_without_descriptors_waits_and_tries_again_without_spinning, "C+fail") {
    jzx_loop *loop = fixture_loop();
    memset(&world, 0, sizeof world);
    jzx__io_of(loop)->os = &os_faulty;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = accept_by_message));
    os_fail(OS_ACCEPT, 2, 4, EMFILE);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(world.is_whole);
    JZX_EXPECT_EQ(os_faults.uses[OS_ACCEPT], 6); /* once in vain, four failures, the connection */
    os_fail_never();
    fixture_destroy(loop);
}

/* ---- the file of a Unix socket ---- */

static char unix_path[64];

static void make_stale_socket(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", unix_path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    JZX_EXPECT_EQ(bind(fd, (const void *)&address, sizeof address), 0);
    JZX_EXPECT_EQ(close(fd), 0);
}

static void listen_at_path(jzx_context *ctx) {
    const jzx_listen_opts opts = JZX_LISTEN_OPTS(.mode = 0666);
    jzx_test_ran();
    world.is_whole = went_well(jzx_unix_listen(ctx, unix_path, &opts, &world.listener));
    if (world.is_whole)
        JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, world.listener), JZX_OK);
}

/* True if it has listened. The path was free, or a stale socket had it. A file that cannot be
 * looked at is not removed. */
static bool run_listen(void (*set_fault)(uint32_t at), uint32_t at, bool is_stale) {
    jzx_loop *loop = fixture_loop();
    world.is_whole = false;
    if (is_stale)
        make_stale_socket();
    jzx__io_of(loop)->os = &os_faulty;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = listen_at_path));
    set_fault(at);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_fail_allocations(UINT64_MAX, 0);
    fixture_destroy(loop);
    bool is_there = access(unix_path, F_OK) == 0;
    JZX_EXPECT(!is_there || (is_stale && !world.is_whole) || fault.call == OS_STAT_AT);
    (void)unlink(unix_path);
    return world.is_whole;
}

JZX_TEST(a_unix_listener_that_fails_leaves_no_file, "C+fail") {
    static const enum os_call calls[] = {OS_SOCKET,  OS_OPEN_DIR,  OS_BIND,     OS_STAT_AT,
                                         OS_LISTEN,  OS_CONNECT,   OS_CHMOD_AT, OS_CHMOD,
                                         OS_OPEN_AT, OS_RENAME_AT, OS_SHUTDOWN};
    int open_before = descriptors_open();
    const mode_t mask = umask(022); /* the mode is set by each of the two calls */
    snprintf(unix_path, sizeof unix_path, "/tmp/jzx_unit_%d.sock", (int)getpid());
    for (uint32_t stale = 0; stale < 2; stale++) {
        uint32_t whole = 0;
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
            bool was_used = true;
            fault.call = calls[i];
            fault.error = EMFILE;
            for (uint32_t at = 1; was_used; at++) {
                bool is_whole = run_listen(fail_call, at, stale);
                was_used = os_faults.uses[fault.call] >= at;
                JZX_EXPECT(is_whole || was_used);
                JZX_EXPECT_EQ(descriptors_open(), open_before);
            }
        }
        fault.call = OS_CALL_COUNT;
        for (uint32_t at = 0; whole < 3 && at < 200; at++) {
            whole += run_listen(fail_memory, at, stale);
            JZX_EXPECT_EQ(descriptors_open(), open_before);
        }
        JZX_EXPECT_EQ(whole, 3);
    }
    umask(mask);
}

static int rival; /* that listens at the path */

/* Another listener has found the same stale socket, and is faster. */
static int connect_and_lose(int fd, const struct sockaddr *address, socklen_t size) {
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    int err = jzx__os_system.connect(fd, address, size);
    snprintf(path.sun_path, sizeof path.sun_path, "%s", unix_path);
    JZX_EXPECT_EQ(unlink(unix_path), 0);
    rival = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    JZX_EXPECT_EQ(bind(rival, (const void *)&path, sizeof path), 0);
    JZX_EXPECT_EQ(listen(rival, 1), 0);
    return err;
}

static void listen_too_late(jzx_context *ctx) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, unix_path, NULL, &world.listener), JZX_ERR_ADDRESS_IN_USE);
}

JZX_TEST(a_stale_socket_is_replaced_by_one_listener_only, "C+fail") {
    struct jzx__os os = jzx__os_system;
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    os.connect = connect_and_lose;
    snprintf(unix_path, sizeof unix_path, "/tmp/jzx_unit_%d.sock", (int)getpid());
    snprintf(path.sun_path, sizeof path.sun_path, "%s", unix_path);
    make_stale_socket();
    jzx_loop *loop = fixture_loop();
    jzx__io_of(loop)->os = &os;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = listen_too_late));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    JZX_EXPECT_EQ(connect(fd, (const void *)&path, sizeof path), 0); /* the rival serves */
    JZX_EXPECT_EQ(close(fd), 0);
    JZX_EXPECT_EQ(close(rival), 0);
    JZX_EXPECT_EQ(unlink(unix_path), 0);
}

static struct {
    char victim[64];
    const char *after; /* the first use of this call */
    bool is_done;
} thief;

/* Somebody who may write to the folder puts a link at the name. */
static void put_link(const char *call) {
    if (thief.is_done || strcmp(thief.after, call) != 0)
        return;
    thief.is_done = true;
    JZX_EXPECT_EQ(unlink(unix_path), 0);
    JZX_EXPECT_EQ(symlink(thief.victim, unix_path), 0);
}

static int bind_and_lose(int fd, const struct sockaddr *address, socklen_t size) {
    int err = jzx__os_system.bind(fd, address, size);
    put_link("bind");
    return err;
}

static int stat_and_lose(int dir, const char *name, struct stat *stat) {
    int err = jzx__os_system.stat_at(dir, name, stat);
    put_link("stat");
    return err;
}

static void listen_at_link(jzx_context *ctx) {
    const jzx_listen_opts opts = JZX_LISTEN_OPTS(.mode = 0666);
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, unix_path, &opts, &world.listener), JZX_ERR_ADDRESS_IN_USE);
}

JZX_TEST(a_link_that_takes_the_name_of_a_unix_listener_changes_no_other_file, "C+fail") {
    static const char *const calls[] = {"bind", "stat"};
    struct jzx__os os = jzx__os_system;
    struct stat stat;
    const mode_t mask = umask(022);
    os.bind = bind_and_lose;
    os.stat_at = stat_and_lose;
    snprintf(unix_path, sizeof unix_path, "/tmp/jzx_unit_%d.sock", (int)getpid());
    snprintf(thief.victim, sizeof thief.victim, "/tmp/jzx_unit_%d.file", (int)getpid());
    JZX_EXPECT_EQ(close(open(thief.victim, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)), 0);
    for (size_t i = 0; i < 2; i++) {
        jzx_loop *loop = fixture_loop();
        thief.after = calls[i];
        thief.is_done = false;
        jzx__io_of(loop)->os = &os;
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = listen_at_link));
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        fixture_destroy(loop);
        JZX_EXPECT_EQ(lstat(thief.victim, &stat), 0);
        JZX_EXPECT_EQ(stat.st_mode, S_IFREG | 0600);
        JZX_EXPECT_EQ(lstat(unix_path, &stat), 0);
        JZX_EXPECT(S_ISLNK(stat.st_mode)); /* it is not the listener's to remove */
        JZX_EXPECT_EQ(unlink(unix_path), 0);
    }
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    JZX_EXPECT_EQ(unlink(thief.victim), 0);
    umask(mask);
}

static unsigned warnings;

static void note_line(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    warnings += level == JZX_LOG_WARN && strstr(text, "listener") != NULL;
}

static void starve_twice(jzx_context *ctx) {
    jzx_stream stream;
    jzx_op op;
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &world.listener), JZX_OK);
    JZX_EXPECT_EQ(
        jzx_listener_address(ctx->loop, world.listener, world.address, sizeof world.address),
        JZX_OK);
    for (unsigned i = 0; i < 2; i++) {
        os_fail(OS_ACCEPT, 1, 2, i == 0 ? EMFILE : ENOMEM);
        JZX_EXPECT_EQ(jzx_tcp_connect(ctx, world.address, NULL, JZX_NEVER, &stream), JZX_OK);
        JZX_EXPECT_EQ(jzx_tcp_accept_to(ctx, world.listener, DONE, &op), JZX_OK);
        JZX_EXPECT(await_result(ctx, JZX_OK, JZX_NEVER));
        JZX_EXPECT_EQ(warnings, 2 * (i + 1));
    }
    world.is_whole = true;
}

JZX_TEST(the_log_tells_of_each_shortage_once_and_of_its_end, "C+fail") {
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 1, .log = {.write = note_line, .level = JZX_LOG_WARN}));
    memset(&world, 0, sizeof world);
    warnings = 0;
    os_fail_never();
    jzx__io_of(loop)->os = &os_faulty;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = starve_twice));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(world.is_whole);
    os_fail_never();
    fixture_destroy(loop);
}

/* The connection that is gone is the first of two; each acceptor gets one that is there. */
static void accept_behind_aborted(jzx_context *ctx) {
    jzx_stream streams[2];
    jzx_stream accepted;
    jzx_op op;
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &world.listener), JZX_OK);
    JZX_EXPECT_EQ(
        jzx_listener_address(ctx->loop, world.listener, world.address, sizeof world.address),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_connect(ctx, world.address, NULL, JZX_NEVER, &streams[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_connect(ctx, world.address, NULL, JZX_NEVER, &streams[1]), JZX_OK);
    os_fail(OS_ACCEPT, 1, 1, fault.error);
    JZX_EXPECT_EQ(jzx_tcp_accept(ctx, world.listener, JZX_NEVER, &accepted), JZX_OK);
    os_fail(OS_ACCEPT, 1, 1, fault.error);
    JZX_EXPECT_EQ(jzx_tcp_accept_to(ctx, world.listener, DONE, &op), JZX_OK);
    JZX_EXPECT(await_result(ctx, JZX_OK, JZX_NEVER));
    JZX_EXPECT_EQ(os_faults.uses[OS_ACCEPT], 2);
    os_fail(OS_ACCEPT, 1, 1, EPERM); /* what is not of a connection is told, once */
    JZX_EXPECT_EQ(jzx_tcp_accept(ctx, world.listener, JZX_NEVER, &accepted), JZX_ERR_PERMISSION);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), EPERM);
    JZX_EXPECT_EQ(jzx_tcp_connect(ctx, world.address, NULL, JZX_NEVER, &streams[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_accept(ctx, world.listener, JZX_NEVER, &accepted), JZX_OK);
    world.is_whole = true;
}

JZX_TEST(a_connection_that_is_gone_before_its_accept_is_skipped, "C+fail") {
    static const int errors[] = {ECONNABORTED, EPROTO,       ENETDOWN,    ENOPROTOOPT, EHOSTDOWN,
                                 ENONET,       EHOSTUNREACH, ENETUNREACH, EINTR};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
        memset(&world, 0, sizeof world);
        fault.error = errors[i];
        jzx__io_of(loop)->os = &os_faulty;
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = accept_behind_aborted));
        os_fail_never();
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT(world.is_whole);
        os_fail_never();
        fixture_destroy(loop);
    }
}

/* ---- bytes that are put back ---- */

/* What a read does before it waits: a try that finds nothing, after which the socket is ready no
 * more. */
static struct jzx__socket *try_to_read(struct jzx__own *own, jzx_stream handle) {
    const struct jzx__want want = {.kind = JZX__WANT_SOME, .size = 1};
    struct jzx__outcome outcome;
    struct jzx__done done = {.first = NULL};
    char byte;
    jzx_err err;
    int os_error;
    struct jzx__stream *stream = jzx__stream_acquire(own->turn->ctx.loop, handle, &err, &os_error);
    assert_non_null(stream);
    JZX_EXPECT_EQ(jzx__stream_try_read(stream, own->me, &want, &byte, &outcome), JZX__STEP_WAIT);
    jzx__socket_release(&stream->socket, own->me, &done);
    return &stream->socket;
}

/* The byte of a read that is complete goes back after the try, and before the wait. */
static void wait_after_a_restore(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_op id;
    struct jzx__own own;
    char byte = 0;
    size_t len;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, pair[1], "x", 1, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, pair[0], 1, DONE, &id), JZX_OK);
    assert_true(jzx__own_begin(&own, ctx));
    struct jzx__op *op = jzx__op_slot_at(jzx__op_slots_of(ctx->loop), (uint32_t)id);
    assert_true(jzx__op_is_done(op));
    struct jzx__socket *socket = try_to_read(&own, pair[0]);
    JZX_EXPECT(jzx__op_revoke(&own, op));
    jzx__op_restore(&own, op);
    jzx__own_end(&own);
    struct jzx__socket_wait wait = {.handle = pair[0]};
    JZX_EXPECT_EQ(jzx__socket_await(ctx, &wait, &socket->readers, jzx_in(ctx, JZX_SECOND(10))),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], &byte, 1, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT_EQ(byte, 'x');
}

JZX_TEST(a_reader_about_to_wait_finds_bytes_that_were_put_back_meanwhile) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = wait_after_a_restore));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
}
