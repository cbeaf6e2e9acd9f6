/* SPDX-License-Identifier: MIT */
/* Attacks on what docs/guarantees.md promises about behaviours that do not return. Nothing here
 * measures time: a behaviour waits until the runtime has told of it. A busy machine may hold other
 * turns up as well, so each test looks at the reports of its own actors only. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { STALL = 1, AFTER, QUESTION, ANSWER, TIMER, NUDGE };

#define STALL_NS JZX_MS(1)
#define ACTORS 4u

/* What the observer has heard of one actor. */
struct report {
    jzx_actor_id id;
    atomic_uint stalls;
    atomic_uint ends;
    atomic_uint handed; /* of the stalls */
    _Atomic uint64_t stall_ns;
    _Atomic uint64_t end_ns;
};

static struct report reports[ACTORS];
static atomic_uint all_stalls;
static atomic_uint all_ends;
static atomic_uint threads_started;
static atomic_uint threads_stopped;

static struct report *report_of(jzx_actor_id id) {
    for (uint32_t i = 0; i < ACTORS; i++)
        if (reports[i].id == id)
            return &reports[i];
    return NULL;
}

static void hear(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_STALL && event->kind != JZX_EVENT_STALL_END)
        return;
    bool is_end = event->kind == JZX_EVENT_STALL_END;
    atomic_fetch_add(is_end ? &all_ends : &all_stalls, 1);
    struct report *report = report_of(event->actor);
    if (report == NULL || event->tag != STALL)
        return;
    JZX_EXPECT(event->name != NULL && strcmp(event->name, "sleeper") == 0);
    JZX_EXPECT(event->elapsed_ns >= STALL_NS);
    if (is_end) {
        JZX_EXPECT(event->elapsed_ns >= atomic_load(&report->stall_ns));
        atomic_store(&report->end_ns, event->elapsed_ns);
        atomic_fetch_add(&report->ends, 1);
        return;
    }
    atomic_store(&report->stall_ns, event->elapsed_ns);
    atomic_fetch_add(&report->handed, event->handed_over);
    atomic_fetch_add(&report->stalls, 1);
}

static void count_start(void *ctx, uint32_t worker) {
    (void)ctx;
    (void)worker;
    atomic_fetch_add(&threads_started, 1);
}

static void count_stop(void *ctx, uint32_t worker) {
    (void)ctx;
    (void)worker;
    atomic_fetch_add(&threads_stopped, 1);
}

static jzx_loop *stall_loop(uint32_t workers, uint32_t spares) {
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = workers, .stall_after_ns = STALL_NS, .relieve_after_ns = JZX_NEVER,
                    .spare_threads_max = spares, .on_thread_start = count_start,
                    .on_thread_stop = count_stop));
    assert_non_null(loop);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = hear), NULL), JZX_OK);
    return loop;
}

/* Does not return before it is reported. True if its worker was handed over. */
static bool stall(jzx_context *ctx) {
    struct report *report = report_of(ctx->self);
    if (!JZX_EXPECT(report != NULL))
        return false;
    unsigned before = atomic_load(&report->stalls);
    unsigned handed = atomic_load(&report->handed);
    while (atomic_load(&report->stalls) == before)
        sched_yield();
    bool is_handed = atomic_load(&report->handed) != handed;
    JZX_EXPECT_EQ(atomic_load(&report->stalls), before + 1);
    JZX_EXPECT_EQ(jzx_current_worker() == JZX_NONE, is_handed);
    JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
    JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_WAITLESS);
    jzx_test_ran();
    return is_handed;
}

/* The observer finds an actor only if its id is known before it runs. */
static jzx_actor_id spawn_sleeper(jzx_loop *loop, uint32_t index, jzx_spawn_opts opts) {
    opts.name = "sleeper";
    reports[index].id = fixture_spawn(loop, &opts);
    return reports[index].id;
}

