/* SPDX-License-Identifier: MIT */
/* Attacks on what docs/guarantees.md promises about supervisors: they are killed while they start
 * or drain, children attack each other from their inits and cleanups, restarts happen beside sends
 * of other threads. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { FAIL = 1, WORK };

static char trace[4096];
static jzx_actor_id root;
static uint32_t escalations;
static uint32_t restarts;
static uint64_t cut;

static void note(char sign, const char *name) {
    size_t length = strlen(trace);
    snprintf(trace + length, sizeof trace - length, "%c%s ", sign, name);
}

static void expect_trace(const char *expected) {
    assert_string_equal(trace, expected);
    trace[0] = '\0';
}

static void step(jzx_loop *loop) {
    jzx_err err = jzx_loop_step(loop, JZX_NEVER);
    JZX_EXPECT_EQ(err, JZX_OK);
}

/* What a child does beside being there: in its init, or in its cleanup. */
struct toy {
    const char *name;
    void (*in_init)(jzx_context *ctx);
    void (*in_cleanup)(jzx_context *ctx);
    uint32_t inits;
    uint32_t worked;
    jzx_actor_id id;
};

static jzx_err toy_init(jzx_context *ctx) {
    struct toy *self = ctx->state;
    jzx_test_ran();
    note('+', self->name);
    self->inits++;
    self->id = ctx->self;
    if (self->in_init != NULL)
        self->in_init(ctx);
    return JZX_OK;
}

static void toy_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct toy *self = ctx->state;
    (void)reason;
    note('-', self->name);
    if (self->in_cleanup != NULL)
        self->in_cleanup(ctx);
}

static jzx_behavior_result toy(jzx_context *ctx, const jzx_message *msg) {
    struct toy *self = ctx->state;
    if (msg->tag == FAIL)
        return JZX_BEHAVIOR_FAIL;
    self->worked++;
    return JZX_BEHAVIOR_OK;
}

static struct toy toys[3];

#define TOY(i)                                                                                     \
    {                                                                                              \
        .name = (const char *[]){"a", "b", "c"}[i], .behavior = toy, .init = toy_init,             \
        .cleanup = toy_cleanup, .state = &toys[i]                                                  \
    }

static void count_events(void *ctx, const jzx_event *event) {
    (void)ctx;
    escalations += event->kind == JZX_EVENT_SUPERVISOR_ESCALATE;
    restarts += event->kind == JZX_EVENT_ACTOR_RESTART;
    cut += event->kind == JZX_EVENT_DRAIN_CUT ? event->count : 0;
}

static jzx_loop *fresh_loop_with(jzx_config config) {
    jzx_loop *loop = fixture_loop_with(&config);
    assert_non_null(loop);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = count_events), NULL),
                     JZX_OK);
    memset(toys, 0, sizeof toys);
    for (uint32_t i = 0; i < 3; i++)
        toys[i].name = (const char *[]){"a", "b", "c"}[i];
    trace[0] = '\0';
    escalations = restarts = 0;
    cut = 0;
    return loop;
}

static jzx_loop *fresh_loop(jzx_clock *clock) {
    return fresh_loop_with(JZX_CONFIG(.clock = clock));
}

static void plant(jzx_loop *loop, const jzx_supervisor_opts *opts) {
    assert_int_equal(jzx_spawn_supervisor(loop, opts, &root), JZX_OK);
}

/* ---- attacks while a tree starts ---- */

static void kill_root(jzx_context *ctx) {
    jzx_err err = jzx_actor_stop(ctx->loop, root, JZX_STOP_KILL);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
}

static void stop_root(jzx_context *ctx) {
    jzx_err err = jzx_actor_stop(ctx->loop, root, JZX_STOP_AFTER_MESSAGE);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
}

static void fail_root(jzx_context *ctx) {
    jzx_err err = jzx_actor_fail(ctx->loop, root);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
}

static void leave(jzx_context *ctx) {
    jzx_exit(ctx, JZX_EXIT_FAIL, "left in the middle");
}

