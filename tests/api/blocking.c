/* SPDX-License-Identifier: MIT */
/* Blocking work: every accepted job completes once, in order, within the limits of its pool; a full
 * pool says so at once. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

enum { GO = 1, DONE, OTHER };

#define RESULTS_MAX 64u

/* ---- jobs ---- */

/* One that runs until the gate is opened, so that what else happens meanwhile is certain. */
static struct gate {
    atomic_uint entered;
    atomic_uint open;
    atomic_uint left;
} gate;

static void gate_wait_entered(unsigned count) {
    while (atomic_load(&gate.entered) < count)
        sched_yield();
}

static jzx_err pass_gate(void *arg) {
    (void)arg;
    atomic_fetch_add(&gate.entered, 1);
    while (atomic_load(&gate.open) == 0)
        sched_yield();
    atomic_fetch_add(&gate.left, 1);
    return JZX_OK;
}

static atomic_uint calls;

static jzx_err count_call(void *arg) {
    (void)arg;
    atomic_fetch_add(&calls, 1);
    return JZX_OK;
}

static jzx_err double_it(void *arg) {
    *(uint64_t *)arg *= 2;
    return JZX_OK;
}

/* A loop of so many workers, 0: as many as there are CPUs, before any job. */
static jzx_loop *loop_of(uint32_t workers) {
    atomic_store(&gate.entered, 0);
    atomic_store(&gate.open, 0);
    atomic_store(&gate.left, 0);
    atomic_store(&calls, 0);
    return fixture_loop_with(&JZX_CONFIG(.workers = workers));
}

/* ---- an actor that submits, and notes what comes back ---- */

struct customer {
    jzx_err (*go)(jzx_context *ctx); /* what GO does */
    uint32_t expected;               /* results after which it stops; 0: never */
    uint32_t count;
    jzx_op ops[RESULTS_MAX]; /* that it has begun */
    jzx_result results[RESULTS_MAX];
    uint64_t values[RESULTS_MAX]; /* the first 8 bytes of the data */
    jzx_blocking_pool *pool;
    void *arg;
};

static void note_result(struct customer *self, const jzx_message *msg) {
    const jzx_result *result = msg->data;
    JZX_EXPECT(self->count < RESULTS_MAX);
    JZX_EXPECT_EQ(msg->sender, JZX_NOBODY);
    JZX_EXPECT(msg->len >= sizeof *result + result->len);
    self->results[self->count] = *result;
    if (result->len >= sizeof(uint64_t))
        memcpy(&self->values[self->count], jzx_result_data(result), sizeof(uint64_t));
    self->count++;
}

static jzx_behavior_result be_customer(jzx_context *ctx, const jzx_message *msg) {
    struct customer *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == GO)
        JZX_EXPECT_EQ(self->go(ctx), JZX_OK);
    else if (msg->tag == DONE)
        note_result(self, msg);
    bool is_over = self->expected != 0 && self->count == self->expected;
    return is_over ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_actor_id customer(jzx_loop *loop, struct customer *state) {
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_customer, .state = state));
    fixture_send(loop, id, GO);
    return id;
}

/* Runs the loop until the customer has all that it expects. */
static void serve(struct customer *state) {
    jzx_loop *loop = loop_of(0);
    customer(loop, state);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(state->count, state->expected);
    fixture_destroy(loop);
}

/* Drives a loop of one worker until the flag says so, without a wait in it. */
static void step_until(jzx_loop *loop, const uint32_t *count, uint32_t wanted) {
    while (*count < wanted) {
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        sched_yield();
    }
}

/* ---- results ---- */

static pthread_t thread_of_job;

static jzx_err note_thread(void *arg) {
    thread_of_job = pthread_self();
    *(uint32_t *)arg = 7;
    return JZX_ERR_EXISTS;
}

static jzx_err submit_plain(jzx_context *ctx) {
    struct customer *self = ctx->state;
    return jzx_blocking_to(ctx, note_thread, self->arg, DONE, &self->ops[0]);
}

