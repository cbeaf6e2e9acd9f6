/* SPDX-License-Identifier: MIT */
/* Threads that call actors and start some, while these answer, keep silent and die, and while the
 * loop stops: every call returns, with a result that can be, and nothing is left. */
#include "fixture.h"

#include <jzx/ask.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* One is answered or ends with the desk, the other may also be kept for ever. */
enum { QUESTION = 1, RIDDLE, ANSWER };

#define DESKS 3u
#define CALLERS 4u

static struct {
    jzx_loop *loop;
    _Atomic uint64_t desks[DESKS]; /* soon stale */
    atomic_uint seed;
    atomic_bool over;
    atomic_uint results[4]; /* answered, ended, too late, closed */
    uint32_t calls;         /* of each thread, at most */
} stage;

static uint32_t any_number(void) {
    uint32_t seed = atomic_fetch_add(&stage.seed, 1) * 2654435761u;
    return (seed ^ seed >> 15) * 2246822519u >> 8;
}

static jzx_behavior_result be_desk(jzx_context *ctx, const jzx_message *msg) {
    uint32_t choice = any_number() % 16;
    jzx_err err = JZX_OK;
    if (choice < 10)
        err = jzx_reply(ctx, msg, msg->data, msg->len, ANSWER);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR || err == JZX_ERR_LOOP_CLOSED);
    bool ends = choice % 5 == 0 || (choice >= 10 && msg->tag == QUESTION);
    return ends ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK; /* with an answer or without */
}

static void end_desk(jzx_context *ctx, jzx_exit_reason reason);

static jzx_err begin_desk(jzx_context *ctx) {
    (void)ctx;
    return any_number() % 4 == 0 ? JZX_ERR_EXISTS : JZX_OK;
}

static jzx_spawn_opts desk_opts(_Atomic uint64_t *place) {
    return JZX_SPAWN_OPTS(.behavior = be_desk, .cleanup = end_desk, .state = place);
}

/* The next one comes in its place. */
static void spawn_desk(_Atomic uint64_t *place) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_spawn_opts opts = desk_opts(place);
    jzx_err err = jzx_spawn(stage.loop, &opts, &id);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_LOOP_CLOSED);
    if (err != JZX_OK)
        return;
    atomic_store(place, id);
    if (atomic_load(&stage.over))
        jzx_actor_stop(stage.loop, id, JZX_STOP_KILL);
}

static void end_desk(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    if (!atomic_load(&stage.over))
        spawn_desk(ctx->state);
}

static void count(jzx_err err) {
    switch (err) {
    case JZX_OK: atomic_fetch_add(&stage.results[0], 1); break;
    case JZX_ERR_NO_SUCH_ACTOR: atomic_fetch_add(&stage.results[1], 1); break;
    case JZX_ERR_TIMEOUT: atomic_fetch_add(&stage.results[2], 1); break;
    case JZX_ERR_LOOP_CLOSED: atomic_fetch_add(&stage.results[3], 1); break;
    default: JZX_EXPECT_EQ(err, JZX_OK);
    }
}

static jzx_err call_one(void) {
    char data[60];
    jzx_message answer = {.data = NULL};
    size_t len = any_number() % sizeof data;
    jzx_actor_id desk = atomic_load(&stage.desks[any_number() % DESKS]);
    memset(data, (int)len, sizeof data);
    bool is_riddle = any_number() % 2 == 0;
    uint64_t deadline_ns =
        is_riddle ? jzx_loop_now(stage.loop) + JZX_US(any_number() % 2000) : JZX_NEVER;
    jzx_err err = jzx_call_wait(stage.loop, desk, data, len, is_riddle ? RIDDLE : QUESTION,
                                deadline_ns, &answer);
    if (err == JZX_OK) {
        JZX_EXPECT_EQ(answer.len, len);
        JZX_EXPECT_EQ(memcmp(answer.data, data, len), 0);
        jzx_msg_free(stage.loop, answer.data);
    }
    return err;
}

static jzx_behavior_result end_at_once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static jzx_err start_one(void) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_err err =
        jzx_spawn_wait(stage.loop, &JZX_SPAWN_OPTS(.behavior = end_at_once, .init = begin_desk),
                       jzx_loop_now(stage.loop) + JZX_US(any_number() % 2000), &id);
    if (err == JZX_ERR_EXISTS)
        return JZX_OK;
    JZX_EXPECT_EQ(err == JZX_OK, id != JZX_NOBODY);
    if (err == JZX_OK)
        jzx_send(stage.loop, id, JZX_NOBODY, NULL, 0, 1); /* unless the loop stops meanwhile */
    return err;
}

static void *make_calls(void *arg) {
    (void)arg;
    jzx_err err = JZX_OK;
    for (uint32_t i = 0; i < stage.calls && err != JZX_ERR_LOOP_CLOSED; i++) {
        err = i % 4 == 0 ? start_one() : call_one();
        count(err);
    }
    return NULL;
}

static void *drive(void *arg) {
    jzx_err err = jzx_loop_run(arg);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_LOOP_CLOSED);
    return NULL;
}

static void end_all_desks(void) {
    atomic_store(&stage.over, true);
    for (uint32_t i = 0; i < DESKS; i++)
        jzx_actor_stop(stage.loop, atomic_load(&stage.desks[i]), JZX_STOP_KILL);
}

/* cut_short: the loop is stopped, and destroyed, in the middle of calls. */
static void run_stage(uint32_t workers, bool cut_short) {
    pthread_t threads[CALLERS];
    pthread_t driver;
    stage.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_non_null(stage.loop);
    stage.calls = cut_short ? UINT32_MAX : (uint32_t)jzx_test_rounds(500, 10000);
    atomic_store(&stage.over, false);
    for (uint32_t i = 0; i < 4; i++)
        atomic_store(&stage.results[i], 0);
    for (uint32_t i = 0; i < DESKS; i++)
        spawn_desk(&stage.desks[i]);
    assert_int_equal(pthread_create(&driver, NULL, drive, stage.loop), 0);
    for (uint32_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_calls, NULL), 0);
    if (cut_short) {
        while (atomic_load(&stage.results[0]) < 10)
            sched_yield();
        atomic_store(&stage.over, true);
        JZX_EXPECT_EQ(any_number() % 2 ? jzx_loop_request_stop(stage.loop)
                                       : jzx_loop_stop(stage.loop, JZX_NEVER),
                      JZX_OK);
    }
    for (uint32_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    end_all_desks();
    assert_int_equal(pthread_join(driver, NULL), 0);
    JZX_EXPECT(atomic_load(&stage.results[0]) > 0);
    JZX_EXPECT_EQ(atomic_load(&stage.results[3]) > 0, cut_short);
    fixture_destroy(stage.loop);
}

JZX_TEST(every_call_of_a_thread_returns, "X14") {
    run_stage(1, false);
    run_stage(3, false);
}

JZX_TEST(every_call_of_a_thread_returns_when_the_loop_stops, "X14") {
    for (uint64_t i = jzx_test_rounds(20, 200); i != 0; i--)
        run_stage(1 + (uint32_t)i % 3, true);
}
