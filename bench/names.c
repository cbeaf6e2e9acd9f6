/* SPDX-License-Identifier: MIT */
/* Finding actors by name, and sending to all of a group. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#define NAMES 10000u
#define HOT 64u
#define MEMBERS 10000u

struct named {
    char text[16];
    jzx_actor_id id;
};

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

/* ---- name-lookup: in a table of 10,000; in turn some that are in the cache, then any ---- */

struct seeker {
    struct named *names;
    uint32_t *order;
    uint64_t left;
    uint32_t range;
    bool is_random;
};

static jzx_behavior_result seek(jzx_context *ctx, const jzx_message *msg) {
    const struct seeker *self = ctx->state;
    (void)msg;
    for (uint64_t i = 0; i < self->left; i++) {
        uint32_t at = (uint32_t)(i % self->range);
        const struct named *named = &self->names[self->is_random ? self->order[at] : at];
        jzx_actor_id id = JZX_NOBODY;
        BENCH_CHECK(jzx_lookup(ctx->loop, named->text, &id) == JZX_OK && id == named->id);
    }
    return JZX_BEHAVIOR_STOP;
}

static double seek_all(jzx_loop *loop, struct seeker *seeker) {
    bench_start(loop, bench_spawn(loop, seek, seeker), 0, 0);
    double start = bench_now();
    bench_run_until_quiet(loop);
    return bench_now() - start;
}

static void run_lookup(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static struct named names[NAMES];
    static uint32_t order[NAMES];
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(names[i].text, sizeof names[i].text, "service-%u", i);
        names[i].id = bench_spawn(loop, ignore, NULL);
        BENCH_CHECK(jzx_register(loop, names[i].text, names[i].id) == JZX_OK);
    }
    bench_order(order, NAMES, true);
    struct seeker hot = {names, order, size, HOT, false};
    struct seeker any = {names, order, size, NAMES, true};
    run->seconds = seek_all(loop, &hot);
    run->ops = size;
    run->notes[0] = seek_all(loop, &any) * 1e9 / (double)size;
}

static const char *const lookup_notes[] = {"random_ns", NULL};

const struct bench bench_name_lookup = {
    .name = "name-lookup",
    .op = "look-up of one of 64 names, of 10,000",
    .checked = "every id",
    .batch = "all",
    .notes = lookup_notes,
    .kind = BENCH_ONE,
    .run = run_lookup,
    .size = 2000000,
    .payload = 0,
    .aim = 20,
};

/* ---- broadcast ---- */

struct member {
    uint64_t got;
};

struct speaker {
    uint64_t left;
};

static jzx_err join(jzx_context *ctx) {
    return jzx_group_join(ctx, "all");
}

static jzx_behavior_result listen_to(jzx_context *ctx, const jzx_message *msg) {
    struct member *self = ctx->state;
    self->got += bench_value(msg);
    return JZX_BEHAVIOR_OK;
}

/* One round after the other: the next when all have heard the last. */
static jzx_behavior_result speak(jzx_context *ctx, const jzx_message *msg) {
    struct speaker *self = ctx->state;
    uint64_t value = 1;
    size_t delivered = 0;
    (void)msg;
    BENCH_CHECK(jzx_group_broadcast(ctx->loop, "all", ctx->self, &value, sizeof value, 0,
                                    &delivered) == JZX_OK);
    BENCH_CHECK_EQUAL(delivered, MEMBERS);
    if (--self->left == 0)
        return JZX_BEHAVIOR_STOP;
    bench_send(ctx, ctx->self, 0, 0);
    return JZX_BEHAVIOR_OK;
}

static void run_broadcast(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static struct member members[MEMBERS];
    struct speaker speaker = {.left = size};
    for (uint32_t i = 0; i < MEMBERS; i++) {
        const jzx_spawn_opts opts = {
            .size = sizeof opts, .behavior = listen_to, .state = &members[i], .init = join};
        BENCH_CHECK(jzx_spawn(loop, &opts, NULL) == JZX_OK);
    }
    bench_run_until_quiet(loop);
    bench_start(loop, bench_spawn(loop, speak, &speaker), 0, 0);
    double start = bench_now();
    bench_run_until_quiet(loop);
    run->seconds = bench_now() - start;
    run->ops = size * MEMBERS;
    for (uint32_t i = 0; i < MEMBERS; i++)
        BENCH_CHECK_EQUAL(members[i].got, size);
}

const struct bench bench_broadcast = {
    .name = "broadcast",
    .op = "message to one of 10,000 members, handled",
    .checked = "deliveries, what each member has got",
    .batch = "10000",
    .kind = BENCH_ONE,
    .run = run_broadcast,
    .size = 300,
    .size_min = 3,
    .payload = 8,
    .aim = 25,
};

/* ---- alloc: blocks of 16 to 256 bytes of the actor's heap, given back in another order ---- */

#define BLOCKS 1024u

struct allocator {
    uint64_t left;
    uint64_t random;
    uint64_t sum;
};

static jzx_behavior_result allocate(jzx_context *ctx, const jzx_message *msg) {
    struct allocator *self = ctx->state;
    void *blocks[BLOCKS];
    (void)msg;
    unsigned count = self->left < BLOCKS ? (unsigned)self->left : BLOCKS;
    for (unsigned i = 0; i < count; i++) {
        size_t size = 16 + (bench_random(&self->random) & 0xF0u);
        blocks[i] = jzx_alloc(ctx, size);
        BENCH_CHECK(blocks[i] != NULL);
        memcpy(blocks[i], &i, sizeof i);
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned at = i ^ 5u;
        unsigned value = 0;
        if (at >= count)
            at = i;
        memcpy(&value, blocks[at], sizeof value);
        self->sum += value == at;
        jzx_free(ctx, blocks[at]);
    }
    self->left -= count;
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    bench_send(ctx, ctx->self, 0, 0);
    return JZX_BEHAVIOR_OK;
}

static void run_alloc(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct allocator allocator = {.left = size / BLOCKS * BLOCKS, .random = BENCH_SEED};
    uint64_t count = allocator.left;
    bench_start(loop, bench_spawn(loop, allocate, &allocator), 0, 0);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = count;
    BENCH_CHECK_EQUAL(allocator.sum, count);
}

const struct bench bench_alloc = {
    .name = "alloc",
    .op = "block of 16 to 256 bytes of an actor's heap, allocated, written, read and freed",
    .checked = "what is in each block",
    .batch = "1024",
    .kind = BENCH_ONE,
    .run = run_alloc,
    .size = 4194304,
    .size_min = BLOCKS,
    .payload = 8,
    .aim = 12,
};
