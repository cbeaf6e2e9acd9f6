/* SPDX-License-Identifier: MIT */
/* What a behaviour does while its worker goes on without it, and what others do to it, is as if it
 * had not stalled. The behaviours here wait for what only an actor of their own worker can do. */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

enum { GO = 1, PUT_ASIDE = 2, WAKE = 3, FIRST = 5, SECOND = 6 };

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

static jzx_loop *open_loop(uint32_t workers) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = workers, .stall_after_ns = JZX_MS(1)));
    assert_non_null(loop);
    return loop;
}

static void run(jzx_loop *loop) {
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
}

/* ---- what it does ---- */

static uint32_t freed;

static void count_freed(void *data, size_t len) {
    (void)data;
    (void)len;
    freed++;
}

/* An actor that does everything in one message; with or without a stall before it. */
struct doer {
    bool stalls;
    jzx_behavior_result result;
    bool takes; /* its message, else it stashes it */
    sem_t go;
    jzx_actor_id waker;
    jzx_actor_id near; /* a recorder of the same worker */
    jzx_actor_id far;  /* one of another */
    jzx_actor_id victim;
    struct recorder after; /* what it handled after that message */
    struct recorder near_log;
    struct recorder far_log;
    struct recorder child_log;
    uint32_t cleanups;
    jzx_exit_reason reason;
    jzx_exit_reason victim_reason;
};

static jzx_behavior_result let_go(jzx_context *ctx, const jzx_message *msg) {
    struct doer *doer = ctx->state;
    (void)msg;
    sem_post(&doer->go);
    return JZX_BEHAVIOR_STOP;
}

/* The last number is that of the message after which recorders end. */
enum { LAST = 1000 };

static jzx_behavior_result record_until_last(jzx_context *ctx, const jzx_message *msg) {
    struct recorder *log = ctx->state;
    log->tags[log->count++] = msg->tag;
    return msg->tag == LAST ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* The state that the doer replaces its own by. */
struct other_state {
    struct doer *doer;
};

static jzx_behavior_result do_after(jzx_context *ctx, const jzx_message *msg) {
    struct other_state *state = ctx->state;
    struct doer *self = state->doer;
    self->after.tags[self->after.count++] = msg->tag;
    if (msg->tag == FIRST) { /* still in order behind what was sent in the stall */
        JZX_EXPECT_EQ(jzx_send(ctx->loop, self->near, ctx->self, NULL, 0, 23), JZX_OK);
        JZX_EXPECT_EQ(jzx_send(ctx->loop, self->far, ctx->self, NULL, 0, 33), JZX_OK);
    }
    if (msg->tag != LAST)
        return JZX_BEHAVIOR_OK;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->near, ctx->self, NULL, 0, LAST), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->far, ctx->self, NULL, 0, LAST), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

static void send_around(jzx_context *ctx, const struct doer *self, uint32_t number) {
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->near, ctx->self, NULL, 0, 20 + number), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->far, ctx->self, NULL, 0, 30 + number), JZX_OK);
}

static void use_memory(jzx_context *ctx, const struct doer *self) {
    char large[5000] = {0};
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 100, count_freed));
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 10000, count_freed));
    void *moved = jzx_msg_alloc(ctx->loop, 64, count_freed);
    JZX_EXPECT(moved != NULL);
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, self->near, ctx->self, moved, 22), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->far, ctx->self, large, sizeof large, 32), JZX_OK);
}

static void use_message(jzx_context *ctx, const jzx_message *msg, const struct doer *self) {
    if (self->takes) {
        void *data = jzx_msg_take(ctx, msg);
        JZX_EXPECT(data != NULL && memcmp(data, "hello", 5) == 0);
        JZX_EXPECT(jzx_msg_take(ctx, msg) == NULL);
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, ctx->self, ctx->self, data, 12), JZX_OK);
    } else {
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_ERR_INVALID_ARG);
        JZX_EXPECT(jzx_msg_take(ctx, msg) == NULL);
        JZX_EXPECT_EQ(jzx_unstash(ctx), 2);
        JZX_EXPECT_EQ(jzx_unstash(ctx), 0);
    }
}

