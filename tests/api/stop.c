/* SPDX-License-Identifier: MIT */
/* The gentle stop: actors work off what waits for them and end; who is late is named. */
#include "fixture.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

enum { WORK = 1, STOP_ALL = 2 };

static jzx_loop *open_loop(uint32_t workers) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = workers, .stall_after_ns = JZX_NEVER));
    assert_non_null(loop);
    return loop;
}

static pthread_t start(void *(*fn)(void *), void *arg) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fn, arg), 0);
    return thread;
}

/* ---- ten of ten ---- */

struct job {
    uint32_t handled;
    uint32_t cleanups;
    jzx_exit_reason reason;
};

static jzx_behavior_result work(jzx_context *ctx, const jzx_message *msg) {
    struct job *job = ctx->state;
    (void)msg;
    job->handled++;
    return JZX_BEHAVIOR_OK;
}

static void note_end(jzx_context *ctx, jzx_exit_reason reason) {
    struct job *job = ctx->state;
    job->cleanups++;
    job->reason = reason;
}

#define JOBS 10u

static void spawn_jobs(jzx_loop *loop, struct job *jobs) {
    memset(jobs, 0, JOBS * sizeof *jobs);
    for (uint32_t i = 0; i < JOBS; i++) {
        jzx_actor_id id = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = work, .state = &jobs[i], .cleanup = note_end));
        for (uint32_t k = 0; k < 10; k++)
            fixture_send(loop, id, WORK);
    }
}

static void expect_all_done(const struct job *jobs) {
    for (uint32_t i = 0; i < JOBS; i++) {
        JZX_EXPECT_EQ(jobs[i].handled, 10);
        JZX_EXPECT_EQ(jobs[i].cleanups, 1);
        JZX_EXPECT_EQ(jobs[i].reason, JZX_EXIT_NORMAL);
    }
}

static void expect_closed(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = work), NULL), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_loop_hold(loop), JZX_ERR_LOOP_CLOSED);
}

JZX_TEST(a_stop_before_the_run_lets_every_actor_work_off_its_queue, "D18", "D+stop") {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct job jobs[JOBS];
        jzx_loop *loop = open_loop(workers);
        spawn_jobs(loop, jobs);
        JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK);
        expect_closed(loop);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        expect_all_done(jobs);
        JZX_EXPECT_EQ(fixture_stats(loop).dead, 0);
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_ERR_LOOP_CLOSED);
        fixture_destroy(loop);
    }
    JZX_EXPECT_EQ(jzx_loop_stop(NULL, JZX_NEVER), JZX_ERR_INVALID_ARG);
}

static void *stop_when_parked(void *arg) {
    jzx_loop *loop = arg;
    for (uint32_t i = 0; i < jzx_loop_workers(loop); i++) {
        jzx_worker_stats stats = {.size = sizeof stats};
        do {
            sched_yield();
            JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, i, &stats), JZX_OK);
        } while (stats.parked == 0);
    }
    JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK);
    return NULL;
}

JZX_TEST(a_stop_from_another_thread_wakes_a_sleeping_loop, "D18", "D+stop") {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct job jobs[JOBS];
        jzx_loop *loop = open_loop(workers);
        spawn_jobs(loop, jobs);
        for (uint32_t i = 0; i < workers; i++) /* somebody idle on every worker */
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = work, .place = JZX_PLACE_WORKER(i)));
        pthread_t thread = start(stop_when_parked, loop);
        assert_int_equal(jzx_loop_run(loop), JZX_OK); /* nobody ends but for the stop */
        assert_int_equal(pthread_join(thread, NULL), 0);
        expect_all_done(jobs);
        fixture_destroy(loop);
    }
}

/* ---- from inside ---- */

struct stopper {
    jzx_actor_id peer;
    uint32_t handled;
};

