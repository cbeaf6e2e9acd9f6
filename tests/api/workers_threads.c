/* SPDX-License-Identifier: MIT */
/* The threads of a loop with several workers, and what code can learn about where it runs. */
#include "fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
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

static jzx_actor_id spawn_at(jzx_loop *loop, uint16_t place, jzx_behavior_fn behavior,
                             void *state) {
    return fixture_spawn(loop,
                         &JZX_SPAWN_OPTS(.behavior = behavior, .state = state, .place = place));
}

static jzx_behavior_result end(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

/* ---- hooks ---- */

static struct {
    pthread_mutex_t lock;
    uint32_t started[4]; /* per worker */
    uint32_t stopped[4];
    uint32_t wrong; /* calls for a worker that is not there */
} hooks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local uint32_t hooked; /* 1 between the hooks of this thread */

static void count_hook(uint32_t *calls, uint32_t worker) {
    pthread_mutex_lock(&hooks.lock);
    if (worker < 4)
        calls[worker]++;
    else
        hooks.wrong++;
    pthread_mutex_unlock(&hooks.lock);
}

static void on_start(void *ctx, uint32_t worker) {
    JZX_EXPECT(ctx == &hooks);
    JZX_EXPECT_EQ(hooked++, 0);
    count_hook(hooks.started, worker);
}

static void on_stop(void *ctx, uint32_t worker) {
    JZX_EXPECT(ctx == &hooks);
    JZX_EXPECT_EQ(--hooked, 0);
    count_hook(hooks.stopped, worker);
}

static jzx_behavior_result be_hooked(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)ctx;
    (void)msg;
    JZX_EXPECT_EQ(hooked, 1);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(every_thread_of_a_loop_calls_its_hooks_before_and_after_its_actors) {
    for (uint32_t workers = 1; workers <= 4; workers++) {
        memset(hooks.started, 0, sizeof hooks.started);
        memset(hooks.stopped, 0, sizeof hooks.stopped);
        jzx_loop *loop =
            open_with(JZX_CONFIG(.workers = workers, .on_thread_start = on_start,
                                 .on_thread_stop = on_stop, .thread_hook_ctx = &hooks));
        for (uint32_t round = 1; round <= 2; round++) {
            for (uint32_t i = 0; i < workers; i++)
                fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(i), be_hooked, NULL), 1);
            assert_int_equal(jzx_loop_run(loop), JZX_OK);
            for (uint32_t i = 0; i < 4; i++) {
                JZX_EXPECT_EQ(hooks.started[i], i < workers ? round : 0);
                JZX_EXPECT_EQ(hooks.stopped[i], i < workers ? round : 0);
            }
        }
        JZX_EXPECT_EQ(jzx_test_runs(), workers * (workers + 1)); /* two rounds with each */
        fixture_destroy(loop);
    }
    JZX_EXPECT_EQ(hooks.wrong, 0);
    JZX_EXPECT_EQ(hooked, 0);
}

/* ---- names, CPUs, and how many ---- */

struct about {
    char name[16];
    uint32_t cpu_count;
    int cpu; /* the first of them */
};

#ifdef __has_feature
#define HAS_TSAN __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#else
#define HAS_TSAN 0
#endif

/* Threads of this process, but the one that the sanitizer starts with the first. */
static uint32_t count_threads(void) {
    uint32_t count = 0;
    DIR *dir = opendir("/proc/self/task");
    JZX_EXPECT(dir != NULL);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    if (dir != NULL)
        closedir(dir);
    return count > 1 && HAS_TSAN ? count - 1 : count;
}

static jzx_behavior_result look_at_thread(jzx_context *ctx, const jzx_message *msg) {
    struct about *about = ctx->state;
    cpu_set_t cpus;
    (void)msg;
    JZX_EXPECT_EQ(pthread_getname_np(pthread_self(), about->name, sizeof about->name), 0);
    JZX_EXPECT_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    about->cpu_count = (uint32_t)CPU_COUNT(&cpus);
    for (about->cpu = 0; !CPU_ISSET((size_t)about->cpu, &cpus);)
        about->cpu++;
    return JZX_BEHAVIOR_STOP;
}