static jzx_behavior_result do_everything(jzx_context *ctx, const jzx_message *msg) {
    struct doer *self = ctx->state;
    static struct other_state other;
    if (msg->tag == PUT_ASIDE) {
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    send_around(ctx, self, 0);
    if (self->stalls) {
        JZX_EXPECT_EQ(jzx_send(ctx->loop, self->waker, ctx->self, NULL, 0, WAKE), JZX_OK);
        wait_for(&self->go);
        JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
        JZX_EXPECT(jzx_turn_spent(ctx));
    }
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 10), JZX_OK);
    send_around(ctx, self, 1);
    use_memory(ctx, self);
    jzx_actor_id child = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = record_until_last,
                                                                  .state = &self->child_log,
                                                                  .name = "child", .stash_cap = 3));
    fixture_send(ctx->loop, child, 40);
    fixture_send(ctx->loop, child, LAST);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, self->victim, JZX_STOP_KILL), JZX_OK);
    use_message(ctx, msg, self);
    JZX_EXPECT_EQ(jzx_become(ctx, do_after), JZX_OK);
    other.doer = self;
    ctx->state = &other;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 11), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, LAST), JZX_OK);
    if (self->result != JZX_BEHAVIOR_OK) {
        send_around(ctx, self, 3);
        JZX_EXPECT_EQ(jzx_send(ctx->loop, self->near, ctx->self, NULL, 0, LAST), JZX_OK);
        JZX_EXPECT_EQ(jzx_send(ctx->loop, self->far, ctx->self, NULL, 0, LAST), JZX_OK);
    }
    return self->result;
}

static void note_doer_end(jzx_context *ctx, jzx_exit_reason reason) {
    struct other_state *state = ctx->state;
    state->doer->cleanups++;
    state->doer->reason = reason;
}

static void note_victim_end(jzx_context *ctx, jzx_exit_reason reason) {
    struct doer *doer = ctx->state;
    doer->victim_reason = reason;
}

static jzx_behavior_result idle(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

static void doer_run(struct doer *doer, uint32_t worker) {
    jzx_loop *loop = open_loop(2);
    uint16_t here = JZX_PLACE_WORKER(worker);
    uint16_t there = JZX_PLACE_WORKER(1 - worker);
    sem_init(&doer->go, 0, 0);
    freed = 0;
    doer->near = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record_until_last,
                                                     .state = &doer->near_log, .place = here));
    doer->far = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record_until_last,
                                                    .state = &doer->far_log, .place = there));
    doer->victim = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = idle, .state = doer,
                                                       .cleanup = note_victim_end, .place = here));
    if (doer->stalls)
        doer->waker =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = let_go, .state = doer, .place = here));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = do_everything, .state = doer,
                                                          .cleanup = note_doer_end, .place = here));
    fixture_send(loop, id, PUT_ASIDE);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, "hello", 5, GO), JZX_OK);
    fixture_send(loop, id, FIRST);
    fixture_send(loop, id, SECOND);
    run(loop);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.waiting, 0);
    JZX_EXPECT(stats.handovers >= 1 || !doer->stalls); /* a busy machine may stall others, too */
    JZX_EXPECT_EQ(doer->cleanups, 1);
    JZX_EXPECT_EQ(doer->victim_reason, JZX_EXIT_KILLED);
    JZX_EXPECT_EQ(freed, 3);
    fixture_destroy(loop);
}

static void expect_same_log(const struct recorder *log, const struct recorder *wanted) {
    assert_int_equal(log->count, wanted->count);
    for (uint32_t i = 0; i < wanted->count; i++)
        JZX_EXPECT_EQ(log->tags[i], wanted->tags[i]);
}

