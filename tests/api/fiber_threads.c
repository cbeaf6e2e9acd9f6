/* SPDX-License-Identifier: MIT */
/* Fibers on several workers: they stay on their worker, or move if they may; and one that is bound
 * to its thread stays there, and waits while that thread is blocked. The tests of workers
 * that go on without their thread are in fiber_relief.c. */
#include "fibering.h"

#include <jzx/ask.h>
#include <jzx/async.h>
#include <jzx/context.h>
#include <jzx/scope.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { WORKERS = 3 };

static void run(jzx_loop *loop) {
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
}

static jzx_loop *open_loop(void) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = WORKERS));
    assert_non_null(loop);
    return loop;
}

static _Atomic uint32_t finished;

/* ---- a ring ---- */

enum { RING = 24, TOKEN = 1 };

struct member {
    jzx_actor_id next;
    uint32_t received;
    uint32_t to_receive;
    bool asks; /* by calls, and by messages otherwise */
};

static struct member members[RING];

static void pass_tokens(jzx_context *ctx) {
    struct member *self = ctx->state;
    jzx_message msg;
    jzx_message answer;
    while (self->received < self->to_receive) {
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, TOKEN, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(number_of(&msg), self->received);
        uint64_t number = self->received++;
        if (self->asks && self->next != JZX_NOBODY) {
            JZX_EXPECT_EQ(
                jzx_call(ctx, self->next, &number, sizeof number, TOKEN, JZX_NEVER, &answer),
                JZX_OK);
            JZX_EXPECT_EQ(number_of(&answer), number);
        } else if (self->next != JZX_NOBODY) {
            send_number(ctx->loop, self->next, ctx->self, number, TOKEN);
        }
        if (self->asks)
            JZX_EXPECT_EQ(jzx_reply(ctx, &msg, &number, sizeof number, TOKEN), JZX_OK);
    }
    atomic_fetch_add(&finished, 1);
}

static void begin_tokens(jzx_context *ctx) {
    const struct member *self = ctx->state;
    jzx_message answer;
    for (uint64_t i = 0; i < self->to_receive; i++) {
        if (self->asks)
            JZX_EXPECT_EQ(jzx_call(ctx, self->next, &i, sizeof i, TOKEN, JZX_NEVER, &answer),
                          JZX_OK);
        else
            send_number(ctx->loop, self->next, ctx->self, i, TOKEN);
    }
    atomic_fetch_add(&finished, 1);
}

/* Neighbours are on different workers, or wherever they like. */
static void ring(bool asks, bool placed, bool migratable) {
    jzx_loop *loop = open_loop();
    jzx_actor_id next = JZX_NOBODY;
    uint32_t rounds = (uint32_t)jzx_test_rounds(500, 5000);
    finished = 0;
    for (uint32_t i = 0; i < RING; i++) {
        members[i] = (struct member){.next = next, .to_receive = rounds, .asks = asks};
        next = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.fiber = i == RING - 1 ? begin_tokens : pass_tokens,
                                  .state = &members[i],
                                  .place = placed ? JZX_PLACE_WORKER(i % WORKERS) : JZX_PLACE_ANY,
                                  .mailbox_cap = 10000, .migratable = migratable));
    }
    run(loop);
    assert_int_equal(finished, RING);
    if (!asks) /* else the end of one that has answered may come when its caller has gone on */
        assert_int_equal(fixture_stats(loop).dead, 0);
    fixture_destroy(loop);
}

JZX_TEST(fibers_send_to_each_other_across_workers, "E14") {
    ring(false, true, false);
    ring(false, false, false);
    ring(false, false, true);
}

JZX_TEST(fibers_ask_each_other_across_workers) {
    ring(true, true, false);
    ring(true, false, false);
    ring(true, false, true);
}

/* ---- a message that is dropped without the worker ---- */

static jzx_actor_id slow_one;
static sem_t slow_was_reported;

static void tell_slow_one(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_STALL && event->actor == slow_one)
        sem_post(&slow_was_reported);
}

