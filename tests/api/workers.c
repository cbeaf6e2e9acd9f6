/* SPDX-License-Identifier: MIT */
/* Several workers, as programs see them: how many, where actors run, when a run is over, what is
 * refused, and what the counters say. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static jzx_loop *open_with(jzx_config config) {
    jzx_loop *loop = fixture_loop_with(&config);
    assert_non_null(loop);
    return loop;
}

static jzx_loop *open_loop(uint32_t workers) {
    return open_with(JZX_CONFIG(.workers = workers));
}

static pthread_t start(void *(*fn)(void *), void *arg) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fn, arg), 0);
    return thread;
}

static jzx_behavior_result end(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static jzx_actor_id spawn_at(jzx_loop *loop, uint16_t place, jzx_behavior_fn behavior,
                             void *state) {
    return fixture_spawn(loop,
                         &JZX_SPAWN_OPTS(.behavior = behavior, .state = state, .place = place));
}

/* ---- how many ---- */

JZX_TEST(a_loop_has_as_many_workers_as_it_was_told, "D5", "E7") {
    static const uint32_t counts[] = {1, 2, 3, 16};
    JZX_EXPECT_EQ(jzx_loop_workers(NULL), 0);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        jzx_loop *loop = open_loop(counts[i]);
        JZX_EXPECT_EQ(jzx_loop_workers(loop), counts[i]);
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK); /* nothing to do */
        fixture_destroy(loop);
    }
}

/* False if a quota may allow fewer CPUs than the mask. */
static bool is_without_quota(void) {
    char text[64] = "max";
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (file != NULL && fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    if (file != NULL)
        fclose(file);
    bool is_root = false;
    file = fopen("/proc/self/cgroup", "r");
    for (char line[256]; file != NULL && fgets(line, sizeof line, file) != NULL;)
        is_root = is_root || strcmp(line, "0::/\n") == 0;
    if (file != NULL)
        fclose(file);
    return is_root && strncmp(text, "max", 3) == 0;
}

static uint32_t workers_by_default(void) {
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.allocator = fixture_allocator()));
    assert_non_null(loop);
    uint32_t workers = jzx_loop_workers(loop);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    return workers;
}

