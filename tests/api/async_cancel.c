/* SPDX-License-Identifier: MIT */
/* A scenario of a fiber, async functions, calls, scopes, futures and timers on a manual clock, run
 * again and again: each time it is cancelled or killed at another of its suspension points, or
 * another of its allocations fails. Whatever happens, nothing is lost, leaked or stuck. */
#include "fibering.h"

#include <jzx/ask.h>
#include <jzx/async.h>
#include <jzx/context.h>
#include <jzx/scope.h>

#define RUN_MS 200u /* the scenario needs 10 */
#define GATE_MS 6u  /* when the gate is opened */
#define OTHERS 2u   /* the server and the injector */

enum { TAG_ASK = 1, TAG_DUE, TAG_INJECT };

/* What happens at the point, to whom, and when. */
struct injection {
    uint32_t at; /* the point, from 1; 0: none */
    jzx_stop_kind mode;
    bool at_host;  /* to the fiber that began it all, else to the one whose point it is */
    bool is_early; /* in the turn that comes to the point, else when it waits there */
    bool is_tidy;  /* the fiber closes its scope when something has failed */
};

struct arena {
    struct timing timing;
    struct injection injection;
    uint32_t points; /* that were met */
    jzx_actor_id victim;
    jzx_actor_id host;
    jzx_actor_id server;
    jzx_actor_id injector;
    jzx_ask_handle asked;
    jzx_promise *promise;
    jzx_future *gate; /* settled by the test */
    jzx_future *parent;
    jzx_scope *scope;
    uint32_t dropped; /* the object of the gate: once */
    uint32_t started; /* parents */
    uint32_t cleaned;
    bool is_complete; /* the fiber came to its end without an error */
    bool is_injected;
};

static struct arena arena;

/* ---- suspension points ---- */

static void inject(void) {
    jzx_err err = jzx_actor_stop(arena.timing.loop, arena.victim, arena.injection.mode);
    arena.is_injected = true;
    /* It did not have to wait at that point, and has ended. */
    JZX_EXPECT(err == JZX_OK || (err == JZX_ERR_NO_SUCH_ACTOR && !arena.injection.is_early));
}

/* The caller is about to wait. */
static void meet(const jzx_context *ctx) {
    if (++arena.points != arena.injection.at)
        return;
    arena.victim = arena.injection.at_host ? arena.host : ctx->self;
    if (arena.injection.is_early)
        inject();
    else
        fixture_send(ctx->loop, arena.injector, TAG_INJECT);
}

static jzx_behavior_result be_injector(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    JZX_EXPECT_EQ(msg->tag, TAG_INJECT);
    inject();
    return JZX_BEHAVIOR_OK;
}

/* ---- the others ---- */

/* Answers a millisecond later. */
static jzx_behavior_result be_server(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == TAG_ASK) {
        arena.asked = jzx_ask_from(ctx, msg);
        (void)jzx_send_after(ctx->loop, ctx->self, ctx->self, NULL, 0, TAG_DUE, JZX_MS(1), NULL);
    } else {
        (void)jzx_reply_to(ctx->loop, arena.asked, ctx->self, NULL, 0, TAG_ASK);
    }
    return JZX_BEHAVIOR_OK;
}

static void drop_object(void *object) {
    JZX_EXPECT(object == &arena);
    arena.dropped++;
}

/* ---- async functions ---- */

struct leaf {
    jzx_await_op op;
};

JZX_ASYNC(leaf, struct leaf, int) {
    meet(ctx);
    JZX_AWAIT(jzx_op_sleep(&self->op, jzx_in(ctx, JZX_MS(1))), NULL);
    meet(ctx);
    JZX_AWAIT(jzx_op_await(&self->op, arena.gate, JZX_NEVER), NULL);
    JZX_RETURN(1);
}
JZX_END

struct member {
    struct leaf_call call;
    jzx_await_op op;
    int result;
    int number;
};

JZX_ASYNC(member, struct member, int) {
    meet(ctx);
    JZX_AWAIT(leaf_call(&self->call, (struct leaf){.op = {.opaque = {0}}}), &self->result);
    meet(ctx);
    JZX_YIELD();
    meet(ctx);
    JZX_AWAIT(jzx_op_sleep(&self->op, jzx_in(ctx, JZX_MS((uint64_t)self->number))), NULL);
    JZX_RETURN(self->result + self->number);
}
JZX_END

