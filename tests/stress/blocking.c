/* SPDX-License-Identifier: MIT */
/* Jobs of actors on several workers, against cancels of their own and of a foreign thread, kills,
 * and pools that are too small: each accepted job completes once or is dropped with its actor. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { GO = 1, DONE };

#define CUSTOMERS 8u
#define AT_ONCE 16u

/* What a job gets as its copy. */
struct work {
    uint64_t number;
    uint32_t spin;
    uint32_t runs;
};

static jzx_err do_work(void *arg) {
    struct work *work = arg;
    for (uint32_t i = 0; i < work->spin; i++)
        sched_yield();
    work->runs++;
    return JZX_OK;
}

struct customer {
    uint64_t to_do;
    uint64_t begun;
    uint64_t ended;
    uint64_t refused;
    uint64_t cancelled;
    uint64_t random;
    jzx_blocking_pool *pool;
    struct {
        jzx_op op; /* JZX_NO_OP: free */
        uint64_t number;
    } open[AT_ONCE];
};

/* What a thread beside the loop cancels. */
static _Atomic jzx_op board[CUSTOMERS];
static atomic_bool is_over;

static uint32_t draw(struct customer *self, uint32_t below) {
    self->random = self->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(self->random >> 33) % below;
}

static void begin_some(jzx_context *ctx, struct customer *self) {
    for (uint32_t i = 0; i < AT_ONCE && self->begun < self->to_do; i++) {
        if (self->open[i].op != JZX_NO_OP)
            continue;
        struct work work = {.number = self->begun, .spin = draw(self, 3)};
        jzx_err err = jzx_blocking_copy_to(ctx, self->pool, do_work, &work, sizeof work, DONE,
                                           &self->open[i].op);
        if (err != JZX_OK) {
            JZX_EXPECT_EQ(err, JZX_ERR_FULL);
            self->refused++;
            continue; /* again when the next one is complete */
        }
        self->open[i].number = self->begun++;
        if (draw(self, 4) == 0)
            atomic_store(&board[draw(self, CUSTOMERS)], self->open[i].op);
        if (draw(self, 4) == 0) {
            jzx_err cancelled = jzx_op_cancel(ctx->loop, self->open[i].op);
            JZX_EXPECT(cancelled == JZX_OK || cancelled == JZX_ERR_NO_SUCH_OP);
        }
    }
}

static void end_one(struct customer *self, const jzx_result *result) {
    uint32_t i = 0;
    while (i < AT_ONCE && self->open[i].op != result->op)
        i++;
    if (!JZX_EXPECT(i < AT_ONCE)) /* once: it is open */
        return;
    self->open[i].op = JZX_NO_OP;
    self->ended++;
    if (result->err == JZX_ERR_CANCELLED) {
        JZX_EXPECT_EQ(result->len, 0);
        self->cancelled++;
        return;
    }
    struct work work;
    JZX_EXPECT_EQ(result->err, JZX_OK);
    if (!JZX_EXPECT_EQ(result->len, sizeof work))
        return;
    memcpy(&work, jzx_result_data(result), sizeof work);
    JZX_EXPECT_EQ(work.number, self->open[i].number);
    JZX_EXPECT_EQ(work.runs, 1);
}

static jzx_behavior_result be_customer(jzx_context *ctx, const jzx_message *msg) {
    struct customer *self = ctx->state;
    if (msg->tag == DONE)
        end_one(self, msg->data);
    begin_some(ctx, self);
    if (self->ended == self->to_do)
        return JZX_BEHAVIOR_STOP;
    if (self->ended == self->begun) /* all places of the pool are others' */
        JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, ctx->self, NULL, 0, GO, JZX_MS(1), NULL),
                      JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void *cancel_from_outside(void *arg) {
    jzx_loop *loop = arg;
    for (uint32_t i = 0; !atomic_load(&is_over); i++) {
        jzx_op op = atomic_exchange(&board[i % CUSTOMERS], JZX_NO_OP);
        if (op != JZX_NO_OP) {
            jzx_err err = jzx_op_cancel(loop, op);
            JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_OP);
        } else {
            sched_yield();
        }
    }
    return NULL;
}

static jzx_blocking_pool *make_pool(jzx_loop *loop, const char *name, uint32_t threads,
                                    uint32_t queue, uint64_t idle_ns) {
    jzx_blocking_pool *pool = NULL;
    JZX_EXPECT_EQ(
        jzx_blocking_pool_create(loop,
                                 &JZX_BLOCKING_OPTS(.name = name, .threads_max = threads,
                                                    .queue_max = queue, .idle_ns = idle_ns),
                                 &pool),
        JZX_OK);
    return pool;
}

JZX_TEST(every_accepted_job_completes_exactly_once) {
    static struct customer customers[CUSTOMERS];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    jzx_blocking_pool *small = make_pool(loop, "small", 2, 8, 0);
    jzx_blocking_pool *brief = make_pool(loop, "brief", 3, 16, 1); /* its threads end at once */
    pthread_t thread;
    atomic_store(&is_over, false);
    for (uint32_t i = 0; i < CUSTOMERS; i++) {
        customers[i] = (struct customer){
            .to_do = jzx_test_rounds(2000, 50000), .random = i + 1, .pool = i % 2 ? small : brief};
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_customer, .state = &customers[i]));
        fixture_send(loop, id, GO);
    }
    assert_int_equal(pthread_create(&thread, NULL, cancel_from_outside, loop), 0);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    uint64_t started = 0;
    uint64_t cancelled = 0;
    for (uint32_t i = 0; i < CUSTOMERS; i++) {
        JZX_EXPECT_EQ(customers[i].ended, customers[i].to_do);
        started += customers[i].to_do - customers[i].cancelled;
        cancelled += customers[i].cancelled;
    }
    jzx_blocking_stats a = {.size = sizeof a};
    jzx_blocking_stats b = {.size = sizeof b};
    JZX_EXPECT_EQ(jzx_blocking_pool_stats(small, &a), JZX_OK);
    JZX_EXPECT_EQ(jzx_blocking_pool_stats(brief, &b), JZX_OK);
    JZX_EXPECT_EQ(a.started + b.started, started);
    JZX_EXPECT_EQ(a.cancelled + b.cancelled, cancelled);
    fixture_destroy(loop);
}