/* Handles a message until it has lost its worker; its idle time begins after that. */
static void be_slow_with_one(jzx_context *ctx) {
    struct life *life = ctx->state;
    const uint64_t idle_ns = JZX_MS(40);
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, idle_ns), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, TOKEN, JZX_NEVER, &msg), JZX_OK);
    while (sem_wait(&slow_was_reported) != 0)
        continue;
    uint64_t called_ns = jzx_loop_now(ctx->loop);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, JZX_TAG_RECEIVE_TIMEOUT);
    JZX_EXPECT(jzx_loop_now(ctx->loop) >= called_ns + idle_ns);
    life->finished++;
}

JZX_TEST(idle_time_begins_when_a_message_is_done_also_without_a_worker) {
    struct life life = {0};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(10)));
    assert_non_null(loop);
    sem_init(&slow_was_reported, 0, 0);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = tell_slow_one), NULL),
                     JZX_OK);
    slow_one = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = be_slow_with_one, .state = &life,
                                                   .place = JZX_PLACE_WORKER(1)));
    fixture_send(loop, slow_one, TOKEN);
    run(loop);
    assert_int_equal(life.finished, 1);
    fixture_destroy(loop);
}

/* ---- threads ---- */

static __thread int own_of_thread;

/* The compiler must not remember an address over a wait. */
static __attribute__((noinline)) int *address_of_own(void) {
    return &own_of_thread;
}

static __attribute__((noinline)) int *address_of_errno(void) {
    return &errno;
}

static void expect_same_thread(pthread_t thread, const int *own, const int *number) {
    JZX_EXPECT(pthread_equal(thread, pthread_self()));
    JZX_EXPECT_EQ(address_of_own(), own);
    JZX_EXPECT_EQ(address_of_errno(), number);
}

static void wait_on_one_thread(jzx_context *ctx) {
    struct life *life = ctx->state;
    pthread_t thread = pthread_self();
    int *own = address_of_own();
    int *number = address_of_errno();
    uint32_t worker = jzx_current_worker();
    jzx_message msg;
    for (uint32_t i = 0; i < 30; i++) {
        send_number(ctx->loop, life->other, ctx->self, i, 1);
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        expect_same_thread(thread, own, number);
        *address_of_errno() = (int)i + 1;
        JZX_EXPECT_EQ(errno, (int)i + 1);
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
        expect_same_thread(thread, own, number);
        JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_US(100))), JZX_OK);
        expect_same_thread(thread, own, number);
        JZX_EXPECT_EQ(jzx_current_worker(), worker);
        JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
        JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_FIBER);
    }
    atomic_fetch_add(&finished, 1);
}

/* Sends what comes back, from another worker than its partner's, most of the time. */
static void send_back(jzx_context *ctx) {
    jzx_message msg;
    for (uint32_t i = 0; i < 30; i++) {
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        send_number(ctx->loop, msg.sender, ctx->self, i, 1);
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    }
    atomic_fetch_add(&finished, 1);
}

JZX_TEST(a_fiber_that_is_bound_to_its_thread_stays_there) {
    enum { PAIRS = 40 };
    static struct life lives[PAIRS];
    jzx_loop *loop = open_loop();
    finished = 0;
    for (uint32_t i = 0; i < PAIRS; i++) {
        lives[i] = (struct life){
            .other = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = send_back, .migratable = true))};
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = wait_on_one_thread, .state = &lives[i],
                                            .thread_bound = true));
    }
    run(loop);
    assert_int_equal(finished, 2 * PAIRS);
    fixture_destroy(loop);
}

/* A crowd that was spawned by one worker, which others help out: those who may move do. */
static _Atomic uint32_t moved;

static void work_and_move(jzx_context *ctx) {
    struct life *life = ctx->state;
    uint32_t last = jzx_current_worker();
    jzx_message msg;
    for (uint64_t i = 0; i < 20; i++) {
        send_number(ctx->loop, ctx->self, ctx->self, i, 2);
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, 2, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(number_of(&msg), i);
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, 3, jzx_in(ctx, i % 5 ? 0 : JZX_US(50)), &msg),
                      JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(ctx->state, life);
        JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
        if (jzx_current_worker() != last)
            atomic_fetch_add(&moved, 1);
        last = jzx_current_worker();
    }
    atomic_fetch_add(&finished, 1);
}