JZX_TEST(without_a_number_a_loop_has_a_worker_per_cpu_that_it_may_use, "D5", "E7", "D+def") {
    cpu_set_t before;
    cpu_set_t one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    uint32_t all = (uint32_t)CPU_COUNT(&before);
    uint32_t workers = workers_by_default();
    JZX_EXPECT(workers >= 1 && workers <= all);
    if (is_without_quota())
        JZX_EXPECT_EQ(workers, all);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    JZX_EXPECT_EQ(workers_by_default(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void expect_wrong(const char *name, jzx_config config) {
    const char *field = NULL;
    JZX_EXPECT_EQ(jzx_config_check(&config, &field), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(field != NULL && strcmp(field, name) == 0);
    config.allocator = fixture_allocator();
    JZX_EXPECT(jzx_loop_create(&config) == NULL);
}

static void expect_right(jzx_config config) {
    const char *field = "untouched";
    JZX_EXPECT_EQ(jzx_config_check(&config, &field), JZX_OK);
    assert_string_equal(field, "untouched");
}

JZX_TEST(a_wrong_setting_for_workers_is_named_and_refused, "E7", "D+def") {
    expect_wrong("workers", JZX_CONFIG(.workers = JZX_WORKERS_MAX + 1));
    expect_wrong("balance", JZX_CONFIG(.balance = (jzx_balance)4));
    expect_wrong("balance", JZX_CONFIG(.balance = (jzx_balance)-1));
    expect_wrong("thread_name", JZX_CONFIG(.thread_name = "12345678901"));
    expect_wrong("stall_signal", JZX_CONFIG(.stall_signal = -1));
    expect_wrong("stall_signal", JZX_CONFIG(.stall_signal = SIGRTMAX + 1));
    expect_wrong("local_queue_size", JZX_CONFIG(.local_queue_size = 3));
    expect_wrong("local_queue_size", JZX_CONFIG(.local_queue_size = 1u << 31));
    expect_wrong("global_queue_size", JZX_CONFIG(.global_queue_size = JZX_NONE));
    expect_wrong("steal_batch", JZX_CONFIG(.steal_batch = JZX_NONE));
    expect_right(JZX_CONFIG(.workers = JZX_WORKERS_MAX));
    expect_right(JZX_CONFIG(.balance = JZX_BALANCE_NONE));
    expect_right(JZX_CONFIG(.thread_name = "1234567890"));
    expect_right(JZX_CONFIG(.stall_signal = SIGRTMAX));
    expect_right(JZX_CONFIG(.local_queue_size = 1));
    expect_right(JZX_CONFIG(.local_queue_size = 4096));
    expect_right(JZX_CONFIG(.global_queue_size = 1, .steal_batch = 1));
    expect_right(JZX_CONFIG(.global_queue_size = JZX_UNLIMITED, .steal_batch = JZX_UNLIMITED));
    expect_right(JZX_CONFIG(.spare_threads_max = JZX_NONE, .park_timeout_ns = 1));
}

JZX_TEST(the_settings_for_workers_have_the_defaults_that_are_documented, "E7", "D+def", "X19") {
    jzx_config config;
    jzx_config_init(&config, sizeof config);
    JZX_EXPECT_EQ(config.local_queue_size, 256);
    JZX_EXPECT_EQ(config.global_queue_size, 65536);
    JZX_EXPECT_EQ(config.steal_batch, 32);
    JZX_EXPECT_EQ(config.park_timeout_ns, 0); /* a sleep ends by a wake */
    JZX_EXPECT_EQ(config.stall_after_ns, JZX_DEFAULT_STALL_AFTER_NS);
    JZX_EXPECT_EQ(config.balance, JZX_BALANCE_ADAPTIVE);
    assert_string_equal(config.thread_name, "jzx");
}

/* ---- at the same time ---- */

static pthread_barrier_t meeting;
static pthread_t met[4];

static jzx_behavior_result meet(jzx_context *ctx, const jzx_message *msg) {
    uint32_t worker = *(uint32_t *)ctx->state;
    (void)msg;
    JZX_EXPECT_EQ(jzx_current_worker(), worker);
    met[worker] = pthread_self();
    pthread_barrier_wait(&meeting); /* nobody returns before all are here */
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(actors_of_different_workers_run_at_the_same_time, "D5", "D6") {
    for (uint32_t workers = 2; workers <= 4; workers++) {
        uint32_t indices[4] = {0, 1, 2, 3};
        jzx_loop *loop = open_loop(workers);
        pthread_barrier_init(&meeting, NULL, workers);
        for (uint32_t i = 0; i < workers; i++)
            fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(i), meet, &indices[i]), 1);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT(pthread_equal(met[0], pthread_self())); /* worker 0 is the caller */
        for (uint32_t i = 1; i < workers; i++)
            JZX_EXPECT(!pthread_equal(met[i], met[i - 1]));
        pthread_barrier_destroy(&meeting);
        fixture_destroy(loop);
    }
}

/* ---- an actor runs in one place at a time ---- */

struct lonely {
    _Atomic uint32_t inside;
    uint32_t count; /* plain: only one behaviour at a time touches it */
    uint32_t wanted;
};

static jzx_behavior_result be_alone(jzx_context *ctx, const jzx_message *msg) {
    struct lonely *self = ctx->state;
    (void)msg;
    JZX_EXPECT_EQ(self->inside++, 0);
    self->count++;
    JZX_EXPECT_EQ(--self->inside, 0);
    return self->count == self->wanted ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

struct pesterer {
    jzx_actor_id to;
    uint32_t left;
};

static jzx_behavior_result pester(jzx_context *ctx, const jzx_message *msg) {
    struct pesterer *self = ctx->state;
    (void)msg;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->to, ctx->self, NULL, 0, 1), JZX_OK);
    if (--self->left == 0)
        return JZX_BEHAVIOR_STOP;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 1), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_actor_never_runs_in_two_places_at_once, "D13") {
    enum { SENDERS = 8, EACH = 500 };
    jzx_loop *loop = open_with(JZX_CONFIG(.workers = 4, .balance = JZX_BALANCE_EAGER));
    struct lonely lonely = {.wanted = SENDERS * EACH};
    struct pesterer pesterers[SENDERS];
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_alone, .state = &lonely,
                                                          .mailbox_cap = SENDERS * EACH));
    for (uint32_t i = 0; i < SENDERS; i++) {
        pesterers[i] = (struct pesterer){id, EACH};
        uint16_t place = i < 4 ? JZX_PLACE_WORKER(i) : JZX_PLACE_ANY;
        fixture_send(loop, spawn_at(loop, place, pester, &pesterers[i]), 1);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(lonely.count, SENDERS * EACH);
    fixture_destroy(loop);
}

