/* SPDX-License-Identifier: MIT */
/* Thousands of exits beside actors that go on, on several workers, and in turns that have lost
 * their worker. */
#include "watching.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

enum { GO = 1, DIE, WORK, WAKE };

static atomic_uint released;

static void count_released(void *data, size_t len) {
    (void)data;
    (void)len;
    atomic_fetch_add(&released, 1);
}

/* ---- a crowd ---- */

#define STEADY 50u
#define SHORT_LIVED 3000u

struct crowd {
    jzx_actor_id steady[STEADY];
    uint64_t got[STEADY];
    uint64_t sum[STEADY];
    uint32_t left; /* actors that breed has still to spawn */
    atomic_uint cleanups;
};

static struct crowd crowd;

static jzx_behavior_result add_up(jzx_context *ctx, const jzx_message *msg) {
    uint32_t self = (uint32_t)(uintptr_t)ctx->state;
    uint32_t number;
    if (msg->tag == DIE)
        return JZX_BEHAVIOR_STOP;
    memcpy(&number, msg->data, sizeof number);
    crowd.got[self]++;
    crowd.sum[self] += number;
    return JZX_BEHAVIOR_OK;
}

static void dig(jzx_context *ctx, uint32_t depth) {
    volatile char frame[100];
    frame[depth % 100] = 1;
    if (depth > 0)
        dig(ctx, depth - 1);
    JZX_CHECK(ctx, frame[depth % 100] != 1);
}

/* Sends one message to each of two steady ones, then exits in one of several ways. */
static jzx_behavior_result exit_somehow(jzx_context *ctx, const jzx_message *msg) {
    uint32_t number = (uint32_t)(uintptr_t)ctx->state;
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, crowd.steady[(number + i) % STEADY], ctx->self, &number,
                               sizeof number, WORK),
                      JZX_OK);
    if (number % 3 == 0)
        jzx_msg_free(ctx->loop, jzx_msg_take(ctx, msg));
    if (number % 2 == 0)
        dig(ctx, number % 50);
    jzx_exit(ctx, JZX_EXIT_NORMAL, "done");
}

static void count_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    uint32_t number = (uint32_t)(uintptr_t)ctx->state;
    JZX_EXPECT_EQ(reason, number % 2 == 0 ? JZX_EXIT_FAIL : JZX_EXIT_NORMAL);
    atomic_fetch_add(&crowd.cleanups, 1);
    if (number % 5 == 0)
        jzx_exit(ctx, JZX_EXIT_FAIL, "in cleanup");
}

static jzx_behavior_result breed(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    for (uint32_t i = 0; i < 100 && crowd.left > 0; i++) {
        uint32_t number = --crowd.left;
        jzx_actor_id id = fixture_spawn(
            ctx->loop, &JZX_SPAWN_OPTS(.behavior = exit_somehow, .cleanup = count_cleanup,
                                       .state = (void *)(uintptr_t)number));
        void *data = jzx_msg_alloc(ctx->loop, 64, count_released);
        JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, id, ctx->self, data, GO), JZX_OK);
    }
    if (atomic_load(&crowd.cleanups) < SHORT_LIVED) {
        fixture_send(ctx->loop, ctx->self, GO);
        return JZX_BEHAVIOR_OK;
    }
    for (uint32_t i = 0; i < STEADY; i++)
        fixture_send(ctx->loop, crowd.steady[i], DIE);
    jzx_exit(ctx, JZX_EXIT_SHUTDOWN, NULL);
}

static void run_crowd(uint32_t workers) {
    memset(&crowd, 0, sizeof crowd);
    crowd.left = SHORT_LIVED;
    atomic_store(&released, 0);
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = workers, .balance = JZX_BALANCE_EAGER));
    for (uintptr_t i = 0; i < STEADY; i++)
        crowd.steady[i] =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = add_up, .state = (void *)i,
                                                .mailbox_cap = 4 * SHORT_LIVED));
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = breed)), GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < STEADY; i++) {
        uint64_t sum = 0;
        for (uint32_t number = 0; number < SHORT_LIVED; number++)
            sum += (number % STEADY == i ? number : 0) + ((number + 1) % STEADY == i ? number : 0);
        JZX_EXPECT_EQ(crowd.got[i], 2 * SHORT_LIVED / STEADY);
        JZX_EXPECT_EQ(crowd.sum[i], sum);
    }
    JZX_EXPECT_EQ(atomic_load(&released), SHORT_LIVED);
    JZX_EXPECT_EQ(fixture_stats(loop).exited, SHORT_LIVED + STEADY + 1);
    JZX_EXPECT_EQ(fixture_stats(loop).failed, SHORT_LIVED / 2);
    JZX_EXPECT_EQ(fixture_stats(loop).dead, 0);
    fixture_destroy(loop);
}

JZX_TEST(thousands_of_exits_and_no_other_actor_misses_a_message, "E10", "C20", "E+sem") {
    run_crowd(1);
}

JZX_TEST(thousands_of_exits_on_several_workers, "E10", "C20", "E+sem") {
    for (uint32_t workers = 2; workers <= 4; workers++)
        run_crowd(workers);
}

/* ---- turns that have lost their worker ---- */

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

enum way { IN_BEHAVIOUR, BY_CHECK, AFTER_TAKE, AFTER_STASH, IN_INIT, WAYS };

struct stalled {
    struct diary diary; /* must come first: its hooks are those of a diary */
    enum way way;
    sem_t go;
    jzx_actor_id waker;
    uint32_t wakes; /* that the waker waits for: from who stalls, and from who watches it */
    void *taken;
    uint32_t passed;
};