JZX_TEST(a_job_runs_on_another_thread_and_its_result_comes_as_a_message) {
    uint32_t number = 0;
    struct customer state = {.go = submit_plain, .expected = 1, .arg = &number};
    serve(&state);
    JZX_EXPECT_EQ(number, 7);
    JZX_EXPECT(!pthread_equal(thread_of_job, pthread_self()));
    JZX_EXPECT(state.ops[0] != JZX_NO_OP);
    JZX_EXPECT_EQ(state.results[0].op, state.ops[0]);
    JZX_EXPECT_EQ(state.results[0].err, JZX_ERR_EXISTS);
    JZX_EXPECT_EQ(state.results[0].len, 0);
}

static jzx_err submit_copies(jzx_context *ctx) {
    struct customer *self = ctx->state;
    static const size_t lens[] = {8, 16, 17, 100, 4000, 5000, 70000};
    static char data[70000];
    for (uint32_t i = 0; i < 7; i++) {
        uint64_t number = i + 1;
        memcpy(data, &number, sizeof number);
        jzx_err err =
            jzx_blocking_copy_to(ctx, self->pool, double_it, data, lens[i], DONE, &self->ops[i]);
        if (err != JZX_OK)
            return err;
    }
    memset(data, 0xFF, sizeof data); /* copies were made */
    return JZX_OK;
}

JZX_TEST(what_a_job_leaves_in_its_copy_is_the_data_of_the_result) {
    jzx_loop *loop = loop_of(0);
    struct customer state = {.go = submit_copies, .expected = 7};
    JZX_EXPECT_EQ(jzx_blocking_pool_create(
                      loop, &JZX_BLOCKING_OPTS(.name = "one", .threads_max = 1), &state.pool),
                  JZX_OK);
    customer(loop, &state);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(state.count, 7);
    for (uint32_t i = 0; i < 7; i++) { /* one thread: in their order */
        JZX_EXPECT_EQ(state.results[i].op, state.ops[i]);
        JZX_EXPECT_EQ(state.results[i].err, JZX_OK);
        JZX_EXPECT_EQ(state.values[i], 2 * (i + 1));
    }
    JZX_EXPECT_EQ(state.results[6].len, 70000);
    fixture_destroy(loop);
}

static jzx_err submit_ten(jzx_context *ctx) {
    struct customer *self = ctx->state;
    for (uint32_t i = 0; i < 10; i++) {
        jzx_err err = jzx_blocking_to(ctx, count_call, NULL, DONE, &self->ops[i]);
        if (err != JZX_OK)
            return err;
    }
    return JZX_OK;
}

JZX_TEST(a_full_mailbox_refuses_no_result, "C+fail") {
    jzx_loop *loop = loop_of(1);
    struct customer state = {.go = submit_ten};
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = be_customer, .state = &state, .mailbox_cap = 1));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_send(loop, id, OTHER);
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, NULL, 0, OTHER), JZX_ERR_MAILBOX_FULL);
    while (atomic_load(&calls) < 10)
        sched_yield();
    step_until(loop, &state.count, 10);
    fixture_destroy(loop);
}

static jzx_err submit_and_stash(jzx_context *ctx) {
    struct customer *self = ctx->state;
    uint64_t number = 21;
    return jzx_blocking_copy_to(ctx, NULL, double_it, &number, sizeof number, DONE, &self->ops[0]);
}

static void *taken;

static jzx_behavior_result take_second_time(jzx_context *ctx, const jzx_message *msg) {
    struct customer *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == GO)
        return submit_and_stash(ctx) == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_FAIL;
    if (self->count++ == 0) {
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, self->ops[0]), JZX_ERR_NO_SUCH_OP);
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
        return JZX_BEHAVIOR_OK;
    }
    taken = jzx_msg_take(ctx, msg);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_result_can_be_stashed_and_taken_as_any_message) {
    jzx_loop *loop = loop_of(0);
    struct customer state = {0};
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = take_second_time, .state = &state));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(state.count, 2);
    assert_non_null(taken);
    const jzx_result *result = taken;
    JZX_EXPECT_EQ(result->op, state.ops[0]);
    JZX_EXPECT_EQ(*(uint64_t *)jzx_result_data(result), 42);
    jzx_msg_free(loop, taken);
    fixture_destroy(loop);
}

/* ---- limits ---- */

/* A pool of one thread and a queue of two, whose thread is at the gate. */
struct rig {
    jzx_loop *loop;
    struct customer state;
    jzx_actor_id id;
};