static jzx_behavior_result stop_and_send(jzx_context *ctx, const jzx_message *msg) {
    struct stopper *self = ctx->state;
    self->handled += msg->tag == WORK;
    if (msg->tag != STOP_ALL)
        return JZX_BEHAVIOR_OK;
    JZX_EXPECT_EQ(jzx_loop_stop(ctx->loop, JZX_NEVER), JZX_OK);
    expect_closed(ctx->loop);
    /* The only worker is in this turn: nobody has seen it yet. */
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, WORK), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->peer, ctx->self, NULL, 0, WORK), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_behaviour_may_stop_its_loop_and_still_send_to_who_has_not_seen_it, "D18", "D+stop") {
    struct job peer = {0};
    struct stopper stopper = {0};
    jzx_loop *loop = open_loop(1);
    stopper.peer =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = work, .state = &peer, .cleanup = note_end));
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_and_send, .state = &stopper));
    fixture_send(loop, id, STOP_ALL);
    fixture_send(loop, id, WORK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(stopper.handled, 2); /* what waited and what it sent itself */
    JZX_EXPECT_EQ(peer.handled, 1);
    JZX_EXPECT_EQ(peer.reason, JZX_EXIT_NORMAL);
    fixture_destroy(loop);
}

static jzx_behavior_result stop_and_end(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT_EQ(jzx_loop_stop(ctx->loop, JZX_NEVER), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_behaviour_of_any_worker_may_stop_the_loop, "D18", "D+stop") {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct job jobs[JOBS];
        jzx_loop *loop = open_loop(workers);
        spawn_jobs(loop, jobs);
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_and_end,
                                                .place = JZX_PLACE_WORKER(workers - 1)));
        fixture_send(loop, id, STOP_ALL);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        expect_all_done(jobs);
        fixture_destroy(loop);
    }
}

/* Spawns and stops race: whoever was accepted ends, and the run is over. */
struct racer {
    jzx_loop *loop;
    uint32_t made;
    _Atomic uint32_t ended;
};

static void count_end(jzx_context *ctx, jzx_exit_reason reason) {
    struct racer *racer = ctx->state;
    JZX_EXPECT(reason == JZX_EXIT_NORMAL || reason == JZX_EXIT_SHUTDOWN);
    racer->ended++;
}

static void *spawn_until_closed(void *arg) {
    struct racer *racer = arg;
    jzx_err err;
    while ((err = jzx_spawn(racer->loop,
                            &JZX_SPAWN_OPTS(.behavior = work, .state = racer, .cleanup = count_end),
                            NULL)) == JZX_OK)
        racer->made++;
    JZX_EXPECT_EQ(err, JZX_ERR_LOOP_CLOSED);
    return NULL;
}

static void *stop_after_some(void *arg) {
    struct racer *racer = arg;
    while (fixture_stats(racer->loop).spawned < 100)
        sched_yield();
    JZX_EXPECT_EQ(jzx_loop_stop(racer->loop, JZX_NEVER), JZX_OK);
    return NULL;
}

JZX_TEST(whoever_is_spawned_while_a_loop_stops_is_refused_or_ends, "D18", "D+stop") {
    for (uint32_t round = 0; round < jzx_test_rounds(30, 500); round++) {
        struct racer racer = {.loop = open_loop(1 + round % 3)};
        assert_int_equal(jzx_loop_hold(racer.loop), JZX_OK);
        pthread_t stopper = start(stop_after_some, &racer);
        pthread_t spawner = start(spawn_until_closed, &racer);
        assert_int_equal(jzx_loop_run(racer.loop), JZX_OK);
        assert_int_equal(pthread_join(stopper, NULL), 0);
        assert_int_equal(pthread_join(spawner, NULL), 0);
        JZX_EXPECT_EQ(fixture_stats(racer.loop).spawned, racer.made);
        fixture_destroy(racer.loop);
        JZX_EXPECT_EQ(racer.ended, racer.made);
    }
}

/* ---- again, and with holds ---- */

JZX_TEST(a_loop_may_be_stopped_again_and_the_earlier_deadline_holds, "D18", "D+stop") {
    for (uint32_t order = 0; order < 2; order++) {
        struct job jobs[JOBS];
        jzx_loop *loop = open_loop(1);
        spawn_jobs(loop, jobs);
        uint64_t past = jzx_loop_now(loop);
        JZX_EXPECT_EQ(jzx_loop_stop(loop, order == 0 ? JZX_NEVER : past), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_stop(loop, order == 0 ? past : JZX_NEVER), JZX_OK);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        for (uint32_t i = 0; i < JOBS; i++) {
            JZX_EXPECT_EQ(jobs[i].cleanups, 1);
            JZX_EXPECT_EQ(jobs[i].reason, JZX_EXIT_SHUTDOWN);
        }
        JZX_EXPECT_EQ(jzx_loop_stop(loop, 0), JZX_OK); /* it has ended: nothing happens */
        fixture_destroy(loop);
    }
}

