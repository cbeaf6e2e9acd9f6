/* SPDX-License-Identifier: MIT */
/* Synchronisation of fibers: locks that nobody else wants, channels with one sender and with four,
 * and a broadcast to eight readers. With two workers there is a fiber with a lock of its own on
 * each; the fibers of a channel or a broadcast begin wherever the scheduler has them begin. */
#include "bench.h"

#define FIBERS_MAX 8u
#define SENDERS_MAX 4u
#define READERS 8u
#define CAPACITY 64u

JZX_CHANNEL(number, uint64_t)
JZX_BROADCAST(number, uint64_t)

/* What one fiber does. */
struct part {
    BENCH_APART uint64_t count; /* to be done */
    uint64_t sum;               /* of what it got */
    jzx_mutex mutex;
    jzx_semaphore semaphore;
};

static struct part parts[FIBERS_MAX + 1];
static number_channel channel;
static number_broadcast broadcast;
static jzx_semaphore done; /* readers that have read a batch */

static void spawn_at(jzx_loop *loop, jzx_fiber_fn fn, struct part *part, uint16_t place) {
    jzx_actor_id id;
    BENCH_CHECK(jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn, .state = part, .place = place), &id) ==
                JZX_OK);
}

static void measure(jzx_loop *loop, uint64_t ops, struct bench_run *run) {
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = ops;
}

/* ---- locks ---- */

static void lock_and_unlock(jzx_context *ctx) {
    struct part *part = ctx->state;
    for (uint64_t i = 0; i < part->count; i++) {
        BENCH_CHECK(jzx_mutex_lock(ctx, &part->mutex, JZX_NEVER) == JZX_OK);
        part->sum++;
        BENCH_CHECK(jzx_mutex_unlock(ctx, &part->mutex) == JZX_OK);
    }
}

static void acquire_and_release(jzx_context *ctx) {
    struct part *part = ctx->state;
    for (uint64_t i = 0; i < part->count; i++) {
        BENCH_CHECK(jzx_semaphore_acquire(ctx, &part->semaphore, 1, JZX_NEVER) == JZX_OK);
        part->sum++;
        BENCH_CHECK(jzx_semaphore_release(ctx, &part->semaphore, 1) == JZX_OK);
    }
}

/* A fiber with a lock of its own on each worker. */
static void run_locks(jzx_loop *loop, jzx_fiber_fn fn, uint64_t size, struct bench_run *run) {
    uint32_t workers = jzx_loop_workers(loop);
    uint32_t fibers = workers < FIBERS_MAX ? workers : FIBERS_MAX;
    uint64_t each = size / fibers;
    for (uint32_t i = 0; i < fibers; i++) {
        parts[i].count = each;
        parts[i].sum = 0;
        BENCH_CHECK(jzx_mutex_init(loop, &parts[i].mutex) == JZX_OK);
        BENCH_CHECK(jzx_semaphore_init(loop, &parts[i].semaphore, 4, 4) == JZX_OK);
        spawn_at(loop, fn, &parts[i], JZX_PLACE_WORKER(i));
    }
    measure(loop, each * fibers, run);
    for (uint32_t i = 0; i < fibers; i++) {
        BENCH_CHECK_EQUAL(parts[i].sum, each);
        BENCH_CHECK(jzx_mutex_deinit(&parts[i].mutex) == JZX_OK);
        BENCH_CHECK(jzx_semaphore_deinit(&parts[i].semaphore) == JZX_OK);
    }
}

static void run_mutex(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_locks(loop, lock_and_unlock, size, run);
}

static void run_semaphore(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_locks(loop, acquire_and_release, size, run);
}

const struct bench bench_sync_mutex = {
    .name = "sync-mutex",
    .op = "lock and unlock of a mutex that no other fiber wants",
    .checked = "locks",
    .batch = "1",
    .kind = BENCH_BOTH,
    .run = run_mutex,
    .size = 4000000,
    .size_min = FIBERS_MAX,
    .aim = -1,
};

