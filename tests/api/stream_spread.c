/* SPDX-License-Identifier: MIT */
/* Which worker serves an accepted connection. Worker 0, where the listener is, is busy when an
 * actor there keeps it awake and a manual clock has moved on since. */
#include "serving.h"

#include <jzx/clock.h>
#include <jzx/fiber.h>
#include <jzx/udp.h>
#include <jzx/unix.h>

#include <sched.h>
#include <stdatomic.h>
#include <sys/un.h>

enum { WAKE = 50, REPORT, GIVEN, TAKEN };

#define WORKERS_MAX 3u
#define LONG_NS JZX_MS(2) /* a worker that has not slept for so long is busy */

/* How the listener accepts. */
enum form { FIBER_FORM, MESSAGE_FORM, FUTURE_FORM, FORMS };

static struct {
    jzx_clock *clock;
    jzx_loop *loop;
    jzx_listener listener;
    jzx_listen_opts opts;
    enum form form;
    bool is_unix;
    uint16_t port;
    uint32_t at[WORKERS_MAX]; /* connections that were served there */
    uint32_t placed;
    unsigned finished;
} world;

static void open_world(void) {
    memset(&world, 0, sizeof world);
    world.opts = JZX_LISTEN_OPTS(.backlog = 64);
    world.clock = jzx_clock_manual(1);
    assert_non_null(world.clock);
}

static void close_world(void) {
    JZX_EXPECT_EQ(jzx_clock_free(world.clock), JZX_OK);
}

/* The fiber is the listener, on worker 0. Nothing is open when the loop is gone. */
static void run_with(const jzx_config *from, jzx_fiber_fn fn) {
    int before = descriptors_open();
    jzx_config config = *from;
    config.clock = world.clock;
    world.loop = fixture_loop_with(&config);
    world.finished = 0;
    memset(world.at, 0, sizeof world.at);
    fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.fiber = fn, .place = JZX_PLACE_WORKER(0)));
    JZX_EXPECT_EQ(jzx_loop_run(world.loop), JZX_OK);
    JZX_EXPECT_EQ(world.finished, 1);
    world.placed = (uint32_t)fixture_stats(world.loop).placed;
    fixture_destroy(world.loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

static void pass_time(void) {
    JZX_EXPECT_EQ(jzx_clock_advance(world.clock, LONG_NS), JZX_OK);
}

/* Keeps its worker awake until it is stopped. */
static jzx_behavior_result stay_awake(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    return jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, WAKE) == JZX_OK ? JZX_BEHAVIOR_OK
                                                                              : JZX_BEHAVIOR_STOP;
}

/* The calling actor's worker does not sleep any more, and has not for a while. */
static jzx_actor_id be_busy(jzx_context *ctx, uint32_t worker) {
    const jzx_spawn_opts opts =
        JZX_SPAWN_OPTS(.behavior = stay_awake, .place = JZX_PLACE_WORKER(worker));
    jzx_actor_id id = fixture_spawn(ctx->loop, &opts);
    fixture_send(ctx->loop, id, WAKE);
    pass_time();
    return id;
}

static void be_idle(jzx_context *ctx, jzx_actor_id id) {
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL), JZX_OK);
}

/* ---- connections: each answers one byte and tells its maker which worker it is on ---- */

static void report(jzx_context *ctx, jzx_actor_id to) {
    uint32_t worker = jzx_current_worker();
    JZX_EXPECT_EQ(jzx_send(ctx->loop, to, ctx->self, &worker, sizeof worker, REPORT), JZX_OK);
}

static void answer_in_fiber(jzx_context *ctx) {
    jzx_message msg;
    char byte;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, BEGIN, JZX_NEVER, &msg), JZX_OK);
    jzx_stream stream = *(const jzx_stream *)msg.data;
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, stream, &byte, 1, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, stream, &byte, 1, JZX_NEVER), JZX_OK);
    report(ctx, msg.sender);
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, stream, &byte, 1, JZX_NEVER), JZX_ERR_END);
}