/* ---- kills ---- */

/* Submits, and is killed by who has spawned it, or ends at once, while its jobs wait, run and
 * complete. */
static jzx_behavior_result be_victim(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag != GO)
        return JZX_BEHAVIOR_OK; /* a job was faster */
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        struct work work = {.number = i, .spin = i % 3};
        jzx_op op = JZX_NO_OP;
        jzx_err err = jzx_blocking_copy_to(ctx, NULL, do_work, &work, sizeof work, DONE, &op);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_FULL);
        if (i % 4 == 0)
            atomic_store(&board[i % CUSTOMERS], op);
    }
    JZX_EXPECT_EQ(jzx_send(ctx->loop, msg->sender, ctx->self, NULL, 0, DONE), JZX_OK);
    return ctx->state == NULL ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

static void spawn_victim(jzx_context *ctx, bool ends_at_once) {
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = be_victim,
                                                 .state = ends_at_once ? ctx->state : NULL));
    JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, NULL, 0, GO), JZX_OK);
}

static jzx_behavior_result kill_victims(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    uint64_t *left = ctx->state;
    if (msg->tag == DONE) {
        jzx_err err = jzx_actor_stop(ctx->loop, msg->sender, JZX_STOP_KILL);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR); /* it has ended */
        if (--*left == 0)
            return JZX_BEHAVIOR_STOP;
    }
    spawn_victim(ctx, *left % 3 == 0);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(actors_may_be_killed_in_every_state_of_their_jobs) {
    static uint64_t left[4];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    jzx_blocking_pool *pool = make_pool(loop, JZX_BLOCKING_DEFAULT, 3, 64, 0);
    pthread_t thread;
    atomic_store(&is_over, false);
    for (uint32_t i = 0; i < 4; i++) {
        left[i] = jzx_test_rounds(1000, 20000);
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = kill_victims, .state = &left[i]));
        fixture_send(loop, id, GO);
    }
    assert_int_equal(pthread_create(&thread, NULL, cancel_from_outside, loop), 0);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    jzx_blocking_stats stats = {.size = sizeof stats};
    JZX_EXPECT_EQ(jzx_blocking_pool_stats(pool, &stats), JZX_OK);
    JZX_EXPECT_EQ(stats.queued, 0); /* those that waited went with their actors */
    fixture_destroy(loop);
    JZX_EXPECT(jzx_test_runs() != 0);
}

/* ---- fibers ---- */

static atomic_uint_least64_t stack_sum;

/* Uses memory of the fiber that waits. */
static jzx_err use_stack(void *arg) {
    struct work *work = arg;
    for (uint32_t i = 0; i < work->spin; i++) {
        sched_yield();
        work->number++;
    }
    work->runs++;
    return JZX_OK;
}

/* Waits for jobs until it is killed: on its own stack, with copies, and with deadlines. */
static void be_waiting_victim(jzx_context *ctx) {
    jzx_actor_id parent = (jzx_actor_id)(uintptr_t)ctx->state;
    for (uint32_t i = 0;; i++) {
        struct work work = {.number = i, .spin = i % 3};
        jzx_err err = i % 2 == 0 ? jzx_blocking(ctx, use_stack, &work, JZX_NEVER)
                                 : jzx_blocking_copy(ctx, NULL, use_stack, &work, sizeof work,
                                                     jzx_in(ctx, i % 4 == 1 ? 1 : JZX_SECOND(9)));
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_FULL || err == JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(work.runs, err == JZX_OK);
        JZX_EXPECT_EQ(work.number, err == JZX_OK ? i + i % 3 : i);
        atomic_fetch_add(&stack_sum, work.number);
        if (i == 2)
            JZX_EXPECT_EQ(jzx_send(ctx->loop, parent, ctx->self, NULL, 0, DONE), JZX_OK);
    }
}

static jzx_behavior_result kill_waiting_victims(jzx_context *ctx, const jzx_message *msg) {
    uint64_t *left = ctx->state;
    if (msg->tag == DONE) {
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, msg->sender, JZX_STOP_KILL), JZX_OK);
        if (--*left == 0)
            return JZX_BEHAVIOR_STOP;
    }
    fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = be_waiting_victim,
                                             .state = (void *)(uintptr_t)ctx->self));
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(fibers_may_be_killed_while_jobs_use_their_stacks) {
    static uint64_t left[4];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    make_pool(loop, JZX_BLOCKING_DEFAULT, 3, 64, 0);
    for (uint32_t i = 0; i < 4; i++) {
        left[i] = jzx_test_rounds(500, 10000);
        jzx_actor_id id = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = kill_waiting_victims, .state = &left[i]));
        fixture_send(loop, id, GO);
    }
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < 4; i++)
        JZX_EXPECT_EQ(left[i], 0);
    fixture_destroy(loop);
}
