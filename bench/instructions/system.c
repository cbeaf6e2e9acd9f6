/* SPDX-License-Identifier: MIT */
/* Rows in which the loop meets other threads and the system. They force the order of events, so
 * that the loop does the same every time; the work of other threads and the system is not
 * counted. */
#include "instructions.h"

#include <jzx/blocking.h>
#include <jzx/stream.h>
#include <jzx/udp.h>
#include <jzx/unix.h>

#include <poll.h>
#include <sched.h>
#include <semaphore.h>

enum { GO, DONE, ASK, ANSWER };

static uint64_t handled;

static jzx_behavior_result count_message(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    handled++;
    return JZX_BEHAVIOR_OK;
}

static void stop(struct rig *rig, jzx_actor_id id) {
    CHECK(jzx_actor_stop(rig->loop, id, JZX_STOP_AFTER_MESSAGE) == JZX_OK);
    rig_step(rig);
}

/* ---- a loop from outside ---- */

static void step_idle(struct rig *rig) {
    for (uint64_t i = 0; i < rig->ops; i++)
        rig_step(rig);
}

static void run_step(struct rig *rig) {
    rig_count(rig, step_idle);
}

/* Between steps this thread is no worker of the loop, and sends as any other thread does. */
static void send_from_outside(struct rig *rig) {
    jzx_actor_id *to = rig->row;
    for (uint64_t i = 0; i < rig->ops; i++) {
        CHECK(jzx_send(rig->loop, *to, JZX_NOBODY, &i, sizeof i, 0) == JZX_OK);
        if ((i + 1) % (8 * BATCH) == 0)
            rig_step(rig);
    }
}

static void run_foreign_send(struct rig *rig) {
    jzx_actor_id to = rig_spawn(rig, count_message, NULL);
    rig->row = &to;
    handled = 0;
    rig_count(rig, send_from_outside);
    CHECK(handled == rig->ops);
    stop(rig, to);
}

/* ---- blocking jobs. A job holds the only thread of the pool until all others wait behind it, and
 * the loop sees the first result when all are there ---- */

struct pool {
    jzx_blocking_pool *pool;
    sem_t is_held;
    sem_t gate;
};

static struct pool pool;

static jzx_err hold_thread(void *arg) {
    (void)arg;
    CHECK(sem_post(&pool.is_held) == 0);
    CHECK(sem_wait(&pool.gate) == 0);
    return JZX_OK;
}

static jzx_err add_one(void *arg) {
    ++*(uint64_t *)arg;
    return JZX_OK;
}

/* Is sent ASK, which holds the thread, then GO, which has the jobs wait, and the results. */
static jzx_behavior_result submit(jzx_context *ctx, const jzx_message *msg) {
    uint64_t zero = 0;
    if (msg->tag == DONE) {
        const jzx_result *result = msg->data;
        uint64_t value = 0;
        CHECK(result->err == JZX_OK && result->len == sizeof value);
        memcpy(&value, jzx_result_data(result), sizeof value);
        handled += value;
    } else if (msg->tag == ASK) {
        CHECK(jzx_blocking_copy_to(ctx, pool.pool, hold_thread, &zero, sizeof zero, DONE, NULL) ==
              JZX_OK);
    } else {
        for (uint32_t i = 0; i < BATCH; i++)
            CHECK(jzx_blocking_copy_to(ctx, pool.pool, add_one, &zero, sizeof zero, DONE, NULL) ==
                  JZX_OK);
    }
    return JZX_BEHAVIOR_OK;
}

static void wait_for_idle_thread(void) {
    jzx_blocking_stats stats = {.size = sizeof stats};
    do {
        sched_yield();
        CHECK(jzx_blocking_pool_stats(pool.pool, &stats) == JZX_OK);
    } while (stats.idle != 1 || stats.queued != 0);
}

static void run_blocking(struct rig *rig) {
    jzx_actor_id id = rig_spawn(rig, submit, NULL);
    if (!rig->is_counting) {
        CHECK(sem_init(&pool.is_held, 0, 0) == 0 && sem_init(&pool.gate, 0, 0) == 0);
        const jzx_blocking_opts opts =
            JZX_BLOCKING_OPTS(.name = "one", .threads_max = 1, .idle_ns = JZX_NEVER);
        CHECK(jzx_blocking_pool_create(rig->loop, &opts, &pool.pool) == JZX_OK);
    }
    handled = 0;
    for (uint64_t i = 0; i < rig->ops / BATCH; i++) {
        CHECK(jzx_send(rig->loop, id, JZX_NOBODY, NULL, 0, ASK) == JZX_OK);
        rig_step(rig);
        CHECK(sem_wait(&pool.is_held) == 0);
        CHECK(jzx_send(rig->loop, id, JZX_NOBODY, NULL, 0, GO) == JZX_OK);
        rig_count(rig, rig_step);
        CHECK(sem_post(&pool.gate) == 0);
        wait_for_idle_thread();
        rig_count(rig, rig_step);
    }
    CHECK(handled == rig->ops);
    stop(rig, id);
}

/* ---- a stream: one actor has both ends of a pair of Unix sockets, and echoes 64 bytes ---- */

#define CHUNK 64u
static const char chunk[CHUNK];