/* ---- places ---- */

struct pinned {
    uint32_t worker;
    uint32_t left;
    jzx_actor_id peer;
};

static jzx_behavior_result stay(jzx_context *ctx, const jzx_message *msg) {
    struct pinned *self = ctx->state;
    (void)msg;
    JZX_EXPECT_EQ(jzx_current_worker(), self->worker);
    uint64_t until = jzx_loop_now(ctx->loop) + JZX_US(20); /* looks heavy to whoever weighs it */
    while (jzx_loop_now(ctx->loop) < until)
        continue;
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    self->left--;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->peer, ctx->self, NULL, 0, 1), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_actor_that_is_bound_to_a_worker_runs_nowhere_else_under_any_load, "D+aff") {
    enum { ACTORS = 12, MESSAGES = 100 };
    static const jzx_balance balances[] = {JZX_BALANCE_ADAPTIVE, JZX_BALANCE_EAGER,
                                           JZX_BALANCE_NONE};
    for (size_t b = 0; b < 3; b++) {
        jzx_loop *loop = open_with(JZX_CONFIG(.workers = 3, .balance = balances[b]));
        struct pinned pinned[ACTORS];
        for (uint32_t i = 0; i < ACTORS; i++) { /* most of them on worker 1: others are idle */
            pinned[i] = (struct pinned){.worker = i < 10 ? 1 : i == 10 ? 0 : 2, .left = MESSAGES};
            pinned[i].peer = spawn_at(loop, JZX_PLACE_WORKER(pinned[i].worker), stay, &pinned[i]);
        }
        for (uint32_t i = 0; i < ACTORS; i++)
            fixture_send(loop, pinned[i].peer, 1); /* each goes on with itself */
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        for (uint32_t i = 0; i < ACTORS; i++)
            JZX_EXPECT_EQ(pinned[i].left, 0);
        fixture_destroy(loop);
    }
}

struct caller {
    pthread_t thread;
    jzx_loop *loop;
    _Atomic uint32_t ran;
};

static jzx_behavior_result run_on_caller(jzx_context *ctx, const jzx_message *msg) {
    struct caller *caller = ctx->state;
    (void)msg;
    JZX_EXPECT(pthread_equal(pthread_self(), caller->thread));
    JZX_EXPECT_EQ(jzx_current_worker(), 0);
    caller->ran++;
    return JZX_BEHAVIOR_STOP;
}

static jzx_err start_on_caller(jzx_context *ctx) {
    struct caller *caller = ctx->state;
    JZX_EXPECT(pthread_equal(pthread_self(), caller->thread));
    return JZX_OK;
}

static void spawn_on_caller(struct caller *caller) {
    jzx_actor_id id = fixture_spawn(
        caller->loop, &JZX_SPAWN_OPTS(.behavior = run_on_caller, .init = start_on_caller,
                                      .state = caller, .place = JZX_PLACE_CALLER));
    fixture_send(caller->loop, id, 1);
}