static jzx_behavior_result wake(jzx_context *ctx, const jzx_message *msg) {
    struct stalled *stalled = ctx->state;
    (void)msg;
    if (--stalled->wakes != 0)
        return JZX_BEHAVIOR_OK;
    sem_post(&stalled->go);
    return JZX_BEHAVIOR_STOP;
}

/* Waits for what only another actor of its worker can do. */
static void lose_worker(jzx_context *ctx, struct stalled *self) {
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->waker, ctx->self, NULL, 0, WAKE), JZX_OK);
    wait_for(&self->go);
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
}

static jzx_behavior_result stall_and_exit(jzx_context *ctx, const jzx_message *msg) {
    struct stalled *self = ctx->state;
    if (self->way == IN_INIT || msg->tag != GO) {
        self->passed++;
        return JZX_BEHAVIOR_OK;
    }
    lose_worker(ctx, self);
    if (self->way == BY_CHECK)
        JZX_CHECK(ctx, self->way != BY_CHECK);
    if (self->way == AFTER_TAKE)
        self->taken = jzx_msg_take(ctx, msg);
    if (self->way == AFTER_STASH)
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    jzx_exit(ctx, JZX_EXIT_FAIL, "without a worker");
}

static jzx_err stall_in_init(jzx_context *ctx) {
    struct stalled *self = ctx->state;
    if (self->way != IN_INIT)
        return JZX_OK;
    lose_worker(ctx, self);
    jzx_exit(ctx, JZX_EXIT_FAIL, "without a worker");
}

/* Watches the one that stalls, and ends when it hears of it. */
static jzx_behavior_result stop_when_told(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    return msg->tag == JZX_TAG_DOWN ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

struct start {
    struct call call;
    jzx_actor_id waker;
};

static jzx_behavior_result monitor_and_start(jzx_context *ctx, void *arg) {
    struct start *start = arg;
    struct call *call = &start->call;
    call->err = jzx_monitor(ctx, call->target, &call->ref);
    void *data = jzx_msg_alloc(ctx->loop, 64, count_released);
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, call->target, ctx->self, data, GO), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, call->target, ctx->self, NULL, 0, WORK), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, start->waker, ctx->self, NULL, 0, WAKE), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void exit_without_worker(enum way way, uint32_t worker, uint32_t watcher_at) {
    static struct stalled stalled;
    struct diary watcher = {.then = stop_when_told};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(1)));
    stalled = (struct stalled){.way = way, .wakes = 2};
    sem_init(&stalled.go, 0, 0);
    atomic_store(&released, 0);
    stalled.waker = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = wake, .state = &stalled,
                                                        .place = JZX_PLACE_WORKER(worker)));
    struct start start = {.call.err = 1, .waker = stalled.waker};
    start.call.target = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = stall_and_exit, .state = &stalled, .init = stall_in_init,
                              .cleanup = end_diary, .place = JZX_PLACE_WORKER(worker)));
    jzx_actor_id watcher_id =
        fixture_spawn(loop, &DIARY_OPTS(&watcher, .place = JZX_PLACE_WORKER(watcher_at)));
    order(loop, watcher_id, monitor_and_start, &start);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(start.call.err, JZX_OK);
    JZX_EXPECT_EQ(stalled.passed, 0);
    JZX_EXPECT_EQ(stalled.diary.cleanups, 1);
    JZX_EXPECT_EQ(stalled.diary.reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(watcher.count, 1);
    expect_notice(&watcher, 0, JZX_TAG_DOWN, start.call.target, JZX_EXIT_FAIL);
    const char *text = watcher.entries[0].notice.text;
    JZX_EXPECT(strstr(text, way == BY_CHECK ? "self->way" : "without a worker") != NULL);
    JZX_EXPECT_EQ(fixture_stats(loop).dead, way == AFTER_STASH || way == IN_INIT ? 2 : 1);
    if (way == AFTER_TAKE)
        jzx_msg_free(loop, stalled.taken);
    JZX_EXPECT_EQ(atomic_load(&released), 1);
    JZX_EXPECT(fixture_stats(loop).handovers >= 1);
    fixture_destroy(loop);
}

JZX_TEST(an_exit_in_a_turn_without_a_worker_is_like_any_other, "E10", "C20", "D12", "E+sem") {
    for (int way = 0; way < WAYS; way++)
        for (uint32_t places = 0; places < 4; places++)
            exit_without_worker((enum way)way, places % 2, places / 2);
}

/* ---- many at once, each with a worker to lose ---- */

#define ROUNDS 20u

static void last_of(jzx_context *ctx) {
    struct stalled *self = ctx->state;
    self->passed += 1000;
    jzx_exit(ctx, JZX_EXIT_NORMAL, "cleanup");
}

JZX_TEST(threads_that_exits_have_left_serve_others, "E10", "C20", "D12") {
    static struct stalled stalled[ROUNDS];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 3, .stall_after_ns = JZX_MS(1),
                                                   .spare_threads_max = ROUNDS)); /* all may wait */
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint16_t place = JZX_PLACE_WORKER(i % 3);
        stalled[i] = (struct stalled){.way = i % 4, .wakes = 1, .diary = {.last = last_of}};
        if (stalled[i].way == AFTER_TAKE)
            stalled[i].way = IN_BEHAVIOUR;
        sem_init(&stalled[i].go, 0, 0);
        stalled[i].waker = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = wake, .state = &stalled[i], .place = place));
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stall_and_exit, .state = &stalled[i],
                                                .cleanup = end_diary, .place = place));
        fixture_send(loop, id, GO);
    }
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        JZX_EXPECT_EQ(stalled[i].diary.cleanups, 1);
        JZX_EXPECT_EQ(stalled[i].diary.reason, JZX_EXIT_FAIL);
        JZX_EXPECT_EQ(stalled[i].passed, 1000);
    }
    fixture_destroy(loop);
}