JZX_TEST(two_stops_without_a_deadline_are_one) {
    struct job jobs[JOBS];
    jzx_loop *loop = open_loop(2);
    spawn_jobs(loop, jobs);
    JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    expect_all_done(jobs);
    fixture_destroy(loop);
}

JZX_TEST(holds_do_not_keep_a_stopping_loop_alive, "D18") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        jzx_loop *loop = open_loop(workers);
        assert_int_equal(jzx_loop_hold(loop), JZX_OK);
        pthread_t thread = start(stop_when_parked, loop);
        assert_int_equal(jzx_loop_run(loop), JZX_OK); /* nobody releases it */
        assert_int_equal(pthread_join(thread, NULL), 0);
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_ERR_LOOP_CLOSED);
        fixture_destroy(loop);
    }
}

JZX_TEST(a_request_to_stop_at_once_ends_a_gentle_stop, "D18") {
    struct job jobs[JOBS];
    jzx_loop *loop = open_loop(2);
    spawn_jobs(loop, jobs);
    JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK); /* does not open it again */
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < JOBS; i++)
        JZX_EXPECT_EQ(jobs[i].reason, JZX_EXIT_SHUTDOWN);
    fixture_destroy(loop);
}

/* ---- stubborn actors ---- */

static jzx_behavior_result go_on_for_ever(jzx_context *ctx, const jzx_message *msg) {
    struct job *job = ctx->state;
    (void)msg;
    job->handled++;
    jzx_err err = jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, WORK);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
    return JZX_BEHAVIOR_OK;
}

static void *stop_when_busy(void *arg) {
    jzx_loop *loop = arg;
    while (fixture_stats(loop).handled < 1000)
        sched_yield();
    JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK);
    return NULL;
}

JZX_TEST(an_actor_that_sends_to_itself_for_ever_ends_with_the_loop, "D18", "D+stop") {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct job jobs[3] = {{0}};
        jzx_loop *loop = open_loop(workers);
        for (uint32_t i = 0; i < 3; i++) {
            jzx_actor_id id = fixture_spawn(
                loop, &JZX_SPAWN_OPTS(.behavior = go_on_for_ever, .state = &jobs[i],
                                      .cleanup = note_end, .place = JZX_PLACE_WORKER(i % workers)));
            fixture_send(loop, id, WORK);
        }
        pthread_t thread = start(stop_when_busy, loop);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        for (uint32_t i = 0; i < 3; i++) {
            JZX_EXPECT_EQ(jobs[i].cleanups, 1);
            JZX_EXPECT_EQ(jobs[i].reason, JZX_EXIT_NORMAL);
        }
        fixture_destroy(loop);
    }
}

/* ---- the deadline ---- */

static struct {
    pthread_mutex_t lock;
    uint32_t count;
    jzx_actor_id actors[16];
    char names[16][JZX_NAME_MAX + 1];
    char details[16][128];
    uint32_t after; /* STOP_LATE after an actor had ended by it */
    uint32_t ends;
} late = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_late(void *ctx, const jzx_event *event) {
    (void)ctx;
    pthread_mutex_lock(&late.lock);
    if (event->kind == JZX_EVENT_STOP_LATE && late.count < 16) {
        late.actors[late.count] = event->actor;
        snprintf(late.names[late.count], sizeof late.names[0], "%s",
                 event->name == NULL ? "" : event->name);
        snprintf(late.details[late.count], sizeof late.details[0], "%s",
                 event->detail == NULL ? "" : event->detail);
        late.count++;
        late.after += late.ends != 0;
    }
    late.ends += event->kind == JZX_EVENT_ACTOR_STOP;
    pthread_mutex_unlock(&late.lock);
}

static void observe_late(jzx_loop *loop) {
    late.count = late.after = late.ends = 0;
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = note_late), NULL),
                     JZX_OK);
}

