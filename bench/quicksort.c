/* SPDX-License-Identifier: MIT */
/* Sorts one array with a tree of actors: each splits its part and gives what is less and what is
 * more to an actor of its own. */
#include "bench.h"

#include <stdlib.h>

#define AT_ONCE 2048u /* numbers that are not split any more */
#define FEW 16u       /* numbers that are sorted by insertion */

enum { START, DONE };

/* The actor's own: nobody else looks at these numbers until it is done. */
struct part {
    BENCH_APART uint64_t *numbers;
    uint64_t count;
    jzx_actor_id parent;
    uint32_t missing; /* parts of this one that are not done */
};

static struct part *make_part(uint64_t *numbers, uint64_t count, jzx_actor_id parent) {
    struct part *made = aligned_alloc(_Alignof(struct part), sizeof *made);
    BENCH_CHECK(made != NULL);
    *made = (struct part){.numbers = numbers, .count = count, .parent = parent};
    return made;
}

struct counts {
    uint64_t less;
    uint64_t equal;
};

/* Moves what is less to the front, and counts. No branch depends on a number: no CPU could predict
 * it. */
static inline struct counts gather_less(uint64_t *numbers, uint64_t count, uint64_t than) {
    struct counts counts = {0};
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = numbers[i];
        numbers[i] = numbers[counts.less];
        numbers[counts.less] = number;
        counts.less += number < than;
        counts.equal += number == than;
    }
    return counts;
}

static uint64_t gather_equal(uint64_t *numbers, uint64_t count, uint64_t to) {
    uint64_t gathered = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = numbers[i];
        numbers[i] = numbers[gathered];
        numbers[gathered] = number;
        gathered += number == to;
    }
    return gathered;
}

/* By insertion, past all that are before: that is more steps, but none depends on a number. */
static void sort_few(uint64_t *numbers, uint64_t count) {
    for (uint64_t i = 1; i < count; i++) {
        uint64_t moving = numbers[i];
        for (uint64_t place = i; place > 0; place--) {
            uint64_t other = numbers[place - 1];
            numbers[place] = other > moving ? other : moving;
            moving = other > moving ? moving : other;
        }
        numbers[0] = moving;
    }
}

static uint64_t middle_of(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t low = a < b ? a : b;
    uint64_t high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* As qsort, without a call to compare. The middle goes with those that are more, unless nothing is
 * less: then all that equal it are in their places at once. */
static void sort_at_once(uint64_t *numbers, uint64_t count) {
    while (count > FEW) {
        uint64_t middle = middle_of(numbers[0], numbers[count / 2], numbers[count - 1]);
        uint64_t done = gather_less(numbers, count, middle).less;
        if (done != 0)
            sort_at_once(numbers, done);
        else
            done = gather_equal(numbers, count, middle);
        numbers += done;
        count -= done;
    }
    sort_few(numbers, count);
}

static jzx_behavior_result sort(jzx_context *ctx, const jzx_message *msg);

static void give(jzx_context *ctx, uint64_t *numbers, uint64_t count) {
    struct part *part = make_part(numbers, count, ctx->self);
    bench_send(ctx, bench_spawn(ctx->loop, sort, part), START, 0);
}

/* What equals the middle is in its place then. The middle itself goes last before: so it comes to
 * lie behind what is less, and a second walk is for those that have its like. */
static void split(jzx_context *ctx, struct part *self) {
    uint64_t *last = &self->numbers[self->count - 1];
    uint64_t middle = self->numbers[self->count / 2];
    self->numbers[self->count / 2] = *last;
    *last = middle;
    struct counts counts = gather_less(self->numbers, self->count, middle);
    uint64_t *rest = self->numbers + counts.less;
    uint64_t rest_count = self->count - counts.less;
    if (counts.equal > 1)
        gather_equal(rest, rest_count, middle);
    self->missing = 2;
    give(ctx, self->numbers, counts.less);
    give(ctx, rest + counts.equal, rest_count - counts.equal);
}

static jzx_behavior_result sort(jzx_context *ctx, const jzx_message *msg) {
    struct part *self = ctx->state;
    if (msg->tag == DONE) {
        self->missing--;
    } else if (self->count > AT_ONCE) {
        split(ctx, self);
    } else {
        sort_at_once(self->numbers, self->count);
    }
    if (self->missing != 0)
        return JZX_BEHAVIOR_OK;
    bench_send(ctx, self->parent, DONE, 0);
    free(self);
    return JZX_BEHAVIOR_STOP;
}

static uint64_t *make_numbers(uint64_t count) {
    uint64_t *numbers = malloc(count * sizeof *numbers);
    BENCH_CHECK(numbers != NULL);
    uint64_t random = BENCH_SEED;
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = bench_random_64(&random);
    return numbers;
}

/* What no order changes. */
struct content {
    uint64_t sum;
    uint64_t mix;
};

static struct content content_of(const uint64_t *numbers, uint64_t count) {
    struct content content = {0};
    for (uint64_t i = 0; i < count; i++) {
        content.sum += numbers[i];
        content.mix ^= numbers[i];
    }
    return content;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    uint64_t *numbers = make_numbers(size);
    struct content before = content_of(numbers, size);
    struct bench_judge judge = {.missing = 1};
    jzx_actor_id judge_id = bench_spawn(loop, bench_await, &judge);
    jzx_actor_id id = bench_spawn(loop, sort, make_part(numbers, size, judge_id));
    double start = bench_now();
    bench_start(loop, id, START, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    struct content after = content_of(numbers, size);
    BENCH_CHECK_EQUAL(after.sum, before.sum);
    BENCH_CHECK_EQUAL(after.mix, before.mix);
    for (uint64_t i = 1; i < size; i++)
        BENCH_CHECK(numbers[i - 1] <= numbers[i]);
    free(numbers);
}

const struct bench bench_quicksort = {
    .name = "quicksort",
    .op = "number",
    .checked = "the order, the numbers",
    .batch = "2",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 1000000,
    .payload = 8,
    .aim = -1,
};