static void spawn_movers(jzx_context *ctx) {
    for (int i = 0; i < 300; i++)
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = work_and_move, .migratable = true));
}

JZX_TEST(migratable_fibers_move_and_nothing_is_lost) {
    for (uint64_t round = 0; round < jzx_test_rounds(20, 200); round++) {
        jzx_loop *loop =
            fixture_loop_with(&JZX_CONFIG(.workers = WORKERS, .balance = JZX_BALANCE_EAGER));
        assert_non_null(loop);
        finished = 0;
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = spawn_movers));
        run(loop);
        assert_int_equal(finished, 300);
        assert_int_equal(fixture_stats(loop).dead, 0);
        fixture_destroy(loop);
    }
}

/* ---- a fiber that blocks its thread ---- */

enum after { RECEIVE, TIMED_RECEIVE, SLEEP, YIELD, CALL, JOIN, RETURN, LEAVE, STASH, AFTERS };

struct blocker {
    sem_t go;
    jzx_actor_id waker; /* a behaviour of the same worker: it runs only if the worker goes on */
    enum after after;   /* what it does when it returns */
    bool is_bound;      /* to its thread, as its neighbours */
    uint32_t rounds;
    uint32_t cleaned;
    uint32_t done;
};

enum { GO = 1, WAKE = 2, LAST = 3, ASK = 4 };

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

static jzx_behavior_result wake(jzx_context *ctx, const jzx_message *msg) {
    struct blocker *blocker = ctx->state;
    if (msg->tag == WAKE)
        sem_post(&blocker->go);
    if (msg->tag == ASK)
        JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, ASK), JZX_OK);
    return msg->tag == LAST ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void return_at_once(jzx_context *ctx) {
    (void)ctx;
}

/* The first wait after the worker was lost. */
static void go_on(jzx_context *ctx, struct blocker *self, const jzx_message *in_hand) {
    jzx_actor_id id;
    jzx_message msg;
    uint64_t number = in_hand == NULL ? 0 : number_of(in_hand);
    switch (self->after) {
    case TIMED_RECEIVE:
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, 99, jzx_in(ctx, JZX_MS(1)), &msg), JZX_ERR_TIMEOUT);
        return;
    case SLEEP: JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(1))), JZX_OK); break;
    case YIELD: JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK); break;
    case CALL:
        JZX_EXPECT_EQ(jzx_call(ctx, self->waker, NULL, 0, ASK, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(msg.tag, ASK);
        break;
    case JOIN:
        id = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = return_at_once));
        JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
        break;
    case STASH:
        JZX_EXPECT_EQ(jzx_stash(ctx, in_hand), JZX_OK);
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
        return;
    default: return;
    }
    JZX_EXPECT_EQ(number_of(in_hand), number); /* these leave it in hand */
}

static void block_thread(jzx_context *ctx) {
    struct blocker *self = ctx->state;
    pthread_t thread = pthread_self();
    jzx_message msg;
    while (self->done < self->rounds) {
        if (!JZX_EXPECT_EQ(jzx_receive_tag(ctx, GO, JZX_NEVER, &msg), JZX_OK))
            return;
        JZX_EXPECT(!self->is_bound || pthread_equal(thread, pthread_self()));
        JZX_EXPECT_EQ(jzx_send(ctx->loop, self->waker, ctx->self, NULL, 0, WAKE), JZX_OK);
        wait_for(&self->go);
        JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
        JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_FIBER);
        JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
        self->done++;
        if (self->done < self->rounds)
            send_number(ctx->loop, ctx->self, ctx->self, self->done, GO);
        else
            fixture_send(ctx->loop, self->waker, LAST);
        if (self->done == self->rounds && self->after == CALL)
            break; /* who would answer has been told to stop */
        go_on(ctx, self, &msg);
        JZX_EXPECT(!self->is_bound || pthread_equal(thread, pthread_self()));
        if (self->after == STASH)
            expect_next(ctx, GO); /* what was put aside, first */
    }
    if (self->after == LEAVE)
        jzx_exit(ctx, JZX_EXIT_FAIL, "after a stall");
}