static const char *detail_of(jzx_actor_id id) {
    for (uint32_t i = 0; i < late.count; i++) {
        if (late.actors[i] == id)
            return late.details[i];
    }
    return "";
}

JZX_TEST(who_is_alive_at_the_deadline_is_named_and_ended, "D18", "D+stop") {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct job jobs[3] = {{0}};
        static const char *const names[] = {"anna", "bert", "carl"};
        jzx_actor_id ids[3];
        jzx_loop *loop = open_loop(workers);
        observe_late(loop);
        for (uint32_t i = 0; i < 3; i++) {
            ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = work, .state = &jobs[i],
                                                         .cleanup = note_end, .name = names[i],
                                                         .place = JZX_PLACE_WORKER(i % workers)));
            fixture_send(loop, ids[i], WORK);
        }
        JZX_EXPECT_EQ(jzx_loop_stop(loop, jzx_loop_now(loop)), JZX_OK); /* it is past by then */
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        if (workers == 1) {
            JZX_EXPECT_EQ(late.count, 3);
            JZX_EXPECT_EQ(fixture_stats(loop).dead, 3);
        }
        JZX_EXPECT_EQ(late.after, 0);
        for (uint32_t i = 0; i < late.count; i++) {
            JZX_EXPECT(late.details[i][0] != '\0');
            uint32_t who = late.actors[i] == ids[0] ? 0 : late.actors[i] == ids[1] ? 1 : 2;
            JZX_EXPECT_EQ(late.actors[i], ids[who]);
            assert_string_equal(late.names[i], names[who]);
        }
        for (uint32_t i = 0; i < 3; i++) {
            JZX_EXPECT_EQ(jobs[i].cleanups, 1);
            JZX_EXPECT_EQ(jobs[i].reason, JZX_EXIT_SHUTDOWN);
        }
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_ERR_LOOP_CLOSED);
        fixture_destroy(loop);
    }
}

/* One actor is in its turn on worker 1 when worker 0 finds the deadline past. */
static sem_t let_it_go;

static jzx_behavior_result wait_in_turn(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT_EQ(jzx_loop_stop(ctx->loop, jzx_loop_now(ctx->loop)), JZX_OK);
    while (sem_wait(&let_it_go) != 0)
        continue;
    return JZX_BEHAVIOR_OK;
}

static void let_go_when_late(void *ctx, const jzx_event *event) {
    note_late(ctx, event);
    if (event->kind == JZX_EVENT_STOP_LATE)
        sem_post(&let_it_go);
}

JZX_TEST(who_is_late_is_named_with_what_it_is_doing, "D18", "D+stop") {
    struct job job = {0};
    jzx_loop *loop = open_loop(2);
    sem_init(&let_it_go, 0, 0);
    late.count = late.after = late.ends = 0;
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = let_go_when_late), NULL),
                     JZX_OK);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = wait_in_turn, .state = &job,
                                                          .cleanup = note_end, .name = "busy",
                                                          .place = JZX_PLACE_WORKER(1)));
    fixture_send(loop, id, 4711);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(late.count, 1);
    JZX_EXPECT(strstr(detail_of(id), "4711") != NULL);
    JZX_EXPECT(strstr(detail_of(id), "worker 1") != NULL);
    JZX_EXPECT(job.reason == JZX_EXIT_SHUTDOWN || job.reason == JZX_EXIT_NORMAL);
    fixture_destroy(loop);
}

/* Nothing is ready and nobody sends: the deadline itself must end the sleep. An actor that is held
 * up by another thread stands for one that is late. */
struct sleeper {
    jzx_loop *loop;
    sem_t go;
    sem_t entered;
};

static jzx_behavior_result sleep_in_turn(jzx_context *ctx, const jzx_message *msg) {
    struct sleeper *sleeper = ctx->state;
    (void)msg;
    sem_post(&sleeper->entered);
    while (sem_wait(&sleeper->go) != 0)
        continue;
    return JZX_BEHAVIOR_OK;
}

static struct sleeper *sleeping;

static void wake_sleeper_when_late(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_STOP_LATE)
        sem_post(&sleeping->go);
}