const struct bench bench_sync_semaphore = {
    .name = "sync-semaphore",
    .op = "one of four permits taken and given back, that no other fiber wants",
    .checked = "permits",
    .batch = "1",
    .kind = BENCH_BOTH,
    .run = run_semaphore,
    .size = 2000000,
    .size_min = FIBERS_MAX,
    .aim = -1,
};

/* ---- channels ---- */

static void send_numbers(jzx_context *ctx) {
    struct part *part = ctx->state;
    for (uint64_t i = 0; i < part->count; i++)
        BENCH_CHECK(number_channel_send(ctx, &channel, i, JZX_NEVER) == JZX_OK);
}

static void receive_numbers(jzx_context *ctx) {
    struct part *part = ctx->state;
    uint64_t value;
    for (uint64_t i = 0; i < part->count; i++) {
        BENCH_CHECK(number_channel_receive(ctx, &channel, JZX_NEVER, &value) == JZX_OK);
        part->sum += value;
    }
}

static void run_senders(jzx_loop *loop, uint32_t senders, uint64_t size, struct bench_run *run) {
    uint64_t each = size / senders;
    struct part *receiver = &parts[FIBERS_MAX];
    BENCH_CHECK(number_channel_init(loop, &channel, CAPACITY) == JZX_OK);
    receiver->count = each * senders;
    receiver->sum = 0;
    spawn_at(loop, receive_numbers, receiver, JZX_PLACE_ANY);
    for (uint32_t i = 0; i < senders; i++) {
        parts[i].count = each;
        spawn_at(loop, send_numbers, &parts[i], JZX_PLACE_ANY);
    }
    measure(loop, each * senders, run);
    BENCH_CHECK_EQUAL(receiver->sum, each * (each - 1) / 2 * senders);
    BENCH_CHECK(number_channel_deinit(&channel) == JZX_OK);
}

static void run_channel(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_senders(loop, 1, size & ~(uint64_t)1, run);
}

static void run_channel_4(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_senders(loop, SENDERS_MAX, size, run);
}

/* The same numbers as messages, from one behaviour to another. */
static jzx_behavior_result add_up(jzx_context *ctx, const jzx_message *msg) {
    struct part *part = ctx->state;
    part->sum += bench_value(msg);
    return --part->count == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_actor_id adder;

static jzx_behavior_result send_messages(jzx_context *ctx, const jzx_message *msg) {
    struct part *part = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < CAPACITY && part->sum < part->count; i++)
        bench_send(ctx, adder, 0, part->sum++);
    if (part->sum == part->count)
        return JZX_BEHAVIOR_STOP;
    bench_send(ctx, ctx->self, 0, 0); /* others run first */
    return JZX_BEHAVIOR_OK;
}

static void run_messages(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct part *receiver = &parts[FIBERS_MAX];
    receiver->count = size;
    receiver->sum = 0;
    parts[0].count = size;
    parts[0].sum = 0;
    adder = bench_spawn(loop, add_up, receiver);
    bench_start(loop, bench_spawn(loop, send_messages, &parts[0]), 0, 0);
    measure(loop, size, run);
    BENCH_CHECK_EQUAL(receiver->sum, size % 2 == 0 ? size / 2 * (size - 1) : (size - 1) / 2 * size);
}

const struct bench bench_sync_channel = {
    .name = "sync-channel",
    .op = "value through a channel of 64, from one fiber to another",
    .checked = "the sum of what was received",
    .batch = "64",
    .kind = BENCH_BOTH,
    .run = run_channel,
    .size = 2000000,
    .size_min = 4,
    .payload = 8,
    .aim = -1,
};

