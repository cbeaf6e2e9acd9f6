/* SPDX-License-Identifier: MIT */
/* Home threads: a worker whose behaviour did not return goes on on another thread, and goes back to
 * its own as soon as that has returned. Actors here wait for what only that can bring: where it
 * does not come, the test does not end. */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STALL_AFTER JZX_MS(10)
#define WORKERS 3u

enum { GO = 1, WAKE = 2, LOOK = 3 };

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

/* ---- who is at home where ---- */

static struct {
    pthread_t threads[WORKERS];
    pid_t tids[WORKERS];
    _Atomic uint32_t substitutes;
    _Atomic pthread_t substitute; /* the last that was started */
    sem_t *post_at_stop;          /* when the thread of worker 2 ends */
} home;

static void on_start(void *ctx, uint32_t worker) {
    (void)ctx;
    if (worker == JZX_NONE) {
        home.substitute = pthread_self();
        home.substitutes++;
        return;
    }
    home.threads[worker] = pthread_self();
    home.tids[worker] = (pid_t)syscall(SYS_gettid);
}

static void on_stop(void *ctx, uint32_t worker) {
    (void)ctx;
    if (worker == 2 && home.post_at_stop != NULL)
        sem_post(home.post_at_stop);
}

static bool is_home(uint32_t worker) {
    return pthread_equal(pthread_self(), home.threads[worker]) != 0;
}

static jzx_loop *open_loop(uint32_t spares) {
    home.substitutes = 0;
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = WORKERS, .stall_after_ns = STALL_AFTER, .spare_threads_max = spares,
                    .on_thread_start = on_start, .on_thread_stop = on_stop));
    assert_non_null(loop);
    return loop;
}

static void run(jzx_loop *loop) {
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
}

/* ---- a worker goes away and comes home ---- */

/* Three actors of one worker: the traveller waits for the waker, which another thread must run;
 * the looker goes on until it finds itself on the home thread. */
struct trip {
    uint32_t worker;
    uint32_t rounds; /* that are left */
    uint32_t lost;   /* rounds in which the traveller had lost its worker */
    sem_t go;
    jzx_actor_id traveller;
    jzx_actor_id waker;
    jzx_actor_id looker;
    struct trip *next;  /* whose traveller goes after that; NULL: itself, until rounds is 0 */
    bool by_substitute; /* there is one, and the waker must be on it */
};

static jzx_behavior_result travel(jzx_context *ctx, const jzx_message *msg) {
    struct trip *trip = ctx->state;
    if (msg->tag != GO)
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, trip->waker, WAKE);
    wait_for(&trip->go);
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    trip->lost++;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result let_go(jzx_context *ctx, const jzx_message *msg) {
    struct trip *trip = ctx->state;
    if (msg->tag != WAKE)
        return JZX_BEHAVIOR_STOP;
    JZX_EXPECT(!is_home(trip->worker));
    if (trip->by_substitute)
        JZX_EXPECT(pthread_equal(pthread_self(), home.substitute));
    sem_post(&trip->go);
    fixture_send(ctx->loop, trip->looker, LOOK);
    return JZX_BEHAVIOR_OK;
}

static void begin_next(jzx_loop *loop, struct trip *trip) {
    struct trip *next = trip->next == NULL ? trip : trip->next;
    if (next->rounds != 0) {
        fixture_send(loop, next->traveller, GO);
        return;
    }
    for (struct trip *each = trip;;) {
        fixture_send(loop, each->traveller, LOOK);
        fixture_send(loop, each->waker, LOOK);
        fixture_send(loop, each->looker, GO);
        each = each->next == NULL ? trip : each->next;
        if (each == trip)
            return;
    }
}

static jzx_behavior_result look(jzx_context *ctx, const jzx_message *msg) {
    struct trip *trip = ctx->state;
    if (msg->tag != LOOK)
        return JZX_BEHAVIOR_STOP;
    if (!is_home(trip->worker)) {
        fixture_send(ctx->loop, ctx->self, LOOK);
        return JZX_BEHAVIOR_OK;
    }
    trip->rounds--;
    begin_next(ctx->loop, trip);
    return JZX_BEHAVIOR_OK;
}

static jzx_actor_id spawn_on(jzx_loop *loop, jzx_behavior_fn behavior, void *state,
                             uint32_t worker) {
    return fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = behavior, .state = state,
                                               .place = JZX_PLACE_WORKER(worker)));
}

static void trip_open(jzx_loop *loop, struct trip *trip, uint32_t worker, uint32_t rounds) {
    *trip = (struct trip){.worker = worker, .rounds = rounds};
    sem_init(&trip->go, 0, 0);
    trip->traveller = spawn_on(loop, travel, trip, worker);
    trip->waker = spawn_on(loop, let_go, trip, worker);
    trip->looker = spawn_on(loop, look, trip, worker);
}