static void count_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct blocker *self = ctx->state;
    JZX_EXPECT_EQ(reason, self->after == LEAVE ? JZX_EXIT_FAIL : JZX_EXIT_NORMAL);
    self->cleaned++;
}

/* Others of that worker: each has begun, and gets messages while the thread is blocked. */
struct neighbour {
    jzx_actor_id peer; /* a behaviour of the same worker that writes to it */
    bool is_bound;
    uint32_t heard;
};

static void hear_all(jzx_context *ctx) {
    struct neighbour *self = ctx->state;
    pthread_t thread = pthread_self();
    jzx_message msg;
    for (uint64_t i = 0; i < 20; i++) {
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(number_of(&msg), i);
        JZX_EXPECT(!self->is_bound || pthread_equal(thread, pthread_self()));
        self->heard++;
        send_number(ctx->loop, self->peer, ctx->self, i + 1, 1);
    }
    atomic_fetch_add(&finished, 1);
}

static jzx_behavior_result write_back(jzx_context *ctx, const jzx_message *msg) {
    uint64_t number = number_of(msg);
    if (number == 20)
        return JZX_BEHAVIOR_STOP;
    send_number(ctx->loop, msg->sender, ctx->self, number, 1);
    return JZX_BEHAVIOR_OK;
}

static void block(uint32_t worker, enum after after, uint32_t rounds, bool is_bound) {
    enum { NEIGHBOURS = 8 };
    static struct neighbour neighbours[NEIGHBOURS];
    struct blocker blocker = {.rounds = rounds, .after = after, .is_bound = is_bound};
    uint16_t place = JZX_PLACE_WORKER(worker);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(2)));
    assert_non_null(loop);
    sem_init(&blocker.go, 0, 0);
    finished = 0;
    blocker.waker =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = wake, .state = &blocker, .place = place));
    for (uint32_t i = 0; i < NEIGHBOURS; i++) {
        neighbours[i] = (struct neighbour){
            .peer = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = write_back, .place = place)),
            .is_bound = is_bound};
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = hear_all, .state = &neighbours[i],
                                                .place = place, .thread_bound = is_bound));
        send_number(loop, id, JZX_NOBODY, 0, 1);
    }
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = block_thread, .state = &blocker,
                                                          .cleanup = count_cleanup, .place = place,
                                                          .thread_bound = is_bound));
    send_number(loop, id, JZX_NOBODY, 0, GO);
    run(loop);
    assert_int_equal(blocker.done, rounds);
    assert_int_equal(blocker.cleaned, 1);
    assert_int_equal(finished, NEIGHBOURS);
    for (uint32_t i = 0; i < NEIGHBOURS; i++)
        assert_int_equal(neighbours[i].heard, 20);
    fixture_destroy(loop);
    sem_destroy(&blocker.go);
}

JZX_TEST(a_fiber_that_blocks_its_thread_loses_no_other) {
    for (uint32_t worker = 0; worker < 2; worker++) {
        block(worker, RECEIVE, 5, true);
        block(worker, RECEIVE, 5, false);
    }
}

JZX_TEST(a_fiber_that_lost_its_worker_waits_as_any) {
    for (enum after after = 0; after < AFTERS; after++) {
        uint32_t rounds = after == RETURN || after == LEAVE || after == STASH ? 1 : 3;
        for (uint32_t worker = 0; worker < 2; worker++) {
            block(worker, after, rounds, true);
            block(worker, after, rounds, false);
        }
    }
}

/* ---- bound ones that have not begun on a worker whose thread is blocked ---- */

static _Thread_local bool is_at_home; /* this thread is the own one of a worker */

static void note_home(void *ctx, uint32_t worker) {
    (void)ctx;
    is_at_home = worker != JZX_NONE;
}