static void look_at_threads(jzx_config config, struct about *about) {
    jzx_loop *loop = open_with(config);
    for (uint32_t i = 0; i < config.workers; i++)
        fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(i), look_at_thread, &about[i]), 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}

JZX_TEST(the_threads_of_a_loop_have_names) {
    struct about about[3];
    char mine[16];
    assert_int_equal(pthread_getname_np(pthread_self(), mine, sizeof mine), 0);
    look_at_threads(JZX_CONFIG(.workers = 3), about);
    assert_string_equal(about[0].name, mine); /* the caller's stays */
    assert_string_equal(about[1].name, "jzx-1");
    assert_string_equal(about[2].name, "jzx-2");
    char name[] = "0123456789";
    look_at_threads(JZX_CONFIG(.workers = 2, .thread_name = name), about);
    assert_string_equal(about[0].name, mine);
    assert_string_equal(about[1].name, "0123456789-1");
}

static int nth_cpu(const cpu_set_t *cpus, uint32_t n) {
    n %= (uint32_t)CPU_COUNT(cpus);
    for (int cpu = 0;; cpu++) {
        if (CPU_ISSET((size_t)cpu, cpus) && n-- == 0)
            return cpu;
    }
}

JZX_TEST(threads_are_bound_to_cpus_during_run_if_that_was_asked_for) {
    struct about about[4];
    cpu_set_t before;
    cpu_set_t after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    look_at_threads(JZX_CONFIG(.workers = 4, .pin_threads = true), about);
    for (uint32_t i = 0; i < 4; i++) {
        JZX_EXPECT_EQ(about[i].cpu_count, 1);
        JZX_EXPECT_EQ(about[i].cpu, nth_cpu(&before, i));
    }
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    JZX_EXPECT(CPU_EQUAL(&before, &after));
    look_at_threads(JZX_CONFIG(.workers = 2), about);
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(about[i].cpu_count, CPU_COUNT(&before));
}

static jzx_behavior_result count_others(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    *(uint32_t *)ctx->state = count_threads() - 1;
    return JZX_BEHAVIOR_STOP;
}

/* Threads that the loop has while it runs. */
static uint32_t threads_of(jzx_config config) {
    uint32_t threads = 99;
    jzx_loop *loop = open_with(config);
    JZX_EXPECT_EQ(count_threads(), 1); /* none before it runs */
    fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(0), count_others, &threads), 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    while (count_threads() != 1) /* none is left; the last may take a moment to vanish */
        sched_yield();
    fixture_destroy(loop);
    return threads;
}

JZX_TEST(a_loop_has_no_thread_beyond_its_workers_and_a_watchdog_and_leaves_none) {
    JZX_EXPECT_EQ(threads_of(JZX_CONFIG(.workers = 1)), 0);
    JZX_EXPECT_EQ(threads_of(JZX_CONFIG(.workers = 1, .stall_after_ns = JZX_SECOND(100))), 0);
    JZX_EXPECT_EQ(threads_of(JZX_CONFIG(.workers = 2)), 1);
    JZX_EXPECT_EQ(threads_of(JZX_CONFIG(.workers = 4)), 3);
    JZX_EXPECT_EQ(threads_of(JZX_CONFIG(.workers = 4, .stall_after_ns = JZX_SECOND(100),
                                        .relieve_after_ns = JZX_NEVER)),
                  4);
}

/* ---- where code runs ---- */

struct place {
    jzx_context_kind kind;
    jzx_actor_id actor;
    uint32_t worker;
};

static struct place here(void) {
    return (struct place){jzx_current_kind(), jzx_current_actor(), jzx_current_worker()};
}

static void expect_place(struct place place, jzx_context_kind kind, jzx_actor_id actor,
                         uint32_t worker) {
    JZX_EXPECT_EQ(place.kind, kind);
    JZX_EXPECT_EQ(place.actor, actor);
    JZX_EXPECT_EQ(place.worker, worker);
}

static struct {
    jzx_actor_id id;
    struct place init, behavior, after_calls, cleanup, freed, dead, call, observed_end, foreign;
} places;

static void note_dead(void *data, size_t len) {
    (void)data;
    (void)len;
    places.dead = here();
}

static void note_freed(void *data, size_t len) {
    (void)data;
    (void)len;
    places.freed = here();
}