static void expect_ends(void) {
    JZX_EXPECT_EQ(atomic_load(&all_stalls), atomic_load(&all_ends));
    JZX_EXPECT_EQ(atomic_load(&threads_started), atomic_load(&threads_stopped));
    for (uint32_t i = 0; i < ACTORS; i++)
        JZX_EXPECT_EQ(atomic_load(&reports[i].stalls), atomic_load(&reports[i].ends));
}

/* ---- what a turn does without its worker ---- */

static struct {
    jzx_actor_id neighbour;
    jzx_actor_id oracle;
    jzx_actor_id child;
    atomic_uint neighbour_runs;
    jzx_monitor_ref ref;
    uint64_t question;
    unsigned char *block;
    uint32_t seen; /* a bit for each effect */
} effect;

static jzx_behavior_result neighbour(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    atomic_fetch_add(&effect.neighbour_runs, 1);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result oracle(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, ANSWER), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result quitter(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_exit(ctx, JZX_EXIT_FAIL, "quit");
}

static jzx_behavior_result after_stall(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id id = JZX_NOBODY;
    size_t members = 0;
    switch (msg->tag) {
    case AFTER: /* sent before all of the others */
        JZX_EXPECT_EQ(effect.seen, 0);
        effect.seen |= 1u;
        break;
    case JZX_TAG_DOWN:
        JZX_EXPECT_EQ(msg->sender, effect.child);
        effect.seen |= 2u;
        break;
    case ANSWER:
        JZX_EXPECT_EQ(jzx_ask_ref(ctx), effect.question);
        effect.seen |= 4u;
        break;
    case TIMER: effect.seen |= 8u; break;
    case STALL: /* stashed */ effect.seen |= 16u; break;
    default: JZX_EXPECT(false);
    }
    if (effect.seen != 31u)
        return JZX_BEHAVIOR_OK;
    JZX_EXPECT_EQ(jzx_lookup(ctx->loop, "sleeper", &id), JZX_OK);
    JZX_EXPECT_EQ(id, ctx->self);
    JZX_EXPECT_EQ(jzx_group_members(ctx->loop, "sleepers", NULL, 0, &members), JZX_OK);
    JZX_EXPECT_EQ(members, 1);
    JZX_EXPECT(effect.block[0] == 0x77 && effect.block[4999] == 0x77);
    JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result does_everything(jzx_context *ctx, const jzx_message *msg) {
    if (!stall(ctx)) {
        fixture_send(ctx->loop, ctx->self, STALL);
        return JZX_BEHAVIOR_OK;
    }
    unsigned runs = atomic_load(&effect.neighbour_runs);
    fixture_send(ctx->loop, effect.neighbour, NUDGE); /* on the worker that was handed over */
    while (atomic_load(&effect.neighbour_runs) == runs)
        sched_yield();
    fixture_send(ctx->loop, ctx->self, AFTER);
    JZX_EXPECT_EQ(jzx_spawn_watched(ctx, &JZX_SPAWN_OPTS(.behavior = quitter), false, &effect.child,
                                    &effect.ref),
                  JZX_OK);
    fixture_send(ctx->loop, effect.child, NUDGE);
    JZX_EXPECT_EQ(jzx_ask(ctx, effect.oracle, NULL, 0, QUESTION, JZX_NEVER, &effect.question),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, NULL, 0, TIMER, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_register(ctx->loop, "sleeper", ctx->self), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_join(ctx, "sleepers"), JZX_OK);
    effect.block = jzx_alloc(ctx, 5000);
    if (JZX_EXPECT(effect.block != NULL))
        memset(effect.block, 0x77, 5000);
    JZX_EXPECT_EQ(jzx_become(ctx, after_stall), JZX_OK);
    JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    fixture_send(ctx->loop, effect.neighbour, NUDGE);
    return JZX_BEHAVIOR_OK;
}

/* The stash comes back when something else was handled. */
static jzx_behavior_result unstash_first(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == AFTER) {
        jzx_behavior_result result = after_stall(ctx, msg);
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
        JZX_EXPECT_EQ(jzx_become(ctx, after_stall), JZX_OK);
        return result;
    }
    return after_stall(ctx, msg);
}

static jzx_behavior_result everything(jzx_context *ctx, const jzx_message *msg) {
    jzx_behavior_result result = does_everything(ctx, msg);
    if (effect.block != NULL)
        JZX_EXPECT_EQ(jzx_become(ctx, unstash_first), JZX_OK);
    return result;
}

JZX_TEST(all_that_a_turn_does_without_its_worker_has_its_effect) {
    jzx_loop *loop = stall_loop(2, 0);
    effect.neighbour =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = neighbour, .place = JZX_PLACE_WORKER(1)));
    effect.oracle = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = oracle));
    jzx_actor_id id = spawn_sleeper(
        loop, 0, JZX_SPAWN_OPTS(.behavior = everything, .place = JZX_PLACE_WORKER(1)));
    fixture_send(loop, id, STALL);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(effect.seen, 31);
    JZX_EXPECT(jzx_test_runs() > 0);
    expect_ends();
    fixture_destroy(loop);
}