static jzx_behavior_result echo(jzx_context *ctx, const jzx_message *msg) {
    static jzx_stream ends[2];
    uint64_t *left = ctx->state;
    if (msg->tag == GO) {
        CHECK(jzx_unix_pair(ctx, NULL, ends) == JZX_OK);
        CHECK(jzx_stream_active(ctx, ends[0], ANSWER, JZX_STREAM_ALWAYS) == JZX_OK);
        CHECK(jzx_stream_active(ctx, ends[1], ASK, JZX_STREAM_ALWAYS) == JZX_OK);
    } else if (msg->tag == ASK) {
        const jzx_stream_event *event = msg->data;
        CHECK(event->kind == JZX_STREAM_DATA && event->len == CHUNK);
        CHECK(jzx_stream_send(ctx, ends[1], jzx_stream_data(event), event->len) == JZX_OK);
        return JZX_BEHAVIOR_OK;
    } else {
        const jzx_stream_event *event = msg->data;
        CHECK(event->kind == JZX_STREAM_DATA && event->len == CHUNK);
        handled++;
    }
    if (*left == 0)
        return JZX_BEHAVIOR_STOP;
    --*left;
    CHECK(jzx_stream_send(ctx, ends[0], chunk, CHUNK) == JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* A step looks at the descriptors once. */
static void step_until_echoed(struct rig *rig) {
    for (uint64_t i = 0; i < 4 * rig->ops && handled < rig->ops; i++)
        rig_step(rig);
}

static void run_stream(struct rig *rig) {
    uint64_t left = rig->ops;
    rig_start(rig, rig_spawn(rig, echo, &left));
    handled = 0;
    rig_count(rig, step_until_echoed);
    CHECK(handled == rig->ops);
}

/* ---- the same by two fibers, of which one waits for the other ---- */

static jzx_stream fiber_ends[2];

static void ask_by_stream(jzx_context *ctx) {
    const uint64_t *ops = ctx->state;
    char answer[CHUNK];
    size_t len;
    while (handled < *ops) {
        CHECK(jzx_stream_write(ctx, fiber_ends[0], chunk, CHUNK, JZX_NEVER) == JZX_OK);
        CHECK(jzx_stream_read(ctx, fiber_ends[0], answer, CHUNK, JZX_NEVER, &len) == JZX_OK);
        handled++;
    }
    CHECK(jzx_stream_close(ctx->loop, fiber_ends[0]) == JZX_OK);
}

static void answer_by_stream(jzx_context *ctx) {
    char question[CHUNK];
    size_t len;
    CHECK(jzx_unix_pair(ctx, NULL, fiber_ends) == JZX_OK);
    CHECK(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = ask_by_stream, .state = ctx->state),
                    NULL) == JZX_OK);
    while (jzx_stream_read(ctx, fiber_ends[1], question, CHUNK, JZX_NEVER, &len) == JZX_OK)
        CHECK(jzx_stream_write(ctx, fiber_ends[1], question, len, JZX_NEVER) == JZX_OK);
}

static void run_stream_fiber(struct rig *rig) {
    uint64_t ops = rig->ops;
    rig_spawn_fiber(rig, answer_by_stream, &ops);
    handled = 0;
    rig_count(rig, step_until_echoed);
    CHECK(handled == rig->ops);
}

/* ---- datagrams. The system may deliver them late, so the row waits for each, uncounted ---- */

struct port {
    jzx_udp udp;
    jzx_address address;
    int fd;
};

static jzx_behavior_result receive_datagram(jzx_context *ctx, const jzx_message *msg) {
    struct port *self = ctx->state;
    char text[JZX_ADDRESS_MAX];
    if (msg->tag == DONE) {
        CHECK(((const jzx_result *)msg->data)->err == JZX_OK);
        handled++;
    } else if (msg->tag == ASK) {
        CHECK(jzx_udp_try_send(ctx, self->udp, chunk, CHUNK, &self->address) == JZX_OK);
    } else if (msg->tag == ANSWER) {
        CHECK(jzx_udp_receive_to(ctx, self->udp, CHUNK, DONE, NULL) == JZX_OK);
    } else {
        jzx_udp_info info = {.size = sizeof info};
        CHECK(jzx_udp_open(ctx, "127.0.0.1:0", NULL, &self->udp) == JZX_OK);
        CHECK(jzx_udp_local(ctx->loop, self->udp, text, sizeof text) == JZX_OK);
        CHECK(jzx_address_parse(text, &self->address) == JZX_OK);
        CHECK(jzx_udp_info_get(ctx->loop, self->udp, &info) == JZX_OK);
        self->fd = info.fd;
    }
    return JZX_BEHAVIOR_OK;
}

static void run_datagram(struct rig *rig) {
    struct port port = {0};
    jzx_actor_id id = rig_spawn(rig, receive_datagram, &port);
    rig_start(rig, id);
    rig_step(rig);
    handled = 0;
    for (uint64_t i = 0; i < rig->ops; i++) {
        struct pollfd poller = {.fd = port.fd, .events = POLLIN};
        CHECK(jzx_send(rig->loop, id, JZX_NOBODY, NULL, 0, ASK) == JZX_OK);
        rig_count(rig, rig_step);
        CHECK(poll(&poller, 1, -1) == 1);
        CHECK(jzx_send(rig->loop, id, JZX_NOBODY, NULL, 0, ANSWER) == JZX_OK);
        rig_count(rig, rig_step);
    }
    CHECK(handled == rig->ops);
    stop(rig, id);
}

const struct row system_rows[] = {
    {"step", "jzx_loop_step of a loop that has nothing to do", 4096, run_step, false},
    {"foreign-send", "message of a thread that is no worker, 512 at once, handled", 4096,
     run_foreign_send, false},
    {"blocking", "job for a thread, and its result: the worker's part", 2048, run_blocking, true},
    {"stream", "64 bytes there and back through a pair of Unix sockets", 1024, run_stream, false},
    {"stream-fiber", "the same by two fibers that read and write", 1024, run_stream_fiber, false},
    {"datagram", "datagram sent and received, each in a step of its own", 128, run_datagram, false},
    {NULL, NULL, 0, NULL, false},
};