static void note_call(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
    places.call = here();
}

static void *note_foreign(void *arg) {
    (void)arg;
    places.foreign = here();
    return NULL;
}

static jzx_err note_init(jzx_context *ctx) {
    places.init = here();
    JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
    return JZX_OK;
}

static void note_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    places.cleanup = here();
}

static void note_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_ACTOR_STOP && event->actor == places.id)
        places.observed_end = here();
}

static jzx_behavior_result note_behavior(jzx_context *ctx, const jzx_message *msg) {
    pthread_t thread;
    (void)msg;
    places.behavior = here();
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 8, note_freed));
    JZX_EXPECT_EQ(jzx_loop_call(ctx->loop, note_call, NULL), JZX_OK);
    if (JZX_EXPECT_EQ(pthread_create(&thread, NULL, note_foreign, NULL), 0))
        pthread_join(thread, NULL);
    void *data = jzx_msg_alloc(ctx->loop, 8, note_dead);
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, ctx->self, ctx->self, data, 1), JZX_OK);
    places.after_calls = here();
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(code_can_learn_where_it_runs, "E9") {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        for (uint32_t worker = 0; worker < workers; worker++) {
            memset(&places, 0xFF, sizeof places);
            jzx_loop *loop = open_loop(workers);
            assert_int_equal(
                jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = note_event), NULL), JZX_OK);
            jzx_actor_id id = places.id = fixture_spawn(
                loop, &JZX_SPAWN_OPTS(.behavior = note_behavior, .init = note_init,
                                      .cleanup = note_cleanup, .place = JZX_PLACE_WORKER(worker)));
            fixture_send(loop, id, 1);
            expect_place(here(), JZX_CONTEXT_NONE, JZX_NOBODY, JZX_NONE);
            assert_int_equal(jzx_loop_run(loop), JZX_OK);
            expect_place(here(), JZX_CONTEXT_NONE, JZX_NOBODY, JZX_NONE);
            expect_place(places.init, JZX_CONTEXT_WAITLESS, id, worker);
            expect_place(places.behavior, JZX_CONTEXT_WAITLESS, id, worker);
            expect_place(places.after_calls, JZX_CONTEXT_WAITLESS, id, worker);
            expect_place(places.freed, JZX_CONTEXT_WAITLESS, id, worker);
            expect_place(places.dead, JZX_CONTEXT_WAITLESS, id, worker);
            expect_place(places.cleanup, JZX_CONTEXT_WAITLESS, id, worker);
            expect_place(places.observed_end, JZX_CONTEXT_WAITLESS, id, worker);
            expect_place(places.call, JZX_CONTEXT_WAITLESS, JZX_NOBODY, 0);
            expect_place(places.foreign, JZX_CONTEXT_NONE, JZX_NOBODY, JZX_NONE);
            fixture_destroy(loop);
        }
    }
}

static jzx_behavior_result expect_normal(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)msg;
    expect_place(here(), JZX_CONTEXT_WAITLESS, ctx->self, 0);
    return JZX_BEHAVIOR_STOP;
}

static jzx_err succeed(jzx_context *ctx) {
    (void)ctx;
    return JZX_OK;
}

/* What ran before, in the same turn or pass, makes no difference. */
JZX_TEST(a_behaviour_may_wait_whatever_ran_before_it, "E9") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        jzx_loop *loop = open_loop(workers);
        jzx_actor_id ids[4];
        for (uint32_t i = 0; i < 4; i++)
            ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = expect_normal,
                                                         .init = i % 2 == 0 ? succeed : NULL,
                                                         .place = JZX_PLACE_WORKER(0)));
        for (uint32_t i = 0; i < 4; i++)
            fixture_send(loop, ids[i], 1);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(jzx_test_runs(), 4 * workers);
        fixture_destroy(loop);
    }
}

/* An actor that runs a loop of its own: inside it is that loop's actors that run. */
static jzx_behavior_result run_inner(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)msg;
    jzx_loop *inner = open_loop(2);
    fixture_send(inner, spawn_at(inner, JZX_PLACE_WORKER(0), expect_normal, NULL), 1);
    JZX_EXPECT_EQ(jzx_loop_run(inner), JZX_OK);
    fixture_destroy(inner);
    expect_place(here(), JZX_CONTEXT_WAITLESS, ctx->self, 1);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(in_a_loop_inside_a_behaviour_the_inner_actor_is_the_current_one, "E9") {
    jzx_loop *loop = open_loop(2);
    fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(1), run_inner, NULL), 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    fixture_destroy(loop);
}

