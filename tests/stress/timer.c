/* SPDX-License-Identifier: MIT */
/* Timers on the machine's clock, set and cancelled by everybody at once: each comes once, or its
 * cancel said that it will not, whatever moves or dies meanwhile. Nothing here asks how late one
 * comes, only that none is early. */
#include "actor/loop.h"

#include "fixture.h"

#include <jzx/timer.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { START = 1, TICK = 2, DONE = 3, EXTRA = 4 };

/* A loop whose actors move to another worker after every message, if it is restless. */
static jzx_loop *open_loop(uint32_t workers, bool restless) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = workers, .balance = JZX_BALANCE_EAGER));
    assert_non_null(loop);
    loop->sched.restless = restless && workers > 1;
    /* relaxed: sends every spawn the long way, where it is made restless */
    jzx__atomic_store_relaxed(&loop->observer.is_set, loop->sched.restless ? 1u : 0u);
    return loop;
}

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* ---- cancel races ---- */

#define CELLS_MAX 4096u
#define RECEIVERS 6u
#define SETTERS 2u
#define CANCELLERS 2u

/* One timer. */
struct cell {
    _Atomic uint64_t id; /* once it is set */
    _Atomic uint64_t not_before_ns;
    atomic_uint delivered;
    atomic_uint cancelled;
};

struct race {
    jzx_loop *loop;
    jzx_actor_id receivers[RECEIVERS];
    uint32_t cells; /* how many are used */
    struct cell cell[CELLS_MAX];
    atomic_uint next; /* cell to set */
    atomic_uint over; /* cells that were delivered or cancelled */
    uint32_t delay_max_us;
};

static struct race race;

static void end_cell(void) {
    if (atomic_fetch_add(&race.over, 1) + 1 == race.cells)
        for (uint32_t i = 0; i < RECEIVERS; i++)
            jzx_send(race.loop, race.receivers[i], JZX_NOBODY, NULL, 0, DONE);
}

static void cancel_cell(uint32_t index) {
    struct cell *cell = &race.cell[index];
    jzx_timer_id id = atomic_load(&cell->id);
    if (id == JZX_NO_TIMER)
        return;
    jzx_err err = jzx_timer_cancel(race.loop, id);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_TIMER_INVALID);
    if (err == JZX_OK) {
        atomic_fetch_add(&cell->cancelled, 1);
        end_cell();
    }
}

/* Sets the next cell's timer; false when all are set. */
static bool set_next(uint32_t *seed) {
    uint32_t index = atomic_fetch_add(&race.next, 1);
    if (index >= race.cells)
        return false;
    struct cell *cell = &race.cell[index];
    uint64_t delay = JZX_US(next_random(seed) % race.delay_max_us);
    jzx_timer_id id = JZX_NO_TIMER;
    atomic_store(&cell->not_before_ns, jzx_loop_now(race.loop) + delay);
    jzx_actor_id to = race.receivers[next_random(seed) % RECEIVERS];
    char data[200] = {0};
    memcpy(data, &index, sizeof index);
    size_t len = index % 3 ? sizeof index : sizeof data;
    JZX_EXPECT_EQ(jzx_send_after(race.loop, to, JZX_NOBODY, data, len, TICK, delay, &id), JZX_OK);
    atomic_store(&cell->id, id);
    return true;
}

/* Handles its timers, sets others, and cancels some: on whatever worker it is. */
static jzx_behavior_result receive(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *seed = ctx->state;
    uint32_t index;
    if (msg->tag == DONE)
        return JZX_BEHAVIOR_STOP;
    if (msg->tag == START) {
        for (uint32_t i = 0; i < 8; i++)
            set_next(seed);
        return JZX_BEHAVIOR_OK;
    }
    memcpy(&index, msg->data, sizeof index);
    struct cell *cell = &race.cell[index];
    JZX_EXPECT(jzx_loop_now(ctx->loop) >= atomic_load(&cell->not_before_ns));
    JZX_EXPECT_EQ(atomic_fetch_add(&cell->delivered, 1), 0);
    set_next(seed);
    cancel_cell((index + next_random(seed) % 16) % race.cells);
    end_cell();
    return JZX_BEHAVIOR_OK;
}