static jzx_behavior_result spawn_for_caller(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    spawn_on_caller(ctx->state);
    return JZX_BEHAVIOR_STOP;
}

static void *spawn_from_outside(void *arg) {
    struct caller *caller = arg;
    while (fixture_stats(caller->loop).parked == 0)
        sched_yield(); /* it runs, and somebody sleeps */
    spawn_on_caller(caller);
    JZX_EXPECT_EQ(jzx_loop_release(caller->loop), JZX_OK);
    return NULL;
}

JZX_TEST(an_actor_bound_to_the_caller_runs_on_the_thread_that_called_run, "D+aff") {
    struct caller caller = {.thread = pthread_self(), .loop = open_loop(3)};
    spawn_on_caller(&caller);
    for (uint32_t i = 0; i < 3; i++)
        fixture_send(caller.loop,
                     spawn_at(caller.loop, JZX_PLACE_WORKER(i), spawn_for_caller, &caller), 1);
    assert_int_equal(jzx_loop_hold(caller.loop), JZX_OK);
    pthread_t thread = start(spawn_from_outside, &caller);
    assert_int_equal(jzx_loop_run(caller.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(caller.ran, 5);
    fixture_destroy(caller.loop);
}

JZX_TEST(an_actor_bound_to_the_caller_runs_on_one_worker_and_by_steps) {
    struct caller caller = {.thread = pthread_self(), .loop = open_loop(1)};
    spawn_on_caller(&caller);
    JZX_EXPECT_EQ(jzx_loop_next_deadline(caller.loop), 0);
    assert_int_equal(jzx_loop_step(caller.loop, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_next_deadline(caller.loop), caller.ran == 1 ? JZX_NEVER : 0);
    assert_int_equal(jzx_loop_step(caller.loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(caller.ran, 1);
    spawn_on_caller(&caller);
    assert_int_equal(jzx_loop_run(caller.loop), JZX_OK);
    JZX_EXPECT_EQ(caller.ran, 2);
    fixture_destroy(caller.loop);
}

static jzx_behavior_result send_to_state(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    for (uint32_t i = 0; i < 3; i++)
        fixture_send(ctx->loop, *(jzx_actor_id *)ctx->state, i);
    return JZX_BEHAVIOR_OK;
}

/* With a deadline each step is one turn: in between several wait for the caller's thread. */
JZX_TEST(actors_bound_to_the_caller_are_not_forgotten_between_steps) {
    static struct recorder logs[3];
    jzx_actor_id ids[3];
    jzx_loop *loop = open_loop(1);
    for (uint32_t i = 0; i < 3; i++) {
        logs[i] = (struct recorder){.stop_at = 3};
        ids[i] = spawn_at(loop, JZX_PLACE_CALLER, record, &logs[i]);
        fixture_send(loop, spawn_at(loop, JZX_PLACE_ANY, send_to_state, &ids[i]), 1);
    }
    for (uint32_t i = 0; i < 100 && jzx_loop_next_deadline(loop) == 0; i++)
        assert_int_equal(jzx_loop_step(loop, 0), JZX_OK);
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(logs[i].count, 3);
    fixture_destroy(loop);
}

JZX_TEST(a_place_that_the_loop_does_not_have_is_refused) {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        jzx_loop *loop = open_loop(workers);
        jzx_actor_id id = 42;
        JZX_EXPECT_EQ(
            jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = end, .place = JZX_PLACE_WORKER(workers)),
                      &id),
            JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(
            jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = end, .place = JZX_PLACE_CALLER - 1), &id),
            JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(id, 42);
        fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(workers - 1), end, NULL), 1);
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        fixture_destroy(loop);
    }
}

struct home {
    uint32_t worker;
    uint32_t born;
};