/* ---- calls ---- */

static struct {
    uint32_t numbers[2]; /* that came last, per caller */
    uint32_t count;
    pthread_t thread;
} calls;

struct numbered {
    uint32_t caller;
    uint32_t number;
};

static struct numbered numbered[2][100];

static void note_number(jzx_loop *loop, void *ctx) {
    const struct numbered *call = ctx;
    (void)loop;
    JZX_EXPECT_EQ(jzx_current_worker(), 0);
    JZX_EXPECT(pthread_equal(pthread_self(), calls.thread));
    JZX_EXPECT_EQ(call->number, calls.numbers[call->caller]++);
    calls.count++;
}

static void call_often(jzx_loop *loop, uint32_t caller) {
    for (uint32_t i = 0; i < 100; i++) {
        numbered[caller][i] = (struct numbered){caller, i};
        JZX_EXPECT_EQ(jzx_loop_call(loop, note_number, &numbered[caller][i]), JZX_OK);
    }
}

static void *call_from_outside(void *arg) {
    call_often(arg, 0);
    JZX_EXPECT_EQ(jzx_loop_release(arg), JZX_OK);
    return NULL;
}

static jzx_behavior_result call_from_actor(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    call_often(ctx->loop, 1);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(calls_are_made_on_worker_0_in_the_order_of_each_thread, "D+aff") {
    jzx_loop *loop = open_loop(3);
    pthread_t thread;
    memset(&calls, 0, sizeof calls);
    calls.thread = pthread_self();
    fixture_send(loop, spawn_at(loop, JZX_PLACE_WORKER(2), call_from_actor, NULL), 1);
    assert_int_equal(jzx_loop_hold(loop), JZX_OK);
    assert_int_equal(pthread_create(&thread, NULL, call_from_outside, loop), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(calls.count, 200); /* run does not return before they were made */
    JZX_EXPECT_EQ(fixture_stats(loop).calls, 200);
    fixture_destroy(loop);
}

/* ---- what is known of an actor ---- */

struct asker {
    jzx_actor_id own;
    jzx_actor_id other;
    jzx_actor_id idle;
};

static jzx_actor_info info_of(jzx_loop *loop, jzx_actor_id id) {
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(loop, id, &info), JZX_OK);
    return info;
}

struct outside {
    jzx_loop *loop;
    jzx_actor_id id;
};

static void *ask_from_outside(void *arg) {
    const struct outside *outside = arg;
    jzx_actor_info info = info_of(outside->loop, outside->id);
    JZX_EXPECT(info.is_partial);
    JZX_EXPECT_EQ(info.id, outside->id);
    JZX_EXPECT_EQ(info.worker, 0);
    JZX_EXPECT_EQ(info.activity, JZX_ACTIVITY_RUNNING);
    JZX_EXPECT_EQ(info.current_tag, 7);
    uint64_t cursor = 0;
    uint32_t shown = 0;
    while (jzx_actor_next(outside->loop, &cursor, &info) == JZX_OK)
        shown += info.is_partial && (info.id == outside->id || info.current_tag == 0);
    JZX_EXPECT(shown >= 3);
    return NULL;
}

static void note_complete(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    JZX_EXPECT_EQ(info_of(ctx->loop, ctx->self).activity, JZX_ACTIVITY_COMPLETE);
    JZX_EXPECT_EQ(info_of(ctx->loop, ctx->self).status, JZX_ACTOR_STOPPED);
}

static jzx_behavior_result ask(jzx_context *ctx, const jzx_message *msg) {
    struct asker *self = ctx->state;
    pthread_t thread;
    (void)msg;
    jzx_actor_info own = info_of(ctx->loop, ctx->self);
    JZX_EXPECT(!own.is_partial);
    JZX_EXPECT_EQ(own.worker, 0);
    JZX_EXPECT_EQ(own.activity, JZX_ACTIVITY_RUNNING);
    JZX_EXPECT_EQ(own.current_tag, 7);
    jzx_actor_info other = info_of(ctx->loop, self->other);
    JZX_EXPECT(other.is_partial);
    JZX_EXPECT_EQ(other.id, self->other);
    JZX_EXPECT_EQ(other.worker, 1);
    JZX_EXPECT_EQ(other.mailbox_cap, 77);
    JZX_EXPECT(strcmp(other.name, "other") == 0);
    JZX_EXPECT_EQ(info_of(ctx->loop, self->idle).activity, JZX_ACTIVITY_IDLE);
    fixture_send(ctx->loop, self->idle, 1);
    JZX_EXPECT_EQ(info_of(ctx->loop, self->idle).activity, JZX_ACTIVITY_READY);
    JZX_EXPECT_EQ(info_of(ctx->loop, self->idle).depth, 1);
    fixture_send(ctx->loop, self->other, 1);
    struct outside outside = {ctx->loop, ctx->self};
    if (JZX_EXPECT_EQ(pthread_create(&thread, NULL, ask_from_outside, &outside), 0))
        pthread_join(thread, NULL);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_worker_knows_its_own_actors_whole_and_those_of_others_in_part, "D12", "D+def") {
    struct asker asker;
    jzx_loop *loop = open_loop(2);
    asker.other =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = end, .name = "other", .mailbox_cap = 77,
                                            .place = JZX_PLACE_WORKER(1)));
    asker.idle = spawn_at(loop, JZX_PLACE_WORKER(0), end, NULL);
    asker.own = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ask, .state = &asker,
                                                    .cleanup = note_complete,
                                                    .place = JZX_PLACE_WORKER(0)));
    JZX_EXPECT(!info_of(loop, asker.other).is_partial); /* before it runs, all of them */
    JZX_EXPECT_EQ(info_of(loop, asker.other).worker, 1);
    jzx_actor_id starter = spawn_at(loop, JZX_PLACE_WORKER(0), end, NULL);
    fixture_send(loop, starter, 1);
    fixture_send(loop, asker.own, 7);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}