JZX_TEST(a_worker_goes_back_to_its_home_thread, "D12") {
    enum { ROUNDS = 4 };
    for (uint32_t worker = 0; worker < WORKERS; worker++) {
        struct trip trip;
        jzx_loop *loop = open_loop(0);
        for (uint32_t i = 0; i < 2; i++) { /* also in a second run, on other threads */
            trip_open(loop, &trip, worker, ROUNDS);
            fixture_send(loop, trip.traveller, GO);
            run(loop);
            JZX_EXPECT_EQ(trip.lost, ROUNDS);
            JZX_EXPECT(worker != 0 || pthread_equal(home.threads[0], pthread_self()));
        }
        fixture_destroy(loop);
    }
}

JZX_TEST(several_workers_go_back_to_their_home_threads_at_once, "D12") {
    enum { ROUNDS = 8 };
    struct trip trips[WORKERS];
    jzx_loop *loop = open_loop(0);
    for (uint32_t i = 0; i < WORKERS; i++)
        trip_open(loop, &trips[i], i, ROUNDS);
    for (uint32_t i = 0; i < WORKERS; i++)
        fixture_send(loop, trips[i].traveller, GO);
    run(loop);
    for (uint32_t i = 0; i < WORKERS; i++)
        JZX_EXPECT_EQ(trips[i].lost, ROUNDS);
    fixture_destroy(loop);
}

JZX_TEST(fewer_spares_than_stalled_workers_serve_one_after_the_other, "D12") {
    enum { ROUNDS = 4 };
    struct trip trips[WORKERS];
    jzx_loop *loop = open_loop(1);
    for (uint32_t i = 0; i < WORKERS; i++) {
        trip_open(loop, &trips[i], i, ROUNDS);
        trips[i].by_substitute = true;
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        fixture_send(loop, trips[i].traveller, GO);
    run(loop);
    for (uint32_t i = 0; i < WORKERS; i++)
        JZX_EXPECT_EQ(trips[i].lost, ROUNDS);
    JZX_EXPECT_EQ(home.substitutes, 1);
    fixture_destroy(loop);
}

JZX_TEST(a_substitute_that_gave_its_worker_back_serves_the_next, "D12") {
    enum { ROUNDS = 3 };
    struct trip trips[WORKERS];
    jzx_loop *loop = open_loop(1);
    for (uint32_t i = 0; i < WORKERS; i++) {
        trip_open(loop, &trips[i], i, ROUNDS);
        trips[i].by_substitute = true;
        trips[i].next = &trips[(i + 1) % WORKERS];
    }
    fixture_send(loop, trips[0].traveller, GO);
    run(loop);
    for (uint32_t i = 0; i < WORKERS; i++)
        JZX_EXPECT_EQ(trips[i].lost, ROUNDS);
    JZX_EXPECT_EQ(home.substitutes, 1);
    fixture_destroy(loop);
}

/* ---- the substitute does not return, either ---- */

/* The first waits for the second, the second for the third, all of one worker. */
struct relay {
    uint32_t worker;
    jzx_actor_id second;
    jzx_actor_id third;
    sem_t first_goes;
    sem_t second_goes;
    uint32_t steps;
};

static jzx_behavior_result run_first(jzx_context *ctx, const jzx_message *msg) {
    struct relay *relay = ctx->state;
    (void)msg;
    fixture_send(ctx->loop, relay->second, GO);
    wait_for(&relay->first_goes);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result run_second(jzx_context *ctx, const jzx_message *msg) {
    struct relay *relay = ctx->state;
    (void)msg;
    JZX_EXPECT(pthread_equal(pthread_self(), home.substitute));
    relay->steps++;
    fixture_send(ctx->loop, relay->third, GO);
    sem_post(&relay->first_goes);
    wait_for(&relay->second_goes);
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result run_third(jzx_context *ctx, const jzx_message *msg) {
    struct relay *relay = ctx->state;
    (void)msg;
    JZX_EXPECT(is_home(relay->worker)); /* nobody else is left */
    relay->steps++;
    sem_post(&relay->second_goes);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_home_thread_relieves_its_substitute_when_no_spare_is_left, "D12") {
    for (uint32_t worker = 0; worker < WORKERS; worker++) {
        struct relay relay = {.worker = worker};
        jzx_loop *loop = open_loop(1);
        sem_init(&relay.first_goes, 0, 0);
        sem_init(&relay.second_goes, 0, 0);
        relay.second = spawn_on(loop, run_second, &relay, worker);
        relay.third = spawn_on(loop, run_third, &relay, worker);
        fixture_send(loop, spawn_on(loop, run_first, &relay, worker), GO);
        run(loop);
        JZX_EXPECT_EQ(relay.steps, 2);
        fixture_destroy(loop);
    }
}

/* ---- the run ends meanwhile ---- */

struct late {
    uint32_t worker;
    jzx_actor_id waker;
    sem_t go;
    _Atomic uint32_t *away; /* stop when so many are away: 0 */
    uint32_t cleanups;
    bool posts_before_stop;
};

static jzx_behavior_result be_late(jzx_context *ctx, const jzx_message *msg) {
    struct late *late = ctx->state;
    (void)msg;
    fixture_send(ctx->loop, late->waker, WAKE);
    wait_for(&late->go);
    return JZX_BEHAVIOR_STOP;
}

static void count_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct late *late = ctx->state;
    (void)reason;
    late->cleanups++;
}

/* On a substitute: the last of those whose traveller is away stops the loop. */
static jzx_behavior_result stop_when_all_are_away(jzx_context *ctx, const jzx_message *msg) {
    struct late *late = ctx->state;
    (void)msg;
    if (late->posts_before_stop)
        sem_post(&late->go);
    if (--*late->away == 0)
        JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    if (!late->posts_before_stop && home.post_at_stop == NULL)
        sem_post(&late->go);
    return JZX_BEHAVIOR_OK;
}

static void late_open(jzx_loop *loop, struct late *late, uint32_t worker, _Atomic uint32_t *away) {
    *late = (struct late){.worker = worker, .away = away};
    sem_init(&late->go, 0, 0);
    late->waker = spawn_on(loop, stop_when_all_are_away, late, worker);
    fixture_send(loop,
                 fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_late, .state = late,
                                                     .cleanup = count_cleanup,
                                                     .place = JZX_PLACE_WORKER(worker))),
                 GO);
}

