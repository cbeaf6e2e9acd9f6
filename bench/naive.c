/* SPDX-License-Identifier: MIT */
/* What actors cost over an event loop that a program would write itself: a ring of events, and the
 * function of the object that an event is for is called directly. Here with one object, to which
 * everything is sent, and with a thousand, each of which passes on what it gets to a random one.
 *
 * The naive loop has no ids that go stale, no mailboxes with bounds, no order of turns, no other
 * threads, no timers and no errors: what it does is the least that can be done. Both sides compute
 * the same, step by step, and compare where everything ended. */
#include "bench.h"

JZX_BENCH_SHOWS("C29");

#define OBJECTS 1000u
#define EVENTS_ONE 64u /* under way at once */
#define EVENTS_RANDOM 1000u

/* An actor or an object. */
struct object {
    jzx_actor_id id;
    uint64_t random;
    uint64_t handled;
};

static struct object objects[OBJECTS];
static uint32_t count; /* of them */
static uint64_t ended; /* events whose way was over */
static uint64_t events;

static void reset(uint32_t objects_count, uint64_t events_count) {
    count = objects_count;
    events = events_count;
    ended = 0;
    for (uint32_t i = 0; i < count; i++)
        objects[i] = (struct object){.random = BENCH_SEED + i};
}

/* To whom an object sends next. */
static struct object *next_of(struct object *self) {
    return count == 1 ? self : &objects[bench_random_64(&self->random) % count];
}

static void check(uint64_t size) {
    uint64_t handled = 0;
    for (uint32_t i = 0; i < count; i++)
        handled += objects[i].handled;
    BENCH_CHECK_EQUAL(ended, events);
    BENCH_CHECK_EQUAL(handled, size / events * events);
}

static void note(struct bench_run *run, uint64_t size, double seconds) {
    run->seconds = seconds;
    run->ops = size / events * events;
    run->notes[0] = (double)run->ops / seconds;
    check(size);
}

/* ---- actors ---- */

static jzx_behavior_result pass_on(jzx_context *ctx, const jzx_message *msg) {
    struct object *self = ctx->state;
    uint64_t left = bench_value(msg);
    self->handled++;
    if (left != 1)
        bench_send(ctx, next_of(self)->id, 0, left - 1);
    else if (++ended == events)
        bench_finish(ctx);
    return JZX_BEHAVIOR_OK;
}

static void run_actors(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    for (uint32_t i = 0; i < count; i++)
        objects[i].id = bench_spawn(loop, pass_on, &objects[i]);
    bench_run_until_quiet(loop); /* all have begun */
    double start = bench_now();
    for (uint64_t i = 0; i < events; i++)
        bench_start(loop, objects[i % count].id, 0, size / events);
    bench_run_to_end(loop);
    note(run, size, bench_now() - start);
}

/* ---- the loop that a program would write ---- */

struct event {
    void (*handle)(struct object *object, uint64_t left);
    struct object *object;
    uint64_t left;
};

#define RING_SIZE 1024u
_Static_assert(EVENTS_RANDOM < RING_SIZE && EVENTS_ONE < RING_SIZE, "room for all events");

static struct event ring[RING_SIZE];
static uint32_t ring_head;
static uint32_t ring_tail;

static void post(void (*handle)(struct object *, uint64_t), struct object *object, uint64_t left) {
    ring[ring_tail++ % RING_SIZE] = (struct event){handle, object, left};
}

static void handle(struct object *self, uint64_t left) {
    self->handled++;
    if (left != 1)
        post(handle, next_of(self), left - 1);
    else
        ended++;
}

static void run_ring(uint64_t size, struct bench_run *run) {
    double start = bench_now();
    for (uint64_t i = 0; i < events; i++)
        post(handle, &objects[i % count], size / events);
    while (ring_head != ring_tail) {
        const struct event event = ring[ring_head++ % RING_SIZE];
        event.handle(event.object, event.left);
    }
    note(run, size, bench_now() - start);
}

/* ---- rows ---- */

static void run_one(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    reset(1, EVENTS_ONE);
    run_actors(loop, size, run);
}

static void run_one_naively(jzx_loop *unused, uint64_t size, struct bench_run *run) {
    (void)unused;
    reset(1, EVENTS_ONE);
    run_ring(size, run);
}

static void run_random(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    reset(OBJECTS, EVENTS_RANDOM);
    run_actors(loop, size, run);
}

static void run_random_naively(jzx_loop *unused, uint64_t size, struct bench_run *run) {
    (void)unused;
    reset(OBJECTS, EVENTS_RANDOM);
    run_ring(size, run);
}

static const char *const notes[] = {"per_s", NULL};

const struct bench bench_naive_one = {
    .name = "naive-one",
    .op = "message of one actor to itself, 64 under way; alone: an event of a naive loop",
    .checked = "messages handled",
    .batch = "1",
    .shows = shows,
    .notes = notes,
    .run = run_one,
    .alone = run_one_naively,
    .size = 8000000,
    .size_min = EVENTS_ONE,
    .payload = 8,
    .aim = -1,
};

const struct bench bench_naive_random = {
    .name = "naive-random",
    .op =
        "message to a random one of 1,000 actors, 1,000 under way; alone: an event of a naive loop",
    .checked = "messages handled",
    .batch = "1",
    .shows = shows,
    .notes = notes,
    .run = run_random,
    .alone = run_random_naively,
    .size = 4000000,
    .size_min = EVENTS_RANDOM,
    .payload = 8,
    .aim = -1,
};