static __attribute__((noinline)) bool runs_at_home(void) {
    return is_at_home;
}

/* Blocks the thread of its worker until a fiber has run that is spawned after the worker was lost,
 * or, if that has to wait for the thread, until it was spawned. */
struct lender {
    sem_t go;
    jzx_actor_id spawner; /* a behaviour of the worker */
    uint16_t place;       /* of the fiber that it spawns */
    uint32_t worker;
    bool is_back; /* the blocked call has returned */
    bool has_run;
};

/* A machine that holds this thread up may have cost it its worker. */
static bool is_on(uint32_t worker) {
    return jzx_current_worker() == worker || jzx_current_worker() == JZX_NONE;
}

static void run_late(jzx_context *ctx) {
    struct lender *lender = ctx->state;
    lender->has_run = true;
    JZX_EXPECT(runs_at_home());
    if (lender->place != JZX_PLACE_ANY) {
        JZX_EXPECT(is_on(lender->worker));
        return;
    }
    JZX_EXPECT(jzx_current_worker() != lender->worker);
    for (uint32_t i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
        JZX_EXPECT(runs_at_home());
    }
    sem_post(&lender->go);
}

static jzx_behavior_result spawn_late(jzx_context *ctx, const jzx_message *msg) {
    struct lender *lender = ctx->state;
    (void)msg;
    JZX_EXPECT(is_on(lender->worker));
    JZX_EXPECT(!runs_at_home());
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = run_late, .state = lender,
                                                 .place = lender->place, .thread_bound = true));
    fixture_send(ctx->loop, id, 1); /* it moves with what was sent to it */
    if (lender->place != JZX_PLACE_ANY)
        sem_post(&lender->go);
    return JZX_BEHAVIOR_STOP;
}

static void block_until_run(jzx_context *ctx) {
    struct lender *lender = ctx->state;
    fixture_send(ctx->loop, lender->spawner, 1);
    wait_for(&lender->go);
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    lender->is_back = true;
}

/* Nobody steals: what does not go on by itself waits. */
static void lend(uint32_t worker, uint16_t place) {
    struct lender lender = {.worker = worker, .place = place};
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(2),
                                      .balance = JZX_BALANCE_NONE, .on_thread_start = note_home));
    assert_non_null(loop);
    is_at_home = true;
    sem_init(&lender.go, 0, 0);
    lender.spawner = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spawn_late, .state = &lender,
                                                         .place = JZX_PLACE_WORKER(worker)));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = block_until_run, .state = &lender,
                                        .place = JZX_PLACE_WORKER(worker)));
    run(loop);
    assert_true(lender.is_back);
    assert_true(lender.has_run);
    assert_true(fixture_stats(loop).handovers >= 1);
    fixture_destroy(loop);
    sem_destroy(&lender.go);
}

/* The thread is blocked until the fiber has run: it would wait for ever if that waited for it. */
JZX_TEST(bound_fibers_that_have_not_begun_begin_on_another_worker_when_theirs_is_blocked) {
    for (uint32_t worker = 0; worker < 2; worker++)
        lend(worker, JZX_PLACE_ANY);
}

JZX_TEST(bound_fibers_with_a_place_begin_there_when_their_thread_is_back) {
    for (uint32_t worker = 0; worker < 2; worker++)
        lend(worker, JZX_PLACE_WORKER(worker));
}

/* ---- loops that end meanwhile ---- */

static void wait_for_ever(jzx_context *ctx) {
    jzx_message msg;
    atomic_fetch_add(&finished, 1);
    switch (ctx->self % 3) {
    case 0: jzx_receive(ctx, JZX_NEVER, &msg); break;
    case 1: jzx_sleep(ctx, JZX_NEVER); break;
    default: jzx_receive_tag(ctx, 4, jzx_in(ctx, JZX_SECOND(1000)), &msg); break;
    }
    JZX_EXPECT(false && "it goes on");
}

static _Atomic uint32_t cleaned;