static jzx_err fill_up(jzx_context *ctx) {
    struct customer *self = ctx->state;
    for (uint32_t i = 0; i < 3; i++) {
        jzx_err err = jzx_blocking_copy_to(ctx, self->pool, i == 0 ? pass_gate : count_call, NULL,
                                           0, DONE, &self->ops[i]);
        if (err != JZX_OK)
            return err;
    }
    return JZX_OK;
}

static void rig_open(struct rig *rig) {
    *rig = (struct rig){.loop = loop_of(1), .state = {.go = fill_up}};
    JZX_EXPECT_EQ(jzx_blocking_pool_create(
                      rig->loop,
                      &JZX_BLOCKING_OPTS(.name = "small", .threads_max = 1, .queue_max = 2),
                      &rig->state.pool),
                  JZX_OK);
    rig->id = customer(rig->loop, &rig->state);
    JZX_EXPECT_EQ(jzx_loop_step(rig->loop, JZX_NEVER), JZX_OK);
    gate_wait_entered(1);
}

static jzx_blocking_stats stats_of(jzx_blocking_pool *pool) {
    jzx_blocking_stats stats = {.size = sizeof stats};
    JZX_EXPECT_EQ(jzx_blocking_pool_stats(pool, &stats), JZX_OK);
    return stats;
}

static jzx_err find_it_full(jzx_context *ctx) {
    struct customer *self = ctx->state;
    jzx_op op = 17;
    JZX_EXPECT_EQ(jzx_blocking_copy_to(ctx, self->pool, count_call, NULL, 0, DONE, &op),
                  JZX_ERR_FULL);
    JZX_EXPECT_EQ(op, 17);
    return JZX_OK;
}

JZX_TEST(a_full_pool_refuses_at_once_and_keeps_what_it_has, "C+fail") {
    struct rig rig;
    rig_open(&rig);
    jzx_blocking_stats stats = stats_of(rig.state.pool);
    JZX_EXPECT_EQ(stats.threads, 1);
    JZX_EXPECT_EQ(stats.queued, 2);
    rig.state.go = find_it_full;
    fixture_send(rig.loop, rig.id, GO);
    JZX_EXPECT_EQ(jzx_loop_step(rig.loop, JZX_NEVER),
                  JZX_OK); /* the job at the gate holds nobody */
    JZX_EXPECT_EQ(stats_of(rig.state.pool).refused, 1);
    atomic_store(&gate.open, 1);
    step_until(rig.loop, &rig.state.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(rig.state.results[i].op, rig.state.ops[i]);
    JZX_EXPECT_EQ(stats_of(rig.state.pool).started, 3);
    fixture_destroy(rig.loop);
}

static jzx_err submit_five_at_gate(jzx_context *ctx) {
    struct customer *self = ctx->state;
    for (uint32_t i = 0; i < 5; i++) {
        jzx_err err =
            jzx_blocking_copy_to(ctx, self->pool, pass_gate, NULL, 0, DONE, &self->ops[i]);
        JZX_EXPECT_EQ(err, i < 3 ? JZX_OK : JZX_ERR_FULL);
    }
    return JZX_OK;
}

JZX_TEST(a_pool_without_a_queue_starts_threads_up_to_its_limit) {
    jzx_loop *loop = loop_of(1);
    struct customer state = {.go = submit_five_at_gate};
    JZX_EXPECT_EQ(jzx_blocking_pool_create(
                      loop,
                      &JZX_BLOCKING_OPTS(.name = "three", .threads_max = 3, .queue_max = JZX_NONE),
                      &state.pool),
                  JZX_OK);
    customer(loop, &state);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    gate_wait_entered(3);
    JZX_EXPECT_EQ(stats_of(state.pool).threads, 3);
    atomic_store(&gate.open, 1);
    step_until(loop, &state.count, 3);
    fixture_destroy(loop);
}

static jzx_err submit_next(jzx_context *ctx) {
    struct customer *self = ctx->state;
    return jzx_blocking_copy_to(ctx, self->pool, count_call, NULL, 0, DONE, NULL);
}

static jzx_behavior_result one_after_another(jzx_context *ctx, const jzx_message *msg) {
    struct customer *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == DONE && ++self->count == self->expected)
        return JZX_BEHAVIOR_STOP;
    JZX_EXPECT_EQ(submit_next(ctx), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* J3 of src/io/blocking.h: the thread is idle before its result is there. */
JZX_TEST(jobs_one_after_another_need_one_thread) {
    jzx_loop *loop = loop_of(0);
    struct customer state = {.expected = 1000};
    JZX_EXPECT_EQ(jzx_blocking_pool_create(loop, &JZX_BLOCKING_OPTS(.name = "many"), &state.pool),
                  JZX_OK);
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = one_after_another, .state = &state));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(atomic_load(&calls), 1000);
    JZX_EXPECT_EQ(stats_of(state.pool).threads_started, 1);
    fixture_destroy(loop);
}