static jzx_err expect_no_tag(jzx_context *ctx) {
    jzx_test_ran();
    JZX_EXPECT_EQ(info_of(ctx->loop, ctx->self).current_tag, 0);
    return JZX_OK;
}

static jzx_behavior_result spawn_next(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = end, .init = expect_no_tag));
    fixture_send(ctx->loop, id, 1);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(there_is_no_current_tag_in_an_init) {
    jzx_loop *loop = open_loop(1);
    fixture_send(loop, spawn_at(loop, JZX_PLACE_ANY, spawn_next, NULL), 99);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

/* ---- counters ---- */

static jzx_worker_stats sum_of_workers(const jzx_loop *loop) {
    jzx_worker_stats sum = {0};
    for (uint32_t i = 0; i < jzx_loop_workers(loop); i++) {
        jzx_worker_stats one = {.size = sizeof one};
        JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, i, &one), JZX_OK);
        sum.turns += one.turns;
        sum.handled += one.handled;
        sum.injected += one.injected;
        sum.submitted += one.submitted;
        sum.parked += one.parked;
        sum.woken += one.woken;
        sum.crossed += one.crossed;
        sum.published += one.published;
        sum.reclaimed += one.reclaimed;
        sum.stolen += one.stolen;
        sum.explored += one.explored;
        sum.gathered += one.gathered;
        sum.followed += one.followed;
        sum.stalls += one.stalls;
        sum.handovers += one.handovers;
        JZX_EXPECT_EQ(one.running, JZX_NOBODY);
        JZX_EXPECT_EQ(one.public_depth, 0);
    }
    return sum;
}

struct hop {
    uint32_t left;
    jzx_actor_id to; /* who comes next, or JZX_NOBODY */
};

