/* SPDX-License-Identifier: MIT */
/* Servers under attack: crowds, storms, resets, slow and stalled peers, no descriptors, signals,
 * and a worker that is handed over. Whatever the clients do, each honest one gets its echo, memory
 * is bounded, and no descriptor is left. */
#include "serving.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static struct server server;

/* ---- crowds, from a process of their own ---- */

static void allow_descriptors(uint32_t count) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < count + 64)
        skip();
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* All connect, then each asks twice, then all leave. The port comes by a pipe. */
static int crowd(int port_fd, uint32_t count) {
    uint16_t port;
    int *fds = calloc(count, sizeof *fds);
    if (fds == NULL || read(port_fd, &port, sizeof port) != sizeof port)
        return 1;
    for (uint32_t i = 0; i < count; i++) {
        if ((fds[i] = client_connect(port)) < 0)
            return 2;
    }
    for (uint64_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t number = round << 32 | i;
            if (!send_all(fds[i], &number, sizeof number))
                return 3;
        }
        for (uint32_t i = 0; i < count; i++) {
            uint64_t echo = 0;
            if (!receive_all(fds[i], &echo, sizeof echo) || echo != (round << 32 | i))
                return 4;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        close(fds[i]);
    free(fds);
    return 0;
}

struct crowd {
    pid_t process;
    int port_fd;
};

static struct crowd crowd_process;

static void *watch_crowd(void *arg) {
    struct server *self = arg;
    int status = -1;
    uint16_t port = await_port(self);
    JZX_EXPECT_EQ(write(crowd_process.port_fd, &port, sizeof port), (ssize_t)sizeof port);
    while (waitpid(crowd_process.process, &status, 0) < 0 && errno == EINTR) {
    }
    JZX_EXPECT_EQ(status, 0);
    server_leave(self);
    return NULL;
}

static void start_crowd(uint32_t count) {
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    crowd_process.process = fork();
    assert_true(crowd_process.process >= 0);
    if (crowd_process.process == 0) {
        close(fds[1]);
        _exit(crowd(fds[0], count));
    }
    close(fds[0]);
    crowd_process.port_fd = fds[1];
}

JZX_TEST(thousands_of_connections_from_another_process_are_served, "C24", "C+goal") {
    uint32_t count = (uint32_t)jzx_test_rounds(2000, 10000);
    allow_descriptors(count);
    for (enum manner manner = 0; manner < MANNERS; manner++) {
        start_crowd(count);
        server_open(&server, 2, manner);
        server_run(&server, watch_crowd);
        JZX_EXPECT_EQ(server.accepted, count);
        close(crowd_process.port_fd);
        server.open_before--; /* the pipe */
        server_close(&server);
    }
}

/* ---- storms ---- */

#define STORMERS 4u

static void *storm(void *arg) {
    struct server *self = arg;
    uint16_t port = await_port(self);
    for (uint64_t i = jzx_test_rounds(400, 5000); i > 0; i--) {
        int fd = client_connect(port);
        if (!JZX_EXPECT(fd >= 0))
            break;
        switch (i % 5) {
        case 0: client_reset(fd); break; /* at once */
        case 1:                          /* with an echo under way */
            JZX_EXPECT(send_all(fd, &i, sizeof i));
            client_reset(fd);
            break;
        case 2: /* says nothing */ close(fd); break;
        case 3: /* half-closes: the echo comes all the same, and then the end */
            JZX_EXPECT(send_all(fd, &i, sizeof i));
            JZX_EXPECT_EQ(shutdown(fd, SHUT_WR), 0);
            close(fd);
            break;
        default: client_ask(fd, i); close(fd);
        }
    }
    return NULL;
}

static void *storms(void *arg) {
    pthread_t threads[STORMERS];
    for (uint32_t i = 0; i < STORMERS; i++)
        JZX_EXPECT_EQ(pthread_create(&threads[i], NULL, storm, arg), 0);
    for (uint32_t i = 0; i < STORMERS; i++)
        JZX_EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    int fd = client_connect(await_port(arg)); /* it still works */
    client_ask(fd, 7);
    close(fd);
    server_leave(arg);
    return NULL;
}

JZX_TEST(storms_of_connects_and_resets_leave_nothing_behind, "C24", "C+fail") {
    for (enum manner manner = 0; manner < MANNERS; manner++) {
        server_open(&server, 2, manner);
        server_run(&server, storms);
        server_close(&server);
    }
}

/* ---- half-closed ---- */

static void *half_close(void *arg) {
    char request[1000];
    char echo[sizeof request + 1];
    memset(request, 'h', sizeof request);
    for (uint32_t i = 0; i < 20; i++) {
        int fd = client_connect(await_port(arg));
        JZX_EXPECT(send_all(fd, request, sizeof request));
        JZX_EXPECT_EQ(shutdown(fd, SHUT_WR), 0);
        JZX_EXPECT(receive_all(fd, echo, sizeof request));
        JZX_EXPECT(memcmp(request, echo, sizeof request) == 0);
        JZX_EXPECT_EQ(recv(fd, echo, 1, 0), 0); /* the server has closed */
        close(fd);
    }
    server_leave(arg);
    return NULL;
}

JZX_TEST(a_client_that_writes_no_more_still_gets_all_of_its_echo, "C24") {
    for (enum manner manner = 0; manner < MANNERS; manner++) {
        server_open(&server, 1, manner);
        server_run(&server, half_close);
        server_close(&server);
    }
}

/* ---- slow peers ---- */

#define CHUNK 65536u

static uint64_t stream_bytes;
static _Atomic uint64_t bytes_most;

static unsigned char byte_at(uint64_t place) {
    return (unsigned char)(place * 2654435761u >> 13);
}

static void note_memory(void) {
    uint64_t now = fixture_bytes();
    uint64_t most = bytes_most;
    while (now > most && !atomic_compare_exchange_weak(&bytes_most, &most, now)) {
    }
}

static void fill_chunk(unsigned char *chunk, uint64_t place) {
    for (uint64_t i = 0; i < CHUNK; i++)
        chunk[i] = byte_at(place + i);
}

static bool is_chunk(const unsigned char *chunk, size_t len, uint64_t place) {
    for (uint64_t i = 0; i < len; i++) {
        if (chunk[i] != byte_at(place + i))
            return false;
    }
    return true;
}

/* Sends the whole stream from a second thread, while this one reads the echo in small pieces, and
 * pauses so that what is under way piles up. */
static void *send_stream(void *arg) {
    int fd = *(int *)arg;
    unsigned char chunk[CHUNK];
    for (uint64_t place = 0; place < stream_bytes; place += CHUNK) {
        fill_chunk(chunk, place);
        if (!JZX_EXPECT(send_all(fd, chunk, CHUNK)))
            break;
    }
    JZX_EXPECT_EQ(shutdown(fd, SHUT_WR), 0);
    return NULL;
}

static void *read_slowly(void *arg) {
    unsigned char piece[10000];
    pthread_t sender;
    uint64_t got = 0;
    int fd = client_connect(await_port(arg));
    JZX_EXPECT_EQ(pthread_create(&sender, NULL, send_stream, &fd), 0);
    for (uint64_t pieces = 0;; pieces++) {
        ssize_t now = recv(fd, piece, sizeof piece, 0);
        if (now <= 0)
            break;
        JZX_EXPECT(is_chunk(piece, (size_t)now, got));
        got += (uint64_t)now;
        note_memory();
        if (pieces % 64 == 0)
            sched_yield();
    }
    JZX_EXPECT_EQ(got, stream_bytes);
    JZX_EXPECT_EQ(pthread_join(sender, NULL), 0);
    close(fd);
    server_leave(arg);
    return NULL;
}

/* Fibers and messages write before they read on, so they hold a piece; an active behaviour that
 * sends without looking is bounded by the queue, and is not tested here. */
JZX_TEST(a_large_stream_through_a_slow_reader_needs_little_memory, "C24", "C+goal") {
    stream_bytes = jzx_test_rounds(64, 1024) << 20;
    for (enum manner manner = BY_MESSAGE; manner <= BY_FIBER; manner++) {
        server_open(&server, 1, manner);
        bytes_most = 0;
        server_run(&server, read_slowly);
        JZX_EXPECT(bytes_most > 0 && bytes_most < (8u << 20));
        server_close(&server);
    }
}

/* ---- an owner that is slower than the peer: active streams press back ---- */

static uint64_t handled_bytes;
static _Atomic bool has_begun;

/* Handles what arrives slowly: it looks through each message several times. It does not yield to
 * other processes, which on a busy machine would take minutes. */
static jzx_behavior_result take_slowly(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == BEGIN) {
        jzx_stream stream = *(const jzx_stream *)msg->data;
        has_begun = true;
        JZX_EXPECT_EQ(jzx_stream_active(ctx, stream, DATA, JZX_STREAM_ALWAYS), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_stream_event *event = msg->data;
    if (event->kind != JZX_STREAM_DATA) {
        JZX_EXPECT_EQ(event->kind, JZX_STREAM_END);
        return JZX_BEHAVIOR_STOP;
    }
    for (uint32_t i = 0; i < 8; i++)
        JZX_EXPECT(is_chunk(jzx_stream_data(event), event->len, handled_bytes));
    handled_bytes += event->len;
    note_memory();
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result accept_one(jzx_context *ctx, const jzx_message *msg) {
    struct server *self = ctx->state;
    const jzx_result *result = msg->data;
    jzx_actor_id id;
    jzx_test_ran();
    if (msg->tag == SERVE) {
        open_listener(ctx, self);
        JZX_EXPECT_EQ(jzx_tcp_accept_to(ctx, self->listener, ACCEPTED, NULL), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    JZX_EXPECT_EQ(result->err, JZX_OK);
    jzx_stream stream = *(const jzx_stream *)jzx_result_data(result);
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = take_slowly), &id), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_give(ctx, stream, id), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, BEGIN), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

static void *push_stream(void *arg) {
    int fd = client_connect(await_port(arg));
    send_stream(&fd);
    close(fd);
    return NULL;
}

JZX_TEST(an_active_stream_presses_back_on_a_peer_that_is_faster_than_its_owner, "C24") {
    stream_bytes = 16u << 20;
    handled_bytes = 0;
    bytes_most = 0;
    server_open(&server, 1, BY_ACTIVE);
    fixture_send(server.loop, server.id, LEAVE); /* the usual one is not used */
    jzx_actor_id id =
        fixture_spawn(server.loop, &JZX_SPAWN_OPTS(.behavior = accept_one, .state = &server));
    assert_int_equal(jzx_loop_step(server.loop, JZX_NEVER), JZX_OK);
    while (sem_trywait(&server.is_open) == 0) {
    }
    fixture_send(server.loop, id, SERVE);
    server_run(&server, push_stream);
    JZX_EXPECT_EQ(handled_bytes, stream_bytes);
    JZX_EXPECT(bytes_most < (2u << 20));
    server_close(&server);
}

/* ---- no descriptors ---- */

#define STARVED 24

static _Atomic uint32_t starved_served;

static void *starve_one(void *arg) {
    int fd = *(int *)arg;
    client_ask(fd, (uint64_t)fd);
    starved_served++;
    close(fd);
    return NULL;
}

/* The clients connect, then the process has no descriptor left; all are served as they close. */
static void *starve(void *arg) {
    struct server *self = arg;
    struct rlimit limit;
    struct rlimit tight;
    pthread_t threads[STARVED];
    int fds[STARVED];
    uint16_t port = await_port(self);
    for (int i = 0; i < STARVED; i++)
        JZX_EXPECT((fds[i] = client_connect(port)) >= 0);
    JZX_EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    tight = limit;
    tight.rlim_cur = (rlim_t)fds[STARVED - 1] + 2; /* what is open stays so */
    JZX_EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
    fixture_send(self->loop, self->id, SERVE + 100); /* begin to accept */
    for (int i = 0; i < STARVED; i++)
        JZX_EXPECT_EQ(pthread_create(&threads[i], NULL, starve_one, &fds[i]), 0);
    for (int i = 0; i < STARVED; i++)
        JZX_EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    JZX_EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    server_leave(self);
    return NULL;
}

/* As serve, but accepts only when it is told to. */
static jzx_behavior_result serve_later(jzx_context *ctx, const jzx_message *msg) {
    struct server *self = ctx->state;
    if (msg->tag == SERVE) {
        open_listener(ctx, self);
        return JZX_BEHAVIOR_OK;
    }
    if (msg->tag == SERVE + 100) {
        JZX_EXPECT_EQ(jzx_tcp_accept_to(ctx, self->listener, ACCEPTED, NULL), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    return serve(ctx, msg);
}

static _Atomic uint32_t warnings;

static void note_line(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx, (void)text;
    warnings += level == JZX_LOG_WARN;
}

JZX_TEST(without_descriptors_accept_waits_and_serves_all_when_there_are_some, "C+fail") {
    starved_served = 0;
    warnings = 0;
    serving = &server;
    server.manner = BY_FIBER;
    server.accepted = server.ended = 0;
    server.open_before = descriptors_open();
    assert_int_equal(sem_init(&server.is_open, 0, 0), 0);
    server.loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 1, .log = {.write = note_line, .level = JZX_LOG_WARN}));
    assert_non_null(server.loop);
    server.id =
        fixture_spawn(server.loop, &JZX_SPAWN_OPTS(.behavior = serve_later, .state = &server));
    fixture_send(server.loop, server.id, SERVE);
    server_run(&server, starve);
    JZX_EXPECT_EQ(starved_served, STARVED);
    JZX_EXPECT_EQ(server.accepted, STARVED);
    JZX_EXPECT(warnings >= 1 && warnings <= 2u * STARVED); /* it does not spin */
    server_close(&server);
}

/* ---- signals ---- */

static _Atomic bool storm_is_over;
static pthread_t signalled;

static void on_signal(int signo) {
    (void)signo;
}

static void *interrupt(void *arg) {
    (void)arg;
    while (!storm_is_over) {
        pthread_kill(signalled, SIGUSR2);
        sched_yield();
    }
    return NULL;
}

static void *ask_often(void *arg) {
    int fd = client_connect(await_port(arg));
    for (uint64_t i = jzx_test_rounds(3000, 100000); i > 0; i--)
        client_ask(fd, i);
    close(fd);
    storm_is_over = true;
    server_leave(arg);
    return NULL;
}

JZX_TEST(interrupted_system_calls_are_noticed_by_nobody, "C+fail") {
    struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART */
    pthread_t thread;
    assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
    for (enum manner manner = 0; manner < MANNERS; manner++) {
        storm_is_over = false;
        signalled = pthread_self();
        server_open(&server, 1, manner);
        assert_int_equal(pthread_create(&thread, NULL, interrupt, NULL), 0);
        server_run(&server, ask_often);
        assert_int_equal(pthread_join(thread, NULL), 0);
        server_close(&server);
    }
}

/* ---- a worker that is handed over while streams and listeners wait on it ---- */

#define WAITING 500u

static sem_t blocked;
static sem_t unblock;

/* Does not return until the clients were served: its worker goes on without this thread. */
static jzx_behavior_result block_worker(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    jzx_test_ran();
    sem_post(&blocked);
    while (sem_wait(&unblock) != 0 && errno == EINTR) {
    }
    return JZX_BEHAVIOR_STOP;
}

static void *ask_past_blocker(void *arg) {
    struct server *self = arg;
    static int fds[WAITING];
    uint16_t port = await_port(self);
    for (uint32_t i = 0; i < WAITING; i++) {
        fds[i] = client_connect(port);
        client_ask(fds[i], i); /* its connection waits for the next request now */
    }
    jzx_actor_id blocker = fixture_spawn(
        self->loop, &JZX_SPAWN_OPTS(.behavior = block_worker, .place = JZX_PLACE_WORKER(0)));
    fixture_send(self->loop, blocker, 1);
    while (sem_wait(&blocked) != 0 && errno == EINTR) {
    }
    for (uint32_t i = 0; i < WAITING; i++)
        client_ask(fds[i], WAITING + i);
    int late = client_connect(port); /* and the listener accepts */
    client_ask(late, 1);
    sem_post(&unblock);
    for (uint32_t i = 0; i < WAITING; i++) {
        client_ask(fds[i], 2 * WAITING + i);
        close(fds[i]);
    }
    close(late);
    server_leave(self);
    return NULL;
}

JZX_TEST(a_worker_that_is_handed_over_keeps_its_streams_and_listeners, "X29", "C24") {
    allow_descriptors(2 * WAITING);
    assert_int_equal(sem_init(&blocked, 0, 0), 0);
    assert_int_equal(sem_init(&unblock, 0, 0), 0);
    for (enum manner manner = BY_ACTIVE; manner <= BY_MESSAGE; manner++) { /* fibers are pinned */
        server_open(&server, 1, manner);
        fixture_destroy(server.loop);
        server.loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(5)));
        assert_non_null(server.loop);
        server.id = fixture_spawn(server.loop, &JZX_SPAWN_OPTS(.behavior = serve, .state = &server,
                                                               .place = JZX_PLACE_WORKER(0)));
        fixture_send(server.loop, server.id, SERVE);
        server_run(&server, ask_past_blocker);
        JZX_EXPECT_EQ(server.accepted, WAITING + 1);
        server_close(&server);
    }
}
