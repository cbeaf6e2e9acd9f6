/* SPDX-License-Identifier: MIT */
/* A map of 65,536 keys that one actor has, and 20 that ask it one thing at a time: nine reads for
 * every write. */
#include "bench.h"

#define ASKERS 20u
#define KEYS 65536u
#define SLOT_BITS 17u
#define SLOTS (1u << SLOT_BITS) /* half of them are used */
#define NO_KEY UINT32_MAX

enum { START, READ, WRITE, ANSWER };

struct entry {
    uint32_t key;
    uint32_t value;
};

struct dictionary {
    BENCH_APART uint64_t left;
    struct entry slots[SLOTS]; /* each key at its hash, or after it without a gap */
};

struct asker {
    BENCH_APART jzx_actor_id dictionary;
    uint64_t left;
    uint64_t random;
    uint64_t answers;
    uint32_t key; /* that it has asked for */
};

static struct dictionary dictionary;
static struct asker askers[ASKERS];

/* The slot of the key, or the free one where it belongs. */
static struct entry *find(struct dictionary *self, uint32_t key) {
    uint32_t i = key * 2654435769u >> (32 - SLOT_BITS);
    while (self->slots[i].key != key && self->slots[i].key != NO_KEY)
        i = (i + 1) % SLOTS;
    return &self->slots[i];
}

static void fill(struct dictionary *self) {
    for (uint32_t i = 0; i < SLOTS; i++)
        self->slots[i].key = NO_KEY;
    for (uint32_t key = 0; key < KEYS; key++)
        *find(self, key) = (struct entry){.key = key, .value = key};
}

static jzx_behavior_result look_up(jzx_context *ctx, const jzx_message *msg) {
    struct dictionary *self = ctx->state;
    struct entry asked;
    memcpy(&asked, msg->data, sizeof asked);
    struct entry *entry = find(self, asked.key);
    if (msg->tag == WRITE)
        *entry = asked;
    BENCH_CHECK_EQUAL(entry->key, asked.key);
    bench_send(ctx, msg->sender, ANSWER, entry->value);
    return --self->left == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result ask(jzx_context *ctx, const jzx_message *msg) {
    struct asker *self = ctx->state;
    if (msg->tag == ANSWER) {
        BENCH_CHECK_EQUAL(bench_value(msg), self->key);
        self->answers++;
    }
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    self->left--;
    uint32_t random = bench_random(&self->random);
    self->key = random % KEYS;
    uint32_t tag = random / KEYS % 10 == 0 ? WRITE : READ;
    struct entry asked = {.key = self->key, .value = tag == WRITE ? self->key : 0};
    BENCH_CHECK(jzx_send(ctx->loop, self->dictionary, ctx->self, &asked, sizeof asked, tag) ==
                JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_actor_id ids[ASKERS];
    fill(&dictionary);
    dictionary.left = ASKERS * size;
    jzx_actor_id id = bench_spawn(loop, look_up, &dictionary);
    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){
            .dictionary = id, .left = size, .random = 88172645463325252u + i * 7919u};
        ids[i] = bench_spawn(loop, ask, &askers[i]);
    }
    double start = bench_now();
    for (unsigned i = 0; i < ASKERS; i++)
        bench_start(loop, ids[i], START, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = ASKERS * size;
    BENCH_CHECK_EQUAL(dictionary.left, 0);
    for (unsigned i = 0; i < ASKERS; i++)
        BENCH_CHECK_EQUAL(askers[i].answers, size);
}

const struct bench bench_dictionary = {
    .name = "dictionary",
    .op = "request and answer",
    .checked = "every answer, their number",
    .batch = "1",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 100000,
    .payload = 8,
    .aim = -1,
};