static jzx_behavior_result answer(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == BEGIN) {
        ctx->state = (void *)(uintptr_t)msg->sender;
        JZX_EXPECT_EQ(
            jzx_stream_active(ctx, *(const jzx_stream *)msg->data, DATA, JZX_STREAM_ALWAYS),
            JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_stream_event *event = msg->data;
    if (event->kind != JZX_STREAM_DATA)
        return JZX_BEHAVIOR_STOP;
    JZX_EXPECT_EQ(jzx_stream_send(ctx, event->stream, jzx_stream_data(event), event->len), JZX_OK);
    report(ctx, (jzx_actor_id)(uintptr_t)ctx->state);
    return JZX_BEHAVIOR_OK;
}

/* ---- the listener ---- */

static void listen_here(jzx_context *ctx) {
    char address[JZX_ADDRESS_MAX] = "127.0.0.1:0";
    if (world.is_unix)
        snprintf(address, sizeof address, "@jzx-spread-%d", (int)getpid());
    JZX_EXPECT_EQ(world.is_unix ? jzx_unix_listen(ctx, address, &world.opts, &world.listener)
                                : jzx_tcp_listen(ctx, address, &world.opts, &world.listener),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, world.listener, address, sizeof address), JZX_OK);
    world.port = world.is_unix ? 0 : (uint16_t)atoi(strrchr(address, ':') + 1);
}

static int connect_unix(void) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int len = snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "jzx-spread-%d", (int)getpid());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    JZX_EXPECT_EQ(connect(fd, (const void *)&to, size), 0);
    return fd;
}

/* It is in the backlog, with its byte, when this returns. */
static int connect_one(void) {
    int fd = world.is_unix ? connect_unix() : client_connect(world.port);
    JZX_EXPECT(send_all(fd, "x", 1));
    return fd;
}

static jzx_stream accept_by_message(jzx_context *ctx) {
    jzx_message msg;
    jzx_stream stream = JZX_NO_STREAM;
    JZX_EXPECT_EQ(jzx_listener_accept_to(ctx, world.listener, ACCEPTED, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, ACCEPTED, JZX_NEVER, &msg), JZX_OK);
    const jzx_result *result = msg.data;
    if (JZX_EXPECT_EQ(result->err, JZX_OK))
        memcpy(&stream, jzx_result_data(result), sizeof stream);
    return stream;
}

static jzx_stream accept_by_future(jzx_context *ctx) {
    jzx_future *future;
    jzx_stream stream = JZX_NO_STREAM;
    JZX_EXPECT_EQ(jzx_listener_accept_async(ctx->loop, world.listener, &future), JZX_OK);
    JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, &stream), JZX_OK);
    jzx_future_release(future);
    return stream;
}

static jzx_stream accept_one(jzx_context *ctx) {
    jzx_stream stream = JZX_NO_STREAM;
    if (world.form == MESSAGE_FORM)
        return accept_by_message(ctx);
    if (world.form == FUTURE_FORM)
        return accept_by_future(ctx);
    JZX_EXPECT_EQ(jzx_listener_accept(ctx, world.listener, JZX_NEVER, &stream), JZX_OK);
    return stream;
}

/* As docs/io.md says. */
static jzx_actor_id begin_one(jzx_context *ctx, jzx_stream stream, const jzx_spawn_opts *opts) {
    jzx_actor_id id = fixture_spawn(ctx->loop, opts);
    JZX_EXPECT_EQ(jzx_stream_give(ctx, stream, id), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, BEGIN), JZX_OK);
    return id;
}

/* Waits until one was served, by whichever. */
static uint32_t await_report(jzx_context *ctx) {
    jzx_message msg;
    uint32_t worker = 0;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, REPORT, JZX_NEVER, &msg), JZX_OK);
    memcpy(&worker, msg.data, sizeof worker);
    return worker;
}

static void count_report(jzx_context *ctx) {
    uint32_t worker = await_report(ctx);
    if (JZX_EXPECT(worker < WORKERS_MAX))
        world.at[worker]++;
}

static void end_client(int fd) {
    char byte = 0;
    JZX_EXPECT(receive_all(fd, &byte, 1)); /* it was written before the report */
    JZX_EXPECT_EQ(byte, 'x');
    close(fd);
}

/* With its actor, which sees the end. */
static void await_close(jzx_context *ctx, jzx_stream stream) {
    jzx_stream_info info = {.size = sizeof info};
    while (jzx_stream_info_get(ctx->loop, stream, &info) == JZX_OK)
        (void)jzx_yield(ctx);
}

