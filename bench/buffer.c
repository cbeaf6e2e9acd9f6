/* SPDX-License-Identifier: MIT */
/* 40 producers, 40 consumers, and a manager between them with a buffer of 50 items: four messages
 * an item, and some work at both ends. */
#include "bench.h"

#define PRODUCERS 40u
#define CONSUMERS 40u
#define ROOM 50u
#define STEPS 25u /* of work, to produce an item and to consume it */

enum { START, PRODUCE, ITEM, LAST_ITEM, CONSUME, READY };

struct producer {
    BENCH_APART uint64_t left;
    uint64_t item;
    uint64_t sum;
};

struct consumer {
    BENCH_APART uint64_t count;
    uint64_t sum;
    uint64_t result;
};

struct manager {
    BENCH_APART uint64_t left;     /* items to be consumed */
    jzx_actor_id idle[PRODUCERS];  /* that may be asked */
    jzx_actor_id ready[CONSUMERS]; /* that wait for an item */
    uint64_t items[ROOM];          /* a ring */
    uint32_t idle_count;
    uint32_t ready_count;
    uint32_t asked; /* items to come: room is kept for them */
    uint32_t first;
    uint32_t count;
};

static struct producer producers[PRODUCERS];
static struct consumer consumers[CONSUMERS];

static jzx_behavior_result produce(jzx_context *ctx, const jzx_message *msg) {
    struct producer *self = ctx->state;
    self->item = bench_work(self->item, STEPS);
    self->sum += self->item;
    bool is_last = --self->left == 0;
    bench_send(ctx, msg->sender, is_last ? LAST_ITEM : ITEM, self->item);
    return is_last ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result consume(jzx_context *ctx, const jzx_message *msg) {
    struct consumer *self = ctx->state;
    uint64_t item = bench_value(msg);
    self->count++;
    self->sum += item;
    self->result ^= bench_work(item, STEPS);
    bench_send(ctx, msg->sender, READY, 0);
    return JZX_BEHAVIOR_OK;
}

static void ask(jzx_context *ctx, struct manager *self) {
    while (self->idle_count != 0 && self->count + self->asked < ROOM) {
        self->asked++;
        bench_send(ctx, self->idle[--self->idle_count], PRODUCE, 0);
    }
}

/* To a consumer that is ready, or else into the buffer. */
static void take_item(jzx_context *ctx, struct manager *self, uint64_t item) {
    self->asked--;
    if (self->ready_count != 0) {
        bench_send(ctx, self->ready[--self->ready_count], CONSUME, item);
    } else {
        BENCH_CHECK(self->count < ROOM);
        self->items[(self->first + self->count++) % ROOM] = item;
    }
}

static void give_item(jzx_context *ctx, struct manager *self, jzx_actor_id consumer) {
    if (self->count == 0) {
        self->ready[self->ready_count++] = consumer;
    } else {
        bench_send(ctx, consumer, CONSUME, self->items[self->first]);
        self->first = (self->first + 1) % ROOM;
        self->count--;
    }
}

static jzx_behavior_result manage(jzx_context *ctx, const jzx_message *msg) {
    struct manager *self = ctx->state;
    switch (msg->tag) {
    case START: break;
    case ITEM: self->idle[self->idle_count++] = msg->sender; /* fall through */
    case LAST_ITEM: take_item(ctx, self, bench_value(msg)); break;
    case READY:
        give_item(ctx, self, msg->sender);
        if (--self->left == 0)
            bench_finish(ctx);
        break;
    default: bench_fail("buffer: a message of tag %u", (unsigned)msg->tag);
    }
    ask(ctx, self);
    return JZX_BEHAVIOR_OK;
}

static void check(uint64_t size) {
    uint64_t produced = 0;
    uint64_t consumed = 0;
    uint64_t count = 0;
    for (unsigned i = 0; i < PRODUCERS; i++) {
        BENCH_CHECK_EQUAL(producers[i].left, 0);
        produced += producers[i].sum;
    }
    for (unsigned i = 0; i < CONSUMERS; i++) {
        count += consumers[i].count;
        consumed += consumers[i].sum;
    }
    BENCH_CHECK_EQUAL(count, PRODUCERS * size);
    BENCH_CHECK_EQUAL(consumed, produced);
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct manager manager = {.left = PRODUCERS * size};
    jzx_actor_id id = bench_spawn(loop, manage, &manager);
    for (unsigned i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){.left = size, .item = i};
        manager.idle[manager.idle_count++] = bench_spawn(loop, produce, &producers[i]);
    }
    for (unsigned i = 0; i < CONSUMERS; i++) {
        consumers[i] = (struct consumer){0};
        manager.ready[manager.ready_count++] = bench_spawn(loop, consume, &consumers[i]);
    }
    double start = bench_now();
    bench_start(loop, id, START, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = PRODUCERS * size;
    BENCH_CHECK_EQUAL(manager.left, 0);
    check(size);
}

const struct bench bench_buffer = {
    .name = "buffer",
    .op = "item (4 messages)",
    .checked = "items consumed, their sum",
    .batch = "1",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 20000,
    .payload = 8,
    .aim = -1,
};