static jzx_behavior_result hand_on(jzx_context *ctx, const jzx_message *msg) {
    struct hop *self = ctx->state;
    (void)msg;
    if (self->to != JZX_NOBODY)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, self->to, ctx->self, NULL, 0, 1), JZX_OK);
    return --self->left == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void expect_sums(const jzx_loop *loop) {
    jzx_stats all = fixture_stats(loop);
    jzx_worker_stats sum = sum_of_workers(loop);
    JZX_EXPECT_EQ(sum.turns, all.turns);
    JZX_EXPECT_EQ(sum.handled, all.handled);
    JZX_EXPECT_EQ(sum.injected, all.injected);
    JZX_EXPECT_EQ(sum.submitted, all.submitted);
    JZX_EXPECT_EQ(sum.parked, all.parked);
    JZX_EXPECT_EQ(sum.woken, all.woken);
    JZX_EXPECT_EQ(sum.crossed, all.crossed);
    JZX_EXPECT_EQ(sum.published, all.published);
    JZX_EXPECT_EQ(sum.reclaimed, all.reclaimed);
    JZX_EXPECT_EQ(sum.stolen, all.stolen);
    JZX_EXPECT_EQ(sum.explored, all.explored);
    JZX_EXPECT_EQ(sum.gathered, all.gathered);
    JZX_EXPECT_EQ(sum.followed, all.followed);
    JZX_EXPECT_EQ(sum.stalls, all.stalls);
    JZX_EXPECT_EQ(sum.handovers, all.handovers);
}

JZX_TEST(the_counters_of_the_workers_add_up_to_those_of_the_loop, "E8", "D+def") {
    enum { MESSAGES = 200 };
    jzx_loop *loop = open_with(JZX_CONFIG(.workers = 3, .balance = JZX_BALANCE_EAGER));
    struct hop hops[3];
    jzx_actor_id to = JZX_NOBODY;
    for (uint32_t i = 3; i-- > 0;) { /* worker 0 sends to worker 1, that to worker 2 */
        hops[i] = (struct hop){MESSAGES, to};
        to = spawn_at(loop, JZX_PLACE_WORKER(i), hand_on, &hops[i]);
    }
    for (uint32_t i = 0; i < MESSAGES; i++)
        fixture_send(loop, to, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    expect_sums(loop);
    for (uint32_t i = 0; i < 3; i++) {
        jzx_worker_stats stats = {.size = sizeof stats};
        JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, i, &stats), JZX_OK);
        JZX_EXPECT_EQ(stats.handled, MESSAGES);
        JZX_EXPECT(stats.turns >= 1);
        JZX_EXPECT_EQ(stats.crossed, i < 2 ? MESSAGES : 0);
        JZX_EXPECT_EQ(stats.ready_depth, 0);
    }
    fixture_destroy(loop);
}

JZX_TEST(the_counters_of_a_worker_are_refused_to_a_wrong_question, "E8") {
    jzx_loop *loop = open_loop(2);
    jzx_worker_stats stats = {.size = sizeof stats};
    JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, 1, &stats), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, 2, &stats), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, JZX_NONE, &stats), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_loop_worker_stats(NULL, 0, &stats), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, 0, NULL), JZX_ERR_INVALID_ARG);
    stats.size++;
    stats.turns = 42;
    JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, 0, &stats), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(stats.turns, 42);
    fixture_destroy(loop);
}

/* Stays in its turn until a call on worker 0 has looked at it. */
static struct {
    sem_t looked;
    jzx_actor_id id;
    uint32_t looks;
} watched;

static void look_at_worker_1(jzx_loop *loop, void *ctx) {
    jzx_worker_stats stats = {.size = sizeof stats};
    (void)ctx;
    JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, 1, &stats), JZX_OK);
    JZX_EXPECT_EQ(stats.running, watched.id);
    JZX_EXPECT(!stats.is_parked);
    JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, 0, &stats), JZX_OK);
    JZX_EXPECT_EQ(stats.running, JZX_NOBODY);
    watched.looks++;
    sem_post(&watched.looked);
}

static jzx_behavior_result be_watched(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT_EQ(jzx_loop_call(ctx->loop, look_at_worker_1, NULL), JZX_OK);
    while (sem_wait(&watched.looked) != 0)
        continue;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(the_counters_of_a_worker_say_whose_turn_it_is, "E8", "D+def") {
    jzx_loop *loop = open_loop(2);
    sem_init(&watched.looked, 0, 0);
    watched.id = spawn_at(loop, JZX_PLACE_WORKER(1), be_watched, NULL);
    fixture_send(loop, watched.id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(watched.looks, 1);
    fixture_destroy(loop);
}