static void *set_from_outside(void *arg) {
    uint32_t seed = (uint32_t)(uintptr_t)arg;
    while (set_next(&seed))
        if (next_random(&seed) % 4 == 0)
            sched_yield();
    return NULL;
}

/* Goes for each timer at the moment when it is due. */
static void *cancel_from_outside(void *arg) {
    uint32_t seed = (uint32_t)(uintptr_t)arg;
    for (uint32_t index = 0; index < race.cells; index++) {
        struct cell *cell = &race.cell[index];
        while (atomic_load(&cell->id) == JZX_NO_TIMER)
            sched_yield();
        if (next_random(&seed) % 4 == 0)
            continue; /* this one shall come, unless another cancels it */
        uint64_t at = atomic_load(&cell->not_before_ns) + JZX_US(next_random(&seed) % 1100);
        while (jzx_loop_now(race.loop) < at)
            if (atomic_load(&cell->delivered) != 0)
                break;
        cancel_cell(index);
    }
    return NULL;
}

static void run_race(uint32_t workers, bool restless, uint32_t cells, uint32_t delay_max_us) {
    static uint32_t seeds[RECEIVERS];
    pthread_t threads[SETTERS + CANCELLERS];
    memset(&race, 0, sizeof race);
    race.cells = cells;
    race.delay_max_us = delay_max_us;
    race.loop = open_loop(workers, restless);
    for (uint32_t i = 0; i < RECEIVERS; i++) {
        seeds[i] = i + 1;
        race.receivers[i] = fixture_spawn(
            race.loop, &JZX_SPAWN_OPTS(.behavior = receive, .state = &seeds[i], .mailbox_cap = 4));
        fixture_send(race.loop, race.receivers[i], START);
    }
    for (uintptr_t i = 0; i < SETTERS + CANCELLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i < SETTERS ? set_from_outside : cancel_from_outside,
                                        (void *)(i + 100)),
                         0);
    assert_int_equal(jzx_loop_run(race.loop), JZX_OK);
    for (uint32_t i = 0; i < SETTERS + CANCELLERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (uint32_t i = 0; i < cells; i++) {
        unsigned delivered = atomic_load(&race.cell[i].delivered);
        unsigned cancelled = atomic_load(&race.cell[i].cancelled);
        JZX_EXPECT_EQ(delivered + cancelled, 1);
    }
    jzx_stats stats = fixture_stats(race.loop);
    JZX_EXPECT_EQ(stats.timers_set, cells);
    JZX_EXPECT_EQ(stats.timers_ended, cells);
    fixture_destroy(race.loop);
}

JZX_TEST(a_timer_comes_once_or_its_cancel_said_that_it_will_not, "B+actor", "E50", "C23", "X16") {
    uint64_t rounds = jzx_test_rounds(1, 30);
    for (uint64_t round = 0; round < rounds; round++)
        for (uint32_t workers = 1; workers <= 4; workers++)
            run_race(workers, false, 800, 2000);
}

JZX_TEST(cancels_race_with_timers_of_actors_that_move, "B+actor", "E50", "D13", "X16") {
    uint64_t rounds = jzx_test_rounds(1, 30);
    for (uint64_t round = 0; round < rounds; round++)
        for (uint32_t workers = 2; workers <= 5; workers++)
            run_race(workers, true, 800, 2000);
}

JZX_TEST(cancels_race_with_timers_that_are_due_at_once, "B+actor", "E50", "X16") {
    uint64_t rounds = jzx_test_rounds(1, 30);
    for (uint64_t round = 0; round < rounds; round++)
        for (uint32_t workers = 1; workers <= 4; workers++)
            run_race(workers, workers % 2 == 0, 800, 1);
}