#define COUNT_MAX 8u

/* Serves so many while the worker is busy. */
static void serve_all(jzx_context *ctx, uint32_t count, const jzx_spawn_opts *opts) {
    int clients[COUNT_MAX];
    jzx_stream streams[COUNT_MAX];
    for (uint32_t i = 0; i < count; i++)
        clients[i] = connect_one();
    jzx_actor_id waker = be_busy(ctx, 0);
    for (uint32_t i = 0; i < count; i++) {
        pass_time();
        streams[i] = accept_one(ctx);
        begin_one(ctx, streams[i], opts);
    }
    be_idle(ctx, waker);
    for (uint32_t i = 0; i < count; i++)
        count_report(ctx);
    for (uint32_t i = 0; i < count; i++)
        end_client(clients[i]);
    for (uint32_t i = 0; i < count; i++)
        await_close(ctx, streams[i]);
}

/* ---- a busy worker ---- */

static const jzx_spawn_opts *connection;

static void serve_many(jzx_context *ctx) {
    jzx_test_ran();
    listen_here(ctx);
    serve_all(ctx, 8, connection);
    world.finished++;
}

JZX_TEST(a_busy_worker_spreads_its_connections_over_all_workers) {
    const jzx_spawn_opts fiber = JZX_SPAWN_OPTS(.fiber = answer_in_fiber);
    const jzx_spawn_opts behavior = JZX_SPAWN_OPTS(.behavior = answer);
    open_world();
    for (uint32_t i = 0; i < 2 * 2 * FORMS; i++) {
        connection = i % 2 == 0 ? &fiber : &behavior;
        world.is_unix = i / 2 % 2 != 0;
        world.form = (enum form)(i / 4);
        run_with(&JZX_CONFIG(.workers = 2), serve_many);
        JZX_EXPECT_EQ(world.placed, 5); /* worker 0 keeps 3, and the listener */
        /* An idle worker may still have taken actors that had not begun. */
        JZX_EXPECT_EQ(world.at[0] + world.at[1], 8);
    }
    close_world();
    JZX_EXPECT(jzx_test_runs() > 0);
}

JZX_TEST(a_busy_worker_keeps_its_connections_if_it_is_told_to) {
    const jzx_spawn_opts fiber = JZX_SPAWN_OPTS(.fiber = answer_in_fiber);
    open_world();
    connection = &fiber;
    run_with(&JZX_CONFIG(.workers = 2, .balance = JZX_BALANCE_NONE), serve_many);
    JZX_EXPECT(world.at[0] == 8 && world.placed == 0);
    world.opts.accept_mode = JZX_ACCEPT_LOCAL;
    for (uint32_t i = 0; i < 20; i++) { /* nor does the balance take one that has not begun */
        world.is_unix = i % 2 != 0;
        run_with(&JZX_CONFIG(.workers = 2, .balance = JZX_BALANCE_EAGER), serve_many);
        JZX_EXPECT(world.at[0] == 8 && world.placed == 0);
    }
    close_world();
    JZX_EXPECT_EQ(jzx_test_runs(), 21 * 9);
}

/* ---- a worker that has slept, or has just begun ---- */

static void serve_at_once(jzx_context *ctx) {
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.fiber = answer_in_fiber);
    jzx_test_ran();
    listen_here(ctx);
    int client = connect_one();
    begin_one(ctx, accept_one(ctx), &opts);
    count_report(ctx);
    end_client(client);
    world.finished++;
}

JZX_TEST(a_worker_that_has_just_begun_keeps_its_connections) {
    open_world();
    run_with(&JZX_CONFIG(.workers = 2), serve_at_once);
    JZX_EXPECT(world.at[0] == 1 && world.placed == 0);
    close_world();
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
}

/* When that many connections have ended and worker 0 has nothing left to do. */
static void await_sleep(uint64_t ended) {
    jzx_worker_stats stats = {.size = sizeof stats};
    while (fixture_stats(world.loop).exited < ended)
        sched_yield();
    do {
        sched_yield();
        JZX_EXPECT_EQ(jzx_loop_worker_stats(world.loop, 0, &stats), JZX_OK);
    } while (!stats.is_parked);
}