static jzx_behavior_result be_at_home(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT_EQ(jzx_current_worker(), ((struct home *)ctx->state)->worker);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result found_a_family(jzx_context *ctx, const jzx_message *msg) {
    struct home *home = ctx->state;
    (void)msg;
    for (; home->born < 50; home->born++)
        fixture_send(ctx->loop, spawn_at(ctx->loop, JZX_PLACE_ANY, be_at_home, home), 1);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(without_balance_an_actor_stays_where_it_was_spawned, "D6", "D+aff") {
    jzx_loop *loop = open_with(JZX_CONFIG(.workers = 3, .balance = JZX_BALANCE_NONE));
    struct home homes[3];
    for (uint32_t i = 0; i < 3; i++) {
        homes[i] = (struct home){.worker = i};
        fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(i), found_a_family, &homes[i]), 1);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.handled, 3 * 51);
    JZX_EXPECT_EQ(stats.published + stats.stolen + stats.gathered + stats.followed, 0);
    fixture_destroy(loop);
}

/* Goes on until somebody of its kind has seen another worker. */
static _Atomic bool somebody_moved;

static jzx_behavior_result look_around(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    if (jzx_current_worker() != 0)
        somebody_moved = true;
    if (somebody_moved)
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, ctx->self, 1);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result spawn_lookers(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    for (uint32_t i = 0; i < 100; i++)
        fixture_send(ctx->loop, spawn_at(ctx->loop, JZX_PLACE_ANY, look_around, NULL), 1);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(an_idle_worker_takes_work_from_a_busy_one, "D7", "E4", "E5", "E8") {
    cpu_set_t cpus;
    static const jzx_balance balances[] = {JZX_BALANCE_EAGER, JZX_BALANCE_ADAPTIVE};
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    if (CPU_COUNT(&cpus) < 2)
        skip(); /* nobody steals for a CPU that is not there */
    for (size_t i = 0; i < 2; i++) {
        somebody_moved = false;
        jzx_loop *loop = open_with(JZX_CONFIG(.workers = 2, .balance = balances[i]));
        fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(0), spawn_lookers, NULL), 1);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        jzx_stats stats = fixture_stats(loop);
        JZX_EXPECT(somebody_moved);
        JZX_EXPECT(stats.stolen >= 1);
        JZX_EXPECT(stats.published >= stats.stolen);
        fixture_destroy(loop);
    }
}

/* ---- actors that other threads make ---- */

#define FOREIGN_COUNT 100u

struct foreign {
    jzx_loop *loop;
    _Atomic uint32_t runs[FOREIGN_COUNT];
};

static jzx_behavior_result run_once(jzx_context *ctx, const jzx_message *msg) {
    _Atomic uint32_t *runs = ctx->state;
    (void)msg;
    (*runs)++;
    return JZX_BEHAVIOR_STOP;
}

static void *spawn_many(void *arg) {
    struct foreign *foreign = arg;
    for (uint32_t i = 0; i < FOREIGN_COUNT; i++)
        fixture_send(foreign->loop,
                     spawn_at(foreign->loop, JZX_PLACE_ANY, run_once, &foreign->runs[i]), 1);
    return NULL;
}

static void *spawn_many_and_release(void *arg) {
    struct foreign *foreign = arg;
    spawn_many(arg);
    JZX_EXPECT_EQ(jzx_loop_release(foreign->loop), JZX_OK);
    return NULL;
}

JZX_TEST(spawns_beyond_the_size_of_the_global_queue_are_not_lost, "D6", "E7", "D+def") {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        static struct foreign foreign;
        memset(&foreign, 0, sizeof foreign);
        foreign.loop = open_with(JZX_CONFIG(.workers = workers, .global_queue_size = 4));
        spawn_many(&foreign); /* before the run */
        JZX_EXPECT_EQ(fixture_stats(foreign.loop).global_depth, 4);
        assert_int_equal(jzx_loop_run(foreign.loop), JZX_OK);
        JZX_EXPECT_EQ(fixture_stats(foreign.loop).submitted, 4); /* the others did not fit */
        for (uint32_t i = 0; i < FOREIGN_COUNT; i++)
            JZX_EXPECT_EQ(foreign.runs[i], 1);
        assert_int_equal(jzx_loop_hold(foreign.loop), JZX_OK);
        pthread_t thread = start(spawn_many_and_release, &foreign); /* during it */
        assert_int_equal(jzx_loop_run(foreign.loop), JZX_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        for (uint32_t i = 0; i < FOREIGN_COUNT; i++)
            JZX_EXPECT_EQ(foreign.runs[i], 2);
        JZX_EXPECT_EQ(fixture_stats(foreign.loop).global_depth, 0);
        fixture_destroy(foreign.loop);
    }
}