/* The same actors twice, with and without a stall. */
static void compare(jzx_behavior_result result, bool takes, jzx_exit_reason reason) {
    static struct doer plain;
    static struct doer stalled;
    for (uint32_t worker = 0; worker < 2; worker++) {
        plain = (struct doer){.result = result, .takes = takes};
        stalled = (struct doer){.result = result, .takes = takes, .stalls = true};
        doer_run(&plain, worker);
        doer_run(&stalled, worker);
        expect_same_log(&stalled.after, &plain.after);
        expect_same_log(&stalled.near_log, &plain.near_log);
        expect_same_log(&stalled.far_log, &plain.far_log);
        expect_same_log(&stalled.child_log, &plain.child_log);
        JZX_EXPECT_EQ(plain.reason, reason);
        JZX_EXPECT_EQ(stalled.reason, reason);
        JZX_EXPECT_EQ(plain.near_log.tags[plain.near_log.count - 1], LAST);
        if (result == JZX_BEHAVIOR_OK && !takes) {
            static const uint32_t order[] = {PUT_ASIDE, GO, FIRST, SECOND, 10, 11, LAST};
            assert_int_equal(plain.after.count, 7);
            for (uint32_t i = 0; i < 7; i++)
                JZX_EXPECT_EQ(plain.after.tags[i], order[i]);
        }
    }
}

JZX_TEST(what_a_stalled_behaviour_does_happens_as_without_a_stall, "D12") {
    compare(JZX_BEHAVIOR_OK, false, JZX_EXIT_NORMAL);
    compare(JZX_BEHAVIOR_OK, true, JZX_EXIT_NORMAL);
}

JZX_TEST(a_stalled_behaviour_that_ends_its_actor_ends_it_as_without_a_stall) {
    compare(JZX_BEHAVIOR_STOP, false, JZX_EXIT_NORMAL);
    compare(JZX_BEHAVIOR_FAIL, false, JZX_EXIT_FAIL);
    compare(JZX_BEHAVIOR_FAIL, true, JZX_EXIT_FAIL);
}

/* ---- what others do to it ---- */

struct away {
    jzx_stop_kind kind;
    bool by_fail;
    jzx_actor_id id;
    jzx_actor_id waker;
    sem_t go;
    struct recorder log;
    uint32_t cleanups;
    jzx_exit_reason reason;
    _Atomic bool in_behaviour;
};

static jzx_behavior_result be_away(jzx_context *ctx, const jzx_message *msg) {
    struct away *self = ctx->state;
    self->log.tags[self->log.count++] = msg->tag;
    if (msg->tag != GO)
        return JZX_BEHAVIOR_OK;
    self->in_behaviour = true;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->waker, ctx->self, NULL, 0, WAKE), JZX_OK);
    wait_for(&self->go);
    self->in_behaviour = false;
    return JZX_BEHAVIOR_OK;
}

static void note_away_end(jzx_context *ctx, jzx_exit_reason reason) {
    struct away *self = ctx->state;
    JZX_EXPECT(!self->in_behaviour);
    self->cleanups++;
    self->reason = reason;
}

/* On the same worker, while the other is away. */
static jzx_behavior_result end_the_other(jzx_context *ctx, const jzx_message *msg) {
    struct away *away = ctx->state;
    (void)msg;
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, away->id, &info), JZX_OK);
    JZX_EXPECT(!info.is_partial);
    JZX_EXPECT_EQ(info.activity, JZX_ACTIVITY_BLOCKED);
    JZX_EXPECT_EQ(info.worker, jzx_current_worker());
    JZX_EXPECT_EQ(info.depth, 1); /* what waited before */
    if (away->by_fail)
        JZX_EXPECT_EQ(jzx_actor_fail(ctx->loop, away->id), JZX_OK);
    else
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, away->id, away->kind), JZX_OK);
    JZX_EXPECT_EQ(away->cleanups, 0);
    jzx_err err = jzx_send(ctx->loop, away->id, ctx->self, NULL, 0, SECOND);
    JZX_EXPECT_EQ(err, !away->by_fail && away->kind == JZX_STOP_AFTER_QUEUE ? JZX_ERR_NO_SUCH_ACTOR
                                                                            : JZX_OK);
    JZX_EXPECT(away->in_behaviour);
    sem_post(&away->go);
    return JZX_BEHAVIOR_STOP;
}