static sem_t is_open;

static void *connect_at_rest(void *unused) {
    (void)unused;
    while (sem_wait(&is_open) != 0 && errno == EINTR)
        continue;
    for (uint32_t i = 0; i < 4; i++) {
        await_sleep(i);
        pass_time(); /* in its sleep */
        await_sleep(i);
        end_client(connect_one());
    }
    return NULL;
}

static void serve_at_rest(jzx_context *ctx) {
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.fiber = answer_in_fiber);
    jzx_test_ran();
    listen_here(ctx);
    sem_post(&is_open);
    for (uint32_t i = 0; i < 4; i++)
        begin_one(ctx, accept_one(ctx), &opts);
    for (uint32_t i = 0; i < 4; i++)
        count_report(ctx);
    world.finished++;
}

JZX_TEST(a_light_server_stays_on_the_worker_of_its_listener) {
    pthread_t thread;
    open_world();
    assert_int_equal(sem_init(&is_open, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, connect_at_rest, NULL), 0);
    run_with(&JZX_CONFIG(.workers = 2), serve_at_rest);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(world.at[0], 4);
    JZX_EXPECT_EQ(world.placed, 0);
    sem_destroy(&is_open);
    close_world();
    JZX_EXPECT_EQ(jzx_test_runs(), 5);
}

/* ---- which worker ---- */

/* Has three sockets on worker 1. */
static void have_sockets(jzx_context *ctx) {
    jzx_message msg;
    jzx_udp sockets[3];
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, GIVEN, JZX_NEVER, &msg), JZX_OK);
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.1:0", NULL, &sockets[i]), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, msg.sender, ctx->self, NULL, 0, TAKEN), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, GIVEN, JZX_NEVER, &msg), JZX_OK);
}

/* Twice: those of the first time count no more. */
static void serve_beside_sockets(jzx_context *ctx) {
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.fiber = answer_in_fiber);
    jzx_message msg;
    jzx_test_ran();
    jzx_actor_id other = fixture_spawn(
        ctx->loop, &JZX_SPAWN_OPTS(.fiber = have_sockets, .place = JZX_PLACE_WORKER(1)));
    listen_here(ctx);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, other, ctx->self, NULL, 0, GIVEN), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, TAKEN, JZX_NEVER, &msg), JZX_OK);
    for (uint32_t round = 0; round < 2; round++) {
        memset(world.at, 0, sizeof world.at);
        serve_all(ctx, 5, &opts);
        JZX_EXPECT_EQ(world.at[0], 2); /* and the listener */
        JZX_EXPECT_EQ(world.at[1], 0);
        JZX_EXPECT_EQ(world.at[2], 3);
    }
    JZX_EXPECT_EQ(jzx_send(ctx->loop, other, ctx->self, NULL, 0, GIVEN), JZX_OK);
    world.finished++;
}

JZX_TEST(a_connection_goes_to_the_worker_with_the_fewest_sockets) {
    open_world();
    run_with(&JZX_CONFIG(.workers = 3), serve_beside_sockets);
    close_world();
    JZX_EXPECT_EQ(jzx_test_runs(), 2 + 10);
}

/* ---- which actors ---- */

static void give_to_various(jzx_context *ctx) {
    const jzx_spawn_opts bound =
        JZX_SPAWN_OPTS(.fiber = answer_in_fiber, .place = JZX_PLACE_WORKER(0));
    const jzx_spawn_opts ranked = JZX_SPAWN_OPTS(.behavior = answer, .priority = JZX_PRIORITY_HIGH);
    const jzx_spawn_opts begun = JZX_SPAWN_OPTS(.fiber = answer_in_fiber);
    const jzx_spawn_opts *opts[] = {&bound, &ranked};
    jzx_test_ran();
    listen_here(ctx);
    for (uint32_t i = 0; i < 2; i++) {
        serve_all(ctx, 1, opts[i]);
        JZX_EXPECT_EQ(world.at[0], i + 1);
    }
    jzx_actor_id id = fixture_spawn(ctx->loop, &begun);
    jzx_actor_info info = {.size = sizeof info};
    do { /* it waits */
        (void)jzx_yield(ctx);
        JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, id, &info), JZX_OK);
    } while (info.wait != JZX_WAIT_TAG);
    int client = connect_one();
    jzx_actor_id waker = be_busy(ctx, 0);
    jzx_stream stream = accept_one(ctx);
    JZX_EXPECT_EQ(jzx_stream_give(ctx, stream, id), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, BEGIN), JZX_OK);
    be_idle(ctx, waker);
    JZX_EXPECT_EQ(await_report(ctx), 0);
    end_client(client);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    world.finished++;
}