/* What a loop of two workers takes when it is made. */
static uint64_t bytes_with_local_queues_of(uint32_t size) {
    jzx_loop *loop = open_with(JZX_CONFIG(.workers = 2, .local_queue_size = size));
    uint64_t bytes = fixture_bytes();
    fixture_destroy(loop);
    return bytes;
}

JZX_TEST(the_local_queue_of_each_worker_has_the_configured_size, "E7", "D+def") {
    uint64_t smallest = bytes_with_local_queues_of(1);
    JZX_EXPECT_EQ(bytes_with_local_queues_of(256) - smallest, 2 * 255 * sizeof(void *));
    JZX_EXPECT_EQ(bytes_with_local_queues_of(4096) - smallest, 2 * 4095 * sizeof(void *));
    JZX_EXPECT_EQ(bytes_with_local_queues_of(0), bytes_with_local_queues_of(256));
}

/* The n-th spawned actor writes down who it is and how many were taken from the queue by then. */
static struct recorder order;
static struct recorder submitted;

static jzx_err note_order(jzx_context *ctx) {
    order.tags[order.count++] = (uint32_t)(uintptr_t)ctx->state;
    submitted.tags[submitted.count++] = (uint32_t)fixture_stats(ctx->loop).submitted;
    return JZX_ERR_UNKNOWN; /* it was all that it had to do */
}

static void *spawn_in_order(void *arg) {
    for (uintptr_t i = 0; i < 40; i++)
        fixture_spawn(arg,
                      &JZX_SPAWN_OPTS(.behavior = end, .init = note_order, .state = (void *)i));
    return NULL;
}

static jzx_behavior_result wait_for_spawns(jzx_context *ctx, const jzx_message *msg) {
    pthread_t thread;
    (void)msg;
    if (JZX_EXPECT_EQ(pthread_create(&thread, NULL, spawn_in_order, ctx->loop), 0))
        pthread_join(thread, NULL);
    return JZX_BEHAVIOR_STOP;
}

/* On a clock that stands still: a pass that ends because it has lasted long takes more. */
JZX_TEST(the_global_queue_is_taken_in_order_of_age_and_at_most_17_at_once, "D6", "D8", "E8") {
    jzx_clock *clock = jzx_clock_manual(0);
    assert_non_null(clock);
    jzx_loop *loop = open_with(JZX_CONFIG(.workers = 1, .clock = clock));
    order.count = submitted.count = 0;
    fixture_send(loop, spawn_at(loop, JZX_PLACE_ANY, wait_for_spawns, NULL), 1);
    uint32_t before = 1; /* that actor itself */
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(order.count, 40);
    for (uint32_t i = 0; i < 40; i++) {
        JZX_EXPECT_EQ(order.tags[i], i);
        uint32_t taken = (i / 17 + 1) * 17;
        JZX_EXPECT_EQ(submitted.tags[i], before + (taken < 40 ? taken : 40));
    }
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

/* ---- waking and sleeping ---- */

struct player {
    jzx_actor_id peer;
    uint32_t left;
};

static jzx_behavior_result play(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    (void)msg;
    jzx_err err = jzx_send(ctx->loop, self->peer, ctx->self, NULL, 0, 1);
    if (--self->left == 0)
        return JZX_BEHAVIOR_STOP;
    JZX_EXPECT_EQ(err, JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_message_to_an_actor_of_another_worker_wakes_it, "D16", "D+aff", "E4", "X10", "X19") {
    enum { HITS = 3000 };
    struct player players[2] = {{.left = HITS}, {.left = HITS}};
    jzx_loop *loop = open_loop(2);
    players[1].peer = spawn_at(loop, JZX_PLACE_WORKER(0), play, &players[0]);
    players[0].peer = spawn_at(loop, JZX_PLACE_WORKER(1), play, &players[1]);
    fixture_send(loop, players[1].peer, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK); /* without a time-out: a lost wake would hang */
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.handled, 2 * HITS);
    JZX_EXPECT(stats.crossed >= 2 * HITS - 1);
    JZX_EXPECT_EQ(stats.parked, stats.woken); /* every sleep ended by a wake */
    fixture_destroy(loop);
}

static void *wait_for_naps(void *arg) {
    jzx_loop *loop = arg;
    for (uint32_t worker = 0; worker < 2; worker++) {
        jzx_worker_stats stats = {.size = sizeof stats};
        do {
            sched_yield();
            JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, worker, &stats), JZX_OK);
        } while (stats.parked < 20);
    }
    JZX_EXPECT_EQ(jzx_loop_release(loop), JZX_OK);
    return NULL;
}