static void end_while_away(struct away *away, uint32_t worker) {
    jzx_loop *loop = open_loop(2);
    sem_init(&away->go, 0, 0);
    away->waker = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = end_the_other, .state = away,
                                                      .place = JZX_PLACE_WORKER(worker)));
    away->id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_away, .state = away,
                                                   .cleanup = note_away_end,
                                                   .place = JZX_PLACE_WORKER(worker)));
    fixture_send(loop, away->id, GO);
    fixture_send(loop, away->id, FIRST);
    run(loop);
    JZX_EXPECT_EQ(away->cleanups, 1);
    fixture_destroy(loop);
}

JZX_TEST(who_is_ended_while_it_is_stalled_ends_when_it_returns, "D12") {
    static struct away away;
    for (uint32_t worker = 0; worker < 2; worker++) {
        away = (struct away){.kind = JZX_STOP_KILL};
        end_while_away(&away, worker);
        JZX_EXPECT_EQ(away.reason, JZX_EXIT_KILLED);
        JZX_EXPECT_EQ(away.log.count, 1);
        away = (struct away){.kind = JZX_STOP_AFTER_MESSAGE};
        end_while_away(&away, worker);
        JZX_EXPECT_EQ(away.reason, JZX_EXIT_NORMAL);
        JZX_EXPECT_EQ(away.log.count, 1);
        away = (struct away){.by_fail = true};
        end_while_away(&away, worker);
        JZX_EXPECT_EQ(away.reason, JZX_EXIT_FAIL);
        JZX_EXPECT_EQ(away.log.count, 1);
    }
}

JZX_TEST(who_is_to_work_off_its_queue_while_it_is_stalled_does_so_when_it_returns) {
    static struct away away;
    for (uint32_t worker = 0; worker < 2; worker++) {
        away = (struct away){.kind = JZX_STOP_AFTER_QUEUE};
        end_while_away(&away, worker);
        JZX_EXPECT_EQ(away.reason, JZX_EXIT_NORMAL);
        assert_int_equal(away.log.count, 2);
        JZX_EXPECT_EQ(away.log.tags[1], FIRST);
    }
}

/* ---- an init that stalls ---- */

struct starter {
    jzx_err result;
    jzx_actor_id waker;
    sem_t go;
    struct recorder log;
    uint32_t cleanups;
    jzx_exit_reason reason;
    uint32_t replaced;
};

static jzx_behavior_result wake_starter(jzx_context *ctx, const jzx_message *msg) {
    struct starter *starter = ctx->state;
    (void)msg;
    sem_post(&starter->go);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result record_replaced(jzx_context *ctx, const jzx_message *msg) {
    struct starter *self = ctx->state;
    self->replaced++;
    self->log.tags[self->log.count++] = msg->tag;
    return self->log.count == 2 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_err start_slowly(jzx_context *ctx) {
    struct starter *self = ctx->state;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->waker, ctx->self, NULL, 0, WAKE), JZX_OK);
    wait_for(&self->go);
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    JZX_EXPECT_EQ(jzx_become(ctx, record_replaced), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, SECOND), JZX_OK);
    return self->result;
}

static void note_starter_end(jzx_context *ctx, jzx_exit_reason reason) {
    struct starter *self = ctx->state;
    self->cleanups++;
    self->reason = reason;
}