JZX_TEST(an_actor_that_has_begun_or_has_a_place_or_a_priority_stays_when_it_is_given_a_connection) {
    open_world();
    run_with(&JZX_CONFIG(.workers = 2), give_to_various);
    JZX_EXPECT_EQ(world.placed, 0);
    close_world();
    JZX_EXPECT(jzx_test_runs() > 0);
}

/* The first owner gives it to an actor that it makes on its own worker, while that is busy. */
static void give_on(jzx_context *ctx) {
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.fiber = answer_in_fiber);
    jzx_message msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, BEGIN, JZX_NEVER, &msg), JZX_OK);
    jzx_stream stream = *(const jzx_stream *)msg.data;
    jzx_actor_id maker = msg.sender;
    uint32_t me = jzx_current_worker();
    jzx_actor_id waker = be_busy(ctx, me);
    begin_one(ctx, stream, &opts);
    be_idle(ctx, waker);
    JZX_EXPECT_EQ(await_report(ctx), me);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, maker, ctx->self, &me, sizeof me, REPORT), JZX_OK);
}

static void serve_two_owners(jzx_context *ctx) {
    const jzx_spawn_opts new = JZX_SPAWN_OPTS(.fiber = give_on);
    const jzx_spawn_opts bound = JZX_SPAWN_OPTS(.fiber = give_on, .place = JZX_PLACE_WORKER(0));
    jzx_test_ran();
    listen_here(ctx);
    serve_all(ctx, 1, &new);
    JZX_EXPECT_EQ(world.at[1], 1);
    serve_all(ctx, 1, &bound);
    JZX_EXPECT_EQ(world.at[0], 1);
    world.finished++;
}

JZX_TEST(a_connection_that_is_given_on_stays_on_its_worker) {
    open_world();
    run_with(&JZX_CONFIG(.workers = 2), serve_two_owners);
    JZX_EXPECT_EQ(world.placed, 1);
    close_world();
    JZX_EXPECT_EQ(jzx_test_runs(), 5);
}

/* ---- a listener on each worker ---- */

#define SHARED_COUNT 64u /* that one of two listeners gets none has a chance of 2^-63 */

static struct {
    jzx_actor_id judge;
    char address[JZX_ADDRESS_MAX];
    jzx_listener listeners[2];
} shared;

/* Tells of each connection that its actor runs where it was accepted. */
static void listen_on_one(jzx_context *ctx) {
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.fiber = answer_in_fiber);
    uint32_t me = jzx_current_worker();
    jzx_stream stream;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, shared.address, &world.opts, &shared.listeners[me]), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, shared.listeners[me], shared.address,
                                       sizeof shared.address),
                  JZX_OK);
    jzx_actor_id waker = be_busy(ctx, me);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, shared.judge, ctx->self, &me, sizeof me, GIVEN), JZX_OK);
    while (jzx_listener_accept(ctx, shared.listeners[me], JZX_NEVER, &stream) == JZX_OK) {
        begin_one(ctx, stream, &opts);
        JZX_EXPECT_EQ(await_report(ctx), me);
        JZX_EXPECT_EQ(jzx_send(ctx->loop, shared.judge, ctx->self, &me, sizeof me, REPORT), JZX_OK);
    }
    be_idle(ctx, waker);
}