JZX_TEST(with_a_park_timeout_an_idle_worker_looks_around_from_time_to_time, "E4", "E7") {
    jzx_loop *loop = open_with(JZX_CONFIG(.workers = 2, .park_timeout_ns = JZX_US(100)));
    assert_int_equal(jzx_loop_hold(loop), JZX_OK);
    pthread_t thread = start(wait_for_naps, loop);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT(stats.woken < stats.parked);
    fixture_destroy(loop);
}

/* ---- when a run is over ---- */

static jzx_behavior_result go_on_for_ever(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    fixture_send(ctx->loop, ctx->self, 1);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(run_returns_when_the_last_actor_ends_on_whatever_worker_beside_busy_daemons) {
    jzx_loop *loop = open_loop(3);
    for (uint32_t i = 0; i < 3; i++) {
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = go_on_for_ever, .daemon = true,
                                                .place = JZX_PLACE_WORKER(i)));
        fixture_send(loop, id, 1);
    }
    for (uint32_t i = 0; i < 30; i++) {
        fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(i % 3), end, NULL), 1);
        if (i % 2 == 1)
            assert_int_equal(jzx_loop_run(loop), JZX_OK);
    }
    JZX_EXPECT_EQ(fixture_stats(loop).spawned - fixture_stats(loop).exited, 3);
    fixture_destroy(loop);
}

struct holder {
    jzx_loop *loop;
    uint32_t rounds;
    bool busy;
};

static bool all_sleep(const jzx_loop *loop) {
    for (uint32_t i = 0; i < jzx_loop_workers(loop); i++) {
        jzx_worker_stats stats = {.size = sizeof stats};
        JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, i, &stats), JZX_OK);
        if (!stats.is_parked)
            return false;
    }
    return true;
}

static void *hold_and_release(void *arg) {
    struct holder *holder = arg;
    for (uint32_t i = 0; i < holder->rounds; i++) {
        jzx_actor_id id = spawn_at(holder->loop, JZX_PLACE_WORKER(1), end, NULL);
        fixture_send(holder->loop, id, 1);
        JZX_EXPECT_EQ(jzx_loop_hold(holder->loop), JZX_OK);
        while (fixture_stats(holder->loop).exited < i + 1)
            sched_yield(); /* nothing but the hold keeps the run going now */
        JZX_EXPECT_EQ(jzx_loop_release(holder->loop), JZX_OK);
    }
    while (!holder->busy && !all_sleep(holder->loop))
        sched_yield();
    JZX_EXPECT_EQ(jzx_loop_release(holder->loop), JZX_OK);
    return NULL;
}