static void count_shutdown(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    JZX_EXPECT_EQ(reason, JZX_EXIT_SHUTDOWN);
    atomic_fetch_add(&cleaned, 1);
}

static void stop_when_all_wait(jzx_context *ctx) {
    while (finished < 200)
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
}

JZX_TEST(a_loop_stops_while_fibers_wait_on_all_workers) {
    for (uint64_t round = 0; round < jzx_test_rounds(20, 200); round++) {
        jzx_loop *loop = open_loop();
        finished = 0;
        cleaned = 0;
        for (uint32_t i = 0; i < 200; i++)
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = wait_for_ever, .cleanup = count_shutdown,
                                                .place = i % 4 ? JZX_PLACE_WORKER(i % WORKERS)
                                                               : JZX_PLACE_ANY,
                                                .migratable = i % 5 == 0));
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = stop_when_all_wait));
        jzx_loop_run(loop);
        fixture_destroy(loop);
        assert_int_equal(cleaned, 200);
    }
}

/* ---- the bound ---- */

enum { BOUND = 8, OTHER = 1, WANTED = 2 };

static void wait_for_wanted(jzx_context *ctx) {
    jzx_message msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, WANTED, JZX_NEVER, &msg), JZX_OK);
}

struct flood {
    jzx_loop *loop;
    jzx_actor_id to;
    uint32_t accepted;
};

static void *flood_until_refused(void *arg) {
    struct flood *flood = arg;
    while (flood->accepted < 10 * BOUND &&
           jzx_send_async(flood->loop, flood->to, NULL, 0, OTHER) == JZX_OK)
        flood->accepted++;
    return NULL;
}

static void flood_once(struct flood *flood) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, flood_until_refused, flood), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* A fiber takes its mail in while it skips: what it has skipped is not to make room for more. */
JZX_TEST(what_is_passed_over_counts_for_the_bound_of_other_threads, "C11") {
    struct timing timing = timing_open();
    struct flood flood = {.loop = timing.loop};
    flood.to =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = wait_for_wanted, .mailbox_cap = BOUND));
    timing_step(&timing);
    for (uint32_t i = 0; i < 5; i++) {
        flood_once(&flood);
        timing_step(&timing);
    }
    assert_int_equal(flood.accepted, BOUND);
    assert_int_equal(info_of(timing.loop, flood.to).mailbox_cap, BOUND);
    assert_int_equal(jzx_actor_stop(timing.loop, flood.to, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    assert_int_equal(jzx_test_runs(), 1);
    timing_close(&timing);
}

/* ---- places ---- */

static void sleep_in_place(jzx_context *ctx) {
    for (uint32_t i = 0; i < 10; i++) {
        jzx_test_ran();
        JZX_EXPECT_EQ(jzx_current_worker(), 1);
        JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_US(10))), JZX_OK);
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    }
}

/* A deadline keeps a fiber that may move on its worker; after it the place of its spawn holds. */
JZX_TEST(a_migratable_fiber_that_is_bound_to_a_worker_stays_there_after_a_deadline) {
    jzx_loop *loop = open_loop();
    for (uint32_t i = 0; i < 8; i++)
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = sleep_in_place, .migratable = true,
                                            .place = JZX_PLACE_WORKER(1)));
    run(loop);
    assert_int_equal(jzx_test_runs(), 80);
    fixture_destroy(loop);
}

/* ---- requests and events for fibers that drain ---- */

struct drainer {
    jzx_loop *loop;
    jzx_actor_id id;
    struct life life;
    jzx_promise *promise;
    jzx_scope *scope;
    jzx_scope_result result;
    sem_t opened;
};

/* Its mailbox refuses what is sent: it drains, and soon waits again. */
static void wait_until_it_drains(const struct drainer *drainer) {
    while (jzx_send(drainer->loop, drainer->id, JZX_NOBODY, NULL, 0, 1) == JZX_OK)
        sched_yield();
}

static void sleep_for_ever(jzx_context *ctx) {
    struct life *life = ctx->state;
    life->begun++;
    jzx_test_ran();
    (void)jzx_sleep(ctx, JZX_NEVER);
    life->finished++;
}

