/* SPDX-License-Identifier: MIT */
/* Options and settings of streams and listeners, read back from the system. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/unix.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FD_MAX 1024

static unsigned finished;

static void run_fiber(jzx_fiber_fn fn) {
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    finished = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

static int option_of(int fd, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    JZX_EXPECT_EQ(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

static int fd_of(jzx_context *ctx, jzx_stream stream) {
    jzx_stream_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, stream, &info), JZX_OK);
    return info.fd;
}

/* The descriptor of the only listener. */
static int listening_fd(void) {
    int found = -1;
    for (int fd = 0; fd < FD_MAX; fd++) {
        int listens = 0;
        socklen_t size = sizeof listens;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens) {
            JZX_EXPECT_EQ(found, -1);
            found = fd;
        }
    }
    JZX_EXPECT(found >= 0);
    return found;
}

static jzx_listener listen_at(jzx_context *ctx, const char *at, const jzx_listen_opts *opts,
                              char address[JZX_ADDRESS_MAX]) {
    jzx_listener listener = 0;
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, at, opts, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, listener, address, JZX_ADDRESS_MAX), JZX_OK);
    return listener;
}

/* ---- streams ---- */

static const jzx_stream_opts unusual = {.size = sizeof(jzx_stream_opts),
                                        .receive_buffer = 20000,
                                        .send_buffer = 30000,
                                        .delay = true,
                                        .keepalive = true};

/* Linux doubles the size of a buffer. */
static void expect_unusual(jzx_context *ctx, jzx_stream stream, bool is_tcp) {
    int fd = fd_of(ctx, stream);
    JZX_EXPECT_EQ(option_of(fd, SOL_SOCKET, SO_RCVBUF), 40000);
    JZX_EXPECT_EQ(option_of(fd, SOL_SOCKET, SO_SNDBUF), 60000);
    if (is_tcp)
        JZX_EXPECT_EQ(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    JZX_EXPECT_EQ(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), is_tcp);
}

static void expect_usual(jzx_context *ctx, jzx_stream stream) {
    int fd = fd_of(ctx, stream);
    JZX_EXPECT(option_of(fd, SOL_SOCKET, SO_RCVBUF) != 40000);
    JZX_EXPECT(option_of(fd, SOL_SOCKET, SO_SNDBUF) != 60000);
    JZX_EXPECT_EQ(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    JZX_EXPECT_EQ(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
}

static void open_streams(jzx_context *ctx) {
    const jzx_connect_opts connect = JZX_CONNECT_OPTS(.stream = &unusual);
    const jzx_listen_opts listen = JZX_LISTEN_OPTS(.stream = &unusual);
    char address[JZX_ADDRESS_MAX];
    jzx_stream mine;
    jzx_stream theirs;
    for (unsigned i = 0; i < 4; i++) {
        const char *at = i % 2 == 0 ? "127.0.0.1:0" : "[::1]:0";
        bool listens = i / 2 == 0;
        jzx_listener listener = listen_at(ctx, at, listens ? &listen : NULL, address);
        JZX_EXPECT_EQ(jzx_tcp_connect(ctx, address, listens ? NULL : &connect, JZX_NEVER, &mine),
                      JZX_OK);
        JZX_EXPECT_EQ(jzx_tcp_accept(ctx, listener, JZX_NEVER, &theirs), JZX_OK);
        expect_unusual(ctx, listens ? theirs : mine, true);
        expect_usual(ctx, listens ? mine : theirs);
        JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, listener), JZX_OK);
    }
    jzx_stream pair[2];
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, &unusual, pair), JZX_OK);
    expect_unusual(ctx, pair[0], false);
    expect_unusual(ctx, pair[1], false);
    finished++;
}

JZX_TEST(the_system_has_the_options_of_accepted_connected_and_paired_streams) {
    run_fiber(open_streams);
}