static void judge(jzx_context *ctx) {
    static int clients[SHARED_COUNT];
    jzx_message msg;
    jzx_test_ran();
    shared.judge = ctx->self;
    strcpy(shared.address, "127.0.0.1:0");
    for (uint32_t i = 0; i < 2; i++) { /* the second takes the port of the first */
        fixture_spawn(ctx->loop,
                      &JZX_SPAWN_OPTS(.fiber = listen_on_one, .place = JZX_PLACE_WORKER(i)));
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, GIVEN, JZX_NEVER, &msg), JZX_OK);
    }
    world.port = (uint16_t)atoi(strrchr(shared.address, ':') + 1);
    for (uint32_t i = 0; i < SHARED_COUNT; i++)
        clients[i] = connect_one();
    for (uint32_t i = 0; i < SHARED_COUNT; i++)
        count_report(ctx);
    JZX_EXPECT(world.at[0] > 0 && world.at[1] > 0);
    for (uint32_t i = 0; i < SHARED_COUNT; i++)
        end_client(clients[i]);
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, shared.listeners[i]), JZX_OK);
    world.finished++;
}

JZX_TEST(listeners_of_one_address_on_each_worker_keep_what_they_accept) {
    open_world();
    world.opts.accept_mode = JZX_ACCEPT_PER_WORKER;
    run_with(&JZX_CONFIG(.workers = 2), judge);
    JZX_EXPECT_EQ(world.placed, 0);
    close_world();
    JZX_EXPECT_EQ(jzx_test_runs(), 3 + SHARED_COUNT);
}

static void listen_wrongly(jzx_context *ctx) {
    jzx_listen_opts opts = JZX_LISTEN_OPTS(.accept_mode = (jzx_accept_mode)3);
    jzx_listener listener = 77;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", &opts, &listener), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, "@jzx-wrong", &opts, &listener), JZX_ERR_INVALID_ARG);
    opts.accept_mode = JZX_ACCEPT_PER_WORKER;
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, "@jzx-wrong", &opts, &listener), JZX_ERR_UNSUPPORTED);
    JZX_EXPECT_EQ(listener, 77);
    world.finished++;
}

JZX_TEST(a_way_to_accept_that_there_is_not_is_refused) {
    open_world();
    run_with(&JZX_CONFIG(.workers = 2), listen_wrongly);
    close_world();
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
}

/* ---- what may happen on the way ---- */

/* One that was accepted by a busy worker; its client has the other end. */
static jzx_stream accept_placed(jzx_context *ctx, int *client) {
    *client = connect_one();
    jzx_actor_id waker = be_busy(ctx, 0);
    jzx_stream stream = accept_one(ctx);
    be_idle(ctx, waker);
    return stream;
}

/* The other end is closed: the byte was not read, so this may be a reset. */
static void expect_end(int client) {
    char byte;
    JZX_EXPECT(!receive_all(client, &byte, 1));
    close(client);
}

static void never_read(jzx_context *ctx) {
    jzx_message msg;
    (void)jzx_receive_tag(ctx, GIVEN, JZX_NEVER, &msg);
}

static void give_to_the_doomed(jzx_context *ctx) {
    jzx_stream stream;
    int client;
    jzx_test_ran();
    listen_here(ctx); /* with a limit of one: each has to be counted off */
    for (uint32_t i = 0; i < 8; i++) {
        stream = accept_placed(ctx, &client);
        jzx_actor_id id = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = never_read));
        if (i % 4 == 0) { /* before it could move */
            JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL), JZX_OK);
            (void)jzx_stream_give(ctx, stream, id); /* it is there until its turn */
            (void)jzx_stream_close(ctx->loop, stream);
        } else {
            JZX_EXPECT_EQ(jzx_stream_give(ctx, stream, id), JZX_OK);
            JZX_EXPECT_EQ(jzx_stream_give(ctx, stream, ctx->self), JZX_ERR_NOT_OWNER);
        }
        if (i % 4 == 1)
            JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, stream), JZX_OK);
        if (i % 4 == 2)
            JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL), JZX_OK);
        else if (i % 4 != 0)
            JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, NULL, 0, GIVEN), JZX_OK);
        JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
        expect_end(client);
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, stream), JZX_ERR_CLOSED);
    }
    world.finished++;
}

JZX_TEST(a_connection_ends_with_an_actor_that_is_killed_or_ends_on_its_way_to_another_worker) {
    open_world();
    world.opts.connections_max = 1;
    run_with(&JZX_CONFIG(.workers = 2), give_to_the_doomed);
    JZX_EXPECT(world.placed >= 6);
    close_world();
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
}