/* ---- actors that die and come again ---- */

#define SLOTS 8u
#define THREADS 3u

struct churn {
    jzx_loop *loop;
    _Atomic uint64_t ids[SLOTS]; /* soon stale */
    atomic_uint left;            /* actors to come */
    atomic_bool done;
    atomic_uint alive;
};

static struct churn churn;

static jzx_behavior_result live_shortly(jzx_context *ctx, const jzx_message *msg);

static jzx_err set_own_timers(jzx_context *ctx) {
    jzx_actor_id self = ctx->self;
    for (uint64_t key = 0; key < 3; key++)
        JZX_EXPECT_EQ(jzx_timer_start(ctx, key, &self, sizeof self, TICK, JZX_US(key * 700)),
                      JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 9, &self, sizeof self, TICK, JZX_MS(1),
                                        self % 2 ? JZX_FIXED_RATE : JZX_FIXED_DELAY),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(1)), JZX_OK);
    return JZX_OK;
}

static void spawn_heir(jzx_loop *loop, uint32_t slot) {
    jzx_actor_id id = JZX_NOBODY;
    if (jzx_spawn(loop,
                  &JZX_SPAWN_OPTS(.behavior = live_shortly, .init = set_own_timers,
                                  .state = (void *)(uintptr_t)slot),
                  &id) == JZX_OK)
        atomic_store(&churn.ids[slot], id);
}

/* Each timer carries the id it is for: none may reach another actor. */
static jzx_behavior_result live_shortly(jzx_context *ctx, const jzx_message *msg) {
    uint32_t slot = (uint32_t)(uintptr_t)ctx->state;
    jzx_actor_id meant = ctx->self;
    if (msg->tag == TICK && JZX_EXPECT_EQ(msg->len, sizeof meant))
        memcpy(&meant, msg->data, sizeof meant);
    JZX_EXPECT_EQ(meant, ctx->self);
    uint32_t dice = (uint32_t)(jzx_loop_now(ctx->loop) / 64);
    if (dice % 4 != 0 && !atomic_load(&churn.done))
        return JZX_BEHAVIOR_OK;
    unsigned left = atomic_load(&churn.left);
    while (left > 0 && !atomic_compare_exchange_weak(&churn.left, &left, left - 1))
        continue;
    if (left > 0)
        spawn_heir(ctx->loop, slot);
    else
        atomic_store(&churn.done, true);
    return dice % 8 < 4 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_FAIL;
}

static void *set_late(void *arg) {
    uint32_t seed = (uint32_t)(uintptr_t)arg;
    jzx_timer_id timers[16] = {0};
    uint32_t count = 0;
    while (!atomic_load(&churn.done)) {
        jzx_actor_id id = atomic_load(&churn.ids[next_random(&seed) % SLOTS]);
        jzx_timer_id *timer = &timers[count++ % 16];
        jzx_err err = jzx_timer_cancel(churn.loop, *timer); /* an old one, mostly over */
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_TIMER_INVALID);
        *timer = JZX_NO_TIMER;
        uint64_t delay = JZX_US(next_random(&seed) % 3000);
        err = next_random(&seed) % 4
                  ? jzx_send_after(churn.loop, id, JZX_NOBODY, &id, sizeof id, TICK, delay, timer)
                  : jzx_send_every(churn.loop, id, JZX_NOBODY, &id, sizeof id, TICK, delay + 1,
                                   JZX_FIXED_RATE, timer);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
        if (next_random(&seed) % 64 == 0)
            jzx_actor_stop(churn.loop, id, JZX_STOP_AFTER_MESSAGE);
        if (next_random(&seed) % 8 == 0)
            sched_yield();
    }
    return NULL;
}