static void connect_from(jzx_context *ctx) {
    char address[JZX_ADDRESS_MAX];
    char text[JZX_ADDRESS_MAX];
    char own[JZX_ADDRESS_MAX];
    jzx_stream mine;
    jzx_stream theirs;
    jzx_listener listener = listen_at(ctx, "127.0.0.1:0", NULL, address);
    JZX_EXPECT_EQ(
        jzx_tcp_connect(ctx, address, &JZX_CONNECT_OPTS(.local = "127.0.0.2:0"), JZX_NEVER, &mine),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_accept(ctx, listener, JZX_NEVER, &theirs), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_peer(ctx->loop, theirs, text, sizeof text), JZX_OK);
    JZX_EXPECT(strncmp(text, "127.0.0.2:", 10) == 0);
    JZX_EXPECT_EQ(jzx_stream_local(ctx->loop, mine, own, sizeof own), JZX_OK);
    JZX_EXPECT(strcmp(own, text) == 0);
    JZX_EXPECT_EQ(jzx_stream_local(ctx->loop, theirs, own, sizeof own), JZX_OK);
    JZX_EXPECT(strcmp(own, address) == 0);
    JZX_EXPECT_EQ(
        jzx_tcp_connect(ctx, address, &JZX_CONNECT_OPTS(.local = "192.0.2.1:0"), JZX_NEVER, &mine),
        JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(
        jzx_tcp_connect(ctx, address, &JZX_CONNECT_OPTS(.local = "127.0.0.2"), JZX_NEVER, &mine),
        JZX_ERR_INVALID_ARG);

    char at[32];
    char from[40];
    snprintf(at, sizeof at, "@jzx-options-%d", (int)getpid());
    snprintf(from, sizeof from, "%s-client", at);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, at, NULL, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_unix_connect(ctx, at, &JZX_CONNECT_OPTS(.local = from), JZX_NEVER, &mine),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_unix_accept(ctx, listener, JZX_NEVER, &theirs), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_peer(ctx->loop, theirs, text, sizeof text), JZX_OK);
    JZX_EXPECT(strcmp(text, from) == 0);
    JZX_EXPECT_EQ(jzx_stream_local(ctx->loop, mine, text, strlen(from)), JZX_ERR_TOO_LONG);
    JZX_EXPECT_EQ(jzx_stream_local(ctx->loop, mine, text, strlen(from) + 1), JZX_OK);
    finished++;
}

JZX_TEST(a_stream_connects_from_the_local_address_that_it_is_given) {
    run_fiber(connect_from);
}

/* ---- listeners ---- */

static int max_backlog_of(int fd) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    memset(&info, 0, sizeof info);
    JZX_EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    return (int)info.tcpi_sacked; /* Linux keeps the limit of a listener there */
}

static int system_backlog(void) {
    int max = -1;
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "r");
    if (JZX_EXPECT(file != NULL)) {
        JZX_EXPECT_EQ(fscanf(file, "%d", &max), 1);
        fclose(file);
    }
    return max;
}

static void open_listeners(jzx_context *ctx) {
    char address[JZX_ADDRESS_MAX];
    int max = system_backlog();
    int usual = max < (int)JZX_DEFAULT_BACKLOG ? max : (int)JZX_DEFAULT_BACKLOG;
    for (unsigned i = 0; i < 4; i++) {
        const jzx_listen_opts opts =
            JZX_LISTEN_OPTS(.backlog = i == 0 ? 7 : 0, .reuse_port = i == 1, .v6_only = i == 2);
        jzx_listener listener = listen_at(ctx, "[::]:0", i == 3 ? NULL : &opts, address);
        int fd = listening_fd();
        JZX_EXPECT_EQ(max_backlog_of(fd), i == 0 ? 7 : usual);
        JZX_EXPECT_EQ(option_of(fd, SOL_SOCKET, SO_REUSEADDR), 1);
        JZX_EXPECT_EQ(option_of(fd, SOL_SOCKET, SO_REUSEPORT), i == 1);
        JZX_EXPECT_EQ(option_of(fd, IPPROTO_IPV6, IPV6_V6ONLY), i == 2);
        jzx_listener second;
        JZX_EXPECT_EQ(jzx_tcp_listen(ctx, address, &opts, &second),
                      i == 1 ? JZX_OK : JZX_ERR_ADDRESS_IN_USE);
        JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, listener), JZX_OK);
        if (i == 1)
            JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, second), JZX_OK);
    }
    jzx_listener listener;
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0",
                                 &JZX_LISTEN_OPTS(.backlog = (uint32_t)INT32_MAX + 1), &listener),
                  JZX_ERR_INVALID_ARG);
    finished++;
}