static int last_clients[4];
static bool stops_gently;

static void stop_on_the_way(jzx_context *ctx) {
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.fiber = never_read);
    jzx_test_ran();
    listen_here(ctx);
    for (uint32_t i = 0; i < 4; i++)
        last_clients[i] = connect_one();
    be_busy(ctx, 0);
    for (uint32_t i = 0; i < 4; i++) {
        pass_time();
        begin_one(ctx, accept_one(ctx), &opts);
    }
    JZX_EXPECT_EQ(stops_gently ? jzx_loop_stop(ctx->loop, JZX_NEVER)
                               : jzx_loop_request_stop(ctx->loop),
                  JZX_OK);
    world.finished++;
}

JZX_TEST(a_loop_that_stops_ends_connections_on_their_way) {
    open_world();
    for (uint32_t i = 0; i < 2; i++) {
        int before = descriptors_open();
        jzx_config config = JZX_CONFIG(.workers = 2, .clock = world.clock);
        stops_gently = i != 0;
        world.loop = fixture_loop_with(&config);
        fixture_spawn(world.loop,
                      &JZX_SPAWN_OPTS(.fiber = stop_on_the_way, .place = JZX_PLACE_WORKER(0)));
        JZX_EXPECT_EQ(jzx_loop_run(world.loop), JZX_OK);
        JZX_EXPECT_EQ(fixture_stats(world.loop).placed, 3);
        fixture_destroy(world.loop);
        for (uint32_t k = 0; k < 4; k++)
            expect_end(last_clients[k]);
        JZX_EXPECT_EQ(descriptors_open(), before);
    }
    JZX_EXPECT_EQ(world.finished, 2);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    close_world();
}

/* ---- a worker that stands still ---- */

static sem_t go;

static jzx_behavior_result stand_still(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_send(ctx->loop, msg->sender, ctx->self, NULL, 0, TAKEN), JZX_OK);
    while (sem_wait(&go) != 0 && errno == EINTR)
        continue;
    return JZX_BEHAVIOR_STOP;
}

/* On the system's clock, which the watchdog needs. Returns the worker that has served it. */
static uint32_t serve_one_for_long(jzx_context *ctx) {
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = answer);
    int client = connect_one();
    jzx_actor_id waker = be_busy(ctx, 0);
    uint64_t since_ns = jzx_loop_now(ctx->loop);
    while (jzx_loop_now(ctx->loop) - since_ns < LONG_NS)
        (void)jzx_yield(ctx);
    jzx_actor_id id = begin_one(ctx, accept_one(ctx), &opts);
    be_idle(ctx, waker);
    uint32_t worker = await_report(ctx);
    end_client(client);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    return worker;
}

/* Where the machine is so busy that a turn here counts as stalled, its connection stays. */
static void serve_beside_a_blocked_worker(jzx_context *ctx) {
    jzx_message msg;
    uint32_t tries = 0;
    jzx_test_ran();
    listen_here(ctx);
    jzx_actor_id id = fixture_spawn(
        ctx->loop, &JZX_SPAWN_OPTS(.behavior = stand_still, .place = JZX_PLACE_WORKER(1)));
    JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, NULL, 0, GIVEN), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, TAKEN, JZX_NEVER, &msg), JZX_OK);
    while (serve_one_for_long(ctx) != 1 && ++tries < 100)
        continue;
    JZX_EXPECT(tries < 100);
    sem_post(&go);
    world.finished++;
}

JZX_TEST(a_connection_goes_to_a_worker_that_was_taken_from_its_thread_and_is_served) {
    open_world();
    assert_int_equal(sem_init(&go, 0, 0), 0);
    world.loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(1)));
    fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.fiber = serve_beside_a_blocked_worker,
                                              .place = JZX_PLACE_WORKER(0)));
    JZX_EXPECT_EQ(jzx_loop_run(world.loop), JZX_OK);
    JZX_EXPECT(fixture_stats(world.loop).placed > 0);
    JZX_EXPECT_EQ(world.finished, 1);
    fixture_destroy(world.loop);
    sem_destroy(&go);
    JZX_EXPECT(jzx_test_runs() >= 3);
    close_world();
}