/* Opens a scope of its own, and has a child beside it. */
struct parent {
    jzx_scope *scope;
    jzx_future *child;
    jzx_await_op op;
    jzx_err err;
    int result;
};

static void clean_parent(jzx_context *ctx, jzx_exit_reason reason) {
    struct parent *self = ctx->state;
    (void)reason;
    arena.cleaned++;
    jzx_future_release(self->child);
}

JZX_ASYNC(parent, struct parent, int) {
    self->err = jzx_scope_open(ctx, JZX_NEVER, &self->scope);
    if (self->err != JZX_OK)
        JZX_FAIL(self->err, "no scope");
    (void)jzx_scope_async(self->scope, &member_type, &(struct member){.number = 3}, NULL);
    (void)leaf_spawn(ctx->loop, (struct leaf){.op = {.opaque = {0}}}, &self->child);
    meet(ctx);
    JZX_TRY(self->err, jzx_op_close(&self->op, self->scope), NULL);
    if (self->err != JZX_OK)
        JZX_FAIL(self->err, "the scope");
    meet(ctx);
    JZX_AWAIT(jzx_op_await(&self->op, self->child, JZX_NEVER), &self->result);
    JZX_RETURN(self->result);
}
JZX_END

/* ---- the fiber ---- */

static jzx_err begin_all(jzx_context *ctx) {
    const struct parent state = {.err = JZX_OK};
    jzx_err err = jzx_scope_open(ctx, jzx_in(ctx, JZX_MS(50)), &arena.scope);
    for (int i = 1; i <= 2 && err == JZX_OK; i++)
        err = jzx_scope_async(arena.scope, &member_type, &(struct member){.number = i}, NULL);
    if (err != JZX_OK)
        return err;
    err = jzx_async_spawn(ctx->loop, &parent_type, &state, &JZX_ASYNC_OPTS(.cleanup = clean_parent),
                          &arena.parent);
    arena.started += err == JZX_OK;
    return err;
}

/* All that the fiber waits for but the end of its scope. */
static jzx_err wait_for_all(jzx_context *ctx) {
    void *object;
    jzx_message answer;
    meet(ctx);
    jzx_err err = jzx_sleep(ctx, jzx_in(ctx, JZX_MS(1)));
    if (err != JZX_OK)
        return err;
    meet(ctx);
    err = jzx_call(ctx, arena.server, NULL, 0, TAG_ASK, jzx_in(ctx, JZX_MS(20)), &answer);
    if (err != JZX_OK || (err = begin_all(ctx)) != JZX_OK)
        return err;
    meet(ctx);
    err = jzx_await(ctx, arena.parent, JZX_NEVER, NULL);
    if (err != JZX_OK)
        return err;
    meet(ctx);
    return jzx_await(ctx, arena.gate, jzx_in(ctx, JZX_MS(20)), &object);
}

static void be_host(jzx_context *ctx) {
    jzx_err err = wait_for_all(ctx);
    if (arena.scope != NULL && (err == JZX_OK || arena.injection.is_tidy)) {
        meet(ctx);
        jzx_err closed = jzx_scope_close(ctx, arena.scope, NULL);
        err = err == JZX_OK ? closed : err;
    }
    arena.is_complete = err == JZX_OK;
}

/* ---- a run ---- */

static uint64_t living(void) {
    jzx_stats stats = fixture_stats(arena.timing.loop);
    return stats.spawned - stats.exited;
}

static void arena_open(const struct injection *injection) {
    memset(&arena, 0, sizeof arena);
    arena.injection = *injection;
    arena.timing = timing_open();
    arena.server = fixture_spawn(arena.timing.loop, &JZX_SPAWN_OPTS(.behavior = be_server));
    arena.injector = fixture_spawn(arena.timing.loop, &JZX_SPAWN_OPTS(.behavior = be_injector));
    assert_int_equal(
        jzx_promise_create(arena.timing.loop, sizeof(void *), &arena.promise, &arena.gate), JZX_OK);
}