/* Keeps the loop going and fills places of those that the threads have stopped. */
static jzx_behavior_result keep_up(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id self = ctx->self;
    (void)msg;
    if (atomic_load(&churn.done))
        return JZX_BEHAVIOR_STOP;
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        jzx_actor_id id = atomic_load(&churn.ids[slot]);
        jzx_err err = jzx_send(ctx->loop, id, self, NULL, 0, EXTRA);
        if (err == JZX_ERR_NO_SUCH_ACTOR)
            spawn_heir(ctx->loop, slot);
    }
    JZX_EXPECT_EQ(jzx_send_after(ctx->loop, self, self, NULL, 0, START, 0, NULL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void run_churn(uint32_t workers, bool restless, uint32_t count) {
    pthread_t threads[THREADS];
    memset(&churn, 0, sizeof churn);
    churn.loop = open_loop(workers, restless);
    atomic_store(&churn.left, count);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        spawn_heir(churn.loop, slot);
    fixture_send(churn.loop, fixture_spawn(churn.loop, &JZX_SPAWN_OPTS(.behavior = keep_up)),
                 START);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, set_late, (void *)(i + 7)), 0);
    assert_int_equal(jzx_loop_run(churn.loop), JZX_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    jzx_stats stats = fixture_stats(churn.loop);
    JZX_EXPECT_EQ(stats.spawned, stats.exited);
    JZX_EXPECT_EQ(stats.timers_set, stats.timers_ended); /* they went with their actors */
    fixture_destroy(churn.loop);
}

JZX_TEST(timers_never_reach_the_next_actor_of_a_slot, "B+actor", "C23", "D16", "X16") {
    uint32_t count = (uint32_t)jzx_test_rounds(300, 10000);
    for (uint32_t workers = 1; workers <= 4; workers++) {
        run_churn(workers, false, count);
        if (workers > 1)
            run_churn(workers, true, count);
    }
}

/* ---- timers by key while their actor moves ---- */

#define WALKERS 12u

struct walker {
    uint32_t generation; /* of key 1: what came before must not come any more */
    uint32_t ticks;
    uint32_t rounds;
    uint64_t replaced_ns;
    uint64_t rate_sum; /* firings of key 2 */
    uint64_t rate_start_ns;
    uint32_t seed;
};

static void restart_key(jzx_context *ctx, struct walker *self) {
    uint64_t delay = JZX_US(next_random(&self->seed) % 1500);
    self->generation++;
    self->replaced_ns = jzx_loop_now(ctx->loop) + delay;
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, &self->generation, sizeof self->generation, TICK, delay),
                  JZX_OK);
    JZX_EXPECT(jzx_timer_is_active(ctx, 1));
}

static void begin_walk(jzx_context *ctx, struct walker *self) {
    restart_key(ctx, self);
    self->rate_start_ns = jzx_loop_now(ctx->loop);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 2, NULL, 0, EXTRA, JZX_MS(1), JZX_FIXED_RATE), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 3, NULL, 0, DONE, JZX_US(300), JZX_FIXED_DELAY),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(1)), JZX_OK);
}

static jzx_behavior_result walk(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    struct walker *self = ctx->state;
    uint32_t generation = 0;
    switch (msg->tag) {
    case START: begin_walk(ctx, self); return JZX_BEHAVIOR_OK;
    case EXTRA: /* never more firings than periods */
        self->rate_sum += 1 + jzx_timer_missed(ctx);
        JZX_EXPECT(jzx_loop_now(ctx->loop) - self->rate_start_ns >= JZX_MS(self->rate_sum));
        return JZX_BEHAVIOR_OK;
    case JZX_TAG_RECEIVE_TIMEOUT:
    case DONE:
        if (next_random(&self->seed) % 3 == 0)
            restart_key(ctx, self); /* perhaps its message waits already */
        return JZX_BEHAVIOR_OK;
    default: break;
    }
    memcpy(&generation, msg->data, sizeof generation);
    JZX_EXPECT_EQ(generation, self->generation);
    JZX_EXPECT(jzx_loop_now(ctx->loop) >= self->replaced_ns);
    if (++self->ticks < self->rounds) {
        restart_key(ctx, self);
        return JZX_BEHAVIOR_OK;
    }
    return JZX_BEHAVIOR_STOP;
}