JZX_TEST(a_loop_may_be_stopped_while_all_home_threads_are_away, "D18") {
    for (uint64_t round = 0; round < jzx_test_rounds(12, 300); round++) {
        struct late lates[WORKERS];
        _Atomic uint32_t away = WORKERS;
        jzx_loop *loop = open_loop(0);
        for (uint32_t i = 0; i < WORKERS; i++) {
            late_open(loop, &lates[i], i, &away);
            lates[i].posts_before_stop = (round >> i & 1) != 0;
        }
        run(loop);
        for (uint32_t i = 0; i < WORKERS; i++)
            JZX_EXPECT_EQ(lates[i].cleanups, 1);
        fixture_destroy(loop);
    }
}

/* Another thread of the loop ends before the behaviour returns. */
JZX_TEST(a_home_thread_may_return_after_the_run_was_to_end, "D18") {
    for (uint32_t worker = 0; worker < 2; worker++) {
        struct late late;
        _Atomic uint32_t away = 1;
        jzx_loop *loop = open_loop(1);
        home.post_at_stop = &late.go;
        late_open(loop, &late, worker, &away);
        run(loop);
        home.post_at_stop = NULL;
        JZX_EXPECT_EQ(late.cleanups, 1);
        fixture_destroy(loop);
    }
}

/* The last actor ends while the home thread waits for its worker: its cleanup sees to that. */
static void wait_until_home_sleeps(jzx_context *ctx, jzx_exit_reason reason) {
    struct trip *trip = ctx->state;
    char path[64];
    char state = 'R';
    (void)reason;
    if (is_home(trip->worker))
        return; /* it has its worker back already */
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)home.tids[trip->worker]);
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 'S';
        if (file != NULL)
            fclose(file);
    }
}

static jzx_behavior_result travel_once(jzx_context *ctx, const jzx_message *msg) {
    (void)travel(ctx, msg);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result let_go_once(jzx_context *ctx, const jzx_message *msg) {
    struct trip *trip = ctx->state;
    (void)msg;
    sem_post(&trip->go);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_run_may_be_over_before_a_home_thread_has_its_worker_back, "D18") {
    jzx_loop *loop = open_loop(0);
    for (uint64_t round = 0; round < jzx_test_rounds(100, 2000); round++) {
        struct trip trip = {.worker = (uint32_t)(round % WORKERS)};
        sem_init(&trip.go, 0, 0);
        trip.waker = spawn_on(loop, let_go_once, &trip, trip.worker);
        fixture_send(loop,
                     fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = travel_once, .state = &trip,
                                                         .cleanup = wait_until_home_sleeps,
                                                         .place = JZX_PLACE_WORKER(trip.worker))),
                     GO);
        run(loop);
        JZX_EXPECT_EQ(trip.lost, 1);
    }
    fixture_destroy(loop);
}