/* Nobody is left but the others, and all that was begun has ended. */
static void arena_close(void) {
    if (arena.promise != NULL)
        JZX_EXPECT_EQ(jzx_promise_resolve_moved(arena.promise, &arena, drop_object), JZX_OK);
    JZX_EXPECT_EQ(living(), OTHERS);
    JZX_EXPECT_EQ(arena.cleaned, arena.started);
    JZX_EXPECT(arena.parent == NULL || jzx_future_is_ready(arena.parent));
    jzx_future_release(arena.parent);
    jzx_future_release(arena.gate);
    JZX_EXPECT_EQ(arena.dropped, 1);
    (void)jzx_actor_stop(arena.timing.loop, arena.server, JZX_STOP_KILL);
    (void)jzx_actor_stop(arena.timing.loop, arena.injector, JZX_STOP_KILL);
    timing_step(&arena.timing);
    JZX_EXPECT_EQ(living(), 0);
    timing_close(&arena.timing);
}

static void expect_victim_gone(void) {
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(arena.timing.loop, arena.victim, &info),
                  JZX_ERR_NO_SUCH_ACTOR);
}

/* The next millisecond begins. */
static void tick(uint32_t ms) {
    if (ms == GATE_MS) {
        JZX_EXPECT_EQ(jzx_promise_resolve_moved(arena.promise, &arena, drop_object), JZX_OK);
        arena.promise = NULL;
    }
    timing_advance(&arena.timing, JZX_MS(1));
}

/* Runs the scenario, millisecond by millisecond, until it has ended. Its victim, and all that there
 * is if the fiber is it, ends without time for it; but the fiber's own sleep goes on when it is
 * cancelled. */
static void arena_run(void) {
    jzx_err err = jzx_spawn(arena.timing.loop, &JZX_SPAWN_OPTS(.fiber = be_host), &arena.host);
    timing_step(&arena.timing);
    for (uint32_t ms = 1; living() > OTHERS && ms <= RUN_MS; ms++) {
        bool is_asleep = ms == 1 && arena.injection.mode != JZX_STOP_KILL;
        if (arena.is_injected && !is_asleep) {
            expect_victim_gone();
            if (arena.injection.at_host)
                break;
        }
        tick(ms);
    }
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
}

/* ---- the tests ---- */

JZX_TEST(the_scenario_comes_to_its_end) {
    arena_open(&(struct injection){.at = 0});
    arena_run();
    assert_true(arena.is_complete);
    assert_true(arena.points > 15);
    arena_close();
}

/* Once at each point. */
static uint32_t inject_everywhere(struct injection injection) {
    uint64_t bytes = fixture_bytes();
    for (injection.at = 1;; injection.at++) {
        arena_open(&injection);
        arena_run();
        bool was_injected = arena.is_injected;
        JZX_EXPECT(was_injected || arena.is_complete);
        arena_close();
        JZX_EXPECT_EQ(fixture_bytes(), bytes);
        if (!was_injected)
            return injection.at - 1;
    }
}

static void inject_all_ways(jzx_stop_kind mode) {
    for (uint32_t way = 0; way < 8; way++) {
        uint32_t points = inject_everywhere((struct injection){.mode = mode,
                                                               .at_host = (way & 1u) != 0,
                                                               .is_early = (way & 2u) != 0,
                                                               .is_tidy = (way & 4u) != 0});
        assert_true(points > 15);
    }
}

JZX_TEST(a_cancel_at_any_suspension_point_leaves_nothing, "E+sem", "E43") {
    inject_all_ways(JZX_STOP_AFTER_QUEUE);
}

JZX_TEST(a_kill_at_any_suspension_point_leaves_nothing, "E+sem", "E43") {
    inject_all_ways(JZX_STOP_KILL);
}

/* Every n until the scenario needs fewer allocations than that. */
static void fail_every(uint64_t count) {
    uint64_t bytes = fixture_bytes();
    bool is_complete = false;
    uint64_t n;
    for (n = 0; !is_complete; n++) {
        arena_open(&(struct injection){.is_tidy = n % 2 == 0});
        uint64_t before = fixture_allocations();
        fixture_fail_allocations(n, count);
        arena_run();
        fixture_fail_allocations(UINT64_MAX, 0);
        is_complete = arena.is_complete && fixture_allocations() - before <= n;
        arena_close();
        JZX_EXPECT_EQ(fixture_bytes(), bytes);
    }
    assert_true(n > 5); /* it does allocate */
}

JZX_TEST(the_nth_allocation_of_the_scenario_fails_for_every_n, "C+fail") {
    fail_every(1);
}

JZX_TEST(all_allocations_of_the_scenario_from_the_nth_on_fail, "C+fail") {
    fail_every(UINT64_MAX);
}