static void attack_the_start(jzx_strategy strategy, void (*attack)(jzx_context *ctx)) {
    const jzx_child_spec specs[] = {TOY(0), TOY(1), TOY(2)};
    jzx_loop *loop = fresh_loop(NULL);
    toys[1].in_init = attack;
    plant(loop, &JZX_SUPERVISOR_OPTS(.strategy = strategy, JZX_CHILDREN(specs)));
    jzx_err err = jzx_loop_run(loop);
    JZX_EXPECT_EQ(err, attack == leave ? JZX_ERR_ESCALATED : JZX_OK);
    JZX_EXPECT_EQ(escalations, attack == leave ? 1 : 0);
    /* Whoever was started has ended; in order, unless the supervisor was killed. */
    JZX_EXPECT_EQ(toys[1].inits, 1);
    JZX_EXPECT_EQ(toys[2].inits, 0);
    if (attack == kill_root)
        JZX_EXPECT(strcmp(trace, "+a +b -a -b ") == 0 || strcmp(trace, "+a +b -b -a ") == 0);
    else
        assert_string_equal(trace, "+a +b -b -a ");
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.spawned, stats.exited);
    fixture_destroy(loop);
}

JZX_TEST(a_supervisor_that_is_ended_by_the_init_of_a_child_leaves_nobody) {
    for (jzx_strategy strategy = JZX_ONE_FOR_ONE; strategy <= JZX_REST_FOR_ONE; strategy++) {
        attack_the_start(strategy, kill_root);
        attack_the_start(strategy, stop_root);
        attack_the_start(strategy, fail_root);
        attack_the_start(strategy, leave);
    }
}

/* ---- attacks while children are stopped ---- */

static void kill_sibling_a(jzx_context *ctx) {
    jzx_err err = jzx_actor_stop(ctx->loop, toys[0].id, JZX_STOP_KILL);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
}