static void run_walkers(uint32_t workers, bool restless, uint32_t rounds) {
    static struct walker walkers[WALKERS];
    jzx_loop *loop = open_loop(workers, restless);
    for (uint32_t i = 0; i < WALKERS; i++) {
        walkers[i] = (struct walker){.rounds = rounds, .seed = i};
        fixture_send(loop,
                     fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = walk, .state = &walkers[i])),
                     START);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.timers_set, stats.timers_ended);
    fixture_destroy(loop);
}

JZX_TEST(a_replaced_key_never_comes_however_its_actor_moves, "B+actor", "D13") {
    uint32_t rounds = (uint32_t)jzx_test_rounds(40, 1000);
    for (uint32_t workers = 1; workers <= 5; workers++)
        run_walkers(workers, true, rounds);
    run_walkers(3, false, rounds);
    JZX_EXPECT(jzx_test_runs() != 0);
}

/* ---- repeating timers that others cancel ---- */

#define REPEATERS 16u

struct repeater {
    atomic_uint count;
    _Atomic uint64_t timer;
};

static struct repeater repeaters[REPEATERS];

static jzx_behavior_result count_repeats(jzx_context *ctx, const jzx_message *msg) {
    struct repeater *self = ctx->state;
    if (msg->tag == DONE)
        return JZX_BEHAVIOR_STOP;
    atomic_fetch_add(&self->count, 1);
    return JZX_BEHAVIOR_OK;
}

struct ender {
    jzx_loop *loop;
    jzx_actor_id ids[REPEATERS];
};

/* After a cancel at most the message that was in hand is still counted. */
static void *cancel_repeaters(void *arg) {
    const struct ender *ender = arg;
    unsigned seen[REPEATERS];
    for (uint32_t i = 0; i < REPEATERS; i++) {
        struct repeater *repeater = &repeaters[i];
        while (atomic_load(&repeater->count) < 3)
            sched_yield();
        JZX_EXPECT_EQ(jzx_timer_cancel(ender->loop, atomic_load(&repeater->timer)), JZX_OK);
        seen[i] = atomic_load(&repeater->count);
    }
    uint64_t until = jzx_loop_now(ender->loop) + JZX_MS(5);
    while (jzx_loop_now(ender->loop) < until) /* time for what must not come */
        sched_yield();
    for (uint32_t i = 0; i < REPEATERS; i++) {
        JZX_EXPECT(atomic_load(&repeaters[i].count) <= seen[i] + 1);
        JZX_EXPECT_EQ(jzx_timer_cancel(ender->loop, atomic_load(&repeaters[i].timer)),
                      JZX_ERR_TIMER_INVALID);
        fixture_send(ender->loop, ender->ids[i], DONE);
    }
    return NULL;
}