JZX_TEST(the_system_has_the_options_of_listeners) {
    run_fiber(open_listeners);
}

static void set_modes(jzx_context *ctx) {
    static const mode_t modes[] = {0, 0600, 0660, 0777, 0};
    char path[64];
    struct stat file;
    jzx_listener listener;
    mode_t mask = umask(0027);
    snprintf(path, sizeof path, "/tmp/jzx_options_%d.sock", (int)getpid());
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        JZX_EXPECT_EQ(jzx_unix_listen(ctx, path, &JZX_LISTEN_OPTS(.mode = modes[i]), &listener),
                      JZX_OK);
        JZX_EXPECT_EQ(stat(path, &file), 0);
        JZX_EXPECT(S_ISSOCK(file.st_mode));
        JZX_EXPECT_EQ(file.st_mode & 07777, modes[i] != 0 ? modes[i] : 0750);
        JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, listener), JZX_OK);
        JZX_EXPECT_EQ(access(path, F_OK), -1);
    }
    (void)umask(mask);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, path, &JZX_LISTEN_OPTS(.mode = 010000), &listener),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(access(path, F_OK), -1);
    finished++;
}

JZX_TEST(the_file_of_a_unix_listener_has_its_mode_or_that_of_the_umask) {
    run_fiber(set_modes);
}

/* ---- settings ---- */

static void expect_keepalive(int fd, int idle, int interval, int count) {
    JZX_EXPECT_EQ(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    JZX_EXPECT_EQ(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), idle);
    JZX_EXPECT_EQ(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), interval);
    JZX_EXPECT_EQ(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), count);
}

static void set_keepalive(jzx_context *ctx, jzx_stream stream) {
    jzx_loop *loop = ctx->loop;
    int fd = fd_of(ctx, stream);
    int usual[3] = {option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE),
                    option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL),
                    option_of(fd, IPPROTO_TCP, TCP_KEEPCNT)};
    JZX_EXPECT_EQ(jzx_stream_set_keepalive(loop, stream, 0, 0, 0), JZX_OK);
    expect_keepalive(fd, usual[0], usual[1], usual[2]);
    JZX_EXPECT_EQ(jzx_stream_set_keepalive(loop, stream, JZX_SECOND(30), JZX_SECOND(5), 3), JZX_OK);
    expect_keepalive(fd, 30, 5, 3);
    JZX_EXPECT_EQ(jzx_stream_set_keepalive(loop, stream, JZX_MS(1001), 1, 1), JZX_OK);
    expect_keepalive(fd, 2, 1, 1);
    JZX_EXPECT_EQ(jzx_stream_set_keepalive(loop, stream, JZX_NEVER - 1, JZX_NEVER, UINT32_MAX),
                  JZX_OK);
    expect_keepalive(fd, INT16_MAX, INT16_MAX, INT8_MAX); /* the most that Linux has */
    JZX_EXPECT_EQ(jzx_stream_set_keepalive(loop, stream, JZX_NEVER, JZX_SECOND(9), 9), JZX_OK);
    JZX_EXPECT_EQ(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    JZX_EXPECT_EQ(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), INT8_MAX);
}