JZX_TEST(a_hold_of_another_thread_keeps_several_workers_running) {
    for (uint32_t busy = 0; busy < 2; busy++) {
        struct holder holder = {.loop = open_loop(3), .rounds = 20, .busy = busy != 0};
        jzx_actor_id id =
            fixture_spawn(holder.loop, &JZX_SPAWN_OPTS(.behavior = go_on_for_ever, .daemon = true,
                                                       .place = JZX_PLACE_WORKER(0)));
        if (busy)
            fixture_send(holder.loop, id, 1);
        assert_int_equal(jzx_loop_hold(holder.loop), JZX_OK);
        pthread_t thread = start(hold_and_release, &holder);
        assert_int_equal(jzx_loop_run(holder.loop), JZX_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        JZX_EXPECT_EQ(fixture_stats(holder.loop).exited, 20);
        JZX_EXPECT_EQ(jzx_loop_release(holder.loop), JZX_ERR_INVALID_ARG);
        fixture_destroy(holder.loop);
    }
}

/* ---- what is refused ---- */

JZX_TEST(only_one_worker_can_be_stepped) {
    jzx_loop *loop = open_loop(2);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_loop_fd(loop), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    loop = open_loop(1);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT(jzx_loop_fd(loop) >= 0);
    fixture_destroy(loop);
}

static void *set_observer(void *arg) {
    JZX_EXPECT_EQ(jzx_loop_set_observer(arg, NULL, NULL), JZX_ERR_BUSY);
    return NULL;
}

static jzx_behavior_result set_observer_here(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    pthread_t thread;
    (void)msg;
    JZX_EXPECT_EQ(jzx_loop_set_observer(ctx->loop, &JZX_OBSERVER(), NULL), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_run(ctx->loop), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_destroy(ctx->loop), JZX_ERR_BUSY);
    if (JZX_EXPECT_EQ(pthread_create(&thread, NULL, set_observer, ctx->loop), 0))
        pthread_join(thread, NULL);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(while_several_workers_run_the_observer_and_the_loop_stay_as_they_are) {
    for (uint32_t worker = 0; worker < 2; worker++) {
        jzx_loop *loop = open_loop(2);
        JZX_EXPECT_EQ(jzx_loop_set_observer(loop, &JZX_OBSERVER(), NULL), JZX_OK);
        fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(worker), set_observer_here, NULL), 1);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_set_observer(loop, NULL, NULL), JZX_OK);
        JZX_EXPECT_EQ(jzx_test_runs(), worker + 1);
        fixture_destroy(loop);
    }
}

/* ---- running without memory ---- */

static uint32_t ran;

static jzx_behavior_result count_run(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    ran++;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_loop_that_cannot_be_made_leaves_nothing_behind) {
    jzx_loop *loop = NULL;
    uint32_t failures = 0;
    for (uint64_t n = 0; loop == NULL; n++) {
        fixture_fail_allocations(n, UINT64_MAX);
        loop = fixture_loop_with(&JZX_CONFIG(.workers = 3));
        failures += loop == NULL;
        if (loop == NULL)
            JZX_EXPECT_EQ(fixture_bytes(), 0);
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT(failures >= 3); /* every worker needs memory */
    fixture_destroy(loop);
}

JZX_TEST(a_run_whose_threads_find_no_memory_says_so_and_has_run_nothing) {
    uint32_t failures = 0;
    jzx_err err = JZX_ERR_NO_MEMORY;
    for (uint64_t n = 0; err == JZX_ERR_NO_MEMORY; n++) {
        jzx_loop *loop = open_loop(3);
        ran = 0;
        fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(0), count_run, NULL), 1);
        fixture_fail_allocations(n, UINT64_MAX);
        err = jzx_loop_run(loop);
        fixture_fail_allocations(UINT64_MAX, 0);
        JZX_EXPECT_EQ(ran, err == JZX_OK);
        if (err != JZX_OK) {
            failures++;
            JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK); /* with memory it goes on */
            JZX_EXPECT_EQ(ran, 1);
        }
        fixture_destroy(loop);
    }
    JZX_EXPECT_EQ(err, JZX_OK);
    JZX_EXPECT(failures >= 2); /* one for each thread */
}