static void *stop_sleeper(void *arg) {
    struct sleeper *sleeper = arg;
    jzx_worker_stats stats = {.size = sizeof stats};
    while (sem_wait(&sleeper->entered) != 0)
        continue;
    do { /* worker 0 sleeps */
        sched_yield();
        JZX_EXPECT_EQ(jzx_loop_worker_stats(sleeper->loop, 0, &stats), JZX_OK);
    } while (!stats.is_parked);
    uint64_t now = jzx_loop_now(sleeper->loop);
    JZX_EXPECT_EQ(jzx_loop_stop(sleeper->loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_stop(sleeper->loop, now + JZX_SECOND(1000)), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_stop(sleeper->loop, now + JZX_MS(5)), JZX_OK);
    return NULL;
}

JZX_TEST(a_sleeping_loop_wakes_at_the_deadline, "D18", "D+stop") {
    struct sleeper sleeper = {.loop = open_loop(2)};
    sem_init(&sleeper.go, 0, 0);
    sem_init(&sleeper.entered, 0, 0);
    sleeping = &sleeper;
    assert_int_equal(jzx_loop_set_observer(sleeper.loop,
                                           &JZX_OBSERVER(.on_event = wake_sleeper_when_late), NULL),
                     JZX_OK);
    jzx_actor_id id =
        fixture_spawn(sleeper.loop, &JZX_SPAWN_OPTS(.behavior = sleep_in_turn, .state = &sleeper,
                                                    .place = JZX_PLACE_WORKER(1)));
    fixture_send(sleeper.loop, id, WORK);
    pthread_t thread = start(stop_sleeper, &sleeper);
    assert_int_equal(jzx_loop_run(sleeper.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_destroy(sleeper.loop);
}

/* ---- by steps ---- */

JZX_TEST(a_loop_that_is_stepped_stops_gently, "D18", "D+stop") {
    struct job jobs[JOBS];
    jzx_loop *loop = open_loop(1);
    spawn_jobs(loop, jobs);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    for (uint32_t i = 0; i < JOBS; i++)
        JZX_EXPECT_EQ(jobs[i].cleanups, 0);
    JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT(jzx_loop_alive(loop));
    JZX_EXPECT_EQ(jzx_loop_next_deadline(loop), 0); /* step has something to do */
    for (uint32_t i = 0; i < 1000 && jzx_loop_alive(loop); i++)
        JZX_EXPECT_EQ(jzx_loop_step(loop, 0), JZX_OK);
    expect_all_done(jobs);
    JZX_EXPECT(!jzx_loop_alive(loop));
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_loop_next_deadline(loop), JZX_NEVER);
    fixture_destroy(loop);
}

static bool is_readable(int fd) {
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

JZX_TEST(a_host_that_sleeps_on_the_descriptor_hears_of_a_stop, "D18", "D+stop") {
    struct job jobs[JOBS];
    jzx_loop *loop = open_loop(1);
    int fd = jzx_loop_fd(loop);
    spawn_jobs(loop, jobs);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT(!is_readable(fd));
    JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK);
    for (uint32_t i = 0; i < 1000 && is_readable(fd); i++)
        JZX_EXPECT_EQ(jzx_loop_step(loop, 0), JZX_OK);
    expect_all_done(jobs);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_ERR_LOOP_CLOSED);
    fixture_destroy(loop);
}

JZX_TEST(a_loop_that_is_stepped_ends_who_is_late, "D18", "D+stop") {
    struct job jobs[JOBS];
    jzx_loop *loop = open_loop(1);
    observe_late(loop);
    spawn_jobs(loop, jobs);
    JZX_EXPECT_EQ(jzx_loop_stop(loop, jzx_loop_now(loop)), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(late.count, JOBS);
    for (uint32_t i = 0; i < JOBS; i++)
        JZX_EXPECT_EQ(jobs[i].reason, JZX_EXIT_SHUTDOWN);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_ERR_LOOP_CLOSED);
    fixture_destroy(loop);
}

JZX_TEST(a_stepped_loop_without_actors_ends_by_a_stop, "D18") {
    jzx_loop *loop = open_loop(1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_ERR_LOOP_CLOSED);
    fixture_destroy(loop);
}