static void expect_linger(int fd, int is_on, int seconds) {
    struct linger linger = {-1, -1};
    socklen_t size = sizeof linger;
    JZX_EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size), 0);
    JZX_EXPECT_EQ(linger.l_onoff, is_on);
    if (is_on)
        JZX_EXPECT_EQ(linger.l_linger, seconds);
}

/* With 0, the last, close resets the connection. */
static void set_linger(jzx_context *ctx, jzx_stream stream, jzx_stream peer) {
    char buf[4];
    size_t len;
    int fd = fd_of(ctx, stream);
    JZX_EXPECT_EQ(jzx_stream_set_linger(ctx->loop, stream, 7), JZX_OK);
    expect_linger(fd, 1, 7);
    JZX_EXPECT_EQ(jzx_stream_set_linger(ctx->loop, stream, -5), JZX_OK);
    expect_linger(fd, 0, 0);
    JZX_EXPECT_EQ(jzx_stream_set_linger(ctx->loop, stream, 0), JZX_OK);
    expect_linger(fd, 1, 0);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, stream), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, peer, buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_RESET);
    JZX_EXPECT_EQ(jzx_stream_set_linger(ctx->loop, stream, 0), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_stream_set_nodelay(ctx->loop, stream, true), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_stream_set_keepalive(ctx->loop, stream, 0, 0, 0), JZX_ERR_CLOSED);
}

static void change_settings(jzx_context *ctx) {
    char address[JZX_ADDRESS_MAX];
    jzx_stream mine;
    jzx_stream theirs;
    jzx_listener listener = listen_at(ctx, "127.0.0.1:0", NULL, address);
    JZX_EXPECT_EQ(jzx_tcp_connect(ctx, address, NULL, JZX_NEVER, &mine), JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_accept(ctx, listener, JZX_NEVER, &theirs), JZX_OK);
    for (int on = 0; on <= 1; on++) {
        JZX_EXPECT_EQ(jzx_stream_set_nodelay(ctx->loop, mine, on != 0), JZX_OK);
        JZX_EXPECT_EQ(option_of(fd_of(ctx, mine), IPPROTO_TCP, TCP_NODELAY), on);
    }
    set_keepalive(ctx, mine);
    set_linger(ctx, mine, theirs);
    finished++;
}

JZX_TEST(the_system_has_the_settings_of_a_stream) {
    run_fiber(change_settings);
}

/* ---- defaults ---- */

JZX_TEST(options_begin_as_their_macros_say) {
    jzx_stream_opts stream;
    jzx_listen_opts listen;
    jzx_connect_opts connect;
    memset(&stream, 0xff, sizeof stream);
    memset(&listen, 0xff, sizeof listen);
    memset(&connect, 0xff, sizeof connect);
    JZX_EXPECT_EQ(jzx_stream_opts_init(&stream, sizeof stream), JZX_OK);
    JZX_EXPECT(stream.size == sizeof stream && stream.queue_max == 0 && stream.queue_high == 0 &&
               stream.queue_low == 0 && stream.receive_buffer == 0 && stream.send_buffer == 0 &&
               stream.idle_ns == 0 && !stream.delay && !stream.keepalive);
    JZX_EXPECT_EQ(jzx_listen_opts_init(&listen, sizeof listen), JZX_OK);
    JZX_EXPECT(listen.size == sizeof listen && listen.backlog == JZX_DEFAULT_BACKLOG &&
               listen.connections_max == 0 && !listen.reuse_port && !listen.v6_only &&
               listen.mode == 0 && listen.stream == NULL &&
               listen.accept_mode == JZX_ACCEPT_SPREAD);
    JZX_EXPECT_EQ(jzx_connect_opts_init(&connect, sizeof connect), JZX_OK);
    JZX_EXPECT(connect.size == sizeof connect && connect.local == NULL && connect.stream == NULL);
    JZX_EXPECT_EQ(jzx_stream_opts_init(&stream, 0), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_listen_opts_init(NULL, sizeof listen), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_connect_opts_init(NULL, sizeof connect), JZX_ERR_INVALID_ARG);
}