JZX_TEST(threads_without_work_end_and_others_start_when_there_is_some) {
    jzx_loop *loop = loop_of(1);
    struct customer state = {.go = submit_next};
    JZX_EXPECT_EQ(jzx_blocking_pool_create(loop, &JZX_BLOCKING_OPTS(.name = "brief", .idle_ns = 1),
                                           &state.pool),
                  JZX_OK);
    jzx_actor_id id = customer(loop, &state);
    for (uint32_t i = 1; i <= 20; i++) {
        step_until(loop, &state.count, i);
        while (stats_of(state.pool).threads != 0)
            sched_yield();
        fixture_send(loop, id, GO);
    }
    step_until(loop, &state.count, 21);
    JZX_EXPECT_EQ(stats_of(state.pool).threads_started, 21);
    fixture_destroy(loop);
}

/* ---- cancelling ---- */

JZX_TEST(a_job_that_waits_can_be_cancelled_and_is_never_started) {
    struct rig rig;
    rig_open(&rig);
    JZX_EXPECT_EQ(jzx_op_cancel(rig.loop, rig.state.ops[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(rig.loop, rig.state.ops[1]), JZX_ERR_NO_SUCH_OP); /* complete */
    step_until(rig.loop, &rig.state.count, 1);
    JZX_EXPECT_EQ(rig.state.results[0].op, rig.state.ops[1]);
    JZX_EXPECT_EQ(rig.state.results[0].err, JZX_ERR_CANCELLED);
    JZX_EXPECT_EQ(rig.state.results[0].len, 0);
    JZX_EXPECT_EQ(stats_of(rig.state.pool).queued, 1);
    atomic_store(&gate.open, 1);
    step_until(rig.loop, &rig.state.count, 3);
    JZX_EXPECT_EQ(atomic_load(&calls), 1);
    JZX_EXPECT_EQ(stats_of(rig.state.pool).cancelled, 1);
    fixture_destroy(rig.loop);
}

JZX_TEST(a_job_that_runs_completes_with_its_result_though_it_was_cancelled) {
    struct rig rig;
    rig_open(&rig);
    JZX_EXPECT_EQ(jzx_op_cancel(rig.loop, rig.state.ops[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(rig.loop, rig.state.ops[0]), JZX_OK); /* not complete yet */
    JZX_EXPECT_EQ(jzx_loop_step(rig.loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(rig.state.count, 0);
    atomic_store(&gate.open, 1);
    step_until(rig.loop, &rig.state.count, 3);
    JZX_EXPECT_EQ(rig.state.results[0].op, rig.state.ops[0]);
    JZX_EXPECT_EQ(rig.state.results[0].err, JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(rig.loop, rig.state.ops[0]), JZX_ERR_NO_SUCH_OP);
    fixture_destroy(rig.loop);
}

JZX_TEST(ids_of_operations_that_never_were_name_nothing) {
    jzx_loop *loop = loop_of(0);
    JZX_EXPECT_EQ(jzx_op_cancel(loop, JZX_NO_OP), JZX_ERR_NO_SUCH_OP);
    JZX_EXPECT_EQ(jzx_op_cancel(loop, UINT64_MAX), JZX_ERR_NO_SUCH_OP);
    JZX_EXPECT_EQ(jzx_op_cancel(loop, (uint64_t)1 << 32), JZX_ERR_NO_SUCH_OP);
    JZX_EXPECT_EQ(jzx_op_cancel(NULL, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(jzx_result_data(NULL) == NULL);
    fixture_destroy(loop);
}

/* ---- the end of an actor and of the loop ---- */

JZX_TEST(when_its_actor_ends_jobs_that_wait_are_not_started_and_results_are_dropped) {
    struct rig rig;
    rig_open(&rig);
    JZX_EXPECT_EQ(jzx_actor_stop(rig.loop, rig.id, JZX_STOP_KILL), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(rig.loop, JZX_NEVER), JZX_OK);
    jzx_blocking_stats stats = stats_of(rig.state.pool);
    JZX_EXPECT_EQ(stats.queued, 0);
    JZX_EXPECT_EQ(stats.cancelled, 2);
    JZX_EXPECT_EQ(jzx_op_cancel(rig.loop, rig.state.ops[1]), JZX_ERR_NO_SUCH_OP);
    atomic_store(&gate.open, 1);
    while (stats_of(rig.state.pool).idle == 0) /* the one at the gate ran to its end */
        sched_yield();
    JZX_EXPECT_EQ(atomic_load(&gate.left), 1);
    JZX_EXPECT_EQ(atomic_load(&calls), 0);
    JZX_EXPECT_EQ(rig.state.count, 0);
    JZX_EXPECT_EQ(fixture_stats(rig.loop).dead, 0);
    fixture_destroy(rig.loop);
}

/* The jobs that wait are cancelled by the destroy and by nothing else, and the pool stays until the
 * job at the gate has returned. */
static void *open_gate_when_cancelled(void *pool) {
    while (stats_of(pool).cancelled == 0)
        sched_yield();
    JZX_EXPECT_EQ(atomic_load(&gate.left), 0);
    atomic_store(&gate.open, 1);
    return NULL;
}

JZX_TEST(destroying_a_loop_waits_for_jobs_that_run_and_cancels_the_others) {
    struct rig rig;
    pthread_t opener;
    rig_open(&rig);
    assert_int_equal(pthread_create(&opener, NULL, open_gate_when_cancelled, rig.state.pool), 0);
    fixture_destroy(rig.loop);
    JZX_EXPECT_EQ(atomic_load(&gate.left), 1);
    JZX_EXPECT_EQ(atomic_load(&calls), 0);
    JZX_EXPECT_EQ(rig.state.count, 0);
    pthread_join(opener, NULL);
}

static jzx_err submit_in_vain(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_blocking_to(ctx, count_call, NULL, DONE, NULL), JZX_ERR_LOOP_CLOSED);
    return JZX_OK;
}

JZX_TEST(a_loop_that_stops_takes_no_jobs) {
    jzx_loop *loop = loop_of(0);
    struct customer state = {.go = submit_in_vain};
    customer(loop, &state);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

/* ---- wrong use ---- */

static jzx_blocking_pool *foreign_pool;

static jzx_err misuse(jzx_context *ctx) {
    jzx_op op = 17;
    jzx_context copy = *ctx;
    JZX_EXPECT_EQ(jzx_blocking_to(ctx, NULL, NULL, DONE, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_to(&copy, count_call, NULL, DONE, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_to(ctx, count_call, NULL, JZX_TAG_RESERVED, &op),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_copy_to(ctx, NULL, count_call, NULL, 1, DONE, &op),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_copy_to(ctx, NULL, count_call, &op, JZX_MSG_LEN_MAX, DONE, &op),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_copy_to(ctx, foreign_pool, count_call, NULL, 0, DONE, &op),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(op, 17);
    return JZX_OK;
}

JZX_TEST(wrong_arguments_are_refused_and_start_nothing) {
    jzx_loop *other = loop_of(0);
    jzx_loop *loop = loop_of(1);
    struct customer state = {.go = misuse};
    JZX_EXPECT_EQ(
        jzx_blocking_pool_create(other, &JZX_BLOCKING_OPTS(.name = "theirs"), &foreign_pool),
        JZX_OK);
    customer(loop, &state);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(atomic_load(&calls), 0);
    fixture_destroy(loop);
    fixture_destroy(other);
}

JZX_TEST(pools_have_names_and_the_default_one_can_be_set_up) {
    jzx_loop *loop = loop_of(0);
    jzx_blocking_pool *pool = NULL;
    jzx_blocking_pool *usual = NULL;
    JZX_EXPECT(jzx_blocking_pool_find(loop, "disk") == NULL);
    JZX_EXPECT(jzx_blocking_pool_find(loop, JZX_BLOCKING_DEFAULT) == NULL);
    JZX_EXPECT_EQ(jzx_blocking_pool_create(loop, &JZX_BLOCKING_OPTS(.name = "disk"), &pool),
                  JZX_OK);
    JZX_EXPECT(jzx_blocking_pool_find(loop, "disk") == pool);
    JZX_EXPECT_EQ(jzx_blocking_pool_create(loop, &JZX_BLOCKING_OPTS(.name = "disk"), NULL),
                  JZX_ERR_EXISTS);
    JZX_EXPECT_EQ(
        jzx_blocking_pool_create(
            loop, &JZX_BLOCKING_OPTS(.name = JZX_BLOCKING_DEFAULT, .threads_max = 1), &usual),
        JZX_OK);
    struct customer state = {.go = submit_ten, .expected = 10};
    customer(loop, &state);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(stats_of(usual).started, 10);
    JZX_EXPECT_EQ(stats_of(usual).threads_started, 1);
    JZX_EXPECT_EQ(stats_of(pool).threads_started, 0);
    fixture_destroy(loop);
}

JZX_TEST(wrong_options_of_a_pool_are_refused) {
    jzx_loop *loop = loop_of(0);
    jzx_blocking_opts opts;
    JZX_EXPECT_EQ(jzx_blocking_opts_init(&opts, sizeof opts), JZX_OK);
    JZX_EXPECT_EQ(opts.threads_max, JZX_DEFAULT_BLOCKING_THREADS);
    JZX_EXPECT_EQ(jzx_blocking_opts_init(&opts, sizeof opts + 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_opts_init(NULL, sizeof opts), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_pool_create(loop, &opts, NULL), JZX_ERR_INVALID_ARG); /* no name */
    opts.name = "";
    JZX_EXPECT_EQ(jzx_blocking_pool_create(loop, &opts, NULL), JZX_ERR_INVALID_ARG);
    opts.name = "12345678901";
    JZX_EXPECT_EQ(jzx_blocking_pool_create(loop, &opts, NULL), JZX_ERR_INVALID_ARG);
    opts.name = "1234567890";
    opts.threads_max = JZX_BLOCKING_THREADS_MAX + 1;
    JZX_EXPECT_EQ(jzx_blocking_pool_create(loop, &opts, NULL), JZX_ERR_INVALID_ARG);
    opts.threads_max = 1;
    JZX_EXPECT_EQ(jzx_blocking_pool_create(NULL, &opts, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_pool_create(loop, NULL, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_pool_create(loop, &opts, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_blocking_pool_stats(NULL, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(jzx_blocking_pool_find(loop, NULL) == NULL);
    fixture_destroy(loop);
}

/* ---- its threads ---- */

static struct {
    char name[16];
    int blocks_term;
    int blocks_fault;
    int cpus;
} seen;

static jzx_err look_around(void *arg) {
    (void)arg;
    sigset_t mask;
    cpu_set_t cpus;
    pthread_getname_np(pthread_self(), seen.name, sizeof seen.name);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    seen.blocks_term = sigismember(&mask, SIGTERM);
    seen.blocks_fault = sigismember(&mask, SIGSEGV);
    sched_getaffinity(0, sizeof cpus, &cpus);
    seen.cpus = CPU_COUNT(&cpus);
    return JZX_OK;
}

static jzx_err submit_look(jzx_context *ctx) {
    return jzx_blocking_to(ctx, look_around, NULL, DONE, NULL);
}

JZX_TEST(threads_of_a_pool_have_its_name_block_signals_and_stay_on_no_cpu) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .pin_threads = true));
    struct customer state = {.go = submit_look, .expected = 1};
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    customer(loop, &state);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    assert_string_equal(seen.name, "blocking-1");
    JZX_EXPECT_EQ(seen.blocks_term, 1);
    JZX_EXPECT_EQ(seen.blocks_fault, 0);
    JZX_EXPECT_EQ(seen.cpus, CPU_COUNT(&cpus));
    fixture_destroy(loop);
}