/* ---- ends of turns that have lost their worker ---- */

static struct {
    jzx_exit_reason reasons[ACTORS];
    uint32_t cleanups[ACTORS];
    atomic_uint done;
} lost;

static uint32_t index_of(jzx_actor_id id) {
    return (uint32_t)(report_of(id) - reports);
}

static void lost_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    uint32_t index = index_of(ctx->self);
    lost.reasons[index] = reason;
    lost.cleanups[index]++;
    atomic_fetch_add(&lost.done, 1);
}

static jzx_behavior_result lost_one(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    if (!stall(ctx)) {
        fixture_send(ctx->loop, ctx->self, STALL);
        return JZX_BEHAVIOR_OK;
    }
    switch (index_of(ctx->self)) {
    case 0: jzx_exit(ctx, JZX_EXIT_FAIL, "without a worker");
    case 1: return JZX_BEHAVIOR_STOP;
    case 2:
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_KILL), JZX_OK);
        return JZX_BEHAVIOR_OK;
    default: return (jzx_behavior_result)42;
    }
}

JZX_TEST(turns_that_have_lost_their_workers_end_in_every_way_once) {
    static const jzx_exit_reason expected[ACTORS] = {JZX_EXIT_FAIL, JZX_EXIT_NORMAL,
                                                     JZX_EXIT_KILLED, JZX_EXIT_PANIC};
    jzx_loop *loop = stall_loop(2, 0);
    for (uint32_t i = 0; i < ACTORS; i++) {
        jzx_actor_id id =
            spawn_sleeper(loop, i, JZX_SPAWN_OPTS(.behavior = lost_one, .cleanup = lost_cleanup));
        fixture_send(loop, id, STALL);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < ACTORS; i++) {
        assert_int_equal(lost.cleanups[i], 1);
        assert_int_equal(lost.reasons[i], expected[i]);
    }
    JZX_EXPECT(jzx_test_runs() >= ACTORS);
    expect_ends();
    fixture_destroy(loop);
}

/* ---- home, and the next ---- */

static struct {
    pthread_t thread;
    uint32_t handed;
    uint32_t turns;
} home;

static jzx_behavior_result at_home(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    home.turns++;
    JZX_EXPECT(pthread_equal(pthread_self(), home.thread));
    JZX_EXPECT_EQ(jzx_current_worker(), 0);
    home.handed += stall(ctx);
    JZX_EXPECT(pthread_equal(pthread_self(), home.thread));
    if (home.handed == 4)
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, ctx->self, STALL);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(one_spare_serves_stall_after_stall_and_the_caller_has_its_worker_back_each_time) {
    jzx_loop *loop = stall_loop(2, 1);
    home.thread = pthread_self();
    jzx_actor_id id =
        spawn_sleeper(loop, 0, JZX_SPAWN_OPTS(.behavior = at_home, .place = JZX_PLACE_CALLER));
    fixture_send(loop, id, STALL);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(home.handed, 4);
    JZX_EXPECT_EQ(atomic_load(&reports[0].stalls), home.turns);
    JZX_EXPECT(atomic_load(&threads_started) <= 3);
    expect_ends();
    fixture_destroy(loop);
}