static void *drain_and_kill(void *arg) {
    struct drainer *drainer = arg;
    JZX_EXPECT_EQ(jzx_actor_stop(drainer->loop, drainer->id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    wait_until_it_drains(drainer);
    while (jzx_test_runs() == 0)
        sched_yield();
    JZX_EXPECT_EQ(jzx_actor_stop(drainer->loop, drainer->id, JZX_STOP_KILL), JZX_OK);
    return NULL;
}

JZX_TEST(a_fiber_that_sleeps_while_it_drains_can_be_killed_by_another_thread) {
    struct drainer drainer = {.loop = fixture_loop()};
    pthread_t thread;
    drainer.id = spawn_fiber(drainer.loop, sleep_for_ever, &drainer.life);
    assert_int_equal(pthread_create(&thread, NULL, drain_and_kill, &drainer), 0);
    assert_int_equal(jzx_loop_run(drainer.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_ended(&drainer.life, JZX_EXIT_KILLED);
    assert_int_equal(drainer.life.begun, 1);
    assert_int_equal(drainer.life.finished, 0);
    fixture_destroy(drainer.loop);
}

/* A member that ends when the promise is kept, whatever is asked of it. */
struct stubborn {
    jzx_future *future;
    jzx_await_op op;
    jzx_err err;
};

JZX_ASYNC(stubborn, struct stubborn, int) {
    do {
        JZX_TRY(self->err, jzx_op_await(&self->op, self->future, JZX_NEVER), NULL);
        if (self->err == JZX_ERR_CANCELLED)
            JZX_YIELD();
    } while (self->err == JZX_ERR_CANCELLED);
    JZX_RETURN(1);
}
JZX_END

static void close_while_it_drains(jzx_context *ctx) {
    struct drainer *drainer = (void *)((char *)ctx->state - offsetof(struct drainer, life));
    jzx_future *future;
    JZX_EXPECT_EQ(jzx_promise_create(ctx->loop, 0, &drainer->promise, &future), JZX_OK);
    const struct stubborn state = {.future = future};
    JZX_EXPECT_EQ(jzx_scope_open(ctx, JZX_NEVER, &drainer->scope), JZX_OK);
    JZX_EXPECT_EQ(jzx_scope_async(drainer->scope, &stubborn_type, &state, NULL), JZX_OK);
    sem_post(&drainer->opened);
    drainer->life.err = jzx_scope_close(ctx, drainer->scope, &drainer->result);
    drainer->life.finished++;
    jzx_future_release(future);
}

static void *drain_and_keep(void *arg) {
    struct drainer *drainer = arg;
    while (sem_wait(&drainer->opened) != 0)
        continue;
    JZX_EXPECT_EQ(jzx_actor_stop(drainer->loop, drainer->id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    wait_until_it_drains(drainer);
    JZX_EXPECT_EQ(jzx_promise_resolve(drainer->promise, NULL), JZX_OK);
    return NULL;
}

JZX_TEST(a_fiber_that_drains_is_woken_by_other_workers) {
    for (uint32_t round = 0; round < 20; round++) {
        jzx_config config = {.size = sizeof config, .workers = 2};
        struct drainer drainer = {.result = {.size = sizeof drainer.result}};
        pthread_t thread;
        drainer.loop = fixture_loop_with(&config);
        assert_int_equal(sem_init(&drainer.opened, 0, 0), 0);
        drainer.id = spawn_fiber(drainer.loop, close_while_it_drains, &drainer.life);
        assert_int_equal(pthread_create(&thread, NULL, drain_and_keep, &drainer), 0);
        assert_int_equal(jzx_loop_run(drainer.loop), JZX_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(drainer.life.finished, 1);
        /* The promise may be kept before the fiber's worker sees that it drains. */
        JZX_EXPECT(drainer.life.err == JZX_ERR_CANCELLED || drainer.life.err == JZX_OK);
        assert_int_equal(drainer.result.ended, 1);
        fixture_destroy(drainer.loop);
    }
}