JZX_TEST(failures_among_children_that_are_stopped_for_one_failure_count_once) {
    const jzx_child_spec specs[] = {TOY(0), TOY(1), TOY(2)};
    jzx_loop *loop = fresh_loop(NULL);
    plant(loop,
          &JZX_SUPERVISOR_OPTS(.strategy = JZX_ONE_FOR_ALL, .intensity = 1, JZX_CHILDREN(specs)));
    step(loop);
    expect_trace("+a +b +c ");
    toys[2].in_cleanup = kill_sibling_a;
    fixture_send(loop, toys[1].id, FAIL);
    step(loop);
    expect_trace("-b -c -a +a +b +c ");
    JZX_EXPECT_EQ(escalations, 0);
    assert_int_equal(jzx_actor_stop(loop, root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    step(loop);
    assert_false(jzx_loop_alive(loop));
    fixture_destroy(loop);
}

/* The rules of the table in docs/supervision.md. */
JZX_TEST(each_strategy_restarts_exactly_whom_it_says_whichever_child_fails) {
    static const char *const expected[3][3] = {
        {"-a +a ", "-b +b ", "-c +c "},
        {"-a -c -b +a +b +c ", "-b -c -a +a +b +c ", "-c -b -a +a +b +c "},
        {"-a -c -b +a +b +c ", "-b -c +b +c ", "-c +c "},
    };
    const jzx_child_spec specs[] = {TOY(0), TOY(1), TOY(2)};
    for (jzx_strategy strategy = JZX_ONE_FOR_ONE; strategy <= JZX_REST_FOR_ONE; strategy++)
        for (uint32_t which = 0; which < 3; which++) {
            jzx_loop *loop = fresh_loop(NULL);
            plant(loop, &JZX_SUPERVISOR_OPTS(.strategy = strategy, JZX_CHILDREN(specs)));
            step(loop);
            expect_trace("+a +b +c ");
            jzx_actor_id before = toys[which].id;
            fixture_send(loop, before, FAIL);
            step(loop);
            expect_trace(expected[strategy][which]);
            JZX_EXPECT(toys[which].id != before);
            assert_int_equal(jzx_actor_stop(loop, root, JZX_STOP_AFTER_QUEUE), JZX_OK);
            step(loop);
            expect_trace("-c -b -a ");
            fixture_destroy(loop);
        }
}

/* ---- the intensity ---- */

static void fail_times(jzx_loop *loop, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        fixture_send(loop, toys[0].id, FAIL);
        step(loop);
    }
}

JZX_TEST(as_many_failures_as_the_intensity_are_borne_in_each_period_and_one_more_is_the_end) {
    const jzx_child_spec specs[] = {TOY(0), TOY(1)};
    jzx_clock *clock = jzx_clock_manual(JZX_SECOND(1));
    jzx_loop *loop = fresh_loop(clock);
    plant(loop,
          &JZX_SUPERVISOR_OPTS(.intensity = 4, .period_ns = JZX_MS(1000), JZX_CHILDREN(specs)));
    step(loop);
    for (int i = 0; i < 5; i++) {
        fail_times(loop, 4);
        JZX_EXPECT_EQ(escalations, 0);
        assert_int_equal(jzx_clock_advance(clock, JZX_MS(1001)), JZX_OK);
    }
    JZX_EXPECT_EQ(restarts, 20);
    fail_times(loop, 4);
    trace[0] = '\0';
    toys[1].in_cleanup = fail_root; /* while it gives up */
    fixture_send(loop, toys[0].id, FAIL);
    assert_int_equal(jzx_loop_run(loop), JZX_ERR_ESCALATED);
    expect_trace("-a -b ");
    JZX_EXPECT_EQ(escalations, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_ERR_LOOP_CLOSED);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

/* Four levels; the leaf fails in every init but its first. */
static void fail_if_restarted(jzx_context *ctx) {
    struct toy *self = ctx->state;
    if (self->inits > 1)
        jzx_exit(ctx, JZX_EXIT_FAIL, "again");
}

JZX_TEST(each_level_gives_up_once_for_each_time_it_was_started) {
    const jzx_child_spec leaf[] = {TOY(0)};
    const jzx_supervisor_opts low = JZX_SUPERVISOR_OPTS(.intensity = 1, JZX_CHILDREN(leaf));
    const jzx_child_spec low_spec[] = {{.name = "low", .supervisor = &low}};
    const jzx_supervisor_opts mid = JZX_SUPERVISOR_OPTS(.intensity = 1, JZX_CHILDREN(low_spec));
    const jzx_child_spec mid_spec[] = {{.name = "mid", .supervisor = &mid}};
    jzx_loop *loop = fresh_loop(NULL);
    toys[0].in_init = fail_if_restarted;
    plant(loop, &JZX_SUPERVISOR_OPTS(.intensity = JZX_NONE, JZX_CHILDREN(mid_spec)));
    step(loop);
    fixture_send(loop, toys[0].id, FAIL);
    assert_int_equal(jzx_loop_run(loop), JZX_ERR_ESCALATED);
    /* The leaf's restart fails: low gives up. mid restarts low, whose first start fails: it gives
     * up at once, and so does mid, and so does the root. */
    JZX_EXPECT_EQ(escalations, 4);
    JZX_EXPECT_EQ(toys[0].inits, 3);
    fixture_destroy(loop);
}

/* ---- draining ---- */

static struct {
    jzx_clock *clock;
    uint32_t accepted; /* of what the child sent itself */
    uint32_t drained;  /* handled after it was asked to stop */
    uint32_t kill_at;
} drain;

static jzx_behavior_result slow(jzx_context *ctx, const jzx_message *msg) {
    struct toy *self = ctx->state;
    self->worked++;
    JZX_EXPECT_EQ(jzx_clock_advance(drain.clock, JZX_MS(10)), JZX_OK);
    jzx_err err = jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, msg->tag);
    drain.accepted += err == JZX_OK;
    JZX_EXPECT(err == JZX_ERR_NO_SUCH_ACTOR || drain.drained == 0);
    drain.drained += err == JZX_ERR_NO_SUCH_ACTOR;
    if (drain.drained > 0 && drain.drained == drain.kill_at)
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, root, JZX_STOP_KILL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void drain_tree(uint64_t shutdown_ns, uint32_t kill_at, bool by_loop) {
    const jzx_child_spec specs[] = {{.name = "a",
                                     .behavior = slow,
                                     .init = toy_init,
                                     .cleanup = toy_cleanup,
                                     .state = &toys[0],
                                     .shutdown_ns = shutdown_ns},
                                    TOY(1)};
    memset(&drain, 0, sizeof drain);
    drain.kill_at = kill_at;
    drain.clock = jzx_clock_manual(JZX_SECOND(1));
    jzx_loop *loop = fresh_loop(drain.clock);
    plant(loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    step(loop);
    trace[0] = '\0';
    for (int i = 0; i < 50; i++)
        fixture_send(loop, toys[0].id, WORK);
    if (by_loop) {
        assert_int_equal(jzx_loop_stop(loop, JZX_SECOND(1000)), JZX_OK);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
    } else {
        assert_int_equal(jzx_actor_stop(loop, root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
        step(loop);
        assert_false(jzx_loop_alive(loop));
    }
    expect_trace("-b -a ");
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.spawned, stats.exited);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(drain.clock), JZX_OK);
}

JZX_TEST(a_child_that_floods_itself_is_drained_within_its_time_and_the_rest_is_counted) {
    for (int by_loop = 0; by_loop < 2; by_loop++) {
        drain_tree(0, 0, by_loop);
        JZX_EXPECT_EQ(cut, 0);
        JZX_EXPECT_EQ(toys[0].worked, 50 + drain.accepted);
        drain_tree(JZX_NEVER, 0, by_loop);
        JZX_EXPECT_EQ(cut, 0);
        JZX_EXPECT_EQ(toys[0].worked, 50 + drain.accepted);
        drain_tree(JZX_MS(100), 0, by_loop);
        JZX_EXPECT(drain.drained >= 10 && drain.drained <= 11);
        JZX_EXPECT_EQ(toys[0].worked + cut, 50 + drain.accepted);
        drain_tree(JZX_NONE, 0, by_loop);
        JZX_EXPECT_EQ(drain.drained, 0);
    }
}

JZX_TEST(a_supervisor_that_its_draining_child_kills_leaves_nobody) {
    drain_tree(0, 3, false);
    JZX_EXPECT(drain.drained >= 3);
    drain_tree(0, 3, true);
    JZX_EXPECT(drain.drained >= 3);
}

JZX_TEST(after_a_failure_siblings_stop_at_once_and_their_queues_are_dead) {
    const jzx_child_spec specs[] = {TOY(0), TOY(1), TOY(2)};
    jzx_loop *loop = fresh_loop_with(JZX_CONFIG(.max_msgs_per_actor = 1));
    plant(loop, &JZX_SUPERVISOR_OPTS(.strategy = JZX_ONE_FOR_ALL, JZX_CHILDREN(specs)));
    step(loop);
    for (int i = 0; i < 200; i++) {
        fixture_send(loop, toys[0].id, WORK);
        fixture_send(loop, toys[2].id, WORK);
    }
    fixture_send(loop, toys[1].id, FAIL);
    step(loop);
    uint64_t dead = fixture_stats(loop).dead;
    JZX_EXPECT_EQ(restarts, 3);
    JZX_EXPECT(dead > 0);
    JZX_EXPECT_EQ(toys[0].worked + toys[2].worked + dead, 400);
    JZX_EXPECT_EQ(cut, 0);
    fixture_destroy(loop);
}

/* ---- killed supervisors, and names ---- */

static void find_me(jzx_context *ctx) {
    struct toy *self = ctx->state;
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_lookup(ctx->loop, self->name, &id), JZX_OK);
    JZX_EXPECT_EQ(id, ctx->self);
}

static void find_nobody(jzx_context *ctx) {
    struct toy *self = ctx->state;
    jzx_actor_id id = JZX_NOBODY;
    jzx_err err = jzx_lookup(ctx->loop, self->name, &id);
    JZX_EXPECT(err == JZX_ERR_NO_SUCH_ACTOR || id != ctx->self);
}

static void steal_name(jzx_context *ctx) {
    struct toy *self = ctx->state;
    if (self->inits == 1) /* only once, or the tree never comes back */
        JZX_EXPECT_EQ(jzx_register(ctx->loop, self->name, toys[1].id), JZX_OK);
}

JZX_TEST(a_name_that_a_cleanup_gives_away_makes_each_restart_a_failure_until_it_is_free) {
    const jzx_child_spec specs[] = {
        {.name = "a",
         .registered = "a",
         .behavior = toy,
         .init = toy_init,
         .cleanup = toy_cleanup,
         .state = &toys[0],
         .backoff = {.kind = JZX_BACKOFF_CONSTANT, .initial_delay_ns = JZX_MS(50)}},
        TOY(1)};
    jzx_clock *clock = jzx_clock_manual(JZX_SECOND(1));
    jzx_loop *loop = fresh_loop(clock);
    jzx_actor_id id = JZX_NOBODY;
    toys[0].in_init = find_me;
    toys[0].in_cleanup = steal_name;
    plant(loop, &JZX_SUPERVISOR_OPTS(.intensity = 100, JZX_CHILDREN(specs)));
    step(loop);
    fixture_send(loop, toys[0].id, FAIL);
    for (int i = 0; i < 10; i++) {
        step(loop);
        assert_int_equal(jzx_lookup(loop, "a", &id), JZX_OK);
        JZX_EXPECT_EQ(id, toys[1].id);
        JZX_EXPECT_EQ(toys[0].inits, 1);
        assert_int_equal(jzx_clock_advance(clock, JZX_MS(60)), JZX_OK);
    }
    assert_int_equal(jzx_unregister(loop, "a"), JZX_OK);
    assert_int_equal(jzx_clock_advance(clock, JZX_SECOND(10)), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(toys[0].inits, 2);
    assert_int_equal(jzx_lookup(loop, "a", &id), JZX_OK);
    JZX_EXPECT_EQ(id, toys[0].id);
    JZX_EXPECT_EQ(escalations, 0);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(below_a_killed_supervisor_names_lead_to_the_new_children_only) {
    const jzx_child_spec leaf[] = {{.name = "a",
                                    .registered = "a",
                                    .behavior = toy,
                                    .init = toy_init,
                                    .cleanup = toy_cleanup,
                                    .state = &toys[0]}};
    const jzx_supervisor_opts low = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(leaf));
    const jzx_child_spec top[] = {{.name = "low", .supervisor = &low}};
    jzx_loop *loop = fresh_loop(NULL);
    jzx_actor_id below = JZX_NOBODY;
    toys[0].in_init = find_me;
    toys[0].in_cleanup = find_nobody;
    plant(loop, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(top)));
    step(loop);
    for (uint32_t i = 1; i <= 20; i++) {
        jzx_actor_id before = toys[0].id;
        assert_int_equal(jzx_supervisor_child(loop, root, "low", &below), JZX_OK);
        for (uint32_t k = 0; k < i; k++)
            fixture_send(loop, before, WORK);
        assert_int_equal(jzx_actor_stop(loop, below, JZX_STOP_KILL), JZX_OK);
        step(loop);
        JZX_EXPECT_EQ(toys[0].inits, 1 + i);
        assert_int_equal(jzx_send(loop, before, JZX_NOBODY, NULL, 0, WORK), JZX_ERR_NO_SUCH_ACTOR);
    }
    fixture_destroy(loop);
}

/* ---- restarts beside sends of another thread ---- */

#define KEPT 3000u

static struct {
    jzx_loop *loop;
    atomic_uint inits;
    uint32_t next;
    uint32_t seen[KEPT];
    uint64_t refused;
} kept;

static jzx_err kept_init(jzx_context *ctx) {
    jzx_actor_id id = JZX_NOBODY;
    atomic_fetch_add(&kept.inits, 1);
    JZX_EXPECT_EQ(jzx_lookup(ctx->loop, "kept", &id), JZX_OK);
    JZX_EXPECT_EQ(id, ctx->self);
    return JZX_OK;
}

static jzx_behavior_result keeper(jzx_context *ctx, const jzx_message *msg) {
    uint32_t number;
    memcpy(&number, msg->data, sizeof number);
    jzx_test_ran();
    if (!JZX_EXPECT(number < KEPT))
        return JZX_BEHAVIOR_STOP;
    kept.seen[number]++;
    JZX_EXPECT_EQ(number, kept.next);
    kept.next = number + 1;
    if (kept.next == KEPT)
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    else if (number % 97 == 50)
        jzx_exit(ctx, JZX_EXIT_FAIL, "on purpose");
    else if (number % 97 == 90)
        return JZX_BEHAVIOR_FAIL;
    return JZX_BEHAVIOR_OK;
}

static void *send_kept(void *arg) {
    (void)arg;
    for (uint32_t number = 0; number < KEPT;) {
        jzx_err err = jzx_send_named(kept.loop, "kept", JZX_NOBODY, &number, sizeof number, WORK);
        if (err == JZX_OK) {
            number++;
            continue;
        }
        kept.refused++;
        if (!JZX_EXPECT(err == JZX_ERR_NO_SUCH_ACTOR || err == JZX_ERR_MAILBOX_FULL))
            break;
        sched_yield();
    }
    return NULL;
}

static void keep_on(uint32_t workers) {
    const jzx_child_spec specs[] = {{.name = "kept",
                                     .registered = "kept",
                                     .behavior = keeper,
                                     .init = kept_init,
                                     .keep_mailbox = true}};
    memset(&kept, 0, sizeof kept);
    kept.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_non_null(kept.loop);
    plant(kept.loop, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_kept, NULL), 0);
    jzx_err err = jzx_loop_run(kept.loop);
    pthread_join(thread, NULL);
    assert_int_equal(err, JZX_OK);
    for (uint32_t i = 0; i < KEPT; i++)
        assert_int_equal(kept.seen[i], 1);
    JZX_EXPECT_EQ(atomic_load(&kept.inits), 1 + KEPT / 97 * 2 + (KEPT % 97 > 50));
    JZX_EXPECT_EQ(fixture_stats(kept.loop).dead, 0);
    fixture_destroy(kept.loop);
}

JZX_TEST(what_a_restart_meets_is_kept_once_and_in_order_on_one_worker) {
    keep_on(1);
}

JZX_TEST(what_a_restart_meets_is_kept_once_and_in_order_on_three_workers) {
    keep_on(3);
}

/* ---- restarts and memory ---- */

static struct {
    uint32_t inits;
    uint64_t bytes;
} leak;

static jzx_err leak_init(jzx_context *ctx) {
    JZX_EXPECT(jzx_alloc(ctx, 3000) != NULL && jzx_alloc(ctx, 100) != NULL);
    JZX_EXPECT_EQ(jzx_group_join(ctx, "leaks"), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 7, NULL, 0, WORK, JZX_SECOND(9)), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, root, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_register(ctx->loop, "leak", ctx->self), JZX_OK);
    if (++leak.inits == 300)
        leak.bytes = fixture_bytes();
    if (leak.inits == 5000)
        JZX_EXPECT_EQ(fixture_bytes(), leak.bytes);
    else if (leak.inits % 2 == 0)
        return JZX_ERR_UNKNOWN;
    else
        fixture_send(ctx->loop, ctx->self, FAIL);
    return JZX_OK;
}

JZX_TEST(restarts_of_a_child_that_leaks_watches_joins_and_registers_take_no_memory) {
    const jzx_child_spec specs[] = {
        {.name = "leak", .behavior = toy, .init = leak_init, .keep_mailbox = true}};
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = fresh_loop(clock);
    plant(loop, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)));
    step(loop);
    JZX_EXPECT_EQ(leak.inits, 5000);
    JZX_EXPECT_EQ(restarts, 4999);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}