/* ---- when there is no spare ---- */

static struct {
    jzx_actor_id neighbours[2];
    atomic_uint neighbour_runs[2];
    atomic_uint standing_done;
    atomic_uint standing;
    atomic_uint handed;
} crowd;

static jzx_behavior_result crowd_neighbour(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    atomic_fetch_add((atomic_uint *)ctx->state, 1);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result crowd_sleeper(jzx_context *ctx, const jzx_message *msg) {
    uint32_t index = index_of(ctx->self);
    (void)msg;
    bool is_handed = stall(ctx);
    atomic_fetch_add(is_handed ? &crowd.handed : &crowd.standing, 1);
    while (atomic_load(&crowd.handed) + atomic_load(&crowd.standing) < 2)
        sched_yield();
    fixture_send(ctx->loop, crowd.neighbours[index], NUDGE);
    if (is_handed) { /* the worker goes on; the spare stays in use until the other is through */
        while (atomic_load(&crowd.neighbour_runs[index]) == 0 ||
               atomic_load(&crowd.standing_done) < atomic_load(&crowd.standing))
            sched_yield();
        return JZX_BEHAVIOR_STOP;
    }
    for (int i = 0; i < 200; i++)
        sched_yield();
    JZX_EXPECT_EQ(atomic_load(&crowd.neighbour_runs[index]), 0);
    /* The worker stands still, or the watchdog has moved from it what may run elsewhere. */
    JZX_EXPECT(jzx_current_worker() == index || jzx_current_worker() == JZX_NONE);
    atomic_fetch_add(&crowd.standing_done, 1);
    return JZX_BEHAVIOR_STOP;
}

static void exhaust(uint32_t spares, uint32_t handed_max) {
    jzx_loop *loop = stall_loop(2, spares);
    for (uint32_t i = 0; i < 2; i++) {
        crowd.neighbours[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = crowd_neighbour,
                                                                  .state = &crowd.neighbour_runs[i],
                                                                  .place = JZX_PLACE_WORKER(i)));
        jzx_actor_id id = spawn_sleeper(
            loop, i, JZX_SPAWN_OPTS(.behavior = crowd_sleeper, .place = JZX_PLACE_WORKER(i)));
        fixture_send(loop, id, STALL);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(atomic_load(&crowd.handed) + atomic_load(&crowd.standing), 2);
    JZX_EXPECT(atomic_load(&crowd.handed) <= handed_max);
    JZX_EXPECT_EQ(atomic_load(&crowd.neighbour_runs[0]), 1);
    JZX_EXPECT_EQ(atomic_load(&crowd.neighbour_runs[1]), 1);
    JZX_EXPECT(atomic_load(&threads_started) <= 2 + handed_max);
    expect_ends();
    fixture_destroy(loop);
}

JZX_TEST(when_the_spare_is_used_the_second_stall_is_reported_and_stands) {
    exhaust(1, 1);
}

JZX_TEST(without_spares_stalls_are_reported_and_stand) {
    exhaust(JZX_NONE, 0);
}

/* ---- run after run, with an observer that stops whom it hears of ---- */

static jzx_loop *observed_loop;
static jzx_actor_id heard_of; /* sends of the observer go there */

static void hear_and_kill(void *ctx, const jzx_event *event) {
    if (event->kind == JZX_EVENT_STALL && report_of(event->actor) != NULL && event->tag == STALL) {
        jzx_err err = jzx_actor_stop(observed_loop, event->actor, JZX_STOP_KILL);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_LOOP_CLOSED);
        err = jzx_send(observed_loop, heard_of, event->actor, NULL, 0, NUDGE);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_LOOP_CLOSED);
        if (reports[3].id == event->actor)
            JZX_EXPECT_EQ(jzx_loop_request_stop(observed_loop), JZX_OK);
    }
    hear(ctx, event);
}