const struct bench bench_sync_fanin = {
    .name = "sync-fanin",
    .op = "value through a channel of 64, from four fibers to one",
    .checked = "the sum of what was received",
    .batch = "64",
    .kind = BENCH_BOTH,
    .run = run_channel_4,
    .size = 2000000,
    .size_min = 2 * SENDERS_MAX,
    .payload = 8,
    .aim = -1,
};

const struct bench bench_sync_message = {
    .name = "sync-message",
    .op = "value through a channel of 64; alone: message from one behaviour to another",
    .checked = "the sum of what was received",
    .batch = "64",
    .kind = BENCH_ONE,
    .run = run_channel,
    .alone = run_messages,
    .size = 2000000,
    .size_min = 4,
    .payload = 8,
    .aim = -1,
    .ratio_limit = 2,
};

/* ---- broadcast ---- */

/* The next batch comes when all have read the last: nobody lags. */
static void publish_numbers(jzx_context *ctx) {
    struct part *part = ctx->state;
    for (uint64_t i = 0; i < part->count; i++) {
        BENCH_CHECK(number_broadcast_publish(&broadcast, i) == JZX_OK);
        if ((i + 1) % CAPACITY == 0)
            BENCH_CHECK(jzx_semaphore_acquire(ctx, &done, READERS, JZX_NEVER) == JZX_OK);
        if ((i + 1) % CAPACITY == 0)
            BENCH_CHECK(jzx_semaphore_forget(ctx, &done, READERS) == JZX_OK);
    }
}

static void read_numbers(jzx_context *ctx) {
    struct part *part = ctx->state;
    jzx_reader reader;
    uint64_t value;
    BENCH_CHECK(number_broadcast_subscribe(&broadcast, &reader) == JZX_OK);
    BENCH_CHECK(jzx_semaphore_release(ctx, &done, 1) == JZX_OK);
    for (uint64_t i = 0; i < part->count; i++) {
        BENCH_CHECK(number_broadcast_read(ctx, &reader, JZX_NEVER, &value) == JZX_OK);
        part->sum += value;
        if ((i + 1) % CAPACITY == 0)
            BENCH_CHECK(jzx_semaphore_release(ctx, &done, 1) == JZX_OK);
    }
}

/* All have subscribed. */
static void begin_to_publish(jzx_context *ctx) {
    BENCH_CHECK(jzx_semaphore_acquire(ctx, &done, READERS, JZX_NEVER) == JZX_OK);
    BENCH_CHECK(jzx_semaphore_forget(ctx, &done, READERS) == JZX_OK);
    publish_numbers(ctx);
}

static void run_broadcast(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    uint64_t each = size / READERS / CAPACITY * CAPACITY;
    BENCH_CHECK(number_broadcast_init(loop, &broadcast, CAPACITY) == JZX_OK);
    BENCH_CHECK(jzx_semaphore_init(loop, &done, 0, READERS) == JZX_OK);
    parts[READERS].count = each;
    spawn_at(loop, begin_to_publish, &parts[READERS], JZX_PLACE_ANY);
    for (uint32_t i = 0; i < READERS; i++) {
        parts[i].count = each;
        parts[i].sum = 0;
        spawn_at(loop, read_numbers, &parts[i], JZX_PLACE_ANY);
    }
    measure(loop, each * READERS, run);
    for (uint32_t i = 0; i < READERS; i++)
        BENCH_CHECK_EQUAL(parts[i].sum, each * (each - 1) / 2);
    BENCH_CHECK(number_broadcast_deinit(&broadcast) == JZX_OK);
    BENCH_CHECK(jzx_semaphore_deinit(&done) == JZX_OK);
}

const struct bench bench_sync_broadcast = {
    .name = "sync-broadcast",
    .op = "value of a broadcast, read by one of eight fibers",
    .checked = "the sum of what each has read",
    .batch = "64",
    .kind = BENCH_BOTH,
    .run = run_broadcast,
    .size = 2048000,
    .size_min = READERS * CAPACITY,
    .payload = 8,
    .aim = -1,
};