static void run_repeaters(uint32_t workers, bool restless) {
    struct ender ender = {.loop = open_loop(workers, restless)};
    pthread_t thread;
    memset(repeaters, 0, sizeof repeaters);
    for (uint32_t i = 0; i < REPEATERS; i++) {
        jzx_timer_id timer = JZX_NO_TIMER;
        ender.ids[i] = fixture_spawn(
            ender.loop, &JZX_SPAWN_OPTS(.behavior = count_repeats, .state = &repeaters[i]));
        JZX_EXPECT_EQ(jzx_send_every(ender.loop, ender.ids[i], JZX_NOBODY, NULL, 0, TICK,
                                     JZX_US(500 + 100 * i),
                                     i % 2 ? JZX_FIXED_RATE : JZX_FIXED_DELAY, &timer),
                      JZX_OK);
        atomic_store(&repeaters[i].timer, timer);
    }
    assert_int_equal(pthread_create(&thread, NULL, cancel_repeaters, &ender), 0);
    assert_int_equal(jzx_loop_run(ender.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_destroy(ender.loop);
}

JZX_TEST(a_repeating_timer_that_another_thread_cancels_begins_no_more, "B+actor", "X16") {
    uint64_t rounds = jzx_test_rounds(5, 100);
    for (uint64_t round = 0; round < rounds; round++)
        for (uint32_t workers = 1; workers <= 4; workers++)
            run_repeaters(workers, round % 2 == 0);
}

/* ---- runs that begin and end ---- */

static void *stop_soon(void *loop) {
    jzx_loop_request_stop(loop);
    return NULL;
}

static jzx_behavior_result tick_on(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    uint32_t seed = msg->tag + (uint32_t)ctx->self;
    jzx_send_after(ctx->loop, ctx->self, ctx->self, &seed, sizeof seed, TICK, 0, NULL);
    jzx_timer_start(ctx, next_random(&seed) % 4, NULL, 0, TICK, JZX_US(next_random(&seed) % 900));
    jzx_receive_timeout(ctx, JZX_MS(1));
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(loops_start_and_stop_with_timers_pending, "D18", "C16", "X14") {
    uint64_t handled = 0;
    uint64_t rounds = jzx_test_rounds(100, 2000);
    for (uint64_t i = 0; i < rounds; i++) {
        pthread_t thread;
        jzx_loop *loop = open_loop(1 + (uint32_t)(i % 5), i % 2 == 0);
        for (uint32_t k = 0; k < 10; k++) {
            jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = tick_on));
            fixture_send(loop, id, START);
            for (uint32_t n = 0; n < 10; n++)
                JZX_EXPECT_EQ(jzx_send_after(loop, id, JZX_NOBODY, "0123456789", n, TICK,
                                             JZX_US(n * n * n * 10), NULL),
                              JZX_OK);
        }
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, loop), 0);
        jzx_err err = jzx_loop_run(loop);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_LOOP_CLOSED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        handled += fixture_stats(loop).handled;
        fixture_destroy(loop);
    }
    JZX_EXPECT_EQ(jzx_test_runs() == 0, handled == 0); /* some are of cancelled timers */
}

/* Timers outlive a run: daemons go on in the next one. */
JZX_TEST(timers_go_on_in_the_next_run, "D18", "C+loop") {
    uint64_t rounds = jzx_test_rounds(50, 1000);
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct recorder last = {.stop_at = 1};
        memset(repeaters, 0, sizeof repeaters);
        jzx_loop *loop = open_loop(workers, false);
        for (uint32_t i = 0; i < 4; i++) {
            jzx_actor_id id =
                fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = count_repeats,
                                                    .state = &repeaters[i], .daemon = true));
            JZX_EXPECT_EQ(jzx_send_every(loop, id, JZX_NOBODY, NULL, 0, TICK, JZX_MS(1),
                                         i % 2 ? JZX_FIXED_RATE : JZX_FIXED_DELAY, NULL),
                          JZX_OK);
        }
        for (uint64_t i = 0; i < rounds; i++) {
            last.count = 0;
            jzx_actor_id id =
                fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &last));
            JZX_EXPECT_EQ(
                jzx_send_after(loop, id, JZX_NOBODY, NULL, 0, TICK, JZX_US(i % 3 * 900), NULL),
                JZX_OK);
            assert_int_equal(jzx_loop_run(loop), JZX_OK);
            JZX_EXPECT_EQ(last.count, 1);
        }
        for (uint32_t i = 0; i < 4; i++)
            JZX_EXPECT(atomic_load(&repeaters[i].count) > 0);
        JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK); /* a message may wait */
    }
}