static jzx_behavior_result plain_sleeper(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    stall(ctx);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(every_report_has_its_end_before_run_returns_also_if_the_observer_kills_and_stops) {
    jzx_loop *loop = stall_loop(2, 0);
    observed_loop = loop;
    struct recorder heard = {0};
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = hear_and_kill), NULL),
                     JZX_OK);
    heard_of =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &heard, .daemon = true));
    for (uint32_t i = 0; i < ACTORS; i++) {
        jzx_actor_id id = spawn_sleeper(
            loop, i, JZX_SPAWN_OPTS(.behavior = plain_sleeper, .cleanup = lost_cleanup));
        fixture_send(loop, id, STALL);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        expect_ends();
        JZX_EXPECT_EQ(atomic_load(&reports[i].stalls), 1);
        JZX_EXPECT_EQ(lost.cleanups[i], 1);
        if (i < 3)
            JZX_EXPECT_EQ(lost.reasons[i], JZX_EXIT_KILLED);
    }
    JZX_EXPECT_EQ(jzx_test_runs(), ACTORS);
    JZX_EXPECT(heard.count >= 1); /* a daemon does not keep a run from returning */
    fixture_destroy(loop);
}

/* ---- one worker, and callbacks ---- */

static void take_long(void) {
    fixture_compute(3 * STALL_NS);
}

static jzx_behavior_result long_one(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    take_long();
    JZX_EXPECT_EQ(jzx_current_worker(), 0);
    JZX_EXPECT_EQ(atomic_load(&reports[0].stalls), 0);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(one_worker_tells_of_a_stall_when_it_is_over_and_starts_no_thread) {
    jzx_loop *loop = stall_loop(1, 0);
    jzx_actor_id id = spawn_sleeper(loop, 0, JZX_SPAWN_OPTS(.behavior = long_one));
    fixture_send(loop, id, STALL);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(atomic_load(&reports[0].stalls), 1);
    JZX_EXPECT_EQ(atomic_load(&reports[0].handed), 0);
    JZX_EXPECT_EQ(atomic_load(&threads_started), 1);
    expect_ends();
    fixture_destroy(loop);
}

static void long_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    jzx_test_ran();
    uint32_t worker = jzx_current_worker();
    JZX_EXPECT(worker < 2);
    JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_WAITLESS);
    take_long();
    JZX_EXPECT_EQ(jzx_current_worker(), worker);
}

static void long_destructor(void *data, size_t len) {
    (void)len;
    jzx_test_ran();
    uint32_t worker = jzx_current_worker();
    (void)data;
    take_long();
    JZX_EXPECT_EQ(jzx_current_worker(), worker);
}

static void long_call(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
    jzx_test_ran();
    take_long();
    JZX_EXPECT_EQ(jzx_current_worker(), 0);
}

static jzx_behavior_result stop_now(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(cleanups_destructors_and_calls_keep_their_worker_however_long_they_take) {
    jzx_loop *loop = stall_loop(2, 0);
    for (uint32_t i = 0; i < 2; i++) {
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_now, .cleanup = long_cleanup,
                                                .place = JZX_PLACE_WORKER(i)));
        jzx_loop **data = jzx_msg_alloc(loop, sizeof(jzx_loop *), long_destructor);
        assert_non_null(data);
        *data = loop;
        assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, data, NUDGE), JZX_OK);
    }
    assert_int_equal(jzx_loop_call(loop, long_call, NULL), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 7);
    expect_ends();
    fixture_destroy(loop);
}