static void start_with(struct starter *starter, uint32_t worker) {
    jzx_loop *loop = open_loop(2);
    sem_init(&starter->go, 0, 0);
    starter->waker = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = wake_starter, .state = starter,
                                                         .place = JZX_PLACE_WORKER(worker)));
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = idle, .state = starter, .init = start_slowly,
                              .cleanup = note_starter_end, .place = JZX_PLACE_WORKER(worker)));
    fixture_send(loop, id, FIRST);
    run(loop);
    JZX_EXPECT_EQ(starter->cleanups, 1);
    JZX_EXPECT(fixture_stats(loop).handovers >= 1);
    fixture_destroy(loop);
}

JZX_TEST(an_init_that_stalls_is_relieved_like_a_behaviour) {
    static struct starter starter;
    for (uint32_t worker = 0; worker < 2; worker++) {
        starter = (struct starter){.result = JZX_OK};
        start_with(&starter, worker);
        JZX_EXPECT_EQ(starter.reason, JZX_EXIT_NORMAL);
        assert_int_equal(starter.log.count, 2);
        JZX_EXPECT_EQ(starter.log.tags[0], FIRST);
        JZX_EXPECT_EQ(starter.log.tags[1], SECOND);
        starter = (struct starter){.result = JZX_ERR_NO_MEMORY};
        start_with(&starter, worker);
        JZX_EXPECT_EQ(starter.reason, JZX_EXIT_FAIL);
        JZX_EXPECT_EQ(starter.log.count, 0);
    }
}

/* ---- never too early ---- */

#define SHORT_STALL_NS 300000u
#define BURNERS 4u

static struct {
    atomic_bool is_over;
    atomic_uint stalls;
    atomic_uint ends;
    atomic_uint too_early;
} crowd;

static void judge_stall(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_STALL && event->kind != JZX_EVENT_STALL_END)
        return;
    if (event->kind == JZX_EVENT_STALL)
        crowd.stalls++;
    else
        crowd.ends++;
    if (event->elapsed_ns < SHORT_STALL_NS)
        crowd.too_early++;
}

/* The threads made from now on share two CPUs, however many there are. */
static void crowd_together(void) {
    cpu_set_t all;
    cpu_set_t two;
    CPU_ZERO(&two);
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof all, &all), 0);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++) {
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &two);
    }
    assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof two, &two), 0);
}

static void *burn(void *arg) {
    (void)arg;
    while (!crowd.is_over)
        continue;
    return NULL;
}

/* Somewhat shorter than a stall. */
static jzx_behavior_result take_a_while(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    uint64_t end = jzx_loop_now(ctx->loop) + SHORT_STALL_NS * 2 / 3;
    while (jzx_loop_now(ctx->loop) < end)
        continue;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result start_some(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *left = ctx->state;
    (void)msg;
    if (--*left == 0)
        return JZX_BEHAVIOR_STOP;
    for (uint32_t i = 0; i < 20; i++)
        fixture_send(ctx->loop, fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = take_a_while)),
                     1);
    jzx_err err = jzx_send_after(ctx->loop, ctx->self, JZX_NOBODY, NULL, 0, 1, JZX_MS(4), NULL);
    return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_FAIL;
}

/* More threads than CPUs: what the watchdog has seen may be over when it gets to act. */
JZX_TEST(no_stall_is_reported_before_its_time_on_a_crowded_machine) {
    pthread_t burners[BURNERS];
    crowd_together();
    for (uint32_t i = 0; i < BURNERS; i++)
        assert_int_equal(pthread_create(&burners[i], NULL, burn, NULL), 0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 4, .stall_after_ns = SHORT_STALL_NS,
                                                   .log = {.level = JZX_LOG_ERROR}));
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = judge_stall), NULL),
                     JZX_OK);
    uint32_t left = 60;
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = start_some, .state = &left)),
                 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    crowd.is_over = true;
    for (uint32_t i = 0; i < BURNERS; i++)
        pthread_join(burners[i], NULL);
    JZX_EXPECT_EQ(left, 0);
    JZX_EXPECT_EQ(crowd.too_early, 0);
    JZX_EXPECT_EQ(crowd.ends, crowd.stalls);
    fixture_destroy(loop);
}
